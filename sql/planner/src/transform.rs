//! Blocks made simpler without changing what they mean: derived tables merged, outer joins that
//! are none, subqueries of WHERE as semi- and anti-joins.
//!
//! 1. Nested blocks are transformed before the block that holds them. 2. A block that is merged loses
//!    its level: what it saw at depth 1 and more moves one level nearer.

use crate::logical::{
    Block, From, Source, conjunction, conjuncts, deeper, disjuncts, leaf_bit, leaves_of,
};
use crate::query_plan::JoinKind;
use crate::resolve::SharedBlock;
use expr::functions::Purity;
use expr::tree::{Comparison, Expr, Quantified, Truth};

/// MySQL joins no more tables than that in one block.
pub const LEAVES_MAX: usize = 61;

/// Transforms a block and everything nested in it.
pub fn transform(block: &mut Block, shared: &[SharedBlock]) {
    inline_shared(block, shared);
    for leaf in &mut block.leaves {
        match &mut leaf.source {
            Source::Derived { block, .. } => transform(block, shared),
            Source::Set { inputs, .. } => inputs.iter_mut().for_each(|b| transform(b, shared)),
            Source::Recursive { seeds, steps, .. } => {
                seeds.iter_mut().chain(steps).for_each(|b| transform(b, shared));
            }
            _ => {}
        }
    }
    block.subqueries.iter_mut().for_each(|s| transform(&mut s.block, shared));
    let mut leaf = 0;
    while leaf < block.leaves.len() {
        if !merge_derived(block, leaf as u16) {
            leaf += 1;
        }
    }
    simplify_outer_joins(block);
    subqueries_to_joins(block);
    factor(&mut block.filter);
    block.from.iter_mut().for_each(factor_joins);
}

fn factor_joins(from: &mut From) {
    if let From::Join { left, right, on, .. } = from {
        factor(on);
        factor_joins(left);
        factor_joins(right);
    }
}

/// What all alternatives of an OR demand stands beside it: an index or a hash join can use it there.
fn factor(list: &mut Vec<Expr>) {
    for e in std::mem::take(list) {
        let (common, rest) = factored(e);
        list.extend(common);
        list.extend(rest);
    }
}

fn factored(e: Expr) -> (Vec<Expr>, Option<Expr>) {
    if !matches!(e, Expr::Or(..)) || !may_move(&e) {
        return (Vec::new(), Some(e));
    }
    let mut alternatives: Vec<Vec<Expr>> = disjuncts(&e)
        .into_iter()
        .map(|a| {
            let mut parts = Vec::new();
            conjuncts(a.clone(), &mut parts);
            parts
        })
        .collect();
    let common: Vec<Expr> = alternatives[0]
        .iter()
        .filter(|part| alternatives[1..].iter().all(|others| others.contains(part)))
        .cloned()
        .collect();
    if common.is_empty() {
        return (common, Some(e));
    }
    alternatives.iter_mut().for_each(|parts| parts.retain(|part| !common.contains(part)));
    let rest: Option<Vec<Expr>> = alternatives.into_iter().map(conjunction).collect();
    let or = |a, b| Expr::Or(Box::new(a), Box::new(b));
    (common, rest.and_then(|rest| rest.into_iter().reduce(or)))
}

/// Nothing happens when the expression is evaluated, and no subquery runs.
pub(crate) fn may_move(e: &Expr) -> bool {
    let mut may = true;
    e.visit(&mut |e| {
        may &= match e {
            Expr::AssignUserVar(..) | Expr::UserVar(..) => false,
            Expr::Call(_) => !is_volatile(e),
            e => crate::logical::subquery_of(e).is_none(),
        };
    });
    may
}

/// Whether an expression itself, not its parts, may have another value each time: RAND, UUID.
pub(crate) fn is_volatile(e: &Expr) -> bool {
    matches!(e, Expr::Call(site) if site.function.purity == Purity::Volatile)
}

/// Whether an expression assigns a user variable.
pub fn assigns(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(e, Expr::AssignUserVar(..)));
    found
}

/// A common table expression that is simple or used once becomes a derived table; not one that is used twice and
/// would have other rows each time.
fn inline_shared(block: &mut Block, shared: &[SharedBlock]) {
    for leaf in &mut block.leaves {
        if let Source::Shared(number) = &leaf.source {
            let cte = &shared[*number];
            let simple = || is_flat(&cte.block) && cte.block.order_by.is_empty();
            if cte.uses == 1 || simple() && !cte.block.clone().any(&mut is_volatile) {
                let block = Box::new(cte.block.clone());
                leaf.source = Source::Derived { block, lateral: false };
            }
        }
    }
}

/// Nothing but joins and a filter.
pub(crate) fn is_flat(block: &Block) -> bool {
    block.group.is_none()
        && block.view.as_ref().is_none_or(|view| !view.is_materialized)
        && block.windows.is_empty()
        && block.having.is_empty()
        && block.limit.is_none()
        && !block.from.is_empty()
        && !block.leaves.iter().any(|l| matches!(l.source, Source::Recursive { .. }))
}

fn can_merge(outer: &Block, leaf: u16) -> bool {
    let derived = &outer.leaves[usize::from(leaf)];
    let Source::Derived { block, .. } = &derived.source else { return false };
    let plain = |e: &Expr| matches!(e, Expr::Column(c) if c.depth == 0);
    is_mergeable(block)
        && !derived.hints.no_merge
        // Whoever numbers rows counts on the order that the nested query gives them.
        && (block.order_by.is_empty() || !outer.outputs.iter().any(|o| assigns(&o.value.expr)))
        && outer.leaves.len() + block.leaves.len() <= LEAVES_MAX
        && block.outputs.iter().all(|o| is_small(&o.value.expr))
        && block.outputs.iter().all(|o| !derived.null_row || plain(&o.value.expr))
}

/// Nodes of an expression that takes the place of each reference to it.
const INLINED_NODES_MAX: usize = 400;

/// Whether an expression may be computed where it is looked at: a tower of views, each naming the columns
/// of the one below twice, would double it with every floor.
fn is_small(e: &Expr) -> bool {
    let mut nodes = 0;
    e.visit(&mut |_| nodes += 1);
    nodes <= INLINED_NODES_MAX
}

/// Whether the rows of a nested query need not be made before those around it are.
pub(crate) fn is_mergeable(block: &Block) -> bool {
    let settled = |e: &Expr| {
        let mut settled = true;
        e.visit(&mut |e| {
            settled &= !matches!(e, Expr::AssignUserVar(..) | Expr::UserVar(..))
                && crate::logical::subquery_of(e).is_none();
        });
        settled
    };
    is_flat(block) && !block.distinct && block.outputs.iter().all(|o| settled(&o.value.expr))
}

/// Puts the leaves of a derived table in its place; false if that would not be the same.
fn merge_derived(outer: &mut Block, leaf: u16) -> bool {
    if !can_merge(outer, leaf) {
        return false;
    }
    let derived = &outer.leaves[usize::from(leaf)];
    let (null_row, name) = (derived.null_row, derived.name.clone());
    let called: Vec<String> = derived.columns.iter().map(|c| c.result.name.clone()).collect();
    let source =
        std::mem::replace(&mut outer.leaves[usize::from(leaf)].source, Source::Values(Vec::new()));
    let Source::Derived { block: mut inner, .. } = source else { return false };
    let alone = outer.leaves.len() == 1
        && outer.group.is_none()
        && !outer.distinct
        && outer.windows.is_empty()
        && outer.order_by.is_empty();
    adopt(outer, &mut inner, |number| match number {
        0 => leaf,
        n => (outer_leaves(outer) - 1) as u16 + n,
    });
    let outputs: Vec<Expr> = inner.outputs.iter().map(|o| o.value.expr.clone()).collect();
    outer.rewrite(0, &mut |e, depth| {
        if let Expr::Column(c) = e
            && c.depth == depth
            && c.leaf == leaf
        {
            *e = deeper(&outputs[usize::from(c.column)], depth);
            return true;
        }
        false
    });
    if alone {
        outer.order_by = std::mem::take(&mut inner.order_by);
    }
    outer.subqueries.append(&mut inner.subqueries);
    let mut leaves = std::mem::take(&mut inner.leaves);
    leaves.iter_mut().for_each(|l| l.null_row |= null_row);
    let mut leaves = leaves.into_iter();
    if let Some(mut first) = leaves.next() {
        if let Source::Set { inputs, .. } = &mut first.source
            && first.name.starts_with('<')
        {
            // What a set operation makes has no names of its own.
            first.name = name;
            for (output, called) in outputs.iter().zip(called) {
                if let Expr::Column(column) = output
                    && let Some(own) = inputs[0].outputs.get_mut(usize::from(column.column))
                {
                    own.column.name = called;
                }
            }
        }
        outer.leaves[usize::from(leaf)] = first;
    }
    outer.leaves.extend(leaves);
    let from = chain(std::mem::take(&mut inner.from));
    let mut filter = std::mem::take(&mut inner.filter);
    let mut from = Some(from);
    for item in &mut outer.from {
        replace_leaf(item, leaf, &mut from, &mut filter);
    }
    outer.filter.append(&mut filter);
    true
}

fn outer_leaves(outer: &Block) -> usize {
    outer.leaves.len()
}

/// Makes an inner block's expressions those of the outer one: leaves and subqueries get other numbers, its
/// own level vanishes.
fn adopt(outer: &Block, inner: &mut Block, leaf_of: impl Fn(u16) -> u16) {
    let subqueries = outer.subqueries.len();
    inner.rewrite(0, &mut |e, depth| {
        match e {
            Expr::Column(c) if c.depth == depth => c.leaf = leaf_of(c.leaf),
            Expr::Column(c) if c.depth > depth => c.depth -= 1,
            Expr::Subquery(n, _) | Expr::Exists(n) if depth == 0 => *n += subqueries,
            Expr::Quantified(q) if depth == 0 => q.subplan += subqueries,
            _ => {}
        }
        false
    });
    inner.from.iter_mut().for_each(|from| renumber(from, &leaf_of));
}

fn renumber(from: &mut From, leaf_of: &impl Fn(u16) -> u16) {
    match from {
        From::Leaf(leaf) => *leaf = leaf_of(*leaf),
        From::Join { left, right, .. } => {
            renumber(left, leaf_of);
            renumber(right, leaf_of);
        }
    }
}

/// A list of sources as one.
fn chain(list: Vec<From>) -> From {
    let join = |left, right| From::Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        on: Vec::new(),
        straight: false,
    };
    list.into_iter().reduce(join).expect("a flat block has a source")
}

/// Puts sources in a leaf's place, their filter where the join above keeps its meaning; what is left of
/// `filter` belongs above `from`. True when the leaf was found.
fn replace_leaf(from: &mut From, leaf: u16, by: &mut Option<From>, filter: &mut Vec<Expr>) -> bool {
    match from {
        From::Leaf(number) => {
            if *number == leaf
                && let Some(by) = by.take()
            {
                *from = by;
                return true;
            }
            false
        }
        From::Join { left, right, on, .. } => {
            if replace_leaf(left, leaf, by, filter) {
                return true;
            }
            let found = replace_leaf(right, leaf, by, filter);
            if found {
                on.append(filter);
            }
            found
        }
    }
}

/// Leaves of which a null row makes the condition not true.
fn rejected(expr: &Expr) -> u64 {
    match expr {
        Expr::And(a, b) => rejected(a) | rejected(b),
        Expr::Or(a, b) => rejected(a) & rejected(b),
        Expr::Not(e) => match &**e {
            Expr::Compare(..) | Expr::Like(..) | Expr::In(..) => rejected(e),
            Expr::Is(e, Truth::Null, false) => strict(e),
            _ => 0,
        },
        Expr::Compare(Comparison::NullSafeEq, ..) => 0,
        Expr::Compare(_, a, b, _) | Expr::Like(a, b, ..) => strict(a) | strict(b),
        Expr::In(e, ..) => strict(e),
        Expr::Is(e, Truth::Null, true) => strict(e),
        Expr::Is(e, Truth::True | Truth::False, false) => strict(e),
        Expr::Quantified(q) if q.op == Comparison::Eq && !q.all => {
            q.left.iter().map(strict).fold(0, |a, b| a | b)
        }
        other => strict(other),
    }
}

/// Leaves of which a null row makes the value NULL.
fn strict(expr: &Expr) -> u64 {
    match expr {
        Expr::Column(_) => leaves_of(expr),
        Expr::Arith(_, a, b) => strict(a) | strict(b),
        Expr::Neg(e) => strict(e),
        Expr::Compare(op, a, b, _) if *op != Comparison::NullSafeEq => strict(a) | strict(b),
        _ => 0,
    }
}

fn rejected_by(list: &[Expr]) -> u64 {
    list.iter().map(rejected).fold(0, |a, b| a | b)
}

/// A LEFT JOIN whose null rows WHERE throws away is an inner one.
fn simplify_outer_joins(block: &mut Block) {
    let rejected = rejected_by(&block.filter);
    let mut inner = Vec::new();
    for from in &mut block.from {
        simplify(from, rejected, &mut inner);
    }
    for leaf in inner {
        block.leaves[usize::from(leaf)].null_row = false;
    }
}

fn simplify(from: &mut From, rejected: u64, inner: &mut Vec<u16>) {
    let From::Join { kind, left, right, on, .. } = from else { return };
    if *kind == JoinKind::Left && right.leaves().iter().any(|l| leaf_bit(*l) & rejected != 0) {
        *kind = JoinKind::Inner;
        inner.extend(top_leaves(right));
    }
    match kind {
        JoinKind::Inner => {
            let both = rejected | rejected_by(on);
            simplify(left, both, inner);
            simplify(right, both, inner);
        }
        _ => {
            simplify(left, rejected, inner);
            // Which leaves of an inner side lost their null rows is for the joins inside of it only.
            simplify(right, rejected_by(on), &mut Vec::new());
        }
    }
}

/// Leaves that are not on the inner side of a join below.
fn top_leaves(from: &From) -> Vec<u16> {
    match from {
        From::Leaf(leaf) => vec![*leaf],
        From::Join { kind, left, right, .. } => {
            let mut leaves = top_leaves(left);
            if *kind == JoinKind::Inner {
                leaves.extend(top_leaves(right));
            }
            leaves
        }
    }
}

/// A conjunct of WHERE that can be a semi-join or an anti-join.
struct SubqueryPredicate {
    kind: JoinKind,
    subquery: usize,
    /// IN and NOT IN: values and collations that the outputs are compared with.
    compared: Option<Box<Quantified>>,
}

fn subquery_predicate(conjunct: &Expr) -> Option<SubqueryPredicate> {
    let exists = |kind, n: &usize| Some(SubqueryPredicate { kind, subquery: *n, compared: None });
    match conjunct {
        Expr::Exists(n) => exists(JoinKind::Semi, n),
        Expr::Not(e) => match &**e {
            Expr::Exists(n) => exists(JoinKind::Anti, n),
            Expr::Quantified(q) if q.op == Comparison::Eq && !q.all => Some(SubqueryPredicate {
                kind: JoinKind::Anti,
                subquery: q.subplan,
                compared: Some(q.clone()),
            }),
            _ => None,
        },
        Expr::Quantified(q) => {
            let kind = match (q.op, q.all) {
                (Comparison::Eq, false) => JoinKind::Semi,
                (Comparison::Ne, true) => JoinKind::Anti,
                _ => return None,
            };
            Some(SubqueryPredicate { kind, subquery: q.subplan, compared: Some(q.clone()) })
        }
        _ => None,
    }
}

fn subqueries_to_joins(block: &mut Block) {
    if block.from.is_empty() {
        return;
    }
    let mut kept = Vec::new();
    for conjunct in std::mem::take(&mut block.filter) {
        match subquery_predicate(&conjunct) {
            Some(predicate) if can_join(block, &predicate) => join_subquery(block, &predicate),
            _ => kept.push(conjunct),
        }
    }
    block.filter.append(&mut kept);
}

fn can_join(block: &Block, predicate: &SubqueryPredicate) -> bool {
    let inner = &block.subqueries[predicate.subquery].block;
    if inner.no_semijoin || !is_flat(inner) || block.leaves.len() + inner.leaves.len() > LEAVES_MAX
    {
        return false;
    }
    match (&predicate.compared, predicate.kind) {
        // NOT IN is unknown when a NULL takes part; an anti-join would take that for "no partner".
        (Some(q), JoinKind::Anti) => {
            q.left.iter().all(|e| never_null(block, e))
                && inner.outputs.iter().all(|o| never_null(inner, &o.value.expr))
        }
        _ => true,
    }
}

fn never_null(block: &Block, expr: &Expr) -> bool {
    match expr {
        Expr::Const(value) => *value != expr::OwnedDatum::Null,
        Expr::Column(c) if c.depth == 0 => block
            .leaves
            .get(usize::from(c.leaf))
            .is_some_and(|l| !l.null_row && !l.columns[usize::from(c.column)].ty.nullable),
        _ => false,
    }
}

fn join_subquery(block: &mut Block, predicate: &SubqueryPredicate) {
    let mut inner = std::mem::take(&mut block.subqueries[predicate.subquery].block);
    let first = block.leaves.len() as u16;
    adopt(block, &mut inner, |leaf| first + leaf);
    let mut on = std::mem::take(&mut inner.filter);
    if let Some(quantified) = &predicate.compared {
        let pairs = quantified.left.iter().zip(&inner.outputs).zip(&quantified.collations);
        for ((left, output), collation) in pairs {
            let (left, right) = (Box::new(left.clone()), Box::new(output.value.expr.clone()));
            on.push(Expr::Compare(Comparison::Eq, left, right, *collation));
        }
    }
    block.subqueries.append(&mut inner.subqueries);
    block.leaves.append(&mut inner.leaves);
    let left = Box::new(chain(std::mem::take(&mut block.from)));
    let right = Box::new(chain(std::mem::take(&mut inner.from)));
    block.from = vec![From::Join { kind: predicate.kind, left, right, on, straight: false }];
}
