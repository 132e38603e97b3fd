//! The engine: open, recover, background work, shut down.

use crate::{
    Client, EngineConfig, IndexSpec, RecoveryReport, Settings, Table, TableSpec, TableStorage,
};
use base::{IndexId, Lsn, PageNo, Result, SpaceId, TableId};
use host::Disk;
use std::collections::BTreeSet;
use std::sync::Arc;
use sync::SlotTable;
use sync::waits::WaitsFor;

/// A storage engine over one data folder.
pub struct Engine {}

impl Engine {
    /// Opens the engine on `disk`; creates it when the disk is empty. Otherwise repairs torn pages, redoes
    /// the log and rolls back the losers that touched system tables only; [`Self::finish_recovery`] does
    /// the rest.
    ///
    /// Errors: [`base::Error::Foreign`] for a folder of something else or of a newer format.
    pub fn open(_cfg: EngineConfig, _disk: Arc<dyn Disk>) -> Result<(Arc<Engine>, RecoveryReport)> {
        todo!()
    }

    /// Rolls back the remaining losers, finishes the purge of committed transactions and removes the files
    /// of spaces that no table of the dictionary has. `tables` opens the table of an id, or says that it
    /// was dropped; `live` are the spaces of all tables of the dictionary (the system tables' excepted).
    pub fn finish_recovery(
        &self,
        _tables: &dyn Fn(TableId) -> Option<Arc<Table>>,
        _live: &BTreeSet<SpaceId>,
    ) -> Result<RecoveryReport> {
        todo!()
    }

    /// Starts the cleaner/checkpointer and the log timer as threads. [`Self::shutdown`] ends them.
    pub fn start_background(self: &Arc<Self>) -> Result<()> {
        todo!()
    }

    /// Writes some dirty pages; what the cleaner thread does in a loop. The number of pages written.
    pub fn step_cleaner(&self) -> Result<usize> {
        todo!()
    }

    /// Advances the log's checkpoint as far as the dirty pages allow; its position.
    pub fn checkpoint(&self) -> Result<Lsn> {
        todo!()
    }

    /// Ends the background threads, writes everything and leaves a clean checkpoint. Clients must be gone.
    pub fn shutdown(&self) -> Result<()> {
        todo!()
    }

    /// What to do when the log or a data file cannot be made durable: the daemon ends the process.
    pub fn on_fatal(&self, _hook: Box<dyn Fn(&base::Error) + Send + Sync>) {
        todo!()
    }

    /// The settings that may change at any time.
    pub fn settings(&self) -> &Settings {
        todo!()
    }

    /// Sets `innodb_flush_log_at_trx_commit`: 0, 1 or 2.
    pub fn set_flush_log_at_trx_commit(&self, _mode: u8) {
        todo!()
    }

    /// The slots of all sessions and workers; metadata locks use the same.
    pub fn slots(&self) -> &Arc<SlotTable> {
        todo!()
    }

    /// The waits-for graph of row waits. Its nodes are session slot numbers, as those of metadata locks.
    pub fn waits(&self) -> &Arc<WaitsFor> {
        todo!()
    }

    /// A table id that was never given before.
    pub fn new_table_id(&self) -> Result<TableId> {
        todo!()
    }

    /// An index id that was never given before.
    pub fn new_index_id(&self) -> Result<IndexId> {
        todo!()
    }

    /// Makes a tablespace with the empty indexes of `spec`, as part of the client's transaction: if that does
    /// not commit, the file goes away. The caller writes the dictionary rows and commits.
    pub fn create_table(&self, _client: &mut Client, _spec: &TableSpec) -> Result<Arc<Table>> {
        todo!()
    }

    /// Opens a table that the dictionary describes.
    ///
    /// Errors: [`base::Error::MissingSpace`] when its file is gone.
    pub fn open_table(&self, _spec: &TableSpec, _storage: TableStorage) -> Result<Arc<Table>> {
        todo!()
    }

    /// System table number `i` of the configuration.
    pub fn system_table(&self, _i: usize) -> Arc<Table> {
        todo!()
    }

    /// Removes the tablespace of a table whose dictionary rows are gone by a committed transaction. Nobody
    /// uses the table any more (its metadata lock is exclusive).
    pub fn drop_table_storage(&self, _space: SpaceId) -> Result<()> {
        todo!()
    }

    /// Builds a secondary index over the rows of `table`, which is locked exclusively, as part of the client's
    /// transaction: if that does not commit, its pages are freed. The caller writes the dictionary row with
    /// the root page and commits; then opens the table anew.
    ///
    /// Errors: [`base::Error::Duplicate`].
    pub fn create_index(
        &self,
        _client: &mut Client,
        _table: &Table,
        _index: &IndexSpec,
    ) -> Result<PageNo> {
        todo!()
    }

    /// A new client.
    ///
    /// Errors: [`base::Error::TooManyTransactions`] when all slots are taken.
    pub fn client(self: &Arc<Self>) -> Result<Client> {
        todo!()
    }
}
