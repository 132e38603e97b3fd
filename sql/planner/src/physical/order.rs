//! The order that rows have by the way they are read.
//!
//! 1. Nested loops keep the order of their outer side; a hash join that spills does not. 2. Columns that equal a constant do not count. 3. Only
//!    whole parts order by a column; text does so under the index's own collation, which is the column's.

use super::Leaves;
use crate::literals::Literals;
use crate::logical::leaves_of;
use crate::plan::SortKey;
use crate::query_plan::{LastPart, Node, Read, ReadAccess};
use catalog::{IndexDef, TableCache, TableDef};
use expr::tree::{Column, Comparison, Expr};

/// Columns that have one value in all rows.
#[derive(Debug, Default)]
pub(crate) struct Fixed {
    columns: Vec<Column>,
}

impl Fixed {
    /// Columns that the filter sets equal to a constant.
    pub(crate) fn of(leaves: &Leaves, filter: &[Expr], literals: &Literals) -> Fixed {
        // Many texts equal one number.
        let single = |c: &Column, value: &Expr| {
            let ty = &leaves.list[usize::from(c.leaf)].columns[usize::from(c.column)].ty;
            let value = match value {
                Expr::Const(value) => Some(value),
                Expr::Param(number) => literals.values().get(*number),
                _ => None,
            };
            let text = matches!(value, Some(expr::OwnedDatum::Bytes(_)));
            !ty.kind.is_string() || text
        };
        let mut columns = Vec::new();
        for e in filter {
            let Expr::Compare(Comparison::Eq, a, b, _) = e else { continue };
            for (column, value) in [(a, b), (b, a)] {
                if let Expr::Column(c) = &**column
                    && c.depth == 0
                    && leaves_of(value) == 0
                    && matches!(&**value, Expr::Const(_) | Expr::Param(_))
                    && single(c, value)
                {
                    columns.push(*c);
                }
            }
        }
        Fixed { columns }
    }
}

/// The read that drives a node's rows.
fn driver(node: &Node) -> Option<&Read> {
    match node {
        Node::Read(read) => Some(read),
        Node::Filter { input, .. } | Node::Limit { input, .. } => driver(input),
        Node::Join { outer, .. } => driver(outer),
        _ => None,
    }
}

fn driver_mut(node: &mut Node) -> Option<&mut Read> {
    match node {
        Node::Read(read) => Some(read),
        Node::Filter { input, .. } | Node::Limit { input, .. } => driver_mut(input),
        Node::Join { outer, .. } => driver_mut(outer),
        _ => None,
    }
}

/// Columns by which an index orders its rows, and whether descending.
pub(super) fn parts(def: &TableDef, index: &IndexDef) -> Vec<(usize, bool)> {
    let whole = |i: &IndexDef| {
        i.parts
            .iter()
            .take_while(|p| p.prefix_chars.is_none())
            .map(|p| (p.column, p.descending))
            .collect::<Vec<_>>()
    };
    let mut columns = whole(index);
    if !index.clustered
        && columns.len() == index.parts.len()
        && let Some(primary) = def.clustered()
    {
        columns.extend(whole(primary));
    }
    columns
}

/// Position in the definition's list of an engine index.
fn position(def: &TableDef, index: usize) -> Option<usize> {
    let position = index.checked_sub(usize::from(def.clustered().is_none()))?;
    (position < def.indexes.len()).then_some(position)
}

/// Parts with one value per opening.
fn equal_parts(access: &ReadAccess) -> usize {
    match access {
        ReadAccess::Index(_) | ReadAccess::Merge(_) => 0,
        ReadAccess::Point { key, .. } | ReadAccess::Lookup { key, .. } => key.len(),
        ReadAccess::Ranges { ranges, .. } => match &ranges[..] {
            [range] => {
                debug_assert!(range.last != LastPart::Any || !range.equal.is_empty());
                range.equal.len()
            }
            _ => 0,
        },
    }
}

/// Whether an index in order gives the keys' order: forward or backward.
fn fits(
    parts: &[(usize, bool)],
    equal: usize,
    leaf: u16,
    leaves: &Leaves,
    fixed: &Fixed,
    keys: &[SortKey],
) -> Option<bool> {
    let mut direction = None;
    let mut at = 0;
    let columns: Vec<usize> = parts.iter().map(|(column, _)| *column).collect();
    let is_fixed = |column: usize| {
        let place = Column { depth: 0, leaf, column: column as u16 };
        fixed.columns.contains(&place) || columns[..equal.min(columns.len())].contains(&column)
    };
    for key in keys {
        let Expr::Column(place) = &key.value.expr else { return None };
        if fixed.columns.contains(place) {
            continue;
        }
        if place.depth != 0 || place.leaf != leaf {
            return None;
        }
        let column = usize::from(place.column);
        if is_fixed(column) || columns[..at].contains(&column) {
            continue;
        }
        let ty = &leaves.list[usize::from(leaf)].columns[column].ty;
        if ty.kind.is_string() && ty.collation != key.value.ty.collation {
            return None;
        }
        while columns.get(at).is_some_and(|c| is_fixed(*c)) {
            at += 1;
        }
        if columns.get(at) != Some(&column) {
            return None;
        }
        let backward = key.descending != parts[at].1;
        at += 1;
        if *direction.get_or_insert(backward) != backward {
            return None;
        }
    }
    Some(direction.unwrap_or(false))
}

/// Whether rows come in the order of the keys as they are read now.
pub(crate) fn already(
    tables: &TableCache,
    node: &Node,
    leaves: &Leaves,
    fixed: &Fixed,
    keys: &[SortKey],
) -> bool {
    let Some(read) = driver(node) else { return false };
    direction(tables, read, leaves, fixed, keys) == Some(read.descending)
}

fn direction(
    tables: &TableCache,
    read: &Read,
    leaves: &Leaves,
    fixed: &Fixed,
    keys: &[SortKey],
) -> Option<bool> {
    // As in MySQL, the order in which several indexes name rows is nobody's.
    if matches!(read.access, ReadAccess::Merge(_)) {
        return None;
    }
    let def = tables.def(read.table);
    let index = &def.indexes[position(def, read.access.index())?];
    fits(&parts(def, index), equal_parts(&read.access), read.leaf, leaves, fixed, keys)
}

/// Whether rows with equal keys come side by side: the keys are the next parts in any order.
pub(crate) fn grouped(
    tables: &TableCache,
    node: &Node,
    leaves: &Leaves,
    fixed: &Fixed,
    keys: &[SortKey],
) -> bool {
    already(tables, node, leaves, fixed, keys)
}

/// Makes the rows come in the order of the keys without a sort if that is cheap; true if they do.
pub(crate) fn settle(
    tables: &TableCache,
    node: &mut Node,
    leaves: &Leaves,
    fixed: &Fixed,
    keys: &[SortKey],
    limited: bool,
) -> bool {
    let Some(read) = driver_mut(node) else { return false };
    if let Some(descending) = direction(tables, read, leaves, fixed, keys) {
        read.descending = descending;
        return true;
    }
    // Another index in whole: when few rows are wanted, or when it has all that is needed, as that of the
    // rows themselves has.
    if !matches!(read.access, ReadAccess::Index(_)) {
        return false;
    }
    let def = tables.def(read.table);
    let source = &leaves.list[usize::from(read.leaf)];
    for (number, index) in def.indexes.iter().enumerate() {
        let covers = leaves.covers(read.leaf, def, index);
        if index.attributes.invisible
            || !source.hints.order.allows(&index.name)
            || !(limited || covers || index.clustered)
        {
            continue;
        }
        let columns = parts(def, index);
        if let Some(descending) = fits(&columns, 0, read.leaf, leaves, fixed, keys) {
            read.access = ReadAccess::Index(number + usize::from(def.clustered().is_none()));
            read.covering = covers;
            read.descending = descending;
            return true;
        }
    }
    false
}
