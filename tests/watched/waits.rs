//! Waits that are over: of sessions and of the server's threads, in the order in which they ended.

use super::{until_answered, until_rows, with_table};
use testkit::{Conversation, Server, TempDir};

const ALL: [&str; 3] =
    ["events_waits_current", "events_waits_history", "events_waits_history_long"];

fn switch(server: &Server, names: &[&str], on: bool) {
    let enabled = if on { "YES" } else { "NO" };
    for name in names {
        server.sql(&format!(
            "UPDATE performance_schema.setup_consumers SET ENABLED = '{enabled}' WHERE NAME = '{name}'"
        ));
    }
}

fn empty(server: &Server) {
    ALL.iter().for_each(|table| drop(server.sql(&format!("TRUNCATE performance_schema.{table}"))));
}

/// The THREAD_ID of a session.
fn thread_of(session: &mut Conversation) -> String {
    session.ask("SELECT PS_CURRENT_THREAD_ID()").concat()
}

#[test]
fn a_session_keeps_what_it_waited_for_last() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("USE d; ALTER TABLE t ADD KEY by_c (c)");
    let mut session = server.converse();
    session.ask("USE d");
    switch(&server, &["events_statements_history_long"], true);
    let thread = thread_of(&mut session);
    let count =
        |table: &str| server.sql(&format!("SELECT COUNT(*) FROM performance_schema.{table}"));
    session.ask("SELECT * FROM t WHERE id = 1");
    assert_eq!(ALL.map(count), ["0", "0", "0"], "nobody asked for them");
    switch(&server, &ALL[1..], true);
    session.ask("SELECT * FROM t WHERE id = 1");
    assert_eq!(ALL.map(count), ["0", "0", "0"], "the consumer above is off");
    switch(&server, &ALL[..1], true);
    empty(&server);
    let statements = [
        "SELECT * FROM t WHERE id = 1",
        "SELECT id FROM t WHERE c = 2",
        "SELECT * FROM t",
        "INSERT INTO t VALUES (7, 7)",
        "UPDATE t SET c = 8 WHERE id = 7",
        "DELETE FROM t WHERE id = 7",
    ];
    statements.iter().for_each(|statement| drop(session.ask(statement)));
    switch(&server, &ALL[..1], false);
    let rows = server.sql(&format!(
        "SELECT s.SQL_TEXT, w.OBJECT_TYPE, w.OBJECT_SCHEMA, w.OBJECT_NAME, IFNULL(w.INDEX_NAME, '-'), w.OPERATION, w.NUMBER_OF_BYTES
         FROM performance_schema.events_waits_history_long w
         JOIN performance_schema.events_statements_history_long s ON s.THREAD_ID = w.THREAD_ID AND s.EVENT_ID = w.NESTING_EVENT_ID
         WHERE w.THREAD_ID = {thread} AND w.EVENT_NAME = 'wait/io/table/sql/handler' AND w.NESTING_EVENT_TYPE = 'STATEMENT' ORDER BY w.EVENT_ID"
    ));
    let table = "TABLE\td\tt";
    let expected = [
        format!("{}\t{table}\tPRIMARY\tfetch\t1", statements[0]),
        format!("{}\t{table}\tby_c\tfetch\t1", statements[1]),
        format!("{}\t{table}\tby_c\tfetch\t2", statements[2]),
        format!("{}\t{table}\t-\tinsert\t1", statements[3]),
        format!("{}\t{table}\tPRIMARY\tfetch\t1", statements[4]),
        format!("{}\t{table}\tPRIMARY\tupdate\t1", statements[4]),
        format!("{}\t{table}\tPRIMARY\tfetch\t1", statements[5]),
        format!("{}\t{table}\tPRIMARY\tdelete\t1", statements[5]),
    ];
    let found: Vec<&str> = rows.lines().collect();
    assert_eq!(found, expected);
    // Numbered one by one, timed, and within the statement.
    let sane = server.sql(&format!(
        "SELECT COUNT(*) > 10, COUNT(DISTINCT EVENT_ID) = COUNT(*), MIN(TIMER_END >= TIMER_START), MIN(TIMER_WAIT = TIMER_END - TIMER_START),
                MIN(END_EVENT_ID = EVENT_ID), SUM(EVENT_NAME = 'idle' AND OPERATION = 'idle' AND NESTING_EVENT_ID IS NULL) >= 6
         FROM performance_schema.events_waits_history_long WHERE THREAD_ID = {thread}"
    ));
    assert_eq!(sane, "1\t1\t1\t1\t1\t1");
    let within = server.sql(&format!(
        "SELECT COUNT(*) FROM performance_schema.events_waits_history_long w
         JOIN performance_schema.events_statements_history_long s ON s.THREAD_ID = w.THREAD_ID AND s.EVENT_ID = w.NESTING_EVENT_ID
         WHERE w.THREAD_ID = {thread} AND (w.TIMER_START < s.TIMER_START OR w.TIMER_END > s.TIMER_END + 1000000000)"
    ));
    assert_eq!(within, "0");
    // A session's history has room for ten; it goes with the session, what all did stays.
    let own = format!(
        "SELECT COUNT(*) FROM performance_schema.events_waits_history WHERE THREAD_ID = {thread}"
    );
    assert_eq!(server.sql(&own), "10");
    drop(session);
    let gone = format!("SELECT 1 FROM DUAL WHERE ({own}) = 0");
    until_rows(&server, &gone);
    let long = own.replace("history", "history_long");
    assert_ne!(server.sql(&long), "0");
    empty(&server);
    assert_eq!(ALL.map(count), ["0", "0", "0"]);
}

#[test]
fn files_and_sockets_are_waited_for_by_name() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE NAME LIKE 'wait/io/socket/%'");
    switch(&server, &ALL, true);
    let mut session = server.converse();
    let thread = thread_of(&mut session);
    session.ask("INSERT INTO d.t VALUES (9, 9)");
    let log = "SELECT 1 FROM performance_schema.events_waits_history_long w JOIN performance_schema.file_instances f ON f.FILE_NAME = w.OBJECT_NAME
               WHERE w.EVENT_NAME = 'wait/io/file/innodb/innodb_log_file' AND w.OBJECT_TYPE = 'FILE' AND f.EVENT_NAME = w.EVENT_NAME AND w.TIMER_WAIT > 0";
    for (operation, bytes) in
        [("write", "NUMBER_OF_BYTES > 0"), ("sync", "NUMBER_OF_BYTES IS NULL")]
    {
        until_rows(
            &server,
            &format!("{log} AND w.OPERATION = '{operation}' AND w.{bytes} LIMIT 1"),
        );
    }
    let socket = format!(
        "SELECT DISTINCT OPERATION, OBJECT_NAME, NUMBER_OF_BYTES > 0, NESTING_EVENT_ID, OBJECT_INSTANCE_BEGIN =
                (SELECT OBJECT_INSTANCE_BEGIN FROM performance_schema.socket_instances WHERE THREAD_ID = {thread})
         FROM performance_schema.events_waits_history_long WHERE THREAD_ID = {thread} AND OBJECT_TYPE = 'SOCKET' AND OPERATION <> 'select' ORDER BY 1"
    );
    assert_eq!(server.sql(&socket), "recv\t:0\t1\tNULL\t1\nsend\t:0\t1\tNULL\t1");
    // Threads of the server's own wait as well, in no statement.
    let threads = "SELECT t.NAME FROM performance_schema.events_waits_history_long w JOIN performance_schema.threads t USING (THREAD_ID)
                   WHERE t.TYPE = 'BACKGROUND' AND w.NESTING_EVENT_ID IS NULL LIMIT 1";
    until_rows(&server, threads);
    // What is switched off is not kept.
    server.sql("UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME LIKE 'wait/io/%'");
    server
        .sql("UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE TYPE = 'BACKGROUND'");
    empty(&server);
    session.ask("INSERT INTO d.t VALUES (10, 10)");
    let names = "SELECT DISTINCT EVENT_NAME FROM performance_schema.events_waits_history_long";
    assert_eq!(server.sql(names), "idle");
}

#[test]
fn waits_for_locks_and_latches_say_what_they_were_for() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    switch(&server, &ALL, true);
    let (mut owner, mut waiter) = (server.converse(), server.converse());
    let thread = thread_of(&mut waiter);
    owner.ask("BEGIN");
    owner.ask("UPDATE d.t SET c = 5 WHERE id = 1");
    waiter.send("ALTER TABLE d.t ADD x INT");
    let waits = format!(
        "SELECT OPERATION, END_EVENT_ID FROM performance_schema.events_waits_current WHERE THREAD_ID = {thread} AND OBJECT_NAME = 't'"
    );
    assert_eq!(until_rows(&server, &waits), "metadata lock\tNULL");
    owner.ask("COMMIT");
    waiter.receive();
    let over = format!(
        "SELECT EVENT_NAME, OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME, OPERATION, s.SQL_TEXT, TIMER_WAIT > 0 FROM performance_schema.events_waits_history_long w
         JOIN (SELECT THREAD_ID, EVENT_ID, SQL_TEXT FROM performance_schema.events_statements_history) s
           ON s.THREAD_ID = w.THREAD_ID AND s.EVENT_ID = w.NESTING_EVENT_ID
         WHERE w.THREAD_ID = {thread} AND EVENT_NAME LIKE 'wait/lock/metadata/%' LIMIT 1"
    )
    .replace("TIMER_WAIT", "w.TIMER_WAIT").replace("SELECT EVENT_NAME", "SELECT w.EVENT_NAME");
    let expected =
        "wait/lock/metadata/sql/mdl\tTABLE\td\tt\tmetadata lock\tALTER TABLE d.t ADD x INT\t1";
    assert_eq!(server.sql(&over), expected);
    // Row locks.
    owner.ask("BEGIN");
    owner.ask("UPDATE d.t SET c = 6 WHERE id = 1");
    waiter.send("UPDATE d.t SET c = 7 WHERE id = 1");
    until_rows(&server, "SELECT 1 FROM performance_schema.data_lock_waits LIMIT 1");
    owner.ask("COMMIT");
    waiter.receive();
    let row_lock = format!(
        "SELECT DISTINCT OPERATION FROM performance_schema.events_waits_history_long WHERE THREAD_ID = {thread} AND EVENT_NAME LIKE 'wait/lock/%' AND EVENT_NAME NOT LIKE '%/metadata/%'"
    );
    assert_eq!(server.sql(&row_lock), "lock");
    // Events, of threads that wait for work.
    server.sql("SET GLOBAL limpid_instrument_level = synch");
    switch(&server, &ALL, true);
    let conds = "SELECT 1 FROM performance_schema.events_waits_history_long w JOIN performance_schema.cond_instances c USING (OBJECT_INSTANCE_BEGIN)
                 WHERE w.EVENT_NAME = c.NAME AND w.OPERATION IN ('wait', 'timed_wait') LIMIT 1";
    until_answered(|| server.sql(conds), conds);
}

/// How somebody holds a lock, what waits for it, the wait's class and the type of its object, how it is given back.
struct Held {
    by: &'static [&'static str],
    waiter: &'static str,
    class: &'static str,
    object: &'static str,
    end: &'static str,
}

const METADATA: &str = "wait/lock/metadata/sql/mdl";

/// DDL and LOCK TABLES wait in slices and gaps, the others in the queue; all look again and again.
const HELD: [Held; 5] = [
    Held {
        by: &["BEGIN", "UPDATE d.t SET c = 5 WHERE id = 1"],
        waiter: "ALTER TABLE d.t ADD x INT",
        class: METADATA,
        object: "'TABLE'",
        end: "COMMIT",
    },
    Held {
        by: &["BEGIN", "UPDATE d.t SET c = 6 WHERE id = 1"],
        waiter: "LOCK TABLES d.t WRITE",
        class: METADATA,
        object: "'TABLE'",
        end: "COMMIT",
    },
    Held {
        by: &["LOCK TABLES d.t WRITE"],
        waiter: "SELECT COUNT(*) FROM d.t",
        class: METADATA,
        object: "'TABLE'",
        end: "UNLOCK TABLES",
    },
    Held {
        by: &["DO GET_LOCK('once', 0)"],
        waiter: "DO GET_LOCK('once', 60)",
        class: METADATA,
        object: "'USER LEVEL LOCK'",
        end: "DO RELEASE_LOCK('once')",
    },
    Held {
        by: &["BEGIN", "UPDATE d.t SET c = 7 WHERE id = 1"],
        waiter: "UPDATE d.t SET c = 8 WHERE id = 1",
        class: "wait/lock/innodb/row",
        object: "NULL",
        end: "COMMIT",
    },
];

#[test]
fn a_wait_for_a_lock_is_one_however_often_it_looks() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    switch(&server, &ALL, true);
    for Held { by, waiter: statement, class, object, end } in HELD {
        let (mut owner, mut waiter) = (server.converse(), server.converse());
        let thread = thread_of(&mut waiter);
        by.iter().for_each(|statement| drop(owner.ask(statement)));
        waiter.send(statement);
        // Told as one since its beginning while it lasts: longer than a slice, and than what is between two looks.
        let lasts = format!(
            "SELECT 1 FROM performance_schema.events_waits_current WHERE THREAD_ID = {thread} AND EVENT_NAME = '{class}'
             AND END_EVENT_ID IS NULL AND TIMER_WAIT > 500000000000"
        );
        until_rows(&server, &lasts);
        owner.ask(end);
        waiter.receive();
        let over = server.sql(&format!(
            "SELECT COUNT(*), MIN(TIMER_WAIT) > 500000000000 FROM performance_schema.events_waits_history_long
             WHERE THREAD_ID = {thread} AND EVENT_NAME = '{class}' AND OBJECT_TYPE <=> {object}"
        ));
        assert_eq!(over, "1\t1", "{statement}");
        let counted = server.sql(&format!(
            "SELECT COUNT_STAR, SUM_TIMER_WAIT > 500000000000 FROM performance_schema.events_waits_summary_by_thread_by_event_name
             WHERE THREAD_ID = {thread} AND EVENT_NAME = '{class}'"
        ));
        assert_eq!(counted, "1\t1", "{statement}");
    }
}

/// FLUSH TABLES WITH READ LOCK waits for a statement that writes.
#[test]
fn a_wait_for_all_writers_is_one() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    switch(&server, &ALL, true);
    let (mut owner, mut waiter) = (server.converse(), server.converse());
    let thread = thread_of(&mut waiter);
    owner.send("UPDATE d.t SET c = SLEEP(3) WHERE id = 1");
    server.find_session("SLEEP(3)");
    waiter.ask("FLUSH TABLES WITH READ LOCK");
    owner.receive();
    let over = server.sql(&format!(
        "SELECT COUNT(*), MIN(TIMER_WAIT) > 300000000000 FROM performance_schema.events_waits_history_long
         WHERE THREAD_ID = {thread} AND EVENT_NAME = '{METADATA}' AND OBJECT_TYPE = 'GLOBAL'"
    ));
    assert_eq!(over, "1\t1");
}

#[test]
fn options_give_the_histories_of_waits_their_room() {
    let folder = TempDir::new();
    let options = [
        "--performance-schema-events-waits-history-size=3",
        "--performance-schema-events-waits-history-long-size=5",
        "--performance-schema-consumer-events-waits-current=ON",
        "--performance-schema-consumer-events-waits-history=ON",
        "--performance-schema-consumer-events-waits-history-long=ON",
    ];
    let with = options.iter().fold(Server::with(), |with, option| with.option(*option));
    let server = with.start(folder.path());
    let mut session = server.converse();
    let thread = thread_of(&mut session);
    for n in 0..9 {
        session.ask(&format!("SELECT {n}"));
    }
    let own = format!(
        "SELECT COUNT(*) FROM performance_schema.events_waits_history WHERE THREAD_ID = {thread}"
    );
    assert_eq!(server.sql(&own), "3");
    assert_eq!(
        server.sql("SELECT COUNT(*) FROM performance_schema.events_waits_history_long"),
        "5"
    );
    // Who is not to have a history has none.
    server.sql(&format!(
        "UPDATE performance_schema.threads SET HISTORY = 'NO' WHERE THREAD_ID = {thread}"
    ));
    server.sql("TRUNCATE performance_schema.events_waits_history");
    session.ask("SELECT 1");
    assert_eq!(server.sql(&own), "0");
    let current = own.replace("_history", "_current");
    assert_eq!(server.sql(&current), "1");
}

#[test]
fn who_holds_a_read_write_latch_is_counted_at_level_synch() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("SET GLOBAL limpid_instrument_level = synch");
    server.sql("CREATE TABLE d.u (id INT PRIMARY KEY); INSERT INTO d.u VALUES (1)");
    let known = "SELECT COUNT(*) > 0, COUNT(*) = COUNT(DISTINCT r.OBJECT_INSTANCE_BEGIN), MIN(r.NAME = w.EVENT_NAME), MIN(w.COUNT_STAR) > 0,
                        MAX(r.READ_LOCKED_BY_COUNT) < 10
                 FROM performance_schema.rwlock_instances r JOIN performance_schema.events_waits_summary_by_instance w USING (OBJECT_INSTANCE_BEGIN)";
    assert_eq!(server.sql(known), "1\t1\t1\t1\t1");
    let registry = "SELECT COUNT(*), MAX(WRITE_LOCKED_BY_THREAD_ID) FROM performance_schema.rwlock_instances WHERE NAME = 'wait/synch/rwlock/sql/MDL_registry'";
    assert_eq!(server.sql(registry), "1\tNULL");
    let refused = server.sql_error("TRUNCATE performance_schema.rwlock_instances");
    assert!(refused.contains("1142"), "{refused}");
}
