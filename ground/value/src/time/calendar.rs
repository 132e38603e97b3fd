//! The proleptic Gregorian calendar, with MySQL's day numbers (TO_DAYS): 0000-01-01 is day 1.

use super::{Date, YEAR_MAX};

/// Days of a month, 29 for a leap year's February; 31 for month 0.
#[must_use]
pub const fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Whether the year has 366 days. MySQL: the year 0 has 365.
#[must_use]
pub const fn is_leap(year: u16) -> bool {
    let century = year.is_multiple_of(100);
    year.is_multiple_of(4) && (!century || (year.is_multiple_of(400) && year != 0))
}

/// MySQL's TO_DAYS: days since the year 0. A date with zero month or day gives what MySQL's formula
/// gives: a number, not the inverse of [`from_day_number`].
#[must_use]
pub const fn day_number(date: Date) -> i64 {
    let (mut year, month, day) = (date.year() as i64, date.month() as i64, date.day() as i64);
    if year == 0 && month == 0 {
        return 0;
    }
    let mut days = 365 * year + 31 * (month - 1) + day;
    if month <= 2 {
        year -= 1;
    } else {
        days -= (month * 4 + 23) / 10;
    }
    let centuries = ((year / 100 + 1) * 3) / 4;
    days + year / 4 - centuries
}

/// The date with this day number; `None` before 0000-01-01 or after 9999-12-31.
#[must_use]
pub fn from_day_number(days: i64) -> Option<Date> {
    if days < 1 {
        return None;
    }
    let mut year =
        u16::try_from(days.saturating_mul(100) / 36_525).ok().filter(|&y| y <= YEAR_MAX)?;
    let first = |year: u16| day_number(Date::new(year, 1, 1).unwrap_or(Date::ZERO));
    while year < YEAR_MAX && first(year + 1) <= days {
        year += 1;
    }
    while year > 0 && first(year) > days {
        year -= 1;
    }
    let mut rest = days - first(year);
    for month in 1..=12 {
        let here = i64::from(days_in_month(year, month));
        if rest < here {
            return Date::new(year, month, rest as u8 + 1);
        }
        rest -= here;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_numbers_are_mysqls_and_come_back() {
        let number = |y, m, d| day_number(Date::new(y, m, d).unwrap());
        assert_eq!(number(2007, 10, 7), 733_321);
        assert_eq!(number(1970, 1, 1), 719_528);
        assert_eq!((number(0, 1, 1), number(0, 3, 1)), (1, 60));
        assert_eq!(number(9999, 12, 31), 3_652_424);
        for days in 1..=3_652_424 {
            let date = from_day_number(days).unwrap();
            assert!(date.is_real());
            assert_eq!(day_number(date), days);
        }
        assert_eq!((from_day_number(0), from_day_number(3_652_425)), (None, None));
    }
}
