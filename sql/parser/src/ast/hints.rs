//! Optimizer hints: what stands between `/*+` and `*/`.

use super::{Explain, InsertSource, QueryBody, Statement};

/// The hints behind a statement's verb.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hints {
    /// Those in front of the first that is not grammatical.
    pub list: Vec<Hint>,
    /// Text of warning 1064, where one is not.
    pub error: Option<String>,
}

/// One hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Its name, upper case.
    pub name: &'static str,
    /// `@block` behind the parenthesis: the query block that it is about.
    pub block: Option<String>,
    /// What else stands between the parentheses.
    pub inside: HintInside,
}

/// What stands between a hint's parentheses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HintInside {
    /// Tables, possibly none.
    Tables(Vec<HintTable>),
    /// A table and its indexes; none are all.
    Indexes(HintTable, Vec<String>),
    /// Strategies of SEMIJOIN and SUBQUERY, upper case.
    Strategies(Vec<String>),
    /// MAX_EXECUTION_TIME: milliseconds.
    Number(u32),
    /// QB_NAME and RESOURCE_GROUP.
    Name(String),
    /// SET_VAR: a variable, and its value as SET takes it.
    Variable(String, String),
}

/// A table of a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintTable {
    /// Name or alias.
    pub name: String,
    /// `table@block`: the query block in which it stands.
    pub block: Option<String>,
}

impl Statement {
    /// The hints behind its verb, and those of the SELECTs that it is made of; not those of subqueries.
    pub fn hints(&self) -> Vec<&Hints> {
        let mut found = Vec::new();
        match self {
            Statement::Query(query) => of_body(&query.body, &mut found),
            Statement::Insert(insert) => {
                found.extend(insert.hints.as_deref());
                if let InsertSource::Query(query) = &insert.source {
                    of_body(&query.body, &mut found);
                }
            }
            Statement::Update(update) => found.extend(update.hints.as_deref()),
            Statement::Delete(delete) => found.extend(delete.hints.as_deref()),
            Statement::Explain(explain) => {
                if let Explain::Statement { statement, .. } = &**explain {
                    found = statement.hints();
                }
            }
            _ => {}
        }
        found
    }
}

fn of_body<'q>(body: &'q QueryBody, found: &mut Vec<&'q Hints>) {
    match body {
        QueryBody::Select(select) => found.extend(select.options.hints.as_deref()),
        QueryBody::Nested(query) => of_body(&query.body, found),
        QueryBody::SetOperation { left, right, .. } => {
            of_body(left, found);
            of_body(right, found);
        }
        _ => {}
    }
}
