//! What a statement answered: rows as bytes, an OK, or a failure by number.

use std::fmt;
use stdx::bytes::Reader;
use wire::{Malformed, lenenc};

/// The server could not be reached.
pub const UNREACHABLE: u16 = 2002;
/// The connection ended, or an answer took too long.
pub const LOST: u16 = 2013;
/// The server sent what is no answer.
pub const NOT_UNDERSTOOD: u16 = 2027;

/// The first byte of a packet that tells an error.
pub(crate) const ERROR: u8 = 0xff;

/// Why a statement failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// MySQL's error number; 2002, 2013, 2027 are the client's own.
    pub number: u16,
    /// SQLSTATE.
    pub state: String,
    /// The message.
    pub text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.number, self.state, self.text)
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for String {
    fn from(failure: Failure) -> String {
        failure.to_string()
    }
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Failure {
        Failure::own(NOT_UNDERSTOOD, malformed.0)
    }
}

impl Failure {
    /// What the client says of itself.
    pub(crate) fn own(number: u16, text: impl Into<String>) -> Failure {
        Failure { number, state: "HY000".into(), text: text.into() }
    }

    /// Reads an error packet.
    pub fn of(packet: &[u8]) -> Failure {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match packet {
            [ERROR, low, high, b'#', rest @ ..] if rest.len() >= 5 => Failure {
                number: u16::from_le_bytes([*low, *high]),
                state: text(&rest[..5]),
                text: text(&rest[5..]),
            },
            // Before the login there is no SQLSTATE.
            [ERROR, low, high, rest @ ..] => {
                Failure::own(u16::from_le_bytes([*low, *high]), text(rest))
            }
            _ => Failure::own(NOT_UNDERSTOOD, "neither an answer nor an error"),
        }
    }

    /// The connection is not there any more, or never was.
    pub fn is_lost(&self) -> bool {
        matches!(self.number, UNREACHABLE | LOST | NOT_UNDERSTOOD)
    }
}

/// How a statement without rows ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows changed, or rows of the result.
    pub rows: u64,
    /// Warnings counted.
    pub warnings: u16,
}

impl Done {
    /// Reads an OK packet.
    pub(crate) fn of(packet: &[u8]) -> Result<Done, Failure> {
        let mut reader = Reader::new(packet.get(1..).unwrap_or_default());
        let rows = lenenc::int(&mut reader)?;
        lenenc::int(&mut reader)?;
        let cut = |_| Failure::from(Malformed("OK packet"));
        reader.u16_le().map_err(cut)?;
        Ok(Done { rows, warnings: reader.u16_le().map_err(cut)? })
    }
}

/// What a statement answered as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// Column names; empty for a statement without a result set.
    pub names: Vec<String>,
    /// The rows; `None` is NULL.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    /// How it ended.
    pub done: Done,
}

impl Rows {
    /// A cell as text, broken UTF-8 replaced; empty for NULL and where there is no such cell.
    pub fn text(&self, row: usize, column: usize) -> String {
        let cell = self.rows.get(row).and_then(|row| row.get(column));
        cell.and_then(Option::as_ref)
            .map_or_else(String::new, |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// A cell as a number; 0 where it is none.
    pub fn number(&self, row: usize, column: usize) -> f64 {
        self.text(row, column).parse().unwrap_or(0.0)
    }

    /// The rows as text; NULL is empty.
    pub fn texts(&self) -> impl Iterator<Item = Vec<String>> + '_ {
        (0..self.rows.len()).map(|row| (0..self.names.len()).map(|c| self.text(row, c)).collect())
    }
}

/// The name in a column's definition.
pub(crate) fn name_of(definition: &[u8]) -> Result<String, Failure> {
    let mut reader = Reader::new(definition);
    // Catalog, schema, table, original table.
    for _ in 0..4 {
        lenenc::bytes(&mut reader)?;
    }
    Ok(String::from_utf8_lossy(lenenc::bytes(&mut reader)?).into_owned())
}

/// The cells of a row in text form.
pub(crate) fn cells_of(row: &[u8], columns: usize) -> Result<Vec<Option<Vec<u8>>>, Failure> {
    let mut reader = Reader::new(row);
    let mut cell = || match reader.peek() {
        Some(lenenc::NULL) => reader.u8().map(|_| None).map_err(|_| Malformed("row").into()),
        _ => Ok(Some(lenenc::bytes(&mut reader)?.to_vec())),
    };
    (0..columns).map(|_| cell()).collect()
}
