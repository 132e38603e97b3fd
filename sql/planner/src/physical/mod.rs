//! From blocks to operators.
//!
//! Reading order: this file (the steps of a block behind its joins), [`members`] (what is joined under
//! which conditions), [`access`] (how one table is read), [`merge`] (by several indexes at once), [`ends`] (MIN and MAX
//! without reading it), [`loose`] (some rows of each group), [`skip`] (ranges behind the first parts of an index), [`guess`] (how many rows a range has), [`join`] (in which
//! order, and how), [`order`] (what order rows have already), [`grouping`] (GROUP BY and DISTINCT),
//! [`variables`] (when user variables are assigned).
//!
//! 1. Conditions are checked by filters; access paths only narrow what is read. 2. A block's leaves are
//!    numbered as in the block; those of grouping, windows and projection follow.

mod access;
mod ends;
mod grouping;
mod guess;
mod hash_key;
mod join;
mod locked;
mod loose;
mod members;
mod merge;
mod order;
mod skip;
mod variables;

use crate::PlanContext;
use crate::error::PlanError;
use crate::literals::Literals;
use crate::logical::{
    Block, GROUP_LEAF, Leaf, Source, WINDOW_LEAF, WindowUse, column_of, conjunction, leaf_bit,
    leaves_of, subquery_of,
};
use crate::plan::SortKey;
use crate::query_plan::{
    LeafDef, LeafLayout, Node, QueryPlan, SharedQuery, Subplan, SubplanKind, Window,
};
use crate::resolve::SharedBlock;
use crate::stats::Statistics;
use crate::transform::{LEAVES_MAX, is_volatile, transform};
use catalog::{IndexDef, TableCache, TableDef};
use expr::SqlError;
use expr::aggregate::AggregateCall;
use expr::tree::{Column, Expr, OwnedDatum, Typed};
pub(crate) use guess::bounds;
use std::collections::BTreeSet;
use value::{ColumnType, KeyPart, Kind};

/// Plans the blocks of one statement.
pub(crate) struct Planner<'a> {
    pub(crate) tables: &'a TableCache,
    pub(crate) literals: &'a Literals,
    pub(crate) statistics: &'a dyn Statistics,
    pub(crate) shared: &'a [SharedBlock],
    /// User variables that the statement assigns.
    pub(crate) assigned: &'a [String],
    /// Where each shared block went in `done`.
    pub(crate) shared_at: Vec<Option<usize>>,
    pub(crate) done: Vec<SharedQuery>,
    /// The rows are locked though nothing says so: others are made of them, they tell what is changed, or they are
    /// shown by a SERIALIZABLE transaction.
    pub(crate) locks: bool,
    /// Bits of `optimizer_switch`.
    pub(crate) switches: u64,
    /// No table is read by several indexes that together name its rows, unless as one alternative of several.
    pub(crate) no_intersections: bool,
}

/// Leaves and what is known about them while a block is planned.
pub(crate) struct Leaves {
    pub(crate) list: Vec<Leaf>,
    pub(crate) needed: Vec<BTreeSet<usize>>,
    /// Leaves that each subquery of the block looks at.
    pub(crate) subqueries: Vec<u64>,
    /// Leaves whose rows are to be changed.
    pub(crate) targets: Vec<u16>,
    /// User variables that the statement assigns.
    pub(crate) assigned: Vec<String>,
}

impl Leaves {
    /// Whether every needed column of a leaf can be read off an index's entries: its parts and the
    /// primary key's, as far as values can be made of their keys (not of those of text). Rows that are to
    /// be changed have to be visited.
    pub(crate) fn covers(&self, leaf: u16, def: &TableDef, index: &IndexDef) -> bool {
        let inside = |column: &usize| {
            let ty = &def.columns[*column].ty;
            // The clustered index has the columns themselves.
            let gives = |p: &KeyPart| index.clustered || p.gives_back(ty);
            let part = |i: &IndexDef| {
                i.parts.iter().any(|p| p.column == *column && p.prefix_chars.is_none() && gives(p))
            };
            part(index) || def.clustered().is_some_and(part)
        };
        !self.targets.contains(&leaf) && self.needed[usize::from(leaf)].iter().all(inside)
    }

    /// Leaves that an expression looks at, itself or by its subqueries.
    pub(crate) fn looked_at(&self, expr: &Expr) -> u64 {
        let mut leaves = leaves_of(expr);
        expr.visit(&mut |e| {
            if let Some(number) = subquery_of(e) {
                leaves |= self.subqueries.get(number).copied().unwrap_or(0);
            }
        });
        leaves
    }

    /// Whether an expression runs a subquery that depends on rows of the block.
    pub(crate) fn runs_for_each_row(&self, expr: &Expr) -> bool {
        let mut runs = false;
        expr.visit(&mut |e| {
            runs |= subquery_of(e).is_some_and(|n| self.subqueries.get(n).is_some_and(|l| *l != 0));
        });
        runs
    }

    /// Leaves of this block that a leaf's source looks at: of LATERAL, and of what was nested in a
    /// subquery that became a join or in a nested query that was merged, be it a set operation, VALUES
    /// or a recursion. They come before it, and its rows are made anew for each row of theirs.
    pub(crate) fn source_looks_at(&self, leaf: u16) -> u64 {
        let nested = |found: u64, block: &Block| found | outer_leaves(&mut block.clone());
        let value = |found: u64, value: &Typed| found | self.looked_at(&value.expr);
        match &self.list[usize::from(leaf)].source {
            Source::Derived { block, .. } => nested(0, block),
            Source::Set { inputs, .. } => inputs.iter().fold(0, nested),
            Source::Recursive { seeds, steps, .. } => seeds.iter().chain(steps).fold(0, nested),
            Source::Values(rows) => rows.iter().flatten().fold(0, value),
            Source::JsonTable { document, .. } => value(0, document),
            Source::Table(_) | Source::Virtual(_) | Source::Shared(_) | Source::Working(_) => 0,
        }
    }
}

impl<'a> Planner<'a> {
    pub(crate) fn new(
        context: &'a PlanContext<'_>,
        statistics: &'a dyn Statistics,
        shared: &'a [SharedBlock],
    ) -> Self {
        let (tables, literals) = (&*context.tables, &context.literals);
        let shared_at = vec![None; shared.len()];
        let switches = context.settings.optimizer_switch;
        let done = Vec::new();
        let no_intersections = false;
        Planner {
            tables,
            literals,
            statistics,
            shared,
            assigned: &context.assigned,
            shared_at,
            done,
            locks: false,
            switches,
            no_intersections,
        }
    }

    /// Plans a block that was transformed.
    pub(crate) fn block(&mut self, mut block: Block) -> Result<QueryPlan, SqlError> {
        if block.leaves.len() > LEAVES_MAX {
            return Err(PlanError::TooManyTables(LEAVES_MAX).into());
        }
        let outer_depth = block.outer_depth();
        let needed = needed_columns(&mut block);
        // Takes the windows out of the block, whose expressions count for what is needed.
        let windows = number_leaves(&mut block);
        let mut defs = self.leaf_defs(&block, &needed);
        let subqueries = block.subqueries.iter_mut().map(|s| outer_leaves(&mut s.block)).collect();
        let (list, targets) = (std::mem::take(&mut block.leaves), block.targets.clone());
        let assigned = self.assigned.to_vec();
        let mut leaves = Leaves { list, needed, subqueries, targets, assigned };
        let mut node = self.joined(&mut block, &mut leaves)?;
        if block.group.is_none() && !block.distinct {
            self.skipping(&mut node, &mut leaves);
        }
        let mut fixed = order::Fixed::of(&leaves, &block.filter, self.literals);
        let mut computed = None;
        if let Some(mut group) = block.group.take() {
            let leaf = defs.len() as u16;
            defs.push(made_leaf(
                "<temporary>",
                group_types(&group.keys, &group.aggregates, group.rollup),
            ));
            if group.keys.is_empty() {
                // One row has any order.
                block.order_by.clear();
                block.distinct = false;
            }
            let asked = leaves.subqueries.iter().any(|seen| seen & leaf_bit(leaf) != 0);
            let alone = windows.is_empty() && !asked;
            if group.keys.iter().any(|key| any(&key.expr, is_volatile)) {
                // Leaves are numbered: this one comes behind those of the windows.
                let behind = leaf + 1 + windows.len() as u16;
                computed = Some(grouping::computed_once(&mut node, &mut group, behind));
            }
            node = self.grouped((node, alone), group, leaf, &leaves, &fixed);
            fixed = order::Fixed::default();
        }
        if let Some(filter) = conjunction(cheap_first(std::mem::take(&mut block.having))) {
            node = Node::Filter { input: Box::new(node), filter };
        }
        for (leaf, uses) in windows {
            let types = uses.iter().map(|w| stored(w.call.ty, w.call.ty.decimals)).collect();
            defs.push(made_leaf("<window>", types));
            node = window_node(node, leaf, uses);
        }
        defs.extend(computed);
        node = self.finished(node, &mut block, &mut defs, &leaves, &fixed)?;
        let subplans = self.subplans(&mut block)?;
        for (def, needed) in defs.iter_mut().zip(&leaves.needed) {
            def.needed = needed.iter().copied().collect();
        }
        for target in &block.targets {
            defs[usize::from(*target)].keyed = true;
        }
        Ok(QueryPlan { root: node, leaves: defs, outputs: block.outputs, subplans, outer_depth })
    }

    fn leaf_defs(&self, block: &Block, needed: &[BTreeSet<usize>]) -> Vec<LeafDef> {
        let defs = block.leaves.iter().zip(needed).map(|(leaf, needed)| LeafDef {
            name: leaf.name.clone(),
            layout: match &leaf.source {
                Source::Table(table) => LeafLayout::Table(*table),
                Source::Virtual(table) => LeafLayout::Virtual(table.clone()),
                _ => LeafLayout::Made(
                    leaf.columns.iter().map(|c| stored(c.ty, c.decimals)).collect(),
                ),
            },
            needed: needed.iter().copied().collect(),
            keyed: false,
        });
        defs.collect()
    }

    /// DISTINCT, ORDER BY and LIMIT.
    fn finished(
        &mut self,
        mut node: Node,
        block: &mut Block,
        defs: &mut Vec<LeafDef>,
        leaves: &Leaves,
        fixed: &order::Fixed,
    ) -> Result<Node, SqlError> {
        let any_output =
            |wanted: fn(&Expr) -> bool| block.outputs.iter().any(|o| any(&o.value.expr, wanted));
        // What is random is computed before it is sorted only if that looks at it.
        let random = any_output(is_volatile)
            && (block.distinct || block.order_by.iter().any(|k| any(&k.value.expr, is_volatile)));
        let settled = any_output(evaluate_once)
            && (block.distinct || !variables::assigned_in_order(&node, block));
        let once = block.targets.is_empty() && (random || settled);
        if block.distinct || once && !block.order_by.is_empty() {
            if once {
                node = project(node, block, defs);
            }
            if block.distinct {
                let keys = block.outputs.iter().map(|o| o.value.clone()).collect();
                node = self.distinct(node, keys, leaves, fixed);
            }
        }
        let keys: Vec<SortKey> = std::mem::take(&mut block.order_by)
            .into_iter()
            .filter(|key| !matches!(key.value.expr, Expr::Const(_) | Expr::Param(_)))
            .collect();
        let limit = block.limit.take();
        if !keys.is_empty() {
            let limited = limit.is_some();
            let settled = order::settle(self.tables, &mut node, leaves, fixed, &keys, limited)
                || order::of_groups(&mut node, &keys);
            if settled && let Some(wanted) = limit.as_ref().and_then(|l| self.rows_needed(l)) {
                order::expect_few(&mut node, wanted);
            }
            if !settled {
                node = Node::Sort { input: Box::new(node), keys, limit: limit.clone() };
            }
        }
        Ok(match limit {
            Some((skip, count)) => Node::Limit { input: Box::new(node), skip, count },
            None => node,
        })
    }

    /// The rows that LIMIT takes, if they are known.
    fn rows_needed(&self, (skip, count): &(Expr, Expr)) -> Option<f64> {
        let number = |e: &Expr| {
            let value = match e {
                Expr::Const(value) => value,
                Expr::Param(number) => self.literals.values().get(*number)?,
                _ => return None,
            };
            match value {
                OwnedDatum::Int(n) => Some(*n as f64),
                OwnedDatum::UInt(n) => Some(*n as f64),
                _ => None,
            }
        };
        Some(number(skip)? + number(count)?)
    }

    /// Plans of the subqueries that are still asked; the others leave a place that nothing refers to.
    fn subplans(&mut self, block: &mut Block) -> Result<Vec<Subplan>, SqlError> {
        let mut plans = Vec::new();
        for subquery in std::mem::take(&mut block.subqueries) {
            let mut inner = subquery.block;
            if subquery.kind != SubplanKind::Scalar && inner.limit.is_none() {
                inner.order_by.clear();
            }
            let correlated = inner.outer_depth() > 0;
            // What is changed may be looked at.
            let depends = if correlated && !self.locks { depends_on(&mut inner) } else { None };
            let query = self.block(inner)?;
            plans.push(Subplan { query, kind: subquery.kind, correlated, depends });
        }
        Ok(plans)
    }

    /// A shared query's place among the planned ones.
    pub(crate) fn shared_query(&mut self, number: usize) -> Result<usize, SqlError> {
        if let Some(place) = self.shared_at[number] {
            return Ok(place);
        }
        let source = &self.shared[number];
        let mut block = source.block.clone();
        transform(&mut block, self.shared);
        let query = self.block(block)?;
        let types = query.outputs.iter().map(|o| stored(o.value.ty, o.value.ty.decimals)).collect();
        self.done.push(SharedQuery { name: source.name.clone(), query, types });
        self.shared_at[number] = Some(self.done.len() - 1);
        Ok(self.done.len() - 1)
    }
}

/// Conditions that run a subquery go last.
pub(crate) fn cheap_first(mut list: Vec<Expr>) -> Vec<Expr> {
    list.sort_by_key(|e| {
        let mut nested = false;
        e.visit(&mut |e| nested |= subquery_of(e).is_some());
        nested
    });
    list
}

/// Whether an expression or a part of it is such.
fn any(expr: &Expr, wanted: fn(&Expr) -> bool) -> bool {
    let mut found = false;
    expr.visit(&mut |e| found |= wanted(e));
    found
}

/// What must not be computed twice, or had better not.
fn evaluate_once(e: &Expr) -> bool {
    matches!(e, Expr::AssignUserVar(..)) || subquery_of(e).is_some()
}

/// Computes the outputs into a leaf; order keys that equal an output look at it.
fn project(node: Node, block: &mut Block, defs: &mut Vec<LeafDef>) -> Node {
    // Keys that are no output have to be kept too.
    let mut values: Vec<Typed> = block.outputs.iter().map(|o| o.value.clone()).collect();
    for key in &block.order_by {
        if !values.iter().any(|v| v.expr == key.value.expr) {
            values.push(key.value.clone());
        }
    }
    let leaf = defs.len() as u16;
    defs.push(made_leaf(
        "<temporary>",
        values.iter().map(|v| stored(v.ty, v.ty.decimals)).collect(),
    ));
    for (position, output) in block.outputs.iter_mut().enumerate() {
        output.value.expr = column_of(leaf, position);
    }
    for key in &mut block.order_by {
        let place = values.iter().position(|v| v.expr == key.value.expr);
        key.value.expr = column_of(leaf, place.expect("every key was added"));
    }
    Node::Project { input: Box::new(node), leaf, values }
}

fn made_leaf(name: &str, types: Vec<ColumnType>) -> LeafDef {
    let needed = (0..types.len()).collect();
    LeafDef { name: name.to_string(), layout: LeafLayout::Made(types), needed, keyed: false }
}

/// The type that a computed value is kept as.
pub(crate) fn stored(ty: ColumnType, decimals: u8) -> ColumnType {
    let mut ty = ColumnType { nullable: true, ..ty };
    if ty.kind == Kind::Decimal && ty.decimals == 0 && ty.length == 0 {
        (ty.decimals, ty.length) = (decimals, 65);
    }
    ty
}

fn group_types(keys: &[Typed], aggregates: &[AggregateCall], rollup: bool) -> Vec<ColumnType> {
    let mut types: Vec<ColumnType> = keys.iter().map(|k| stored(k.ty, k.ty.decimals)).collect();
    types.extend(aggregates.iter().map(|a| stored(a.ty, a.ty.decimals)));
    types.extend(rollup.then(|| ColumnType::int(Kind::BigInt, true)));
    types
}

/// Gives grouping and windows their leaves; the windows that share partition and order, by leaf.
fn number_leaves(block: &mut Block) -> Vec<(u16, Vec<WindowUse>)> {
    let mut next = block.leaves.len() as u16;
    let group = next;
    next += u16::from(block.group.is_some());
    let mut places = Vec::new();
    let mut nodes: Vec<(u16, Vec<usize>)> = Vec::new();
    for (number, window) in block.windows.iter().enumerate() {
        let same = |uses: &Vec<usize>| {
            let first = &block.windows[uses[0]];
            first.partition_by == window.partition_by && first.order_by == window.order_by
        };
        let node = nodes.iter().position(|(_, uses)| same(uses)).unwrap_or_else(|| {
            nodes.push((next + nodes.len() as u16, Vec::new()));
            nodes.len() - 1
        });
        places.push((nodes[node].0, nodes[node].1.len() as u16));
        nodes[node].1.push(number);
    }
    if group != next || !places.is_empty() {
        block.rewrite(0, &mut |e, depth| {
            if let Expr::Column(c) = e
                && c.depth == depth
            {
                match c.leaf {
                    GROUP_LEAF => c.leaf = group,
                    WINDOW_LEAF => (c.leaf, c.column) = places[usize::from(c.column)],
                    _ => {}
                }
            }
            false
        });
    }
    let windows = std::mem::take(&mut block.windows);
    nodes
        .into_iter()
        .map(|(leaf, uses)| (leaf, uses.into_iter().map(|n| windows[n].clone()).collect()))
        .collect()
}

fn window_node(node: Node, leaf: u16, uses: Vec<WindowUse>) -> Node {
    let first = &uses[0];
    Node::Window(Box::new(Window {
        input: node,
        leaf,
        partition_by: first.partition_by.clone(),
        order_by: first.order_by.clone(),
        sorted: false,
        functions: uses.into_iter().map(|w| w.call).collect(),
    }))
}

/// Leaves of the block around that a nested block looks at.
fn outer_leaves(block: &mut Block) -> u64 {
    let mut leaves = 0;
    block.rewrite(0, &mut |e, depth| {
        if let Expr::Column(c) = e
            && c.depth == depth + 1
        {
            leaves |= leaf_bit(c.leaf);
        }
        false
    });
    leaves
}

/// Columns of the blocks around that a nested block looks at, as the next of them sees them; `None`: its rows may be others though these
/// are the same.
fn depends_on(block: &mut Block) -> Option<Vec<Expr>> {
    let (mut columns, mut is_pure) = (Vec::new(), true);
    block.rewrite(0, &mut |e, depth| {
        match e {
            Expr::Column(c) if c.depth > depth => {
                let column = Expr::Column(Column { depth: c.depth - depth - 1, ..*c });
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
            Expr::UserVar(..) | Expr::AssignUserVar(..) => is_pure = false,
            e => is_pure &= !is_volatile(e),
        }
        false
    });
    is_pure.then_some(columns)
}

/// Columns of each leaf that any expression looks at, in the block or nested in it.
fn needed_columns(block: &mut Block) -> Vec<BTreeSet<usize>> {
    let mut needed = vec![BTreeSet::new(); block.leaves.len()];
    block.rewrite(0, &mut |e, depth| {
        if let Expr::Column(c) = e
            && c.depth == depth
            && let Some(set) = needed.get_mut(usize::from(c.leaf))
        {
            set.insert(usize::from(c.column));
        }
        false
    });
    needed
}
