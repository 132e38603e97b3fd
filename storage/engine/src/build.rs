//! Building an index over the rows that there are: entries are put in order in memory, batch by batch, and go into the tree leaf
//! by leaf.
//!
//! 1. Nobody else knows the index: its entries are not locked, and need no undo beside that of the index itself (`ddl`, 1).
//!    Guard: as there.
//! 2. A batch goes in in order, so that each leaf is latched once: what comes behind all that the tree has fills its last leaf at
//!    once. Guard: `Tree::add_in_order`; CHECK TABLE.
//! 3. Each leaf names who builds as its writer. Guard: the assert of `Writer::add_sorted`.
//! 4. Entries with the same unique key are neighbours: in their batch, or, from the second batch on, in batch and tree. Guard:
//!    `a_unique_index_is_not_built_over_duplicates_of_any_batch`.

use crate::entry::assert_named;
use crate::table::{Secondary, Table, secondary_payload};
use crate::version::check_killed;
use crate::writer::{Buffers, Writer};
use base::{Error, Result};
use btree::Near;
use page::AppendBuf;
use std::ops::{Bound, Range};

/// Memory for the entries of one batch, in bytes. (Tests have small tables.)
const BATCH_BYTES: usize = if cfg!(any(test, debug_assertions)) { 4 << 10 } else { 16 << 20 };
/// One entry of a batch.
struct Entry {
    /// Its first bytes behind what all have in common, as a number in their order.
    head: u64,
    at: u32,
    /// Of its parts, and of the clustered key behind them.
    parts: u16,
    key: u16,
    /// No other entry may have the same parts.
    unique: bool,
}

/// An index that is being built.
pub(crate) struct Building<'s> {
    index: &'s Secondary,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// How many bytes all keys of the batch begin with alike.
    common: usize,
    /// A batch is in the tree.
    filled: bool,
    near: Near,
    append: AppendBuf,
}

impl<'s> Building<'s> {
    pub fn new(index: &'s Secondary) -> Building<'s> {
        Building {
            index,
            bytes: Vec::new(),
            entries: Vec::new(),
            common: usize::MAX,
            filled: false,
            near: Near::default(),
            append: AppendBuf::new(),
        }
    }

    /// Where an entry's bytes are.
    fn place(entry: &Entry) -> Range<usize> {
        let at = entry.at as usize;
        at..at + usize::from(entry.parts) + usize::from(entry.key)
    }

    fn key(&self, entry: &Entry) -> &[u8] {
        &self.bytes[Self::place(entry)]
    }

    fn parts(&self, entry: &Entry) -> &[u8] {
        &self.key(entry)[..usize::from(entry.parts)]
    }

    /// Takes the entry of a row with these parts. `true`: the batch is to be loaded.
    fn push(&mut self, (parts, key): (&[u8], &[u8]), unique: bool) -> Result<bool> {
        let too_long = |_| Error::KeyTooLong { bytes: parts.len(), limit: btree::KEY_BYTES_MAX };
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(parts);
        self.bytes.extend_from_slice(key);
        let (parts, key) = (parts.len().try_into().map_err(too_long)?, key.len() as u16);
        let entry = Entry { head: 0, at, parts, key, unique };
        let first = self.key(self.entries.first().unwrap_or(&entry));
        let alike = &first[..self.common.min(first.len())];
        self.common = page::common_prefix(alike, self.key(&entry));
        self.entries.push(entry);
        Ok(self.bytes.len() + self.entries.len() * size_of::<Entry>() >= BATCH_BYTES)
    }

    /// Puts the batch in order.
    fn sort(&mut self) {
        let (bytes, common) = (&self.bytes, self.common);
        for entry in &mut self.entries {
            let rest = &bytes[Self::place(entry)][common..];
            let mut head = [0; 8];
            let n = rest.len().min(head.len());
            head[..n].copy_from_slice(&rest[..n]);
            entry.head = u64::from_be_bytes(head);
        }
        let key = |entry: &Entry| &bytes[Self::place(entry)];
        self.entries.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))));
    }

    /// [`Error::Duplicate`] when two entries have the same unique key.
    fn check_unique(&self) -> Result<()> {
        let duplicate =
            |parts: &[u8]| Err(Error::Duplicate { index: self.index.spec.id, key: parts.to_vec() });
        let same = |pair: &&[Entry]| pair[0].unique && self.parts(&pair[0]) == self.parts(&pair[1]);
        if let Some(pair) = self.entries.windows(2).find(same) {
            return duplicate(self.parts(&pair[0]));
        }
        for entry in self.entries.iter().filter(|entry| self.filled && entry.unique) {
            let parts = self.parts(entry);
            let mut range = self.index.tree.range(Bound::Included(parts), Bound::Unbounded);
            if range.next()?.is_some_and(|(there, _)| there.starts_with(parts)) {
                return duplicate(parts);
            }
        }
        Ok(())
    }
}

impl Writer<'_> {
    /// Adds the entry of one row to an index that nobody else knows yet; it is there after [`Writer::build_end`].
    pub fn build_entry(
        &mut self,
        table: &Table,
        building: &mut Building<'_>,
        (key, row): (&[u8], &[u8]),
        b: &mut Buffers,
    ) -> Result<()> {
        let s = building.index;
        self.engine.sure_prefix(table, s, row, &mut b.entry)?;
        let unique = s.spec.unique && !s.has_null(table.layout(), row)?;
        match building.push((&b.entry, key), unique)? {
            true => self.build_end(building),
            false => Ok(()),
        }
    }

    /// Puts the entries that were taken into the index.
    pub fn build_end(&mut self, building: &mut Building<'_>) -> Result<()> {
        building.sort();
        building.check_unique()?;
        let mut done = 0;
        while done < building.entries.len() {
            check_killed()?;
            self.engine.relieve_log()?;
            done += self.add_sorted(building, done)?;
        }
        building.filled |= done > 0;
        building.entries.clear();
        building.bytes.clear();
        building.common = usize::MAX;
        Ok(())
    }

    /// Adds entries of the batch from the one at `from` on, to one leaf; how many.
    fn add_sorted(&mut self, building: &mut Building<'_>, from: usize) -> Result<usize> {
        let Building { index, bytes, entries, near, append, .. } = building;
        let tree = &index.tree;
        let of = |entry: &Entry| {
            let key = &bytes[Building::place(entry)];
            (key, secondary_payload(&key[usize::from(entry.parts)..]))
        };
        let rest = entries[from..].iter().map(of);
        let mut mtr = self.mtr();
        let (added, pos) = tree.add_in_order(&mut mtr, rest, near, append)?;
        match pos {
            Some(pos) if added > 0 => {
                tree.raise_max_trx_id(&mut mtr, &pos, self.me())?;
                assert_named(&mtr, &pos, self.me());
                mtr.commit()?;
            }
            _ => {
                drop(mtr);
                let (key, payload) = of(&entries[from]);
                tree.split(self.engine.pool(), self.worker, key, payload.len())?;
            }
        }
        Ok(added)
    }
}
