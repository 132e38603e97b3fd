//! Duplicate keys as MySQL speaks of them.

use crate::{Context, SqlError};
use catalog::{ColumnDef, TableRef};
use expr::OwnedDatum;
use value::{Datum, KeyPart};

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
