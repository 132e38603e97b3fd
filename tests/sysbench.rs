//! The main job: stock sysbench prepares, runs point selects in every mode, and cleans up; its transactional
//! workloads run at 16 threads without an error but the deadlocks that MySQL has too.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use testkit::sysbench::{Counted, WORKLOADS, tables_of};
use testkit::{Answer, Server, TempDir};

const SHAPE: [&str; 2] = ["--tables=8", "--table-size=100000"];

fn queries(answer: &Answer) -> u64 {
    assert!(answer.ok, "{}\n{}", answer.out, answer.err);
    let line = answer.out.lines().find(|l| l.trim_start().starts_with("total:")).expect("a total");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
}

#[test]
fn oltp_point_select_prepares_runs_and_cleans_up() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql("CREATE DATABASE sbtest");
    let prepared = server.sysbench(
        false,
        &[&["oltp_point_select", "--threads=2"], &SHAPE[..], &["prepare"]].concat(),
    );
    assert!(prepared.ok, "{}\n{}", prepared.out, prepared.err);
    for table in 1..=8 {
        let counted =
            server.sql(&format!("SELECT COUNT(*), MIN(id), MAX(id) FROM sbtest.sbtest{table}"));
        assert_eq!(counted, "100000\t1\t100000", "sbtest{table}");
    }
    for (tcp, mode) in [(false, "auto"), (false, "disable"), (true, "auto"), (true, "disable")] {
        let mode = format!("--db-ps-mode={mode}");
        let run = ["oltp_point_select", "--threads=4", "--time=0", "--events=4000", &mode, "run"];
        let answer = server.sysbench(tcp, &[&run[..5], &SHAPE[..], &run[5..]].concat());
        assert_eq!(queries(&answer), 4000, "tcp {tcp} {mode}");
        assert!(answer.out.contains("ignored errors:                      0"), "{}", answer.out);
    }
    server.kill();
    let server = Server::start(folder.path());
    assert_eq!(server.sql("SELECT COUNT(*) FROM sbtest.sbtest8"), "100000");
    assert_eq!(
        server.sql("SELECT COUNT(*) FROM sbtest.sbtest8 WHERE k BETWEEN 1 AND 100000"),
        "100000"
    );
    let cleaned =
        server.sysbench(true, &[&["oltp_point_select"], &SHAPE[..], &["cleanup"]].concat());
    assert!(cleaned.ok, "{}\n{}", cleaned.out, cleaned.err);
    assert_eq!(server.sql("SHOW TABLES FROM sbtest"), "");
}

#[test]
fn every_statement_that_sysbench_sends_runs() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE sbtest");
    let small = ["--tables=2", "--table-size=2000"];
    for script in [
        "oltp_read_write",
        "oltp_insert",
        "oltp_update_index",
        "oltp_delete",
        "select_random_ranges",
        "bulk_insert",
    ] {
        let shape: &[&str] = match script {
            "bulk_insert" => &["--threads=2"],
            "select_random_ranges" => &["--tables=1", "--table-size=2000"],
            _ => &small,
        };
        let made = server.sysbench(false, &[&[script], shape, &["prepare"]].concat());
        assert!(made.ok, "{script}: {}\n{}", made.out, made.err);
        for mode in ["--db-ps-mode=auto", "--db-ps-mode=disable"] {
            let run = server.sysbench(
                false,
                &[&[script, "--events=200", "--time=0", mode], shape, &["run"]].concat(),
            );
            assert!(run.ok, "{script} {mode}: {}\n{}", run.out, run.err);
        }
        let cleaned = server.sysbench(false, &[&[script], shape, &["cleanup"]].concat());
        assert!(cleaned.ok, "{script}: {}\n{}", cleaned.out, cleaned.err);
    }
}

/// Where one transaction locks several rows, so that circles can close.
const MAY_DEADLOCK: [&str; 2] = ["oltp_read_write", "oltp_write_only"];
/// Of a hundred transactions. Over these tables MySQL 9.7 had 1 deadlock in 21,000 of them, Limpid 3 in 52,000.
const DEADLOCK_PERCENT_MAX: f64 = 0.1;
/// The same with more than 16 threads: MySQL 9.7 had 0.9 at 256 of them, Limpid 0.4.
const DEADLOCK_PERCENT_MAX_CROWDED: f64 = 1.0;
const TABLES: u32 = 4;
const ROWS: u32 = 10_000;

/// Runs a workload over tables that are there; only deadlocks (1213) are passed over by sysbench.
fn run_workload(server: &Server, workload: &str, threads: u32, seconds: u32) -> Counted {
    let (threads_option, time) = (format!("--threads={threads}"), format!("--time={seconds}"));
    let tables = format!("--tables={}", tables_of(workload, TABLES));
    let rows = format!("--table-size={ROWS}");
    let answer = server.sysbench(
        false,
        &[workload, &threads_option, &time, &tables, &rows, "--mysql-ignore-errors=1213", "run"],
    );
    assert!(answer.ok, "{workload}, {threads} threads: {}\n{}", answer.out, answer.err);
    let counted = Counted::of(&answer.out);
    let counted = counted.unwrap_or_else(|| panic!("{}\n{}", answer.out, answer.err));
    println!(
        "{workload}, {threads} threads: {} transactions in {seconds} s, {} deadlocks",
        counted.transactions, counted.ignored
    );
    assert!(counted.transactions > 0.0, "{workload}: nothing was done");
    let percent_max = match (MAY_DEADLOCK.contains(&workload), threads) {
        (true, ..=16) => DEADLOCK_PERCENT_MAX,
        (true, _) => DEADLOCK_PERCENT_MAX_CROWDED,
        (false, _) => 0.0,
    };
    assert!(
        counted.ignored <= counted.transactions * percent_max / 100.0,
        "{workload}: {} deadlocks of {} transactions",
        counted.ignored,
        counted.transactions
    );
    counted
}

fn prepared(folder: &TempDir) -> Server {
    let server = Server::with().option("--max-connections=400").start(folder.path());
    server.sql("CREATE DATABASE sbtest");
    let (tables, rows) = (format!("--tables={TABLES}"), format!("--table-size={ROWS}"));
    let made =
        server.sysbench(false, &["oltp_read_write", &tables, &rows, "--threads=2", "prepare"]);
    assert!(made.ok, "{}\n{}", made.out, made.err);
    server
}

/// Tables and indexes agree after all of it.
fn check_tables(server: &Server) {
    for table in 1..=TABLES {
        let checked = server.sql(&format!("CHECK TABLE sbtest.sbtest{table}"));
        assert!(checked.ends_with("status\tOK"), "{checked}");
        let count = |index: &str| {
            server.sql(&format!("SELECT COUNT(*), SUM(k) FROM sbtest.sbtest{table} FORCE INDEX ({index}) WHERE k > 0"))
        };
        let by_index = count(&format!("k_{table}"));
        assert_eq!(by_index, count("PRIMARY"), "sbtest{table}");
    }
}

#[test]
fn every_workload_runs_ten_seconds_at_16_threads() {
    let folder = TempDir::new();
    let server = prepared(&folder);
    for workload in WORKLOADS {
        run_workload(&server, workload, 16, 10);
    }
    check_tables(&server);
}

#[test]
#[ignore = "long: cargo xtask soak"]
fn every_workload_runs_at_1_to_256_threads() {
    let seconds = std::env::var("LIMPID_SECONDS").map_or(10, |text| text.parse().unwrap());
    let folder = TempDir::new();
    let server = prepared(&folder);
    for workload in WORKLOADS {
        for threads in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
            run_workload(&server, workload, threads, seconds);
        }
    }
    check_tables(&server);
}
