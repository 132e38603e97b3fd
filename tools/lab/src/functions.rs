//! Where a server's processor time goes, by function: sampled by perf while it is measured.

use crate::interrupt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const PROGRAM: &str = "perf";
/// Samples a second: no multiple of what timers do.
const HERTZ: &str = "997";
/// Functions that are shown.
const SHOWN_MAX: usize = 25;

/// A function, and its share of the samples in percent.
pub type Share = (String, f64);

/// Whether a process can be sampled.
///
/// # Errors
/// Why not: the program is missing, or this machine does not let it.
pub fn look(pid: Option<u32>) -> Result<u32, String> {
    let pid = pid.ok_or("its process is not known")?;
    let tried = Command::new(PROGRAM)
        .args(["record", "-q", "-o", "/dev/null", "--", "true"])
        .stdin(Stdio::null())
        .output();
    match tried {
        Ok(output) if output.status.success() => Ok(pid),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let why = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            Err(format!("{PROGRAM} does not work here: {why}"))
        }
        Err(_) => Err(format!("{PROGRAM} is not on this machine (apt-get install linux-perf)")),
    }
}

/// Samples all threads of a process for a time; the functions that took most.
///
/// # Errors
/// What was printed instead.
pub fn sample(pid: u32, length: Duration, folder: &Path) -> Result<Vec<Share>, String> {
    let data = folder.join("perf.data");
    let data = data.display().to_string();
    let seconds = format!("{:.2}", length.as_secs_f64());
    let record = ["record", "-q", "-F", HERTZ, "-o", &data, "-p", &pid.to_string(), "--", "sleep"];
    printed(Command::new(PROGRAM).args(record).arg(seconds))?;
    if interrupt::is_asked() {
        return Err(interrupt::WORD.into());
    }
    let report = ["report", "-q", "--stdio", "--no-children", "-s", "symbol", "-i", &data];
    let text = printed(Command::new(PROGRAM).args(report));
    let _gone = std::fs::remove_file(&data);
    let shares = shares_of(&text?);
    match shares.is_empty() {
        true => Err(format!("{PROGRAM} saw nothing")),
        false => Ok(shares),
    }
}

fn printed(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{PROGRAM}: {e}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{PROGRAM}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Lines as `12.34%  [.] name  -  -`; `[k]` is the kernel's, and what follows a name are columns that nothing fills.
fn shares_of(text: &str) -> Vec<Share> {
    let line = |line: &str| {
        let (share, rest) = line.trim().split_once('%')?;
        let (place, name) = rest.trim().split_once(' ')?;
        let kernel = if place == "[k]" { " (kernel)" } else { "" };
        let name = name.trim().trim_end_matches(['-', ' ']);
        Some((format!("{name}{kernel}"), share.parse().ok()?))
    };
    text.lines().filter_map(line).take(SHOWN_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_report_are_read() {
        let text =
            "\n    21.50%  [k] copy_user   -      -   \n     3.25%  [.] <a as b>::run\n# foot\n";
        let shares = shares_of(text);
        assert_eq!(shares, [("copy_user (kernel)".into(), 21.5), ("<a as b>::run".into(), 3.25)]);
        assert!(look(None).is_err());
    }
}
