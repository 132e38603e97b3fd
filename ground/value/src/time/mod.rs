//! Dates and times: values, text and number forms, intervals and time zones.
//!
//! Invariants
//! 1. A date may be zero, or have month 0 or day 0, or a day that its month does not have: which of
//!    them are stored is the SQL mode's business ([`Date::check`]). Years are 0 to 9999.
//! 2. A time span is within ±838:59:59; it has no negative zero.
//! 3. `fsp` is how many digits of the second's fraction the value shows; digits beyond it are zero.
//!    Values compare by time alone ([`DateTime::packed`], [`Time::micros`]).

mod calendar;
mod format;
mod interval;
pub mod parse;
pub mod zone;

pub use calendar::{day_number, days_in_month, from_day_number};
pub use interval::{Interval, Unit};
pub use parse::{BadTime, DateTimeText, TimeText};
pub use zone::TimeZone;

/// Most digits of a second's fraction.
pub const FSP_MAX: u8 = 6;

/// Microseconds of the last digit behind the second, by their number.
const FSP_UNITS: [u32; FSP_MAX as usize + 1] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
/// The longest time span, in microseconds: 838:59:59.
pub const TIME_MICROS_MAX: i64 = ((838 * 60 + 59) * 60 + 59) * MICROS_PER_SECOND;
/// Microseconds of a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// The largest year.
pub const YEAR_MAX: u16 = 9999;

/// A date. Packed in 23 bits whose order is the order of dates: year, month (4 bits), day (5 bits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(u32);

impl Date {
    /// 0000-00-00.
    pub const ZERO: Date = Date(0);

    /// A date of these parts; `None` when a part is beyond 9999, 12 or 31. Zeros are taken.
    #[must_use]
    pub const fn new(year: u16, month: u8, day: u8) -> Option<Date> {
        if year > YEAR_MAX || month > 12 || day > 31 {
            return None;
        }
        Some(Date((year as u32) << 9 | (month as u32) << 5 | day as u32))
    }

    /// The packed form.
    #[inline]
    #[must_use]
    pub const fn packed(self) -> u32 {
        self.0
    }

    /// The date with this packed form; `None` when it is none.
    #[must_use]
    pub const fn from_packed(v: u32) -> Option<Date> {
        if v >> 23 != 0 {
            return None;
        }
        Date::new((v >> 9) as u16, (v >> 5 & 15) as u8, (v & 31) as u8)
    }

    /// Year, 0 to 9999.
    #[must_use]
    pub const fn year(self) -> u16 {
        (self.0 >> 9) as u16
    }

    /// Month, 0 to 12.
    #[must_use]
    pub const fn month(self) -> u8 {
        (self.0 >> 5 & 15) as u8
    }

    /// Day, 0 to 31.
    #[must_use]
    pub const fn day(self) -> u8 {
        (self.0 & 31) as u8
    }

    /// Whether this is 0000-00-00.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether month or day is zero.
    #[must_use]
    pub const fn has_zero(self) -> bool {
        self.month() == 0 || self.day() == 0
    }

    /// Whether the calendar has this day.
    #[must_use]
    pub const fn is_real(self) -> bool {
        !self.has_zero() && self.day() <= days_in_month(self.year(), self.month())
    }

    /// Whether the rules take this date.
    #[must_use]
    pub const fn check(self, rules: DateRules) -> bool {
        if self.is_zero() {
            return !rules.no_zero_date;
        }
        if self.has_zero() {
            return !rules.no_zero_in_date;
        }
        rules.allow_invalid || self.day() <= days_in_month(self.year(), self.month())
    }

    /// As a number: 20240131.
    #[must_use]
    pub const fn to_number(self) -> i64 {
        self.year() as i64 * 10_000 + self.month() as i64 * 100 + self.day() as i64
    }

    /// Midnight of the day.
    #[must_use]
    pub const fn midnight(self) -> DateTime {
        DateTime { packed: (self.0 as u64) << TIME_BITS, fsp: 0 }
    }
}

/// Which dates are taken: the SQL mode's NO_ZERO_DATE, NO_ZERO_IN_DATE and ALLOW_INVALID_DATES.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DateRules {
    /// 0000-00-00 is refused.
    pub no_zero_date: bool,
    /// Month 0 and day 0 are refused.
    pub no_zero_in_date: bool,
    /// Every day up to 31 is taken in every month.
    pub allow_invalid: bool,
}

/// Bits of the time of day in a packed [`DateTime`]: 5 + 6 + 6 and 20 for microseconds.
const TIME_BITS: u32 = 37;
const MICRO_BITS: u32 = 20;

/// A date and a time of day. Packed in 60 bits whose order is the order of time: the date, hour (5
/// bits), minute (6), second (6), microsecond (20).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DateTime {
    packed: u64,
    fsp: u8,
}

impl DateTime {
    /// 0000-00-00 00:00:00.
    pub const ZERO: DateTime = DateTime { packed: 0, fsp: 0 };

    /// `None` when a part is beyond 23, 59, 59 or 999,999. `fsp` above 6 counts as 6; digits beyond
    /// it are cut off.
    #[must_use]
    pub const fn new(
        date: Date,
        hour: u8,
        minute: u8,
        second: u8,
        micros: u32,
        fsp: u8,
    ) -> Option<DateTime> {
        if hour > 23 || minute > 59 || second > 59 || micros > 999_999 {
            return None;
        }
        let fsp = if fsp > FSP_MAX { FSP_MAX } else { fsp };
        let micros = micros - micros % FSP_UNITS[fsp as usize];
        let time = (hour as u64) << 32 | (minute as u64) << 26 | (second as u64) << 20;
        let packed = (date.packed() as u64) << TIME_BITS | time | micros as u64;
        Some(DateTime { packed, fsp })
    }

    /// The packed form, without `fsp`.
    #[inline]
    #[must_use]
    pub const fn packed(self) -> u64 {
        self.packed
    }

    /// The value with this packed form; `None` when it is none.
    #[must_use]
    pub const fn from_packed(v: u64, fsp: u8) -> Option<DateTime> {
        if v >> (TIME_BITS + 23) != 0 {
            return None;
        }
        let Some(date) = Date::from_packed((v >> TIME_BITS) as u32) else { return None };
        let (hour, minute) = ((v >> 32 & 31) as u8, (v >> 26 & 63) as u8);
        let (second, micros) = ((v >> 20 & 63) as u8, (v & ((1 << MICRO_BITS) - 1)) as u32);
        DateTime::new(date, hour, minute, second, micros, fsp)
    }

    /// The date.
    #[must_use]
    pub const fn date(self) -> Date {
        Date((self.packed >> TIME_BITS) as u32)
    }

    /// Hour, 0 to 23.
    #[must_use]
    pub const fn hour(self) -> u8 {
        (self.packed >> 32 & 31) as u8
    }

    /// Minute.
    #[must_use]
    pub const fn minute(self) -> u8 {
        (self.packed >> 26 & 63) as u8
    }

    /// Second.
    #[must_use]
    pub const fn second(self) -> u8 {
        (self.packed >> 20 & 63) as u8
    }

    /// The second's fraction in microseconds.
    #[must_use]
    pub const fn micros(self) -> u32 {
        (self.packed & ((1 << MICRO_BITS) - 1)) as u32
    }

    /// How many digits of the fraction are shown.
    #[must_use]
    pub const fn fsp(self) -> u8 {
        self.fsp
    }

    /// Whether this is 0000-00-00 00:00:00.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.packed == 0
    }

    /// Microseconds since midnight.
    #[must_use]
    pub const fn micros_of_day(self) -> i64 {
        let seconds = (self.hour() as i64 * 60 + self.minute() as i64) * 60 + self.second() as i64;
        seconds * MICROS_PER_SECOND + self.micros() as i64
    }

    /// The time of day.
    #[must_use]
    pub const fn time(self) -> Time {
        Time { micros: self.micros_of_day(), fsp: self.fsp }
    }

    /// The day's `micros` since midnight, which must be below a day.
    #[must_use]
    pub const fn of_day(date: Date, micros: i64, fsp: u8) -> Option<DateTime> {
        if micros < 0 || micros >= MICROS_PER_DAY {
            return None;
        }
        let seconds = micros / MICROS_PER_SECOND;
        let (hour, minute) = ((seconds / 3600) as u8, (seconds / 60 % 60) as u8);
        let fraction = (micros % MICROS_PER_SECOND) as u32;
        DateTime::new(date, hour, minute, (seconds % 60) as u8, fraction, fsp)
    }

    /// The whole seconds as a number: 20240131235959.
    #[must_use]
    pub const fn to_number(self) -> i64 {
        let time = self.hour() as i64 * 10_000 + self.minute() as i64 * 100 + self.second() as i64;
        self.date().to_number() * 1_000_000 + time
    }

    /// The same moment showing `fsp` digits, cut off.
    #[must_use]
    pub const fn truncate(self, fsp: u8) -> DateTime {
        let fsp = if fsp > FSP_MAX { FSP_MAX } else { fsp };
        let cut = self.micros() % FSP_UNITS[fsp as usize];
        DateTime { packed: self.packed - cut as u64, fsp }
    }

    /// The moment rounded half up to `fsp` digits; `None` when that is after the year 9999 or would
    /// carry out of a date that the calendar does not have.
    #[must_use]
    pub fn round(self, fsp: u8) -> Option<DateTime> {
        let fsp = fsp.min(FSP_MAX);
        let unit = FSP_UNITS[usize::from(fsp)];
        let rest = self.micros() % unit;
        if rest < unit.div_ceil(2) || unit == 1 {
            return Some(self.truncate(fsp));
        }
        let micros = self.micros_of_day() - i64::from(rest) + i64::from(unit);
        if micros < MICROS_PER_DAY {
            return DateTime::of_day(self.date(), micros, fsp);
        }
        let date = self.date();
        let next = if date.is_real() { from_day_number(day_number(date) + 1) } else { None };
        DateTime::of_day(next?, 0, fsp)
    }

    /// The same moment said to show `fsp` digits, which must be enough for it.
    #[must_use]
    pub const fn with_fsp(self, fsp: u8) -> DateTime {
        self.truncate(fsp)
    }
}

/// A time span or a time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Time {
    micros: i64,
    fsp: u8,
}

impl Time {
    /// 00:00:00.
    pub const ZERO: Time = Time { micros: 0, fsp: 0 };

    /// `None` beyond ±838:59:59. Digits beyond `fsp` are cut off.
    #[must_use]
    pub const fn from_micros(micros: i64, fsp: u8) -> Option<Time> {
        if micros > TIME_MICROS_MAX || micros < -TIME_MICROS_MAX {
            return None;
        }
        let fsp = if fsp > FSP_MAX { FSP_MAX } else { fsp };
        let unit = FSP_UNITS[fsp as usize] as i64;
        Some(Time { micros: micros - micros % unit, fsp })
    }

    /// As [`Time::from_micros`]; beyond, the longest span (then `true`).
    #[must_use]
    pub fn saturated(micros: i64, fsp: u8) -> (Time, bool) {
        let inside = micros.clamp(-TIME_MICROS_MAX, TIME_MICROS_MAX);
        (Time::from_micros(inside, fsp).unwrap_or(Time::ZERO), inside != micros)
    }

    /// A span of these parts; `None` beyond 838:59:59, or when minute, second or microseconds are too
    /// large.
    #[must_use]
    pub fn new(
        negative: bool,
        hours: u32,
        minute: u8,
        second: u8,
        micros: u32,
        fsp: u8,
    ) -> Option<Time> {
        if minute > 59 || second > 59 || micros > 999_999 {
            return None;
        }
        let seconds = i64::from(hours) * 3600 + i64::from(minute) * 60 + i64::from(second);
        let all = seconds * MICROS_PER_SECOND + i64::from(micros);
        Time::from_micros(if negative { -all } else { all }, fsp)
    }

    /// The span in microseconds.
    #[inline]
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.micros
    }

    /// How many digits of the fraction are shown.
    #[must_use]
    pub const fn fsp(self) -> u8 {
        self.fsp
    }

    /// Whether the span is below zero.
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.micros < 0
    }

    /// Whole hours without the sign, 0 to 838.
    #[must_use]
    pub const fn hours(self) -> u32 {
        (self.micros.unsigned_abs() / (3600 * MICROS_PER_SECOND as u64)) as u32
    }

    /// Minutes within the hour.
    #[must_use]
    pub const fn minute(self) -> u8 {
        (self.micros.unsigned_abs() / (60 * MICROS_PER_SECOND as u64) % 60) as u8
    }

    /// Seconds within the minute.
    #[must_use]
    pub const fn second(self) -> u8 {
        (self.micros.unsigned_abs() / MICROS_PER_SECOND as u64 % 60) as u8
    }

    /// The second's fraction in microseconds.
    #[must_use]
    pub const fn fraction(self) -> u32 {
        (self.micros.unsigned_abs() % MICROS_PER_SECOND as u64) as u32
    }

    /// The whole seconds as a number: -8385959.
    #[must_use]
    pub const fn to_number(self) -> i64 {
        let v = self.hours() as i64 * 10_000 + self.minute() as i64 * 100 + self.second() as i64;
        if self.is_negative() { -v } else { v }
    }

    /// The span showing `fsp` digits, cut off.
    #[must_use]
    pub fn truncate(self, fsp: u8) -> Time {
        Time::from_micros(self.micros, fsp).unwrap_or(Time::ZERO)
    }

    /// The span rounded half away from zero to `fsp` digits; saturates at the longest one.
    #[must_use]
    pub fn round(self, fsp: u8) -> Time {
        let fsp = fsp.min(FSP_MAX);
        let unit = i64::from(FSP_UNITS[usize::from(fsp)]);
        let half = unit / 2;
        let away = if self.micros < 0 { -half } else { half };
        Time::saturated((self.micros + away) / unit * unit, fsp).0
    }
}
