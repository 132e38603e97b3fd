//! Values of JSON_TABLE's columns: a part of a document stored as into a table's column.
//!
//! 1. Numbers are read as numbers, everything else as text; the same rules then hold as for a row that
//!    is stored in strict mode, but that a text behind a date is cut off silently and that an ENUM has its
//!    empty member for what is none of its own. 2. Messages say "row 1" whatever the row.

use super::cast::{Read, decimal, double, integer, type_in_errors};
use super::make::unquoted;
use crate::SqlError;
use crate::refused::Refused;
use crate::tree::OwnedDatum;
use ::value::json::{JsonRef, View};
use ::value::{Collation, ColumnType, ConvertError, ConvertMode, DateTime, Datum, Kind, Warning};

/// Why a value is none of a column.
#[derive(Debug)]
pub struct Misfit {
    /// A warning that stands before the error: number and text.
    pub warning: Option<(u16, String)>,
    /// The error of ERROR ON ERROR.
    pub error: SqlError,
}

/// A value for a column, and the note that something of it is lost.
pub type Fitted = (OwnedDatum, Option<(u16, String)>);

/// A part of a document as the value of a column of JSON_TABLE.
///
/// # Errors
/// 3666 for an array or an object, 3155 and 3156 for what is no number, 3669.
pub fn column_value(
    value: JsonRef<'_>,
    (name, ty): (&str, &ColumnType),
    mode: &ConvertMode<'_>,
) -> Result<Fitted, Box<Misfit>> {
    match value.view() {
        View::Null => return Ok((OwnedDatum::Null, None)),
        _ if ty.kind == Kind::Json => return Ok((OwnedDatum::Json(value.bytes().to_vec()), None)),
        View::Array(_) | View::Object(_) => {
            let error = Refused::NoScalar(name).into();
            return Err(Box::new(Misfit { warning: None, error }));
        }
        _ => {}
    }
    let number = |read: Read<Datum<'static>>| match read {
        Read::Whole(v) => Ok(v),
        Read::Partly(_) => Err(no_number(3156, name, ty)),
        Read::Beyond(_) => Err(no_number(3155, name, ty)),
    };
    let text;
    let given = match ty.kind {
        kind if kind.is_int() || matches!(kind, Kind::Year | Kind::Bit) => {
            number(map(integer(value), exact))?
        }
        Kind::Decimal => number(map(decimal(value), Datum::Decimal))?,
        Kind::Double | Kind::Float => number(map(double(value), Datum::Double))?,
        _ => {
            text = unquoted(value);
            Datum::Bytes(&text)
        }
    };
    store(given, (name, ty), mode)
}

/// 1 or 0 as the value of a column with EXISTS.
pub fn exists_value(exists: bool, column: (&str, &ColumnType), mode: &ConvertMode<'_>) -> Fitted {
    let given = Datum::Int(exists.into());
    store(given, column, mode).unwrap_or_else(|misfit| {
        let lenient = ConvertMode { strict: false, ..*mode };
        let mut scratch = Vec::new();
        let stored = ::value::coerce(given, None, column.1, &lenient, &mut scratch);
        let value = stored.map_or(OwnedDatum::Null, |s| OwnedDatum::of(&s.value));
        (value, misfit.warning)
    })
}

fn map<T, U>(read: Read<T>, make: impl Fn(T) -> U) -> Read<U> {
    match read {
        Read::Whole(v) => Read::Whole(make(v)),
        Read::Partly(v) => Read::Partly(make(v)),
        Read::Beyond(v) => Read::Beyond(make(v)),
    }
}

fn exact(v: i128) -> Datum<'static> {
    i64::try_from(v).map_or(Datum::UInt(v as u64), Datum::Int)
}

fn no_number(number: u16, name: &str, ty: &ColumnType) -> Box<Misfit> {
    let wanted = type_in_errors(ty.kind);
    let error = match number {
        3155 => Refused::JsonOutOfRange(wanted, name),
        _ => Refused::JsonInvalid(wanted, name),
    };
    let error = SqlError::from(error).followed_by(&out_of_range(name));
    Box::new(Misfit { warning: None, error })
}

fn out_of_range(name: &str) -> SqlError {
    Refused::JsonColumnRange(name).into()
}

fn store(
    given: Datum<'_>,
    (name, ty): (&str, &ColumnType),
    mode: &ConvertMode<'_>,
) -> Result<Fitted, Box<Misfit>> {
    let misfit = |problem: &ConvertError| {
        let (number, _, text) = problem.parts("", name, 1);
        Box::new(Misfit { warning: Some((number, text)), error: out_of_range(name) })
    };
    let text = ColumnType::varchar(u32::MAX, Collation::default());
    let strict = ConvertMode { strict: true, ..*mode };
    let mut scratch = Vec::new();
    let problem = match ::value::coerce(given, Some(&text), ty, &strict, &mut scratch) {
        Ok(stored) => {
            let lost = match &stored.warning {
                Some(Warning::IncorrectTime { wanted, value }) => {
                    let error = ConvertError::IncorrectTime { wanted, value: value.clone() };
                    let (number, _, text) = error.parts("", name, 1);
                    Some((number, text))
                }
                _ => None,
            };
            return Ok((OwnedDatum::of(&stored.value), lost));
        }
        Err(problem) => problem,
    };
    if !(ty.kind == Kind::Enum || ty.kind.is_temporal() && matches!(given, Datum::Bytes(_))) {
        return Err(misfit(&problem));
    }
    let lenient = ConvertMode { strict: false, ..*mode };
    match ::value::coerce(given, Some(&text), ty, &lenient, &mut scratch) {
        Ok(s) if s.warning == Some(Warning::Truncated { note: false }) && !is_zero(&s.value) => {
            Ok((OwnedDatum::of(&s.value), None))
        }
        _ => Err(misfit(&problem)),
    }
}

/// A date or time that stands for none at all.
fn is_zero(value: &Datum<'_>) -> bool {
    match value {
        Datum::Date(v) => v.midnight() == DateTime::ZERO,
        Datum::DateTime(v) => v.date().midnight() == DateTime::ZERO,
        Datum::Time(v) => v.micros() == 0,
        Datum::Timestamp(v, _) => *v == 0,
        _ => false,
    }
}
