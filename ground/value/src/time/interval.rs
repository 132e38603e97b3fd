//! Intervals and the arithmetic of dates with them.
//!
//! 1. Years and months keep the day, or take the month's last one; all other units count exact time.
//! 2. What leaves the years 0 to 9999 has no result (NULL with warning 1441).

use super::{Date, DateTime, FSP_MAX, MICROS_PER_DAY, MICROS_PER_SECOND, Time, YEAR_MAX};
use super::{day_number, days_in_month, from_day_number};

/// The unit of an INTERVAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are SQL's.
pub enum Unit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl Unit {
    /// Whether its interval is one number: no unit that joins two.
    #[must_use]
    pub fn is_simple(self) -> bool {
        matches!(
            self,
            Unit::Microsecond
                | Unit::Second
                | Unit::Minute
                | Unit::Hour
                | Unit::Day
                | Unit::Week
                | Unit::Month
                | Unit::Quarter
                | Unit::Year
        )
    }

    /// The unit with this SQL name, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Unit> {
        let units = [
            ("MICROSECOND", Unit::Microsecond),
            ("SECOND", Unit::Second),
            ("MINUTE", Unit::Minute),
            ("HOUR", Unit::Hour),
            ("DAY", Unit::Day),
            ("WEEK", Unit::Week),
            ("MONTH", Unit::Month),
            ("QUARTER", Unit::Quarter),
            ("YEAR", Unit::Year),
            ("SECOND_MICROSECOND", Unit::SecondMicrosecond),
            ("MINUTE_MICROSECOND", Unit::MinuteMicrosecond),
            ("MINUTE_SECOND", Unit::MinuteSecond),
            ("HOUR_MICROSECOND", Unit::HourMicrosecond),
            ("HOUR_SECOND", Unit::HourSecond),
            ("HOUR_MINUTE", Unit::HourMinute),
            ("DAY_MICROSECOND", Unit::DayMicrosecond),
            ("DAY_SECOND", Unit::DaySecond),
            ("DAY_MINUTE", Unit::DayMinute),
            ("DAY_HOUR", Unit::DayHour),
            ("YEAR_MONTH", Unit::YearMonth),
        ];
        units.into_iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, unit)| unit)
    }

    /// Whether a DATE plus an interval of this unit has a time of day.
    #[must_use]
    pub const fn has_time(self) -> bool {
        !matches!(
            self,
            Unit::Day | Unit::Week | Unit::Month | Unit::Quarter | Unit::Year | Unit::YearMonth
        )
    }

    /// Whether the unit shows microseconds.
    #[must_use]
    pub const fn has_micros(self) -> bool {
        matches!(
            self,
            Unit::Microsecond
                | Unit::SecondMicrosecond
                | Unit::MinuteMicrosecond
                | Unit::HourMicrosecond
                | Unit::DayMicrosecond
        )
    }

    /// Whether the interval's value is text of several numbers.
    #[must_use]
    pub const fn is_compound(self) -> bool {
        !self.parts().is_empty()
    }

    /// The units of a compound unit's numbers, the first largest.
    const fn parts(self) -> &'static [Unit] {
        use Unit as U;
        match self {
            U::SecondMicrosecond => &[U::Second, U::Microsecond],
            U::MinuteMicrosecond => &[U::Minute, U::Second, U::Microsecond],
            U::MinuteSecond => &[U::Minute, U::Second],
            U::HourMicrosecond => &[U::Hour, U::Minute, U::Second, U::Microsecond],
            U::HourSecond => &[U::Hour, U::Minute, U::Second],
            U::HourMinute => &[U::Hour, U::Minute],
            U::DayMicrosecond => &[U::Day, U::Hour, U::Minute, U::Second, U::Microsecond],
            U::DaySecond => &[U::Day, U::Hour, U::Minute, U::Second],
            U::DayMinute => &[U::Day, U::Hour, U::Minute],
            U::DayHour => &[U::Day, U::Hour],
            U::YearMonth => &[U::Year, U::Month],
            _ => &[],
        }
    }
}

/// A span of months and of exact time; both have the same sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Years and months.
    pub months: i64,
    /// Everything else, in microseconds.
    pub micros: i128,
}

impl Interval {
    /// So many units of a simple unit.
    #[must_use]
    pub fn whole(unit: Unit, count: i64) -> Interval {
        let mut interval = Interval::default();
        interval.count(unit, i128::from(count));
        interval
    }

    /// So many seconds and microseconds (of the same sign).
    #[must_use]
    pub fn seconds(seconds: i64, micros: i64) -> Interval {
        let micros = i128::from(seconds) * i128::from(MICROS_PER_SECOND) + i128::from(micros);
        Interval { months: 0, micros }
    }

    /// A compound unit's text: its numbers between anything else, a sign before the first. Fewer
    /// numbers than parts are the smallest parts. `None`: too many numbers, or none fits 63 bits.
    #[must_use]
    pub fn compound(unit: Unit, text: &[u8]) -> Option<Interval> {
        let parts = unit.parts();
        let start = text.iter().position(|b| *b == b'-' || b.is_ascii_digit());
        let text = &text[start.unwrap_or(text.len())..];
        let negative = text.first() == Some(&b'-');
        let mut numbers = Vec::new();
        for piece in text.split(|b| !b.is_ascii_digit()).filter(|p| !p.is_empty()) {
            let value = std::str::from_utf8(piece).ok()?.parse::<i64>().ok()?;
            numbers.push((value, piece.len()));
        }
        if numbers.len() > parts.len() {
            return None;
        }
        let mut interval = Interval::default();
        let skipped = parts.len() - numbers.len();
        for (&part, &(value, digits)) in parts[skipped..].iter().zip(&numbers) {
            // Microseconds behind a point are a fraction: .5 is half a second.
            let scaled = if part == Unit::Microsecond && digits < usize::from(FSP_MAX) {
                i128::from(value) * 10i128.pow((usize::from(FSP_MAX) - digits) as u32)
            } else {
                i128::from(value)
            };
            interval.count(part, scaled);
        }
        Some(if negative { interval.neg() } else { interval })
    }

    fn count(&mut self, unit: Unit, n: i128) {
        let second = i128::from(MICROS_PER_SECOND);
        let each = match unit {
            Unit::Microsecond => 1,
            Unit::Second => second,
            Unit::Minute => 60 * second,
            Unit::Hour => 3600 * second,
            Unit::Day => 86_400 * second,
            Unit::Week => 7 * 86_400 * second,
            _ => 0,
        };
        self.micros += n * each;
        let months = match unit {
            Unit::Month => 1,
            Unit::Quarter => 3,
            Unit::Year => 12,
            _ => 0,
        };
        let add =
            i64::try_from(n * months).unwrap_or(if n < 0 { i64::MIN / 4 } else { i64::MAX / 4 });
        self.months = self.months.saturating_add(add);
    }

    /// The interval turned round its sign.
    // Not an operator, since nothing else of an interval is.
    #[allow(clippy::should_implement_trait)]
    #[must_use]
    pub fn neg(self) -> Interval {
        Interval { months: self.months.saturating_neg(), micros: -self.micros }
    }
}

impl Date {
    /// The date so many months later; the month's last day if it has not so many. `None` outside the
    /// years 0 to 9999.
    #[must_use]
    pub fn add_months(self, months: i64) -> Option<Date> {
        let all = i64::from(self.year()) * 12 + i64::from(self.month()) - 1;
        let all = all.checked_add(months).filter(|v| *v >= 0)?;
        let year = u16::try_from(all / 12).ok().filter(|y| *y <= YEAR_MAX)?;
        let month = (all % 12) as u8 + 1;
        Date::new(year, month, self.day().min(days_in_month(year, month)))
    }
}

impl DateTime {
    /// The moment with an interval added, showing `fsp` digits at most 6. `None`: outside the years
    /// 0 to 9999, or exact time on a date that the calendar does not have.
    #[must_use]
    pub fn add(self, interval: Interval, fsp: u8) -> Option<DateTime> {
        let mut date = self.date();
        if interval.months != 0 {
            date = date.add_months(interval.months)?;
        }
        if interval.micros == 0 {
            return DateTime::of_day(date, self.micros_of_day(), fsp);
        }
        let all = day_number(date) * MICROS_PER_DAY + self.micros_of_day();
        // What has no room in 64 bits is beyond the year 9999 by far.
        let all = i64::try_from(i128::from(all).checked_add(interval.micros)?).ok()?;
        let days = from_day_number(all.div_euclid(MICROS_PER_DAY))?;
        DateTime::of_day(days, all.rem_euclid(MICROS_PER_DAY), fsp)
    }

    /// Microseconds from `earlier` to `self`, by the calendar's day numbers.
    #[must_use]
    pub fn micros_since(self, earlier: DateTime) -> i64 {
        let days = day_number(self.date()) - day_number(earlier.date());
        days * MICROS_PER_DAY + self.micros_of_day() - earlier.micros_of_day()
    }

    /// Whole months from `earlier` to `self` (TIMESTAMPDIFF's).
    #[must_use]
    pub fn months_since(self, earlier: DateTime) -> i64 {
        if self.packed() < earlier.packed() {
            return -earlier.months_since(self);
        }
        let month = |t: DateTime| i64::from(t.date().year()) * 12 + i64::from(t.date().month());
        let rest = |t: DateTime| (t.date().day(), t.micros_of_day());
        month(self) - month(earlier) - i64::from(rest(self) < rest(earlier))
    }
}

impl Time {
    /// The span with exact time added; `None` beyond the longest span or for months.
    #[must_use]
    pub fn add(self, interval: Interval, fsp: u8) -> Option<Time> {
        if interval.months != 0 {
            return None;
        }
        let all = i128::from(self.micros()).checked_add(interval.micros)?;
        let all = i64::try_from(all).ok()?;
        Time::from_micros(all, fsp)
    }

    /// The moment that is this span after midnight of `day`.
    #[must_use]
    pub fn on(self, day: Date) -> Option<DateTime> {
        let interval = Interval { months: 0, micros: i128::from(self.micros()) };
        day.midnight().add(interval, self.fsp())
    }
}

#[cfg(test)]
mod tests {
    use super::super::DateRules;
    use super::super::parse::date_time;
    use super::*;

    fn at(s: &str) -> DateTime {
        date_time(s.as_bytes(), DateRules::default()).unwrap().value
    }

    #[test]
    fn months_clip_and_days_carry() {
        let add = |s: &str, unit, n| at(s).add(Interval::whole(unit, n), 0).map(|t| t.to_string());
        let some = |s: &str| Some(s.to_owned());
        assert_eq!(add("2024-01-31", Unit::Month, 1), some("2024-02-29 00:00:00"));
        assert_eq!(add("2024-02-29", Unit::Year, 1), some("2025-02-28 00:00:00"));
        assert_eq!(add("2024-12-31 23:00:00", Unit::Hour, 2), some("2025-01-01 01:00:00"));
        assert_eq!(add("2024-03-01", Unit::Day, -1), some("2024-02-29 00:00:00"));
        assert_eq!(add("9999-12-31", Unit::Day, 1), None);
        assert_eq!(add("0000-01-01", Unit::Day, -1), None);
        assert_eq!(add("2024-01-01", Unit::Second, i64::MAX), None);
        assert_eq!(add("2024-01-01", Unit::Year, i64::MAX), None);
    }

    #[test]
    fn compound_units_take_the_smallest_parts_first() {
        let of = |unit, s: &str| Interval::compound(unit, s.as_bytes()).unwrap().micros;
        let second = i128::from(MICROS_PER_SECOND);
        assert_eq!(of(Unit::DaySecond, "1 2:3:4"), (93_784) * second);
        assert_eq!(of(Unit::DaySecond, "3:4"), 184 * second);
        assert_eq!(of(Unit::SecondMicrosecond, "1.5"), 1_500_000);
        assert_eq!(of(Unit::HourMinute, "-1:30"), -5400 * second);
        assert_eq!(Interval::compound(Unit::YearMonth, b"1-2").unwrap().months, 14);
        assert!(Interval::compound(Unit::YearMonth, b"1-2-3").is_none());
    }

    #[test]
    fn differences() {
        assert_eq!(at("2024-03-01").months_since(at("2024-01-31")), 1);
        assert_eq!(at("2024-01-31").months_since(at("2024-03-01")), -1);
        assert_eq!(at("2024-01-02").micros_since(at("2024-01-01 12:00:00")), MICROS_PER_DAY / 2);
    }
}
