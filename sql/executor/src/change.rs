//! UPDATE and DELETE: find rows and change them.
//!
//! 1. None is met twice, and no value is computed from what the statement did: all rows are found ([`find`]) and
//!    locked before the first changes, unless changes cannot matter to the search.
//! 2. A row that is named by its whole primary key is not searched: it is read and changed if it still is that
//!    version then, so that nothing is written for a lock. It is locked where it stays as it is and the
//!    transaction goes on; where the transaction ends with it, change and commit are one ([`Then::Commit`]).
//! 3. IGNORE makes the statement as lenient as without strict mode; a row that cannot be changed stays as it is,
//!    with a warning.

mod find;
mod safe;

use crate::operators::Running;
use crate::ops::names::TableNames;
use crate::rows::check_killed;
use crate::write::convert::{convert, default_of};
use crate::write::duplicate::explain_duplicate;
use crate::write::encode::{decode, encode_with};
use crate::write::error::{forgive, leniently};
use crate::write::{RowWriter, Version};
use crate::{Context, Outcome, SqlError};
use catalog::{DefaultValue, TableDef};
use engine::{RowLock, Stamp, Then};
use expr::{OwnedDatum, Row, Typed, eval, holds};
use find::{FoundRow, FoundRows};
use instrument::{Counter, RowOperation, count};
use planner::plan::{ChangePlan, ChangeTarget, Found, InsertValue};
use value::{Datum, RowLayout};

/// Runs the plan; the caller rolls back on error.
///
/// # Errors
/// Those of evaluation and conversion, lock and storage errors, 1062, 1317 when killed.
pub fn run(
    (plan, of): (&ChangePlan, Running<'_>),
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Outcome, SqlError> {
    leniently(plan.ignore, context, |context| run_rows((plan, of), context, params))
}

fn run_rows(
    (plan, of): (&ChangePlan, Running<'_>),
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Outcome, SqlError> {
    if context.env.safe_updates() {
        safe::require_key(plan, context)?;
    }
    if plan.query.query.leaves.len() > 1 {
        let most = (context.env.join_size_max(), u64::MAX);
        crate::examined::refuse(&plan.query.query, params, most)?;
    }
    if let Some(key) = find::point(plan, context, params)? {
        let mut target = Target::new(plan, 0, context)?;
        target.only = true;
        target.named(&key, context, params)?;
        return Ok(outcome(plan, &[target], context));
    }
    if find::is_one_by_one(plan, context) {
        let mut target = Target::new(plan, 0, context)?;
        find::each((plan, of), context, params, |row, context| target.row(row, context, params))?;
        return Ok(outcome(plan, &[target], context));
    }
    let mut found = find::collect((plan, of), context, params)?;
    let targets = (0..plan.targets.len()).map(|n| Target::new(plan, n, context));
    let mut targets = targets.collect::<Result<Vec<_>, SqlError>>()?;
    for (target, rows) in targets.iter_mut().zip(&mut found) {
        target.rows(rows, context, params)?;
    }
    Ok(outcome(plan, &targets, context))
}

/// What became of a row that was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowOutcome {
    /// It is changed, and so locked.
    Changed,
    /// It stays as it is.
    Same,
    /// It is not there, or none that the statement looks for.
    Other,
    /// It is another version by now: nothing was done.
    Outdated,
}

/// Changes the rows of one table.
struct Target<'p> {
    plan: &'p ChangePlan,
    target: &'p ChangeTarget,
    writer: RowWriter<'p>,
    /// Columns that are given their default expression.
    omitted: Vec<usize>,
    /// More than the assigned columns changes: times of the change, generated columns; or there are checks.
    is_completed: bool,
    /// Layout of the values that were computed when the rows were found.
    found_layout: RowLayout,
    matched: u64,
    changed: u64,
    /// It changes one row, which is all that the statement does.
    only: bool,
    old: Vec<u8>,
    /// The columns that are assigned to, and their values for the row that is being changed.
    assigned: Vec<(usize, OwnedDatum)>,
    /// Values of the row that is being changed.
    values: Vec<OwnedDatum>,
}

impl<'p> Target<'p> {
    fn new(
        plan: &'p ChangePlan,
        number: usize,
        context: &Context<'_>,
    ) -> Result<Target<'p>, SqlError> {
        let target = &plan.targets[number];
        let def = context.tables.def(target.table);
        let by_expression = |(column, value): &(usize, InsertValue)| {
            let expression = matches!(def.columns[*column].default, DefaultValue::Expr(_));
            (expression && *value == InsertValue::Default).then_some(*column)
        };
        let writer = RowWriter::new(target.table, target.check.as_ref(), context)?;
        let is_completed = !plan.delete && writer.completes(&target.assignments, context)?;
        Ok(Target {
            plan,
            target,
            writer,
            omitted: target.assignments.iter().filter_map(by_expression).collect(),
            is_completed,
            found_layout: find::assigned_layout(target, def),
            matched: 0,
            changed: 0,
            only: false,
            old: Vec::new(),
            assigned: Vec::new(),
            values: Vec::new(),
        })
    }

    /// Changes the rows.
    fn rows(
        &mut self,
        rows: &mut FoundRows,
        context: &mut Context<'_>,
        params: &[Datum<'_>],
    ) -> Result<(), SqlError> {
        let mut bytes = Vec::new();
        for n in 0..rows.len() {
            if n % 64 == 0 {
                check_killed()?;
            }
            self.row(&rows.get(n, &mut bytes)?, context, params)?;
        }
        Ok(())
    }

    /// Changes a row that was found.
    fn row(
        &mut self,
        row: &FoundRow<'_>,
        context: &mut Context<'_>,
        params: &[Datum<'_>],
    ) -> Result<(), SqlError> {
        let table = context.tables.table(self.target.table);
        // None: an earlier target was the same row.
        let read = context.client.read_latest(table, row.key, None, &mut self.old)?;
        let Some(stamp) = read else { return Ok(()) };
        let joined = matches!(self.plan.found, Found::Joined).then_some(row);
        let outcome = self.change((row.key, stamp), joined, context, params)?;
        if outcome == RowOutcome::Same {
            self.note_same(context);
        }
        if outcome == RowOutcome::Outdated {
            let text = "a locked row was changed by another transaction";
            return Err(SqlError::Storage(base::Error::Internal(text)));
        }
        Ok(())
    }

    /// Changes the row with this primary key, if it is there and passes the condition.
    fn named(
        &mut self,
        key: &[u8],
        context: &mut Context<'_>,
        params: &[Datum<'_>],
    ) -> Result<(), SqlError> {
        loop {
            check_killed()?;
            let table = context.tables.table(self.target.table);
            let timer = context.tables.timer(self.target.table);
            let read = context.client.read_latest(table, key, None, &mut self.old)?;
            if let Some(timer) = timer {
                timer.end(RowOperation::Fetch, Some(0), 1);
            }
            let before = (self.matched, self.changed);
            let what = match read {
                None => RowOutcome::Other,
                Some(stamp) if self.passes(context, params)? => {
                    context.client.note_named(context.tables.table(self.target.table), key);
                    let outcome = self.change((key, stamp), None, context, params)?;
                    if outcome == RowOutcome::Changed {
                        let table = context.tables.table(self.target.table);
                        context.client.count_named(table, key, stamp);
                    }
                    outcome
                }
                Some(_) => RowOutcome::Other,
            };
            let same = match what {
                RowOutcome::Changed => true,
                RowOutcome::Outdated => false,
                RowOutcome::Same => {
                    let same = self.is_locked(key, read, context)?;
                    if same {
                        self.note_same(context);
                    }
                    same
                }
                RowOutcome::Other => {
                    !context.client.locks_gaps() || self.is_locked(key, read, context)?
                }
            };
            if same {
                return Ok(());
            }
            (self.matched, self.changed) = before;
        }
    }

    /// A row was set to what it was.
    fn note_same(&self, context: &Context<'_>) {
        if !self.plan.reads_assigned {
            context.client.note_same();
        }
    }

    /// What the columns of its row are called.
    fn names<'d>(&self, def: &'d TableDef) -> TableNames<'d>
    where
        'p: 'd,
    {
        TableNames { def, alias: &self.plan.query.query.leaves[usize::from(self.target.leaf)].name }
    }

    fn passes(&self, context: &mut Context<'_>, params: &[Datum<'_>]) -> Result<bool, SqlError> {
        let Found::Alone(Some(filter)) = &self.plan.found else { return Ok(true) };
        let layout = context.tables.table(self.target.table).layout();
        let names = self.names(context.tables.def(self.target.table));
        let row = Row { names: Some(&names), ..Row::one(layout, &self.old, params) };
        holds(filter, &row, context.env)
    }

    /// Locks a row that stays as it is until the transaction ends; `false`: it is not what was read.
    fn is_locked(
        &mut self,
        key: &[u8],
        read: Option<Stamp>,
        context: &mut Context<'_>,
    ) -> Result<bool, SqlError> {
        let own = context.tables.is_own(self.target.table);
        if own || !context.client.spans_statements() {
            return Ok(true);
        }
        let table = context.tables.table(self.target.table);
        let found =
            context.client.get_locked(table, key, None, RowLock::UPDATE, &mut self.writer.after)?;
        Ok(found == read.is_some() && (!found || self.writer.after == self.old))
    }

    /// Changes a row that was read. `found`: its values were computed when it was found; else they are of the row alone.
    fn change(
        &mut self,
        (key, stamp): (&[u8], Stamp),
        found: Option<&FoundRow<'_>>,
        context: &mut Context<'_>,
        params: &[Datum<'_>],
    ) -> Result<RowOutcome, SqlError> {
        self.matched += 1;
        let done = if self.plan.delete {
            self.delete(key, stamp, context)
        } else {
            let assigned = match found {
                Some(found) => self.take_computed(found),
                None => self.evaluate(context, params),
            };
            assigned.and_then(|()| self.update((key, stamp), context))
        };
        Ok(forgive(self.plan.ignore, done, context.env)?.unwrap_or(RowOutcome::Same))
    }

    /// Takes the values that were computed when the row was found.
    fn take_computed(&mut self, found: &FoundRow<'_>) -> Result<(), SqlError> {
        self.assigned.clear();
        for (n, (column, _)) in self.target.assignments.iter().enumerate() {
            let value = self.found_layout.decode(found.assigned, n).map_err(expr::damaged)?;
            self.assigned.push((*column, OwnedDatum::of(&value)));
        }
        Ok(())
    }

    fn delete(
        &mut self,
        key: &[u8],
        stamp: Stamp,
        context: &mut Context<'_>,
    ) -> Result<RowOutcome, SqlError> {
        let then = self.then(context)?;
        count(Counter::HandlerDelete, 1);
        let version = Version::Read(stamp, then);
        if !self.writer.delete((key, &self.old), version, context)? {
            return Ok(RowOutcome::Outdated);
        }
        self.changed += 1;
        Ok(RowOutcome::Changed)
    }

    /// What comes after the change that is about to be made. All that may still fail is asked before: a change
    /// that is its transaction's commit is not undone.
    fn then(&self, context: &mut Context<'_>) -> Result<Then, SqlError> {
        let last = self.only
            && !self.plan.ignore
            && !self.writer.has_foreign_keys()
            && !context.client.spans_statements();
        if !last {
            return Ok(Then::More);
        }
        context.env.strict_failure().map_or(Ok(Then::Commit), Err)
    }

    /// Computes the values of the row. MySQL evaluates assignments from left to right, each seeing the ones before it.
    fn evaluate(
        &mut self,
        context: &mut Context<'_>,
        params: &[Datum<'_>],
    ) -> Result<(), SqlError> {
        let (def, table) =
            (context.tables.def(self.target.table), context.tables.table(self.target.table));
        let layout = table.layout();
        let (names, count) = (self.names(def), self.target.assignments.len());
        self.assigned.clear();
        for (column, value) in &self.target.assignments {
            let named = &def.columns[*column];
            let value = match value {
                InsertValue::Expr(Typed { expr, ty, .. }) => {
                    let changed = self.plan.immediate && !self.assigned.is_empty();
                    let seen = if changed { &self.writer.after } else { &self.old };
                    let row = Row { names: Some(&names), ..Row::one(layout, seen, params) };
                    let value = eval(expr, &row, context.env)?;
                    convert((&value.get(), Some(ty)), &def.name, named, self.matched, context.env)?
                }
                InsertValue::Default => default_of(named, context.env)?,
            };
            self.assigned.push((*column, value));
            if self.plan.immediate && self.assigned.len() < count {
                encode_with(layout, &self.old, &self.assigned, &mut self.writer.after)?;
            }
        }
        Ok(())
    }

    /// Puts the assigned values in the place of those of the row that was read.
    fn update(
        &mut self,
        (key, stamp): (&[u8], Stamp),
        context: &mut Context<'_>,
    ) -> Result<RowOutcome, SqlError> {
        if self.omitted.is_empty() {
            let layout = context.tables.table(self.target.table).layout();
            encode_with(layout, &self.old, &self.assigned, &mut self.writer.after)?;
            if self.writer.after == self.old {
                return Ok(RowOutcome::Same);
            }
        }
        if self.is_completed {
            self.complete(context)?;
        }
        self.writer.check_view(context)?;
        count(Counter::HandlerUpdate, 1);
        if self.writer.after == self.old {
            return Ok(RowOutcome::Same);
        }
        let then = self.then(context)?;
        let version = Version::Read(stamp, then);
        match self.writer.update((key, &self.old), version, context) {
            Ok(true) => {}
            Ok(false) => return Ok(RowOutcome::Outdated),
            Err(error) => {
                let layout = context.tables.table(self.target.table).layout();
                decode(layout, &self.writer.after, &mut self.values)?;
                return Err(explain_duplicate(error, context, self.target.table, &self.values));
            }
        }
        note_autoinc(context, self.target, &self.writer.after)?;
        self.changed += 1;
        Ok(RowOutcome::Changed)
    }

    /// Puts what follows from the assigned values into the new row, too: times of the change, generated columns,
    /// default expressions.
    fn complete(&mut self, context: &mut Context<'_>) -> Result<(), SqlError> {
        let layout = context.tables.table(self.target.table).layout();
        decode(layout, &self.old, &mut self.values)?;
        for (column, value) in &self.assigned {
            self.values[*column].clone_from(value);
        }
        let assignments = &self.target.assignments;
        let given = (&self.omitted[..], self.matched);
        self.writer.complete_update(assignments, given, &mut self.values, context)
    }
}

fn outcome(plan: &ChangePlan, targets: &[Target<'_>], context: &Context<'_>) -> Outcome {
    let changed = targets.iter().map(|t| t.changed).sum();
    // Of several tables it is a query whose rows nobody sees.
    let of_several = plan.several.then_some(0);
    if plan.delete {
        instrument::count(Counter::InnodbRowsDeleted, changed);
        return Outcome { affected_rows: changed, found_rows: of_several, ..Outcome::default() };
    }
    instrument::count(Counter::InnodbRowsUpdated, changed);
    let matched = targets.iter().map(|t| t.matched).sum();
    let affected_rows = if context.env.count_matched_rows() { matched } else { changed };
    let warnings = context.env.warning_count();
    let info = format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}");
    let found_rows = of_several.or(Some(matched));
    Outcome { affected_rows, row_id: Some(0), info, found_rows, ..Outcome::default() }
}

/// A row whose AUTO_INCREMENT column was raised raises the counter (MySQL 8); one that was refused does not.
fn note_autoinc(
    context: &mut Context<'_>,
    target: &ChangeTarget,
    row: &[u8],
) -> Result<(), SqlError> {
    let Some(column) = context.tables.def(target.table).autoinc_column() else { return Ok(()) };
    if target.assignments.iter().all(|(c, _)| *c != column) {
        return Ok(());
    }
    let table = context.tables.table(target.table);
    if let Some(value) = table.layout().decode(row, column).map_err(expr::damaged)?.as_u64() {
        context.client.note_autoinc(table, value)?;
    }
    Ok(())
}
