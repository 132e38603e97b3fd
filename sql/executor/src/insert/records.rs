//! Lines and fields of a text file.
//!
//! 1. A field that is `\N`, or the word NULL without quotes in a file whose fields have quotes, is NULL. 2. A
//!    quote ends its field only where the field or the line ends behind it; two of them are one.

use crate::ExecError;
use crate::SqlError;
use crate::files::Format;
use std::io::Read;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Longest line, in bytes.
const LINE_BYTES_MAX: usize = 1 << 30;

/// Reads a file line by line.
pub struct Records<'r> {
    source: Box<dyn Read + 'r>,
    format: Format,
    buffer: Vec<u8>,
    at: usize,
    ended: bool,
    fields: Vec<Option<Vec<u8>>>,
}

/// What ended a field.
enum End {
    Field,
    Line,
    File,
}

impl<'r> Records<'r> {
    /// Of a source that was not read yet.
    pub fn new(source: Box<dyn Read + 'r>, format: Format) -> Records<'r> {
        Records { source, format, buffer: Vec::new(), at: 0, ended: false, fields: Vec::new() }
    }

    /// Passes over lines, whatever is in them.
    ///
    /// # Errors
    /// Those of reading.
    pub fn skip(&mut self, lines: u64) -> Result<(), SqlError> {
        for _ in 0..lines {
            let end = self.format.line_end.clone();
            while !self.take(&end)? {
                if self.next()?.is_none() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The fields of the next line.
    ///
    /// # Errors
    /// Those of reading; a line without end.
    pub fn line(&mut self) -> Result<Option<&[Option<Vec<u8>>]>, SqlError> {
        self.fields.clear();
        let start = self.format.line_start.clone();
        if !start.is_empty() {
            while !self.take(&start)? {
                if self.next()?.is_none() {
                    return Ok(None);
                }
            }
        }
        let mut bytes = 0;
        loop {
            if self.fields.is_empty() && self.peek(0)?.is_none() {
                return Ok(None);
            }
            let (field, end) = self.field()?;
            bytes += field.as_ref().map_or(0, Vec::len);
            if bytes > LINE_BYTES_MAX {
                return Err(ExecError::LineTooLong.into());
            }
            self.fields.push(field);
            if !matches!(end, End::Field) {
                return Ok(Some(&self.fields));
            }
        }
    }

    fn field(&mut self) -> Result<(Option<Vec<u8>>, End), SqlError> {
        let Format { enclosed, escape, .. } = self.format;
        let quoted = enclosed.is_some() && self.peek(0)? == enclosed;
        self.at += usize::from(quoted);
        let (mut text, mut null) = (Vec::new(), false);
        let end = loop {
            if !quoted && let Some(end) = self.end()? {
                break end;
            }
            let Some(byte) = self.next()? else { break End::File };
            if Some(byte) == escape && !(quoted && escape == enclosed) {
                let next = self.next()?;
                null |= next == Some(b'N');
                text.push(next.map_or(byte, unescaped));
                continue;
            }
            if quoted && Some(byte) == enclosed {
                if self.peek(0)? == enclosed {
                    self.at += 1;
                } else if let Some(end) = self.end()? {
                    break end;
                }
            }
            text.push(byte);
        };
        let word = enclosed.is_some() && text == b"NULL";
        let is_null = !quoted && (null && text.len() == 1 || word);
        Ok(((!is_null).then_some(text), end))
    }

    /// Takes what ends a field, if that is next.
    fn end(&mut self) -> Result<Option<End>, SqlError> {
        let Some(byte) = self.peek(0)? else { return Ok(Some(End::File)) };
        for line in [false, true] {
            let end = if line { &self.format.line_end } else { &self.format.field_end };
            if end.first() == Some(&byte) {
                let end = end.clone();
                if self.take(&end)? {
                    return Ok(Some(if line { End::Line } else { End::Field }));
                }
            }
        }
        Ok(None)
    }

    /// Takes a text if it is next.
    fn take(&mut self, text: &[u8]) -> Result<bool, SqlError> {
        for (n, byte) in text.iter().enumerate() {
            if self.peek(n)? != Some(*byte) {
                return Ok(false);
            }
        }
        self.at += text.len();
        Ok(true)
    }

    fn next(&mut self) -> Result<Option<u8>, SqlError> {
        let byte = self.peek(0)?;
        self.at += usize::from(byte.is_some());
        Ok(byte)
    }

    /// The byte so many places ahead.
    fn peek(&mut self, ahead: usize) -> Result<Option<u8>, SqlError> {
        while self.at + ahead >= self.buffer.len() && !self.ended {
            self.buffer.drain(..self.at);
            self.at = 0;
            let held = self.buffer.len();
            self.buffer.resize(held + CHUNK_BYTES, 0);
            let read = self
                .source
                .read(&mut self.buffer[held..])
                .map_err(|error| SqlError::from(ExecError::CannotRead(&error)))?;
            self.buffer.truncate(held + read);
            self.ended = read == 0;
        }
        Ok(self.buffer.get(self.at + ahead).copied())
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parser::ast::FileFormat;

    fn lines(text: &[u8], format: &FileFormat) -> Vec<Vec<Option<String>>> {
        let mut records = Records::new(Box::new(text), Format::of(format).unwrap());
        let mut all = Vec::new();
        while let Some(fields) = records.line().unwrap() {
            let text =
                |f: &Option<Vec<u8>>| f.as_ref().map(|f| String::from_utf8(f.clone()).unwrap());
            all.push(fields.iter().map(text).collect());
        }
        all
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_string())
    }

    #[test]
    fn tabs_and_backslashes() {
        let got = lines(b"1\ta\\tb\\\n\t\\N\nx\t\\Nx\n\n5", &FileFormat::default());
        let expected = vec![
            vec![some("1"), some("a\tb\n"), None],
            vec![some("x"), some("Nx")],
            vec![some("")],
            vec![some("5")],
        ];
        assert_eq!(got, expected);
    }

    #[test]
    fn quotes_with_commas() {
        let format = FileFormat {
            field_terminator: Some(b",".to_vec()),
            enclosed: Some(b"\"".to_vec()),
            line_terminator: Some(b"\r\n".to_vec()),
            ..FileFormat::default()
        };
        let got = lines(b"\"a,b\",\"c\"\"d\",NULL\r\n\"NULL\",e\"f,\"g\"h\"\r\n", &format);
        let expected = vec![
            vec![some("a,b"), some("c\"d"), None],
            vec![some("NULL"), some("e\"f"), some("g\"h")],
        ];
        assert_eq!(got, expected);
    }
}
