//! `events_stages_current`: what statements that take long do at the moment, and how far they are.
//!
//! 1. A stage has the number behind that of its statement, which `events_statements_current` shows: one finds the other.

use super::events::{running_events, time_cells};
use crate::information::{Cell, Rows, cells};
use catalog::ReadContext;
use instrument::{Consumer, LiveStage};

/// Fills the table.
pub(super) fn current(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    if !instrument::consumes(Consumer::StagesCurrent) {
        return;
    }
    let (now_ns, statements) = (sync::now_ns(), running_events(&context.viewer.processes()));
    for stage in instrument::live_stages() {
        let nesting = statements.get(&stage.thread_id).copied();
        rows.push(&row(&stage, nesting, now_ns));
    }
}

fn row(stage: &LiveStage, nesting: Option<u64>, now_ns: u64) -> Vec<Cell<'static>> {
    let mut row = Vec::from(cells![
        stage.thread_id,
        nesting.unwrap_or(0) + 1,
        Cell::Null,
        stage.name,
        Cell::Null,
    ]);
    row.extend(time_cells(stage.begin_ns.map(|begin_ns| (begin_ns, now_ns))));
    row.extend(cells![
        stage.work_completed,
        stage.work_estimated,
        nesting,
        nesting.map(|_| "STATEMENT"),
    ]);
    row
}
