//! What is read from tables and written to them.
//!
//! 1. Tables of the server's own schemas and temporary ones are left out, as in MySQL; each other table that has a definition is
//! there, and each of its indexes, used or not. 2. Rows that are read in the order of the table count for no index; those
//! that are added too; what is changed or removed counts for the primary key. 3. The first read of a range is timed, and one in
//! sixteen of the others, for all.

use super::statements::timer_cells;
use crate::information::{Cell, Rows, cells};
use catalog::ReadContext;
use instrument::{OperationTotals, ROW_OPERATIONS, RowOperation, StatTotals};

/// What was done by an index.
struct Used {
    schema: String,
    table: String,
    index: Option<String>,
    operations: OperationTotals,
}

/// What was done to each table by each of its indexes, and without one.
fn used(context: &ReadContext<'_>) -> Vec<Used> {
    let mut found = Vec::new();
    for (name, definition) in context.catalog.defined() {
        if definition.def.view.is_some() || definition.def.temporary || name.schema == "mysql" {
            continue;
        }
        let mut totals = name.io.totals();
        let indexes = definition.def.indexes.iter().map(|index| Some(index.name.clone()));
        for index in indexes.chain([None]) {
            let at = totals.iter().position(|(name, _)| name.as_deref() == index.as_deref());
            if at.is_none() && index.is_none() && !definition.def.indexes.is_empty() {
                continue;
            }
            let operations = at.map(|at| totals.swap_remove(at).1).unwrap_or_default();
            let (schema, table) = (name.schema.clone(), name.name.clone());
            found.push(Used { schema, table, index, operations });
        }
    }
    found
}

fn sum(operations: &[StatTotals]) -> StatTotals {
    let mut sum = StatTotals::default();
    operations.iter().for_each(|stat| sum.add(stat));
    sum
}

/// What was done to all tables.
pub(super) fn all(context: &ReadContext<'_>) -> StatTotals {
    let used = used(context);
    sum(&used.iter().map(|used| sum(&used.operations)).collect::<Vec<_>>())
}

/// The timer columns: of everything, reads, writes, then each operation.
fn timers(operations: &OperationTotals) -> Vec<Cell<'static>> {
    let (reads, writes) = operations.split_at(RowOperation::Insert as usize);
    let groups = [sum(operations), sum(reads), sum(writes)];
    groups.iter().chain(operations).flat_map(timer_cells).collect()
}

/// `table_io_waits_summary_by_index_usage`.
pub(super) fn by_index(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    for used in used(context) {
        let mut row = Vec::from(cells!["TABLE", &used.schema, &used.table, used.index]);
        row.extend(timers(&used.operations));
        rows.push(&row);
    }
}

/// `table_io_waits_summary_by_table`.
pub(super) fn by_table(context: &ReadContext<'_>, rows: &mut Rows<'_, '_>) {
    let used = used(context);
    for table in used.chunk_by(|a, b| (&a.schema, &a.table) == (&b.schema, &b.table)) {
        let mut operations = [StatTotals::default(); ROW_OPERATIONS];
        for used in table {
            operations.iter_mut().zip(&used.operations).for_each(|(sum, n)| sum.add(n));
        }
        let mut row = Vec::from(cells!["TABLE", &table[0].schema, &table[0].table]);
        row.extend(timers(&operations));
        rows.push(&row);
    }
}
