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
            Plan::Virtual(change) => statement(&change.query),
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
    let (inputs, blocks) = (root.inputs().map(node), root.blocks().map(block));
    1 + inputs.chain(blocks).sum::<usize>()
}
