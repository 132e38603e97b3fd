//! Inserting, updating, deleting and locking one row of the clustered index, with its secondary
//! entries.
//!
//! A lock of a row is its header written anew with the own trx id: from then on others wait for this transaction.
//! Nothing here cleans up after an error: the caller rolls back to the mark it took before.
//!
//! 1. The clustered row comes first, then the secondary entries, each in a mini-transaction of its
//!    own, an old one's mark before the new one (`entry`), so that who waits for the old one has not made
//!    the new one yet, as in InnoDB; who finds an entry without a matching row ignores it. Guard:
//!    `an_index_alone_tells_what_the_rows_do`, `a_unique_check_waits_for_either_outcome`.
//! 2. A transaction of one change commits in the last mini-transaction of the change ([`Writer::ends`]): that of the row, or of the
//!    entry of the table's last index. So row, undo and commit take one place in the log where there is no index, and each
//!    page is latched once. Guard: the asserts of [`Writer::log_change`] and [`Writer::log_entry`],
//!    `a_crash_leaves_all_of_it_or_nothing`, `an_insert_with_indexes_commits_with_its_last_entry`.
//! 3. Values that do not fit their row's page are written before the row (`blob`, `outside`). Guard: CHECK TABLE (values
//!    outside) after crashes in `campaign`.

use crate::blob::Fetched;
use crate::outside::{Need, mark_shared};
use crate::row::{HEADER_BYTES, RowHeader};
use crate::table::Table;
use crate::writer::{Buffers, Try, Writer};
use base::{Error, Result};
use btree::Fit;
use trx::{NewRecord, RecordKind, record_bytes};

/// How an update ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Updated {
    /// There is no such row, or not in the version that was expected.
    Missing,
    /// Done; no secondary key changed.
    Row,
    /// Done; secondary keys changed.
    Keys,
    /// Not done: values lie outside of the row.
    Outside,
}

impl Writer<'_> {
    /// Inserts the row `row` with clustered key `key`.
    pub fn insert(&mut self, table: &Table, key: &[u8], row: &[u8], b: &mut Buffers) -> Result<()> {
        if table.is_plain(key, row) {
            self.retry(&table.clustered, key, |w| w.try_insert(table, key, (row, false), b))?;
        } else {
            let mut stored = std::mem::take(&mut b.stored);
            let done = self.move_out(table, key, row, None, &mut stored).and_then(|outside| {
                let row = (&stored[..], outside);
                self.retry(&table.clustered, key, |w| w.try_insert(table, key, row, b))
            });
            b.stored = stored;
            done?;
        }
        self.halfway = 1;
        let last = table.secondaries.len().wrapping_sub(1);
        let done = (0..table.secondaries.len()).try_for_each(|index| {
            self.is_last_entry = index == last;
            self.insert_entry(table, index, key, row, b)
        });
        self.halfway = 0;
        done
    }

    fn try_insert(
        &mut self,
        table: &Table,
        key: &[u8],
        (row, outside): (&[u8], bool),
        b: &mut Buffers,
    ) -> Result<Try<()>> {
        let mut mtr = self.mtr();
        let tree = &table.clustered;
        let pos = tree.position_near(&mut mtr, key, &mut b.near)?;
        b.before.clear();
        if pos.found {
            let old = pos.payload(&mtr)?;
            let h = RowHeader::read(old)?;
            if let Some(wanted) = self.keeps_from_over(tree.index, key, &h) {
                return Ok(Try::Wait(wanted));
            }
            if !h.deleted() {
                return Err(Error::Duplicate { index: table.clustered.index, key: key.to_vec() });
            }
            b.before.extend_from_slice(old);
            mark_shared(table, &mut b.before, row)?;
        }
        if let Some(wanted) = self.keeps_from_deleted(tree, &mtr, &pos, key)? {
            return Ok(Try::Wait(wanted));
        }
        if !pos.found
            && let Some(stop) = self.keeps_from_gap(tree, &mtr, &pos, key, &mut b.old_entry)?
        {
            return Ok(stop);
        }
        let bytes = record_bytes(key.len(), b.before.len());
        if !self.segment.fits(bytes) {
            return Ok(Try::Undo(bytes));
        }
        let undo = self.segment.latch(&mut mtr, self.engine.trx().undo())?;
        let roll = self.segment.next_roll(!pos.found);
        RowHeader::new(self.me(), roll, table.version(), outside).payload(row, &mut b.after);
        let fit = match pos.found {
            true => tree.replace_at(&mut mtr, &pos, &b.after)?,
            false => tree.insert_at(&mut mtr, &pos, key, &b.after)?,
        };
        if fit == Fit::Full {
            return Ok(Try::Split(b.after.len()));
        }
        let kind = if pos.found { RecordKind::Update } else { RecordKind::Insert };
        let new = NewRecord { kind, purge: pos.found, table: table.id(), key, body: &b.before };
        self.log_change(mtr, undo, new, table.secondaries.is_empty())?;
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
        let mut updated = Updated::Outside;
        if table.is_plain(key, row) {
            updated = self.retry(&table.clustered, key, |w| w.try_update(table, key, row, b))?;
        }
        if updated == Updated::Outside {
            let mut stored = std::mem::take(&mut b.stored);
            let done = self.update_outside(table, key, row, &mut stored, b);
            b.stored = stored;
            updated = done?;
        }
        if updated == Updated::Missing {
            return Ok(false);
        }
        if updated == Updated::Keys {
            // `before` is used up by the entries' own checks, so each compares for itself.
            let before = std::mem::take(&mut b.before);
            let done = table
                .row_of(&before)
                .and_then(|old| self.update_entries(table, key, (&old, row), b));
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
        let last = table.secondaries.len().wrapping_sub(1);
        for (index, secondary) in table.secondaries.iter().enumerate() {
            self.engine.sure_prefix(table, secondary, old, &mut b.old_entry)?;
            self.engine.sure_prefix(table, secondary, new, &mut b.entry)?;
            if b.old_entry != b.entry {
                // The unique check needs the buffer.
                let prefix = std::mem::take(&mut b.old_entry);
                self.is_last_entry = false;
                let done = self.mark_entry(secondary, (&prefix, key), &mut b.entry);
                self.is_last_entry = index == last;
                let done = done.and_then(|()| self.insert_entry(table, index, key, new, b));
                b.old_entry = prefix;
                done?;
            }
        }
        Ok(())
    }

    /// Updates a row when neither its old nor its new version has values outside.
    fn try_update(
        &mut self,
        table: &Table,
        key: &[u8],
        row: &[u8],
        b: &mut Buffers,
    ) -> Result<Try<Updated>> {
        let mut mtr = self.mtr();
        let tree = &table.clustered;
        let pos = tree.position_near(&mut mtr, key, &mut b.near)?;
        if !pos.found {
            return Ok(Try::Done(Updated::Missing));
        }
        let old = pos.payload(&mtr)?;
        let h = RowHeader::read(old)?;
        if let Some(wanted) = self.keeps_from(tree.index, key, h.trx) {
            return Ok(Try::Wait(wanted));
        }
        if h.deleted() || !self.is_expected(&h) {
            return Ok(Try::Done(Updated::Missing));
        }
        if h.outside() {
            return Ok(Try::Done(Updated::Outside));
        }
        b.before.clear();
        b.before.extend_from_slice(old);
        let bytes = record_bytes(key.len(), b.before.len());
        if !self.segment.fits(bytes) {
            return Ok(Try::Undo(bytes));
        }
        let scratch = (&mut b.entry, &mut b.old_entry);
        let same = table.same_secondary_keys(&table.row_of(&b.before)?, row, scratch)?;
        let undo = self.segment.latch(&mut mtr, self.engine.trx().undo())?;
        let roll = self.segment.next_roll(false);
        RowHeader::new(self.me(), roll, table.version(), false).payload(row, &mut b.after);
        if tree.replace_at(&mut mtr, &pos, &b.after)? == Fit::Full {
            return Ok(Try::Split(b.after.len()));
        }
        let kind = RecordKind::Update;
        let new = NewRecord { kind, purge: !same, table: table.id(), key, body: &b.before };
        self.log_change(mtr, undo, new, same)?;
        Ok(Try::Done(if same { Updated::Row } else { Updated::Keys }))
    }

    /// Updates a row when its old or its new version has values outside: locks it first, so that
    /// which values stay the same can be seen without a latch.
    fn update_outside(
        &mut self,
        table: &Table,
        key: &[u8],
        row: &[u8],
        stored: &mut Vec<u8>,
        b: &mut Buffers,
    ) -> Result<Updated> {
        if !self.lock(table, key, b)? {
            return Ok(Updated::Missing);
        }
        let before = b.before.clone();
        let old = table.row_of(&before)?;
        let outside = self.move_out(table, key, row, Some(&old), stored)?;
        let mut same = true;
        for s in &table.secondaries {
            self.engine.sure_prefix(table, s, &old, &mut b.old_entry)?;
            self.engine.sure_prefix(table, s, row, &mut b.entry)?;
            same &= b.old_entry == b.entry;
        }
        let new = (&stored[..], outside);
        self.retry(&table.clustered, key, |w| w.try_replace(table, key, new, same, b))?;
        Ok(if same { Updated::Row } else { Updated::Keys })
    }

    /// Gives a row of this transaction another stored form.
    fn try_replace(
        &mut self,
        table: &Table,
        key: &[u8],
        (row, outside): (&[u8], bool),
        same_keys: bool,
        b: &mut Buffers,
    ) -> Result<Try<()>> {
        let mut mtr = self.mtr();
        let tree = &table.clustered;
        let pos = tree.position_near(&mut mtr, key, &mut b.near)?;
        let old = if pos.found { pos.payload(&mtr)? } else { &[] };
        if !pos.found || RowHeader::read(old)?.trx != self.me() {
            return Err(Error::Internal("a locked row is another transaction's"));
        }
        b.before.clear();
        b.before.extend_from_slice(old);
        mark_shared(table, &mut b.before, row)?;
        let bytes = record_bytes(key.len(), b.before.len());
        if !self.segment.fits(bytes) {
            return Ok(Try::Undo(bytes));
        }
        let undo = self.segment.latch(&mut mtr, self.engine.trx().undo())?;
        let roll = self.segment.next_roll(false);
        RowHeader::new(self.me(), roll, table.version(), outside).payload(row, &mut b.after);
        if tree.replace_at(&mut mtr, &pos, &b.after)? == Fit::Full {
            return Ok(Try::Split(b.after.len()));
        }
        // See `purge`, invariant 4.
        let purge = !same_keys || RowHeader::read(&b.before)?.outside();
        let kind = RecordKind::Update;
        let new = NewRecord { kind, purge, table: table.id(), key, body: &b.before };
        self.log_change(mtr, undo, new, same_keys)?;
        Ok(Try::Done(()))
    }

    /// Gives a row another clustered key: deletes it and inserts it anew. `false`: there is no such
    /// row.
    pub fn rekey(
        &mut self,
        table: &Table,
        (old_key, key): (&[u8], &[u8]),
        row: &[u8],
        b: &mut Buffers,
    ) -> Result<bool> {
        let mut whole = Vec::new();
        if table.layout().is_wide(row) && table.layout().any_outside(row) {
            // Values that came back unread are the old row's, which purge will free.
            if !self.lock(table, old_key, b)? {
                return Ok(false);
            }
            if let Fetched::Gone(e) = self.engine.complete_row(table, row, Need::All, &mut whole)? {
                return Err(e);
            }
        }
        let ends = std::mem::take(&mut self.ends);
        if !self.delete(table, old_key, b)? {
            return Ok(false);
        }
        self.ends = ends;
        self.insert(table, key, if whole.is_empty() { row } else { &whole }, b).map(|()| true)
    }

    /// Marks the row with clustered key `key` deleted. `false`: there is no such row.
    pub fn delete(&mut self, table: &Table, key: &[u8], b: &mut Buffers) -> Result<bool> {
        let found = self.retry(&table.clustered, key, |w| w.try_header(table, key, true, b))?;
        if found && !table.secondaries.is_empty() {
            let before = std::mem::take(&mut b.before);
            self.halfway = -1;
            let done = table.row_of(&before).and_then(|old| self.mark_entries(table, key, &old, b));
            self.halfway = 0;
            b.before = before;
            done?;
        }
        Ok(found)
    }

    /// Makes the row with clustered key `key` this transaction's; its payload is then in
    /// `b.before`. `false`: there is no such row.
    pub fn lock(&mut self, table: &Table, key: &[u8], b: &mut Buffers) -> Result<bool> {
        let found = self.retry(&table.clustered, key, |w| w.try_header(table, key, false, b))?;
        // From here on it is this transaction's version.
        self.expects = None;
        Ok(found)
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
        let pos = table.clustered.position_near(&mut mtr, key, &mut b.near)?;
        if !pos.found {
            return Ok(Try::Done(false));
        }
        let old = pos.payload(&mtr)?;
        let h = RowHeader::read(old)?;
        if let Some(wanted) = self.keeps_from(table.clustered.index, key, h.trx) {
            return Ok(Try::Wait(wanted));
        }
        if h.deleted() || !self.is_expected(&h) {
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
        let header = h.taken_by(self.me(), self.segment.next_roll(false), delete);
        table.clustered.patch_at(&mut mtr, &pos, 0, &header.bytes())?;
        let body = &b.before[..HEADER_BYTES];
        // See `purge`, invariant 4.
        let (kind, purge) = (RecordKind::Header, delete || h.outside());
        let new = NewRecord { kind, purge, table: table.id(), key, body };
        self.log_change(mtr, undo, new, delete && table.secondaries.is_empty())?;
        Ok(Try::Done(true))
    }
}
