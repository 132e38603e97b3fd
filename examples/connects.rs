//! Makes connections one after another, logs in and leaves: `connects SOCKET USER clear|tls|resumed SECONDS` prints how many it
//! made and in how many seconds. For `cargo xtask bench connections`, whose own build is not optimised.
//!
//! It takes any certificate, and gives no password: what is measured is the server.

// Tests and examples panic to fail.
#![allow(clippy::unwrap_used)]

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, HandshakeKind, SignatureScheme,
};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::raw::{read_packet, response, write_packet};

/// The capability of a client that asks for TLS.
const SSL: u32 = 0x0800;
/// Capabilities, packet size, collation and filler: what of a response asks for TLS when nothing follows.
const REQUEST_BYTES: usize = 32;

/// Takes every certificate.
#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}

fn config(resumes: bool) -> Arc<ClientConfig> {
    let builder = ClientConfig::builder().dangerous();
    let builder = builder.with_custom_certificate_verifier(Arc::new(Trusting));
    let mut config = builder.with_no_client_auth();
    if !resumes {
        config.resumption = Resumption::disabled();
    }
    Arc::new(config)
}

/// Answers the greeting with `response`, a packet of this number, and what follows it.
fn log_in(stream: &mut (impl Read + Write), sequence: u8, response: &[u8]) -> io::Result<()> {
    write_packet(stream, sequence, response)?;
    let mut sequence = sequence + 2;
    loop {
        match read_packet(stream)?.first() {
            Some(0) => return Ok(()),
            // Another way of authentication: an empty password all the same.
            Some(0xFE) => {
                write_packet(stream, sequence, &[])?;
                sequence += 2;
            }
            Some(1) => {}
            _ => return Err(io::Error::other("the login is refused")),
        }
    }
}

/// Makes a connection, logs in and leaves; whether it went on with the keys of one before.
fn connect(socket: &str, user: &str, tls: Option<&Arc<ClientConfig>>) -> io::Result<bool> {
    let mut socket = UnixStream::connect(socket)?;
    let greeting = read_packet(&mut socket)?;
    let Some(config) = tls else {
        log_in(&mut socket, 1, &response(&greeting, user, "", 0, &[]))?;
        write_packet(&mut socket, 0, &[1])?;
        return Ok(false);
    };
    let response = response(&greeting, user, "", SSL, &[]);
    write_packet(&mut socket, 1, &response[..REQUEST_BYTES])?;
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    let mut tls = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    let mut stream = rustls::Stream::new(&mut tls, &mut socket);
    log_in(&mut stream, 2, &response)?;
    write_packet(&mut stream, 0, &[1])?;
    Ok(tls.handshake_kind() == Some(HandshakeKind::Resumed))
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [socket, user, way, seconds] = &words[..] else {
        panic!("connects SOCKET USER clear|tls|resumed SECONDS");
    };
    let tls = (way != "clear").then(|| config(way == "resumed"));
    let seconds = Duration::from_secs(seconds.parse().unwrap());
    // The first one has nothing to go on with.
    connect(socket, user, tls.as_ref()).unwrap();
    let (begin, mut made) = (Instant::now(), 0);
    while begin.elapsed() < seconds {
        let resumed = connect(socket, user, tls.as_ref()).unwrap();
        assert_eq!(resumed, way == "resumed");
        made += 1;
    }
    println!("{made} {}", begin.elapsed().as_secs_f64());
}
