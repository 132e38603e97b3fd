//! The other forms of a row: stored with values outside of it, and wide.
//!
//! ```text
//! stored: | null bits | fixed columns | u16 ends, bit 15: outside | bytes |            < 32,768 bytes
//! wide:   | null bits | fixed columns | u16 zeroes | u32 ends, bit 31: outside | bytes |
//! ```
//! Invariants
//! 1. Of a value that lies outside, the row holds [`REFERENCE_BYTES`] bytes that say where; what they
//!    mean is the storage engine's. Decoding such a column is an error, never those bytes.
//! 2. A stored row is what lies in a page. Rows handed up are narrow (no value outside, u16 offsets)
//!    when they are complete and short enough, else wide.
//! 3. Every offset is checked before it is used.

use super::{NOT_NULL, RowError, RowLayout, TOO_LONG, VARIABLE, end_offset, put_fixed, put_value};
use crate::Datum;
use std::ops::Range;

/// Longest row with u16 offsets, in bytes.
pub const NARROW_BYTES_MAX: usize = 65_535;
/// Longest row at all, in bytes.
pub const ROW_BYTES_MAX: usize = (1 << 31) - 1;
/// A stored row with values outside is shorter than this, in bytes.
pub const STORED_BYTES_MAX: usize = 1 << 15;
/// Bytes that stand in a row for a value outside of it.
pub const REFERENCE_BYTES: usize = 20;

const NARROW_OUTSIDE: usize = 1 << 15;
const WIDE_OUTSIDE: usize = 1 << 31;

/// Where a variable column's bytes are in a row.
#[derive(Clone, Copy)]
pub(super) struct Span {
    begin: usize,
    pub(super) end: usize,
    outside: bool,
}

impl RowLayout {
    /// The numbers of the columns whose length varies, in order.
    pub fn variable_columns(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.places.iter().enumerate();
        all.filter(|(_, place)| place.width == VARIABLE).map(|(column, _)| column)
    }

    /// The bytes that the row holds for a variable column (none for NULL), and whether they are a
    /// reference to a value outside of the row.
    ///
    /// # Errors
    /// The column's length does not vary, or the row is damaged.
    pub fn held<'r>(&self, row: &'r [u8], column: usize) -> Result<(&'r [u8], bool), RowError> {
        self.held_at(row, column).map(|(at, outside)| (&row[at], outside))
    }

    /// As [`RowLayout::held`]: where those bytes are in the row.
    ///
    /// # Errors
    /// As [`RowLayout::held`].
    pub fn held_at(&self, row: &[u8], column: usize) -> Result<(Range<usize>, bool), RowError> {
        let fail = |what| RowError { column, offset: 0, what };
        let place = self.places.get(column).ok_or_else(|| fail("no such column"))?;
        if place.width != VARIABLE {
            return Err(fail("a fixed column lies in its row"));
        }
        let span = self.span(row, place.at as usize);
        let span = span.ok_or_else(|| fail("end offset outside the row"))?;
        Ok((span.begin..span.end, span.outside))
    }

    /// Whether the column is NULL.
    ///
    /// # Errors
    /// There is no such column, or the row is too short.
    pub fn is_null(&self, row: &[u8], column: usize) -> Result<bool, RowError> {
        let fail = |what| RowError { column, offset: 0, what };
        let place = self.places.get(column).ok_or_else(|| fail("no such column"))?;
        if place.null_bit == NOT_NULL {
            return Ok(false);
        }
        let byte = row.get((place.null_bit / 8) as usize);
        let byte = byte.ok_or_else(|| fail("row ends in its null bits"))?;
        Ok(byte & (1 << (place.null_bit % 8)) != 0)
    }

    /// The reference to a column's value when it lies outside of the row.
    ///
    /// # Errors
    /// The row is damaged.
    pub fn outside<'r>(
        &self,
        row: &'r [u8],
        column: usize,
    ) -> Result<Option<&'r [u8; REFERENCE_BYTES]>, RowError> {
        if self.places.get(column).is_none_or(|p| p.width != VARIABLE) {
            return Ok(None);
        }
        let (bytes, outside) = self.held(row, column)?;
        Ok(if outside { bytes.first_chunk() } else { None })
    }

    /// Whether a column has the same bytes in two rows, in their fixed columns or behind them; `false` where that is not
    /// plain to see.
    #[must_use]
    pub fn is_plainly_same(&self, a: &[u8], b: &[u8], column: usize) -> bool {
        let Some(place) = self.places.get(column) else { return false };
        if place.null_bit != NOT_NULL {
            let (at, bit) = ((place.null_bit / 8) as usize, 1 << (place.null_bit % 8));
            let nulls = a.get(at).zip(b.get(at));
            if nulls.is_none_or(|(a, b)| (a ^ b) & bit != 0) {
                return false;
            }
        }
        if place.width == VARIABLE {
            let spans = self.span(a, place.at as usize).zip(self.span(b, place.at as usize));
            return spans.is_some_and(|(x, y)| {
                !x.outside && !y.outside && a[x.begin..x.end] == b[y.begin..y.end]
            });
        }
        let at = place.at as usize..(place.at + place.width) as usize;
        let bytes = a.get(at.clone()).zip(b.get(at));
        bytes.is_some_and(|(a, b)| a == b)
    }

    /// Gives fixed columns of a row other values, in this order, without looking at the others. `false`: nothing was done, since
    /// one of them is not fixed, or the row is not plainly narrow.
    ///
    /// # Errors
    /// A value does not fit its column; the row is then of no use.
    pub fn set_fixed<'v>(
        &self,
        row: &mut [u8],
        values: impl Iterator<Item = (usize, Datum<'v>)> + Clone,
    ) -> Result<bool, RowError> {
        let is_fixed = |column: usize| self.places.get(column).is_some_and(|p| p.width != VARIABLE);
        let all = values.clone().all(|(column, _)| is_fixed(column));
        if !all || self.is_wide(row) || row.len() < self.bytes_min() {
            return Ok(false);
        }
        for (column, value) in values {
            let (place, fail) = (&self.places[column], |what| RowError { column, offset: 0, what });
            let (at, bit) = ((place.null_bit / 8) as usize, 1 << (place.null_bit % 8));
            if place.null_bit != NOT_NULL {
                row[at] &= !bit;
            }
            let bytes = &mut row[place.at as usize..(place.at + place.width) as usize];
            bytes.fill(0);
            if !value.is_null() {
                put_fixed(&place.ty, &value, bytes).map_err(fail)?;
            } else if place.null_bit == NOT_NULL {
                return Err(fail("NULL in a NOT NULL column"));
            } else {
                row[at] |= bit;
            }
        }
        Ok(true)
    }

    /// Whether the value of any column lies outside of the row.
    #[must_use]
    pub fn any_outside(&self, row: &[u8]) -> bool {
        (0..self.variable).any(|v| self.span(row, v).is_some_and(|s| s.outside))
    }

    /// Whether the row has the wide form.
    #[inline]
    #[must_use]
    pub fn is_wide(&self, row: &[u8]) -> bool {
        self.variable > 0 && end_offset(row, self.ends_at + 2 * (self.variable - 1)) == Some(0)
    }

    /// Bytes before the variable columns' own in a wide row.
    fn wide_bytes_min(&self) -> usize {
        self.bytes_min() + 4 * self.variable
    }

    /// Where variable column number `v` is, in a row of any form; `None`: the offsets contradict
    /// themselves.
    pub(super) fn span(&self, row: &[u8], v: usize) -> Option<Span> {
        let (first, end, begin) = if self.is_wide(row) {
            let at = |v: usize| wide_end(row, self.bytes_min() + 4 * v);
            let begin = if v == 0 { None } else { Some(at(v - 1)? & !WIDE_OUTSIDE) };
            let end = at(v)?;
            (self.wide_bytes_min(), (end & !WIDE_OUTSIDE, end & WIDE_OUTSIDE != 0), begin)
        } else {
            let bit = if row.len() < STORED_BYTES_MAX { NARROW_OUTSIDE } else { 0 };
            let at = |v: usize| end_offset(row, self.ends_at + 2 * v);
            let begin = if v == 0 { None } else { Some(at(v - 1)? & !bit) };
            let end = at(v)?;
            (self.bytes_min(), (end & !bit, end & bit != 0), begin)
        };
        let begin = begin.unwrap_or(first);
        let (end, outside) = end;
        let sound = first <= begin && begin <= end && end <= row.len();
        let sound = sound && (!outside || end - begin == REFERENCE_BYTES);
        sound.then_some(Span { begin, end, outside })
    }

    /// The value of a variable column, not NULL, in a row that is not plainly narrow.
    #[cold]
    pub(super) fn decode_other<'r>(
        &self,
        row: &'r [u8],
        column: usize,
    ) -> Result<Datum<'r>, RowError> {
        match self.held(row, column)? {
            (bytes, false) => Ok(super::variable(&self.places[column].ty, bytes)),
            (_, true) => {
                let what = "the value lies outside of the row and was not fetched";
                Err(RowError { column, offset: 0, what })
            }
        }
    }

    pub(super) fn encode_wide<'v>(
        &self,
        value: impl Fn(usize) -> Result<Datum<'v>, RowError>,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let start = out.len();
        let mut bytes = 0;
        for column in 0..self.columns() {
            bytes += value(column)?.as_stored_bytes().map_or(0, <[u8]>::len);
        }
        if bytes > ROW_BYTES_MAX {
            return Err(self.whole(TOO_LONG));
        }
        out.reserve(self.wide_bytes_min() + bytes);
        out.resize(start + self.wide_bytes_min(), 0);
        self.put_values(value, out, start, |out, v| self.end_wide(out, start, v, false))
    }

    fn end_wide(
        &self,
        out: &mut [u8],
        start: usize,
        v: usize,
        outside: bool,
    ) -> Result<(), RowError> {
        let end = out.len() - start;
        if end > ROW_BYTES_MAX {
            return Err(self.whole(TOO_LONG));
        }
        let end = (end | if outside { WIDE_OUTSIDE } else { 0 }) as u32;
        let at = start + self.bytes_min() + 4 * v;
        out[at..at + 4].copy_from_slice(&end.to_le_bytes());
        Ok(())
    }
}

fn wide_end(row: &[u8], at: usize) -> Option<usize> {
    let bytes: [u8; 4] = row.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(bytes) as usize)
}

/// Writes a row in another form: the fixed columns and NULLs of one row, the variable columns one by
/// one. [`RowLayout::variable_columns`] gives their order.
#[derive(Debug)]
pub struct RowWriter<'a> {
    layout: &'a RowLayout,
    out: &'a mut Vec<u8>,
    start: usize,
    wide: bool,
    next: usize,
}

impl<'a> RowWriter<'a> {
    /// Begins a row at the end of `out`: wide, or else in the form that is stored.
    ///
    /// # Errors
    /// `from` is too short for the layout.
    pub fn new(
        layout: &'a RowLayout,
        from: &[u8],
        wide: bool,
        out: &'a mut Vec<u8>,
    ) -> Result<Self, RowError> {
        let head = from.get(..layout.ends_at).ok_or_else(|| layout.whole("row cut short"))?;
        let writer = Self::blank(layout, wide, out);
        writer.out[writer.start..writer.start + head.len()].copy_from_slice(head);
        Ok(writer)
    }

    /// As [`Self::new`], of a row whose fixed columns are zeros still, and none is NULL.
    pub(super) fn blank(layout: &'a RowLayout, wide: bool, out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        let bytes = if wide { layout.wide_bytes_min() } else { layout.bytes_min() };
        out.resize(start + bytes, 0);
        Self { layout, out, start, wide, next: 0 }
    }

    /// Where the bytes of the next variable column are appended.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Ends the next variable column; `outside`: its bytes are a reference.
    ///
    /// # Errors
    /// The row became too long for its form.
    pub fn end_column(&mut self, outside: bool) -> Result<(), RowError> {
        let v = self.next;
        self.next += 1;
        if self.wide {
            return self.layout.end_wide(self.out, self.start, v, outside);
        }
        let end = self.out.len() - self.start;
        let limit = if outside { STORED_BYTES_MAX - 1 } else { NARROW_BYTES_MAX };
        if end > limit {
            return Err(self.layout.whole(TOO_LONG));
        }
        let end = (end | if outside { NARROW_OUTSIDE } else { 0 }) as u16;
        let at = self.start + self.layout.ends_at + 2 * v;
        self.out[at..at + 2].copy_from_slice(&end.to_le_bytes());
        Ok(())
    }

    /// Ends the row.
    ///
    /// # Errors
    /// Not every variable column was written.
    pub fn finish(self) -> Result<(), RowError> {
        if self.next == self.layout.variable {
            Ok(())
        } else {
            Err(self.layout.whole("a row without all of its columns"))
        }
    }
}

impl RowLayout {
    /// Appends `row`, which may have any form, with other values for some columns: what an UPDATE
    /// makes of a row. Values outside that are not replaced stay references.
    ///
    /// # Errors
    /// As [`RowLayout::encode`]; `out` is then as before.
    pub fn encode_changed(
        &self,
        row: &[u8],
        changes: &[(usize, Datum<'_>)],
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let start = out.len();
        let result = self.encode_changed_at(row, changes, out, start);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn encode_changed_at(
        &self,
        row: &[u8],
        changes: &[(usize, Datum<'_>)],
        out: &mut Vec<u8>,
        start: usize,
    ) -> Result<(), RowError> {
        let changed = |column| changes.iter().rev().find(|c| c.0 == column).map(|c| &c.1);
        let wide = self.changed_is_wide(row, changes)?;
        let mut writer = RowWriter::new(self, row, wide, out)?;
        for (column, place) in self.places.iter().enumerate() {
            let fail = |what| RowError { column, offset: 0, what };
            let mut outside = false;
            if let Some(value) = changed(column) {
                if place.null_bit != NOT_NULL {
                    let at = start + (place.null_bit / 8) as usize;
                    writer.out[at] &= !(1 << (place.null_bit % 8));
                }
                if place.width != VARIABLE {
                    let at = start + place.at as usize;
                    writer.out[at..at + place.width as usize].fill(0);
                }
                put_value(place, value, start, writer.out).map_err(fail)?;
            } else if place.width == VARIABLE {
                let held = self.held(row, column)?;
                writer.bytes().extend_from_slice(held.0);
                outside = held.1;
            }
            if place.width == VARIABLE {
                writer.end_column(outside)?;
            }
        }
        writer.finish()
    }

    /// Whether the changed row needs the wide form: too long for the other, or values outside.
    fn changed_is_wide(
        &self,
        row: &[u8],
        changes: &[(usize, Datum<'_>)],
    ) -> Result<bool, RowError> {
        let mut bytes = self.bytes_min();
        for column in self.variable_columns() {
            match changes.iter().rev().find(|c| c.0 == column) {
                Some((_, value)) => bytes += value.as_stored_bytes().map_or(0, <[u8]>::len),
                None => match self.held(row, column)? {
                    (_, true) => return Ok(true),
                    (held, false) => bytes += held.len(),
                },
            }
        }
        Ok(bytes > NARROW_BYTES_MAX)
    }
}
