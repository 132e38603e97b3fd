//! Passwords: how they are stored, challenged and checked.
//!
//! 1. No password in clear text is kept; `caching_sha2_password` is stored as 5,000 rounds of salted
//!    SHA-crypt, `mysql_native_password` as a double SHA-1 (a MySQL format: use it only for old clients).
//! 2. The fast path of `caching_sha2_password` compares against a double SHA-256 that is cached in memory
//!    after one full authentication.
//! 3. Comparisons take the same time wherever they differ.

use crate::handshake::Scramble;
use crate::sha_crypt;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// An authentication method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Plugin {
    /// `caching_sha2_password`, the default.
    CachingSha2,
    /// `mysql_native_password`.
    Native,
    /// `auth_socket`: who has the client's process, as the system tells it; the client says nothing.
    Socket,
}

impl Plugin {
    /// MySQL's name.
    pub const fn name(self) -> &'static str {
        match self {
            Plugin::CachingSha2 => "caching_sha2_password",
            Plugin::Native => "mysql_native_password",
            Plugin::Socket => "auth_socket",
        }
    }

    /// The plugin of a name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::CachingSha2, Self::Native, Self::Socket];
        all.into_iter().find(|p| p.name().eq_ignore_ascii_case(name))
    }

    /// Whether an account of it has a password.
    pub fn has_passwords(self) -> bool {
        self != Plugin::Socket
    }

    /// What is stored for a password: empty for an empty one, and where there are none.
    pub fn store(self, password: &[u8], salt: &Scramble) -> String {
        if password.is_empty() {
            return String::new();
        }
        match self {
            Plugin::Socket => String::new(),
            Plugin::Native => {
                let stage2 = sha1(&[&sha1(&[password])]);
                stage2.iter().fold(String::from("*"), |text, b| text + &format!("{b:02X}"))
            }
            Plugin::CachingSha2 => sha_crypt::store(password, salt),
        }
    }

    /// Whether a text can be what [`Plugin::store`] returned (`IDENTIFIED WITH .. AS 'text'`).
    pub fn accepts_stored(self, stored: &str) -> bool {
        stored.is_empty()
            || match self {
                Plugin::Native => native_stage2(stored).is_some(),
                Plugin::CachingSha2 => sha_crypt::is_stored(stored),
                // Another name of the user, as the system knows it.
                Plugin::Socket => true,
            }
    }
}

/// Double SHA-256 of a password: what the fast path needs.
pub type CachedDigest = [u8; 32];

fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut h = Sha1::new();
    parts.iter().for_each(|p| h.update(p));
    h.finalize().into()
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut h = Sha256::new();
    parts.iter().for_each(|p| h.update(p));
    h.finalize().into()
}

/// Compares in constant time for equal lengths.
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |diff, (x, y)| diff | (x ^ y)) == 0
}

fn native_stage2(stored: &str) -> Option<[u8; 20]> {
    let hex = stored.strip_prefix('*').filter(|h| h.len() == 40 && h.is_ascii())?;
    let mut out = [0; 20];
    for (i, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(out)
}

/// Checks an answer of `mysql_native_password` against what is stored.
pub fn check_native(stored: &str, scramble: &Scramble, answer: &[u8]) -> bool {
    if stored.is_empty() || answer.is_empty() {
        return stored.is_empty() && answer.is_empty();
    }
    let Some(stage2) = native_stage2(stored) else { return false };
    if answer.len() != 20 {
        return false;
    }
    let mask = sha1(&[scramble, &stage2]);
    let mut stage1 = [0; 20];
    for ((s, a), m) in stage1.iter_mut().zip(answer).zip(mask) {
        *s = a ^ m;
    }
    equal(&sha1(&[&stage1]), &stage2)
}

/// Answer of a client that knows the password, by `mysql_native_password`.
pub fn answer_native(password: &[u8], scramble: &Scramble) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let stage1 = sha1(&[password]);
    let mask = sha1(&[scramble, &sha1(&[&stage1])]);
    stage1.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// The digest that is cached after a full authentication.
pub fn cached_digest(password: &[u8]) -> CachedDigest {
    sha256(&[&sha256(&[password])])
}

/// Checks an answer of `caching_sha2_password`'s fast path against the cached digest.
pub fn check_fast(cached: &CachedDigest, scramble: &Scramble, answer: &[u8]) -> bool {
    let Ok(answer) = <[u8; 32]>::try_from(answer) else { return false };
    let mask = sha256(&[cached, scramble]);
    let mut stage1 = [0; 32];
    for ((s, a), m) in stage1.iter_mut().zip(answer).zip(mask) {
        *s = a ^ m;
    }
    equal(&sha256(&[&stage1]), cached)
}

/// Answer of a client that knows the password, by `caching_sha2_password`.
pub fn answer_fast(password: &[u8], scramble: &Scramble) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let mask = sha256(&[&cached_digest(password), scramble]);
    sha256(&[password]).iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// Checks a clear-text password against what is stored.
pub fn check_full(stored: &str, password: &[u8]) -> bool {
    if stored.is_empty() || password.is_empty() {
        return stored.is_empty() && password.is_empty();
    }
    sha_crypt::check(stored, password)
}

/// The password in a clear-text packet of full authentication: without its last zero byte, which must be
/// there.
pub fn clear_password(packet: &[u8]) -> Option<&[u8]> {
    packet.strip_suffix(b"\0")
}

/// Fast authentication succeeded.
pub const FAST_OK: u8 = 3;
/// Full authentication is needed.
pub const FULL_NEEDED: u8 = 4;
/// A client asks for the server's public key.
pub const KEY_REQUEST: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    const SCRAMBLE: Scramble = *b"abcdefghijklmnopqrst";

    #[test]
    fn native_passwords() {
        let stored = Plugin::Native.store(b"password", &SCRAMBLE);
        assert_eq!(stored, "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
        assert!(check_native(&stored, &SCRAMBLE, &answer_native(b"password", &SCRAMBLE)));
        assert!(!check_native(&stored, &SCRAMBLE, &answer_native(b"passwore", &SCRAMBLE)));
        assert!(!check_native(&stored, &SCRAMBLE, b""));
        assert!(!check_native("", &SCRAMBLE, &answer_native(b"x", &SCRAMBLE)));
        assert!(check_native("", &SCRAMBLE, b""));
        assert!(!check_native("*nonsense", &SCRAMBLE, &[0; 20]));
    }

    #[test]
    fn caching_sha2_passwords() {
        let stored = Plugin::CachingSha2.store(b"secret", &SCRAMBLE);
        assert!(Plugin::CachingSha2.accepts_stored(&stored), "{stored}");
        assert!(check_full(&stored, b"secret"));
        assert!(!check_full(&stored, b"Secret"));
        assert!(!check_full(&stored, b""));
        let cached = cached_digest(b"secret");
        assert!(check_fast(&cached, &SCRAMBLE, &answer_fast(b"secret", &SCRAMBLE)));
        assert!(!check_fast(&cached, &SCRAMBLE, &answer_fast(b"Secret", &SCRAMBLE)));
        assert!(!check_fast(&cached, &SCRAMBLE, b"short"));
    }
}
