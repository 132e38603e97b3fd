//! In which order members are joined, and how: nested loops with index look-ups, or hash joins.
//!
//! 1. Plans are left-deep: rows of what is there already are the outer side. 2. A condition is applied as
//!    soon as all its leaves are there; one that follows from others when it is the first that ties a column
//!    to what is there. 3. Up to [`EXHAUSTIVE_MAX`] members every order is looked at, above
//!    that the cheapest next member is taken. 4. A member that no condition ties to what is there comes only
//!    where no other one is left. 5. A condition that runs a subquery for each row waits for members that are looked up and
//!    let few rows pass, unless rows are locked or user variables assigned.

use super::access::{Choice, OPEN_COST};
use super::hash_key::hash_key;
use super::members::{Cond, Member, Nest, What};
use super::{Leaves, Planner, cheap_first};
use crate::logical::{Block, LeafColumn, Source, conjunction, leaf_bit, leaves_of};
use crate::query_plan::{Estimate, JoinKey, JoinKind, Node, Read, ReadAccess, RowLock};
use crate::selectivity::known_share;
use catalog::{ColumnDef, IndexDef, TableRef};
use expr::SqlError;
use expr::tree::{Column, Comparison, Expr, OwnedDatum, Typed};
use value::{ColumnType, Kind};

/// Members of which every order is looked at.
const EXHAUSTIVE_MAX: usize = 8;
/// Cost of keeping a row in a hash table, and of looking one up.
const BUILD_COST: f64 = 0.12;
const PROBE_COST: f64 = 0.08;
/// Cost of a kept row that is read again.
const MATERIALIZED_COST: f64 = 0.05;
/// Cost of handling a row that a join yields.
const YIELD_COST: f64 = 0.03;

/// What a subquery that depends on the row costs at least.
const SUBQUERY_COST: f64 = 1.0;
/// Of so many rows a member has to let one pass for subqueries to wait for it.
const NARROW: f64 = 2.0;

/// How a member is joined.
#[derive(Debug, Clone)]
enum Method {
    /// Opened for each outer row; a stored table by this path.
    Loop(Option<Choice>),
    /// Read once into a hash table, by this path.
    Hash(Option<Choice>),
}

/// A member in its place.
#[derive(Debug, Clone)]
struct Step {
    method: Method,
    /// Rows there are then.
    rows: f64,
    /// What it costs.
    cost: f64,
}

impl Step {
    /// Whether conditions that run subqueries for each row of the step before had better wait for this one.
    fn is_before_subqueries(&self, before: &Step, leaves: &Leaves) -> bool {
        matches!(self.method, Method::Loop(_))
            && self.rows * NARROW <= before.rows
            && self.cost <= before.rows * SUBQUERY_COST
            && leaves.assigned.is_empty()
    }
}

/// Cost, rows, and the members of a set in their order.
type Found = (f64, f64, Vec<(usize, Step)>);

/// A planned nest.
struct Planned {
    node: Node,
    rows: f64,
    cost: f64,
}

/// What is there when a member is looked at.
#[derive(Clone, Copy)]
struct Before {
    /// Leaves of blocks and nests around.
    outside: u64,
    /// Leaves of this nest.
    inside: u64,
    rows: f64,
}

impl Planner<'_> {
    /// The joins of a block with its filter.
    pub(crate) fn joined(
        &mut self,
        block: &mut Block,
        leaves: &mut Leaves,
    ) -> Result<Node, SqlError> {
        let mut filter = cheap_first(block.filter.clone());
        let never = filter.iter().any(|e| matches!(settled(e), Some(false)));
        filter.retain(|e| settled(e) != Some(true));
        if never {
            let leaves = (0..leaves.list.len() as u16).collect();
            return Ok(Node::Nothing { reason: "Impossible WHERE", leaves });
        }
        if block.from.is_empty() {
            return Ok(match conjunction(filter) {
                Some(filter) => Node::Filter { input: Box::new(Node::One), filter },
                None => Node::One,
            });
        }
        let late = match leaves.list.len() {
            0 | 1 => Vec::new(),
            _ => super::variables::after_join(&leaves.assigned, &mut filter),
        };
        let from = std::mem::take(&mut block.from);
        let mut nest = Nest::of(from, &filter, block.straight, leaves);
        for hint in &block.order_hints {
            nest.prescribe(hint, leaves);
        }
        let node = self.nest(&nest, leaves, 0)?.node;
        Ok(match conjunction(late) {
            Some(filter) => Node::Filter { input: Box::new(node), filter },
            None => node,
        })
    }

    fn nest(&mut self, nest: &Nest, leaves: &Leaves, outside: u64) -> Result<Planned, SqlError> {
        let steps = self.order(nest, leaves, outside)?;
        let mut applied = vec![false; nest.conds.len()];
        let mut before = Before { outside, inside: 0, rows: 1.0 };
        let mut node: Option<Node> = None;
        let (mut cost, mut late) = (0.0, Vec::new());
        for (at, (number, step)) in steps.iter().enumerate() {
            let member = &nest.members[*number];
            let there = outside | before.inside | member.leaves;
            let (mut fresh, mut implied) = (Vec::new(), Vec::new());
            for (cond, applied) in nest.conds.iter().zip(&mut applied) {
                if !*applied && cond.leaves & !there == 0 {
                    *applied = true;
                    match cond.implied {
                        false => fresh.push(cond.expr.clone()),
                        true => implied.push(&cond.expr),
                    }
                }
            }
            tie(&mut fresh, implied, member.leaves, before.inside);
            fresh.append(&mut late);
            let next = steps.get(at + 1).filter(|_| !self.locks && !locks_rows(leaves));
            if next.is_some_and(|(_, next)| next.is_before_subqueries(step, leaves)) {
                (late, fresh) = fresh.into_iter().partition(|e| leaves.runs_for_each_row(e));
            }
            node = Some(self.place(node, member, step, fresh, nest, leaves, before)?);
            cost += step.cost;
            before.inside |= member.leaves;
            before.rows = step.rows;
        }
        let node = node.ok_or(SqlError::Storage(base::Error::Internal("join of nothing")))?;
        Ok(Planned { node, rows: before.rows, cost })
    }

    /// Puts a member beside what is there. `fresh` are the conditions that can be applied now.
    #[allow(clippy::too_many_arguments)]
    fn place(
        &mut self,
        node: Option<Node>,
        member: &Member,
        step: &Step,
        fresh: Vec<Expr>,
        nest: &Nest,
        leaves: &Leaves,
        before: Before,
    ) -> Result<Node, SqlError> {
        match &member.what {
            What::Leaf(leaf) => {
                let own = leaf_bit(*leaf);
                match (&step.method, node) {
                    (Method::Hash(choice), Some(probe)) => {
                        let mut split = Split::of(fresh, &nest.conds, own, before, leaves);
                        let filter = conjunction(cheap_first(std::mem::take(&mut split.inner)));
                        let build = self.leaf(*leaf, choice.as_ref(), filter, step, leaves)?;
                        Ok(split.hash(JoinKind::Inner, probe, build))
                    }
                    (Method::Loop(choice) | Method::Hash(choice), node) => {
                        let filter = conjunction(cheap_first(fresh));
                        let inner = self.leaf(*leaf, choice.as_ref(), filter, step, leaves)?;
                        Ok(match node {
                            None => inner,
                            Some(outer) => looped(JoinKind::Inner, outer, inner),
                        })
                    }
                }
            }
            What::Nest { kind, nest } => {
                let internal =
                    SqlError::Storage(base::Error::Internal("outer join without an outer side"));
                let outer = node.ok_or(internal)?;
                let joined = match &step.method {
                    Method::Hash(_) => {
                        let (inner, split) = split_nest(nest, member.leaves, before, leaves);
                        let build = self.nest(&inner, leaves, before.outside)?.node;
                        split.hash(*kind, outer, build)
                    }
                    Method::Loop(_) => {
                        let bound = before.outside | before.inside;
                        looped(*kind, outer, self.nest(nest, leaves, bound)?.node)
                    }
                };
                Ok(match conjunction(cheap_first(fresh)) {
                    Some(filter) => Node::Filter { input: Box::new(joined), filter },
                    None => joined,
                })
            }
        }
    }

    /// The node that fills a leaf.
    fn leaf(
        &mut self,
        leaf: u16,
        choice: Option<&Choice>,
        filter: Option<Expr>,
        step: &Step,
        leaves: &Leaves,
    ) -> Result<Node, SqlError> {
        let source = &leaves.list[usize::from(leaf)];
        let with_filter = |node: Node, filter: Option<Expr>| match filter {
            Some(filter) => Node::Filter { input: Box::new(node), filter },
            None => node,
        };
        Ok(match &source.source {
            Source::Table(table) => {
                let choice =
                    choice.cloned().unwrap_or_else(|| self.choose(leaf, *table, leaves, &[], 0));
                self.read((leaf, *table), choice, filter, (step.rows, source.lock))
            }
            Source::Virtual(table) => Node::Virtual { leaf, table: table.clone(), filter },
            Source::Derived { block, lateral } => {
                let lateral = *lateral || leaves.source_looks_at(leaf) != 0;
                let mut block = (**block).clone();
                if block.view.as_ref().is_some_and(|view| view.lent) {
                    block.leaves.iter_mut().for_each(|leaf| leaf.lock = None);
                }
                let query = Box::new(self.block(block)?);
                Node::Derived { leaf, query, lateral, filter }
            }
            Source::Shared(number) => {
                let number = *number;
                Node::Shared { leaf, shared: self.shared_query(number)?, filter }
            }
            Source::Working(recursion) => {
                let columns = source.columns.iter().map(|c| c.result.name.clone()).collect();
                Node::Working { leaf, recursion: *recursion, columns, filter }
            }
            Source::Set { op, all, inputs } => {
                let (op, all, inputs) = (*op, *all, inputs.clone());
                let inputs = self.blocks(inputs)?;
                with_filter(Node::SetOp { leaf, op, all, inputs }, filter)
            }
            Source::Values(rows) => {
                let row = |row: &Vec<Typed>| row.iter().map(|v| v.expr.clone()).collect();
                let rows = rows.iter().map(row).collect();
                with_filter(Node::Values { leaf, rows }, filter)
            }
            Source::Recursive { recursion, seeds, steps, distinct } => {
                let (recursion, distinct) = (*recursion, *distinct);
                let (seeds, steps) = (seeds.clone(), steps.clone());
                let columns = source.columns.iter().map(materialized_column).collect();
                let (seeds, steps) = (self.blocks(seeds)?, self.blocks(steps)?);
                let node = Node::Recursive { leaf, recursion, seeds, steps, distinct, columns };
                with_filter(node, filter)
            }
            Source::JsonTable { document, columns } => {
                let (document, columns) = (document.clone(), columns.clone());
                with_filter(Node::JsonTable { leaf, document, columns }, filter)
            }
        })
    }

    /// The node that reads a table, of which so many rows pass.
    fn read(
        &self,
        (leaf, table): (u16, TableRef),
        choice: Choice,
        filter: Option<Expr>,
        (passing, lock): (f64, Option<RowLock>),
    ) -> Node {
        // As MySQL has it: some row of the table passes.
        let least = 1.0 / self.statistics.rows(table).max(1.0);
        let filtered = (passing / choice.rows.max(1.0)).clamp(least, 1.0);
        let estimate = Estimate { rows: choice.rows, cost: choice.cost, filtered };
        Node::Read(Box::new(Read {
            leaf,
            table,
            access: choice.access,
            descending: false,
            ordered: false,
            covering: choice.covering,
            filter,
            lock,
            estimate,
        }))
    }

    fn blocks(
        &mut self,
        blocks: Vec<Block>,
    ) -> Result<Vec<crate::query_plan::QueryPlan>, SqlError> {
        blocks.into_iter().map(|block| self.block(block)).collect()
    }

    /// The order in which members are joined, with the method of each.
    fn order(
        &mut self,
        nest: &Nest,
        leaves: &Leaves,
        outside: u64,
    ) -> Result<Vec<(usize, Step)>, SqlError> {
        let found = match nest.members.len() {
            0..=EXHAUSTIVE_MAX => self.exhaustive(nest, leaves, outside)?,
            _ => self.greedy(nest, leaves, outside)?,
        };
        found.ok_or_else(|| SqlError::unsupported("circular dependence between joined tables"))
    }

    fn exhaustive(
        &mut self,
        nest: &Nest,
        leaves: &Leaves,
        outside: u64,
    ) -> Result<Option<Vec<(usize, Step)>>, SqlError> {
        let count = nest.members.len();
        let mut best: Vec<Option<Found>> = vec![None; 1 << count];
        best[0] = Some((0.0, 1.0, Vec::new()));
        for set in 0..1usize << count {
            let Some((cost, rows, order)) = best[set].clone() else { continue };
            let inside = members_of(nest, set);
            let left = |number: usize| set >> number & 1 == 0;
            let tied = tied_members(nest, inside, outside, left);
            for (number, member) in nest.members.iter().enumerate() {
                let with = set | 1 << number;
                if !tied[number] {
                    continue;
                }
                let before = Before { outside, inside, rows };
                let Some(step) = self.step(nest, member, leaves, before)? else { continue };
                let total = cost + step.cost;
                if best[with].as_ref().is_none_or(|(known, ..)| total < *known) {
                    let mut order = order.clone();
                    let rows = step.rows;
                    order.push((number, step));
                    best[with] = Some((total, rows, order));
                }
            }
        }
        Ok(best.pop().flatten().map(|(_, _, order)| order))
    }

    fn greedy(
        &mut self,
        nest: &Nest,
        leaves: &Leaves,
        outside: u64,
    ) -> Result<Option<Vec<(usize, Step)>>, SqlError> {
        let mut order: Vec<(usize, Step)> = Vec::new();
        let mut before = Before { outside, inside: 0, rows: 1.0 };
        while order.len() < nest.members.len() {
            let mut best: Option<(f64, usize, Step)> = None;
            let left = |number: usize| !order.iter().any(|(n, _)| *n == number);
            let tied = tied_members(nest, before.inside, outside, left);
            for (number, member) in nest.members.iter().enumerate() {
                if !tied[number] {
                    continue;
                }
                let Some(step) = self.step(nest, member, leaves, before)? else { continue };
                let score = step.cost + step.rows * ROW_WEIGHT;
                if best.as_ref().is_none_or(|(known, ..)| score < *known) {
                    best = Some((score, number, step));
                }
            }
            let Some((_, number, step)) = best else { return Ok(None) };
            before.inside |= nest.members[number].leaves;
            before.rows = step.rows;
            order.push((number, step));
        }
        Ok(Some(order))
    }

    /// The cheapest way to join a member next; `None` if it cannot stand there.
    fn step(
        &mut self,
        nest: &Nest,
        member: &Member,
        leaves: &Leaves,
        before: Before,
    ) -> Result<Option<Step>, SqlError> {
        match &member.what {
            What::Leaf(leaf) => Ok(Some(self.leaf_step(nest, *leaf, leaves, before))),
            What::Nest { kind, nest: inner } => {
                if before.inside == 0 {
                    return Ok(None);
                }
                self.nest_step(*kind, inner, member.leaves, leaves, before).map(Some)
            }
        }
    }

    fn leaf_step(&mut self, nest: &Nest, leaf: u16, leaves: &Leaves, before: Before) -> Step {
        let own = leaf_bit(leaf);
        let bound = before.outside | before.inside;
        let source = &leaves.list[usize::from(leaf)];
        let fresh = |c: &Cond| c.leaves & own != 0 && c.leaves & !(bound | own) == 0;
        let hashable = before.inside != 0
            && !source.hints.no_hash
            && nest.conds.iter().any(|c| hash_key(&c.expr, own, before.inside, leaves).is_some())
            && !matches!(
                &source.source,
                Source::Derived { lateral: true, .. } | Source::JsonTable { .. }
            )
            && leaves.source_looks_at(leaf) == 0;
        let Source::Table(table) = &source.source else {
            let found = source_rows(&source.source);
            let share: f64 = nest
                .conds
                .iter()
                .filter(|c| fresh(c) && !c.implied)
                .map(|c| share(&c.expr))
                .product();
            let rows = (before.rows * found * share).max(0.1);
            let looped = before.rows * (found * MATERIALIZED_COST + YIELD_COST);
            let hashed = found * BUILD_COST + before.rows * PROBE_COST + rows * YIELD_COST;
            return match hashable && hashed < looped {
                true => Step { method: Method::Hash(None), rows, cost: hashed },
                false => Step { method: Method::Loop(None), rows, cost: looped },
            };
        };
        let choice = self.choose(leaf, *table, leaves, &nest.conds, bound);
        let residual = self.residual_share(nest, &choice, own, fresh, leaves);
        let rows = (before.rows * choice.rows * residual).max(0.1);
        let cost = before.rows * choice.cost + rows * YIELD_COST;
        let looked_up = locks_rows(leaves) && !matches!(choice.access, ReadAccess::Index(_));
        if hashable && !looked_up {
            let once = self.choose(leaf, *table, leaves, &nest.conds, before.outside);
            let alone: f64 = nest
                .conds
                .iter()
                .enumerate()
                .filter(|(n, c)| {
                    c.leaves & !(own | before.outside) == 0
                        && c.leaves & own != 0
                        && !c.implied
                        && !once.used.contains(n)
                })
                .map(|(_, c)| self.join_share(&c.expr, leaves))
                .product();
            let hashed = once.cost
                + once.rows * alone * BUILD_COST
                + before.rows * PROBE_COST
                + rows * YIELD_COST;
            if hashed < cost {
                return Step { method: Method::Hash(Some(once)), rows, cost: hashed };
            }
        }
        Step { method: Method::Loop(Some(choice)), rows, cost }
    }

    fn nest_step(
        &mut self,
        kind: JoinKind,
        nest: &Nest,
        own: u64,
        leaves: &Leaves,
        before: Before,
    ) -> Result<Step, SqlError> {
        let looped = self.nest(nest, leaves, before.outside | before.inside)?;
        let rows = match kind {
            JoinKind::Left => before.rows * looped.rows.max(1.0),
            JoinKind::Semi => before.rows * looped.rows.min(1.0),
            _ => before.rows * 0.5,
        };
        // A semi-join stops at the first partner, to which it has to find its way.
        let part = if kind == JoinKind::Left { 1.0 } else { 1.0 / looped.rows.max(1.0) };
        let way = OPEN_COST.min(looped.cost);
        let cost = before.rows * (way + (looped.cost - way) * part + YIELD_COST);
        let (inner, split) = split_nest(nest, own, before, leaves);
        let hashable =
            |l: u16| own & leaf_bit(l) == 0 || !leaves.list[usize::from(l)].hints.no_hash;
        let looked_up =
            locks_rows(leaves) && self.looks_up(nest, leaves, before.outside | before.inside);
        if !split.keys.is_empty() && !looked_up && (0..leaves.list.len() as u16).all(hashable) {
            let once = self.nest(&inner, leaves, before.outside)?;
            let hashed = once.cost + once.rows * BUILD_COST + before.rows * PROBE_COST;
            if hashed < cost {
                return Ok(Step { method: Method::Hash(None), rows, cost: hashed });
            }
        }
        Ok(Step { method: Method::Loop(None), rows, cost })
    }

    /// Whether every table of a nest is looked up by an index.
    fn looks_up(&self, nest: &Nest, leaves: &Leaves, bound: u64) -> bool {
        nest.members.iter().all(|member| match &member.what {
            What::Leaf(leaf) => match &leaves.list[usize::from(*leaf)].source {
                Source::Table(table) => {
                    let choice = self.choose(*leaf, *table, leaves, &nest.conds, bound);
                    !matches!(choice.access, ReadAccess::Index(_))
                }
                _ => false,
            },
            What::Nest { .. } => false,
        })
    }

    /// The share of the rows found that the conditions let pass which the path has not taken into account.
    /// Of several equalities with one column the first counts: mostly they say the same.
    fn residual_share(
        &self,
        nest: &Nest,
        choice: &Choice,
        own: u64,
        fresh: impl Fn(&Cond) -> bool,
        leaves: &Leaves,
    ) -> f64 {
        let mut equal: Vec<Column> =
            choice.used.iter().filter_map(|n| equal_column(&nest.conds[*n].expr, own)).collect();
        let mut share = 1.0;
        let (written, implied): (Vec<_>, Vec<_>) =
            nest.conds.iter().enumerate().partition(|(_, c)| !c.implied);
        for (number, cond) in written.into_iter().chain(implied) {
            if !fresh(cond) || choice.used.contains(&number) {
                continue;
            }
            match equal_column(&cond.expr, own) {
                Some(column) if equal.contains(&column) => continue,
                Some(_) if cond.implied && cond.leaves == own => continue,
                Some(column) => equal.push(column),
                // Conditions that follow from others are checked only where they tie tables.
                None if cond.implied => continue,
                None => {}
            }
            share *= self.join_share(&cond.expr, leaves);
        }
        share
    }

    /// The share of pairs that a condition lets pass: of an equality of columns, one of as many as the one
    /// with more values has.
    fn join_share(&self, e: &Expr, leaves: &Leaves) -> f64 {
        if let Some(known) = known_share(self.statistics, leaves, e) {
            return known;
        }
        let Expr::Compare(Comparison::Eq, a, b, _) = e else { return share(e) };
        let (Expr::Column(a), Expr::Column(b)) = (&**a, &**b) else { return share(e) };
        match (self.values_of(*a, leaves), self.values_of(*b, leaves)) {
            (None, None) => 0.05,
            (a, b) => 1.0 / a.unwrap_or(1.0).max(b.unwrap_or(1.0)),
        }
    }

    /// How many different values a column has, where an index begins with it.
    fn values_of(&self, column: Column, leaves: &Leaves) -> Option<f64> {
        let leaf = leaves.list.get(usize::from(column.leaf)).filter(|_| column.depth == 0)?;
        let Source::Table(table) = &leaf.source else { return None };
        let first = |index: &IndexDef| {
            let part = index.parts.first();
            part.is_some_and(|p| p.column == usize::from(column.column) && p.prefix_chars.is_none())
        };
        let position = self.tables.def(*table).indexes.iter().position(first)?;
        Some(self.statistics.distinct(*table, position, 1).max(1.0))
    }
}

/// The own column of an equality.
fn equal_column(e: &Expr, own: u64) -> Option<Column> {
    let Expr::Compare(Comparison::Eq, a, b, _) = e else { return None };
    [a, b].into_iter().find_map(|side| match **side {
        Expr::Column(c) if c.depth == 0 && leaf_bit(c.leaf) == own => Some(c),
        _ => None,
    })
}

/// The truth of a condition of constants; NULL is not true.
fn settled(e: &Expr) -> Option<bool> {
    match e {
        Expr::Const(value) => match value {
            OwnedDatum::Null => Some(false),
            OwnedDatum::Int(v) => Some(*v != 0),
            OwnedDatum::UInt(v) => Some(*v != 0),
            _ => None,
        },
        Expr::Compare(op, a, b, collation) => {
            let (Expr::Const(a), Expr::Const(b)) = (&**a, &**b) else { return None };
            let plain = |v: &OwnedDatum| {
                matches!(v, OwnedDatum::Int(_) | OwnedDatum::UInt(_) | OwnedDatum::Null)
            };
            if !plain(a) || !plain(b) || *op == Comparison::NullSafeEq {
                return None;
            }
            let Some(order) = value::compare(&a.datum(), &b.datum(), *collation) else {
                return Some(false);
            };
            Some(match op {
                Comparison::Eq | Comparison::NullSafeEq => order.is_eq(),
                Comparison::Ne => order.is_ne(),
                Comparison::Lt => order.is_lt(),
                Comparison::Le => order.is_le(),
                Comparison::Gt => order.is_gt(),
                Comparison::Ge => order.is_ge(),
            })
        }
        Expr::And(a, b) => match (settled(a), settled(b)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Expr::Or(a, b) => match (settled(a), settled(b)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// How much a row more weighs against cost when the next member is chosen.
const ROW_WEIGHT: f64 = 0.3;

fn members_of(nest: &Nest, set: usize) -> u64 {
    let inside = |(n, _): &(usize, &Member)| set >> n & 1 == 1;
    nest.members.iter().enumerate().filter(inside).fold(0, |all, (_, m)| all | m.leaves)
}

/// Which members may come next: those that are left and have what they need; of these the ones that a
/// condition ties to what is there, if there are such.
fn tied_members(nest: &Nest, inside: u64, outside: u64, left: impl Fn(usize) -> bool) -> Vec<bool> {
    let members = || nest.members.iter().enumerate();
    let can = |n: usize, m: &Member| left(n) && m.needs & !(outside | inside) == 0;
    let tied = |m: &Member| match m.what {
        What::Leaf(_) => {
            nest.conds.iter().any(|c| c.leaves & m.leaves != 0 && c.leaves & inside != 0)
        }
        What::Nest { .. } => true,
    };
    let some = inside != 0 && members().any(|(n, m)| can(n, m) && tied(m));
    members().map(|(n, m)| can(n, m) && (!some || tied(m))).collect()
}

/// Adds those implied equalities with columns that are there whose own column no other condition ties.
fn tie(fresh: &mut Vec<Expr>, implied: Vec<&Expr>, own: u64, inside: u64) {
    for e in implied {
        let Some(column) = equal_column(e, own) else { continue };
        let ties = |e: &Expr| equal_column(e, own) == Some(column) && leaves_of(e) & inside != 0;
        if ties(e) && !fresh.iter().any(ties) {
            fresh.push(e.clone());
        }
    }
}

fn looped(kind: JoinKind, outer: Node, inner: Node) -> Node {
    Node::Join { kind, outer: Box::new(outer), inner: Box::new(inner), on: None }
}

/// The share of rows that a condition is expected to let pass.
fn share(e: &Expr) -> f64 {
    match e {
        Expr::Compare(Comparison::Eq | Comparison::NullSafeEq, ..) => 0.1,
        Expr::Compare(Comparison::Ne, ..) => 0.9,
        Expr::Compare(..) => 0.3333,
        Expr::And(a, b) => share(a) * share(b),
        Expr::Or(a, b) => (share(a) + share(b)).min(1.0),
        Expr::In(_, list, _) => (0.1 * list.len() as f64).min(0.5),
        Expr::Like(..) => 0.1111,
        Expr::Not(e) => 1.0 - share(e),
        Expr::Is(_, _, negated) => {
            if *negated {
                0.9
            } else {
                0.1
            }
        }
        _ => 0.5,
    }
}

/// Rows that a source other than a stored table is expected to have.
fn source_rows(source: &Source) -> f64 {
    match source {
        Source::Values(rows) => rows.len() as f64,
        Source::Derived { block, .. } => match &block.group {
            Some(group) if group.keys.is_empty() => 1.0,
            _ => 300.0,
        },
        _ => 300.0,
    }
}

/// Whether rows are locked as they are read: then no more of them are read than need be, as with MySQL, whose hash
/// joins are for tables without an index.
fn locks_rows(leaves: &Leaves) -> bool {
    leaves.list.iter().any(|leaf| leaf.lock.is_some())
}

/// Conditions of a hash join by what they look at.
#[derive(Default)]
struct Split {
    /// The build side alone.
    inner: Vec<Expr>,
    keys: Vec<JoinKey>,
    on: Vec<Expr>,
}

impl Split {
    fn of(fresh: Vec<Expr>, all: &[Cond], own: u64, before: Before, leaves: &Leaves) -> Split {
        let mut split = Split::default();
        for e in fresh {
            let looked = leaves.looked_at(&e);
            match hash_key(&e, own, before.inside, leaves) {
                Some(key) => split.keys.push(key),
                None if looked & before.inside == 0 => split.inner.push(e),
                None => split.on.push(e),
            }
        }
        if split.keys.is_empty() {
            // What joins them is only implied.
            let implied = all.iter().filter(|c| c.implied);
            split.keys.extend(
                implied.filter_map(|c| hash_key(&c.expr, own, before.inside, leaves)).take(1),
            );
        }
        split
    }

    fn hash(mut self, kind: JoinKind, probe: Node, build: Node) -> Node {
        self.on.extend(self.keys.iter().filter_map(|key| key.tested.clone()));
        let on = conjunction(cheap_first(self.on));
        let (probe, build) = (Box::new(probe), Box::new(build));
        Node::HashJoin { kind, probe, build, keys: self.keys, on }
    }
}

/// A nest without the conditions that look at what is before it, and these.
fn split_nest(nest: &Nest, own: u64, before: Before, leaves: &Leaves) -> (Nest, Split) {
    let mut split = Split::default();
    let mut inner = Nest { members: nest.members.clone(), conds: Vec::new() };
    let lateral = nest.members.iter().any(|m| m.needs & before.inside != 0);
    for cond in &nest.conds {
        if cond.leaves & before.inside == 0 {
            inner.conds.push(cond.clone());
        } else if cond.implied {
            continue;
        } else if let Some(key) = hash_key(&cond.expr, own, before.inside, leaves) {
            split.keys.push(key);
        } else {
            split.on.push(cond.expr.clone());
        }
    }
    if lateral {
        split.keys.clear();
    }
    (inner, split)
}

/// A column of a recursion's rows; in memory a moment is local.
fn materialized_column(column: &LeafColumn) -> ColumnDef {
    let ty = match column.ty.kind {
        Kind::Timestamp => {
            let nullable = column.ty.nullable;
            ColumnType { nullable, ..ColumnType::temporal(Kind::DateTime, column.ty.decimals) }
        }
        _ => column.ty,
    };
    ColumnDef::new(&column.result.name, ty)
}
