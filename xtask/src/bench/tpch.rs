//! TPC-H: the 22 queries, answers compared with the peer's, total time as a ratio to the peer's.
//!
//! Gate: all answers equal, and at most 1.5 times the peer's total time.

use super::Settings;
use super::target::{Own, Target};
use std::fmt::Write as _;
use std::time::{Duration, Instant};
use testkit::tpch::{self, NAMES, QUERIES, TABLES};

const SCALE: f64 = 0.1;
const RATIO_MAX: f64 = 1.5;
const DATABASE: &str = "tpch";

/// What a query answered, or the error.
type Answer = Result<String, String>;

/// Runs it.
pub fn run(settings: &Settings) -> Result<(), String> {
    let own = Own::start(&["--innodb-buffer-pool-size=512M"])?;
    let mut targets = vec![own.target()];
    targets.extend(settings.peer()?);
    for target in &targets {
        let begin = Instant::now();
        load(target)?;
        println!("{}: tables ready after {:.1} s", target.name, begin.elapsed().as_secs_f64());
    }
    let (mut wrong, mut totals) = (0, vec![Duration::ZERO; targets.len()]);
    for number in 1..=QUERIES {
        let query = tpch::query(number, SCALE);
        let mut line = format!("query {number:2}");
        let best = best_in_turns(&targets, &query, settings.rounds);
        for ((target, total), (_, time)) in targets.iter().zip(&mut totals).zip(&best) {
            *total += *time;
            let _ = write!(line, "  {} {:7.3} s", target.name, time.as_secs_f64());
        }
        let (answers, times): (Vec<_>, Vec<_>) =
            best.into_iter().map(|(answer, time)| (answer, time.as_secs_f64())).unzip();
        if let [own, peer] = times[..] {
            let _ = write!(line, "  {:5.2}", own / peer);
        }
        if let Some(error) = answers.iter().find_map(|a| a.as_ref().err()) {
            let _ = write!(line, "  {}", error.trim_end());
        }
        let agree = answers.windows(2).all(|pair| pair[0] == pair[1]);
        if !agree || answers.iter().any(Result::is_err) {
            wrong += 1;
            line.push_str("  WRONG");
        }
        println!("{line}");
    }
    report(&totals, wrong)
}

fn report(totals: &[Duration], wrong: u32) -> Result<(), String> {
    if wrong > 0 {
        return Err(format!("GATE FAILED: {wrong} of 22 queries without the right answer"));
    }
    let [own, peer] = totals else { return Ok(()) };
    let ratio = own.as_secs_f64() / peer.as_secs_f64();
    let (own, peer) = (own.as_secs_f64(), peer.as_secs_f64());
    println!("total: {own:.3} s, peer {peer:.3} s: {ratio:.2} of its time (gate {RATIO_MAX})");
    if ratio > RATIO_MAX { Err(format!("GATE FAILED: total time {ratio:.2}")) } else { Ok(()) }
}

/// Of each target the answer, and the shortest of some runs: they take turns, each other round the other way round.
fn best_in_turns(targets: &[Target], query: &str, rounds: u32) -> Vec<(Answer, Duration)> {
    let run = |target: &Target| {
        let begin = Instant::now();
        (target.sql(&format!("USE {DATABASE}; {query}")), begin.elapsed())
    };
    let mut best: Vec<_> = targets.iter().map(run).collect();
    for round in 1..rounds.max(1) {
        let mut order: Vec<usize> = (0..targets.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for n in order {
            let (_, time) = run(&targets[n]);
            best[n].1 = best[n].1.min(time);
        }
    }
    best
}

fn load(target: &Target) -> Result<(), String> {
    let there = format!("SELECT l_linenumber FROM {DATABASE}.lineitem LIMIT 1");
    if target.sql(&there).is_ok_and(|rows| !rows.is_empty()) {
        return Ok(());
    }
    target.sql(&format!("DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE}"))?;
    for table in TABLES {
        target.sql(&format!("USE {DATABASE}; {table}"))?;
    }
    tpch::fill(SCALE, |insert| target.script(&format!("USE {DATABASE}; {insert}")))?;
    let names = NAMES.join(", ");
    target.sql(&format!("USE {DATABASE}; ANALYZE TABLE {names}")).map(drop)
}
