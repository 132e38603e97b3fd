//! CAST, CONVERT and BINARY.

use super::derive::{call, convert, is_stringy, string};
use super::literal::charset;
use super::widths;
use super::{Builder, one_column};
use crate::SqlError;
use crate::functions::json::{CAST_OF_JSON, is_truth};
use crate::functions::moments::mode;
use crate::functions::{CAST, PADDED};
use crate::refused::Refused;
use crate::tree::Typed;
use parser::ast::CastType;
use value::collation::aggregate::Coercibility;
use value::{Collation, ColumnType, Kind};

impl Builder {
    /// A column's value as PAD_CHAR_TO_FULL_LENGTH shows it.
    pub fn padded(&self, value: Typed) -> Typed {
        let chars = value.ty.kind == Kind::Char && value.ty.is_text();
        match chars && self.settings.has_mode(mode::PAD_CHAR_TO_FULL_LENGTH) {
            true => Typed { expr: call(&PADDED, &value, value.ty), ..value },
            false => value,
        }
    }

    /// `CAST(value AS to)`; `array` was written behind it.
    ///
    /// # Errors
    /// 1425 and 1426 for numbers that are too large, 1235 for arrays and spatial types.
    pub fn cast(&self, value: Typed, to: &CastType, array: bool) -> Result<Typed, SqlError> {
        if array {
            return Err(SqlError::unsupported("CAST-ing data to array of JSON values"));
        }
        if value.is_row() {
            return Err(one_column());
        }
        let ty = self.cast_type(&value, to)?;
        if ty.kind == Kind::Json && is_truth(&value) {
            let named = Typed { ty: ColumnType { nullable: value.ty.nullable, ..ty }, ..value };
            return Ok(claimed(Typed::new(call(&CAST, &named, ty), ty)));
        }
        if value.ty.kind == Kind::Json && !ty.kind.is_string() && ty.kind != Kind::Json {
            let ty = ColumnType { nullable: true, ..ty };
            return Ok(claimed(Typed::new(call(&CAST_OF_JSON, &value, ty), ty)));
        }
        let value = match ty.kind {
            kind if kind.is_int() => {
                super::conversion::extreme_moment(super::conversion::as_chosen_float(value))
            }
            Kind::Decimal => {
                super::conversion::as_chosen(super::conversion::as_chosen_moment(value))
            }
            Kind::Time => super::conversion::as_time(value),
            kind if kind.is_float() => super::conversion::as_number(value),
            Kind::Json => super::in_document(value),
            kind if kind.is_string() => super::conversion::as_text(value),
            kind if kind.has_date() => super::conversion::as_moment_or_number(value),
            _ => value,
        };
        if ty.is_text() && is_stringy(&value.ty) && !value.is_null() {
            let (from, target) = (value.ty.collation.charset(), ty.collation.charset());
            if from != target {
                let converted = convert(value, ty.collation);
                return Ok(claimed(Typed::new(call(&CAST, &converted, ty), ty)));
            }
        }
        Ok(claimed(Typed::new(call(&CAST, &value, ty), ty)))
    }

    pub(crate) fn cast_type(&self, value: &Typed, to: &CastType) -> Result<ColumnType, SqlError> {
        let of = &value.ty;
        let digits = widths::int_width(of).max(1);
        let int = |unsigned| {
            let length = if of.kind.is_int() { digits.max(21) } else { 21 };
            ColumnType { length: length.min(21), ..ColumnType::int(Kind::BigInt, unsigned) }
        };
        let fsp = |fsp: u32| match fsp {
            0..=6 => Ok(fsp as u8),
            _ => Err(SqlError::from(Refused::TooPrecise(i64::from(fsp), "CAST", 6))),
        };
        let nullable = of.nullable;
        let ty = match to {
            CastType::Signed => int(false),
            CastType::Unsigned => int(true),
            CastType::Float(double) => match double {
                true => ColumnType { length: widths::DOUBLE_CHARS, ..ColumnType::double() },
                false => ColumnType::of(Kind::Float),
            },
            CastType::Decimal(precision, scale) => decimal(*precision, *scale)?,
            CastType::Binary(length) => self.cast_string(of, *length, Collation::Binary),
            CastType::NChar(length) => self.cast_string(of, *length, Collation::Utf8mb3GeneralCi),
            CastType::Char(length, name) => {
                let collation = match name.as_deref() {
                    None => self.settings.collation,
                    Some(name) => charset(name)?.default_collation(),
                };
                self.cast_string(of, *length, collation)
            }
            CastType::Json => ColumnType::json(),
            CastType::Date => ColumnType::of(Kind::Date),
            CastType::Time(n) => ColumnType::temporal(Kind::Time, fsp(*n)?),
            CastType::Datetime(n) => ColumnType::temporal(Kind::DateTime, fsp(*n)?),
            CastType::Year => ColumnType { zerofill: false, ..ColumnType::of(Kind::Year) },
            CastType::Spatial(name) => {
                return Err(SqlError::unsupported(format!("CAST AS {name}")));
            }
        };
        let parsed = ty.kind.is_temporal() || ty.kind == Kind::Year;
        let bytes = ty.kind == Kind::VarBinary || ty.kind == Kind::Binary;
        let nullable = nullable || parsed || bytes || ty.is_text() || ty.kind == Kind::Json;
        Ok(ColumnType { nullable, ..ty })
    }

    fn cast_string(
        &self,
        of: &ColumnType,
        length: Option<u32>,
        collation: Collation,
    ) -> ColumnType {
        let chars = length.unwrap_or_else(|| {
            let chars = widths::chars(of);
            let bytes = collation == Collation::Binary && is_stringy(of);
            if bytes { chars.saturating_mul(of.collation.bytes_per_char_max()) } else { chars }
        });
        // BINARY(n) pads; its kind says so.
        match (length, collation) {
            (Some(n), Collation::Binary) => {
                ColumnType { decimals: value::types::NOT_FIXED, ..ColumnType::binary(n) }
            }
            _ => string(chars, collation),
        }
    }

    /// `CONVERT(value USING name)`.
    ///
    /// # Errors
    /// 1115 for an unknown character set.
    pub fn convert_using(&self, value: Typed, name: &str) -> Result<Typed, SqlError> {
        let collation = charset(name)?.default_collation();
        let value = self.to_text(value);
        let nullable = true;
        let mut typed = convert(value, collation);
        typed.ty.nullable = nullable;
        Ok(claimed(typed))
    }
}

fn claimed(value: Typed) -> Typed {
    let text = value.ty.kind.is_string() || value.ty.kind == Kind::Json;
    let coercibility = if text { Coercibility::Implicit } else { Coercibility::Numeric };
    Typed { coercibility, ..value }
}

/// DECIMAL(precision, scale) with MySQL's limits.
fn decimal(precision: Option<u32>, scale: Option<u32>) -> Result<ColumnType, SqlError> {
    let (precision, scale) = (precision.unwrap_or(10), scale.unwrap_or(0));
    let precision = if precision == 0 { 10 } else { precision };
    if scale > 30 {
        return Err(Refused::TooBigScale(scale).into());
    }
    if precision > 65 {
        return Err(Refused::TooPrecise(i64::from(precision), "CAST", 65).into());
    }
    if scale > precision {
        return Err(Refused::ScaleAbovePrecision.into());
    }
    Ok(ColumnType::decimal(precision as u8, scale as u8))
}
