//! ANALYZE TABLE ... UPDATE / DROP HISTOGRAM.
//!
//! 1. Every row counts: the sampling rate is 1. 2. With no more different values than buckets each value has
//! its own; else buckets are filled in order up to a height that makes them fit. 3. What is wrong with one
//! column is a row of the answer. 4. Keys are those of an index over the column, so that the planner compares
//! bytes.

use crate::ExecError;
use crate::locking::Use;
use crate::maintain::Report;
use crate::query::Call;
use crate::{Context, ResultColumn, RowSink, SqlError};
use catalog::{Bucket, BucketEnd, Histogram, TableDef, TableRef};
use parser::ast::{self, Statement};
use parser::print::quoted;
use planner::PlanError;
use std::collections::BTreeMap;
use std::sync::Arc;
use value::{Collation, ColumnType, Datum, KeyPart, KeySpec, Kind};

/// Buckets where WITH n BUCKETS is not written, and the most there may be.
const BUCKETS: u64 = 100;
const BUCKETS_MAX: u64 = 1024;
/// Characters of a text that are kept.
const TEXT_CHARS: usize = 42;
/// Halvings of the range in which a fitting height is looked for.
const STEPS_MAX: u32 = 10;
/// Collation of what is no text.
const NUMBERS: u16 = 8;

/// What the statement asks for that it cannot have, for any table.
///
/// # Errors
/// 1690, 1060, 1235.
pub fn check(asked: &ast::Histogram) -> Result<(), SqlError> {
    if asked.buckets.is_some_and(|n| n == 0 || n > BUCKETS_MAX) {
        return Err(ExecError::Buckets.into());
    }
    for (at, name) in asked.columns.iter().enumerate() {
        if asked.columns[..at].iter().any(|n| value::name::same_name(n, name)) {
            return Err(PlanError::DuplicateColumn(name).into());
        }
    }
    match asked.data {
        Some(_) => Err(SqlError::unsupported("HISTOGRAM USING DATA")),
        None => Ok(()),
    }
}

/// Makes or drops the histograms of an open table; a row of the answer per column.
///
/// # Errors
/// Those of reading the table and of writing the dictionary.
pub fn run(
    asked: &ast::Histogram,
    table: TableRef,
    context: &mut Context<'_>,
) -> Result<Report, SqlError> {
    let def = context.tables.def(table).clone();
    let refused = match (&def.view, def.temporary) {
        (Some(_), _) => Some("view"),
        (None, true) => Some("temporary table"),
        _ => None,
    };
    if let Some(what) = refused {
        let text = format!("Cannot create histogram statistics for a {what}.");
        return Ok(vec![("Error", text)]);
    }
    let own_name = |name: &String| def.column(name).map(|c| (def.columns[c].name.clone(), c));
    let mut report = BTreeMap::new();
    for name in &asked.columns {
        let Some((name, column)) = own_name(name) else {
            report.insert(name.clone(), ("Error", format!("The column '{name}' does not exist.")));
            continue;
        };
        let said = match asked.drop {
            true => drop(table, &name, context)?,
            false => make(asked, table, (&def, column), context)?,
        };
        report.insert(name, said);
    }
    Ok(report.into_values().collect())
}

fn drop(
    table: TableRef,
    name: &str,
    context: &mut Context<'_>,
) -> Result<(&'static str, String), SqlError> {
    let catalog = Arc::clone(context.tables.catalog());
    Ok(match catalog.set_histogram(context.tables, table, name, None)? {
        true => ("status", format!("Histogram statistics removed for column '{name}'.")),
        false => ("Error", format!("No histogram statistics found for column '{name}'.")),
    })
}

fn make(
    asked: &ast::Histogram,
    table: TableRef,
    (def, column): (&TableDef, usize),
    context: &mut Context<'_>,
) -> Result<(&'static str, String), SqlError> {
    let (name, ty) = (&def.columns[column].name, &def.columns[column].ty);
    let alone = |i: &catalog::IndexDef| {
        i.unique && i.parts.len() == 1 && i.parts[0].column == column && !i.attributes.invisible
    };
    if def.indexes.iter().any(alone) {
        let text = format!("The column '{name}' is covered by a single-part unique index.");
        return Ok(("Error", text));
    }
    if ty.kind == Kind::Json {
        return Ok(("Error", format!("The column '{name}' has an unsupported data type.")));
    }
    let buckets = asked.buckets.unwrap_or(BUCKETS);
    build(table, (def, column), (buckets, asked.auto == Some(true)), context)?;
    Ok(("status", format!("Histogram statistics created for column '{name}'.")))
}

/// Makes the histograms with AUTO UPDATE anew.
///
/// # Errors
/// As [`run`].
pub fn refresh(table: TableRef, context: &mut Context<'_>) -> Result<(), SqlError> {
    let def = context.tables.def(table).clone();
    for (name, known) in context.tables.statistics(table).histograms.iter() {
        if known.auto_update
            && let Some(column) = def.column(name)
        {
            build(table, (&def, column), (known.buckets_asked, true), context)?;
        }
    }
    Ok(())
}

/// A value and how many rows have it.
struct Counted {
    end: BucketEnd,
    rows: u64,
}

/// Takes the values of a query that groups them.
struct Values {
    ty: ColumnType,
    nulls: u64,
    all: Vec<Counted>,
}

impl RowSink for Values {
    fn header(&mut self, _: &[ResultColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), SqlError> {
        let [value, count] = values else { return Ok(()) };
        let rows = count.as_u64().unwrap_or(0);
        if value.is_null() {
            self.nulls += rows;
            return Ok(());
        }
        let end = end_of(value, &self.ty)?;
        // Texts that agree as far as they are kept are one value.
        match self.all.iter_mut().find(|c| c.end.key == end.key && self.ty.kind.is_string()) {
            Some(known) => known.rows += rows,
            None => self.all.push(Counted { end, rows }),
        }
        Ok(())
    }
}

/// The key of a value of a column's type, and its JSON.
fn end_of(value: &Datum<'_>, ty: &ColumnType) -> Result<BucketEnd, SqlError> {
    let internal = |_| SqlError::Storage(base::Error::Internal("a value without a key"));
    let kept = match value {
        Datum::Bytes(bytes) => Datum::Bytes(ty.collation.prefix(bytes, TEXT_CHARS)),
        other => *other,
    };
    let kept = match (kept, ty.members) {
        (Datum::Bytes(name), Some(members)) if ty.kind == Kind::Enum => {
            Datum::Enum(members, members.find(name).unwrap_or(0))
        }
        (other, _) => other,
    };
    let mut key = Vec::new();
    let stored = match (kept, ty.kind) {
        // What a query gives as local time is stored in UTC; the zone does not matter here.
        (Datum::DateTime(v), Kind::Timestamp) => {
            Datum::Timestamp(value::TimeZone::utc().to_utc(v).map_or(0, |(us, _)| us), ty.decimals)
        }
        (other, _) => other,
    };
    KeySpec::new(vec![KeyPart::whole(0)]).encode(&[*ty], &[stored], &mut key).map_err(internal)?;
    Ok(BucketEnd { key, json: json(&kept) })
}

fn json(value: &Datum<'_>) -> String {
    match value {
        Datum::Bytes(bytes) => {
            let mut digits = expr::functions::base64(bytes);
            digits.retain(|b| *b != b'\n');
            format!("\"base64:type254:{}\"", String::from_utf8_lossy(&digits))
        }
        Datum::Enum(_, number) => number.to_string(),
        Datum::Set(_, members) => members.to_string(),
        Datum::Bits(bits, _) => bits.to_string(),
        Datum::Double(v) => catalog::json_number(*v),
        Datum::Date(date) => format!("\"{date}\""),
        Datum::DateTime(v) => format!("\"{}\"", v.with_fsp(6)),
        Datum::Time(v) => format!("\"{}\"", v.round(6)),
        other => value::format::to_text(other),
    }
}

fn build(
    table: TableRef,
    (def, column): (&TableDef, usize),
    (buckets_asked, auto_update): (u64, bool),
    context: &mut Context<'_>,
) -> Result<(), SqlError> {
    let column = &def.columns[column];
    let (name, from) = (quoted(&column.name), (quoted(&def.schema), quoted(&def.name)));
    let sql = format!("SELECT {name}, COUNT(*) FROM {}.{} GROUP BY 1", from.0, from.1);
    let internal = || SqlError::Storage(base::Error::Internal("a histogram is no query"));
    let parsed = parser::parse(sql.as_bytes(), parser::SqlMode::default());
    let Ok(Statement::Query(query)) = parsed else { return Err(internal()) };
    let plan = planner::query::plan_query(&mut context.planning(), &query)?;
    let mut values = Values { ty: column.ty, nulls: 0, all: Vec::new() };
    let call = Call { query: &plan, used: Use::Shown, header: &[], params: &[] };
    crate::query::run(call, context, &mut values)?;
    values.all.sort_by(|a, b| a.end.key.cmp(&b.end.key));
    let counted: u64 = values.all.iter().map(|c| c.rows).sum();
    let rows = (counted + values.nulls).max(1) as f64;
    let singleton = values.all.len() as u64 <= buckets_asked;
    let height = if singleton { 0 } else { height(&values.all, counted, buckets_asked) };
    let histogram = Histogram {
        singleton,
        data_type: data_type(&column.ty).to_string(),
        collation: collation(&column.ty),
        nulls: values.nulls as f64 / rows,
        sampling_rate: 1.0,
        updated_us: host::clock::unix_micros() as i64,
        buckets_asked,
        auto_update,
        buckets: fill(&values.all, height, rows),
    };
    let catalog = Arc::clone(context.tables.catalog());
    catalog.set_histogram(context.tables, table, &column.name, Some(histogram))?;
    Ok(())
}

fn data_type(ty: &ColumnType) -> &'static str {
    match ty.kind {
        Kind::Decimal => "decimal",
        Kind::Float | Kind::Double => "double",
        Kind::Date => "date",
        Kind::Time => "time",
        Kind::DateTime | Kind::Timestamp => "datetime",
        Kind::Enum => "enum",
        Kind::Set => "set",
        kind if kind.is_string() => "string",
        kind if kind.is_int() && ty.unsigned => "uint",
        _ => "int",
    }
}

fn collation(ty: &ColumnType) -> u16 {
    match ty.kind {
        Kind::Bit => Collation::Binary.id(),
        Kind::Enum | Kind::Set => ty.collation.id(),
        kind if kind.is_string() => ty.collation.id(),
        _ => NUMBERS,
    }
}

/// Whether buckets of a height hold all values in no more than so many.
fn fits(values: &[Counted], height: u64, buckets: u64) -> bool {
    let (mut used, mut filled, mut distinct) = (1, 0, 0);
    for value in values {
        if distinct > 0 && filled + value.rows > height {
            (used, filled, distinct) = (used + 1, 0, 0);
        }
        filled += value.rows;
        distinct += 1;
    }
    used <= buckets
}

/// About the least height of buckets that hold all values.
fn height(values: &[Counted], rows: u64, buckets: u64) -> u64 {
    if buckets <= 1 {
        return rows;
    }
    let (mut low, mut high) = (0, 2 * rows / (buckets - 1) + 1);
    for _ in 0..STEPS_MAX {
        if high <= low + 1 {
            break;
        }
        let middle = low + (high - low) / 2;
        match fits(values, middle, buckets) {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

/// Fills buckets up to a height, each with at least one value.
fn fill(values: &[Counted], height: u64, rows: f64) -> Vec<Bucket> {
    let mut buckets: Vec<Bucket> = Vec::new();
    let (mut filled, mut seen) = (0, 0);
    for value in values {
        seen += value.rows;
        let cumulative = seen as f64 / rows;
        match buckets.last_mut().filter(|_| filled + value.rows <= height) {
            Some(bucket) => {
                filled += value.rows;
                bucket.high = value.end.clone();
                bucket.cumulative = cumulative;
                bucket.distinct += 1;
            }
            None => {
                filled = value.rows;
                let (low, high) = (value.end.clone(), value.end.clone());
                buckets.push(Bucket { low, high, cumulative, distinct: 1 });
            }
        }
    }
    buckets
}
