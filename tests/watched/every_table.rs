//! Every table of the Performance Schema, whichever there are: its columns, TRUNCATE, and figures without times.

use super::with_table;
use testkit::{Server, TempDir, TextClient};

/// Tables that MySQL 9.7 empties, or begins anew; the last two lines are of objects and programs, and Limpid's own.
const EMPTIED: &str = "
    accounts binary_log_transaction_compression_stats global_status host_cache hosts prepared_statements_instances setup_actors
    setup_objects users
    events_errors_summary_by_account_by_error events_errors_summary_by_host_by_error events_errors_summary_by_thread_by_error
    events_errors_summary_by_user_by_error events_errors_summary_global_by_error
    events_stages_current events_stages_history events_stages_history_long events_stages_summary_by_account_by_event_name
    events_stages_summary_by_host_by_event_name events_stages_summary_by_thread_by_event_name
    events_stages_summary_by_user_by_event_name events_stages_summary_global_by_event_name
    events_statements_current events_statements_histogram_by_digest events_statements_histogram_global events_statements_history
    events_statements_history_long events_statements_summary_by_account_by_event_name events_statements_summary_by_digest
    events_statements_summary_by_host_by_event_name events_statements_summary_by_program
    events_statements_summary_by_thread_by_event_name events_statements_summary_by_user_by_event_name
    events_statements_summary_global_by_event_name
    events_transactions_current events_transactions_history events_transactions_history_long
    events_transactions_summary_by_account_by_event_name events_transactions_summary_by_host_by_event_name
    events_transactions_summary_by_thread_by_event_name events_transactions_summary_by_user_by_event_name
    events_transactions_summary_global_by_event_name
    events_waits_current events_waits_history events_waits_history_long events_waits_summary_by_account_by_event_name
    events_waits_summary_by_host_by_event_name events_waits_summary_by_instance events_waits_summary_by_thread_by_event_name
    events_waits_summary_by_user_by_event_name events_waits_summary_global_by_event_name
    file_summary_by_event_name file_summary_by_instance
    memory_summary_by_account_by_event_name memory_summary_by_host_by_event_name memory_summary_by_thread_by_event_name
    memory_summary_by_user_by_event_name memory_summary_global_by_event_name
    socket_summary_by_event_name socket_summary_by_instance
    status_by_account status_by_host status_by_thread status_by_user
    objects_summary_global_by_type table_io_waits_summary_by_index_usage table_io_waits_summary_by_table
    table_lock_waits_summary_by_table
    limpid_latch_holds limpid_session_samples";

/// Tables of which MySQL 9.7 says 1142; the last two lines are what 8.4 has with plugins, and Limpid's own.
const REFUSED: &str = "
    cond_instances data_lock_waits data_locks error_log file_instances global_variables innodb_redo_log_files
    keyring_component_status keyring_keys log_status metadata_locks mutex_instances performance_timers persisted_variables
    processlist rwlock_instances session_account_connect_attrs session_connect_attrs session_status session_variables
    setup_consumers setup_instruments setup_threads socket_instances table_handles threads tls_channel_status
    user_defined_functions user_variables_by_thread variables_by_thread variables_info
    replication_applier_configuration replication_applier_filters replication_applier_global_filters replication_applier_status
    replication_applier_status_by_coordinator replication_applier_status_by_worker replication_asynchronous_connection_failover
    replication_asynchronous_connection_failover_managed replication_connection_configuration replication_connection_status
    replication_group_member_stats replication_group_members
    clone_progress clone_status replication_group_communication_information replication_group_configuration_version
    replication_group_member_actions
    limpid_recovery";

fn text(cell: &Option<Vec<u8>>) -> String {
    cell.as_deref().map_or("NULL".into(), |bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// The rows of a statement, their columns side by side.
pub(super) fn rows(client: &mut TextClient, sql: &str) -> Vec<Vec<String>> {
    let answer = client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    answer.rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

/// The first column of a statement's rows.
pub(super) fn column(client: &mut TextClient, sql: &str) -> Vec<String> {
    rows(client, sql).into_iter().map(|mut row| row.swap_remove(0)).collect()
}

/// What is found in the dictionary of all tables' columns.
const COLUMNS: &str =
    "FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'performance_schema' AND";

/// Tables that have a column whose name is like this.
fn tables_with(client: &mut TextClient, like: &str) -> Vec<String> {
    column(
        client,
        &format!(
            "SELECT DISTINCT LOWER(TABLE_NAME) {COLUMNS} COLUMN_NAME LIKE '{like}' ORDER BY 1"
        ),
    )
}

/// A table's columns whose names are like one of these.
pub(super) fn columns_like(client: &mut TextClient, table: &str, likes: &[&str]) -> Vec<String> {
    let like: Vec<_> = likes.iter().map(|like| format!("COLUMN_NAME LIKE '{like}'")).collect();
    let sql = format!(
        "SELECT COLUMN_NAME {COLUMNS} TABLE_NAME = '{table}' AND ({}) ORDER BY ORDINAL_POSITION",
        like.join(" OR ")
    );
    column(client, &sql)
}

/// Switches all consumers on, and all instruments as told.
fn switch(server: &Server, instruments: &str) {
    server.sql(&format!(
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES';
         UPDATE performance_schema.setup_instruments SET {instruments}"
    ));
}

/// A statement of each kind that leaves figures somewhere; the session stays.
fn work(server: &Server) -> TextClient {
    let mut client = TextClient::connect(server.socket());
    for (sql, code) in [
        ("CREATE TABLE d.w (id INT PRIMARY KEY, c INT, KEY (c))", 0),
        ("INSERT INTO d.w VALUES (1, 1), (2, 2)", 0),
        ("INSERT INTO d.w VALUES (1, 1)", 1062),
        ("SELECT * FROM d.w ORDER BY c", 0),
        ("SELECT * FROM d.nothing", 1146),
        ("BEGIN", 0),
        ("UPDATE d.w SET c = 9 WHERE id = 1", 0),
        ("COMMIT", 0),
        ("ALTER TABLE d.w MODIFY c VARCHAR(9)", 0),
        ("PREPARE p FROM 'SELECT 1'", 0),
        ("EXECUTE p", 0),
        ("DROP TABLE d.w", 0),
        ("SELECT id FROM d.t WHERE id = 1", 0),
        ("UPDATE d.t SET c = c + 1 WHERE id = 1", 0),
    ] {
        assert_eq!(client.code(sql), code, "{sql}");
    }
    client
}

#[test]
fn every_table_answers_and_is_emptied_or_not_as_mysqls() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut client = TextClient::connect(server.socket());
    let _session = work(&server);
    let tables = column(
        &mut client,
        "SELECT LOWER(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'performance_schema' ORDER BY 1",
    );
    let mut known: Vec<&str> =
        EMPTIED.split_whitespace().chain(REFUSED.split_whitespace()).collect();
    known.sort_unstable();
    assert_eq!(tables, known, "record what TRUNCATE does on MySQL, and in which list it belongs");
    let mut wrong = Vec::new();
    for table in &tables {
        let count =
            column(&mut client, &format!("SELECT COUNT(*) {COLUMNS} TABLE_NAME = '{table}'"));
        let all = client.query(&format!("SELECT * FROM performance_schema.{table}"));
        let names = all.unwrap_or_else(|e| panic!("{table}: {e:?}")).names;
        assert_eq!(count[0], names.len().to_string(), "{table}");
        let expected = if EMPTIED.split_whitespace().any(|name| name == table) { 0 } else { 1142 };
        let code = client.code(&format!("TRUNCATE TABLE performance_schema.{table}"));
        if code != expected {
            wrong.push(format!("{table}: {code}, MySQL's is {expected}"));
        }
        // It is the same table afterwards.
        let again = client.query(&format!("SELECT * FROM performance_schema.{table} LIMIT 3"));
        assert_eq!(again.expect("as before").names, names, "{table}");
    }
    assert_eq!(wrong, [""; 0], "TRUNCATE");
}

/// Sums of a table's counts and sums, of those that are not zero.
fn figures(client: &mut TextClient, table: &str, condition: &str) -> Vec<String> {
    let columns = columns_like(client, table, &[r"COUNT\_%", r"SUM\_%"]);
    let sums: Vec<String> = columns.iter().map(|name| format!("IFNULL(SUM({name}), 0)")).collect();
    let sums = sums.join(", ");
    let sums = format!("SELECT {sums} FROM performance_schema.{table} WHERE {condition}");
    let found = rows(client, &sums).remove(0);
    let pairs = columns.iter().zip(found).filter(|(_, sum)| sum != "0");
    pairs.map(|(name, sum)| format!("{name} {sum}")).collect()
}

/// Tables of figures that TRUNCATE empties.
fn summaries(client: &mut TextClient) -> Vec<String> {
    // Nothing of these happens here: no program, no binary log, no host that is looked up.
    const UNUSED: [&str; 3] = [
        "binary_log_transaction_compression_stats",
        "events_statements_summary_by_program",
        "host_cache",
    ];
    let mut tables = tables_with(client, r"COUNT\_%");
    tables.extend(tables_with(client, r"SUM\_ERROR\_RAISED"));
    tables.retain(|table| EMPTIED.split_whitespace().any(|name| name == table));
    tables.retain(|table| !UNUSED.contains(&table.as_str()));
    assert!(tables.len() > 40, "{tables:?}");
    tables
}

#[test]
fn a_summary_that_was_emptied_has_no_figures() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("SET GLOBAL limpid_instrument_level = synch");
    switch(&server, "ENABLED = 'YES', TIMED = 'YES'");
    let _session = work(&server);
    let mut client = TextClient::connect(server.socket());
    let tables = summaries(&mut client);
    for table in &tables {
        assert_ne!(figures(&mut client, table, "TRUE"), [""; 0], "{table} before");
    }
    // Else the one who asks counts, too.
    server.sql("SET GLOBAL limpid_instrument_level = none");
    let empty = |client: &mut TextClient, table: &str, condition: &str| {
        assert_eq!(client.code(&format!("TRUNCATE performance_schema.{table}")), 0, "{table}");
        figures(client, table, condition)
    };
    let (memory, others): (Vec<&String>, Vec<&String>) =
        tables.iter().partition(|table| table.starts_with("memory_"));
    for table in others {
        let mut left = empty(&mut client, table, "TRUE");
        // Waits that happen are counted at every level, and threads of the server's own wait now and then.
        for _ in 0..40 {
            if left.is_empty() || !table.starts_with("events_waits_summary") {
                break;
            }
            left = empty(&mut client, table, "TRUE");
        }
        assert_eq!(left, [""; 0], "{table} after TRUNCATE");
    }
    for table in memory {
        // What the Performance Schema itself takes to answer cannot be switched off.
        let of_others = r"EVENT_NAME NOT LIKE 'memory/performance\_schema/%'";
        let left = empty(&mut client, table, of_others);
        let used = format!(
            "SELECT SUM(CURRENT_COUNT_USED), SUM(CURRENT_NUMBER_OF_BYTES_USED) FROM performance_schema.{table} WHERE {of_others}"
        );
        let used = rows(&mut client, &used).remove(0);
        let expected =
            [format!("COUNT_ALLOC {}", used[0]), format!("SUM_NUMBER_OF_BYTES_ALLOC {}", used[1])];
        assert_eq!(left, expected, "{table}: what is used, as if it had just been taken");
    }
}

/// Sums of a table's times; empty where all are NULL or 0.
fn times(client: &mut TextClient, table: &str) -> Vec<String> {
    let likes =
        [r"TIMER\_%", r"SUM\_TIMER\_%", r"MIN\_TIMER\_%", r"AVG\_TIMER\_%", r"MAX\_TIMER\_%"];
    let columns = columns_like(client, table, &likes);
    assert!(!columns.is_empty(), "{table}");
    let names = columns_like(client, table, &["EVENT_NAME"]);
    let event = table.starts_with("events_") && !table.contains("_summary_");
    let sums: Vec<String> = columns
        .iter()
        // Of an event there is no time, of a summary there is none in it.
        .map(|name| match event {
            true => format!("COUNT({name})"),
            false => format!("IFNULL(SUM({name}), 0)"),
        })
        .collect();
    // Who has to wait for a latch pays more than the clock takes: that is timed always.
    let condition = if names.is_empty() { "TRUE" } else { "EVENT_NAME NOT LIKE 'wait/synch/%'" };
    let sums = sums.join(", ");
    let sums = format!("SELECT {sums} FROM performance_schema.{table} WHERE {condition}");
    let found = rows(client, &sums).remove(0);
    let pairs = columns.iter().zip(found).filter(|(_, sum)| sum != "0");
    pairs.map(|(name, sum)| format!("{table}.{name} {sum}")).collect()
}

/// As MySQL 9.7 has it: of what is counted and not timed events have no times, and summaries have zero.
#[test]
fn what_is_not_timed_counts_and_has_no_times() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    switch(&server, "ENABLED = 'YES', TIMED = 'NO'");
    let mut client = TextClient::connect(server.socket());
    let mut timed = tables_with(&mut client, r"%TIMER\_%");
    timed.retain(|table| EMPTIED.split_whitespace().any(|name| name == table));
    // Bounds of buckets are no times of anything.
    timed.retain(|table| !table.contains("histogram") && !table.ends_with("_by_program"));
    assert!(timed.len() > 40, "{timed:?}");
    for table in &timed {
        client.query(&format!("TRUNCATE performance_schema.{table}")).unwrap();
    }
    let _session = work(&server);
    let found: Vec<String> = timed.iter().flat_map(|table| times(&mut client, table)).collect();
    assert_eq!(found, [""; 0], "times of what is not timed");
    for table in &timed {
        let counted = if columns_like(&mut client, table, &["COUNT_STAR"]).is_empty() {
            "COUNT(*)"
        } else {
            "SUM(COUNT_STAR)"
        };
        let counted = format!("SELECT {counted} > 0 FROM performance_schema.{table}");
        // A stage is there while it lasts.
        if table != "events_stages_current" {
            assert_eq!(column(&mut client, &counted), ["1"], "{table}");
        }
    }
    switch(&server, "TIMED = 'YES'");
    let _timed = work(&server);
    let found: Vec<String> = timed.iter().flat_map(|table| times(&mut client, table)).collect();
    let of = |table: &str| found.iter().any(|line| line.starts_with(&format!("{table}.")));
    // A lock of a table that nobody waits for takes no time.
    let none = ["events_stages_current", "table_lock_waits_summary_by_table"];
    for table in timed.iter().filter(|table| !none.contains(&table.as_str())) {
        assert!(of(table), "{table} has no times when timed: {found:?}");
    }
}
