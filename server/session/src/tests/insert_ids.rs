//! The number that a reply names (mysql_insert_id, lastrowid): what drivers and ORMs take for the new row's key.
//! Expected numbers are those of MySQL 9.7. The client counts rows that were met, not those that changed (CLIENT_FOUND_ROWS).

use super::statements::with_table;
use super::*;

impl Client {
    /// Changed rows and the number of the OK that a statement answers.
    fn told(&mut self, sql: &str) -> (u64, u64) {
        let replies = self.query(sql);
        assert_ok(&replies);
        let mut r = stdx::bytes::Reader::new(&replies[0][1..]);
        let mut number = || wire::lenenc::int(&mut r).expect("a number");
        (number(), number())
    }
}

fn check(client: &mut Client, steps: &[(&str, u64, u64)]) {
    for (sql, rows, id) in steps {
        assert_eq!(client.told(sql), (*rows, *id), "{sql}");
    }
}

#[test]
fn inserts_tell_the_first_number_that_was_generated_or_the_last_that_was_brought() {
    let (_server, mut client) = with_table();
    client.run("CREATE TABLE n (id INT PRIMARY KEY AUTO_INCREMENT, a INT UNIQUE, b INT DEFAULT 0)");
    let minus_five = (-5_i64).cast_unsigned();
    let steps = [
        ("INSERT INTO n (a) VALUES (1)", 1, 1),
        ("INSERT INTO n VALUES (10, 2, 0)", 1, 10),
        ("INSERT INTO n VALUES (11, 3, 0), (12, 4, 0)", 2, 12),
        ("INSERT INTO n (a) VALUES (5), (6)", 2, 13),
        ("INSERT INTO n VALUES (31, 9, 0), (NULL, 10, 0)", 2, 32),
        ("INSERT INTO n VALUES (-5, 11, 0)", 1, minus_five),
        ("INSERT IGNORE INTO n VALUES (40, 10, 0), (41, 12, 0)", 1, 41),
        ("INSERT IGNORE INTO n VALUES (42, 13, 0), (43, 10, 0)", 1, 43),
        ("INSERT IGNORE INTO n VALUES (44, 10, 0)", 0, 0),
        ("REPLACE INTO n VALUES (50, 12, 5)", 2, 50),
        ("REPLACE INTO n (a) VALUES (12)", 2, 51),
        ("INSERT INTO n SELECT 60, 60, 0 UNION SELECT 61, 61, 0", 2, 61),
        ("INSERT INTO n (a) SELECT 62", 1, 62),
        ("UPDATE n SET id = 70 WHERE id = 10", 1, 0),
        ("DELETE FROM n WHERE id = 70", 1, 0),
        ("CREATE TABLE brought (id INT AUTO_INCREMENT PRIMARY KEY) SELECT 5 AS id", 1, 5),
        ("CREATE TABLE made (id INT AUTO_INCREMENT PRIMARY KEY, z INT) SELECT 5 AS z", 1, 1),
    ];
    check(&mut client, &steps);
    assert_eq!(client.rows("SELECT LAST_INSERT_ID()"), ["1"]);
}

#[test]
fn on_duplicate_key_update_tells_the_row_that_it_changed() {
    let (_server, mut client) = with_table();
    client.run("CREATE TABLE n (id INT PRIMARY KEY AUTO_INCREMENT, a INT UNIQUE, b INT DEFAULT 0)");
    let steps = [
        ("INSERT INTO n (a) VALUES (1)", 1, 1),
        ("INSERT INTO n (a) VALUES (1) ON DUPLICATE KEY UPDATE b = b + 1", 2, 1),
        ("INSERT INTO n (a) VALUES (1) ON DUPLICATE KEY UPDATE b = b", 1, 0),
        ("INSERT INTO n VALUES (20, 1, 0) ON DUPLICATE KEY UPDATE b = b + 1", 2, 1),
        ("INSERT INTO n VALUES (21, 5, 0), (22, 1, 0) ON DUPLICATE KEY UPDATE b = b + 1", 3, 1),
        ("INSERT INTO n VALUES (23, 1, 0), (24, 6, 0) ON DUPLICATE KEY UPDATE b = b + 1", 3, 24),
        ("INSERT INTO n SELECT 63, 1, 0 ON DUPLICATE KEY UPDATE b = b + 1", 2, 0),
    ];
    check(&mut client, &steps);
}

#[test]
fn a_number_that_the_statement_gives_is_told() {
    let (_server, mut client) = with_table();
    client.run("CREATE TABLE n (id INT PRIMARY KEY AUTO_INCREMENT, a INT UNIQUE, b INT DEFAULT 0)");
    client.run("CREATE TABLE sequence (k INT)");
    let merged = "INSERT INTO n (a) VALUES (1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)";
    let steps = [
        ("INSERT INTO sequence VALUES (7)", 1, 0),
        ("UPDATE sequence SET k = LAST_INSERT_ID(k + 1)", 1, 8),
        ("UPDATE sequence SET k = LAST_INSERT_ID(k + 1) WHERE k = 99", 0, 0),
        ("UPDATE sequence SET k = 9", 1, 0),
        ("INSERT INTO n (a) VALUES (1)", 1, 1),
        (merged, 1, 1),
        ("INSERT INTO n VALUES (30, 10, LAST_INSERT_ID(77))", 1, 77),
        ("INSERT INTO n (a, b) VALUES (11, LAST_INSERT_ID(78))", 1, 31),
        ("DELETE FROM n WHERE id = LAST_INSERT_ID(30)", 1, 0),
        ("DO LAST_INSERT_ID(66)", 0, 0),
        ("CREATE TABLE w SELECT LAST_INSERT_ID(9) x", 1, 9),
    ];
    check(&mut client, &steps);
    assert_eq!(client.rows("SELECT LAST_INSERT_ID()"), ["9"]);
    // What another statement gave is not told again.
    assert_eq!(client.rows("SELECT LAST_INSERT_ID(5)"), ["5"]);
    assert_eq!(client.told("UPDATE sequence SET k = 10"), (1, 0));
}
