//! The write side of the Performance Schema: class registry, counter pages, flags.
//!
//! 1. A class is declared where it is used, by [`classes!`]; it enters the registry when the server starts, or at its
//!    first slow use before. While its flags are off, using it writes nothing shared: one relaxed load.
//! 2. A [`CounterPage`] has one writer at a time (the thread whose current page it is) and any number of
//!    readers; its numbers are plain loads and stores.
//! 3. How long latches are held is measured where they are timed, in windows of time: [`holds`].
//! 4. Nothing is lost: a page that ends is folded into a global total, and is neither missed nor counted twice by
//!    [`totals`], which holds the registry's mutex for one page at a time.
// The thread-local pointer to the current page is the one place that needs it.
#![allow(unsafe_code)]
// Raw atomics and one mutex: this crate is below `sync` and must not instrument itself.
#![allow(clippy::disallowed_types)]

/// Whether the Performance Schema is in this build.
pub const INSTRUMENTS: bool = cfg!(feature = "instruments");
/// Whether instruments of latches are in this build.
pub const LATCH_INSTRUMENTS: bool = cfg!(feature = "latch-instruments");

/// For [`classes!`], which names it where it is used.
#[doc(hidden)]
pub use linkme;

mod attributes;
mod brief;
mod class;
mod consumers;
mod counter;
mod digest;
mod errors;
mod figures;
mod file_io;
mod histogram;
mod history;
mod instance;
mod io;
mod last;
mod memory;
mod operation;
mod own_memory;
mod page;
mod page_memory;
mod past;
mod plan;
mod prepared;
mod registry;
mod ring;
mod room;
mod run;
mod samples;
mod setup;
mod socket_io;
mod stage;
mod stat;
mod statement;
mod statement_names;
mod switched;
mod table_io;
mod transaction;

pub use attributes::{
    attributes_lost, attributes_sent, forget_attributes_lost, longest_attributes,
    set_attribute_bytes_max,
};
pub use class::{
    Class, ClassKind, CondClass, DECLARED, ENABLED, ErrorClass, FileClass, HELD, IDLE, IdleClass,
    Level, LockClass, MemoryClass, MutexClass, RECORDED, RwLockClass, SocketClass, StageClass,
    StatementClass, TIMED, TableIoClass, ThreadClass, TransactionClass, WaitClass,
};
pub use consumers::{Consumer, Consumers, consumers, consumes, switch_consumer};
pub use counter::Counter;
pub use digest::{
    Digest, DigestKey, DigestPlace, DigestReport, DigestRow, DigestTotals, Sample, SessionDigests,
    digest_times, digests, digests_lost, empty_digest_histograms, forget_digests,
    forget_digests_lost, set_digest_limits, set_told_digest_bytes, told_digest_bytes,
};
pub use errors::{ERROR, ErrorName, ErrorTotals, errors, set_errors_limit};
pub use figures::{Figures, PageFigures};
pub use file_io::{
    FileHandle, FileLimits, FileReport, FilesLost, add_by_name, empty_files, file_removed,
    file_renamed, file_reports, file_totals, files_lost, forget_files_lost, set_file_limits,
};
pub use histogram::{Buckets, STATEMENT_BUCKETS, bucket_limits, bucket_of_statement};
pub use history::{
    Failure, HistoryWriter, Kept, Recorded, RecordedText, SessionHistory, StatementRecord,
    current_transactions, empty_last_statements, empty_last_transactions,
    empty_long_statement_history, empty_long_transaction_history, empty_statement_histories,
    empty_transaction_histories, events_lost, forget_events_lost, last_statements,
    long_statement_history, long_transaction_history, next_events, set_history_limits,
    set_transaction_history_limits, statement_histories, transaction_histories,
};
pub use instance::{InstanceCell, InstanceReport, empty_instances, instances};
pub use io::{IO_OPERATIONS, IoOperation, IoTotals};
pub use memory::{
    AmountTotals, MemoryReport, MemoryTotals, MemoryUse, Piece, SessionMemory, empty_memory,
    memory_reports, session_memory,
};
pub use operation::Operation;
pub use own_memory::{OwnMemory, TextBuffer, set_memory_limit};
pub use page::{ClassTotals, CounterPage, HISTOGRAM_BUCKETS, HoldTotals, Totals};
pub use page_memory::SessionMemorySums;
pub use past::{
    Collected, Nesting, PastEvent, StageRecord, Surroundings, Wait, WaitObject, WaitRecord,
    empty_last_waits, empty_long_stage_history, empty_long_wait_history, empty_stage_histories,
    empty_wait_histories, last_waits, long_stage_history, long_wait_history, next_waits_and_stages,
    record_wait, record_wait_between, set_stage_history_limits, set_wait_history_limits,
    stage_histories, surround, wait_histories,
};
pub use plan::{Depth, Plan};
pub use prepared::{
    PreparedOf, PreparedReport, PreparedRow, empty_prepared, forget_prepared_lost, prepared_lost,
    set_prepared_limit,
};
pub use registry::{
    Holds, PageRegistration, Rule, attach, class_named, class_numbered, classes, completed,
    contended, count, current, empty, figures_by_thread, fold_figures, fold_page, held, hit, holds,
    is_instrumented, is_on, kept_by_thread, leave_page, level, live_stages, lost, name_thread,
    raise, register, register_declared, reset_holds, set_class_limit, set_current, set_level,
    set_rules, settle, switch, totals, turn_off, used, watch_own, watch_thread, window,
};
pub use room::{RowsOf, forget_lost_rows};
pub use run::Plain;
pub use samples::{
    SampledWait, SessionSample, add_session_samples, each_session_sample, empty_session_samples,
    set_session_samples_limit,
};
pub use setup::{
    ANY, Actor, NotAdded, Object, ObjectType, actor_switches, actors, add_actor, add_object,
    clear_actors, clear_objects, object_switches, objects, remove_actor, remove_object, set_actor,
    set_object, set_setup_limits,
};
pub use socket_io::{
    SocketHandle, SocketPlace, SocketReport, empty_sockets, socket_reports, socket_totals,
};
pub use stage::{LiveStage, begin_stage, end_stage, set_work_completed, stage_of};
pub use stat::StatTotals;
pub use statement::{
    EventSums, ONE_RANGE, STATEMENTS, STATEMENTS_MAX, SUMS, StatementEnd, StatementTotals, Sum,
    Sums, Watch, statement_named, statement_of,
};
pub use switched::{note_switch, switched};
pub use table_io::{
    LockTotals, OperationTotals, ROW_OPERATIONS, RowOperation, TABLE_IO, TABLE_LOCK, TableFigures,
    TableIo, close_table_io, empty_gone_table_locks, empty_table_io, gone_table_locks,
    table_io_totals,
};
pub use transaction::{
    BranchName, BranchState, OwnMask, OwnTransaction, SavepointCounts, TRANSACTION,
    TransactionKind, TransactionRecord, TransactionTotals,
};

/// Taken by tests that empty figures or switch instruments, which are the process's, and by those that others would disturb so.
#[cfg(test)]
static EMPTIES: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests;
