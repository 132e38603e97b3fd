//! A text with its literals cut out: recognises texts that differ in nothing else, without reading
//! their tokens.
//!
//! 1. A text that matches has the key of the template's text, literal for literal: up to the first
//!    literal the bytes, hence the tokens, are equal; a literal ends where the template's did, before
//!    the same byte; and so on to the end. 2. Refusing is always right: the text is then scanned.
//! 3. A match allocates nothing.

use crate::cut::{CutLiteral, LiteralValue};

/// Bytes before the first literal that tell most templates apart.
const TAIL_BYTES: usize = 8;
/// Integers of more digits are left to the scanner: some of them exceed the BIGINT range.
const DIGITS_MAX: usize = 18;

/// A text and where its literals are.
#[derive(Debug, Clone)]
pub struct Template {
    text: Box<[u8]>,
    gaps: Box<[Gap]>,
    /// The last bytes before the first literal.
    tail: [u8; TAIL_BYTES],
}

/// The place of a literal's value: of digits, or inside quotes.
#[derive(Debug, Clone, Copy)]
struct Gap {
    start: usize,
    end: usize,
    /// The quote, or none around digits.
    quote: Option<u8>,
}

impl Template {
    /// The template of a text that was scanned in one mode; `None` when it would not be worth it. It
    /// serves texts of the same mode only.
    pub fn new(sql: &[u8], literals: &[CutLiteral]) -> Option<Template> {
        let gaps: Option<Box<[Gap]>> = literals.iter().map(|l| gap(sql, l)).collect();
        let gaps = gaps?;
        let first = gaps.first()?.start;
        let tail = sql.get(first.checked_sub(TAIL_BYTES)?..first)?.try_into().ok()?;
        Some(Template { text: sql.into(), gaps, tail })
    }

    /// Whether `sql` is this text with other values; `literals` gets them (its old content goes).
    #[inline]
    pub fn matches(&self, sql: &[u8], literals: &mut Vec<CutLiteral>) -> bool {
        let first = self.gaps.first().map_or(0, |g| g.start);
        let tail = sql.get(first.wrapping_sub(TAIL_BYTES)..first);
        tail == Some(&self.tail[..]) && self.matches_whole(sql, literals)
    }

    fn matches_whole(&self, sql: &[u8], literals: &mut Vec<CutLiteral>) -> bool {
        literals.clear();
        let (mut at, mut done) = (0, 0);
        for gap in &self.gaps {
            let fixed = &self.text[done..gap.start];
            if sql.get(at..at + fixed.len()) != Some(fixed) {
                return false;
            }
            at += fixed.len();
            let rest = &sql[at..];
            let value = match gap.quote {
                None => digits(rest).map(|(value, n)| (LiteralValue::Int(value), n)),
                Some(quote) => quoted(rest, quote).map(|n| {
                    let (start, end) = (at as u32, (at + n) as u32);
                    (LiteralValue::Text { start, end, escaped: false }, n)
                }),
            };
            let Some((value, n)) = value else { return false };
            let quote = u32::from(gap.quote.is_some());
            let (start, end) = (at as u32 - quote, (at + n) as u32 + quote);
            literals.push(CutLiteral { start, end, value });
            at += n;
            done = gap.end;
        }
        sql[at..] == self.text[done..]
    }
}

fn gap(sql: &[u8], literal: &CutLiteral) -> Option<Gap> {
    let token = literal.start as usize;
    match literal.value {
        LiteralValue::Int(_) => {
            let (_, n) = digits(sql.get(token..)?)?;
            Some(Gap { start: token, end: token + n, quote: None })
        }
        LiteralValue::Text { start, end, escaped: false } => {
            let quote = *sql.get(token)?;
            Some(Gap { start: start as usize, end: end as usize, quote: Some(quote) })
        }
        _ => None,
    }
}

/// The integer that begins here and its length.
#[inline]
fn digits(bytes: &[u8]) -> Option<(i64, usize)> {
    let mut value = 0i64;
    let mut n = 0;
    while let Some(digit) = bytes.get(n).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        if n == DIGITS_MAX {
            return None;
        }
        value = value * 10 + i64::from(digit);
        n += 1;
    }
    (n > 0).then_some((value, n))
}

/// Length of a string's content up to its closing quote; `None` when something in it is escaped.
#[inline]
fn quoted(bytes: &[u8], quote: u8) -> Option<usize> {
    let n = bytes.iter().position(|b| matches!(b, b'\'' | b'"' | b'\\'))?;
    (bytes[n] == quote).then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqlMode;
    use crate::cut::{Cut, cut};

    fn template(sql: &str) -> Template {
        let mut buf = Cut::default();
        assert!(cut(sql.as_bytes(), SqlMode::DEFAULT, &mut buf));
        Template::new(sql.as_bytes(), buf.literals()).unwrap()
    }

    /// The values the template finds, which are those that are cut out, in a text of the same key.
    fn matched(of: &str, sql: &str) -> Option<Vec<LiteralValue>> {
        let mut found = Vec::new();
        let matches = template(of).matches(sql.as_bytes(), &mut found);
        if matches {
            let (mut a, mut b) = (Cut::default(), Cut::default());
            assert!(cut(of.as_bytes(), SqlMode::DEFAULT, &mut a));
            assert!(cut(sql.as_bytes(), SqlMode::DEFAULT, &mut b), "{sql}");
            assert_eq!(a.key(), b.key(), "{sql}");
            assert_eq!(found, b.literals(), "{sql}");
        }
        matches.then(|| found.iter().map(|l| l.value).collect())
    }

    const POINT: &str = "SELECT c FROM sbtest1 WHERE id=5";

    #[test]
    fn texts_that_differ_in_values_match() {
        let value = |n| Some(vec![LiteralValue::Int(n)]);
        assert_eq!(matched(POINT, "SELECT c FROM sbtest1 WHERE id=5"), value(5));
        assert_eq!(matched(POINT, "SELECT c FROM sbtest1 WHERE id=0012345"), value(12345));
        let two = matched(
            "SELECT c FROM t WHERE id = 1 AND d = 'abc' ;",
            "SELECT c FROM t WHERE id = 77 AND d = '' ;",
        );
        let text = LiteralValue::Text { start: 39, end: 39, escaped: false };
        assert_eq!(two, Some(vec![LiteralValue::Int(77), text]));
    }

    #[test]
    fn everything_else_is_left_to_the_scanner() {
        for sql in [
            "SELECT c FROM sbtest2 WHERE id=5",
            "SELECT d FROM sbtest1 WHERE id=5",
            "SELECT c FROM sbtest1 WHERE id=",
            "SELECT c FROM sbtest1 WHERE id=-5",
            "SELECT c FROM sbtest1 WHERE id=5.0",
            "SELECT c FROM sbtest1 WHERE id=5e1",
            "SELECT c FROM sbtest1 WHERE id=0x5",
            "SELECT c FROM sbtest1 WHERE id=5a",
            "SELECT c FROM sbtest1 WHERE id=5 OR 1",
            "SELECT c FROM sbtest1 WHERE id=5;",
            "SELECT c FROM sbtest1 WHERE id='5'",
            "SELECT c FROM sbtest1 WHERE id=9223372036854775808",
            "id=5",
            "",
        ] {
            assert_eq!(matched(POINT, sql), None, "{sql}");
        }
        let quoted = "SELECT c FROM t WHERE d='a'";
        for sql in [
            "SELECT c FROM t WHERE d='a''b'",
            r"SELECT c FROM t WHERE d='a\''",
            "SELECT c FROM t WHERE d='",
        ] {
            assert_eq!(matched(quoted, sql), None, "{sql}");
        }
    }

    #[test]
    fn whatever_matches_a_changed_text_has_its_key() {
        let base = "SELECT c FROM t WHERE id=10 AND d='x y' AND e=7";
        let pieces: [&[u8]; 14] = [
            b"'", b"\"", b"\\", b"0", b"9", b".", b"e", b"x", b"--", b" ", b"/*", b"*/", b"''",
            b";",
        ];
        let mut rng = stdx::rng::Rng::new(5);
        let mut hits = 0;
        for _ in 0..20_000 {
            let mut sql = base.as_bytes().to_vec();
            for _ in 0..1 + rng.below(3) {
                let at = 20 + rng.below(sql.len() as u64 - 20) as usize;
                let piece = pieces[rng.below(pieces.len() as u64) as usize];
                let cut = rng.below(2) as usize;
                sql.splice(at..(at + cut).min(sql.len()), piece.iter().copied());
            }
            if let Ok(sql) = std::str::from_utf8(&sql) {
                hits += u32::from(matched(base, sql).is_some());
            }
        }
        assert!(hits > 500, "{hits}");
    }
}
