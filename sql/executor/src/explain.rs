//! EXPLAIN: a statement's plan as rows or as text.
//!
//! 1. Nothing of the statement runs but a query with ANALYZE, which throws the rows away. 2. EXPLAIN FOR
//! CONNECTION, ANALYZE of a change and FORMAT=JSON of version 2 answer 1235.

use crate::ExecError;
use crate::kind::Kind as StatementKind;
use crate::{Context, Outcome, OwnedDatum, ResultColumn, RowSink, SqlError, WarningLevel};
use parser::ast::Explain;
use planner::dml::Dml;
use planner::explain::{self, ExplainRow};
use planner::query_plan::Node;
use planner::{Plan, PlanContext};
use value::{Collation, ColumnType, Datum, Kind};

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

/// A name was resolved in a block around its own.
const OUTER_REFERENCE: u16 = 1276;
/// Note: what the statement became.
const REWRITTEN: u16 = 1003;

/// An EXPLAIN of a statement, looked at.
struct ExplainRequest<'e> {
    dml: Dml<'e>,
    format: Format,
    /// INTO @variable.
    into: Option<&'e str>,
    /// FOR SCHEMA.
    schema: Option<&'e str>,
}

fn request<'e>(
    explain: &'e Explain,
    context: &Context<'_>,
) -> Result<ExplainRequest<'e>, SqlError> {
    let Explain::Statement { analyze, format, into, schema, statement } = explain else {
        return Err(SqlError::unsupported("EXPLAIN FOR CONNECTION"));
    };
    let Some(StatementKind::Dml(dml)) = StatementKind::of(statement) else {
        return Err(not_explained());
    };
    let is_change = match dml {
        Dml::Query(_) => false,
        Dml::Insert(_) | Dml::Update(_) | Dml::Delete(_) => true,
        Dml::Load(_) | Dml::Do(_) => return Err(not_explained()),
    };
    if into.is_some() && format.is_none() {
        return Err(ExecError::ExplainIntoImplicit.into());
    }
    let variable = |name| match context.env.system_variable(false, name) {
        Ok(OwnedDatum::Bytes(word)) => String::from_utf8_lossy(&word).into_owned(),
        Ok(number) => number.datum().as_u64().map(|n| n.to_string()).unwrap_or_default(),
        _ => String::new(),
    };
    let written = format.clone().unwrap_or_else(|| variable("explain_format"));
    let second = variable("explain_json_format_version") == "2";
    let format = match (written.to_ascii_uppercase().as_str(), *analyze) {
        ("TREE", true) => Format::Analyze,
        // What the session prefers is no reason to refuse.
        (_, true) if format.is_none() => Format::Analyze,
        ("JSON", true) if !second => {
            return Err(ExecError::ExplainAnalyzeJson.into());
        }
        ("TRADITIONAL", true) => {
            return Err(SqlError::unsupported("EXPLAIN ANALYZE with TRADITIONAL format"));
        }
        ("TRADITIONAL", false) => Format::Traditional,
        ("TREE", false) => Format::Tree,
        ("JSON", _) if second => {
            return Err(SqlError::unsupported("EXPLAIN FORMAT=JSON, version 2"));
        }
        ("JSON", _) => Format::Json,
        _ => {
            return Err(ExecError::UnknownExplainFormat(&written).into());
        }
    };
    if into.is_some() && format != Format::Json {
        let name = written.to_ascii_uppercase();
        return Err(ExecError::ExplainIntoFormat(&name).into());
    }
    if is_change && format == Format::Analyze {
        return Err(SqlError::unsupported("EXPLAIN ANALYZE of a change"));
    }
    Ok(ExplainRequest { dml, format, into: into.as_deref(), schema: schema.as_deref() })
}

/// Result columns.
pub fn columns(explain: &Explain, context: &Context<'_>) -> Result<Vec<ResultColumn>, SqlError> {
    let request = request(explain, context)?;
    if request.into.is_some() {
        return Ok(Vec::new());
    }
    if request.format != Format::Traditional {
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
    let request = request(explain, context)?;
    let mut planning = context.planning();
    if let Some(schema) = request.schema {
        planner::show::schema_of(Some(schema), &planning)?;
        planning.database = Some(schema);
    }
    planning.explains = true;
    let before = planning.tables.mark();
    let plan = request.dml.plan(&mut planning).inspect_err(|error| {
        if let SqlError::Catalog(_) = error {
            planning.tables.release_since(planning.client.slot(), before);
        }
    })?;
    if planning.opens {
        planning.tables.admit_opening()?;
    }
    let warnings = std::mem::take(&mut planning.warnings);
    let rewritten = rewritten(&request, &planning);
    let shown = shown((request.dml, &plan), request.format, context)?;
    for (number, text) in warnings {
        let level = match number {
            OUTER_REFERENCE => WarningLevel::Note,
            _ => WarningLevel::Warning,
        };
        context.env.warn(level, number, text);
    }
    if let Some(text) = rewritten {
        context.env.warn(WarningLevel::Note, REWRITTEN, text);
    }
    let outcome = Outcome { has_rows: request.into.is_none(), ..Outcome::default() };
    match (shown, request.into) {
        (Shown::Text(text), Some(variable)) => {
            let ty = ColumnType::large(Kind::LongText, Collation::default());
            let text = OwnedDatum::Bytes(text.into_bytes());
            context.env.set_user_variable(variable, expr::UserVariable::of(text, &ty));
        }
        (Shown::Text(text), None) => {
            sink.header(columns)?;
            sink.row(&[Datum::Bytes(text.as_bytes())])?;
        }
        (Shown::Rows(rows), _) => {
            sink.header(columns)?;
            rows.iter().try_for_each(|row| send(row, sink))?;
        }
    }
    Ok(outcome)
}

/// The query with all names resolved, for formats that MySQL has a note with; `None` where it has no printed form.
fn rewritten(request: &ExplainRequest<'_>, planning: &PlanContext<'_>) -> Option<String> {
    match (request.dml, request.format) {
        (Dml::Query(query), Format::Traditional | Format::Json) if request.into.is_none() => {
            planner::canonical::explained_text(planning, query).ok()
        }
        _ => None,
    }
}

/// A plan as it is shown.
enum Shown {
    Rows(Vec<ExplainRow>),
    Text(String),
}

fn shown(
    (dml, plan): (Dml<'_>, &Plan),
    format: Format,
    context: &mut Context<'_>,
) -> Result<Shown, SqlError> {
    let tables = &*context.tables;
    Ok(match (plan, dml, format) {
        (Plan::Query(plan), _, Format::Traditional) => {
            Shown::Rows(explain::traditional(plan, tables))
        }
        (Plan::Query(plan), _, Format::Json) => Shown::Text(explain::json(plan, tables)),
        (Plan::Query(plan), _, Format::Tree) => Shown::Text(explain::tree(plan, tables, &|_| None)),
        (Plan::Query(plan), _, Format::Analyze) => {
            let measures = crate::query::measure(plan, context)?;
            let actual = |node: &Node| Some(measures.text(node));
            Shown::Text(explain::tree(plan, context.tables, &actual))
        }
        (Plan::Change(plan), _, Format::Traditional) => {
            Shown::Rows(explain::traditional_change(plan, tables))
        }
        (Plan::Change(plan), _, Format::Json) => Shown::Text(explain::json_change(plan, tables)),
        (Plan::Change(plan), _, _) => Shown::Text(explain::tree_change(plan, tables)),
        (Plan::Insert(plan), Dml::Insert(insert), format) => {
            let name = &insert.table.name;
            match format {
                Format::Traditional => Shown::Rows(explain::traditional_insert(plan, name, tables)),
                Format::Json => Shown::Text(explain::json_insert(plan, name, tables)),
                Format::Tree | Format::Analyze => {
                    Shown::Text(explain::tree_insert(plan, name, tables))
                }
            }
        }
        (Plan::Virtual(_), ..) => {
            return Err(SqlError::unsupported("EXPLAIN of a change of performance_schema"));
        }
        (Plan::Insert(_) | Plan::Load(_) | Plan::Do(_), ..) => return Err(not_explained()),
    })
}

fn not_explained() -> SqlError {
    SqlError::unsupported("EXPLAIN of this statement")
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
