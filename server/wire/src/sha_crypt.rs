//! SHA-crypt with SHA-256, 5,000 rounds: how `caching_sha2_password` stores passwords.
//!
//! Form: `$A$005$` + 20 bytes of salt + 43 digits; the algorithm is Ulrich Drepper's public-domain
//! "Unix crypt using SHA-256 and SHA-512", with a salt of 20 bytes.

use crate::auth::equal;
use crate::handshake::{SCRAMBLE_BYTES, Scramble};
use sha2::{Digest, Sha256};

const PREFIX: &str = "$A$005$";
const ROUNDS: usize = 5000;
const DIGITS: usize = 43;
const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Hashing is quadratic in the password's length; longer ones are refused as wrong.
const PASSWORD_BYTES_MAX: usize = 256;

/// What is stored for a password.
pub fn store(password: &[u8], salt: &Scramble) -> String {
    let salt = salt.map(|b| if b.is_ascii_graphic() && b != b'$' { b } else { b'a' + b % 26 });
    let digest = encode(&crypt(password, &salt, ROUNDS));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{PREFIX}{}{}", text(&salt), text(&digest))
}

/// Whether `stored` has the form of [`store`]'s result.
pub fn is_stored(stored: &str) -> bool {
    stored.starts_with(PREFIX) && stored.len() == PREFIX.len() + SCRAMBLE_BYTES + DIGITS
}

/// Whether `password` is the one `stored` was made from.
pub fn check(stored: &str, password: &[u8]) -> bool {
    if !is_stored(stored) || password.len() > PASSWORD_BYTES_MAX {
        return false;
    }
    let (salt, digest) = stored.as_bytes()[PREFIX.len()..].split_at(SCRAMBLE_BYTES);
    equal(&encode(&crypt(password, salt, ROUNDS)), digest)
}

fn crypt(password: &[u8], salt: &[u8], rounds: usize) -> [u8; 32] {
    let b: [u8; 32] = Sha256::new()
        .chain_update(password)
        .chain_update(salt)
        .chain_update(password)
        .finalize()
        .into();
    let mut a = Sha256::new().chain_update(password).chain_update(salt);
    repeat(&mut a, &b, password.len());
    let mut bits = password.len();
    while bits > 0 {
        a.update(if bits & 1 == 1 { &b[..] } else { password });
        bits >>= 1;
    }
    let mut digest: [u8; 32] = a.finalize().into();
    let p = sequence(password, password.len(), password.len());
    let s = sequence(salt, 16 + usize::from(digest[0]), salt.len());
    for round in 0..rounds {
        let odd = round % 2 == 1;
        let mut c = Sha256::new();
        c.update(if odd { &p[..] } else { &digest[..] });
        if round % 3 != 0 {
            c.update(&s);
        }
        if round % 7 != 0 {
            c.update(&p);
        }
        c.update(if odd { &digest[..] } else { &p[..] });
        digest = c.finalize().into();
    }
    digest
}

/// Feeds `bytes` of `block`, repeated.
fn repeat(h: &mut Sha256, block: &[u8; 32], bytes: usize) {
    (0..bytes / 32).for_each(|_| h.update(block));
    h.update(&block[..bytes % 32]);
}

/// `bytes` of the digest of `times` times `text`, repeated.
fn sequence(text: &[u8], times: usize, bytes: usize) -> Vec<u8> {
    let mut h = Sha256::new();
    (0..times).for_each(|_| h.update(text));
    let d: [u8; 32] = h.finalize().into();
    d.iter().copied().cycle().take(bytes).collect()
}

fn encode(d: &[u8; 32]) -> [u8; DIGITS] {
    let mut out = [0; DIGITS];
    let mut at = 0;
    let mut put = |value: u32, digits: usize| {
        let mut v = value;
        for _ in 0..digits {
            out[at] = ALPHABET[(v & 0x3F) as usize];
            v >>= 6;
            at += 1;
        }
    };
    let word = |i: usize, j: usize, k: usize| {
        u32::from(d[i]) << 16 | u32::from(d[j]) << 8 | u32::from(d[k])
    };
    let (mut i, mut j, mut k) = (0, 10, 20);
    for _ in 0..10 {
        put(word(i, j, k), 4);
        (i, j, k) = (k + 1, i + 1, j + 1);
    }
    put(u32::from(d[31]) << 8 | u32::from(d[30]), 3);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_test_vector() {
        // As `openssl passwd -5` prints it: "$5$saltstring", "Hello world!".
        let digest = encode(&crypt(b"Hello world!", b"saltstring", 5000));
        assert_eq!(&digest, b"5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
    }

    #[test]
    fn only_the_password_matches() {
        let stored = store(b"p", b"aaaaaaaaaaaaaaaaaaaa");
        assert!(check(&stored, b"p"));
        assert!(!check(&stored, b"q"));
        assert!(!check(&stored[1..], b"p"));
        assert!(!check(&stored, &[b'p'; 100_000]));
    }
}
