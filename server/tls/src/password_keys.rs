//! The server's RSA key pair: how a password crosses a connection without TLS when full authentication is needed.
//!
//! 1. The pair is read or made at its first use, and kept in its files. 2. Every failure looks alike to the client, which gets
//! one try per connection; decryption takes the same time whatever was sent (aws-lc).

use crate::TlsError;
use crate::certificates::write_new;
use aws_lc_rs::rsa::{
    OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use rcgen::{KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use std::path::PathBuf;
use std::sync::OnceLock;
use zeroize::Zeroizing;

/// Names of the files in the data folder.
pub const PRIVATE: &str = "private_key.pem";
/// The public half.
pub const PUBLIC: &str = "public_key.pem";

struct Pair {
    private: OaepPrivateDecryptingKey,
    public_pem: String,
}

/// A pair that is made when it is needed.
#[derive(Default)]
pub struct PasswordKeys {
    folder: Option<PathBuf>,
    pair: OnceLock<Result<Pair, TlsError>>,
}

impl PasswordKeys {
    /// A pair that lives as long as the process.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// A pair that is kept in a folder.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder: Some(folder), ..Self::default() }
    }

    fn pair(&self) -> Result<&Pair, &TlsError> {
        self.pair.get_or_init(|| self.read_or_make()).as_ref()
    }

    fn read_or_make(&self) -> Result<Pair, TlsError> {
        let Some(folder) = &self.folder else {
            return pair_of(&KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?);
        };
        let (private, public) = (folder.join(PRIVATE), folder.join(PUBLIC));
        if private.exists() {
            let text = std::fs::read_to_string(&private)
                .map_err(|error| TlsError::File(private.clone(), error))?;
            let known = KeyPair::from_pem_and_sign_algo(&text, &PKCS_RSA_SHA256);
            return pair_of(&known.map_err(|_| TlsError::Empty(private, "RSA key"))?);
        }
        let made = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?;
        write_new(&private, made.serialize_pem().as_bytes(), true)?;
        write_new(&public, made.public_key_pem().as_bytes(), false)?;
        pair_of(&made)
    }

    /// The public key in PEM form.
    ///
    /// # Errors
    /// Files that cannot be read or written; no randomness.
    pub fn public_pem(&self) -> Result<&str, &TlsError> {
        self.pair().map(|pair| pair.public_pem.as_str())
    }

    /// What a client encrypted with the public key: a password under its challenge, as it was before.
    pub fn decrypt(&self, encrypted: &[u8], scramble: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let private = &self.pair().ok()?.private;
        let mut room = Zeroizing::new(vec![0; private.min_output_size()]);
        let clear = private.decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut room, None).ok()?;
        let masks = scramble.iter().cycle();
        Some(clear.iter().zip(masks).map(|(byte, mask)| byte ^ mask).collect::<Vec<u8>>().into())
    }
}

/// What a client sends of bytes for the owner of a public key: for tests and tools. `None` where that is no RSA key, or the bytes
/// are too long for it.
pub fn sealed(public_pem: &str, clear: &[u8]) -> Option<Vec<u8>> {
    let der = SubjectPublicKeyInfoDer::from_pem_slice(public_pem.as_bytes()).ok()?;
    let key = OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(&der).ok()?).ok()?;
    let mut room = vec![0; key.ciphertext_size()];
    Some(key.encrypt(&OAEP_SHA1_MGF1SHA1, clear, &mut room, None).ok()?.to_vec())
}

fn pair_of(key: &KeyPair) -> Result<Pair, TlsError> {
    let der = PrivatePkcs8KeyDer::from(key.serialized_der());
    let private = PrivateDecryptingKey::from_pkcs8(der.secret_pkcs8_der()).ok();
    let private = private.and_then(|key| OaepPrivateDecryptingKey::new(key).ok());
    let private = private.ok_or_else(|| TlsError::Refused("not an RSA key".into()))?;
    Ok(Pair { private, public_pem: key.public_key_pem() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_with_the_public_key_gets_its_password_across() {
        let keys = PasswordKeys::in_memory();
        let scramble = *b"abcdefghijklmnopqrst";
        let masked: Vec<u8> = b"secret\0".iter().zip(scramble).map(|(b, m)| b ^ m).collect();
        let sent = sealed(keys.public_pem().unwrap(), &masked).unwrap();
        assert_eq!(
            keys.decrypt(&sent, &scramble).map(|clear| clear.to_vec()),
            Some(b"secret\0".to_vec())
        );
        assert_eq!(keys.decrypt(&sent[1..], &scramble), None);
        assert_eq!(keys.decrypt(b"", &scramble), None);
    }

    #[test]
    fn the_pair_is_kept_in_files_and_a_damaged_one_is_told() {
        let folder = std::env::temp_dir().join(format!("limpid-keys-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let first = PasswordKeys::in_folder(folder.clone());
        let pem = first.public_pem().unwrap().to_string();
        assert_eq!(std::fs::read_to_string(folder.join(PUBLIC)).unwrap(), pem);
        let mode = std::os::unix::fs::MetadataExt::mode(&folder.join(PRIVATE).metadata().unwrap());
        assert_eq!(mode & 0o777, 0o600);
        let again = PasswordKeys::in_folder(folder.clone());
        assert_eq!(again.public_pem().unwrap(), pem);
        std::fs::write(folder.join(PRIVATE), "no key").unwrap();
        assert!(PasswordKeys::in_folder(folder.clone()).public_pem().is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
