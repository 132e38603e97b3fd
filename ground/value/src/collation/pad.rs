//! PAD SPACE collations: those of one u16 weight per character (`general_ci`), of one per byte
//! (`_bin`, latin1, ascii) and, with the weights of [`super::uca`], `unicode_ci` and
//! `unicode_520_ci`.
//!
//! Invariants
//! 1. A string compares as if followed by endless spaces.
//! 2. In a sort key every space is followed by a mark that tells how what comes after the run of
//!    spaces compares with a space: `LESS` or `GREATER`; the end of the string is a space with `END`.
//!    The end is therefore unique: the key is self-delimiting and needs no escapes.
//! 3. UTF-8 bytes order as code points, so `utf8mb4_bin` weighs bytes.
//! 4. `space` is the weight of a space.

use super::utf8::first_char;
use std::cmp::Ordering;

const RAW: &[u8; 6144] = include_bytes!("general_ci.bin");
static TABLE: [u16; 3072] = words();
const NONE: u16 = 0xFFFF;
/// Weight of characters above the BMP and of malformed bytes.
const ABOVE: u16 = 0xFFFD;
/// The weight of a space where weights are those of `general_ci` or bytes.
pub(super) const SPACE: u16 = 0x20;

const LESS: u8 = 1;
const END: u8 = 2;
const GREATER: u8 = 3;

const fn words() -> [u16; 3072] {
    let mut table = [0; 3072];
    let mut i = 0;
    while i < table.len() {
        table[i] = u16::from_le_bytes([RAW[2 * i], RAW[2 * i + 1]]);
        i += 1;
    }
    table
}

fn general_weight(c: Option<u32>) -> u16 {
    match c {
        Some(c @ 0..=0xFFFF) => match TABLE[(c >> 8) as usize] {
            NONE => c as u16,
            page => TABLE[256 + 256 * usize::from(page) + (c & 0xFF) as usize],
        },
        _ => ABOVE,
    }
}

/// The weights of a string under `general_ci`.
pub(super) struct General<'a>(pub(super) &'a [u8]);

impl Iterator for General<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        let &b = self.0.first()?;
        if b < 0x80 {
            self.0 = &self.0[1..];
            return Some(u16::from(b.to_ascii_uppercase()));
        }
        let (c, len) = first_char(self.0);
        self.0 = &self.0[len..];
        Some(general_weight(c))
    }
}

/// The weights of a string under a `_bin` collation.
pub(super) fn bin(s: &[u8]) -> impl Iterator<Item = u16> {
    s.iter().map(|&b| u16::from(b))
}

/// The weights of a string of one-byte characters.
pub(super) fn mapped<'a>(s: &'a [u8], table: &'a [u8; 256]) -> impl Iterator<Item = u16> + 'a {
    s.iter().map(|&b| u16::from(table[usize::from(b)]))
}

/// Rule 1, weight by weight.
pub(super) fn compare(
    mut a: impl Iterator<Item = u16>,
    mut b: impl Iterator<Item = u16>,
    space: u16,
) -> Ordering {
    loop {
        let (x, y) = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (x, y) => (x.unwrap_or(space), y.unwrap_or(space)),
        };
        if x != y {
            return x.cmp(&y);
        }
    }
}

/// Appends the key of rule 2; weights take two bytes when `wide`, else one.
pub(super) fn sort_key(
    weights: impl Iterator<Item = u16>,
    wide: bool,
    space: u16,
    out: &mut Vec<u8>,
) {
    let put = |w: u16, out: &mut Vec<u8>| {
        if wide {
            out.push((w >> 8) as u8);
        }
        out.push(w as u8);
    };
    let mut spaces = 0usize;
    for w in weights {
        if w == space {
            spaces += 1;
            continue;
        }
        for _ in 0..spaces {
            put(space, out);
            out.push(if w < space { LESS } else { GREATER });
        }
        spaces = 0;
        put(w, out);
    }
    put(space, out);
    out.push(END);
}

/// Bytes of the key of rule 2 at the beginning of `key`, every byte turned by `flip`.
pub(super) fn key_length(key: &[u8], wide: bool, space: u16, flip: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        let weight = match wide {
            true => u16::from_be_bytes([key.get(at)? ^ flip, key.get(at + 1)? ^ flip]),
            false => u16::from(key.get(at)? ^ flip),
        };
        at += if wide { 2 } else { 1 };
        if weight == space {
            at += 1;
            if key.get(at - 1)? ^ flip == END {
                return Some(at);
            }
        }
    }
}

/// Appends the bytes, without spaces at the end, whose `_bin` key `key` begins with, every byte turned by
/// `flip`; the key's length. `None`: it has no end.
pub(crate) fn unkey(key: &[u8], flip: u8, out: &mut Vec<u8>) -> Option<usize> {
    let mut at = 0;
    loop {
        let byte = key.get(at)? ^ flip;
        at += 1;
        if u16::from(byte) == SPACE {
            at += 1;
            if key.get(at - 1)? ^ flip == END {
                return Some(at);
            }
        }
        out.push(byte);
    }
}

/// The weights without the trailing spaces, for hashing.
pub(super) fn each_stripped(
    weights: impl Iterator<Item = u16>,
    space: u16,
    mut each: impl FnMut(u16),
) {
    let mut spaces = 0usize;
    for w in weights {
        if w == space {
            spaces += 1;
            continue;
        }
        (0..spaces).for_each(|_| each(space));
        spaces = 0;
        each(w);
    }
}
