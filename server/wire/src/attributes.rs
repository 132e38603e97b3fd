//! Attributes of statements, which clients send before the text and behind the parameters.
//!
//! 1. Nothing reads their values (the function that does is a component's, which is not there): they are checked and skipped.
//! 2. A type that is not known has a value with its length before it, as text has. 3. How many there are is believed only as
//! far as there are bytes for them.

use crate::constants::ColumnCode;
use crate::{Malformed, OrMalformed, lenenc};
use stdx::bytes::Reader;

const PART: &str = "query attributes";

/// The text of a statement behind its attributes.
pub fn skip(body: &[u8]) -> Result<&[u8], Malformed> {
    let mut r = Reader::new(body);
    let count = length(&mut r)?;
    // There is one set of them.
    if length(&mut r)? != 1 {
        return Err(Malformed(PART));
    }
    if count == 0 {
        return Ok(r.rest());
    }
    let nulls = r.take(count.div_ceil(8)).or_malformed(PART)?;
    if r.u8().or_malformed(PART)? != 1 {
        return Err(Malformed(PART));
    }
    // A type and a name take three bytes: there are not more of them than bytes.
    let mut codes = Vec::with_capacity(count.min(r.peek_rest().len() / 3));
    for _ in 0..count {
        codes.push(ColumnCode::from_byte(r.u8().or_malformed(PART)?));
        r.u8().or_malformed(PART)?;
        lenenc::bytes(&mut r)?;
    }
    for (i, code) in codes.into_iter().enumerate() {
        if nulls[i / 8] & (1 << (i % 8)) == 0 {
            skip_value(&mut r, code)?;
        }
    }
    Ok(r.rest())
}

/// How many there are of something.
pub(crate) fn length(r: &mut Reader<'_>) -> Result<usize, Malformed> {
    usize::try_from(lenenc::int(r)?).map_err(|_| Malformed(PART))
}

fn skip_value(r: &mut Reader<'_>, code: Option<ColumnCode>) -> Result<(), Malformed> {
    let bytes = match code {
        Some(ColumnCode::Null) => 0,
        Some(ColumnCode::Tiny) => 1,
        Some(ColumnCode::Short | ColumnCode::Year) => 2,
        Some(ColumnCode::Long | ColumnCode::Int24 | ColumnCode::Float) => 4,
        Some(ColumnCode::LongLong | ColumnCode::Double) => 8,
        Some(
            ColumnCode::Date | ColumnCode::DateTime | ColumnCode::Timestamp | ColumnCode::Time,
        ) => usize::from(r.u8().or_malformed(PART)?),
        _ => return lenenc::bytes(r).map(drop),
    };
    r.take(bytes).or_malformed(PART).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_skipped_whatever_their_types() {
        assert_eq!(skip(b"\0\x01SELECT 1"), Ok(&b"SELECT 1"[..]));
        let text = b"\x01\x01\0\x01\xFD\0\x01a\x03xyzSELECT 2";
        assert_eq!(skip(text), Ok(&b"SELECT 2"[..]));
        let mut many = b"\x05\x01\x02\x01".to_vec();
        many.extend(b"\x08\0\x01n\xFE\0\x01s\x0A\0\x01d\x04\0\x01f\xF0\0\0");
        many.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        many.extend([4, 0xE8, 7, 1, 1, 0, 0, 0, 0]);
        many.extend(b"\x02zzSELECT 3");
        assert_eq!(skip(&many), Ok(&b"SELECT 3"[..]));
    }

    /// What MySQL answers 1835.
    #[test]
    fn what_is_malformed_is_told() {
        for body in [
            &b""[..],
            b"\0\x02SELECT 1",
            b"\0\0SELECT 1",
            b"\xFB\x01SELECT 1",
            b"\xFF\x01x",
            b"\xFC\xFF\xFF\x01x",
            b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01x",
            b"\x05\x01\0\x01\xFD",
            b"\x01\x01\0\0\xFD\0\x01a\x01xSELECT 3",
        ] {
            assert!(skip(body).is_err(), "{body:?}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut rng = stdx::rng::Rng::new(11);
        let mut buf = [0u8; 40];
        for _ in 0..20_000 {
            rng.fill(&mut buf);
            buf[0] %= 6;
            buf[1] = 1;
            buf[3] = 1;
            let _ = skip(&buf[..rng.below(40) as usize]);
        }
    }
}
