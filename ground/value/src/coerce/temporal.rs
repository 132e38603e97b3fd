//! Storing into DATE, TIME, DATETIME and TIMESTAMP columns.
//!
//! 1. Strict: what is no date or time, or is cut off, is error 1292. Not strict: what is of no form is
//! zero with warning 1265, what the rules refuse is zero with 1264, what is cut off is kept with 1265.
//! 2. A DATE that loses its time of day, a TIME that loses its date: a note in both modes.

use super::{Coerced, ConvertError, ConvertMode, Warning, quote};
use crate::compare::{Exact, exact, to_double};
use crate::time::{BadTime, DateTimeText, MICROS_PER_SECOND, TimeText, parse, zone};
use crate::{ColumnType, Date, DateTime, Datum, Kind, Time};

type Stored<'a> = Result<Coerced<'a>, ConvertError>;

/// What a value came to.
enum Read<T> {
    /// It, or it with something lost.
    Value(T, Lost),
    Bad(BadTime),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    Nothing,
    /// A note: the time of day, or the date.
    Part,
    /// Text behind it, or a fraction of a date's number.
    Rest,
    /// It was beyond the longest span.
    Beyond,
}

pub(super) fn store<'a>(d: Datum<'_>, ty: &ColumnType, mode: &ConvertMode<'_>) -> Stored<'a> {
    let zero = |ty: &ColumnType| match ty.kind {
        Kind::Date => Datum::Date(Date::ZERO),
        Kind::Time => Datum::Time(Time::ZERO.truncate(ty.decimals)),
        Kind::DateTime => Datum::DateTime(DateTime::ZERO.with_fsp(ty.decimals)),
        _ => Datum::Timestamp(0, ty.decimals),
    };
    let read = match ty.kind {
        Kind::Time => map(read_time(d, ty.decimals, mode), Datum::Time),
        Kind::Date => match read_date_time(d, 0, mode, true) {
            Read::Value(v, lost) => {
                let part = lost == Lost::Nothing && v.micros_of_day() != 0;
                let part = part || matches!(d, Datum::Time(_));
                let lost = if part && lost == Lost::Nothing { Lost::Part } else { lost };
                Read::Value(Datum::Date(v.date()), lost)
            }
            Read::Bad(why) => Read::Bad(why),
        },
        Kind::DateTime => map(read_date_time(d, ty.decimals, mode, false), Datum::DateTime),
        _ => timestamp(d, ty, mode),
    };
    let wanted = match ty.kind {
        Kind::Date => "date",
        Kind::Time => "time",
        _ => "datetime",
    };
    let text = || {
        // A moment that loses its time of day is shown in whole seconds.
        let shown = match d {
            Datum::DateTime(v) if ty.kind == Kind::Date => Datum::DateTime(v.round(0).unwrap_or(v)),
            other => other,
        };
        let mut text = Vec::new();
        crate::format::append_text(&shown, &mut text);
        quote(&text)
    };
    let (value, lost) = match read {
        Read::Value(value, Lost::Nothing) => return Ok(Coerced::plain(value)),
        Read::Value(value, Lost::Part) => {
            let warning = match mode.strict {
                true => Warning::IncorrectTime { wanted, value: text() },
                false => Warning::Truncated { note: true },
            };
            return Ok(Coerced { value, warning: Some(warning) });
        }
        Read::Value(value, lost) => (value, lost),
        Read::Bad(BadTime::Form) => (zero(ty), Lost::Rest),
        Read::Bad(BadTime::Range) => (zero(ty), Lost::Beyond),
    };
    if mode.strict {
        return Err(ConvertError::IncorrectTime { wanted, value: text() });
    }
    let warning = match lost {
        Lost::Beyond => Warning::OutOfRange,
        _ => Warning::Truncated { note: false },
    };
    Ok(Coerced { value, warning: Some(warning) })
}

fn map<'a, T>(read: Read<T>, make: fn(T) -> Datum<'a>) -> Read<Datum<'a>> {
    match read {
        Read::Value(v, lost) => Read::Value(make(v), lost),
        Read::Bad(why) => Read::Bad(why),
    }
}

/// A number's whole part and its nanoseconds; `None` below zero.
fn number(d: &Datum<'_>) -> Option<(i64, u32)> {
    let decimal = match exact(d) {
        Some(Exact::Int(v)) => return i64::try_from(v).ok().map(|v| (v, 0)),
        Some(Exact::Decimal(v)) => v,
        None => crate::Decimal::from_f64(to_double(d)).0,
    };
    let whole = decimal.truncate(0);
    let nanos = decimal.sub(&whole)?.round(9)?.unscaled()?.unsigned_abs();
    let whole = i64::try_from(whole.unscaled()?).ok()?;
    u32::try_from(nanos.min(999_999_999)).ok().map(|nanos| (whole, nanos))
}

/// 9999-12-31 23:59:59 as a number.
const LAST_MOMENT: i64 = 99_991_231_235_959;

/// A moment of `fsp` digits; for a DATE (`date`) it is not rounded.
fn read_date_time(d: Datum<'_>, fsp: u8, mode: &ConvertMode<'_>, date: bool) -> Read<DateTime> {
    let cut_off = mode.truncate_fraction || date;
    let checked = |v: DateTime| match v.date().check(mode.dates) {
        true => Read::Value(v, Lost::Nothing),
        false => Read::Bad(BadTime::Range),
    };
    let rounded = |v: DateTime| if cut_off { Some(v.truncate(fsp)) } else { v.round(fsp) };
    let text = match d {
        Datum::Date(v) => return checked(v.midnight().with_fsp(fsp)),
        Datum::DateTime(v) if date => return checked(v),
        Datum::DateTime(v) => return rounded(v).map_or(Read::Bad(BadTime::Range), checked),
        Datum::Time(v) => {
            let moment = v.on(mode.today()).and_then(rounded);
            return moment.map_or(Read::Bad(BadTime::Range), checked);
        }
        Datum::Timestamp(v, digits) => {
            let moment = rounded(mode.time_zone.shown(v, digits));
            return moment.map_or(Read::Bad(BadTime::Range), checked);
        }
        Datum::Bytes(s) => parse::date_time(s, mode.dates),
        Datum::Enum(..) | Datum::Set(..) | Datum::Json(_) => {
            parse::date_time(crate::format::to_text(&d).as_bytes(), mode.dates)
        }
        _ => match number(&d) {
            Some((v, _)) if !(0..=LAST_MOMENT).contains(&v) => Err(BadTime::Range),
            // Days that the rules refuse are none, but for the zero date.
            Some((v, nanos)) => parse::date_time_of_number(v, nanos, mode.dates)
                .map_err(|why| if v == 0 { why } else { BadTime::Form }),
            None => Err(BadTime::Range),
        },
    };
    match text {
        Ok(read) => finish(&read, fsp, date, cut_off, mode),
        Err(why) => Read::Bad(why),
    }
}

fn finish(
    read: &DateTimeText,
    fsp: u8,
    date: bool,
    cut_off: bool,
    mode: &ConvertMode<'_>,
) -> Read<DateTime> {
    let mut read = *read;
    if read.utc {
        let micros = zone::utc_micros(read.value);
        match micros.and_then(|v| mode.time_zone.to_local(v, read.value.fsp())) {
            Some(local) => read.value = local,
            None => return Read::Bad(BadTime::Range),
        }
    }
    let lost = if read.cut { Lost::Rest } else { Lost::Nothing };
    let value = if date { Some(read.value) } else { read.rounded(fsp, cut_off) };
    value.map_or(Read::Bad(BadTime::Range), |v| Read::Value(v, lost))
}

fn read_time(d: Datum<'_>, fsp: u8, mode: &ConvertMode<'_>) -> Read<Time> {
    let cut_off = mode.truncate_fraction;
    let rounded = |v: Time| if cut_off { v.truncate(fsp) } else { v.round(fsp) };
    let text = match d {
        Datum::Time(v) => return Read::Value(rounded(v), Lost::Nothing),
        Datum::Date(_) => return Read::Value(Time::ZERO.truncate(fsp), Lost::Nothing),
        Datum::DateTime(v) => return Read::Value(rounded(v.time()), Lost::Part),
        Datum::Bytes(s) => parse::time(s),
        Datum::Enum(..) | Datum::Set(..) | Datum::Json(_) | Datum::Timestamp(..) => {
            parse::time(crate::format::to_text(&d).as_bytes())
        }
        _ => match number(&d) {
            Some((v, nanos)) => parse::time_of_number(v, nanos).map(|mut read| {
                // -0.5 has no sign in its whole part.
                if v == 0 && to_double(&d) < 0.0 {
                    read.value = Time::saturated(-read.value.micros(), read.value.fsp()).0;
                }
                read
            }),
            None => {
                let longest = if to_double(&d) < 0.0 { i64::MIN } else { i64::MAX };
                return Read::Value(Time::saturated(longest, fsp).0, Lost::Beyond);
            }
        },
    };
    match text {
        Ok(read) => {
            let lost = match read {
                TimeText { beyond: true, .. } => Lost::Beyond,
                TimeText { cut: true, .. } => Lost::Rest,
                TimeText { had_date: true, .. } => Lost::Part,
                _ => Lost::Nothing,
            };
            Read::Value(read.rounded(fsp, cut_off), lost)
        }
        Err(why) => Read::Bad(why),
    }
}

/// A moment in UTC. Zero stays zero; a moment within a gap of the local clock is refused.
fn timestamp<'a>(d: Datum<'_>, ty: &ColumnType, mode: &ConvertMode<'_>) -> Read<Datum<'a>> {
    if let Datum::Timestamp(v, _) = d
        && v % 10i64.pow(u32::from(6 - ty.decimals.min(6))) == 0
    {
        return Read::Value(Datum::Timestamp(v, ty.decimals), Lost::Nothing);
    }
    match read_date_time(d, ty.decimals, mode, false) {
        Read::Bad(why) => Read::Bad(why),
        Read::Value(v, lost) if v.is_zero() => Read::Value(Datum::Timestamp(0, ty.decimals), lost),
        Read::Value(v, lost) => match mode.time_zone.to_utc(v) {
            Some((micros, gap)) if in_range(micros) => {
                let lost = if gap && lost == Lost::Nothing { Lost::Rest } else { lost };
                Read::Value(Datum::Timestamp(micros, ty.decimals), lost)
            }
            _ => Read::Bad(BadTime::Range),
        },
    }
}

fn in_range(micros: i64) -> bool {
    let last = zone::TIMESTAMP_MICROS_MAX - zone::TIMESTAMP_MICROS_MAX % MICROS_PER_SECOND;
    (zone::TIMESTAMP_MICROS_MIN..last + MICROS_PER_SECOND).contains(&micros)
}
