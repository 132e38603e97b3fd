//! Walks all rows of a table.

use crate::{Context, SqlError};
use catalog::TableRef;

/// Rows between two looks at the kill flag.
const KILL_CHECK_ROWS: u64 = 64;

/// Calls `visit` for the bytes of every row that the statement sees, in the order of the clustered index.
///
/// # Errors
/// Storage errors, those of `visit`, 1317 when killed.
pub fn each(
    context: &mut Context<'_>,
    table: TableRef,
    visit: &mut dyn FnMut(&[u8]) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let table = context.tables.table(table);
    let mut scan = context.client.scan_seen(table)?;
    let mut examined: u64 = 0;
    while let Some(bytes) = scan.next()? {
        examined += 1;
        if examined.is_multiple_of(KILL_CHECK_ROWS) {
            check_killed()?;
        }
        visit(bytes)?;
    }
    Ok(())
}

/// 1317 when the current session was killed.
pub fn check_killed() -> Result<(), SqlError> {
    let killed = sync::with_current(|slot| slot.is_some_and(sync::SessionSlot::killed));
    if killed { Err(SqlError::Storage(base::Error::Killed)) } else { Ok(()) }
}
