//! What a client's certificate says of it, in OpenSSL's words: `/C=SE/O=Limpid/CN=client`.

use rustls::pki_types::CertificateDer;
use x509_parser::oid_registry::{Oid, OidRegistry};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::X509Name;

/// Names of a client's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    /// Whom it is of.
    pub subject: String,
    /// Who gave it.
    pub issuer: String,
}

impl PeerCertificate {
    /// Of the first certificate that a client sent; `None` where that cannot be read.
    pub(crate) fn of(sent: &[CertificateDer<'_>]) -> Option<PeerCertificate> {
        let (_, certificate) = X509Certificate::from_der(sent.first()?).ok()?;
        let words = OidRegistry::default().with_x509();
        let (subject, issuer) = (certificate.subject(), certificate.issuer());
        Some(PeerCertificate {
            subject: one_line(subject, &words),
            issuer: one_line(issuer, &words),
        })
    }
}

fn one_line(name: &X509Name<'_>, words: &OidRegistry<'_>) -> String {
    let mut line = String::new();
    for attribute in name.iter_attributes() {
        let word = word_of(attribute.attr_type(), words);
        line += &format!("/{word}={}", attribute.as_str().unwrap_or_default());
    }
    line
}

/// OpenSSL's short name, or the numbers.
fn word_of(oid: &Oid<'_>, words: &OidRegistry<'_>) -> String {
    let known = x509_parser::objects::oid2abbrev(oid, words);
    known.map_or_else(|_| oid.to_id_string(), str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_one_line() {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let name = &mut params.distinguished_name;
        name.push(rcgen::DnType::CountryName, "SE");
        name.push(rcgen::DnType::CommonName, "a client");
        let key = rcgen::KeyPair::generate().unwrap();
        let der = params.self_signed(&key).unwrap().der().clone();
        let read = PeerCertificate::of(&[der]).unwrap();
        assert_eq!(read.subject, "/C=SE/CN=a client");
        assert_eq!(read.subject, read.issuer);
        assert_eq!(PeerCertificate::of(&[vec![1, 2, 3].into()]), None);
    }
}
