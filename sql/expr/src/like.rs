//! LIKE: `%` any characters, `_` one; characters compare by the collation.
//!
//! 1. Value and pattern are looked at where they lie. 2. Time is at most the product of their lengths:
//! after a mismatch matching goes on behind the last `%` seen, one character further.

use crate::eval::text_cow as text;
use value::{Collation, Datum};

/// Characters of ASCII that every collation tells apart, but perhaps for their case.
const PRINTED_FIRST: u8 = b' ';
const PRINTED_LAST: u8 = b'~';

/// Whether the value is like the pattern; unknown with NULL on either side.
pub fn like(
    value: &Datum<'_>,
    pattern: &Datum<'_>,
    escape: u8,
    collation: Collation,
) -> Option<bool> {
    if value.is_null() || pattern.is_null() {
        return None;
    }
    let (value, pattern) = (text(value), text(pattern));
    let unit = match collation.bytes_per_char_max() {
        1 => |_: &[u8]| 1,
        _ => char_bytes,
    };
    let folds = collation.folds_ascii();
    let matcher = Matcher { value: &value, pattern: &pattern, escape, unit, collation, folds };
    Some(matcher.matches())
}

/// Bytes of the first character; a malformed one counts as long as its first byte says, within the text.
fn char_bytes(text: &[u8]) -> usize {
    let bytes = match text.first() {
        Some(0..=0xBF) | None => 1,
        Some(0xC0..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..) => 4,
    };
    bytes.min(text.len())
}

struct Matcher<'t> {
    value: &'t [u8],
    pattern: &'t [u8],
    escape: u8,
    unit: fn(&[u8]) -> usize,
    collation: Collation,
    /// Case of ASCII letters does not count.
    folds: bool,
}

/// What the pattern wants next, and the bytes it takes there.
enum PatternStep<'t> {
    Any(usize),
    One(usize),
    Char(&'t [u8], usize),
    End,
}

impl<'t> Matcher<'t> {
    fn step_at(&self, at: usize) -> PatternStep<'t> {
        match self.pattern[at..].first() {
            None => PatternStep::End,
            Some(b'%') if self.escape != b'%' => PatternStep::Any(1),
            Some(b'_') if self.escape != b'_' => PatternStep::One(1),
            Some(&first) => {
                let escaped = usize::from(first == self.escape && at + 1 < self.pattern.len());
                let rest = &self.pattern[at + escaped..];
                let bytes = self.unit(rest);
                PatternStep::Char(&rest[..bytes], escaped + bytes)
            }
        }
    }

    fn matches(&self) -> bool {
        let (mut v, mut p) = (0, 0);
        // Behind the last %: where the pattern goes on, and where the value was tried.
        let mut retry: Option<(usize, usize)> = None;
        while v < self.value.len() {
            let rest = &self.value[v..];
            let here = self.unit(rest);
            match self.step_at(p) {
                PatternStep::Any(bytes) => {
                    p += bytes;
                    retry = Some((p, v));
                    continue;
                }
                PatternStep::One(bytes) => {
                    (p, v) = (p + bytes, v + here);
                    continue;
                }
                PatternStep::Char(wanted, bytes) if self.same(wanted, &rest[..here]) => {
                    (p, v) = (p + bytes, v + here);
                    continue;
                }
                PatternStep::Char(..) | PatternStep::End => {}
            }
            let Some((after, start)) = retry else { return false };
            (p, v) = (after, start + self.unit(&self.value[start..]));
            if let PatternStep::Char(wanted, _) = self.step_at(after) {
                v = self.skip(wanted, v);
            }
            retry = Some((after, v));
        }
        self.pattern[p..].iter().all(|c| *c == b'%')
    }

    #[inline]
    fn unit(&self, text: &[u8]) -> usize {
        match text.first() {
            Some(0..0x80) => 1,
            _ => (self.unit)(text),
        }
    }

    /// The next place, from `v` on, where the value may have a character like `wanted`.
    fn skip(&self, wanted: &[u8], mut v: usize) -> usize {
        let &[wanted @ PRINTED_FIRST..=PRINTED_LAST] = wanted else { return v };
        while let Some(&c @ PRINTED_FIRST..=PRINTED_LAST) = self.value.get(v)
            && !self.same_printed(wanted, c)
        {
            v += 1;
        }
        v
    }

    #[inline]
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        match (a, b) {
            (&[x @ PRINTED_FIRST..=PRINTED_LAST], &[y @ PRINTED_FIRST..=PRINTED_LAST]) => {
                self.same_printed(x, y)
            }
            _ => self.collation.same_char(a, b),
        }
    }

    #[inline]
    fn same_printed(&self, x: u8, y: u8) -> bool {
        x == y || self.folds && x.eq_ignore_ascii_case(&y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(value: &[u8], pattern: &[u8], collation: Collation) -> bool {
        like(&Datum::Bytes(value), &Datum::Bytes(pattern), b'\\', collation) == Some(true)
    }

    #[test]
    fn printed_ascii_differs_but_for_case() {
        for collation in Collation::ALL {
            for (a, b) in
                (PRINTED_FIRST..=PRINTED_LAST).flat_map(|a| (a..=PRINTED_LAST).map(move |b| (a, b)))
            {
                let same = a == b || collation.folds_ascii() && a.eq_ignore_ascii_case(&b);
                // A space alone is nothing to a collation that pads.
                assert_eq!(collation.equals(&[a], &[b]), same, "{collation:?} {a} {b}");
            }
        }
    }

    #[test]
    fn characters_bytes_and_escapes() {
        let ai = Collation::Utf8mb4_0900AiCi;
        for (value, pattern, wanted) in [
            ("", "%", true),
            ("", "_", false),
            ("Zürich", "z_RICH", true),
            ("Zürich", "%\u{fc}%h", true),
            ("a%b", "a\\%b", true),
            ("axb", "a\\%b", false),
            ("a_b", "a\\_b", true),
            ("abcabd", "%ab%d", true),
            ("abcabd", "%ab%e", false),
            ("x\u{1F600}y", "x_y", true),
            ("a\\", "a\\", true),
        ] {
            assert_eq!(
                holds(value.as_bytes(), pattern.as_bytes(), ai),
                wanted,
                "{value} {pattern}"
            );
        }
        // Bytes that are no characters are themselves, not all the same.
        assert!(holds(b"\xFF\x00", b"\xFF_", Collation::Binary));
        assert!(!holds(b"\xFF", b"\xFE", Collation::Binary));
        assert!(!holds("\u{fc}".as_bytes(), b"_", Collation::Binary));
        // Exponential for a matcher that tries every split.
        assert!(!holds(&[b'a'; 60], ("%_".repeat(25) + "b").as_bytes(), ai));
        assert_eq!(like(&Datum::Null, &Datum::Bytes(b"%"), b'\\', ai), None);
    }
}
