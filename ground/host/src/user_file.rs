//! Files of users, which statements name (LOAD DATA, INTO OUTFILE): none of the server's own, and not simulated.
//!
//! 1. Nothing here is durable before the operating system makes it so. 2. A file that is there already is never
//!    written over.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// An open file.
pub type UserFile = std::fs::File;

/// Opens a file that is there, to read it.
///
/// # Errors
/// What the operating system says.
pub fn open(path: &Path) -> io::Result<UserFile> {
    UserFile::open(path)
}

/// Makes a file that others may not read; fails when it is there.
///
/// # Errors
/// What the operating system says.
pub fn create(path: &Path) -> io::Result<UserFile> {
    OpenOptions::new().write(true).create_new(true).mode(0o640).open(path)
}

/// Removes a file.
///
/// # Errors
/// What the operating system says.
pub fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// Whether a file's folder is `folder` or below it, links followed.
pub fn is_below(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    match (path.parent().and_then(real), real(folder)) {
        (Some(parent), Some(folder)) => parent.starts_with(folder),
        _ => false,
    }
}
