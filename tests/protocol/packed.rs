//! Compressed connections: what comes through, frames that lie, and what they cost the server.

use super::{COM_QUERY, shown, text};
use std::collections::VecDeque;
use testkit::raw::RawClient;
use testkit::{Server, TempDir};
use wire::compressed::{Algorithm, Compressed};

const COMPRESS: u32 = 1 << 5;
const ZSTD: u32 = 1 << 26;
const LOCAL_FILES: u32 = 1 << 7;

/// A client that packs what it sends.
struct Packed {
    raw: RawClient,
    frames: Compressed,
    read: VecDeque<u8>,
}

impl Packed {
    fn connect(server: &Server, algorithm: Algorithm) -> Packed {
        let mut raw = RawClient::connect(server);
        let ok = match algorithm {
            Algorithm::Zlib => raw.login_with(COMPRESS | LOCAL_FILES, b""),
            Algorithm::Zstd(level) => raw.login_with(ZSTD | LOCAL_FILES, &[level]),
        };
        assert_eq!(ok[0], 0, "{}", shown(&ok));
        Packed { raw, frames: Compressed::new(algorithm, Vec::new()), read: VecDeque::new() }
    }

    /// One packet in frames of their own, numbered from `seq` on.
    fn send(&mut self, seq: u8, body: &[u8]) {
        let mut bytes = Vec::new();
        for piece in body.chunks(0xFF_FFFF).chain(body.is_empty().then_some(body)) {
            let len = (piece.len() as u32).to_le_bytes();
            bytes.extend([len[0], len[1], len[2], seq]);
            bytes.extend(piece);
        }
        let raw = &mut self.raw;
        self.frames.begin(seq);
        self.frames
            .write(&bytes, |frame| {
                assert!(raw.send(frame));
                Ok(())
            })
            .unwrap();
    }

    fn take(&mut self, n: usize) -> Option<Vec<u8>> {
        let mut buf = vec![0; 1 << 16];
        while self.read.len() < n {
            let raw = &mut self.raw;
            let source = |into: &mut [u8]| -> Result<usize, ()> { raw.receive(into).ok_or(()) };
            let got = self.frames.read(&mut buf, source).ok().filter(|n| *n > 0)?;
            self.read.extend(&buf[..got]);
        }
        Some(self.read.drain(..n).collect())
    }

    fn packet(&mut self) -> Option<Vec<u8>> {
        let head = self.take(4)?;
        self.take(u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize)
    }

    /// The values of the first column, or an error's number.
    fn ask(&mut self, sql: &[u8]) -> Vec<String> {
        self.send(0, &[&[COM_QUERY], sql].concat());
        let first = self.packet().unwrap();
        match first[0] {
            0xFF => return vec![u16::from_le_bytes([first[1], first[2]]).to_string()],
            0 => return Vec::new(),
            _ => {}
        }
        for _ in 0..=first[0] {
            self.packet().unwrap();
        }
        let mut rows = Vec::new();
        loop {
            let row = self.packet().unwrap();
            if row[0] == 0xFE && row.len() < 9 {
                return rows;
            }
            rows.push(match row[0] {
                0xFD => row.len().to_string(),
                _ => shown(text(&row).0),
            });
        }
    }
}

fn memory_bytes(server: &Server) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{}/statm", server.pid())).unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn statements_and_results_come_through_by_either_algorithm() {
    let data = TempDir::new();
    let server = Server::with()
        .option("--max-allowed-packet=64M")
        .option("--local-infile=1")
        .start(data.path());
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT, b TEXT)");
    for algorithm in [Algorithm::Zlib, Algorithm::Zstd(3), Algorithm::Zstd(22)] {
        let mut client = Packed::connect(&server, algorithm);
        let status = "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE \
                      VARIABLE_NAME LIKE 'Compression%' ORDER BY VARIABLE_NAME";
        let level = algorithm.level().to_string();
        assert_eq!(client.ask(status.as_bytes()), ["ON", algorithm.name(), &level]);
        assert_eq!(client.ask(b"SELECT 1 UNION SELECT 2"), ["1", "2"]);
        assert_eq!(client.ask(b"SELECT nosuch"), ["1054"]);
        // Larger than a frame and than a packet, both ways.
        let long = [&b"SELECT LENGTH('"[..], &vec![b'x'; 20_000_000], b"')"].concat();
        assert_eq!(client.ask(&long), ["20000000"]);
        assert_eq!(client.ask(b"SELECT REPEAT('abc', 3000000)"), ["9000004"]);
        // Frames of the middle of a command go on with the server's numbers.
        client.send(0, b"\x03LOAD DATA LOCAL INFILE 'x' INTO TABLE d.t");
        assert_eq!(client.packet().unwrap(), b"\xFBx");
        client.send(2, &b"1\tone\n".repeat(5_000));
        client.send(3, b"");
        assert_eq!(client.packet().unwrap()[0], 0);
        assert_eq!(client.ask(b"SELECT COUNT(*) FROM d.t"), ["5000"]);
        assert!(client.ask(b"TRUNCATE d.t").is_empty());
    }
    assert_eq!(server.sql("SHOW STATUS LIKE 'Compression'"), "Compression\tOFF");
}

#[test]
fn an_answer_goes_on_with_the_number_of_the_last_frame() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut client = Packed::connect(&server, Algorithm::Zlib);
    let ping = [1, 0, 0, 0, 0x0E];
    // One packet in one, three and five frames.
    for (bytes, frames) in [(5, 1), (2, 3), (1, 5)] {
        let raw = &mut client.raw;
        client.frames.begin(0);
        for piece in ping.chunks(bytes) {
            let sent = client.frames.write(piece, |frame| {
                assert!(raw.send(frame));
                Ok(())
            });
            sent.unwrap();
        }
        let head = client.take(4).unwrap();
        assert_eq!(head[3], frames, "{head:?}");
        assert_eq!(client.take(usize::from(head[0])).unwrap()[0], 0);
    }
}

#[test]
fn what_the_server_does_not_offer_nobody_gets() {
    let data = TempDir::new();
    let server = Server::with()
        .option("--protocol-compression-algorithms=zstd,uncompressed")
        .start(data.path());
    let mut client = RawClient::connect(&server);
    // It asks for zlib, which it was not offered: it goes on in clear.
    assert_eq!(client.login_with(COMPRESS, b"")[0], 0);
    assert!(client.command(0x0E, b"") && client.packet().unwrap()[0] == 0);
    let error = |capabilities, tail: &[u8]| {
        let answer = RawClient::connect(&server).login_with(capabilities, tail);
        assert_eq!(answer[0], 0xFF);
        u16::from_le_bytes([answer[1], answer[2]])
    };
    assert_eq!((error(ZSTD, b""), error(ZSTD, b"\0"), error(ZSTD, b"\x17")), (3923, 3923, 3923));
    let refused = server.sql_error("SET GLOBAL protocol_compression_algorithms='lz4'");
    assert!(refused.contains("1231"), "{refused}");
    let zlib_only = "SET GLOBAL protocol_compression_algorithms='zlib'";
    let mut last = RawClient::connect(&server);
    assert_eq!(last.login_with(0, b"")[0], 0);
    assert!(last.command(COM_QUERY, zlib_only.as_bytes()) && last.packet().unwrap()[0] == 0);
    assert_eq!((error(0, b""), error(ZSTD, b"\x03")), (3922, 3922));
}

#[test]
fn frames_that_lie_end_their_connection() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let answer = |frame: &[u8]| {
        let mut client = Packed::connect(&server, Algorithm::Zlib);
        assert!(client.raw.send(frame));
        // The answer goes on with the frame's number, whatever that is.
        let mut buf = [0; 100];
        let n = client.raw.receive(&mut buf).unwrap();
        assert!(n > 13 && buf[11] == 0xFF, "{:?}", &buf[..n]);
        assert!(client.raw.receive(&mut [0; 9]).is_none(), "it is closed");
        u16::from_le_bytes([buf[12], buf[13]])
    };
    assert_eq!(answer(&[5, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0x0E]), 1156);
    assert_eq!(answer(&[5, 0, 0, 0, 100, 0, 0, 1, 0, 0, 0, 0x0E]), 1157);
    assert_eq!(answer(&[0, 0, 0, 0, 0, 0, 0]), 1157);
    assert_eq!(server.sql("SELECT 1"), "1");
}

/// 100 clients each send 16 MB that are 16 KB, of a packet that is never whole.
#[test]
fn bombs_cost_what_they_send() {
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut bomb = Vec::new();
    let mut packer = Compressed::new(Algorithm::Zlib, Vec::new());
    // A packet of 1 MB of which nearly all comes, and which is too long then.
    packer
        .write(&[&[0xFF, 0xFF, 0xFF, 0][..], &vec![3; 250_000]].concat(), |frame| {
            bomb.extend_from_slice(frame);
            Ok(())
        })
        .unwrap();
    assert!(bomb.len() < 2_000, "{}", bomb.len());
    // A frame that claims all that a frame can have, and has less.
    bomb[4..7].copy_from_slice(&[0xFF, 0xFF, 0xFF]);
    let before = memory_bytes(&server);
    let mut clients: Vec<Packed> =
        (0..100).map(|_| Packed::connect(&server, Algorithm::Zlib)).collect();
    for client in &mut clients {
        assert!(client.raw.send(&bomb));
        client.frames.begin(1);
    }
    for client in &mut clients {
        let error = client.packet().unwrap();
        assert_eq!(error[0], 0xFF, "{error:?}");
    }
    let grown = memory_bytes(&server).saturating_sub(before) / 100;
    println!("{grown} bytes for each bomb");
    assert!(grown < 1 << 20, "{grown} bytes each");
    assert_eq!(server.sql("SELECT 1"), "1");
}
