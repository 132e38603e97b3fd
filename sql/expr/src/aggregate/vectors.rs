//! Aggregates of vectors: many rows are added at once.
//!
//! 1. What is kept afterwards is what it would be had the values been added one after the other, row by row.

use super::accumulate::Accumulator;
use super::{AggregateCall, COUNT};
use crate::vector::{Form, Program};
use crate::{Environment, SqlError};
use value::Datum;
use value::row::gather::Numbers;

/// The group of a row that is left out.
pub const LEFT_OUT: u32 = u32::MAX;

/// Where a call's accumulators are: that of group `n` is the `n * stride + first`th of them.
pub struct Accumulators<'a, S> {
    /// All of them.
    pub states: &'a mut [S],
    /// The call's place among those of a group.
    pub first: usize,
    /// Accumulators of a group.
    pub stride: usize,
}

impl<S: AsMut<Accumulator>> Accumulators<'_, S> {
    /// Adds the rows of a vector of the program, each to its group; answers by how many bytes the
    /// accumulators have grown.
    ///
    /// # Errors
    /// As [`Accumulator::add`].
    pub fn add(
        &mut self,
        call: &AggregateCall,
        (program, vector): (&Program, usize),
        groups: &[u32],
        env: &mut dyn Environment,
    ) -> Result<usize, SqlError> {
        let (values, form) = (program.vector(vector), program.form(vector));
        let datum = |row: usize| program.datum(vector, row);
        let nulls = |row: usize| values.nulls.get(row);
        if *call.function == COUNT {
            return self.each(call, groups, env, |acc, row| match acc {
                Accumulator::Count(count) => {
                    *count += u64::from(!nulls(row));
                    Ok(None)
                }
                _ => Ok(Some(datum(row))),
            });
        }
        if let Numbers::Narrow(v) = &values.numbers
            && !values.nulls.any()
            && self.add_total(v, form, groups)
        {
            return Ok(0);
        }
        match (&values.numbers, form) {
            (Numbers::Narrow(v), Form::Int | Form::UInt | Form::Decimal(_)) => {
                self.each(call, groups, env, |acc, row| match nulls(row) {
                    true => Ok(None),
                    false => exact(acc, v[row].into(), form, || datum(row)),
                })
            }
            (Numbers::Wide(v), _) => self.each(call, groups, env, |acc, row| match nulls(row) {
                true => Ok(None),
                false => exact(acc, v[row], form, || datum(row)),
            }),
            _ => self.each(call, groups, env, |_, row| Ok(Some(datum(row)))),
        }
    }

    /// Adds narrow numbers that belong to one group as one; `false`: they have to be added one by one.
    fn add_total(&mut self, numbers: &[i64], form: Form, groups: &[u32]) -> bool {
        let Some(&group) = groups.first() else { return false };
        if group == LEFT_OUT || groups.iter().any(|other| *other != group) {
            return false;
        }
        let total = || numbers.iter().map(|n| i128::from(*n)).sum();
        let count = numbers.len() as u64;
        match (self.states[group as usize * self.stride + self.first].as_mut(), form) {
            (Accumulator::Integers(sum), Form::Int | Form::UInt) => sum.add_wholes(total(), count),
            (Accumulator::Decimals(sum), Form::Decimal(scale)) => {
                return sum.add_total(total(), scale, count);
            }
            _ => return false,
        }
        true
    }

    /// Adds rows that count whatever they hold.
    ///
    /// # Errors
    /// As [`Accumulator::add`].
    pub fn count(
        &mut self,
        call: &AggregateCall,
        groups: &[u32],
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        let counted = self.each(call, groups, env, |acc, _| match acc {
            Accumulator::Count(count) => {
                *count += 1;
                Ok(None)
            }
            _ => Ok(Some(Datum::Int(1))),
        });
        counted.map(|_| ())
    }

    /// Calls `add` for each row; what that answers is added the common way.
    #[inline]
    fn each(
        &mut self,
        call: &AggregateCall,
        groups: &[u32],
        env: &mut dyn Environment,
        add: impl Fn(&mut Accumulator, usize) -> Result<Option<Datum<'static>>, SqlError>,
    ) -> Result<usize, SqlError> {
        let mut grown = 0;
        for (row, group) in groups.iter().enumerate() {
            if *group == LEFT_OUT {
                continue;
            }
            let accumulator = self.states[*group as usize * self.stride + self.first].as_mut();
            if let Some(value) = add(accumulator, row)?
                && Accumulator::takes(call, &value)
            {
                grown += accumulator.add(call, &[value], env)?;
            }
        }
        Ok(grown)
    }
}

/// Adds a number to a sum; another accumulator wants the value.
#[inline]
fn exact(
    accumulator: &mut Accumulator,
    v: i128,
    form: Form,
    value: impl Fn() -> Datum<'static>,
) -> Result<Option<Datum<'static>>, SqlError> {
    match (accumulator, form) {
        (Accumulator::Integers(sum), Form::Int | Form::UInt) => sum.add_whole(v),
        (Accumulator::Decimals(sum), Form::Decimal(scale)) => sum.add_unscaled(v, scale)?,
        _ => return Ok(Some(value())),
    }
    Ok(None)
}
