//! Plans of text statements: a session's own, and behind them those that all sessions share.
//!
//! 1. A text finds a plan by its key (the text without its literals), the settings that planning looks at and
//!    the schema, byte for byte; then the literals that are no parameters must be the same, the tables
//!    unchanged, and what was measured with the others' values alike. 2. A session owns the plans that it
//!    runs: a statement that it has run before writes nothing that another session reads. 3. What is kept is
//!    never told of a change: versions are compared when a plan is used. 4. LOCK TABLES and temporary tables
//!    change what names mean for one session: while it has them it goes past all this.

use crate::core::Core;
use crate::errors;
use crate::net::Net;
use crate::shared_plans::SharedText;
use executor::kept::prepare_text;
use executor::{Context, OwnedDatum, Prepared, SqlError};
use expr::build::Settings;
use instrument::{Counter, count};
use parser::ast::Statement;
use parser::cut::{self, Cut, CutLiteral, ShapeValue};
use std::collections::HashMap;
use std::mem::size_of;
use std::sync::Arc;
use value::Datum;
use wire::constants::StatusFlags;

/// Texts whose plans a session keeps.
const TEXTS_MAX: usize = 64;
/// Plans of one text: for other constants, or other estimates.
pub(crate) const VARIANTS_MAX: usize = 4;

/// Literals that a plan depends on, by number, as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pinned(Box<[(usize, Box<[u8]>)]>);

impl Pinned {
    fn of(prepared: &Prepared, sql: &[u8], literals: &[CutLiteral]) -> Pinned {
        let bound = literals.iter().enumerate().filter(|(n, _)| !prepared.is_free(*n));
        Pinned(bound.map(|(n, literal)| (n, literal.written(sql).into())).collect())
    }

    /// Whether a text has the same.
    #[inline]
    pub fn are_in(&self, sql: &[u8], literals: &[CutLiteral]) -> bool {
        self.0
            .iter()
            .all(|(n, written)| literals.get(*n).is_some_and(|l| l.written(sql) == &**written))
    }

    /// Memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(_, written)| written.len() + size_of::<(usize, Box<[u8]>)>()).sum()
    }
}

/// A plan of a text.
struct Kept {
    pinned: Pinned,
    prepared: Box<Prepared>,
}

/// The plans of one key.
struct Text {
    key: Box<[u8]>,
    plans: Vec<Kept>,
    /// When it was looked for last, counted in look-ups.
    used: u64,
}

/// What planning looks at besides the text.
#[derive(Debug, Default, PartialEq)]
struct Surroundings {
    settings: Settings,
    database: Option<String>,
}

/// A session's plans of texts.
#[derive(Default)]
pub(crate) struct TextPlans {
    positions: HashMap<Box<[u8]>, usize>,
    texts: Vec<Text>,
    lookups: u64,
    surroundings: Surroundings,
    /// Settings as the variables are.
    settings: Settings,
    cut: Cut,
}

impl TextPlans {
    /// Takes over what the session's variables say.
    pub fn set(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Position of a key's plans.
    fn find(&mut self, key: &[u8]) -> Option<usize> {
        let position = *self.positions.get(key)?;
        self.lookups += 1;
        self.texts[position].used = self.lookups;
        Some(position)
    }

    /// Removes and returns a plan for a text's literals, of those from the `from`th on; where it was.
    fn take(
        &mut self,
        text: usize,
        from: usize,
        sql: &[u8],
        literals: &[CutLiteral],
    ) -> Option<(usize, Kept)> {
        let plans = &mut self.texts[text].plans;
        let found = plans.iter().skip(from).position(|p| p.pinned.are_in(sql, literals))? + from;
        Some((found, plans.swap_remove(found)))
    }

    /// Keeps a plan; the least recently used text goes when there are too many, the oldest plan of a text.
    fn keep(&mut self, key: &[u8], kept: Kept) {
        let position = self.find(key).unwrap_or_else(|| self.add(key));
        let plans = &mut self.texts[position].plans;
        if plans.len() == VARIANTS_MAX {
            plans.remove(0);
            count(Counter::LimpidPlanCacheEvictions, 1);
        }
        plans.push(kept);
    }

    fn add(&mut self, key: &[u8]) -> usize {
        self.lookups += 1;
        let text = Text { key: key.into(), plans: Vec::new(), used: self.lookups };
        let position = if self.texts.len() < TEXTS_MAX {
            self.texts.push(text);
            self.texts.len() - 1
        } else {
            let oldest = self.texts.iter().enumerate().min_by_key(|(_, text)| text.used);
            let position = oldest.map_or(0, |(position, _)| position);
            let old = std::mem::replace(&mut self.texts[position], text);
            self.positions.remove(&old.key);
            count(Counter::LimpidPlanCacheEvictions, old.plans.len() as u64);
            position
        };
        self.positions.insert(key.into(), position);
        position
    }

    /// Forgets everything unless it was made in the same surroundings.
    fn keep_for(&mut self, settings: Settings, database: Option<&str>) {
        let now = &self.surroundings;
        if now.settings != settings || now.database.as_deref() != database {
            self.positions.clear();
            self.texts.clear();
            self.surroundings = Surroundings { settings, database: database.map(str::to_string) };
        }
    }
}

/// A statement's text.
#[derive(Clone, Copy)]
struct Given<'t> {
    sql: &'t [u8],
    cut: &'t Cut,
    values: &'t [Datum<'t>],
}

/// What became of a plan that was looked at.
enum Tried {
    /// It is the one: its tables are locked.
    Right,
    /// It is for other values.
    Other,
    /// Its tables are not what they were.
    Stale,
}

impl Core {
    /// Runs a text as one statement whose plan is kept; false leaves it to the ordinary way, which has not
    /// begun.
    pub(crate) fn run_kept(&mut self, sql: &[u8], net: &mut dyn Net) -> bool {
        let past = self.env.server.plans.is_off()
            || self.tables.tables_are_locked()
            || self.tables.has_temporary()
            // What these values are expected to find decides whether the statement may run.
            || self.env.join_size_max != u64::MAX;
        if past {
            return false;
        }
        let mut cut = std::mem::take(&mut self.texts.cut);
        let ran = cut::cut(sql, self.env.parser_mode, &mut cut) && self.run_cut(sql, &cut, net);
        self.texts.cut = cut;
        ran
    }

    fn run_cut(&mut self, sql: &[u8], cut: &Cut, net: &mut dyn Net) -> bool {
        let settings = Settings {
            collation: self.env.charsets.connection,
            sql_mode: self.env.sql_mode,
            shows_locked: self.client.shows_locked(),
            ..self.texts.settings
        };
        self.texts.keep_for(settings, self.env.database.as_deref());
        let mut scratch = Vec::new();
        let places = self.unescape(sql, cut, &mut scratch);
        let value = |(n, literal): (usize, &CutLiteral)| match literal.value {
            ShapeValue::Int(v) => Datum::Int(v),
            ShapeValue::UInt(v) => Datum::UInt(v),
            ShapeValue::Text { escaped: true, .. } => {
                let place = places.iter().find(|(number, ..)| *number == n);
                Datum::Bytes(place.map_or(&[][..], |(_, from, to)| &scratch[*from..*to]))
            }
            ShapeValue::Text { start, end, .. } => {
                Datum::Bytes(sql.get(start as usize..end as usize).unwrap_or_default())
            }
        };
        let values: Vec<Datum<'_>> = cut.literals().iter().enumerate().map(value).collect();
        let given = Given { sql, cut, values: &values };
        let mut started = false;
        match self.run_own_plan(given, &mut started, net) {
            Ok(true) => true,
            Ok(false) => self.run_other_plan(given, started, net),
            Err(error) => self.refuse(error),
        }
    }

    /// Values of the literals with escapes: number and place in `out`.
    fn unescape(&self, sql: &[u8], cut: &Cut, out: &mut Vec<u8>) -> Vec<(usize, usize, usize)> {
        let escaped = |l: &CutLiteral| matches!(l.value, ShapeValue::Text { escaped: true, .. });
        let mut places = Vec::new();
        for (n, literal) in cut.literals().iter().enumerate().filter(|(_, l)| escaped(l)) {
            let from = out.len();
            cut::unescaped(sql, self.env.parser_mode, literal, out);
            places.push((n, from, out.len()));
        }
        places
    }

    /// Runs a plan of the session's own; false when it has none for the text.
    fn run_own_plan(
        &mut self,
        given: Given<'_>,
        started: &mut bool,
        net: &mut dyn Net,
    ) -> Result<bool, SqlError> {
        let Some(text) = self.texts.find(given.cut.key()) else { return Ok(false) };
        let mut from = 0;
        while let Some((at, mut kept)) =
            self.texts.take(text, from, given.sql, given.cut.literals())
        {
            let tried = self
                .start_once(kept.prepared.statement(), started)
                .and_then(|()| self.try_plan(&kept.prepared, given.values));
            match tried {
                Ok(Tried::Right) => {
                    count(Counter::LimpidPlanCacheHits, 1);
                    self.run_compiled(&mut kept.prepared, given.values, false, net);
                    self.texts.texts[text].plans.push(kept);
                    return Ok(true);
                }
                Ok(Tried::Stale) => {}
                other => {
                    let plans = &mut self.texts.texts[text].plans;
                    plans.push(kept);
                    let last = plans.len() - 1;
                    plans.swap(at, last);
                    other?;
                    from = at + 1;
                }
            }
        }
        Ok(false)
    }

    /// Locks a plan's tables and looks whether it is the right one.
    fn try_plan(&mut self, prepared: &Prepared, values: &[Datum<'_>]) -> Result<Tried, SqlError> {
        let Self { env, client, tables, .. } = self;
        if !prepared.relock(&mut Context { client, tables, env })? {
            return Ok(Tried::Stale);
        }
        Ok(if prepared.fits(&self.tables, values) { Tried::Right } else { Tried::Other })
    }

    /// Runs a plan that another session has made, or a new one; false when the text is not to be planned.
    fn run_other_plan(&mut self, given: Given<'_>, started: bool, net: &mut dyn Net) -> bool {
        let key = self.shared_key(given.cut.key());
        let mut started = started;
        let mut stale = Vec::new();
        match self.adopt(given, &key, &mut stale, &mut started) {
            Ok(Some(kept)) => {
                count(Counter::LimpidPlanCacheSharedHits, 1);
                return self.run_and_keep(given, kept, net);
            }
            Ok(None) => {}
            Err(error) => return self.refuse(error),
        }
        let parsed = cut::parse(given.sql, self.env.parser_mode, given.cut.literals());
        let Ok(parsed) = parsed else { return false };
        let planned = matches!(
            parsed.statement,
            Statement::Query(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
        );
        if !planned {
            return false;
        }
        count(Counter::LimpidPlanCacheMisses, 1);
        let made = self
            .start_once(&parsed.statement, &mut started)
            .and_then(|()| self.plan_text(parsed.statement, given.values));
        match made {
            Ok(mut prepared) => {
                prepared.warn_at_runs(parsed.warnings);
                let pinned = Pinned::of(&prepared, given.sql, given.cut.literals());
                if let Some(plan) = prepared.share(&self.tables) {
                    let text = SharedText { pinned: pinned.clone(), plan };
                    let evicted =
                        self.env.server.plans.publish(&key, text, given.sql.len(), &stale);
                    count(Counter::LimpidPlanCacheEvictions, evicted);
                }
                self.run_and_keep(given, Kept { pinned, prepared: Box::new(prepared) }, net)
            }
            Err(error) => {
                self.warn_of_text(&parsed.warnings);
                self.refuse(error)
            }
        }
    }

    fn plan_text(
        &mut self,
        statement: Statement,
        values: &[Datum<'_>],
    ) -> Result<Prepared, SqlError> {
        let literals = values.iter().map(OwnedDatum::of).collect();
        let Self { env, client, tables, .. } = self;
        prepare_text(statement, literals, &mut Context { client, tables, env })
    }

    /// Takes over a shared plan; those that are stale go to `stale`.
    fn adopt(
        &mut self,
        given: Given<'_>,
        key: &[u8],
        stale: &mut Vec<Arc<SharedText>>,
        started: &mut bool,
    ) -> Result<Option<Kept>, SqlError> {
        let literals = given.cut.literals();
        for shared in self.env.server.plans.find(key, |p| p.are_in(given.sql, literals)) {
            self.start_once(shared.plan.statement(), started)?;
            let mark = self.tables.mark();
            let Self { env, client, tables, .. } = self;
            let adopted = shared.plan.adopt(&mut Context { client, tables, env })?;
            let Some(prepared) = adopted else {
                // It may have locked what the statement does not name any more.
                self.tables.release_since(self.client.slot(), mark);
                stale.push(shared);
                continue;
            };
            if prepared.fits(&self.tables, given.values) {
                let pinned = shared.pinned.clone();
                return Ok(Some(Kept { pinned, prepared: Box::new(prepared) }));
            }
        }
        Ok(None)
    }

    fn run_and_keep(&mut self, given: Given<'_>, mut kept: Kept, net: &mut dyn Net) -> bool {
        self.run_compiled(&mut kept.prepared, given.values, false, net);
        self.texts.keep(given.cut.key(), kept);
        true
    }

    /// Counts the statement, and what must happen before it; once for each text.
    fn start_once(&mut self, statement: &Statement, started: &mut bool) -> Result<(), SqlError> {
        if std::mem::replace(started, true) {
            return Ok(());
        }
        self.env.status.set(StatusFlags::MORE_RESULTS, false);
        self.env.diagnostics.clear();
        count(Counter::Queries, 1);
        let kind = (self.describe)(statement);
        if let Some(counter) = kind.counter {
            count(counter, 1);
        }
        self.before(kind)
    }

    /// Ends a statement that did not get as far as running.
    fn refuse(&mut self, error: SqlError) -> bool {
        let error = self.end_statement(Err(error)).err();
        self.send_error(&error.unwrap_or_else(|| errors::internal("an error got lost")));
        true
    }

    /// A text's key among all sessions.
    fn shared_key(&self, key: &[u8]) -> Vec<u8> {
        let around = &self.texts.surroundings;
        let mut all = key.to_vec();
        all.push(0);
        around.settings.append_key(&mut all);
        all.push(0);
        all.extend_from_slice(around.database.as_deref().unwrap_or_default().as_bytes());
        all.push(u8::from(around.database.is_some()));
        all
    }
}
