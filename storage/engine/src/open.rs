//! Opening: a new instance, or recovery of one.
//!
//! 1. A new instance is there when its format file is, which is written last. Guard: as `files`, 1.
//! 2. Recovery in order: torn pages, the log is read (its redo waits for its pages), the transactions'
//!    states; then the losers of the system tables. From there on the dictionary can be read, and with
//!    it the rest is done in the background (`recovery`). Guard: `one_runner` (the rows after every crash).
//! 3. No file is opened but those that the doublewrite files or the log name, and the system's own. Guard:
//!    `no_file_is_opened_but_those_that_the_log_names`.

use crate::ddl::{create_indexes, system_table_id};
use crate::engine::{Engine, Parts, Unfinished};
use crate::files::{clear_leftovers, has_instance, space_name, write_format};
use crate::recovery::Recovery;
use crate::rollback::Lookup;
use crate::spaces::Spaces;
use crate::{EngineConfig, RecoveryReport, TableSpec, TableStorage};
use base::{Error, PageNo, Result, SYSTEM_SPACE, TableId, UNDO_SPACE};
use host::Disk;
use pool::{Pool, PoolConfig, REDO_MEMORY_MIN, RecoverOptions, Recovered};
use redo::{Log, LogConfig, kind};
use std::sync::Arc;
use std::time::Instant;
use sync::SlotTable;
use sync::waits::WaitsFor;
use trx::{Ids, TrxSystem};

impl Engine {
    /// Opens the engine on `disk`; creates it when the disk is empty. Otherwise repairs torn pages,
    /// reads the log and rolls back what losers did to system tables;
    /// [`Self::start_recovery`] does the rest.
    ///
    /// Errors: [`base::Error::Foreign`] for a folder of something else or of a newer format.
    pub fn open(cfg: EngineConfig, disk: Arc<dyn Disk>) -> Result<(Arc<Engine>, RecoveryReport)> {
        match has_instance(&*disk)? {
            true => recover(&cfg, disk),
            false => create(&cfg, disk),
        }
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
    let config = PoolConfig {
        bytes: cfg.pool_bytes,
        bytes_max: cfg.pool_bytes_max,
        instances: cfg.pool_instances,
        read_io_threads: cfg.read_io_threads,
        doublewrite: cfg.doublewrite,
        flush_method: cfg.flush_method,
    };
    Pool::new(config, Arc::clone(disk), Arc::clone(log))
}

fn assemble(
    cfg: &EngineConfig,
    disk: Arc<dyn Disk>,
    (log, pool, slots): (Arc<Log>, Arc<Pool>, Arc<SlotTable>),
    ids: Arc<Ids>,
    (began, redo_bytes): (Instant, u64),
) -> Result<Arc<Engine>> {
    let undo = pool.tablespace(UNDO_SPACE).ok_or(Error::MissingSpace(UNDO_SPACE))?;
    let waits = Arc::new(WaitsFor::new());
    let trx = TrxSystem::new(&pool, &undo, (&waits, &slots), ids, cfg.trx_states);
    let spaces = Spaces::new(pool.tablespaces().into_iter());
    let worker = slots.acquire_worker().ok_or(Error::TooManyTransactions)?;
    let recovery = Recovery::new(cfg.notes.clone(), began, redo_bytes);
    let (recovery_threads, purge_threads) = (threads(cfg), cfg.purge_threads);
    let parts = Parts {
        disk,
        log,
        pool,
        slots,
        waits,
        trx,
        spaces,
        worker,
        recovery,
        recovery_threads,
        force_recovery: cfg.force_recovery,
        purge_threads,
        branches_max: cfg.branches_max,
    };
    Ok(Engine::assemble(parts))
}

/// How many threads recovery may use.
fn threads(cfg: &EngineConfig) -> usize {
    match cfg.recovery_threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

fn create(cfg: &EngineConfig, disk: Arc<dyn Disk>) -> Result<(Arc<Engine>, RecoveryReport)> {
    clear_leftovers(&*disk)?;
    let slots = new_slots(cfg);
    let log = Log::create(&disk, &log_config(cfg), Arc::clone(&slots))?;
    let pool = new_pool(cfg, &disk, &log)?;
    for id in [SYSTEM_SPACE, UNDO_SPACE] {
        pool.create_tablespace(id, &space_name(id))?;
    }
    let began = host::clock::now();
    let engine = assemble(cfg, disk, (log, pool, slots), Arc::new(Ids::new()), (began, 0))?;
    engine.recovery.opened();
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
    let began = host::clock::now();
    let slots = new_slots(cfg);
    let (log, replay) = Log::open(&disk, &log_config(cfg), Arc::clone(&slots))?;
    let pool = new_pool(cfg, &disk, &log)?;
    open_spaces(&pool)?;
    let mut report = RecoveryReport {
        torn_pages: pool.repair_torn_pages()? as u64,
        ..RecoveryReport::default()
    };
    let ids = Arc::new(Ids::new());
    ids.recover_payload(&log.checkpoint_payload())?;
    let redone = pool.recover(replay, recover_options(cfg, &ids))?;
    report.redo_bytes = redone.bytes;
    report.redo_records = redone.records;
    tell_scanned(cfg, began, &redone);
    let engine = assemble(cfg, disk, (log, pool, slots), ids, (began, redone.bytes))?;
    open_system_tables(&engine, cfg)?;
    let found = engine.trx().recover()?;
    engine.recovery.found_losers(found.active.len() as u64);
    for segment in found.active.into_iter().chain(found.committed) {
        engine.leave_unfinished(Unfinished::new(segment, Vec::new()));
    }
    engine.recover_branches(found.prepared)?;
    let known = |id| Ok(engine.lookup_system(id));
    let done = engine.with_worker(|worker| engine.finish(worker, &known, u64::MAX))?;
    engine.recovery.opened();
    report.losers += done.losers;
    report.purged += done.purged;
    Ok((engine, report))
}

/// Opens the system spaces, and those that the doublewrite files have pages of: these copies are gone
/// soon. The others are opened when they are needed.
fn open_spaces(pool: &Arc<Pool>) -> Result<()> {
    for id in [SYSTEM_SPACE, UNDO_SPACE] {
        pool.open_tablespace(id, &space_name(id))?;
    }
    for id in pool.copied_spaces() {
        match pool.open_tablespace(id, &space_name(id)) {
            // Dropped; or its making was cut off before anything could refer to it; or it is damaged:
            // opening the table will say so, and a file without a table is removed.
            Ok(_) | Err(Error::MissingSpace(_) | Error::Foreign { .. } | Error::Corrupt { .. }) => {
            }
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn recover_options(cfg: &EngineConfig, ids: &Arc<Ids>) -> RecoverOptions {
    let ids = Arc::clone(ids);
    let logical = move |lsn, kind, bytes: &[u8]| match kind {
        kind::TRX => ids.recover_record(bytes, lsn),
        _ => {
            let what = "a record that only a newer server knows";
            Err(Error::CorruptLog { lsn, what })
        }
    };
    let mut options = RecoverOptions::new(space_name, logical);
    options.threads = threads(cfg);
    options.memory_bytes = match cfg.recovery_memory_bytes {
        0 => (cfg.pool_bytes / 3).max(REDO_MEMORY_MIN),
        bytes => bytes,
    };
    options.on_batch = {
        let notes = cfg.notes.clone();
        Box::new(move |so_far| {
            notes.note(&format!(
                "recovery: {} MB of redo read, the memory for it is full: applying it to {} pages",
                so_far.bytes >> 20,
                so_far.pages
            ));
        })
    };
    options
}

fn tell_scanned(cfg: &EngineConfig, began: Instant, redone: &Recovered) {
    if redone.frames > 0 {
        cfg.notes.note(&format!(
            "recovery: scanned {:.1} MB of redo in {:.2} s; {} pages wait",
            redone.bytes as f64 / f64::from(1 << 20),
            host::clock::now().duration_since(began).as_secs_f64(),
            redone.pages
        ));
    }
}
