//! TLS of new connections: what the variables say becomes what is offered, at the start and by ALTER INSTANCE RELOAD TLS.
//!
//! 1. A change of a variable changes nothing until RELOAD TLS. 2. Files that cannot be used are told, and leave what was offered
//! before: a server that starts with such files offers no TLS, as MySQL does.

use crate::process::Severity;
use crate::server::{Server, VERSION};
use crate::variables::{self, Value};
use std::path::{Path, PathBuf};
use tls::{Context, Secured, Settings, TlsError, certificates};

const CA: &str = "ssl_ca";
const CRL: &str = "ssl_crl";
const CERT: &str = "ssl_cert";
const KEY: &str = "ssl_key";
/// The depth of a chain of certificates, which is not limited.
const DEPTH: &str = "18446744073709551615";
/// Seconds for which keys of a connection are taken for another one.
const TICKET_S: &str = "7200";

fn text(server: &Server, name: &'static str) -> String {
    let id = variables::id(name);
    id.get().kind.show(&server.globals.value(id))
}

impl Server {
    fn tls_settings(&self) -> Settings {
        let folder = PathBuf::from(text(self, "datadir"));
        let file = |name| folder.join(text(self, name));
        let given = |name| (!text(self, name).is_empty()).then(|| file(name));
        Settings {
            ca: given(CA),
            crl: given(CRL),
            cert: file(CERT),
            key: file(KEY),
            versions: text(self, "tls_version"),
            ciphers: text(self, "ssl_cipher"),
            suites: text(self, "tls_ciphersuites"),
        }
    }

    /// Offers what the variables say to connections that come from now on; `keeps` what was offered when that cannot be.
    ///
    /// # Errors
    /// Files and values that cannot be used.
    pub(crate) fn load_tls(&self, keeps: bool) -> Result<(), TlsError> {
        match Context::load(&self.tls_settings()) {
            Ok(context) => self.tls.offer(context),
            Err(error) => {
                if !keeps {
                    self.tls.offer(None);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Offers TLS as the options say; certificates are made where there are none and nobody named any.
    pub fn start_tls(&self, folder: &Path) {
        if [CA, CERT, KEY].iter().all(|name| text(self, name).is_empty())
            && !self.find_certificates(folder)
        {
            return;
        }
        if let Err(error) = self.load_tls(true) {
            self.host.log(Severity::Warning, &failed(&error));
        }
        if self.tls.context().is_some() {
            for name in ["have_ssl", "have_openssl"] {
                self.globals.set(variables::id(name), Value::Text("YES".into()));
            }
        }
    }

    /// Names the certificates of the data folder, which may have to be made; whether there are any.
    fn find_certificates(&self, folder: &Path) -> bool {
        if self.globals.number("auto_generate_certs") != 0 {
            match certificates::make_files(folder, VERSION, &names(&text(self, "hostname"))) {
                Ok(true) => {
                    let text = "Auto generated SSL certificates are placed in data directory.";
                    self.host.log(Severity::System, text);
                }
                Ok(false) => {}
                Err(error) => self.host.log(Severity::Warning, &failed(&error)),
            }
        }
        let files = [
            (CA, certificates::CA),
            (CERT, certificates::SERVER_CERT),
            (KEY, certificates::SERVER_KEY),
        ];
        let found = files.iter().all(|(_, file)| folder.join(file).exists());
        if found {
            for (name, file) in files {
                self.globals.set(variables::id(name), Value::Text(file.into()));
            }
        }
        found
    }
}

/// MySQL's words for it.
fn failed(error: &TlsError) -> String {
    format!("Failed to set up SSL because of the following SSL library error: {error}")
}

/// What clients of this machine may call the server.
fn names(hostname: &str) -> Vec<String> {
    let own = (!hostname.is_empty()).then_some(hostname);
    ["localhost", "127.0.0.1", "::1"].into_iter().chain(own).map(String::from).collect()
}

/// What SHOW STATUS has of TLS; `secured`: what secures the connection that asks.
pub(crate) fn status(server: &Server, secured: Option<&Secured>) -> Vec<(&'static str, String)> {
    let context = server.tls.context();
    let offered = context.as_deref();
    let verifies = offered.is_some_and(|context| context.settings.ca.is_some());
    let handshakes = server.tls.handshakes();
    let of_connection = |value: &str| secured.map_or(String::new(), |_| value.to_string());
    let number = |of_connection: bool, value: &str| match of_connection {
        true => value.to_string(),
        false => "0".to_string(),
    };
    let valid = |at: fn(&(String, String)) -> &String| {
        offered.map_or(String::new(), |context| at(&context.valid).clone())
    };
    let mode = if verifies { "5" } else { "0" };
    let ciphers = offered.map_or("", |context| &*context.ciphers);
    let resumed = handshakes.resumed.to_string();
    let mut list = vec![
        ("Ssl_accepts", handshakes.begun.to_string()),
        ("Ssl_finished_accepts", handshakes.finished.to_string()),
        ("Ssl_cipher", secured.map_or(String::new(), |s| s.cipher.into())),
        ("Ssl_cipher_list", of_connection(ciphers)),
        ("Ssl_ctx_verify_depth", number(offered.is_some(), DEPTH)),
        ("Ssl_ctx_verify_mode", mode.into()),
        ("Ssl_default_timeout", number(secured.is_some(), TICKET_S)),
        ("Ssl_server_not_after", valid(|valid| &valid.1)),
        ("Ssl_server_not_before", valid(|valid| &valid.0)),
        ("Ssl_session_cache_hits", resumed),
        ("Ssl_session_cache_mode", if offered.is_some() { "SERVER" } else { "NONE" }.into()),
        ("Ssl_session_cache_size", number(offered.is_some(), "256")),
        ("Ssl_sessions_reused", number(secured.is_some_and(|s| s.resumed), "1")),
        ("Ssl_verify_depth", number(secured.is_some(), DEPTH)),
        ("Ssl_verify_mode", number(secured.is_some(), mode)),
        ("Ssl_version", secured.map_or(String::new(), |s| s.version.into())),
    ];
    list.extend(NONE.iter().map(|name| (*name, "0".to_string())));
    list.extend(current(offered.map(|context| &context.settings), &text(server, "datadir")));
    list
}

/// What no connection does: the server connects to nobody, keys are never renegotiated, and what is kept of connections goes by
/// itself.
const NONE: &[&str] = &[
    "Ssl_accept_renegotiates",
    "Ssl_callback_cache_hits",
    "Ssl_client_connects",
    "Ssl_connect_renegotiates",
    "Ssl_finished_connects",
    "Ssl_session_cache_misses",
    "Ssl_session_cache_overflows",
    "Ssl_session_cache_timeout",
    "Ssl_session_cache_timeouts",
    "Ssl_used_session_cache_entries",
];

/// `Current_tls_*`: the settings of what is offered.
fn current(settings: Option<&Settings>, folder: &str) -> Vec<(&'static str, String)> {
    let of =
        |value: fn(&Settings) -> &str| settings.map_or(String::new(), |s| value(s).to_string());
    let file = |path: Option<&PathBuf>| {
        path.map_or(String::new(), |path| {
            path.strip_prefix(folder).unwrap_or(path).display().to_string()
        })
    };
    vec![
        ("Current_tls_ca", file(settings.and_then(|s| s.ca.as_ref()))),
        ("Current_tls_capath", String::new()),
        ("Current_tls_cert", file(settings.map(|s| &s.cert))),
        ("Current_tls_cipher", of(|s| &s.ciphers)),
        ("Current_tls_ciphersuites", of(|s| &s.suites)),
        ("Current_tls_crl", file(settings.and_then(|s| s.crl.as_ref()))),
        ("Current_tls_crlpath", String::new()),
        ("Current_tls_key", file(settings.map(|s| &s.key))),
        ("Current_tls_version", of(|s| &s.versions)),
    ]
}
