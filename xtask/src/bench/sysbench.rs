//! Every stock sysbench workload beside peers: throughput, p95, and what a transaction costs the server.
//!
//! 1. Bytes are what the server's process had written to devices (`/proc/PID/io`), fsyncs what its status
//!    variables count, both divided by sysbench's transactions.
//! 2. Aim of the architecture: server CPU at most half of MariaDB's.
//! 3. Tables are made once: workloads that change how many rows there are come last. Medians of the rounds are printed
//!    as tables in Markdown at the end.

use super::Settings;
use super::rounds::median;
use super::target::{Own, Target};
use std::fmt::Write;
use testkit::sysbench::{Counted, WORKLOADS, tables_of};

const TABLES: u32 = 8;
const ROWS: u32 = 100_000;

/// One measured run, all but the first two per transaction.
struct Run {
    tps: f64,
    p95_ms: f64,
    cpu_us: f64,
    bytes: f64,
    fsyncs: f64,
    deadlocks: f64,
}

/// A column: heading, figure, digits behind the point.
type Column = (&'static str, fn(&Run) -> f64, usize);
const COLUMNS: [Column; 6] = [
    ("TPS", |r| r.tps, 0),
    ("p95 ms", |r| r.p95_ms, 2),
    ("server CPU us", |r| r.cpu_us, 1),
    ("bytes", |r| r.bytes, 0),
    ("fsyncs", |r| r.fsyncs, 3),
    ("deadlocks", |r| r.deadlocks, 4),
];

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let own = Own::start(&["--innodb-buffer-pool-size=1G"])?;
    let mut targets = vec![own.target()];
    for peer in &settings.peers {
        targets.push(Target::peer(peer)?);
    }
    for target in &targets {
        target.sql("DROP DATABASE IF EXISTS sbtest")?;
        target.prepare(TABLES, ROWS)?;
    }
    let (mut figures, mut ratios) = (heading("server", 0), heading("Limpid beside", 1));
    for workload in std::iter::once("oltp_point_select").chain(WORKLOADS) {
        if settings.only.as_ref().is_some_and(|only| !workload.contains(only.as_str())) {
            continue;
        }
        let runs = rounds(workload, &targets, settings)?;
        for (target, of) in targets.iter().zip(&runs) {
            let figure = |c: &Column| format!("{:.*}", c.2, median(of, c.1));
            line(&mut figures, workload, &target.name, COLUMNS.iter().map(figure));
        }
        for (target, of) in targets.iter().zip(&runs).skip(1) {
            let ratio = |column: &Column| median(&runs[0], column.1) / median(of, column.1);
            line(&mut ratios, workload, &target.name, COLUMNS[..5].iter().map(|c| shown(ratio(c))));
        }
    }
    println!(
        "\n{} threads, {} rounds of {} s, medians; all but TPS and p95 per transaction:",
        settings.threads, settings.rounds, settings.seconds
    );
    println!("\n{figures}");
    if targets.len() > 1 {
        println!("{ratios}");
    }
    Ok(())
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

/// Interleaved rounds; the runs of each target.
fn rounds(
    workload: &str,
    targets: &[Target],
    settings: &Settings,
) -> Result<Vec<Vec<Run>>, String> {
    let mut runs: Vec<Vec<Run>> = targets.iter().map(|_| Vec::new()).collect();
    for _ in 0..settings.rounds {
        for (target, runs) in targets.iter().zip(&mut runs) {
            let run = measure(target, workload, settings)?;
            eprintln!("{workload} {}: {:.0} TPS, p95 {:.2} ms", target.name, run.tps, run.p95_ms);
            runs.push(run);
        }
    }
    Ok(runs)
}

fn measure(target: &Target, workload: &str, settings: &Settings) -> Result<Run, String> {
    let options = [
        format!("--tables={}", tables_of(workload, TABLES)),
        format!("--table-size={ROWS}"),
        "--rand-type=uniform".to_string(),
        "--mysql-ignore-errors=1213".to_string(),
        format!("--threads={}", settings.threads),
        format!("--time={}", settings.seconds),
        "run".to_string(),
    ];
    let spent = || {
        let fsyncs = target.fsyncs().unwrap_or(f64::NAN);
        [target.cpu_s().unwrap_or(f64::NAN), target.bytes_written().unwrap_or(f64::NAN), fsyncs]
    };
    let before = spent();
    let text = target.sysbench(workload, &options)?;
    let after = spent();
    let counted = Counted::of(&text).ok_or("sysbench printed no transactions")?;
    let each = |n: usize| (after[n] - before[n]) / counted.transactions;
    Ok(Run {
        tps: counted.transactions / f64::from(settings.seconds),
        p95_ms: counted.p95_ms,
        cpu_us: each(0) * 1e6,
        bytes: each(1),
        fsyncs: each(2),
        deadlocks: counted.ignored / counted.transactions,
    })
}
