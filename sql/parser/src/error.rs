//! Where and why a text is not SQL.

use std::fmt;

/// A refused text. The session prints it as error 1064 (1065 for [`ErrorKind::Empty`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Byte offset in the given text where the offending token starts.
    pub offset: usize,
    /// Line of that token, counted from 1 at the statement's first byte.
    pub line: u32,
}

/// What is wrong with a text; it decides the error number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nothing but spaces and comments: 1065.
    Empty,
    /// Not grammatical: 1064.
    Syntax,
    /// Expressions or queries nested deeper than [`crate::DEPTH_MAX`]: 1064, or 1436 as MySQL says.
    TooDeep,
    /// Not grammatical for a reason that the text names instead of "You have an error in your SQL syntax..": 1064.
    SyntaxBecause(&'static str),
    /// What the table [`Refused`](crate::Refused) lists: number, SQLSTATE, text.
    Other(u16, &'static str, String),
}

impl ParseError {
    /// MySQL's `near` text: the rest of the statement from the offending token, at most 80 characters.
    pub fn near<'a>(&self, sql: &'a [u8]) -> std::borrow::Cow<'a, str> {
        // The server takes spaces and semicolons off the end before it reads a text.
        let length = sql.iter().rposition(|&b| b != b';' && !crate::lex::is_space(b));
        let rest = sql.get(self.offset..length.map_or(0, |at| at + 1)).unwrap_or_default();
        let window = &rest[..rest.len().min(80 * 4)];
        match String::from_utf8_lossy(window) {
            std::borrow::Cow::Borrowed(text) => {
                let end = text.char_indices().nth(80).map_or(text.len(), |(at, _)| at);
                std::borrow::Cow::Borrowed(&text[..end])
            }
            std::borrow::Cow::Owned(text) => {
                std::borrow::Cow::Owned(text.chars().take(80).collect())
            }
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Empty => write!(f, "Query was empty"),
            ErrorKind::Syntax => {
                write!(f, "syntax error at offset {}, line {}", self.offset, self.line)
            }
            ErrorKind::SyntaxBecause(why) => write!(f, "{why} at line {}", self.line),
            ErrorKind::TooDeep => write!(f, "nested too deeply at line {}", self.line),
            ErrorKind::Other(number, _, text) => write!(f, "{number}: {text}"),
        }
    }
}

impl std::error::Error for ParseError {}
