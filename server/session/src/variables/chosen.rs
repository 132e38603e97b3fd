//! Sizes that the server chooses when it starts, as MySQL does: of the Performance Schema by how many connections and tables there may
//! be, and how many definitions stay by how many tables stay open.
//!
//! 1. What was given stays, but for -1, which asks for a choice. 2. It is made once, before anything has such a size, from the
//! values that the server starts with; `SET GLOBAL max_connections` changes none of them.

use super::kind::NO_LIMIT;
use super::{Globals, Value, VarId, id};
use std::sync::Arc;

/// What is chosen on a small, a middling and a large server.
const CHOSEN: [(&str, [u64; 3]); 9] = [
    ("performance_schema_digests_size", [1000, 5000, 10_000]),
    ("performance_schema_events_stages_history_long_size", LONG),
    ("performance_schema_events_stages_history_size", OF_THREAD),
    ("performance_schema_events_statements_history_long_size", LONG),
    ("performance_schema_events_statements_history_size", OF_THREAD),
    ("performance_schema_events_transactions_history_long_size", LONG),
    ("performance_schema_events_transactions_history_size", OF_THREAD),
    ("performance_schema_events_waits_history_long_size", LONG),
    ("performance_schema_events_waits_history_size", OF_THREAD),
];
const OF_THREAD: [u64; 3] = [5, 10, 10];
const LONG: [u64; 3] = [100, 1000, 10_000];

/// A server is small with no more than this of all three, and middling with no more than twice as much.
const SMALL: [(&str, u64); 3] =
    [("max_connections", 151), ("table_definition_cache", 400), ("table_open_cache", 4000)];

const DEFINITIONS: &str = "table_definition_cache";

/// How many definitions stay where so many tables do, unless somebody says it.
fn definitions_for(open_tables: u64) -> u64 {
    (400 + open_tables / 2).min(2000)
}

impl Globals {
    /// Chooses the sizes that nobody gave.
    pub fn choose_sizes(&self) {
        let definitions = id(DEFINITIONS);
        if !self.inner.lock().origins.contains_key(&definitions) {
            let chosen = definitions_for(self.number("table_open_cache"));
            self.start_with(definitions, Value::UInt(chosen));
        }
        let is_within = |times: u64| SMALL.iter().all(|(name, n)| self.number(name) <= n * times);
        let size = usize::from(!is_within(1)) + usize::from(!is_within(2));
        for (name, chosen) in CHOSEN {
            if self.number(name) == NO_LIMIT {
                self.start_with(id(name), Value::UInt(chosen[size]));
            }
        }
    }

    /// Stores a value, which is that of DEFAULT, too.
    fn start_with(&self, VarId(place): VarId, value: Value) {
        let mut inner = self.inner.lock();
        inner.initial[usize::from(place)] = value.clone();
        Arc::make_mut(&mut inner.values)[usize::from(place)] = value;
    }
}
