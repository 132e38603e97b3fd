//! The kinds of statements that the executor runs.
//!
//! 1. [`Kind::of`] is the one match over [`Statement`]: whoever depends on what a statement is matches over [`Kind`], [`Dml`]
//! or [`Ddl`] without an arm for the others, so that a new one compiles when each of them has decided.

use crate::SqlError;
use parser::ast::{Ddl, Explain, Maintain, Show, Statement};
use planner::dml::Dml;

/// A statement, by what the executor does with it.
#[derive(Clone, Copy)]
pub(crate) enum Kind<'a> {
    /// Is planned.
    Dml(Dml<'a>),
    /// Defines schemas, tables and views.
    Ddl(&'a Ddl),
    /// Is planned as a query, or lists what there is.
    Show(&'a Show),
    /// Shows a plan.
    Explain(&'a Explain),
    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE.
    Maintain(&'a Maintain),
}

impl<'a> Kind<'a> {
    /// The statement's; `None` of one that the session runs itself.
    pub fn of(statement: &'a Statement) -> Option<Kind<'a>> {
        Some(match statement {
            Statement::Query(query) => Kind::Dml(Dml::Query(query)),
            Statement::Insert(insert) => Kind::Dml(Dml::Insert(insert)),
            Statement::Update(update) => Kind::Dml(Dml::Update(update)),
            Statement::Delete(delete) => Kind::Dml(Dml::Delete(delete)),
            Statement::Load(load) => Kind::Dml(Dml::Load(load)),
            Statement::Do(list) => Kind::Dml(Dml::Do(list)),
            Statement::Ddl(ddl) => Kind::Ddl(ddl),
            Statement::Show(show) => Kind::Show(show),
            Statement::Explain(explain) => Kind::Explain(explain),
            Statement::Maintain(maintain) => Kind::Maintain(maintain),
            _ => return None,
        })
    }

    /// As [`Kind::of`], where the session has decided that the executor runs it.
    ///
    /// # Errors
    /// Internal: it is one of the session's.
    pub fn run_here(statement: &'a Statement) -> Result<Kind<'a>, SqlError> {
        let session_s = || SqlError::Storage(base::Error::Internal("a statement of the session"));
        Kind::of(statement).ok_or_else(session_s)
    }
}
