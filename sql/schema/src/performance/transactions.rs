//! Transactions one by one: those that go on, the last ones of each session, the last ones of all.

use super::events::time_cells;
use crate::information::{Cell, Rows, cells};
use catalog::ReadContext;
use instrument::TransactionRecord;
use std::num::NonZeroU64;

fn isolation(level: u8) -> &'static str {
    match level {
        0 => "READ UNCOMMITTED",
        1 => "READ COMMITTED",
        2 => "REPEATABLE READ",
        _ => "SERIALIZABLE",
    }
}

fn row((thread_id, record): &(u64, TransactionRecord), now_ns: u64) -> Vec<Cell<'static>> {
    let goes_on = record.end_event_id.is_none();
    let state = match (goes_on, record.is_committed) {
        (true, _) => "ACTIVE",
        (false, true) => "COMMITTED",
        (false, false) => "ROLLED BACK",
    };
    let mut row = Vec::from(cells![
        *thread_id,
        record.event_id,
        record.end_event_id.map(NonZeroU64::get),
        "transaction",
        state,
        Cell::Null,
        "AUTOMATIC",
        Cell::Null,
        Cell::Null,
        Cell::Null,
        Cell::Null,
        Cell::Null
    ]);
    let end_ns = if goes_on { now_ns } else { record.end_ns };
    row.extend(time_cells(record.is_timed.then_some((record.begin_ns, end_ns))));
    let savepoints = &record.savepoints;
    row.extend(cells![
        if record.kind.is_read_only { "READ ONLY" } else { "READ WRITE" },
        isolation(record.kind.isolation),
        if record.is_autocommit { "YES" } else { "NO" },
        u64::from(savepoints.set),
        u64::from(savepoints.rolled_back_to),
        u64::from(savepoints.released),
        Cell::Null,
        record.nesting.map(NonZeroU64::get),
        record.nesting.map(|_| "STATEMENT")
    ]);
    row
}

/// `events_transactions_current`.
pub(super) fn current(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let now_ns = sync::now_ns();
    instrument::current_transactions().iter().for_each(|record| rows.push(&row(record, now_ns)));
}

/// `events_transactions_history`.
pub(super) fn history(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    instrument::transaction_histories().iter().for_each(|record| rows.push(&row(record, 0)));
}

/// `events_transactions_history_long`.
pub(super) fn history_long(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    instrument::long_transaction_history().iter().for_each(|record| rows.push(&row(record, 0)));
}
