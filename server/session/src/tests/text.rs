//! TEXT columns: prefix keys against full scans, and what a full disk comes to.

use super::*;
use stdx::rng::Rng;

/// Characters that differ in how many weights they have: one, none (an accent, a control character) or
/// several (ß, æ); a space pads in some of the collations.
const ALPHABET: [&str; 12] =
    ["a", "A", "b", "s", "ss", "ß", "é", "e", "\u{301}", "æ", " ", "\u{1}"];

fn word(rng: &mut Rng, most: u64) -> String {
    (0..rng.below(most + 1)).map(|_| ALPHABET[rng.below(ALPHABET.len() as u64) as usize]).collect()
}

#[test]
fn a_prefix_key_finds_what_a_full_scan_finds() {
    let server = server();
    let mut client = Client::root(&server);
    client.run("CREATE DATABASE db");
    client.run("USE db");
    let mut rng = Rng::new(7);
    for collation in [
        "utf8mb4_0900_ai_ci",
        "utf8mb4_0900_as_ci",
        "utf8mb4_0900_as_cs",
        "utf8mb4_0900_bin",
        "utf8mb4_general_ci",
        "utf8mb4_unicode_520_ci",
        "utf8mb4_unicode_ci",
        "utf8mb4_bin",
        "utf8mb3_bin",
        "binary",
    ] {
        client.run("DROP TABLE IF EXISTS t");
        let ty = match collation {
            "binary" => "BLOB".to_string(),
            other => format!("TEXT COLLATE {other}"),
        };
        client.run(&format!(
            "CREATE TABLE t (id INT PRIMARY KEY, n INT, c {ty}, KEY c (c(2)), KEY nc (n, c(3)))"
        ));
        for id in 0..150 {
            let (n, c) = (id % 2, word(&mut rng, 5));
            client.run(&format!("INSERT INTO t VALUES ({id}, {n}, '{c}')"));
        }
        for _ in 0..150 {
            let (a, b, c) = (word(&mut rng, 5), word(&mut rng, 4), word(&mut rng, 2));
            let op = ["=", "<", "<=", ">", ">="][rng.below(5) as usize];
            let condition = match rng.below(3) {
                0 => format!("c BETWEEN '{a}' AND '{b}'"),
                1 => format!("c IN ('{a}', '{b}', '{c}')"),
                _ => format!("c {op} '{a}'"),
            };
            for (index, condition) in
                [("c", condition.clone()), ("nc", format!("n = 1 AND {condition}"))]
            {
                let sql =
                    |hint: &str| format!("SELECT id FROM t {hint} WHERE {condition} ORDER BY id");
                let by_index = client.rows(&sql(&format!("FORCE INDEX ({index})")));
                let by_scan = client.rows(&sql("IGNORE INDEX (c, nc)"));
                assert_eq!(by_index, by_scan, "{collation}: {condition}");
            }
        }
    }
}

#[test]
fn a_full_disk_is_error_1114_and_everything_goes_on() {
    let disk = SimDisk::new(3);
    let server = server_on(Arc::clone(&disk));
    let mut client = Client::root(&server);
    client.run("CREATE DATABASE db");
    client.run("CREATE TABLE db.t (id INT PRIMARY KEY, c LONGTEXT)");
    client.run("INSERT INTO db.t VALUES (1, 'here')");
    disk.enospc_after(0);
    let replies = client.query("INSERT INTO db.t VALUES (2, REPEAT('x', 3000000))");
    assert_eq!(error_of(&replies), 1114);
    assert!(text_of(&replies).iter().any(|t| t.contains("The table 't' is full")), "{replies:?}");
    assert_eq!(client.rows("SELECT c FROM db.t"), ["here"]);
    disk.make_room();
    client.run("INSERT INTO db.t VALUES (2, REPEAT('x', 3000000))");
    assert_eq!(client.rows("SELECT LENGTH(c) FROM db.t WHERE id = 2"), ["3000000"]);
    assert_eq!(client.rows("CHECK TABLE db.t"), ["db.t|check|status|OK"]);
}
