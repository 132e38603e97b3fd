//! One type for several values: CASE, IF, COALESCE, set operations.

use super::conversion::has_no_type;
use super::widths::{chars, decimal, int_width, precision, scale};
use crate::tree::Typed;
use crate::variables::{is_unset, variable_type};
use value::types::NOT_FIXED;
use value::{Collation, ColumnType, Kind};

/// The type that holds every value; what is NULL anyway does not count. `collation` is that of text.
pub fn common(values: &[&Typed], collation: Collation) -> ColumnType {
    let counted: Vec<ColumnType> =
        values.iter().filter(|v| !has_no_type(&v.expr)).map(|v| v.ty).collect();
    let nullable = values.iter().any(|v| v.ty.nullable);
    let ty = match counted.as_slice() {
        [] => ColumnType { decimals: NOT_FIXED, ..ColumnType::varbinary(0) },
        types if types.iter().all(|t| t.kind == Kind::Timestamp) => {
            let fsp = types.iter().map(|t| t.decimals).max().unwrap_or(0);
            ColumnType { decimals: fsp, ..types[0] }
        }
        types => {
            let all =
                types[1..].iter().fold(plain(types[0]), |a, b| merge(a, plain(*b), collation));
            let bits = |t: &ColumnType| t.kind == Kind::Bit;
            let all = ColumnType { kind: char_kind(&all, types), ..all };
            match all.is_text() && types.iter().any(bits) {
                true => bytes(ColumnType { length: bytes_of(&all), ..all }),
                false if all.kind.is_number() && values.iter().any(|v| is_unset(&v.expr)) => {
                    variable_type(&all)
                }
                false if all.kind == Kind::Decimal => ColumnType { unsigned: false, ..all },
                false => all,
            }
        }
    };
    let collated = ty.is_text() && !ty.kind.has_members();
    let collation = if collated { collation } else { ty.collation };
    let ty = if ty.is_text() && collation == Collation::Binary {
        ColumnType { decimals: ty.decimals, ..bytes(ty) }
    } else {
        ty
    };
    ColumnType { nullable, collation, ..ty }
}

/// CHAR among numbers, dates and members stays CHAR.
fn char_kind(all: &ColumnType, types: &[ColumnType]) -> Kind {
    const CHARS_MAX: u32 = 255;
    let varies = |t: &ColumnType| t.kind.is_string() && t.kind != Kind::Char;
    let char = types.iter().any(|t| t.kind == Kind::Char) && !types.iter().any(varies);
    match all.kind {
        Kind::VarChar if char && all.length <= CHARS_MAX => Kind::Char,
        kind => kind,
    }
}

fn bytes_of(ty: &ColumnType) -> u32 {
    ty.length.saturating_mul(ty.collation.bytes_per_char_max())
}

fn bytes(ty: ColumnType) -> ColumnType {
    match ty.kind {
        kind if kind.is_large() => {
            ColumnType::large(Kind::large_for(ty.length.into(), true), Collation::Binary)
        }
        _ => ColumnType::varbinary(ty.length),
    }
}

/// A type without what only columns have: ZEROFILL, members, CHAR's padding.
fn plain(ty: ColumnType) -> ColumnType {
    let ty = ColumnType { zerofill: false, ..ty };
    match ty.kind {
        Kind::Char => ColumnType { kind: Kind::VarChar, ..ty },
        Kind::Binary => ColumnType { kind: Kind::VarBinary, ..ty },
        Kind::Enum | Kind::Set => ColumnType::varchar(chars(&ty), ty.collation),
        Kind::Timestamp => ColumnType::temporal(Kind::DateTime, ty.decimals),
        kind if kind.is_int() => ColumnType { length: int_width(&ty), ..ty },
        _ => ty,
    }
}

fn merge(a: ColumnType, b: ColumnType, collation: Collation) -> ColumnType {
    let (x, y) = (a.kind, b.kind);
    if x.is_int() && y.is_int() {
        return ints(a, b);
    }
    if x == Kind::Year && y == Kind::Year {
        return a;
    }
    if x == Kind::Bit && y == Kind::Bit {
        return if a.length >= b.length { a } else { b };
    }
    if x == Kind::Json && y == Kind::Json {
        return a;
    }
    if x.is_temporal() && y.is_temporal() && x != Kind::Year && y != Kind::Year {
        let fsp = a.decimals.max(b.decimals);
        return match x == y {
            true => ColumnType { decimals: fsp, ..a },
            false => ColumnType::temporal(Kind::DateTime, fsp),
        };
    }
    if numeric(x) && numeric(y) {
        return numbers(a, b);
    }
    strings(a, b, collation)
}

fn numeric(kind: Kind) -> bool {
    kind.is_int() || kind.is_float() || matches!(kind, Kind::Decimal | Kind::Year | Kind::Bit)
}

fn ints(a: ColumnType, b: ColumnType) -> ColumnType {
    let wider = if (a.kind as u8) >= (b.kind as u8) { a } else { b };
    let length = int_width(&a).max(int_width(&b));
    if a.unsigned == b.unsigned {
        return ColumnType { length, ..wider };
    }
    let unsigned = if a.unsigned { a } else { b };
    if unsigned.kind == Kind::BigInt {
        return decimal(precision(&a).max(precision(&b)), 0, false);
    }
    // The next wider signed kind holds both.
    let kind = match unsigned.kind {
        Kind::TinyInt => Kind::SmallInt,
        Kind::SmallInt => Kind::MediumInt,
        Kind::MediumInt => Kind::Int,
        _ => Kind::BigInt,
    };
    let kind = if (wider.kind as u8) > (kind as u8) { wider.kind } else { kind };
    ColumnType { length: length.max(precision(&unsigned) + 1), ..ColumnType::int(kind, false) }
}

fn numbers(a: ColumnType, b: ColumnType) -> ColumnType {
    if a.kind.is_float() || b.kind.is_float() {
        if a.kind == Kind::Float && b.kind == Kind::Float {
            return a;
        }
        // As MySQL has it: not INT, and BIGINT only behind a FLOAT.
        let small = |t: &ColumnType| t.kind.is_int() && t.kind != Kind::Int || t.kind == Kind::Year;
        if a.kind == Kind::Float && small(&b) {
            return a;
        }
        if b.kind == Kind::Float && small(&a) && a.kind != Kind::BigInt {
            return b;
        }
        let fixed = |t: &ColumnType| if t.kind.is_float() { t.decimals } else { scale(t) as u8 };
        let decimals = fixed(&a).max(fixed(&b)).min(NOT_FIXED);
        return ColumnType {
            length: super::widths::DOUBLE_CHARS,
            decimals,
            ..ColumnType::double()
        };
    }
    if a.kind == Kind::Decimal || b.kind == Kind::Decimal {
        let whole = |t: &ColumnType| precision(t).saturating_sub(scale(t));
        let unsigned = a.unsigned && b.unsigned;
        return decimal(whole(&a).max(whole(&b)), scale(&a).max(scale(&b)), unsigned);
    }
    // A year fits a SMALLINT of either kind.
    let int = |t: ColumnType, other: ColumnType| match t.kind {
        Kind::Year => ColumnType { length: 4, ..ColumnType::int(Kind::SmallInt, other.unsigned) },
        Kind::Bit => ColumnType { length: 20, ..ColumnType::int(Kind::BigInt, true) },
        _ => t,
    };
    ints(int(a, b), int(b, a))
}

fn strings(a: ColumnType, b: ColumnType, collation: Collation) -> ColumnType {
    let length = chars(&a).max(chars(&b));
    let large = [a, b].iter().any(|t| t.kind.is_large() || t.kind == Kind::Json);
    // Literals of bytes are text beside a column of text.
    let binary =
        (a.kind.is_binary_string() || b.kind.is_binary_string()) && collation == Collation::Binary;
    if large {
        let bytes =
            u64::from(length) * u64::from(if binary { 1 } else { collation.bytes_per_char_max() });
        let ty = ColumnType::large(Kind::large_for(bytes, binary), collation);
        return ColumnType { decimals: NOT_FIXED, ..ty };
    }
    let ty =
        if binary { ColumnType::varbinary(length) } else { ColumnType::varchar(length, collation) };
    ColumnType { decimals: NOT_FIXED, ..ty }
}
