//! Changes of rows and counters by a client, each a statement's part: see [`Client::write`].

use super::{Client, Then};
use crate::autoinc::Steps;
use crate::locking::{LockMode, Stamp};
use crate::table::Table;
use base::{Error, Result};
use instrument::Counter;
use trx::IdKind;

impl Client {
    /// Inserts a row (in [`value::RowLayout`] form). On an error the row is not there in any index.
    ///
    /// Errors: [`base::Error::Duplicate`], the waits' errors, [`base::Error::RowTooLarge`].
    pub fn insert(&mut self, table: &Table, row: &[u8]) -> Result<()> {
        self.insert_then(table, row, Then::More)
    }

    /// As [`Self::insert`], and says what comes after it.
    pub fn insert_then(&mut self, table: &Table, row: &[u8], then: Then) -> Result<()> {
        let mut key = std::mem::take(&mut self.buffers.key);
        let result = self.insert_with(table, (row, then), &mut key, LockMode::Shared);
        self.buffers.key = key;
        result
    }

    /// As [`Self::insert`], locking a duplicate exclusively before it is reported: somebody is going to
    /// change it.
    pub fn insert_or(&mut self, table: &Table, row: &[u8]) -> Result<()> {
        let mut key = std::mem::take(&mut self.buffers.key);
        let result = self.insert_with(table, (row, Then::More), &mut key, LockMode::Exclusive);
        self.buffers.key = key;
        result
    }

    fn insert_with(
        &mut self,
        table: &Table,
        (row, then): (&[u8], Then),
        key: &mut Vec<u8>,
        duplicate: LockMode,
    ) -> Result<()> {
        if !table.clustered_key_of(row, key)? {
            let worker = self.worker.of(&self.engine)?;
            let id = self.engine.trx().ids.take(IdKind::Row, self.engine.pool(), worker)?;
            key.extend_from_slice(&id.to_be_bytes()[2..]);
        }
        self.write(table, then, |w, b| {
            if let Some(locker) = &mut w.locker {
                locker.duplicate = duplicate;
            }
            w.insert(table, key, row, b)
        })?;
        instrument::count(Counter::InnodbRowsInserted, 1);
        Ok(())
    }

    /// Gives the row with clustered key `old_key` other contents, perhaps another key. `false`:
    /// there is no such row. Errors as [`Self::insert`]; then the row is as it was.
    pub fn update(&mut self, table: &Table, old_key: &[u8], new_row: &[u8]) -> Result<bool> {
        self.update_with((table, old_key, None), new_row, Then::More, LockMode::Shared)
    }

    /// As [`Self::update`], of a row that was in the way of a new one: what is looked at as a possible duplicate is
    /// locked as [`Self::insert_or`] locks it.
    pub fn update_met(&mut self, table: &Table, old_key: &[u8], new_row: &[u8]) -> Result<bool> {
        self.update_with((table, old_key, None), new_row, Then::More, LockMode::Exclusive)
    }

    /// As [`Self::update`], of the version with this stamp only.
    pub(crate) fn update_if(
        &mut self,
        row: (&Table, &[u8], Option<Stamp>),
        new_row: &[u8],
        then: Then,
    ) -> Result<bool> {
        self.update_with(row, new_row, then, LockMode::Shared)
    }

    fn update_with(
        &mut self,
        (table, old_key, expects): (&Table, &[u8], Option<Stamp>),
        new_row: &[u8],
        then: Then,
        duplicate: LockMode,
    ) -> Result<bool> {
        let mut key = std::mem::take(&mut self.buffers.key);
        let hidden = match table.clustered_key_of(new_row, &mut key) {
            Ok(known) => !known,
            Err(e) => return Err(e),
        };
        let result = self.write(table, then, |w, b| {
            w.expects = expects;
            if let Some(locker) = &mut w.locker {
                locker.duplicate = duplicate;
            }
            if hidden || key == old_key {
                return w.update(table, old_key, new_row, b);
            }
            w.rekey(table, (old_key, &key), new_row, b)
        });
        self.buffers.key = key;
        if matches!(result, Ok(true)) {
            instrument::count(Counter::InnodbRowsUpdated, 1);
        }
        result
    }

    /// Deletes a row. `false`: there is no such row. Errors: the waits' errors.
    pub fn delete(&mut self, table: &Table, key: &[u8]) -> Result<bool> {
        self.delete_if((table, key, None), Then::More)
    }

    /// As [`Self::delete`], of the version with this stamp only.
    pub(crate) fn delete_if(
        &mut self,
        (table, key, expects): (&Table, &[u8], Option<Stamp>),
        then: Then,
    ) -> Result<bool> {
        let found = self.write(table, then, |w, b| {
            w.expects = expects;
            w.delete(table, key, b)
        })?;
        if found {
            instrument::count(Counter::InnodbRowsDeleted, 1);
        }
        Ok(found)
    }

    /// Takes `n` consecutive AUTO_INCREMENT values of those that `steps` allows, the first of which is
    /// returned; they are never given again, also not after a crash or a rollback, but for the column's
    /// largest value: where fewer are left, what follows the first goes beyond it.
    ///
    /// Errors: [`base::Error::AutoincExhausted`] when there is none left.
    pub fn reserve_autoinc(&mut self, table: &Table, n: u64, steps: Steps) -> Result<u64> {
        self.engine.admit_changes(table)?;
        let autoinc = table.autoinc.as_ref().ok_or(Error::Internal("no AUTO_INCREMENT column"))?;
        autoinc.reserve(&self.engine, self.worker.of(&self.engine)?, &table.ts, (n, steps))
    }

    /// Notes that `value` is in a row: the counter goes on above it. Call before the commit.
    pub fn note_autoinc(&mut self, table: &Table, value: u64) -> Result<()> {
        let autoinc = table.autoinc.as_ref().ok_or(Error::Internal("no AUTO_INCREMENT column"))?;
        autoinc.note(&self.engine, self.worker.of(&self.engine)?, &table.ts, value)
    }
}
