//! References of a recursive common table expression to itself: where they may stand.
//!
//! 1. A query of its own WITH that defines the same name hides it. 2. In each recursive SELECT the table stands once, in
//!    FROM itself, not on the side of an outer join that gives NULLs.
//! 3. No operand of EXCEPT or INTERSECT is a recursive SELECT, however deep.

use crate::error::PlanError;
use expr::SqlError;
use parser::ast::{self, JoinKind, ObjectName, Query, QueryBody, SetOperator, TableRef, Visit};

/// Whether a query mentions its own name as a table, anywhere.
pub(super) fn reads_itself(cte: &ast::Cte) -> bool {
    let mut references = References::to(&cte.name);
    references.query(&cte.query);
    references.count > 0
}

/// The operands of a chain of UNIONs, each with ALL or not of the one before it. Parentheses are dissolved where that
/// changes nothing: at the start, within UNION DISTINCT, and where UNION ALL is all there is inside.
pub(super) fn parts(body: &QueryBody) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    flatten(body, true, &mut parts);
    parts
}

/// A SELECT of a recursive query, and whether the UNION before it is one with ALL.
pub(super) type Part<'q> = (&'q QueryBody, bool);

fn flatten<'q>(body: &'q QueryBody, all: bool, parts: &mut Vec<Part<'q>>) {
    match body {
        QueryBody::SetOperation { op: SetOperator::Union, all: a, left, right } => {
            flatten(left, all, parts);
            flatten(right, *a, parts);
        }
        QueryBody::Nested(query) if is_union(body) => {
            let mut inside = Vec::new();
            flatten(&query.body, all, &mut inside);
            if parts.is_empty() || !all || inside.iter().all(|(_, all)| *all) {
                parts.extend(inside.into_iter().map(|(body, a)| (body, a && all)));
            } else {
                parts.push((body, all));
            }
        }
        _ => parts.push((body, all)),
    }
}

/// A UNION, in parentheses or not.
fn is_union(body: &QueryBody) -> bool {
    match body {
        QueryBody::SetOperation { op, .. } => *op == SetOperator::Union,
        QueryBody::Nested(query) => {
            query.limit.is_none() && query.with.is_none() && is_union(&query.body)
        }
        _ => false,
    }
}

/// The first operand that reads the table.
fn first_recursive(name: &str, parts: &[Part<'_>]) -> usize {
    let reads = |body| References::count(name, |references| ast::walk_body(references, body)) > 0;
    parts.iter().position(|(body, _)| reads(body)).unwrap_or(parts.len())
}

/// Whether rows that were there before are left out: by a UNION DISTINCT before an operand that reads the table.
///
/// # Errors
/// 1235: a UNION ALL is behind it, as MySQL has it.
pub(super) fn distinct(name: &str, parts: &[Part<'_>]) -> Result<bool, SqlError> {
    let mut unions = parts[first_recursive(name, parts)..].iter().map(|(_, all)| *all);
    let distinct = unions.any(|all| !all);
    if distinct && unions.any(|all| all) {
        return Err(not_yet(
            "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression",
        ));
    }
    Ok(distinct)
}

/// The operands before the first that reads the table, as one, and how many they are, where a UNION DISTINCT among
/// them takes away rows of theirs alone.
pub(super) fn seeds_without_duplicates(
    name: &str,
    parts: &[Part<'_>],
) -> Option<(QueryBody, usize)> {
    let read = first_recursive(name, parts);
    let ((first, _), others) = parts[..read].split_first()?;
    if others.iter().all(|(_, all)| *all) {
        return None;
    }
    let united = |left: QueryBody, (right, all): &Part<'_>| QueryBody::SetOperation {
        op: SetOperator::Union,
        all: *all,
        left: Box::new(left),
        right: Box::new((*right).clone()),
    };
    Some((others.iter().fold((*first).clone(), united), read))
}

/// Refuses what MySQL refuses of the recursive parts of a query.
///
/// # Errors
/// 3577, 3576, 4114, 1235.
pub(super) fn check(cte: &ast::Cte, parts: &[Part<'_>]) -> Result<(), SqlError> {
    let name = &cte.name;
    let query = &*cte.query;
    let around = References::count(name, |references| {
        query.order_by.iter().for_each(|item| references.expr(&item.expr));
    });
    if around > 0 {
        return Err(more_than_once(name));
    }
    parts.iter().try_for_each(|(body, _)| check_body(name, body, true))
}

/// `united`: nothing but UNION is around.
fn check_body(name: &str, body: &QueryBody, united: bool) -> Result<(), SqlError> {
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
            if select.options.straight_join {
                let first = select.from.first().and_then(leftmost);
                if !first.is_some_and(|table| is_named(table, name)) {
                    let own = select.from.iter().find_map(|table| called(name, table));
                    return Err(second_in_join(own.unwrap_or(name)));
                }
            }
            match united {
                false => Err(not_united()),
                true if select.options.distinct => Err(unordered()),
                true => Ok(()),
            }
        }
        QueryBody::SetOperation { op, left, right, .. } => {
            let united = united && *op == SetOperator::Union;
            check_body(name, left, united)?;
            check_body(name, right, united)
        }
        QueryBody::Nested(query) => {
            let inside = References::count(name, |references| {
                ast::walk_body(references, &query.body);
            });
            if inside != all {
                return Err(more_than_once(name));
            }
            if is_union(&query.body) {
                return Err(not_yet(
                    "right nested recursive query blocks, in Common Table Expression",
                ));
            }
            if united && (!query.order_by.is_empty() || query.limit.is_some()) {
                return Err(unordered());
            }
            check_body(name, &query.body, united)
        }
        QueryBody::Table(_) if united => Ok(()),
        QueryBody::Table(_) => Err(not_united()),
        QueryBody::Values(_) => Err(more_than_once(name)),
    }
}

/// How often FROM itself names the table.
fn in_from(name: &str, table: &TableRef) -> Result<usize, SqlError> {
    Ok(match table {
        TableRef::Table(factor) => usize::from(is_named(&factor.name, name)),
        TableRef::Join(join) => {
            let (left, right) = (in_from(name, &join.left)?, in_from(name, &join.right)?);
            let second = match join.kind {
                JoinKind::Left | JoinKind::Straight if right > 0 => Some(&join.right),
                JoinKind::Right if left > 0 => Some(&join.left),
                _ => None,
            };
            if let Some(second) = second {
                return Err(second_in_join(called(name, second).unwrap_or(name)));
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

/// The table that FROM names first, if it is one.
fn leftmost(table: &TableRef) -> Option<&ObjectName> {
    match table {
        TableRef::Table(factor) => Some(&factor.name),
        TableRef::Join(join) => leftmost(&join.left),
        TableRef::List(list) => list.first().and_then(leftmost),
        TableRef::Derived { .. } | TableRef::JsonTable(_) => None,
    }
}

/// What FROM calls the table.
fn called<'t>(name: &str, table: &'t TableRef) -> Option<&'t str> {
    match table {
        TableRef::Table(factor) if is_named(&factor.name, name) => {
            Some(factor.alias.as_deref().unwrap_or(&factor.name.name))
        }
        TableRef::Join(join) => called(name, &join.left).or_else(|| called(name, &join.right)),
        TableRef::List(list) => list.iter().find_map(|table| called(name, table)),
        TableRef::Table(_) | TableRef::Derived { .. } | TableRef::JsonTable(_) => None,
    }
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
    PlanError::RecursiveTwice(name).into()
}

fn second_in_join(name: &str) -> SqlError {
    PlanError::RecursiveOuterJoin(name).into()
}

fn not_united() -> SqlError {
    PlanError::RecursiveOperand.into()
}

fn unordered() -> SqlError {
    not_yet(
        "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression",
    )
}

/// What MySQL refuses as well.
fn not_yet(what: &str) -> SqlError {
    SqlError::unsupported(what)
}
