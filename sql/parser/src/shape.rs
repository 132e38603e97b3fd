//! The shape of a SELECT: its tokens with literals lifted out, so that texts that differ only in values share a plan.
//!
//! 1. Equal shapes parse to equal trees but for the lifted values: every token other than a lifted
//!    literal is in the shape byte for byte. 2. A warm scan allocates nothing. 3. What could make two
//!    equal shapes mean different things (several statements, hints, variables, adjacent strings)
//!    has no shape.

use crate::cursor::{Lift, Parser};
use crate::error::ParseError;
use crate::keywords::Kw;
use crate::lex::Lexer;
use crate::mode::SqlMode;
use crate::statement::Parsed;
use crate::token::TokenKind;

/// Longest text that gets a shape, in bytes.
const TEXT_BYTES_MAX: usize = 4096;
/// Most literals that are lifted.
const LITERALS_MAX: usize = 64;

/// A lifted literal's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeValue {
    /// An integer of the BIGINT range.
    Int(i64),
    /// An integer above it.
    UInt(u64),
    /// A string: byte range inside its quotes, and whether it must be unescaped.
    Text {
        /// First byte behind the opening quote.
        start: u32,
        /// The closing quote.
        end: u32,
        /// Holds an escape or a doubled quote.
        escaped: bool,
    },
}

/// A literal that became a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeLiteral {
    /// Where its token starts.
    pub token: u32,
    /// Written with a sign that belongs to it; the shape keeps signs apart so far.
    pub negative: bool,
    /// Its value.
    pub value: ShapeValue,
}

/// Buffers of a scan, reused from text to text.
#[derive(Debug, Default)]
pub struct ShapeBuf {
    bytes: Vec<u8>,
    literals: Vec<ShapeLiteral>,
}

impl ShapeBuf {
    /// The shape: compare it byte for byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The literals in the order of their parameters.
    pub fn literals(&self) -> &[ShapeLiteral] {
        &self.literals
    }
}

/// Scans a text; false when it has no shape. The buffers hold the shape and its literals.
pub fn scan(sql: &[u8], mode: SqlMode, buf: &mut ShapeBuf) -> bool {
    buf.bytes.clear();
    buf.literals.clear();
    if sql.len() > TEXT_BYTES_MAX
        || !sql.get(..6).is_some_and(|verb| verb.eq_ignore_ascii_case(b"SELECT"))
    {
        return false;
    }
    // A comment may be a hint or conditional code; such texts take the ordinary way.
    let mut lexer = Lexer::new(sql, 0, mode);
    let mut previous = TokenKind::End;
    loop {
        let token = lexer.next_token();
        let text = token.text(sql);
        match token.kind {
            TokenKind::End => break,
            TokenKind::Integer => match integer(text) {
                Some(value) => buf.lift(token.start, value),
                None => return false,
            },
            TokenKind::String if previous != TokenKind::String => {
                let inner = &text[1..text.len().max(2) - 1];
                let escaped = inner.iter().any(|b| matches!(b, b'\\' | b'\'' | b'"'));
                buf.lift(
                    token.start,
                    ShapeValue::Text { start: token.start + 1, end: token.end - 1, escaped },
                );
            }
            TokenKind::String
            | TokenKind::NString
            | TokenKind::Introducer
            | TokenKind::UserVar
            | TokenKind::SystemAt
            | TokenKind::Hint
            | TokenKind::Param
            | TokenKind::Bad => return false,
            kind => {
                buf.bytes.push(kind as u8);
                // `count (a)` calls no aggregate: the same word is no keyword there.
                buf.bytes.push(u8::from(token.kw != Kw::None));
                if matches!(
                    kind,
                    TokenKind::Word
                        | TokenKind::Quoted
                        | TokenKind::Decimal
                        | TokenKind::Float
                        | TokenKind::HexString
                        | TokenKind::HexNumber
                        | TokenKind::BitString
                        | TokenKind::BitNumber
                ) {
                    buf.bytes.push(text.len() as u8);
                    buf.bytes.push((text.len() >> 8) as u8);
                    buf.bytes.extend_from_slice(text);
                }
                // INTO writes somewhere; FOR locks.
                if matches!(token.kw, Kw::INTO | Kw::FOR) {
                    return false;
                }
            }
        }
        previous = token.kind;
    }
    let rest = sql.get(lexer.position()..).unwrap_or_default();
    buf.literals.len() <= LITERALS_MAX && rest.iter().all(u8::is_ascii_whitespace)
}

impl ShapeBuf {
    fn lift(&mut self, token: u32, value: ShapeValue) {
        // The kinds of literals differ, since a plan may depend on them.
        self.bytes.push(match value {
            ShapeValue::Int(_) => 0xF0,
            ShapeValue::UInt(_) => 0xF1,
            ShapeValue::Text { .. } => 0xF2,
        });
        self.literals.push(ShapeLiteral { token, negative: false, value });
    }
}

/// The value of digits, if BIGINT can hold it.
pub(crate) fn integer(digits: &[u8]) -> Option<ShapeValue> {
    let mut value: u64 = 0;
    for digit in digits {
        value = value.checked_mul(10)?.checked_add(u64::from(digit.checked_sub(b'0')?))?;
    }
    Some(i64::try_from(value).map_or(ShapeValue::UInt(value), ShapeValue::Int))
}

/// Parses a scanned text with its literals as parameters, numbered as in `literals`; `None` when a
/// literal decides more than a value (it names a column, or is a position).
///
/// # Errors
/// Where and why it is not SQL.
pub fn parse_lifted(
    sql: &[u8],
    mode: SqlMode,
    literals: &[ShapeLiteral],
) -> Result<Option<Parsed>, ParseError> {
    let mut parser = Parser::new(sql, 0, mode, 0);
    parser.lift = Some(Lift { literals, ..Lift::default() });
    let statement = parser.statement()?;
    if !parser.at_end() {
        return parser.fail();
    }
    let complete = parser.lift.as_ref().is_some_and(|l| !l.refused && l.lifted == literals.len());
    parser.params = literals.len() as u32;
    Ok(complete.then(|| parser.finish(statement)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sql: &str) -> Option<(Vec<u8>, Vec<ShapeValue>)> {
        let mut buf = ShapeBuf::default();
        scan(sql.as_bytes(), SqlMode::DEFAULT, &mut buf)
            .then(|| (buf.bytes.clone(), buf.literals.iter().map(|l| l.value).collect()))
    }

    #[test]
    fn texts_that_differ_in_values_share_a_shape_and_others_do_not() {
        let a = shape("SELECT c FROM t WHERE id=5").unwrap();
        let b = shape("SELECT c FROM t WHERE id = 712 ;").unwrap();
        assert_eq!(a.0, b.0);
        assert_eq!((a.1[0], b.1[0]), (ShapeValue::Int(5), ShapeValue::Int(712)));
        assert_ne!(a.0, shape("SELECT c FROM t WHERE id='5'").unwrap().0);
        assert_ne!(a.0, shape("SELECT d FROM t WHERE id=5").unwrap().0);
        assert_ne!(a.0, shape("SELECT c FROM t WHERE id=-5").unwrap().0);
        assert_ne!(shape("SELECT ab FROM t").unwrap().0, shape("SELECT a b FROM t").unwrap().0);
    }

    #[test]
    fn what_is_more_than_values_has_no_shape() {
        for sql in [
            "SELECT @a",
            "SELECT 1; SELECT 2",
            "SELECT 'a' 'b'",
            "UPDATE t SET a=1",
            "SELECT @@x",
            "SELECT ?",
            "SELECT 99999999999999999999",
            "SELECT a FROM t FOR UPDATE",
            "SELECT a INTO @b FROM t",
        ] {
            assert_eq!(shape(sql), None, "{sql}");
        }
    }

    #[test]
    fn a_literal_that_names_a_column_or_is_a_position_is_not_lifted() {
        let lifted = |sql: &str| {
            let mut buf = ShapeBuf::default();
            assert!(scan(sql.as_bytes(), SqlMode::DEFAULT, &mut buf));
            parse_lifted(sql.as_bytes(), SqlMode::DEFAULT, buf.literals()).unwrap().is_some()
        };
        assert!(lifted("SELECT c FROM t WHERE id=5 AND d='x'"));
        assert!(!lifted("SELECT 1"));
        assert!(!lifted("SELECT c FROM t WHERE id=5 ORDER BY 1"));
    }
}
