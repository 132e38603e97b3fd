//! After the commit: removing what only older versions needed, once the horizon has passed the commit
//! (`history` says who does it and when; recovery finishes what a crash cut off).
//!
//! 1. A committed transaction's records are looked at from the last one backwards; each removal is
//!    idempotent, and right whatever became of the row since: a crash may have it done again. Guard: the errors of
//!    `Writer::purge_from`; the checks after the crashes of `campaign` and `one_runner`.
//! 2. A delete mark is removed only while it is still this transaction's; somebody may have put a
//!    row over it, who then takes care of the old version's entries. Guard: `Writer::purge_mark` looks under the latch;
//!    `a_delete_mark_that_is_written_over_before_its_purge_goes_with_the_new_row`.
//! 3. Entries go before the row they were for, and so do the values outside of it, which are freed
//!    before the delete mark is removed: a crash in between leaves the mark, by which they are found
//!    again. Somebody who puts a row over the mark meanwhile has the old row in his undo, and frees
//!    them as well; that does no harm (`blob`, invariant 4). Before a value go the entries of all
//!    versions that have it: without it nobody finds out any more which they were. So who finds a
//!    value gone knows that the entries are, too. Guard: CHECK TABLE (pages and entries of nothing),
//!    `entries_of_all_versions_go_before_the_value_they_share`.
//! 4. Other transactions purge in any order, and versions may share a value (`blob`, invariant 3).
//!    So every record whose old version has values outside, also one that only changed the header, is
//!    purged, and begins with the entries of all older versions, back to the first that was purged
//!    or has none: when a record has been purged, so have all versions before it that may share its
//!    values, and a look back may end there. Guard: `a_purge_after_others_finds_its_entries_removed`.
//! 5. Records of dropped indexes are the transaction's last ones, so the segment can step back over
//!    each in the mini-transaction that frees the index's root. That the committing client does at once
//!    ([`Writer::free_dropped`]); the rest is history. Guard: the assert of `Segment::put_next`.
//! 6. Who sees that a row is not this transaction's mark any more has looked under the leaf's latch: a
//!    rollback that puts the mark back does so under that latch, if the horizon has not passed the mark's
//!    end yet (`rollback`, invariant 4); so one of the two removes it. Guard: the checks of `one_runner` (a row was not
//!    purged).

use crate::blob::{Fetched, Reference};
use crate::outside::references;
use crate::rollback::{Lookup, Tables, read_index};
use crate::row::RowHeader;
use crate::table::Table;
use crate::version::Looks;
use crate::writer::{Buffers, Try, Writer};
use base::{Error, PageId, Result, UNDO_SPACE};
use instrument::Counter;
use trx::{RecordKind, UndoPos, UndoRecord};

impl Writer<'_> {
    /// Removes what a committed transaction left, from the record at `at` backwards, at most `left` records; both
    /// follow. `false`: there is more, or a table was not known yet.
    pub fn purge(
        &mut self,
        at: &mut UndoPos,
        tables: &Tables<'_>,
        left: &mut u64,
        b: &mut Buffers,
    ) -> Result<bool> {
        let mut bytes = std::mem::take(&mut b.record);
        let done = self.purge_from(at, tables, left, &mut bytes, b);
        b.record = bytes;
        done
    }

    fn purge_from(
        &mut self,
        at: &mut UndoPos,
        tables: &Tables<'_>,
        left: &mut u64,
        bytes: &mut Vec<u8>,
        b: &mut Buffers,
    ) -> Result<bool> {
        while !at.is_none() {
            if *left == 0 {
                return Ok(false);
            }
            self.engine.relieve_log()?;
            self.engine.trx().read_undo(*at, bytes)?;
            let place = PageId::new(UNDO_SPACE, at.page);
            let record = UndoRecord::decode(bytes, place, at.offset)?;
            if record.trx != self.me() {
                return Err(Error::corrupt(place, "another transaction's undo record"));
            }
            if self.engine.trx().is_active(record.trx) {
                return Err(Error::corrupt(
                    place,
                    "undo of a transaction that runs is to be purged",
                ));
            }
            if record.purge {
                match tables(record.table)? {
                    Lookup::Open(table) => {
                        self.purge_record(&record, &table, b)?;
                        instrument::count(Counter::LimpidPurgedRows, 1);
                    }
                    Lookup::Dropped => {}
                    Lookup::Later => return Ok(false),
                }
            }
            *at = record.previous;
            *left -= 1;
        }
        Ok(true)
    }

    /// Frees the indexes that the segment's committed transaction has dropped (invariant 5). `false`: not
    /// yet.
    pub fn free_dropped(&mut self) -> Result<bool> {
        let mut bytes = Vec::new();
        while !self.segment.last().is_none() {
            let at = self.segment.last();
            self.engine.trx().read_undo(at, &mut bytes)?;
            let record = UndoRecord::decode(&bytes, PageId::new(UNDO_SPACE, at.page), at.offset)?;
            if record.kind != RecordKind::DropIndex {
                break;
            }
            // It may take long: recovery does it in the background.
            if self.engine.recovery.is_opening() {
                return Ok(false);
            }
            let (_, _, index) = read_index(record.body)?;
            self.engine.stop_purge_of(|| self.engine.registry.freeing(index));
            if !self.free_index(&record)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn purge_record(
        &mut self,
        record: &UndoRecord<'_>,
        table: &Table,
        b: &mut Buffers,
    ) -> Result<()> {
        self.purge_older(table, record.key, record.body, b)?;
        if record.kind == RecordKind::Update {
            self.purge_entries(table, record.key, record.body, b)?;
            return self.free_outside(table, record.body, |r| !r.shared);
        }
        // A delete mark: the row itself still has the contents.
        if !self.copy_mark(table, record.key, &mut b.after)? {
            return Ok(());
        }
        let row = std::mem::take(&mut b.after);
        let done = self.purge_entries(table, record.key, &row, b);
        let done = done.and_then(|()| self.free_outside(table, &row, |_| true));
        b.after = row;
        done?;
        self.purge_mark(table, record.key)
    }

    /// Frees the values outside of a payload's row that `owned` chooses; the version is nobody's any
    /// more, and neither it nor an older one has entries left (invariant 3).
    pub fn free_outside(
        &mut self,
        table: &Table,
        payload: &[u8],
        owned: impl Fn(&Reference) -> bool,
    ) -> Result<()> {
        if !RowHeader::read(payload)?.outside() {
            return Ok(());
        }
        let all = references(table, payload)?;
        all.iter().filter(|r| owned(r)).try_for_each(|r| self.free_run(table, r.run))
    }

    /// Removes the entries of the versions before `payload`, a version or its header alone, that may
    /// have the same values outside of them (invariant 4).
    pub fn purge_older(
        &mut self,
        table: &Table,
        key: &[u8],
        payload: &[u8],
        b: &mut Buffers,
    ) -> Result<()> {
        let mut h = RowHeader::read(payload)?;
        let mut version = Vec::new();
        let mut steps = self.engine.steps(false);
        while h.outside() {
            steps.step(&h)?;
            match self.engine.version_before(table, key, h, &mut version)? {
                Some(before) => h = before,
                None => break,
            }
            if h.outside() && !version.is_empty() {
                self.purge_entries(table, key, &version, b)?;
            }
        }
        Ok(())
    }

    fn is_my_mark(&self, payload: &[u8]) -> Result<bool> {
        let h = RowHeader::read(payload)?;
        Ok(h.deleted() && h.trx == self.me())
    }

    /// Copies the row if it is this transaction's delete mark. "No" is certain (invariant 6).
    fn copy_mark(&mut self, table: &Table, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        if !table.clustered.get(key, out)? {
            return Ok(false);
        }
        if self.is_my_mark(out)? {
            return Ok(true);
        }
        let mut mtr = self.mtr();
        let pos = table.clustered.position(&mut mtr, key)?;
        if !pos.found || !self.is_my_mark(pos.payload(&mtr)?)? {
            return Ok(false);
        }
        out.clear();
        out.extend_from_slice(pos.payload(&mtr)?);
        Ok(true)
    }

    fn purge_mark(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        let tree = &table.clustered;
        self.retry(tree, key, |w| {
            let mut mtr = w.mtr();
            let pos = tree.position(&mut mtr, key)?;
            if !pos.found || !w.is_my_mark(pos.payload(&mtr)?)? {
                return Ok(Try::Done(()));
            }
            if let Some(next) = w.leave_locks(tree, &mtr, &pos, key)? {
                return Ok(Try::Look(next));
            }
            tree.remove_at(&mut mtr, &pos)?;
            mtr.commit()?;
            Ok(Try::Done(()))
        })
    }

    /// Removes the entries of an old version, a payload, that no newer one needs.
    pub fn purge_entries(
        &mut self,
        table: &Table,
        key: &[u8],
        payload: &[u8],
        b: &mut Buffers,
    ) -> Result<()> {
        if table.secondaries.is_empty() {
            return Ok(());
        }
        let (engine, old) = (self.engine, table.row_of(payload)?);
        for (index, s) in table.secondaries.iter().enumerate() {
            if let Fetched::Gone(_) = engine.entry_prefix(table, s, &old, &mut b.entry)? {
                // This was done before (invariant 3).
                continue;
            }
            let prefix = std::mem::take(&mut b.entry);
            let (other, undo) = (&mut b.other, &mut b.undo);
            let done = self.remove_entry(s, (&prefix, key), &mut b.old_entry, || {
                let mut looks = Looks::default();
                loop {
                    if !engine.copy_certain(table, key, other)? {
                        return Ok(false);
                    }
                    let needs = engine.version_needs(table, key, (index, &prefix), other, undo)?;
                    if let Some(needs) = needs {
                        return Ok(needs);
                    }
                    looks.again(engine, table)?;
                }
            });
            b.entry = prefix;
            done?;
        }
        Ok(())
    }
}
