//! How a row is written: the stages that every statement's rows go through, from values to foreign keys.
//!
//! Reading order: this file, [`convert`], [`compute`], [`encode`], [`fill`] (tables that DDL makes), [`duplicate`], [`error`].
//!
//! | | stage | where |
//! |---|---|---|
//! | 1 | a given value becomes one of its column's type, a missing one the default | [`convert`], called by the statement |
//! | 2 | default expressions, generated columns, CHECK | [`RowShape::complete`] |
//! | 3 | the row is encoded; a view's check option | [`RowShape::finish`] with 2, [`RowWriter::encode`]; [`RowWriter::check_view`] |
//! | 4 | the engine's change, from one row image to the other | [`RowChange::make`] |
//! | 5 | foreign keys: parents are there, children follow (each from 2 on) or refuse | [`ForeignKeys::changed`] |
//!
//! 1. INSERT, REPLACE, ON DUPLICATE KEY UPDATE, LOAD DATA, UPDATE, DELETE, actions of foreign keys, and DDL that fills a table
//!    (2 to 4) change rows in no other way. 2. When stage 5 fails, stage 4 is undone with what it pulled along.
//! 3. Stages count nothing: `Handler_write` and its kin are the statement's, an action of a foreign key has none.
//!
//! Not there yet, and where it will stand: triggers BEFORE between 1 and 2 (they set values), triggers AFTER behind 5, neither for
//! actions of foreign keys; the choice of a partition at the beginning of 4, by the encoded row; row images for a binary log and
//! the change log of an online ALTER at the end of 4, where every change passes with both images.

pub mod compute;
pub mod convert;
pub mod duplicate;
pub mod encode;
pub mod error;
pub mod fill;

use crate::foreign::ForeignKeys;
use crate::{Context, SqlError};
use catalog::{TableCache, TableDef, TableRef};
use compute::RowShape;
use convert::now;
use encode::{check_row, encode};
use engine::{Change, Client, Stamp, Table, Then};
use expr::OwnedDatum;
use instrument::RowOperation;
use planner::definition::CompiledDefinition;
use planner::plan::{InsertValue, RowCheck};

/// A change of one row, with the row's images before and after it.
#[derive(Clone, Copy)]
pub enum RowChange<'r> {
    /// A new row.
    Insert {
        /// The row.
        after: &'r [u8],
        /// A row in the way is going to be changed: it is locked for that.
        resolves: bool,
        /// What comes after it; nothing special where it resolves.
        then: Then,
    },
    /// Other values, perhaps another key.
    Update {
        /// Clustered key.
        key: &'r [u8],
        /// The row as it was.
        before: &'r [u8],
        /// The row as it will be.
        after: &'r [u8],
        /// Which version is changed.
        version: Version,
    },
    /// The row goes.
    Delete {
        /// Clustered key.
        key: &'r [u8],
        /// The row as it was.
        before: &'r [u8],
        /// Which version is deleted.
        version: Version,
    },
}

/// Which version of a row is changed.
#[derive(Clone, Copy)]
pub enum Version {
    /// That which there is: it is locked.
    Locked,
    /// The same of a row that was in the way of a new one: another row in the way is locked like it.
    Conflicting,
    /// That which was read without a lock, or none; and what comes after the change.
    Read(Stamp, Then),
}

impl<'r> RowChange<'r> {
    /// The row before the change; `None`: there was none.
    pub fn before(&self) -> Option<&'r [u8]> {
        match *self {
            RowChange::Insert { .. } => None,
            RowChange::Update { before, .. } | RowChange::Delete { before, .. } => Some(before),
        }
    }

    /// The row after the change; `None`: there is none.
    pub fn after(&self) -> Option<&'r [u8]> {
        match *self {
            RowChange::Insert { after, .. } | RowChange::Update { after, .. } => Some(after),
            RowChange::Delete { .. } => None,
        }
    }

    /// As [`RowChange::make`], counted as what is done to the table.
    ///
    /// # Errors
    /// As [`RowChange::make`].
    pub fn make_timed(
        &self,
        table: TableRef,
        client: &mut Client,
        tables: &TableCache,
    ) -> Result<bool, base::Error> {
        let timer = tables.timer(table);
        let made = self.make(client, tables.table(table));
        // Also what fails was asked of the table.
        if let Some(timer) = timer.filter(|_| !matches!(made, Ok(false))) {
            match self {
                RowChange::Insert { .. } => timer.end(RowOperation::Insert, None, 1),
                RowChange::Update { .. } => timer.end(RowOperation::Update, Some(0), 1),
                RowChange::Delete { .. } => timer.end(RowOperation::Delete, Some(0), 1),
            }
        }
        made
    }

    /// Stage 4; `false`: the version that it is about is not there, and nothing was done.
    ///
    /// # Errors
    /// A duplicate key, lock and storage errors.
    pub fn make(&self, client: &mut Client, table: &Table) -> Result<bool, base::Error> {
        Ok(match *self {
            RowChange::Insert { after, resolves, then } => {
                match resolves {
                    true => client.insert_or(table, after)?,
                    false => client.insert_then(table, after, then)?,
                }
                true
            }
            RowChange::Update { key, after, version, .. } => match version {
                Version::Locked => client.update(table, key, after)?,
                Version::Conflicting => client.update_met(table, key, after)?,
                Version::Read(stamp, then) => {
                    client.update_stamped(table, key, stamp, (after, then))? == Change::Done
                }
            },
            RowChange::Delete { key, version, .. } => match version {
                Version::Locked | Version::Conflicting => client.delete(table, key)?,
                Version::Read(stamp, then) => {
                    client.delete_stamped(table, key, stamp, then)? == Change::Done
                }
            },
        })
    }
}

/// Columns with ON UPDATE CURRENT_TIMESTAMP that a statement does not name, with their digits.
fn update_times<'d>(
    def: &'d TableDef,
    assigned: &'d [(usize, InsertValue)],
) -> impl Iterator<Item = (usize, u8)> + 'd {
    let named = |position| assigned.iter().any(|(named, _)| *named == position);
    let columns = def.columns.iter().enumerate();
    columns.filter_map(move |(at, column)| column.on_update.filter(|_| !named(at)).map(|d| (at, d)))
}

/// Writes the rows of one table for one statement.
pub struct RowWriter<'p> {
    table: TableRef,
    view_check: Option<&'p RowCheck>,
    foreign: Option<ForeignKeys>,
    /// The row as it will be, encoded by [`RowWriter::encode`] or by the statement itself.
    pub after: Vec<u8>,
}

impl<'p> RowWriter<'p> {
    /// Of a table that is open for writing; `view_check`: the check option of the view that the statement names.
    ///
    /// # Errors
    /// None but those of `foreign_key_checks`.
    pub fn new(
        table: TableRef,
        view_check: Option<&'p RowCheck>,
        context: &Context<'_>,
    ) -> Result<RowWriter<'p>, SqlError> {
        let foreign = ForeignKeys::of(table, context)?;
        Ok(RowWriter { table, view_check, foreign, after: Vec::new() })
    }

    /// Changes of its rows concern other tables.
    pub fn has_foreign_keys(&self) -> bool {
        self.foreign.is_some()
    }

    /// Stage 2: see [`RowShape::complete`]. [`RowWriter::after`] is overwritten.
    ///
    /// # Errors
    /// 3819, and those of evaluation and conversion.
    pub fn complete(
        &mut self,
        given: (&[usize], u64),
        values: &mut [OwnedDatum],
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        let shape = RowShape::of(context.tables, self.table)?;
        shape.complete(given, values, &mut self.after, context.env)
    }

    /// Whether an update that assigns to these columns has more to do than to store their values.
    ///
    /// # Errors
    /// Those of compiling the definition.
    pub fn completes(
        &self,
        assigned: &[(usize, InsertValue)],
        context: &Context<'_>,
    ) -> Result<bool, SqlError> {
        let timed = update_times(context.tables.def(self.table), assigned).next().is_some();
        Ok(timed || !CompiledDefinition::of(context.tables, self.table)?.is_empty())
    }

    /// Stages 2 and 3 of an update: columns that tell the time of the change and are not assigned are set first.
    ///
    /// # Errors
    /// As [`RowWriter::complete`].
    pub fn complete_update(
        &mut self,
        assigned: &[(usize, InsertValue)],
        given: (&[usize], u64),
        values: &mut [OwnedDatum],
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        let def = context.tables.def(self.table);
        for (position, digits) in update_times(def, assigned) {
            values[position] = now(&def.columns[position].ty, digits, context.env);
        }
        let shape = RowShape::of(context.tables, self.table)?;
        shape.finish(given, values, &mut self.after, context.env)
    }

    /// The first half of stage 3: the row is in [`RowWriter::after`].
    ///
    /// # Errors
    /// The row is too long.
    pub fn encode(&mut self, values: &[OwnedDatum], context: &Context<'_>) -> Result<(), SqlError> {
        encode(context.tables.table(self.table).layout(), values, &mut self.after)
    }

    /// The second half of stage 3.
    ///
    /// # Errors
    /// 1369, those of evaluation.
    pub fn check_view(&self, context: &mut Context<'_>) -> Result<(), SqlError> {
        let layout = context.tables.table(self.table).layout();
        check_row(self.view_check, layout, &self.after, context.env)
    }

    /// Inserts the encoded row; `resolves` and `then`: see [`RowChange::Insert`].
    ///
    /// # Errors
    /// Those of stages 4 and 5: a duplicate key comes as the engine's.
    pub fn insert(
        &mut self,
        resolves: bool,
        then: Then,
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        let after = std::mem::take(&mut self.after);
        let done = self.write(&RowChange::Insert { after: &after, resolves, then }, context);
        self.after = after;
        done.map(|_inserted| ())
    }

    /// Replaces the row with this key by the encoded one; `false`: it is another version by now.
    ///
    /// # Errors
    /// As [`RowWriter::insert`].
    pub fn update(
        &mut self,
        (key, before): (&[u8], &[u8]),
        version: Version,
        context: &mut Context<'_>,
    ) -> Result<bool, SqlError> {
        let after = std::mem::take(&mut self.after);
        let change = RowChange::Update { key, before, after: &after, version };
        let done = self.write(&change, context);
        self.after = after;
        done
    }

    /// Deletes the row with this key; `false`: it is another version by now, or gone.
    ///
    /// # Errors
    /// Those of stages 4 and 5.
    pub fn delete(
        &mut self,
        (key, before): (&[u8], &[u8]),
        version: Version,
        context: &mut Context<'_>,
    ) -> Result<bool, SqlError> {
        self.write(&RowChange::Delete { key, before, version }, context)
    }

    /// Stages 4 and 5.
    fn write(
        &mut self,
        change: &RowChange<'_>,
        context: &mut Context<'_>,
    ) -> Result<bool, SqlError> {
        let mark = context.client.mark();
        let made = change.make_timed(self.table, context.client, context.tables)?;
        if made && let Some(foreign) = &mut self.foreign {
            let done = foreign.changed(self.table, change, context);
            if done.is_err() {
                context.client.rollback_to(mark)?;
            }
            done?;
        }
        Ok(made)
    }
}
