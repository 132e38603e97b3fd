//! Stages: what statements that take long do at the moment, and how far they are; and stages that are over.
//!
//! 1. A stage is part of its statement, whose number is that of `events_statements_current`: one finds the other.

use super::events::next_event;
use super::live_waits::{event_cells, nesting_cells};
use crate::information::{Cell, Rows, cells};
use catalog::ReadContext;
use instrument::{Consumer, LiveStage, Nesting, PastEvent, StageRecord, class_named};

/// `events_stages_current`.
pub(super) fn current(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    if !instrument::consumes(Consumer::StagesCurrent) {
        return;
    }
    let (now_ns, statements) = (sync::now_ns(), instrument::next_events());
    let numbers = instrument::next_waits_and_stages();
    let sessions = context.viewer.processes();
    for stage in instrument::live_stages().into_iter().filter(|stage| stage.thread_id != 0) {
        let LiveStage { thread_id, .. } = stage;
        let is_session = sessions.iter().any(|session| session.thread_id == thread_id);
        let statement = || Nesting::Statement(next_event(&statements, thread_id));
        let event = PastEvent {
            thread_id,
            event_id: numbers.get(&thread_id).map_or(1, |(_, stage)| *stage),
            class: class_named(stage.name),
            times_ns: stage.begin_ns.map(|begin_ns| (begin_ns, now_ns)),
            nesting: is_session.then(statement),
        };
        let work = (stage.work_completed, stage.work_estimated);
        rows.push(&row(&StageRecord { event, work }, false));
    }
}

/// `events_stages_history`.
pub(super) fn history(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    instrument::stage_histories().iter().for_each(|record| rows.push(&row(record, true)));
}

/// `events_stages_history_long`.
pub(super) fn history_long(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    instrument::long_stage_history().iter().for_each(|record| rows.push(&row(record, true)));
}

fn row(record: &StageRecord, is_over: bool) -> Vec<Cell<'static>> {
    let mut row = event_cells(&record.event, is_over);
    row.extend(cells![record.work.0, record.work.1]);
    row.extend(nesting_cells(record.event.nesting));
    row
}
