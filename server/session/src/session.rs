//! A session: packets of one client in, packets to it out.
//!
//! 1. [`Session::step`] takes every whole packet that has arrived, runs it with plain blocking code and
//!    appends the answer to the send buffer; what gathered is sent once, at the end.
//! 2. No thread owns a session: the only thread-local is the pointer that [`sync::enter`] sets for the time
//!    of a step.
//! 3. Whatever happens, a session that ends rolls back, gives back its locks and leaves the registry.

use crate::access;
use crate::charsets::of_handshake;
use crate::env::Env;
use crate::errors;
use crate::login::{self, Login, Peer, Progress};
use crate::prepared::Statements;
use crate::query::PlanCache;
use crate::registry::{Activity, Wake};
use crate::server::{Server, VERSION};
use crate::sink::Net;
use crate::text_plans::TextPlans;
use crate::transaction::{Characteristics, Holding, Savepoint};
use crate::variables;
use catalog::TableCache;
use engine::Client;
use executor::{OwnedDatum, SqlError};
use expr::build::Settings;
use instrument::{Counter, count};
use std::sync::Arc;
use stdx::Ordering;
use sync::SlotTable;
use wire::constants::{COLLATION_0900_AI_CI, Capabilities, ColumnCode, StatusFlags};
use wire::handshake::Scramble;
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
}

/// Why a client is not let in: the error packet to send it.
#[derive(Debug)]
pub struct Refused(pub Vec<u8>);

pub(crate) enum Phase {
    Login(Box<Login>),
    ChangingUser(Box<Login>),
    Commands,
}

/// One client's session.
pub struct Session {
    slots: Arc<SlotTable>,
    slot: usize,
    inbox: Inbox,
    core: Core,
}

/// Everything of a session but the bytes it reads.
pub(crate) struct Core {
    pub env: Env,
    pub client: Client,
    pub tables: TableCache,
    pub out: Outbox,
    pub statements: Statements,
    pub plans: PlanCache,
    pub texts: TextPlans,
    /// Parameters of the statement of the session's own that runs (`SET @a = ?`).
    pub parameters: Vec<OwnedDatum>,
    /// Column types of the result being sent; reused.
    pub codes: Vec<ColumnCode>,
    /// A transaction was begun explicitly, or autocommit is off and a statement began one.
    pub in_transaction: bool,
    /// Savepoints of this transaction, oldest first.
    pub savepoints: Vec<Savepoint>,
    /// What this transaction is, or else the next one.
    pub characteristics: Characteristics,
    /// They were set for that one alone.
    pub one_shot: bool,
    /// What becomes of the present statement's metadata locks.
    pub(crate) holding: Holding,
    /// What the variables say of transactions.
    pub usual: Characteristics,
    /// `unique_checks` and `foreign_key_checks`, as the registry has them.
    pub check_bits: u32,
    pub multi_statements: bool,
    /// QUIT, SHUTDOWN or a lost client: the session ends after this command.
    pub closing: bool,
    pub phase: Phase,
    pub peer: Peer,
    /// The last challenge: COM_CHANGE_USER answers it.
    pub scramble: Scramble,
    /// Connection above `max_connections`: root only.
    pub over_limit: bool,
    pub slot: usize,
    pub packet_bytes_max: usize,
    pub timeouts: Timeouts,
}

/// Time-outs of a connection, in seconds, taken out of the variables.
#[derive(Debug, Default)]
pub(crate) struct Timeouts {
    connect_s: u64,
    read_s: u64,
    write_s: u64,
    idle_s: u64,
    /// `long_query_time`, in nanoseconds.
    slow_ns: u64,
}

impl Session {
    /// Starts a session: takes its slots and writes the greeting.
    pub fn new(server: &Arc<Server>, peer: Peer, wake: Arc<dyn Wake>) -> Result<Self, Refused> {
        let (id, open) = server.connect();
        match Self::start(server, peer, wake, id, open) {
            Ok(session) => Ok(session),
            Err(error) => {
                server.disconnect();
                Err(refusal(&error))
            }
        }
    }

    fn start(
        server: &Arc<Server>,
        peer: Peer,
        wake: Arc<dyn Wake>,
        id: u64,
        open: u32,
    ) -> Result<Self, SqlError> {
        let limit = server.globals.number("max_connections");
        // One more than the limit may try: root gets in to see what is going on.
        if u64::from(open) > limit + 1 {
            return Err(errors::too_many_connections());
        }
        let client = server.engine.client().map_err(|_| errors::too_many_connections())?;
        let scramble = login::new_scramble()
            .ok_or_else(|| errors::internal("no randomness for a challenge"))?;
        let slot = client.slot_index();
        client.slot().session_id.store(id, Ordering::Relaxed);
        server.registry.begin(slot, id, peer.shown(), wake);
        let mut out = Outbox::new();
        let plugin = login::DEFAULT_PLUGIN.name();
        handshake::greeting(&mut out, VERSION, id as u32, &scramble, COLLATION_0900_AI_CI, plugin);
        let mut inbox = Inbox::new(LOGIN_PACKET_BYTES_MAX);
        inbox.follow(1);
        let core = Core {
            tables: TableCache::new(Arc::clone(&server.catalog)),
            env: Env::new(Arc::clone(server), id, peer.host()),
            client,
            out,
            statements: Statements::default(),
            plans: PlanCache::default(),
            texts: TextPlans::default(),
            codes: Vec::new(),
            in_transaction: false,
            savepoints: Vec::new(),
            parameters: Vec::new(),
            characteristics: Characteristics::default(),
            one_shot: false,
            holding: Holding::default(),
            usual: Characteristics::default(),
            check_bits: 0,
            multi_statements: false,
            closing: false,
            phase: Phase::Login(Box::new(Login::new(scramble, &peer))),
            peer,
            scramble,
            over_limit: u64::from(open) > limit,
            slot,
            packet_bytes_max: 0,
            timeouts: Timeouts::default(),
        };
        let mut core = core;
        core.refresh();
        core.take_characteristics();
        Ok(Self { slots: Arc::clone(server.engine.slots()), slot, inbox, core })
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

    /// Seconds to wait for the client: for the rest of a packet, or for the next command.
    #[inline]
    pub fn timeout_s(&self) -> u64 {
        let timeouts = &self.core.timeouts;
        if !matches!(self.core.phase, Phase::Commands) {
            timeouts.connect_s
        } else if self.inbox.is_inside_packet() {
            timeouts.read_s
        } else {
            timeouts.idle_s
        }
    }

    /// Seconds a send may take.
    pub fn write_timeout_s(&self) -> u64 {
        self.core.timeouts.write_s
    }

    /// Seconds to wait for bytes in the middle of something.
    pub fn read_timeout_s(&self) -> u64 {
        self.core.timeouts.read_s
    }

    /// Whether the client has proved who it is.
    pub fn is_logged_in(&self) -> bool {
        !matches!(self.core.phase, Phase::Login(_))
    }

    /// Connection id.
    pub fn id(&self) -> u64 {
        self.core.env.id
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
        self.core.out.bytes()
    }

    /// What was to be sent is sent.
    #[inline]
    pub fn sent(&mut self) {
        let core = &mut self.core;
        core.client.slot().counters.add(Counter::BytesSent, core.out.len() as u64);
        core.out.clear();
    }

    /// Nothing came in time: the error that tells the client so.
    pub fn refuse_idle(&mut self) {
        if self.is_logged_in() {
            self.core.out.set_seq(0);
            self.core.send_error(&errors::idle_too_long());
        }
    }

    /// Counts an event of this connection.
    pub fn count(&self, counter: Counter) {
        self.core.client.slot().counters.add(counter, 1);
    }

    /// Runs everything that has arrived in whole packets.
    pub fn step(&mut self, net: &mut dyn Net) -> Next {
        let Self { slots, slot, inbox, core } = self;
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
            core.out.set_seq(packet.seq.wrapping_add(1));
            let payload = inbox.payload(packet);
            count(Counter::BytesReceived, payload.len() as u64 + 4);
            if matches!(core.phase, Phase::Commands) {
                core.command(payload, net);
            } else {
                core.login_packet(payload);
            }
            if core.closing {
                return Next::Close;
            }
            if matches!(core.phase, Phase::Commands) {
                inbox.set_packet_bytes_max(core.packet_bytes_max);
                inbox.begin_command();
            } else {
                inbox.follow(core.out.seq());
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Self { slots, slot, core, .. } = self;
        {
            let _entered = sync::enter(slots.session(*slot));
            core.env.server.registry.leave(*slot);
            core.end_transaction_for_ever();
            core.tables.drop_temporary_tables(&core.client);
            core.env.server.count_statements(-(core.statements.len() as i64));
            core.env.server.registry.end(*slot);
        }
        core.client.slot().session_id.store(0, Ordering::Relaxed);
        core.env.server.disconnect();
    }
}

impl Core {
    fn refuse_frame(&mut self, error: FrameError) {
        count(Counter::AbortedClients, 1);
        self.out.set_seq(1);
        self.send_error(&match error {
            FrameError::TooLarge => errors::packet_too_large(),
            FrameError::OutOfOrder => errors::packets_out_of_order(),
        });
        self.closing = true;
    }

    /// Writes an error packet and notes it in the diagnostics area.
    pub fn send_error(&mut self, error: &SqlError) {
        let named = executor::named(error, self.tables.catalog());
        let (code, state, text) = named.as_ref().unwrap_or(error).parts();
        let said = self.env.signalled.take();
        let state = state.as_bytes().try_into().unwrap_or(*b"HY000");
        let state: [u8; 5] = said.as_ref().map_or(state, |said| said.state);
        self.env.diagnostics.add_error(code, text.clone(), (state, said));
        if let SqlError::Followed(_, code, text) = error {
            self.env.note_error(*code, text);
        }
        self.env.row_count = -1;
        let text = self.env.charsets.message(&text);
        reply::error(&mut self.out, code, Some(&state), &text);
    }

    /// Writes an OK packet without numbers.
    pub fn send_ok(&mut self) {
        self.send_ok_with(&reply::Ok::default());
    }

    /// Writes an OK packet; status and warnings are filled in.
    pub fn send_ok_with(&mut self, ok: &reply::Ok<'_>) {
        self.send_ok_warning(ok, self.env.diagnostics.wire_count());
    }

    /// As [`Self::send_ok_with`], of so many warnings.
    pub fn send_ok_warning(&mut self, ok: &reply::Ok<'_>, warnings: u16) {
        reply::ok(
            &mut self.out,
            self.env.caps,
            &reply::Ok { status: self.env.status, warnings, ..*ok },
        );
    }

    /// Sets the flags that every OK carries.
    pub fn show_transaction(&mut self) {
        self.env.status.set(StatusFlags::IN_TRANSACTION, self.in_transaction);
        let read_only = self.in_transaction && self.characteristics.read_only;
        self.env.status.set(StatusFlags::IN_READ_ONLY_TRANSACTION, read_only);
        self.set_up_reads();
    }

    /// Tells the client how its reads are isolated.
    fn set_up_reads(&mut self) {
        if !self.in_transaction {
            let entry = self.env.server.registry.entry(self.slot);
            entry.publish_bits(self.transaction_bits());
        }
        self.client.set_spans_statements(self.in_transaction || !self.env.autocommit());
        self.client.set_isolation(self.characteristics.isolation);
    }

    fn login_packet(&mut self, payload: &[u8]) {
        let phase = std::mem::replace(&mut self.phase, Phase::Commands);
        let (mut login, changing) = match phase {
            Phase::Login(login) => (login, false),
            Phase::ChangingUser(login) => (login, true),
            Phase::Commands => return,
        };
        let server = Arc::clone(&self.env.server);
        let step = login.step(payload, &mut self.env.caps, &server, &mut self.out);
        self.login_went(login, step, changing);
    }

    /// COM_CHANGE_USER.
    pub fn change_user(&mut self, body: &[u8]) {
        let server = Arc::clone(&self.env.server);
        let mut login = Box::new(Login::new(self.scramble, &self.peer));
        login.expect_switch();
        let step = login.change_user(body, self.env.caps, &server, &mut self.out);
        self.login_went(login, step, true);
    }

    fn login_went(&mut self, login: Box<Login>, step: Result<Progress, SqlError>, changing: bool) {
        match step {
            Ok(Progress::More) => {
                self.phase =
                    if changing { Phase::ChangingUser(login) } else { Phase::Login(login) };
            }
            Ok(Progress::Done) => {
                if let Err(error) = self.admit(*login, changing) {
                    self.reject(&error);
                }
            }
            Err(error) => {
                self.env.user = login.user.clone();
                self.reject(&error);
            }
        }
    }

    fn reject(&mut self, error: &SqlError) {
        count(Counter::AbortedConnects, 1);
        self.send_error(error);
        self.closing = true;
    }

    fn admit(&mut self, login: Login, changing: bool) -> Result<(), SqlError> {
        if changing {
            self.reset();
        }
        let account =
            login.account.ok_or_else(|| errors::internal("a login without an account"))?;
        if self.over_limit && !access::is_super(&account.user) {
            return Err(errors::too_many_connections());
        }
        self.admit_account(&account.user)?;
        self.env.user = login.user;
        self.env.account_host = account.host;
        let collation =
            of_handshake(login.collation, executor::Environment::server_collation(&self.env));
        self.env.take_names(collation);
        if self.env.caps.has(Capabilities::INTERACTIVE) {
            let seconds = self.env.vars.value(variables::id("interactive_timeout")).clone();
            self.env.vars.set(variables::id("wait_timeout"), seconds);
        }
        self.multi_statements = self.env.caps.has(Capabilities::MULTI_STATEMENTS);
        self.env.database = None;
        if let Some(schema) = login.schema {
            self.use_schema(&schema)?;
        }
        self.publish_identity();
        self.env.server.registry.describe(self.slot, login.attributes);
        self.phase = Phase::Commands;
        self.refresh();
        self.log_connect();
        self.init_connect()?;
        self.send_ok();
        self.publish_sleep();
        Ok(())
    }

    /// Shows user and schema in the process list.
    pub fn publish_identity(&self) {
        let env = &self.env;
        env.server.registry.rename(self.slot, &env.user, env.database.as_deref());
    }

    /// Shows in the process list that the session waits for its client.
    #[inline]
    pub fn publish_sleep(&self) {
        let entry = self.env.server.registry.entry(self.slot);
        entry.publish(Activity::Sleep, sync::now_ns(), b"");
    }

    /// Makes a schema the current one.
    pub fn use_schema(&mut self, schema: &str) -> Result<(), SqlError> {
        let Some(schema) = self.env.server.catalog.schema(schema) else {
            return Err(errors::unknown_database(schema));
        };
        self.env.database = Some(schema.name.clone());
        self.env.take_database(schema.collation);
        self.publish_identity();
        Ok(())
    }

    /// Everything back to a new session's state.
    pub fn reset(&mut self) {
        self.end_transaction_for_ever();
        self.tables.drop_temporary_tables(&self.client);
        self.env.server.count_statements(-(self.statements.len() as i64));
        self.statements = Statements::default();
        self.plans = PlanCache::default();
        self.texts = TextPlans::default();
        self.env.reset();
        self.refresh();
        self.take_characteristics();
    }

    /// Takes over the variables that a step looks at.
    pub fn refresh(&mut self) {
        self.plans.keep_for(self.env.charsets.connection, self.env.sql_mode);
        self.texts.set(Settings::of(&self.env));
        self.packet_bytes_max = self.env.vars.number("max_allowed_packet") as usize;
        let seconds = self.env.vars.number("innodb_lock_wait_timeout");
        self.client.set_lock_wait_timeout(seconds as u32);
        self.refresh_transactions();
        self.set_up_reads();
        self.timeouts = Timeouts {
            connect_s: self.env.server.globals.number("connect_timeout"),
            read_s: self.env.vars.number("net_read_timeout"),
            write_s: self.env.vars.number("net_write_timeout"),
            idle_s: self.env.vars.number("wait_timeout"),
            slow_ns: (self.env.vars.double("long_query_time") * 1e9) as u64,
        };
    }

    fn command(&mut self, payload: &[u8], net: &mut dyn Net) {
        let command = match command::decode(payload) {
            Ok(command) => command,
            Err(_) => return self.send_error(&errors::malformed_packet()),
        };
        self.client.slot().clear_query_kill();
        self.env.now_us.set(None);
        self.env.statements += 1;
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
                self.rare_command(other, net);
                return self.publish_sleep();
            }
        }
        let (now_ns, entry) = (sync::now_ns(), self.env.server.registry.entry(self.slot));
        let took_ns = now_ns.saturating_sub(entry.since_ns());
        if took_ns > self.timeouts.slow_ns {
            self.log_slow(self.text_of(&command), took_ns, begun);
        }
        entry.publish(Activity::Sleep, now_ns, b"");
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
        match command {
            Command::Quit => self.closing = true,
            Command::InitDb(name) => {
                count(Counter::Questions, 1);
                count(Counter::ComChangeDb, 1);
                match self.use_schema(&String::from_utf8_lossy(name)) {
                    Ok(()) => self.ok_with_schema(),
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
                self.statements.long_data(id, param, data, self.packet_bytes_max);
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
                    false => self.send_error(&errors::unknown_statement(
                        &id.to_string(),
                        "mysqld_stmt_reset",
                    )),
                }
            }
            Command::Fetch { id, rows } => {
                count(Counter::Questions, 1);
                self.fetch_command(id, rows, net);
            }
            Command::FieldList { table, pattern } => self.field_list(table, pattern),
            Command::Statistics => self.statistics(),
            Command::Debug => self.eof(),
            Command::ChangeUser(body) => self.change_user(body),
            Command::ResetConnection => {
                self.reset();
                self.send_ok();
            }
            Command::SetMultiStatements(on) => {
                self.multi_statements = on;
                self.eof();
            }
            Command::Unknown(_) => self.send_error(&errors::unknown_command()),
            Command::Query(_) | Command::Execute { .. } => {}
        }
    }

    /// OK, telling a client that tracks it the new schema.
    pub fn ok_with_schema(&mut self) {
        let schema = self.env.database.clone().unwrap_or_default();
        let tracked = self.env.vars.number("session_track_schema") != 0;
        let schema_changed_to = tracked.then_some(schema.as_bytes());
        self.env.row_count = 0;
        self.send_ok_with(&reply::Ok { schema_changed_to, ..reply::Ok::default() });
    }

    fn eof(&mut self) {
        let warnings = self.env.diagnostics.wire_count();
        reply::end_of_rows(&mut self.out, self.env.caps, self.env.status, warnings);
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
