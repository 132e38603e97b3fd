//! Where operations on real files and on sockets are counted: each passes through here.
//!
//! 1. What kind of file it is, is told by its name in the data folder (docs/data-files.md), or by who opens a file of its own.
//! 2. An operation on a file counts when it fails, too; its bytes are those that were moved. One on a socket that fails, as
//! there is nothing to read or no room, does not.

use instrument::{Class, FileClass, FileHandle, Operation, SocketHandle};
use std::io;
use std::path::Path;

instrument::classes! {
    static DATA_FILE: FileClass = "wait/io/file/innodb/innodb_data_file";
    static LOG_FILE: FileClass = "wait/io/file/innodb/innodb_log_file";
    static DOUBLEWRITE_FILE: FileClass = "wait/io/file/innodb/innodb_dblwr_file";
    static POOL_DUMP: FileClass = "wait/io/file/innodb/buf_dump_file";
    static TEMPORARY: FileClass = "wait/io/file/sql/io_cache";
    /// The error log.
    pub static ERROR_LOG: FileClass = "wait/io/file/sql/error_log";
    /// The general log.
    pub static GENERAL_LOG: FileClass = "wait/io/file/sql/query_log";
    /// The slow log.
    pub static SLOW_LOG: FileClass = "wait/io/file/sql/slow_log";
    /// Files that LOAD DATA reads.
    pub static LOAD: FileClass = "wait/io/file/sql/load";
    /// Files that SELECT ... INTO writes.
    pub static SELECT_TO_FILE: FileClass = "wait/io/file/sql/select_to_file";
}

/// How names of the data folder begin, and which files they are; any other is a data file.
static KINDS: [(&str, &FileClass); 4] = [
    ("redo/", &LOG_FILE),
    ("doublewrite_", &DOUBLEWRITE_FILE),
    ("ib_buffer_pool", &POOL_DUMP),
    ("limpid-temporary-", &TEMPORARY),
];

/// The instrument of a file of the data folder.
pub(crate) fn class_of(name: &str) -> &'static Class {
    let found = KINDS.iter().find(|(prefix, _)| name.starts_with(prefix));
    found.map_or(&DATA_FILE, |(_, class)| class).class()
}

/// Does something, and says how long it took if a class is timed.
fn timed<T>(class: &'static Class, f: impl FnOnce() -> T) -> (T, Option<u64>) {
    let start_ns = class.timed().then(sync::now_ns);
    let result = f();
    (result, start_ns.map(|start_ns| sync::now_ns().saturating_sub(start_ns)))
}

/// Does something to an open file; `bytes` says how many that moved.
#[inline]
pub(crate) fn operation<T>(
    handle: &FileHandle,
    operation: Operation,
    f: impl FnOnce() -> io::Result<T>,
    bytes: impl FnOnce(&T) -> usize,
) -> io::Result<T> {
    sync::before_io();
    let Some(class) = handle.counted() else { return f() };
    let (result, ns) = timed(class, f);
    let moved = result.as_ref().map_or(0, bytes);
    handle.add(operation, ns, moved as u64);
    result
}

/// Does something to an open file that is neither reading nor writing.
pub(crate) fn other<T>(
    handle: &FileHandle,
    what: Operation,
    f: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    operation(handle, what, f, |_| 0)
}

/// Opens a file, and knows it if that succeeds.
pub(crate) fn open<T>(
    class: &'static Class,
    path: &Path,
    f: impl FnOnce() -> io::Result<T>,
) -> io::Result<(T, FileHandle)> {
    sync::before_io();
    class.id();
    let (opened, ns) = timed(class, f);
    let file = opened?;
    let handle = FileHandle::open(class, &path.to_string_lossy());
    if handle.counted().is_some() {
        handle.add(Operation::Open, ns, 0);
    }
    Ok((file, handle))
}

/// Does something to a file by its name that is neither reading nor writing.
pub(crate) fn by_name<T>(
    class: &'static Class,
    operation: Operation,
    path: &Path,
    f: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    sync::before_io();
    class.id();
    let (result, ns) = timed(class, f);
    if class.enabled() {
        instrument::add_by_name(class, &path.to_string_lossy(), operation, ns);
    }
    result
}

/// Removes a file.
pub(crate) fn remove(class: &'static Class, path: &Path) -> io::Result<()> {
    by_name(class, Operation::Delete, path, || std::fs::remove_file(path))?;
    instrument::file_removed(&path.to_string_lossy());
    Ok(())
}

/// Gives a file another name.
pub(crate) fn rename(class: &'static Class, from: &Path, to: &Path) -> io::Result<()> {
    by_name(class, Operation::Rename, from, || std::fs::rename(from, to))?;
    instrument::file_renamed(&from.to_string_lossy(), &to.to_string_lossy());
    Ok(())
}

/// Does something to a socket; `bytes` says how many that moved.
#[inline(always)]
pub fn on_socket<T, E>(
    handle: Option<&SocketHandle>,
    operation: Operation,
    f: impl FnOnce() -> Result<T, E>,
    bytes: impl FnOnce(&T) -> usize,
) -> Result<T, E> {
    let counted = handle.and_then(|handle| handle.counted().map(|class| (handle, class)));
    match counted {
        None => f(),
        Some(counted) => on_counted_socket(counted, operation, f, bytes),
    }
}

#[cold]
#[inline(never)]
fn on_counted_socket<T, E>(
    (handle, class): (&SocketHandle, &'static Class),
    operation: Operation,
    f: impl FnOnce() -> Result<T, E>,
    bytes: impl FnOnce(&T) -> usize,
) -> Result<T, E> {
    let (result, ns) = timed(class, f);
    if let Ok(done) = &result {
        handle.add(operation, ns, bytes(done) as u64);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_files_are() {
        let name = |file| class_of(file).name().rsplit_once('/').unwrap().1;
        assert_eq!(name("redo/#ib_redo7"), "innodb_log_file");
        assert_eq!(name("redo/control"), "innodb_log_file");
        assert_eq!(name("doublewrite_0"), "innodb_dblwr_file");
        assert_eq!(name("limpid-temporary-3-0"), "io_cache");
        assert_eq!(name("ib_buffer_pool.incomplete"), "buf_dump_file");
        assert_eq!(name("space_00000016.lim"), "innodb_data_file");
    }
}
