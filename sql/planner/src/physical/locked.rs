//! What ways to read a table cost whose rows are locked as they are read.
//!
//! 1. As by MySQL, with its constants: the way decides what is locked, and others wait for every row that is read in
//!    vain. 2. These costs choose among the ways to read one table; they are never compared with those of joins.

use super::access::Choice;
use super::merge::Tariff;
use crate::query_plan::ReadAccess;

/// MySQL's costs of a row that is looked at and of a page in memory, what it adds to ranges, and to a scan of the rows
/// that is compared with them, and how many rows and entries of an index we take a page to have when theirs are told.
const ROW: f64 = 0.1;
const PAGE: f64 = 0.25;
const RANGE: f64 = 0.01;
const SCAN_AMONG_RANGES: f64 = 2.1;
const ROWS_OF_PAGE: f64 = 400.0;
const ENTRIES_OF_PAGE: f64 = 900.0;
/// Its cost of comparing two keys, and what it fetches rows by, as shares of a page.
const COMPARE: f64 = 0.05;
const UNITS_OF_PAGE: f64 = 4.0;

/// How a way to read a table is chosen whose rows are locked as they are read: as by MySQL, with its costs, for others
/// wait for every row that is read in vain.
pub(super) struct Locked {
    rows: f64,
    pages: f64,
    /// They are to be changed: MySQL compares ranges only.
    changes: bool,
}

impl Locked {
    /// Of a table of so many rows.
    pub(super) fn of(rows: f64, changes: bool) -> Locked {
        Locked { rows, pages: 1.0 + (rows / ROWS_OF_PAGE).floor(), changes }
    }

    fn is_range(&self, choice: &Choice) -> bool {
        self.changes || matches!(choice.access, ReadAccess::Ranges { .. } | ReadAccess::Merge(_))
    }

    /// What it costs to read what a way finds.
    pub(super) fn price(&self, choice: &Choice, clustered: bool) -> f64 {
        let ranges = match &choice.access {
            ReadAccess::Ranges { ranges, .. } => ranges.len() as f64,
            _ => f64::from(u8::from(self.changes)),
        };
        let is_range = self.is_range(choice);
        let pages = match (clustered, choice.covering) {
            (true, _) if is_range => pages_of_rows(choice.rows, ranges),
            (true, _) => 1.0,
            (false, true) => pages_of_entries(choice.rows),
            // Rows of one value lie together, MySQL thinks, or are in memory once they were read.
            (false, false) if !is_range => choice.rows.min(self.pages_looked_up()),
            (false, false) => choice.rows + ranges,
        };
        let more = if is_range { RANGE } else { 0.0 };
        choice.rows * ROW + pages * PAGE + more
    }

    /// So many pages a look-up reads at most, MySQL thinks.
    fn pages_looked_up(&self) -> f64 {
        (self.rows / 10.0).min(3.0 * self.pages).max(2.0)
    }

    /// What it costs to read all rows, by the way `whole`, rather than choose `choice`.
    pub(super) fn scan(&self, choice: &Choice, whole: &Choice) -> f64 {
        let scan = self.pages * PAGE + self.rows * ROW;
        if self.is_range(choice) {
            return match whole.covering {
                // All entries of an index that has all that is needed.
                true => pages_of_entries(self.rows) * PAGE + self.rows * ROW,
                false => scan + SCAN_AMONG_RANGES,
            };
        }
        // What is good enough as a range is looked up, whatever that costs.
        let as_range = choice.rows * ROW + (choice.rows + 1.0) * PAGE + RANGE;
        match as_range < scan + SCAN_AMONG_RANGES {
            true => f64::INFINITY,
            // The look-up finds everything.
            false if choice.rows >= self.rows => 0.0,
            false => scan,
        }
    }
}

/// Pages that so many entries of an index lie in.
fn pages_of_entries(entries: f64) -> f64 {
    1.0 + (entries - 1.0) / ENTRIES_OF_PAGE
}

/// Pages that ranges of the rows lie in.
fn pages_of_rows(rows: f64, ranges: f64) -> f64 {
    if rows <= 2.0 { rows } else { ranges + rows / ENTRIES_OF_PAGE }
}

/// As MySQL prices several indexes that are read together.
impl Tariff for Locked {
    fn entries(&self, rows: f64, ranges: usize, clustered: bool) -> f64 {
        let pages = match clustered {
            true => pages_of_rows(rows, ranges as f64),
            false => pages_of_entries(rows),
        };
        rows * ROW + pages * PAGE + RANGE
    }

    fn met(&self, rows: f64, _: usize) -> f64 {
        pages_of_entries(rows) * PAGE
    }

    fn compare(&self, keys: f64) -> f64 {
        keys * COMPARE
    }

    fn fetch(&self, rows: f64) -> f64 {
        let units = self.pages * UNITS_OF_PAGE;
        units * (1.0 - (1.0 - 1.0 / units).powf(rows)) * PAGE
    }

    /// As a tree of them is built and read: twice the logarithm of the factorial.
    fn sort(&self, keys: f64) -> f64 {
        let n = keys + 1.0;
        let ln_factorial = n * n.ln() - n + 0.5 * (std::f64::consts::TAU * n).ln();
        2.0 * ln_factorial / std::f64::consts::LN_2 * COMPARE
    }

    fn rows(&self, rows: f64) -> f64 {
        rows * ROW
    }

    fn is_mysqls(&self) -> bool {
        true
    }
}
