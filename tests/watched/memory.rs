//! Memory of the Performance Schema.

use crate::with_table;
use testkit::{Server, TempDir};

/// CURRENT_, HIGH_NUMBER_OF_BYTES_USED and CURRENT_COUNT_USED of an instrument.
fn used(server: &Server, instrument: &str) -> [i64; 3] {
    let row = server.sql(&format!(
        "SELECT CURRENT_NUMBER_OF_BYTES_USED, HIGH_NUMBER_OF_BYTES_USED, CURRENT_COUNT_USED
         FROM performance_schema.memory_summary_global_by_event_name WHERE EVENT_NAME = 'memory/{instrument}'"
    ));
    let numbers: Vec<i64> = row.split('\t').map(|n| n.parse().unwrap_or(-1)).collect();
    numbers.try_into().unwrap()
}

#[test]
fn memory_is_what_the_parts_of_the_server_keep() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let number = |query: &str| server.sql(query).parse::<i64>().unwrap();
    assert_eq!(used(&server, "innodb/buf_buf_pool")[0], number("SELECT @@innodb_buffer_pool_size"));
    assert_eq!(
        used(&server, "innodb/log_buffer_memory")[0],
        number("SELECT @@innodb_log_buffer_size")
    );
    let programs = used(&server, "sql/plan_cache");
    assert!(programs[0] > 0 && programs[2] > 0, "{programs:?}");

    // Rows that are locked one by one, and sorted.
    server.sql(
        "SET cte_max_recursion_depth = 20000; CREATE TABLE d.u (id INT PRIMARY KEY, c INT);
         INSERT INTO d.u WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 20000) SELECT n * 3, n FROM r",
    );
    let mut session = server.converse();
    session.ask("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    session.ask("BEGIN");
    session.ask("SELECT COUNT(*) FROM d.u WHERE c % 2 = 0 FOR UPDATE");
    let locked = used(&server, "innodb/lock0lock");
    assert!(locked[0] > 100_000 && locked[2] == 1, "{locked:?}");
    session.ask("ROLLBACK");
    let released = used(&server, "innodb/lock0lock");
    assert_eq!([released[0], released[2]], [0, 0]);
    assert!(released[1] >= locked[0]);
    server.sql("SELECT id FROM (SELECT id, REPEAT('x', 50) x FROM d.u) t ORDER BY x, id DESC LIMIT 19999, 1");
    let rows = used(&server, "sql/statement_rows");
    assert!(rows[0] == 0 && rows[1] > 200_000 && rows[2] == 0, "{rows:?}");

    let own = "SELECT ENABLED, TIMED FROM performance_schema.setup_instruments WHERE NAME = 'memory/performance_schema/file_instances'";
    server.sql(
        "UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME LIKE 'memory/%'",
    );
    assert_eq!(server.sql(own), "YES\tNULL");
    let files = used(&server, "performance_schema/file_instances");
    server.sql("CREATE TABLE d.v (a INT)");
    assert_eq!(used(&server, "performance_schema/file_instances")[2], files[2] + 1);
    server.sql("TRUNCATE performance_schema.memory_summary_global_by_event_name");
    let balanced = "SELECT COUNT_ALLOC - COUNT_FREE - CURRENT_COUNT_USED, COUNT_FREE, LOW_NUMBER_OF_BYTES_USED - HIGH_NUMBER_OF_BYTES_USED
        FROM performance_schema.memory_summary_global_by_event_name WHERE EVENT_NAME = 'memory/innodb/buf_buf_pool'";
    assert_eq!(server.sql(balanced), "0\t0\t0");
}

#[test]
fn the_engine_s_status_is_what_is_kept() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let told = || -> Vec<(String, i64)> {
        let rows = server.sql("SHOW ENGINE PERFORMANCE_SCHEMA STATUS");
        let row = |line: &str| {
            let [engine, name, n]: [&str; 3] =
                line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            assert_eq!(engine, "performance_schema");
            (name.to_string(), n.parse().unwrap())
        };
        rows.lines().map(row).collect()
    };
    let of = |told: &[(String, i64)], name: &str| {
        told.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}")).1
    };
    let before = told();
    let (last, rest) = before.split_last().unwrap();
    let bytes = rest.iter().filter(|(name, _)| name.ends_with(".memory"));
    let sum: i64 = bytes.map(|(_, n)| n).sum();
    assert_eq!(*last, ("performance_schema.memory".to_string(), sum));
    assert!(last.1 > 10_000, "{before:?}");
    let [kept, _, pieces] = used(&server, "performance_schema/file_instances");
    assert!(pieces > 0 && kept > 0);
    assert_eq!(of(&before, "file_instances.memory"), kept);
    assert_eq!(of(&before, "file_instances.count"), pieces);
    server.sql(&(0..50).map(|n| format!("SELECT 1 AS digest_{n};")).collect::<String>());
    let digests = "events_statements_summary_by_digest.count";
    assert!(of(&told(), digests) >= of(&before, digests) + 50);
    let full = of(&told(), "events_statements_summary_by_digest.memory");
    server.sql("TRUNCATE performance_schema.events_statements_summary_by_digest");
    assert!(of(&told(), "events_statements_summary_by_digest.memory") < full);
}
