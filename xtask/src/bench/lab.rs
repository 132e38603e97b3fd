//! The lab, as benchmarks call it: an experiment is run, what it measured and found is read and printed.

use super::{Settings, median};
use crate::shell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the lab says of a figure that does not hold.
const FAILS: &str = "does not hold";
/// What it calls this server.
const OWN: &str = "limpid";

/// A line of a table that the lab wrote, by the heads of its columns.
pub(super) struct Line(HashMap<String, String>);

impl Line {
    /// A cell; empty where there is none.
    pub(super) fn text(&self, head: &str) -> &str {
        self.0.get(head).map_or("", String::as_str)
    }

    /// A cell as a number; NaN where it is none.
    pub(super) fn number(&self, head: &str) -> f64 {
        self.text(head).parse().unwrap_or(f64::NAN)
    }
}

/// Runs an experiment; the folder of what it wrote. Its servers have their data beside the builds, not where memory may stand for a disk.
pub(super) fn run(experiment: &str, options: &[String]) -> Result<PathBuf, String> {
    let out = shell::target().join("lab");
    let program = std::env::var_os("LIMPID_BINARY")
        .map_or_else(|| shell::target().join("release/limpid"), PathBuf::from);
    let mut command = Command::new(program);
    command.args(["lab", "run", experiment, "--out"]).arg(&out).args(options);
    command.arg("--scratch").arg(shell::target());
    shell::run(&mut command)?;
    Ok(out.join(experiment))
}

/// The lab's options for what the command line says.
pub(super) fn options(settings: &Settings) -> Vec<String> {
    vec![
        format!("--seconds={}", settings.seconds),
        format!("--rounds={}", settings.rounds),
        "--warm-up=1".to_string(),
    ]
}

/// The lines of a table in a folder.
pub(super) fn lines(folder: &Path, file: &str) -> Result<Vec<Line>, String> {
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut lines = text.lines().map(fields);
    let heads = lines.next().unwrap_or_default();
    Ok(lines.map(|cells| Line(heads.iter().cloned().zip(cells).collect())).collect())
}

/// The servers that cells are of, in their order: ours is the first.
pub(super) fn servers(cells: &[Line]) -> Vec<&str> {
    let mut servers = Vec::new();
    for server in cells.iter().map(|cell| cell.text("subject")) {
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    servers
}

/// The median of a figure.
pub(super) fn middle(cells: &[&Line], figure: impl Fn(&Line) -> f64) -> f64 {
    let figures: Vec<f64> = cells.iter().map(|cell| figure(cell)).collect();
    median(&figures, |figure| *figure)
}

/// Prints each round of each server, and the ratios of the medians where there is a peer.
pub(super) fn compare(title: &str, cells: &[&Line], settings: &Settings) {
    println!("\n{title}, {} threads, {} s a run", settings.threads, settings.seconds);
    println!("round  server        QPS   p95 ms  server CPU us/query   RSS MB");
    for cell in cells {
        println!(
            "{:>5}  {:<8} {:>8.0} {:>8.2} {:>10.2} {:>19.0}",
            cell.text("round"),
            cell.text("subject"),
            cell.number("qps"),
            cell.number("p95_ms"),
            cell.number("server_cpu_us_per_query"),
            cell.number("resident_mib"),
        );
    }
    let (own, peer): (Vec<&Line>, Vec<&Line>) =
        cells.iter().copied().partition(|cell| cell.text("subject") == OWN);
    if !peer.is_empty() {
        let ratio = |head: &str| {
            let of = |cells: &[&Line]| middle(cells, |cell| cell.number(head));
            of(&own) / of(&peer)
        };
        println!(
            "limpid / peer, medians: QPS {:.2}, p95 {:.2}, CPU per query {:.2}",
            ratio("qps"),
            ratio("p95_ms"),
            ratio("server_cpu_us_per_query"),
        );
    }
}

/// Prints the figures of an experiment that have these words in them (no word: all); what does not hold is an error.
pub(super) fn tell(folder: &Path, words: &str) -> Result<(), String> {
    told(folder, words, |line| line.text("verdict") == FAILS)
}

/// The same; a figure that misses its aim is an error, however noisy the machine was.
pub(super) fn gates(folder: &Path, words: &str) -> Result<(), String> {
    told(folder, words, |line| misses(line.text("aim"), line.number("value")))
}

/// Prints all that an experiment found; a figure that was not measured is an error.
pub(super) fn whole(folder: &Path) -> Result<(), String> {
    told(folder, "", |line| line.number("value").is_nan())
}

/// Prints findings; those of ours that fail are an error, and so it is when there are none.
fn told(folder: &Path, words: &str, fails: impl Fn(&Line) -> bool) -> Result<(), String> {
    let findings = lines(folder, "findings.csv")?;
    let wanted: Vec<&Line> =
        findings.iter().filter(|line| line.text("what").contains(words)).collect();
    if wanted.is_empty() {
        return Err(format!("GATE FAILED: {} has no figure {words:?}", folder.display()));
    }
    let mut failed = Vec::new();
    for line in wanted {
        let [server, what, aim, verdict] =
            ["server", "what", "aim", "verdict"].map(|head| line.text(head));
        let [value, low, high] = ["value", "low", "high"].map(|head| line.number(head));
        let of = if server == OWN { String::new() } else { format!("{server}: ") };
        let aim = if aim.is_empty() { String::new() } else { format!(" (aim {aim}: {verdict})") };
        match value.is_nan() {
            true => println!("{of}{what}: {verdict}"),
            false => println!("{of}{what}: {value:.3}, {low:.3} to {high:.3}{aim}"),
        }
        if server == OWN && fails(line) {
            failed.push(what.to_string());
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("GATE FAILED: {}", failed.join("; "))),
    }
}

/// Whether a figure misses an aim, as `findings.csv` has it; one that was not measured misses it.
fn misses(aim: &str, value: f64) -> bool {
    if value.is_nan() {
        return !aim.is_empty();
    }
    let limit = |words: &str| aim.strip_prefix(words).and_then(|limit| limit.parse::<f64>().ok());
    limit("at least ").is_some_and(|limit| value < limit)
        || limit("at most ").is_some_and(|limit| value > limit)
}

/// The fields of a line, which may be in quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => {
                if let Some(field) = fields.last_mut() {
                    field.push(letter);
                }
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_in_quotes_may_have_commas() {
        assert_eq!(fields("0,\"a, b\",1.5,"), ["0", "a, b", "1.5", ""]);
    }

    #[test]
    fn a_gate_fails_within_the_noise_and_where_its_figure_is_missing() {
        let folder = testkit::TempDir::new();
        let text = "row,server,what,value,low,high,noise,aim,verdict\n\
                    0,limpid,\"one table by eight, 64 users\",0.95,0.9,1.1,0.2,at least 0.97,no claim\n";
        std::fs::write(folder.path().join("findings.csv"), text).unwrap();
        assert_eq!(tell(folder.path(), "one table"), Ok(()));
        assert!(gates(folder.path(), "one table").is_err());
        assert!(tell(folder.path(), "two tables").is_err());
    }

    #[test]
    fn aims_are_missed_on_their_side() {
        assert!(misses("at least 0.5", 0.4) && !misses("at least 0.5", 0.5));
        assert!(misses("at most 8", 8.5) && !misses("at most 8", -3.0));
        assert!(!misses("", 1.0) && !misses("", f64::NAN) && misses("at least 0.8", f64::NAN));
    }
}
