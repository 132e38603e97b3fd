//! The stored form of a row's columns; the engine's own header stands before it.
//!
//! ```text
//! | null bits, one per nullable column | fixed columns | u16 end offset per variable column | bytes |
//! ```
//! Invariants
//! 1. Offsets count from the row's first byte; ends never fall, the last end is the row's length.
//! 2. Integers are little-endian in the column's own width; BINARY(n) is fixed and 0x00-padded. The
//!    other fixed kinds ([`fixed`]) lie in the bytes of their key part: memcmp order is theirs.
//! 3. CHAR is variable and never ends in a space. NULL takes zero bytes there, zeros in a fixed place.
//! 4. Decoding is O(1) per column and checks every offset: rows come from disk.
//! 5. A row may have other forms ([`forms`]): longer than u16 offsets reach, or with values that lie
//!    outside of it. [`RowLayout::decode`] reads all of them, and never takes one for another: a
//!    wide row's u16 offsets are all 0, which no narrow row's are; a stored row is shorter than
//!    32,768 bytes, so bit 15 of an offset is free to say "outside".

mod entry;
pub(crate) mod fixed;
mod forms;
pub mod gather;
mod older;
mod project;

pub use entry::{EntryColumns, EntryRows};
pub use forms::{NARROW_BYTES_MAX, REFERENCE_BYTES, ROW_BYTES_MAX, RowWriter, STORED_BYTES_MAX};
pub use older::{OlderLayout, Origin};
pub use project::Projection;

use crate::{ColumnType, Datum, Kind};

/// Why a row could not be written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowError {
    /// The column at fault (the column count when the whole row is).
    pub column: usize,
    /// The place in the row's bytes.
    pub offset: usize,
    /// What was wrong.
    pub what: &'static str,
}

impl std::fmt::Display for RowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "column {} at row byte {}: {}", self.column, self.offset, self.what)
    }
}

impl std::error::Error for RowError {}

/// Where one column lives.
#[derive(Clone, Copy, Debug)]
struct Place {
    ty: ColumnType,
    /// Number of the column's null bit; `NOT_NULL` when the column has none.
    null_bit: u32,
    /// Fixed: byte offset. Variable: number of the column's end offset.
    at: u32,
    /// Fixed: bytes; variable: `VARIABLE`.
    width: u32,
}

const TOO_LONG: &str = "row too long";
const NOT_NULL: u32 = u32::MAX;
const VARIABLE: u32 = u32::MAX;

/// How rows of one list of column types lie in bytes.
#[derive(Clone, Debug)]
pub struct RowLayout {
    places: Vec<Place>,
    /// Where the end offsets start.
    ends_at: usize,
    variable: usize,
}

impl RowLayout {
    /// Computes the layout once for a table definition.
    #[must_use]
    pub fn new(types: &[ColumnType]) -> Self {
        let nullable = types.iter().filter(|t| t.nullable).count();
        let null_bytes = nullable.div_ceil(8);
        let (mut bit, mut fixed, mut variable) = (0u32, null_bytes as u32, 0u32);
        let places = types
            .iter()
            .map(|&ty| {
                let null_bit = if ty.nullable { bit } else { NOT_NULL };
                bit += u32::from(ty.nullable);
                match ty.fixed_bytes() {
                    Some(width) => {
                        fixed += width;
                        Place { ty, null_bit, at: fixed - width, width }
                    }
                    None => {
                        variable += 1;
                        Place { ty, null_bit, at: variable - 1, width: VARIABLE }
                    }
                }
            })
            .collect();
        Self { places, ends_at: fixed as usize, variable: variable as usize }
    }

    /// How many columns a row has.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.places.len()
    }

    /// The type of a column; `None` past the last.
    #[must_use]
    pub fn column_type(&self, column: usize) -> Option<&ColumnType> {
        self.places.get(column).map(|p| &p.ty)
    }

    /// Whether rows of the other layout lie as those of this one do.
    #[must_use]
    pub fn lies_as(&self, other: &RowLayout) -> bool {
        let same = |(a, b): (&Place, &Place)| a.ty == b.ty;
        self.columns() == other.columns() && self.places.iter().zip(&other.places).all(same)
    }

    /// Bytes that every row takes whatever its values: null bits, fixed columns, end offsets.
    #[must_use]
    pub fn bytes_min(&self) -> usize {
        self.ends_at + 2 * self.variable
    }

    /// Appends the row to `out`. The values must have gone through [`crate::coerce`].
    ///
    /// # Errors
    /// The count of values differs, one does not fit its column, or the row is longer than
    /// [`ROW_BYTES_MAX`]; `out` is then as before.
    pub fn encode(&self, values: &[Datum<'_>], out: &mut Vec<u8>) -> Result<(), RowError> {
        if values.len() != self.places.len() {
            return Err(self.whole("count of values differs from count of columns"));
        }
        self.encode_columns(|column| Ok(values[column]), out)
    }

    /// As [`RowLayout::encode`], of the values that `value` has for each column. A long row's are asked for again.
    ///
    /// # Errors
    /// Those of `value` and of [`RowLayout::encode`]; `out` is then as before.
    pub fn encode_columns<'v>(
        &self,
        value: impl Fn(usize) -> Result<Datum<'v>, RowError>,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let start = out.len();
        let mut result = self.encode_narrow(&value, out);
        if result == Err(self.whole(TOO_LONG)) {
            out.truncate(start);
            result = self.encode_wide(&value, out);
        }
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn encode_narrow<'v>(
        &self,
        value: impl Fn(usize) -> Result<Datum<'v>, RowError>,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let start = out.len();
        out.resize(start + self.bytes_min(), 0);
        self.put_values(value, out, start, |out, v| {
            let end = u16::try_from(out.len() - start).map_err(|_| self.whole(TOO_LONG))?;
            let at = start + self.ends_at + 2 * v;
            out[at..at + 2].copy_from_slice(&end.to_le_bytes());
            Ok(())
        })?;
        if out.len() - start > NARROW_BYTES_MAX {
            return Err(self.whole(TOO_LONG));
        }
        Ok(())
    }

    /// Puts every value in its place; `end` notes that the variable column of this number ends where
    /// the bytes end. Null bits, fixed columns and end offsets have room already.
    fn put_values<'v>(
        &self,
        value: impl Fn(usize) -> Result<Datum<'v>, RowError>,
        out: &mut Vec<u8>,
        start: usize,
        end: impl Fn(&mut [u8], usize) -> Result<(), RowError>,
    ) -> Result<(), RowError> {
        for (column, place) in self.places.iter().enumerate() {
            put_value(place, &value(column)?, start, out).map_err(|what| RowError {
                column,
                offset: 0,
                what,
            })?;
            if place.width == VARIABLE {
                end(out, place.at as usize)?;
            }
        }
        Ok(())
    }

    /// The value of one column.
    ///
    /// # Errors
    /// The row is too short for the column or an offset points outside it; or the value lies outside
    /// of the row and was not fetched ([`RowLayout::outside`]).
    #[inline]
    pub fn decode<'r>(&self, row: &'r [u8], column: usize) -> Result<Datum<'r>, RowError> {
        self.decode_or(row, column, |error| error)
    }

    /// As [`RowLayout::decode`], with the error as the caller wants it: a value that is found is not moved for it.
    ///
    /// # Errors
    /// What `as_error` makes of those of [`RowLayout::decode`].
    #[inline]
    pub fn decode_or<'r, E>(
        &self,
        row: &'r [u8],
        column: usize,
        as_error: impl Fn(RowError) -> E,
    ) -> Result<Datum<'r>, E> {
        let Some(place) = self.places.get(column) else {
            return Err(as_error(RowError { column, offset: 0, what: "no such column" }));
        };
        let fail = |offset: usize, what| as_error(RowError { column, offset, what });
        if place.null_bit != NOT_NULL {
            let at = (place.null_bit / 8) as usize;
            let byte = *row.get(at).ok_or_else(|| fail(at, "row ends in its null bits"))?;
            if byte & (1 << (place.null_bit % 8)) != 0 {
                return Ok(Datum::Null);
            }
        }
        if place.width != VARIABLE {
            let at = place.at as usize;
            let bytes = row
                .get(at..at + place.width as usize)
                .ok_or_else(|| fail(at, "row ends in its fixed columns"))?;
            return Ok(get_fixed(&place.ty, bytes));
        }
        let at = self.ends_at + 2 * place.at as usize;
        let end = end_offset(row, at).ok_or_else(|| fail(at, "row ends in its end offsets"))?;
        let begin = if place.at == 0 {
            self.bytes_min()
        } else {
            end_offset(row, at - 2).ok_or_else(|| fail(at, "row ends in its end offsets"))?
        };
        match row.get(begin..end) {
            Some(bytes) if begin >= self.bytes_min() => Ok(variable(&place.ty, bytes)),
            _ => self.decode_other(row, column).map_err(as_error),
        }
    }

    /// All columns in order, replacing what `out` held.
    ///
    /// # Errors
    /// As [`RowLayout::decode`], or bytes after the row's end.
    pub fn decode_all<'r>(&self, row: &'r [u8], out: &mut Vec<Datum<'r>>) -> Result<(), RowError> {
        out.clear();
        for column in 0..self.places.len() {
            out.push(self.decode(row, column)?);
        }
        self.check_length(row)
    }

    /// Whether the row's length is what its end offsets say.
    ///
    /// # Errors
    /// It is not.
    pub fn check_length(&self, row: &[u8]) -> Result<(), RowError> {
        let end = match self.variable {
            0 => Some(self.ends_at),
            n => self.span(row, n - 1).map(|s| s.end),
        };
        if end == Some(row.len()) {
            Ok(())
        } else {
            Err(self.whole("row length differs from its ends"))
        }
    }

    fn whole(&self, what: &'static str) -> RowError {
        RowError { column: self.places.len(), offset: 0, what }
    }
}

/// Puts a value where `place` says into the row that begins at `start`: its null bit, its fixed
/// bytes, or its bytes at the end.
fn put_value(
    place: &Place,
    value: &Datum<'_>,
    start: usize,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    if value.is_null() {
        if place.null_bit == NOT_NULL {
            return Err("NULL in a NOT NULL column");
        }
        out[start + (place.null_bit / 8) as usize] |= 1 << (place.null_bit % 8);
    } else if place.width != VARIABLE {
        let at = start + place.at as usize;
        put_fixed(&place.ty, value, &mut out[at..at + place.width as usize])?;
    } else {
        let bytes = value.as_stored_bytes().ok_or("a string column got no string")?;
        let bytes = stored_text(&place.ty, bytes);
        if bytes.len() > place.ty.bytes_max() as usize {
            return Err("string longer than its column");
        }
        out.extend_from_slice(bytes);
    }
    Ok(())
}

/// What is stored of a text value: CHAR loses its trailing spaces.
fn stored_text<'a>(ty: &ColumnType, bytes: &'a [u8]) -> &'a [u8] {
    if ty.kind == Kind::Char { strip_spaces(bytes) } else { bytes }
}

/// The string without trailing spaces.
pub(crate) fn strip_spaces(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&b| b != b' ').map_or(0, |last| last + 1);
    &bytes[..end]
}

#[inline]
fn variable<'r>(ty: &ColumnType, bytes: &'r [u8]) -> Datum<'r> {
    if ty.kind == Kind::Json { Datum::Json(bytes) } else { Datum::Bytes(bytes) }
}

#[inline]
fn end_offset(row: &[u8], at: usize) -> Option<usize> {
    let bytes = row.get(at..at + 2)?;
    Some(usize::from(u16::from_le_bytes([bytes[0], bytes[1]])))
}

fn put_fixed(ty: &ColumnType, value: &Datum<'_>, to: &mut [u8]) -> Result<(), &'static str> {
    match (ty.kind, *value) {
        (Kind::Binary, Datum::Bytes(b)) => {
            let head = to.get_mut(..b.len()).ok_or("string longer than its column")?;
            head.copy_from_slice(b);
        }
        (kind, Datum::Int(_) | Datum::UInt(_)) if kind.is_int() => {
            let bits = int_bits(ty, value).ok_or("integer outside its column's range")?;
            to.copy_from_slice(&bits.to_le_bytes()[..to.len()]);
        }
        _ => fixed::put(ty, value, to)?,
    }
    Ok(())
}

/// The integer's two's complement bits when it is inside the column's range.
#[inline]
pub(crate) fn int_bits(ty: &ColumnType, value: &Datum<'_>) -> Option<u64> {
    let bits = 8 * ty.kind.int_bytes()? as u32;
    match *value {
        Datum::Int(v) if ty.unsigned => {
            let v = u64::try_from(v).ok()?;
            (bits == 64 || v >> bits == 0).then_some(v)
        }
        Datum::UInt(v) if ty.unsigned => (bits == 64 || v >> bits == 0).then_some(v),
        Datum::Int(v) => {
            let shift = 64 - bits;
            ((v << shift) >> shift == v).then_some(v as u64)
        }
        Datum::UInt(v) => (v >> (bits - 1) == 0).then_some(v),
        _ => None,
    }
}

#[inline]
fn get_fixed<'r>(ty: &ColumnType, bytes: &'r [u8]) -> Datum<'r> {
    match ty.kind {
        Kind::Binary => Datum::Bytes(bytes),
        kind if !kind.is_int() => fixed::get(ty, bytes),
        _ => {
            let mut b = [0; 8];
            b[..bytes.len()].copy_from_slice(bytes);
            let raw = u64::from_le_bytes(b);
            if ty.unsigned {
                Datum::UInt(raw)
            } else {
                let shift = 64 - 8 * bytes.len() as u32;
                Datum::Int(((raw << shift) as i64) >> shift)
            }
        }
    }
}

#[cfg(test)]
mod tests;
