//! Where there is room, as far as somebody has looked since the tablespace was opened.
//!
//! 1. Nothing here is believed: an extent is read before it is used, and [`Hints::note`] corrects what was
//!    wrong. Nothing here survives a restart, and nothing is read for it at open. Guard: `find_known` and
//!    `shrink` compare with the extent read; `pages_are_handed_out_once_and_come_back_over_a_crash`.
//! 2. Changed under page 0's exclusive latch only; the mutex is for [`crate::prepare`], which reads one number
//!    without it. Guard: `Work::begin` takes the latch, then the mutex, and gives both.
//! 3. An extent in `free` or `holes` has been nobody's since it was put there: whoever takes it notes so under
//!    the latch under which he takes it. So [`Rest`] says how long that is ([`crate::shrink`]). Guard: `note`,
//!    which the one write of extents calls; `an_extent_rests_from_the_first_look_until_somebody_takes_it`.

use crate::Segment;
use crate::extent::{Extent, State};
use base::Lsn;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Since when an extent is known to be free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    /// All redo of its pages lies below this.
    pub lsn: Lsn,
    pub since: Instant,
}

/// Extents with room, by what they have room for.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    /// Pages of descriptions that nobody has looked at: those below this; `None`: all there are.
    pub unscanned: Option<u32>,
    /// Those nobody has, whose room was not given back, as far as is known.
    free: BTreeMap<u32, Option<Rest>>,
    /// Those nobody has, whose room was given back.
    holes: BTreeSet<u32>,
    /// Those that have room in the file for certain, free or not: somebody has made sure.
    backed: BTreeSet<u32>,
    shared: BTreeSet<u32>,
    owned: BTreeMap<Segment, BTreeSet<u32>>,
    /// The highest page that was given out.
    pub highest: u32,
}

impl Hints {
    /// An extent was thought to be `before` and is `after`.
    pub(crate) fn note(&mut self, extent: u32, before: State, after: &Extent) {
        match before {
            State::Free if after.state == State::Free => {}
            State::Free => {
                self.free.remove(&extent);
                self.holes.remove(&extent);
            }
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
            State::Free if self.holes.contains(&extent) => {}
            State::Free => drop(self.free.entry(extent).or_insert(None)),
            State::Shared if has_room => drop(self.shared.insert(extent)),
            State::Owned(segment) if has_room => {
                self.owned.entry(segment).or_default().insert(extent);
            }
            _ => {}
        }
    }

    /// An extent of this state with room: the nearest above `near`, else the lowest. Of free ones those
    /// whose room was given back come last.
    pub(crate) fn find(&self, state: State, near: u32) -> Option<u32> {
        let set = match state {
            State::Free => {
                let nearest = self.free.range(near..).next().or_else(|| self.free.iter().next());
                return match nearest {
                    Some((extent, _)) => Some(*extent),
                    None => self.holes.range(near..).next().or_else(|| self.holes.first()).copied(),
                };
            }
            State::Shared => &self.shared,
            State::Owned(segment) => self.owned.get(&segment)?,
        };
        set.range(near..).next().or_else(|| set.first()).copied()
    }

    /// Whether somebody has made sure that a free extent has room in the file.
    pub(crate) fn is_backed(&self, extent: u32) -> bool {
        self.backed.contains(&extent)
    }

    /// Somebody has made sure that the extent has room in the file.
    pub(crate) fn set_backed(&mut self, extent: u32) {
        self.backed.insert(extent);
    }

    /// How many free extents have room in the file, as far as is known.
    pub(crate) fn free_with_room(&self) -> usize {
        self.free.len()
    }

    /// Starts the rest of all free extents that have none yet: now no redo of their pages lies at or above
    /// `now.lsn`.
    pub(crate) fn rest(&mut self, now: Rest) {
        for rest in self.free.values_mut().filter(|rest| rest.is_none()) {
            *rest = Some(now);
        }
    }

    /// The highest free extent that has rested since before `until`, unless no more than `reserve` have room.
    pub(crate) fn rested(&self, reserve: usize, until: Rest) -> Option<u32> {
        let rested = |rest: &Rest| rest.lsn <= until.lsn && rest.since <= until.since;
        let above = self.free.iter().rev().take(self.free.len().saturating_sub(reserve));
        above.filter(|(_, rest)| rest.as_ref().is_some_and(rested)).map(|(e, _)| *e).next()
    }

    /// The room of a free extent was given back.
    pub(crate) fn set_hole(&mut self, extent: u32) {
        self.free.remove(&extent);
        self.backed.remove(&extent);
        self.holes.insert(extent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SHARED: Extent = Extent { used: 1, state: State::Shared };

    #[test]
    fn an_extent_rests_from_the_first_look_until_somebody_takes_it() {
        let (mut hints, start) = (Hints::default(), Instant::now());
        let at = |lsn, ms| Rest { lsn: Lsn(lsn), since: start + Duration::from_millis(ms) };
        for extent in 1..=4 {
            hints.note(extent, State::Shared, &Extent::FREE);
        }
        assert_eq!(hints.rested(0, at(u64::MAX, 9)), None, "nobody has looked");
        hints.rest(at(100, 5));
        // Looked at again is not taken.
        hints.note(4, State::Free, &Extent::FREE);
        hints.rest(at(200, 6));
        assert_eq!(hints.rested(0, at(99, 9)), None, "the checkpoint has not passed");
        assert_eq!(hints.rested(0, at(100, 4)), None, "too soon");
        assert_eq!(hints.rested(0, at(100, 5)), Some(4));
        assert_eq!(hints.rested(4, at(100, 5)), None, "the reserve");
        // Taken and given back again.
        hints.note(4, State::Free, &SHARED);
        hints.note(4, State::Shared, &Extent::FREE);
        hints.rest(at(300, 7));
        assert_eq!(hints.rested(0, at(299, 9)), Some(3));
        assert_eq!(hints.rested(3, at(299, 9)), None, "below it are the reserve");
        assert_eq!(hints.rested(3, at(300, 9)), Some(4));
    }

    #[test]
    fn holes_are_taken_last_and_given_back_once() {
        let mut hints = Hints::default();
        for extent in 1..=3 {
            hints.note(extent, State::Shared, &Extent::FREE);
        }
        hints.set_hole(2);
        hints.note(2, State::Free, &Extent::FREE);
        assert_eq!((hints.free_with_room(), hints.find(State::Free, 2)), (2, Some(3)));
        hints.note(3, State::Free, &SHARED);
        assert_eq!(hints.find(State::Free, 2), Some(1));
        hints.note(1, State::Free, &SHARED);
        assert_eq!(hints.find(State::Free, 0), Some(2));
        hints.set_backed(2);
        hints.note(2, State::Free, &SHARED);
        assert_eq!(hints.find(State::Free, 0), None);
        hints.note(2, State::Shared, &Extent::FREE);
        assert!(hints.is_backed(2) && hints.find(State::Free, 0) == Some(2));
    }
}
