//! What FLUSH TABLES refuses: the numbers are those of MySQL 9.7.

use super::*;

/// Statements of one session, one after the other, and the error that each ends in (0: none).
const ANSWERS: &[(&str, u16)] = &[
    ("FLUSH TABLES t, u, missing, nowhere.t", 0),
    ("FLUSH TABLES T, t, mysql.t", 0),
    ("FLUSH TABLES t, t", 1066),
    ("FLUSH TABLES t, d.t", 1066),
    ("FLUSH TABLES missing, missing", 1066),
    ("FLUSH TABLES information_schema.tables", 1044),
    ("FLUSH TABLES t, t, INFORMATION_SCHEMA.x", 1066),
    ("FLUSH TABLES INFORMATION_SCHEMA.x, t, t", 1044),
    ("FLUSH TABLES v", 0),
    // What is refused ends no transaction.
    ("BEGIN", 0),
    ("INSERT INTO u VALUES (1)", 0),
    ("FLUSH TABLES t, t", 1066),
    ("FLUSH TABLES t, t WITH READ LOCK", 1066),
    ("FLUSH TABLES information_schema.x", 1044),
    ("ROLLBACK", 0),
    ("INSERT INTO u VALUES (1)", 0),
    // With a lock: what is refused locks nothing.
    ("FLUSH TABLES t, t FOR EXPORT", 1066),
    ("FLUSH TABLES t, missing WITH READ LOCK", 1146),
    ("FLUSH TABLES nowhere.x WITH READ LOCK", 1049),
    ("FLUSH TABLES t, v WITH READ LOCK", 1347),
    ("FLUSH TABLES performance_schema.missing WITH READ LOCK", 1146),
    ("FLUSH TABLES information_schema.tables WITH READ LOCK", 1044),
    ("INSERT INTO t VALUES (2)", 0),
    ("FLUSH TABLES performance_schema.threads WITH READ LOCK", 0),
    ("SELECT * FROM t", 1100),
    ("UNLOCK TABLES", 0),
    ("FLUSH TABLES t WITH READ LOCK", 0),
    ("INSERT INTO t VALUES (3)", 1099),
    ("FLUSH TABLES t", 1099),
    ("FLUSH TABLES t WITH READ LOCK", 1192),
    ("UNLOCK TABLES", 0),
    // While tables are locked.
    ("LOCK TABLES t READ", 0),
    ("FLUSH TABLES t", 1099),
    ("FLUSH TABLES", 1099),
    ("FLUSH TABLES u", 1100),
    ("FLUSH TABLES t, u", 1099),
    ("FLUSH TABLES u, t", 1100),
    ("FLUSH TABLES missing", 1100),
    ("FLUSH TABLES u, u", 1066),
    ("FLUSH TABLES information_schema.x", 1044),
    ("FLUSH TABLES t WITH READ LOCK", 1192),
    ("FLUSH TABLES missing WITH READ LOCK", 1192),
    ("FLUSH TABLES t, t WITH READ LOCK", 1066),
    ("FLUSH TABLES WITH READ LOCK", 1192),
    ("UNLOCK TABLES", 0),
    ("LOCK TABLES t AS x WRITE", 0),
    ("FLUSH TABLES t", 0),
    ("FLUSH TABLES x", 1100),
    ("FLUSH TABLES", 0),
    ("UNLOCK TABLES", 0),
    ("LOCK TABLES t WRITE, u READ", 0),
    ("FLUSH TABLES t", 0),
    ("FLUSH TABLES t, u", 1099),
    ("FLUSH TABLES", 1099),
    ("UNLOCK TABLES", 0),
    // A view is locked with its tables, and open it is not.
    ("LOCK TABLES v READ", 0),
    ("FLUSH TABLES v", 1100),
    ("FLUSH TABLES t", 1099),
    ("FLUSH TABLES", 1099),
    ("UNLOCK TABLES", 0),
    ("LOCK TABLES v WRITE, u WRITE", 0),
    ("FLUSH TABLES v", 1100),
    ("FLUSH TABLES u, v", 1100),
    ("FLUSH TABLES t, u", 0),
    ("FLUSH TABLES", 0),
    ("UNLOCK TABLES", 0),
];

fn with_tables() -> (Arc<Server>, Client) {
    let server = server();
    let mut client = Client::root(&server);
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (a INT PRIMARY KEY)");
    client.run("CREATE TABLE u (a INT PRIMARY KEY)");
    client.run("CREATE VIEW v AS SELECT a FROM t");
    (server, client)
}

#[test]
fn flush_tables_refuses_what_mysql_refuses() {
    let (_server, mut client) = with_tables();
    let mut wrong = Vec::new();
    for (n, (sql, number)) in ANSWERS.iter().enumerate() {
        let replies = client.query(sql);
        let got = if replies[0][0] == 0xFF { error_of(&replies) } else { 0 };
        if got != *number {
            wrong.push(format!("{n}: {sql}: {got}, not {number}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(client.rows("SELECT COUNT(*) FROM u"), ["1"]);
    assert_eq!(client.rows("SELECT * FROM t"), ["2"]);
}

/// A view is in nobody's hands, whoever has locked it or reads through it.
#[test]
fn nobody_waits_for_a_view() {
    let (server, mut client) = with_tables();
    let mut other = Client::root(&server);
    other.run("LOCK TABLES d.v READ");
    client.run("SET lock_wait_timeout = 1");
    client.run("FLUSH TABLES v");
    assert_eq!(client.fails("FLUSH TABLES t"), 1205);
    assert_eq!(client.fails("FLUSH TABLES v, t"), 1205);
    other.run("UNLOCK TABLES");
    client.run("FLUSH TABLES v, t");
}

/// What lies below a view is looked for again when it is locked, by the name that LOCK TABLES gave it.
#[test]
fn a_view_is_locked_under_its_alias() {
    let server = server();
    let mut client = Client::root(&server);
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY)",
        "INSERT INTO t VALUES (4)",
        "CREATE VIEW v AS SELECT a FROM t",
        "LOCK TABLES v AS x READ",
    ] {
        client.run(sql);
    }
    assert_eq!(client.rows("SELECT a FROM v AS x"), ["4"]);
    assert_eq!(client.fails("SELECT a FROM v"), 1100);
    client.run("UNLOCK TABLES");
    client.run("LOCK TABLES v AS x WRITE");
    client.run("UPDATE v AS x SET a = 5");
    client.run("UNLOCK TABLES");
    assert_eq!(client.rows("SELECT a FROM v"), ["5"]);
}
