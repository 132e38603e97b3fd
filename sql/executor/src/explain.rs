//! EXPLAIN of a query: its plan as rows or as text.
//!
//! 1. Nothing of the statement runs. 2. FORMAT=JSON and ANALYZE, and FORMAT=TREE of a change answer 1235.

use crate::{Context, Outcome, OwnedDatum, ResultColumn, RowSink, SqlError};
use parser::ast::{self, Explain, Statement};
use planner::explain::ExplainRow;
use value::{ColumnType, Datum, Kind};

/// Characters of the columns that hold lists of names.
const NAMES_CHARS: u32 = 4096;
/// Characters of a plan as text.
const TEXT_CHARS: u32 = 393_216;

enum Format {
    Traditional,
    Tree,
}

/// What is explained.
#[derive(Clone, Copy)]
enum What<'e> {
    Query(&'e ast::Query),
    Change(&'e Statement),
}

/// What is explained, and how.
fn parts<'e>(explain: &'e Explain, context: &Context<'_>) -> Result<(What<'e>, Format), SqlError> {
    let Explain::Statement { analyze, format, into, schema, statement } = explain else {
        return Err(SqlError::unsupported("EXPLAIN FOR CONNECTION"));
    };
    let refused = [(*analyze, "EXPLAIN ANALYZE"), (into.is_some(), "EXPLAIN INTO")];
    let schema = (schema.is_some(), "EXPLAIN FOR SCHEMA");
    if let Some((_, what)) = refused.into_iter().chain([schema]).find(|(written, _)| *written) {
        return Err(SqlError::unsupported(what));
    }
    let what = match &**statement {
        Statement::Query(query) => What::Query(query),
        change @ (Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)) => {
            What::Change(change)
        }
        _ => return Err(SqlError::unsupported("EXPLAIN of this statement")),
    };
    let session = || match context.env.system_variable(false, "explain_format") {
        Ok(OwnedDatum::Bytes(name)) => String::from_utf8_lossy(&name).to_ascii_uppercase(),
        _ => "TRADITIONAL".to_string(),
    };
    let format = match format.clone().unwrap_or_else(session).as_str() {
        "TRADITIONAL" => Format::Traditional,
        "TREE" if matches!(what, What::Change(_)) => {
            return Err(SqlError::unsupported("EXPLAIN FORMAT=TREE of a change"));
        }
        "TREE" => Format::Tree,
        other => return Err(SqlError::unsupported(format!("EXPLAIN FORMAT={other}"))),
    };
    Ok((what, format))
}

/// Result columns.
pub fn columns(explain: &Explain, context: &Context<'_>) -> Result<Vec<ResultColumn>, SqlError> {
    let (_, format) = parts(explain, context)?;
    if matches!(format, Format::Tree) {
        return Ok(vec![ResultColumn::text("EXPLAIN", TEXT_CHARS)]);
    }
    let number = |name| ResultColumn::computed(name, ColumnType::int(Kind::BigInt, true), 0);
    let share = ColumnType { decimals: 2, ..ColumnType::double() };
    let share = ResultColumn::computed("filtered", share, 2);
    let names = |name| ResultColumn::text(name, NAMES_CHARS);
    Ok(vec![
        number("id"),
        ResultColumn::text("select_type", 19),
        ResultColumn::text("table", 64),
        names("partitions"),
        ResultColumn::text("type", 10),
        names("possible_keys"),
        ResultColumn::text("key", 64),
        names("key_len"),
        ResultColumn::text("ref", 1024),
        number("rows"),
        share,
        ResultColumn::text("Extra", 255),
    ])
}

/// Plans the query and sends its plan.
///
/// # Errors
/// Those of planning and of the network.
pub fn run(
    explain: &Explain,
    columns: &[ResultColumn],
    context: &mut Context<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let (what, format) = parts(explain, context)?;
    let mut outcome = Outcome { has_rows: true, ..Outcome::default() };
    let query = match what {
        What::Query(query) => query,
        What::Change(change) => {
            let rows = change_rows(change, context)?;
            sink.header(columns)?;
            outcome.rows_sent = rows.len() as u64;
            rows.iter().try_for_each(|row| send(row, sink))?;
            return Ok(outcome);
        }
    };
    let plan = planner::query::plan_query(&mut context.planning(), query)?;
    sink.header(columns)?;
    if matches!(format, Format::Tree) {
        let text = planner::explain::tree(&plan, context.tables, &|_| None);
        sink.row(&[Datum::Bytes(text.as_bytes())])?;
        outcome.rows_sent = 1;
        return Ok(outcome);
    }
    for row in planner::explain::traditional(&plan, context.tables) {
        send(&row, sink)?;
        outcome.rows_sent += 1;
    }
    Ok(outcome)
}

fn change_rows(change: &Statement, context: &mut Context<'_>) -> Result<Vec<ExplainRow>, SqlError> {
    let mut planning = context.planning();
    let plan = match change {
        Statement::Insert(insert) => {
            let plan = planner::resolve::plan_insert(&mut planning, insert)?;
            let name = &insert.table.name;
            return Ok(planner::explain::traditional_insert(&plan, name, context.tables));
        }
        Statement::Update(update) => planner::resolve::plan_update(&mut planning, update)?,
        Statement::Delete(delete) => planner::resolve::plan_delete(&mut planning, delete)?,
        _ => return Err(SqlError::unsupported("EXPLAIN of this statement")),
    };
    Ok(planner::explain::traditional_change(&plan, context.tables))
}

fn send(row: &ExplainRow, sink: &mut dyn RowSink) -> Result<(), SqlError> {
    let text = |value: &Option<String>| value.as_ref().map(|t| t.as_bytes().to_vec());
    let texts = [
        Some(row.select_type.as_bytes().to_vec()),
        text(&row.table),
        None,
        text(&row.access),
        text(&row.possible_keys),
        text(&row.key),
        text(&row.key_len),
        text(&row.reference),
    ];
    let number = |value: Option<u64>| value.map_or(Datum::Null, Datum::UInt);
    let mut values = vec![number(row.id)];
    values.extend(texts.iter().map(bytes));
    values.push(number(row.rows));
    values.push(row.filtered.map_or(Datum::Null, Datum::Double));
    let extra = text(&row.extra);
    values.push(bytes(&extra));
    sink.row(&values)
}

fn bytes(value: &Option<Vec<u8>>) -> Datum<'_> {
    value.as_ref().map_or(Datum::Null, |value| Datum::Bytes(value))
}
