//! Recorded conversations with the stock client, by feature: `tests/sql/*.sql` and their `.result`.
//!
//! To record: `cargo xtask record --peer "socket=..." [NAME]` (docs/testing.md).

// Tests panic to fail, and wait for processes, which no event of ours announces.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use testkit::golden::{Mode, record_folder, run_folder, run_folder_without};
use testkit::{Peer, Server, TempDir};

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql")
}

/// Else figures gathered in the midst of a script would change its plans.
fn start(folder: &TempDir) -> Server {
    Server::with().option("--innodb-stats-auto-recalc=OFF").start(folder.path())
}

#[test]
fn recorded_conversations_come_out_the_same() {
    let folder = TempDir::new();
    run_folder(&start(&folder), &scripts());
}

/// For a binary that is built without instruments, or without those of latches.
#[test]
#[ignore = "cargo xtask soak"]
fn conversations_about_other_things_than_instruments_come_out_the_same() {
    let folder = TempDir::new();
    run_folder_without(&start(&folder), &scripts(), "performance_schema");
}

fn record(mode: Mode) {
    let folder = TempDir::new();
    let peer = std::env::var_os("LIMPID_PEER").map(|_| Peer::of_environment());
    let only = std::env::var("LIMPID_ONLY").unwrap_or_default();
    record_folder(&start(&folder), peer.as_ref(), &scripts(), &only, mode);
}

#[test]
#[ignore = "writes tests/sql/*.result: cargo xtask record"]
fn recorded_from_a_peer() {
    record(Mode::Write);
}

#[test]
#[ignore = "needs a real MySQL: cargo xtask record --check"]
fn checked_against_a_peer() {
    record(Mode::Check);
}
