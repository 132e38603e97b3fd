//! BIT_AND, BIT_OR, BIT_XOR, over 64 bits or over byte strings of one length.
//!
//! 1. Byte strings stay byte strings unless they are literals written as bits. 2. Of no values the result is
//! the neutral one: all bits set for BIT_AND, none otherwise.

use super::{Accumulator, Aggregate, AggregateCall, aggregate};
use crate::build::Derive;
use crate::refused::Refused;
use crate::tree::{Expr, OwnedDatum};
use crate::{Environment, SqlError, functions};
use value::{ColumnType, Datum, Kind};

pub(super) static BIT_AND: Aggregate =
    aggregate("bit_and", (1, 1), bits_type, start, "bits that all values have");
pub(super) static BIT_OR: Aggregate =
    aggregate("bit_or", (1, 1), bits_type, start, "bits that any value has");
pub(super) static BIT_XOR: Aggregate =
    aggregate("bit_xor", (1, 1), bits_type, start, "bits that an odd number of values have");

pub(super) static AGGREGATES: &[&Aggregate] = &[&BIT_AND, &BIT_OR, &BIT_XOR];

/// Longest byte strings that are combined.
const BYTES_MAX: u32 = 511;

fn bits_type(d: &mut Derive<'_>) -> Result<ColumnType, SqlError> {
    let ty = d.ty(0);
    let literal = d.args.first().is_some_and(|a| matches!(a.expr, Expr::Const(_)));
    if !ty.kind.is_binary_string() || literal {
        return Ok(ColumnType { length: 21, ..ColumnType::int(Kind::BigInt, true).not_null() });
    }
    if ty.length > BYTES_MAX {
        return Err(Refused::LongBits.into());
    }
    // One more, which is how long the result is when values of different length are met.
    let ty = ColumnType { unsigned: true, ..ColumnType::varbinary(ty.length + 1).not_null() };
    Ok(ty)
}

fn start(call: &AggregateCall) -> Accumulator {
    Accumulator::Bits(match call.ty.kind {
        Kind::VarBinary => Bits::Bytes(None),
        _ if *call.function == BIT_AND => Bits::Word(u64::MAX),
        _ => Bits::Word(0),
    })
}

/// The bits so far.
#[derive(Debug)]
pub enum Bits {
    /// Of integers.
    Word(u64),
    /// Of byte strings; `None` before the first.
    Bytes(Option<Vec<u8>>),
}

impl Bits {
    pub(super) fn add(
        &mut self,
        call: &AggregateCall,
        value: &Datum<'_>,
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        let (and, or) = (*call.function == BIT_AND, *call.function == BIT_OR);
        match self {
            Bits::Word(bits) => {
                let value = match (*value, call.arguments.first()) {
                    // A literal written as bits is a number.
                    (Datum::Bytes(bytes), Some(a)) if a.ty.kind.is_binary_string() => {
                        bytes.iter().fold(0, |v, b| v << 8 | u64::from(*b))
                    }
                    (Datum::Bytes(text), _) if call.is_large_column() => {
                        functions::leading_integer(text).0 as u64
                    }
                    _ => functions::bits_of(value, env),
                };
                match (and, or) {
                    (true, _) => *bits &= value,
                    (_, true) => *bits |= value,
                    _ => *bits ^= value,
                }
            }
            Bits::Bytes(kept) => {
                let value = value.as_bytes().unwrap_or_default();
                let Some(kept) = kept else {
                    *kept = Some(value.to_vec());
                    return Ok(());
                };
                if kept.len() != value.len() {
                    return Err(Refused::UnequalOperands.into());
                }
                for (kept, value) in kept.iter_mut().zip(value) {
                    match (and, or) {
                        (true, _) => *kept &= value,
                        (_, true) => *kept |= value,
                        _ => *kept ^= value,
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn result(&self, call: &AggregateCall) -> OwnedDatum {
        match self {
            Bits::Word(bits) => OwnedDatum::UInt(*bits),
            Bits::Bytes(Some(bytes)) => OwnedDatum::Bytes(bytes.clone()),
            Bits::Bytes(None) => {
                let neutral = if *call.function == BIT_AND { 0xff } else { 0 };
                OwnedDatum::Bytes(vec![neutral; call.ty.length.saturating_sub(1) as usize])
            }
        }
    }
}
