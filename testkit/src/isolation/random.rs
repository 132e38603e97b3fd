//! Random conversations: two or three sessions over one small table, put to a real MySQL and to another server.
//!
//! 1. Which index a statement uses decides what is locked. In even seeds it is written down (FORCE INDEX); in odd
//! ones figures of the table were gathered, and both servers choose what rows are locked by.
//! 2. What MySQL itself does not do twice in the same way (who of several goes on first) says nothing and is
//!    passed over. Where one commit lets two sessions go on at once, who of them comes first is the processor's
//!    matter, and the other server may be asked again, too: a conversation that it has in MySQL's way among
//!    others is counted apart.

use super::folder::{difference, in_parallel};
use super::script::{Level, Script, Step};
use super::talk::{Oracle, converse};
use crate::Peer;
use std::fmt::Write as _;
use stdx::rng::Rng;

const STEPS: u64 = 14;

/// From this seed on more is said; before it what was said stays as it was.
const FIRST_WIDE: u64 = 3001;

/// What came of the seeds.
#[derive(Debug, Default)]
pub struct Compared {
    /// Conversations that came out the same.
    pub same: usize,
    /// Those in which somebody waited, among the same.
    pub with_waits: usize,
    /// Those with a deadlock, among the same.
    pub with_deadlocks: usize,
    /// Those that MySQL itself has in several ways.
    pub open: usize,
    /// Those that the other server has in several ways, MySQL's among them.
    pub raced: Vec<u64>,
    /// The seeds of the others, and how they differ.
    pub different: Vec<(u64, String)>,
}

/// One seed's outcome.
enum Outcome {
    Same { waits: bool, deadlock: bool },
    Open,
    Raced(u64),
    Different(u64, String),
}

/// How often MySQL is asked again before a difference counts: its purge and the background that weighs its
/// waiters take their time, and some conversations go one way or another by that.
const ASKED_AGAIN: usize = 4;

/// How often the other server is asked again.
const OWN_ASKED_AGAIN: usize = 3;

/// Puts the conversations of the seeds to both servers.
///
/// # Panics
/// When one of the servers is gone.
pub fn compare_random(own: &Peer, oracle: &Peer, seeds: Vec<u64>) -> Compared {
    let mut compared = Compared::default();
    for outcome in in_parallel(seeds, |seed| compare_seed(own, oracle, seed)) {
        match outcome {
            Outcome::Same { waits, deadlock } => {
                compared.same += 1;
                compared.with_waits += usize::from(waits);
                compared.with_deadlocks += usize::from(deadlock);
            }
            Outcome::Open => compared.open += 1,
            Outcome::Raced(seed) => compared.raced.push(seed),
            Outcome::Different(seed, text) => compared.different.push((seed, text)),
        }
    }
    compared
}

fn compare_seed(own: &Peer, oracle: &Peer, seed: u64) -> Outcome {
    let (script, level) = random_script(seed);
    let on_oracle = |how| converse(oracle, &script, level, how).expect("a setup that MySQL takes");
    let expected = on_oracle(Oracle::Server);
    let differs = || match converse(own, &script, level, Oracle::Recorded(&expected)) {
        Ok(got) => difference(&script, &expected, &got),
        Err(why) => Some(format!("  setup: {why}")),
    };
    let Some(what) = differs() else {
        let says = |part: &str| expected.iter().any(|b| b.answers.iter().any(|a| a.contains(part)));
        return Outcome::Same { waits: says(" waits"), deadlock: says("error 1213") };
    };
    if (0..ASKED_AGAIN).any(|_| on_oracle(Oracle::Server) != expected) {
        return Outcome::Open;
    }
    if (0..OWN_ASKED_AGAIN).any(|_| differs().is_none()) {
        return Outcome::Raced(seed);
    }
    let mut text = format!("seed {seed}, {}\n{what}\n", level.name());
    for line in script.setup.iter().cloned().chain(script.steps.iter().map(Step::shown)) {
        let _ = writeln!(text, "    {line}");
    }
    Outcome::Different(seed, text)
}

/// The conversation of a seed, and the level at which it is held.
pub fn random_script(seed: u64) -> (Script, Level) {
    let mut rng = Rng::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let figures = seed % 2 == 1;
    let level = match rng.below(8) {
        0 => Level::ReadUncommitted,
        1..4 => Level::ReadCommitted,
        4..7 => Level::RepeatableRead,
        _ => Level::Serializable,
    };
    let rows =
        ["(10, 100, 1000, 1)", "(20, 200, 2000, 2)", "(30, 200, 3000, 3)", "(40, 400, 4000, 4)"];
    let count = 2 + rng.below(3) as usize;
    let table =
        "CREATE TABLE t (id INT PRIMARY KEY, k INT, u INT, v INT, KEY k (k), UNIQUE KEY u (u))";
    let rows = format!("INSERT INTO t VALUES {}", rows[..count].join(", "));
    let setup = match figures {
        false => vec![table.into(), rows],
        true => with_figures(&mut rng, table, rows),
    };
    let sessions = 2 + rng.below(2);
    let mut steps: Vec<Step> = (1..=sessions).map(|n| say(n, "BEGIN".into())).collect();
    for _ in 0..STEPS {
        let who = 1 + rng.below(sessions);
        let sql = match seed >= FIRST_WIDE && rng.below(3) == 0 {
            true => more(&mut rng, figures),
            false => statement(&mut rng, figures, level),
        };
        let ends = sql == "COMMIT" || sql == "ROLLBACK";
        steps.push(say(who, sql));
        if ends {
            steps.push(say(who, "BEGIN".into()));
        }
    }
    steps.extend((1..=sessions).map(|n| say(n, "COMMIT".into())));
    steps.extend((1..=sessions).map(|n| say(n, "COMMIT".into())));
    steps.push(say(1, "SELECT * FROM t FORCE INDEX (PRIMARY) ORDER BY id".into()));
    if figures {
        steps.push(say(1, "SELECT * FROM copy FORCE INDEX (PRIMARY) ORDER BY id".into()));
    }
    let part = seed.to_string();
    (Script { file: "random".into(), part, levels: vec![level], alone: false, setup, steps }, level)
}

fn say(who: u64, sql: String) -> Step {
    Step::Say { who: format!("s{who}"), sql }
}

/// An index and a condition that it serves.
fn place(rng: &mut Rng) -> (&'static str, String) {
    let (index, column, unit) = match rng.below(6) {
        0..3 => ("PRIMARY", "id", 5),
        3 | 4 => ("k", "k", 50),
        _ => ("u", "u", 500),
    };
    let mut value = || (1 + rng.below(9)) * unit;
    let (one, other) = (value(), value());
    let (low, high) = (one.min(other), one.max(other));
    let condition = match rng.below(6) {
        0..3 => format!("{column} = {one}"),
        3 => format!("{column} > {low} AND {column} <= {high}"),
        4 => format!("{column} >= {one}"),
        _ => format!("{column} < {one}"),
    };
    (index, condition)
}

fn row(rng: &mut Rng) -> String {
    let [id, k, u] = [5, 50, 500].map(|unit| (1 + rng.below(9)) * unit);
    format!("({id}, {k}, {u}, {})", rng.below(10))
}

fn statement(rng: &mut Rng, figures: bool, level: Level) -> String {
    let (index, condition) = place(rng);
    let forced = format!("t FORCE INDEX ({index})");
    let value = rng.below(100);
    // Where nothing is locked the order of the rows is the only thing that the index decides.
    let table = if figures { "t" } else { &forced };
    match rng.below(if figures { 23 } else { 20 }) {
        0..2 if figures && level == Level::Serializable => {
            let columns = if value.is_multiple_of(2) { "*" } else { "id, k" };
            format!("SELECT {columns} FROM t WHERE {condition}")
        }
        0..2 => format!("SELECT * FROM {forced} WHERE {condition}"),
        2..4 => format!("SELECT id, v FROM {table} WHERE {condition} FOR SHARE"),
        4..7 => format!("SELECT id, v FROM {table} WHERE {condition} FOR UPDATE"),
        7 => format!("SELECT id FROM {table} WHERE {condition} FOR UPDATE NOWAIT"),
        8 => format!("SELECT id FROM {table} WHERE {condition} FOR UPDATE SKIP LOCKED"),
        9..12 => format!("UPDATE {table} SET v = {value} WHERE {condition}"),
        12 => format!("UPDATE {table} SET k = {} WHERE {condition}", (1 + rng.below(9)) * 50),
        13..16 => format!("INSERT INTO t VALUES {}", row(rng)),
        16 => format!("INSERT INTO t VALUES {} ON DUPLICATE KEY UPDATE v = v + 100", row(rng)),
        17 => format!("DELETE FROM t WHERE id = {}", (1 + rng.below(9)) * 5),
        18 => "COMMIT".into(),
        19 if rng.below(3) == 0 => "ROLLBACK".into(),
        19 => format!("REPLACE INTO t VALUES {}", row(rng)),
        20 => format!("INSERT INTO copy SELECT id, k FROM {table} WHERE {condition}"),
        21 => format!("REPLACE INTO copy SELECT id, k FROM {table} WHERE {condition}"),
        _ => format!(
            "INSERT INTO copy SELECT id, k FROM {table} WHERE {condition} \
             ON DUPLICATE KEY UPDATE k = copy.k + 1"
        ),
    }
}

/// What seeds from [`FIRST_WIDE`] on say besides: orders, limits, savepoints, subqueries.
fn more(rng: &mut Rng, figures: bool) -> String {
    let (index, condition) = place(rng);
    let forced = format!("t FORCE INDEX ({index})");
    let column = condition.split(' ').next().unwrap_or("id").to_string();
    let value = rng.below(100);
    let lock = ["FOR UPDATE", "FOR SHARE", "FOR UPDATE SKIP LOCKED"][rng.below(3) as usize];
    let columns = ["id", "id, v"][rng.below(2) as usize];
    match rng.below(if figures { 9 } else { 7 }) {
        0 | 1 => format!(
            "SELECT {columns} FROM {forced} WHERE {condition} ORDER BY {column} DESC {lock}"
        ),
        2 => format!(
            "SELECT {columns} FROM {forced} WHERE {condition} ORDER BY {column} LIMIT 1 {lock}"
        ),
        3 => format!("UPDATE {forced} SET v = {value} WHERE {condition} ORDER BY {column} DESC"),
        4 => format!("UPDATE {forced} SET v = v + 1 WHERE {condition} ORDER BY {column} LIMIT 1"),
        5 => "SAVEPOINT a".into(),
        6 => "ROLLBACK TO a".into(),
        7 => format!(
            "UPDATE t SET v = (SELECT COUNT(*) FROM copy WHERE k > {value}) WHERE {condition}"
        ),
        _ => format!("DELETE FROM t WHERE id = (SELECT MAX(id) FROM copy WHERE k > {value})"),
    }
}

/// The setup of a conversation in which plans are made with figures: the table may have more rows than are spoken of,
/// and another one takes copies of its rows.
fn with_figures(rng: &mut Rng, table: &str, rows: String) -> Vec<String> {
    let more = [0, 0, 8, 30][rng.below(4) as usize];
    let row = |n| format!("({}, {}, {}, 0)", 100 + n, 1000 + n / 3, 10_000 + n);
    let more: Vec<String> = (0..more).map(row).collect();
    vec![
        format!("{table} STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0"),
        [vec![rows], more].concat().join(", "),
        "CREATE TABLE copy (id INT PRIMARY KEY, k INT, UNIQUE KEY k (k))".into(),
        "ANALYZE TABLE t".into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_always_the_same_conversation() {
        let (one, two) = (random_script(7), random_script(7));
        assert_eq!(one, two);
        assert_ne!(one.0.steps, random_script(8).0.steps);
        assert!(one.0.steps.len() as u64 > STEPS);
    }
}
