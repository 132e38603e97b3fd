//! `cargo xtask soak`: long campaigns, for a night rather than for CI.
//!
//! Every ignored test of the workspace has its place here, but for those that record ([`crate::record`]).
//! Without a peer, what is compared with a real MySQL is counted as skipped.

use crate::bench::{self, pfs_levels};
use crate::packages;
use crate::shell::{self, Tally};
use crate::test::{cargo, close};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A campaign: crate and test program, what goes to the program, what is set in its environment.
struct Campaign {
    /// `-p CRATE --test PROGRAM` and the like.
    of: &'static [&'static str],
    /// Filters and options of libtest.
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
}

/// Without another server.
const ALONE: [Campaign; 16] = [
    // The second one holds the negative controls too: with a kind of fsync left out it must fail.
    Campaign {
        of: &["-p", "engine", "--test", "campaign", "--test", "one_runner"],
        arguments: &[],
        variables: &[("LIMPID_SEEDS", "20000")],
    },
    Campaign {
        of: &["--test", "history"],
        arguments: &[],
        variables: &[("LIMPID_SEEDS", "1..21"), ("LIMPID_SECONDS", "10")],
    },
    Campaign {
        of: &["--test", "sysbench"],
        arguments: &["--ignored", "every_workload_runs_at_1_to_256_threads"],
        variables: &[],
    },
    Campaign { of: &["--test", "variables"], arguments: &["--ignored"], variables: &[] },
    // Drivers that need a Java machine or npm, or are built; Django's suite.
    Campaign { of: &["--test", "compat"], arguments: &["--ignored"], variables: &[] },
    // Several servers behind a proxy. Its Java machine wants the cores for itself.
    Campaign {
        of: &["--test", "scale_out"],
        arguments: &["--ignored", "--test-threads=1"],
        variables: &[("LIMPID_ROUNDS", "100")],
    },
    Campaign {
        of: &["--test", "fuzz_corpus"],
        arguments: &["changes_of_the_corpus"],
        variables: &[("LIMPID_SECONDS", "600")],
    },
    // In a real browser; what it costs is measured, so nothing else runs beside it.
    Campaign {
        of: &["--test", "dashboard"],
        arguments: &["--ignored", "--test-threads=1"],
        variables: &[],
    },
    // As it is built without dashboard and instruments: by itself it has neither feature.
    Campaign { of: &["-p", "daemon", "--lib"], arguments: &[], variables: &[] },
    Campaign { of: &["--test", "costs_at_scale"], arguments: &["--ignored"], variables: &[] },
    Campaign { of: &["--test", "many_locks"], arguments: &["--ignored"], variables: &[] },
    Campaign { of: &["--test", "bad_input"], arguments: &["--ignored"], variables: &[] },
    // Their sessions have deadlines, so nothing else runs beside them.
    Campaign {
        of: &["--test", "ddl_waits"],
        arguments: &["--ignored", "--test-threads=1"],
        variables: &[],
    },
    Campaign {
        of: &["--test", "many_names"],
        arguments: &["--ignored"],
        variables: &[("LIMPID_NAMES", "1000000")],
    },
    // Every experiment, and the own driver beside sysbench. They drive load, so nothing else runs beside them.
    Campaign {
        of: &["--test", "lab"],
        arguments: &["--ignored", "--test-threads=1"],
        variables: &[],
    },
    Campaign { of: &["--test", "batches"], arguments: &[], variables: &[("LIMPID_SEEDS", "200")] },
];

/// The same, built with debug assertions: these are what looks.
const ASSERTING: [Campaign; 1] = [Campaign {
    of: &["-p", "session", "--lib"],
    arguments: &["no_latch_is_held_across_io"],
    variables: &[("LIMPID_TABLES", "10000")],
}];

/// Beside a real MySQL.
const BESIDE_A_PEER: [Campaign; 8] = [
    Campaign {
        of: &["--test", "differential"],
        arguments: &["--ignored", "random_queries"],
        variables: &[("LIMPID_SEEDS", "1..2000")],
    },
    Campaign {
        of: &["--test", "differential"],
        arguments: &["--ignored", "generated_texts"],
        variables: &[],
    },
    Campaign {
        of: &["--test", "oracle_grammar"],
        arguments: &["--ignored", "as_on_mysql"],
        variables: &[("LIMPID_CHANGED", "100000")],
    },
    Campaign {
        of: &["--test", "isolation"],
        arguments: &["--ignored", "random_conversations", "checked_against_a_peer"],
        variables: &[("LIMPID_SEEDS", "1..3000")],
    },
    Campaign {
        of: &["--test", "golden"],
        arguments: &["--ignored", "checked_against_a_peer"],
        variables: &[],
    },
    Campaign {
        of: &["--test", "tpch"],
        arguments: &["--ignored", "checked_against_a_peer"],
        variables: &[],
    },
    Campaign {
        of: &["--test", "sqllogictest"],
        arguments: &["--ignored", "the_records_hold_on_a_peer"],
        variables: &[],
    },
    Campaign {
        of: &["--test", "history"],
        arguments: &["--ignored", "a_real_mysql_has_no_anomaly_either"],
        variables: &[],
    },
];

/// Features of a build that has everything but the dashboard.
const NO_DASHBOARD: [&str; 3] = ["--no-default-features", "--features", "latch-instruments"];
/// Most bytes that the dashboard may add to the binary, without debug information.
const DASHBOARD_BYTES_MAX: u64 = 4 << 20;

/// The binaries without instruments, without those of latches, and without the dashboard: each is built, and answers as recorded. The
/// lab measures what instruments cost by them; the last one says how large the dashboard is.
fn other_builds() -> Result<(Tally, bool), String> {
    shell::run(&mut cargo(&["build", "--release"]))?;
    let usual = shell::target().join("release/limpid");
    let mut binaries = Vec::new();
    for (name, called, features) in pfs_levels::BINARIES {
        let binary = match features {
            [] => usual.clone(),
            _ => pfs_levels::build(name, features)?,
        };
        binaries.push((called, binary));
    }
    let no_dashboard = pfs_levels::build("no dashboard", &NO_DASHBOARD)?;
    let (mut tally, mut good) = (Tally::default(), true);
    let others = binaries.iter().map(|(_, binary)| binary).filter(|binary| **binary != usual);
    for binary in others.chain([&no_dashboard]) {
        let mut command = cargo(&["test", "--release", "--test", "golden", "--", "--ignored"]);
        command.args(["--nocapture", "conversations_about_other_things"]);
        let (more, fine) = shell::run_counting(command.env("LIMPID_BINARY", binary))?;
        tally.add(more);
        good &= fine;
    }
    if let Some((_, bare)) = binaries.iter().find(|(called, _)| *called == "bare") {
        let mut gate = cargo(&["test", "--release", "--test", "gates", "--", "--ignored"]);
        gate.args(["--nocapture", "--test-threads=1"]).env("LIMPID_BARE", bare);
        let (more, fine) = shell::run_counting(&mut gate)?;
        tally.add(more);
        good &= fine;
    }
    for went in [dashboard_is_small(&usual, &no_dashboard), pfs_levels::by_the_clock(&binaries)] {
        if let Err(what) = went {
            eprintln!("{what}");
            good = false;
        }
    }
    Ok((tally, good))
}

/// Compares a build with the dashboard to one without.
fn dashboard_is_small(with: &Path, without: &Path) -> Result<(), String> {
    let added = bytes_without_debug(with)?.saturating_sub(bytes_without_debug(without)?);
    println!("the dashboard adds {added} bytes to the binary");
    match added <= DASHBOARD_BYTES_MAX {
        true => Ok(()),
        false => Err(format!("that is more than {DASHBOARD_BYTES_MAX}")),
    }
}

/// How large a binary is without debug information and symbols.
fn bytes_without_debug(binary: &Path) -> Result<u64, String> {
    let stripped = binary.with_extension("stripped");
    shell::run(Command::new("strip").arg("-o").arg(&stripped).arg(binary))?;
    let file = std::fs::metadata(&stripped);
    file.map(|file| file.len()).map_err(|e| format!("{}: {e}", stripped.display()))
}

/// The gates of the benchmark that puts ways of locking beside each other.
fn locks(_: &[String]) -> Result<(), String> {
    bench::run(&["locks", "--rounds", "6"].map(String::from))
}

/// All of them; `--peer DSN` names the real MySQL.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let peer = match arguments {
        [] => None,
        [option, dsn] if option == "--peer" => Some(dsn),
        _ => {
            return Err(
                "usage: cargo xtask soak [--peer \"socket=... user=... password=...\"]".into()
            );
        }
    };
    packages::install_for_soak()?;
    packages::install_for_scale_out()?;
    let start = Instant::now();
    let (mut tally, mut good) = (Tally::default(), true);
    let beside = BESIDE_A_PEER.iter().filter(|_| peer.is_some());
    let optimised = ALONE.iter().chain(beside).map(|campaign| (campaign, true));
    let asserting = ASSERTING.iter().map(|campaign| (campaign, false));
    for (campaign, is_optimised) in optimised.chain(asserting) {
        let mut command = cargo(&["test"]);
        if is_optimised {
            command.arg("--release");
        }
        if campaign.of[0] == "-p" {
            command.args(["--features", "stdx/count-shared"]);
        }
        command.args(campaign.of).args(["--", "--nocapture"]).args(campaign.arguments);
        command.envs(campaign.variables.iter().copied());
        command.envs(peer.map(|dsn| ("LIMPID_PEER", dsn)));
        let (more, fine) = shell::run_counting(&mut command)?;
        tally.add(more);
        good &= fine;
    }
    for part in [crate::fuzz::run, other_builds] {
        let (more, fine) = part()?;
        tally.add(more);
        good &= fine;
    }
    if peer.is_none() {
        println!("no --peer: nothing is compared with a real MySQL");
        tally.skipped += BESIDE_A_PEER.len() as u64;
    }
    for chore in [locks, crate::repeat::run, crate::mutants::run] {
        if let Err(what) = chore(&[]) {
            eprintln!("{what}");
            good = false;
        }
    }
    close(tally, good, start)
}
