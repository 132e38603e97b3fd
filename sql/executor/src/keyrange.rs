//! Ranges of encoded keys: overlapping ones become one.
//!
//! 1. Ranges come out of [`KeyRanges::merge`] sorted and disjoint, so no row is read twice. 2. A key stands for all keys
//! that begin with it; bounds stay as they were written, so that who locks a range knows whether its end belongs to it.
//! 3. The keys of all ranges lie in one memory, which those of the next execution use again: warm, nothing is allocated. Keys that do
//! not lie in its first 4 GB are lost: who has written them asks [`KeyRanges::has_overflowed`].

use std::cmp::Ordering;
use std::ops::{Bound, Range};
use stdx::bytes::be_head;

/// An encoded key range.
pub(crate) type KeyRange<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

/// Where a key lies among those of its ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    start: u32,
    end: u32,
}

impl Key {
    #[inline]
    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A range by where its ends are written.
#[derive(Debug, Clone, Copy)]
struct Span {
    low: Bound<Key>,
    high: Bound<Key>,
    /// Of the place where it begins, once it is to be sorted.
    head: u64,
}

impl Span {
    #[inline]
    fn new((low, high): (Bound<Key>, Bound<Key>)) -> Span {
        Span { low, high, head: 0 }
    }

    #[inline]
    fn begins<'k>(&self, bytes: &'k [u8]) -> Place<'k> {
        Place::of_low(slice(bytes, self.low))
    }

    fn ends<'k>(&self, bytes: &'k [u8]) -> Place<'k> {
        Place::of_high(slice(bytes, self.high))
    }

    /// The head of the place where it ends is no larger: that of the first key's that is above all which begin with its end, cut off.
    /// Only once `head` is set.
    #[inline]
    fn end_head_max(&self, bytes: &[u8]) -> u64 {
        let (Bound::Included(end) | Bound::Excluded(end)) = slice(bytes, self.high) else {
            return u64::MAX;
        };
        // A range of one prefix begins and ends with the same key, whose head was taken for sorting.
        let head = if self.low == self.high { self.head } else { be_head(end) };
        let last_byte = 1u64.checked_shl(64 - 8 * end.len().min(8) as u32);
        last_byte.map_or(u64::MAX, |last_byte| head.saturating_add(last_byte))
    }
}

/// Encoded key ranges.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyRanges {
    bytes: Vec<u8>,
    list: Vec<Span>,
    has_overflowed: bool,
}

impl KeyRanges {
    /// The one range of all keys.
    pub fn everything() -> KeyRanges {
        let list = vec![Span::new((Bound::Unbounded, Bound::Unbounded))];
        KeyRanges { list, ..KeyRanges::default() }
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.list.clear();
        self.has_overflowed = false;
    }

    /// A key was written that found no room.
    pub fn has_overflowed(&self) -> bool {
        self.has_overflowed
    }

    /// Gives their memory back if it is more than this, in bytes.
    pub fn trim(&mut self, bytes_max: usize) {
        if self.bytes.capacity() + self.list.capacity() * size_of::<Span>() > bytes_max {
            *self = KeyRanges::default();
        }
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The range of a number.
    #[inline]
    pub fn get(&self, n: usize) -> Option<KeyRange<'_>> {
        self.list.get(n).map(|span| slices(&self.bytes, (span.low, span.high)))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = KeyRange<'_>> {
        self.list.iter().map(|span| slices(&self.bytes, (span.low, span.high)))
    }

    /// Whether a key lies in one of them.
    pub fn contain(&self, key: &[u8]) -> bool {
        self.iter().any(|range| contains(range, key))
    }

    /// Where keys are written, for [`Self::key_from`].
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Begins a key that goes on behind another one; where it begins.
    #[inline]
    pub fn begin(&mut self, before: Key) -> usize {
        let start = self.bytes.len();
        // Most of them begin with nothing.
        if before.start < before.end {
            self.bytes.extend_from_within(before.range());
        }
        start
    }

    /// The key that was written from here on.
    #[inline]
    pub fn key_from(&mut self, start: usize) -> Key {
        self.key_between(start, self.bytes.len())
    }

    #[inline(always)]
    fn key_between(&mut self, start: usize, end: usize) -> Key {
        if let Ok(end) = u32::try_from(end) {
            return Key { start: start as u32, end };
        }
        self.has_overflowed = true;
        Key { start: 0, end: 0 }
    }

    /// The bytes of a key.
    pub fn key(&self, key: Key) -> &[u8] {
        &self.bytes[key.range()]
    }

    /// Writes a key.
    #[inline]
    pub fn add(&mut self, key: &[u8]) -> Key {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.key_from(start)
    }

    /// Adds a range of keys that were written, unless it is empty.
    #[inline]
    pub fn push(&mut self, range: (Bound<Key>, Bound<Key>)) {
        if !is_empty(slices(&self.bytes, range)) {
            self.list.push(Span::new(range));
        }
    }

    /// Adds the range of all keys that begin with one that was written.
    #[inline]
    pub fn push_whole(&mut self, prefix: Key) {
        self.list.push(Span::new(whole(prefix)));
    }

    /// Sorts the ranges and joins those that overlap; with `touching`, also those that only touch.
    pub fn merge(&mut self, touching: bool) {
        let Self { bytes, list, .. } = self;
        if list.len() < 2 {
            return;
        }
        list.iter_mut().for_each(|span| span.head = span.begins(bytes).head());
        list.sort_unstable_by_key(|span| span.head);
        if list.windows(2).any(|two| two[0].head == two[1].head) {
            list.sort_unstable_by(|a, b| a.begins(bytes).cmp(&b.begins(bytes)));
        }
        let mut merged = 0;
        for n in 1..list.len() {
            let (last, span) = (&list[merged], &list[n]);
            let is_apart = span.head > last.end_head_max(bytes)
                || !meets(last.ends(bytes), span.begins(bytes), touching);
            if is_apart {
                merged += 1;
                if merged < n {
                    list[merged] = list[n];
                }
            } else if last.ends(bytes) < span.ends(bytes) {
                list[merged].high = list[n].high;
            }
        }
        list.truncate(merged + 1);
    }
}

#[inline]
fn slice(bytes: &[u8], bound: Bound<Key>) -> Bound<&[u8]> {
    bound.map(|key| &bytes[key.range()])
}

#[inline]
fn slices(bytes: &[u8], (low, high): (Bound<Key>, Bound<Key>)) -> KeyRange<'_> {
    (slice(bytes, low), slice(bytes, high))
}

/// All keys that begin with `prefix`.
pub(crate) fn whole(prefix: Key) -> (Bound<Key>, Bound<Key>) {
    if prefix.start == prefix.end {
        return (Bound::Unbounded, Bound::Unbounded);
    }
    (Bound::Included(prefix), Bound::Included(prefix))
}

/// Whether a key lies in a range.
fn contains((low, high): KeyRange<'_>, key: &[u8]) -> bool {
    let above = match low {
        Bound::Included(low) => key >= low,
        Bound::Excluded(low) => key > low && !key.starts_with(low),
        Bound::Unbounded => true,
    };
    above
        && match high {
            Bound::Included(high) => key < high || key.starts_with(high),
            Bound::Excluded(high) => key < high,
            Bound::Unbounded => true,
        }
}

/// A place among all keys: before the first one that is not smaller than a key, which is given by its beginning and a last
/// byte. What is behind all that begin with a key is before its successor, whose last byte is one more.
#[derive(Debug, Clone, Copy)]
struct Place<'k> {
    start: &'k [u8],
    last: Option<u8>,
    /// Behind all keys.
    is_end: bool,
}

impl<'k> Place<'k> {
    #[inline]
    fn before(key: &'k [u8]) -> Place<'k> {
        Place { start: key, last: None, is_end: false }
    }

    /// Behind all that begin with a key.
    #[inline]
    fn behind(mut key: &'k [u8]) -> Place<'k> {
        while let Some((&last, start)) = key.split_last() {
            if last != u8::MAX {
                return Place { start, last: Some(last + 1), is_end: false };
            }
            key = start;
        }
        Place { start: &[], last: None, is_end: true }
    }

    /// Of two places whose heads differ, the one with the smaller head comes first.
    #[inline]
    fn head(&self) -> u64 {
        if self.is_end {
            return u64::MAX;
        }
        let start = be_head(self.start);
        match self.last {
            Some(last) if self.start.len() < 8 => {
                start | u64::from(last) << (56 - 8 * self.start.len())
            }
            _ => start,
        }
    }

    /// Where a range with this lower bound begins.
    #[inline]
    fn of_low(bound: Bound<&'k [u8]>) -> Place<'k> {
        match bound {
            Bound::Included(key) => Place::before(key),
            Bound::Excluded(key) => Place::behind(key),
            Bound::Unbounded => Place::before(&[]),
        }
    }

    /// Where a range with this upper bound ends.
    #[inline]
    fn of_high(bound: Bound<&'k [u8]>) -> Place<'k> {
        match bound {
            Bound::Included(key) => Place::behind(key),
            Bound::Excluded(key) => Place::before(key),
            Bound::Unbounded => Place::behind(&[]),
        }
    }
}

impl Ord for Place<'_> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if self.is_end | other.is_end {
            return self.is_end.cmp(&other.is_end);
        }
        if self.last.is_none() && other.last.is_none() {
            return self.start.cmp(other.start);
        }
        let common = self.start.len().min(other.start.len());
        let rest = |place: &Self| place.start[common..].iter().copied().chain(place.last);
        self.start[..common].cmp(&other.start[..common]).then_with(|| rest(self).cmp(rest(other)))
    }
}

impl PartialOrd for Place<'_> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Place<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Place<'_> {}

/// Whether a range that begins at `begin` goes on where one that ends at `end` is.
#[inline]
fn meets(end: Place<'_>, begin: Place<'_>, touching: bool) -> bool {
    match begin.cmp(&end) {
        Ordering::Less => true,
        Ordering::Equal => touching,
        Ordering::Greater => false,
    }
}

#[inline]
fn is_empty((low, high): KeyRange<'_>) -> bool {
    match (low, high) {
        // The usual ends.
        (Bound::Included(low), Bound::Included(high)) => low > high && !low.starts_with(high),
        (Bound::Included(low), Bound::Excluded(high)) => low >= high,
        _ => Place::of_low(low) >= Place::of_high(high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range<'k>(low: &'k [u8], high: &'k [u8]) -> KeyRange<'k> {
        (Bound::Included(low), Bound::Excluded(high))
    }

    fn behind<'k>(low: &'k [u8], high: &'k [u8]) -> KeyRange<'k> {
        (Bound::Excluded(low), Bound::Excluded(high))
    }

    /// What becomes of ranges.
    fn merged(ranges: &[KeyRange<'_>], touching: bool, expected: &[KeyRange<'_>]) {
        let mut made = KeyRanges::default();
        for (low, high) in ranges {
            let range = (low.map(|key| made.add(key)), high.map(|key| made.add(key)));
            made.push(range);
        }
        made.merge(touching);
        assert!(made.iter().eq(expected.iter().copied()), "{:?}", made.iter().collect::<Vec<_>>());
    }

    #[test]
    fn overlapping_and_touching_ranges_become_one_and_empty_ones_vanish() {
        let ranges = [
            range(b"c", b"e"),
            range(b"a", b"b"),
            range(b"d", b"f"),
            range(b"z", b"y"),
            range(b"f", b"g"),
        ];
        merged(&ranges, true, &[range(b"a", b"b"), range(b"c", b"g")]);
        merged(&ranges, false, &[range(b"a", b"b"), range(b"c", b"f"), range(b"f", b"g")]);
    }

    #[test]
    fn keys_beyond_four_gigabytes_are_told() {
        let mut ranges = KeyRanges::default();
        assert_eq!(ranges.key_between(5, u32::MAX as usize), Key { start: 5, end: u32::MAX });
        assert!(!ranges.has_overflowed());
        ranges.key_between(5, 1 << 32);
        assert!(ranges.has_overflowed());
        ranges.clear();
        assert!(!ranges.has_overflowed());
    }

    #[test]
    fn an_open_range_swallows_what_follows() {
        let open = (Bound::Included(&b"b"[..]), Bound::Unbounded);
        merged(&[range(b"c", b"d"), open], true, &[open]);
    }

    #[test]
    fn a_range_that_begins_behind_a_key_keeps_its_bound() {
        // From b on is before what comes behind all that begins with b.
        let ranges = [behind(b"b", b"d"), range(b"b", b"b1")];
        merged(&ranges, false, &[range(b"b", b"b1"), behind(b"b", b"d")]);
        merged(&[behind(b"b", b"c")], true, &[]);
        merged(&[behind(&[0xff], b"c")], true, &[]);
    }

    #[test]
    fn a_key_is_in_a_range_if_it_begins_with_an_end_that_belongs_to_it() {
        let closed = (Bound::Included(&b"b"[..]), Bound::Included(&b"d"[..]));
        let inside = [&b"b"[..], b"bx", b"c", b"d", b"dx"];
        assert!(inside.iter().all(|k| contains(closed, k)));
        assert!(!contains(closed, b"a") && !contains(closed, b"e"));
        let open = behind(b"b", b"d");
        assert!(contains(open, b"c") && !contains(open, b"bx") && !contains(open, b"d"));
        assert!(contains((Bound::Unbounded, Bound::Unbounded), b""));
    }

    #[test]
    fn places_are_ordered_as_the_keys_between_them() {
        let mut keys = vec![Vec::new()];
        for at in 0..40 {
            let longer = [0, 1, 0xff].map(|byte| [&keys[at][..], &[byte]].concat());
            keys.extend(longer);
        }
        let places: Vec<(Place<'_>, Vec<bool>)> = keys[..40]
            .iter()
            .flat_map(|key| {
                let is_before = |k: &Vec<u8>| k < key;
                let is_in = |k: &Vec<u8>| k < key || k.starts_with(key);
                [
                    (Place::before(key), keys.iter().map(is_before).collect()),
                    (Place::behind(key), keys.iter().map(is_in).collect()),
                ]
            })
            .collect();
        let count = |below: &[bool]| below.iter().filter(|b| **b).count();
        for ((a, below_a), (b, below_b)) in
            places.iter().flat_map(|a| places.iter().map(move |b| (a, b)))
        {
            // Keys that are not among these may lie between, so that no more is said of equal numbers.
            if count(below_a) != count(below_b) {
                assert_eq!(a.cmp(b), count(below_a).cmp(&count(below_b)), "{a:?} {b:?}");
            }
            if a.head() != b.head() {
                assert_eq!(a.cmp(b), a.head().cmp(&b.head()), "{a:?} {b:?}");
            }
        }
        assert_eq!(Place::behind(b"a\xff"), Place::before(b"b"));
        assert_eq!(Place::behind(b""), Place::behind(b"\xff\xff"));
    }

    #[test]
    fn no_range_ends_behind_the_most_that_its_end_says() {
        let ends: [&[u8]; 8] = [
            b"",
            b"a",
            b"\xff",
            b"a\xff",
            b"abcdefgh",
            b"abcdefg\xff",
            b"abcdefgh\xff",
            b"\xff\xff\xff\xff\xff\xff\xff\xff",
        ];
        for end in ends {
            let mut made = KeyRanges::default();
            let key = made.add(end);
            let open = [Bound::Included(key), Bound::Excluded(key), Bound::Unbounded]
                .map(|high| (Bound::Unbounded, high));
            for range in open.into_iter().chain([whole(key)]) {
                let mut span = Span::new(range);
                span.head = span.begins(&made.bytes).head();
                assert!(span.ends(&made.bytes).head() <= span.end_head_max(&made.bytes), "{end:?}");
            }
        }
    }

    #[test]
    fn whole_prefix_covers_exactly_the_keys_that_begin_with_it() {
        let mut made = KeyRanges::default();
        let prefix = made.add(b"ab");
        made.push(whole(prefix));
        let (low, high) = made.get(0).expect("a range");
        assert!(Place::of_high(high) > Place::of_low(Bound::Included(b"ab\xff\xff")));
        assert_eq!(Place::of_high(high), Place::of_low(Bound::Included(b"ac")));
        assert!(Place::of_low(low) > Place::of_low(Bound::Included(b"aa\xff")));
        let both = (Bound::Included(&b"ab"[..]), Bound::Included(&b"ab"[..]));
        merged(&[both, range(b"ab", b"ab1")], false, &[both]);
    }
}
