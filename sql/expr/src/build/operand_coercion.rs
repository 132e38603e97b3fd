//! Operand coercion: what a value becomes beside another one that it is compared with.
//!
//! 1. Text beside a date or time is read as one, beside a number as a number; text that is none counts as zero,
//!    warned of (1292). 2. Only operators refuse a constant that is no date (1525); lists, BETWEEN and CASE
//!    warn. 3. A time beside text is text, unless it is a column and the text a constant that is a time, or
//!    both stand in a list.

use super::Builder;
use super::derive::{call, is_stringy};
use super::operators::bits_as_number;
use crate::SqlError;
use crate::functions::json::is_truth;
use crate::functions::{
    AS_DAY, AS_LISTED_MOMENT, AS_LISTED_SPAN, AS_MOMENT, AS_NUMBER, AS_NUMBER_QUIETLY, AS_SPAN,
    CAST, Function,
};
use crate::tree::{Expr, OwnedDatum, Typed};
use value::number::{Rest, double_of_text};
use value::time::parse;
use value::{Charset, Collation, ColumnType, DateTime, Kind, Time};

/// Whether constants that are no dates are refused, and those beside a column of years are tried as years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// An operator: 1525.
    Refuse,
    /// A list, BETWEEN, CASE: a warning at every use.
    Warn,
}

impl Builder {
    /// A value that is compared with one of that type, made ready for it; not for text beside text.
    pub(super) fn coerced_to(
        &self,
        value: Typed,
        other: &Typed,
        strictness: Strictness,
    ) -> Result<Typed, SqlError> {
        if value.is_null() {
            return Ok(value);
        }
        match other.ty.kind {
            kind if kind.has_date() => {
                let fixed = [&value, other].iter().any(|v| v.expr.is_row_constant());
                let day = kind == Kind::Date && strictness == Strictness::Refuse && !fixed;
                self.coerced_to_date(value, other, strictness, day)
            }
            Kind::Json => Ok(coerced_to_json(value)),
            Kind::Time if is_stringy(&value.ty) => Ok(span(value, 6)),
            kind if kind.is_number() || matches!(kind, Kind::Year | Kind::Bit) => {
                Ok(coerced_to_number(value, other, strictness))
            }
            _ => Ok(value),
        }
    }

    /// The two sides of NULLIF: unlike an operator it looks at the time of day of a text beside a date.
    pub(super) fn nullif_sides(&self, a: Typed, b: Typed) -> Result<(Typed, Typed), SqlError> {
        let text = |v: &Typed| is_stringy(&v.ty) && !v.expr.is_row_constant();
        Ok(match (a.ty.kind, b.ty.kind) {
            (Kind::Date, _) if text(&b) => (a.clone(), self.coerced_to(b, &a, Strictness::Warn)?),
            (_, Kind::Date) if text(&a) => (self.coerced_to(a, &b, Strictness::Warn)?, b),
            _ => (a, b),
        })
    }

    /// `day`: an operator compares the days of texts that are no constants.
    fn coerced_to_date(
        &self,
        value: Typed,
        date: &Typed,
        strictness: Strictness,
        day: bool,
    ) -> Result<Typed, SqlError> {
        if value.ty.kind == Kind::Time {
            let to = ColumnType { nullable: true, ..ColumnType::temporal(Kind::DateTime, 6) };
            return Ok(Typed::new(call(&CAST, &value, to), to));
        }
        if !is_stringy(&value.ty) {
            return Ok(value);
        }
        // What ADDTIME or an interval makes of text is a time of today to an operator beside what is no constant,
        // else text.
        let value = match strictness == Strictness::Refuse && !super::fold::is_fixed(&date.expr) {
            true => super::conversion::as_moment(value),
            false => super::conversion::as_written_moment(value),
        };
        if value.constant().is_some()
            && let Some(moment) = self.temporal_constant(&value, date.ty.kind, strictness)?
        {
            return Ok(moment);
        }
        // MySQL converts what is chosen before it compares, unless the date is a constant.
        let unknown = strictness == Strictness::Refuse
            && value.ty.nullable
            && super::conversion::is_chosen(&value.expr)
            && !super::fold::is_fixed(&date.expr);
        let (function, ty) = match day {
            true => (&AS_DAY, ColumnType::of(Kind::Date)),
            false => (&AS_MOMENT, ColumnType::temporal(Kind::DateTime, 6)),
        };
        let ty = ColumnType { nullable: value.ty.nullable, ..ty };
        let expr = match unknown {
            true => chosen_moment(value, ty, function),
            false => call(function, &value, ty),
        };
        Ok(Typed::new(expr, ty))
    }

    /// A time and a text, as an operator compares them.
    pub(super) fn time_and_text(&self, time: Typed, text: Typed) -> (Typed, Typed) {
        // A parameter is of the type that it is compared with.
        if matches!(text.expr, Expr::Param(_)) {
            return (time, span(text, 6));
        }
        let fsp = time.ty.decimals;
        match (is_column(&time), text.constant()) {
            // What is blank is no time here, though a column takes it for zero.
            (true, Some(OwnedDatum::Bytes(bytes)))
                if !bytes.trim_ascii().is_empty()
                    && parse::time(bytes).is_ok_and(|read| !read.cut && !read.beyond) =>
            {
                (time, span(text, fsp))
            }
            _ => (self.to_text(time), text),
        }
    }
}

/// What IF, CASE or NULLIF chooses and may be NULL, as a moment: text that is none is unknown to an operator beside
/// what is no constant; a number that is none is unequal, like text that nobody chose.
fn chosen_moment(value: Typed, to: ColumnType, other: &'static Function) -> Expr {
    let moment = |part: Expr| {
        let (_, ty) = super::conversion::written(&part, &value.ty);
        let function = if is_stringy(ty) { &CAST } else { other };
        call(function, &Typed::new(part, value.ty), to)
    };
    match value.expr {
        Expr::Case(mut branches, otherwise) => {
            for (_, then) in &mut branches {
                *then = moment(std::mem::replace(then, Expr::Const(OwnedDatum::Null)));
            }
            Expr::Case(branches, otherwise.map(|e| Box::new(moment(*e))))
        }
        Expr::Call(mut site) if site.function.name == "if" => {
            for (part, ty) in site.arguments.iter_mut().zip(&mut site.types).skip(1) {
                *part = moment(std::mem::replace(part, Expr::Const(OwnedDatum::Null)));
                *ty = to;
            }
            site.ty = to;
            Expr::Call(site)
        }
        expr => {
            let first = match &expr {
                Expr::Call(site) => site.arguments.first().zip(site.types.first()),
                _ => None,
            };
            let text = first.is_none_or(|(e, ty)| is_stringy(super::conversion::written(e, ty).1));
            call(if text { &CAST } else { other }, &Typed::new(expr, value.ty), to)
        }
    }
}

/// Text that was made ready for a date or time, as a list has it: what is none equals only what is none.
pub(super) fn listed(mut value: Typed) -> Typed {
    if let Expr::Call(site) = &mut value.expr {
        if site.function == &AS_MOMENT {
            site.function = &AS_LISTED_MOMENT;
        } else if site.function == &AS_SPAN {
            site.function = &AS_LISTED_SPAN;
        }
    }
    value
}

/// A column of a table or of a derived one; an aggregate is none.
pub(super) fn is_column(value: &Typed) -> bool {
    /// Grouping and window functions have the leaves from here on.
    const COMPUTED_LEAVES: u16 = u16::MAX - 1;
    matches!(value.expr, Expr::Column(column) if column.leaf < COMPUTED_LEAVES)
}

/// Text as a time with so many digits behind the point.
pub(super) fn span(value: Typed, fsp: u8) -> Typed {
    if let Some(OwnedDatum::Bytes(text)) = value.constant()
        && !text.trim_ascii().is_empty()
        && let Ok(read) = parse::time(text)
        && !read.cut
        && !read.beyond
    {
        return super::temporal::constant(OwnedDatum::Time(read.rounded(fsp, false)));
    }
    let ty = ColumnType { nullable: value.ty.nullable, ..ColumnType::temporal(Kind::Time, 6) };
    Typed::new(call(&AS_SPAN, &value, ty), ty)
}

/// A value that is compared with a number: text as a double, bits that are written as such as an integer. A
/// date is a number too, unless it is a column: then the constant beside it is a date.
fn coerced_to_number(value: Typed, other: &Typed, strictness: Strictness) -> Typed {
    if strictness == Strictness::Refuse
        && other.ty.kind == Kind::Year
        && is_column(other)
        && let Some(year) = year_of(&value)
    {
        return year;
    }
    // A year is compared with a moment as the moment before all of its days.
    if other.ty.kind == Kind::Year && value.ty.kind.has_date() {
        return value;
    }
    let fixed = other.constant().is_some() || matches!(other.expr, Expr::Param(_));
    let both = value.ty.kind.has_date() && other.ty.kind.is_number();
    if both && !(fixed && is_column(&value)) {
        return digits(value);
    }
    let value = super::conversion::as_number(bits_as_number(value));
    if is_read_quietly(&value) {
        return value;
    }
    let text = value.ty.kind.is_string() && !matches!(value.expr, Expr::Param(_));
    if !text {
        return value;
    }
    if let Some(OwnedDatum::Bytes(bytes)) = value.constant() {
        if other.ty.kind.is_int()
            && is_column(other)
            && let Some(exact) = integer(bytes)
        {
            let ty = ColumnType::int(Kind::BigInt, matches!(exact, OwnedDatum::UInt(_)));
            return Typed::new(Expr::Const(exact), ty.not_null());
        }
        if double_of_text(bytes).1 == Rest::Clean {
            return value;
        }
    }
    let ty = ColumnType { nullable: value.ty.nullable, ..ColumnType::double() };
    Typed::new(call(&AS_NUMBER, &value, ty), ty)
}

/// A constant beside a column of years, as it would be stored there: 24 is 2024, and so is text that starts with it;
/// 1.25 is 2001. `None` for what does not fit.
pub(super) fn year_of(value: &Typed) -> Option<Typed> {
    stored_year(value, |constant, warning| {
        let begun = matches!(warning, None | Some(value::Warning::Truncated { .. }));
        match constant {
            OwnedDatum::Bytes(text) => begun && double_of_text(text).1 != Rest::NoNumber,
            OwnedDatum::Decimal(_) | OwnedDatum::Double(_) => begun,
            OwnedDatum::Null | OwnedDatum::Time(_) | OwnedDatum::Json(_) => false,
            _ => warning.is_none(),
        }
    })
}

/// A constant limit beside a column of years, as that column would store it, rounded and cut; `None` for what is
/// out of range or no number.
pub(super) fn year_limit(value: &Typed) -> Option<Typed> {
    stored_year(value, |constant, warning| {
        !matches!(constant, OwnedDatum::Null | OwnedDatum::Time(_) | OwnedDatum::Json(_))
            && matches!(warning, None | Some(value::Warning::Truncated { .. }))
    })
}

/// A constant as a column of years stores it, if that `fits`.
fn stored_year(
    value: &Typed,
    fits: impl FnOnce(&OwnedDatum, Option<&value::Warning>) -> bool,
) -> Option<Typed> {
    let value = bits_as_number(value.clone());
    let constant = value.constant()?;
    let (year, zone) = (ColumnType::of(Kind::Year), value::TimeZone::utc());
    let mode = value::ConvertMode::new(false, &zone);
    let mut scratch = Vec::new();
    // A double is cut, a decimal rounded.
    let datum = match constant.datum() {
        value::Datum::Double(v) => value::Datum::Double(v.trunc()),
        other => other,
    };
    let stored = value::coerce(datum, None, &year, &mode, &mut scratch).ok()?;
    let fits = fits(constant, stored.warning.as_ref());
    fits.then(|| Typed::new(Expr::Const(OwnedDatum::of(&stored.value)), year.not_null()))
}

/// The time of day of a moment.
pub(super) fn time_part(value: Typed) -> Typed {
    let ty = ColumnType { nullable: true, ..ColumnType::temporal(Kind::Time, value.ty.decimals) };
    Typed::new(call(&CAST, &value, ty), ty)
}

/// What is constant beside a column, as an operator has it: a moment beside a column of times loses its date, a
/// time beside a column of years is the year that it falls in.
pub(super) fn in_column(value: Typed, other: &Typed) -> Typed {
    let stored = match other.ty.kind {
        Kind::Time if value.ty.kind.has_date() => {
            ColumnType::temporal(Kind::Time, other.ty.decimals)
        }
        Kind::Year if value.ty.kind == Kind::Time => ColumnType::of(Kind::Year),
        _ => return value,
    };
    if !is_column(other) || !super::fold::is_fixed(&value.expr) {
        return value;
    }
    if stored.kind == Kind::Time
        && let Some(time) = value.constant().and_then(stored_time)
    {
        return super::temporal::constant(OwnedDatum::Time(time.round(stored.decimals)));
    }
    let ty = ColumnType { nullable: true, ..stored };
    Typed::new(call(&CAST, &value, ty), ty)
}

/// A constant beside a column of dates, moments or times, as it would be stored there; `None` for what does not fit.
pub(super) fn as_stored(value: &Typed, kind: Kind) -> Option<Typed> {
    let constant = value.constant()?;
    let stored = match kind {
        Kind::Time => OwnedDatum::Time(stored_time(constant)?),
        Kind::Date => OwnedDatum::Date(stored_moment(constant)?.date()),
        _ => OwnedDatum::DateTime(stored_moment(constant)?),
    };
    Some(super::temporal::constant(stored))
}

fn stored_moment(constant: &OwnedDatum) -> Option<DateTime> {
    let rules = value::time::DateRules { allow_invalid: true, ..Default::default() };
    let read = match constant {
        OwnedDatum::Date(date) => return Some(date.midnight()),
        OwnedDatum::DateTime(moment) => return Some(*moment),
        OwnedDatum::Int(number) => parse::date_time_of_number(*number, 0, rules),
        OwnedDatum::Bytes(text) => parse::date_time(text, rules),
        _ => return None,
    };
    read.ok().filter(|read| !read.cut).map(|read| read.value)
}

fn stored_time(constant: &OwnedDatum) -> Option<Time> {
    let read = match constant {
        OwnedDatum::Date(_) => return Some(Time::ZERO),
        OwnedDatum::DateTime(moment) => return Some(moment.time()),
        OwnedDatum::Time(time) => return Some(*time),
        OwnedDatum::Int(number) => parse::time_of_number(*number, 0),
        OwnedDatum::Bytes(text) => parse::time(text),
        _ => return None,
    };
    read.ok().filter(|read| !read.cut && !read.beyond).map(|read| read.value)
}

/// One of several values that are compared as numbers.
pub(super) fn among_numbers(value: Typed) -> Typed {
    if value.is_null() {
        return value;
    }
    if value.ty.kind.has_members() {
        let ty = ColumnType { nullable: value.ty.nullable, ..ColumnType::double() };
        return Typed::new(call(&CAST, &value, ty), ty);
    }
    if value.ty.kind.has_date() || value.ty.kind == Kind::Time {
        return digits(value);
    }
    let value = super::conversion::as_number(bits_as_number(value));
    if !is_stringy(&value.ty) || matches!(value.expr, Expr::Param(_)) {
        return value;
    }
    let ty = ColumnType { nullable: value.ty.nullable, ..ColumnType::double() };
    if is_read_quietly(&value) {
        return Typed { ty, ..value };
    }
    Typed::new(call(&AS_NUMBER, &value, ty), ty)
}

fn is_read_quietly(value: &Typed) -> bool {
    matches!(&value.expr, Expr::Call(site) if site.function == &AS_NUMBER_QUIETLY)
}

/// A date as the number that its digits are; what IF and CASE choose has its own.
pub(super) fn digits(value: Typed) -> Typed {
    let value = super::conversion::as_chosen_moment(value);
    let ty = match value.ty.decimals {
        fsp if value.ty.kind != Kind::Date && fsp > 0 => ColumnType::decimal(14 + fsp, fsp),
        _ => ColumnType::int(Kind::BigInt, false),
    };
    let ty = ColumnType { nullable: true, ..ty };
    Typed::new(call(&CAST, &value, ty), ty)
}

/// A text that is wholly a BIGINT of either sign.
fn integer(text: &[u8]) -> Option<OwnedDatum> {
    let text = std::str::from_utf8(text).ok()?.trim_matches(' ');
    let signed = text.parse().map(OwnedDatum::Int);
    signed.or_else(|_| text.parse().map(OwnedDatum::UInt)).ok()
}

/// A value that is compared with JSON: truth values and bytes as JSON has them, text in its character set.
fn coerced_to_json(value: Typed) -> Typed {
    let text = value.ty.is_text();
    if text && value.ty.collation.charset() != Charset::Utf8mb4 && !value.ty.kind.has_members() {
        return super::derive::convert(value, Collation::Utf8mb4Bin);
    }
    let json = ColumnType { nullable: value.ty.nullable, ..ColumnType::json() };
    if is_truth(&value) {
        let named = Typed { ty: json, ..value };
        return Typed::new(call(&CAST, &named, json), json);
    }
    if value.ty.kind.is_binary_string() || value.ty.kind == Kind::Bit {
        return Typed::new(call(&CAST, &value, json), json);
    }
    value
}
