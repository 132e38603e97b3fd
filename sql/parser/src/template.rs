//! A text with its literals cut out: recognises texts that differ in nothing else, without reading
//! their tokens.
//!
//! 1. A text that matches has the key of the template's text, literal for literal: up to the first
//!    literal the bytes, hence the tokens, are equal; a literal ends where the template's did, before
//!    the same byte; and so on to the end. 2. Refusing is always right: the text is then scanned.
//! 3. A match allocates nothing.

use crate::cut::{CutLiteral, LiteralValue, TEXT_BYTES_MAX};

/// Integers of more digits are left to the scanner: some of them exceed the BIGINT range.
const DIGITS_MAX: usize = 18;
/// Templates that are looked at for a text.
const TEMPLATES_MAX: usize = 16;

/// A text and where its literals are.
#[derive(Debug, Clone)]
pub struct Template {
    text: Box<[u8]>,
    gaps: Box<[Gap]>,
    /// Bytes before the first literal, and their fingerprint.
    first: usize,
    head: u64,
}

/// The place of a literal's value: of digits, or inside quotes.
#[derive(Debug, Clone, Copy)]
struct Gap {
    start: usize,
    end: usize,
    /// The quote, or none around digits.
    quote: Option<u8>,
}

/// The templates of the texts that came last, each with what its user knows of it.
#[derive(Debug, Default)]
pub struct Templates(Vec<(Template, usize)>);

impl Templates {
    /// What is known of the text's template; `literals` gets its literals.
    #[inline]
    pub fn find(&self, sql: &[u8], literals: &mut Vec<CutLiteral>) -> Option<usize> {
        // A longer text has no key: what is made for it could be found by no text, or by all of them.
        if sql.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (mut first, mut head) = (usize::MAX, 0);
        let found = self.0.iter().find(|(template, _)| {
            if template.first != first {
                first = template.first;
                head = fingerprint(sql.get(..first).unwrap_or_default());
            }
            template.head == head && template.matches(sql, literals)
        });
        found.map(|(_, known)| *known)
    }

    /// Adds the template of a text that was read in one mode, if there is none with this knowledge and it is worth it; the
    /// oldest goes when there are too many. It serves texts of the same mode only.
    pub fn add(&mut self, sql: &[u8], literals: &[CutLiteral], known: usize) {
        if self.0.iter().any(|(_, of)| *of == known) {
            return;
        }
        let Some(template) = Template::new(sql, literals) else { return };
        if self.0.len() == TEMPLATES_MAX {
            self.0.remove(0);
        }
        self.0.push((template, known));
    }

    /// Removes the template with this knowledge.
    pub fn forget(&mut self, known: usize) {
        self.0.retain(|(_, of)| *of != known);
    }

    /// Removes all of them.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Texts with different beginnings differ in it as a rule.
#[inline]
fn fingerprint(head: &[u8]) -> u64 {
    let sum = head.len() as u64;
    let mix =
        |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let (words, rest) = stdx::bytes::words(head);
    mix(words.iter().fold(sum, |sum, word| mix(sum, u64::from_le_bytes(*word))), rest)
}

impl Template {
    /// The template of a text; `None` when it would not be worth it.
    fn new(sql: &[u8], literals: &[CutLiteral]) -> Option<Template> {
        let gaps: Option<Box<[Gap]>> = literals.iter().map(|l| gap(sql, l)).collect();
        let gaps = gaps?;
        let first = gaps.first()?.start;
        let head = fingerprint(sql.get(..first)?);
        Some(Template { text: sql.into(), gaps, first, head })
    }

    /// Whether `sql` is this text with other values; `literals` gets them (its old content goes).
    fn matches(&self, sql: &[u8], literals: &mut Vec<CutLiteral>) -> bool {
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

/// Not 0 where one of the eight bytes of a word is this one.
#[inline]
fn has_byte(word: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let zero = word ^ (ONES * u64::from(byte));
    zero.wrapping_sub(ONES) & !zero & (ONES << 7)
}

/// Length of a string's content up to its closing quote; `None` when something in it is escaped.
#[inline]
fn quoted(bytes: &[u8], quote: u8) -> Option<usize> {
    let ends = |b: &u8| matches!(b, b'\'' | b'"' | b'\\');
    let words = bytes.as_chunks::<8>().0.iter();
    let passed = words.take_while(|word| {
        let word = u64::from_le_bytes(**word);
        has_byte(word, b'\'') | has_byte(word, b'"') | has_byte(word, b'\\') == 0
    });
    let from = 8 * passed.count();
    let n = from + bytes[from..].iter().position(ends)?;
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

    /// It has no key, so nothing may be found or kept for it.
    #[test]
    fn a_text_that_is_too_long_to_be_cut_has_no_template() {
        let text = |n: usize| format!("SELECT LENGTH('{}')", "x".repeat(n));
        let (mut buf, mut templates) = (Cut::default(), Templates::default());
        assert!(cut(text(1).as_bytes(), SqlMode::DEFAULT, &mut buf));
        templates.add(text(1).as_bytes(), buf.literals(), 7);
        for (n, known) in [(4000, Some(7)), (5000, None), (100_000, None)] {
            assert_eq!(cut(text(n).as_bytes(), SqlMode::DEFAULT, &mut buf), known.is_some());
            assert_eq!(templates.find(text(n).as_bytes(), &mut Vec::new()), known, "{n}");
        }
    }

    #[test]
    fn a_string_ends_at_its_first_quote_or_not_at_all() {
        for n in 0..40 {
            let text = "x\u{a7}\u{7f}&(#!]".repeat(6);
            let text = &text.as_bytes()[..n];
            for last in [&b"'"[..], b"\"", b"\\"] {
                let found = quoted(&[text, last, b" and ' \" more"].concat(), b'\'');
                assert_eq!(found, (last == b"'").then_some(n), "{n}");
            }
            assert_eq!(quoted(text, b'\''), None);
        }
    }

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
