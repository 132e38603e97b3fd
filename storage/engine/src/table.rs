//! A table that is open: its layout, its indexes and its counters.

use crate::{IndexSpec, TableSpec, TableStorage};
use base::TableId;
use value::{KeySpec, RowLayout};

/// An open table. Immutable but for its AUTO_INCREMENT counter: DDL opens another one.
pub struct Table {}

impl Table {
    /// Its id.
    pub fn id(&self) -> TableId {
        todo!()
    }

    /// What it was opened with.
    pub fn spec(&self) -> &TableSpec {
        todo!()
    }

    /// Where it lies.
    pub fn storage(&self) -> TableStorage {
        todo!()
    }

    /// The layout of its rows.
    pub fn layout(&self) -> &RowLayout {
        todo!()
    }

    /// The key of index `index` (0: clustered, empty for a hidden row id; then the secondaries).
    pub fn key(&self, _index: usize) -> Option<&KeySpec> {
        todo!()
    }

    /// Number of indexes, the clustered one included.
    pub fn indexes(&self) -> usize {
        todo!()
    }

    /// The description of secondary index `index` (from 1).
    pub fn index_spec(&self, _index: usize) -> Option<&IndexSpec> {
        todo!()
    }
}
