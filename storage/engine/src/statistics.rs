//! What a table holds, estimated: rows, pages, and how many different values each index has.
//!
//! Whether the first parts of the keys change in a leaf is known of every leaf, from its fences; how often, from the
//! sampled ones. Nothing is counted when rows change: a [`Look`] finds out afterwards, by the writers that stand in the
//! headers of sampled rows.
//!
//! 1. A small tree is read whole and the figures are exact; of a larger one leaves are sampled, spread evenly. NULLs are
//!    equal; rows and entries with a delete mark do not count. Guard:
//!    `a_small_table_is_counted_and_rows_marked_deleted_are_not`, `a_large_table_is_sampled`.

use crate::Engine;
use crate::row::RowHeader;
use crate::table::{Table, is_marked};
use base::{IndexId, PAGE_BYTES, Result, TrxId};
use btree::Tree;
use page::Node;
use space::SegmentKind;
use std::ops::Bound;
use trx::IdKind;
use value::{ColumnType, KeySpec};

/// Nodes above the leaves that are looked at to find them.
const NODES_MAX: usize = 4096;
/// Bytes of a hidden row id.
const ROW_ID_BYTES: usize = 6;

/// Figures of one index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexSample {
    /// Entries, without those marked deleted.
    pub entries: f64,
    /// Different values of the first part, of the first two and so on; behind an index's own parts
    /// come those of the clustered key, or the hidden row id.
    pub distinct: Vec<f64>,
    /// Leaves.
    pub leaf_pages: u64,
    /// All pages that belong to it, used or not.
    pub pages: u64,
    /// Leaves that were read.
    pub sampled: u64,
}

/// Figures of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableSample {
    /// Indexes by their ids, the clustered one first.
    pub indexes: Vec<(IndexId, IndexSample)>,
    /// Transactions from this one on are not in the figures.
    pub mark: u64,
    /// Rows by a [`Look`] at the same time.
    pub looked: f64,
}

/// A quick look at a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Rows, to be compared with another look's.
    pub rows: f64,
    /// Share of the rows that were written since.
    pub changed: f64,
}

/// Sizes of a table that are known without reading its rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TablePages {
    /// About how many rows.
    pub rows: u64,
    /// Pages of the clustered index and of values outside of their rows.
    pub clustered: u64,
    /// Pages of the other indexes.
    pub others: u64,
}

/// The parts of an index's entries.
struct Parts<'t> {
    spec: KeySpec,
    row_id: bool,
    types: &'t [ColumnType],
}

impl Parts<'_> {
    fn count(&self) -> usize {
        self.spec.parts.len() + usize::from(self.row_id)
    }

    fn ends(&self, key: &[u8], ends: &mut Vec<usize>) {
        self.spec.part_ends(self.types, key, ends);
        let at = ends.last().map_or(0, |end| end + ROW_ID_BYTES);
        let at = if self.spec.parts.is_empty() { ROW_ID_BYTES } else { at };
        if self.row_id && ends.len() == self.spec.parts.len() && key.len() >= at {
            ends.push(at);
        }
    }

    /// In how many of the first parts two keys agree; `ends` are those of `a`.
    fn equal(a: &[u8], ends: &[usize], b: &[u8]) -> usize {
        let same = page::common_prefix(a, b);
        ends.iter().take_while(|end| **end <= same).count()
    }
}

/// Counts how often the first parts change from entry to entry.
struct Changes {
    last: Vec<u8>,
    ends: Vec<usize>,
    entries: u64,
    /// Entries that differ from the one before in the first part, in the first two and so on.
    changes: Vec<u64>,
}

impl Changes {
    fn new(parts: usize) -> Changes {
        Changes { last: Vec::new(), ends: Vec::new(), entries: 0, changes: vec![0; parts] }
    }

    fn add(&mut self, parts: &Parts<'_>, key: &[u8]) {
        if self.entries > 0 {
            let equal = Parts::equal(&self.last, &self.ends, key);
            self.changes[equal.min(parts.count())..].iter_mut().for_each(|n| *n += 1);
        }
        self.entries += 1;
        self.last.clear();
        self.last.extend_from_slice(key);
        parts.ends(key, &mut self.ends);
    }
}

impl Engine {
    /// Gathers the figures of a table; `pages` leaves of each larger index are read.
    ///
    /// # Errors
    /// Failed reads, damage.
    pub fn analyze_table(&self, table: &Table, pages: u32) -> Result<TableSample> {
        let mark = self.next_trx_id();
        let looked = self.look_at_table(table, TrxId(mark))?.rows;
        let report = space::report(&table.ts)?;
        let mut indexes = Vec::with_capacity(table.indexes());
        for index in 0..table.indexes() {
            let Some(tree) = table.tree(index) else { continue };
            let of = |kinds: &[SegmentKind]| {
                let own = report
                    .segments
                    .iter()
                    .filter(|s| s.segment.index == tree.index && kinds.contains(&s.segment.kind));
                own.fold((0, 0), |(used, all), s| {
                    (used + s.pages_used, all + s.pages_used + s.pages_free)
                })
            };
            // The root lies among the inner nodes whatever its level.
            let leaves = of(&[SegmentKind::Leaf]).0.max(1);
            let all = of(&[SegmentKind::Leaf, SegmentKind::Inner, SegmentKind::Blob]).1;
            let parts = table.parts(index);
            let small = leaves <= u64::from(pages) * parts.count() as u64;
            let mut sample = match small {
                true => read_whole(tree, &parts, index == 0)?,
                false => read_some(tree, &parts, index == 0, leaves, pages)?,
            };
            (sample.leaf_pages, sample.pages) = (leaves, all.max(1));
            indexes.push((tree.index, sample));
        }
        Ok(TableSample { indexes, mark, looked })
    }

    /// The sizes of a table at the moment.
    ///
    /// # Errors
    /// Failed reads, damage.
    pub fn table_pages(&self, table: &Table) -> Result<TablePages> {
        let report = space::report(&table.ts)?;
        let mut pages = TablePages { rows: table.estimated_rows()?, ..TablePages::default() };
        for s in &report.segments {
            let all = s.pages_used + s.pages_free;
            match s.segment.index == table.clustered.index {
                true => pages.clustered += all,
                false => pages.others += all,
            }
        }
        Ok(pages)
    }

    /// Looks at a few leaves: how many rows there are, and which share was written by transaction
    /// `since` or later ones.
    ///
    /// # Errors
    /// Failed reads, damage.
    pub fn look_at_table(&self, table: &Table, since: TrxId) -> Result<Look> {
        let (mut seen, mut changed) = (0u64, 0u64);
        let rows = table.clustered.sample_leaves(&mut |leaf| {
            for slot in 0..leaf.count() {
                let header = RowHeader::read(leaf.payload(slot)?)?;
                seen += 1;
                changed += u64::from(header.trx >= since);
            }
            Ok(())
        })?;
        Ok(Look { rows, changed: changed as f64 / seen.max(1) as f64 })
    }

    /// The id that the next transaction will have.
    pub fn next_trx_id(&self) -> u64 {
        self.trx().ids.next(IdKind::Trx)
    }
}

impl Table {
    fn parts(&self, index: usize) -> Parts<'_> {
        let mut spec = KeySpec::default();
        if index > 0
            && let Some(own) = self.key(index)
        {
            spec.parts.extend_from_slice(&own.parts);
        }
        if let Some(clustered) = self.key(0) {
            spec.parts.extend_from_slice(&clustered.parts);
        }
        Parts { spec, row_id: self.key(0).is_none(), types: &self.spec().columns }
    }
}

/// Whether an entry has a delete mark.
fn is_deleted(payload: &[u8], clustered: bool) -> Result<bool> {
    match clustered {
        true => Ok(RowHeader::read(payload)?.deleted()),
        false => Ok(is_marked(payload)),
    }
}

/// Every entry counts.
fn read_whole(tree: &Tree, parts: &Parts<'_>, clustered: bool) -> Result<IndexSample> {
    let mut changes = Changes::new(parts.count());
    let mut range = tree.range(Bound::Unbounded, Bound::Unbounded);
    while let Some((key, payload)) = range.next()? {
        if !is_deleted(payload, clustered)? {
            changes.add(parts, key);
        }
    }
    // The first entry differs from nothing.
    let first = u64::from(changes.entries > 0);
    let distinct = changes.changes.iter().map(|n| (n + first) as f64).collect();
    let entries = changes.entries as f64;
    Ok(IndexSample { entries, distinct, ..IndexSample::default() })
}

/// Some leaves stand for all.
fn read_some(
    tree: &Tree,
    parts: &Parts<'_>,
    clustered: bool,
    leaves: u64,
    pages: u32,
) -> Result<IndexSample> {
    let count = parts.count();
    let step = (leaves / u64::from(pages.max(1))).max(1);
    let (mut seen, mut differing, mut picked) = (0u64, vec![0u64; count], Vec::new());
    let mut ends = Vec::new();
    let complete = tree.each_leaf(NODES_MAX, &mut |low, high| {
        parts.ends(low, &mut ends);
        let equal = high.map_or(0, |high| Parts::equal(low, &ends, high));
        differing[equal.min(count)..].iter_mut().for_each(|n| *n += 1);
        if seen % step == step / 2 {
            picked.push(low.to_vec());
        }
        seen += 1;
    })?;
    let scale = if complete { 1.0 } else { leaves.max(seen) as f64 / seen.max(1) as f64 };
    let mut leaf = Box::new([0; PAGE_BYTES]);
    let (mut entries, mut read) = (0u64, 0u64);
    let (mut sums, mut counts) = (vec![0.0; count], vec![0u64; count]);
    for low in &picked {
        if !tree.copy_leaf(low, &mut leaf)? {
            continue;
        }
        let changes = leaf_changes(&Node::new(&leaf)?, parts, clustered)?;
        let n = changes.entries as f64;
        for (part, changed) in changes.changes.iter().enumerate() {
            // A leaf without a change is one of those that do not count, or its neighbour's fence is.
            if *changed > 0 {
                // The first entry changes as often as the others.
                sums[part] += *changed as f64 * n / (n - 1.0);
                counts[part] += 1;
            }
        }
        entries += changes.entries;
        read += 1;
    }
    let entries = entries as f64 / read.max(1) as f64 * seen as f64 * scale;
    let per_leaf = |part: usize| (sums[part] / counts[part].max(1) as f64).max(1.0);
    let estimate = |part: usize| (differing[part] as f64 * per_leaf(part) * scale).min(entries);
    let mut distinct: Vec<f64> = (0..count).map(estimate).collect();
    for part in 1..count {
        distinct[part] = distinct[part].max(distinct[part - 1]);
    }
    Ok(IndexSample { entries, distinct, sampled: read, ..IndexSample::default() })
}

fn leaf_changes(leaf: &Node<'_>, parts: &Parts<'_>, clustered: bool) -> Result<Changes> {
    let mut changes = Changes::new(parts.count());
    let mut key = Vec::new();
    for slot in 0..leaf.count() {
        if !is_deleted(leaf.payload(slot)?, clustered)? {
            leaf.copy_key(slot, &mut key)?;
            changes.add(parts, &key);
        }
    }
    Ok(changes)
}
