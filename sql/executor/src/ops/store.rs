//! Rows kept in the order in which they came; beyond the limit they lie in a temporary file.
//!
//! 1. All rows are one byte string: its beginning is in the file, its end in memory. 2. Rows are read at
//!    any place, also while others are added.

use super::Statement;
use crate::SqlError;
use crate::memory::Charge;
use crate::spill::{SpillFile, SpillReader};
use instrument::{Counter, count};

/// Bytes in memory below which nothing is moved to the file.
const LEAST_BYTES: usize = 64 << 10;
/// Room for the beginnings of so many rows stays when they are forgotten.
const STARTS_SPARE_MAX: usize = 1 << 10;

/// Kept rows.
pub struct RowStore {
    memory: Vec<u8>,
    /// Bytes in the file: the place of the memory's first.
    spilled: u64,
    /// Where each row begins, and where the last one ends.
    starts: Vec<u64>,
    /// The next row of who reads them in order.
    next: usize,
    file: Option<SpillFile>,
    reader: Option<SpillReader>,
    charge: Charge,
}

impl RowStore {
    /// No rows.
    pub fn new(st: &Statement<'_>) -> RowStore {
        RowStore {
            memory: Vec::new(),
            spilled: 0,
            starts: vec![0],
            next: 0,
            file: None,
            reader: None,
            charge: st.budget.charge(),
        }
    }

    /// Forgets the rows; the memory for new ones stays unless it is large.
    pub fn clear(&mut self) {
        self.memory.clear();
        if self.memory.capacity() > LEAST_BYTES {
            self.memory = Vec::new();
        }
        self.starts.truncate(1);
        self.starts.shrink_to(STARTS_SPARE_MAX);
        self.next = 0;
        (self.spilled, self.file, self.reader) = (0, None, None);
        self.charge.set(0);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether rows lie in a file.
    #[cfg(test)]
    pub fn is_spilled(&self) -> bool {
        self.file.is_some()
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 1114, those of the disk.
    pub fn push(&mut self, st: &Statement<'_>, row: &[u8]) -> Result<(), SqlError> {
        self.memory.extend_from_slice(row);
        self.starts.push(self.spilled + self.memory.len() as u64);
        self.charge.set(self.memory.len() + 8 * self.starts.len());
        if self.charge.is_over() && self.memory.len() >= LEAST_BYTES {
            let file = match &mut self.file {
                Some(file) => file,
                none => {
                    count(Counter::CreatedTmpDiskTables, 1);
                    none.insert(SpillFile::new(st.client)?)
                }
            };
            file.append(&self.memory)?;
            self.spilled = file.len();
            self.reader = None;
            self.memory.clear();
            self.charge.set(8 * self.starts.len());
            self.charge.check()?;
        }
        Ok(())
    }

    /// Puts the next row into `out` (cleared first); `false`: there is none, and `out` stays.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<bool, SqlError> {
        if self.next >= self.len() {
            return Ok(false);
        }
        self.get(self.next, out)?;
        self.next += 1;
        Ok(true)
    }

    /// The next row is the first one again.
    pub fn rewind(&mut self) {
        self.next = 0;
    }

    /// Row `n` where it lies, or in `out` (cleared first).
    ///
    /// # Errors
    /// As [`RowStore::get`].
    pub fn look<'r>(&'r mut self, n: usize, out: &'r mut Vec<u8>) -> Result<&'r [u8], SqlError> {
        let (start, end) = self.place(n)?;
        if start >= self.spilled {
            let (start, end) = (start - self.spilled, end - self.spilled);
            return Ok(&self.memory[start as usize..end as usize]);
        }
        self.get(n, out)?;
        Ok(out)
    }

    fn place(&self, n: usize) -> Result<(u64, u64), SqlError> {
        match (self.starts.get(n), self.starts.get(n + 1)) {
            (Some(&start), Some(&end)) => Ok((start, end)),
            _ => Err(super::internal("a kept row that is not there")),
        }
    }

    /// Puts row `n` into `out` (cleared first).
    ///
    /// # Errors
    /// There is no such row; those of the disk.
    pub fn get(&mut self, n: usize, out: &mut Vec<u8>) -> Result<(), SqlError> {
        let (start, end) = self.place(n)?;
        out.clear();
        if start >= self.spilled {
            let (start, end) = (start - self.spilled, end - self.spilled);
            out.extend_from_slice(&self.memory[start as usize..end as usize]);
            return Ok(());
        }
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => {
                let file = self.file.as_mut().ok_or_else(|| super::internal("no file"))?;
                none.insert(file.reader(0)?)
            }
        };
        reader.seek(start);
        reader.read((end - start) as usize, out)
    }
}
