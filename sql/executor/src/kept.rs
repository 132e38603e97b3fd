//! Plans of texts, kept by a session and shared between sessions.
//!
//! 1. A kept plan never makes itself anew: its tree has the literals of the text that it was made of. Who runs
//!    it locks its tables first ([`Prepared::relock`]) and drops it when one of them is another by now. 2. A
//!    [`SharedPlan`] is immutable. A session that takes it over opens its tables, compares their versions with
//!    those that it was planned for, and gets a copy that names its own handles.

use crate::locking::Use;
use crate::{Context, Prepared, Program, SqlError};
use catalog::{NameEntry, TableCache, TableRef};
use expr::OwnedDatum;
use mdl::Mode;
use parser::ast::Statement;
use planner::literals::{Literals, Probe};
use planner::parameters::Parameters;
use planner::{Plan, ResultColumn};
use std::mem::size_of;
use std::sync::Arc;
use value::Datum;

/// What another text must agree in, besides its words, to have the same plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    /// By literal: it is a parameter.
    free: Vec<bool>,
    probes: Vec<Probe>,
}

/// Compiles a text that was cut, for keeping: some of its literals become parameters.
///
/// # Errors
/// As [`crate::prepare`].
pub fn prepare_text(
    statement: Statement,
    literals: Vec<OwnedDatum>,
    context: &mut Context<'_>,
) -> Result<Prepared, SqlError> {
    let mut made = Prepared::new(statement, context);
    made.kept = Some(Terms::default());
    crate::compile(&mut made, context, Literals::new(literals), Parameters::default())?;
    Ok(made)
}

impl Terms {
    pub(crate) fn of(literals: Literals) -> Terms {
        let (free, probes) = literals.finish();
        Terms { free, probes }
    }
}

impl Prepared {
    /// Whether a literal of the text is a parameter of the plan.
    pub fn is_free(&self, literal: usize) -> bool {
        self.kept.as_ref().is_some_and(|terms| terms.free.get(literal) == Some(&true))
    }

    /// Locks the tables of a kept plan; false when one of them is not what it was planned for.
    ///
    /// # Errors
    /// Lock errors.
    pub fn relock(&self, context: &mut Context<'_>) -> Result<bool, SqlError> {
        let deadline = context.env.lock_deadline();
        for (table, mode) in &self.tables {
            if !context.tables.relock(context.client.slot(), *table, *mode, deadline)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a kept plan whose tables are locked would be made again with these literals, as far as the
    /// estimates tell.
    pub fn fits(&self, tables: &TableCache, literals: &[Datum<'_>]) -> bool {
        let probes = self.kept.as_ref().map_or(&[][..], |terms| &terms.probes);
        if probes.is_empty() {
            return true;
        }
        let values: Vec<_> = literals.iter().map(OwnedDatum::of).collect();
        probes.iter().all(|probe| probe.fits(tables, &values))
    }

    /// A copy for other sessions; `None` where a plan is this session's alone.
    pub fn share(&self, tables: &TableCache) -> Option<SharedPlan> {
        let (Some(terms), Program::Rows(plan)) = (&self.kept, &self.program) else { return None };
        let mut plan = (**plan).clone();
        let mut known = true;
        let nodes = plan.for_each_table(&mut |table| {
            known &= self.tables.iter().any(|(t, _)| t == table);
        });
        let named = |(table, mode): &(TableRef, Mode)| SharedTable {
            name: Arc::clone(tables.name_of(*table)),
            table: *table,
            mode: *mode,
        };
        known.then(|| SharedPlan {
            statement: Arc::clone(&self.statement),
            tables: self.tables.iter().map(named).collect(),
            columns: self.columns.clone(),
            database: self.database.clone(),
            written: self.written.clone(),
            warnings: self.warnings.clone(),
            terms: terms.clone(),
            nodes: nodes + self.columns.len(),
            plan,
        })
    }
}

/// A table of a plan that was made in another session.
struct SharedTable {
    name: Arc<NameEntry>,
    /// What the plan calls it.
    table: TableRef,
    mode: Mode,
}

/// A kept plan that any session can take over.
pub struct SharedPlan {
    statement: Arc<Statement>,
    plan: Plan,
    tables: Vec<SharedTable>,
    columns: Vec<ResultColumn>,
    database: Option<String>,
    written: Vec<parser::Warning>,
    warnings: Vec<(u16, String)>,
    terms: Terms,
    nodes: usize,
}

/// Bytes of a tree and of a plan's expressions per byte of text, about.
const BYTES_PER_TEXT_BYTE: usize = 64;

impl SharedPlan {
    /// Memory that it takes, in bytes, estimated for a text of that length.
    pub fn bytes(&self, text_bytes: usize) -> usize {
        let node = size_of::<planner::query_plan::Node>() + size_of::<planner::Output>();
        size_of::<SharedPlan>() + self.nodes * node + text_bytes * BYTES_PER_TEXT_BYTE
    }

    /// Whether it was measured with a literal's value, so that other values may ask for another plan.
    pub fn is_measured(&self) -> bool {
        !self.terms.probes.is_empty()
    }

    /// The statement.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// A copy for a session, whose tables it locks; `None` when one of them is not what it was planned for.
    ///
    /// # Errors
    /// Lock errors.
    pub fn adopt(&self, context: &mut Context<'_>) -> Result<Option<Prepared>, SqlError> {
        let deadline = context.env.lock_deadline();
        let mut tables = Vec::with_capacity(self.tables.len());
        for shared in &self.tables {
            let opened = context.tables.adopt(
                context.client,
                &shared.name,
                shared.table,
                shared.mode,
                deadline,
            )?;
            let Some(table) = opened else { return Ok(None) };
            tables.push((table, shared.mode));
        }
        let own = |table: &mut TableRef| {
            let position = self.tables.iter().position(|shared| shared.table == *table);
            if let Some(position) = position {
                *table = tables[position].0;
            }
        };
        let mut plan = self.plan.clone();
        plan.for_each_table(&mut { own });
        let mut terms = self.terms.clone();
        terms.probes.iter_mut().for_each(|probe| own(probe.table_mut()));
        Ok(Some(Prepared {
            statement: Arc::clone(&self.statement),
            program: Program::Rows(Box::new(plan)),
            columns: self.columns.clone(),
            tables,
            database: self.database.clone(),
            written: self.written.clone(),
            warnings: self.warnings.clone(),
            parameters: Vec::new(),
            // Hints have no key.
            sets_variables: false,
            stale: false,
            announced: false,
            shows_locked: false,
            used: Use::Shown,
            kept: Some(terms),
        }))
    }
}
