//! Several indexes of a table read together: MySQL's index_merge.
//!
//! 1. Each index names rows by their clustered keys; the rows are fetched afterwards, each once. An OR whose
//! alternatives each narrow some index is a union of these indexes; equalities with whole keys of several indexes are
//! an intersection. 2. An index gives its rows in the order of the clustered key where all its parts are compared for
//! equality; a union of others is sorted first. 3. Which ways there are follows MySQL: alternatives that narrow a
//! common index are one input; an intersection takes the index with the fewest rows first, and another one as long as
//! that is cheaper. 4. Values come from constants, parameters and outer blocks; those of a union also from tables
//! that are read before, where no rows are locked: what MySQL says of such reads is that ranges are checked for each row.

use super::Planner;
use super::access::{Choice, ENTRY_COST, FETCH_COST, OPEN_COST, ROW_COST, Target};
use super::locked::Locked;
use super::members::Cond;
use crate::hints::IndexChoice;
use crate::logical::{conjuncts, disjuncts, leaf_bit};
use crate::query_plan::{Estimate, KeyRange, LastPart, Merge, MergeInput, MergePart, ReadAccess};
use catalog::{IndexDef, TableRef};
use expr::tree::Expr;

/// Bits of `optimizer_switch`.
const INDEX_MERGE: u64 = 1;
const UNION: u64 = 1 << 1;
const SORT_UNION: u64 = 1 << 2;
const INTERSECTION: u64 = 1 << 3;

/// Cost of comparing two keys, and of sorting one.
const COMPARE_COST: f64 = 0.005;
const SORT_COST: f64 = 0.02;
/// Most alternatives that are looked at.
const ALTERNATIVES_MAX: usize = 200;

/// What the steps of a merge cost.
pub(super) trait Tariff {
    /// Reading the entries of an index, or rows of the clustered one, and handling each.
    fn entries(&self, rows: f64, ranges: usize, clustered: bool) -> f64;
    /// Reading entries of which most are thrown away.
    fn met(&self, rows: f64, ranges: usize) -> f64;
    /// Comparing keys.
    fn compare(&self, keys: f64) -> f64;
    /// Fetching rows in the order of their keys.
    fn fetch(&self, rows: f64) -> f64;
    /// Sorting keys.
    fn sort(&self, keys: f64) -> f64;
    /// Handling rows that were fetched.
    fn rows(&self, rows: f64) -> f64;
    /// It leads where MySQL's leads.
    fn is_mysqls(&self) -> bool {
        false
    }
}

/// What reads without locks cost.
struct Plain;

impl Tariff for Plain {
    fn entries(&self, rows: f64, ranges: usize, clustered: bool) -> f64 {
        OPEN_COST * ranges as f64 + rows * if clustered { ROW_COST } else { ENTRY_COST }
    }

    fn met(&self, rows: f64, ranges: usize) -> f64 {
        self.entries(rows, ranges, false)
    }

    fn compare(&self, keys: f64) -> f64 {
        keys * COMPARE_COST
    }

    fn fetch(&self, rows: f64) -> f64 {
        rows * FETCH_COST
    }

    fn sort(&self, keys: f64) -> f64 {
        keys * SORT_COST
    }

    fn rows(&self, _: f64) -> f64 {
        0.0
    }
}

/// A part of an index that conditions leave.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// In the definition's list.
    position: usize,
    clustered: bool,
    columns: Vec<usize>,
    ranges: Vec<KeyRange>,
    rows: f64,
    /// Rows come in the order of the clustered key.
    ordered: bool,
    /// The ranges go on with the clustered key behind the index's own parts.
    extended: bool,
    /// Conditions that it comes from.
    used: Vec<usize>,
}

impl Way {
    fn of(
        position: usize,
        index: &IndexDef,
        ranges: &[KeyRange],
        rows: f64,
        used: &[usize],
    ) -> Way {
        let whole = index.parts.iter().all(|part| part.prefix_chars.is_none());
        let equal = |range: &KeyRange| range.equal.len() >= index.parts.len();
        let parts = |r: &KeyRange| r.equal.len() + usize::from(r.last != LastPart::Any);
        Way {
            position,
            clustered: index.clustered,
            columns: index.parts.iter().map(|part| part.column).collect(),
            ranges: ranges.to_vec(),
            rows,
            ordered: index.clustered || whole && matches!(ranges, [range] if equal(range)),
            extended: ranges.iter().any(|range| parts(range) > index.parts.len()),
            used: used.to_vec(),
        }
    }

    fn entries(&self, tariff: &dyn Tariff) -> f64 {
        tariff.entries(self.rows, self.ranges.len(), self.clustered)
    }
}

/// Ways that together name rows.
#[derive(Debug, Clone)]
struct Input {
    ways: Vec<Way>,
    /// At least one.
    rows: f64,
    /// What several ways have in common, as far as is known.
    common: f64,
}

impl Input {
    fn single(way: &Way) -> Input {
        Input { rows: way.rows, common: way.rows, ways: vec![way.clone()] }
    }

    fn several(ways: Vec<Way>, common: f64) -> Input {
        Input { ways, common, rows: common.floor().max(1.0) }
    }

    /// Cost of the keys, and of their rows where several indexes name them.
    fn cost(&self, tariff: &dyn Tariff) -> f64 {
        match &self.ways[..] {
            [way] => way.entries(tariff),
            ways => met(ways, self.common, tariff),
        }
    }
}

/// Cost of what several ways have in common.
fn met(ways: &[Way], rows: f64, tariff: &dyn Tariff) -> f64 {
    let (filter, read): (Vec<&Way>, Vec<&Way>) = ways.iter().partition(|way| way.clustered);
    let entries: f64 = read.iter().map(|way| tariff.met(way.rows, way.ranges.len())).sum();
    let compared: f64 = read.iter().map(|way| way.rows).sum();
    let compared = if filter.is_empty() { 0.0 } else { tariff.compare(compared) };
    entries + compared + tariff.fetch(rows.floor())
}

/// Finds the ways to read a table by several indexes.
pub(super) struct Finder<'f, 'a> {
    planner: &'f Planner<'a>,
    target: &'f Target<'f>,
    table: TableRef,
    /// Of the table.
    rows: f64,
    /// Rows are locked: how few they are matters.
    exact: bool,
    /// What all conditions together leave of indexes, in the order of the clustered key.
    ways: Vec<Way>,
}

impl<'f, 'a> Finder<'f, 'a> {
    pub(super) fn new(
        planner: &'f Planner<'a>,
        target: &'f Target<'f>,
        table: TableRef,
        (rows, exact): (f64, bool),
    ) -> Finder<'f, 'a> {
        Finder { planner, target, table, rows, exact, ways: Vec::new() }
    }

    /// Notes what conditions leave of an index.
    pub(super) fn note(
        &mut self,
        own: &[(usize, &Cond)],
        (position, index): (usize, &IndexDef),
        (ranges, used): (&[KeyRange], &[usize]),
        rows: f64,
    ) {
        let alone = leaf_bit(self.target.leaf);
        let unbound = |n: &usize| own.iter().any(|(m, c)| m == n && c.leaves == alone);
        let way = Way::of(position, index, ranges, rows, used);
        if !way.ordered || !used.iter().all(unbound) {
            return;
        }
        match self.ways.iter_mut().find(|known| known.position == position) {
            Some(known) if way.rows < known.rows => *known = way,
            Some(_) => {}
            None => self.ways.push(way),
        }
    }

    /// The cheapest merge with its price.
    pub(super) fn cheapest(
        &self,
        own: &[(usize, &Cond)],
        hints: &IndexChoice,
        locked: Option<&Locked>,
    ) -> Option<(f64, Choice)> {
        let switches = self.planner.switches;
        let on = |switch: u64| {
            hints.merge_forced || switches & INDEX_MERGE != 0 && switches & switch != 0
        };
        let usable = |name: &str| {
            hints.join.allows(name)
                && hints.merge.allows(name)
                && !hints.no_range.iter().any(|n| n == name)
        };
        let indexes = self.target.def.indexes.iter().enumerate();
        let indexes: Vec<(usize, &IndexDef)> =
            indexes.filter(|(_, i)| !i.attributes.invisible && usable(&i.name)).collect();
        if indexes.len() < 2 {
            return None;
        }
        let tariff: &dyn Tariff = match locked {
            Some(locked) => locked,
            None => &Plain,
        };
        let mut found: Vec<(f64, Choice)> = Vec::new();
        if on(INTERSECTION) && !self.planner.no_intersections {
            let ways = self.ways.iter().filter(|w| indexes.iter().any(|(p, _)| *p == w.position));
            let ways: Vec<Way> = ways.cloned().collect();
            found.extend(self.intersection(&ways, tariff).map(|input| {
                let price = input.cost(tariff) + tariff.rows(input.rows);
                let used = input.ways.iter().flat_map(|way| way.used.clone()).collect();
                let (rows, cost) = (input.rows, input.cost(&Plain));
                (price, self.choice(&[input], false, used, (rows, cost)))
            }));
        }
        let alone = leaf_bit(self.target.leaf);
        for (number, cond) in own {
            let alternatives = disjuncts(&cond.expr);
            let bound = cond.leaves != alone;
            if bound && locked.is_some() || !(2..=ALTERNATIVES_MAX).contains(&alternatives.len()) {
                continue;
            }
            let Some(groups) = self.groups(&alternatives, &indexes) else { continue };
            let named: f64 = groups.iter().map(|group| least(group, tariff).rows).sum();
            let wanted = hints.merge_forced || hints.join.only.is_some();
            if named >= self.rows && !wanted {
                // The rows themselves are no more.
                continue;
            }
            let met = |ways: &[Way]| match on(INTERSECTION) {
                true => self.intersection(ways, tariff),
                false => None,
            };
            let inputs = (on(UNION)).then(|| ordered(&groups, tariff, met)).flatten();
            let sorted = on(SORT_UNION) && (inputs.is_none() || !all_ordered(&groups, tariff));
            let sorted = sorted.then(|| groups.iter().map(|g| Input::single(least(g, tariff))));
            let unions = inputs.map(|inputs| (inputs, false)).into_iter();
            for (inputs, sorted) in unions.chain(sorted.map(|inputs| (inputs.collect(), true))) {
                let rows = self.united(&inputs, sorted);
                let price = union_cost(&inputs, sorted, tariff);
                let cost = union_cost(&inputs, sorted, &Plain);
                found.push((price, self.choice(&inputs, sorted, vec![*number], (rows, cost))));
            }
        }
        found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// What the alternatives of an OR leave of indexes: by group of alternatives, of which each narrows all of the
    /// group's indexes. `None`: one alternative narrows nothing, or all are about one index.
    fn groups(
        &self,
        alternatives: &[&Expr],
        indexes: &[(usize, &IndexDef)],
    ) -> Option<Vec<Vec<Way>>> {
        let mut groups: Vec<Vec<(usize, Vec<KeyRange>)>> = Vec::new();
        for alternative in alternatives {
            let mut parts = Vec::new();
            conjuncts((*alternative).clone(), &mut parts);
            let conds: Vec<(usize, &Expr)> = parts.iter().map(|e| (0, e)).collect();
            let ranges = |(position, index): &(usize, &IndexDef)| {
                Some((*position, self.target.ranges(index, &conds, &mut Vec::new())?))
            };
            let narrowed: Vec<(usize, Vec<KeyRange>)> = indexes.iter().filter_map(ranges).collect();
            if narrowed.is_empty() {
                return None;
            }
            let shares = |group: &&mut Vec<(usize, Vec<KeyRange>)>| {
                group.iter().any(|(p, _)| narrowed.iter().any(|(q, _)| p == q))
            };
            match groups.iter_mut().find(shares) {
                None => groups.push(narrowed),
                Some(group) => group.retain_mut(|(position, ranges)| {
                    let more = narrowed.iter().find(|(p, _)| p == position);
                    ranges.extend(more.into_iter().flat_map(|(_, more)| more.clone()));
                    more.is_some()
                }),
            }
        }
        if groups.len() < 2 {
            return None;
        }
        let way = |(position, ranges): &(usize, Vec<KeyRange>)| {
            let index = &self.target.def.indexes[*position];
            let place = (*position, index);
            let rows = |range: &KeyRange| {
                self.planner.range_rows(self.table, place, range, self.rows, self.exact)
            };
            let rows = ranges.iter().map(rows).sum::<f64>().min(self.rows);
            Way::of(*position, index, ranges, rows, &[])
        };
        Some(groups.iter().map(|group| group.iter().map(way).collect()).collect())
    }

    /// Several of the ways, so that what they have in common is cheapest.
    fn intersection(&self, ways: &[Way], tariff: &dyn Tariff) -> Option<Input> {
        let (primary, others): (Vec<&Way>, Vec<&Way>) = ways.iter().partition(|w| w.clustered);
        let mut others: Vec<&Way> = others.into_iter().filter(|way| way.ordered).collect();
        others.sort_by(|a, b| a.rows.total_cmp(&b.rows));
        let (mut taken, mut rows): (Vec<Way>, f64) = (Vec::new(), self.rows);
        let mut best: Option<(f64, Input)> = None;
        for way in others {
            let known = |c: &usize| taken.iter().any(|t| t.columns.contains(c));
            if way.columns.iter().all(known) || way.rows >= self.rows {
                continue;
            }
            rows *= way.rows / self.rows;
            taken.push(way.clone());
            let cost = met(&taken, rows, tariff);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, Input::several(taken.clone(), rows)));
            }
        }
        let (least, mut best) = best?;
        // An index may know the range of the primary key already; MySQL asks twice, and locks by it.
        let asks = |primary: &&&Way| {
            let known = best.ways.iter().any(|way| way.extended);
            primary.rows < self.rows && (!known || tariff.is_mysqls())
        };
        if let Some(primary) = primary.first().filter(asks) {
            let rows = best.common * primary.rows / self.rows;
            let ways = [&best.ways[..], &[(*primary).clone()]].concat();
            if met(&ways, rows, tariff) < least {
                best = Input::several(ways, rows);
            }
        }
        (best.ways.len() > 1).then_some(best)
    }

    /// How many rows inputs name together; as in MySQL those that all of them name are thought of where they need not
    /// be sorted.
    fn united(&self, inputs: &[Input], sorted: bool) -> f64 {
        let all: f64 = inputs.iter().map(|input| input.rows).sum();
        let common: f64 = inputs.iter().map(|input| input.rows / self.rows).product();
        let common = if sorted { 0.0 } else { (common * self.rows).floor() };
        (all.min(self.rows) - common).max(1.0)
    }

    fn choice(
        &self,
        inputs: &[Input],
        sorted: bool,
        used: Vec<usize>,
        (rows, cost): (f64, f64),
    ) -> Choice {
        let hidden = usize::from(self.target.def.clustered().is_none());
        let part = |way: &Way| MergePart {
            index: if way.clustered { 0 } else { way.position + hidden },
            ranges: way.ranges.clone(),
            estimate: Estimate { rows: way.rows, cost: way.entries(&Plain), filtered: 1.0 },
        };
        let input = |input: &Input| MergeInput {
            parts: input.ways.iter().map(part).collect(),
            estimate: Estimate { rows: input.rows, cost: input.cost(&Plain), filtered: 1.0 },
        };
        let merge = Merge { inputs: inputs.iter().map(input).collect(), sorted };
        Choice { access: ReadAccess::Merge(Box::new(merge)), rows, cost, covering: false, used }
    }
}

/// The cheapest way of a group.
fn least<'g>(group: &'g [Way], tariff: &dyn Tariff) -> &'g Way {
    let cost = |way: &&Way| way.entries(tariff);
    let cheapest = group.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
    cheapest.expect("a group has an index")
}

/// Whether the cheapest way of every group has its rows in the order of the clustered key.
fn all_ordered(groups: &[Vec<Way>], tariff: &dyn Tariff) -> bool {
    groups.iter().all(|group| least(group, tariff).ordered)
}

/// For each group what names its rows in the order of the clustered key.
fn ordered(
    groups: &[Vec<Way>],
    tariff: &dyn Tariff,
    intersection: impl Fn(&[Way]) -> Option<Input>,
) -> Option<Vec<Input>> {
    let one = |group: &Vec<Way>| {
        let ways: Vec<Way> = group.iter().filter(|way| way.ordered).cloned().collect();
        let single = (!ways.is_empty()).then(|| Input::single(least(&ways, tariff)))?;
        let fetched = single.cost(tariff) + tariff.fetch(single.rows);
        Some(intersection(&ways).filter(|met| met.cost(tariff) < fetched).unwrap_or(single))
    };
    groups.iter().map(one).collect()
}

/// Cost of a union.
fn union_cost(inputs: &[Input], sorted: bool, tariff: &dyn Tariff) -> f64 {
    let keys: f64 = inputs.iter().map(|input| input.rows).sum();
    let named: f64 = inputs.iter().map(|input| input.cost(tariff)).sum();
    let merged = match sorted {
        true => tariff.sort(keys),
        false => tariff.compare(keys * (inputs.len() as f64).log2()),
    };
    named + merged + tariff.fetch(keys)
}
