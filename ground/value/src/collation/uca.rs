//! UCA 9.0.0 primary weights: `utf8mb4_0900_ai_ci`.
//!
//! Invariants
//! 1. A string's weights are those of its characters, one after another, without the zero ones: MySQL
//!    neither normalises nor uses contractions. So an equal prefix of characters can be skipped.
//! 2. No weight that leaves this module is 0; the largest, 0xFFFF, is that of a malformed byte.

use super::utf8::first_char;
use std::cmp::Ordering;

const RAW: &[u8; 99_548] = include_bytes!("uca900.bin");
const WORDS: usize = RAW.len() / 2;
static TABLE: [u16; WORDS] = words();
static ASCII: [u16; 128] = ascii();

const INDEX_LEN: usize = 0x1100;
const PAGES_AT: usize = INDEX_LEN;
const PAGE_COUNT: usize = 149;
const EXPANSIONS_AT: usize = PAGES_AT + 256 * PAGE_COUNT;
const NONE: u16 = 0xFFFF;
const MALFORMED: u16 = 0xFFFF;
/// The offset-carrying bit of a table entry.
const EXPANDS: u16 = 0x8000;

const fn words() -> [u16; WORDS] {
    let mut table = [0; WORDS];
    let mut i = 0;
    while i < WORDS {
        table[i] = u16::from_le_bytes([RAW[2 * i], RAW[2 * i + 1]]);
        i += 1;
    }
    table
}

const fn ascii() -> [u16; 128] {
    let table = words();
    let mut out = [0; 128];
    let mut i = 0;
    while i < 128 {
        out[i] = table[PAGES_AT + 256 * table[0] as usize + i];
        assert!(out[i] & EXPANDS == 0, "ASCII characters have one weight or none");
        i += 1;
    }
    out
}

/// The weights of one character: at most 8 from the table, 3 of a Hangul syllable, 2 implicit.
enum Weights {
    One(u16),
    Table(&'static [u16]),
    Made([u16; 3], usize),
}

/// The table's entry of a character, `NONE` when it has none.
#[inline]
fn entry(c: u32) -> u16 {
    let page = TABLE.get((c >> 8) as usize).copied().unwrap_or(NONE);
    if page == NONE {
        return NONE;
    }
    TABLE[PAGES_AT + 256 * usize::from(page) + (c & 0xFF) as usize]
}

fn weights(c: u32) -> Weights {
    let e = entry(c);
    if e == NONE {
        return hangul(c).unwrap_or_else(|| implicit(c));
    }
    if e & EXPANDS == 0 {
        return Weights::One(e);
    }
    let at = EXPANSIONS_AT + usize::from(e & !EXPANDS);
    let count = usize::from(TABLE[at]);
    Weights::Table(&TABLE[at + 1..at + 1 + count])
}

/// Hangul syllables weigh as their two or three jamo.
fn hangul(c: u32) -> Option<Weights> {
    if !(0xAC00..=0xD7AF).contains(&c) {
        return None;
    }
    let index = c - 0xAC00;
    let (l, v, t) = (0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11A7 + index % 28);
    let tail = if t == 0x11A7 { 0 } else { entry(t) };
    Some(Weights::Made([entry(l), entry(v), tail], 2 + usize::from(tail != 0)))
}

/// Han, Tangut and unassigned characters weigh by their code point.
fn implicit(c: u32) -> Weights {
    if (0x1_7000..=0x1_8AFF).contains(&c) {
        return Weights::Made([0xFB00, (c - 0x1_7000) as u16 | 0x8000, 0], 2);
    }
    let base = match c {
        0x3400..=0x4DB5
        | 0x2_0000..=0x2_A6D6
        | 0x2_A700..=0x2_B734
        | 0x2_B740..=0x2_B81D
        | 0x2_B820..=0x2_CEA1 => 0xFB80,
        0x4E00..=0x9FD5 | 0xFA0E..=0xFA29 => 0xFB40,
        _ => 0xFBC0,
    };
    Weights::Made([base + (c >> 15) as u16, (c & 0x7FFF) as u16 | 0x8000, 0], 2)
}

/// The weights of a string, one by one.
pub(super) struct Scanner<'a> {
    rest: &'a [u8],
    queue: [u16; 8],
    at: usize,
    end: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(s: &'a [u8]) -> Self {
        Self { rest: s, queue: [0; 8], at: 0, end: 0 }
    }

    fn fill(&mut self, ws: &[u16]) {
        let n = ws.len().min(self.queue.len());
        self.queue[..n].copy_from_slice(&ws[..n]);
        (self.at, self.end) = (0, n);
    }
}

impl Iterator for Scanner<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        loop {
            if self.at < self.end {
                self.at += 1;
                return Some(self.queue[self.at - 1]);
            }
            let &b = self.rest.first()?;
            if b < 0x80 {
                self.rest = &self.rest[1..];
                match ASCII[usize::from(b)] {
                    0 => continue,
                    w => return Some(w),
                }
            }
            let (c, len) = first_char(self.rest);
            self.rest = &self.rest[len..];
            match c.map(weights) {
                None => return Some(MALFORMED),
                Some(Weights::One(0)) => {}
                Some(Weights::One(w)) => return Some(w),
                Some(Weights::Table(ws)) => self.fill(ws),
                Some(Weights::Made(ws, n)) => self.fill(&ws[..n]),
            }
        }
    }
}

/// Order by primary weights, NO PAD.
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    // Rule 1: an equal ASCII prefix has equal weights.
    let same = a.iter().zip(b).take_while(|(x, y)| x == y && **x < 0x80).count();
    Scanner::new(&a[same..]).cmp(Scanner::new(&b[same..]))
}

/// Appends the weights, big-endian: memcmp order is the collation's order.
pub(super) fn sort_key(s: &[u8], out: &mut Vec<u8>) {
    out.reserve(2 * s.len());
    for w in Scanner::new(s) {
        out.extend_from_slice(&w.to_be_bytes());
    }
}
