//! What the variables say of TLS.

use crate::names::{chosen, versions};
use rustls::ProtocolVersion;
use rustls::crypto::aws_lc_rs::ALL_CIPHER_SUITES;
use std::path::PathBuf;

/// Where keys and certificates are, and what connections may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// `ssl_ca`: who signs clients' certificates; none: no certificate is asked for.
    pub ca: Option<PathBuf>,
    /// `ssl_crl`: which clients' certificates are revoked; none: nobody looks.
    pub crl: Option<PathBuf>,
    /// `ssl_cert`: the server's certificate, and those between it and its authority.
    pub cert: PathBuf,
    /// `ssl_key`: its key.
    pub key: PathBuf,
    /// `tls_version`.
    pub versions: String,
    /// `ssl_cipher`: suites of TLS 1.2.
    pub ciphers: String,
    /// `tls_ciphersuites`: suites of TLS 1.3.
    pub suites: String,
}

/// Whether a variable of TLS can have a value.
pub fn is_value(variable: &str, text: &str) -> bool {
    let suites = |name, version| chosen(ALL_CIPHER_SUITES, (name, text), version).is_ok();
    match variable {
        "tls_version" => versions(text).is_ok(),
        "tls_ciphersuites" => suites("tls_ciphersuites", ProtocolVersion::TLSv1_3),
        "ssl_cipher" => suites("ssl_cipher", ProtocolVersion::TLSv1_2),
        _ => true,
    }
}
