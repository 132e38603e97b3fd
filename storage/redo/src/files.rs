//! The redo files `redo/redo_NNN` as one circular space.
//!
//! 1. Each file is a header block and `data_bytes` of log; log byte `lsn` is at position
//!    `lsn % capacity` of the files' data in order. Positions and lengths of I/O are whole blocks.
//! 2. Files are filled with zeros when they are made, so a later write allocates nothing and its
//!    `fdatasync` has no metadata to journal, and the disk cannot be full.
//! 3. Every header names the log's id and the file's number: a file of another log is refused.

use std::sync::Arc;

use base::{Error, FORMAT_VERSION, Lsn, Result};
use crc_fast::{CrcAlgorithm, checksum};
use host::{AlignedBuf, BLOCK_BYTES, Disk, File, OpenMode};
use instrument::FileClass;
use stdx::bytes::{Put, Reader, Truncated};

static LOG_FILE: FileClass = FileClass::new("wait/io/file/innodb/innodb_log_file");

pub(crate) const FOLDER: &str = "redo";
/// Most files of one log.
pub(crate) const FILES_MAX: u32 = 64;
const MAGIC: [u8; 8] = *b"LIMPIDRL";
const COVERED_FROM: usize = 12;
const BLOCK: u64 = BLOCK_BYTES as u64;
/// With less, a mini-transaction could not hold the images of a few pages; this crate's tests want
/// many laps.
const CAPACITY_MIN: u64 = if cfg!(test) { 256 << 10 } else { 8 << 20 };
/// Bytes of one write while the files are filled with zeros.
const FILL_BYTES: usize = 1 << 20;

/// The shape of a log's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub log_id: u64,
    pub count: u32,
    pub data_bytes: u64,
}

impl Shape {
    /// Files for at least `capacity` bytes: up to 32 MiB each, at most [`FILES_MAX`].
    pub(crate) fn for_capacity(log_id: u64, capacity: u64) -> Shape {
        let capacity = capacity.max(CAPACITY_MIN);
        let wanted = capacity.div_ceil(32 << 20).max(2);
        let count = wanted.min(u64::from(FILES_MAX)) as u32;
        let data_bytes = capacity.div_ceil(u64::from(count)).next_multiple_of(BLOCK);
        Shape { log_id, count, data_bytes }
    }

    pub(crate) fn capacity(&self) -> u64 {
        u64::from(self.count) * self.data_bytes
    }

    fn header(&self, index: u32) -> AlignedBuf {
        let mut out = Vec::new();
        out.extend_from_slice(&MAGIC);
        out.put_u32_le(0);
        out.put_u32_le(FORMAT_VERSION);
        out.put_u64_le(self.log_id);
        out.put_u32_le(index);
        out.put_u32_le(self.count);
        out.put_u64_le(self.data_bytes);
        let mut block = AlignedBuf::zeroed(BLOCK_BYTES);
        block[..out.len()].copy_from_slice(&out);
        let crc = checksum(CrcAlgorithm::Crc32Iscsi, &block[COVERED_FROM..]) as u32;
        block[8..COVERED_FROM].copy_from_slice(&crc.to_le_bytes());
        block
    }

    /// Whether `block` is the header of file `index`; what is wrong with it otherwise.
    fn check_header(&self, index: u32, block: &[u8]) -> std::result::Result<(), String> {
        let cut = |_: Truncated| String::from("its header is cut off");
        let mut r = Reader::new(block);
        if r.take(MAGIC.len()).map_err(cut)? != MAGIC {
            return Err("this is no redo file of Limpid".to_string());
        }
        if r.u32_le().map_err(cut)?
            != checksum(CrcAlgorithm::Crc32Iscsi, &block[COVERED_FROM..]) as u32
        {
            return Err("its header is damaged".to_string());
        }
        let format = r.u32_le().map_err(cut)?;
        if format > FORMAT_VERSION {
            let ours = FORMAT_VERSION;
            return Err(format!("format version {format} is newer than this server's {ours}"));
        }
        let log_id = r.u64_le().map_err(cut)?;
        let found = (r.u32_le().map_err(cut)?, r.u32_le().map_err(cut)?, r.u64_le().map_err(cut)?);
        if log_id != self.log_id || found != (index, self.count, self.data_bytes) {
            return Err("it belongs to another redo log".to_string());
        }
        Ok(())
    }
}

/// The name of file `index`.
pub(crate) fn file_name(index: u32) -> String {
    format!("{FOLDER}/redo_{index:03}")
}

/// The open files.
pub(crate) struct Files {
    shape: Shape,
    files: Vec<Arc<dyn File>>,
}

impl Files {
    /// Makes the files, durable with their names. What an interrupted creation left is replaced.
    pub(crate) fn create(disk: &dyn Disk, shape: Shape) -> Result<Files> {
        disk.create_dir(FOLDER).map_err(|e| Error::io("create the folder", FOLDER, e))?;
        let mut files = Vec::new();
        for index in 0..shape.count {
            let name = file_name(index);
            let file = create_file(disk, &name, shape, index).map_err(|e| {
                if e.kind() == std::io::ErrorKind::StorageFull {
                    Error::NoSpace { path: name.clone() }
                } else {
                    Error::io("create", name.clone(), e)
                }
            });
            match file {
                Ok(file) => files.push(file),
                Err(e) => {
                    // Give the room back: a disk that is full shall not stay full for our sake.
                    for made in 0..=index {
                        let _ = disk.remove(&file_name(made));
                    }
                    return Err(e);
                }
            }
        }
        disk.sync_dir().map_err(|e| Error::io("sync the folder", FOLDER, e))?;
        Ok(Files { shape, files })
    }

    /// Opens the files and checks whose they are.
    pub(crate) fn open(disk: &dyn Disk, shape: Shape) -> Result<Files> {
        let mut files = Vec::new();
        let mut block = AlignedBuf::zeroed(BLOCK_BYTES);
        for index in 0..shape.count {
            let name = file_name(index);
            let file = disk
                .open(&name, OpenMode::ReadWrite)
                .map_err(|e| Error::io("open", name.clone(), e))?;
            let got =
                file.read_at(&mut block, 0).map_err(|e| Error::io("read", name.clone(), e))?;
            block[got..].fill(0);
            let foreign = |what: String| Error::Foreign { path: name.clone(), what };
            shape.check_header(index, &block).map_err(foreign)?;
            let bytes = file.len().map_err(|e| Error::io("measure", name.clone(), e))?;
            if bytes != BLOCK + shape.data_bytes {
                return Err(foreign(format!(
                    "it has {bytes} bytes instead of {}",
                    BLOCK + shape.data_bytes
                )));
            }
            files.push(file);
        }
        Ok(Files { shape, files })
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.shape.capacity()
    }

    pub(crate) fn count(&self) -> u32 {
        self.shape.count
    }

    /// Splits `[lsn, lsn + bytes)` at file ends: (file, offset in it, range of the buffer).
    fn pieces(
        &self,
        lsn: u64,
        bytes: usize,
    ) -> impl Iterator<Item = (usize, u64, std::ops::Range<usize>)> {
        let Shape { count, data_bytes, .. } = self.shape;
        let mut done = 0;
        std::iter::from_fn(move || {
            if done == bytes {
                return None;
            }
            let position = (lsn + done as u64) % (u64::from(count) * data_bytes);
            let (file, at) = ((position / data_bytes) as usize, position % data_bytes);
            let part = (data_bytes - at).min((bytes - done) as u64) as usize;
            let range = done..done + part;
            done += part;
            Some((file, BLOCK + at, range))
        })
    }

    /// Writes whole blocks from `lsn` (a multiple of a block) on; marks the files in `unsynced`.
    pub(crate) fn write(&self, lsn: u64, bytes: &[u8], unsynced: &mut [bool]) -> Result<()> {
        for (file, at, range) in self.pieces(lsn, bytes.len()) {
            unsynced[file] = true;
            let file = &self.files[file];
            timed(|| file.write_at(&bytes[range], at))
                .map_err(|e| Error::io("write", file.name(), e))?;
        }
        Ok(())
    }

    /// Reads whole blocks from `lsn` on.
    pub(crate) fn read(&self, lsn: u64, out: &mut [u8]) -> Result<()> {
        for (file, at, range) in self.pieces(lsn, out.len()) {
            let file = &self.files[file];
            timed(|| file.read_exact_at(&mut out[range], at))
                .map_err(|e| Error::io("read", file.name(), e))?;
        }
        Ok(())
    }

    /// `fdatasync` of the files marked in `unsynced`, whose marks it clears.
    pub(crate) fn sync(&self, unsynced: &mut [bool]) -> Result<()> {
        for (file, mark) in self.files.iter().zip(unsynced) {
            if *mark {
                timed(|| file.sync_data()).map_err(|e| Error::io("fdatasync", file.name(), e))?;
                *mark = false;
            }
        }
        Ok(())
    }
}

/// Counts and times one file operation: they all take microseconds at least.
fn timed<R>(f: impl FnOnce() -> R) -> R {
    let begin = sync::now_ns();
    let result = f();
    instrument::contended(LOG_FILE.class(), sync::now_ns() - begin);
    result
}

fn create_file(
    disk: &dyn Disk,
    name: &str,
    shape: Shape,
    index: u32,
) -> std::io::Result<Arc<dyn File>> {
    if disk.exists(name)? {
        disk.remove(name)?;
    }
    let file = disk.open(name, OpenMode::Create)?;
    file.write_at(&shape.header(index), 0)?;
    let zeros = AlignedBuf::zeroed(FILL_BYTES.min(shape.data_bytes as usize));
    let mut at = 0;
    while at < shape.data_bytes {
        let part = (shape.data_bytes - at).min(zeros.len() as u64);
        file.write_at(&zeros[..part as usize], BLOCK + at)?;
        at += part;
    }
    file.sync_data()?;
    Ok(file)
}

/// The error for a log that contradicts what the control file promises.
pub(crate) fn corrupt(lsn: u64, what: &'static str) -> Error {
    Error::CorruptLog { lsn: Lsn(lsn), what }
}
