//! The data folder on a real file system.
//!
//! 1. One server per folder: the lock file's `flock` is held as long as the [`RealDisk`] lives,
//!    and the kernel drops it when the process dies, however it dies.
//! 2. `O_DIRECT` is used when a trial write in this folder has worked; otherwise I/O goes through
//!    the page cache, with the same guarantees after `fdatasync`.
//! 3. Operations on files go through [`watched`], but those on folders and the lock file.

use std::fmt;
use std::fs::{self, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instrument::{FileHandle, Operation};

use crate::FlushMethod;
use crate::aligned::AlignedBuf;
use crate::disk::{BLOCK_BYTES, Disk, File, OpenMode, check_blocks, check_name};
use crate::watched;
use sync::Mutex;

instrument::classes! {
    static FOLDERS: MutexClass = "wait/synch/mutex/host/data_folders";
}

/// Name of the lock file inside the data folder.
pub const LOCK_NAME: &str = "limpid.lock";

/// Where the redo log's files lie.
const LOG_FOLDER: &str = "redo/";

/// Permission bits of new files: the owner, and the group for reading.
const FILE_MODE: u32 = 0o640;
/// Permission bits of new folders.
const DIR_MODE: u32 = 0o750;

/// Why a data folder cannot be used.
#[derive(Debug)]
pub enum OpenError {
    /// Another process holds the lock.
    Locked {
        /// The data folder.
        path: PathBuf,
        /// The holder's process id, when the lock file tells it.
        pid: Option<u32>,
    },
    /// This user may not read or write there.
    Denied {
        /// What was refused.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The path exists and is no folder.
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// Anything else.
    Io {
        /// What was attempted upon.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl OpenError {
    fn from_io(path: &Path, source: io::Error) -> OpenError {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                OpenError::Denied { path, source }
            }
            io::ErrorKind::NotADirectory => OpenError::NotAFolder { path },
            _ => OpenError::Io { path, source },
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Locked { path, pid: Some(pid) } => {
                write!(f, "data folder {} is in use by process {pid}", path.display())
            }
            OpenError::Locked { path, pid: None } => {
                write!(f, "data folder {} is in use by another process", path.display())
            }
            OpenError::Denied { path, source } => {
                write!(f, "no permission for {}: {source}", path.display())
            }
            OpenError::NotAFolder { path } => write!(f, "{} is no folder", path.display()),
            OpenError::Io { path, source } => write!(f, "cannot use {}: {source}", path.display()),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Denied { source, .. } | OpenError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// A data folder, locked for this process.
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
    direct: bool,
    /// Log writes are durable by themselves.
    log_dsync: bool,
    /// The folder and those in it, each behind the one it is in: nobody else makes any. They are not looked for, as there
    /// may be many files beside them.
    folders: Mutex<Vec<PathBuf>>,
    // Held for its flock.
    _lock: fs::File,
}

impl RealDisk {
    /// Locks a data folder, making it when it is missing (its parent must exist).
    pub fn open(path: impl AsRef<Path>) -> Result<Arc<RealDisk>, OpenError> {
        RealDisk::open_as(path, FlushMethod::default())
    }

    /// As [`RealDisk::open`]; files are opened as the method says.
    pub fn open_as(
        path: impl AsRef<Path>,
        method: FlushMethod,
    ) -> Result<Arc<RealDisk>, OpenError> {
        let root = path.as_ref().to_path_buf();
        let made = fs::DirBuilder::new().mode(DIR_MODE).create(&root);
        match made {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(OpenError::from_io(&root, e));
            }
            _ => {}
        }
        // Listing tells an unreadable folder now rather than in the middle of recovery.
        fs::read_dir(&root).map_err(|e| OpenError::from_io(&root, e))?;
        let lock = take_lock(&root)?;
        let direct = try_direct(&root.join(LOCK_NAME)) && method.is_direct();
        let log_dsync = method == FlushMethod::ODsync;
        // Files are known by their full names, wherever the server was started.
        let root = fs::canonicalize(&root).unwrap_or(root);
        let mut folders = vec![root.clone()];
        Self::find_folders(&mut folders, &root).map_err(|e| OpenError::from_io(&root, e))?;
        let folders = Mutex::new(&FOLDERS, folders);
        Ok(Arc::new(RealDisk { root, direct, log_dsync, folders, _lock: lock }))
    }

    /// True when file I/O bypasses the page cache.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    fn full(&self, name: &str) -> io::Result<PathBuf> {
        check_name(name)?;
        Ok(self.root.join(name))
    }

    fn list_into(&self, folder: &str, names: &mut Vec<String>) -> io::Result<()> {
        for entry in fs::read_dir(self.root.join(folder))? {
            let entry = entry?;
            let Ok(part) = entry.file_name().into_string() else { continue };
            let name = if folder.is_empty() { part } else { format!("{folder}/{part}") };
            if entry.file_type()?.is_dir() {
                self.list_into(&name, names)?;
            } else if name != LOCK_NAME {
                names.push(name);
            }
        }
        Ok(())
    }

    fn find_folders(found: &mut Vec<PathBuf>, path: &Path) -> io::Result<()> {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                found.push(entry.path());
                Self::find_folders(found, &entry.path())?;
            }
        }
        Ok(())
    }
}

/// Opens the lock file and takes its lock without waiting.
fn take_lock(root: &Path) -> Result<fs::File, OpenError> {
    let path = root.join(LOCK_NAME);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
    let mut file = options.open(&path).map_err(|e| OpenError::from_io(&path, e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let mut text = [0u8; 64];
            let got = file.read(&mut text).unwrap_or(0);
            Err(OpenError::Locked { path: root.to_path_buf(), pid: pid_in(&text[..got]) })
        }
        Err(TryLockError::Error(e)) => Err(OpenError::from_io(&path, e)),
    }
}

/// The process id in a lock file's first line, `pid N`.
fn pid_in(text: &[u8]) -> Option<u32> {
    let line = std::str::from_utf8(text.split(|b| *b == b'\n').next()?).ok()?;
    line.strip_prefix("pid ")?.parse().ok()
}

/// Writes this process's id into the lock file, in a direct write if the file system takes one.
/// Returns true when it did. The lock does not depend on the text, so errors are no failure.
fn try_direct(path: &Path) -> bool {
    let mut block = AlignedBuf::zeroed(BLOCK_BYTES);
    let text = format!("pid {}\n", std::process::id());
    block[..text.len()].copy_from_slice(text.as_bytes());
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_DIRECT);
    let direct = options.open(path).and_then(|file| {
        file.write_all_at(&block, 0)?;
        file.read_exact_at(&mut block, 0)
    });
    if direct.is_ok() {
        return true;
    }
    if let Ok(file) = OpenOptions::new().write(true).open(path) {
        let _ = file.write_all_at(&block, 0);
    }
    false
}

impl Disk for RealDisk {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let path = self.full(name)?;
        let mut options = OpenOptions::new();
        options.read(true).write(mode != OpenMode::Read).mode(FILE_MODE);
        options.create_new(mode == OpenMode::Create);
        let direct = if self.direct { libc::O_DIRECT } else { 0 };
        let dsync = self.log_dsync && name.starts_with(LOG_FOLDER);
        options.custom_flags(direct | if dsync { libc::O_DSYNC } else { 0 });
        let (file, handle) = watched::open(watched::class_of(name), &path, || options.open(&path))?;
        let atomic_bytes = if self.direct { atomic_write_unit(&file) } else { 0 };
        let file = ManuallyDrop::new(file);
        Ok(Arc::new(RealFile { name: name.to_string(), file, handle, atomic_bytes }))
    }

    fn create_dir(&self, name: &str) -> io::Result<()> {
        let path = self.full(name)?;
        match fs::DirBuilder::new().mode(DIR_MODE).create(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            other => other?,
        }
        let mut folders = self.folders.lock();
        if !folders.contains(&path) {
            folders.push(path);
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        watched::remove(watched::class_of(name), &self.full(name)?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        watched::rename(watched::class_of(from), &self.full(from)?, &self.full(to)?)
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        let path = self.full(name)?;
        match watched::by_name(watched::class_of(name), Operation::Stat, &path, || {
            fs::metadata(&path)
        }) {
            Ok(found) => Ok(found.is_file()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        self.list_into("", &mut names)?;
        names.sort();
        Ok(names)
    }

    fn sync_dir(&self) -> io::Result<()> {
        // A folder is in the list before anything lies in it; nobody waits for another's sync.
        let folders = self.folders.lock().clone();
        sync::before_io();
        folders.iter().rev().try_for_each(|folder| fs::File::open(folder)?.sync_all())
    }
}

/// An open file of a [`RealDisk`].
struct RealFile {
    name: String,
    /// Closed by `drop`, and by nobody else.
    file: ManuallyDrop<fs::File>,
    handle: FileHandle,
    atomic_bytes: usize,
}

impl Drop for RealFile {
    fn drop(&mut self) {
        let close = || {
            // SAFETY: nobody uses the file after this, which runs once.
            unsafe { ManuallyDrop::drop(&mut self.file) };
            Ok(())
        };
        let _ = watched::other(&self.handle, Operation::Close, close);
    }
}

/// The longest direct write that reaches the disk wholly or not at all, in bytes; 0 = there is none
/// or the kernel does not know.
fn atomic_write_unit(file: &fs::File) -> usize {
    const STATX_WRITE_ATOMIC: u32 = 0x1_0000;
    /// `struct statx` and where `stx_mask` and `stx_atomic_write_unit_max` lie in it.
    const BYTES: usize = 256;
    const MASK_AT: usize = 0;
    const UNIT_MAX_AT: usize = 0xac;
    let mut answer = [0u8; BYTES];
    // SAFETY: the path is a C string, and the answer has the size that the kernel fills.
    let failed = unsafe {
        libc::syscall(
            libc::SYS_statx,
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            STATX_WRITE_ATOMIC,
            answer.as_mut_ptr(),
        )
    } != 0;
    let number = |at: usize| {
        u32::from_ne_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]])
    };
    if failed || number(MASK_AT) & STATX_WRITE_ATOMIC == 0 {
        return 0;
    }
    number(UNIT_MAX_AT) as usize
}

/// The unit of `st_blocks`, whatever the file system's own.
const STAT_BLOCK_BYTES: u64 = 512;

/// `fallocate` of a range; `false`: the file system or the kernel has no such thing.
fn fallocate(file: &fs::File, mode: libc::c_int, at: u64, bytes: u64) -> io::Result<bool> {
    let end = at.checked_add(bytes).and_then(|end| libc::off_t::try_from(end).ok());
    if end.is_none() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    loop {
        // SAFETY: no memory is handed over, and both numbers fit (`end` does).
        let done = unsafe {
            libc::fallocate(file.as_raw_fd(), mode, at as libc::off_t, bytes as libc::off_t)
        };
        if done == 0 {
            return Ok(true);
        }
        let e = io::Error::last_os_error();
        match e.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EPERM) => return Ok(false),
            _ => return Err(e),
        }
    }
}

/// Reads until the memory is full or the file ends.
fn read_blocks(file: &fs::File, buf: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buf.len() {
        match file.read_at(&mut buf[done..], at + done as u64) {
            Ok(0) => break,
            // A direct read that stops inside a block has met the end of the file.
            Ok(n) if !n.is_multiple_of(BLOCK_BYTES) => return Ok(done + n),
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// Writes all bytes or none.
fn write_whole(file: &fs::File, buf: &[u8], at: u64) -> io::Result<()> {
    const RWF_ATOMIC: libc::c_int = 0x40;
    let part = libc::iovec { iov_base: buf.as_ptr().cast_mut().cast(), iov_len: buf.len() };
    loop {
        // SAFETY: one part, whose bytes are only read and live until the call returns.
        let wrote =
            unsafe { libc::pwritev2(file.as_raw_fd(), &part, 1, at as libc::off_t, RWF_ATOMIC) };
        if wrote == buf.len() as isize {
            return Ok(());
        }
        let e = io::Error::last_os_error();
        match e.kind() {
            _ if wrote >= 0 => return Err(io::Error::from(io::ErrorKind::WriteZero)),
            io::ErrorKind::Interrupted => {}
            _ => return Err(e),
        }
    }
}

impl RealFile {
    fn metadata(&self) -> io::Result<fs::Metadata> {
        watched::other(&self.handle, Operation::Stat, || self.file.metadata())
    }
}

impl File for RealFile {
    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        check_blocks(&self.name, buf.as_ptr(), buf.len(), at)?;
        let read = || read_blocks(&self.file, buf, at);
        watched::operation(&self.handle, Operation::Read, read, |got| *got)
    }

    fn write_at(&self, buf: &[u8], at: u64) -> io::Result<()> {
        check_blocks(&self.name, buf.as_ptr(), buf.len(), at)?;
        let write = || self.file.write_all_at(buf, at);
        watched::operation(&self.handle, Operation::Write, write, |()| buf.len())
    }

    fn sync_data(&self) -> io::Result<()> {
        watched::other(&self.handle, Operation::Sync, || self.file.sync_data())
    }

    fn atomic_write_bytes(&self) -> usize {
        self.atomic_bytes
    }

    fn write_atomic(&self, buf: &[u8], at: u64) -> io::Result<()> {
        if buf.len() > self.atomic_bytes {
            return self.write_at(buf, at);
        }
        check_blocks(&self.name, buf.as_ptr(), buf.len(), at)?;
        let write = || write_whole(&self.file, buf, at);
        watched::operation(&self.handle, Operation::Write, write, |()| buf.len())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        watched::other(&self.handle, Operation::ChangeSize, || self.file.set_len(bytes))
    }

    fn give_back(&self, at: u64, bytes: u64) -> io::Result<bool> {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        watched::other(&self.handle, Operation::ChangeSize, || {
            fallocate(&self.file, mode, at, bytes)
        })
    }

    fn make_room(&self, at: u64, bytes: u64) -> io::Result<bool> {
        let mode = libc::FALLOC_FL_KEEP_SIZE;
        watched::other(&self.handle, Operation::ChangeSize, || {
            fallocate(&self.file, mode, at, bytes)
        })
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.blocks() * STAT_BLOCK_BYTES)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("limpid-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn files_keep_their_bytes_and_names() {
        let scratch = Scratch::new("bytes");
        let disk = RealDisk::open(&scratch.0).unwrap();
        disk.create_dir("redo").unwrap();
        disk.create_dir("redo").unwrap();
        let file = disk.open("redo/a", OpenMode::Create).unwrap();
        assert_eq!(
            disk.open("redo/a", OpenMode::Create).err().unwrap().kind(),
            io::ErrorKind::AlreadyExists
        );
        let mut buf = AlignedBuf::zeroed(2 * BLOCK_BYTES);
        buf.fill(0x5a);
        file.write_at(&buf, BLOCK_BYTES as u64).unwrap();
        file.sync_data().unwrap();
        assert_eq!(file.len().unwrap(), 3 * BLOCK_BYTES as u64);
        let mut back = AlignedBuf::zeroed(4 * BLOCK_BYTES);
        assert_eq!(file.read_at(&mut back, 0).unwrap(), 3 * BLOCK_BYTES);
        assert_eq!(back[BLOCK_BYTES..3 * BLOCK_BYTES], buf[..]);
        assert!(file.read_exact_at(&mut back, 0).unwrap_err().to_string().contains("redo/a"));
        disk.rename("redo/a", "b").unwrap();
        disk.sync_dir().unwrap();
        assert_eq!(disk.list().unwrap(), ["b"]);
        assert!(disk.exists("b").unwrap() && !disk.exists("redo/a").unwrap());
        disk.remove("b").unwrap();
        assert!(disk.list().unwrap().is_empty());
    }

    #[test]
    fn room_is_given_back_and_taken_again() {
        const BLOCK: u64 = BLOCK_BYTES as u64;
        let scratch = Scratch::new("room");
        let disk = RealDisk::open(&scratch.0).unwrap();
        let file = disk.open("a", OpenMode::Create).unwrap();
        let mut buf = AlignedBuf::zeroed(256 * BLOCK_BYTES);
        buf.fill(7);
        file.write_at(&buf, 0).unwrap();
        file.sync_data().unwrap();
        let full = file.allocated_bytes().unwrap();
        assert!(full >= 256 * BLOCK);
        if !file.give_back(64 * BLOCK, 128 * BLOCK).unwrap() {
            eprintln!("this file system gives nothing back");
            return;
        }
        assert_eq!(file.len().unwrap(), 256 * BLOCK);
        assert!(file.allocated_bytes().unwrap() <= full - 120 * BLOCK);
        file.read_exact_at(&mut buf, 0).unwrap();
        for (n, block) in buf.chunks(BLOCK_BYTES).enumerate() {
            let value = if (64..192).contains(&n) { 0 } else { 7 };
            assert!(block.iter().all(|b| *b == value), "block {n}");
        }
        // What is there stays when room is made for the rest.
        if file.make_room(0, 128 * BLOCK).unwrap() {
            assert!(file.allocated_bytes().unwrap() > full - 72 * BLOCK);
        }
        file.read_exact_at(&mut buf, 0).unwrap();
        assert_eq!((buf[0], buf[100 * BLOCK_BYTES]), (7, 0));
        assert!(file.give_back(u64::MAX - 5, 4096).is_err());
    }

    #[test]
    fn refuses_what_direct_io_would_refuse() {
        let scratch = Scratch::new("unaligned");
        let disk = RealDisk::open(&scratch.0).unwrap();
        let file = disk.open("a", OpenMode::Create).unwrap();
        let buf = AlignedBuf::zeroed(BLOCK_BYTES);
        assert!(file.write_at(&buf[..512], 0).is_err());
        assert!(file.write_at(&buf, 512).is_err());
        assert!(disk.open("../a", OpenMode::Create).is_err());
        assert!(disk.open("/tmp/a", OpenMode::Create).is_err());
    }

    #[test]
    fn every_flush_method_keeps_bytes() {
        for method in FlushMethod::ALL {
            let scratch = Scratch::new(method.name());
            let disk = RealDisk::open_as(&scratch.0, method).unwrap();
            assert!(!disk.is_direct() || method.is_direct());
            disk.create_dir("redo").unwrap();
            for name in ["redo/a", "b"] {
                let file = disk.open(name, OpenMode::Create).unwrap();
                let mut buf = AlignedBuf::zeroed(4 * BLOCK_BYTES);
                buf.fill(9);
                // Where the device promises nothing this is an ordinary write.
                file.write_atomic(&buf, 4 * BLOCK_BYTES as u64).unwrap();
                file.sync_data().unwrap();
                let mut back = AlignedBuf::zeroed(8 * BLOCK_BYTES);
                assert_eq!(file.read_at(&mut back, 0).unwrap(), 8 * BLOCK_BYTES);
                assert_eq!(back[4 * BLOCK_BYTES..], buf[..]);
            }
        }
    }

    #[test]
    fn a_second_server_is_told_who_holds_the_folder() {
        let scratch = Scratch::new("lock");
        let first = RealDisk::open(&scratch.0).unwrap();
        match RealDisk::open(&scratch.0) {
            Err(OpenError::Locked { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        drop(first);
        RealDisk::open(&scratch.0).unwrap();
    }

    #[test]
    fn a_file_in_the_folders_place_is_refused() {
        let scratch = Scratch::new("file");
        fs::write(&scratch.0, b"x").unwrap();
        let e = RealDisk::open(&scratch.0).unwrap_err();
        assert!(matches!(e, OpenError::NotAFolder { .. }), "{e}");
        fs::remove_file(&scratch.0).unwrap();
    }

    #[test]
    fn a_missing_parent_is_an_error_with_its_path() {
        let e = RealDisk::open("/nonexistent-limpid/data").unwrap_err();
        assert!(e.to_string().contains("/nonexistent-limpid/data"), "{e}");
    }
}
