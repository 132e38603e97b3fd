//! sysbench's stock workloads, and what it prints of a run.

/// The workloads of transactions, those that change rows for good last.
pub const WORKLOADS: [&str; 9] = [
    "oltp_read_only",
    "select_random_points",
    "select_random_ranges",
    "oltp_update_non_index",
    "oltp_update_index",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_insert",
    "oltp_delete",
];

/// How many of `tables` tables a workload runs over: some know one only.
pub fn tables_of(workload: &str, tables: u32) -> u32 {
    if workload.starts_with("select_random") { 1 } else { tables }
}

/// What sysbench counted in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Transactions that were committed.
    pub transactions: f64,
    /// Errors that it was told to pass over.
    pub ignored: f64,
    /// 95 of 100 transactions took no longer, in milliseconds.
    pub p95_ms: f64,
}

impl Counted {
    /// Reads what it printed; `None` when a figure is missing.
    pub fn of(printed: &str) -> Option<Counted> {
        let figure = |name: &str| {
            let line = printed.lines().find(|l| l.trim_start().starts_with(name))?;
            line.split_once(':')?.1.split_whitespace().next()?.parse().ok()
        };
        Some(Counted {
            transactions: figure("transactions:")?,
            ignored: figure("ignored errors:")?,
            p95_ms: figure("95th percentile:")?,
        })
    }
}
