//! Three servers behind ShardingSphere's proxy: what it answers, what its readers see, and what is left when processes die.
//!
//! All of soak: they take a Java machine, Maven, and a system that allows network namespaces. `LIMPID_BINARY` may name any
//! server that takes Limpid's options.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use stdx::rng::Rng;
use testkit::scale_out::bank::{self, Transfer};
use testkit::scale_out::proxy::{self, Recovery};
use testkit::scale_out::{Cluster, PROXY_PORT, Parts, chaos};
use testkit::{Server, TempDir, TextClient, run};

const SHARDS: usize = 3;

/// A cluster; `None` where this machine lacks something, which is said.
fn cluster(folder: &Path) -> Option<Cluster> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or(Path::new(env!("CARGO_MANIFEST_DIR")).join("target"));
    let recovery = Recovery { delay: Duration::from_secs(2), patience: Duration::from_secs(10) };
    let started = proxy::jars(&target.join("scale-out/proxy")).and_then(|jars| {
        let binary = testkit::server::binary();
        Cluster::start(folder, Parts { binary, jars, shards: SHARDS, recovery })
    });
    match started {
        Ok(cluster) => Some(cluster),
        Err(why) => {
            testkit::skip(&why);
            None
        }
    }
}

/// What a statement answered: its rows, sorted where no order was asked for, or the number of the error.
fn answer(client: &mut TextClient, sql: &str) -> String {
    match client.query(sql) {
        Err(e) => format!("error {}", e.number),
        Ok(done) if done.names.is_empty() => format!("{} rows changed", done.affected),
        Ok(done) => {
            let text = |value: &Option<Vec<u8>>| match value {
                Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                None => "NULL".into(),
            };
            let line = |row: &Vec<_>| row.iter().map(text).collect::<Vec<_>>().join("\t");
            let mut lines: Vec<String> = done.rows.iter().map(line).collect();
            if !sql.contains("ORDER BY") {
                lines.sort();
            }
            lines.join("\n")
        }
    }
}

/// Statements that one server and three answer alike: definitions, changes, look-ups, joins on the column that decides,
/// aggregates, locks, transactions. A group keeps a session.
const ALIKE: [&[&str]; 5] = [
    &[
        "CREATE TABLE items (id BIGINT PRIMARY KEY, name VARCHAR(40) NOT NULL, price DECIMAL(10,2), made DATE, KEY (name))",
        "INSERT INTO items (id, name, price, made) VALUES (1, 'one', 1.50, '2026-01-01'), (2, 'two', 2.25, '2026-01-02'), \
         (3, 'three', NULL, NULL), (4, 'four', 4.00, '2026-02-28'), (5, 'five', 5.75, '2026-03-01')",
        "INSERT INTO items (id, name) VALUES (3, 'again')",
        "INSERT INTO items (id, name) VALUES (3, 'again') ON DUPLICATE KEY UPDATE name = 'third'",
        "ALTER TABLE items ADD COLUMN note VARCHAR(20) DEFAULT 'none'",
        "CREATE INDEX by_price ON items (price)",
        "UPDATE items SET note = 'cheap' WHERE price < 3",
        "UPDATE items SET note = NULL WHERE id IN (4, 5)",
        "SELECT * FROM items ORDER BY id",
        "SELECT id, name FROM items WHERE id = 3",
        "SELECT note, COUNT(*), SUM(price), MIN(made), MAX(name) FROM items GROUP BY note ORDER BY note",
        "SELECT DISTINCT note FROM items",
        "DELETE FROM items WHERE id = 2",
        "SELECT COUNT(*), COUNT(price) FROM items",
        "DROP INDEX by_price ON items",
        "ALTER TABLE items DROP COLUMN note",
        "SELECT * FROM items WHERE made IS NOT NULL ORDER BY made DESC",
        "TRUNCATE TABLE items",
        "SELECT COUNT(*) FROM items",
        "DROP TABLE items",
        "SELECT * FROM items",
    ],
    &[
        "SELECT a.id, a.balance, o.id, o.amount FROM accounts a JOIN orders o ON a.id = o.account_id WHERE a.id IN (5, 6, 7, 8)",
        "SELECT a.id, SUM(o.amount), COUNT(*) FROM accounts a JOIN orders o ON a.id = o.account_id \
         WHERE a.id < 40 GROUP BY a.id ORDER BY a.id",
        "SELECT a.id, o.amount FROM accounts a LEFT JOIN orders o ON a.id = o.account_id AND o.amount > 4 WHERE a.id <= 12",
        "SELECT SUM(o.amount) FROM accounts a JOIN orders o ON a.id = o.account_id WHERE a.balance = 1000",
        "INSERT INTO orders (id, account_id, amount) VALUES (77, 7, 3), (78, 8, 4)",
        "SELECT COUNT(*) FROM orders WHERE account_id = 7",
        "SELECT o.account_id, COUNT(*) FROM orders o GROUP BY o.account_id ORDER BY COUNT(*) DESC, o.account_id LIMIT 4",
    ],
    &[
        "SELECT COUNT(*), SUM(balance), MIN(id), MAX(id), AVG(balance) FROM accounts",
        "SELECT id FROM accounts ORDER BY id DESC LIMIT 5, 4",
        "SELECT balance, COUNT(*) FROM accounts GROUP BY balance",
        "SELECT id, balance FROM accounts WHERE id BETWEEN 10 AND 20 ORDER BY id",
        "SELECT COUNT(*) FROM accounts WHERE id > 250 OR id IN (1, 2)",
    ],
    &[
        "BEGIN",
        "SELECT balance FROM accounts WHERE id = 10 FOR UPDATE",
        "SELECT id, balance FROM accounts WHERE id IN (11, 12, 13) ORDER BY id FOR UPDATE",
        "UPDATE accounts SET balance = balance + 5 WHERE id IN (10, 11, 12)",
        "UPDATE accounts SET balance = balance - 15 WHERE id = 13",
        "SELECT SUM(balance) FROM accounts",
        "ROLLBACK",
        "SELECT balance FROM accounts WHERE id IN (10, 11, 12, 13) ORDER BY id",
        "BEGIN",
        "UPDATE accounts SET balance = balance + 5 WHERE id IN (10, 11, 12)",
        "UPDATE accounts SET balance = balance - 15 WHERE id = 13",
        "COMMIT",
        "SELECT balance FROM accounts WHERE id IN (10, 11, 12, 13) ORDER BY id",
        "SELECT SUM(balance) FROM accounts",
    ],
    &[
        "SET autocommit = 0",
        "DELETE FROM orders WHERE account_id < 10",
        "SELECT COUNT(*) FROM orders",
        "ROLLBACK",
        "SELECT COUNT(*) FROM orders",
        "COMMIT",
        "SET autocommit = 1",
        "DELETE FROM orders",
        "SELECT COUNT(*) FROM orders",
    ],
];

#[test]
#[ignore = "soak: a Java machine"]
fn three_servers_answer_as_one_does() {
    let (folder, alone) = (TempDir::new(), TempDir::new());
    let Some(cluster) = cluster(folder.path()) else { return };
    let one = Server::start(alone.path());
    one.sql("CREATE DATABASE shop");
    let of_one = || {
        let mut client = TextClient::connect(one.socket());
        client.query("USE shop").unwrap();
        client
    };
    for mut client in [of_one(), cluster.client()] {
        bank::open(&mut client).unwrap();
    }
    let spread =
        |n: usize| cluster.shard_client(n).query("SELECT COUNT(*) FROM shop.accounts").unwrap();
    assert!((0..SHARDS).all(|n| spread(n).rows[0][0] == Some(b"100".to_vec())));
    let mut differences = String::new();
    for group in ALIKE {
        let (mut expected, mut through) = (of_one(), cluster.client());
        for sql in group {
            let (expected, said) = (answer(&mut expected, sql), answer(&mut through, sql));
            if expected != said {
                differences += &format!("{sql}\none server: {expected}\nthe proxy: {said}\n\n");
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
    let totals: Vec<_> = (0..SHARDS)
        .map(|n| answer(&mut cluster.shard_client(n), "SHOW TABLES FROM shop"))
        .collect();
    assert!(totals.iter().all(|tables| *tables == "accounts\norders\ntransfers"), "{totals:?}");
}

/// The proxy's own transactions begin with BEGIN: outside of one, each server commits its part of a statement, and a part that
/// failed is not told when another did not. What docs/scale-out.md says of it.
#[test]
#[ignore = "soak: a Java machine"]
fn a_change_of_several_servers_belongs_into_a_transaction() {
    let folder = TempDir::new();
    let Some(cluster) = cluster(folder.path()) else { return };
    let mut client = cluster.client();
    bank::open(&mut client).unwrap();
    let mut ask = |sql: &str| answer(&mut client, sql);
    let insert = |first: u64, second: u64, third: u64| {
        let row = |id| format!("({id}, 1, 2, {first})");
        let rows = [row(first), row(second), row(third)].join(", ");
        format!("INSERT INTO transfers (id, payer, payee, amount) VALUES {rows}")
    };
    assert_eq!(ask(&insert(1, 2, 3)), "3 rows changed");
    // The second row is there already, on its own server.
    assert_eq!(ask(&insert(4, 2, 6)), "2 rows changed");
    assert_eq!(ask("SELECT id, amount FROM transfers ORDER BY id"), "1\t1\n2\t1\n3\t1\n4\t4\n6\t4");
    ask("BEGIN");
    assert_eq!(ask(&insert(7, 2, 9)), "error 1062");
    ask("ROLLBACK");
    assert_eq!(ask("SELECT COUNT(*) FROM transfers"), "5");
}

/// Two transactions that wait for each other on two servers: neither server sees a deadlock. The one whose patience is over first gives up.
#[test]
#[ignore = "soak: a Java machine"]
fn a_deadlock_over_two_servers_ends_by_time() {
    let folder = TempDir::new();
    let Some(cluster) = cluster(folder.path()) else { return };
    bank::open(&mut cluster.client()).unwrap();
    let (mut one, mut two) = (cluster.client(), cluster.client());
    let update = |client: &mut TextClient, id: u64| {
        client.query(&format!("UPDATE accounts SET balance = balance WHERE id = {id}")).map(drop)
    };
    for (client, id) in [(&mut one, 1), (&mut two, 2)] {
        client.query("BEGIN").unwrap();
        update(client, id).unwrap();
    }
    let begin = Instant::now();
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let said = update(&mut one, 2);
            one.query("ROLLBACK").unwrap();
            said
        });
        testkit::pause(1_000);
        let second = update(&mut two, 1);
        two.query("ROLLBACK").unwrap();
        (first.join().unwrap(), second)
    });
    assert_eq!(first.unwrap_err().number, 1205);
    assert_eq!(second, Ok(()));
    assert!(begin.elapsed() > Duration::from_secs(4), "{:?}", begin.elapsed());
    assert_eq!(bank::total(&mut cluster.client()), bank::TOTAL);
}

/// What docs/scale-out.md says of readers: they see each server as it is when it is asked, and no moment of all.
#[test]
#[ignore = "soak: a Java machine"]
fn a_reader_of_all_servers_sees_torn_sums() {
    let folder = TempDir::new();
    let Some(cluster) = cluster(folder.path()) else { return };
    bank::open(&mut cluster.client()).unwrap();
    let stop = AtomicBool::new(false);
    let (mut torn, mut reads) = (0, 0);
    std::thread::scope(|scope| {
        for n in 1..=3 {
            let (mut client, mut rng, stop) = (cluster.client(), Rng::new(n), &stop);
            scope.spawn(move || {
                for id in n * 1_000_000.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let made = Transfer::random(&mut rng, id, SHARDS as u64).make(&mut client);
                    made.unwrap().unwrap();
                }
            });
        }
        let (mut client, begin) = (cluster.client(), Instant::now());
        while torn == 0 && begin.elapsed() < Duration::from_secs(120) {
            torn += u64::from(bank::total(&mut client) != bank::TOTAL);
            reads += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("{torn} of {reads} sums were torn");
    assert!(torn > 0, "{reads} sums were right: docs/scale-out.md promises less than it may");
    bank::audit(&cluster, &HashSet::new()).unwrap();
}

/// An application in Java: prepared statements, by the driver and by the proxy.
#[test]
#[ignore = "soak: a Java machine"]
fn connector_j_through_the_proxy() {
    let folder = TempDir::new();
    let Some(cluster) = cluster(folder.path()) else { return };
    bank::open(&mut cluster.client()).unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scale_out/App.java");
    for (by_server, first, said) in
        [("false", "1000", "300000 40\n"), ("true", "2000", "300000 80\n")]
    {
        let mut java = cluster.namespace().command("java");
        java.arg("-cp").arg(cluster.jars().join("*")).arg(&program);
        let answer = run(java.args([&PROXY_PORT.to_string(), by_server, first]));
        assert_eq!(answer.out, said, "{}", answer.err);
    }
    assert_eq!(bank::audit(&cluster, &HashSet::from([1001, 2049])), Ok(80));
}

/// The way of a user of one server: tables are made through the proxy, rows come from a dump of the one server.
#[test]
#[ignore = "soak: a Java machine"]
fn a_dump_of_one_server_is_loaded_through_the_proxy() {
    let (folder, alone) = (TempDir::new(), TempDir::new());
    let Some(cluster) = cluster(folder.path()) else { return };
    let one = Server::start(alone.path());
    one.sql("CREATE DATABASE shop");
    let mut client = TextClient::connect(one.socket());
    client.query("USE shop").unwrap();
    bank::open(&mut client).unwrap();
    let mut through = cluster.client();
    bank::open(&mut through).unwrap();
    for table in ["accounts", "orders"] {
        through.query(&format!("DELETE FROM {table}")).unwrap();
    }
    let dumped = run(std::process::Command::new("mariadb-dump")
        .args(["--no-defaults", &format!("--socket={}", one.socket().display()), "--user=root"])
        .args(["--compact", "--no-create-info", "--complete-insert", "--single-transaction"])
        .args(["--net-buffer-length=16384", "shop", "accounts", "orders"]));
    assert!(dumped.ok, "{}", dumped.err);
    let file = alone.path().join("dump.sql");
    std::fs::write(&file, &dumped.out).unwrap();
    let loaded = run(testkit::client::stock_client()
        .args(["--no-defaults", "--skip-ssl", "--user=root", "--password=root", "shop"])
        .arg(format!("--socket={}", cluster.socket().display()))
        .stdin(std::fs::File::open(&file).unwrap()));
    assert!(loaded.ok, "{}\n{}", loaded.err, &dumped.out[..dumped.out.len().min(2_000)]);
    for sql in [
        "SELECT id, balance FROM accounts ORDER BY id",
        "SELECT account_id, id, amount FROM orders ORDER BY account_id",
    ] {
        let rows = answer(&mut client, sql);
        assert_eq!(rows.lines().count(), 300);
        assert_eq!(answer(&mut through, sql), rows);
    }
}

#[test]
#[ignore = "soak: a Java machine, half an hour"]
fn transfers_are_whole_while_processes_die() {
    let folder = TempDir::new();
    let Some(mut cluster) = cluster(folder.path()) else { return };
    let rounds = std::env::var("LIMPID_ROUNDS").map_or(100, |n| n.parse().unwrap());
    let report = chaos::run(&mut cluster, rounds, 1).unwrap_or_else(|wrong| panic!("{wrong}"));
    println!("{report:?}");
    assert!(report.acknowledged as u64 > 2 * rounds, "hardly anything was transferred");
    assert!(report.in_doubt > 0, "no kill left a branch in doubt");
}
