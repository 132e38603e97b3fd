//! Programs: statements that are compiled, the same for all sessions.
//!
//! 1. A program is immutable and names nothing of a session: its tables have the numbers of their names, with the versions
//! that were planned for. Any session that has opened these tables in these versions may run it. 2. What the planner
//! looked at besides the text and the tables is in [`expr::build::Settings`], or in the program itself: the schema, the
//! parameters' types, and for a text whose literals were cut out the [`Terms`] on which another text may have it.

use crate::kind::Kind;
use crate::point::PointSelect;
use crate::program_reuse::Terms;
use crate::{Context, explain, maintain, show, views};
use access::Needs;
use catalog::{NameEntry, NamedTable, TableRef};
use expr::{Environment, SqlError, WarningLevel};
use mdl::Mode;
use parser::ast::{self, Statement};
use parser::digest::Digest;
use planner::dml::Dml;
use planner::literals::Literals;
use planner::parameters::{Parameter, Parameters};
use planner::plan::InsertSource;
use planner::query_plan::QueryStatement;
use planner::{Plan, PlanContext, ResultColumn};
use std::sync::Arc;

/// What a program does.
pub(crate) enum Code {
    /// A read by the whole primary key.
    Point(Box<PointSelect>),
    /// Operators, and changes of the rows that they find.
    Rows(Box<Plan>),
    /// DDL, SHOW and CHECK TABLE's kin run from the tree; nothing in them depends on parameters.
    Tree,
}

/// A table of a program.
pub(crate) struct ProgramTable {
    pub table: TableRef,
    pub mode: Mode,
    /// Its rows are written: of the tables of an UPDATE or DELETE only those that it changes.
    pub writes: bool,
    /// How often the statement names it.
    pub times: u32,
    /// For a session that has not opened it yet.
    pub name: Arc<NameEntry>,
}

impl ProgramTable {
    fn of((table, mode): (TableRef, Mode), plan: &Plan, context: &Context<'_>) -> ProgramTable {
        let writes = match plan {
            Plan::Change(change) => change.targets.iter().any(|t| t.table == table),
            _ => mode.changes_rows(),
        };
        let name = Arc::clone(context.tables.name_of(table));
        let times = context.tables.times_opened(table);
        ProgramTable { table, mode, writes, times, name }
    }
}

/// A compiled statement. What each run looks at comes first, in the order of memory.
#[repr(C)]
pub struct Program {
    pub(crate) code: Code,
    pub(crate) columns: Vec<ResultColumn>,
    pub(crate) tables: Vec<ProgramTable>,
    /// What a run adds to `Handler_external_lock`: two for each table that is no view.
    pub(crate) external_locks: u64,
    /// Warnings of the parser, raised at every run of a text.
    pub(crate) written: Vec<parser::Warning>,
    /// One of the tables is named more than once.
    pub(crate) repeats: bool,
    /// Hints set variables for the time of a run.
    pub(crate) sets_variables: bool,
    /// It was planned for rows that are locked though they are only shown.
    pub(crate) shows_locked: bool,
    /// Warnings about what is written, raised at every run unless PREPARE raised them.
    pub(crate) warnings: Vec<(u16, String)>,
    pub(crate) statement: Arc<Statement>,
    /// What it calls them.
    pub(crate) named: Vec<NamedTable>,
    /// What parameters are planned for.
    pub(crate) parameters: Vec<Parameter>,
    /// Of a text whose literals were cut out.
    pub(crate) terms: Option<Terms>,
    /// What it needs of the tables that it names.
    pub(crate) needs: Needs,
    /// Of the text that it was made of, and of every other one that has this program.
    pub(crate) digest: Option<Arc<Digest>>,
    /// It opens something: a table that is stored or virtual, or a derived one.
    pub(crate) opens: bool,
}

/// What becomes of the literals of a statement, and of its parameters.
pub(crate) struct Open {
    pub literals: Literals,
    pub parameters: Parameters,
    /// Literals were cut out of the text.
    pub cut: bool,
    /// Warnings of the parser.
    pub written: Vec<parser::Warning>,
}

impl Open {
    /// Of a statement whose parameters are known.
    pub fn with(parameters: Parameters) -> Open {
        let (literals, written) = (Literals::default(), Vec::new());
        Open { literals, parameters, cut: false, written }
    }
}

impl Program {
    /// Compiles a statement. Takes metadata locks.
    ///
    /// # Errors
    /// See [`crate::prepare`].
    pub(crate) fn compile(
        statement: &Arc<Statement>,
        context: &mut Context<'_>,
        open: Open,
    ) -> Result<Program, SqlError> {
        let kind = Kind::run_here(statement)?;
        views::refuse(kind, context)?;
        if let Kind::Show(show) = kind {
            show::refuse_broken_view(show, context)?;
        }
        let is_variable = |h: &ast::Hint| matches!(h.inside, ast::HintInside::Variable(..));
        let mut made = Program {
            statement: Arc::clone(statement),
            code: Code::Tree,
            columns: Vec::new(),
            tables: Vec::new(),
            named: Vec::new(),
            repeats: false,
            external_locks: 0,
            written: open.written,
            warnings: Vec::new(),
            parameters: Vec::new(),
            sets_variables: statement.hints().iter().any(|h| h.list.iter().any(is_variable)),
            shows_locked: context.client.shows_locked(),
            terms: None,
            needs: Needs::default(),
            digest: None,
            opens: false,
        };
        let Open { literals, parameters, cut, .. } = open;
        context.tables.keep_names();
        let mut planning = PlanContext { literals, parameters, ..context.planning() };
        let planned = plan(kind, &mut planning);
        let (warnings, literals) = (planning.warnings, planning.literals);
        made.opens = match kind {
            Kind::Show(show) => planner::show::opens_tables(show),
            _ => planning.opens || matches!(planned, Ok(Some(Plan::Virtual(_)))),
        };
        made.needs = Needs::compact(planning.needs);
        let parameters = planning.parameters;
        made.named = context.tables.take_names();
        let planned = planned.map_err(|error| preceded(error, &warnings, kind, context))?;
        made.admit(context)?;
        let Some(plan) = planned else {
            made.columns = columns_of_tree(kind, context)?;
            return Ok(made);
        };
        if let Some(error) = refused(&warnings, kind, context) {
            return Err(error);
        }
        made.terms = cut.then(|| Terms::of(literals));
        made.warnings = warnings;
        made.parameters = parameters.finish();
        if let Plan::Query(query) = &plan
            && query.into.is_none()
        {
            made.columns = query.query.outputs.iter().map(|o| o.column.clone()).collect();
        }
        let tables = tables_of(&plan);
        made.tables = tables.iter().map(|of| ProgramTable::of(*of, &plan, context)).collect();
        made.repeats = made.tables.iter().any(|t| t.times > 1);
        let stored = |(table, _): &&(TableRef, Mode)| context.tables.def(*table).view.is_none();
        made.external_locks = 2 * tables.iter().filter(stored).count() as u64;
        made.code = match PointSelect::of(plan, context.tables) {
            Ok(point) => Code::Point(Box::new(point)),
            Err(plan) => Code::Rows(Box::new(plan)),
        };
        Ok(made)
    }

    /// As compiled, of a text with this digest.
    pub(crate) fn digested(self, digest: Option<Arc<Digest>>) -> Arc<Program> {
        Arc::new(Program { digest, ..self })
    }

    /// Whether the session may run it.
    ///
    /// # Errors
    /// 1142, 1143, 1227, 1356.
    #[cold]
    pub(crate) fn check_rights(&self, context: &Context<'_>) -> Result<(), SqlError> {
        let rights = context.env.rights();
        if !self.needs.0.is_empty() {
            self.needs.check(rights, &context.tables.catalog().accounts())?;
        }
        Ok(())
    }

    /// Whether LOCK TABLES and the session's branch let it run.
    ///
    /// # Errors
    /// 1100, 1099; 1399, 1402, 1613, 1614.
    #[cold]
    pub(crate) fn admit_again(&self, context: &mut Context<'_>) -> Result<(), SqlError> {
        if context.tables.tables_are_locked() {
            context.tables.admit_names(&self.named)?;
        }
        self.admit(context)
    }

    /// Whether the session's branch lets it run.
    fn admit(&self, context: &Context<'_>) -> Result<(), SqlError> {
        match self.opens {
            true => Ok(context.tables.admit_opening()?),
            false => Ok(()),
        }
    }

    /// Counts that it locks its tables for a run, as `table_lock_waits_summary_by_table` shows it.
    pub(crate) fn count_locks(&self, context: &Context<'_>) {
        self.tables.iter().for_each(|t| context.tables.count_lock(t.table, t.writes));
    }

    /// The query that it runs: itself, or that of the rows which it changes or copies.
    pub(crate) fn query(&self) -> Option<&QueryStatement> {
        match &self.code {
            Code::Point(point) => Some(point.query()),
            Code::Rows(plan) => match &**plan {
                Plan::Query(query) | Plan::Do(query) => Some(query),
                Plan::Change(change) => Some(&change.query),
                Plan::Insert(insert) => match &insert.source {
                    InsertSource::Query(query) => Some(query),
                    InsertSource::Values(_) => None,
                },
                Plan::Virtual(_) | Plan::Load(_) => None,
            },
            Code::Tree => None,
        }
    }
}

/// The tables that a plan opens, with their locks.
fn tables_of(plan: &Plan) -> &[(TableRef, Mode)] {
    match plan {
        Plan::Query(query) => &query.tables,
        Plan::Insert(insert) => &insert.tables,
        Plan::Change(change) => &change.query.tables,
        Plan::Virtual(change) => &change.query.tables,
        Plan::Load(load) => &load.insert.tables,
        Plan::Do(query) => &query.tables,
    }
}

/// The plan of a statement; none of what runs from the tree.
fn plan(kind: Kind<'_>, planning: &mut PlanContext<'_>) -> Result<Option<Plan>, SqlError> {
    match kind {
        Kind::Dml(dml) => dml.plan(planning).map(Some),
        Kind::Show(show) => match planner::show::query_of(show, planning)? {
            Some(written) => Dml::Query(&written).plan(planning).map(Some),
            None => Ok(None),
        },
        Kind::Ddl(_) | Kind::Explain(_) | Kind::Maintain(_) => Ok(None),
    }
}

/// Result columns of what runs from the tree.
fn columns_of_tree(
    kind: Kind<'_>,
    context: &mut Context<'_>,
) -> Result<Vec<ResultColumn>, SqlError> {
    match kind {
        Kind::Show(show) => show::columns(show, context),
        Kind::Explain(explain) => explain::columns(explain, context),
        Kind::Maintain(maintain) => maintain::columns(maintain),
        Kind::Ddl(_) | Kind::Dml(_) => Ok(Vec::new()),
    }
}

/// The first warning of planning that a strict change of rows cannot take: of a constant that does not fit the
/// column beside it.
fn refused(warnings: &[(u16, String)], kind: Kind<'_>, context: &Context<'_>) -> Option<SqlError> {
    let (_, text) = warnings.iter().find(|(number, _)| *number == 1292)?;
    let changes = match kind {
        Kind::Dml(dml) => dml.is_strict_change(),
        Kind::Ddl(_) | Kind::Show(_) | Kind::Explain(_) | Kind::Maintain(_) => false,
    };
    let strict = changes && context.env.strict();
    // As the warning says it, whose text was made where the constant was read.
    strict.then(|| SqlError::Other(1292, "22007", text.clone()))
}

/// The error that ends planning, behind the warnings that came before it.
fn preceded(
    error: SqlError,
    warnings: &[(u16, String)],
    kind: Kind<'_>,
    context: &mut Context<'_>,
) -> SqlError {
    if let Some(error) = refused(warnings, kind, context) {
        return error;
    }
    raise(warnings, context.env);
    error
}

/// Raises warnings about what is written.
pub(crate) fn raise(warnings: &[(u16, String)], env: &mut dyn Environment) {
    for (number, text) in warnings {
        env.warn(WarningLevel::Warning, *number, text.clone());
    }
}
