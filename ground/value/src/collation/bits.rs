//! Self-delimiting keys of byte strings, in nine bits a byte.
//!
//! 1. Each byte stands behind a 1 bit, the end is a 0 bit: so a string is below every longer one that
//!    begins with it, and bits in order are bytes in order.
//! 2. Zero bits fill the last byte; strings of one length take the same number of bytes.

/// Appends the key part of `s`: `s.len() * 9 / 8 + 1` bytes.
pub(super) fn key_part(s: &[u8], out: &mut Vec<u8>) {
    out.reserve(s.len() + s.len() / 8 + 1);
    let (groups, rest) = s.as_chunks::<8>();
    for group in groups {
        let word = u64::from_be_bytes(*group);
        // Byte i moves i + 1 bits to the right; what leaves the word is the last byte.
        let mut bits = 0;
        for i in 0..8 {
            let byte = (word >> (56 - 8 * i)) & 0xFF | 0x100;
            bits |= u128::from(byte) << (63 - 9 * i + 56);
        }
        out.extend_from_slice(&bits.to_be_bytes()[..9]);
    }
    let mut bits = 0u128;
    for (i, &b) in rest.iter().enumerate() {
        bits |= (u128::from(b) | 0x100) << (119 - 9 * i);
    }
    out.extend_from_slice(&bits.to_be_bytes()[..rest.len() * 9 / 8 + 1]);
}

/// Bytes of the key part at the beginning of `key`, every byte turned by `flip`: up to the first 0 bit
/// before a byte.
pub(super) fn key_part_length(key: &[u8], flip: u8) -> Option<usize> {
    (0..key.len()).map(|i| 9 * i).find_map(|bit| {
        let byte = key.get(bit / 8)? ^ flip;
        (byte >> (7 - bit % 8) & 1 == 0).then_some(bit / 8 + 1)
    })
}

/// Appends the string whose key part `key` begins with, every byte turned by `flip`; the part's length.
/// `None`: it has no end.
pub(crate) fn unkey(key: &[u8], flip: u8, out: &mut Vec<u8>) -> Option<usize> {
    for (group, at) in key.chunks(9).zip((0..).step_by(9)) {
        let mut bytes = [0; 16];
        bytes[..group.len()].copy_from_slice(group);
        bytes[..9].iter_mut().for_each(|b| *b ^= flip);
        let bits = u128::from_be_bytes(bytes);
        for i in 0..8 {
            if i >= group.len() {
                return None;
            }
            if bits >> (127 - 9 * i) & 1 == 0 {
                return Some(at + i + 1);
            }
            if i + 1 >= group.len() {
                return None;
            }
            out.push((bits >> (119 - 9 * i)) as u8);
        }
    }
    None
}
