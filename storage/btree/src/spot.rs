//! A place in a tree, and the proof that it still is one: for who locks what he reads.
//!
//! 1. A spot stands on an entry, or behind the last one. Its leaf is a copy; `read` says which leaves, in
//!    which versions, show that there is nothing between the place it came from and the entry.
//!    Or the entry alone is a copy ([`Spot::seek_alone`]); the leaf is copied when another entry of it is asked for.
//!    Guard: the errors of `Spot::astray`, the spots in `random_work_agrees_with_a_map`.
//! 2. Who makes a lock visible, then finds the spot current, has a lock that every later change of those
//!    leaves can see. Both steps are sequentially consistent. Guard: the phantoms that the audits of the engine's
//!    `one_runner` would see.

use crate::Tree;
use crate::descend::{RESTARTS_MAX, Way, lost_race};
use base::{Error, PageNo, Result};
use page::{Found, Node};
use pool::{Optimistic, PageCopy};
use std::ops::Bound;
use stdx::{Ordering, fence};

/// A place in a tree.
pub struct Spot {
    leaf: PageCopy,
    read: Vec<(PageNo, u32)>,
    at: u16,
    end: bool,
    key: Vec<u8>,
    /// Only the entry was copied, not its leaf; then this is its payload.
    alone: bool,
    payload: Vec<u8>,
    fence: Vec<u8>,
}

impl Default for Spot {
    fn default() -> Self {
        Spot {
            leaf: PageCopy::new(),
            read: Vec::new(),
            at: 0,
            end: true,
            key: Vec::new(),
            alone: false,
            payload: Vec::new(),
            fence: Vec::new(),
        }
    }
}

impl Spot {
    /// Goes to the first entry at or above a key, above it, or of all.
    pub fn seek(&mut self, tree: &Tree, from: Bound<&[u8]>) -> Result<()> {
        let (key, over) = match from {
            Bound::Included(key) => (key, false),
            Bound::Excluded(key) => (key, true),
            Bound::Unbounded => (&[][..], false),
        };
        self.read.clear();
        self.load(tree, Way::To(key))?;
        let found = Node::new(&self.leaf)?.search(key)?;
        self.at = found.slot + u16::from(found.exact && over);
        self.settle(tree)
    }

    /// Goes to the first entry above a key and copies it alone: for who expects its leaf to change before the
    /// next entry is looked for.
    pub fn seek_alone(&mut self, tree: &Tree, key: &[u8]) -> Result<()> {
        for attempt in 0..RESTARTS_MAX {
            let here = if attempt == 0 { self.leaf_with(tree, key)? } else { None };
            let way_down = || {
                let page = tree.try_descend(Way::To(key))?;
                Ok(page.map(|page| (page, page.node().search(key))))
            };
            let Some((page, found)) =
                here.map_or_else(way_down, |here| Ok::<_, Error>(Some(here)))?
            else {
                lost_race();
                continue;
            };
            let node = page.node();
            let slot = found.map(|found| found.slot + u16::from(found.exact));
            let copied = slot.filter(|slot| *slot < node.count()).and_then(|slot| {
                node.copy_key(slot, &mut self.key)?;
                node.copy_payload(slot, &mut self.payload)
            });
            if !page.validate() {
                lost_race();
                continue;
            }
            if copied.is_none() {
                // It is in another leaf, or the page is damaged.
                break;
            }
            self.read.clear();
            self.read.push((page.page_no(), page.version()));
            (self.alone, self.end) = (true, false);
            return Ok(());
        }
        self.seek(tree, Bound::Excluded(key))
    }

    /// The leaf of the entry that was copied alone, if the key is in it, and where: then the way down would lead there.
    fn leaf_with<'t>(
        &self,
        tree: &'t Tree,
        key: &[u8],
    ) -> Result<Option<(Optimistic<'t>, Option<Found>)>> {
        let Some(&(page, _)) = self.read.last().filter(|_| self.alone && self.key == key) else {
            return Ok(None);
        };
        // It may be a page of a table that was copied since: this file need not have so many.
        let Ok(Some(page)) = tree.ts.optimistic_at_once(page) else { return Ok(None) };
        let node = page.node();
        if node.node_level() != Some(0) || node.index_id() != tree.index {
            return Ok(None);
        }
        let found = node.search(key).filter(|found| found.exact);
        Ok(found.map(|found| (page, Some(found))))
    }

    /// Copies the leaf of an entry that was copied alone; whether that is still there.
    fn copy_leaf(&mut self, tree: &Tree) -> Result<bool> {
        if !self.alone {
            return Ok(true);
        }
        let key = self.key.clone();
        self.seek(tree, Bound::Included(&key))?;
        Ok(!self.end && self.key == key)
    }

    /// Goes behind the last entry.
    pub fn seek_end(&mut self, tree: &Tree) -> Result<()> {
        self.read.clear();
        self.load(tree, Way::Last)?;
        self.at = Node::new(&self.leaf)?.count();
        self.settle(tree)
    }

    /// Goes to the next entry. Only from an entry.
    pub fn next(&mut self, tree: &Tree) -> Result<()> {
        if !self.copy_leaf(tree)? {
            return Ok(());
        }
        self.read.drain(..self.read.len().saturating_sub(1));
        self.at += 1;
        self.settle(tree)
    }

    /// Leaves the entry, and those that follow in its leaf as long as `pass` says yes to their payloads. `left` gets
    /// the key of the last of them.
    pub fn next_while(
        &mut self,
        tree: &Tree,
        left: &mut Vec<u8>,
        pass: impl Fn(&[u8]) -> bool,
    ) -> Result<()> {
        if self.alone {
            left.clone_from(&self.key);
            return self.next(tree);
        }
        self.read.drain(..self.read.len().saturating_sub(1));
        let node = Node::new(&self.leaf)?;
        self.at += 1;
        while self.at < node.count() && pass(node.payload(self.at)?) {
            self.at += 1;
        }
        node.copy_key(self.at - 1, left)?;
        self.settle(tree)
    }

    /// Whether no entry of its leaf is at or above `key`, wherever the leaf ends; `false` where the leaf is not known.
    pub fn leaf_is_below(&self, key: &[u8]) -> Result<bool> {
        Ok(!self.alone && Node::new(&self.leaf)?.high_fence().is_some_and(|high| high <= key))
    }

    /// Goes to the entry before; `false`: there is none, and the spot is not to be used.
    pub fn prev(&mut self, tree: &Tree) -> Result<bool> {
        self.copy_leaf(tree)?;
        self.read.drain(..self.read.len().saturating_sub(1));
        while self.at == 0 {
            let low = Node::new(&self.leaf)?.low_fence();
            if low.is_empty() {
                return Ok(false);
            }
            self.fence.clear();
            self.fence.extend_from_slice(low);
            let fence = std::mem::take(&mut self.fence);
            // The leaf before stays in `read`: nothing came into it below the entry.
            let loaded = self.load(tree, Way::Below(&fence));
            self.fence = fence;
            loaded?;
            let node = Node::new(&self.leaf)?;
            if node.low_fence() >= &self.fence[..] {
                return Err(self.astray());
            }
            self.at = node.search(&self.fence)?.slot;
        }
        self.at -= 1;
        self.end = false;
        Node::new(&self.leaf)?.copy_key(self.at, &mut self.key)?;
        Ok(true)
    }

    /// The entry: key and payload; `None` behind the last.
    pub fn entry(&self) -> Result<Option<(&[u8], &[u8])>> {
        if self.end {
            return Ok(None);
        }
        if self.alone {
            return Ok(Some((&self.key, &self.payload)));
        }
        Ok(Some((&self.key, Node::new(&self.leaf)?.payload(self.at)?)))
    }

    /// Whether what was read to come here is unchanged. Orders the caller's stores before the look.
    pub fn is_current(&self, tree: &Tree) -> Result<bool> {
        fence(Ordering::SeqCst);
        self.seems_current(tree)
    }

    /// As [`Self::is_current`], for who has made nothing visible that it has to be ordered behind.
    pub fn seems_current(&self, tree: &Tree) -> Result<bool> {
        for &(page, version) in &self.read {
            if tree.ts.optimistic(page)?.version() != version {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Leaves leaves behind until there is an entry.
    fn settle(&mut self, tree: &Tree) -> Result<()> {
        loop {
            let node = Node::new(&self.leaf)?;
            self.end = self.at >= node.count();
            if !self.end {
                return node.copy_key(self.at, &mut self.key);
            }
            let Some(high) = node.high_fence() else { return Ok(()) };
            self.fence.clear();
            self.fence.extend_from_slice(high);
            let fence = std::mem::take(&mut self.fence);
            let loaded = self.load(tree, Way::To(&fence));
            self.fence = fence;
            loaded?;
            self.at = Node::new(&self.leaf)?.search(&self.fence)?.slot;
        }
    }

    fn load(&mut self, tree: &Tree, way: Way<'_>) -> Result<()> {
        let (page, version) = self.copy(tree, way)?;
        self.alone = false;
        if let Way::To(key) = way
            && !Node::new(&self.leaf)?.covers(key)
        {
            return Err(self.astray());
        }
        self.read.push((page, version));
        Ok(())
    }

    fn copy(&mut self, tree: &Tree, way: Way<'_>) -> Result<(PageNo, u32)> {
        for _ in 0..RESTARTS_MAX {
            if let Some(page) = tree.try_descend(way)? {
                page.node().copy_page(&mut self.leaf);
                if page.validate() {
                    return Ok((page.page_no(), page.version()));
                }
            }
            lost_race();
        }
        let page = tree.descend_shared(way)?;
        self.leaf.copy_from_slice(&page[..]);
        Ok((page::header::page_id(&self.leaf).page, page.version()))
    }

    /// The leaf that a key or fence led to does not cover it.
    fn astray(&self) -> Error {
        Error::corrupt(page::header::page_id(&self.leaf), "not the leaf that the key leads to")
    }
}
