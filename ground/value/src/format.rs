//! Values as MySQL's text protocol prints them.
//!
//! Invariants
//! 1. Nothing is allocated beyond the caller's buffer, except for doubles.
//! 2. Doubles print the shortest digits that read back as the same double, without an exponent while
//!    the point stands within 15 digits of the first one.

use crate::types::NOT_FIXED;
use crate::{ColumnType, Datum, Kind};

/// Longest text of an integer: 20 digits or a sign and 19.
const INT_TEXT_MAX: usize = 20;
/// Beyond so many digits before the point, or zeros behind it, doubles print with an exponent.
const POINT_MAX: i32 = 15;

/// Characters that a double has as the text of an expression or of a TEXT or BLOB column; a result's own are not
/// limited.
pub const DOUBLE_CHARS_MAX: usize = 22;

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Appends the text of a value; NULL appends nothing (the protocol marks it otherwise).
#[inline]
pub fn append_text(d: &Datum<'_>, out: &mut Vec<u8>) {
    match *d {
        Datum::Null => {}
        Datum::Bytes(b) => out.extend_from_slice(b),
        Datum::Int(v) => append_int(v, out),
        Datum::UInt(v) => append_uint(v, out),
        Datum::Double(v) => append_double(v, out),
        Datum::Decimal(v) => v.append_text(out),
        Datum::Date(v) => v.append_text(out),
        Datum::DateTime(v) => v.append_text(out),
        Datum::Time(v) => v.append_text(out),
        _ => append_other(d, out),
    }
}

/// The kinds that are rare enough not to count instructions for.
#[cold]
fn append_other(d: &Datum<'_>, out: &mut Vec<u8>) {
    match *d {
        Datum::Year(v) => append_display(format_args!("{v:04}"), out),
        Datum::Bits(v, bits) => {
            let bytes = usize::from(bits).div_ceil(8).clamp(1, 8);
            out.extend_from_slice(&v.to_be_bytes()[8 - bytes..]);
        }
        Datum::Enum(members, v) => out.extend_from_slice(members.name(v)),
        Datum::Set(members, v) => members.append_set(v, out),
        Datum::Timestamp(v, fsp) => {
            let utc = crate::time::zone::civil(v, fsp).filter(|_| v != 0);
            utc.unwrap_or(crate::DateTime::ZERO.with_fsp(fsp)).append_text(out);
        }
        Datum::Json(bytes) => crate::json::append_text(bytes, out),
        Datum::Null
        | Datum::Bytes(_)
        | Datum::Int(_)
        | Datum::UInt(_)
        | Datum::Double(_)
        | Datum::Decimal(_)
        | Datum::Date(_)
        | Datum::DateTime(_)
        | Datum::Time(_) => {}
    }
}

fn append_display(v: impl std::fmt::Display, out: &mut Vec<u8>) {
    use std::io::Write;
    // Writing to memory cannot fail.
    let _ = write!(out, "{v}");
}

/// Appends a signed integer.
#[inline]
pub fn append_int(v: i64, out: &mut Vec<u8>) {
    if v < 0 {
        out.push(b'-');
    }
    append_uint(v.unsigned_abs(), out);
}

/// Appends an unsigned integer.
#[inline]
pub fn append_uint(mut v: u64, out: &mut Vec<u8>) {
    let mut buf = [0; INT_TEXT_MAX];
    let mut at = buf.len();
    while v >= 100 {
        let pair = 2 * (v % 100) as usize;
        v /= 100;
        at -= 2;
        buf[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if v >= 10 {
        let pair = 2 * v as usize;
        at -= 2;
        buf[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        buf[at] = b'0' + v as u8;
    }
    out.extend_from_slice(&buf[at..]);
}

/// Appends a double.
pub fn append_double(v: f64, out: &mut Vec<u8>) {
    // Rust's exponent form has the shortest digits: "-1.2345e-7".
    let text = format!("{v:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text.as_str(), "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    out.extend_from_slice(sign.as_bytes());
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    // Where the point stands, counted from the first digit.
    let point = exponent + 1;
    if !(1 - POINT_MAX..=POINT_MAX).contains(&point) {
        out.extend_from_slice(mantissa.as_bytes());
        out.push(b'e');
        append_int(i64::from(exponent), out);
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', point.unsigned_abs() as usize));
        out.extend_from_slice(&digits);
    } else {
        let whole = point as usize;
        out.extend_from_slice(&digits[..whole.min(digits.len())]);
        out.extend(std::iter::repeat_n(b'0', whole.saturating_sub(digits.len())));
        if digits.len() > whole {
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
    }
}

/// Appends a double in so many characters: with all of its digits if they fit, with or without an exponent, else with
/// as many as fit, but one. False: that one stands for several, or is too long even so.
pub fn append_double_within(v: f64, width: usize, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    append_double(v, out);
    if out.len() - start <= width || !v.is_finite() {
        return true;
    }
    let shortest = format!("{v:e}");
    let exponent = shortest.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok()).unwrap_or(0);
    // Digits that fit with an exponent, and without.
    let sign = usize::from(v.is_sign_negative());
    let exponent_chars = 1 + exponent.to_string().len();
    let beside_exponent = width.saturating_sub(sign + exponent_chars);
    let with = if beside_exponent > 2 { beside_exponent - 1 } else { beside_exponent.min(1) };
    let without = match usize::try_from(exponent) {
        // The zero before the point, the point and the zeros behind it.
        Err(_) => width.saturating_sub(sign + 1 + exponent.unsigned_abs() as usize),
        Ok(more) if sign + more + 1 > width => 0,
        Ok(more) => (width - sign - 1).max(more + 1),
    };
    let plain_allowed = (-POINT_MAX..POINT_MAX).contains(&exponent);
    let rounded = |digits: usize| format!("{v:.*e}", digits - 1).parse().unwrap_or(v);
    let plain = (plain_allowed && without > 0).then(|| {
        let mut text = Vec::new();
        append_double(rounded(without), &mut text);
        text
    });
    let plain = plain.filter(|text| text.len() <= width && without >= with);
    let fits = shortest.len() <= width || plain.is_some() || beside_exponent > 1;
    let text = match (shortest.len() <= width, plain) {
        (true, _) => shortest.into_bytes(),
        (false, Some(plain)) => plain,
        (false, None) => format!("{:e}", rounded(with.max(1))).into_bytes(),
    };
    out.truncate(start);
    out.extend_from_slice(&text);
    fits
}

/// Appends the text of a value of a known type: FLOAT's six digits, digits behind the point that are
/// fixed, zeros up to the width. Without a type as [`append_text`].
pub fn append_typed(d: &Datum<'_>, ty: Option<&ColumnType>, out: &mut Vec<u8>) {
    let Some(ty) = ty else { return append_text(d, out) };
    let start = out.len();
    match (*d, ty.kind) {
        (Datum::Double(v), Kind::Float | Kind::Double) if ty.decimals < NOT_FIXED => {
            append_fixed(v, ty.decimals, out);
        }
        (Datum::Double(v), Kind::Float) => append_float(v as f32, out),
        (Datum::Time(_) | Datum::DateTime(_), Kind::Time | Kind::DateTime | Kind::Timestamp) => {
            append_text(d, out);
            pad_fraction(ty.decimals, start, out);
        }
        _ => append_text(d, out),
    }
    // A YEAR has its zeros by itself.
    if ty.zerofill && !d.is_null() && ty.kind != Kind::Year {
        let width = ty.display_width() as usize;
        let short = width.saturating_sub(out.len() - start);
        out.splice(start..start, std::iter::repeat_n(b'0', short));
    }
}

/// Zeros behind a time's fraction until it has the digits of its type.
fn pad_fraction(decimals: u8, start: usize, out: &mut Vec<u8>) {
    let point = out[start..].iter().position(|b| *b == b'.');
    let digits = point.map_or(0, |point| out.len() - start - point - 1);
    let decimals = usize::from(decimals);
    if decimals < usize::from(NOT_FIXED) && digits < decimals {
        if point.is_none() {
            out.push(b'.');
        }
        out.extend(std::iter::repeat_n(b'0', decimals - digits));
    }
}

/// Appends a double with so many digits behind the point: those of its shortest text, then zeros.
pub fn append_fixed(v: f64, decimals: u8, out: &mut Vec<u8>) {
    let decimals = usize::from(decimals);
    if !v.is_finite() {
        return append_display(v, out);
    }
    let start = out.len();
    append_display(v, out);
    let point = out[start..].iter().position(|b| *b == b'.');
    match point.map(|point| out.len() - start - point - 1) {
        Some(digits) if digits > decimals => {
            out.truncate(start);
            append_display(format_args!("{v:.decimals$}"), out);
        }
        Some(digits) => out.extend(std::iter::repeat_n(b'0', decimals - digits)),
        None if decimals > 0 => {
            out.push(b'.');
            out.extend(std::iter::repeat_n(b'0', decimals));
        }
        None => {}
    }
}

/// Appends a FLOAT: the shortest of at most six digits.
pub fn append_float(v: f32, out: &mut Vec<u8>) {
    append_double(six_digits(v), out);
}

/// Appends a FLOAT as text has it: in so many characters as a FLOAT column may need.
pub fn append_float_text(v: f32, out: &mut Vec<u8>) {
    const FLOAT_CHARS_MAX: usize = 12;
    append_double_within(six_digits(v), FLOAT_CHARS_MAX, out);
}

fn six_digits(v: f32) -> f64 {
    let text = format!("{v:.5e}");
    let six = text.parse::<f64>().unwrap_or(0.0);
    let shortest = format!("{v}").parse::<f64>().unwrap_or(0.0);
    let digits = |v: f64| format!("{v:e}").split('e').next().map_or(0, str::len);
    if digits(shortest) < digits(six) { shortest } else { six }
}

/// The text of a value, for messages and tests; `NULL` for NULL.
#[must_use]
pub fn to_text(d: &Datum<'_>) -> String {
    let mut out = Vec::new();
    match d {
        Datum::Null => out.extend_from_slice(b"NULL"),
        d => append_text(d, &mut out),
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        for v in [0, 1, 9, 10, 99, 100, 101, 999, 1000, 12345, i64::MAX, -1, -10, i64::MIN] {
            assert_eq!(to_text(&Datum::Int(v)), v.to_string());
        }
        assert_eq!(to_text(&Datum::UInt(u64::MAX)), u64::MAX.to_string());
    }

    #[test]
    fn decimals_keep_their_scale() {
        for (unscaled, scale, want) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (5, 1, "0.5"),
            (-5, 3, "-0.005"),
            (150, 2, "1.50"),
            (-12345, 0, "-12345"),
        ] {
            assert_eq!(to_text(&Datum::Decimal(crate::Decimal::from_i128(unscaled, scale))), want);
        }
    }

    #[test]
    fn doubles_as_mysql_prints_them() {
        for (v, want) in [
            (0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (100.0, "100"),
            (123_456.789, "123456.789"),
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (1.234_567_890_123_456_8e17, "1.2345678901234568e17"),
            (1e-5, "0.00001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (f64::MAX, "1.7976931348623157e308"),
            (-2.5e-300, "-2.5e-300"),
        ] {
            assert_eq!(to_text(&Datum::Double(v)), want);
        }
    }
}
