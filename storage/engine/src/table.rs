//! A table that is open: its layout, its indexes and its counters.
//!
//! 1. A clustered entry's payload is a row header and the row bytes; its key is the encoded
//!    clustered key, or the hidden row id, six bytes big-endian. Guard: CHECK TABLE (a row lies under another key).
//! 2. A secondary entry's key is the encoded parts followed by the clustered key; its payload says
//!    how long the latter is, and whether it has a delete mark. For every version of a row that
//!    somebody may see or roll back to there is an entry; there may be more. Guard: the error of [`split_entry`]; CHECK
//!    TABLE (rows and entries without each other).
//! 3. An entry without a mark is one that the row's newest version has, for everyone who comes after
//!    that version's writer has ended (`entry`): between a row's change and its entries' the row
//!    decides. A leaf's `max_trx_id` is the highest of those that made, marked or unmarked an entry
//!    of it. Guard: CHECK TABLE (marks that are not the rows', transactions still to come).
//!
//! Nothing here changes but the AUTO_INCREMENT counter: DDL opens another `Table`.

use crate::autoinc::{Autoinc, Counter};
use crate::row::RowHeader;
use crate::{IndexSpec, TableSpec, TableStorage};
use base::{Error, IndexId, PageNo, Result, TableId, TrxId};
use btree::{Cursor, Tree};
use pool::Tablespace;
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::{Arc, Weak};
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;
use value::row::{EntryRows, OlderLayout};
use value::{KeySpec, RowLayout};

/// A table with no more rows is counted to choose what is locked.
const FEW_ROWS: u64 = 400;

instrument::classes! {
    static UNIQUE_GATE: MutexClass = "wait/synch/mutex/limpid/unique_gate", across_io;
}

/// The most layouts that a table can have had before the present one: a row names its own by one byte.
pub const OLDER_LAYOUTS_MAX: usize = 255;

/// Payload of a secondary entry: flags, length of the clustered key.
pub(crate) const SECONDARY_PAYLOAD_BYTES: usize = 3;

/// Flag of a secondary entry: the row's newest version has another key, or a delete mark.
pub(crate) const MARKED: u8 = 1;

/// An open table.
pub struct Table {
    me: Weak<Table>,
    spec: TableSpec,
    layout: RowLayout,
    /// Of rows that were written before (`older_rows`).
    pub(crate) older: Vec<OlderLayout>,
    pub(crate) ts: Arc<Tablespace>,
    pub(crate) clustered: Tree,
    /// `None`: hidden row id.
    clustered_key: Option<KeySpec>,
    pub(crate) secondaries: Vec<Secondary>,
    /// How rows come back from the entries of each secondary index.
    pub(crate) entry_rows: Vec<EntryRows>,
    pub(crate) autoinc: Option<Autoinc>,
    /// Who made each index since the start, the clustered one first, as long as it may matter to a view.
    makers: Vec<TrxId>,
    /// The latest of them.
    made_last: TrxId,
}

/// An open secondary index.
pub(crate) struct Secondary {
    pub spec: IndexSpec,
    pub key: KeySpec,
    pub tree: Tree,
    /// Orders inserts of one unique key whose neighbours lie in more than one leaf.
    pub gate: Mutex<()>,
    /// Rows that are inserted and wait for a lock here, less those that are deleted and do.
    /// (As [`i32`].)
    halfway: SharedAtomic<u32, { class::ROW_LOCK }>,
}

/// A row that is halfway in, or out, while its writer waits for a lock.
pub(crate) struct Halfway<'s>(&'s Secondary, i32);

impl Drop for Halfway<'_> {
    fn drop(&mut self) {
        self.0.halfway.fetch_sub(self.1.cast_unsigned(), Ordering::Relaxed);
    }
}

impl Secondary {
    pub fn new(spec: &IndexSpec, ts: &Arc<Tablespace>, root: PageNo) -> Secondary {
        Secondary {
            spec: spec.clone(),
            key: KeySpec::new(spec.parts.clone()),
            tree: Tree::new(Arc::clone(ts), root, spec.id),
            gate: Mutex::new(&UNIQUE_GATE, ()),
            halfway: SharedAtomic::new(0),
        }
    }

    /// A row that is inserted (1) or deleted (-1) is halfway, until this is dropped: its entry here has to wait.
    pub fn halfway(&self, rows: i32) -> Halfway<'_> {
        self.halfway.fetch_add(rows.cast_unsigned(), Ordering::Relaxed);
        Halfway(self, rows)
    }

    /// Puts the encoded parts of a row into `out` (cleared first).
    pub fn prefix(&self, layout: &RowLayout, row: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        self.key.encode_from_row(layout, row, out).map_err(bad_row)
    }

    /// Whether a part of the row's key is NULL: then it is no duplicate of anything.
    pub fn has_null(&self, layout: &RowLayout, row: &[u8]) -> Result<bool> {
        for part in &self.key.parts {
            if layout.is_null(row, part.column).map_err(bad_row)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A row or key that contradicts its table's layout: the caller's mistake.
pub(crate) fn bad_row<E: std::fmt::Display>(_: E) -> Error {
    Error::Internal("a row's bytes contradict its table's layout")
}

/// The payload of a secondary entry.
pub(crate) fn secondary_payload(clustered_key: &[u8]) -> [u8; SECONDARY_PAYLOAD_BYTES] {
    let n = (clustered_key.len() as u16).to_le_bytes();
    [0, n[0], n[1]]
}

/// Whether a secondary entry has a delete mark.
#[inline]
pub(crate) fn is_marked(payload: &[u8]) -> bool {
    payload.first().is_some_and(|flags| flags & MARKED != 0)
}

/// Splits a secondary entry's key into its parts and the clustered key.
pub(crate) fn split_entry<'k>(key: &'k [u8], payload: &[u8]) -> Result<(&'k [u8], &'k [u8])> {
    if let Some(&[0 | MARKED, a, b]) = payload.first_chunk::<SECONDARY_PAYLOAD_BYTES>()
        && let Some(at) = key.len().checked_sub(usize::from(u16::from_le_bytes([a, b])))
    {
        return Ok(key.split_at(at));
    }
    Err(Error::Internal("a secondary entry's payload contradicts its key"))
}

impl Table {
    /// Puts the parts together. `counter` is that of the tablespace.
    pub(crate) fn new(
        spec: &TableSpec,
        storage: &TableStorage,
        ts: &Arc<Tablespace>,
        counter: &Arc<Counter>,
        makers: &HashMap<IndexId, TrxId>,
    ) -> Result<Arc<Table>> {
        let root_of = |id: IndexId| {
            let root = storage.roots.iter().find(|(i, _)| *i == id);
            root.map(|(_, no)| *no).ok_or(Error::Internal("an index without a root page"))
        };
        let autoinc = match spec.autoinc_column {
            Some(column) => {
                let ty = spec.columns.get(column).ok_or(Error::Internal("no such column"))?;
                Some(Autoinc::new(ty, Arc::clone(counter)))
            }
            None => None,
        };
        let secondary = |s: &IndexSpec| Ok(Secondary::new(s, ts, root_of(s.id)?));
        let secondaries = spec.secondaries.iter().map(secondary).collect::<Result<_>>()?;
        let root = root_of(spec.clustered_id)?;
        let ids = std::iter::once(spec.clustered_id).chain(spec.secondaries.iter().map(|s| s.id));
        let makers = ids.map(|id| makers.get(&id).copied().unwrap_or(TrxId::NONE));
        let makers: Vec<TrxId> = makers.collect();
        let layout = RowLayout::new(&spec.columns);
        if spec.older.len() > OLDER_LAYOUTS_MAX {
            return Err(Error::Internal("a table with more layouts than rows can name"));
        }
        let older = spec
            .older
            .iter()
            .map(|o| OlderLayout::new(&o.columns, o.origins.clone(), &layout).map_err(bad_row));
        let older = older.collect::<Result<_>>()?;
        let clustered_key =
            (!spec.clustered.is_empty()).then(|| KeySpec::new(spec.clustered.clone()));
        let entry_rows = spec.secondaries.iter().map(|s| {
            EntryRows::new(&layout, &KeySpec::new(s.parts.clone()), clustered_key.as_ref())
        });
        let entry_rows = entry_rows.collect();
        Ok(Arc::new_cyclic(|me| Table {
            me: me.clone(),
            layout,
            older,
            ts: Arc::clone(ts),
            clustered: Tree::new(Arc::clone(ts), root, spec.clustered_id),
            clustered_key,
            secondaries,
            entry_rows,
            autoinc,
            made_last: makers.iter().copied().max().unwrap_or(TrxId::NONE),
            makers,
            spec: spec.clone(),
        }))
    }

    /// Another handle of the same table.
    pub(crate) fn handle(&self) -> Result<Arc<Table>> {
        self.me.upgrade().ok_or(Error::Internal("a table is used while it is dropped"))
    }

    /// Who made index `index` (0: the clustered one), if that may matter to a view that knows not all
    /// below `known`.
    #[inline]
    pub(crate) fn maker(&self, index: usize, known: TrxId) -> Option<TrxId> {
        if self.made_last < known {
            return None;
        }
        self.makers.get(index).copied().filter(|maker| *maker >= known)
    }

    /// See [`TableSpec::private`].
    #[inline]
    pub(crate) fn is_private(&self) -> bool {
        self.spec.private
    }

    /// Its id.
    pub fn id(&self) -> TableId {
        self.spec.id
    }

    /// What it was opened with.
    pub fn spec(&self) -> &TableSpec {
        &self.spec
    }

    /// Where it lies.
    pub fn storage(&self) -> TableStorage {
        let mut roots = vec![(self.spec.clustered_id, self.clustered.root)];
        roots.extend(self.secondaries.iter().map(|s| (s.spec.id, s.tree.root)));
        TableStorage { space: self.ts.id(), roots }
    }

    /// Number of the present layout of its rows.
    #[inline]
    pub(crate) fn version(&self) -> u8 {
        self.older.len() as u8
    }

    /// The layout of its rows.
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// The key of index `index` (0: clustered, `None` for a hidden row id; then the secondaries
    /// from 1).
    pub fn key(&self, index: usize) -> Option<&KeySpec> {
        match index.checked_sub(1) {
            None => self.clustered_key.as_ref(),
            Some(i) => self.secondaries.get(i).map(|s| &s.key),
        }
    }

    /// Number of indexes, the clustered one included.
    pub fn indexes(&self) -> usize {
        1 + self.secondaries.len()
    }

    /// The description of secondary index `index` (from 1).
    pub fn index_spec(&self, index: usize) -> Option<&IndexSpec> {
        self.secondaries.get(index.checked_sub(1)?).map(|s| &s.spec)
    }

    /// The next AUTO_INCREMENT value, if the table has such a column.
    pub fn autoinc_next(&self) -> Option<u64> {
        self.autoinc.as_ref().map(Autoinc::peek)
    }

    /// About how many rows there are, those included that purge has not taken away yet.
    ///
    /// # Errors
    /// Failed reads.
    pub fn estimated_rows(&self) -> Result<u64> {
        self.clustered.estimate_entries()
    }

    /// How many rows there are without those that are marked deleted, by whomever; `None`: more than a few. As in InnoDB
    /// what is inserted or deleted counts when that is done, not while it waits.
    ///
    /// # Errors
    /// Failed reads, damage.
    pub fn few_rows(&self) -> Result<Option<u64>> {
        let (mut cursor, mut seen, mut rows) = (Cursor::default(), 0, 0);
        cursor.open(Bound::Unbounded, Bound::Unbounded);
        while let Some((_, payload)) = cursor.next(&self.clustered)? {
            seen += 1;
            if seen > FEW_ROWS {
                return Ok(None);
            }
            rows += u64::from(!RowHeader::read(payload)?.deleted());
        }
        let halfway =
            self.secondaries.iter().map(|s| s.halfway.load(Ordering::Relaxed).cast_signed());
        Ok(Some(rows.saturating_add_signed(-i64::from(halfway.sum::<i32>()))))
    }

    /// About how many entries an index has from key `low` to below `high` (`None`: to its end); `None`
    /// when others changed it all the while.
    ///
    /// # Errors
    /// There is no such index; failed reads.
    pub fn entries_between(
        &self,
        index: usize,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> Result<Option<u64>> {
        let tree = self.tree(index).ok_or(base::Error::Internal("no such index"))?;
        tree.estimate_between(low, high)
    }

    /// The tree of index `index`.
    pub(crate) fn tree(&self, index: usize) -> Option<&Tree> {
        match index.checked_sub(1) {
            None => Some(&self.clustered),
            Some(i) => self.secondaries.get(i).map(|s| &s.tree),
        }
    }

    /// Puts the clustered key of a row into `out` (cleared first); `false`: it is a hidden row id.
    pub(crate) fn clustered_key_of(&self, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let Some(key) = &self.clustered_key else { return Ok(false) };
        key.encode_from_row(&self.layout, row, out).map_err(bad_row)?;
        Ok(true)
    }

    /// The columns of the clustered key.
    pub(crate) fn clustered_columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.spec.clustered.iter().map(|part| part.column)
    }

    /// Whether two versions of a row have the same key in every secondary index.
    pub(crate) fn same_secondary_keys(
        &self,
        a: &[u8],
        b: &[u8],
        scratch: (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<bool> {
        for s in &self.secondaries {
            if s.key.is_plainly_same(&self.layout, a, b) {
                continue;
            }
            s.prefix(&self.layout, a, scratch.0)?;
            s.prefix(&self.layout, b, scratch.1)?;
            if scratch.0 != scratch.1 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
