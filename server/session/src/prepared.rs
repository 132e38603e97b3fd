//! Prepared statements of the binary protocol and of SQL.
//!
//! 1. An execution decodes its parameters onto the stack unless they are many: warm, nothing is allocated.
//! 2. A statement is never run with parameters that do not match its markers: number and types are checked
//!    against the packet first.

use crate::core::{Core, Descriptor, Done, One, Pending, Runner, StatementCode, instruments};
use crate::cursors::CURSOR_READ_ONLY;
use crate::errors;
use crate::events::without_secrets;
use crate::hints::Hinted;
use crate::logs;
use crate::net::Net;
use crate::prepared_list::Listed;
use crate::registry::Activity;
use crate::shared_programs::{Key, Pinned, SharedProgram, Surroundings};
use crate::sink;
use crate::statement;
use executor::{Environment, OwnedDatum, ParameterType, Prepared, ResultColumn, SqlError};
use expr::UserVariable;
use instrument::{Counter, PreparedOf, PreparedRow, count};
use parser::SqlMode;
use parser::ast::{Execute, Prepare, PrepareSource, Statement};
use parser::cut;
use smallvec::SmallVec;
use std::sync::Arc;
use value::{ColumnType, Datum, Decimal, Kind};
use wire::prepared::{DateTime, Param, ParamType, Time};
use wire::reply;

impl Core {
    /// COM_STMT_PREPARE.
    pub fn prepare_command(&mut self, sql: &[u8]) {
        count(Counter::Questions, 1);
        count(Counter::ComStmtPrepare, 1);
        let now_ns = sync::now_ns();
        self.statements.shows_other();
        self.env.server.registry.entry(self.slot).publish(Activity::Prepare, now_ns, sql);
        let text = self.env.charsets.statement(sql);
        match self.make(text.as_ref()) {
            Ok(one) => self.announce(one, now_ns),
            Err(error) => self.send_error(&error),
        }
    }

    /// Compiles a text; the metadata locks that it took for that are given back.
    fn make(&mut self, sql: &[u8]) -> Result<One, SqlError> {
        let mark = self.tables.mark();
        let made = self.make_locked(sql);
        self.tables.end_statement(self.client.slot());
        if self.transaction.open {
            self.tables.release_since(self.client.slot(), mark);
        } else {
            self.tables.release_all(self.client.slot());
        }
        made
    }

    fn make_locked(&mut self, sql: &[u8]) -> Result<One, SqlError> {
        let max = self.env.server.globals.number("max_prepared_stmt_count");
        if self.env.server.statements_open().max(0) as u64 >= max {
            return Err(errors::too_many_statements(&max.to_string()));
        }
        let key = self.open_key(sql);
        let mut stale = Vec::new();
        if let Some(key) = &key
            && let Some(one) = self.adopt_open(key, &mut stale)?
        {
            return Ok(one);
        }
        let parsed = self.parse_next(sql, 0, true).map_err(|e| errors::parse(&e, sql))?;
        if parsed.more {
            return Err(statement::refuse_second(sql, parsed.end));
        }
        self.warn_of_text(&parsed.warnings);
        let kind = parsed.kind;
        if !kind.preparable {
            return Err(errors::not_preparable());
        }
        let (params, digest) = (parsed.params, parsed.digest.map(Arc::new));
        let key = key.filter(|_| parsed.warnings.is_empty());
        let text = key.as_ref().map_or_else(|| Arc::from(sql), |key| Arc::clone(&key.text));
        let read_as = key.as_ref().map(|_| self.env.parser_mode);
        let program = match (parsed.statement, kind.runner) {
            (Statement::Call(call), _) => return Err(self.no_procedure(&call.name)),
            (refused, Runner::Refused(words)) => return Err(errors::unsupported(words(&refused))),
            (statement, Runner::Executor) => {
                let hinted = self.set_hinted(&statement, true);
                let made = self.compile_open(statement, params, digest.clone());
                self.unset_hinted(hinted);
                let made = made?;
                if let Some(key) = key {
                    self.publish(&key, (&made, Pinned::default(), params), &stale);
                }
                self.compiled(made)
            }
            (statement, _) => StatementCode::Session(Box::new(statement)),
        };
        Ok(One::new(program, (text, read_as), params, kind, (digest, self.schema_of_prepare())))
    }

    /// What other sessions' statements of this text are found by; `None`: there are none.
    fn open_key(&self, sql: &[u8]) -> Option<Key> {
        // Elsewhere what is written is converted from the client's character set.
        let converted = !(self.env.charsets.keeps_literals || sql.is_ascii());
        let shared =
            self.may_keep_programs() && !converted && cut::stands_alone(sql, self.env.parser_mode);
        shared.then(|| Key {
            text: sql.into(),
            is_cut: false,
            parameters: Box::default(),
            surroundings: Surroundings {
                settings: self.settings(),
                database: self.env.database.clone(),
            },
        })
    }

    /// Prepares a text with a program that was made before, here or in another session.
    fn adopt_open(
        &mut self,
        key: &Key,
        stale: &mut Vec<Arc<SharedProgram>>,
    ) -> Result<Option<One>, SqlError> {
        let Some((made, shared)) = self.adopt_whole(key, stale)? else { return Ok(None) };
        let kind = (self.describe)(made.statement());
        let home = (made.digest().cloned(), self.schema_of_prepare());
        let program = self.compiled(made);
        let text = (Arc::clone(&shared.text), Some(self.env.parser_mode));
        Ok(Some(One::new(program, text, shared.params, kind, home)))
    }

    /// A program of a text with markers that another session has made; those that are stale go to `stale`.
    fn adopt_whole(
        &mut self,
        key: &Key,
        stale: &mut Vec<Arc<SharedProgram>>,
    ) -> Result<Option<(Prepared, Arc<SharedProgram>)>, SqlError> {
        for shared in self.env.server.programs.find(key, |_| true) {
            let mark = self.tables.mark();
            if let Some(made) = shared.program.adopt(&mut self.context())? {
                count(Counter::LimpidPlanCacheSharedHits, 1);
                return Ok(Some((made, shared)));
            }
            // It may have locked what the statement does not name any more.
            self.tables.release_since(self.client.slot(), mark);
            stale.push(shared);
        }
        Ok(None)
    }

    /// Locks the tables of a prepared statement. Where its program is not the one to be run, it has another one from
    /// now on: another session's, or a new one.
    #[inline]
    fn lock_prepared(
        &mut self,
        prepared: &mut Prepared,
        text: (&[u8], Option<SqlMode>, usize),
        listed: Option<&Listed>,
    ) -> Result<(), SqlError> {
        match prepared.lock(&mut self.context())? {
            true => Ok(()),
            false => {
                if let Some(listed) = listed {
                    listed.row.is_reprepared();
                }
                self.renew(prepared, text)
            }
        }
    }

    #[cold]
    fn renew(
        &mut self,
        prepared: &mut Prepared,
        (sql, read_as, params): (&[u8], Option<SqlMode>, usize),
    ) -> Result<(), SqlError> {
        // Its tree is that of the text as it was read then.
        let is_read_alike = read_as == Some(self.env.parser_mode);
        let mut key = if is_read_alike { self.open_key(sql) } else { None };
        let mut stale = Vec::new();
        if let Some(key) = &mut key {
            key.parameters = prepared.parameters().into();
            if let Some((made, _)) = self.adopt_whole(key, &mut stale)? {
                prepared.take_over(made);
                return Ok(());
            }
        }
        prepared.compile_again(&mut self.context())?;
        if let Some(key) = key {
            self.publish(&key, (prepared, Pinned::default(), params), &stale);
        }
        Ok(())
    }

    /// Raises the warnings of a program that is prepared.
    fn compiled(&mut self, mut made: Prepared) -> StatementCode {
        made.announce(&mut self.env);
        StatementCode::Compiled(Box::new(made))
    }

    /// Answers COM_STMT_PREPARE.
    fn announce(&mut self, one: One, begun_ns: u64) {
        let columns: Vec<ResultColumn> = match &one.program {
            StatementCode::Compiled(p) => p.columns().to_vec(),
            StatementCode::Session(statement) => match one.kind.runner {
                Runner::Rows(columns, _) => columns(self, statement).unwrap_or_default(),
                _ => Vec::new(),
            },
        };
        let params = one.params();
        let types = self.announced(&one);
        let id = self.statements.add(one);
        self.list(id, begun_ns);
        self.env.server.count_statements(1);
        let (caps, status) = (self.env.caps, self.env.status);
        let warnings = self.env.diagnostics.wire_count();
        reply::prepared(&mut self.reply.out, id, columns.len() as u16, params as u16, warnings);
        if params > 0 {
            for ty in &types {
                let marker = ResultColumn::computed("?", *ty, decimals_of(ty));
                sink::put_column(&mut self.reply.out, &marker, &self.env.charsets, None);
            }
            reply::end_of_columns(&mut self.reply.out, caps, status, 0);
        }
        if !columns.is_empty() {
            for c in &columns {
                sink::put_column(&mut self.reply.out, c, &self.env.charsets, None);
            }
            reply::end_of_columns(&mut self.reply.out, caps, status, 0);
        }
    }

    /// Shows a statement of the protocol to those who look at all.
    fn list(&mut self, id: u32, begun_ns: u64) {
        let Some(mut one) = self.statements.place(id).and_then(Option::take) else { return };
        one.listed = self.listed(&one, (u64::from(id), None), begun_ns).map(Box::new);
        if let Some(place) = self.statements.place(id) {
            *place = Some(one);
        }
    }

    fn listed(&self, one: &One, (id, name): (u64, Option<&str>), begun_ns: u64) -> Option<Listed> {
        let secret = match one.program {
            StatementCode::Compiled(_) => None,
            StatementCode::Session(_) => without_secrets(&one.sql),
        };
        let of = PreparedOf {
            id,
            name: name.map(Into::into),
            text: secret.map_or_else(|| Arc::clone(&one.sql), Into::into),
            event_id: self.events.event_id(),
        };
        let took_ns = sync::now_ns().saturating_sub(begun_ns);
        PreparedRow::new(of, took_ns).map(|row| self.statements.figures.add(row))
    }

    /// Types of the parameters, as clients are told.
    fn announced(&self, one: &One) -> Vec<ColumnType> {
        let known = match &one.program {
            StatementCode::Compiled(prepared) => prepared.parameters(),
            StatementCode::Session(_) => &[],
        };
        let collation = self.env.connection_collation();
        let known = known.iter().map(|p| p.announced);
        let all = known.chain(std::iter::repeat(ParameterType::Text));
        all.map(|ty| ty.column_type(collation)).take(one.params()).collect()
    }

    /// COM_STMT_EXECUTE.
    #[inline]
    pub fn execute_command(&mut self, id: u32, flags: u8, rest: &[u8], net: &mut dyn Net) {
        count(Counter::ComStmtExecute, 1);
        // Taken out for the time of its run, so that the session can be borrowed beside it.
        let Some(mut one) = self.statements.place(id).and_then(Option::take) else {
            let id = id.to_string();
            return self.send_error(&errors::unknown_statement(&id, "mysqld_stmt_execute"));
        };
        let result = self.run_one((id, &mut one), flags, rest, net);
        if let Some(place) = self.statements.place(id) {
            *place = Some(one);
        }
        if let Err(error) = result {
            self.send_error(&error);
        }
    }

    #[inline]
    fn run_one(
        &mut self,
        (id, one): (u32, &mut One),
        flags: u8,
        rest: &[u8],
        net: &mut dyn Net,
    ) -> Result<(), SqlError> {
        let now_ns = sync::now_ns();
        self.begin_event(instruments::EXECUTE, now_ns);
        self.take_digest(&mut one.digest);
        let entry = self.env.server.registry.entry(self.slot);
        if self.statements.shows(id) {
            entry.publish_again(Activity::Execute, now_ns, &one.sql);
        } else {
            entry.publish(Activity::Execute, now_ns, &one.sql);
        }
        self.env.diagnostics.clear();
        if one.pending != Pending::Nothing {
            one.end_pending()?;
        }
        if let Some(counter) = one.kind.counter {
            count(counter, 1);
        }
        let count = one.params();
        let mut values = wire::prepared::params(rest, count, &mut one.types)
            .map_err(|_| errors::wrong_arguments("mysqld_stmt_execute"))?;
        #[allow(clippy::needless_late_init)] // it outlives the parameters, which borrow from it
        let converted;
        let mut params: SmallVec<[Param<'_>; FEW]> = SmallVec::new();
        for i in 0..count {
            let long = matches!(one.long.get(i), Some(Some(_)));
            let param = values.next_param(long);
            params.push(param.map_err(|_| errors::wrong_arguments("mysqld_stmt_execute"))?);
        }
        converted = self.converted_params(&params, &one.types.list);
        for (param, text) in params.iter_mut().zip(&converted) {
            if let Some(text) = text {
                *param = Param::Bytes(text);
            }
        }
        if self.logs_executions() {
            let text = logs::filled(&one.sql, |n| params.get(n).map_or("?".into(), shown));
            self.log_general("Execute", &text);
        }
        let left = self.enter_schema(&mut one.schema);
        let done = self.run_with(one, flags, &params, net);
        self.return_to_schema(left);
        done?;
        one.forget_long();
        Ok(())
    }

    /// Parameters whose text is other bytes in the connection's character set than the client sent.
    #[inline]
    fn converted_params(&self, params: &[Param<'_>], types: &[ParamType]) -> Vec<Option<Vec<u8>>> {
        if self.env.charsets.keeps_literals {
            return Vec::new();
        }
        let one = |(param, ty): (&Param<'_>, &ParamType)| match param {
            Param::Bytes(s) if is_text(ty.code) => {
                Some(self.env.charsets.parameter(s).into_owned())
            }
            _ => None,
        };
        params.iter().zip(types).map(one).collect()
    }

    #[inline]
    fn run_with(
        &mut self,
        one: &mut One,
        flags: u8,
        params: &[Param<'_>],
        net: &mut dyn Net,
    ) -> Result<(), SqlError> {
        let text = (&one.sql[..], one.read_as, one.params());
        let One { program, kind, long, types, pending, cursor, listed, .. } = one;
        let texts: Vec<Option<String>> = match params.iter().any(is_temporal) {
            true => params.iter().map(temporal_text).collect(),
            false => Vec::new(),
        };
        let datum = |i: usize| match params[i] {
            Param::Null => Datum::Null,
            Param::Int(n) => Datum::Int(n),
            Param::UInt(n) => Datum::UInt(n),
            Param::Float(n) => Datum::Double(f64::from(n)),
            Param::Double(n) => Datum::Double(n),
            Param::Bytes(bytes) => Datum::Bytes(bytes),
            Param::Decimal(text) => Datum::Decimal(Decimal::from_text(text).value),
            Param::Long => match long.get(i) {
                Some(Some(long)) => Datum::Bytes(&long.bytes),
                _ => Datum::Null,
            },
            Param::DateTime(v) => temporal(date_time(&v), texts.get(i)),
            Param::Time(v) => temporal(time(&v), texts.get(i)),
        };
        let prepared = match program {
            StatementCode::Compiled(prepared) => prepared,
            StatementCode::Session(statement) => {
                let params = (0..params.len()).map(|i| OwnedDatum::of(&datum(i))).collect();
                self.run_with_parameters(statement, kind, params, true, net);
                return Ok(());
            }
        };
        self.before(kind)?;
        let hinted = self.hinted(prepared);
        let mut data: SmallVec<[Datum<'_>; FEW]> = SmallVec::new();
        (0..params.len()).for_each(|i| data.push(datum(i)));
        // A date that is none comes as text, whatever its type.
        if types.fresh || !texts.is_empty() {
            types.fresh = !prepared.settle(&mut data, &mut self.env);
        }
        if let Err(error) = self.lock_prepared(prepared, text, listed.as_deref()) {
            self.refuse(error);
        } else if flags & CURSOR_READ_ONLY != 0 && prepared.is_query() {
            (*cursor, *pending) = self.open_cursor(prepared, &data)?;
        } else {
            self.run_compiled(prepared, &data, true, net);
        }
        if let Some(hinted) = hinted {
            self.unset_hinted(hinted);
        }
        Ok(())
    }
}

impl Core {
    /// PREPARE: whatever had the name is gone, even when the new text is refused.
    pub fn prepare_named(&mut self, prepare: &Prepare) -> Result<Done, SqlError> {
        let name = prepare.name.to_lowercase();
        self.forget_named(&name);
        let sql = match &prepare.source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::UserVar(variable) => {
                match self.env.user_variable(variable).map(UserVariable::value) {
                    None | Some(OwnedDatum::Null) => b"NULL".to_vec(),
                    Some(value) => value::format::to_text(&value.datum()).into_bytes(),
                }
            }
        };
        let begun_ns = sync::now_ns();
        let mut one = self.make(&sql)?;
        self.env.server.count_statements(1);
        self.statements.by_name += 1;
        let key = (self.statements.by_name, Some(prepare.name.as_str()));
        one.listed = self.listed(&one, key, begun_ns).map(Box::new);
        self.statements.name(name, Box::new(one));
        Ok(Done { info: "Statement prepared", ..Done::default() })
    }

    /// DEALLOCATE PREPARE.
    pub fn deallocate_named(&mut self, name: &str) -> Result<(), SqlError> {
        match self.forget_named(&name.to_lowercase()) {
            true => Ok(()),
            false => Err(errors::unknown_statement(name, "DEALLOCATE PREPARE")),
        }
    }

    fn forget_named(&mut self, name: &str) -> bool {
        let found = self.statements.forget(name).is_some();
        if found {
            self.env.server.count_statements(-1);
        }
        found
    }

    /// EXECUTE; false when it ended in an error.
    pub fn execute_named(&mut self, execute: &Execute, net: &mut dyn Net) -> bool {
        let name = execute.name.to_lowercase();
        // Taken out for the time of its run, so that the session can be borrowed beside it.
        let Some(mut one) = self.statements.take_named(&name) else {
            self.send_error(&errors::unknown_statement(&execute.name, "EXECUTE"));
            return false;
        };
        self.statements.executed = one.listed.as_ref().map(|listed| Arc::clone(&listed.row));
        let left = self.enter_schema(&mut one.schema);
        let went_well = self.run_named(&mut one, &execute.using, net);
        self.return_to_schema(left);
        self.statements.put_back_named(name, one);
        went_well
    }

    fn run_named(&mut self, one: &mut One, using: &[String], net: &mut dyn Net) -> bool {
        if using.len() != one.params() {
            self.send_error(&errors::wrong_arguments("EXECUTE"));
            return false;
        }
        if let Some(counter) = one.kind.counter {
            count(counter, 1);
        }
        let params: Vec<OwnedDatum> = using.iter().map(|v| self.parameter_of(v)).collect();
        let text = (&one.sql[..], one.read_as, one.params());
        let prepared = match &mut one.program {
            StatementCode::Compiled(prepared) => prepared,
            StatementCode::Session(statement) => {
                return self.run_with_parameters(statement, one.kind, params, false, net);
            }
        };
        if let Err(error) = self.before(one.kind) {
            self.send_error(&error);
            return false;
        }
        let mut data: Vec<Datum<'_>> = params.iter().map(OwnedDatum::datum).collect();
        prepared.settle(&mut data, &mut self.env);
        let hinted = self.hinted(prepared);
        let went_well = match self.lock_prepared(prepared, text, one.listed.as_deref()) {
            Ok(()) => self.run_compiled(prepared, &data, false, net),
            Err(error) => self.refuse(error),
        };
        if let Some(hinted) = hinted {
            self.unset_hinted(hinted);
        }
        went_well
    }

    /// A user variable as a parameter: text is of the connection's character set.
    fn parameter_of(&self, name: &str) -> OwnedDatum {
        let Some(variable) = self.env.user_variable(name) else { return OwnedDatum::Null };
        match variable.value() {
            OwnedDatum::Bytes(_) => {
                let collation = self.env.connection_collation();
                variable.read(&ColumnType::varchar(u32::MAX, collation))
            }
            number => number.clone(),
        }
    }

    /// Sets what hints of a prepared statement say; what is wrong with them was said by PREPARE.
    #[inline]
    fn hinted(&mut self, prepared: &Prepared) -> Option<Hinted> {
        prepared.sets_variables().then(|| self.set_hinted(prepared.statement(), false))
    }

    fn run_with_parameters(
        &mut self,
        statement: &Statement,
        kind: &Descriptor,
        params: Vec<OwnedDatum>,
        binary: bool,
        net: &mut dyn Net,
    ) -> bool {
        self.parameters = params;
        let went_well = self.run_in_session(statement, kind, binary, net);
        self.parameters.clear();
        went_well
    }
}

/// Digits behind the point, as a parameter is announced.
fn decimals_of(ty: &ColumnType) -> u8 {
    let open = ty.is_text() || ty.kind == Kind::Json;
    if open { value::types::NOT_FIXED } else { ty.decimals }
}

/// Parameters whose values lie on the stack.
const FEW: usize = 8;

const fn is_text(code: wire::ColumnCode) -> bool {
    use wire::ColumnCode::{String, VarChar, VarString};
    matches!(code, String | VarChar | VarString)
}

/// A parameter as the general log writes it.
fn shown(param: &Param<'_>) -> String {
    match param {
        Param::Null => "NULL".into(),
        Param::Int(n) => n.to_string(),
        Param::UInt(n) => n.to_string(),
        Param::Float(n) => n.to_string(),
        Param::Double(n) => n.to_string(),
        Param::Bytes(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
        }
        Param::Long => "<long data>".into(),
        other => format!("'{}'", temporal_text(other).unwrap_or_default()),
    }
}

fn is_temporal(p: &Param<'_>) -> bool {
    matches!(p, Param::DateTime(_) | Param::Time(_))
}

fn temporal_text(p: &Param<'_>) -> Option<String> {
    match p {
        Param::DateTime(d) => Some(date_time_text(d)),
        Param::Time(t) => Some(time_text(t)),
        _ => None,
    }
}

/// A temporal parameter, or its text when it is no date or time.
fn temporal<'t>(value: Option<Datum<'t>>, text: Option<&'t Option<String>>) -> Datum<'t> {
    match (value, text) {
        (Some(value), _) => value,
        (None, Some(Some(text))) => Datum::Bytes(text.as_bytes()),
        _ => Datum::Null,
    }
}

fn date_time(d: &DateTime) -> Option<Datum<'static>> {
    let date = value::Date::new(d.year, d.month, d.day)?;
    if d.date_only {
        return Some(Datum::Date(date));
    }
    let fsp = if d.micros == 0 { 0 } else { value::time::FSP_MAX };
    let moment = value::DateTime::new(date, d.hour, d.minute, d.second, d.micros, fsp);
    moment.map(Datum::DateTime)
}

fn time(t: &Time) -> Option<Datum<'static>> {
    let hours = t.days.checked_mul(24)?.checked_add(u32::from(t.hour))?;
    let fsp = if t.micros == 0 { 0 } else { value::time::FSP_MAX };
    value::Time::new(t.negative, hours, t.minute, t.second, t.micros, fsp).map(Datum::Time)
}

fn date_time_text(d: &DateTime) -> String {
    let date = format!("{:04}-{:02}-{:02}", d.year, d.month, d.day);
    if d.date_only {
        return date;
    }
    let time = format!("{date} {:02}:{:02}:{:02}", d.hour, d.minute, d.second);
    if d.micros == 0 { time } else { format!("{time}.{:06}", d.micros) }
}

fn time_text(t: &Time) -> String {
    let sign = if t.negative { "-" } else { "" };
    let hours = u64::from(t.days) * 24 + u64::from(t.hour);
    let time = format!("{sign}{hours:02}:{:02}:{:02}", t.minute, t.second);
    if t.micros == 0 { time } else { format!("{time}.{:06}", t.micros) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporal_parameters_become_text() {
        let d = DateTime { year: 2024, month: 2, day: 3, micros: 5, ..DateTime::default() };
        assert_eq!(date_time_text(&d), "2024-02-03 00:00:00.000005");
        assert_eq!(date_time_text(&DateTime { date_only: true, ..d }), "2024-02-03");
        let t = Time { negative: true, days: 1, hour: 2, minute: 3, ..Time::default() };
        assert_eq!(time_text(&t), "-26:03:00");
    }
}
