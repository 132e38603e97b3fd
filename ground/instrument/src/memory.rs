//! Memory: what the parts of the server keep, where somebody counts it.
//!
//! 1. An instrument is listed when it counts for the first time. 2. Figures are shared: memory is taken and given back in
//! pieces so large, or so seldom, that nobody notices. 3. What is taken while the instrument is off is not counted, nor
//! what is given back then: the balance of one that was switched meanwhile is wrong, as in MySQL. 4. Nothing here is called
//! under the registry's mutex.

use crate::{Class, MemoryClass};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Amounts taken and given back, and between which bounds what is used was.
#[derive(Debug)]
struct Amount {
    taken: AtomicU64,
    given_back: AtomicU64,
    low: AtomicI64,
    high: AtomicI64,
}

impl Amount {
    const fn new() -> Amount {
        Amount {
            taken: AtomicU64::new(0),
            given_back: AtomicU64::new(0),
            low: AtomicI64::new(0),
            high: AtomicI64::new(0),
        }
    }

    fn take(&self, n: u64) {
        self.taken.fetch_add(n, Relaxed);
        self.high.fetch_max(self.used(), Relaxed);
    }

    fn give_back(&self, n: u64) {
        self.given_back.fetch_add(n, Relaxed);
        self.low.fetch_min(self.used(), Relaxed);
    }

    fn used(&self) -> i64 {
        self.taken.load(Relaxed).wrapping_sub(self.given_back.load(Relaxed)) as i64
    }

    fn totals(&self) -> AmountTotals {
        AmountTotals {
            taken: self.taken.load(Relaxed),
            given_back: self.given_back.load(Relaxed),
            low: self.low.load(Relaxed),
            used: self.used(),
            high: self.high.load(Relaxed),
        }
    }

    /// What is used stays: it is what counts from now on.
    fn empty(&self) {
        let used = self.used();
        self.taken.store(used.max(0) as u64, Relaxed);
        self.given_back.store(used.min(0).unsigned_abs(), Relaxed);
        self.low.store(used, Relaxed);
        self.high.store(used, Relaxed);
    }
}

/// An instrument of memory, with its figures: declared as a `static`.
#[derive(Debug)]
pub struct MemoryUse {
    class: MemoryClass,
    is_listed: AtomicBool,
    pieces: Amount,
    bytes: Amount,
}

static LISTED: Mutex<Vec<&'static MemoryUse>> = Mutex::new(Vec::new());

impl MemoryUse {
    /// One that has counted nothing.
    pub const fn new(name: &'static str) -> MemoryUse {
        MemoryUse {
            class: MemoryClass::new(name),
            is_listed: AtomicBool::new(false),
            pieces: Amount::new(),
            bytes: Amount::new(),
        }
    }

    /// Its class.
    pub const fn class(&self) -> &Class {
        self.class.class()
    }

    fn is_counted(&'static self) -> bool {
        if !self.is_listed.load(Relaxed) && !self.is_listed.swap(true, Relaxed) {
            self.class.id();
            LISTED.lock().unwrap_or_else(PoisonError::into_inner).push(self);
        }
        self.class.enabled()
    }

    /// A piece was taken.
    pub fn take(&'static self, bytes: usize) {
        if self.is_counted() {
            self.pieces.take(1);
            self.bytes.take(bytes as u64);
        }
    }

    /// A piece has another size now; from nothing it is taken, to nothing it is given back.
    pub fn resize(&'static self, from: usize, to: usize) {
        if from == to || !self.is_counted() {
            return;
        }
        match (from, to) {
            (0, _) => self.pieces.take(1),
            (_, 0) => self.pieces.give_back(1),
            _ => {}
        }
        match to > from {
            true => self.bytes.take((to - from) as u64),
            false => self.bytes.give_back((from - to) as u64),
        }
    }

    /// A piece was given back.
    pub fn give_back(&'static self, bytes: usize) {
        if self.is_counted() {
            self.pieces.give_back(1);
            self.bytes.give_back(bytes as u64);
        }
    }
}

/// Figures of an [`MemoryUse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AmountTotals {
    /// What was taken.
    pub taken: u64,
    /// What was given back.
    pub given_back: u64,
    /// The least that was used.
    pub low: i64,
    /// What is used now.
    pub used: i64,
    /// The most that was used.
    pub high: i64,
}

/// What one instrument of memory counted.
#[derive(Debug, Clone)]
pub struct MemoryReport {
    /// The instrument.
    pub class: &'static Class,
    /// In pieces.
    pub pieces: AmountTotals,
    /// In bytes.
    pub bytes: AmountTotals,
}

/// All instruments of memory that have counted something.
pub fn memory_reports() -> Vec<MemoryReport> {
    let listed = LISTED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let report = |memory: &&'static MemoryUse| MemoryReport {
        class: memory.class.class(),
        pieces: memory.pieces.totals(),
        bytes: memory.bytes.totals(),
    };
    listed.iter().map(report).collect()
}

/// Counts anew from what is used now.
pub fn empty_memory() {
    let listed = LISTED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for memory in listed {
        memory.pieces.empty();
        memory.bytes.empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ENABLED;

    #[test]
    fn what_is_used_is_what_was_taken_and_not_given_back() {
        static MEMORY: MemoryUse = MemoryUse::new("memory/test/used");
        let of = || memory_reports().into_iter().find(|m| m.class.name() == "memory/test/used");
        assert!(of().is_none());
        for bytes in [100, 50] {
            MEMORY.take(bytes);
        }
        MEMORY.give_back(100);
        let report = of().unwrap();
        let bytes = AmountTotals { taken: 150, given_back: 100, low: 0, used: 50, high: 150 };
        let pieces = AmountTotals { taken: 2, given_back: 1, low: 0, used: 1, high: 2 };
        assert_eq!((report.bytes, report.pieces), (bytes, pieces));
        empty_memory();
        let bytes = AmountTotals { taken: 50, given_back: 0, low: 50, used: 50, high: 50 };
        assert_eq!(of().unwrap().bytes, bytes);
        MEMORY.give_back(20);
        assert_eq!((of().unwrap().bytes.low, of().unwrap().bytes.high), (30, 50));
        MEMORY.resize(0, 9);
        MEMORY.resize(9, 12);
        assert_eq!((of().unwrap().bytes.used, of().unwrap().pieces.used), (42, 1));
        MEMORY.resize(12, 2);
        MEMORY.resize(2, 0);
        assert_eq!((of().unwrap().bytes.used, of().unwrap().pieces.used), (30, 0));
        MEMORY.class.set_flags(0);
        MEMORY.take(7);
        assert_eq!(of().unwrap().bytes.used, 30);
        MEMORY.class.set_flags(ENABLED);
    }
}
