//! Weights of one-byte character sets, a byte for a byte.
//!
//! 1. Every table leaves the space, and what is below it, as it is.

const fn identity() -> [u8; 256] {
    let mut table = [0; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = b as u8;
        b += 1;
    }
    table
}

/// A table in which the letters of `from` weigh as those of `to`, pairwise.
const fn with(mut table: [u8; 256], from: &[u8], to: &[u8]) -> [u8; 256] {
    assert!(from.len() == to.len());
    let mut i = 0;
    while i < from.len() {
        table[from[i] as usize] = to[i];
        i += 1;
    }
    table
}

const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// `ascii_general_ci`: lower case weighs as upper case.
pub(super) static ASCII_GENERAL_CI: [u8; 256] = with(identity(), LOWER, UPPER);

/// Letters whose accent neither of the two dictionary orders looks at, in both cases.
const ACCENTED: &[u8] =
    b"\xC0\xC1\xC2\xC3\xC7\xC8\xC9\xCA\xCB\xCC\xCD\xCE\xCF\xD1\xD2\xD3\xD4\xD5\xD9\xDA\xDB\xDD\
\xE0\xE1\xE2\xE3\xE7\xE8\xE9\xEA\xEB\xEC\xED\xEE\xEF\xF1\xF2\xF3\xF4\xF5\xF9\xFA\xFB\xFD\xFE";
const PLAIN: &[u8] = b"AAAACEEEEIIIINOOOOUUUY\
AAAACEEEEIIIINOOOOUUUY\xDE";

const DICTIONARY: [u8; 256] = with(with(identity(), LOWER, UPPER), ACCENTED, PLAIN);

/// `latin1_swedish_ci`: Å, Ä (with Æ), Ö behind Z; Ø apart, Ü as Y, Ð as D; ß for itself.
pub(super) static LATIN1_SWEDISH_CI: [u8; 256] = with(
    DICTIONARY,
    b"\xC5\xC4\xC6\xD6\xD0\xDC\xE5\xE4\xE6\xF6\xF0\xFC\xF8",
    b"[\\\\]DY[\\\\]DY\xD8",
);

/// `latin1_german1_ci`: Ä as A, Å and Æ too, Ö and Ø as O, Ü as U, ß as S.
pub(super) static LATIN1_GERMAN1_CI: [u8; 256] = with(
    DICTIONARY,
    b"\xC4\xC5\xC6\xD6\xD8\xDC\xE4\xE5\xE6\xF6\xF8\xFC\xF0\xDF",
    b"AAAOOUAAAOOU\xD0S",
);

/// The letters from 0x41 on in the order of `latin1_general_cs`; what is not here follows, by number.
const ALPHABET: &[u8] = b"Aa\xC0\xE0\xC1\xE1\xC2\xE2\xC3\xE3\xC4\xE4\xC5\xE5\xC6\xE6BbCc\xC7\xE7Dd\xD0\xF0Ee\xC8\xE8\xC9\xE9\
\xCA\xEA\xCB\xEBFfGgHhIi\xCC\xEC\xCD\xED\xCE\xEE\xCF\xEFJjKkLlMmNn\xD1\xF1Oo\xD2\xF2\xD3\xF3\xD4\xF4\
\xD5\xF5\xD6\xF6\xD8\xF8PpQqRrSs\xDFTtUu\xD9\xF9\xDA\xFA\xDB\xFB\xDC\xFCVvWwXxYy\xDD\xFD\xFFZz\xDE\xFE\
[\\]^_`{|}~\xD7\xF7\x7F";

const fn ranked() -> [u8; 256] {
    let mut table = identity();
    let mut i = 0;
    while i < ALPHABET.len() {
        table[ALPHABET[i] as usize] = 0x41 + i as u8;
        i += 1;
    }
    let mut b = 0x80;
    while b < 0xC0 {
        table[b] = b as u8 + 0x40;
        b += 1;
    }
    assert!(0x41 + ALPHABET.len() == 0xC0, "the C1 characters follow the letters");
    table
}

/// `latin1_general_cs`: by letter, accent, case, each character for itself.
pub(super) static LATIN1_GENERAL_CS: [u8; 256] = ranked();

/// `latin1_general_ci`: lower case weighs as upper case.
pub(super) static LATIN1_GENERAL_CI: [u8; 256] = {
    let mut table = ranked();
    let mut i = 0;
    while i + 1 < ALPHABET.len() {
        let (upper, lower) = (ALPHABET[i], ALPHABET[i + 1]);
        if crate::charset::latin1::upper(lower) == upper && upper != lower {
            table[lower as usize] = table[upper as usize];
        }
        i += 1;
    }
    table
};
