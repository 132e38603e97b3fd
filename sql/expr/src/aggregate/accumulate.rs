//! What is kept of a group while its rows come.
//!
//! 1. `add` answers by how many bytes the accumulator has grown. 2. `remove` is the inverse of `add` for
//! sums that are exact; whoever asks for another computes anew.

use super::bits::Bits;
use super::documents::{ArrayOf, ObjectOf};
use super::extremes::Extreme;
use super::numbers::{Decimals, Doubles, Integers, Spread};
use super::texts::Joined;
use super::{AggregateCall, Nulls};
use crate::tree::OwnedDatum;
use crate::{Environment, SqlError};
use value::Datum;

/// What one call keeps of one group.
#[derive(Debug)]
pub enum Accumulator {
    /// COUNT.
    Count(u64),
    /// SUM and AVG of integers.
    Integers(Integers),
    /// SUM and AVG of exact numbers.
    Decimals(Decimals),
    /// SUM and AVG of anything else.
    Doubles(Doubles),
    /// Variances and deviations.
    Spread(Spread),
    /// MIN and MAX.
    Extreme(Extreme),
    /// ANY_VALUE.
    First(Option<OwnedDatum>),
    /// BIT_AND and its kin.
    Bits(Bits),
    /// GROUP_CONCAT.
    Joined(Box<Joined>),
    /// JSON_ARRAYAGG.
    Array(Box<ArrayOf>),
    /// JSON_OBJECTAGG.
    Object(Box<ObjectOf>),
}

impl Accumulator {
    /// Adds a row's values, none of them NULL unless the function sees NULLs; answers by how many bytes
    /// it has grown.
    ///
    /// # Errors
    /// 1690, 3513, 3144, 3158.
    #[inline]
    pub fn add(
        &mut self,
        call: &AggregateCall,
        values: &[Datum<'_>],
        env: &mut dyn Environment,
    ) -> Result<usize, SqlError> {
        let value = values.first().copied().unwrap_or_default();
        match self {
            Accumulator::Count(count) => *count += 1,
            Accumulator::Integers(sum) => {
                if !sum.add(&value) {
                    // A value of another kind than its type says.
                    *self = Accumulator::Decimals(sum.widened());
                    return self.add(call, values, env);
                }
            }
            Accumulator::Decimals(sum) => {
                if !sum.add(&value)? {
                    *self = Accumulator::Doubles(sum.widened());
                    return self.add(call, values, env);
                }
            }
            Accumulator::Doubles(sum) => sum.add(call.double(&value, env)),
            Accumulator::Spread(spread) => spread.add(call.double(&value, env)),
            Accumulator::Extreme(extreme) => return Ok(extreme.add(call, &value)),
            Accumulator::First(first @ None) => {
                *first = Some(OwnedDatum::of(&value));
                return Ok(value.as_stored_bytes().map_or(0, <[u8]>::len));
            }
            Accumulator::First(_) => {}
            Accumulator::Bits(bits) => bits.add(call, &value, env)?,
            Accumulator::Joined(joined) => return Ok(joined.add(call, values)),
            Accumulator::Array(array) => return array.add(call, &value),
            Accumulator::Object(object) => return object.add(call, values),
        }
        Ok(0)
    }

    /// As [`Accumulator::add`], with the row's place in the order of the call's ORDER BY.
    ///
    /// # Errors
    /// As [`Accumulator::add`].
    pub fn add_ordered(
        &mut self,
        call: &AggregateCall,
        key: Vec<u8>,
        values: &[Datum<'_>],
        env: &mut dyn Environment,
    ) -> Result<usize, SqlError> {
        match self {
            Accumulator::Joined(joined) => Ok(joined.add_ordered(call, key, values)),
            other => other.add(call, values, env),
        }
    }

    /// Takes a row's values out again; `false`: that cannot be done, and nothing has changed.
    pub fn remove(&mut self, values: &[Datum<'_>]) -> bool {
        let value = values.first().copied().unwrap_or_default();
        match self {
            Accumulator::Count(count) => {
                *count -= 1;
                true
            }
            Accumulator::Integers(sum) => sum.remove(&value),
            Accumulator::Decimals(sum) => sum.remove(&value),
            _ => false,
        }
    }

    /// Whether a row counts.
    #[inline]
    pub fn takes(call: &AggregateCall, value: &Datum<'_>) -> bool {
        call.function.nulls == Nulls::Own || !value.is_null()
    }

    /// The aggregate of what was added. `joined`: rows that GROUP_CONCAT has joined in the groups before,
    /// counted on.
    ///
    /// # Errors
    /// 1690.
    pub fn result(
        &mut self,
        call: &AggregateCall,
        env: &mut dyn Environment,
        joined: &mut u64,
    ) -> Result<OwnedDatum, SqlError> {
        Ok(match self {
            Accumulator::Count(count) => OwnedDatum::Int(*count as i64),
            Accumulator::Integers(sum) => sum.result(call),
            Accumulator::Decimals(sum) => sum.result(call),
            Accumulator::Doubles(sum) => sum.result(call),
            Accumulator::Spread(spread) => spread.result(),
            Accumulator::Extreme(extreme) => extreme.result(),
            Accumulator::First(first) => first.clone().unwrap_or_default(),
            Accumulator::Bits(bits) => bits.result(call),
            Accumulator::Joined(texts) => texts.result(call, env, joined),
            Accumulator::Array(array) => array.result(),
            Accumulator::Object(object) => object.result(),
        })
    }
}
