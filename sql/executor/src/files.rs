//! Files of the server that statements read and write: where they may lie, how rows lie in them.
//!
//! 1. `secure_file_priv` says where: NULL nowhere, empty anywhere, else below that folder. 2. A file that is
//!    there already is never written over; one that was not finished is removed.

use crate::ExecError;
use crate::{Environment, OwnedDatum, SqlError};
use host::user_file::{self, UserFile};
use parser::ast::FileFormat;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use value::{ColumnType, Datum, Kind};

/// What the system says of a file, as an error of its kind.
fn os(path: &Path, error: &std::io::Error, kind: fn(&str, i32, &str) -> SqlError) -> SqlError {
    let full = error.to_string();
    let text = full.split(" (os error").next().unwrap_or(&full);
    kind(&path.to_string_lossy(), error.raw_os_error().unwrap_or(0), text)
}

/// The path of a file that a statement names, if it lies where statements may have files.
///
/// # Errors
/// 1290.
pub fn allowed(name: &[u8], env: &dyn Environment) -> Result<PathBuf, SqlError> {
    let text = |name| match env.system_variable(true, name) {
        Ok(OwnedDatum::Bytes(text)) => String::from_utf8_lossy(&text).into_owned(),
        _ => String::new(),
    };
    let path = Path::new(&text("datadir")).join(std::ffi::OsStr::from_bytes(name));
    let secure = text("secure_file_priv");
    if secure.is_empty() || secure != "NULL" && user_file::is_below(&path, Path::new(&secure)) {
        return Ok(path);
    }
    Err(ExecError::SecureFile.into())
}

/// Opens a file for LOAD DATA.
///
/// # Errors
/// 1290, 13.
pub fn open(name: &[u8], env: &dyn Environment) -> Result<UserFile, SqlError> {
    let path = allowed(name, env)?;
    user_file::open(&path).map_err(|error| {
        os(&path, &error, |path, errno, text| ExecError::CannotStat(path, errno, text).into())
    })
}

/// How rows lie in a file.
#[derive(Debug, Clone)]
pub struct Format {
    /// Behind each field but the last.
    pub field_end: Vec<u8>,
    /// Around fields.
    pub enclosed: Option<u8>,
    /// Only around text.
    pub optionally: bool,
    /// Before a character that means something.
    pub escape: Option<u8>,
    /// Before each line.
    pub line_start: Vec<u8>,
    /// Behind each line.
    pub line_end: Vec<u8>,
}

impl Format {
    /// As it was written; what was not is as MySQL's default.
    ///
    /// # Errors
    /// 1083; 1235 for rows of fixed length.
    pub fn of(written: &FileFormat) -> Result<Format, SqlError> {
        let one = |text: &Option<Vec<u8>>, default: Option<u8>| match text.as_deref() {
            None => Ok(default),
            Some([]) => Ok(None),
            Some([byte]) => Ok(Some(*byte)),
            Some(_) => Err(ExecError::FieldSeparator),
        };
        let text = |text: &Option<Vec<u8>>, default: &[u8]| {
            text.clone().unwrap_or_else(|| default.to_vec())
        };
        let format = Format {
            field_end: text(&written.field_terminator, b"\t"),
            enclosed: one(&written.enclosed, None)?,
            optionally: written.optionally,
            escape: one(&written.escaped, Some(b'\\'))?,
            line_start: text(&written.line_start, b""),
            line_end: text(&written.line_terminator, b"\n"),
        };
        if format.field_end.is_empty() || format.line_end.is_empty() {
            return Err(SqlError::unsupported("files without field or line terminators"));
        }
        Ok(format)
    }

    fn field(&self, value: &Datum<'_>, ty: &ColumnType, out: &mut Vec<u8>) {
        if value.is_null() {
            match self.escape {
                Some(escape) => out.extend_from_slice(&[escape, b'N']),
                None => out.extend_from_slice(b"NULL"),
            }
            return;
        }
        let textual = ty.is_text() || ty.kind.is_temporal() || ty.kind.has_members();
        let textual = textual || ty.kind.is_string() || ty.kind == Kind::Json;
        let quote = self.enclosed.filter(|_| !self.optionally || textual);
        let mut text = Vec::new();
        value::format::append_typed(value, Some(ty), &mut text);
        out.extend(quote);
        let end = quote.or(self.field_end.first().copied());
        for byte in text {
            let marked = Some(byte) == self.escape
                || Some(byte) == end
                || Some(byte) == self.line_end.first().copied()
                || byte == 0;
            match self.escape.filter(|_| marked) {
                Some(escape) => {
                    out.extend_from_slice(&[escape, if byte == 0 { b'0' } else { byte }]);
                }
                None => out.push(byte),
            }
        }
        out.extend(quote);
    }
}

/// A file that SELECT ... INTO writes.
pub struct OutFile {
    path: PathBuf,
    file: BufWriter<UserFile>,
    /// `None`: DUMPFILE.
    format: Option<Format>,
    finished: bool,
    line: Vec<u8>,
}

impl OutFile {
    /// Makes the file.
    ///
    /// # Errors
    /// 1290, 1086, 1.
    pub fn create(
        name: &[u8],
        format: Option<Format>,
        env: &dyn Environment,
    ) -> Result<OutFile, SqlError> {
        let path = allowed(name, env)?;
        let file = user_file::create(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                let name = String::from_utf8_lossy(name);
                ExecError::FileExists(&name).into()
            }
            _ => os(&path, &error, |path, errno, text| {
                ExecError::CannotCreate(path, errno, text).into()
            }),
        })?;
        let file = BufWriter::new(file);
        Ok(OutFile { path, file, format, finished: false, line: Vec::new() })
    }

    /// Writes a row.
    ///
    /// # Errors
    /// 3, what the disk says.
    pub fn row<'v>(
        &mut self,
        row: impl Iterator<Item = (Datum<'v>, &'v ColumnType)>,
    ) -> Result<(), SqlError> {
        self.line.clear();
        match &self.format {
            Some(format) => {
                self.line.extend_from_slice(&format.line_start);
                for (n, (value, ty)) in row.enumerate() {
                    if n > 0 {
                        self.line.extend_from_slice(&format.field_end);
                    }
                    format.field(&value, ty, &mut self.line);
                }
                self.line.extend_from_slice(&format.line_end);
            }
            None => row.filter(|(value, _)| !value.is_null()).for_each(|(value, ty)| {
                value::format::append_typed(&value, Some(ty), &mut self.line);
            }),
        }
        self.file.write_all(&self.line).map_err(|e| {
            os(&self.path, &e, |path, errno, text| ExecError::CannotWrite(path, errno, text).into())
        })
    }

    /// The file is whole.
    ///
    /// # Errors
    /// 3, what the disk says.
    pub fn finish(mut self) -> Result<(), SqlError> {
        self.file.flush().map_err(|e| {
            os(&self.path, &e, |path, errno, text| ExecError::CannotWrite(path, errno, text).into())
        })?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for OutFile {
    fn drop(&mut self) {
        if !self.finished {
            let _ = user_file::remove(&self.path);
        }
    }
}
