//! `limpid doctor` beside real servers: each that has a fault is told so, one that is well is left alone.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use serde_json::Value;
use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Output};
use testkit::server::binary;
use testkit::{Server, TempDir};

fn doctor(arguments: &[&str]) -> Output {
    Command::new(binary()).arg("doctor").args(arguments).output().unwrap()
}

fn socket(server: &Server) -> String {
    format!("--socket={}", server.socket().display())
}

/// What is found, and the exit code.
fn found(server: &Server) -> (Vec<Value>, Option<i32>) {
    let output = doctor(&[&socket(server), "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(document["skipped"], Value::Array(Vec::new()));
    (document["findings"].as_array().unwrap().clone(), output.status.code())
}

fn rules(findings: &[Value]) -> Vec<&str> {
    findings.iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

/// The finding of a rule, which must be there.
fn of<'f>(findings: &'f [Value], rule: &str) -> &'f Value {
    let found = findings.iter().find(|finding| finding["rule"] == rule);
    found.unwrap_or_else(|| panic!("no {rule} in {findings:#?}"))
}

fn number(finding: &Value, figure: &str) -> f64 {
    let figure = finding["figures"][figure].as_str();
    figure.and_then(|figure| figure.parse().ok()).unwrap_or_else(|| panic!("{finding:#}"))
}

/// Runs many statements in one session.
fn run_all(server: &Server, statements: impl Iterator<Item = String>) {
    let mut child = server
        .client()
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    statements.for_each(|statement| writeln!(input, "{statement};").unwrap());
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_server_that_is_well_has_no_findings() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, c INT, KEY (c)); INSERT INTO d.t (c) VALUES (1), (2)");
    run_all(&server, (0..2000).map(|n| format!("SELECT c FROM d.t WHERE c = {}", n % 3)));
    run_all(&server, (0..200).map(|n| format!("INSERT INTO d.t (c) VALUES ({n})")));
    let (findings, code) = found(&server);
    assert_eq!((findings, code), (Vec::new(), Some(0)));
    let output = doctor(&[&socket(&server)]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 findings, 0 rules skipped\n");
}

#[test]
fn who_is_not_reached_is_told_apart() {
    let folder = TempDir::new();
    let server = Server::with().option("--innodb-flush-log-at-trx-commit=2").start(folder.path());
    server.sql("CREATE USER asker IDENTIFIED BY 'sesame'; GRANT SELECT ON *.* TO asker; GRANT PROCESS ON *.* TO asker; \
                CREATE USER nobody IDENTIFIED BY 'sesame'");
    let port = format!("--port={}", server.port());
    let code = |arguments: &[&str]| {
        let output = doctor(arguments);
        (
            output.status.code(),
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        )
    };
    // Over the network the password is sealed the first time, and scrambled when the server knows it.
    for _ in 0..2 {
        let (code, text) = code(&[&port, "--user=asker", "--password=sesame"]);
        assert!(
            code == Some(1) && text.contains("SET PERSIST innodb_flush_log_at_trx_commit = 1"),
            "{text}"
        );
    }
    let (wrong, text) = code(&[&port, "-u", "asker", "-p", "open"]);
    assert!(wrong == Some(2) && text.contains("Access denied"), "{text}");
    let (refused, text) = code(&[&socket(&server), "--user=nobody", "--password=sesame"]);
    // Rules whose tables an account may not read are named.
    assert!(refused == Some(1) && text.contains("skipped held-latch: error 1142"), "{text}");
    assert_eq!(code(&["--socket=/nowhere/s.sock"]).0, Some(2));
    assert_eq!(code(&["--nosuch"]).0, Some(2));
    assert_eq!(code(&["--list"]).0, Some(0));
    // Who listens and is no server, and who goes in the middle of the greeting.
    for says in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"\x4a\x00\x00\x00\x0a8.4"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = format!("--port={}", listener.local_addr().unwrap().port());
        let answers = std::thread::spawn(move || listener.accept().unwrap().0.write_all(says));
        let (code, text) = code(&[&other]);
        assert!(code == Some(2) && text.starts_with("limpid doctor: "), "{text}");
        answers.join().unwrap().unwrap();
    }
}

/// A rule without a server that has its fault, or without its line in the documents, is noticed here.
#[test]
fn each_rule_has_its_server_and_its_line() {
    let list = String::from_utf8(doctor(&["--list"]).stdout).unwrap();
    let names: Vec<&str> = list.lines().filter_map(|line| line.split(':').next()).collect();
    assert!(names.len() >= 16, "{list}");
    for name in names {
        assert!(include_str!("doctor.rs").contains(&format!("\"{name}\"")), "{name} has no server");
        let line = format!("\n| `{name}` | ");
        assert!(include_str!("../docs/doctor.md").contains(&line), "{name} is not in the document");
    }
}

#[test]
fn small_and_uneven_caches_are_found() {
    const TABLES: usize = 450;
    let folder = TempDir::new();
    let server = Server::with()
        .option("--table-open-cache=10")
        .option("--table-definition-cache=400")
        .option("--performance-schema-digests-size=10000")
        .option("--innodb-flush-log-at-trx-commit=0")
        .start(folder.path());
    server.sql("CREATE DATABASE d");
    run_all(&server, (0..TABLES).map(|n| format!("CREATE TABLE d.t{n} (id INT PRIMARY KEY)")));
    for _ in 0..3 {
        run_all(&server, (0..TABLES).map(|n| format!("SELECT * FROM d.t{n}")));
    }
    server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1; SET GLOBAL limpid_table_cache_local = OFF; SET GLOBAL limpid_instrument_level = synch");
    run_all(&server, (0..1500).map(|_| "SELECT * FROM d.t1".to_string()));
    server.sql("SET GLOBAL limpid_instrument_level = default");
    let (findings, code) = found(&server);
    assert_eq!(
        (rules(&findings), code),
        (vec!["table-cache", "definition-cache", "table-cache-instances"], Some(1))
    );
    assert!(number(&findings[0], "Table_open_cache_overflows") >= 1000.0, "{findings:#?}");
    assert_eq!(findings[0]["change"], "SET PERSIST table_open_cache = 20");
    assert_eq!(findings[1]["change"], "SET PERSIST table_definition_cache = 800");
    assert_eq!(findings[2]["change"], "SET PERSIST limpid_table_cache_local = ON");
}

#[test]
fn who_is_in_whose_way_is_found() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT); INSERT INTO d.t VALUES (1, 1), (2, 2);
                CREATE TABLE d.i (id INT AUTO_INCREMENT PRIMARY KEY, c INT)");
    // The log's latch is held while the log is made durable, which is no fault.
    server.sql("SET GLOBAL limpid_instrument_level = synch");
    let mut writer = server.converse();
    writer.send(&"INSERT INTO d.i (c) VALUES (1);\n".repeat(500));
    drop(writer.receive());
    assert!(!rules(&found(&server).0).contains(&"held-latch"));
    server.sql("SET GLOBAL limpid_instrument_level = default");
    // Somebody idles within a transaction, others wait for his row, another for the table.
    let mut owner = server.converse();
    owner.ask("USE d");
    let id = owner.ask("SELECT CONNECTION_ID()").concat();
    owner.ask("BEGIN");
    owner.ask("UPDATE t SET c = 3 WHERE id = 1");
    let mut waiters: Vec<_> = (0..6).map(|_| server.converse()).collect();
    waiters.iter_mut().for_each(|waiter| waiter.send("UPDATE d.t SET c = 4 WHERE id = 1"));
    server.find_state("UPDATE d.t SET c = 4 WHERE id = 1", "updating");
    let mut ddl = server.converse();
    ddl.send("ALTER TABLE d.t ADD `x\x1b[31m` INT");
    server.find_session("ALTER TABLE d.t ADD");
    testkit::pause(3500);
    let (findings, _) = found(&server);
    let idle = of(&findings, "idle-blocker");
    assert_eq!(
        (number(idle, "waiting sessions"), idle["change"].as_str()),
        (7.0, Some(&*format!("KILL {id}")))
    );
    let waiting = of(&findings, "waiting-ddl");
    assert_eq!(waiting["change"], format!("KILL {id}"));
    assert_eq!(waiting["figures"]["statement"], "ALTER TABLE d.t ADD `x\\u{1b}[31m` INT");
    owner.ask("COMMIT");
    waiters.iter_mut().for_each(|waiter| drop(waiter.receive()));
    ddl.receive();
    let (findings, _) = found(&server);
    assert!(number(of(&findings, "hot-rows"), "Innodb_row_lock_waits") >= 5.0);
    assert_eq!(rules(&findings), ["hot-rows"]);
    // An old view keeps what was changed since.
    owner.ask("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    owner.ask("SELECT * FROM t");
    server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    run_all(&server, (0..30_000).map(|n| format!("UPDATE d.t SET c = {n} WHERE id = 2")));
    server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    let (findings, _) = found(&server);
    let view = of(&findings, "old-view");
    assert!(
        number(view, "trx_rseg_history_len") >= 10_000.0 && view["change"] == format!("KILL {id}"),
        "{view:#}"
    );
}

/// Where the pages of a small table lie, as the engine has it: extents of 64 pages are spread over instances by a hash, and the pages
/// that a segment takes first come from the first extent of its file.
fn instance_of(space: u64, instances: u64) -> u64 {
    let hash = (space << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    (hash * instances) >> 32
}

#[test]
fn an_instance_of_the_pool_that_has_most_pages_is_found() {
    const INSTANCES: u64 = 3;
    const TABLES: usize = 240;
    let folder = TempDir::new();
    // Below a gigabyte there is one instance, whatever was asked for.
    let server = Server::with()
        .option("--innodb-buffer-pool-size=1G")
        .option(format!("--innodb-buffer-pool-instances={INSTANCES}"))
        .option("--innodb-redo-log-capacity=1G")
        .start(folder.path());
    server.sql("CREATE DATABASE d; SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    let table = "(id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(8000)) CHARSET latin1";
    run_all(&server, (0..TABLES).map(|n| format!("CREATE TABLE d.t{n} {table}")));
    // 29 leaves each: a segment's first 32 pages lie in its file's first extent.
    let rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 58) SELECT REPEAT('x', 7000) FROM n";
    let fill = |tables: &[&str]| {
        run_all(&server, tables.iter().map(|name| format!("INSERT INTO {name} (v) {rows}")));
    };
    let places = server.sql(
        "SELECT REPLACE(NAME, '/', '.'), SPACE FROM information_schema.INNODB_TABLES WHERE NAME LIKE 'd/t%' ORDER BY SPACE",
    );
    let mut tables: [Vec<&str>; INSTANCES as usize] = Default::default();
    for (name, space) in places.lines().filter_map(|line| line.split_once('\t')) {
        tables[instance_of(space.parse().unwrap(), INSTANCES) as usize].push(name);
    }
    let [first, others @ ..] = &tables;
    fill(first);
    server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    let (findings, code) = found(&server);
    assert_eq!((rules(&findings), code), (vec!["buffer-pool-instances"], Some(1)), "{findings:#?}");
    let [fullest, all] = ["pages of the fullest", "pages of all"].map(|n| number(&findings[0], n));
    assert!(fullest > 1536.0 && fullest < all, "{findings:#?}");
    assert_eq!(number(&findings[0], "instances"), INSTANCES as f64);
    assert_eq!(findings[0]["change"], "SET PERSIST_ONLY innodb_buffer_pool_instances = 1");
    // As many in the others, and it is well.
    server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    for tables in others {
        fill(tables);
    }
    server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    assert_eq!(found(&server), (Vec::new(), Some(0)));
}

#[test]
fn a_latch_that_is_held_is_found() {
    const SECONDS: u32 = 5;
    let folder = TempDir::new();
    // Pages are written at once, and commits do not wait for the log: who writes a page asks for it.
    let server = Server::with()
        .option("--innodb-max-dirty-pages-pct=0")
        .option("--innodb-max-dirty-pages-pct-lwm=0")
        .option("--innodb-flush-log-at-trx-commit=2")
        .start(folder.path());
    server.sql("CREATE DATABASE sbtest");
    let script = ["oltp_update_index", "--tables=1", "--table-size=10000"];
    let prepared = server.sysbench(false, &[&script[..], &["prepare"]].concat());
    assert!(prepared.ok, "{}", prepared.err);
    server.sql("SET GLOBAL limpid_instrument_level = synch");
    // A disk that takes 200 ms to make anything durable.
    let mut strace = Command::new("strace")
        .args(["-f", "-q", "-e", "trace=fdatasync,fsync"])
        .args(["-e", "inject=fdatasync,fsync:delay_enter=200000", "-o", "/dev/null"])
        .args(["-p", &server.pid().to_string()])
        .spawn()
        .unwrap();
    testkit::pause(700);
    server.sql("TRUNCATE TABLE performance_schema.limpid_latch_holds");
    let time = format!("--time={SECONDS}");
    let ran = server.sysbench(false, &[&script[..], &["--threads=4", &time, "run"]].concat());
    let (findings, code) = found(&server);
    testkit::signal(strace.id(), "INT");
    let _ = strace.wait();
    assert!(ran.ok, "{}\n{}", ran.out, ran.err);
    // Who writes pages, and who looks after the log's room, hold theirs meanwhile.
    let held = findings.iter().filter(|finding| finding["rule"] == "held-latch");
    let named = held.filter(|finding| {
        let what = finding["what"].as_str().unwrap();
        assert!(number(finding, "HELD_PERCENT") >= 50.0, "{finding:#}");
        what.contains("/page_cleaner_mutex is") || what.contains("/log_governor_mutex is")
    });
    assert!(named.count() > 0 && code == Some(1), "{findings:#?}");
}

#[test]
fn statements_indexes_and_settings_are_judged() {
    let folder = TempDir::new();
    let server = Server::with()
        .option("--innodb-redo-log-capacity=8388608")
        .option("--innodb-flush-log-at-trx-commit=0")
        .option("--innodb-doublewrite=OFF")
        .option("--performance-schema-max-prepared-statements-instances=0")
        .start(folder.path());
    server.sql("CREATE DATABASE d; USE d; CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, v VARCHAR(2000), KEY by_a (a), KEY `by_\u{1}a` (a, id), KEY by_v (v(10)));
        INSERT INTO t (a, v) SELECT 1, REPEAT('x', 1500); SET sort_buffer_size = 32768");
    run_all(
        &server,
        (0..14).map(|_| {
            "INSERT INTO d.t (a, v) SELECT id * 7, CONCAT(id, LEFT(v, 1500)) FROM d.t".to_string()
        }),
    );
    run_all(
        &server,
        (0..8).map(|_| "SELECT COUNT(*) FROM d.t WHERE MD5(v) = 'nosuch'".to_string()),
    );
    server.sql(
        "SET sort_buffer_size = 32768, tmp_table_size = 1024, max_heap_table_size = 16384; \
                SELECT id FROM d.t ORDER BY v DESC, id LIMIT 9000, 1; PREPARE p FROM 'SELECT 1'",
    );
    let (findings, code) = found(&server);
    let told = |rule: &str| of(&findings, rule)["change"].as_str().unwrap();
    assert_eq!(told("redo-pacing"), "SET PERSIST innodb_redo_log_capacity = 16777216");
    assert_eq!(told("unused-index"), "ALTER TABLE `d`.`t` ALTER INDEX `by_a` INVISIBLE");
    assert_eq!(told("duplicate-index"), "ALTER TABLE `d`.`t` DROP INDEX `by_a`");
    assert_eq!(told("no-index"), "EXPLAIN SELECT COUNT(*) FROM d.t WHERE MD5(v) = 'nosuch'");
    assert!(told("temporary-files").starts_with("SET PERSIST sort_buffer_size = "));
    let size = "performance_schema_max_prepared_statements_instances";
    assert_eq!(told("lost-instruments"), format!("SET PERSIST_ONLY {size} = -1"));
    let unsafe_settings = findings.iter().filter(|finding| finding["rule"] == "lost-commits");
    let mut changes: Vec<_> =
        unsafe_settings.map(|finding| finding["change"].as_str().unwrap()).collect();
    changes.sort_unstable();
    assert_eq!(
        changes,
        [
            "SET PERSIST innodb_flush_log_at_trx_commit = 1",
            "SET PERSIST_ONLY innodb_doublewrite = ON"
        ]
    );
    assert_eq!(code, Some(1));
    let text = doctor(&[&socket(&server)]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("by_\\u{1}a") && !text.contains('\u{1}'), "{text}");
}
