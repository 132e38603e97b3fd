//! How text compares, sorts and hashes.
//!
//! Invariants
//! 1. `sort_key(a) < sort_key(b)` by memcmp exactly when `compare(a, b)` is `Less`; equal likewise.
//! 2. Equal strings hash equal.
//! 3. No function panics on bytes that are not of the character set (a bad byte counts as one character
//!    near the end of the order), so a damaged page cannot stop the server.
//! 4. Keys on disk depend on the tables: a change of weights needs a new collation id or a rebuild.

pub mod aggregate;
pub(crate) mod bits;
mod info;
pub(crate) mod pad;
mod single;
#[cfg(test)]
mod tests;
mod uca;
pub(crate) mod utf8;

use crate::charset::Charset;
use std::cmp::Ordering;

/// A collation; numbers and names are MySQL's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Collation {
    /// `ascii_bin`, id 65: bytes, PAD SPACE.
    AsciiBin,
    /// `ascii_general_ci`, id 11: upper case, PAD SPACE.
    AsciiGeneralCi,
    /// `binary`, id 63: bytes, NO PAD.
    Binary,
    /// `latin1_bin`, id 47: bytes, PAD SPACE.
    Latin1Bin,
    /// `latin1_general_ci`, id 48: accents count, case does not; PAD SPACE.
    Latin1GeneralCi,
    /// `latin1_general_cs`, id 49: accents and case count; PAD SPACE.
    Latin1GeneralCs,
    /// `latin1_german1_ci`, id 5: dictionary order, ß as s; PAD SPACE.
    Latin1German1Ci,
    /// `latin1_swedish_ci`, id 8: å, ä, ö behind z; PAD SPACE; the default of latin1.
    Latin1SwedishCi,
    /// `utf8mb3_bin`, id 83: code points, PAD SPACE.
    Utf8mb3Bin,
    /// `utf8mb3_general_ci`, id 33: as `utf8mb4_general_ci`; the default of utf8mb3.
    Utf8mb3GeneralCi,
    /// `utf8mb3_unicode_520_ci`, id 214: as `utf8mb4_unicode_520_ci`.
    Utf8mb3Unicode520Ci,
    /// `utf8mb3_unicode_ci`, id 192: as `utf8mb4_unicode_ci`.
    Utf8mb3UnicodeCi,
    /// `utf8mb4_0900_ai_ci`, id 255: UCA 9.0.0 primary weights, NO PAD; MySQL's default.
    #[default]
    Utf8mb4_0900AiCi,
    /// `utf8mb4_0900_as_ci`, id 305: UCA 9.0.0 primary and secondary weights, NO PAD.
    Utf8mb4_0900AsCi,
    /// `utf8mb4_0900_as_cs`, id 278: UCA 9.0.0 weights of all three levels, NO PAD.
    Utf8mb4_0900AsCs,
    /// `utf8mb4_0900_bin`, id 309: code points, NO PAD.
    Utf8mb4_0900Bin,
    /// `utf8mb4_bin`, id 46: code points, PAD SPACE.
    Utf8mb4Bin,
    /// `utf8mb4_general_ci`, id 45: one weight per character, PAD SPACE.
    Utf8mb4GeneralCi,
    /// `utf8mb4_unicode_520_ci`, id 246: UCA 5.2.0 primary weights, PAD SPACE.
    Utf8mb4Unicode520Ci,
    /// `utf8mb4_unicode_ci`, id 224: UCA 4.0.0 primary weights, one for all above the BMP, PAD SPACE.
    Utf8mb4UnicodeCi,
}

/// What cutting strings to a number of characters does to their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Every character has exactly one weight: what is equal (or not less) is so, too, after both sides
    /// were cut to the same number of characters.
    Keeps,
    /// A cut string's weights are the first of the whole one's, but nobody knows how many: it is not
    /// greater than it was ([`crate::key::fewer_weights`]).
    FewerWeights,
    /// As before, but spaces pad: it may be less or greater than it was.
    Anything,
}

/// How a collation weighs: what differs between character sets is gone.
enum Weights {
    Bytes,
    PaddedBytes,
    Table(&'static [u8; 256]),
    General,
    Unicode400,
    Unicode520,
    Unicode900(uca::Levels),
}

/// Whether weights begin with others.
fn begins(mut weights: impl Iterator<Item = u16>, mut start: impl Iterator<Item = u16>) -> bool {
    start.all(|w| weights.next() == Some(w))
}

impl Collation {
    const COUNT: usize = Collation::ALL.len();

    /// Every collation, by name: the rows of SHOW COLLATION.
    pub const ALL: [Collation; 20] = [
        Collation::AsciiBin,
        Collation::AsciiGeneralCi,
        Collation::Binary,
        Collation::Latin1Bin,
        Collation::Latin1GeneralCi,
        Collation::Latin1GeneralCs,
        Collation::Latin1German1Ci,
        Collation::Latin1SwedishCi,
        Collation::Utf8mb3Bin,
        Collation::Utf8mb3GeneralCi,
        Collation::Utf8mb3Unicode520Ci,
        Collation::Utf8mb3UnicodeCi,
        Collation::Utf8mb4_0900AiCi,
        Collation::Utf8mb4_0900AsCi,
        Collation::Utf8mb4_0900AsCs,
        Collation::Utf8mb4_0900Bin,
        Collation::Utf8mb4Bin,
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb4Unicode520Ci,
        Collation::Utf8mb4UnicodeCi,
    ];

    /// Every collation, by name: the rows of SHOW COLLATION.
    #[must_use]
    pub const fn all() -> &'static [Collation] {
        &Self::ALL
    }

    /// MySQL's collation number.
    #[inline]
    #[must_use]
    pub const fn id(self) -> u16 {
        self.info().id
    }

    /// The collation with MySQL's number `id`.
    #[must_use]
    pub fn from_id(id: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.id() == id)
    }

    /// MySQL's collation name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The collation with this name, in any case; `utf8_...` is `utf8mb3_...`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        const OLD: &str = "utf8_";
        let is = |c: &Collation, name: &str| c.name().eq_ignore_ascii_case(name);
        if name.get(..OLD.len()).is_some_and(|start| start.eq_ignore_ascii_case(OLD)) {
            let name = format!("utf8mb3_{}", &name[OLD.len()..]);
            return Self::ALL.into_iter().find(|c| is(c, &name));
        }
        Self::ALL.into_iter().find(|c| is(c, name))
    }

    /// The character set the collation belongs to.
    #[inline]
    #[must_use]
    pub const fn charset(self) -> Charset {
        self.info().charset
    }

    /// The default collation of a character set, by name in any case.
    #[must_use]
    pub fn default_of(charset: &str) -> Option<Self> {
        Charset::from_name(charset).map(Charset::default_collation)
    }

    /// Whether it is its character set's default.
    #[must_use]
    pub fn is_default(self) -> bool {
        self.charset().default_collation() == self
    }

    /// What SHOW COLLATION says in the column Sortlen.
    #[must_use]
    pub const fn sort_len(self) -> u8 {
        self.info().sort_len
    }

    /// Whether it compares code points or bytes: `binary` and what ends in `_bin`.
    #[must_use]
    pub const fn is_bin(self) -> bool {
        matches!(
            self,
            Collation::AsciiBin
                | Collation::Binary
                | Collation::Latin1Bin
                | Collation::Utf8mb3Bin
                | Collation::Utf8mb4_0900Bin
                | Collation::Utf8mb4Bin
        )
    }

    /// Whether the case of ASCII letters does not count.
    #[inline]
    #[must_use]
    pub const fn folds_ascii(self) -> bool {
        !self.is_bin() && !matches!(self, Collation::Latin1GeneralCs | Collation::Utf8mb4_0900AsCs)
    }

    /// Most bytes one character takes.
    #[inline]
    #[must_use]
    pub const fn bytes_per_char_max(self) -> u32 {
        self.charset().bytes_per_char_max()
    }

    /// Whether trailing spaces do not count in comparisons.
    #[inline]
    #[must_use]
    pub const fn pads_space(self) -> bool {
        self.info().pads_space
    }

    #[inline]
    const fn weights(self) -> Weights {
        match self {
            Collation::Utf8mb4_0900AiCi => Weights::Unicode900(uca::Levels::One),
            Collation::Utf8mb4_0900AsCi => Weights::Unicode900(uca::Levels::Two),
            Collation::Utf8mb4_0900AsCs => Weights::Unicode900(uca::Levels::Three),
            Collation::Utf8mb4GeneralCi | Collation::Utf8mb3GeneralCi => Weights::General,
            Collation::Utf8mb4UnicodeCi | Collation::Utf8mb3UnicodeCi => Weights::Unicode400,
            Collation::Utf8mb4Unicode520Ci | Collation::Utf8mb3Unicode520Ci => Weights::Unicode520,
            Collation::Binary | Collation::Utf8mb4_0900Bin => Weights::Bytes,
            Collation::AsciiBin
            | Collation::Latin1Bin
            | Collation::Utf8mb3Bin
            | Collation::Utf8mb4Bin => Weights::PaddedBytes,
            Collation::AsciiGeneralCi => Weights::Table(&single::ASCII_GENERAL_CI),
            Collation::Latin1GeneralCi => Weights::Table(&single::LATIN1_GENERAL_CI),
            Collation::Latin1GeneralCs => Weights::Table(&single::LATIN1_GENERAL_CS),
            Collation::Latin1German1Ci => Weights::Table(&single::LATIN1_GERMAN1_CI),
            Collation::Latin1SwedishCi => Weights::Table(&single::LATIN1_SWEDISH_CI),
        }
    }

    /// Order of two strings.
    #[must_use]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self.weights() {
            Weights::Bytes => a.cmp(b),
            Weights::PaddedBytes => pad::compare(pad::bin(a), pad::bin(b), pad::SPACE),
            Weights::Table(t) => pad::compare(pad::mapped(a, t), pad::mapped(b, t), pad::SPACE),
            Weights::General => pad::compare(pad::General(a), pad::General(b), pad::SPACE),
            Weights::Unicode400 => {
                pad::compare(uca::weights_400(a), uca::weights_400(b), uca::SPACE_400)
            }
            Weights::Unicode520 => {
                pad::compare(uca::weights_520(a), uca::weights_520(b), uca::SPACE_520)
            }
            Weights::Unicode900(levels) => uca::compare(a, b, levels),
        }
    }

    /// Whether two strings are equal.
    #[must_use]
    pub fn equals(self, a: &[u8], b: &[u8]) -> bool {
        self.compare(a, b) == Ordering::Equal
    }

    /// Whether LIKE takes two single characters for the same: no space pads, and characters that the
    /// Unicode tables do not list are but themselves.
    #[must_use]
    pub fn same_char(self, a: &[u8], b: &[u8]) -> bool {
        let listed =
            |same: &dyn Fn(u32, u32) -> bool| match (utf8::first_char(a), utf8::first_char(b)) {
                ((Some(x), _), (Some(y), _)) => same(x, y),
                _ => false,
            };
        a == b
            || match self.weights() {
                Weights::Unicode400 => listed(&uca::same_char_400),
                Weights::Unicode520 => listed(&uca::same_char_520),
                Weights::Unicode900(levels) => listed(&|x, y| uca::same_char_900(x, y, levels)),
                // One weight each, so nothing pads.
                _ => self.equals(a, b),
            }
    }

    /// Whether the weights of `s` begin with those of `start`, on each level that counts: what LOCATE
    /// looks for. No space pads.
    #[must_use]
    pub fn begins_with(self, s: &[u8], start: &[u8]) -> bool {
        match self.weights() {
            Weights::Bytes | Weights::PaddedBytes => s.starts_with(start),
            Weights::Table(t) => begins(pad::mapped(s, t), pad::mapped(start, t)),
            Weights::General => begins(pad::General(s), pad::General(start)),
            Weights::Unicode400 => begins(uca::weights_400(s), uca::weights_400(start)),
            Weights::Unicode520 => begins(uca::weights_520(s), uca::weights_520(start)),
            Weights::Unicode900(levels) => uca::begins_with(s, start, levels),
        }
    }

    /// As a search by [`Collation::begins_with`], where all characters of both are plain ones, each with a weight of its own but for its
    /// case, which the third level tells: where `part`, which is not empty, begins in `whole`. Outer `None`: it takes weights to find it.
    #[must_use]
    pub fn find_plain(self, whole: &[u8], part: &[u8]) -> Option<Option<usize>> {
        let Weights::Unicode900(levels) = self.weights() else { return None };
        if part.is_empty() || !uca::are_all_plain(whole) || !uca::are_all_plain(part) {
            return None;
        }
        let mut places = whole.windows(part.len());
        Some(match levels {
            uca::Levels::One | uca::Levels::Two => {
                places.position(|place| place.eq_ignore_ascii_case(part))
            }
            uca::Levels::Three => places.position(|place| place == part),
        })
    }

    /// Appends bytes whose memcmp order is the collation's order.
    pub fn sort_key(self, s: &[u8], out: &mut Vec<u8>) {
        match self.weights() {
            Weights::Bytes => out.extend_from_slice(s),
            Weights::PaddedBytes => pad::sort_key(pad::bin(s), false, pad::SPACE, out),
            Weights::Table(t) => pad::sort_key(pad::mapped(s, t), false, pad::SPACE, out),
            Weights::General => pad::sort_key(pad::General(s), true, pad::SPACE, out),
            Weights::Unicode400 => {
                pad::sort_key(uca::weights_400(s), true, uca::SPACE_400, out);
            }
            Weights::Unicode520 => {
                pad::sort_key(uca::weights_520(s), true, uca::SPACE_520, out);
            }
            Weights::Unicode900(levels) => uca::sort_key(s, levels, out),
        }
    }

    /// Appends the sort key in a self-delimiting form: after it another key part may follow and memcmp
    /// still orders by the first part that differs. [`crate::key`] rule 4 gives the form.
    pub fn key_part(self, s: &[u8], out: &mut Vec<u8>) {
        match self.weights() {
            Weights::Bytes => bits::key_part(s, out),
            Weights::Unicode900(levels) => {
                uca::sort_key(s, levels, out);
                out.extend_from_slice(&[0, 0]);
            }
            _ => self.sort_key(s, out),
        }
    }

    /// Appends what [`Collation::key_part`] begins with for a text of many characters, which is cheap; `false`, with nothing
    /// appended: the whole part is wanted.
    pub fn key_start(self, s: &[u8], out: &mut Vec<u8>) -> bool {
        matches!(self.weights(), Weights::Unicode900(_)) && uca::key_start(s, out)
    }

    /// Bytes of the [`Collation::key_part`] that `key` begins with, every byte of it turned by `flip`;
    /// `None` if it has no end.
    pub(crate) fn key_part_length(self, key: &[u8], flip: u8) -> Option<usize> {
        match self.weights() {
            Weights::Bytes => bits::key_part_length(key, flip),
            Weights::Unicode900(levels) => {
                // Between two levels stands the weight that is also the end.
                let zeros = match levels {
                    uca::Levels::One => 1,
                    uca::Levels::Two => 2,
                    uca::Levels::Three => 3,
                };
                let is_zero = |w: &[u8; 2]| *w == [flip, flip];
                let weights = key.as_chunks::<2>().0.iter().enumerate();
                let end = weights.filter(|(_, w)| is_zero(w)).nth(zeros - 1)?.0;
                Some(2 * end + 2)
            }
            Weights::PaddedBytes | Weights::Table(_) => {
                pad::key_length(key, false, pad::SPACE, flip)
            }
            Weights::General => pad::key_length(key, true, pad::SPACE, flip),
            Weights::Unicode400 => pad::key_length(key, true, uca::SPACE_400, flip),
            Weights::Unicode520 => pad::key_length(key, true, uca::SPACE_520, flip),
        }
    }

    /// Appends what `WEIGHT_STRING(s)` shows; with `chars`, what `WEIGHT_STRING(s AS CHAR(chars))` does:
    /// the weights of so many characters, filled up with spaces where the collation pads. For `binary`:
    /// so many bytes, filled up with zero bytes.
    pub fn weight_string(self, s: &[u8], chars: Option<usize>, out: &mut Vec<u8>) {
        let s = chars.map_or(s, |n| self.prefix(s, n));
        let missing = chars.map_or(0, |n| n.saturating_sub(self.char_count(s)));
        let wide = |w: u16, out: &mut Vec<u8>| out.extend_from_slice(&w.to_be_bytes());
        let charset = self.charset();
        let points = charset.is_unicode() && self.is_bin() && self.pads_space();
        let spaces = std::iter::repeat_n(b' ', if self.pads_space() { missing } else { 0 });
        match self.weights() {
            _ if points => {
                let all = charset.chars(s).map(|(c, _)| c.unwrap_or(0xFFFD));
                let bytes = if charset == Charset::Utf8mb4 { 3 } else { 2 };
                for c in all.chain(spaces.map(u32::from)) {
                    out.extend_from_slice(&c.to_be_bytes()[4 - bytes..]);
                }
            }
            Weights::Bytes | Weights::PaddedBytes => {
                out.extend_from_slice(s);
                out.extend(spaces);
                if self == Collation::Binary {
                    out.resize(out.len() + missing, 0);
                }
            }
            Weights::Table(t) => {
                out.extend(s.iter().copied().chain(spaces).map(|b| t[usize::from(b)]));
            }
            Weights::General => {
                pad::General(s).chain(spaces.map(u16::from)).for_each(|w| wide(w, out));
            }
            Weights::Unicode400 => {
                let spaces = spaces.map(|_| uca::SPACE_400);
                uca::weights_400(s).chain(spaces).for_each(|w| wide(w, out));
            }
            Weights::Unicode520 => {
                let spaces = spaces.map(|_| uca::SPACE_520);
                uca::weights_520(s).chain(spaces).for_each(|w| wide(w, out));
            }
            Weights::Unicode900(levels) => uca::sort_key(s, levels, out),
        }
    }

    /// A hash for memory (not for disk): equal strings hash equal. `seed` chains several values.
    #[must_use]
    pub fn hash(self, s: &[u8], seed: u64) -> u64 {
        let mut h = seed ^ 0x9E37_79B9_7F4A_7C15;
        let mut mix =
            |w: u16| h = (h.rotate_left(23) ^ u64::from(w)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        match self.weights() {
            Weights::Bytes => pad::bin(s).for_each(&mut mix),
            Weights::PaddedBytes => pad::each_stripped(pad::bin(s), pad::SPACE, &mut mix),
            Weights::Table(t) => pad::each_stripped(pad::mapped(s, t), pad::SPACE, &mut mix),
            Weights::General => pad::each_stripped(pad::General(s), pad::SPACE, &mut mix),
            Weights::Unicode400 => {
                pad::each_stripped(uca::weights_400(s), uca::SPACE_400, &mut mix);
            }
            Weights::Unicode520 => {
                pad::each_stripped(uca::weights_520(s), uca::SPACE_520, &mut mix);
            }
            Weights::Unicode900(levels) => {
                uca::each(s, levels, |ws| ws.iter().copied().for_each(&mut mix));
            }
        }
        h ^ (h >> 32)
    }

    /// What cutting characters off a string's end does to its place in the order.
    #[must_use]
    pub const fn cut(self) -> Cut {
        match self.weights() {
            Weights::Unicode900(_) => Cut::FewerWeights,
            Weights::Unicode400 | Weights::Unicode520 => Cut::Anything,
            _ => Cut::Keeps,
        }
    }

    /// How many characters a string has (bytes for `binary`).
    #[inline]
    #[must_use]
    pub fn char_count(self, s: &[u8]) -> usize {
        self.charset().char_count(s)
    }

    /// The first `chars` characters of a string (bytes for `binary`).
    #[inline]
    #[must_use]
    pub fn prefix(self, s: &[u8], chars: usize) -> &[u8] {
        &s[..self.charset().prefix_len(s, chars)]
    }
}
