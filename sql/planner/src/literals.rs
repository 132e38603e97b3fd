//! Literals of a text as parameters of its plan: which of them may have other values, and what the planner
//! asked about the values that they had.
//!
//! 1. A literal is free only if every expression made of it is a parameter of the literal's own type, in a
//!    place where nothing but its value counts: beside a column in a comparison that needs no conversion, or
//!    as a value of INSERT or UPDATE. 2. What the planner measured with a literal's value is kept as a
//!    [`Probe`]: with other values the plan is the right one as long as the measures are alike.

use crate::physical::bounds;
use crate::query_plan::{KeyRange, LastPart};
use crate::stats::{Sampled, Statistics};
use catalog::{TableCache, TableRef};
use expr::tree::{Expr, OwnedDatum, Typed};
use std::cell::RefCell;

/// Estimates below this many rows are alike: a plan for one row serves for some.
const ALIKE_ROWS: f64 = 16.0;
/// Estimates up to this many rows are alike where they are the same, if rows are locked by the plan.
const EXACT_ROWS: f64 = 200.0;
/// Estimates that differ by less than this factor are alike.
const ALIKE_FACTOR: f64 = 2.0;

/// The literals of the text that is being planned; none of a text whose plan is not kept.
#[derive(Debug, Default)]
pub struct Literals {
    values: Vec<OwnedDatum>,
    uses: Vec<Use>,
    probes: RefCell<Vec<Probe>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Use {
    parameter: bool,
    constant: bool,
}

/// How many entries of an index a range was expected to have, or a table rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    pub(crate) table: TableRef,
    /// `None`: the whole table.
    range: Option<(usize, KeyRange)>,
    rows: Option<f64>,
    /// Small numbers are not alike: rows are locked by the plan.
    exact: bool,
}

impl Literals {
    /// Of a text with these literals.
    pub fn new(values: Vec<OwnedDatum>) -> Literals {
        let uses = vec![Use::default(); values.len()];
        Literals { values, uses, probes: RefCell::default() }
    }

    /// Their values.
    pub(crate) fn values(&self) -> &[OwnedDatum] {
        &self.values
    }

    /// The parameter that stands for a literal.
    pub(crate) fn parameter(&mut self, number: u32, value: Typed) -> Typed {
        match self.uses.get_mut(number as usize) {
            Some(uses) => {
                uses.parameter = true;
                Typed { expr: Expr::Param(number as usize), ..value }
            }
            None => value,
        }
    }

    /// Notes that a literal's value is in the plan.
    pub(crate) fn constant(&mut self, number: u32) {
        if let Some(uses) = self.uses.get_mut(number as usize) {
            uses.constant = true;
        }
    }

    /// Notes what was measured of a range, if literals are in it or few rows count.
    pub(crate) fn measured(
        &self,
        (table, index): (TableRef, usize),
        range: &KeyRange,
        rows: Option<f64>,
        exact: bool,
    ) {
        if exact || has_parameter(range) {
            self.note(Probe { table, range: Some((index, range.clone())), rows, exact });
        }
    }

    /// Notes how many rows a table has.
    pub(crate) fn counted(&self, table: TableRef, rows: f64) {
        self.note(Probe { table, range: None, rows: Some(rows), exact: true });
    }

    /// How much was measured so far.
    pub(crate) fn measures(&self) -> usize {
        self.probes.borrow().len()
    }

    /// Forgets what was measured since there were so many: it did not matter.
    pub(crate) fn forget_since(&self, measures: usize) {
        self.probes.borrow_mut().truncate(measures);
    }

    fn note(&self, probe: Probe) {
        let mut probes = self.probes.borrow_mut();
        let known = |p: &Probe| p.table == probe.table && p.range == probe.range;
        if !self.values.is_empty() && !probes.iter().any(known) {
            probes.push(probe);
        }
    }

    /// By literal, whether another value may stand in its place; and what was measured.
    pub fn finish(self) -> (Vec<bool>, Vec<Probe>) {
        let free = self.uses.iter().map(|u| u.parameter && !u.constant).collect();
        (free, self.probes.into_inner())
    }
}

impl Probe {
    /// Whether the range has about as many entries with these values. The table is open.
    pub fn fits(&self, tables: &TableCache, values: &[OwnedDatum]) -> bool {
        let measure = || {
            let Some((index, range)) = &self.range else {
                return Some(Sampled::new(tables).rows_now(self.table));
            };
            let (low, high) = bounds(tables, self.table, *index, range, values)?;
            Sampled::new(tables).between(self.table, *index, &low, high.as_deref())
        };
        match (self.rows, measure()) {
            (None, None) => true,
            (Some(a), Some(b)) if self.exact && a.min(b) <= EXACT_ROWS => a == b,
            (Some(a), Some(b)) => {
                let (a, b) = (a.max(ALIKE_ROWS), b.max(ALIKE_ROWS));
                a <= b * ALIKE_FACTOR && b <= a * ALIKE_FACTOR
            }
            _ => false,
        }
    }
}

fn has_parameter(range: &KeyRange) -> bool {
    let mut found = false;
    let mut look = |e: &Expr| e.visit(&mut |e| found |= matches!(e, Expr::Param(_)));
    range.equal.iter().for_each(|key| look(&key.value));
    if let LastPart::Between { low, high } = &range.last {
        low.iter().chain(high).for_each(|(bound, _)| look(bound));
    }
    found
}
