//! Memory that the parts of the server keep.

use crate::information::{Rows, cells};
use catalog::ReadContext;

/// `memory_summary_global_by_event_name`.
pub(super) fn global(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for memory in instrument::memory_reports() {
        let (pieces, bytes) = (memory.pieces, memory.bytes);
        rows.push(&cells![
            memory.class.name(),
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
        ]);
    }
}
