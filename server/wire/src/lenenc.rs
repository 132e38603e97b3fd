//! Length-encoded integers and strings.

use crate::Malformed;
use stdx::bytes::Reader;

/// The byte that stands for NULL in a text row.
pub const NULL: u8 = 0xFB;
/// The largest integer that is one byte.
pub(crate) const BYTE_MAX: usize = 250;

/// Appends a length-encoded integer.
#[inline]
pub fn put_int(out: &mut Vec<u8>, v: u64) {
    match v {
        0..=250 => out.push(v as u8),
        251..=0xFFFF => {
            out.extend_from_slice(&[0xFC, v as u8, (v >> 8) as u8]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.extend_from_slice(&[0xFD, v as u8, (v >> 8) as u8, (v >> 16) as u8]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&v.to_le_bytes());
        }
    }
}

/// Appends a length-encoded string.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() + 9);
    put_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads a length-encoded integer; 0xFB and 0xFF start none.
#[inline]
pub fn int(r: &mut Reader<'_>) -> Result<u64, Malformed> {
    const CUT: Malformed = Malformed("length-encoded integer");
    match r.u8().map_err(|_| CUT)? {
        n @ 0..=250 => Ok(u64::from(n)),
        0xFC => r.u16_le().map(u64::from).map_err(|_| CUT),
        0xFD => r.u24_le().map(u64::from).map_err(|_| CUT),
        0xFE => r.u64_le().map_err(|_| CUT),
        _ => Err(CUT),
    }
}

/// Reads a length-encoded string: its length is checked against what is there.
#[inline]
pub fn bytes<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    const CUT: Malformed = Malformed("length-encoded string");
    let n = usize::try_from(int(r)?).map_err(|_| CUT)?;
    r.take(n).map_err(|_| CUT)
}

/// Reads up to a zero byte, which is taken too.
pub fn zero_terminated<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    const CUT: Malformed = Malformed("zero-terminated string");
    let mut ahead = *r;
    let n = ahead.rest().iter().position(|&b| b == 0).ok_or(CUT)?;
    let text = r.take(n).map_err(|_| CUT)?;
    r.u8().map_err(|_| CUT)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_width_come_back() {
        for v in [0, 1, 250, 251, 252, 0xFFFF, 0x1_0000, 0xFF_FFFF, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            put_int(&mut out, v);
            let mut r = Reader::new(&out);
            assert_eq!(int(&mut r), Ok(v));
            assert!(r.is_empty());
            for cut in 0..out.len() {
                assert!(int(&mut Reader::new(&out[..cut])).is_err(), "{v} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_length_beyond_the_packet_is_refused() {
        assert!(bytes(&mut Reader::new(&[5, b'a', b'b'])).is_err());
        assert!(bytes(&mut Reader::new(&[0xFE, 255, 255, 255, 255, 255, 255, 255, 255])).is_err());
        assert!(bytes(&mut Reader::new(&[0xFB])).is_err());
        assert!(zero_terminated(&mut Reader::new(b"abc")).is_err());
        assert_eq!(zero_terminated(&mut Reader::new(b"abc\0d")), Ok(&b"abc"[..]));
    }
}
