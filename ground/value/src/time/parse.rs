//! Dates and times out of text and numbers, in all the forms that MySQL takes.
//!
//! 1. A date is digits without delimiters (20240131, 240131235959.5) or numbers between delimiters of any
//! punctuation; a year of two digits is 1970 to 2069. 2. What stands behind is reported, never an error.
//! 3. Digits of the second behind the sixth are kept apart ([`DateTimeText::rest_nanos`]), to round or
//! to cut off. 4. No text and no number panics.

use super::{Date, DateRules, DateTime, FSP_MAX, MICROS_PER_SECOND, TIME_MICROS_MAX, Time};
use super::{from_day_number, zone};

/// Why text or a number is no date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadTime {
    /// Not of any form.
    Form,
    /// Of the form, but no day or time that the rules take.
    Range,
}

/// A date and time read from text or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DateTimeText {
    /// The moment, cut off behind the sixth digit; it shows as many digits as were written. With an
    /// offset (`+02:00`) it is the moment in UTC.
    pub value: DateTime,
    /// Digits 7 to 9 of the second.
    pub rest_nanos: u16,
    /// There was no time of day.
    pub date_only: bool,
    /// Something else stood behind it.
    pub cut: bool,
    /// There was an offset: the value is UTC, not local.
    pub utc: bool,
    /// A delimiter other than `-`, `:`, `.`, one space or `T`, and where it stands (warning 4095), or
    /// one too many (4096, then `true`).
    pub delimiter: Option<(u8, usize, bool)>,
}

/// A time span read from text or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeText {
    /// The span, cut off behind the sixth digit; it shows as many digits as were written. The longest
    /// one when it is beyond.
    pub value: Time,
    /// Digits 7 to 9 of the second.
    pub rest_nanos: u16,
    /// Something else stood behind it.
    pub cut: bool,
    /// It was beyond 838:59:59.
    pub beyond: bool,
    /// It was a whole date and time, whose time of day this is.
    pub had_date: bool,
}

impl DateTimeText {
    /// The moment rounded to `fsp` digits, or cut off; `None` after the year 9999.
    #[must_use]
    pub fn rounded(&self, fsp: u8, truncate: bool) -> Option<DateTime> {
        if truncate {
            return Some(self.value.truncate(fsp));
        }
        let up = fsp >= FSP_MAX && self.rest_nanos >= 500;
        if !up {
            return DateTime::from_packed(self.value.packed(), FSP_MAX)?.round(fsp);
        }
        let micros = self.value.micros_of_day() + 1;
        match DateTime::of_day(self.value.date(), micros, FSP_MAX) {
            Some(v) => Some(v),
            None => {
                let date = self.value.date();
                let next = from_day_number(super::day_number(date) + 1).filter(|_| date.is_real());
                DateTime::of_day(next?, 0, FSP_MAX)
            }
        }
    }
}

impl TimeText {
    /// The span rounded to `fsp` digits, or cut off.
    #[must_use]
    pub fn rounded(&self, fsp: u8, truncate: bool) -> Time {
        let value = Time::from_micros(self.value.micros(), FSP_MAX).unwrap_or(Time::ZERO);
        if truncate {
            return value.truncate(fsp);
        }
        if fsp < FSP_MAX || self.rest_nanos < 500 {
            return value.round(fsp);
        }
        let away = if value.is_negative() { -1 } else { 1 };
        Time::saturated(value.micros() + away, fsp).0
    }
}

fn digits(s: &[u8]) -> usize {
    s.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn number(s: &[u8]) -> u32 {
    s.iter().fold(0u32, |v, d| v.saturating_mul(10).saturating_add(u32::from(d - b'0')))
}

/// As [`number`]; `None` for what has more than 32 bits.
fn whole_number(s: &[u8]) -> Option<u32> {
    s.iter().try_fold(0u32, |v, d| v.checked_mul(10)?.checked_add(u32::from(d - b'0')))
}

fn spaces(s: &[u8]) -> usize {
    s.iter().take_while(|b| b.is_ascii_whitespace() || **b == 0x0B).count()
}

/// A second's fraction at the start of `s`: microseconds, digits behind them, digits written (6 at
/// most), bytes taken.
fn fraction(s: &[u8]) -> (u32, u16, u8, usize) {
    let all = digits(s);
    let nine = (0..9).map(|n| if n < all { s[n] - b'0' } else { 0 });
    let nanos = nine.fold(0u32, |v, d| v * 10 + u32::from(d));
    (nanos / 1000, (nanos % 1000) as u16, all.min(6) as u8, all)
}

/// 1970 to 2069 of a year of two digits.
fn full_year(two: u32) -> u32 {
    if two < 70 { 2000 + two } else { 1900 + two }
}

/// The parts as they are read: year, month, day, hour, minute, second.
#[derive(Default)]
struct Parts {
    v: [u32; 6],
    count: usize,
    two_digit_year: bool,
    micros: u32,
    rest_nanos: u16,
    fsp: u8,
    /// Bytes taken.
    at: usize,
    delimiter: Option<(u8, usize, bool)>,
}

/// Reads a date, perhaps with a time, from the start of `s`.
///
/// # Errors
/// It is none, or the rules refuse it.
pub fn date_time(s: &[u8], rules: DateRules) -> Result<DateTimeText, BadTime> {
    let start = spaces(s);
    let text = &s[start..];
    let first = digits(text);
    if first == 0 {
        return Err(BadTime::Form);
    }
    let compact = first >= 5 && matches!(text.get(first), None | Some(b'.' | b'T'));
    let parts = if compact { compact_parts(text, first) } else { spread_parts(text) };
    let mut v = parts.v;
    if parts.count < 3 || (v[1] > 12) || v[2] > 31 || v[3] > 23 || v[4] > 59 || v[5] > 59 {
        return Err(BadTime::Form);
    }
    let all_zero = v.iter().all(|&p| p == 0) && parts.micros == 0;
    if parts.two_digit_year && !(all_zero || v[..3] == [0, 0, 0]) {
        v[0] = full_year(v[0]);
    }
    let date = u16::try_from(v[0]).ok().and_then(|y| Date::new(y, v[1] as u8, v[2] as u8));
    let date = date.ok_or(BadTime::Form)?;
    let (hour, minute, second) = (v[3] as u8, v[4] as u8, v[5] as u8);
    let value = DateTime::new(date, hour, minute, second, parts.micros, FSP_MAX);
    let value = value.ok_or(BadTime::Form)?;
    // A zero date with a time of day is no zero date.
    if !date.check(rules) {
        return Err(BadTime::Range);
    }
    let mut read = DateTimeText {
        value: value.truncate(parts.fsp),
        rest_nanos: parts.rest_nanos,
        date_only: parts.count <= 3,
        cut: false,
        utc: false,
        delimiter: parts.delimiter.map(|(c, at, extra)| (c, at + start, extra)),
    };
    let mut rest = &text[parts.at..];
    if parts.count > 3
        && let Some((seconds, taken)) = offset(rest)
    {
        let micros = zone::utc_micros(value).ok_or(BadTime::Range)?;
        let utc = zone::civil(micros - i64::from(seconds) * MICROS_PER_SECOND, parts.fsp);
        read.value = utc.ok_or(BadTime::Range)?;
        read.utc = true;
        rest = &rest[taken..];
    }
    read.cut = spaces(rest) < rest.len();
    if start > 0 {
        read.delimiter = Some((b' ', 0, true));
    } else if read.delimiter.is_none() && !read.cut && !rest.is_empty() {
        read.delimiter = Some((b' ', s.len() - rest.len(), true));
    }
    Ok(read)
}

/// The delimiter of a date and time that should not be there: MySQL's warning 4095 or 4096 about it, where `row`
/// (from 1) of a statement has that text.
pub fn delimiter_warning(s: &[u8], row: u64) -> Option<(u16, String)> {
    if is_standard(s) {
        return None;
    }
    let read = date_time(s, DateRules { allow_invalid: true, ..DateRules::default() }).ok()?;
    let (delimiter, at, more) = read.delimiter?;
    let (delimiter, shown) = (delimiter.escape_ascii(), String::from_utf8_lossy(s));
    let place = format!("Delimiter '{delimiter}' in position {at} in datetime value '{shown}'");
    if more {
        let text = format!("{place} at row {row} is superfluous and is deprecated. Please remove.");
        return Some((4096, text));
    }
    let runs = s[..at].split(|b| !b.is_ascii_digit()).filter(|run| !run.is_empty()).count();
    let standard = match runs {
        0..=2 => '-',
        3 => ' ',
        _ => ':',
    };
    let text = format!("{place} at row {row} is deprecated. Prefer the standard '{standard}'.");
    Some((4095, text))
}

/// `2024-01-02` or `2024-01-02 10:11:12`, perhaps with a fraction: most texts, told at a glance.
fn is_standard(s: &[u8]) -> bool {
    let date = s.len() >= 10 && s[4] == b'-' && s[7] == b'-';
    let time = |s: &[u8]| s.len() >= 19 && s[10] == b' ' && s[13] == b':' && s[16] == b':';
    let digit = |at: usize| s.get(at).is_some_and(u8::is_ascii_digit);
    date && digit(0) && digit(s.len() - 1) && (s.len() == 10 || time(s) && digit(11))
}

/// `+HH:MM` behind a time, -13:59 to +14:00: seconds and bytes.
fn offset(s: &[u8]) -> Option<(i32, usize)> {
    let text = s.get(..6)?;
    let ok = matches!(text[0], b'+' | b'-') && text[3] == b':';
    if !ok || digits(&text[1..3]) != 2 || digits(&text[4..6]) != 2 || text == b"-00:00" {
        return None;
    }
    let (hours, minutes) = (number(&text[1..3]), number(&text[4..6]));
    let most = if text[0] == b'-' { 13 * 60 + 59 } else { 14 * 60 };
    if minutes > 59 || hours * 60 + minutes > most {
        return None;
    }
    let seconds = (hours * 3600 + minutes * 60) as i32;
    Some((if text[0] == b'-' { -seconds } else { seconds }, 6))
}

/// Digits without delimiters: 8 or 14 of them begin with a year of four digits.
fn compact_parts(s: &[u8], first: usize) -> Parts {
    let mut parts = Parts::default();
    let year = if first == 4 || first == 8 || first >= 14 { 4 } else { 2 };
    parts.two_digit_year = year == 2;
    while parts.count < 6 {
        let width = if parts.count == 0 { year } else { 2 };
        // `T` may stand between the date and the time.
        if parts.count == 3 && s.get(parts.at) == Some(&b'T') {
            parts.at += 1;
        }
        let here = digits(&s[parts.at..]).min(width);
        if here == 0 {
            break;
        }
        parts.v[parts.count] = number(&s[parts.at..parts.at + here]);
        parts.count += 1;
        parts.at += here;
    }
    if s.get(parts.at) == Some(&b'.') && parts.count == 6 {
        read_fraction(&mut parts, s);
    }
    parts
}

fn read_fraction(parts: &mut Parts, s: &[u8]) {
    let (micros, nanos, fsp, taken) = fraction(&s[parts.at + 1..]);
    (parts.micros, parts.rest_nanos, parts.fsp) = (micros, nanos, fsp);
    parts.at += 1 + taken;
}

/// Numbers between delimiters.
fn spread_parts(s: &[u8]) -> Parts {
    let mut parts = Parts::default();
    loop {
        let here = digits(&s[parts.at..]);
        if here == 0 {
            break;
        }
        parts.v[parts.count] = number(&s[parts.at..parts.at + here]);
        parts.two_digit_year |= parts.count == 0 && here <= 2;
        parts.at += here;
        parts.count += 1;
        if parts.count == 6 {
            if s.get(parts.at) == Some(&b'.') {
                read_fraction(&mut parts, s);
            }
            break;
        }
        let gap = separator(s, &mut parts);
        if digits(&s[parts.at + gap..]) == 0 {
            break;
        }
        parts.at += gap;
    }
    parts
}

/// Bytes of delimiters before the next number.
fn separator(s: &[u8], parts: &mut Parts) -> usize {
    let rest = &s[parts.at..];
    if parts.count == 3 {
        if rest.first() == Some(&b'T') {
            return 1;
        }
        let gap = spaces(rest);
        if gap > 0 {
            if gap > 1 && rest.len() > gap && parts.delimiter.is_none() {
                parts.delimiter = Some((b' ', parts.at + 1, true));
            }
            return gap;
        }
    }
    let gap = rest.iter().take_while(|b| b.is_ascii_punctuation()).count();
    let wanted = match parts.count {
        1 | 2 => b'-',
        3 => b' ',
        _ => b':',
    };
    let after = rest.get(gap).is_some_and(u8::is_ascii_digit);
    if after && gap > 0 && rest[0] != wanted && parts.delimiter.is_none() {
        parts.delimiter = Some((rest[0], parts.at, false));
    }
    gap
}

/// Reads a time span (`-D HH:MM:SS.ffffff`, `HHMMSS.ffffff`, or a whole date and time) from the start of
/// `s`. Empty text is zero.
///
/// # Errors
/// It is none.
pub fn time(s: &[u8]) -> Result<TimeText, BadTime> {
    let text = &s[spaces(s)..];
    let (negative, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    // A date with delimiters stands apart from its time: 10:11:12.000012 is none.
    let apart = digits(text) >= 8 || text.trim_ascii_end().iter().any(u8::is_ascii_whitespace);
    if text.len() >= 12
        && !negative
        && apart
        && let Ok(read) = date_time(text, DateRules::default())
        && !read.date_only
        && (!read.cut || digits(text) >= 12)
    {
        let value = read.value.time();
        let (rest_nanos, cut) = (read.rest_nanos, read.cut);
        return Ok(TimeText { value, rest_nanos, cut, beyond: false, had_date: true });
    }
    let first = digits(text);
    if first == 0 && text.first() != Some(&b'.') && !text.is_empty() {
        return Err(BadTime::Form);
    }
    let (parts, taken) = span_parts(text, first).ok_or(BadTime::Range)?;
    if parts[2] > 59 || parts[3] > 59 {
        return Err(BadTime::Range);
    }
    let (mut micros, mut rest_nanos, mut fsp, mut at) = (0, 0, 0, taken);
    if text.get(at) == Some(&b'.') {
        let read = fraction(&text[at + 1..]);
        (micros, rest_nanos, fsp) = (read.0, read.1, read.2);
        at += 1 + read.3;
    }
    let hours = i64::from(parts[0]) * 24 + i64::from(parts[1]);
    let seconds = hours * 3600 + i64::from(parts[2]) * 60 + i64::from(parts[3]);
    let all = seconds.saturating_mul(MICROS_PER_SECOND).saturating_add(i64::from(micros));
    // Rounding may carry 838:59:59.9 beyond the longest span: MySQL cuts that off with a warning.
    let beyond = all > TIME_MICROS_MAX;
    let (value, _) = Time::saturated(if negative { -all } else { all }, fsp);
    if beyond {
        rest_nanos = 0;
    }
    let cut = spaces(&text[at..]) < text.len() - at;
    Ok(TimeText { value, rest_nanos, cut, beyond, had_date: false })
}

/// Days, hours, minutes and seconds, and the bytes they took; `None` when one has more than 32 bits.
fn span_parts(text: &[u8], first: usize) -> Option<([u32; 4], usize)> {
    let value = whole_number(&text[..first])?;
    let mut at = first;
    let gap = spaces(&text[at..]);
    let mut parts = [0u32; 4];
    let next = if gap > 0 && digits(&text[at + gap..]) > 0 {
        parts[0] = value;
        at += gap;
        1
    } else if text.get(at) == Some(&b':') && digits(&text[at + 1..]) > 0 {
        parts[1] = value;
        at += 1;
        2
    } else {
        return Some(([0, value / 10_000, value / 100 % 100, value % 100], at));
    };
    for (n, part) in parts.iter_mut().enumerate().skip(next) {
        let here = digits(&text[at..]);
        *part = whole_number(&text[at..at + here])?;
        at += here;
        let more = text.get(at) == Some(&b':') && digits(&text[at + 1..]) > 0;
        if n == 3 || !more {
            break;
        }
        at += 1;
    }
    Some((parts, at))
}

/// The date and time of a number: 20240131, 240131, 20240131235959, 240131235959; 0 is the zero date.
///
/// # Errors
/// It is none, or the rules refuse it.
pub fn date_time_of_number(v: i64, nanos: u32, rules: DateRules) -> Result<DateTimeText, BadTime> {
    let full = match v {
        0 => 0,
        i64::MIN..=100 => return Err(BadTime::Form),
        101..=691_231 => (v + 20_000_000) * 1_000_000,
        691_232..=700_100 => return Err(BadTime::Form),
        700_101..=991_231 => (v + 19_000_000) * 1_000_000,
        991_232..=10_000_100 => return Err(BadTime::Form),
        10_000_101..=99_991_231 => v * 1_000_000,
        99_991_232..=100_999_999 => return Err(BadTime::Form),
        101_000_000..=691_231_235_959 => v + 20_000_000_000_000,
        691_231_235_960..=700_100_999_999 => return Err(BadTime::Form),
        700_101_000_000..=991_231_235_959 => v + 19_000_000_000_000,
        _ => v,
    };
    let (date, time) = (full / 1_000_000, full % 1_000_000);
    let part = |v: i64, unit: i64| u8::try_from(v / unit % 100).map_err(|_| BadTime::Form);
    let year = u16::try_from(date / 10_000).map_err(|_| BadTime::Form)?;
    let day = Date::new(year, part(date, 100)?, part(date, 1)?).ok_or(BadTime::Form)?;
    let fsp = if nanos == 0 { 0 } else { FSP_MAX };
    let (hour, minute, second) = (part(time, 10_000)?, part(time, 100)?, part(time, 1)?);
    let value = DateTime::new(day, hour, minute, second, nanos / 1000, fsp).ok_or(BadTime::Form)?;
    if !day.check(rules) {
        return Err(BadTime::Range);
    }
    let date_only = v <= 99_991_231;
    let rest_nanos = (nanos % 1000) as u16;
    // A day's number has no time, so a fraction behind it is cut off.
    let cut = date_only && nanos > 0;
    Ok(DateTimeText { value, rest_nanos, date_only, cut, utc: false, delimiter: None })
}

/// The time span of a number (HHMMSS), or the time of day of a date and time's number.
///
/// # Errors
/// It is none.
pub fn time_of_number(v: i64, nanos: u32) -> Result<TimeText, BadTime> {
    const LONGEST: u64 = 8_385_959;
    let fsp = if nanos == 0 { 0 } else { FSP_MAX };
    let rest_nanos = (nanos % 1000) as u16;
    if v.unsigned_abs() > LONGEST {
        if v >= 10_000_000_000
            && let Ok(read) = date_time_of_number(v, nanos, DateRules::default())
        {
            let value = read.value.time();
            return Ok(TimeText { value, rest_nanos, cut: false, beyond: false, had_date: true });
        }
        let micros = if v < 0 { -TIME_MICROS_MAX } else { TIME_MICROS_MAX };
        let (value, _) = Time::saturated(micros, 0);
        return Ok(TimeText { value, rest_nanos: 0, cut: false, beyond: true, had_date: false });
    }
    let all = v.unsigned_abs();
    let (minute, second) = ((all / 100 % 100) as u8, (all % 100) as u8);
    let value = Time::new(v < 0, (all / 10_000) as u32, minute, second, nanos / 1000, fsp);
    if minute > 59 || second > 59 {
        return Err(BadTime::Range);
    }
    let beyond = value.is_none();
    let value = value.unwrap_or_else(|| Time::saturated(i64::MAX, 0).0);
    Ok(TimeText { value, rest_nanos, cut: false, beyond, had_date: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(s: &str) -> String {
        match date_time(s.as_bytes(), DateRules::default()) {
            Ok(v) => format!("{}{}", v.value, if v.cut { " cut" } else { "" }),
            Err(e) => format!("{e:?}"),
        }
    }

    #[test]
    fn dates_of_many_forms() {
        for (text, want) in [
            ("2024-01-02", "2024-01-02 00:00:00"),
            (" 2024-1-2 3:4:5.25 ", "2024-01-02 03:04:05.25"),
            ("24-1-2", "2024-01-02 00:00:00"),
            ("70-1-2", "1970-01-02 00:00:00"),
            ("20240102", "2024-01-02 00:00:00"),
            ("240102", "2024-01-02 00:00:00"),
            ("20240102030405.5", "2024-01-02 03:04:05.5"),
            ("240102030405", "2024-01-02 03:04:05"),
            ("2024/01/02 03.04.05", "2024-01-02 03:04:05"),
            ("2024-01-02T03:04:05", "2024-01-02 03:04:05"),
            ("2024-01-02T03:04:05+02:00", "2024-01-02 01:04:05"),
            ("2024-1-2x", "2024-01-02 00:00:00 cut"),
            ("2024-01-02 12:00:00 garbage", "2024-01-02 12:00:00 cut"),
            ("0000-00-00", "0000-00-00 00:00:00"),
            ("2024-02-30", "Range"),
            ("2024-13-01", "Form"),
            ("2024-01-02 25:00:00", "Form"),
            ("abc", "Form"),
            ("", "Form"),
            ("2024", "Form"),
            ("9999999999999999999999", "Form"),
        ] {
            assert_eq!(shown(text), want, "{text:?}");
        }
    }

    #[test]
    fn spans_of_many_forms() {
        let shown = |s: &str| match time(s.as_bytes()) {
            Ok(v) => format!("{}{}", v.value, if v.cut { " cut" } else { "" }),
            Err(e) => format!("{e:?}"),
        };
        for (text, want) in [
            ("1 2:3:4.567", "26:03:04.567"),
            ("-838:59:59", "-838:59:59"),
            ("839:00:00", "838:59:59"),
            ("12:61:00", "Range"),
            ("abc", "Form"),
            ("", "00:00:00"),
            ("12x", "00:00:12 cut"),
            ("123456", "12:34:56"),
            ("12", "00:00:12"),
            ("12:34", "12:34:00"),
            ("2 10", "58:00:00"),
            ("2024-01-02 03:04:05.678", "03:04:05.678"),
            ("-10.5", "-00:00:10.5"),
        ] {
            assert_eq!(shown(text), want, "{text:?}");
        }
        let of = |v| time_of_number(v, 0).map(|t| t.value.to_string());
        assert_eq!(of(-102_030), Ok("-10:20:30".into()));
        assert_eq!(of(126_100), Err(BadTime::Range));
        assert_eq!(of(20_240_102_030_405), Ok("03:04:05".into()));
    }

    #[test]
    fn rounding_carries_into_the_next_day() {
        let read = date_time(b"2024-12-31 23:59:59.9999996", DateRules::default()).unwrap();
        assert_eq!(read.rounded(6, false).unwrap().to_string(), "2025-01-01 00:00:00.000000");
        assert_eq!(read.rounded(3, true).unwrap().to_string(), "2024-12-31 23:59:59.999");
        let last = date_time(b"9999-12-31 23:59:59.9", DateRules::default()).unwrap();
        assert_eq!(last.rounded(0, false), None);
    }

    #[test]
    fn no_bytes_panic() {
        let mut rng = stdx::rng::Rng::new(5);
        let alphabet = b"0123456789-: .T+/\xFF";
        for _ in 0..200_000 {
            let len = rng.below(30) as usize;
            let text: Vec<u8> =
                (0..len).map(|_| alphabet[rng.below(alphabet.len() as u64) as usize]).collect();
            let _ = date_time(&text, DateRules::default());
            let _ = time(&text);
            let v = rng.next_u64() as i64 >> rng.below(60);
            let _ = (date_time_of_number(v, 1, DateRules::default()), time_of_number(v, 1));
        }
    }
}
