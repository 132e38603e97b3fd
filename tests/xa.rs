//! Distributed transactions (XA): dialogues, `tests/xa/*.talk`, as MySQL had them, and what outlives a connection, a kill and
//! a stop.
//!
//! To record: `LIMPID_PEER="socket=..." cargo test --test xa -- --ignored recorded_from_a_peer`.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

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

#[test]
fn a_branch_outlives_the_server() {
    let temp = TempDir::new();
    let mut server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    for xid in ["'a', 'x', 7", "'b'"] {
        let id = if xid == "'b'" { 2 } else { 1 };
        let work = [
            format!("XA START {xid}"),
            format!("UPDATE d.t SET n = n + 1 WHERE id = {id}"),
            format!("INSERT INTO d.t VALUES ({id}0, 0)"),
            format!("XA END {xid}"),
            format!("XA PREPARE {xid}"),
        ];
        work.iter().for_each(|sql| drop(root.query(sql).unwrap()));
    }
    // Killed, stopped, killed in the middle of the start.
    for round in 0..4 {
        match round % 2 {
            0 => server.kill(),
            _ => drop(server.stop()),
        }
        server = Server::start(temp.path());
        assert!(server.log().contains("2 transactions are prepared (XA)"), "{}", server.log());
        let mut root = TextClient::connect(server.socket());
        all(&mut root, &TIMEOUTS);
        let rows = root.query("XA RECOVER").unwrap().rows;
        assert_eq!(rows.len(), 2);
        assert_eq!(server.sql("SELECT SUM(n) FROM d.t"), "60");
        // Rows and tables are locked; others are not.
        assert_eq!(root.code("UPDATE d.t SET n = 0 WHERE id = 1"), 1205);
        assert_eq!(root.code("INSERT INTO d.t VALUES (20, 0)"), 1205);
        assert_eq!(root.code("DROP TABLE d.t"), 1205);
        assert_eq!(root.code("ALTER TABLE d.t ADD c INT"), 1205);
        assert_eq!(root.code("UPDATE d.t SET n = 30 WHERE id = 3"), 0);
        let trx =
            "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = 0";
        assert_eq!(server.sql(trx), "2");
    }
    let mut root = TextClient::connect(server.socket());
    assert_eq!(root.code("XA COMMIT 'a', 'x', 7"), 0);
    assert_eq!(root.code("XA ROLLBACK 'b'"), 0);
    server.kill();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    for xid in ["'a', 'x', 7", "'b'"] {
        assert_eq!(root.code(&format!("XA COMMIT {xid}")), 1397, "it is done");
    }
    assert_eq!(
        server.sql("SELECT GROUP_CONCAT(id, ':', n ORDER BY id) FROM d.t"),
        "1:11,2:20,3:30,10:0"
    );
    assert_eq!(server.sql("CHECK TABLE d.t").split('\t').next_back(), Some("OK"));
    assert_eq!(root.code("DROP TABLE d.t"), 0);
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
fn many_branches_are_prepared_and_found_and_sessions_still_get_in() {
    const BRANCHES: usize = 1000;
    let temp = TempDir::new();
    let mut server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    for n in 0..BRANCHES {
        all(
            &mut root,
            &[
                &format!("XA START '{n}'"),
                &format!("INSERT INTO d.t VALUES ({n} + 1000, 0)"),
                &format!("XA END '{n}'"),
                &format!("XA PREPARE '{n}'"),
            ],
        );
    }
    server.kill();
    server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    assert_eq!(root.query("XA RECOVER").unwrap().rows.len(), BRANCHES);
    for n in 0..BRANCHES {
        let end = if n % 2 == 0 { "COMMIT" } else { "ROLLBACK" };
        all(&mut root, &[&format!("XA {end} '{n}'")]);
    }
    assert!(root.query("XA RECOVER").unwrap().rows.is_empty());
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t"), (3 + BRANCHES / 2).to_string());
    assert_eq!(server.sql("CHECK TABLE d.t").split('\t').next_back(), Some("OK"));
}

#[test]
fn a_client_that_goes_leaves_a_branch_as_far_as_it_was_prepared() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    let others = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND <> 'Daemon'";
    for (kill, detach) in [(false, true), (true, true), (false, false), (true, false)] {
        for (last, is_there) in
            [("XA START 'g'", false), ("XA END 'g'", false), ("XA PREPARE 'g'", true)]
        {
            let mut client = TextClient::connect(server.socket());
            all(&mut client, &[&format!("SET xa_detach_on_prepare = {}", u8::from(detach))]);
            for sql in [
                "XA START 'g'",
                "UPDATE d.t SET n = 0 WHERE id = 1",
                "XA END 'g'",
                "XA PREPARE 'g'",
            ] {
                all(&mut client, &[sql]);
                if sql == last {
                    break;
                }
            }
            let id = client.query("SELECT CONNECTION_ID()").unwrap().rows[0][0].clone().unwrap();
            let id = String::from_utf8(id).unwrap();
            if kill {
                all(&mut root, &[&format!("KILL {id}")]);
            } else {
                drop(client);
            }
            while server.sql(others) != "2" {
                std::thread::sleep(Duration::from_millis(10));
            }
            let ended = root.code("XA ROLLBACK 'g'");
            assert_eq!(ended == 0, is_there, "{last}, kill {kill}, detach {detach}: {ended}");
            assert_eq!(root.code("UPDATE d.t SET n = 10 WHERE id = 1"), 0);
        }
    }
}
