//! LOCK TABLES, FLUSH TABLES WITH READ LOCK, LOCK INSTANCE and GET_LOCK between sessions.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use testkit::{Conversation, Server, TempDir};

fn with_tables(folder: &TempDir) -> Server {
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); \
         CREATE TABLE d.u (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1, 1); \
         CREATE VIEW d.v AS SELECT t.id, t.c FROM d.t",
    );
    server
}

/// The statement of another session waits, whatever long.
fn waits(server: &Server, statement: &str) {
    let error = server.sql_error(&format!("SET lock_wait_timeout = 1; {statement}"));
    assert!(error.contains("1205"), "{statement}: {error}");
}

/// The statement waits until `unlock` has been asked of the other session, and then goes on.
fn waits_for(server: &Server, statement: &str, holder: &mut Conversation, unlock: &str) {
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| server.try_sql(statement));
        server.find_session(statement);
        holder.ask(unlock);
        let answer = waiter.join().unwrap();
        assert!(answer.ok, "{statement}: {}", answer.err);
    });
}

#[test]
fn a_read_lock_lets_others_read_and_a_write_lock_nobody() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut a = server.converse();
    a.ask("LOCK TABLES d.t READ");
    assert_eq!(server.sql("SELECT c FROM d.t"), "1");
    waits(&server, "INSERT INTO d.t VALUES (2, 2)");
    waits(&server, "DROP TABLE d.t");
    waits(&server, "LOCK TABLES d.t WRITE");
    server.sql("LOCK TABLES d.t READ; UNLOCK TABLES; INSERT INTO d.u VALUES (1)");
    waits_for(&server, "INSERT INTO d.t VALUES (3, 3)", &mut a, "LOCK TABLES d.t WRITE");
    waits(&server, "SELECT c FROM d.t");
    waits(&server, "SELECT c FROM d.v");
    waits(&server, "LOCK TABLES d.t READ");
    server.sql("LOCK INSTANCE FOR BACKUP");
    waits(&server, "FLUSH TABLES WITH READ LOCK");
    waits_for(&server, "INSERT INTO d.t VALUES (4, 4)", &mut a, "START TRANSACTION");
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t"), "3");
}

#[test]
fn what_is_locked_follows_ddl() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut a = server.converse();
    a.ask("LOCK TABLES d.t WRITE, d.u WRITE");
    a.ask("ALTER TABLE d.t ADD e INT");
    waits(&server, "SELECT id FROM d.t");
    a.ask("RENAME TABLE d.t TO d.t2");
    waits(&server, "SELECT id FROM d.t2");
    server.sql("CREATE TABLE d.t (id INT)");
    a.ask("DROP TABLE d.u");
    assert!(server.sql_error("SELECT * FROM d.u").contains("1146"));
    waits(&server, "SELECT id FROM d.t2");
    a.ask("DROP TABLE d.t2");
    // With the last table LOCK TABLES ended: others can be read again.
    assert_eq!(a.ask("SELECT COUNT(*) FROM d.t"), ["0"]);
}

#[test]
fn a_view_is_locked_with_what_lies_below_it() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut a = server.converse();
    a.ask("LOCK TABLES d.v READ");
    assert_eq!(a.ask("SELECT c FROM d.v"), ["1"]);
    waits(&server, "UPDATE d.t SET c = 5");
    waits(&server, "DROP VIEW d.v");
    drop(a);
    server.sql("UPDATE d.t SET c = 6");
    assert_eq!(server.sql("SELECT c FROM d.v"), "6");
}

#[test]
fn flush_tables_with_read_lock_stops_writes_commits_and_ddl() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let (mut a, mut b) = (server.converse(), server.converse());
    // An open transaction does not keep it away; its commit waits.
    b.ask("BEGIN");
    b.ask("UPDATE d.t SET c = 2");
    a.ask("FLUSH TABLES WITH READ LOCK");
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t"), "1");
    waits(&server, "INSERT INTO d.u VALUES (1)");
    waits(&server, "CREATE TABLE d.w (a INT)");
    waits(&server, "CREATE DATABASE e");
    waits(&server, "LOCK TABLES d.u WRITE");
    waits(&server, "ALTER USER root@localhost IDENTIFIED BY ''");
    waits(&server, "BEGIN; SELECT * FROM d.u FOR UPDATE");
    server.sql(
        "FLUSH TABLES WITH READ LOCK; UNLOCK TABLES; LOCK TABLES d.u READ; UNLOCK TABLES; \
         CREATE TEMPORARY TABLE d.own (a INT); INSERT INTO d.own VALUES (1)",
    );
    b.send("COMMIT");
    server.find_session("COMMIT");
    assert_eq!(server.sql("SELECT c FROM d.t"), "1");
    a.ask("UNLOCK TABLES");
    b.receive();
    assert_eq!(server.sql("SELECT c FROM d.t"), "2");
    // It ends with its session; so do the statements that waited.
    a.ask("FLUSH TABLES WITH READ LOCK");
    drop(a);
    server.sql("INSERT INTO d.u VALUES (7)");
}

#[test]
fn a_commit_that_may_not_wait_any_longer_rolls_back() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut a = server.converse();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let error = server.sql_error(
                "SET lock_wait_timeout = 1; BEGIN; UPDATE d.t SET c = 9; DO SLEEP(1); COMMIT",
            );
            assert!(error.contains("1205"), "{error}");
        });
        server.find_session("DO SLEEP(1)");
        a.ask("FLUSH TABLES WITH READ LOCK");
        writer.join().unwrap();
    });
    a.ask("UNLOCK TABLES");
    server.sql("UPDATE d.t SET c = c + 1");
    assert_eq!(server.sql("SELECT c FROM d.t"), "2");
}

#[test]
fn flushed_tables_wait_for_their_readers_and_a_backup_for_ddl_only() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let (mut a, mut b) = (server.converse(), server.converse());
    b.ask("BEGIN; UPDATE d.t SET c = 1");
    waits(&server, "FLUSH TABLES d.t WITH READ LOCK");
    b.ask("COMMIT");
    b.send("SELECT SLEEP(2) FROM d.t");
    server.find_session("SELECT SLEEP(2) FROM d.t");
    waits(&server, "FLUSH TABLES d.t WITH READ LOCK");
    server.sql("UPDATE d.t SET c = 1");
    b.receive();
    // Who has read it, and is between two statements, is not waited for.
    b.ask("BEGIN; SELECT * FROM d.t");
    a.ask("FLUSH TABLES d.t WITH READ LOCK");
    assert_eq!(server.sql("SELECT c FROM d.t"), "1");
    waits(&server, "UPDATE d.t SET c = 3");
    server.sql("INSERT INTO d.u VALUES (1)");
    a.ask("UNLOCK TABLES");
    a.ask("LOCK INSTANCE FOR BACKUP");
    server.sql("UPDATE d.t SET c = 4; LOCK INSTANCE FOR BACKUP");
    waits(&server, "DROP TABLE d.u");
    server.sql("LOCK TABLES d.u WRITE; INSERT INTO d.u VALUES (7)");
    waits(&server, "ANALYZE TABLE d.u");
    waits_for(&server, "DROP TABLE d.u", &mut a, "UNLOCK INSTANCE");
    b.ask("COMMIT");
}

#[test]
fn a_plan_kept_from_before_obeys_the_locks() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let error = server.sql_error(
        "SELECT c FROM d.t WHERE id = 1; SELECT * FROM d.u WHERE id = 1; LOCK TABLES d.t READ; \
         SELECT c FROM d.t WHERE id = 1; SELECT * FROM d.u WHERE id = 1",
    );
    assert!(error.contains("1100") && error.contains("'u'"), "{error}");
    let error = server.sql_error(
        "PREPARE p FROM 'DELETE FROM d.t WHERE id = 5'; EXECUTE p; LOCK TABLES d.t READ; EXECUTE p",
    );
    assert!(error.contains("1099"), "{error}");
    let text = "SELECT c FROM d.t WHERE id = 1; LOCK TABLES d.u READ; UNLOCK TABLES; \
                SELECT c FROM d.t WHERE id = 1";
    assert_eq!(server.sql(text), "1\n1");
}

/// Statements one after the other, and the error that each ends in (0: none), as with MySQL 9.7.
const ALIASES: &[(&str, u32)] = &[
    ("PREPARE p FROM 'SELECT c FROM t AS x'; PREPARE q FROM 'SELECT c FROM t'", 0),
    ("PREPARE r FROM 'SELECT a.c FROM t a, t b'; PREPARE w FROM 'UPDATE t SET c = c + 1'", 0),
    ("LOCK TABLES t READ", 0),
    ("EXECUTE p", 1100),
    ("EXECUTE q", 0),
    ("EXECUTE w", 1099),
    ("SELECT c FROM t x WHERE id = 1", 1100),
    ("LOCK TABLES t AS x READ", 0),
    ("EXECUTE p", 0),
    ("EXECUTE q", 1100),
    ("SELECT c FROM t x WHERE id = 1", 0),
    ("SELECT c FROM t WHERE id = 1", 1100),
    ("LOCK TABLES t a READ", 0),
    ("EXECUTE r", 1100),
    ("LOCK TABLES t a READ, t b READ", 0),
    ("EXECUTE r", 0),
    ("EXECUTE r", 0),
    ("LOCK TABLES t x WRITE", 0),
    ("EXECUTE w", 1100),
    ("LOCK TABLES v READ", 0),
    ("SELECT c FROM v", 0),
    ("SELECT c FROM v", 0),
    ("SELECT c FROM t", 0),
    ("UNLOCK TABLES; EXECUTE p; EXECUTE q; EXECUTE r; EXECUTE w", 0),
];

#[test]
fn what_was_planned_before_uses_locked_tables_by_their_aliases() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut a = server.converse();
    // Texts that are known, to this session and by others.
    let texts =
        "USE d; SELECT c FROM t x WHERE id = 1; SELECT c FROM t WHERE id = 1; SELECT c FROM v";
    server.sql(texts);
    for known in [false, true] {
        if known {
            a.ask(texts);
        }
        a.ask("USE d");
        for (statement, number) in ALIASES {
            let said = a.ask(&format!("{statement}; SHOW ERRORS"));
            let errors = said.iter().filter(|l| l.starts_with("Error\t")).count();
            let right = match number {
                0 => errors == 0,
                _ => errors == 1 && said.iter().any(|l| l.starts_with(&format!("Error\t{number}"))),
            };
            assert!(right, "{statement}, known {known}: {said:?}");
        }
    }
}

#[test]
fn user_locks_end_with_their_session_and_kill_ends_a_wait() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut a = server.converse();
    assert_eq!(a.ask("SELECT GET_LOCK('l', 0)"), ["1"]);
    assert_eq!(server.sql("SELECT GET_LOCK('l', 0)"), "0");
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| server.sql_error("SELECT GET_LOCK('l', 60)"));
        let id = server.find_session("SELECT GET_LOCK('l', 60)");
        server.sql(&format!("KILL QUERY {id}"));
        assert!(waiter.join().unwrap().contains("1317"));
        let waiter = scope.spawn(|| server.sql("SELECT GET_LOCK('l', 61)"));
        server.find_session("SELECT GET_LOCK('l', 61)");
        drop(a);
        assert_eq!(waiter.join().unwrap(), "1");
    });
    assert_eq!(server.sql("SELECT IS_FREE_LOCK('l')"), "1");
}

/// Waits until a session waits for a user-level lock of this name; true.
fn pends(server: &Server, name: &str) -> bool {
    let count = format!(
        "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_type = 'USER LEVEL LOCK' \
         AND object_name = '{name}' AND lock_type = 'EXCLUSIVE' AND lock_duration = 'EXPLICIT' \
         AND lock_status = 'PENDING'"
    );
    (0..400).any(|_| {
        testkit::pause(10);
        server.sql(&count) == "1"
    })
}

#[test]
fn user_locks_are_counted_by_name_without_case() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut a = server.converse();
    let own = a.ask("SELECT CONNECTION_ID()").concat();
    let taken =
        "SELECT GET_LOCK('One', 0), GET_LOCK('ONE', 0), GET_LOCK('two', -1), GET_LOCK('n', NULL)";
    assert_eq!(a.ask(taken), ["1\t1\t1\t1"]);
    let used = server.sql("SELECT IS_USED_LOCK('one'), IS_FREE_LOCK('One'), IS_FREE_LOCK('three')");
    assert_eq!(used, format!("{own}\t0\t1"));
    let of_others = "SELECT RELEASE_LOCK('one'), RELEASE_LOCK('three'), RELEASE_ALL_LOCKS()";
    assert_eq!(server.sql(of_others), "0\tNULL\t0");
    // A transaction's end gives none back; each was taken so often.
    a.ask("BEGIN; COMMIT");
    assert_eq!(a.ask("SELECT RELEASE_LOCK('one'), IS_USED_LOCK('one')"), [format!("1\t{own}")]);
    assert_eq!(a.ask("SELECT GET_LOCK('one', 0), RELEASE_ALL_LOCKS()"), ["1\t4"]);
    assert_eq!(server.sql("SELECT IS_FREE_LOCK('one'), IS_USED_LOCK('two')"), "1\tNULL");
    for (bad, number, said) in [
        ("''", 3057, "Incorrect user-level lock name ''"),
        ("NULL", 3057, "Incorrect user-level lock name 'NULL'"),
        (&format!("'{}'", "n".repeat(65)), 4163, "should not exceed 64 characters"),
    ] {
        for call in ["GET_LOCK({}, 0)", "RELEASE_LOCK({})", "IS_FREE_LOCK({})", "IS_USED_LOCK({})"]
        {
            let error = server.sql_error(&format!("SELECT {}", call.replace("{}", bad)));
            assert!(error.contains(&number.to_string()) && error.contains(said), "{call}: {error}");
        }
    }
    // Whole seconds, rounded; a text's digits alone.
    a.ask("SELECT GET_LOCK('f', 0)");
    let timed = |seconds: &str| {
        let begun = std::time::Instant::now();
        assert_eq!(server.sql(&format!("SELECT GET_LOCK('f', {seconds})")), "0", "{seconds}");
        begun.elapsed().as_secs_f64()
    };
    assert!(timed("0.4") < 0.7 && timed("'0.9'") < 0.7 && timed("0.6") > 0.9);
    let longest = format!("'{}'", "\u{e4}".repeat(64));
    let both = format!("SELECT GET_LOCK({longest}, 0), RELEASE_ALL_LOCKS()");
    assert_eq!(server.sql(&both), "1\t1");
    a.ask("DO RELEASE_ALL_LOCKS()");
    let left =
        "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_type LIKE 'USER%'";
    assert_eq!(server.sql(left), "0");
}

#[test]
fn user_locks_that_wait_for_each_other_are_a_deadlock() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let (mut a, mut b) = (server.converse(), server.converse());
    a.ask("BEGIN; UPDATE d.t SET c = 7 WHERE id = 1");
    assert_eq!(a.ask("SELECT GET_LOCK('a', 0)"), ["1"]);
    assert_eq!(b.ask("SELECT GET_LOCK('b', 0)"), ["1"]);
    b.send("SELECT GET_LOCK('a', 60)");
    assert!(pends(&server, "a"));
    a.ask("SELECT GET_LOCK('b', 60)");
    let errors = "SELECT SUM(SUM_ERROR_RAISED) FROM performance_schema.events_errors_summary_global_by_error \
                  WHERE ERROR_NUMBER = 3058";
    assert_eq!(server.sql(errors), "1");
    // No transaction ends by that, and every lock is still where it was.
    assert_eq!(a.ask("SELECT c FROM d.t"), ["7"]);
    assert_eq!(a.ask("SELECT RELEASE_LOCK('a')"), ["1"]);
    assert_eq!(b.receive(), ["1"]);
    // A wait for a table is in the same graph.
    b.ask("LOCK TABLES d.u WRITE");
    a.ask("COMMIT");
    assert_eq!(a.ask("SELECT GET_LOCK('c', 0)"), ["1"]);
    a.send("SELECT COUNT(*) FROM d.u");
    server.find_session("SELECT COUNT(*) FROM d.u");
    testkit::pause(200);
    let mut begun = std::time::Instant::now();
    b.send("SELECT GET_LOCK('c', 60)");
    a.receive();
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    // The reader is the lighter of the two: 1213. It keeps its user-level lock.
    let errors = errors.replace("3058", "1213");
    assert_eq!(server.sql(&errors), "1");
    assert_eq!(a.ask("SELECT RELEASE_LOCK('c')"), ["1"]);
    assert_eq!(b.receive(), ["1"]);
    // Woken at once, not by looking now and then.
    b.ask("UNLOCK TABLES");
    assert_eq!(b.ask("SELECT GET_LOCK('d', 0)"), ["1"]);
    a.send("SELECT GET_LOCK('d', 60)");
    assert!(pends(&server, "d"));
    begun = std::time::Instant::now();
    b.ask("DO RELEASE_LOCK('d')");
    assert_eq!(a.receive(), ["1"]);
    assert!(begun.elapsed().as_millis() < 1000, "{:?}", begun.elapsed());
}

#[test]
fn whose_client_has_gone_waits_for_no_user_lock() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let (mut a, mut b) = (server.converse(), server.converse());
    assert_eq!(a.ask("SELECT GET_LOCK('l', 0)"), ["1"]);
    assert_eq!(b.ask("SELECT GET_LOCK('k', 0)"), ["1"]);
    b.send("SELECT GET_LOCK('l', -1)");
    assert!(pends(&server, "l"));
    drop(b);
    let gone = (0..100).any(|_| {
        testkit::pause(50);
        server.sql("SELECT IS_FREE_LOCK('k')") == "1"
    });
    assert!(gone, "{}", server.sql("SHOW PROCESSLIST"));
    let left =
        "SELECT object_name FROM performance_schema.metadata_locks WHERE object_type LIKE 'USER%'";
    assert_eq!(server.sql(left), "l");
}

/// Statements of one session, and the locks of tables that it has afterwards, as with MySQL 9.7 (no binary log).
const SAVEPOINTS: &[(&str, &str)] = &[
    ("BEGIN; SELECT * FROM t; SAVEPOINT s; SELECT * FROM u; ROLLBACK TO s", "t SHARED_READ"),
    ("BEGIN; SAVEPOINT s; SELECT * FROM u; ROLLBACK TO s", ""),
    (
        "BEGIN; SELECT * FROM t; SAVEPOINT s; INSERT INTO u VALUES (5); ROLLBACK TO s",
        "t SHARED_READ, u SHARED_WRITE",
    ),
    (
        "BEGIN; UPDATE t SET c = c + 1; SAVEPOINT s; SELECT * FROM u; ROLLBACK TO s",
        "t SHARED_WRITE, u SHARED_READ",
    ),
    (
        "BEGIN; SELECT * FROM t FOR UPDATE; SAVEPOINT s; SELECT * FROM u; ROLLBACK TO s",
        "t SHARED_WRITE, u SHARED_READ",
    ),
    (
        "BEGIN; SELECT * FROM t; SAVEPOINT s; UPDATE t SET c = 5; ROLLBACK TO s",
        "t SHARED_READ, t SHARED_WRITE",
    ),
    ("BEGIN; SAVEPOINT s; INSERT INTO u VALUES (6); ROLLBACK TO s", ""),
    ("BEGIN; SAVEPOINT s; SELECT * FROM t; INSERT INTO u VALUES (6); ROLLBACK TO s", ""),
    ("BEGIN; SAVEPOINT s; SELECT * FROM t FOR UPDATE; ROLLBACK TO s", ""),
    (
        "BEGIN; SELECT * FROM t; SAVEPOINT s; SELECT * FROM u; SAVEPOINT s2; SELECT * FROM t; ROLLBACK TO s",
        "t SHARED_READ",
    ),
    (
        "BEGIN; SELECT * FROM t; SAVEPOINT s; SELECT * FROM u; RELEASE SAVEPOINT s; SAVEPOINT s; ROLLBACK TO s",
        "t SHARED_READ, u SHARED_READ",
    ),
    (
        "BEGIN; SELECT * FROM t; SAVEPOINT s; UPDATE u SET id = 3 WHERE id = 77; ROLLBACK TO s",
        "t SHARED_READ, u SHARED_WRITE",
    ),
    (
        "BEGIN; SAVEPOINT a; SELECT * FROM t; SAVEPOINT s; SELECT * FROM u; ROLLBACK TO s",
        "t SHARED_READ",
    ),
    ("BEGIN; SAVEPOINT a; SELECT * FROM t; SAVEPOINT s; SELECT * FROM u; ROLLBACK TO a", ""),
    (
        "BEGIN; SAVEPOINT a; INSERT INTO u VALUES (6); SAVEPOINT s; SELECT * FROM t; ROLLBACK TO a",
        "",
    ),
    (
        "BEGIN; SAVEPOINT a; INSERT INTO u VALUES (6); SAVEPOINT s; SELECT * FROM t; ROLLBACK TO s",
        "t SHARED_READ, u SHARED_WRITE",
    ),
];

#[test]
fn a_rollback_to_a_savepoint_gives_back_the_locks_that_mysql_gives_back() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut a = server.converse();
    a.ask("USE d");
    let mut wrong = Vec::new();
    for (statements, expected) in SAVEPOINTS {
        a.ask(statements);
        let locks = server.sql(
            "SELECT object_name, lock_type FROM performance_schema.metadata_locks \
             WHERE object_type = 'TABLE' AND object_schema = 'd' ORDER BY 1, 2",
        );
        let locks = locks.replace('\t', " ").replace('\n', ", ");
        if locks != *expected {
            wrong.push(format!("{statements}: {locks}, not {expected}"));
        }
        a.ask("ROLLBACK");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The others find free what was given back, and what the transaction has yet is still locked.
    a.ask("BEGIN; SELECT * FROM t; SAVEPOINT s; SELECT * FROM u; ROLLBACK TO s");
    server.sql("ALTER TABLE d.u ADD x INT");
    waits(&server, "ALTER TABLE d.t ADD x INT");
    assert_eq!(a.ask("SELECT COUNT(*) FROM t; COMMIT; SELECT COUNT(*) FROM u"), ["1", "0"]);
}

#[test]
fn flush_tables_waits_for_who_uses_them_and_keeps_nobody_away() {
    const STATE: &str = "Waiting for table flush";
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let (mut a, mut b, mut c) = (server.converse(), server.converse(), server.converse());
    // Between two statements of a transaction nobody uses its tables.
    a.ask("BEGIN; SELECT * FROM d.t; UPDATE d.t SET c = 1");
    server.sql("FLUSH TABLES; FLUSH TABLES d.t; FLUSH TABLES d.missing, no_such.table");
    a.ask("COMMIT");
    a.send("SELECT SLEEP(2.5) FROM d.t");
    server.find_state("SELECT SLEEP(2.5) FROM d.t", "User sleep");
    server.sql("FLUSH TABLES d.u, d.missing");
    let begun = std::time::Instant::now();
    b.send("FLUSH TABLES d.t");
    c.send("FLUSH TABLES");
    server.find_state("FLUSH TABLES d.t", STATE);
    let id = server.find_state("FLUSH TABLES", STATE);
    assert_eq!(server.sql("SELECT c FROM d.t; UPDATE d.t SET c = 2; SELECT c FROM d.t"), "1\n2");
    server.sql(&format!("KILL QUERY {id}"));
    c.receive();
    assert!(begun.elapsed().as_millis() < 2000, "{:?}", begun.elapsed());
    let said = c.ask("SET lock_wait_timeout = 1; FLUSH TABLES d.t; SHOW WARNINGS");
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[0], "Error\t1205\tLock wait timeout exceeded; try restarting transaction");
    assert!(
        said[1].contains("SHARED_READ lock of table `d`.`t`") && said[1].contains("SLEEP(2.5)"),
        "{said:?}"
    );
    b.receive();
    assert!(begun.elapsed().as_millis() > 1500, "{:?}", begun.elapsed());
    a.receive();
    // What LOCK TABLES locked is used until it is given back.
    a.ask("LOCK TABLES d.t READ");
    waits(&server, "FLUSH TABLES d.t");
    waits_for(&server, "FLUSH TABLES d.u, d.t", &mut a, "UNLOCK TABLES");
    // Its wait is in the graph of waits.
    a.ask("LOCK TABLES d.t READ");
    assert_eq!(b.ask("SELECT GET_LOCK('f', 0)"), ["1"]);
    a.send("SELECT GET_LOCK('f', 60)");
    assert!(pends(&server, "f"));
    let begun = std::time::Instant::now();
    let said = b.ask("FLUSH TABLES d.t; SHOW WARNINGS");
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    assert!(said[0].starts_with("Error\t1213"), "{said:?}");
    b.ask("DO RELEASE_LOCK('f')");
    assert_eq!(a.receive(), ["1"]);
}

/// How often the mutex of each shard was taken while each of eight tables was read 200 times.
fn shards(server: &Server) -> Vec<u64> {
    server.sql("TRUNCATE performance_schema.events_waits_summary_by_instance");
    let reads: String = (0..8).map(|n| format!("SELECT id FROM s.t{n};")).collect();
    server.sql(&reads.repeat(200));
    let counts = server.sql(
        "SELECT count_star FROM performance_schema.events_waits_summary_by_instance \
         WHERE event_name LIKE '%mutex%MDL%map%' ORDER BY count_star",
    );
    counts.lines().map(|n| n.parse().unwrap()).collect()
}

#[test]
fn without_the_fast_path_locks_go_through_the_mutexes_of_shards() {
    let folder = TempDir::new();
    let options = Server::with()
        .option("--metadata-locks-hash-instances=8")
        .option("--limpid-mdl-fast-path=OFF")
        .option("--limpid-instrument-level=synch");
    let server = options.start(folder.path());
    let tables: String = (0..8).map(|n| format!("CREATE TABLE s.t{n} (id INT);")).collect();
    server.sql(&format!("CREATE DATABASE s; {tables}"));
    server.sql("SELECT 1");
    let by_id = shards(&server);
    let (least, most) = (by_id[0], by_id[by_id.len() - 1]);
    assert!(by_id.len() == 8 && least >= 200 && most * 10 <= least * 11, "{by_id:?}");
    // They differ in digits only.
    server.sql("SET GLOBAL limpid_mdl_hash = bad");
    let bad = shards(&server);
    let most = bad[bad.len() - 1];
    assert!(most >= 1600 && bad.iter().sum::<u64>() < most + most / 4, "{bad:?}");
    server.sql("SET GLOBAL limpid_mdl_hash = name");
    let by_name = shards(&server);
    assert!(by_name[by_name.len() - 1] < most, "{by_name:?}");
    let rwlocks = "SELECT COUNT(*) >= 8, SUM(count_star) > 1600 FROM performance_schema.events_waits_summary_by_instance \
                   WHERE event_name = 'wait/synch/rwlock/sql/MDL_lock::rwlock' AND count_star > 0";
    assert_eq!(server.sql(rwlocks), "1\t1");
    // All the while they lock: DDL waits, and nothing is left.
    let mut a = server.converse();
    a.ask("BEGIN; SELECT * FROM s.t1");
    waits(&server, "DROP TABLE s.t1");
    server.sql("SET GLOBAL limpid_mdl_fast_path = ON");
    waits(&server, "DROP TABLE s.t1");
    a.ask("COMMIT");
    let none = shards(&server);
    assert!(none.iter().sum::<u64>() < 100, "{none:?}");
    server.sql("DROP TABLE s.t1");
    assert_eq!(
        server.sql(
            "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_schema = 's'"
        ),
        "0"
    );
    let more = server.sql_error("SET GLOBAL metadata_locks_hash_instances = 2");
    assert!(more.contains("1238"), "{more}");
}

/// The query of those who measured one mutex, then eight, then as many as there may be.
#[test]
fn each_shard_is_listed_by_the_query_of_old() {
    const QUERY: &str = "select event_name, count_star \
        from performance_schema.events_waits_summary_by_instance where event_name like '%mdl%mutex%'";
    let folder = TempDir::new();
    for (n, used) in [(1, 1..=1), (8, 2..=8), (1024, 8..=8)] {
        let options = Server::with()
            .option(format!("--metadata-locks-hash-instances={n}"))
            .option("--limpid-mdl-fast-path=OFF")
            .option("--limpid-instrument-level=synch");
        let server = options.start(folder.path());
        if n == 1 {
            let tables: String = (0..8).map(|t| format!("CREATE TABLE s.t{t} (id INT);")).collect();
            server.sql(&format!("CREATE DATABASE s; {tables}"));
        }
        let listed = server.sql(QUERY);
        let name = "wait/synch/mutex/sql/MDL_map::mutex\t";
        assert!(listed.lines().all(|line| line.starts_with(name)), "{listed}");
        assert_eq!(listed.lines().count(), n);
        let counts = shards(&server);
        let busy = counts.iter().filter(|count| **count >= 200).count();
        assert!(counts.len() == n && used.contains(&busy), "{counts:?}");
    }
}

/// DDL one after the other behind a reader: with `max_write_lock_count = 1` he gets his turn after the first.
#[test]
fn max_write_lock_count_lets_readers_pass_ddl_that_queues() {
    for (limit, ddl_before) in [("1", "1"), ("10", "3"), ("DEFAULT", "3")] {
        let folder = TempDir::new();
        let server = with_tables(&folder);
        server.sql(&format!(
            "SET GLOBAL max_write_lock_count = {limit}; SET GLOBAL limpid_ddl_wait = queue"
        ));
        let (mut holder, mut reader) = (server.converse(), server.converse());
        holder.ask("LOCK TABLES d.t WRITE");
        reader.send("SELECT COUNT(*) - 1 FROM d.t");
        let pending = |n: u32| {
            let count = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE lock_status = 'PENDING'";
            let found = (0..400).any(|_| {
                testkit::pause(10);
                server.sql(count) == n.to_string()
            });
            assert!(found, "{n} wait: {}", server.sql("SHOW PROCESSLIST"));
        };
        pending(1);
        let mut ddl: Vec<_> = (0..3).map(|_| server.converse()).collect();
        for (n, one) in (0..).zip(&mut ddl) {
            one.send(&format!(
                "LOCK TABLES d.t WRITE; INSERT INTO d.t VALUES (1{n}, 1); UNLOCK TABLES"
            ));
            pending(n + 2);
        }
        holder.ask("UNLOCK TABLES");
        ddl.iter_mut().for_each(|one| drop(one.receive()));
        assert_eq!(reader.receive(), [ddl_before], "{limit}");
    }
}

/// Statements of a session without autocommit, and whether another one waits for the table afterwards, as with MySQL 9.7.
const WITHOUT_AUTOCOMMIT: [(&str, bool); 16] = [
    ("CREATE TABLE r2 (id INT)", false),
    ("ALTER TABLE r ADD y INT", false),
    ("CREATE INDEX k2 ON r (k)", false),
    ("DROP INDEX k2 ON r", false),
    ("TRUNCATE r", false),
    ("CREATE VIEW w AS SELECT * FROM r", false),
    ("CREATE TABLE like_r LIKE r", false),
    ("CREATE TABLE of_r SELECT * FROM r", false),
    ("CREATE TABLE IF NOT EXISTS r (id INT)", false),
    ("RENAME TABLE r TO s, s TO r", false),
    ("ANALYZE TABLE r", false),
    ("SHOW CREATE TABLE r", false),
    ("SELECT * FROM r", true),
    ("EXPLAIN SELECT * FROM r", true),
    ("CHECKSUM TABLE r", true),
    ("INSERT INTO r (k) VALUES (1)", true),
];

#[test]
fn definitions_that_change_without_autocommit_are_free_at_once() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.r (id INT AUTO_INCREMENT PRIMARY KEY, k INT)");
    let mut one = server.converse();
    one.ask("USE d");
    let other = |sql: &str| server.try_sql(&format!("SET lock_wait_timeout = 1; USE d; {sql}")).err;
    for (statement, waits) in WITHOUT_AUTOCOMMIT {
        one.ask("SET autocommit = 0");
        one.ask(statement);
        let said = other("ALTER TABLE r COMMENT = 'looked at'");
        assert_eq!(said.contains("ERROR 1205"), waits, "{statement}: {said}");
        one.ask("ROLLBACK");
        one.ask("SET autocommit = 1");
    }
    // A child's table finds its parent free, too.
    one.ask("SET autocommit = 0");
    one.ask("CREATE TABLE parent (id INT PRIMARY KEY)");
    assert_eq!(other("CREATE TABLE child (id INT, FOREIGN KEY (id) REFERENCES parent (id))"), "");
}
