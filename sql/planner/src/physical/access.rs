//! How one stored table is read: which index, which part of it, at what cost.
//!
//! 1. A path may find too many rows, never too few. 2. Values come from constants, parameters, outer blocks
//!    and leaves that are there before (`bound`). 3. A string part serves comparisons under its own
//!    collation only.

use super::locked::Locked;
use super::members::Cond;
use super::merge::Finder;
use super::{Leaves, Planner};
use crate::definition::CompiledDefinition;
use crate::explain::part_bytes;
use crate::logical::{conjuncts, disjuncts, leaf_bit};
use crate::query_plan::{KeyRange, KeyValue, LastPart, ReadAccess};
use crate::stats::IMPOSSIBLE;
use catalog::{IndexDef, TableCache, TableDef, TableRef};
use expr::tree::{Column, Comparison, Expr, OwnedDatum, Truth};
use value::{Collation, KeyPart, Kind};

/// Most ranges that values of several parts are multiplied to.
const RANGES_MAX: usize = 200;
/// Cost of finding the first row of a path.
pub(super) const OPEN_COST: f64 = 0.5;
/// Cost of a row of the clustered index: most of them are thrown away where they lie.
pub(super) const ROW_COST: f64 = 0.05;
/// Cost of a row found in an index and fetched from the clustered one by a way down.
pub(super) const FETCH_COST: f64 = 0.6;
/// Cost of an entry that has all that is wanted of its row.
pub(super) const ENTRY_COST: f64 = 0.05;

/// A way to read a table.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) access: ReadAccess,
    /// Rows found per opening.
    pub(crate) rows: f64,
    /// Cost per opening.
    pub(crate) cost: f64,
    /// Every needed column is in the index.
    pub(crate) covering: bool,
    /// Conditions that the path has taken into account.
    pub(crate) used: Vec<usize>,
}

/// What a condition asks of one index part.
#[derive(Debug, Clone)]
enum Interval {
    Equal(KeyValue),
    Last(LastPart),
}

/// One table in the eyes of the chooser.
pub(super) struct Target<'t> {
    pub(super) leaf: u16,
    pub(super) def: &'t TableDef,
    leaves: &'t Leaves,
    bound: u64,
    /// What the hidden columns of functional indexes are computed from.
    computed: Vec<(usize, Expr)>,
}

/// The conditions on a leaf that can be looked at when the leaves of `bound` are there, with their places.
fn conditions_on(leaf: u16, conds: &[Cond], bound: u64) -> Vec<(usize, &Cond)> {
    let own = |c: &Cond| c.leaves & leaf_bit(leaf) != 0 && c.leaves & !bound & !leaf_bit(leaf) == 0;
    conds.iter().enumerate().filter(|(_, c)| own(c)).collect()
}

/// What a row costs that an index finds; `covers`: the index has all that is needed of it.
fn row_cost(clustered: bool, covers: bool) -> f64 {
    match (clustered, covers) {
        (true, _) => ROW_COST,
        (false, true) => ENTRY_COST,
        (false, false) => FETCH_COST,
    }
}

impl Planner<'_> {
    /// The cheapest way to read a table under conditions, with `bound` leaves there before it.
    pub(crate) fn choose(
        &self,
        leaf: u16,
        table: TableRef,
        leaves: &Leaves,
        conds: &[Cond],
        bound: u64,
    ) -> Choice {
        let measures = self.literals.measures();
        let choice = self.cheapest((leaf, table), leaves, conds, bound);
        if matches!(choice.access, ReadAccess::Point { .. }) {
            // No number of rows makes another way better, so none is asked for when the plan is used again.
            self.literals.forget_since(measures);
        }
        choice
    }

    fn cheapest(
        &self,
        (leaf, table): (u16, TableRef),
        leaves: &Leaves,
        conds: &[Cond],
        bound: u64,
    ) -> Choice {
        let def = self.tables.def(table);
        let source = &leaves.list[usize::from(leaf)];
        let locks = source.lock.is_some() || self.locks;
        let rows = match locks {
            true => self.counted(table),
            false => self.statistics.rows(table),
        };
        let whole = self.whole(leaf, table, leaves);
        let own = conditions_on(leaf, conds, bound);
        let target = Target { bound, ..Target::new((leaf, table), self.tables, leaves) };
        let locked = locks.then(|| Locked::of(rows, leaves.targets.contains(&leaf)));
        let price = |choice: &Choice, clustered: bool| match &locked {
            Some(locked) => locked.price(choice, clustered),
            None => choice.cost,
        };
        let mut best: Option<(f64, Choice)> = None;
        let mut finder = Finder::new(self, &target, table, (rows, locks));
        for (position, index) in def.indexes.iter().enumerate() {
            if index.attributes.invisible || !source.hints.join.allows(&index.name) {
                continue;
            }
            let covers = leaves.covers(leaf, def, index);
            for (ranges, used) in target.paths(index, &own) {
                if is_range(&ranges) && source.hints.no_range.contains(&index.name) {
                    continue;
                }
                let found = ranges
                    .iter()
                    .map(|r| self.range_rows(table, (position, index), r, rows, locks));
                let matched = found.sum::<f64>().min(rows);
                let cost =
                    OPEN_COST * ranges.len() as f64 + matched * row_cost(index.clustered, covers);
                finder.note(&own, (position, index), (&ranges, &used), matched);
                let number = position + usize::from(def.clustered().is_none());
                let choice = Choice {
                    access: access(number, index, ranges),
                    rows: matched,
                    cost,
                    covering: covers,
                    used,
                };
                // Where no key can be nothing is read, nor locked.
                let impossible = locks && matched == 0.0;
                let price = if impossible { 0.0 } else { price(&choice, index.clustered) };
                if best.as_ref().is_none_or(|(least, _)| price < *least) {
                    best = Some((price, choice));
                }
            }
        }
        if !matches!(&best, Some((_, Choice { access: ReadAccess::Point { .. }, .. }))) {
            let merged = finder.cheapest(&own, &source.hints, locked.as_ref());
            if let Some(merged) = merged
                && (source.hints.merge_forced
                    || best.as_ref().is_none_or(|(least, _)| merged.0 < *least))
            {
                best = Some(merged);
            }
        }
        let Some((least, best)) = best else { return whole };
        let scan = locked.map_or(whole.cost, |locked| locked.scan(&best, &whole));
        let wanted = source.hints.join.only.is_some() || source.hints.merge_forced;
        if least <= scan || wanted { best } else { whole }
    }

    /// All rows: by the shortest index that has all that is needed, else by the rows themselves.
    fn whole(&self, leaf: u16, table: TableRef, leaves: &Leaves) -> Choice {
        let def = self.tables.def(table);
        let source = &leaves.list[usize::from(leaf)];
        let rows = self.statistics.rows(table);
        let allowed = |(_, index): &(usize, &IndexDef)| {
            !index.clustered
                && !index.attributes.invisible
                && source.hints.join.allows(&index.name)
                && leaves.covers(leaf, def, index)
        };
        let shortest = def.indexes.iter().enumerate().filter(allowed).min_by_key(|(_, index)| {
            let part = |p: &KeyPart| part_bytes(&def.columns[p.column].ty, p.prefix_chars);
            index.parts.iter().map(part).sum::<u32>()
        });
        let (number, covering, per_row) = match shortest {
            Some((position, _)) => {
                (position + usize::from(def.clustered().is_none()), true, ENTRY_COST)
            }
            None => (0, def.clustered().is_some_and(|i| leaves.covers(leaf, def, i)), ROW_COST),
        };
        Choice {
            access: ReadAccess::Index(number),
            rows,
            cost: OPEN_COST + rows * per_row,
            covering,
            used: Vec::new(),
        }
    }

    pub(super) fn range_rows(
        &self,
        table: TableRef,
        (position, index): (usize, &IndexDef),
        range: &KeyRange,
        rows: f64,
        exact: bool,
    ) -> f64 {
        let parts = range.equal.len();
        let distinct = match parts {
            0 => 1.0,
            parts => self.statistics.distinct(table, position, parts),
        };
        let is_row =
            parts > index.parts.len() && parts == self.tables.def(table).all_parts(index).len();
        if index.unique && parts == index.parts.len() || is_row {
            return 1.0;
        }
        let number = position + usize::from(self.tables.def(table).clustered().is_none());
        if let Some(found) = self.measured(table, number, range, exact) {
            if exact && found == IMPOSSIBLE {
                return 0.0;
            }
            return found.clamp(1.0, rows.max(1.0));
        }
        let share = match &range.last {
            LastPart::Any => 1.0,
            LastPart::Between { low: Some(_), high: Some(_) } => 0.05,
            LastPart::Between { .. } => 0.33,
            LastPart::NotNull => 0.9,
            LastPart::Like { .. } => 0.05,
        };
        (rows / distinct * share).max(1.0)
    }
}

/// The expressions of functional indexes, over a leaf. Where one cannot be bound none finds anything.
fn computed(tables: &TableCache, table: TableRef, leaf: u16) -> Vec<(usize, Expr)> {
    let compiled = CompiledDefinition::of(tables, table);
    let functional = compiled.map_or(&[][..], |compiled| &compiled.functional);
    let over_leaf = |(column, expr): &(usize, Expr)| {
        let mut expr = expr.clone();
        expr.rewrite(&mut |e| {
            if let Expr::Column(place) = e {
                place.leaf = leaf;
            }
            false
        });
        (*column, expr)
    };
    functional.iter().map(over_leaf).collect()
}

/// More than one look-up.
fn is_range(ranges: &[KeyRange]) -> bool {
    ranges.len() != 1 || ranges[0].last != LastPart::Any
}

pub(super) fn access(number: usize, index: &IndexDef, mut ranges: Vec<KeyRange>) -> ReadAccess {
    if is_range(&ranges) {
        return ReadAccess::Ranges { index: number, ranges };
    }
    let key = ranges.swap_remove(0).equal;
    let whole =
        key.len() == index.parts.len() && index.parts.iter().all(|p| p.prefix_chars.is_none());
    if index.unique && whole && key.iter().all(|k| !k.null_safe) {
        ReadAccess::Point { index: number, key }
    } else {
        ReadAccess::Lookup { index: number, key }
    }
}

impl<'t> Target<'t> {
    /// A table that is read first.
    pub(super) fn new(
        (leaf, table): (u16, TableRef),
        tables: &'t TableCache,
        leaves: &'t Leaves,
    ) -> Target<'t> {
        let computed = computed(tables, table, leaf);
        Target { leaf, def: tables.def(table), leaves, bound: 0, computed }
    }

    /// Ranges that the conditions leave of an index, with the conditions that they come from.
    fn paths(&self, index: &IndexDef, own: &[(usize, &Cond)]) -> Vec<(Vec<KeyRange>, Vec<usize>)> {
        let mut paths = Vec::new();
        let all: Vec<(usize, &Expr)> = own.iter().map(|(n, c)| (*n, &c.expr)).collect();
        let mut used = Vec::new();
        let ranges = self.ranges(index, &all, &mut used);
        if let Some(ranges) = ranges {
            paths.push((ranges, used));
        }
        // (a = 1 AND b = 2) OR (a = 3 AND b = 4): the alternatives one by one.
        for (number, expr) in &all {
            if !matches!(expr, Expr::Or(..)) {
                continue;
            }
            let alternatives = disjuncts(expr);
            let mut ranges = Vec::new();
            let complete = alternatives.iter().all(|alternative| {
                let mut parts = Vec::new();
                conjuncts((*alternative).clone(), &mut parts);
                let mut conds: Vec<(usize, &Expr)> = parts.iter().map(|e| (*number, e)).collect();
                conds.extend(all.iter().filter(|(n, _)| n != number));
                match self.ranges(index, &conds, &mut Vec::new()) {
                    Some(more) => {
                        ranges.extend(more);
                        ranges.len() <= RANGES_MAX
                    }
                    None => false,
                }
            });
            if complete {
                paths.push((ranges, vec![*number]));
            }
        }
        paths
    }

    /// Ranges over the first parts; `None` when the conditions say nothing about the first one.
    pub(super) fn ranges(
        &self,
        index: &IndexDef,
        conds: &[(usize, &Expr)],
        used: &mut Vec<usize>,
    ) -> Option<Vec<KeyRange>> {
        let mut done: Vec<KeyRange> = Vec::new();
        let mut open: Vec<Vec<KeyValue>> = vec![Vec::new()];
        let parts = self.def.all_parts(index);
        for (number, part) in parts.iter().enumerate() {
            let Some((intervals, from)) = self.part_intervals(part.column, conds) else { break };
            if open.len() * intervals.len() + done.len() > RANGES_MAX {
                break;
            }
            used.extend(from);
            let mut longer = Vec::new();
            for prefix in open {
                for interval in &intervals {
                    match interval {
                        // A part that keeps a prefix ends the range; equality is a range of it.
                        Interval::Equal(key) if part.prefix_chars.is_some() => {
                            let bound = Some((key.value.clone(), true));
                            let last = match key.null_safe {
                                true => LastPart::Any,
                                false => LastPart::Between { low: bound.clone(), high: bound },
                            };
                            done.push(KeyRange { equal: prefix.clone(), last });
                        }
                        Interval::Equal(key) => {
                            let mut equal = prefix.clone();
                            equal.push(key.clone());
                            longer.push(equal);
                        }
                        Interval::Last(last) => {
                            done.push(KeyRange { equal: prefix.clone(), last: last.clone() });
                        }
                    }
                }
            }
            open = longer;
            if open.is_empty() || number + 1 == parts.len() {
                break;
            }
        }
        done.extend(open.into_iter().map(|equal| KeyRange { equal, last: LastPart::Any }));
        let narrow = |r: &KeyRange| !r.equal.is_empty() || r.last != LastPart::Any;
        done.iter().all(narrow).then_some(done).filter(|list| !list.is_empty())
    }

    /// The columns that are needed of the table.
    pub(super) fn needed(&self) -> impl Iterator<Item = usize> {
        self.leaves.needed[usize::from(self.leaf)].iter().copied()
    }

    /// Whether an index has all columns that are needed, be it only their sort keys.
    pub(super) fn has_all(&self, index: &IndexDef) -> bool {
        let parts = self.def.indexes.iter().filter(|i| i.clustered).chain([index]);
        let parts: Vec<usize> = parts
            .flat_map(|i| &i.parts)
            .filter(|p| p.prefix_chars.is_none())
            .map(|p| p.column)
            .collect();
        self.needed().all(|column| parts.contains(&column))
    }

    /// Whether conditions say nothing about a column.
    pub(super) fn is_free(&self, column: usize, conds: &[(usize, &Expr)]) -> bool {
        self.part_intervals(column, conds).is_none()
    }

    /// The value that conditions set a column equal to, and which of them do.
    pub(super) fn equality(
        &self,
        column: usize,
        conds: &[(usize, &Expr)],
    ) -> Option<(KeyValue, Vec<usize>)> {
        let (mut intervals, from) = self.part_intervals(column, conds)?;
        match (intervals.pop(), intervals.is_empty()) {
            (Some(Interval::Equal(value)), true) => Some((value, from)),
            _ => None,
        }
    }

    /// What conditions ask of a column if it is one range, and which of them do.
    pub(super) fn bounds(
        &self,
        column: usize,
        conds: &[(usize, &Expr)],
    ) -> Option<(LastPart, Vec<usize>)> {
        let (mut intervals, from) = self.part_intervals(column, conds)?;
        match (intervals.pop(), intervals.is_empty()) {
            (Some(Interval::Last(last)), true) => Some((last, from)),
            _ => None,
        }
    }

    /// What all conditions together ask of a column, and which of them do.
    fn part_intervals(
        &self,
        column: usize,
        conds: &[(usize, &Expr)],
    ) -> Option<(Vec<Interval>, Vec<usize>)> {
        let mut all: Option<(Vec<Interval>, Vec<usize>)> = None;
        for (number, cond) in conds {
            let Some(intervals) = self.intervals(cond, column) else { continue };
            all = Some(match all {
                None => (intervals, vec![*number]),
                Some((before, mut from)) => {
                    from.push(*number);
                    (intersect(before, intervals), from)
                }
            });
        }
        all
    }

    /// Outside of which values of a column a condition is never true.
    fn intervals(&self, cond: &Expr, column: usize) -> Option<Vec<Interval>> {
        match cond {
            Expr::And(a, b) => match (self.intervals(a, column), self.intervals(b, column)) {
                (Some(a), Some(b)) => Some(intersect(a, b)),
                (a, b) => a.or(b),
            },
            Expr::Or(a, b) => {
                let mut list = self.intervals(a, column)?;
                list.extend(self.intervals(b, column)?);
                (list.len() <= RANGES_MAX).then_some(list)
            }
            Expr::Compare(op, a, b, collation) => self.comparison(*op, a, b, *collation, column),
            Expr::In(value, list, collation) => {
                let fits = self.is_column(value, column) && self.usable(column, *collation);
                let values = list.iter().all(|e| self.is_bound(e));
                let equal =
                    |e: &Expr| Interval::Equal(KeyValue { value: e.clone(), null_safe: false });
                (fits && values && list.len() <= RANGES_MAX)
                    .then(|| list.iter().map(equal).collect())
            }
            Expr::Is(value, Truth::Null, negated) if self.is_column(value, column) => {
                let null = KeyValue { value: Expr::Const(OwnedDatum::Null), null_safe: true };
                Some(vec![match negated {
                    false => Interval::Equal(null),
                    true => Interval::Last(LastPart::NotNull),
                }])
            }
            Expr::Like(value, pattern, escape, collation) => {
                let fits = self.is_column(value, column)
                    && self.usable(column, *collation)
                    && self.def.columns[column].ty.kind.is_string()
                    && self.is_bound(pattern);
                let last = LastPart::Like { pattern: (**pattern).clone(), escape: *escape };
                fits.then(|| vec![Interval::Last(last)])
            }
            _ => None,
        }
    }

    fn comparison(
        &self,
        op: Comparison,
        a: &Expr,
        b: &Expr,
        collation: Collation,
        column: usize,
    ) -> Option<Vec<Interval>> {
        let (op, value) = if self.is_column(a, column) && self.is_bound(b) {
            (op, b)
        } else if self.is_column(b, column) && self.is_bound(a) {
            (op.flipped(), a)
        } else {
            return None;
        };
        let by_number = matches!(value, Expr::Const(v) if !matches!(v, OwnedDatum::Bytes(_)));
        // Members are indexed by their numbers and compared by their texts.
        let members = self.def.columns[column].ty.kind.has_members();
        let equality = matches!(op, Comparison::Eq | Comparison::NullSafeEq);
        if members && !equality || !by_number && !self.usable(column, collation) {
            return None;
        }
        // Bits are indexed as bytes: text in their place would be bytes, and is a number beside them.
        let bits = self.def.columns[column].ty.kind == Kind::Bit;
        if bits && !equality && !by_number {
            return None;
        }
        let bound = |inclusive| Some((value.clone(), inclusive));
        let between = |low, high| Interval::Last(LastPart::Between { low, high });
        let equal = |null_safe| Interval::Equal(KeyValue { value: value.clone(), null_safe });
        Some(vec![match op {
            Comparison::Eq => equal(false),
            Comparison::NullSafeEq => equal(true),
            Comparison::Lt => between(None, bound(false)),
            Comparison::Le => between(None, bound(true)),
            Comparison::Gt => between(bound(false), None),
            Comparison::Ge => between(bound(true), None),
            Comparison::Ne => return None,
        }])
    }

    fn is_column(&self, e: &Expr, column: usize) -> bool {
        *e == Expr::Column(Column { depth: 0, leaf: self.leaf, column: column as u16 })
            || self.computed.iter().any(|(c, own)| *c == column && own == e)
    }

    /// A value that is known before the table is read.
    fn is_bound(&self, e: &Expr) -> bool {
        let mut settled = true;
        e.visit(&mut |e| {
            settled &= match e {
                Expr::AssignUserVar(..) => false,
                Expr::UserVar(name, _) => !self.leaves.assigned.contains(&name.to_lowercase()),
                _ => true,
            };
        });
        settled && self.leaves.looked_at(e) & !self.bound == 0
    }

    fn usable(&self, column: usize, collation: Collation) -> bool {
        let ty = &self.def.columns[column].ty;
        !(ty.kind.is_string() || ty.kind.has_members()) || ty.collation == collation
    }
}

/// Both lists hold: exact for complementary bounds, otherwise the narrower list serves alone.
fn intersect(a: Vec<Interval>, b: Vec<Interval>) -> Vec<Interval> {
    use Interval::Last;
    use LastPart::Between;
    if let ([Last(Between { low: l1, high: h1 })], [Last(Between { low: l2, high: h2 })]) =
        (&a[..], &b[..])
    {
        let low = l1.clone().or_else(|| l2.clone());
        let high = h1.clone().or_else(|| h2.clone());
        return vec![Last(Between { low, high })];
    }
    let points = |list: &[Interval]| list.iter().all(|i| matches!(i, Interval::Equal(_)));
    match (points(&a), points(&b)) {
        (true, false) => a,
        (false, true) => b,
        _ if b.len() < a.len() => b,
        _ if matches!(a[..], [Last(LastPart::NotNull)]) => b,
        _ => a,
    }
}
