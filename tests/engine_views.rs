//! What the engine shows and does through SQL: latch holds, buffer pool, redo log, warm set.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use testkit::{Server, TempDir};

/// Asks until the answer satisfies, for at most half a minute.
fn until(server: &Server, sql: &str, wanted: impl Fn(&str) -> bool) -> String {
    for _ in 0..300 {
        let answer = server.sql(sql);
        if wanted(&answer) {
            return answer;
        }
        testkit::pause(100);
    }
    panic!("{sql}: {}", server.sql(sql));
}

#[test]
fn the_holds_of_latch_classes_are_a_query() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    let total = "SELECT SUM(ACQUISITIONS) FROM performance_schema.limpid_latch_holds";
    assert_eq!(server.sql("SELECT @@limpid_instrument_level"), "default");
    assert_eq!(server.sql(total), "0");
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c VARCHAR(40))");
    server.sql("SET GLOBAL limpid_instrument_level = synch");
    server.sql("INSERT INTO d.t VALUES (1, 'a'), (2, 'b'); UPDATE d.t SET c = 'x' WHERE id = 2");
    let of = |column: &str, class: &str| {
        server.sql(&format!(
            "SELECT {column} FROM performance_schema.limpid_latch_holds WHERE EVENT_NAME = '{class}'"
        ))
    };
    let leaf = "wait/synch/sxlock/innodb/index_leaf_latch";
    assert!(of("ACQUISITIONS", leaf).parse::<u64>().unwrap() >= 3, "{}", of("*", leaf));
    assert_eq!(
        of("HOLD_NS_SUM >= HOLD_NS_MAX AND HOLD_NS_MAX > 0 AND HELD_PERCENT > 0", leaf),
        "1",
        "{}",
        of("*", leaf)
    );
    let writer = "wait/synch/mutex/innodb/log_writer_mutex";
    assert_eq!(of("ACQUISITIONS > 0 AND ACQUISITIONS_PER_SECOND > 0", writer), "1");
    let busiest = server.sql(
        "SELECT EVENT_NAME, HELD_PERCENT FROM performance_schema.limpid_latch_holds \
         WHERE ACQUISITIONS > 0 ORDER BY HELD_PERCENT DESC LIMIT 5",
    );
    assert_eq!(busiest.lines().count(), 5, "{busiest}");
    // Names are a key.
    assert_eq!(
        server.sql(
            "SELECT COUNT(*) = COUNT(DISTINCT EVENT_NAME) FROM performance_schema.limpid_latch_holds"
        ),
        "1"
    );
    server.sql("SET GLOBAL limpid_instrument_level = none");
    let before = server.sql(total);
    assert_ne!(before, "0");
    server.sql("INSERT INTO d.t VALUES (3, 'c')");
    assert_eq!(server.sql(total), before, "the numbers stay when the level is left");
    server.sql("TRUNCATE TABLE performance_schema.limpid_latch_holds");
    assert_eq!(server.sql(total), "0");
}

#[test]
fn the_pool_and_the_redo_log_are_resized_online_and_tell() {
    let folder = TempDir::new();
    let server = Server::with().option("--innodb-buffer-pool-size=32M").start(folder.path());
    assert_eq!(
        server.sql("SELECT @@innodb_buffer_pool_size, @@innodb_buffer_pool_chunk_size"),
        "33554432\t33554432"
    );
    server.sql("SET GLOBAL innodb_buffer_pool_size = 50000000");
    assert_eq!(server.sql("SELECT @@innodb_buffer_pool_size"), "67108864");
    let status = |name: &str| {
        server.sql(&format!(
            "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = '{name}'"
        ))
    };
    until(
        &server,
        "SELECT SUM(POOL_SIZE) FROM information_schema.INNODB_BUFFER_POOL_STATS",
        |pages| pages == "4096",
    );
    assert_eq!(status("Innodb_buffer_pool_pages_total"), "4096");
    until(&server, "SHOW STATUS LIKE 'Innodb_buffer_pool_resize_status'", |s| {
        s.contains("Completed resizing buffer pool")
    });
    server.sql("SET GLOBAL innodb_redo_log_capacity = 16 * 1024 * 1024");
    until(&server, "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_capacity_resized'", |s| {
        s.ends_with("\t16777216")
    });
    assert_eq!(status("Innodb_redo_log_resize_status"), "OK");
    let files = "SELECT COUNT(*) > 0, MIN(FILE_NAME LIKE '%#ib_redo%') FROM performance_schema.innodb_redo_log_files";
    assert_eq!(server.sql(files), "1\t1");
    assert_eq!(server.sql("SELECT PHASE FROM performance_schema.limpid_recovery"), "done");
    let monitor = server.sql("SHOW ENGINE INNODB STATUS");
    for section in
        ["LOG\\n---", "BUFFER POOL AND MEMORY\\n", "ROW OPERATIONS\\n", "Log sequence number"]
    {
        assert!(monitor.contains(section), "{section} in {monitor}");
    }
}

#[test]
fn the_warm_set_is_dumped_at_the_stop_and_loaded_at_the_start() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c VARCHAR(2000))");
    for n in 0..100 {
        server.sql(&format!("INSERT INTO d.t VALUES ({n}, REPEAT('x', 2000))"));
    }
    server.sql("SET GLOBAL innodb_buffer_pool_dump_pct = 100");
    server.stop();
    let server = Server::start(folder.path());
    until(&server, "SHOW STATUS LIKE 'Innodb_buffer_pool_load_status'", |s| {
        s.contains("load completed")
    });
    // 100 rows of 2,000 bytes are at least 13 pages, and nobody has asked for one.
    let pages =
        server.sql("SELECT SUM(DATABASE_PAGES) FROM information_schema.INNODB_BUFFER_POOL_STATS");
    assert!(pages.parse::<u64>().unwrap() >= 13, "{pages}");
    server.sql("SET GLOBAL innodb_buffer_pool_dump_now = ON");
    until(&server, "SHOW STATUS LIKE 'Innodb_buffer_pool_dump_status'", |s| {
        s.contains("dump completed")
    });
    assert_eq!(server.sql("SELECT @@innodb_buffer_pool_dump_now"), "0");
}
