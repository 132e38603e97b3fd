//! Rows in the forms that the protocol has: as text, and binary ones.

use value::{ColumnType, Datum, Kind, RowError, RowLayout};
use wire::Outbox;
use wire::constants::ColumnCode;
use wire::row::{BinaryRow, TextRow};

/// Columns of a stored row.
pub(super) type Stored<'r> = (&'r RowLayout, &'r [usize], &'r [u8]);

#[inline]
pub(super) fn text_row(out: &mut Outbox, values: &[Datum<'_>]) {
    let mut row = TextRow::begin(out);
    values.iter().for_each(|value| text_value(&mut row, value));
    row.end();
}

/// As [`text_row`]; an error leaves the packet open.
#[inline]
pub(super) fn stored_text_row(
    out: &mut Outbox,
    (layout, columns, stored): Stored<'_>,
) -> Result<(), RowError> {
    let mut row = TextRow::begin(out);
    for column in columns {
        match layout.text(stored, *column) {
            Some(text) => row.bytes(text),
            None => text_value(&mut row, &layout.decode(stored, *column)?),
        }
    }
    row.end();
    Ok(())
}

#[inline]
fn text_value(row: &mut TextRow<'_>, value: &Datum<'_>) {
    match value {
        Datum::Null => row.null(),
        Datum::Bytes(b) => row.bytes(b),
        Datum::Int(n) => row.int(*n),
        Datum::UInt(n) => row.uint(*n),
        other => text_of_other(row, other),
    }
}

/// Whether the text of a number depends on its type: FLOAT, digits behind the point that are fixed,
/// ZEROFILL.
pub(super) fn is_formatted(ty: &ColumnType) -> bool {
    ty.zerofill
        || ty.kind == Kind::Float
        || ty.kind == Kind::Double && ty.decimals < value::types::NOT_FIXED
}

/// Whether a value may have fewer digits behind its seconds than its type: one of several arguments of a
/// function.
pub(super) fn is_padded(ty: &ColumnType) -> bool {
    matches!(ty.kind, Kind::Time | Kind::DateTime | Kind::Timestamp) && ty.decimals > 0
}

#[cold]
fn text_of_other(row: &mut TextRow<'_>, v: &Datum<'_>) {
    let mut text = Vec::new();
    match v {
        // Only columns have its zeros, which are formatted.
        Datum::Year(year) => value::format::append_text(&Datum::Int((*year).into()), &mut text),
        _ => value::format::append_text(v, &mut text),
    }
    row.bytes(&text);
}

#[inline(always)]
pub(super) fn binary_row(out: &mut Outbox, codes: &[ColumnCode], values: &[Datum<'_>]) {
    let mut row = BinaryRow::begin(out, values.len());
    values.iter().zip(codes).for_each(|(value, code)| binary_value(&mut row, value, *code));
    row.end();
}

/// As [`binary_row`]; an error leaves the packet open.
#[inline]
pub(super) fn stored_binary_row(
    out: &mut Outbox,
    codes: &[ColumnCode],
    (layout, columns, stored): Stored<'_>,
) -> Result<(), RowError> {
    let mut row = BinaryRow::begin(out, columns.len());
    for (column, code) in columns.iter().zip(codes) {
        if is_integer(*code) {
            if let Some(n) = layout.int(stored, *column) {
                row.int(n, *code);
                continue;
            }
        } else if !has_own_form(*code)
            && let Some(text) = layout.text(stored, *column)
        {
            row.bytes(text);
            continue;
        }
        binary_value(&mut row, &layout.decode(stored, *column)?, *code);
    }
    row.end();
    Ok(())
}

#[inline]
fn binary_value(row: &mut BinaryRow<'_>, value: &Datum<'_>, code: ColumnCode) {
    match value {
        Datum::Null => row.null(),
        Datum::Bytes(b) if !has_own_form(code) => row.bytes(b),
        Datum::Int(n) if is_integer(code) => row.int(*n, code),
        Datum::UInt(n) if is_integer(code) => row.int(*n as i64, code),
        other => convert(row, other, code),
    }
}

/// A value that is neither an integer nor a string, or of another type than its column was announced
/// with.
#[cold]
fn convert(row: &mut BinaryRow<'_>, v: &Datum<'_>, code: ColumnCode) {
    match (code, *v) {
        (ColumnCode::Double, _) => row.double(value::compare::to_double(v)),
        (ColumnCode::Float, _) => row.float(value::compare::to_double(v) as f32),
        (ColumnCode::Year, Datum::Year(year)) => row.int(i64::from(year), code),
        (ColumnCode::Date | ColumnCode::DateTime | ColumnCode::Timestamp, _) => {
            row.date_time(moment(v));
        }
        (ColumnCode::Time, _) => row.time(span(v)),
        _ if is_integer(code) || code == ColumnCode::Year => {
            let text = value::format::to_text(v);
            let n = text.parse::<i64>().or_else(|_| text.parse::<u64>().map(|n| n as i64));
            row.int(n.unwrap_or(0), code);
        }
        _ => {
            let mut text = Vec::new();
            value::format::append_text(v, &mut text);
            row.bytes(&text);
        }
    }
}

/// A value of a column announced as a date, in the parts that the binary protocol sends.
fn moment(v: &Datum<'_>) -> wire::prepared::DateTime {
    let rules = value::time::DateRules { allow_invalid: true, ..Default::default() };
    let moment = match *v {
        Datum::Date(v) => v.midnight(),
        Datum::DateTime(v) => v,
        Datum::Bytes(s) => {
            value::time::parse::date_time(s, rules).map_or(value::DateTime::ZERO, |t| t.value)
        }
        _ => value::DateTime::ZERO,
    };
    let date = moment.date();
    wire::prepared::DateTime {
        year: date.year(),
        month: date.month(),
        day: date.day(),
        hour: moment.hour(),
        minute: moment.minute(),
        second: moment.second(),
        micros: moment.micros(),
        date_only: matches!(v, Datum::Date(_)),
    }
}

/// A value of a column announced as a time, in the parts that the binary protocol sends.
fn span(v: &Datum<'_>) -> wire::prepared::Time {
    let span = match *v {
        Datum::Time(v) => v,
        Datum::DateTime(v) => v.time(),
        Datum::Bytes(s) => value::time::parse::time(s).map_or(value::Time::ZERO, |t| t.value),
        _ => value::Time::ZERO,
    };
    wire::prepared::Time {
        negative: span.is_negative(),
        days: span.hours() / 24,
        hour: (span.hours() % 24) as u8,
        minute: span.minute(),
        second: span.second(),
        micros: span.fraction(),
    }
}

const fn is_integer(code: ColumnCode) -> bool {
    matches!(
        code,
        ColumnCode::Tiny
            | ColumnCode::Short
            | ColumnCode::Int24
            | ColumnCode::Long
            | ColumnCode::LongLong
    )
}

/// Whether the binary protocol has a form of its own for the type, not a string's.
const fn has_own_form(code: ColumnCode) -> bool {
    is_integer(code)
        || matches!(
            code,
            ColumnCode::Double
                | ColumnCode::Float
                | ColumnCode::Year
                | ColumnCode::Date
                | ColumnCode::Time
                | ColumnCode::DateTime
                | ColumnCode::Timestamp
        )
}
