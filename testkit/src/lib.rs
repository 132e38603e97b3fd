//! Test support: real servers started from tests, stock clients run against them, golden scripts.
//!
//! The house lints on waits and threads do not apply: tests wait for processes.
//!
//! Reading order: [`server`] (start, stop, kill a server in a folder of its own), [`client`] (the
//! stock command-line client, one-shot and as a session), [`raw`] (bytes on a socket, for clients that
//! misbehave), [`null`] (a server that does nothing), [`peer`] (a server that runs already), [`text`] (statements and their rows, for programs), [`golden`] (recorded conversations),
//! [`isolation`] (conversations of several sessions), [`dialogue`] (accounts and what they may do), [`history`] (random transactions and what they may see), [`sqllogic`] (files of records in sqllogictest's format), [`random_sql`] (schemas and queries by seed),
//! [`sysbench`] (its workloads), [`callgrind`] (what statements cost), [`jars`] (Java programs), [`scale_out`] (several servers behind a proxy), [`tpch`] (the benchmark's data and queries).

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod browser;
pub mod callgrind;
pub mod client;
pub mod dialogue;
pub mod golden;
pub mod history;
pub mod isolation;
pub mod jars;
pub mod null;
pub mod peer;
pub mod random_sql;
pub mod raw;
pub mod scale_out;
pub mod server;
pub mod sqllogic;
pub mod sysbench;
pub mod text;
pub mod tpch;

pub use client::{Answer, Conversation, run};
pub use peer::Peer;
pub use server::{Server, ServerBuilder, TempDir};
pub use text::{Failure, TextClient};

/// Says that a test cannot run here: `cargo xtask test` counts it as skipped, not as passed. The caller returns.
/// The line goes past libtest's capture, which the output of a test that passes never leaves.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("SKIPPED {}: {reason}\n", thread.name().unwrap_or("a test"));
    let _ = std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes());
}

/// Sends a signal, `"TERM"`, to a process; whether it was there. The shell's own `kill`: a bare system has no other.
pub fn signal(pid: u32, signal: &str) -> bool {
    let kill = format!("kill -{signal} {pid}");
    let sent = std::process::Command::new("sh").args(["-c", &kill]).status();
    sent.is_ok_and(|status| status.success())
}

/// Waits: tests wait for processes, which no event of ours announces.
pub fn pause(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}
