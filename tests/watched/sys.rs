//! The views of `sys`: each can be read, and what operators ask first is answered.

use super::until_rows;
use testkit::{Server, TempDir};

#[test]
fn each_view_can_be_read_and_tells_what_happened() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, c INT, KEY a (a), KEY ab (a, b));
         INSERT INTO d.t (a, b) VALUES (1, 1), (2, 2); SELECT * FROM d.t WHERE b = 2; SELECT a, b FROM d.t WHERE a = 1 ORDER BY b",
    );
    server.sql_error("SELECT * FROM d.missing");
    let views =
        server.sql("SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'sys'");
    let views: Vec<&str> = views.lines().collect();
    assert!(views.len() > 90, "{views:?}");
    for view in views {
        let shown = server.sql(&format!("SHOW CREATE VIEW sys.`{view}`"));
        assert!(shown.contains("VIEW `sys`"), "{shown}");
        // What its query gives is what its columns say.
        server.sql(&format!("SELECT * FROM sys.`{view}`"));
    }
    let of = |sql: &str| server.sql(sql);
    assert_eq!(
        of(
            "SELECT exec_count FROM sys.statement_analysis WHERE query LIKE 'INSERT INTO `d` . `t`%'"
        ),
        "1"
    );
    assert_eq!(
        of(
            "SELECT errors FROM sys.statements_with_errors_or_warnings WHERE query LIKE '%missing%'"
        ),
        "1"
    );
    assert_eq!(
        of(
            "SELECT no_index_used_count FROM sys.statements_with_full_table_scans WHERE query LIKE '%`d` . `t` WHERE `b` = ?'"
        ),
        "1"
    );
    assert_eq!(
        // That on both columns has the order, too.
        of("SELECT index_name FROM sys.schema_unused_indexes WHERE object_schema = 'd'"),
        "a"
    );
    assert_eq!(
        of("SELECT rows_inserted > 0 FROM sys.schema_table_statistics WHERE table_schema = 'd'"),
        "1"
    );
    assert_eq!(
        of(
            "SELECT rows_full_scanned > 0 FROM sys.schema_tables_with_full_table_scans WHERE object_schema = 'd'"
        ),
        "1"
    );
    assert_eq!(
        of("SELECT statements > 5, unique_users FROM sys.host_summary WHERE host = 'localhost'"),
        "1\t1"
    );
    // A figure, and the same for people.
    assert_eq!(of("SELECT total_allocated > 1000000 FROM sys.x$memory_global_total"), "1");
    assert_eq!(of("SELECT total_allocated LIKE '%_iB' FROM sys.memory_global_total"), "1");
    assert_eq!(
        of(
            "SELECT command, current_statement LIKE '%session%' FROM sys.x$session WHERE conn_id = CONNECTION_ID()"
        ),
        "Query\t1"
    );
    assert_eq!(
        of("SELECT COUNT(*) > 0 FROM sys.io_global_by_file_by_bytes WHERE file LIKE '@@datadir/%'"),
        "1"
    );
}

#[test]
fn who_waits_for_a_row_is_told_with_who_has_it() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, a INT); INSERT INTO d.t VALUES (1, 1)");
    let (mut holder, mut waiter) = (server.converse(), server.converse());
    holder.ask("BEGIN");
    holder.ask("UPDATE d.t SET a = 2 WHERE id = 1");
    let blocker = holder.ask("SELECT CONNECTION_ID()").join("");
    waiter.send("UPDATE d.t SET a = 3 WHERE id = 1");
    let told = until_rows(
        &server,
        "SELECT locked_table, locked_index, locked_type, waiting_lock_mode, blocking_lock_mode, waiting_query, sql_kill_blocking_query
         FROM sys.innodb_lock_waits",
    );
    let kill = format!("KILL QUERY {}", blocker.trim());
    assert_eq!(
        told,
        format!(
            "`d`.`t`\tPRIMARY\tRECORD\tX,REC_NOT_GAP\tX,REC_NOT_GAP\tUPDATE d.t SET a = 3 WHERE id = 1\t{kill}"
        )
    );
    holder.ask("COMMIT");
    waiter.receive();
    assert_eq!(server.sql("SELECT COUNT(*) FROM sys.innodb_lock_waits"), "0");
}
