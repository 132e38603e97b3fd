//! How fast connections come and go: in clear, by TLS, and by TLS that goes on with the keys of a connection before.
//!
//! 1. One client makes them one after another over the Unix socket (`examples/connects.rs`). 2. Servers take turns, way by way.

use super::target::Target;
use super::{Settings, median};
use crate::shell;
use crate::test::cargo;
use std::process::Command;

/// Seconds that connections are made for.
const SECONDS: &str = "3";
/// What the client calls its ways, and what the table does.
const WAYS: [(&str, &str); 3] =
    [("clear", "in clear"), ("tls", "TLS"), ("resumed", "TLS, resumed")];

/// What a run of one way came to.
struct Run {
    per_s: f64,
    cpu_us: f64,
}

/// Makes connections for a while.
fn measure(target: &Target, way: &str) -> Result<Run, String> {
    let before = target.cpu_s();
    let output = Command::new(shell::target().join("release/examples/connects"))
        .args([&*target.socket, &*target.user, way, SECONDS])
        .output()
        .map_err(|e| format!("connects: {e}"))?;
    let cpu = before.zip(target.cpu_s()).map_or(f64::NAN, |(b, a)| a - b);
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
    match figures[..] {
        [made, seconds] => Ok(Run { per_s: made / seconds, cpu_us: cpu * 1e6 / made }),
        _ => Err(format!("{}, {way}: {}", target.name, String::from_utf8_lossy(&output.stderr))),
    }
}

/// Runs all ways on all servers; the one that does nothing has no TLS.
pub fn run(targets: &[Target], settings: &Settings) -> Result<(), String> {
    let build = ["build", "--release", "--example", "connects"];
    shell::run(cargo(&build).current_dir(shell::root()))?;
    println!("\nconnections of one client, medians of {} rounds of {SECONDS} s", settings.rounds);
    println!("way           server     per second  server CPU us each  share of the first");
    for (way, shown) in WAYS {
        let able = targets.iter().filter(|t| way == "clear" || t.name != "null");
        let mut runs: Vec<(&Target, Vec<Run>)> = able.map(|target| (target, Vec::new())).collect();
        for _ in 0..settings.rounds {
            for (target, runs) in &mut runs {
                runs.push(measure(target, way)?);
            }
        }
        let per_s = |runs: &[Run]| median(runs, |run| run.per_s);
        let first = per_s(&runs[0].1);
        for (target, runs) in &runs {
            println!(
                "{shown:<13} {:<8} {:>12.0} {:>19.1} {:>19.2}",
                target.name,
                per_s(runs),
                median(runs, |run| run.cpu_us),
                per_s(runs) / first,
            );
        }
    }
    Ok(())
}
