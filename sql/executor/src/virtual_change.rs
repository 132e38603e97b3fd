//! Runs UPDATE, DELETE and INSERT of a virtual table: its rows are found first, then changed one by one.
//!
//! 1. Nothing is rolled back: rows that were changed before an error stay changed, as in MySQL. 2. A row that would get
//! the values that it has is not changed.

use crate::ExecError;
use crate::locking::Use;
use crate::query::{self, Call};
use crate::write::convert::{convert, default_of};
use crate::write::error::{RowError, leniently};
use crate::{Context, Outcome, ResultColumn, RowSink, SqlError, WarningLevel};
use catalog::{Changes, ReadContext, TableDef, Unchanged};
use expr::OwnedDatum;
use planner::plan::{VirtualChange, VirtualPlan};
use value::{ColumnType, Datum};

/// Runs the plan.
///
/// # Errors
/// Those of the query and of values that do not fit; 1099 where LOCK TABLES names the table with READ, 1142 where it is only
/// read, 1683 for a column that cannot be assigned, 1022 for a row that is there already.
pub(crate) fn run(
    plan: &VirtualPlan,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Outcome, SqlError> {
    let def = plan.table.def();
    context.tables.admit_virtual_change(&def.schema, &def.name)?;
    let mut rows = Collected::default();
    let call = Call { query: &plan.query, used: Use::Shown, header: &[], params };
    query::run(call, context, &mut rows)?;
    leniently(plan.ignore, context, |context| match &plan.change {
        VirtualChange::Update(columns) => update(plan, columns, rows.0, context),
        VirtualChange::Delete => delete(plan, rows.0, context),
        VirtualChange::Insert { columns, rows: None } => {
            let given = rows.0.into_iter().map(|row| row.into_iter().map(Some).collect());
            insert(plan, columns, given.collect(), context)
        }
        VirtualChange::Insert { columns, rows: Some(places) } => {
            let values = rows.0.pop().unwrap_or_default();
            let given = places.iter().map(|row| {
                row.iter().map(|place| place.and_then(|at| values.get(at).cloned())).collect()
            });
            insert(plan, columns, given.collect(), context)
        }
    })
}

/// Rows of a query, kept.
#[derive(Default)]
struct Collected(Vec<Vec<OwnedDatum>>);

impl RowSink for Collected {
    fn header(&mut self, _: &[ResultColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), SqlError> {
        self.0.push(values.iter().map(OwnedDatum::of).collect());
        Ok(())
    }
}

/// What the table lets be done; who may not was refused before.
fn changes(plan: &VirtualPlan) -> Result<&'static Changes, SqlError> {
    let none = SqlError::Storage(base::Error::Internal("the table is only read"));
    plan.table.table().changes().ok_or(none)
}

fn update(
    plan: &VirtualPlan,
    columns: &[(usize, bool)],
    rows: Vec<Vec<OwnedDatum>>,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    let (def, table) = (plan.table.def(), changes(plan)?);
    let (mut matched, mut changed) = (0u64, 0u64);
    // Said of a row that would change, whichever of its columns does.
    let fixed = columns.iter().any(|(at, _)| !table.columns.contains(&&*def.columns[*at].name));
    for mut old in rows {
        crate::rows::check_killed()?;
        matched += 1;
        let mut given = old.split_off(def.columns.len()).into_iter();
        let mut types = plan.query.query.outputs[def.columns.len()..].iter().map(|o| &o.value.ty);
        let mut new = old.clone();
        for (position, is_given) in columns {
            let column = &def.columns[*position];
            new[*position] = match (is_given, given.len()) {
                (true, 1..) => {
                    let value = given.next().unwrap_or(OwnedDatum::Null);
                    let value = (&value.datum(), types.next());
                    convert(value, &def.name, column, matched, context.env)?
                }
                _ => default_of(column, context.env)?,
            };
        }
        if new == old {
            continue;
        }
        if fixed {
            return Err(misused());
        }
        let (old, new) = (datums(&old), datums(&new));
        (table.update)(&reading(context), &old, &new).map_err(|e| refused(e, def))?;
        changed += 1;
    }
    let affected_rows = if context.env.count_matched_rows() { matched } else { changed };
    let warnings = context.env.warning_count();
    let info = format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}");
    let found_rows = Some(matched);
    Ok(Outcome { affected_rows, row_id: Some(0), info, found_rows, ..Outcome::default() })
}

fn delete(
    plan: &VirtualPlan,
    rows: Vec<Vec<OwnedDatum>>,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    let (def, table) = (plan.table.def(), changes(plan)?);
    let delete = table.delete.ok_or_else(misused)?;
    let affected_rows = rows.len() as u64;
    for row in &rows {
        delete(&reading(context), &datums(row)).map_err(|e| refused(e, def))?;
    }
    Ok(Outcome { affected_rows, ..Outcome::default() })
}

/// `None` stands for DEFAULT.
fn insert(
    plan: &VirtualPlan,
    columns: &[usize],
    rows: Vec<Vec<Option<OwnedDatum>>>,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    let (def, table) = (plan.table.def(), changes(plan)?);
    let add = table.insert.ok_or_else(misused)?;
    let is_select = matches!(plan.change, VirtualChange::Insert { rows: None, .. });
    let (records, one) = (rows.len() as u64, rows.len() == 1 && !is_select && !plan.ignore);
    let mut inserted = 0;
    for (given, number) in rows.into_iter().zip(1..) {
        let mut row = Vec::with_capacity(def.columns.len());
        for (position, column) in def.columns.iter().enumerate() {
            let at = columns.iter().position(|c| *c == position);
            let value = at.and_then(|at| given.get(at)?.as_ref());
            row.push(match value {
                Some(OwnedDatum::Null) if one && !column.ty.nullable => {
                    return Err(RowError::Null(&column.name).into());
                }
                Some(value) => {
                    let value = (&value.datum(), None::<&ColumnType>);
                    convert(value, &def.name, column, number, context.env)?
                }
                None => default_of(column, context.env)?,
            });
        }
        match add(&reading(context), &datums(&row)).map_err(|e| refused(e, def)) {
            Ok(()) => inserted += 1,
            Err(error) if plan.ignore => {
                let (number, _, text) = error.parts();
                context.env.warn(WarningLevel::Warning, number, text);
            }
            Err(error) => return Err(error),
        }
    }
    let (duplicates, warnings) = (records - inserted, context.env.warning_count());
    let info = match records > 1 || is_select {
        true => format!("Records: {records}  Duplicates: {duplicates}  Warnings: {warnings}"),
        false => String::new(),
    };
    Ok(Outcome { affected_rows: inserted, row_id: Some(0), info, ..Outcome::default() })
}

fn datums(row: &[OwnedDatum]) -> Vec<Datum<'_>> {
    row.iter().map(OwnedDatum::datum).collect()
}

fn reading<'c>(context: &'c Context<'_>) -> ReadContext<'c> {
    ReadContext { viewer: &*context.env, catalog: context.tables.catalog(), equal: &[] }
}

/// 1683.
fn misused() -> SqlError {
    ExecError::PerfschemaUsage.into()
}

fn refused(why: Unchanged, def: &TableDef) -> SqlError {
    match why {
        Unchanged::Duplicate => SqlError::from(ExecError::DuplicateKeyIn(&def.name)),
        Unchanged::NoMember => RowError::NoParent("").into(),
        Unchanged::Full => SqlError::from(ExecError::TableFull(&def.name)),
    }
}
