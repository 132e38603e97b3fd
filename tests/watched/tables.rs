//! Tables of the Performance Schema about tables: statements' locks.

use super::with_table;
use testkit::{Conversation, TempDir};

const LOCKS: &str = "SELECT OBJECT_NAME, COUNT_STAR, COUNT_READ, COUNT_WRITE, COUNT_READ_EXTERNAL, COUNT_WRITE_EXTERNAL, COUNT_READ_NORMAL + COUNT_WRITE_NORMAL
                     FROM performance_schema.table_lock_waits_summary_by_table WHERE OBJECT_SCHEMA = 'd' AND COUNT_STAR > 0 ORDER BY 1";

/// What statements add to the counts of reads and writes of tables, as `name reads writes`.
fn locked_by(session: &mut Conversation, statements: &[&str]) -> Vec<String> {
    session.ask("TRUNCATE performance_schema.table_lock_waits_summary_by_table");
    statements.iter().for_each(|statement| drop(session.ask(statement)));
    let rows = session.ask(LOCKS);
    let row = |row: String| {
        let cells: Vec<&str> = row.split('\t').collect();
        let [name, all, reads, writes, read, write, other] = cells[..] else { panic!("{row}") };
        let count = |text: &str| text.parse::<u64>().unwrap();
        assert_eq!(count(all), count(reads) + count(writes), "{row}");
        assert_eq!((reads, writes, other), (read, write, "0"), "{row}");
        format!("{name} {reads} {writes}")
    };
    rows.into_iter().map(row).collect()
}

/// The counts are MySQL 9.7's, but that a table counts once however often it is named.
#[test]
fn a_statement_locks_each_of_its_tables_once() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    session.ask("USE d");
    session.ask("CREATE TABLE u (id INT PRIMARY KEY, c INT)");
    session.ask("CREATE VIEW v AS SELECT * FROM t");
    for (statements, counted) in [
        (&["SELECT * FROM t WHERE id = 1"][..], &["t 1 0"][..]),
        (&["SELECT * FROM t WHERE id = 99"], &["t 1 0"]),
        (&["SELECT * FROM t a JOIN t b"], &["t 1 0"]),
        (&["SELECT * FROM t JOIN u USING (id)"], &["t 1 0", "u 1 0"]),
        (&["SELECT * FROM v"], &["t 1 0"]),
        (&["SELECT * FROM t WHERE id = 1 FOR UPDATE"], &["t 0 1"]),
        (&["SELECT * FROM t WHERE id = 1 FOR SHARE"], &["t 1 0"]),
        (&["INSERT INTO u VALUES (3, 3), (4, 4)"], &["u 0 1"]),
        (&["INSERT INTO u SELECT id + 10, c FROM t"], &["t 1 0", "u 0 1"]),
        (&["UPDATE t SET c = 4 WHERE id = 99"], &["t 0 1"]),
        (&["UPDATE t JOIN u USING (id) SET t.c = 5"], &["t 0 1", "u 1 0"]),
        (&["DELETE FROM u WHERE id = 3"], &["u 0 1"]),
        (&["DO (SELECT MAX(id) FROM u)", "SET @a = (SELECT MAX(id) FROM u)"], &["u 2 0"]),
        (&["BEGIN", "SELECT * FROM t", "SELECT * FROM t", "COMMIT"], &["t 2 0"]),
        (&["PREPARE s FROM 'SELECT * FROM t WHERE id = 1'"], &[]),
        (&["EXECUTE s", "EXECUTE s"], &["t 2 0"]),
        (&["SELECT * FROM t WHERE id = 1", "SELECT * FROM t WHERE id = 2"], &["t 2 0"]),
        (&["LOCK TABLES t READ, u WRITE", "UNLOCK TABLES"], &["t 1 0", "u 0 1"]),
        (
            &[
                "LOCK TABLES t READ, u WRITE",
                "SELECT * FROM t WHERE id = 1",
                "SELECT * FROM t",
                "INSERT INTO u VALUES (50, 1)",
                "UNLOCK TABLES",
            ],
            &["t 1 0", "u 0 1"],
        ),
        (&["FLUSH TABLES t WITH READ LOCK", "UNLOCK TABLES"], &["t 1 0"]),
    ] {
        assert_eq!(locked_by(&mut session, statements), counted, "{statements:?}");
    }
}

#[test]
fn locks_of_tables_add_up_by_instrument_and_object() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    server.sql("TRUNCATE performance_schema.objects_summary_global_by_type");
    session.ask("SELECT * FROM d.t WHERE id = 1");
    session.ask("UPDATE d.t SET c = 3 WHERE id = 2");
    let by_instrument = |server: &testkit::Server| {
        server.sql(
            "SELECT COUNT_STAR FROM performance_schema.events_waits_summary_global_by_event_name WHERE EVENT_NAME = 'wait/lock/table/sql/handler'",
        )
    };
    assert_eq!(by_instrument(&server), "2");
    let object = "SELECT OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME, COUNT_STAR, SUM_TIMER_WAIT > 0, MIN_TIMER_WAIT > 0
                  FROM performance_schema.objects_summary_global_by_type WHERE OBJECT_NAME = 't'";
    // Two reads, a change, two locks.
    assert_eq!(server.sql(object), "TABLE\td\tt\t5\t1\t1");
    // What ended sessions did stays.
    drop(session);
    assert_eq!(by_instrument(&server), "2");
    server.sql("UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME = 'wait/lock/table/sql/handler'");
    server.sql("SELECT * FROM d.t WHERE id = 1; SELECT * FROM d.t");
    assert_eq!(by_instrument(&server), "2");
    server.sql("UPDATE performance_schema.setup_instruments SET ENABLED = IF(NAME LIKE '%/lock/%', 'YES', 'NO') WHERE NAME LIKE 'wait/%/table/%'");
    let io = "SELECT COUNT_STAR FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_NAME = 't'";
    let before = server.sql(io);
    server.sql("SELECT * FROM d.t WHERE id = 1; SELECT * FROM d.t");
    assert_eq!((by_instrument(&server), server.sql(io)), ("4".into(), before));
    server.sql("TRUNCATE performance_schema.events_waits_summary_global_by_event_name");
    assert_eq!(by_instrument(&server), "0");
    for (refused, number) in [
        ("DELETE FROM performance_schema.table_lock_waits_summary_by_table", "1142"),
        ("UPDATE performance_schema.objects_summary_global_by_type SET COUNT_STAR = 1", "1142"),
    ] {
        assert!(server.sql_error(refused).contains(number), "{refused}");
    }
}

/// A table of settings that LOCK TABLES names with READ is read alone.
#[test]
fn settings_that_are_locked_for_reading_are_not_changed() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let update = "UPDATE performance_schema.setup_actors SET HISTORY = 'NO'";
    let changes = [
        update,
        "DELETE FROM performance_schema.setup_actors",
        "INSERT INTO performance_schema.setup_actors (USER) VALUES ('u')",
    ];
    for change in changes {
        let refused = server
            .sql_error(&format!("LOCK TABLES performance_schema.setup_actors READ; {change}"));
        assert!(refused.contains("1099"), "{change}: {refused}");
    }
    let history = "SELECT HISTORY FROM performance_schema.setup_actors";
    assert_eq!(server.sql(history), "YES");
    server.sql(&format!("LOCK TABLES performance_schema.setup_actors WRITE; {update}"));
    assert_eq!(server.sql(history), "NO");
    server.sql(&format!(
        "LOCK TABLES performance_schema.setup_actors READ; UNLOCK TABLES; {}",
        update.replace("NO", "YES")
    ));
    assert_eq!(server.sql(history), "YES");
}

/// What depends on a key of a table of the Performance Schema may stand beside it under GROUP BY.
#[test]
fn keys_determine_their_rows() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let consumers = "FROM performance_schema.setup_consumers";
    let all = server.sql(&format!("SELECT NAME, ENABLED {consumers} ORDER BY NAME"));
    let grouped = format!("SELECT NAME, ENABLED {consumers} GROUP BY NAME ORDER BY NAME");
    assert_eq!(server.sql(&grouped), all);
    let refused = server.sql_error(&format!("SELECT NAME {consumers} GROUP BY ENABLED"));
    assert!(refused.contains("1055"), "{refused}");
    // A unique key of columns that may be NULL determines nothing.
    let digests = "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_by_digest GROUP BY SCHEMA_NAME, DIGEST";
    assert!(server.sql_error(digests).contains("1055"));
}
