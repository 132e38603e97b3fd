//! `events_waits_current`: what each session waits for at the moment.
//!
//! 1. A wait is published in the session's slot by whoever begins it, whatever is enabled, and is seen until it ends; waits
//! that are over are not listed. 2. The wait for a metadata lock has the identity of its row in `metadata_locks`. 3. A wait has
//! the number behind that of its statement, and of its stage if it is in one: one finds the other.

use super::events::{running_events, time_cells};
use crate::information::{Cell, Rows, cells};
use catalog::{ProcessRow, ReadContext};
use instrument::{ClassKind, Consumer, IDLE, class_numbered};
use mdl::{LockRow, Status, WAIT_CLASS as METADATA};
use std::collections::{HashMap, HashSet};

/// A session's wait.
struct Wait<'w> {
    name: &'static str,
    operation: &'static str,
    begin_ns: u64,
    object: u64,
    /// The metadata lock that is waited for.
    lock: Option<&'w LockRow>,
}

/// Fills the table.
pub(super) fn current(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    if !instrument::consumes(Consumer::WaitsCurrent) {
        return;
    }
    let locks = context.catalog.mdl().locks();
    let pending = locks.iter().filter(|lock| lock.status == Status::Pending);
    let pending: HashMap<usize, &LockRow> = pending.map(|lock| (lock.slot, lock)).collect();
    let processes = context.viewer.processes();
    let statements = running_events(&processes);
    let stages: HashSet<u64> = instrument::live_stages().iter().map(|s| s.thread_id).collect();
    let now_ns = sync::now_ns();
    for process in &processes {
        let Some(wait) = wait_of(process, context, &pending) else { continue };
        let statement = statements.get(&process.thread_id).copied();
        let stage = u64::from(stages.contains(&process.thread_id));
        let nesting = statement.map(|statement| statement + stage);
        rows.push(&row((process, &wait), (nesting, stage > 0), now_ns));
    }
}

fn wait_of<'w>(
    process: &ProcessRow,
    context: &ReadContext<'_>,
    pending: &HashMap<usize, &'w LockRow>,
) -> Option<Wait<'w>> {
    if process.command == "Sleep" {
        let (name, operation, begin_ns) = (IDLE.name(), "idle", process.since_ns);
        let idle = Wait { name, operation, begin_ns, object: process.id, lock: None };
        return IDLE.enabled().then_some(idle);
    }
    let live = context.catalog.engine().slots().session(process.slot).live_wait()?;
    let class = class_numbered(live.class)?;
    let lock = pending.get(&process.slot).copied().filter(|_| class.name() == METADATA);
    let operation = match class.kind() {
        ClassKind::Lock if class.name() == METADATA => "metadata lock",
        ClassKind::Cond | ClassKind::Wait => "wait",
        _ => "lock",
    };
    let object = lock.map_or(live.object, |lock| lock.id);
    Some(Wait { name: class.name(), operation, begin_ns: live.start_ns, object, lock })
}

fn row<'c>(
    (process, wait): (&ProcessRow, &Wait<'c>),
    (nesting, in_stage): (Option<u64>, bool),
    now_ns: u64,
) -> Vec<Cell<'c>> {
    let named = |text: &'c str| if text.is_empty() { Cell::Null } else { text.into() };
    let mut row = Vec::from(cells![
        process.thread_id,
        nesting.unwrap_or(0) + 1,
        Cell::Null,
        wait.name,
        Cell::Null,
    ]);
    row.extend(time_cells(Some((wait.begin_ns, now_ns))));
    row.extend(cells![
        Cell::Null,
        wait.lock.map_or(Cell::Null, |lock| named(&lock.schema)),
        wait.lock.map_or(Cell::Null, |lock| named(&lock.name)),
        Cell::Null,
        wait.lock.map(|lock| lock.namespace.object_type()),
        wait.object,
        nesting,
        nesting.map(|_| if in_stage { "STAGE" } else { "STATEMENT" }),
        wait.operation,
        Cell::Null,
        Cell::Null,
    ]);
    row
}
