//! Runs plans: a point program for reads by primary key, row operators for the rest, DDL and SHOW.
//!
//! Reading order: this file (what a session calls), [`point`] (the hot path), [`kept`] (plans of texts), [`query`] and [`ops`] (how rows are found), [`insert`], [`change`], [`write`] (how a row is written), [`ddl`], [`show`], [`maintain`].
//!
//! 1. A statement that fails leaves no change behind: DML rolls back to its own mark. 2. Metadata
//! locks taken here are given back by the session, at the end of the statement (autocommit) or of
//! the transaction. 3. The hot path of a point select allocates nothing and writes nothing that
//! another session reads.

mod change;
mod checksum;
mod columns;
mod create_text;
mod damage;
mod ddl;
mod examined;
mod explain;
mod files;
mod foreign;
mod histogram;
mod indexes;
mod insert;
pub mod kept;
pub mod kept_bytes;
mod keyrange;
mod lock_tables;
mod locking;
mod maintain;
mod memory;
mod ops;
mod parameters;
mod point;
mod query;
mod quoting;
mod rows;
mod show;
mod spill;
mod views;
mod write;

pub use damage::named;
pub use expr::functions::release_user_locks;
pub use expr::{AutoincMode, Environment, OwnedDatum, SqlError, WarningLevel};
pub use insert::load::local_disabled;
pub use lock_tables::{admit_flush, flush_and_lock, lock_tables};
pub use planner::parameters::ParameterType;
pub use planner::plan::{KeyFlags, ResultColumn};

use catalog::{TableCache, TableRef};
use engine::Client;
use locking::Use;
use mdl::Mode;
use parser::ast::{self, Statement};
use planner::literals::Literals;
use planner::parameters::{Parameter, Parameters};
use planner::{Plan, PlanContext};
use std::sync::Arc;
use value::Datum;

/// Where result rows go.
pub trait RowSink {
    /// Announces the columns; called once, before the first row.
    fn header(&mut self, columns: &[ResultColumn]) -> Result<(), SqlError>;
    /// As [`RowSink::header`], for columns that may be announced again and again: `memo` lives as long
    /// as they stay the same, and begins empty.
    fn header_again(
        &mut self,
        columns: &[ResultColumn],
        memo: &mut HeaderMemo,
    ) -> Result<(), SqlError> {
        let _ = memo;
        self.header(columns)
    }
    /// Asks the client for one of its files, for LOAD DATA LOCAL.
    ///
    /// # Errors
    /// 3948 where there is no client, or it sends none.
    fn local_file(&mut self, name: &[u8]) -> Result<Box<dyn std::io::Read + '_>, SqlError> {
        let _ = name;
        Err(local_disabled())
    }
    /// Sends a row.
    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), SqlError>;
}

/// What a sink keeps of a header between two runs of a compiled statement.
#[derive(Debug, Default)]
pub struct HeaderMemo {
    /// What `bytes` depends on besides the columns, as the sink numbers it; 0 while there are none.
    pub key: u64,
    /// The header as the sink wrote it.
    pub bytes: Vec<u8>,
}

/// Everything a statement runs against.
pub struct Context<'a> {
    /// The engine's client of this session.
    pub client: &'a mut Client,
    /// Open tables and metadata locks of this session.
    pub tables: &'a mut TableCache,
    /// The session.
    pub env: &'a mut dyn Environment,
}

impl Context<'_> {
    fn planning(&mut self) -> PlanContext<'_> {
        self.tables.begin_planning();
        PlanContext {
            warnings: Vec::new(),
            literals: Literals::default(),
            parameters: Parameters::default(),
            client: self.client,
            database: self.env.database(),
            deadline: self.env.lock_deadline(),
            explains: false,
            settings: expr::build::Settings {
                shows_locked: self.client.shows_locked(),
                ..expr::build::Settings::of(self.env)
            },
            variables: self.env,
            assigned: Vec::new(),
            tables: self.tables,
        }
    }

    /// Schema of a written name.
    fn schema_of(&self, name: &ast::ObjectName) -> Result<String, SqlError> {
        match (&name.schema, self.env.database()) {
            (Some(schema), _) => Ok(schema.clone()),
            (None, Some(database)) => Ok(database.to_string()),
            (None, None) => Err(SqlError::NoDatabase),
        }
    }
}

/// What a statement did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// A result set was sent.
    pub has_rows: bool,
    /// FOUND_ROWS() afterwards; none of what leaves it as it was.
    pub found_rows: Option<u64>,
    /// Rows changed.
    pub affected_rows: u64,
    /// First generated AUTO_INCREMENT value, 0 if none: the next LAST_INSERT_ID().
    pub last_insert_id: u64,
    /// What an INSERT tells the client where none was generated: the AUTO_INCREMENT value of the last row that it put
    /// into the table, or changed there. UPDATE tells 0, unless LAST_INSERT_ID(value) was called; `None`: the
    /// statement tells no number.
    pub row_id: Option<u64>,
    /// Info text of the OK packet.
    pub info: String,
}

enum Program {
    Point(Box<point::PointSelect>),
    Rows(Box<Plan>),
    /// DDL, SHOW and CHECK TABLE's kin run from the tree; nothing in them depends on parameters.
    Tree,
}

/// A compiled statement of one session. It makes itself anew when a table changed since.
pub struct Prepared {
    statement: Arc<Statement>,
    program: Program,
    columns: Vec<ResultColumn>,
    tables: Vec<(TableRef, Mode)>,
    database: Option<String>,
    /// Warnings of the parser, raised at every run of a kept text.
    written: Vec<parser::Warning>,
    /// Warnings about what is written, raised at every run unless they were announced.
    warnings: Vec<(u16, String)>,
    /// What parameters are planned for.
    parameters: Vec<Parameter>,
    sets_variables: bool,
    stale: bool,
    /// PREPARE has raised the warnings.
    announced: bool,
    /// What becomes of the rows of a query.
    used: Use,
    /// It is the plan of a text, and kept for others.
    kept: Option<kept::Terms>,
    /// It was planned for rows that are locked though they are only shown.
    shows_locked: bool,
}

impl Prepared {
    fn new(statement: Statement, context: &Context<'_>) -> Prepared {
        let is_variable = |h: &ast::Hint| matches!(h.inside, ast::HintInside::Variable(..));
        let sets_variables = statement.hints().iter().any(|h| h.list.iter().any(is_variable));
        Prepared {
            statement: Arc::new(statement),
            sets_variables,
            program: Program::Tree,
            columns: Vec::new(),
            tables: Vec::new(),
            database: context.env.database().map(str::to_string),
            written: Vec::new(),
            warnings: Vec::new(),
            parameters: Vec::new(),
            stale: false,
            announced: false,
            used: Use::Shown,
            kept: None,
            shows_locked: false,
        }
    }

    /// Result columns; empty for a statement without a result set.
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Its rows go into variables by SET: they are locked, as MySQL does it.
    pub fn is_needed(&mut self) {
        self.used = Use::Needed;
    }

    /// The statement's tree.
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// It sends rows that a plan finds.
    pub fn is_query(&self) -> bool {
        match &self.program {
            Program::Point(_) => true,
            Program::Rows(plan) => matches!(**plan, Plan::Query(_)),
            Program::Tree => false,
        }
    }

    /// SELECT ... INTO.
    pub fn has_into(&self) -> bool {
        matches!(&self.program, Program::Rows(plan)
            if matches!(&**plan, Plan::Query(query) if query.into.is_some()))
    }

    /// True for a read by primary key: literals of such a statement may be lifted out as parameters.
    pub fn is_point(&self) -> bool {
        matches!(self.program, Program::Point(_))
    }

    /// Raises the warnings about what is written now, and no more at its runs: PREPARE does so.
    pub fn announce(&mut self, env: &mut dyn Environment) {
        self.announced = true;
        for (number, text) in std::mem::take(&mut self.warnings) {
            env.warn(WarningLevel::Warning, number, text);
        }
    }

    /// The text of a kept plan deserves these warnings whenever it is run.
    pub fn warn_at_runs(&mut self, warnings: Vec<parser::Warning>) {
        self.written = warnings;
    }

    /// Hints of the statement set variables for the time of its run.
    pub fn sets_variables(&self) -> bool {
        self.sets_variables
    }

    /// True when the current database is the one the statement was compiled in.
    pub fn database_is(&self, database: Option<&str>) -> bool {
        self.database.as_deref() == database
    }
}

/// Compiles a statement. Takes metadata locks, which the session gives back.
///
/// # Errors
/// Unknown names, 1235 for what cannot run yet, lock and storage errors.
pub fn prepare(statement: Statement, context: &mut Context<'_>) -> Result<Prepared, SqlError> {
    let mut made = Prepared::new(statement, context);
    compile(&mut made, context, Literals::default(), Parameters::default())?;
    Ok(made)
}

/// As [`prepare`], of a statement with so many parameters, whose types are found.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_open(
    statement: Statement,
    parameters: usize,
    context: &mut Context<'_>,
) -> Result<Prepared, SqlError> {
    /// One parameter's type may hang on another's, and that on a third's.
    const PASSES_MAX: usize = 4;
    let mut made = Prepared::new(statement, context);
    let mut known = vec![Parameter::default(); parameters];
    let planned = |of: &[Parameter]| of.iter().map(|p| p.planned).collect::<Vec<_>>();
    for _ in 0..PASSES_MAX {
        compile(&mut made, context, Literals::default(), Parameters::open(known.clone()))?;
        if planned(&made.parameters) == planned(&known) {
            return Ok(made);
        }
        known.clone_from(&made.parameters);
    }
    compile_again(&mut made, context)?;
    Ok(made)
}

/// Compiles a statement with the types that its parameters have.
fn compile_again(made: &mut Prepared, context: &mut Context<'_>) -> Result<(), SqlError> {
    let parameters = Parameters::of(made.parameters.clone());
    compile(made, context, Literals::default(), parameters)
}

fn compile(
    made: &mut Prepared,
    context: &mut Context<'_>,
    literals: Literals,
    parameters: Parameters,
) -> Result<(), SqlError> {
    views::refuse(&made.statement, context)?;
    if let Statement::Show(show) = &*made.statement {
        show::refuse_broken_view(show, context)?;
    }
    made.shows_locked = context.client.shows_locked();
    let mut planning = PlanContext { literals, parameters, ..context.planning() };
    let planned =
        match &*made.statement {
            Statement::Query(query) => {
                planner::query::plan_query(&mut planning, query).map(|p| Plan::Query(Box::new(p)))
            }
            Statement::Insert(insert) => planner::resolve::plan_insert(&mut planning, insert)
                .map(|p| Plan::Insert(Box::new(p))),
            Statement::Update(update) => planner::resolve::plan_update(&mut planning, update)
                .map(|p| Plan::Change(Box::new(p))),
            Statement::Delete(delete) => planner::resolve::plan_delete(&mut planning, delete)
                .map(|p| Plan::Change(Box::new(p))),
            Statement::Load(load) => {
                planner::resolve::plan_load(&mut planning, load).map(|p| Plan::Load(Box::new(p)))
            }
            Statement::Do(list) => {
                let query = parser::ast::Query::of_values(list.iter().cloned());
                planner::query::plan_query(&mut planning, &query).map(|p| Plan::Do(Box::new(p)))
            }
            Statement::Show(show) => match planner::show::query_of(show, &planning)? {
                Some(query) => planner::query::plan_query(&mut planning, &query)
                    .map(|p| Plan::Query(Box::new(p))),
                None => {
                    made.columns = show::columns(show, context)?;
                    return Ok(());
                }
            },
            Statement::Explain(explain) => {
                made.columns = explain::columns(explain, context)?;
                return Ok(());
            }
            Statement::Maintain(maintain) => {
                made.columns = maintain::columns(maintain)?;
                return Ok(());
            }
            // DDL. Who calls knows what the executor runs.
            _ => return Ok(()),
        };
    let (warnings, literals) = (planning.warnings, planning.literals);
    let parameters = planning.parameters;
    let plan = planned.map_err(|error| preceded(error, &warnings, &made.statement, context))?;
    if let Some(error) = refused(&warnings, &made.statement, context) {
        return Err(error);
    }
    if let Some(terms) = &mut made.kept {
        *terms = kept::Terms::of(literals);
    }
    made.warnings = warnings;
    made.parameters = parameters.finish();
    made.stale = false;
    made.columns = Vec::new();
    made.tables = match &plan {
        Plan::Query(query) => {
            views::refuse_locking(&made.statement, query, context)?;
            made.columns = query.query.outputs.iter().map(|o| o.column.clone()).collect();
            query.tables.clone()
        }
        Plan::Insert(insert) => insert.tables.clone(),
        Plan::Change(change) => change.query.tables.clone(),
        Plan::Load(load) => load.insert.tables.clone(),
        Plan::Do(query) => query.tables.clone(),
    };
    if let Plan::Query(query) = &plan
        && query.into.is_some()
    {
        made.columns = Vec::new();
    }
    made.program = match point::PointSelect::of(plan, context.tables) {
        Ok(point) => Program::Point(Box::new(point)),
        Err(plan) => Program::Rows(Box::new(plan)),
    };
    Ok(())
}

/// The first warning of planning that a strict change of rows cannot take: of a constant that does not fit the
/// column beside it.
fn refused(
    warnings: &[(u16, String)],
    statement: &Statement,
    context: &Context<'_>,
) -> Option<SqlError> {
    let changes = match statement {
        Statement::Insert(insert) => !insert.ignore,
        Statement::Update(update) => !update.ignore,
        Statement::Delete(delete) => !delete.ignore,
        _ => false,
    };
    let (_, text) = warnings.iter().find(|(number, _)| *number == 1292)?;
    let strict = changes && context.env.strict();
    strict.then(|| SqlError::Other(1292, "22007", text.clone()))
}

/// The error that ends planning, behind the warnings that came before it.
fn preceded(
    error: SqlError,
    warnings: &[(u16, String)],
    statement: &Statement,
    context: &mut Context<'_>,
) -> SqlError {
    if let Some(error) = refused(warnings, statement, context) {
        return error;
    }
    for (number, text) in warnings {
        context.env.warn(WarningLevel::Warning, *number, text.clone());
    }
    error
}

/// Runs a compiled statement. The session calls this between its own begin and commit and gives the
/// metadata locks back afterwards.
///
/// # Errors
/// Everything a statement can end in; its changes are rolled back by then.
pub fn execute(
    prepared: &mut Prepared,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    if prepared.kept.is_none() {
        lock(prepared, context)?;
    }
    for (number, text) in &prepared.written {
        context.env.warn(WarningLevel::Warning, *number, text.to_string());
    }
    for (number, text) in &prepared.warnings {
        context.env.warn(WarningLevel::Warning, *number, text.clone());
    }
    match &mut prepared.program {
        Program::Point(point) => point.run(context, params, &prepared.columns, sink),
        Program::Rows(plan) => {
            run_plan((plan, prepared.used), &prepared.columns, context, params, sink)
        }
        Program::Tree => match &*prepared.statement {
            Statement::Show(show) => show::run(show, &prepared.columns, context, sink),
            Statement::Explain(what) => explain::run(what, &prepared.columns, context, sink),
            Statement::Maintain(what) => maintain::run(what, &prepared.columns, context, sink),
            other => ddl::run(other, params, context),
        },
    }
}

/// Locks the tables; compiles anew until the definitions it was compiled for are the locked ones.
fn lock(prepared: &mut Prepared, context: &mut Context<'_>) -> Result<(), SqlError> {
    if prepared.tables.is_empty() && !prepared.stale {
        return Ok(());
    }
    let deadline = context.env.lock_deadline();
    // A kept plan is looked up by this, and never makes itself anew.
    let alike = prepared.shows_locked == context.client.shows_locked()
        || prepared.kept.is_some()
        || !matches!(&*prepared.statement, Statement::Query(_));
    let mut current = !prepared.stale && alike;
    for (table, mode) in &prepared.tables {
        current =
            current && context.tables.relock(context.client.slot(), *table, *mode, deadline)?;
    }
    if current {
        return Ok(());
    }
    // The lock is held (by relock, or by the open inside compile), so the definition cannot change
    // between this compilation and the run.
    prepared.stale = true;
    compile_again(prepared, context)?;
    if prepared.announced {
        prepared.warnings.clear();
    }
    Ok(())
}

/// Rows that nobody sees.
struct Nowhere;

impl RowSink for Nowhere {
    fn header(&mut self, _columns: &[ResultColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, _values: &[Datum<'_>]) -> Result<(), SqlError> {
        Ok(())
    }
}

fn run_plan(
    (plan, used): (&Plan, Use),
    columns: &[ResultColumn],
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    match plan {
        Plan::Query(query) => query::run((query, used), columns, context, params, sink),
        Plan::Do(query) => {
            query::run((query, Use::Needed), &[], context, params, &mut Nowhere)?;
            Ok(Outcome { found_rows: Some(1), ..Outcome::default() })
        }
        Plan::Insert(insert) => {
            atomically(context, insert.ignore, |c| insert::run(insert, c, params))
        }
        Plan::Change(change) => {
            atomically(context, change.ignore, |c| change::run(change, c, params))
        }
        // Its conversions raise their errors themselves.
        Plan::Load(load) => atomically(context, true, |c| insert::load::run(load, c, params, sink)),
    }
}

/// Runs a change; an error rolls back what this statement did and nothing more. Unless with IGNORE, a strict mode
/// takes a warning of an expression for an error.
fn atomically(
    context: &mut Context<'_>,
    ignore: bool,
    run: impl FnOnce(&mut Context<'_>) -> Result<Outcome, SqlError>,
) -> Result<Outcome, SqlError> {
    context.client.begin();
    context.client.set_reads_latest(true);
    let mark = context.client.mark();
    let done = run(context);
    // What a strict change cannot take came before the error that ends it, if one does.
    let done = match done {
        Err(SqlError::Storage(_)) => done,
        _ if ignore => done,
        _ => context.env.strict_failure().map_or(done, Err),
    };
    done.or_else(|error| {
        context.client.rollback_to(mark)?;
        Err(error)
    })
}
