//! Sessions that the server has with itself: what it shows on its own pages comes by SQL, as any reader's.
//!
//! 1. Packets go in and come out as a client's do, so statements are run, counted and ended as a client's are. 2. A login is
//! a login: everything that refuses a client of MySQL's protocol refuses this one. 3. The session of the server's own is
//! counted among those of administrators, never against `max_connections`; its thread is not instrumented, so what it
//! reads does not hold its own reading.

use crate::login::Peer;
use crate::net::{Net, NoClient};
use crate::server::Server;
use crate::session::{Next, Session};
use access::Account;
use catalog::Catalog;
use std::net::SocketAddr;
use std::sync::Arc;
use stdx::bytes::Reader;
use wire::auth::{self, Plugin};
use wire::constants::Capabilities;
use wire::{Malformed, lenenc};

const OK: u8 = 0x00;
const MORE_DATA: u8 = 0x01;
const SWITCH: u8 = 0xFE;
const EOF: u8 = 0xFE;
const ERROR: u8 = 0xFF;
const QUERY: u8 = 0x03;

/// The rows of a result; a cell that is NULL has no bytes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Table {
    /// In order.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

/// Whether somebody comes in as root without being asked for anything.
pub fn root_is_open(catalog: &Catalog) -> bool {
    let asks = |account: &Account| Plugin::from_name(&account.plugin) == Some(Plugin::Socket);
    let accounts = catalog.accounts();
    accounts.all().iter().any(|a| a.name.user == "root" && a.secret.is_empty() && !asks(a))
}

impl Server {
    /// Whether nobody has to say who he is: root has no password, or the grant tables are skipped.
    pub fn asks_nobody(&self) -> bool {
        self.skips_grants() || root_is_open(&self.catalog)
    }
}

/// A session without a socket.
pub struct Inside {
    session: Session,
    /// What came out and was not looked at yet.
    came: Collected,
}

/// Takes what a statement sends before its end.
#[derive(Default)]
struct Collected(Vec<u8>);

impl Net for Collected {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

impl Inside {
    /// A session of the server's own under a name of its own, as who may do everything. It is in no log of statements.
    ///
    /// # Errors
    /// There is no room for a session.
    pub fn unlimited(server: &Arc<Server>, name: &str) -> Result<Inside, String> {
        let session = Session::at(server, Peer::Socket(None), Arc::new(NoClient), true);
        let mut session = session.map_err(|_| "there is no room for a session".to_string())?;
        session.sent();
        session.runs_here();
        session.is_the_server_s(name);
        let mut inside = Inside { session, came: Collected::default() };
        // What reads a second by a second would fill the logs.
        inside.rows("SET SESSION sql_log_off = ON, long_query_time = 31536000")?;
        Ok(inside)
    }

    /// Logs in as a client from this address would that names this user and knows this password.
    ///
    /// # Errors
    /// What the client would be told.
    pub fn log_in(
        server: &Arc<Server>,
        from: SocketAddr,
        user: &str,
        password: &str,
    ) -> Result<Inside, String> {
        if user.contains('\0') || password.contains('\0') {
            return Err("a name and a password have no zero byte".into());
        }
        let session = Session::new(server, Peer::Tcp(from), Arc::new(NoClient));
        let mut session =
            session.map_err(|refused| error_text(refused.0.get(4..).unwrap_or(&[])))?;
        session.sent();
        session.runs_here();
        let mut inside = Inside { session, came: Collected::default() };
        inside.send(1, &response(user));
        loop {
            let (sequence, packet) = inside.packet()?;
            match packet.split_first() {
                Some((&OK, _)) => return Ok(inside),
                Some((&SWITCH, rest)) => {
                    let answer = answer(rest, password).map_err(|e| e.to_string())?;
                    inside.send(sequence + 1, &answer);
                }
                Some((&MORE_DATA, [auth::FULL_NEEDED])) => {
                    let clear = [password.as_bytes(), &[0]].concat();
                    inside.send(sequence + 1, &clear);
                }
                Some((&MORE_DATA, _)) => {}
                _ => return Err(error_text(&packet)),
            }
        }
    }

    /// Whether it may see what everybody does: PROCESS, and SELECT on `performance_schema`.
    pub fn may_watch(&self) -> bool {
        self.session.may_watch()
    }

    /// Runs a statement and takes all its rows.
    ///
    /// # Errors
    /// The statement's, as text.
    pub fn rows(&mut self, statement: &str) -> Result<Table, String> {
        let packet = [&[QUERY], statement.as_bytes()].concat();
        self.came.0.clear();
        self.send(0, &packet);
        let bytes = std::mem::take(&mut self.came.0);
        let table = table(&bytes);
        // The buffer serves the next statement, too.
        self.came.0 = bytes;
        table.unwrap_or_else(|cut| Err(format!("a cut answer: {cut}")))
    }

    /// Hands a packet to the session, and takes what comes out.
    fn send(&mut self, sequence: u8, body: &[u8]) {
        let length = (body.len() as u32).to_le_bytes();
        let head = [length[0], length[1], length[2], sequence];
        for mut part in [&head[..], body] {
            while !part.is_empty() {
                let space = self.session.space();
                let n = part.len().min(space.len());
                space[..n].copy_from_slice(&part[..n]);
                self.session.received(n);
                part = &part[n..];
                let next = self.session.step(&mut self.came);
                self.came.0.extend_from_slice(self.session.outgoing());
                self.session.sent();
                if next != Next::Continue {
                    return;
                }
            }
        }
    }

    /// The next packet of a login, with its number.
    fn packet(&mut self) -> Result<(u8, Vec<u8>), String> {
        let mut reader = Reader::new(&self.came.0);
        let packet = packet(&mut reader).map_err(|_| "the session ended".to_string())?;
        let (sequence, body) = (packet.0, packet.1.to_vec());
        self.came.0 = reader.rest().to_vec();
        Ok((sequence, body))
    }
}

/// A handshake response that names a user and a method which no account has: the server then names the account's.
fn response(user: &str) -> Vec<u8> {
    let can = Capabilities::PROTOCOL_41
        .with(Capabilities::SECURE_CONNECTION)
        .with(Capabilities::PLUGIN_AUTH);
    let mut bytes = can.0.to_le_bytes()[..4].to_vec();
    bytes.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    bytes.push(wire::constants::COLLATION_0900_AI_CI as u8);
    bytes.extend_from_slice(&[0; 23]);
    bytes.extend_from_slice(user.as_bytes());
    // The end of the name, no answer yet, the method.
    bytes.extend_from_slice(b"\0\0none\0");
    bytes
}

/// What proves to the method that the server named that the client knows the password.
fn answer(switch: &[u8], password: &str) -> Result<Vec<u8>, Malformed> {
    let mut reader = Reader::new(switch);
    let plugin = lenenc::zero_terminated(&mut reader)?;
    let scramble = reader.rest().get(..wire::handshake::SCRAMBLE_BYTES);
    let scramble = scramble.and_then(|bytes| bytes.try_into().ok()).ok_or(Malformed("scramble"))?;
    let native = Plugin::from_name(&String::from_utf8_lossy(plugin)) == Some(Plugin::Native);
    let make = if native { auth::answer_native } else { auth::answer_fast };
    Ok(make(password.as_bytes(), scramble))
}

/// Number and text of an error packet.
fn error_text(packet: &[u8]) -> String {
    match packet {
        [ERROR, low, high, b'#', _, _, _, _, _, text @ ..] | [ERROR, low, high, text @ ..] => {
            let number = u16::from_le_bytes([*low, *high]);
            format!("error {number}: {}", String::from_utf8_lossy(text))
        }
        _ => "the session ended".into(),
    }
}

/// The next packet, joined where it was cut: the number of its last part, and its body.
fn packet<'a>(reader: &mut Reader<'a>) -> Result<(u8, std::borrow::Cow<'a, [u8]>), Malformed> {
    const CUT: Malformed = Malformed("packet");
    const PART_BYTES_MAX: usize = 0xFF_FFFF;
    let mut joined = std::borrow::Cow::Borrowed(&[][..]);
    loop {
        let length = reader.u24_le().map_err(|_| CUT)? as usize;
        let sequence = reader.u8().map_err(|_| CUT)?;
        let part = reader.take(length).map_err(|_| CUT)?;
        match joined.is_empty() {
            true => joined = part.into(),
            false => joined.to_mut().extend_from_slice(part),
        }
        if length < PART_BYTES_MAX {
            return Ok((sequence, joined));
        }
    }
}

/// The first result in an answer: its rows, or the error in its place.
fn table(answer: &[u8]) -> Result<Result<Table, String>, Malformed> {
    let mut reader = Reader::new(answer);
    let head = packet(&mut reader)?.1;
    match head.first() {
        Some(&OK) => return Ok(Ok(Table::default())),
        Some(&ERROR) => return Ok(Err(error_text(&head))),
        _ => {}
    }
    let columns = lenenc::int(&mut Reader::new(&head))?;
    // Definitions, and the packet behind them.
    for _ in 0..=columns {
        packet(&mut reader)?;
    }
    let mut table = Table::default();
    loop {
        let row = packet(&mut reader)?.1;
        match row.first() {
            Some(&EOF) if row.len() < 9 => return Ok(Ok(table)),
            Some(&ERROR) => return Ok(Err(error_text(&row))),
            _ => {}
        }
        let mut cells = Reader::new(&row);
        let all = (0..columns).map(|_| cell(&mut cells));
        table.rows.push(all.collect::<Result<_, _>>()?);
    }
}

fn cell(reader: &mut Reader<'_>) -> Result<Option<Vec<u8>>, Malformed> {
    let mut ahead = *reader;
    if ahead.u8() == Ok(lenenc::NULL) {
        *reader = ahead;
        return Ok(None);
    }
    lenenc::bytes(reader).map(|bytes| Some(bytes.to_vec()))
}

impl Table {
    /// A cell as text; broken UTF-8 is replaced, NULL and what is not there is empty.
    pub fn text(&self, row: usize, column: usize) -> String {
        let cell = self.rows.get(row).and_then(|row| row.get(column));
        let bytes = cell.and_then(|cell| cell.as_deref()).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// A cell as a number; 0 where it is none.
    pub fn number(&self, row: usize, column: usize) -> f64 {
        self.text(row, column).parse().unwrap_or(0.0)
    }
}
