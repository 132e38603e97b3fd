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
    assert_eq!(server.sql("SELECT @@limpid_instrument_level"), "def");
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
    let server = ["current", "history", "history-long"]
        .iter()
        .fold(Server::with(), |with, which| {
            with.option(format!("--performance-schema-consumer-events-stages-{which}=ON"))
        })
        .start(folder.path());
    until(&server, "SHOW STATUS LIKE 'Innodb_buffer_pool_load_status'", |s| {
        s.contains("load completed")
    });
    let stage = "SELECT EVENT_NAME, WORK_COMPLETED = WORK_ESTIMATED, WORK_COMPLETED >= 13, NESTING_EVENT_ID FROM performance_schema.events_stages_history_long";
    assert_eq!(server.sql(stage), "stage/innodb/buffer pool load\t1\t1\tNULL");
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

/// Threads of the server's own apply redo and roll back: how far they were is among the stages that are over.
#[test]
fn recovery_is_told_as_stages() {
    let folder = TempDir::new();
    let mut server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c VARCHAR(200)); CREATE TABLE d.u (a INT)");
    let mut lost = server.converse();
    lost.ask("BEGIN; INSERT INTO d.t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, REPEAT('x', 200) FROM n");
    // Whose commit makes the log durable.
    server.sql("INSERT INTO d.u VALUES (1)");
    server.kill();
    let server = ["current", "history-long"]
        .iter()
        .fold(Server::with(), |with, which| {
            with.option(format!("--performance-schema-consumer-events-stages-{which}=ON"))
        })
        .start(folder.path());
    let told = "SELECT EVENT_NAME, WORK_COMPLETED = WORK_ESTIMATED, WORK_ESTIMATED > 0 FROM performance_schema.events_stages_history_long
                WHERE EVENT_NAME LIKE 'stage/limpid/recovery%' ORDER BY 1";
    until(&server, told, |told| told.lines().count() == 2);
    let expected =
        "stage/limpid/recovery: applying redo\t1\t1\nstage/limpid/recovery: rolling back\t1\t1";
    assert_eq!(server.sql(told), expected);
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.t"), "0");
}

/// The six levels of the specification, by its SQL.
#[test]
fn latches_are_switched_before_anything_uses_them() {
    let folder = TempDir::new();
    let server = Server::with()
        .option("--performance-schema-instrument=wait/synch/mutex/sql/LOCK_reg%=ON")
        .start(folder.path());
    let setting = |name: &str| {
        let of = "SELECT ENABLED, TIMED FROM performance_schema.setup_instruments WHERE NAME";
        server.sql(&format!("{of} = 'wait/synch/mutex/sql/{name}'"))
    };
    let used = |name: &str| {
        let of = "SELECT COUNT_STAR FROM performance_schema.events_waits_summary_global_by_event_name WHERE EVENT_NAME";
        server.sql(&format!("{of} = 'wait/synch/mutex/sql/{name}'"))
    };
    assert_eq!(setting("MDL_map::mutex"), "NO\tNO");
    assert_eq!(setting("LOCK_regexp"), "YES\tYES");
    server.sql("UPDATE performance_schema.setup_instruments SET ENABLED = 'YES' WHERE NAME LIKE '%/MDL_map%'");
    assert_eq!(setting("MDL_map::mutex"), "YES\tNO");
    server.sql("SET GLOBAL limpid_mdl_fast_path = OFF; CREATE DATABASE x; SELECT 'a' REGEXP 'b'");
    for name in ["MDL_map::mutex", "LOCK_regexp"] {
        assert_ne!(used(name), "0", "{name}");
    }
}

#[test]
fn levels_are_reached_by_sql() {
    let folder = TempDir::new();
    let server = Server::with().start(folder.path());
    let level = || server.sql("SELECT @@GLOBAL.limpid_instrument_level");
    let run = |script: &str| {
        script.split(';').filter(|s| !s.trim().is_empty()).for_each(|s| {
            server.sql(s);
        });
    };
    let all = "UPDATE performance_schema.setup_instruments SET ENABLED = 'NO', TIMED = 'NO';
        UPDATE performance_schema.setup_consumers SET ENABLED = 'NO'";
    let consumers = |list: &str| {
        format!(
            "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME IN ({list})"
        )
    };
    let instruments = |like: &str| {
        format!(
            "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE {like}"
        )
    };
    assert_eq!(level(), "def");
    run(all);
    assert_eq!(level(), "none");
    run(&instruments("NAME LIKE 'wait/%/table/%' OR NAME LIKE 'wait/io/file%'"));
    assert_eq!(level(), "custom");
    run(&consumers("'global_instrumentation', 'thread_instrumentation'"));
    assert_eq!(level(), "tables");
    run(all);
    run(&instruments("NAME LIKE 'statement/%'"));
    run(&consumers("'global_instrumentation', 'thread_instrumentation', 'statements_digest'"));
    assert_eq!(level(), "statements");
    server.sql("SET GLOBAL limpid_instrument_level = def");
    run(&instruments("NAME LIKE '%synch%'"));
    assert_eq!(level(), "synch");
    // Latches that are there already notice at once.
    server.sql("TRUNCATE TABLE performance_schema.limpid_latch_holds");
    let holds = "SELECT SUM(ACQUISITIONS) > 0 FROM performance_schema.limpid_latch_holds";
    assert_eq!(server.sql(holds), "1");
    run("UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'global_instrumentation';
         TRUNCATE TABLE performance_schema.limpid_latch_holds");
    assert_eq!(server.sql(holds), "0", "the consumer of everything is off");
    for preset in ["none", "tables", "statements", "synch", "def"] {
        server.sql(&format!("SET GLOBAL limpid_instrument_level = {preset}"));
        assert_eq!(level(), preset);
    }
    server.sql("SET GLOBAL limpid_instrument_level = 'default'");
    assert_eq!(level(), "def");
    let refused = server.sql_error("SET GLOBAL limpid_instrument_level = custom");
    assert!(refused.contains("1231"), "{refused}");
}

#[test]
fn instruments_and_consumers_are_options() {
    let folder = TempDir::new();
    let start = |options: &[&str]| {
        options
            .iter()
            .fold(Server::with(), |with, option| with.option(*option))
            .start(folder.path())
    };
    let server = start(&["--performance-schema-instrument=%synch%=on"]);
    assert_eq!(server.sql("SELECT @@limpid_instrument_level"), "synch");
    drop(server);
    let server = start(&[
        "--performance-schema-instrument=wait/synch/mutex/%=counted",
        "--performance-schema-instrument=wait/synch/%=off",
        "--performance-schema-instrument=statement/sql/select=off",
        "--performance-schema-instrument=nosuch/plugin=on",
        "--performance-schema-instrument=nonsense",
        "--performance-schema-consumer-events-waits-current=ON",
    ]);
    let like = |name: &str| {
        server.sql(&format!(
            "SELECT DISTINCT CONCAT(ENABLED, TIMED) FROM performance_schema.setup_instruments WHERE NAME LIKE '{name}'"
        ))
    };
    assert_eq!(like("wait/synch/mutex/%"), "YESNO", "the longer name wins");
    assert_eq!(like("wait/synch/cond/%"), "NONO");
    assert_eq!(like("statement/sql/select"), "NONO");
    assert_eq!(like("statement/sql/insert"), "YESYES");
    assert_eq!(server.sql("SELECT @@limpid_instrument_level"), "custom");
    let consumer = "SELECT ENABLED FROM performance_schema.setup_consumers WHERE NAME = 'events_waits_current'";
    assert_eq!(server.sql(consumer), "YES");
    assert!(server.log().contains(
        "[Warning] [MY-010079] [Server] Invalid instrument name or value for performance_schema_instrument 'nonsense'."
    ));
    drop(server);
    let server = start(&["--performance-schema=OFF"]);
    for table in
        ["setup_instruments", "setup_consumers", "setup_actors", "processlist", "data_locks"]
    {
        assert_eq!(server.sql(&format!("SELECT COUNT(*) FROM performance_schema.{table}")), "0");
    }
    assert_eq!(server.sql("SELECT COUNT(*) > 0 FROM performance_schema.global_status"), "1");
    server.sql("SET GLOBAL limpid_instrument_level = synch");
    assert_eq!(server.sql("SELECT @@limpid_instrument_level, @@performance_schema"), "none\t0");
}

#[test]
fn actors_decide_which_sessions_are_instrumented() {
    let folder = TempDir::new();
    let server = Server::with().start(folder.path());
    let own = "SELECT INSTRUMENTED, HISTORY FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()";
    assert_eq!(server.sql(own), "YES\tYES");
    server.sql("UPDATE performance_schema.setup_actors SET HISTORY = 'NO'");
    assert_eq!(server.sql(own), "YES\tNO");
    server.sql("INSERT INTO performance_schema.setup_actors (HOST, USER, ENABLED) VALUES ('%', 'root', 'NO')");
    assert_eq!(server.sql(own), "NO\tYES");
    server.sql("TRUNCATE TABLE performance_schema.setup_actors");
    assert_eq!(server.sql(own), "NO\tNO", "nobody is named");
    let switched = format!(
        "UPDATE performance_schema.threads SET INSTRUMENTED = 'YES' WHERE PROCESSLIST_ID = CONNECTION_ID(); {own}"
    );
    assert_eq!(server.sql(&switched), "YES\tNO");
    server.sql("UPDATE performance_schema.threads SET HISTORY = 'NO' WHERE TYPE = 'BACKGROUND'");
    let background =
        "SELECT DISTINCT HISTORY FROM performance_schema.threads WHERE TYPE = 'BACKGROUND'";
    assert_eq!(server.sql(background), "NO");
    let refused = server.sql_error("UPDATE performance_schema.threads SET ROLE = 'x'");
    assert!(refused.contains("1683"), "{refused}");
    let refused = server.sql_error("DELETE FROM performance_schema.threads");
    assert!(refused.contains("1142"), "{refused}");
}
