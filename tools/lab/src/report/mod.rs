//! The report: samples and cells as CSV, charts as SVG, one page in Markdown and one in HTML.
//!
//! Reading order: [`csv`], [`charts`], [`content`] (what both pages say), [`markdown`], [`html`].
//!
//! 1. CSV is written cell by cell; the pages after each experiment, and when a run ends early: what is on disk is a valid report at
//! any time. 2. `report.html` needs no other file; names and texts of servers are text in it, never markup. 3. A file takes the place of
//! the former one when it is whole: a full disk leaves that one as it was.

pub mod charts;
pub mod content;
pub mod csv;
pub mod html;
pub mod markdown;

use crate::machine::Machine;
use crate::outcome::Outcome;
use crate::plan::Plan;
use std::path::Path;

/// Everything that a report is made of.
#[derive(Debug)]
pub struct Report<'a> {
    /// What was to be done.
    pub plan: &'a Plan,
    /// Where.
    pub machine: &'a Machine,
    /// What came of it.
    pub outcomes: &'a [Outcome],
    /// When it began, as text.
    pub date: String,
    /// What is measured, by name: its version, and its commit where its builder named one.
    pub builds: &'a [(String, String)],
}

/// Ends the name of a file that is not whole yet.
const UNFINISHED: &str = ".part";

/// Writes a file of the report: beside the former one, which it replaces when it is whole.
///
/// # Errors
/// The system's, with the file's name.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    let mut unfinished = path.as_os_str().to_os_string();
    unfinished.push(UNFINISHED);
    let written = std::fs::write(&unfinished, text);
    written.and_then(|()| std::fs::rename(&unfinished, path)).map_err(|e| {
        let _gone = std::fs::remove_file(&unfinished);
        format!("{}: {e}", path.display())
    })
}

/// Writes the charts of the last outcome, and both pages.
///
/// # Errors
/// The first file that could not be written.
pub fn write_all(report: &Report<'_>) -> Result<(), String> {
    let out = &report.plan.out;
    let parts = content::parts(report);
    if let Some(outcome) = report.outcomes.last() {
        let findings = out.join(outcome.experiment.name).join("findings.csv");
        write(&findings, &csv::findings(&outcome.findings))?;
        for chart in charts::of(outcome) {
            write(&out.join(outcome.experiment.name).join(&chart.file), &chart.svg)?;
        }
    }
    write(&out.join("report.md"), &markdown::page(&parts))?;
    write(&out.join("report.html"), &html::page(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_leaves_the_former_file() {
        let folder = std::env::temp_dir().join(format!("limpid-report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, unfinished) = (folder.join("report.md"), folder.join("report.md.part"));
        write(&path, "former").unwrap();
        // What is written to this device finds no room.
        std::os::unix::fs::symlink("/dev/full", &unfinished).unwrap();
        let why = write(&path, "new").unwrap_err();
        assert!(why.contains("report.md: No space left"), "{why}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "former");
        write(&path, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing unfinished is left");
        let _gone = std::fs::remove_dir_all(&folder);
    }
}
