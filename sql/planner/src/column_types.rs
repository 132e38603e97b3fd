//! Which type a written type is: MySQL's defaults, limits and errors.
//!
//! 1. What MySQL changes silently is changed here the same way: TEXT(n) becomes the smallest kind that
//! holds n characters, and CHARACTER SET binary turns a text type into its binary counterpart. 2. What
//! MySQL changes with a note when the mode is not strict is an error in strict mode.

use crate::error::PlanError;
use expr::{SqlError, WarningLevel};
use parser::ast::{DataType, TypeKind};
use value::types::{BIT_LENGTH_MAX, NOT_FIXED};
use value::{Charset, Collation, ColumnType, Kind, Members, charset};

const DISPLAY_WIDTH_MAX: u32 = 255;
const PRECISION_MAX: u32 = value::decimal::PRECISION_MAX as u32;
const SCALE_MAX: u32 = value::decimal::SCALE_MAX as u32;
const FSP_MAX: u32 = value::time::FSP_MAX as u32;
const PRECISION_DEFAULT: u32 = 10;
/// FLOAT(p) is a DOUBLE above so many bits, and nothing above the second number.
const FLOAT_BITS: u32 = 24;
const DOUBLE_BITS: u32 = 53;

/// What there is to say of a type besides an error.
#[derive(Debug, Default)]
pub struct Notes {
    /// The session's mode is strict.
    pub strict: bool,
    /// Warnings and notes, in order.
    pub list: Vec<(WarningLevel, u16, String)>,
}

impl Notes {
    fn warn(&mut self, level: WarningLevel, number: u16, text: String) {
        self.list.push((level, number, text));
    }
}

/// The type of a column that is written as `ty`, its text of `collation`.
///
/// # Errors
/// MySQL's for what is beyond its limits, 1235 for what is not there yet.
pub fn column_type(
    ty: &DataType,
    column: &str,
    collation: Collation,
    env: &mut Notes,
) -> Result<ColumnType, SqlError> {
    Ok(match ty.kind {
        TypeKind::TinyInt => integer(Kind::TinyInt, ty, column)?,
        TypeKind::SmallInt => integer(Kind::SmallInt, ty, column)?,
        TypeKind::MediumInt => integer(Kind::MediumInt, ty, column)?,
        TypeKind::Int => integer(Kind::Int, ty, column)?,
        TypeKind::BigInt => integer(Kind::BigInt, ty, column)?,
        TypeKind::Bool => ColumnType { length: 1, ..ColumnType::int(Kind::TinyInt, false) },
        TypeKind::Serial => ColumnType::int(Kind::BigInt, true),
        TypeKind::Decimal => decimal(ty, column)?,
        TypeKind::Float | TypeKind::Double => float(ty, column)?,
        TypeKind::Bit => bit(ty, column)?,
        TypeKind::Date => ColumnType::of(Kind::Date),
        TypeKind::Time => temporal(Kind::Time, ty, column)?,
        TypeKind::Datetime => temporal(Kind::DateTime, ty, column)?,
        TypeKind::Timestamp => temporal(Kind::Timestamp, ty, column)?,
        TypeKind::Year => year(ty)?,
        TypeKind::Json => ColumnType::json(),
        TypeKind::Enum => with_members(Kind::Enum, ty, column, collation, env)?,
        TypeKind::Set => with_members(Kind::Set, ty, column, collation, env)?,
        _ => string(ty, column, collation, env)?,
    })
}

fn string(
    ty: &DataType,
    column: &str,
    collation: Collation,
    env: &mut Notes,
) -> Result<ColumnType, SqlError> {
    // CHARACTER SET binary makes a binary type of a text type.
    let binary = collation == Collation::Binary;
    let large = |text, blob| Ok(ColumnType::large(if binary { blob } else { text }, collation));
    let length = ty.length.unwrap_or(1);
    match ty.kind {
        TypeKind::Char if binary => fixed(ColumnType::binary(length), column),
        TypeKind::Char | TypeKind::NChar => fixed(ColumnType::char(length, collation), column),
        TypeKind::Binary => fixed(ColumnType::binary(length), column),
        TypeKind::VarChar if binary => variable(ColumnType::varbinary(length), column, env),
        TypeKind::VarChar | TypeKind::NVarChar => {
            variable(ColumnType::varchar(length, collation), column, env)
        }
        TypeKind::VarBinary => variable(ColumnType::varbinary(length), column, env),
        TypeKind::TinyText => large(Kind::TinyText, Kind::TinyBlob),
        TypeKind::MediumText => large(Kind::MediumText, Kind::MediumBlob),
        TypeKind::LongText => large(Kind::LongText, Kind::LongBlob),
        TypeKind::Text => Ok(sized(ty.length, collation, Kind::Text, Kind::Blob)),
        TypeKind::TinyBlob => Ok(ColumnType::large(Kind::TinyBlob, Collation::Binary)),
        TypeKind::MediumBlob => Ok(ColumnType::large(Kind::MediumBlob, Collation::Binary)),
        TypeKind::LongBlob => Ok(ColumnType::large(Kind::LongBlob, Collation::Binary)),
        TypeKind::Blob => Ok(sized(ty.length, Collation::Binary, Kind::Text, Kind::Blob)),
        other => Err(SqlError::unsupported(other.construct())),
    }
}

/// TEXT or BLOB; with a length, the smallest kind that holds so many characters.
fn sized(length: Option<u32>, collation: Collation, text: Kind, blob: Kind) -> ColumnType {
    let binary = collation == Collation::Binary;
    let kind = match length {
        None if binary => blob,
        None => text,
        Some(n) => {
            Kind::large_for(u64::from(n) * u64::from(collation.bytes_per_char_max()), binary)
        }
    };
    ColumnType::large(kind, collation)
}

fn too_long(column: &str, max: u32) -> SqlError {
    PlanError::LengthTooBig(column, max).into()
}

fn fixed(ty: ColumnType, column: &str) -> Result<ColumnType, SqlError> {
    let max = value::types::CHAR_LENGTH_MAX;
    if ty.length > max { Err(too_long(column, max)) } else { Ok(ty) }
}

/// VARCHAR and VARBINARY; what is too long becomes TEXT or BLOB unless the mode is strict.
fn variable(ty: ColumnType, column: &str, env: &mut Notes) -> Result<ColumnType, SqlError> {
    let max = value::types::VAR_BYTES_MAX / ty.collation.bytes_per_char_max();
    if ty.length <= max {
        return Ok(ty);
    }
    if env.strict {
        return Err(too_long(column, max));
    }
    let (from, to) = if ty.is_text() { ("VARCHAR", "TEXT") } else { ("VARBINARY", "BLOB") };
    let text = format!("Converting column '{column}' from {from} to {to}");
    env.warn(WarningLevel::Note, 1246, text);
    Ok(sized(Some(ty.length), ty.collation, Kind::Text, Kind::Blob))
}

fn width_out_of_range(column: &str, max: u32) -> SqlError {
    PlanError::WidthTooBig(column, max).into()
}

fn too_big_scale(column: &str, scale: u32) -> SqlError {
    PlanError::ScaleTooBig(scale, column, SCALE_MAX).into()
}

fn too_big_precision(column: &str, precision: u32, max: u32) -> SqlError {
    PlanError::PrecisionTooBig(precision, column, max).into()
}

fn scale_above_precision(column: &str) -> SqlError {
    PlanError::ScaleAbovePrecision(column).into()
}

fn integer(kind: Kind, ty: &DataType, column: &str) -> Result<ColumnType, SqlError> {
    let mut made = ColumnType::int(kind, ty.unsigned || ty.zerofill);
    made.zerofill = ty.zerofill;
    made.length = match ty.length {
        Some(length) if length > DISPLAY_WIDTH_MAX => {
            return Err(width_out_of_range(column, DISPLAY_WIDTH_MAX));
        }
        Some(length) => length,
        None if ty.zerofill => made.display_width(),
        None => 0,
    };
    Ok(made)
}

fn decimal(ty: &DataType, column: &str) -> Result<ColumnType, SqlError> {
    let scale = ty.scale.unwrap_or(0);
    if scale > SCALE_MAX {
        return Err(too_big_scale(column, scale));
    }
    let precision = match ty.length {
        None => PRECISION_DEFAULT,
        Some(0) if scale == 0 => PRECISION_DEFAULT,
        Some(precision) => precision,
    };
    if precision > PRECISION_MAX {
        return Err(too_big_precision(column, precision, PRECISION_MAX));
    }
    if scale > precision {
        return Err(scale_above_precision(column));
    }
    let made = ColumnType::decimal(precision as u8, scale as u8);
    Ok(ColumnType { unsigned: ty.unsigned || ty.zerofill, zerofill: ty.zerofill, ..made })
}

fn float(ty: &DataType, column: &str) -> Result<ColumnType, SqlError> {
    let mut kind = if ty.kind == TypeKind::Float { Kind::Float } else { Kind::Double };
    let (length, decimals) = match (ty.length, ty.scale) {
        (Some(_), Some(scale)) if scale > SCALE_MAX => return Err(too_big_scale(column, scale)),
        (Some(length), Some(_)) if length > DISPLAY_WIDTH_MAX => {
            return Err(width_out_of_range(column, DISPLAY_WIDTH_MAX));
        }
        (Some(length), Some(scale)) if scale > length => return Err(scale_above_precision(column)),
        (Some(length), Some(scale)) => (length, scale as u8),
        (Some(bits), None) if bits > DOUBLE_BITS => {
            return Err(PlanError::WrongSpecifier(column).into());
        }
        (Some(bits), None) => {
            if bits > FLOAT_BITS {
                kind = Kind::Double;
            }
            (0, NOT_FIXED)
        }
        _ => (0, NOT_FIXED),
    };
    let unsigned = ty.unsigned || ty.zerofill;
    Ok(ColumnType { length, decimals, unsigned, zerofill: ty.zerofill, ..ColumnType::of(kind) })
}

fn bit(ty: &DataType, column: &str) -> Result<ColumnType, SqlError> {
    match ty.length.unwrap_or(1) {
        0 => Err(PlanError::InvalidSize(column).into()),
        bits if bits > BIT_LENGTH_MAX => Err(width_out_of_range(column, BIT_LENGTH_MAX)),
        bits => Ok(ColumnType::bit(bits as u8)),
    }
}

fn temporal(kind: Kind, ty: &DataType, column: &str) -> Result<ColumnType, SqlError> {
    match ty.length.unwrap_or(0) {
        fsp if fsp > FSP_MAX => Err(too_big_precision(column, fsp, FSP_MAX)),
        fsp => Ok(ColumnType::temporal(kind, fsp as u8)),
    }
}

fn year(ty: &DataType) -> Result<ColumnType, SqlError> {
    match ty.length {
        None | Some(4) => Ok(ColumnType::of(Kind::Year)),
        Some(_) => Err(PlanError::YearWidth.into()),
    }
}

fn with_members(
    kind: Kind,
    ty: &DataType,
    column: &str,
    collation: Collation,
    env: &mut Notes,
) -> Result<ColumnType, SqlError> {
    const MEMBER_CHARS_MAX: usize = 255;
    let (word, max) = match kind {
        Kind::Enum => ("ENUM", value::members::ENUM_MEMBERS_MAX),
        _ => ("SET", value::members::SET_MEMBERS_MAX),
    };
    if ty.members.len() > max {
        return Err(PlanError::TooManyMembers(column, word).into());
    }
    let mut names: Vec<Vec<u8>> = Vec::new();
    for written in &ty.members {
        // Digits are bytes of the column's character set.
        let text = match written.charset {
            Some(_) => charset::converted(&written.bytes, collation.charset(), Charset::Utf8mb4).0,
            None => written.bytes.as_slice().into(),
        };
        let shown = String::from_utf8_lossy(&text).trim_end_matches(' ').to_owned();
        if kind == Kind::Set && shown.contains(',') {
            return Err(PlanError::IllegalMember(&shown).into());
        }
        let (name, _) = charset::converted(shown.as_bytes(), Charset::Utf8mb4, collation.charset());
        if collation.char_count(&name) > MEMBER_CHARS_MAX {
            return Err(PlanError::MemberTooLong(column).into());
        }
        if let Some(first) = names.iter().find(|n| collation.equals(n, &name)) {
            let (first, _) = charset::converted(first, collation.charset(), Charset::Utf8mb4);
            let first = String::from_utf8_lossy(&first);
            let twice = PlanError::DuplicateMember(column, &first, word);
            if env.strict {
                return Err(twice.into());
            }
            env.warn(WarningLevel::Note, 1291, twice.to_string());
        }
        names.push(name.into_owned());
    }
    Ok(ColumnType::with_members(kind, Members::intern(names, collation)))
}
