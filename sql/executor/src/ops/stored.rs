//! Rows as they lie, many at a time: the way of those that only pass through, without a frame for each.
//!
//! 1. What an operator gives this way are the rows that [`super::Operator::next`] would put into its leaf, in the same order.
//! An operator that has begun one way goes on with it until it is opened again. 2. No more rows are read than the batch
//! takes: who wants so many asks for so many.

use super::{Statement, trim};
use expr::Expr;
use expr::tree::Column;
use std::sync::Arc;
use value::{Kind, RowLayout};

/// Room for the ends of so many rows is kept from run to run.
const ENDS_SPARE_MAX: usize = 128;

/// Rows behind each other, as they are stored.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
    /// Rows that it takes.
    rows_max: u64,
    /// With so many bytes it takes no more rows.
    bytes_max: usize,
    /// Memory for who fills it.
    pub(super) spare: Vec<u8>,
    /// The statement that runs has used it.
    pub(crate) is_used: bool,
}

impl Batch {
    /// Forgets the rows, and takes so many, until they have so many bytes.
    pub fn begin(&mut self, rows_max: u64, bytes_max: usize) {
        self.clear();
        (self.rows_max, self.bytes_max) = (rows_max, bytes_max);
    }

    /// As [`Batch::begin`], with the bytes as they were.
    pub fn limit_to(&mut self, rows_max: u64) {
        self.clear();
        self.rows_max = rows_max;
    }

    /// For another statement.
    pub(crate) fn unused(mut self: Box<Batch>) -> Box<Batch> {
        self.is_used = false;
        self
    }

    /// Forgets the rows.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a row; `true`: it is the last one that has room.
    #[inline]
    pub fn push(&mut self, row: &[u8]) -> bool {
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len());
        self.ends.len() as u64 >= self.rows_max || self.bytes.len() >= self.bytes_max
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Rows that it takes.
    pub fn rows_max(&self) -> u64 {
        self.rows_max
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[*start..*end])
    }

    /// Gives back memory that is large.
    pub fn trim(&mut self) {
        self.clear();
        trim(&mut self.bytes);
        trim(&mut self.spare);
        if self.ends.capacity() > ENDS_SPARE_MAX {
            self.ends.shrink_to(ENDS_SPARE_MAX);
        }
    }

    /// Memory it takes, in bytes.
    pub fn kept_bytes(&self) -> usize {
        self.bytes.capacity() + 8 * self.ends.capacity() + self.spare.capacity()
    }
}

/// Calls `f` with a batch whose memory is the session's.
pub fn with_spare<T>(st: &Statement<'_>, f: impl FnOnce(&mut Batch) -> T) -> T {
    let mut batch = st.spare.take().unwrap_or_else(|| {
        Box::new(Batch { bytes: Vec::with_capacity(PASSING_ROOM_BYTES), ..Batch::default() })
    });
    let result = f(&mut batch);
    batch.trim();
    batch.is_used = true;
    st.spare.set(Some(batch));
    result
}

/// Bytes of rows that pass through at a time: their memory stays with the session.
pub const PASSING_BYTES: usize = 1 << 10;
/// Room for them and the row that is one too many.
const PASSING_ROOM_BYTES: usize = PASSING_BYTES + PASSING_BYTES / 4;

/// The number of a leaf, and how its rows lie.
pub type StoredLeaf<'o> = (u16, &'o Arc<RowLayout>);

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
