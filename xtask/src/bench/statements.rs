//! User instructions of statements, by callgrind: every workload of sysbench's, and statements that each show one way through the
//! server.
//!
//! Counts, which are the same on every machine that gives the server a core; `LIMPID_BINARY` names another binary, to compare.

use super::Settings;
use testkit::callgrind::CountedServer;
use testkit::{Server, TextClient};

/// Runs of a statement: what two numbers of them differ by is that of runs alone.
const RUNS: (u32, u32) = (50, 350);
/// sysbench's workloads of one statement an event, or of a transaction.
const WORKLOADS: [&str; 9] = [
    "oltp_point_select",
    "oltp_read_only",
    "select_random_points",
    "select_random_ranges",
    "oltp_update_non_index",
    "oltp_update_index",
    "oltp_insert",
    "oltp_delete",
    "oltp_read_write",
];
/// What is made before the statements.
const TABLES: &str = "
    CREATE TABLE plain (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, c VARCHAR(40));
    CREATE TABLE computed (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, c VARCHAR(40), g1 INT AS (a + b) STORED,
        g2 INT AS (a * 2), g3 INT AS (b * 3) STORED, g4 VARCHAR(50) AS (CONCAT(c, 'x')), g5 INT AS (LENGTH(c)) STORED,
        CHECK (a >= 0), CHECK (b < 1000000), CHECK (c <> ''));
    SET @n = 0";
/// A name, what prepares it, and the statement, as text.
const STATEMENTS: [(&str, &str, &str); 9] = [
    (
        "join of two look-ups, text",
        "",
        "SELECT a.c, b.c FROM sbtest1 a JOIN sbtest2 b ON b.id = a.id WHERE a.id = 5",
    ),
    ("INSERT, text", "", "INSERT INTO plain (a, b, c) VALUES (1, 2, 'abc')"),
    ("INSERT, 5 generated, 3 checks", "", "INSERT INTO computed (a, b, c) VALUES (1, 2, 'abc')"),
    ("SUM of a range of 100", "", "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 100 AND 199"),
    (
        "SUM of a range of 1",
        "",
        "SELECT SUM(k), COUNT(*) FROM sbtest1 WHERE id BETWEEN 100 AND 100",
    ),
    (
        "groups of a range of 1",
        "",
        "SELECT k, COUNT(*), SUM(id) FROM sbtest1 WHERE id BETWEEN 100 AND 100 GROUP BY k",
    ),
    (
        "SQL_CALC_FOUND_ROWS, LIMIT",
        "",
        "SELECT SQL_CALC_FOUND_ROWS id FROM sbtest1 WHERE id BETWEEN 100 AND 109 LIMIT 2",
    ),
    (
        "INTO, prepared",
        "PREPARE s FROM 'SELECT k INTO @k FROM sbtest1 WHERE id BETWEEN ? AND ? AND k >= 0'; SET @a = 5",
        "EXECUTE s USING @a, @a",
    ),
    (
        "subquery that runs once, text",
        "",
        "SELECT id FROM sbtest1 WHERE id = (SELECT MAX(id) FROM sbtest2 WHERE id BETWEEN 5 AND 6)",
    ),
];
/// Events of sysbench's of two runs: what they differ by is that of events alone.
const EVENTS: (u64, u64) = (300, 1_500);
/// Texts that have no program.
const WITHOUT: [(&str, &str); 2] =
    [("BEGIN and COMMIT", "BEGIN;COMMIT"), ("SET of a user variable", "SET @n = @n + 1")];

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let is_wanted =
        |name: &str| settings.only.as_ref().is_none_or(|part| name.contains(part.as_str()));
    let mut counted = CountedServer::start(&Server::with());
    for workload in WORKLOADS.into_iter().filter(|name| is_wanted(name)) {
        let each = counted.sysbench_event(("root", workload, "auto"), EVENTS, 0.0).statement;
        println!("{workload:32}{each:>12.0}");
    }
    let mut client = TextClient::connect(counted.server.socket());
    let said = |client: &mut TextClient, text: &str| -> Result<(), String> {
        for sql in text.split(';').filter(|sql| !sql.trim().is_empty()) {
            client.query(sql).map_err(|e| format!("{sql}: {e:?}"))?;
        }
        Ok(())
    };
    said(&mut client, "USE sbtest")?;
    said(&mut client, TABLES)?;
    let without = WITHOUT.map(|(name, sql)| (name, "", sql));
    for (name, before, sql) in
        STATEMENTS.into_iter().chain(without).filter(|(name, ..)| is_wanted(name))
    {
        said(&mut client, before)?;
        let mut went = Ok(());
        let mut of = |runs: u32| {
            counted.during(|_| (0..runs).for_each(|_| went = said(&mut client, sql))).statement
        };
        let (_, few, many) = (of(RUNS.0), of(RUNS.0), of(RUNS.1));
        went?;
        println!("{name:32}{:>12.0}", (many - few) / f64::from(RUNS.1 - RUNS.0));
    }
    Ok(())
}
