//! What an expression sees: one row of its query block, and the rows of the blocks around it.
//!
//! 1. Every source of rows (a table, a derived table, the result of grouping) is a leaf, and a leaf's row
//!    is a stored row: bytes under a [`RowLayout`]. A column is decoded when it is looked at.
//! 2. The null row of an outer join has no bytes; each of its columns is NULL.

use crate::eval::Value;
use crate::refused::Refused;
use crate::tree::{Column, Quantified};
use crate::{Environment, SqlError};
use std::sync::Arc;
use value::{Datum, RowLayout};

/// A row of a query block while operators fill it: one stored row per leaf.
#[derive(Debug, Default)]
pub struct Frame {
    /// By leaf number.
    pub leaves: Vec<LeafRow>,
}

/// The current row of one leaf.
#[derive(Debug)]
pub struct LeafRow {
    /// How the bytes lie; the plan's own copy, so that no other session counts its references.
    pub layout: Arc<RowLayout>,
    /// The row.
    pub bytes: Vec<u8>,
    /// Every column is NULL: an outer join found no row.
    pub null: bool,
    /// The row's clustered key, where the plan keeps it.
    pub key: Vec<u8>,
}

/// The rows of a block's leaves.
#[derive(Clone, Copy, Default)]
pub enum Leaves<'v> {
    /// A block without a table.
    #[default]
    None,
    /// The only leaf, where it lies.
    One(&'v RowLayout, &'v [u8]),
    /// Several.
    Frame(&'v Frame),
}

/// The row an expression sees.
#[derive(Clone, Copy, Default)]
pub struct Row<'v> {
    /// The block's own leaves.
    pub leaves: Leaves<'v>,
    /// The row of the block around this one.
    pub outer: Option<&'v Row<'v>>,
    /// Parameters of the statement.
    pub params: &'v [Datum<'v>],
    /// Names of columns, for messages that quote an expression.
    pub names: Option<&'v dyn crate::print::Names>,
    /// Runs the block's subplans.
    pub subqueries: Option<&'v dyn Subqueries>,
}

impl<'v> Row<'v> {
    /// A row of one leaf.
    pub fn one(layout: &'v RowLayout, bytes: &'v [u8], params: &'v [Datum<'v>]) -> Row<'v> {
        Row { leaves: Leaves::One(layout, bytes), params, ..Row::default() }
    }
}

/// Runs subplans for expressions; `row` is the row of the block that the expression stands in.
pub trait Subqueries {
    /// A value of the subplan's one row; NULL without a row.
    ///
    /// # Errors
    /// 1242 with several rows; whatever the subplan ends in.
    fn scalar(
        &self,
        subplan: usize,
        output: u16,
        row: &Row<'_>,
        env: &mut dyn Environment,
    ) -> Result<Value<'static>, SqlError>;

    /// Whether the subplan has a row.
    ///
    /// # Errors
    /// Whatever the subplan ends in.
    fn exists(
        &self,
        subplan: usize,
        row: &Row<'_>,
        env: &mut dyn Environment,
    ) -> Result<bool, SqlError>;

    /// `left op ANY/ALL (subplan)` in three-valued logic.
    ///
    /// # Errors
    /// Whatever the left side or the subplan ends in.
    fn quantified(
        &self,
        what: &Quantified,
        row: &Row<'_>,
        env: &mut dyn Environment,
    ) -> Result<Option<bool>, SqlError>;
}

/// A column's value.
///
/// # Errors
/// 1712 when the stored row is damaged.
#[inline]
pub fn column<'v>(row: &Row<'v>, place: Column) -> Result<Datum<'v>, SqlError> {
    let mut row = row;
    for _ in 0..place.depth {
        row = row.outer.ok_or(SqlError::Storage(NO_ROW))?;
    }
    let position = usize::from(place.column);
    let (layout, bytes) = match row.leaves {
        Leaves::One(layout, bytes) if place.leaf == 0 => (layout, bytes),
        Leaves::Frame(frame) => {
            let Some(leaf) = frame.leaves.get(usize::from(place.leaf)) else {
                return Err(SqlError::Storage(NO_ROW));
            };
            if leaf.null {
                return Ok(Datum::Null);
            }
            (&*leaf.layout, &leaf.bytes[..])
        }
        _ => return Err(SqlError::Storage(NO_ROW)),
    };
    layout.decode_or(bytes, position, damaged)
}

const NO_ROW: base::Error = base::Error::Internal("column without a row");

/// A stored row that cannot be decoded.
#[cold]
pub fn damaged(error: value::RowError) -> SqlError {
    Refused::DamagedRow(error.column, error.offset, error.what).into()
}
