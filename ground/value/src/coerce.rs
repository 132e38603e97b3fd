//! Storing a value into a column: conversion, range and length checks as MySQL does them.
//!
//! Invariants
//! 1. What comes out fits the column: [`crate::RowLayout::encode`] takes it.
//! 2. Strict: a value that would have to change is an error, but for trailing spaces (a note for VARCHAR,
//!    nothing for CHAR). Not strict: it is changed, with a warning, and never an error.
//!    (NULL into NOT NULL: a single-row INSERT fails in both modes; the executor passes `strict` then.)
//! 3. Integers into integer columns in range, and strings that fit, touch no buffer.

mod json;
mod members;
mod numbers;
mod temporal;

use crate::collation::utf8;
use crate::compare::Exact;
use crate::number::{self, Rest};
use crate::row::strip_spaces;
use crate::time::DateRules;
use crate::{
    Charset, ColumnType, Date, DateTime, Datum, Decimal, Kind, OwnedDatum, Time, TimeZone, charset,
};

/// Why a value cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConvertError {
    /// 1264: the number is outside the column's range.
    OutOfRange,
    /// 1406: the string is longer than the column.
    TooLong,
    /// 1265 (`Data truncated`): a number followed by something else.
    Truncated,
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
    /// 1292: text or a number that is no date or time, or one that the mode refuses.
    IncorrectTime {
        /// What MySQL calls the wanted type: `date`, `datetime`, `time`.
        wanted: &'static str,
        /// The offending text.
        value: String,
    },
    /// 3140: text that is no JSON.
    InvalidJson {
        /// What is wrong, in MySQL's words.
        what: String,
        /// The byte where it is.
        at: usize,
    },
    /// 3144: a JSON value cannot be made of a binary string.
    JsonOfBinary,
    /// 3151: a key of an object is longer than 65,535 bytes.
    JsonKeyTooLong,
    /// 1048: NULL for a NOT NULL column.
    NullInNotNull,
}

impl ConvertError {
    /// MySQL's number, SQLSTATE and text, where `row` (from 1) of a statement does not fit `column` of `table`.
    #[must_use]
    pub fn parts(&self, table: &str, column: &str, row: u64) -> (u16, &'static str, String) {
        let at = format!("for column '{column}' at row {row}");
        match self {
            ConvertError::OutOfRange => (1264, "22003", format!("Out of range value {at}")),
            ConvertError::TooLong => (1406, "22001", format!("Data too long {at}")),
            ConvertError::Incorrect { wanted, value } => {
                (1366, "HY000", format!("Incorrect {wanted} value: '{value}' {at}"))
            }
            ConvertError::IncorrectTime { wanted, value } => {
                (1292, "22007", format!("Incorrect {wanted} value: '{value}' {at}"))
            }
            ConvertError::BadUtf8 { value } => {
                (1366, "HY000", format!("Incorrect string value: '{value}' {at}"))
            }
            ConvertError::Truncated => (1265, "01000", format!("Data truncated {at}")),
            ConvertError::InvalidJson { what, .. } if what.is_empty() => {
                (3157, "22032", "The JSON document exceeds the maximum depth.".into())
            }
            ConvertError::InvalidJson { what, at } => {
                let text = format!(
                    "Invalid JSON text: \"{what}\" at position {at} in value for column \
                     '{table}.{column}'."
                );
                (3140, "22032", text)
            }
            ConvertError::JsonOfBinary => {
                let text = "Cannot create a JSON value from a string with CHARACTER SET 'binary'.";
                (3144, "22032", text.into())
            }
            ConvertError::JsonKeyTooLong => {
                (3151, "22032", "The JSON object contains a key name that is too long.".into())
            }
            ConvertError::NullInNotNull => {
                (1048, "23000", format!("Column '{column}' cannot be null"))
            }
        }
    }
}

/// What happened to a value that was stored all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// 1264, not strict: the nearest value was stored.
    OutOfRange,
    /// Not strict: all bits are set in a BIT column that is too short. 1406 under IGNORE, else 1264.
    TooLong,
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
    /// 1366 for a string, not strict: cut before the first bad byte, or `?` for what the character set lacks.
    BadUtf8 {
        /// The bad bytes.
        value: String,
    },
    /// 1292, a note of strict mode: a part of the value (the time of day of a DATE) was lost.
    IncorrectTime {
        /// What MySQL calls the wanted type.
        wanted: &'static str,
        /// The offending text.
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

/// What of the session counts when a value is stored.
#[derive(Clone, Copy, Debug)]
pub struct ConvertMode<'m> {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES, without IGNORE: what does not fit is an error.
    pub strict: bool,
    /// NO_ZERO_DATE, NO_ZERO_IN_DATE, ALLOW_INVALID_DATES.
    pub dates: DateRules,
    /// TIME_TRUNCATE_FRACTIONAL: digits of a second's fraction are cut off, not rounded.
    pub truncate_fraction: bool,
    /// The session's time zone, for TIMESTAMP.
    pub time_zone: &'m TimeZone,
    /// The statement's clock, in microseconds since 1970: the date for TIME to DATETIME.
    pub now_us: i64,
}

impl<'m> ConvertMode<'m> {
    /// The default SQL mode's rules, or those of an empty one.
    #[must_use]
    pub fn new(strict: bool, time_zone: &'m TimeZone) -> ConvertMode<'m> {
        let dates =
            DateRules { no_zero_date: strict, no_zero_in_date: strict, allow_invalid: false };
        ConvertMode { strict, dates, truncate_fraction: false, time_zone, now_us: 0 }
    }

    /// The session's current date.
    #[must_use]
    pub fn today(&self) -> Date {
        self.time_zone.to_local(self.now_us, 0).unwrap_or(DateTime::ZERO).date()
    }
}

impl<'a> Coerced<'a> {
    fn plain(value: Datum<'a>) -> Self {
        Self { value, warning: None }
    }
}

/// What [`coerce`] makes of an integer that is in the range of an integer column, whatever the mode.
#[inline]
#[must_use]
pub fn held_int(d: &Datum<'_>, ty: &ColumnType) -> Option<OwnedDatum> {
    let (Datum::Int(_) | Datum::UInt(_)) = d else { return None };
    let bits = crate::row::int_bits(ty, d)?;
    Some(if ty.unsigned { OwnedDatum::UInt(bits) } else { OwnedDatum::Int(bits as i64) })
}

/// Converts `d` for storage in a column of type `ty`. `scratch` is overwritten when the value needs
/// bytes of its own (a number stored as text, a padded BINARY); it is cleared first.
///
/// # Errors
/// Strict: every value that does not fit. Not strict: never.
pub fn coerce<'a>(
    d: Datum<'a>,
    from: Option<&ColumnType>,
    ty: &ColumnType,
    mode: &ConvertMode<'_>,
    scratch: &'a mut Vec<u8>,
) -> Result<Coerced<'a>, ConvertError> {
    let strict = mode.strict;
    if d.is_null() {
        return store_null(ty, strict, scratch);
    }
    let d = match d {
        // Everything but another TIMESTAMP takes what it shows.
        Datum::Timestamp(micros, fsp) if ty.kind != Kind::Timestamp => {
            Datum::DateTime(mode.time_zone.shown(micros, fsp))
        }
        d => d,
    };
    match ty.kind {
        kind if kind.is_int() => store_int(whole(d, mode), ty, strict),
        kind if kind.is_string() => match d {
            Datum::Bytes(s) => store_string(s, from, ty, strict, scratch),
            other => {
                let mut text = std::mem::take(scratch);
                text.clear();
                match other {
                    // A FLOAT shows the digits of the double that it is, but in TEXT and BLOB.
                    Datum::Double(v)
                        if from.is_none_or(is_free_double)
                            || !ty.kind.is_large()
                                && from.is_some_and(|t| t.kind == Kind::Float) =>
                    {
                        let fits =
                            crate::format::append_double_within(v, double_width(ty), &mut text);
                        // All of its digits, which are too many.
                        if !fits && strict {
                            text.clear();
                            crate::format::append_double(v, &mut text);
                        }
                    }
                    Datum::Double(v) if from.is_some_and(is_free_float) => {
                        crate::format::append_float_text(v as f32, &mut text);
                    }
                    _ => crate::format::append_typed(&other, from, &mut text),
                }
                *scratch = text;
                store_plain_text(ty, strict, scratch)
            }
        },
        _ => store_other(d, from, ty, mode, scratch),
    }
}

/// A date or time without the fraction of its second: 10:59:59.5 becomes 11:00:00, then a number. What would leave the
/// calendar stays as it is.
fn whole<'d>(d: Datum<'d>, mode: &ConvertMode<'_>) -> Datum<'d> {
    match d {
        Datum::Time(v) if mode.truncate_fraction => Datum::Time(v.truncate(0)),
        Datum::Time(v) => Datum::Time(v.round(0)),
        Datum::DateTime(v) if mode.truncate_fraction => Datum::DateTime(v.truncate(0)),
        Datum::DateTime(v) => Datum::DateTime(v.round(0).unwrap_or(v.truncate(0))),
        d => d,
    }
}

/// A DOUBLE whose digits behind the point are not fixed.
fn is_free_double(ty: &ColumnType) -> bool {
    ty.kind == Kind::Double && ty.decimals >= crate::types::NOT_FIXED
}

fn is_free_float(ty: &ColumnType) -> bool {
    ty.kind == Kind::Float && ty.decimals >= crate::types::NOT_FIXED
}

/// Characters that a double is written in when it is stored as text.
fn double_width(ty: &ColumnType) -> usize {
    if ty.kind.is_large() { crate::format::DOUBLE_CHARS_MAX } else { ty.length as usize }
}

/// The kinds that are neither integers nor strings.
fn store_other<'a>(
    d: Datum<'a>,
    from: Option<&ColumnType>,
    ty: &ColumnType,
    mode: &ConvertMode<'_>,
    scratch: &'a mut Vec<u8>,
) -> Result<Coerced<'a>, ConvertError> {
    let strict = mode.strict;
    match ty.kind {
        Kind::Float | Kind::Double => numbers::store_float(d, ty, strict),
        Kind::Decimal => numbers::store_decimal(d, ty, strict),
        Kind::Bit => numbers::store_bit(whole(d, mode), ty, strict),
        Kind::Year => numbers::store_year(d, mode),
        Kind::Enum => members::store_enum(d, from, ty, strict),
        Kind::Set => members::store_set(d, from, ty, strict),
        Kind::Json => json::store(d, from, scratch),
        _ => temporal::store(d, ty, mode),
    }
}

/// What a problem with a value comes to: an error when strict, else the value that takes its place
/// and a warning.
fn settle<'a>(
    strict: bool,
    error: ConvertError,
    value: Datum<'a>,
    warning: Warning,
) -> Result<Coerced<'a>, ConvertError> {
    if strict { Err(error) } else { Ok(Coerced { value, warning: Some(warning) }) }
}

fn store_null<'a>(
    ty: &ColumnType,
    strict: bool,
    scratch: &'a mut Vec<u8>,
) -> Result<Coerced<'a>, ConvertError> {
    if ty.nullable {
        return Ok(Coerced::plain(Datum::Null));
    }
    if strict {
        return Err(ConvertError::NullInNotNull);
    }
    let value = implicit_default(ty, scratch);
    Ok(Coerced { value, warning: Some(Warning::NullInNotNull) })
}

/// The value a NOT NULL column without DEFAULT gets when none is given: zero or the empty string.
pub fn implicit_default<'a>(ty: &ColumnType, scratch: &'a mut Vec<u8>) -> Datum<'a> {
    match ty.kind {
        Kind::Double | Kind::Float => Datum::Double(0.0),
        Kind::Decimal => {
            Datum::Decimal(Decimal::ZERO.round(i32::from(ty.decimals)).unwrap_or(Decimal::ZERO))
        }
        Kind::Bit => Datum::Bits(0, ty.length as u8),
        Kind::Year => Datum::Year(0),
        Kind::Date => Datum::Date(Date::ZERO),
        Kind::Time => Datum::Time(Time::ZERO.truncate(ty.decimals)),
        Kind::DateTime => Datum::DateTime(DateTime::ZERO.with_fsp(ty.decimals)),
        Kind::Timestamp => Datum::Timestamp(0, ty.decimals),
        // The first member, not the empty one.
        Kind::Enum => ty.members.map_or(Datum::Null, |m| Datum::Enum(m, 1)),
        Kind::Set => ty.members.map_or(Datum::Null, |m| Datum::Set(m, 0)),
        Kind::Json => {
            scratch.clear();
            crate::json::append_null(scratch);
            Datum::Json(scratch)
        }
        Kind::Binary => {
            scratch.clear();
            scratch.resize(ty.length as usize, 0);
            Datum::Bytes(scratch)
        }
        kind if kind.is_string() => Datum::Bytes(b""),
        _ if ty.unsigned => Datum::UInt(0),
        _ => Datum::Int(0),
    }
}

fn store_int<'a>(d: Datum<'_>, ty: &ColumnType, strict: bool) -> Result<Coerced<'a>, ConvertError> {
    let (value, rest, text): (i128, Rest, &[u8]) = match d {
        Datum::Double(v) => (double_to_int(v), Rest::Clean, b""),
        Datum::Bytes(s) => {
            let read = number::int_of_text(s);
            (read.value, read.rest, s)
        }
        _ => match crate::compare::exact(&d) {
            Some(Exact::Int(v)) => (v, Rest::Clean, &b""[..]),
            Some(Exact::Decimal(v)) => {
                let far = if v.is_negative() { -FAR } else { FAR };
                (v.round_to_i128().unwrap_or(far), Rest::Clean, b"")
            }
            None => (double_to_int(crate::compare::to_double(&d)), Rest::Clean, b""),
        },
    };
    let (low, high) = ty.int_range();
    let inside = value.clamp(low, high);
    // MySQL: an exact negative number is out of an unsigned range even when it rounds to zero.
    let negative = matches!(d, Datum::Decimal(v) if v.is_negative()) && ty.unsigned;
    let made = if ty.unsigned { Datum::UInt(inside as u64) } else { Datum::Int(inside as i64) };
    // MySQL looks at the range first, then at what stood behind the number.
    let trouble = if inside != value || negative {
        (ConvertError::OutOfRange, Warning::OutOfRange)
    } else {
        match rest {
            Rest::Clean => return Ok(Coerced::plain(made)),
            Rest::Garbage => (ConvertError::Truncated, Warning::Truncated { note: false }),
            Rest::NoNumber => {
                let (wanted, value) = ("integer", quote(text));
                let warning = Warning::Incorrect { wanted, value: value.clone() };
                (ConvertError::Incorrect { wanted, value }, warning)
            }
        }
    };
    if strict { Err(trouble.0) } else { Ok(Coerced { value: made, warning: Some(trouble.1) }) }
}

/// Outside every integer column.
const FAR: i128 = 1 << 100;

/// Rounds half to even, as C's rint; saturated far outside every column.
fn double_to_int(v: f64) -> i128 {
    v.round_ties_even().clamp(-1e30, 1e30) as i128
}

/// Text of a value that was none: of the column's characters, so only its length can be wrong.
fn store_plain_text<'a>(
    ty: &ColumnType,
    strict: bool,
    text: &'a mut Vec<u8>,
) -> Result<Coerced<'a>, ConvertError> {
    let kept = match ty.is_text() && !ty.kind.is_large() {
        true => ty.collation.prefix(text, ty.length as usize).len(),
        false => text.len().min(ty.length as usize),
    };
    let fits = text.len() == kept;
    if !fits && strict {
        return Err(ConvertError::TooLong);
    }
    text.truncate(kept);
    if ty.kind == Kind::Binary {
        text.resize(ty.length as usize, 0);
    }
    let warning = if fits { None } else { Some(Warning::Truncated { note: false }) };
    Ok(Coerced { value: Datum::Bytes(text), warning })
}

fn store_string<'a>(
    s: &'a [u8],
    from: Option<&ColumnType>,
    ty: &ColumnType,
    strict: bool,
    scratch: &'a mut Vec<u8>,
) -> Result<Coerced<'a>, ConvertError> {
    if !ty.is_text() {
        return store_binary(s, ty, strict, scratch);
    }
    let charset = ty.collation.charset();
    // Text of utf8mb3 is text of utf8mb4, but a client of utf8mb3 may send more: that is neither.
    let from = match from.map_or(charset, |f| f.collation.charset()) {
        Charset::Utf8mb3 if charset == Charset::Utf8mb4 && Charset::Utf8mb3.is_valid(s) => charset,
        from => from,
    };
    if from != charset && from != Charset::Binary && charset != Charset::Binary {
        scratch.clear();
        if !charset::convert(s, from, charset, scratch).any() {
            return store_text(scratch, ty, strict);
        }
        let value = quote_bad(&s[charset::first_lost(s, from, charset)..]);
        if strict {
            return Err(ConvertError::BadUtf8 { value });
        }
        let stored = store_text(scratch, ty, strict)?;
        return Ok(Coerced { warning: Some(Warning::BadUtf8 { value }), ..stored });
    }
    store_text(s, ty, strict)
}

/// Text in the column's character set.
fn store_text<'a>(s: &'a [u8], ty: &ColumnType, strict: bool) -> Result<Coerced<'a>, ConvertError> {
    let charset = ty.collation.charset();
    let mut warning = None;
    let valid = charset.valid_len(s);
    let mut kept = s;
    if valid < s.len() {
        let value = quote_bad(&s[valid..]);
        if strict {
            return Err(ConvertError::BadUtf8 { value });
        }
        warning = Some(Warning::BadUtf8 { value });
        kept = &s[..valid];
    }
    // A string of at most `length` bytes cannot have more characters than that.
    if kept.len() > ty.length as usize {
        let fits = match ty.kind.is_large() {
            true => whole_characters(kept, ty),
            false => charset.prefix_len(kept, ty.length as usize),
        };
        let lost = &kept[fits..];
        kept = &kept[..fits];
        if !strip_spaces(lost).is_empty() {
            if strict {
                return Err(ConvertError::TooLong);
            }
            warning = warning.or(Some(Warning::Truncated { note: false }));
        } else if !lost.is_empty() && ty.kind != Kind::Char {
            warning = warning.or(Some(Warning::Truncated { note: true }));
        }
    }
    if ty.kind == Kind::Char {
        kept = strip_spaces(kept);
    }
    Ok(Coerced { value: Datum::Bytes(kept), warning })
}

fn store_binary<'a>(
    s: &'a [u8],
    ty: &ColumnType,
    strict: bool,
    scratch: &'a mut Vec<u8>,
) -> Result<Coerced<'a>, ConvertError> {
    let length = ty.length as usize;
    if s.len() > length {
        // In binary strings spaces are bytes like others: losing one is losing data.
        if strict {
            return Err(ConvertError::TooLong);
        }
        let warning = Some(Warning::Truncated { note: false });
        return Ok(Coerced { value: Datum::Bytes(&s[..length]), warning });
    }
    if ty.kind == Kind::Binary && s.len() < length {
        scratch.clear();
        scratch.extend_from_slice(s);
        scratch.resize(length, 0);
        return Ok(Coerced::plain(Datum::Bytes(scratch)));
    }
    Ok(Coerced::plain(Datum::Bytes(s)))
}

/// Bytes of the longest part of valid text `s` that fits the column's bytes and ends between two
/// characters.
fn whole_characters(s: &[u8], ty: &ColumnType) -> usize {
    let bytes = ty.length as usize;
    if ty.collation.bytes_per_char_max() == 1 {
        return bytes.min(s.len());
    }
    let continues = |at: usize| s.get(at).is_some_and(|b| b & 0xC0 == 0x80);
    let mut end = bytes.min(s.len());
    while end > 0 && continues(end) {
        end -= 1;
    }
    end
}

/// Text for a message: at most 64 bytes, unprintable ones as `\xNN`.
fn quote(s: &[u8]) -> String {
    let shown = utf8::prefix_len(s, 64);
    let mut out = String::new();
    for chunk in s[..shown].utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_ascii_control() {
                out.push_str(&format!("\\x{:02X}", c as u32));
            } else {
                out.push(c);
            }
        }
        for b in chunk.invalid() {
            out.push_str(&format!("\\x{b:02X}"));
        }
    }
    out
}

/// Bad bytes for a message: the first six, printable ASCII as it is, `...` when there are more.
fn quote_bad(s: &[u8]) -> String {
    let mut out = String::new();
    for &b in s.iter().take(6) {
        match b {
            b' '..=b'~' => out.push(char::from(b)),
            _ => out.push_str(&format!("\\x{b:02X}")),
        }
    }
    if s.len() > 6 {
        out.push_str("...");
    }
    out
}

#[cfg(test)]
mod tests;
