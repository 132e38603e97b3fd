//! What one session does is its thread's, its account's, its user's and its host's; and which tables are looked at.

use super::{answered, until_rows, with_table};
use testkit::raw::RawClient;
use testkit::{Server, TempDir, TextClient};

/// Where the session says that it comes from, so that its host has nobody else's figures.
const ADDRESS: &str = "203.0.113.9";

/// A session of user `w` from [`ADDRESS`].
fn connect(server: &Server) -> RawClient {
    let mut client = RawClient::connect(server);
    let line = format!("PROXY TCP4 {ADDRESS} 10.0.0.1 8080 3306\r\n");
    assert!(client.send(line.as_bytes()));
    client.login_as("w", "");
    client
}

/// The number of a statement's error, 0 where it went well; rows are read and forgotten.
fn code(client: &mut RawClient, sql: &str) -> u16 {
    assert!(client.command(3, sql.as_bytes()), "{sql}");
    answered(client)
}

/// What is done: a stage, six transactions of which one only reads, three errors, two rows of a table that is new, two rollbacks
/// of which one is a statement's.
const DONE: [(&str, u16); 13] = [
    ("CREATE TABLE d.o (id INT PRIMARY KEY, c INT)", 0),
    ("INSERT INTO d.o VALUES (1, 1), (2, 2)", 0),
    ("BEGIN", 0),
    ("SELECT * FROM d.o WHERE id = 1", 0),
    ("UPDATE d.o SET c = 3 WHERE id = 2", 0),
    ("COMMIT", 0),
    ("START TRANSACTION READ ONLY", 0),
    ("SELECT * FROM d.o", 0),
    ("ROLLBACK", 0),
    ("SELECT * FROM d.nothing", 1146),
    ("SELECT * FROM d.nothing", 1146),
    ("INSERT INTO d.o VALUES (1, 1)", 1062),
    ("ALTER TABLE d.o MODIFY c VARCHAR(20)", 0),
];

/// Figures of an owner, family by family.
fn figures(server: &Server, by: &str, condition: &str) -> String {
    let p = "performance_schema.";
    server.sql(&format!(
        "SELECT (SELECT CONCAT(COUNT_STAR, ' ', SUM_TIMER_WAIT > 0) FROM {p}events_stages_summary_by_{by}_by_event_name
                 WHERE EVENT_NAME = 'stage/sql/copy to tmp table' AND {condition}),
                (SELECT CONCAT(COUNT_STAR, ' ', COUNT_READ_WRITE, ' ', COUNT_READ_ONLY, ' ', SUM_TIMER_WAIT = SUM_TIMER_READ_WRITE + SUM_TIMER_READ_ONLY)
                 FROM {p}events_transactions_summary_by_{by}_by_event_name WHERE {condition}),
                (SELECT GROUP_CONCAT(ERROR_NUMBER, 'x', SUM_ERROR_RAISED, ' ', FIRST_SEEN <= LAST_SEEN ORDER BY ERROR_NUMBER) FROM {p}events_errors_summary_by_{by}_by_error
                 WHERE SUM_ERROR_RAISED > 0 AND {condition}),
                (SELECT GROUP_CONCAT(VARIABLE_NAME, ' ', VARIABLE_VALUE ORDER BY VARIABLE_NAME) FROM {p}status_by_{by}
                 WHERE VARIABLE_NAME IN ('Handler_write', 'Handler_rollback') AND {condition})"
    ))
}

/// Waits for tables and their locks, of an owner.
fn waits(server: &Server, by: &str, condition: &str) -> String {
    let p = "performance_schema.";
    server.sql(&format!(
        "SELECT GROUP_CONCAT(EVENT_NAME, ' ', COUNT_STAR ORDER BY EVENT_NAME) FROM {p}events_waits_summary_by_{by}_by_event_name
         WHERE EVENT_NAME LIKE 'wait/%/table/sql/handler' AND {condition}"
    ))
}

/// Pieces and bytes of sessions that are there, of an owner.
fn memory(server: &Server, by: &str, condition: &str) -> String {
    server.sql(&format!(
        "SELECT IFNULL(SUM(CURRENT_COUNT_USED), 0), IFNULL(SUM(CURRENT_NUMBER_OF_BYTES_USED), 0)
         FROM performance_schema.memory_summary_by_{by}_by_event_name WHERE EVENT_NAME = 'memory/sql/THD' AND {condition}"
    ))
}

/// The figures are MySQL 9.7's for the same statements; rows that are read and locked, those of each owner alike.
#[test]
fn what_a_session_did_is_each_of_its_owners() {
    let folder = TempDir::new();
    let server = Server::with().option("--proxy-protocol-networks=localhost").start(folder.path());
    server.sql("CREATE DATABASE d; CREATE USER w; GRANT ALL ON *.* TO w");
    let mut session = connect(&server);
    let thread =
        server.sql("SELECT THREAD_ID FROM performance_schema.threads WHERE PROCESSLIST_USER = 'w'");
    for (sql, expected) in DONE {
        assert_eq!(code(&mut session, sql), expected, "{sql}");
    }
    let owners = [
        ("account", format!("USER = 'w' AND HOST = '{ADDRESS}'")),
        ("user", "USER = 'w'".to_string()),
        ("host", format!("HOST = '{ADDRESS}'")),
    ];
    let own = format!("THREAD_ID = {thread}");
    let expected = "1 1\t6 5 1 1\t1062x1 1,1146x2 1\tHandler_rollback 2,Handler_write 3";
    assert_eq!(figures(&server, "thread", &own), expected);
    let [waited, kept] = [waits, memory].map(|of| of(&server, "thread", &own));
    assert!(kept.starts_with("1\t"), "{kept}");
    for (by, condition) in &owners {
        assert_eq!(figures(&server, by, condition), expected, "by {by}");
        assert_eq!(waits(&server, by, condition), waited, "by {by}");
        assert_eq!(memory(&server, by, condition), kept, "by {by}");
    }
    drop(session);
    until_rows(
        &server,
        &format!(
            "SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM performance_schema.threads WHERE {own})"
        ),
    );
    for (by, condition) in &owners {
        assert_eq!(figures(&server, by, condition), expected, "by {by}, of one that went");
        assert_eq!(waits(&server, by, condition), waited, "by {by}, of one that went");
        assert_eq!(memory(&server, by, condition), "0\t0", "by {by}, of one that went");
    }
    each_is_emptied_alone(&server, &owners, expected);
}

/// TRUNCATE of one owner's table leaves those of the others, family by family.
fn each_is_emptied_alone(server: &Server, owners: &[(&str, String)], expected: &str) {
    let families = [
        "events_stages_summary_by_{by}_by_event_name",
        "events_transactions_summary_by_{by}_by_event_name",
        "events_errors_summary_by_{by}_by_error",
        "status_by_{by}",
    ];
    for (n, (by, condition)) in owners.iter().enumerate() {
        for (family, name) in families.iter().enumerate() {
            server.sql(&format!("TRUNCATE performance_schema.{}", name.replace("{by}", by)));
            let found = figures(server, by, condition);
            let found = found.split('\t').nth(family).unwrap();
            let nothing = ["0 0", "0 0 0 1", "NULL", "Handler_rollback 0,Handler_write 0"][family];
            assert_eq!(found, nothing, "{name} by {by}");
        }
        for (other, condition) in &owners[n + 1..] {
            assert_eq!(figures(server, other, condition), expected, "{by} was emptied");
        }
    }
}

/// Tables' reads and changes, their locks and both, as `name count timed`.
fn seen(server: &Server) -> [String; 3] {
    ["table_io_waits_summary_by_table", "table_lock_waits_summary_by_table", "objects_summary_global_by_type"].map(
        |table| {
            // A lock of a table that nobody waits for takes no time.
            let timed = if table.contains("lock") { "" } else { ", ' ', SUM_TIMER_WAIT > 0" };
            server.sql(&format!(
                "SELECT GROUP_CONCAT(OBJECT_NAME, ' ', COUNT_STAR{timed} ORDER BY OBJECT_NAME) FROM performance_schema.{table}
                 WHERE OBJECT_SCHEMA = 'e'"
            ))
        },
    )
}

/// The figures are MySQL 9.7's.
#[test]
fn a_table_that_is_switched_off_is_not_counted() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let names = ["off", "seen", "untimed"];
    server.sql("CREATE DATABASE e");
    for name in names {
        server.sql(&format!("CREATE TABLE e.{name} (id INT PRIMARY KEY, c INT, KEY (c))"));
    }
    let mut client = TextClient::connect(server.socket());
    let thread = client.query("SELECT PS_CURRENT_THREAD_ID()").unwrap().rows[0][0].clone();
    let thread = String::from_utf8(thread.unwrap()).unwrap();
    let mut counted = || {
        server.sql(
            "TRUNCATE performance_schema.table_io_waits_summary_by_table; TRUNCATE performance_schema.objects_summary_global_by_type;
             TRUNCATE performance_schema.table_lock_waits_summary_by_table; TRUNCATE performance_schema.events_waits_summary_by_thread_by_event_name",
        );
        for name in names {
            for sql in [
                format!("INSERT INTO e.{name} VALUES (1, 1)"),
                format!("SELECT * FROM e.{name} WHERE id = 1"),
                format!("UPDATE e.{name} SET c = 2 WHERE id = 1"),
                format!("DELETE FROM e.{name} WHERE id = 1"),
            ] {
                assert_eq!(client.code(&sql), 0, "{sql}");
            }
        }
        let by_thread = server.sql(&format!(
            "SELECT GROUP_CONCAT(COUNT_STAR ORDER BY EVENT_NAME) FROM performance_schema.events_waits_summary_by_thread_by_event_name
             WHERE EVENT_NAME LIKE 'wait/%/table/sql/handler' AND THREAD_ID = {thread}"
        ));
        (seen(&server), by_thread)
    };
    let expected = |io: [&str; 3], locks: [u8; 3], all: [&str; 3], by_thread: &str| {
        let list = |cells: [String; 3]| {
            let lines: Vec<_> =
                names.iter().zip(cells).map(|(name, cell)| format!("{name} {cell}")).collect();
            lines.join(",")
        };
        let told = [
            list(io.map(str::to_string)),
            list(locks.map(|n| n.to_string())),
            list(all.map(str::to_string)),
        ];
        (told, by_thread.to_string())
    };
    let of_all = expected(["6 1"; 3], [4; 3], ["10 1"; 3], "18,12");
    assert_eq!(counted(), of_all);
    let setup = "performance_schema.setup_objects";
    server.sql(&format!(
        "INSERT INTO {setup} VALUES ('TABLE', 'e', 'off', 'NO', 'YES'), ('TABLE', 'e', 'untimed', 'YES', 'NO')"
    ));
    let two = expected(["0 0", "6 1", "6 0"], [0, 4, 4], ["0 0", "10 1", "10 0"], "12,8");
    assert_eq!(counted(), two, "one off, one not timed");
    let rest = |on: &str| {
        server.sql(&format!(
            "UPDATE {setup} SET ENABLED = '{on}' WHERE OBJECT_TYPE = 'TABLE' AND OBJECT_SCHEMA = '%' AND OBJECT_NAME = '%'"
        ));
    };
    rest("NO");
    let one = expected(["0 0", "0 0", "6 0"], [0, 0, 4], ["0 0", "0 0", "10 0"], "6,4");
    assert_eq!(counted(), one, "all off but those that are named");
    rest("YES");
    server.sql(&format!("DELETE FROM {setup} WHERE OBJECT_SCHEMA = 'e'"));
    assert_eq!(counted(), of_all, "as in the beginning");
    server.sql(&format!("TRUNCATE {setup}"));
    let none = expected(["0 0"; 3], [0; 3], ["0 0"; 3], "0,0");
    assert_eq!(counted(), none, "nothing is named");
}
