//! Rows of an index range, in order.
//!
//! 1. The cursor copies leaf by leaf; a copied row whose writer may have gone on writing after the
//!    scan began is copied again by its key (see `version`).
//! 2. A secondary entry counts only when the visible version of its row has the same key.

use crate::engine::Engine;
use crate::row::{HEADER_BYTES, row_bytes};
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
    bound: Vec<u8>,
}

/// Rows of an index range; made by [`crate::Client::scan`].
pub struct Scan<'a> {
    engine: &'a Engine,
    me: TrxId,
    table: &'a Table,
    index: usize,
    horizon: Lsn,
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
        let (low_end, high_end) = (&mut b.key, &mut b.bound);
        // An empty prefix begins every key; above the last prefix there is nothing.
        let low = match low {
            Bound::Excluded(p) => match above(p, low_end) {
                true => Bound::Included(&low_end[..]),
                false => {
                    low_end.clear();
                    high_end.clear();
                    b.cursor.open(Bound::Unbounded, Bound::Excluded(&[]));
                    return Ok(Scan { engine, me, table, index, horizon: Lsn::ZERO, b });
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
        Ok(Scan { engine, me, table, index, horizon, b })
    }

    /// The next row (in [`value::RowLayout`] form), or `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "the row borrows the scan")]
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        let found = if self.index == 0 { self.next_clustered()? } else { self.next_secondary()? };
        if !found {
            return Ok(None);
        }
        instrument::count(Counter::InnodbRowsRead, 1);
        Ok(Some(&self.b.payload[HEADER_BYTES..]))
    }

    /// The clustered key of the row that [`Self::next`] returned last.
    pub fn key(&self) -> &[u8] {
        &self.b.key
    }

    fn next_clustered(&mut self) -> Result<bool> {
        let b = &mut *self.b;
        while let Some((key, payload)) = b.cursor.next(&self.table.clustered)? {
            b.key.clear();
            b.key.extend_from_slice(key);
            b.payload.clear();
            b.payload.extend_from_slice(payload);
            let (payload, undo) = (&mut b.payload, &mut b.undo);
            if self.engine.settle_copy(self.me, self.table, &b.key, self.horizon, payload, undo)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn next_secondary(&mut self) -> Result<bool> {
        let b = &mut *self.b;
        let s = &self.table.secondaries[self.index - 1];
        while let Some((entry, payload)) = b.cursor.next(&s.tree)? {
            let (parts, key) = split_entry(entry, payload)?;
            b.key.clear();
            b.key.extend_from_slice(key);
            let found =
                self.engine.read_visible(self.me, self.table, key, &mut b.payload, &mut b.undo)?;
            if !found {
                continue;
            }
            s.prefix(self.table.layout(), row_bytes(&b.payload), &mut b.prefix)?;
            if b.prefix == parts {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
