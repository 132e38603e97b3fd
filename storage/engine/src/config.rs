//! What an engine is opened with, what can be switched while it runs, and what recovery found.
//!
//! A [`TableSpec`] is only a description: where the table lies is its [`TableStorage`].
//! [`Settings`] are read where they are used, so a change acts on the next use.

use base::{IndexId, PageNo, SpaceId, TableId};
use pool::{Doublewrite, FlushMethod};
use std::sync::Arc;
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};
use value::row::Origin;
use value::{ColumnType, KeyPart};

/// Sizes and limits, fixed while the engine is open.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Memory for cached pages, in bytes.
    pub pool_bytes: usize,
    /// How far [`crate::Pool::resize`] may go, in bytes; 0 = the machine's memory.
    pub pool_bytes_max: usize,
    /// Parts of the pool with a cleaner of their own; 0 = as many as the size suggests.
    pub pool_instances: usize,
    /// Threads that read pages ahead of need.
    pub read_io_threads: usize,
    /// What happens to pages before they are written in place.
    pub doublewrite: Doublewrite,
    /// How data files are made durable.
    pub flush_method: FlushMethod,
    /// Memory of the redo ring, in bytes; a power of two.
    pub log_ring_bytes: usize,
    /// Size of all redo files together, in bytes.
    pub redo_capacity_bytes: u64,
    /// The most sessions (clients, and the engine's own threads) at a time.
    pub sessions_max: usize,
    /// The most workers at a time; a client holds one session slot and one worker slot.
    pub workers_max: usize,
    /// Most prepared transactions at a time; each has a session slot.
    pub branches_max: usize,
    /// Entries of the transaction-state ring; a power of two, at most 2^20.
    pub trx_states: usize,
    /// The dictionary's own tables: number `i` has table id `i + 1` and lies in the system space.
    pub system_tables: Vec<TableSpec>,
    /// Threads that purge; 0: none, only committing clients do.
    pub purge_threads: usize,
    /// Threads that read and apply redo at a start; 0: one for each core.
    pub recovery_threads: usize,
    /// `innodb_force_recovery`: 0, or 1 to give up the redo of tables whose files are gone or damaged, and to refuse
    /// changes of rows.
    pub force_recovery: u8,
    /// Memory for redo that waits for its pages, in bytes; 0: a third of the pool, which is empty then, at least 64 MiB.
    pub recovery_memory_bytes: usize,
    /// Where messages go.
    pub notes: Notes,
}

/// How much a message matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoteLevel {
    /// Something does not work any more.
    Error,
    /// Something should be looked at.
    Warning,
    /// What happens.
    Note,
}

/// Takes the engine's messages; without a receiver they are dropped.
#[derive(Clone, Default)]
pub struct Notes(Option<Arc<NoteReceiver>>);

/// See [`Notes`].
pub type NoteReceiver = dyn Fn(NoteLevel, &str) + Send + Sync;

impl std::fmt::Debug for Notes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Notes(..)" } else { "Notes" })
    }
}

impl Notes {
    /// Messages go to `receiver`.
    pub fn to(receiver: impl Fn(NoteLevel, &str) + Send + Sync + 'static) -> Notes {
        Notes(Some(Arc::new(receiver)))
    }

    fn tell(&self, level: NoteLevel, text: &str) {
        if let Some(receiver) = &self.0 {
            receiver(level, text);
        }
    }

    pub(crate) fn note(&self, text: &str) {
        self.tell(NoteLevel::Note, text);
    }

    pub(crate) fn warning(&self, text: &str) {
        self.tell(NoteLevel::Warning, text);
    }

    pub(crate) fn error(&self, text: &str) {
        self.tell(NoteLevel::Error, text);
    }
}

impl Default for EngineConfig {
    fn default() -> EngineConfig {
        EngineConfig {
            pool_bytes: 128 << 20,
            pool_bytes_max: 0,
            pool_instances: 0,
            read_io_threads: 4,
            doublewrite: Doublewrite::On,
            flush_method: FlushMethod::ODirect,
            log_ring_bytes: 16 << 20,
            redo_capacity_bytes: 100 << 20,
            sessions_max: 4096,
            workers_max: 4096,
            branches_max: 1000,
            trx_states: trx::STATES_MAX,
            system_tables: Vec::new(),
            purge_threads: 1,
            recovery_threads: 0,
            force_recovery: 0,
            recovery_memory_bytes: 0,
            notes: Notes::default(),
        }
    }
}

/// A table as the dictionary describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSpec {
    /// Its id; [`crate::Engine::new_table_id`] gives a fresh one.
    pub id: TableId,
    /// Its name, for messages only.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<ColumnType>,
    /// Id of the clustered index.
    pub clustered_id: IndexId,
    /// Parts of the clustered key; empty: a hidden row id of six bytes.
    pub clustered: Vec<KeyPart>,
    /// Secondary indexes, in the order in which scans number them from 1.
    pub secondaries: Vec<IndexSpec>,
    /// The AUTO_INCREMENT column, if any.
    pub autoinc_column: Option<usize>,
    /// What rows looked like that were written before columns came or went without them, the oldest first.
    pub older: Vec<OlderRows>,
    /// Only one session knows it: what is committed there is its own, and seen whatever the age of its view.
    pub private: bool,
}

/// Rows of an older layout of their table.
#[derive(Clone, Debug, PartialEq)]
pub struct OlderRows {
    /// The columns that they have, in order.
    pub columns: Vec<ColumnType>,
    /// Where each column of [`TableSpec::columns`] comes from.
    pub origins: Vec<Origin>,
}

/// A secondary index as the dictionary describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSpec {
    /// Its id; [`crate::Engine::new_index_id`] gives a fresh one.
    pub id: IndexId,
    /// Its name, for messages only.
    pub name: String,
    /// No two rows may have the same key, unless a part of it is NULL.
    pub unique: bool,
    /// Parts of the key.
    pub parts: Vec<KeyPart>,
}

/// Where a table lies: what the dictionary keeps beside the [`TableSpec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStorage {
    /// Its tablespace.
    pub space: SpaceId,
    /// Root page of every index, the clustered one first.
    pub roots: Vec<(IndexId, PageNo)>,
}

/// Settings that may change at any time.
#[derive(Debug)]
pub struct Settings {
    lock_wait_timeout_s: SharedAtomic<u32, { class::OTHER }>,
    flush_log_at_trx_commit: SharedAtomic<u8, { class::OTHER }>,
    purge_at_commit: SharedAtomic<bool, { class::OTHER }>,
    purge_in_background: SharedAtomic<bool, { class::OTHER }>,
    max_purge_lag: SharedAtomic<u64, { class::OTHER }>,
    max_purge_lag_delay_us: SharedAtomic<u64, { class::OTHER }>,
    purge_delay_us: SharedAtomic<u64, { class::OTHER }>,
    undo_log_truncate: SharedAtomic<bool, { class::OTHER }>,
    max_undo_log_bytes: SharedAtomic<u64, { class::OTHER }>,
    undo_reserve_extents: SharedAtomic<u32, { class::OTHER }>,
    undo_rest_ms: SharedAtomic<u64, { class::OTHER }>,
    fast_shutdown: SharedAtomic<u8, { class::OTHER }>,
}

/// Free extents of undo that are kept: 32 MiB.
const UNDO_RESERVE_EXTENTS: u32 = 32;
/// How long an extent of undo is free before it is given back.
const UNDO_REST_MS: u64 = 5_000;

impl Settings {
    pub(crate) fn new() -> Settings {
        Settings {
            lock_wait_timeout_s: SharedAtomic::new(50),
            flush_log_at_trx_commit: SharedAtomic::new(1),
            purge_at_commit: SharedAtomic::new(true),
            purge_in_background: SharedAtomic::new(true),
            max_purge_lag: SharedAtomic::new(0),
            max_purge_lag_delay_us: SharedAtomic::new(0),
            purge_delay_us: SharedAtomic::new(0),
            undo_log_truncate: SharedAtomic::new(true),
            max_undo_log_bytes: SharedAtomic::new(1 << 30),
            undo_reserve_extents: SharedAtomic::new(UNDO_RESERVE_EXTENTS),
            undo_rest_ms: SharedAtomic::new(UNDO_REST_MS),
            fast_shutdown: SharedAtomic::new(1),
        }
    }

    /// `innodb_fast_shutdown`: 0 purges everything first, 2 leaves the pages to the next start's recovery.
    pub fn fast_shutdown(&self) -> u8 {
        self.fast_shutdown.load(Ordering::Relaxed)
    }

    /// Sets [`Self::fast_shutdown`].
    pub fn set_fast_shutdown(&self, how: u8) {
        self.fast_shutdown.store(how, Ordering::Relaxed);
    }

    /// `innodb_lock_wait_timeout` of new clients, in seconds; a client may have its own, see
    /// [`crate::Client::set_lock_wait_timeout`].
    pub fn lock_wait_timeout_s(&self) -> u32 {
        self.lock_wait_timeout_s.load(Ordering::Relaxed)
    }

    /// Sets [`Self::lock_wait_timeout_s`].
    pub fn set_lock_wait_timeout_s(&self, seconds: u32) {
        self.lock_wait_timeout_s.store(seconds, Ordering::Relaxed);
    }

    /// Whether committing clients purge a little; off for experiments.
    pub fn purge_at_commit(&self) -> bool {
        self.purge_at_commit.load(Ordering::Relaxed)
    }

    /// Sets [`Self::purge_at_commit`].
    pub fn set_purge_at_commit(&self, on: bool) {
        self.purge_at_commit.store(on, Ordering::Relaxed);
    }

    /// Whether the purge threads work; off for experiments.
    pub fn purge_in_background(&self) -> bool {
        self.purge_in_background.load(Ordering::Relaxed)
    }

    /// Sets [`Self::purge_in_background`].
    pub fn set_purge_in_background(&self, on: bool) {
        self.purge_in_background.store(on, Ordering::Relaxed);
    }

    /// `innodb_max_purge_lag`: from so many unpurged transactions on writers are slowed down; 0: never.
    pub fn max_purge_lag(&self) -> u64 {
        self.max_purge_lag.load(Ordering::Relaxed)
    }

    /// Sets [`Self::max_purge_lag`].
    pub fn set_max_purge_lag(&self, transactions: u64) {
        self.max_purge_lag.store(transactions, Ordering::Relaxed);
    }

    /// `innodb_max_purge_lag_delay`: by how much at most, in microseconds; 0: no limit.
    pub fn max_purge_lag_delay(&self) -> u64 {
        self.max_purge_lag_delay_us.load(Ordering::Relaxed)
    }

    /// Sets [`Self::max_purge_lag_delay`].
    pub fn set_max_purge_lag_delay(&self, us: u64) {
        self.max_purge_lag_delay_us.store(us, Ordering::Relaxed);
    }

    /// `innodb_undo_log_truncate`: whether disk space that undo needs no more goes back to the file system.
    pub fn undo_log_truncate(&self) -> bool {
        self.undo_log_truncate.load(Ordering::Relaxed)
    }

    /// Sets [`Self::undo_log_truncate`].
    pub fn set_undo_log_truncate(&self, on: bool) {
        self.undo_log_truncate.store(on, Ordering::Relaxed);
    }

    /// `innodb_max_undo_log_size`: how much disk space undo takes before that begins, in bytes.
    pub fn max_undo_log_size(&self) -> u64 {
        self.max_undo_log_bytes.load(Ordering::Relaxed)
    }

    /// Sets [`Self::max_undo_log_size`].
    pub fn set_max_undo_log_size(&self, bytes: u64) {
        self.max_undo_log_bytes.store(bytes, Ordering::Relaxed);
    }

    /// What is kept then.
    pub(crate) fn undo_kept(&self) -> space::Limits {
        space::Limits {
            reserve: self.undo_reserve_extents.load(Ordering::Relaxed) as usize,
            rest: Duration::from_millis(self.undo_rest_ms.load(Ordering::Relaxed)),
        }
    }

    /// How many free extents of undo are kept, and for how long the others. For tests.
    pub fn set_undo_kept(&self, extents: u32, rest_ms: u64) {
        self.undo_reserve_extents.store(extents, Ordering::Relaxed);
        self.undo_rest_ms.store(rest_ms, Ordering::Relaxed);
    }

    /// By how much each change of a row is delayed now.
    pub(crate) fn purge_delay(&self) -> Duration {
        Duration::from_micros(self.purge_delay_us.load(Ordering::Relaxed))
    }

    pub(crate) fn set_purge_delay(&self, delay: Duration) {
        let us = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        if us != self.purge_delay_us.load(Ordering::Relaxed) {
            self.purge_delay_us.store(us, Ordering::Relaxed);
        }
    }

    /// `innodb_flush_log_at_trx_commit`: 0, 1 or 2.
    pub fn flush_log_at_trx_commit(&self) -> u8 {
        self.flush_log_at_trx_commit.load(Ordering::Relaxed)
    }

    pub(crate) fn note_flush_log_at_trx_commit(&self, mode: u8) {
        self.flush_log_at_trx_commit.store(mode, Ordering::Relaxed);
    }
}

/// What opening an engine did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The data folder was empty: system tables have no rows.
    pub created: bool,
    /// Bytes of redo read.
    pub redo_bytes: u64,
    /// Page operations and logical records in them.
    pub redo_records: u64,
    /// Pages repaired from the doublewrite file.
    pub torn_pages: u64,
    /// Pages that redo could not be applied to: reading them is an error.
    pub damaged_pages: u64,
    /// Transactions rolled back.
    pub losers: u64,
    /// Committed transactions whose purge was finished.
    pub purged: u64,
    /// Files removed because no table of the dictionary lies in them.
    pub orphans: Vec<String>,
}
