//! Opening: a new instance, or recovery of one.
//!
//! 1. A new instance is there when its format file is, which is written last.
//! 2. Recovery in order: torn pages, redo, the transactions' states; then the losers of the system
//!    tables. From there on the dictionary can be read, and with it the rest is done by
//!    `finish_recovery`.
//! 3. Redo of a tablespace that has no file is skipped: it was dropped, since a file is made before
//!    its redo.

use crate::ddl::{create_indexes, system_table_id};
use crate::engine::{Engine, Parts, Unfinished};
use crate::files::{clear_leftovers, has_instance, space_name, space_of_name, write_format};
use crate::rollback::Lookup;
use crate::{EngineConfig, RecoveryReport, Table, TableSpec, TableStorage};
use base::{Error, PageNo, Result, SYSTEM_SPACE, SpaceId, TableId, UNDO_SPACE};
use host::Disk;
use pool::{Pool, PoolConfig, Tablespace};
use redo::{Log, LogConfig, Replay, kind};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use sync::SlotTable;
use sync::waits::WaitsFor;
use trx::{Ids, TrxSystem};

impl Engine {
    /// Opens the engine on `disk`; creates it when the disk is empty. Otherwise repairs torn pages,
    /// redoes the log and rolls back the losers that touched system tables only;
    /// [`Self::finish_recovery`] does the rest.
    ///
    /// Errors: [`base::Error::Foreign`] for a folder of something else or of a newer format.
    pub fn open(cfg: EngineConfig, disk: Arc<dyn Disk>) -> Result<(Arc<Engine>, RecoveryReport)> {
        match has_instance(&*disk)? {
            true => recover(&cfg, disk),
            false => create(&cfg, disk),
        }
    }

    /// Rolls back the remaining losers, finishes the purge of committed transactions and removes
    /// the files of spaces that no table of the dictionary has. `tables` opens the table of an id,
    /// or says that it was dropped; `live` are the spaces of all tables of the dictionary (the
    /// system tables' excepted).
    pub fn finish_recovery(
        &self,
        tables: &dyn Fn(TableId) -> Option<Arc<Table>>,
        live: &BTreeSet<SpaceId>,
    ) -> Result<RecoveryReport> {
        let lookup = |id| match self.lookup_system(id) {
            Lookup::Later => tables(id).map_or(Lookup::Dropped, Lookup::Open),
            found => found,
        };
        let (losers, purged) = self.finish(&lookup)?;
        let mut report = RecoveryReport { losers, purged, ..RecoveryReport::default() };
        let names = self.disk.list().map_err(|e| Error::io("list", "the data folder", e))?;
        for name in names {
            if let Some(id) = space_of_name(&name)
                && !live.contains(&id)
            {
                self.drop_space(id)?;
                report.orphans.push(name);
            }
        }
        Ok(report)
    }

    /// The system table of an id.
    pub(crate) fn lookup_system(&self, id: TableId) -> Lookup {
        let system = self.system.get().map_or(&[][..], Vec::as_slice);
        Self::lookup_in(system, id)
    }
}

fn new_slots(cfg: &EngineConfig) -> Arc<SlotTable> {
    SlotTable::new(cfg.sessions_max, cfg.workers_max)
}

fn log_config(cfg: &EngineConfig) -> LogConfig {
    LogConfig { ring_bytes: cfg.log_ring_bytes, capacity_bytes: cfg.redo_capacity_bytes }
}

fn new_pool(cfg: &EngineConfig, disk: &Arc<dyn Disk>, log: &Arc<Log>) -> Result<Arc<Pool>> {
    Pool::new(
        PoolConfig { bytes: cfg.pool_bytes, ..Default::default() },
        Arc::clone(disk),
        Arc::clone(log),
    )
}

fn assemble(
    cfg: &EngineConfig,
    disk: Arc<dyn Disk>,
    (log, pool, slots): (Arc<Log>, Arc<Pool>, Arc<SlotTable>),
    spaces: HashMap<SpaceId, Arc<Tablespace>>,
    ids: Ids,
) -> Result<Arc<Engine>> {
    let undo = spaces.get(&UNDO_SPACE).ok_or(Error::MissingSpace(UNDO_SPACE))?;
    let waits = Arc::new(WaitsFor::new());
    let trx = TrxSystem::new(&pool, undo, &waits, ids, cfg.trx_states);
    let worker = slots.acquire_worker().ok_or(Error::TooManyTransactions)?;
    Ok(Engine::assemble(Parts { disk, log, pool, slots, waits, trx, spaces, worker }))
}

fn create(cfg: &EngineConfig, disk: Arc<dyn Disk>) -> Result<(Arc<Engine>, RecoveryReport)> {
    clear_leftovers(&*disk)?;
    let slots = new_slots(cfg);
    let log = Log::create(&disk, &log_config(cfg), Arc::clone(&slots))?;
    let pool = new_pool(cfg, &disk, &log)?;
    let mut spaces = HashMap::new();
    for id in [SYSTEM_SPACE, UNDO_SPACE] {
        spaces.insert(id, pool.create_tablespace(id, &space_name(id))?);
    }
    let engine = assemble(cfg, disk, (log, pool, slots), spaces, Ids::new())?;
    engine.with_worker(|worker| {
        engine.trx().create(worker)?;
        let ts = engine.space(SYSTEM_SPACE)?.ok_or(Error::MissingSpace(SYSTEM_SPACE))?;
        for (spec, expected) in cfg.system_tables.iter().zip(system_storage(cfg)) {
            let roots = create_indexes(engine.pool(), worker, &ts, spec)?;
            if roots != expected.roots {
                return Err(Error::Internal("a new system space gives its pages out of order"));
            }
        }
        Ok(())
    })?;
    open_system_tables(&engine, cfg)?;
    engine.log().flush_to(engine.log().tail())?;
    engine.pool().flush_all()?;
    engine.checkpoint()?;
    write_format(&*engine.disk)?;
    Ok((engine, RecoveryReport { created: true, ..RecoveryReport::default() }))
}

/// Where the system tables lie: their roots are the first pages of the system space, in order.
fn system_storage(cfg: &EngineConfig) -> Vec<TableStorage> {
    let mut next = 1;
    let storage = |spec: &TableSpec| {
        let ids = std::iter::once(spec.clustered_id).chain(spec.secondaries.iter().map(|s| s.id));
        let roots = ids
            .map(|id| {
                next += 1;
                (id, PageNo(next - 1))
            })
            .collect();
        TableStorage { space: SYSTEM_SPACE, roots }
    };
    cfg.system_tables.iter().map(storage).collect()
}

fn open_system_tables(engine: &Arc<Engine>, cfg: &EngineConfig) -> Result<()> {
    let mut tables = Vec::new();
    for (i, (spec, storage)) in cfg.system_tables.iter().zip(system_storage(cfg)).enumerate() {
        if spec.id != system_table_id(i) {
            return Err(Error::Internal("system table i must have the id i + 1"));
        }
        tables.push(engine.open_table(spec, storage)?);
    }
    engine.system.set(tables).map_err(|_| Error::Internal("system tables are opened once"))
}

fn recover(cfg: &EngineConfig, disk: Arc<dyn Disk>) -> Result<(Arc<Engine>, RecoveryReport)> {
    let slots = new_slots(cfg);
    let (log, mut replay) = Log::open(&disk, &log_config(cfg), Arc::clone(&slots))?;
    let pool = new_pool(cfg, &disk, &log)?;
    let spaces = open_spaces(&*disk, &pool)?;
    let mut report = RecoveryReport {
        torn_pages: pool.repair_torn_pages()? as u64,
        ..RecoveryReport::default()
    };
    let ids = Ids::new();
    ids.recover_payload(&log.checkpoint_payload())?;
    redo_all(&pool, &ids, &mut replay, &mut report)?;
    log.resume(replay)?;
    let engine = assemble(cfg, disk, (log, pool, slots), spaces, ids)?;
    open_system_tables(&engine, cfg)?;
    let found = engine.trx().recover()?;
    for segment in found.active.into_iter().chain(found.committed) {
        engine.leave_unfinished(Unfinished::new(segment, Vec::new()));
    }
    let (losers, purged) = engine.finish(&|id| engine.lookup_system(id))?;
    report.losers += losers;
    report.purged += purged;
    Ok((engine, report))
}

/// Opens every tablespace that has a file: the doublewrite copies are for all of them, and are gone
/// soon.
fn open_spaces(disk: &dyn Disk, pool: &Arc<Pool>) -> Result<HashMap<SpaceId, Arc<Tablespace>>> {
    let mut spaces = HashMap::new();
    for id in [SYSTEM_SPACE, UNDO_SPACE] {
        spaces.insert(id, pool.open_tablespace(id, &space_name(id))?);
    }
    let names = disk.list().map_err(|e| Error::io("list", "the data folder", e))?;
    for id in names.iter().filter_map(|name| space_of_name(name)) {
        match pool.open_tablespace(id, &space_name(id)) {
            Ok(ts) => {
                spaces.insert(id, ts);
            }
            // Its making was cut off before anything could refer to it, or it is damaged: opening
            // the table will say so, and a file without a table is removed.
            Err(Error::Foreign { .. } | Error::Corrupt { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(spaces)
}

fn redo_all(
    pool: &Arc<Pool>,
    ids: &Ids,
    replay: &mut Replay,
    report: &mut RecoveryReport,
) -> Result<()> {
    while let Some(window) = replay.next_window()? {
        pool.log().secure(replay)?;
        for frame in &window.frames {
            let mut logical = |kind, bytes: &[u8]| {
                report.redo_records += 1;
                match kind {
                    kind::TRX => ids.recover_record(bytes, frame.start),
                    _ => {
                        let what = "a record that only a newer server knows";
                        Err(Error::CorruptLog { lsn: frame.start, what })
                    }
                }
            };
            let done = pool.redo(frame.start, frame.end, window.body(frame), &mut logical)?;
            report.redo_bytes += frame.end.0 - frame.start.0;
            report.redo_records += (done.applied + done.old + done.unknown) as u64;
        }
    }
    Ok(())
}
