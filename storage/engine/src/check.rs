//! CHECK TABLE: a slow, simple look at everything a table has, written apart from the code that
//! changes it.
//!
//! 1. Trees are sound, every row has its entries, every entry its row, no page is lost. "Strict"
//!    means that nobody writes and nothing is left to purge: then there are no delete marks and no
//!    entries of older versions.

use crate::engine::Engine;
use crate::files::FIRST_USER_SPACE;
use crate::row::{RowHeader, row_bytes};
use crate::table::{Table, split_entry};
use base::{Error, Result};
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
}

impl Engine {
    /// Checks a table that nobody writes to and that has nothing left to purge.
    ///
    /// Errors: [`Error::Corrupt`] for a bad page, [`Error::Internal`] with what does not fit
    /// together.
    pub fn check_table(&self, table: &Table) -> Result<TableCheck> {
        let mut found = TableCheck::default();
        for index in 0..table.indexes() {
            let tree = table.tree(index).ok_or(Error::Internal("no such index"))?;
            found.pages += tree.check()?.pages.len() as u64;
        }
        let mut expected: Vec<BTreeSet<Vec<u8>>> = vec![BTreeSet::new(); table.secondaries.len()];
        let mut rows = table.clustered.range(Bound::Unbounded, Bound::Unbounded);
        while let Some((key, payload)) = rows.next()? {
            if RowHeader::read(payload)?.deleted {
                return Err(Error::Internal("check: a delete mark was not purged"));
            }
            found.rows += 1;
            for (s, expected) in table.secondaries.iter().zip(&mut expected) {
                let mut entry = Vec::new();
                s.prefix(table.layout(), row_bytes(payload), &mut entry)?;
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
        if table.ts.id() >= FIRST_USER_SPACE {
            // The space is this table's alone.
            let space = space::header(&table.ts)?;
            let known = 1 + found.pages + u64::from(space.free_count);
            if u64::from(space.page_count) != known {
                return Err(Error::Internal(
                    "check: pages that neither an index nor the free list has",
                ));
            }
        }
        Ok(found)
    }
}
