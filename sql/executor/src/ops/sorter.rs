//! Rows in the order of their keys: in memory, the first N only where that is all that is wanted, runs in a temporary file
//! beyond the limit.
//!
//! 1. Rows with equal keys stay in the order in which they came. 2. A sorted run in the file is a sequence
//!    of records; runs are merged when they are read. 3. Where one row of each key is wanted it is the one that came first.
//! 4. The key of a stored row may be there by its start ([`super::sort_keys`]); in the file all keys are whole.

use super::Statement;
use super::sort_keys::{StoredKeys, WholeKeys};
use super::table::{KeyTable, hash};
use crate::SqlError;
use crate::memory::Charge;
use crate::spill::{SpillFile, SpillReader};
use instrument::{Counter, count};
use std::cmp::Ordering;
use std::sync::Arc;

/// A record begins with the lengths of its key and its row.
const LENGTHS_BYTES: usize = 8;
/// In the length of a key: it is but the start of the key.
const IS_START: u32 = 1 << 31;
/// Fewer rows than this are not worth a run, in bytes.
const LEAST_BYTES: usize = 64 << 10;
/// More than so many rows wanted: all are sorted.
const TOP_ROWS_MAX: u64 = 100_000;
/// Rows after which equal keys are looked for.
const DISTINCT_ROWS: usize = 1024;
/// Runs that are merged at once.
const RUNS_MAX: usize = 256;

#[derive(Clone, Copy)]
struct Entry {
    /// The key's first bytes, as a number.
    prefix: u64,
    /// Where the record begins: two lengths, key, row.
    at: usize,
    /// The number of the row among those in memory.
    number: u32,
}

/// Rows in the order of their keys.
pub struct Sorter {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    at: usize,
    /// No more rows than this are wanted.
    top: Option<usize>,
    /// With enough rows: those at or above this whole key are not wanted.
    cut: Option<Vec<u8>>,
    /// Keys of stored rows, which may be there by their starts.
    keys: Option<Arc<StoredKeys>>,
    whole: WholeKeys,
    file: Option<SpillFile>,
    ends: Vec<u64>,
    runs: Vec<RunReader>,
    distinct: Option<Distinct>,
    charge: Charge,
}

/// What one row of each key needs.
struct Distinct {
    /// So many rows in memory are looked through for equal keys.
    rows_max: usize,
    /// Keys of the rows in memory, where so many were equal that this pays.
    seen: Option<KeyTable>,
    /// The key that came last out of merged runs.
    last: Option<Vec<u8>>,
}

impl Default for Distinct {
    fn default() -> Distinct {
        Distinct { rows_max: DISTINCT_ROWS, seen: None, last: None }
    }
}

struct RunReader {
    reader: SpillReader,
    key: Vec<u8>,
    row: Vec<u8>,
    done: bool,
}

impl RunReader {
    fn advance(&mut self) -> Result<(), SqlError> {
        self.done = !self.reader.next(&mut self.key)?;
        if !self.done {
            self.reader.next(&mut self.row)?;
        }
        Ok(())
    }
}

fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let n = key.len().min(8);
    first[..n].copy_from_slice(&key[..n]);
    u64::from_be_bytes(first)
}

fn length(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
}

/// Whether the key of a record is not whole.
fn is_start(bytes: &[u8], at: usize) -> bool {
    length(bytes, at) & IS_START != 0
}

fn key_length(bytes: &[u8], at: usize) -> usize {
    (length(bytes, at) & !IS_START) as usize
}

fn key_at(bytes: &[u8], at: usize) -> &[u8] {
    let start = at + LENGTHS_BYTES;
    &bytes[start..start + key_length(bytes, at)]
}

fn row_at(bytes: &[u8], at: usize) -> &[u8] {
    let start = at + LENGTHS_BYTES + key_length(bytes, at);
    &bytes[start..start + length(bytes, at + 4) as usize]
}

fn record_at(bytes: &[u8], at: usize) -> &[u8] {
    let lengths = key_length(bytes, at) + length(bytes, at + 4) as usize;
    &bytes[at..at + LENGTHS_BYTES + lengths]
}

/// The order of the keys of two rows whose prefixes are equal.
fn order_of(
    bytes: &[u8],
    (keys, whole): (Option<&StoredKeys>, &mut WholeKeys),
    a: &Entry,
    b: &Entry,
) -> Ordering {
    let (key_a, key_b) = (key_at(bytes, a.at), key_at(bytes, b.at));
    let Some(keys) = keys.filter(|_| is_start(bytes, a.at) || is_start(bytes, b.at)) else {
        return key_a.cmp(key_b);
    };
    let both = key_a.len().min(key_b.len());
    key_a[..both].cmp(&key_b[..both]).then_with(|| {
        let make = |entry: &Entry| {
            let row = row_at(bytes, entry.at);
            move |out: &mut Vec<u8>| keys.append_packed(row, out)
        };
        whole.compare((a.number as usize, make(a)), (b.number as usize, make(b)))
    })
}

impl Sorter {
    /// Of no rows; no more than `top` of them are wanted.
    pub fn new(st: &Statement<'_>, top: Option<u64>) -> Sorter {
        Sorter {
            bytes: Vec::new(),
            entries: Vec::new(),
            at: 0,
            top: top.filter(|top| *top <= TOP_ROWS_MAX).map(|top| top as usize),
            cut: None,
            keys: None,
            whole: WholeKeys::default(),
            file: None,
            ends: Vec::new(),
            runs: Vec::new(),
            distinct: None,
            charge: st.budget.charge(),
        }
    }

    /// Of rows that [`Sorter::add_stored`] takes.
    pub fn of_stored(self, keys: Arc<StoredKeys>) -> Sorter {
        Sorter { keys: Some(keys), ..self }
    }

    /// The first row of each key only.
    pub fn distinct(self) -> Sorter {
        Sorter { distinct: Some(Distinct::default()), ..self }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 1114, those of the disk.
    pub fn add(&mut self, st: &Statement<'_>, key: &[u8], row: &[u8]) -> Result<(), SqlError> {
        let copy = |bytes: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(bytes);
            Ok(())
        };
        self.add_made(st, |out| copy(key, out), |out| copy(row, out))
    }

    /// As [`Sorter::add`], of a key and a row that are appended; the row only if it may be among the wanted ones.
    ///
    /// # Errors
    /// Those of making them; 1114, those of the disk.
    pub fn add_made(
        &mut self,
        st: &Statement<'_>,
        mut make_key: impl FnMut(&mut Vec<u8>) -> Result<(), SqlError>,
        make_row: impl FnOnce(&mut Vec<u8>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        self.add_any(st, |out, _| make_key(out).map(|()| false), make_row)
    }

    /// As [`Sorter::add`], of a stored row that `make_row` packs; the keys are those of [`Sorter::of_stored`].
    ///
    /// # Errors
    /// A damaged row; 1114, those of the disk.
    pub fn add_stored(
        &mut self,
        st: &Statement<'_>,
        (row, keys): (&[u8], &StoredKeys),
        make_row: impl FnOnce(&mut Vec<u8>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let make_key = |out: &mut Vec<u8>, whole| match whole {
            true => keys.append(row, out).map(|()| false),
            false => keys.append_start(row, out),
        };
        self.add_any(st, make_key, make_row)
    }

    /// Adds a row whose key `make_key` appends, all of it if it is told so, or its start: whether there is more of it.
    #[inline]
    fn add_any(
        &mut self,
        st: &Statement<'_>,
        mut make_key: impl FnMut(&mut Vec<u8>, bool) -> Result<bool, SqlError>,
        make_row: impl FnOnce(&mut Vec<u8>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let at = self.bytes.len();
        let key_start = at + LENGTHS_BYTES;
        self.bytes.extend_from_slice(&[0; LENGTHS_BYTES]);
        let seen = self.distinct.as_mut().and_then(|distinct| distinct.seen.as_mut());
        let mut is_start = make_key(&mut self.bytes, seen.is_some())?;
        let mut wanted = true;
        if let Some(cut) = &self.cut {
            if is_start && cut.starts_with(&self.bytes[key_start..]) {
                self.bytes.truncate(key_start);
                is_start = make_key(&mut self.bytes, true)?;
            }
            wanted = self.bytes[key_start..] < cut[..];
        }
        let mut seen_bytes = 0;
        if let Some(seen) = seen.filter(|_| wanted) {
            let key = &self.bytes[key_start..];
            wanted = seen.insert(key, hash(key)).1;
            seen_bytes = seen.bytes();
        }
        if !wanted {
            self.bytes.truncate(at);
            return Ok(());
        }
        let row_start = self.bytes.len();
        make_row(&mut self.bytes)?;
        let start = if is_start { IS_START } else { 0 };
        let lengths =
            [(row_start - key_start) as u32 | start, (self.bytes.len() - row_start) as u32];
        self.bytes[at..key_start].copy_from_slice(lengths.map(u32::to_le_bytes).as_flattened());
        let number = self.entries.len() as u32;
        self.entries.push(Entry { prefix: prefix(&self.bytes[key_start..row_start]), at, number });
        let entries_bytes = self.entries.len() * size_of::<Entry>();
        self.charge.set(self.bytes.len() + entries_bytes + seen_bytes + self.whole.bytes());
        self.keep_bounds(st)
    }

    /// Drops what is known to be unwanted, and writes a run, where it is time to.
    #[inline]
    fn keep_bounds(&mut self, st: &Statement<'_>) -> Result<(), SqlError> {
        if let Some(Distinct { rows_max, seen: None, .. }) = self.distinct
            && self.entries.len() >= rows_max
        {
            self.keep_distinct()?;
        }
        if let Some(top) = self.top
            && self.entries.len() >= (2 * top).max(64)
        {
            self.keep_first(top)?;
        }
        if self.charge.is_over() && self.bytes.len() >= LEAST_BYTES {
            self.write_run(st)?;
        }
        Ok(())
    }

    /// Sorts the rows, and of those with equal keys takes the first.
    fn sort(&mut self) -> Result<(), SqlError> {
        let (bytes, whole, keys) = (&self.bytes, &mut self.whole, self.keys.as_deref());
        self.entries.sort_unstable_by(|a, b| {
            let order = a.prefix.cmp(&b.prefix);
            order.then_with(|| order_of(bytes, (keys, whole), a, b)).then(a.at.cmp(&b.at))
        });
        if self.distinct.is_some() {
            self.entries.dedup_by(|later, first| {
                later.prefix == first.prefix && order_of(bytes, (keys, whole), later, first).is_eq()
            });
        }
        whole.check()
    }

    /// Of rows with equal keys keeps the first. Where most were equal a table tells the next ones at once.
    fn keep_distinct(&mut self) -> Result<(), SqlError> {
        let before = self.entries.len();
        self.sort()?;
        let kept = self.entries.len();
        let seen = (2 * kept < before).then(|| {
            let mut seen = KeyTable::default();
            for n in 0..kept {
                let key = self.whole_key(n);
                seen.insert(key, hash(key));
            }
            seen
        });
        if let Some(distinct) = &mut self.distinct {
            distinct.rows_max = (2 * kept).max(DISTINCT_ROWS);
            distinct.seen = seen;
        }
        self.keep_entries();
        self.whole.check()
    }

    fn keep_first(&mut self, top: usize) -> Result<(), SqlError> {
        self.sort()?;
        if self.entries.len() > top {
            self.entries.truncate(top);
            let cut = match self.entries.len().checked_sub(1) {
                Some(last) => self.whole_key(last).to_vec(),
                None => Vec::new(),
            };
            self.cut = Some(cut);
        }
        self.keep_entries();
        self.whole.check()
    }

    /// The whole key of an entry.
    fn whole_key(&mut self, entry: usize) -> &[u8] {
        let Entry { at, number, .. } = self.entries[entry];
        match self.keys.as_deref().filter(|_| is_start(&self.bytes, at)) {
            Some(keys) => {
                let row = row_at(&self.bytes, at);
                self.whole.key(number as usize, |out| keys.append_packed(row, out))
            }
            None => key_at(&self.bytes, at),
        }
    }

    /// Gives back the bytes of rows that have no entry any more.
    fn keep_entries(&mut self) {
        // In the order of coming, so that later comparisons of places stay right.
        self.entries.sort_unstable_by_key(|e| e.at);
        let mut kept = Vec::with_capacity(self.bytes.len() / 2);
        for (number, entry) in self.entries.iter_mut().enumerate() {
            let record = record_at(&self.bytes, entry.at);
            (entry.at, entry.number) = (kept.len(), number as u32);
            kept.extend_from_slice(record);
        }
        self.bytes = kept;
        self.whole.clear();
    }

    fn write_run(&mut self, st: &Statement<'_>) -> Result<(), SqlError> {
        self.sort()?;
        if let Some(top) = self.top {
            self.entries.truncate(top);
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => SpillFile::new(st.client)?,
        };
        for n in 0..self.entries.len() {
            file.append_record(&[self.whole_key(n)])?;
            file.append_record(&[row_at(&self.bytes, self.entries[n].at)])?;
        }
        self.ends.push(file.len());
        self.file = Some(file);
        self.entries.clear();
        self.bytes = Vec::new();
        let failed = self.whole.check();
        self.whole = WholeKeys::default();
        if let Some(distinct) = &mut self.distinct {
            *distinct = Distinct::default();
        }
        self.charge.set(0);
        failed?;
        if self.ends.len() >= RUNS_MAX { self.merge_runs(st) } else { Ok(()) }
    }

    /// Makes one run of all of them.
    fn merge_runs(&mut self, st: &Statement<'_>) -> Result<(), SqlError> {
        count(Counter::SortMergePasses, 1);
        self.open_runs()?;
        let mut file = SpillFile::new(st.client)?;
        while let Some(n) = self.least() {
            st.tick()?;
            if self.is_first(n) {
                file.append_record(&[&self.runs[n].key])?;
                file.append_record(&[&self.runs[n].row])?;
            }
            self.runs[n].advance()?;
        }
        self.runs.clear();
        if let Some(distinct) = &mut self.distinct {
            distinct.last = None;
        }
        self.ends = vec![file.len()];
        self.file = Some(file);
        Ok(())
    }

    fn open_runs(&mut self) -> Result<(), SqlError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut start = 0;
        for &end in &self.ends {
            let reader = file.reader(start)?.end_at(end);
            let mut run = RunReader { reader, key: Vec::new(), row: Vec::new(), done: false };
            run.advance()?;
            self.runs.push(run);
            start = end;
        }
        Ok(())
    }

    /// Whether the next row of a run, which is the least, is the first one of its key, or all are wanted.
    fn is_first(&mut self, run: usize) -> bool {
        let Some(Distinct { last, .. }) = &mut self.distinct else { return true };
        let key = &self.runs[run].key;
        if last.as_ref() == Some(key) {
            return false;
        }
        last.get_or_insert_default().clone_from(key);
        true
    }

    fn least(&self) -> Option<usize> {
        let runs = self.runs.iter().enumerate().filter(|(_, run)| !run.done);
        runs.min_by(|a, b| a.1.key.cmp(&b.1.key)).map(|(n, _)| n)
    }

    /// All rows are there: they are sorted.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn finish(&mut self, st: &Statement<'_>) -> Result<(), SqlError> {
        if self.file.is_some() && !self.entries.is_empty() {
            self.write_run(st)?;
        }
        if self.ends.len() > 1 {
            count(Counter::SortMergePasses, 1);
        }
        self.open_runs()?;
        self.sort()?;
        self.whole = WholeKeys::default();
        self.at = 0;
        Ok(())
    }

    /// How many rows of distinct keys there are, if all lie in memory.
    pub fn rows(&self) -> Option<u64> {
        let counted = self.distinct.is_some() && self.runs.is_empty();
        counted.then_some(self.entries.len() as u64)
    }

    /// Whether rows lie in a file.
    #[cfg(test)]
    pub fn is_spilled(&self) -> bool {
        self.file.is_some()
    }

    /// The next row in order: puts key and row into `key` and `row`.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn next(&mut self, key: &mut Vec<u8>, row: &mut Vec<u8>) -> Result<bool, SqlError> {
        if !self.runs.is_empty() {
            return self.next_of_runs(key, row);
        }
        let Some(at) = self.step() else { return Ok(false) };
        key.clear();
        key.extend_from_slice(key_at(&self.bytes, at));
        row.clear();
        row.extend_from_slice(row_at(&self.bytes, at));
        Ok(true)
    }

    /// The next row in order, where it lies, which may be `row`.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn next_in_place<'r>(
        &'r mut self,
        key: &mut Vec<u8>,
        row: &'r mut Vec<u8>,
    ) -> Result<Option<&'r [u8]>, SqlError> {
        if !self.runs.is_empty() {
            return Ok(self.next_of_runs(key, row)?.then_some(&row[..]));
        }
        Ok(self.step().map(|at| row_at(&self.bytes, at)))
    }

    /// Steps over the next row in memory, and answers where it lies.
    #[inline]
    fn step(&mut self) -> Option<usize> {
        let entry = self.entries.get(self.at)?;
        self.at += 1;
        Some(entry.at)
    }

    fn next_of_runs(&mut self, key: &mut Vec<u8>, row: &mut Vec<u8>) -> Result<bool, SqlError> {
        while let Some(n) = self.least() {
            let first = self.is_first(n);
            let run = &mut self.runs[n];
            std::mem::swap(key, &mut run.key);
            std::mem::swap(row, &mut run.row);
            run.advance()?;
            if first {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
