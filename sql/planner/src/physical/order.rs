//! The order that rows have by the way they are read.
//!
//! 1. Nested loops keep the order of their outer side; a hash join that spills does not. 2. Columns that equal a constant do not count. 3. Only
//!    whole parts order by a column; text does so under the index's own collation, which is the column's.

use super::Leaves;
use crate::literals::Literals;
use crate::logical::leaves_of;
use crate::plan::SortKey;
use crate::query_plan::{Estimate, GroupStrategy, LastPart, Node, Read, ReadAccess};
use catalog::{IndexDef, TableCache, TableDef};
use expr::tree::{Column, Comparison, Expr, Typed};

/// Columns that have one value in all rows.
#[derive(Debug, Default)]
pub(crate) struct Fixed {
    columns: Vec<Column>,
}

impl Fixed {
    /// Whether a column is one of them.
    pub(crate) fn has(&self, column: &Column) -> bool {
        self.columns.contains(column)
    }

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
        Node::Filter { input, .. }
        | Node::Limit { input, .. }
        | Node::Distinct { input, sorted: true, .. } => driver(input),
        Node::Join { outer, .. } => driver(outer),
        _ => None,
    }
}

fn driver_mut(node: &mut Node) -> Option<&mut Read> {
    match node {
        Node::Read(read) => Some(read),
        Node::Filter { input, .. }
        | Node::Limit { input, .. }
        | Node::Distinct { input, sorted: true, .. } => driver_mut(input),
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
        ReadAccess::Index(_) | ReadAccess::Merge(_) | ReadAccess::Groups(_) => 0,
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
        fixed.has(&place) || columns[..equal.min(columns.len())].contains(&column)
    };
    for key in keys {
        let Expr::Column(place) = &key.value.expr else { return None };
        if fixed.has(place) {
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
    let equal = equal_parts(&read.access);
    let descending = fits(&parts(def, index), equal, read.leaf, leaves, fixed, keys)?;
    (turns(read) || !descending).then_some(descending)
}

/// Makes rows with equal keys, which may stand in any order, come side by side without a sort if that is cheap; true if
/// they do.
pub(crate) fn side_by_side(
    tables: &TableCache,
    node: &mut Node,
    leaves: &Leaves,
    fixed: &Fixed,
    keys: &[Typed],
) -> bool {
    let Some((table, leaf)) = driver(node).map(|read| (read.table, read.leaf)) else {
        return false;
    };
    let def = tables.def(table);
    def.indexes.iter().any(|index| {
        let arranged = arranged(&parts(def, index), leaf, fixed, keys);
        arranged.is_some_and(|keys| settle(tables, node, leaves, fixed, &keys, false))
    })
}

/// The keys in the order of an index's parts.
fn arranged(
    parts: &[(usize, bool)],
    leaf: u16,
    fixed: &Fixed,
    keys: &[Typed],
) -> Option<Vec<SortKey>> {
    let mut placed = Vec::new();
    for key in keys {
        let Expr::Column(column) = &key.expr else { return None };
        if fixed.has(column) {
            continue;
        }
        let is_part = |(part, _): &(usize, bool)| *part == usize::from(column.column);
        let place = parts.iter().position(is_part)?;
        if column.depth != 0 || column.leaf != leaf {
            return None;
        }
        placed.push((place, SortKey { value: key.clone(), descending: parts[place].1 }));
    }
    placed.sort_by_key(|(place, _)| *place);
    Some(placed.into_iter().map(|(_, key)| key).collect())
}

/// Whether groups come in the order of the keys, which are theirs, or can be made to.
pub(crate) fn of_groups(node: &mut Node, keys: &[SortKey]) -> bool {
    let group = match node {
        Node::Filter { input, .. } => return of_groups(input, keys),
        Node::Group(group) if group.strategy == GroupStrategy::Sorted && !group.rollup => group,
        _ => return false,
    };
    let leaf = group.leaf;
    let is_next = |(n, key): (usize, &SortKey)| {
        let Some(own) = group.keys.get(n) else { return false };
        key.value.expr == Expr::Column(Column { depth: 0, leaf, column: n as u16 })
            && (!own.ty.kind.is_string() || own.ty.collation == key.value.ty.collation)
    };
    if !keys.iter().enumerate().all(is_next) {
        return false;
    }
    if keys.iter().all(|key| !key.descending) {
        return true;
    }
    match driver_mut(&mut group.input) {
        Some(read) if keys.iter().all(|key| key.descending) && turns(read) => {
            read.descending = !read.descending;
            true
        }
        _ => false,
    }
}

/// So many rows are wanted of those that come in the order of an index: no more of it are read than it takes.
pub(crate) fn expect_few(node: &mut Node, wanted: f64) {
    let Some(read) = driver_mut(node) else { return };
    let Estimate { rows, cost, filtered } = &mut read.estimate;
    if matches!(read.access, ReadAccess::Index(_)) && read.ordered {
        let taken = (wanted / filtered.max(f64::EPSILON)).clamp(1.0, rows.max(1.0));
        *cost *= taken / rows.max(1.0);
        *rows = taken;
    }
}

/// Whether a read can go the other way.
fn turns(read: &Read) -> bool {
    !matches!(read.access, ReadAccess::Merge(_) | ReadAccess::Groups(_))
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
        (read.descending, read.ordered) = (descending, true);
        return true;
    }
    if matches!(node, Node::Distinct { .. }) {
        return false;
    }
    let Some(read) = driver_mut(node) else { return false };
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
            (read.descending, read.ordered) = (descending, true);
            return true;
        }
    }
    false
}
