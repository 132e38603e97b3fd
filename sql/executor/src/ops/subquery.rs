//! Subqueries of expressions.
//!
//! 1. One that is not correlated runs once: its answer, or its rows, are kept. 2. IN and its kin look
//!    kept rows up in a hash table where the value is of the rows' own kind; else they compare with each.
//! 3. Three-valued logic: no row makes ANY false and ALL true; a comparison that is NULL makes the answer
//!    NULL unless another decides it.

use super::block::Block;
use super::cells::{Cells, made_layout};
use super::keys::Rule;
use super::store::RowStore;
use super::table::{KeyTable, hash};
use super::{Run, Statement};
use crate::ExecError;
use crate::memory::Charge;
use crate::{Environment, SqlError};
use expr::eval::compare;
use expr::tree::Comparison;
use expr::{Frame, OwnedDatum, Quantified, Row, Subqueries, Value, damaged};
use instrument::{Counter, count};
use planner::query_plan::Subplan;
use std::cell::RefCell;
use value::{Collation, Datum, RowLayout};

/// A subplan of a block, and what is known of its answer.
pub struct SubplanState<'p> {
    plan: &'p Subplan,
    block: Option<Block<'p>>,
    answer: Option<Answer>,
}

enum Answer {
    /// The outputs of its one row; none without a row.
    Row(Vec<OwnedDatum>),
    Exists(bool),
    Rows(Box<Rows>),
}

/// The kept rows of a subplan.
struct Rows {
    layout: RowLayout,
    store: RowStore,
    rules: Vec<Rule>,
    /// Rows without NULL by their values.
    table: KeyTable,
    /// Rows with a NULL.
    with_null: Vec<usize>,
    charge: Charge,
}

impl<'p> SubplanState<'p> {
    /// A subplan that has not run.
    pub fn new(plan: &'p Subplan) -> SubplanState<'p> {
        SubplanState { plan, block: None, answer: None }
    }

    /// The statement is over: see [`super::Operator::close`].
    pub fn close(&mut self) {
        self.answer = None;
        self.finish();
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
        let found = self.open(st, env, row)?.next(st, env, Some(row))?;
        if !self.plan.correlated {
            self.answer = Some(Answer::Exists(found));
            self.finish();
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
        let outputs = &self.plan.query.outputs;
        let types: Vec<_> = outputs.iter().map(|o| o.value.ty).collect();
        let rules = types.iter().zip(collations).map(|(ty, collation)| match Rule::of(ty) {
            Rule::Text(_) => Rule::Text(*collation),
            rule => rule,
        });
        count(Counter::CreatedTmpTables, 1);
        let mut rows = Rows {
            layout: made_layout(&types),
            store: RowStore::new(st),
            rules: rules.collect(),
            table: KeyTable::default(),
            with_null: Vec::new(),
            charge: st.budget.charge(),
        };
        let (mut cells, mut bytes, mut key) = (Cells::default(), Vec::new(), Vec::new());
        let block = self.open(st, env, row)?;
        while block.next(st, env, Some(row))? {
            st.tick()?;
            block.write_outputs((st, env), Some(row), &rows.layout, &mut cells, &mut bytes)?;
            rows.add(st, &bytes, &mut key)?;
        }
        self.finish();
        self.answer = Some(Answer::Rows(Box::new(rows)));
        Ok(())
    }
}

impl Rows {
    fn add(&mut self, st: &Statement<'_>, bytes: &[u8], key: &mut Vec<u8>) -> Result<(), SqlError> {
        key.clear();
        let mut null = false;
        for (column, rule) in self.rules.iter().enumerate() {
            let value = self.layout.decode(bytes, column).map_err(damaged)?;
            null |= value.is_null();
            rule.append(&value, false, key);
        }
        if null {
            self.with_null.push(self.store.len());
            return self.store.push(st, bytes);
        }
        if self.table.insert(key, hash(key)).1 {
            self.store.push(st, bytes)?;
            self.charge.set(self.table.bytes());
            self.charge.check()?;
        }
        Ok(())
    }

    /// Whether a row without NULL is equal to these values; `None`: the values are not of the rows'
    /// kinds, so that nothing is known.
    fn find(&self, left: &[Datum<'_>]) -> Option<bool> {
        let mut key = Vec::new();
        for (value, rule) in left.iter().zip(&self.rules) {
            let fits = match (rule, value) {
                (Rule::Int, Datum::Int(_) | Datum::UInt(_))
                | (Rule::Exact, Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_))
                | (Rule::Double, Datum::Int(_) | Datum::UInt(_) | Datum::Double(_))
                | (Rule::Moment, Datum::Date(_) | Datum::DateTime(_))
                | (Rule::Time, Datum::Time(_))
                | (Rule::Text(_), Datum::Bytes(_)) => true,
                _ => return None,
            };
            debug_assert!(fits);
            rule.append(value, false, &mut key);
        }
        Some(self.table.find(&key, hash(&key)).is_some())
    }
}

/// `left op right` for rows: the columns decide as MySQL's row comparison does.
fn compare_rows(what: &Quantified, left: &[Datum<'_>], right: &[Datum<'_>]) -> Option<bool> {
    let columns = left.iter().zip(right).zip(&what.collations);
    if let ([a], [b]) = (left, right) {
        let collation = what.collations.first().copied().unwrap_or(Collation::Binary);
        return compare(what.op, a, b, collation);
    }
    let mut equal = Some(true);
    for ((a, b), collation) in columns {
        match compare(Comparison::Eq, a, b, *collation) {
            Some(true) => {}
            Some(false) => {
                equal = Some(false);
                break;
            }
            None => equal = None,
        }
    }
    if what.op == Comparison::Ne { equal.map(|e| !e) } else { equal }
}

/// The answer over rows that come one after the other.
struct Verdict {
    all: bool,
    unknown: bool,
}

impl Verdict {
    /// The answer, if this comparison decides it.
    fn take(&mut self, holds: Option<bool>) -> Option<bool> {
        match holds {
            None => self.unknown = true,
            Some(holds) if holds != self.all => return Some(holds),
            Some(_) => {}
        }
        None
    }

    fn end(&self) -> Option<bool> {
        if self.unknown { None } else { Some(self.all) }
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
        let Some(Answer::Rows(rows)) = &mut state.answer else {
            return Err(super::internal("kept rows are gone"));
        };
        let by_hash = match (what.op, what.all) {
            (Comparison::Eq, false) | (Comparison::Ne, true) => rows.find(left),
            _ => None,
        };
        let mut verdict = Verdict { all: what.all, unknown: false };
        let mut bytes = Vec::new();
        let mut compare_with = |rows: &mut Rows, n: usize| -> Result<Option<bool>, SqlError> {
            rows.store.get(n, &mut bytes)?;
            let mut right = Vec::with_capacity(left.len());
            for column in 0..left.len() {
                right.push(rows.layout.decode(&bytes, column).map_err(damaged)?);
            }
            Ok(compare_rows(what, left, &right))
        };
        match by_hash {
            // A row is equal: that decides both = ANY and <> ALL.
            Some(true) => return Ok(Some(!what.all)),
            Some(false) => {
                for at in 0..rows.with_null.len() {
                    let n = rows.with_null[at];
                    if let Some(decided) = verdict.take(compare_with(rows, n)?) {
                        return Ok(Some(decided));
                    }
                    if left.len() == 1 {
                        break;
                    }
                }
            }
            None => {
                for n in 0..rows.store.len() {
                    self.st.tick()?;
                    if let Some(decided) = verdict.take(compare_with(rows, n)?) {
                        return Ok(Some(decided));
                    }
                }
            }
        }
        Ok(verdict.end())
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
        let mut verdict = Verdict { all: what.all, unknown: false };
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
            true => self.over_rows(&mut state, what, &left, row, env),
        }
    }
}
