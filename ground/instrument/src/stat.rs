//! Figures with one writer: numbers, and how often something was timed, how long in sum, at least and at most.
//!
//! 1. An addition is a relaxed load and a relaxed store: readers may see a figure that is one event old, never a torn
//!    one. 2. All-zero bytes are valid figures of nothing: the minimum is kept as what all ones are more than it by, which only
//!    grows; read, a minimum of 0 is none, and what took no time took 1 ns.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A number with one writer.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Tally(AtomicU64);

impl Tally {
    #[inline(always)]
    pub fn add(&self, n: u64) {
        self.set(self.get().wrapping_add(n));
    }

    #[inline(always)]
    pub fn raise(&self, n: u64) {
        if n > self.get() {
            self.set(n);
        }
    }

    #[inline(always)]
    pub fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }

    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Writes what says that other figures are there: whoever [`Tally::acquire`]s it sees them.
    #[inline]
    pub fn publish(&self, n: u64) {
        self.0.store(n, Release);
    }

    #[inline]
    pub fn acquire(&self) -> u64 {
        self.0.load(Acquire)
    }

    /// The value; leaves zero. Writes only if there was something, to keep untouched memory untouched.
    pub fn take(&self) -> u64 {
        let n = self.get();
        if n != 0 {
            self.set(0);
        }
        n
    }
}

/// How often something was timed, and how long it took.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Stat {
    count: Tally,
    ns_sum: Tally,
    /// All ones without the minimum; 0: there is none.
    ns_min_not: Tally,
    ns_max: Tally,
}

impl Stat {
    /// Adds an event.
    #[inline(always)]
    pub fn add(&self, ns: u64) {
        self.count.add(1);
        self.ns_sum.add(ns);
        self.ns_min_not.raise(!ns);
        self.ns_max.raise(ns);
    }

    /// Adds some events, and the time that they took together.
    #[inline(always)]
    pub fn add_many(&self, count: u64, ns: u64) {
        self.count.add(count);
        if ns != 0 && count != 0 {
            let each = if count == 1 { ns } else { ns / count };
            self.ns_sum.add(ns);
            self.ns_min_not.raise(!each);
            self.ns_max.raise(each);
        }
    }

    /// Adds an event whose time is not known.
    #[inline(always)]
    pub fn add_untimed(&self) {
        self.count.add(1);
    }

    /// Adds what was added up elsewhere.
    pub fn add_totals(&self, other: &StatTotals) {
        self.count.add(other.count);
        self.ns_sum.add(other.ns_sum);
        if other.ns_min != 0 {
            self.ns_min_not.raise(!other.ns_min);
        }
        self.ns_max.raise(other.ns_max);
    }

    /// What there is, read or taken.
    pub fn read(&self, get: impl Fn(&Tally) -> u64) -> StatTotals {
        let ns_min = match get(&self.ns_min_not) {
            0 => 0,
            not => (!not).max(1),
        };
        StatTotals {
            count: get(&self.count),
            ns_sum: get(&self.ns_sum),
            ns_min,
            ns_max: get(&self.ns_max),
        }
    }
}

/// Sums of timed events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatTotals {
    /// Events.
    pub count: u64,
    /// Their time together, in nanoseconds.
    pub ns_sum: u64,
    /// The shortest, in nanoseconds; 0 where there was none.
    pub ns_min: u64,
    /// The longest, in nanoseconds.
    pub ns_max: u64,
}

impl StatTotals {
    /// Nothing counted.
    pub const fn new() -> Self {
        Self { count: 0, ns_sum: 0, ns_min: 0, ns_max: 0 }
    }

    /// Adds other events.
    pub fn add(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        self.ns_sum = self.ns_sum.wrapping_add(other.ns_sum);
        self.ns_min = least(self.ns_min, other.ns_min);
        self.ns_max = self.ns_max.max(other.ns_max);
    }
}

/// The smaller of two minima, either of which may be none (0).
pub(crate) fn least(a: u64, b: u64) -> u64 {
    match (a, b) {
        (0, n) | (n, 0) => n,
        (a, b) => a.min(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimum_is_that_of_what_was_added() {
        let stat = Stat::default();
        assert_eq!(stat.read(Tally::get), StatTotals::default());
        for ns in [7, 3, 9] {
            stat.add(ns);
        }
        let sums = stat.read(Tally::take);
        assert_eq!(sums, StatTotals { count: 3, ns_sum: 19, ns_min: 3, ns_max: 9 });
        stat.add(0);
        let mut both = stat.read(Tally::get);
        assert_eq!((both.ns_min, both.ns_max), (1, 0));
        both.add(&StatTotals::default());
        assert_eq!(both.ns_min, 1);
        both = StatTotals::default();
        both.add(&sums);
        assert_eq!(both, sums);
    }
}
