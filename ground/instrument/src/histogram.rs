//! How many statements took how long: MySQL's 450 buckets, fifty for each factor of ten from 10 us on.
//!
//! 1. Bucket 0 has what took less than 10 us. 2. One writer, as [`crate::stat`]. A session's histogram counts to four
//! thousand million; an idle session's goes to the digest's long before.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Buckets.
pub const STATEMENT_BUCKETS: usize = 450;

/// What took less lies in the first bucket, in nanoseconds.
const FIRST_NS: u64 = 10_000;
/// Tenth root by five: fifty buckets for each factor of ten.
const FACTOR: f64 = 1.047_128_548_050_899_6;

/// Where each bucket begins, in picoseconds.
const BEGINS: [u64; STATEMENT_BUCKETS] = {
    let (mut begins, mut next, mut n) = ([0; STATEMENT_BUCKETS], FIRST_NS as f64 * 1000.0, 1);
    while n < STATEMENT_BUCKETS {
        begins[n] = next as u64;
        next *= FACTOR;
        n += 1;
    }
    begins
};

/// Room for a bucket each, and more: a number is cut to a place in it, not compared with its length.
const BUCKETS_ROOM: usize = STATEMENT_BUCKETS.next_power_of_two();

/// The longest time of each bucket, in nanoseconds.
static LAST_NS: [u64; BUCKETS_ROOM] = {
    let (mut last, mut n) = ([u64::MAX; BUCKETS_ROOM], 1);
    while n < STATEMENT_BUCKETS {
        last[n - 1] = BEGINS[n].div_ceil(1000) - 1;
        n += 1;
    }
    last
};

/// Times by their highest bit from that of [`FIRST_NS`] on, each in 32 parts: shorter than any bucket.
const PARTS: usize = 32;
const TIMES: usize = (u64::BITS - FIRST_NS.ilog2()) as usize * PARTS;
/// As [`BUCKETS_ROOM`], of parts.
const TIMES_ROOM: usize = TIMES.next_power_of_two();

/// The bucket of the shortest time of each part: that of a longer one is the same, or the next.
static BUCKETS: [u16; TIMES_ROOM] = {
    let (mut buckets, mut part, mut bucket) = ([0; TIMES_ROOM], 0, 0);
    while part < TIMES_ROOM {
        let least_ns = ((PARTS + part % PARTS) as u128)
            << (part / PARTS)
            << (FIRST_NS.ilog2() - PARTS.ilog2());
        while bucket + 1 < STATEMENT_BUCKETS && BEGINS[bucket + 1] as u128 <= least_ns * 1000 {
            bucket += 1;
        }
        buckets[part] = bucket as u16;
        part += 1;
    }
    buckets
};

/// Where a bucket begins and the next one does, in picoseconds.
pub fn bucket_limits(bucket: usize) -> (u64, u64) {
    (BEGINS[bucket], BEGINS.get(bucket + 1).copied().unwrap_or(u64::MAX))
}

/// The bucket of a statement that took so long.
#[inline(always)]
pub fn bucket_of_statement(ns: u64) -> usize {
    // The number's exponent and the first bits behind it, as a number: the place of its part. What is rounded lies in the last
    // bucket.
    const BEHIND: u32 = f64::MANTISSA_DIGITS - 1 - PARTS.ilog2();
    const FIRST_PLACE: u64 = ((1u64 << (FIRST_NS.ilog2() - 1)) as f64).to_bits() >> BEHIND;
    // Half of it, which has a sign to spare: the last bit is none of the first ones.
    let place = ((ns >> 1).cast_signed() as f64).to_bits() >> BEHIND;
    let part = place.saturating_sub(FIRST_PLACE) as usize & (TIMES_ROOM - 1);
    let bucket = usize::from(BUCKETS[part]) & (BUCKETS_ROOM - 1);
    bucket + usize::from(ns > LAST_NS[bucket])
}

/// Buckets that lie together: 1,792 bytes, a size that allocators have. Two more bytes would make it 2,048.
const BUCKETS_TOGETHER: usize = 448;

#[inline(always)]
fn add_one(count: &AtomicU32) {
    count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
}

/// The histogram of a session's statements of one digest.
#[derive(Debug)]
pub(crate) struct Histogram {
    most: Box<[AtomicU32; BUCKETS_TOGETHER]>,
    /// What takes hours.
    last: [AtomicU32; STATEMENT_BUCKETS - BUCKETS_TOGETHER],
}

impl Histogram {
    #[inline(always)]
    pub fn add(&self, bucket: usize) {
        match self.most.get(bucket) {
            Some(count) => add_one(count),
            None => self.add_to_last(bucket - BUCKETS_TOGETHER),
        }
    }

    #[cold]
    fn add_to_last(&self, place: usize) {
        if let Some(count) = self.last.get(place) {
            add_one(count);
        }
    }

    fn counts(&self) -> impl Iterator<Item = &AtomicU32> {
        self.most.iter().chain(&self.last)
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        let most = Box::new([const { AtomicU32::new(0) }; BUCKETS_TOGETHER]);
        Histogram { most, last: Default::default() }
    }
}

/// How many statements lie in which buckets; those without one are not there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Buckets(Vec<(u16, u64)>);

impl Buckets {
    pub(crate) const fn new() -> Buckets {
        Buckets(Vec::new())
    }

    /// What a histogram has.
    pub(crate) fn of(histogram: &Histogram) -> Buckets {
        let mut now = Buckets::new();
        now.add_histogram(histogram, &Buckets::new());
        now
    }

    /// Adds others.
    pub fn add(&mut self, other: &Buckets) {
        other.0.iter().for_each(|(bucket, n)| self.add_to(*bucket, *n));
    }

    /// Adds what a histogram has had since it had `before`.
    pub(crate) fn add_histogram(&mut self, histogram: &Histogram, before: &Buckets) {
        let since = |(bucket, count): (usize, &AtomicU32)| {
            u64::from(count.load(Relaxed).wrapping_sub(before.count(bucket) as u32))
        };
        self.merge(histogram.counts().enumerate().map(since));
    }

    /// Adds numbers by bucket.
    pub(crate) fn merge(&mut self, counts: impl Iterator<Item = u64>) {
        for (bucket, n) in counts.enumerate().filter(|(_, n)| *n > 0) {
            self.add_to(bucket as u16, n);
        }
    }

    fn add_to(&mut self, bucket: u16, n: u64) {
        match self.0.binary_search_by_key(&bucket, |(b, _)| *b) {
            Ok(at) => self.0[at].1 += n,
            Err(at) => self.0.insert(at, (bucket, n)),
        }
    }

    /// Statements in a bucket.
    pub fn count(&self, bucket: usize) -> u64 {
        self.0.iter().find(|(b, _)| usize::from(*b) == bucket).map_or(0, |(_, n)| *n)
    }

    /// Statements in a bucket and those before it.
    pub fn count_until(&self, bucket: usize) -> u64 {
        self.0.iter().filter(|(b, _)| usize::from(*b) <= bucket).map(|(_, n)| n).sum()
    }

    /// The end of the bucket in which the share `quantile` of all statements is reached, in picoseconds; 0 where there are
    /// none.
    pub fn quantile(&self, quantile: f64) -> u64 {
        let all = self.count_until(STATEMENT_BUCKETS);
        let mut until = 0;
        for (bucket, n) in &self.0 {
            until += n;
            if until as f64 >= quantile * all as f64 {
                return bucket_limits(usize::from(*bucket)).1;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a MySQL 9.7 showed them.
    #[test]
    fn buckets_begin_where_mysqls_do() {
        for (bucket, low, high) in [
            (0, 0, 10_000_000),
            (1, 10_000_000, 10_471_285),
            (2, 10_471_285, 10_964_781),
            (50, 95_499_258, 100_000_000),
            (51, 100_000_000, 104_712_854),
            (448, 8_709_635_899_561_102, 9_120_108_393_559_408),
            (449, 9_120_108_393_559_408, u64::MAX),
        ] {
            let (found_low, found_high) = bucket_limits(bucket);
            // Multiplied up by another order of roundings: the last digits differ.
            let near = |a: u64, b: u64| a.abs_diff(b) <= 1 + b / 100_000_000_000;
            assert!(
                near(found_low, low) && near(found_high, high),
                "{bucket}: {found_low} {found_high}"
            );
        }
    }

    #[test]
    fn statements_lie_in_their_buckets() {
        for (ns, bucket) in
            [(0, 0), (9_999, 0), (10_000, 1), (10_472, 2), (95_500, 50), (u64::MAX, 449)]
        {
            assert_eq!(bucket_of_statement(ns), bucket, "{ns}");
        }
        for (bucket, begin) in BEGINS.iter().enumerate().skip(1) {
            let first_ns = begin.div_ceil(1000);
            assert_eq!(bucket_of_statement(first_ns), bucket);
            assert_eq!(bucket_of_statement(first_ns - 1), bucket - 1);
        }
        let histogram = Histogram::default();
        for ns in [1, 2, 3, 10_000, 5_000_000] {
            histogram.add(bucket_of_statement(ns));
        }
        let mut buckets = Buckets::default();
        buckets.add_histogram(&histogram, &Buckets::new());
        buckets.add(&buckets.clone());
        assert_eq!((buckets.count(0), buckets.count(1), buckets.count_until(1)), (6, 2, 8));
        assert_eq!(buckets.quantile(0.5), 10_000_000);
        assert_eq!(buckets.quantile(0.999), bucket_limits(bucket_of_statement(5_000_000)).1);
        assert_eq!(Buckets::default().quantile(0.95), 0);
    }
}
