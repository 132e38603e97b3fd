//! Certificates of a server that nobody gave any: an authority of its own, and a server's and a client's certificate by it.
//!
//! 1. They are made when none of the files is there that would be written: one that is there was put there. 2. Keys are
//! readable for the server's user alone. 3. They hold for ten years, as MySQL's do.

use crate::TlsError;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// The authority's certificate.
pub const CA: &str = "ca.pem";
/// The server's certificate.
pub const SERVER_CERT: &str = "server-cert.pem";
/// The server's key.
pub const SERVER_KEY: &str = "server-key.pem";
const CA_KEY: &str = "ca-key.pem";
const CLIENT_CERT: &str = "client-cert.pem";
const CLIENT_KEY: &str = "client-key.pem";

const HOLDS: Duration = Duration::from_secs(3650 * 24 * 3600);

/// Certificates and their keys.
pub struct Made {
    /// Of the authority.
    pub ca: (Certificate, KeyPair),
    /// Of the server.
    pub server: (Certificate, KeyPair),
    /// Of a client.
    pub client: (Certificate, KeyPair),
}

fn params(version: &str, whose: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    let name = format!("Limpid_{version}_Auto_Generated_{whose}_Certificate");
    // 64 characters are a common name's limit.
    params.distinguished_name.push(DnType::CommonName, name.chars().take(64).collect::<String>());
    let now = Duration::from_micros(host::clock::unix_micros());
    params.not_before = date_time_ymd(1970, 1, 1) + now;
    params.not_after = params.not_before + HOLDS;
    params
}

/// Makes them for a server that clients call by these names.
///
/// # Errors
/// No randomness; names that no certificate can have.
pub fn make(version: &str, names: &[String]) -> Result<Made, TlsError> {
    let mut ca = params(version, "CA");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_key = KeyPair::generate()?;
    let ca_cert = ca.self_signed(&ca_key)?;
    let issuer = Issuer::from_params(&ca, &ca_key);
    let signed = |mut of: CertificateParams, usage| {
        of.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        of.extended_key_usages = vec![usage];
        let key = KeyPair::generate()?;
        let cert = of.signed_by(&key, &issuer)?;
        Ok::<_, TlsError>((cert, key))
    };
    let mut server = params(version, "Server");
    server.subject_alt_names = CertificateParams::new(names)?.subject_alt_names;
    let server = signed(server, ExtendedKeyUsagePurpose::ServerAuth)?;
    let client = signed(params(version, "Client"), ExtendedKeyUsagePurpose::ClientAuth)?;
    Ok(Made { ca: (ca_cert, ca_key), server, client })
}

/// Makes them in `folder`, unless one of their files is there; whether they were made.
///
/// # Errors
/// Those of [`make`], and of the files.
pub fn make_files(folder: &Path, version: &str, names: &[String]) -> Result<bool, TlsError> {
    let all = [CA, CA_KEY, SERVER_CERT, SERVER_KEY, CLIENT_CERT, CLIENT_KEY];
    if all.iter().any(|name| folder.join(name).exists()) {
        return Ok(false);
    }
    let made = make(version, names)?;
    let files = [
        (CA_KEY, made.ca.1.serialize_pem(), true),
        (CA, made.ca.0.pem(), false),
        (CLIENT_KEY, made.client.1.serialize_pem(), true),
        (CLIENT_CERT, made.client.0.pem(), false),
        (SERVER_KEY, made.server.1.serialize_pem(), true),
        (SERVER_CERT, made.server.0.pem(), false),
    ];
    for (name, text, secret) in files {
        write_new(&folder.join(name), text.as_bytes(), secret)?;
    }
    Ok(true)
}

/// Writes a file that is not there; a `secret` one is readable for its owner alone.
pub(crate) fn write_new(path: &Path, bytes: &[u8], secret: bool) -> Result<(), TlsError> {
    let mode = if secret { 0o600 } else { 0o644 };
    let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    opened
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .map_err(|error| TlsError::File(path.into(), error))
}
