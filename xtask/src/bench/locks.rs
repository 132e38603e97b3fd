//! Metadata locks and the table cache: what a weak lock costs, and ways of locking against each other, in interleaved rounds.
//!
//! The aims are those of `docs/figures.md`. A ratio is that of medians of the same rounds.

use super::Settings;
use super::point_select::load;
use super::rounds::{measure, median};
use super::target::{Own, Target};
use crate::shell;
use crate::test::cargo;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use testkit::TextClient;

/// sysbench's tables, and their rows.
const TABLES: u32 = 8;
const ROWS: u32 = 10_000;
/// How often a strong lock is taken for one figure.
const STRONG_LOCKS: u32 = 200;
/// Rounds of the example that counts weak locks: what two numbers of them differ by is that of rounds alone.
const WEAK_ROUNDS: (u64, u64) = (1_000, 3_000);

/// Two ways of doing the same.
struct Pair {
    title: &'static str,
    threads: u32,
    /// Tables that are read.
    tables: u32,
    /// Start options; empty: the server goes on.
    options: [&'static [&'static str]; 2],
    /// SQL before each run.
    before: [&'static str; 2],
    aim: &'static str,
}

const PAIRS: [Pair; 4] = [
    Pair {
        title: "cache of 10 handles / of 4,000",
        threads: 300,
        tables: TABLES,
        options: [&[], &[]],
        before: ["SET GLOBAL table_open_cache = 10", "SET GLOBAL table_open_cache = 4000"],
        aim: "at least 0.8",
    },
    Pair {
        title: "fast path of metadata locks on / off, with one shard",
        threads: 64,
        tables: 1,
        options: [&["--metadata-locks-hash-instances=1"], &["--metadata-locks-hash-instances=1"]],
        before: ["SET GLOBAL limpid_mdl_fast_path = ON", "SET GLOBAL limpid_mdl_fast_path = OFF"],
        aim: "above 1",
    },
    Pair {
        title: "table cache by session / in one instance under its mutex",
        threads: 64,
        tables: TABLES,
        options: [&["--table-open-cache-instances=1"], &["--table-open-cache-instances=1"]],
        before: [
            "SET GLOBAL limpid_table_cache_local = ON",
            "SET GLOBAL limpid_table_cache_local = OFF",
        ],
        aim: "above 1",
    },
    Pair {
        title: "16 instances of the table cache / 1, under their mutexes",
        threads: 64,
        tables: TABLES,
        options: [&["--table-open-cache-instances=16"], &["--table-open-cache-instances=1"]],
        before: ["SET GLOBAL limpid_table_cache_local = OFF"; 2],
        aim: "",
    },
];

/// Runs it.
pub(super) fn run(settings: &Settings) -> Result<(), String> {
    let is_wanted =
        |name: &str| settings.only.as_ref().is_none_or(|part| name.contains(part.as_str()));
    if is_wanted("weak lock") {
        weak_lock()?;
    }
    let mut own = Own::start(&[])?;
    own.target().prepare(TABLES, ROWS)?;
    if is_wanted("strong lock") {
        strong_lock(&own.target())?;
    }
    if is_wanted("hot table") {
        hot_table(&own.target(), settings)?;
    }
    for pair in PAIRS.iter().filter(|pair| is_wanted(pair.title)) {
        compare(&mut own, pair, settings)?;
    }
    Ok(())
}

/// User instructions of a weak lock and its way back, beyond the first of a transaction.
fn weak_lock() -> Result<(), String> {
    let target = shell::target().join("builds/examples");
    let build = ["build", "--release", "-p", "catalog", "--example", "weak_cost", "--target-dir"];
    shell::run(cargo(&build).arg(&target))?;
    let example = target.join("release/examples/weak_cost");
    let round = |tables: u64| -> Result<f64, String> {
        let of = |rounds: u64| instructions(&example, &[tables, rounds]);
        Ok((of(WEAK_ROUNDS.1)? - of(WEAK_ROUNDS.0)?) / (WEAK_ROUNDS.1 - WEAK_ROUNDS.0) as f64)
    };
    for (few, many) in [(1, 2), (8, 16), (16, 100)] {
        let each = (round(many)? - round(few)?) / (many - few) as f64;
        println!(
            "weak lock and its way back, tables {few} to {many}: {each:.0} instructions (aim 60)"
        );
    }
    Ok(())
}

fn instructions(program: &Path, arguments: &[u64]) -> Result<f64, String> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments.iter().map(u64::to_string))
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected :"));
    let number = collected.and_then(|(_, number)| number.trim().parse().ok());
    number.ok_or_else(|| format!("callgrind said nothing: {text}"))
}

/// LOCK TABLES WRITE beside few and many sessions that each have read the table.
fn strong_lock(target: &Target) -> Result<(), String> {
    let said = |client: &mut TextClient, sql: &str| -> Result<(), String> {
        client.query(sql).map(drop).map_err(|e| format!("{sql}: {e:?}"))
    };
    let socket = Path::new(&target.socket);
    let mut locker = TextClient::connect(socket);
    let mut others: Vec<TextClient> = Vec::new();
    let mut times = Vec::new();
    for sessions in [10, 1_000] {
        while others.len() < sessions {
            let mut other = TextClient::connect(socket);
            said(&mut other, "SELECT c FROM sbtest.sbtest1 WHERE id = 1")?;
            others.push(other);
        }
        let begun = Instant::now();
        for _ in 0..STRONG_LOCKS {
            said(&mut locker, "LOCK TABLES sbtest.sbtest1 WRITE")?;
            said(&mut locker, "UNLOCK TABLES")?;
        }
        let each_us = begun.elapsed().as_secs_f64() * 1e6 / f64::from(STRONG_LOCKS);
        println!("strong lock and its way back, {sessions} sessions: {each_us:.0} us");
        times.push(each_us);
    }
    println!("1,000 sessions / 10: {:.1} (aim 20 at most)", times[1] / times[0]);
    Ok(())
}

/// Point selects of one table against those of eight.
fn hot_table(target: &Target, settings: &Settings) -> Result<(), String> {
    let (mut hot, mut wide) = (Vec::new(), Vec::new());
    for _ in 0..settings.rounds {
        hot.push(measure(target, &load(1, ROWS, "auto"), &with_threads(settings, 64))?);
        wide.push(measure(target, &load(TABLES, ROWS, "auto"), &with_threads(settings, 64))?);
    }
    let ratio = median(&hot, |r| r.qps) / median(&wide, |r| r.qps);
    println!("hot table: one / eight, 64 threads: QPS {ratio:.3} (aim 0.97)");
    Ok(())
}

fn compare(own: &mut Own, pair: &Pair, settings: &Settings) -> Result<(), String> {
    let settings = with_threads(settings, pair.threads);
    let mut runs = [Vec::new(), Vec::new()];
    for round in 0..settings.rounds {
        for (n, runs) in runs.iter_mut().enumerate() {
            if round == 0 && n == 0 || pair.options[0] != pair.options[1] {
                own.start_with(pair.options[n])?;
            }
            let target = own.target();
            target.sql(pair.before[n])?;
            runs.push(measure(&target, &load(pair.tables, ROWS, "auto"), &settings)?);
        }
    }
    let [a, b] = &runs;
    println!(
        "{}, {} threads: QPS {:.2}, CPU per query {:.2} {}",
        pair.title,
        pair.threads,
        median(a, |r| r.qps) / median(b, |r| r.qps),
        median(a, |r| r.cpu_us) / median(b, |r| r.cpu_us),
        if pair.aim.is_empty() { String::new() } else { format!("(aim of QPS: {})", pair.aim) },
    );
    Ok(())
}

fn with_threads(settings: &Settings, threads: u32) -> Settings {
    Settings { threads, only: None, peers: Vec::new(), ..*settings }
}
