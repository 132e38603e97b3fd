//! A report as text and as JSON.

use crate::{Finding, Report};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

impl Report {
    /// As people read it.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for finding in &self.findings {
            let Finding { rule, what, figures, change } = finding;
            writeln!(out, "{rule}: {what}")?;
            let figures: Vec<String> = figures.iter().map(|(n, v)| format!("{n} = {v}")).collect();
            writeln!(out, "  by      {}", figures.join(", "))?;
            writeln!(out, "  change  {change}\n")?;
        }
        for skipped in &self.skipped {
            writeln!(out, "skipped {}: {}", skipped.rule, skipped.why)?;
        }
        writeln!(out, "{} findings, {} rules skipped", self.findings.len(), self.skipped.len())
    }

    /// As one JSON document.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let finding = |finding: &Finding| {
            let figures = finding.figures.iter();
            let figures: Map<String, Value> =
                figures.map(|(name, value)| (name.to_string(), json!(value))).collect();
            json!({
                "rule": finding.rule,
                "what": finding.what,
                "figures": figures,
                "change": finding.change,
            })
        };
        let skipped = self.skipped.iter().map(|s| json!({ "rule": s.rule, "why": s.why }));
        let document = json!({
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "skipped": skipped.collect::<Vec<_>>(),
        });
        writeln!(out, "{document:#}")
    }
}
