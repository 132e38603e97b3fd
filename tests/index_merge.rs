//! Several indexes read together answer what one reading of the whole table answers, while others change the rows.
//!
//! 1. A transaction asks the same twice, with `index_merge` and without: its snapshot is the same, and so are rows that
//! it has locked, with the gaps between them. 2. Writers move rows between keys, delete them, put them back, and
//! take some of it back, so that entries of other versions lie in every index. 3. Keys are few: an old and a new key of a row
//! often both satisfy a condition.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::Path;
use stdx::rng::Rng;
use stdx::{Ordering, SharedAtomic, class};
use testkit::{Failure, Server, TempDir, TextClient};

const ROWS: u64 = 400;
const KEYS: u64 = 12;
const READERS: u64 = 3;
const WRITERS: u64 = 3;
/// Of one reader; `LIMPID_ROUNDS` asks for more.
const ROUNDS: u64 = 600;
/// Deadlock, lock wait timeout: the transaction is given up.
const GIVEN_UP: [u16; 2] = [1213, 1205];
const WITH: &str = "SET optimizer_switch = 'index_merge=on'";
const WITHOUT: &str = "SET optimizer_switch = 'index_merge=off'";

/// No more is to be written.
type Flag = SharedAtomic<bool, { class::OTHER }>;

/// A condition on one column that has an index.
fn part(rng: &mut Rng) -> String {
    let column = ["k", "l", "m"][rng.below(3) as usize];
    let key = rng.below(KEYS);
    match rng.below(10) {
        0..6 => format!("{column} = {key}"),
        6 => format!("{column} IS NULL"),
        7 => format!("{column} BETWEEN {key} AND {}", key + rng.below(3)),
        8 => format!("{column} IN ({key}, {})", rng.below(KEYS)),
        _ => {
            let id = rng.below(ROWS);
            format!("id BETWEEN {id} AND {}", id + rng.below(20))
        }
    }
}

fn condition(rng: &mut Rng) -> String {
    let (a, b, c) = (part(rng), part(rng), part(rng));
    match rng.below(6) {
        0 => format!("{a} OR {b}"),
        1 => format!("{a} OR {b} OR {c}"),
        2 => format!("({a} AND {b}) OR {c}"),
        3 => format!("{a} AND {b} AND {c}"),
        4 => format!("({a} OR {b}) AND n % 3 <> 1"),
        _ => format!("{a} AND {b}"),
    }
}

fn change(rng: &mut Rng) -> String {
    let (id, key, other) = (1 + rng.below(ROWS), rng.below(KEYS), rng.below(KEYS));
    let column = ["k", "l", "m"][rng.below(3) as usize];
    match rng.below(8) {
        0 => format!("DELETE FROM t WHERE id = {id}"),
        1 | 2 => format!(
            "REPLACE INTO t VALUES ({id}, {}, {key}, NULLIF({other}, 3), {})",
            rng.below(9),
            rng.below(KEYS)
        ),
        3 => format!("UPDATE t SET {column} = NULL WHERE id = {id}"),
        4 => format!("UPDATE t SET n = n + 1 WHERE {column} = {key} AND id < {id} LIMIT 3"),
        5 => format!("UPDATE t SET k = l, l = k WHERE id BETWEEN {id} AND {id} + 3"),
        _ => format!("UPDATE t SET {column} = {key} WHERE id = {id}"),
    }
}

fn write(socket: &Path, seed: u64, over: &Flag) {
    let mut client = TextClient::connect(socket);
    let mut rng = Rng::new(seed);
    client.query("USE d").unwrap();
    while !over.load(Ordering::Relaxed) {
        client.query("BEGIN").unwrap();
        for _ in 0..1 + rng.below(4) {
            let sql = change(&mut rng);
            match client.query(&sql) {
                Ok(_) => {}
                Err(e) if GIVEN_UP.contains(&e.number) => break,
                Err(e) => panic!("{sql}: {e:?}"),
            }
        }
        client.query(if rng.below(4) == 0 { "ROLLBACK" } else { "COMMIT" }).unwrap();
    }
}

/// What a reader did.
#[derive(Default)]
struct Count {
    merged: u64,
    compared: u64,
    locked: u64,
    changed: u64,
}

type Lines = Vec<Vec<Option<Vec<u8>>>>;

fn rows(client: &mut TextClient, (switch, sql): (&str, &str)) -> Result<Lines, Failure> {
    client.query(switch)?;
    let mut rows = client.query(sql)?.rows;
    rows.sort();
    Ok(rows)
}

/// One transaction: the same question in both ways.
fn compare(client: &mut TextClient, rng: &mut Rng, count: &mut Count) -> Result<(), Failure> {
    client.query("BEGIN")?;
    let condition = condition(rng);
    let from = "t FORCE INDEX (PRIMARY, k, l, m)";
    let question = format!("SELECT id, n, k, l, m FROM {from} WHERE {condition}");
    let first = rows(client, (WITH, &question))?;
    if rng.below(3) == 0 {
        // Own changes are seen, too.
        client.query(&change(rng))?;
        let (with, without) =
            (rows(client, (WITH, &question))?, rows(client, (WITHOUT, &question))?);
        assert_eq!(with, without, "{question}, with own changes");
    } else {
        assert_eq!(first, rows(client, (WITHOUT, &question))?, "{question}");
    }
    count.compared += 1;
    client.query(WITH)?;
    let plan = client.query(&format!("EXPLAIN FORMAT=TRADITIONAL {question}"))?.rows;
    if plan[0][4].as_deref() == Some(b"index_merge") {
        count.merged += 1;
    }
    if rng.below(4) == 0 {
        client.query("COMMIT")?;
        client.query("BEGIN")?;
        let mode = ["FOR UPDATE", "FOR SHARE"][rng.below(2) as usize];
        let question = format!("{question} {mode}");
        let first = rows(client, (WITH, &question))?;
        assert_eq!(first, rows(client, (WITHOUT, &question))?, "{question}");
        count.locked += 1;
        client.query(WITH)?;
        let changed = client.query(&format!("UPDATE t SET n = n + 1 WHERE {condition}"))?.affected;
        assert_eq!(changed, first.len() as u64, "{condition}");
        let moved = ["k = k + 1, l = 0", "n = -1", "m = NULL"][rng.below(3) as usize];
        client.query(&format!("UPDATE t SET {moved} WHERE {condition}"))?;
        let left = rows(client, (WITHOUT, &format!("SELECT id FROM t WHERE {condition}")))?;
        client.query(WITH)?;
        let gone = client.query(&format!("DELETE FROM t WHERE {condition}"))?.affected;
        assert_eq!(gone, left.len() as u64, "{condition} after {moved}");
        count.changed += 1;
    }
    Ok(())
}

fn rounds() -> u64 {
    std::env::var("LIMPID_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(ROUNDS)
}

fn read(socket: &Path, seed: u64) -> Count {
    let mut client = TextClient::connect(socket);
    let (mut rng, mut count) = (Rng::new(seed), Count::default());
    client.query("USE d").unwrap();
    client.query("SET explain_format = traditional").unwrap();
    for _ in 0..rounds() {
        match compare(&mut client, &mut rng, &mut count) {
            Ok(()) => {}
            Err(e) if GIVEN_UP.contains(&e.number) => {}
            Err(e) => panic!("{e:?}"),
        }
        client.query(if rng.below(2) == 0 { "ROLLBACK" } else { "COMMIT" }).unwrap();
    }
    count
}

#[test]
fn several_indexes_answer_what_the_table_answers_while_rows_change() {
    let folder = TempDir::new();
    let server = Server::with().option("--innodb-lock-wait-timeout=1").start(folder.path());
    server.sql(&format!(
        "CREATE DATABASE d; USE d;
         CREATE TABLE t (id INT PRIMARY KEY, n INT, k INT, l INT, m INT, KEY k (k), KEY l (l), KEY m (m));
         INSERT INTO t WITH RECURSIVE c AS (SELECT 1 i UNION ALL SELECT i + 1 FROM c WHERE i < {ROWS})
           SELECT i, i % 9, i % {KEYS}, i * 7 % {KEYS}, NULLIF(i * 5 % 11, 4) FROM c;
         ANALYZE TABLE t"
    ));
    let over = Flag::new(false);
    let socket = server.socket();
    let counts = std::thread::scope(|scope| {
        let over = &over;
        let writers: Vec<_> =
            (0..WRITERS).map(|n| scope.spawn(move || write(socket, 100 + n, over))).collect();
        let readers: Vec<_> =
            (0..READERS).map(|n| scope.spawn(move || read(socket, 7 + n))).collect();
        let ended: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        over.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        ended.into_iter().map(|reader| reader.unwrap()).collect::<Vec<Count>>()
    });
    let at_least = |what: &str, of: fn(&Count) -> u64, least: u64| {
        let counted: u64 = counts.iter().map(of).sum();
        assert!(counted >= least, "only {counted} {what}");
    };
    let all = READERS * rounds();
    at_least("comparisons", |count| count.compared, all / 2);
    at_least("plans that read several indexes", |count| count.merged, all / 4);
    at_least("locked comparisons", |count| count.locked, all / 50);
    at_least("changes", |count| count.changed, all / 60);
    assert!(server.sql("CHECK TABLE d.t").contains("OK"));
}

#[test]
fn keys_that_do_not_fit_in_memory_are_sorted_in_a_file() {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    server.sql(
        "CREATE DATABASE d; USE d; SET cte_max_recursion_depth = 100000;
         CREATE TABLE t (id VARCHAR(40) PRIMARY KEY, k INT, l INT, KEY k (k), KEY l (l));
         INSERT INTO t WITH RECURSIVE c AS (SELECT 1 i UNION ALL SELECT i + 1 FROM c WHERE i < 20000)
           SELECT CONCAT(MD5(i), i), i % 100, i * 7 % 100 FROM c;
         ANALYZE TABLE t",
    );
    let mut client = TextClient::connect(server.socket());
    client.query("USE d").unwrap();
    let narrow = "SET sort_buffer_size = 32768, join_buffer_size = 128, tmp_table_size = 1024";
    client.query(narrow).unwrap();
    client.query("SET explain_format = traditional").unwrap();
    let question = "SELECT id, k, l FROM t FORCE INDEX (k, l) WHERE k < 40 OR l BETWEEN 30 AND 60";
    let plan = client.query(&format!("EXPLAIN {question}")).unwrap().rows;
    assert_eq!(plan[0][4].as_deref(), Some(&b"index_merge"[..]));
    let found = rows(&mut client, (WITH, question)).unwrap();
    assert_eq!(found, rows(&mut client, (WITHOUT, question)).unwrap());
    assert!(found.len() > 10_000);
    client.query(WITH).unwrap();
    // They come in the order of the clustered key.
    let ordered = client.query(question).unwrap().rows;
    let ids: Vec<_> = ordered.iter().map(|row| row[0].clone()).collect();
    assert!(ids.is_sorted());
}
