//! JSON as SQL values: CAST of a document, documents among numbers, and the reading of scalars that
//! JSON_VALUE and JSON_TABLE share.
//!
//! 1. [`Read`] says how well a value fitted; what a misfit comes to (a warning, an error, NULL) is its
//!    caller's.

use super::make::unquoted;
use crate::eval::{NULL, Value, eval};
use crate::functions::call::{Answer, leading_integer};
use crate::functions::{Function, Nulls, Purity, Run, Shape};
use crate::row::Row;
use crate::tree::{CallSite, Expr, OwnedDatum};
use crate::{Environment, SqlError, WarningLevel};
use ::value::json::{JsonRef, View};
use ::value::number::{Rest, double_of_text};
use ::value::time::{BadTime, DateRules, parse};
use ::value::{ColumnType, DateTime, Datum, Decimal, Kind, Time};

/// CAST of a JSON value to a number, a date or a time.
pub static CAST_OF_JSON: Function = Function {
    name: "cast",
    arity: (1, 1),
    nulls: Nulls::Own,
    purity: Purity::Constant,
    shape: Shape::Cast,
    derive: |d| Ok(d.ty(0)),
    run: Run::Lazy(cast),
    doc: "a JSON value as another type",
};

/// A JSON value that is stored in a column of numbers, dates or times: as what the column converts further.
pub static STORED_JSON: Function = Function {
    name: "cast",
    arity: (1, 1),
    nulls: Nulls::Own,
    purity: Purity::Constant,
    shape: Shape::Bare,
    derive: |d| Ok(d.ty(0)),
    run: Run::Lazy(stored),
    doc: "a JSON value as a column takes it",
};

/// A value read out of JSON.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Read<T> {
    /// It fits.
    Whole(T),
    /// Something like it: the begin of a text, 0 for what is no number.
    Partly(T),
    /// The nearest value of what is out of range.
    Beyond(T),
}

impl<T> Read<T> {
    /// The value, however it fits.
    pub fn any(self) -> T {
        match self {
            Read::Whole(v) | Read::Partly(v) | Read::Beyond(v) => v,
        }
    }

    /// The value if it fits.
    pub fn whole(self) -> Option<T> {
        match self {
            Read::Whole(v) => Some(v),
            _ => None,
        }
    }
}

/// Whether a value is a number of any kind.
pub fn is_number(value: JsonRef<'_>) -> bool {
    let view = value.view();
    matches!(view, View::Int(_) | View::UInt(_) | View::Double(_) | View::Decimal(_))
}

/// As an integer of 64 bits of either sign.
pub fn integer(value: JsonRef<'_>) -> Read<i128> {
    match value.view() {
        View::Bool(v) => Read::Whole(v.into()),
        View::Int(v) => Read::Whole(v.into()),
        View::UInt(v) => Read::Whole(v.into()),
        View::Decimal(v) => match v.round_to_i128() {
            Some(v) => Read::Whole(v),
            None => Read::Beyond(if v.is_negative() { i64::MIN.into() } else { u64::MAX.into() }),
        },
        View::Double(v) => {
            let v = v.round_ties_even();
            match v {
                v if v >= 18_446_744_073_709_551_616.0 => Read::Beyond(i64::MAX.into()),
                v if v < -9_223_372_036_854_775_808.0 => Read::Beyond(i64::MIN.into()),
                v => Read::Whole(v as i128),
            }
        }
        View::String(text) => match leading_integer(text) {
            (v, true) if !text.ends_with(b" ") => Read::Whole(v),
            (v, _) => Read::Partly(v),
        },
        _ => Read::Partly(0),
    }
}

/// As a double.
pub fn double(value: JsonRef<'_>) -> Read<f64> {
    match value.view() {
        View::Bool(v) => Read::Whole(f64::from(u8::from(v))),
        View::Int(v) => Read::Whole(v as f64),
        View::UInt(v) => Read::Whole(v as f64),
        View::Double(v) => Read::Whole(v),
        View::Decimal(v) => Read::Whole(v.to_f64()),
        View::String(text) => match double_of_text(text) {
            (v, Rest::Clean) => Read::Whole(v),
            (v, _) => Read::Partly(v),
        },
        _ => Read::Partly(0.0),
    }
}

/// As a decimal of any scale.
pub fn decimal(value: JsonRef<'_>) -> Read<Decimal> {
    match value.view() {
        View::Bool(v) => Read::Whole(Decimal::from_i128(v.into(), 0)),
        View::Int(v) => Read::Whole(Decimal::from_i128(v.into(), 0)),
        View::UInt(v) => Read::Whole(Decimal::from_i128(v.into(), 0)),
        View::Decimal(v) => Read::Whole(v),
        View::Double(v) => match Decimal::from_f64(v) {
            (v, false) => Read::Whole(v),
            (v, true) => Read::Beyond(v),
        },
        View::String(text) => {
            let read = Decimal::from_text(text);
            if read.rest == Rest::Clean {
                Read::Whole(read.value)
            } else {
                Read::Partly(read.value)
            }
        }
        _ => Read::Partly(Decimal::from_i128(0, 0)),
    }
}

const DATES: DateRules =
    DateRules { no_zero_date: false, no_zero_in_date: false, allow_invalid: false };

/// As a date and time, rounded to `fsp` digits or cut off.
pub fn moment(value: JsonRef<'_>, fsp: u8, cut: bool) -> Option<DateTime> {
    match value.view() {
        View::Date(v) => Some(v.midnight()),
        View::DateTime(v) | View::Timestamp(v) if cut => v.truncate(fsp).into(),
        View::DateTime(v) | View::Timestamp(v) => v.round(fsp),
        View::String(text) => {
            let read = parse::date_time(text, DATES).ok().filter(|read| !read.cut && !read.utc)?;
            read.rounded(fsp, cut)
        }
        _ => None,
    }
}

/// As a time span, rounded to `fsp` digits or cut off.
pub fn span(value: JsonRef<'_>, fsp: u8, cut: bool) -> Option<Time> {
    match value.view() {
        View::Time(v) if cut => Some(v.truncate(fsp)),
        View::Time(v) => Some(v.round(fsp)),
        View::String(text) => {
            let read: Result<_, BadTime> = parse::time(text);
            let read = read.ok().filter(|read| !read.cut && !read.beyond)?;
            Some(read.rounded(fsp, cut))
        }
        _ => None,
    }
}

/// What MySQL calls the wanted type in 3155 and 3156.
pub fn type_in_errors(kind: Kind) -> &'static str {
    match kind {
        Kind::Double | Kind::Float => "DOUBLE",
        Kind::Decimal => "DECIMAL",
        Kind::Date => "DATE",
        Kind::Time => "TIME",
        Kind::DateTime | Kind::Timestamp => "DATETIME/TIMESTAMP",
        _ => "INTEGER",
    }
}

/// What 3155 and 3156 call the value: a column's name, or the name of a function.
fn named(source: &Expr, row: &Row<'_>) -> String {
    match source {
        Expr::Column(column) => {
            let full = row.names.map_or(String::new(), |names| names.column(*column));
            full.rsplit('.').next().unwrap_or_default().trim_matches('`').to_string()
        }
        Expr::Call(site) if site.function.shape == Shape::Cast && site.ty.kind == Kind::Json => {
            "cast_as_json".into()
        }
        Expr::Call(site) => site.function.name.into(),
        _ => String::new(),
    }
}

#[cold]
fn warn(number: u16, kind: Kind, source: &Expr, row: &Row<'_>, env: &mut dyn Environment) {
    let what = if number == 3155 { "Out of range" } else { "Invalid" };
    let (wanted, name) = (type_in_errors(kind), named(source, row));
    let text = format!("{what} JSON value for CAST to {wanted} from column {name} at row 1");
    env.warn(WarningLevel::Warning, number, text);
}

/// A value however it fits, warned of when it does not.
fn taken<T>(
    read: Read<T>,
    kind: Kind,
    source: &Expr,
    row: &Row<'_>,
    env: &mut dyn Environment,
) -> T {
    match &read {
        Read::Whole(_) => {}
        Read::Partly(_) => warn(3156, kind, source, row, env),
        Read::Beyond(_) => warn(3155, kind, source, row, env),
    }
    read.any()
}

/// A document among numbers: as a double, with warnings 3155 and 3156.
pub fn number_of(bytes: &[u8], source: &Expr, row: &Row<'_>, env: &mut dyn Environment) -> f64 {
    taken(double(JsonRef::new(bytes)), Kind::Double, source, row, env)
}

fn cast<'v>(site: &'v CallSite, row: &Row<'v>, env: &mut dyn Environment) -> Answer<'v> {
    let source = &site.arguments[0];
    let value = eval(source, row, env)?;
    let Datum::Json(bytes) = value.get() else { return Ok(NULL) };
    let value = JsonRef::new(bytes);
    let to = site.ty;
    Ok(Value::Datum(match to.kind {
        Kind::Decimal => {
            let exact = taken(decimal(value), to.kind, source, row, env);
            let (fitted, beyond) = exact.saturated(to.length.min(65) as u8, to.decimals);
            if beyond {
                let name = crate::print::call(site, row.names);
                let text = format!("Out of range value for column '{name}' at row 1");
                env.warn(WarningLevel::Warning, 1264, text);
            }
            Datum::Decimal(fitted)
        }
        Kind::Double => Datum::Double(taken(double(value), to.kind, source, row, env)),
        Kind::Float => {
            let v = taken(double(value), to.kind, source, row, env) as f32;
            if v.is_infinite() {
                let text = crate::print::call(site, row.names);
                return Err(SqlError::OutOfRange("FLOAT".into(), text));
            }
            Datum::Double(f64::from(v))
        }
        Kind::Year => {
            let whole = taken(integer(value), to.kind, source, row, env);
            year(whole).map_or(Datum::Null, Datum::Year)
        }
        Kind::Date | Kind::DateTime | Kind::Time => {
            let found = temporal(value, &to, false);
            if found.is_none() {
                warn(3156, to.kind, source, row, env);
            }
            found.unwrap_or_default()
        }
        _ => {
            let whole = taken(integer(value), to.kind, source, row, env);
            if to.unsigned { Datum::UInt(whole as u64) } else { Datum::Int(whole as i64) }
        }
    }))
}

fn stored<'v>(site: &'v CallSite, row: &Row<'v>, env: &mut dyn Environment) -> Answer<'v> {
    let source = &site.arguments[0];
    let value = eval(source, row, env)?;
    let Datum::Json(bytes) = value.get() else { return Ok(NULL) };
    let (value, kind) = (JsonRef::new(bytes), site.ty.kind);
    Ok(Value::Datum(match kind {
        Kind::Decimal => Datum::Decimal(taken(decimal(value), kind, source, row, env)),
        Kind::Double | Kind::Float => Datum::Double(taken(double(value), kind, source, row, env)),
        Kind::Date | Kind::DateTime | Kind::Timestamp | Kind::Time => {
            temporal(value, &site.ty, false).unwrap_or_else(|| {
                warn(3156, kind, source, row, env);
                // IGNORE stores the zero for a column's document, NULL for one that is computed.
                match (source, kind) {
                    (Expr::Column(_), Kind::Time) => Datum::Time(Time::ZERO),
                    (Expr::Column(_), _) => Datum::DateTime(DateTime::ZERO),
                    _ => Datum::Null,
                }
            })
        }
        _ => {
            let whole = taken(integer(value), kind, source, row, env);
            i64::try_from(whole).map_or(Datum::UInt(whole as u64), Datum::Int)
        }
    }))
}

/// As a DATE, a TIME or a DATETIME.
fn temporal(value: JsonRef<'_>, to: &ColumnType, cut: bool) -> Option<Datum<'static>> {
    match to.kind {
        Kind::Date => moment(value, 6, cut).map(|v| Datum::Date(v.date())),
        Kind::Time => span(value, to.decimals, cut).map(Datum::Time),
        _ => moment(value, to.decimals, cut).map(Datum::DateTime),
    }
}

/// A year as CAST reads numbers.
fn year(v: i128) -> Option<u16> {
    match v {
        0 => Some(0),
        1..=69 => Some(v as u16 + 2000),
        70..=99 => Some(v as u16 + 1900),
        1901..=2155 => Some(v as u16),
        _ => None,
    }
}

/// A value as one of a type, exactly: `None` when it does not fit. Text that is too long, numbers out of
/// range and text that is no number do not; digits behind the scale are rounded off, those of a second
/// cut off.
pub fn exactly(value: JsonRef<'_>, to: &ColumnType) -> Option<OwnedDatum> {
    Some(match to.kind {
        Kind::Json => OwnedDatum::Json(value.bytes().to_vec()),
        kind if kind.is_string() => {
            let text = unquoted(value);
            let text = match to.collation.charset() {
                ::value::Charset::Binary | ::value::Charset::Utf8mb4 => text,
                charset => {
                    let from = ::value::Charset::Utf8mb4;
                    let (text, lost) = ::value::charset::converted(&text, from, charset);
                    if lost.any() {
                        return None;
                    }
                    text.into_owned()
                }
            };
            let unlimited = to.length == u32::MAX || kind.is_large();
            if !unlimited && to.collation.char_count(&text) > to.length as usize {
                return None;
            }
            OwnedDatum::Bytes(text)
        }
        Kind::Decimal => {
            let (v, beyond) = decimal(value).whole()?.saturated(to.length as u8, to.decimals);
            if beyond {
                return None;
            }
            OwnedDatum::Decimal(v)
        }
        Kind::Double => OwnedDatum::Double(double(value).whole()?),
        Kind::Float => {
            let v = double(value).whole()? as f32;
            OwnedDatum::Double(if v.is_finite() { f64::from(v) } else { 0.0 })
        }
        Kind::Year => match integer(value).whole()? {
            0 => OwnedDatum::Year(0),
            v @ 1901..=2155 => OwnedDatum::Year(v as u16),
            _ => return None,
        },
        Kind::Date | Kind::DateTime | Kind::Timestamp | Kind::Time => {
            OwnedDatum::of(&temporal(value, to, true)?)
        }
        _ => {
            let v = integer(value).whole()?;
            match to.unsigned {
                true => OwnedDatum::UInt(u64::try_from(v).ok()?),
                false => OwnedDatum::Int(i64::try_from(v).ok()?),
            }
        }
    })
}
