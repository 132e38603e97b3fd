//! Stage 1: a given value becomes one of its column's type, with MySQL's errors and warnings; a missing one the default.

use super::error::RowError;
use crate::{Environment, SqlError, WarningLevel};
use catalog::{ColumnDef, DefaultValue};
use expr::OwnedDatum;
use expr::functions::moments::mode;
use value::{ColumnType, ConvertError, Datum, Kind, Warning};

/// The default of a column, or error 1364 (strict) when it has none.
pub fn default_of(column: &ColumnDef, env: &mut dyn Environment) -> Result<OwnedDatum, SqlError> {
    Ok(match &column.default {
        DefaultValue::Null => OwnedDatum::Null,
        DefaultValue::Int(_) | DefaultValue::Bytes(_) => {
            let value = column.stored_default().unwrap_or(OwnedDatum::Null);
            refuse_zero_date(&value, column, env)?;
            value
        }
        DefaultValue::Now(fsp) => now(&column.ty, *fsp, env),
        // Stage 2 fills it in.
        DefaultValue::Expr(_) => OwnedDatum::Null,
        DefaultValue::None if column.generated.is_some() => OwnedDatum::Null,
        // An ENUM always has one: its first member.
        DefaultValue::None if column.ty.kind == Kind::Enum => implicit_default(&column.ty),
        DefaultValue::None => {
            RowError::NoDefault(&column.name).unless_lenient(env)?;
            implicit_default(&column.ty)
        }
    })
}

/// A default that was allowed when the table was made may be no date now (1292).
fn refuse_zero_date(
    value: &OwnedDatum,
    column: &ColumnDef,
    env: &dyn Environment,
) -> Result<(), SqlError> {
    let zero = match value {
        OwnedDatum::Date(v) => *v == value::Date::ZERO,
        OwnedDatum::DateTime(v) => *v == value::DateTime::ZERO.with_fsp(v.fsp()),
        OwnedDatum::Timestamp(micros, _) => *micros == 0,
        _ => false,
    };
    if !zero || !env.strict() || env.sql_mode() & mode::NO_ZERO_DATE == 0 {
        return Ok(());
    }
    let kind = if column.ty.kind == Kind::Date { "date" } else { "datetime" };
    let shown = match column.ty.kind {
        Kind::Date => value::Date::ZERO.to_string(),
        _ => value::DateTime::ZERO.with_fsp(column.ty.decimals.min(6)).to_string(),
    };
    Err(RowError::NoDate(kind, &shown, &column.name, 1).into())
}

/// CURRENT_TIMESTAMP(`fsp`) for a column.
pub fn now(ty: &ColumnType, fsp: u8, env: &dyn Environment) -> OwnedDatum {
    let unit = 10i64.pow(u32::from(value::time::FSP_MAX.saturating_sub(fsp)));
    let micros = env.now_us() / unit * unit;
    match ty.kind {
        value::Kind::Timestamp => OwnedDatum::Timestamp(micros, ty.decimals),
        _ => {
            let local = env.convert_mode().time_zone.to_local(micros, ty.decimals);
            OwnedDatum::DateTime(local.unwrap_or(value::DateTime::ZERO))
        }
    }
}

/// Zero, the empty string, the first member.
pub fn implicit_default(ty: &ColumnType) -> OwnedDatum {
    let mut scratch = Vec::new();
    OwnedDatum::of(&value::coerce::implicit_default(ty, &mut scratch))
}

/// Converts a value for a column of a table; `row` (from 1) is named in messages. `from`: the value's type, where
/// it is known: text of another character set needs it.
///
/// # Errors
/// 1264, 1292, 1366, 1406 and their kin in strict mode; otherwise they become warnings.
pub fn convert(
    (value, from): (&Datum<'_>, Option<&ColumnType>),
    table: &str,
    column: &ColumnDef,
    row: u64,
    env: &mut dyn Environment,
) -> Result<OwnedDatum, SqlError> {
    if let Some(held) = value::held_int(value, &column.ty) {
        return Ok(held);
    }
    let mut scratch = Vec::new();
    warn_of_delimiter(value, &column.ty, row, env);
    let coerced = value::coerce(*value, from, &column.ty, &env.convert_mode(), &mut scratch);
    match coerced {
        Ok(coerced) => {
            if let Some(warning) = &coerced.warning {
                warn(warning, &column.name, row, env);
            }
            Ok(OwnedDatum::of(&coerced.value))
        }
        Err(error) => Err(expr::convert_error(&error, (table, &column.name), row)),
    }
}

/// Converts a DEFAULT, a value of a type, as in strict mode.
///
/// # Errors
/// The number and text of what is wrong, if it has one besides "invalid default".
pub fn convert_strictly(
    (value, from): (&Datum<'_>, &ColumnType),
    column: &str,
    ty: &ColumnType,
    env: &mut dyn Environment,
) -> Result<OwnedDatum, Option<(u16, String)>> {
    let mut scratch = Vec::new();
    warn_of_delimiter(value, ty, 1, env);
    let mode = value::ConvertMode { strict: true, ..env.convert_mode() };
    match value::coerce(*value, Some(from), ty, &mode, &mut scratch) {
        Ok(coerced) => {
            if let Some(warning) = &coerced.warning {
                warn(warning, column, 1, env);
            }
            Ok(OwnedDatum::of(&coerced.value))
        }
        // MySQL says no more about members and strings.
        Err(ConvertError::Truncated) if ty.kind.has_members() => Err(None),
        Err(error) => {
            let (number, _, text) = error.parts("", column, 1);
            Err(Some((number, text)))
        }
    }
}

/// Converts a DEFAULT as without strict mode: what does not fit is warned of and refused, but for dates with zeros
/// that the mode does not like.
///
/// # Errors
/// The value is none of the column's.
pub fn convert_leniently(
    (value, from): (&Datum<'_>, &ColumnType),
    column: &str,
    ty: &ColumnType,
    env: &mut dyn Environment,
) -> Option<OwnedDatum> {
    let mut scratch = Vec::new();
    warn_of_delimiter(value, ty, 1, env);
    let mode = env.convert_mode();
    let coerced = value::coerce(*value, Some(from), ty, &mode, &mut scratch).ok()?;
    let stored = OwnedDatum::of(&coerced.value);
    let Some(warning) = coerced.warning else { return Some(stored) };
    if ty.kind.has_members() {
        return None;
    }
    let dates =
        value::time::DateRules { no_zero_date: false, no_zero_in_date: false, ..mode.dates };
    let plain = value::ConvertMode { dates, ..mode };
    let is_date = value::coerce(*value, Some(from), ty, &plain, &mut scratch)
        .is_ok_and(|c| c.warning.is_none());
    warn(&warning, column, 1, env);
    (is_date || matches!(warning, Warning::Truncated { note: true })).then_some(stored)
}

/// Warnings 4095 and 4096 about a text that becomes a date or time.
fn warn_of_delimiter(value: &Datum<'_>, ty: &ColumnType, row: u64, env: &mut dyn Environment) {
    if let Datum::Bytes(text) = value
        && (ty.kind.has_date() || ty.kind == Kind::Time && text.len() >= 12)
        && let Some((number, text)) = value::time::parse::delimiter_warning(text, row)
    {
        env.warn(WarningLevel::Warning, number, text);
    }
}

fn warn(warning: &Warning, column: &str, row: u64, env: &mut dyn Environment) {
    let (level, error) = match warning {
        Warning::TooLong if env.sql_mode() & mode::STRICT != 0 => {
            (WarningLevel::Warning, ConvertError::TooLong)
        }
        Warning::OutOfRange | Warning::TooLong => (WarningLevel::Warning, ConvertError::OutOfRange),
        Warning::Truncated { note: true } => (WarningLevel::Note, ConvertError::Truncated),
        Warning::Truncated { note: false } => (WarningLevel::Warning, ConvertError::Truncated),
        Warning::Incorrect { wanted, value } => {
            let value = value.clone();
            (WarningLevel::Warning, ConvertError::Incorrect { wanted, value })
        }
        Warning::IncorrectTime { wanted, value } => {
            let value = value.clone();
            (WarningLevel::Note, ConvertError::IncorrectTime { wanted, value })
        }
        Warning::BadUtf8 { value } => {
            (WarningLevel::Warning, ConvertError::BadUtf8 { value: value.clone() })
        }
        Warning::NullInNotNull => (WarningLevel::Warning, ConvertError::NullInNotNull),
    };
    let (number, _, text) = error.parts("", column, row);
    env.warn(level, number, text);
}
