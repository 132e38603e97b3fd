//! Numbers as MySQL's text protocol writes them, without allocation.

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Longest decimal text of a 64-bit integer, sign included.
pub const INTEGER_BYTES_MAX: usize = 20;

/// Decimal digits of a number.
#[derive(Debug, Clone, Copy)]
pub struct Digits {
    buf: [u8; INTEGER_BYTES_MAX],
    at: usize,
}

impl Digits {
    /// Digits of an unsigned number.
    #[inline]
    pub fn unsigned(mut v: u64) -> Self {
        let mut d = Self { buf: [0; INTEGER_BYTES_MAX], at: INTEGER_BYTES_MAX };
        while v >= 100 {
            let pair = (v % 100) as usize * 2;
            v /= 100;
            d.at -= 2;
            d.buf[d.at..d.at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        }
        if v >= 10 {
            let pair = v as usize * 2;
            d.at -= 2;
            d.buf[d.at..d.at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        } else {
            d.at -= 1;
            d.buf[d.at] = b'0' + v as u8;
        }
        d
    }

    /// Digits of a signed number, with its sign.
    #[inline]
    pub fn signed(v: i64) -> Self {
        let mut d = Self::unsigned(v.unsigned_abs());
        if v < 0 {
            d.at -= 1;
            d.buf[d.at] = b'-';
        }
        d
    }

    /// The text.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.buf[self.at..]
    }
}

/// Appends a double as MySQL prints it: shortest digits that read back, exponent form outside
/// 1e-15 .. 1e15.
pub fn put_double(out: &mut Vec<u8>, v: f64) {
    use std::io::Write;
    let magnitude = v.abs();
    if magnitude != 0.0 && !(1e-15..1e15).contains(&magnitude) {
        // `{:e}` writes 1e20 and 1.5e-20 just as MySQL does.
        let _ = write!(out, "{v:e}");
    } else if v == 0.0 {
        // MySQL prints negative zero as -0.
        out.extend_from_slice(if v.is_sign_negative() { b"-0" } else { b"0" });
    } else {
        let _ = write!(out, "{v}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        for v in [0, 7, 10, 99, 100, 12345, u64::MAX, u64::MAX / 10] {
            assert_eq!(Digits::unsigned(v).as_bytes(), v.to_string().as_bytes());
        }
        for v in [i64::MIN, -1, -10, 0, 5, i64::MAX] {
            assert_eq!(Digits::signed(v).as_bytes(), v.to_string().as_bytes());
        }
    }

    #[test]
    fn doubles() {
        let text = |v| {
            let mut out = Vec::new();
            put_double(&mut out, v);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(0.1), "0.1");
        assert_eq!(text(100.0), "100");
        assert_eq!(text(1e20), "1e20");
        assert_eq!(text(-1.5e-20), "-1.5e-20");
    }
}
