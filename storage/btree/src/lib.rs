//! B+trees: search, cursor, insert, split, check.
//!
//! 1. A tree has no latch of its own and no sibling links. Readers take no latch: they read a page's version word,
//!    the page, and the word again; a child's word is read before the parent's is checked the second time. Guard:
//!    `writers_and_readers_share_a_tree`.
//! 2. The root's page number never changes: when the root is full, its content moves to a new page below it. Guard:
//!    `split::assert_raised`, the errors of `Tree::check_root`.
//! 3. A leaf op happens in the caller's mini-transaction; a split is a mini-transaction of its own, so a crash
//!    between the two leaves a correct tree. A leaf op that does not fit has changed nothing.
//!    Guard: the assert of `Mtr::new` (no latch is held), `a_split_alone_is_a_correct_tree`.
//! 4. Latches are taken from the root down: parent before child, a tree's pages before the space's header page.
//!    Guard: `Mtr::assert_order`; a circle of latches stops a seed of the engine's `one_runner`.
//! 5. A node covers [low fence, high fence); its parent's separators are exactly the low fences of its children.
//!    A leaf may be empty; an inner node never is. Guard: `split::assert_split`, [`Tree::verify`].

mod ahead;
mod between;
mod check;
mod cursor;
mod descend;
mod estimate;
mod free;
mod leaf;
mod near;
mod part;
mod plan;
mod split;
mod spot;
#[cfg(test)]
mod tests;

pub use check::TreeReport;
pub use cursor::{Cursor, LeafEntry, Range};
pub use leaf::{Fit, Following, Position};
pub use near::Near;
pub use page::{ENTRY_BYTES_MAX, KEY_BYTES_MAX, ROW_KEY_BYTES_MAX};
pub use space::Release;
pub use spot::Spot;

use base::{Error, IndexId, PageId, PageNo, Result};
use page::{PageKind, PageOp};
use pool::{Mtr, Tablespace};
use space::{Segment, SegmentKind};
use std::sync::Arc;

/// A B+tree in a tablespace. Cheap to make from what the dictionary knows.
#[derive(Clone)]
pub struct Tree {
    /// Where its pages are.
    pub ts: Arc<Tablespace>,
    /// Its root, for ever.
    pub root: PageNo,
    /// The index it is.
    pub index: IndexId,
}

impl Tree {
    /// The tree of `index` whose root is page `root`.
    pub fn new(ts: Arc<Tablespace>, root: PageNo, index: IndexId) -> Tree {
        Tree { ts, root, index }
    }

    /// Makes an empty tree in `mtr`; answers its root page.
    ///
    /// Errors: [`Error::NoSpace`] before anything is changed.
    pub fn create<'p>(mtr: &mut Mtr<'p>, ts: &'p Tablespace, index: IndexId) -> Result<PageNo> {
        let root = space::allocate(mtr, ts, Segment::new(index, SegmentKind::Inner))?;
        let h = mtr.fresh(ts, root)?;
        mtr.apply(h, &empty_leaf(index))?;
        Ok(root)
    }

    /// The segment that its pages of `level` are in; the root is in that of the inner nodes.
    pub(crate) fn segment(&self, level: u8) -> Segment {
        let kind = if level == 0 { SegmentKind::Leaf } else { SegmentKind::Inner };
        Segment::new(self.index, kind)
    }

    fn corrupt(&self, page: PageNo, what: &'static str) -> Error {
        Error::corrupt(PageId::new(self.ts.id(), page), what)
    }
}

/// The op that makes a page the only leaf of an empty tree.
fn empty_leaf(index_id: IndexId) -> PageOp<'static> {
    PageOp::Init { kind: PageKind::Leaf, level: 0, index_id, low_fence: &[], high_fence: None }
}
