//! EXPLAIN of a query: its plan as rows or as text.
//!
//! 1. Nothing of the statement runs but with ANALYZE, which throws the rows away. 2. A change is explained as rows
//! only; that, and FORMAT=JSON of version 2, answer 1235.

use crate::{Context, Outcome, OwnedDatum, ResultColumn, RowSink, SqlError};
use parser::ast::{self, Explain, Statement};
use planner::explain::ExplainRow;
use value::{ColumnType, Datum, Kind};

/// Characters of the columns that hold lists of names.
const NAMES_CHARS: u32 = 4096;
/// Characters of a plan as text.
const TEXT_CHARS: u32 = 393_216;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Traditional,
    Json,
    Tree,
    /// FORMAT=TREE with what was measured.
    Analyze,
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
    let refused = [(into.is_some(), "EXPLAIN INTO"), (schema.is_some(), "EXPLAIN FOR SCHEMA")];
    if let Some((_, what)) = refused.into_iter().find(|(written, _)| *written) {
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
    let written = format.is_some();
    let name = format.clone().unwrap_or_else(session);
    let format = match (name.to_ascii_uppercase().as_str(), *analyze) {
        ("TREE" | "JSON", _) if matches!(what, What::Change(_)) => {
            let text = format!("EXPLAIN FORMAT={} of a change", name.to_ascii_uppercase());
            return Err(SqlError::unsupported(text));
        }
        (_, true) if matches!(what, What::Change(_)) => {
            return Err(SqlError::unsupported("EXPLAIN ANALYZE of a change"));
        }
        ("TREE", true) => Format::Analyze,
        // What the session prefers is no reason to refuse.
        (_, true) if !written => Format::Analyze,
        (other @ ("TRADITIONAL" | "JSON"), true) => {
            return Err(SqlError::unsupported(format!("EXPLAIN ANALYZE with {other} format")));
        }
        ("TRADITIONAL", false) => Format::Traditional,
        ("TREE", false) => Format::Tree,
        ("JSON", false) => {
            match context.env.system_variable(false, "explain_json_format_version") {
                Ok(version) if version.datum().as_u64() == Some(2) => {
                    return Err(SqlError::unsupported("EXPLAIN FORMAT=JSON, version 2"));
                }
                _ => Format::Json,
            }
        }
        _ => {
            let text = format!("Unknown EXPLAIN format name: '{name}'");
            return Err(SqlError::Other(1791, "HY000", text));
        }
    };
    Ok((what, format))
}

/// Result columns.
pub fn columns(explain: &Explain, context: &Context<'_>) -> Result<Vec<ResultColumn>, SqlError> {
    let (_, format) = parts(explain, context)?;
    if format != Format::Traditional {
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
    let text = match format {
        Format::Traditional => None,
        Format::Json => Some(planner::explain::json(&plan, context.tables)),
        Format::Tree => Some(planner::explain::tree(&plan, context.tables, &|_| None)),
        Format::Analyze => {
            let measures = crate::query::measure(&plan, context)?;
            let actual = |node: &planner::query_plan::Node| Some(measures.text(node));
            Some(planner::explain::tree(&plan, context.tables, &actual))
        }
    };
    sink.header(columns)?;
    if let Some(text) = text {
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
