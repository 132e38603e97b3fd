//! MySQL's `latin1`: Windows code page 1252.
//!
//! 1. 0x80 to 0x9F are the code page's characters; where it has none, the byte is the C1 control
//!    character of the same number, so every byte is a character and every conversion comes back.

/// Code points of the bytes 0x80 to 0x9F.
const HIGH: [u16; 32] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039,
    0x0152, 0x8D, 0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
    0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178,
];

/// The code point of a byte.
#[inline]
pub(super) const fn to_unicode(b: u8) -> u32 {
    match b {
        0x80..=0x9F => HIGH[(b - 0x80) as usize] as u32,
        _ => b as u32,
    }
}

/// The byte of a code point.
#[inline]
pub(super) fn from_unicode(c: u32) -> Option<u8> {
    match u8::try_from(c) {
        Ok(b) if to_unicode(b) == c => Some(b),
        _ => (0x80..=0x9F).find(|b| to_unicode(*b) == c),
    }
}

/// Upper case: of ASCII, and of 0xE0 to 0xFE but for the division sign.
#[inline]
pub(crate) const fn upper(b: u8) -> u8 {
    match b {
        b'a'..=b'z' | 0xE0..=0xF6 | 0xF8..=0xFE => b - 0x20,
        _ => b,
    }
}

/// Lower case, the other way.
#[inline]
pub(super) const fn lower(b: u8) -> u8 {
    match b {
        b'A'..=b'Z' | 0xC0..=0xD6 | 0xD8..=0xDE => b + 0x20,
        _ => b,
    }
}
