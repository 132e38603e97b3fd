//! Branches and the end of the server: killed, stopped, copied.

use super::{TABLE, TIMEOUTS, all, prepare, rows, wait_for};
use std::path::Path;
use testkit::{Server, TempDir, TextClient};

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
        assert_eq!(rows(&mut root, "XA RECOVER"), ["7 1 1 ax", "1 1 0 b"]);
        assert_eq!(server.sql("SELECT SUM(n) FROM d.t"), "60");
        // Rows and tables are locked; others are not.
        assert_eq!(root.code("UPDATE d.t SET n = 0 WHERE id = 1"), 1205);
        assert_eq!(root.code("INSERT INTO d.t VALUES (20, 0)"), 1205);
        assert_eq!(root.code("DROP TABLE d.t"), 1205);
        assert_eq!(root.code("ALTER TABLE d.t ADD c INT"), 1205);
        assert_eq!(root.code("UPDATE d.t SET n = 30 WHERE id = 3"), 0);
        // Others see who has them.
        let held = "SELECT OBJECT_TYPE, OBJECT_NAME, LOCK_TYPE, LOCK_DURATION, LOCK_STATUS \
                    FROM performance_schema.metadata_locks WHERE OBJECT_SCHEMA = 'd'";
        assert_eq!(rows(&mut root, held), ["TABLE t SHARED_WRITE TRANSACTION GRANTED"; 2]);
        let held = "SELECT OBJECT_NAME, LOCK_TYPE, LOCK_MODE, LOCK_STATUS \
                    FROM performance_schema.data_locks WHERE OBJECT_SCHEMA = 'd' AND LOCK_TYPE = 'TABLE'";
        assert_eq!(rows(&mut root, held), ["t TABLE IX GRANTED"; 2]);
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
        for end in ["COMMIT", "ROLLBACK", "ROLLBACK"] {
            assert_eq!(root.code(&format!("XA {end} {xid}")), 1397, "it is done");
        }
    }
    assert_eq!(
        server.sql("SELECT GROUP_CONCAT(id, ':', n ORDER BY id) FROM d.t"),
        "1:11,2:20,3:30,10:0"
    );
    assert_eq!(server.sql("CHECK TABLE d.t").split('\t').next_back(), Some("OK"));
    assert_eq!(root.code("DROP TABLE d.t"), 0);
}

#[test]
fn names_of_every_kind_outlive_the_server() {
    let temp = TempDir::new();
    let mut server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    let long = "67".repeat(64);
    let names = [
        format!("X'{long}', X'{}', 4294967295", "00".repeat(64)),
        "X'61005C27220A', X'00', 5".to_string(),
        r#"'it''s', 'a "name"'"#.to_string(),
        "X'', X'', 0".to_string(),
    ];
    for (n, xid) in names.iter().enumerate() {
        prepare(&mut root, xid, &[&format!("INSERT INTO d.t VALUES (10 + {n}, 0)")]);
    }
    let known = rows(&mut root, "XA RECOVER CONVERT XID");
    assert_eq!(known.len(), names.len());
    for ends in [[true, false], [false, true]] {
        server.kill();
        server = Server::start(temp.path());
        let mut root = TextClient::connect(server.socket());
        let left = rows(&mut root, "XA RECOVER CONVERT XID");
        assert!(left.iter().all(|row| known.contains(row)), "{left:?} of {known:?}");
        assert_eq!(left.len(), if ends[0] { 4 } else { 2 });
        for (n, xid) in names.iter().enumerate().filter(|(n, _)| ends[n % 2]) {
            let end = if n < 2 { "COMMIT" } else { "ROLLBACK" };
            assert_eq!(root.code(&format!("XA {end} {xid}")), 0, "{xid}");
        }
    }
    let mut root = TextClient::connect(server.socket());
    assert_eq!(rows(&mut root, "XA RECOVER"), [""; 0]);
    assert_eq!(rows(&mut root, "SELECT id FROM d.t WHERE id > 9 ORDER BY id"), ["10", "11"]);
}

/// What a kill in the middle of ROLLBACK was to end is ended.
#[test]
fn a_rollback_over_a_kill_is_done_once() {
    let temp = TempDir::new();
    let mut server = Server::start(temp.path());
    for round in 0..3 {
        let mut root = TextClient::connect(server.socket());
        if round == 0 {
            all(&mut root, &TABLE);
        }
        let insert = format!("INSERT INTO d.t VALUES ({round} + 10, 0)");
        prepare(&mut root, "'r'", &[&insert, "UPDATE d.t SET n = 0 WHERE id = 1"]);
        assert_eq!(root.code("XA ROLLBACK 'r'"), 0);
        server.kill();
        server = Server::start(temp.path());
        let mut root = TextClient::connect(server.socket());
        for _ in 0..2 {
            assert_eq!(root.code("XA ROLLBACK 'r'"), 1397);
        }
        assert_eq!(rows(&mut root, "XA RECOVER"), [""; 0]);
        assert_eq!(root.code("UPDATE d.t SET n = 10 WHERE id = 1"), 0);
        assert_eq!(server.sql("SELECT SUM(n) FROM d.t"), "60");
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn a_copy_of_the_data_has_the_branches_too() {
    let (temp, other) = (TempDir::new(), TempDir::new());
    let mut server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    prepare(&mut root, "'a'", &["UPDATE d.t SET n = 11 WHERE id = 1"]);
    prepare(&mut root, "'b'", &["UPDATE d.t SET n = 22 WHERE id = 2"]);
    assert_eq!(root.code("SHUTDOWN"), 0);
    server.wait();
    copy(&temp.path().join("data"), &other.path().join("data"));
    let ends = [["XA COMMIT 'a'", "XA ROLLBACK 'b'"], ["XA ROLLBACK 'a'", "XA COMMIT 'b'"]];
    let sums = ["61", "62"];
    let servers = [Server::start(temp.path()), Server::start(other.path())];
    for ((server, ends), sum) in servers.iter().zip(ends).zip(sums) {
        let mut root = TextClient::connect(server.socket());
        assert_eq!(rows(&mut root, "XA RECOVER"), ["1 1 0 a", "1 1 0 b"]);
        all(&mut root, &ends);
        assert_eq!(rows(&mut root, "XA RECOVER"), [""; 0]);
        assert_eq!(server.sql("SELECT SUM(n) FROM d.t"), sum);
        assert_eq!(server.sql("CHECK TABLE d.t").split('\t').next_back(), Some("OK"));
    }
}

/// However old it gets, it holds back the purge of what it has done itself, and no other's.
#[test]
fn purge_goes_on_beside_a_branch() {
    const LEN: &str =
        "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'";
    let temp = TempDir::new();
    let mut server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    prepare(&mut root, "'p'", &["DELETE FROM d.t WHERE id = 1"]);
    for restart in [false, true] {
        if restart {
            server.kill();
            server = Server::start(temp.path());
            root = TextClient::connect(server.socket());
        }
        let mut viewer = TextClient::connect(server.socket());
        all(&mut viewer, &["START TRANSACTION WITH CONSISTENT SNAPSHOT"]);
        for n in 0..200 {
            all(&mut root, &[&format!("UPDATE d.t SET n = {n} WHERE id = 2")]);
        }
        assert!(server.sql(LEN).parse::<u64>().unwrap() > 0, "a view holds back what is behind it");
        all(&mut viewer, &["COMMIT"]);
        wait_for(&server, LEN, "0");
        assert_eq!(rows(&mut root, "SELECT id FROM d.t ORDER BY id"), ["1", "2", "3"]);
    }
    all(&mut root, &["XA COMMIT 'p'"]);
    wait_for(&server, LEN, "0");
    assert_eq!(rows(&mut root, "SELECT id FROM d.t ORDER BY id"), ["2", "3"]);
    assert_eq!(server.sql("CHECK TABLE d.t").split('\t').next_back(), Some("OK"));
}

/// As many as may be.
const BRANCHES: usize = 10_000;

#[test]
fn as_many_branches_as_may_be_are_found_and_sessions_still_get_in() {
    const SESSIONS: usize = 4;
    let temp = TempDir::new();
    let lazy = Server::with().option("--innodb-flush-log-at-trx-commit=2");
    let mut server = lazy.start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    // The branches `n`, by several sessions at once.
    let each = |server: &Server, work: fn(&mut TextClient, usize)| {
        std::thread::scope(|scope| {
            for session in 0..SESSIONS {
                let mut client = TextClient::connect(server.socket());
                scope.spawn(move || {
                    (session..BRANCHES).step_by(SESSIONS).for_each(|n| work(&mut client, n));
                });
            }
        });
    };
    each(&server, |client, n| {
        let insert = format!("INSERT INTO d.t VALUES ({n} + 1000, 0)");
        prepare(client, &format!("'{n}'"), &[&insert]);
    });
    all(&mut root, &["XA START 'more'", "INSERT INTO d.t VALUES (4, 0)", "XA END 'more'"]);
    assert_eq!(root.code("XA PREPARE 'more'"), 1637);
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t"), "3");
    server.kill();
    server = lazy.start(temp.path());
    let told = format!("{BRANCHES} transactions are prepared (XA)");
    assert!(server.log().contains(&told), "{}", server.log());
    let mut root = TextClient::connect(server.socket());
    assert_eq!(root.query("XA RECOVER").unwrap().rows.len(), BRANCHES);
    each(&server, |client, n| {
        let end = if n % 2 == 0 { "COMMIT" } else { "ROLLBACK" };
        all(client, &[&format!("XA {end} '{n}'")]);
    });
    assert!(root.query("XA RECOVER").unwrap().rows.is_empty());
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t"), (3 + BRANCHES / 2).to_string());
    assert_eq!(server.sql("CHECK TABLE d.t").split('\t').next_back(), Some("OK"));
}
