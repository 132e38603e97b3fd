//! CHECK TABLE: a slow, simple look at everything a table has, written apart from the code that
//! changes it.
//!
//! It takes a page of memory per level, and two bits per page of the file. Entries are compared by the sums of their
//! hashes; only when those differ are they looked up one by one.
//!
//! 1. Nobody else writes to the table meanwhile: neither a session, which is the caller's to see to, nor purge and
//!    the rollbacks in the background, which are kept out ([`Engine::hold_still`]). So what is compared is of one
//!    moment, and a check never complains of what is only under way. Guard: `what_is_not_settled_is_no_damage`,
//!    `a_check_while_values_are_purged_finds_nothing_wrong`.
//! 2. Checked: trees are sound; every row lies under its key, every row has its entries, every entry its row, a unique
//!    key one row; no writer is still to come; values outside of their rows are whole, and the rows know of them; every
//!    page in use is one tree's or one value's, in an extent of its own or a shared one, and no page of those is free.
//!    Guard: `tests/check.rs` damages each.
//! 3. Damage is listed and the rest is still looked at, but rows and entries are compared in sound
//!    trees only. Guard: `bad_checksums_are_listed_by_index_and_page`.
//! 4. While something is left to purge or to roll back there may be delete marks, entries of older
//!    versions, and values that only those refer to: then they are counted, not complained of. But a
//!    committed row has an entry without a mark even then. The values of a row that is marked deleted may be gone,
//!    from their last page on: they go before the mark, and a crash or a full disk may come between (`purge`, 3).
//!    Guard: `what_is_not_settled_is_no_damage`, `marks_that_are_not_the_rows_are_found`.

use crate::blob::Reference;
use crate::engine::Engine;
use crate::examine::Finding;
use crate::files::FIRST_USER_SPACE;
use crate::outside::references;
use crate::row::{RowHeader, row_bytes};
use crate::table::{Secondary, Table, is_marked, split_entry};
use base::{Error, PageId, Result};
use btree::TreeReport;
use space::{Claim, PageSet, Problem, Segment, SegmentKind};
use std::hash::{DefaultHasher, Hasher};
use std::ops::Bound;
use trx::IdKind;

/// What a check counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCheck {
    /// Rows that are not marked deleted.
    pub rows: u64,
    /// Entries of all secondary indexes, those with a delete mark not counted.
    pub entries: u64,
    /// Pages of all trees.
    pub pages: u64,
    /// Pages of values outside of their rows.
    pub blob_pages: u64,
    /// Rows and entries that wait for their removal, and rows that a transaction has not committed.
    pub pending: u64,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableVerdict {
    /// How much there is.
    pub counts: TableCheck,
    /// What is wrong, as far as the limit allowed.
    pub problems: Vec<Finding>,
}

/// A check under way.
struct Check<'a> {
    engine: &'a Engine,
    table: &'a Table,
    trees: Vec<TreeReport>,
    blobs: PageSet,
    /// Number, and sum of the hashes, of the entries that the rows ask for; of each index.
    expected: Vec<(u64, u64)>,
    verdict: TableVerdict,
    limit: usize,
}

impl Engine {
    /// Checks a table that nobody writes to. What can be purged is purged before.
    ///
    /// Errors: [`Error::Corrupt`] for a bad page, [`Error::Internal`] with what does not fit
    /// together.
    pub fn check_table(&self, table: &Table) -> Result<TableCheck> {
        self.purge_all()?;
        let verdict = self.verify_table(table, 1)?;
        match verdict.problems.first() {
            Some(Finding { place: Some((page, offset)), what, .. }) => {
                Err(Error::Corrupt { page: *page, offset: *offset, what })
            }
            Some(Finding { what, .. }) => Err(Error::Internal(what)),
            None if verdict.counts.pending > 0 => {
                Err(Error::Internal("check: a row was not purged or not committed"))
            }
            None => Ok(verdict.counts),
        }
    }

    /// Checks a table that nobody else writes to, and lists what is wrong, at most `limit` problems.
    ///
    /// Errors: what keeps it from looking at all ([`Error::Io`]).
    pub fn verify_table(&self, table: &Table, limit: usize) -> Result<TableVerdict> {
        let _still = self.hold_still(table.id());
        let mut check = Check {
            engine: self,
            table,
            trees: Vec::new(),
            blobs: PageSet::new(),
            expected: vec![(0, 0); table.indexes()],
            verdict: TableVerdict::default(),
            limit: limit.max(1),
        };
        check.trees()?;
        if check.is_sound(0) {
            check.rows()?;
            for index in 1..table.indexes() {
                if check.is_sound(index) {
                    check.entries(index)?;
                }
            }
        }
        if table.ts.id() >= FIRST_USER_SPACE {
            check.space()?;
        }
        Ok(check.verdict)
    }
}

impl Check<'_> {
    fn add(&mut self, index: Option<usize>, place: Option<(PageId, u32)>, what: &'static str) {
        if self.verdict.problems.len() < self.limit {
            let index = index.and_then(|i| self.table.tree(i)).map(|tree| tree.index);
            self.verdict.problems.push(Finding { index, place, what });
        }
    }

    fn add_all(&mut self, index: Option<usize>, problems: Vec<Problem>) {
        problems.iter().for_each(|p| self.add(index, Some((p.page, p.offset)), p.what));
    }

    /// Damage becomes a problem; other errors stay what they are.
    fn catch<T>(&mut self, index: usize, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Error::Corrupt { page, offset, what }) => {
                self.add(Some(index), Some((page, offset)), what);
                Ok(None)
            }
            // Bytes of a row or an entry that contradict the table's layout.
            Err(Error::Internal(what)) => {
                self.add(Some(index), None, what);
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    fn is_sound(&self, index: usize) -> bool {
        self.trees[index].problems.is_empty()
    }

    /// Something may be left to purge or to roll back.
    fn is_unsettled(&self) -> bool {
        self.verdict.counts.pending > 0
            || !self.engine.unfinished.lock().is_empty()
            || self.engine.history_len() > 0
    }

    fn trees(&mut self) -> Result<()> {
        for index in 0..self.table.indexes() {
            let tree = self.table.tree(index).ok_or(Error::Internal("no such index"))?;
            let report = tree.verify(self.limit)?;
            self.verdict.counts.pages += (report.inner + report.leaves) as u64;
            self.add_all(Some(index), report.problems.clone());
            self.trees.push(report);
        }
        Ok(())
    }

    /// Goes through the rows: values outside of them are checked, entries summed up.
    fn rows(&mut self) -> Result<()> {
        let mut rows = self.table.clustered.range(Bound::Unbounded, Bound::Unbounded);
        let mut entry = Vec::new();
        while let Some((key, payload)) = rows.next()? {
            let seen = self.row(key, payload, &mut entry);
            self.catch(0, seen)?;
        }
        self.verdict.counts.blob_pages = self.blobs.len();
        Ok(())
    }

    fn row(&mut self, key: &[u8], payload: &[u8], entry: &mut Vec<u8>) -> Result<()> {
        let h = RowHeader::read(payload)?;
        let is_pending = h.deleted() || self.engine.trx().is_active(h.trx);
        self.verdict.counts.pending += u64::from(is_pending);
        self.place(key, &h, payload, entry)?;
        if h.outside() {
            for reference in references(self.table, payload)? {
                self.value(&reference, h.deleted())?;
            }
        }
        if h.deleted() {
            return Ok(());
        }
        self.verdict.counts.rows += 1;
        let row = self.table.row_of(payload)?;
        for (i, s) in self.table.secondaries.iter().enumerate() {
            self.engine.sure_prefix(self.table, s, &row, entry)?;
            entry.extend_from_slice(key);
            let (count, sum) = &mut self.expected[i + 1];
            *count += 1;
            *sum = sum.wrapping_add(hash(entry));
        }
        Ok(())
    }

    /// Whether a row may have this header, and lie under this key.
    fn place(
        &mut self,
        key: &[u8],
        h: &RowHeader,
        payload: &[u8],
        made: &mut Vec<u8>,
    ) -> Result<()> {
        let ids = &self.engine.trx().ids;
        if h.trx.0 >= ids.next(IdKind::Trx) {
            self.add(Some(0), None, "a row names a transaction that is still to come");
        }
        if h.outside() != self.table.layout_of(h)?.any_outside(row_bytes(payload)) {
            self.add(Some(0), None, "a row does not say whether values of it lie outside");
        }
        // Keys are made of whole values.
        if h.outside() {
            return Ok(());
        }
        let is_its_own = match self.table.clustered_key_of(&self.table.row_of(payload)?, made)? {
            true => made == key,
            false => hidden_id(key).is_some_and(|id| id < ids.next(IdKind::Row)),
        };
        if !is_its_own {
            self.add(Some(0), None, "a row lies under another row's key");
        }
        Ok(())
    }

    /// A value outside of its row, which may be on its way out (invariant 4).
    fn value(&mut self, reference: &Reference, may_be_cut: bool) -> Result<()> {
        if !may_be_cut {
            return self.engine.check_run(self.table, reference, &mut self.blobs);
        }
        for page in self.engine.run_pages(self.table, reference.run)? {
            if !self.blobs.insert(page) {
                let place = PageId::new(self.table.ts.id(), page);
                return Err(Error::corrupt(place, "an overflow page is referred to twice"));
            }
        }
        Ok(())
    }

    /// Compares an index with the rows.
    fn entries(&mut self, index: usize) -> Result<()> {
        let (mut count, mut sum) = (0u64, 0u64);
        let s = &self.table.secondaries[index - 1];
        let (mut entries, mut last) =
            (s.tree.range(Bound::Unbounded, Bound::Unbounded), Vec::new());
        while let Some((entry, payload)) = entries.next()? {
            let split = self.catch(index, split_entry(entry, payload))?;
            if is_marked(payload) {
                self.verdict.counts.pending += 1;
                continue;
            }
            if let Some(parts_and_key) = split.filter(|_| s.spec.unique) {
                self.unique(index, s, parts_and_key, &mut last)?;
            }
            count += 1;
            sum = sum.wrapping_add(hash(entry));
        }
        self.verdict.counts.entries += count;
        let newest = self.trees[index].max_trx_id;
        if newest.0 >= self.engine.trx().ids.next(IdKind::Trx) {
            self.add(Some(index), None, "a leaf names a transaction that is still to come");
        }
        if (count, sum) == self.expected[index] {
            return Ok(());
        }
        self.missing_entries(index, s)?;
        if !self.is_unsettled() {
            self.strange_entries(index, s)?;
        }
        Ok(())
    }

    /// Whether the entry before, with parts `last`, was of another row with the same unique key.
    fn unique(
        &mut self,
        index: usize,
        s: &Secondary,
        (parts, key): (&[u8], &[u8]),
        last: &mut Vec<u8>,
    ) -> Result<()> {
        if last != parts {
            last.clear();
            last.extend_from_slice(parts);
            return Ok(());
        }
        let mut row = Vec::new();
        let is_there = self.table.clustered.get(key, &mut row)? && !self.is_unsettled();
        if is_there && !s.has_null(self.table.layout(), &self.table.row_of(&row)?)? {
            self.add(Some(index), None, "two rows have the same unique key");
        }
        Ok(())
    }

    /// Looks up every row's entry.
    fn missing_entries(&mut self, index: usize, s: &Secondary) -> Result<()> {
        let mut rows = self.table.clustered.range(Bound::Unbounded, Bound::Unbounded);
        let (mut entry, mut out) = (Vec::new(), Vec::new());
        while let Some((key, payload)) = rows.next()? {
            let h = RowHeader::read(payload)?;
            // An uncommitted row's entries may be on their way out already.
            if h.deleted() || self.engine.trx().is_active(h.trx) {
                continue;
            }
            let row = self.table.row_of(payload);
            let prefix = row.and_then(|r| self.engine.sure_prefix(self.table, s, &r, &mut entry));
            if self.catch(0, prefix)?.is_none() {
                continue;
            }
            entry.extend_from_slice(key);
            if !s.tree.get(&entry, &mut out)? {
                self.add(Some(index), None, "a row without its entry in the index");
            } else if is_marked(&out) {
                self.add(Some(index), None, "the entry of a row has a delete mark");
            }
        }
        Ok(())
    }

    /// Looks up every entry's row.
    fn strange_entries(&mut self, index: usize, s: &Secondary) -> Result<()> {
        let mut entries = s.tree.range(Bound::Unbounded, Bound::Unbounded);
        let (mut prefix, mut row) = (Vec::new(), Vec::new());
        while let Some((entry, payload)) = entries.next()? {
            let split = split_entry(entry, payload);
            let Some((parts, key)) = self.catch(index, split)? else { continue };
            if is_marked(payload) {
                continue;
            }
            let is_there = self.table.clustered.get(key, &mut row)?;
            if is_there {
                let row = self.table.row_of(&row);
                let made =
                    row.and_then(|r| self.engine.sure_prefix(self.table, s, &r, &mut prefix));
                if self.catch(0, made)?.is_none() {
                    continue;
                }
            }
            if !is_there || prefix != parts {
                self.add(Some(index), None, "an entry of the index without its row");
            }
        }
        Ok(())
    }

    /// Compares the pages found with the tablespace's descriptions. The space is this table's alone.
    fn space(&mut self) -> Result<()> {
        let report = match space::report(&self.table.ts) {
            Err(Error::Corrupt { page, offset, what }) => {
                self.add(None, Some((page, offset)), what);
                return Ok(());
            }
            report => report?,
        };
        self.add_all(None, report.problems);
        // Pages below a damaged one are not known.
        if !(0..self.trees.len()).all(|index| self.is_sound(index)) {
            return Ok(());
        }
        let blob = Segment::new(self.table.clustered.index, SegmentKind::Blob);
        let is_complete = !self.is_unsettled();
        let mut claims = vec![Claim { segment: blob, pages: &self.blobs, is_complete }];
        for (index, report) in self.trees.iter().enumerate() {
            let tree = self.table.tree(index).ok_or(Error::Internal("no such index"))?;
            for (kind, pages) in
                [(SegmentKind::Inner, &report.inner_pages), (SegmentKind::Leaf, &report.leaf_pages)]
            {
                let segment = Segment::new(tree.index, kind);
                claims.push(Claim { segment, pages, is_complete: true });
            }
        }
        let problems = space::audit(&self.table.ts, &claims, self.limit)?;
        self.add_all(None, problems);
        Ok(())
    }
}

/// The key of a row without a primary key, as a number.
fn hidden_id(key: &[u8]) -> Option<u64> {
    let id: [u8; 6] = key.try_into().ok()?;
    Some(id.iter().fold(0, |id, byte| id << 8 | u64::from(*byte)))
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
