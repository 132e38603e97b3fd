//! Parameters of COM_STMT_EXECUTE: NULL bitmap, types, values.
//!
//! 1. Types are sent with the first execution and kept by the caller for the next ones.
//! 2. A parameter that came by COM_STMT_SEND_LONG_DATA has no bytes in the packet.

use crate::constants::ColumnCode;
use crate::{Malformed, OrMalformed, attributes, lenenc};
use stdx::bytes::Reader;

/// Type of a parameter, as the client bound it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamType {
    /// Type code.
    pub code: ColumnCode,
    /// UNSIGNED.
    pub unsigned: bool,
}

const UNSIGNED: u8 = 0x80;

impl ParamType {
    /// As clients send it.
    #[inline]
    fn bytes(self) -> [u8; 2] {
        [self.code as u8, if self.unsigned { UNSIGNED } else { 0 }]
    }
}

/// Types of a statement's parameters, kept from one execution to the next.
#[derive(Debug)]
pub struct BoundTypes {
    /// As the client bound them last.
    pub list: Vec<ParamType>,
    /// They have changed, or were not looked at since they did.
    pub fresh: bool,
}

impl Default for BoundTypes {
    fn default() -> BoundTypes {
        BoundTypes { list: Vec::new(), fresh: true }
    }
}

/// A parameter's value, lying in the packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Param<'a> {
    /// NULL.
    Null,
    /// A signed integer of any width.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// A float.
    Float(f32),
    /// A double.
    Double(f64),
    /// A string, blob, JSON: as text or bytes.
    Bytes(&'a [u8]),
    /// A decimal, as text.
    Decimal(&'a [u8]),
    /// A date or date and time.
    DateTime(DateTime),
    /// A time span.
    Time(Time),
    /// Its bytes came by COM_STMT_SEND_LONG_DATA.
    Long,
}

/// A date with an optional time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // The fields are what they are called.
pub struct DateTime {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub micros: u32,
    /// Whether the client bound a DATE.
    pub date_only: bool,
}

/// A signed time span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // The fields are what they are called.
pub struct Time {
    pub negative: bool,
    pub days: u32,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub micros: u32,
}

/// Reads the parameters of one execution, in order.
#[derive(Debug)]
pub struct Params<'a, 't> {
    nulls: &'a [u8],
    types: &'t [ParamType],
    values: Reader<'a>,
    next: usize,
}

/// Starts decoding `rest` of a [`crate::Command::Execute`] for a statement with `count` parameters.
///
/// `types` is filled when the client sends types, and must otherwise still hold those of an earlier
/// execution.
#[inline]
pub fn params<'a, 't>(
    rest: &'a [u8],
    count: usize,
    types: &'t mut BoundTypes,
) -> Result<Params<'a, 't>, Malformed> {
    let mut r = Reader::new(rest);
    if count == 0 {
        return Ok(Params { nulls: b"", types: &[], values: r, next: 0 });
    }
    let nulls = r.take(count.div_ceil(8)).or_malformed("NULL bitmap")?;
    match r.u8().or_malformed("new-params-bound flag")? {
        0 => {}
        1 => read_types(&mut r, count, types)?,
        _ => return Err(Malformed("new-params-bound flag")),
    }
    Ok(Params { nulls, types: &types.list, values: r, next: 0 })
}

/// As [`params`], for a client that sends attributes behind the parameters; `None`: it sends fewer parameters than there are.
///
/// The attributes are left where they lie.
pub fn params_and_attributes<'a, 't>(
    rest: &'a [u8],
    count: usize,
    types: &'t mut BoundTypes,
) -> Result<Option<Params<'a, 't>>, Malformed> {
    let mut r = Reader::new(rest);
    let sent = attributes::length(&mut r)?;
    if sent < count {
        return Ok(None);
    }
    let nulls = r.take(sent.div_ceil(8)).or_malformed("NULL bitmap")?;
    if sent > 0 {
        match r.u8().or_malformed("new-params-bound flag")? {
            // Attributes have types of their own each time.
            0 if sent > count => return Err(Malformed("attributes without types")),
            0 => {}
            1 => read_named_types(&mut r, (sent, count), types)?,
            _ => return Err(Malformed("new-params-bound flag")),
        }
    }
    Ok(Some(Params { nulls, types: &types.list, values: r, next: 0 }))
}

/// The types of what was sent; those of parameters come first and are kept.
fn read_named_types(
    r: &mut Reader<'_>,
    (sent, count): (usize, usize),
    types: &mut BoundTypes,
) -> Result<(), Malformed> {
    let mut list = Vec::new();
    for i in 0..sent {
        let (code, flags) = (r.u8().or_malformed("parameter type")?, r.u8());
        let flags = flags.or_malformed("parameter type")?;
        lenenc::bytes(r)?;
        if i < count {
            let code = ColumnCode::from_byte(code).ok_or(Malformed("parameter type"))?;
            list.push(ParamType { code, unsigned: flags & UNSIGNED != 0 });
        }
    }
    if types.list != list {
        (types.list, types.fresh) = (list, true);
    }
    Ok(())
}

fn read_types(r: &mut Reader<'_>, count: usize, types: &mut BoundTypes) -> Result<(), Malformed> {
    let bytes = r.take(count * 2).or_malformed("parameter types")?;
    let (pairs, _) = bytes.as_chunks::<2>();
    // Many clients send them each time.
    let known = types.list.len() == count;
    if known && types.list.iter().zip(pairs).all(|(ty, pair)| ty.bytes() == *pair) {
        return Ok(());
    }
    types.fresh = true;
    types.list.clear();
    for [code, flags] in pairs {
        let code = ColumnCode::from_byte(*code).ok_or(Malformed("parameter type"))?;
        types.list.push(ParamType { code, unsigned: flags & UNSIGNED != 0 });
    }
    Ok(())
}

impl<'a> Params<'a, '_> {
    /// The next parameter; `long` says that its bytes came by COM_STMT_SEND_LONG_DATA.
    #[inline]
    pub fn next_param(&mut self, long: bool) -> Result<Param<'a>, Malformed> {
        let i = self.next;
        self.next += 1;
        if long {
            return Ok(Param::Long);
        }
        let Some(nulls) = self.nulls.get(i / 8) else { return Err(Malformed("parameter number")) };
        if nulls & (1 << (i % 8)) != 0 {
            return Ok(Param::Null);
        }
        // NULLs need no types: a client may send none before there is another value.
        let Some(&ty) = self.types.get(i) else { return Err(Malformed("parameter without type")) };
        value(&mut self.values, ty)
    }
}

#[inline]
fn value<'a>(r: &mut Reader<'a>, ty: ParamType) -> Result<Param<'a>, Malformed> {
    const PART: &str = "parameter value";
    let (signed, unsigned) = match ty.code {
        ColumnCode::Tiny => {
            let v = r.u8().or_malformed(PART)?;
            (i64::from(v as i8), u64::from(v))
        }
        ColumnCode::Short | ColumnCode::Year => {
            let v = r.u16_le().or_malformed(PART)?;
            (i64::from(v as i16), u64::from(v))
        }
        ColumnCode::Long | ColumnCode::Int24 => {
            let v = r.u32_le().or_malformed(PART)?;
            (i64::from(v as i32), u64::from(v))
        }
        ColumnCode::LongLong => {
            let v = r.u64_le().or_malformed(PART)?;
            (v as i64, v)
        }
        _ => return other_value(r, ty.code),
    };
    Ok(if ty.unsigned { Param::UInt(unsigned) } else { Param::Int(signed) })
}

fn other_value<'a>(r: &mut Reader<'a>, code: ColumnCode) -> Result<Param<'a>, Malformed> {
    const PART: &str = "parameter value";
    Ok(match code {
        ColumnCode::Null => Param::Null,
        ColumnCode::Float => Param::Float(f32::from_bits(r.u32_le().or_malformed(PART)?)),
        ColumnCode::Double => Param::Double(f64::from_bits(r.u64_le().or_malformed(PART)?)),
        ColumnCode::Date | ColumnCode::DateTime | ColumnCode::Timestamp => {
            Param::DateTime(date_time(r, code == ColumnCode::Date)?)
        }
        ColumnCode::Time => Param::Time(time(r)?),
        ColumnCode::Decimal | ColumnCode::NewDecimal => Param::Decimal(lenenc::bytes(r)?),
        _ => Param::Bytes(lenenc::bytes(r)?),
    })
}

fn date_time(r: &mut Reader<'_>, date_only: bool) -> Result<DateTime, Malformed> {
    const PART: &str = "date parameter";
    let len = r.u8().or_malformed(PART)?;
    let mut v = Reader::new(r.take(usize::from(len)).or_malformed(PART)?);
    let mut out = DateTime { date_only, ..DateTime::default() };
    if !matches!(len, 0 | 4 | 7 | 11) {
        return Err(Malformed(PART));
    }
    if len >= 4 {
        out.year = v.u16_le().or_malformed(PART)?;
        out.month = v.u8().or_malformed(PART)?;
        out.day = v.u8().or_malformed(PART)?;
    }
    if len >= 7 {
        out.hour = v.u8().or_malformed(PART)?;
        out.minute = v.u8().or_malformed(PART)?;
        out.second = v.u8().or_malformed(PART)?;
    }
    if len == 11 {
        out.micros = v.u32_le().or_malformed(PART)?;
    }
    Ok(out)
}

fn time(r: &mut Reader<'_>) -> Result<Time, Malformed> {
    const PART: &str = "time parameter";
    let len = r.u8().or_malformed(PART)?;
    let mut v = Reader::new(r.take(usize::from(len)).or_malformed(PART)?);
    let mut out = Time::default();
    if !matches!(len, 0 | 8 | 12) {
        return Err(Malformed(PART));
    }
    if len >= 8 {
        out.negative = v.u8().or_malformed(PART)? != 0;
        out.days = v.u32_le().or_malformed(PART)?;
        out.hour = v.u8().or_malformed(PART)?;
        out.minute = v.u8().or_malformed(PART)?;
        out.second = v.u8().or_malformed(PART)?;
    }
    if len == 12 {
        out.micros = v.u32_le().or_malformed(PART)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(rest: &[u8], count: usize, types: &mut BoundTypes) -> Result<Vec<String>, Malformed> {
        let mut p = params(rest, count, types)?;
        (0..count).map(|_| p.next_param(false).map(|v| format!("{v:?}"))).collect()
    }

    #[test]
    fn types_are_kept_for_the_next_execution() {
        let mut types = BoundTypes::default();
        let first = b"\0\x01\x03\0\xFE\0\x2A\0\0\0\x02ab";
        assert_eq!(all(first, 2, &mut types).unwrap(), ["Int(42)", "Bytes([97, 98])"]);
        let next = b"\x02\0\x2B\0\0\0";
        assert_eq!(all(next, 2, &mut types).unwrap(), ["Int(43)", "Null"]);
    }

    #[test]
    fn every_type_is_decoded() {
        let rest = b"\0\0\x01\x01\x80\x01\0\x02\0\x08\x80\x05\0\x0C\0\x0B\0\x0A\0\xF6\0\
            \xFF\xFF\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\
            \0\0\0\0\0\0\xF8\x3F\x07\xE8\x07\x02\x03\x04\x05\x06\
            \x08\x01\x01\0\0\0\x02\x03\x04\x04\xE8\x07\x02\x03\x031.5";
        let mut types = BoundTypes::default();
        let values = all(rest, 9, &mut types).unwrap();
        assert_eq!(
            values[..5],
            ["UInt(255)", "Int(-1)", "Int(-2)", "UInt(18446744073709551615)", "Double(1.5)"]
        );
        assert!(values[5].contains("year: 2024") && values[5].contains("second: 6"));
        assert!(values[6].contains("negative: true"));
        assert!(values[7].contains("date_only: true"));
        assert_eq!(values[8], "Decimal([49, 46, 53])");
    }

    #[test]
    fn cut_and_damaged_bodies_are_refused_without_panic() {
        let rest = b"\0\x01\x03\0\xFE\0\x2A\0\0\0\x02ab";
        for cut in 0..rest.len() {
            assert!(all(&rest[..cut], 2, &mut BoundTypes::default()).is_err(), "cut at {cut}");
        }
        let mut rng = stdx::rng::Rng::new(11);
        let mut types = BoundTypes::default();
        for _ in 0..5000 {
            let mut damaged = rest.to_vec();
            let at = rng.below(damaged.len() as u64) as usize;
            damaged[at] = rng.next_u64() as u8;
            let _ = all(&damaged, 2, &mut types);
            let _ = all(&damaged, 9, &mut BoundTypes::default());
        }
    }

    /// The layouts that MySQL takes and refuses.
    #[test]
    fn attributes_behind_the_parameters_are_left_alone() {
        let with = |rest: &[u8], count, types: &mut BoundTypes| {
            let Some(mut p) = params_and_attributes(rest, count, types)? else { return Ok(None) };
            let all: Result<Vec<_>, Malformed> =
                (0..count).map(|_| p.next_param(false).map(|v| format!("{v:?}"))).collect();
            all.map(Some)
        };
        let mut types = BoundTypes::default();
        let both = b"\x02\0\x01\x03\0\0\xFD\0\x01a\x2A\0\0\0\x02zz";
        assert_eq!(with(both, 1, &mut types), Ok(Some(vec!["Int(42)".to_string()])));
        // The parameter's type is kept, an attribute's is not.
        let again = b"\x01\0\0\x2B\0\0\0";
        assert_eq!(with(again, 1, &mut types), Ok(Some(vec!["Int(43)".to_string()])));
        assert!(with(b"\x02\0\0\x2B\0\0\0\x02zz", 1, &mut types).is_err());
        assert_eq!(with(b"\0", 1, &mut types), Ok(None));
        assert_eq!(with(b"\0", 0, &mut types), Ok(Some(vec![])));
        assert_eq!(with(b"\x01\0\x01\xFD\0\x01a\x02zz", 0, &mut types), Ok(Some(vec![])));
        for cut in 0..10 {
            assert!(with(&both[..cut], 1, &mut types).is_err(), "cut at {cut}");
        }
        assert!(with(b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0", 1, &mut types).is_err());
    }

    #[test]
    fn parameters_without_types_are_refused() {
        assert!(all(b"\0\0\x01", 1, &mut BoundTypes::default()).is_err());
        assert_eq!(all(b"\x01\0", 1, &mut BoundTypes::default()).unwrap(), ["Null"]);
    }
}
