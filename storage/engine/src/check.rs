//! CHECK TABLE: a slow, simple look at everything a table has, written apart from the code that
//! changes it.
//!
//! 1. Trees are sound, every row has its entries, every entry its row, every page in use is one
//!    tree's or one value's outside of its row, in an extent of its own or a shared one, and no page
//!    of those is free. "Strict" means that nobody writes and nothing is left to purge: then there
//!    are no delete marks and no entries of older versions.

use crate::engine::Engine;
use crate::files::FIRST_USER_SPACE;
use crate::outside::references;
use crate::row::{RowHeader, row_bytes};
use crate::table::{Table, split_entry};
use base::{Error, Result};
use space::{PageSet, Segment, SegmentKind};
use std::collections::BTreeSet;
use std::ops::Bound;

/// What a check counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCheck {
    /// Rows that are not marked deleted.
    pub rows: u64,
    /// Entries of all secondary indexes.
    pub entries: u64,
    /// Pages of all trees.
    pub pages: u64,
    /// Pages of values outside of their rows.
    pub blob_pages: u64,
}

impl Engine {
    /// Checks a table that nobody writes to and that has nothing left to purge.
    ///
    /// Errors: [`Error::Corrupt`] for a bad page, [`Error::Internal`] with what does not fit
    /// together.
    pub fn check_table(&self, table: &Table) -> Result<TableCheck> {
        let mut found = TableCheck::default();
        let mut trees = Vec::new();
        for index in 0..table.indexes() {
            let tree = table.tree(index).ok_or(Error::Internal("no such index"))?;
            let report = tree.check()?;
            found.pages += (report.inner + report.leaves) as u64;
            trees.push((tree.index, report));
        }
        let mut expected: Vec<BTreeSet<Vec<u8>>> = vec![BTreeSet::new(); table.secondaries.len()];
        let mut blobs = PageSet::new();
        let mut rows = table.clustered.range(Bound::Unbounded, Bound::Unbounded);
        while let Some((key, payload)) = rows.next()? {
            if RowHeader::read(payload)?.deleted() {
                return Err(Error::Internal("check: a delete mark was not purged"));
            }
            found.rows += 1;
            if RowHeader::read(payload)?.outside() {
                for reference in references(table.layout(), row_bytes(payload))? {
                    self.check_run(table, &reference, &mut blobs)?;
                }
            }
            for (s, expected) in table.secondaries.iter().zip(&mut expected) {
                let mut entry = Vec::new();
                self.sure_prefix(table, s, row_bytes(payload), &mut entry)?;
                entry.extend_from_slice(key);
                expected.insert(entry);
            }
        }
        for (s, mut expected) in table.secondaries.iter().zip(expected) {
            let mut entries = s.tree.range(Bound::Unbounded, Bound::Unbounded);
            while let Some((entry, payload)) = entries.next()? {
                split_entry(entry, payload)?;
                if !expected.remove(entry) {
                    return Err(Error::Internal("check: a secondary entry without its row"));
                }
                found.entries += 1;
            }
            if !expected.is_empty() {
                return Err(Error::Internal("check: a row without its secondary entry"));
            }
        }
        found.blob_pages = blobs.len();
        if table.ts.id() >= FIRST_USER_SPACE {
            // The space is this table's alone: every page in use is one of its indexes'.
            let blob = Segment::new(table.clustered.index, SegmentKind::Blob);
            let mut claims = vec![(blob, &blobs)];
            for (index, report) in &trees {
                claims.push((Segment::new(*index, SegmentKind::Inner), &report.inner_pages));
                claims.push((Segment::new(*index, SegmentKind::Leaf), &report.leaf_pages));
            }
            let mut problems = space::report(&table.ts)?.problems;
            problems.extend(space::audit(&table.ts, &claims, 1)?);
            if let Some(problem) = problems.first() {
                return Err(problem.error());
            }
        }
        Ok(found)
    }
}
