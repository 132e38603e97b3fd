//! How large a plan is.

use crate::plan::{ChangePlan, InsertPlan, InsertSource, Plan};
use crate::query_plan::{Node, QueryPlan, QueryStatement};

impl Plan {
    /// The number of its operators and columns.
    pub fn size(&self) -> usize {
        match self {
            Plan::Query(query) | Plan::Do(query) => statement(query),
            Plan::Insert(insert) => self::insert(insert),
            Plan::Change(change) => self::change(change),
            Plan::Load(load) => self::insert(&load.insert),
        }
    }
}

fn insert(insert: &InsertPlan) -> usize {
    let subqueries = insert.subqueries.as_ref().map_or(0, |query| statement(query));
    subqueries
        + match &insert.source {
            InsertSource::Values(rows) => rows.iter().map(Vec::len).sum(),
            InsertSource::Query(query) => statement(query),
        }
}

fn change(change: &ChangePlan) -> usize {
    statement(&change.query)
}

fn statement(query: &QueryStatement) -> usize {
    let shared: usize = query.shared.iter().map(|s| block(&s.query)).sum();
    shared + block(&query.query)
}

fn block(plan: &QueryPlan) -> usize {
    let subplans: usize = plan.subplans.iter().map(|s| block(&s.query)).sum();
    plan.leaves.len() + plan.outputs.len() + subplans + node(&plan.root)
}

fn node(root: &Node) -> usize {
    1 + match root {
        Node::One
        | Node::Nothing { .. }
        | Node::Virtual { .. }
        | Node::Shared { .. }
        | Node::Working { .. }
        | Node::Values { .. }
        | Node::JsonTable { .. }
        | Node::Read(_) => 0,
        Node::Derived { query, .. } => block(query),
        Node::Join { outer: a, inner: b, .. } | Node::HashJoin { probe: a, build: b, .. } => {
            node(a) + node(b)
        }
        Node::Filter { input, .. }
        | Node::Sort { input, .. }
        | Node::Limit { input, .. }
        | Node::Project { input, .. }
        | Node::Distinct { input, .. } => node(input),
        Node::Group(group) => node(&group.input),
        Node::Window(window) => node(&window.input),
        Node::SetOp { inputs, .. } => inputs.iter().map(block).sum(),
        Node::Recursive { seeds, steps, .. } => seeds.iter().chain(steps).map(block).sum(),
    }
}
