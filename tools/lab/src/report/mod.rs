//! The report: samples and cells as CSV, charts as SVG, one page in Markdown and one in HTML.
//!
//! Reading order: [`csv`], [`charts`], [`content`] (what both pages say), [`markdown`], [`html`].
//!
//! 1. CSV is written cell by cell; the pages after each experiment, and when a run ends early: what is on disk is a valid report at
//! any time. 2. `report.html` needs no other file; names and texts of servers are text in it, never markup.

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
    /// The checkout that it was run in, as git names it; empty where there is none.
    pub commit: String,
}

/// Writes a file of the report.
///
/// # Errors
/// The system's, with the file's name.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
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
