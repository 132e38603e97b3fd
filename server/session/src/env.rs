//! What statements see of their session: user, schema, variables, clock, diagnostics.

use crate::charsets::Charsets;
use crate::diagnostics::{Diagnostics, Level};
use crate::errors;
use crate::registry::Process;
use crate::server::{Server, VERSION};
use crate::states;
use crate::status;
use crate::variables::{self, Effect, SessionVars, Value, VarId};
use catalog::{ProcessRow, ServerList, Viewer};
use engine::Undoing;
use executor::{AutoincMode, Environment, OwnedDatum, SqlError, WarningLevel};
use expr::{UserVariable, Variables};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use sync::Deadline;
use value::ColumnType;
use wire::constants::{Capabilities, StatusFlags};

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

/// A session's state, apart from its engine client and open tables.
pub struct Env {
    /// The server.
    pub server: Arc<Server>,
    /// System variables.
    pub vars: SessionVars,
    /// User variables, by lower-case name.
    pub user_vars: HashMap<String, UserVariable>,
    /// Current schema.
    pub database: Option<String>,
    /// What SIGNAL said, until the error that it ends in is sent.
    pub signalled: Option<Box<crate::diagnostics::Said>>,
    /// User name as given.
    pub user: String,
    /// Host the client comes from.
    pub host: String,
    /// Host part of the account it is.
    pub account_host: String,
    /// Connection id.
    pub id: u64,
    /// What the client can.
    pub caps: Capabilities,
    /// Flags sent with every OK.
    pub status: StatusFlags,
    /// LAST_INSERT_ID().
    pub last_insert_id: u64,
    /// The statement called LAST_INSERT_ID(value).
    pub insert_id_given: bool,
    /// SET insert_id: the next generated AUTO_INCREMENT value, once.
    pub insert_id: Option<u64>,
    /// Cached `innodb_autoinc_lock_mode`, `auto_increment_increment`, `auto_increment_offset`.
    autoinc: (AutoincMode, u64, u64),
    /// ROW_COUNT().
    pub row_count: i64,
    /// FOUND_ROWS().
    pub found_rows: u64,
    /// SHOW WARNINGS.
    pub diagnostics: Diagnostics,
    /// Cached `sql_mode`.
    pub sql_mode: u64,
    /// Cached `sql_select_limit`.
    select_limit: u64,
    /// Cached `max_join_size`; no limit with `sql_big_selects`.
    pub join_size_max: u64,
    /// Cached `sql_safe_updates`.
    safe_updates: bool,
    /// Cached `sql_notes`.
    notes: bool,
    /// What sorts, joins and temporary tables may take together before they use files, in bytes.
    spill_bytes: u64,
    /// IGNORE: the statement is as lenient as without strict mode.
    pub lenient: bool,
    /// Cached `time_zone`.
    pub time_zone: value::TimeZone,
    /// What the parser is told of `sql_mode` and of the client's character set.
    pub parser_mode: parser::SqlMode,
    /// Cached character sets.
    pub charsets: Charsets,
    /// Cached `lock_wait_timeout`, in seconds.
    pub lock_wait_timeout_s: u64,
    /// NOW() of this statement, in microseconds since 1970, once asked for.
    pub now_us: Cell<Option<i64>>,
    /// The session's RAND(), once asked for.
    pub random: Option<expr::functions::Random>,
    /// Sequences of seeded RANDs, by where they stand and in which statement.
    pub seeded: Vec<((usize, u64), expr::functions::Random)>,
    /// The session's counters at its last FLUSH STATUS: what SHOW SESSION STATUS counts from.
    pub status_before: Vec<u64>,
    /// Statements begun.
    pub statements: u64,
    /// `SET timestamp`: NOW() stands still.
    pub timestamp_us: Option<i64>,
}

impl Env {
    /// State of a session that has not said who it is.
    pub fn new(server: Arc<Server>, id: u64, host: String) -> Self {
        let vars = SessionVars::new(&server.globals);
        let mut env = Self {
            vars,
            server,
            user_vars: HashMap::new(),
            database: None,
            user: String::new(),
            account_host: String::new(),
            signalled: None,
            host,
            id,
            caps: Capabilities::PROTOCOL_41,
            status: StatusFlags::AUTOCOMMIT,
            last_insert_id: 0,
            insert_id_given: false,
            insert_id: None,
            autoinc: (AutoincMode::Interleaved, 1, 1),
            row_count: -1,
            found_rows: 0,
            diagnostics: Diagnostics::new(0),
            sql_mode: 0,
            select_limit: u64::MAX,
            join_size_max: u64::MAX,
            safe_updates: false,
            notes: true,
            spill_bytes: 0,
            lenient: false,
            time_zone: value::TimeZone::system(),
            parser_mode: parser::SqlMode::DEFAULT,
            charsets: Charsets::default(),
            lock_wait_timeout_s: 0,
            now_us: Cell::new(None),
            random: None,
            seeded: Vec::new(),
            status_before: Vec::new(),
            statements: 0,
            timestamp_us: None,
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
        self.vars = SessionVars::new(&self.server.globals);
        self.join_size_set();
        self.user_vars.clear();
        self.last_insert_id = 0;
        self.insert_id = None;
        self.row_count = -1;
        self.found_rows = 0;
        self.timestamp_us = None;
        self.diagnostics.clear();
        self.refresh();
    }

    /// Takes the values that are looked at with every statement out of the variables.
    pub fn refresh(&mut self) {
        self.sql_mode = self.vars.number("sql_mode");
        self.select_limit = self.vars.number("sql_select_limit");
        let big = self.vars.number("sql_big_selects") != 0;
        self.join_size_max = if big { u64::MAX } else { self.vars.number("max_join_size") };
        self.safe_updates = self.vars.number("sql_safe_updates") != 0;
        self.notes = self.vars.number("sql_notes") != 0;
        self.lock_wait_timeout_s = self.vars.number("lock_wait_timeout");
        let zone = variables::id("time_zone");
        let zone = zone.get().kind.show(self.vars.value(zone));
        if zone != self.time_zone.name() {
            self.time_zone = value::TimeZone::named(&zone).unwrap_or_default();
        }
        self.diagnostics.set_kept_max(self.vars.number("max_error_count") as usize);
        let autocommit = self.vars.number("autocommit") != 0;
        self.status.set(StatusFlags::AUTOCOMMIT, autocommit);
        let escapes = self.sql_mode & mode::NO_BACKSLASH_ESCAPES != 0;
        self.status.set(StatusFlags::NO_BACKSLASH_ESCAPES, escapes);
        self.refresh_charsets();
        self.refresh_memory();
        self.refresh_autoinc();
        self.parser_mode = self.read_parser_mode();
    }

    /// Whether `autocommit` is on.
    #[inline]
    pub fn autocommit(&self) -> bool {
        self.status.has(StatusFlags::AUTOCOMMIT)
    }

    fn read_parser_mode(&self) -> parser::SqlMode {
        use parser::SqlMode as P;
        let mode = P::of_bits(self.sql_mode);
        match self.charsets.client {
            value::Charset::Latin1 => mode.with(P::FROM_LATIN1),
            _ => mode,
        }
    }

    /// The account as messages write it.
    pub fn account(&self) -> String {
        format!("'{}'@'{}'", self.user, self.account_host)
    }

    /// Connection, schema, user and host, for logs.
    pub fn who(&self) -> String {
        let db = self.database.as_deref().unwrap_or("unconnected");
        format!("{} to db: '{db}' user: '{}' host: '{}'", self.id, self.user, self.host)
    }

    /// A variable's value, computed ones included.
    pub fn variable(&self, id: VarId, global: bool) -> Value {
        let v = id.get();
        match v.effect {
            Effect::WarningCount => Value::UInt(self.diagnostics.counts().0),
            Effect::ErrorCount => Value::UInt(self.diagnostics.counts().1),
            Effect::ConnectionId => Value::UInt(self.id),
            Effect::LastInsertId => Value::UInt(self.last_insert_id),
            Effect::InsertId => Value::UInt(self.insert_id.unwrap_or(0)),
            Effect::Timestamp => Value::Double(self.clock_us() as f64 / 1e6),
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
        self.autoinc = (mode, number(increment), number(offset));
    }

    fn refresh_memory(&mut self) {
        let number = |name| self.vars.number(name);
        let tables = number("tmp_table_size").min(number("max_heap_table_size"));
        let buffers = number("sort_buffer_size").saturating_add(number("join_buffer_size"));
        self.spill_bytes = buffers.saturating_add(tables);
    }

    /// SHOW VARIABLES: names and values, ordered by name.
    pub fn variables(&self, global: bool) -> Vec<(String, String)> {
        let shown = variables::sorted().map(VarId::get).zip(variables::sorted());
        let shown = shown.filter(|(v, _)| !global || v.scope != variables::Scope::Session);
        shown.map(|(v, id)| (v.name.to_string(), v.kind.show(&self.variable(id, global)))).collect()
    }

    fn clock_us(&self) -> i64 {
        if let Some(fixed) = self.timestamp_us {
            return fixed;
        }
        if let Some(now) = self.now_us.get() {
            return now;
        }
        let now = i64::try_from(host::clock::unix_micros()).unwrap_or(i64::MAX);
        self.now_us.set(Some(now));
        now
    }

    /// Raises what could have been an error as a condition of a lower level.
    pub fn warn_of(&mut self, level: WarningLevel, error: &SqlError) {
        let (number, _, text) = error.parts();
        self.warn(level, number, text);
    }

    /// Adds an error to the diagnostics area.
    pub fn note_error(&mut self, code: u16, text: &str) {
        self.diagnostics.add(Level::Error, code, text.to_string());
    }
}

/// MySQL's state of a session that undoes something.
fn state_of(what: Undoing) -> &'static str {
    match what {
        Undoing::Statement => "query end",
        Undoing::Transaction | Undoing::Savepoint => "starting",
    }
}

impl Viewer for Env {
    fn list(&self, which: ServerList) -> Vec<(String, String)> {
        let status = |global| {
            sync::with_current(|slot| {
                slot.map_or_else(Vec::new, |slot| {
                    status::list(&self.server, (slot, &self.status_before), global)
                })
            })
        };
        match which {
            ServerList::GlobalStatus => status(true),
            ServerList::SessionStatus => status(false),
            ServerList::GlobalVariables => self.variables(true),
            ServerList::SessionVariables => self.variables(false),
        }
    }

    fn account(&self) -> String {
        Env::account(self)
    }

    fn processes(&self) -> Vec<ProcessRow> {
        let row = |p: Process| {
            let state = match self.server.engine.progress(p.slot).undoing {
                Some(what) => state_of(what),
                None => {
                    let lock = self.server.catalog.mdl().waited_for(p.slot);
                    states::state_of(p.wait, lock, p.info.as_deref().unwrap_or_default())
                }
            };
            let state = Some(state.to_string());
            let Process { id, user, host, db, command, time_s, info, transaction, leaves, .. } = p;
            let (slot, since_ns, attributes) = (p.slot, p.since_ns, p.attributes);
            ProcessRow {
                id,
                slot,
                since_ns,
                user,
                host,
                db,
                command,
                time_s,
                state,
                info,
                transaction,
                leaves,
                attributes,
            }
        };
        self.server.registry.processes().into_iter().map(row).collect()
    }
}

impl Variables for Env {
    fn user_variable_type(&self, name: &str) -> Option<ColumnType> {
        Some(self.user_variable(name)?.ty())
    }

    fn system_variable_type(&self, name: &str) -> Option<ColumnType> {
        variables::find(name).map(|id| id.get().kind.column_type())
    }
}

impl Environment for Env {
    fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    fn user(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }

    fn version(&self) -> String {
        VERSION.to_string()
    }

    fn connection_id(&self) -> u64 {
        self.id
    }

    fn strict(&self) -> bool {
        self.sql_mode & mode::STRICT != 0 && !self.lenient
    }

    fn set_lenient(&mut self, on: bool) {
        self.lenient = on;
    }

    fn schema_dropped(&mut self, name: &str) {
        if self.database.as_deref() == Some(name) {
            self.database = None;
            self.take_database(self.server_collation());
        }
    }

    fn warning_count(&self) -> u64 {
        self.diagnostics.warning_count()
    }

    fn convert_mode(&self) -> value::ConvertMode<'_> {
        let on = |bit| self.sql_mode & bit != 0;
        let dates = value::time::DateRules {
            no_zero_date: on(mode::NO_ZERO_DATE),
            no_zero_in_date: on(mode::NO_ZERO_IN_DATE),
            allow_invalid: on(mode::ALLOW_INVALID_DATES),
        };
        value::ConvertMode {
            strict: self.strict(),
            dates,
            truncate_fraction: on(mode::TIME_TRUNCATE_FRACTIONAL),
            time_zone: &self.time_zone,
            now_us: self.clock_us(),
        }
    }

    fn zero_is_a_value(&self) -> bool {
        self.sql_mode & mode::NO_AUTO_VALUE_ON_ZERO != 0
    }

    fn count_matched_rows(&self) -> bool {
        self.caps.has(Capabilities::FOUND_ROWS)
    }

    fn system_variable(&self, global: bool, name: &str) -> Result<OwnedDatum, SqlError> {
        let (session, name) = match name.strip_prefix("session.") {
            Some(name) => (true, name),
            None => (false, name),
        };
        let id = variables::readable(name, global, session).map_err(errors::variable_read)?;
        let kind = id.get().kind;
        Ok(match self.variable(id, global) {
            Value::Null => OwnedDatum::Null,
            v if kind.is_text() => OwnedDatum::Bytes(kind.show(&v).into_bytes()),
            Value::UInt(n) => match i64::try_from(n) {
                Ok(n) => OwnedDatum::Int(n),
                Err(_) => OwnedDatum::UInt(n),
            },
            Value::Double(n) => OwnedDatum::Double(n),
            Value::Text(text) => OwnedDatum::Bytes(text.as_bytes().to_vec()),
        })
    }

    fn memory_bytes(&self) -> (u64, u64) {
        (self.spill_bytes, self.server.temptable_bytes_max())
    }

    fn user_variable(&self, name: &str) -> Option<&UserVariable> {
        self.user_vars.get(&name.to_lowercase())
    }

    fn set_user_variable(&mut self, name: &str, value: UserVariable) {
        self.user_vars.insert(name.to_lowercase(), value);
    }

    fn last_insert_id(&self) -> u64 {
        self.last_insert_id
    }

    fn autoinc(&self) -> (AutoincMode, u64, u64) {
        self.autoinc
    }

    fn take_insert_id(&mut self) -> Option<u64> {
        self.insert_id.take()
    }

    fn row_count(&self) -> i64 {
        self.row_count
    }

    fn found_rows(&self) -> u64 {
        self.found_rows
    }

    fn lock_deadline(&self) -> Deadline {
        // A year is MySQL's "for ever"; reading the clock for it would cost every statement.
        const FOREVER_S: u64 = 31_536_000;
        if self.lock_wait_timeout_s >= FOREVER_S {
            return Deadline::Never;
        }
        Deadline::after(Duration::from_secs(self.lock_wait_timeout_s))
    }

    fn server_collation(&self) -> value::Collation {
        value::Collation::from_name(&self.word("collation_server")).unwrap_or_default()
    }

    fn connection_collation(&self) -> value::Collation {
        self.charsets.connection
    }

    fn sql_mode(&self) -> u64 {
        self.sql_mode
    }

    fn optimizer_switch(&self) -> u64 {
        self.vars.number("optimizer_switch")
    }

    fn select_limit(&self) -> u64 {
        self.select_limit
    }

    fn join_size_max(&self) -> u64 {
        self.join_size_max
    }

    fn safe_updates(&self) -> bool {
        self.safe_updates
    }

    fn time_zone(&self) -> value::TimeZone {
        let id = variables::id("time_zone");
        let name = id.get().kind.show(self.vars.value(id));
        value::TimeZone::named(&name).unwrap_or_else(value::TimeZone::system)
    }

    fn random(&mut self) -> f64 {
        let seed =
            || host::clock::unix_micros() as u32 ^ (self.id as u32).wrapping_mul(0x9E37_79B9);
        let mut random = self.random.unwrap_or_else(|| expr::functions::Random::seeded(seed()));
        let next = random.draw();
        self.random = Some(random);
        next
    }

    fn seeded_random(&mut self, place: usize, seed: u32) -> f64 {
        let statement = self.statements;
        let found = self.seeded.iter_mut().find(|s| s.0 == (place, statement));
        match found {
            Some((_, random)) => random.draw(),
            None => {
                let mut random = expr::functions::Random::seeded(seed);
                let next = random.draw();
                self.seeded.retain(|s| s.0.1 == statement);
                self.seeded.push(((place, statement), random));
                next
            }
        }
    }

    fn set_last_insert_id(&mut self, id: u64) {
        self.last_insert_id = id;
        self.insert_id_given = true;
    }

    fn now_us(&self) -> i64 {
        self.clock_us()
    }

    fn sleep(&mut self, seconds: f64) -> bool {
        let seconds = seconds.clamp(0.0, 31_536_000.0);
        host::clock::sleep(Duration::from_secs_f64(seconds)) != sync::WaitResult::Killed
    }

    fn warn(&mut self, level: WarningLevel, number: u16, text: String) {
        let level = match level {
            WarningLevel::Note if !self.notes => return,
            WarningLevel::Note => Level::Note,
            WarningLevel::Warning => Level::Warning,
            WarningLevel::Error => Level::Error,
        };
        self.diagnostics.add(level, number, text);
    }

    fn warn_once(&mut self, number: u16, text: String) {
        let known =
            self.diagnostics.conditions().iter().any(|c| c.code == number && c.text == text);
        if !known {
            self.diagnostics.add(Level::Warning, number, text);
        }
    }

    fn strict_failure(&mut self) -> Option<SqlError> {
        if self.diagnostics.warning_count() == 0 || !self.strict() {
            return None;
        }
        let (number, state, text) = self.diagnostics.first_strict()?;
        self.diagnostics.clear();
        Some(SqlError::Other(number, state, text))
    }
}
