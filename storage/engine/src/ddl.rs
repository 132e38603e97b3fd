//! Tables and indexes that come and go, atomically with the transaction that writes the dictionary.
//!
//! 1. What is made is named in the transaction's undo before it can be used: rollback, and a crash
//!    before the commit, remove it again. Guard: `a_loser_that_made_a_table_takes_its_file_away_and_others_keep_theirs`;
//!    the definitions in `campaign`.
//! 2. A file goes away only after the transaction that dropped its table is durable. A crash in
//!    between, or right after a file was made, leaves an orphan: recovery removes files that the
//!    dictionary does not name. Guard: as 1.
//! 3. Background rollback and purge of a dropped table are stopped, not waited for: what they would
//!    restore is gone. While a step of one of them runs, the drop waits. So does the freeing of a dropped
//!    index (`registry`). Guard: `a_table_with_a_loser_can_be_dropped_before_and_while_it_is_undone`.

use crate::build::Building;
use crate::engine::Engine;
use crate::rollback::index_body;
use crate::row::RowHeader;
use crate::table::{Secondary, Table};
use crate::version::check_killed;
use crate::writer::{Buffers, NeededLock, Writer};
use crate::{Client, IndexSpec, TableSpec, TableStorage};
use base::{Error, IndexId, PageNo, Result, SpaceId, TableId};
use btree::Tree;
use lock::Shape;
use pool::{Mtr, Pool, Tablespace};
use std::ops::Bound;
use std::sync::Arc;
use sync::{Stage, WorkerSlot};
use trx::{IdKind, NewRecord, RecordKind, record_bytes};

instrument::classes! {
    static BUILD_INDEX: StageClass = "stage/innodb/alter table (read PK and internal sort)";
}

/// The build of an index looks for KILL, and tells how far it is, whenever it has done so many rows.
const ROWS_UNTIL_LOOK: u64 = 1024;

impl Engine {
    /// Makes a tablespace with the empty indexes of `spec`, as part of the client's transaction: if
    /// that does not commit, the file goes away. The caller writes the dictionary rows and commits.
    pub fn create_table(&self, client: &mut Client, spec: &TableSpec) -> Result<Arc<Table>> {
        let (_, worker, segment) = client.parts()?;
        let id = self.trx().ids.take(IdKind::Space, self.pool(), worker)?;
        let id = SpaceId(u32::try_from(id).map_err(|_| Error::Internal("no tablespace id left"))?);
        let body = id.0.to_le_bytes();
        segment.reserve(self.pool(), worker, self.trx().undo(), record_bytes(0, body.len()))?;
        let mut mtr = Mtr::new(self.pool(), worker);
        let undo = segment.latch(&mut mtr, self.trx().undo())?;
        let kind = RecordKind::CreateSpace;
        let new = NewRecord { kind, purge: false, table: spec.id, key: &[], body: &body };
        segment.append(&mut mtr, undo, new)?;
        mtr.commit()?;
        let ts = self.create_space(id)?;
        let roots = create_indexes(self.pool(), worker, &ts, spec)?;
        let maker = client.me();
        self.note_makers(maker, roots.iter().map(|(index, _)| *index));
        let storage = TableStorage { space: id, roots };
        let table = Table::new(spec, &storage, &ts, &self.counters.of(ts.id(), 1), &self.makers())?;
        self.registry.opened(&table);
        Ok(table)
    }

    /// Removes the tablespace of a table whose dictionary rows are gone by a committed transaction.
    /// Nobody uses the table any more (its metadata lock is exclusive).
    pub fn drop_table_storage(&self, space: SpaceId) -> Result<()> {
        self.log().flush_to(self.log().tail())?;
        self.stop_and_drop_space(space)
    }

    /// Builds a secondary index over the rows of `table`, which is locked against writers (SNW), as part of
    /// the client's transaction: if that does not commit, its pages are freed. The caller writes
    /// the dictionary row with the root page and commits; then opens the table anew.
    ///
    /// `rows_estimated`: how many rows there are, as far as one knows.
    ///
    /// Errors: [`base::Error::Duplicate`], [`base::Error::Killed`], those of waiting for a loser's rows; the caller then
    /// rolls back.
    pub fn create_index(
        &self,
        client: &mut Client,
        table: &Table,
        (index, rows_estimated): (&IndexSpec, u64),
    ) -> Result<PageNo> {
        let stage = Stage::begin(&BUILD_INDEX, rows_estimated);
        let root = self.start_index(client, table, index)?;
        self.note_makers(client.me(), std::iter::once(index.id));
        let secondary = Secondary::new(index, &table.ts, root);
        let (mut building, mut b) = (Building::new(&secondary), Buffers::default());
        let mut writer = client.writer()?;
        let mut rows = table.clustered.range(Bound::Unbounded, Bound::Unbounded);
        // Only they write under our lock. Once one has ended it touches this table no more, so
        // it need not know the new index.
        let losers = self.losers();
        let mut settled = Vec::new();
        let mut done: u64 = 0;
        while let Some((key, mut payload)) = rows.next()? {
            if done.is_multiple_of(ROWS_UNTIL_LOOK) {
                stage.has_done(done);
                check_killed()?;
            }
            done += 1;
            // It may have ended since the scan copied the row.
            if losers.contains(&RowHeader::read(payload)?.trx) {
                if !writer.settled_row(table, key, &mut settled)? {
                    continue;
                }
                payload = &settled;
            }
            if !RowHeader::read(payload)?.deleted() {
                let row = table.row_of(payload)?;
                writer.build_entry(table, &mut building, (key, &row), &mut b)?;
            }
        }
        writer.build_end(&mut building)?;
        Ok(root)
    }

    /// Drops a secondary index as part of the client's transaction: its pages are freed once that has
    /// committed. The caller has written the dictionary rows without it, writes nothing after this but
    /// further drops, and holds the table exclusively; nothing is left to finish ([`Self::is_settled`]).
    pub fn drop_index(&self, client: &mut Client, table: &Table, index: IndexId) -> Result<()> {
        let (_, worker, segment) = client.parts()?;
        let (_, root) = table
            .storage()
            .roots
            .into_iter()
            .find(|(id, _)| *id == index)
            .ok_or(Error::Internal("an index that is dropped has no root page"))?;
        let body = index_body(table.ts.id(), root, index);
        segment.reserve(self.pool(), worker, self.trx().undo(), record_bytes(0, body.len()))?;
        let mut mtr = Mtr::new(self.pool(), worker);
        let undo = segment.latch(&mut mtr, self.trx().undo())?;
        let kind = RecordKind::DropIndex;
        let new = NewRecord { kind, purge: false, table: table.id(), key: &[], body: &body };
        segment.append(&mut mtr, undo, new)?;
        mtr.commit()?;
        Ok(())
    }

    /// Columns of a table come or go as part of the client's transaction, which writes the new definition; the rows stay as
    /// they are. As in InnoDB, views of before cannot read the table any more. The caller holds it exclusively, and opens
    /// it anew by [`Self::open_relaid`] after the commit.
    pub fn relay(&self, client: &Client, table: &Table) {
        self.note_makers(client.me(), table.storage().roots.into_iter().map(|(index, _)| index));
    }

    /// Whether no transaction is left to be rolled back or purged in the background: nobody else touches a
    /// table that is locked exclusively.
    pub fn is_settled(&self) -> bool {
        self.all_finished()
    }

    fn start_index(&self, client: &mut Client, table: &Table, index: &IndexSpec) -> Result<PageNo> {
        let (_, worker, segment) = client.parts()?;
        let undo = self.trx().undo();
        let bytes = record_bytes(0, index_body(table.ts.id(), PageNo(0), index.id).len());
        segment.reserve(self.pool(), worker, undo, bytes)?;
        let mut mtr = Mtr::new(self.pool(), worker);
        let latched = segment.latch(&mut mtr, undo)?;
        let root = Tree::create(&mut mtr, &table.ts, index.id)?;
        let body = index_body(table.ts.id(), root, index.id);
        let kind = RecordKind::CreateIndex;
        let new = NewRecord { kind, purge: false, table: table.id(), key: &[], body: &body };
        segment.append(&mut mtr, latched, new)?;
        mtr.commit()?;
        Ok(root)
    }
}

impl Writer<'_> {
    /// Waits for whoever is changing a row, then reads it; `false`: it is gone.
    fn settled_row(&mut self, table: &Table, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        loop {
            if !table.clustered.get(key, payload)? {
                return Ok(false);
            }
            match RowHeader::read(payload)?.trx {
                trx if self.is_busy(trx) => {
                    let record = (table.clustered.index, key);
                    self.wait_for(&NeededLock::record(record.0, record.1, Shape::WRITE, trx))?;
                }
                _ => return Ok(true),
            }
        }
    }
}

/// Makes the empty indexes of a table; their roots, the clustered one first.
pub(crate) fn create_indexes(
    pool: &Arc<Pool>,
    worker: &WorkerSlot,
    ts: &Arc<Tablespace>,
    spec: &TableSpec,
) -> Result<Vec<(IndexId, PageNo)>> {
    let ids = std::iter::once(spec.clustered_id).chain(spec.secondaries.iter().map(|s| s.id));
    let make = |id| {
        let mut mtr = Mtr::new(pool, worker);
        let root = Tree::create(&mut mtr, ts, id)?;
        mtr.commit()?;
        Ok((id, root))
    };
    ids.map(make).collect()
}

/// Table ids of the dictionary's own tables.
pub(crate) fn system_table_id(i: usize) -> TableId {
    TableId(i as u64 + 1)
}
