//! Row locks of reads: what is written of them, and what MySQL takes where nothing is written.

use crate::{Context, SqlError};
use engine::{Client, LockMode, LockWait, RowLock};
use parser::ast;
use planner::query_plan;

/// What becomes of the rows that a statement reads of tables for which it names no lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// They are shown: nobody minds that they change, but in SERIALIZABLE transactions.
    Shown,
    /// Others are made of them (INSERT ... SELECT, CREATE TABLE ... SELECT, UPDATE of one table): they stay as
    /// they are where the level promises repeatable reads.
    Copied,
    /// The statement depends on them otherwise: they stay as they are.
    Needed,
}

/// The lock of reads for which none is written.
pub fn unnamed(used: Use, client: &Client) -> Option<RowLock> {
    let locks = match used {
        Use::Shown => client.shows_locked(),
        Use::Copied => client.isolation() >= base::Isolation::RepeatableRead,
        Use::Needed => true,
    };
    locks.then_some(RowLock::SHARE)
}

/// Reads in a statement that changes rows. What it copies without locks is seen as the isolation level shows it;
/// everything else of such a statement looks at the latest versions.
///
/// # Errors
/// Those of `read`.
pub fn read_for_change<T>(
    used: Use,
    context: &mut Context<'_>,
    read: impl FnOnce(&mut Context<'_>) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let shows = used == Use::Copied && unnamed(used, context.client).is_none();
    context.client.set_reads_latest(!shows);
    let done = read(context);
    context.client.set_reads_latest(true);
    done
}

/// The lock that a plan asks for.
pub fn named(lock: query_plan::RowLock) -> RowLock {
    RowLock {
        mode: if lock.exclusive { LockMode::Exclusive } else { LockMode::Shared },
        wait: match lock.wait {
            ast::LockWait::Wait => LockWait::Wait,
            ast::LockWait::NoWait => LockWait::NoWait,
            ast::LockWait::SkipLocked => LockWait::SkipLocked,
        },
    }
}
