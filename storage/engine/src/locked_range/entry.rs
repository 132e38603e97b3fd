//! Locking the entries of a range, and their rows.
//!
//! 1. What is answered was read after its lock was made, or is what the lock was made for. Guard: the spot is current
//!    (`LockedRange::lock_here`); `transfers_under_locks_keep_the_total` of `--test locks`.
//! 2. One's own locks on a record that another has made since are given up before he is waited for. Guard:
//!    `--test isolation`, and the deadlocks with oneself that `lock` would find (`mode`, 2).

use super::{Locked, LockedRange, Whose};
use crate::blob::Fetched;
use crate::locking::{LockMode, LockWait, Locker, shape};
use crate::row::RowHeader;
use crate::table::{Secondary, Table, is_marked, split_entry};
use crate::version::{Eyes, Latest, Sight};
use base::{Error, Result, TrxId};
use btree::Tree;
use lock::{Kind, Shape, Target};

impl LockedRange {
    /// The active transaction that has written what the present entry stands for (its payload is in `other`).
    pub(super) fn writer_of_entry(&mut self, l: &Locker<'_>, table: &Table) -> Result<TrxId> {
        let Some(index) = self.ask.index.checked_sub(1) else {
            let trx = RowHeader::read(&self.other)?.trx;
            return Ok(if l.wrote(trx) || l.is_busy(trx) { trx } else { TrxId::NONE });
        };
        let (mut payload, undo) = (Vec::new(), &mut self.undo);
        let entry = (&self.entry[..], &self.other[..]);
        l.engine.writer_of_entry(l.me, (table, index), entry, (&mut payload, undo))
    }

    /// As InnoDB: of what one has written oneself only the gap is asked for. The writer, if another.
    pub(super) fn keep_own(&self, l: &Locker<'_>, tree: &Tree, writer: TrxId) -> TrxId {
        if !l.wrote(writer) {
            return writer;
        }
        // A run takes what its owner wrote with the rest.
        if !self.makes_runs() {
            l.show_writer(writer, Target::record(tree.index, &self.entry));
        }
        TrxId::NONE
    }

    /// Locks the present entry; its row's writer, if active, is `busy`.
    pub(super) fn lock_entry(
        &mut self,
        l: &Locker<'_>,
        tree: &Tree,
        shape: Shape,
        busy: TrxId,
    ) -> Result<Locked> {
        // What the entry before was locked with stays: its row was wanted.
        self.row.fresh.retain(|f| f.index == tree.index && f.key == self.entry);
        self.with_entry(|range, entry| {
            let target = Target::record(tree.index, entry);
            if busy != TrxId::NONE {
                // One's own lock is of a record that was there before this one.
                range.give_up(l, target);
                match l.settle_writer(busy, target, range.wait) {
                    Err(Error::LockNotAvailable) if range.skips() => return Ok(Locked::Skip),
                    settled => settled?,
                }
            } else if let Some(locked) = range.extend_run(l, tree, target, shape.kind)? {
                return Ok(locked);
            }
            range.lock_here(l, tree, target, shape.kind)
        })
    }

    /// Gives back one's own locks on a record that another transaction has made.
    fn give_up(&mut self, l: &Locker<'_>, target: Target<'_>) {
        let locks = l.engine.locks();
        for mode in [LockMode::Shared, LockMode::Exclusive] {
            for kind in [Kind::Record, Kind::NextKey] {
                if locks.has(l.owner, target, Shape::new(mode, kind)) {
                    l.unlock(target, Shape::new(mode, kind));
                }
            }
        }
        self.row.fresh.retain(|f| Target::record(f.index, &f.key) != target);
    }

    /// Locks the present entry of the clustered index; whether it is answered.
    pub(super) fn lock_clustered(
        &mut self,
        l: &Locker<'_>,
        table: &Table,
        tree: &Tree,
    ) -> Result<bool> {
        let h = RowHeader::read(&self.row.payload)?;
        let whole_low = self.ask.is_whole_low(&self.entry);
        if !h.deleted() {
            self.deleted.ends();
        } else if !whole_low && self.pass_over(l, tree)? {
            return Ok(false);
        }
        // As in InnoDB: nothing else has this key, and who inserts it meets this lock.
        let one = self.ask.equal && whole_low;
        let forward = !h.deleted() && self.ask.is_forward();
        let shape = match one || whole_low && forward {
            true => Shape::new(self.ask.mode(), Kind::Record),
            false => shape(self.ask.mode(), l.gapless),
        };
        let wanted = self.row.whose == Whose::Wanted && self.entry == self.row.key;
        self.wait = self.ask.wait(one || wanted);
        let writer = if l.wrote(h.trx) || l.is_busy(h.trx) { h.trx } else { TrxId::NONE };
        let busy = self.keep_own(l, tree, writer);
        match self.lock_entry(l, tree, shape, busy)? {
            Locked::Again => Ok(false),
            Locked::Skip if self.wait == LockWait::IfWanted => self.show_others(l, table, tree),
            Locked::Skip => self.pass(tree).map(|()| false),
            Locked::Yes if l.is_busy(h.trx) => {
                // Active again in the copy's version: it was not settled.
                self.walk.lose();
                Ok(false)
            }
            Locked::Yes if h.deleted() => {
                self.reject(l, tree)?;
                self.finish_if(one);
                Ok(false)
            }
            Locked::Yes => {
                self.row.key.clone_from(&self.entry);
                self.row.whose = Whose::Own;
                self.leave_answered(l, tree)?;
                Ok(true)
            }
        }
    }

    fn finish_if(&mut self, done: bool) {
        if done {
            self.walk.finish();
        }
    }

    /// Goes on from a row of the clustered index that was answered.
    pub(super) fn leave_answered(&mut self, l: &Locker<'_>, tree: &Tree) -> Result<()> {
        let alone = self.ask.equal && self.ask.is_whole_low(&self.row.key);
        let last =
            self.ask.is_forward() && self.ask.high_included && self.ask.ends_behind(&self.row.key);
        if self.walk.goes_by_entries() && !last {
            self.walk.leave(self.ask.direction, &self.entry);
            self.finish_if(alone);
            return Ok(());
        }
        self.pass(tree)?;
        // InnoDB locks what is behind the last entry of all, though the range cannot reach there.
        let done = alone || last && !l.gapless && self.walk.entry()?.is_some();
        self.finish_if(done);
        Ok(())
    }

    /// Answers the present row, which another has locked, as it was committed last, if it was.
    fn show_others(&mut self, l: &Locker<'_>, table: &Table, tree: &Tree) -> Result<bool> {
        let eyes = Eyes { me: l.me, sight: Sight::Committed };
        let (payload, undo) = (&mut self.row.payload, &mut self.undo);
        let seen = l.engine.read_visible(eyes, table, &self.entry, payload, undo)?;
        if !seen.is_there() {
            return self.pass(tree).map(|()| false);
        }
        self.row.key.clone_from(&self.entry);
        self.row.whose = Whose::Others;
        if !seen.is_plain() {
            // Values outside of it may be gone by the time they are read.
            self.insist();
        }
        Ok(seen.is_plain())
    }

    /// Locks the present entry of a secondary index, and its row; whether it is answered.
    pub(super) fn lock_secondary(
        &mut self,
        l: &Locker<'_>,
        table: &Table,
        s: &Secondary,
    ) -> Result<bool> {
        let tree = &s.tree;
        let marked = is_marked(&self.row.payload);
        let (parts, key) = split_entry(&self.entry, &self.row.payload)?;
        let (parts, key) = (parts.len(), key.to_vec());
        self.other.clear();
        self.other.extend_from_slice(&self.row.payload);
        self.wait = self.ask.wait(true);
        let writer = self.writer_of_entry(l, table)?;
        let busy = self.keep_own(l, tree, writer);
        let unique = s.spec.unique
            && self.ask.equal
            && !marked
            && self.entry[..parts] == self.ask.low
            && self.row_has_no_null(table, s, &key)?;
        let kind = if unique { Kind::Record } else { shape(self.ask.mode(), l.gapless).kind };
        match self.lock_entry(l, tree, Shape::new(self.ask.mode(), kind), busy)? {
            Locked::Again => return Ok(false),
            Locked::Skip => return self.pass(tree).map(|()| false),
            Locked::Yes => {}
        }
        if marked {
            return self.reject(l, tree).map(|()| false);
        }
        if !self.ask.covered {
            let there = match self.lock_row(l, table, &key) {
                // The entry stays locked, as in InnoDB.
                Err(Error::LockNotAvailable) if self.skips() => {
                    return self.pass(tree).map(|()| false);
                }
                there => there?,
            };
            if !there || !self.row_has_entry(l, table, s, parts)? {
                return self.reject(l, tree).map(|()| false);
            }
        }
        (self.row.key, self.row.parts) = (key, parts);
        self.pass(tree)?;
        self.finish_if(unique);
        Ok(true)
    }

    /// Whether no part of the key is NULL; a row that is not there has none.
    fn row_has_no_null(&mut self, table: &Table, s: &Secondary, key: &[u8]) -> Result<bool> {
        if !table.clustered.get(key, &mut self.row.payload)? {
            return Ok(true);
        }
        let row = table.row_of(&self.row.payload)?;
        s.has_null(table.layout(), &row).map(|null| !null)
    }

    /// Whether the locked row has the present entry, whose parts have this length.
    fn row_has_entry(
        &mut self,
        l: &Locker<'_>,
        table: &Table,
        s: &Secondary,
        parts: usize,
    ) -> Result<bool> {
        match l.engine.entry_prefix(table, s, &table.row_of(&self.row.payload)?, &mut self.other)? {
            Fetched::Done => Ok(self.other == self.entry[..parts]),
            Fetched::Gone(e) => Err(e),
        }
    }

    /// Locks the row of a secondary entry, and takes over its latest version. `false`: there is none.
    pub(super) fn lock_row(&mut self, l: &Locker<'_>, table: &Table, key: &[u8]) -> Result<bool> {
        let index = table.clustered.index;
        let target = Target::record(index, key);
        let shape = Shape::new(self.ask.mode(), Kind::Record);
        loop {
            let seen = l.engine.read_latest(l.me, table, key, &mut self.row.payload)?;
            let in_run = match seen {
                Latest::Busy(trx) => {
                    self.give_up(l, target);
                    l.settle_writer(trx, target, self.wait)?;
                    None
                }
                _ => self.extend_rows(l, &table.clustered, key, shape)?,
            };
            let granted = match in_run {
                Some(granted) => granted,
                None => l.lock(target, shape, self.wait)?,
            };
            self.note_fresh(l, target, granted);
            // Whoever changes the row from here on finds the lock.
            match l.engine.read_latest(l.me, table, key, &mut self.row.payload)? {
                Latest::Missing => return Ok(false),
                Latest::Row => return Ok(true),
                Latest::Busy(_) => {}
            }
        }
    }
}
