//! EXPLAIN's `possible_keys`.
//!
//! 1. An index is possible whose first part is compared, or that has all columns by which rows are grouped, or all that are needed
//! where its first parts are skipped, or that is used.

use super::names::Names;
use super::tree::index_of;
use crate::query_plan::{GroupPurpose, Node, Read, ReadAccess};
use catalog::{IndexDef, TableDef};
use expr::tree::Expr;

/// Indexes that a read could use, by name.
pub(super) fn possible_keys(read: &Read, def: &TableDef, names: &Names<'_>) -> Option<String> {
    let compared: Vec<usize> = columns_of(&read.filter)
        .into_iter()
        .filter_map(|(leaf, column)| (leaf == read.leaf).then_some(column))
        .collect();
    let used: Vec<&String> = read
        .access
        .indexes()
        .into_iter()
        .filter_map(|index| index_of(def, index).map(|i| &i.name))
        .collect();
    let narrowed = !matches!(read.access, ReadAccess::Index(_));
    let grouped = match &read.access {
        ReadAccess::Groups(scan) if scan.purpose == GroupPurpose::Rows => {
            names.needed(read.leaf).to_vec()
        }
        _ => grouping_columns(names.root(), read.leaf),
    };
    let has = |index: &IndexDef, column: &usize| {
        let clustered = def.indexes.iter().filter(|i| i.clustered);
        let mut parts = clustered.chain([index]).flat_map(|i| &i.parts);
        parts.any(|part| part.column == *column && part.prefix_chars.is_none())
    };
    let is_possible = |index: &&IndexDef| {
        let first = index.parts.first();
        !index.attributes.invisible && first.is_some_and(|p| compared.contains(&p.column))
            || narrowed && used.contains(&&index.name)
            || !index.attributes.invisible
                && !grouped.is_empty()
                && grouped.iter().all(|column| has(index, column))
    };
    let names: Vec<&str> =
        def.indexes.iter().filter(is_possible).map(|i| i.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(","))
}

/// Columns of a leaf by which the rows are grouped, or told apart; none where there are others', too.
fn grouping_columns(node: &Node, leaf: u16) -> Vec<usize> {
    let columns = match node {
        Node::Filter { input, .. } | Node::Sort { input, .. } | Node::Limit { input, .. } => {
            return grouping_columns(input, leaf);
        }
        Node::Distinct { keys, .. } => columns_of(keys.iter().map(|k| &k.expr)),
        Node::Group(group) if group.keys.is_empty() => {
            let different = group.aggregates.iter().filter(|call| call.counts_distinct());
            columns_of(different.flat_map(|call| &call.arguments).map(|a| &a.expr))
        }
        Node::Group(group) => columns_of(group.keys.iter().map(|k| &k.expr)),
        _ => Vec::new(),
    };
    match columns.iter().all(|(own, _)| *own == leaf) {
        true => columns.into_iter().map(|(_, column)| column).collect(),
        false => Vec::new(),
    }
}

/// The columns that expressions look at, with their leaves.
fn columns_of<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<(u16, usize)> {
    let mut columns = Vec::new();
    for expr in exprs {
        expr.visit(&mut |e| {
            if let Expr::Column(c) = e
                && c.depth == 0
            {
                columns.push((c.leaf, usize::from(c.column)));
            }
        });
    }
    columns
}
