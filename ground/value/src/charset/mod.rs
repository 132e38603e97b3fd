//! Character sets: which bytes are text, what a character is, and how text of one becomes text of
//! another.
//!
//! Invariants
//! 1. Nothing panics on bytes that are not of the character set: such a byte is one character.
//! 2. [`convert`] is MySQL's: what the target cannot hold becomes `?`, one for each character or bad
//!    byte, and is counted.
//! 3. `binary` has no characters: converting from or to it copies bytes.

mod case;
mod convert;
pub(crate) mod latin1;
mod literal;
mod names;
#[cfg(test)]
mod tests;

pub use case::Case;
pub use convert::{Lost, convert, converted, first_lost};
pub use literal::{Literal, LiteralError, Malformed, literal, message};
pub use names::{NameError, deprecation};

use crate::Collation;
use crate::collation::utf8;

/// A character set. Names, descriptions and defaults are MySQL's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Charset {
    /// `ascii`: bytes below 0x80.
    Ascii,
    /// `binary`: bytes.
    Binary,
    /// `latin1`: Windows code page 1252, its five holes being the C1 control characters.
    Latin1,
    /// `utf8mb3`: UTF-8 without characters above U+FFFF.
    Utf8mb3,
    /// `utf8mb4`: UTF-8.
    #[default]
    Utf8mb4,
}

/// Every character set, by name: the rows of SHOW CHARACTER SET.
#[must_use]
pub const fn all() -> &'static [Charset] {
    use Charset::{Ascii, Binary, Latin1, Utf8mb3, Utf8mb4};
    &[Ascii, Binary, Latin1, Utf8mb3, Utf8mb4]
}

impl Charset {
    /// The name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Charset::Ascii => "ascii",
            Charset::Binary => "binary",
            Charset::Latin1 => "latin1",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Utf8mb4 => "utf8mb4",
        }
    }

    /// The character set with this name, in any case; `utf8` is `utf8mb3`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Charset::Utf8mb3);
        }
        all().iter().copied().find(|c| c.name().eq_ignore_ascii_case(name))
    }

    /// What SHOW CHARACTER SET says about it.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Charset::Ascii => "US ASCII",
            Charset::Binary => "Binary pseudo charset",
            Charset::Latin1 => "cp1252 West European",
            Charset::Utf8mb3 | Charset::Utf8mb4 => "UTF-8 Unicode",
        }
    }

    /// The collation of text for which only the character set is named.
    #[must_use]
    pub const fn default_collation(self) -> Collation {
        match self {
            Charset::Ascii => Collation::AsciiGeneralCi,
            Charset::Binary => Collation::Binary,
            Charset::Latin1 => Collation::Latin1SwedishCi,
            Charset::Utf8mb3 => Collation::Utf8mb3GeneralCi,
            Charset::Utf8mb4 => Collation::Utf8mb4_0900AiCi,
        }
    }

    /// The `_bin` collation: that of the BINARY attribute, and where two others meet.
    #[must_use]
    pub const fn bin_collation(self) -> Collation {
        match self {
            Charset::Ascii => Collation::AsciiBin,
            Charset::Binary => Collation::Binary,
            Charset::Latin1 => Collation::Latin1Bin,
            Charset::Utf8mb3 => Collation::Utf8mb3Bin,
            Charset::Utf8mb4 => Collation::Utf8mb4Bin,
        }
    }

    /// Most bytes one character takes.
    #[must_use]
    pub const fn bytes_per_char_max(self) -> u32 {
        match self {
            Charset::Ascii | Charset::Binary | Charset::Latin1 => 1,
            Charset::Utf8mb3 => 3,
            Charset::Utf8mb4 => 4,
        }
    }

    /// Whether it holds Unicode text of more than one script.
    #[must_use]
    pub const fn is_unicode(self) -> bool {
        matches!(self, Charset::Utf8mb3 | Charset::Utf8mb4)
    }

    /// The first character of `s` as its code point, and its length in bytes; a byte that starts no
    /// character comes back as `None` and length 1, the empty string with length 0. Bytes of `binary`
    /// are code points below 256.
    #[inline]
    #[must_use]
    pub fn first_char(self, s: &[u8]) -> (Option<u32>, usize) {
        let Some(&b) = s.first() else { return (None, 0) };
        match self {
            Charset::Utf8mb4 => utf8::first_char(s),
            Charset::Utf8mb3 => match utf8::first_char(s) {
                (_, 4) => (None, 1),
                found => found,
            },
            Charset::Latin1 => (Some(latin1::to_unicode(b)), 1),
            Charset::Ascii => (b.is_ascii().then_some(u32::from(b)), 1),
            Charset::Binary => (Some(u32::from(b)), 1),
        }
    }

    /// Appends the character `c`; `false` when the character set has none such.
    pub fn push_char(self, c: u32, out: &mut Vec<u8>) -> bool {
        let byte = match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => {
                let Some(c) = char::from_u32(c) else { return false };
                if self == Charset::Utf8mb3 && c > '\u{FFFF}' {
                    return false;
                }
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return true;
            }
            Charset::Latin1 => latin1::from_unicode(c),
            Charset::Ascii => u8::try_from(c).ok().filter(u8::is_ascii),
            Charset::Binary => u8::try_from(c).ok(),
        };
        out.extend(byte);
        byte.is_some()
    }

    /// How many bytes of `s`, from its beginning, are text of the character set: all of them if it is
    /// well formed.
    #[must_use]
    pub fn valid_len(self, s: &[u8]) -> usize {
        match self {
            Charset::Binary | Charset::Latin1 => s.len(),
            Charset::Ascii => s.iter().position(|b| !b.is_ascii()).unwrap_or(s.len()),
            Charset::Utf8mb4 => utf8::valid_len(s),
            Charset::Utf8mb3 => {
                let valid = utf8::valid_len(s);
                s[..valid].iter().position(|b| *b >= 0xF0).unwrap_or(valid)
            }
        }
    }

    /// Whether `s` is text of the character set from beginning to end.
    #[inline]
    #[must_use]
    pub fn is_valid(self, s: &[u8]) -> bool {
        self.valid_len(s) == s.len()
    }

    /// How many characters `s` has; a bad byte counts as one.
    #[inline]
    #[must_use]
    pub fn char_count(self, s: &[u8]) -> usize {
        match self {
            Charset::Utf8mb4 => utf8::count(s),
            Charset::Utf8mb3 if !s.is_ascii() => self.chars(s).count(),
            _ => s.len(),
        }
    }

    /// How many bytes the first `chars` characters of `s` take; all of `s` when it has fewer.
    #[inline]
    #[must_use]
    pub fn prefix_len(self, s: &[u8], chars: usize) -> usize {
        match self {
            Charset::Utf8mb4 => utf8::prefix_len(s, chars),
            Charset::Utf8mb3 if s.len() > chars => {
                self.chars(s).take(chars).map(|(_, len)| len).sum()
            }
            _ => chars.min(s.len()),
        }
    }

    /// The characters of `s`, each as [`Charset::first_char`] gives it.
    pub fn chars(self, s: &[u8]) -> impl Iterator<Item = (Option<u32>, usize)> + '_ {
        let mut rest = s;
        std::iter::from_fn(move || {
            let (c, len) = self.first_char(rest);
            rest = rest.get(len..)?;
            (len != 0).then_some((c, len))
        })
    }
}

impl std::fmt::Display for Charset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
