//! Prepared statements of sessions, seen by others.

use super::{until_rows, with_table};
use testkit::TempDir;
use testkit::raw::RawClient;

const INSTANCES: &str = "performance_schema.prepared_statements_instances";

#[test]
fn prepared_statements_of_every_session_are_seen_by_all() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    let thread = session.ask("SELECT PS_CURRENT_THREAD_ID()").concat();
    session.ask("INSERT INTO d.t VALUES (101, 1), (102, 1)");
    session.ask("PREPARE Some FROM 'SELECT * FROM d.t WHERE id = ?'");
    session.ask("PREPARE bump FROM 'UPDATE d.t SET c = c + 1 WHERE id > ?'");
    session.ask("SET @id = 101, @from = 100");
    let of = |columns: &str| {
        server.sql(&format!(
            "SELECT {columns} FROM {INSTANCES} WHERE OWNER_THREAD_ID = {thread} ORDER BY STATEMENT_ID"
        ))
    };
    let what = "STATEMENT_NAME, SQL_TEXT, OWNER_OBJECT_TYPE, EXECUTION_ENGINE, TIMER_PREPARE > 0, OBJECT_INSTANCE_BEGIN > 0";
    let expected = "Some\tSELECT * FROM d.t WHERE id = ?\tNULL\tPRIMARY\t1\t1\n\
                    bump\tUPDATE d.t SET c = c + 1 WHERE id > ?\tNULL\tPRIMARY\t1\t1";
    assert_eq!(of(what), expected);
    assert_eq!(
        of(
            "OWNER_EVENT_ID < (SELECT MAX(OWNER_EVENT_ID) FROM performance_schema.prepared_statements_instances)"
        ),
        "1\n0"
    );
    let figures = "COUNT_REPREPARE, COUNT_EXECUTE, SUM_TIMER_EXECUTE > 0, MIN_TIMER_EXECUTE <= MAX_TIMER_EXECUTE, SUM_ROWS_SENT, SUM_ROWS_AFFECTED, SUM_ERRORS";
    assert_eq!(of(figures), "0\t0\t0\t1\t0\t0\t0\n0\t0\t0\t1\t0\t0\t0");
    for _ in 0..3 {
        session.ask("EXECUTE some USING @id");
    }
    session.ask("EXECUTE bump USING @from; SELECT 1");
    assert_eq!(of(figures), "0\t3\t1\t1\t3\t0\t0\n0\t1\t1\t1\t0\t2\t0");
    session.ask("ALTER TABLE d.t ADD COLUMN later INT");
    session.ask("EXECUTE some USING @id");
    assert_eq!(of("COUNT_REPREPARE, COUNT_EXECUTE"), "1\t4\n0\t1");
    server.sql(&format!("TRUNCATE {INSTANCES}"));
    assert_eq!(
        of("COUNT_REPREPARE, COUNT_EXECUTE, SUM_ROWS_SENT, TIMER_PREPARE"),
        "0\t0\t0\t0\n0\t0\t0\t0"
    );
    session.ask("EXECUTE some USING @id");
    assert_eq!(of("COUNT_EXECUTE, SUM_ROWS_SENT"), "1\t1\n0\t0");
    session.ask("DEALLOCATE PREPARE some");
    assert_eq!(of("STATEMENT_NAME"), "bump");
    session.ask("PREPARE bump FROM 'ALTER USER root@localhost IDENTIFIED BY \"pqr7\"'");
    assert_eq!(of("SQL_TEXT"), "ALTER USER root@localhost IDENTIFIED BY <secret>");
    assert!(server.sql_error(&format!("DELETE FROM {INSTANCES}")).contains("1142"));
}

/// EXECUTE by text is an event of its own instrument, with the text that was prepared, without passwords.
#[test]
fn what_execute_ran_is_told_by_the_text_that_was_prepared() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("CREATE USER other@localhost");
    let mut session = server.converse();
    let thread = session.ask("SELECT PS_CURRENT_THREAD_ID()").concat();
    let mut ran = |statements: &[&str]| {
        statements.iter().for_each(|statement| drop(session.ask(statement)));
        server.sql(&format!(
            "SELECT SQL_TEXT, MYSQL_ERRNO FROM performance_schema.events_statements_history
             WHERE THREAD_ID = {thread} AND EVENT_NAME = 'statement/sql/execute_sql' ORDER BY EVENT_ID DESC LIMIT 1"
        ))
    };
    let select = ["SET @id = 1", "PREPARE s FROM 'SELECT c FROM d.t WHERE id = ?'"];
    ran(&select);
    for _ in 0..2 {
        assert_eq!(ran(&["EXECUTE s USING @id"]), "SELECT c FROM d.t WHERE id = ?\t0");
    }
    assert_eq!(ran(&["EXECUTE nothing"]), "EXECUTE nothing\t1243");
    let secret = "PREPARE a FROM 'ALTER USER other@localhost IDENTIFIED BY \"pqr7\"'";
    let told = "ALTER USER other@localhost IDENTIFIED BY <secret>\t0";
    assert_eq!(ran(&[secret, "EXECUTE a"]), told);
}

/// The number of a connection.
fn connection_of(client: &mut RawClient) -> String {
    assert!(client.command(0x03, b"SELECT CONNECTION_ID()"));
    let packets: Vec<Vec<u8>> = (0..5).map(|_| client.packet().expect("a result")).collect();
    String::from_utf8(packets[3][1..].to_vec()).unwrap()
}

/// COM_STMT_FETCH whose connection is killed has failed, though nobody is told.
#[test]
fn a_fetch_that_is_killed_is_an_event_that_failed() {
    const ROWS: u32 = 50_000;
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("SET GLOBAL cte_max_recursion_depth = 1000000");
    let mut client = RawClient::connect(&server);
    client.login();
    let connection = connection_of(&mut client);
    let query = format!(
        "WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) SELECT REPEAT('x', 200) FROM n"
    );
    assert!(client.command(0x16, query.as_bytes()));
    let prepared = client.packet().expect("a statement");
    assert_eq!(prepared[0], 0, "{}", String::from_utf8_lossy(&prepared));
    let id = prepared[1..5].to_vec();
    // A column and the end, for the statement; the count of columns besides, for its cursor.
    (0..2).for_each(|_| drop(client.packet().expect("a column")));
    assert!(client.command(0x17, &[&id[..], &[1, 1, 0, 0, 0]].concat()));
    (0..3).for_each(|_| drop(client.packet().expect("a cursor")));
    assert!(client.command(0x1C, &[&id[..], &ROWS.to_le_bytes()].concat()));
    // More rows are on their way than find room there.
    assert!(client.packet().is_some());
    server.sql(&format!("KILL {connection}"));
    while client.packet().is_some() {}
    let failed = "SELECT 1 FROM performance_schema.events_statements_summary_global_by_event_name
                  WHERE EVENT_NAME = 'statement/com/Fetch' AND COUNT_STAR = 1 AND SUM_ERRORS = 1";
    until_rows(&server, failed);
}

/// COM_STMT_EXECUTE of a number that no statement has is an event of its own, which failed.
#[test]
fn a_statement_that_is_not_there_is_an_event_that_failed() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut client = RawClient::connect(&server);
    client.login();
    assert!(client.command(0x0E, b"") && client.packet().is_some(), "a ping");
    assert!(client.command(0x17, &[99, 0, 0, 0, 0, 1, 0, 0, 0]));
    assert_eq!(client.expect_error(), 1243);
    let counts = |event: &str| {
        server.sql(&format!(
            "SELECT COUNT_STAR, SUM_ERRORS FROM performance_schema.events_statements_summary_global_by_event_name
             WHERE EVENT_NAME = 'statement/com/{event}'"
        ))
    };
    assert_eq!((counts("Ping"), counts("Execute")), ("1\t0".into(), "1\t1".into()));
}
