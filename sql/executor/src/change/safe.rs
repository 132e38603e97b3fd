//! `sql_safe_updates`: which changes are refused (1175).
//!
//! 1. The rows to change are found by a key, or are as many as LIMIT says. 2. Where the optimiser reads a whole table
//!    though a key could have been used, MySQL uses the key: the change is not refused.

use crate::ExecError;
use crate::{Context, SqlError};
use catalog::TableDef;
use expr::tree::{Comparison, Expr};
use planner::plan::ChangePlan;
use planner::query_plan::{JoinKey, Node, Read, ReadAccess};

/// Refuses a change that goes through a whole table.
///
/// # Errors
/// 1175.
pub fn require_key(plan: &ChangePlan, context: &Context<'_>) -> Result<(), SqlError> {
    let root = &plan.query.query.root;
    if matches!(root, Node::Limit { .. }) || !reads_all(root, &[], (plan, context)) {
        return Ok(());
    }
    Err(ExecError::SafeUpdate.into())
}

/// Whether a table that is changed is read without a key. `joined`: what hash joins above compare.
fn reads_all(node: &Node, joined: &[JoinKey], of: (&ChangePlan, &Context<'_>)) -> bool {
    match node {
        Node::Read(read) => {
            let changed = of.0.targets.iter().any(|target| target.leaf == read.leaf);
            let def = of.1.tables.def(read.table);
            changed && matches!(read.access, ReadAccess::Index(_)) && !has_key(read, def, joined)
        }
        Node::HashJoin { probe, build, keys, .. } => {
            reads_all(probe, keys, of) || reads_all(build, keys, of)
        }
        _ => node.inputs().any(|input| reads_all(input, joined, of)),
    }
}

/// Whether the first column of an index is compared.
fn has_key(read: &Read, def: &TableDef, joined: &[JoinKey]) -> bool {
    let leads = |expr: &Expr| match expr.unconverted() {
        Expr::Column(c) if c.depth == 0 && c.leaf == read.leaf => def
            .indexes
            .iter()
            .any(|i| i.parts.first().is_some_and(|p| p.column == usize::from(c.column))),
        _ => false,
    };
    let mut served = joined.iter().filter(|key| key.is_of_columns);
    served.any(|key| leads(&key.probe.expr) || leads(&key.build.expr))
        || read.filter.as_ref().is_some_and(|filter| compares(filter, &leads))
}

/// Whether a part of a conjunction compares what `leads` names with a value.
fn compares(filter: &Expr, leads: &dyn Fn(&Expr) -> bool) -> bool {
    match filter {
        Expr::And(a, b) => compares(a, leads) || compares(b, leads),
        Expr::Compare(Comparison::Ne, ..) => false,
        Expr::Compare(_, a, b, _) => leads(a) && !b.has_column() || leads(b) && !a.has_column(),
        _ => false,
    }
}
