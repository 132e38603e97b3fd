//! No statement outlives KILL QUERY or the end of the server, whatever it is busy with.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use testkit::{Server, TempDir};

/// A statement may take so long to end once it was told to.
const SECONDS: Duration = Duration::from_secs(8);

/// Statements that take minutes at least, each busy with something else.
const LONG: [&str; 10] = [
    "SELECT BENCHMARK(1000000000000, 1)",
    "SELECT BENCHMARK(1000000000000, MD5(RAND()))",
    "DO SLEEP(1000)",
    "SET cte_max_recursion_depth = 4000000000; \
     WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n",
    "SELECT COUNT(*) FROM d.t a, d.t b, d.t c, d.t e, d.t f WHERE a.s REGEXP '(a|aa)+$' OR b.s REGEXP '(x+x+)+y'",
    "SELECT a.s FROM d.t a, d.t b, d.t c, d.t e ORDER BY RAND(), a.s LIMIT 1000000",
    "SELECT COUNT(DISTINCT a.i, b.i, c.i, e.i) FROM d.t a, d.t b, d.t c, d.t e",
    "SELECT COUNT(*) FROM (SELECT a.i x, b.i y, c.i z, e.i u FROM d.t a, d.t b, d.t c, d.t e \
     GROUP BY 1, 2, 3, 4 ORDER BY 4, 3, 2, 1 LIMIT 1000000000) q",
    "SELECT REGEXP_SUBSTR(REPEAT('ab', 8000000), 'b', 1, 100000000) FROM d.t",
    "SELECT REGEXP_REPLACE(REPEAT('ab', 8000000), 'a', s) FROM d.t",
];

fn prepared(folder: &TempDir) -> Server {
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (i INT PRIMARY KEY, s TEXT); SET cte_max_recursion_depth = 2000; \
         INSERT INTO d.t WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
         SELECT i, CONCAT(REPEAT('a', 200), i) FROM n",
    );
    server
}

fn begin(server: &Server, sql: &str) -> Child {
    let mut client = server.client();
    client.args(["-e", sql]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Connections that have run something for a while, by their number.
fn busy(server: &Server) -> Vec<String> {
    let found = server.sql(
        "SELECT id FROM information_schema.processlist \
         WHERE command = 'Query' AND id <> CONNECTION_ID()",
    );
    found.lines().map(str::to_string).collect()
}

fn until(what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < SECONDS, "{what}");
        testkit::pause(20);
    }
}

#[test]
fn kill_query_ends_every_long_statement() {
    let folder = TempDir::new();
    let server = prepared(&folder);
    for sql in LONG {
        let mut client = begin(&server, sql);
        until("the statement does not run", || !busy(&server).is_empty());
        testkit::pause(300);
        let running = busy(&server);
        assert_eq!(running.len(), 1, "it ended by itself: {sql}");
        server.sql(&format!("KILL QUERY {}", running[0]));
        until(&format!("KILL QUERY does not end {sql}"), || busy(&server).is_empty());
        client.wait().unwrap();
    }
}

#[test]
fn sigterm_ends_the_server_while_every_long_statement_runs() {
    let folder = TempDir::new();
    let mut server = prepared(&folder);
    let mut clients: Vec<Child> = LONG.iter().map(|sql| begin(&server, sql)).collect();
    until("the statements do not run", || busy(&server).len() == LONG.len());
    testkit::pause(300);
    let begun = Instant::now();
    assert_eq!(server.stop().code(), Some(0));
    assert!(begun.elapsed() < 2 * SECONDS, "it took {:?}\n{}", begun.elapsed(), server.log());
    assert!(!server.log().contains("did not end in"), "{}", server.log());
    clients.iter_mut().for_each(|client| assert!(client.wait().is_ok()));
}

#[test]
fn kill_query_ends_the_build_of_an_index_and_leaves_none() {
    let folder = TempDir::new();
    let server = prepared(&folder);
    let twice = "INSERT INTO d.many (s) SELECT s FROM d.many; ".repeat(9);
    server.sql(&format!(
        "CREATE TABLE d.many (i INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(250)); \
         INSERT INTO d.many (s) SELECT s FROM d.t; {twice}"
    ));
    let mut client = server.client();
    let build = client.args(["-e", "ALTER TABLE d.many ADD INDEX (s), ADD INDEX (s, i)"]);
    let build = build.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("the ALTER does not run", || !busy(&server).is_empty());
    server.sql(&format!("KILL QUERY {}", busy(&server)[0]));
    let output = build.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("ERROR 1317"), "{error}");
    assert_eq!(server.sql("SELECT COUNT(*) FROM d.many").trim(), "512000");
    let table = server.sql("SHOW CREATE TABLE d.many");
    assert!(!table.contains("KEY `s`"), "{table}");
    assert!(server.sql("CHECK TABLE d.many").contains("OK"));
}
