//! Functions of dates and times: now, parts, arithmetic, conversion. Text forms are in `temporal_text`.

use super::call::{Answer, Call, NULL};
use super::moments::{self, MomentForm, argument, date_value, time_argument, value_of};
use super::{Function, function};
use crate::SqlError;
use crate::build::Derive;
use crate::eval::Value;
use crate::refused::Refused;
use crate::tree::Extra;
use value::time::{Interval, MICROS_PER_SECOND, Unit, day_number, days_in_month, from_day_number};
use value::{ColumnType, Date, DateTime, Datum, Decimal, Kind, Time, TimeZone};

pub static FUNCTIONS: &[Function] = &[
    function("now", (0, 1), now_type, now, "the date and time the statement began").per_statement(),
    function("current_timestamp", (0, 1), now_type, now, "the date and time the statement began")
        .per_statement(),
    function("localtime", (0, 1), now_type, now, "the date and time the statement began")
        .per_statement(),
    function("localtimestamp", (0, 1), now_type, now, "the date and time the statement began")
        .per_statement(),
    function("sysdate", (0, 1), now_type, sysdate, "the date and time now").volatile(),
    function(
        "utc_timestamp",
        (0, 1),
        now_type,
        utc_timestamp,
        "the date and time the statement began, in UTC",
    )
    .per_statement(),
    function("curdate", (0, 0), today_type, curdate, "the date the statement began")
        .per_statement(),
    function("current_date", (0, 0), today_type, curdate, "the date the statement began")
        .per_statement(),
    function("utc_date", (0, 0), today_type, utc_date, "the date the statement began, in UTC")
        .per_statement(),
    function("curtime", (0, 1), clock_type, curtime, "the time of day the statement began")
        .per_statement(),
    function("current_time", (0, 1), clock_type, curtime, "the time of day the statement began")
        .per_statement(),
    function(
        "utc_time",
        (0, 1),
        clock_type,
        utc_time,
        "the time of day the statement began, in UTC",
    )
    .per_statement(),
    function("date", (1, 1), date_type, date, "the date of a date and time"),
    function("time", (1, 1), time_type, time, "the time of a date and time"),
    function("timestamp", (1, 2), timestamp_type, timestamp, "a date and time, a time added"),
    function("year", (1, 1), year_type, year, "the year"),
    function("quarter", (1, 1), int_of::<2>, quarter, "the quarter"),
    function("month", (1, 1), int_of::<3>, month, "the month"),
    function("day", (1, 1), int_of::<3>, day, "the day of the month"),
    function("dayofmonth", (1, 1), int_of::<3>, day, "the day of the month"),
    function("dayofweek", (1, 1), int_of::<2>, dayofweek, "the day of the week, Sunday being 1"),
    function("weekday", (1, 1), int_of::<2>, weekday, "the day of the week, Monday being 0"),
    function("dayofyear", (1, 1), int_of::<4>, dayofyear, "the day of the year"),
    function("week", (1, 2), int_of::<3>, week, "the week of the year"),
    function("weekofyear", (1, 1), int_of::<3>, weekofyear, "the week of the year as ISO counts"),
    function("yearweek", (1, 2), int_of::<7>, yearweek, "the year and the week"),
    function("hour", (1, 1), int_of::<4>, hour, "the hours"),
    function("minute", (1, 1), int_of::<3>, minute, "the minute"),
    function("second", (1, 1), int_of::<3>, second, "the second"),
    function("microsecond", (1, 1), int_of::<7>, microsecond, "the microseconds"),
    function(
        "extract",
        (1, 1),
        extract_type,
        extract,
        "the parts that a unit names, as one number",
    ),
    function("last_day", (1, 1), date_type, last_day, "the last day of the month"),
    function("to_days", (1, 1), int_of::<7>, to_days, "days since the year 0"),
    function("to_seconds", (1, 1), int_of::<12>, to_seconds, "seconds since the year 0"),
    function("from_days", (1, 1), date_type, from_days, "the date of a day number"),
    function("makedate", (2, 2), date_type, makedate, "the date of a year and a day in it"),
    function("maketime", (3, 3), maketime_type, maketime, "the time of hours, minutes and seconds"),
    function("sec_to_time", (1, 1), sec_type, sec_to_time, "the time of so many seconds"),
    function("time_to_sec", (1, 1), int_of::<11>, time_to_sec, "the seconds of a time"),
    function("datediff", (2, 2), int_of::<8>, datediff, "days from the second date to the first"),
    function("timediff", (2, 2), timediff_type, timediff, "the time from the second to the first"),
    function("addtime", (2, 2), addtime_type, addtime, "a time added"),
    function("subtime", (2, 2), addtime_type, subtime, "a time subtracted"),
    function(
        "timestampdiff",
        (2, 2),
        int_of::<21>,
        timestampdiff,
        "whole units from the first to the second",
    ),
    function("period_add", (2, 2), period_type, period_add, "a period YYYYMM so many months later"),
    function(
        "period_diff",
        (2, 2),
        period_type,
        period_diff,
        "months from the second period to the first",
    ),
    function("unix_timestamp", (0, 1), unix_type, unix_timestamp, "seconds since 1970")
        .per_statement(),
    function(
        "convert_tz",
        (3, 3),
        convert_type,
        convert_tz,
        "a date and time from one time zone in another",
    ),
    function("+ interval", (2, 2), interval_type, add_interval, "a date an interval later"),
    function("- interval", (2, 2), interval_type, sub_interval, "a date an interval earlier"),
];

type Derived = Result<ColumnType, SqlError>;

fn nullable(ty: ColumnType) -> Derived {
    Ok(ColumnType { nullable: true, ..ty })
}

fn fsp(d: &Derive<'_>, n: usize) -> Result<u8, SqlError> {
    match d.constant_int(n) {
        None if d.args.len() <= n => Ok(0),
        Some(fsp @ 0..=6) => Ok(fsp as u8),
        fsp => Err(Refused::TooPrecise(fsp.unwrap_or(-1), d.name, 6).into()),
    }
}

fn now_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType::temporal(Kind::DateTime, fsp(d, 0)?).not_null())
}

fn clock_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType::temporal(Kind::Time, fsp(d, 0)?).not_null())
}

fn today_type(_: &mut Derive<'_>) -> Derived {
    Ok(ColumnType::of(Kind::Date).not_null())
}

fn date_type(_: &mut Derive<'_>) -> Derived {
    Ok(ColumnType::of(Kind::Date))
}

/// Digits of the second that an argument has as a date and time.
pub(super) fn digits(d: &Derive<'_>, n: usize) -> u8 {
    let ty = d.ty(n);
    match ty.kind {
        Kind::Date | Kind::Year | Kind::Bit => 0,
        Kind::DateTime | Kind::Timestamp | Kind::Time | Kind::Decimal => ty.decimals.min(6),
        kind if kind.is_int() => 0,
        _ => match d.args.get(n).and_then(|a| crate::build::folded(a, d.settings)) {
            Some(value::OwnedDatum::Bytes(text)) if is_temporal_text(&text) => {
                let fraction =
                    text.iter().rposition(|b| *b == b'.').map_or(0, |at| text.len() - at - 1);
                fraction.min(6) as u8
            }
            _ => 6,
        },
    }
}

fn is_temporal_text(text: &[u8]) -> bool {
    let rules = value::time::DateRules::default();
    value::time::parse::time(text).is_ok() || value::time::parse::date_time(text, rules).is_ok()
}

/// Digits of the second that an argument has as a number of seconds: text may have six, x'41' is a whole number.
fn second_digits(d: &Derive<'_>, n: usize) -> u8 {
    let ty = d.ty(n);
    let written = match d.args.get(n).and_then(|a| a.constant()) {
        Some(value::OwnedDatum::Null) => return 0,
        Some(value::OwnedDatum::Bytes(bytes)) => super::call::number_of_bits(&ty, bytes).is_some(),
        _ => false,
    };
    match crate::build::is_stringy(&ty) {
        true if written => 0,
        true => 6,
        false => digits(d, n),
    }
}

fn time_type(d: &mut Derive<'_>) -> Derived {
    nullable(ColumnType::temporal(Kind::Time, digits(d, 0)))
}

fn timestamp_type(d: &mut Derive<'_>) -> Derived {
    let more = if d.args.len() > 1 { digits(d, 1) } else { 0 };
    nullable(ColumnType::temporal(Kind::DateTime, digits(d, 0).max(more)))
}

fn int_of<const WIDTH: u32>(d: &mut Derive<'_>) -> Derived {
    nullable(d.int(WIDTH))
}

fn period_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.int(7))
}

fn year_type(_: &mut Derive<'_>) -> Derived {
    nullable(ColumnType { unsigned: true, zerofill: false, ..ColumnType::of(Kind::Year) })
}

fn extract_type(d: &mut Derive<'_>) -> Derived {
    let width = match d.extra {
        Extra::Unit(Unit::Year) => 5,
        Extra::Unit(Unit::YearMonth) => 7,
        Extra::Unit(Unit::Quarter) => 2,
        Extra::Unit(
            Unit::Month | Unit::Week | Unit::Day | Unit::Hour | Unit::Minute | Unit::Second,
        ) => 3,
        Extra::Unit(Unit::DayHour | Unit::HourMinute | Unit::MinuteSecond) => 5,
        Extra::Unit(Unit::DayMinute | Unit::HourSecond | Unit::Microsecond) => 7,
        Extra::Unit(Unit::DaySecond | Unit::SecondMicrosecond) => 9,
        _ => 15,
    };
    nullable(d.int(width))
}

fn maketime_type(d: &mut Derive<'_>) -> Derived {
    nullable(ColumnType::temporal(Kind::Time, second_digits(d, 2)))
}

fn sec_type(d: &mut Derive<'_>) -> Derived {
    nullable(ColumnType::temporal(Kind::Time, second_digits(d, 0)))
}

fn timediff_type(d: &mut Derive<'_>) -> Derived {
    nullable(ColumnType::temporal(Kind::Time, digits(d, 0).max(digits(d, 1))))
}

fn addtime_type(d: &mut Derive<'_>) -> Derived {
    let digits = digits(d, 0).max(digits(d, 1));
    match d.ty(0).kind {
        Kind::Time => nullable(ColumnType::temporal(Kind::Time, digits)),
        Kind::DateTime | Kind::Timestamp | Kind::Date => {
            nullable(ColumnType::temporal(Kind::DateTime, digits))
        }
        _ => Ok(text_of_moment(d)),
    }
}

/// What text that is taken for a date or time becomes: CHAR.
fn text_of_moment(d: &mut Derive<'_>) -> ColumnType {
    match d.own_string(29) {
        text if text.is_text() => ColumnType { kind: Kind::Char, ..text },
        bytes => bytes,
    }
}

fn unix_type(d: &mut Derive<'_>) -> Derived {
    if d.args.is_empty() {
        return Ok(d.int(11));
    }
    match digits(d, 0) {
        0 => Ok(d.int(11)),
        scale => {
            Ok(ColumnType { nullable: d.nullable(), ..ColumnType::decimal(11 + scale, scale) })
        }
    }
}

fn convert_type(d: &mut Derive<'_>) -> Derived {
    nullable(ColumnType::temporal(Kind::DateTime, digits(d, 0)))
}

/// Date and days stay a date; a time stays a time; text stays text; everything else is a date and time.
/// A unit of days and parts of them.
fn has_days(unit: Unit) -> bool {
    use Unit::{DayHour, DayMicrosecond, DayMinute, DaySecond};
    matches!(unit, DayHour | DayMinute | DaySecond | DayMicrosecond)
}

fn interval_type(d: &mut Derive<'_>) -> Derived {
    let Extra::Unit(unit) = d.extra else { return Err(d.incorrect()) };
    let whole_days = matches!(
        unit,
        Unit::Day | Unit::Week | Unit::Month | Unit::Quarter | Unit::Year | Unit::YearMonth
    );
    let fraction = match unit {
        Unit::Microsecond
        | Unit::SecondMicrosecond
        | Unit::MinuteMicrosecond
        | Unit::HourMicrosecond
        | Unit::DayMicrosecond => 6,
        Unit::Second => match d.ty(1).kind {
            kind if kind.is_int() => 0,
            Kind::Decimal => d.ty(1).decimals.min(6),
            _ => digits(d, 1),
        },
        _ => 0,
    };
    let ty = d.ty(0);
    match ty.kind {
        Kind::Date if whole_days => nullable(ColumnType::of(Kind::Date)),
        Kind::Date => nullable(ColumnType::temporal(Kind::DateTime, fraction)),
        Kind::DateTime | Kind::Timestamp => {
            nullable(ColumnType::temporal(Kind::DateTime, fraction.max(ty.decimals)))
        }
        // A time that days are added to is one of today.
        Kind::Time if whole_days || has_days(unit) => {
            nullable(ColumnType::temporal(Kind::DateTime, fraction.max(ty.decimals)))
        }
        Kind::Time => nullable(ColumnType::temporal(Kind::Time, fraction.max(ty.decimals))),
        _ => Ok(text_of_moment(d)),
    }
}

fn shown(c: &Call<'_, '_>) -> u8 {
    c.site.ty.decimals.min(6)
}

fn now<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(value_of(moments::now(c.env, shown(c))))
}

fn sysdate<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let now = host::clock::now_us();
    Ok(value_of(c.env.time_zone().to_local(now, shown(c))))
}

fn utc(c: &Call<'_, '_>) -> Option<DateTime> {
    TimeZone::utc().to_local(c.env.now_us(), shown(c))
}

fn utc_timestamp<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(value_of(utc(c)))
}

fn curdate<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(date_value(moments::now(c.env, 0).map(DateTime::date)))
}

fn utc_date<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(date_value(utc(c).map(DateTime::date)))
}

/// A time as a value.
fn time_value<'v>(time: Option<Time>) -> Value<'v> {
    time.map_or(NULL, |v| Value::Datum(Datum::Time(v)))
}

fn curtime<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(time_value(moments::now(c.env, shown(c)).map(DateTime::time)))
}

fn utc_time<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(time_value(utc(c).map(DateTime::time)))
}

fn date<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(date_value(argument(c, 0, MomentForm::FUZZY).map(DateTime::date)))
}

fn time<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let digits = shown(c);
    Ok(time_value(time_argument(c, 0, digits).and_then(|v| Time::from_micros(v.micros(), digits))))
}

/// A moment showing as many digits as the result's type.
fn typed<'v>(c: &Call<'_, 'v>, moment: Option<DateTime>) -> Value<'v> {
    let digits = shown(c);
    value_of(moment.and_then(|v| DateTime::from_packed(v.packed(), digits)))
}

fn timestamp<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(moment) = argument(c, 0, MomentForm::MOMENT) else { return Ok(NULL) };
    if c.len() == 1 {
        return Ok(typed(c, Some(moment)));
    }
    let Some(time) = time_argument(c, 1, 6) else { return Ok(NULL) };
    Ok(typed(c, moment.add(Interval::seconds(0, time.micros()), 6)))
}

fn part<'v>(c: &mut Call<'_, 'v>, of: fn(Date) -> i64) -> Answer<'v> {
    Ok(argument(c, 0, MomentForm::FUZZY).map_or(NULL, |v| of(v.date()).into()))
}

fn year<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    part(c, |d| d.year().into())
}

fn quarter<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    part(c, |d| (i64::from(d.month()) + 2) / 3)
}

fn month<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    part(c, |d| d.month().into())
}

fn day<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    part(c, |d| d.day().into())
}

/// A part of a date that is a day of the calendar.
fn real<'v>(c: &mut Call<'_, 'v>, of: fn(Date) -> i64) -> Answer<'v> {
    let Some(moment) = argument(c, 0, MomentForm::MOMENT) else { return Ok(NULL) };
    match moment.date().has_zero() {
        true => Ok(NULL),
        false => Ok(of(moment.date()).into()),
    }
}

/// Days since a Monday.
fn monday_based(date: Date) -> i64 {
    (day_number(date) + 5) % 7
}

fn dayofweek<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    real(c, |d| (day_number(d) + 6) % 7 + 1)
}

fn weekday<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    real(c, monday_based)
}

/// The day of the year, counted from 1.
pub(super) fn day_of_year(date: Date) -> i64 {
    day_number(date) - Date::new(date.year(), 1, 1).map_or(0, day_number) + 1
}

fn dayofyear<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    real(c, day_of_year)
}

/// How weeks are counted, out of the mode of WEEK().
#[derive(Clone, Copy)]
pub(super) struct Weeks {
    pub monday_first: bool,
    pub within_years: bool,
    pub first_whole: bool,
}

impl Weeks {
    pub(super) fn of(mode: i64) -> Weeks {
        let monday_first = mode & 1 != 0;
        let flagged = mode & 4 != 0;
        // The third bit means the other rule where weeks start on Sunday.
        let first_whole = if monday_first { flagged } else { !flagged };
        Weeks { monday_first, within_years: mode & 2 != 0, first_whole }
    }
}

/// The week of a date and the year it belongs to.
pub(super) fn week_of(date: Date, weeks: Weeks) -> (i64, i64) {
    let year = i64::from(date.year());
    let first = |year: i64| {
        let year = u16::try_from(year).unwrap_or(0);
        Date::new(year, 1, 1).map_or(0, day_number)
    };
    // Day number of the first day of a year's first week.
    let start = |year: i64| {
        let first = first(year);
        let weekday = if weeks.monday_first { (first + 5) % 7 } else { (first + 6) % 7 };
        let before = if weeks.first_whole { weekday == 0 } else { weekday <= 3 };
        if before { first - weekday } else { first - weekday + 7 }
    };
    let day = day_number(date);
    if day < start(year) {
        return match weeks.within_years {
            true => ((day - start(year - 1)) / 7 + 1, year - 1),
            false => (0, year),
        };
    }
    if weeks.within_years && day >= start(year + 1) {
        return (1, year + 1);
    }
    ((day - start(year)) / 7 + 1, year)
}

fn week_mode(c: &mut Call<'_, '_>, default: i64) -> i64 {
    if c.len() > 1 { c.int(1) & 7 } else { default }
}

fn week<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let default = c.env.system_variable(false, "default_week_format").ok();
    let default = default.and_then(|v| v.datum().as_i64()).unwrap_or(0);
    let mode = week_mode(c, default);
    week_answer(c, mode, |week, _| week)
}

fn week_answer<'v>(c: &mut Call<'_, 'v>, mode: i64, of: fn(i64, i64) -> i64) -> Answer<'v> {
    let Some(moment) = argument(c, 0, MomentForm::MOMENT) else { return Ok(NULL) };
    if moment.date().has_zero() {
        return Ok(NULL);
    }
    let (week, year) = week_of(moment.date(), Weeks::of(mode));
    Ok(of(week, year).into())
}

fn weekofyear<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    week_answer(c, 3, |week, _| week)
}

fn yearweek<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let mode = week_mode(c, 0) | 2;
    week_answer(c, mode, |week, year| year * 100 + week)
}

fn time_part<'v>(c: &mut Call<'_, 'v>, of: fn(Time) -> i64) -> Answer<'v> {
    Ok(time_argument(c, 0, 6).map_or(NULL, |v| of(v).into()))
}

fn hour<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    time_part(c, |t| t.hours().into())
}

fn minute<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    time_part(c, |t| t.minute().into())
}

fn second<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    time_part(c, |t| t.second().into())
}

fn microsecond<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    time_part(c, |t| t.fraction().into())
}

fn extract<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Extra::Unit(unit) = c.site.extra else { return Ok(NULL) };
    // Of a time these are today's, as far as it lies from today.
    let of_date = matches!(
        unit,
        Unit::Year | Unit::YearMonth | Unit::Quarter | Unit::Month | Unit::Week | Unit::Day
    );
    // Text without a day is a time, whose hours may be days.
    let is_time = c.ty(0).kind == Kind::Time;
    let with_day = has_days(unit) && !matches!(c.datum(0), Datum::Bytes(_));
    let (date, time) = if of_date || !is_time && (with_day || has_day(c, 0)) {
        let Some(moment) = argument(c, 0, MomentForm::FUZZY) else { return Ok(NULL) };
        (moment.date(), moment.time())
    } else {
        let Some(time) = time_argument(c, 0, 6) else { return Ok(NULL) };
        (Date::ZERO, time)
    };
    let (y, mo, d) = (i64::from(date.year()), i64::from(date.month()), i64::from(date.day()));
    let h = i64::from(time.hours());
    let (m, s) = (i64::from(time.minute()), i64::from(time.second()));
    let micros = i64::from(time.fraction());
    let v = match unit {
        Unit::Year => y,
        Unit::YearMonth => y * 100 + mo,
        Unit::Quarter => (mo + 2) / 3,
        Unit::Month => mo,
        Unit::Week => week_of(date, Weeks::of(0)).0,
        Unit::Day => d,
        Unit::DayHour => d * 100 + h,
        Unit::DayMinute => d * 10_000 + h * 100 + m,
        Unit::DaySecond => ((d * 100 + h) * 100 + m) * 100 + s,
        Unit::DayMicrosecond => (((d * 100 + h) * 100 + m) * 100 + s) * 1_000_000 + micros,
        Unit::Hour => h,
        Unit::HourMinute => h * 100 + m,
        Unit::HourSecond => (h * 100 + m) * 100 + s,
        Unit::HourMicrosecond => ((h * 100 + m) * 100 + s) * 1_000_000 + micros,
        Unit::Minute => m,
        Unit::MinuteSecond => m * 100 + s,
        Unit::MinuteMicrosecond => (m * 100 + s) * 1_000_000 + micros,
        Unit::Second => s,
        Unit::SecondMicrosecond => s * 1_000_000 + micros,
        Unit::Microsecond => micros,
    };
    Ok(if time.is_negative() { -v } else { v }.into())
}

fn last_day<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(moment) = argument(c, 0, MomentForm::FUZZY) else { return Ok(NULL) };
    let (year, month) = (moment.date().year(), moment.date().month());
    if month == 0 {
        moments::incorrect(c.env, "datetime", &moment.to_string());
        return Ok(NULL);
    }
    Ok(date_value(Date::new(year, month, days_in_month(year, month))))
}

fn to_days<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(argument(c, 0, MomentForm::MOMENT).map_or(NULL, |v| day_number(v.date()).into()))
}

fn to_seconds<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(v) = argument(c, 0, MomentForm::MOMENT) else { return Ok(NULL) };
    let seconds = v.truncate(0).micros_of_day() / MICROS_PER_SECOND;
    Ok((day_number(v.date()) * 86_400 + seconds).into())
}

fn from_days<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    /// Before it MySQL gives the zero date.
    const FIRST: i64 = 366;
    let days = c.int(0);
    let date = if days < FIRST { Some(Date::ZERO) } else { from_day_number(days) };
    Ok(date_value(date))
}

fn makedate<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (year, day) = (c.int(0), c.int(1));
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        100..=9999 => year,
        _ => return Ok(NULL),
    };
    if day <= 0 {
        return Ok(NULL);
    }
    let first = Date::new(year as u16, 1, 1).map_or(0, day_number);
    Ok(date_value(from_day_number(first.saturating_add(day - 1))))
}

/// A decimal as microseconds.
fn micros_of(v: &Decimal, cut: bool) -> i128 {
    let million = Decimal::from_i128(1_000_000, 0);
    let v = if cut { Some(*v) } else { v.round(6) };
    v.and_then(|v| v.mul(&million)).and_then(|v| v.trunc_to_i128()).unwrap_or(i128::MAX)
}

fn maketime<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (hours, minutes) = (c.integer(0), c.integer(1));
    let micros = micros_of(&c.decimal(2), moments::truncates(c.env));
    let second = i128::from(MICROS_PER_SECOND);
    if !(0..60).contains(&minutes) || !(0..60 * second).contains(&micros) {
        return Ok(NULL);
    }
    let digits = shown(c);
    let all = (hours.unsigned_abs() as i128 * 60 + minutes) * 60 * second + micros;
    let all = if hours < 0 { -all } else { all };
    Ok(limited(c, all, digits))
}

/// A time within its limits; warning 1292 when it is beyond.
fn limited<'v>(c: &mut Call<'_, 'v>, micros: i128, digits: u8) -> Value<'v> {
    let micros = micros.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    let (time, beyond) = Time::saturated(micros, digits);
    if beyond {
        let seconds = micros.unsigned_abs() / MICROS_PER_SECOND as u64;
        let sign = if micros < 0 { "-" } else { "" };
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let shown = format!("{sign}{h:02}:{m:02}:{s:02}");
        super::call::incorrect(c.env, "time", shown.as_bytes());
    }
    Value::Datum(Datum::Time(time))
}

fn sec_to_time<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let v = c.decimal(0);
    let digits = shown(c);
    let micros = micros_of(&v, moments::truncates(c.env));
    let beyond = micros.unsigned_abs() > value::time::TIME_MICROS_MAX as u128;
    if beyond {
        super::call::incorrect(c.env, "time", v.to_string().as_bytes());
    }
    let micros = micros.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    Ok(Value::Datum(Datum::Time(Time::saturated(micros, digits).0)))
}

fn time_to_sec<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(time_argument(c, 0, 6).map_or(NULL, |v| (v.micros() / MICROS_PER_SECOND).into()))
}

fn datediff<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (Some(a), Some(b)) =
        (argument(c, 0, MomentForm::MOMENT), argument(c, 1, MomentForm::MOMENT))
    else {
        return Ok(NULL);
    };
    Ok((day_number(a.date()) - day_number(b.date())).into())
}

/// Whether a value is a date and time, or text that has one.
fn has_date(c: &Call<'_, '_>, n: usize) -> bool {
    match c.datum(n) {
        Datum::Date(_) | Datum::DateTime(_) => true,
        Datum::Bytes(text) => value::time::parse::time(text).is_ok_and(|read| read.had_date),
        _ => false,
    }
}

/// As [`has_date`]; text like `2024-01-02` is a date, too, and a number that is too large for a time.
fn has_day(c: &Call<'_, '_>, n: usize) -> bool {
    let text = match c.datum(n) {
        Datum::Bytes(text) => text,
        Datum::Int(v) => return is_day(v),
        Datum::Decimal(v) => {
            let whole = v.truncate(0).trunc_to_i128().and_then(|v| i64::try_from(v).ok());
            return whole.is_some_and(is_day);
        }
        _ => return has_date(c, n),
    };
    let dashes = text.iter().skip(1).filter(|b| **b == b'-').count();
    let date = dashes == 2 && !text.contains(&b':');
    date && value::time::parse::date_time(text, Default::default()).is_ok() || has_date(c, n)
}

/// Whether the digits of a number are a date, and none of a time.
fn is_day(number: i64) -> bool {
    /// 838:59:59
    const TIME_MAX: i64 = 8_385_959;
    number > TIME_MAX
        && value::time::parse::date_time_of_number(number, 0, Default::default()).is_ok()
}

fn timediff<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let digits = shown(c);
    let (a, b) = (has_day(c, 0), has_day(c, 1));
    if a != b {
        return Ok(NULL);
    }
    let micros = if a {
        let (Some(a), Some(b)) =
            (argument(c, 0, MomentForm::MOMENT), argument(c, 1, MomentForm::MOMENT))
        else {
            return Ok(NULL);
        };
        i128::from(a.micros_since(b))
    } else {
        let (Some(a), Some(b)) = (time_argument(c, 0, 6), time_argument(c, 1, 6)) else {
            return Ok(NULL);
        };
        i128::from(a.micros()) - i128::from(b.micros())
    };
    Ok(limited(c, micros, digits))
}

fn shift<'v>(c: &mut Call<'_, 'v>, sign: i64) -> Answer<'v> {
    if has_date(c, 1) {
        return Ok(NULL);
    }
    let Some(span) = time_argument(c, 1, 6) else { return Ok(NULL) };
    let text = c.site.ty.kind.is_string();
    let interval = Interval::seconds(0, sign * span.micros());
    let dated =
        has_date(c, 0) || matches!(c.ty(0).kind, Kind::Date | Kind::DateTime | Kind::Timestamp);
    if dated {
        let Some(moment) = argument(c, 0, MomentForm::MOMENT) else { return Ok(NULL) };
        let sum = moment.add(interval, 6);
        return Ok(match (text, sum) {
            (true, Some(v)) => in_text(v.micros(), v).into(),
            _ => typed(c, sum),
        });
    }
    let Some(time) = time_argument(c, 0, 6) else { return Ok(NULL) };
    let micros = i128::from(time.micros()) + i128::from(sign * span.micros());
    if text {
        let whole = micros % 1_000_000 == 0;
        let time = limited(c, micros, if whole { 0 } else { 6 });
        return Ok(value::format::to_text(&time.get()).into());
    }
    let digits = shown(c);
    Ok(limited(c, micros, digits))
}

/// A moment as text, with six digits or none.
fn in_text(micros: u32, v: DateTime) -> String {
    let digits = if micros == 0 { 0 } else { 6 };
    DateTime::from_packed(v.packed(), digits).map_or_else(String::new, |v| v.to_string())
}

fn addtime<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    shift(c, 1)
}

fn subtime<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    shift(c, -1)
}

fn timestampdiff<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Extra::Unit(unit) = c.site.extra else { return Ok(NULL) };
    let (Some(a), Some(b)) =
        (argument(c, 0, MomentForm::MOMENT), argument(c, 1, MomentForm::MOMENT))
    else {
        return Ok(NULL);
    };
    let (micros, months) = (b.micros_since(a), b.months_since(a));
    Ok(match unit {
        Unit::Year => months / 12,
        Unit::Quarter => months / 3,
        Unit::Month => months,
        Unit::Week => micros / (7 * 86_400 * MICROS_PER_SECOND),
        Unit::Day => micros / (86_400 * MICROS_PER_SECOND),
        Unit::Hour => micros / (3600 * MICROS_PER_SECOND),
        Unit::Minute => micros / (60 * MICROS_PER_SECOND),
        Unit::Second => micros / MICROS_PER_SECOND,
        _ => micros,
    }
    .into())
}

/// Months of a period YYMM or YYYYMM.
fn months(period: i64) -> Option<i64> {
    let (year, month) = (period / 100, period % 100);
    if period <= 0 || !(1..=12).contains(&month) {
        return None;
    }
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    Some(year * 12 + month - 1)
}

fn bad_period(name: &str) -> SqlError {
    Refused::WrongArguments(name).into()
}

fn period_add<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (period, count) = (c.int(0), c.int(1));
    // MySQL counts unsigned and lets the number wrap: the answer then means nothing, here as there.
    let months = months(period).ok_or_else(|| bad_period("period_add"))?.wrapping_add(count) as u64;
    Ok(((months / 12).wrapping_mul(100).wrapping_add(months % 12 + 1) as i64).into())
}

fn period_diff<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (a, b) = (months(c.int(0)), months(c.int(1)));
    let (a, b) = a.zip(b).ok_or_else(|| bad_period("period_diff"))?;
    Ok((a - b).into())
}

fn unix_timestamp<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.len() == 0 {
        return Ok((c.env.now_us() / MICROS_PER_SECOND).into());
    }
    let micros = argument(c, 0, MomentForm::MOMENT)
        .filter(|v| !v.date().has_zero())
        .and_then(|v| c.env.time_zone().to_utc(v))
        .map_or(0, |(micros, _)| micros);
    /// The end of the year 3001, beyond which there is no answer.
    const LAST: i64 = 32_536_771_199 * MICROS_PER_SECOND + 999_999;
    let micros = if (0..=LAST).contains(&micros) { micros } else { 0 };
    Ok(match c.site.ty.kind {
        Kind::Decimal => {
            let exact = Decimal::from_i128(micros.into(), 6).truncate(shown(c).into());
            exact.into()
        }
        _ => (micros / MICROS_PER_SECOND).into(),
    })
}

fn convert_tz<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(moment) = argument(c, 0, MomentForm::MOMENT) else { return Ok(NULL) };
    let (from, to) = (c.text(1), c.text(2));
    let zone = |name: &[u8]| TimeZone::named(&String::from_utf8_lossy(name));
    let (Some(from), Some(to)) = (zone(&from), zone(&to)) else { return Ok(NULL) };
    let Some((micros, _)) = from.to_utc(moment) else { return Ok(NULL) };
    // Outside of TIMESTAMP's range nothing is converted.
    if !(0..=32_536_771_199 * MICROS_PER_SECOND).contains(&micros) {
        return Ok(typed(c, Some(moment)));
    }
    Ok(typed(c, to.to_local(micros, 6)))
}

/// The interval of a call's second argument; `None` when it is no number, which warns.
fn interval(c: &mut Call<'_, '_>, unit: Unit) -> Option<Interval> {
    if unit == Unit::Second && !c.ty(1).kind.is_int() {
        let micros = micros_of(&c.decimal(1), moments::truncates(c.env));
        return Some(Interval { months: 0, micros });
    }
    if unit.is_simple() {
        let count = match c.datum(1) {
            // MySQL takes its bits for a signed number.
            Datum::UInt(v) => v as i64,
            Datum::Bytes(_) => c.integer(1) as i64,
            _ => c.int(1),
        };
        return Some(Interval::whole(unit, count));
    }
    let text = c.text(1);
    let read = Interval::compound(unit, &text);
    if read.is_none() {
        let shown = String::from_utf8_lossy(&text).into_owned();
        moments::incorrect(c.env, "INTERVAL", &shown);
    }
    read
}

fn shifted<'v>(c: &mut Call<'_, 'v>, negative: bool) -> Answer<'v> {
    let Extra::Unit(unit) = c.site.extra else { return Ok(NULL) };
    if c.site.ty.kind == Kind::Time {
        let (Some(time), Some(span)) = (time_argument(c, 0, 6), interval(c, unit)) else {
            return Ok(NULL);
        };
        let span = if negative { span.neg() } else { span };
        let sum = time.add(span, shown(c));
        if sum.is_none() {
            overflow(c, "time");
        }
        return Ok(time_value(sum));
    }
    let Some(moment) = argument(c, 0, MomentForm::MOMENT) else { return Ok(NULL) };
    let Some(span) = interval(c, unit) else { return Ok(NULL) };
    let span = if negative { span.neg() } else { span };
    if moment.date().has_zero() {
        moments::incorrect(c.env, "datetime", &moment.to_string());
        return Ok(NULL);
    }
    let Some(sum) = moment.add(span, 6) else {
        overflow(c, "datetime");
        return Ok(NULL);
    };
    Ok(match c.site.ty.kind {
        Kind::Date => date_value(Some(sum.date())),
        Kind::DateTime => typed(c, Some(sum)),
        _ => {
            let dated = span.micros % i128::from(value::time::MICROS_PER_DAY) == 0
                && text_is_date(c)
                && sum.micros_of_day() == 0;
            match dated && only_days(unit) {
                true => sum.date().to_string().into(),
                false => in_text(sum.micros(), sum).into(),
            }
        }
    })
}

fn only_days(unit: Unit) -> bool {
    matches!(
        unit,
        Unit::Day | Unit::Week | Unit::Month | Unit::Quarter | Unit::Year | Unit::YearMonth
    )
}

/// Whether the first argument is a date without a time.
fn text_is_date(c: &Call<'_, '_>) -> bool {
    let rules = value::time::DateRules::default();
    let number = |v: i64| {
        value::time::parse::date_time_of_number(v, 0, rules).is_ok_and(|read| read.date_only)
    };
    match c.datum(0) {
        Datum::Bytes(text) => value::time::parse::date_time(text, rules).is_ok_and(|r| r.date_only),
        Datum::Int(v) => number(v),
        Datum::Decimal(v) => v.trunc_to_i128().and_then(|v| v.try_into().ok()).is_some_and(number),
        Datum::Double(v) => number(v as i64),
        _ => false,
    }
}

fn overflow(c: &mut Call<'_, '_>, kind: &str) {
    let text = format!("Datetime function: {kind} field overflow");
    c.env.warn(crate::WarningLevel::Warning, 1441, text);
}

fn add_interval<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    shifted(c, false)
}

fn sub_interval<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    shifted(c, true)
}
