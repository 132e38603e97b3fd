//! Aggregates over rows: arguments are evaluated, DISTINCT and ORDER BY are seen to, [`expr::aggregate`]
//! does the rest.
//!
//! 1. DISTINCT looks at values as GROUP BY does. 2. A state grows only as its values demand; `add` answers
//! by how many bytes.

use super::Run;
use super::keys::Rule;
use super::sort::append_sort_keys;
use super::table::{KeyTable, hash};
use crate::SqlError;
use expr::aggregate::{Accumulator, AggregateCall};
use expr::{Frame, OwnedDatum};
use value::Datum;

/// What one aggregate keeps of one group.
pub struct State {
    accumulator: Accumulator,
    /// With DISTINCT: the values that were there.
    seen: Option<Box<KeyTable>>,
}

/// What an aggregate begins with.
pub fn start(call: &AggregateCall) -> State {
    State { accumulator: call.start(), seen: call.counts_distinct().then(Box::default) }
}

impl AsMut<Accumulator> for State {
    fn as_mut(&mut self) -> &mut Accumulator {
        &mut self.accumulator
    }
}

impl State {
    /// Adds so many rows to a COUNT(*).
    pub fn count(&mut self, rows: u64) {
        if let Accumulator::Count(count) = &mut self.accumulator {
            *count += rows;
        }
    }

    /// Adds the frame's row; answers by how many bytes the state has grown.
    ///
    /// # Errors
    /// Those of evaluating the arguments, and of the function.
    #[inline]
    pub fn add(
        &mut self,
        call: &AggregateCall,
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<usize, SqlError> {
        match call.arguments.as_slice() {
            [] => self.accumulator.add(call, &[], run.env),
            [argument] => {
                let value = run.eval(&argument.expr, frame)?;
                let value = value.get();
                if !Accumulator::takes(call, &value) {
                    return Ok(0);
                }
                if self.seen.is_none() && call.order_by.is_empty() {
                    return self.accumulator.add(call, std::slice::from_ref(&value), run.env);
                }
                self.add_values(call, &[value], run, frame)
            }
            arguments => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    values.push(run.eval(&argument.expr, frame)?);
                }
                let values: Vec<Datum<'_>> = values.iter().map(expr::Value::get).collect();
                match values.iter().all(|value| Accumulator::takes(call, value)) {
                    true => self.add_values(call, &values, run, frame),
                    false => Ok(0),
                }
            }
        }
    }

    fn add_values(
        &mut self,
        call: &AggregateCall,
        values: &[Datum<'_>],
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<usize, SqlError> {
        let mut grown = 0;
        let mut key = Vec::new();
        if let Some(seen) = &mut self.seen {
            for (value, argument) in values.iter().zip(&call.arguments) {
                Rule::of(&argument.ty).append(value, false, &mut key);
            }
            let before = seen.bytes();
            if !seen.insert(&key, hash(&key)).1 {
                return Ok(0);
            }
            grown = seen.bytes() - before;
        }
        if call.order_by.is_empty() {
            return Ok(grown + self.accumulator.add(call, values, run.env)?);
        }
        key.clear();
        append_sort_keys(&call.order_by, run, frame, &mut key)?;
        Ok(grown + self.accumulator.add_ordered(call, key, values, run.env)?)
    }

    /// Takes the frame's row out again; `false`: that cannot be done.
    ///
    /// # Errors
    /// Those of evaluating the arguments.
    pub fn remove(
        &mut self,
        call: &AggregateCall,
        run: &mut Run<'_>,
        frame: &Frame,
    ) -> Result<bool, SqlError> {
        match call.arguments.as_slice() {
            [] => Ok(self.accumulator.remove(&[])),
            [argument] => {
                let value = run.eval(&argument.expr, frame)?;
                let value = value.get();
                let counted = Accumulator::takes(call, &value);
                Ok(!counted || self.accumulator.remove(&[value]))
            }
            _ => Ok(false),
        }
    }

    /// The aggregate of what was added; `joined` as [`Accumulator::result`] has it.
    ///
    /// # Errors
    /// 1690.
    pub fn result(
        &mut self,
        call: &AggregateCall,
        run: &mut Run<'_>,
        joined: &mut u64,
    ) -> Result<OwnedDatum, SqlError> {
        self.accumulator.result(call, run.env, joined)
    }
}
