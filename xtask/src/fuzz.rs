//! The targets of `fuzz/` under cargo-fuzz, which looks for inputs that reach new code: a part of `cargo xtask soak`.
//!
//! 1. It takes a nightly compiler and `cargo install cargo-fuzz`; where they are not, the targets have run on a stable compiler
//! only (`tests/fuzz_corpus.rs`), and count as skipped here. 2. What is found lies in `target/fuzz_corpus`; inputs that are worth
//! keeping are copied to `fuzz/corpus` by hand, under a name that says what they are.

use crate::shell::{self, Tally};
use std::path::Path;
use std::process::Command;

/// Seconds that all targets have together.
const SECONDS: u64 = 600;

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    // The compiler of the project is another one.
    command.current_dir(shell::root()).arg("+nightly").args(arguments);
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    command
}

fn targets(folder: &Path) -> Result<Vec<String>, String> {
    let files = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let name = |path: std::path::PathBuf| Some(path.file_stem()?.to_str()?.to_string());
    let mut names: Vec<String> = files.flatten().filter_map(|file| name(file.path())).collect();
    names.sort();
    Ok(names)
}

/// Runs every target for its part of the time.
///
/// # Errors
/// The folder cannot be read, or a program not be run.
pub fn run() -> Result<(Tally, bool), String> {
    let names = targets(&shell::root().join("fuzz/fuzz_targets"))?;
    let (mut tally, mut good) = (Tally::default(), true);
    let is_there = cargo(&["fuzz", "--version"]).output().is_ok_and(|done| done.status.success());
    if !is_there {
        println!("no cargo-fuzz, or no nightly compiler: the targets have run on stable only");
        tally.skipped += names.len() as u64;
        return Ok((tally, good));
    }
    let time = format!("-max_total_time={}", SECONDS / names.len().max(1) as u64);
    for name in names {
        let found = shell::target().join("fuzz_corpus").join(&name);
        std::fs::create_dir_all(&found).map_err(|e| format!("{}: {e}", found.display()))?;
        let mut command = cargo(&["fuzz", "run", &name]);
        command.arg(found).arg(format!("fuzz/corpus/{name}")).args([
            "--",
            &time,
            "-rss_limit_mb=2048",
        ]);
        let status = command.status().map_err(|e| format!("cargo fuzz: {e}"))?;
        match status.success() {
            true => tally.passed += 1,
            false => tally.failed += 1,
        }
        good &= status.success();
    }
    Ok((tally, good))
}
