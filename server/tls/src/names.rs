//! Versions and cipher suites by the names that MySQL's variables use, which are OpenSSL's.

use crate::TlsError;
use rustls::{
    CipherSuite, ProtocolVersion, SupportedCipherSuite, SupportedProtocolVersion, version,
};

/// Cipher suites and OpenSSL's names of them.
const SUITES: &[(CipherSuite, &str)] = &[
    (CipherSuite::TLS13_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256"),
    (CipherSuite::TLS13_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384"),
    (CipherSuite::TLS13_CHACHA20_POLY1305_SHA256, "TLS_CHACHA20_POLY1305_SHA256"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "ECDHE-ECDSA-AES128-GCM-SHA256"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "ECDHE-ECDSA-AES256-GCM-SHA384"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "ECDHE-RSA-AES128-GCM-SHA256"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "ECDHE-RSA-AES256-GCM-SHA384"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-ECDSA-CHACHA20-POLY1305"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-RSA-CHACHA20-POLY1305"),
];

/// A suite by OpenSSL's name.
pub fn of_suite(suite: CipherSuite) -> &'static str {
    SUITES.iter().find(|(of, _)| *of == suite).map_or("", |(_, name)| name)
}

/// A version as MySQL shows it.
pub fn of_version(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::TLSv1_2 => "TLSv1.2",
        ProtocolVersion::TLSv1_3 => "TLSv1.3",
        _ => "",
    }
}

/// The versions of `tls_version`; none: no TLS.
///
/// # Errors
/// Words that are no version; 1.0 and 1.1 are none any more.
pub fn versions(text: &str) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
    let mut found: Vec<&'static SupportedProtocolVersion> = Vec::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let version = match word.to_ascii_uppercase().as_str() {
            "TLSV1.2" => &version::TLS12,
            "TLSV1.3" => &version::TLS13,
            _ => return Err(TlsError::Value("tls_version", text.into())),
        };
        if !found.contains(&version) {
            found.push(version);
        }
    }
    Ok(found)
}

/// Of `all` suites of one version those that `text` names, colon-separated, in its order; all where it names none.
///
/// # Errors
/// A list of names of which none is known: a list made for OpenSSL may have some that are not here.
pub fn chosen(
    all: &[SupportedCipherSuite],
    (name, text): (&'static str, &str),
    of: ProtocolVersion,
) -> Result<Vec<SupportedCipherSuite>, TlsError> {
    let all = || all.iter().copied().filter(|suite| suite.version().version == of);
    if text.trim().is_empty() {
        return Ok(all().collect());
    }
    let words = text.split(':').map(str::trim);
    let named = words.filter_map(|word| all().find(|s| of_suite(s.suite()) == word));
    match named.collect::<Vec<_>>() {
        none if none.is_empty() => Err(TlsError::Value(name, text.into())),
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::crypto::aws_lc_rs::ALL_CIPHER_SUITES;

    #[test]
    fn every_suite_has_a_name() {
        for suite in ALL_CIPHER_SUITES {
            assert_ne!(of_suite(suite.suite()), "", "{:?}", suite.suite());
        }
    }

    #[test]
    fn versions_are_listed_and_old_ones_refused() {
        assert_eq!(versions("TLSv1.2,TLSv1.3").unwrap().len(), 2);
        assert_eq!(versions("tlsv1.3, TLSv1.3").unwrap(), [&version::TLS13]);
        assert!(versions("").unwrap().is_empty());
        for wrong in ["TLSv1.1", "TLSv1,TLSv1.2", "x"] {
            assert!(versions(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_list_of_ciphers_chooses_among_those_of_its_version() {
        let of = |text| {
            chosen(ALL_CIPHER_SUITES, ("ssl_cipher", text), ProtocolVersion::TLSv1_2)
                .map(|all| all.iter().map(|s| of_suite(s.suite())).collect::<Vec<_>>())
        };
        assert_eq!(of("").unwrap().len(), 6);
        let named = "ECDHE-RSA-AES256-GCM-SHA384:DHE-RSA-AES256-SHA:ECDHE-RSA-AES128-GCM-SHA256";
        assert_eq!(
            of(named).unwrap(),
            ["ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256"]
        );
        assert!(of("TLS_AES_128_GCM_SHA256").is_err() && of("nonsense").is_err());
    }
}
