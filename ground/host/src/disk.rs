//! What the storage engine asks of a disk.
//!
//! 1. A name is relative, with `/` between folders; no part is empty, `.` or `..`, so no name
//!    leaves the data folder.
//! 2. An error of `sync_data` is final for the caller: the operating system may have dropped the
//!    dirty bytes and may report success the next time, so retrying proves nothing.

use std::io;
use std::sync::Arc;

/// Unit of file I/O in bytes: offsets, lengths and memory addresses are multiples of it.
pub const BLOCK_BYTES: usize = 4096;

/// How [`Disk::open`] opens a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading only.
    Read,
    /// An existing file, for reading and writing.
    ReadWrite,
    /// A new file, for reading and writing; `AlreadyExists` when the name is taken.
    Create,
}

/// A folder of files: the data folder of a server, or its simulation.
pub trait Disk: Send + Sync {
    /// Opens a file. `NotFound` and `AlreadyExists` as [`OpenMode`] says.
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Makes a sub-folder; it is no error when the folder is there.
    fn create_dir(&self, name: &str) -> io::Result<()>;
    /// Removes a file; open handles stay usable until they are dropped.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Gives a file another name, atomically replacing what had that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// True when there is a file of this name.
    fn exists(&self, name: &str) -> io::Result<bool>;
    /// Names of all files, of sub-folders too (`redo/control`), sorted; the lock file excepted.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes every creation, removal and renaming so far durable, in the sub-folders too.
    fn sync_dir(&self) -> io::Result<()>;
}

/// An open file. Shared by threads; every call names its offset.
pub trait File: Send + Sync {
    /// Reads at byte offset `at`; a result shorter than `buf` means the file ends there.
    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize>;
    /// Writes all of `buf` at byte offset `at`; the file grows when it must
    /// (`StorageFull` when it cannot).
    fn write_at(&self, buf: &[u8], at: u64) -> io::Result<()>;
    /// `fdatasync`: returns when all bytes written before the call are durable. After an error
    /// nothing may be assumed of the bytes written since the last success.
    fn sync_data(&self) -> io::Result<()>;
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// True when the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Cuts the file, or extends it by zero bytes that take no room yet.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// How many bytes, at an offset that is a multiple of it, [`File::write_atomic`] writes wholly
    /// or not at all, whatever happens; 0 = the device promises nothing.
    fn atomic_write_bytes(&self) -> usize {
        0
    }
    /// Writes all of `buf` at byte offset `at`: wholly or not at all, if it is not longer than
    /// [`File::atomic_write_bytes`].
    fn write_atomic(&self, buf: &[u8], at: u64) -> io::Result<()> {
        self.write_at(buf, at)
    }
    /// Gives the room of a range of whole blocks back to the file system; it reads as zeroes then, and
    /// the length stays. `false`: the system cannot do that, and nothing has changed. Until the next
    /// `sync_data` a crash may bring each block back as it was; after an error each is as it was, or gone.
    fn give_back(&self, _at: u64, _bytes: u64) -> io::Result<bool> {
        Ok(false)
    }
    /// Makes sure that all blocks of a range of the file have room, so that no later write there meets a
    /// full disk; what they hold stays. `false`: the system cannot promise that.
    fn make_room(&self, _at: u64, _bytes: u64) -> io::Result<bool> {
        Ok(false)
    }
    /// How many bytes of the file system its blocks take.
    fn allocated_bytes(&self) -> io::Result<u64> {
        self.len()
    }
    /// The name it was opened by, for messages.
    fn name(&self) -> &str;

    /// Reads exactly `buf.len()` bytes; `UnexpectedEof` when the file is shorter.
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        let got = self.read_at(buf, at)?;
        if got == buf.len() {
            return Ok(());
        }
        let what = format!(
            "{}: the file ends {} bytes into a read of {} bytes at offset {at}",
            self.name(),
            got,
            buf.len()
        );
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, what))
    }
}

/// Refuses I/O that is not in whole, aligned blocks: one rule for every kind of disk.
pub(crate) fn check_blocks(name: &str, memory: *const u8, bytes: usize, at: u64) -> io::Result<()> {
    let block = BLOCK_BYTES as u64;
    if (memory as usize).is_multiple_of(BLOCK_BYTES)
        && bytes.is_multiple_of(BLOCK_BYTES)
        && at.is_multiple_of(block)
    {
        return Ok(());
    }
    let what = format!(
        "{name}: I/O of {bytes} bytes at offset {at} (memory {memory:p}) is not in blocks of \
         {BLOCK_BYTES}"
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Refuses names that could leave the data folder.
pub(crate) fn check_name(name: &str) -> io::Result<()> {
    let ok = !name.is_empty()
        && !name.contains('\0')
        && name.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    if ok {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no file name")))
}
