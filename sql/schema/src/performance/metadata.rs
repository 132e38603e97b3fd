//! Metadata locks and the tables that sessions have open: who waits for whose table.
//!
//! 1. Locks are copied one session and one name after the other: a picture, not a snapshot. 2. The lock of a table in a
//! transaction is all that others see of the session's use of it, so `table_handles` is made of the same rows. 3. Who takes a lock
//! looks at no limit: a reader is told of as many rows as there is room for.

use super::events::next_event;
use crate::information::{Cell, Rows, cells};
use catalog::{ProcessRow, ReadContext};
use instrument::RowsOf;
use mdl::{LockRow, Mode, Namespace};
use std::collections::HashMap;

/// Sessions that have a thread, by slot number.
fn by_slot(context: &ReadContext<'_>) -> HashMap<usize, ProcessRow> {
    let sessions = context.viewer.processes().into_iter().filter(ProcessRow::has_thread);
    sessions.map(|p| (p.slot, p)).collect()
}

/// The locks that are rows of a table, as many of them as there is room for.
fn locks(context: &ReadContext<'_>, of: RowsOf, is_row: impl Fn(&LockRow) -> bool) -> Vec<LockRow> {
    let mut locks = context.catalog.mdl().locks();
    locks.retain(|lock| !is_temporary(lock) && is_row(lock));
    locks.truncate(of.told(locks.len()));
    locks
}

/// Empty texts are NULL: an object that is one of its kind has no name.
fn named(text: &str) -> Cell<'_> {
    if text.is_empty() { Cell::Null } else { text.into() }
}

/// `metadata_locks`. A request is of the statement that its owner runs; by which statement a lock was taken is not kept.
pub(super) fn metadata_locks(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let (owners, statements) = (by_slot(context), instrument::next_events());
    for lock in &locks(context, RowsOf::MetadataLocks, |_| true) {
        let thread_id = owners.get(&lock.slot).map(|p| p.thread_id);
        let waits = lock.status != mdl::Status::Granted;
        let event_id = thread_id.filter(|_| waits).map(|id| next_event(&statements, id));
        rows.push(&cells![
            lock.namespace.object_type(),
            named(&lock.schema),
            named(&lock.name),
            Cell::Null,
            lock.id,
            lock.mode.lock_type(),
            lock.duration(),
            lock.status.name(),
            Cell::Null,
            thread_id,
            event_id,
        ]);
    }
}

/// A session's own table: nobody else sees it.
fn is_temporary(lock: &LockRow) -> bool {
    lock.namespace == Namespace::Table && lock.schema == "#temporary"
}

/// How the statement of a lock's owner locks the table for the engine; `None`: it has none in use by this lock.
fn external(lock: &LockRow) -> Option<&'static str> {
    let is_table = lock.namespace == Namespace::Table && lock.status == mdl::Status::Granted;
    match lock.mode {
        Mode::SR | Mode::SRO if is_table => Some("READ EXTERNAL"),
        Mode::SW | Mode::SWLP | Mode::SNRW if is_table => Some("WRITE EXTERNAL"),
        _ => None,
    }
}

/// `table_handles`: the tables that sessions have in use. Between the statements of a transaction a table's locks are the
/// transaction's alone, and its handle has no owner, as in MySQL.
pub(super) fn table_handles(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let owners = by_slot(context);
    for lock in &locks(context, RowsOf::TableHandles, |lock| external(lock).is_some()) {
        let owner = owners.get(&lock.slot).filter(|p| p.info.is_some());
        rows.push(&cells![
            "TABLE",
            &lock.schema,
            &lock.name,
            lock.id,
            owner.map(|p| p.thread_id),
            Cell::Null,
            Cell::Null,
            owner.and_then(|_| external(lock)),
        ]);
    }
}
