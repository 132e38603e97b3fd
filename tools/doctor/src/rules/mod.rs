//! The rules: one entry of [`RULES`] each, with what it asks and the function that judges the answer.
//!
//! 1. A rule either reads figures by name (status and variables, all of which the server must have), or the rows of one
//! statement. 2. A rule says nothing of a server that is well: each has a threshold, which its figures are told with.

mod caches;
mod locks;
mod settings;
mod statements;

use crate::text::shown;
use crate::{Finding, Query, Row};
use client::Failure;
use std::collections::HashMap;

/// All rules, in the order in which they are asked.
pub const RULES: &[Rule] = &[
    caches::TABLE_CACHE,
    caches::DEFINITION_CACHE,
    caches::TABLE_CACHE_INSTANCES,
    caches::POOL_INSTANCES,
    locks::HELD_LATCH,
    locks::HOT_ROWS,
    locks::OLD_VIEW,
    locks::IDLE_BLOCKER,
    locks::WAITING_DDL,
    settings::REDO_PACING,
    statements::UNUSED_INDEX,
    statements::DUPLICATE_INDEX,
    statements::NO_INDEX,
    statements::TEMPORARY_FILES,
    settings::LOST_INSTRUMENTS,
    settings::LOST_COMMITS,
];

/// Something that can be wrong.
#[derive(Debug)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// What it looks for.
    pub about: &'static str,
    asks: Asks,
}

/// What a rule asks, and who judges.
#[derive(Debug)]
enum Asks {
    /// Global status and global variables of these names.
    Figures {
        status: &'static [&'static str],
        variables: &'static [&'static str],
        judge: JudgeFigures,
    },
    /// A statement.
    Rows { sql: &'static str, judge: JudgeRows },
}

type JudgeFigures = fn(&Figures) -> Vec<Found>;
type JudgeRows = fn(&[Values]) -> Vec<Found>;

/// A finding that does not know its rule yet.
struct Found {
    what: String,
    figures: Vec<(&'static str, String)>,
    change: String,
}

/// Why a rule says nothing.
#[derive(Debug)]
pub(crate) enum Unasked {
    Skipped(String),
    Lost(Failure),
}

impl From<Failure> for Unasked {
    fn from(failure: Failure) -> Unasked {
        match failure.is_lost() {
            true => Unasked::Lost(failure),
            false => {
                let text = shown(failure.text.as_bytes());
                Unasked::Skipped(format!("error {}: {text}", failure.number))
            }
        }
    }
}

/// The values of a row.
struct Values(Row);

impl Values {
    fn bytes(&self, column: usize) -> &[u8] {
        self.0.get(column).and_then(|value| value.as_deref()).unwrap_or_default()
    }

    /// As text that can be shown; of NULL an empty one.
    fn text(&self, column: usize) -> String {
        shown(self.bytes(column))
    }

    /// As a number; 0 where it is none.
    fn number(&self, column: usize) -> f64 {
        number(self.bytes(column))
    }
}

fn number(bytes: &[u8]) -> f64 {
    std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

/// Status and variables by their names in lower case.
struct Figures(HashMap<String, Vec<u8>>);

impl Figures {
    fn bytes(&self, name: &str) -> &[u8] {
        self.0.get(&name.to_ascii_lowercase()).map_or(&[], |value| value)
    }

    fn number(&self, name: &str) -> f64 {
        number(self.bytes(name))
    }

    /// The figure as it is told.
    fn told(&self, name: &'static str) -> (&'static str, String) {
        (name, shown(self.bytes(name)))
    }
}

impl Rule {
    /// What is wrong by this rule.
    pub(crate) fn ask(&self, server: &mut impl Query) -> Result<Vec<Finding>, Unasked> {
        let found = match &self.asks {
            Asks::Rows { sql, judge } => {
                let rows: Vec<Values> = server.rows(sql)?.into_iter().map(Values).collect();
                judge(&rows)
            }
            Asks::Figures { status, variables, judge } => {
                judge(&figures(server, status, variables)?)
            }
        };
        let finding =
            |Found { what, figures, change }| Finding { rule: self.name, what, figures, change };
        Ok(found.into_iter().map(finding).collect())
    }
}

fn figures(
    server: &mut impl Query,
    status: &[&'static str],
    variables: &[&'static str],
) -> Result<Figures, Unasked> {
    let mut found = HashMap::new();
    for (table, names) in [("global_status", status), ("global_variables", variables)] {
        if names.is_empty() {
            continue;
        }
        let sql = format!(
            "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.{table} WHERE VARIABLE_NAME IN ('{}')",
            names.join("', '")
        );
        for row in server.rows(&sql)?.into_iter().map(Values) {
            found.insert(row.text(0).to_ascii_lowercase(), row.bytes(1).to_vec());
        }
    }
    let missing =
        status.iter().chain(variables).find(|name| !found.contains_key(&name.to_ascii_lowercase()));
    match missing {
        Some(name) => Err(Unasked::Skipped(format!("the server has no {name}"))),
        None => Ok(Figures(found)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Report, examine};

    /// A server that answers everything alike.
    pub(super) struct Answers(pub Result<Vec<Row>, Failure>);

    impl Query for Answers {
        fn rows(&mut self, _: &str) -> Result<Vec<Row>, Failure> {
            self.0.clone()
        }
    }

    fn failure(number: u16, text: &str) -> Failure {
        Failure { number, state: "HY000".into(), text: text.into() }
    }

    #[test]
    fn a_rule_that_cannot_be_asked_is_named() {
        let mut refuses = Answers(Err(failure(1146, "no such table")));
        let Report { findings, skipped } = examine(&mut refuses).unwrap();
        let names: Vec<_> = skipped.iter().map(|s| s.rule).collect();
        assert_eq!(names, RULES.iter().map(|rule| rule.name).collect::<Vec<_>>());
        assert!(findings.is_empty());
        assert_eq!(skipped[0].why, "error 1146: no such table");
        // Without rows there is nothing wrong, but figures are missing.
        let report = examine(&mut Answers(Ok(Vec::new()))).unwrap();
        let of_figures =
            RULES.iter().filter(|rule| matches!(rule.asks, Asks::Figures { .. })).count();
        assert_eq!((report.findings.len(), report.skipped.len()), (0, of_figures));
        assert_eq!(report.skipped[0].why, "the server has no Table_open_cache_hits");
        let gone = failure(client::answer::LOST, "gone");
        assert_eq!(examine(&mut Answers(Err(gone.clone()))), Err(gone));
    }
}
