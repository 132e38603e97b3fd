//! The text of dates and times.
//!
//! Rows of results are full of them, so that it is written digit by digit, without the machinery of formatting.

use super::{Date, DateTime, FSP_MAX, Time};
use crate::format::append_uint;
use std::fmt::{Display, Formatter, Result};

impl Date {
    /// Appends `YYYY-MM-DD`.
    pub fn append_text(self, out: &mut Vec<u8>) {
        let year = self.year();
        let ([a, b], [c, d]) = (pair((year / 100) as u8), pair((year % 100) as u8));
        let ([e, f], [g, h]) = (pair(self.month()), pair(self.day()));
        out.extend_from_slice(&[a, b, c, d, b'-', e, f, b'-', g, h]);
    }
}

impl DateTime {
    /// Appends `YYYY-MM-DD hh:mm:ss`, and as many digits of the fraction as the value has.
    pub fn append_text(self, out: &mut Vec<u8>) {
        self.date().append_text(out);
        out.push(b' ');
        out.extend_from_slice(&pair(self.hour()));
        append_rest(self.minute(), self.second(), (self.micros(), self.fsp()), out);
    }
}

impl Time {
    /// Appends `[-]hh:mm:ss`, hours of three digits where there are so many, and the fraction.
    pub fn append_text(self, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        match u8::try_from(self.hours()) {
            Ok(hours) if hours < 100 => out.extend_from_slice(&pair(hours)),
            _ => append_uint(self.hours().into(), out),
        }
        append_rest(self.minute(), self.second(), (Time::fraction(self), self.fsp()), out);
    }
}

/// Two digits.
#[inline]
fn pair(v: u8) -> [u8; 2] {
    [b'0' + v / 10 % 10, b'0' + v % 10]
}

/// What a date with its time and a time have in common.
fn append_rest(minute: u8, second: u8, (micros, fsp): (u32, u8), out: &mut Vec<u8>) {
    let ([a, b], [c, d]) = (pair(minute), pair(second));
    out.extend_from_slice(&[b':', a, b, b':', c, d]);
    if fsp == 0 {
        return;
    }
    let mut digits = [b'.'; 1 + FSP_MAX as usize];
    let mut rest = micros;
    for digit in digits[1..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[..1 + usize::from(fsp)]);
}

/// Through the formatter what `append` gives.
fn display(f: &mut Formatter<'_>, append: impl FnOnce(&mut Vec<u8>)) -> Result {
    let mut text = Vec::with_capacity(32);
    append(&mut text);
    f.write_str(&String::from_utf8_lossy(&text))
}

impl Display for Date {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        display(f, |out| self.append_text(out))
    }
}

impl Display for DateTime {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        display(f, |out| self.append_text(out))
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        display(f, |out| self.append_text(out))
    }
}
