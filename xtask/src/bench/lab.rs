//! The lab, as benchmarks call it: an experiment is run, what it found is read.

use super::Settings;
use crate::shell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;

/// What the lab says of a figure that does not hold.
const FAILS: &str = "does not hold";

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

/// Runs an experiment; the folder of what it wrote.
pub(super) fn run(experiment: &str, options: &[String]) -> Result<PathBuf, String> {
    let out = shell::target().join("lab");
    let program = std::env::var_os("LIMPID_BINARY")
        .map_or_else(|| shell::target().join("release/limpid"), PathBuf::from);
    let mut command = Command::new(program);
    command.args(["lab", "run", experiment, "--out"]).arg(&out).args(options);
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
pub(super) fn lines(folder: &std::path::Path, file: &str) -> Result<Vec<Line>, String> {
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut lines = text.lines().map(fields);
    let heads = lines.next().unwrap_or_default();
    Ok(lines.map(|cells| Line(heads.iter().cloned().zip(cells).collect())).collect())
}

/// Prints what an experiment found, as far as it is wanted; what does not hold is an error.
pub(super) fn tell(
    folder: &std::path::Path,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let mut failed = Vec::new();
    for line in lines(folder, "findings.csv")?.iter().filter(|line| is_wanted(line.text("what"))) {
        let [what, aim, verdict] = ["what", "aim", "verdict"].map(|head| line.text(head));
        let figures = ["value", "low", "high"].map(|head| line.number(head));
        let aim = if aim.is_empty() { String::new() } else { format!(" (aim {aim}: {verdict})") };
        println!("{what}: {:.3}, {:.3} to {:.3}{aim}", figures[0], figures[1], figures[2]);
        if verdict == FAILS {
            failed.push(what.to_string());
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("GATE FAILED: {}", failed.join("; "))),
    }
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
}
