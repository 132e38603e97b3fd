//! A document as text: MySQL's spaces, escapes and number forms.

use super::{JsonRef, View};
use crate::format;

/// Appends the text of a document in binary form as MySQL prints it.
pub fn append_text(bytes: &[u8], out: &mut Vec<u8>) {
    append(JsonRef::new(bytes), out);
}

/// The text of a value.
#[must_use]
pub fn to_text(value: JsonRef<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    append(value, &mut out);
    out
}

fn append(value: JsonRef<'_>, out: &mut Vec<u8>) {
    match value.view() {
        View::Array(items) => {
            out.push(b'[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.extend_from_slice(b", ");
                }
                append(item, out);
            }
            out.push(b']');
        }
        View::Object(members) => {
            out.push(b'{');
            for (n, (key, member)) in members.iter().enumerate() {
                if n > 0 {
                    out.extend_from_slice(b", ");
                }
                append_quoted(key, out);
                out.extend_from_slice(b": ");
                append(member, out);
            }
            out.push(b'}');
        }
        _ => append_scalar(value, out),
    }
}

/// Appends JSON_PRETTY's text: two spaces for each level.
pub fn append_pretty(value: JsonRef<'_>, out: &mut Vec<u8>) {
    pretty(value, 0, out);
}

fn pretty(value: JsonRef<'_>, depth: usize, out: &mut Vec<u8>) {
    let line = |depth: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    match value.view() {
        View::Array(items) if !items.is_empty() => {
            out.push(b'[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                line(depth + 1, out);
                pretty(item, depth + 1, out);
            }
            line(depth, out);
            out.push(b']');
        }
        View::Object(members) if !members.is_empty() => {
            out.push(b'{');
            for (n, (key, member)) in members.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                line(depth + 1, out);
                append_quoted(key, out);
                out.extend_from_slice(b": ");
                pretty(member, depth + 1, out);
            }
            line(depth, out);
            out.push(b'}');
        }
        _ => append(value, out),
    }
}

fn append_scalar(value: JsonRef<'_>, out: &mut Vec<u8>) {
    let quoted = |v: &dyn std::fmt::Display, out: &mut Vec<u8>| {
        out.extend_from_slice(format!("\"{v}\"").as_bytes());
    };
    match value.view() {
        View::Null | View::Array(_) | View::Object(_) => out.extend_from_slice(b"null"),
        View::Bool(v) => out.extend_from_slice(if v { b"true" } else { b"false" }),
        View::Int(v) => format::append_int(v, out),
        View::UInt(v) => format::append_uint(v, out),
        View::Double(v) => append_double(v, out),
        View::Decimal(v) => v.append_text(out),
        View::Date(v) => quoted(&v, out),
        View::Time(v) => quoted(&v, out),
        View::DateTime(v) | View::Timestamp(v) => quoted(&v, out),
        View::String(v) => append_quoted(v, out),
        View::Opaque(kind, v) => {
            out.extend_from_slice(format!("\"base64:type{kind}:").as_bytes());
            append_base64(v, out);
            out.push(b'"');
        }
    }
}

/// A double never looks like an integer.
fn append_double(v: f64, out: &mut Vec<u8>) {
    let start = out.len();
    if v == 0.0 && v.is_sign_negative() {
        out.push(b'-');
    }
    format::append_double(v.abs(), out);
    if v < 0.0 {
        out.insert(start, b'-');
    }
    if out[start..].iter().all(|b| b.is_ascii_digit() || *b == b'-') {
        out.extend_from_slice(b".0");
    }
}

/// Appends a string in quotes with JSON's escapes.
pub fn append_quoted(s: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &b in s {
        match b {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => out.extend_from_slice(format!("\\u{b:04x}").as_bytes()),
            _ => out.push(b),
        }
    }
    out.push(b'"');
}

fn append_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for three in bytes.chunks(3) {
        let byte = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for n in 0..4 {
            match n <= three.len() {
                true => out.push(DIGITS[(bits >> (18 - 6 * n) & 63) as usize]),
                false => out.push(b'='),
            }
        }
    }
}
