//! Statements that keep everyone away while they wait for metadata locks, and so wait in turns (`mdl::turns`).
//!
//! 1. When the slice is over, all that the attempt locked is given back and what it warned of is forgotten; after the
//!    gap the statement begins anew. So up to its last lock it changes nothing, and what it looked at it looks at
//!    again. 2. A lock that is taken after work was done is taken by [`mdl::Mdl::upgrade`], which is never given back.

use crate::{Context, SqlError};
use catalog::CatalogError;
use mdl::MdlError;
use std::sync::Arc;

/// Runs a statement in turns. `wait`: its WAIT or NOWAIT.
///
/// # Errors
/// Those of `run`, and of waiting.
pub fn in_turns<T>(
    wait: Option<u64>,
    context: &mut Context<'_>,
    mut run: impl FnMut(&mut Context<'_>) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let mdl = Arc::clone(context.tables.catalog().mdl());
    let (mark, warned) = (context.tables.mark(), context.env.warning_count());
    mdl.begin_turn(context.client.slot(), context.env.patience(wait));
    let end = loop {
        let end = run(context);
        if !matches!(&end, Err(SqlError::Catalog(CatalogError::Lock(MdlError::Yielded)))) {
            break end;
        }
        let slot = context.client.slot();
        context.tables.release_since(slot, mark);
        context.tables.end_statement(slot);
        context.env.forget_warnings(warned);
        if let Err(error) = mdl.pass(slot) {
            break Err(CatalogError::from(error).into());
        }
    };
    mdl.end_turn(context.client.slot());
    end
}
