//! `limpid_latch_holds`: how often each latch class is taken, and for what share of the time it is held.
//!
//! Switch it on with `SET GLOBAL limpid_instrument_level = synch`, begin anew with TRUNCATE, and ask for
//! `ORDER BY HELD_PERCENT DESC`: a class near 100 % is the next thing that will not scale.

use crate::table::{Type, performance};
use catalog::{MadeRows, ReadContext, TableDef, VirtualTable};
use value::Datum;

/// The table.
pub(crate) struct LatchHolds {
    def: TableDef,
}

impl LatchHolds {
    pub(crate) fn new() -> Self {
        let columns = [
            ("EVENT_NAME", Type::Text(128)),
            ("ACQUISITIONS", Type::Unsigned),
            ("ACQUISITIONS_PER_SECOND", Type::Double),
            ("CONTENDED", Type::Unsigned),
            ("WAIT_NS_SUM", Type::Unsigned),
            ("WAIT_NS_MAX", Type::Unsigned),
            ("HOLD_NS_SUM", Type::Unsigned),
            ("HOLD_NS_MAX", Type::Unsigned),
            // Over 100 where several threads hold latches of the class at a time.
            ("HELD_PERCENT", Type::Double),
            ("WINDOW_SECONDS", Type::Double),
        ];
        LatchHolds { def: performance("limpid_latch_holds", &columns, true) }
    }
}

impl VirtualTable for LatchHolds {
    fn def(&self) -> &TableDef {
        &self.def
    }

    fn rows(&self, _: &ReadContext<'_>, out: &mut MadeRows<'_>) {
        let holds = instrument::holds();
        let window_ns = holds.elapsed_ns(sync::now_ns()) as f64;
        let of_window =
            |n: u64, unit: f64| if window_ns > 0.0 { n as f64 * unit / window_ns } else { 0.0 };
        for (class, held) in &holds.classes {
            out.push(&[
                Datum::Bytes(class.name().as_bytes()),
                Datum::UInt(held.acquisitions),
                Datum::Double(rounded(of_window(held.acquisitions, 1e9))),
                Datum::UInt(held.contended),
                Datum::UInt(held.wait_ns_sum),
                Datum::UInt(held.wait_ns_max),
                Datum::UInt(held.hold_ns_sum),
                Datum::UInt(held.hold_ns_max),
                Datum::Double(rounded(of_window(held.hold_ns_sum, 100.0))),
                Datum::Double(rounded(window_ns / 1e9)),
            ]);
        }
    }

    fn truncatable(&self) -> bool {
        true
    }

    fn truncate(&self, _: &ReadContext<'_>) {
        instrument::reset_holds(sync::now_ns());
    }
}

/// Three digits after the point: the clock gives no more.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
