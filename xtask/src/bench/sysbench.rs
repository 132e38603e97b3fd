//! Every stock sysbench workload beside peers: throughput, p95, and what a transaction costs the server; the lab's experiment, driven
//! by sysbench, which is nobody's own.
//!
//! 1. Bytes are what the server's process had written to devices (`/proc/PID/io`), fsyncs what its status
//!    variables count, both divided by sysbench's transactions.
//! 2. Aim of the architecture: server CPU at most half of MariaDB's.
//! 3. Medians of the rounds are printed as tables in Markdown.

use super::{Settings, lab};
use std::fmt::Write;

/// sysbench's scripts, and what the lab calls them.
const WORKLOADS: [(&str, &str); 10] = [
    ("oltp_point_select", "point-select"),
    ("oltp_read_only", "read-only"),
    ("select_random_points", "random-points"),
    ("select_random_ranges", "random-ranges"),
    ("oltp_update_non_index", "update-non-index"),
    ("oltp_update_index", "update-index"),
    ("oltp_read_write", "read-write"),
    ("oltp_write_only", "write-only"),
    ("oltp_insert", "insert"),
    ("oltp_delete", "delete"),
];

/// A column: heading, figure of a cell, digits behind the point. All but the first two are of a transaction.
type Column = (&'static str, fn(&lab::Line) -> f64, usize);
const COLUMNS: [Column; 6] = [
    ("TPS", |cell| cell.number("tps"), 0),
    ("p95 ms", |cell| cell.number("p95_ms"), 2),
    (
        "server CPU us",
        |cell| cell.number("server_cpu_us_per_query") * cell.number("qps") / cell.number("tps"),
        1,
    ),
    ("bytes", |cell| cell.number("bytes_written_per_transaction"), 0),
    ("fsyncs", |cell| cell.number("fsyncs_per_transaction"), 3),
    ("deadlocks", |cell| cell.number("errors") / (cell.number("tps") * cell.number("seconds")), 4),
];

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let is_wanted =
        |script: &str| settings.only.as_ref().is_none_or(|only| script.contains(only.as_str()));
    let wanted: Vec<(&str, &str)> =
        WORKLOADS.into_iter().filter(|(script, _)| is_wanted(script)).collect();
    let mut options = lab::options(settings);
    options.extend(["--driver=sysbench".to_string(), format!("--users={}", settings.threads)]);
    // Of some of them alone the lab concludes nothing.
    if wanted.len() < WORKLOADS.len() {
        let names: Vec<&str> = wanted.iter().map(|(_, name)| *name).collect();
        options.push(format!("--workload={}", names.join(",")));
    }
    options.extend(settings.peers.iter().map(|dsn| format!("--dsn={dsn}")));
    let folder = lab::run("sysbench", &options)?;
    tell(&lab::lines(&folder, "cells.csv")?, &wanted, settings);
    Ok(())
}

/// Prints medians of each server, and ours by those of the others.
fn tell(cells: &[lab::Line], wanted: &[(&str, &str)], settings: &Settings) {
    let servers = lab::servers(cells);
    let (mut figures, mut ratios) = (heading("server", 0), heading("Limpid beside", 1));
    for (script, name) in wanted {
        let of = |server: &str| -> Vec<&lab::Line> {
            let is_it = |cell: &&lab::Line| {
                [cell.text("subject"), cell.text("workload")] == [server, *name]
            };
            cells.iter().filter(is_it).collect()
        };
        for server in &servers {
            let figure = |c: &Column| format!("{:.*}", c.2, lab::middle(&of(server), c.1));
            line(&mut figures, script, server, COLUMNS.iter().map(figure));
        }
        for server in servers.iter().skip(1) {
            let ratio =
                |c: &Column| lab::middle(&of(servers[0]), c.1) / lab::middle(&of(server), c.1);
            line(&mut ratios, script, server, COLUMNS[..5].iter().map(|c| shown(ratio(c))));
        }
    }
    println!(
        "\n{} threads, {} rounds of {} s, medians; all but TPS and p95 per transaction:",
        settings.threads, settings.rounds, settings.seconds
    );
    println!("\n{figures}");
    if servers.len() > 1 {
        println!("{ratios}");
    }
}

/// A ratio; a dash where the peer has nothing to divide by.
fn shown(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.2}") } else { "-".to_string() }
}

/// A table's first lines, without its last `less` columns.
fn heading(second: &str, less: usize) -> String {
    let columns = &COLUMNS[..COLUMNS.len() - less];
    let names: Vec<&str> = columns.iter().map(|c| c.0).collect();
    format!(
        "| workload | {second} | {} |\n|---|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    )
}

fn line(table: &mut String, workload: &str, server: &str, cells: impl Iterator<Item = String>) {
    let cells = cells.collect::<Vec<_>>().join(" | ");
    let _ = writeln!(table, "| {workload} | {server} | {cells} |");
}
