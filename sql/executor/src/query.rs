//! Runs the plan of a query and sends its rows.

use crate::ExecError;
use crate::examined;
use crate::files::{Format, OutFile};
use crate::locking::{Use, unnamed};
use crate::memory::Budget;
use crate::ops::block::Block;
use crate::ops::measure::Measures;
use crate::ops::tally;
use crate::ops::{OUTPUTS_FEW, Statement, internal, limit_value};
use crate::states::{OpenBlock, Opened, Own};
use crate::{Context, Environment, Outcome, ResultColumn, RowSink, SqlError, WarningLevel};
use catalog::TableCache;
use engine::Client;
use expr::{Expr, UserVariable, Value};
use planner::plan::Output;
use planner::query_plan::{IntoTarget, Node, QueryStatement};
use smallvec::SmallVec;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use value::Datum;

/// A query, and what it is run with.
#[derive(Clone, Copy)]
pub struct Call<'c> {
    pub query: &'c QueryStatement,
    /// What becomes of the rows that it reads without naming a lock.
    pub used: Use,
    pub header: &'c [ResultColumn],
    pub params: &'c [Datum<'c>],
}

/// What a query's operators are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// [`run`], which counts the rows beyond the outermost LIMIT where SQL_CALC_FOUND_ROWS asks for that.
    Result,
    /// A change takes their rows, and no others.
    Change,
}

/// Runs a query once, with operators of its own.
///
/// # Errors
/// Everything a query can end in.
pub fn run(
    call: Call<'_>,
    context: &mut Context<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let mut open = open_block(call.query, call.params, Purpose::Result, context)?;
    run_block(call, &mut open, context, sink)
}

/// The operators of a program's query.
///
/// # Errors
/// 1235 for what cannot run yet.
pub(crate) fn opened(
    program: &Own,
    params: &[Datum<'_>],
    purpose: Purpose,
    context: &Context<'_>,
) -> Result<Opened, SqlError> {
    Opened::try_new(program.clone(), |program| {
        let query = program.query().ok_or_else(|| internal("a program without a query"))?;
        open_block(query, params, purpose, context)
    })
}

/// The operators of a query.
///
/// # Errors
/// 1235 for what cannot run yet.
pub(crate) fn open_block<'p>(
    query: &'p QueryStatement,
    params: &[Datum<'_>],
    purpose: Purpose,
    context: &Context<'_>,
) -> Result<OpenBlock<'p>, SqlError> {
    let Context { client, tables, env, .. } = context;
    let budget = Budget::of_session(&**env);
    let st = Statement::new(client, tables, params, &query.shared, Arc::clone(&budget));
    // All rows are counted: the outermost LIMIT is that of who gives them out.
    let block = match counted_limit(query) {
        Some((input, ..)) if purpose == Purpose::Result => {
            Block::of_node(&query.query, input, &st)?
        }
        _ => Block::new(&query.query, &st, false)?,
    };
    Ok(OpenBlock::new(block, budget))
}

/// As [`run`], with operators that were made before.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_opened(
    call: Call<'_>,
    opened: &mut Opened,
    context: &mut Context<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    opened.with_dependent_mut(|_, open| {
        Budget::renew(&mut open.budget, &*context.env);
        run_block(call, open, context, sink)
    })
}

/// Runs operators to their end.
#[inline]
fn run_block(
    call: Call<'_>,
    open: &mut OpenBlock<'_>,
    context: &mut Context<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let Context { client, tables, env, .. } = context;
    let sent_max = sent_max(call, &**env)?;
    let st = call.statement((client, tables, &**env), Arc::clone(&open.budget));
    if call.query.into.is_none() {
        sink.header_again(call.header, &mut open.header)?;
    }
    give_out(call.query, &mut open.block, sent_max, &st, &mut **env, sink)
}

/// How many rows of a query are sent at most.
///
/// # Errors
/// 1104.
#[inline]
fn sent_max(
    Call { query, used, params, .. }: Call<'_>,
    env: &dyn Environment,
) -> Result<u64, SqlError> {
    let sent_max = match query.query.root {
        Node::Limit { .. } => u64::MAX,
        _ if used == Use::Shown => env.select_limit(),
        _ => u64::MAX,
    };
    examined::refuse(&query.query, params, (env.join_size_max(), sent_max))?;
    Ok(sent_max)
}

impl<'s> Call<'s> {
    /// What the query runs in.
    #[inline]
    fn statement(
        self,
        (client, tables, env): (&'s Client, &'s TableCache, &dyn Environment),
        budget: Arc<Budget>,
    ) -> Statement<'s> {
        Statement {
            unnamed: unnamed(self.used, client),
            deadline: deadline(self.query.execution_ms_max, env),
            ..Statement::new(client, tables, self.params, &self.query.shared, budget)
        }
    }
}

/// The outermost LIMIT, below which all rows are counted: its input, and what it skips and passes on.
fn counted_limit(query: &QueryStatement) -> Option<(&Node, &Expr, &Expr)> {
    match &query.query.root {
        Node::Limit { input, skip, count } if query.count_all => Some((input, skip, count)),
        _ => None,
    }
}

/// Runs a block to its end, and sends its rows or puts them where INTO says.
fn give_out(
    query: &QueryStatement,
    block: &mut Block<'_>,
    sent_max: u64,
    st: &Statement<'_>,
    env: &mut dyn Environment,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let mut file = out_file(query, env)?;
    // Rows that the LIMIT passes on, by number, from 1 on.
    let passed = match counted_limit(query) {
        Some((_, skip, count)) => block.look(st, env, None, |run, frame| {
            let first = limit_value(skip, run, frame)?;
            Ok(Some((first, first.saturating_add(limit_value(count, run, frame)?))))
        })?,
        None => None,
    };
    let (mut sent, mut found) = (0, 0u64);
    tally::select(&query.query.root);
    block.open(st, env, None)?;
    if query.into.is_none()
        && !query.count_all
        && let Some(sent) = block.pass_rows((st, env), sent_max, sink)?
    {
        return Ok(Outcome { has_rows: true, found_rows: Some(sent), ..Outcome::default() });
    }
    let outputs = &block.plan.outputs;
    let rows_max = if query.count_all { u64::MAX } else { sent_max };
    block.each_row((st, env), rows_max, |run, frame| {
        found += 1;
        if sent == sent_max || passed.is_some_and(|(first, end)| found <= first || found > end) {
            return Ok(());
        }
        sent += 1;
        if sent > 1 && takes_one_row(query) {
            return Err(ExecError::TooManyRows.into());
        }
        let mut row: SmallVec<[Value<'_>; OUTPUTS_FEW]> = SmallVec::new();
        for output in outputs {
            row.push(run.eval(&output.value.expr, frame)?);
        }
        if let Some(IntoTarget::Variables(names)) = &query.into {
            set_variables(names, outputs, row, run.env);
            return Ok(());
        }
        if let Some(file) = &mut file {
            let types = outputs.iter().map(|o| &o.value.ty);
            file.row(row.iter().map(Value::get).zip(types))?;
        } else {
            let mut cells: SmallVec<[Datum<'_>; OUTPUTS_FEW]> = SmallVec::new();
            row.iter().for_each(|value| cells.push(value.get()));
            sink.row(&cells)?;
        }
        Ok(())
    })?;
    if let Some(file) = file {
        file.finish()?;
    }
    if query.into.is_some() {
        if sent == 0 && takes_one_row(query) {
            let text = "No data - zero rows fetched, selected, or processed";
            env.warn(WarningLevel::Warning, 1329, text.into());
        }
        let found_rows = Some(sent);
        return Ok(Outcome { affected_rows: sent, found_rows, ..Outcome::default() });
    }
    let found_rows = Some(if query.count_all { found } else { sent });
    Ok(Outcome { has_rows: true, found_rows, ..Outcome::default() })
}

/// The file that the query's rows go to.
fn out_file(query: &QueryStatement, env: &dyn Environment) -> Result<Option<OutFile>, SqlError> {
    match &query.into {
        Some(IntoTarget::Outfile { file, format }) => {
            OutFile::create(file, Some(Format::of(format)?), env).map(Some)
        }
        Some(IntoTarget::Dumpfile(file)) => OutFile::create(file, None, env).map(Some),
        _ => Ok(None),
    }
}

fn takes_one_row(query: &QueryStatement) -> bool {
    matches!(query.into, Some(IntoTarget::Variables(_) | IntoTarget::Dumpfile(_)))
}

/// Runs the query, throws its rows away, and returns what its operators did.
///
/// # Errors
/// Everything a query can end in.
pub fn measure(
    query: &QueryStatement,
    context: &mut Context<'_>,
) -> Result<Rc<Measures>, SqlError> {
    let measures = Rc::new(Measures::default());
    let budget = Budget::of_session(context.env);
    let (client, tables) = (&*context.client, &*context.tables);
    let mut st = Statement::new(client, tables, &[], &query.shared, budget);
    st.deadline = deadline(query.execution_ms_max, context.env);
    st.measures = Some(Rc::clone(&measures));
    let mut block = Block::new(&query.query, &st, false)?;
    let outputs = &block.plan.outputs;
    block.open(&st, context.env, None)?;
    // Subqueries of the outputs run too.
    block.each_row((&st, context.env), u64::MAX, |run, frame| {
        outputs.iter().try_for_each(|o| run.eval(&o.value.expr, frame).map(drop))
    })?;
    Ok(measures)
}

fn set_variables<'r>(
    names: &[String],
    outputs: &[Output],
    row: impl IntoIterator<Item = Value<'r>>,
    env: &mut dyn Environment,
) {
    let values: Vec<_> = row.into_iter().map(Value::into_owned).collect();
    for ((name, value), output) in names.iter().zip(values).zip(outputs) {
        env.set_user_variable(name, UserVariable::of(value, &output.value.ty));
    }
}

/// When a hint, in milliseconds, or else `max_execution_time` ends the statement.
pub fn deadline(hint: Option<u64>, env: &dyn Environment) -> Option<std::time::Instant> {
    let millis = hint.unwrap_or_else(|| env.execution_ms_max());
    (millis > 0).then(|| host::clock::now() + Duration::from_millis(millis))
}
