//! Subqueries of expressions.
//!
//! 1. One that is not correlated runs once: its answer, or its rows, are kept ([`super::kept_rows`]). Of another one answers are
//!    remembered by what they depend on ([`super::memo`]). 2. Three-valued logic: no row makes
//!    ANY false and ALL true; a comparison that is NULL makes the answer NULL unless another decides it.

use super::block::Block;
use super::cells::Cells;
use super::kept_rows::{KeptRows, Verdict, compare_rows};
use super::memo::Memo;
use super::{Run, Statement};
use crate::ExecError;
use crate::{Environment, SqlError};
use expr::{Frame, OwnedDatum, Quantified, Row, Subqueries, Value};
use instrument::{Counter, count};
use planner::query_plan::Subplan;
use std::cell::RefCell;
use value::{Collation, Datum};

/// A subplan of a block, and what is known of its answer.
pub struct SubplanState<'p> {
    plan: &'p Subplan,
    block: Option<Block<'p>>,
    answer: Option<Answer>,
    /// Answers of a correlated one.
    memo: Memo<Remembered>,
}

/// An answer of a correlated subplan.
#[derive(Clone)]
enum Remembered {
    /// The outputs of its one row; none without a row.
    Row(Vec<OwnedDatum>),
    /// Of EXISTS, ANY and ALL.
    Holds(Option<bool>),
}

impl Remembered {
    /// Memory besides its own size.
    fn bytes(&self) -> usize {
        match self {
            Remembered::Row(values) => {
                let texts = values.iter().filter_map(|v| Some(v.datum().as_stored_bytes()?.len()));
                size_of_val(&values[..]) + texts.sum::<usize>()
            }
            Remembered::Holds(_) => 0,
        }
    }
}

enum Answer {
    /// The outputs of its one row; none without a row.
    Row(Vec<OwnedDatum>),
    Exists(bool),
    Rows(Box<KeptRows>),
}

impl<'p> SubplanState<'p> {
    /// A subplan that has not run.
    pub fn new(plan: &'p Subplan) -> SubplanState<'p> {
        SubplanState { plan, block: None, answer: None, memo: Memo::default() }
    }

    /// The statement is over: see [`super::Operator::close`].
    pub fn close(&mut self) {
        self.answer = None;
        self.memo = Memo::default();
        self.finish();
    }

    /// The answer of a correlated subplan for the row around, and for `left`, if it is remembered; and whether it is to be.
    fn remembered(
        &mut self,
        env: &mut dyn Environment,
        row: &Row<'_>,
        left: &[Datum<'_>],
    ) -> Result<(Option<Remembered>, bool), SqlError> {
        let Some(columns) = self.plan.depends.as_ref().filter(|_| self.memo.is_worth_asking())
        else {
            return Ok((None, false));
        };
        let values = columns.iter().map(|column| expr::eval(column, row, env));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let all = values.iter().map(Value::get).chain(left.iter().copied());
        let found = self.memo.find(all).cloned();
        let is_new = found.is_none();
        Ok((found, is_new))
    }

    fn remember(&mut self, st: &Statement<'_>, is_new: bool, answer: impl FnOnce() -> Remembered) {
        if is_new {
            let answer = answer();
            let bytes = answer.bytes();
            self.memo.remember(st, answer, bytes);
        }
    }

    /// The answer is known: gives back what its operators keep, which run again in the next statement only.
    fn finish(&mut self) {
        if let Some(block) = &mut self.block {
            block.close();
        }
    }

    /// Begins the subplan anew.
    fn open(
        &mut self,
        st: &Statement<'_>,
        env: &mut dyn Environment,
        row: &Row<'_>,
    ) -> Result<&mut Block<'p>, SqlError> {
        if self.block.is_none() {
            self.block = Some(Block::new(&self.plan.query, st, self.plan.correlated)?);
        }
        let block = self.block.as_mut().ok_or_else(|| super::internal("no block"))?;
        block.open(st, env, Some(row))?;
        Ok(block)
    }

    fn scalar(
        &mut self,
        output: u16,
        st: &Statement<'_>,
        env: &mut dyn Environment,
        row: &Row<'_>,
    ) -> Result<OwnedDatum, SqlError> {
        let value =
            |row: &[OwnedDatum]| row.get(usize::from(output)).cloned().unwrap_or(OwnedDatum::Null);
        if let Some(Answer::Row(values)) = &self.answer {
            return Ok(value(values));
        }
        let (known, is_new) = self.remembered(env, row, &[])?;
        if let Some(Remembered::Row(values)) = &known {
            return Ok(value(values));
        }
        let block = self.open(st, env, row)?;
        let mut values = Vec::new();
        if block.next(st, env, Some(row))? {
            let outputs = &block.plan.outputs;
            values = block.look(st, env, Some(row), |run, frame| {
                let own =
                    |o: &planner::plan::Output| Ok(run.eval(&o.value.expr, frame)?.into_owned());
                outputs.iter().map(own).collect::<Result<Vec<_>, SqlError>>()
            })?;
            if block.next(st, env, Some(row))? {
                return Err(ExecError::SubqueryRows.into());
            }
        }
        let found = value(&values);
        if !self.plan.correlated {
            self.answer = Some(Answer::Row(values));
            self.finish();
        } else {
            self.remember(st, is_new, || Remembered::Row(values));
        }
        Ok(found)
    }

    fn exists(
        &mut self,
        st: &Statement<'_>,
        env: &mut dyn Environment,
        row: &Row<'_>,
    ) -> Result<bool, SqlError> {
        if let Some(Answer::Exists(found)) = &self.answer {
            return Ok(*found);
        }
        let (known, is_new) = self.remembered(env, row, &[])?;
        if let Some(Remembered::Holds(Some(found))) = known {
            return Ok(found);
        }
        let found = self.open(st, env, row)?.next(st, env, Some(row))?;
        if !self.plan.correlated {
            self.answer = Some(Answer::Exists(found));
            self.finish();
        } else {
            self.remember(st, is_new, || Remembered::Holds(Some(found)));
        }
        Ok(found)
    }

    /// Runs a subplan that is not correlated and keeps its rows.
    fn keep_rows(
        &mut self,
        st: &Statement<'_>,
        env: &mut dyn Environment,
        row: &Row<'_>,
        collations: &[Collation],
    ) -> Result<(), SqlError> {
        let types: Vec<_> = self.plan.query.outputs.iter().map(|o| o.value.ty).collect();
        count(Counter::CreatedTmpTables, 1);
        let mut rows = KeptRows::new(st, &types, collations);
        let (mut cells, mut bytes) = (Cells::default(), Vec::new());
        let block = self.open(st, env, row)?;
        while block.next(st, env, Some(row))? {
            st.tick()?;
            block.write_outputs((st, env), Some(row), rows.layout(), &mut cells, &mut bytes)?;
            rows.add(st, &bytes)?;
        }
        self.finish();
        self.answer = Some(Answer::Rows(Box::new(rows)));
        Ok(())
    }
}

/// Runs the subplans of one block.
pub struct Runner<'a, 'p> {
    pub(super) st: &'a Statement<'a>,
    pub(super) states: &'a [RefCell<SubplanState<'p>>],
}

impl<'p> Runner<'_, 'p> {
    fn state(&self, n: usize) -> Result<std::cell::RefMut<'_, SubplanState<'p>>, SqlError> {
        let state = self.states.get(n).ok_or_else(|| super::internal("no such subplan"))?;
        state.try_borrow_mut().map_err(|_| super::internal("a subplan runs inside itself"))
    }

    fn over_materialized(
        &self,
        state: &mut SubplanState<'p>,
        what: &Quantified,
        left: &[Datum<'_>],
        row: &Row<'_>,
        env: &mut dyn Environment,
    ) -> Result<Option<bool>, SqlError> {
        if !matches!(state.answer, Some(Answer::Rows(_))) {
            state.keep_rows(self.st, env, row, &what.collations)?;
        }
        match &mut state.answer {
            Some(Answer::Rows(rows)) => rows.decide(self.st, what, left),
            _ => Err(super::internal("kept rows are gone")),
        }
    }

    fn over_rows(
        &self,
        state: &mut SubplanState<'p>,
        what: &Quantified,
        left: &[Datum<'_>],
        row: &Row<'_>,
        env: &mut dyn Environment,
    ) -> Result<Option<bool>, SqlError> {
        let st = self.st;
        let block = state.open(st, env, row)?;
        let outputs = &block.plan.outputs;
        let mut verdict = Verdict::new(what);
        while block.next(st, env, Some(row))? {
            let compared = |run: &mut Run<'_>, frame: &Frame| {
                let values = outputs.iter().map(|o| run.eval(&o.value.expr, frame));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                let right: Vec<_> = values.iter().map(Value::get).collect();
                Ok(compare_rows(what, left, &right))
            };
            let holds = block.look(st, env, Some(row), compared)?;
            if let Some(decided) = verdict.take(holds) {
                return Ok(Some(decided));
            }
        }
        Ok(verdict.end())
    }
}

impl Subqueries for Runner<'_, '_> {
    fn scalar(
        &self,
        subplan: usize,
        output: u16,
        row: &Row<'_>,
        env: &mut dyn Environment,
    ) -> Result<Value<'static>, SqlError> {
        Ok(self.state(subplan)?.scalar(output, self.st, env, row)?.into())
    }

    fn exists(
        &self,
        subplan: usize,
        row: &Row<'_>,
        env: &mut dyn Environment,
    ) -> Result<bool, SqlError> {
        self.state(subplan)?.exists(self.st, env, row)
    }

    fn quantified(
        &self,
        what: &Quantified,
        row: &Row<'_>,
        env: &mut dyn Environment,
    ) -> Result<Option<bool>, SqlError> {
        let values = what.left.iter().map(|e| expr::eval(e, row, env));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let left: Vec<_> = values.iter().map(Value::get).collect();
        let mut state = self.state(what.subplan)?;
        match state.plan.correlated {
            false => self.over_materialized(&mut state, what, &left, row, env),
            true => {
                let (known, is_new) = state.remembered(env, row, &left)?;
                if let Some(Remembered::Holds(holds)) = known {
                    return Ok(holds);
                }
                let holds = self.over_rows(&mut state, what, &left, row, env)?;
                state.remember(self.st, is_new, || Remembered::Holds(holds));
                Ok(holds)
            }
        }
    }
}
