//! Runs the plan of a query and sends its rows.

use crate::examined;
use crate::files::{Format, OutFile};
use crate::locking::{Use, unnamed};
use crate::memory::Budget;
use crate::ops::block::Block;
use crate::ops::measure::Measures;
use crate::ops::tally;
use crate::ops::{Statement, internal, limit_value, recycled, recycled_datums};
use crate::states::{OpenBlock, Opened, Own};
use crate::{Context, Environment, Outcome, ResultColumn, RowSink, SqlError, WarningLevel};
use catalog::TableCache;
use engine::Client;
use expr::{Expr, UserVariable, Value};
use planner::plan::Output;
use planner::query_plan::{IntoTarget, Node, QueryStatement};
use std::rc::Rc;
use std::time::Duration;
use value::Datum;

/// Runs the query; `used`: what becomes of the rows that it reads without naming a lock.
///
/// # Errors
/// Everything a query can end in.
pub fn run(
    (query, used): (&QueryStatement, Use),
    header: &[ResultColumn],
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let Context { client, tables, env, .. } = context;
    let (st, sent_max) = begin((query, used), (client, tables, &mut **env), params)?;
    // All rows are counted: the outermost LIMIT is that of who gives them out.
    let block = match counted_limit(query) {
        Some((input, ..)) => Block::of_node(&query.query, input, &st)?,
        None => Block::new(&query.query, &st, false)?,
    };
    if query.into.is_none() {
        sink.header(header)?;
    }
    give_out(query, &mut OpenBlock::new(block), sent_max, &st, &mut **env, sink)
}

/// Whether the operators of a query are of use for its next run.
pub(crate) fn keeps_block(query: &QueryStatement) -> bool {
    query.into.is_none() && counted_limit(query).is_none()
}

/// The operators of a program's query.
///
/// # Errors
/// 1235 for what cannot run yet.
pub(crate) fn opened(
    program: &Own,
    query: &QueryStatement,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Opened, SqlError> {
    let Context { client, tables, env, .. } = context;
    let budget = Budget::of_session(&**env);
    let st = Statement::new(client, tables, params, &query.shared, budget);
    Opened::try_new(program.clone(), |program| {
        let query = program.query().ok_or_else(|| internal("a program without a query"))?;
        Ok(OpenBlock::new(Block::new(&query.query, &st, false)?))
    })
}

/// As [`run`], with operators that were made before.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_opened(
    (query, used): (&QueryStatement, Use),
    opened: &mut Opened,
    header: &[ResultColumn],
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let Context { client, tables, env, .. } = context;
    let (st, sent_max) = begin((query, used), (client, tables, &mut **env), params)?;
    opened.with_dependent_mut(|_, open| {
        sink.header_again(header, &mut open.header)?;
        give_out(query, open, sent_max, &st, &mut **env, sink)
    })
}

/// What a query runs in, and how many rows of it are sent at most.
fn begin<'s>(
    (query, used): (&'s QueryStatement, Use),
    (client, tables, env): (&'s Client, &'s TableCache, &mut dyn Environment),
    params: &'s [Datum<'s>],
) -> Result<(Statement<'s>, u64), SqlError> {
    let sent_max = match query.query.root {
        Node::Limit { .. } => u64::MAX,
        _ if used == Use::Shown => env.select_limit(),
        _ => u64::MAX,
    };
    examined::refuse(&query.query, params, (env.join_size_max(), sent_max))?;
    let mut st = Statement::new(client, tables, params, &query.shared, Budget::of_session(env));
    st.unnamed = unnamed(used, client);
    st.deadline = deadline(query.execution_ms_max, env);
    Ok((st, sent_max))
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
    OpenBlock { block, row, .. }: &mut OpenBlock<'_>,
    sent_max: u64,
    st: &Statement<'_>,
    env: &mut dyn Environment,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let mut file = out_file(query, env)?;
    let mut sent = 0;
    let mut values = recycled(std::mem::take(&mut row.values));
    let mut datums = recycled_datums(std::mem::take(&mut row.datums));
    // Rows that the LIMIT passes on, by number, from 1 on.
    let passed = match counted_limit(query) {
        Some((_, skip, count)) => block.look(st, env, None, |run, frame| {
            let first = limit_value(skip, run, frame)?;
            Ok(Some((first, first.saturating_add(limit_value(count, run, frame)?))))
        })?,
        None => None,
    };
    let mut found = 0u64;
    tally::select(&query.query.root);
    block.open(st, env, None)?;
    while (sent < sent_max || query.count_all) && block.next(st, env, None)? {
        found += 1;
        if sent == sent_max || passed.is_some_and(|(first, end)| found <= first || found > end) {
            continue;
        }
        sent += 1;
        let outputs = &block.plan.outputs;
        (values, datums) = block.look(st, env, None, |run, frame| {
            if sent > 1 && takes_one_row(query) {
                let text = "Result consisted of more than one row";
                return Err(SqlError::Other(1172, "42000", text.into()));
            }
            let mut row = recycled(std::mem::take(&mut values));
            for output in outputs {
                row.push(run.eval(&output.value.expr, frame)?);
            }
            if let Some(IntoTarget::Variables(names)) = &query.into {
                set_variables(names, outputs, row, run.env);
                return Ok((Vec::new(), Vec::new()));
            }
            if let Some(file) = &mut file {
                let types = outputs.iter().map(|o| &o.value.ty);
                file.row(row.iter().map(Value::get).zip(types))?;
                return Ok((recycled(row), Vec::new()));
            }
            let mut cells = recycled_datums(std::mem::take(&mut datums));
            cells.extend(row.iter().map(Value::get));
            sink.row(&cells)?;
            let cells = recycled_datums(cells);
            Ok((recycled(row), cells))
        })?;
    }
    row.values = recycled(values);
    row.datums = recycled_datums(datums);
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
    block.open(&st, context.env, None)?;
    while block.next(&st, context.env, None)? {
        // Subqueries of the outputs run too.
        let outputs = &block.plan.outputs;
        block.look(&st, context.env, None, |run, frame| {
            outputs.iter().try_for_each(|o| run.eval(&o.value.expr, frame).map(drop))
        })?;
    }
    Ok(measures)
}

fn set_variables(
    names: &[String],
    outputs: &[Output],
    row: Vec<Value<'_>>,
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
