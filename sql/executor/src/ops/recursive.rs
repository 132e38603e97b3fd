//! Recursive common table expressions.
//!
//! 1. The seeds alone decide the columns. A step's values are stored in them as INSERT stores values: what does not fit
//!    is an error in strict mode, and cut otherwise. 2. The rows of a round and those of the next one lie in two stores that
//!    change places; a step reads the former to their end. One that [`goes_on`] stays open from round to round.

use super::block::Block;
use super::sets::SetLeaf;
use super::store::RowStore;
use super::stored::{StoredLeaf, TakeRow};
use super::table::{KeyTable, hash};
use super::{Operator, Run, Statement};
use crate::ExecError;
use crate::memory::Charge;
use crate::{Environment, SqlError};
use catalog::ColumnDef;
use expr::{Frame, OwnedDatum, Row, Typed, Value};
use planner::query_plan::{Node, QueryPlan};
use std::cell::RefCell;
use value::types::NOT_FIXED;
use value::{ColumnType, Datum, Kind};

/// A recursive common table expression: its rows, round by round.
pub struct Recursive<'p> {
    pub(super) leaf: SetLeaf,
    pub(super) recursion: usize,
    pub(super) seeds: Vec<Block<'p>>,
    /// Those that work with the rows of the round before, and whether each [`goes_on`].
    pub(super) steps: Vec<(Block<'p>, bool)>,
    /// The steps are open.
    pub(super) opened: bool,
    /// UNION DISTINCT.
    pub(super) unique: Option<Unique>,
    /// The table's name and columns, as the seeds make them.
    pub(super) name: &'p str,
    pub(super) columns: &'p [ColumnDef],
    /// The rows of the present round.
    pub(super) rows: Option<Box<RowStore>>,
    pub(super) at: usize,
    pub(super) rounds: u64,
    /// More of them than `cte_max_recursion_depth` are an error.
    pub(super) rounds_max: u64,
}

impl Recursive<'_> {
    /// Adds the rows of the seeds to `found`.
    fn seed(
        &mut self,
        found: &mut RowStore,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<(), SqlError> {
        for block in &mut self.seeds {
            let row: Row<'_> = run.row(frame);
            block.open(run.st, &mut *run.env, Some(&row))?;
            while self.leaf.pull(block, run, frame)? {
                let row = self.leaf.row(frame);
                if self.unique.as_mut().map_or(Ok(true), |u| u.add(&mut self.leaf, row, run.st))? {
                    found.push(run.st, row)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the rows of the steps over those of the round before to `found`.
    fn step(
        &mut self,
        found: &mut RowStore,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<(), SqlError> {
        let Self { leaf, steps, unique, columns, name, opened, recursion, .. } = self;
        let mut bytes = std::mem::take(leaf.row_mut(frame));
        for (block, goes_on) in steps {
            // Each of them works with all rows of the round.
            if let Some(Some(rows)) = run.st.working.borrow().get(*recursion) {
                rows.borrow_mut().rewind();
            }
            let (row, outputs) = (run.row(frame), block.outputs());
            let opens = !(*opened && *goes_on);
            block.each((run.st, &mut *run.env), Some(&row), opens, |run, frame| {
                let value = |n: usize| {
                    let Typed { expr, ty, .. } = &outputs[n].value;
                    let value = run.eval(expr, frame)?;
                    stored(value, ty, name, &columns[n], run.env)
                };
                leaf.write(columns.len().min(outputs.len()), value, &mut bytes)?;
                if unique.as_mut().map_or(Ok(true), |u| u.add(leaf, &bytes, run.st))? {
                    found.push(run.st, &bytes)?;
                }
                Ok(())
            })?;
        }
        *opened = true;
        *leaf.row_mut(frame) = bytes;
        Ok(())
    }

    /// Goes to the next round when the rows of one are given out; `false`: there are no more.
    fn go_on(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let Some(given) = self.rows.take().filter(|rows| rows.len() > 0) else {
            return Ok(false);
        };
        self.check_rounds()?;
        let mut found = self.set_working(given, run.st);
        self.step(&mut found, run, frame)?;
        self.rows = Some(found);
        self.at = 0;
        Ok(true)
    }

    /// The rows that were given out last are those that the steps work with; answers a store for those that come.
    fn set_working(&self, mut rows: Box<RowStore>, st: &Statement<'_>) -> Box<RowStore> {
        let mut working = st.working.borrow_mut();
        if working.len() <= self.recursion {
            working.resize_with(self.recursion + 1, || None);
        }
        // Nobody reads the rows of the round before any more.
        if let Some(before) = &mut working[self.recursion] {
            std::mem::swap(before.get_mut(), &mut rows);
            rows.clear();
            return rows;
        }
        working[self.recursion] = Some(RefCell::new(rows));
        Box::new(RowStore::new(st))
    }

    fn check_rounds(&mut self) -> Result<(), SqlError> {
        self.rounds += 1;
        if self.rounds > self.rounds_max {
            return Err(ExecError::TooManyRounds(self.rounds).into());
        }
        Ok(())
    }
}

impl Operator for Recursive<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.leaf.open(frame);
        if let Some(unique) = &mut self.unique {
            unique.table.clear();
        }
        (self.at, self.rounds, self.opened) = (0, 0, false);
        self.rounds_max = match run.env.system_variable(false, "cte_max_recursion_depth") {
            Ok(OwnedDatum::UInt(n)) => n,
            Ok(OwnedDatum::Int(n)) => n.max(0) as u64,
            _ => 1000,
        };
        let mut rows = Box::new(RowStore::new(run.st));
        self.seed(&mut rows, run, frame)?;
        self.rows = Some(rows);
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        loop {
            let Some(rows) = &mut self.rows else { return Ok(false) };
            run.tick()?;
            if self.at < rows.len() {
                rows.get(self.at, self.leaf.row_mut(frame))?;
                self.at += 1;
                return Ok(true);
            }
            if !self.go_on(run, frame)? {
                return Ok(false);
            }
        }
    }

    fn stored(&self) -> Option<StoredLeaf<'_>> {
        Some(self.leaf.stored())
    }

    fn pass(
        &mut self,
        run: &mut Run<'_>,
        frame: &mut Frame,
        take: &mut TakeRow<'_>,
    ) -> Result<bool, SqlError> {
        loop {
            let Some(rows) = &mut self.rows else { return Ok(false) };
            while self.at < rows.len() {
                run.tick()?;
                self.at += 1;
                if take(rows.look(self.at - 1, self.leaf.row_mut(frame))?) {
                    return Ok(true);
                }
            }
            if !self.go_on(run, frame)? {
                return Ok(false);
            }
        }
    }

    fn close(&mut self) {
        if let Some(unique) = &mut self.unique {
            *unique = Unique::default();
        }
        self.rows = None;
        let steps = self.steps.iter_mut().map(|(block, _)| block);
        self.seeds.iter_mut().chain(steps).for_each(|block| block.close());
    }
}

/// The rows of UNION DISTINCT that were there already.
#[derive(Default)]
pub struct Unique {
    table: KeyTable,
    charge: Option<Charge>,
}

impl Unique {
    /// Adds a row of the leaf; `false`: it is there already.
    fn add(
        &mut self,
        leaf: &mut SetLeaf,
        row: &[u8],
        st: &Statement<'_>,
    ) -> Result<bool, SqlError> {
        let key = leaf.key_of(row)?;
        let is_new = self.table.insert(key, hash(key)).1;
        let charge = self.charge.get_or_insert_with(|| st.budget.charge());
        charge.set(self.table.bytes());
        charge.check()?;
        Ok(is_new)
    }
}

/// Whether a step that gives no more rows may be asked again when there are other ones to work with, instead of being opened
/// again: nothing in it keeps rows but those of a join's inner side, which is opened for each row.
pub(super) fn goes_on(step: &QueryPlan) -> bool {
    let mut node = &step.root;
    loop {
        node = match node {
            Node::Working { .. } => return true,
            Node::Filter { input, .. } | Node::Project { input, .. } => input,
            Node::Join { outer, .. } => outer,
            _ => return false,
        }
    }
}

/// Whether a column has a value as it is, whatever the session.
fn fits(value: &Datum<'_>, ty: &ColumnType) -> bool {
    match value {
        Datum::Int(v) => match ty.kind {
            Kind::BigInt => !ty.unsigned,
            Kind::Int => !ty.unsigned && i32::try_from(*v).is_ok(),
            _ => false,
        },
        Datum::UInt(_) => ty.kind == Kind::BigInt && ty.unsigned,
        Datum::Double(_) => ty.kind == Kind::Double && !ty.unsigned && ty.decimals == NOT_FIXED,
        _ => false,
    }
}

/// A value as its column has it. Without strict mode only dates and times are warned of.
fn stored<'v>(
    value: Value<'v>,
    from: &ColumnType,
    table: &str,
    column: &ColumnDef,
    env: &mut dyn Environment,
) -> Result<Value<'v>, SqlError> {
    let datum = value.get();
    if fits(&datum, &column.ty) {
        return Ok(value);
    }
    if env.strict() || column.ty.kind.is_temporal() {
        let stored = crate::write::convert::convert((&datum, Some(from)), table, column, 1, env)?;
        return Ok(stored.into());
    }
    let mut scratch = Vec::new();
    match value::coerce(datum, Some(from), &column.ty, &env.convert_mode(), &mut scratch) {
        Ok(coerced) => Ok(OwnedDatum::of(&coerced.value).into()),
        Err(error) => Err(expr::convert_error(&error, (table, &column.name), 1)),
    }
}
