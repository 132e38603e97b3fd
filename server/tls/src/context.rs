//! What new connections are offered.

use crate::names::{chosen, of_suite, versions};
use crate::{Settings, TlsError, der};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ProtocolVersion, RootCertStore, ServerConfig};
use std::path::Path;
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::Mutex;

instrument::classes! {
    static CONTEXT: MutexClass = "wait/synch/mutex/limpid/tls_context";
}

/// Certificate, key, versions and ciphers, read and found to go together.
#[derive(Debug)]
pub struct Context {
    pub(crate) config: Arc<ServerConfig>,
    /// As the settings were.
    pub settings: Settings,
    /// From when and to when the server's certificate holds, as OpenSSL prints it.
    pub valid: (String, String),
    /// The ciphers, colon-separated, by OpenSSL's names.
    pub ciphers: String,
}

/// All of a kind that a file has, which must be some.
fn all<T: PemObject>(path: &Path, what: &'static str) -> Result<Vec<T>, TlsError> {
    let found = T::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Err(PemError::Io(error)) => Err(TlsError::File(path.into(), error)),
        _ => Err(TlsError::Empty(path.into(), what)),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    all(path, "certificate")
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| match error {
        PemError::Io(error) => TlsError::File(path.into(), error),
        _ => TlsError::Empty(path.into(), "key"),
    })
}

impl Context {
    /// Reads the files; `None` where `tls_version` names no version: no TLS.
    ///
    /// # Errors
    /// Files that are not there or hold something else, a key that is another certificate's, values that mean nothing.
    pub fn load(settings: &Settings) -> Result<Option<Context>, TlsError> {
        let versions = versions(&settings.versions)?;
        if versions.is_empty() {
            return Ok(None);
        }
        let known = aws_lc_rs::ALL_CIPHER_SUITES;
        let new = ("tls_ciphersuites", &*settings.suites);
        let mut suites = chosen(known, new, ProtocolVersion::TLSv1_3)?;
        suites.extend(chosen(known, ("ssl_cipher", &settings.ciphers), ProtocolVersion::TLSv1_2)?);
        suites.retain(|suite| versions.contains(&suite.version()));
        let names: Vec<_> = suites.iter().map(|suite| of_suite(suite.suite())).collect();
        let ciphers = names.join(":");
        let provider =
            Arc::new(CryptoProvider { cipher_suites: suites, ..aws_lc_rs::default_provider() });
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)?;
        let builder = match &settings.ca {
            None => builder.with_no_client_auth(),
            Some(ca) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(ca)? {
                    roots.add(certificate)?;
                }
                let mut verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .allow_unauthenticated();
                if let Some(crl) = &settings.crl {
                    let lists: Vec<CertificateRevocationListDer<'static>> =
                        all(crl, "list of revoked certificates")?;
                    // As OpenSSL: an authority without a list that holds lets nobody in.
                    verifier = verifier.with_crls(lists).enforce_revocation_expiration();
                }
                let verifier =
                    verifier.build().map_err(|error| TlsError::Refused(error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let chain = certificates(&settings.cert)?;
        let valid = der::validity(&chain[0]).unwrap_or_default();
        let config = builder.with_single_cert(chain, private_key(&settings.key)?)?;
        let settings = settings.clone();
        Ok(Some(Context { config: Arc::new(config), settings, valid, ciphers }))
    }
}

/// Handshakes since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Handshakes {
    /// Begun.
    pub begun: u64,
    /// Ended in a secured connection.
    pub finished: u64,
    /// Of these, those that went on with the keys of a connection before.
    pub resumed: u64,
}

/// The present context, and what came of it.
pub struct Acceptor {
    context: Mutex<Option<Arc<Context>>>,
    begun: SharedAtomic<u64, { class::SESSION }>,
    finished: SharedAtomic<u64, { class::SESSION }>,
    resumed: SharedAtomic<u64, { class::SESSION }>,
}

impl Default for Acceptor {
    fn default() -> Self {
        Self {
            context: Mutex::new(&CONTEXT, None),
            begun: SharedAtomic::new(0),
            finished: SharedAtomic::new(0),
            resumed: SharedAtomic::new(0),
        }
    }
}

impl Acceptor {
    /// What new connections are offered, if it is TLS.
    pub fn context(&self) -> Option<Arc<Context>> {
        self.context.lock().clone()
    }

    /// Offers it from now on.
    pub fn offer(&self, context: Option<Context>) {
        *self.context.lock() = context.map(Arc::new);
    }

    /// A handshake begins.
    pub fn begins(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// A handshake has come to its end.
    pub fn finished(&self, resumed: bool) {
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.resumed.fetch_add(u64::from(resumed), Ordering::Relaxed);
    }

    /// Handshakes since the start.
    pub fn handshakes(&self) -> Handshakes {
        Handshakes {
            begun: self.begun.load(Ordering::Relaxed),
            finished: self.finished.load(Ordering::Relaxed),
            resumed: self.resumed.load(Ordering::Relaxed),
        }
    }
}
