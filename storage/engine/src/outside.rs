//! Rows whose values do not all fit their page: what moves out, and how a row is made whole again.
//!
//! 1. A row of at most [`IN_PAGE_BYTES_MAX`] bytes is stored as it comes. From a longer one the
//!    longest variable columns move out until it fits; values of up to 20 bytes never do, since a
//!    reference takes as many. Guard: `rows_of_every_length_come_back`, `a_row_that_fits_keeps_its_bytes_in_the_page`.
//! 2. The header's flag says whether a stored row has values outside; no flag, no care. Guard: the assert of
//!    [`Writer::move_out`]; CHECK TABLE compares.
//! 3. Rows handed up are complete, or their columns that were not asked for cannot be decoded. Rows
//!    taken from above may hold references only in columns that they had in the row being updated. Guard: the error of
//!    [`same_reference`].
//! 4. Keys are made of the values, never of references: a part whose value lies outside is fetched,
//!    no more of it than the part may need. Guard: CHECK TABLE compares entries and rows.

use crate::blob::{Fetched, Reference, Run};
use crate::engine::Engine;
use crate::row::{HEADER_BYTES, RowHeader, row_bytes};
use crate::table::{Secondary, Table, bad_row};
use crate::version::Eyes;
use crate::writer::Writer;
use base::{Error, Result};
use btree::ENTRY_BYTES_MAX;
use value::RowLayout;
use value::row::{NARROW_BYTES_MAX, REFERENCE_BYTES, RowWriter};

/// Longest row that is stored whole, in bytes without the row header.
pub(crate) const IN_PAGE_BYTES_MAX: usize = 8100;

/// Which columns a reader wants.
#[derive(Clone, Copy)]
pub(crate) enum Need<'a> {
    All,
    /// These, and those of the clustered key; the others may stay outside.
    Columns(&'a [usize]),
}

impl Need<'_> {
    fn has(self, table: &Table, column: usize) -> bool {
        match self {
            Need::All => true,
            Need::Columns(columns) => {
                columns.contains(&column) || table.clustered_columns().any(|c| c == column)
            }
        }
    }
}

/// The references that the row of a payload holds, in the order of its own columns.
pub(crate) fn references(table: &Table, payload: &[u8]) -> Result<Vec<Reference>> {
    let layout = table.layout_of(&RowHeader::read(payload)?)?;
    references_in(layout, row_bytes(payload))
}

fn references_in(layout: &RowLayout, row: &[u8]) -> Result<Vec<Reference>> {
    let mut found = Vec::new();
    for column in layout.variable_columns() {
        if let Some(r) = layout.outside(row, column).map_err(bad_row)? {
            found.push(Reference::decode(r));
        }
    }
    Ok(found)
}

/// Marks the references in `old`, a payload on its way to undo, that `new` (a stored row) has, too.
pub(crate) fn mark_shared(table: &Table, old: &mut [u8], new: &[u8]) -> Result<()> {
    let h = RowHeader::read(old)?;
    if !h.outside() {
        return Ok(());
    }
    let kept: Vec<Run> = references_in(table.layout(), new)?.iter().map(|r| r.run).collect();
    let layout = table.layout_of(&h)?;
    let row = old.get_mut(HEADER_BYTES..).unwrap_or_default();
    for column in layout.variable_columns() {
        let (at, outside) = layout.held_at(row, column).map_err(bad_row)?;
        let Some(bytes) = row[at].first_chunk_mut().filter(|_| outside) else { continue };
        let mut reference = Reference::decode(bytes);
        reference.shared = kept.contains(&reference.run);
        *bytes = reference.encode();
    }
    Ok(())
}

impl Table {
    /// Longest row that is stored whole beside a key of so many bytes.
    pub(crate) fn in_page_max(key_bytes: usize) -> usize {
        IN_PAGE_BYTES_MAX.min(ENTRY_BYTES_MAX.saturating_sub(key_bytes + HEADER_BYTES))
    }

    /// Whether a row from above is stored as it is.
    #[inline]
    pub(crate) fn is_plain(&self, key: &[u8], row: &[u8]) -> bool {
        row.len() <= Table::in_page_max(key.len()) && !self.layout().is_wide(row)
    }
}

impl Writer<'_> {
    /// Puts the form in which `row` is stored into `out` (cleared first), and its long values into
    /// runs; values that `old`, the stored row being updated, has outside already keep their runs.
    /// Whether there are values outside.
    pub fn move_out(
        &mut self,
        table: &Table,
        key: &[u8],
        row: &[u8],
        old: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let layout = table.layout();
        let moved = choose(layout, row, Table::in_page_max(key.len()))?;
        out.clear();
        let mut any = false;
        let mut writer = RowWriter::new(layout, row, false, out).map_err(bad_row)?;
        for column in layout.variable_columns() {
            let (bytes, outside) = layout.held(row, column).map_err(bad_row)?;
            let before = match old {
                Some(old) => layout.outside(old, column).map_err(bad_row)?.map(Reference::decode),
                None => None,
            };
            let reference = match (outside, moved.contains(&column)) {
                (true, _) => Some(same_reference(bytes, before)?),
                (false, true) => Some(self.put_outside(table, bytes, before)?),
                (false, false) => None,
            };
            match reference {
                Some(r) => writer.bytes().extend_from_slice(&r.encode()),
                None => writer.bytes().extend_from_slice(bytes),
            }
            any |= reference.is_some();
            writer.end_column(reference.is_some()).map_err(bad_row)?;
        }
        writer.finish().map_err(bad_row)?;
        assert_eq!(any, layout.any_outside(out), "a row does not know that it has values outside");
        let (bytes, limit) = (key.len() + HEADER_BYTES + out.len(), ENTRY_BYTES_MAX);
        if bytes > limit { Err(Error::RowTooLarge { bytes, limit }) } else { Ok(any) }
    }

    fn put_outside(
        &mut self,
        table: &Table,
        value: &[u8],
        before: Option<Reference>,
    ) -> Result<Reference> {
        match before {
            Some(r) if self.engine.holds(table, &r, value)? => Ok(Reference { shared: false, ..r }),
            _ => self.write_run(table, value),
        }
    }
}

/// A column that came back unread: it must be what the row has there.
fn same_reference(bytes: &[u8], before: Option<Reference>) -> Result<Reference> {
    let given = bytes.first_chunk().map(Reference::decode);
    match (given, before) {
        (Some(given), Some(before)) if given.run == before.run => {
            Ok(Reference { shared: false, ..before })
        }
        _ => Err(Error::Internal("a row came back with a value of another version left out")),
    }
}

/// The columns that move out of a row so that it fits `limit` bytes: the longest ones.
fn choose(layout: &RowLayout, row: &[u8], limit: usize) -> Result<Vec<usize>> {
    let mut bytes = layout.bytes_min();
    let mut long = Vec::new();
    for column in layout.variable_columns() {
        let (held, outside) = layout.held(row, column).map_err(bad_row)?;
        bytes += held.len();
        if !outside && held.len() > REFERENCE_BYTES {
            long.push((held.len(), column));
        }
    }
    long.sort_by_key(|&(len, column)| (std::cmp::Reverse(len), column));
    let mut moved = Vec::new();
    for (len, column) in long {
        if bytes <= limit {
            break;
        }
        bytes -= len - REFERENCE_BYTES;
        moved.push(column);
    }
    Ok(moved)
}

impl Engine {
    /// Puts the row of a payload, under the present layout and with all values in it that `need` asks for, into `out`
    /// (cleared first).
    pub(crate) fn complete(
        &self,
        table: &Table,
        payload: &[u8],
        need: Need<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Fetched> {
        if !RowHeader::read(payload)?.outside() {
            return table.put_row(payload, out).map(|()| Fetched::Done);
        }
        self.complete_row(table, &table.row_of(payload)?, need, out)
    }

    /// As [`Self::complete`], of a row of the present layout that was handed up with values outside.
    pub(crate) fn complete_row(
        &self,
        table: &Table,
        row: &[u8],
        need: Need<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Fetched> {
        let limit = |column| need.has(table, column).then_some(usize::MAX);
        self.complete_limited(table, row, &limit, out)
    }

    /// Completes the row of `payload`, the visible version of the row with this key, into `out`;
    /// reads the row again when its values are gone. `false`: there is no row any more.
    ///
    /// Of a version that is visible now the values are there now, and were there all the while: so
    /// the same version with values gone is damaged.
    #[cold]
    pub(crate) fn complete_visible(
        &self,
        eyes: Eyes,
        table: &Table,
        key: &[u8],
        need: Need<'_>,
        (payload, out): (&mut Vec<u8>, &mut Vec<u8>),
        undo: &mut Vec<u8>,
    ) -> Result<bool> {
        loop {
            let gone = match self.complete(table, payload, need, out)? {
                Fetched::Done => return Ok(true),
                Fetched::Gone(e) => e,
            };
            let before = payload.clone();
            if !self.read_visible(eyes, table, key, payload, undo)?.is_there() {
                return Ok(false);
            }
            if *payload == before {
                return Err(gone);
            }
        }
    }

    /// As [`Self::complete`]; `limit` says how many bytes of a column are needed at most, `None`:
    /// not at all.
    fn complete_limited(
        &self,
        table: &Table,
        row: &[u8],
        limit: &dyn Fn(usize) -> Option<usize>,
        out: &mut Vec<u8>,
    ) -> Result<Fetched> {
        let layout = table.layout();
        out.clear();
        let wide = is_wide_when_complete(layout, row, limit)?;
        let mut writer = RowWriter::new(layout, row, wide, out).map_err(bad_row)?;
        for column in layout.variable_columns() {
            let (bytes, mut outside) = layout.held(row, column).map_err(bad_row)?;
            match (bytes.first_chunk(), limit(column)) {
                (Some(bytes), Some(limit)) if outside => {
                    let reference = Reference::decode(bytes);
                    match self.fetch(table, &reference, limit, writer.bytes())? {
                        Fetched::Done => outside = false,
                        gone => return Ok(gone),
                    }
                }
                _ => writer.bytes().extend_from_slice(bytes),
            }
            writer.end_column(outside).map_err(bad_row)?;
        }
        writer.finish().map_err(bad_row)?;
        Ok(Fetched::Done)
    }

    /// Puts the encoded parts of a row of any form into `out` (cleared first).
    pub(crate) fn entry_prefix(
        &self,
        table: &Table,
        s: &Secondary,
        row: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Fetched> {
        out.clear();
        if s.key.encode_from_row(table.layout(), row, out).is_ok() {
            return Ok(Fetched::Done);
        }
        let limit = |column: usize| {
            let part = s.key.parts.iter().find(|p| p.column == column)?;
            let ty = table.layout().column_type(column)?;
            let per_char = ty.collation.bytes_per_char_max() as usize;
            Some(part.prefix_chars.map_or(usize::MAX, |n| (n as usize).saturating_mul(per_char)))
        };
        let mut whole = Vec::new();
        if let gone @ Fetched::Gone(_) = self.complete_limited(table, row, &limit, &mut whole)? {
            return Ok(gone);
        }
        s.prefix(table.layout(), &whole, out)?;
        Ok(Fetched::Done)
    }

    /// As [`Self::entry_prefix`], for a row whose values cannot go away meanwhile.
    pub(crate) fn sure_prefix(
        &self,
        table: &Table,
        s: &Secondary,
        row: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.entry_prefix(table, s, row, out)? {
            Fetched::Done => Ok(()),
            Fetched::Gone(e) => Err(e),
        }
    }

    /// As [`Self::complete`], for the row of a payload whose values cannot go away meanwhile;
    /// `out` replaces what it held.
    pub(crate) fn complete_own(
        &self,
        table: &Table,
        payload: &[u8],
        need: Need<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.complete(table, payload, need, out)? {
            Fetched::Done => Ok(()),
            Fetched::Gone(e) => Err(e),
        }
    }
}

/// Whether the completed row needs the wide form: values stay outside, or it is too long.
fn is_wide_when_complete(
    layout: &RowLayout,
    row: &[u8],
    limit: &dyn Fn(usize) -> Option<usize>,
) -> Result<bool> {
    let mut bytes = layout.bytes_min();
    for column in layout.variable_columns() {
        let (held, outside) = layout.held(row, column).map_err(bad_row)?;
        bytes += match (held.first_chunk(), limit(column)) {
            (Some(_), None) if outside => return Ok(true),
            (Some(held), Some(limit)) if outside => {
                limit.min(Reference::decode(held).bytes as usize)
            }
            _ => held.len(),
        };
    }
    Ok(bytes > NARROW_BYTES_MAX)
}
