//! Time zones: `SYSTEM`, offsets (`+03:00`) and names (`Europe/Berlin`).

use super::{Date, DateTime, MICROS_PER_DAY, MICROS_PER_SECOND, day_number, from_day_number};
use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone as Rules};

/// The last moment of a TIMESTAMP: 2038-01-19 03:14:07.999999 UTC, in microseconds since 1970.
pub const TIMESTAMP_MICROS_MAX: i64 = i32::MAX as i64 * MICROS_PER_SECOND + 999_999;
/// The first moment of a TIMESTAMP: 1970-01-01 00:00:01 UTC.
pub const TIMESTAMP_MICROS_MIN: i64 = MICROS_PER_SECOND;
/// TO_DAYS('1970-01-01').
const EPOCH_DAY: i64 = 719_528;

/// A session's time zone.
#[derive(Clone, Debug)]
pub struct TimeZone {
    name: String,
    rules: Rules,
}

impl Default for TimeZone {
    fn default() -> TimeZone {
        TimeZone::utc()
    }
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &TimeZone) -> bool {
        self.name == other.name
    }
}

impl TimeZone {
    /// `+00:00`.
    #[must_use]
    pub fn utc() -> TimeZone {
        TimeZone { name: "+00:00".into(), rules: Rules::UTC }
    }

    /// `SYSTEM`: the machine's zone.
    #[must_use]
    pub fn system() -> TimeZone {
        TimeZone { name: "SYSTEM".into(), rules: Rules::system() }
    }

    /// A zone by what `SET time_zone` takes; `None` when there is none (error 1298).
    #[must_use]
    pub fn named(name: &str) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("SYSTEM") {
            return Some(TimeZone::system());
        }
        if let Some(seconds) = offset(name) {
            let rules = Rules::fixed(Offset::from_seconds(seconds).ok()?);
            let sign = if seconds < 0 { '-' } else { '+' };
            let minutes = seconds.abs() / 60;
            let name = format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            return Some(TimeZone { name, rules });
        }
        let rules = Rules::get(name).ok()?;
        Some(TimeZone { name: name.to_owned(), rules })
    }

    /// As `@@time_zone` shows it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Seconds east of UTC at a moment, in microseconds since 1970.
    #[must_use]
    pub fn offset_at(&self, micros: i64) -> i32 {
        let moment = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH);
        self.rules.to_offset(moment).seconds()
    }

    /// The local time of a moment in microseconds since 1970; `None` outside the years 0 to 9999.
    #[must_use]
    pub fn to_local(&self, micros: i64, fsp: u8) -> Option<DateTime> {
        civil(micros + i64::from(self.offset_at(micros)) * MICROS_PER_SECOND, fsp)
    }

    /// The moment of a local time, in microseconds since 1970. Within a gap (clocks go forward) it is
    /// the gap's end, then `true`; of two moments (clocks go back) it is the first. `None`: the
    /// calendar does not have that day.
    #[must_use]
    pub fn to_utc(&self, local: DateTime) -> Option<(i64, bool)> {
        let plain = utc_micros(local)?;
        let at = |seconds: i32| plain - i64::from(seconds) * MICROS_PER_SECOND;
        let Some(civil) = calendar_time(local) else { return Some((plain, false)) };
        match self.rules.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => Some((at(offset.seconds()), false)),
            AmbiguousOffset::Fold { before, .. } => Some((at(before.seconds()), false)),
            AmbiguousOffset::Gap { before, .. } => {
                // The moment the clocks went forward: the first transition after a day before.
                let day_before = at(before.seconds()) - MICROS_PER_DAY;
                let from = Timestamp::from_microsecond(day_before).ok()?;
                let change = self.rules.following(from).next();
                Some((change.map_or(plain, |t| t.timestamp().as_microsecond()), true))
            }
        }
    }

    /// The local time that a kept TIMESTAMP shows; 0 is the zero date.
    #[must_use]
    pub fn shown(&self, micros: i64, fsp: u8) -> DateTime {
        let moment = if micros == 0 { None } else { self.to_local(micros, fsp) };
        moment.unwrap_or(DateTime::ZERO.with_fsp(fsp))
    }

    /// Whether a local time comes twice: clocks go back over it.
    #[must_use]
    pub fn is_repeated(&self, local: DateTime) -> bool {
        calendar_time(local).is_some_and(|civil| {
            let offset = self.rules.to_ambiguous_timestamp(civil).offset();
            matches!(offset, AmbiguousOffset::Fold { .. })
        })
    }
}

/// Whole seconds of a time; `None`: the calendar does not have that day.
fn calendar_time(local: DateTime) -> Option<jiff::civil::DateTime> {
    let date = local.date();
    let (hour, minute, second) = (local.hour(), local.minute(), local.second());
    jiff::civil::DateTime::new(
        date.year() as i16,
        date.month() as i8,
        date.day() as i8,
        hour as i8,
        minute as i8,
        second as i8,
        0,
    )
    .ok()
}

/// Seconds of `+HH:MM`, -13:59 to +14:00.
fn offset(name: &str) -> Option<i32> {
    let negative = name.starts_with('-');
    let rest = name.strip_prefix(['+', '-'])?;
    let (hours, minutes) = rest.split_once(':')?;
    let digits = |s: &str| !s.is_empty() && s.len() <= 2 && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(hours) || !digits(minutes) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let all = hours * 60 + minutes;
    let most = if negative { 13 * 60 + 59 } else { 14 * 60 };
    (minutes <= 59 && all <= most).then_some(if negative { -all * 60 } else { all * 60 })
}

/// The UTC date and time of microseconds since 1970; `None` outside the years 0 to 9999.
#[must_use]
pub fn civil(micros: i64, fsp: u8) -> Option<DateTime> {
    let days = micros.div_euclid(MICROS_PER_DAY) + EPOCH_DAY;
    DateTime::of_day(from_day_number(days)?, micros.rem_euclid(MICROS_PER_DAY), fsp)
}

/// Microseconds since 1970 of a UTC date and time; `None` when the calendar does not have that day.
#[must_use]
pub fn utc_micros(t: DateTime) -> Option<i64> {
    let date: Date = t.date();
    let days = day_number(date) - EPOCH_DAY;
    date.is_real().then(|| days * MICROS_PER_DAY + t.micros_of_day())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: (u16, u8, u8, u8, u8, u8)) -> DateTime {
        let (y, m, d, h, min, s) = text;
        DateTime::new(Date::new(y, m, d).unwrap(), h, min, s, 0, 0).unwrap()
    }

    #[test]
    fn offsets_and_names() {
        for (name, shown) in [("+03:00", "+03:00"), ("-5:30", "-05:30"), ("system", "SYSTEM")] {
            assert_eq!(TimeZone::named(name).unwrap().name(), shown);
        }
        for bad in ["+14:01", "-14:00", "03:00", "+3", "+03:60", "Nowhere/Land", ""] {
            assert!(TimeZone::named(bad).is_none(), "{bad}");
        }
        let zone = TimeZone::named("+03:00").unwrap();
        assert_eq!(zone.to_local(0, 0).unwrap().to_string(), "1970-01-01 03:00:00");
        assert_eq!(zone.to_utc(at((1970, 1, 1, 3, 0, 0))), Some((0, false)));
    }

    #[test]
    fn clocks_go_forward_and_back() {
        let berlin = TimeZone::named("Europe/Berlin").unwrap();
        // 2024-03-31 02:30 does not exist; 03:00 is 01:00 UTC.
        let (gap, adjusted) = berlin.to_utc(at((2024, 3, 31, 2, 30, 0))).unwrap();
        assert_eq!(
            (civil(gap, 0).unwrap().to_string().as_str(), adjusted),
            ("2024-03-31 01:00:00", true)
        );
        // 2024-10-27 02:30 exists twice; the first is summer time.
        let (first, adjusted) = berlin.to_utc(at((2024, 10, 27, 2, 30, 0))).unwrap();
        assert_eq!(
            (civil(first, 0).unwrap().to_string().as_str(), adjusted),
            ("2024-10-27 00:30:00", false)
        );
        assert_eq!(berlin.to_local(first, 0), Some(at((2024, 10, 27, 2, 30, 0))));
        assert_eq!(berlin.to_utc(at((2024, 2, 31, 0, 0, 0))), None);
    }
}
