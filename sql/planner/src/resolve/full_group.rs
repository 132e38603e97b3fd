//! ONLY_FULL_GROUP_BY: which columns depend on the group keys.
//!
//! 1. A column depends on a set of columns when the rows that agree in the set agree in it: by a unique
//!    key inside the set, by an equality of WHERE or ON, or because it equals a constant. 2. What is not
//!    found to depend is refused: errors 1055 and 1140, as MySQL does.

use super::select::full_name;
use crate::error::PlanError;
use crate::logical::{Block, From, WINDOW_LEAF, conjuncts};
use crate::query_plan::JoinKind;
use expr::SqlError;
use expr::tree::{Comparison, Expr, Typed};
use std::collections::BTreeSet;

/// A column: leaf and position.
type Place = (u16, u16);

/// The columns that have one value per group.
pub(crate) struct Dependence {
    fixed: BTreeSet<Place>,
}

impl Dependence {
    /// Of a block under group keys.
    pub(crate) fn of(block: &Block, keys: &[Typed]) -> Dependence {
        let mut fixed: BTreeSet<Place> = keys.iter().filter_map(|k| own_column(&k.expr)).collect();
        let mut equalities = Vec::new();
        block.filter.iter().for_each(|e| note(e, None, &mut equalities));
        block.from.iter().for_each(|from| note_from(from, &mut equalities));
        loop {
            let before = fixed.len();
            for (number, leaf) in block.leaves.iter().enumerate() {
                let number = number as u16;
                let known = |column: &usize| fixed.contains(&(number, *column as u16));
                if leaf.keys.iter().any(|key| key.iter().all(known)) {
                    fixed.extend((0..leaf.columns.len()).map(|c| (number, c as u16)));
                }
            }
            for Implied { from, to } in &equalities {
                if from.is_subset(&fixed) {
                    fixed.insert(*to);
                }
            }
            if fixed.len() == before {
                return Dependence { fixed };
            }
        }
    }

    /// Refuses a block whose outputs, HAVING or ORDER BY look at another column.
    pub(crate) fn require(&self, block: &mut Block, keys: &[Typed]) -> Result<(), SqlError> {
        let single = keys.is_empty();
        let outputs: Vec<Expr> = block.outputs.iter().map(|o| o.value.expr.clone()).collect();
        for (position, expr) in outputs.into_iter().enumerate() {
            if let Some(name) = self.free_column(block, expr) {
                return Err(refusal(single, position, "SELECT list", &name));
            }
        }
        let order: Vec<Expr> = block.order_by.iter().map(|k| k.value.expr.clone()).collect();
        for (position, expr) in order.into_iter().enumerate() {
            if let Some(name) = self.free_column(block, expr) {
                return Err(refusal(single, position, "ORDER BY clause", &name));
            }
        }
        for expr in block.having.clone() {
            if let Some(name) = self.free_column(block, expr) {
                return Err(refusal(single, 0, "HAVING clause", &name));
            }
        }
        Ok(())
    }

    /// A column in the expression, or in its subqueries, that does not depend on the keys.
    fn free_column(&self, block: &mut Block, mut expr: Expr) -> Option<String> {
        let mut found: Option<Place> = None;
        let mut subqueries = Vec::new();
        let mut look = |e: &mut Expr, depth: u8| {
            if let Expr::Column(c) = e
                && c.depth == depth
                && c.leaf < WINDOW_LEAF
                && !self.fixed.contains(&(c.leaf, c.column))
            {
                found = found.or(Some((c.leaf, c.column)));
            }
        };
        expr.rewrite(&mut |e| {
            subqueries.extend(crate::logical::subquery_of(e));
            look(e, 0);
            false
        });
        for number in subqueries {
            block.subqueries[number].block.rewrite(1, &mut |e, depth| {
                look(e, depth);
                false
            });
        }
        let (leaf, column) = found?;
        Some(full_name(&block.leaves[usize::from(leaf)], usize::from(column)))
    }
}

/// When all of `from` have one value, `to` has.
struct Implied {
    from: BTreeSet<Place>,
    to: Place,
}

fn own_column(expr: &Expr) -> Option<Place> {
    match expr.unconverted() {
        Expr::Column(c) if c.depth == 0 && c.leaf < WINDOW_LEAF => Some((c.leaf, c.column)),
        _ => None,
    }
}

/// Columns that an expression looks at; `None` when it may differ for equal columns.
fn columns(expr: &Expr) -> Option<BTreeSet<Place>> {
    let mut found = BTreeSet::new();
    let mut settled = true;
    expr.unconverted().visit(&mut |e| {
        found.extend(own_column(e));
        settled &= !matches!(e, Expr::Call(..) | Expr::AssignUserVar(..) | Expr::UserVar(..))
            && crate::logical::subquery_of(e).is_none();
    });
    settled.then_some(found)
}

/// Notes what an equality implies; `inner`: only columns of these leaves are implied, by the others.
fn note(expr: &Expr, inner: Option<&[u16]>, equalities: &mut Vec<Implied>) {
    let Expr::Compare(Comparison::Eq | Comparison::NullSafeEq, a, b, _) = expr else { return };
    for (one, other) in [(a, b), (b, a)] {
        let (Some(to), Some(from)) = (own_column(one), columns(other)) else { continue };
        let implied = inner.is_none_or(|leaves| {
            leaves.contains(&to.0) && from.iter().all(|(leaf, _)| !leaves.contains(leaf))
        });
        if implied {
            equalities.push(Implied { from, to });
        }
    }
}

fn note_from(from: &From, equalities: &mut Vec<Implied>) {
    let From::Join { kind, left, right, on, .. } = from else { return };
    note_from(left, equalities);
    if *kind == JoinKind::Inner {
        note_from(right, equalities);
        on.iter().for_each(|e| note(e, None, equalities));
        return;
    }
    // The inner side is NULL where ON is not true: every outer column of ON has to be known too.
    let leaves = right.leaves();
    let mut found = Vec::new();
    let mut all = Vec::new();
    on.iter().cloned().for_each(|e| conjuncts(e, &mut all));
    all.iter().for_each(|e| note(e, Some(&leaves), &mut found));
    let mut outer = BTreeSet::new();
    for e in &all {
        let Some(columns) = columns(e) else { return };
        outer.extend(columns.into_iter().filter(|(leaf, _)| !leaves.contains(leaf)));
    }
    equalities.extend(found.into_iter().map(|Implied { mut from, to }| {
        from.extend(&outer);
        Implied { from, to }
    }));
}

fn refusal(single: bool, position: usize, clause: &str, name: &str) -> SqlError {
    let number = position + 1;
    match single {
        true => PlanError::MixedWithAggregates(number, clause, name).into(),
        false => PlanError::NotGrouped(number, clause, name).into(),
    }
}
