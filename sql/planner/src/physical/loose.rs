//! Some rows of each group: MySQL's loose index scan.
//!
//! 1. It is used where MySQL does: one table; the columns that make the groups are the first parts of an index that has
//!    all that is needed; MIN and MAX have one argument, the part behind them; conditions are about the columns of the
//!    groups, set parts in between equal to constants, or bound the argument. 2. The first row of a group in the order of
//!    the argument that satisfies the condition has the least of them, whatever the condition is. 3. A condition on the
//!    groups' columns holds for all rows of a group or for none.

use super::access::{Choice, ENTRY_COST, FETCH_COST, OPEN_COST, Target};
use super::members::Cond;
use super::{Leaves, Planner, order};
use crate::logical::{conjuncts, leaf_bit};
use crate::query_plan::{
    Estimate, GroupProbe, GroupPurpose, GroupScan, KeyRange, LastPart, Node, Read, ReadAccess,
};
use crate::transform::may_move;
use catalog::{IndexDef, TableDef};
use expr::aggregate::{AVG, AggregateCall, COUNT, MAX, MIN, SUM};
use expr::tree::{Column, Expr, Typed};
use value::{Collation, Kind};

/// Cost of the way down to a group: as much as three entries of an index (0.64 µs where an entry takes 0.3: 18,000 groups
/// of 14 entries, all in memory).
pub(super) const WAY_COST: f64 = 0.15;

/// What is wanted of the groups.
pub(super) struct GroupRequest {
    /// Columns that make them, each once, with the collation under which they are compared.
    keys: Vec<(Column, Collation)>,
    extremes: Option<Extremes>,
}

/// MIN and MAX of one column.
struct Extremes {
    argument: Column,
    collation: Collation,
    least: bool,
    greatest: bool,
}

impl GroupRequest {
    /// What DISTINCT wants.
    pub(super) fn distinct(keys: &[Typed]) -> Option<GroupRequest> {
        let mut wanted = GroupRequest { keys: Vec::new(), extremes: None };
        keys.iter().all(|key| wanted.add(key)).then_some(wanted)
    }

    /// What groups want, if it is MIN and MAX, or aggregates of different values.
    pub(super) fn of_group(keys: &[Typed], aggregates: &[AggregateCall]) -> Option<GroupRequest> {
        let mut wanted = GroupRequest::distinct(keys)?;
        for call in aggregates {
            match call.function {
                f if *f == MIN || *f == MAX => wanted.add_extreme(call)?,
                f if call.distinct && (*f == COUNT || *f == SUM || *f == AVG) => {
                    call.arguments.iter().all(|a| wanted.add(a)).then_some(())?;
                }
                _ => return None,
            }
        }
        let mixed = aggregates.iter().any(|call| call.distinct) && wanted.extremes.is_some();
        (!mixed && !wanted.keys.is_empty()).then_some(wanted)
    }

    fn add(&mut self, key: &Typed) -> bool {
        let Expr::Column(column) = &key.expr else { return false };
        if !self.keys.iter().any(|(own, _)| own == column) {
            self.keys.push((*column, key.ty.collation));
        }
        true
    }

    fn add_extreme(&mut self, call: &AggregateCall) -> Option<()> {
        let [argument] = &call.arguments[..] else { return None };
        let Expr::Column(column) = &argument.expr else { return None };
        let (argument, collation) = (*column, call.collation);
        let new = Extremes { argument, collation, least: false, greatest: false };
        let extremes = self.extremes.get_or_insert(new);
        if extremes.argument != argument || extremes.collation != collation {
            return None;
        }
        match *call.function == MIN {
            true => extremes.least = true,
            false => extremes.greatest = true,
        }
        Some(())
    }

    fn has(&self, leaf: u16, column: usize) -> bool {
        let place = Column { depth: 0, leaf, column: column as u16 };
        self.keys.iter().any(|(own, _)| *own == place)
    }
}

/// The table that is read, and its conditions.
struct Site<'a> {
    read: &'a Read,
    def: &'a TableDef,
    target: &'a Target<'a>,
    fixed: &'a order::Fixed,
    conds: &'a [Cond],
    wanted: &'a GroupRequest,
}

impl Planner<'_> {
    /// Makes a read give some rows of each group if they do and that is cheaper.
    pub(super) fn loosely(
        &self,
        node: &mut Node,
        wanted: &GroupRequest,
        leaves: &Leaves,
        fixed: &order::Fixed,
    ) {
        let Node::Read(read) = node else { return };
        let source = &leaves.list[usize::from(read.leaf)];
        let asked = leaves.subqueries.iter().any(|seen| seen & leaf_bit(read.leaf) != 0);
        let locks = read.lock.is_some() || self.locks || !leaves.targets.is_empty();
        let unique = matches!(read.access, ReadAccess::Point { .. } | ReadAccess::Merge(_));
        if leaves.list.len() != 1 || asked || locks || unique {
            return;
        }
        let def = self.tables.def(read.table);
        let mut filter = Vec::new();
        if let Some(condition) = &read.filter {
            conjuncts(condition.clone(), &mut filter);
        }
        let conds: Vec<Cond> = filter.into_iter().map(|e| Cond::new(e, leaves)).collect();
        let target = Target::new((read.leaf, read.table), self.tables, leaves);
        let site = Site { read, def, target: &target, fixed, conds: &conds, wanted };
        let allowed = |i: &IndexDef| !i.attributes.invisible && source.hints.order.allows(&i.name);
        let indexes = def.indexes.iter().enumerate().filter(|(_, index)| allowed(index));
        let ways = indexes.filter_map(|(position, index)| {
            let scan = site.scan((position, index))?;
            let covers = leaves.covers(read.leaf, def, index);
            Some(self.loose_choice(read, (position, index), scan, covers))
        });
        let best = ways.min_by(|a, b| a.cost.total_cmp(&b.cost));
        if let Some(choice) = best.filter(|choice| choice.cost < read.estimate.cost) {
            read.access = choice.access;
            read.covering = choice.covering;
            read.descending = false;
            read.estimate = Estimate { rows: choice.rows, cost: choice.cost, filtered: 1.0 };
        }
    }

    fn loose_choice(
        &self,
        read: &Read,
        (position, index): (usize, &IndexDef),
        scan: GroupScan,
        covering: bool,
    ) -> Choice {
        let rows = self.statistics.rows(read.table);
        let matched = match &scan.ranges[..] {
            [] => rows,
            ranges => ranges
                .iter()
                .map(|r| self.range_rows(read.table, (position, index), r, rows, false))
                .sum::<f64>()
                .min(rows),
        };
        let distinct = self.statistics.distinct(read.table, position, scan.parts);
        // As MySQL counts them.
        let groups = ((distinct + 1.0) * matched / rows).floor().max(1.0);
        let per_row = if covering { ENTRY_COST } else { FETCH_COST };
        let reads = groups * (1 + scan.probes.len()) as f64;
        let cost = OPEN_COST + reads * (WAY_COST + per_row);
        let access = ReadAccess::Groups(Box::new(scan));
        Choice { access, rows: groups, cost, covering, used: Vec::new() }
    }
}

impl Site<'_> {
    /// How the groups are read by an index, if they can be.
    fn scan(&self, (position, index): (usize, &IndexDef)) -> Option<GroupScan> {
        let parts = order::parts(self.def, index);
        let count = self.wanted.keys.len();
        let first = parts.get(..count)?;
        let leaf = self.read.leaf;
        if !first.iter().all(|(column, _)| self.wanted.has(leaf, *column))
            || !self.target.has_all(index)
            || !self.wanted.keys.iter().all(|(column, collation)| self.tells(column, *collation))
        {
            return None;
        }
        let (about_groups, others): (Vec<_>, Vec<_>) =
            self.conds.iter().enumerate().partition(|(_, cond)| self.is_about_groups(&cond.expr));
        if !others.iter().all(|(_, cond)| may_move(&cond.expr)) {
            return None;
        }
        let others: Vec<(usize, &Expr)> = others.iter().map(|(n, c)| (*n, &c.expr)).collect();
        let (inner, used) = self.inner(&parts[count..], &others)?;
        if others.iter().any(|(n, _)| !used.contains(n)) {
            return None;
        }
        let about: Vec<(usize, &Expr)> = about_groups.iter().map(|(n, c)| (*n, &c.expr)).collect();
        let ranges = self.target.ranges(index, &about, &mut Vec::new()).unwrap_or_default();
        let number = position + usize::from(self.def.clustered().is_none());
        let (first, probes) = self.probes(inner, !others.is_empty());
        let purpose = match self.wanted.extremes {
            Some(_) => GroupPurpose::Extremes,
            None => GroupPurpose::Distinct,
        };
        Some(GroupScan { index: number, parts: count, ranges, first, probes, purpose })
    }

    /// Whether keys of a column tell the same values apart as the groups do.
    fn tells(&self, column: &Column, collation: Collation) -> bool {
        let ty = &self.def.columns[usize::from(column.column)].ty;
        (column.depth, column.leaf) == (0, self.read.leaf)
            && !matches!(ty.kind, Kind::Float | Kind::Double)
            && (!ty.kind.is_string() || ty.collation == collation)
    }

    fn is_about_groups(&self, cond: &Expr) -> bool {
        let mut about = may_move(cond);
        cond.visit(&mut |e| {
            if let Expr::Column(column) = e
                && column.depth == 0
            {
                about &= self.wanted.has(column.leaf, usize::from(column.column));
            }
        });
        about
    }

    /// What the conditions ask of the parts behind the groups': equalities up to the argument, and its bounds. With
    /// the conditions that this takes in.
    fn inner(
        &self,
        parts: &[(usize, bool)],
        conds: &[(usize, &Expr)],
    ) -> Option<(KeyRange, Vec<usize>)> {
        let mut inner = KeyRange { equal: Vec::new(), last: LastPart::Any };
        let mut used = Vec::new();
        let leaf = self.read.leaf;
        let place = |column: usize| Column { depth: 0, leaf, column: column as u16 };
        for (column, descending) in parts {
            if let Some(extremes) = &self.wanted.extremes
                && extremes.argument == place(*column)
            {
                let ty = &self.def.columns[*column].ty;
                if *descending || ty.kind.is_string() && ty.collation != extremes.collation {
                    return None;
                }
                if let Some((last, from)) = self.target.bounds(*column, conds) {
                    inner.last = last;
                    used.extend(from);
                }
                return Some((inner, used));
            }
            if !self.fixed.has(&place(*column)) {
                break;
            }
            let Some((value, from)) = self.target.equality(*column, conds) else { break };
            inner.equal.push(value);
            used.extend(from);
        }
        self.wanted.extremes.is_none().then_some((inner, used))
    }

    /// What is read of each group: whether the first row that satisfies the condition, and what is looked up.
    fn probes(&self, inner: KeyRange, narrowed: bool) -> (bool, Vec<GroupProbe>) {
        let probe = |last_part: &LastPart, last| {
            let range = KeyRange { equal: inner.equal.clone(), last: last_part.clone() };
            GroupProbe { range, last }
        };
        let Some(extremes) = &self.wanted.extremes else {
            return match narrowed {
                true => (false, vec![probe(&inner.last, false)]),
                false => (true, Vec::new()),
            };
        };
        let nullable = self.def.columns[usize::from(extremes.argument.column)].ty.nullable;
        let unbounded = inner.last == LastPart::Any;
        let mut probes = Vec::new();
        // NULL is less than any value, and what MIN is only of groups that have nothing else.
        let past_null = extremes.least && unbounded && nullable;
        if narrowed && (past_null && !extremes.greatest || extremes.least && !past_null) {
            probes.push(probe(&inner.last, false));
        }
        if past_null {
            probes.push(probe(&LastPart::NotNull, false));
        }
        if extremes.greatest {
            probes.push(probe(&inner.last, true));
        }
        (!narrowed, probes)
    }
}
