//! Storing into FLOAT, DOUBLE, DECIMAL, BIT and YEAR columns.

use super::{Coerced, ConvertError, ConvertMode, Warning, quote, settle};
use crate::compare::{Exact, exact, to_double};
use crate::number::{self, Rest};
use crate::types::NOT_FIXED;
use crate::{ColumnType, Datum, Decimal, Kind};

type Stored<'a> = Result<Coerced<'a>, ConvertError>;

fn out_of_range<'a>(strict: bool, value: Datum<'a>) -> Stored<'a> {
    settle(strict, ConvertError::OutOfRange, value, Warning::OutOfRange)
}

fn incorrect<'a>(strict: bool, wanted: &'static str, text: &[u8], value: Datum<'a>) -> Stored<'a> {
    let quoted = quote(text);
    let error = ConvertError::Incorrect { wanted, value: quoted.clone() };
    settle(strict, error, value, Warning::Incorrect { wanted, value: quoted })
}

pub(super) fn store_float<'a>(d: Datum<'_>, ty: &ColumnType, strict: bool) -> Stored<'a> {
    let (given, text) = match d {
        Datum::Bytes(s) => {
            let (v, rest) = number::unbounded_double(s);
            (v, (rest != Rest::Clean).then_some(s))
        }
        _ => (crate::arith::signed_double(&d), None),
    };
    let overflowed = given.is_infinite();
    let (v, inside) = float_in_range(given.clamp(f64::MIN, f64::MAX), ty);
    let value = Datum::Double(v);
    match text {
        Some(text) => {
            let wanted = if ty.kind == Kind::Float { "FLOAT" } else { "DOUBLE" };
            incorrect(strict, wanted, text, value)
        }
        None if !inside || overflowed => out_of_range(strict, value),
        None => Ok(Coerced::plain(value)),
    }
}

/// The nearest value of the column, and whether it is the value itself up to rounding.
fn float_in_range(v: f64, ty: &ColumnType) -> (f64, bool) {
    let mut low = if ty.kind == Kind::Float { -f64::from(f32::MAX) } else { f64::MIN };
    let mut rounded = v;
    if ty.decimals != NOT_FIXED {
        let unit = 10f64.powi(i32::from(ty.decimals));
        // As MySQL: the fraction alone is rounded.
        let whole = v.floor();
        rounded = whole + ((v - whole) * unit).round_ties_even() / unit;
        let whole = i32::try_from(ty.length).unwrap_or(255) - i32::from(ty.decimals);
        low = low.max(-(10f64.powi(whole) - 1.0 / unit));
    }
    let high = -low;
    let low = if ty.unsigned { 0.0 } else { low };
    let inside = rounded.clamp(low, high);
    let stored = if ty.kind == Kind::Float { f64::from(inside as f32) } else { inside };
    (stored, inside == rounded)
}

pub(super) fn store_decimal<'a>(d: Datum<'_>, ty: &ColumnType, strict: bool) -> Stored<'a> {
    let (given, beyond, trouble) = match d {
        Datum::Bytes(s) => {
            let read = Decimal::from_text(s);
            (read.value, read.overflow, Some((read.rest, s, read.rounded)))
        }
        Datum::Double(v) => {
            let (given, beyond) = Decimal::from_f64(v);
            (given, beyond, None)
        }
        _ => match exact(&d) {
            Some(Exact::Int(v)) => (Decimal::from_i128(v, 0), false, None),
            Some(Exact::Decimal(v)) => (v, false, None),
            None => (Decimal::from_f64(to_double(&d)).0, false, None),
        },
    };
    if ty.length == 0 {
        return Ok(Coerced::plain(Datum::Decimal(given)));
    }
    let (mut stored, far) = given.saturated(ty.length.min(65) as u8, ty.decimals);
    let negative = ty.unsigned && given.is_negative();
    if negative {
        stored = Decimal::ZERO.round(i32::from(ty.decimals)).unwrap_or(Decimal::ZERO);
    }
    let value = Datum::Decimal(stored);
    let lost = given.compare(&stored).is_ne();
    let note = || Coerced { value, warning: Some(Warning::Truncated { note: true }) };
    match trouble {
        Some((Rest::NoNumber, s, _)) => return incorrect(strict, "decimal", s, value),
        Some((Rest::Garbage, s, _)) if strict => return incorrect(strict, "decimal", s, value),
        Some((_, s, _)) if beyond && strict => return incorrect(strict, "decimal", s, value),
        Some((Rest::Garbage, ..)) if !far && !negative => return Ok(note()),
        _ => {}
    }
    if far || negative || beyond {
        return out_of_range(strict, value);
    }
    let rounded = trouble.is_some_and(|t| t.2);
    Ok(if lost || rounded { note() } else { Coerced::plain(value) })
}

pub(super) fn store_bit<'a>(d: Datum<'_>, ty: &ColumnType, strict: bool) -> Stored<'a> {
    let bits = ty.length.clamp(1, 64) as u8;
    let all = u64::MAX >> (64 - bits);
    let given = match d {
        Datum::Bytes(s) => of_bytes(s),
        _ => match exact(&d) {
            Some(Exact::Int(v)) => i64_bits(v),
            // A decimal is taken for an unsigned number first.
            Some(Exact::Decimal(v)) => {
                let whole = v.round_to_i128().unwrap_or(i128::MAX);
                let nearest = whole.clamp(0, u64::MAX.into()) as u64;
                if i128::from(nearest) != whole {
                    let stored = Datum::Bits(nearest.min(all), bits);
                    return settle(strict, ConvertError::OutOfRange, stored, Warning::OutOfRange);
                }
                Some(nearest)
            }
            // Saturates at the ends of BIGINT.
            None => Some(to_double(&d) as i64 as u64),
        },
    };
    match given.filter(|v| *v <= all) {
        Some(v) => Ok(Coerced::plain(Datum::Bits(v, bits))),
        None => settle(strict, ConvertError::TooLong, Datum::Bits(all, bits), Warning::TooLong),
    }
}

/// The 64 bits of an integer, signed or not.
fn i64_bits(v: i128) -> Option<u64> {
    u64::try_from(v).ok().or_else(|| i64::try_from(v).ok().map(|v| v as u64))
}

/// The number of big-endian bytes; `None` above 64 bits.
fn of_bytes(s: &[u8]) -> Option<u64> {
    let zeros = s.iter().take_while(|&&b| b == 0).count();
    let s = &s[zeros..];
    (s.len() <= 8).then(|| s.iter().fold(0, |v, &b| v << 8 | u64::from(b)))
}

pub(super) fn store_year<'a>(d: Datum<'_>, mode: &ConvertMode<'_>) -> Stored<'a> {
    let strict = mode.strict;
    // A document is the text that it is written in.
    if let Datum::Json(_) = d {
        return store_year(Datum::Bytes(crate::format::to_text(&d).as_bytes()), mode);
    }
    let mut rest = (Rest::Clean, &b""[..]);
    // Four zeros are the zero year; fewer are the year 2000.
    let mut zero_is_2000 = false;
    let given = match d {
        Datum::Bytes(s) => {
            let read = number::int_of_text(s);
            rest = (read.rest, s);
            zero_is_2000 = s.len() != 4;
            read.value
        }
        Datum::Date(v) => i128::from(v.year()),
        Datum::DateTime(v) => i128::from(v.date().year()),
        Datum::Time(_) => i128::from(mode.today().year()),
        Datum::Double(v) => super::double_to_int(v),
        _ => match exact(&d) {
            Some(Exact::Int(v)) => v,
            Some(Exact::Decimal(v)) => v.round_to_i128().unwrap_or(-1),
            None => super::double_to_int(to_double(&d)),
        },
    };
    let year = match given {
        0 if zero_is_2000 && rest.0 != Rest::NoNumber => Some(2000),
        0 => Some(0),
        1..=69 => Some(2000 + given as u16),
        70..=99 => Some(1900 + given as u16),
        1901..=2155 => Some(given as u16),
        _ => None,
    };
    let value = Datum::Year(year.unwrap_or(0));
    match rest {
        _ if year.is_none() => out_of_range(strict, value),
        (Rest::Clean, _) => Ok(Coerced::plain(value)),
        (Rest::NoNumber, s) => incorrect(strict, "integer", s, value),
        (Rest::Garbage, _) => {
            let warning = Warning::Truncated { note: false };
            settle(strict, ConvertError::Truncated, value, warning)
        }
    }
}
