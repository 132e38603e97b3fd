//! Memory that the parts of the server keep, and what of it sessions do.

use crate::information::{Cell, Rows, cells};
use catalog::ReadContext;
use instrument::{AmountTotals, Class};

/// EVENT_NAME and the figures.
pub(super) fn memory_cells(
    class: &Class,
    pieces: &AmountTotals,
    bytes: &AmountTotals,
) -> [Cell<'static>; 11] {
    cells![
        class.name(),
        pieces.taken,
        pieces.given_back,
        bytes.taken,
        bytes.given_back,
        pieces.low,
        pieces.used,
        pieces.high,
        bytes.low,
        bytes.used,
        bytes.high,
    ]
}

/// `memory_summary_global_by_event_name`.
pub(super) fn global(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for memory in instrument::memory_reports().iter().filter(|memory| !memory.class.is_lost()) {
        rows.push(&memory_cells(memory.class, &memory.pieces, &memory.bytes));
    }
}
