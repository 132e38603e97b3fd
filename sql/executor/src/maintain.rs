//! CHECK, CHECKSUM, ANALYZE (its histograms: [`crate::histogram`]), OPTIMIZE and REPAIR TABLE: one pass
//! over each named table, answered in rows.
//!
//! 1. What is wrong with one table is a row of the answer (CHECKSUM: NULL and a warning), and the next
//! table follows; only KILL, shutdown and a syntax that cannot run end the statement. 2. CHECK reads
//! under a metadata lock that keeps writers away and lets readers go on, and gives it back before the
//! next table. 3. OPTIMIZE is ALTER TABLE ... FORCE, then ANALYZE, and says so in MySQL's words.

use crate::checksum::Checksum;
use crate::rows;
use crate::turns::in_turns;
use crate::{Context, Outcome, ResultColumn, RowSink, SqlError, WarningLevel};
use crate::{damage, histogram};
use catalog::{CatalogError, TableRef};
use mdl::Mode;
use parser::ast::{DdlWait, Maintain, MaintainVerb, ObjectName};
use planner::PlanError;
use std::collections::HashSet;
use value::{ColumnType, Datum, Kind};

/// Between two looks at whether recovery is done.
const RECOVERY_LOOK_S: f64 = 0.05;
const NAME_CHARS: u32 = 128;
const WORD_CHARS: u32 = 10;
const MESSAGE_CHARS: u32 = 393_216;
const CHECKSUM_NAME_CHARS: u32 = 384;

/// Result columns of the statement, or 1235 for what cannot run.
pub fn columns(maintain: &Maintain) -> Result<Vec<ResultColumn>, SqlError> {
    if let Some(asked) = &maintain.histogram {
        histogram::check(asked)?;
    }
    match maintain.verb {
        MaintainVerb::Checksum => {
            return Ok(vec![
                ResultColumn::text("Table", CHECKSUM_NAME_CHARS),
                ResultColumn::computed("Checksum", ColumnType::int(Kind::BigInt, false), 0),
            ]);
        }
        MaintainVerb::Analyze
        | MaintainVerb::Check
        | MaintainVerb::Optimize
        | MaintainVerb::Repair => {}
    }
    Ok(vec![
        ResultColumn::text("Table", NAME_CHARS),
        ResultColumn::text("Op", WORD_CHARS),
        ResultColumn::text("Msg_type", WORD_CHARS),
        ResultColumn::text("Msg_text", MESSAGE_CHARS),
    ])
}

/// Runs the statement.
///
/// # Errors
/// 1046 without a database, 1066 for a table named twice, 1317 when killed, network errors.
pub fn run(
    maintain: &Maintain,
    header: &[ResultColumn],
    context: &mut Context<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let tables = names(&maintain.tables, context)?;
    sink.header(header)?;
    for (schema, name) in &tables {
        let full_name = format!("{schema}.{name}");
        if maintain.verb == MaintainVerb::Checksum {
            let quick = maintain.options.iter().any(|o| o == "QUICK");
            let sum = checksum_or_null(schema, name, quick, context)?;
            let sum = sum.map_or(Datum::Null, |sum| Datum::Int(i64::from(sum)));
            sink.row(&[Datum::Bytes(full_name.as_bytes()), sum])?;
            continue;
        }
        let verb = match maintain.histogram {
            Some(_) => "histogram",
            None => maintain.verb.word(),
        };
        let report = report(maintain, schema, name, context)?;
        for (kind, text) in &report {
            let row = [full_name.as_str(), verb, kind, text];
            sink.row(&row.map(|text| Datum::Bytes(text.as_bytes())))?;
        }
    }
    Ok(Outcome { has_rows: true, ..Outcome::default() })
}

/// Schema and name of each table; no table may be named twice.
fn names(tables: &[ObjectName], context: &Context<'_>) -> Result<Vec<(String, String)>, SqlError> {
    let mut found = Vec::with_capacity(tables.len());
    let mut before = HashSet::with_capacity(tables.len());
    for table in tables {
        let name = (context.schema_of(table)?, table.name.clone());
        if !before.insert(name.clone()) {
            return Err(PlanError::NotUniqueTable(&name.1).into());
        }
        found.push(name);
    }
    Ok(found)
}

/// Message kinds and texts about one table.
pub type Report = Vec<(&'static str, String)>;

fn report(
    maintain: &Maintain,
    schema: &str,
    name: &str,
    context: &mut Context<'_>,
) -> Result<Report, SqlError> {
    let verb = maintain.verb;
    match context.tables.catalog().virtual_table(schema, name) {
        Ok(None) => {}
        Ok(Some(_)) => return Ok(vec![not_supported(verb)]),
        Err(error) => return missing(error.into()),
    }
    if verb == MaintainVerb::Optimize {
        return optimize((schema, name), maintain.wait, context);
    }
    // Whoever waits for this in vain fails, whatever is said of the tables.
    let deadline = context.env.lock_deadline();
    context.tables.protect_files(context.client.slot(), deadline)?;
    let mark = context.tables.mark();
    let mode = if verb == MaintainVerb::Check { Mode::SNW } else { Mode::SR };
    let open = |context: &mut Context<'_>| -> Result<TableRef, SqlError> {
        let deadline = context.env.lock_deadline();
        let slot = context.client.slot();
        match maintain.histogram {
            Some(_) => context.tables.protect_histograms(slot, deadline)?,
            None => context.tables.protect_files(slot, deadline)?,
        }
        Ok(context.tables.open(context.client, schema, name, mode, deadline)?)
    };
    let opened = match verb {
        MaintainVerb::Check => in_turns(None, context, open),
        _ => open(context),
    };
    let result = match opened {
        Err(SqlError::Catalog(CatalogError::ViewChanged)) => check_view(schema, name, context),
        Err(error) if maintain.histogram.is_some() => {
            missing(error).map(|report| report.into_iter().take(1).collect())
        }
        Err(error) => missing(error),
        Ok(table) => match (verb, &maintain.histogram) {
            (_, Some(asked)) => histogram::run(asked, table, context),
            _ if context.tables.def(table).view.is_some() => missing(not_base_table(schema, name)),
            (MaintainVerb::Check, _) => check(table, context),
            (MaintainVerb::Repair, _) => Ok(vec![not_supported(verb)]),
            _ => analyze(table, context),
        },
    };
    context.tables.release_since(context.client.slot(), mark);
    result
}

/// CHECK of a view: whether what it reads is there.
fn check_view(schema: &str, name: &str, context: &mut Context<'_>) -> Result<Report, SqlError> {
    let corrupt = ("error", "Corrupt".to_string());
    match crate::lock_tables::below((schema, name), Mode::SR, context) {
        Ok(_) => Ok(vec![("status", "OK".to_string())]),
        Err(error) if ends_statement(&error) => Err(error),
        Err(error) => Ok(vec![("Error", error.parts().2), corrupt]),
    }
}

/// What is said of a table that the verb cannot be applied to.
fn not_supported(verb: MaintainVerb) -> (&'static str, String) {
    let verb = verb.word();
    ("note", format!("The storage engine for the table doesn't support {verb}"))
}

/// What is said of a table that cannot be opened.
fn missing(error: SqlError) -> Result<Report, SqlError> {
    let last = match &error {
        SqlError::Catalog(CatalogError::UnknownDatabase(_)) => ("error", "Corrupt"),
        other if ends_statement(other) => return Err(error),
        _ => ("status", "Operation failed"),
    };
    Ok(vec![("Error", error.parts().2), (last.0, last.1.to_string())])
}

/// KILL, shutdown and a server that is read only are not about the table.
fn ends_statement(error: &SqlError) -> bool {
    matches!(error.parts().0, 1317 | 1053 | 1290 | 4091)
}

/// OPTIMIZE: the table is made anew, and its statistics.
fn optimize(
    (schema, name): (&str, &str),
    wait: DdlWait,
    context: &mut Context<'_>,
) -> Result<Report, SqlError> {
    let before = context.tables.mark();
    let table = ObjectName { schema: Some(schema.to_string()), name: name.to_string() };
    let rebuilt = in_turns(wait, context, |context| crate::ddl::rebuild(&table, context));
    // The next table is waited for without this one.
    context.tables.release_since(context.client.slot(), before);
    let rebuilt = rebuilt.and_then(|()| {
        // LOCK TABLES lets each alias be used once in a pass.
        context.tables.begin_planning();
        let mark = context.tables.mark();
        let deadline = context.env.lock_deadline();
        let opened = context.tables.open(context.client, schema, name, Mode::SR, deadline);
        let analyzed = opened.map_err(SqlError::from).and_then(|t| analyze(t, context));
        context.tables.release_since(context.client.slot(), mark);
        analyzed
    });
    match rebuilt {
        Ok(mut report) => {
            let text = "Table does not support optimize, doing recreate + analyze instead";
            report.insert(0, ("note", text.to_string()));
            Ok(report)
        }
        Err(error) => missing(error),
    }
}

/// ANALYZE of an open table.
fn analyze(table: TableRef, context: &mut Context<'_>) -> Result<Report, SqlError> {
    context.tables.admit_writing()?;
    let catalog = std::sync::Arc::clone(context.tables.catalog());
    match catalog.analyze(context.tables, table) {
        Ok(()) => {}
        Err(error) => return missing(error.into()),
    }
    histogram::refresh(table, context)?;
    Ok(vec![("status", "OK".to_string())])
}

/// CHECK of an open table that nobody else changes.
fn check(table: TableRef, context: &mut Context<'_>) -> Result<Report, SqlError> {
    let engine = std::sync::Arc::clone(context.tables.catalog().engine());
    // What recovery has not undone or removed yet would look like damage.
    while engine.recovery_progress().phase != engine::RecoveryPhase::Done {
        if !context.env.sleep(RECOVERY_LOOK_S) {
            return Err(SqlError::Storage(base::Error::Killed));
        }
    }
    let def = context.tables.def(table);
    let findings = match engine.examine_table(context.tables.table(table)) {
        Ok(findings) if findings.is_empty() => return Ok(vec![("status", "OK".to_string())]),
        Ok(findings) => findings,
        Err(error) => return missing(SqlError::Storage(error)),
    };
    let mut report: Report = Vec::with_capacity(findings.len() + 1);
    for finding in &findings {
        let index = finding.index.and_then(|id| damage::index_name(def, id));
        let index = index.map_or(String::new(), |name| format!("Index '{name}': "));
        let place = match finding.place {
            Some((page, offset)) => damage::place(page, offset, finding.what),
            None => finding.what.to_string(),
        };
        report.push(("Error", format!("{index}{place}")));
    }
    report.push(("error", "Corrupt".to_string()));
    Ok(report)
}

/// The table's checksum; NULL (with a warning) when there is none, and for QUICK, which asks for a
/// stored one.
fn checksum_or_null(
    schema: &str,
    name: &str,
    quick: bool,
    context: &mut Context<'_>,
) -> Result<Option<u32>, SqlError> {
    if let Ok(Some(_)) = context.tables.catalog().virtual_table(schema, name) {
        let (number, _, text) = not_base_table(schema, name).parts();
        context.env.warn(WarningLevel::Error, number, text);
        return Ok(None);
    }
    let deadline = context.env.lock_deadline();
    let summed = context
        .tables
        .open(context.client, schema, name, Mode::SR, deadline)
        .map_err(SqlError::from)
        .and_then(|table| base_table(table, schema, name, context))
        .and_then(|table| if quick { Ok(None) } else { checksum(table, context).map(Some) });
    match summed {
        Err(error) if !ends_statement(&error) => {
            let named = damage::named(&error, context.tables.catalog());
            let (number, _, text) = named.unwrap_or(error).parts();
            context.env.warn(WarningLevel::Error, number, text);
            Ok(None)
        }
        other => other,
    }
}

fn not_base_table(schema: &str, name: &str) -> SqlError {
    CatalogError::NotBaseTable { schema: schema.to_string(), name: name.to_string() }.into()
}

/// The table, which is no view.
fn base_table(
    table: TableRef,
    schema: &str,
    name: &str,
    context: &Context<'_>,
) -> Result<TableRef, SqlError> {
    match context.tables.def(table).view {
        None => Ok(table),
        Some(_) => Err(not_base_table(schema, name)),
    }
}

fn checksum(table: TableRef, context: &mut Context<'_>) -> Result<u32, SqlError> {
    let mut sum = Checksum::new(&context.tables.def(table).columns);
    let layout = context.tables.table(table).layout().clone();
    rows::each(context, table, &mut |bytes| {
        sum.add(|column| layout.decode(bytes, column).map_err(expr::damaged))
    })?;
    Ok(sum.total())
}
