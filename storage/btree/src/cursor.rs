//! Range reads: one leaf at a time is copied, then read without latches.
//!
//! A range that goes on and on has the next leaves read ahead (`ahead.rs`). Buffers live as long as the cursor: a warm
//! one allocates nothing.
//!
//! 1. A cursor stands between two entries: `next` answers the one after and steps over it, `prev` the one before. Guard:
//!    `a_cursor_turns_around_and_is_reused`.
//! 2. What it answers from one leaf is one state of that leaf; between leaves the tree may change. Every entry that
//!    is in the range all the while is answered once. Guard: `writers_and_readers_share_a_tree`.
//! 3. The next leaf is found by descending with the fence of the last one; no leaf knows its neighbours. Guard: the
//!    errors of `Cursor::astray`.
//! 4. A range that begins in the leaf that is copied already copies it again only if its version has changed. Guard: the
//!    assert of `Cursor::is_there`.

use crate::Tree;
use crate::ahead::Ahead;
use crate::descend::{RESTARTS_MAX, Way};
use base::{Error, PAGE_BYTES, PageBuf, PageNo, Result, TrxId};
use page::{BODY_AT, Node};
use pool::Optimistic;
use std::ops::Bound;

/// A lower or upper end of a range, kept in a reusable buffer.
#[derive(Default)]
struct Edge {
    kind: EdgeKind,
    key: Vec<u8>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum EdgeKind {
    #[default]
    Open,
    Included,
    Excluded,
}

impl Edge {
    fn set(&mut self, bound: Bound<&[u8]>) {
        let (kind, key) = match bound {
            Bound::Unbounded => (EdgeKind::Open, &[][..]),
            Bound::Included(key) => (EdgeKind::Included, key),
            Bound::Excluded(key) => (EdgeKind::Excluded, key),
        };
        self.kind = kind;
        self.key.clear();
        self.key.extend_from_slice(key);
    }

    /// The key that the range ends at, if any.
    fn limit(&self) -> Option<&[u8]> {
        (self.kind != EdgeKind::Open).then_some(&self.key)
    }

    /// Whether a key is below a high edge.
    fn admits_below(&self, key: &[u8]) -> bool {
        match self.kind {
            EdgeKind::Open => true,
            EdgeKind::Included => key <= &self.key[..],
            EdgeKind::Excluded => key < &self.key[..],
        }
    }

    /// Whether a key is above a low edge.
    fn admits_above(&self, key: &[u8]) -> bool {
        match self.kind {
            EdgeKind::Open => true,
            EdgeKind::Included => key >= &self.key[..],
            EdgeKind::Excluded => key > &self.key[..],
        }
    }
}

/// Reusable state of a range read. It belongs to no tree until [`Cursor::open`].
pub struct Cursor {
    leaf: Box<PageBuf>,
    /// Which page the leaf was copied from without a latch, and that one's version.
    copied: Option<(PageNo, u32)>,
    /// The leaf copy holds something, and the cursor stands before its entry `at`.
    placed: bool,
    at: u16,
    /// Entries of the leaf copy.
    count: u16,
    low: Edge,
    high: Edge,
    key: Vec<u8>,
    fence: Vec<u8>,
    ahead: Ahead,
}

/// An entry that a cursor has come to.
pub struct LeafEntry<'c> {
    /// Its key.
    pub key: &'c [u8],
    /// Its payload.
    pub payload: &'c [u8],
    leaf: &'c PageBuf,
}

impl LeafEntry<'_> {
    /// The leaf's [`page::Node::max_trx_id`].
    #[inline]
    pub fn max_trx_id(&self) -> TrxId {
        page::header::max_trx_id(self.leaf)
    }
}

impl Default for Cursor {
    fn default() -> Self {
        Cursor::new()
    }
}

impl Cursor {
    /// An unopened cursor: an empty range.
    pub fn new() -> Cursor {
        Cursor {
            leaf: Box::new([0; PAGE_BYTES]),
            copied: None,
            placed: false,
            at: 0,
            count: 0,
            low: Edge::default(),
            high: Edge::default(),
            key: Vec::new(),
            fence: Vec::new(),
            ahead: Ahead::default(),
        }
    }

    /// Sets the range. The first `next` begins at its low end, a first `prev` at its high end.
    pub fn open(&mut self, low: Bound<&[u8]>, high: Bound<&[u8]>) {
        self.low.set(low);
        self.high.set(high);
        self.placed = false;
    }

    /// The range's ends as they were set: the low one included or open, the high one excluded or open.
    pub fn ends(&self) -> (Option<&[u8]>, Option<&[u8]>) {
        (self.low.limit(), self.high.limit())
    }

    /// The entry after the cursor: key and payload; `None` at the range's end.
    #[inline]
    pub fn next(&mut self, tree: &Tree) -> Result<Option<(&[u8], &[u8])>> {
        Ok(self.next_entry(tree)?.map(|e| (e.key, e.payload)))
    }

    /// The entry before the cursor: key and payload; `None` at the range's beginning.
    #[inline]
    pub fn prev(&mut self, tree: &Tree) -> Result<Option<(&[u8], &[u8])>> {
        Ok(self.prev_entry(tree)?.map(|e| (e.key, e.payload)))
    }

    /// Steps over the entries that come next in the same leaf, backwards if so asked, as long as `pass`
    /// says yes to their payloads.
    pub fn skip(&mut self, backward: bool, pass: impl Fn(&[u8]) -> bool) -> Result<()> {
        let node = Node::new(&self.leaf)?;
        if backward {
            while self.at > 0 && pass(node.payload(self.at - 1)?) {
                self.at -= 1;
            }
        } else {
            while self.at < node.count() && pass(node.payload(self.at)?) {
                self.at += 1;
            }
        }
        Ok(())
    }

    /// As [`Cursor::next`].
    pub fn next_entry(&mut self, tree: &Tree) -> Result<Option<LeafEntry<'_>>> {
        if !self.placed {
            self.place_low(tree)?;
        }
        while self.at >= self.count {
            let node = Node::new(&self.leaf)?;
            let Some(high) = node.high_fence() else { return Ok(None) };
            if !self.high.admits_below(high) {
                return Ok(None);
            }
            self.fence.clear();
            self.fence.extend_from_slice(high);
            self.ahead.go_on(false);
            let way = Way::To(&self.fence);
            self.copied = None;
            self.copied = load(tree, way, self.high.limit(), &mut self.ahead, &mut self.leaf)?;
            let node = Node::new(&self.leaf)?;
            if !node.covers(&self.fence) {
                // Neither would the next one be ahead of this one.
                return Err(self.astray());
            }
            self.count = node.count();
            self.at = node.search(&self.fence)?.slot;
        }
        let node = Node::new(&self.leaf)?;
        node.copy_key(self.at, &mut self.key)?;
        if !self.high.admits_below(&self.key) {
            return Ok(None);
        }
        self.at += 1;
        let payload = node.payload(self.at - 1)?;
        Ok(Some(LeafEntry { key: &self.key, payload, leaf: &self.leaf }))
    }

    /// As [`Cursor::prev`].
    pub fn prev_entry(&mut self, tree: &Tree) -> Result<Option<LeafEntry<'_>>> {
        if !self.placed {
            self.place_high(tree)?;
        }
        while self.at == 0 {
            let low = Node::new(&self.leaf)?.low_fence();
            // Entries to the left are below `low`; with the edge there or above, none of them is in the range.
            if low.is_empty() || self.low.kind != EdgeKind::Open && low <= &self.low.key[..] {
                return Ok(None);
            }
            self.fence.clear();
            self.fence.extend_from_slice(low);
            self.ahead.go_on(true);
            let way = Way::Below(&self.fence);
            self.copied = None;
            self.copied = load(tree, way, self.low.limit(), &mut self.ahead, &mut self.leaf)?;
            let node = Node::new(&self.leaf)?;
            if node.low_fence() >= &self.fence[..] {
                return Err(self.astray());
            }
            self.count = node.count();
            self.at = node.search(&self.fence)?.slot;
        }
        let node = Node::new(&self.leaf)?;
        node.copy_key(self.at - 1, &mut self.key)?;
        if !self.low.admits_above(&self.key) {
            return Ok(None);
        }
        self.at -= 1;
        let payload = node.payload(self.at)?;
        Ok(Some(LeafEntry { key: &self.key, payload, leaf: &self.leaf }))
    }

    /// The leaf that the last one's fence led to is not its neighbour.
    fn astray(&self) -> Error {
        Error::corrupt(page::header::page_id(&self.leaf), "not the leaf that the fence leads to")
    }

    fn place_low(&mut self, tree: &Tree) -> Result<()> {
        self.ahead.place();
        if !self.is_there(tree)? {
            let way = Way::To(&self.low.key);
            self.copied = None;
            self.copied = load(tree, way, None, &mut self.ahead, &mut self.leaf)?;
        }
        let node = Node::new(&self.leaf)?;
        let found = node.search(&self.low.key)?;
        let over = found.exact && self.low.kind == EdgeKind::Excluded;
        self.count = node.count();
        self.at = found.slot + u16::from(over);
        self.placed = true;
        Ok(())
    }

    /// Whether the leaf that covers the low end is copied, and has not changed since.
    fn is_there(&self, tree: &Tree) -> Result<bool> {
        let Some((page, version)) = self.copied else { return Ok(false) };
        let node = Node::new(&self.leaf)?;
        if node.index_id() != tree.index || !node.covers(&self.low.key) {
            return Ok(false);
        }
        let page = tree.ts.optimistic(page)?;
        let is_same = page.version() == version;
        debug_assert!(!is_same || self.is_like(&page), "a leaf has changed under its version");
        Ok(is_same)
    }

    /// Whether the copied leaf has the entries of `page`, unless that is being changed.
    fn is_like(&self, page: &Optimistic<'_>) -> bool {
        let mut now = Box::new([0; PAGE_BYTES]);
        page.node().copy_page(&mut now);
        !page.validate() || now[BODY_AT..] == self.leaf[BODY_AT..]
    }

    fn place_high(&mut self, tree: &Tree) -> Result<()> {
        self.ahead.place();
        self.copied = None;
        if self.high.kind == EdgeKind::Open {
            load(tree, Way::Last, None, &mut self.ahead, &mut self.leaf)?;
            self.count = Node::new(&self.leaf)?.count();
            self.at = self.count;
        } else {
            load(tree, Way::To(&self.high.key), None, &mut self.ahead, &mut self.leaf)?;
            let node = Node::new(&self.leaf)?;
            self.count = node.count();
            let found = node.search(&self.high.key)?;
            let over = found.exact && self.high.kind == EdgeKind::Included;
            self.at = found.slot + u16::from(over);
        }
        self.placed = true;
        Ok(())
    }
}

/// Copies the leaf that `way` leads to; the range goes no further than `limit`. Answers its page and version
/// unless it had to be latched.
fn load(
    tree: &Tree,
    way: Way<'_>,
    limit: Option<&[u8]>,
    ahead: &mut Ahead,
    leaf: &mut PageBuf,
) -> Result<Option<(PageNo, u32)>> {
    for _ in 0..RESTARTS_MAX {
        if let Some(page) = tree.try_descend_in_passing(way, limit, ahead)? {
            page.node().copy_page(leaf);
            if page.validate() {
                return Ok(Some((page.page_no(), page.version())));
            }
        }
    }
    leaf.copy_from_slice(&tree.descend_shared(way)?[..]);
    Ok(None)
}

/// A cursor that knows its tree.
pub struct Range<'t> {
    tree: &'t Tree,
    cursor: Cursor,
}

impl Range<'_> {
    /// See [`Cursor::next`].
    #[allow(clippy::should_implement_trait)] // it lends from itself, which `Iterator` cannot
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.cursor.next(self.tree)
    }

    /// See [`Cursor::prev`].
    pub fn prev(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.cursor.prev(self.tree)
    }
}

impl Tree {
    /// Reads a range with a cursor of its own; a caller that reads often keeps a [`Cursor`].
    pub fn range(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Range<'_> {
        let mut cursor = Cursor::new();
        cursor.open(low, high);
        Range { tree: self, cursor }
    }
}
