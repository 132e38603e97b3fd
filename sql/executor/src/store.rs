//! Storing values into rows: defaults, conversion with its errors and warnings, duplicate keys.

use crate::{Context, Environment, SqlError, WarningLevel};
use catalog::{ColumnDef, DefaultValue, TableRef};
use expr::OwnedDatum;
use expr::functions::moments::mode;
use planner::plan::RowCheck;
use value::{ColumnType, ConvertError, Datum, KeyPart, Kind, RowLayout, Warning};

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
        // `computed` fills it in.
        DefaultValue::Expr(_) => OwnedDatum::Null,
        DefaultValue::None if column.generated.is_some() => OwnedDatum::Null,
        // An ENUM always has one: its first member.
        DefaultValue::None if column.ty.kind == Kind::Enum => implicit_default(&column.ty),
        DefaultValue::None => {
            let text = format!("Field '{}' doesn't have a default value", column.name);
            if env.strict() {
                return Err(SqlError::Other(1364, "HY000", text));
            }
            env.warn(WarningLevel::Warning, 1364, text);
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
    let text = format!("Incorrect {kind} value: '{shown}' for column '{}' at row 1", column.name);
    Err(SqlError::Other(1292, "22007", text))
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
        Err(error) => {
            let (number, state, text) = error.parts(table, &column.name, row);
            Err(SqlError::Other(number, state, text))
        }
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

/// Encodes a complete row.
pub fn encode(
    layout: &RowLayout,
    values: &[OwnedDatum],
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let datums: Vec<_> = values.iter().map(OwnedDatum::datum).collect();
    encode_datums(layout, &datums, out)
}

/// Encodes a row with the values of another one but for the `assigned` columns; the last value of a column counts.
pub fn encode_with(
    layout: &RowLayout,
    row: &[u8],
    assigned: &[(usize, OwnedDatum)],
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let mut datums = Vec::with_capacity(layout.columns());
    for column in 0..layout.columns() {
        let given = assigned.iter().rfind(|(c, _)| *c == column);
        datums.push(match given {
            Some((_, value)) => value.datum(),
            None => layout.decode(row, column).map_err(expr::damaged)?,
        });
    }
    encode_datums(layout, &datums, out)
}

/// As [`encode`], of borrowed values.
pub fn encode_datums(
    layout: &RowLayout,
    values: &[Datum<'_>],
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    out.clear();
    layout.encode(values, out).map_err(|error| {
        let bytes = values.iter().map(|v| v.as_bytes().map_or(8, <[u8]>::len)).sum();
        match error.what {
            _ if bytes > value::row::ROW_BYTES_MAX => SqlError::Storage(base::Error::RowTooLarge {
                bytes,
                limit: value::row::ROW_BYTES_MAX,
            }),
            _ => expr::damaged(error),
        }
    })
}

/// Gives a duplicate key its MySQL message, which quotes the new row's key values; other errors stay.
pub fn explain_duplicate(
    error: SqlError,
    context: &Context<'_>,
    table: TableRef,
    values: &[OwnedDatum],
) -> SqlError {
    let SqlError::Storage(base::Error::Duplicate { index, .. }) = &error else {
        return error;
    };
    let def = context.tables.def(table);
    match def.indexes.iter().find(|i| i.id == *index) {
        Some(found) => duplicate_entry(def, found, values, context.env.convert_mode().time_zone),
        None => error,
    }
}

/// Whether the error concerns a row alone: with IGNORE it is a warning.
pub fn forgivable(number: u16) -> bool {
    matches!(number, 1048 | 1062 | 1264 | 1292 | 1364 | 1366 | 1369 | 1406 | 1451 | 1452 | 3819)
}

/// 1369 for a row that does not satisfy a view's check option.
///
/// # Errors
/// 1369, those of evaluation.
pub fn check_row(
    check: Option<&RowCheck>,
    layout: &RowLayout,
    row: &[u8],
    env: &mut dyn Environment,
) -> Result<(), SqlError> {
    let Some(check) = check else { return Ok(()) };
    match expr::condition(&check.condition, &expr::Row::one(layout, row, &[]), env)? {
        Some(true) => Ok(()),
        _ => {
            let text = format!("CHECK OPTION failed '{}'", check.view);
            Err(SqlError::Other(1369, "HY000", text))
        }
    }
}

/// 1062 of a row of this definition.
pub fn duplicate_entry(
    def: &catalog::TableDef,
    index: &catalog::IndexDef,
    values: &[OwnedDatum],
    zone: &value::TimeZone,
) -> SqlError {
    SqlError::DuplicateEntry {
        value: key_text(&def.columns, &index.parts, zone, |c| Some(values[c].datum())),
        key: format!("{}.{}", def.name, index.name),
    }
}

/// A key's values as MySQL quotes them: joined by `-`, a prefix part by its prefix, a moment as
/// the local time of the session's zone.
pub fn key_text<'r>(
    columns: &[ColumnDef],
    parts: &[KeyPart],
    zone: &value::TimeZone,
    value: impl Fn(usize) -> Option<Datum<'r>>,
) -> String {
    let parts = parts.iter().map(|part| {
        let value = value(part.column).unwrap_or_default();
        let ty = &columns[part.column].ty;
        let whole = match value {
            Datum::Null => b"NULL".to_vec(),
            Datum::Timestamp(micros, fsp) => expr::text(&Datum::DateTime(zone.shown(micros, fsp))),
            other => expr::text(&other),
        };
        let text = match part.prefix_chars {
            Some(chars) if !value.is_null() => ty.collation.prefix(&whole, chars as usize),
            _ => &whole,
        };
        if !ty.kind.is_binary_string() {
            return String::from_utf8_lossy(text).into_owned();
        }
        let shown = text.iter().map(|b| match b.is_ascii_graphic() {
            true => (*b as char).to_string(),
            false => format!("\\x{b:02X}"),
        });
        shown.collect()
    });
    let joined = parts.collect::<Vec<_>>().join("-");
    // MySQL cuts the quoted key at 64 characters.
    joined.chars().take(64).collect()
}
