//! What statements see of their session: user, schema, variables, clock, diagnostics.

mod parts;

pub use parts::{CachedVariables, LastStatement, Link, Login, StatementClock};

use crate::charsets::Charsets;
use crate::diagnostics::{Diagnostics, Level};
use crate::server::Server;
use crate::tuning;
use crate::variables::{self, Assign, Effect, SessionVars, Told, Value, VarId};
use executor::{AutoincMode, Environment, WarningLevel};
use expr::UserVariable;
use std::collections::HashMap;
use std::sync::Arc;
use value::{Charset, Collation};
use wire::constants::{Capabilities, StatusFlags};
use wire::reply::Metadata;

/// Bits of `sql_mode` that the session itself looks at.
pub mod mode {
    /// NO_AUTO_VALUE_ON_ZERO.
    pub const NO_AUTO_VALUE_ON_ZERO: u64 = 1 << 19;
    /// NO_BACKSLASH_ESCAPES.
    pub const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
    /// STRICT_TRANS_TABLES and STRICT_ALL_TABLES.
    pub const STRICT: u64 = 1 << 21 | 1 << 22;
    /// NO_ZERO_IN_DATE.
    pub const NO_ZERO_IN_DATE: u64 = 1 << 23;
    /// NO_ZERO_DATE.
    pub const NO_ZERO_DATE: u64 = 1 << 24;
    /// ALLOW_INVALID_DATES.
    pub const ALLOW_INVALID_DATES: u64 = 1 << 25;
    /// TIME_TRUNCATE_FRACTIONAL.
    pub const TIME_TRUNCATE_FRACTIONAL: u64 = 1 << 32;
}

/// A session's state, apart from its engine client and open tables. In an order that keeps what each statement looks at together: see
/// `core::Core`.
#[repr(C)]
pub struct Env {
    /// System variables.
    pub vars: SessionVars,
    /// What others see of the variables.
    pub told: Arc<Told>,
    /// User variables, by lower-case name; `told` has them, too.
    pub user_vars: HashMap<String, UserVariable>,
    /// Current schema.
    pub database: Option<String>,
    /// What SIGNAL gives the error that it ends in, until that is sent.
    pub signalled: Option<Box<crate::diagnostics::SignalItems>>,
    /// What GET_LOCK took.
    pub user_locks: mdl::UserLocks,
    /// Who the session is, and what that lets it do.
    pub login: Login,
    /// The server.
    pub server: Arc<Server>,
    /// How often another schema became the current one.
    pub database_changes: u32,
    /// IGNORE: the statement is as lenient as without strict mode.
    pub lenient: bool,
    /// What the statements before this one left.
    pub last: LastStatement,
    /// What the session and its client know of each other.
    pub link: Link,
    /// System variables that are looked at with every statement, as [`Env::refresh`] took them out of the session's.
    pub cached: CachedVariables,
    /// SHOW WARNINGS.
    pub diagnostics: Diagnostics,
    /// The time and the random numbers of a statement.
    pub clock: StatementClock,
}

impl Env {
    /// State of a session that has not said who it is.
    pub fn new(server: Arc<Server>, id: u64, host: String) -> Self {
        let told = Arc::<Told>::default();
        let vars = SessionVars::new(&server.globals, &told);
        let user_locks = mdl::UserLocks::new(Arc::clone(server.catalog.mdl()));
        let mut env = Self {
            vars,
            told,
            server,
            user_locks,
            user_vars: HashMap::new(),
            database: None,
            database_changes: 0,
            signalled: None,
            diagnostics: Diagnostics::new(0),
            lenient: false,
            login: Login { host, ..Login::default() },
            link: Link::new(id),
            last: LastStatement::default(),
            cached: CachedVariables::default(),
            clock: StatementClock::default(),
        };
        env.join_size_set();
        env.refresh();
        env
    }

    /// What `max_join_size` says of `sql_big_selects`, which may be set otherwise afterwards.
    pub fn join_size_set(&mut self) {
        let big = self.vars.number("max_join_size") == u64::MAX;
        if big != (self.vars.number("sql_big_selects") != 0) {
            self.vars.set(variables::id("sql_big_selects"), Value::UInt(u64::from(big)));
        }
    }

    /// Everything back to a new session's state (COM_RESET_CONNECTION, COM_CHANGE_USER); user, schema and
    /// what the client can stay.
    pub fn reset(&mut self) {
        self.vars = SessionVars::new(&self.server.globals, &self.told);
        self.join_size_set();
        self.user_vars.clear();
        self.told.clear_user();
        self.last.last_insert_id = 0;
        self.last.insert_id = None;
        self.last.row_count = -1;
        self.last.found_rows = 0;
        self.set_timestamp(None);
        self.diagnostics.clear();
        self.refresh();
    }

    /// Takes the values that are looked at with every statement out of the variables.
    pub fn refresh(&mut self) {
        self.cached.sql_mode = self.vars.number("sql_mode");
        self.cached.execution_ms_max = self.vars.number("max_execution_time");
        self.cached.select_limit = self.vars.number("sql_select_limit");
        let big = self.vars.number("sql_big_selects") != 0;
        self.cached.join_size_max = if big { u64::MAX } else { self.vars.number("max_join_size") };
        self.cached.safe_updates = self.vars.number("sql_safe_updates") != 0;
        self.cached.notes = self.vars.number("sql_notes") != 0;
        self.cached.lock_wait_timeout_s = self.vars.number("lock_wait_timeout");
        let zone = variables::id("time_zone");
        let zone = zone.get().kind.show(self.vars.value(zone));
        if zone != self.cached.time_zone.name() {
            self.cached.time_zone =
                value::TimeZone::named(&zone).unwrap_or_else(value::TimeZone::system);
        }
        self.diagnostics.set_conditions_max(self.vars.number("max_error_count") as usize);
        let autocommit = self.vars.number("autocommit") != 0;
        self.link.status.set(StatusFlags::AUTOCOMMIT, autocommit);
        let escapes = self.cached.sql_mode & mode::NO_BACKSLASH_ESCAPES != 0;
        self.link.status.set(StatusFlags::NO_BACKSLASH_ESCAPES, escapes);
        self.refresh_charsets();
        self.refresh_memory();
        self.refresh_autoinc();
        self.cached.parser_mode = self.read_parser_mode();
    }

    /// Takes over what the client is told besides its results, as far as it understands that.
    pub(crate) fn refresh_tracking(&mut self) {
        self.link.metadata = match self.vars.number("resultset_metadata") {
            _ if !self.link.caps.has(Capabilities::OPTIONAL_RESULTSET_METADATA) => Metadata::Always,
            0 => Metadata::None,
            _ => Metadata::Full,
        };
        if !self.link.tracker.is_requested {
            return;
        }
        let names = self.word("session_track_system_variables");
        let transactions = self.vars.number("session_track_transaction_info");
        let state = self.vars.number("session_track_state_change") != 0;
        self.link.tracker.take_variables(&names, transactions, state);
    }

    /// Says whether statements are looked at one by one: the password expired, the account has limits, or the session works on a
    /// branch of a distributed transaction.
    pub fn judge_limits(&mut self) {
        self.login.is_limited =
            self.login.password_expired || self.login.limits.is_some() || self.login.in_branch;
    }

    /// Whether `autocommit` is on.
    #[inline]
    pub fn autocommit(&self) -> bool {
        self.link.status.has(StatusFlags::AUTOCOMMIT)
    }

    fn read_parser_mode(&self) -> parser::SqlMode {
        use parser::SqlMode as P;
        let mode = P::of_bits(self.cached.sql_mode);
        match self.cached.charsets.client {
            value::Charset::Latin1 => mode.with(P::FROM_LATIN1),
            _ => mode,
        }
    }

    /// The account as messages write it.
    pub fn account(&self) -> String {
        self.login.rights.name.to_string()
    }

    /// Connection, schema, user and host, for logs.
    pub fn who(&self) -> String {
        let db = self.database.as_deref().unwrap_or("unconnected");
        format!(
            "{} to db: '{db}' user: '{}' host: '{}'",
            self.link.id, self.login.user, self.login.host
        )
    }

    /// A variable's value, computed ones included.
    pub fn variable(&self, id: VarId, global: bool) -> Value {
        let v = id.get();
        match v.effect {
            Effect::WarningCount => Value::UInt(self.diagnostics.counts().0),
            Effect::ErrorCount => Value::UInt(self.diagnostics.counts().1),
            Effect::ConnectionId => Value::UInt(self.link.id),
            Effect::LastInsertId => Value::UInt(self.last.last_insert_id),
            Effect::InsertId => Value::UInt(self.last.insert_id.unwrap_or(0)),
            Effect::Timestamp => Value::Double(self.clock_us() as f64 / 1e6),
            Effect::Setting if v.name == tuning::LEVEL => tuning::instrument_level(),
            _ if global || v.scope == variables::Scope::Global => self.server.globals.value(id),
            _ => self.vars.value(id).clone(),
        }
    }

    fn refresh_autoinc(&mut self) {
        let mode = match self.server.globals.number("innodb_autoinc_lock_mode") {
            0 => AutoincMode::Traditional,
            1 => AutoincMode::Consecutive,
            _ => AutoincMode::Interleaved,
        };
        let number = |name| self.vars.number(name);
        let (increment, offset) = ("auto_increment_increment", "auto_increment_offset");
        self.cached.autoinc = (mode, number(increment), number(offset));
    }

    fn refresh_memory(&mut self) {
        let number = |name| self.vars.number(name);
        let tables = number("tmp_table_size").min(number("max_heap_table_size"));
        let buffers = number("sort_buffer_size").saturating_add(number("join_buffer_size"));
        self.cached.spill_bytes = buffers.saturating_add(tables);
    }

    /// SHOW VARIABLES: names and values, ordered by name.
    pub fn variables(&self, global: bool) -> Vec<(String, String)> {
        let shown = variables::sorted().map(VarId::get).zip(variables::sorted());
        let globals = &self.server.globals;
        let shown = shown.filter(|(v, id)| {
            globals.has(*id) && (!global || v.scope != variables::Scope::Session)
        });
        shown.map(|(v, id)| (v.name.to_string(), v.kind.show(&self.variable(id, global)))).collect()
    }

    /// NOW() stands still, or goes on.
    pub fn set_timestamp(&mut self, us: Option<i64>) {
        self.told.set_timestamp(us);
        self.clock.timestamp_us = us;
    }

    /// The clock of NOW(), in microseconds since 1970.
    pub(crate) fn clock_us(&self) -> i64 {
        if let Some(fixed) = self.clock.timestamp_us {
            return fixed;
        }
        if let Some(now) = self.clock.now_us.get() {
            return now;
        }
        let now = host::clock::now_us();
        self.clock.now_us.set(Some(now));
        now
    }

    /// Adds an error to the diagnostics area.
    pub fn note_error(&mut self, code: u16, text: &str) {
        self.diagnostics.add(Level::Error, code, text.to_string());
    }

    /// After an error: a note for each who was in the way of the session's request for a metadata lock, which timed out.
    #[cold]
    pub fn note_blockers(&mut self, code: u16) {
        /// So many are named.
        const NAMED_MAX: usize = 5;
        let blame = sync::with_current(|slot| self.server.catalog.mdl().take_blame(slot?));
        let Some(mdl::Blame { what: (namespace, schema, name), blockers }) = blame else { return };
        let mut what = namespace.object_type().to_lowercase();
        for part in [schema, name].iter().filter(|part| !part.is_empty()) {
            what.push_str(if what.ends_with('`') { "." } else { " " });
            what.push_str(&parser::print::quoted(part));
        }
        for blocker in blockers.iter().take(NAMED_MAX) {
            let (lock, status) = (blocker.mode.lock_type(), blocker.status.name().to_lowercase());
            let who = self.server.registry.who(blocker.slot);
            let text = format!("{lock} lock of {what}, {status}: connection {who}");
            Environment::warn(self, WarningLevel::Note, code, text);
        }
        if let Some(more) = blockers.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
            let text = format!("{more} more locks of {what} are in the way");
            Environment::warn(self, WarningLevel::Note, code, text);
        }
    }

    /// The connection's collation becomes the session's variables, as SET NAMES does it.
    pub fn take_names(&mut self, collation: Collation) {
        let charset = collation.charset().name();
        for variable in
            ["character_set_client", "character_set_connection", "character_set_results"]
        {
            self.set_word(variable, charset);
        }
        self.set_word("collation_connection", collation.name());
        self.cached.charsets.results = Some(collation);
        self.refresh();
    }

    /// The current schema's collation becomes `collation_database`.
    pub fn take_database(&mut self, collation: Collation) {
        self.set_word("character_set_database", collation.charset().name());
        self.set_word("collation_database", collation.name());
    }

    fn set_word(&mut self, variable: &'static str, word: &str) {
        let id = variables::id(variable);
        if let Ok((value, _)) = id.get().kind.check(variable, &Assign::Text(word)) {
            self.vars.set(id, value);
        }
    }

    /// The word a variable has.
    pub fn word(&self, variable: &'static str) -> String {
        let id = variables::id(variable);
        id.get().kind.show(self.vars.value(id))
    }

    /// Takes the character sets out of the variables.
    pub(crate) fn refresh_charsets(&mut self) {
        let client = Charset::from_name(&self.word("character_set_client"));
        let connection = Collation::from_name(&self.word("collation_connection"));
        let results = Charset::from_name(&self.word("character_set_results"));
        let kept = self.cached.charsets.results;
        let (client, connection) = (client.unwrap_or_default(), connection.unwrap_or_default());
        self.cached.charsets = Charsets {
            client,
            connection,
            keeps_literals: !matches!(client, Charset::Latin1 | Charset::Utf8mb3)
                && connection.charset() == Charset::Utf8mb4,
            results: results.map(|charset| {
                kept.filter(|c| c.charset() == charset).unwrap_or(charset.default_collation())
            }),
        };
    }
}
