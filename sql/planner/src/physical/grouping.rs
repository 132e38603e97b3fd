//! How GROUP BY and DISTINCT find equal rows: side by side where an index has them so, else by hash.
//!
//! 1. Where some rows of each group do ([`super::loose`]), only those are read. 2. ROLLUP needs its groups in order, and
//!    so do aggregates that MySQL cannot gather in a table: their rows are sorted where no index does it. 3. Keys are
//!    looked at more than once; random ones are computed into a leaf first.

use super::loose::GroupRequest;
use super::{Leaves, Planner, made_leaf, order, stored};
use crate::logical::{Grouping, column_of};
use crate::plan::SortKey;
use crate::query_plan::{Group, GroupStrategy, LeafDef, Node};
use catalog::IndexDef;
use expr::aggregate::AggregateCall;
use expr::tree::{Column, Expr, Typed};

/// Computes the keys of a row once, and what the aggregates look at, into a leaf of their own, whose definition is given.
pub(super) fn computed_once(node: &mut Node, group: &mut Grouping, leaf: u16) -> LeafDef {
    let mut values: Vec<Typed> = Vec::new();
    let mut keep = |value: &mut Typed| {
        let column = column_of(leaf, values.len());
        values.push(Typed::new(std::mem::replace(&mut value.expr, column), value.ty));
    };
    group.keys.iter_mut().for_each(&mut keep);
    for call in &mut group.aggregates {
        call.arguments.iter_mut().for_each(&mut keep);
        call.order_by.iter_mut().for_each(|key| keep(&mut key.value));
    }
    let types = values.iter().map(|v| stored(v.ty, v.ty.decimals)).collect();
    let input = std::mem::replace(node, Node::One);
    *node = Node::Project { input: Box::new(input), leaf, values };
    made_leaf("<temporary>", types)
}

impl Planner<'_> {
    /// GROUP BY; `alone`: no window and no subquery looks at it.
    pub(super) fn grouped(
        &self,
        (mut node, alone): (Node, bool),
        group: Grouping,
        leaf: u16,
        leaves: &Leaves,
        fixed: &order::Fixed,
    ) -> Node {
        let ascending = |key: &Typed| SortKey { value: key.clone(), descending: false };
        let keys: Vec<SortKey> = group.keys.iter().map(ascending).collect();
        let ends = match alone && keys.is_empty() {
            true => self.ends(&node, &group.aggregates, leaves),
            false => Vec::new(),
        };
        if ends.is_empty()
            && !group.rollup
            && let Some(wanted) = GroupRequest::of_group(&group.keys, &group.aggregates)
        {
            self.loosely(&mut node, &wanted, leaves, fixed);
        }
        let (node, strategy) = if keys.is_empty() {
            (node, GroupStrategy::Single)
        } else if order::settle(self.tables, &mut node, leaves, fixed, &keys, false) {
            (node, GroupStrategy::Sorted)
        } else if group.rollup || group.aggregates.iter().any(AggregateCall::wants_sorted) {
            (Node::Sort { input: Box::new(node), keys, limit: None }, GroupStrategy::Sorted)
        } else {
            (node, GroupStrategy::Hash)
        };
        Node::Group(Box::new(Group {
            input: node,
            leaf,
            keys: group.keys,
            aggregates: group.aggregates,
            strategy,
            rollup: group.rollup,
            ends,
        }))
    }

    /// DISTINCT over the keys.
    pub(super) fn distinct(
        &self,
        mut node: Node,
        keys: Vec<Typed>,
        leaves: &Leaves,
        fixed: &order::Fixed,
    ) -> Node {
        if self.are_distinct(&node, &keys, leaves) {
            return node;
        }
        if let Some(wanted) = GroupRequest::distinct(&keys) {
            self.loosely(&mut node, &wanted, leaves, fixed);
        }
        let sorted = order::side_by_side(self.tables, &mut node, leaves, fixed, &keys);
        Node::Distinct { input: Box::new(node), keys, sorted }
    }

    /// Whether no two rows of a table agree in the keys: a unique index says so.
    fn are_distinct(&self, node: &Node, keys: &[Typed], leaves: &Leaves) -> bool {
        let Node::Read(read) = node else { return false };
        let def = self.tables.def(read.table);
        let is_key = |column: usize| {
            let place = Column { depth: 0, leaf: read.leaf, column: column as u16 };
            keys.iter().any(|key| matches!(&key.expr, Expr::Column(own) if *own == place))
        };
        let tells = |index: &IndexDef| {
            index.unique
                && index.parts.iter().all(|p| {
                    p.prefix_chars.is_none()
                        && !def.columns[p.column].ty.nullable
                        && is_key(p.column)
                })
        };
        leaves.list.len() == 1 && def.indexes.iter().any(tells)
    }
}
