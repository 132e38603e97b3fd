//! The storage boundary: tables, DML, commit, recovery.
//!
//! The only storage crate that SQL imports. Reading order: [`config`](EngineConfig) (what goes in),
//! `table` (a table's indexes), `engine` (open, recover, background work, shut down), `client` (one
//! client's transaction), `scan`.

mod autoinc;
mod background;
mod blob;
mod branch;
mod build;
mod check;
mod client;
mod config;
mod ddl;
mod deleted_rows;
mod dml;
mod engine;
mod entry;
mod examine;
mod files;
mod history;
mod last_found;
mod lock_run;
mod locked_range;
mod locking;
mod older_rows;
mod open;
mod outside;
mod progress;
mod purge;
mod recovery;
mod registry;
mod report;
mod rollback;
mod row;
mod scan;
mod spaces;
mod statistics;
mod table;
mod temporary;
mod undo_room;
mod version;
mod warm;
mod writer;

pub use autoinc::Steps;
pub use background::Tick;
pub use base::{Error, IndexId, Lsn, PageNo, Result, SpaceId, TableId, TrxId};
pub use branch::{Branch, Parked};
pub use check::{TableCheck, TableVerdict};
pub use client::{Client, Then, UndoMark};
pub use config::{EngineConfig, IndexSpec, NoteLevel, NoteReceiver, Notes, RecoveryReport};
pub use config::{OlderRows, Settings, TableSpec, TableStorage};
pub use engine::Engine;
pub use examine::Finding;
pub use files::{foreign_name, has_instance, space_name, space_of_name};
pub use lock::{Deadlock, DeadlockMember, LockInfo, Names, OwnerInfo, RunInfo, Snapshot};
pub use locking::{Change, LockMode, LockWait, RowLock, Stamp};
pub use pool::{
    DUMP_FILE_NAME, Doublewrite, FlushMethod, InstanceStats, Pool, PoolSettings, PoolStatus,
    rounded_bytes,
};
pub use progress::{Abandoned, Intention, TrxProgress, Undoing};
pub use recovery::{RecoveryPhase, RecoveryProgress, TableFinder};
pub use report::ChangedRow;
pub use scan::{Direction, Reader, Scan, ScanRoom};
pub use statistics::{IndexSample, Look, TablePages, TableSample};
pub use sync::SessionSlot;
pub use table::{OLDER_LAYOUTS_MAX, Table};
pub use temporary::TemporaryFiles;
pub use trx::Xid;
pub use undo_room::UndoGivenBack;
pub use value::{ColumnType, KeyPart};
