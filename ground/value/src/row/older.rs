//! Rows that were written under an older layout of their table, given the form of the present one.
//!
//! 1. A column keeps the form of its stored bytes from one layout to the next: they are copied, a reference to a value
//!    outside of the row as it is. Guard: [`OlderLayout::new`] refuses another width.
//! 2. A column that a layout lacks has one value in all of its rows, the one that it was added with.
//! 3. What comes out is a row of any form ([`super::forms`]); wide only where offsets of 16 bits do not reach.

use super::forms::{NARROW_BYTES_MAX, RowWriter, STORED_BYTES_MAX};
use super::{NOT_NULL, RowError, RowLayout, VARIABLE, put_value};
use crate::{ColumnType, OwnedDatum};

/// Where a column of the present layout comes from in rows of an older one.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// That column of theirs.
    Column(usize),
    /// They lack it: it has this value.
    Value(OwnedDatum),
}

/// How rows of an older layout become rows of the present one.
#[derive(Clone, Debug)]
pub struct OlderLayout {
    layout: RowLayout,
    /// One per column of the present layout.
    origins: Vec<Origin>,
}

impl OlderLayout {
    /// For rows whose columns have these types, and a present layout that has one origin per column.
    ///
    /// # Errors
    /// The two contradict each other.
    pub fn new(
        types: &[ColumnType],
        origins: Vec<Origin>,
        present: &RowLayout,
    ) -> Result<OlderLayout, RowError> {
        let layout = RowLayout::new(types);
        let fail = |column, what| Err(RowError { column, offset: 0, what });
        if origins.len() != present.columns() {
            return fail(present.columns(), "an older layout with another count of columns");
        }
        for (column, (origin, to)) in origins.iter().zip(&present.places).enumerate() {
            let Origin::Column(at) = origin else { continue };
            match layout.places.get(*at) {
                Some(from) if from.width == to.width => {}
                _ => return fail(column, "a column has another form in an older layout"),
            }
        }
        Ok(OlderLayout { layout, origins })
    }

    /// The layout itself.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// Appends `row`, which has this layout, as a row of `present`.
    ///
    /// # Errors
    /// The row is damaged, or too long with what it lacked; `out` is then as before.
    pub fn append(
        &self,
        row: &[u8],
        present: &RowLayout,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let start = out.len();
        let done = self.append_at(start, row, present, out);
        if done.is_err() {
            out.truncate(start);
        }
        done
    }

    fn append_at(
        &self,
        start: usize,
        row: &[u8],
        present: &RowLayout,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let mut writer = RowWriter::blank(present, self.is_wide(row, present)?, out);
        for (column, (origin, to)) in self.origins.iter().zip(&present.places).enumerate() {
            let fail = |what| RowError { column, offset: 0, what };
            let mut outside = false;
            match origin {
                Origin::Value(value) => {
                    put_value(to, &value.datum(), start, writer.bytes()).map_err(fail)?;
                }
                Origin::Column(at) if self.layout.is_null(row, *at)? => {
                    if to.null_bit == NOT_NULL {
                        return Err(fail("NULL in a NOT NULL column"));
                    }
                    let byte = start + (to.null_bit / 8) as usize;
                    writer.bytes()[byte] |= 1 << (to.null_bit % 8);
                }
                Origin::Column(at) if to.width == VARIABLE => {
                    let held = self.layout.held(row, *at)?;
                    writer.bytes().extend_from_slice(held.0);
                    outside = held.1;
                }
                Origin::Column(at) => {
                    let from = self.layout.places[*at].at as usize;
                    let bytes = row.get(from..from + to.width as usize);
                    let bytes = bytes.ok_or_else(|| fail("row ends in its fixed columns"))?;
                    let at = start + to.at as usize;
                    writer.bytes()[at..at + bytes.len()].copy_from_slice(bytes);
                }
            }
            if to.width == VARIABLE {
                writer.end_column(outside)?;
            }
        }
        writer.finish()
    }

    fn is_wide(&self, row: &[u8], present: &RowLayout) -> Result<bool, RowError> {
        let (mut bytes, mut any_outside) = (present.bytes_min(), false);
        for (origin, to) in self.origins.iter().zip(&present.places) {
            if to.width != VARIABLE {
                continue;
            }
            bytes += match origin {
                Origin::Value(value) => value.datum().as_stored_bytes().map_or(0, <[u8]>::len),
                Origin::Column(at) => {
                    let (held, outside) = self.layout.held(row, *at)?;
                    any_outside |= outside;
                    held.len()
                }
            };
        }
        Ok(bytes > if any_outside { STORED_BYTES_MAX - 1 } else { NARROW_BYTES_MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collation, Datum, Kind};

    fn int() -> ColumnType {
        ColumnType::int(Kind::Int, false)
    }

    fn text() -> ColumnType {
        ColumnType::varchar(65_000, Collation::Binary)
    }

    fn bytes(n: usize) -> OwnedDatum {
        OwnedDatum::Bytes(vec![b'x'; n])
    }

    /// (a INT, b TEXT, c TEXT, d INT NULL) becomes (new TEXT, c, d, new INT, a): b is gone.
    #[test]
    fn a_row_comes_back_with_what_it_lacked_and_without_what_is_gone() {
        let old_types = [int().not_null(), text(), text(), int()];
        let new_types = [text(), text(), int(), int(), int().not_null()];
        let (old, present) = (RowLayout::new(&old_types), RowLayout::new(&new_types));
        for (n, added) in [(0, 0), (5, 7), (300, 40_000), (20_000, 60_000)] {
            let added = bytes(added);
            let origins = vec![
                Origin::Value(added.clone()),
                Origin::Column(2),
                Origin::Column(3),
                Origin::Value(OwnedDatum::Int(-4)),
                Origin::Column(0),
            ];
            let older = OlderLayout::new(&old_types, origins, &present).unwrap();
            for null in [false, true] {
                let held = bytes(n);
                let c = if null { Datum::Null } else { held.datum() };
                let d = if null { Datum::Int(9) } else { Datum::Null };
                let mut row = Vec::new();
                old.encode(&[Datum::Int(7), Datum::Bytes(b"gone"), c, d], &mut row).unwrap();
                let mut out = b"head".to_vec();
                older.append(&row, &present, &mut out).unwrap();
                let mut values = Vec::new();
                present.decode_all(&out[4..], &mut values).unwrap();
                assert_eq!(values, [added.datum(), c, d, Datum::Int(-4), Datum::Int(7)]);
                for end in 0..row.len() {
                    // What is cut off is an error or nothing that counts, never a panic.
                    let before = out.clone();
                    if older.append(&row[..end], &present, &mut out).is_err() {
                        assert_eq!(out, before);
                    }
                    out = before;
                }
            }
        }
    }

    #[test]
    fn a_value_outside_stays_a_reference() {
        let (old_types, new_types) = ([text(), int()], [int(), text(), text()]);
        let (old, present) = (RowLayout::new(&old_types), RowLayout::new(&new_types));
        for added in [3, 40_000] {
            let value = Origin::Value(bytes(added));
            let origins = vec![Origin::Column(1), Origin::Column(0), value];
            let older = OlderLayout::new(&old_types, origins, &present).unwrap();
            let mut whole = Vec::new();
            old.encode(&[Datum::Bytes(&[1; 100]), Datum::Int(5)], &mut whole).unwrap();
            let (mut row, reference) = (Vec::new(), [0xAB; super::super::REFERENCE_BYTES]);
            let mut writer = RowWriter::new(&old, &whole, false, &mut row).unwrap();
            writer.bytes().extend_from_slice(&reference);
            writer.end_column(true).unwrap();
            writer.finish().unwrap();
            let mut out = Vec::new();
            older.append(&row, &present, &mut out).unwrap();
            assert_eq!(present.outside(&out, 1), Ok(Some(&reference)));
            assert_eq!(present.decode(&out, 0), Ok(Datum::Int(5)));
            assert_eq!(present.decode(&out, 2), Ok(bytes(added).datum()));
            assert!(present.decode(&out, 1).is_err());
        }
    }

    #[test]
    fn layouts_that_contradict_each_other_are_refused() {
        let present = RowLayout::new(&[int()]);
        for origins in [vec![], vec![Origin::Column(1)], vec![Origin::Column(0); 2]] {
            assert!(OlderLayout::new(&[text()], origins, &present).is_err());
        }
        assert!(OlderLayout::new(&[text()], vec![Origin::Column(0)], &present).is_err());
    }
}
