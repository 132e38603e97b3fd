//! The table cache by its instances and its users, and what counts as a use. More of what one session sees, with MySQL's
//! figures, is in `tests/watched/table_cache.rs`.

use super::*;
use std::ops::Range;

/// Hits, misses and overflows of a session; those of all sessions are the process's, in which other tests run.
fn counted(client: &mut Client) -> [u64; 3] {
    ["hits", "misses", "overflows"].map(|of| {
        let rows = client.rows(&format!("SHOW SESSION STATUS LIKE 'Table_open_cache_{of}'"));
        rows[0].split('|').nth(1).and_then(|n| n.parse().ok()).expect("a number")
    })
}

/// What statements add to these.
fn costs(client: &mut Client, statements: &[&str]) -> [u64; 3] {
    let before = counted(client);
    statements.iter().for_each(|sql| drop(client.query(sql)));
    let after = counted(client);
    [0, 1, 2].map(|n| after[n] - before[n])
}

/// A server whose table cache has so many instances of so many handles, and tables `d.t0`, `d.t1`, ...
fn with_tables((instances, handles): (u64, u64), tables: u64) -> Arc<Server> {
    let server = server();
    server.catalog.open_handles().set_instances(instances);
    server.catalog.open_handles().set_limit(instances * handles);
    let mut client = Client::root(&server);
    client.run("CREATE DATABASE d");
    for n in 0..tables {
        client.run(&format!("CREATE TABLE d.t{n} (a INT PRIMARY KEY)"));
    }
    server
}

fn read(client: &mut Client, tables: Range<u64>) {
    for n in tables {
        client.rows(&format!("SELECT a FROM d.t{n}"));
    }
}

#[test]
fn an_instance_overflows_while_another_has_room() {
    let server = with_tables((2, 4), 6);
    let open = || server.catalog.open_handles().handles();
    let (mut one, mut other) = (Client::root(&server), Client::root(&server));
    read(&mut one, 0..6);
    assert_eq!((counted(&mut one), open()), ([0, 6, 2], 4));
    read(&mut other, 0..4);
    assert_eq!((counted(&mut other), open()), ([0, 4, 0], 8));
    // A hit changes nothing of what is open, a miss is one more, an overflow one less.
    for n in [0, 1, 5, 3, 3, 2, 4, 0] {
        let (before, were_open) = (counted(&mut one), open());
        read(&mut one, n..n + 1);
        let after = counted(&mut one);
        let [hits, misses, overflows] = [0, 1, 2].map(|n| after[n] - before[n]);
        assert_eq!((hits + misses, open() + overflows), (1, were_open + misses), "t{n}");
    }
}

#[test]
fn a_cache_that_is_smaller_than_its_users_overflows_more_than_it_hits() {
    const USERS: u64 = 30;
    const TABLES: u64 = 8;
    const ROUNDS: u64 = 4;
    let server = with_tables((1, 10), TABLES);
    let mut users: Vec<_> = (0..USERS).map(|_| Client::root(&server)).collect();
    let mut rounds = || {
        let mut sum = [0; 3];
        for user in (0..ROUNDS).flat_map(|_| 0..USERS) {
            let user = &mut users[user as usize];
            let before = counted(user);
            read(user, 0..TABLES);
            let after = counted(user);
            sum.iter_mut().enumerate().for_each(|(n, sum)| *sum += after[n] - before[n]);
        }
        sum
    };
    let all = ROUNDS * USERS * TABLES;
    let [hits, misses, overflows] = rounds();
    assert!(overflows > hits, "{hits} hits, {overflows} overflows");
    assert_eq!(hits + misses, all);
    assert_eq!(server.catalog.open_handles().handles(), 10);
    // With room for all nothing goes, and what came is found.
    server.catalog.open_handles().set_limit(USERS * TABLES);
    let [hits, misses, overflows] = rounds();
    assert_eq!((hits + misses, misses, overflows), (all, USERS * TABLES - 10, 0));
    assert_eq!(rounds(), [all, 0, 0]);
}

#[test]
fn what_lock_tables_opens_again_it_keeps() {
    let server = with_tables((1, 10), 2);
    let mut client = Client::root(&server);
    assert_eq!(costs(&mut client, &["LOCK TABLES d.t0 WRITE, d.t1 WRITE"]), [0, 2, 0]);
    let reads = ["SELECT a FROM d.t0"; 3];
    assert_eq!(costs(&mut client, &reads), [0, 0, 0]);
    for closes in ["FLUSH TABLES d.t0", "FLUSH TABLES", "ALTER TABLE d.t0 ADD b INT"] {
        client.run(closes);
        assert_eq!(costs(&mut client, &reads), [0, 1, 0], "{closes}");
    }
    client.run("UNLOCK TABLES");
    assert_eq!(costs(&mut client, &reads), [3, 0, 0]);
    // What is refused closes nothing.
    client.run("LOCK TABLES d.t0 READ");
    assert_eq!(client.fails("FLUSH TABLES d.t0"), 1099);
    assert_eq!(client.fails("FLUSH TABLES d.t0 WITH READ LOCK"), 1192);
    client.run("UNLOCK TABLES");
    assert_eq!(costs(&mut client, &reads), [3, 0, 0]);
}

#[test]
fn prepare_opens_its_tables_once_and_show_open_tables_none() {
    let server = with_tables((1, 10), 2);
    let mut client = Client::root(&server);
    let prepared = |client: &mut Client, sql: &str| {
        let before = counted(client);
        client.prepare(sql);
        let after = counted(client);
        [0, 1, 2].map(|n| after[n] - before[n])
    };
    // What stands beside a parameter says what it is: the text is looked at twice.
    assert_eq!(prepared(&mut client, "SELECT a FROM d.t0 WHERE a = ?"), [0, 1, 0]);
    let join = "SELECT x.a FROM d.t0 x, d.t1 y WHERE x.a = ? AND y.a > ?";
    assert_eq!(prepared(&mut client, join), [1, 1, 0]);
    assert_eq!(prepared(&mut client, &join.replace('>', "<")), [2, 0, 0]);
    assert_eq!(costs(&mut client, &["SHOW OPEN TABLES", "SHOW OPEN TABLES FROM d"]), [0, 0, 0]);
    assert_eq!(costs(&mut client, &["SELECT a FROM d.t0 WHERE a = 1"]), [1, 0, 0]);
}
