//! Definitions that go from memory and are read again, with the tables that are open.

use super::*;

/// A server that keeps no definition that nobody uses.
fn forgetful(disk: Arc<SimDisk>) -> Arc<Server> {
    let server = server_on(disk);
    server.catalog.set_definitions_max(0);
    server
}

/// Definitions that a session has read; those of all sessions are the process's, in which other tests run.
fn opened(client: &mut Client) -> u64 {
    let rows = client.rows("SHOW SESSION STATUS LIKE 'Opened_table_definitions'");
    rows[0].split('|').nth(1).and_then(|n| n.parse().ok()).expect("a number")
}

#[test]
fn columns_that_a_query_makes_are_read_again() {
    let disk = SimDisk::new(17);
    let server = forgetful(Arc::clone(&disk));
    let mut client = Client::root(&server);
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE s (v VARCHAR(1000), w VARCHAR(500), x TEXT, y VARCHAR(16383) CHARACTER SET latin1, z JSON)");
    let made = "SELECT REPEAT('a', 600) a, CONCAT(v) b, CONCAT(w, w) c, v f, IFNULL(v, '') g, CONCAT(y) h, MAX(x) k, \
                GROUP_CONCAT(v) l, GROUP_CONCAT(x) m, MIN(z) n, COUNT(*) o, SUM(v) p, UNHEX(v) q FROM s GROUP BY v, w, x, y";
    for most in [4, 600, 1024, 70_000, 10_000_000, 4_000_000_000_u64] {
        client.run(&format!("SET group_concat_max_len = {most}"));
        client.run(&format!("CREATE TABLE t{most} AS {made}"));
        client.run(&format!("CREATE VIEW v{most} AS {made}"));
    }
    let tables =
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'd' ORDER BY 1";
    let names = client.rows(tables);
    assert_eq!(names.len(), 13);
    let shown = |client: &mut Client| -> Vec<String> {
        names.iter().flat_map(|name| client.rows(&format!("SHOW CREATE TABLE d.{name}"))).collect()
    };
    let before = shown(&mut client);
    drop((client, server));
    let server = forgetful(disk);
    let mut client = Client::root(&server);
    assert_eq!(server.catalog.in_memory().len(), 0, "a start reads no definition");
    client.run("USE d");
    shown(&mut client)
        .into_iter()
        .zip(before)
        .for_each(|(after, before)| assert_eq!(after, before));
}

/// What is asked of tables that were opened long ago, and what was done to them since: counters, figures, undo.
#[test]
fn tables_that_are_opened_again_are_what_they_were() {
    let server = forgetful(SimDisk::new(18));
    // A session keeps one handle.
    server.catalog.open_handles().set_limit(16);
    let (mut client, mut other) = (Client::root(&server), Client::root(&server));
    client.run("CREATE DATABASE d");
    for client in [&mut client, &mut other] {
        client.run("USE d");
    }
    client.run("CREATE TABLE p (id INT PRIMARY KEY)");
    for n in 0..8 {
        client.run(&format!("CREATE TABLE t{n} (id INT AUTO_INCREMENT PRIMARY KEY, a INT, p INT, KEY (a), FOREIGN KEY (p) REFERENCES p (id))"));
        client.run(&format!("INSERT INTO t{n} (a) VALUES (1), (2), (3)"));
        client.rows(&format!("ANALYZE TABLE t{n} UPDATE HISTOGRAM ON a"));
    }
    // A transaction that wrote to a table whose definition goes, and is read again by others, undoes that.
    client.run("BEGIN");
    client.run("INSERT INTO t0 (a) VALUES (4)");
    for n in 1..8 {
        client.rows(&format!("SELECT COUNT(*) FROM t{n}"));
    }
    for round in 0..3 {
        for n in 0..8 {
            other.run(&format!("INSERT INTO t{n} (a) VALUES ({round})"));
        }
    }
    client.run("ROLLBACK");
    assert_eq!(client.rows("SELECT id FROM t0 ORDER BY id"), ["1", "2", "3", "5", "6", "7"]);
    assert_eq!(client.rows("SELECT MAX(id), COUNT(*) FROM t7"), ["6|6"]);
    let histograms = "SELECT COUNT(*) FROM information_schema.column_statistics";
    assert_eq!(client.rows(histograms), ["8"]);
    // Keys are found whether or not the tables are in memory that have them.
    assert_eq!(client.fails("DROP TABLE p"), 3730);
    assert_eq!(other.fails("INSERT INTO t3 (p) VALUES (9)"), 1452);
    let before = opened(&mut client) + opened(&mut other);
    client.rows("SELECT * FROM t1");
    other.rows("SELECT * FROM t1");
    assert!(opened(&mut client) + opened(&mut other) <= before + 1, "it is in use");
    client.run("FLUSH TABLES");
    assert_eq!(client.rows("CHECK TABLE t0"), ["d.t0|check|status|OK"]);
}
