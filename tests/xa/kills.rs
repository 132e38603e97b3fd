//! KILL in every state of a branch, and clients that go.

use super::{TABLE, all, rows, wait_for};
use testkit::{Server, TempDir, TextClient};

fn id_of(client: &mut TextClient) -> String {
    rows(client, "SELECT CONNECTION_ID()").remove(0)
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
            wait_for(&server, others, "2");
            let ended = root.code("XA ROLLBACK 'g'");
            assert_eq!(ended == 0, is_there, "{last}, kill {kill}, detach {detach}: {ended}");
            assert_eq!(root.code("UPDATE d.t SET n = 10 WHERE id = 1"), 0);
        }
    }
}

#[test]
fn a_branch_that_is_only_to_be_rolled_back_goes_with_its_session() {
    let temp = TempDir::new();
    let server = Server::with().option("--innodb-rollback-on-timeout=ON").start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    for kill in ["KILL QUERY", "KILL"] {
        let mut client = TextClient::connect(server.socket());
        let id = id_of(&mut client);
        all(&mut root, &["BEGIN", "UPDATE d.t SET n = 21 WHERE id = 2"]);
        all(&mut client, &["SET innodb_lock_wait_timeout = 1", "XA START 'k'"]);
        all(&mut client, &["UPDATE d.t SET n = 0 WHERE id = 1"]);
        assert_eq!(client.code("UPDATE d.t SET n = 0 WHERE id = 2"), 1205);
        all(&mut root, &["ROLLBACK", &format!("{kill} {id}")]);
        if kill == "KILL QUERY" {
            // It met no statement.
            assert_eq!(client.code("SELECT 1 FROM d.t"), 1613);
            assert_eq!(client.code("XA ROLLBACK 'k'"), 0);
        } else {
            let there =
                format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
            wait_for(&server, &there, "0");
        }
        all(&mut root, &["XA START 'k'", "XA END 'k'", "XA ROLLBACK 'k'"]);
        assert_eq!(server.sql("SELECT SUM(n) FROM d.t"), "60");
    }
}

/// The statement in which a session is met that waits for FLUSH TABLES WITH READ LOCK of another one: what it answers, what is told
/// behind that, and whether the branch is prepared still; as MySQL 9.7 has it.
#[test]
fn a_kill_meets_a_session_that_waits_to_prepare_or_to_end_a_branch() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    let cases = [
        (false, "XA PREPARE 'k'", [1402, 1402], false),
        (false, "XA COMMIT 'k' ONE PHASE", [1402, 1402], false),
        (true, "XA COMMIT 'k'", [3197, 3197], true),
        (true, "XA ROLLBACK 'k'", [3197, 1401], true),
    ];
    for (is_prepared, waits, behind, is_left) in cases {
        for (detach, kill) in
            [(true, "KILL QUERY"), (true, "KILL"), (false, "KILL QUERY"), (false, "KILL")]
        {
            let what = format!("{kill} of {waits}, detach {detach}");
            let mut client = TextClient::connect(server.socket());
            let id = id_of(&mut client);
            all(&mut client, &[&format!("SET xa_detach_on_prepare = {}", u8::from(detach))]);
            all(&mut client, &["XA START 'k'", "INSERT INTO d.t VALUES (7, 7)", "XA END 'k'"]);
            if is_prepared {
                all(&mut client, &["XA PREPARE 'k'"]);
            }
            all(&mut root, &["FLUSH TABLES WITH READ LOCK"]);
            let waiter = std::thread::spawn(move || {
                let met = client.attempt(waits).map(|answer| answer.err().map(|e| e.number));
                (met, client)
            });
            let state = format!("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID = {id}");
            wait_for(&server, &state, "Waiting for commit lock");
            all(&mut root, &[&format!("{kill} {id}")]);
            let (met, mut client) = waiter.join().unwrap();
            if kill == "KILL QUERY" {
                assert_eq!(met, Some(Some(1317)), "{what}");
                let errors: Vec<String> = rows(&mut client, "SHOW ERRORS")
                    .iter()
                    .map(|row| row.split(' ').nth(1).unwrap().to_string())
                    .collect();
                let behind = behind[usize::from(!detach)];
                assert_eq!(errors, ["1317".to_string(), behind.to_string()], "{what}");
            } else {
                assert!(met.is_none_or(|error| error.is_some()), "{what}");
            }
            drop(client);
            wait_for(&server, &state, "");
            let left: &[&str] = if is_left { &["1 1 0 k"] } else { &[] };
            assert_eq!(rows(&mut root, "XA RECOVER"), left, "{what}");
            all(&mut root, &["UNLOCK TABLES"]);
            assert_eq!(root.code("XA ROLLBACK 'k'"), if is_left { 0 } else { 1397 }, "{what}");
            assert_eq!(server.sql("SELECT SUM(n) FROM d.t"), "60", "{what}");
        }
    }
}

#[test]
fn a_kill_of_a_statement_leaves_a_branch_active() {
    let temp = TempDir::new();
    let server = Server::start(temp.path());
    let mut root = TextClient::connect(server.socket());
    let mut client = TextClient::connect(server.socket());
    all(&mut root, &TABLE);
    all(&mut root, &["BEGIN", "UPDATE d.t SET n = 21 WHERE id = 2"]);
    let id = id_of(&mut client);
    all(&mut client, &["XA START 'k'", "UPDATE d.t SET n = 11 WHERE id = 1"]);
    let waiter = std::thread::spawn(move || {
        let met = client.code("UPDATE d.t SET n = 22 WHERE id = 2");
        (met, client)
    });
    let waits = "SELECT COUNT(*) FROM performance_schema.data_lock_waits";
    wait_for(&server, waits, "1");
    all(&mut root, &[&format!("KILL QUERY {id}"), "ROLLBACK"]);
    let (met, mut client) = waiter.join().unwrap();
    assert_eq!(met, 1317);
    all(&mut client, &["XA END 'k'", "XA PREPARE 'k'", "XA COMMIT 'k'"]);
    assert_eq!(server.sql("SELECT SUM(n) FROM d.t"), "61");
}
