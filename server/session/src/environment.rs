//! What the executor, the planner and the tables of the server ask of a session.

use crate::diagnostics::Level;
use crate::env::{Env, mode};
use crate::errors::{self, SessionError};
use crate::registry::Process;
use crate::server::VERSION;
use crate::states;
use crate::status;
use crate::variables::kind::NO_LIMIT;
use crate::variables::{self, Kind, Origin, Value, VarId};
use access::{Privileges, Rights};
use catalog::{
    Client, ConnectedBy, ConnectedRow, EachUserVariable, ErrorLogRow, FiguresBy, FiguresRow,
    HostRow, ProcessRow, ServerList, SessionOrder, StatusRow, VariableRow, Viewer,
};
use engine::Undoing;
use executor::{AutoincMode, Environment, OwnedDatum, SqlError, WarningLevel};
use expr::{UserVariable, Variables};
use instrument::{Figures, PreparedReport};
use std::sync::Arc;
use std::time::Duration;
use sync::Deadline;
use value::ColumnType;
use wire::constants::Capabilities;

/// MySQL's state of a session that undoes something.
fn state_of(what: Undoing) -> &'static str {
    match what {
        Undoing::Statement => "query end",
        Undoing::Transaction | Undoing::Savepoint => "starting",
    }
}

impl Env {
    /// Raises what could have been an error as a condition of a lower level.
    pub fn warn_of(&mut self, level: WarningLevel, error: &SqlError) {
        let (number, _, text) = error.parts();
        self.warn(level, number, text);
    }

    /// Whether the session may see those of a user: without PROCESS its own.
    fn sees(&self, user: &[u8]) -> bool {
        self.login.rights.global().has(Privileges::PROCESS) || user == self.login.user.as_bytes()
    }

    /// What the process list calls the state of a session.
    fn state(&self, process: &Process) -> &'static str {
        let Process { line, is_idle, wait, stage, .. } = process;
        if *is_idle {
            return "";
        }
        if let Some(what) = self.server.engine.progress(line.slot).undoing {
            return state_of(what);
        }
        let waits = *wait == Some(mdl::WAIT_CLASS);
        let lock = waits.then(|| self.server.catalog.mdl().waited_for(line.slot)).flatten();
        states::state_of(*wait, lock, (*stage, line.info.as_deref().unwrap_or_default()))
    }
}

impl Viewer for Env {
    fn list(&self, which: ServerList) -> Vec<(String, String)> {
        let status = |global| {
            sync::with_current(|slot| {
                slot.map_or_else(Vec::new, |slot| {
                    let transport = (self.link.secured.as_ref(), self.link.compression);
                    status::list(&self.server, slot, transport, global)
                })
            })
        };
        match which {
            ServerList::GlobalStatus => status(true),
            ServerList::SessionStatus => status(false),
            ServerList::GlobalVariables => self.variables(true),
            ServerList::SessionVariables => self.variables(false),
            ServerList::PersistedVariables => self.server.globals.persisted(),
        }
    }

    fn account(&self) -> String {
        Env::account(self)
    }

    fn rights(&self) -> &Rights {
        &self.login.rights
    }

    fn each_process(&self, order: SessionOrder, each: &mut dyn FnMut(&ProcessRow)) {
        self.server.registry.each_process(order, |process| {
            if self.sees(process.line.who.user()) {
                process.line.state = Some(self.state(process));
                each(&process.line);
            }
        });
    }

    fn clients(&self) -> Vec<(u64, Arc<Client>)> {
        let mut clients = self.server.registry.clients();
        clients.retain(|(_, client)| self.sees(client.user.as_bytes()));
        clients
    }

    fn connected(&self, by: ConnectedBy) -> Vec<ConnectedRow> {
        self.server.registry.connected.list(by)
    }

    fn hosts(&self) -> Vec<HostRow> {
        self.server.hosts.rows()
    }

    fn truncate_hosts(&self) {
        self.server.hosts.clear();
    }

    fn status_by(&self, by: Option<ConnectedBy>) -> Vec<StatusRow> {
        self.server.registry.status_by(by)
    }

    fn truncate_status(&self, by: Option<ConnectedBy>) {
        self.server.registry.truncate_status(by);
    }

    fn error_log(&self) -> Vec<ErrorLogRow> {
        self.server.host.error_log()
    }

    fn figures_by(&self, by: Option<ConnectedBy>) -> Vec<FiguresRow> {
        self.server.registry.figures_by(by)
    }

    fn truncate_figures(&self, by: FiguresBy, figures: Figures) {
        self.server.registry.truncate_figures(by, figures);
    }

    fn session_variables(&self, each: &mut dyn FnMut(u64, &str, Option<&str>)) {
        for (thread_id, id, told) in self.server.registry.told() {
            let own = |(name, _)| {
                let var = variables::find(name)?;
                Some((name, Some(var.get().kind.show(&self.variable(var, false)))))
            };
            let list = told.list(id);
            let list = match id == self.link.id {
                true => list.into_iter().filter_map(own).collect(),
                false => list,
            };
            list.iter().for_each(|(name, value)| each(thread_id, name, value.as_deref()));
        }
    }

    fn user_variables(&self, each: &mut EachUserVariable<'_>) {
        for (thread_id, _, told) in self.server.registry.told() {
            told.user().iter().for_each(|(name, value)| each(thread_id, name, value.as_deref()));
        }
    }

    fn prepared_statements(&self) -> Vec<(u64, PreparedReport)> {
        self.server.registry.prepared()
    }

    fn variables_info(&self) -> Vec<VariableRow> {
        let row = |(id, origin): (VarId, Origin)| VariableRow {
            name: id.get().name,
            source: origin.source.name(),
            path: origin.path,
            range: variables::range(id.get()),
            set: origin.set,
        };
        self.server.globals.origins().into_iter().map(row).collect()
    }

    fn truncate_connected(&self, by: ConnectedBy) {
        self.server.registry.connected.truncate(by);
    }

    fn set_monitoring(&self, thread_id: u64, bits: u8) -> bool {
        self.server.registry.set_monitoring(thread_id, bits)
            || host::thread::set_monitoring(thread_id, bits)
    }
}

impl Variables for Env {
    fn user_variable_type(&self, name: &str) -> Option<ColumnType> {
        Some(self.user_variable(name)?.ty())
    }

    fn system_variable_type(&self, name: &str) -> Option<ColumnType> {
        let there = variables::find(name).filter(|id| self.server.globals.has(*id));
        there.map(|id| id.get().kind.column_type())
    }
}

impl Environment for Env {
    fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    fn user(&self) -> String {
        format!("{}@{}", self.login.user, self.login.host)
    }

    fn version(&self) -> String {
        VERSION.to_string()
    }

    fn password_strength(&self, password: &[u8]) -> i64 {
        self.strength_of(password)
    }

    fn active_roles(&self) -> String {
        Env::active_roles(self)
    }

    fn rights_state(&self) -> u32 {
        self.login.rights_state
    }

    fn connection_id(&self) -> u64 {
        self.link.id
    }

    fn thread_of(&self, connection: u64) -> Option<u64> {
        self.server.registry.thread_of(connection)
    }

    fn strict(&self) -> bool {
        self.cached.sql_mode & mode::STRICT != 0 && !self.lenient
    }

    fn set_lenient(&mut self, on: bool) {
        self.lenient = on;
    }

    fn schema_dropped(&mut self, name: &str) {
        if self.database.as_deref() == Some(name) {
            self.database = None;
            self.database_changes += 1;
            self.link.tracker.schema_changed();
            self.take_database(self.server_collation());
        }
    }

    fn warning_count(&self) -> u64 {
        self.diagnostics.warning_count()
    }

    fn convert_mode(&self) -> value::ConvertMode<'_> {
        let on = |bit| self.cached.sql_mode & bit != 0;
        let dates = value::time::DateRules {
            no_zero_date: on(mode::NO_ZERO_DATE),
            no_zero_in_date: on(mode::NO_ZERO_IN_DATE),
            allow_invalid: on(mode::ALLOW_INVALID_DATES),
        };
        value::ConvertMode {
            strict: self.strict(),
            dates,
            truncate_fraction: on(mode::TIME_TRUNCATE_FRACTIONAL),
            time_zone: &self.cached.time_zone,
            now_us: self.clock_us(),
        }
    }

    fn zero_is_a_value(&self) -> bool {
        self.cached.sql_mode & mode::NO_AUTO_VALUE_ON_ZERO != 0
    }

    fn count_matched_rows(&self) -> bool {
        self.link.caps.has(Capabilities::FOUND_ROWS)
    }

    fn system_variable(&self, global: bool, name: &str) -> Result<OwnedDatum, SqlError> {
        let (session, name) = match name.strip_prefix("session.") {
            Some(name) => (true, name),
            None => (false, name),
        };
        let id = variables::readable(name, global, session).map_err(errors::variable_read)?;
        if !self.server.globals.has(id) {
            return Err(SessionError::UnknownVariable(name).into());
        }
        let kind = id.get().kind;
        Ok(match self.variable(id, global) {
            Value::Null => OwnedDatum::Null,
            v if kind.is_text() => OwnedDatum::Bytes(kind.show(&v).into_bytes()),
            Value::UInt(NO_LIMIT) if matches!(kind, Kind::Sized(..)) => OwnedDatum::Int(-1),
            Value::UInt(n) => match i64::try_from(n) {
                Ok(n) => OwnedDatum::Int(n),
                Err(_) => OwnedDatum::UInt(n),
            },
            Value::Double(n) => OwnedDatum::Double(n),
            Value::Text(text) => OwnedDatum::Bytes(text.as_bytes().to_vec()),
        })
    }

    fn memory_bytes(&self) -> (u64, u64) {
        (self.cached.spill_bytes, self.server.temptable_bytes_max())
    }

    fn user_variable(&self, name: &str) -> Option<&UserVariable> {
        self.user_vars.get(&name.to_lowercase())
    }

    fn set_user_variable(&mut self, name: &str, value: UserVariable) {
        let lower = name.to_lowercase();
        self.told.set_user(&lower, name, &value);
        self.user_vars.insert(lower, value);
    }

    fn last_insert_id(&self) -> u64 {
        self.last.last_insert_id
    }

    fn autoinc(&self) -> (AutoincMode, u64, u64) {
        self.cached.autoinc
    }

    fn take_insert_id(&mut self) -> Option<u64> {
        self.last.insert_id.take()
    }

    fn row_count(&self) -> i64 {
        self.last.row_count
    }

    fn found_rows(&self) -> u64 {
        self.last.found_rows
    }

    fn lock_deadline(&self) -> Deadline {
        // A year is MySQL's "for ever"; reading the clock for it would cost every statement.
        if self.cached.lock_wait_timeout_s >= variables::LOCK_WAIT_TIMEOUT_S {
            return Deadline::Never;
        }
        Deadline::after(Duration::from_secs(self.cached.lock_wait_timeout_s))
    }

    fn patience(&self, wait: Option<u64>) -> mdl::Patience {
        let seconds = wait.unwrap_or(match self.cached.lock_wait_timeout_s {
            variables::LOCK_WAIT_TIMEOUT_S => self.vars.number("limpid_ddl_lock_wait_timeout"),
            set => set,
        });
        let limit = Some(Duration::from_secs(seconds.min(variables::LOCK_WAIT_TIMEOUT_S)));
        let slices = self.word("limpid_ddl_wait") == "slices";
        let idle_s = self.server.globals.number("limpid_ddl_kill_idle_blockers");
        let watch = (idle_s > 0).then(|| {
            let server = Arc::clone(&self.server);
            let end = move |blockers: &[u64]| {
                blockers.iter().for_each(|b| server.registry.end_idle(*b as usize, idle_s));
            };
            Arc::new(end) as mdl::Watch
        });
        mdl::Patience { limit, slices, watch }
    }

    fn user_locks(&mut self) -> Option<&mut mdl::UserLocks> {
        Some(&mut self.user_locks)
    }

    fn forget_warnings(&mut self, kept: u64) {
        self.diagnostics.forget_after(kept);
    }

    fn server_collation(&self) -> value::Collation {
        value::Collation::from_name(&self.word("collation_server")).unwrap_or_default()
    }

    fn connection_collation(&self) -> value::Collation {
        self.cached.charsets.connection
    }

    fn sql_mode(&self) -> u64 {
        self.cached.sql_mode
    }

    fn optimizer_switch(&self) -> u64 {
        self.vars.number("optimizer_switch")
    }

    fn select_limit(&self) -> u64 {
        self.cached.select_limit
    }

    fn execution_ms_max(&self) -> u64 {
        self.cached.execution_ms_max
    }

    fn join_size_max(&self) -> u64 {
        self.cached.join_size_max
    }

    fn safe_updates(&self) -> bool {
        self.cached.safe_updates
    }

    fn time_zone(&self) -> &value::TimeZone {
        &self.cached.time_zone
    }

    fn random(&mut self) -> f64 {
        let seed =
            || host::clock::unix_micros() as u32 ^ (self.link.id as u32).wrapping_mul(0x9E37_79B9);
        let mut random =
            self.clock.random.unwrap_or_else(|| expr::functions::Random::seeded(seed()));
        let next = random.draw();
        self.clock.random = Some(random);
        next
    }

    fn seeded_random(&mut self, place: usize, seed: u32) -> f64 {
        let statement = self.clock.statements;
        let found = self.clock.seeded.iter_mut().find(|s| s.0 == (place, statement));
        match found {
            Some((_, random)) => random.draw(),
            None => {
                let mut random = expr::functions::Random::seeded(seed);
                let next = random.draw();
                self.clock.seeded.retain(|s| s.0.1 == statement);
                self.clock.seeded.push(((place, statement), random));
                next
            }
        }
    }

    fn set_last_insert_id(&mut self, id: u64) {
        self.last.last_insert_id = id;
        self.last.insert_id_given = true;
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
            WarningLevel::Note if !self.cached.notes => return,
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
        // A warning that became an error, in its own words.
        Some(SqlError::Other(number, state, text))
    }
}
