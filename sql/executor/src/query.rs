//! Runs the plan of a query and sends its rows.

use crate::examined;
use crate::files::{Format, OutFile};
use crate::locking::{Use, unnamed};
use crate::memory::Budget;
use crate::ops::block::Block;
use crate::ops::measure::Measures;
use crate::ops::tally;
use crate::ops::{Statement, limit_value, recycled, recycled_datums};
use crate::{Context, Environment, Outcome, ResultColumn, RowSink, SqlError, WarningLevel};
use expr::{OwnedDatum, UserVariable, Value};
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
    let most = match query.query.root {
        Node::Limit { .. } => u64::MAX,
        _ if used == Use::Shown => context.env.select_limit(),
        _ => u64::MAX,
    };
    examined::refuse(&query.query, params, (context.env.join_size_max(), most))?;
    let budget = Budget::of_session(context.env);
    let (client, tables) = (&*context.client, &*context.tables);
    let mut st = Statement::new(client, tables, params, &query.shared, budget);
    st.unnamed = unnamed(used, client);
    st.deadline = deadline(query.execution_ms_max, context.env);
    // All rows are counted: the outermost LIMIT is this loop's.
    let (mut block, mut limit) = match &query.query.root {
        Node::Limit { input, skip, count } if query.count_all => {
            let block = Block::of_node(&query.query, input, &st)?;
            (block, Some((skip, count)).map(|l| (l, 0u64, 0u64)))
        }
        _ => (Block::new(&query.query, &st, false)?, None),
    };
    if query.into.is_none() {
        sink.header(header)?;
    }
    let mut file = out_file(query, context.env)?;
    let mut sent = 0;
    let (mut values, mut datums) = (Vec::new(), Vec::new());
    if let Some(((skip, count), first, end)) = &mut limit {
        (*first, *end) = block.look(&st, context.env, None, |run, frame| {
            let first = limit_value(skip, run, frame)?;
            Ok((first, first.saturating_add(limit_value(count, run, frame)?)))
        })?;
    }
    let mut found = 0u64;
    tally::select(&query.query.root);
    block.open(&st, context.env, None)?;
    while (sent < most || query.count_all) && block.next(&st, context.env, None)? {
        found += 1;
        if sent == most {
            continue;
        }
        if limit.as_ref().is_some_and(|(_, first, end)| found <= *first || found > *end) {
            continue;
        }
        sent += 1;
        let outputs = &block.plan.outputs;
        (values, datums) = block.look(&st, context.env, None, |run, frame| {
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
    if let Some(file) = file {
        file.finish()?;
    }
    if query.into.is_some() {
        if sent == 0 && takes_one_row(query) {
            let text = "No data - zero rows fetched, selected, or processed";
            context.env.warn(WarningLevel::Warning, 1329, text.into());
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
    let millis = hint.unwrap_or_else(|| match env.system_variable(false, "max_execution_time") {
        Ok(OwnedDatum::UInt(ms)) => ms,
        Ok(OwnedDatum::Int(ms)) => u64::try_from(ms).unwrap_or(0),
        _ => 0,
    });
    (millis > 0).then(|| host::clock::now() + Duration::from_millis(millis))
}
