//! How long a type's values are as text, and how many digits as decimals: MySQL's display widths.

use value::types::NOT_FIXED;
use value::{ColumnType, Kind};

/// Length of a DOUBLE that is computed.
pub const DOUBLE_CHARS: u32 = 23;
const DOUBLE_COLUMN_CHARS: u32 = 22;
const FLOAT_CHARS: u32 = 12;

/// Display width of an integer type: what it carries, or its kind's.
pub fn int_width(ty: &ColumnType) -> u32 {
    if ty.length > 0 {
        return ty.length;
    }
    let signed = u32::from(!ty.unsigned);
    match ty.kind {
        Kind::TinyInt => 3 + signed,
        Kind::SmallInt => 5 + signed,
        Kind::MediumInt => 8 + signed,
        Kind::Int => 10 + signed,
        _ => 20,
    }
}

/// Digits that a value of the type may have, as DECIMAL counts them.
pub fn precision(ty: &ColumnType) -> u32 {
    match ty.kind {
        kind if kind.is_int() => int_width(ty).saturating_sub(u32::from(!ty.unsigned)).max(1),
        Kind::Decimal => ty.length.max(1),
        Kind::Bit => 20,
        Kind::Year => 4,
        Kind::Date => 8,
        Kind::Time => 7 + u32::from(ty.decimals),
        Kind::DateTime | Kind::Timestamp => 14 + u32::from(ty.decimals),
        _ => 65,
    }
}

/// Digits behind the point of a number or a temporal value as a number.
pub fn scale(ty: &ColumnType) -> u32 {
    if ty.kind.is_int() || ty.decimals >= NOT_FIXED { 0 } else { u32::from(ty.decimals) }
}

/// Length of DECIMAL's text: digits, point and sign.
pub fn decimal_chars(precision: u32, scale: u32, unsigned: bool) -> u32 {
    precision + u32::from(scale > 0) + u32::from(!unsigned)
}

/// Characters that a value of the type may have as text.
pub fn chars(ty: &ColumnType) -> u32 {
    let fraction = |fsp: u8| if fsp == 0 { 0 } else { 1 + u32::from(fsp) };
    match ty.kind {
        kind if kind.is_int() => int_width(ty),
        kind if kind.is_large() => ty.length / ty.collation.bytes_per_char_max().max(1),
        kind if kind.is_string() => ty.length,
        Kind::Decimal => decimal_chars(ty.length.max(1), u32::from(ty.decimals), ty.unsigned),
        Kind::Double if ty.length > 0 => ty.length,
        Kind::Double => DOUBLE_COLUMN_CHARS,
        Kind::Float => FLOAT_CHARS,
        Kind::Bit => ty.length.div_ceil(8),
        Kind::Date => 10,
        Kind::Time => 10 + fraction(ty.decimals),
        Kind::DateTime | Kind::Timestamp => 19 + fraction(ty.decimals),
        Kind::Year => 4,
        Kind::Json => u32::MAX / 4,
        Kind::Enum => {
            let names = ty.members.into_iter().flat_map(|m| m.names());
            names.map(|n| ty.collation.char_count(n) as u32).max().unwrap_or(0)
        }
        Kind::Set => {
            let names = ty.members.into_iter().flat_map(|m| m.names());
            let (count, sum) = names.fold((0u32, 0u32), |(n, s), name| {
                (n + 1, s + ty.collation.char_count(name) as u32)
            });
            sum + count.saturating_sub(1)
        }
        _ => ty.length,
    }
}

/// A DECIMAL of at most 65 digits and 30 behind the point; digits before the point are kept first.
pub fn decimal(whole: u32, scale: u32, unsigned: bool) -> ColumnType {
    let scale = scale.min(30);
    let precision = (whole + scale).clamp(1, 65);
    ColumnType { unsigned, ..ColumnType::decimal(precision as u8, scale as u8) }
}
