//! A statement's text with its literals cut out: texts that differ in nothing else may share a plan.
//!
//! 1. Equal keys mean texts that are equal byte for byte but for the literals, which lie in the same places
//!    and are of the same kinds. 2. Which of the literals a plan depends on is not known here: the tree
//!    marks those that are an operand of a comparison or a value of their own ([`Expr::Lifted`]); every
//!    other one is as much a part of the statement as its words. 3. A text whose meaning hangs on more than
//!    itself (variables, hints, several statements) has no key.

use crate::ast::{Expr, Literal};
use crate::cursor::Parser;
use crate::digest::DigestLimits;
use crate::error::ParseError;
use crate::keywords::Kw;
use crate::lex::Lexer;
use crate::literal::unescape;
use crate::mode::SqlMode;
use crate::statement::Parsed;
use crate::token::TokenKind;

/// Longest text that is cut, in bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 4096;
/// Most literals.
pub const LITERALS_MAX: usize = 64;

/// A literal's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralValue {
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

/// A literal that was cut out: digits, or a string without escapes of its own meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutLiteral {
    /// First byte of its token.
    pub start: u32,
    /// First byte behind it.
    pub end: u32,
    /// Its value.
    pub value: LiteralValue,
}

impl CutLiteral {
    /// The bytes as written.
    pub fn written<'t>(&self, sql: &'t [u8]) -> &'t [u8] {
        sql.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// A text in two parts; the buffers are reused from text to text.
#[derive(Debug, Default)]
pub struct Cut {
    key: Vec<u8>,
    literals: Vec<CutLiteral>,
}

impl Cut {
    /// What is left without the literals, and where they were: compare it byte for byte.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The literals in the order in which they were written.
    #[inline]
    pub fn literals(&self) -> &[CutLiteral] {
        &self.literals
    }

    /// The literals, for who finds them without the key.
    pub fn literals_mut(&mut self) -> &mut Vec<CutLiteral> {
        &mut self.literals
    }
}

/// Cuts a text; false when it has no key.
pub fn cut(sql: &[u8], mode: SqlMode, cut: &mut Cut) -> bool {
    cut.key.clear();
    cut.literals.clear();
    if sql.len() > TEXT_BYTES_MAX {
        return false;
    }
    let mut lexer = Lexer::new(sql, 0, mode);
    let first = lexer.next_token();
    let inserts = matches!(first.kw, Kw::INSERT | Kw::REPLACE);
    if !inserts && !matches!(first.kw, Kw::SELECT | Kw::WITH | Kw::UPDATE | Kw::DELETE) {
        return false;
    }
    let mut done = 0;
    loop {
        let token = lexer.next_token();
        let value = match token.kind {
            TokenKind::End => break,
            TokenKind::Integer => integer(token.text(sql)),
            TokenKind::String => Some(LiteralValue::Text {
                start: token.start + 1,
                end: token.end - 1,
                escaped: has_escapes(token.text(sql)),
            }),
            TokenKind::UserVar
            | TokenKind::SystemAt
            | TokenKind::Hint
            | TokenKind::Param
            | TokenKind::Bad => return false,
            // INTO writes somewhere, but in INSERT; FOR and LOCK lock.
            _ if token.kw == Kw::FOR
                || token.kw == Kw::LOCK
                || token.kw == Kw::INTO && !inserts =>
            {
                return false;
            }
            _ => continue,
        };
        let Some(value) = value else { continue };
        if cut.literals.len() == LITERALS_MAX {
            return false;
        }
        cut.key.extend_from_slice(&sql[done..token.start as usize]);
        done = token.end as usize;
        cut.literals.push(CutLiteral { start: token.start, end: token.end, value });
        // Where it was in the key, and its kind: a plan may depend on that.
        let kind = match value {
            LiteralValue::Int(_) => 0,
            LiteralValue::UInt(_) => 1,
            LiteralValue::Text { .. } => 2,
        };
        let place = cut.key.len() as u32 * 4 + kind;
        cut.key.extend_from_slice(&place.to_le_bytes());
    }
    cut.key.extend_from_slice(&sql[done..]);
    cut.key.push(cut.literals.len() as u8);
    let rest = sql.get(lexer.position()..).unwrap_or_default();
    rest.iter().all(u8::is_ascii_whitespace)
}

/// The value of digits, if BIGINT can hold it.
fn integer(digits: &[u8]) -> Option<LiteralValue> {
    let mut value: u64 = 0;
    for digit in digits {
        value = value.checked_mul(10)?.checked_add(u64::from(digit.checked_sub(b'0')?))?;
    }
    Some(i64::try_from(value).map_or(LiteralValue::UInt(value), LiteralValue::Int))
}

fn has_escapes(token: &[u8]) -> bool {
    let inner = token.get(1..token.len() - 1).unwrap_or_default();
    inner.iter().any(|b| matches!(b, b'\\' | b'\'' | b'"'))
}

/// Whether a text with markers means the same whenever it is prepared: its program may be another session's. What is written
/// in it stays in it.
pub fn stands_alone(sql: &[u8], mode: SqlMode) -> bool {
    if sql.len() > TEXT_BYTES_MAX {
        return false;
    }
    let mut lexer = Lexer::new(sql, 0, mode);
    let verb = lexer.next_token().kw;
    if !matches!(verb, Kw::SELECT | Kw::WITH | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE) {
        return false;
    }
    let inserts = matches!(verb, Kw::INSERT | Kw::REPLACE);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End => break,
            TokenKind::UserVar | TokenKind::SystemAt | TokenKind::Hint | TokenKind::Bad => {
                return false;
            }
            _ if token.kw == Kw::INTO && !inserts => return false,
            _ => {}
        }
    }
    let rest = sql.get(lexer.position()..).unwrap_or_default();
    rest.iter().all(u8::is_ascii_whitespace)
}

/// Parses a text that was cut; literals that may be parameters are [`Expr::Lifted`].
///
/// # Errors
/// Where and why it is not SQL.
pub fn parse(
    sql: &[u8],
    mode: SqlMode,
    literals: &[CutLiteral],
    digest_limits: DigestLimits,
) -> Result<Parsed, ParseError> {
    let mut parser = Parser::new(sql, 0, mode, digest_limits);
    parser.cut = literals;
    let statement = parser.statement()?;
    if !parser.at_end() {
        return parser.fail();
    }
    Ok(parser.finish(statement))
}

/// The value of a string literal with escapes, appended to `out`.
pub fn unescaped(sql: &[u8], mode: SqlMode, literal: &CutLiteral, out: &mut Vec<u8>) {
    unescape(literal.written(sql), mode, out);
}

impl Parser<'_> {
    /// An operand that began at the token `place`, lifted if it is one literal that was cut out.
    pub(crate) fn lift(&self, place: usize, expr: Expr) -> Expr {
        if self.cut.is_empty() || self.place() != place + 1 {
            return expr;
        }
        let start = self.token_at(place).start;
        match (expr, self.cut.binary_search_by_key(&start, |literal| literal.start)) {
            (Expr::Literal(literal @ (Literal::Int(_) | Literal::UInt(_))), Ok(number)) => {
                Expr::Lifted(number as u32, literal)
            }
            (Expr::Literal(Literal::String(text)), Ok(number)) if text.charset.is_none() => {
                Expr::Lifted(number as u32, Literal::String(text))
            }
            (expr, _) => expr,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{BinaryOp, QueryBody, Statement};

    fn key(sql: &str) -> Option<Vec<u8>> {
        let mut buf = Cut::default();
        cut(sql.as_bytes(), SqlMode::DEFAULT, &mut buf).then(|| buf.key.clone())
    }

    #[test]
    fn texts_that_differ_in_literals_only_have_one_key() {
        let a = key("SELECT a, 1 FROM t WHERE b = 'x' AND c > 5").unwrap();
        assert_eq!(a, key("SELECT a, 2 FROM t WHERE b = 'yyy' AND c > 77").unwrap());
        for other in [
            "SELECT a, 1 FROM t WHERE b = 'x' AND c > '5'",
            "SELECT a, 1 FROM t WHERE b = 'x' AND  c > 5",
            "SELECT a, 1 FROM t WHERE b = 'x' AND c > 18446744073709551615",
            "SELECT a, 1 FROM t WHERE b = 'x' AND c > 5.0",
            "SELECT a, 1 FROM t WHERE b = 'x' AND c > -5",
        ] {
            assert_ne!(Some(&a), key(other).as_ref(), "{other}");
        }
        // What a literal left behind is not taken for text.
        let place = key("SELECT 1").unwrap();
        let text = [b"SELECT ", &place[7..11]].concat();
        assert_ne!(key(std::str::from_utf8(&text).unwrap()), Some(place));
    }

    #[test]
    fn what_hangs_on_more_than_its_text_has_no_key() {
        for sql in [
            "SELECT @a",
            "SELECT @@x",
            "SELECT ?",
            "SELECT 1; SELECT 2",
            "SELECT a FROM t FOR UPDATE",
            "SELECT a FROM t LOCK IN SHARE MODE",
            "SELECT a INTO OUTFILE 'x' FROM t",
            "SELECT /*+ MAX_EXECUTION_TIME(5) */ a FROM t",
            "SHOW TABLES",
            "EXPLAIN SELECT 1",
            "SELECT 'a",
        ] {
            assert_eq!(key(sql), None, "{sql}");
        }
        assert!(key("INSERT INTO t VALUES (1, 'a') ; ").is_some());
    }

    #[test]
    fn a_text_with_markers_stands_alone_unless_it_hangs_on_the_session() {
        let alone = |sql: &str| stands_alone(sql.as_bytes(), SqlMode::DEFAULT);
        assert!(alone("SELECT a FROM t WHERE b = ? FOR UPDATE"));
        assert!(alone("INSERT INTO t VALUES (?, 'a')"));
        for sql in ["SELECT @a, ?", "SELECT ? INTO @a", "SELECT /*+ BKA(t) */ ?", "SET @a = ?"] {
            assert!(!alone(sql), "{sql}");
        }
    }

    #[test]
    fn operands_of_comparisons_are_lifted_and_nothing_else() {
        let sql = b"SELECT 1, 'a' 'b' FROM t WHERE a = 2 AND b = 'x' 'y' AND c + 3 > 4";
        let mut buf = Cut::default();
        assert!(cut(sql, SqlMode::DEFAULT, &mut buf));
        let parsed =
            parse(sql, SqlMode::DEFAULT, buf.literals(), DigestLimits { made: 0, told: 0 })
                .unwrap();
        let text = format!("{:?}", parsed.statement);
        assert!(text.contains("Lifted(3, Int(2))") && text.contains("Lifted(7, Int(4))"), "{text}");
        assert_eq!(text.matches("Lifted").count(), 2, "{text}");
        let Statement::Query(query) = parsed.statement else { panic!("{text}") };
        let QueryBody::Select(select) = &query.body else { panic!("{text}") };
        let and = |e: &Expr| matches!(e, Expr::Binary(BinaryOp::And, ..));
        assert!(select.filter.as_ref().is_some_and(and));
    }
}
