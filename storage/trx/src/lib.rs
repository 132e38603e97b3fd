//! Transactions: ids, undo, rollback segments, waiting for another transaction's end.

/// The largest number of entries of the transaction-state ring.
pub const STATES_MAX: usize = 1 << 20;
