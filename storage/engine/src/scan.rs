//! Rows of an index range, in order.
//!
//! 1. The cursor copies leaf by leaf; a copied row whose writer may have gone on writing after the
//!    scan began is copied again by its key (see `version`).
//! 2. A secondary entry counts only when the visible version of its row has the same key.

use crate::blob::Fetched;
use crate::engine::Engine;
use crate::outside::Need;
use crate::row::{HEADER_BYTES, Seen, row_bytes};
use crate::table::{Table, split_entry};
use base::{Error, Lsn, Result, TrxId};
use btree::Cursor;
use instrument::Counter;
use std::ops::Bound;

/// Reusable memory of scans.
#[derive(Default)]
pub(crate) struct ScanBuffers {
    cursor: Cursor,
    key: Vec<u8>,
    payload: Vec<u8>,
    undo: Vec<u8>,
    prefix: Vec<u8>,
    other: Vec<u8>,
    bound: Vec<u8>,
    /// A row whose values outside were fetched.
    complete: Vec<u8>,
    need: Vec<usize>,
}

/// Memory of a fetched row above this is not kept for the next scan, in bytes.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Rows of an index range; made by [`crate::Client::scan`].
pub struct Scan<'a> {
    engine: &'a Engine,
    me: TrxId,
    table: &'a Table,
    index: usize,
    horizon: Lsn,
    /// Only the columns in `b.need` are fetched.
    limited: bool,
    b: &'a mut ScanBuffers,
}

/// Makes `prefix` the smallest key above all that begin with it; `false`: there is none.
fn above(prefix: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    out.extend_from_slice(prefix);
    value::key::successor(out)
}

impl<'a> Scan<'a> {
    pub(crate) fn open(
        engine: &'a Engine,
        me: TrxId,
        table: &'a Table,
        index: usize,
        (low, high): (Bound<&[u8]>, Bound<&[u8]>),
        b: &'a mut ScanBuffers,
    ) -> Result<Scan<'a>> {
        if table.tree(index).is_none() {
            return Err(Error::Internal("no such index"));
        }
        if b.complete.capacity() > KEPT_BYTES_MAX {
            b.complete = Vec::new();
        }
        let limited = false;
        let (low_end, high_end) = (&mut b.key, &mut b.bound);
        // An empty prefix begins every key; above the last prefix there is nothing.
        let low = match low {
            Bound::Excluded(p) => match above(p, low_end) {
                true => Bound::Included(&low_end[..]),
                false => {
                    low_end.clear();
                    high_end.clear();
                    b.cursor.open(Bound::Unbounded, Bound::Excluded(&[]));
                    return Ok(Scan { engine, me, table, index, horizon: Lsn::ZERO, limited, b });
                }
            },
            low => low,
        };
        let high = match high {
            Bound::Included(p) => match above(p, high_end) {
                true => Bound::Excluded(&high_end[..]),
                false => Bound::Unbounded,
            },
            high => high,
        };
        b.cursor.open(low, high);
        let horizon = engine.log().tail();
        Ok(Scan { engine, me, table, index, horizon, limited, b })
    }

    /// Says that only these columns (and the clustered key) will be decoded: values of the others
    /// that lie outside of their row are not fetched, and cannot be decoded.
    pub fn need(&mut self, columns: &[usize]) {
        self.limited = true;
        self.b.need.clear();
        self.b.need.extend_from_slice(columns);
    }

    /// The next row (in [`value::RowLayout`] form), or `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "the row borrows the scan")]
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        loop {
            let clustered = self.index == 0;
            let seen = if clustered { self.next_clustered()? } else { self.next_secondary()? };
            if !seen.is_there() {
                return Ok(None);
            }
            if seen.is_plain() {
                instrument::count(Counter::InnodbRowsRead, 1);
                return Ok(Some(&self.b.payload[HEADER_BYTES..]));
            }
            if self.complete()? {
                instrument::count(Counter::InnodbRowsRead, 1);
                return Ok(Some(&self.b.complete));
            }
        }
    }

    /// Fetches what lies outside of the row in the payload. `false`: the row is gone.
    #[cold]
    fn complete(&mut self) -> Result<bool> {
        let b = &mut *self.b;
        let need = if self.limited { Need::Columns(&b.need) } else { Need::All };
        let (payload, out) = (&mut b.payload, &mut b.complete);
        let found = self.engine.complete_visible(
            self.me,
            self.table,
            &b.key,
            need,
            (payload, out),
            &mut b.undo,
        )?;
        if !found || self.index == 0 {
            return Ok(found);
        }
        // The row may have been read again: then it must still belong to the entry.
        let s = &self.table.secondaries[self.index - 1];
        match self.engine.entry_prefix(self.table, s, row_bytes(&b.payload), &mut b.other)? {
            Fetched::Done => Ok(b.other == b.prefix),
            // Changed again since: its values were there when they were fetched.
            Fetched::Gone(_) => Ok(true),
        }
    }

    /// The clustered key of the row that [`Self::next`] returned last.
    pub fn key(&self) -> &[u8] {
        &self.b.key
    }

    fn next_clustered(&mut self) -> Result<Seen> {
        let b = &mut *self.b;
        while let Some((key, payload)) = b.cursor.next(&self.table.clustered)? {
            b.key.clear();
            b.key.extend_from_slice(key);
            b.payload.clear();
            b.payload.extend_from_slice(payload);
            let (payload, undo) = (&mut b.payload, &mut b.undo);
            let seen = self.engine.settle_copy(
                self.me,
                self.table,
                &b.key,
                self.horizon,
                payload,
                undo,
            )?;
            if seen.is_there() {
                return Ok(seen);
            }
        }
        Ok(Seen::NOTHING)
    }

    fn next_secondary(&mut self) -> Result<Seen> {
        let b = &mut *self.b;
        let s = &self.table.secondaries[self.index - 1];
        while let Some((entry, payload)) = b.cursor.next(&s.tree)? {
            let (parts, key) = split_entry(entry, payload)?;
            b.key.clear();
            b.key.extend_from_slice(key);
            let mut before = None;
            loop {
                let seen = self.engine.read_visible(
                    self.me,
                    self.table,
                    key,
                    &mut b.payload,
                    &mut b.undo,
                )?;
                if !seen.is_there() {
                    break;
                }
                let row = row_bytes(&b.payload);
                match self.engine.entry_prefix(self.table, s, row, &mut b.prefix)? {
                    Fetched::Done if b.prefix == parts => return Ok(seen),
                    Fetched::Done => break,
                    Fetched::Gone(e) if before.as_ref() == Some(&b.payload) => return Err(e),
                    Fetched::Gone(_) => before = Some(b.payload.clone()),
                }
            }
        }
        Ok(Seen::NOTHING)
    }
}
