//! Names of the places that expressions of a running block look at, for messages that quote an expression.
//!
//! 1. A column is named by its schema, the alias of its table and itself; a value that the block has computed
//! by what it was computed from.

use super::Statement;
use expr::tree::Column;
use expr::{Expr, print};
use planner::query_plan::{LeafLayout, Node, QueryPlan, WindowFunction};
use std::fmt::Write;

/// The names of one block.
pub struct BlockNames<'r> {
    /// The statement.
    pub st: &'r Statement<'r>,
    /// The block's plan.
    pub plan: &'r QueryPlan,
}

/// The names of a table's columns, as a statement calls the table, where its row is the first leaf.
pub struct TableNames<'r> {
    /// The table.
    pub def: &'r catalog::TableDef,
    /// Its alias.
    pub alias: &'r str,
}

impl print::Names for TableNames<'_> {
    fn column(&self, column: Column) -> String {
        let name = named(self.def, self.alias, usize::from(column.column));
        // Behind the row there may be the one that an INSERT brings.
        if column.leaf == 0 { name } else { format!("values({name})") }
    }
}

fn named(def: &catalog::TableDef, alias: &str, position: usize) -> String {
    let name = def.columns.get(position).map_or("", |c| &c.name);
    quoted([&def.schema, alias, name])
}

fn quoted(parts: [&str; 3]) -> String {
    let mut out = String::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let dot = if out.is_empty() { "" } else { "." };
        let _ = write!(out, "{dot}`{}`", part.replace('`', "``"));
    }
    out
}

impl print::Names for BlockNames<'_> {
    fn column(&self, column: Column) -> String {
        let Some(leaf) = self.plan.leaves.get(usize::from(column.leaf)) else {
            return quoted(["", "", "?"]);
        };
        let position = usize::from(column.column);
        match &leaf.layout {
            LeafLayout::Table(table) => named(self.st.tables.def(*table), &leaf.name, position),
            LeafLayout::Virtual(table) => named(table.def(), &leaf.name, position),
            LeafLayout::Made(_) => self
                .made(&self.plan.root, column.leaf, position)
                .unwrap_or_else(|| quoted(["", &leaf.name, ""])),
        }
    }
}

impl BlockNames<'_> {
    fn text(&self, expr: &Expr) -> String {
        print::expression(expr, Some(self))
    }

    /// What a column of a computed leaf was computed from.
    fn made(&self, node: &Node, leaf: u16, column: usize) -> Option<String> {
        match node {
            Node::Group(group) if group.leaf == leaf => {
                let keys = group.keys.len();
                match group.keys.get(column) {
                    Some(key) => Some(self.text(&key.expr)),
                    None => group.aggregates.get(column - keys).map(|call| self.aggregate(call)),
                }
            }
            Node::Group(group) => self.made(&group.input, leaf, column),
            Node::Window(window) if window.leaf == leaf => {
                match &window.functions.get(column)?.function {
                    WindowFunction::Aggregate(call) => Some(self.aggregate(call)),
                    _ => None,
                }
            }
            Node::Window(window) => self.made(&window.input, leaf, column),
            Node::Project { leaf: own, values, .. } if *own == leaf => {
                values.get(column).map(|v| self.text(&v.expr))
            }
            Node::Derived { leaf: own, query, .. } if *own == leaf => {
                let name = &self.plan.leaves.get(usize::from(leaf))?.name;
                query.outputs.get(column).map(|o| quoted(["", name, &o.column.name]))
            }
            Node::SetOp { leaf: own, inputs, .. } if *own == leaf => {
                let name = &self.plan.leaves.get(usize::from(leaf))?.name;
                let output = inputs.first()?.outputs.get(column);
                // One that no nested query's name was given to has columns without names, too.
                output
                    .filter(|_| !name.starts_with('<'))
                    .map(|o| quoted(["", name, &o.column.name]))
            }
            Node::Working { leaf: own, columns, .. } if *own == leaf => {
                let name = &self.plan.leaves.get(usize::from(leaf))?.name;
                columns.get(column).map(|c| quoted(["", name, c]))
            }
            Node::Recursive { leaf: own, columns, .. } if *own == leaf => {
                let name = &self.plan.leaves.get(usize::from(leaf))?.name;
                columns.get(column).map(|c| quoted(["", name, &c.name]))
            }
            Node::Shared { leaf: own, shared, .. } if *own == leaf => {
                let name = &self.plan.leaves.get(usize::from(leaf))?.name;
                let query = &self.st.shared.get(*shared)?.query;
                query.outputs.get(column).map(|o| quoted(["", name, &o.column.name]))
            }
            Node::Project { input, .. }
            | Node::Filter { input, .. }
            | Node::Sort { input, .. }
            | Node::Limit { input, .. }
            | Node::Distinct { input, .. } => self.made(input, leaf, column),
            Node::Join { outer: a, inner: b, .. } | Node::HashJoin { probe: a, build: b, .. } => {
                self.made(a, leaf, column).or_else(|| self.made(b, leaf, column))
            }
            _ => None,
        }
    }

    fn aggregate(&self, call: &expr::aggregate::AggregateCall) -> String {
        let arguments: Vec<String> = call.arguments.iter().map(|a| self.text(&a.expr)).collect();
        match (call.arguments.as_slice(), *call.function == expr::aggregate::ANY_VALUE) {
            ([argument], true) => self.text(&argument.expr),
            ([], _) => format!("{}(0)", call.function.name),
            _ => {
                let distinct = if call.distinct { "distinct " } else { "" };
                format!("{}({distinct}{})", call.function.name, arguments.join(","))
            }
        }
    }
}
