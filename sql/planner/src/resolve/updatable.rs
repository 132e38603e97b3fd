//! Views that are changed: which can be, and what WITH CHECK OPTION asks of a row.
//!
//! 1. A view can be changed when it is merged into the statement: then its columns are those of the tables below.
//!    2. A condition that is checked is the one that finds the view's rows, over the table that is changed; one
//!    that looks at more than that table's row answers 1235.

use crate::error::PlanError;
use crate::logical::{Block, From, Leaf, Source, View, conjunction, subquery_of};
use crate::query_plan::JoinKind;
use crate::resolve::SharedBlock;
use crate::transform::{is_flat, transform};
use catalog::TableRef;
use expr::SqlError;
use expr::tree::Expr;
use parser::ast::CheckOption;

/// The view that a leaf shows, with its query.
pub(super) fn view_of(leaf: &Leaf) -> Option<(&View, &Block)> {
    match &leaf.source {
        Source::Derived { block, lateral: false } => Some((block.view.as_deref()?, block)),
        _ => None,
    }
}

/// Whether each row of the query is one row of each of its tables.
pub fn is_updatable(block: &Block) -> bool {
    let plain = |leaf: &Leaf| match &leaf.source {
        Source::Table(_) => true,
        Source::Derived { block, lateral: false } => is_updatable(block),
        _ => false,
    };
    let columns = |e: &Expr| matches!(e, Expr::Column(_));
    is_flat(block)
        && !block.distinct
        && !block.from.iter().any(is_outer)
        && block.leaves.iter().all(plain)
        && block.outputs.iter().any(|o| columns(&o.value.expr))
        && !block.outputs.iter().any(|o| has_subquery(&o.value.expr))
}

/// Whether a view of this query can be part of the query that uses it.
pub fn is_mergeable(block: &Block) -> bool {
    !block.leaves.is_empty() && crate::transform::is_mergeable(block)
}

fn is_outer(from: &From) -> bool {
    match from {
        From::Leaf(_) => false,
        From::Join { kind, left, right, .. } => {
            *kind != JoinKind::Inner || is_outer(left) || is_outer(right)
        }
    }
}

fn has_subquery(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |e| found |= subquery_of(e).is_some());
    found
}

/// Whether rows of the leaf can be changed: a table, or an updatable view of tables and such views.
pub(super) fn is_target(leaf: &Leaf) -> bool {
    match view_of(leaf) {
        Some((_, block)) => is_updatable(block) && block.leaves.iter().all(is_target),
        None => matches!(leaf.source, Source::Table(_)),
    }
}

/// Whether a view joins tables.
pub(super) fn is_join(block: &Block) -> bool {
    match &block.leaves[..] {
        [leaf] => view_of(leaf).is_some_and(|(_, block)| is_join(block)),
        _ => true,
    }
}

/// What a changed row of a view must satisfy, over the leaf 0 that shows `table`: what the view's check option
/// asks, or those of the views below it.
///
/// # Errors
/// 1235 for what looks at more than the row.
pub(super) fn check_of(
    block: &Block,
    table: TableRef,
    shared: &[SharedBlock],
) -> Result<Option<Expr>, SqlError> {
    let mut block = block.clone();
    strip(&mut block, false);
    condition(block, table, shared)
}

/// What a row of `table` satisfies that the view shows, likewise.
///
/// # Errors
/// 1235 for what looks at more than the row.
pub(super) fn condition_of(
    block: &Block,
    table: TableRef,
    shared: &[SharedBlock],
) -> Result<Option<Expr>, SqlError> {
    condition(block.clone(), table, shared)
}

fn condition(
    mut block: Block,
    table: TableRef,
    shared: &[SharedBlock],
) -> Result<Option<Expr>, SqlError> {
    transform(&mut block, shared);
    // A subquery may have become a join.
    if block.filter.is_empty() && !block.from.iter().any(is_conditional) {
        return Ok(None);
    }
    let alone = !block.filter.iter().any(has_subquery)
        && matches!(&block.leaves[..], [leaf] if leaf.source == Source::Table(table));
    match alone {
        true => Ok(conjunction(block.filter)),
        false => Err(SqlError::unsupported("CHECK OPTION of a view with a join or a subquery")),
    }
}

/// Whether a join drops rows.
fn is_conditional(from: &From) -> bool {
    match from {
        From::Leaf(_) => false,
        From::Join { kind, left, right, on, .. } => {
            *kind != JoinKind::Inner
                || !on.is_empty()
                || is_conditional(left)
                || is_conditional(right)
        }
    }
}

/// Takes away what the joins ask for.
fn unconditional(from: &mut From) {
    if let From::Join { left, right, on, .. } = from {
        on.clear();
        unconditional(left);
        unconditional(right);
    }
}

/// Takes away the conditions of views that are not checked; `all`: a view above asks for all of them.
fn strip(block: &mut Block, all: bool) {
    let check = block.view.as_ref().and_then(|view| view.check);
    let all = all || check == Some(CheckOption::Cascaded);
    if !all && check.is_none() {
        block.filter.clear();
        block.from.iter_mut().for_each(unconditional);
    }
    for leaf in &mut block.leaves {
        if let Source::Derived { block, .. } = &mut leaf.source {
            strip(block, all);
        }
    }
}

/// 1393.
pub(super) fn several_tables(view: &View) -> SqlError {
    let name = view.full_name();
    PlanError::JoinViewManyTables(&name).into()
}

/// 1348.
pub(super) fn not_a_column(name: &str) -> SqlError {
    PlanError::ColumnNotUpdatable(name).into()
}
