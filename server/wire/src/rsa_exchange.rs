//! The server's RSA key pair: how a password crosses plain TCP when full authentication is needed.
//!
//! 1. The pair is made at its first use and lives as long as the process.
//! 2. Decryption is blinded; every failure looks alike to the client, which gets one try per connection.
//!    (RUSTSEC-2023-0071: decryption times of the `rsa` crate may leak to someone who can measure very many
//!    tries. TLS, which removes this exchange, is a later issue.)

use crate::handshake::Scramble;
use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::rand_core::{OsRng, RngCore};
use rsa::{Oaep, RsaPrivateKey};
use sha1::Sha1;
use std::sync::OnceLock;

const KEY_BITS: usize = 2048;

/// A lazily made key pair.
#[derive(Debug)]
pub struct KeyPair {
    bits: usize,
    made: OnceLock<Option<(RsaPrivateKey, String)>>,
}

impl Default for KeyPair {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyPair {
    /// A pair that is not made yet.
    pub const fn new() -> Self {
        Self::with_bits(KEY_BITS)
    }

    /// A pair of another size. Tests use small ones: making a large one takes long without optimisation.
    pub const fn with_bits(bits: usize) -> Self {
        Self { bits, made: OnceLock::new() }
    }

    fn made(&self) -> Option<&(RsaPrivateKey, String)> {
        self.made.get_or_init(|| make(self.bits)).as_ref()
    }

    /// The public key in PEM form; none when the system has no randomness.
    pub fn public_pem(&self) -> Option<&str> {
        self.made().map(|(_, pem)| pem.as_str())
    }

    /// The password a client encrypted with the public key, still with its last zero byte.
    pub fn decrypt(&self, encrypted: &[u8], scramble: &Scramble) -> Option<Vec<u8>> {
        let (key, _) = self.made()?;
        let mut clear = key.decrypt_blinded(&mut OsRng, Oaep::new::<Sha1>(), encrypted).ok()?;
        for (byte, mask) in clear.iter_mut().zip(scramble.iter().cycle()) {
            *byte ^= mask;
        }
        Some(clear)
    }
}

fn make(bits: usize) -> Option<(RsaPrivateKey, String)> {
    let key = RsaPrivateKey::new(&mut OsRng, bits).ok()?;
    let pem = key.to_public_key().to_public_key_pem(LineEnding::LF).ok()?;
    Some((key, pem))
}

/// Fills `out` from the system's random source; false when it has none.
#[must_use]
pub fn random(out: &mut [u8]) -> bool {
    OsRng.try_fill_bytes(out).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsa::RsaPublicKey;
    use rsa::pkcs8::DecodePublicKey;

    #[test]
    fn a_client_with_the_public_key_gets_its_password_across() {
        let pair = KeyPair::with_bits(768);
        let scramble = *b"abcdefghijklmnopqrst";
        let mut clear = b"secret\0".to_vec();
        clear.iter_mut().zip(scramble).for_each(|(b, m)| *b ^= m);
        let public = RsaPublicKey::from_public_key_pem(pair.public_pem().unwrap()).unwrap();
        let sent = public.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &clear).unwrap();
        assert_eq!(pair.decrypt(&sent, &scramble).as_deref(), Some(&b"secret\0"[..]));
        assert_eq!(pair.decrypt(&sent[1..], &scramble), None);
        assert_eq!(pair.decrypt(b"", &scramble), None);
    }
}
