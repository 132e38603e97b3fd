//! Every stock sysbench workload beside a peer: throughput, p95, and what a transaction costs the server.
//!
//! 1. Bytes are what the server's process had written to devices (`/proc/PID/io`), fsyncs what its status
//!    variables count, both divided by sysbench's transactions.
//! 2. Aim of the architecture: server CPU at most half of MariaDB's.

use super::Settings;
use super::rounds::median;
use super::target::{Own, Target};

const TABLES: u32 = 8;
const ROWS: u32 = 100_000;
/// Those that change rows for good last.
const WORKLOADS: [&str; 10] = [
    "oltp_point_select",
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

/// One measured run, all but the first two per transaction.
struct Run {
    tps: f64,
    p95_ms: f64,
    cpu_us: f64,
    bytes: f64,
    fsyncs: f64,
    deadlocks: f64,
}

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let own = Own::start(&["--innodb-buffer-pool-size=1G"])?;
    let mut targets = vec![own.target()];
    targets.extend(settings.peer.as_deref().map(Target::peer).transpose()?);
    for workload in WORKLOADS {
        if settings.only.as_ref().is_some_and(|only| !workload.contains(only.as_str())) {
            continue;
        }
        // Each starts from the same rows.
        for target in &targets {
            target.sql("DROP DATABASE IF EXISTS sbtest")?;
            target.prepare(TABLES, ROWS)?;
        }
        compare(workload, &targets, settings)?;
    }
    Ok(())
}

fn compare(workload: &str, targets: &[Target], settings: &Settings) -> Result<(), String> {
    println!("\n{workload}, {} threads, {} s a run", settings.threads, settings.seconds);
    println!(
        "round  server        TPS   p95 ms   CPU us/trx   bytes/trx  fsyncs/trx  deadlocks/1000"
    );
    let mut runs: Vec<Vec<Run>> = targets.iter().map(|_| Vec::new()).collect();
    for round in 1..=settings.rounds {
        for (target, runs) in targets.iter().zip(&mut runs) {
            let run = measure(target, workload, settings)?;
            println!(
                "{round:>5}  {:<8} {:>8.0} {:>8.2} {:>12.1} {:>11.0} {:>11.3} {:>15.2}",
                target.name,
                run.tps,
                run.p95_ms,
                run.cpu_us,
                run.bytes,
                run.fsyncs,
                run.deadlocks * 1e3,
            );
            runs.push(run);
        }
    }
    let [own, peer] = runs.as_slice() else { return Ok(()) };
    let ratio = |field: fn(&Run) -> f64| median(own, field) / median(peer, field);
    println!(
        "limpid / peer, medians: TPS {:.2}, p95 {:.2}, CPU {:.2}, bytes {:.2}, fsyncs {:.2}",
        ratio(|r| r.tps),
        ratio(|r| r.p95_ms),
        ratio(|r| r.cpu_us),
        ratio(|r| r.bytes),
        ratio(|r| r.fsyncs),
    );
    Ok(())
}

fn measure(target: &Target, workload: &str, settings: &Settings) -> Result<Run, String> {
    // These two know one table only.
    let tables = if workload.starts_with("select_random") { 1 } else { TABLES };
    let options = [
        format!("--tables={tables}"),
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
    let field = |name: &str| {
        let line = text.lines().find(|l| l.trim_start().starts_with(name))?;
        line.split_once(':')?.1.split_whitespace().next()?.parse::<f64>().ok()
    };
    let transactions = field("transactions:").ok_or("sysbench printed no transactions")?;
    let each = |n: usize| (after[n] - before[n]) / transactions;
    Ok(Run {
        tps: transactions / f64::from(settings.seconds),
        p95_ms: field("95th percentile:").unwrap_or(f64::NAN),
        cpu_us: each(0) * 1e6,
        bytes: each(1),
        fsyncs: each(2),
        deadlocks: field("ignored errors:").unwrap_or(f64::NAN) / transactions,
    })
}
