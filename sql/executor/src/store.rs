//! Storing values into rows: defaults, conversion with its errors and warnings, duplicate keys.

use crate::{Context, Environment, SqlError, WarningLevel};
use catalog::{ColumnDef, DefaultValue, TableRef};
use expr::OwnedDatum;
use value::{ColumnType, ConvertError, Datum, KeyPart, RowLayout, Warning};

/// The default of a column, or error 1364 (strict) when it has none.
pub fn default_of(column: &ColumnDef, env: &mut dyn Environment) -> Result<OwnedDatum, SqlError> {
    Ok(match &column.default {
        DefaultValue::Null => OwnedDatum::Null,
        DefaultValue::Int(v) => integer(*v),
        DefaultValue::Bytes(bytes) => OwnedDatum::Bytes(bytes.clone()),
        DefaultValue::Now(_) | DefaultValue::Expr(_) => {
            return Err(SqlError::unsupported("DEFAULT expression"));
        }
        DefaultValue::None if column.ty.nullable => OwnedDatum::Null,
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

fn integer(v: i128) -> OwnedDatum {
    match (i64::try_from(v), u64::try_from(v)) {
        (Ok(v), _) => OwnedDatum::Int(v),
        (_, Ok(v)) => OwnedDatum::UInt(v),
        _ => OwnedDatum::Null,
    }
}

/// Zero or the empty string.
pub fn implicit_default(ty: &ColumnType) -> OwnedDatum {
    if ty.kind.is_string() { OwnedDatum::Bytes(Vec::new()) } else { OwnedDatum::Int(0) }
}

/// Converts a value for a column; `row` (from 1) is named in messages.
///
/// # Errors
/// 1264, 1406, 1366 and 1048 in strict mode; otherwise they become warnings.
pub fn convert(
    value: &Datum<'_>,
    column: &ColumnDef,
    row: u64,
    env: &mut dyn Environment,
) -> Result<OwnedDatum, SqlError> {
    let mut scratch = Vec::new();
    let zone = value::TimeZone::utc();
    let mode = value::ConvertMode::new(env.strict(), &zone);
    match value::coerce(*value, None, &column.ty, &mode, &mut scratch) {
        Ok(coerced) => {
            if let Some(warning) = &coerced.warning {
                warn(warning, &column.name, row, env);
            }
            Ok(OwnedDatum::of(&coerced.value))
        }
        Err(error) => Err(conversion_error(&error, &column.name, row)),
    }
}

fn conversion_error(error: &ConvertError, column: &str, row: u64) -> SqlError {
    match error {
        ConvertError::OutOfRange => SqlError::Other(
            1264,
            "22003",
            format!("Out of range value for column '{column}' at row {row}"),
        ),
        ConvertError::TooLong => SqlError::Other(
            1406,
            "22001",
            format!("Data too long for column '{column}' at row {row}"),
        ),
        ConvertError::Incorrect { wanted, value } => SqlError::Other(
            1366,
            "HY000",
            format!("Incorrect {wanted} value: '{value}' for column '{column}' at row {row}"),
        ),
        ConvertError::BadUtf8 { value } => SqlError::Other(
            1366,
            "HY000",
            format!("Incorrect string value: '{value}' for column '{column}' at row {row}"),
        ),
        ConvertError::Truncated => SqlError::Other(
            1265,
            "01000",
            format!("Data truncated for column '{column}' at row {row}"),
        ),
        ConvertError::NullInNotNull => {
            SqlError::Other(1048, "23000", format!("Column '{column}' cannot be null"))
        }
    }
}

fn warn(warning: &Warning, column: &str, row: u64, env: &mut dyn Environment) {
    let (level, number, text) = match warning {
        Warning::OutOfRange => (
            WarningLevel::Warning,
            1264,
            format!("Out of range value for column '{column}' at row {row}"),
        ),
        Warning::Truncated { note } => {
            let level = if *note { WarningLevel::Note } else { WarningLevel::Warning };
            (level, 1265, format!("Data truncated for column '{column}' at row {row}"))
        }
        Warning::Incorrect { wanted, value } => (
            WarningLevel::Warning,
            1366,
            format!("Incorrect {wanted} value: '{value}' for column '{column}' at row {row}"),
        ),
        Warning::BadUtf8 { value } => (
            WarningLevel::Warning,
            1366,
            format!("Incorrect string value: '{value}' for column '{column}' at row {row}"),
        ),
        Warning::NullInNotNull => {
            (WarningLevel::Warning, 1048, format!("Column '{column}' cannot be null"))
        }
    };
    env.warn(level, number, text);
}

/// Encodes a complete row.
pub fn encode(
    layout: &RowLayout,
    values: &[OwnedDatum],
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let datums: Vec<_> = values.iter().map(OwnedDatum::datum).collect();
    out.clear();
    layout.encode(&datums, out).map_err(|error| {
        let bytes = values.iter().map(|v| v.datum().as_bytes().map_or(8, <[u8]>::len)).sum();
        match error.what {
            _ if bytes > value::row::ROW_BYTES_MAX => SqlError::Storage(base::Error::RowTooLarge {
                bytes,
                limit: value::row::ROW_BYTES_MAX,
            }),
            _ => expr::damaged(error),
        }
    })
}

/// Gives a duplicate key its MySQL message, which quotes the new row's key values.
pub fn explain_duplicate(
    error: base::Error,
    context: &Context<'_>,
    table: TableRef,
    values: &[OwnedDatum],
) -> SqlError {
    let base::Error::Duplicate { index, .. } = &error else {
        return SqlError::Storage(error);
    };
    let def = context.tables.def(table);
    match def.indexes.iter().find(|i| i.id == *index) {
        Some(found) => SqlError::DuplicateEntry {
            value: key_text(&def.columns, &found.parts, |c| Some(values[c].datum())),
            key: format!("{}.{}", def.name, found.name),
        },
        None => SqlError::Storage(error),
    }
}

/// A key's values as MySQL quotes them: joined by `-`, a prefix part by its prefix.
pub fn key_text<'r>(
    columns: &[ColumnDef],
    parts: &[KeyPart],
    value: impl Fn(usize) -> Option<Datum<'r>>,
) -> String {
    let parts = parts.iter().map(|part| {
        let value = value(part.column).unwrap_or_default();
        let ty = &columns[part.column].ty;
        let whole = if value.is_null() { b"NULL".to_vec() } else { expr::text(&value) };
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
