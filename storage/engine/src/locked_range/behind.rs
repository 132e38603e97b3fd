//! What is behind a range that is read with locks.
//!
//! 1. With gap locks nothing comes in between the last entry of the range and the first one behind it; backwards, the gap
//!    at the upper end is locked before the first entry is come to. Guard: `a_range_locks_what_mysql_locks` and
//!    `a_phantom_does_not_come_into_a_locked_range` of `--test locks`.

use super::{Locked, LockedRange};
use crate::locking::{LockWait, Locker, shape};
use crate::row::RowHeader;
use crate::table::{Table, is_marked, split_entry};
use base::{Error, Result};
use btree::Tree;
use lock::{Kind, Target};

impl LockedRange {
    /// Before a range that is read backwards: nothing is to come in behind it. `false`: its spot is to be found again.
    pub(super) fn lock_gap_behind(&mut self, l: &Locker<'_>, tree: &Tree) -> Result<bool> {
        let at = self.walk.entry()?.map(|(key, _)| key.to_vec());
        let target = Target { index: tree.index, key: at.as_deref() };
        let kind = if at.is_some() { Kind::Gap } else { Kind::NextKey };
        Ok(!matches!(self.lock_here(l, tree, target, kind)?, Locked::Again))
    }

    /// Behind the last entry of the index.
    pub(super) fn lock_end(&mut self, l: &Locker<'_>, tree: &Tree) -> Result<()> {
        // An entry behind the range was passed over: it was deleted, or left out.
        let beyond = !self.walk.passed().is_empty() && self.ask.is_behind(self.walk.passed());
        if l.gapless || beyond && !self.ask.pushes_down() {
            return self.walk.end_unlocked(tree);
        }
        self.lock_last(l, tree, Target::supremum(tree.index), Kind::NextKey)
    }

    /// Ends the range with this lock, unless its spot is to be found again.
    fn lock_last(
        &mut self,
        l: &Locker<'_>,
        tree: &Tree,
        target: Target<'_>,
        kind: Kind,
    ) -> Result<()> {
        if !matches!(self.lock_here(l, tree, target, kind)?, Locked::Again) {
            self.walk.finish();
        }
        Ok(())
    }

    /// The first entry outside of the range.
    pub(super) fn lock_behind(&mut self, l: &Locker<'_>, table: &Table, tree: &Tree) -> Result<()> {
        let forward = self.ask.is_forward();
        if l.gapless && self.ask.equal && forward {
            return self.walk.end_unlocked(tree);
        }
        let writer = self.writer_of_entry(l, table)?;
        if !l.gapless && forward && (self.ask.index == 0 || self.ask.equal) {
            return self.with_entry(|range, entry| {
                let target = Target::record(tree.index, entry);
                // As InnoDB, though the record is not asked for.
                l.show_writer(writer, target);
                range.lock_last(l, tree, target, Kind::Gap)
            });
        }
        self.wait = self.ask.wait(self.ask.index > 0);
        let busy = self.keep_own(l, tree, writer);
        let locked = self.lock_entry(l, tree, shape(self.ask.mode(), l.gapless), busy)?;
        let mut skipped = match locked {
            Locked::Again => return Ok(()),
            Locked::Skip => true,
            Locked::Yes => false,
        };
        let marked = match self.ask.index {
            0 => RowHeader::read(&self.other)?.deleted(),
            _ => is_marked(&self.other),
        };
        let pushed_down = self.ask.pushes_down();
        let row = self.ask.index > 0 && !marked && !self.ask.covered && !pushed_down;
        if row && !skipped {
            let key = split_entry(&self.entry, &self.other)?.1.to_vec();
            match self.lock_row(l, table, &key) {
                Err(Error::LockNotAvailable) if self.skips() => skipped = true,
                done => drop(done?),
            }
        }
        // As in InnoDB, which looks whether the range has ended at rows that it has locked: the first behind it that is free
        // and there. What is locked of an entry that is left out stays so, and of the last backwards.
        let skipped = skipped && self.wait == LockWait::SkipLocked;
        if l.gapless && !skipped && (forward || pushed_down) {
            self.unlock_last(l);
        }
        if marked || skipped {
            return self.pass(tree);
        }
        self.walk.finish();
        Ok(())
    }
}
