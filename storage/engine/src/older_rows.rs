//! Rows that were written before columns came or went: which layout they have, and what they are under the present one.
//!
//! 1. A row's header names the layout that its bytes have by its version: 0 for the first one of the table's storage, the
//!    last one for the present. Whoever reads bytes of a payload asks for them here, unless [`RowHeader::seen`] has said
//!    that they are of the present layout. Guard: layouts of one table in turn in `campaign` and `one_runner`.
//! 2. Undo keeps payloads with their headers, so a version that comes back has the layout that it was written with;
//!    what changes a header alone leaves the version in it. Guard: as 1.
//! 3. A row is written under the present layout only. Who purges or rolls back in the background with a handle of before
//!    would not know it: so the new handle comes when no step is under way ([`crate::Engine::open_relaid`]). Guard: the error of
//!    [`Table::layout_of`].

use crate::row::{RowHeader, row_bytes};
use crate::table::{Table, bad_row};
use base::{Error, Result};
use std::borrow::Cow;
use value::RowLayout;
use value::row::OlderLayout;

impl Table {
    /// The layout that the rows of version `version` have; `None`: the present one.
    fn older(&self, version: u8) -> Result<Option<&OlderLayout>> {
        if version == self.version() {
            return Ok(None);
        }
        let older = self.older.get(usize::from(version));
        older.map(Some).ok_or(Error::Internal("a row of a layout that its table does not know"))
    }

    /// The layout of the row bytes behind this header.
    pub(crate) fn layout_of(&self, header: &RowHeader) -> Result<&RowLayout> {
        Ok(self.older(header.version)?.map_or(self.layout(), OlderLayout::layout))
    }

    /// The row of a payload under the present layout; values outside of it stay there.
    pub(crate) fn row_of<'p>(&self, payload: &'p [u8]) -> Result<Cow<'p, [u8]>> {
        let mut made = Vec::new();
        Ok(match self.present_row(payload, &mut made)? {
            Some(row) => Cow::Borrowed(row),
            None => Cow::Owned(made),
        })
    }

    /// As [`Self::row_of`], into `out` (cleared first).
    pub(crate) fn put_row(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        if let Some(row) = self.present_row(payload, out)? {
            out.extend_from_slice(row);
        }
        Ok(())
    }

    /// The row of a payload, if it has the present layout; else it is appended to `made` as it is under that.
    fn present_row<'p>(&self, payload: &'p [u8], made: &mut Vec<u8>) -> Result<Option<&'p [u8]>> {
        let row = row_bytes(payload);
        let Some(older) = self.older(RowHeader::read(payload)?.version)? else {
            return Ok(Some(row));
        };
        made.reserve(row.len() + 64);
        older.append(row, self.layout(), made).map_err(bad_row)?;
        Ok(None)
    }
}
