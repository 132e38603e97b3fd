//! Comparison of two values of any kinds, by MySQL's rules.
//!
//! Invariants
//! 1. Integers of both signs and decimals compare exactly, whatever their size.
//! 2. As soon as a double or one string takes part, both sides compare as doubles.
//! 3. Two dates or times compare as such; text against one of them is read as one, and compares as
//!    a number when it is none. Which of these a comparison of two types uses is [`Rule`]'s.

use crate::decimal::Decimal;
use crate::json::{self, JsonRef, JsonValue};
use crate::time::{Date, DateRules, parse};
use crate::{Collation, ColumnType, ConvertMode, Datum, Kind, format, number};
use std::cmp::Ordering;

/// Order of two values; `None` when either is NULL. Two strings compare under `collation`; a string
/// against a number compares as doubles; integers and decimals compare exactly.
#[inline]
#[must_use]
pub fn compare(a: &Datum<'_>, b: &Datum<'_>, collation: Collation) -> Option<Ordering> {
    Some(match (*a, *b) {
        (Datum::Null, _) | (_, Datum::Null) => return None,
        (Datum::Int(x), Datum::Int(y)) => x.cmp(&y),
        (Datum::UInt(x), Datum::UInt(y)) => x.cmp(&y),
        (Datum::Bytes(x), Datum::Bytes(y)) => collation.compare(x, y),
        (Datum::Decimal(x), Datum::Decimal(y)) => x.compare(&y),
        (Datum::Date(x), Datum::Date(y)) => x.cmp(&y),
        (x, y) => compare_mixed(x, y, collation),
    })
}

/// Two values, neither NULL, not both of the same plain kind.
fn compare_mixed(a: Datum<'_>, b: Datum<'_>, collation: Collation) -> Ordering {
    match (&a, &b) {
        (Datum::Date(x), Datum::Date(y)) => return x.cmp(y),
        (Datum::Time(x), Datum::Time(y)) => return x.micros().cmp(&y.micros()),
        (Datum::Timestamp(x, _), Datum::Timestamp(y, _)) => return x.cmp(y),
        (Datum::Json(_), _) | (_, Datum::Json(_)) => return compare_json(&a, &b),
        _ => {}
    }
    if let Some(order) = compare_moments(&a, &b) {
        return order;
    }
    if is_named(&a) && is_named(&b) {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        format::append_text(&a, &mut x);
        format::append_text(&b, &mut y);
        return collation.compare(&x, &y);
    }
    match (exact(&a), exact(&b)) {
        (Some(x), Some(y)) => x.compare(&y),
        _ => to_double(&a).total_cmp(&to_double(&b)),
    }
}

/// Values that are text among text.
fn is_named(d: &Datum<'_>) -> bool {
    matches!(d, Datum::Enum(..) | Datum::Set(..) | Datum::Bytes(_))
}

fn compare_json(a: &Datum<'_>, b: &Datum<'_>) -> Ordering {
    let bytes = |d: &Datum<'_>| match *d {
        Datum::Json(bytes) => bytes.to_vec(),
        ref other => JsonValue::of_datum(other, None).to_bytes(),
    };
    let (x, y) = (bytes(a), bytes(b));
    json::compare(JsonRef::new(&x), JsonRef::new(&y))
}

/// Two values of which one has a date or is a time span, and the other can be read as one.
fn compare_moments(a: &Datum<'_>, b: &Datum<'_>) -> Option<Ordering> {
    let dated = |d: &Datum<'_>| matches!(d, Datum::Date(_) | Datum::DateTime(_));
    if dated(a) || dated(b) {
        return Some(moment(a)?.cmp(&moment(b)?));
    }
    if matches!(a, Datum::Time(_)) || matches!(b, Datum::Time(_)) {
        return Some(span(a)?.cmp(&span(b)?));
    }
    None
}

/// A value as a packed moment and the nanoseconds behind it; `None`: it is none.
fn moment(d: &Datum<'_>) -> Option<(u64, u16)> {
    let rules = DateRules { allow_invalid: true, ..DateRules::default() };
    let read = match *d {
        Datum::Date(v) => return Some((v.midnight().packed(), 0)),
        Datum::DateTime(v) => return Some((v.packed(), 0)),
        // A year is before all of its days.
        Datum::Year(v) => return Some((Date::new(v, 0, 0)?.midnight().packed(), 0)),
        Datum::Bytes(s) => parse::date_time(s, rules),
        Datum::Int(v) => parse::date_time_of_number(v, 0, rules),
        Datum::UInt(v) => parse::date_time_of_number(i64::try_from(v).ok()?, 0, rules),
        _ => return None,
    };
    read.ok().map(|read| (read.value.packed(), read.rest_nanos))
}

/// A value as a time span in microseconds and the nanoseconds behind them.
fn span(d: &Datum<'_>) -> Option<(i64, u16)> {
    let read = match *d {
        Datum::Time(v) => return Some((v.micros(), 0)),
        Datum::Bytes(s) => parse::time(s),
        // What no time is so long is a number, and so is the time then.
        Datum::Int(v) => parse::time_of_number(v, 0).and_then(|read| match read.beyond {
            true => Err(parse::BadTime::Form),
            false => Ok(read),
        }),
        _ => return None,
    };
    read.ok().map(|read| (read.value.micros(), read.rest_nanos))
}

/// How two types compare, as MySQL chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// As integers of 64 bits, of either sign.
    Int,
    /// As decimals.
    Decimal,
    /// As doubles.
    Double,
    /// As strings under a collation.
    String,
    /// As moments; text and numbers are read as dates.
    DateTime,
    /// As time spans; text and numbers are read as times.
    Time,
    /// As JSON values.
    Json,
}

impl Rule {
    /// The rule for two types.
    #[must_use]
    pub fn of(a: &ColumnType, b: &ColumnType) -> Rule {
        let any = |f: fn(&ColumnType) -> bool| f(a) || f(b);
        let both = |f: fn(&ColumnType) -> bool| f(a) && f(b);
        let integer = |t: &ColumnType| t.kind.is_int() || matches!(t.kind, Kind::Bit | Kind::Year);
        if any(|t| t.kind == Kind::Json) {
            Rule::Json
        } else if any(|t| t.kind.has_date()) {
            Rule::DateTime
        } else if any(|t| t.kind == Kind::Time) {
            Rule::Time
        } else if both(|t| t.kind.is_string() || t.kind.has_members()) {
            Rule::String
        } else if integer(a) && integer(b) {
            Rule::Int
        } else if both(|t| t.kind.is_number() && !t.kind.is_float()) {
            Rule::Decimal
        } else {
            Rule::Double
        }
    }

    /// The order of two values by this rule; `None` when either is NULL. What cannot be read as a date
    /// or time compares as [`compare`] does.
    #[must_use]
    pub fn compare(
        self,
        a: &Datum<'_>,
        b: &Datum<'_>,
        collation: Collation,
        mode: &ConvertMode<'_>,
    ) -> Option<Ordering> {
        if a.is_null() || b.is_null() {
            return None;
        }
        match self {
            Rule::Double => Some(to_double(a).total_cmp(&to_double(b))),
            Rule::DateTime => {
                // A time span is one of today.
                let today = |d: &Datum<'_>| match *d {
                    Datum::Time(v) => v.on(mode.today()).map(|v| (v.packed(), 0)),
                    ref other => moment(other),
                };
                match (today(a), today(b)) {
                    (Some(x), Some(y)) => Some(x.cmp(&y)),
                    _ => compare(a, b, collation),
                }
            }
            _ => compare(a, b, collation),
        }
    }
}

/// SQL `=`: `None` when either side is NULL.
#[inline]
#[must_use]
pub fn equals(a: &Datum<'_>, b: &Datum<'_>, collation: Collation) -> Option<bool> {
    compare(a, b, collation).map(Ordering::is_eq)
}

/// Order for ORDER BY, DISTINCT and tests: NULL first and equal to NULL.
#[must_use]
pub fn sort_order(a: &Datum<'_>, b: &Datum<'_>, collation: Collation) -> Ordering {
    compare(a, b, collation).unwrap_or_else(|| b.is_null().cmp(&a.is_null()))
}

/// SQL truth: `None` for NULL, else whether the value is not zero.
#[must_use]
pub fn truth(d: &Datum<'_>) -> Option<bool> {
    Some(match *d {
        Datum::Null => return None,
        Datum::Int(v) => v != 0,
        Datum::UInt(v) | Datum::Bits(v, _) | Datum::Set(_, v) => v != 0,
        Datum::Decimal(v) => !v.is_zero(),
        _ => to_double(d) != 0.0,
    })
}

/// The value as a double; text by its longest numeric prefix, NULL as 0. Never -0, never NaN.
#[must_use]
pub fn to_double(d: &Datum<'_>) -> f64 {
    let v = match *d {
        Datum::Null => 0.0,
        Datum::Int(v) => v as f64,
        Datum::UInt(v) => v as f64,
        Datum::Double(v) => v,
        Datum::Bytes(s) => number::double_of_text(s).0,
        Datum::Json(bytes) => json_double(JsonRef::new(bytes)),
        _ => match exact(d) {
            Some(Exact::Int(v)) => v as f64,
            Some(Exact::Decimal(v)) => v.to_f64(),
            None => 0.0,
        },
    };
    if v == 0.0 { 0.0 } else { v }
}

/// A JSON scalar as a double; 0 for what is no number.
fn json_double(value: JsonRef<'_>) -> f64 {
    use json::View;
    match value.view() {
        View::Bool(v) => f64::from(u8::from(v)),
        View::Int(v) => v as f64,
        View::UInt(v) => v as f64,
        View::Double(v) => v,
        View::Decimal(v) => v.to_f64(),
        View::String(s) => number::double_of_text(s).0,
        _ => 0.0,
    }
}

/// A number without rounding.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exact {
    /// An integer of 64 bits, of either sign.
    Int(i128),
    /// A decimal.
    Decimal(Decimal),
}

impl Exact {
    pub fn decimal(self) -> Decimal {
        match self {
            Exact::Int(v) => Decimal::from_i128(v, 0),
            Exact::Decimal(v) => v,
        }
    }

    fn compare(&self, other: &Exact) -> Ordering {
        match (self, other) {
            (Exact::Int(x), Exact::Int(y)) => x.cmp(y),
            (x, y) => x.decimal().compare(&y.decimal()),
        }
    }
}

/// What is an exact number, or one among numbers (20240131235959.25), as a decimal; `None` for the rest.
#[must_use]
pub fn to_decimal(d: &Datum<'_>) -> Option<Decimal> {
    exact(d).map(Exact::decimal)
}

/// Exact numbers, and what is one among numbers: dates and times (20240131235959), members' numbers,
/// bits.
#[inline]
pub(crate) fn exact(d: &Datum<'_>) -> Option<Exact> {
    Some(match *d {
        Datum::Int(v) => Exact::Int(i128::from(v)),
        Datum::UInt(v) | Datum::Bits(v, _) | Datum::Set(_, v) => Exact::Int(i128::from(v)),
        Datum::Decimal(v) => Exact::Decimal(v),
        Datum::Year(v) | Datum::Enum(_, v) => Exact::Int(i128::from(v)),
        Datum::Date(v) => Exact::Int(i128::from(v.to_number())),
        Datum::Time(v) => fractional(v.to_number(), v.is_negative(), v.fraction(), v.fsp()),
        Datum::DateTime(v) => fractional(v.to_number(), false, v.micros(), v.fsp()),
        Datum::Null
        | Datum::Double(_)
        | Datum::Timestamp(..)
        | Datum::Json(_)
        | Datum::Bytes(_) => return None,
    })
}

/// Whole seconds in number form with the second's fraction of `fsp` digits.
fn fractional(whole: i64, negative: bool, micros: u32, fsp: u8) -> Exact {
    if fsp == 0 {
        return Exact::Int(i128::from(whole));
    }
    let micros = if negative { -i128::from(micros) } else { i128::from(micros) };
    let all = i128::from(whole) * 1_000_000 + micros;
    let cut = 10i128.pow(u32::from(crate::time::FSP_MAX - fsp));
    Exact::Decimal(Decimal::from_i128(all / cut, fsp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Datum::{Bytes, Double, Int, Null, UInt};

    #[test]
    fn mixed_kinds_compare_as_mysql_does() {
        let dec = |unscaled, scale| Datum::Decimal(Decimal::from_i128(unscaled, scale));
        let less: &[(Datum, Datum)] = &[
            (Int(-1), UInt(0)),
            (Int(-1), UInt(u64::MAX)),
            (Int(i64::MAX), UInt(1 << 63)),
            (dec(15, 1), Int(2)),
            (dec(-15, 1), Int(-1)),
            (dec(-15, 1), dec(-149, 2)),
            (dec(10i128.pow(37), 0), dec(10i128.pow(37) + 1, 0)),
            (Bytes(b"9"), Int(10)),
            (Bytes(b"abc"), Int(1)),
            (Int(1), Double(1.5)),
            (Bytes(b"a"), Bytes(b"B")),
        ];
        for (a, b) in less {
            assert_eq!(compare(a, b, Collation::default()), Some(Ordering::Less), "{a:?} < {b:?}");
            assert_eq!(
                compare(b, a, Collation::default()),
                Some(Ordering::Greater),
                "{b:?} > {a:?}"
            );
        }
        let equal: &[(Datum, Datum)] = &[
            (Int(1), UInt(1)),
            (dec(100, 2), Int(1)),
            (Bytes(b"1.0"), Int(1)),
            (Bytes(b" 12abc"), UInt(12)),
            (Double(-0.0), Int(0)),
            (Bytes(b"A"), Bytes("á".as_bytes())),
        ];
        for (a, b) in equal {
            assert_eq!(equals(a, b, Collation::default()), Some(true), "{a:?} = {b:?}");
        }
        assert_eq!(compare(&Null, &Int(1), Collation::Binary), None);
        assert_eq!(sort_order(&Null, &Int(1), Collation::Binary), Ordering::Less);
        assert_eq!(sort_order(&Null, &Null, Collation::Binary), Ordering::Equal);
    }

    #[test]
    fn truth_is_not_zero() {
        assert_eq!(truth(&Null), None);
        assert_eq!(truth(&Bytes(b"0.5")), Some(true));
        assert_eq!(truth(&Bytes(b"x")), Some(false));
        assert_eq!(truth(&UInt(2)), Some(true));
    }
}
