//! The 22 queries of TPC-H over small data: their answers as MySQL 9.7 gave them over the same data, also
//! with next to no memory for sorts, joins and groups; what cannot do without memory ends in error 1114.
//!
//! To record: `cargo xtask record --peer "socket=..." tpch`, in a database `tpch_record` there.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use testkit::tpch::{NAMES, QUERIES, TABLES, fill, query};
use testkit::{Peer, Server, TempDir, run};

const SCALE: f64 = 0.01;

/// Sorts, hash joins and groups go to temporary files.
const NARROW: &str = "SET sort_buffer_size = 32768, join_buffer_size = 128, tmp_table_size = 1024, \
                      max_heap_table_size = 16384";

fn load(mut ask: impl FnMut(&str) -> String) {
    ask(&TABLES.join(";\n"));
    fill(SCALE, |insert| {
        ask(insert);
        Ok::<_, ()>(())
    })
    .unwrap();
    ask(&format!("ANALYZE TABLE {}", NAMES.join(", ")));
}

/// The answers of all queries.
fn answers(mut ask: impl FnMut(&str) -> String) -> String {
    let mut all = String::new();
    for number in 1..=QUERIES {
        let _ = writeln!(all, "-- query {number}\n{}", ask(&query(number, SCALE)).trim_end());
    }
    all
}

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tpch.result")
}

#[test]
fn answers_are_those_of_mysql() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    assert!(server.try_sql("CREATE DATABASE tpch").ok);
    let ask = |sql: &str| {
        let answer = server.try_sql(&format!("USE tpch; {sql}"));
        assert!(answer.ok, "{}: {}", answer.err, &sql[..sql.len().min(2000)]);
        answer.out
    };
    load(ask);
    let wanted = std::fs::read_to_string(recorded()).unwrap();
    let narrow = |sql: &str| ask(&format!("{NARROW}; {sql}"));
    for found in [answers(ask), answers(narrow)] {
        for (found, wanted) in found.split("-- ").zip(wanted.split("-- ")) {
            assert_eq!(found, wanted);
        }
        assert_eq!(found.len(), wanted.len());
    }
    // The list of an IN that is no join is kept in memory.
    let much = "SELECT SUM(o_comment IN (SELECT l_comment FROM lineitem)) FROM orders";
    let refused =
        server.try_sql(&format!("SET GLOBAL temptable_max_ram = 2097152; USE tpch; {much}"));
    assert!(!refused.ok && refused.err.contains("ERROR 1114 (HY000)"), "{}", refused.err);
    assert_eq!(ask("SELECT COUNT(*) FROM region").trim_end(), "5");
}

#[test]
#[ignore = "writes tests/tpch.result: cargo xtask record"]
fn recorded_from_a_peer() {
    std::fs::write(recorded(), answers_of_a_peer()).unwrap();
}

#[test]
#[ignore = "needs a real MySQL: cargo xtask record --check"]
fn checked_against_a_peer() {
    assert_eq!(answers_of_a_peer(), std::fs::read_to_string(recorded()).unwrap());
}

fn answers_of_a_peer() -> String {
    let peer = Peer::of_environment();
    load(|sql| ask_peer(&peer, sql));
    let answers = answers(|sql| ask_peer(&peer, sql));
    peer.sql("DROP DATABASE tpch_record").unwrap();
    answers
}

fn ask_peer(peer: &Peer, sql: &str) -> String {
    let folder = TempDir::new();
    let file = folder.path().join("statements");
    let database = "CREATE DATABASE IF NOT EXISTS tpch_record; USE tpch_record;";
    std::fs::write(&file, format!("{database}\n{sql}")).unwrap();
    let mut command = peer.client();
    command.stdin(std::fs::File::open(&file).unwrap());
    let answer = run(&mut command);
    assert!(answer.ok, "{}", answer.err);
    answer.out
}
