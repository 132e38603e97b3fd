//! Random transactions of several sessions on a real server, with everything they saw.
//!
//! Few keys at a time, so that sessions meet; new keys after a while, so that lists stay short.

use super::record::{History, Key, Op, Outcome, Transaction};
use crate::Peer;
use crate::isolation::Level;
use crate::text::{Failure, Rows, TextClient};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use stdx::rng::Rng;

/// Lists, and sets, that are written to at a time.
const KEYS: u32 = 6;
/// So many values later, other keys are written to.
const VALUES_PER_KEYS: u64 = 150;
/// Lists of even number below this are there from the start, empty.
const LISTS_READY: u32 = 1_000;
const STATEMENTS_MAX: u64 = 5;
const DEADLOCK: u16 = 1213;
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Isolation level of all sessions.
    pub level: Level,
    /// Which random numbers.
    pub seed: u64,
    /// Sessions at a time.
    pub sessions: usize,
    /// How long.
    pub time: Duration,
    /// Some reads are FOR SHARE or FOR UPDATE.
    pub locking_reads: bool,
}

/// Runs it in a database of its own, which is dropped afterwards.
///
/// # Errors
/// A statement that failed in another way than by a deadlock or a lock wait timeout.
///
/// # Panics
/// When the server is gone.
pub fn run_load(server: &Peer, load: &Load) -> Result<History, String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let database = format!("history_{}_{number}", std::process::id());
    let (mut control, _) = TextClient::connect_patient(server);
    make_tables(&mut control, &database).map_err(|e| format!("{e:?}"))?;
    let values = AtomicU64::new(1);
    let begin = Instant::now();
    let sessions: Vec<Result<Vec<Transaction>, String>> = std::thread::scope(|scope| {
        let start = |number| {
            let (values, database) = (&values, database.as_str());
            scope.spawn(move || {
                let (client, _) = TextClient::connect_patient(server);
                let rng = Rng::new(load.seed * 1_000 + number as u64);
                Session { client, rng, number, load, values, begin }.run(database)
            })
        };
        let threads: Vec<_> = (0..load.sessions).map(start).collect();
        threads.into_iter().map(|t| t.join().expect("a session's thread")).collect()
    });
    let mut history = History::default();
    for session in sessions {
        history.transactions.extend(session?);
    }
    history.left = what_is_left(&mut control).map_err(|e| format!("{e:?}"))?;
    control.query(&format!("DROP DATABASE {database}")).map_err(|e| format!("{e:?}"))?;
    Ok(history)
}

fn make_tables(control: &mut TextClient, database: &str) -> Result<(), Failure> {
    let rows: Vec<String> = (0..LISTS_READY).step_by(2).map(|id| format!("({id}, '')")).collect();
    let ready = format!("INSERT INTO lists VALUES {}", rows.join(","));
    for sql in [
        &format!("CREATE DATABASE {database}"),
        &format!("USE {database}"),
        "CREATE TABLE lists (id INT PRIMARY KEY, list TEXT NOT NULL)",
        "CREATE TABLE sets (id BIGINT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, v BIGINT NOT NULL, \
         pad VARCHAR(100) NOT NULL DEFAULT 'x', KEY kv (k, v))",
        &ready,
    ] {
        control.query(sql)?;
    }
    Ok(())
}

fn what_is_left(control: &mut TextClient) -> Result<BTreeMap<Key, Vec<u64>>, Failure> {
    let mut left: BTreeMap<Key, Vec<u64>> = BTreeMap::new();
    let lists = control.query("SELECT id, list FROM lists WHERE list <> ''")?;
    for (key, values) in lists_of(&lists) {
        left.insert(key, values);
    }
    for row in control.query("SELECT k, v FROM sets IGNORE INDEX (kv)")?.rows {
        left.entry(Key::Set(number(&row[0]) as u32)).or_default().push(number(&row[1]));
    }
    Ok(left)
}

fn text(value: &Option<Vec<u8>>) -> String {
    String::from_utf8_lossy(value.as_deref().unwrap_or_default()).into_owned()
}

fn number(value: &Option<Vec<u8>>) -> u64 {
    text(value).parse().expect("a column of numbers")
}

/// Rows of `id, list`.
fn lists_of(rows: &Rows) -> Vec<(Key, Vec<u64>)> {
    let values = |list: String| list.split(',').filter_map(|v| v.parse().ok()).collect();
    rows.rows.iter().map(|r| (Key::List(number(&r[0]) as u32), values(text(&r[1])))).collect()
}

struct Session<'a> {
    client: TextClient,
    rng: Rng,
    number: usize,
    load: &'a Load,
    /// The next value, of all sessions.
    values: &'a AtomicU64,
    begin: Instant,
}

impl Session<'_> {
    fn run(mut self, database: &str) -> Result<Vec<Transaction>, String> {
        let level = format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", self.load.level.name());
        for sql in [&format!("USE {database}"), &level, "SET innodb_lock_wait_timeout = 5"] {
            self.client.query(sql).map_err(|e| format!("{sql}: {e:?}"))?;
        }
        let mut transactions = Vec::new();
        while self.begin.elapsed() < self.load.time {
            transactions.push(self.transaction()?);
        }
        Ok(transactions)
    }

    fn now_ns(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    fn transaction(&mut self) -> Result<Transaction, String> {
        let mut ops = Vec::new();
        let begun_ns = self.now_ns();
        let count = 1 + self.rng.below(STATEMENTS_MAX);
        let done = self.statements(count, &mut ops);
        let outcome = match done {
            Ok(()) if self.rng.below(10) > 0 => self.end("COMMIT", Outcome::Committed),
            Ok(()) => self.end("ROLLBACK", Outcome::Aborted),
            Err(e) if e.number == DEADLOCK => Ok(Outcome::Aborted),
            Err(e) if e.number == LOCK_WAIT_TIMEOUT => self.end("ROLLBACK", Outcome::Aborted),
            Err(e) => Err(e),
        };
        let outcome = outcome.map_err(|e| format!("{e:?} after {ops:?}"))?;
        let ended_ns = self.now_ns();
        Ok(Transaction { session: self.number, begun_ns, ended_ns, outcome, ops })
    }

    fn end(&mut self, sql: &str, outcome: Outcome) -> Result<Outcome, Failure> {
        self.client.query(sql).map(|_| outcome)
    }

    fn statements(&mut self, count: u64, ops: &mut Vec<Op>) -> Result<(), Failure> {
        self.client.query("BEGIN")?;
        for _ in 0..count {
            match self.rng.below(10) {
                0..3 => self.append(ops)?,
                3..5 => self.insert(ops)?,
                5..7 => self.read_lists(ops)?,
                7 => self.read_list(ops)?,
                _ => self.read_set(ops)?,
            }
        }
        Ok(())
    }

    /// The first of the keys that are written to now.
    fn first_key(&self) -> u32 {
        (self.values.load(Ordering::Relaxed) / VALUES_PER_KEYS) as u32 * KEYS
    }

    fn any_key(&mut self) -> u32 {
        self.first_key() + self.rng.below(u64::from(KEYS)) as u32
    }

    fn append(&mut self, ops: &mut Vec<Op>) -> Result<(), Failure> {
        let (key, value) = (self.any_key(), self.values.fetch_add(1, Ordering::Relaxed));
        // Before it is sent: others may see it whatever becomes of it.
        ops.push(Op::Write(Key::List(key), value));
        let sql = match key.is_multiple_of(2) && key < LISTS_READY {
            true => format!("UPDATE lists SET list = CONCAT(list, ',{value}') WHERE id = {key}"),
            false => format!(
                "INSERT INTO lists VALUES ({key}, ',{value}') \
                 ON DUPLICATE KEY UPDATE list = CONCAT(list, ',{value}')"
            ),
        };
        self.client.query(&sql).map(drop)
    }

    fn insert(&mut self, ops: &mut Vec<Op>) -> Result<(), Failure> {
        let (key, value) = (self.any_key(), self.values.fetch_add(1, Ordering::Relaxed));
        ops.push(Op::Write(Key::Set(key), value));
        self.client.query(&format!("INSERT INTO sets (k, v) VALUES ({key}, {value})")).map(drop)
    }

    /// How a read of rows that are surely there may lock; READ COMMITTED locks nothing where nothing is.
    fn lock(&mut self, is_there: bool) -> &'static str {
        let locks = is_there || self.load.level as u8 >= Level::RepeatableRead as u8;
        match self.load.locking_reads && locks && self.rng.below(5) == 0 {
            false => "",
            true if self.rng.below(2) == 0 => " FOR SHARE",
            true => " FOR UPDATE",
        }
    }

    fn read_list(&mut self, ops: &mut Vec<Op>) -> Result<(), Failure> {
        let key = self.any_key();
        let lock = self.lock(key.is_multiple_of(2) && key < LISTS_READY);
        let sent_ns = self.now_ns();
        let sql = format!("SELECT id, list FROM lists WHERE id = {key}{lock}");
        let found = lists_of(&self.client.query(&sql)?);
        let values = found.into_iter().next().map_or(Vec::new(), |(_, values)| values);
        let seen = vec![(Key::List(key), values)];
        ops.push(Op::Read { seen, sent_ns, is_locking: !lock.is_empty() });
        Ok(())
    }

    /// A range of lists in one statement.
    fn read_lists(&mut self, ops: &mut Vec<Op>) -> Result<(), Failure> {
        let first = self.first_key();
        let last = first + KEYS - 1;
        let lock = self.lock(false);
        let sent_ns = self.now_ns();
        let sql = format!("SELECT id, list FROM lists WHERE id BETWEEN {first} AND {last}{lock}");
        let found: BTreeMap<Key, Vec<u64>> =
            lists_of(&self.client.query(&sql)?).into_iter().collect();
        let values = |key| (key, found.get(&key).cloned().unwrap_or_default());
        let seen = (first..=last).map(|k| values(Key::List(k))).collect();
        ops.push(Op::Read { seen, sent_ns, is_locking: !lock.is_empty() });
        Ok(())
    }

    /// By the index alone, by the index and the rows, or by the rows alone.
    fn read_set(&mut self, ops: &mut Vec<Op>) -> Result<(), Failure> {
        let key = self.any_key();
        let lock = self.lock(false);
        let what = match self.rng.below(8) {
            0..4 => format!("v FROM sets FORCE INDEX (kv) WHERE k = {key}"),
            4..7 => format!("v, pad FROM sets FORCE INDEX (kv) WHERE k = {key}"),
            _ => format!("v FROM sets IGNORE INDEX (kv) WHERE k = {key}"),
        };
        let sent_ns = self.now_ns();
        let rows = self.client.query(&format!("SELECT {what}{lock}"))?;
        let seen = vec![(Key::Set(key), rows.rows.iter().map(|r| number(&r[0])).collect())];
        ops.push(Op::Read { seen, sent_ns, is_locking: !lock.is_empty() });
        Ok(())
    }
}
