//! Running programs and finding the root of the tree.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folder of the workspace: xtask lives one level below it.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a member folder").into()
}

/// Where cargo puts what it builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// What a test prints, past libtest's capture, when it finds that it cannot run here; the reason follows.
/// (`testkit::skip` writes it.)
const SKIPPED: &str = "SKIPPED ";

/// What a test run said, summed over its harnesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that were ignored.
    pub skipped: u64,
    /// Of those that libtest counts as passed: they said that they cannot run here.
    pub unable: u64,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A test may say it of several parts.
        let passed = self.passed.saturating_sub(self.unable);
        let (failed, skipped) = (self.failed, self.skipped + self.unable);
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")?;
        match self.unable {
            0 => Ok(()),
            unable => write!(f, " ({unable} cannot run on this machine, see SKIPPED above)"),
        }
    }
}

impl Tally {
    /// Adds another run's numbers.
    pub fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.unable += other.unable;
    }

    /// Reads libtest's closing line, `test result: ok. 3 passed; 0 failed; 1 ignored; ...`, and what a test says
    /// that cannot run.
    pub fn from_line(line: &str) -> Option<Tally> {
        // Without capture it stands behind the test's name.
        if line.starts_with(SKIPPED) || line.contains(&format!(" ... {SKIPPED}")) {
            return Some(Tally { unable: 1, ..Tally::default() });
        }
        let rest = line.trim().strip_prefix("test result: ")?;
        let number = |word: &str| {
            rest.split(['.', ';'])
                .filter_map(|part| part.trim().strip_suffix(word))
                .find_map(|n| n.trim().parse().ok())
        };
        Some(Tally {
            passed: number("passed")?,
            failed: number("failed")?,
            skipped: number("ignored").unwrap_or(0),
            unable: 0,
        })
    }
}

/// Runs a program to its end; its output goes through.
pub fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let status = command.status().map_err(|e| format!("{shown}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}")) }
}

/// Runs a test command, letting its output through and adding up what its harnesses report.
pub fn run_counting(command: &mut Command) -> Result<(Tally, bool), String> {
    let shown = format!("{command:?}");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|e| format!("{shown}: {e}"))?;
    let mut tally = Tally::default();
    let output = child.stdout.take().expect("standard output is piped above");
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|e| format!("{shown}: {e}"))?;
        if let Some(one) = Tally::from_line(&line) {
            tally.add(one);
        }
        println!("{line}");
    }
    let status = child.wait().map_err(|e| format!("{shown}: {e}"))?;
    Ok((tally, status.success()))
}

/// As [`run_counting`], with all that was written as one text, for one that runs beside others.
pub fn run_collecting(command: &mut Command) -> Result<(String, Tally, bool), String> {
    let shown = format!("{command:?}");
    let (read, write) = std::io::pipe().map_err(|e| format!("{shown}: {e}"))?;
    let again = write.try_clone().map_err(|e| format!("{shown}: {e}"))?;
    let child = command.stdout(write).stderr(again).spawn();
    let mut child = child.map_err(|e| format!("{shown}: {e}"))?;
    // The command's ends of the pipe are closed with it.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (mut tally, mut output) = (Tally::default(), String::new());
    for line in BufReader::new(read).split(b'\n') {
        let line = line.map_err(|e| format!("{shown}: {e}"))?;
        let line = String::from_utf8_lossy(&line);
        if let Some(one) = Tally::from_line(&line) {
            tally.add(one);
        }
        output.push_str(&line);
        output.push('\n');
    }
    let status = child.wait().map_err(|e| format!("{shown}: {e}"))?;
    Ok((output, tally, status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_read() {
        let line =
            "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out";
        let all = Tally { passed: 12, failed: 3, skipped: 1, unable: 0 };
        assert_eq!(Tally::from_line(line), Some(all));
        assert_eq!(Tally::from_line("running 3 tests"), None);
    }

    #[test]
    fn what_was_written_is_collected_and_counted() {
        let said = "echo 'test result: ok. 2 passed; 1 failed; 0 ignored'; echo why >&2; exit 1";
        let (output, tally, good) = run_collecting(Command::new("sh").args(["-c", said])).unwrap();
        assert!(!good && output.ends_with("\nwhy\n"), "{output}");
        assert_eq!((tally.passed, tally.failed), (2, 1));
    }

    #[test]
    fn who_cannot_run_has_not_passed() {
        let mut tally = Tally { passed: 12, failed: 0, skipped: 1, unable: 0 };
        for line in
            ["SKIPPED a_test: no small disk", "test a_test ... SKIPPED a_test: no small disk"]
        {
            tally.add(Tally::from_line(line).unwrap());
        }
        let said =
            "10 passed, 0 failed, 3 skipped (2 cannot run on this machine, see SKIPPED above)";
        assert_eq!(tally.to_string(), said);
    }
}
