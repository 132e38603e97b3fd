//! What the Performance Schema costs: user instructions of warm statements, by binary and level; the lab counts them.
//!
//! Counts by callgrind, which are the same on every machine; the bare build (no instruments at all) is the line that the others
//! are compared with.

use super::{Settings, lab};
use crate::shell;
use crate::test::cargo;
use std::path::PathBuf;

/// Binaries: a name, what the lab calls it, and the features that it is built with.
pub(crate) const BINARIES: [(&str, &str, &[&str]); 3] = [
    ("none at all", "bare", &["--no-default-features"]),
    ("no latches", "no-latches", &["--no-default-features", "--features", "instruments"]),
    ("all", "limpid", &[]),
];

/// Workloads of the lab, and how they are called here.
const STATEMENTS: [(&str, &str); 3] = [
    ("point-select", "point select"),
    ("point-select-text", "... as text"),
    ("update-non-index", "update by key"),
];

/// Runs it.
pub(super) fn run(_: &Settings) -> Result<(), String> {
    let workloads = STATEMENTS.map(|(workload, _)| workload).join(",");
    let mut options = vec![
        "--rounds=0".to_string(),
        "--count=instructions".to_string(),
        format!("--workload={workloads}"),
    ];
    for (name, called, features) in BINARIES {
        options.push(format!("--binary={called}={}", build(name, features)?.display()));
    }
    let folder = lab::run("pfs-builds", &options)?;
    println!("User instructions per statement, and what is above the build without instruments");
    let titles = STATEMENTS.map(|(_, title)| format!("{title:>22}"));
    println!("{:14}{:24}{}", "binary", "level", titles.concat());
    let counts = lab::lines(&folder, "counts.csv")?;
    let mut settings: Vec<[&str; 2]> = Vec::new();
    for line in &counts {
        let setting = [line.text("build"), line.text("setting")];
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    let count = |setting: &[&str; 2], workload: &str| {
        let is_it = |line: &&lab::Line| {
            [line.text("build"), line.text("setting"), line.text("workload")]
                == [setting[0], setting[1], workload]
        };
        counts.iter().find(is_it).map_or(f64::NAN, |line| line.number("instructions"))
    };
    let bare = settings.iter().find(|[build, _]| *build == "bare").copied();
    for setting in &settings {
        let cells = STATEMENTS.map(|(workload, _)| {
            let found = count(setting, workload);
            let base = bare.map_or(f64::NAN, |bare| count(&bare, workload));
            format!("{found:>15.0}{:>7}", format!("{:+.0}", found - base))
        });
        println!("{:14}{:24}{}", setting[0], setting[1], cells.concat());
    }
    Ok(())
}

/// Runs the same experiment by the clock over binaries, by what the lab calls them, as quickly as it goes: each of them is measured,
/// and each figure is there. What they come to is told; a machine that is busy makes no gate of it.
pub(crate) fn by_the_clock(binaries: &[(&str, PathBuf)]) -> Result<(), String> {
    let binary = |(called, path): &(&str, PathBuf)| format!("--binary={called}={}", path.display());
    let options: Vec<String> =
        std::iter::once("--quick".to_string()).chain(binaries.iter().map(binary)).collect();
    let folder = lab::run("pfs-builds", &options)?;
    let cells = lab::lines(&folder, "cells.csv")?;
    let measured = lab::servers(&cells);
    match binaries.iter().find(|(called, _)| !measured.contains(called)) {
        Some((missing, _)) => Err(format!("pfs-builds has no cell of the build {missing}")),
        None => lab::whole(&folder),
    }
}

/// Builds a binary in a folder of its own; where it is.
pub(crate) fn build(name: &str, features: &[&str]) -> Result<PathBuf, String> {
    let target = shell::target().join("builds").join(name.replace(' ', "-"));
    let mut command = cargo(&["build", "--release", "--target-dir"]);
    shell::run(command.arg(&target).args(features))?;
    Ok(target.join("release/limpid"))
}
