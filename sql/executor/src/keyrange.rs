//! Ranges of encoded keys: overlapping ones become one.
//!
//! 1. Ranges come out sorted and disjoint, so no row is read twice. 2. A key stands for all keys that begin with
//! it; bounds stay as they were written, so that who locks a range knows whether its end belongs to it.

use std::ops::Bound;
use value::{ColumnType, Datum};

/// An encoded key range.
pub type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// All keys that begin with `prefix`.
pub(crate) fn whole(prefix: &[u8]) -> KeyRange {
    if prefix.is_empty() {
        return (Bound::Unbounded, Bound::Unbounded);
    }
    (Bound::Included(prefix.to_vec()), Bound::Included(prefix.to_vec()))
}

/// The bound just behind every key that begins with `key`.
fn after(mut key: Vec<u8>) -> Bound<Vec<u8>> {
    if value::key::successor(&mut key) { Bound::Excluded(key) } else { Bound::Unbounded }
}

/// A bound and whether it belongs to the range.
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
        if self.inclusive { Bound::Included(self.key) } else { Bound::Excluded(self.key) }
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

/// Sorts ranges and joins those that overlap; with `touching`, also those that only touch.
pub(crate) fn merge(mut ranges: Vec<KeyRange>, touching: bool) -> Vec<KeyRange> {
    ranges.retain(|range| !is_empty(range));
    ranges.sort_by(|a, b| low_key(&a.0).cmp(&low_key(&b.0)));
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if meets(&last.1, &range.0, touching) => {
                if is_before(&last.1, &range.1) {
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

/// The first key behind an upper bound; none: there is no end.
fn end(bound: &Bound<Vec<u8>>) -> Option<Vec<u8>> {
    match bound {
        Bound::Excluded(key) => Some(key.clone()),
        Bound::Included(key) => match after(key.clone()) {
            Bound::Excluded(key) => Some(key),
            _ => None,
        },
        Bound::Unbounded => None,
    }
}

/// Whether an upper bound is below another.
fn is_before(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> bool {
    match (end(a), end(b)) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(a), Some(b)) => a < b,
    }
}

fn meets(high: &Bound<Vec<u8>>, low: &Bound<Vec<u8>>, touching: bool) -> bool {
    match (end(high), low_key(low)) {
        (None, _) | (_, None) => true,
        (Some(high), Some(low)) => low < high.as_slice() || touching && low == high.as_slice(),
    }
}

fn is_empty(range: &KeyRange) -> bool {
    match (low_key(&range.0), end(&range.1)) {
        (Some(low), Some(high)) => low >= high.as_slice(),
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
        assert_eq!(merge(ranges.clone(), true), vec![range(b"a", b"b"), range(b"c", b"g")]);
        let apart = vec![range(b"a", b"b"), range(b"c", b"f"), range(b"f", b"g")];
        assert_eq!(merge(ranges, false), apart);
    }

    #[test]
    fn an_open_range_swallows_what_follows() {
        let open = (Bound::Included(b"b".to_vec()), Bound::Unbounded);
        assert_eq!(merge(vec![range(b"c", b"d"), open.clone()], true), vec![open]);
    }

    #[test]
    fn whole_prefix_covers_exactly_the_keys_that_begin_with_it() {
        assert_eq!(end(&whole(b"ab").1), Some(b"ac".to_vec()));
        assert_eq!(end(&whole(&[0xff]).1), None);
        let both = merge(vec![whole(b"ab"), range(b"ab", b"ab1")], false);
        assert_eq!(both, vec![whole(b"ab")]);
    }
}
