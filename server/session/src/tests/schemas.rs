//! The schema in which a prepared statement looks for names: that of its PREPARE.

use super::statements::with_table;
use super::*;

/// A client in schema `b`, whose table `t` has two columns, as has that of schema `a`, where a statement was prepared by
/// SQL as `s`, and by the protocol.
fn prepared_elsewhere(sql: &str) -> (Client, u32) {
    let (_, mut client) = with_table();
    for schema in ["a", "b"] {
        client.run(&format!("CREATE DATABASE {schema}"));
        client.run(&format!("USE {schema}"));
        client.run("CREATE TABLE t (id INT PRIMARY KEY, w CHAR(9))");
        client.run(&format!("INSERT INTO t VALUES (1, 'of {schema}')"));
    }
    client.run("USE a");
    client.run(&format!("PREPARE s FROM '{sql}'"));
    let id = client.prepare(sql);
    client.run("USE b");
    (client, id)
}

/// How many columns the rows of a statement without parameters have, and the last cell of the first row.
fn shape(replies: &[Vec<u8>]) -> (usize, String) {
    let columns = usize::from(replies[0][0]);
    let row = String::from_utf8_lossy(&replies[1 + columns]).into_owned();
    (columns, row)
}

#[test]
fn a_statement_that_is_made_anew_keeps_the_schema_of_its_prepare() {
    let (mut client, id) = prepared_elsewhere("SELECT * FROM t");
    client.run("ALTER TABLE a.t ADD c INT");
    assert_eq!(client.rows("EXECUTE s"), ["1|of a|NULL"]);
    let (columns, row) = shape(&client.execute(id, b""));
    assert!(columns == 3 && row.contains("of a"), "{columns} {row}");
    client.run("ALTER TABLE a.t DROP c");
    let (columns, row) = shape(&client.execute(id, b""));
    assert!(columns == 2 && row.contains("of a"), "{columns} {row}");
    assert_eq!(client.rows("EXECUTE s"), ["1|of a"]);
    // Texts mean the current schema all the time.
    assert_eq!(client.rows("SELECT w, DATABASE() FROM t"), ["of b|b"]);
}

#[test]
fn what_runs_from_its_tree_runs_in_the_schema_of_its_prepare() {
    let (mut client, _) = prepared_elsewhere("SELECT DATABASE(), @@collation_database");
    client.run("ALTER DATABASE a COLLATE latin1_bin");
    assert_eq!(client.rows("EXECUTE s"), ["a|latin1_bin"]);
    assert_eq!(client.rows("SELECT DATABASE(), @@collation_database"), ["b|utf8mb4_0900_ai_ci"]);
    let (mut client, _) = prepared_elsewhere("DROP TABLE t");
    client.run("EXECUTE s");
    assert_eq!(client.fails("SELECT * FROM a.t"), 1146);
    assert_eq!(client.rows("SELECT w FROM t"), ["of b"]);
}

#[test]
fn a_schema_that_is_gone_is_the_current_one_no_more() {
    let (mut client, id) = prepared_elsewhere("SELECT IFNULL(DATABASE(), \"none\")");
    client.run("DROP DATABASE a");
    assert_eq!(client.rows("EXECUTE s"), ["none"]);
    assert!(shape(&client.execute(id, b"")).1.contains("none"));
    let (mut client, _) = prepared_elsewhere("DROP DATABASE b");
    client.run("EXECUTE s");
    assert_eq!(client.rows("SELECT DATABASE()"), ["NULL"]);
    assert_eq!(client.fails("SELECT * FROM t"), 1046);
    // The one in which the statement runs may go, too.
    let (mut client, _) = prepared_elsewhere("DROP DATABASE a");
    client.run("EXECUTE s");
    assert_eq!(client.rows("SELECT DATABASE()"), ["b"]);
}
