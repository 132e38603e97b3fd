//! Constants.

use super::Builder;
use super::derive::string;
use crate::SqlError;
use crate::refused::Refused;
use crate::tree::{Expr, OwnedDatum, Typed};
use parser::ast::{self, Literal};
use value::collation::aggregate::Coercibility;
use value::{Charset, Collation, ColumnType, Decimal, Kind, charset};

impl Builder {
    /// A literal.
    ///
    /// # Errors
    /// 1115 for an unknown character set, 1300 for bytes that are not of it, 1525 for a bad date or time.
    pub fn literal(&self, literal: &Literal) -> Result<Typed, SqlError> {
        let constant = |value, ty: ColumnType| Typed::new(Expr::Const(value), ty.not_null());
        let int = |value, length| {
            let unsigned = matches!(value, OwnedDatum::UInt(_));
            constant(value, ColumnType { length, ..ColumnType::int(Kind::BigInt, unsigned) })
        };
        Ok(match literal {
            Literal::Null => {
                let typed = Typed::new(Expr::Const(OwnedDatum::Null), ColumnType::varbinary(0));
                Typed { coercibility: Coercibility::Ignorable, ..typed }
            }
            Literal::Bool(b) => int(OwnedDatum::Int(i64::from(*b)), 1),
            Literal::Int(v) => int(OwnedDatum::Int(*v), digits(v.unsigned_abs()) + 1),
            Literal::UInt(v) => int(OwnedDatum::UInt(*v), digits(*v)),
            Literal::Float(v) => {
                let length = value::format::to_text(&value::Datum::Double(*v)).len() as u32;
                constant(OwnedDatum::Double(*v), ColumnType { length, ..ColumnType::double() })
            }
            Literal::Decimal(text) => {
                let value = Decimal::from_text(text.as_bytes()).value;
                let precision = value.digits().max(u32::from(value.scale()) + 1).min(65);
                let ty = ColumnType::decimal(precision as u8, value.scale());
                constant(OwnedDatum::Decimal(value), ty)
            }
            Literal::String(s) => self.string(s)?,
            Literal::Hex(bytes) | Literal::Bit(bytes) => {
                let unsigned = matches!(literal, Literal::Hex(_));
                let ty = ColumnType { unsigned, ..ColumnType::varbinary(bytes.len() as u32) };
                Typed {
                    coercibility: Coercibility::Coercible,
                    ..constant(OwnedDatum::Bytes(bytes.clone()), ty)
                }
            }
            Literal::Temporal(kind, text) => self.temporal_literal(*kind, text)?,
        })
    }

    fn string(&self, s: &ast::StringLiteral) -> Result<Typed, SqlError> {
        let made = charset::literal(&s.bytes, s.charset.as_deref(), self.settings.collation)?;
        let ty = string(made.collation.char_count(&made.bytes) as u32, made.collation).not_null();
        let expr = Expr::Const(OwnedDatum::Bytes(made.bytes.into_owned()));
        Ok(Typed { expr, ty, coercibility: Coercibility::Coercible })
    }

    /// Text of warning 1300 about a string that is not of its character set, or not of the connection's.
    pub fn malformed(&self, s: &ast::StringLiteral) -> Option<String> {
        if s.bytes.is_ascii() {
            return None;
        }
        let made = charset::literal(&s.bytes, s.charset.as_deref(), self.settings.collation);
        made.ok()?.warning.map(|malformed| malformed.0)
    }

    /// `value COLLATE name`.
    ///
    /// # Errors
    /// 1273 for an unknown collation, 1253 for one of another character set.
    pub fn collate(&self, value: Typed, name: &str) -> Result<Typed, SqlError> {
        let collation = Collation::from_name(name).ok_or(Refused::UnknownCollation(name))?;
        if value.is_row() {
            return Err(super::one_column());
        }
        let value = match super::derive::is_stringy(&value.ty) {
            true => value,
            false => self.to_text(value),
        };
        let charset = value.ty.collation.charset();
        if charset != collation.charset() && !value.is_null() {
            return Err(Refused::ForeignCollation(collation.name(), charset.name()).into());
        }
        let ty = ColumnType { collation, ..value.ty };
        let ty = if ty.kind.has_members() {
            ColumnType { nullable: ty.nullable, ..string(super::widths::chars(&ty), collation) }
        } else {
            ty
        };
        // What IF and CASE choose is text from here on, not a number or a date by itself.
        let expr = match super::conversion::chooses(&value.expr) {
            true => super::derive::call(&crate::functions::AS_ALIKE, &value, ty),
            false => value.expr,
        };
        Ok(Typed { expr, ty, coercibility: Coercibility::Explicit })
    }
}

/// A character set by name.
pub(crate) fn charset(name: &str) -> Result<Charset, SqlError> {
    Charset::from_name(name).ok_or_else(|| Refused::UnknownCharset(name).into())
}

fn digits(v: u64) -> u32 {
    v.checked_ilog10().unwrap_or(0) + 1
}
