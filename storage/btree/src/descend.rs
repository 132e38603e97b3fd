//! Ways down the tree, and the point read.
//!
//! 1. Optimistic first; after [`RESTARTS_MAX`] lost races a latched descent, which cannot lose. Guard: both ways answer
//!    the same in `writers_and_readers_share_a_tree`.
//! 2. A wrong byte is believed to be corruption only after the page's version was validated. Guard: no lost race is an
//!    error in `writers_and_readers_share_a_tree`.

use crate::Tree;
use base::{PageNo, Result};
use instrument::Counter;
use page::{Node, RacyNode};
use pool::{Optimistic, SharedPage};

/// Lost races after which a descent takes latches.
pub(crate) const RESTARTS_MAX: u32 = 8;

/// More levels than 2^32 pages can have.
pub(crate) const LEVELS_MAX: u8 = 32;

/// Which child to follow.
#[derive(Clone, Copy)]
pub(crate) enum Way<'k> {
    /// The one that covers the key.
    To(&'k [u8]),
    /// The last one that holds keys below this one.
    Below(&'k [u8]),
    /// The last one.
    Last,
}

impl Way<'_> {
    /// The slot of the child to follow.
    pub(crate) fn racy_slot(self, node: RacyNode<'_>) -> Option<u16> {
        match self {
            Way::To(key) => {
                let found = node.search(key)?;
                Some(if found.exact { found.slot } else { found.slot.saturating_sub(1) })
            }
            Way::Below(key) => Some(node.search(key)?.slot.saturating_sub(1)),
            Way::Last => node.count().checked_sub(1),
        }
    }

    #[inline(always)]
    fn racy_child(self, node: RacyNode<'_>) -> Option<PageNo> {
        match self {
            Way::To(key) => node.child(key),
            Way::Below(key) => node.child_at(node.search(key)?.slot.saturating_sub(1)),
            Way::Last => node.child_at(node.count().checked_sub(1)?),
        }
    }

    fn child(self, node: &Node<'_>) -> Result<PageNo> {
        let slot = match self {
            Way::To(key) => node.child_slot(key)?,
            Way::Below(key) => node.search(key)?.slot.saturating_sub(1),
            Way::Last => node.count().saturating_sub(1),
        };
        node.child(slot)
    }
}

/// An attempt without latches lost a race, and another one begins.
#[cold]
pub(crate) fn lost_race() {
    instrument::count(Counter::LimpidOptimisticRestarts, 1);
}

impl Tree {
    /// Reads the payload of `key` into `out`. `false`: there is no such key.
    ///
    /// Writes no shared memory, and allocates nothing once `out` is large enough.
    #[inline]
    pub fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        for _ in 0..RESTARTS_MAX {
            if let Some(found) = self.try_get(key, out)? {
                return Ok(found);
            }
            lost_race();
        }
        self.get_latched(key, out)
    }

    #[inline]
    fn try_get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<bool>> {
        let Some(leaf) = self.try_descend(Way::To(key))? else { return Ok(None) };
        let node = leaf.node();
        let found = node.search(key);
        let copied = match found {
            Some(f) if f.exact => node.copy_payload(f.slot, out),
            other => other.map(|_| ()),
        };
        if !leaf.validate() {
            return Ok(None);
        }
        match (found, copied) {
            (Some(f), Some(())) => Ok(Some(f.exact)),
            _ => Err(self.corrupt(leaf.page_no(), "leaf entries lie outside the page")),
        }
    }

    /// Goes down to a leaf without latches. `None`: lost a race, start again.
    #[inline]
    pub(crate) fn try_descend(&self, way: Way<'_>) -> Result<Option<Optimistic<'_>>> {
        self.try_descend_to::<0>(way)
    }

    /// Goes down without latches to the node of `LEVEL`, or to the root where the tree is lower.
    #[inline]
    pub(crate) fn try_descend_to<const LEVEL: u8>(
        &self,
        way: Way<'_>,
    ) -> Result<Option<Optimistic<'_>>> {
        let mut page = self.ts.optimistic(self.root)?;
        let mut above = None;
        let mut pages = 1;
        loop {
            let node = page.node();
            let level = node.node_level();
            let child = match level {
                Some(l) if l <= LEVEL && above.is_none_or(|a| a == l + 1) => {
                    instrument::count(Counter::InnodbBufferPoolReadRequests, pages);
                    return Ok(Some(page));
                }
                Some(l) if l < LEVELS_MAX && above.is_none_or(|a| a == l + 1) => {
                    way.racy_child(node)
                }
                _ => None,
            };
            // Before the number is followed: a torn one could name a page that this thread itself has latched.
            if !page.validate() {
                return Ok(None);
            }
            let Some(child) = child else {
                return Err(self.corrupt(page.page_no(), "not a node of this level"));
            };
            let next = self.ts.optimistic(child)?;
            // Still the parent: so `next` is a version that the page had while it was its child.
            if !page.validate() {
                return Ok(None);
            }
            page = next;
            above = level;
            pages += 1;
        }
    }

    /// Goes down to the leaf that covers `key` without latches, and waits for nothing. `None`: a page on the
    /// way is being written or not in memory, or a race was lost.
    pub(crate) fn try_descend_at_once(&self, key: &[u8]) -> Result<Option<Optimistic<'_>>> {
        let Some(mut page) = self.ts.optimistic_at_once(self.root)? else { return Ok(None) };
        loop {
            let node = page.node();
            let (level, child) = (node.node_level(), node.child(key));
            if !page.validate() {
                return Ok(None);
            }
            let child = match level {
                Some(0) => return Ok(Some(page)),
                Some(_) => child.ok_or(self.corrupt(page.page_no(), "not a node of this level"))?,
                None => return Err(self.corrupt(page.page_no(), "not a node of this level")),
            };
            let Some(next) = self.ts.optimistic_at_once(child)? else { return Ok(None) };
            if !page.validate() {
                return Ok(None);
            }
            let down = next.node().node_level().is_some_and(|l| Some(l + 1) == level);
            if !next.validate() {
                return Ok(None);
            }
            if !down {
                return Err(self.corrupt(next.page_no(), "not a node of this level"));
            }
            page = next;
        }
    }

    pub(crate) fn get_latched(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let leaf = self.descend_shared(Way::To(key))?;
        let node = Node::new(&leaf)?;
        let found = node.search(key)?;
        if found.exact {
            out.clear();
            out.extend_from_slice(node.payload(found.slot)?);
        }
        Ok(found.exact)
    }

    /// Goes down with shared latches, the child's before the parent's is let go.
    pub(crate) fn descend_shared(&self, way: Way<'_>) -> Result<SharedPage<'_>> {
        let mut page = self.ts.shared(self.root)?;
        let mut level = self.level_of(self.root, &page)?;
        while level > 0 {
            let child = way.child(&Node::new(&page)?)?;
            let next = self.ts.shared(child)?;
            if self.level_of(child, &next)? + 1 != level {
                return Err(self.corrupt(child, "not a node of this level"));
            }
            page = next;
            level -= 1;
        }
        Ok(page)
    }

    /// The node's level, checked.
    pub(crate) fn level_of(&self, page_no: PageNo, page: &base::PageBuf) -> Result<u8> {
        let node = Node::new(page)?;
        if node.level() > LEVELS_MAX || node.is_leaf() != (node.level() == 0) {
            return Err(self.corrupt(page_no, "level does not suit the page kind"));
        }
        Ok(node.level())
    }
}
