//! Statements whose text, or one that differs in its literals only, has come before.
//!
//! 1. A session's own programs are looked at first, then those that all sessions share; only then is the text parsed.
//! 2. What is kept is never told of a change: the tables are locked and their versions compared when a program is used,
//! and what was measured with the others' values is measured again. 3. LOCK TABLES and temporary tables change what names
//! mean for one session: while it has them it goes past all this.

use crate::core::{CachedProgram, Core, Descriptor, Scan};
use crate::net::Net;
use crate::shared_programs::{Key, Pinned, SharedProgram};
use executor::program_reuse::prepare_text;
use executor::{OwnedDatum, Prepared, SqlError};
use expr::build::Settings;
use instrument::{Counter, count};
use parser::ast::Statement;
use parser::cut::{self, CutLiteral, LiteralValue};
use smallvec::SmallVec;
use std::sync::Arc;
use value::Datum;
use wire::constants::StatusFlags;

/// Literals whose values lie on the stack.
const LITERALS_FEW: usize = 8;

/// A statement's text.
#[derive(Clone, Copy)]
struct Given<'t> {
    sql: &'t [u8],
    values: &'t [Datum<'t>],
}

/// What became of a program that was looked at.
enum Tried {
    /// It is the one: its tables are locked.
    Right,
    /// It is for other values.
    Other,
    /// Its tables are not what they were.
    Stale,
}

impl Core {
    /// Whether programs of texts are kept and looked for.
    #[inline]
    pub(crate) fn may_keep_programs(&self) -> bool {
        !(self.env.server.programs.is_off()
            || self.tables.tables_are_locked()
            || self.tables.has_temporary()
            // What the values are expected to find decides whether the statement may run.
            || self.env.cached.join_size_max != u64::MAX)
    }

    /// What planning looks at besides text, schema and tables.
    #[inline]
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            collation: self.env.cached.charsets.connection,
            sql_mode: self.env.cached.sql_mode,
            shows_locked: self.client.shows_locked(),
            ..self.caches.programs.settings
        }
    }

    /// Runs a text as one statement whose program is kept; false leaves it to the ordinary way, which has not begun.
    pub(crate) fn run_cached(&mut self, sql: &[u8], net: &mut dyn Net) -> bool {
        if !self.may_keep_programs() {
            return false;
        }
        let settings = self.settings();
        self.caches.programs.keep_for(settings, self.env.database.as_deref());
        let mut scan = self.caches.scan.take().unwrap_or_default();
        let ran = self.caches.programs.scan(sql, self.env.cached.parser_mode, &mut scan)
            && self.run_scanned(sql, &mut scan, net);
        self.caches.scan = Some(scan);
        ran
    }

    fn run_scanned(&mut self, sql: &[u8], scan: &mut Scan, net: &mut dyn Net) -> bool {
        let literals = scan.literals();
        let unescaped = match literals.iter().any(is_escaped) {
            true => self.unescaped(sql, literals),
            false => Vec::new(),
        };
        let mut values: SmallVec<[Datum<'_>; LITERALS_FEW]> = SmallVec::new();
        for (n, literal) in literals.iter().enumerate() {
            values.push(match unescaped.get(n) {
                Some(Some(text)) => Datum::Bytes(text),
                _ => plain_value(sql, literal),
            });
        }
        self.run_values(Given { sql, values: &values }, scan, net)
    }

    /// The texts of literals with escapes.
    #[cold]
    fn unescaped(&self, sql: &[u8], literals: &[CutLiteral]) -> Vec<Option<Vec<u8>>> {
        let text = |literal: &CutLiteral| {
            let mut text = Vec::new();
            cut::unescaped(sql, self.env.cached.parser_mode, literal, &mut text);
            text
        };
        literals.iter().map(|literal| is_escaped(literal).then(|| text(literal))).collect()
    }

    /// Ends a statement that found no program to run.
    #[cold]
    fn refuse_text(&mut self, error: SqlError, sql: &[u8]) {
        self.take_digest_of_text(sql);
        self.refuse(error);
    }

    fn run_values(&mut self, given: Given<'_>, scan: &mut Scan, net: &mut dyn Net) -> bool {
        let mut started = false;
        match self.run_own_program(given, scan, &mut started, net) {
            Ok(true) => true,
            Ok(false) => self.run_other_program(given, scan, started, net),
            Err(error) => {
                self.refuse_text(error, given.sql);
                true
            }
        }
    }

    /// Runs a program of the session's own; false when it has none for the text.
    #[inline]
    fn run_own_program(
        &mut self,
        given: Given<'_>,
        scan: &Scan,
        started: &mut bool,
        net: &mut dyn Net,
    ) -> Result<bool, SqlError> {
        let Some(place) = scan.place else { return Ok(false) };
        let mut from = 0;
        while let Some((at, mut cached)) =
            self.caches.programs.take(place, from, given.sql, scan.literals())
        {
            let tried = self
                .start_once(cached.kind, started)
                .and_then(|()| self.try_program(&cached.prepared, given.values));
            match tried {
                Ok(Tried::Right) => {
                    count(Counter::LimpidPlanCacheHits, 1);
                    self.take_digest(&mut cached.digest);
                    self.run_compiled(&mut cached.prepared, given.values, false, net);
                    self.caches.programs.put_back(place, cached);
                    return Ok(true);
                }
                Ok(Tried::Stale) => {}
                other => {
                    self.caches.programs.put_back_at(place, at, cached);
                    other?;
                    from = at + 1;
                }
            }
        }
        Ok(false)
    }

    /// Locks a program's tables and looks whether it is the right one.
    #[inline]
    fn try_program(
        &mut self,
        prepared: &Prepared,
        values: &[Datum<'_>],
    ) -> Result<Tried, SqlError> {
        if !prepared.relock(&mut self.context())? {
            return Ok(Tried::Stale);
        }
        if prepared.fits(&self.tables, values) {
            return Ok(Tried::Right);
        }
        self.tables.begin_round();
        Ok(Tried::Other)
    }

    /// Runs a program that another session has made, or a new one; false when the text is not to be planned.
    #[cold]
    fn run_other_program(
        &mut self,
        given: Given<'_>,
        scan: &mut Scan,
        mut started: bool,
        net: &mut dyn Net,
    ) -> bool {
        let key = self.caches.programs.key(given.sql, self.env.cached.parser_mode, scan);
        let mut stale = Vec::new();
        match self.adopt(given, (&key, scan.literals()), &mut stale, &mut started) {
            Ok(Some(cached)) => {
                count(Counter::LimpidPlanCacheSharedHits, 1);
                return self.run_and_keep(given, &key, cached, net);
            }
            Ok(None) => {}
            Err(error) => {
                self.refuse_text(error, given.sql);
                return true;
            }
        }
        let (mode, digest_limits) = (self.env.cached.parser_mode, self.digest_limits());
        let parsed = cut::parse(given.sql, mode, scan.literals(), digest_limits);
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
        let kind = (self.describe)(&parsed.statement);
        let literals = given.values.iter().map(OwnedDatum::of).collect();
        let written = parsed.warnings.clone();
        let made = self
            .start_once(kind, &mut started)
            .and_then(|()| prepare_text(parsed, literals, &mut self.context()));
        match made {
            Ok(prepared) => {
                let pinned = Pinned::of(&prepared, given.sql, scan.literals());
                self.publish(&key, (&prepared, pinned.clone(), 0), &stale);
                self.run_and_keep(given, &key, CachedProgram::new(pinned, prepared, kind), net)
            }
            Err(error) => {
                self.warn_of_text(&written);
                self.refuse_text(error, given.sql);
                true
            }
        }
    }

    /// Takes over a shared program; those that are stale go to `stale`.
    fn adopt(
        &mut self,
        given: Given<'_>,
        (key, literals): (&Key, &[CutLiteral]),
        stale: &mut Vec<Arc<SharedProgram>>,
        started: &mut bool,
    ) -> Result<Option<CachedProgram>, SqlError> {
        for shared in self.env.server.programs.find(key, |p| p.are_in(given.sql, literals)) {
            let kind = (self.describe)(shared.program.statement());
            self.start_once(kind, started)?;
            let mark = self.tables.mark();
            let Some(prepared) = shared.program.adopt(&mut self.context())? else {
                // It may have locked what the statement does not name any more.
                self.tables.release_since(self.client.slot(), mark);
                stale.push(shared);
                continue;
            };
            if prepared.fits(&self.tables, given.values) {
                let pinned = shared.pinned.clone();
                return Ok(Some(CachedProgram::new(pinned, prepared, kind)));
            }
            self.tables.begin_round();
        }
        Ok(None)
    }

    /// Offers a program to all sessions, instead of those that were found stale; it is of a text with so many markers.
    pub(crate) fn publish(
        &mut self,
        key: &Key,
        (prepared, pinned, params): (&Prepared, Pinned, usize),
        stale: &[Arc<SharedProgram>],
    ) {
        let Some(program) = prepared.shared(&self.context()) else { return };
        let new = SharedProgram { pinned, program, text: Arc::clone(&key.text), params };
        let evicted = self.env.server.programs.publish(key, new, key.text.len(), stale);
        count(Counter::LimpidPlanCacheEvictions, evicted);
    }

    fn run_and_keep(
        &mut self,
        given: Given<'_>,
        key: &Key,
        mut cached: CachedProgram,
        net: &mut dyn Net,
    ) -> bool {
        self.take_digest(&mut cached.digest);
        self.run_compiled(&mut cached.prepared, given.values, false, net);
        self.caches.programs.keep(&key.text, Box::new(cached));
        true
    }

    /// Counts the statement, and what must happen before it; once for each text.
    #[inline]
    fn start_once(
        &mut self,
        kind: &'static Descriptor,
        started: &mut bool,
    ) -> Result<(), SqlError> {
        if std::mem::replace(started, true) {
            return Ok(());
        }
        self.env.link.status.set(StatusFlags::MORE_RESULTS, false);
        self.env.diagnostics.clear();
        count(Counter::Queries, 1);
        if let Some(counter) = kind.counter {
            count(counter, 1);
        }
        self.event_is_of(kind.counter);
        self.before(kind)
    }
}

fn is_escaped(literal: &CutLiteral) -> bool {
    matches!(literal.value, LiteralValue::Text { escaped: true, .. })
}

/// The value of a literal without escapes.
#[inline]
fn plain_value<'t>(sql: &'t [u8], literal: &CutLiteral) -> Datum<'t> {
    match literal.value {
        LiteralValue::Int(v) => Datum::Int(v),
        LiteralValue::UInt(v) => Datum::UInt(v),
        LiteralValue::Text { start, end, .. } => {
            Datum::Bytes(sql.get(start as usize..end as usize).unwrap_or_default())
        }
    }
}
