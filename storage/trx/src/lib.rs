//! Transactions: ids, undo, rollback, waiting for another transaction's end.
