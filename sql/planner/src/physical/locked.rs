//! What ways to read a table cost whose rows are locked as they are read.
//!
//! 1. As by MySQL, with its constants: the way decides what is locked, and others wait for every row that is read in
//!    vain. 2. These costs choose among the ways to read one table; they are never compared with those of joins.

use super::access::Choice;
use crate::query_plan::ReadAccess;

/// MySQL's costs of a row that is looked at and of a page in memory, what it adds to a scan that is compared with
/// ranges, and how many rows we take a page to have when theirs are told.
const ROW: f64 = 0.1;
const PAGE: f64 = 0.25;
const SCAN_AMONG_RANGES: f64 = 2.1;
const ROWS_OF_PAGE: f64 = 400.0;
/// So many rows MySQL looks up in an index also when these are all there are.
const ROWS_LOOKED_UP_MAX: f64 = 8.0;

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
        self.changes || matches!(choice.access, ReadAccess::Ranges { .. })
    }

    /// What it costs to read what a way finds.
    pub(super) fn price(&self, choice: &Choice, clustered: bool) -> f64 {
        let ranges = match &choice.access {
            ReadAccess::Ranges { ranges, .. } => ranges.len(),
            _ => usize::from(self.changes),
        };
        let fetches = match choice.covering || clustered {
            true => PAGE,
            false => (choice.rows + ranges as f64) * PAGE,
        };
        // Rows of one value lie together, MySQL thinks, or are in memory once they were read.
        let fetches_max = self.pages * PAGE;
        let fetches = if self.is_range(choice) { fetches } else { fetches.min(fetches_max) };
        choice.rows * ROW + fetches
    }

    /// What it costs to read all rows rather than choose that way.
    pub(super) fn scan(&self, choice: &Choice) -> f64 {
        let scan = self.pages * PAGE + self.rows * ROW;
        match choice.rows >= self.rows && self.rows > ROWS_LOOKED_UP_MAX {
            _ if self.is_range(choice) => scan + SCAN_AMONG_RANGES,
            // The look-up finds everything.
            true => 0.0,
            false => scan,
        }
    }
}
