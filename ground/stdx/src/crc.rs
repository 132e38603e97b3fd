//! CRC-32C of short byte strings, by the processor's own instruction.
//!
//! 1. The state is what the checksum is made of, so bytes may come in parts: [`START`], [`update`] for each, [`finish`].
//!    Guard: `parts_and_the_whole_have_one_checksum`.

/// The state before the first byte.
pub const START: u32 = u32::MAX;

/// Whether [`update`] takes a word at a time here; elsewhere long strings have faster ways.
#[inline]
#[must_use]
pub fn is_fast() -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        std::arch::is_x86_feature_detected!("sse4.2")
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        false
    }
}

/// The state behind these bytes.
#[inline]
#[must_use]
pub fn update(state: u32, bytes: &[u8]) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if is_fast() {
        // SAFETY: the processor has the instructions, as was just asked.
        return unsafe { by_words(state, bytes) };
    }
    bytes.iter().fold(state, |state, byte| by_byte(state, *byte))
}

/// The checksum of the bytes that led to a state; and the state of those that have this checksum.
#[inline]
#[must_use]
pub const fn finish(state: u32) -> u32 {
    !state
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "sse4.2")]
fn by_words(state: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let (words, rest) = bytes.as_chunks::<8>();
    let whole = words
        .iter()
        .fold(u64::from(state), |state, word| _mm_crc32_u64(state, u64::from_le_bytes(*word)));
    rest.iter().fold(whole as u32, |state, byte| _mm_crc32_u8(state, *byte))
}

fn by_byte(state: u32, byte: u8) -> u32 {
    // Castagnoli's polynomial, its bits in reverse.
    const POLYNOMIAL: u32 = 0x82F6_3B78;
    (0..8).fold(state ^ u32::from(byte), |state, _| state >> 1 ^ (POLYNOMIAL * (state & 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_the_whole_have_one_checksum() {
        let slow = |bytes: &[u8]| finish(bytes.iter().fold(START, |s, byte| by_byte(s, *byte)));
        // The check value of CRC-32C.
        assert_eq!(slow(b"123456789"), 0xE306_9283);
        let mut rng = crate::rng::Rng::new(9);
        for n in 0..200 {
            let bytes: Vec<u8> = (0..n).map(|_| rng.next_u64() as u8).collect();
            let at = rng.below(n + 1) as usize;
            let parts = update(update(START, &bytes[..at]), &bytes[at..]);
            assert_eq!(finish(parts), slow(&bytes), "{n} bytes, parted at {at}");
        }
    }
}
