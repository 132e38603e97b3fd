//! Waits: what each session waits for at the moment, what each session and thread waited for last, and what all did.
//!
//! 1. A wait of a session is published in its slot by whoever begins it, whatever is enabled, and is seen until it ends. One
//! that is over is kept if its instrument was enabled. 2. The wait for a metadata lock has the identity of its row in
//! `metadata_locks`, that for a latch the one of its row in the tables of instances. 3. A wait is part of its statement, or of the
//! stage that this is in; what is waited for between two statements is part of none.

use super::events::{next_event, time_cells};
use crate::information::{Cell, Rows, cells};
use catalog::{ProcessRow, ReadContext};
use instrument::{
    Class, Consumer, IDLE, Nesting, Operation, PastEvent, WaitObject, WaitRecord, class_numbered,
};
use mdl::{LockRow, Status, WAIT_CLASS as METADATA};
use std::collections::HashMap;

/// What sessions wait for now.
struct Live<'c> {
    context: &'c ReadContext<'c>,
    /// Requests of metadata locks, by slot.
    pending: HashMap<usize, LockRow>,
    statements: HashMap<u64, u64>,
    numbers: HashMap<u64, (u64, u64)>,
    stages: HashMap<u64, Nesting>,
}

/// `events_waits_current`: what a session waits for, else its last wait; of the server's own threads the last one.
pub(super) fn current(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    if !instrument::consumes(Consumer::WaitsCurrent) {
        return;
    }
    let mut found: HashMap<u64, (WaitRecord, bool)> = HashMap::new();
    for record in instrument::last_waits() {
        found.insert(record.event.thread_id, (record, true));
    }
    let live = Live::new(context);
    for process in context.viewer.processes().into_iter().filter(ProcessRow::has_thread) {
        if let Some(wait) = live.wait_of(&process) {
            found.insert(process.thread_id, (wait, false));
        }
    }
    let mut all: Vec<_> = found.into_values().collect();
    all.sort_by_key(|(record, _)| record.event.thread_id);
    let now_ns = sync::now_ns();
    for (mut record, is_over) in all {
        if !is_over && let Some((_, end_ns)) = &mut record.event.times_ns {
            *end_ns = now_ns;
        }
        rows.push(&row(&record, is_over));
    }
}

/// `events_waits_history`.
pub(super) fn history(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    instrument::wait_histories().iter().for_each(|record| rows.push(&row(record, true)));
}

/// `events_waits_history_long`.
pub(super) fn history_long(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    instrument::long_wait_history().iter().for_each(|record| rows.push(&row(record, true)));
}

impl<'c> Live<'c> {
    fn new(context: &'c ReadContext<'c>) -> Live<'c> {
        let locks = context.catalog.mdl().locks().into_iter();
        let pending = locks.filter(|lock| lock.status == Status::Pending);
        let pending = pending.map(|lock| (lock.slot, lock)).collect();
        let (statements, numbers) =
            (instrument::next_events(), instrument::next_waits_and_stages());
        // A stage has a number while stages are kept.
        let stages = match instrument::consumes(Consumer::StagesCurrent) {
            true => instrument::live_stages(),
            false => Vec::new(),
        };
        let next_stage = |id: u64| numbers.get(&id).map_or(1, |(_, stage)| *stage);
        let stages = stages.iter().map(|s| (s.thread_id, Nesting::Stage(next_stage(s.thread_id))));
        let stages = stages.collect();
        Live { context, pending, statements, numbers, stages }
    }

    fn wait_of(&self, process: &ProcessRow) -> Option<WaitRecord> {
        let thread_id = process.thread_id;
        let event_id = self.numbers.get(&thread_id).map_or(1, |(wait, _)| *wait);
        let event = |class, begin_ns, nesting| {
            let times_ns = Some((begin_ns, begin_ns));
            PastEvent { thread_id, event_id, class: Some(class), times_ns, nesting }
        };
        if process.command == "Sleep" {
            let idle: &'static Class = &IDLE;
            let (mut event, operation) = (event(idle, process.since_ns, None), Operation::Idle);
            event.times_ns = event.times_ns.filter(|_| idle.timed());
            let record = WaitRecord { event, operation, ..WaitRecord::default() };
            return idle.enabled().then_some(record);
        }
        let live = self.context.catalog.engine().slots().session(process.slot).live_wait()?;
        let class = class_numbered(live.class)?;
        let statement = || Nesting::Statement(next_event(&self.statements, thread_id));
        let nesting = self.stages.get(&thread_id).copied().unwrap_or_else(statement);
        let lock = self.pending.get(&process.slot).filter(|_| class.name() == METADATA);
        let text = |text: &str| (!text.is_empty()).then(|| text.into());
        let object = |lock: &LockRow| WaitObject {
            kind: Some(lock.namespace.object_type()),
            schema: text(&lock.schema),
            name: text(&lock.name),
            index: None,
        };
        Some(WaitRecord {
            event: event(class, live.start_ns, Some(nesting)),
            operation: live.operation,
            number: lock.map_or(live.object, |lock| lock.id),
            object: lock.map(object).unwrap_or_default(),
            amount: None,
        })
    }
}

/// The columns that waits and stages begin with.
pub(super) fn event_cells(event: &PastEvent, is_over: bool) -> Vec<Cell<'static>> {
    let mut row = Vec::from(cells![
        event.thread_id,
        event.event_id,
        is_over.then_some(event.event_id),
        event.class.map_or("", Class::name),
        Cell::Null,
    ]);
    row.extend(time_cells(event.times_ns));
    row
}

/// NESTING_EVENT_ID and NESTING_EVENT_TYPE.
pub(super) fn nesting_cells(nesting: Option<Nesting>) -> [Cell<'static>; 2] {
    match nesting {
        None => cells![Cell::Null, Cell::Null],
        Some(Nesting::Stage(id)) => cells![id, "STAGE"],
        Some(Nesting::Statement(id)) => cells![id, "STATEMENT"],
    }
}

fn row(record: &WaitRecord, is_over: bool) -> Vec<Cell<'_>> {
    let WaitObject { kind, schema, name, index } = &record.object;
    let mut row = event_cells(&record.event, is_over);
    row.extend(cells![
        Cell::Null,
        schema.as_deref(),
        name.as_deref(),
        index.as_deref(),
        *kind,
        record.number,
    ]);
    row.extend(nesting_cells(record.event.nesting));
    let amount = record.amount.map(|amount| i64::try_from(amount).unwrap_or(i64::MAX));
    row.extend(cells![record.operation.name(), amount, Cell::Null]);
    row
}
