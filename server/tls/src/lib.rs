//! TLS: what a server proves who it is by, and the encrypted form of a connection's bytes; owns no socket.
//!
//! Reading order: [`Settings`] (which files, versions and ciphers), [`certificates`] (made at the first start), [`Context`] (what
//! new connections are offered, as one value that is replaced whole), [`Acceptor`] (the present context, and what is counted),
//! [`Channel`] (one connection: bytes in, bytes out), [`PasswordKeys`] (a password's way over a connection without TLS).
//!
//! 1. A connection keeps the context that it began with; who reloads changes what later ones get. 2. What comes before a
//! handshake ends is never taken for a client's words. 3. No key and no password is in a text that anybody is shown.

pub mod certificates;
mod channel;
mod context;
mod der;
mod error;
mod names;
mod password_keys;
mod peer_certificate;
mod settings;

pub use channel::{Channel, Progress, Secured};
pub use context::{Acceptor, Context, Handshakes};
pub use error::TlsError;
pub use password_keys::{PasswordKeys, sealed};
pub use peer_certificate::PeerCertificate;
pub use settings::{Settings, is_value};

/// Fills `out` from the system's random source; false when it has none.
#[must_use]
pub fn random(out: &mut [u8]) -> bool {
    aws_lc_rs::rand::fill(out).is_ok()
}
