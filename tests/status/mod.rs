//! Every name of SHOW GLOBAL STATUS moves under a workload, or stands in [`STILL`] with the reason why it does not.

use super::with_table;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;
use testkit::raw::RawClient;
use testkit::{Server, TempDir};

/// Names that stay as they are, and why.
const STILL: &[(&str, &[&str])] = &[
    (
        "connections do not change keys, go on without those of others, and the server makes none",
        &[
            "Ssl_accept_renegotiates",
            "Ssl_callback_cache_hits",
            "Ssl_client_connects",
            "Ssl_connect_renegotiates",
            "Ssl_finished_connects",
            "Ssl_session_cache_hits",
            "Ssl_session_cache_misses",
            "Ssl_session_cache_overflows",
            "Ssl_session_cache_timeout",
            "Ssl_session_cache_timeouts",
            "Ssl_sessions_reused",
            "Ssl_used_session_cache_entries",
        ],
    ),
    (
        "they tell of the certificate, the variables, and the connection that asks",
        &[
            "Current_tls_ca",
            "Current_tls_capath",
            "Current_tls_cert",
            "Current_tls_cipher",
            "Current_tls_ciphersuites",
            "Current_tls_crl",
            "Current_tls_crlpath",
            "Current_tls_key",
            "Current_tls_version",
            "Ssl_cipher",
            "Ssl_cipher_list",
            "Ssl_ctx_verify_depth",
            "Ssl_ctx_verify_mode",
            "Ssl_default_timeout",
            "Ssl_server_not_after",
            "Ssl_server_not_before",
            "Ssl_session_cache_mode",
            "Ssl_session_cache_size",
            "Ssl_verify_depth",
            "Ssl_verify_mode",
            "Ssl_version",
        ],
    ),
    (
        "they tell of the connection that asks",
        &["Compression", "Compression_algorithm", "Compression_level"],
    ),
    ("who asks afterwards finds no server", &["Com_shutdown"]),
    ("there is nothing to discover", &["Handler_discover"]),
    ("rows are not read in the order of their keys' ranges (MRR)", &["Handler_mrr_init"]),
    ("no plan checks ranges for each record", &["Select_range_check"]),
    ("MySQL 9.7 does not count it either", &["Sort_range"]),
    (
        "MySQL counts its own tables' locks alone, and nobody waits for those",
        &["Table_locks_waited"],
    ),
    (
        "who issues a read, a write or a flush waits for it: none is pending",
        &[
            "Innodb_data_pending_fsyncs",
            "Innodb_data_pending_reads",
            "Innodb_data_pending_writes",
            "Innodb_os_log_pending_fsyncs",
            "Innodb_os_log_pending_writes",
        ],
    ),
    ("they never change", &["Innodb_page_size", "Innodb_redo_log_enabled", "Innodb_redo_log_uuid"]),
    ("there is no archiver that could stop it", &["Innodb_redo_log_read_only"]),
    (
        "the client says the same of itself each time",
        &["Performance_schema_session_connect_attrs_longest_seen"],
    ),
    (
        "there is room for all of them, unless options make it less",
        &[
            "Performance_schema_accounts_lost",
            "Performance_schema_cond_classes_lost",
            "Performance_schema_cond_instances_lost",
            "Performance_schema_digest_lost",
            "Performance_schema_file_classes_lost",
            "Performance_schema_file_handles_lost",
            "Performance_schema_file_instances_lost",
            "Performance_schema_hosts_lost",
            "Performance_schema_index_stat_lost",
            "Performance_schema_locker_lost",
            "Performance_schema_memory_classes_lost",
            "Performance_schema_metadata_lock_lost",
            "Performance_schema_mutex_classes_lost",
            "Performance_schema_mutex_instances_lost",
            "Performance_schema_prepared_statements_lost",
            "Performance_schema_rwlock_classes_lost",
            "Performance_schema_rwlock_instances_lost",
            "Performance_schema_session_connect_attrs_lost",
            "Performance_schema_socket_classes_lost",
            "Performance_schema_socket_instances_lost",
            "Performance_schema_stage_classes_lost",
            "Performance_schema_statement_classes_lost",
            "Performance_schema_table_handles_lost",
            "Performance_schema_table_instances_lost",
            "Performance_schema_table_lock_stat_lost",
            "Performance_schema_thread_classes_lost",
            "Performance_schema_thread_instances_lost",
            "Performance_schema_users_lost",
        ],
    ),
    (
        "there are no stored programs",
        &["Performance_schema_nested_statement_lost", "Performance_schema_program_lost"],
    ),
    ("all frames hold pages or are free", &["Innodb_buffer_pool_pages_misc"]),
    ("pages are loaded at a start only", &["Innodb_buffer_pool_load_status"]),
    (
        "it takes a table larger than the pool",
        &[
            "Innodb_buffer_pool_read_ahead",
            "Innodb_buffer_pool_read_ahead_evicted",
            "Innodb_buffer_pool_read_ahead_rnd",
            "Innodb_buffer_pool_wait_free",
        ],
    ),
];

/// Names that may move or not: a resize tells how far it is while it goes on, and a race is lost by chance.
const SELDOM: &[&str] = &[
    "Innodb_buffer_pool_pages_total",
    "Innodb_buffer_pool_resize_status_code",
    "Innodb_buffer_pool_resize_status_progress",
    "Innodb_log_waits",
    "Innodb_redo_log_resize_status",
    "Limpid_optimistic_restarts",
];

/// Statements of every kind; what is not there yet counts although it is refused, as what fails does in MySQL.
const WORKLOAD: &str = "
    USE d; CREATE TABLE big (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(200), KEY (a));
    INSERT INTO big (a, b) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i % 7, REPEAT('x', 190) FROM n;
    INSERT INTO big (a, b) SELECT x.a, x.b FROM big x, (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) y;
    UPDATE big SET a = a + 1; DELETE FROM big WHERE id % 5 = 0;
    REPLACE INTO t VALUES (1, 1); REPLACE INTO t SELECT id, c FROM t; UPDATE t, big SET c = 4 WHERE t.id = big.id;
    DELETE big FROM big, t WHERE big.id = t.id + 70; SELECT COUNT(*) FROM big;
    SELECT b, COUNT(*) FROM big GROUP BY b; SELECT DISTINCT a FROM big ORDER BY b LIMIT 1; SELECT * FROM t ORDER BY id DESC;
    SELECT COUNT(*) FROM t x, big y WHERE x.c > y.a; SELECT MAX(a) FROM big WHERE a < 5; SELECT * FROM big WHERE id BETWEEN 3 AND 5;
    SELECT COUNT(*) FROM t x LEFT JOIN big y ON y.id > 5 AND y.id < 8; SELECT * FROM big ORDER BY a DESC LIMIT 1;
    SELECT COUNT(*) FROM t x, big y FORCE INDEX (a) WHERE y.a > 1 AND y.a < 3;
    SET sort_buffer_size = 32768; SET SESSION tmp_table_size = 1024; SET SESSION max_heap_table_size = 16384;
    SELECT b, id FROM big ORDER BY b, a, id LIMIT 2000, 1; SELECT COUNT(*) FROM (SELECT b, id, COUNT(*) FROM big GROUP BY b, id) x;
    BEGIN; SAVEPOINT a; INSERT INTO t VALUES (90, 1); ROLLBACK TO a; RELEASE SAVEPOINT a; ROLLBACK; START TRANSACTION; INSERT INTO t VALUES (91, 1); COMMIT;
    LOCK TABLES t WRITE; UNLOCK TABLES; LOCK INSTANCE FOR BACKUP; UNLOCK INSTANCE;
    CREATE DATABASE e; ALTER DATABASE e CHARACTER SET latin1; DROP DATABASE e; CREATE TABLE u (a INT); ALTER TABLE u ADD b INT; CREATE INDEX a ON u (a);
    DROP INDEX a ON u; RENAME TABLE u TO v; TRUNCATE v; DROP TABLE v; CREATE VIEW w AS SELECT 1; SHOW CREATE VIEW w; DROP VIEW w;
    ANALYZE TABLE t; CHECK TABLE t; CHECKSUM TABLE t; OPTIMIZE TABLE t; REPAIR TABLE t; CACHE INDEX t IN hot; LOAD INDEX INTO CACHE t;
    DO 1; EXPLAIN FOR CONNECTION 1; CALL nothing(); LOAD DATA INFILE '/nowhere' INTO TABLE t; HANDLER t OPEN; HANDLER t READ FIRST; HANDLER t CLOSE; IMPORT TABLE FROM 'a';
    XA START 'a'; XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'; XA ROLLBACK 'a'; XA RECOVER;
    SET @a = 1; SET PASSWORD = ''; SET ROLE NONE; SET DEFAULT ROLE NONE TO root@localhost; RESET PERSIST; SIGNAL SQLSTATE '01000'; RESIGNAL; GET DIAGNOSTICS @n = NUMBER; HELP 'a';
    PREPARE s FROM 'SELECT c FROM t WHERE id = ?'; EXECUTE s USING @a; ALTER TABLE t COMMENT 'y'; EXECUTE s USING @a; DEALLOCATE PREPARE s;
    KILL QUERY 4000000000; FLUSH TABLES; RESTART; ALTER INSTANCE RELOAD TLS; CLONE LOCAL DATA DIRECTORY = '/x';
    INSTALL PLUGIN a SONAME 'a'; UNINSTALL PLUGIN a; INSTALL COMPONENT 'file://a'; UNINSTALL COMPONENT 'file://a';
    CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'a'; CHANGE REPLICATION FILTER REPLICATE_DO_DB = (a); START REPLICA; STOP REPLICA; START GROUP_REPLICATION; STOP GROUP_REPLICATION;
    PURGE BINARY LOGS TO 'a'; PURGE BINARY LOGS BEFORE '2020-01-01'; RESET REPLICA; BINLOG 'a';
    CREATE USER u@localhost; ALTER USER root@localhost IDENTIFIED BY ''; RENAME USER u@localhost TO v@localhost; DROP USER v@localhost; GRANT SELECT ON *.* TO u@localhost; REVOKE SELECT ON *.* FROM u@localhost;
    REVOKE ALL, GRANT OPTION FROM u@localhost; CREATE ROLE r; GRANT r TO u@localhost; REVOKE r FROM u@localhost; DROP ROLE r; ALTER USER root@localhost DEFAULT ROLE NONE;
    CREATE PROCEDURE p() SELECT 1; CREATE FUNCTION f() RETURNS INT RETURN 1; CREATE FUNCTION g RETURNS INTEGER SONAME 'a'; ALTER PROCEDURE p COMMENT 'a'; ALTER FUNCTION f COMMENT 'a'; DROP PROCEDURE p; DROP FUNCTION f;
    CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET @x = 1; DROP TRIGGER r; CREATE EVENT n ON SCHEDULE EVERY 1 DAY DO SELECT 1; ALTER EVENT n DISABLE; DROP EVENT n;
    CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'a'); ALTER SERVER s OPTIONS (USER 'a'); DROP SERVER s; CREATE TABLESPACE s ADD DATAFILE 'a.ibd';
    CREATE SPATIAL REFERENCE SYSTEM 4120 NAME 'a' DEFINITION 'b'; DROP SPATIAL REFERENCE SYSTEM 4120; CREATE RESOURCE GROUP g TYPE = USER; ALTER RESOURCE GROUP g VCPU = 0; SET RESOURCE GROUP g; DROP RESOURCE GROUP g;
    SHOW DATABASES; SHOW TABLES; SHOW TABLE STATUS; SHOW COLUMNS FROM t; SHOW INDEX FROM t; SHOW TRIGGERS; SHOW EVENTS; SHOW PROCEDURE STATUS; SHOW FUNCTION STATUS; SHOW PROCESSLIST; SHOW STATUS; SHOW VARIABLES;
    SHOW ENGINES; SHOW PLUGINS; SHOW COLLATION; SHOW CHARSET; SHOW BINARY LOG STATUS; SHOW BINARY LOGS; SHOW REPLICA STATUS; SHOW REPLICAS; SHOW CREATE TABLE t; SHOW CREATE DATABASE d; SHOW CREATE PROCEDURE p; SHOW CREATE FUNCTION f;
    SHOW CREATE TRIGGER r; SHOW CREATE EVENT n; SHOW CREATE USER root@localhost; SHOW WARNINGS; SHOW ERRORS; SHOW ENGINE INNODB STATUS; SHOW ENGINE INNODB MUTEX; SHOW ENGINE INNODB LOGS; SHOW OPEN TABLES; SHOW GRANTS; SHOW PRIVILEGES;
    SHOW PROFILES; SHOW PROFILE; SHOW BINLOG EVENTS; SHOW RELAYLOG EVENTS; SHOW PROCEDURE CODE p; SHOW FUNCTION CODE f; SHOW PARSE_TREE SELECT 1;
    SELECT COUNT(*) FROM performance_schema.threads;
    CREATE TABLE m (id INT PRIMARY KEY, a INT, b INT, c INT, KEY (a), KEY (b)); INSERT INTO m SELECT id, id, id, 1 FROM big; ANALYZE TABLE m;
    SELECT /*+ INDEX_MERGE(m a, b) */ * FROM m WHERE a = 2 OR b = 7; SELECT /*+ NO_BNL() */ COUNT(*) FROM t x STRAIGHT_JOIN big y USE INDEX () WHERE x.c > y.a;
    SET long_query_time = 0.01; DO SLEEP(0.05); SET GLOBAL innodb_buffer_pool_dump_now = ON;
    SET GLOBAL table_open_cache = 1; FLUSH TABLES; SELECT * FROM m LIMIT 1; SELECT * FROM t LIMIT 1; SET GLOBAL table_open_cache = 4000;
    SET GLOBAL innodb_buffer_pool_size = 67108864; SET GLOBAL innodb_redo_log_capacity = 67108864;
";

fn status(server: &Server) -> BTreeMap<String, String> {
    let lines = server.sql("SHOW GLOBAL STATUS");
    let pair = |line: &str| line.split_once('\t').map(|(n, v)| (n.to_string(), v.to_string()));
    lines.lines().filter_map(pair).collect()
}

/// Runs statements that may fail.
fn run_all(server: &Server, sql: &str) {
    let mut client = server.client();
    let client = client.arg("--force").stdin(Stdio::piped()).stdout(Stdio::null());
    let mut running = client.stderr(Stdio::null()).spawn().unwrap();
    running.stdin.take().unwrap().write_all(sql.as_bytes()).unwrap();
    running.wait().unwrap();
}

/// What sessions do to each other, and what the text protocol does not have.
fn disturb(server: &Server) {
    let (mut one, mut two) = (server.converse(), server.converse());
    two.ask("SET innodb_lock_wait_timeout = 1");
    one.ask("BEGIN");
    one.ask("UPDATE d.t SET c = 9 WHERE id = 1");
    two.ask("UPDATE d.t SET c = 9 WHERE id = 1");
    two.ask("BEGIN");
    two.ask("UPDATE d.t SET c = 9 WHERE id = 2");
    one.send("UPDATE d.t SET c = 9 WHERE id = 2");
    testkit::pause(100);
    two.ask("UPDATE d.t SET c = 9 WHERE id = 1");
    one.receive();
    let mut raw = RawClient::connect(server);
    raw.login();
    raw.command(22, b"SELECT id FROM d.t WHERE c <> 3"); // COM_STMT_PREPARE
    raw.command(23, &[1, 0, 0, 0, 0, 1, 0, 0, 0]); // COM_STMT_EXECUTE
    raw.command(24, &[1, 0, 0, 0, 0, 0, b'a']); // COM_STMT_SEND_LONG_DATA
    raw.command(26, &[1, 0, 0, 0]); // COM_STMT_RESET
    raw.command(28, &[1, 0, 0, 0, 1, 0, 0, 0]); // COM_STMT_FETCH
    raw.command(25, &[1, 0, 0, 0]); // COM_STMT_CLOSE
    raw.command(14, &[]); // COM_PING
    testkit::pause(50);
    drop(raw);
    drop(RawClient::connect(server));
    let secured = testkit::run(server.client().args(["--ssl", "--execute=SELECT 1"]));
    assert!(secured.ok, "{}", secured.err);
}

#[test]
fn every_status_name_moves_or_has_a_reason_not_to() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let before = status(&server);
    run_all(&server, WORKLOAD);
    disturb(&server);
    let (mut other, mut sleeper) = (server.converse(), server.converse());
    other.ask("PREPARE s FROM 'SELECT 1'");
    other.ask("SELECT * FROM d.t");
    sleeper.send("SELECT SLEEP(60)");
    let mut waiter = server.converse();
    other.ask("BEGIN");
    other.ask("UPDATE d.t SET c = 5 WHERE id = 1");
    waiter.send("UPDATE d.t SET c = 6 WHERE id = 1");
    // More threads wait for connections afterwards than before. A client that has been answered is connected: one that
    // has just been started may end before it is.
    let connected = |_| {
        let mut client = server.converse();
        client.ask("DO 1");
        client
    };
    drop((0..6).map(connected).collect::<Vec<_>>());
    let number = |all: &BTreeMap<String, String>, name: &str| {
        all.get(name).and_then(|n| n.parse().ok()).unwrap_or(0_u64)
    };
    let settled = || {
        let now = status(&server);
        let cached = number(&before, "Threads_cached");
        number(&now, "Limpid_purged_rows") > 0 && number(&now, "Threads_cached") > cached + 1
    };
    for _ in 0..100 {
        if settled() {
            break;
        }
        testkit::pause(50);
    }
    let after = status(&server);
    drop((other, sleeper, waiter));
    let mut still: Vec<&str> =
        after.iter().filter(|(n, v)| before.get(*n) == Some(v)).map(|(n, _)| n.as_str()).collect();
    let mut known: Vec<&str> = STILL.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    still.retain(|name| !SELDOM.contains(name));
    still.sort_unstable();
    known.sort_unstable();
    assert_eq!(still, known, "what did not move, and what is known not to");
}
