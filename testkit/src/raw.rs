//! Bytes on a socket, for clients that misbehave.

use crate::Server;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A connection that speaks only as far as the test wants.
#[derive(Debug)]
pub struct RawClient {
    stream: UnixStream,
}

/// Ends a connection whose client waits for an answer.
#[derive(Debug)]
pub struct Breaker(UnixStream);

impl Breaker {
    /// The waiting client reads the end of the connection.
    pub fn cut(&self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

/// Reads one packet from whatever carries them.
///
/// # Errors
/// The stream's.
pub fn read_packet(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    stream.read_exact(&mut body)?;
    Ok(body)
}

/// Writes one packet with the given sequence number, at once.
///
/// # Errors
/// The stream's.
pub fn write_packet(stream: &mut impl Write, sequence: u8, body: &[u8]) -> io::Result<()> {
    let length = (body.len() as u32).to_le_bytes();
    let mut bytes = vec![length[0], length[1], length[2], sequence];
    bytes.extend_from_slice(body);
    stream.write_all(&bytes)
}

impl RawClient {
    /// Connects over the Unix socket; reads time out after ten seconds.
    ///
    /// # Panics
    /// When nobody listens.
    pub fn connect(server: &Server) -> RawClient {
        RawClient::connect_to(server.socket())
    }

    /// As [`RawClient::connect`], to whoever listens on a socket.
    ///
    /// # Panics
    /// When nobody does.
    pub fn connect_to(socket: &Path) -> RawClient {
        RawClient::reach(socket).expect("server listens")
    }

    /// As [`RawClient::connect_to`]; `None` when nobody listens.
    pub fn reach(socket: &Path) -> Option<RawClient> {
        let stream = UnixStream::connect(socket).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        Some(RawClient { stream })
    }

    /// Changes how long a read waits; `None` is for ever.
    ///
    /// # Panics
    /// When the time is zero.
    pub fn set_patience(&self, longest: Option<Duration>) {
        self.stream.set_read_timeout(longest).expect("a time-out above zero");
    }

    /// A handle that ends the connection from another thread.
    ///
    /// # Panics
    /// When the process has no file number left.
    pub fn breaker(&self) -> Breaker {
        Breaker(self.stream.try_clone().expect("a handle"))
    }

    /// Reads one packet; `None` when the server closed the connection.
    pub fn packet(&mut self) -> Option<Vec<u8>> {
        read_packet(&mut self.stream).ok()
    }

    /// Reads what has come, into a buffer; `None` when the server closed the connection.
    pub fn receive(&mut self, into: &mut [u8]) -> Option<usize> {
        self.stream.read(into).ok().filter(|n| *n > 0)
    }

    /// Sends bytes as they are; false when the server has closed.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends one packet with the given sequence number.
    pub fn send_packet(&mut self, sequence: u8, body: &[u8]) -> bool {
        write_packet(&mut self.stream, sequence, body).is_ok()
    }

    /// Logs in as root without a password and without a database.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn login(&mut self) {
        self.login_as("root", "");
    }

    /// Logs in without a database; a password goes as `caching_sha2_password` wants it over a local socket.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn login_as(&mut self, user: &str, password: &str) {
        if let Err(answer) = self.try_login(user, password) {
            panic!("login refused: {}", String::from_utf8_lossy(&answer));
        }
    }

    /// As [`Self::login_as`]; the packet that refuses.
    ///
    /// # Errors
    /// The server's error packet; an empty one when the connection ended.
    pub fn try_login(&mut self, user: &str, password: &str) -> Result<(), Vec<u8>> {
        let greeting = self.packet().ok_or_else(Vec::new)?;
        if greeting.first() == Some(&0xff) {
            return Err(greeting);
        }
        let response = response(&greeting, user, password, 0, &[]);
        if !self.send_packet(1, &response) {
            return Err(Vec::new());
        }
        let mut sequence = 3;
        loop {
            let answer = self.packet().ok_or_else(Vec::new)?;
            match answer.first() {
                Some(0) => return Ok(()),
                // Another plugin than ours, which MySQL's own servers do not want.
                Some(0xfe) if answer[1..].starts_with(NATIVE) && !password.is_empty() => {
                    let nonce = &answer[1 + NATIVE.len()..];
                    self.send_packet(sequence, &native(password, &nonce[..20.min(nonce.len())]));
                    sequence += 2;
                }
                // The server does not remember the password and asks for itself: the socket is no network.
                Some(1) if answer == [1, 4] && !password.is_empty() => {
                    assert!(self.send_packet(sequence, &[password.as_bytes(), &[0]].concat()));
                    sequence += 2;
                }
                // Authentication goes on: an empty answer means an empty password.
                Some(0xfe | 1) if answer != [1, 3] => {
                    assert!(self.send_packet(sequence, &[]));
                    sequence += 2;
                }
                Some(1) => {}
                _ => return Err(answer),
            }
        }
    }

    /// Logs in as root without a password, with more capabilities and what they add to the response; the OK, or an error.
    ///
    /// # Panics
    /// When the server says nothing.
    pub fn login_with(&mut self, capabilities: u32, tail: &[u8]) -> Vec<u8> {
        let greeting = self.packet().expect("greeting");
        assert!(self.send_packet(1, &response(&greeting, "root", "", capabilities, tail)));
        self.packet().expect("answer to the login")
    }

    /// Sends a command packet.
    pub fn command(&mut self, command: u8, body: &[u8]) -> bool {
        let mut bytes = vec![command];
        bytes.extend_from_slice(body);
        self.send_packet(0, &bytes)
    }

    /// Reads a result set that ends as older clients want it, and forgets it.
    ///
    /// # Panics
    /// There is none.
    pub fn skip_result(&mut self) {
        let mut ends = 0;
        while ends < 2 {
            let packet = self.packet().expect("a result");
            assert_ne!(packet[0], 0xff, "{}", String::from_utf8_lossy(&packet));
            ends += usize::from(packet[0] == 0xfe && packet.len() < 9);
        }
    }

    /// Number of the error packet that comes next.
    ///
    /// # Panics
    /// When something else comes.
    pub fn expect_error(&mut self) -> u16 {
        let packet = self.packet().expect("an error packet");
        assert_eq!(packet[0], 0xff, "no error: {packet:?}");
        u16::from_le_bytes([packet[1], packet[2]])
    }
}

/// The answer to a greeting; `capabilities` come on top of those that everybody has.
pub fn response(
    greeting: &[u8],
    user: &str,
    password: &str,
    capabilities: u32,
    tail: &[u8],
) -> Vec<u8> {
    // PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | LONG_PASSWORD | TRANSACTIONS
    let plain: u32 = 0x0200 | 0x8000 | 0x0008_0000 | 1 | 0x2000;
    let mut body = (plain | capabilities).to_le_bytes().to_vec();
    body.extend((16_u32 << 20).to_le_bytes());
    body.push(45);
    body.extend([0; 23]);
    let scrambled = scrambled(password, &nonce(greeting));
    body.extend(user.as_bytes());
    body.extend([0, scrambled.len() as u8]);
    body.extend(&scrambled);
    body.extend(b"caching_sha2_password\0");
    body.extend(tail);
    body
}

/// The plugin of ShardingSphere's proxy, as a request to change names it.
const NATIVE: &[u8] = b"mysql_native_password\0";

/// SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password))).
fn native(password: &str, nonce: &[u8]) -> Vec<u8> {
    let hash = |bytes: &[u8]| Sha1::digest(bytes).to_vec();
    let once = hash(password.as_bytes());
    let mask = hash(&[nonce, &hash(&once)].concat());
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// The twenty bytes that a greeting gives to scramble a password with.
fn nonce(greeting: &[u8]) -> Vec<u8> {
    let version = greeting.iter().position(|&b| b == 0).expect("the version ends");
    // Connection id; eight bytes; a zero, capabilities, collation, status, a length, ten zeros; the rest.
    let (first, second) = (version + 5, version + 5 + 8 + 19);
    let rest = greeting.get(second..second + 12).unwrap_or_default();
    [&greeting[first..first + 8], rest].concat()
}

/// What `caching_sha2_password` answers to a challenge:
/// SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce); nothing for no password.
pub fn scrambled(password: &str, nonce: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let hash = |bytes: &[u8]| Sha256::digest(bytes).to_vec();
    let once = hash(password.as_bytes());
    let mask = hash(&[&hash(&once), nonce].concat());
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}
