//! Conversations of several sessions, `tests/isolation/*.conv`, as MySQL had them: anomalies at each level,
//! lock conflicts, deadlocks and their victims.
//!
//! `LIMPID_ONLY=part` runs the scripts with that part in their name; `LIMPID_SHOW_KNOWN=1` shows how the listed
//! ones differ. To record: `cargo xtask record --peer "socket=..." isolation [PART]`.

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use testkit::{Peer, Server, TempDir, isolation};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/isolation")
}

/// A server whose DDL waits in the queue, as MySQL's does.
fn as_mysql(temp: &TempDir) -> Server {
    Server::with().option("--limpid-ddl-wait=queue").start(temp.path())
}

#[test]
fn sessions_wait_and_read_as_they_do_in_mysql() {
    let temp = TempDir::new();
    let server = as_mysql(&temp);
    isolation::compare_folder(&server.socket().into(), &folder());
}

#[test]
#[ignore = "needs a real MySQL; writes tests/isolation/*.result"]
fn recorded_from_a_peer() {
    isolation::record_folder(&Peer::of_environment(), &folder());
}

#[test]
#[ignore = "needs a real MySQL; the runner itself put to the test"]
fn checked_against_a_peer() {
    isolation::replay_folder(&Peer::of_environment(), &folder());
}

/// Seeds of random conversations that come out otherwise, and why.
const LISTED: [(u64, &str); 6] = [
    (1048, FOUND_LATER),
    (1063, FOUND_LATER),
    (1351, FOUND_LATER),
    (1848, FOUND_LATER),
    (2447, FOUND_LATER),
    (2832, ONE_ROW),
];
const ONE_ROW: &str = "MySQL reads a whole forced index that has all that is wanted, not a range of it, where the table \
                       has one row; here tables without gathered figures are not counted";
const FOUND_LATER: &str =
    "a deadlock that MySQL's search, which follows one blocker of each waiter, does not find yet";

#[test]
#[ignore = "needs a real MySQL: cargo xtask soak"]
fn random_conversations_have_mysqls_waits_results_and_victims() {
    let temp = TempDir::new();
    let server = as_mysql(&temp);
    let text = std::env::var("LIMPID_SEEDS").unwrap_or("1..300".into());
    let number = |text: &str| text.parse::<u64>().expect("LIMPID_SEEDS is FIRST..END or SEED, ...");
    let part = |text: &str| match text.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => number(text)..number(text) + 1,
    };
    let seeds = text.split(',').flat_map(part).collect();
    let compared =
        isolation::compare_random(&server.socket().into(), &Peer::of_environment(), seeds);
    let is_listed = |seed: u64| LISTED.iter().any(|(listed, _)| *listed == seed);
    let (listed, others): (Vec<_>, Vec<_>) =
        compared.different.iter().partition(|(seed, _)| is_listed(*seed));
    let shown_too = std::env::var_os("LIMPID_SHOW_KNOWN").map_or(&[][..], |_| &listed[..]);
    for (_, what) in others.iter().take(200).chain(shown_too) {
        println!("{what}");
    }
    println!(
        "{} the same ({} with waits, {} with deadlocks), {} open, in several ways {:?}, {} listed, {} different",
        compared.same,
        compared.with_waits,
        compared.with_deadlocks,
        compared.open,
        compared.raced,
        listed.len(),
        others.len()
    );
    assert!(compared.with_waits > 0, "nobody ever waited");
    assert!(others.is_empty(), "{} differ", others.len());
}
