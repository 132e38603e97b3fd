//! Files of the Performance Schema: what is read from each and written to it, by instrument and by file.

use crate::with_table;
use testkit::{Server, TempDir};

/// The figures of an instrument: COUNT_READ, bytes read, COUNT_WRITE, bytes written, COUNT_MISC.
fn figures(server: &Server, instrument: &str) -> [u64; 5] {
    let row = server.sql(&format!(
        "SELECT COUNT_READ, SUM_NUMBER_OF_BYTES_READ, COUNT_WRITE, SUM_NUMBER_OF_BYTES_WRITE, COUNT_MISC
         FROM performance_schema.file_summary_by_event_name WHERE EVENT_NAME = 'wait/io/file/{instrument}'"
    ));
    let numbers: Vec<u64> = row.split('\t').map(|n| n.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

fn truncate(server: &Server) {
    server.sql("TRUNCATE performance_schema.file_summary_by_event_name");
}

const TABLES: &str =
    "SELECT COUNT(*) FROM performance_schema.file_instances WHERE FILE_NAME LIKE '%/space_%.lim'";

#[test]
fn a_table_s_file_is_there_until_the_table_is_dropped() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let number = |query: &str| server.sql(query).parse::<u64>().unwrap();
    let before = number(TABLES);
    server.sql("CREATE TABLE d.u (a INT PRIMARY KEY, b LONGTEXT)");
    assert_eq!(number(TABLES), before + 1);
    server.sql("DROP TABLE d.u");
    for _ in 0..200 {
        if number(TABLES) == before {
            break;
        }
        testkit::pause(25);
    }
    assert_eq!(number(TABLES), before);
    let whole = format!(
        "SELECT COUNT(*), MIN(FILE_NAME LIKE '{}/%') FROM performance_schema.file_instances
         WHERE EVENT_NAME LIKE '%/innodb_log_file' AND OPEN_COUNT > 0",
        folder.path().canonicalize().unwrap().display()
    );
    let files = server.sql(&whole);
    assert!(files.ends_with("\t1") && !files.starts_with("0"), "{files}");
    let same = "SELECT COUNT(*) FROM performance_schema.file_summary_by_instance s
        JOIN performance_schema.file_instances f ON f.FILE_NAME = s.FILE_NAME AND f.EVENT_NAME = s.EVENT_NAME";
    assert_eq!(number(same), number("SELECT COUNT(*) FROM performance_schema.file_instances"));
}

#[test]
fn bytes_of_logs_pages_and_users_files_are_counted() {
    const BLOB: u64 = 3_000_000;
    let folder = TempDir::new();
    let mut server = with_table(&folder);
    server.sql("CREATE TABLE d.u (a INT PRIMARY KEY, b LONGTEXT)");
    truncate(&server);
    server.sql(&format!("INSERT INTO d.u VALUES (1, REPEAT('x', {BLOB}))"));
    let [_, _, writes, written, others] = figures(&server, "innodb/innodb_log_file");
    assert!(writes > 0 && (BLOB..2 * BLOB).contains(&written), "{writes}, {written}");
    assert!(others > 0, "a commit is synced");
    server.stop();

    // What the pool loads by itself would not be read any more.
    let options = Server::with()
        .option("--secure-file-priv=")
        .option("--innodb-buffer-pool-load-at-startup=OFF");
    let server = options.start(folder.path());
    truncate(&server);
    assert_eq!(server.sql("SELECT LENGTH(b) FROM d.u"), BLOB.to_string());
    let [reads, read, ..] = figures(&server, "innodb/innodb_data_file");
    assert!(reads > 0 && read >= BLOB && read % 16_384 == 0, "{reads}, {read}");

    let out = folder.path().join("rows.txt");
    server.sql(&format!("SELECT id, c FROM d.t ORDER BY id INTO OUTFILE '{}'", out.display()));
    assert_eq!(figures(&server, "sql/select_to_file"), [0, 0, 1, 8, 2]);
    // Another file: this one is known by who made it.
    let given = folder.path().join("given.txt");
    std::fs::write(&given, "1\t1\n2\t2\n").unwrap();
    let load = format!("LOAD DATA INFILE '{}' INTO TABLE d.v", given.display());
    server.sql(&format!("CREATE TABLE d.v LIKE d.t; {load}"));
    let [_, read, writes, written, others] = figures(&server, "sql/load");
    assert_eq!([read, writes, written, others], [8, 0, 0, 2]);
    let closed = "SELECT OPEN_COUNT FROM performance_schema.file_instances WHERE FILE_NAME LIKE '%/given.txt'";
    assert_eq!(server.sql(closed), "0");

    // Sorted beyond its memory: the files are gone, what was done to them is known.
    server.sql(
        "SET sort_buffer_size = 32768; SET tmp_table_size = 1024; SET cte_max_recursion_depth = 9000;
         SELECT n FROM (WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9000)
                        SELECT n, REPEAT('x', 100) x FROM r) t ORDER BY x, n DESC LIMIT 8999, 1",
    );
    let [_, read, _, written, others] = figures(&server, "sql/io_cache");
    assert!(read > 0 && written > 0 && others >= 3, "{read}, {written}, {others}");
    let left =
        "SELECT COUNT(*) FROM performance_schema.file_instances WHERE EVENT_NAME LIKE '%/io_cache'";
    assert_eq!(server.sql(left), "0");
    // The same figures everywhere: no file of this instrument is used meanwhile.
    let waits = "SELECT w.COUNT_STAR - f.COUNT_STAR, w.SUM_TIMER_WAIT - f.SUM_TIMER_WAIT, f.SUM_TIMER_WAIT > 0
        FROM performance_schema.events_waits_summary_global_by_event_name w
        JOIN performance_schema.file_summary_by_event_name f USING (EVENT_NAME) WHERE EVENT_NAME LIKE '%/io_cache'";
    assert_eq!(server.sql(waits), "0\t0\t1");
}

#[test]
fn instruments_of_files_are_switched() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let all = "SELECT SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) FROM performance_schema.file_summary_by_event_name";
    server.sql("SET GLOBAL limpid_instrument_level = none");
    truncate(&server);
    server.sql("INSERT INTO d.t VALUES (10, 1)");
    assert_eq!(server.sql(all), "0\t0");
    server.sql("SET GLOBAL limpid_instrument_level = tables");
    server.sql("INSERT INTO d.t VALUES (11, 1)");
    assert_ne!(server.sql(all), "0\t0");
    server.sql("UPDATE performance_schema.setup_instruments SET TIMED = 'NO' WHERE NAME LIKE 'wait/io/file/%'");
    server.sql("TRUNCATE performance_schema.file_summary_by_instance");
    server.sql("INSERT INTO d.t VALUES (12, 1)");
    let untimed = server.sql(all);
    assert!(untimed.ends_with("\t0") && !untimed.starts_with("0\t"), "{untimed}");
    server.sql("UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'global_instrumentation'");
    server.sql("TRUNCATE performance_schema.events_waits_summary_global_by_event_name");
    server.sql("INSERT INTO d.t VALUES (13, 1)");
    assert_eq!(server.sql(all), "0\t0");
    let denied = server.sql_error("TRUNCATE performance_schema.file_instances");
    assert!(denied.contains("1142"), "{denied}");
}

#[test]
fn files_without_room_are_lost() {
    let folder = TempDir::new();
    let server = Server::with()
        .option("--performance-schema-max-file-instances=3")
        .option("--performance-schema-max-file-handles=2")
        .start(folder.path());
    let lost = "SHOW GLOBAL STATUS LIKE 'Performance_schema_file_%_lost'";
    assert_eq!(server.sql("SELECT COUNT(*) <= 3 FROM performance_schema.file_instances"), "1");
    let told = server.sql(lost);
    let handles = told.lines().find(|l| l.contains("handles_lost")).unwrap();
    assert!(!handles.ends_with("\t0"), "{told}");
    server.sql("FLUSH STATUS");
    assert!(server.sql(lost).lines().all(|l| l.ends_with("\t0")), "{}", server.sql(lost));
}
