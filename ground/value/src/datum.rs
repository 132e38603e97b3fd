//! A value while a statement runs: borrowed, copyable, without its own memory.

/// One SQL value. Text and binary strings are both `Bytes`; the column or expression type that
/// travels beside the value says which, and under which collation it compares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Datum<'a> {
    /// SQL NULL.
    #[default]
    Null,
    /// A signed integer (every signed integer kind).
    Int(i64),
    /// An unsigned integer (every unsigned integer kind).
    UInt(u64),
    /// A double; only as the result of an expression so far. Never NaN or infinite.
    Double(f64),
    /// An exact number `unscaled / 10^scale`; `|unscaled| < 10^38`, `scale <= 30`.
    Decimal {
        /// All digits, without the point.
        unscaled: i128,
        /// How many of the digits stand behind the point.
        scale: u8,
    },
    /// A character or binary string.
    Bytes(&'a [u8]),
}

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
