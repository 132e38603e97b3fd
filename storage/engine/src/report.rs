//! What lists of locks and transactions ask of the engine.
//!
//! Nothing here waits, and nothing is promised to be true any more when it is shown.

use crate::blob::Fetched;
use crate::engine::Engine;
use crate::row::RowHeader;
use crate::table::{Table, split_entry};
use base::{IndexId, Result, TableId, TrxId};
use btree::Cursor;
use lock::{Kind, LockInfo, Mode, RunInfo, Shape};
use std::ops::Bound;
use trx::RecordKind;

/// A row that a running transaction has updated or deleted: it has it locked, without a lock.
#[derive(Clone, Debug)]
pub struct ChangedRow {
    /// The transaction's session slot.
    pub slot: usize,
    /// The transaction.
    pub trx: TrxId,
    /// The table.
    pub table: TableId,
    /// Its key in the clustered index.
    pub key: Box<[u8]>,
}

impl ChangedRow {
    /// The lock that it stands for, in the clustered index `index` of its table.
    pub fn lock(self, index: IndexId) -> LockInfo {
        let shape = Shape::new(Mode::Exclusive, Kind::Record);
        let ChangedRow { slot, trx, key, .. } = self;
        LockInfo { slot, trx, index, key: Some(key), shape, waiting: false }
    }
}

impl Engine {
    /// The rows that running transactions of sessions have updated or deleted, some of them twice. Reads all their undo.
    ///
    /// # Errors
    /// Damage, failed reads.
    pub fn changed_rows(&self) -> Result<Vec<ChangedRow>> {
        let mut found = Vec::new();
        self.trx().running_records(&mut |record| {
            // A row that is inserted over a deleted one is an inserted one.
            let changed = matches!(record.kind, RecordKind::Update | RecordKind::Header)
                && RowHeader::read(record.body).is_ok_and(|before| !before.deleted());
            if let (true, Some(slot)) = (changed, self.trx().session(record.trx)) {
                let (trx, table, key) = (record.trx, record.table, record.key.into());
                found.push(ChangedRow { slot, trx, table, key });
            }
        })?;
        Ok(found)
    }

    /// Calls `found` with the lock on each record of an index that is among a run's. `index` as in [`crate::Client::scan`].
    ///
    /// # Errors
    /// Damage, failed reads.
    pub fn locks_of_run(
        &self,
        table: &Table,
        index: usize,
        run: &RunInfo,
        found: &mut dyn FnMut(LockInfo),
    ) -> Result<()> {
        let Some(tree) = table.tree(index) else { return Ok(()) };
        let mut cursor = Cursor::default();
        cursor.open(Bound::Included(run.low()), Bound::Unbounded);
        while let Some((key, _)) = cursor.next(tree)? {
            if key > run.high() {
                break;
            }
            run.lock(key).into_iter().for_each(&mut *found);
        }
        Ok(())
    }

    /// Puts the newest version of the row that an index's entry stands for into `out`; `false`: there is none,
    /// or it has another key by now. `index` as in [`crate::Client::scan`], `key` the whole key.
    ///
    /// # Errors
    /// Damage, failed reads.
    pub fn row_of_entry(
        &self,
        table: &Table,
        index: usize,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some(tree) = table.tree(index) else { return Ok(false) };
        let mut payload = Vec::new();
        if !tree.get(key, &mut payload)? {
            return Ok(false);
        }
        if let Some(number) = index.checked_sub(1) {
            let (parts, row) = split_entry(key, &payload)?;
            let (parts, row) = (parts.to_vec(), row.to_vec());
            if !table.clustered.get(&row, &mut payload)? {
                return Ok(false);
            }
            let mut now = Vec::new();
            let secondary = &table.secondaries[number];
            let made = self.entry_prefix(table, secondary, &table.row_of(&payload)?, &mut now)?;
            if !matches!(made, Fetched::Done) || now != parts {
                return Ok(false);
            }
        }
        table.put_row(&payload, out)?;
        Ok(true)
    }
}
