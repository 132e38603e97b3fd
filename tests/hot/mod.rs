//! A server inside the test's process, driven with packets: no sockets, no threads of its own.
//!
//! 1. A statement runs exactly as the daemon runs it, from the bytes that `recv` would have brought
//!    to the bytes that `send` would take away.
//! 2. [`Conn::select_prepared`] and [`Conn::select_text`] themselves neither allocate nor write
//!    anything but the stack, so that what a test measures around them is the server's.

#![allow(dead_code)] // Each test uses its part.

use catalog::Catalog;
use engine::{Engine, EngineConfig};
use session::variables::Globals;
use session::{Host, Net, Next, Peer, Server, Session, Severity, Wake};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of the table.
pub const ROWS: u32 = 5_000;
/// Bytes of column `c`, as sysbench fills it.
pub const C_BYTES: usize = 119;

const COM_QUERY: u8 = 3;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
/// PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | LONG_PASSWORD | TRANSACTIONS | CONNECT_WITH_DB.
const CAPABILITIES: u32 = 0x0200 | 0x8000 | 0x0008_0000 | 1 | 0x2000 | 8;

/// The process around the sessions: there is none.
struct Nobody;

impl Host for Nobody {
    fn shutdown(&self, _by: &str) {}
    fn log(&self, _severity: Severity, text: &str) {
        println!("server log: {text}");
    }
}

impl Wake for Nobody {
    fn wake(&self) {}
    fn cut(&self) {}
}

/// No reply of these tests is larger than the send buffer.
struct NoWay;

impl Net for NoWay {
    fn send(&mut self, _bytes: &[u8]) -> std::io::Result<()> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
}

/// A server over files in a folder that is removed at the end.
pub struct Rig {
    server: Arc<Server>,
    engine: Arc<Engine>,
    /// The connection that filled the table. It stays, so that the next one's slot and process-list
    /// line are its own from the start.
    loader: Option<Conn>,
    _folder: testkit::TempDir,
}

impl Rig {
    /// A server with a filled table `sbtest.sbtest1`; every page of it is in memory.
    pub fn new() -> Rig {
        let folder = testkit::TempDir::new();
        let disk = host::RealDisk::open(folder.path()).unwrap();
        let config = EngineConfig {
            pool_bytes: 32 << 20,
            log_ring_bytes: 4 << 20,
            sessions_max: 16,
            workers_max: 32,
            trx_states: 1 << 14,
            system_tables: catalog::system_tables(),
            ..EngineConfig::default()
        };
        let (engine, _) = Engine::open(config, disk).unwrap();
        let mdl = mdl::Mdl::with_graph(Arc::clone(engine.slots()), Arc::clone(engine.waits()));
        let catalog = Catalog::open(Arc::clone(&engine), Arc::new(mdl)).unwrap();
        let globals = Globals::new(&[], BTreeMap::new(), None);
        let server = Server::new(catalog, globals, Arc::new(Nobody));
        let mut rig = Rig { server, engine, loader: None, _folder: folder };
        rig.loader = Some(rig.load());
        rig
    }

    /// A logged-in connection.
    pub fn connect(&self, schema: &str) -> Conn {
        Conn::login(&self.server, schema)
    }

    /// The server, for connections made on other threads.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// The engine, for what a test wants to know of it.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// What sysbench prepares, smaller.
    fn load(&self) -> Conn {
        let mut conn = self.connect("");
        conn.ok("CREATE DATABASE sbtest");
        conn.ok("USE sbtest");
        conn.ok(
            "CREATE TABLE sbtest1(id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) \
             ENGINE = innodb",
        );
        const BATCH: u32 = 500;
        for first in (1..=ROWS).step_by(BATCH as usize) {
            let rows: Vec<String> = (first..first + BATCH).map(row_sql).collect();
            conn.ok(&format!("INSERT INTO sbtest1(k, c, pad) VALUES {}", rows.join(", ")));
        }
        conn.ok("CREATE INDEX k_1 ON sbtest1(k)");
        for id in 1..=ROWS {
            assert!(conn.select_text(id), "row {id}");
        }
        conn
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.loader = None;
        let stopped = self.engine.shutdown();
        // A test that has failed already left its session in the middle.
        if !std::thread::panicking() {
            stopped.unwrap();
        }
    }
}

fn row_sql(id: u32) -> String {
    let text = c_of(id);
    let c = std::str::from_utf8(&text).unwrap();
    format!("({}, '{c}', '{}')", id % 1000, &c[..59])
}

/// Column `c` of a row: digits and dashes that no other row has.
pub fn c_of(id: u32) -> [u8; C_BYTES] {
    let mut text = [b'-'; C_BYTES];
    let mut state = u64::from(id);
    for (at, byte) in text.iter_mut().enumerate().filter(|(at, _)| at % 12 != 11) {
        state =
            state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407 + at as u64);
        *byte = b'0' + (state >> 33) as u8 % 10;
    }
    text
}

/// A client and its session in one.
pub struct Conn {
    session: Session,
    /// What a test keeps here meanwhile.
    kept: Option<Vec<stdx::touch::Touch>>,
}

impl Conn {
    /// Connects as root.
    pub fn login(server: &Arc<Server>, schema: &str) -> Conn {
        Conn::login_as(server, "root", schema)
    }

    /// Connects as a user that has no password.
    pub fn login_as(server: &Arc<Server>, user: &str, schema: &str) -> Conn {
        let session =
            Session::new(server, Peer::Socket(None), Arc::new(Nobody)).expect("a session");
        let mut conn = Conn { session, kept: None };
        conn.session.sent();
        let mut body = CAPABILITIES.to_le_bytes().to_vec();
        body.extend((16_u32 << 20).to_le_bytes());
        body.push(45);
        body.extend([0; 23]);
        body.extend(user.as_bytes());
        body.extend(b"\0\0");
        body.extend(schema.as_bytes());
        body.extend(b"\0caching_sha2_password\0");
        conn.send(1, &[&body]);
        let answer = conn.session.outgoing().to_vec();
        assert!(conn.session.is_logged_in(), "login refused: {}", String::from_utf8_lossy(&answer));
        conn.session.sent();
        conn
    }

    /// The connection's number.
    pub fn id(&self) -> u64 {
        self.session.id()
    }

    /// Number of the session's slot.
    pub fn slot(&self, rig: &Rig) -> usize {
        let slots = rig.engine.slots();
        let id = self.session.id();
        let mine = slots.sessions().find(|s| s.session_id.load(stdx::Ordering::Relaxed) == id);
        slots.session_index(mine.expect("the session publishes its id"))
    }

    /// Gives the session a packet, as if it had come from the network.
    #[inline]
    fn give(&mut self, sequence: u8, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|p| p.len()).sum();
        let header = (length as u32 | u32::from(sequence) << 24).to_le_bytes();
        self.receive(&header);
        parts.iter().for_each(|p| self.receive(p));
    }

    #[inline]
    fn receive(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.session.space();
            let n = space.len().min(bytes.len());
            space[..n].copy_from_slice(&bytes[..n]);
            self.session.received(n);
            bytes = &bytes[n..];
        }
    }

    /// Lets the session answer what it was given: all that a test measures.
    #[inline]
    pub fn step(&mut self) {
        let next = self.session.step(&mut NoWay);
        assert!(next == Next::Continue, "the session ended");
    }

    fn send(&mut self, sequence: u8, parts: &[&[u8]]) {
        self.give(sequence, parts);
        self.step();
    }

    /// Runs a statement that ends in OK.
    pub fn ok(&mut self, sql: &str) {
        self.send(0, &[&[COM_QUERY], sql.as_bytes()]);
        let answer = self.session.outgoing();
        let shown = &sql[..sql.len().min(100)];
        assert_eq!(answer[4], 0, "{shown}: {}", String::from_utf8_lossy(answer));
        self.session.sent();
    }

    /// Runs a statement that has rows.
    pub fn rows(&mut self, sql: &str) {
        self.send(0, &[&[COM_QUERY], sql.as_bytes()]);
        let answer = self.session.outgoing();
        let shown = &sql[..sql.len().min(100)];
        assert!(!matches!(answer[4], 0 | 0xff), "{shown}: {}", String::from_utf8_lossy(answer));
        self.session.sent();
    }

    /// Keeps a record.
    pub fn keep(&mut self, touches: Vec<stdx::touch::Touch>) {
        self.kept = Some(touches);
    }

    /// The record that was kept last.
    pub fn kept(&mut self) -> Option<Vec<stdx::touch::Touch>> {
        self.kept.take()
    }

    /// Prepares the point select; its id.
    pub fn prepare(&mut self) -> u32 {
        self.prepare_text("SELECT c FROM sbtest1 WHERE id=?")
    }

    /// Runs a prepared statement with numbers.
    pub fn execute(&mut self, statement: u32, numbers: &[u64]) {
        let mut body = statement.to_le_bytes().to_vec();
        body.extend([0, 1, 0, 0, 0]);
        body.resize(body.len() + numbers.len().div_ceil(8), 0);
        body.push(1);
        numbers.iter().for_each(|_| body.extend([8, 0]));
        numbers.iter().for_each(|number| body.extend(number.to_le_bytes()));
        self.send(0, &[&[COM_STMT_EXECUTE], &body]);
        let answer = self.session.outgoing();
        assert_ne!(answer[4], 0xff, "execute: {}", String::from_utf8_lossy(answer));
        self.session.sent();
    }

    /// Prepares a statement; its id.
    pub fn prepare_text(&mut self, sql: &str) -> u32 {
        self.send(0, &[&[COM_STMT_PREPARE], sql.as_bytes()]);
        let answer = self.session.outgoing();
        assert_eq!(answer[4], 0, "prepare: {}", String::from_utf8_lossy(answer));
        let id = u32::from_le_bytes(answer[5..9].try_into().unwrap());
        self.session.sent();
        id
    }

    /// One execution of the point select; whether `check` likes the row's column. `first` sends the
    /// parameter's type, as clients do once.
    #[inline]
    pub fn select_prepared(&mut self, statement: u32, id: u32, first: bool) -> bool {
        self.prepared_with(statement, id, first, Conn::step)
    }

    /// As [`Conn::select_prepared`], with the session's part in `step`.
    #[inline]
    pub fn prepared_with(
        &mut self,
        statement: u32,
        id: u32,
        first: bool,
        step: fn(&mut Conn),
    ) -> bool {
        let mut body = [0; 23];
        body[0] = COM_STMT_EXECUTE;
        body[1..5].copy_from_slice(&statement.to_le_bytes());
        // Flags, then how often, then the NULL bitmap.
        body[6..10].copy_from_slice(&1u32.to_le_bytes());
        body[11] = u8::from(first);
        let value = u64::from(id).to_le_bytes();
        let used = if first {
            // MYSQL_TYPE_LONGLONG, what sysbench binds.
            body[12] = 8;
            body[14..22].copy_from_slice(&value);
            22
        } else {
            body[12..20].copy_from_slice(&value);
            20
        };
        self.give(0, &[&body[..used]]);
        step(self);
        // The row: 00, NULL bitmap, length, text.
        let row = packet(self.session.outgoing(), 3);
        let right = row.len() == 3 + C_BYTES && row[..3] == [0, 0, C_BYTES as u8] && {
            row[3..] == c_of(id)
        };
        self.session.sent();
        right
    }

    /// A join of two point look-ups as text, whose plan is kept; whether the row is right.
    pub fn join_text(&mut self, id: u32) -> bool {
        const JOIN: &str = "SELECT b.c FROM sbtest1 a JOIN sbtest1 b ON b.id = a.id WHERE a.id = ";
        self.send(0, &[&[COM_QUERY], format!("{JOIN}{id}").as_bytes()]);
        let c = c_of(id);
        let right = self.session.outgoing().windows(C_BYTES).any(|bytes| bytes == c);
        self.session.sent();
        right
    }

    /// One point select as text.
    #[inline]
    pub fn select_text(&mut self, id: u32) -> bool {
        self.text_with(id, Conn::step)
    }

    /// As [`Conn::select_text`], with the session's part in `step`.
    #[inline]
    pub fn text_with(&mut self, id: u32, step: fn(&mut Conn)) -> bool {
        const HEAD: &[u8] = b"SELECT c FROM sbtest1 WHERE id=";
        let mut digits = [0; 10];
        let mut at = digits.len();
        let mut rest = id;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.give(0, &[&[COM_QUERY], HEAD, &digits[at..]]);
        step(self);
        let row = packet(self.session.outgoing(), 3);
        let right = row.len() == 1 + C_BYTES && row[0] == C_BYTES as u8 && row[1..] == c_of(id);
        self.session.sent();
        right
    }
}

/// Payload of packet number `n` of a reply; empty when there is none.
fn packet(mut bytes: &[u8], n: usize) -> &[u8] {
    for _ in 0..n {
        bytes = bytes.get(4 + length(bytes)..).unwrap_or_default();
    }
    bytes.get(4..4 + length(bytes)).unwrap_or_default()
}

fn length(bytes: &[u8]) -> usize {
    match bytes {
        [a, b, c, ..] => u32::from_le_bytes([*a, *b, *c, 0]) as usize,
        _ => 0,
    }
}
