//! Inserting, updating, deleting and locking one row of the clustered index, with its secondary
//! entries.
//!
//! 1. The clustered row comes first, then the secondary entries, each in a mini-transaction of its
//!    own; who finds an entry without a matching row ignores it.
//! 2. A lock is a header written anew with the own trx id: from then on others wait for this
//!    transaction.
//! 3. Nothing here cleans up after an error: the caller rolls back to the mark it took before.

use crate::row::{HEADER_BYTES, RowHeader, row_bytes};
use crate::table::Table;
use crate::writer::{Buffers, Try, Writer};
use base::{Error, Result};
use btree::Fit;
use trx::{NewRecord, RecordKind, record_bytes};

impl Writer<'_> {
    /// Inserts the row `row` with clustered key `key`.
    pub fn insert(&mut self, table: &Table, key: &[u8], row: &[u8], b: &mut Buffers) -> Result<()> {
        self.retry(&table.clustered, key, |w| w.try_insert(table, key, row, b))?;
        for index in 0..table.secondaries.len() {
            self.insert_entry(table, index, key, row, b)?;
        }
        Ok(())
    }

    fn try_insert(
        &mut self,
        table: &Table,
        key: &[u8],
        row: &[u8],
        b: &mut Buffers,
    ) -> Result<Try<()>> {
        let mut mtr = self.mtr();
        let tree = &table.clustered;
        let pos = tree.position(&mut mtr, key)?;
        b.before.clear();
        if pos.found {
            let old = pos.payload(&mtr)?;
            let h = RowHeader::read(old)?;
            if self.is_busy(h.trx) {
                return Ok(Try::Wait(h.trx));
            }
            if !h.deleted {
                return Err(Error::Duplicate { index: table.clustered.index, key: key.to_vec() });
            }
            b.before.extend_from_slice(old);
        }
        let bytes = record_bytes(key.len(), b.before.len());
        if !self.segment.fits(bytes) {
            return Ok(Try::Undo(bytes));
        }
        let undo = self.segment.latch(&mut mtr, self.engine.trx().undo())?;
        let roll = self.segment.next_roll(!pos.found);
        RowHeader::new(self.me(), roll, false).payload(row, &mut b.after);
        let fit = match pos.found {
            true => tree.replace_at(&mut mtr, &pos, &b.after)?,
            false => tree.insert_at(&mut mtr, &pos, key, &b.after)?,
        };
        if fit == Fit::Full {
            return Ok(Try::Split(b.after.len()));
        }
        let kind = if pos.found { RecordKind::Update } else { RecordKind::Insert };
        let new = NewRecord { kind, purge: pos.found, table: table.id(), key, body: &b.before };
        self.segment.append(&mut mtr, undo, new)?;
        mtr.commit()?;
        Ok(Try::Done(()))
    }

    /// Gives the row with clustered key `key` the contents `row`, which has the same clustered key.
    /// `false`: there is no such row.
    pub fn update(
        &mut self,
        table: &Table,
        key: &[u8],
        row: &[u8],
        b: &mut Buffers,
    ) -> Result<bool> {
        let found = self.retry(&table.clustered, key, |w| w.try_update(table, key, row, b))?;
        let Some(keys_changed) = found else { return Ok(false) };
        if keys_changed {
            // `before` is used up by the entries' own checks, so each compares for itself.
            let before = std::mem::take(&mut b.before);
            let done = self.update_entries(table, key, (row_bytes(&before), row), b);
            b.before = before;
            done?;
        }
        Ok(true)
    }

    fn update_entries(
        &mut self,
        table: &Table,
        key: &[u8],
        (old, new): (&[u8], &[u8]),
        b: &mut Buffers,
    ) -> Result<()> {
        for (index, secondary) in table.secondaries.iter().enumerate() {
            secondary.prefix(table.layout(), old, &mut b.old_entry)?;
            secondary.prefix(table.layout(), new, &mut b.entry)?;
            if b.old_entry != b.entry {
                self.insert_entry(table, index, key, new, b)?;
            }
        }
        Ok(())
    }

    /// `None`: no such row; else whether a secondary key changed.
    fn try_update(
        &mut self,
        table: &Table,
        key: &[u8],
        row: &[u8],
        b: &mut Buffers,
    ) -> Result<Try<Option<bool>>> {
        let mut mtr = self.mtr();
        let tree = &table.clustered;
        let pos = tree.position(&mut mtr, key)?;
        if !pos.found {
            return Ok(Try::Done(None));
        }
        let old = pos.payload(&mtr)?;
        let h = RowHeader::read(old)?;
        if self.is_busy(h.trx) {
            return Ok(Try::Wait(h.trx));
        }
        if h.deleted {
            return Ok(Try::Done(None));
        }
        b.before.clear();
        b.before.extend_from_slice(old);
        let bytes = record_bytes(key.len(), b.before.len());
        if !self.segment.fits(bytes) {
            return Ok(Try::Undo(bytes));
        }
        let scratch = (&mut b.entry, &mut b.old_entry);
        let same = table.same_secondary_keys(row_bytes(&b.before), row, scratch)?;
        let undo = self.segment.latch(&mut mtr, self.engine.trx().undo())?;
        let roll = self.segment.next_roll(false);
        RowHeader::new(self.me(), roll, false).payload(row, &mut b.after);
        if tree.replace_at(&mut mtr, &pos, &b.after)? == Fit::Full {
            return Ok(Try::Split(b.after.len()));
        }
        let kind = RecordKind::Update;
        let new = NewRecord { kind, purge: !same, table: table.id(), key, body: &b.before };
        self.segment.append(&mut mtr, undo, new)?;
        mtr.commit()?;
        Ok(Try::Done(Some(!same)))
    }

    /// Marks the row with clustered key `key` deleted. `false`: there is no such row.
    pub fn delete(&mut self, table: &Table, key: &[u8], b: &mut Buffers) -> Result<bool> {
        let found = self.retry(&table.clustered, key, |w| w.try_header(table, key, true, b))?;
        Ok(found)
    }

    /// Makes the row with clustered key `key` this transaction's; its payload is then in
    /// `b.before`. `false`: there is no such row.
    pub fn lock(&mut self, table: &Table, key: &[u8], b: &mut Buffers) -> Result<bool> {
        self.retry(&table.clustered, key, |w| w.try_header(table, key, false, b))
    }

    /// Writes the row's header anew, with or without the delete mark.
    fn try_header(
        &mut self,
        table: &Table,
        key: &[u8],
        delete: bool,
        b: &mut Buffers,
    ) -> Result<Try<bool>> {
        let mut mtr = self.mtr();
        let pos = table.clustered.position(&mut mtr, key)?;
        if !pos.found {
            return Ok(Try::Done(false));
        }
        let old = pos.payload(&mtr)?;
        let h = RowHeader::read(old)?;
        if self.is_busy(h.trx) {
            return Ok(Try::Wait(h.trx));
        }
        if h.deleted {
            return Ok(Try::Done(false));
        }
        b.before.clear();
        b.before.extend_from_slice(old);
        if !delete && h.trx == self.me() {
            return Ok(Try::Done(true));
        }
        let bytes = record_bytes(key.len(), HEADER_BYTES);
        if !self.segment.fits(bytes) {
            return Ok(Try::Undo(bytes));
        }
        let undo = self.segment.latch(&mut mtr, self.engine.trx().undo())?;
        let mut header = RowHeader::new(self.me(), self.segment.next_roll(false), delete);
        header.version = h.version;
        table.clustered.patch_at(&mut mtr, &pos, 0, &header.bytes())?;
        let body = &b.before[..HEADER_BYTES];
        let kind = RecordKind::Header;
        let new = NewRecord { kind, purge: delete, table: table.id(), key, body };
        self.segment.append(&mut mtr, undo, new)?;
        mtr.commit()?;
        Ok(Try::Done(true))
    }
}
