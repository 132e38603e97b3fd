//! SET: system and user variables, names, transaction characteristics.
//!
//! 1. Every value of a SET is evaluated and checked before the first is stored: a SET that fails changes
//!    nothing, and no value of it sees another.

use crate::charsets;
use crate::core::{Characteristics, Core, isolation_numbered};
use crate::diagnostics::Level;
use crate::errors::{self, SessionError};
use crate::logs;
use crate::tracking;
use crate::tuning;
use crate::variables::{self, Assign, Effect, Kind, Value, VarId};
use access::Privileges;
use executor::{Environment, OwnedDatum, SqlError};
use expr::UserVariable;
use parser::ast::{Expr, Literal, ResetPersist, Scope, SetItem, SetTransaction, SystemVar};
use value::{Charset, Collation};
use wire::reply::Metadata;

/// Who may set global variables has it.
const ADMIN: &str = "SYSTEM_VARIABLES_ADMIN";

/// A checked assignment.
struct Action {
    id: VarId,
    value: Value,
    scope: Scope,
}

/// Whether switches of the trace that are named are named off.
fn is_off(switches: &str) -> bool {
    let off = |part: &str| ["enabled=off", "one_line=off", "default"].contains(&part);
    switches.split(',').all(off)
}

/// What single variables refuse of the values that their kind has.
fn refuse_value(variable: &str, assign: &Assign<'_>) -> Result<(), SqlError> {
    /// The end of TIMESTAMP.
    const TIMESTAMP_S_MAX: f64 = 2_147_483_647.0;
    let beyond = match assign {
        Assign::Int(n) => *n as f64 > TIMESTAMP_S_MAX,
        Assign::UInt(n) => *n as f64 > TIMESTAMP_S_MAX,
        Assign::Double(n) => *n > TIMESTAMP_S_MAX,
        Assign::Null | Assign::Text(_) => false,
    };
    let refused = match variable {
        "timestamp" => beyond,
        "time_zone" => *assign == Assign::Null,
        "log_output" => return logs::check_output(assign),
        "tls_version" | "tls_ciphersuites" | "ssl_cipher" => match assign {
            Assign::Text(text) => !tls::is_value(variable, text),
            _ => *assign != Assign::Null,
        },
        "default_storage_engine" | "default_tmp_storage_engine" => {
            return check_engine(variable, assign);
        }
        _ => false,
    };
    if refused { Err(SessionError::WrongValue(variable, &assign.to_text()).into()) } else { Ok(()) }
}

/// Engines of MySQL that are not here answer 1235, others 1286.
fn check_engine(variable: &str, assign: &Assign<'_>) -> Result<(), SqlError> {
    const MYSQLS: [&str; 7] =
        ["MyISAM", "MEMORY", "HEAP", "CSV", "ARCHIVE", "BLACKHOLE", "MRG_MYISAM"];
    match assign {
        Assign::Null => Err(SessionError::WrongValue(variable, "NULL").into()),
        Assign::Text(name) if name.eq_ignore_ascii_case("InnoDB") => Ok(()),
        Assign::Text(name) if MYSQLS.iter().any(|known| known.eq_ignore_ascii_case(name)) => {
            Err(errors::unsupported(&format!("{variable} = {name}")))
        }
        Assign::Text(name) => Err(SessionError::UnknownEngine(name).into()),
        _ => Err(SessionError::WrongType(variable).into()),
    }
}

impl Core {
    /// SET.
    pub fn set_statement(&mut self, items: &[SetItem]) -> Result<(), SqlError> {
        let done = self.set(items);
        let ended = self.end_statement(done.as_ref().err());
        done.and(ended)
    }

    /// Sets all of it, or nothing.
    pub(crate) fn set(&mut self, items: &[SetItem]) -> Result<(), SqlError> {
        let (mut actions, mut user) = (Vec::new(), Vec::new());
        let mut named = None;
        for item in items {
            match item {
                SetItem::User(name, expr) => {
                    let (value, ty) = self.evaluate_typed(expr)?;
                    user.push((name, UserVariable::of(value, &ty)));
                }
                SetItem::System(variable, expr) => actions.push(self.check(variable, expr)?),
                SetItem::Names(names) => named = Some(self.names(names.as_ref(), &mut actions)?),
                SetItem::Charset(charset) => self.charset(charset.as_ref(), &mut actions)?,
            }
        }
        actions.iter().try_for_each(|action| self.refuse_characteristic(action))?;
        actions.into_iter().try_for_each(|action| self.apply(action))?;
        for (name, value) in user {
            self.env.set_user_variable(name, value);
            self.env.link.tracker.state_changed();
        }
        if named.is_some() {
            self.env.cached.charsets.results = named;
        }
        Ok(())
    }

    fn check(&mut self, variable: &SystemVar, expr: &Expr) -> Result<Action, SqlError> {
        let scope = variable.scope;
        let global = matches!(scope, Scope::Global | Scope::Persist | Scope::PersistOnly);
        let only = scope == Scope::PersistOnly;
        let name = match &variable.component {
            Some(component) => format!("{component}.{}", variable.name),
            None => variable.name.clone(),
        };
        let id = variables::settable(&name, global, only).map_err(errors::variable)?;
        if !self.env.server.globals.has(id) {
            return Err(SessionError::UnknownVariable(&name).into());
        }
        self.may_set(id, scope)?;
        if let Some((number, text)) = variables::set_warning(id.get()) {
            self.env.diagnostics.add(Level::Warning, number, text);
        }
        let session_fixed = !global && variables::is_session_fixed(id.get());
        if matches!(expr, Expr::Default) {
            if !variables::has_default(id.get()) {
                return Err(SessionError::NoDefault(id.get().name).into());
            }
            if session_fixed {
                return Err(SessionError::SessionFixed(id.get().name).into());
            }
            let value = match global {
                true => self.env.server.globals.initial(id),
                false => self.env.server.globals.value(id),
            };
            return Ok(Action { id, value, scope });
        }
        // A bare word such as SET x = ON arrives as a string or, where it looks like one, as a column.
        let value = match expr {
            Expr::Column(c) if c.table.is_none() => {
                OwnedDatum::Bytes(c.column.clone().into_bytes())
            }
            Expr::Literal(Literal::Bool(b)) => OwnedDatum::Int(i64::from(*b)),
            other => self.evaluate(other)?,
        };
        let checked = self.checked((id, global), &value)?;
        if session_fixed {
            return Err(SessionError::SessionFixed(id.get().name).into());
        }
        if id.get().effect == Effect::Names {
            match &value {
                OwnedDatum::Bytes(name) => self.old(&String::from_utf8_lossy(name)),
                _ => self.old(&id.get().kind.show(&checked)),
            }
        }
        if id.get().effect == Effect::SqlMode {
            for (number, text) in variables::mode_warnings(checked.as_u64()) {
                self.env.diagnostics.add(Level::Warning, number, text.to_string());
            }
        }
        Ok(Action { id, value: checked, scope })
    }

    /// Whether the session may set a variable there.
    ///
    /// # Errors
    /// 1227, 3630.
    fn may_set(&self, id: VarId, scope: Scope) -> Result<(), SqlError> {
        let rights = &self.env.login.rights;
        match scope {
            Scope::Global | Scope::Persist => {
                self.may_set_globally()?;
                self.may_set_of_all(id.get().name)?;
            }
            Scope::PersistOnly => self.may_persist_only()?,
            Scope::Session | Scope::Unspecified if variables::is_restricted(id.get()) => {
                let (mut names, mut words) = (
                    vec![ADMIN, "SESSION_VARIABLES_ADMIN"],
                    "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN",
                );
                if id.get().name == "gtid_next" {
                    names.push("REPLICATION_APPLIER");
                    words = "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or \
                             REPLICATION_APPLIER";
                }
                let by_super = match variables::is_set_by_super(id.get()) {
                    true => Privileges::SUPER,
                    false => {
                        words = "SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN";
                        Privileges::NONE
                    }
                };
                rights.check_global(by_super, &names, words)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// SET GLOBAL and SET PERSIST.
    ///
    /// # Errors
    /// 1227.
    fn may_set_globally(&self) -> Result<(), SqlError> {
        self.needs_any(Privileges::SUPER, &[ADMIN], "SUPER or SYSTEM_VARIABLES_ADMIN")
    }

    /// SET PERSIST_ONLY.
    ///
    /// # Errors
    /// 3630.
    fn may_persist_only(&self) -> Result<(), SqlError> {
        let rights = &self.env.login.rights;
        match rights.dynamic(ADMIN) && rights.dynamic("PERSIST_RO_VARIABLES_ADMIN") {
            true => Ok(()),
            false => Err(SessionError::PersistDenied.into()),
        }
    }

    /// What it takes beside the right to set global variables.
    ///
    /// # Errors
    /// 1227.
    fn may_set_of_all(&self, name: &str) -> Result<(), SqlError> {
        let rights = &self.env.login.rights;
        match name {
            "mandatory_roles" => Ok(rights.check_global(
                Privileges::NONE,
                &["ROLE_ADMIN"],
                "SYSTEM_VARIABLES_ADMIN or SUPER privileges, as well as the ROLE_ADMIN",
            )?),
            "offline_mode" => Ok(rights.check_global(
                Privileges::SUPER,
                &["CONNECTION_ADMIN"],
                "SYSTEM_VARIABLES_ADMIN plus CONNECTION_ADMIN or SUPER",
            )?),
            _ => Ok(()),
        }
    }

    /// Sets a variable of the session.
    ///
    /// # Errors
    /// The value is none of the variable's.
    pub fn set_for_session(&mut self, id: VarId, value: &OwnedDatum) -> Result<(), SqlError> {
        let value = self.checked((id, false), value)?;
        self.apply_session(id, value)
    }

    fn checked(
        &mut self,
        (id, global): (VarId, bool),
        value: &OwnedDatum,
    ) -> Result<Value, SqlError> {
        let v = id.get();
        let text;
        let assign = match value {
            OwnedDatum::Null => Assign::Null,
            OwnedDatum::Int(n) => Assign::Int(*n),
            OwnedDatum::UInt(n) => Assign::UInt(*n),
            OwnedDatum::Double(n) => Assign::Double(*n),
            OwnedDatum::Decimal(n) => Assign::Double(n.to_f64()),
            other => {
                text = value::format::to_text(&other.datum());
                Assign::Text(&text)
            }
        };
        let zone;
        let assign = match (assign, v.name) {
            // It is shown as it is meant: +03:00, SYSTEM.
            (Assign::Text(word), "time_zone") => {
                let named = value::TimeZone::named(word);
                zone = named.ok_or(SessionError::UnknownTimeZone(word))?;
                Assign::Text(zone.name())
            }
            (assign, _) => assign,
        };
        let canonical = match (v.effect, &assign) {
            (Effect::Names, _) => self.charset_or_collation(v.name, &assign)?,
            (_, Assign::Text(text)) if v.name == "optimizer_trace" && is_off(text) => {
                Some(v.default)
            }
            _ => None,
        };
        let assign = canonical.map_or(assign, Assign::Text);
        refuse_value(v.name, &assign)?;
        self.refuse_of_client(v.name, &assign)?;
        // Switches that are not named stay as they are.
        let checked = match v.kind {
            Kind::Switches(words) => {
                let current = self.env.variable(id, global).as_u64();
                variables::switches(v.name, words, current, &assign)
                    .map(|mask| (Value::UInt(mask), None))
            }
            kind => kind.check(v.name, &assign),
        };
        let (value, warning) = checked.map_err(errors::variable)?;
        if let Some(reason) = v.lacks(&value) {
            let what = format!("{} = {}: {reason}", v.name, v.kind.show(&value));
            return Err(errors::unsupported(what.trim_end_matches('.')));
        }
        if let Some(warning) = warning {
            const TRUNCATED: u16 = 1292;
            self.env.diagnostics.add(Level::Warning, TRUNCATED, warning);
        }
        Ok(value)
    }

    /// What depends on the client, or is worth a warning: how it is told of results and of changes of its session.
    ///
    /// # Errors
    /// 3026, 3640.
    fn refuse_of_client(&mut self, variable: &str, assign: &Assign<'_>) -> Result<(), SqlError> {
        match (variable, assign) {
            ("session_track_system_variables", Assign::Text(list)) => {
                let unknown = tracking::check_list(list)
                    .map_err(|name| SqlError::from(SessionError::TrackedTwice(&name)))?;
                for name in unknown {
                    let text =
                        format!("{name} is not a valid system variable and will be ignored.");
                    self.env.diagnostics.add(Level::Warning, 1231, text);
                }
                Ok(())
            }
            ("resultset_metadata", Assign::Text(word)) if word.eq_ignore_ascii_case("NONE") => {
                match self.env.link.metadata {
                    Metadata::Always => Err(SessionError::MetadataNotOptional.into()),
                    Metadata::Full | Metadata::None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// The name that an assigned character set or collation goes by; those of several bytes for every character are
    /// none that a client can write statements in.
    fn charset_or_collation(
        &mut self,
        variable: &str,
        assign: &Assign<'_>,
    ) -> Result<Option<&'static str>, SqlError> {
        const WIDE: [&str; 4] = ["ucs2", "utf16", "utf16le", "utf32"];
        // The default collations by which a client may name them.
        const NUMBERS: [(i64, &str); 4] =
            [(35, "ucs2"), (54, "utf16"), (56, "utf16le"), (60, "utf32")];
        let named = match assign {
            Assign::Text(name) => WIDE.iter().find(|wide| wide.eq_ignore_ascii_case(name)).copied(),
            Assign::Int(id) => NUMBERS.iter().find(|(n, _)| n == id).map(|(_, name)| *name),
            _ => None,
        };
        if let Some(name) = named
            && variable == "character_set_client"
        {
            if name == "ucs2" {
                let text = "'ucs2' is deprecated and will be removed in a future release. Please \
                            use utf8mb4 instead";
                self.env.diagnostics.add(Level::Warning, 1287, text.into());
            }
            return Err(SessionError::WrongValue(variable, &assign.to_text()).into());
        }
        charsets::canonical(variable, assign)
    }

    /// SET NAMES: the assignments, and the collation that the client is told of.
    fn names(
        &mut self,
        names: Option<&(String, Option<String>)>,
        actions: &mut Vec<Action>,
    ) -> Result<Collation, SqlError> {
        let collation = match names {
            None => {
                let id = variables::id("collation_connection");
                let shown = id.get().kind.show(&self.env.server.globals.value(id));
                Collation::from_name(&shown).unwrap_or_default()
            }
            Some((charset, collation)) => {
                self.charset_or_collation("character_set_client", &Assign::Text(charset))?;
                Collation::of_clauses(Some(charset), collation.as_deref(), Collation::default())?
            }
        };
        let charset = collation.charset().name();
        self.words(
            &[
                ("character_set_client", charset),
                ("character_set_connection", charset),
                ("character_set_results", charset),
                ("collation_connection", collation.name()),
            ],
            actions,
        )?;
        Ok(collation)
    }

    /// SET CHARACTER SET: literals become text of the current database's collation.
    fn charset(
        &mut self,
        charset: Option<&String>,
        actions: &mut Vec<Action>,
    ) -> Result<(), SqlError> {
        let charset = match charset {
            None => Charset::default(),
            Some(name) => {
                self.charset_or_collation("character_set_client", &Assign::Text(name))?;
                Charset::named(name)?
            }
        };
        let collation = Collation::from_name(&self.env.word("collation_database"));
        let collation = collation.unwrap_or_default();
        self.words(
            &[
                ("character_set_client", charset.name()),
                ("character_set_results", charset.name()),
                ("character_set_connection", collation.charset().name()),
                ("collation_connection", collation.name()),
            ],
            actions,
        )
    }

    fn words(
        &mut self,
        words: &[(&'static str, &str)],
        actions: &mut Vec<Action>,
    ) -> Result<(), SqlError> {
        for (name, word) in words {
            let id = variables::id(name);
            let value = self.checked((id, false), &OwnedDatum::Bytes(word.as_bytes().to_vec()))?;
            actions.push(Action { id, value, scope: Scope::Session });
        }
        Ok(())
    }

    /// Warns of a name of the old Unicode character set.
    fn old(&mut self, name: &str) {
        if let Some((number, text)) = value::charset::deprecation(name) {
            self.env.diagnostics.add(Level::Warning, number, text);
        }
    }

    fn apply(&mut self, action: Action) -> Result<(), SqlError> {
        let Action { id, value, scope } = action;
        let globals = &self.env.server.globals;
        match scope {
            Scope::PersistOnly => globals.persist(id, &value).map_err(errors::variable),
            Scope::Persist => {
                globals.persist(id, &value).map_err(errors::variable)?;
                self.apply_global(id, value)
            }
            Scope::Global => self.apply_global(id, value),
            _ if matches!(id.get().effect, Effect::Isolation | Effect::ReadOnly) => {
                self.apply_characteristic(id, value, scope == Scope::Unspecified);
                Ok(())
            }
            Scope::Session | Scope::Unspecified => self.apply_session(id, value),
        }
    }

    fn apply_global(&mut self, id: VarId, value: Value) -> Result<(), SqlError> {
        if id.get().effect == Effect::Access {
            self.set_access(id.get().name, &id.get().kind.show(&value), value.as_u64() != 0)?;
        }
        let server = &self.env.server;
        let mut value = value;
        match id.get().effect {
            Effect::Setting | Effect::Engine => {
                let diagnostics = &mut self.env.diagnostics;
                let mut warn = |code, text| diagnostics.add(Level::Warning, code, text);
                value = tuning::apply(server, id.get().name, value, &mut warn)?;
            }
            Effect::FlushLogAtTrxCommit => {
                server.engine.set_flush_log_at_trx_commit(value.as_u64() as u8);
            }
            Effect::LockWaitTimeout => {
                server.engine.settings().set_lock_wait_timeout_s(value.as_u64() as u32);
            }
            Effect::Names => {
                let word = id.get().kind.show(&value);
                if let Some((other, word)) = charsets::partner(id.get().name, &word) {
                    let other = variables::id(other);
                    if let Ok((value, _)) =
                        other.get().kind.check(other.get().name, &Assign::Text(word))
                    {
                        server.globals.set(other, value);
                    }
                }
            }
            _ => {}
        }
        server.globals.set(id, value);
        server.globals.was_set_by(id, &self.env.login.user, &self.env.login.host);
        match id.get().effect {
            Effect::Logs => logs::logs_of(id.get().name)
                .iter()
                .try_for_each(|log| server.logs.open(*log, &server.globals, &server.host)),
            Effect::Passwords => {
                server.password_rules_changed(id.get().name);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn apply_session(&mut self, id: VarId, value: Value) -> Result<(), SqlError> {
        match id.get().effect {
            Effect::Autocommit if value.as_u64() != 0 && !self.env.autocommit() => {
                self.branch.admit_end()?;
                self.commit_work()?;
            }
            Effect::InsertId => self.env.last.insert_id = Some(value.as_u64()).filter(|id| *id > 0),
            Effect::LastInsertId => self.env.last.last_insert_id = value.as_u64(),
            Effect::Timestamp => {
                let Value::Double(seconds) = value else { return Ok(()) };
                self.env.set_timestamp((seconds != 0.0).then_some((seconds * 1e6) as i64));
                self.env.link.tracker.was_set(id);
                return Ok(());
            }
            Effect::Names => {
                let word = id.get().kind.show(&value);
                if let Some((other, word)) = charsets::partner(id.get().name, &word) {
                    let other = variables::id(other);
                    let value = self.checked((other, false), &OwnedDatum::Bytes(word.into()))?;
                    self.env.vars.set(other, value);
                }
                if id.get().name == "character_set_results" {
                    self.env.cached.charsets.results = None;
                }
            }
            _ => {}
        }
        self.env.vars.set(id, value);
        if id.get().name == "max_join_size" {
            self.env.join_size_set();
        }
        self.env.refresh();
        self.refresh();
        self.env.link.tracker.was_set(id);
        Ok(())
    }

    /// SET TRANSACTION.
    pub fn set_transaction(&mut self, set: &SetTransaction) -> Result<(), SqlError> {
        if let Some(read_only) = set.read_only {
            self.set_number("transaction_read_only", u64::from(read_only), set.scope)?;
        }
        if let Some(level) = set.isolation {
            self.set_number("transaction_isolation", level as u64, set.scope)?;
        }
        Ok(())
    }

    fn set_number(&mut self, name: &'static str, n: u64, scope: Scope) -> Result<(), SqlError> {
        self.may_set(variables::id(name), scope)?;
        let action = Action { id: variables::id(name), value: Value::UInt(n), scope };
        self.refuse_characteristic(&action)?;
        self.apply(action)
    }

    /// 1568, 1679, 1694: the present transaction is what it was begun as.
    fn refuse_characteristic(&self, action: &Action) -> Result<(), SqlError> {
        let name = action.id.get().name;
        let session = matches!(action.scope, Scope::Unspecified | Scope::Session);
        let in_transaction = self.is_in_transaction();
        match name {
            "sql_log_bin" if self.transaction.open => {
                return Err(SessionError::FixedSqlLogBin(name).into());
            }
            "binlog_format" if self.transaction.open && session => {
                return Err(SessionError::FixedBinlogFormat(name).into());
            }
            "xa_detach_on_prepare" if session && in_transaction => {
                return Err(SessionError::FixedInTransaction(name).into());
            }
            _ => {}
        }
        let is_characteristic =
            matches!(action.id.get().effect, Effect::Isolation | Effect::ReadOnly);
        match is_characteristic && action.scope == Scope::Unspecified && in_transaction {
            true => Err(SessionError::InTransaction.into()),
            false => Ok(()),
        }
    }

    /// SET of a characteristic: of the session, or of the next transaction alone.
    fn apply_characteristic(&mut self, id: VarId, value: Value, one_shot: bool) {
        let next = match (id.get().effect, value.as_u64()) {
            (Effect::ReadOnly, n) => {
                Characteristics { read_only: n != 0, ..self.transaction.characteristics }
            }
            (_, n) => Characteristics {
                isolation: isolation_numbered(n),
                ..self.transaction.characteristics
            },
        };
        if !one_shot {
            self.env.vars.set(id, value);
            self.env.link.tracker.was_set(id);
            self.transaction.take_variables(&self.env);
        } else if id.get().effect == Effect::ReadOnly {
            self.env.link.tracker.next_is(None, Some(next.read_only));
        } else {
            self.env.link.tracker.next_is(Some(next.isolation), None);
        }
        if !self.transaction.open {
            self.characterise(next, one_shot || self.transaction.one_shot);
        }
    }

    /// Whether the session may forget what is persisted: of what can be set while the server runs, and of what cannot.
    ///
    /// # Errors
    /// 1227, 3630.
    fn may_reset(&self, name: Option<&str>) -> Result<(), SqlError> {
        let persisted = self.env.server.globals.persisted();
        let ids = persisted.iter().filter_map(|(known, _)| variables::find(known));
        let meant = |id: &VarId| name.is_none_or(|name| variables::find(name) == Some(*id));
        let (fixed, others): (Vec<_>, Vec<_>) = ids.filter(meant).partition(|id| id.get().fixed);
        if !others.is_empty() {
            self.may_set_globally()?;
        }
        if fixed.is_empty() { Ok(()) } else { self.may_persist_only() }
    }

    /// RESET PERSIST.
    pub fn reset_persist(&mut self, reset: &ResetPersist) -> Result<(), SqlError> {
        self.may_reset(reset.name.as_deref())?;
        let result = self.env.server.globals.reset_persist(reset.name.as_deref());
        match result {
            Err(error) if reset.if_exists => {
                let (code, _, text) = errors::variable(error).parts();
                self.env.diagnostics.add(Level::Warning, code, text);
                Ok(())
            }
            other => other.map_err(errors::variable),
        }
    }
}
