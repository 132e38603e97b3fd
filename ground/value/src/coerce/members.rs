//! Storing into ENUM and SET columns.

use super::{Coerced, ConvertError, Warning, settle};
use crate::compare::{Exact, exact, to_double};
use crate::number::{self, Rest};
use crate::row::strip_spaces;
use crate::{Charset, ColumnType, Datum, Members, charset, format};
use std::borrow::Cow;

type Stored<'a> = Result<Coerced<'a>, ConvertError>;

fn truncated<'a>(strict: bool, value: Datum<'a>) -> Stored<'a> {
    settle(strict, ConvertError::Truncated, value, Warning::Truncated { note: false })
}

/// A value as text in the members' character set; `None` for a number.
fn text_of<'d>(
    d: Datum<'d>,
    from: Option<&ColumnType>,
    members: &Members,
) -> Option<Cow<'d, [u8]>> {
    let to = members.collation().charset();
    let from = from.map_or(to, |f| f.collation.charset());
    let text = match d {
        Datum::Bytes(s) => Cow::Borrowed(s),
        Datum::Int(_)
        | Datum::UInt(_)
        | Datum::Double(_)
        | Datum::Decimal(_)
        | Datum::Year(_)
        | Datum::Bits(..) => return None,
        other => {
            let mut text = Vec::new();
            format::append_text(&other, &mut text);
            Cow::Owned(text)
        }
    };
    if from == to || from == Charset::Binary || to == Charset::Binary {
        return Some(text);
    }
    Some(Cow::Owned(charset::converted(&text, from, to).0.into_owned()))
}

/// A text of so many characters is no number of a member of ENUM.
const DIGITS_END: usize = 6;

/// The number that a text without trailing blanks wholly is; it may have a sign.
fn number_of(text: &[u8]) -> Option<i128> {
    let digit = text.last().is_some_and(u8::is_ascii_digit);
    let whole = text.iter().all(|b| b.is_ascii_digit() || b"+- ".contains(b));
    let read = number::int_of_text(text);
    (digit && whole && read.rest == Rest::Clean).then_some(read.value)
}

/// A number without its fraction.
fn whole(d: &Datum<'_>) -> i128 {
    match exact(d) {
        Some(Exact::Int(v)) => v,
        Some(Exact::Decimal(v)) => v.trunc_to_i128().unwrap_or(-1),
        None => to_double(d).clamp(-1e30, 1e30) as i128,
    }
}

pub(super) fn store_enum<'a>(
    d: Datum<'_>,
    from: Option<&ColumnType>,
    ty: &ColumnType,
    strict: bool,
) -> Stored<'a> {
    let Some(members) = ty.members else { return Err(ConvertError::Truncated) };
    let index = match text_of(d, from, members) {
        None => whole(&d),
        Some(text) => {
            let name = strip_spaces(&text);
            match members.find(name) {
                Some(index) => i128::from(index),
                // Zero in digits is the empty member; nobody asks how it came.
                None => match number_of(name).filter(|_| name.len() < DIGITS_END) {
                    Some(0) => return Ok(Coerced::plain(Datum::Enum(members, 0))),
                    number => number.unwrap_or(0),
                },
            }
        }
    };
    match u16::try_from(index) {
        Ok(v) if v > 0 && usize::from(v) <= members.len() => {
            Ok(Coerced::plain(Datum::Enum(members, v)))
        }
        _ if matches!(d, Datum::Enum(_, 0)) => Ok(Coerced::plain(Datum::Enum(members, 0))),
        _ => truncated(strict, Datum::Enum(members, 0)),
    }
}

pub(super) fn store_set<'a>(
    d: Datum<'_>,
    from: Option<&ColumnType>,
    ty: &ColumnType,
    strict: bool,
) -> Stored<'a> {
    let Some(members) = ty.members else { return Err(ConvertError::Truncated) };
    let all = u64::MAX >> (64 - members.len().clamp(1, 64));
    let (bits, clean) = match text_of(d, from, members) {
        // Blanks alone are no empty set.
        Some(text) if !text.is_empty() && strip_spaces(&text).is_empty() => (0, false),
        Some(text) => of_text(members, strip_spaces(&text), all),
        None => {
            let v = whole(&d);
            let bits = u64::try_from(v).or_else(|_| i64::try_from(v).map(|v| v as u64));
            let bits = bits.unwrap_or(u64::MAX);
            (bits & all, bits <= all)
        }
    };
    let value = Datum::Set(members, bits);
    if clean { Ok(Coerced::plain(value)) } else { truncated(strict, value) }
}

/// The members named between commas, and whether all of the text was understood. Text that names none
/// may be their number.
fn of_text(members: &Members, text: &[u8], all: u64) -> (u64, bool) {
    if text.is_empty() {
        return (0, true);
    }
    let (mut bits, mut clean) = (0, true);
    for name in text.split(|&b| b == b',') {
        match members.find(name) {
            Some(index) => bits |= 1 << (index - 1),
            None => clean = false,
        }
    }
    if let Some(number) = number_of(text).filter(|_| !clean) {
        let number = u64::try_from(number);
        return number.ok().filter(|v| *v <= all).map_or((0, false), |v| (v, true));
    }
    (bits, clean)
}
