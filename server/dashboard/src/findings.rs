//! What the doctor says, as a panel.

use crate::markup::{Table, line};
use doctor::{Finding, examine};
use session::Inside;

const TEXT_CHARS_MAX: usize = 300;

/// Examines the server.
///
/// # Errors
/// It could not be asked.
pub fn panel(inside: &mut Inside) -> Result<String, String> {
    Ok(shown(&examine(inside)?.findings))
}

fn shown(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "<h2>Findings</h2><p class=\"none\">The doctor finds nothing.</p>".into();
    }
    let mut table = Table::new(&["rule", "what is wrong", "by", "change"]);
    for finding in findings {
        let figures = finding.figures.iter().map(|(name, value)| format!("{name} = {value}"));
        table.row(&[
            finding.rule.to_string(),
            line(&finding.what, TEXT_CHARS_MAX),
            line(&figures.collect::<Vec<_>>().join(", "), TEXT_CHARS_MAX),
            line(&finding.change, TEXT_CHARS_MAX),
        ]);
    }
    format!("<h2>Findings</h2>{}", table.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_text() {
        let finding = Finding {
            rule: "no-index",
            what: "<script>".into(),
            figures: vec![("rows", "1 < 2".into())],
            change: "ALTER TABLE `<b>`".into(),
        };
        let html = shown(&[finding]);
        assert!(html.contains("&lt;script&gt;") && !html.contains("<b>"), "{html}");
        assert!(shown(&[]).contains("finds nothing"));
    }
}
