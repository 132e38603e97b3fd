//! How text compares, sorts and hashes.
//!
//! Invariants
//! 1. `sort_key(a) < sort_key(b)` by memcmp exactly when `compare(a, b)` is `Less`; equal likewise.
//! 2. Equal strings hash equal.
//! 3. No function panics on bytes that are not UTF-8 (a bad byte counts as one character near the end
//!    of the order), so a damaged page cannot stop the server.
//! 4. Keys on disk depend on the tables: a change of weights needs a new collation id or a rebuild.

mod bits;
mod pad;
#[cfg(test)]
mod tests;
mod uca;
pub(crate) mod utf8;

use std::cmp::Ordering;

/// A collation of utf8mb4 or binary; numbers and names are MySQL's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Collation {
    /// `binary`, id 63: bytes, NO PAD.
    Binary,
    /// `utf8mb4_bin`, id 46: code points, PAD SPACE.
    Utf8mb4Bin,
    /// `utf8mb4_general_ci`, id 45: one weight per character, PAD SPACE.
    Utf8mb4GeneralCi,
    /// `utf8mb4_0900_ai_ci`, id 255: UCA 9.0.0 primary weights, NO PAD; MySQL's default.
    #[default]
    Utf8mb4_0900AiCi,
}

impl Collation {
    /// Every collation, in id order.
    pub const ALL: [Collation; 4] = [
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb4Bin,
        Collation::Binary,
        Collation::Utf8mb4_0900AiCi,
    ];

    /// MySQL's collation number.
    #[must_use]
    pub const fn id(self) -> u16 {
        match self {
            Collation::Binary => 63,
            Collation::Utf8mb4Bin => 46,
            Collation::Utf8mb4GeneralCi => 45,
            Collation::Utf8mb4_0900AiCi => 255,
        }
    }

    /// The collation with MySQL's number `id`.
    #[must_use]
    pub fn from_id(id: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.id() == id)
    }

    /// MySQL's collation name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Collation::Binary => "binary",
            Collation::Utf8mb4Bin => "utf8mb4_bin",
            Collation::Utf8mb4GeneralCi => "utf8mb4_general_ci",
            Collation::Utf8mb4_0900AiCi => "utf8mb4_0900_ai_ci",
        }
    }

    /// The collation with this name, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name().eq_ignore_ascii_case(name))
    }

    /// The character set the collation belongs to: `utf8mb4` or `binary`.
    #[must_use]
    pub const fn charset(self) -> &'static str {
        match self {
            Collation::Binary => "binary",
            _ => "utf8mb4",
        }
    }

    /// The default collation of a character set, by name in any case.
    #[must_use]
    pub fn default_of(charset: &str) -> Option<Self> {
        if charset.eq_ignore_ascii_case("utf8mb4") {
            Some(Collation::Utf8mb4_0900AiCi)
        } else if charset.eq_ignore_ascii_case("binary") {
            Some(Collation::Binary)
        } else {
            None
        }
    }

    /// Most bytes one character takes.
    #[must_use]
    pub const fn bytes_per_char_max(self) -> u32 {
        match self {
            Collation::Binary => 1,
            _ => crate::types::UTF8MB4_BYTES_MAX,
        }
    }

    /// Whether trailing spaces do not count in comparisons.
    #[must_use]
    pub const fn pads_space(self) -> bool {
        matches!(self, Collation::Utf8mb4Bin | Collation::Utf8mb4GeneralCi)
    }

    /// Order of two strings.
    #[must_use]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Collation::Binary => a.cmp(b),
            Collation::Utf8mb4Bin => pad::compare(pad::bin(a), pad::bin(b)),
            Collation::Utf8mb4GeneralCi => pad::compare(pad::General(a), pad::General(b)),
            Collation::Utf8mb4_0900AiCi => uca::compare(a, b),
        }
    }

    /// Whether two strings are equal.
    #[must_use]
    pub fn equals(self, a: &[u8], b: &[u8]) -> bool {
        self.compare(a, b) == Ordering::Equal
    }

    /// Appends bytes whose memcmp order is the collation's order.
    pub fn sort_key(self, s: &[u8], out: &mut Vec<u8>) {
        match self {
            Collation::Binary => out.extend_from_slice(s),
            Collation::Utf8mb4Bin => pad::sort_key(pad::bin(s), false, out),
            Collation::Utf8mb4GeneralCi => pad::sort_key(pad::General(s), true, out),
            Collation::Utf8mb4_0900AiCi => uca::sort_key(s, out),
        }
    }

    /// Appends the sort key in a self-delimiting form: after it another key part may follow and memcmp
    /// still orders by the first part that differs. [`crate::key`] rule 4 gives the form.
    pub fn key_part(self, s: &[u8], out: &mut Vec<u8>) {
        match self {
            Collation::Binary => bits::key_part(s, out),
            Collation::Utf8mb4_0900AiCi => {
                uca::sort_key(s, out);
                out.extend_from_slice(&[0, 0]);
            }
            _ => self.sort_key(s, out),
        }
    }

    /// A hash for memory (not for disk): equal strings hash equal. `seed` chains several values.
    #[must_use]
    pub fn hash(self, s: &[u8], seed: u64) -> u64 {
        let mut h = seed ^ 0x9E37_79B9_7F4A_7C15;
        let mut mix =
            |w: u16| h = (h.rotate_left(23) ^ u64::from(w)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        match self {
            Collation::Binary => pad::bin(s).for_each(&mut mix),
            Collation::Utf8mb4Bin => pad::each_stripped(pad::bin(s), &mut mix),
            Collation::Utf8mb4GeneralCi => pad::each_stripped(pad::General(s), &mut mix),
            Collation::Utf8mb4_0900AiCi => uca::Scanner::new(s).for_each(&mut mix),
        }
        h ^ (h >> 32)
    }

    /// Whether every character has exactly one weight, so that what is equal (or not less) is so, too,
    /// after both sides were cut to the same number of characters.
    #[must_use]
    pub const fn one_weight_per_char(self) -> bool {
        !matches!(self, Collation::Utf8mb4_0900AiCi)
    }

    /// How many characters a string has (bytes for `binary`).
    #[must_use]
    pub fn char_count(self, s: &[u8]) -> usize {
        if self == Collation::Binary { s.len() } else { utf8::count(s) }
    }

    /// The first `chars` characters of a string (bytes for `binary`).
    #[must_use]
    pub fn prefix(self, s: &[u8], chars: usize) -> &[u8] {
        let len =
            if self == Collation::Binary { chars.min(s.len()) } else { utf8::prefix_len(s, chars) };
        &s[..len]
    }
}
