//! Key ranges of a plan, evaluated: bounds become encoded keys, overlapping ranges become one.
//!
//! 1. A value that has no exact key (text for a number, out of range, another collation's text)
//! opens its bound: the range grows and the filter decides. 2. NULL bounds make an empty range: a
//! comparison with NULL is never true. 3. A part that keeps a prefix only widens its ranges ([`prefix`]).
//! 4. Ranges come out sorted and disjoint, so no row is read twice.

mod prefix;

use crate::{Environment, SqlError};
use expr::tree::Expr;
use expr::{Row, eval};
use planner::plan::{Access, BoundExpr, KeyRangeExpr};
use std::ops::Bound;
use value::{ColumnType, Datum, KeySpec};

/// An encoded key range.
pub type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Which index to read and which ranges of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Reading {
    /// Engine index.
    pub index: usize,
    /// Sorted, disjoint ranges.
    pub ranges: Vec<KeyRange>,
}

/// What a value is as a part of a key.
enum Part {
    /// Comparison with NULL.
    Never,
    /// No exact key.
    Open,
    Exact,
}

/// Evaluates an access path over a table.
///
/// # Errors
/// Those of evaluating the bounds.
pub fn resolve(
    access: &Access,
    table: &engine::Table,
    params: &[Datum<'_>],
    env: &mut dyn Environment,
) -> Result<Reading, SqlError> {
    let everything = || Reading { index: 0, ranges: vec![(Bound::Unbounded, Bound::Unbounded)] };
    match access {
        Access::NoTable | Access::Nothing => Ok(Reading { index: 0, ranges: Vec::new() }),
        Access::All => Ok(everything()),
        Access::Point(equal) => resolve_ranges(table, 0, equal, &[], params, env),
        Access::Ranges { index, equal, ranges } => {
            resolve_ranges(table, *index, equal, ranges, params, env)
        }
    }
}

fn resolve_ranges(
    table: &engine::Table,
    index: usize,
    equal: &[Expr],
    ranges: &[KeyRangeExpr],
    params: &[Datum<'_>],
    env: &mut dyn Environment,
) -> Result<Reading, SqlError> {
    let missing = SqlError::Storage(base::Error::Internal("plan names an index that is not there"));
    let spec = table.key(index).ok_or(missing)?;
    let encoder = Encoder { spec, types: &table.spec().columns };
    let row = Row { params, ..Row::default() };
    let mut prefix = Vec::new();
    for (part, expr) in equal.iter().enumerate() {
        let value = eval(expr, &row, env)?;
        match encoder.append(part, &value.get(), &mut prefix) {
            Part::Never => return Ok(Reading { index, ranges: Vec::new() }),
            Part::Open => return Ok(Reading { index, ranges: vec![whole(&prefix)] }),
            Part::Exact => {}
        }
    }
    if ranges.is_empty() {
        return Ok(Reading { index, ranges: vec![whole(&prefix)] });
    }
    let mut found = Vec::with_capacity(ranges.len());
    let part = spec.parts.get(equal.len());
    let cut = part.is_some_and(|part| part.prefix_chars.is_some());
    let descending = part.is_some_and(|part| part.descending);
    if cut && descending {
        return Ok(Reading { index, ranges: vec![whole(&prefix)] });
    }
    for range in ranges {
        // Larger values lie first in a descending part.
        let turned = KeyRangeExpr { low: range.high.clone(), high: range.low.clone() };
        let range = if descending { &turned } else { range };
        if cut {
            prefix::add(&encoder, equal.len(), range, &prefix, &row, env, &mut found)?;
            continue;
        }
        let low = bound(&encoder, equal.len(), range.low.as_ref(), &prefix, &row, env)?;
        let high = bound(&encoder, equal.len(), range.high.as_ref(), &prefix, &row, env)?;
        if let (Some(low), Some(high)) = (low, high) {
            let (first, last) = whole(&prefix);
            found.push((low.map_or(first, Limit::into_low), high.map_or(last, Limit::into_high)));
        }
    }
    Ok(Reading { index, ranges: merge(found) })
}

/// All keys that begin with `prefix`.
pub(crate) fn whole(prefix: &[u8]) -> KeyRange {
    if prefix.is_empty() {
        return (Bound::Unbounded, Bound::Unbounded);
    }
    (Bound::Included(prefix.to_vec()), after(prefix.to_vec()))
}

/// The bound just behind every key that begins with `key`.
fn after(mut key: Vec<u8>) -> Bound<Vec<u8>> {
    if value::key::successor(&mut key) { Bound::Excluded(key) } else { Bound::Unbounded }
}

pub(crate) struct Limit {
    pub(crate) key: Vec<u8>,
    pub(crate) inclusive: bool,
}

impl Limit {
    pub(crate) fn into_low(self) -> Bound<Vec<u8>> {
        if self.inclusive {
            return Bound::Included(self.key);
        }
        match after(self.key) {
            Bound::Excluded(key) => Bound::Included(key),
            other => other,
        }
    }

    pub(crate) fn into_high(self) -> Bound<Vec<u8>> {
        if self.inclusive { after(self.key) } else { Bound::Excluded(self.key) }
    }
}

/// `None`: the range is empty. `Some(None)`: this side is open.
#[allow(clippy::option_option)]
pub(crate) fn bound(
    encoder: &Encoder<'_>,
    part: usize,
    bound: Option<&BoundExpr>,
    prefix: &[u8],
    row: &Row<'_>,
    env: &mut dyn Environment,
) -> Result<Option<Option<Limit>>, SqlError> {
    let Some(bound) = bound else { return Ok(Some(None)) };
    let value = eval(&bound.value, row, env)?;
    let mut key = prefix.to_vec();
    Ok(match encoder.append(part, &value.get(), &mut key) {
        Part::Never => None,
        Part::Open => Some(None),
        Part::Exact => Some(Some(Limit { key, inclusive: bound.inclusive })),
    })
}

pub(crate) struct Encoder<'t> {
    pub(crate) spec: &'t KeySpec,
    pub(crate) types: &'t [ColumnType],
}

impl Encoder<'_> {
    fn append(&self, part: usize, value: &Datum<'_>, key: &mut Vec<u8>) -> Part {
        if value.is_null() {
            return Part::Never;
        }
        let Some(spec) = self.spec.parts.get(part) else { return Part::Open };
        if !has_exact_key(value, &self.types[spec.column]) {
            return Part::Open;
        }
        let alone = KeySpec::new(vec![*spec]);
        let start = key.len();
        if alone.encode_prefix(self.types, &[*value], key).is_err() {
            key.truncate(start);
            return Part::Open;
        }
        Part::Exact
    }
}

/// True when the value can be a key of that type as it is: an integer of the column's range, or text.
pub fn has_exact_key(value: &Datum<'_>, ty: &ColumnType) -> bool {
    let inside = |v: i128| {
        let (least, greatest) = ty.int_range();
        ty.kind.is_int() && least <= v && v <= greatest
    };
    match value {
        Datum::Int(v) => inside(i128::from(*v)),
        Datum::UInt(v) => inside(i128::from(*v)),
        Datum::Bytes(bytes) => ty.kind.is_string() && ty.collation.charset().is_valid(bytes),
        _ => false,
    }
}

/// Sorts ranges and joins those that touch.
pub(crate) fn merge(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.retain(|range| !is_empty(range));
    ranges.sort_by(|a, b| low_key(&a.0).cmp(&low_key(&b.0)));
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if touches(&last.1, &range.0) => {
                if high_key(&last.1) < high_key(&range.1) {
                    last.1 = range.1;
                }
            }
            _ => merged.push(range),
        }
    }
    merged
}

fn low_key(bound: &Bound<Vec<u8>>) -> Option<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

/// Upper bounds in order: keys, then "no bound". Every upper bound made here is exclusive.
fn high_key(bound: &Bound<Vec<u8>>) -> (bool, &[u8]) {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => (false, key),
        Bound::Unbounded => (true, &[]),
    }
}

fn touches(high: &Bound<Vec<u8>>, low: &Bound<Vec<u8>>) -> bool {
    match (high, low_key(low)) {
        (Bound::Unbounded, _) | (_, None) => true,
        (Bound::Included(high) | Bound::Excluded(high), Some(low)) => low <= high.as_slice(),
    }
}

fn is_empty(range: &KeyRange) -> bool {
    match (low_key(&range.0), &range.1) {
        (Some(low), Bound::Excluded(high)) => low >= high.as_slice(),
        (Some(low), Bound::Included(high)) => low > high.as_slice(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: &[u8], high: &[u8]) -> KeyRange {
        (Bound::Included(low.to_vec()), Bound::Excluded(high.to_vec()))
    }

    #[test]
    fn overlapping_and_touching_ranges_become_one_and_empty_ones_vanish() {
        let ranges = vec![
            range(b"c", b"e"),
            range(b"a", b"b"),
            range(b"d", b"f"),
            range(b"z", b"y"),
            range(b"f", b"g"),
        ];
        assert_eq!(merge(ranges), vec![range(b"a", b"b"), range(b"c", b"g")]);
    }

    #[test]
    fn an_open_range_swallows_what_follows() {
        let open = (Bound::Included(b"b".to_vec()), Bound::Unbounded);
        assert_eq!(merge(vec![range(b"c", b"d"), open.clone()]), vec![open]);
    }

    #[test]
    fn whole_prefix_covers_exactly_the_keys_that_begin_with_it() {
        assert_eq!(whole(b"ab"), range(b"ab", b"ac"));
        assert_eq!(whole(&[0xff]), (Bound::Included(vec![0xff]), Bound::Unbounded));
    }
}
