//! What a comparison makes of text beside a number, a date or a time.
//!
//! 1. Text that is none counts as zero, warned of (1292); NULL stays NULL. 2. They are built, not found by name.

use super::call::{Answer, Call, leading_integer};
use super::moments::{self, MomentForm};
use super::{Function, Shape, function};
use crate::SqlError;
use crate::build::Derive;
use crate::eval::Value;
use value::number::double_of_text;
use value::{ColumnType, DateTime, Datum, Time};

/// Text beside a date, as a moment.
pub static AS_MOMENT: Function =
    function("cast", (1, 1), same_type, moment, "text that is compared with a date, as one")
        .written(Shape::Cast);

/// Text beside a date, as the date that it has; an operator looks at no time of day behind it.
pub static AS_DAY: Function =
    function("cast", (1, 1), same_type, day, "text that is compared with a date, as its day")
        .written(Shape::Cast);

/// Text beside a time, as one.
pub static AS_SPAN: Function =
    function("cast", (1, 1), same_type, span, "text that is compared with a time, as one")
        .written(Shape::Cast);

/// Text beside a date in a list, as a moment; what is none equals only what is none.
pub static AS_LISTED_MOMENT: Function =
    function("cast", (1, 1), same_type, listed_moment, "text in a list with dates, as a moment")
        .written(Shape::Cast);

/// Text beside a time in a list, as one; what is none equals only what is none.
pub static AS_LISTED_SPAN: Function =
    function("cast", (1, 1), same_type, listed_span, "text in a list with times, as a time")
        .written(Shape::Cast);

/// Text beside a number, as a double.
pub static AS_NUMBER: Function =
    function("cast", (1, 1), same_type, number, "text that is compared with a number, as one")
        .written(Shape::Bare);

/// As [`AS_NUMBER`], for what MySQL reads without a warning.
pub static AS_NUMBER_QUIETLY: Function =
    function("cast", (1, 1), same_type, quiet_number, "text as a number, never warned of")
        .written(Shape::Bare);

/// As [`AS_NUMBER_QUIETLY`], the integer that text starts with.
pub static AS_INTEGER_QUIETLY: Function =
    function("cast", (1, 1), same_type, quiet_integer, "text as an integer, never warned of")
        .written(Shape::Bare);

/// A date or time that ADDTIME or an interval made of text, as one.
pub static TEMPORAL_OF_TEXT: Function =
    function("cast", (1, 1), same_type, temporal_of_text, "text of a date or time, as one")
        .written(Shape::Bare);

/// Whether a function is one of these.
pub fn is_conversion(function: &Function) -> bool {
    let of_time =
        [&AS_MOMENT, &AS_DAY, &AS_SPAN, &AS_LISTED_MOMENT, &AS_LISTED_SPAN].contains(&function);
    of_time || [&AS_NUMBER, &AS_NUMBER_QUIETLY, &AS_INTEGER_QUIETLY].contains(&function)
}

/// Whether a function is one of these that make a number of text.
pub fn is_number_of_text(function: &Function) -> bool {
    [&AS_NUMBER, &AS_NUMBER_QUIETLY, &AS_INTEGER_QUIETLY].contains(&function)
}

fn same_type(d: &mut Derive<'_>) -> Result<ColumnType, SqlError> {
    Ok(d.ty(0))
}

fn moment<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let moment = moments::argument(c, 0, MomentForm::MOMENT).unwrap_or(DateTime::ZERO);
    Ok(Value::Datum(Datum::DateTime(moment)))
}

fn day<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let moment = moments::argument(c, 0, MomentForm::MOMENT).unwrap_or(DateTime::ZERO);
    Ok(Value::Datum(Datum::Date(moment.date())))
}

fn span<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(Value::Datum(Datum::Time(moments::time_argument(c, 0, 6).unwrap_or(Time::ZERO))))
}

/// Compares as a double with dates and times and is none of them; it equals itself.
const NOTHING: Datum<'static> = Datum::Double(f64::NAN);

fn listed_moment<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let moment = moments::argument(c, 0, MomentForm::MOMENT);
    Ok(Value::Datum(moment.map_or(NOTHING, Datum::DateTime)))
}

fn listed_span<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(Value::Datum(moments::time_argument(c, 0, 6).map_or(NOTHING, Datum::Time)))
}

fn number<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    match c.datum(0) {
        Datum::Bytes(_) => Ok(Value::Datum(Datum::Double(c.double(0)))),
        _ => Ok(c.take(0)),
    }
}

fn temporal_of_text<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let rules = value::time::DateRules { allow_invalid: true, ..Default::default() };
    let found = match c.datum(0) {
        Datum::Bytes(text) if text.get(4) == Some(&b'-') => {
            value::time::parse::date_time(text, rules).ok().map(|read| match read.date_only {
                true => Datum::Date(read.value.date()),
                false => Datum::DateTime(read.value),
            })
        }
        Datum::Bytes(text) => {
            value::time::parse::time(text).ok().map(|read| Datum::Time(read.value))
        }
        _ => None,
    };
    Ok(found.map_or_else(|| c.take(0), Value::Datum))
}

fn quiet_number<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    match c.datum(0) {
        Datum::Bytes(text) => Ok(Value::Datum(Datum::Double(double_of_text(text).0))),
        _ => Ok(c.take(0)),
    }
}

fn quiet_integer<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    match c.datum(0) {
        Datum::Bytes(text) => {
            let v = leading_integer(text).0.clamp(i64::MIN.into(), i64::MAX.into());
            Ok((v as i64).into())
        }
        _ => Ok(c.take(0)),
    }
}
