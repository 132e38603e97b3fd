//! A session: packets of one client in, packets to it out.
//!
//! 1. [`Session::step`] takes every whole packet that has arrived, runs it with plain blocking code and
//!    appends the answer to the send buffer; what gathered is sent once, at the end.
//! 2. No thread owns a session: the only thread-local is the pointer that [`sync::enter`] sets for the time
//!    of a step.
//! 3. Whatever happens, a session that ends rolls back, gives back its locks and leaves the registry.

use crate::compression::Offer;
use crate::core::{
    Caches, Core, Events, Identity, Phase, Protocol, Reply, SessionBranch, Statements, Transaction,
    instruments,
};
use crate::env::Env;
use crate::errors::SessionError;
use crate::hosts::Came;
use crate::kinds;
use crate::login::{self, Peer};
use crate::net::Net;
use crate::registry::{Activity, Entry, Wake};
use crate::server::{Server, VERSION};
use access::{AccountName, Privileges, Rights};
use catalog::TableCache;
use executor::SqlError;
use instrument::{Counter, Piece, count};
use std::sync::Arc;
use stdx::Ordering;
use sync::SlotTable;
use wire::compressed::{Algorithm, Broken};
use wire::constants::{COLLATION_0900_AI_CI, Capabilities};
use wire::{Command, FrameError, Inbox, Outbox, command, handshake, reply};

/// Stack that a thread needs to step a session: the deepest statement that the parser accepts
/// ([`parser::DEPTH_MAX`]) takes less than half of it. Only what is touched costs memory.
pub const STACK_BYTES_MIN: usize = if cfg!(debug_assertions) { 256 << 20 } else { 64 << 20 };

/// Whether a connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Wait for more bytes.
    Continue,
    /// Send what is in the buffer, then close.
    Close,
    /// The client asks for TLS, which it was offered: see [`Session::secure`].
    Secure,
    /// Send what is in the buffer; the connection is compressed afterwards: see [`Session::take_rest`].
    Compress(Algorithm),
}

/// Why a client is not let in: the error packet to send it.
#[derive(Debug)]
pub struct Refused(pub Vec<u8>);

/// One client's session.
#[repr(C)]
pub struct Session {
    core: Core,
    slots: Arc<SlotTable>,
    slot: usize,
    inbox: Inbox,
    /// The session itself.
    own: Piece,
}

instrument::classes! {
    static OWN: SessionMemory = "memory/sql/THD";
}

impl Session {
    /// Starts a session: takes its slots and writes the greeting.
    pub fn new(server: &Arc<Server>, peer: Peer, wake: Arc<dyn Wake>) -> Result<Self, Refused> {
        Self::at(server, peer, wake, false)
    }

    /// As [`Session::new`]; `administrative`: of a client of the administrative interface.
    pub fn at(
        server: &Arc<Server>,
        peer: Peer,
        wake: Arc<dyn Wake>,
        administrative: bool,
    ) -> Result<Self, Refused> {
        let (id, open) = server.connect(administrative);
        match Self::start(server, peer, wake, (id, open, administrative)) {
            Ok(session) => Ok(session),
            Err(error) => {
                server.disconnect(administrative);
                Err(refusal(&error))
            }
        }
    }

    fn start(
        server: &Arc<Server>,
        peer: Peer,
        wake: Arc<dyn Wake>,
        (id, open, administrative): (u64, u32, bool),
    ) -> Result<Self, SqlError> {
        if server.blocks(peer.address()) {
            return Err(SessionError::HostBlocked(&peer.host()).into());
        }
        let limit = server.globals.number("max_connections");
        // One more than the limit may try: root gets in to see what is going on.
        if u64::from(open) > limit + 1 {
            return Err(SessionError::TooManyConnections.into());
        }
        let client = server.engine.client().map_err(|_| SessionError::TooManyConnections)?;
        let scramble = login::new_scramble().ok_or_else(|| {
            SqlError::from(SessionError::Internal("no randomness for a challenge"))
        })?;
        let slot = client.slot_index();
        client.slot().session_id.store(id, Ordering::Relaxed);
        server.registry.begin(slot, id, peer.shown(), wake);
        let entry = Arc::clone(server.registry.entry(slot));
        let mut reply = Reply::new();
        let offered = server.tls.context();
        let compressions = Offer::of(&server.globals.word("protocol_compression_algorithms"));
        let mut extras = compressions.capabilities();
        extras.set(Capabilities::SSL, offered.is_some());
        let method = (login::DEFAULT_PLUGIN.name(), extras);
        let out = &mut reply.out;
        handshake::greeting(out, VERSION, id as u32, &scramble, COLLATION_0900_AI_CI, method);
        let mut inbox = Inbox::new(LOGIN_PACKET_BYTES_MAX);
        inbox.follow(1);
        let mut core = Core {
            tables: TableCache::new(Arc::clone(&server.catalog)),
            env: Env::new(Arc::clone(server), id, peer.host()),
            client,
            transaction: Transaction::default(),
            branch: SessionBranch::default(),
            reply,
            identity: Identity::new(
                peer,
                scramble,
                offered,
                (u64::from(open) > limit, administrative),
                compressions,
            ),
            protocol: Protocol::default(),
            statements: Statements::default(),
            caches: Caches::default(),
            events: Events::new(),
            parameters: Vec::new(),
            has_secret: false,
            slot,
            entry,
            describe: kinds::describe,
        };
        core.tables.set_connection(id);
        core.refresh();
        core.take_characteristics();
        server.registry.tells(slot, &core.env.told, &core.statements.figures);
        let own = Piece::new(&OWN);
        Ok(Self { slots: Arc::clone(server.engine.slots()), slot, inbox, core, own })
    }

    /// Runs statements that no client sent, as who may do everything; the error of the first that fails.
    pub(crate) fn run_unasked(&mut self, text: &[u8], net: &mut dyn Net) -> Result<(), String> {
        let core = &mut self.core;
        core.env.set_rights(Rights::unlimited(AccountName::default(), ""));
        core.identity.phase = Phase::Commands;
        core.protocol.multi_statements = true;
        core.query(text, net);
        match core.env.diagnostics.answered() {
            Some((number, _, text)) => Err(format!("error {number}: {text}")),
            None => Ok(()),
        }
    }

    /// No client's: it may do everything, and nothing is measured of its thread.
    pub(crate) fn is_the_server_s(&mut self, name: &str) {
        let core = &mut self.core;
        core.env.set_rights(Rights::unlimited(AccountName::new(name, "localhost"), "localhost"));
        core.env.login.user = name.to_string();
        core.publish_identity();
        core.identity.phase = Phase::Commands;
        core.client.slot().set_monitoring(0);
        core.events.look(core.client.slot());
        self.inbox.set_packet_bytes_max(core.protocol.packet_bytes_max);
        self.inbox.begin_command();
    }

    /// Whether the account may see what everybody does: PROCESS, and SELECT on `performance_schema`.
    pub(crate) fn may_watch(&self) -> bool {
        let env = &self.core.env;
        !env.login.password_expired
            && env.login.rights.global().has(Privileges::PROCESS)
            && env.login.rights.of_schema("performance_schema").has(Privileges::SELECT)
    }

    /// Room for the next read from the client.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        self.inbox.space()
    }

    /// Tells how many bytes were read into [`Session::space`].
    #[inline]
    pub fn received(&mut self, n: usize) {
        self.inbox.filled(n);
    }

    /// A compressed connection: the number of the frame that follows what was received.
    pub fn follow_frame(&mut self, next: u8) {
        self.inbox.follow_frame(next);
    }

    /// Seconds to wait for the client: for the rest of a packet, or for the next command.
    #[inline]
    pub fn timeout_s(&self) -> u64 {
        let protocol = &self.core.protocol;
        if !self.core.identity.takes_commands() {
            protocol.connect_s
        } else if self.inbox.is_inside_packet() {
            protocol.read_s
        } else {
            protocol.idle_s
        }
    }

    /// Seconds a send may take.
    pub fn write_timeout_s(&self) -> u64 {
        self.core.protocol.write_s
    }

    /// Seconds to wait for bytes in the middle of something.
    pub fn read_timeout_s(&self) -> u64 {
        self.core.protocol.read_s
    }

    /// Whether the client has proved who it is.
    pub fn is_logged_in(&self) -> bool {
        self.core.identity.is_logged_in()
    }

    /// Connection id.
    pub fn id(&self) -> u64 {
        self.core.env.link.id
    }

    /// Its THREAD_ID.
    pub fn thread_id(&self) -> u64 {
        self.core.client.slot().thread_id.load(Ordering::Relaxed)
    }

    /// The calling thread carries the session from now on.
    pub fn runs_here(&mut self) {
        self.core.env.server.registry.runs_on(self.core.slot, host::thread::os_id());
        let _entered = sync::enter(self.slots.session(self.slot));
        self.own.set(size_of::<Session>() + size_of::<Entry>());
        self.inbox.keeps();
        self.core.reply.out.keeps();
    }

    /// The slots, and which is the session's: what a thread does between two steps is the session's, too, while it has that
    /// entered.
    pub fn place(&self) -> (Arc<SlotTable>, usize) {
        (Arc::clone(&self.slots), self.slot)
    }

    /// User, host and schema, for the log.
    pub fn who(&self) -> String {
        self.core.env.who()
    }

    /// Whether KILL CONNECTION (or the server's stop) ended the session.
    #[inline]
    pub fn is_killed(&self) -> bool {
        self.core.client.slot().kill_level() == sync::KILL_CONNECTION
    }

    /// What is to be sent.
    #[inline]
    pub fn outgoing(&self) -> &[u8] {
        self.core.reply.out.bytes()
    }

    /// What was to be sent is sent.
    #[inline]
    pub fn sent(&mut self) {
        let core = &mut self.core;
        core.client.slot().counters.add(Counter::BytesSent, core.reply.out.len() as u64);
        core.reply.out.clear();
    }

    /// Nothing came in time: the error that tells the client so.
    pub fn refuse_idle(&mut self) {
        if self.is_logged_in() {
            self.core.reply.out.set_seq(0);
            self.core.send_error(&SessionError::IdleTooLong.into());
        }
    }

    /// The client has been silent for a while: gives back what is made again in no time.
    pub fn rest(&mut self) {
        let _entered = sync::enter(self.slots.session(self.slot));
        self.core.events.rest(self.core.client.slot());
        self.core.client.rest();
        self.core.tables.rest();
        self.core.rest();
        self.inbox.rest();
    }

    /// After [`Next::Secure`]: what the client was offered, and the bytes of its handshake that have come already. Whoever has the
    /// socket carries the handshake on and tells its end by [`Session::secured`]; bytes of the client come decrypted then.
    pub fn secure(&mut self) -> Option<(Arc<tls::Context>, Vec<u8>)> {
        let context = self.core.identity.offered.take()?;
        self.core.env.server.tls.begins();
        Some((context, self.inbox.take_rest()))
    }

    /// After [`Next::Compress`]: the bytes that have come already, which are compressed.
    pub fn take_rest(&mut self) -> Vec<u8> {
        self.inbox.take_rest()
    }

    /// What the client sent is no compressed frame: the error that tells it so.
    pub fn refuse_frames(&mut self, why: Broken) {
        let error = match why {
            Broken::OutOfOrder => SessionError::PacketsOutOfOrder,
            Broken::NotExpanded => SessionError::NotExpanded,
        };
        self.core.reply.out.set_seq(1);
        self.core.send_error(&error.into());
    }

    /// The connection is secured from now on.
    pub fn secured(&mut self, how: tls::Secured) {
        self.core.env.server.tls.finished(how.resumed);
        self.core.env.link.secured = Some(how);
        if let Phase::Login(login) = &mut self.core.identity.phase {
            login.is_secured();
        }
    }

    /// Where the client comes from, as a proxy says before anything has come of the client itself; false: it is refused, and an
    /// error is to be sent.
    pub fn comes_from(&mut self, client: Peer) -> bool {
        let core = &mut self.core;
        core.env.login.host = client.host();
        core.env.server.registry.comes_from(core.slot, client.shown());
        core.identity.comes_from(client);
        let blocked = core.env.server.blocks(core.identity.peer.address());
        if blocked {
            core.reply.out.set_seq(2);
            core.reject(&SessionError::HostBlocked(&core.env.login.host.clone()).into(), true);
        }
        !blocked
    }

    /// What a client sent in the place of a proxy's header is none.
    pub fn refuse_header(&mut self) {
        self.core.reply.out.set_seq(2);
        self.core.refuse_frame(FrameError::OutOfOrder);
    }

    /// The client is gone before it has logged in.
    pub fn did_not_come(&self, why: Came) {
        self.core.env.server.came(self.core.identity.peer.address(), why);
    }

    /// Counts an event of this connection.
    pub fn count(&self, counter: Counter) {
        self.core.client.slot().counters.add(counter, 1);
    }

    /// Runs everything that has arrived in whole packets.
    pub fn step(&mut self, net: &mut dyn Net) -> Next {
        let Self { slots, slot, inbox, core, .. } = self;
        let _entered = sync::enter(slots.session(*slot));
        loop {
            if core.client.slot().kill_level() == sync::KILL_CONNECTION {
                return Next::Close;
            }
            let packet = match inbox.next_packet() {
                Ok(Some(packet)) => packet,
                Ok(None) => return Next::Continue,
                Err(error) => {
                    core.refuse_frame(error);
                    return Next::Close;
                }
            };
            core.reply.out.set_seq(packet.seq.wrapping_add(1));
            let payload = inbox.payload(packet);
            count(Counter::BytesReceived, payload.len() as u64 + 4);
            if core.identity.takes_commands() {
                core.command(payload, net);
                if core.has_secret {
                    core.has_secret = false;
                    inbox.overwrite(packet);
                }
            } else if core.identity.may_be_secured() && handshake::is_tls_request(payload) {
                return Next::Secure;
            } else {
                core.login_packet(payload);
                inbox.overwrite(packet);
                if let Some(algorithm) = core.identity.compresses.take() {
                    inbox.set_packet_bytes_max(core.protocol.packet_bytes_max);
                    inbox.begin_command();
                    inbox.is_framed();
                    return Next::Compress(algorithm);
                }
            }
            if core.reply.is_closing() {
                return Next::Close;
            }
            if core.identity.takes_commands() {
                inbox.set_packet_bytes_max(core.protocol.packet_bytes_max);
                inbox.begin_command();
            } else {
                inbox.follow(core.reply.out.seq());
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Self { slots, slot, core, inbox, own } = self;
        {
            let _entered = sync::enter(slots.session(*slot));
            core.env.server.registry.leave(*slot);
            core.release_everything();
            core.tables.drop_temporary_tables(&core.client);
            core.tables.close();
            core.env.server.count_statements(-(core.statements.len() as i64));
            // What it keeps is given back before nobody knows whose it was.
            core.statements.clear();
            core.caches = Caches::default();
            core.reply.out.keeps_nothing();
            inbox.keeps_nothing();
            own.set(0);
            core.env.server.registry.end(*slot);
        }
        core.client.slot().session_id.store(0, Ordering::Relaxed);
        core.env.server.disconnect(core.identity.administrative);
    }
}

impl Core {
    /// Gives back buffers, and what programs keep between two runs.
    fn rest(&mut self) {
        self.reply.out.rest();
        self.reply.codes = Vec::new();
        self.caches.rest();
        self.parameters = Vec::new();
    }

    fn refuse_frame(&mut self, error: FrameError) {
        match self.identity.is_logged_in() {
            true => count(Counter::AbortedClients, 1),
            false => {
                count(Counter::AbortedConnects, 1);
                self.env.server.came(self.identity.peer.address(), Came::Handshake);
            }
        }
        self.reply.out.set_seq(1);
        self.send_error(&match error {
            FrameError::TooLarge => SqlError::from(SessionError::PacketTooLarge),
            FrameError::OutOfOrder => SqlError::from(SessionError::PacketsOutOfOrder),
        });
        self.reply.close();
    }

    fn command(&mut self, payload: &[u8], net: &mut dyn Net) {
        let command = match command::decode(payload, self.env.link.caps) {
            Ok(command) => command,
            Err(_) => return self.send_error(&SessionError::MalformedPacket.into()),
        };
        self.client.slot().clear_query_kill();
        self.env.clock.now_us.set(None);
        self.env.clock.statements += 1;
        self.env.refresh_rights();
        let begun = self.log_begin(&command);
        match command {
            Command::Execute { id, flags, rest } => {
                count(Counter::Questions, 1);
                self.execute_command(id, flags, rest, net);
            }
            Command::Query(sql) => {
                count(Counter::Questions, 1);
                self.query(sql, net);
            }
            other => {
                self.begin_event(instrument_of(&other), sync::now_ns());
                self.rare_command(other, net);
                let now_ns = sync::now_ns();
                self.end_event_of(&other, now_ns);
                return self.entry.publish(Activity::Sleep, now_ns, b"");
            }
        }
        let now_ns = sync::now_ns();
        let took_ns = now_ns.saturating_sub(self.entry.since_ns());
        if took_ns > self.protocol.slow_ns {
            self.log_slow(self.text_of(&command), took_ns, begun);
        }
        self.entry.publish(Activity::Sleep, now_ns, b"");
        self.end_event_of(&command, now_ns);
    }

    /// The text that a command runs.
    fn text_of<'t>(&'t self, command: &Command<'t>) -> &'t [u8] {
        match command {
            Command::Query(sql) => sql,
            Command::Execute { id, .. } => self.statements.text(*id),
            _ => b"",
        }
    }

    fn rare_command(&mut self, command: Command<'_>, net: &mut dyn Net) {
        let answered = matches!(command, Command::SendLongData { .. } | Command::CloseStatement(_));
        if !answered {
            self.env.diagnostics.clear();
        }
        if self.env.login.password_expired && !with_expired_password(&command) {
            return self.send_error(&SessionError::MustChangePassword.into());
        }
        match command {
            Command::Quit => self.reply.close(),
            Command::InitDb(name) => {
                count(Counter::Questions, 1);
                count(Counter::ComChangeDb, 1);
                match self.use_schema(named(name)) {
                    Ok(()) => {
                        self.env.last.row_count = 0;
                        self.send_ok();
                    }
                    Err(error) => self.send_error(&error),
                }
            }
            Command::Ping => {
                count(Counter::ComAdminCommands, 1);
                self.send_ok();
            }
            Command::Prepare(sql) => self.prepare_command(sql),
            Command::SendLongData { id, param, data } => {
                count(Counter::ComStmtSendLongData, 1);
                self.statements.long_data(id, param, data, self.protocol.packet_bytes_max);
            }
            Command::CloseStatement(id) => {
                count(Counter::ComStmtClose, 1);
                if self.statements.close(id) {
                    self.env.server.count_statements(-1);
                }
            }
            Command::ResetStatement(id) => {
                count(Counter::ComStmtReset, 1);
                match self.statements.reset(id) {
                    true => self.send_ok(),
                    false => self.send_error(
                        &SessionError::UnknownStatement(&id.to_string(), "mysqld_stmt_reset")
                            .into(),
                    ),
                }
            }
            Command::Fetch { id, rows } => {
                count(Counter::Questions, 1);
                self.fetch_command(id, rows, net);
            }
            Command::FieldList { table, pattern } => self.field_list(table, pattern),
            Command::Statistics => self.statistics(),
            Command::Debug => self.send_end_of_rows(),
            Command::ChangeUser(body) => self.change_user(body),
            Command::ResetConnection => {
                self.reset();
                self.send_ok();
            }
            Command::SetMultiStatements(on) => {
                self.protocol.multi_statements = on;
                self.send_end_of_rows();
            }
            Command::Unknown(_) => self.send_error(&SessionError::UnknownCommand.into()),
            Command::Query(_) | Command::Execute { .. } => {}
        }
    }
}

/// Whether a command is taken from a client whose password expired; statements are asked for when they run.
fn with_expired_password(command: &Command<'_>) -> bool {
    use Command as C;
    matches!(
        command,
        C::Quit | C::Ping | C::Prepare(_) | C::SendLongData { .. } | C::CloseStatement(_)
    )
}

/// The name in a command: up to a zero byte, or to what is no character, as MySQL reads it.
fn named(name: &[u8]) -> &str {
    let whole = name.split(|b| *b == 0).next().unwrap_or_default();
    whole.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

/// The instrument of a command that is neither a text nor an execution.
fn instrument_of(command: &Command<'_>) -> u16 {
    match command {
        Command::Quit => instruments::QUIT,
        Command::InitDb(_) => instruments::INIT_DB,
        Command::Ping => instruments::PING,
        Command::Prepare(_) => instruments::PREPARE,
        Command::SendLongData { .. } => instruments::LONG_DATA,
        Command::CloseStatement(_) => instruments::CLOSE,
        Command::ResetStatement(_) => instruments::RESET,
        Command::Fetch { .. } => instruments::FETCH,
        Command::FieldList { .. } => instruments::FIELD_LIST,
        Command::Statistics => instruments::STATISTICS,
        Command::Debug => instruments::DEBUG,
        Command::ChangeUser(_) => instruments::CHANGE_USER,
        Command::ResetConnection => instruments::RESET_CONNECTION,
        Command::SetMultiStatements(_) => instruments::SET_OPTION,
        Command::Query(_) | Command::Execute { .. } | Command::Unknown(_) => instruments::OTHER,
    }
}

/// Packets of a client that has not proved who it is are small.
const LOGIN_PACKET_BYTES_MAX: usize = 128 * 1024;

fn refusal(error: &SqlError) -> Refused {
    let (code, _, text) = error.parts();
    let mut out = Outbox::new();
    reply::error(&mut out, code, None, text.as_bytes());
    Refused(out.bytes().to_vec())
}
