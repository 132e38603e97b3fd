//! Warm point selects, prepared and text: the lab's cells, driven by sysbench, which is nobody's own.

use super::rounds::median;
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
        println!(
            "\npoint select, ps-mode {mode}, {} threads, {} s a run",
            settings.threads, settings.seconds
        );
        println!("round  server        QPS   p95 ms  server CPU us/query   RSS MB");
        let of_way: Vec<&lab::Line> =
            cells.iter().filter(|cell| cell.text("workload") == workload).collect();
        for cell in &of_way {
            println!(
                "{:>5}  {:<8} {:>8.0} {:>8.2} {:>10.2} {:>19.0}",
                cell.text("round"),
                cell.text("subject"),
                cell.number("qps"),
                cell.number("p95_ms"),
                cell.number("server_cpu_us_per_query"),
                cell.number("resident_mib"),
            );
        }
        let (own, peer): (Vec<&lab::Line>, Vec<&lab::Line>) =
            of_way.into_iter().partition(|cell| cell.text("subject") == "limpid");
        if !peer.is_empty() {
            let ratio = |head: &str| {
                let of = |cells: &[&lab::Line]| {
                    let figures: Vec<f64> = cells.iter().map(|cell| cell.number(head)).collect();
                    median(&figures, |figure| *figure)
                };
                of(&own) / of(&peer)
            };
            println!(
                "limpid / peer, medians: QPS {:.2}, p95 {:.2}, CPU per query {:.2}",
                ratio("qps"),
                ratio("p95_ms"),
                ratio("server_cpu_us_per_query"),
            );
        }
    }
    Ok(())
}
