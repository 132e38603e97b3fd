//! Prometheus's `mysqld_exporter` (Debian's package) with every collector that works on MySQL 8.4, and the account that its
//! documentation asks for.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::{Server, TempDir, TextClient};

/// What is collected. Left out is what fails or has no rows on MySQL 8.4 as well: `slave_status` and `slave_hosts` (1064 since
/// 8.4), `engine_tokudb_status` (1286), `heartbeat` (wants a table of pt-heartbeat), `info_schema.userstats`, `clientstats`,
/// `tablestats`, `schemastats` and `query_response_time` (variables of Percona's server), `info_schema.replica_host` (Aurora),
/// `binlog_size` (there is no binary log), `perf_schema.replication_*` (no replication).
const COLLECTORS: [&str; 20] = [
    "auto_increment.columns",
    "engine_innodb_status",
    "global_status",
    "global_variables",
    "info_schema.innodb_cmp",
    "info_schema.innodb_cmpmem",
    "info_schema.innodb_metrics",
    "info_schema.innodb_tablespaces",
    "info_schema.processlist",
    "info_schema.tables",
    "mysql.user",
    "perf_schema.eventsstatements",
    "perf_schema.eventsstatementssum",
    "perf_schema.eventswaits",
    "perf_schema.file_events",
    "perf_schema.file_instances",
    "perf_schema.indexiowaits",
    "perf_schema.memory_events",
    "perf_schema.tableiowaits",
    "perf_schema.tablelocks",
];

/// The account as the exporter's documentation makes it, but for the word and for where it comes from.
fn account(host: &str, require: &str) -> String {
    format!(
        "CREATE USER 'exporter'@'{host}' IDENTIFIED BY 'word' REQUIRE {require} WITH MAX_USER_CONNECTIONS 3;
         GRANT PROCESS, REPLICATION CLIENT, SELECT ON *.* TO 'exporter'@'{host}'"
    )
}

/// A process that ends with the test, or before.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An exporter that is told of the server by lines of its option file, and where it has no such file by the environment.
fn start(folder: &Path, port: u16, lines: &str, dsn: Option<String>) -> Running {
    let options = folder.join("exporter.cnf");
    std::fs::write(&options, format!("[client]\nuser=exporter\npassword=word\n{lines}\n")).unwrap();
    let log = std::fs::File::create(folder.join("exporter.log")).unwrap();
    let mut command = Command::new("prometheus-mysqld-exporter");
    command.args(COLLECTORS.map(|collector| format!("--collect.{collector}")));
    // These are on unless somebody says otherwise.
    command.args(["--no-collect.slave_status", "--no-collect.info_schema.query_response_time"]);
    command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    command.arg(format!("--config.my-cnf={}", options.display()));
    command.envs(dsn.map(|dsn| ("DATA_SOURCE_NAME", dsn)));
    Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

/// What it answers; `None` until it listens.
fn scrape(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.contains("mysql_up").then_some(answer)
}

/// Metrics by name and labels.
fn metrics(answer: &str) -> BTreeMap<&str, f64> {
    let lines = answer.lines().filter(|line| line.starts_with("mysql_"));
    lines.filter_map(|line| line.rsplit_once(' ')).map(|(n, v)| (n, v.parse().unwrap())).collect()
}

/// What an exporter at this port answers once it listens.
fn scraped(port: u16) -> Option<String> {
    (0..200).find_map(|_| {
        testkit::pause(50);
        scrape(port)
    })
}

fn log_of(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("exporter.log")).unwrap()
}

#[test]
fn the_stock_exporter_collects_everything() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(&account("localhost", "NONE"));
    let socket = server.socket().display();
    let dsn = format!("exporter:word@unix({socket})/");
    collects_everything(&server, folder.path(), &format!("socket={socket}"), Some(dsn));
}

#[test]
fn the_stock_exporter_collects_everything_over_tls_that_it_verifies() {
    let (folder, other) = (TempDir::new(), TempDir::new());
    let (server, _other) = (Server::start(folder.path()), Server::start(other.path()));
    server.sql(&account("127.0.0.1", "SSL"));
    let at = |trusted: &TempDir| {
        let ca = trusted.path().join("data/ca.pem");
        format!("host=127.0.0.1\nport={}\nssl-ca={}", server.port(), ca.display())
    };
    // A server of another authority is none to it.
    let port = testkit::server::free_port();
    let stranger = start(other.path(), port, &at(&other), None);
    let answer = scraped(port).unwrap_or_else(|| panic!("{}", log_of(other.path())));
    assert_eq!(metrics(&answer)["mysql_up"], 0.0);
    assert!(log_of(other.path()).contains("x509: "), "{}", log_of(other.path()));
    drop(stranger);
    collects_everything(&server, folder.path(), &at(&folder), None);
}

/// What one finds that comes to the server as these say.
fn collects_everything(server: &Server, folder: &Path, lines: &str, dsn: Option<String>) {
    server.sql(
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, c INT, KEY (c));
         INSERT INTO t (c) VALUES (1), (2), (3); UPDATE t SET c = 7 WHERE id = 2; SELECT id FROM t WHERE c = 7; DELETE FROM t WHERE id = 3",
    );
    // Somebody who is not the exporter.
    let mut session = server.converse();
    session.ask("SELECT 1");
    let port = testkit::server::free_port();
    let _exporter = start(folder, port, lines, dsn);
    let answer = scraped(port);
    let log = log_of(folder);
    let answer = answer.unwrap_or_else(|| panic!("{log}"));
    assert!(!log.contains("level=error") && !log.contains("level=warn"), "{log}");
    // Nobody else collected.
    let connects = "SELECT SUM(total_connections) > 0 FROM performance_schema.accounts WHERE user = 'exporter'";
    assert_eq!(server.sql(connects), "1");
    let all = metrics(&answer);
    assert_eq!((all["mysql_up"], all["mysql_exporter_last_scrape_error"]), (1.0, 0.0));
    let sum = |name: &str, labels: &[&str]| -> f64 {
        let of = |metric: &str| {
            let begins =
                metric.strip_prefix(name).is_some_and(|r| r.is_empty() || r.starts_with('{'));
            begins && labels.iter().all(|label| metric.contains(label))
        };
        all.iter().filter(|(metric, _)| of(metric)).map(|(_, value)| value).sum()
    };
    let table = ["name=\"t\"", "schema=\"d\""];
    for (name, labels, least) in [
        ("mysql_perf_schema_events_statements_total", &["schema=\"d\"", "INSERT INTO"][..], 1.0),
        ("mysql_perf_schema_events_statements_sum_total", &[], 7.0),
        ("mysql_perf_schema_table_io_waits_total", &[table[0], table[1], "\"insert\""], 3.0),
        ("mysql_perf_schema_sql_lock_waits_total", &[], 0.0),
        ("mysql_perf_schema_external_lock_waits_total", &[table[0], table[1], "\"write\""], 3.0),
        ("mysql_perf_schema_index_io_waits_total", &[table[0], table[1], "index=\"c\""], 1.0),
        ("mysql_perf_schema_file_events_bytes_total", &["innodb_log_file", "\"write\""], 1000.0),
        ("mysql_perf_schema_file_instances_bytes", &["undo.lim", "\"write\""], 16_384.0),
        ("mysql_perf_schema_events_waits_total", &["idle"], 1.0),
        ("mysql_perf_schema_memory_events_used_bytes", &["innodb/buf_buf_pool"], 134_217_728.0),
        ("mysql_info_schema_table_rows", &["table=\"t\""], 2.0),
        ("mysql_info_schema_auto_increment_column", &[], 4.0),
        ("mysql_info_schema_processlist_threads", &[], 1.0),
        ("mysql_info_schema_innodb_metrics_dml_dml_inserts_total", &[], 3.0),
        ("mysql_info_schema_innodb_tablespace_file_size_bytes", &["d/t"], 16_384.0),
        ("mysql_global_status_commands_total", &["\"insert\""], 1.0),
        ("mysql_global_variables_max_connections", &[], 151.0),
    ] {
        let value = sum(name, labels);
        assert!(value >= least, "{name} {labels:?}: {value}, at least {least}");
    }
    for name in ["mysql_engine_innodb_queries_inside_innodb", "mysql_mysql_max_connections"] {
        assert!(all.keys().any(|metric| metric.starts_with(name)), "{name}");
    }
}

/// One of those who run statements as sysbench's read-write mix does, until it is time; how many.
fn load(server: &Server, seed: u32, end: Instant) -> u32 {
    let mut client = TextClient::connect(server.socket());
    let mut ran = 0;
    while Instant::now() < end {
        let id = (ran * 7 + seed * 13) % 100 + 1;
        for sql in [
            "BEGIN".into(),
            format!("SELECT c FROM d.t WHERE id = {id}"),
            format!("SELECT SUM(c) FROM d.t WHERE id BETWEEN {id} AND {id} + 20"),
            format!("SELECT c FROM d.t WHERE id BETWEEN {id} AND {id} + 20 ORDER BY c"),
            format!("UPDATE d.t SET c = c + 1 WHERE id = {id}"),
            "COMMIT".into(),
        ] {
            // Two that wait for each other: one is rolled back.
            let code = client.code(&sql);
            assert!(code == 0 || code == 1213, "{sql}: {code}");
            ran += 1;
        }
    }
    ran
}

#[test]
fn the_stock_exporter_collects_everything_under_load() {
    const SESSIONS: u32 = 4;
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT, KEY (c));
         INSERT INTO d.t WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 150) SELECT i, i FROM n",
    );
    server.sql(&account("localhost", "NONE"));
    let (port, socket) = (testkit::server::free_port(), server.socket().display());
    let dsn = format!("exporter:word@unix({socket})/");
    let _exporter = start(folder.path(), port, &format!("socket={socket}"), Some(dsn));
    let log = || log_of(folder.path());
    let first = scraped(port).unwrap_or_else(|| panic!("{}", log()));
    let end = Instant::now() + Duration::from_secs(4);
    let (ran, answers) = std::thread::scope(|scope| {
        let load = |seed| {
            let server = &server;
            scope.spawn(move || load(server, seed, end))
        };
        let sessions: Vec<_> = (0..SESSIONS).map(load).collect();
        let mut answers = vec![first];
        while Instant::now() < end {
            answers.push(scrape(port).unwrap_or_else(|| panic!("no answer: {}", log())));
        }
        (sessions.into_iter().map(|s| s.join().unwrap()).sum::<u32>(), answers)
    });
    let log = log();
    assert!(!log.contains("level=error") && !log.contains("level=warn"), "{log}");
    println!("{ran} statements, {} scrapes", answers.len());
    assert!(ran > 500 && answers.len() > 3, "{ran} statements, {} scrapes", answers.len());
    let all: Vec<_> = answers.iter().map(|answer| metrics(answer)).collect();
    for found in &all {
        assert_eq!((found["mysql_up"], found["mysql_exporter_last_scrape_error"]), (1.0, 0.0));
        let failed = found.iter().filter(|(name, value)| {
            name.starts_with("mysql_exporter_collector_success") && **value != 1.0
        });
        assert_eq!(failed.count(), 0, "each collector succeeds");
    }
    // What is counted only grows, whoever counts meanwhile.
    let is_count = |name: &str| name.split('{').next().is_some_and(|name| name.ends_with("_total"));
    let mut compared = 0;
    for (before, after) in all.iter().zip(&all[1..]) {
        for (name, value) in before.iter().filter(|(name, _)| is_count(name)) {
            // The statements that cost most are others by then.
            let Some(now) = after.get(name) else { continue };
            assert!(now >= value, "{name}: {value}, then {now}");
            compared += 1;
        }
    }
    assert!(compared > 1_000, "{compared}");
    let select = "mysql_global_status_commands_total{command=\"select\"}";
    let counted = all[all.len() - 1][select] - all[0][select];
    assert!(counted > f64::from(ran) / 4.0, "{counted} selects of {ran} statements");
}
