//! Errors and warnings by number: how often they were raised, and when first and last.
//!
//! 1. The numbers are a fixed list ([`errors`]), or as many of it as there is room for; whatever has another number counts in the row
//! before them.

use crate::stat::Tally;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

crate::classes! {
    /// The one instrument of errors.
    pub static ERROR: ErrorClass = "error";
}

/// Rows of errors in a page: 0 is that of numbers which are not listed.
pub(crate) const ERROR_ROWS: usize = 2048;

/// An error or warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorName {
    /// Number.
    pub number: u16,
    /// Name: `ER_DUP_ENTRY`.
    pub name: &'static str,
    /// SQLSTATE.
    pub state: &'static str,
}

static ERRORS: LazyLock<Vec<ErrorName>> = LazyLock::new(|| {
    let lines = include_str!("errors.tsv").lines().filter(|line| !line.starts_with('#'));
    let parse = |line: &'static str| {
        let mut fields = line.split('\t');
        let number = fields.next()?.parse().ok()?;
        Some(ErrorName { number, name: fields.next()?, state: fields.next()? })
    };
    lines.filter_map(parse).take(ERROR_ROWS - 1).collect()
});

/// `performance_schema_error_size`.
static LISTED_MAX: AtomicUsize = AtomicUsize::new(ERROR_ROWS);

/// For how many errors there is a row of their own: the first ones.
pub fn set_errors_limit(errors: usize) {
    LISTED_MAX.store(errors, Relaxed);
}

fn first(errors: &[ErrorName], most: usize) -> &[ErrorName] {
    &errors[..errors.len().min(most)]
}

/// All that are listed, ordered by number; the row of the first is 1.
pub fn errors() -> &'static [ErrorName] {
    first(&ERRORS, LISTED_MAX.load(Relaxed))
}

fn row_in(errors: &[ErrorName], number: u16) -> usize {
    errors.binary_search_by_key(&number, |error| error.number).map_or(0, |at| at + 1)
}

/// The row of an error.
pub(crate) fn row_of(number: u16) -> usize {
    row_in(errors(), number)
}

/// How often an error was raised, in a page.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct ErrorRow {
    raised: Tally,
    first_us: Tally,
    last_us: Tally,
}

impl ErrorRow {
    pub fn add(&self, now_us: u64) {
        if self.raised.get() == 0 {
            self.first_us.set(now_us);
        }
        self.raised.add(1);
        self.last_us.set(now_us);
    }

    pub fn read(&self, get: impl Fn(&Tally) -> u64) -> ErrorTotals {
        let raised = get(&self.raised);
        if raised == 0 {
            return ErrorTotals::default();
        }
        ErrorTotals { raised, first_us: get(&self.first_us), last_us: get(&self.last_us) }
    }
}

/// How often an error was raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorTotals {
    /// How often.
    pub raised: u64,
    /// When first, in microseconds since 1970; 0: never.
    pub first_us: u64,
    /// When last.
    pub last_us: u64,
}

impl ErrorTotals {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        if other.raised == 0 {
            return;
        }
        let is_first = self.raised == 0 || other.first_us < self.first_us;
        self.first_us = if is_first { other.first_us } else { self.first_us };
        self.last_us = self.last_us.max(other.last_us);
        self.raised = self.raised.wrapping_add(other.raised);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_error_has_a_row_of_its_own() {
        assert!(errors().is_sorted_by_key(|error| error.number) && errors().len() > 1900);
        assert!(errors().len() < ERROR_ROWS - 1, "errors without rows");
        let name = |number| errors()[row_of(number) - 1].name;
        assert_eq!((name(1062), name(1146)), ("ER_DUP_ENTRY", "ER_NO_SUCH_TABLE"));
        assert_eq!((row_of(999), row_of(60_000)), (0, 0));
        // Those without a row of their own count with them.
        let some = first(errors(), 2);
        let rows = |number| (row_in(some, number), row_in(first(some, 0), number));
        assert_eq!((rows(some[0].number), rows(some[1].number)), ((1, 0), (2, 0)));
        assert_eq!(rows(1062), (0, 0));
    }

    #[test]
    fn the_first_and_the_last_of_all_are_kept() {
        let row = ErrorRow::default();
        row.add(70);
        row.add(50);
        let mut all = ErrorTotals { raised: 2, first_us: 60, last_us: 90 };
        all.add(&row.read(Tally::get));
        all.add(&ErrorTotals::default());
        assert_eq!(all, ErrorTotals { raised: 4, first_us: 60, last_us: 90 });
    }
}
