//! Where the rows of a foreign key are found: a table and one of its indexes.
//!
//! 1. Rows are read with locks, as they are now: another transaction's change of a row is waited for, never missed.
//! 2. A parent that was found is locked shared, so it cannot go before this transaction ends; where there is none,
//!    or no child, the gap is locked against one that comes (at levels with gap locks). Whoever changes a parent has
//!    it locked: so the children that it sees then are all there are.

use super::{fit, text};
use crate::rows::check_killed;
use crate::{Context, SqlError};
use catalog::{ForeignKeyDef, TableDef, TableRef};
use engine::{Client, Direction, Reader, RowLock, Table};
use expr::OwnedDatum;
use std::ops::Bound;
use value::{ColumnType, Datum, KeySpec};

/// A table and the index that begins with a foreign key's columns.
pub struct Place {
    table: TableRef,
    /// The engine's number of the index.
    index: usize,
    /// The parts that count.
    parts: KeySpec,
}

/// The key of an index whose parts have these values.
fn prefix_of(
    (to, parts): (&[ColumnType], &KeySpec),
    (from, columns): (&[ColumnType], &[usize]),
    values: &[OwnedDatum],
) -> Option<Vec<u8>> {
    let fitting = values
        .iter()
        .zip(columns)
        .zip(&parts.parts)
        .map(|((value, column), part)| fit::sought(value, &from[*column], &to[part.column]));
    let fitting = fitting.collect::<Option<Vec<OwnedDatum>>>()?;
    let values: Vec<Datum<'_>> = fitting.iter().map(OwnedDatum::datum).collect();
    let mut key = Vec::new();
    parts.encode_prefix(to, &values, &mut key).is_ok().then_some(key)
}

/// A range of all keys that begin with `prefix`, whose end is kept in `end`.
fn range<'k>(prefix: &'k [u8], end: &'k mut Vec<u8>) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    end.clear();
    end.extend_from_slice(prefix);
    let high = match value::key::successor(end) {
        true => Bound::Excluded(&end[..]),
        false => Bound::Unbounded,
    };
    (Bound::Included(prefix), high)
}

impl Place {
    /// By these columns of a table; `None`: no index begins with them.
    pub fn of(table: TableRef, def: &TableDef, columns: &[usize]) -> Option<Place> {
        let position = def.unique_over(columns).or_else(|| def.index_of_columns(columns))?;
        let parts = def.indexes[position].parts[..columns.len()].to_vec();
        let index = def.engine_index(position);
        Some(Place { table, index, parts: KeySpec::new(parts) })
    }

    /// The beginning of the index entries that have these values of another table's columns; `None`: there can be
    /// none.
    pub fn prefix(
        &self,
        types: &[ColumnType],
        columns: &[usize],
        values: &[OwnedDatum],
        context: &Context<'_>,
    ) -> Option<Vec<u8>> {
        let own = &context.tables.table(self.table).spec().columns;
        prefix_of((own, &self.parts), (types, columns), values)
    }

    /// Whether a row's entry begins so.
    ///
    /// # Errors
    /// A damaged row.
    pub fn leads_to(
        &self,
        row: &[u8],
        prefix: &[u8],
        context: &Context<'_>,
    ) -> Result<bool, SqlError> {
        let layout = context.tables.table(self.table).layout();
        let mut key = Vec::with_capacity(prefix.len());
        let encoded = self.parts.encode_from_row(layout, row, &mut key);
        Ok(encoded.is_ok() && key == prefix)
    }

    /// Whether a row has such an entry; it is locked then.
    ///
    /// # Errors
    /// Lock and storage errors.
    pub fn lock_any(&self, prefix: &[u8], context: &mut Context<'_>) -> Result<bool, SqlError> {
        let table = context.tables.table(self.table);
        let mut row = Vec::new();
        let whole = table.key(0).is_some_and(|key| key.parts.len() == self.parts.parts.len());
        if self.index == 0 && whole {
            let nothing = Some(&[][..]);
            return Ok(context.client.get_locked(
                table,
                prefix,
                nothing,
                RowLock::SHARE,
                &mut row,
            )?);
        }
        Ok(!self.keys(prefix, (RowLock::SHARE, 1), context)?.is_empty())
    }

    /// Locks a row for a change and puts it into `row`; `false`: its entry does not begin so any more.
    ///
    /// # Errors
    /// Lock and storage errors.
    pub fn lock(
        &self,
        key: &[u8],
        prefix: &[u8],
        row: &mut Vec<u8>,
        context: &mut Context<'_>,
    ) -> Result<bool, SqlError> {
        let table = context.tables.table(self.table);
        let found = context.client.get_locked(table, key, None, RowLock::UPDATE, row)?;
        Ok(found && self.leads_to(row, prefix, context)?)
    }

    /// Clustered keys of the rows whose entries begin so, `most` at most; they are locked.
    ///
    /// # Errors
    /// Lock and storage errors.
    pub fn keys(
        &self,
        prefix: &[u8],
        (lock, most): (RowLock, usize),
        context: &mut Context<'_>,
    ) -> Result<Vec<Vec<u8>>, SqlError> {
        let table = context.tables.table(self.table);
        let (mut reader, mut end, mut row) = (Reader::new(), Vec::new(), Vec::new());
        let mut keys = Vec::new();
        let range = range(prefix, &mut end);
        reader.open(context.client, table, self.index, range, Direction::Forward)?;
        reader.lock(lock);
        reader.need(&[]);
        while keys.len() < most && reader.next(context.client, table, &mut row)? {
            if keys.len() % 64 == 63 {
                check_killed()?;
            }
            keys.push(reader.key().to_vec());
        }
        Ok(keys)
    }
}

/// Checks all rows of a table that DDL is making against the parents of a new foreign key; nobody else can change
/// these tables.
pub struct Verifier<'v> {
    /// The child as it will be, and the foreign key.
    pub child: &'v TableDef,
    /// The key.
    pub key: &'v ForeignKeyDef,
    /// The parent's definition and rows; `None`: the child itself.
    pub parent: Option<(&'v TableDef, &'v Table)>,
    /// What a message calls the child.
    pub shown: &'v str,
}

impl Verifier<'_> {
    /// 1452 if a row has no parent.
    ///
    /// # Errors
    /// 1452, storage errors.
    pub fn run(&self, client: &mut Client, rows: &Table) -> Result<(), SqlError> {
        let (def, parents) = self.parent.unwrap_or((self.child, rows));
        let columns = def.positions(&self.key.parent_columns).ok();
        let index = columns
            .as_ref()
            .and_then(|columns| def.unique_over(columns).or_else(|| def.index_of_columns(columns)));
        let place = index.map(|at| {
            let parts = def.indexes[at].parts[..self.key.columns.len()].to_vec();
            (def.engine_index(at), KeySpec::new(parts))
        });
        let (mut reader, mut finder) = (Reader::new(), Reader::new());
        let (mut row, mut found, mut end) = (Vec::new(), Vec::new(), Vec::new());
        let all = (Bound::Unbounded, Bound::Unbounded);
        reader.open(client, rows, 0, all, Direction::Forward)?;
        reader.need(&self.key.columns);
        let types = &rows.spec().columns;
        let mut looked_at = 0u64;
        while reader.next(client, rows, &mut row)? {
            looked_at += 1;
            if looked_at.is_multiple_of(1024) {
                check_killed()?;
            }
            let Some(values) = super::known(rows.layout(), &row, &self.key.columns)? else {
                continue;
            };
            let has = match &place {
                Some((index, parts)) => {
                    let own = (&parents.spec().columns[..], parts);
                    match prefix_of(own, (types, &self.key.columns), &values) {
                        Some(prefix) => {
                            let range = range(&prefix, &mut end);
                            finder.open(client, parents, *index, range, Direction::Forward)?;
                            finder.need(&[]);
                            finder.next(client, parents, &mut found)?
                        }
                        None => false,
                    }
                }
                None => false,
            };
            if !has {
                return Err(text::no_parent_of(self.child, self.shown, self.key));
            }
        }
        Ok(())
    }
}
