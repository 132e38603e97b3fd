//! Rows of an index range, in order.

use base::Result;
use std::marker::PhantomData;

/// Rows of an index range; made by [`crate::Client::scan`].
pub struct Scan<'a> {
    _client: PhantomData<&'a mut ()>,
}

impl Scan<'_> {
    /// The next row (in [`value::RowLayout`] form), or `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "the row borrows the scan")]
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        todo!()
    }

    /// The clustered key of the row that [`Self::next`] returned last.
    pub fn key(&self) -> &[u8] {
        todo!()
    }
}
