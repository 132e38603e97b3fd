//! Clients that have logged in, ask for much and read a byte a second: what the server keeps for each of them is a small part of
//! what they asked for, in clear, packed and over TLS, and goes with them; one that reads on gets everything.

use super::COM_QUERY;
use super::floods::{resident_kib, resident_kib_alone};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::raw::{read_packet, response, write_packet};
use testkit::{Server, TempDir, TextClient};
use wire::compressed::{Algorithm, Compressed};

const READERS: u64 = 200;
/// Bytes that each reads, one a second.
const BYTES: u64 = 4;
/// What each asks for: 12 MB that cannot be packed well.
const ROWS: u64 = 50_000;
const ROW_BYTES: u64 = 250;
const ASKED: &[u8] = b"SELECT c FROM d.t";
const FILLED: &str = "INSERT INTO d.t WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 999) \
     SELECT a.i * 50 + b.i, \
     LEFT(CONCAT(SHA2(a.i * 50 + b.i, 512), SHA2(-1 - a.i * 50 - b.i, 512)), 250) \
     FROM n AS a JOIN n AS b WHERE b.i < 50";

/// What is left of each that has gone, some seconds later: 30 to 50 KiB.
const LEFT_KIB_MAX: u64 = 120;
/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Capabilities of clients.
const TLS: u32 = 1 << 11;
const COMPRESS: u32 = 1 << 5;

/// How results come.
#[derive(Debug, Clone, Copy)]
enum Way {
    Clear,
    Packed,
    Secured,
}

/// What the server may keep for each reader, its session and thread among it: half as much again as it does (181, 670 and 378 KiB).
fn kept_kib_max(way: Way) -> u64 {
    match way {
        Way::Clear => 280,
        Way::Packed => 1_000,
        Way::Secured => 570,
    }
}

/// A result that comes in frames.
struct Unpacked {
    stream: UnixStream,
    frames: Compressed,
}

impl Read for Unpacked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Self { stream, frames } = self;
        frames.read(into, |room| stream.read(room)).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

/// Logs in as root, whose password is empty: two packets.
fn log_in(stream: &mut (impl Read + Write), seq: u8, greeting: &[u8], capabilities: u32) {
    write_packet(stream, seq, &response(greeting, "root", "", capabilities, &[])).unwrap();
    assert_eq!(read_packet(stream).unwrap()[0], 0, "an OK");
}

/// Asks for TLS, and makes it.
fn secured(
    mut stream: UnixStream,
    greeting: &[u8],
    config: &Arc<ClientConfig>,
) -> StreamOwned<ClientConnection, UnixStream> {
    // The beginning of what a login is, up to the user's name.
    let request = &response(greeting, "root", "", TLS, &[])[..32];
    write_packet(&mut stream, 1, request).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), stream)
}

/// A client that has asked for much, and has read nothing of it.
fn reader(server: &Server, way: Way, config: &Arc<ClientConfig>) -> Box<dyn Read> {
    let mut stream = UnixStream::connect(server.socket()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let greeting = read_packet(&mut stream).unwrap();
    let command = [&[COM_QUERY], ASKED].concat();
    match way {
        Way::Clear => {
            log_in(&mut stream, 1, &greeting, 0);
            write_packet(&mut stream, 0, &command).unwrap();
            Box::new(stream)
        }
        Way::Packed => {
            log_in(&mut stream, 1, &greeting, COMPRESS);
            // A frame that is not packed.
            let mut packet = Vec::new();
            write_packet(&mut packet, 0, &command).unwrap();
            let frame = [&[packet.len() as u8, 0, 0, 0, 0, 0, 0], &packet[..]].concat();
            stream.write_all(&frame).unwrap();
            let mut frames = Compressed::new(Algorithm::Zlib, Vec::new());
            frames.begin(1);
            Box::new(Unpacked { stream, frames })
        }
        Way::Secured => {
            let mut stream = secured(stream, &greeting, config);
            log_in(&mut stream, 2, &greeting, TLS);
            write_packet(&mut stream, 0, &command).unwrap();
            stream.flush().unwrap();
            Box::new(stream)
        }
    }
}

/// What there is of its result; it may have read some of it.
fn read_on(mut reader: Box<dyn Read>) {
    let (mut room, mut came) = (vec![0; 1 << 16], 0);
    while came < ROWS * ROW_BYTES {
        match reader.read(&mut room).unwrap() {
            0 => panic!("the connection ends after {came} bytes"),
            n => came += n as u64,
        }
    }
}

fn trusting(data: &TempDir) -> Arc<ClientConfig> {
    let authority = CertificateDer::from_pem_file(data.path().join("data/ca.pem")).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(authority).unwrap();
    Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

fn keep_little(way: Way) {
    let data = TempDir::new();
    let server = Server::with().option("--max-connections=1000").start(data.path());
    let config = trusting(&data);
    let mut root = TextClient::connect(server.socket());
    let table = "CREATE TABLE d.t (id INT PRIMARY KEY, c CHAR(250) NOT NULL)";
    for sql in ["CREATE DATABASE d", table, FILLED] {
        root.query(sql).unwrap();
    }
    read_on(reader(&server, way, &config));
    let before = resident_kib_alone(&server, &mut root);
    let each = || resident_kib(&server).saturating_sub(before) / READERS;

    let mut readers: Vec<_> = (0..READERS).map(|_| reader(&server, way, &config)).collect();
    let mut kept = 0;
    for _ in 0..BYTES {
        for reader in &mut readers {
            reader.read_exact(&mut [0]).unwrap();
        }
        testkit::pause(1_000);
        kept = each().max(kept);
    }
    read_on(readers.pop().unwrap());
    drop(readers);
    let (until, mut left) = (Instant::now() + PATIENCE, each());
    while left > LEFT_KIB_MAX && Instant::now() < until {
        testkit::pause(100);
        left = each();
    }
    println!("{way:?}: {kept} KiB for each slow reader, {left} KiB when it has gone");
    assert!(kept <= kept_kib_max(way), "{way:?}: {kept} KiB");
    assert!(left <= LEFT_KIB_MAX, "{way:?}: {left} KiB are left");
}

#[test]
fn slow_readers_in_clear_cost_little() {
    keep_little(Way::Clear);
}

#[test]
fn slow_readers_of_packed_results_cost_little() {
    keep_little(Way::Packed);
}

#[test]
fn slow_readers_over_tls_cost_little() {
    keep_little(Way::Secured);
}
