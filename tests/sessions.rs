//! What sessions do to each other: wait, time out, deadlock, get killed; and metadata locks.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use testkit::{Server, TempDir};

fn with_table(folder: &TempDir) -> Server {
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); INSERT INTO d.t VALUES (1, 1), (2, 2)");
    server
}

#[test]
fn a_writer_waits_for_the_other_transaction_and_readers_do_not() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let (mut a, mut b) = (server.converse(), server.converse());
    a.ask("BEGIN");
    a.ask("UPDATE d.t SET c = 10 WHERE id = 1");
    assert_eq!(
        server.sql("SELECT c FROM d.t WHERE id = 1"),
        "1",
        "an uncommitted version was read"
    );
    b.send("UPDATE d.t SET c = c + 5 WHERE id = 1");
    server.find_session("UPDATE d.t SET c = c + 5");
    a.ask("COMMIT");
    b.receive();
    assert_eq!(server.sql("SELECT c FROM d.t WHERE id = 1"), "15");
}

#[test]
fn a_lock_wait_ends_in_1205_and_a_cycle_in_1213() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut a = server.converse();
    a.ask("BEGIN");
    a.ask("UPDATE d.t SET c = 10 WHERE id = 1");
    let error =
        server.sql_error("SET innodb_lock_wait_timeout = 1; UPDATE d.t SET c = 0 WHERE id = 1");
    assert!(error.contains("1205"), "{error}");
    let waiter =
        "BEGIN; UPDATE d.t SET c = 20 WHERE id = 2; UPDATE d.t SET c = 20 WHERE id = 1; COMMIT";
    std::thread::scope(|scope| {
        let other = scope.spawn(|| server.try_sql(waiter));
        server.find_session("UPDATE d.t SET c = 20 WHERE id = 1");
        a.ask("UPDATE d.t SET c = 10 WHERE id = 2");
        let own = a.ask("SELECT c FROM d.t WHERE id = 2");
        a.ask("COMMIT");
        let other = other.join().unwrap();
        let other_failed = other.err.contains("1213");
        assert!(other_failed || other.ok, "{}", other.err);
        // Exactly one of the two was the victim.
        let a_won = own == ["10"] && server.sql("SELECT c FROM d.t WHERE id = 2") == "10";
        assert!(a_won == other_failed, "own {own:?}, other {other:?}");
    });
}

#[test]
fn kill_query_ends_the_statement_and_kill_ends_the_session() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| server.sql("SELECT SLEEP(60)"));
        let id = server.find_session("SELECT SLEEP(60)");
        server.sql(&format!("KILL QUERY {id}"));
        assert_eq!(sleeper.join().unwrap(), "1", "an interrupted SLEEP answers 1");
        let waiting = scope.spawn(|| server.try_sql("SELECT SLEEP(61)"));
        let id = server.find_session("SELECT SLEEP(61)");
        server.sql(&format!("KILL {id}"));
        assert!(!waiting.join().unwrap().ok);
    });
    assert!(server.sql_error("KILL 999999").contains("1094"));
}

#[test]
fn drop_table_waits_for_a_reader_in_a_transaction_and_1205_ends_the_wait() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut reader = server.converse();
    reader.ask("BEGIN");
    assert_eq!(reader.ask("SELECT c FROM d.t WHERE id = 1"), ["1"]);
    let error = server.sql_error("SET lock_wait_timeout = 1; DROP TABLE d.t");
    assert!(error.contains("1205"), "{error}");
    assert_eq!(reader.ask("SELECT c FROM d.t WHERE id = 2"), ["2"]);
    std::thread::scope(|scope| {
        let dropper = scope.spawn(|| server.sql("DROP TABLE d.t"));
        server.find_session("DROP TABLE");
        reader.ask("COMMIT");
        dropper.join().unwrap();
    });
    assert!(server.sql_error("SELECT * FROM d.t").contains("1146"));
}

#[test]
fn a_killed_client_in_a_transaction_leaves_no_change_and_no_lock() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut a = server.converse();
    a.ask("BEGIN");
    a.ask("UPDATE d.t SET c = 100 WHERE id = 1");
    drop(a);
    server.sql("SET innodb_lock_wait_timeout = 10; UPDATE d.t SET c = c + 1 WHERE id = 1");
    assert_eq!(server.sql("SELECT c FROM d.t WHERE id = 1"), "2");
}
