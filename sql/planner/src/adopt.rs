//! A plan's tables, for who takes over the plan of another session.

use crate::literals::Probe;
use crate::plan::{ChangePlan, InsertPlan, InsertSource, Plan};
use crate::query_plan::{LeafLayout, Node, QueryPlan, QueryStatement};
use catalog::TableRef;

/// What is done to each table.
type Change<'c> = &'c mut dyn FnMut(&mut TableRef);

impl Plan {
    /// Calls `f` for every place where the plan names a table; the number of operators and columns.
    pub fn for_each_table(&mut self, f: Change<'_>) -> usize {
        match self {
            Plan::Query(query) | Plan::Do(query) => statement(query, f),
            Plan::Insert(insert) => self::insert(insert, f),
            Plan::Change(change) => self::change(change, f),
            Plan::Load(load) => self::insert(&mut load.insert, f),
        }
    }
}

impl Probe {
    /// The table that was measured.
    pub fn table_mut(&mut self) -> &mut TableRef {
        &mut self.table
    }
}

fn insert(insert: &mut InsertPlan, f: Change<'_>) -> usize {
    f(&mut insert.table);
    insert.tables.iter_mut().for_each(|(table, _)| f(table));
    let asked = insert.asked.as_mut().map_or(0, |asked| statement(asked, f));
    asked
        + match &mut insert.source {
            InsertSource::Values(rows) => rows.iter().map(Vec::len).sum(),
            InsertSource::Query(query) => statement(query, f),
        }
}

fn change(change: &mut ChangePlan, f: Change<'_>) -> usize {
    change.targets.iter_mut().for_each(|target| f(&mut target.table));
    statement(&mut change.query, f)
}

fn statement(query: &mut QueryStatement, f: Change<'_>) -> usize {
    query.tables.iter_mut().for_each(|(table, _)| f(table));
    let shared: usize = query.shared.iter_mut().map(|s| block(&mut s.query, f)).sum();
    shared + block(&mut query.query, f)
}

fn block(plan: &mut QueryPlan, f: Change<'_>) -> usize {
    for leaf in &mut plan.leaves {
        if let LeafLayout::Table(table) = &mut leaf.layout {
            f(table);
        }
    }
    let subplans: usize = plan.subplans.iter_mut().map(|s| block(&mut s.query, f)).sum();
    plan.leaves.len() + plan.outputs.len() + subplans + node(&mut plan.root, f)
}

fn node(root: &mut Node, f: Change<'_>) -> usize {
    1 + match root {
        Node::One
        | Node::Nothing { .. }
        | Node::Virtual { .. }
        | Node::Shared { .. }
        | Node::Working { .. }
        | Node::Values { .. }
        | Node::JsonTable { .. } => 0,
        Node::Read(read) => {
            f(&mut read.table);
            0
        }
        Node::Derived { query, .. } => block(query, f),
        Node::Join { outer: a, inner: b, .. } | Node::HashJoin { probe: a, build: b, .. } => {
            node(a, f) + node(b, f)
        }
        Node::Filter { input, .. }
        | Node::Sort { input, .. }
        | Node::Limit { input, .. }
        | Node::Project { input, .. }
        | Node::Distinct { input, .. } => node(input, f),
        Node::Group(group) => {
            group.ends.iter_mut().for_each(|read| f(&mut read.table));
            node(&mut group.input, f)
        }
        Node::Window(window) => node(&mut window.input, f),
        Node::SetOp { inputs, .. } => inputs.iter_mut().map(|p| block(p, f)).sum(),
        Node::Recursive { seeds, steps, .. } => {
            seeds.iter_mut().chain(steps).map(|p| block(p, f)).sum()
        }
    }
}
