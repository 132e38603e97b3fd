//! Who is there and who waits for whom: threads, accounts, metadata locks, and what `sys` makes of them.

mod bad;
mod cpu;
mod every_table;
mod files;
mod keeps;
mod memory;
mod owners;
mod prepared;
mod rooms;
mod samples;
mod secrets;
mod sockets;
mod stages;
mod stopped;
mod sys;
mod table_cache;
mod tables;
mod variables;
mod waits;
mod who;

use super::with_table;
use testkit::raw::RawClient;
use testkit::{Conversation, Server, TempDir};

/// Waits until a query has rows, and gives them.
fn until_rows(server: &Server, query: &str) -> String {
    until_answered(|| server.sql(query), query)
}

/// Waits until someone who asks `query` gets rows, and gives them.
pub(crate) fn until_answered(mut ask: impl FnMut() -> String, query: &str) -> String {
    for _ in 0..200 {
        let rows = ask();
        if !rows.is_empty() {
            return rows;
        }
        testkit::pause(25);
    }
    panic!("no rows: {query}");
}

/// The number of the error that answers a command, 0 where it went well; rows are read and forgotten.
fn answered(client: &mut RawClient) -> u16 {
    let first = client.packet().expect("an answer");
    match first[0] {
        0 => 0,
        0xff => u16::from_le_bytes([first[1], first[2]]),
        _ => {
            client.skip_result();
            0
        }
    }
}

#[test]
fn threads_have_numbers_of_their_own() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let main = "SELECT THREAD_ID, TYPE, PROCESSLIST_ID, INSTRUMENTED FROM performance_schema.threads WHERE NAME = 'thread/sql/main'";
    assert_eq!(server.sql(main), "1\tBACKGROUND\tNULL\tYES");
    let own = server.sql(
        "SELECT THREAD_ID = PS_CURRENT_THREAD_ID(), THREAD_ID = PS_THREAD_ID(CONNECTION_ID()), THREAD_ID > PROCESSLIST_ID, NAME, TYPE,
                PROCESSLIST_USER, PROCESSLIST_HOST, PROCESSLIST_COMMAND, CONNECTION_TYPE, HISTORY, THREAD_OS_ID > 0
         FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()",
    );
    let expected =
        "1\t1\t1\tthread/sql/one_connection\tFOREGROUND\troot\tlocalhost\tQuery\tSocket\tYES\t1";
    assert_eq!(own, expected);
    let twice = "SELECT COUNT(*) - COUNT(DISTINCT THREAD_ID), COUNT(*) - COUNT(DISTINCT THREAD_OS_ID) FROM performance_schema.threads";
    assert_eq!(server.sql(twice), "0\t0");
    for name in
        ["innodb/page_flush_coordinator_thread", "innodb/srv_purge_thread", "limpid/listener"]
    {
        let found = format!(
            "SELECT COUNT(*) > 0 FROM performance_schema.threads WHERE NAME = 'thread/{name}'"
        );
        assert_eq!(server.sql(&found), "1", "{name}");
    }
    assert_eq!(server.sql("SELECT PS_THREAD_ID(4000000000), PS_THREAD_ID(NULL)"), "NULL\tNULL");
}

#[test]
fn threads_are_switched_by_update_and_by_actors() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    let own = "SELECT INSTRUMENTED, HISTORY FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()";
    assert_eq!(session.ask(own), ["YES\tYES"]);
    session.ask("UPDATE performance_schema.threads SET HISTORY = 'NO' WHERE PROCESSLIST_ID = CONNECTION_ID()");
    assert_eq!(session.ask(own), ["YES\tNO"]);
    server.sql(
        "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE PROCESSLIST_USER = 'root'",
    );
    assert_eq!(session.ask(own), ["NO\tNO"]);
    let purge =
        "SELECT DISTINCT INSTRUMENTED FROM performance_schema.threads WHERE NAME LIKE '%purge%'";
    server
        .sql("UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE NAME LIKE '%purge%'");
    assert_eq!(server.sql(purge), "NO");
    for (refused, number) in [
        ("UPDATE performance_schema.threads SET NAME = 'x'", "1683"),
        ("DELETE FROM performance_schema.threads", "1142"),
        ("TRUNCATE performance_schema.threads", "1142"),
    ] {
        assert!(server.sql_error(refused).contains(number), "{refused}");
    }
    assert_eq!(server.sql(own), "YES\tYES");
    server.sql("UPDATE performance_schema.setup_actors SET ENABLED = 'NO' WHERE HOST = '%'");
    assert_eq!(server.sql(own), "NO\tYES", "those who come");
    assert_eq!(session.ask(own), ["NO\tNO"]);
    server.sql("TRUNCATE performance_schema.setup_actors");
    assert_eq!(server.sql(own), "NO\tNO", "nobody is an actor");
}

#[test]
fn classes_of_threads_are_switched_for_those_that_begin() {
    let folder = TempDir::new();
    let mut server = with_table(&folder);
    let of = |class: &str| {
        format!(
            "SELECT ENABLED, HISTORY, PROPERTIES, VOLATILITY, DOCUMENTATION FROM performance_schema.setup_threads WHERE NAME = 'thread/{class}'"
        )
    };
    assert_eq!(server.sql(&of("sql/main")), "YES\tYES\tsingleton\t0\tNULL");
    assert_eq!(server.sql(&of("sql/one_connection")), "YES\tYES\tuser\t0\tNULL");
    let nameless = "SELECT COUNT(*) FROM performance_schema.threads t LEFT JOIN performance_schema.setup_threads s USING (NAME) WHERE s.NAME IS NULL";
    assert_eq!(server.sql(nameless), "0");
    server.sql("UPDATE performance_schema.setup_threads SET ENABLED = 'NO' WHERE NAME LIKE '%purge%' OR NAME LIKE '%one_conn%'");
    assert_eq!(server.sql(&of("innodb/srv_purge_thread")), "NO\tYES\t\t0\tNULL");
    let threads = "SELECT DISTINCT INSTRUMENTED FROM performance_schema.threads WHERE NAME LIKE '%purge%' OR PROCESSLIST_ID = CONNECTION_ID()";
    assert_eq!(server.sql(threads), "YES", "those who are there; of sessions, actors decide");
    for (refused, number) in [
        ("UPDATE performance_schema.setup_threads SET NAME = 'x'", "1683"),
        ("UPDATE performance_schema.setup_threads SET PROPERTIES = ''", "1683"),
        ("INSERT INTO performance_schema.setup_threads (NAME) VALUES ('x')", "1142"),
        ("DELETE FROM performance_schema.setup_threads", "1142"),
        ("TRUNCATE performance_schema.setup_threads", "1142"),
    ] {
        assert!(server.sql_error(refused).contains(number), "{refused}");
    }
    server.stop();
    let server = Server::start(folder.path());
    assert_eq!(server.sql(&of("innodb/srv_purge_thread")), "YES\tYES\t\t0\tNULL", "not kept");
}

#[test]
fn what_sessions_counted_is_their_accounts_when_they_end() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("FLUSH STATUS");
    let of = |table: &str, of: &str| {
        let query = format!(
            "SELECT VARIABLE_VALUE FROM performance_schema.status_by_{table} WHERE {of} AND VARIABLE_NAME = 'Handler_write'"
        );
        server.sql(&query).parse::<u64>().unwrap()
    };
    let mut session = server.converse();
    let thread = session.ask("SELECT PS_CURRENT_THREAD_ID()")[0].clone();
    session.ask("INSERT INTO d.t VALUES (10, 1), (11, 1), (12, 1)");
    assert_eq!(of("thread", &format!("THREAD_ID = {thread}")), 3);
    server.sql("INSERT INTO d.t VALUES (20, 1)");
    let all = || {
        [
            of("account", "USER = 'root'"),
            of("user", "USER = 'root'"),
            of("host", "HOST = 'localhost'"),
        ]
    };
    assert_eq!(all(), [4; 3], "one that is there, one that went");
    server.sql("TRUNCATE performance_schema.status_by_user");
    assert_eq!(all(), [4, 3, 4]);
    server.sql("TRUNCATE performance_schema.status_by_thread");
    assert_eq!(of("thread", &format!("THREAD_ID = {thread}")), 0);
    assert_eq!(all(), [4, 3, 4], "they are the accounts' now");
    server.sql("FLUSH STATUS");
    assert_eq!(all(), [0; 3]);
}

#[test]
fn accounts_users_and_hosts_count_connections() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut observer = server.converse();
    let accounts = "SELECT USER, HOST, CURRENT_CONNECTIONS, TOTAL_CONNECTIONS FROM performance_schema.accounts WHERE USER IS NOT NULL";
    let users = "SELECT USER, CURRENT_CONNECTIONS, TOTAL_CONNECTIONS FROM performance_schema.users WHERE USER = 'root'";
    // A client's process ends before its session does.
    let until_there_are = |observer: &mut Conversation, sessions: u32| {
        let current = format!(
            "SELECT 1 FROM performance_schema.accounts WHERE USER = 'root' AND CURRENT_CONNECTIONS = {sessions}"
        );
        until_answered(|| observer.ask(&current).concat(), &current);
    };
    until_there_are(&mut observer, 1);
    observer.ask("TRUNCATE performance_schema.accounts");
    assert_eq!(observer.ask(accounts), ["root\tlocalhost\t1\t1"]);
    let row = observer.ask(users).concat();
    let before: u64 = row.strip_prefix("root\t1\t").unwrap().parse().unwrap();
    let mut other = server.converse();
    let thread = other.ask("SELECT PS_CURRENT_THREAD_ID()").concat();
    assert_eq!(observer.ask(accounts), ["root\tlocalhost\t2\t2"]);
    server.sql("DO 1");
    until_there_are(&mut observer, 2);
    assert_eq!(observer.ask(accounts), ["root\tlocalhost\t2\t3"]);
    observer.ask("TRUNCATE performance_schema.accounts");
    assert_eq!(observer.ask(accounts), ["root\tlocalhost\t2\t2"]);
    assert_eq!(observer.ask(users), [format!("root\t2\t{}", before + 2)], "truncated alone");
    let begun_anew = || {
        let of = |by: &str, who: &str| {
            format!(
                "(SELECT COUNT_STAR < 9 FROM performance_schema.events_statements_summary_by_{by}_by_event_name \
                 WHERE {who} AND EVENT_NAME = 'statement/sql/do')"
            )
        };
        let other = format!("THREAD_ID = {thread}");
        let (account, user, host) = (
            of("account", "USER = 'root'"),
            of("user", "USER = 'root'"),
            of("host", "HOST = 'localhost'"),
        );
        format!("SELECT {}, {account}, {user}, {host}", of("thread", &other))
    };
    let run = |other: &mut Conversation| (0..9).for_each(|_| drop(other.ask("DO 1")));
    for (table, anew) in
        [("accounts", "1\t1\t0\t0"), ("users", "1\t1\t1\t0"), ("hosts", "1\t1\t0\t1")]
    {
        run(&mut other);
        assert_eq!(observer.ask(&begun_anew()), ["0\t0\t0\t0"], "{table}");
        observer.ask(&format!("TRUNCATE performance_schema.{table}"));
        assert_eq!(observer.ask(&begun_anew()), [anew], "{table}");
    }
    assert_eq!(observer.ask(accounts), ["root\tlocalhost\t2\t2"]);
    assert_eq!(observer.ask(users), ["root\t2\t2"]);
    drop(other);
    until_there_are(&mut observer, 1);
    let hosts = "SELECT HOST FROM performance_schema.hosts ORDER BY 1";
    assert_eq!(observer.ask(hosts), ["NULL", "localhost"]);
    // Two reads: a thread of the server's may begin or end between them.
    let threads = "SELECT 1 FROM performance_schema.hosts WHERE HOST IS NULL
                   AND CURRENT_CONNECTIONS = (SELECT COUNT(*) FROM performance_schema.threads WHERE TYPE = 'BACKGROUND')";
    until_rows(&server, threads);
}

#[test]
fn who_holds_a_mutex_is_seen_while_its_holds_are_timed() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let locked = "SELECT COUNT(*) FROM performance_schema.mutex_instances WHERE LOCKED_BY_THREAD_ID IS NOT NULL";
    assert_eq!(server.sql(locked), "0");
    server.sql("UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE NAME LIKE 'wait/synch/mutex/%'");
    server.sql("SELECT * FROM d.t");
    let known = "SELECT COUNT(*) > 3, COUNT(*) = COUNT(DISTINCT OBJECT_INSTANCE_BEGIN) FROM performance_schema.mutex_instances";
    assert_eq!(server.sql(known), "1\t1");
    let both = "SELECT COUNT(*) FROM performance_schema.mutex_instances m
                JOIN performance_schema.events_waits_summary_by_instance w USING (OBJECT_INSTANCE_BEGIN) WHERE m.NAME <> w.EVENT_NAME";
    assert_eq!(server.sql(both), "0");
    server.sql("SET GLOBAL limpid_instrument_level = def");
    assert_eq!(server.sql(locked), "0");
}

#[test]
fn a_session_that_rests_keeps_its_figures_and_its_history() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    let thread = session.ask("SELECT PS_CURRENT_THREAD_ID()")[0].clone();
    let digest = "DIGEST_TEXT = 'SELECT ? * `c` FROM `d` . `t`'";
    let counted = format!(
        "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_by_digest WHERE {digest}"
    );
    let recorded = format!(
        "SELECT COUNT(*), COUNT(DISTINCT DIGEST) FROM performance_schema.events_statements_history WHERE THREAD_ID = {thread} AND {digest}"
    );
    (1..4).for_each(|n| drop(session.ask(&format!("SELECT {n} * c FROM d.t"))));
    let seen = || [server.sql(&counted), server.sql(&recorded)];
    assert_eq!(seen(), ["3", "3\t1"]);
    // A session rests when nothing came for ten seconds.
    testkit::pause(10_500);
    assert_eq!(seen(), ["3", "3\t1"]);
    session.ask("SELECT 4 * c FROM d.t");
    assert_eq!(seen(), ["4", "4\t1"]);
}

#[test]
fn who_waits_for_a_table_is_seen_with_who_blocks() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut holder = server.converse();
    let id = |rows: Vec<String>| rows[0].clone();
    let (connection, thread) =
        (id(holder.ask("SELECT CONNECTION_ID()")), id(holder.ask("SELECT PS_CURRENT_THREAD_ID()")));
    let locks = "SELECT OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME, LOCK_TYPE, LOCK_DURATION, LOCK_STATUS, OWNER_THREAD_ID
                 FROM performance_schema.metadata_locks";
    // As MySQL 9.7 shows them.
    for (hold, expected) in [
        ("BEGIN; SELECT * FROM d.t", "TABLE\td\tt\tSHARED_READ\tTRANSACTION\tGRANTED"),
        ("BEGIN; UPDATE d.t SET c = 7", "TABLE\td\tt\tSHARED_WRITE\tTRANSACTION\tGRANTED"),
        ("LOCK TABLES d.t READ", "TABLE\td\tt\tSHARED_READ_ONLY\tTRANSACTION\tGRANTED"),
        ("LOCK TABLES d.t WRITE", "TABLE\td\tt\tSHARED_NO_READ_WRITE\tTRANSACTION\tGRANTED"),
        ("LOCK TABLES d.t WRITE", "GLOBAL\tNULL\tNULL\tINTENTION_EXCLUSIVE\tSTATEMENT\tGRANTED"),
        ("LOCK INSTANCE FOR BACKUP", "BACKUP LOCK\tNULL\tNULL\tSHARED\tEXPLICIT\tGRANTED"),
        ("FLUSH TABLES WITH READ LOCK", "GLOBAL\tNULL\tNULL\tSHARED\tEXPLICIT\tGRANTED"),
        ("FLUSH TABLES WITH READ LOCK", "COMMIT\tNULL\tNULL\tSHARED\tEXPLICIT\tGRANTED"),
        ("DO GET_LOCK('a', 1)", "USER LEVEL LOCK\tNULL\ta\tEXCLUSIVE\tEXPLICIT\tGRANTED"),
    ] {
        holder.ask(hold);
        let rows = server.sql(locks);
        assert!(rows.lines().any(|l| l == format!("{expected}\t{thread}")), "{hold}:\n{rows}");
        let twice = "SELECT COUNT(*) - COUNT(DISTINCT OBJECT_INSTANCE_BEGIN) FROM performance_schema.metadata_locks";
        assert_eq!(server.sql(twice), "0");
        holder.ask("ROLLBACK; UNLOCK TABLES; UNLOCK INSTANCE; DO RELEASE_ALL_LOCKS()");
    }
    assert_eq!(server.sql(locks), "");
    holder.ask("BEGIN; SELECT * FROM d.t");
    let mut waiter = server.converse();
    waiter.send("ALTER TABLE d.t ADD x INT");
    let waits = until_rows(
        &server,
        "SELECT object_schema, object_name, waiting_account, waiting_lock_type, waiting_query, blocking_thread_id, blocking_pid, blocking_account,
                blocking_lock_type, blocking_lock_duration, sql_kill_blocking_query, sql_kill_blocking_connection,
                blocking_trx_age < 600, blocking_last_statement LIKE 'SELECT ''answered %'
         FROM sys.schema_table_lock_waits WHERE blocking_lock_type = 'SHARED_READ'",
    );
    let expected = format!(
        "d\tt\troot@localhost\tEXCLUSIVE\tALTER TABLE d.t ADD x INT\t{thread}\t{connection}\troot@localhost\tSHARED_READ\tTRANSACTION\tKILL QUERY {connection}\tKILL {connection}\t1\t1"
    );
    assert_eq!(waits, expected);
    let current = "SELECT w.EVENT_NAME, w.OPERATION, w.OBJECT_TYPE, w.OBJECT_SCHEMA, w.OBJECT_NAME, w.TIMER_WAIT > 0, s.SQL_TEXT, l.LOCK_STATUS
                   FROM performance_schema.events_waits_current w
                   JOIN performance_schema.events_statements_current s ON s.THREAD_ID = w.THREAD_ID AND s.EVENT_ID = w.NESTING_EVENT_ID
                   LEFT JOIN performance_schema.metadata_locks l ON l.OBJECT_INSTANCE_BEGIN = w.OBJECT_INSTANCE_BEGIN
                   AND l.OWNER_THREAD_ID = s.THREAD_ID AND l.OWNER_EVENT_ID = s.EVENT_ID";
    assert_eq!(server.sql(current), "", "the consumer is off");
    server.sql("UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_waits_current'");
    let waits = "wait/lock/metadata/sql/mdl\tmetadata lock\tTABLE\td\tt\t1\tALTER TABLE d.t ADD x INT\tPENDING";
    assert_eq!(server.sql(current), waits);
    let idle = format!(
        "SELECT EVENT_NAME, OPERATION, NESTING_EVENT_ID FROM performance_schema.events_waits_current WHERE THREAD_ID = {thread}"
    );
    assert_eq!(server.sql(&idle), "idle\tidle\tNULL");
    let handles = "SELECT OBJECT_SCHEMA, OBJECT_NAME, EXTERNAL_LOCK FROM performance_schema.table_handles WHERE OBJECT_NAME = 't'";
    assert_eq!(server.sql(handles), "d\tt\tNULL", "between two statements");
    let kill = server.sql("SELECT sql_kill_blocking_connection FROM sys.schema_table_lock_waits WHERE blocking_lock_type = 'SHARED_READ'");
    server.sql(&kill);
    waiter.receive();
    // Who has locked a table without a transaction has no age.
    waiter.ask("LOCK TABLES d.t WRITE");
    let mut reader = server.converse();
    reader.send("SELECT c FROM d.t");
    let waits = until_rows(
        &server,
        "SELECT waiting_query, blocking_trx_age, blocking_last_statement LIKE 'SELECT ''answered %' FROM sys.x$schema_table_lock_waits
         WHERE blocking_lock_type = 'SHARED_NO_READ_WRITE'",
    );
    assert_eq!(waits, "SELECT c FROM d.t\tNULL\t1");
    waiter.ask("UNLOCK TABLES");
    reader.receive();
    assert_eq!(server.sql("SELECT COUNT(*) FROM sys.schema_table_lock_waits"), "0");
}

#[test]
fn a_flush_begins_the_status_of_every_session_anew() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut other = server.converse();
    let selects = |lines: Vec<String>| lines.join("\n");
    other.ask("SELECT 1");
    let counted = selects(other.ask("SHOW SESSION STATUS LIKE 'Com_select'"));
    let of_all = |server: &Server| -> u64 {
        let line = server.sql("SHOW GLOBAL STATUS LIKE 'Com_select'");
        line.rsplit('\t').next().unwrap().parse().unwrap()
    };
    let before = of_all(&server);
    server.sql("FLUSH STATUS");
    assert_ne!(counted, "Com_select\t0");
    assert_eq!(selects(other.ask("SHOW SESSION STATUS LIKE 'Com_select'")), "Com_select\t0");
    assert!(of_all(&server) >= before, "those of the server go on");
    let most = server.sql("SHOW GLOBAL STATUS LIKE 'Max_used_connections'");
    assert_eq!(most, "Max_used_connections\t2");
}

#[test]
fn the_error_log_is_a_table() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let ready = "SELECT PRIO, SUBSYSTEM, THREAD_ID, DATA LIKE '%ready for connections%', LOGGED BETWEEN NOW() - INTERVAL 1 HOUR AND NOW(6)
                 FROM performance_schema.error_log WHERE ERROR_CODE = 'MY-010931'";
    assert_eq!(server.sql(ready), "System\tServer\t0\t1\t1");
    let twice =
        "SELECT COUNT(*) > 1, COUNT(*) - COUNT(DISTINCT LOGGED) FROM performance_schema.error_log";
    assert_eq!(server.sql(twice), "1\t0");
}

#[test]
fn histories_and_digests_have_the_room_that_options_give() {
    let folder = TempDir::new();
    let options = [
        "--performance-schema-events-statements-history-size=3",
        "--performance-schema-events-transactions-history-size=2",
        "--performance-schema-digests-size=4",
        "--performance-schema-max-prepared-statements-instances=2",
        "--performance-schema-max-sql-text-length=10",
        "--performance-schema-events-statements-history-long-size=-1",
    ];
    let server = options
        .iter()
        .fold(Server::with(), |with, option| with.option(*option))
        .start(folder.path());
    let mut session = server.converse();
    for n in 0..6 {
        session.ask(&format!("SELECT {n}, {n}, 'a long text' AS c{n}"));
    }
    session.ask("CREATE DATABASE d");
    session.ask("CREATE TABLE d.t (a INT)");
    for n in 0..4 {
        session.ask(&format!("INSERT INTO d.t VALUES ({n})"));
    }
    let own = "THREAD_ID = PS_CURRENT_THREAD_ID()";
    let kept = session.ask(&format!(
        "SELECT COUNT(*), MAX(LENGTH(SQL_TEXT)) FROM performance_schema.events_statements_history WHERE {own}"
    ));
    assert_eq!(kept, ["3\t10"]);
    let transactions = session.ask(&format!(
        "SELECT COUNT(*) FROM performance_schema.events_transactions_history WHERE {own}"
    ));
    assert_eq!(transactions, ["2"]);
    let digests = "SELECT COUNT(*), SUM(DIGEST IS NULL), MAX(LENGTH(QUERY_SAMPLE_TEXT)) FROM performance_schema.events_statements_summary_by_digest";
    assert_eq!(session.ask(digests), ["5\t1\t10"]);
    let lost = "SELECT VARIABLE_VALUE > 0 FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Performance_schema_digest_lost'";
    assert_eq!(session.ask(lost), ["1"]);
    for n in 0..3 {
        session.ask(&format!("PREPARE p{n} FROM 'SELECT ?'"));
    }
    let listed = "SELECT COUNT(*), (SELECT VARIABLE_VALUE FROM performance_schema.global_status
                  WHERE VARIABLE_NAME = 'Performance_schema_prepared_statements_lost') FROM performance_schema.prepared_statements_instances";
    assert_eq!(session.ask(listed), ["2\t1"]);
    let chosen = "SELECT @@performance_schema_events_statements_history_long_size, @@performance_schema_accounts_size";
    assert_eq!(session.ask(chosen), ["10000\t-1"]);
}

#[test]
fn a_small_server_has_small_histories() {
    let sizes = "SELECT @@performance_schema_events_statements_history_size, @@performance_schema_events_waits_history_long_size,
                 @@performance_schema_digests_size, @@table_definition_cache";
    let started = |options: &[&str]| {
        let folder = TempDir::new();
        let start = options.iter().fold(Server::with(), |start, option| start.option(*option));
        let server = start.start(folder.path());
        let mut session = server.converse();
        for n in 0..12 {
            session.ask(&format!("SELECT {n}"));
        }
        let kept = session.ask("SELECT COUNT(*) FROM performance_schema.events_statements_history WHERE THREAD_ID = PS_CURRENT_THREAD_ID()");
        (server.sql(sizes), kept.concat())
    };
    let told = |sizes: &str, kept: &str| (sizes.to_string(), kept.to_string());
    let small = ["--max-connections=100", "--table-open-cache=400", "--table-definition-cache=400"];
    assert_eq!(started(&small), told("5\t100\t1000\t400", "5"));
    assert_eq!(started(&["--table-open-cache=400"]), told("10\t1000\t5000\t600", "10"));
    assert_eq!(started(&[]), told("10\t10000\t10000\t2000", "10"));
    let given = ["--table-definition-cache=2000", "--performance-schema-digests-size=-1"];
    assert_eq!(started(&given), told("10\t10000\t10000\t2000", "10"));
}

/// The histories of all sessions do not need those of each.
#[test]
fn the_histories_of_all_stand_alone() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql(
        "UPDATE performance_schema.setup_consumers SET ENABLED = IF(NAME LIKE '%_long', 'YES', 'NO')
         WHERE NAME LIKE 'events_statements_history%' OR NAME LIKE 'events_transactions_history%'",
    );
    let mut session = server.converse();
    let thread = session.ask("SELECT PS_CURRENT_THREAD_ID()").concat();
    session.ask("BEGIN; INSERT INTO d.t VALUES (77, 1); ROLLBACK");
    session.send("SELECT nothing FROM d.t");
    drop(session.receive());
    let of = |table: &str, columns: &str| {
        server.sql(&format!(
            "SELECT {columns} FROM performance_schema.{table} WHERE THREAD_ID = {thread}"
        ))
    };
    assert_eq!(of("events_statements_history", "COUNT(*)"), "0");
    assert_eq!(of("events_transactions_history", "COUNT(*)"), "0");
    let texts = of("events_statements_history_long", "CONCAT(SQL_TEXT, ' ', MYSQL_ERRNO)");
    let expected = [
        "BEGIN 0",
        "INSERT INTO d.t VALUES (77, 1) 0",
        "ROLLBACK 0",
        "SELECT nothing FROM d.t 1054",
    ];
    assert!(expected.iter().all(|text| texts.lines().any(|line| line == *text)), "{texts}");
    let states = of("events_transactions_history_long", "STATE");
    assert!(states.lines().any(|state| state == "ROLLED BACK"), "{states}");
}

#[test]
fn the_histograms_of_digests_are_emptied_alone() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    (0..3).for_each(|_| drop(session.ask("SELECT c FROM d.t WHERE id = 1")));
    let digest = "DIGEST_TEXT = 'SELECT `c` FROM `d` . `t` WHERE `id` = ?'";
    let counts = format!(
        "SELECT COUNT_STAR, (SELECT SUM(COUNT_BUCKET) FROM performance_schema.events_statements_histogram_by_digest h WHERE h.DIGEST = s.DIGEST)
         FROM performance_schema.events_statements_summary_by_digest s WHERE {digest}"
    );
    assert_eq!(server.sql(&counts), "3\t3");
    server.sql("TRUNCATE performance_schema.events_statements_histogram_by_digest");
    assert_eq!(server.sql(&counts), "3\t0");
    session.ask("SELECT c FROM d.t WHERE id = 2");
    assert_eq!(server.sql(&counts), "4\t1");
    drop(session);
    assert_eq!(server.sql(&counts), "4\t1", "what the session left");
}

#[test]
fn attributes_of_connections_have_the_room_that_an_option_gives() {
    let folder = TempDir::new();
    let status = "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME LIKE 'Performance_schema_session_connect_attrs%' ORDER BY VARIABLE_NAME";
    let own = "SELECT COUNT(*), SUM(ATTR_NAME = '_truncated') FROM performance_schema.session_connect_attrs WHERE PROCESSLIST_ID = CONNECTION_ID()";
    let size = "performance-schema-session-connect-attrs-size";
    let server = Server::with().option(format!("--{size}=-1")).start(folder.path());
    let all: u64 = server.sql(own).split('\t').next().unwrap().parse().unwrap();
    assert!(all > 2);
    let seen = server.sql(status);
    let (longest, lost) = seen.split_once('\n').unwrap();
    assert!(longest.parse::<u64>().unwrap() > 40 && lost == "0", "{seen}");
    drop(server);
    let server = Server::with().option(format!("--{size}=30")).start(folder.path());
    let kept = server.sql(own);
    let (some, cut) = kept.split_once('\t').unwrap();
    assert!(some.parse::<u64>().unwrap() < all && cut == "1", "{kept}");
    let lost = server.sql(status);
    assert_eq!(lost.split_once('\n').map(|(longest_seen, _)| longest_seen), Some(longest));
    assert_ne!(lost.split_once('\n').map(|(_, lost)| lost), Some("0"));
    assert_eq!(server.sql("SELECT @@performance_schema_session_connect_attrs_size"), "30");
}

/// What runs is told by its instrument as soon as its command is known, also where its program is kept from before.
#[test]
fn a_text_that_runs_is_told_by_its_instrument() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    let ids = session.ask("SELECT PS_CURRENT_THREAD_ID(), CONNECTION_ID()").concat();
    let (thread, connection) = ids.split_once('\t').unwrap();
    session.ask("PREPARE s FROM 'SELECT SLEEP(60)'");
    for (statement, instrument) in [
        ("SELECT SLEEP(60)", "select"),
        ("UPDATE d.t SET c = SLEEP(60) WHERE id = 1", "update"),
        ("SELECT SLEEP(60)", "select"),
        ("DO SLEEP(60)", "do"),
        ("EXECUTE s", "execute_sql"),
        ("SELECT SLEEP(60)", "select"),
    ] {
        session.send(statement);
        let running = format!(
            "SELECT EVENT_NAME FROM performance_schema.events_statements_current
             WHERE THREAD_ID = {thread} AND END_EVENT_ID IS NULL AND SQL_TEXT = '{statement}' AND EVENT_NAME = 'statement/sql/{instrument}'"
        );
        until_rows(&server, &running);
        server.sql(&format!("KILL QUERY {connection}"));
        session.receive();
    }
}
