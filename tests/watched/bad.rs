//! What nobody should send: huge and broken statements, markup, too many digests; switches, TRUNCATE and KILL in the midst of it.

use super::every_table::{column, columns_like, rows};
use super::{answered, with_table};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use testkit::raw::RawClient;
use testkit::{Server, TempDir, TextClient};

/// Bytes of the longest packet: a longer statement goes in several.
const PACKET_BYTES: usize = 0xFF_FFFF;

/// The number of a statement's error, 0 where it went well; rows are read and forgotten.
fn code(client: &mut RawClient, sql: &[u8]) -> u16 {
    let body = [&[3][..], sql].concat();
    for (n, part) in body.chunks(PACKET_BYTES).enumerate() {
        assert!(client.send_packet(n as u8, part));
    }
    answered(client)
}

/// Statements, their error, how MySQL's SQL_TEXT begins and the DIGEST_TEXT; `None`: it has none.
const BAD: [(&[u8], u16, &str, Option<&str>); 9] = [
    (b"SELECT 'a\xFF\xFE\xC3 b' AS x", 0, "SELECT 'a", Some("SELECT ? AS `x`")),
    (b"SELECT 5 /* \xFF\xFE\xC3 */", 0, "SELECT 5 /* ", Some("SELECT ?")),
    (b"SELECT '\xE2\x82", 1064, "SELECT '", None),
    (b"SELECT 1 AS `a\xFF\xC3b`", 1300, "SELECT 1 AS `a", None),
    (
        b"SELECT '<script>alert(\"x\")</script>' AS `<b>&\"'`",
        0,
        "SELECT '<script>alert(\"x\")</script>' AS `<b>&\"'`",
        Some("SELECT ? AS `<b>&\"'`"),
    ),
    (
        b"SELECT 'a\0b\nc\td' AS `n\n<i>`",
        0,
        "SELECT 'a\0b\nc\td' AS `n\n<i>`",
        Some("SELECT ? AS `n\n<i>`"),
    ),
    (b"SELECT \0 1", 1064, "SELECT \0 1", None),
    (
        b"SELECT 1 AS `\x01\x7F`, '\r\n\x1B[31m'",
        0,
        "SELECT 1 AS `\x01\x7F`, '\r\n\x1B[31m'",
        Some("SELECT ? AS `\x01\x7F` , ?"),
    ),
    (
        b"SELECT 1 AS `'; DROP TABLE d.t; --`",
        0,
        "SELECT 1 AS `'; ",
        Some("SELECT ? AS `'; DROP TABLE d.t; --`"),
    ),
];

/// What is kept of the last statement of a thread: text, digest's text, its sample's text.
fn kept(watch: &mut TextClient, thread: &str) -> [Option<String>; 3] {
    let sql = format!(
        "SELECT e.SQL_TEXT, e.DIGEST_TEXT, d.QUERY_SAMPLE_TEXT FROM performance_schema.events_statements_history e
         LEFT JOIN performance_schema.events_statements_summary_by_digest d
                ON d.DIGEST = e.DIGEST AND d.SCHEMA_NAME <=> e.CURRENT_SCHEMA
         WHERE e.THREAD_ID = {thread} ORDER BY e.EVENT_ID DESC LIMIT 1"
    );
    let answer = watch.query(&sql).unwrap();
    let cell = |cell: &Option<Vec<u8>>| {
        cell.clone().map(|bytes| String::from_utf8(bytes).expect("valid text is shown"))
    };
    let cells: Vec<Option<String>> = answer.rows[0].iter().map(cell).collect();
    cells.try_into().unwrap()
}

/// A session that nothing is too late for, and its THREAD_ID.
fn patient(server: &Server, watch: &mut TextClient) -> (RawClient, String) {
    let mut client = RawClient::connect(server);
    client.set_patience(Some(Duration::from_secs(60)));
    client.login();
    let threads = "SELECT MAX(THREAD_ID) FROM performance_schema.threads WHERE TYPE = 'FOREGROUND'";
    let thread = column(watch, threads).remove(0);
    (client, thread)
}

/// The texts begin as those of MySQL 9.7, which leaves out what comes from the first broken byte on. In a name, too, where Limpid
/// says 1300.
/// What one of those who disturb does in each round.
type Each = Box<dyn FnMut(&mut TextClient, usize) + Send>;

#[test]
fn broken_text_and_markup_are_kept_as_valid_text() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut watch = TextClient::connect(server.socket());
    let (mut client, thread) = patient(&server, &mut watch);
    for (sql, error, begins, digest) in BAD {
        let shown = String::from_utf8_lossy(sql);
        assert_eq!(code(&mut client, sql), error, "{shown}");
        let [text, digest_text, sample] = kept(&mut watch, &thread);
        let text = text.expect("a text");
        assert!(text.starts_with(begins), "{shown}: {text:?}");
        assert_eq!(digest_text.as_deref(), digest, "{shown}");
        assert_eq!(sample.as_deref(), digest.map(|_| text.as_str()), "{shown}");
    }
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t"), "2");
}

#[test]
fn of_a_statement_of_64_mb_the_beginning_is_kept() {
    const BYTES: usize = 64 << 20;
    let folder = TempDir::new();
    let server = Server::with().option("--max-allowed-packet=128M").start(folder.path());
    let mut watch = TextClient::connect(server.socket());
    let (mut client, thread) = patient(&server, &mut watch);
    for (begin, filler, end, digest) in [
        ("SELECT LENGTH('", b'x', "')", "SELECT `LENGTH` (?)"),
        ("SELECT 'long' /* ", b'y', " */", "SELECT ?"),
    ] {
        let sql = [begin.as_bytes(), &vec![filler; BYTES], end.as_bytes()].concat();
        assert_eq!(code(&mut client, &sql), 0, "{begin}");
        let [text, digest_text, sample] = kept(&mut watch, &thread);
        let expected = String::from_utf8_lossy(&sql[..1024]);
        assert_eq!(text.as_deref(), Some(&*expected));
        assert_eq!((digest_text.as_deref(), sample), (Some(digest), text));
    }
    let memory = "SELECT SUM(CURRENT_NUMBER_OF_BYTES_USED) < 16777216 FROM performance_schema.memory_summary_global_by_event_name
                  WHERE EVENT_NAME IN ('memory/performance_schema/statement_texts', 'memory/performance_schema/events_statements_summary_by_digest')";
    assert_eq!(server.sql(memory), "1", "the rest is kept nowhere");
}

#[test]
fn digests_beyond_their_room_count_together() {
    const DIGESTS: u64 = 20_000;
    const ROOM: u64 = 10_000;
    let folder = TempDir::new();
    let server =
        Server::with().option("--performance-schema-digests-size=10000").start(folder.path());
    let mut watch = TextClient::connect(server.socket());
    let summary = "performance_schema.events_statements_summary_by_digest";
    let rest = format!(
        "SELECT IFNULL(MAX(SCHEMA_NAME), '-'), COUNT(*), IFNULL(SUM(COUNT_STAR), 0), IFNULL(SUM(SUM_ROWS_SENT), 0) FROM {summary} WHERE DIGEST IS NULL"
    );
    let known = format!(
        "SELECT COUNT(*), IFNULL(SUM(COUNT_STAR), 0) FROM {summary} WHERE DIGEST_TEXT LIKE 'SELECT ? AS `digest\\_%'"
    );
    let lost = "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Performance_schema_digest_lost'";
    let numbers = |watch: &mut TextClient, sql: &str| -> Vec<u64> {
        let row = rows(watch, sql).remove(0);
        row.iter().map(|cell| cell.parse().unwrap_or(0)).collect()
    };
    // What is asked below has its digests before there is no room.
    for sql in [rest.as_str(), known.as_str(), lost] {
        numbers(&mut watch, sql);
    }
    assert_eq!(numbers(&mut watch, &rest)[1..], [0, 0, 0]);
    let mut client = TextClient::connect(server.socket());
    for n in 0..DIGESTS {
        assert_eq!(client.code(&format!("SELECT 1 AS digest_{n}")), 0);
    }
    let (known, rest) = (numbers(&mut watch, &known), rows(&mut watch, &rest).remove(0));
    assert!(known[0] == known[1] && (ROOM - 20..=ROOM).contains(&known[0]), "{known:?}");
    let beyond = (DIGESTS - known[0]).to_string();
    assert_eq!(rest, ["-", "1", &beyond, &beyond]);
    assert_eq!(numbers(&mut watch, lost)[0], DIGESTS - known[0]);
    // After TRUNCATE there is room again.
    assert_eq!(client.code(&format!("TRUNCATE {summary}")), 0);
    assert_eq!(client.code("SELECT 1 AS digest_again"), 0);
    let again =
        format!("SELECT COUNT_STAR FROM {summary} WHERE DIGEST_TEXT LIKE '%digest\\_again`'");
    assert_eq!(column(&mut watch, &again), ["1"]);
}

/// One who reads, changes and fails, on connections that end in the midst of it, until it is time; statements that he ran.
fn load(server: &Server, number: u64, id: &AtomicU64, end: Instant) -> u64 {
    let mut ran = 0;
    while Instant::now() < end {
        let Ok(mut client) = TextClient::try_connect(server.socket()) else { continue };
        let Some(Ok(own)) = client.attempt("SELECT CONNECTION_ID()") else { continue };
        let own = String::from_utf8(own.rows[0][0].clone().unwrap()).unwrap();
        id.store(own.parse().unwrap(), Relaxed);
        let _ = client.attempt("PREPARE p FROM 'SELECT c FROM d.t WHERE id = ?'");
        'connection: while Instant::now() < end {
            let (row, fresh) = (ran % 2 + 1, number * 1_000_000 + ran + 10);
            for sql in [
                format!("SELECT c FROM d.t WHERE id = {row}"),
                "BEGIN".into(),
                format!("UPDATE d.t SET c = c + 1 WHERE id = {row}"),
                format!("INSERT INTO d.t VALUES ({fresh}, 1)"),
                if ran % 3 == 0 { "ROLLBACK".into() } else { "COMMIT".into() },
                "SELECT id FROM d.t ORDER BY c DESC LIMIT 3".into(),
                format!("SELECT 1 AS d{}", ran % 100),
                format!("SET @id = {row}"),
                "EXECUTE p USING @id".into(),
                "SELECT nothing".into(),
                format!("DELETE FROM d.t WHERE id = {fresh}"),
            ] {
                if client.attempt(&sql).is_none() {
                    break 'connection;
                }
                ran += 1;
            }
        }
    }
    ran
}

/// Tables and their columns of figures in which a value below zero, or one that wrapped around, would be seen.
fn figures(watch: &mut TextClient, tables: &[String]) -> Vec<(String, String)> {
    const LIKES: [&str; 9] = [
        r"COUNT\_%",
        r"SUM\_%",
        r"MIN\_%",
        r"MAX\_%",
        r"AVG\_%",
        r"TIMER\_%",
        r"CURRENT\_%",
        r"HIGH\_%",
        r"TOTAL\_%",
    ];
    let mut all = Vec::new();
    for table in tables {
        let mut columns = columns_like(watch, table, &LIKES);
        // What these have is text, or a time of the clock.
        columns.retain(|name| {
            !["TIMER_NAME", "CURRENT_SCHEMA", "MIN_VALUE", "MAX_VALUE"].contains(&name.as_str())
        });
        let odd = |name: &String| format!("{name} < 0 OR {name} > 1000000000000000000");
        if !columns.is_empty() {
            let odd = columns.iter().map(odd).collect::<Vec<_>>().join(" OR ");
            let sql = format!("SELECT * FROM performance_schema.{table} WHERE {odd}");
            all.push((table.clone(), sql));
        }
    }
    assert!(all.len() > 60, "{all:?}");
    all
}

#[test]
fn switches_truncate_readers_and_kills_under_load_break_nothing() {
    const LOADS: usize = 4;
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'");
    let mut watch = TextClient::connect(server.socket());
    let tables = column(
        &mut watch,
        "SELECT LOWER(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'performance_schema' AND TABLE_NAME NOT LIKE 'setup%'",
    );
    let figures = figures(&mut watch, &tables);
    let ids = [const { AtomicU64::new(0) }; LOADS];
    let end = Instant::now() + Duration::from_secs(3);
    let odd = |watch: &mut TextClient, (table, sql): &(String, String)| {
        let found = rows(watch, sql);
        assert!(found.is_empty(), "{table}: {found:?}");
    };
    let round = |mut each: Each, pause: u64| {
        let (mut client, mut done) = (TextClient::connect(server.socket()), 0);
        while Instant::now() < end {
            each(&mut client, done);
            done += 1;
            testkit::pause(pause);
        }
        done
    };
    std::thread::scope(|scope| {
        let loads: Vec<_> = (0..LOADS)
            .map(|n| {
                let (server, id) = (&server, &ids[n]);
                scope.spawn(move || load(server, n as u64 + 1, id, end))
            })
            .collect();
        let level = scope.spawn(|| {
            let levels = ["none", "def", "tables", "statements", "synch"];
            round(
                Box::new(move |client: &mut TextClient, n: usize| {
                    let sql = format!("SET GLOBAL limpid_instrument_level = {}", levels[n % 5]);
                    assert_eq!(client.code(&sql), 0, "{sql}");
                }),
                10,
            )
        });
        let emptied = tables.clone();
        let truncate = scope.spawn(|| {
            round(
                Box::new(move |client: &mut TextClient, n: usize| {
                    let table = &emptied[n % emptied.len()];
                    let code = client.code(&format!("TRUNCATE performance_schema.{table}"));
                    assert!(code == 0 || code == 1142, "{table}: {code}");
                }),
                0,
            )
        });
        let kill = scope.spawn(|| {
            let mut client = TextClient::connect(server.socket());
            let mut n = 0;
            while Instant::now() < end {
                let id = ids[n % LOADS].load(Relaxed);
                let how = if n % 3 == 0 { "KILL" } else { "KILL QUERY" };
                // It may be gone already.
                assert!([0, 1094].contains(&client.code(&format!("{how} {id}"))));
                n += 1;
                testkit::pause(20);
            }
            n
        });
        let mut n = 0;
        while Instant::now() < end {
            odd(&mut watch, &figures[n % figures.len()]);
            let sql = format!("SELECT * FROM performance_schema.{}", tables[n % tables.len()]);
            watch.query(&sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
            n += 1;
        }
        let ran: u64 = loads.into_iter().map(|load| load.join().unwrap()).sum();
        let others = [level, truncate, kill].map(|thread| thread.join().unwrap());
        println!("{ran} statements, {others:?} switches, truncates and kills, {n} reads");
        assert!(ran > 500 && n > 20 && others.iter().all(|n| *n > 20), "{ran} {others:?} {n}");
    });
    assert_eq!(watch.code("SET GLOBAL limpid_instrument_level = default"), 0);
    figures.iter().for_each(|table| odd(&mut watch, table));
    let used = "SELECT COUNT(*) FROM performance_schema.memory_summary_global_by_event_name
                WHERE CURRENT_COUNT_USED < 0 OR CURRENT_NUMBER_OF_BYTES_USED < 0 OR LOW_COUNT_USED < 0";
    assert_eq!(column(&mut watch, used), ["0"], "memory");
    let log = server.log();
    assert!(!log.contains("panicked") && !log.contains("Bug in thread"), "{log}");
}

/// Statements that are told to end in the midst of something: what another session does first, the statement, its state in
/// the process list, its error, and the wait or stage that it is in.
type Inside = (&'static [&'static str], &'static str, &'static str, u16, &'static str);

const INSIDE: [Inside; 6] = [
    (
        &["BEGIN", "UPDATE d.t SET c = c + 1"],
        "UPDATE d.t SET c = 9 WHERE id = 1",
        "updating",
        1317,
        "wait/lock/innodb/row",
    ),
    (
        &["BEGIN", "SELECT * FROM d.t"],
        "ALTER TABLE d.t ADD x INT",
        "Waiting for table metadata lock",
        1317,
        "wait/lock/metadata/sql/mdl",
    ),
    (
        &["DO GET_LOCK('l', 1)"],
        "SELECT GET_LOCK('l', 1000)",
        "User lock",
        1317,
        "wait/lock/metadata/sql/mdl",
    ),
    (&[], "SELECT SLEEP(1000)", "User sleep", 0, ""),
    (
        &[],
        "ALTER TABLE d.big MODIFY s VARCHAR(150) CHARACTER SET latin1",
        "copy to tmp table",
        1317,
        "stage/sql/copy to tmp table",
    ),
    (
        &[],
        "SELECT a.s FROM d.big a, d.big b ORDER BY CONCAT(b.s, a.s, RAND()) LIMIT 1000000, 1",
        "executing",
        1317,
        "",
    ),
];

/// Waits until a session is in a state.
fn until_state(watch: &mut TextClient, thread: &str, state: &str) {
    let sql = format!(
        "SELECT IFNULL(PROCESSLIST_STATE, '') FROM performance_schema.threads WHERE THREAD_ID = {thread}"
    );
    let begun = Instant::now();
    while column(watch, &sql) != [state] {
        assert!(begun.elapsed() < Duration::from_secs(10), "never in state {state}");
    }
}

/// The row of a statement in a table of events: error, SQLSTATE, number of errors, whether it was timed; once it has ended.
fn ended(watch: &mut TextClient, table: &str, thread: &str, sql: &str) -> Vec<String> {
    let sql = format!(
        "SELECT MYSQL_ERRNO, IFNULL(RETURNED_SQLSTATE, '-'), ERRORS, TIMER_WAIT > 0 AND TIMER_WAIT = TIMER_END - TIMER_START
         FROM performance_schema.{table} WHERE THREAD_ID = {thread} AND SQL_TEXT = '{}' AND END_EVENT_ID IS NOT NULL",
        sql.replace('\'', "''")
    );
    for _ in 0..400 {
        let mut found = rows(watch, &sql);
        if let Some(row) = found.pop() {
            assert!(found.is_empty(), "{table}: once");
            return row;
        }
        testkit::pause(10);
    }
    panic!("{table}: {sql} has not ended");
}

/// What a statement's events tell once it was ended by `kill`; MySQL 9.7's errors.
fn killed_inside(server: &Server, kill: &str, inside: Inside) {
    let (hold, sql, state, error, event) = inside;
    let (mut watch, mut holder) =
        (TextClient::connect(server.socket()), TextClient::connect(server.socket()));
    hold.iter().for_each(|sql| drop(holder.query(sql).unwrap()));
    let mut client = TextClient::connect(server.socket());
    let own = rows(&mut client, "SELECT CONNECTION_ID(), PS_CURRENT_THREAD_ID()").remove(0);
    let (id, thread) = (&own[0], &own[1]);
    let stays = kill == "KILL QUERY";
    std::thread::scope(|scope| {
        let statement = scope.spawn(|| client.attempt(sql));
        until_state(&mut watch, thread, state);
        testkit::pause(if event.starts_with("stage/") { 0 } else { 100 });
        assert_eq!(watch.code(&format!("{kill} {id}")), 0);
        match statement.join().unwrap() {
            Some(answer) => {
                let found = answer.map_or_else(|failure| failure.number, |_| 0);
                assert!(found == error || !stays, "{sql}: {found}");
            }
            None => assert!(!stays, "{sql}: the connection ended"),
        }
    });
    let failed = |error: u16| match error {
        0 => ["0", "-", "0", "1"].map(str::to_string),
        _ => [error.to_string().as_str(), "70100", "1", "1"].map(str::to_string),
    };
    if stays {
        for table in ["events_statements_current", "events_statements_history"] {
            assert_eq!(
                ended(&mut watch, table, thread, sql),
                failed(error),
                "{kill}: {table}: {sql}"
            );
        }
        let open = format!(
            "SELECT EVENT_NAME FROM performance_schema.events_waits_current WHERE THREAD_ID = {thread} AND END_EVENT_ID IS NULL AND EVENT_NAME <> 'idle'
             UNION ALL SELECT EVENT_NAME FROM performance_schema.events_stages_current WHERE THREAD_ID = {thread}
             UNION ALL SELECT OBJECT_NAME FROM performance_schema.metadata_locks WHERE OWNER_THREAD_ID = {thread} AND LOCK_STATUS = 'PENDING'"
        );
        assert_eq!(column(&mut watch, &open), [""; 0], "{sql}: still there");
        // The session goes on.
        assert_eq!(client.code("SELECT 1 AS goes_on"), 0);
    } else {
        let gone = format!(
            "SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM performance_schema.threads WHERE THREAD_ID = {thread})"
        );
        super::until_rows(server, &gone);
        for table in ["events_statements_current", "events_waits_current", "events_stages_current"]
        {
            let left = format!(
                "SELECT EVENT_NAME FROM performance_schema.{table} WHERE THREAD_ID = {thread}"
            );
            assert_eq!(column(&mut watch, &left), [""; 0], "{kill}: {table}: {sql}");
        }
    }
    // Of an answer that nobody takes MySQL says 1160: SLEEP goes well when it is interrupted.
    if stays || error != 0 {
        let long = ended(&mut watch, "events_statements_history_long", thread, sql);
        assert_eq!(long, failed(error), "{kill}: history_long: {sql}");
    }
    let table = if event.starts_with("stage/") {
        "events_stages_history_long"
    } else {
        "events_waits_history_long"
    };
    let told = format!(
        "SELECT DISTINCT EVENT_NAME FROM performance_schema.{table}
         WHERE THREAD_ID = {thread} AND EVENT_NAME = '{event}' AND END_EVENT_ID IS NOT NULL AND TIMER_WAIT > 0"
    );
    let expected: Vec<&str> = Some(event).filter(|event| !event.is_empty()).into_iter().collect();
    assert_eq!(column(&mut watch, &told), expected, "{kill}: {table}: {sql}");
}

fn with_all_consumers(folder: &TempDir) -> Server {
    let server = with_table(folder);
    server.sql(
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'; SET cte_max_recursion_depth = 100000;
         CREATE TABLE d.big (id INT PRIMARY KEY, s VARCHAR(150));
         INSERT INTO d.big WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100000) SELECT n, CONCAT(REPEAT('y', 100), n) FROM r",
    );
    server
}

#[test]
fn what_is_killed_inside_an_event_is_told_as_ended_with_its_error() {
    let folder = TempDir::new();
    let server = with_all_consumers(&folder);
    for kill in ["KILL QUERY", "KILL"] {
        INSIDE.iter().for_each(|inside| killed_inside(&server, kill, *inside));
    }
}
