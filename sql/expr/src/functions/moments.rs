//! Arguments as dates and times, with MySQL's warnings for those that are none.

use super::call::Call;
use crate::eval::Value;
use crate::{Environment, WarningLevel};
use value::time::DateRules;
use value::time::{BadTime, DateTimeText, TimeText, parse};
use value::{Date, DateTime, Datum, Decimal, Time};

/// What a function takes for a date and time.
#[derive(Debug, Clone, Copy)]
pub struct MomentForm {
    /// Digits of the second's fraction, rounded to.
    pub fsp: u8,
    /// Zero dates and dates with zeros are taken: YEAR(), DATE_FORMAT().
    pub fuzzy: bool,
}

impl MomentForm {
    /// A real moment.
    pub const MOMENT: MomentForm = MomentForm { fsp: 6, fuzzy: false };
    /// A date, perhaps with zeros.
    pub const FUZZY: MomentForm = MomentForm { fsp: 6, fuzzy: true };
}

/// Bits of `sql_mode`.
pub mod mode {
    /// ANSI_QUOTES.
    pub const ANSI_QUOTES: u64 = 1 << 2;
    /// ANSI, as a whole.
    pub const ANSI: u64 = 1 << 18;
    /// ONLY_FULL_GROUP_BY.
    pub const ONLY_FULL_GROUP_BY: u64 = 1 << 5;
    /// NO_UNSIGNED_SUBTRACTION.
    pub const NO_UNSIGNED_SUBTRACTION: u64 = 1 << 6;
    /// STRICT_TRANS_TABLES and STRICT_ALL_TABLES.
    pub const STRICT: u64 = 1 << 21 | 1 << 22;
    /// NO_ZERO_IN_DATE.
    pub const NO_ZERO_IN_DATE: u64 = 1 << 23;
    /// NO_ZERO_DATE.
    pub const NO_ZERO_DATE: u64 = 1 << 24;
    /// ALLOW_INVALID_DATES.
    pub const ALLOW_INVALID_DATES: u64 = 1 << 25;
    /// ERROR_FOR_DIVISION_BY_ZERO.
    pub const ERROR_FOR_DIVISION_BY_ZERO: u64 = 1 << 26;
    /// PAD_CHAR_TO_FULL_LENGTH.
    pub const PAD_CHAR_TO_FULL_LENGTH: u64 = 1 << 31;
    /// TIME_TRUNCATE_FRACTIONAL.
    pub const TIME_TRUNCATE_FRACTIONAL: u64 = 1 << 32;
}

fn rules(env: &dyn Environment, wanted: MomentForm) -> DateRules {
    let set = |bit| env.sql_mode() & bit != 0;
    DateRules {
        no_zero_date: !wanted.fuzzy && set(mode::NO_ZERO_DATE),
        no_zero_in_date: !wanted.fuzzy && set(mode::NO_ZERO_IN_DATE),
        allow_invalid: set(mode::ALLOW_INVALID_DATES),
    }
}

/// Whether the session takes a date with zeros in it.
pub fn is_allowed(date: Date, env: &dyn Environment) -> bool {
    date.check(DateRules { allow_invalid: true, ..rules(env, MomentForm::MOMENT) })
}

/// The session's local time now, cut to `fsp` digits.
pub fn now(env: &dyn Environment, fsp: u8) -> Option<DateTime> {
    env.time_zone().to_local(env.now_us(), fsp)
}

/// Warning 1292 for a value that is no date or time.
pub fn incorrect(env: &mut dyn Environment, kind: &str, shown: &str) {
    let text = format!("Incorrect {kind} value: '{shown}'");
    env.warn(WarningLevel::Warning, 1292, text);
}

fn truncated(env: &mut dyn Environment, kind: &str, shown: &str) {
    let text = format!("Truncated incorrect {kind} value: '{shown}'");
    env.warn(WarningLevel::Warning, 1292, text);
}

/// Bytes as warnings show them.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |shown, b| match b {
        b' '..=b'~' => shown + &char::from(*b).to_string(),
        _ => shown + &format!("\\x{b:02X}"),
    })
}

/// A number's whole part and billionths.
fn parts(datum: &Datum<'_>) -> Option<(i64, u32)> {
    let decimal = match datum {
        Datum::Int(v) => return Some((*v, 0)),
        Datum::UInt(v) => return i64::try_from(*v).ok().map(|v| (v, 0)),
        Datum::Year(v) => return Some((i64::from(*v), 0)),
        Datum::Decimal(v) => *v,
        Datum::Double(v) => Decimal::from_f64(*v).0.round(9)?,
        _ => return None,
    };
    let whole = decimal.truncate(0).trunc_to_i128()?;
    let fraction = decimal.sub(&Decimal::from_i128(whole, 0))?.truncate(9);
    let nanos = fraction.mul(&Decimal::from_i128(1_000_000_000, 0))?.trunc_to_i128()?;
    Some((i64::try_from(whole).ok()?, nanos.unsigned_abs() as u32))
}

/// Whether a number has a sign that its whole part lost: -0.5.
fn loses_sign(number: &Datum<'_>, whole: i64) -> bool {
    whole == 0 && value::compare::to_double(number) < 0.0
}

fn negated(time: Time) -> Time {
    Time::saturated(-time.micros(), time.fsp()).0
}

/// A value as a date and time; `None`, warned of, when it is none.
pub fn moment(
    datum: &Datum<'_>,
    env: &mut dyn Environment,
    wanted: MomentForm,
) -> Option<DateTime> {
    let rules = rules(env, wanted);
    let (read, shown) = match datum {
        Datum::Null => return None,
        // A zero date that is no text is unknown without a warning.
        Datum::DateTime(v) => return taken(*v, rules, env, wanted),
        Datum::Date(v) => return taken(v.midnight(), rules, env, wanted),
        Datum::Time(v) => return v.on(now(env, 0)?.date())?.round(wanted.fsp),
        Datum::Bytes(text) => {
            (parse::date_time(text, rules), String::from_utf8_lossy(text).into_owned())
        }
        Datum::Enum(..) | Datum::Set(..) | Datum::Json(_) => {
            let text = value::format::to_text(datum);
            (parse::date_time(text.trim_matches('"').as_bytes(), rules), text)
        }
        Datum::Bits(..) => {
            let bytes = crate::eval::text(datum);
            (parse::date_time(&bytes, rules), escaped(&bytes))
        }
        number => {
            let shown = value::format::to_text(number);
            match parts(number) {
                // What is below zero is no date, not the zero date.
                Some((v, _)) if loses_sign(number, v) => (Err(BadTime::Form), shown),
                Some((v, nanos)) => (parse::date_time_of_number(v, nanos, rules), shown),
                None => (Err(BadTime::Form), shown),
            }
        }
    };
    match read {
        Ok(read) => {
            if read.cut {
                truncated(env, if read.date_only { "date" } else { "datetime" }, &shown);
            }
            if read.delimiter.is_some()
                && let Some((number, text)) = parse::delimiter_warning(shown.as_bytes(), 1)
            {
                env.warn(WarningLevel::Warning, number, text);
            }
            let local = if read.utc { shifted(env, &read) } else { Some(read) };
            local.and_then(|read| read.rounded(wanted.fsp, truncates(env)))
        }
        Err(_) => {
            incorrect(env, "datetime", &shown);
            None
        }
    }
}

/// Digits of a second are cut off, not rounded.
pub fn truncates(env: &dyn Environment) -> bool {
    env.sql_mode() & mode::TIME_TRUNCATE_FRACTIONAL != 0
}

/// A text with an offset is UTC: to the session's time.
fn shifted(env: &dyn Environment, read: &DateTimeText) -> Option<DateTimeText> {
    let micros = value::time::zone::utc_micros(read.value)?;
    let value = env.time_zone().to_local(micros, read.value.fsp())?;
    Some(DateTimeText { value, ..*read })
}

fn taken(
    v: DateTime,
    rules: DateRules,
    env: &dyn Environment,
    wanted: MomentForm,
) -> Option<DateTime> {
    if !v.date().check(DateRules { allow_invalid: true, ..rules }) {
        return None;
    }
    match v.fsp() > wanted.fsp {
        true if truncates(env) => Some(v.truncate(wanted.fsp)),
        true => v.round(wanted.fsp),
        false => Some(v),
    }
}

/// A value as a time; `None`, warned of, when it is none.
pub fn time(datum: &Datum<'_>, env: &mut dyn Environment, fsp: u8) -> Option<Time> {
    let (read, shown) = match datum {
        Datum::Null => return None,
        Datum::Time(v) if v.fsp() <= fsp => return Some(*v),
        Datum::Time(v) => return Some(if truncates(env) { v.truncate(fsp) } else { v.round(fsp) }),
        Datum::DateTime(v) if truncates(env) => return Some(v.time().truncate(fsp)),
        Datum::DateTime(v) => return Some(v.time().round(fsp)),
        Datum::Date(_) => return Some(Time::ZERO),
        // A column of times takes what is blank; a function does not.
        Datum::Bytes(text) if text.trim_ascii().is_empty() => {
            (Err(BadTime::Form), String::from_utf8_lossy(text).into_owned())
        }
        Datum::Bytes(text) => (parse::time(text), String::from_utf8_lossy(text).into_owned()),
        Datum::Enum(..) | Datum::Set(..) | Datum::Json(_) => {
            let text = value::format::to_text(datum);
            let blank = text.trim_ascii().is_empty();
            let read = parse::time(text.trim_matches('"').as_bytes());
            (if blank { Err(BadTime::Form) } else { read }, text)
        }
        Datum::Bits(..) => {
            let bytes = crate::eval::text(datum);
            (parse::time(&bytes), escaped(&bytes))
        }
        number => {
            let shown = value::format::to_text(number);
            // As MySQL: an integer is one with a sign.
            let signed = match *number {
                Datum::UInt(v) => Datum::Int(v as i64),
                other => other,
            };
            match parts(&signed) {
                Some((v, nanos)) => {
                    let read =
                        parse::time_of_number(v, nanos).map(|read| match loses_sign(number, v) {
                            true => TimeText { value: negated(read.value), ..read },
                            false => read,
                        });
                    (read, shown)
                }
                None => (Err(BadTime::Form), shown),
            }
        }
    };
    let number = !matches!(
        datum,
        Datum::Bytes(_) | Datum::Enum(..) | Datum::Set(..) | Datum::Json(_) | Datum::Bits(..)
    );
    match read {
        Ok(read) => {
            if read.cut || read.beyond {
                truncated(env, "time", &shown);
            }
            // Text is the longest time then, a number none.
            if number && read.beyond {
                return None;
            }
            Some(read.rounded(fsp, truncates(env)))
        }
        Err(_) => {
            truncated(env, "time", &shown);
            None
        }
    }
}

/// Argument `n` as a date and time.
pub fn argument(c: &mut Call<'_, '_>, n: usize, wanted: MomentForm) -> Option<DateTime> {
    // Nearly all of them: whatever the rules, they let it pass.
    if let Some(Value::Datum(Datum::DateTime(v))) = c.args.get(n)
        && v.fsp() <= wanted.fsp
        && !v.date().has_zero()
    {
        return Some(*v);
    }
    moment(&c.args.get(n).map_or(Datum::Null, Value::get), c.env, wanted)
}

/// Argument `n` as a time.
pub fn time_argument(c: &mut Call<'_, '_>, n: usize, fsp: u8) -> Option<Time> {
    time(&c.args.get(n).map_or(Datum::Null, Value::get), c.env, fsp)
}

/// A date and time as a value.
pub fn value_of<'v>(moment: Option<DateTime>) -> Value<'v> {
    Value::Datum(moment.map_or(Datum::Null, Datum::DateTime))
}

/// A date as a value.
pub fn date_value<'v>(date: Option<Date>) -> Value<'v> {
    date.map_or(Value::Datum(Datum::Null), |v| Value::Datum(Datum::Date(v)))
}
