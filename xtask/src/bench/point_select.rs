//! Warm point selects, prepared and text: the lab's cells, driven by sysbench, which is nobody's own.

use super::{Settings, lab};

const ROWS: u32 = 100_000;
/// Workloads of the lab's, and what they are called here.
const WAYS: [(&str, &str); 2] = [("point-select", "auto"), ("point-select-text", "disable")];

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let workloads = WAYS.map(|(workload, _)| workload).join(",");
    let mut options = lab::options(settings);
    options.extend([
        "--driver=sysbench".to_string(),
        format!("--workload={workloads}"),
        format!("--users={}", settings.threads),
        format!("--rows={ROWS}"),
    ]);
    options.extend(settings.peers.first().map(|dsn| format!("--dsn={dsn}")));
    let folder = lab::run("hot-table", &options)?;
    let cells = lab::lines(&folder, "cells.csv")?;
    for (workload, mode) in WAYS {
        let of_way: Vec<&lab::Line> =
            cells.iter().filter(|cell| cell.text("workload") == workload).collect();
        lab::compare(&format!("point select, ps-mode {mode}"), &of_way, settings);
    }
    Ok(())
}
