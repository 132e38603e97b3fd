//! What is left to the background while DDL waits for its last lock.

use super::*;
use std::time::Duration;

/// Leaves the freeing of an index of table `d.o` to the background: its pages cannot be read.
fn leave_something(server: &Arc<Server>, disk: &SimDisk) {
    let definition = server.catalog.definition("d", "o").expect("read").expect("a table");
    let table = Arc::clone(definition.open(&server.engine).expect("open"));
    let mut client = server.engine.client().expect("a client");
    let index = table.spec().secondaries[0].id;
    server.engine.drop_index(&mut client, &table, index).expect("marked");
    disk.fail_next_reads(1000);
    client.commit().expect("committed");
    disk.fail_next_reads(0);
}

#[test]
fn an_index_is_dropped_by_a_copy_when_something_is_left_before_its_last_lock() {
    let disk = SimDisk::new(19);
    let server = server_on(Arc::clone(&disk));
    let mut client = Client::root(&server);
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY k (a))");
    client.run("INSERT INTO t VALUES (1, 1), (2, 2)");
    client.run("CREATE TABLE o (id INT PRIMARY KEY, a INT, KEY k (a))");
    client.run("INSERT INTO o VALUES (1, 1)");
    drop(client);
    server.engine.shutdown().expect("shut down");
    drop(server);
    // None of the pages is in memory.
    let server = server_on(Arc::clone(&disk));
    let (mut reader, mut changer) = (Client::root(&server), Client::root(&server));
    reader.run("USE d");
    changer.run("USE d");
    reader.run("BEGIN");
    assert_eq!(reader.rows("SELECT a FROM t WHERE id = 1"), ["1"]);
    let before = server.catalog.definition("d", "t").expect("read").expect("a table").def.id;
    std::thread::scope(|scope| {
        let drop_index = scope.spawn(move || changer.run("DROP INDEX k ON t"));
        let is_waiting = || {
            let locks = server.catalog.mdl().locks();
            locks.iter().any(|l| l.mode == mdl::Mode::X && l.status == mdl::Status::Pending)
        };
        while !is_waiting() {
            let _ = host::clock::sleep(Duration::from_millis(1));
        }
        leave_something(&server, &disk);
        assert!(!server.engine.is_settled(), "the disk fails");
        reader.run("COMMIT");
        drop_index.join().expect("dropped");
    });
    let after = server.catalog.definition("d", "t").expect("read").expect("a table");
    assert!(after.def.indexes.iter().all(|i| i.name != "k"));
    assert_ne!(after.def.id, before, "the rows were copied");
    while !server.engine.is_settled() {
        server.engine.step_janitor(u64::MAX);
    }
    assert_eq!(reader.rows("CHECK TABLE t"), ["d.t|check|status|OK"]);
}

#[test]
fn a_transaction_that_ends_with_its_change_locks_no_row() {
    let server = server();
    let mut client = Client::root(&server);
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (id INT PRIMARY KEY, a INT)");
    client.run("INSERT INTO d.t VALUES (1, 1)");
    let locked = || (0..64).map(|slot| server.engine.progress(slot).named).sum::<u64>();
    client.run("UPDATE d.t SET a = 2 WHERE id = 1");
    assert_eq!(locked(), 0, "the transaction has ended");
    client.run("BEGIN");
    client.run("UPDATE d.t SET a = 3 WHERE id = 1");
    assert_eq!(locked(), 1);
    client.run("COMMIT");
    assert_eq!(locked(), 0);
}
