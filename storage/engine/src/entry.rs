//! Secondary entries: insert with the unique check, mark, remove.
//!
//! 1. Check and insert of a unique key are atomic: all entries with that key lie in the latched
//!    leaf, or else the index's gate is held from the check to the insert. Leaves are never merged,
//!    so entries that share a leaf with all their neighbours once did so always before. Guard: CHECK TABLE (two rows
//!    have the same unique key), `a_unique_key_has_one_row_whoever_writes`.
//! 2. An entry is a duplicate when the latest version of its row has the same key; a row of another
//!    active transaction is waited for first, since either outcome is possible. As in InnoDB, all entries
//!    with the key are locked with their gaps, marked ones too, and when none is a duplicate, what is behind
//!    the last one. Guard: `a_unique_check_waits_for_either_outcome`, `a_duplicate_is_locked_before_it_is_reported`.
//! 3. An entry is removed only when no version of its row that somebody may still see or roll back
//!    to has its key; that is looked up under the latch of the entry's leaf. Guard: CHECK TABLE (a row without its
//!    entry); the old views of `one_runner`.
//! 4. Before a transaction ends, the entries of its rows say what the rows do: one without a mark
//!    for the key of each newest version, marks on those of older versions and of deleted rows. Each
//!    is changed in one mini-transaction with the leaf's `max_trx_id`, raised to the writer. Guard: CHECK TABLE (marks
//!    that are not the rows'), the asserts of [`Writer::put_entry`] and [`Writer::try_retire`].
//! 5. Hence, in a leaf copied after a view was made by which every id up to its `max_trx_id` had
//!    ended: an entry without a mark is one that the row's version in that view has, and a marked
//!    one is not. A later writer of the row that the view does see would have raised the leaf before
//!    it ended; one that it does not see has not been to the leaf. Guard: `an_index_alone_tells_what_the_rows_do`.
//! 6. Undoing sets the same states for the version that it restores, so it may be done again. Guard:
//!    `a_crash_at_any_moment_of_recovery_is_recovered_from`.

use crate::blob::Fetched;
use crate::locking::LockMode;
use crate::row::RowHeader;
use crate::table::{MARKED, Secondary, Table, is_marked, secondary_payload, split_entry};
use crate::version::Latest;
use crate::writer::{Buffers, NeededLock, Try, Writer};
use base::{Error, Result, TrxId};
use btree::{Fit, Following, Position};
use lock::{Kind, Shape, Target};
use pool::Mtr;
use std::ops::Bound;

/// What a look at the entries of one unique key found.
enum Unique {
    Free,
    Wait(NeededLock),
    /// The entries may lie in more than one leaf.
    Spread,
}

impl<'a> Writer<'a> {
    /// Inserts the entry of `row` into secondary index `index`, or takes away its mark.
    pub fn insert_entry(
        &mut self,
        table: &Table,
        index: usize,
        key: &[u8],
        row: &[u8],
        b: &mut Buffers,
    ) -> Result<()> {
        let s = &table.secondaries[index];
        self.engine.sure_prefix(table, s, row, &mut b.entry)?;
        let parts = b.entry.len();
        b.entry.extend_from_slice(key);
        let entry = std::mem::take(&mut b.entry);
        let unique = s.spec.unique && !s.has_null(table.layout(), row)?;
        let done = match unique {
            false => {
                let next = &mut b.old_entry;
                self.retry_entry(s, &entry, |w| w.try_entry(s, &entry, key, next))
            }
            true => self.insert_unique(table, index, (&entry, parts), key, b),
        };
        b.entry = entry;
        done
    }

    pub fn try_entry(
        &mut self,
        s: &Secondary,
        entry: &[u8],
        key: &[u8],
        next: &mut Vec<u8>,
    ) -> Result<Try<()>> {
        let mut mtr = self.mtr();
        let pos = s.tree.position(&mut mtr, entry)?;
        self.put_entry(mtr, &pos, s, (entry, key), next)
    }

    fn put_entry<'p>(
        &mut self,
        mut mtr: Mtr<'p>,
        pos: &Position,
        s: &Secondary,
        (entry, key): (&[u8], &[u8]),
        next: &mut Vec<u8>,
    ) -> Result<Try<()>>
    where
        'a: 'p,
    {
        let payload = secondary_payload(key);
        let end;
        if !pos.found {
            if let Some(stop) = self.keeps_from_gap(&s.tree, &mtr, pos, entry, next)? {
                return Ok(stop);
            }
            end = self.latch_end(&mut mtr)?;
            if s.tree.insert_at(&mut mtr, pos, entry, &payload)? == Fit::Full {
                return Ok(Try::Split(payload.len()));
            }
        } else if is_marked(pos.payload(&mtr)?) {
            if let Some(wanted) = self.keeps_from(s.tree.index, entry, TrxId::NONE) {
                return Ok(Try::Wait(wanted));
            }
            end = self.latch_end(&mut mtr)?;
            s.tree.patch_at(&mut mtr, pos, 0, &payload[..1])?;
        } else {
            return Ok(Try::Done(()));
        }
        s.tree.raise_max_trx_id(&mut mtr, pos, self.me())?;
        assert_named(&mtr, pos, self.me());
        self.log_entry(mtr, end)?;
        Ok(Try::Done(()))
    }

    fn insert_unique(
        &mut self,
        table: &Table,
        index: usize,
        (entry, parts): (&[u8], usize),
        key: &[u8],
        b: &mut Buffers,
    ) -> Result<()> {
        let s = &table.secondaries[index];
        let in_one_leaf = self.retry_entry(s, entry, |w| {
            let mut mtr = w.mtr();
            let pos = s.tree.position(&mut mtr, entry)?;
            match w.check_leaf(table, index, &mtr, &pos, (&entry[..parts], key), b)? {
                Unique::Wait(wanted) => Ok(Try::Wait(wanted)),
                Unique::Spread => Ok(Try::Done(false)),
                Unique::Free => {
                    let put = w.put_entry(mtr, &pos, s, (entry, key), &mut b.old_entry)?;
                    Ok(put.map(|()| true))
                }
            }
        })?;
        if in_one_leaf {
            return Ok(());
        }
        loop {
            let gate = s.gate.lock();
            let unique = self.check_range(table, index, (&entry[..parts], key), b)?;
            if let Unique::Wait(wanted) = unique {
                drop(gate);
                self.wait_for_entry(s, &wanted)?;
                continue;
            }
            // Waiting for a gap would keep the gate from others: then the check is done again.
            match self.try_entry(s, entry, key, &mut b.old_entry)? {
                Try::Done(()) => return Ok(()),
                Try::Wait(wanted) => {
                    drop(gate);
                    self.wait_for_entry(s, &wanted)?;
                }
                Try::Look(key) => drop(s.tree.get(&key, &mut b.old_entry)?),
                Try::Undo(_) => return Err(Error::Internal("an entry has no undo")),
                Try::Split(bytes) => {
                    drop(gate);
                    s.tree.split(self.engine.pool(), self.worker, entry, bytes)?;
                }
            }
        }
    }

    /// Looks at the entries with key `prefix` in the latched leaf, if all of them must be there.
    fn check_leaf(
        &self,
        table: &Table,
        index: usize,
        mtr: &Mtr<'_>,
        pos: &Position,
        (prefix, key): (&[u8], &[u8]),
        b: &mut Buffers,
    ) -> Result<Unique> {
        let node = pos.node(mtr)?;
        // A fence inside the key's range, or at its end where only an equal prefix could follow.
        let left_open = node.low_fence() > prefix;
        let right_open = node.high_fence().is_some_and(|high| high.starts_with(prefix));
        if left_open || right_open {
            return Ok(Unique::Spread);
        }
        let mut met = false;
        let mut slot = node.search(prefix)?.slot;
        while slot < node.count() {
            node.copy_key(slot, &mut b.old_entry)?;
            if !b.old_entry.starts_with(prefix) {
                break;
            }
            let entry = (&b.old_entry[..], node.payload(slot)?);
            if split_entry(entry.0, entry.1)?.0.len() == prefix.len() {
                met = true;
                let memory = (&mut b.other, &mut b.undo);
                if let Some(wanted) = self.conflict((table, index), (prefix, key), entry, memory)? {
                    return Ok(Unique::Wait(wanted));
                }
            }
            slot += 1;
        }
        if !met || self.locker.is_none() {
            return Ok(Unique::Free);
        }
        let tree = &table.secondaries[index].tree;
        let following = tree.following(mtr, pos, slot, &mut b.old_entry, &mut Vec::new())?;
        let next = match following {
            Following::Entry if slot < node.count() => {
                Some((&b.old_entry[..], Some(node.payload(slot)?)))
            }
            Following::Entry => Some((&b.old_entry[..], None)),
            Following::End => None,
            Following::Unknown => return Ok(Unique::Spread),
        };
        let memory = (&mut b.other, &mut b.undo);
        let wanted = self.lacks_behind((table, index), next, memory)?;
        Ok(wanted.map_or(Unique::Free, Unique::Wait))
    }

    /// Looks at the entries with key `prefix` wherever they are. The caller holds the gate.
    fn check_range(
        &self,
        table: &Table,
        index: usize,
        (prefix, key): (&[u8], &[u8]),
        b: &mut Buffers,
    ) -> Result<Unique> {
        let mut range =
            table.secondaries[index].tree.range(Bound::Included(prefix), Bound::Unbounded);
        let mut met = false;
        let wanted = loop {
            let memory = (&mut b.other, &mut b.undo);
            match range.next()? {
                Some(entry) if entry.0.starts_with(prefix) => {
                    if split_entry(entry.0, entry.1)?.0.len() == prefix.len() {
                        met = true;
                        let at = (table, index);
                        if let Some(wanted) = self.conflict(at, (prefix, key), entry, memory)? {
                            break Some(wanted);
                        }
                    }
                }
                _ if !met => break None,
                next => {
                    let next = next.map(|(entry, stored)| (entry, Some(stored)));
                    break self.lacks_behind((table, index), next, memory)?;
                }
            }
        };
        Ok(wanted.map_or(Unique::Free, Unique::Wait))
    }

    /// Whether the row of an entry (key and payload) is another than `key` and has the unique key `prefix`:
    /// then an error. `Some`: the lock to get first.
    fn conflict(
        &self,
        (table, index): (&Table, usize),
        (prefix, key): (&[u8], &[u8]),
        (entry, stored): (&[u8], &[u8]),
        (payload, undo): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<Option<NeededLock>> {
        let s = &table.secondaries[index];
        let (_, other) = split_entry(entry, stored)?;
        let (mut found, mut before) = (Vec::new(), Vec::new());
        let lacks = || self.lacks_next_key(s, entry, TrxId::NONE);
        if other == key {
            return Ok(lacks());
        }
        loop {
            match self.engine.read_latest(self.me(), table, other, payload)? {
                Latest::Missing => return Ok(lacks()),
                Latest::Busy(trx) => {
                    let at = (index, prefix, None);
                    if self.engine.entry_in_doubt(table, other, at, trx, payload, undo)? {
                        // Who has the entry locked already knows that the writer has not come to it yet:
                        // its mark says what was committed.
                        return match lacks() {
                            Some(_) => Ok(self.lacks_next_key(s, entry, trx)),
                            None if is_marked(stored) => Ok(None),
                            None => {
                                let key = prefix.to_vec();
                                Err(Error::Duplicate { index: s.spec.id, key })
                            }
                        };
                    }
                    // Whatever becomes of that transaction, the key is there or is not.
                    if !table.clustered.get(other, payload)? {
                        continue;
                    }
                    if RowHeader::read(payload)?.deleted() {
                        return Ok(lacks());
                    }
                }
                Latest::Row => {}
            }
            match self.engine.entry_prefix(table, s, &table.row_of(payload)?, &mut found)? {
                Fetched::Done if found != prefix => return Ok(lacks()),
                Fetched::Done => {
                    // The error comes with the lock in hand.
                    let wanted = lacks();
                    if wanted.is_some() {
                        let h = RowHeader::read(payload)?;
                        if h.trx == self.me() && h.roll.is_insert() {
                            self.keep_own(s.tree.index, entry);
                        }
                    }
                    let error = Error::Duplicate { index: s.spec.id, key: found };
                    return wanted.map_or(Err(error), |w| Ok(Some(w)));
                }
                Fetched::Gone(e) if *payload == before => return Err(e),
                Fetched::Gone(_) => before.clone_from(payload),
            }
        }
    }

    /// The lock on an entry that may be a duplicate.
    fn lacks_next_key(&self, s: &Secondary, entry: &[u8], busy: TrxId) -> Option<NeededLock> {
        let mode = self.locker.as_ref()?.duplicate;
        self.lacks(Target::record(s.tree.index, entry), Shape::new(mode, Kind::NextKey), busy)
    }

    /// The lock behind the entries with a unique key none of which is a duplicate: on the gap before `next`,
    /// and on that one too if duplicates are to be changed. (Its writer is only known in the same leaf.)
    fn lacks_behind(
        &self,
        (table, index): (&Table, usize),
        next: Option<(&[u8], Option<&[u8]>)>,
        memory: (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<Option<NeededLock>> {
        let Some(locker) = &self.locker else { return Ok(None) };
        let tree = &table.secondaries[index].tree;
        let target = Target { index: tree.index, key: next.map(|n| n.0) };
        let record = locker.duplicate == LockMode::Exclusive;
        let mut busy = TrxId::NONE;
        if let (Some((entry, Some(stored))), true) = (next, record) {
            let at = (table, index);
            busy = self.engine.writer_of_entry(self.me(), at, (entry, stored), memory)?;
            if busy != TrxId::NONE && busy == self.me() {
                self.keep_own(tree.index, entry);
                busy = TrxId::NONE;
            }
        }
        let kind = if record || target.key.is_none() { Kind::NextKey } else { Kind::Gap };
        Ok(self.lacks(target, Shape::new(locker.duplicate, kind), busy))
    }

    /// Marks the entries of a row that this transaction has deleted.
    pub fn mark_entries(
        &mut self,
        table: &Table,
        key: &[u8],
        row: &[u8],
        b: &mut Buffers,
    ) -> Result<()> {
        let last = table.secondaries.len().wrapping_sub(1);
        for (index, s) in table.secondaries.iter().enumerate() {
            self.is_last_entry = index == last;
            self.engine.sure_prefix(table, s, row, &mut b.entry)?;
            self.mark_entry(s, (&b.entry, key), &mut b.old_entry)?;
        }
        Ok(())
    }

    /// Marks the entry of a row with parts `prefix`.
    pub fn mark_entry(
        &mut self,
        s: &Secondary,
        prefix_and_key: (&[u8], &[u8]),
        entry: &mut Vec<u8>,
    ) -> Result<()> {
        self.retire_entry(s, prefix_and_key, entry, || Ok(true))
    }

    /// Takes the entry of a row with parts `prefix` from the version that this transaction undoes, or
    /// changes: marks it if `needed` (asked under the entry's latch) says that older ones have it,
    /// else removes it.
    pub fn retire_entry(
        &mut self,
        s: &Secondary,
        (prefix, key): (&[u8], &[u8]),
        entry: &mut Vec<u8>,
        mut needed: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        join(prefix, key, entry);
        self.retry_entry(s, entry, |w| w.try_retire(s, entry, &mut needed))
    }

    fn try_retire(
        &mut self,
        s: &Secondary,
        entry: &[u8],
        needed: &mut impl FnMut() -> Result<bool>,
    ) -> Result<Try<()>> {
        let mut mtr = self.mtr();
        let pos = s.tree.position(&mut mtr, entry)?;
        if !pos.found {
            return Ok(Try::Done(()));
        }
        // As in InnoDB: while the transaction goes on, the gap that is left stays locked.
        self.keep_lock(s.tree.index, entry, true);
        if let Some(wanted) = self.keeps_from(s.tree.index, entry, TrxId::NONE) {
            return Ok(Try::Wait(wanted));
        }
        if !needed()? {
            return self.take_out(mtr, &pos, s, entry);
        }
        if is_marked(pos.payload(&mtr)?) {
            return Ok(Try::Done(()));
        }
        let end = self.latch_end(&mut mtr)?;
        s.tree.patch_at(&mut mtr, &pos, 0, &[MARKED])?;
        s.tree.raise_max_trx_id(&mut mtr, &pos, self.me())?;
        assert_named(&mtr, &pos, self.me());
        self.log_entry(mtr, end)?;
        Ok(Try::Done(()))
    }

    /// Removes the found entry; its locks go to the gap behind it.
    fn take_out(
        &mut self,
        mut mtr: Mtr<'_>,
        pos: &Position,
        s: &Secondary,
        entry: &[u8],
    ) -> Result<Try<()>> {
        if let Some(next) = self.leave_locks(&s.tree, &mtr, pos, entry)? {
            return Ok(Try::Look(next));
        }
        s.tree.remove_at(&mut mtr, pos)?;
        mtr.commit()?;
        Ok(Try::Done(()))
    }

    /// Removes the entry of a row with parts `prefix`, if it is there and `needed` (asked under the
    /// entry's latch) says no. As it is gone for everybody, whoever removes it does not matter.
    pub fn remove_entry(
        &mut self,
        s: &Secondary,
        (prefix, key): (&[u8], &[u8]),
        entry: &mut Vec<u8>,
        mut needed: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        join(prefix, key, entry);
        self.retry(&s.tree, entry, |w| {
            let mut mtr = w.mtr();
            let pos = s.tree.position(&mut mtr, entry)?;
            if !pos.found || needed()? {
                return Ok(Try::Done(()));
            }
            w.take_out(mtr, &pos, s, entry)
        })
    }
}

/// Invariant 4: a leaf whose entries change names whoever changes them.
pub(crate) fn assert_named(mtr: &Mtr<'_>, pos: &Position, writer: TrxId) {
    let newest = page::header::max_trx_id(mtr.page(pos.page));
    assert!(newest >= writer, "a leaf does not name its writer");
}

/// Makes `entry` the key of the entry of a row.
fn join(prefix: &[u8], key: &[u8], entry: &mut Vec<u8>) {
    entry.clear();
    entry.extend_from_slice(prefix);
    entry.extend_from_slice(key);
}
