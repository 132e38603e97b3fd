//! What is read from tables and written to them, and how often statements lock them.
//!
//! 1. Tables of the server's own schemas and temporary ones are left out, as in MySQL; each other table that has a definition is
//! there, and each of its indexes, used or not. 2. Rows that are read in the order of the table count for no index; those
//! that are added too; what is changed or removed counts for the primary key. 3. The first read of a range is timed, and one in
//! sixteen of the others, for all. 4. A statement locks each of its tables once, to read or to write; that takes no time of its
//! own, since the metadata lock is all there is, and no lock is one of the kinds that MyISAM tells apart.

use super::statements::timer_cells;
use crate::information::{Cell, Rows, cells};
use catalog::{Definition, NameEntry, ReadContext};
use instrument::{LockTotals, OperationTotals, ROW_OPERATIONS, RowOperation, StatTotals};
use std::sync::Arc;

/// What was done by an index.
struct Used {
    name: Arc<NameEntry>,
    index: Option<String>,
    operations: OperationTotals,
}

/// The tables that have figures, of those for which there is room.
fn tables(
    context: &ReadContext<'_>,
) -> impl Iterator<Item = (Arc<NameEntry>, Arc<Definition>)> + use<> {
    let all = context.catalog.defined().into_iter();
    all.filter(|(name, definition)| {
        let def = &definition.def;
        def.view.is_none() && !def.temporary && name.schema != "mysql" && name.io.has_room()
    })
}

/// What was done to each table by each of its indexes, and without one.
fn used(context: &ReadContext<'_>) -> Vec<Used> {
    let mut found = Vec::new();
    for (name, definition) in tables(context) {
        let mut totals = name.io.totals();
        let indexes = definition.def.indexes.iter().map(|index| Some(index.name.clone()));
        for index in indexes.chain([None]) {
            let at = totals.iter().position(|(name, _)| name.as_deref() == index.as_deref());
            if at.is_none() && index.is_none() && !definition.def.indexes.is_empty() {
                continue;
            }
            let operations = at.map(|at| totals.swap_remove(at).1).unwrap_or_default();
            found.push(Used { name: Arc::clone(&name), index, operations });
        }
    }
    found
}

fn sum(operations: &[StatTotals]) -> StatTotals {
    let mut sum = StatTotals::default();
    operations.iter().for_each(|stat| sum.add(stat));
    sum
}

/// The timer columns: of everything, reads, writes, then each operation.
fn timers(operations: &OperationTotals) -> Vec<Cell<'static>> {
    let (reads, writes) = operations.split_at(RowOperation::Insert as usize);
    let groups = [sum(operations), sum(reads), sum(writes)];
    groups.iter().chain(operations).flat_map(timer_cells).collect()
}

/// `table_io_waits_summary_by_index_usage`.
pub(super) fn by_index(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let used = used(context);
    for table in used.chunk_by(|a, b| Arc::ptr_eq(&a.name, &b.name)) {
        let name = &table[0].name;
        for used in &table[..name.io.room_for_indexes(table.len())] {
            let index = used.index.as_deref();
            let mut row = Vec::from(cells!["TABLE", &name.schema, &name.name, index]);
            row.extend(timers(&used.operations));
            rows.push(&row);
        }
    }
}

/// `table_io_waits_summary_by_table`.
pub(super) fn by_table(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let used = used(context);
    for table in used.chunk_by(|a, b| Arc::ptr_eq(&a.name, &b.name)) {
        let mut operations = [StatTotals::default(); ROW_OPERATIONS];
        for used in table {
            operations.iter_mut().zip(&used.operations).for_each(|(sum, n)| sum.add(n));
        }
        let mut row = Vec::from(cells!["TABLE", &table[0].name.schema, &table[0].name.name]);
        row.extend(timers(&operations));
        rows.push(&row);
    }
}

fn locks_stat(count: u64) -> StatTotals {
    StatTotals { count, ..StatTotals::default() }
}

/// How often all tables were locked.
pub(super) fn all_locks(context: &ReadContext<'_>) -> StatTotals {
    let locks = tables(context).map(|(name, _)| name.io.locks().iter().sum::<u64>());
    locks_stat(locks.sum::<u64>() + instrument::gone_table_locks())
}

/// `table_lock_waits_summary_by_table`.
pub(super) fn locks(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for (name, _) in tables(context).filter(|(name, _)| name.io.has_room_for_locks()) {
        let mut row = Vec::from(cells!["TABLE", &name.schema, &name.name]);
        row.extend(lock_columns(name.io.locks()).iter().flat_map(|n| timer_cells(&locks_stat(*n))));
        rows.push(&row);
    }
}

/// The counts of everything, reads and writes, of four kinds of reads that only MyISAM has, external reads, four such kinds of
/// writes, external writes.
fn lock_columns([read, write]: LockTotals) -> [u64; 13] {
    [read + write, read, write, 0, 0, 0, 0, read, 0, 0, 0, 0, write]
}

/// Empties what [`locks`] shows.
pub(super) fn truncate_locks(context: &ReadContext<'_>) {
    tables(context).for_each(|(name, _)| name.io.empty_locks());
    instrument::empty_gone_table_locks();
}

/// `objects_summary_global_by_type`: what was read and written, and the locks.
pub(super) fn objects(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for (name, _) in tables(context) {
        let mut stat = locks_stat(name.io.locks().iter().sum());
        name.io.totals().iter().for_each(|(_, operations)| stat.add(&sum(operations)));
        let mut row = Vec::from(cells!["TABLE", &name.schema, &name.name]);
        row.extend(timer_cells(&stat));
        rows.push(&row);
    }
}

/// Empties what [`objects`] shows.
pub(super) fn truncate_objects(context: &ReadContext<'_>) {
    instrument::empty_table_io();
    truncate_locks(context);
}
