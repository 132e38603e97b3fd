//! A client of MySQL's protocol that logs in and asks statements: no more than the rules need.
//!
//! 1. It speaks without TLS. Over the network a password goes sealed with the server's key; where that key would have to be
//! taken from another machine, who runs the doctor says so first. 2. No packet of the server's is believed before it is read whole, and
//! none may be longer than [`PACKET_BYTES_MAX`].

use crate::text::shown;
use crate::{Query, QueryError, Row};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use stdx::bytes::Reader;
use wire::auth::{FAST_OK, FULL_NEEDED, KEY_REQUEST, Plugin, answer_fast, answer_native};
use wire::handshake::Scramble;
use wire::{Capabilities, lenenc};

/// Longest packet that is read.
const PACKET_BYTES_MAX: usize = (1 << 24) - 2;
/// Longest time that an answer may take.
const ANSWER_WAIT: Duration = Duration::from_secs(60);
/// utf8mb4_general_ci, which every server knows.
const COLLATION: u8 = 45;
const ERROR: u8 = 0xFF;
const SWITCH: u8 = 0xFE;
const MORE: u8 = 0x01;
const COM_QUERY: u8 = 0x03;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A Unix socket.
    Socket(PathBuf),
    /// Host and port.
    Tcp(String, u16),
}

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

/// A connection.
pub struct Client {
    stream: Box<dyn Stream>,
    /// What is sent is seen by nobody.
    is_private: bool,
    is_own_machine: bool,
    sequence: u8,
}

fn lost(what: &str, error: &dyn std::fmt::Display) -> QueryError {
    QueryError::Lost(format!("{what}: {error}"))
}

fn malformed<T>(part: &str) -> Result<T, QueryError> {
    Err(QueryError::Lost(format!("the server does not speak MySQL's protocol: {part}")))
}

fn read_of<T, E>(result: Result<T, E>, part: &str) -> Result<T, QueryError> {
    result.or_else(|_| malformed(part))
}

impl Client {
    /// Connects; it is nobody yet.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn connect(target: &Target, wait_s: u64) -> Result<Client, QueryError> {
        let wait = Duration::from_secs(wait_s);
        match target {
            Target::Socket(path) => {
                let stream = UnixStream::connect(path).and_then(|stream| {
                    stream.set_read_timeout(Some(ANSWER_WAIT))?;
                    Ok(stream)
                });
                let stream = stream.map_err(|e| lost(&path.display().to_string(), &e))?;
                Ok(Client::over(Box::new(stream), true, true))
            }
            Target::Tcp(host, port) => {
                let stream = tcp(host, *port, wait);
                let (stream, is_own) = stream.map_err(|e| lost(&format!("{host}:{port}"), &e))?;
                Ok(Client::over(Box::new(stream), false, is_own))
            }
        }
    }

    fn over(stream: Box<dyn Stream>, is_private: bool, is_own_machine: bool) -> Client {
        Client { stream, is_private, is_own_machine, sequence: 0 }
    }

    /// Becomes a user; `takes_key`: the key for the password may come from another machine.
    ///
    /// # Errors
    /// The server refuses, or asks for what this client does not do.
    pub fn log_in(
        &mut self,
        user: &str,
        password: &str,
        takes_key: bool,
    ) -> Result<(), QueryError> {
        let greeting = self.packet()?;
        let (mut scramble, plugin) = greeted(&greeting)?;
        let mut plugin = plugin.unwrap_or(Plugin::CachingSha2);
        self.send(&response(user, &proof(plugin, password, &scramble), plugin))?;
        loop {
            let packet = self.packet()?;
            match (packet.first(), packet.get(1)) {
                (Some(0), _) => return Ok(()),
                (Some(&SWITCH), _) => {
                    (plugin, scramble) = switched(&packet)?;
                    self.send(&proof(plugin, password, &scramble))?;
                }
                (Some(&MORE), Some(&FAST_OK)) => {}
                (Some(&MORE), Some(&FULL_NEEDED)) => {
                    let clear = [password.as_bytes(), &[0]].concat();
                    let sent = match self.is_private {
                        true => clear,
                        false => self.sealed(&clear, &scramble, takes_key)?,
                    };
                    self.send(&sent)?;
                }
                _ => return malformed("the answer to a login"),
            }
        }
    }

    /// A password for whoever has the server's private key.
    fn sealed(
        &mut self,
        clear: &[u8],
        scramble: &Scramble,
        may: bool,
    ) -> Result<Vec<u8>, QueryError> {
        if !may && !self.is_own_machine {
            let why = "the server asks for the password without TLS: --get-server-public-key seals it with the key that \
                       the other machine sends";
            return Err(QueryError::Lost(why.into()));
        }
        self.send(&[KEY_REQUEST])?;
        let packet = self.packet()?;
        let pem = String::from_utf8_lossy(packet.get(1..).unwrap_or_default()).into_owned();
        let masked: Vec<u8> =
            clear.iter().zip(scramble.iter().cycle()).map(|(a, b)| a ^ b).collect();
        tls::sealed(&pem, &masked).map_or_else(|| malformed("the server's key"), Ok)
    }

    fn send(&mut self, body: &[u8]) -> Result<(), QueryError> {
        let length = (body.len() as u32).to_le_bytes();
        let head = [length[0], length[1], length[2], self.sequence];
        self.sequence = self.sequence.wrapping_add(1);
        let sent = self.stream.write_all(&[&head, body].concat());
        sent.map_err(|e| lost("the connection broke", &e))
    }

    /// The next packet; an error packet is an error.
    fn packet(&mut self) -> Result<Vec<u8>, QueryError> {
        let mut head = [0; 4];
        let broke = |e: io::Error| lost("the connection broke", &e);
        self.stream.read_exact(&mut head).map_err(broke)?;
        self.sequence = head[3].wrapping_add(1);
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        if length > PACKET_BYTES_MAX {
            return malformed("a packet that is too long");
        }
        let mut body = Vec::new();
        let stream = Read::by_ref(&mut self.stream);
        let read = stream.take(length as u64).read_to_end(&mut body).map_err(broke)?;
        if read < length {
            return Err(QueryError::Lost("the connection ended".into()));
        }
        match body.first() {
            Some(&ERROR) => Err(refused(&body)),
            _ => Ok(body),
        }
    }
}

impl Query for Client {
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, QueryError> {
        self.sequence = 0;
        self.send(&[&[COM_QUERY], sql.as_bytes()].concat())?;
        let first = self.packet()?;
        let columns = read_of(lenenc::int(&mut Reader::new(&first)), "the number of columns")?;
        for _ in 0..columns {
            self.packet()?;
        }
        let is_end = |packet: &[u8]| packet.first() == Some(&SWITCH) && packet.len() < 9;
        let mut rows = Vec::new();
        if columns == 0 {
            return Ok(rows);
        }
        if !is_end(&self.packet()?) {
            return malformed("the end of the columns");
        }
        loop {
            let packet = self.packet()?;
            if is_end(&packet) {
                return Ok(rows);
            }
            rows.push(row(&packet)?);
        }
    }
}

fn tcp(host: &str, port: u16, wait: Duration) -> io::Result<(TcpStream, bool)> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, wait) {
            Ok(stream) => {
                stream.set_read_timeout(Some(ANSWER_WAIT))?;
                return Ok((stream, address.ip().is_loopback()));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Number and text of an error packet; before the login it has no SQLSTATE.
fn refused(packet: &[u8]) -> QueryError {
    let number = packet.get(1..3).map_or(0, |n| u16::from_le_bytes([n[0], n[1]]));
    let text = packet.get(3..).unwrap_or_default();
    let text = if text.first() == Some(&b'#') { text.get(6..).unwrap_or_default() } else { text };
    QueryError::Refused(number, shown(text))
}

/// Challenge and plugin of a greeting.
fn greeted(greeting: &[u8]) -> Result<(Scramble, Option<Plugin>), QueryError> {
    let mut r = Reader::new(greeting);
    let part = "the greeting";
    if read_of(r.u8(), part)? != 10 {
        return malformed(part);
    }
    read_of(lenenc::zero_terminated(&mut r), part)?;
    read_of(r.take(4), part)?;
    let mut scramble = Scramble::default();
    let (first, second) = scramble.split_at_mut(8);
    first.copy_from_slice(read_of(r.take(8), part)?);
    // A zero, capabilities, collation, status, capabilities, a length, ten zeros.
    read_of(r.take(1 + 2 + 1 + 2 + 2 + 1 + 10), part)?;
    second.copy_from_slice(read_of(r.take(12), part)?);
    let rest = r.rest();
    let name = rest.strip_prefix(&[0]).unwrap_or(rest);
    let name = name.split(|b| *b == 0).next().unwrap_or_default();
    Ok((scramble, Plugin::from_name(&String::from_utf8_lossy(name))))
}

/// Plugin and challenge of a request to prove oneself otherwise.
fn switched(packet: &[u8]) -> Result<(Plugin, Scramble), QueryError> {
    let mut r = Reader::new(packet.get(1..).unwrap_or_default());
    let name = read_of(lenenc::zero_terminated(&mut r), "another plugin")?;
    let Some(plugin) = Plugin::from_name(&String::from_utf8_lossy(name)) else {
        let why =
            format!("the account proves itself by {}, which the doctor does not", shown(name));
        return Err(QueryError::Lost(why));
    };
    let mut scramble = Scramble::default();
    let given = r.rest();
    let n = scramble.len().min(given.len());
    scramble[..n].copy_from_slice(&given[..n]);
    Ok((plugin, scramble))
}

fn proof(plugin: Plugin, password: &str, scramble: &Scramble) -> Vec<u8> {
    match plugin {
        Plugin::CachingSha2 => answer_fast(password.as_bytes(), scramble),
        Plugin::Native => answer_native(password.as_bytes(), scramble),
        Plugin::Socket => Vec::new(),
    }
}

fn response(user: &str, proof: &[u8], plugin: Plugin) -> Vec<u8> {
    let flags = [
        Capabilities::LONG_PASSWORD,
        Capabilities::PROTOCOL_41,
        Capabilities::TRANSACTIONS,
        Capabilities::SECURE_CONNECTION,
        Capabilities::PLUGIN_AUTH,
    ];
    let capabilities = flags.into_iter().fold(Capabilities::EMPTY, Capabilities::with);
    let mut body = capabilities.0.to_le_bytes().to_vec();
    body.extend((PACKET_BYTES_MAX as u32).to_le_bytes());
    body.push(COLLATION);
    body.extend([0; 23]);
    body.extend(user.as_bytes());
    body.extend([0, proof.len() as u8]);
    body.extend(proof);
    body.extend(plugin.name().as_bytes());
    body.push(0);
    body
}

fn row(packet: &[u8]) -> Result<Row, QueryError> {
    const NULL: u8 = 0xFB;
    let mut r = Reader::new(packet);
    let mut row = Vec::new();
    while !r.is_empty() {
        let mut ahead = r;
        if ahead.u8() == Ok(NULL) {
            r = ahead;
            row.push(None);
        } else {
            row.push(Some(read_of(lenenc::bytes(&mut r), "a row")?.to_vec()));
        }
    }
    Ok(row)
}
