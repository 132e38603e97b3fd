//! Walks the rows of an access path that satisfy the filter.

use crate::ranges::resolve;
use crate::{Context, Environment, SqlError};
use catalog::TableRef;
use expr::tree::Expr;
use expr::{Row, condition};
use planner::plan::Access;
use std::ops::{Bound, ControlFlow};
use value::Datum;

/// Rows between two looks at the kill flag.
const KILL_CHECK_ROWS: u64 = 64;

/// What is read: a table, how, and what every row must satisfy.
#[derive(Clone, Copy)]
pub struct Source<'p> {
    /// The table.
    pub table: TableRef,
    /// How rows are found.
    pub access: &'p Access,
    /// What every row must satisfy.
    pub filter: Option<&'p Expr>,
    /// Columns that the filter and the visitor look at; `None`: all of them.
    pub columns: Option<&'p [usize]>,
    /// Parameters of the statement.
    pub params: &'p [Datum<'p>],
}

/// What is done with a row; breaks when enough were seen.
pub type Visit<'f> =
    dyn FnMut(&Row<'_>, &mut dyn Environment) -> Result<ControlFlow<()>, SqlError> + 'f;

/// Calls `visit` for every row until it breaks.
///
/// # Errors
/// Storage errors, those of evaluating the filter, 1317 when killed.
pub fn each(
    context: &mut Context<'_>,
    source: Source<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), SqlError> {
    let table = context.tables.table(source.table);
    let reading = resolve(source.access, table, source.params, context.env)?;
    let mut examined: u64 = 0;
    for (low, high) in &reading.ranges {
        let mut scan = context.client.scan(table, reading.index, slice(low), slice(high))?;
        if let Some(columns) = source.columns {
            scan.need(columns);
        }
        while let Some(bytes) = scan.next()? {
            examined += 1;
            if examined.is_multiple_of(KILL_CHECK_ROWS) {
                check_killed()?;
            }
            let row = Row::one(table.layout(), bytes, source.params);
            let wanted = match source.filter {
                Some(filter) => condition(filter, &row, context.env)? == Some(true),
                None => true,
            };
            if wanted && visit(&row, context.env)?.is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// 1317 when the current session was killed.
pub fn check_killed() -> Result<(), SqlError> {
    let killed = sync::with_current(|slot| slot.is_some_and(sync::SessionSlot::killed));
    if killed { Err(SqlError::Storage(base::Error::Killed)) } else { Ok(()) }
}

/// A bound that borrows its key.
pub fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}
