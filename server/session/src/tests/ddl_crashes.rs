//! Every statement of DDL, cut off by a loss of power after each of its operations on the disk.
//!
//! Afterwards there is what was before it or what is after it, and nothing between; what was acknowledged is there; no
//! file is left that no definition names. The rows of tables and what CHECK TABLE says of them belong to it.

use super::*;
use base::SpaceId;
use host::Disk;
use std::collections::BTreeSet;

/// Statements, and what is there before.
const BEFORE: &str = "CREATE DATABASE d; USE d; \
    CREATE TABLE p (id INT PRIMARY KEY); INSERT INTO p VALUES (1), (2); \
    CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), c TEXT, KEY a (a)); \
    INSERT INTO t VALUES (1, 1, 'one', 'x'), (2, 2, 'two', REPEAT('y', 20000)), (3, 1, NULL, NULL); \
    CREATE TABLE f (id INT PRIMARY KEY, p INT, e ENUM('x', 'y') DEFAULT 'y', KEY h (e) INVISIBLE, \
    CONSTRAINT fk FOREIGN KEY (p) REFERENCES p (id)); INSERT INTO f (id, p) VALUES (1, 1); \
    ALTER TABLE t ADD older INT DEFAULT 4 FIRST; UPDATE t SET older = 5 WHERE id = 1; \
    CREATE VIEW v AS SELECT id, a FROM t; CREATE DATABASE nothing";

const STATEMENTS: &[&str] = &[
    "CREATE TABLE n (id INT PRIMARY KEY, a INT, KEY (a))",
    "CREATE TABLE n (KEY (a)) SELECT * FROM t",
    "CREATE TABLE n LIKE t",
    "DROP TABLE t",
    "DROP TABLE t, f",
    "TRUNCATE TABLE t",
    "RENAME TABLE t TO u",
    "RENAME TABLE t TO x, f TO t, x TO f",
    "RENAME TABLE p TO q",
    "ALTER TABLE t ADD n INT DEFAULT 7 AFTER id",
    "ALTER TABLE t DROP c",
    "ALTER TABLE t DROP older, ADD z VARCHAR(9) DEFAULT 'z', RENAME TO u",
    "ALTER TABLE t RENAME COLUMN b TO bb, ALTER a SET DEFAULT 3",
    "ALTER TABLE t MODIFY b VARCHAR(30)",
    "ALTER TABLE t MODIFY a BIGINT NOT NULL",
    "ALTER TABLE t ADD INDEX b (b), DROP INDEX a",
    "ALTER TABLE t ADD g INT AS (a + 1) VIRTUAL, ADD KEY (g)",
    "ALTER TABLE f DROP FOREIGN KEY fk",
    "ALTER TABLE f ADD CONSTRAINT fk2 FOREIGN KEY (id) REFERENCES p (id)",
    "ALTER TABLE p ADD x INT FIRST, RENAME TO q",
    "CREATE UNIQUE INDEX u ON t (b)",
    "DROP INDEX a ON t",
    "OPTIMIZE TABLE t",
    "CREATE VIEW w AS SELECT * FROM p",
    "CREATE OR REPLACE VIEW v AS SELECT id FROM p",
    "DROP VIEW v",
    "CREATE DATABASE e",
    "ALTER DATABASE d COLLATE utf8mb4_bin",
    "DROP DATABASE d",
    "ALTER TABLE t RENAME INDEX a TO aa",
    "ALTER TABLE t ALTER INDEX a INVISIBLE",
    "ALTER TABLE f ALTER INDEX h VISIBLE",
    "ALTER TABLE t DROP PRIMARY KEY",
    "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a, id)",
    "ALTER TABLE f MODIFY e ENUM('x', 'y', 'z') DEFAULT 'y'",
    "ALTER VIEW v AS SELECT id, b FROM t WHERE a = 1",
    "CREATE TABLE n (id INT PRIMARY KEY, CONSTRAINT fkn FOREIGN KEY (id) REFERENCES p (id), CONSTRAINT ck CHECK (id > 0))",
    "ALTER TABLE t ADD CONSTRAINT ck CHECK (a < 9)",
    "ALTER TABLE t CONVERT TO CHARACTER SET latin1",
    "ALTER TABLE t COMMENT = 'said'",
];

/// All that a client sees.
fn seen(server: &Arc<Server>) -> Vec<String> {
    let mut client = Client::root(server);
    let mut all = client.rows("SHOW DATABASES");
    let tables = "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables \
                  WHERE table_schema IN ('d', 'e', 'nothing') ORDER BY 1";
    for name in client.rows(tables) {
        all.extend(client.rows(&format!("SHOW CREATE TABLE {name}")));
        let select = client.query(&format!("SELECT * FROM {name}"));
        all.extend(text_of(&select));
        all.extend(client.rows(&format!("CHECK TABLE {name}")));
    }
    all
}

/// Tablespaces of user tables that lie on the disk, and those that definitions name.
fn spaces(server: &Arc<Server>, disk: &SimDisk) -> (BTreeSet<SpaceId>, BTreeSet<SpaceId>) {
    let files = disk.list().expect("a disk with power");
    let there = files.iter().filter_map(|name| engine::space_of_name(name)).collect();
    let schemas = ["d", "e", "nothing"].into_iter().flat_map(|s| server.catalog.definitions(s));
    let stored = schemas.filter(|definition| definition.def.view.is_none());
    let named = stored.map(|definition| definition.def.storage.space).collect();
    (there, named)
}

fn open(disk: &Arc<SimDisk>) -> Arc<Server> {
    let server = server_on(Arc::clone(disk));
    server.engine.wait_recovered().expect("recovered");
    server
}

/// Whether the statement was acknowledged.
fn statement(server: &Arc<Server>, sql: &str) -> bool {
    let mut client = Client::root(server);
    client.query("USE d");
    let replies = client.query(sql);
    replies.last().is_some_and(|last| last[0] != 0xFF)
}

/// Cuts the statement off after each operation; how many there were, or what was wrong after one of them.
fn cut_off_everywhere(base: &SimDisk, sql: &str, seed: u64) -> Result<u64, String> {
    let disk = base.copy(seed);
    let whole = open(&disk);
    let before = seen(&whole);
    assert!(statement(&whole, sql), "{sql}");
    let after = seen(&whole);
    drop(whole);
    for n in 0.. {
        let disk = base.copy(seed.wrapping_add(n));
        let server = open(&disk);
        if n % 2 == 1 {
            // Definitions go as soon as nobody has them.
            server.catalog.set_definitions_max(0);
        }
        disk.power_off_after(n);
        let acknowledged = statement(&server, sql);
        let was_cut = disk.is_off();
        disk.power_off();
        let left = if n % 3 == 0 { disk.kill() } else { disk.crash() };
        drop(server);
        let server = open(&left);
        let found = seen(&server);
        if found != after && (found != before || acknowledged) {
            return Err(format!("{sql}, {n}: acknowledged: {acknowledged}, {found:#?}"));
        }
        let (there, named) = spaces(&server, &left);
        if there != named {
            return Err(format!("{sql}, {n}: files {there:?}, definitions {named:?}"));
        }
        if !was_cut {
            return Ok(n);
        }
    }
    unreachable!("a statement has an end")
}

/// The disk on which all of [`BEFORE`] is done, and more, of a server that has ended.
fn base(more: impl IntoIterator<Item = String>) -> Arc<SimDisk> {
    let disk = SimDisk::new(7);
    let server = open(&disk);
    let mut client = Client::root(&server);
    BEFORE.split("; ").for_each(|sql| client.run(sql));
    more.into_iter().for_each(|sql| client.run(&sql));
    drop(client);
    server.engine.shutdown().expect("written");
    disk
}

#[test]
fn ddl_cut_off_anywhere_leaves_what_was_or_what_is() {
    let (disk, mut operations) = (base([]), 0);
    for (sql, seed) in STATEMENTS.iter().zip(1..) {
        operations += cut_off_everywhere(&disk, sql, seed * 1000).unwrap_or_else(|e| panic!("{e}"));
    }
    assert!(operations > STATEMENTS.len() as u64 * 3, "{operations} operations in all");
}

/// A row tells 64 layouts: the next change that would have been instant copies.
#[test]
fn the_copy_behind_the_last_layout_that_is_cut_off_anywhere_leaves_what_was_or_what_is() {
    let change = |n: u32| match n % 2 {
        0 => "ALTER TABLE t DROP v".to_string(),
        _ => format!("ALTER TABLE t ADD v INT DEFAULT {n}"),
    };
    // The first of them came with the table.
    let disk = base((1..64).map(change));
    let sql = "ALTER TABLE t DROP v, ADD w INT DEFAULT 65";
    let versions = |server: &Arc<Server>| {
        let tables = "SELECT total_row_versions FROM information_schema.innodb_tables";
        Client::root(server).rows(&format!("{tables} WHERE name = 'd/t'"))
    };
    let whole = open(&disk.copy(1));
    assert_eq!(versions(&whole), ["64"]);
    assert!(statement(&whole, sql), "{sql}");
    assert_eq!(versions(&whole), ["0"], "rows were copied");
    drop(whole);
    let operations = cut_off_everywhere(&disk, sql, 64_000).unwrap_or_else(|e| panic!("{e}"));
    assert!(operations > 3, "{operations} operations");
}

#[test]
fn without_the_sync_of_the_log_a_statement_is_lost() {
    let disk = base([]);
    disk.ignore_syncs_of("redo");
    let lost = STATEMENTS.iter().zip(1..).any(|(s, n)| cut_off_everywhere(&disk, s, n).is_err());
    assert!(lost, "the test does not see what is lost");
}
