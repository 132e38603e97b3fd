//! What sessions ask of the process around them: its logs, its clock, its end.

use catalog::ErrorLogRow;

/// Severity of a line in the error log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Always shown.
    System,
    /// Error.
    Error,
    /// Warning.
    Warning,
    /// Note.
    Note,
}

/// A log of what clients ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryLog {
    /// Every command.
    General,
    /// Statements that took long.
    Slow,
}

/// What a session asks of the process around it.
pub trait Host: Send + Sync {
    /// Stops the server; `by` is the account that asked.
    fn shutdown(&self, by: &str);
    /// Opens the file of a log, which is in the data folder unless the path is absolute, or closes it. An open one is
    /// opened anew, so that its file may be moved away before.
    ///
    /// # Errors
    /// Those of the file.
    fn open_log(&self, _log: QueryLog, _path: Option<&str>) -> std::io::Result<()> {
        Ok(())
    }
    /// Appends to a log that is open.
    ///
    /// # Errors
    /// Those of the file.
    fn write_log(&self, _log: QueryLog, _text: &str) -> std::io::Result<()> {
        Ok(())
    }
    /// The present time as logs write it.
    fn timestamp(&self) -> String {
        String::new()
    }
    /// `limpid_dashboard`: opens or closes the port of the dashboard; it has happened when this returns.
    ///
    /// # Errors
    /// Why there is none; one sentence.
    fn set_dashboard(&self, on: bool) -> Result<(), String> {
        if on { Err("this server was built without it".into()) } else { Ok(()) }
    }
    /// `log_error_verbosity`.
    fn set_log_verbosity(&self, _level: u8) {}
    /// Fewer threads of connections may wait than before ([`crate::ThreadCounts::size`]).
    fn trim_threads(&self) {}
    /// The latest lines of the error log, the oldest first.
    fn error_log(&self) -> Vec<ErrorLogRow> {
        Vec::new()
    }
    /// A file that the administrator names, in the data folder unless its path is absolute.
    ///
    /// # Errors
    /// Those of the file.
    fn read_file(&self, _path: &str) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
    /// The system's name of the user of this number.
    fn user_name(&self, _uid: u32) -> Option<String> {
        None
    }
    /// Writes a line to the error log.
    fn log(&self, severity: Severity, text: &str);
}
