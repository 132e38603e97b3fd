//! Ranges of encoded keys: overlapping ones become one.
//!
//! 1. Ranges come out sorted and disjoint, so no row is read twice. 2. A key stands for all keys that begin with
//! it; bounds stay as they were written, so that who locks a range knows whether its end belongs to it.

use std::ops::Bound;

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
        if self.inclusive { Bound::Included(self.key) } else { Bound::Excluded(self.key) }
    }

    pub(crate) fn into_high(self) -> Bound<Vec<u8>> {
        if self.inclusive { Bound::Included(self.key) } else { Bound::Excluded(self.key) }
    }
}

/// Whether a key lies in a range.
pub(crate) fn contains((low, high): &KeyRange, key: &[u8]) -> bool {
    let above = match low {
        Bound::Included(low) => key >= &low[..],
        Bound::Excluded(low) => key > &low[..] && !key.starts_with(low),
        Bound::Unbounded => true,
    };
    above
        && match high {
            Bound::Included(high) => key < &high[..] || key.starts_with(high),
            Bound::Excluded(high) => key < &high[..],
            Bound::Unbounded => true,
        }
}

/// Sorts ranges and joins those that overlap; with `touching`, also those that only touch.
pub(crate) fn merge(mut ranges: Vec<KeyRange>, touching: bool) -> Vec<KeyRange> {
    ranges.retain(|range| !is_empty(range));
    if ranges.len() < 2 {
        return ranges;
    }
    ranges.sort_by_cached_key(|range| start(&range.0));
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

/// The first key of a lower bound.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Start {
    First,
    At(Vec<u8>),
    /// No key is so large.
    Nowhere,
}

fn start(bound: &Bound<Vec<u8>>) -> Start {
    match bound {
        Bound::Included(key) => Start::At(key.clone()),
        Bound::Excluded(key) => match after(key.clone()) {
            Bound::Excluded(key) => Start::At(key),
            _ => Start::Nowhere,
        },
        Bound::Unbounded => Start::First,
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
    match (end(high), start(low)) {
        (None, _) | (_, Start::First) => true,
        (_, Start::Nowhere) => false,
        (Some(high), Start::At(low)) => low < high || touching && low == high,
    }
}

fn is_empty(range: &KeyRange) -> bool {
    // The usual ends, without a copy of them.
    match range {
        (Bound::Included(low), Bound::Included(high)) => {
            return low > high && !low.starts_with(high);
        }
        (Bound::Included(low), Bound::Excluded(high)) => return low >= high,
        (Bound::Unbounded, Bound::Unbounded) => return false,
        _ => {}
    }
    match (start(&range.0), end(&range.1)) {
        (Start::Nowhere, _) => true,
        (Start::At(low), Some(high)) => low >= high,
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
    fn a_range_that_begins_behind_a_key_keeps_its_bound() {
        let behind = |low: &[u8], high: &[u8]| {
            (Bound::Excluded(low.to_vec()), Bound::Excluded(high.to_vec()))
        };
        // From b on is before what comes behind all that begins with b.
        let apart = vec![behind(b"b", b"d"), range(b"b", b"b1")];
        assert_eq!(merge(apart, false), vec![range(b"b", b"b1"), behind(b"b", b"d")]);
        assert_eq!(merge(vec![behind(b"b", b"c")], true), vec![]);
        assert_eq!(merge(vec![behind(&[0xff], b"c")], true), vec![]);
    }

    #[test]
    fn a_key_is_in_a_range_if_it_begins_with_an_end_that_belongs_to_it() {
        let key = |text: &[u8]| text.to_vec();
        let closed = (Bound::Included(key(b"b")), Bound::Included(key(b"d")));
        let inside = [&b"b"[..], b"bx", b"c", b"d", b"dx"];
        assert!(inside.iter().all(|k| contains(&closed, k)));
        assert!(!contains(&closed, b"a") && !contains(&closed, b"e"));
        let open = (Bound::Excluded(key(b"b")), Bound::Excluded(key(b"d")));
        assert!(contains(&open, b"c") && !contains(&open, b"bx") && !contains(&open, b"d"));
        assert!(contains(&(Bound::Unbounded, Bound::Unbounded), b""));
    }

    #[test]
    fn whole_prefix_covers_exactly_the_keys_that_begin_with_it() {
        assert_eq!(end(&whole(b"ab").1), Some(b"ac".to_vec()));
        assert_eq!(end(&whole(&[0xff]).1), None);
        let both = merge(vec![whole(b"ab"), range(b"ab", b"ab1")], false);
        assert_eq!(both, vec![whole(b"ab")]);
    }
}
