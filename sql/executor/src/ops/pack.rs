//! Rows of several leaves as one byte string, with the needed columns only.
//!
//! 1. Before rows are unpacked, [`Packer::begin`] gives the leaves the packed layouts; the operators that
//!    fill the leaves otherwise give them theirs when they are opened. 2. A packed leaf's layout has the
//!    columns of the full one at the same positions; one that is not needed is NULL there. 3. A leaf that is
//!    keyed has its key behind its row.

use crate::SqlError;
use expr::{Frame, damaged};
use planner::query_plan::LeafDef;
use std::sync::Arc;
use value::row::Projection;
use value::{ColumnType, Datum, Kind, RowLayout};

/// The length of a leaf that is the null row of an outer join.
const NULL_ROW: u32 = u32::MAX;

struct Packed {
    leaf: usize,
    full: Arc<RowLayout>,
    /// `None`: all of the row is kept.
    narrow: Option<Narrow>,
    keyed: bool,
}

/// The layout with the needed columns only.
struct Narrow {
    layout: Arc<RowLayout>,
    needed: Vec<usize>,
    projection: Projection,
}

/// Packs the rows of some leaves.
pub struct Packer {
    leaves: Vec<Packed>,
}

impl Packer {
    /// For these leaves of a block, whose layouts the frame has before anything runs.
    pub fn new(leaves: &[u16], defs: &[LeafDef], frame: &Frame) -> Packer {
        let leaves = leaves.iter().map(|leaf| {
            let leaf = usize::from(*leaf);
            let full = Arc::clone(&frame.leaves[leaf].layout);
            let narrow = Narrow::of(&full, &defs[leaf].needed);
            Packed { leaf, full, narrow, keyed: defs[leaf].keyed }
        });
        Packer { leaves: leaves.collect() }
    }

    /// Appends the present rows of the leaves to `out`.
    ///
    /// # Errors
    /// A damaged row.
    pub fn pack(&self, frame: &Frame, out: &mut Vec<u8>) -> Result<(), SqlError> {
        for packed in &self.leaves {
            let row = &frame.leaves[packed.leaf];
            if row.null {
                out.extend_from_slice(&NULL_ROW.to_le_bytes());
                continue;
            }
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            match &packed.narrow {
                Some(narrow) if Arc::ptr_eq(&row.layout, &packed.full) => {
                    if !narrow.projection.append(&row.bytes, out) {
                        narrow.encode(&row.layout, &row.bytes, out)?;
                    }
                }
                _ => out.extend_from_slice(&row.bytes),
            }
            end_length(start, out);
            if packed.keyed {
                out.extend_from_slice(&(row.key.len() as u32).to_le_bytes());
                out.extend_from_slice(&row.key);
            }
        }
        Ok(())
    }

    /// The only leaf, if its rows are packed without their keys: its number, and how they lie before and in packed rows.
    pub fn stored_leaf(&self) -> Option<(u16, &Arc<RowLayout>, &Arc<RowLayout>)> {
        match &self.leaves[..] {
            [Packed { leaf, full, narrow, keyed: false }] => {
                let packed = narrow.as_ref().map_or(full, |narrow| &narrow.layout);
                Some((*leaf as u16, full, packed))
            }
            _ => None,
        }
    }

    /// As [`Packer::pack`], of a row of the only leaf as it is stored.
    ///
    /// # Errors
    /// A damaged row.
    pub fn pack_stored(&self, row: &[u8], out: &mut Vec<u8>) -> Result<(), SqlError> {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        for Packed { full, narrow, .. } in &self.leaves {
            match narrow {
                Some(narrow) if !narrow.projection.append(row, out) => {
                    narrow.encode(full, row, out)?;
                }
                Some(_) => {}
                None => out.extend_from_slice(row),
            }
        }
        end_length(start, out);
        Ok(())
    }

    /// The row of the only leaf in a packed row.
    ///
    /// # Errors
    /// The bytes are no packed row.
    pub fn stored_row(mut bytes: &[u8]) -> Result<&[u8], SqlError> {
        let length = take_length(&mut bytes)?;
        bytes.get(..length as usize).ok_or_else(|| super::internal(BAD))
    }

    /// Gives the leaves the layout of packed rows.
    pub fn begin(&self, frame: &mut Frame) {
        for packed in &self.leaves {
            let layout = packed.narrow.as_ref().map_or(&packed.full, |narrow| &narrow.layout);
            frame.leaves[packed.leaf].layout = Arc::clone(layout);
        }
    }

    /// Fills the leaves of a packed row.
    ///
    /// # Errors
    /// The bytes are no packed row.
    pub fn unpack(&self, mut bytes: &[u8], frame: &mut Frame) -> Result<(), SqlError> {
        for packed in &self.leaves {
            let row = &mut frame.leaves[packed.leaf];
            let length = take_length(&mut bytes)?;
            row.null = length == NULL_ROW;
            if row.null {
                continue;
            }
            take_bytes(&mut bytes, length, &mut row.bytes)?;
            if packed.keyed {
                let length = take_length(&mut bytes)?;
                take_bytes(&mut bytes, length, &mut row.key)?;
            }
        }
        Ok(())
    }

    /// Makes the leaves null rows.
    pub fn make_null(&self, frame: &mut Frame) {
        self.leaves.iter().for_each(|packed| frame.leaves[packed.leaf].null = true);
    }
}

/// The bytes behind the length that begins at `start` are there.
fn end_length(start: usize, out: &mut [u8]) {
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn take_length(bytes: &mut &[u8]) -> Result<u32, SqlError> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(|| super::internal(BAD))?;
    *bytes = rest;
    Ok(u32::from_le_bytes(*length))
}

fn take_bytes(bytes: &mut &[u8], length: u32, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let taken = bytes.split_at_checked(length as usize).ok_or_else(|| super::internal(BAD))?;
    out.clear();
    out.extend_from_slice(taken.0);
    *bytes = taken.1;
    Ok(())
}

const BAD: &str = "a kept row is shorter than its leaves";

impl Narrow {
    /// `None` if nothing is won.
    fn of(full: &RowLayout, needed: &[usize]) -> Option<Narrow> {
        if needed.len() * 4 > full.columns() * 3 {
            return None;
        }
        let nothing = ColumnType::int(Kind::TinyInt, false);
        let mut types = vec![nothing; full.columns()];
        for column in needed {
            types[*column] = *full.column_type(*column)?;
        }
        let layout = RowLayout::new(&types);
        let projection = Projection::new(full, &layout, needed);
        Some(Narrow { layout: Arc::new(layout), needed: needed.to_vec(), projection })
    }

    /// Appends the narrow row of one that is very long.
    #[cold]
    fn encode(&self, full: &RowLayout, row: &[u8], out: &mut Vec<u8>) -> Result<(), SqlError> {
        let mut values = vec![Datum::Null; self.layout.columns()];
        for column in &self.needed {
            values[*column] = full.decode(row, *column).map_err(damaged)?;
        }
        self.layout.encode(&values, out).map_err(damaged)
    }
}
