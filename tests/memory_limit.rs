//! A statement that would keep more than its session may: it moves rows to files and answers right, or it
//! ends with MySQL's error 1114; the server goes on, in bounded memory.

#![allow(clippy::unwrap_used)] // tests

use testkit::{Server, TempDir};

/// `temptable_max_ram`, `tmp_table_size`: what a statement may keep, and when it begins to use files.
const LIMIT_BYTES: u64 = 4 << 20;
const SPILL_BYTES: u64 = 256 << 10;
const ROWS: u64 = 60_000;
const POOL_MB: u64 = 16;
/// What the statements may add to what the server takes beside its pool (measured: 14 MB, half of it the
/// pool's). Kept in memory, most of them would take 12 to 50 MB.
const BESIDE_MB_MAX: u64 = 16;

/// Statements over 12 MB of rows, and their answers.
const SPILLING: &[(&str, &str)] = &[
    (
        "SELECT SUM(a * (n % 7)) FROM (SELECT a, b, n FROM t ORDER BY b DESC, a LIMIT 1000000) q",
        "sorted",
    ),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT a, b FROM t) q", "60000"),
    (
        "SELECT COUNT(*), SUM(c) FROM (SELECT a, b, COUNT(*) c FROM t GROUP BY a, b) q",
        "60000\t60000",
    ),
    ("SELECT COUNT(*) FROM t x JOIN t y ON x.n = y.n AND x.b = y.b", "60000"),
    (
        "SELECT COUNT(*) FROM (SELECT a, b FROM t UNION \
         SELECT a + 1, CONCAT((a + 1) % 1000, REPEAT('x', 200)) FROM t) q",
        "60001",
    ),
    (
        "SELECT SUM(r) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY n % 3 ORDER BY b, a) r FROM t) q",
        "600030000",
    ),
    (
        "WITH RECURSIVE r(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM r WHERE k < 200000) \
      SELECT COUNT(*), SUM(k) FROM r",
        "200000\t20000100000",
    ),
];

/// Statements that no file helps.
const FULL: &[&str] = &[
    "SELECT LENGTH(JSON_ARRAYAGG(b)) FROM t",
    "SELECT LENGTH(GROUP_CONCAT(b ORDER BY b DESC)) FROM t",
];

fn memory_mb(server: &Server, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|l| l.starts_with(what)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn a_statement_over_its_memory_limit_spills_or_ends_with_an_error() {
    let folder = TempDir::new();
    let server = Server::with()
        .option(format!("--innodb-buffer-pool-size={POOL_MB}M"))
        .option(format!("--temptable-max-ram={LIMIT_BYTES}"))
        .option(format!("--tmp-table-size={SPILL_BYTES}"))
        .option("--cte-max-recursion-depth=1000000")
        .start(folder.path());
    server.sql("CREATE DATABASE m");
    server.sql("CREATE TABLE m.t (a INT PRIMARY KEY, n INT, b VARCHAR(220))");
    server.sql(&format!(
        "INSERT INTO m.t WITH RECURSIVE r(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM r WHERE k < {ROWS}) \
         SELECT k, k, CONCAT(k % 1000, REPEAT('x', 200)) FROM r"
    ));
    let before = memory_mb(&server, "VmRSS:");
    let sorted = server.sql("SELECT SUM(a * (n % 7)) FROM m.t");
    for (sql, answer) in SPILLING {
        let answer = if *answer == "sorted" { sorted.trim() } else { answer };
        assert_eq!(server.sql(&format!("USE m; {sql}")).trim(), answer, "{sql}");
    }
    for sql in FULL {
        let limits = "SET group_concat_max_len = 100000000, sort_buffer_size = 32768";
        let answer = server.try_sql(&format!("USE m; {limits}; {sql}"));
        assert!(!answer.ok && answer.err.contains("ERROR 1114 (HY000)"), "{sql}: {answer:?}");
        assert!(answer.err.contains("is full"), "{answer:?}");
    }
    let most = memory_mb(&server, "VmHWM:");
    println!("resident: {before} MB before, {most} MB at most");
    assert!(most <= before + POOL_MB + BESIDE_MB_MAX, "{before} MB, then {most} MB");
    assert_eq!(server.sql("SELECT COUNT(*) FROM m.t").trim(), ROWS.to_string());
}
