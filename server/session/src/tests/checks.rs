//! Names of CHECK constraints: no two tables of a schema have one in common.

use super::*;

/// A client in database `d`, where a table has `named` and, made by the server, `a_chk_1`.
fn with_checks() -> (Arc<Server>, Client) {
    let server = server();
    let mut client = Client::root(&server);
    for sql in [
        "CREATE DATABASE d",
        "CREATE DATABASE e",
        "USE d",
        "CREATE TABLE a (x INT CHECK (x > 0), CONSTRAINT named CHECK (x < 9))",
        "CREATE TABLE b (x INT)",
        "CREATE TABLE e.b (x INT, CONSTRAINT named CHECK (x > 0))",
    ] {
        client.run(sql);
    }
    (server, client)
}

#[test]
fn a_name_that_is_written_is_taken_once_in_a_schema() {
    let (_server, mut client) = with_checks();
    for sql in [
        "CREATE TABLE c (x INT, CONSTRAINT NAMED CHECK (x > 0))",
        "CREATE TABLE c (x INT, CONSTRAINT a_chk_1 CHECK (x > 0))",
        "ALTER TABLE b ADD CONSTRAINT named CHECK (x > 0)",
        "RENAME TABLE e.b TO d.c",
        "ALTER TABLE e.b RENAME TO d.c",
    ] {
        assert_eq!(client.fails(sql), 3822, "{sql}");
    }
    // There is a table already, and a temporary one has names of its own.
    assert_eq!(client.fails("CREATE TABLE b (x INT, CONSTRAINT named CHECK (x > 0))"), 1050);
    client.run("CREATE TEMPORARY TABLE t (x INT, CONSTRAINT named CHECK (x > 0))");
    client.run("ALTER TABLE a DROP CHECK named, ADD CONSTRAINT named CHECK (x < 8)");
    client.run("ALTER TABLE a RENAME TO a2, DROP CHECK named");
    client.run("ALTER TABLE b ADD CONSTRAINT named CHECK (x > 0)");
    assert_eq!(client.fails("ALTER TABLE a2 ADD CONSTRAINT Named CHECK (x > 0)"), 3822);
    client.run("DROP TABLE b");
    client.run("RENAME TABLE e.b TO d.c");
}

#[test]
fn a_name_that_the_server_makes_may_be_taken() {
    let (_server, mut client) = with_checks();
    client.run(
        "CREATE TABLE taken (x INT, CONSTRAINT c_chk_1 CHECK (x > 0), CONSTRAINT l_chk_2 CHECK (x > 0))",
    );
    for sql in [
        "CREATE TABLE c (x INT CHECK (x > 0))",
        "CREATE TABLE c (x INT CHECK (x > 0)) SELECT 1 AS x",
        "CREATE TABLE l LIKE a",
        "RENAME TABLE a TO c",
        "ALTER TABLE a RENAME TO c",
    ] {
        assert_eq!(client.fails(sql), 3822, "{sql}");
    }
    client.run("DROP TABLE taken");
    client.run("CREATE TABLE l LIKE a");
    client.run("RENAME TABLE a TO c");
}

#[test]
fn tables_may_exchange_their_names_and_those_of_their_constraints() {
    let (_server, mut client) = with_checks();
    client.run("CREATE TABLE p (x INT PRIMARY KEY CHECK (x > 0))");
    for table in ["q", "r"] {
        client.run(&format!(
            "CREATE TABLE {table} (x INT CHECK (x > 0), FOREIGN KEY (x) REFERENCES p (x))"
        ));
    }
    client.run("RENAME TABLE q TO s, r TO q, s TO r");
    let names = "SELECT CONCAT(table_name, ' ', constraint_name) FROM information_schema.table_constraints \
                 WHERE table_schema = 'd' AND table_name IN ('q', 'r') ORDER BY 1";
    assert_eq!(client.rows(names), ["q q_chk_1", "q q_ibfk_1", "r r_chk_1", "r r_ibfk_1"]);
    for sql in [
        "CREATE TABLE t (x INT, CONSTRAINT q_chk_1 CHECK (x > 0))",
        "CREATE TABLE t (x INT, CONSTRAINT r_chk_1 CHECK (x > 0))",
    ] {
        assert_eq!(client.fails(sql), 3822, "{sql}");
    }
    client.run("CREATE TABLE t (x INT, CONSTRAINT s_chk_1 CHECK (x > 0))");
}
