//! Stored bytes of the fixed kinds that are neither integers nor BINARY.
//!
//! 1. memcmp order is the order of the values: big-endian, the sign bit turned (floats: all bits of a
//! negative one). 2. Bytes from disk that are no value of the kind give the nearest thing that is
//! one, never a panic: the page's checksum guards them.

use crate::time::{FSP_MAX, zone};
use crate::{ColumnType, Date, DateTime, Datum, Decimal, Kind, Time};

const OTHER_KIND: &str = "value of another kind than its column";
/// Microseconds of a stored TIMESTAMP and TIME are counted in hundredths of a second of this power.
const BYTE_DIGITS: u8 = 2;
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
pub(crate) fn get(ty: &ColumnType, bytes: &[u8]) -> Datum<'static> {
    let raw = number(bytes);
    match ty.kind {
        Kind::Double => Datum::Double(finite(from_order_bits(raw))),
        Kind::Float => Datum::Double(finite(f64::from(from_order_bits32(raw as u32)))),
        Kind::Decimal => Datum::Decimal(get_decimal(ty, bytes)),
        Kind::Bit => Datum::Bits(raw, ty.length as u8),
        Kind::Enum => ty.members.map_or(Datum::Null, |m| Datum::Enum(m, raw as u16)),
        Kind::Set => ty.members.map_or(Datum::Null, |m| Datum::Set(m, raw)),
        Kind::Date => Datum::Date(Date::from_packed(raw as u32).unwrap_or(Date::ZERO)),
        Kind::Year if raw == 0 => Datum::Year(0),
        Kind::Year => Datum::Year(1900 + raw as u16),
        Kind::Time => Datum::Time(get_time(ty, bytes)),
        Kind::DateTime => Datum::DateTime(get_date_time(ty, bytes)),
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

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |v, &b| v << 8 | u64::from(b))
}

fn order_bits(v: f64) -> u64 {
    let bits = if v == 0.0 { 0 } else { v.to_bits() };
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn from_order_bits(v: u64) -> f64 {
    f64::from_bits(if v >> 63 == 1 { v & !(1 << 63) } else { !v })
}

fn order_bits32(v: f32) -> u32 {
    let bits = if v == 0.0 { 0 } else { v.to_bits() };
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

fn get_decimal(ty: &ColumnType, bytes: &[u8]) -> Decimal {
    if ty.length == 0 {
        return bytes.first_chunk().and_then(Decimal::from_bytes).unwrap_or(Decimal::ZERO);
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

/// Bytes behind the whole seconds, and what one of their units is in microseconds.
fn fraction_unit(fsp: u8) -> (usize, i64) {
    let bytes = fsp.min(FSP_MAX).div_ceil(BYTE_DIGITS);
    (usize::from(bytes), 10i64.pow(u32::from(FSP_MAX - BYTE_DIGITS * bytes)))
}

/// Whole number of `whole` bytes and the microseconds behind it.
fn split(bytes: &[u8], whole: usize) -> (u64, i64) {
    let (head, tail) = bytes.split_at(whole.min(bytes.len()));
    let unit = 10i64.pow(6 - 2 * tail.len().min(3) as u32);
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
    put_number(v.packed() >> 20, &mut to[..5]);
    put_number((i64::from(v.micros()) / unit) as u64, &mut to[5..5 + bytes]);
    Ok(())
}

fn get_date_time(ty: &ColumnType, bytes: &[u8]) -> DateTime {
    let (packed, micros) = split(bytes, 5);
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
