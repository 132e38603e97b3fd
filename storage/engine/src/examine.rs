//! CHECK TABLE's report: what is wrong, in which index, on which page; and whose page a damaged one is.
//!
//! Naming the index of a page reads what can be read and never fails: what it cannot tell is `None`.

use crate::engine::Engine;
use crate::table::Table;
use base::{IndexId, PageId, PageNo, Result};
use btree::Tree;

/// Problems that are listed of one table.
const FINDINGS_MAX: usize = 64;

/// Something wrong with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The index, where it is one index's damage.
    pub index: Option<IndexId>,
    /// The page and the byte inside it (0: the whole page); none when no single page is at fault.
    pub place: Option<(PageId, u32)>,
    /// What is wrong.
    pub what: &'static str,
}

impl Engine {
    /// Looks for damage in a table that nobody else writes to. Empty: there is none.
    ///
    /// # Errors
    /// Those that are not the table's damage: failed reads, KILL.
    pub fn examine_table(&self, table: &Table) -> Result<Vec<Finding>> {
        let mut found = self.verify_table(table, FINDINGS_MAX)?.problems;
        for finding in found.iter_mut().filter(|f| f.index.is_none()) {
            finding.index = finding.place.and_then(|(page, _)| table.index_of_page(page.page));
        }
        Ok(found)
    }
}

impl Table {
    /// The index that a page of the table's file belongs to, as far as that can be told; for messages
    /// about damage.
    pub fn index_of_page(&self, page: PageNo) -> Option<IndexId> {
        if let Ok(Some(segment)) = space::owner(&self.ts, page) {
            return Some(segment.index);
        }
        trees(self).find(|tree| tree.refers_to(page)).map(|tree| tree.index)
    }
}

fn trees(table: &Table) -> impl Iterator<Item = &Tree> {
    std::iter::once(&table.clustered).chain(table.secondaries.iter().map(|s| &s.tree))
}
