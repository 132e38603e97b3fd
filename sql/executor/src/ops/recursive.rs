//! Recursive common table expressions.
//!
//! 1. The seeds alone decide the columns. A step's values are stored in them as INSERT stores values: what does not fit
//!    is an error in strict mode, and cut otherwise.

use super::block::Block;
use super::sets::SetLeaf;
use super::store::RowStore;
use super::table::{KeyTable, hash};
use super::{Operator, Run, Statement};
use crate::ExecError;
use crate::memory::Charge;
use crate::{Environment, SqlError};
use catalog::ColumnDef;
use expr::{Frame, OwnedDatum, Row};
use std::cell::RefCell;
use std::rc::Rc;
use value::ColumnType;

/// A recursive common table expression: its rows, round by round.
pub struct Recursive<'p> {
    pub(super) leaf: SetLeaf,
    pub(super) recursion: usize,
    pub(super) seeds: Vec<Block<'p>>,
    pub(super) steps: Vec<Block<'p>>,
    pub(super) distinct: bool,
    /// The table's name and columns, as the seeds make them.
    pub(super) name: &'p str,
    pub(super) columns: &'p [ColumnDef],
    pub(super) table: KeyTable,
    pub(super) charge: Option<Charge>,
    /// The rows of the present round.
    pub(super) rows: Option<RowStore>,
    pub(super) at: usize,
    pub(super) rounds: u64,
    /// More of them than `cte_max_recursion_depth` are an error.
    pub(super) rounds_max: u64,
}

impl<'p> Recursive<'p> {
    fn round(
        &mut self,
        seeds: bool,
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<RowStore, SqlError> {
        let mut found = RowStore::new(run.st);
        let blocks = if seeds { &mut self.seeds } else { &mut self.steps };
        for block in blocks {
            let row: Row<'_> = run.row(frame);
            block.open(run.st, &mut *run.env, Some(&row))?;
            loop {
                let pulled = match seeds {
                    true => self.leaf.pull(block, run, frame)?,
                    false => {
                        pull_stored(&mut self.leaf, block, (self.name, self.columns), run, frame)?
                    }
                };
                if !pulled {
                    break;
                }
                if self.distinct {
                    self.leaf.make_key(frame)?;
                    let new = self.table.insert(self.leaf.key(), hash(self.leaf.key())).1;
                    let charge = self.charge.get_or_insert_with(|| run.st.budget.charge());
                    charge.set(self.table.bytes());
                    charge.check()?;
                    if !new {
                        continue;
                    }
                }
                found.push(run.st, self.leaf.row(frame))?;
            }
        }
        Ok(found)
    }

    /// The rows that were given out last are those that the steps work with.
    fn set_working(&self, rows: RowStore, st: &Statement<'_>) {
        let mut working = st.working.borrow_mut();
        if working.len() <= self.recursion {
            working.resize(self.recursion + 1, None);
        }
        working[self.recursion] = Some(Rc::new(RefCell::new(rows)));
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
        self.table.clear();
        (self.at, self.rounds) = (0, 0);
        self.rounds_max = match run.env.system_variable(false, "cte_max_recursion_depth") {
            Ok(OwnedDatum::UInt(n)) => n,
            Ok(OwnedDatum::Int(n)) => n.max(0) as u64,
            _ => 1000,
        };
        let rows = self.round(true, run, frame)?;
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
            let Some(given) = self.rows.take().filter(|rows| rows.len() > 0) else {
                return Ok(false);
            };
            self.check_rounds()?;
            self.set_working(given, run.st);
            self.rows = Some(self.round(false, run, frame)?);
            self.at = 0;
        }
    }

    fn close(&mut self) {
        self.table = KeyTable::default();
        (self.charge, self.rows) = (None, None);
        let blocks = self.seeds.iter_mut().chain(&mut self.steps);
        blocks.for_each(|block| block.close());
    }
}

/// Pulls a step's next row into the leaf, its values stored in the columns of the table of that name.
fn pull_stored(
    leaf: &mut SetLeaf,
    block: &mut Block<'_>,
    (table, columns): (&str, &[ColumnDef]),
    run: &mut Run<'_>,
    frame: &mut Frame,
) -> Result<bool, SqlError> {
    run.tick()?;
    let row = run.row(frame);
    if !block.next(run.st, &mut *run.env, Some(&row))? {
        return Ok(false);
    }
    let outputs = block.outputs();
    let values = block.look(run.st, &mut *run.env, Some(&row), |run, frame| {
        let mut values = Vec::with_capacity(columns.len());
        for (output, column) in outputs.iter().zip(columns) {
            let value = run.eval(&output.value.expr, frame)?.into_owned();
            values.push(stored(&value, &output.value.ty, table, column, run.env)?);
        }
        Ok(values)
    })?;
    leaf.fill(&values, frame)?;
    Ok(true)
}

/// A value as its column has it. Without strict mode only dates and times are warned of.
fn stored(
    value: &OwnedDatum,
    from: &ColumnType,
    table: &str,
    column: &ColumnDef,
    env: &mut dyn Environment,
) -> Result<OwnedDatum, SqlError> {
    let value = value.datum();
    if env.strict() || column.ty.kind.is_temporal() {
        return crate::write::convert::convert((&value, Some(from)), table, column, 1, env);
    }
    let mut scratch = Vec::new();
    match value::coerce(value, Some(from), &column.ty, &env.convert_mode(), &mut scratch) {
        Ok(coerced) => Ok(OwnedDatum::of(&coerced.value)),
        Err(error) => Err(expr::convert_error(&error, (table, &column.name), 1)),
    }
}
