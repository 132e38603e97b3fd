//! System variables that act on the whole server: who may write, the logs of statements, what is refused at start;
//! and what operators see: states of sessions, counters of reads and changes.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

mod status;
mod watched;

use testkit::raw::RawClient;
use testkit::{Peer, Server, TempDir, TextClient};

/// A server with a table of two rows, and one without rows.
fn with_table(folder: &TempDir) -> Server {
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); INSERT INTO d.t VALUES (1, 1), (2, 2)");
    server
}

const READ_ONLY: &str = "The MySQL server is running with the --super-read-only option so it cannot execute this statement";

#[test]
fn super_read_only_refuses_every_write_and_what_is_open_cannot_commit() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut open = server.converse();
    open.ask("BEGIN");
    open.ask("UPDATE d.t SET c = 9 WHERE id = 1");
    server.sql("SET GLOBAL super_read_only = ON");
    assert_eq!(server.sql("SELECT @@read_only, @@super_read_only"), "1\t1");
    for write in [
        "INSERT INTO d.t VALUES (3, 3)",
        "UPDATE d.t SET c = 5",
        "DELETE FROM d.t WHERE id = 2",
        "CREATE TABLE d.u (a INT)",
        "ALTER TABLE d.t ADD x INT",
        "DROP TABLE d.t",
        "TRUNCATE TABLE d.t",
        "CREATE DATABASE e",
        "ALTER USER root@localhost IDENTIFIED BY 'x'",
    ] {
        let error = server.sql_error(write);
        assert!(error.contains("1290") && error.contains(READ_ONLY), "{write}: {error}");
    }
    server.sql("USE d; CREATE TEMPORARY TABLE own (a INT); INSERT INTO own VALUES (1); DROP TEMPORARY TABLE own");
    // The error is on the client's own standard error.
    open.ask("COMMIT");
    assert_eq!(server.sql("SELECT c FROM d.t WHERE id = 1"), "1", "it was rolled back");
    server.sql("SET GLOBAL read_only = OFF");
    assert_eq!(server.sql("SELECT @@read_only, @@super_read_only"), "0\t0");
    server.sql(
        "SET GLOBAL read_only = ON; INSERT INTO d.t VALUES (3, 3); SET GLOBAL read_only = OFF",
    );
    let error = server.sql_error("BEGIN; SET GLOBAL super_read_only = ON");
    assert!(error.contains("1192"), "{error}");
}

#[test]
fn read_only_is_about_those_without_super() {
    const REFUSED: &str = "The MySQL server is running with the --read-only option so it cannot execute this statement";
    let folder = TempDir::new();
    let server = with_table(&folder);
    server.sql("CREATE USER u, a; GRANT ALL ON d.* TO u, a; GRANT CONNECTION_ADMIN ON *.* TO a");
    let connect = |user: &str| {
        let peer = Peer { user: user.into(), ..Peer::from(server.socket()) };
        TextClient::connect(&peer)
    };
    let (mut user, mut open, mut admin) = (connect("u"), connect("u"), connect("a"));
    assert_eq!(user.code("CREATE TEMPORARY TABLE d.own (a INT)"), 0);
    assert_eq!((open.code("BEGIN"), open.code("UPDATE d.t SET c = 9 WHERE id = 1")), (0, 0));
    server.sql("SET GLOBAL read_only = ON");
    for sql in [
        "INSERT INTO d.t VALUES (3, 3)",
        "UPDATE d.t SET c = 5",
        "DELETE FROM d.t WHERE id = 2",
        "CREATE TABLE d.u (a INT)",
        "ALTER TABLE d.t ADD x INT",
        "DROP TABLE d.t",
        "TRUNCATE TABLE d.t",
        "LOCK TABLES d.t WRITE",
    ] {
        let refused = user.query(sql).unwrap_err();
        let told = (refused.number, refused.state.as_str(), refused.text.as_str());
        assert_eq!(told, (1290, "HY000", REFUSED), "{sql}");
    }
    for sql in [
        "SELECT c FROM d.t",
        "INSERT INTO d.own VALUES (1)",
        "UPDATE d.own SET a = 2",
        "CREATE TEMPORARY TABLE d.more (a INT)",
        "DROP TEMPORARY TABLE d.more",
    ] {
        assert_eq!(user.code(sql), 0, "{sql}");
    }
    assert_eq!(open.code("COMMIT"), 1290, "what was written before is rolled back");
    assert_eq!(admin.code("INSERT INTO d.t VALUES (3, 3)"), 0);
    assert_eq!(server.sql("SELECT id, c FROM d.t"), "1\t1\n2\t2\n3\t3");
    server.sql("SET GLOBAL super_read_only = ON");
    assert_eq!(admin.query("INSERT INTO d.t VALUES (4, 4)").unwrap_err().text, READ_ONLY);
    server.sql("SET GLOBAL read_only = OFF");
    assert_eq!(user.code("INSERT INTO d.t VALUES (4, 4)"), 0);
}

#[test]
fn a_server_that_starts_read_only_is() {
    let folder = TempDir::new();
    drop(with_table(&folder));
    let server = Server::with().option("--super-read-only").start(folder.path());
    assert!(server.sql_error("DELETE FROM d.t").contains("1290"));
    assert_eq!(server.sql("SELECT @@read_only, COUNT(*) FROM d.t"), "1\t2");
}

#[test]
fn options_that_cannot_be_had_are_refused_with_the_reason() {
    let folder = TempDir::new();
    for (option, reason) in [
        ("--log-bin=binlog", "There is no binary log."),
        ("--gtid-mode=ON", "There is no binary log, so no transaction has a global id."),
        ("--ssl-crlpath=crls", "Lists of revoked certificates are read from one file (ssl_crl)."),
        ("--innodb-undo-directory=/var/tmp", "All files lie in the data folder."),
        ("--innodb-file-per-table=OFF", "Each table has a file of its own."),
    ] {
        let mut refused = Server::with().option(option).spawn(folder.path());
        assert_ne!(refused.wait().code(), Some(0), "{option}");
        assert!(refused.log().contains(reason), "{option}: {}", refused.log());
    }
    let server = Server::with()
        .option("--innodb-log-file-size=16M")
        .option("--innodb-log-files-in-group=3")
        .option("--skip-log-bin")
        .option("--sync-binlog=1")
        .start(folder.path());
    assert_eq!(server.sql("SELECT @@innodb_redo_log_capacity"), (48 << 20).to_string());
    let error = server.sql_error("SET GLOBAL sync_binlog = 0");
    assert!(error.contains("1235") && error.contains("There is no binary log"), "{error}");
}

#[test]
fn the_general_and_the_slow_log_are_files_in_mysqls_format() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let general = folder.path().join("data/general.log");
    let slow = folder.path().join("data/slow.log");
    server.sql("SET GLOBAL general_log = ON; SET GLOBAL slow_query_log = ON");
    server.sql(
        "USE d; SET long_query_time = 0; SELECT c FROM t WHERE id > 0; ALTER TABLE t COMMENT 'x'",
    );
    server.sql("SELECT 'not slow'");
    server.sql("SET PASSWORD FOR root@localhost = ''; ALTER USER root@localhost IDENTIFIED BY 'geheim'; ALTER USER root@localhost IDENTIFIED BY ''");
    server.sql("SET sql_log_off = ON; SELECT 'unheard'");
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default();
    let text = read(&general);
    assert!(text.contains("Time                 Id Command    Argument\n"), "{text}");
    assert!(text.contains(" Connect\troot@localhost on "), "{text}");
    assert!(text.contains(" Query\tSELECT c FROM t WHERE id > 0\n"), "{text}");
    assert!(text.contains("Quit\t\n") && text.contains("<secret>"), "{text}");
    assert!(!text.contains("geheim") && !text.contains("unheard"), "{text}");
    let text = read(&slow);
    assert!(text.contains("# User@Host: root[root] @ localhost []  Id: "), "{text}");
    assert!(text.contains(" Rows_sent: 2  Rows_examined: 2\nuse d;\nSET timestamp="), "{text}");
    assert!(text.contains("\nSELECT c FROM t WHERE id > 0;\n"), "{text}");
    assert!(!text.contains("not slow") && !text.contains("ALTER TABLE"), "{text}");
    // What moves the files away says so.
    std::fs::rename(&general, folder.path().join("data/general.old.log")).unwrap();
    server.sql("FLUSH LOGS; SELECT 'after'");
    assert!(read(&general).contains("SELECT 'after'"), "{}", read(&general));
    server.sql("SET GLOBAL log_output = 'NONE'; SELECT 'nowhere'");
    assert!(!read(&general).contains("nowhere"));
    assert!(server.sql_error("SET GLOBAL log_output = 'TABLE'").contains("1235"));
    assert!(server.sql_error("SET GLOBAL log_output = 'nope'").contains("1231"));
    assert!(
        server
            .sql_error(
                "SET GLOBAL general_log_file = '/nowhere/x.log'; SET GLOBAL log_output = 'FILE'"
            )
            .contains("(29)")
            || server.sql("SELECT @@general_log") == "0"
    );
}

#[test]
fn a_statement_that_took_long_is_counted_whether_it_is_logged_or_not() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let slow = "SHOW SESSION STATUS LIKE 'Slow_queries'";
    let counted = server.sql(&format!("SET long_query_time = 0.05; DO SLEEP(0.1); {slow}"));
    assert_eq!(counted, "Slow_queries\t1");
}

#[test]
fn states_are_mysqls() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut holder = server.converse();
    for (hold, run, state) in [
        (
            "BEGIN; SELECT * FROM d.t",
            "ALTER TABLE d.t ADD x1 INT",
            "Waiting for table metadata lock",
        ),
        (
            "FLUSH TABLES WITH READ LOCK",
            "INSERT INTO d.t (id) VALUES (70)",
            "Waiting for global read lock",
        ),
        ("LOCK INSTANCE FOR BACKUP", "CREATE TABLE d.b1 (a INT)", "Waiting for backup lock"),
        ("BEGIN; UPDATE d.t SET c = 7", "UPDATE d.t SET c = 8", "updating"),
        ("BEGIN; UPDATE d.t SET c = 7", "SELECT * FROM d.t FOR UPDATE", "executing"),
        ("SELECT GET_LOCK('a', 0)", "SELECT GET_LOCK('a', 60)", "User lock"),
        ("DO 0", "SELECT SLEEP(1) AS a", "User sleep"),
    ] {
        holder.ask(hold);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| server.sql(run));
            server.find_state(run, state);
            holder.ask("ROLLBACK; UNLOCK TABLES; UNLOCK INSTANCE; DO RELEASE_ALL_LOCKS()");
            waiter.join().unwrap();
        });
    }
}

/// A statement, and what it counts in MySQL 9.7 (`FLUSH LOCAL STATUS` before it, counters that are 0 left out).
const COUNTED: &[(&str, &str)] = &[
    ("SELECT * FROM t WHERE id = 2", "commit 1, external_lock 2, read_key 1"),
    ("SELECT * FROM t WHERE id = 99", "commit 1, external_lock 2, read_key 1"),
    (
        "SELECT * FROM t",
        "commit 1, external_lock 2, read_first 1, read_key 1, read_rnd_next 6, scan 1",
    ),
    (
        "SELECT * FROM t LIMIT 1",
        "commit 1, external_lock 2, read_first 1, read_key 1, read_rnd_next 1, scan 1",
    ),
    (
        "SELECT * FROM t ORDER BY id",
        "commit 1, external_lock 2, read_first 1, read_key 1, read_next 5, scan 1",
    ),
    (
        "SELECT * FROM t ORDER BY id DESC",
        "commit 1, external_lock 2, read_key 1, read_last 1, read_prev 5, scan 1",
    ),
    (
        "SELECT * FROM t ORDER BY a LIMIT 1",
        "commit 1, external_lock 2, read_first 1, read_key 1, scan 1",
    ),
    ("SELECT a FROM t", "commit 1, external_lock 2, read_first 1, read_key 1, read_next 5, scan 1"),
    (
        "SELECT * FROM t FORCE INDEX (a) WHERE a = 20",
        "commit 1, external_lock 2, read_key 1, read_next 2",
    ),
    ("SELECT * FROM t FORCE INDEX (a) WHERE a = 99", "commit 1, external_lock 2, read_key 1"),
    (
        "SELECT * FROM t WHERE id BETWEEN 2 AND 4",
        "commit 1, external_lock 2, read_key 1, read_next 3, range 1",
    ),
    (
        "SELECT * FROM t WHERE id > 2 ORDER BY id DESC",
        "commit 1, external_lock 2, read_key 1, read_last 1, read_prev 3, range 1",
    ),
    (
        "SELECT * FROM t ORDER BY b LIMIT 2",
        "commit 1, external_lock 2, read_first 1, read_key 1, read_rnd_next 6, scan 1, sort_rows 2, sort_scan 1",
    ),
    (
        "SELECT * FROM t WHERE id < 3 ORDER BY b",
        "commit 1, external_lock 2, read_first 1, read_key 1, read_next 2, range 1, sort_rows 2, sort_scan 1",
    ),
    ("SELECT MAX(a) FROM t", "commit 1, external_lock 2, read_key 1, read_last 1"),
    ("INSERT INTO u VALUES (11, 1), (12, 2)", "commit 1, external_lock 2, write 2"),
    ("INSERT IGNORE INTO u VALUES (11, 1)", "commit 1, external_lock 2, write 1"),
    (
        "INSERT INTO u VALUES (11, 1) ON DUPLICATE KEY UPDATE c = c + 1",
        "commit 1, external_lock 2, read_key 1, update 1, write 1",
    ),
    ("REPLACE INTO u VALUES (11, 5)", "commit 1, external_lock 2, read_key 1, update 1, write 1"),
    ("UPDATE u SET c = 9 WHERE id = 11", "commit 1, external_lock 2, read_key 1, update 1"),
    (
        "UPDATE u SET c = c + 1",
        "commit 1, external_lock 2, read_first 1, read_key 1, read_rnd_next 6, update 5",
    ),
    ("DELETE FROM u WHERE id = 12", "commit 1, delete 1, external_lock 2, read_key 1"),
    ("DELETE FROM u WHERE id = 999", "commit 1, external_lock 2, read_key 1"),
    (
        "INSERT INTO u SELECT id + 100, a FROM t",
        "commit 1, external_lock 4, read_first 1, read_key 1, read_next 5, write 5, scan 1",
    ),
    (
        "DELETE FROM u WHERE id > 100",
        "commit 1, delete 5, external_lock 2, read_key 1, read_next 5",
    ),
    ("SELECT 1", ""),
];

const COUNTERS: &str = "SHOW SESSION STATUS WHERE Value <> 0 AND (Variable_name LIKE 'Handler%' \
    OR Variable_name LIKE 'Select%' OR Variable_name LIKE 'Sort%')";

#[test]
fn handler_select_and_sort_counters_count_as_mysqls() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(10), KEY (a));
         INSERT INTO t VALUES (1,10,'x'),(2,20,'y'),(3,20,'z'),(4,30,NULL),(5,40,'w');
         CREATE TABLE u (id INT PRIMARY KEY, c INT); INSERT INTO u VALUES (1,1),(2,2),(3,3);
         ANALYZE TABLE t, u",
    );
    let mut session = server.converse();
    session.ask("USE d");
    let mut wrong = Vec::new();
    for (statement, counted) in COUNTED {
        session.ask("FLUSH LOCAL STATUS");
        session.ask(statement);
        let mut lines: Vec<String> = session
            .ask(COUNTERS)
            .iter()
            .filter(|line| line.contains('\t'))
            .map(|line| {
                let name = line.replace("Handler_", "").replace("Select_", "").replace('\t', " ");
                name.replace("Sort_", "sort_")
            })
            .collect();
        // MySQL's order has Select_ before Sort_, and both behind Handler_; so has ours.
        lines.dedup();
        if lines.join(", ") != *counted {
            wrong.push(format!("{statement}\n  MySQL: {counted}\n  here:  {}", lines.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_row_that_a_check_option_refuses_is_no_request_to_the_engine() {
    let folder = TempDir::new();
    let server = with_table(&folder);
    let mut session = server.converse();
    session.ask("USE d");
    session.ask("CREATE VIEW v AS SELECT * FROM t WHERE c < 5 WITH CHECK OPTION");
    for (statement, counted) in [
        ("UPDATE v SET c = 9", 0),
        ("UPDATE v SET c = 9 WHERE id = 1", 0),
        ("INSERT INTO v VALUES (1, 1) ON DUPLICATE KEY UPDATE c = 9", 0),
        // From 1 to 4 and from 2 to 5.
        ("UPDATE IGNORE v SET c = c + 3", 1),
    ] {
        session.ask("FLUSH LOCAL STATUS");
        let answer = session.ask(&format!("{statement}; SHOW WARNINGS")).join("\n");
        assert!(answer.contains("\t1369\tCHECK OPTION failed 'd.v'"), "{statement}: {answer}");
        let updates = session.ask("SHOW SESSION STATUS LIKE 'Handler_update'").join("\n");
        assert_eq!(updates, format!("Handler_update\t{counted}"), "{statement}");
    }
    assert_eq!(session.ask("SELECT c FROM t"), ["4", "2"]);
}

/// Statements with how many temporary tables MySQL 9.7 makes for each.
const TEMPORARY: &[(&str, u32)] = &[
    ("SELECT a, COUNT(*) FROM t GROUP BY b", 1),
    ("SELECT DISTINCT b FROM t", 1),
    ("SELECT DISTINCT id FROM t", 0),
    ("SELECT b FROM t ORDER BY b", 0),
    ("SELECT a FROM t UNION SELECT id FROM t", 1),
    ("SELECT a FROM t UNION ALL SELECT id FROM t", 0),
    ("SELECT a FROM t EXCEPT SELECT id FROM t", 1),
    ("SELECT * FROM (SELECT a FROM t) d", 0),
    ("SELECT id, ROW_NUMBER() OVER (ORDER BY b) FROM t", 0),
    ("SELECT DISTINCT b, COUNT(*) OVER () FROM t", 2),
    ("SELECT j.x FROM JSON_TABLE('[1,2]', '$[*]' COLUMNS (x INT PATH '$')) j", 1),
    (
        "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r",
        1,
    ),
    ("WITH c AS (SELECT b, COUNT(*) n FROM t GROUP BY b) SELECT * FROM c x JOIN c y USING (b)", 2),
];

#[test]
fn temporary_tables_are_counted_in_memory_and_on_disk() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(
        "SET GLOBAL temptable_max_ram = 2097152; SET sql_mode = ''; CREATE DATABASE d; USE d;
         CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(10));
         INSERT INTO t VALUES (1,10,'x'),(2,20,'y'),(3,20,'z'),(4,30,NULL),(5,40,'w')",
    );
    let mut session = server.converse();
    session.ask("USE d");
    session.ask("SET sql_mode = '', cte_max_recursion_depth = 1000000");
    let count = |session: &mut testkit::Conversation, statement: &str| {
        session.ask("FLUSH LOCAL STATUS");
        session.ask(statement);
        let lines = session.ask("SHOW SESSION STATUS LIKE 'Created_tmp%'");
        let of = |name: &str| -> u32 {
            let line = lines.iter().find(|line| line.starts_with(name)).unwrap();
            line.rsplit('\t').next().unwrap().parse().unwrap()
        };
        (of("Created_tmp_tables"), of("Created_tmp_disk_tables"), of("Created_tmp_files"))
    };
    for (statement, tables) in TEMPORARY {
        assert_eq!(count(&mut session, statement), (*tables, 0, 0), "{statement}");
    }
    let rows = "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 200000)";
    let (tables, on_disk, files) = count(
        &mut session,
        &format!("{rows} SELECT COUNT(*) FROM (SELECT DISTINCT REPEAT(n, 9) FROM r) d"),
    );
    assert!(tables > 1 && on_disk > 0 && files > 0, "{tables} {on_disk} {files}");
}

#[test]
fn a_shutdown_purges_everything_or_leaves_the_pages_to_recovery() {
    let folder = TempDir::new();
    let mut server = with_table(&folder);
    for how in ["2", "0"] {
        server.sql(&format!("UPDATE d.t SET c = c + 1; SET GLOBAL innodb_fast_shutdown = {how}"));
        assert_eq!(server.stop().code(), Some(0));
        server = Server::start(folder.path());
        assert_eq!(server.sql("CHECK TABLE d.t"), "d.t\tcheck\tstatus\tOK");
    }
    assert_eq!(server.sql("SELECT c FROM d.t"), "3\n4");
}

#[test]
fn commands_that_mysql_has_no_more_are_unknown_to_a_live_server() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    for command in [0x00, 0x05, 0x06, 0x07, 0x08, 0x0A, 0x0C] {
        let mut client = RawClient::connect(&server);
        client.login();
        client.command(command, &[1, 0, 0, 0]);
        assert_eq!(client.expect_error(), 1047, "command {command}");
    }
    assert_eq!(server.sql("SELECT 1"), "1", "COM_SHUTDOWN shuts nothing down");
}
