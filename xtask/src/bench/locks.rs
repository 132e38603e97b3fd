//! Metadata locks and the table cache: what weak and strong locks cost; ways of locking against each other, by the lab.
//!
//! The aims are those of `docs/figures.md`. A ratio is that of medians of the same rounds.

use super::target::{Own, Target};
use super::{Settings, lab};
use crate::shell;
use crate::test::cargo;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use testkit::TextClient;

/// Rows of sysbench's table.
const ROWS: u32 = 10_000;
/// Experiments of the lab; what `--only` calls their figures, and words of those.
const APART: [(&str, &[(&str, &str)]); 2] = [
    ("hot-table", &[("hot table", "one table")]),
    (
        "paths-apart",
        &[
            ("cache of 10 handles", "10 handles"),
            ("fast path", "fast path"),
            ("instance", "instance"),
        ],
    ),
];
/// How often a strong lock is taken for one figure.
const STRONG_LOCKS: u32 = 200;
/// Rounds of the example that counts weak locks: what two numbers of them differ by is that of rounds alone.
const WEAK_ROUNDS: (u64, u64) = (1_000, 3_000);
/// The gate for a weak lock and its way back, in instructions: 60, and four of the loop that measures.
const WEAK_INSTRUCTIONS_MAX: f64 = 64.0;
/// Numbers of tables in a transaction that are compared. The gate is for those whose grants need no index, up to 16 of them.
const WEAK_TABLES: [(u64, u64); 3] = [(1, 2), (8, 16), (16, 100)];
const WITHOUT_INDEX_MAX: u64 = 16;

/// Runs it.
pub(super) fn run(settings: &Settings) -> Result<(), String> {
    let is_wanted =
        |name: &str| settings.only.as_ref().is_none_or(|part| name.contains(part.as_str()));
    if is_wanted("weak lock") {
        weak_lock()?;
    }
    if is_wanted("strong lock") {
        let own = Own::start(&[])?;
        own.target().prepare(1, ROWS)?;
        strong_lock(&own.target())?;
    }
    for (experiment, parts) in APART {
        let parts = parts.iter().filter(|(name, _)| is_wanted(name));
        let parts: Vec<&str> = parts.map(|(_, part)| *part).collect();
        if !parts.is_empty() {
            let folder = lab::run(experiment, &lab::options(settings))?;
            lab::tell(&folder, |what| parts.iter().any(|part| what.contains(part)))?;
        }
    }
    Ok(())
}

/// User instructions of a weak lock and its way back, beyond the first of a transaction; too many are an error.
fn weak_lock() -> Result<(), String> {
    let target = shell::target().join("builds/examples");
    let build = ["build", "--release", "-p", "catalog", "--example", "weak_cost", "--target-dir"];
    shell::run(cargo(&build).arg(&target))?;
    let example = target.join("release/examples/weak_cost");
    let round = |tables: u64| -> Result<f64, String> {
        let of = |rounds: u64| instructions(&example, &[tables, rounds]);
        Ok((of(WEAK_ROUNDS.1)? - of(WEAK_ROUNDS.0)?) / (WEAK_ROUNDS.1 - WEAK_ROUNDS.0) as f64)
    };
    let mut failed = Vec::new();
    for (few, many) in WEAK_TABLES {
        let each = (round(many)? - round(few)?) / (many - few) as f64;
        println!("weak lock and its way back, tables {few} to {many}: {each:.0} instructions");
        if many <= WITHOUT_INDEX_MAX && each > WEAK_INSTRUCTIONS_MAX {
            failed.push(format!("tables {few} to {many}: {each:.0} instructions"));
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "GATE FAILED: weak lock, at most {WEAK_INSTRUCTIONS_MAX}: {}",
            failed.join("; ")
        )),
    }
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
