//! Memcomparable keys: bytes whose memcmp order is the order of the values.
//!
//! Invariants
//! 1. Each part is self-delimiting, so concatenated parts order by the first part that differs.
//! 2. A nullable column's part starts with 0x00 (NULL, nothing follows) or 0x01; NULL sorts first.
//! 3. Integers: the column's width, big-endian, sign bit flipped when signed.
//! 4. `binary`: a 1 bit before each byte, a 0 bit at the end, then 0 bits up to a whole byte: at most
//!    9/8 of the string and one byte.
//!    0900_ai_ci: the u16 weights (never zero), the end is the weight 0x0000.
//!    PAD SPACE: every space carries a mark behind it that tells how the rest compares with endless
//!    spaces (1 less, 3 greater), and the end is a space with mark 2, so 'a' = 'a ' and 'a\t' < 'a'.
//! 5. Other kinds: their stored bytes ([`crate::row`]). A descending part: every byte inverted, NULL's
//!    too. No part is a prefix of another value's, so inverting turns the order round.
//! 6. Encoding an integer allocates nothing beyond the caller's buffer.

pub(crate) mod ends;

use crate::{ColumnType, Datum, Kind, RowError, RowLayout};
pub use stdx::bytes::successor;

/// One part of an index key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyPart {
    /// The column's number in the table.
    pub column: usize,
    /// Only the first so many characters (bytes for binary strings) are part of the key.
    pub prefix_chars: Option<u32>,
    /// Larger values first, NULL last.
    pub descending: bool,
}

impl KeyPart {
    /// A part that is the whole column.
    #[must_use]
    pub const fn whole(column: usize) -> Self {
        Self { column, prefix_chars: None, descending: false }
    }

    /// A part that is the first `chars` characters (bytes) of the column.
    #[must_use]
    pub const fn prefix(column: usize, chars: u32) -> Self {
        Self { column, prefix_chars: Some(chars), descending: false }
    }
}

/// Why a key could not be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The value (of an integer column) is below or above everything the column can hold.
    OutOfRange {
        /// The part's number.
        part: usize,
        /// Above the largest value rather than below the smallest.
        above: bool,
    },
    /// NULL for a column that cannot hold it: no row has such a key.
    Null {
        /// The part's number.
        part: usize,
    },
    /// A value of another kind than the column: convert it first.
    Kind {
        /// The part's number.
        part: usize,
    },
    /// The key has fewer parts, or the row or type list fewer columns, than asked for.
    Missing {
        /// The part's number.
        part: usize,
    },
    /// The row the key is taken from is damaged.
    Row(RowError),
}

impl std::fmt::Display for KeyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KeyError::OutOfRange { part, .. } => write!(f, "key part {part}: integer out of range"),
            KeyError::Null { part } => write!(f, "key part {part}: NULL in a NOT NULL column"),
            KeyError::Kind { part } => write!(f, "key part {part}: value of another kind"),
            KeyError::Missing { part } => write!(f, "key part {part}: no such column"),
            KeyError::Row(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for KeyError {}

impl From<RowError> for KeyError {
    fn from(e: RowError) -> Self {
        KeyError::Row(e)
    }
}

impl KeyPart {
    /// Appends the key of a value of this part's column, which is of type `ty`.
    ///
    /// # Errors
    /// See [`KeyError`]; what is behind the former end of `out` is undefined then.
    #[inline]
    pub fn append(
        &self,
        ty: &ColumnType,
        value: &Datum<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError> {
        encode_part(0, ty, self, value, out)
    }

    /// Appends the key of a value that the column holds as it is: an integer of its range, or text. `false`: it is no such
    /// value, and nothing was appended.
    #[inline]
    pub fn append_exact(&self, ty: &ColumnType, value: &Datum<'_>, out: &mut Vec<u8>) -> bool {
        match value {
            Datum::Int(_) | Datum::UInt(_) => self.append_int(ty, value, out),
            Datum::Bytes(text) => self.append_valid(ty, text, out),
            _ => false,
        }
    }

    #[inline(always)]
    fn append_int(&self, ty: &ColumnType, value: &Datum<'_>, out: &mut Vec<u8>) -> bool {
        let (Some(bytes), Some(bits)) = (ty.kind.int_bytes(), crate::row::int_bits(ty, value))
        else {
            return false;
        };
        let start = out.len();
        if ty.nullable {
            out.push(1);
        }
        put_int(bits, bytes, ty.unsigned, out);
        if self.descending {
            invert(&mut out[start..]);
        }
        true
    }

    fn append_valid(&self, ty: &ColumnType, text: &[u8], out: &mut Vec<u8>) -> bool {
        if !ty.kind.is_string() || !ty.collation.charset().is_valid(text) {
            return false;
        }
        let start = out.len();
        let appended = self.append(ty, &Datum::Bytes(text), out).is_ok();
        if !appended {
            out.truncate(start);
        }
        appended
    }
}

/// The parts of an index key, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySpec {
    /// The parts; each names a column of the table.
    pub parts: Vec<KeyPart>,
}

impl KeySpec {
    /// A key of these parts.
    #[must_use]
    pub fn new(parts: Vec<KeyPart>) -> Self {
        Self { parts }
    }

    /// Appends the key of a whole row given as datums, one per column of the table.
    ///
    /// # Errors
    /// See [`KeyError`]; `out` then holds the parts before the failing one.
    pub fn encode(
        &self,
        types: &[ColumnType],
        row: &[Datum<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError> {
        for (part, spec) in self.parts.iter().enumerate() {
            let missing = KeyError::Missing { part };
            let ty = types.get(spec.column).ok_or(missing)?;
            let value = row.get(spec.column).ok_or(missing)?;
            encode_part(part, ty, spec, value, out)?;
        }
        Ok(())
    }

    /// Appends the first `values.len()` parts, given in the order of the parts: a search key.
    ///
    /// # Errors
    /// See [`KeyError`]; `out` then holds the parts before the failing one.
    pub fn encode_prefix(
        &self,
        types: &[ColumnType],
        values: &[Datum<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError> {
        for (part, value) in values.iter().enumerate() {
            let missing = KeyError::Missing { part };
            let spec = self.parts.get(part).ok_or(missing)?;
            let ty = types.get(spec.column).ok_or(missing)?;
            encode_part(part, ty, spec, value, out)?;
        }
        Ok(())
    }

    /// Appends the key of an encoded row.
    ///
    /// # Errors
    /// See [`KeyError`]; `out` then holds the parts before the failing one.
    pub fn encode_from_row(
        &self,
        layout: &RowLayout,
        row: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError> {
        for (part, spec) in self.parts.iter().enumerate() {
            let ty = layout.column_type(spec.column).ok_or(KeyError::Missing { part })?;
            let value = layout.decode(row, spec.column)?;
            encode_part(part, ty, spec, &value, out)?;
        }
        Ok(())
    }

    /// Whether two rows have the same key, as far as their bytes tell: other bytes may have the same key, too.
    #[must_use]
    pub fn is_plainly_same(&self, layout: &RowLayout, a: &[u8], b: &[u8]) -> bool {
        self.parts.iter().all(|part| layout.is_plainly_same(a, b, part.column))
    }
}

/// The keys of everything that a 0900_ai_ci string may become when characters are cut off: the weights
/// of `key` (a whole string's, from byte `start` to the end of `key`), fewer and fewer, `most` at most.
/// Shortest first, without `key` itself.
pub fn fewer_weights(key: &[u8], start: usize, most: usize) -> impl Iterator<Item = Vec<u8>> + '_ {
    let weights = key.len().saturating_sub(start + 2) / 2;
    (0..weights.min(most)).map(move |kept| [&key[..start + 2 * kept], &[0, 0]].concat())
}

#[inline]
fn encode_part(
    part: usize,
    ty: &ColumnType,
    spec: &KeyPart,
    value: &Datum<'_>,
    out: &mut Vec<u8>,
) -> Result<(), KeyError> {
    if !spec.descending {
        return encode_ascending(part, ty, spec.prefix_chars, value, out);
    }
    let start = out.len();
    let done = encode_ascending(part, ty, spec.prefix_chars, value, out);
    invert(&mut out[start..]);
    done
}

/// Turns the order of keys around.
fn invert(key: &mut [u8]) {
    key.iter_mut().for_each(|b| *b = !*b);
}

#[inline]
fn encode_ascending(
    part: usize,
    ty: &ColumnType,
    prefix: Option<u32>,
    value: &Datum<'_>,
    out: &mut Vec<u8>,
) -> Result<(), KeyError> {
    if value.is_null() {
        if !ty.nullable {
            return Err(KeyError::Null { part });
        }
        out.push(0);
        return Ok(());
    }
    if ty.nullable {
        out.push(1);
    }
    if let Some(bytes) = ty.kind.int_bytes() {
        let bits = crate::row::int_bits(ty, value).ok_or_else(|| int_error(part, value))?;
        put_int(bits, bytes, ty.unsigned, out);
        return Ok(());
    }
    if !ty.kind.is_string() {
        return encode_other(part, ty, value, out);
    }
    let text = value.as_bytes().ok_or(KeyError::Kind { part })?;
    let text = match prefix {
        Some(chars) => ty.collation.prefix(text, chars as usize),
        None => text,
    };
    ty.collation.key_part(text, out);
    Ok(())
}

/// Kinds that are neither integers nor strings: their stored bytes are in key order.
#[cold]
fn encode_other(
    part: usize,
    ty: &ColumnType,
    value: &Datum<'_>,
    out: &mut Vec<u8>,
) -> Result<(), KeyError> {
    let kind = KeyError::Kind { part };
    let width = ty.fixed_bytes().ok_or(kind)? as usize;
    let start = out.len();
    out.resize(start + width, 0);
    let value = match *value {
        // The two zeros are one value; so is what FLOAT rounds to them.
        Datum::Double(v) if v == 0.0 || ty.kind == Kind::Float && v as f32 == 0.0 => {
            Datum::Double(0.0)
        }
        other => other,
    };
    crate::row::fixed::put(ty, &value, &mut out[start..]).map_err(|_| kind)
}

fn int_error(part: usize, value: &Datum<'_>) -> KeyError {
    match value {
        Datum::Int(v) => KeyError::OutOfRange { part, above: *v >= 0 },
        Datum::UInt(_) => KeyError::OutOfRange { part, above: true },
        _ => KeyError::Kind { part },
    }
}

#[inline]
fn put_int(bits: u64, bytes: usize, unsigned: bool, out: &mut Vec<u8>) {
    let flip = if unsigned { 0 } else { 1u64 << (8 * bytes - 1) };
    let be = ((bits ^ flip) << (64 - 8 * bytes)).to_be_bytes();
    // Of a fixed length: no call.
    match bytes {
        4 => out.extend_from_slice(&be[..4]),
        8 => out.extend_from_slice(&be),
        bytes => out.extend_from_slice(&be[..bytes]),
    }
}

#[cfg(test)]
mod tests;
