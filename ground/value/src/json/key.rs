//! Keys of JSON values for sorts, groups and hash tables.
//!
//! 1. Keys are equal exactly where [`super::compare`] says so, and in its order; one key is never the
//! begin of another. 2. Numbers are written as sign, exponent and digits, so that 1, 1.0 and a DECIMAL
//! 1.00 have one key.

use super::compare::rank;
use super::{JsonRef, View};

/// Ends what has no length before it: arrays and strings.
const END: u8 = 0;
const MORE: u8 = 1;

/// Appends the key of a value.
pub fn append_key(value: JsonRef<'_>, out: &mut Vec<u8>) {
    let view = value.view();
    out.push(rank(&view));
    match view {
        View::Null => {}
        View::Bool(v) => out.push(u8::from(v)),
        View::Int(v) => append_number(&v.to_string(), out),
        View::UInt(v) => append_number(&v.to_string(), out),
        View::Double(v) => append_number(&format!("{v:e}"), out),
        View::Decimal(v) => append_number(&v.to_string(), out),
        View::Date(v) => out.extend_from_slice(&v.packed().to_be_bytes()),
        View::Time(v) => out.extend_from_slice(&(v.micros() ^ i64::MIN).to_be_bytes()),
        View::DateTime(v) | View::Timestamp(v) => out.extend_from_slice(&v.packed().to_be_bytes()),
        View::String(s) | View::Opaque(_, s) => append_bytes(s, out),
        View::Array(items) => {
            for item in items.iter() {
                out.push(MORE);
                append_key(item, out);
            }
            out.push(END);
        }
        View::Object(members) => {
            out.extend_from_slice(&(members.len() as u32).to_be_bytes());
            for (key, value) in members.iter() {
                out.extend_from_slice(&(key.len() as u32).to_be_bytes());
                out.extend_from_slice(key);
                append_key(value, out);
            }
        }
    }
}

/// Bytes that end with 0 0; a 0 inside is followed by 255.
fn append_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    for &b in bytes {
        out.push(b);
        if b == 0 {
            out.push(u8::MAX);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// A number's text (`-12.50`, `1.25e3`): sign, exponent, digits without zeros around them, end. What
/// follows the sign is inverted below zero.
fn append_number(text: &str, out: &mut Vec<u8>) {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let zeros = all.iter().take_while(|b| **b == b'0').count();
    let digits = &all[zeros..];
    let digits = &digits[..digits.iter().rposition(|b| *b != b'0').map_or(0, |last| last + 1)];
    if digits.is_empty() {
        return out.push(1);
    }
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let place = exponent + whole.len() as i32 - zeros as i32;
    out.push(if negative { 0 } else { 2 });
    let start = out.len();
    out.extend_from_slice(&((place as i16) ^ i16::MIN).to_be_bytes());
    out.extend_from_slice(digits);
    out.push(END);
    if negative {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
}
