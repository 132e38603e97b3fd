//! Distributed transactions (XA): dialogues, `tests/xa/*.talk`, as MySQL had them, and what outlives a connection, a kill and
//! a stop.
//!
//! To record: `LIMPID_PEER="socket=..." cargo test --test xa -- --ignored recorded_from_a_peer`.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "xa/kills.rs"]
mod kills;
#[path = "xa/restarts.rs"]
mod restarts;

use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{Peer, Server, TempDir, TextClient, dialogue};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/xa")
}

#[test]
fn branches_are_as_in_mysql() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    dialogue::compare_folder(&server.socket().into(), &folder());
}

#[test]
#[ignore = "needs a real MySQL; writes tests/xa/*.result"]
fn recorded_from_a_peer() {
    dialogue::record_folder(&Peer::of_environment(), &folder());
}

#[test]
#[ignore = "needs a real MySQL; the runner itself put to the test"]
fn checked_against_a_peer() {
    dialogue::compare_folder(&Peer::of_environment(), &folder());
}

fn all(client: &mut TextClient, statements: &[&str]) {
    for sql in statements {
        client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
}

const TABLE: [&str; 3] = [
    "CREATE DATABASE d",
    "CREATE TABLE d.t (id INT PRIMARY KEY, n INT, KEY (n))",
    "INSERT INTO d.t VALUES (1, 10), (2, 20), (3, 30)",
];
const TIMEOUTS: [&str; 2] = ["SET lock_wait_timeout = 1", "SET innodb_lock_wait_timeout = 1"];

/// Prepares a branch that does something.
fn prepare(client: &mut TextClient, xid: &str, work: &[&str]) {
    all(client, &[&format!("XA START {xid}")]);
    all(client, work);
    all(client, &[&format!("XA END {xid}"), &format!("XA PREPARE {xid}")]);
}

/// The rows of an answer as text.
fn rows(client: &mut TextClient, sql: &str) -> Vec<String> {
    let answer = client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let text = |value: &Option<Vec<u8>>| match value {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "NULL".into(),
    };
    answer.rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

/// Waits until `sql` answers `value`.
fn wait_for(server: &Server, sql: &str, value: &str) {
    for _ in 0..3000 {
        if server.sql(sql) == value {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{sql} is {}", server.sql(sql));
}

/// What a branch has done to its session's own tables goes with them, whoever ends it.
#[test]
fn temporary_tables_go_before_their_branch() {
    let temp = TempDir::new();
    let mut server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    for (n, end) in ["XA COMMIT 'o'", "XA ROLLBACK 'o'"].into_iter().enumerate() {
        for restart in [false, true] {
            let mut client = TextClient::connect(server.socket());
            let id = n * 2 + usize::from(restart) + 100;
            let work = [
                "USE d".to_string(),
                "SET xa_detach_on_prepare = OFF".into(),
                "CREATE TEMPORARY TABLE own (a INT PRIMARY KEY, b INT, KEY (b))".into(),
                "CREATE TEMPORARY TABLE gone (a INT PRIMARY KEY)".into(),
                "INSERT INTO own VALUES (1, 1)".into(),
                "XA START 'o'".into(),
                "INSERT INTO own VALUES (2, 2)".into(),
                "UPDATE own SET b = 3".into(),
                "INSERT INTO gone VALUES (1)".into(),
                "DROP TEMPORARY TABLE gone".into(),
                format!("INSERT INTO t VALUES ({id}, 0)"),
                "XA END 'o'".into(),
                "XA PREPARE 'o'".into(),
            ];
            work.iter().for_each(|sql| drop(client.query(sql).unwrap()));
            assert_eq!(root.code(end), 1397, "it is its session's");
            if restart {
                server.kill();
                server = Server::start(temp.path());
                root = TextClient::connect(server.socket());
            }
            drop(client);
            // It is anybody's when its session has ended, with its tables.
            let mut codes = std::iter::repeat_with(|| {
                std::thread::sleep(Duration::from_millis(10));
                root.code(end)
            });
            assert_eq!(codes.by_ref().take(1000).find(|code| *code != 1397), Some(0));
            let there = server.sql(&format!("SELECT COUNT(*) FROM d.t WHERE id = {id}"));
            assert_eq!(there, if n == 0 { "1" } else { "0" });
        }
    }
    assert_eq!(server.sql("CHECK TABLE d.t").split('\t').next_back(), Some("OK"));
    assert!(!server.log().contains("[ERROR]"), "{}", server.log());
}

#[test]
fn a_hundred_sessions_end_a_branch_once() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    let mut clients: Vec<TextClient> =
        (0..100).map(|_| TextClient::connect(server.socket())).collect();
    for round in 0..5 {
        let n = 100 + round;
        all(
            &mut root,
            &[
                "XA START 'one'",
                &format!("INSERT INTO d.t VALUES ({n}, {n})"),
                "XA END 'one'",
                "XA PREPARE 'one'",
            ],
        );
        let threads: Vec<_> = clients
            .drain(..)
            .enumerate()
            .map(|(i, mut client)| {
                let sql = if i % 2 == 0 { "XA COMMIT 'one'" } else { "XA ROLLBACK 'one'" };
                std::thread::spawn(move || (client.code(sql), i, client))
            })
            .collect();
        let mut won = Vec::new();
        for thread in threads {
            let (code, i, client) = thread.join().unwrap();
            assert!(code == 0 || code == 1397, "{code}");
            won.extend((code == 0).then_some(i));
            clients.push(client);
        }
        assert_eq!(won.len(), 1, "{won:?}");
        let there = server.sql(&format!("SELECT COUNT(*) FROM d.t WHERE id = {n}"));
        assert_eq!(there == "1", won[0] % 2 == 0);
    }
}

#[test]
fn a_branch_in_a_deadlock_is_only_to_be_rolled_back() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    for ending in ["XA ROLLBACK 'b'", "XA COMMIT 'b' ONE PHASE", "XA PREPARE 'b'"] {
        let mut other = TextClient::connect(server.socket());
        all(&mut root, &["XA START 'b'", "UPDATE d.t SET n = 11 WHERE id = 1"]);
        // Heavier than the branch.
        all(&mut other, &["BEGIN", "INSERT INTO d.t VALUES (7, 0), (8, 0), (9, 0)"]);
        all(&mut other, &["UPDATE d.t SET n = 21 WHERE id = 2"]);
        let waiter = std::thread::spawn(move || {
            let met = other.code("UPDATE d.t SET n = 12 WHERE id = 1");
            (met, other.code("ROLLBACK"))
        });
        let waits = "SELECT COUNT(*) FROM performance_schema.data_lock_waits";
        while server.sql(waits) == "0" {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(root.code("UPDATE d.t SET n = 22 WHERE id = 2"), 1213);
        assert_eq!(waiter.join().unwrap(), (0, 0));
        assert_eq!(root.code("SELECT * FROM d.t"), 1614);
        assert_eq!(root.code("COMMIT"), 1399);
        assert_eq!(root.code("XA END 'b'"), 1614);
        let expected = match ending {
            "XA COMMIT 'b' ONE PHASE" => 1614,
            "XA PREPARE 'b'" => 1399,
            _ => 0,
        };
        assert_eq!(root.code(ending), expected);
        let over = if expected == 1399 { 0 } else { 1397 };
        assert_eq!(root.code("XA ROLLBACK 'b'"), over);
        assert_eq!(server.sql("SELECT SUM(n) FROM d.t"), "60");
    }
}

#[test]
fn a_branch_that_waited_too_long_is_only_to_be_rolled_back() {
    let temp = TempDir::new();
    let server = Server::with().option("--innodb-rollback-on-timeout=ON").start(temp.path());
    let mut root = TextClient::connect(server.socket());
    let mut other = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    all(&mut root, &TIMEOUTS);
    all(&mut other, &["BEGIN", "UPDATE d.t SET n = 21 WHERE id = 2"]);
    is_only_to_be_rolled_back(&mut root, 1613, |branch| {
        all(branch, &["UPDATE d.t SET n = 11 WHERE id = 1"]);
        assert_eq!(branch.code("UPDATE d.t SET n = 22 WHERE id = 2"), 1205);
    });
    assert_eq!(server.sql("SELECT SUM(n) FROM d.t"), "60");
}

#[test]
fn a_branch_without_room_for_its_locks_is_only_to_be_rolled_back() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    all(
        &mut root,
        &["CREATE TABLE d.wanted (id INT PRIMARY KEY)", "INSERT INTO d.wanted VALUES (0)"],
    );
    for n in 0..15 {
        all(&mut root, &[&format!("INSERT INTO d.wanted SELECT id + (1 << {n}) FROM d.wanted")]);
    }
    // Every second row, each locked by itself.
    all(&mut root, &["CREATE TABLE d.all_of_them SELECT id FROM d.wanted"]);
    all(&mut root, &["ALTER TABLE d.all_of_them ADD PRIMARY KEY (id)"]);
    all(&mut root, &["SET GLOBAL limpid_lock_memory_max = 1 << 20"]);
    is_only_to_be_rolled_back(&mut root, 1402, |branch| {
        all(branch, &["UPDATE d.t SET n = 11 WHERE id = 1"]);
        let lock = "SELECT COUNT(*) FROM d.wanted w STRAIGHT_JOIN d.all_of_them a ON a.id = w.id * 2 FOR UPDATE";
        assert_eq!(branch.code(lock), 1206);
    });
    assert_eq!(server.sql("SELECT SUM(n) FROM d.t"), "60");
}

/// What is answered in a branch that `broken` has had rolled back.
fn is_only_to_be_rolled_back(
    client: &mut TextClient,
    told: u16,
    mut broken: impl FnMut(&mut TextClient),
) {
    for (ending, expected) in
        [("XA ROLLBACK 'b'", 0), ("XA COMMIT 'b' ONE PHASE", told), ("XA PREPARE 'b'", 1399)]
    {
        all(client, &["XA START 'b'"]);
        broken(client);
        assert_eq!(client.code("SELECT * FROM d.t"), told);
        assert_eq!(client.code("COMMIT"), 1399);
        assert_eq!(client.code("XA END 'b'"), told);
        assert_eq!(client.code(ending), expected, "{ending}");
        let over = if expected == 1399 { 0 } else { 1397 };
        assert_eq!(client.code("XA ROLLBACK 'b'"), over);
        assert!(rows(client, "XA RECOVER").is_empty());
    }
}
