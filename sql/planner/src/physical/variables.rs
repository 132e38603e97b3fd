//! When user variables are assigned: what MySQL leaves open, and everybody counts on who numbers rows with them.
//!
//! 1. Outputs that assign are computed behind a sort by columns of the table that is read first, else before the sort.
//! 2. Conditions on variables that the statement assigns are looked at when all tables of a join have a row.

use crate::logical::Block;
use crate::query_plan::Node;
use crate::transform::assigns;
use expr::tree::Expr;

/// Takes the conditions out of `filter` that assign a variable, or read one that the statement assigns.
pub(super) fn after_join(assigned: &[String], filter: &mut Vec<Expr>) -> Vec<Expr> {
    if assigned.is_empty() {
        return Vec::new();
    }
    let settled = |e: &Expr| {
        let mut settled = true;
        e.visit(&mut |e| match e {
            Expr::AssignUserVar(..) => settled = false,
            Expr::UserVar(name, _) => settled &= !assigned.contains(&name.to_lowercase()),
            _ => {}
        });
        settled
    };
    let (kept, late) = std::mem::take(filter).into_iter().partition(settled);
    *filter = kept;
    late
}

/// Whether outputs that assign variables are computed when the rows are sorted.
pub(super) fn assigned_in_order(node: &Node, block: &Block) -> bool {
    let Some(first) = first_leaf(node) else { return false };
    let of_first = |e: &Expr| {
        let mut fits = true;
        e.visit(&mut |e| {
            fits &= match e {
                Expr::Column(column) => column.depth == 0 && column.leaf == first,
                Expr::AssignUserVar(..) | Expr::UserVar(..) => false,
                e => crate::logical::subquery_of(e).is_none(),
            };
        });
        fits
    };
    block.outputs.iter().any(|o| assigns(&o.value.expr))
        && block.order_by.iter().all(|key| of_first(&key.value.expr))
}

/// The leaf whose rows a node goes through first; what is one row anyway does not count.
fn first_leaf(node: &Node) -> Option<u16> {
    match node {
        Node::Read(read) => Some(read.leaf),
        Node::Virtual { leaf, .. } | Node::Shared { leaf, .. } | Node::Derived { leaf, .. } => {
            Some(*leaf)
        }
        Node::Filter { input, .. } | Node::Limit { input, .. } => first_leaf(input),
        Node::Join { outer, inner, .. } if is_one_row(outer) => first_leaf(inner),
        Node::Join { outer, .. } => first_leaf(outer),
        Node::HashJoin { probe, build, .. } if is_one_row(probe) => first_leaf(build),
        Node::HashJoin { probe, .. } => first_leaf(probe),
        _ => None,
    }
}

fn is_one_row(node: &Node) -> bool {
    match node {
        Node::One => true,
        Node::Derived { query, lateral: false, .. } => is_one_row(&query.root),
        _ => false,
    }
}
