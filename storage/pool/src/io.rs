//! File operations of the pool, counted for SHOW STATUS.

use base::{Error, Result};
use host::File;
use instrument::Counter;

/// Reads what the file has of the range; the rest becomes zero.
pub(crate) fn read_or_zero(file: &dyn File, buf: &mut [u8], at: u64) -> Result<()> {
    let got = file.read_at(buf, at).map_err(|e| Error::io("read", file.name(), e))?;
    buf[got..].fill(0);
    instrument::count(Counter::InnodbDataReads, 1);
    instrument::count(Counter::InnodbDataRead, got as u64);
    Ok(())
}

/// Writes all bytes.
pub(crate) fn write(file: &dyn File, buf: &[u8], at: u64) -> Result<()> {
    file.write_at(buf, at).map_err(|e| Error::io("write", file.name(), e))?;
    instrument::count(Counter::InnodbDataWrites, 1);
    instrument::count(Counter::InnodbDataWritten, buf.len() as u64);
    Ok(())
}

/// Writes one page wholly or not at all, where the file can (`File::atomic_write_bytes`).
pub(crate) fn write_atomic(file: &dyn File, buf: &[u8], at: u64) -> Result<()> {
    file.write_atomic(buf, at).map_err(|e| Error::io("write", file.name(), e))?;
    instrument::count(Counter::InnodbDataWrites, 1);
    instrument::count(Counter::InnodbDataWritten, buf.len() as u64);
    Ok(())
}

/// Gives the room of a range back; `false`: the system cannot.
pub(crate) fn give_back(file: &dyn File, at: u64, bytes: u64) -> Result<bool> {
    file.give_back(at, bytes).map_err(|e| Error::io("give room back of", file.name(), e))
}

/// Makes room for a range that the file has; `false`: the system cannot promise it.
pub(crate) fn make_room(file: &dyn File, at: u64, bytes: u64) -> Result<bool> {
    file.make_room(at, bytes).map_err(|e| Error::io("make room in", file.name(), e))
}

/// Makes all bytes written before durable.
pub(crate) fn sync_data(file: &dyn File) -> Result<()> {
    file.sync_data().map_err(|e| Error::io("fdatasync", file.name(), e))?;
    instrument::count(Counter::InnodbDataFsyncs, 1);
    Ok(())
}
