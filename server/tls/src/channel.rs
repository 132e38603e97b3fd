//! One connection's TLS: encrypted bytes in, clear ones out, and back.
//!
//! 1. Nothing here waits: who has the socket brings bytes and takes bytes. 2. What a client sends is decrypted as it comes, one
//! read of the socket at a time, so that a statement costs one receive and one send as without TLS. 3. A connection that breaks a
//! rule is told so once, by the alert that is among the bytes to send, and is over.

use crate::Context;
use crate::names::{of_suite, of_version};
use crate::peer_certificate::PeerCertificate;
use rustls::{HandshakeKind, ServerConnection};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Most clear bytes that become encrypted ones at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// What a secured connection uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secured {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: &'static str,
    /// The cipher by OpenSSL's name.
    pub cipher: &'static str,
    /// The client's certificate, which was found good.
    pub certificate: Option<Arc<PeerCertificate>>,
    /// It went on with the keys of a connection before.
    pub resumed: bool,
}

/// What came of encrypted bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The handshake wants more of them.
    Handshake,
    /// Clear bytes may be there, and may be sent.
    Open,
}

/// The server's side of a connection.
pub struct Channel {
    connection: ServerConnection,
}

fn broken(error: &rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

impl Channel {
    /// A connection whose handshake begins.
    ///
    /// # Errors
    /// No randomness.
    pub fn new(context: &Context) -> io::Result<Channel> {
        let config = std::sync::Arc::clone(&context.config);
        let mut connection = ServerConnection::new(config).map_err(|e| broken(&e))?;
        // What is written is taken out at once.
        connection.set_buffer_limit(None);
        Ok(Channel { connection })
    }

    /// Takes encrypted bytes from `source`, by one call; `Ok(None)`: the client sends no more.
    ///
    /// # Errors
    /// Those of the source; a client that breaks the protocol: the alert for it is in [`Self::take`].
    pub fn read_from(&mut self, source: &mut dyn Read) -> io::Result<Option<Progress>> {
        if self.connection.read_tls(source)? == 0 {
            return Ok(None);
        }
        self.connection.process_new_packets().map_err(|e| broken(&e))?;
        Ok(Some(match self.connection.is_handshaking() {
            true => Progress::Handshake,
            false => Progress::Open,
        }))
    }

    /// Clear bytes that have come; none: there are none yet. `Ok(None)`: the client has said that it sends no more.
    ///
    /// # Errors
    /// The connection ended without its goodbye.
    pub fn clear(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self.connection.reader().read(into) {
            Ok(0) if !into.is_empty() => Ok(None),
            Ok(n) => Ok(Some(n)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Some(0)),
            Err(error) => Err(error),
        }
    }

    /// Encrypts clear bytes piece by piece; `send` gets all that is to be sent for each.
    ///
    /// # Errors
    /// Those of `send`.
    pub fn write(
        &mut self,
        clear: &[u8],
        mut send: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        for piece in clear.chunks(PIECE_BYTES) {
            self.connection.writer().write_all(piece)?;
            send(&self.take()?)?;
        }
        Ok(())
    }

    /// Encrypted bytes that are to be sent now, if any.
    ///
    /// # Errors
    /// None that a buffer in memory has.
    pub fn take(&mut self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut out)?;
        }
        Ok(out)
    }

    /// Says goodbye: the last bytes that are to be sent.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn close(&mut self) -> io::Result<Vec<u8>> {
        self.connection.send_close_notify();
        self.take()
    }

    /// What the handshake has come to, once it has.
    pub fn secured(&self) -> Option<Secured> {
        let connection = Some(&self.connection).filter(|c| !c.is_handshaking())?;
        let (version, suite) =
            (connection.protocol_version()?, connection.negotiated_cipher_suite()?);
        Some(Secured {
            version: of_version(version),
            cipher: of_suite(suite.suite()),
            certificate: connection.peer_certificates().and_then(PeerCertificate::of).map(Arc::new),
            resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
        })
    }
}
