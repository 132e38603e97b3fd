//! Statements that lock millions of rows, within 8 MiB of locks.

#![allow(clippy::unwrap_used)] // tests

use std::time::Instant;
use testkit::{Server, TempDir};

/// What all row locks may take, in bytes.
const LOCKS: u64 = 8 << 20;

/// A table of so many rows, then statements that lock each of them; `all` statements in soak.
fn lock_all(rows: u64, all: bool) {
    let folder = TempDir::new();
    let server = Server::with()
        .option("--innodb-buffer-pool-size=512M")
        .option("--innodb-redo-log-capacity=2G")
        .start(folder.path());
    let begun = Instant::now();
    let ask = |sql: &str| {
        let answer = server.sql(&format!("USE d; {sql}"));
        eprintln!("{:6.1} s  {sql}", begun.elapsed().as_secs_f64());
        answer.trim().to_string()
    };
    server.sql(&format!("SET GLOBAL limpid_lock_memory_max = {LOCKS}; CREATE DATABASE d"));
    ask("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL); INSERT INTO t VALUES (0, 0)");
    let mut there = 1;
    while there < rows {
        let more = there.min(rows - there);
        ask(&format!("INSERT INTO t SELECT id + {there}, 0 FROM t WHERE id < {more}"));
        there += more;
    }
    ask("CREATE TABLE u LIKE t; INSERT INTO u SELECT * FROM t");
    ask("UPDATE t SET n = n + 1");
    assert_eq!(ask("SELECT COUNT(*), SUM(n) FROM t FOR UPDATE"), format!("{rows}\t{rows}"));
    assert_eq!(ask("SELECT COUNT(*), SUM(n) FROM u FOR SHARE"), format!("{rows}\t0"));
    if all {
        ask("CREATE TABLE v SELECT * FROM u");
        ask("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; UPDATE v SET n = n + 2");
        ask("DELETE FROM u");
        assert_eq!(ask("SELECT COUNT(*) FROM u"), "0");
        assert_eq!(ask("SELECT SUM(n) FROM v"), (2 * rows).to_string());
    }
    assert!(server.sql("SHOW ENGINE INNODB STATUS").contains("Row locks take 0 bytes of 8388608"));
}

#[test]
fn four_million_rows_are_locked_within_8_mib() {
    lock_all(1 << 22, false);
}

#[test]
#[ignore = "long: cargo xtask soak"]
fn twenty_million_rows_are_locked_within_8_mib() {
    lock_all(5 << 22, true);
}
