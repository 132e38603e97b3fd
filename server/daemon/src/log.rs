//! The error log, in MySQL's line format: `time thread [Level] [code] [Server] text`.
//!
//! 1. One line is one write, so lines of different threads do not mix.

use instrument::MutexClass;
use session::Severity;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;

static QUERIES: MutexClass = MutexClass::new("wait/synch/mutex/sql/MYSQL_LOG::LOCK_log");
static LOG: MutexClass = MutexClass::new("wait/synch/mutex/sql/LOCK_error_log");

/// Where lines go.
pub struct Log {
    file: Mutex<Option<File>>,
    verbosity: SharedAtomic<u8, { class::OTHER }>,
}

impl Log {
    /// A log on standard error.
    pub fn stderr() -> Self {
        Self { file: Mutex::new(&LOG, None), verbosity: SharedAtomic::new(2) }
    }

    /// Sends further lines to a file.
    pub fn to_file(&self, path: &Path) -> std::io::Result<()> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        *self.file.lock() = Some(file);
        Ok(())
    }

    /// Sets `log_error_verbosity`: 1 errors, 2 warnings too, 3 notes too.
    pub fn set_verbosity(&self, level: u8) {
        self.verbosity.store(level, Ordering::Relaxed);
    }

    /// Writes a line.
    pub fn write(&self, severity: Severity, code: &str, text: &str) {
        let (level, needed) = match severity {
            Severity::System => ("System", 0),
            Severity::Error => ("ERROR", 1),
            Severity::Warning => ("Warning", 2),
            Severity::Note => ("Note", 3),
        };
        if self.verbosity.load(Ordering::Relaxed) < needed {
            return;
        }
        let time = timestamp(host::clock::unix_micros());
        let line = format!("{time} 0 [{level}] [{code}] [Server] {text}\n");
        // A log that cannot be written has nowhere to say so.
        let _ = match self.file.lock().as_mut() {
            Some(file) => file.write_all(line.as_bytes()),
            None => std::io::stderr().write_all(line.as_bytes()),
        };
    }
}

/// The file of the general or the slow log; what is written while it is closed is dropped.
pub struct QueryFile(Mutex<Option<File>>);

impl QueryFile {
    /// One that is closed.
    pub fn closed() -> QueryFile {
        QueryFile(Mutex::new(&QUERIES, None))
    }

    /// Opens it and writes what each start begins with, or closes it.
    pub fn open(&self, path: Option<PathBuf>, header: &str) -> std::io::Result<()> {
        let open = |path| -> std::io::Result<File> {
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            file.write_all(header.as_bytes())?;
            Ok(file)
        };
        // Opened before the old one is closed: what fails changes nothing but that.
        let file = path.map(open).transpose();
        *self.0.lock() = file.as_ref().ok().and_then(|f| f.as_ref()?.try_clone().ok());
        file.map(drop)
    }

    /// Appends.
    pub fn write(&self, text: &str) -> std::io::Result<()> {
        match self.0.lock().as_mut() {
            Some(file) => file.write_all(text.as_bytes()),
            None => Ok(()),
        }
    }
}

/// `2026-11-21T05:26:19.123456Z`.
pub fn timestamp(unix_micros: u64) -> String {
    let (seconds, micros) = (unix_micros / 1_000_000, unix_micros % 1_000_000);
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = host::clock::date_of(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(timestamp(1_709_164_800_000_001), "2024-02-29T00:00:00.000001Z");
        assert_eq!(timestamp(1_795_238_779_123_456), "2026-11-21T05:26:19.123456Z");
    }
}
