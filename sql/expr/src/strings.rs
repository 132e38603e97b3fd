//! String functions.
//!
//! 1. No argument is NULL here: the caller has answered NULL. 2. A string is looked at where it lies; only
//! what a function makes is copied, once. 3. What would be longer than `max_allowed_packet` is NULL with
//! warning 1301, as in MySQL.

use crate::eval::Value;
use crate::functions::{Function, FunctionId};
use crate::tree::OwnedDatum;
use crate::{Environment, SqlError, WarningLevel};
use std::borrow::Cow;
use value::{Collation, Datum};

/// Results up to this size are made without a look at `max_allowed_packet`, which is never smaller.
const SMALL_BYTES: usize = 1024;

/// Calls a function over arguments none of which is NULL.
///
/// # Errors
/// None so far but a missing variable.
pub fn call(
    function: &Function,
    arguments: &[Value<'_>],
    env: &mut dyn Environment,
) -> Result<Value<'static>, SqlError> {
    use FunctionId as F;
    let Some(first) = arguments.first() else { return Ok(Value::Datum(Datum::Null)) };
    let datum = first.get();
    let first = text(&datum);
    let number = |n: usize| arguments.get(n).map(|v| integer(&v.get()));
    let bytes = |part: &[u8]| Value::Owned(OwnedDatum::Bytes(part.to_vec()));
    Ok(match function.id {
        F::Length => Value::Datum(Datum::Int(first.len() as i64)),
        F::CharLength => {
            let chars = Collation::Utf8mb4Bin.char_count(&first);
            Value::Datum(Datum::Int(chars as i64))
        }
        F::Crc32 => Value::Datum(Datum::UInt(crc_fast::checksum(
            crc_fast::CrcAlgorithm::Crc32IsoHdlc,
            &first,
        ))),
        F::Left | F::LeftBytes => {
            let count = number(1).unwrap_or(0);
            bytes(part(&first, of(function), 0, count))
        }
        F::Right | F::RightBytes => {
            let count = number(1).unwrap_or(0).max(0);
            let chars = of(function).char_count(&first) as i64;
            bytes(part(&first, of(function), (chars - count).max(0), count))
        }
        F::Substring | F::SubstringBytes => {
            let (from, count) = (number(1).unwrap_or(0), number(2).unwrap_or(i64::MAX));
            let start = match from {
                0 => return Ok(bytes(b"")),
                1.. => from - 1,
                _ => of(function).char_count(&first) as i64 + from,
            };
            if start < 0 { bytes(b"") } else { bytes(part(&first, of(function), start, count)) }
        }
        F::Repeat => {
            let times = usize::try_from(number(1).unwrap_or(0)).unwrap_or(0);
            match fits(function, first.len().saturating_mul(times), env)? {
                true => Value::Owned(OwnedDatum::Bytes(first.repeat(times))),
                false => Value::Datum(Datum::Null),
            }
        }
        F::Hex => match datum {
            Datum::Int(v) => bytes(format!("{v:X}").as_bytes()),
            Datum::UInt(v) => bytes(format!("{v:X}").as_bytes()),
            _ => Value::Owned(OwnedDatum::Bytes(hex(&first))),
        },
        F::Concat => {
            let texts: Vec<_> = arguments.iter().map(Value::get).collect();
            let texts: Vec<_> = texts.iter().map(text).collect();
            let total = texts.iter().map(|t| t.len()).sum();
            match fits(function, total, env)? {
                true => Value::Owned(OwnedDatum::Bytes(texts.concat())),
                false => Value::Datum(Datum::Null),
            }
        }
        _ => Value::Datum(Datum::Null),
    })
}

/// Whether a result of that size may be made; a warning says so if not.
fn fits(function: &Function, bytes: usize, env: &mut dyn Environment) -> Result<bool, SqlError> {
    if bytes <= SMALL_BYTES {
        return Ok(true);
    }
    let limit = env.system_variable(false, "max_allowed_packet")?;
    let limit = limit.datum().as_u64().unwrap_or(u64::MAX);
    if bytes as u64 <= limit {
        return Ok(true);
    }
    let name = function.name;
    let text =
        format!("Result of {name}() was larger than max_allowed_packet ({limit}) - truncated");
    env.warn(WarningLevel::Warning, 1301, text);
    Ok(false)
}

/// Bytes or characters are counted.
fn of(function: &Function) -> Collation {
    match function.id {
        FunctionId::LeftBytes | FunctionId::RightBytes | FunctionId::SubstringBytes => {
            Collation::Binary
        }
        _ => Collation::Utf8mb4Bin,
    }
}

/// At most `count` characters from character `start` on.
fn part(text: &[u8], unit: Collation, start: i64, count: i64) -> &[u8] {
    let size = |n: i64| usize::try_from(n.max(0)).unwrap_or(usize::MAX);
    let rest = &text[unit.prefix(text, size(start)).len()..];
    unit.prefix(rest, size(count))
}

/// A value as text, where it lies if it is text.
pub fn text<'v>(value: &Datum<'v>) -> Cow<'v, [u8]> {
    match *value {
        Datum::Bytes(bytes) => Cow::Borrowed(bytes),
        ref other => Cow::Owned(crate::eval::text(other)),
    }
}

/// A count or position: text is read as a number, fractions are rounded.
fn integer(value: &Datum<'_>) -> i64 {
    match *value {
        Datum::Int(v) => v,
        Datum::UInt(v) => i64::try_from(v).unwrap_or(i64::MAX),
        ref other => value::compare::to_double(other).round() as i64,
    }
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |n: u8| DIGITS[usize::from(n)];
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}
