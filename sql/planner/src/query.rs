//! A query's whole way: names, transformations, operators.

use crate::PlanContext;
use crate::error::PlanError;
use crate::logical::Block;
use crate::physical::Planner;
use crate::query_plan::{IntoTarget, Node, QueryPlan, QueryStatement};
use crate::resolve::{Resolved, resolve};
use crate::stats::{Sampled, Statistics};
use crate::transform::transform;
use expr::SqlError;
use parser::ast;
use value::Kind;

/// Plans a query.
///
/// # Errors
/// Everything that is wrong with its names and its grouping; lock errors; 1235 for what is not there yet.
pub fn plan_query(
    context: &mut PlanContext<'_>,
    query: &ast::Query,
) -> Result<QueryStatement, SqlError> {
    plan(context, query, None, false)
}

/// Plans a query whose rows others are made of: what it reads is locked where the level promises repeatable reads.
///
/// # Errors
/// As [`plan_query`].
pub fn plan_copied(
    context: &mut PlanContext<'_>,
    query: &ast::Query,
) -> Result<QueryStatement, SqlError> {
    plan(context, query, None, true)
}

/// As [`plan_query`], with other estimates than those from the trees.
#[cfg(test)]
pub(crate) fn plan_query_with(
    context: &mut PlanContext<'_>,
    query: &ast::Query,
    statistics: &dyn Statistics,
) -> Result<QueryStatement, SqlError> {
    plan(context, query, Some(statistics), false)
}

fn plan(
    context: &mut PlanContext<'_>,
    query: &ast::Query,
    statistics: Option<&dyn Statistics>,
    copied: bool,
) -> Result<QueryStatement, SqlError> {
    let into = query.into.as_ref().map(into_target).transpose()?;
    if matches!(into, Some(IntoTarget::Outfile { .. } | IntoTarget::Dumpfile(_))) {
        context.need_global(access::Privileges::FILE)?;
    }
    let count_all = counts_all(&query.body);
    let resolved = resolve(context, query)?;
    if let Some(IntoTarget::Variables(names)) = &into
        && names.len() != resolved.block.outputs.len()
    {
        return Err(PlanError::DifferentColumnCounts.into());
    }
    if context.parameters.unsettled() {
        return Ok(QueryStatement { into, count_all, ..unplanned(resolved) });
    }
    let sampled = Sampled::new(context.tables);
    let query = plan_resolved(context, resolved, statistics.unwrap_or(&sampled), copied)?;
    Ok(QueryStatement { into, count_all, ..query })
}

/// Stands for the plan of a query that will be resolved again.
fn unplanned(resolved: Resolved) -> QueryStatement {
    let root = Node::Nothing { reason: "", leaves: Vec::new() };
    let outputs = resolved.block.outputs;
    let query =
        QueryPlan { root, leaves: Vec::new(), outputs, subplans: Vec::new(), outer_depth: 0 };
    let (shared, tables) = (Vec::new(), resolved.tables);
    QueryStatement { query, shared, tables, into: None, count_all: false, execution_ms_max: None }
}

/// SQL_CALC_FOUND_ROWS of the first SELECT.
fn counts_all(body: &ast::QueryBody) -> bool {
    match body {
        ast::QueryBody::Select(select) => select.options.calc_found_rows,
        ast::QueryBody::SetOperation { left, .. } => counts_all(left),
        ast::QueryBody::Nested(query) => counts_all(&query.body),
        ast::QueryBody::Table(_) | ast::QueryBody::Values(_) => false,
    }
}

fn plan_resolved(
    context: &PlanContext<'_>,
    resolved: Resolved,
    statistics: &dyn Statistics,
    copied: bool,
) -> Result<QueryStatement, SqlError> {
    let Resolved { mut block, shared, tables, execution_ms_max } = resolved;
    let locks = copied || context.settings.shows_locked;
    let mut planner = Planner { locks, ..Planner::new(context, statistics, &shared) };
    transform(&mut block, &shared);
    show_chosen(&mut block);
    let query = planner.block(block)?;
    let shared = planner.done;
    let execution_ms_max = execution_ms_max.map(u64::from);
    Ok(QueryStatement { query, shared, tables, into: None, count_all: false, execution_ms_max })
}

/// Decimals are sent with the digits that they have by themselves, unless rows are kept on the way.
fn show_chosen(block: &mut Block) {
    let sorted = block.leaves.len() > 1 && !block.order_by.is_empty();
    if block.group.is_some() || block.distinct || !block.windows.is_empty() || sorted {
        return;
    }
    for output in &mut block.outputs {
        if output.value.ty.kind == Kind::Decimal {
            output.value = expr::build::as_text(output.value.clone());
        }
    }
}

fn into_target(into: &ast::Into) -> Result<IntoTarget, SqlError> {
    match into {
        ast::Into::Outfile { file, charset, format } => match charset.as_deref() {
            None | Some("binary" | "utf8mb4") => {
                Ok(IntoTarget::Outfile { file: file.clone(), format: format.clone() })
            }
            Some(name) => Err(SqlError::unsupported(format!("INTO OUTFILE CHARACTER SET {name}"))),
        },
        ast::Into::Dumpfile(name) => Ok(IntoTarget::Dumpfile(name.clone())),
        ast::Into::Variables(list) => {
            let name = |e: &ast::Expr| match e {
                ast::Expr::UserVar(name) => Ok(name.clone()),
                ast::Expr::Column(column) => {
                    Err(PlanError::UndeclaredVariable(&column.column).into())
                }
                _ => Err(SqlError::unsupported("INTO with an expression")),
            };
            Ok(IntoTarget::Variables(list.iter().map(name).collect::<Result<_, _>>()?))
        }
    }
}
