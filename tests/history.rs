//! Random transactions of 16 sessions at each isolation level, and whether what they saw is allowed there.
//!
//! LIMPID_SEEDS (`first..end`) chooses seeds, LIMPID_SECONDS how long each runs. Each history is also put to the
//! next stronger level, which must find something over it: so the load is known to reach the anomalies.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::time::Duration;
use testkit::history::{History, Load, Outcome, check, run_load};
use testkit::isolation::Level;
use testkit::{Peer, Server, TempDir};

const SESSIONS: usize = 16;
/// Some reads are FOR SHARE or FOR UPDATE.
const LOCKING_READS: bool = true;

fn setting(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.into())
}

fn seeds() -> std::ops::Range<u64> {
    let text = setting("LIMPID_SEEDS", "1..2");
    let (first, end) = text.split_once("..").expect("LIMPID_SEEDS is FIRST..END");
    first.parse().unwrap()..end.parse().unwrap()
}

fn history(server: &Peer, level: Level, seed: u64) -> History {
    let seconds: f64 = setting("LIMPID_SECONDS", "3").parse().unwrap();
    let time = Duration::from_secs_f64(seconds);
    let load = Load { level, seed, sessions: SESSIONS, time, locking_reads: LOCKING_READS };
    let history =
        run_load(server, &load).unwrap_or_else(|e| panic!("{} {seed}: {e}", level.name()));
    let committed = history.transactions.iter().filter(|t| t.outcome == Outcome::Committed).count();
    let all = history.transactions.len();
    println!("{}, seed {seed}: {all} transactions, {committed} committed", level.name());
    assert!(committed > 100, "hardly anything happened");
    history
}

/// Runs a level on a socket; nothing may be found at it, something must be at the stronger one.
fn prove(server: &Peer, level: Level, stronger: Option<Level>) {
    let mut reached = stronger.is_none();
    for seed in seeds() {
        let history = history(server, level, seed);
        let found = check(&history, level);
        assert!(found.is_empty(), "seed {seed}, {} findings: {}", found.len(), found[0]);
        reached |= stronger.is_some_and(|stronger| !check(&history, stronger).is_empty());
    }
    assert!(reached, "the load reaches nothing that {} would not allow", stronger.unwrap().name());
}

fn prove_limpid(level: Level, stronger: Option<Level>) {
    let folder = TempDir::new();
    let server = Server::start(folder.path());
    prove(&server.socket().into(), level, stronger);
}

#[test]
fn read_uncommitted_has_no_dirty_write() {
    prove_limpid(Level::ReadUncommitted, Some(Level::ReadCommitted));
}

#[test]
fn read_committed_reads_what_is_committed_as_of_each_statement() {
    prove_limpid(Level::ReadCommitted, Some(Level::RepeatableRead));
}

#[test]
fn repeatable_read_reads_one_snapshot() {
    prove_limpid(Level::RepeatableRead, Some(Level::Serializable));
}

#[test]
fn serializable_histories_have_an_order() {
    prove_limpid(Level::Serializable, None);
}

#[test]
#[ignore = "needs a real MySQL; the checker itself put to the test"]
fn a_real_mysql_has_no_anomaly_either() {
    let peer = Peer::of_environment();
    prove(&peer, Level::ReadUncommitted, Some(Level::ReadCommitted));
    prove(&peer, Level::ReadCommitted, Some(Level::RepeatableRead));
    prove(&peer, Level::RepeatableRead, Some(Level::Serializable));
    prove(&peer, Level::Serializable, None);
}
