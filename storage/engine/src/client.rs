//! One client's view of the engine: its transaction and its buffers.

use crate::{Scan, Table};
use base::{Result, TrxId};
use std::ops::Bound;
use sync::{SessionSlot, WorkerSlot};

/// A place in a transaction's undo to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoMark {}

/// One client of the engine; used by one thread at a time.
pub struct Client {}

impl Client {
    /// Its session slot, where its waits are visible and killable.
    pub fn slot(&self) -> &SessionSlot {
        todo!()
    }

    /// Number of its session slot: its name in the waits-for graph.
    pub fn slot_index(&self) -> usize {
        todo!()
    }

    /// Its worker slot.
    pub fn worker(&self) -> &WorkerSlot {
        todo!()
    }

    /// Sets how long this client waits for another transaction's row, in seconds.
    pub fn set_lock_wait_timeout(&mut self, _seconds: u32) {
        todo!()
    }

    /// Begins a transaction; nothing happens until it writes. In a transaction already: nothing.
    pub fn begin(&mut self) {
        todo!()
    }

    /// Between [`Self::begin`] (or the first write) and the end.
    pub fn in_transaction(&self) -> bool {
        todo!()
    }

    /// The transaction has changed something.
    pub fn has_written(&self) -> bool {
        todo!()
    }

    /// The transaction's id, once it has written.
    pub fn trx_id(&self) -> Option<TrxId> {
        todo!()
    }

    /// Commits; durable on return as `innodb_flush_log_at_trx_commit` says. An error after the commit record
    /// was written is an error of the log, and final.
    pub fn commit(&mut self) -> Result<()> {
        todo!()
    }

    /// Undoes the whole transaction. What cannot be undone now (disk full) is left to the background; the
    /// client is out of the transaction in any case.
    pub fn rollback(&mut self) -> Result<()> {
        todo!()
    }

    /// The present place, to which [`Self::rollback_to`] can go back: the beginning of a statement.
    pub fn mark(&self) -> UndoMark {
        todo!()
    }

    /// Undoes everything since `mark`, which is of the same transaction.
    pub fn rollback_to(&mut self, _mark: UndoMark) -> Result<()> {
        todo!()
    }

    /// Puts the row with clustered key `key` into `out` (cleared first): the latest committed version, or this
    /// transaction's own. `false`: there is none. Warm: nothing shared is written, nothing allocated.
    pub fn get(&mut self, _table: &Table, _key: &[u8], _out: &mut Vec<u8>) -> Result<bool> {
        todo!()
    }

    /// The rows of an index range in order, with the same visibility. `index`: 0 the clustered index, then
    /// the secondaries from 1; the bounds are keys of that index or prefixes of them.
    pub fn scan<'a>(
        &'a mut self,
        _table: &'a Table,
        _index: usize,
        _low: Bound<&[u8]>,
        _high: Bound<&[u8]>,
    ) -> Result<Scan<'a>> {
        todo!()
    }

    /// As [`Self::get`], and from then on nobody else changes the row until this transaction ends. Waits for
    /// another transaction that changed it.
    ///
    /// Errors: [`base::Error::LockWaitTimeout`], [`base::Error::Deadlock`], [`base::Error::Killed`].
    pub fn read_for_update(
        &mut self,
        _table: &Table,
        _key: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<bool> {
        todo!()
    }

    /// Inserts a row (in [`value::RowLayout`] form). On an error the row is not there in any index.
    ///
    /// Errors: [`base::Error::Duplicate`], the waits' errors, [`base::Error::RowTooLarge`].
    pub fn insert(&mut self, _table: &Table, _row: &[u8]) -> Result<()> {
        todo!()
    }

    /// Gives the row with clustered key `old_key` other contents, perhaps another key. `false`: there is no
    /// such row. Errors as [`Self::insert`].
    pub fn update(&mut self, _table: &Table, _old_key: &[u8], _new_row: &[u8]) -> Result<bool> {
        todo!()
    }

    /// Deletes a row. `false`: there is no such row. Errors: the waits' errors.
    pub fn delete(&mut self, _table: &Table, _key: &[u8]) -> Result<bool> {
        todo!()
    }

    /// Takes `n` consecutive AUTO_INCREMENT values, the first of which is returned; they are never given
    /// again, also not after a crash or a rollback.
    ///
    /// Errors: [`base::Error::AutoincExhausted`] when the column's type has no `n` values left.
    pub fn reserve_autoinc(&mut self, _table: &Table, _n: u64) -> Result<u64> {
        todo!()
    }

    /// Notes that `value` was given explicitly: the counter goes on above it. Call before the insert.
    pub fn note_autoinc(&mut self, _table: &Table, _value: u64) -> Result<()> {
        todo!()
    }
}
