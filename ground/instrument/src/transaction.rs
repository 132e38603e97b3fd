//! What transactions cost: those that may write, and those that only read.

use crate::stat::{Stat, StatTotals, Tally};
use std::num::NonZeroU64;
use std::sync::Arc;

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
    pub fn add(&self, is_read_only: bool, ns: Option<u64>) {
        let stat = if is_read_only { &self.read_only } else { &self.read_write };
        match ns {
            Some(ns) => stat.add(ns),
            None => stat.add_untimed(),
        }
    }

    /// Adds some that were alike.
    pub fn add_totals(&self, is_read_only: bool, stat: &StatTotals) {
        let row = if is_read_only { &self.read_only } else { &self.read_write };
        row.add_totals(stat);
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

/// The transaction that a statement was by itself, if it was one.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnTransaction(u8);

impl OwnTransaction {
    /// It was none, or part of one.
    pub const NONE: OwnTransaction = OwnTransaction(0);
    const PRESENT: u8 = 1;
    const READ_ONLY: u8 = 2;
    const COMMITTED: u8 = 4;
    const ISOLATION: u32 = 3;

    /// It was one of this kind, committed or rolled back.
    #[inline]
    pub fn new(kind: TransactionKind, is_committed: bool) -> OwnTransaction {
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        OwnTransaction(
            Self::PRESENT
                | bit(kind.is_read_only, Self::READ_ONLY)
                | bit(is_committed, Self::COMMITTED)
                | kind.isolation << Self::ISOLATION,
        )
    }

    /// Whether it was none.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// READ ONLY, isolation level.
    pub fn kind(self) -> TransactionKind {
        let is_read_only = self.0 & Self::READ_ONLY != 0;
        TransactionKind { is_read_only, isolation: self.0 >> Self::ISOLATION }
    }

    /// It was committed; else it was rolled back.
    pub fn is_committed(self) -> bool {
        self.0 & Self::COMMITTED != 0
    }

    /// What figures tell of it: two bits, 0 where it was none.
    #[inline(always)]
    pub(crate) fn row(self) -> u8 {
        self.0 & (Self::PRESENT | Self::READ_ONLY)
    }

    /// Of [`OwnTransaction::row`]: whether it was READ ONLY; `None`: it was none.
    pub(crate) fn is_row_read_only(row: u8) -> Option<bool> {
        (row != 0).then_some(row & Self::READ_ONLY != 0)
    }
}

/// What is collected of statements' own transactions: all or nothing, which is asked of each without a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnMask(u8);

impl OwnMask {
    /// Nothing.
    pub const NOTHING: OwnMask = OwnMask(0);

    /// All of it, or nothing.
    pub fn of(all: bool) -> OwnMask {
        OwnMask(if all { u8::MAX } else { 0 })
    }

    /// Whether there is anything.
    pub fn is_all(self) -> bool {
        self != Self::NOTHING
    }
}

impl OwnTransaction {
    /// The transaction, if it is collected; else none.
    #[inline(always)]
    pub fn masked(self, mask: OwnMask) -> OwnTransaction {
        OwnTransaction(self.0 & mask.0)
    }
}

impl std::fmt::Debug for OwnTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OwnTransaction").field(&self.kind()).field(&self.is_committed()).finish()
    }
}

/// The name of the branch of a distributed transaction (XA) that a transaction is.
#[derive(Debug, PartialEq, Eq)]
pub struct BranchName {
    /// The number of its format.
    pub format: u64,
    /// What all branches of the distributed transaction share.
    pub gtrid: Box<[u8]>,
    /// What tells the branches apart.
    pub bqual: Box<[u8]>,
}

/// How far a branch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchState {
    /// Statements work on it.
    Active,
    /// Nobody works on it any more.
    Idle,
    /// It is prepared.
    Prepared,
    /// It was committed.
    Committed,
    /// It was rolled back.
    RollbackOnly,
}

/// A transaction that goes on, or ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// The branch that it is, and how far that is.
    pub branch: Option<(Arc<BranchName>, BranchState)>,
}
