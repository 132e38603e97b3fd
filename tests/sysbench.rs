//! The main job: stock sysbench prepares, runs point selects in every mode, and cleans up.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

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
