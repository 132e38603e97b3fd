//! COM_QUERY: from text to replies.
//!
//! 1. Each statement of a text is parsed and run before the next is looked at; an error ends the text.
//! 2. A statement's reply is complete before the next one's begins, and an error replaces what was written
//!    of it, unless part of it has been sent already.
//! 3. Outside a transaction a statement is one: it commits before its OK is written.

use crate::core::Core;
use crate::core::{DiagnosticsUse, Runner};
use crate::errors;
use crate::net::Net;
use crate::registry::Activity;
use crate::statement::{self, Parsed};
use executor::Prepared;
use instrument::{Counter, count};
use parser::shape::{self, ShapeBuf, ShapeLiteral, ShapeValue};
use parser::template::Template;
use parser::{ErrorKind, SqlMode};
use std::collections::HashMap;
use value::Datum;
use wire::constants::StatusFlags;

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
            let parsed = match self.parse_next(sql, from, false) {
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
            if more && !self.protocol.multi_statements {
                self.env.diagnostics.clear();
                return self.send_error(&statement::refuse_second(sql, end));
            }
            self.env.status.set(StatusFlags::MORE_RESULTS, more);
            let went_well = self.run_text(parsed, net);
            if !more || !went_well || self.reply.closing {
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
            .filter(|p| matches!((self.describe)(&p.statement).runner, Runner::Executor))
            .filter(|p| p.warnings.is_empty())
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
