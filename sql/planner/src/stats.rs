//! What the optimiser knows about the size of tables.

use catalog::{Histogram, TableCache, TableRef};
use std::cell::RefCell;
use std::sync::Arc;
use value::ColumnType;

/// So many entries are where no key can be.
pub const IMPOSSIBLE: f64 = -1.0;

/// Estimates about stored tables.
pub trait Statistics {
    /// Rows of the table, at least 1.
    fn rows(&self, table: TableRef) -> f64;
    /// As [`Statistics::rows`], of a small table what it has now, changes that are not committed included.
    fn rows_now(&self, table: TableRef) -> f64 {
        self.rows(table)
    }
    /// How many different values the first `parts` parts of an index have, at least 1. `index` is the
    /// position in the definition's list.
    fn distinct(&self, table: TableRef, index: usize, parts: usize) -> f64;
    /// About how many entries an engine index has from key `low` to below `high`; [`IMPOSSIBLE`]: no key is there;
    /// `None`: it is not known.
    fn between(
        &self,
        _table: TableRef,
        _index: usize,
        _low: &[u8],
        _high: Option<&[u8]>,
    ) -> Option<f64> {
        None
    }
    /// The histogram of a column, and the column's type.
    fn histogram(&self, _table: TableRef, _column: usize) -> Option<(Arc<Histogram>, ColumnType)> {
        None
    }
}

/// Estimates from gathered figures; without them from the trees: rows by sampling, different values by the
/// shape of the index.
pub struct Sampled<'t> {
    tables: &'t TableCache,
    /// Rows by table, as far as they were asked for.
    rows: RefCell<Vec<(TableRef, f64)>>,
}

impl<'t> Sampled<'t> {
    /// Of open tables.
    pub fn new(tables: &'t TableCache) -> Sampled<'t> {
        Sampled { tables, rows: RefCell::new(Vec::new()) }
    }
}

/// Rows of a table that cannot be read; reading it will say why.
const UNKNOWN_ROWS: u64 = 1000;
/// Fewer rows than that are not believed before figures were gathered: a plan lives longer than an empty
/// table stays empty. With figures, plans are made anew when those change.
const ROWS_MIN: f64 = 1000.0;
/// A table that had no more rows when figures were gathered is counted where it matters.
const SMALL_ROWS: f64 = 200.0;

impl Statistics for Sampled<'_> {
    fn rows(&self, table: TableRef) -> f64 {
        if let Some((_, rows)) = self.rows.borrow().iter().find(|(t, _)| *t == table) {
            return *rows;
        }
        let rows = match self.tables.statistics(table).figures {
            Some(figures) => figures.rows.max(1.0),
            None => {
                let rows = self.tables.table(table).estimated_rows().unwrap_or(UNKNOWN_ROWS);
                (rows as f64).max(ROWS_MIN)
            }
        };
        self.rows.borrow_mut().push((table, rows));
        rows
    }

    fn rows_now(&self, table: TableRef) -> f64 {
        let gathered = self.tables.statistics(table).figures.is_some();
        let rows = self.rows(table);
        match gathered && rows <= SMALL_ROWS {
            true => {
                self.tables.table(table).few_rows().ok().flatten().map_or(rows, |n| n.max(1) as f64)
            }
            false => rows,
        }
    }

    fn histogram(&self, table: TableRef, column: usize) -> Option<(Arc<Histogram>, ColumnType)> {
        let column = self.tables.def(table).columns.get(column)?;
        let histogram = self.tables.statistics(table).histograms.get(&column.name).cloned()?;
        Some((histogram, column.ty))
    }

    fn distinct(&self, table: TableRef, index: usize, parts: usize) -> f64 {
        let rows = self.rows(table);
        let index = &self.tables.def(table).indexes[index];
        let figures = self.tables.statistics(table).figures;
        let known = figures.as_ref().and_then(|f| f.index(index.id));
        if let Some(distinct) = known.and_then(|i| i.distinct.get(parts.checked_sub(1)?)) {
            return distinct.clamp(1.0, rows.max(1.0));
        }
        distinct_guess(rows, index.unique, parts, index.parts.len())
    }

    fn between(
        &self,
        table: TableRef,
        index: usize,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> Option<f64> {
        if high.is_some_and(|high| low >= high) {
            return Some(IMPOSSIBLE);
        }
        let entries = self.tables.table(table).entries_between(index, low, high);
        entries.ok().flatten().map(|entries| entries as f64)
    }
}

/// Different values of the first parts of an index of which nothing is known but its shape.
pub fn distinct_guess(rows: f64, unique: bool, parts: usize, all: usize) -> f64 {
    if unique && parts >= all {
        return rows.max(1.0);
    }
    if parts >= all {
        // An index that is not unique has about ten rows per value.
        return (rows / 10.0).max(1.0);
    }
    // Each further part tells the rows apart better.
    rows.powf(0.7 + 0.25 * parts as f64 / all.max(1) as f64).max(1.0)
}
