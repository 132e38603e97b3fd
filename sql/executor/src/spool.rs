//! Bytes that are kept for later: few in memory, many in a temporary file.
//!
//! 1. They are written once and then read once, from the first to the last. 2. What is read are packets: a length of
//!    three bytes, one more byte, and so many bytes; a packet of the greatest length is continued by the next.

use crate::SqlError;
use crate::spill::{SpillFile, SpillReader};
use base::Error;
use engine::TemporaryFiles;

/// Bytes that stay in memory.
const MEMORY_BYTES_MAX: usize = 256 << 10;
/// Length, and the number of the packet.
const HEADER_BYTES: usize = 4;
/// A packet of this length is continued by the next one.
const PIECE_BYTES_MAX: usize = 0xFF_FFFF;

/// Bytes in the making.
pub struct Spool {
    memory: Vec<u8>,
    files: TemporaryFiles,
    file: Option<SpillFile>,
}

impl Spool {
    /// None yet.
    pub fn new(files: TemporaryFiles) -> Spool {
        Spool { memory: Vec::new(), files, file: None }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        if let Some(file) = &mut self.file {
            return file.append(bytes);
        }
        if self.memory.len() + bytes.len() <= MEMORY_BYTES_MAX {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        let mut file = SpillFile::over(self.files.create()?);
        file.append(&std::mem::take(&mut self.memory))?;
        self.file.insert(file).append(bytes)
    }

    /// Reads what was appended.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn into_reader(self) -> Result<SpoolReader, SqlError> {
        let (memory, end) = (self.memory, self.file.as_ref().map(SpillFile::len));
        let end = end.unwrap_or(memory.len() as u64);
        let file = self.file.map(|mut file| file.reader(0)).transpose()?;
        Ok(SpoolReader { memory, file, at: 0, end })
    }
}

/// Reads packets.
pub struct SpoolReader {
    memory: Vec<u8>,
    file: Option<SpillReader>,
    at: u64,
    end: u64,
}

impl SpoolReader {
    /// Puts the next packet with all its pieces into `out`; false at the end.
    ///
    /// # Errors
    /// The disk fails, or the bytes are no packets.
    pub fn next_packet(&mut self, out: &mut Vec<u8>) -> Result<bool, SqlError> {
        out.clear();
        if self.at == self.end {
            return Ok(false);
        }
        loop {
            let start = out.len();
            self.read(HEADER_BYTES, out)?;
            let &[a, b, c, _] = &out[start..] else {
                return Err(SqlError::Storage(Error::Internal("a kept packet without a header")));
            };
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            self.read(length, out)?;
            if length < PIECE_BYTES_MAX {
                return Ok(true);
            }
        }
    }

    fn read(&mut self, n: usize, out: &mut Vec<u8>) -> Result<(), SqlError> {
        let from = self.at as usize;
        self.at += n as u64;
        match &mut self.file {
            Some(file) => file.read(n, out),
            None => match self.memory.get(from..from + n) {
                Some(bytes) => {
                    out.extend_from_slice(bytes);
                    Ok(())
                }
                None => Err(SqlError::Storage(Error::Internal("a kept packet is cut off"))),
            },
        }
    }
}
