//! The error log, in MySQL's line format: `time thread [Level] [code] [Server] text`.
//!
//! 1. One line is one write, so lines of different threads do not mix. 2. The latest lines are kept in memory, for
//! `performance_schema.error_log`; no two have the same time.

use catalog::ErrorLogRow;
use host::user_file::{self, UserFile};
use host::watched;
use instrument::FileClass;
use session::Severity;
use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;

instrument::classes! {
    static QUERIES: MutexClass = "wait/synch/mutex/sql/MYSQL_LOG::LOCK_log", across_io;
    static LOG: MutexClass = "wait/synch/mutex/sql/LOCK_error_log", across_io;
}

/// So many bytes of lines are kept; as in MySQL.
const KEPT_BYTES_MAX: usize = 5 << 20;
/// What a line takes besides its text.
const LINE_BYTES: usize = size_of::<ErrorLogRow>();

/// The file, and what was written last.
#[derive(Default)]
struct Lines {
    /// Standard error where there is none.
    file: Option<UserFile>,
    rows: VecDeque<ErrorLogRow>,
    kept_bytes: usize,
    last_us: u64,
}

impl Lines {
    /// Keeps a line, and gives it a time of its own.
    fn keep(&mut self, severity: &'static str, code: &str, text: &str) -> u64 {
        let logged_us = host::clock::unix_micros().max(self.last_us + 1);
        self.last_us = logged_us;
        let (code, text) = (code.to_string(), text.to_string());
        self.kept_bytes += LINE_BYTES + text.len();
        self.rows.push_back(ErrorLogRow { logged_us, severity, code, text });
        while self.kept_bytes > KEPT_BYTES_MAX
            && let Some(oldest) = self.rows.pop_front()
        {
            self.kept_bytes -= LINE_BYTES + oldest.text.len();
        }
        logged_us
    }
}

/// Where lines go.
pub struct Log {
    lines: Mutex<Lines>,
    verbosity: SharedAtomic<u8, { class::OTHER }>,
}

impl Log {
    /// A log on standard error.
    pub fn stderr() -> Self {
        Self { lines: Mutex::new(&LOG, Lines::default()), verbosity: SharedAtomic::new(2) }
    }

    /// Sends further lines to a file.
    pub fn to_file(&self, path: &Path) -> std::io::Result<()> {
        let file = user_file::append(watched::ERROR_LOG.class(), path)?;
        self.lines.lock().file = Some(file);
        Ok(())
    }

    /// The latest lines, the oldest first.
    pub fn lines(&self) -> Vec<ErrorLogRow> {
        self.lines.lock().rows.iter().cloned().collect()
    }

    /// Sets `log_error_verbosity`: 1 errors, 2 warnings too, 3 notes too.
    pub fn set_verbosity(&self, level: u8) {
        self.verbosity.store(level, Ordering::Relaxed);
    }

    /// Writes a line.
    pub fn write(&self, severity: Severity, code: &str, text: &str) {
        let (level, needed) = match severity {
            Severity::System => ("System", 0),
            Severity::Error => ("Error", 1),
            Severity::Warning => ("Warning", 2),
            Severity::Note => ("Note", 3),
        };
        if self.verbosity.load(Ordering::Relaxed) < needed {
            return;
        }
        let mut lines = self.lines.lock();
        let time = timestamp(lines.keep(level, code, text));
        let level = if level == "Error" { "ERROR" } else { level };
        let line = format!("{time} 0 [{level}] [{code}] [Server] {text}\n");
        // A log that cannot be written has nowhere to say so.
        let _ = match lines.file.as_mut() {
            Some(file) => file.write_all(line.as_bytes()),
            None => std::io::stderr().write_all(line.as_bytes()),
        };
    }
}

/// The file of the general or the slow log; what is written while it is closed is dropped.
pub struct QueryFile {
    class: &'static FileClass,
    file: Mutex<Option<UserFile>>,
}

impl QueryFile {
    /// One that is closed.
    pub fn closed(class: &'static FileClass) -> QueryFile {
        QueryFile { class, file: Mutex::new(&QUERIES, None) }
    }

    /// Opens it and writes what each start begins with, or closes it.
    pub fn open(&self, path: Option<PathBuf>, header: &str) -> std::io::Result<()> {
        let open = |path: PathBuf| -> std::io::Result<UserFile> {
            let mut file = user_file::append(self.class.class(), &path)?;
            file.write_all(header.as_bytes())?;
            Ok(file)
        };
        // Opened before the old one is closed: what fails changes nothing but that.
        let (file, done) = match path.map(open).transpose() {
            Ok(file) => (file, Ok(())),
            Err(e) => (None, Err(e)),
        };
        *self.file.lock() = file;
        done
    }

    /// Appends.
    pub fn write(&self, text: &str) -> std::io::Result<()> {
        match self.file.lock().as_mut() {
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
    fn the_latest_lines_are_kept_each_with_a_time_of_its_own() {
        let mut lines = Lines::default();
        let long = "x".repeat(1 << 20);
        for n in 0..7 {
            lines.keep("Note", &format!("MY-{n}"), &long);
        }
        assert!(lines.rows.iter().is_sorted_by(|a, b| a.logged_us < b.logged_us));
        let codes: Vec<&str> = lines.rows.iter().map(|line| &*line.code).collect();
        assert_eq!(codes, ["MY-3", "MY-4", "MY-5", "MY-6"]);
    }

    #[test]
    fn timestamps() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(timestamp(1_709_164_800_000_001), "2024-02-29T00:00:00.000001Z");
        assert_eq!(timestamp(1_795_238_779_123_456), "2026-11-21T05:26:19.123456Z");
    }
}
