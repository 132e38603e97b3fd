//! `kill -9` under a writer that is being acknowledged: everything acknowledged is there afterwards.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::io::Write;
use std::process::Stdio;
use testkit::{Server, TempDir};

const ROUNDS: usize = 5;

/// Inserts rows one by one through the stock client, which prints a marker per acknowledged row,
/// until the server is killed; the number of the last row acknowledged.
fn write_until_killed(server: &mut Server, first: u64) -> u64 {
    let mut child = server
        .client()
        .args(["--unbuffered", "d"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        for n in first..first + 200_000 {
            let row =
                format!("INSERT INTO t VALUES ({n}, {n} * 7 % 1000, 'row {n}');\nSELECT {n};\n");
            if input.write_all(row.as_bytes()).is_err() {
                break;
            }
        }
    });
    testkit::pause(1500);
    server.kill();
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    printed.lines().filter_map(|line| line.parse().ok()).next_back().unwrap_or(first - 1)
}

#[test]
fn what_was_acknowledged_before_kill_9_is_there_after_a_restart() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, k INT NOT NULL, c VARCHAR(40), KEY (k))");
    let mut next = 1;
    for round in 1..=ROUNDS {
        let acknowledged = write_until_killed(&mut server, next);
        assert!(acknowledged >= next, "round {round}: nothing was acknowledged");
        server = Server::start(folder.path());
        let present: u64 = server.sql("SELECT COUNT(*) FROM d.t").parse().unwrap();
        assert!(
            present == acknowledged || present == acknowledged + 1,
            "round {round}: {acknowledged} rows acknowledged, {present} present"
        );
        assert_eq!(
            server.sql("SELECT MAX(id) FROM d.t"),
            present.to_string(),
            "round {round}: a hole"
        );
        let by_index =
            server.sql("SELECT COUNT(*) FROM d.t FORCE INDEX (k) WHERE k BETWEEN 0 AND 999");
        assert_eq!(by_index, present.to_string(), "round {round}: index and table differ");
        next = present + 1;
    }
}

/// What an ALTER TABLE may leave: the old table whole or the new one, and no file of another.
#[test]
fn an_alter_table_that_kill_9_cuts_off_leaves_the_old_table_or_the_new_one() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, k INT, c VARCHAR(40), KEY (k))",
    );
    let rows: Vec<String> = (1..=3000).map(|n| format!("({n}, {n}, 'row {n}')")).collect();
    server.sql(&format!("INSERT INTO d.t VALUES {}", rows.join(",")));
    for round in 0..6 {
        let change = match round % 3 {
            0 => format!("ADD x{round} INT DEFAULT 5, DROP INDEX k, ADD KEY k (k)"),
            1 => "DROP INDEX k, ADD UNIQUE KEY k (k)".to_string(),
            _ => "MODIFY k BIGINT, DROP INDEX k, ADD KEY k (k)".to_string(),
        };
        let statement = format!("ALTER TABLE d.t {change}");
        let mut child = server
            .client()
            .args(["-e", &statement])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        testkit::pause(30 + 40 * round);
        server.kill();
        child.wait().unwrap();
        server = Server::start(folder.path());
        let whole = server.sql("SELECT COUNT(*), SUM(k), MAX(id) FROM d.t");
        assert_eq!(whole, "3000\t4501500\t3000", "round {round}");
        let by_index = server.sql("SELECT COUNT(*) FROM d.t FORCE INDEX (k) WHERE k >= 0");
        assert_eq!(by_index, "3000", "round {round}: index and table differ");
        let checked = server.sql("CHECK TABLE d.t");
        assert!(checked.ends_with("status\tOK"), "round {round}: {checked}");
    }
}
