//! FOREIGN KEY between sessions, across restarts, and under statements that were prepared before.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use testkit::{Server, TempDir};

fn with_tables(folder: &TempDir) -> Server {
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; USE d;
         CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE, v INT);
         CREATE TABLE c (id INT PRIMARY KEY, pid INT, pu INT,
             CONSTRAINT f FOREIGN KEY (pid) REFERENCES p (id),
             CONSTRAINT g FOREIGN KEY (pu) REFERENCES p (u));
         INSERT INTO p VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0)",
    );
    server
}

/// Runs `waiter` in a session of its own while `holder` is open in another, then ends that one by `end`; what
/// the waiter ended in.
fn against(server: &Server, holder: &[&str], waiter: &str, end: &str) -> testkit::Answer {
    let mut a = server.converse();
    a.ask("USE d");
    a.ask("BEGIN");
    for statement in holder {
        a.ask(statement);
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(|| server.try_sql(&format!("USE d; {waiter}")));
        server.find_session(waiter);
        testkit::pause(100);
        assert!(!other.is_finished(), "{waiter} did not wait for {holder:?}");
        a.ask(end);
        other.join().unwrap()
    })
}

#[test]
fn a_parent_that_goes_waits_for_the_child_that_comes() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    for (child, number) in
        [("INSERT INTO c VALUES (1, 1, NULL)", 1), ("INSERT INTO c VALUES (2, NULL, 20)", 2)]
    {
        let delete = format!("DELETE FROM p WHERE id = {number}");
        let refused = against(&server, &[child], &delete, "COMMIT");
        assert!(refused.err.contains("1451"), "{}", refused.err);
    }
    let done = against(
        &server,
        &["INSERT INTO c VALUES (3, 3, NULL)"],
        "DELETE FROM p WHERE id = 3",
        "ROLLBACK",
    );
    assert!(done.ok, "{}", done.err);
    // A child that goes, and stays after all.
    let delete = "DELETE FROM p WHERE id = 1";
    let refused = against(&server, &["DELETE FROM c WHERE id = 1"], delete, "ROLLBACK");
    assert!(refused.err.contains("1451"), "{}", refused.err);
    let done = against(&server, &["DELETE FROM c WHERE id = 1"], delete, "COMMIT");
    assert!(done.ok, "{}", done.err);
    assert_eq!(server.sql("SELECT id FROM d.p"), "2");
}

#[test]
fn a_child_that_comes_waits_for_the_parent_that_goes() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let delete = ["DELETE FROM p WHERE id = 1"];
    let refused = against(&server, &delete, "INSERT INTO c VALUES (1, 1, NULL)", "COMMIT");
    assert!(refused.err.contains("1452"), "{}", refused.err);
    let renumber = ["UPDATE p SET u = 21 WHERE id = 2"];
    let done = against(&server, &renumber, "INSERT INTO c VALUES (2, 2, 20)", "ROLLBACK");
    assert!(done.ok, "{}", done.err);
    let renumber = ["UPDATE p SET u = 31 WHERE id = 3"];
    let refused = against(&server, &renumber, "INSERT INTO c VALUES (3, NULL, 30)", "COMMIT");
    assert!(refused.err.contains("1452"), "{}", refused.err);
    assert_eq!(server.sql("SELECT id, pu FROM d.c"), "2\t20");
}

#[test]
fn ddl_of_one_side_waits_for_transactions_on_the_other() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut a = server.converse();
    a.ask("USE d");
    a.ask("BEGIN");
    a.ask("UPDATE p SET v = 1 WHERE id = 1");
    for statement in [
        "CREATE TABLE c2 (pid INT, FOREIGN KEY (pid) REFERENCES p (id))",
        "ALTER TABLE c DROP FOREIGN KEY f",
        "DROP TABLE c",
    ] {
        let error = server.sql_error(&format!("USE d; SET lock_wait_timeout = 1; {statement}"));
        assert!(error.contains("1205"), "{statement}: {error}");
    }
    // An insert of a child reads its parent.
    a.ask("COMMIT");
    a.ask("BEGIN");
    a.ask("INSERT INTO c VALUES (1, 1, NULL)");
    let error = server.sql_error("USE d; SET lock_wait_timeout = 1; DROP TABLE p");
    assert!(error.contains("1205"), "{error}");
    a.ask("ROLLBACK");
    assert!(server.sql_error("DROP TABLE d.p").contains("3730"));
}

/// A child that follows its parent has its other parents looked for only if it moves among them: nobody waits for theirs.
#[test]
fn what_a_cascade_leaves_as_it_was_needs_no_parent() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; USE d;
         CREATE TABLE p (id INT PRIMARY KEY); INSERT INTO p VALUES (1);
         CREATE TABLE q (id INT PRIMARY KEY); INSERT INTO q VALUES (1), (2);
         CREATE TABLE c (id INT PRIMARY KEY, pid INT, qid INT,
             FOREIGN KEY (pid) REFERENCES p (id) ON UPDATE CASCADE,
             FOREIGN KEY (qid) REFERENCES q (id));
         INSERT INTO c VALUES (1, 1, 1)",
    );
    let mut reader = server.converse();
    reader.ask("BEGIN");
    reader.ask("SELECT * FROM d.q");
    let mut changer = server.converse();
    changer.ask("SET limpid_ddl_wait = queue");
    let ddl = "ALTER TABLE d.q COMMENT = 'waits'";
    changer.send(ddl);
    server.find_session(ddl);
    testkit::pause(100);
    server.sql("SET lock_wait_timeout = 1; UPDATE d.p SET id = 10 WHERE id = 1");
    let asked = server.sql_error("SET lock_wait_timeout = 1; UPDATE d.c SET qid = 2");
    assert!(asked.contains("1205"), "{asked}");
    reader.ask("COMMIT");
    changer.receive();
    assert_eq!(server.sql("SELECT pid, qid FROM d.c"), "10\t1");
}

#[test]
fn statements_prepared_before_know_what_ddl_did() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut a = server.converse();
    a.ask("USE d");
    a.ask("PREPARE drop_parent FROM 'DELETE FROM p WHERE id = ?'");
    a.ask(
        "PREPARE add_child FROM 'INSERT INTO late VALUES (?)'".replace("late", "c (id)").as_str(),
    );
    a.ask("SET @one = 1, @two = 2, @three = 3");
    a.ask("EXECUTE drop_parent USING @one");
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.p"), "2");
    server.sql(
        "USE d; CREATE TABLE late (pid INT, FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE);
         INSERT INTO late VALUES (2), (3); INSERT INTO c VALUES (7, 3, NULL)",
    );
    a.ask("EXECUTE drop_parent USING @two");
    assert_eq!(server.sql("SELECT pid FROM d.late"), "3");
    let mut b = server.converse();
    b.ask("USE d");
    // The same text, by the plan that sessions share.
    assert!(server.sql_error("USE d; DELETE FROM p WHERE id = 3").contains("1451"));
    server.sql("USE d; ALTER TABLE c DROP FOREIGN KEY f");
    server.sql("USE d; DELETE FROM p WHERE id = 3");
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.late"), "0");
    server.sql("USE d; INSERT INTO c (id, pid) VALUES (8, 99)");
    server.sql("USE d; SET foreign_key_checks = 0; ALTER TABLE c ADD CONSTRAINT h FOREIGN KEY (pid) REFERENCES p (id)");
    assert!(server.sql_error("USE d; INSERT INTO c (id, pid) VALUES (8, 99)").contains("1062"));
    assert!(server.sql_error("USE d; INSERT INTO c (id, pid) VALUES (9, 99)").contains("1452"));
}

#[test]
fn foreign_keys_outlive_the_server() {
    let folder = TempDir::new();
    let mut server = with_tables(&folder);
    server.sql("USE d; INSERT INTO c VALUES (1, 1, 10)");
    let before = server.sql("SHOW CREATE TABLE d.c");
    server.kill();
    let server = Server::start(folder.path());
    assert_eq!(server.sql("SHOW CREATE TABLE d.c"), before);
    assert!(server.sql_error("DELETE FROM d.p WHERE id = 1").contains("1451"));
    assert!(server.sql_error("INSERT INTO d.c VALUES (2, 9, NULL)").contains("1452"));
    assert!(server.sql_error("DROP TABLE d.p").contains("3730"));
    server.sql("DELETE FROM d.c; DELETE FROM d.p WHERE id = 1; DROP DATABASE d");
}

#[test]
fn under_lock_tables_relatives_need_no_lock_of_their_own() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    server.sql("USE d; LOCK TABLES c WRITE; INSERT INTO c VALUES (1, 1, NULL); UNLOCK TABLES");
    let error = server.sql_error("USE d; LOCK TABLES p WRITE; DELETE FROM p WHERE id = 1");
    assert!(error.contains("1451"), "{error}");
    let error = server.sql_error("USE d; LOCK TABLES c WRITE; SELECT * FROM p");
    assert!(error.contains("1100"), "{error}");
}
