//! What transactions cost: those that may write, and those that only read.

use crate::stat::{Stat, StatTotals, Tally};
use std::num::NonZeroU64;

crate::classes! {
    /// The one instrument of transactions.
    pub static TRANSACTION: TransactionClass = "transaction";
}

/// The transactions of a session.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct TransactionRow {
    read_write: Stat,
    read_only: Stat,
}

impl TransactionRow {
    /// Adds one that took so many nanoseconds; `None` where it is not timed.
    #[inline(always)]
    pub fn add(&self, is_read_only: bool, ns: Option<u64>) {
        let stat = if is_read_only { &self.read_only } else { &self.read_write };
        match ns {
            Some(ns) => stat.add(ns),
            None => stat.add_untimed(),
        }
    }

    pub fn read(&self, get: impl Fn(&Tally) -> u64) -> TransactionTotals {
        TransactionTotals {
            read_write: self.read_write.read(&get),
            read_only: self.read_only.read(&get),
        }
    }
}

/// Transactions together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransactionTotals {
    /// Those that may write.
    pub read_write: StatTotals,
    /// Those that are READ ONLY.
    pub read_only: StatTotals,
}

impl TransactionTotals {
    /// Nothing counted.
    pub const fn new() -> Self {
        Self { read_write: StatTotals::new(), read_only: StatTotals::new() }
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.read_write.add(&other.read_write);
        self.read_only.add(&other.read_only);
    }

    /// Both kinds.
    pub fn all(&self) -> StatTotals {
        let mut all = self.read_write;
        all.add(&self.read_only);
        all
    }
}

/// What a transaction is, besides what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransactionKind {
    /// READ ONLY.
    pub is_read_only: bool,
    /// Its isolation level, from READ UNCOMMITTED (0) to SERIALIZABLE (3).
    pub isolation: u8,
}

/// What was done with savepoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SavepointCounts {
    /// SAVEPOINT.
    pub set: u32,
    /// ROLLBACK TO SAVEPOINT.
    pub rolled_back_to: u32,
    /// RELEASE SAVEPOINT.
    pub released: u32,
}

/// A transaction that was a statement's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnTransaction {
    /// When its statement began, in nanoseconds of the callers' clock.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// READ ONLY, isolation level.
    pub kind: TransactionKind,
    /// It was committed; else it was rolled back.
    pub is_committed: bool,
}

/// A transaction that goes on, or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransactionRecord {
    /// Its number among the thread's events.
    pub event_id: u64,
    /// The number of the thread's last event before its end; `None` while it goes on.
    pub end_event_id: Option<NonZeroU64>,
    /// The statement that began it, by its number among the thread's events.
    pub nesting: Option<NonZeroU64>,
    /// When it began, in nanoseconds of the callers' clock.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// READ ONLY, isolation level.
    pub kind: TransactionKind,
    /// It was committed; if it ended and was not, it was rolled back.
    pub is_committed: bool,
    /// Its times mean something.
    pub is_timed: bool,
    /// It was a statement's own.
    pub is_autocommit: bool,
    /// What was done with savepoints.
    pub savepoints: SavepointCounts,
}
