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
use expr::{Frame, OwnedDatum, Row, Typed, Value};
use std::cell::RefCell;
use std::rc::Rc;
use value::types::NOT_FIXED;
use value::{ColumnType, Datum, Kind};

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
    /// Adds the rows of the seeds, or of the steps, to `found`.
    fn round(
        &mut self,
        (seeds, mut found): (bool, RowStore),
        run: &mut Run<'_>,
        frame: &mut Frame,
    ) -> Result<RowStore, SqlError> {
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

    /// The rows that were given out last are those that the steps work with; answers a store for those that come.
    fn set_working(&self, rows: RowStore, st: &Statement<'_>) -> RowStore {
        let mut working = st.working.borrow_mut();
        if working.len() <= self.recursion {
            working.resize(self.recursion + 1, None);
        }
        // Nobody reads the rows of the round before any more.
        if let Some(before) = &working[self.recursion]
            && let Ok(mut place) = before.try_borrow_mut()
        {
            let mut emptied = std::mem::replace(&mut *place, rows);
            emptied.clear();
            return emptied;
        }
        working[self.recursion] = Some(Rc::new(RefCell::new(rows)));
        RowStore::new(st)
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
        let rows = self.round((true, RowStore::new(run.st)), run, frame)?;
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
            let emptied = self.set_working(given, run.st);
            self.rows = Some(self.round((false, emptied), run, frame)?);
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
    let mut bytes = std::mem::take(leaf.row_mut(frame));
    let (row, outputs) = (run.row(frame), block.outputs());
    let found = block.next_with((run.st, &mut *run.env), Some(&row), |run, frame| {
        let value = |n: usize| {
            let Typed { expr, ty, .. } = &outputs[n].value;
            let value = run.eval(expr, frame)?;
            stored(value, ty, table, &columns[n], run.env)
        };
        leaf.write(columns.len().min(outputs.len()), value, &mut bytes)
    })?;
    *leaf.row_mut(frame) = bytes;
    Ok(found.is_some())
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
