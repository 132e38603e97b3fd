//! References of a recursive common table expression to itself: where they may stand.
//!
//! 1. A query of its own WITH that defines the same name hides it. 2. In each recursive SELECT the table stands once, in
//!    FROM itself, not on the side of an outer join that gives NULLs.

use super::error;
use expr::SqlError;
use parser::ast::{self, JoinKind, ObjectName, Query, QueryBody, TableRef, Visit};

/// Whether a query mentions its own name as a table, anywhere.
pub(super) fn reads_itself(cte: &ast::Cte) -> bool {
    let mut references = References::to(&cte.name);
    references.query(&cte.query);
    references.count > 0
}

/// Refuses what MySQL refuses of the recursive parts of a query.
///
/// # Errors
/// 3577, 3576, 1235.
pub(super) fn check(cte: &ast::Cte, parts: &[(&QueryBody, bool)]) -> Result<(), SqlError> {
    let name = &cte.name;
    let query = &*cte.query;
    let around = References::count(name, |references| {
        query.order_by.iter().for_each(|item| references.expr(&item.expr));
    });
    if around > 0 {
        return Err(more_than_once(name));
    }
    parts.iter().try_for_each(|(body, _)| check_body(name, body))
}

fn check_body(name: &str, body: &QueryBody) -> Result<(), SqlError> {
    let all = References::count(name, |references| ast::walk_body(references, body));
    if all == 0 {
        return Ok(());
    }
    match body {
        QueryBody::Select(select) => {
            let mut direct = 0;
            for table in &select.from {
                direct += in_from(name, table)?;
            }
            if direct != 1 || all != 1 {
                return Err(more_than_once(name));
            }
            if select.options.distinct { Err(unordered()) } else { Ok(()) }
        }
        QueryBody::SetOperation { left, right, .. } => {
            check_body(name, left)?;
            check_body(name, right)
        }
        QueryBody::Nested(query) => {
            let inside = References::count(name, |references| {
                ast::walk_body(references, &query.body);
            });
            if inside != all {
                return Err(more_than_once(name));
            }
            if !query.order_by.is_empty() || query.limit.is_some() {
                return Err(unordered());
            }
            check_body(name, &query.body)
        }
        QueryBody::Table(_) => Ok(()),
        QueryBody::Values(_) => Err(more_than_once(name)),
    }
}

/// How often FROM itself names the table.
fn in_from(name: &str, table: &TableRef) -> Result<usize, SqlError> {
    Ok(match table {
        TableRef::Table(factor) => usize::from(is_named(&factor.name, name)),
        TableRef::Join(join) => {
            let (left, right) = (in_from(name, &join.left)?, in_from(name, &join.right)?);
            if join.kind == JoinKind::Left && right > 0 || join.kind == JoinKind::Right && left > 0
            {
                return Err(second_in_join(name));
            }
            left + right
        }
        TableRef::List(list) => {
            let mut found = 0;
            for table in list {
                found += in_from(name, table)?;
            }
            found
        }
        TableRef::Derived { .. } | TableRef::JsonTable(_) => 0,
    })
}

/// Counts references to a common table expression.
struct References<'n> {
    name: &'n str,
    count: usize,
}

impl References<'_> {
    fn to(name: &str) -> References<'_> {
        References { name, count: 0 }
    }

    fn count(name: &str, visit: impl FnOnce(&mut References<'_>)) -> usize {
        let mut references = References::to(name);
        visit(&mut references);
        references.count
    }
}

impl Visit for References<'_> {
    fn query(&mut self, query: &Query) {
        let Some(with) = &query.with else { return ast::walk_query(self, query) };
        for cte in &with.tables {
            let hides = cte.name == self.name;
            if !hides || !with.recursive {
                self.query(&cte.query);
            }
            if hides {
                return;
            }
        }
        ast::walk_behind_with(self, query);
    }

    fn table(&mut self, name: &ObjectName) {
        self.count += usize::from(is_named(name, self.name));
    }
}

fn is_named(table: &ObjectName, name: &str) -> bool {
    table.schema.is_none() && table.name == name
}

fn more_than_once(name: &str) -> SqlError {
    let text = format!(
        "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must be \
         referenced only once, and not in any subquery"
    );
    error(3577, "HY000", text)
}

fn second_in_join(name: &str) -> SqlError {
    let text = format!(
        "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must \
         neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints"
    );
    error(3576, "HY000", text)
}

fn unordered() -> SqlError {
    SqlError::Other(
        1235,
        "42000",
        "This version of MySQL doesn't yet support 'ORDER BY / LIMIT / SELECT DISTINCT in recursive query \
         block of Common Table Expression'"
            .into(),
    )
}
