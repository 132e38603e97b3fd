//! Range reads: what the range needs of one leaf at a time is copied (`part.rs`), then read without latches.
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

use crate::Tree;
use crate::ahead::Ahead;
use crate::descend::Way;
use crate::part::{Edge, Part};
use base::{Error, Result, TrxId};
use std::ops::Bound;

/// Reusable state of a range read. It belongs to no tree until [`Cursor::open`].
pub struct Cursor {
    part: Part,
    /// The cursor stands before entry `at` of the part, or behind its last one.
    placed: bool,
    at: u16,
    /// The slot of the entry that was answered last.
    answered: u16,
    low: Edge,
    high: Edge,
    /// Of the entry that was answered last; it begins with the part's prefix before.
    key: Vec<u8>,
    /// Where the range has left a leaf.
    border: Edge,
    ahead: Ahead,
}

/// An entry that a cursor has come to.
pub struct LeafEntry<'c> {
    /// Its key.
    pub key: &'c [u8],
    /// Its payload.
    pub payload: &'c [u8],
    max_trx_id: TrxId,
}

impl LeafEntry<'_> {
    /// The leaf's [`page::Node::max_trx_id`].
    #[inline]
    pub fn max_trx_id(&self) -> TrxId {
        self.max_trx_id
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
            part: Part::new(),
            placed: false,
            at: 0,
            answered: 0,
            low: Edge::default(),
            high: Edge::default(),
            key: Vec::new(),
            border: Edge::default(),
            ahead: Ahead::default(),
        }
    }

    /// The range is over: the memory of its leaf goes back to the thread.
    pub fn release(&mut self) {
        self.part.release();
    }

    /// Sets the range. The first `next` begins at its low end, a first `prev` at its high end.
    pub fn open(&mut self, low: Bound<&[u8]>, high: Bound<&[u8]>) {
        self.low.set(low);
        self.high.set(high);
        self.placed = false;
    }

    /// As [`Cursor::open`], with ends that stand for all keys that begin with them.
    pub fn open_prefixes(&mut self, low: Bound<&[u8]>, high: Bound<&[u8]>) {
        self.high.set_high_prefix(high);
        if !self.low.set_low_prefix(low) {
            self.high.set(Bound::Excluded(&[]));
        }
        self.placed = false;
    }

    /// The range's ends as they were set by [`Cursor::open_prefixes`]: the low one included or open, the high one excluded or open.
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
        let node = self.part.node();
        if backward {
            while self.at > self.part.from && pass(node.payload(self.at - 1)?) {
                self.at -= 1;
            }
        } else {
            while self.at < self.part.to && pass(node.payload(self.at)?) {
                self.at += 1;
            }
        }
        Ok(())
    }

    /// As [`Cursor::next`].
    pub fn next_entry(&mut self, tree: &Tree) -> Result<Option<LeafEntry<'_>>> {
        if self.step_on(tree)? { self.entry().map(Some) } else { Ok(None) }
    }

    /// As [`Cursor::prev`].
    pub fn prev_entry(&mut self, tree: &Tree) -> Result<Option<LeafEntry<'_>>> {
        if self.step_back(tree)? { self.entry().map(Some) } else { Ok(None) }
    }

    /// As [`Cursor::next`], of an entry whose key [`Cursor::key`] tells.
    #[inline]
    pub fn next_payload(&mut self, tree: &Tree) -> Result<Option<&[u8]>> {
        if self.step_on(tree)? { self.payload().map(Some) } else { Ok(None) }
    }

    /// As [`Cursor::prev`], of an entry whose key [`Cursor::key`] tells.
    #[inline]
    pub fn prev_payload(&mut self, tree: &Tree) -> Result<Option<&[u8]>> {
        if self.step_back(tree)? { self.payload().map(Some) } else { Ok(None) }
    }

    /// The key of the entry that was answered last.
    pub fn key(&mut self) -> Result<&[u8]> {
        self.entry().map(|entry| entry.key)
    }

    /// Steps over the entry after the cursor; `false`: there is none.
    #[inline]
    fn step_on(&mut self, tree: &Tree) -> Result<bool> {
        if !self.placed {
            self.place(tree)?;
        }
        while self.at >= self.part.to {
            if !self.go_on(tree)? {
                return Ok(false);
            }
        }
        self.answered = self.at;
        self.at += 1;
        Ok(true)
    }

    /// Steps over the entry before the cursor; `false`: there is none.
    #[inline]
    fn step_back(&mut self, tree: &Tree) -> Result<bool> {
        if !self.placed {
            self.place_last(tree)?;
        }
        while self.at <= self.part.from {
            if !self.go_back(tree)? {
                return Ok(false);
            }
        }
        self.at -= 1;
        self.answered = self.at;
        Ok(true)
    }

    /// Goes to the range's low end.
    fn place(&mut self, tree: &Tree) -> Result<()> {
        self.ahead.place();
        let edges = (&self.low, &self.high);
        self.part.begin(tree, Way::To(self.low.key()), edges, &mut self.ahead)?;
        self.stand(self.part.from);
        Ok(())
    }

    /// Goes to the range's high end.
    fn place_last(&mut self, tree: &Tree) -> Result<()> {
        self.ahead.place();
        let way = self.high.limit().map_or(Way::Last, Way::To);
        self.part.begin(tree, way, (&self.low, &self.high), &mut self.ahead)?;
        self.stand(self.part.to);
        Ok(())
    }

    /// In a part that was not there before.
    fn stand(&mut self, at: u16) {
        self.key.clear();
        self.key.extend_from_slice(self.part.node().prefix());
        (self.at, self.placed) = (at, true);
    }

    #[inline]
    fn payload(&self) -> Result<&[u8]> {
        self.part.node().payload(self.answered)
    }

    #[inline]
    fn entry(&mut self) -> Result<LeafEntry<'_>> {
        let node = self.part.node();
        let (suffix, payload) = node.suffix_and_payload(self.answered)?;
        // The prefix has been there since the cursor came to the part.
        self.key.truncate(node.prefix().len());
        self.key.extend_from_slice(suffix);
        Ok(LeafEntry { key: &self.key, payload, max_trx_id: node.max_trx_id() })
    }

    /// Goes to the next leaf; `false`: the range ends in this one.
    fn go_on(&mut self, tree: &Tree) -> Result<bool> {
        let node = self.part.node();
        // An entry lies behind the range, whose own end was searched.
        if self.part.to < node.count() && !self.ahead.is_backward() {
            return Ok(false);
        }
        let Some(fence) = node.high_fence() else { return Ok(false) };
        if !self.high.admits_below(fence) {
            return Ok(false);
        }
        self.border.set(Bound::Included(fence));
        self.ahead.go_on(false);
        let (way, edges) = (Way::To(self.border.key()), (&self.border, &self.high));
        self.part.load(tree, way, edges, self.high.limit(), &mut self.ahead)?;
        if !self.part.node().covers(self.border.key()) {
            // Neither would the next one be ahead of this one.
            return Err(self.astray());
        }
        self.stand(self.part.from);
        Ok(true)
    }

    /// Goes to the leaf before; `false`: the range begins in this one.
    fn go_back(&mut self, tree: &Tree) -> Result<bool> {
        let fence = self.part.node().low_fence();
        // Entries to the left are below it; with the edge there or above, none of them is in the range.
        if fence.is_empty() || self.low.limit().is_some_and(|low| fence <= low) {
            return Ok(false);
        }
        self.border.set(Bound::Excluded(fence));
        self.ahead.go_on(true);
        let (way, edges) = (Way::Below(self.border.key()), (&self.low, &self.border));
        self.part.load(tree, way, edges, self.low.limit(), &mut self.ahead)?;
        if self.part.node().low_fence() >= self.border.key() {
            return Err(self.astray());
        }
        self.stand(self.part.to);
        Ok(true)
    }

    /// The leaf that the last one's fence led to is not its neighbour.
    fn astray(&self) -> Error {
        self.part.corrupt("not the leaf that the fence leads to")
    }
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
