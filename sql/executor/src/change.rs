//! UPDATE and DELETE: find the rows first, then take each and change it.
//!
//! 1. Keys are collected before the first change, so that a row is never met twice. 2. Each row is
//! read again for the change, which waits for another transaction's uncommitted version, and the
//! filter is checked on what was found then.

use crate::computed::Computed;
use crate::ranges::resolve;
use crate::rows::{check_killed, slice};
use crate::store::{convert, default_of, encode, explain_duplicate};
use crate::{Context, Outcome, SqlError};
use engine::{Direction, Reader};
use expr::{OwnedDatum, Typed};
use expr::{Row, condition, eval};
use instrument::Counter;
use planner::plan::{ChangePlan, InsertValue, SortKey};
use std::cmp::Ordering;
use value::{Datum, RowLayout};

/// Runs the plan; the caller rolls back on error.
///
/// # Errors
/// Conversion, lock and storage errors, 1062 for a duplicate key, 1317 when killed.
pub fn run(
    plan: &ChangePlan,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Outcome, SqlError> {
    let limit = match &plan.limit {
        Some(expr) => limit_value(expr, context.env, params)?,
        None => u64::MAX,
    };
    let keys = find(plan, context, params, limit)?;
    let computed = match plan.assignments {
        Some(_) => Computed::of(context.tables.def(plan.table))?,
        None => Computed::default(),
    };
    let mut change =
        Change { plan, computed, params, matched: 0, changed: 0, old: Vec::new(), new: Vec::new() };
    for key in keys {
        check_killed()?;
        change.one(context, &key)?;
    }
    Ok(change.outcome(context))
}

/// Clustered keys of the rows to change, in order, at most `limit`.
fn find(
    plan: &ChangePlan,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    limit: u64,
) -> Result<Vec<Vec<u8>>, SqlError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let table = context.tables.table(plan.table);
    let reading = resolve(&plan.access, table, params, context.env)?;
    let (mut reader, mut bytes) = (Reader::new(), Vec::new());
    let mut found: Vec<(Vec<OwnedDatum>, Vec<u8>)> = Vec::new();
    'ranges: for (low, high) in &reading.ranges {
        let range = (slice(low), slice(high));
        reader.open(context.client, table, reading.index, range, Direction::Forward)?;
        reader.need(&plan.columns);
        while reader.next(context.client, table, &mut bytes)? {
            check_killed()?;
            let row = Row::one(table.layout(), &bytes, params);
            if let Some(filter) = &plan.filter
                && condition(filter, &row, context.env)? != Some(true)
            {
                continue;
            }
            let sort = plan
                .order_by
                .iter()
                .map(|k| Ok(eval(&k.value.expr, &row, context.env)?.into_owned()))
                .collect::<Result<_, SqlError>>()?;
            found.push((sort, reader.key().to_vec()));
            if plan.order_by.is_empty() && found.len() as u64 >= limit {
                break 'ranges;
            }
        }
    }
    found.sort_by(|a, b| order(&plan.order_by, &a.0, &b.0));
    found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(found.into_iter().map(|(_, key)| key).collect())
}

struct Change<'p> {
    plan: &'p ChangePlan,
    computed: Computed,
    params: &'p [Datum<'p>],
    matched: u64,
    changed: u64,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl Change<'_> {
    fn one(&mut self, context: &mut Context<'_>, key: &[u8]) -> Result<(), SqlError> {
        let table = context.tables.table(self.plan.table);
        self.old.clear();
        if !context.client.read_for_update(table, key, &mut self.old)? {
            return Ok(());
        }
        let row = Row::one(table.layout(), &self.old, self.params);
        if let Some(filter) = &self.plan.filter
            && condition(filter, &row, context.env)? != Some(true)
        {
            return Ok(());
        }
        self.matched += 1;
        let Some(assignments) = &self.plan.assignments else {
            context.client.delete(table, key)?;
            self.changed += 1;
            return Ok(());
        };
        let values =
            assigned(assignments, self.plan, &self.old, self.matched, context, self.params)?;
        let mut values = values;
        encode(context.tables.table(self.plan.table).layout(), &values, &mut self.new)?;
        if self.new == self.old {
            return Ok(());
        }
        let timed = set_update_times(context, self.plan.table, assignments, &mut values);
        if !self.computed.is_empty() {
            let (def, table) =
                (context.tables.def(self.plan.table), context.tables.table(self.plan.table));
            let target = (def, table.layout(), self.matched);
            self.computed.finish(target, &mut values, context.env)?;
        }
        if timed || !self.computed.is_empty() {
            encode(context.tables.table(self.plan.table).layout(), &values, &mut self.new)?;
        }
        note_autoinc(context, self.plan, &values)?;
        let table = context.tables.table(self.plan.table);
        context
            .client
            .update(table, key, &self.new)
            .map_err(|error| explain_duplicate(error, context, self.plan.table, &values))?;
        self.changed += 1;
        Ok(())
    }

    fn outcome(self, context: &Context<'_>) -> Outcome {
        if self.plan.assignments.is_none() {
            instrument::count(Counter::InnodbRowsDeleted, self.changed);
            return Outcome { affected_rows: self.changed, ..Outcome::default() };
        }
        instrument::count(Counter::InnodbRowsUpdated, self.changed);
        let affected = if context.env.count_matched_rows() { self.matched } else { self.changed };
        let info =
            format!("Rows matched: {}  Changed: {}  Warnings: 0", self.matched, self.changed);
        Outcome { affected_rows: affected, info, ..Outcome::default() }
    }
}

/// ON UPDATE CURRENT_TIMESTAMP of the columns that the statement does not name; whether there is one.
pub fn set_update_times(
    context: &Context<'_>,
    table: catalog::TableRef,
    assignments: &[(usize, InsertValue)],
    values: &mut [OwnedDatum],
) -> bool {
    let mut any = false;
    for (position, column) in context.tables.def(table).columns.iter().enumerate() {
        if let Some(fsp) = column.on_update
            && assignments.iter().all(|(named, _)| *named != position)
        {
            values[position] = crate::store::now(&column.ty, fsp, context.env);
            any = true;
        }
    }
    any
}

/// MySQL evaluates assignments from left to right, each seeing the ones before it.
fn assigned(
    assignments: &[(usize, InsertValue)],
    plan: &ChangePlan,
    old: &[u8],
    number: u64,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Vec<OwnedDatum>, SqlError> {
    let layout = context.tables.table(plan.table).layout();
    let mut values = decode(layout, old)?;
    let mut current = old.to_vec();
    for (column, value) in assignments {
        let def = context.tables.def(plan.table);
        let (table, def) = (&def.name, &def.columns[*column]);
        let row = Row::one(layout, &current, params);
        values[*column] = match value {
            InsertValue::Expr(Typed { expr, ty, .. }) => {
                let value = eval(expr, &row, context.env)?;
                convert((&value.get(), Some(ty)), table, def, number, context.env)?
            }
            InsertValue::Default if def.generated.is_some() => continue,
            InsertValue::Default => default_of(def, context.env)?,
        };
        if assignments.len() > 1 {
            encode(layout, &values, &mut current)?;
        }
    }
    Ok(values)
}

fn decode(layout: &RowLayout, row: &[u8]) -> Result<Vec<OwnedDatum>, SqlError> {
    (0..layout.columns())
        .map(|c| layout.decode(row, c).map(|d| OwnedDatum::of(&d)).map_err(expr::damaged))
        .collect()
}

/// An UPDATE that raises the AUTO_INCREMENT column raises the counter (MySQL 8).
fn note_autoinc(
    context: &mut Context<'_>,
    plan: &ChangePlan,
    values: &[OwnedDatum],
) -> Result<(), SqlError> {
    let assigned = plan.assignments.iter().flatten().map(|(column, _)| *column);
    let Some(column) = context.tables.def(plan.table).autoinc_column() else { return Ok(()) };
    if let Some(value) = values[column].datum().as_u64()
        && assigned.into_iter().any(|c| c == column)
    {
        context.client.note_autoinc(context.tables.table(plan.table), value)?;
    }
    Ok(())
}

/// One number of a LIMIT clause.
fn limit_value(
    expr: &expr::Expr,
    env: &mut dyn crate::Environment,
    params: &[Datum<'_>],
) -> Result<u64, SqlError> {
    let row = Row { params, ..Row::default() };
    let wrong = || SqlError::Other(1210, "HY000", "Incorrect arguments to LIMIT".into());
    eval(expr, &row, env)?.get().as_u64().ok_or_else(wrong)
}

/// Order of two sort keys; NULL comes first.
fn order(keys: &[SortKey], a: &[OwnedDatum], b: &[OwnedDatum]) -> Ordering {
    for ((key, a), b) in keys.iter().zip(a).zip(b) {
        let order = value::compare::sort_order(&a.datum(), &b.datum(), key.value.ty.collation);
        let order = if key.descending { order.reverse() } else { order };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}
