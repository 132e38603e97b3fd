//! Weights of the Unicode Collation Algorithm: `utf8mb4_0900_*` (9.0.0), `unicode_520_ci` (5.2.0) and
//! `unicode_ci` (4.0.0).
//!
//! Invariants
//! 1. A string's weights are those of its characters, one after another, without the zero ones: MySQL
//!    neither normalises nor uses contractions. So an equal prefix of characters can be skipped.
//! 2. No weight that leaves this module is 0; the largest, 0xFFFF, is that of a malformed byte.
//! 3. A string compares by all its primary weights, then by all its secondary ones, then by the tertiary
//!    ones, as far as the collation looks; in a sort key a zero weight stands between two levels.

use super::utf8::first_char;
use std::cmp::Ordering;

/// How many levels a collation looks at.
#[derive(Clone, Copy)]
pub(super) enum Levels {
    One,
    Two,
    Three,
}

const INDEX_LEN: usize = 0x1100;
const NONE: u16 = 0xFFFF;
const MALFORMED: u16 = 0xFFFF;
/// Weight of a character above the BMP in 4.0.0.
const ABOVE_400: u16 = 0xFFFD;
/// The offset-carrying bit of a table entry.
const EXPANDS: u16 = 0x8000;
/// Weight of a space in 4.0.0.
pub(super) const SPACE_400: u16 = 0x0209;
/// Weight of a space in 5.2.0.
pub(super) const SPACE_520: u16 = 0x020A;

const fn words<const BYTES: usize, const N: usize>(raw: &[u8; BYTES]) -> [u16; N] {
    let mut table = [0; N];
    let mut i = 0;
    while i < N {
        table[i] = u16::from_le_bytes([raw[2 * i], raw[2 * i + 1]]);
        i += 1;
    }
    table
}

const fn ascii(words: &[u16]) -> [u16; 128] {
    let mut out = [0; 128];
    let mut i = 0;
    while i < 128 {
        out[i] = words[INDEX_LEN + 256 * words[0] as usize + i];
        assert!(out[i] & EXPANDS == 0, "ASCII characters have one weight or none");
        i += 1;
    }
    out
}

/// Pairs of ASCII characters.
const PAIRS: usize = 128 * 128;

/// The weights of pairs of ASCII characters, big-endian, by the first one and 128 times the second.
const fn pairs(ascii: &[u16; 128]) -> [[u8; 4]; PAIRS] {
    let mut out = [[0; 4]; PAIRS];
    let mut i = 0;
    while i < PAIRS {
        let (first, second) = (ascii[i % 128].to_be_bytes(), ascii[i / 128].to_be_bytes());
        out[i] = [first[0], first[1], second[0], second[1]];
        i += 1;
    }
    out
}

/// Characters from space to tilde have a weight on each level.
const fn assert_plain(ascii: &[u16; 128]) {
    let mut c = 0x20;
    while c < 0x7F {
        assert!(ascii[c] > 0, "a plain character without a weight");
        c += 1;
    }
}

/// One level of one version: a table (`tools/make_tables.py` gives its form) and the formulas for what
/// is not in it.
pub(super) trait Level {
    const WORDS: &'static [u16];
    const ASCII: &'static [u16; 128];
    /// See [`pairs`]; of the level that every comparison looks at.
    const PAIRS: Option<&'static [[u8; 4]; PAIRS]> = None;
    const PAGE_COUNT: usize;
    /// The weights of a character without entry: how many of the three count.
    fn made(c: u32) -> ([u16; 3], usize);
}

macro_rules! level {
    ($level:ident, $file:literal, $bytes:literal, $pages:literal, $made:expr $(, $pairs:expr)?) => {
        /// One table of weights.
        pub(super) struct $level;

        const _: () = {
            static WORDS: [u16; $bytes / 2] =
                words::<$bytes, { $bytes / 2 }>(include_bytes!($file));
            static ASCII: [u16; 128] =
                ascii(&words::<$bytes, { $bytes / 2 }>(include_bytes!($file)));
            const _: () =
                assert_plain(&ascii(&words::<$bytes, { $bytes / 2 }>(include_bytes!($file))));

            impl Level for $level {
                const WORDS: &'static [u16] = &WORDS;
                const ASCII: &'static [u16; 128] = &ASCII;
                const PAGE_COUNT: usize = $pages;
                $(const PAIRS: Option<&'static [[u8; 4]; PAIRS]> = $pairs;)?

                fn made(c: u32) -> ([u16; 3], usize) {
                    $made(c)
                }
            }
        };
    };
}

level!(
    Primary900,
    "uca900_1.bin",
    99_548,
    149,
    |c| match hangul(c) {
        Some((l, v, t)) => {
            let tail = t.map_or(0, entry::<Primary900>);
            ([entry::<Primary900>(l), entry::<Primary900>(v), tail], 2 + usize::from(tail != 0))
        }
        None => implicit_900(c),
    },
    Some(&PAIRS_900)
);
static PAIRS_900: [[u8; 4]; PAIRS] = pairs(Primary900::ASCII);
level!(Secondary900, "uca900_2.bin", 70_352, 118, |c| ([0x20; 3], elements(c)));
level!(Tertiary900, "uca900_3.bin", 69_698, 118, |c| match c {
    // The last page of Hangul syllables, as MySQL has it.
    0xD700..=0xD7AF => ([3; 3], elements(c)),
    _ => ([2; 3], elements(c)),
});
level!(Primary520, "uca520.bin", 79_734, 111, implicit_520);
level!(Primary400, "uca400.bin", 49_164, 59, implicit_400);

/// The weights of one character: at most 8 from the table, 3 of a Hangul syllable, 2 implicit.
enum Weights {
    One(u16),
    Table(&'static [u16]),
    Made([u16; 3], usize),
}

impl Weights {
    fn all(&self) -> &[u16] {
        match self {
            Weights::One(w) => std::slice::from_ref(w),
            Weights::Table(ws) => ws,
            Weights::Made(ws, n) => &ws[..*n],
        }
    }
}

/// The table's entry of a character, `NONE` when it has none.
#[inline]
fn entry<L: Level>(c: u32) -> u16 {
    let page = L::WORDS.get((c >> 8) as usize).copied().unwrap_or(NONE);
    if page == NONE {
        return NONE;
    }
    L::WORDS[INDEX_LEN + 256 * usize::from(page) + (c & 0xFF) as usize]
}

fn weights<L: Level>(c: u32) -> Weights {
    let e = entry::<L>(c);
    if e == NONE {
        let (ws, n) = L::made(c);
        return Weights::Made(ws, n);
    }
    if e & EXPANDS == 0 {
        return Weights::One(e);
    }
    let at = INDEX_LEN + 256 * L::PAGE_COUNT + usize::from(e & !EXPANDS);
    let count = usize::from(L::WORDS[at]);
    Weights::Table(&L::WORDS[at + 1..at + 1 + count])
}

/// The two or three jamo of a Hangul syllable: it weighs as they do.
fn hangul(c: u32) -> Option<(u32, u32, Option<u32>)> {
    if !(0xAC00..=0xD7AF).contains(&c) {
        return None;
    }
    let index = c - 0xAC00;
    let (l, v, t) = (0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11A7 + index % 28);
    Some((l, v, (t != 0x11A7).then_some(t)))
}

/// How many secondary and tertiary weights a character without entry has.
fn elements(c: u32) -> usize {
    hangul(c).map_or(1, |(_, _, t)| 2 + usize::from(t.is_some()))
}

fn implicit(base: u16, c: u32) -> ([u16; 3], usize) {
    ([base + (c >> 15) as u16, (c & 0x7FFF) as u16 | 0x8000, 0], 2)
}

/// Han, Tangut and unassigned characters weigh by their code point.
fn implicit_900(c: u32) -> ([u16; 3], usize) {
    if (0x1_7000..=0x1_8AFF).contains(&c) {
        return ([0xFB00, (c - 0x1_7000) as u16 | 0x8000, 0], 2);
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
    implicit(base, c)
}

/// In 5.2.0 MySQL knows the Han of Unicode 1.1 and Extension A; Hangul syllables are as unassigned ones.
fn implicit_520(c: u32) -> ([u16; 3], usize) {
    let base = match c {
        0x3400..=0x4DB5 => 0xFB80,
        0x4E00..=0x9FA5 => 0xFB40,
        _ => 0xFBC0,
    };
    implicit(base, c)
}

/// With 4.0.0 MySQL weighs the BMP alone: what is above has one weight, whatever it is.
fn implicit_400(c: u32) -> ([u16; 3], usize) {
    if c > 0xFFFF { ([ABOVE_400, 0, 0], 1) } else { implicit_520(c) }
}

/// The weights of a string on one level, one by one.
pub(super) struct Scanner<'a, L> {
    rest: &'a [u8],
    queue: [u16; 8],
    at: usize,
    end: usize,
    level: std::marker::PhantomData<L>,
}

impl<'a, L: Level> Scanner<'a, L> {
    fn new(s: &'a [u8]) -> Self {
        Self { rest: s, queue: [0; 8], at: 0, end: 0, level: std::marker::PhantomData }
    }

    fn fill(&mut self, ws: &[u16]) {
        let n = ws.len().min(self.queue.len());
        self.queue[..n].copy_from_slice(&ws[..n]);
        (self.at, self.end) = (0, n);
    }
}

impl<L: Level> Iterator for Scanner<'_, L> {
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
                match L::ASCII[usize::from(b)] {
                    0 => continue,
                    w => return Some(w),
                }
            }
            let (c, len) = first_char(self.rest);
            self.rest = &self.rest[len..];
            match c.map(weights::<L>) {
                None => return Some(MALFORMED),
                Some(Weights::One(0)) => {}
                Some(Weights::One(w)) => return Some(w),
                Some(Weights::Table(ws)) => self.fill(ws),
                Some(Weights::Made(ws, n)) => self.fill(&ws[..n]),
            }
        }
    }
}

/// The primary weights of 4.0.0.
pub(super) fn weights_400(s: &[u8]) -> Scanner<'_, Primary400> {
    Scanner::new(s)
}

/// The primary weights of 5.2.0.
pub(super) fn weights_520(s: &[u8]) -> Scanner<'_, Primary520> {
    Scanner::new(s)
}

/// Order by the weights of 9.0.0, NO PAD.
#[inline]
pub(super) fn compare(a: &[u8], b: &[u8], levels: Levels) -> Ordering {
    // Rule 1: an equal ASCII prefix has equal weights.
    let same = a.iter().zip(b).take_while(|(x, y)| x == y && **x < 0x80).count();
    let (a, b) = (&a[same..], &b[same..]);
    let primary = Scanner::<Primary900>::new(a).cmp(Scanner::<Primary900>::new(b));
    match levels {
        Levels::One => primary,
        _ if primary != Ordering::Equal || a == b => primary,
        Levels::Two => secondary(a, b),
        Levels::Three => secondary(a, b)
            .then_with(|| Scanner::<Tertiary900>::new(a).cmp(Scanner::<Tertiary900>::new(b))),
    }
}

/// Whether two characters have the same weights, both on pages of the table. On the others each is but
/// itself to LIKE, though a formula gives it another's weights: a radical is not like its ideograph.
fn listed_alike<L: Level>(a: u32, b: u32) -> bool {
    let listed = |c: u32| L::WORDS.get((c >> 8) as usize).is_some_and(|page| *page != NONE);
    listed(a) && listed(b) && weights::<L>(a).all() == weights::<L>(b).all()
}

/// What LIKE takes for the same character, with 4.0.0.
pub(super) fn same_char_400(a: u32, b: u32) -> bool {
    listed_alike::<Primary400>(a, b)
}

/// What LIKE takes for the same character, with 5.2.0.
pub(super) fn same_char_520(a: u32, b: u32) -> bool {
    listed_alike::<Primary520>(a, b)
}

/// What LIKE takes for the same character, with 9.0.0.
pub(super) fn same_char_900(a: u32, b: u32, levels: Levels) -> bool {
    let second = || listed_alike::<Secondary900>(a, b);
    listed_alike::<Primary900>(a, b)
        && match levels {
            Levels::One => true,
            Levels::Two => second(),
            Levels::Three => second() && listed_alike::<Tertiary900>(a, b),
        }
}

/// Whether on each level that counts the weights of 9.0.0 begin with those of `start`.
pub(super) fn begins_with(s: &[u8], start: &[u8], levels: Levels) -> bool {
    fn level<L: Level>(s: &[u8], start: &[u8]) -> bool {
        super::begins(Scanner::<L>::new(s), Scanner::<L>::new(start))
    }
    let second = || level::<Secondary900>(s, start);
    level::<Primary900>(s, start)
        && match levels {
            Levels::One => true,
            Levels::Two => second(),
            Levels::Three => second() && level::<Tertiary900>(s, start),
        }
}

fn secondary(a: &[u8], b: &[u8]) -> Ordering {
    Scanner::<Secondary900>::new(a).cmp(Scanner::<Secondary900>::new(b))
}

/// Every weight of 9.0.0, level by level, with a zero between two levels; many at a time where the text is ASCII.
#[inline]
pub(super) fn each(s: &[u8], levels: Levels, mut each: impl FnMut(&[u16])) {
    level::<Primary900>(s, &mut each);
    if matches!(levels, Levels::Two | Levels::Three) {
        each(&[0]);
        level::<Secondary900>(s, &mut each);
    }
    if matches!(levels, Levels::Three) {
        each(&[0]);
        level::<Tertiary900>(s, &mut each);
    }
}

/// The weights of one level, in order.
#[inline]
fn level<L: Level>(mut s: &[u8], each: &mut impl FnMut(&[u16])) {
    while !s.is_empty() {
        s = ascii_weights::<L>(s, each);
        // What follows is another character, one without weight, or the text's last few.
        let bytes = s.len().min(STEP);
        let mut scanner = Scanner::<L>::new(s);
        while scanner.at < scanner.end || s.len() - scanner.rest.len() < bytes {
            match scanner.next() {
                Some(w) => each(&[w]),
                None => return,
            }
        }
        s = scanner.rest;
    }
}

/// Characters that are weighed at once.
const STEP: usize = 8;
/// The bits that no ASCII character has.
const NOT_ASCII: u64 = 0x8080_8080_8080_8080;

/// Weighs the ASCII characters that `s` begins with as long as each has a weight; what is left.
#[inline]
fn ascii_weights<'a, L: Level>(s: &'a [u8], each: &mut impl FnMut(&[u16])) -> &'a [u8] {
    let (steps, _) = s.as_chunks::<STEP>();
    for (n, chars) in steps.iter().enumerate() {
        let mut ws = [0; STEP];
        let mut least = u16::MAX;
        for (w, c) in ws.iter_mut().zip(chars) {
            *w = L::ASCII[usize::from(*c & 0x7F)];
            least = least.min(*w);
        }
        if u64::from_ne_bytes(*chars) & NOT_ASCII != 0 || least == 0 {
            return &s[n * STEP..];
        }
        each(&ws);
    }
    &s[steps.len() * STEP..]
}

/// Whether each character is one from space to tilde: those have one weight on each level.
#[inline]
fn are_plain(chars: &[u8; STEP]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x4040_4040_4040_4040;
    let chars = u64::from_ne_bytes(*chars);
    // No bit is carried from one character to the next where none has the highest: DEL becomes one that has it.
    let in_ascii = (chars | ((chars & !NOT_ASCII) + ONES)) & NOT_ASCII == 0;
    in_ascii && (chars | chars << 1) & HIGH == HIGH
}

/// Whether all of a text's characters are plain.
pub(super) fn are_all_plain(s: &[u8]) -> bool {
    let (steps, rest) = s.as_chunks::<STEP>();
    steps.iter().all(are_plain) && rest.iter().all(|c| (b' '..=b'~').contains(c))
}

/// The weights of plain characters, big-endian.
#[inline(always)]
fn put_plain_weights<L: Level>(chars: &[u8; STEP], place: &mut [u8; 2 * STEP]) {
    match L::PAIRS {
        Some(pairs) => {
            // Seven bits of each character, those of two beside each other.
            let chars = u64::from_le_bytes(*chars);
            let even = chars & 0x007F_007F_007F_007F;
            let chars = even | (chars & 0x7F00_7F00_7F00_7F00) >> 1;
            for (n, weights) in place.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *weights = pairs[(chars >> (16 * n)) as usize & (PAIRS - 1)];
            }
        }
        None => {
            for (c, weight) in chars.iter().zip(place.as_chunks_mut::<2>().0) {
                *weight = L::ASCII[usize::from(*c & 0x7F)].to_be_bytes();
            }
        }
    }
}

/// Appends the weights of the plain characters that `s` begins with; how many those are.
fn plain_key<L: Level>(s: &[u8], out: &mut Vec<u8>) -> usize {
    let (steps, rest) = s.as_chunks::<STEP>();
    let start = out.len();
    out.resize(start + 2 * STEP * steps.len(), 0);
    let mut plain = 0;
    for (chars, place) in steps.iter().zip(out[start..].as_chunks_mut().0) {
        if !are_plain(chars) {
            break;
        }
        put_plain_weights::<L>(chars, place);
        plain += 1;
    }
    out.truncate(start + 2 * STEP * plain);
    if plain < steps.len() || rest.is_empty() {
        return plain * STEP;
    }
    // The last few, filled up.
    let (mut last, mut weights) = ([b' '; STEP], [0; 2 * STEP]);
    last[..rest.len()].copy_from_slice(rest);
    if !are_plain(&last) {
        return plain * STEP;
    }
    put_plain_weights::<L>(&last, &mut weights);
    out.extend_from_slice(&weights[..2 * rest.len()]);
    s.len()
}

/// Appends the weights of the first [`STEP`] characters or of twice as many, which any key of the text begins with; `false`, with nothing
/// appended: they are not plain, or there are no more.
pub(super) fn key_start(s: &[u8], out: &mut Vec<u8>) -> bool {
    let Some((chars, rest)) = s.split_first_chunk::<STEP>() else { return false };
    if rest.is_empty() || !are_plain(chars) {
        return false;
    }
    let mut put = |chars: &[u8; STEP]| {
        let mut weights = [0; 2 * STEP];
        put_plain_weights::<Primary900>(chars, &mut weights);
        out.extend_from_slice(&weights);
    };
    put(chars);
    // Many texts begin alike: a second step costs a tenth of the whole key that a tie would need.
    if let Some((chars, _)) = rest.split_first_chunk::<STEP>()
        && are_plain(chars)
    {
        put(chars);
    }
    true
}

/// Appends the weights, big-endian: memcmp order is the collation's order.
pub(super) fn sort_key(s: &[u8], levels: Levels, out: &mut Vec<u8>) {
    level_key::<Primary900>(s, out);
    if matches!(levels, Levels::Two | Levels::Three) {
        out.extend_from_slice(&[0, 0]);
        level_key::<Secondary900>(s, out);
    }
    if matches!(levels, Levels::Three) {
        out.extend_from_slice(&[0, 0]);
        level_key::<Tertiary900>(s, out);
    }
}

fn level_key<L: Level>(s: &[u8], out: &mut Vec<u8>) {
    let plain = plain_key::<L>(s, out);
    level::<L>(&s[plain..], &mut |ws| match ws.first_chunk::<STEP>() {
        Some(ws) => out.extend_from_slice(ws.map(u16::to_be_bytes).as_flattened()),
        None => ws.iter().for_each(|w| out.extend_from_slice(&w.to_be_bytes())),
    });
}
