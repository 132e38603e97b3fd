//! Values as columns of a made leaf: one place that fits a value to its column.
//!
//! 1. The layout of a made leaf is more generous than the types it is made for: every column may be NULL,
//!    integers are eight bytes, text may be of any length. Fitting never fails for a value of the right kind.

use crate::SqlError;
use expr::{Value, damaged};
use smallvec::SmallVec;
use value::{ColumnType, ConvertMode, Datum, Kind, RowLayout, TimeZone};

/// The layout of rows of these types.
pub fn made_layout(types: &[ColumnType]) -> RowLayout {
    RowLayout::new(&types.iter().map(generous).collect::<Vec<_>>())
}

fn generous(ty: &ColumnType) -> ColumnType {
    let ty = ColumnType { nullable: true, ..*ty };
    match ty.kind {
        kind if kind.is_int() => ColumnType::int(Kind::BigInt, ty.unsigned),
        kind if kind.is_string() => ColumnType::large(Kind::LongText, ty.collation),
        // Each decimal keeps its own scale.
        Kind::Decimal => ColumnType { length: 0, ..ty },
        Kind::Float => ColumnType { nullable: true, ..ColumnType::double() },
        // Expressions see a TIMESTAMP in local time.
        Kind::Timestamp => ColumnType::temporal(Kind::DateTime, ty.decimals),
        _ => ty,
    }
}

/// Rows of so many columns are made without memory for their values.
const FEW: usize = 8;

/// Puts rows of values into bytes; its memory is used again.
#[derive(Default)]
pub struct Cells {
    scratch: Vec<Vec<u8>>,
}

impl Cells {
    /// Evaluates `count` values and puts them into `out` (cleared first) as a row of `layout`.
    ///
    /// # Errors
    /// Those of `value`; a value that its column cannot hold.
    pub fn write<'v>(
        &mut self,
        layout: &RowLayout,
        count: usize,
        mut value: impl FnMut(usize) -> Result<Value<'v>, SqlError>,
        out: &mut Vec<u8>,
    ) -> Result<(), SqlError> {
        let mut values: SmallVec<[Value<'v>; FEW]> = SmallVec::new();
        for n in 0..count {
            values.push(value(n)?);
        }
        if self.scratch.len() < count {
            self.scratch.resize(count, Vec::new());
        }
        let mut datums: SmallVec<[Datum<'_>; FEW]> = SmallVec::new();
        for ((n, value), scratch) in values.iter().enumerate().zip(&mut self.scratch) {
            let ty = layout.column_type(n).ok_or_else(|| super::internal("no such column"))?;
            datums.push(fit(value.get(), ty, scratch)?);
        }
        out.clear();
        layout.encode(&datums, out).map_err(damaged)
    }
}

/// A value as one of the column's kind.
#[inline]
pub fn fit<'v>(
    value: Datum<'v>,
    ty: &ColumnType,
    scratch: &'v mut Vec<u8>,
) -> Result<Datum<'v>, SqlError> {
    match value {
        Datum::Null => Ok(value),
        Datum::Bytes(_) if ty.kind.is_string() => Ok(value),
        Datum::Int(v) if ty.kind.is_int() && (v >= 0 || !ty.unsigned) => Ok(value),
        Datum::UInt(v) if ty.kind.is_int() && (ty.unsigned || v <= i64::MAX as u64) => Ok(value),
        Datum::Double(_) if ty.kind == Kind::Double => Ok(value),
        Datum::Decimal(_) if ty.kind == Kind::Decimal => Ok(value),
        Datum::Date(_) if ty.kind == Kind::Date => Ok(value),
        Datum::DateTime(_) if ty.kind == Kind::DateTime => Ok(value),
        Datum::Json(_) if ty.kind == Kind::Json => Ok(value),
        // Its text may be a member's although it is none: the error value's is empty.
        Datum::Enum(members, _) if ty.kind == Kind::Enum && ty.members == Some(members) => {
            Ok(value)
        }
        value => convert(value, ty, scratch),
    }
}

/// As [`fit`], for a value of another kind: converted as a column would store it, without complaints.
#[cold]
pub fn convert<'v>(
    value: Datum<'v>,
    ty: &ColumnType,
    scratch: &'v mut Vec<u8>,
) -> Result<Datum<'v>, SqlError> {
    convert_at(value, ty, &TimeZone::utc(), scratch)
}

/// As [`convert`], for a value that is a local time of a zone.
#[cold]
pub fn convert_at<'v>(
    value: Datum<'v>,
    ty: &ColumnType,
    zone: &TimeZone,
    scratch: &'v mut Vec<u8>,
) -> Result<Datum<'v>, SqlError> {
    let converted = value::coerce(value, None, ty, &ConvertMode::new(false, zone), scratch);
    Ok(converted.map_err(|_| super::internal("a value that its column cannot hold"))?.value)
}
