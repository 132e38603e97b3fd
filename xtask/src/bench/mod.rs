//! `cargo xtask bench NAME [options]`: Limpid beside a peer, in interleaved rounds.
//!
//! 1. The machines are noisy: only ratios of the same rounds are worth reading.
//! 2. A DSN is `"socket=PATH user=NAME pid=PID name=WORD"`; the process id gives the server's CPU time and
//!    memory, the name stands in tables. Without `--peer`, Limpid alone is measured; `sysbench` takes several peers.
//!    Missing tables are prepared.
//! 3. What a user of the product can measure too is an experiment of the lab ([`lab`]), and printed here. Not so `connections` (beside a
//!    server that does nothing, which is no part of the product), `statements` (statement by statement under callgrind, which the lab
//!    does for workloads), `breadth` (answers of single statements beside a peer's, compared) and `tpch` (the same, over data of a
//!    generator that is no part of the product).

mod breadth;
mod connections;
mod connects;
mod lab;
mod larger_than_pool;
mod locks;
pub mod pfs_levels;
mod point_select;
mod queue;
mod recovery;
mod statements;
mod sysbench;
pub mod target;
mod tpch;

use crate::shell;
use std::process::Command;

const USAGE: &str = "\
usage: cargo xtask bench NAME [options]

  point-select      warm point selects, prepared and text
  connections       1 to 1,024 clients (or --clients), memory of 10,000 idle ones, connections per second with TLS and without;
                    --null: beside a server that does nothing, of whose queries 8 to 1,024 clients must get 0.80
  larger-than-pool  point selects over 5 times the pool (start the peer with a pool of 128 MB)
  recovery          redo of 256 MB and 1 GB: time to the first query, to the end, cost per byte
  sysbench          every workload: transactions, p95, server CPU, bytes and fsyncs per transaction
  queue             insert at the tail, delete at the head, under a view of 60 s (a minute each round)
  pfs-levels        what each level of the Performance Schema costs, in instructions; builds two more binaries
  locks             metadata locks and table cache: instructions, and ways of locking against each other
  statements        user instructions of statements; LIMPID_BINARY names another binary
  breadth           35 everyday statements: processor time beside the peer's, answers compared
  tpch              TPC-H at scale 0.1: 22 answers compared with the peer's, total time

options: [--peer DSN]... [--threads N] [--seconds N] [--rounds N] [--only PART_OF_A_WORKLOAD] [--null]
         [--clients N]...";

/// What the command line says.
struct Settings {
    /// DSNs; all benchmarks but one take the first only.
    peers: Vec<String>,
    threads: u32,
    seconds: u32,
    rounds: u32,
    only: Option<String>,
    /// A server that does nothing takes part.
    null: bool,
    /// Clients at a time, for `connections`; empty: the usual ones.
    clients: Vec<u32>,
}

impl Settings {
    /// The only peer of most benchmarks.
    fn peer(&self) -> Result<Option<target::Target>, String> {
        self.peers.first().map(|dsn| target::Target::peer(dsn)).transpose()
    }
}

/// The middle value of a figure; NaN without runs.
pub fn median<R>(runs: &[R], field: fn(&R) -> f64) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(field).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs the benchmark named by the first argument.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let bench: fn(&Settings) -> Result<(), String> = match arguments.first().map(String::as_str) {
        Some("point-select") => point_select::run,
        Some("connections") => connections::run,
        Some("larger-than-pool") => larger_than_pool::run,
        Some("recovery") => recovery::run,
        Some("sysbench") => sysbench::run,
        Some("queue") => queue::run,
        Some("pfs-levels") => pfs_levels::run,
        Some("locks") => locks::run,
        Some("statements") => statements::run,
        Some("breadth") => breadth::run,
        Some("tpch") => tpch::run,
        _ => return Err(USAGE.into()),
    };
    let settings = settings(&arguments[1..])?;
    // Another binary is measured as it is.
    if std::env::var_os("LIMPID_BINARY").is_none() {
        shell::run(Command::new("cargo").args(["build", "--release"]).current_dir(shell::root()))?;
    }
    bench(&settings)
}

fn settings(arguments: &[String]) -> Result<Settings, String> {
    let mut settings = Settings {
        peers: Vec::new(),
        threads: 8,
        seconds: 5,
        rounds: 4,
        only: None,
        null: false,
        clients: Vec::new(),
    };
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        if option == "--null" {
            settings.null = true;
            continue;
        }
        let value = rest.next().ok_or(USAGE)?;
        let number = || value.parse().map_err(|_| format!("{option}: {value} is no number"));
        match option.as_str() {
            "--peer" => settings.peers.push(value.clone()),
            "--only" => settings.only = Some(value.clone()),
            "--threads" => settings.threads = number()?,
            "--seconds" => settings.seconds = number()?,
            "--rounds" => settings.rounds = number()?,
            "--clients" => settings.clients.push(number()?),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(settings)
}
