//! Upper and lower case as MySQL maps them: one character to one character.
//!
//! 1. Which characters have a case depends on the collation: `utf8mb4_0900_*` map as Unicode 9.0,
//!    `*_unicode_520_ci` as Unicode 5.2, the others of Unicode, `unicode_ci` with them, the letters that
//!    `general_ci` folds.
//! 2. The result is at most as long as the string, as MySQL's is: it ends before the first character
//!    that has no room (`Ⱥ` is shorter than its lower case).

use super::{Charset, latin1};
use crate::Collation;
use crate::collation::utf8;
use std::borrow::Cow;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `UPPER()`.
    Upper,
    /// `LOWER()`.
    Lower,
}

/// A run of characters that map alike, as the tables have it (`tools/make_tables.py`).
#[derive(Clone, Copy)]
struct Run {
    first: u32,
    last: u32,
    add: u32,
    step: u32,
    since: u32,
}

/// Values of [`Run::since`].
const EVERYWHERE: u32 = 0;
const SINCE_520: u32 = 1;
const GENERAL_ONLY: u32 = 3;

const fn runs<const BYTES: usize, const N: usize>(raw: &[u8; BYTES]) -> [Run; N] {
    const fn word(raw: &[u8], at: usize) -> u32 {
        u32::from_le_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]])
    }
    let mut out = [Run { first: 0, last: 0, add: 0, step: 0, since: 0 }; N];
    let mut i = 0;
    while i < N {
        let at = 16 * i;
        let mark = word(raw, at + 12);
        out[i] = Run {
            first: word(raw, at),
            last: word(raw, at + 4),
            add: word(raw, at + 8),
            step: mark & 0xFF,
            since: mark >> 8,
        };
        i += 1;
    }
    out
}

const UPPER_RAW: &[u8; 3232] = include_bytes!("case_upper.bin");
const LOWER_RAW: &[u8; 2928] = include_bytes!("case_lower.bin");
static UPPER: [Run; UPPER_RAW.len() / 16] = runs(UPPER_RAW);
static LOWER: [Run; LOWER_RAW.len() / 16] = runs(LOWER_RAW);

/// Rule 1.
fn has(collation: Collation, since: u32) -> bool {
    match collation {
        Collation::Utf8mb4_0900AiCi
        | Collation::Utf8mb4_0900AsCi
        | Collation::Utf8mb4_0900AsCs
        | Collation::Utf8mb4_0900Bin => since != GENERAL_ONLY,
        Collation::Utf8mb4Unicode520Ci | Collation::Utf8mb3Unicode520Ci => since <= SINCE_520,
        _ => since == EVERYWHERE || since == GENERAL_ONLY,
    }
}

/// A character above ASCII in the other case.
fn mapped(case: Case, collation: Collation, c: u32) -> u32 {
    let runs: &[Run] = match case {
        Case::Upper => &UPPER,
        Case::Lower => &LOWER,
    };
    // Runs with a step of 2 may lie in each other, two at most.
    let end = runs.partition_point(|run| run.first <= c);
    let found = runs[..end].iter().rev().take(4).find(|run| {
        c <= run.last && (c - run.first).is_multiple_of(run.step) && has(collation, run.since)
    });
    found.map_or(c, |run| c.wrapping_add(run.add))
}

impl Collation {
    /// Appends `s` in upper or lower case. `binary` has no case; bytes that are no characters stay.
    pub fn change_case(self, case: Case, s: &[u8], out: &mut Vec<u8>) {
        let ascii = match case {
            Case::Upper => u8::to_ascii_uppercase,
            Case::Lower => u8::to_ascii_lowercase,
        };
        match self.charset() {
            Charset::Binary => out.extend_from_slice(s),
            Charset::Ascii => out.extend(s.iter().map(ascii)),
            Charset::Latin1 => match case {
                Case::Upper => out.extend(s.iter().map(|b| latin1::upper(*b))),
                Case::Lower => out.extend(s.iter().map(|b| latin1::lower(*b))),
            },
            Charset::Utf8mb3 | Charset::Utf8mb4 if s.is_ascii() => out.extend(s.iter().map(ascii)),
            Charset::Utf8mb3 | Charset::Utf8mb4 => {
                let room = out.len() + s.len();
                let mut rest = s;
                while let Some(b) = rest.first() {
                    let (c, len) = utf8::first_char(rest);
                    let before = out.len();
                    match c {
                        Some(0..0x80) => out.push(ascii(b)),
                        Some(c) if self.charset().push_char(mapped(case, self, c), out) => {}
                        _ => out.extend_from_slice(&rest[..len]),
                    }
                    if out.len() > room {
                        out.truncate(before);
                        return;
                    }
                    rest = &rest[len..];
                }
            }
        }
    }

    /// `s` in upper case, in place where it can be.
    #[must_use]
    pub fn upper<'s>(self, s: impl Into<Cow<'s, [u8]>>) -> Vec<u8> {
        self.changed(Case::Upper, s.into())
    }

    /// `s` in lower case, in place where it can be.
    #[must_use]
    pub fn lower<'s>(self, s: impl Into<Cow<'s, [u8]>>) -> Vec<u8> {
        self.changed(Case::Lower, s.into())
    }

    fn changed(self, case: Case, s: Cow<'_, [u8]>) -> Vec<u8> {
        let charset = self.charset();
        let is_utf8 = matches!(charset, Charset::Utf8mb3 | Charset::Utf8mb4);
        if charset == Charset::Ascii || is_utf8 && s.is_ascii() {
            let mut text = s.into_owned();
            match case {
                Case::Upper => text.make_ascii_uppercase(),
                Case::Lower => text.make_ascii_lowercase(),
            }
            return text;
        }
        let mut out = Vec::with_capacity(s.len());
        self.change_case(case, &s, &mut out);
        out
    }
}
