//! Some columns of a row as a row of a narrower layout, without looking at the values.
//!
//! 1. Both layouts number the columns alike; a column that is not wanted is NULL in the narrow row. 2. Only
//!    plain rows are taken over this way: narrow offsets, no value outside.

use super::{NOT_NULL, Place, RowLayout, VARIABLE, end_offset};

/// How wanted columns go over from one layout's rows into another's.
#[derive(Clone, Debug)]
pub struct Projection {
    columns: Vec<(Place, Place)>,
    /// Null bits, fixed columns and end offsets of a row without wanted columns.
    empty: Vec<u8>,
    ends_from: usize,
    bytes_min_from: usize,
    ends_to: usize,
}

fn set_null(place: &Place, row: &mut [u8]) {
    if place.null_bit != NOT_NULL {
        row[(place.null_bit / 8) as usize] |= 1 << (place.null_bit % 8);
    }
}

impl Projection {
    /// From `from` to `to`, which has the wanted columns with the same types and fixed columns that may be
    /// NULL for the others. `wanted` is ascending.
    #[must_use]
    pub fn new(from: &RowLayout, to: &RowLayout, wanted: &[usize]) -> Projection {
        let mut empty = vec![0; to.bytes_min()];
        for (column, place) in to.places.iter().enumerate() {
            if !wanted.contains(&column) {
                set_null(place, &mut empty);
            }
        }
        let pair = |column: &usize| Some((*from.places.get(*column)?, *to.places.get(*column)?));
        Projection {
            columns: wanted.iter().filter_map(pair).collect(),
            empty,
            ends_from: from.ends_at,
            bytes_min_from: from.bytes_min(),
            ends_to: to.ends_at,
        }
    }

    /// Appends the narrow row of a row; `false`: it is none that can be taken over this way, and nothing was
    /// appended.
    #[must_use]
    pub fn append(&self, row: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.extend_from_slice(&self.empty);
        let done =
            self.columns.iter().all(|(from, to)| self.one(from, to, row, start, out).is_some());
        if !done {
            out.truncate(start);
        }
        done
    }

    #[inline]
    fn one(
        &self,
        from: &Place,
        to: &Place,
        row: &[u8],
        start: usize,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let null = from.null_bit != NOT_NULL
            && row.get((from.null_bit / 8) as usize)? & 1 << (from.null_bit % 8) != 0;
        if null {
            set_null(to, &mut out[start..]);
        } else if from.width != VARIABLE {
            let (at, width) = (from.at as usize, from.width as usize);
            let to = start + to.at as usize;
            out.get_mut(to..to + width)?.copy_from_slice(row.get(at..at + width)?);
        }
        if from.width == VARIABLE {
            if !null {
                let at = self.ends_from + 2 * from.at as usize;
                let begin = match from.at {
                    0 => self.bytes_min_from,
                    _ => end_offset(row, at - 2)?,
                };
                let end = end_offset(row, at)?;
                if begin < self.bytes_min_from {
                    return None;
                }
                out.extend_from_slice(row.get(begin..end)?);
            }
            let end = u16::try_from(out.len() - start).ok()?;
            if usize::from(end) > super::NARROW_BYTES_MAX {
                return None;
            }
            let at = start + self.ends_to + 2 * to.at as usize;
            out.get_mut(at..at + 2)?.copy_from_slice(&end.to_le_bytes());
        }
        Some(())
    }
}
