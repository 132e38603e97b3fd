//! Counter pages: what one session or thread counted.
//!
//! 1. One writer at a time, so an increment is a relaxed load and a relaxed store; readers may see a
//!    count that is one event old, never a torn one.
//! 2. All-zero bytes are a valid empty page: a page may lie in fresh anonymous memory and only the parts
//!    that are used get backed by it.

use crate::Counter;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Rows for classes in a page; classes numbered higher share the last row.
pub const CLASSES_MAX: usize = 512;

/// Buckets of a wait histogram: bucket 0 holds waits under 1 us, each further one four times as long.
pub const HISTOGRAM_BUCKETS: usize = 16;

/// A number with one writer.
#[derive(Debug, Default)]
#[repr(transparent)]
struct Tally(AtomicU64);

impl Tally {
    #[inline(always)]
    fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    #[inline(always)]
    fn raise(&self, n: u64) {
        if n > self.0.load(Relaxed) {
            self.0.store(n, Relaxed);
        }
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// The value; leaves zero. Writes only if there was something, to keep untouched memory untouched.
    fn take(&self) -> u64 {
        let n = self.get();
        if n != 0 {
            self.0.store(0, Relaxed);
        }
        n
    }
}

#[derive(Debug)]
struct Row {
    count: Tally,
    waits: Tally,
    wait_ns_sum: Tally,
    wait_ns_max: Tally,
}

/// What was held, of one class; written at synch level only.
#[derive(Debug)]
struct HoldRow {
    acquisitions: Tally,
    contended: Tally,
    wait_ns_sum: Tally,
    wait_ns_max: Tally,
    hold_ns_sum: Tally,
    hold_ns_max: Tally,
}

type Histogram = [Tally; HISTOGRAM_BUCKETS];

/// Counters of one session (inside its slot) or of one thread without a session.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct CounterPage {
    status: [Tally; Counter::COUNT],
    rows: [Row; CLASSES_MAX],
    histograms: [Histogram; CLASSES_MAX],
    /// The window that `holds` belongs to; of another one they mean nothing any more.
    window: Tally,
    holds: [HoldRow; CLASSES_MAX],
}

/// How a latch class was held, in one window of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HoldTotals {
    /// Holds that ended.
    pub acquisitions: u64,
    /// Those of them that were waited for.
    pub contended: u64,
    /// Their waits together, in nanoseconds.
    pub wait_ns_sum: u64,
    /// The longest wait, in nanoseconds.
    pub wait_ns_max: u64,
    /// The holds together, in nanoseconds.
    pub hold_ns_sum: u64,
    /// The longest hold, in nanoseconds.
    pub hold_ns_max: u64,
}

impl HoldTotals {
    fn add(&mut self, other: &Self) {
        self.acquisitions = self.acquisitions.wrapping_add(other.acquisitions);
        self.contended = self.contended.wrapping_add(other.contended);
        self.wait_ns_sum = self.wait_ns_sum.wrapping_add(other.wait_ns_sum);
        self.wait_ns_max = self.wait_ns_max.max(other.wait_ns_max);
        self.hold_ns_sum = self.hold_ns_sum.wrapping_add(other.hold_ns_sum);
        self.hold_ns_max = self.hold_ns_max.max(other.hold_ns_max);
    }
}

impl HoldRow {
    fn read(&self, get: impl Fn(&Tally) -> u64) -> HoldTotals {
        HoldTotals {
            acquisitions: get(&self.acquisitions),
            contended: get(&self.contended),
            wait_ns_sum: get(&self.wait_ns_sum),
            wait_ns_max: get(&self.wait_ns_max),
            hold_ns_sum: get(&self.hold_ns_sum),
            hold_ns_max: get(&self.hold_ns_max),
        }
    }
}

/// Sums of holds over pages, of one window.
#[derive(Debug, Clone)]
pub(crate) struct HoldSums {
    /// By class number; classes beyond it were not held.
    pub(crate) rows: Vec<HoldTotals>,
}

impl HoldSums {
    pub(crate) const fn new() -> Self {
        Self { rows: Vec::new() }
    }

    /// Adds what a page holds of the first `classes` classes, if it belongs to `window`.
    pub(crate) fn add_page(&mut self, page: &CounterPage, window: u64, classes: usize) {
        if page.window.get() != window {
            return;
        }
        let classes = classes.min(CLASSES_MAX);
        if self.rows.len() < classes {
            self.rows.resize(classes, HoldTotals::default());
        }
        for (sum, row) in self.rows.iter_mut().zip(&page.holds[..classes]) {
            sum.add(&row.read(Tally::get));
        }
    }

    /// What is known of a class number.
    pub(crate) fn row(&self, id: u16) -> HoldTotals {
        self.rows.get(row_of(id)).copied().unwrap_or_default()
    }
}

/// Sums of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassTotals {
    /// Uses (counted while the class is enabled).
    pub count: u64,
    /// Waits, or timed events: always counted for waits.
    pub waits: u64,
    /// Their time together, in nanoseconds.
    pub wait_ns_sum: u64,
    /// The longest, in nanoseconds.
    pub wait_ns_max: u64,
    /// Waits by length.
    pub histogram: [u64; HISTOGRAM_BUCKETS],
}

impl ClassTotals {
    fn add(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        self.waits = self.waits.wrapping_add(other.waits);
        self.wait_ns_sum = self.wait_ns_sum.wrapping_add(other.wait_ns_sum);
        self.wait_ns_max = self.wait_ns_max.max(other.wait_ns_max);
        for (mine, theirs) in self.histogram.iter_mut().zip(other.histogram) {
            *mine = mine.wrapping_add(theirs);
        }
    }
}

/// Sums over pages.
#[derive(Debug, Clone)]
pub struct Totals {
    status: [u64; Counter::COUNT],
    classes: Vec<ClassTotals>,
}

impl Totals {
    /// Nothing counted.
    pub const fn new() -> Self {
        Self { status: [0; Counter::COUNT], classes: Vec::new() }
    }

    /// A status counter.
    pub fn counter(&self, c: Counter) -> u64 {
        self.status[c as usize]
    }

    /// A class; zeros when it was never used.
    pub fn class(&self, class: &crate::Class) -> ClassTotals {
        let Some(id) = class.id_if_registered() else { return ClassTotals::default() };
        self.classes.get(row_of(id)).copied().unwrap_or_default()
    }

    /// Adds everything a page holds now, of the first `classes` classes.
    pub fn add_page(&mut self, page: &CounterPage, classes: usize) {
        self.merge(classes, |c| page.status[c].get(), |row| page.row(row, Tally::get));
    }

    /// Moves everything a page holds into these sums. The page must have no writer any more.
    pub(crate) fn absorb(&mut self, page: &CounterPage, classes: usize) {
        self.merge(classes, |c| page.status[c].take(), |row| page.row(row, Tally::take));
    }

    fn merge(
        &mut self,
        classes: usize,
        status: impl Fn(usize) -> u64,
        row: impl Fn(usize) -> ClassTotals,
    ) {
        for (c, sum) in self.status.iter_mut().enumerate() {
            *sum = sum.wrapping_add(status(c));
        }
        let classes = classes.min(CLASSES_MAX);
        if self.classes.len() < classes {
            self.classes.resize(classes, ClassTotals::default());
        }
        for (r, sum) in self.classes.iter_mut().enumerate().take(classes) {
            sum.add(&row(r));
        }
    }
}

impl Default for Totals {
    fn default() -> Self {
        Self::new()
    }
}

/// The row of a class number.
#[inline(always)]
fn row_of(id: u16) -> usize {
    usize::from(id).min(CLASSES_MAX - 1)
}

/// The histogram bucket of a wait.
fn bucket_of(wait_ns: u64) -> usize {
    let kilo = wait_ns >> 10;
    let log4 = (u64::BITS - kilo.leading_zeros()).div_ceil(2) as usize;
    log4.min(HISTOGRAM_BUCKETS - 1)
}

impl CounterPage {
    /// An empty page.
    pub const fn new() -> Self {
        // SAFETY: a page consists of `AtomicU64`s only, for which zero bytes are valid (invariant 2).
        unsafe { std::mem::zeroed() }
    }

    /// An empty page on the heap, backed by memory only where it gets used.
    pub fn boxed() -> Box<Self> {
        // SAFETY: a page consists of `AtomicU64`s only, for which zero bytes are valid (invariant 2).
        unsafe { Box::new_zeroed().assume_init() }
    }

    /// Adds to a status counter. Only the page's writer calls it.
    #[inline(always)]
    pub fn add(&self, c: Counter, n: u64) {
        self.status[c as usize].add(n);
    }

    /// The value of a status counter.
    pub fn counter(&self, c: Counter) -> u64 {
        self.status[c as usize].get()
    }

    /// Counts one use of a class. Only the page's writer calls it.
    #[inline(always)]
    pub fn add_use(&self, id: u16) {
        self.rows[row_of(id)].count.add(1);
    }

    /// Adds one timed wait or event of a class. Only the page's writer calls it.
    pub fn add_wait(&self, id: u16, wait_ns: u64) {
        let row = &self.rows[row_of(id)];
        row.waits.add(1);
        row.wait_ns_sum.add(wait_ns);
        row.wait_ns_max.raise(wait_ns);
        self.histograms[row_of(id)][bucket_of(wait_ns)].add(1);
    }

    /// Adds a hold of a class that ended, in a window; `waited_ns` is 0 when it was not waited for. Only
    /// the page's writer calls it.
    pub(crate) fn add_hold(&self, window: u64, id: u16, waited_ns: u64, held_ns: u64) {
        if self.window.get() != window {
            for row in &self.holds {
                row.read(Tally::take);
            }
            self.window.0.store(window, Relaxed);
        }
        let row = &self.holds[row_of(id)];
        row.acquisitions.add(1);
        row.hold_ns_sum.add(held_ns);
        row.hold_ns_max.raise(held_ns);
        if waited_ns != 0 {
            row.contended.add(1);
            row.wait_ns_sum.add(waited_ns);
            row.wait_ns_max.raise(waited_ns);
        }
    }

    /// Forgets all holds: the page ends, and its next user begins anew.
    pub(crate) fn forget_holds(&self) {
        if self.window.take() != 0 {
            for row in &self.holds {
                row.read(Tally::take);
            }
        }
    }

    /// What the page holds of a class.
    pub fn class(&self, class: &crate::Class) -> ClassTotals {
        class
            .id_if_registered()
            .map_or_else(ClassTotals::default, |id| self.row(row_of(id), Tally::get))
    }

    fn row(&self, row: usize, get: impl Fn(&Tally) -> u64) -> ClassTotals {
        let r = &self.rows[row];
        let mut sums = ClassTotals {
            count: get(&r.count),
            waits: get(&r.waits),
            wait_ns_sum: get(&r.wait_ns_sum),
            wait_ns_max: get(&r.wait_ns_max),
            histogram: [0; HISTOGRAM_BUCKETS],
        };
        if sums.waits != 0 {
            let buckets = &self.histograms[row];
            sums.histogram = std::array::from_fn(|b| get(&buckets[b]));
        }
        sums
    }
}

impl Default for CounterPage {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_grow_by_four_from_a_microsecond() {
        assert_eq!(bucket_of(0), 0);
        assert_eq!(bucket_of(1023), 0);
        assert_eq!(bucket_of(1024), 1);
        assert_eq!(bucket_of(4 * 1024 - 1), 1);
        assert_eq!(bucket_of(4 * 1024), 2);
        assert_eq!(bucket_of(u64::MAX), HISTOGRAM_BUCKETS - 1);
    }

    #[test]
    fn a_class_beyond_the_table_uses_the_last_row() {
        let page = CounterPage::boxed();
        page.add_use(u16::MAX - 1);
        page.add_wait(60_000, 5);
        let last = page.row(CLASSES_MAX - 1, Tally::get);
        assert_eq!((last.count, last.waits, last.wait_ns_sum), (1, 1, 5));
    }

    #[test]
    fn absorb_moves_and_add_page_copies() {
        let page = CounterPage::boxed();
        page.add(Counter::Questions, 3);
        page.add_wait(0, 7);
        page.add_wait(0, 2000);
        let mut sums = Totals::new();
        sums.add_page(&page, 1);
        sums.absorb(&page, 1);
        assert_eq!(page.counter(Counter::Questions), 0);
        sums.add_page(&page, 1);
        assert_eq!(sums.counter(Counter::Questions), 6);
        let row = sums.classes[0];
        assert_eq!((row.waits, row.wait_ns_sum, row.wait_ns_max), (4, 4014, 2000));
        assert_eq!(row.histogram[..2], [2, 2]);
    }
}
