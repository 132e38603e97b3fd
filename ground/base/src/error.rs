//! Everything that can go wrong below SQL, as one type.
//!
//! 1. An error names its place: the page and offset, the log position, the file.
//! 2. No error text is parsed by code above: callers match the variants.

use crate::{IndexId, Lsn, PageId, SpaceId};
use std::fmt;

/// Result of a storage operation.
pub type Result<T> = std::result::Result<T, Error>;

/// A storage error.
#[derive(Debug)]
pub enum Error {
    /// A page's bytes contradict themselves.
    Corrupt {
        /// The page.
        page: PageId,
        /// Byte offset inside the page, 0 when the whole page is meant.
        offset: u32,
        /// What was wrong.
        what: &'static str,
    },
    /// The redo log's bytes contradict themselves before its end.
    CorruptLog {
        /// Where.
        lsn: Lsn,
        /// What was wrong.
        what: &'static str,
    },
    /// A file that is not ours, or of a newer format.
    Foreign {
        /// The file.
        path: String,
        /// What was found.
        what: String,
    },
    /// The operating system refused.
    Io {
        /// What was attempted: "read", "fdatasync", ...
        op: &'static str,
        /// The file.
        path: String,
        /// Its answer.
        source: std::io::Error,
    },
    /// The disk is full; nothing was changed.
    NoSpace {
        /// The file that could not grow.
        path: String,
    },
    /// A unique key exists already.
    Duplicate {
        /// The unique index.
        index: IndexId,
        /// The encoded key.
        key: Vec<u8>,
    },
    /// A row lock was not granted in time.
    LockWaitTimeout,
    /// This transaction was chosen to break a cycle of waits.
    Deadlock,
    /// A row lock is not free, and the caller does not wait for it.
    LockNotAvailable,
    /// A read view is older than the table or index that it is to read.
    TableDefChanged,
    /// There is no memory for another row lock.
    LockTableFull,
    /// KILL arrived while waiting.
    Killed,
    /// The server is going down.
    Shutdown,
    /// A row does not fit into a page.
    RowTooLarge {
        /// Size of the row, in bytes.
        bytes: usize,
        /// The largest that fits, in bytes.
        limit: usize,
    },
    /// A key is longer than an index entry may be.
    KeyTooLong {
        /// Size of the encoded key, in bytes.
        bytes: usize,
        /// The largest that fits, in bytes.
        limit: usize,
    },
    /// One mini-transaction's redo does not fit into the log.
    LogFull,
    /// No frame of the buffer pool became free: all pages are latched, or the device that changed ones are
    /// written to does not answer. Nothing was changed.
    NoFrame,
    /// Every undo segment is in use.
    TooManyTransactions,
    /// AUTO_INCREMENT has no value left.
    AutoincExhausted,
    /// A tablespace that should exist does not.
    MissingSpace(SpaceId),
    /// The log has changes to files of tables that are gone, damaged in page 0 or foreign: they are kept, and
    /// the server does not go on without them unasked.
    RedoNotApplied {
        /// Each such file, and why.
        files: Vec<(SpaceId, String)>,
    },
    /// Changes of rows are refused: the server runs to rescue what is there (`innodb_force_recovery`).
    RecoveryForced,
    /// A bug in the engine that was caught before it did harm.
    Internal(&'static str),
}

impl Error {
    /// Wraps the system's answer to `op` on `path`.
    pub fn io(op: &'static str, path: impl Into<String>, source: std::io::Error) -> Error {
        Error::Io { op, path: path.into(), source }
    }

    /// A corrupt page as a whole.
    pub fn corrupt(page: PageId, what: &'static str) -> Error {
        Error::Corrupt { page, offset: 0, what }
    }

    /// The same error for another waiter of the same event ([`std::io::Error`] is not `Clone`).
    pub fn duplicate(&self) -> Error {
        match self {
            Error::Corrupt { page, offset, what } => {
                Error::Corrupt { page: *page, offset: *offset, what }
            }
            Error::CorruptLog { lsn, what } => Error::CorruptLog { lsn: *lsn, what },
            Error::Foreign { path, what } => {
                Error::Foreign { path: path.clone(), what: what.clone() }
            }
            Error::Io { op, path, source } => {
                Error::Io { op, path: path.clone(), source: copy_io(source) }
            }
            Error::NoSpace { path } => Error::NoSpace { path: path.clone() },
            Error::Duplicate { index, key } => Error::Duplicate { index: *index, key: key.clone() },
            Error::LockWaitTimeout => Error::LockWaitTimeout,
            Error::Deadlock => Error::Deadlock,
            Error::LockNotAvailable => Error::LockNotAvailable,
            Error::TableDefChanged => Error::TableDefChanged,
            Error::LockTableFull => Error::LockTableFull,
            Error::Killed => Error::Killed,
            Error::Shutdown => Error::Shutdown,
            Error::RowTooLarge { bytes, limit } => {
                Error::RowTooLarge { bytes: *bytes, limit: *limit }
            }
            Error::KeyTooLong { bytes, limit } => {
                Error::KeyTooLong { bytes: *bytes, limit: *limit }
            }
            Error::LogFull => Error::LogFull,
            Error::NoFrame => Error::NoFrame,
            Error::RedoNotApplied { files } => Error::RedoNotApplied { files: files.clone() },
            Error::TooManyTransactions => Error::TooManyTransactions,
            Error::AutoincExhausted => Error::AutoincExhausted,
            Error::MissingSpace(id) => Error::MissingSpace(*id),
            Error::RecoveryForced => Error::RecoveryForced,
            Error::Internal(what) => Error::Internal(what),
        }
    }
}

/// Keeps the system's error number where there is one, else kind and text.
fn copy_io(e: &std::io::Error) -> std::io::Error {
    match e.raw_os_error() {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => std::io::Error::new(e.kind(), e.to_string()),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Corrupt { page, offset, what } => {
                write!(f, "page {page} is corrupt at byte {offset}: {what}")
            }
            Error::CorruptLog { lsn, what } => {
                write!(f, "redo log is corrupt at LSN {lsn}: {what}")
            }
            Error::Foreign { path, what } => write!(f, "{path}: {what}"),
            Error::Io { op, path, source } => write!(f, "cannot {op} {path}: {source}"),
            Error::NoSpace { path } => write!(f, "{path}: no space left on the disk"),
            Error::Duplicate { index, .. } => write!(f, "duplicate key in index {index}"),
            Error::LockWaitTimeout => f.write_str("lock wait timeout exceeded"),
            Error::Deadlock => f.write_str("deadlock found"),
            Error::LockNotAvailable => f.write_str("a row lock is not free"),
            Error::TableDefChanged => f.write_str("the table was made after the read view"),
            Error::LockTableFull => f.write_str("too many row locks"),
            Error::Killed => f.write_str("interrupted by KILL"),
            Error::Shutdown => f.write_str("the server is shutting down"),
            Error::RowTooLarge { bytes, limit } => {
                write!(f, "a row of {bytes} bytes is larger than {limit}")
            }
            Error::KeyTooLong { bytes, limit } => {
                write!(f, "a key of {bytes} bytes is longer than {limit}")
            }
            Error::LogFull => f.write_str("one change does not fit into the redo log"),
            Error::RedoNotApplied { files } => {
                let all: Vec<&str> = files.iter().map(|(_, why)| why.as_str()).collect();
                write!(f, "redo cannot be applied: {}", all.join("; "))
            }
            Error::NoFrame => f.write_str("no page of the buffer pool became free"),
            Error::TooManyTransactions => f.write_str("too many transactions are writing"),
            Error::AutoincExhausted => f.write_str("AUTO_INCREMENT has no value left"),
            Error::MissingSpace(id) => write!(f, "tablespace {id} is missing"),
            Error::RecoveryForced => f.write_str("changes are refused by innodb_force_recovery"),
            Error::Internal(what) => write!(f, "internal error: {what}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageNo;

    #[test]
    fn messages_name_the_place() {
        let e = Error::corrupt(PageId::new(SpaceId(16), PageNo(9)), "bad checksum");
        assert_eq!(e.to_string(), "page 16:9 is corrupt at byte 0: bad checksum");
        let e = Error::io("read", "t/a.ibd", std::io::Error::from_raw_os_error(5));
        assert!(e.to_string().starts_with("cannot read t/a.ibd: "), "{e}");
        assert_eq!(e.duplicate().to_string(), e.to_string());
    }
}
