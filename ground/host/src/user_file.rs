//! Files that are read or written from their beginning to their end: those that statements name (LOAD DATA, INTO OUTFILE) and
//! the server's logs of text. None is simulated.
//!
//! 1. Nothing here is durable before the operating system makes it so. 2. A file that a statement names and that is there
//! already is never written over. 3. Operations are counted by an instrument ([`watched`]).

use crate::watched;
use instrument::{Class, FileHandle, Operation};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// An open file.
#[derive(Debug)]
pub struct UserFile {
    /// Closed by `drop`, and by nobody else.
    file: ManuallyDrop<File>,
    handle: FileHandle,
}

impl UserFile {
    fn open_as(class: &'static Class, path: &Path, options: &OpenOptions) -> io::Result<UserFile> {
        // One file has one name, whatever way leads to it.
        let whole = std::path::absolute(path)?;
        let (file, handle) = watched::open(class, &whole, || options.open(path))?;
        Ok(UserFile { file: ManuallyDrop::new(file), handle })
    }
}

impl Drop for UserFile {
    fn drop(&mut self) {
        let close = || {
            // SAFETY: nobody uses the file after this, which runs once.
            unsafe { ManuallyDrop::drop(&mut self.file) };
            Ok(())
        };
        let _ = watched::other(&self.handle, Operation::Close, close);
    }
}

impl Read for UserFile {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut file: &File = &self.file;
        watched::operation(&self.handle, Operation::Read, || file.read(buf), |n| *n)
    }
}

impl Write for UserFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut file: &File = &self.file;
        watched::operation(&self.handle, Operation::Write, || file.write(buf), |n| *n)
    }

    fn flush(&mut self) -> io::Result<()> {
        // Nothing is kept back.
        Ok(())
    }
}

/// Opens a file that is there, to read it.
///
/// # Errors
/// What the operating system says.
pub fn open(path: &Path) -> io::Result<UserFile> {
    UserFile::open_as(watched::LOAD.class(), path, OpenOptions::new().read(true))
}

/// Makes a file that others may not read; fails when it is there.
///
/// # Errors
/// What the operating system says.
pub fn create(path: &Path) -> io::Result<UserFile> {
    let options = OpenOptions::new().write(true).create_new(true).mode(0o640).clone();
    UserFile::open_as(watched::SELECT_TO_FILE.class(), path, &options)
}

/// Opens a file to write behind what it holds; makes it if it is not there.
///
/// # Errors
/// What the operating system says.
pub fn append(class: &'static Class, path: &Path) -> io::Result<UserFile> {
    UserFile::open_as(class, path, OpenOptions::new().create(true).append(true))
}

/// Removes a file that [`create`] made.
///
/// # Errors
/// What the operating system says.
pub fn remove(path: &Path) -> io::Result<()> {
    watched::remove(watched::SELECT_TO_FILE.class(), &std::path::absolute(path)?)
}

/// Whether a file's folder is `folder` or below it, links followed.
pub fn is_below(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    match (path.parent().and_then(real), real(folder)) {
        (Some(parent), Some(folder)) => parent.starts_with(folder),
        _ => false,
    }
}
