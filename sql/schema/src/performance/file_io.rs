//! Files: those that there are, and what was done to them, each and by instrument.
//!
//! 1. A file is there from its first opening until it is removed. By instrument, what was done to files that are gone counts, too.

use super::statements::timer_cells;
use crate::information::{Cell, Rows, cells};
use catalog::ReadContext;
use instrument::{Class, ClassKind, IoOperation, IoTotals};

/// `file_instances`.
pub(super) fn instances(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for file in instrument::file_reports() {
        rows.push(&cells![&*file.name, file.class.name(), file.handles]);
    }
}

/// `file_summary_by_instance`.
pub(super) fn by_instance(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for file in instrument::file_reports() {
        let mut row = Vec::from(cells![&*file.name, file.class.name(), file.number]);
        row.extend(io_cells(&file.totals, signed));
        rows.push(&row);
    }
}

/// `file_summary_by_event_name`.
pub(super) fn by_event_name(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let totals = instrument::file_totals();
    let files = instrument::classes().into_iter().filter(|class| class.kind() == ClassKind::File);
    for class in files {
        let mut row = Vec::from(cells![class.name()]);
        row.extend(io_cells(&of_class(&totals, class), signed));
        rows.push(&row);
    }
}

/// The sums of a class among those by number.
pub(super) fn of_class(
    totals: &std::collections::HashMap<u16, IoTotals>,
    class: &Class,
) -> IoTotals {
    class.id_if_registered().and_then(|id| totals.get(&id)).copied().unwrap_or_default()
}

/// Bytes of files have a sign in MySQL.
fn signed(bytes: u64) -> Cell<'static> {
    Cell::Int(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// From COUNT_STAR on: everything, reads, writes, the rest; bytes behind reads and writes.
pub(super) fn io_cells(totals: &IoTotals, bytes: fn(u64) -> Cell<'static>) -> Vec<Cell<'static>> {
    let of = |operation: IoOperation| timer_cells(&totals.operations[operation as usize]);
    let mut cells = Vec::from(timer_cells(&totals.all()));
    cells.extend(of(IoOperation::Read));
    cells.push(bytes(totals.bytes_read));
    cells.extend(of(IoOperation::Write));
    cells.push(bytes(totals.bytes_written));
    cells.extend(of(IoOperation::Misc));
    cells
}
