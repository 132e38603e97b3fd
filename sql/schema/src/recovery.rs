//! `limpid_recovery`: how far the recovery is that goes on behind the server's answers; one row.

use crate::table::{Type, performance};
use catalog::{MadeRows, ReadContext, TableDef, VirtualTable};
use engine::Engine;
use std::sync::Arc;
use value::Datum;

/// The table.
pub(crate) struct Recovery {
    def: TableDef,
    engine: Arc<Engine>,
}

impl Recovery {
    pub(crate) fn new(engine: &Arc<Engine>) -> Self {
        let columns = [
            // scan, apply, rollback, purge, done.
            ("PHASE", Type::Text(16)),
            ("REDO_BYTES_TOTAL", Type::Unsigned),
            ("REDO_BYTES_DONE", Type::Unsigned),
            ("PAGES_TOTAL", Type::Unsigned),
            ("PAGES_DONE", Type::Unsigned),
            ("LOSERS_TOTAL", Type::Unsigned),
            ("LOSERS_DONE", Type::Unsigned),
            ("ROWS_UNDONE", Type::Unsigned),
            // Microseconds since 1970.
            ("BEGAN_AT_US", Type::Unsigned),
            // Left of this phase; NULL while nobody knows.
            ("ESTIMATE_SECONDS", Type::NullableUnsigned),
        ];
        let def = performance("limpid_recovery", &columns, false);
        Recovery { def, engine: Arc::clone(engine) }
    }
}

impl VirtualTable for Recovery {
    fn def(&self) -> &TableDef {
        &self.def
    }

    fn rows(&self, _: &ReadContext<'_>, out: &mut MadeRows<'_>) {
        let p = self.engine.recovery_progress();
        out.push(&[
            Datum::Bytes(p.phase.name().as_bytes()),
            Datum::UInt(p.redo_bytes_total),
            Datum::UInt(p.redo_bytes_done),
            Datum::UInt(p.pages_total),
            Datum::UInt(p.pages_done),
            Datum::UInt(p.losers_total),
            Datum::UInt(p.losers_done),
            Datum::UInt(p.rows_undone),
            Datum::UInt(p.began_at_us),
            p.estimate_s.map_or(Datum::Null, Datum::UInt),
        ]);
    }
}
