//! Figures of what system calls do to a file or a socket: reads, writes and the rest, with bytes and times.
//!
//! 1. Whoever has the file or socket adds to them: an operation is a system call, beside which a shared write is cheap.
//! 2. They are emptied in place: an operation that ends meanwhile may be seen in part, never torn.

use crate::stat::StatTotals;
use crate::{Class, registry};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is done to a file or a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum IoOperation {
    /// Bytes come in.
    Read,
    /// Bytes go out.
    Write,
    /// Anything else: open, close, sync, stat, delete, rename, change of the length.
    Misc,
}

/// How many there are.
pub const IO_OPERATIONS: usize = 3;

/// Events with many writers.
#[derive(Debug)]
struct SharedStat {
    count: AtomicU64,
    ns_sum: AtomicU64,
    /// `u64::MAX`: there was none.
    ns_min: AtomicU64,
    ns_max: AtomicU64,
}

impl SharedStat {
    const fn new() -> SharedStat {
        SharedStat {
            count: AtomicU64::new(0),
            ns_sum: AtomicU64::new(0),
            ns_min: AtomicU64::new(u64::MAX),
            ns_max: AtomicU64::new(0),
        }
    }

    fn add(&self, ns: Option<u64>) {
        self.count.fetch_add(1, Relaxed);
        if let Some(ns) = ns {
            self.ns_sum.fetch_add(ns, Relaxed);
            self.ns_min.fetch_min(ns.max(1), Relaxed);
            self.ns_max.fetch_max(ns, Relaxed);
        }
    }

    fn totals(&self) -> StatTotals {
        let ns_min = self.ns_min.load(Relaxed);
        StatTotals {
            count: self.count.load(Relaxed),
            ns_sum: self.ns_sum.load(Relaxed),
            ns_min: if ns_min == u64::MAX { 0 } else { ns_min },
            ns_max: self.ns_max.load(Relaxed),
        }
    }

    fn empty(&self) {
        self.count.store(0, Relaxed);
        self.ns_sum.store(0, Relaxed);
        self.ns_min.store(u64::MAX, Relaxed);
        self.ns_max.store(0, Relaxed);
    }
}

/// The figures of one file or socket.
#[derive(Debug)]
pub(crate) struct IoFigures {
    operations: [SharedStat; IO_OPERATIONS],
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
}

impl IoFigures {
    pub(crate) const fn new() -> IoFigures {
        IoFigures {
            operations: [const { SharedStat::new() }; IO_OPERATIONS],
            bytes_read: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
        }
    }

    /// Counts an operation of a class here and in the current page; `ns` if it was timed.
    pub(crate) fn add(
        &self,
        class: &'static Class,
        operation: IoOperation,
        ns: Option<u64>,
        bytes: u64,
    ) {
        self.operations[operation as usize].add(ns);
        match operation {
            IoOperation::Read => self.bytes_read.fetch_add(bytes, Relaxed),
            IoOperation::Write => self.bytes_written.fetch_add(bytes, Relaxed),
            IoOperation::Misc => 0,
        };
        registry::completed(class, ns);
    }

    pub(crate) fn totals(&self) -> IoTotals {
        IoTotals {
            operations: self.operations.each_ref().map(SharedStat::totals),
            bytes_read: self.bytes_read.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
        }
    }

    pub(crate) fn empty(&self) {
        self.operations.iter().for_each(SharedStat::empty);
        self.bytes_read.store(0, Relaxed);
        self.bytes_written.store(0, Relaxed);
    }
}

/// Sums over operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoTotals {
    /// By [`IoOperation`].
    pub operations: [StatTotals; IO_OPERATIONS],
    /// Bytes that came in.
    pub bytes_read: u64,
    /// Bytes that went out.
    pub bytes_written: u64,
}

impl IoTotals {
    /// Adds others.
    pub fn add(&mut self, other: &IoTotals) {
        for (sum, stat) in self.operations.iter_mut().zip(&other.operations) {
            sum.add(stat);
        }
        self.bytes_read = self.bytes_read.wrapping_add(other.bytes_read);
        self.bytes_written = self.bytes_written.wrapping_add(other.bytes_written);
    }

    /// All operations together.
    pub fn all(&self) -> StatTotals {
        let mut all = StatTotals::default();
        self.operations.iter().for_each(|stat| all.add(stat));
        all
    }
}
