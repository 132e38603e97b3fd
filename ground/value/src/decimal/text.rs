//! Decimals from and to text and doubles.

use super::wide::Wide;
use super::{Decimal, PRECISION_MAX, SCALE_MAX, arith};
use crate::number::{self, Rest};

/// A decimal read from text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecimalText {
    /// The value; all nines when the text has more than 65 digits before the point.
    pub value: Decimal,
    /// What stood behind it.
    pub rest: Rest,
    /// The value is beyond 65 digits.
    pub overflow: bool,
    /// Digits behind the point were rounded off.
    pub rounded: bool,
}

/// Longest text: sign, 65 digits, point, a zero before it.
const TEXT_MAX: usize = 68;
/// Powers of ten, by their exponent, that a word holds.
const SHORT_UNITS: [u64; 20] = {
    let mut units = [1; 20];
    let mut n = 1;
    while n < units.len() {
        units[n] = units[n - 1] * 10;
        n += 1;
    }
    units
};

impl Decimal {
    /// The number at the start of `s` as MySQL reads it (leading space, exponent). No text fails: what
    /// is not a number is zero.
    #[must_use]
    pub fn from_text(s: &[u8]) -> DecimalText {
        let p = number::split(s);
        let all = p.whole.iter().chain(p.fraction).skip_while(|&&d| d == b'0');
        let significant = all.clone().count() as i64;
        let fraction = p.fraction.len() as i64 - p.exponent;
        // Digits before the point; what is far out is settled before any digit is looked at.
        if significant > 0 && significant - fraction > i64::from(PRECISION_MAX) {
            let value = Decimal::largest(PRECISION_MAX, 0);
            let value = if p.negative { value.neg() } else { value };
            return DecimalText { value, rest: p.rest, overflow: true, rounded: false };
        }
        if significant == 0 {
            let scale = fraction.clamp(0, i64::from(SCALE_MAX)) as u8;
            let value = Decimal::narrow(0, scale);
            return DecimalText { value, rest: p.rest, overflow: false, rounded: false };
        }
        let room = i64::from(PRECISION_MAX) - (significant - fraction).max(0);
        let scale = fraction.clamp(0, room.min(i64::from(SCALE_MAX)));
        // How many digits count, one more for rounding.
        let kept = significant - fraction + scale;
        let mut v = Wide::ZERO;
        let mut digits = all.map(|d| u64::from(d - b'0'));
        for _ in 0..kept {
            v = v.mul_small(10, digits.next().unwrap_or(0));
        }
        let mut rounded = false;
        if kept >= 0 && kept < significant {
            let next = digits.next().unwrap_or(0);
            rounded = next != 0 || digits.any(|d| d != 0);
            if next >= 5 {
                v = v.add(&Wide::of(1));
            }
        }
        let rounded = rounded || kept < 0;
        let mut scale = scale as u8;
        if v.digits() > u32::from(PRECISION_MAX) && scale > 0 {
            v = arith::round_off(v, 1);
            scale -= 1;
        }
        match Decimal::wide(p.negative, &v, scale) {
            Some(value) => DecimalText { value, rest: p.rest, overflow: false, rounded },
            None => {
                let value = Decimal::largest(PRECISION_MAX, 0);
                let value = if p.negative { value.neg() } else { value };
                DecimalText { value, rest: p.rest, overflow: true, rounded }
            }
        }
    }

    /// A literal of digits and a point, perhaps a sign: the whole text or nothing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Decimal> {
        let read = Decimal::from_text(text.as_bytes());
        (read.rest == Rest::Clean && !read.overflow).then_some(read.value)
    }

    /// The shortest digits that read back as the same double, as a decimal (rounded to 30 digits
    /// behind the point); the nearest when beyond 65 digits (then `true`).
    #[must_use]
    pub fn from_f64(v: f64) -> (Decimal, bool) {
        if !v.is_finite() {
            let largest = Decimal::largest(PRECISION_MAX, 0);
            return (if v < 0.0 { largest.neg() } else { largest }, true);
        }
        let read = Decimal::from_text(format!("{v:e}").as_bytes());
        (read.value, read.overflow)
    }

    /// The nearest double.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        const EXACT_MAX: i128 = 1 << 53;
        const EXACT_SCALE_MAX: u8 = 22;
        match self.unscaled() {
            Some(v) if v.abs() <= EXACT_MAX && self.scale() <= EXACT_SCALE_MAX => {
                v as f64 / 10f64.powi(i32::from(self.scale()))
            }
            _ => self.to_string().parse().unwrap_or(0.0),
        }
    }

    /// Appends the text with all digits of the scale.
    pub fn append_text(&self, out: &mut Vec<u8>) {
        let short = self.unscaled().and_then(|v| u64::try_from(v.unsigned_abs()).ok());
        if let (Some(v), Some(unit)) = (short, SHORT_UNITS.get(usize::from(self.scale()))) {
            return self.append_short(v / unit, v % unit, out);
        }
        let mut buf = [b'0'; TEXT_MAX];
        let at = self.text(&mut buf);
        out.extend_from_slice(&buf[at..]);
    }

    /// As [`Self::append_text`] of a value of 64 bits, which most columns have.
    fn append_short(&self, whole: u64, fraction: u64, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        crate::format::append_uint(whole, out);
        if self.scale() > 0 {
            out.push(b'.');
            let start = out.len();
            out.resize(start + usize::from(self.scale()), b'0');
            let mut rest = fraction;
            for digit in out[start..].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
    }

    /// The text at the end of `buf`, which is full of zeros; returns where it begins.
    fn text(&self, buf: &mut [u8; TEXT_MAX]) -> usize {
        let scale = usize::from(self.scale());
        let start = self.magnitude().put_digits(buf);
        // At least one digit before the point.
        let mut at = start.min(TEXT_MAX - scale - 1);
        if scale > 0 {
            let point = TEXT_MAX - scale - 1;
            buf.copy_within(at..=point, at - 1);
            buf[point] = b'.';
            at -= 1;
        }
        if self.is_negative() {
            at -= 1;
            buf[at] = b'-';
        }
        at
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut buf = [b'0'; TEXT_MAX];
        let at = self.text(&mut buf);
        f.write_str(std::str::from_utf8(&buf[at..]).unwrap_or("0"))
    }
}
