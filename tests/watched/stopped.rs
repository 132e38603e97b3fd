//! A reader who stops in the middle of a table holds nobody up.

use std::time::{Duration, Instant};
use testkit::raw::RawClient;
use testkit::{Server, TempDir, TextClient};

/// How long all that others do may take; who waits for a reader waits until that one's `net_write_timeout`.
const LONGEST: Duration = Duration::from_secs(40);

/// One client for each table that is made when it is read asks for more than the server can send, and takes nothing.
#[test]
fn who_stops_in_the_middle_of_a_table_holds_nobody_up() {
    let folder = TempDir::new();
    let server = Server::with().option("--max-connections=400").start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT, KEY (c)); INSERT INTO d.t VALUES (1, 1); \
         UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'; SET GLOBAL limpid_instrument_level = 'synch'; \
         SELECT * FROM d.t WHERE id = 1; ANALYZE TABLE d.t UPDATE HISTOGRAM ON c; CREATE VIEW d.v AS SELECT * FROM d.t",
    );
    let tables = server.sql(
        "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables \
         WHERE table_schema IN ('information_schema', 'performance_schema', 'sys') ORDER BY 1",
    );
    let readers: Vec<RawClient> = tables
        .lines()
        .map(|table| {
            let mut reader = RawClient::connect(&server);
            reader.login();
            let all = format!("SELECT t.*, REPEAT('x', 4000000) FROM {table} t");
            assert!(reader.command(3, all.as_bytes()), "{table}");
            reader
        })
        .collect();
    let stopped = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT t.*, REPEAT%' AND command = 'Query'";
    testkit::pause(1000);
    let before: usize = server.sql(stopped).parse().expect("a count");
    assert!(before > 80, "{before} of {} readers stopped", readers.len());
    let begun = Instant::now();
    let mut session = server.converse();
    for n in 0..10 {
        session.ask(&format!(
            "CREATE TABLE d.n{n} (id INT PRIMARY KEY, c INT); INSERT INTO d.n{n} VALUES (1, {n}); \
             ALTER TABLE d.n{n} ADD KEY (c); UPDATE d.n{n} SET c = c + 1; RENAME TABLE d.n{n} TO d.m{n}; \
             PREPARE p FROM 'SELECT {n}'; EXECUTE p; DEALLOCATE PREPARE p; SET @v = {n}; SELECT GET_LOCK('l', 1), RELEASE_LOCK('l')"
        ));
        // A connection comes and goes.
        assert_eq!(server.sql(&format!("SELECT c FROM d.m{n}")), (n + 1).to_string());
        session.ask(&format!(
            "DROP TABLE d.m{n}; TRUNCATE performance_schema.events_statements_summary_by_digest"
        ));
    }
    assert!(begun.elapsed() < LONGEST, "{:?}", begun.elapsed());
    let after: usize = server.sql(stopped).parse().expect("a count");
    assert_eq!(after, before, "the readers went on meanwhile");
    drop(readers);
    for _ in 0..200 {
        if server.sql(stopped) == "0" {
            return;
        }
        testkit::pause(50);
    }
    panic!("readers that are gone are still there: {}", server.sql("SHOW PROCESSLIST"));
}

/// Reads the columns of a result; whether a row comes behind them, of which four bytes are taken.
fn stops_in_a_row(reader: &mut RawClient, table: &str) -> bool {
    loop {
        let packet = reader.packet().unwrap_or_else(|| panic!("{table}: no columns"));
        assert_ne!(packet[0], 0xFF, "{table}: {}", String::from_utf8_lossy(&packet));
        if packet[0] == 0xFE && packet.len() < 9 {
            break;
        }
    }
    let mut head = [0; 4];
    let mut taken = 0;
    while taken < head.len() {
        let some = reader.receive(&mut head[taken..]);
        taken += some.unwrap_or_else(|| panic!("{table}: neither a row nor an end"));
    }
    u32::from_le_bytes([head[0], head[1], head[2], 0]) > 1000
}

/// One reader at a time, so that the table is named; each stops in its first row. Tables without a row stop nobody.
#[test]
fn whatever_table_a_reader_stops_in_others_go_on() {
    const LONGEST_OF_ONE: Duration = Duration::from_secs(8);
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c INT, KEY (c)); INSERT INTO d.t VALUES (1, 1); \
         UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'; SET GLOBAL limpid_instrument_level = 'synch'; \
         UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'; ALTER TABLE d.t MODIFY c BIGINT",
    );
    let mut waiter = TextClient::connect(server.socket());
    assert_eq!(waiter.code("SELECT nothing FROM d.t"), 1054);
    let mut holder = TextClient::connect(server.socket());
    for sql in ["PREPARE p FROM 'SELECT 1'", "SET @own = 1", "BEGIN", "UPDATE d.t SET c = 2"] {
        assert_eq!(holder.code(sql), 0, "{sql}");
    }
    let tables = server.sql(
        "SELECT LOWER(table_name) FROM information_schema.tables WHERE table_schema = 'performance_schema' ORDER BY 1",
    );
    let mut stopped = 0;
    for table in tables.lines() {
        let mut reader = RawClient::connect(&server);
        reader.login();
        let all = format!("SELECT t.*, REPEAT('x', 4000000) FROM performance_schema.{table} t");
        assert!(reader.command(3, all.as_bytes()), "{table}");
        if !stops_in_a_row(&mut reader, table) {
            continue;
        }
        stopped += 1;
        let begun = Instant::now();
        // A connection comes, with a statement of each kind, and goes.
        let peer = testkit::Peer::from(server.socket());
        let mut other = TextClient::try_connect(&peer).unwrap_or_else(|e| panic!("{table}: {e:?}"));
        other.set_patience(Some(LONGEST_OF_ONE));
        for sql in
            ["SELECT id FROM d.t", "CREATE TABLE d.n (id INT PRIMARY KEY, c INT)", "DROP TABLE d.n"]
        {
            let answer = other.attempt(sql);
            let answer = answer.unwrap_or_else(|| panic!("{sql} waits for a reader of {table}"));
            assert!(answer.is_ok(), "{sql}, beside a reader of {table}: {answer:?}");
        }
        drop(other);
        assert_eq!(waiter.code("DO 1"), 0, "{table}");
        assert!(begun.elapsed() < LONGEST_OF_ONE, "{table}: {:?}", begun.elapsed());
    }
    assert!(stopped > 85, "readers stopped in {stopped} tables");
}
