//! A value as MySQL keeps it in a row in memory, over which CHECKSUM TABLE is computed.
//!
//! 1. The images are facts about MySQL, found by observation; Limpid stores nothing in this form.
//! 2. Every value of a type of fixed length has an image of the same length.

use value::{ColumnType, DateTime, Datum, Decimal, Kind, Time};

/// Bytes of 0 to 9 digits of a DECIMAL.
const DIGITS_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
const DIGITS_MAX: usize = 9;

/// Appends the image of `value`, a value of a column of type `ty` that is not NULL.
pub fn append(ty: &ColumnType, value: &Datum<'_>, out: &mut Vec<u8>) {
    let width = ty.fixed_bytes().unwrap_or(0) as usize;
    let little =
        |v: u64, out: &mut Vec<u8>| out.extend_from_slice(&v.to_le_bytes()[..width.min(8)]);
    match *value {
        Datum::Null => {}
        Datum::Int(v) => little(v as u64, out),
        Datum::UInt(v) => little(v, out),
        Datum::Double(v) if ty.kind == Kind::Float => {
            out.extend_from_slice(&(v as f32).to_le_bytes());
        }
        Datum::Double(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Decimal(v) => append_decimal(ty, &v, out),
        Datum::Date(v) => {
            let v = u64::from(v.year()) << 9 | u64::from(v.month()) << 5 | u64::from(v.day());
            little(v, out);
        }
        Datum::Time(v) => append_time(ty, v, out),
        Datum::DateTime(v) => append_date_time(ty, v, out),
        Datum::Timestamp(micros, _) => {
            let (seconds, micros) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
            append_big(seconds as u64, 4, out);
            append_fraction(ty, micros as u32, out);
        }
        Datum::Year(v) => out.push(v.saturating_sub(1900) as u8),
        Datum::Bits(v, _) => append_big(v, width, out),
        Datum::Enum(_, v) => little(u64::from(v), out),
        Datum::Set(_, v) => little(v, out),
        Datum::Json(v) => value::json::append_text(v, out),
        Datum::Bytes(v) => {
            out.extend_from_slice(v);
            let (length, pad) = match ty.kind {
                Kind::Char => (ty.bytes_max() as usize, b' '),
                Kind::Binary => (width, 0),
                _ => (0, 0),
            };
            out.extend(std::iter::repeat_n(pad, length.saturating_sub(v.len())));
        }
    }
}

/// Appends what stands for NULL in a column without a default.
pub fn append_zero(ty: &ColumnType, out: &mut Vec<u8>) {
    let zero = match ty.kind {
        Kind::Decimal => Datum::Decimal(Decimal::from_i128(0, 0)),
        Kind::Time => Datum::Time(Time::saturated(0, 0).0),
        Kind::DateTime => Datum::DateTime(DateTime::default()),
        Kind::Char | Kind::Binary => Datum::Bytes(&[]),
        Kind::Json => return out.extend_from_slice(b"null"),
        _ => return out.extend(std::iter::repeat_n(0, ty.fixed_bytes().unwrap_or(0) as usize)),
    };
    append(ty, &zero, out);
}

/// The last `bytes` bytes of `v`, big-endian.
fn append_big(v: u64, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&v.to_be_bytes()[8 - bytes.min(8)..]);
}

/// Bytes of the fraction of seconds of a type, and what a microsecond is divided by.
fn fraction(ty: &ColumnType) -> (usize, u32) {
    let bytes = ty.decimals.div_ceil(2).min(3);
    (usize::from(bytes), 10u32.pow(6 - 2 * u32::from(bytes)))
}

fn append_fraction(ty: &ColumnType, micros: u32, out: &mut Vec<u8>) {
    let (bytes, divisor) = fraction(ty);
    append_big(u64::from(micros / divisor), bytes, out);
}

/// Ten bits of hours, six of minutes, six of seconds and the fraction, above an offset: negative
/// spans lie below it.
fn append_time(ty: &ColumnType, v: Time, out: &mut Vec<u8>) {
    let (bytes, divisor) = fraction(ty);
    let bits = 8 * bytes;
    let whole = i64::from(v.hours()) << 12 | i64::from(v.minute()) << 6 | i64::from(v.second());
    let all = (whole << bits) + i64::from(v.fraction() / divisor);
    let all = if v.is_negative() { -all } else { all };
    append_big((all + (0x80_0000 << bits)) as u64, 3 + bytes, out);
}

fn append_date_time(ty: &ColumnType, v: DateTime, out: &mut Vec<u8>) {
    let date = v.date();
    let months = u64::from(date.year()) * 13 + u64::from(date.month());
    let days = months << 5 | u64::from(date.day());
    let time = u64::from(v.hour()) << 12 | u64::from(v.minute()) << 6 | u64::from(v.second());
    append_big((days << 17 | time) + 0x80_0000_0000, 5, out);
    append_fraction(ty, v.micros(), out);
}

/// Groups of nine digits from the point outwards, big-endian; the sign is the first bit, and the bits
/// of a negative number are turned over.
fn append_decimal(ty: &ColumnType, v: &Decimal, out: &mut Vec<u8>) {
    let (scale, start) = (usize::from(ty.decimals), out.len());
    let mut text = Vec::new();
    v.abs().append_text(&mut text);
    let point = text.iter().position(|b| *b == b'.').unwrap_or(text.len());
    let whole = &text[..point];
    let mut digits = vec![b'0'; (ty.length as usize).saturating_sub(scale)];
    let taken = whole.len().min(digits.len());
    let at = digits.len() - taken;
    digits[at..].copy_from_slice(&whole[whole.len() - taken..]);
    let first = digits.len() % DIGITS_MAX;
    append_digits(&digits[..first], out);
    digits[first..].chunks(DIGITS_MAX).for_each(|group| append_digits(group, out));
    let mut part = text.get(point + 1..).unwrap_or_default().to_vec();
    part.resize(scale, b'0');
    part.chunks(DIGITS_MAX).for_each(|group| append_digits(group, out));
    if v.is_negative() {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
    if let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
}

fn append_digits(digits: &[u8], out: &mut Vec<u8>) {
    let v = digits.iter().fold(0, |v, d| v * 10 + u64::from(d - b'0'));
    append_big(v, DIGITS_BYTES[digits.len()], out);
}
