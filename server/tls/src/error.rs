//! Why TLS is not there, or a connection not secured.

use std::fmt;
use std::path::PathBuf;

/// Why TLS cannot be had.
#[derive(Debug)]
pub enum TlsError {
    /// A file that cannot be read or written.
    File(PathBuf, std::io::Error),
    /// A file without what it should hold: its path, and what that is.
    Empty(PathBuf, &'static str),
    /// A value of a setting: its name and the value.
    Value(&'static str, String),
    /// Certificate, key or settings that do not go together.
    Refused(String),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsError::File(path, error) => write!(f, "{}: {error}", path.display()),
            TlsError::Empty(path, what) => write!(f, "{} has no {what}", path.display()),
            TlsError::Value(name, value) => write!(f, "{name} cannot be '{value}'"),
            TlsError::Refused(why) => f.write_str(why),
        }
    }
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        TlsError::Refused(error.to_string())
    }
}

impl From<rcgen::Error> for TlsError {
    fn from(error: rcgen::Error) -> Self {
        TlsError::Refused(error.to_string())
    }
}
