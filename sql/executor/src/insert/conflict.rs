//! The row that is in the way of a new one.

use super::Inserter;
use super::subqueries::{self, leaf};
use crate::write::Version;
use crate::write::convert::{convert, default_of};
use crate::write::duplicate::explain_duplicate;
use crate::write::encode::{decode, encode};
use crate::write::error::RowError;
use crate::{Context, Environment, SqlError};
use base::IndexId;
use catalog::TableRef;
use engine::{Direction, Reader, RowLock};
use expr::{Frame, OwnedDatum, Row, condition};
use instrument::RowOperation;
use instrument::{Counter, count};
use planner::plan::InsertValue;
use std::ops::Bound;
use std::sync::Arc;
use value::RowLayout;

/// Of the rows that the assignments of ON DUPLICATE KEY UPDATE see, the one in the way, as far as they have changed it.
const EXISTING: usize = 0;
/// The row that was to be inserted.
const NEW: usize = 1;
/// The query's row, where they look at it.
pub const SELECTED: usize = 2;

/// A frame for the first two of them.
pub fn frame(layout: &RowLayout) -> Frame {
    let layout = Arc::new(layout.clone());
    Frame { leaves: [EXISTING, NEW].map(|_| leaf(&layout)).into() }
}

/// A row in the way, locked.
pub struct ConflictingRow {
    /// Its clustered key.
    pub key: Vec<u8>,
    /// The row.
    pub row: Vec<u8>,
    /// No unique index comes after the one whose key it has.
    pub last: bool,
}

/// Finds and locks the row that has `key` in `index`; `None` when it is gone.
///
/// # Errors
/// Lock and storage errors.
pub fn find(
    context: &mut Context<'_>,
    table: TableRef,
    index: IndexId,
    key: &[u8],
) -> Result<Option<ConflictingRow>, SqlError> {
    let (of, table) = (table, context.tables.table(table));
    let number = (0..table.indexes()).find(|n| match n {
        0 => false,
        n => table.index_spec(*n).is_some_and(|spec| spec.id == index),
    });
    let later = number.unwrap_or(0) + 1..table.indexes();
    let unique = |n| table.index_spec(n).is_some_and(|spec| spec.unique);
    let last = !later.into_iter().any(unique);
    let mut row = Vec::new();
    let clustered = match number {
        // Not a secondary index: the key is the row's own.
        None => key.to_vec(),
        Some(number) => {
            let mut reader = Reader::new();
            let mut above = key.to_vec();
            let high = match value::key::successor(&mut above) {
                true => Bound::Excluded(&above[..]),
                false => Bound::Unbounded,
            };
            let range = (Bound::Included(key), high);
            reader.open(context.client, table, number, range, Direction::Forward)?;
            reader.lock(RowLock::UPDATE);
            if !reader.next(context.client, table, &mut row)? {
                return Ok(None);
            }
            reader.key().to_vec()
        }
    };
    row.clear();
    let timer = context.tables.timer(of);
    let found = context.client.get_locked(table, &clustered, None, RowLock::UPDATE, &mut row)?;
    if let Some(timer) = timer {
        timer.end(RowOperation::Fetch, number.or(Some(0)), 1);
    }
    Ok(found.then_some(ConflictingRow { key: clustered, row, last }))
}

impl Inserter<'_> {
    /// REPLACE deletes no row that the view does not show.
    pub(super) fn require_visible(
        &self,
        existing: &ConflictingRow,
        layout: &RowLayout,
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        let Some(visible) = self.plan.view.as_ref().and_then(|v| v.visible.as_ref()) else {
            return Ok(());
        };
        match condition(visible, &Row::one(layout, &existing.row, &[]), env)? {
            Some(true) => Ok(()),
            _ => Err(RowError::NotInView.into()),
        }
    }

    /// The row in the way becomes the new one: no other unique key is left to meet, and nobody sees that it is not
    /// deleted but by locks. That the new row's primary key is taken by now is an error here.
    pub(super) fn replace_in_place(
        &mut self,
        context: &mut Context<'_>,
        existing: &ConflictingRow,
        values: &[OwnedDatum],
    ) -> Result<(), SqlError> {
        if existing.row != self.writer.after {
            count(Counter::HandlerUpdate, 1);
            let row = (&existing.key[..], &existing.row[..]);
            let done = self.writer.update(row, Version::Conflicting, context);
            done.map_err(|error| explain_duplicate(error, context, self.plan.table, values))?;
            self.deleted += 1;
        }
        self.inserted += 1;
        self.numbers.inserted(context, values)
    }

    /// Values of the row in the way after the assignments of ON DUPLICATE KEY UPDATE.
    fn assigned(
        &mut self,
        context: &mut Context<'_>,
        existing: &ConflictingRow,
    ) -> Result<Vec<OwnedDatum>, SqlError> {
        let table = self.plan.table;
        let layout = Arc::clone(&self.seen.leaves[EXISTING].layout);
        self.seen.leaves[EXISTING].bytes.clone_from(&existing.row);
        self.seen.leaves[NEW].bytes.clone_from(&self.writer.after);
        let mut values = Vec::new();
        decode(&layout, &existing.row, &mut values)?;
        for (position, value) in &self.plan.on_duplicate {
            let value = match value {
                InsertValue::Default => None,
                InsertValue::Expr(typed) => {
                    let subqueries = self.subqueries.as_mut();
                    let what = (&typed.expr, &mut self.seen);
                    let value =
                        subqueries::assigned(subqueries, what, table, context, self.params)?;
                    Some((value, &typed.ty))
                }
            };
            let def = context.tables.def(table);
            let column = &def.columns[*position];
            values[*position] = match value {
                // It is computed again in any case.
                None if column.generated.is_some() => continue,
                None => default_of(column, context.env)?,
                Some((value, ty)) => {
                    let value = (&value.datum(), Some(ty));
                    convert(value, &def.name, column, self.records, context.env)?
                }
            };
            // The next assignment sees this one.
            encode(&layout, &values, &mut self.seen.leaves[EXISTING].bytes)?;
        }
        Ok(values)
    }

    /// The row in the way after ON DUPLICATE KEY UPDATE.
    pub(super) fn update(
        &mut self,
        context: &mut Context<'_>,
        existing: &ConflictingRow,
    ) -> Result<(), SqlError> {
        self.touched += 1;
        let mut new = self.assigned(context, existing)?;
        self.writer.encode(&new, context)?;
        if self.writer.after == existing.row {
            return Ok(());
        }
        let assignments = &self.plan.on_duplicate;
        if self.writer.completes(assignments, context)? {
            self.writer.complete_update(assignments, (&[], self.records), &mut new, context)?;
        }
        self.writer.check_view(context)?;
        count(Counter::HandlerUpdate, 1);
        let row = (&existing.key[..], &existing.row[..]);
        let done = self.writer.update(row, Version::Conflicting, context);
        done.map_err(|error| explain_duplicate(error, context, self.plan.table, &new))?;
        self.updated += 1;
        if !self.plan.is_select {
            self.numbers.note_last(&new);
        }
        Ok(())
    }
}
