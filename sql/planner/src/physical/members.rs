//! What is joined: members, and the conditions over them.
//!
//! 1. Inner joins are a flat list of members and conditions. The inner side of an outer, semi- or
//!    anti-join is one member, with its own list and conditions. 2. A condition that follows from others is
//!    marked: it may choose an access path, it is never needed as a filter.

use super::Leaves;
use crate::hints::OrderHint;
use crate::logical::{From, Leaf, conjunction, conjuncts, disjuncts, leaf_bit, leaves_of};
use crate::query_plan::JoinKind;
use crate::transform::may_move;
use expr::tree::{Column, Comparison, Expr};
use value::{Collation, ColumnType};

/// A conjunct.
#[derive(Debug, Clone)]
pub(crate) struct Cond {
    pub(crate) expr: Expr,
    /// The block's leaves that it looks at.
    pub(crate) leaves: u64,
    /// It follows from other conditions.
    pub(crate) implied: bool,
}

impl Cond {
    pub(crate) fn new(expr: Expr, leaves: &Leaves) -> Cond {
        Cond { leaves: leaves.looked_at(&expr), expr, implied: false }
    }
}

/// One thing to join.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) what: What,
    /// Leaves inside.
    pub(crate) leaves: u64,
    /// Leaves that must be there before it.
    pub(crate) needs: u64,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    Leaf(u16),
    Nest { kind: JoinKind, nest: Nest },
}

/// Members under conditions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nest {
    pub(crate) members: Vec<Member>,
    pub(crate) conds: Vec<Cond>,
}

impl Nest {
    /// The sources of a block with its filter.
    pub(crate) fn of(from: Vec<From>, filter: &[Expr], straight: bool, leaves: &Leaves) -> Nest {
        let mut nest = Nest::default();
        for item in from {
            nest.add(item, straight, leaves);
        }
        nest.conds.extend(filter.iter().map(|e| Cond::new(e.clone(), leaves)));
        nest.imply(&leaves.list);
        nest
    }

    fn add(&mut self, from: From, straight: bool, leaves: &Leaves) -> u64 {
        match from {
            From::Leaf(leaf) => {
                let mut needs = leaves.source_looks_at(leaf);
                if straight {
                    needs |= self.leaves();
                }
                let own = leaf_bit(leaf);
                let needs = needs & !own;
                self.members.push(Member { what: What::Leaf(leaf), leaves: own, needs });
                own
            }
            From::Join { kind: JoinKind::Inner, left, right, on, straight: after } => {
                let left = self.add(*left, straight, leaves);
                let first = self.members.len();
                let right = self.add(*right, straight, leaves);
                if after {
                    self.members[first..].iter_mut().for_each(|m| m.needs |= left & !m.leaves);
                }
                self.conds.extend(on.into_iter().map(|e| Cond::new(e, leaves)));
                left | right
            }
            From::Join { kind, left, right, on, .. } => {
                let left = self.add(*left, straight, leaves);
                let mut nest = Nest::default();
                let own = nest.add(*right, straight, leaves);
                nest.conds.extend(on.into_iter().map(|e| Cond::new(e, leaves)));
                nest.imply(&leaves.list);
                let inside = nest.members.iter().fold(0, |all, m| all | m.needs);
                let looked = nest.conds.iter().fold(inside, |all, c| all | c.leaves) & !own;
                // It has to come behind something of its left side.
                let needs = if looked & left == 0 || straight { looked | left } else { looked };
                self.members.push(Member { what: What::Nest { kind, nest }, leaves: own, needs });
                left | own
            }
        }
    }

    pub(crate) fn leaves(&self) -> u64 {
        self.members.iter().fold(0, |all, m| all | m.leaves)
    }

    /// Makes members wait for those that a hint wants before them, unless some would wait for ever.
    pub(crate) fn prescribe(&mut self, hint: &OrderHint, leaves: &Leaves) {
        let place = |name: &String| {
            self.members.iter().position(|m| {
                let own = |(n, l): (usize, &Leaf)| m.leaves >> n & 1 == 1 && l.name == *name;
                leaves.list.iter().enumerate().any(own)
            })
        };
        let mut named: Vec<usize> = Vec::new();
        for place in hint.tables.iter().filter_map(place) {
            if !named.contains(&place) {
                named.push(place);
            }
        }
        let leaves_of = |n: usize| self.members[n].leaves;
        let all = named.iter().fold(0, |all, n| all | leaves_of(*n));
        let mut needs: Vec<u64> = self.members.iter().map(|m| m.needs).collect();
        let mut before = if hint.last { self.leaves() & !all } else { 0 };
        for n in &named {
            needs[*n] |= before;
            before |= leaves_of(*n);
        }
        if hint.first {
            let rest = (0..needs.len()).filter(|n| !named.contains(n));
            rest.for_each(|n| needs[n] |= all);
        }
        if self.can_end(&needs) {
            self.members.iter_mut().zip(needs).for_each(|(m, needs)| m.needs = needs);
        }
    }

    /// Whether every member can be joined at some time.
    fn can_end(&self, needs: &[u64]) -> bool {
        let own = self.leaves();
        let mut done = 0;
        loop {
            let ready = |(n, m): &(usize, &Member)| needs[*n] & own & !done & !m.leaves == 0;
            let next = self.members.iter().enumerate().filter(ready);
            let next = next.fold(done, |all, (_, m)| all | m.leaves);
            if next == done {
                return done == own;
            }
            done = next;
        }
    }

    /// Adds what follows from equalities of columns: `a = b AND b = 5` makes `a = 5`, `a = b AND b = c`
    /// makes `a = c`.
    fn imply(&mut self, leaves: &[Leaf]) {
        let mut classes: Vec<(Vec<Column>, Collation)> = Vec::new();
        for cond in &self.conds {
            let Expr::Compare(Comparison::Eq, a, b, collation) = &cond.expr else { continue };
            let (Expr::Column(a), Expr::Column(b)) = (&**a, &**b) else { continue };
            if a.depth > 0 || b.depth > 0 || !alike(leaves, *a, *b, *collation) {
                continue;
            }
            let of = |column: &Column, classes: &[(Vec<Column>, Collation)]| {
                classes.iter().position(|(c, k)| c.contains(column) && k == collation)
            };
            match (of(a, &classes), of(b, &classes)) {
                (Some(x), Some(y)) if x != y => {
                    let (more, _) = classes.swap_remove(x.max(y));
                    classes[x.min(y)].0.extend(more);
                }
                (Some(_), Some(_)) => {}
                (Some(x), None) => classes[x].0.push(*b),
                (None, Some(y)) => classes[y].0.push(*a),
                (None, None) => classes.push((vec![*a, *b], *collation)),
            }
        }
        let mut implied = Vec::new();
        for (class, collation) in &classes {
            for cond in &self.conds {
                implied.extend(transferred(&cond.expr, class, *collation));
            }
            for (position, a) in class.iter().enumerate() {
                for b in class.iter().skip(position + 1) {
                    let (a, b) = (Box::new(Expr::Column(*a)), Box::new(Expr::Column(*b)));
                    implied.push(Expr::Compare(Comparison::Eq, a, b, *collation));
                }
            }
        }
        for expr in implied {
            if !self.conds.iter().any(|c| same(&c.expr, &expr)) {
                self.conds.push(Cond { leaves: leaves_of(&expr), expr, implied: true });
            }
        }
        self.narrow();
    }

    /// What an OR over several leaves says about one of them is checked as soon as that one is read.
    fn narrow(&mut self) {
        let mut found = Vec::new();
        for cond in &self.conds {
            if !matches!(cond.expr, Expr::Or(..)) || !may_move(&cond.expr) {
                continue;
            }
            let members = self.members.iter().filter(|m| matches!(m.what, What::Leaf(_)));
            for own in members.map(|m| m.leaves) {
                if cond.leaves & own != 0 && cond.leaves != own {
                    found.extend(about(&cond.expr, own));
                }
            }
        }
        let cond = |expr| Cond { leaves: leaves_of(&expr), expr, implied: false };
        self.conds.extend(found.into_iter().map(cond));
    }
}

/// What every alternative says about the leaf alone.
fn about(or: &Expr, own: u64) -> Option<Expr> {
    let parts = disjuncts(or).into_iter().map(|alternative| {
        let mut parts = Vec::new();
        conjuncts(alternative.clone(), &mut parts);
        conjunction(parts.into_iter().filter(|part| leaves_of(part) == own))
    });
    let parts: Option<Vec<Expr>> = parts.collect();
    parts?.into_iter().reduce(|a, b| Expr::Or(Box::new(a), Box::new(b)))
}

/// The same condition, whichever way an equality was written.
fn same(a: &Expr, b: &Expr) -> bool {
    if a == b {
        return true;
    }
    match (a, b) {
        (Expr::Compare(Comparison::Eq, a1, a2, ca), Expr::Compare(Comparison::Eq, b1, b2, cb)) => {
            ca == cb && a1 == b2 && a2 == b1
        }
        _ => false,
    }
}

/// Comparisons of one column of the class with a constant hold for the others.
fn transferred(expr: &Expr, class: &[Column], collation: Collation) -> Vec<Expr> {
    let Expr::Compare(op, a, b, own) = expr else { return Vec::new() };
    if matches!(op, Comparison::Ne | Comparison::NullSafeEq) || *own != collation {
        return Vec::new();
    }
    let (column, value, op) = match (&**a, &**b) {
        (Expr::Column(c), value) => (*c, value, *op),
        (value, Expr::Column(c)) => (*c, value, op.flipped()),
        _ => return Vec::new(),
    };
    let constant = matches!(value, Expr::Const(_) | Expr::Param(_))
        || matches!(value, Expr::Column(c) if c.depth > 0);
    if !constant || !class.contains(&column) {
        return Vec::new();
    }
    class
        .iter()
        .filter(|c| **c != column)
        .map(|c| {
            let (left, right) = (Box::new(Expr::Column(*c)), Box::new(value.clone()));
            Expr::Compare(op, left, right, collation)
        })
        .collect()
}

/// Whether two columns' equality makes them exchangeable: values of one kind.
fn alike(leaves: &[Leaf], a: Column, b: Column, collation: Collation) -> bool {
    let ty = |c: Column| -> Option<ColumnType> {
        let leaf = leaves.get(usize::from(c.leaf))?;
        Some(leaf.columns.get(usize::from(c.column))?.ty)
    };
    let (Some(a), Some(b)) = (ty(a), ty(b)) else { return false };
    if a.kind.is_int() && b.kind.is_int() {
        return true;
    }
    a.kind == b.kind
        && a.decimals == b.decimals
        && (!a.kind.is_string() || a.collation == collation && b.collation == collation)
}
