//! Histories of concurrent transactions, and whether their isolation level allows them.
//!
//! 1. Every value is written once, so a value that is read names the transaction that wrote it.
//! 2. A *list* is one row to which writers append (each append reads the row's newest version under its lock):
//!    the longest list read is the order of its writers. A *set* is all rows of a key in an index: writers
//!    insert and do not meet each other, so only what readers saw orders them.
//! 3. What must hold is put as one question: can all snapshots and commits be laid on one line of time so that
//!    each read sees exactly what was committed before its snapshot? They cannot if and only if the graph of
//!    what must come before what has a cycle, which is then the proof.
//!
//! ```text
//! level                snapshots of a transaction        a read of V that missed W says
//! READ UNCOMMITTED     (reads say nothing)
//! READ COMMITTED       one for each statement            commit V < snapshot < commit W
//! REPEATABLE READ      one                               commit V < snapshot < commit W
//! SERIALIZABLE         its commit                        commit V < commit  < commit W
//! ```
//!
//! Reading order: [`record`] (what a history is), [`graph`] (cycles), [`check`] (the rules), [`load`] (random
//! transactions on a real server).

pub mod check;
pub mod graph;
pub mod load;
pub mod record;

pub use check::check;
pub use load::{Load, run_load};
pub use record::{History, Key, Op, Outcome, Transaction};
