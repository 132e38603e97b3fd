//! Project chores: `cargo xtask tidy | refused | test | models | repeat | mutants | record | bench | soak | scale-out`.
//!
//! Reading order: `shell` (running programs), `tidy` (the shape of the tree, also a unit test), `guards`
//! (what guards the invariants of storage, a part of it), `modules` (floors inside a crate, another),
//! `refused` (docs/refused.md, made from the sources and a conversation),
//! `packages` (what the tests need from the distribution), `test` (everything CI runs),
//! `repeat` (tests that wait, many times beside busy cores),
//! `mutants` (mistakes put into the storage engine on purpose), `record` (what a real MySQL answers),
//! `soak` (long campaigns), `bench` (ratios against a peer), `scale_out` (several servers behind a proxy).

// Chores wait for processes, which no event of ours announces.
#![allow(clippy::disallowed_methods)]

mod bench;
mod fuzz;
mod guards;
mod lanes;
mod modules;
mod mutants;
mod packages;
mod record;
mod refused;
mod repeat;
mod scale_out;
mod shell;
mod soak;
mod test;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  tidy     check the shape of the tree (floors, file sizes, banned calls, names in the documents)
  refused  write docs/refused.md: every construct that answers error 1235
  test     install what the tests need, build, run every test, print one closing summary
  models   run the loom models only
  repeat   [--times 20] [--at-once 1] [--busy 2] [NAME...] run every test that waits, sleeps or races
           again and again, beside busy loops
  mutants  [NAME...] put known mistakes into storage, one by one: each must die at its assertion or checker
  record   write what a real MySQL answers: record --peer DSN [--check] [KIND [NAME]]
           KIND: sql (tests/sql, the default), isolation, tpch, grammar, differential; NAME: part of a script's name;
           DSN: 'socket=PATH user=NAME password=WORD'; --check compares instead; without --peer: scripts of tests/sql that are Limpid's own
  bench    point-select, sysbench, queue, larger-than-pool, recovery, tpch: gates and ratios beside a peer
  soak     long campaigns: the crash campaign with many seeds, the negative controls, histories of transactions,
           sysbench's workloads at 1 to 256 threads; with --peer DSN, a real MySQL: everything that is
           compared with its answers (docs/testing.md)
  scale-out  up, bench, chaos, down: several servers behind ShardingSphere's proxy (docs/scale-out.md)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some("tidy") => tidy::run(),
        Some("refused") => refused::run(),
        Some("test") => test::run(&arguments[1..]),
        Some("models") => test::models(),
        Some("mutants") => mutants::run(&arguments[1..]),
        Some("bench") => bench::run(&arguments[1..]),
        Some("record") => record::run(&arguments[1..]),
        Some("repeat") => repeat::run(&arguments[1..]),
        Some("soak") => soak::run(&arguments[1..]),
        Some("scale-out") => scale_out::run(&arguments[1..]),
        _ => Err(USAGE.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
