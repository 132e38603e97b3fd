//! Stored bytes of the fixed kinds that are neither integers nor BINARY.
//!
//! 1. memcmp order is the order of the values: big-endian, the sign bit turned (floats: all bits of a
//! negative one). 2. Bytes from disk that are no value of the kind give the nearest thing that is
//! one, never a panic: the page's checksum guards them.

use crate::time::{FSP_MAX, zone};
use crate::{ColumnType, Date, DateTime, Datum, Decimal, Kind, Time};
use stdx::bytes::be_head;

const OTHER_KIND: &str = "value of another kind than its column";
/// Digits of a second's fraction in one byte.
const BYTE_DIGITS: u8 = 2;
/// Bytes of a DATETIME without its fraction.
const DATE_TIME_BYTES: usize = 5;
/// TIME's whole seconds are stored above this.
const TIME_ZERO: i64 = 1 << 23;

/// Writes a value that [`crate::coerce`] made for the column.
pub(crate) fn put(ty: &ColumnType, value: &Datum<'_>, to: &mut [u8]) -> Result<(), &'static str> {
    match (ty.kind, *value) {
        (Kind::Double, Datum::Double(v)) => put_number(order_bits(v), to),
        (Kind::Float, Datum::Double(v)) => {
            put_number(u64::from(order_bits32(v as f32)), to);
        }
        (Kind::Decimal, Datum::Decimal(v)) => put_decimal(ty, v, to)?,
        (Kind::Bit, Datum::Bits(v, _) | Datum::UInt(v)) => {
            if ty.length < 64 && v >> ty.length != 0 {
                return Err("more bits than the column's");
            }
            put_number(v, to);
        }
        (Kind::Enum, Datum::Enum(_, v)) => put_number(u64::from(v), to),
        (Kind::Set, Datum::Set(_, v)) => put_number(v, to),
        (Kind::Date, Datum::Date(v)) => put_number(u64::from(v.packed()), to),
        (Kind::Year, Datum::Year(v)) => put_number(u64::from(v.saturating_sub(1900)), to),
        (Kind::Time, Datum::Time(v)) => put_time(ty, v, to)?,
        (Kind::DateTime, Datum::DateTime(v)) => put_date_time(ty, v, to)?,
        (Kind::Timestamp, Datum::Timestamp(v, _)) => put_timestamp(ty, v, to)?,
        _ => return Err(OTHER_KIND),
    }
    Ok(())
}

/// Reads what [`put`] wrote.
#[inline]
pub(crate) fn get(ty: &ColumnType, bytes: &[u8]) -> Datum<'static> {
    if ty.kind == Kind::Decimal {
        return Datum::Decimal(get_decimal(ty, bytes));
    }
    let raw = number(bytes);
    match ty.kind {
        Kind::Double => Datum::Double(finite(from_order_bits(raw))),
        Kind::Float => Datum::Double(finite(f64::from(from_order_bits32(raw as u32)))),
        Kind::Bit => Datum::Bits(raw, ty.length as u8),
        Kind::Enum => ty.members.map_or(Datum::Null, |m| Datum::Enum(m, raw as u16)),
        Kind::Set => ty.members.map_or(Datum::Null, |m| Datum::Set(m, raw)),
        Kind::Date => Datum::Date(Date::from_packed(raw as u32).unwrap_or(Date::ZERO)),
        Kind::Year if raw == 0 => Datum::Year(0),
        Kind::Year => Datum::Year(1900 + raw as u16),
        Kind::Time => Datum::Time(get_time(ty, bytes)),
        // Without a fraction it is one number.
        Kind::DateTime if bytes.len() == DATE_TIME_BYTES => Datum::DateTime(date_time(ty, raw, 0)),
        Kind::DateTime => {
            let (packed, micros) = split(bytes, DATE_TIME_BYTES);
            Datum::DateTime(date_time(ty, packed, micros))
        }
        Kind::Timestamp => {
            let (seconds, micros) = split(bytes, 4);
            let micros = seconds as i64 * crate::time::MICROS_PER_SECOND + micros;
            Datum::Timestamp(micros.min(zone::TIMESTAMP_MICROS_MAX), ty.decimals)
        }
        _ => Datum::Null,
    }
}

fn put_number(v: u64, to: &mut [u8]) {
    let n = to.len().min(8);
    to[..n].copy_from_slice(&v.to_be_bytes()[8 - n..]);
}

#[inline]
fn number(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0 => 0,
        len => be_head(bytes) >> (64 - 8 * len.min(8)),
    }
}

/// A negative zero keeps its sign, just below zero; in keys, where the two are one, nobody writes it.
fn order_bits(v: f64) -> u64 {
    let bits = v.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn from_order_bits(v: u64) -> f64 {
    f64::from_bits(if v >> 63 == 1 { v & !(1 << 63) } else { !v })
}

fn order_bits32(v: f32) -> u32 {
    let bits = v.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

fn from_order_bits32(v: u32) -> f32 {
    f32::from_bits(if v >> 31 == 1 { v & !(1 << 31) } else { !v })
}

fn finite(v: f64) -> f64 {
    if v.is_finite() { v } else { 0.0 }
}

/// The magnitude at the column's scale, big-endian; the first bit is set, and all bits of a negative
/// one are inverted. A type without precision holds any decimal as its own 28 bytes.
fn put_decimal(ty: &ColumnType, v: Decimal, to: &mut [u8]) -> Result<(), &'static str> {
    if ty.length == 0 {
        to.copy_from_slice(&v.to_bytes());
        return Ok(());
    }
    let v = if v.scale() == ty.decimals { Some(v) } else { v.round(i32::from(ty.decimals)) };
    let v = v.filter(|v| v.digits() <= ty.length).ok_or("decimal outside its column")?;
    v.put_magnitude(to);
    to[0] |= 0x80;
    if v.is_negative() {
        to.iter_mut().for_each(|b| *b = !*b);
    }
    Ok(())
}

#[inline]
fn get_decimal(ty: &ColumnType, bytes: &[u8]) -> Decimal {
    if ty.length == 0 {
        return bytes.first_chunk().and_then(Decimal::from_bytes).unwrap_or(Decimal::ZERO);
    }
    if let Some(v) = narrow(bytes) {
        return Decimal::new(v, ty.decimals).unwrap_or(Decimal::ZERO);
    }
    let mut buf = [0u8; 28];
    let n = bytes.len().min(buf.len());
    buf[28 - n..].copy_from_slice(&bytes[..n]);
    let negative = bytes[0] & 0x80 == 0;
    if negative {
        buf[28 - n..].iter_mut().for_each(|b| *b = !*b);
    }
    buf[28 - n] &= 0x7F;
    Decimal::from_magnitude(negative, &buf, ty.decimals).unwrap_or(Decimal::ZERO)
}

/// A decimal's digits as one integer, where its column takes so few bytes that 128 bits hold it.
#[inline]
fn narrow(bytes: &[u8]) -> Option<i128> {
    let negative = bytes.first()? & 0x80 == 0;
    let n = bytes.len();
    let sign = if negative { u128::MAX } else { 0 };
    // Two loads that overlap, instead of a copy of unknown length.
    let raw = match n {
        1..=3 => u128::from(number(bytes)),
        4..=7 => {
            let (high, low) = (bytes.first_chunk::<4>()?, bytes.last_chunk::<4>()?);
            let high = u64::from(u32::from_be_bytes(*high)) << (8 * (n - 4));
            u128::from(high | u64::from(u32::from_be_bytes(*low)))
        }
        8..=15 => {
            let (high, low) = (bytes.first_chunk::<8>()?, bytes.last_chunk::<8>()?);
            u128::from(u64::from_be_bytes(*high)) << (8 * (n - 8))
                | u128::from(u64::from_be_bytes(*low))
        }
        _ => return None,
    };
    let mask = (1u128 << (8 * n - 1)) - 1;
    let magnitude = ((raw ^ sign) & mask) as i128;
    Some(if negative { -magnitude } else { magnitude })
}

/// Bytes behind the whole seconds, and what one of their units is in microseconds.
fn fraction_unit(fsp: u8) -> (usize, i64) {
    let bytes = fsp.min(FSP_MAX).div_ceil(BYTE_DIGITS);
    (usize::from(bytes), 10i64.pow(u32::from(FSP_MAX - BYTE_DIGITS * bytes)))
}

/// Whole number of `whole` bytes and the microseconds behind it.
fn split(bytes: &[u8], whole: usize) -> (u64, i64) {
    let (head, tail) = bytes.split_at(whole.min(bytes.len()));
    let unit = [1_000_000, 10_000, 100, 1][tail.len().min(3)];
    (number(head), (number(tail) as i64).saturating_mul(unit).min(999_999))
}

fn put_time(ty: &ColumnType, v: Time, to: &mut [u8]) -> Result<(), &'static str> {
    if v.truncate(ty.decimals).micros() != v.micros() {
        return Err("more digits of the second than its column");
    }
    let (bytes, unit) = fraction_unit(ty.decimals);
    // A negative span counts down from the zero as a whole, so the order is that of the spans.
    let units = v.micros() / unit + (TIME_ZERO * (1_000_000 / unit));
    let per_second = 1_000_000 / unit;
    put_number((units.div_euclid(per_second)) as u64, &mut to[..3]);
    put_number((units.rem_euclid(per_second)) as u64, &mut to[3..3 + bytes]);
    Ok(())
}

fn get_time(ty: &ColumnType, bytes: &[u8]) -> Time {
    let (seconds, micros) = split(bytes, 3);
    let all = (seconds as i64 - TIME_ZERO) * crate::time::MICROS_PER_SECOND + micros;
    Time::saturated(all, ty.decimals).0
}

fn put_date_time(ty: &ColumnType, v: DateTime, to: &mut [u8]) -> Result<(), &'static str> {
    if v.truncate(ty.decimals).packed() != v.packed() {
        return Err("more digits of the second than its column");
    }
    let (bytes, unit) = fraction_unit(ty.decimals);
    let (whole, fraction) = to.split_at_mut(DATE_TIME_BYTES);
    put_number(v.packed() >> 20, whole);
    put_number((i64::from(v.micros()) / unit) as u64, &mut fraction[..bytes]);
    Ok(())
}

#[inline]
fn date_time(ty: &ColumnType, packed: u64, micros: i64) -> DateTime {
    let all = packed << 20 | micros as u64;
    DateTime::from_packed(all, ty.decimals).unwrap_or(DateTime::ZERO)
}

fn put_timestamp(ty: &ColumnType, v: i64, to: &mut [u8]) -> Result<(), &'static str> {
    let (bytes, unit) = fraction_unit(ty.decimals);
    if !(0..=zone::TIMESTAMP_MICROS_MAX).contains(&v) || v % unit != 0 {
        return Err("moment outside its column");
    }
    let second = crate::time::MICROS_PER_SECOND;
    put_number((v / second) as u64, &mut to[..4]);
    put_number((v % second / unit) as u64, &mut to[4..4 + bytes]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collation, KeyPart, KeySpec, Members, RowLayout};
    use proptest::prelude::*;

    fn any_date() -> impl Strategy<Value = Date> {
        (0u16..=9999, 0u8..=12, 0u8..=31).prop_map(|(y, m, d)| Date::new(y, m, d).unwrap())
    }

    /// A column type and a value that it takes.
    fn any_pair() -> impl Strategy<Value = (ColumnType, Datum<'static>, Datum<'static>)> {
        let names = || vec![b"a".to_vec(), b"b".to_vec(), b"c".to_vec()];
        let members = Members::intern(names(), Collation::default());
        let two = |ty, v: BoxedStrategy<Datum<'static>>| {
            (v.clone(), v).prop_map(move |(x, y)| (ty, x, y)).boxed()
        };
        let double = any::<f64>().prop_filter("finite", |v| v.is_finite());
        let float = any::<f32>().prop_filter("finite", |v| v.is_finite());
        let decimal = |precision: u8, scale: u8| {
            let pattern = format!("[0-9]{{1,{precision}}}");
            let digits = proptest::string::string_regex(&pattern).unwrap();
            let digits = (any::<bool>(), digits);
            digits.prop_map(move |(negative, digits)| {
                let text = format!("{}{digits}e-{scale}", if negative { "-" } else { "" });
                let v = Decimal::from_text(text.as_bytes()).value;
                Datum::Decimal(v.round(i32::from(scale)).unwrap())
            })
        };
        let moment = |fsp: u8| {
            (any_date(), 0i64..86_400_000_000).prop_map(move |(date, micros)| {
                Datum::DateTime(DateTime::of_day(date, micros, fsp).unwrap())
            })
        };
        let span = |fsp: u8| {
            let most = crate::time::TIME_MICROS_MAX;
            (-most..=most).prop_map(move |v| Datum::Time(Time::from_micros(v, fsp).unwrap()))
        };
        prop_oneof![
            two(ColumnType::double(), double.prop_map(Datum::Double).boxed()),
            two(
                ColumnType::of(Kind::Float),
                float.prop_map(|v| Datum::Double(f64::from(v))).boxed()
            ),
            two(ColumnType::decimal(65, 30), decimal(65, 30).boxed()),
            two(ColumnType::decimal(10, 2), decimal(10, 2).boxed()),
            two(ColumnType::bit(13), (0u64..1 << 13).prop_map(|v| Datum::Bits(v, 13)).boxed()),
            two(ColumnType::bit(64), any::<u64>().prop_map(|v| Datum::Bits(v, 64)).boxed()),
            two(
                ColumnType::with_members(Kind::Enum, members),
                (0u16..4).prop_map(move |v| Datum::Enum(members, v)).boxed()
            ),
            two(
                ColumnType::with_members(Kind::Set, members),
                (0u64..8).prop_map(move |v| Datum::Set(members, v)).boxed()
            ),
            two(ColumnType::of(Kind::Date), any_date().prop_map(Datum::Date).boxed()),
            two(ColumnType::temporal(Kind::Time, 0), span(0).boxed()),
            two(ColumnType::temporal(Kind::Time, 3), span(3).boxed()),
            two(ColumnType::temporal(Kind::Time, 6), span(6).boxed()),
            two(ColumnType::temporal(Kind::DateTime, 0), moment(0).boxed()),
            two(ColumnType::temporal(Kind::DateTime, 5), moment(5).boxed()),
            two(
                ColumnType::temporal(Kind::Timestamp, 2),
                (0i64..214_748_364_799).prop_map(|v| Datum::Timestamp(v * 10_000, 2)).boxed()
            ),
            two(
                ColumnType::of(Kind::Year),
                prop_oneof![Just(0u16), 1901u16..=2155].prop_map(Datum::Year).boxed()
            ),
        ]
    }

    /// Members order by their numbers in keys, not by their names.
    fn order(a: &Datum<'_>, b: &Datum<'_>) -> std::cmp::Ordering {
        match (a, b) {
            (Datum::Enum(_, x), Datum::Enum(_, y)) => x.cmp(y),
            (Datum::Set(_, x), Datum::Set(_, y)) => x.cmp(y),
            _ => crate::compare(a, b, Collation::Binary).unwrap(),
        }
    }

    #[test]
    fn rows_keep_the_sign_of_zero_and_keys_do_not() {
        for ty in [ColumnType::double(), ColumnType::of(Kind::Float)] {
            let key = |v: f64| {
                let mut key = Vec::new();
                let spec = KeySpec::new(vec![KeyPart::whole(0)]);
                spec.encode(&[ty], &[Datum::Double(v)], &mut key).unwrap();
                key
            };
            let mut row = Vec::new();
            let layout = RowLayout::new(&[ty]);
            layout.encode(&[Datum::Double(-0.0)], &mut row).unwrap();
            let Datum::Double(zero) = layout.decode(&row, 0).unwrap() else { unreachable!() };
            assert!(zero == 0.0 && zero.is_sign_negative());
            assert_eq!(key(-0.0), key(0.0));
            assert!(key(-0.0) < key(1e-30) && key(-1e-30) < key(-0.0));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn values_come_back_and_keys_order_as_they_do((ty, x, y) in any_pair()) {
            let layout = RowLayout::new(&[ty]);
            let key = |v: Datum<'_>, descending| {
                let part = KeyPart { descending, ..KeyPart::whole(0) };
                let mut key = Vec::new();
                KeySpec::new(vec![part]).encode(&[ty], &[v], &mut key).unwrap();
                key
            };
            let mut row = Vec::new();
            layout.encode(&[x], &mut row).unwrap();
            prop_assert_eq!(layout.decode(&row, 0).unwrap(), x);
            prop_assert_eq!(row.len(), 1 + ty.fixed_bytes().unwrap() as usize);
            prop_assert_eq!(key(x, false).cmp(&key(y, false)), order(&x, &y));
            prop_assert_eq!(key(x, true).cmp(&key(y, true)), order(&y, &x));
            prop_assert!(key(Datum::Null, false) < key(x, false));
            prop_assert!(key(Datum::Null, true) > key(x, true));
            let mut encoded = Vec::new();
            ty.encode(&mut encoded);
            prop_assert_eq!(ColumnType::decode(&encoded), Ok((ty, encoded.len())));
        }

        #[test]
        fn damaged_bytes_never_panic((ty, ..) in any_pair(), bytes in prop::collection::vec(any::<u8>(), 28)) {
            let width = ty.fixed_bytes().unwrap() as usize;
            let _ = crate::format::to_text(&get(&ty, &bytes[..width]));
        }
    }
}
