//! What statements cost: by instrument, by digest, and by the time that they took.
//!
//! 1. Times are counted in nanoseconds and shown in picoseconds. 2. A digest's statements are those of its text and current
//! schema, whether they came as text or were prepared.

use crate::information::{Cell, Rows, cells};
use catalog::{FiguresBy, ReadContext};
use instrument::{
    Buckets, DigestReport, Figures, STATEMENT_BUCKETS, STATEMENTS, StatTotals, StatementTotals,
    Sum, bucket_limits,
};

/// Picoseconds in a nanosecond.
pub(super) const PS: u64 = 1000;

/// The sums of a statement summary, in the order of its columns.
pub(super) const SHOWN: [Sum; 19] = [
    Sum::Errors,
    Sum::Warnings,
    Sum::RowsAffected,
    Sum::RowsSent,
    Sum::RowsExamined,
    Sum::CreatedTmpDiskTables,
    Sum::CreatedTmpTables,
    Sum::SelectFullJoin,
    Sum::SelectFullRangeJoin,
    Sum::SelectRange,
    Sum::SelectRangeCheck,
    Sum::SelectScan,
    Sum::SortMergePasses,
    Sum::SortRange,
    Sum::SortRows,
    Sum::SortScan,
    Sum::NoIndexUsed,
    Sum::NoGoodIndexUsed,
    Sum::CpuNs,
];

/// COUNT_STAR and the four timer columns.
pub(super) fn timer_cells(stat: &StatTotals) -> [Cell<'static>; 5] {
    let average = stat.ns_sum.saturating_mul(PS).checked_div(stat.count);
    let ps = |ns: u64| Cell::UInt(ns.saturating_mul(PS));
    let average = Cell::UInt(average.unwrap_or(0));
    [Cell::UInt(stat.count), ps(stat.ns_sum), ps(stat.ns_min), average, ps(stat.ns_max)]
}

/// From COUNT_STAR to COUNT_SECONDARY. Nothing runs on a secondary engine.
pub(super) fn statement_cells(totals: &StatementTotals) -> Vec<Cell<'static>> {
    let mut cells = Vec::from(timer_cells(&totals.stat));
    cells.push(Cell::UInt(totals.sum(Sum::LockNs).saturating_mul(PS)));
    cells.extend(SHOWN.iter().map(|sum| match sum {
        Sum::CpuNs => Cell::UInt(totals.sum(*sum).saturating_mul(PS)),
        sum => Cell::UInt(totals.sum(*sum)),
    }));
    let memory = [Sum::MaxControlledMemory, Sum::MaxTotalMemory];
    cells.extend(memory.map(|sum| Cell::UInt(totals.sum(sum))));
    cells.push(Cell::UInt(0));
    cells
}

/// `events_statements_summary_global_by_event_name`.
pub(super) fn global(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let totals = instrument::totals();
    for (number, class) in STATEMENTS.iter().enumerate().filter(|(_, class)| !class.is_lost()) {
        let mut row = Vec::from(cells![class.name()]);
        row.extend(statement_cells(&totals.statement(number as u16)));
        rows.push(&row);
    }
}

/// Empties [`global`], those by thread, account, user and host, and [`histogram_global`].
pub(super) fn truncate(context: &ReadContext<'_>) {
    context.viewer.truncate_figures(FiguresBy::Everything, Figures::Statements);
    instrument::empty(Figures::Times);
}

/// A hash as DIGEST shows it.
pub(crate) fn hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SCHEMA_NAME and DIGEST; the latter is NULL where nothing is told of the text.
fn key_cells(digest: &DigestReport) -> [Cell<'_>; 2] {
    let Some(key) = &digest.key else { return [Cell::Null, Cell::Null] };
    let hash = (!digest.text.is_empty()).then(|| hex(&key.hash));
    [key.schema.as_deref().into(), hash.into()]
}

/// `events_statements_summary_by_digest`.
pub(super) fn by_digest(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let (now_ns, now_us) = (sync::now_ns(), host::clock::unix_micros() as i64);
    let moment = |ns: u64| Cell::Time(now_us - (now_ns.saturating_sub(ns) / PS) as i64);
    for digest in instrument::digests().iter().filter(|digest| is_shown(digest)) {
        let totals = &digest.totals;
        let mut row = Vec::from(key_cells(digest));
        row.push(Some(&*digest.text).filter(|text| !text.is_empty()).into());
        row.extend(statement_cells(&totals.statements));
        row.push(Cell::Time(digest.first_seen_us as i64));
        row.push(moment(totals.last_ns));
        row.extend([0.95, 0.99, 0.999].map(|share| Cell::UInt(totals.histogram.quantile(share))));
        let text = String::from_utf8_lossy(&totals.sample.text).into_owned();
        row.push((!text.is_empty()).then_some(text).into());
        row.push(moment(totals.sample.end_ns));
        row.push(Cell::UInt(totals.sample.ns.saturating_mul(PS)));
        rows.push(&row);
    }
}

/// A digest that was met and has run.
fn is_shown(digest: &DigestReport) -> bool {
    digest.totals.statements.stat.count > 0
}

/// The columns of a histogram's rows, of all buckets.
fn histogram_cells(buckets: &Buckets) -> impl Iterator<Item = [Cell<'static>; 6]> {
    let all = buckets.count_until(STATEMENT_BUCKETS);
    (0..STATEMENT_BUCKETS).scan(0, move |until, bucket| {
        let count = buckets.count(bucket);
        *until += count;
        let (low, high) = bucket_limits(bucket);
        let quantile = if all == 0 { 0.0 } else { *until as f64 / all as f64 };
        Some(cells![bucket as u64, low, high, count, *until, (quantile * 1e6).round() / 1e6])
    })
}

/// `events_statements_histogram_global`.
pub(super) fn histogram_global(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let mut times = instrument::digest_times();
    times.add(instrument::totals().times());
    histogram_cells(&times).for_each(|row| rows.push(&row));
}

/// `events_statements_histogram_by_digest`.
pub(super) fn histogram_by_digest(_: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for digest in instrument::digests().iter().filter(|digest| is_shown(digest)) {
        let mut row = Vec::from(key_cells(digest));
        let keys = row.len();
        for bucket in histogram_cells(&digest.totals.histogram) {
            row.truncate(keys);
            row.extend(bucket);
            rows.push(&row);
        }
    }
}

/// `prepared_statements_instances`. None belongs to a stored program.
pub(super) fn prepared(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for (thread_id, report) in context.viewer.prepared_statements() {
        let mut row = Vec::from(cells![
            report.instance,
            report.of.id,
            report.of.name.as_deref(),
            String::from_utf8_lossy(&report.of.text).into_owned(),
            thread_id,
            report.of.event_id,
            Cell::Null,
            Cell::Null,
            Cell::Null,
            "PRIMARY",
            report.prepare_ns.saturating_mul(PS),
            report.reprepared,
        ]);
        row.extend(statement_cells(&report.executions));
        rows.push(&row);
    }
}
