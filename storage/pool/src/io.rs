//! File operations of the pool, counted and timed under their Performance Schema classes.

use base::{Error, Result};
use host::File;
use instrument::{Counter, FileClass};

static DATA_FILE: FileClass = FileClass::new("wait/io/file/innodb/innodb_data_file");
static DOUBLEWRITE_FILE: FileClass = FileClass::new("wait/io/file/innodb/innodb_dblwr_file");

/// Which file an operation is on.
#[derive(Clone, Copy)]
pub(crate) enum Of {
    Data,
    Doublewrite,
}

fn timed<T>(of: Of, f: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
    let class = match of {
        Of::Data => &DATA_FILE,
        Of::Doublewrite => &DOUBLEWRITE_FILE,
    };
    if !class.timed() {
        instrument::hit(class);
        return f();
    }
    let start = sync::now_ns();
    let result = f();
    instrument::completed(class, sync::now_ns().saturating_sub(start));
    result
}

/// Reads what the file has of the range; the rest becomes zero.
pub(crate) fn read_or_zero(file: &dyn File, buf: &mut [u8], at: u64) -> Result<()> {
    let got =
        timed(Of::Data, || file.read_at(buf, at)).map_err(|e| Error::io("read", file.name(), e))?;
    buf[got..].fill(0);
    instrument::count(Counter::InnodbDataReads, 1);
    instrument::count(Counter::InnodbDataRead, got as u64);
    Ok(())
}

/// Writes all bytes.
pub(crate) fn write(of: Of, file: &dyn File, buf: &[u8], at: u64) -> Result<()> {
    timed(of, || file.write_at(buf, at)).map_err(|e| Error::io("write", file.name(), e))?;
    instrument::count(Counter::InnodbDataWrites, 1);
    instrument::count(Counter::InnodbDataWritten, buf.len() as u64);
    Ok(())
}

/// Writes one page wholly or not at all, where the file can (`File::atomic_write_bytes`).
pub(crate) fn write_atomic(file: &dyn File, buf: &[u8], at: u64) -> Result<()> {
    timed(Of::Data, || file.write_atomic(buf, at))
        .map_err(|e| Error::io("write", file.name(), e))?;
    instrument::count(Counter::InnodbDataWrites, 1);
    instrument::count(Counter::InnodbDataWritten, buf.len() as u64);
    Ok(())
}

/// Gives the room of a range back; `false`: the system cannot.
pub(crate) fn give_back(file: &dyn File, at: u64, bytes: u64) -> Result<bool> {
    timed(Of::Data, || file.give_back(at, bytes))
        .map_err(|e| Error::io("give room back of", file.name(), e))
}

/// Makes room for a range that the file has; `false`: the system cannot promise it.
pub(crate) fn make_room(file: &dyn File, at: u64, bytes: u64) -> Result<bool> {
    timed(Of::Data, || file.make_room(at, bytes))
        .map_err(|e| Error::io("make room in", file.name(), e))
}

/// Makes all bytes written before durable.
pub(crate) fn sync_data(of: Of, file: &dyn File) -> Result<()> {
    timed(of, || file.sync_data()).map_err(|e| Error::io("fdatasync", file.name(), e))?;
    instrument::count(Counter::InnodbDataFsyncs, 1);
    Ok(())
}
