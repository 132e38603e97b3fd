//! Waits: by instrument, and by the mutex, latch, event, file or socket that was waited for.
//!
//! 1. An instance is there from the first use on that counts, or the first wait. Pages of the buffer pool have none: they
//! count by class. 2. Figures of a file's, a socket's or a table's instrument are the sum over these, wherever they are
//! shown.

use super::file_io::of_class;
use super::statements::timer_cells;
use super::table_io;
use crate::information::{Cell, Rows, cells};
use catalog::{FiguresBy, ReadContext};
use instrument::{Class, ClassKind, ClassTotals, Figures, InstanceReport, StatTotals, TABLE_LOCK};

/// Whether a class is of waits, `idle` included.
pub(super) fn is_wait(class: &Class) -> bool {
    !matches!(
        class.kind(),
        ClassKind::Statement
            | ClassKind::Stage
            | ClassKind::Transaction
            | ClassKind::Error
            | ClassKind::Memory
            | ClassKind::Thread
    )
}

/// The figures of a class as its summaries show them: all its uses, and the time of those that were timed.
fn stat_of(totals: &ClassTotals) -> StatTotals {
    StatTotals {
        count: totals.count,
        ns_sum: totals.wait_ns_sum,
        ns_min: totals.wait_ns_min,
        ns_max: totals.wait_ns_max,
    }
}

/// COUNT_STAR and the four timer columns of a class.
pub(super) fn wait_cells(totals: &ClassTotals) -> [Cell<'static>; 5] {
    timer_cells(&stat_of(totals))
}

/// `events_waits_summary_global_by_event_name`.
pub(super) fn global(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let totals = instrument::totals();
    let (files, sockets) = (instrument::file_totals(), instrument::socket_totals());
    for class in instrument::classes().into_iter().filter(|class| is_wait(class)) {
        let stat = match class.kind() {
            ClassKind::File => of_class(&files, class).all(),
            ClassKind::Socket => of_class(&sockets, class).all(),
            ClassKind::TableIo => instrument::table_io_totals(),
            _ if class.name() == TABLE_LOCK.name() => table_io::all_locks(context),
            _ => stat_of(&totals.class(class)),
        };
        let mut row = Vec::from(cells![class.name()]);
        row.extend(timer_cells(&stat));
        rows.push(&row);
    }
}

/// Empties what [`global`] shows; as in MySQL what is counted by instance and by table, too.
pub(super) fn truncate(context: &ReadContext<'_>) {
    context.viewer.truncate_figures(FiguresBy::Everything, Figures::Waits);
    truncate_instances();
    table_io::truncate_objects(context);
}

/// Empties what [`by_instance`] shows.
pub(super) fn truncate_instances() {
    instrument::empty_instances();
    instrument::empty_files();
    instrument::empty_sockets();
}

/// `mutex_instances`: who holds a mutex is known while its holds are timed.
pub(super) fn mutex_instances(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for mutex in sorted(instrument::instances(|kind| kind == ClassKind::Mutex)) {
        rows.push(&cells![mutex.class.name(), mutex.number, mutex.locked_by]);
    }
}

/// `rwlock_instances`: who holds a latch is known while its holds are timed.
pub(super) fn rwlock_instances(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for latch in sorted(instrument::instances(|kind| kind == ClassKind::RwLock)) {
        rows.push(&cells![latch.class.name(), latch.number, latch.locked_by, latch.readers]);
    }
}

/// `events_waits_summary_by_instance`.
pub(super) fn by_instance(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let latches = sorted(instrument::instances(|_| true));
    let latches =
        latches.iter().map(|i| (i.class, i.number, StatTotals { count: i.uses, ..i.waits }));
    let files = instrument::file_reports();
    let files = files.iter().map(|file| (file.class, file.number, file.totals.all()));
    let sockets = instrument::socket_reports();
    let sockets = sockets.iter().map(|socket| (socket.class, socket.number, socket.totals.all()));
    for (class, number, stat) in latches.chain(files).chain(sockets) {
        let mut row = Vec::from(cells![class.name(), number]);
        row.extend(timer_cells(&stat));
        rows.push(&row);
    }
}

/// `cond_instances`.
pub(super) fn cond_instances(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for instance in sorted(instrument::instances(|kind| kind == ClassKind::Cond)) {
        rows.push(&cells![instance.class.name(), instance.number]);
    }
}

fn sorted(mut instances: Vec<InstanceReport>) -> Vec<InstanceReport> {
    instances.sort_by_key(|instance| (instance.class.name(), instance.number));
    instances
}
