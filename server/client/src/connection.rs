//! A logged-in connection: packets over a socket, the login, statements as text.

use crate::answer::{Done, Failure, LOST, NOT_UNDERSTOOD, Rows, UNREACHABLE, cells_of, name_of};
use crate::dsn::Dsn;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use stdx::bytes::Reader;
use wire::{Capabilities, Inbox, Malformed, Outbox, Packet, auth, lenenc};

/// Largest answer packet that is taken.
const PACKET_BYTES_MAX: usize = 64 << 20;
/// utf8mb4.
const COLLATION: u8 = wire::constants::COLLATION_GENERAL_CI as u8;
const NATIVE: &str = "mysql_native_password";
/// How long a server may take to answer, unless the caller says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

const QUIT: u8 = 1;
const QUERY: u8 = 3;

/// The first byte of a packet that ends rows, an error, or an OK.
const OK: u8 = 0;
const EOF: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// A packet that begins with 0xfe and is longer is a row.
const EOF_BYTES_MAX: usize = 9;

#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn open(dsn: &Dsn) -> io::Result<Stream> {
        let stream = match (&dsn.socket, &dsn.host) {
            (Some(socket), _) => Stream::Unix(UnixStream::connect(socket)?),
            (None, Some((host, port))) => Stream::Tcp(TcpStream::connect((host.as_str(), *port))?),
            (None, None) => return Err(io::Error::other("no socket and no host is named")),
        };
        if let Stream::Tcp(stream) = &stream {
            stream.set_nodelay(true)?;
        }
        Ok(stream)
    }

    fn set_read_timeout(&self, longest: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_read_timeout(longest),
            Stream::Tcp(stream) => stream.set_read_timeout(longest),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(into),
            Stream::Tcp(stream) => stream.read(into),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Tcp(stream) => stream.write_all(bytes),
        }
    }
}

/// A logged-in session of a server.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
    version: String,
}

impl Client {
    /// Logs in, without a schema.
    ///
    /// # Errors
    /// 2002 when nobody listens, 2013 when the connection ends, the server's own when it refuses.
    pub fn connect(dsn: &Dsn) -> Result<Client, Failure> {
        let unreachable = |e: io::Error| Failure::own(UNREACHABLE, format!("{}: {e}", dsn.place()));
        let stream = Stream::open(dsn).map_err(unreachable)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(unreachable)?;
        let (inbox, outbox) = (Inbox::new(PACKET_BYTES_MAX), Outbox::new());
        let mut client = Client { stream, inbox, outbox, version: String::new() };
        client.login(dsn)?;
        Ok(client)
    }

    /// What the server calls itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Changes how long an answer may take; `None` is for ever.
    ///
    /// # Errors
    /// The system's; a time of zero.
    pub fn set_patience(&self, longest: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(longest)
    }

    /// The process at the other end of a Unix socket.
    pub fn server_pid(&self) -> Option<u32> {
        let Stream::Unix(stream) = &self.stream else { return None };
        let credentials = rustix::net::sockopt::socket_peercred(stream).ok()?;
        u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
    }

    /// Runs a statement and keeps its rows.
    ///
    /// # Errors
    /// The server's; 2013 when the connection ends.
    pub fn query(&mut self, sql: &str) -> Result<Rows, Failure> {
        let mut rows = Rows::default();
        self.send_query(sql)?;
        rows.done = self.result(
            |definition| {
                rows.names.push(name_of(definition)?);
                Ok(())
            },
            |row, columns| {
                rows.rows.push(cells_of(row, columns)?);
                Ok(())
            },
        )?;
        Ok(rows)
    }

    /// Runs a statement and counts its rows.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub fn run(&mut self, sql: &str) -> Result<Done, Failure> {
        self.send_query(sql)?;
        self.result(|_| Ok(()), |_, _| Ok(()))
    }

    /// The first cell of a statement's answer; empty where there is none.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub fn value(&mut self, sql: &str) -> Result<String, Failure> {
        Ok(self.query(sql)?.text(0, 0))
    }

    fn send_query(&mut self, sql: &str) -> Result<(), Failure> {
        self.command(QUERY, |body| body.extend_from_slice(sql.as_bytes()))
    }

    /// Sends a command; its answer is read next.
    pub(crate) fn command(
        &mut self,
        code: u8,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Failure> {
        self.outbox.set_seq(0);
        let body = self.outbox.begin();
        body.push(code);
        fill(body);
        self.outbox.end();
        self.inbox.follow(1);
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let sent = self.stream.write_all(self.outbox.bytes());
        self.outbox.clear();
        sent.map_err(|e| Failure::own(LOST, format!("the connection ended: {e}")))
    }

    /// The next packet.
    pub(crate) fn packet(&mut self) -> Result<Packet, Failure> {
        loop {
            let wrong = |_| Failure::own(NOT_UNDERSTOOD, "packets out of order, or too large");
            if let Some(packet) = self.inbox.next_packet().map_err(wrong)? {
                return Ok(packet);
            }
            match self.stream.read(self.inbox.space()) {
                Ok(0) => return Err(Failure::own(LOST, "the connection ended")),
                Ok(n) => self.inbox.filled(n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Failure::own(LOST, format!("no answer: {e}"))),
            }
        }
    }

    /// Reads an answer: an OK, an error, or definitions and rows, each given to its function.
    pub(crate) fn result(
        &mut self,
        mut definition: impl FnMut(&[u8]) -> Result<(), Failure>,
        mut row: impl FnMut(&[u8], usize) -> Result<(), Failure>,
    ) -> Result<Done, Failure> {
        let first = self.packet()?;
        let first = self.inbox.payload(first);
        let columns = match first.first() {
            Some(&OK) => return Done::of(first),
            Some(&ERROR) | None => return Err(Failure::of(first)),
            _ => lenenc::int(&mut Reader::new(first))? as usize,
        };
        for _ in 0..columns {
            let packet = self.packet()?;
            definition(self.inbox.payload(packet))?;
        }
        self.packet()?;
        let mut rows = 0;
        loop {
            let packet = self.packet()?;
            let packet = self.inbox.payload(packet);
            match packet {
                [ERROR, ..] => return Err(Failure::of(packet)),
                [EOF, low, high, ..] if packet.len() < EOF_BYTES_MAX => {
                    return Ok(Done { rows, warnings: u16::from_le_bytes([*low, *high]) });
                }
                _ => row(packet, columns)?,
            }
            rows += 1;
        }
    }

    fn login(&mut self, dsn: &Dsn) -> Result<(), Failure> {
        let packet = self.packet()?;
        let greeting = self.inbox.payload(packet);
        if greeting.first() == Some(&ERROR) {
            return Err(Failure::of(greeting));
        }
        let (version, scramble) = greeting_of(greeting)?;
        self.version = version;
        let password = dsn.password.as_bytes();
        self.reply(1, |body| respond(body, dsn, &auth::answer_fast(password, &scramble)))?;
        loop {
            let packet = self.packet()?;
            let answer = self.inbox.payload(packet);
            let seq = packet.seq.wrapping_add(1);
            match answer {
                [OK, ..] => return Ok(()),
                // Another plugin than ours, and what it scrambles with.
                [EOF, rest @ ..] => {
                    let mut reader = Reader::new(rest);
                    let plugin = lenenc::zero_terminated(&mut reader)?;
                    let scramble = scramble_of(reader.rest())?;
                    let answer = match plugin == NATIVE.as_bytes() {
                        true => auth::answer_native(password, &scramble),
                        false => auth::answer_fast(password, &scramble),
                    };
                    self.reply(seq, |body| body.extend_from_slice(&answer))?;
                }
                // The server does not remember the password and asks for itself.
                [1, 4] if dsn.socket.is_some() => {
                    self.reply(seq, |body| body.extend_from_slice(&[password, &[0]].concat()))?;
                }
                [1, 4] => {
                    let why = "the password would go in clear text over TCP: log in by a stock client first, or use the socket";
                    return Err(Failure::own(NOT_UNDERSTOOD, why));
                }
                [1, ..] => {}
                _ => return Err(Failure::of(answer)),
            }
        }
    }

    fn reply(&mut self, seq: u8, fill: impl FnOnce(&mut Vec<u8>)) -> Result<(), Failure> {
        self.outbox.set_seq(seq);
        fill(self.outbox.begin());
        self.outbox.end();
        self.inbox.follow(seq.wrapping_add(1));
        self.flush()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A server that is gone needs no farewell.
        let _gone = self.command(QUIT, |_| ());
    }
}

/// Version and scramble of a greeting.
fn greeting_of(packet: &[u8]) -> Result<(String, [u8; 20]), Failure> {
    let cut = |_| Failure::from(Malformed("greeting"));
    let mut reader = Reader::new(packet);
    reader.u8().map_err(cut)?;
    let version = String::from_utf8_lossy(lenenc::zero_terminated(&mut reader)?).into_owned();
    // Connection id; eight bytes; a zero, capabilities, collation, status, a length, ten zeros; the rest.
    reader.take(4).map_err(cut)?;
    let first = reader.take(8).map_err(cut)?;
    reader.take(1 + 2 + 1 + 2 + 2 + 1 + 10).map_err(cut)?;
    let second = reader.take(12).map_err(cut)?;
    Ok((version, scramble_of(&[first, second].concat())?))
}

fn scramble_of(bytes: &[u8]) -> Result<[u8; 20], Failure> {
    bytes.first_chunk().copied().ok_or_else(|| Malformed("scramble").into())
}

/// The response to a greeting.
fn respond(body: &mut Vec<u8>, dsn: &Dsn, answer: &[u8]) {
    let capabilities = Capabilities::LONG_PASSWORD
        | Capabilities::PROTOCOL_41
        | Capabilities::TRANSACTIONS
        | Capabilities::SECURE_CONNECTION
        | Capabilities::PLUGIN_AUTH;
    body.extend(capabilities.0.to_le_bytes());
    body.extend((PACKET_BYTES_MAX as u32).to_le_bytes());
    body.push(COLLATION);
    body.extend([0; 23]);
    body.extend(dsn.user.as_bytes());
    body.extend([0, answer.len() as u8]);
    body.extend(answer);
    body.extend(auth::Plugin::CachingSha2.name().as_bytes());
    body.push(0);
}
