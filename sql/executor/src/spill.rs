//! Temporary files of rows that do not fit in memory.
//!
//! 1. A file has no name by the time it is used: it goes with its last handle, also in a crash.
//! 2. It is written once from the beginning, in blocks, and read at any place afterwards.
//! 3. Records are length and bytes; a length that leads past the end is an error, never believed.

use crate::SqlError;
use base::Error;
use engine::Client;
use host::{AlignedBuf, BLOCK_BYTES, File};
use std::sync::Arc;

/// Bytes written and read at once.
const CHUNK_BYTES: usize = 8 * BLOCK_BYTES;

/// Files among which the rows are dealt out that have no place in a table in memory.
const PARTS: usize = 16;

/// Where a key's row goes: the file among `parts`, which are made when the first row is put aside.
///
/// Each `level` (0: the rows come from the input, else from a file of the level before) looks at other
/// bits of the hash, so that what lay in one file is spread again.
///
/// # Errors
/// A file cannot be made.
pub fn part_of(
    parts: &mut Vec<SpillFile>,
    client: &Client,
    hashed: u64,
    level: u32,
) -> Result<usize, SqlError> {
    if parts.is_empty() {
        if level == 0 {
            instrument::count(instrument::Counter::CreatedTmpDiskTables, 1);
        }
        *parts = (0..PARTS).map(|_| SpillFile::new(client)).collect::<Result<_, _>>()?;
    }
    Ok((hashed.rotate_left(11 * (level + 1)) >> 7) as usize % PARTS)
}

/// A temporary file in the making.
pub struct SpillFile {
    file: Arc<dyn File>,
    chunk: AlignedBuf,
    /// Bytes in the file, before those of `chunk`.
    written: u64,
    records: u64,
}

impl SpillFile {
    /// An empty file.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn new(client: &Client) -> Result<SpillFile, SqlError> {
        let file = client.temporary_files().create()?;
        instrument::count(instrument::Counter::CreatedTmpFiles, 1);
        Ok(SpillFile::over(file))
    }

    /// Over an empty file without a name.
    pub fn over(file: Arc<dyn File>) -> SpillFile {
        SpillFile { file, chunk: AlignedBuf::new(), written: 0, records: 0 }
    }

    /// Bytes appended so far.
    pub fn len(&self) -> u64 {
        self.written + self.chunk.len() as u64
    }

    /// Records appended so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn append(&mut self, mut bytes: &[u8]) -> Result<(), SqlError> {
        if self.chunk.capacity() == 0 {
            self.chunk = AlignedBuf::zeroed(CHUNK_BYTES);
            self.chunk.clear();
        }
        while !bytes.is_empty() {
            let n = bytes.len().min(CHUNK_BYTES - self.chunk.len());
            self.chunk.extend_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            if self.chunk.len() == CHUNK_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Appends a record of several pieces.
    ///
    /// # Errors
    /// As [`SpillFile::append`].
    pub fn append_record(&mut self, pieces: &[&[u8]]) -> Result<(), SqlError> {
        let length: usize = pieces.iter().map(|p| p.len()).sum();
        self.append(&(length as u32).to_le_bytes())?;
        self.records += 1;
        pieces.iter().try_for_each(|p| self.append(p))
    }

    fn flush(&mut self) -> Result<(), SqlError> {
        let filled = self.chunk.len();
        self.chunk.pad_to_block();
        self.file
            .write_at(&self.chunk, self.written)
            .map_err(|e| Error::io("write", self.file.name(), e))?;
        if filled == CHUNK_BYTES {
            self.written += filled as u64;
            self.chunk.clear();
        } else {
            self.chunk.resize(filled);
        }
        Ok(())
    }

    /// Reads what was appended so far, from byte `from`.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn reader(&mut self, from: u64) -> Result<SpillReader, SqlError> {
        if !self.chunk.is_empty() {
            self.flush()?;
        }
        let end = self.len();
        let chunk = AlignedBuf::new();
        Ok(SpillReader { file: Arc::clone(&self.file), chunk, chunk_at: 0, at: from, end })
    }
}

/// Reads a temporary file.
pub struct SpillReader {
    file: Arc<dyn File>,
    chunk: AlignedBuf,
    chunk_at: u64,
    at: u64,
    end: u64,
}

impl SpillReader {
    /// Goes to a byte.
    pub fn seek(&mut self, at: u64) {
        self.at = at;
    }

    /// Ends at this byte.
    pub fn end_at(mut self, end: u64) -> SpillReader {
        self.end = self.end.min(end);
        self
    }

    /// Appends the next `n` bytes to `out`.
    ///
    /// # Errors
    /// There are fewer, or the disk fails.
    pub fn read(&mut self, mut n: usize, out: &mut Vec<u8>) -> Result<(), SqlError> {
        if self.end.saturating_sub(self.at) < n as u64 {
            return Err(SqlError::Storage(Error::Internal("a temporary file ends in a record")));
        }
        while n > 0 {
            let inside =
                self.at.checked_sub(self.chunk_at).filter(|i| *i < self.chunk.len() as u64);
            let Some(inside) = inside else {
                self.load()?;
                continue;
            };
            let held = &self.chunk[inside as usize..];
            let held = &held[..n.min(held.len())];
            out.extend_from_slice(held);
            n -= held.len();
            self.at += held.len() as u64;
        }
        Ok(())
    }

    fn load(&mut self) -> Result<(), SqlError> {
        self.chunk.resize(CHUNK_BYTES);
        self.chunk_at = self.at / CHUNK_BYTES as u64 * CHUNK_BYTES as u64;
        let got = self.file.read_at(&mut self.chunk, self.chunk_at);
        let got = got.map_err(|e| Error::io("read", self.file.name(), e))?;
        self.chunk.resize(got);
        if self.chunk_at + got as u64 <= self.at {
            return Err(SqlError::Storage(Error::Internal(
                "a temporary file is shorter than it was",
            )));
        }
        Ok(())
    }

    /// Puts the next record into `out`; `false` at the end.
    ///
    /// # Errors
    /// As [`SpillReader::read`].
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<bool, SqlError> {
        out.clear();
        if self.at >= self.end {
            return Ok(false);
        }
        self.read(4, out)?;
        let length = out.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        out.clear();
        self.read(length as usize, out)?;
        Ok(true)
    }
}
