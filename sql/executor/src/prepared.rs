//! A session's use of a program.
//!
//! 1. A statement that is prepared has another program when a table changed since, or when values of other types come:
//! who runs it locks its tables first ([`Prepared::lock`]) and looks for that, or has it made.
//! 2. The program of a text whose literals were cut out never makes itself anew: its tree has the literals of the text
//! that it was made of. Who runs it locks its tables first ([`Prepared::relock`]) and drops it when one of them is another
//! by now.

use crate::kind::Kind;
use crate::locking::Use;
use crate::program::{Code, Open, Program, ProgramTable, raise};
use crate::program_reuse::Terms;
use crate::query::{Call, Purpose};
use crate::states::{Own, Place, State};
use crate::{
    Context, Environment, Nowhere, Outcome, ResultColumn, RowSink, SqlError, WarningLevel, ddl,
    explain, maintain, query, run_change, show,
};
use instrument::Counter;
use parser::ast::Statement;
use parser::digest::Digest;
use planner::Plan;
use planner::parameters::{Parameter, Parameters};
use std::cell::Cell;
use std::sync::Arc;
use value::Datum;

/// The state of rights in which no session is.
const UNCHECKED: u32 = u32::MAX;

/// A compiled statement of one session.
#[repr(C)]
pub struct Prepared {
    pub(crate) program: Own,
    /// Where its state is.
    place: Place,
    /// The state of the session's rights that it may be run in.
    allowed_in: Cell<u32>,
    /// PREPARE has raised the warnings.
    announced: bool,
    /// What becomes of the rows of a query.
    used: Use,
    /// What the parameters are to be planned for from now on.
    pub(crate) retyped: Option<Vec<Parameter>>,
}

impl Prepared {
    /// The session's use of a program whose tables it has opened.
    pub(crate) fn of(program: Arc<Program>) -> Prepared {
        let (program, place) = (Own::new(program), Place::default());
        let allowed_in = Cell::new(UNCHECKED);
        Prepared { program, place, retyped: None, announced: false, used: Use::Shown, allowed_in }
    }

    /// Result columns; empty for a statement without a result set.
    pub fn columns(&self) -> &[ResultColumn] {
        &self.program.columns
    }

    /// Its rows go into variables by SET: they are locked, as MySQL does it.
    pub fn is_needed(&mut self) {
        self.used = Use::Needed;
    }

    /// The statement's tree.
    pub fn statement(&self) -> &Statement {
        &self.program.statement
    }

    /// It sends rows that a plan finds.
    pub fn is_query(&self) -> bool {
        match &self.program.code {
            Code::Point(_) => true,
            Code::Rows(plan) => matches!(**plan, Plan::Query(_)),
            Code::Tree => false,
        }
    }

    /// SELECT ... INTO.
    pub fn has_into(&self) -> bool {
        self.is_query() && self.program.query().is_some_and(|query| query.into.is_some())
    }

    /// Raises the warnings about what is written now, and no more at its runs: PREPARE does so.
    pub fn announce(&mut self, env: &mut dyn Environment) {
        self.announced = true;
        raise(&self.program.warnings, env);
    }

    /// Whether it reads tables, and whether it writes some or locks their rows, besides those that are made up.
    pub fn touches(&self) -> (bool, bool) {
        let tables = &self.program.tables;
        // Who names a table again that it writes reads it, too.
        let reads = tables.iter().any(|t| !t.mode.changes_rows() || t.times > 1);
        (reads, tables.iter().any(|t| t.mode.changes_rows()))
    }

    /// Hints of the statement set variables for the time of its run.
    pub fn sets_variables(&self) -> bool {
        self.program.sets_variables
    }

    /// Locks the tables; false when one of them is not what it was planned for, or what it needs is not granted: planned
    /// anew it says so.
    ///
    /// # Errors
    /// Lock errors.
    #[inline]
    pub fn relock(&self, context: &mut Context<'_>) -> Result<bool, SqlError> {
        let state = context.env.rights_state();
        if self.allowed_in.get() != state {
            if self.program.check_rights(context).is_err() {
                return Ok(false);
            }
            self.allowed_in.set(state);
        }
        if context.tables.asks() {
            self.program.admit_again(context)?;
        }
        let deadline = context.env.lock_deadline();
        for table in &self.program.tables {
            let slot = context.client.slot();
            let named = (&table.name, table.table);
            if !context.tables.relock(slot, named, table.mode, deadline)? {
                return Ok(false);
            }
        }
        if self.program.repeats {
            self.open_again(context)?;
        }
        Ok(true)
    }

    /// Opens the tables that the statement names more than once as often as it does.
    #[cold]
    fn open_again(&self, context: &mut Context<'_>) -> Result<(), SqlError> {
        for table in self.program.tables.iter().filter(|t| t.times > 1) {
            context.tables.enter_again(table.table, table.times - 1)?;
        }
        Ok(())
    }

    /// Locks the tables of a statement that was prepared; false when its program is not the one to be run: a table has
    /// changed, or the values are of other types.
    ///
    /// # Errors
    /// Lock errors.
    #[inline]
    pub fn lock(&self, context: &mut Context<'_>) -> Result<bool, SqlError> {
        let alike = self.program.shows_locked == context.client.shows_locked()
            || self.program.tables.is_empty()
            || !matches!(self.statement(), Statement::Query(_));
        Ok(self.retyped.is_none() && alike && self.relock(context)?)
    }

    /// Runs the program of another one of the same text, whose tables are locked, from now on.
    pub fn take_over(&mut self, other: Prepared) {
        self.count_again();
        (self.program, self.retyped) = (other.program, None);
        self.allowed_in.set(UNCHECKED);
    }

    /// A statement that was prepared is prepared again, as its tables have changed. That more is known of their rows counts
    /// for nothing.
    fn count_again(&self) {
        let changed = |t: &ProgramTable| t.name.has_changed(t.table);
        if self.announced && self.retyped.is_none() && self.program.tables.iter().any(changed) {
            instrument::count(Counter::ComStmtReprepare, 1);
        }
    }

    /// Compiles anew, for the tables as they are and the types of the last values. Takes metadata locks.
    ///
    /// # Errors
    /// As [`prepare`].
    pub fn compile_again(&mut self, context: &mut Context<'_>) -> Result<(), SqlError> {
        self.count_again();
        // The lock is held by the open inside compile, so the definition cannot change between this compilation and
        // the run.
        let parameters = self.parameters().to_vec();
        let open = Open::with(Parameters::of(parameters.clone()));
        // Until it is there again the statement is as good as not compiled.
        self.retyped = Some(parameters);
        let made = Program::compile(&self.program.statement, context, open)?;
        let digest = self.program.digest.clone();
        (self.program, self.retyped) = (Own::new(made.digested(digest)), None);
        self.allowed_in.set(UNCHECKED);
        Ok(())
    }

    /// The program, for other sessions; `None` where it is this session's alone.
    pub fn shared(&self, context: &Context<'_>) -> Option<Arc<Program>> {
        let runs = matches!(self.program.code, Code::Point(_) | Code::Rows(_));
        let own = |t: &ProgramTable| context.tables.is_own(t.table);
        let shared = runs && !self.program.sets_variables && !self.program.tables.iter().any(own);
        shared.then(|| self.program.shared())
    }

    /// The digest of its text, where one was made.
    pub fn digest(&self) -> Option<&Arc<Digest>> {
        self.program.digest.as_ref()
    }

    /// What another text must agree in.
    pub(crate) fn terms(&self) -> Option<&Terms> {
        self.program.terms.as_ref()
    }
}

/// Compiles a statement. Takes metadata locks, which the session gives back.
///
/// # Errors
/// Unknown names, 1235 for what cannot run yet, lock and storage errors.
pub fn prepare(statement: Statement, context: &mut Context<'_>) -> Result<Prepared, SqlError> {
    let open = Open::with(Parameters::default());
    let program = Program::compile(&Arc::new(statement), context, open)?;
    Ok(Prepared::of(Arc::new(program)))
}

/// As [`prepare`], of a statement with so many parameters, whose types are found, and of its text's digest.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_open(
    statement: Statement,
    parameters: usize,
    digest: Option<Arc<Digest>>,
    context: &mut Context<'_>,
) -> Result<Prepared, SqlError> {
    /// One parameter's type may hang on another's, and that on a third's.
    const PASSES_MAX: usize = 4;
    let statement = Arc::new(statement);
    let mut known = vec![Parameter::default(); parameters];
    let planned = |of: &[Parameter]| of.iter().map(|p| p.planned).collect::<Vec<_>>();
    for _ in 0..PASSES_MAX {
        let open = Open::with(Parameters::open(known.clone()));
        let made = Program::compile(&statement, context, open)?;
        if planned(&made.parameters) == planned(&known) {
            return Ok(Prepared::of(made.digested(digest)));
        }
        known = made.parameters;
        context.tables.plan_again();
    }
    let made = Program::compile(&statement, context, Open::with(Parameters::of(known)))?;
    Ok(Prepared::of(made.digested(digest)))
}

/// Runs a compiled statement whose tables are locked, by its compilation or [`Prepared::lock`]. The session calls this
/// between its own begin and commit and gives the metadata locks back afterwards.
///
/// # Errors
/// Everything a statement can end in; its changes are rolled back by then.
pub fn execute(
    prepared: &mut Prepared,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let Prepared { program: own, place, announced, used, .. } = prepared;
    let program: &Program = own;
    instrument::count(Counter::HandlerExternalLock, program.external_locks);
    for (number, text) in &program.written {
        context.env.warn(WarningLevel::Warning, *number, text.to_string());
    }
    if !*announced {
        raise(&program.warnings, context.env);
    }
    let call = |query, used| Call { query, used, header: &program.columns, params };
    match &program.code {
        Code::Point(point) => {
            let mut buffers = match context.states.take(own, place) {
                Some(State::Point(buffers)) => buffers,
                _ => Box::default(),
            };
            let done = if point.runs(&mut buffers, context, params) {
                point.run(&mut buffers, context, params, &program.columns, sink)
            } else {
                program.count_locks(context);
                query::run(call(point.query(), *used), context, sink)
            };
            context.states.put(own, place, State::Point(buffers));
            done
        }
        Code::Rows(plan) => {
            program.count_locks(context);
            match &**plan {
                Plan::Query(query) => {
                    run_with_cached_operators((own, place), call(query, *used), context, sink)
                }
                Plan::Do(query) => {
                    run_with_cached_operators(
                        (own, place),
                        call(query, Use::Needed),
                        context,
                        &mut Nowhere,
                    )?;
                    Ok(Outcome { found_rows: Some(1), ..Outcome::default() })
                }
                change => run_change((own, place), change, context, params, sink),
            }
        }
        Code::Tree => match Kind::run_here(&program.statement)? {
            Kind::Show(show) => show::run(show, &program.columns, context, sink),
            Kind::Explain(what) => explain::run(what, &program.columns, context, sink),
            Kind::Maintain(what) => maintain::run(what, &program.columns, context, sink),
            Kind::Ddl(ddl) => ddl::run(ddl, params, context),
            Kind::Dml(_) => Err(SqlError::Storage(base::Error::Internal("rows without a plan"))),
        },
    }
}

/// Runs a query with the operators of the run before, if they are there, and keeps them for the next run.
fn run_with_cached_operators(
    (program, place): (&Own, &mut Place),
    call: Call<'_>,
    context: &mut Context<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let mut opened = match context.states.take(program, place) {
        Some(State::Query(opened)) => opened,
        _ => query::opened(program, call.params, Purpose::Result, context)?,
    };
    let done = query::run_opened(call, &mut opened, context, sink);
    if done.is_ok() {
        opened.close();
        context.states.put(program, place, State::Query(opened));
    }
    done
}
