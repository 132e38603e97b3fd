//! DDL that waits lets others pass: in slices behind idle transactions, and while it copies rows.

// Tests panic to fail, and wait for processes, which no event of ours announces; what stops their threads is no atomic of the server's.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "ddl/pile_up.rs"]
mod pile_up;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::{Server, TempDir};

/// A slice and what this machine adds while it runs other tests, too; the exact figure is tested on the virtual clock
/// (`sql/mdl/tests/slices.rs`). In MySQL's queue they would wait until the blocker ends.
const LONGEST: Duration = Duration::from_millis(900);
/// How long a blocker stays.
const BLOCKED: Duration = Duration::from_millis(2500);

fn with_tables(folder: &TempDir) -> Server {
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); INSERT INTO d.t VALUES (1, 1); \
         CREATE TABLE d.a (id INT PRIMARY KEY); INSERT INTO d.a VALUES (1); \
         CREATE TABLE d.w (id INT PRIMARY KEY AUTO_INCREMENT)",
    );
    server
}

/// Runs `statement` again and again until told; the longest time it took.
fn again_and_again(server: &Server, statement: &str, stop: &AtomicBool) -> Duration {
    let mut session = server.converse();
    let mut longest = Duration::ZERO;
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        session.ask(statement);
        longest = longest.max(begun.elapsed());
        testkit::pause(5);
    }
    longest
}

fn nothing_is_left(server: &Server) {
    let left = server.sql(
        "SELECT * FROM performance_schema.metadata_locks WHERE object_schema = 'd' \
         OR object_type IN ('GLOBAL', 'COMMIT', 'BACKUP LOCK')",
    );
    assert_eq!(left, "");
}

/// `blocker` runs in a session; `ddl` waits for it, and eight that run `others` go on. `end` lets the DDL go on, too.
fn others_pass(blocker: &str, ddl: &str, others: &str, end: Option<&str>) {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let (mut holder, mut changer) = (server.converse(), server.converse());
    match end {
        Some(_) => drop(holder.ask(blocker)),
        None => holder.send(blocker),
    }
    testkit::pause(100);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let passing: Vec<_> =
            (0..8).map(|_| scope.spawn(|| again_and_again(&server, others, &stop))).collect();
        let begun = Instant::now();
        changer.send(ddl);
        let id = server.find_session(ddl);
        let mut states = Vec::new();
        while begun.elapsed() < BLOCKED {
            let state = "SELECT state FROM information_schema.processlist WHERE id = ";
            states.push(server.sql(&format!("{state}{id}")));
            testkit::pause(50);
        }
        let waits = states.iter().filter(|s| s.starts_with("Waiting for ")).count();
        assert!(waits * 10 >= states.len() * 8, "{ddl}: {states:?}");
        let pending = server.sql(
            "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE lock_status = 'PENDING'",
        );
        assert!(pending.parse::<u64>().unwrap() >= 1, "{ddl}: shown as pending");
        let ended = Instant::now();
        match end {
            Some(end) => drop(holder.ask(end)),
            None => drop(holder.receive()),
        }
        changer.receive();
        assert!(ended.elapsed() < Duration::from_secs(3), "{ddl}: {:?} late", ended.elapsed());
        changer.ask("UNLOCK TABLES");
        stop.store(true, Ordering::Relaxed);
        for one in passing {
            let longest = one.join().unwrap();
            assert!(longest < LONGEST, "{others} beside {ddl} took {longest:?}");
        }
    });
    drop(holder);
    drop(changer);
    testkit::pause(100);
    nothing_is_left(&server);
}

const IDLE: &str = "BEGIN; SELECT c FROM d.t";

/// Readers of 200 ms and more that overlap without end: DDL in slices does not get through, and says who they are.
#[test]
fn ddl_among_long_readers_gives_up_and_names_them() {
    const READ: &str = "SELECT SLEEP(0.";
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let stop = AtomicBool::new(false);
    let mut changer = server.converse();
    std::thread::scope(|scope| {
        // A slice makes those who come in it begin together; so that they do not end together, each takes another time.
        for n in 0..16 {
            let (server, stop) = (&server, &stop);
            scope.spawn(move || {
                testkit::pause(13 * n);
                again_and_again(server, &format!("{READ}{}) FROM d.t", 200 + 13 * n), stop)
            });
        }
        testkit::pause(300);
        let begun = Instant::now();
        let alter = "SET limpid_ddl_lock_wait_timeout = 2; ALTER TABLE d.t ADD e INT";
        let said = changer.ask(&format!("{alter}; SHOW WARNINGS"));
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        stop.store(true, Ordering::Relaxed);
        let error = "Error\t1205\tLock wait timeout exceeded; try restarting transaction";
        assert!(said.first().is_some_and(|line| line == error), "{:?}: {said:?}", begun.elapsed());
        let held = "Note\t1205\tSHARED_READ lock of table `d`.`t`, granted: connection ";
        let named = said[1..].iter().filter(|line| line.starts_with(held) && line.contains(READ));
        assert!(named.count() > 1, "{said:#?}");
    });
    assert_eq!(server.sql("SHOW COLUMNS FROM d.t LIKE 'e'"), "");
    drop(changer);
}

#[test]
fn who_gives_up_is_told_who_idles_in_a_transaction() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut holder = server.converse();
    let id = holder.ask("SELECT CONNECTION_ID()").concat();
    holder.ask("BEGIN; SELECT c FROM d.t");
    let mut other = server.converse();
    for statement in [
        "DROP TABLE d.t NOWAIT",
        "DROP TABLE d.t WAIT 1",
        "SET limpid_ddl_wait = queue; ALTER TABLE d.t NOWAIT ADD x INT",
        "SET lock_wait_timeout = 1; DROP TABLE d.a, d.t",
    ] {
        let said = other.ask(&format!("{statement}; SHOW WARNINGS"));
        assert_eq!(said.len(), 2, "{statement}: {said:#?}");
        let held = format!(
            "Note\t1205\tSHARED_READ lock of table `d`.`t`, granted: connection {id} (root@"
        );
        let note = &said[1];
        let idle = note.contains(", in a transaction for ") && note.contains(" s, idle for ");
        assert!(note.starts_with(&held) && idle, "{statement}: {note}");
        assert!(note.ends_with(", last statement: SELECT 'answered 2'"), "{statement}: {note}");
    }
    // The next error of that kind, of a row, has nothing of it.
    holder.ask("COMMIT; BEGIN; UPDATE d.t SET c = 2");
    let said = other.ask("SET innodb_lock_wait_timeout = 1; UPDATE d.t SET c = 3; SHOW WARNINGS");
    assert_eq!(said, ["Error\t1205\tLock wait timeout exceeded; try restarting transaction"]);
}

#[test]
fn readers_pass_an_alter_behind_an_idle_transaction() {
    others_pass(IDLE, "ALTER TABLE d.t ADD e INT", "SELECT c FROM d.t", Some("COMMIT"));
}

#[test]
fn readers_pass_a_drop_of_two_tables() {
    others_pass(IDLE, "DROP TABLE d.a, d.t", "SELECT id FROM d.a", Some("COMMIT"));
}

#[test]
fn readers_pass_a_rename() {
    let ddl = "RENAME TABLE d.a TO d.a2, d.t TO d.t2";
    others_pass(IDLE, ddl, "SELECT id FROM d.a", Some("COMMIT"));
}

#[test]
fn readers_pass_a_lock_tables() {
    let ddl = "LOCK TABLES d.a WRITE, d.t WRITE";
    others_pass(IDLE, ddl, "SELECT id FROM d.a", Some("COMMIT"));
}

#[test]
fn writers_pass_a_flush_with_read_lock_behind_a_long_update() {
    let update = "UPDATE d.t SET c = c + SLEEP(4)";
    others_pass(update, "FLUSH TABLES WITH READ LOCK", "INSERT INTO d.w VALUES ()", None);
}

#[test]
fn how_long_ddl_waits() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut holder = server.converse();
    holder.ask(IDLE);
    let took = |sql: &str| {
        let begun = Instant::now();
        let error = server.sql_error(sql);
        assert!(error.contains("1205"), "{sql}: {error}");
        begun.elapsed()
    };
    let (second, three) = (Duration::from_secs(1), Duration::from_millis(3500));
    for sql in [
        "ALTER TABLE d.t NOWAIT ADD e INT",
        "CREATE INDEX i ON d.t (c) NOWAIT",
        "DROP TABLE d.t NOWAIT",
        "DROP TABLE IF EXISTS d.a, d.t WAIT 0 CASCADE",
        "RENAME TABLE d.t NOWAIT TO d.t2",
        "TRUNCATE d.t NOWAIT",
        "LOCK TABLES d.a READ, d.t WRITE NOWAIT",
        "SET SESSION limpid_ddl_wait = queue; TRUNCATE d.t NOWAIT",
    ] {
        assert!(took(sql) < second * 2, "{sql}");
    }
    for sql in [
        "ALTER TABLE d.t WAIT 1 ADD e INT",
        "SET lock_wait_timeout = 20; TRUNCATE TABLE d.t WAIT 1",
        "SET limpid_ddl_lock_wait_timeout = 1; DROP TABLE d.t",
        "SET limpid_ddl_lock_wait_timeout = 1, limpid_ddl_wait = queue; DROP TABLE d.t",
        "SET lock_wait_timeout = 1; DROP TABLE d.t",
    ] {
        let took = took(sql);
        assert!(took >= second && took < three, "{sql}: {took:?}");
    }
    // A table that is free is had at once, OPTIMIZE tells about its table, and what is no number is no syntax.
    server.sql("DROP INDEX `PRIMARY` ON d.a NOWAIT; OPTIMIZE TABLE d.a NOWAIT");
    assert!(server.sql("OPTIMIZE TABLE d.t NOWAIT").contains("Lock wait timeout exceeded"));
    server.sql("ALTER TABLE d.a WAIT 1000000000000 ADD e INT");
    for sql in ["TRUNCATE d.t WAIT -1", "TRUNCATE d.t WAIT 1e9", "TRUNCATE d.t WAIT"] {
        assert!(server.sql_error(sql).contains("1064"), "{sql}");
    }
    // In the queue, as in MySQL, others wait with it.
    let mut changer = server.converse();
    changer.ask("SET limpid_ddl_wait = queue");
    changer.send("TRUNCATE TABLE d.t");
    server.find_session("TRUNCATE TABLE d.t");
    testkit::pause(100);
    let error = server.sql_error("SET lock_wait_timeout = 1; SELECT c FROM d.t");
    assert!(error.contains("1205"), "{error}");
    holder.ask("COMMIT");
    changer.receive();
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t"), "0");
    nothing_is_left(&server);
}

#[test]
fn idle_blockers_end_when_they_are_told_to() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let (mut idle, mut busy) = (server.converse(), server.converse());
    idle.ask("BEGIN; INSERT INTO d.t VALUES (2, 2)");
    busy.ask("BEGIN; SELECT id FROM d.a");
    server.sql("SET GLOBAL limpid_ddl_kill_idle_blockers = 1");
    for how in ["slices", "queue"] {
        let begun = Instant::now();
        server.sql(&format!("SET limpid_ddl_wait = {how}; ALTER TABLE d.t ADD {how} INT"));
        assert!(begun.elapsed() < Duration::from_secs(20));
        if how == "slices" {
            assert_eq!(
                server.sql("SELECT id FROM d.t"),
                "1",
                "the idle transaction was rolled back"
            );
            idle = server.converse();
            idle.ask("BEGIN; SELECT id FROM d.t");
        }
    }
    assert_eq!(busy.ask("SELECT id FROM d.a"), ["1"], "who blocks nobody stays");
    // Who is not idle, stays, too.
    busy.send("SELECT SLEEP(4), id FROM d.a");
    server.find_session("SELECT SLEEP(4), id FROM d.a");
    let error = server.sql_error("ALTER TABLE d.a WAIT 2 ADD e INT");
    assert!(error.contains("1205"), "{error}");
    assert_eq!(busy.receive(), ["0\t1"]);
}

/// While rows are copied, or an index is built, readers read and writers wait.
#[test]
fn readers_read_while_rows_are_copied() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    server.sql(
        "SET cte_max_recursion_depth = 300000; \
         CREATE TABLE d.big (id INT PRIMARY KEY, k INT, s CHAR(60), KEY (k)); \
         INSERT INTO d.big WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 200000) \
         SELECT i, i % 1000, MD5(i) FROM n",
    );
    for (ddl, state) in [
        ("ALTER TABLE d.big MODIFY k BIGINT", "copy to tmp table"),
        ("CREATE INDEX s ON d.big (s, k)", "altering table"),
        ("OPTIMIZE TABLE d.big", "copy to tmp table"),
    ] {
        let mut changer = server.converse();
        let (reads, done) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            // By the primary key, and by an index.
            let readers: Vec<_> = ["id = 7", "k = 7 ORDER BY s LIMIT 1"]
                .map(|which| format!("SELECT COUNT(*) FROM d.big WHERE {which}"))
                .map(|sql| {
                    scope.spawn({
                        let reads = &reads;
                        let server = &server;
                        move || again_and_again(server, &sql, reads)
                    })
                })
                .into_iter()
                .collect();
            testkit::pause(200);
            changer.send(ddl);
            server.find_session(ddl);
            let writer = scope.spawn(|| {
                testkit::pause(100);
                let begun = Instant::now();
                server.sql("UPDATE d.big SET k = k WHERE id = 1");
                (begun.elapsed(), done.load(Ordering::Relaxed))
            });
            let mut states = Vec::new();
            let list =
                format!("SELECT state FROM information_schema.processlist WHERE info = '{ddl}'");
            loop {
                let state = server.sql(&list);
                if state.is_empty() {
                    break;
                }
                states.push(state);
                testkit::pause(20);
            }
            done.store(true, Ordering::Relaxed);
            changer.receive();
            reads.store(true, Ordering::Relaxed);
            assert!(states.iter().any(|s| s.contains(state)), "{ddl}: {states:?}");
            for reader in readers {
                let longest = reader.join().unwrap();
                assert!(longest < LONGEST, "a reader beside {ddl} took {longest:?}");
            }
            let (waited, _) = writer.join().unwrap();
            let worked = Duration::from_millis(20) * states.len() as u32;
            assert!(
                waited * 4 >= worked || worked < Duration::from_millis(600),
                "{ddl}: {waited:?} of {worked:?}"
            );
        });
    }
    assert_eq!(server.sql("SELECT COUNT(*), SUM(k) FROM d.big"), "200000\t99900000");
    assert!(server.sql("CHECK TABLE d.big").ends_with("OK"));
    nothing_is_left(&server);
}

/// The last wait of an ALTER: what it copied is gone when it gives up or is killed, and the table is as it was.
#[test]
fn an_alter_that_may_not_switch_leaves_what_was() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut idle = server.converse();
    idle.ask(IDLE);
    let before = server.sql("SHOW CREATE TABLE d.t");
    for ddl in [
        "ALTER TABLE d.t MODIFY c BIGINT",
        "ALTER TABLE d.t ADD INDEX i (c)",
        "ALTER TABLE d.t RENAME COLUMN c TO e",
    ] {
        assert!(server.sql_error(&format!("SET lock_wait_timeout = 1; {ddl}")).contains("1205"));
        assert_eq!(server.sql("SHOW CREATE TABLE d.t"), before, "{ddl}");
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| server.sql_error(ddl));
            let id = server.find_session(ddl);
            testkit::pause(300);
            // Nobody writes meanwhile, if rows come along; everybody reads.
            assert_eq!(server.sql("SELECT c FROM d.t"), "1");
            server.sql(&format!("KILL QUERY {id}"));
            assert!(waiter.join().unwrap().contains("1317"), "{ddl}");
        });
        assert_eq!(server.sql("SHOW CREATE TABLE d.t"), before, "{ddl}");
        server.sql("UPDATE d.t SET c = c + 1; UPDATE d.t SET c = c - 1");
    }
    assert_eq!(idle.ask("SELECT c FROM d.t"), ["1"]);
    idle.ask("COMMIT");
    server.sql("ALTER TABLE d.t MODIFY c BIGINT, ADD INDEX i (c)");
    assert!(server.sql("CHECK TABLE d.t").ends_with("OK"));
    nothing_is_left(&server);
}

/// A reader that wants to write what an ALTER copies is the deadlock's victim, as in MySQL.
#[test]
fn a_reader_that_comes_to_write_is_the_victim() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut reader = server.converse();
    reader.ask(IDLE);
    let ddl = "ALTER TABLE d.t MODIFY c BIGINT";
    std::thread::scope(|scope| {
        let changer = scope.spawn(|| server.sql(ddl));
        server.find_session(ddl);
        testkit::pause(200);
        let errors = reader.ask("UPDATE d.t SET c = 2; SHOW ERRORS");
        assert!(errors.iter().any(|e| e.contains("1213")), "{errors:?}");
        changer.join().unwrap();
    });
    assert_eq!(server.sql("SELECT c FROM d.t"), "1");
    nothing_is_left(&server);
}

/// LOCK and ALGORITHM that promise more than is done are refused; the others are obeyed.
#[test]
fn lock_and_algorithm_are_obeyed() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    for (ddl, what, other) in [
        ("ADD INDEX i (c), LOCK=NONE", "LOCK=NONE", "LOCK=SHARED"),
        ("ADD INDEX i (c), ALGORITHM=INPLACE, LOCK=NONE", "LOCK=NONE", "LOCK=SHARED"),
        ("ADD e INT AS (c) VIRTUAL, LOCK=NONE", "LOCK=NONE", "LOCK=SHARED"),
        ("ADD e INT AS (c), ALGORITHM=INSTANT", "ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"),
        ("FORCE, LOCK=NONE", "LOCK=NONE", "LOCK=SHARED"),
    ] {
        let error = server.sql_error(&format!("ALTER TABLE d.t {ddl}"));
        let text = format!("{what} is not supported for this operation. Try {other}.");
        assert!(error.contains("1845") && error.contains(&text), "{ddl}: {error}");
    }
    let error = server.sql_error("ALTER TABLE d.t MODIFY c BIGINT, LOCK=NONE");
    assert!(error.contains("1846"), "{error}");
    server.sql(
        "ALTER TABLE d.t RENAME COLUMN c TO f, ALGORITHM=INSTANT; ALTER TABLE d.t RENAME COLUMN f TO c, LOCK=NONE; \
         ALTER TABLE d.t ALTER c SET DEFAULT 5, ALGORITHM=INPLACE, LOCK=NONE",
    );
    // Behind an idle reader: SHARED has copied and waits, others reading; EXCLUSIVE has not begun.
    let mut idle = server.converse();
    idle.ask(IDLE);
    for (lock, copied) in [("SHARED", true), ("DEFAULT", true), ("EXCLUSIVE", false)] {
        let ddl = format!("ALTER TABLE d.t MODIFY c BIGINT, LOCK={lock}");
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| server.sql_error(&ddl));
            let id = server.find_session(&ddl);
            testkit::pause(400);
            let snw = server.sql(
                "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_name = 't' \
                 AND lock_type = 'SHARED_NO_WRITE' AND lock_status = 'GRANTED'",
            );
            assert_eq!(snw == "1", copied, "{ddl}: {snw}");
            server.sql(&format!("KILL QUERY {id}"));
            assert!(waiter.join().unwrap().contains("1317"), "{ddl}");
        });
    }
    idle.ask("COMMIT");
    nothing_is_left(&server);
}

/// 64 times as in MySQL 8.4 (9.7 has 255); then rows are copied, or 4092 if that is not wanted.
#[test]
fn columns_come_and_go_instantly_until_a_row_could_not_tell_its_layout() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let versions = || {
        server.sql(
            "SELECT total_row_versions FROM information_schema.innodb_tables WHERE name = 'd/t'",
        )
    };
    let rows = || server.sql("SELECT SUM(CRC32(CONCAT_WS(',', id, c))) FROM d.t");
    let before = rows();
    for n in 0..32 {
        server.sql(&format!(
            "ALTER TABLE d.t ADD v{n} VARCHAR(20) DEFAULT 'v{n}' FIRST, ALGORITHM=INSTANT; \
             INSERT INTO d.t (id, c) VALUES (1000000 + {n}, {n}); UPDATE d.t SET c = c + 1 WHERE id = 1000000 + {n}; \
             ALTER TABLE d.t DROP v{n}, ADD w{n} INT NOT NULL DEFAULT {n} AFTER id, ALGORITHM=INSTANT",
        ));
    }
    assert_eq!(versions(), "64");
    // Each of the rows that were there has every column's default, and so has one of each layout what came later.
    for n in 0..32 {
        let wrong = format!("SELECT COUNT(*) FROM d.t WHERE w{n} <> {n}");
        assert_eq!(server.sql(&wrong), "0", "w{n}");
    }
    let error = server.sql_error("ALTER TABLE d.t DROP w0, ALGORITHM=INSTANT");
    assert!(error.contains("4092") && error.contains("reached for table d/t."), "{error}");
    assert!(server.sql_error("ALTER TABLE d.t DROP w0, LOCK=NONE").contains("1845"));
    assert_eq!(server.sql("CHECK TABLE d.t").split('\t').next_back(), Some("OK"));
    server.sql("ALTER TABLE d.t DROP w0; DELETE FROM d.t WHERE id >= 1000000");
    assert_eq!((versions(), rows()), ("0".into(), before));
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t WHERE w31 <> 31"), "0");
}

/// A million rows stay as they are, also after the server was killed and had to recover.
#[test]
fn a_column_comes_to_a_million_rows_with_little_log() {
    let folder = TempDir::new();
    // Statistics gathered meanwhile are in the log, too.
    let quiet = Server::with().option("--innodb-stats-auto-recalc=OFF");
    let mut server = quiet.start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.m (id INT PRIMARY KEY, a INT); INSERT INTO d.m VALUES (1, 1)",
    );
    for n in 0..20 {
        server.sql(&format!("INSERT INTO d.m SELECT id + {}, a + 1 FROM d.m", 1 << n));
    }
    let written = |server: &Server| {
        // Bytes that are written depend on how many writes the blocks of the log meet in.
        let status = server.sql("SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_current_lsn'");
        status.split('\t').next_back().and_then(|n| n.parse::<u64>().ok()).expect("a number")
    };
    // The undo log of the last inserts is freed by purge, later, which logs 66 bytes for each of its pages.
    let mut before = written(&server);
    let mut still_since = Instant::now();
    while still_since.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(Duration::from_millis(20));
        let now = written(&server);
        if now != before {
            (before, still_since) = (now, Instant::now());
        }
    }
    server.sql("ALTER TABLE d.m ADD b VARCHAR(100) NOT NULL DEFAULT 'new' AFTER id, ADD c INT");
    let log = written(&server) - before;
    assert!(log <= 4 << 10, "{log} bytes of log");
    server.sql("UPDATE d.m SET c = 1 WHERE id % 100000 = 1; ALTER TABLE d.m DROP a");
    let sum = "SELECT COUNT(*), COUNT(c), SUM(b = 'new') FROM d.m";
    let expected = "1048576\t11\t1048576";
    assert_eq!(server.sql(sum), expected);
    server.kill();
    server = Server::start(folder.path());
    assert_eq!(server.sql(sum), expected);
    server.sql("UPDATE d.m SET b = 'old' WHERE id <= 3; DELETE FROM d.m WHERE id > 5");
    assert_eq!(server.sql("SELECT * FROM d.m WHERE id < 5 ORDER BY id DESC").lines().count(), 4);
    assert_eq!(server.sql("CHECK TABLE d.m").split('\t').next_back(), Some("OK"));
}
