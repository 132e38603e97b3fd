//! A bounds-checked byte cursor and little-endian appends.
//!
//! 1. A `Reader` never reads past its slice: a short read is `Err(Truncated)`, and moves nothing.

use core::fmt;

/// Bytes ended before the value did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncated;

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes end before the value does")
    }
}

impl std::error::Error for Truncated {}

/// Bytes as whole words, and what is left of them as the low bytes of one more, little-endian.
#[inline]
pub fn words(bytes: &[u8]) -> (&[[u8; 8]], u64) {
    let (words, rest) = bytes.as_chunks::<8>();
    let last = match bytes.last_chunk::<8>() {
        _ if rest.is_empty() => 0,
        // The bytes before the rest are shifted out.
        Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * rest.len()),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    (words, last)
}

/// The first eight bytes as a big-endian number, zeros behind the last one: of two heads that differ the smaller one is of the
/// bytes that come first.
#[inline(always)]
pub fn be_head(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*eight);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // Two overlapping halves, no call to copy a few bytes.
        let last = u64::from(u32::from_be_bytes(*last)) << (8 * (8 - bytes.len()));
        return u64::from(u32::from_be_bytes(*first)) << 32 | last;
    }
    let [a, b, c] = [0, 1, 2].map(|n| bytes.get(n).copied().map_or(0, u64::from));
    a << 56 | b << 48 | c << 40
}

/// Makes `key` the smallest bytes above all that begin with it; `false` where there are none: it is all 0xFF, and empty then.
#[inline]
pub fn successor(key: &mut Vec<u8>) -> bool {
    while let Some(last) = key.pop() {
        if last != u8::MAX {
            key.push(last + 1);
            return true;
        }
    }
    false
}

/// Reads values from the front of a byte slice.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    #[inline]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    #[inline]
    pub const fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Whether everything was read.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// All bytes not read yet; reads them.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// All bytes not read yet, without reading them.
    #[inline]
    pub fn peek_rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Truncated> {
        if n > self.remaining() {
            return Err(Truncated);
        }
        let taken = &self.bytes[self.at..self.at + n];
        self.at += n;
        Ok(taken)
    }

    /// The next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// The next byte without reading it.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Truncated> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes, little-endian.
    #[inline]
    pub fn u16_le(&mut self) -> Result<u16, Truncated> {
        self.array().map(u16::from_le_bytes)
    }

    /// Three bytes, little-endian.
    #[inline]
    pub fn u24_le(&mut self) -> Result<u32, Truncated> {
        let [a, b, c] = self.array()?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    /// Four bytes, little-endian.
    #[inline]
    pub fn u32_le(&mut self) -> Result<u32, Truncated> {
        self.array().map(u32::from_le_bytes)
    }

    /// Six bytes, little-endian.
    #[inline]
    pub fn u48_le(&mut self) -> Result<u64, Truncated> {
        let [a, b, c, d, e, f] = self.array()?;
        Ok(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// Eight bytes, little-endian.
    #[inline]
    pub fn u64_le(&mut self) -> Result<u64, Truncated> {
        self.array().map(u64::from_le_bytes)
    }
}

/// Appends values; what [`Reader`] reads back.
pub trait Put {
    /// Appends bytes as they are.
    fn put_bytes(&mut self, bytes: &[u8]);

    /// One byte.
    fn put_u8(&mut self, v: u8) {
        self.put_bytes(&[v]);
    }
    /// Two bytes, little-endian.
    fn put_u16_le(&mut self, v: u16) {
        self.put_bytes(&v.to_le_bytes());
    }
    /// The low three bytes, little-endian.
    fn put_u24_le(&mut self, v: u32) {
        self.put_bytes(&v.to_le_bytes()[..3]);
    }
    /// Four bytes, little-endian.
    fn put_u32_le(&mut self, v: u32) {
        self.put_bytes(&v.to_le_bytes());
    }
    /// The low six bytes, little-endian.
    fn put_u48_le(&mut self, v: u64) {
        self.put_bytes(&v.to_le_bytes()[..6]);
    }
    /// Eight bytes, little-endian.
    fn put_u64_le(&mut self, v: u64) {
        self.put_bytes(&v.to_le_bytes());
    }
}

impl Put for Vec<u8> {
    #[inline]
    fn put_bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_put_writes_reader_reads() {
        let mut v = Vec::new();
        v.put_u8(1);
        v.put_u16_le(0x0203);
        v.put_u24_le(0x040506);
        v.put_u32_le(0x0708090A);
        v.put_u48_le(0x0B0C0D0E0F10);
        v.put_u64_le(0x1112131415161718);
        v.put_bytes(b"xyz");
        let mut r = Reader::new(&v);
        assert_eq!(r.u8(), Ok(1));
        assert_eq!(r.u16_le(), Ok(0x0203));
        assert_eq!(r.u24_le(), Ok(0x040506));
        assert_eq!(r.u32_le(), Ok(0x0708090A));
        assert_eq!(r.u48_le(), Ok(0x0B0C0D0E0F10));
        assert_eq!(r.u64_le(), Ok(0x1112131415161718));
        assert_eq!((r.position(), r.remaining(), r.peek()), (24, 3, Some(b'x')));
        assert_eq!(r.rest(), b"xyz");
        assert!(r.is_empty());
    }

    #[test]
    fn words_and_what_is_left_are_all_bytes() {
        let bytes: Vec<u8> = (1..=20).collect();
        for n in 0..bytes.len() {
            let (whole, rest) = words(&bytes[..n]);
            let mut again = whole.as_flattened().to_vec();
            again.extend_from_slice(&rest.to_le_bytes());
            again.truncate(n);
            assert_eq!((again, whole.len()), (bytes[..n].to_vec(), n / 8), "{n}");
        }
    }

    #[test]
    fn a_short_read_fails_and_moves_nothing() {
        let mut r = Reader::new(&[1, 2, 3]);
        assert_eq!(r.u32_le(), Err(Truncated));
        assert_eq!(r.take(usize::MAX), Err(Truncated));
        assert_eq!(r.position(), 0);
        assert_eq!(r.u24_le(), Ok(0x030201));
        assert_eq!(r.u8(), Err(Truncated));
    }
}
