//! MIN and MAX that are the ends of indexes: each is the first row of a read of its own.
//!
//! 1. An index serves where its rows come in the order of the argument: the parts before it have one value. Then
//!    the first row that passes the filter has the extreme, whatever the filter is. 2. It is used where MySQL does:
//!    one table, conditions that the index's ranges take in wholly. 3. The argument's NULLs are left out by the
//!    range of MIN; for MAX they come last.

use super::access::{self, Target};
use super::members::Cond;
use super::{Leaves, Planner, order};
use crate::logical::{conjuncts, subquery_of};
use crate::query_plan::{Estimate, KeyRange, LastPart, Node, Read};
use catalog::{IndexDef, TableDef};
use expr::aggregate::{AggregateCall, MAX, MIN};
use expr::tree::{Column, Comparison, Expr, Truth};

impl Planner<'_> {
    /// A read for each of the aggregates; none where one of them needs all rows.
    pub(super) fn ends(
        &self,
        node: &Node,
        aggregates: &[AggregateCall],
        leaves: &Leaves,
    ) -> Vec<Read> {
        let Node::Read(read) = node else { return Vec::new() };
        let mut filter = Vec::new();
        if let Some(condition) = &read.filter {
            conjuncts(condition.clone(), &mut filter);
        }
        if leaves.list.len() != 1 || !leaves.targets.is_empty() || !filter.iter().all(is_plain) {
            return Vec::new();
        }
        let conds: Vec<Cond> = filter.into_iter().map(|e| Cond::new(e, leaves)).collect();
        let ends = aggregates.iter().map(|call| self.end(read, call, leaves, &conds));
        ends.collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// The read whose first row has the extreme.
    fn end(
        &self,
        read: &Read,
        call: &AggregateCall,
        leaves: &Leaves,
        conds: &[Cond],
    ) -> Option<Read> {
        let least = match call.function {
            function if *function == MIN => true,
            function if *function == MAX => false,
            _ => return None,
        };
        let [argument] = &call.arguments[..] else { return None };
        let Expr::Column(Column { depth: 0, column, .. }) = argument.expr else { return None };
        let column = usize::from(column);
        let def = self.tables.def(read.table);
        let ty = &def.columns[column].ty;
        if ty.kind.is_string() && ty.collation != call.collation {
            return None;
        }
        let target = Target::new((read.leaf, read.table), self.tables, leaves);
        let source = &leaves.list[usize::from(read.leaf)];
        let allowed = |i: &IndexDef| !i.attributes.invisible && source.hints.join.allows(&i.name);
        let indexes = def.indexes.iter().enumerate().filter(|(_, index)| allowed(index));
        let found = indexes.into_iter().find_map(|(position, index)| {
            let range = range(&target, def, index, (column, least), conds)?;
            let number = position + usize::from(def.clustered().is_none());
            Some((access::access(number, index, range), leaves.covers(read.leaf, def, index)))
        });
        let (access, covering) = found?;
        let estimate = Estimate { rows: 1.0, cost: access::OPEN_COST, filtered: 1.0 };
        Some(Read { access, covering, descending: !least, estimate, ..read.clone() })
    }
}

/// The part of an index whose rows come in the order of a column, if the conditions are all taken in by it.
fn range(
    target: &Target<'_>,
    def: &TableDef,
    index: &IndexDef,
    (column, least): (usize, bool),
    conds: &[Cond],
) -> Option<Vec<KeyRange>> {
    let own: Vec<(usize, &Expr)> = conds.iter().enumerate().map(|(n, c)| (n, &c.expr)).collect();
    let mut used = Vec::new();
    let mut range = match conds {
        [] => KeyRange { equal: Vec::new(), last: LastPart::Any },
        _ => match &mut target.ranges(index, &own, &mut used)?[..] {
            [range] => range.clone(),
            _ => return None,
        },
    };
    let fixed = range.equal.len();
    let parts = order::parts(def, index);
    let here = parts.get(fixed) == Some(&(column, false));
    let held = parts.iter().take(fixed).any(|(part, _)| *part == column);
    if !(here || held && range.last == LastPart::Any)
        || (0..conds.len()).any(|n| !used.contains(&n))
    {
        return None;
    }
    if here && least && range.last == LastPart::Any && def.columns[column].ty.nullable {
        range.last = LastPart::NotNull;
    }
    Some(vec![range])
}

/// A comparison of a column with a constant, but `<>`; IS NULL.
fn is_plain(e: &Expr) -> bool {
    match e {
        Expr::Compare(op, a, b, _) => {
            *op != Comparison::Ne
                && (is_column(a) && is_constant(b) || is_column(b) && is_constant(a))
        }
        Expr::Is(value, Truth::Null, false) => is_column(value),
        _ => false,
    }
}

fn is_column(e: &Expr) -> bool {
    matches!(e, Expr::Column(Column { depth: 0, .. }))
}

fn is_constant(e: &Expr) -> bool {
    let mut constant = true;
    e.visit(&mut |e| {
        constant &= !matches!(e, Expr::Column(_)) && subquery_of(e).is_none();
    });
    constant
}
