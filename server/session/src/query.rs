//! COM_QUERY: from text to replies.
//!
//! 1. Each statement of a text is parsed and run before the next is looked at; an error ends the text.
//! 2. A statement's reply is complete before the next one's begins, and an error replaces what was written
//!    of it, unless part of it has been sent already.
//! 3. Outside a transaction a statement is one: it commits before its OK is written.

use crate::descriptor::{DiagnosticsUse, Runner};
use crate::diagnostics::Level;
use crate::errors;
use crate::kinds;
use crate::registry::Activity;
use crate::session::Core;
use crate::sink::{Net, Rows};
use crate::statement::{self, Parsed};
use executor::{Context, Outcome, Prepared, SqlError};
use instrument::{Counter, count};
use parser::ast::Statement;
use parser::shape::{self, ShapeBuf, ShapeLiteral, ShapeValue};
use parser::template::Template;
use parser::{ErrorKind, SqlMode};
use std::collections::HashMap;
use value::Datum;
use wire::constants::StatusFlags;
use wire::reply;

/// What was written of a statement's result, and where it began.
pub(crate) struct Written {
    start: usize,
    seq: u8,
    /// Something was sent already.
    flushed: bool,
    /// The client is.
    pub gone: bool,
}

impl Written {
    /// Nothing yet: what is written begins here.
    pub(crate) fn at(out: &wire::Outbox) -> Written {
        let (start, seq) = (out.len(), out.seq());
        Written { start, seq, flushed: false, gone: false }
    }

    /// What became of the rows.
    pub(crate) fn take(&mut self, rows: &Rows<'_>) {
        self.flushed = rows.flushed;
        self.gone = rows.gone;
        if rows.bytes_sent != 0 {
            count(Counter::BytesSent, rows.bytes_sent);
        }
    }
}

impl Core {
    /// Runs the statements of a text.
    pub fn query(&mut self, sql: &[u8], net: &mut dyn Net) {
        let now_ns = sync::now_ns();
        self.env.server.registry.entry(self.slot).publish(Activity::Query, now_ns, sql);
        let text = self.env.charsets.statement(sql);
        let sql = text.as_ref();
        // Elsewhere a cached plan's literals would have to be converted.
        let cacheable = self.env.charsets.keeps_literals || sql.is_ascii();
        if cacheable && (self.run_cached(sql, net) || self.run_kept(sql, net)) {
            return;
        }
        let mut from = 0;
        loop {
            let parsed = statement::parse_next(sql, from, self.env.parser_mode, false);
            let parsed = match parsed {
                Ok(parsed) => parsed,
                Err(error) => {
                    self.env.diagnostics.clear();
                    self.env.status.set(StatusFlags::MORE_RESULTS, false);
                    // A comment alone is a statement that does nothing: what dump tools write for other versions.
                    if error.kind == ErrorKind::Empty && has_comment(&sql[from..]) {
                        return self.send_ok();
                    }
                    return self.send_error(&errors::parse(&error, sql));
                }
            };
            let (end, more) = (parsed.end, parsed.more);
            if more && !self.multi_statements {
                self.env.diagnostics.clear();
                return self.send_error(&statement::refuse_second(sql, end));
            }
            self.env.status.set(StatusFlags::MORE_RESULTS, more);
            let went_well = self.run_text(parsed, net);
            if !more || !went_well || self.closing {
                self.env.status.set(StatusFlags::MORE_RESULTS, false);
                return;
            }
            count(Counter::Questions, 1);
            from = end;
        }
    }

    /// Runs one parsed statement; false when it ended in an error.
    fn run_text(&mut self, parsed: Parsed, net: &mut dyn Net) -> bool {
        let Parsed { statement, kind, warnings, .. } = parsed;
        if statement::asks_for_counts(&statement) {
            self.env.diagnostics.clear_keeping_counts();
        } else if kind.diagnostics == DiagnosticsUse::Clears {
            self.env.diagnostics.clear();
        }
        self.warn_of_text(&warnings);
        count(Counter::Queries, 1);
        if let Some(counter) = kind.counter {
            count(counter, 1);
        }
        if !matches!(kind.runner, Runner::Executor) {
            return self.run_in_session(&statement, kind, false, net);
        }
        if let Err(error) = self.before(kind) {
            self.send_error(&error);
            return false;
        }
        let hinted = self.set_hinted(&statement, true);
        let went_well = match self.compile(statement) {
            Ok(mut prepared) => self.run_compiled(&mut prepared, &[], false, net),
            Err(error) => {
                let error = self.end_statement(Err(error)).err();
                let error = error.unwrap_or_else(|| errors::internal("an error got lost"));
                self.send_error(&error);
                false
            }
        };
        self.unset_hinted(hinted);
        went_well
    }

    /// Raises what the parser warns of.
    pub(crate) fn warn_of_text(&mut self, warnings: &[parser::Warning]) {
        for (number, text) in warnings {
            self.env.diagnostics.add(Level::Warning, *number, text.to_string());
        }
    }

    /// Compiles a statement for the executor. Takes metadata locks.
    pub fn compile(&mut self, statement: Statement) -> Result<Prepared, SqlError> {
        let Self { env, client, tables, .. } = self;
        executor::prepare(statement, &mut Context { client, tables, env })
    }

    /// As [`Self::compile`], of a statement with so many parameters.
    pub fn compile_open(
        &mut self,
        statement: Statement,
        parameters: usize,
    ) -> Result<Prepared, SqlError> {
        let Self { env, client, tables, .. } = self;
        executor::prepare_open(statement, parameters, &mut Context { client, tables, env })
    }

    /// Runs a compiled statement and writes its whole reply; false when it ended in an error.
    #[inline]
    pub fn run_compiled(
        &mut self,
        prepared: &mut Prepared,
        params: &[Datum<'_>],
        binary: bool,
        net: &mut dyn Net,
    ) -> bool {
        let Self { env, client, tables, out, codes, .. } = self;
        let mut written = Written::at(out);
        let mut rows = Rows::new(out, net, env, codes, binary);
        if !env.autocommit() {
            client.begin();
        }
        env.insert_id_given = false;
        let result =
            executor::execute(prepared, &mut Context { client, tables, env }, params, &mut rows);
        written.take(&rows);
        self.conclude(result, &written)
    }

    /// Ends the statement's transaction part and its reply.
    #[inline]
    pub(crate) fn conclude(
        &mut self,
        result: Result<Outcome, SqlError>,
        written: &Written,
    ) -> bool {
        match self.end_statement(result) {
            Ok(_)
                if !written.flushed && self.client.slot().kill_level() == sync::KILL_CONNECTION =>
            {
                // KILL CONNECTION came while it ran: the client is told, not answered.
                self.out.rewind(written.start, written.seq);
                self.send_error(&SqlError::Storage(base::Error::Killed));
                self.closing = true;
                false
            }
            Ok(outcome) => {
                self.reply_outcome(&outcome);
                true
            }
            Err(error) => {
                self.withdraw(written);
                let killed = self.client.slot().kill_level() == sync::KILL_CONNECTION;
                if written.gone || killed && !written.flushed {
                    // A client whose connection was killed finds it closed.
                    self.closing = true;
                    return false;
                }
                self.send_error(&error);
                false
            }
        }
    }

    #[inline]
    fn reply_outcome(&mut self, outcome: &Outcome) {
        self.env.found_rows = outcome.found_rows.unwrap_or(self.env.found_rows);
        if outcome.has_rows {
            self.env.row_count = -1;
            let warnings = self.env.diagnostics.wire_count();
            reply::end_of_rows(&mut self.out, self.env.caps, self.env.status, warnings);
            return;
        }
        self.env.row_count = outcome.affected_rows as i64;
        if outcome.last_insert_id != 0 {
            self.env.last_insert_id = outcome.last_insert_id;
        }
        let told = match outcome.row_id {
            None => 0,
            Some(_) if outcome.last_insert_id != 0 => outcome.last_insert_id,
            Some(_) if self.env.insert_id_given => self.env.last_insert_id,
            Some(row_id) => row_id,
        };
        self.send_ok_with(&reply::Ok {
            affected_rows: outcome.affected_rows,
            last_insert_id: told,
            info: outcome.info.as_bytes(),
            ..reply::Ok::default()
        });
    }

    /// Takes back what was written of a statement's result.
    pub(crate) fn withdraw(&mut self, written: &Written) {
        if !written.flushed {
            self.out.rewind(written.start, written.seq);
        }
        self.closing |= written.gone;
    }
}

/// Shapes that are remembered; the whole cache is dropped when more come.
const SHAPES_MAX: usize = 512;
/// Templates that are looked through for a text.
const TEMPLATES_MAX: usize = 16;
/// Literals that fit the array on the stack; more take the ordinary way.
const LITERALS_MAX: usize = 8;

/// Compiled point reads of the text protocol, by shape.
#[derive(Default)]
pub(crate) struct PlanCache {
    /// Position of each shape's plan; a position without a plan means "not a point read".
    positions: HashMap<Box<[u8]>, usize>,
    plans: Vec<Option<Box<Prepared>>>,
    /// The last texts that got a plan, and its position: such a text is recognised without a scan.
    templates: Vec<(Template, usize)>,
    scanned: ShapeBuf,
    literals: Vec<ShapeLiteral>,
    mode: SqlMode,
    /// Collation of the literals.
    collation: value::Collation,
    /// Bits of `sql_mode`.
    sql_mode: u64,
}

impl PlanCache {
    fn add(&mut self, sql: &[u8], scanned: &ShapeBuf, plan: Option<Box<Prepared>>) {
        if self.plans.len() >= SHAPES_MAX {
            self.clear();
        }
        let position = self.plans.len();
        self.positions.insert(scanned.bytes().into(), position);
        if plan.is_some()
            && let Some(template) = Template::new(sql, scanned.literals())
        {
            if self.templates.len() == TEMPLATES_MAX {
                self.templates.remove(0);
            }
            self.templates.push((template, position));
        }
        self.plans.push(plan);
    }

    /// Position of the plan of a text that a template recognises, and the text's literals.
    #[inline]
    fn recognise(&self, sql: &[u8], literals: &mut Vec<ShapeLiteral>) -> Option<usize> {
        let found = self.templates.iter().find(|(template, _)| template.matches(sql, literals));
        found.map(|(_, position)| *position)
    }

    /// Forgets everything unless literals have this collation, and `sql_mode` is what it was.
    pub fn keep_for(&mut self, collation: value::Collation, sql_mode: u64) {
        if (self.collation, self.sql_mode) != (collation, sql_mode) {
            self.clear();
            (self.collation, self.sql_mode) = (collation, sql_mode);
        }
    }

    /// Forgets everything, for another sql_mode or schema.
    pub fn clear(&mut self) {
        self.positions.clear();
        self.plans.clear();
        self.templates.clear();
    }
}

impl Core {
    /// Runs a text whose shape is that of a point read; false leaves it to the ordinary way, which
    /// has not begun.
    fn run_cached(&mut self, sql: &[u8], net: &mut dyn Net) -> bool {
        let mode = self.env.parser_mode;
        if mode != self.plans.mode {
            self.plans.clear();
            self.plans.mode = mode;
        }
        let mut literals = std::mem::take(&mut self.plans.literals);
        let ran = match self.plans.recognise(sql, &mut literals) {
            Some(position) if self.is_for_this_schema(position) => {
                self.run_plan(position, sql, &literals, net)
            }
            _ => self.run_scanned(sql, net),
        };
        self.plans.literals = literals;
        ran
    }

    fn run_scanned(&mut self, sql: &[u8], net: &mut dyn Net) -> bool {
        let mut scanned = std::mem::take(&mut self.plans.scanned);
        let ran = shape::scan(sql, self.plans.mode, &mut scanned)
            && scanned.literals().len() <= LITERALS_MAX
            && self
                .position_of(sql, &scanned)
                .is_some_and(|position| self.run_plan(position, sql, scanned.literals(), net));
        self.plans.scanned = scanned;
        ran
    }

    #[inline]
    fn is_for_this_schema(&self, position: usize) -> bool {
        let plan = self.plans.plans.get(position).and_then(Option::as_ref);
        plan.is_some_and(|plan| plan.database_is(self.env.database.as_deref()))
    }

    /// Runs a cached plan with a text's literals.
    fn run_plan(
        &mut self,
        position: usize,
        sql: &[u8],
        literals: &[ShapeLiteral],
        net: &mut dyn Net,
    ) -> bool {
        let mut params = [Datum::Null; LITERALS_MAX];
        for (param, literal) in params.iter_mut().zip(literals) {
            *param = match literal.value {
                ShapeValue::Int(v) => Datum::Int(v),
                ShapeValue::UInt(v) => Datum::UInt(v),
                ShapeValue::Text { escaped: true, .. } => return false,
                ShapeValue::Text { start, end, .. } => {
                    Datum::Bytes(sql.get(start as usize..end as usize).unwrap_or_default())
                }
            };
        }
        let Some(mut plan) = self.plans.plans[position].take() else { return false };
        self.env.status.set(StatusFlags::MORE_RESULTS, false);
        self.env.diagnostics.clear();
        count(Counter::LimpidPlanCacheHits, 1);
        count(Counter::Queries, 1);
        count(Counter::ComSelect, 1);
        self.run_compiled(&mut plan, &params[..literals.len()], false, net);
        self.plans.plans[position] = Some(plan);
        true
    }

    /// Where the plan of a scanned text is; compiled at first sight.
    fn position_of(&mut self, sql: &[u8], scanned: &ShapeBuf) -> Option<usize> {
        if let Some(&position) = self.plans.positions.get(scanned.bytes()) {
            self.plans.plans[position].as_ref()?;
            if self.is_for_this_schema(position) {
                return Some(position);
            }
            self.plans.clear();
        }
        let lifted = shape::parse_lifted(sql, self.plans.mode, scanned.literals()).ok().flatten();
        let plan = lifted
            .filter(|p| kinds::is_of_executor(&p.statement) && p.warnings.is_empty())
            .and_then(|p| self.compile(p.statement).ok());
        let plan = plan.filter(Prepared::is_point).map(Box::new);
        self.plans.add(sql, scanned, plan);
        Some(self.plans.plans.len() - 1)
    }
}

/// Whether a text without a statement has more than spaces and semicolons.
fn has_comment(text: &[u8]) -> bool {
    text.iter().any(|b| !b.is_ascii_whitespace() && *b != b';' && *b != 0)
}
