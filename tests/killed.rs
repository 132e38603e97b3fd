//! No statement outlives KILL QUERY or the end of the server, whatever it is busy with, and no wait outlives its client.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::HashSet;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use testkit::raw::RawClient;
use testkit::text::{Failure, Rows};
use testkit::{Server, TempDir, TextClient};

/// A statement may take so long to end once it was told to.
const SECONDS: Duration = Duration::from_secs(8);

/// Statements that take minutes at least, each busy with something else.
const LONG: [&str; 10] = [
    "SELECT BENCHMARK(1000000000000, 1)",
    "SELECT BENCHMARK(1000000000000, MD5(RAND()))",
    "DO SLEEP(1000)",
    "SET cte_max_recursion_depth = 4000000000; \
     WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n",
    "SELECT COUNT(*) FROM d.t a, d.t b, d.t c, d.t e, d.t f WHERE a.s REGEXP '(a|aa)+$' OR b.s REGEXP '(x+x+)+y'",
    "SELECT a.s FROM d.t a, d.t b, d.t c, d.t e ORDER BY RAND(), a.s LIMIT 1000000",
    "SELECT COUNT(DISTINCT a.i, b.i, c.i, e.i) FROM d.t a, d.t b, d.t c, d.t e",
    "SELECT COUNT(*) FROM (SELECT a.i x, b.i y, c.i z, e.i u FROM d.t a, d.t b, d.t c, d.t e \
     GROUP BY 1, 2, 3, 4 ORDER BY 4, 3, 2, 1 LIMIT 1000000000) q",
    "SELECT REGEXP_SUBSTR(REPEAT('ab', 8000000), 'b', 1, 100000000) FROM d.t",
    "SELECT REGEXP_REPLACE(REPEAT('ab', 8000000), 'a', s) FROM d.t",
];

fn prepared(folder: &TempDir) -> Server {
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (i INT PRIMARY KEY, s TEXT); SET cte_max_recursion_depth = 2000; \
         INSERT INTO d.t WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
         SELECT i, CONCAT(REPEAT('a', 200), i) FROM n",
    );
    server
}

fn begin(server: &Server, sql: &str) -> Child {
    let mut client = server.client();
    client.args(["-e", sql]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Connections that have run something for a while, by their number.
fn busy(server: &Server) -> Vec<String> {
    let found = server.sql(
        "SELECT id FROM information_schema.processlist \
         WHERE command = 'Query' AND id <> CONNECTION_ID()",
    );
    found.lines().map(str::to_string).collect()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < SECONDS, "{what}");
        testkit::pause(20);
    }
}

#[test]
fn kill_query_ends_every_long_statement() {
    let folder = TempDir::new();
    let server = prepared(&folder);
    for sql in LONG {
        let mut client = begin(&server, sql);
        until("the statement does not run", || !busy(&server).is_empty());
        testkit::pause(300);
        let running = busy(&server);
        assert_eq!(running.len(), 1, "it ended by itself: {sql}");
        server.sql(&format!("KILL QUERY {}", running[0]));
        until(&format!("KILL QUERY does not end {sql}"), || busy(&server).is_empty());
        client.wait().unwrap();
    }
}

#[test]
fn sigterm_ends_the_server_while_every_long_statement_runs() {
    let folder = TempDir::new();
    let mut server = prepared(&folder);
    let mut clients: Vec<Child> = LONG.iter().map(|sql| begin(&server, sql)).collect();
    until("the statements do not run", || busy(&server).len() == LONG.len());
    testkit::pause(300);
    let begun = Instant::now();
    assert_eq!(server.stop().code(), Some(0));
    assert!(begun.elapsed() < 2 * SECONDS, "it took {:?}\n{}", begun.elapsed(), server.log());
    assert!(!server.log().contains("did not end in"), "{}", server.log());
    clients.iter_mut().for_each(|client| assert!(client.wait().is_ok()));
}

#[test]
fn kill_query_ends_the_build_of_an_index_and_leaves_none() {
    let folder = TempDir::new();
    let server = prepared(&folder);
    let twice = "INSERT INTO d.many (s) SELECT s FROM d.many; ".repeat(9);
    server.sql(&format!(
        "CREATE TABLE d.many (i INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(250)); \
         INSERT INTO d.many (s) SELECT s FROM d.t; {twice}"
    ));
    let mut client = server.client();
    let build = client.args(["-e", "ALTER TABLE d.many ADD INDEX (s), ADD INDEX (s, i)"]);
    let build = build.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("the ALTER does not run", || !busy(&server).is_empty());
    server.sql(&format!("KILL QUERY {}", busy(&server)[0]));
    let output = build.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("ERROR 1317"), "{error}");
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.many").trim(), "512000");
    let table = server.sql("SHOW CREATE TABLE d.many");
    assert!(!table.contains("KEY `s`"), "{table}");
    assert!(server.sql("CHECK TABLE d.many").contains("OK"));
}

/// What a session does that keeps others waiting, and statements of others that wait for it alone.
const WAITING: [(&[&str], &[&str]); 5] = [
    (
        &["BEGIN", "SELECT * FROM d.t0, d.t1, d.t2, d.t3, d.t4, d.t5, d.t6, e.t"],
        &[
            "ALTER TABLE d.t0 ADD x INT",
            "DROP TABLE d.a, d.t1",
            "RENAME TABLE d.t2 TO d.t2x",
            "TRUNCATE TABLE d.t3",
            "CREATE INDEX i ON d.t4 (c)",
            "OPTIMIZE TABLE d.t5",
            "LOCK TABLES d.t6 WRITE",
            "DROP DATABASE e",
        ],
    ),
    (
        &["BEGIN", "UPDATE d.t0 SET c = 2", "UPDATE d.t1 SET c = 2"],
        &["FLUSH TABLES d.t0 WITH READ LOCK", "CHECK TABLE d.t1"],
    ),
    (
        &["LOCK TABLES d.t0 WRITE, d.t1 WRITE, d.t2 WRITE"],
        &[
            "SELECT c FROM d.t0",
            "INSERT INTO d.t1 VALUES (9, 9)",
            "FLUSH TABLES d.t2",
            "FLUSH TABLES WITH READ LOCK",
            "SET GLOBAL read_only = ON",
            "ALTER DATABASE d CHARACTER SET latin1",
        ],
    ),
    (
        &["FLUSH TABLES WITH READ LOCK"],
        &[
            "INSERT INTO d.t0 VALUES (9, 9)",
            "CREATE TABLE d.n (i INT)",
            "CREATE DATABASE f",
            "ALTER DATABASE d CHARACTER SET latin1",
        ],
    ),
    (&["LOCK INSTANCE FOR BACKUP"], &["CREATE TABLE d.n (i INT)", "ANALYZE TABLE d.t0"]),
];

/// How a wait ends before its time.
#[derive(Clone, Copy, PartialEq)]
enum End {
    KillQuery,
    Kill,
    LostClient,
}

/// What a statement answered; `None`: the connection ended.
type Answer = Option<Result<Rows, Failure>>;

fn with_tables(folder: &TempDir) -> Server {
    let server = Server::start(folder.path());
    let table = |name: &str| {
        format!(
            "CREATE TABLE {name} (id INT PRIMARY KEY, c INT); INSERT INTO {name} VALUES (1, 1);"
        )
    };
    let tables: String = (0..7).map(|n| table(&format!("d.t{n}"))).collect();
    let (more, other) = (table("d.a"), table("e.t"));
    server.sql(&format!("CREATE DATABASE d; CREATE DATABASE e; {tables} {more} {other}"));
    server
}

/// A statement's rows, their columns side by side.
fn rows(client: &mut TextClient, sql: &str) -> Vec<String> {
    let answer = client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let cell = |cell: &Option<Vec<u8>>| {
        cell.as_deref().map_or("NULL".into(), |bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    let line = |row: &Vec<Option<Vec<u8>>>| row.iter().map(cell).collect::<Vec<_>>().join("\t");
    answer.rows.iter().map(line).collect()
}

/// Metadata locks, and requests for them.
fn locks(watch: &mut TextClient, whose: &str) -> Vec<String> {
    let list = "SELECT object_type, object_schema, object_name, lock_type, lock_status \
                FROM performance_schema.metadata_locks WHERE (object_schema IN ('d', 'e', 'f') \
                OR object_type IN ('GLOBAL', 'COMMIT', 'BACKUP LOCK')) AND";
    rows(watch, &format!("{list} {whose} ORDER BY 1, 2, 3, 4, 5"))
}

/// Waits until each of these connections was seen waiting.
fn until_they_wait(watch: &mut TextClient, ids: &[String]) {
    let list = "SELECT id FROM information_schema.processlist WHERE state LIKE 'Waiting for %'";
    let mut seen = HashSet::new();
    until(&format!("{ids:?} do not wait all"), || {
        seen.extend(rows(watch, list));
        ids.iter().all(|id| seen.contains(id))
    });
}

fn is_interrupted(answer: &Answer) -> bool {
    match answer {
        None => true,
        Some(Err(failure)) => failure.number == 1317,
        Some(Ok(rows)) => {
            let mut cells = rows.rows.iter().flatten().flatten();
            cells.any(|cell| String::from_utf8_lossy(cell).contains("interrupted"))
        }
    }
}

/// Ends the waits for one session all at once: nothing is left of who waited, and it has what it had.
fn end_waits(server: &Server, (blocker, waiting): (&[&str], &[&str]), how: (End, &str, u64)) {
    let (end, ddl_wait, moment_ms) = how;
    let (mut holder, mut watch) =
        (TextClient::connect(server.socket()), TextClient::connect(server.socket()));
    let thread =
        "SELECT thread_id FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID()";
    let thread = rows(&mut holder, thread).concat();
    let (its, not_its) =
        (format!("owner_thread_id = {thread}"), format!("owner_thread_id <> {thread}"));
    blocker.iter().for_each(|sql| assert_eq!(holder.code(sql), 0, "{sql}"));
    let before = locks(&mut watch, &its);
    assert!(!before.is_empty(), "{blocker:?}");
    let mut ids = Vec::new();
    std::thread::scope(|scope| {
        let mut waiters = Vec::new();
        for &sql in waiting {
            let (mut client, breaker) = TextClient::connect_patient(server.socket());
            client.set_patience(Some(4 * SECONDS));
            ids.push(rows(&mut client, "SELECT CONNECTION_ID()").concat());
            assert_eq!(client.code(&format!("SET limpid_ddl_wait = {ddl_wait}")), 0);
            waiters.push((breaker, scope.spawn(move || client.attempt(sql))));
        }
        until_they_wait(&mut watch, &ids);
        testkit::pause(moment_ms);
        for (id, (breaker, _)) in ids.iter().zip(&waiters) {
            match end {
                End::KillQuery => assert_eq!(watch.code(&format!("KILL QUERY {id}")), 0),
                End::Kill => assert_eq!(watch.code(&format!("KILL {id}")), 0),
                End::LostClient => breaker.cut(),
            }
        }
        for (sql, (_, waiter)) in waiting.iter().zip(waiters) {
            let answer = waiter.join().unwrap();
            let is_answered = answer.is_some() || end != End::KillQuery;
            assert!(is_answered && is_interrupted(&answer), "{sql}: {answer:?}");
        }
    });
    until(&format!("something is left of who waited for {blocker:?}"), || {
        let there = rows(&mut watch, "SELECT id FROM information_schema.processlist");
        locks(&mut watch, &not_its).is_empty() && ids.iter().all(|id| !there.contains(id))
    });
    assert_eq!(locks(&mut watch, &its), before);
    for sql in ["ROLLBACK", "UNLOCK TABLES", "UNLOCK INSTANCE"] {
        assert_eq!(holder.code(sql), 0);
    }
}

/// Ends all that waits in each of these ways: how, with which `limpid_ddl_wait`, how long after it began, in milliseconds.
fn end_every_wait(ways: &[(End, &str, u64)]) {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let is = "SELECT @@read_only, COUNT(*), SUM(table_schema = 'f') FROM information_schema.tables \
              WHERE table_schema IN ('d', 'e', 'f'); \
              SELECT SUM(t0.c + t1.c + t3.c) FROM d.t0, d.t1, d.t3";
    let before = server.sql(is);
    assert_eq!(before, "0\t9\t0\n3");
    for how in ways {
        WAITING.iter().for_each(|&waits| end_waits(&server, waits, *how));
    }
    assert_eq!(server.sql(is), before);
}

#[test]
fn kill_ends_every_wait_for_a_metadata_lock() {
    // In a slice, in a gap, and in the queue.
    end_every_wait(&[
        (End::KillQuery, "slices", 0),
        (End::KillQuery, "slices", 90),
        (End::Kill, "slices", 40),
        (End::Kill, "queue", 0),
    ]);
}

#[test]
fn what_a_killed_connection_waited_for_has_failed() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    server.sql(
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' \
         WHERE NAME = 'events_statements_history_long'",
    );
    let connect = || TextClient::connect(server.socket());
    let (mut holder, mut watch) = (connect(), connect());
    ["BEGIN", "UPDATE d.t0 SET c = 2"].iter().for_each(|sql| assert_eq!(holder.code(sql), 0));
    for (sql, digest) in [
        ("DROP TABLE d.t0", "DROP TABLE `d` . `t0`"),
        ("UPDATE d.t0 SET c = 3", "UPDATE `d` . `t0` SET `c` = ?"),
    ] {
        std::thread::scope(|scope| {
            let mut client = connect();
            let id = rows(&mut client, "SELECT CONNECTION_ID()").concat();
            let waiter = scope.spawn(move || client.attempt(sql));
            until(&format!("{sql} does not wait"), || busy(&server).contains(&id));
            testkit::pause(100);
            assert_eq!(watch.code(&format!("KILL {id}")), 0);
            assert!(waiter.join().unwrap().is_none(), "{sql}");
        });
        let told = format!(
            "SELECT MYSQL_ERRNO, RETURNED_SQLSTATE, ERRORS FROM performance_schema.events_statements_history_long \
             WHERE SQL_TEXT = '{sql}'"
        );
        // The client is cut off before the statement is told.
        until(&format!("{sql} is not told"), || !rows(&mut watch, &told).is_empty());
        assert_eq!(rows(&mut watch, &told), ["1317\t70100\t1"], "{sql}");
        let of_digest = format!(
            "SELECT SUM_ERRORS FROM performance_schema.events_statements_summary_by_digest \
             WHERE DIGEST_TEXT = '{digest}'"
        );
        assert_eq!(rows(&mut watch, &of_digest), ["1"], "{sql}");
    }
}

#[test]
fn a_lost_client_ends_every_wait_for_a_metadata_lock() {
    end_every_wait(&[(End::LostClient, "slices", 100), (End::LostClient, "queue", 0)]);
}

#[test]
fn a_lost_client_waits_for_no_row_and_does_not_sleep() {
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut holder = TextClient::connect(server.socket());
    ["BEGIN", "UPDATE d.t0 SET c = 2"].iter().for_each(|sql| assert_eq!(holder.code(sql), 0));
    let waiting = ["UPDATE d.t0 SET c = c + 5", "DO SLEEP(1000)"].map(|sql| {
        let mut client = RawClient::connect(&server);
        client.login();
        assert!(client.command(3, sql.as_bytes()));
        client
    });
    until("they do not wait", || busy(&server).len() == 2);
    drop(waiting);
    until("they wait though their clients have gone", || busy(&server).is_empty());
    assert_eq!(holder.code("COMMIT"), 0);
    assert_eq!(server.sql("SELECT c FROM d.t0"), "2");
}

#[test]
fn who_waits_for_a_client_that_crashes_goes_on() {
    const WORK: &str = "ALTER TABLE d.t0 FORCE";
    let folder = TempDir::new();
    let server = with_tables(&folder);
    let mut watch = TextClient::connect(server.socket());
    let blockers: [&[&str]; 4] = [
        &["BEGIN", "SELECT c FROM d.t0"],
        &["BEGIN", "UPDATE d.t0 SET c = 2"],
        &["LOCK TABLES d.t0 WRITE"],
        &["FLUSH TABLES WITH READ LOCK"],
    ];
    for (ddl_wait, blocker) in
        ["slices", "queue"].into_iter().flat_map(|w| blockers.map(|b| (w, b)))
    {
        let (mut holder, breaker) = TextClient::connect_patient(server.socket());
        blocker.iter().for_each(|sql| assert_eq!(holder.code(sql), 0, "{sql}"));
        std::thread::scope(|scope| {
            let (mut client, _) = TextClient::connect_patient(server.socket());
            client.set_patience(Some(4 * SECONDS));
            let id = rows(&mut client, "SELECT CONNECTION_ID()").concat();
            assert_eq!(client.code(&format!("SET limpid_ddl_wait = {ddl_wait}")), 0);
            let waiter = scope.spawn(move || client.code(WORK));
            until_they_wait(&mut watch, &[id]);
            testkit::pause(100);
            let begun = Instant::now();
            breaker.cut();
            assert_eq!(waiter.join().unwrap(), 0, "{blocker:?}");
            assert!(begun.elapsed() < SECONDS, "{blocker:?}: {:?}", begun.elapsed());
        });
        until("something is left", || locks(&mut watch, "TRUE").is_empty());
    }
    assert_eq!(server.sql("SELECT c FROM d.t0"), "1");
}
