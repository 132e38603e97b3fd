//! The namespaces of metadata locks that `docs/locking.md` calls active: statements ask for locks of them.

use super::*;
use mdl::{Mode, Namespace};
use std::time::Instant;
use sync::Deadline;

/// What somebody has locked (a namespace, a schema, a name, how), and a statement that waits for that.
const ASKED: [(Namespace, &str, &str, Mode, &str); 9] = [
    (Namespace::Global, "", "", Mode::S, "INSERT INTO d.t VALUES (1)"),
    (Namespace::Commit, "", "", Mode::S, "COMMIT"),
    (Namespace::BackupLock, "", "", Mode::S, "TRUNCATE d.t NOWAIT"),
    (Namespace::Schema, "d", "", Mode::X, "DROP TABLE d.u NOWAIT"),
    (Namespace::Table, "d", "t", Mode::X, "UPDATE d.t SET a = 3"),
    (Namespace::ForeignKey, "d", "k", Mode::X, KEY),
    (Namespace::CheckConstraint, "d", "k", Mode::X, CHECK),
    (Namespace::AclCache, "", "", Mode::X, "CREATE USER somebody"),
    (Namespace::UserLevelLock, "", "l", Mode::X, "SELECT GET_LOCK('l', 0)"),
];
const KEY: &str = "ALTER TABLE d.c NOWAIT ADD CONSTRAINT K FOREIGN KEY (a) REFERENCES d.p (a)";
const CHECK: &str = "ALTER TABLE d.p NOWAIT ADD CONSTRAINT K CHECK (a > 0)";

#[test]
fn statements_ask_for_locks_of_each_active_namespace() {
    let server = server();
    let mut client = Client::root(&server);
    client.run("CREATE DATABASE d");
    for table in ["t", "u", "p", "c"] {
        client.run(&format!("CREATE TABLE d.{table} (a INT PRIMARY KEY)"));
    }
    client.run("SET lock_wait_timeout = 1");
    let holder = server.engine.client().expect("a client");
    let mdl = Arc::clone(server.catalog.mdl());
    for (namespace, schema, name, mode, statement) in ASKED {
        if namespace == Namespace::Commit {
            client.run("BEGIN");
            client.run("INSERT INTO d.t VALUES (2)");
        }
        let object = mdl.intern(namespace, schema, name);
        let got = mdl.acquire(holder.slot(), &object, mode, Deadline::At(Instant::now()));
        assert_eq!(got, Ok(()), "{namespace:?}");
        match namespace {
            Namespace::UserLevelLock => assert_eq!(client.rows(statement), ["0"]),
            _ => assert_eq!(client.fails(statement), 1205, "{namespace:?}"),
        }
        // Who connects, and whose rights are looked at, asks for none.
        if namespace == Namespace::AclCache {
            assert!(Client::root(&server).rows("SELECT a FROM d.p").is_empty());
        }
        mdl.release(holder.slot(), &object, mode);
        match namespace {
            Namespace::UserLevelLock => assert_eq!(client.rows(statement), ["1"]),
            _ => client.run(statement),
        }
    }
}
