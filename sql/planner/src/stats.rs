//! What the optimiser knows about the size of tables.

use catalog::{TableCache, TableRef};

/// Estimates about stored tables.
pub trait Statistics {
    /// Rows of the table, at least 1.
    fn rows(&self, table: TableRef) -> f64;
    /// How many different values the first `parts` parts of an index have, at least 1. `index` is the
    /// position in the definition's list.
    fn distinct(&self, table: TableRef, index: usize, parts: usize) -> f64;
}

/// Estimates from the definition alone: every table has so many rows.
pub struct Guess<'t> {
    /// Open tables.
    pub tables: &'t TableCache,
}

/// Rows of a table that nobody has looked at.
const ROWS: f64 = 10_000.0;

impl Statistics for Guess<'_> {
    fn rows(&self, _table: TableRef) -> f64 {
        ROWS
    }

    fn distinct(&self, table: TableRef, index: usize, parts: usize) -> f64 {
        let rows = self.rows(table);
        let index = &self.tables.def(table).indexes[index];
        distinct_guess(rows, index.unique, parts, index.parts.len())
    }
}

/// Different values of the first parts of an index of which nothing is known but its shape.
pub fn distinct_guess(rows: f64, unique: bool, parts: usize, all: usize) -> f64 {
    if unique && parts >= all {
        return rows.max(1.0);
    }
    // Each further part tells the rows apart better; all of them leave about ten alike.
    let least = (rows / 10.0).max(1.0);
    least.powf(parts as f64 / all.max(1) as f64).max(1.0)
}
