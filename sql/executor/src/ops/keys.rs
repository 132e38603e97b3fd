//! Keys of sorts, groups and hash tables: bytes in the order of the values, equal exactly for equal ones.
//!
//! 1. A part is 0 for NULL, else begins with something greater: 1, or what tells how an exact number goes on. It delimits
//!    itself, and is short for small numbers, so that the first bytes of a key decide most comparisons. 2. How a part is written
//!    depends on the kinds of the values, not on each value: [`Rule::of`].

use value::json::{self, JsonRef, JsonValue};
use value::{Collation, ColumnType, Datum, Kind};

/// How one part of a key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Integers, and what is counted by one: years, bits, members of ENUM and SET.
    Int,
    /// Exact numbers of any scale.
    Exact,
    /// Numbers as doubles.
    Double,
    /// Dates and moments.
    Moment,
    /// Spans of time.
    Time,
    /// JSON documents, and values compared with one.
    Json,
    /// Text under a collation.
    Text(Collation),
}

impl Rule {
    /// For values of one type.
    pub fn of(ty: &ColumnType) -> Rule {
        match ty.kind {
            Kind::Year | Kind::Bit | Kind::Enum | Kind::Set => Rule::Int,
            kind if kind.is_int() => Rule::Int,
            Kind::Decimal => Rule::Exact,
            Kind::Double | Kind::Float => Rule::Double,
            Kind::Date | Kind::DateTime | Kind::Timestamp => Rule::Moment,
            Kind::Time => Rule::Time,
            Kind::Json => Rule::Json,
            _ => Rule::Text(ty.collation),
        }
    }

    /// For values of two types that are compared with each other.
    pub fn both(a: &ColumnType, b: &ColumnType, collation: Collation) -> Rule {
        let named =
            |ty: &ColumnType| ty.kind.is_string() || matches!(ty.kind, Kind::Enum | Kind::Set);
        if a.kind == Kind::Json || b.kind == Kind::Json {
            return Rule::Json;
        }
        if named(a) && named(b) {
            return Rule::Text(collation);
        }
        match (Rule::of(a), Rule::of(b)) {
            (a, b) if a == b => a,
            (Rule::Int | Rule::Exact, Rule::Int | Rule::Exact) => Rule::Exact,
            (Rule::Moment, Rule::Text(_)) | (Rule::Text(_), Rule::Moment) => Rule::Moment,
            (Rule::Time, Rule::Text(_)) | (Rule::Text(_), Rule::Time) => Rule::Time,
            _ => Rule::Double,
        }
    }

    /// Appends a value's part; the other way round if `descending`.
    #[inline]
    pub fn append(self, value: &Datum<'_>, descending: bool, out: &mut Vec<u8>) {
        let start = out.len();
        if value.is_null() {
            out.push(0);
        } else {
            // Exact numbers begin with other bytes than 0 by themselves.
            if !matches!(self, Rule::Int | Rule::Exact) {
                out.push(1);
            }
            self.append_value(value, out);
        }
        if descending {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
    }

    /// Appends what the part of a long text begins with; `false`, with nothing appended: the whole part is wanted.
    #[inline]
    pub fn append_start(
        collation: Collation,
        text: &[u8],
        descending: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        let start = out.len();
        out.push(1);
        if !collation.key_start(text, out) {
            out.truncate(start);
            return false;
        }
        if descending {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
        true
    }

    fn append_value(self, value: &Datum<'_>, out: &mut Vec<u8>) {
        match (self, *value) {
            (Rule::Int, Datum::Int(v)) => put_int(v >= 0, v as u64, out),
            (Rule::Int, Datum::UInt(v) | Datum::Bits(v, _) | Datum::Set(_, v)) => {
                put_int(true, v, out);
            }
            (Rule::Int, Datum::Year(v) | Datum::Enum(_, v)) => put_int(true, u64::from(v), out),
            (Rule::Json, Datum::Json(bytes)) => json::append_key(JsonRef::new(bytes), out),
            (Rule::Json, other) => {
                let bytes = JsonValue::of_datum(&other, None).to_bytes();
                json::append_key(JsonRef::new(&bytes), out);
            }
            (Rule::Text(collation), Datum::Bytes(bytes)) => collation.key_part(bytes, out),
            (Rule::Text(collation), other) => {
                let mut text = Vec::new();
                value::format::append_text(&other, &mut text);
                collation.key_part(&text, out);
            }
            (Rule::Moment, Datum::Date(v)) => {
                out.extend_from_slice(&v.midnight().packed().to_be_bytes());
            }
            (Rule::Moment, Datum::DateTime(v)) => out.extend_from_slice(&v.packed().to_be_bytes()),
            (Rule::Moment, Datum::Timestamp(v, _)) => put_int(v >= 0, v as u64, out),
            (Rule::Time, Datum::Time(v)) => put_int(!v.is_negative(), v.micros() as u64, out),
            (Rule::Moment | Rule::Time, other) => {
                let kind = if self == Rule::Time { Kind::Time } else { Kind::DateTime };
                let (ty, mut scratch) = (ColumnType::temporal(kind, 6), Vec::new());
                match super::cells::convert(other, &ty, &mut scratch) {
                    Ok(v @ (Datum::DateTime(_) | Datum::Time(_))) => self.append_value(&v, out),
                    _ => put_int(true, 0, out),
                }
            }
            (Rule::Double, value) => {
                // -0 and 0 are equal.
                let number = value::compare::to_double(&value) + 0.0;
                let bits = number.to_bits() as i64;
                let ordered = (bits ^ ((bits >> 63) as u64 >> 1) as i64) as u64 ^ (1 << 63);
                out.extend_from_slice(&ordered.to_be_bytes());
            }
            (Rule::Int | Rule::Exact, value) => append_exact(&value, out),
        }
    }
}

/// Appends an integer that is not negative, or the two's complement of one that is: a byte that says which, and how many bytes
/// behind it tell it from others (none for 0 and -1).
#[inline]
fn put_int(positive: bool, bits: u64, out: &mut Vec<u8>) {
    let telling = if positive { bits } else { !bits };
    let count = 8 - telling.leading_zeros() as usize / 8;
    out.push(if positive { 0x80 + count as u8 } else { 0x7F - count as u8 });
    out.extend_from_slice(&bits.to_be_bytes()[8 - count..]);
}

/// Appends an exact number of any scale: sign, count of digits before the point, digits, each plus one,
/// and an end; below zero all of it inverted.
fn append_exact(value: &Datum<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    let (negative, mut whole) = match *value {
        Datum::Int(v) => (v < 0, append_digits(u128::from(v.unsigned_abs()), 0, out)),
        Datum::UInt(v) => (false, append_digits(u128::from(v), 0, out)),
        Datum::Decimal(v) => match v.unscaled() {
            Some(n) => (n < 0, append_digits(n.unsigned_abs(), usize::from(v.scale()), out)),
            None => append_text_digits(value, out),
        },
        _ => append_text_digits(value, out),
    };
    // Digits begin behind two bytes that are written at last; zeros at either end do not count.
    let digits = start + 2;
    let zeros = out[digits..].iter().take(whole).take_while(|b| **b == 1).count();
    out.drain(digits..digits + zeros);
    whole -= zeros;
    while out.len() > digits && out.last() == Some(&1) {
        out.pop();
    }
    if out.len() == digits {
        out.truncate(start);
        out.push(0x80);
        return;
    }
    (out[start], out[start + 1]) = (0x81, whole as u8);
    out.push(0);
    if negative {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
}

/// Appends two bytes of room and the digits, each plus one; answers how many stand before the point.
fn append_digits(mut v: u128, scale: usize, out: &mut Vec<u8>) -> usize {
    let mut digits = [1u8; 40];
    let mut at = digits.len();
    while v > u128::from(u64::MAX) {
        at -= 1;
        digits[at] = (v % 10) as u8 + 1;
        v /= 10;
    }
    // The divisions that 64 bits do are much cheaper.
    let mut v = v as u64;
    while v > 0 {
        at -= 1;
        digits[at] = (v % 10) as u8 + 1;
        v /= 10;
    }
    let at = at.min(digits.len() - scale);
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(&digits[at..]);
    digits.len() - at - scale
}

/// As [`append_digits`], of a number's text; also whether it is below zero.
fn append_text_digits(value: &Datum<'_>, out: &mut Vec<u8>) -> (bool, usize) {
    let mut text = Vec::new();
    value::format::append_text(value, &mut text);
    let negative = text.first() == Some(&b'-');
    let text = text.strip_prefix(b"-").unwrap_or(&text);
    let point = text.iter().position(|b| *b == b'.').unwrap_or(text.len());
    out.extend_from_slice(&[0; 2]);
    let digits = text.iter().filter(|b| **b != b'.');
    out.extend(digits.map(|digit| digit.wrapping_sub(b'0').wrapping_add(1)));
    (negative, point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    fn key(rule: Rule, value: Datum<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        rule.append(&value, false, &mut out);
        out
    }

    #[test]
    fn bytes_are_in_the_order_of_the_values() {
        let ints = [Datum::Null, Datum::Int(i64::MIN), Datum::Int(-1), Datum::Int(0)];
        let more = [1, 7, 255, 256, 257, 65_535, 1 << 40, i64::MAX].map(Datum::Int);
        let less = [i64::MIN + 1, -257, -256, -255, -2].map(Datum::Int);
        let ints = [&ints[..2], &less, &ints[2..], &more, &[Datum::UInt(u64::MAX)]].concat();
        let doubles = [-1e300, -2.5, -0.0, 1e-300, 3.25].map(Datum::Double);
        for (rule, values) in
            [(Rule::Int, &ints[..]), (Rule::Exact, &ints), (Rule::Double, &doubles)]
        {
            for (i, a) in values.iter().enumerate() {
                for (j, b) in values.iter().enumerate() {
                    let order = key(rule, *a).cmp(&key(rule, *b));
                    assert_eq!(order, i.cmp(&j), "{rule:?} {a:?} {b:?}");
                }
            }
        }
        assert_eq!(key(Rule::Double, Datum::Double(-0.0)), key(Rule::Double, Datum::Double(0.0)));
    }

    #[test]
    fn exact_numbers_are_equal_whatever_their_scale() {
        let texts = ["-12.5", "-12.25", "-12", "-0.001", "0", "0.0009", "0.1", "1", "9", "10.5"];
        let values = texts.map(|t| value::Decimal::parse(t).unwrap());
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                let (a, b) = (Datum::Decimal(*a), Datum::Decimal(*b));
                assert_eq!(key(Rule::Exact, a).cmp(&key(Rule::Exact, b)), i.cmp(&j));
            }
        }
        let one = value::Decimal::parse("1.000").unwrap();
        assert_eq!(key(Rule::Exact, Datum::Decimal(one)), key(Rule::Exact, Datum::Int(1)));
    }

    #[test]
    fn descending_turns_the_order_round() {
        let mut parts = [1i64, 2].map(|v| {
            let mut out = Vec::new();
            Rule::Int.append(&Datum::Int(v), true, &mut out);
            out
        });
        assert_eq!(parts[0].cmp(&parts[1]), Ordering::Greater);
        let mut null = Vec::new();
        Rule::Int.append(&Datum::Null, true, &mut null);
        parts[0] = null;
        assert_eq!(parts[0].cmp(&parts[1]), Ordering::Greater);
    }
}
