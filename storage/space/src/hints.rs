//! Where there is room, as far as somebody has looked since the tablespace was opened.
//!
//! 1. Nothing here is believed: an extent is read before it is used, and [`Hints::note`] corrects
//!    what was wrong. Nothing here survives a restart, and nothing is read for it at open.
//! 2. Used under page 0's exclusive latch only; the mutex is never waited for.

use crate::Segment;
use crate::extent::{Extent, State};
use std::collections::{BTreeMap, BTreeSet};

/// Extents with room, by what they have room for.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    /// Pages of descriptions that nobody has looked at: those below this; `None`: all there are.
    pub unscanned: Option<u32>,
    free: BTreeSet<u32>,
    shared: BTreeSet<u32>,
    owned: BTreeMap<Segment, BTreeSet<u32>>,
    /// The highest page that was given out.
    pub highest: u32,
}

impl Hints {
    /// An extent was thought to be `before` and is `after`.
    pub(crate) fn note(&mut self, extent: u32, before: State, after: &Extent) {
        match before {
            State::Free => drop(self.free.remove(&extent)),
            State::Shared => drop(self.shared.remove(&extent)),
            State::Owned(segment) => {
                if let Some(set) = self.owned.get_mut(&segment) {
                    set.remove(&extent);
                    if set.is_empty() {
                        self.owned.remove(&segment);
                    }
                }
            }
        }
        let has_room = after.has_room();
        match after.state {
            State::Free => drop(self.free.insert(extent)),
            State::Shared if has_room => drop(self.shared.insert(extent)),
            State::Owned(segment) if has_room => {
                self.owned.entry(segment).or_default().insert(extent);
            }
            _ => {}
        }
    }

    /// An extent of this state with room: the nearest above `near`, else the lowest.
    pub(crate) fn find(&self, state: State, near: u32) -> Option<u32> {
        let set = match state {
            State::Free => &self.free,
            State::Shared => &self.shared,
            State::Owned(segment) => self.owned.get(&segment)?,
        };
        set.range(near..).next().or_else(|| set.first()).copied()
    }
}
