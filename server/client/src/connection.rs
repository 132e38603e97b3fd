//! A logged-in connection: packets over a stream, statements as text.

use crate::answer::{
    Done, ERROR, Failure, LOST, NOT_UNDERSTOOD, Rows, UNREACHABLE, cells_of, name_of,
};
use crate::dsn::Dsn;
use crate::login::{Login, Secrecy};
use crate::socket::Socket;
use std::io::{self, Read, Write};
use std::time::Duration;
use stdx::bytes::Reader;
use wire::{Inbox, Outbox, Packet, lenenc};

/// Largest answer packet that is taken.
pub(crate) const PACKET_BYTES_MAX: usize = 64 << 20;
/// How long a server may take to answer, unless the caller says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

const QUIT: u8 = 1;
const QUERY: u8 = 3;

/// The first byte of a packet that ends rows, an error, or an OK.
pub(crate) const OK: u8 = 0;
const EOF: u8 = 0xfe;
/// A packet that begins with 0xfe and is longer is a row.
const EOF_BYTES_MAX: usize = 9;

/// A logged-in session of a server.
#[derive(Debug)]
pub struct Client<S: Read + Write = Socket> {
    stream: S,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
    pub(crate) version: String,
}

impl Client {
    /// Connects and logs in, without a schema.
    ///
    /// # Errors
    /// 2002 when nobody listens, 2013 when the connection ends, the server's own when it refuses.
    pub fn connect(dsn: &Dsn) -> Result<Client, Failure> {
        let unreachable = |e: io::Error| Failure::own(UNREACHABLE, format!("{}: {e}", dsn.place()));
        let socket = Socket::connect(dsn).map_err(unreachable)?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(unreachable)?;
        let secrecy = match &socket {
            Socket::Unix(_) => Secrecy::Clear,
            Socket::Tcp(_) if dsn.takes_key || !socket.leaves_machine() => Secrecy::Sealed,
            Socket::Tcp(_) => Secrecy::Never,
        };
        Client::over(socket, &Login { user: &dsn.user, password: &dsn.password, secrecy })
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
        self.stream.peer_pid()
    }
}

impl<S: Read + Write> Client<S> {
    /// Logs in over a stream whose server speaks first.
    ///
    /// # Errors
    /// 2013 when the stream ends, the server's own when it refuses.
    pub fn over(stream: S, login: &Login<'_>) -> Result<Client<S>, Failure> {
        let mut client = Client::at(stream);
        client.log_in(login)?;
        Ok(client)
    }

    /// A client of a stream that needs no login: its server waits for a command.
    pub fn at(stream: S) -> Client<S> {
        let (inbox, outbox) = (Inbox::new(PACKET_BYTES_MAX), Outbox::new());
        Client { stream, inbox, outbox, version: String::new() }
    }

    /// What the server calls itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What it reads and writes.
    pub fn stream(&self) -> &S {
        &self.stream
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

    /// Answers a packet of a login.
    pub(crate) fn reply(
        &mut self,
        seq: u8,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Failure> {
        self.outbox.set_seq(seq);
        fill(self.outbox.begin());
        self.outbox.end();
        self.inbox.follow(seq.wrapping_add(1));
        self.flush()
    }
}

impl<S: Read + Write> Drop for Client<S> {
    fn drop(&mut self) {
        // A server that is gone needs no farewell.
        let _gone = self.command(QUIT, |_| ());
    }
}
