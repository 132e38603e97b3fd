//! Sorting: memcomparable keys in memory, the first N only where that is all that is wanted, runs in a
//! temporary file beyond the limit.
//!
//! 1. Rows with equal keys stay in the order in which they came. 2. A sorted run in the file is a sequence
//!    of records; runs are merged when they are read.

use super::filter::limit_value;
use super::keys::Rule;
use super::pack::Packer;
use super::tally;
use super::{Operator, Run, Statement, trim};
use crate::SqlError;
use crate::memory::Charge;
use crate::spill::{SpillFile, SpillReader};
use expr::{Expr, Frame};
use instrument::{Counter, count};
use planner::plan::SortKey;
use planner::query_plan::Node;
use std::cmp::Ordering;

/// Fewer rows than this are not worth a run, in bytes.
const LEAST_BYTES: usize = 64 << 10;
/// More than so many rows wanted: all are sorted.
const TOP_ROWS_MAX: u64 = 100_000;
/// Runs that are merged at once.
const RUNS_MAX: usize = 256;

#[derive(Clone, Copy)]
struct Entry {
    /// The key's first bytes, as a number.
    prefix: u64,
    /// Where the record begins: two lengths, key, row.
    at: usize,
}

/// Rows in the order of their keys.
pub struct Sorter {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    at: usize,
    /// No more rows than this are wanted.
    top: Option<usize>,
    /// With enough rows: those at or above this key are not wanted.
    cut: Option<Vec<u8>>,
    file: Option<SpillFile>,
    ends: Vec<u64>,
    runs: Vec<RunReader>,
    charge: Charge,
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

fn length(bytes: &[u8], at: usize) -> usize {
    bytes[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b) as usize)
}

fn key_at(bytes: &[u8], at: usize) -> &[u8] {
    &bytes[at + 8..at + 8 + length(bytes, at)]
}

fn row_at(bytes: &[u8], at: usize) -> &[u8] {
    let start = at + 8 + length(bytes, at);
    &bytes[start..start + length(bytes, at + 4)]
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
            file: None,
            ends: Vec::new(),
            runs: Vec::new(),
            charge: st.budget.charge(),
        }
    }

    /// Whether a row with this key may be among the wanted ones.
    pub fn wants(&self, key: &[u8]) -> bool {
        self.cut.as_ref().is_none_or(|cut| key < &cut[..])
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 1114, those of the disk.
    pub fn add(&mut self, st: &Statement<'_>, key: &[u8], row: &[u8]) -> Result<(), SqlError> {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&(row.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(row);
        self.entries.push(Entry { prefix: prefix(key), at });
        self.charge.set(self.bytes.len() + self.entries.len() * size_of::<Entry>());
        if let Some(top) = self.top
            && self.entries.len() >= (2 * top).max(64)
        {
            self.keep_first(top);
        }
        if self.charge.is_over() && self.bytes.len() >= LEAST_BYTES {
            self.write_run(st)?;
        }
        Ok(())
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries.sort_unstable_by(|a, b| match a.prefix.cmp(&b.prefix) {
            Ordering::Equal => key_at(bytes, a.at).cmp(key_at(bytes, b.at)).then(a.at.cmp(&b.at)),
            order => order,
        });
    }

    fn keep_first(&mut self, top: usize) {
        self.sort();
        self.entries.truncate(top);
        // In the order of coming, so that later comparisons of places stay right.
        self.entries.sort_unstable_by_key(|e| e.at);
        let mut kept = Vec::with_capacity(self.bytes.len() / 2);
        let mut greatest: Option<usize> = None;
        for entry in &mut self.entries {
            let at = entry.at;
            let end = at + 8 + length(&self.bytes, at) + length(&self.bytes, at + 4);
            entry.at = kept.len();
            kept.extend_from_slice(&self.bytes[at..end]);
            let key = key_at(&kept, entry.at);
            if greatest.is_none_or(|g| key_at(&kept, g) < key) {
                greatest = Some(entry.at);
            }
        }
        self.bytes = kept;
        self.cut = greatest.map(|at| key_at(&self.bytes, at).to_vec()).or(Some(Vec::new()));
    }

    fn write_run(&mut self, st: &Statement<'_>) -> Result<(), SqlError> {
        self.sort();
        if let Some(top) = self.top {
            self.entries.truncate(top);
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(SpillFile::new(st.client)?),
        };
        for entry in &self.entries {
            file.append_record(&[key_at(&self.bytes, entry.at)])?;
            file.append_record(&[row_at(&self.bytes, entry.at)])?;
        }
        self.ends.push(file.len());
        self.entries.clear();
        self.bytes = Vec::new();
        self.charge.set(0);
        if self.ends.len() >= RUNS_MAX { self.merge_runs(st) } else { Ok(()) }
    }

    /// Makes one run of all of them.
    fn merge_runs(&mut self, st: &Statement<'_>) -> Result<(), SqlError> {
        count(Counter::SortMergePasses, 1);
        self.open_runs()?;
        let mut file = SpillFile::new(st.client)?;
        while let Some(n) = self.least() {
            st.tick()?;
            file.append_record(&[&self.runs[n].key])?;
            file.append_record(&[&self.runs[n].row])?;
            self.runs[n].advance()?;
        }
        self.runs.clear();
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
        self.sort();
        self.at = 0;
        Ok(())
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
            let Some(n) = self.least() else { return Ok(false) };
            let run = &mut self.runs[n];
            std::mem::swap(key, &mut run.key);
            std::mem::swap(row, &mut run.row);
            run.advance()?;
            return Ok(true);
        }
        let Some(entry) = self.entries.get(self.at) else { return Ok(false) };
        self.at += 1;
        key.clear();
        key.extend_from_slice(key_at(&self.bytes, entry.at));
        row.clear();
        row.extend_from_slice(row_at(&self.bytes, entry.at));
        Ok(true)
    }
}

/// Appends the keys of the frame's row.
///
/// # Errors
/// Those of evaluating them.
pub fn append_sort_keys(
    keys: &[SortKey],
    run: &mut Run<'_>,
    frame: &Frame,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    for key in keys {
        let value = run.eval(&key.value.expr, frame)?;
        Rule::of(&key.value.ty).append(&value.get(), key.descending, out);
    }
    Ok(())
}

/// Rows in order.
pub struct Sort<'p> {
    pub(super) input: Box<dyn Operator + 'p>,
    pub(super) keys: &'p [SortKey],
    pub(super) limit: Option<&'p (Expr, Expr)>,
    /// Where its rows come from.
    pub(super) source: &'p Node,
    pub(super) packer: Packer,
    pub(super) sorter: Option<Sorter>,
    pub(super) key: Vec<u8>,
    pub(super) row: Vec<u8>,
}

impl Operator for Sort<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.sorter = None;
        let top = match self.limit {
            Some((skip, count)) => {
                let skip = limit_value(skip, run, frame)?;
                Some(skip.saturating_add(limit_value(count, run, frame)?))
            }
            None => None,
        };
        self.input.open(run, frame)?;
        let mut sorter = Sorter::new(run.st, top);
        let mut rows = 0;
        while self.input.next(run, frame)? {
            run.tick()?;
            rows += 1;
            self.key.clear();
            append_sort_keys(self.keys, run, frame, &mut self.key)?;
            if sorter.wants(&self.key) {
                self.row.clear();
                self.packer.pack(frame, &mut self.row)?;
                sorter.add(run.st, &self.key, &self.row)?;
            }
        }
        sorter.finish(run.st)?;
        tally::sorted(self.source, rows.min(top.unwrap_or(u64::MAX)));
        self.packer.begin(frame);
        self.sorter = Some(sorter);
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let Some(sorter) = &mut self.sorter else { return Ok(false) };
        run.tick()?;
        if !sorter.next(&mut self.key, &mut self.row)? {
            self.sorter = None;
            return Ok(false);
        }
        self.packer.unpack(&self.row, frame)?;
        Ok(true)
    }

    fn close(&mut self) {
        self.sorter = None;
        trim(&mut self.key);
        trim(&mut self.row);
        self.input.close();
    }
}
