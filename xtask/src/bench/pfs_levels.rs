//! What the Performance Schema costs: user instructions of warm statements, by binary and level.
//!
//! Counts by callgrind, which are the same on every machine; the bare build (no instruments at all) is the line that the others
//! are compared with.

use super::Settings;
use crate::shell;
use crate::test::cargo;
use std::path::PathBuf;
use testkit::Server;
use testkit::callgrind::CountedServer;

/// Binaries: a name, and the features that it is built with.
pub(crate) const BINARIES: [(&str, &[&str]); 3] = [
    ("none at all", &["--no-default-features"]),
    ("no latches", &["--no-default-features", "--features", "instruments"]),
    ("all", &[]),
];

/// Levels; `OFF` is `performance_schema=OFF`.
const LEVELS: [&str; 6] = ["OFF", "none", "tables", "statements", "def", "synch"];

/// Scripts of sysbench's, and how statements are sent.
const STATEMENTS: [(&str, &str, &str); 3] = [
    ("point select", "oltp_point_select", "auto"),
    ("... as text", "oltp_point_select", "disable"),
    ("update by key", "oltp_update_non_index", "auto"),
];

/// Runs it.
pub(super) fn run(_: &Settings) -> Result<(), String> {
    println!("User instructions per statement, and what is above the build without instruments");
    let titles = STATEMENTS.map(|(title, ..)| format!("{title:>22}"));
    println!("{:14}{:12}{}", "binary", "level", titles.concat());
    let mut bare = None;
    for (name, features) in BINARIES {
        let binary = build(name, features)?;
        // Without instruments there is one level.
        let levels = if bare.is_none() { &LEVELS[..1] } else { &LEVELS[..] };
        for level in levels {
            let found = measured(&binary, level);
            let base = *bare.get_or_insert(found);
            let cells = std::array::from_fn::<_, 3, _>(|n| {
                let above = format!("{:+.0}", found[n] - base[n]);
                format!("{:>15.0}{above:>7}", found[n])
            });
            println!("{name:14}{level:12}{}", cells.concat());
        }
    }
    Ok(())
}

/// Builds a binary in a folder of its own; where it is.
pub(crate) fn build(name: &str, features: &[&str]) -> Result<PathBuf, String> {
    let target = shell::target().join("builds").join(name.replace(' ', "-"));
    let mut command = cargo(&["build", "--release", "--target-dir"]);
    shell::run(command.arg(&target).args(features))?;
    Ok(target.join("release/limpid"))
}

fn measured(binary: &std::path::Path, level: &str) -> [f64; 3] {
    let with = match level {
        "OFF" => Server::with().option("--performance-schema=OFF"),
        level => Server::with().option(format!("--limpid-instrument-level={level}")),
    };
    let mut counted = CountedServer::start(&with.binary(binary));
    STATEMENTS.map(|(_, script, mode)| {
        // What disturbs adds.
        let each = (0..2).map(|_| counted.sysbench_event(script, mode).statement);
        each.fold(f64::MAX, f64::min)
    })
}
