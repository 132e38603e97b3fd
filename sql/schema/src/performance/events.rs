//! Statements one by one: those that run, the last ones of each session, the last ones of all.
//!
//! 1. What runs is what the process list shows of it, and its instrument once its command is known. 2. Where a statement came from in
//! the server's source is not told: SOURCE is NULL.

use super::statements::{PS, SHOWN, hex};
use crate::information::{Cell, Rows, cells};
use catalog::{ProcessRow, ReadContext};
use instrument::{STATEMENTS, StatementRecord, Sum, statement_named};
use std::collections::HashMap;
use std::num::NonZeroU64;

const EXECUTE: u16 = statement_named("statement/com/Execute");
const PREPARE: u16 = statement_named("statement/com/Prepare");
const QUERY: u16 = statement_named("statement/abstract/Query");

/// The sums of an event's row, from CREATED_TMP_DISK_TABLES to NO_GOOD_INDEX_USED.
const LATER: &[Sum] = SHOWN.split_at(5).1.split_at(13).0;

fn text_cell(text: &[u8]) -> Cell<'static> {
    let text = String::from_utf8_lossy(text).into_owned();
    (!text.is_empty()).then_some(text).into()
}

/// TIMER_START, TIMER_END and TIMER_WAIT.
pub(super) fn time_cells(times_ns: Option<(u64, u64)>) -> [Cell<'static>; 3] {
    let Some((begin_ns, end_ns)) = times_ns else { return [Cell::Null, Cell::Null, Cell::Null] };
    [begin_ns, end_ns, end_ns.saturating_sub(begin_ns)].map(|ns| Cell::UInt(ns.saturating_mul(PS)))
}

/// The row of a statement that ended.
fn ended(record: &StatementRecord) -> Vec<Cell<'_>> {
    let name = STATEMENTS.get(usize::from(record.instrument)).map_or("", |class| class.name());
    let digest = record.digest();
    let sum_of = |sum: Sum| record.sums.as_ref().map_or(0, |sums| sums[sum as usize]);
    let sum = |sum: Sum| Cell::UInt(sum_of(sum));
    let mut row =
        Vec::from(cells![record.thread_id, record.event_id, record.event_id, name, Cell::Null]);
    row.extend(time_cells(record.times_ns));
    row.push(Cell::UInt(sum_of(Sum::LockNs).saturating_mul(PS)));
    row.push(text_cell(record.text()));
    let told = digest.filter(|(_, text)| !text.is_empty());
    row.push(told.map(|(key, _)| hex(&key.hash)).into());
    row.push(told.map(|(_, text)| text).into());
    row.push(digest.and_then(|(key, _)| key.schema.as_deref()).into());
    row.extend(cells![Cell::Null, Cell::Null, Cell::Null, Cell::Null]);
    match &record.failure {
        Some(failure) => {
            let state = String::from_utf8_lossy(&failure.state).into_owned();
            row.extend(cells![u64::from(failure.code), state, shortened(&failure.text)]);
        }
        // A result set leaves no state.
        None => {
            let state = (record.rows.0 == 0 && !name.ends_with("/select")).then_some("00000");
            row.extend(cells![0u64, state, Cell::Null]);
        }
    }
    row.extend([sum(Sum::Errors), sum(Sum::Warnings), Cell::UInt(record.rows.2)]);
    row.extend(cells![record.rows.0, record.rows.1]);
    row.extend(LATER.iter().copied().map(sum));
    let cpu = sum_of(Sum::CpuNs).saturating_mul(PS);
    let memory = [Sum::MaxControlledMemory, Sum::MaxTotalMemory].map(sum_of);
    row.extend(tail(record.nesting, (record.thread_id, record.event_id), cpu, memory));
    row
}

/// From NESTING_EVENT_ID to EXECUTION_ENGINE. Statements of stored programs are not there yet, so that none is nested in another.
fn tail(
    nesting: Option<NonZeroU64>,
    (thread_id, event_id): (u64, u64),
    cpu_ps: u64,
    memory: [u64; 2],
) -> [Cell<'static>; 8] {
    let of = nesting.map(|_| "TRANSACTION");
    let [controlled, total] = memory;
    // No session counts what others ran: no two have the same numbers, as long as the history of statements is kept.
    let statement_id = (thread_id << 32) | (event_id & u64::from(u32::MAX));
    cells![
        nesting.map(NonZeroU64::get),
        of,
        0u64,
        statement_id,
        cpu_ps,
        controlled,
        total,
        "PRIMARY"
    ]
}

/// The row of a statement that runs.
fn running(process: &ProcessRow, event_id: u64, now_ns: u64) -> Vec<Cell<'_>> {
    let number = process.instrument.unwrap_or(match process.command {
        "Execute" => EXECUTE,
        "Prepare" => PREPARE,
        _ => QUERY,
    });
    let class = &STATEMENTS[usize::from(number)];
    let mut row =
        Vec::from(cells![process.thread_id, event_id, Cell::Null, class.name(), Cell::Null]);
    row.extend(time_cells(class.timed().then_some((process.since_ns, now_ns))));
    row.extend(cells![0u64, process.info.as_ref(), Cell::Null, Cell::Null, process.who.db()]);
    row.extend(cells![
        Cell::Null,
        Cell::Null,
        Cell::Null,
        Cell::Null,
        0u64,
        Cell::Null,
        Cell::Null
    ]);
    row.extend((0..5 + LATER.len()).map(|_| Cell::UInt(0)));
    row.extend(tail(None, (process.thread_id, event_id), 0, [0, 0]));
    row
}

/// The text of an error, as far as there is room.
fn shortened(text: &str) -> String {
    text.chars().take(128).collect()
}

/// The last statement of each session that has run one, by THREAD_ID.
fn last_statements() -> HashMap<u64, StatementRecord> {
    let records = instrument::last_statements().into_iter();
    records.map(|record| (record.thread_id, record)).collect()
}

/// The number of the statement that a session runs, of [`instrument::next_events`]: the first where it has ended none.
pub(super) fn next_event(events: &HashMap<u64, u64>, thread_id: u64) -> u64 {
    events.get(&thread_id).copied().unwrap_or(1)
}

/// `events_statements_current`.
pub(super) fn current(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let (last, next) = (last_statements(), instrument::next_events());
    let now_ns = sync::now_ns();
    for process in context.viewer.processes().into_iter().filter(ProcessRow::has_thread) {
        let before = last.get(&process.thread_id);
        match (process.command, before) {
            ("Sleep", Some(record)) => rows.push(&ended(record)),
            ("Sleep", None) => {}
            _ => rows.push(&running(&process, next_event(&next, process.thread_id), now_ns)),
        }
    }
}

/// `events_statements_history`.
pub(super) fn history(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    instrument::statement_histories().iter().for_each(|record| rows.push(&ended(record)));
}

/// `events_statements_history_long`.
pub(super) fn history_long(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    instrument::long_statement_history().iter().for_each(|record| rows.push(&ended(record)));
}
