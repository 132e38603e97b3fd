//! What is remembered of transactions: when they began and ended, what they wrote and read.

use std::collections::BTreeMap;

/// What is written to and read from as one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A row to which values are appended.
    List(u32),
    /// The rows of one key of an index.
    Set(u32),
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// A value added to a list or a set.
    Write(Key, u64),
    /// What one statement read: each key with its values, a list's in their order.
    Read {
        /// Keys and the values found there.
        seen: Vec<(Key, Vec<u64>)>,
        /// When the statement was sent, in ns on the history's clock.
        sent_ns: u64,
        /// FOR SHARE or FOR UPDATE: it read the newest versions, and nobody changed them before its commit.
        is_locking: bool,
    },
}

/// How a transaction ended, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// COMMIT was acknowledged.
    Committed,
    /// Rolled back, by its client or by the server.
    Aborted,
    /// The connection broke at COMMIT.
    Unknown,
}

/// A transaction of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The session's number.
    pub session: usize,
    /// When it was begun, in ns on the history's clock, before anything was sent.
    pub begun_ns: u64,
    /// When its end was known.
    pub ended_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Its statements.
    pub ops: Vec<Op>,
}

impl Transaction {
    /// The values it wrote to a key, in order.
    pub fn written(&self, key: Key) -> impl Iterator<Item = u64> {
        self.ops.iter().filter_map(move |op| match op {
            Op::Write(k, value) if *k == key => Some(*value),
            _ => None,
        })
    }
}

/// All transactions, and what was there when all had ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The transactions, in any order.
    pub transactions: Vec<Transaction>,
    /// The values of each key at the end.
    pub left: BTreeMap<Key, Vec<u64>>,
}
