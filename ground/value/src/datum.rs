//! A value while a statement runs: borrowed and copyable, or owning its bytes.

use crate::{Date, DateTime, Decimal, Members, Time};

/// One SQL value. Text and binary strings are both `Bytes`; the column or expression type that
/// travels beside the value says which, and under which collation it compares.
///
/// `==` is identity (1 and 1.0 differ); [`crate::compare`] is SQL's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Datum<'a> {
    /// SQL NULL.
    #[default]
    Null,
    /// A signed integer (every signed integer kind).
    Int(i64),
    /// An unsigned integer (every unsigned integer kind).
    UInt(u64),
    /// A double, or a FLOAT column's value widened. Never NaN or infinite.
    Double(f64),
    /// An exact number.
    Decimal(Decimal),
    /// A date.
    Date(Date),
    /// A time span.
    Time(Time),
    /// A date and a time of day.
    DateTime(DateTime),
    /// A year: 0 or 1901 to 2155.
    Year(u16),
    /// BIT(n): the value and n. A number among numbers, big-endian bytes among strings.
    Bits(u64, u8),
    /// A member of an ENUM, counted from 1; 0 is the empty string of a value that was none.
    Enum(&'static Members, u16),
    /// The members of a SET that are chosen: bit 0 is the first.
    Set(&'static Members, u64),
    /// A TIMESTAMP as it is stored: microseconds since 1970 in UTC (0 is the zero date) and its fsp.
    /// Expressions never see it: they see the session's local time, [`Datum::DateTime`].
    Timestamp(i64, u8),
    /// A JSON document in [`crate::json`]'s binary form.
    Json(&'a [u8]),
    /// A character or binary string.
    Bytes(&'a [u8]),
}

const _: () = assert!(size_of::<Datum<'_>>() == 32);

impl<'a> Datum<'a> {
    /// Whether this is SQL NULL.
    #[inline]
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// The bytes of a string; `None` for every other value.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match *self {
            Datum::Bytes(b) => Some(b),
            _ => None,
        }
    }

    /// The bytes that a variable column stores: those of a string or of a JSON document.
    #[inline]
    #[must_use]
    pub fn as_stored_bytes(&self) -> Option<&'a [u8]> {
        match *self {
            Datum::Bytes(b) | Datum::Json(b) => Some(b),
            _ => None,
        }
    }

    /// The value as a signed integer if it is an integer that fits one; no conversion.
    #[inline]
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Datum::Int(v) => Some(v),
            Datum::UInt(v) => i64::try_from(v).ok(),
            _ => None,
        }
    }

    /// The value as an unsigned integer if it is an integer that fits one; no conversion.
    #[inline]
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Datum::UInt(v) => Some(v),
            Datum::Int(v) => u64::try_from(v).ok(),
            _ => None,
        }
    }
}

/// A value that owns its bytes. The variants are those of [`Datum`].
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // See `Datum`.
pub enum OwnedDatum {
    #[default]
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    Year(u16),
    Bits(u64, u8),
    Enum(&'static Members, u16),
    Set(&'static Members, u64),
    Timestamp(i64, u8),
    Json(Vec<u8>),
    Bytes(Vec<u8>),
}

impl std::hash::Hash for OwnedDatum {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        let mut text = Vec::new();
        crate::format::append_text(&self.datum(), &mut text);
        text.hash(state);
    }
}

impl OwnedDatum {
    /// The value, borrowed.
    #[must_use]
    #[inline]
    pub fn datum(&self) -> Datum<'_> {
        match self {
            OwnedDatum::Json(bytes) => Datum::Json(bytes),
            OwnedDatum::Bytes(bytes) => Datum::Bytes(bytes),
            other => other.scalar().unwrap_or_default(),
        }
    }

    /// The value, if it has no bytes of its own.
    #[inline]
    #[must_use]
    pub fn scalar(&self) -> Option<Datum<'static>> {
        Some(match *self {
            OwnedDatum::Null => Datum::Null,
            OwnedDatum::Int(v) => Datum::Int(v),
            OwnedDatum::UInt(v) => Datum::UInt(v),
            OwnedDatum::Double(v) => Datum::Double(v),
            OwnedDatum::Decimal(v) => Datum::Decimal(v),
            OwnedDatum::Date(v) => Datum::Date(v),
            OwnedDatum::Time(v) => Datum::Time(v),
            OwnedDatum::DateTime(v) => Datum::DateTime(v),
            OwnedDatum::Year(v) => Datum::Year(v),
            OwnedDatum::Bits(v, n) => Datum::Bits(v, n),
            OwnedDatum::Enum(members, v) => Datum::Enum(members, v),
            OwnedDatum::Set(members, v) => Datum::Set(members, v),
            OwnedDatum::Timestamp(v, fsp) => Datum::Timestamp(v, fsp),
            OwnedDatum::Json(_) | OwnedDatum::Bytes(_) => return None,
        })
    }

    /// A copy of a value.
    #[must_use]
    pub fn of(datum: &Datum<'_>) -> OwnedDatum {
        match *datum {
            Datum::Json(bytes) => OwnedDatum::Json(bytes.to_vec()),
            Datum::Bytes(bytes) => OwnedDatum::Bytes(bytes.to_vec()),
            Datum::Null => OwnedDatum::Null,
            Datum::Int(v) => OwnedDatum::Int(v),
            Datum::UInt(v) => OwnedDatum::UInt(v),
            Datum::Double(v) => OwnedDatum::Double(v),
            Datum::Decimal(v) => OwnedDatum::Decimal(v),
            Datum::Date(v) => OwnedDatum::Date(v),
            Datum::Time(v) => OwnedDatum::Time(v),
            Datum::DateTime(v) => OwnedDatum::DateTime(v),
            Datum::Year(v) => OwnedDatum::Year(v),
            Datum::Bits(v, n) => OwnedDatum::Bits(v, n),
            Datum::Enum(members, v) => OwnedDatum::Enum(members, v),
            Datum::Set(members, v) => OwnedDatum::Set(members, v),
            Datum::Timestamp(v, fsp) => OwnedDatum::Timestamp(v, fsp),
        }
    }
}

impl<'a> From<&'a OwnedDatum> for Datum<'a> {
    fn from(owned: &'a OwnedDatum) -> Datum<'a> {
        owned.datum()
    }
}

impl From<Datum<'_>> for OwnedDatum {
    fn from(datum: Datum<'_>) -> OwnedDatum {
        OwnedDatum::of(&datum)
    }
}
