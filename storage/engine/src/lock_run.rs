//! How a range that is read with locks makes runs of them (`lock::Locks::lock_next`).
//!
//! 1. The first [`SINGLE`] entries of a range are locked one by one: small ranges look as they do in InnoDB, and are
//!    nobody's meeting point.
//! 2. From there on an entry is locked as the next one of a run: the spot was current after the lock before was made, and the
//!    entry follows directly behind that one's (`passed`), as the spot says. Where it does not (something was passed over, was
//!    waited for, was given back), a run begins.
//! 3. Only forwards, and only locks of the shape that all of the range's entries get.

use base::Result;
use lock::Kind;

use crate::locked_range::{Locked, LockedRange};
use crate::locking::{Locker, shape};
use crate::scan::Direction;
use btree::Tree;
use lock::Target;

/// So many entries are locked one by one.
const SINGLE: u32 = 32;

/// How far a range is with its run.
#[derive(Default)]
pub(crate) struct LockRun {
    single: u32,
    /// The end of the run, with its lock: the key behind it may follow.
    end: Option<Vec<u8>>,
}

impl LockRun {
    /// Another range begins.
    pub fn begin(&mut self) {
        (self.single, self.end) = (0, None);
    }
}

impl LockedRange {
    /// Whether entries are locked as runs by now.
    pub fn makes_runs(&self) -> bool {
        self.lock_run.single >= SINGLE && self.ask.direction == Direction::Forward
    }

    /// Locks the spot's entry as the next one of a run. `None`: it is to be locked by itself.
    pub fn extend_run(
        &mut self,
        l: &Locker<'_>,
        tree: &Tree,
        target: Target<'_>,
        kind: Kind,
    ) -> Result<Option<Locked>> {
        let shape = shape(self.ask.mode(), l.gapless);
        if !self.makes_runs() || kind != shape.kind {
            self.lock_run.single += 1;
            return Ok(None);
        }
        let Some(key) = target.key else { return Ok(None) };
        let after = self.lock_run.end.as_deref().filter(|end| self.walk.passed() == *end);
        let Some(granted) = l.lock_next(target, shape, after)? else {
            self.lock_run.end = None;
            return Ok(None);
        };
        self.note_fresh(l, target, granted);
        if !self.walk.is_current(tree)? {
            self.walk.lose();
            return Ok(Some(Locked::Again));
        }
        let end = self.lock_run.end.get_or_insert_default();
        end.clear();
        end.extend_from_slice(key);
        Ok(Some(Locked::Yes))
    }
}
