//! `limpid doctor`: what is wrong with a running server, by which figures, and which statement changes it.
//!
//! Reading order: [`Query`] (whom the rules ask), `rules` (one entry for each thing that can be wrong), `report` (text and
//! JSON), `cli`.
//!
//! 1. Nothing is changed: every rule asks one SELECT. 2. A rule whose table or variable the server does not have, or does not
//! show to this account, is named as skipped; it finds nothing by that. 3. What comes from the server is shown as text: no
//! control character of it reaches a terminal.

mod cli;
mod report;
mod rules;
mod text;

pub use cli::{EXIT_FINDINGS, EXIT_NOT_REACHED, answer, main};
pub use rules::RULES;

use client::{Client, Failure};
use std::io::{Read, Write};

/// A row of an answer: its values as text, `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// Who answers the statements of the rules.
pub trait Query {
    /// The rows of a statement that has some.
    ///
    /// # Errors
    /// The server's; that there is no server any more.
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Failure>;
}

impl<S: Read + Write> Query for Client<S> {
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Failure> {
        self.query(sql).map(|answer| answer.rows)
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: &'static str,
    /// What is wrong, in a sentence.
    pub what: String,
    /// The figures that say so: name and value.
    pub figures: Vec<(&'static str, String)>,
    /// The statement that changes it, or that shows what to change.
    pub change: String,
}

/// A rule that could not be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The rule.
    pub rule: &'static str,
    /// Why.
    pub why: String,
}

/// What all rules said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Rules that could not be asked.
    pub skipped: Vec<Skipped>,
}

/// Asks every rule.
///
/// # Errors
/// The server went away.
pub fn examine(server: &mut impl Query) -> Result<Report, Failure> {
    let mut report = Report::default();
    for rule in RULES {
        match rule.ask(server) {
            Ok(findings) => report.findings.extend(findings),
            Err(rules::Unasked::Skipped(why)) => {
                report.skipped.push(Skipped { rule: rule.name, why });
            }
            Err(rules::Unasked::Lost(failure)) => return Err(failure),
        }
    }
    Ok(report)
}

/// What is wrong, as far as it can be asked; who wants to know what cannot calls [`examine`].
pub fn findings(server: &mut impl Query) -> Vec<Finding> {
    examine(server).map(|report| report.findings).unwrap_or_default()
}
