//! A client for programs: statements as text, rows as bytes, errors by number.
//!
//! It speaks to any MySQL-compatible server over its socket, so a test can put the same statement to two servers.

use crate::Peer;
use crate::raw::{Breaker, RawClient};

const QUERY: u8 = 3;

/// Why a statement failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// MySQL's error number.
    pub number: u16,
    /// SQLSTATE.
    pub state: String,
    /// The message.
    pub text: String,
}

/// What a statement answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// Column names; empty for a statement without a result set.
    pub names: Vec<String>,
    /// Type byte of each column, as in the protocol.
    pub types: Vec<u8>,
    /// What else the protocol says of each column.
    pub columns: Vec<ColumnFacts>,
    /// The rows; `None` is NULL.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    /// Rows changed by a statement without a result set.
    pub affected: u64,
    /// Warnings counted.
    pub warnings: u16,
}

/// What the protocol says of a result column beside its name and type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnFacts {
    /// Collation number: 63 is binary.
    pub collation: u16,
    /// Longest value in bytes, as announced.
    pub length: u32,
    /// NOT NULL, key and kind flags.
    pub flags: u16,
    /// Digits behind the point; 31 when not fixed.
    pub decimals: u8,
}

/// A logged-in session.
#[derive(Debug)]
pub struct TextClient {
    raw: RawClient,
}

impl TextClient {
    /// Logs in over a socket: at a path alone as root without a password.
    ///
    /// # Panics
    /// When nobody listens or the server refuses.
    pub fn connect(server: impl Into<Peer>) -> TextClient {
        let peer = server.into();
        let mut raw = RawClient::connect_to(&peer.socket);
        raw.login_as(&peer.user, &peer.password);
        TextClient { raw }
    }

    /// As [`TextClient::connect`], of an account that may be refused by a server that may not be there.
    ///
    /// # Errors
    /// The server's; 2002 when nobody listens, 2013 when the connection ends before there is an answer.
    pub fn try_connect(server: impl Into<Peer>) -> Result<TextClient, Failure> {
        let peer = server.into();
        let nobody = || lost(2002, "nobody listens");
        let mut raw = RawClient::reach(&peer.socket).ok_or_else(nobody)?;
        raw.try_login(&peer.user, &peer.password).map_err(|packet| failure(&packet))?;
        Ok(TextClient { raw })
    }

    /// As [`TextClient::connect`], for statements that may wait for others: no answer is too late.
    /// The breaker ends the connection while a statement waits.
    ///
    /// # Panics
    /// When nobody listens or the server refuses.
    pub fn connect_patient(server: impl Into<Peer>) -> (TextClient, Breaker) {
        let client = TextClient::connect(server);
        client.raw.set_patience(None);
        let breaker = client.raw.breaker();
        (client, breaker)
    }

    /// Changes how long an answer may take; `None` is for ever.
    ///
    /// # Panics
    /// When the time is zero.
    pub fn set_patience(&self, longest: Option<std::time::Duration>) {
        self.raw.set_patience(longest);
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// The server's error.
    ///
    /// # Panics
    /// When the connection breaks, as a dead server's does.
    pub fn query(&mut self, sql: &str) -> Result<Rows, Failure> {
        self.attempt(sql).unwrap_or_else(|| panic!("connection lost in: {sql}"))
    }

    /// Runs a statement: the number of its error, 0 where it went well.
    ///
    /// # Panics
    /// As [`TextClient::query`].
    pub fn code(&mut self, sql: &str) -> u16 {
        self.query(sql).map_or_else(|failure| failure.number, |_| 0)
    }

    /// As [`TextClient::query`]; `None` when the connection breaks.
    pub fn attempt(&mut self, sql: &str) -> Option<Result<Rows, Failure>> {
        if !self.raw.command(QUERY, sql.as_bytes()) {
            return None;
        }
        let first = self.packet()?;
        match first[0] {
            0 => Some(Ok(done(&first))),
            0xff => Some(Err(failure(&first))),
            _ => self.result_set(&first),
        }
    }

    fn packet(&mut self) -> Option<Vec<u8>> {
        self.raw.packet().filter(|p| !p.is_empty())
    }

    fn result_set(&mut self, first: &[u8]) -> Option<Result<Rows, Failure>> {
        let mut answer = Rows::default();
        for _ in 0..Reader(first).number() {
            let packet = self.packet()?;
            let mut reader = Reader(&packet);
            let texts: Vec<_> = (0..6).map(|_| reader.bytes().unwrap_or_default()).collect();
            answer.names.push(String::from_utf8_lossy(texts[4]).into_owned());
            // A length byte, character set, length; then the type, flags, decimals.
            let fixed = reader.0;
            answer.types.push(fixed[7]);
            answer.columns.push(ColumnFacts {
                collation: u16::from_le_bytes([fixed[1], fixed[2]]),
                length: u32::from_le_bytes([fixed[3], fixed[4], fixed[5], fixed[6]]),
                flags: u16::from_le_bytes([fixed[8], fixed[9]]),
                decimals: fixed[10],
            });
        }
        self.packet()?;
        loop {
            let packet = self.packet()?;
            match packet[0] {
                0xff => return Some(Err(failure(&packet))),
                0xfe if packet.len() < 9 => {
                    answer.warnings = u16::from_le_bytes([packet[1], packet[2]]);
                    return Some(Ok(answer));
                }
                _ => {
                    let mut reader = Reader(&packet);
                    let row = answer.names.iter().map(|_| reader.bytes().map(<[u8]>::to_vec));
                    answer.rows.push(row.collect());
                }
            }
        }
    }
}

fn done(packet: &[u8]) -> Rows {
    let mut reader = Reader(&packet[1..]);
    let affected = reader.number();
    reader.number();
    let warnings = u16::from_le_bytes([reader.0[2], reader.0[3]]);
    Rows { affected, warnings, ..Rows::default() }
}

/// What a client says of itself.
fn lost(number: u16, text: &str) -> Failure {
    Failure { number, state: "HY000".into(), text: text.into() }
}

fn failure(packet: &[u8]) -> Failure {
    if packet.len() < 9 {
        return lost(2013, "the connection ended");
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Failure {
        number: u16::from_le_bytes([packet[1], packet[2]]),
        state: text(&packet[4..9]),
        text: text(&packet[9..]),
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    /// A length-encoded number; NULL's mark reads as 251.
    fn number(&mut self) -> u64 {
        let wide = match self.take(1)[0] {
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            small => return u64::from(small),
        };
        let mut bytes = [0; 8];
        bytes[..wide].copy_from_slice(self.take(wide));
        u64::from_le_bytes(bytes)
    }

    /// A length-encoded string; `None` is NULL.
    fn bytes(&mut self) -> Option<&'a [u8]> {
        if self.0[0] == 0xfb {
            self.take(1);
            return None;
        }
        let count = self.number() as usize;
        Some(self.take(count))
    }
}
