//! Rows as they lie, one after the other: the way of those that only pass through, without a frame for each.
//!
//! 1. What an operator shows this way are the rows that [`Operator::next`] would put into its leaf, in the same order.
//! An operator that has begun one way goes on with it until it is opened again. 2. No row is read behind the one with which
//! the taker has enough. 3. No latch is held while a row is shown; but nobody waits for a client there, since that
//! would count as reading.

use super::{Operator, Run};
use crate::SqlError;
use expr::tree::Column;
use expr::{Expr, Frame};
use std::sync::Arc;
use value::{Kind, RowLayout};

/// The number of a leaf, and how its rows lie.
pub type StoredLeaf<'o> = (u16, &'o Arc<RowLayout>);

/// Takes a row; `true`: that is enough for now.
pub type TakeRow<'t> = dyn FnMut(&[u8]) -> bool + 't;

/// [`Operator::pass`] to one who may end in an error.
///
/// # Errors
/// Those of the operator and of `take`.
#[inline]
pub fn pass_each(
    operator: &mut (impl Operator + ?Sized),
    run: &mut Run<'_>,
    frame: &mut Frame,
    mut take: impl FnMut(&[u8]) -> Result<bool, SqlError>,
) -> Result<bool, SqlError> {
    let mut failed = None;
    let more = operator.pass(run, frame, &mut |row| match take(row) {
        Ok(enough) => enough,
        Err(error) => {
            failed = Some(error);
            true
        }
    })?;
    failed.map_or(Ok(more), Err)
}

/// The column of `leaf` that an expression is, if its value is the stored one whatever the session.
pub fn stored_column(expr: &Expr, leaf: u16, layout: &RowLayout) -> Option<usize> {
    match expr {
        Expr::Column(Column { depth: 0, leaf: of, column }) if *of == leaf => {
            let column = usize::from(*column);
            // Sessions see a TIMESTAMP in local time.
            let is_local = layout.column_type(column)?.kind == Kind::Timestamp;
            (!is_local).then_some(column)
        }
        _ => None,
    }
}
