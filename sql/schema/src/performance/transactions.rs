//! Transactions one by one: those that go on, the last ones of each session, the last ones of all.

use super::events::time_cells;
use crate::information::{Cell, Rows, cells};
use catalog::ReadContext;
use instrument::{BranchState, TransactionRecord};
use std::num::NonZeroU64;

fn isolation(level: u8) -> &'static str {
    match level {
        0 => "READ UNCOMMITTED",
        1 => "READ COMMITTED",
        2 => "REPEATABLE READ",
        _ => "SERIALIZABLE",
    }
}

/// A part of a branch's name: as it is, if all of it can be printed, else in hexadecimal; `None`: it is empty.
fn name_part(part: &[u8]) -> Option<String> {
    let is_printed = |byte: &u8| *byte == b' ' || byte.is_ascii_graphic();
    let hexadecimal = || {
        let digits: String = part.iter().map(|byte| format!("{byte:02X}")).collect();
        format!("0x{digits}")
    };
    let shown = match part.iter().all(is_printed) {
        true => String::from_utf8_lossy(part).into_owned(),
        false => hexadecimal(),
    };
    (!part.is_empty()).then_some(shown)
}

fn branch_state(state: BranchState) -> &'static str {
    match state {
        BranchState::Active => "ACTIVE",
        BranchState::Idle => "IDLE",
        BranchState::Prepared => "PREPARED",
        BranchState::Committed => "COMMITTED",
        BranchState::RollbackOnly => "ROLLBACK ONLY",
    }
}

fn row((thread_id, record): &(u64, TransactionRecord), now_ns: u64) -> Vec<Cell<'static>> {
    let goes_on = record.end_event_id.is_none();
    let state = match (goes_on, record.is_committed) {
        (true, _) => "ACTIVE",
        (false, true) => "COMMITTED",
        (false, false) => "ROLLED BACK",
    };
    let name = record.branch.as_ref().map(|(name, _)| &**name);
    let mut row = Vec::from(cells![
        *thread_id,
        record.event_id,
        record.end_event_id.map(NonZeroU64::get),
        "transaction",
        state,
        Cell::Null,
        "AUTOMATIC",
        // The column is an INT.
        name.map(|name| name.format.min(i32::MAX as u64)),
        name.and_then(|name| name_part(&name.gtrid)),
        name.and_then(|name| name_part(&name.bqual)),
        record.branch.as_ref().map(|(_, state)| branch_state(*state)),
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
