//! `max_join_size`: a query that would examine more rows is refused before it reads one (1104).
//!
//! What is counted is what EXPLAIN expects: the rows of each read, for each row joined before it; both sides of a hash
//! join once. A LIMIT ends a read whose rows come as they are wanted. Each block counts by itself; those of
//! subqueries that stay subqueries do not, nor do tables without rows of their own (information_schema).

use crate::ExecError;
use crate::SqlError;
use expr::Expr;
use planner::query_plan::{GroupStrategy, Node, QueryPlan, ReadAccess};
use value::Datum;

/// Rows of a node.
#[derive(Clone, Copy)]
struct Rows {
    examined: f64,
    given: f64,
    /// They come while others are still to be examined.
    flow: bool,
}

const NONE: Rows = Rows { examined: 0.0, given: 1.0, flow: true };

/// Refuses a query that is expected to examine more than `examined_max` rows; no more than `sent_max` are sent.
///
/// # Errors
/// 1104.
pub fn refuse(
    plan: &QueryPlan,
    params: &[Datum<'_>],
    (examined_max, sent_max): (u64, u64),
) -> Result<(), SqlError> {
    if examined_max == u64::MAX {
        return Ok(());
    }
    let mut most = Most { params, examined: 0.0 };
    let rows = most.of(&plan.root);
    most.block(cut(rows, sent_max as f64));
    if most.examined <= examined_max as f64 {
        return Ok(());
    }
    Err(ExecError::TooBigSelect.into())
}

/// No more than `wanted` rows are taken.
fn cut(rows: Rows, wanted: f64) -> Rows {
    let share = if rows.flow && rows.given > wanted { wanted / rows.given } else { 1.0 };
    Rows { examined: rows.examined * share, given: rows.given.min(wanted), ..rows }
}

/// The block that examines most.
struct Most<'p> {
    params: &'p [Datum<'p>],
    examined: f64,
}

impl Most<'_> {
    fn block(&mut self, rows: Rows) {
        self.examined = self.examined.max(rows.examined.round());
    }

    fn of(&mut self, node: &Node) -> Rows {
        match node {
            Node::Read(read) => {
                let rows = read.estimate.rows;
                Rows { examined: rows, given: rows * read.estimate.filtered, flow: true }
            }
            Node::Join { outer, inner, .. } => {
                let (outer, inner) = (self.of(outer), self.of(inner));
                let examined = outer.examined + outer.given * inner.examined;
                Rows { examined, given: outer.given * inner.given, flow: outer.flow }
            }
            Node::HashJoin { probe, build, .. } => {
                let (probe, build) = (self.of(probe), self.of(build));
                let examined = probe.examined + build.examined;
                Rows { examined, given: probe.given.max(build.given), flow: false }
            }
            Node::Group(group) if !group.ends.is_empty() || counts_all(node) => NONE,
            Node::Group(group) => {
                let rows = self.of(&group.input);
                Rows { flow: group.strategy == GroupStrategy::Sorted, ..rows }
            }
            Node::Window(window) => Rows { flow: false, ..self.of(&window.input) },
            Node::Sort { input, .. } => Rows { flow: false, ..self.of(input) },
            Node::Filter { input, .. }
            | Node::Project { input, .. }
            | Node::Distinct { input, .. } => self.of(input),
            Node::Limit { input, skip, count } => {
                let rows = self.of(input);
                match (self.number(skip), self.number(count)) {
                    (Some(skip), Some(count)) => cut(rows, skip + count),
                    _ => rows,
                }
            }
            Node::Derived { query, .. } => self.nested([&**query]),
            Node::SetOp { inputs, .. } => self.nested(inputs),
            Node::Recursive { seeds, .. } => self.nested(seeds),
            _ => NONE,
        }
    }

    fn nested<'q>(&mut self, queries: impl IntoIterator<Item = &'q QueryPlan>) -> Rows {
        for query in queries {
            let rows = self.of(&query.root);
            self.block(rows);
        }
        NONE
    }

    fn number(&self, value: &Expr) -> Option<f64> {
        match value {
            Expr::Const(value) => value.datum().as_u64().map(|n| n as f64),
            Expr::Param(n) => self.params.get(*n)?.as_u64().map(|n| n as f64),
            _ => None,
        }
    }
}

/// `COUNT(*)` of a whole table, which MySQL takes from the storage engine.
fn counts_all(node: &Node) -> bool {
    let Node::Group(group) = node else { return false };
    let whole = |read: &Node| match read {
        Node::Read(read) => matches!(read.access, ReadAccess::Index(_)) && read.filter.is_none(),
        _ => false,
    };
    group.keys.is_empty()
        && whole(&group.input)
        && group.aggregates.iter().all(|call| call.arguments.is_empty())
}
