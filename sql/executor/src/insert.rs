//! INSERT and REPLACE: one row after the other, and what happens where another row is in the way.
//!
//! 1. A statement never meets its own rows ([`select`]). 2. The row in the way is found by the index that the engine named, locked and read again; when it is gone by
//! then, the insert is tried once more. 3. IGNORE makes the statement as lenient as without strict mode; a
//! duplicate or a value that still does not fit leaves its row out with a warning. 4. A statement of one row that is its
//! transaction commits with the row ([`Then::Commit`]): what may fail is asked before.

mod conflict;
pub mod load;
pub mod numbers;
mod records;
pub mod select;
mod subqueries;

use crate::operators::Running;
use crate::ops::names::TableNames;
use crate::write::compute::RowShape;
use crate::write::convert::{convert, default_of, implicit_default};
use crate::write::duplicate::explain_duplicate;
use crate::write::error::{RowError, forgive, leniently};
use crate::write::{RowWriter, Version};
use crate::{Context, Environment, Outcome, SqlError, WarningLevel};
use catalog::{ColumnDef, DefaultValue, TableCache, TableDef};
use engine::Then;
use expr::{Expr, Frame, Leaves, OwnedDatum, Row, Typed, eval};
use instrument::{Counter, count};
use numbers::Numbers;
use planner::plan::{InsertPlan, InsertSource, InsertValue, Output};
use subqueries::Subqueries;
use value::{ColumnType, Datum};

const VALUES_CALL: &str = "'VALUES function' is deprecated and will be removed in a future release. Please use an \
                           alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON \
                           DUPLICATE KEY UPDATE clause with alias.col instead";

/// Runs the plan; the caller rolls back on error.
///
/// # Errors
/// Conversion and storage errors, 1062 for a duplicate key, 1467 when AUTO_INCREMENT is exhausted.
pub fn run(
    (plan, of): (&InsertPlan, Running<'_>),
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Outcome, SqlError> {
    leniently(plan.ignore, context, |context| run_rows((plan, of), context, params))
}

fn run_rows(
    (plan, of): (&InsertPlan, Running<'_>),
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Outcome, SqlError> {
    let mut inserter = Inserter::new(plan, context, params)?;
    for _ in 0..plan.values_calls {
        context.env.warn(WarningLevel::Warning, 1287, VALUES_CALL.into());
    }
    let done = inserter.rows(of, context);
    inserter.numbers.end(context);
    if done.is_err() && inserter.numbers.first_generated != 0 {
        // LAST_INSERT_ID() knows of rows that went with the statement.
        context.env.set_last_insert_id(inserter.numbers.first_generated);
    }
    done?;
    Ok(inserter.outcome(context))
}

/// Inserts the rows of one statement.
struct Inserter<'p> {
    plan: &'p InsertPlan,
    params: &'p [Datum<'p>],
    numbers: Numbers,
    writer: RowWriter<'p>,
    /// Subqueries of the assignments.
    subqueries: Option<Subqueries<'p>>,
    /// The rows that the assignments see.
    seen: Frame,
    /// Columns that the row was given no value for.
    omitted: Vec<usize>,
    /// Rows that were looked at.
    records: u64,
    /// The statement has one row.
    only: bool,
    /// Rows that a view's check left out: MySQL does not count them.
    refused: u64,
    inserted: u64,
    deleted: u64,
    /// Rows of ON DUPLICATE KEY UPDATE that changed, and that were met.
    updated: u64,
    touched: u64,
}

impl<'p> Inserter<'p> {
    #[inline]
    fn new(
        plan: &'p InsertPlan,
        context: &Context<'_>,
        params: &'p [Datum<'p>],
    ) -> Result<Inserter<'p>, SqlError> {
        let check = plan.view.as_ref().and_then(|view| view.check.as_ref());
        let writer = RowWriter::new(plan.table, check, context)?;
        let subqueries = Subqueries::of(plan, context, params)?;
        let table = (plan.table, context.tables.def(plan.table));
        let insists = plan.replace || plan.is_select;
        let seen = match plan.on_duplicate.is_empty() {
            true => Frame::default(),
            false => conflict::frame(context.tables.table(plan.table).layout()),
        };
        Ok(Inserter {
            plan,
            params,
            numbers: Numbers::new(table, insists, context.env),
            writer,
            subqueries,
            seen,
            omitted: Vec::new(),
            records: 0,
            only: false,
            refused: 0,
            inserted: 0,
            deleted: 0,
            updated: 0,
            touched: 0,
        })
    }

    /// Inserts all rows.
    fn rows(&mut self, of: Running<'_>, context: &mut Context<'_>) -> Result<(), SqlError> {
        match &self.plan.source {
            InsertSource::Values(rows) => {
                self.numbers.expect(rows.len() as u64);
                self.only = rows.len() == 1;
                let mut values = Vec::new();
                for (number, row) in (1..).zip(rows) {
                    if number % 64 == 0 {
                        crate::rows::check_killed()?;
                    }
                    let number = number - self.refused;
                    let done = self
                        .evaluate(row, rows.len() == 1, number, context, &mut values)
                        .map_err(|error| of_view(error, self.plan))
                        .and_then(|()| self.put(context, &mut values));
                    self.end_row(done, &values, context)?;
                }
            }
            InsertSource::Query(source) => {
                self.numbers.expect(self.plan.rows);
                self.insert_selected(source, of, context)?;
            }
        }
        Ok(())
    }

    /// Values of a row of VALUES in column order; NULL stands for "generate" in the AUTO_INCREMENT column.
    fn evaluate(
        &mut self,
        row: &[InsertValue],
        alone: bool,
        number: u64,
        context: &mut Context<'_>,
        values: &mut Vec<OwnedDatum>,
    ) -> Result<(), SqlError> {
        self.records += 1;
        let def = context.tables.def(self.plan.table);
        self.start(def, context.env, values)?;
        for (position, value) in self.plan.columns.iter().zip(row) {
            let column = &def.columns[*position];
            let InsertValue::Expr(Typed { expr, ty, .. }) = value else {
                // DEFAULT that is written is 0 where 0 asks for no number.
                values[*position] = match column.auto_increment && context.env.zero_is_a_value() {
                    true => OwnedDatum::Int(0),
                    false => open_value(column, context.env)?,
                };
                self.omitted.push(*position);
                continue;
            };
            let one = alone && !self.plan.ignore;
            // Borrowed: without a scope, and without a copy of a text.
            let given = match expr {
                Expr::Param(n) => self.params.get(*n).copied(),
                Expr::Const(value) => Some(value.datum()),
                _ => None,
            };
            values[*position] = match given {
                Some(value) => stored((&value, Some(ty)), def, column, (number, one), context.env)?,
                None => {
                    let value = self.computed(expr, values, context.tables, context.env)?;
                    let value = (&value.datum(), Some(ty));
                    stored(value, def, column, (number, one), context.env)?
                }
            };
        }
        Ok(())
    }

    /// The value of an expression, which may see the row as it is so far.
    fn computed(
        &mut self,
        expr: &Expr,
        values: &[OwnedDatum],
        tables: &TableCache,
        env: &mut dyn Environment,
    ) -> Result<OwnedDatum, SqlError> {
        let def = tables.def(self.plan.table);
        let names = TableNames { def, alias: &def.name };
        let mut scope = Row { params: self.params, names: Some(&names), ..Row::default() };
        if expr.has_column() {
            let shape = RowShape::of(tables, self.plan.table)?;
            shape.encode_so_far(values, &mut self.writer.after)?;
            scope.leaves = Leaves::One(shape.layout, &self.writer.after);
        }
        Ok(eval(expr, &scope, env)?.into_owned())
    }

    /// Values of a query's row in column order.
    fn take(
        &mut self,
        (row, outputs): (&[Datum<'_>], &[Output]),
        number: u64,
        context: &mut Context<'_>,
        values: &mut Vec<OwnedDatum>,
    ) -> Result<(), SqlError> {
        self.records += 1;
        let def = context.tables.def(self.plan.table);
        self.start(def, context.env, values)?;
        for ((position, value), output) in self.plan.columns.iter().zip(row).zip(outputs) {
            let column = &def.columns[*position];
            let value = (value, Some(&output.value.ty));
            values[*position] = stored(value, def, column, (number, false), context.env)?;
        }
        Ok(())
    }

    /// Every column with what it has when it is given nothing; those of the plan's list are NULL for now.
    fn start(
        &mut self,
        def: &TableDef,
        env: &mut dyn Environment,
        values: &mut Vec<OwnedDatum>,
    ) -> Result<(), SqlError> {
        values.clear();
        values.reserve(def.columns.len());
        self.omitted.clear();
        for (position, column) in def.columns.iter().enumerate() {
            values.push(match self.plan.columns.contains(&position) {
                true => OwnedDatum::Null,
                false => {
                    self.omitted.push(position);
                    // That a field has no default is said once.
                    let said = self.records > 1 && column.default == DefaultValue::None;
                    match said && !column.auto_increment && column.generated.is_none() {
                        true => implicit_default(&column.ty),
                        false => open_value(column, env)?,
                    }
                }
            });
        }
        Ok(())
    }

    /// Inserts a row, or does what the statement says where one is in the way.
    fn put(
        &mut self,
        context: &mut Context<'_>,
        values: &mut [OwnedDatum],
    ) -> Result<(), SqlError> {
        // Nothing that is computed sees the number: a violated check takes none.
        self.writer.complete((&self.omitted, self.records), values, context)?;
        self.numbers.fill(context, values)?;
        self.writer.encode(values, context)?;
        self.writer.check_view(context)?;
        loop {
            count(Counter::HandlerWrite, 1);
            let then = self.then(context)?;
            let error = match self.writer.insert(self.resolves(), then, context) {
                Ok(()) => {
                    self.inserted += 1;
                    return self.numbers.inserted(context, values);
                }
                Err(error) => error,
            };
            let existing = match &error {
                SqlError::Storage(base::Error::Duplicate { index, key }) if self.resolves() => {
                    conflict::find(context, self.plan.table, *index, key)?
                }
                _ => return Err(explain_duplicate(error, context, self.plan.table, values)),
            };
            let Some(existing) = existing else { continue };
            count(Counter::HandlerReadKey, 1);
            if !self.plan.replace {
                self.numbers.refused(context, values)?;
                return self.update(context, &existing);
            }
            let layout = context.tables.table(self.plan.table).layout();
            if self.numbers.generated_that_of(&existing.row, layout)? {
                // The counter is at its end: the row in the way is the last one that it numbered, and no other
                // number would come.
                return Err(explain_duplicate(error, context, self.plan.table, values));
            }
            self.require_visible(&existing, layout, context.env)?;
            if existing.last && context.tables.children(self.plan.table).is_empty() {
                return self.replace_in_place(context, &existing, values);
            }
            count(Counter::HandlerDelete, 1);
            let row = (&existing.key[..], &existing.row[..]);
            self.deleted += u64::from(self.writer.delete(row, Version::Conflicting, context)?);
        }
    }

    /// What comes after the row that is about to be inserted: the end of the transaction, if the row is all that it does. What
    /// may still fail is asked before.
    fn then(&self, context: &mut Context<'_>) -> Result<Then, SqlError> {
        let last = self.only
            && !self.plan.ignore
            && !self.resolves()
            && !self.writer.has_foreign_keys()
            && self.numbers.is_reserved()
            && !context.client.spans_statements();
        if !last {
            return Ok(Then::More);
        }
        context.env.strict_failure().map_or(Ok(Then::Commit), Err)
    }

    fn resolves(&self) -> bool {
        self.plan.replace || !self.plan.on_duplicate.is_empty()
    }

    /// A row has come to its end; `true`: a check refused it, and IGNORE leaves it out.
    fn end_row(
        &mut self,
        done: Result<(), SqlError>,
        values: &[OwnedDatum],
        context: &mut Context<'_>,
    ) -> Result<bool, SqlError> {
        let Err(number) = forgive(self.plan.ignore, done, context.env)? else { return Ok(false) };
        self.numbers.refused(context, values)?;
        if !self.plan.is_select && !values.is_empty() {
            self.numbers.note_last(values);
        }
        // MySQL counts no row that a check refuses, neither here nor in messages.
        let by_check = matches!(number, 1369 | 3819);
        self.refused += u64::from(by_check);
        Ok(by_check)
    }

    fn outcome(self, context: &mut Context<'_>) -> Outcome {
        let found = context.env.count_matched_rows();
        let met = if found { self.touched + self.updated } else { 2 * self.updated };
        let records = self.records - self.refused;
        let duplicates = match self.plan.ignore {
            true => records - self.inserted - self.updated,
            false => self.deleted + self.updated,
        };
        let several = self.records > 1 || self.plan.is_select;
        let warnings = context.env.warning_count();
        let info = match several {
            true => {
                format!("Records: {records}  Duplicates: {duplicates}  Warnings: {warnings}")
            }
            false => String::new(),
        };
        Outcome {
            affected_rows: self.inserted + self.deleted + met,
            last_insert_id: self.numbers.first_generated,
            row_id: Some(if self.inserted + self.updated > 0 { self.numbers.last } else { 0 }),
            info,
            // FOUND_ROWS() is of the SELECT.
            found_rows: self.plan.is_select.then_some(self.records),
            ..Outcome::default()
        }
    }
}

/// A field without a default is called by its view.
fn of_view(error: SqlError, plan: &InsertPlan) -> SqlError {
    match (&error, &plan.view) {
        (SqlError::Other(1364, ..), Some(view)) => RowError::NoDefaultInView(&view.name).into(),
        _ => error,
    }
}

/// What a column has that is given nothing, or DEFAULT.
fn open_value(column: &ColumnDef, env: &mut dyn Environment) -> Result<OwnedDatum, SqlError> {
    if column.auto_increment { Ok(OwnedDatum::Null) } else { default_of(column, env) }
}

/// A value as its column stores it. `one`: it is the only row, which fails where several would be lenient.
fn stored(
    (value, from): (&Datum<'_>, Option<&ColumnType>),
    def: &TableDef,
    column: &ColumnDef,
    (number, one): (u64, bool),
    env: &mut dyn Environment,
) -> Result<OwnedDatum, SqlError> {
    if column.auto_increment && value.is_null() {
        return Ok(OwnedDatum::Null);
    }
    if one && value.is_null() && !column.ty.nullable {
        return Err(RowError::Null(&column.name).into());
    }
    convert((value, from), &def.name, column, number, env)
}
