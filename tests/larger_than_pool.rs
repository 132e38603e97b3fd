//! Data of five times the buffer pool: right answers in bounded memory.

#![allow(clippy::unwrap_used)] // tests

use testkit::{Server, TempDir};

const POOL_MB: u64 = 32;
/// What the server may need beyond its pool.
const OVERHEAD_MB_MAX: u64 = 256;
/// The second round finds everything warmed up: what it adds would be a leak.
const GROWTH_MB_MAX: u64 = 8;
const TABLES: u64 = 8;
const ROWS: u64 = 100_000;

fn rss_mb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

fn load(server: &Server, script: &str, seconds: u32) {
    let arguments = [
        script,
        "--tables=8",
        "--table-size=100000",
        "--threads=8",
        &format!("--time={seconds}"),
        "--rand-type=uniform",
        "run",
    ];
    let answer = server.sysbench(false, &arguments);
    assert!(
        answer.ok && answer.out.contains("ignored errors:                      0"),
        "{answer:?}"
    );
}

/// Every row of every table once, by a scan.
fn scan(server: &Server) {
    for table in 1..=TABLES {
        let sums = server.sql(&format!("SELECT COUNT(*), SUM(id) FROM sbtest.sbtest{table}"));
        assert_eq!(sums.trim(), format!("{ROWS}\t{}", ROWS * (ROWS + 1) / 2));
    }
}

#[test]
fn memory_stays_within_the_pool_and_its_overhead() {
    let folder = TempDir::new();
    let pool = format!("--innodb-buffer-pool-size={POOL_MB}M");
    let server = Server::with().option(pool).start(folder.path());
    server.sql("CREATE DATABASE sbtest");
    let prepare = ["oltp_point_select", "--tables=8", "--table-size=100000", "--threads=2"];
    let prepared = server.sysbench(false, &[&prepare[..], &["prepare"]].concat());
    assert!(prepared.ok, "{prepared:?}");
    let round = || {
        load(&server, "oltp_point_select", 3);
        load(&server, "oltp_update_non_index", 3);
        scan(&server);
        rss_mb(&server)
    };
    let (first, second) = (round(), round());
    println!("resident: {first} MB, then {second} MB, with a pool of {POOL_MB} MB");
    assert!(second <= POOL_MB + OVERHEAD_MB_MAX, "{second} MB resident");
    assert!(second <= first + GROWTH_MB_MAX, "{first} MB, then {second} MB");
}
