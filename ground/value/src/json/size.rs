//! JSON_STORAGE_SIZE: how many bytes MySQL's own binary form of a document takes.
//!
//! 1. Only the size is MySQL's: the form that is stored here is described in [`super`]. 2. A container
//! is small (offsets of two bytes) until its bytes exceed 65,535, whatever stands around it.

use super::{JsonRef, View};

/// Bytes of MySQL's binary form of a document, the type's byte included.
#[must_use]
pub fn storage_size(value: JsonRef<'_>) -> usize {
    1 + payload(value)
}

/// How wide the offsets of a container are.
#[derive(Clone, Copy)]
struct Form {
    offset: usize,
    /// Integers of up to so many bytes lie in the table of entries.
    inlined: usize,
}

const SMALL: Form = Form { offset: 2, inlined: 2 };
const LARGE: Form = Form { offset: 4, inlined: 4 };
const SMALL_MAX: usize = u16::MAX as usize;

/// Bytes of a value without its type's byte.
fn payload(value: JsonRef<'_>) -> usize {
    const PACKED_TIME: usize = 8;
    let opaque = |len: usize| 1 + with_length(len);
    match value.view() {
        View::Null | View::Bool(_) => 1,
        View::Int(_) | View::UInt(_) => integer(value),
        View::Double(_) => 8,
        View::Decimal(v) => {
            let (scale, digits) = (usize::from(v.scale()), v.digits() as usize);
            let whole = digits.saturating_sub(scale);
            opaque(2 + groups(whole) + groups(scale))
        }
        View::Date(_) | View::Time(_) | View::DateTime(_) | View::Timestamp(_) => {
            opaque(PACKED_TIME)
        }
        View::String(s) => with_length(s.len()),
        View::Opaque(_, bytes) => opaque(bytes.len()),
        View::Array(_) | View::Object(_) => match container(value, SMALL) {
            size if size <= SMALL_MAX => size,
            _ => container(value, LARGE),
        },
    }
}

fn container(value: JsonRef<'_>, form: Form) -> usize {
    let entry = |value: JsonRef<'_>| {
        let apart = match value.view() {
            View::Null | View::Bool(_) => 0,
            View::Int(_) | View::UInt(_) if integer(value) <= form.inlined => 0,
            _ => payload(value),
        };
        1 + form.offset + apart
    };
    let head = 2 * form.offset;
    match value.view() {
        View::Array(items) => head + items.iter().map(entry).sum::<usize>(),
        View::Object(members) => {
            let member = |(key, value): (&[u8], _)| form.offset + 2 + key.len() + entry(value);
            head + members.iter().map(member).sum::<usize>()
        }
        _ => head,
    }
}

fn integer(value: JsonRef<'_>) -> usize {
    match value.view() {
        View::Int(v) if i16::try_from(v).is_ok() => 2,
        View::Int(v) if i32::try_from(v).is_ok() => 4,
        View::UInt(v) if u16::try_from(v).is_ok() => 2,
        View::UInt(v) if u32::try_from(v).is_ok() => 4,
        _ => 8,
    }
}

/// Bytes of so many decimal digits: four for nine.
fn groups(digits: usize) -> usize {
    const REST: [usize; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    digits / 9 * 4 + REST[digits % 9]
}

/// Bytes with their length before them, seven bits to a byte.
fn with_length(len: usize) -> usize {
    let bits = usize::BITS - len.leading_zeros();
    bits.div_ceil(7).max(1) as usize + len
}
