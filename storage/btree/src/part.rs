//! The part of a leaf that a range needs, copied and then read without latches.
//!
//! 1. A part is of one version of its leaf: both ends are searched and the bytes are copied before that is validated.
//!    Guard: `writers_and_readers_share_a_tree`.
//! 2. Of a part that is not whole only the header, the fences and the entries from `from` to below `to` mean anything.
//!    Guard: in debug builds the other bytes are no page's; `short_ranges_agree_with_a_map`.
//! 3. A range that begins in the leaf of the one before, which has not changed since, finds its entries there without a descent.
//!    The [`RANGES_APART`]th of them has the leaf copied whole, which costs as much as the copies of a dozen ranges; those behind
//!    it copy nothing. Guard: the assert of `Part::same`; `a_leaf_is_copied_whole_for_many_entries_or_many_ranges`.

use crate::Tree;
use crate::ahead::Ahead;
use crate::descend::{RESTARTS_MAX, Way};
use base::{Error, PageNo, Result};
use instrument::Counter;
use page::{BODY_AT, Found, Layout, Node, RacyNode};
use pool::{Optimistic, PageCopy};
use std::ops::Bound;

/// Ranges in one leaf behind the first one until it is copied whole.
const RANGES_APART: u8 = 12;

const OUTSIDE: &str = "leaf entries lie outside the page";

/// A lower or upper end of a range, kept in a reusable buffer.
#[derive(Default)]
pub(crate) struct Edge {
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
    pub fn set(&mut self, bound: Bound<&[u8]>) {
        let (kind, key) = match bound {
            Bound::Unbounded => (EdgeKind::Open, &[][..]),
            Bound::Included(key) => (EdgeKind::Included, key),
            Bound::Excluded(key) => (EdgeKind::Excluded, key),
        };
        self.kind = kind;
        self.key.clear();
        self.key.extend_from_slice(key);
    }

    /// Between all keys that begin with `prefix` and those above, of this kind; `false`: there are none above, and it is open.
    fn set_above(&mut self, kind: EdgeKind, prefix: &[u8]) -> bool {
        self.key.clear();
        self.key.extend_from_slice(prefix);
        let is_there = stdx::bytes::successor(&mut self.key);
        self.kind = if is_there { kind } else { EdgeKind::Open };
        is_there
    }

    /// The low edge of a range of the keys that begin with one of those between two prefixes; `false`: there are none.
    #[inline]
    pub fn set_low_prefix(&mut self, prefix: Bound<&[u8]>) -> bool {
        match prefix {
            Bound::Excluded(prefix) => self.set_above(EdgeKind::Included, prefix),
            _ => {
                self.set(prefix);
                true
            }
        }
    }

    /// The high edge of such a range.
    #[inline]
    pub fn set_high_prefix(&mut self, prefix: Bound<&[u8]>) {
        match prefix {
            Bound::Included(prefix) => {
                let _ = self.set_above(EdgeKind::Excluded, prefix);
            }
            _ => self.set(prefix),
        }
    }

    /// The key that the range ends at; empty where the edge is open.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The key that the range ends at, if any.
    pub fn limit(&self) -> Option<&[u8]> {
        (self.kind != EdgeKind::Open).then_some(&self.key)
    }

    /// Whether a key is below a high edge.
    pub fn admits_below(&self, key: &[u8]) -> bool {
        match self.kind {
            EdgeKind::Open => true,
            EdgeKind::Included => key <= &self.key[..],
            EdgeKind::Excluded => key < &self.key[..],
        }
    }

    /// The slot of the edge, whose key was searched: behind the entry with that key if the edge is of this kind.
    fn slot(&self, found: Found, behind: EdgeKind) -> u16 {
        found.slot + u16::from(found.exact && self.kind == behind)
    }
}

/// The slots between two edges, the first and the one behind the last, in a leaf with `count` entries; the second key is
/// searched from a slot on.
fn between(
    (low, high): (&Edge, &Edge),
    count: u16,
    search: impl Fn(u16, &[u8]) -> Option<Found>,
) -> Option<(u16, u16)> {
    let from = match low.limit() {
        Some(key) => low.slot(search(0, key)?, EdgeKind::Excluded),
        None => 0,
    };
    let to = match high.limit() {
        Some(key) => high.slot(search(from, key)?, EdgeKind::Included),
        None => count,
    };
    // Crossed edges have nothing between them.
    Some((from, to.max(from)))
}

/// The part of a leaf that is in a range.
pub(crate) struct Part {
    page: PageCopy,
    layout: Layout,
    /// All entries of the leaf were copied.
    whole: bool,
    /// Which page was copied without a latch, and that one's version.
    copied: Option<(PageNo, u32)>,
    /// Ranges that found that page as the one before had found it, one behind the other.
    again: u8,
    /// The first slot that is in the range.
    pub from: u16,
    /// The slot behind the last one that is.
    pub to: u16,
}

impl Part {
    /// Nothing of any leaf.
    pub fn new() -> Part {
        Part {
            page: PageCopy::new(),
            layout: Layout::default(),
            whole: false,
            copied: None,
            again: 0,
            from: 0,
            to: 0,
        }
    }

    /// Nothing any more: the memory goes back to the thread.
    pub fn release(&mut self) {
        self.page.release();
        (self.copied, self.whole, self.from, self.to) = (None, false, 0, 0);
    }

    /// The leaf: only the entries of the part may be asked for.
    #[inline]
    pub fn node(&self) -> Node<'_> {
        self.layout.node(&self.page)
    }

    /// Takes what lies between two edges, of the leaf that `way` leads to, where the range begins.
    pub fn begin(
        &mut self,
        tree: &Tree,
        way: Way<'_>,
        edges: (&Edge, &Edge),
        ahead: &mut Ahead,
    ) -> Result<()> {
        if let Way::To(key) = way
            && let Some(page) = self.same(tree, key)?
        {
            if self.whole {
                return self.narrow(edges);
            }
            if self.copy_others(page, edges).is_some() && page.validate() {
                return Ok(());
            }
        }
        self.load(tree, way, edges, None, ahead)
    }

    /// Takes what lies between two edges in the leaf of which a part was copied before. `None`: it has to be loaded.
    fn copy_others(&mut self, page: Optimistic<'_>, edges: (&Edge, &Edge)) -> Option<()> {
        let node = page.node();
        (self.from, self.to) =
            between(edges, node.count(), |from, key| node.search_from(from, key))?;
        if self.again + 1 >= RANGES_APART || !node.is_few(self.from, self.to) {
            return None;
        }
        self.again += 1;
        instrument::count(Counter::InnodbBufferPoolReadRequests, 1);
        node.copy_other_entries(self.from, self.to, &mut self.page)
    }

    /// As [`Part::begin`], for a range that has come to this leaf; all of it goes no further than `limit`.
    pub fn load(
        &mut self,
        tree: &Tree,
        way: Way<'_>,
        edges: (&Edge, &Edge),
        limit: Option<&[u8]>,
        ahead: &mut Ahead,
    ) -> Result<()> {
        let before = self.copied.take();
        for _ in 0..RESTARTS_MAX {
            let Some(page) = tree.try_descend_in_passing(way, limit, ahead)? else { continue };
            let this = Some((page.page_no(), page.version()));
            let again = if this == before { self.again + 1 } else { 0 };
            let whole = self.copy(page.node(), edges, again >= RANGES_APART);
            if page.validate() {
                self.whole = whole.ok_or_else(|| tree.corrupt(page.page_no(), OUTSIDE))?;
                self.layout = Layout::of(&self.page)?;
                (self.copied, self.again) = (this, again.min(RANGES_APART));
                return Ok(());
            }
        }
        self.page.copy_from_slice(&tree.descend_shared(way)?[..]);
        self.whole = true;
        self.layout = Layout::of(&self.page)?;
        self.narrow(edges)
    }

    /// Answers whether the whole leaf was copied; `None` when its bytes contradict themselves.
    fn copy(&mut self, node: RacyNode<'_>, edges: (&Edge, &Edge), all: bool) -> Option<bool> {
        (self.from, self.to) =
            between(edges, node.count(), |from, key| node.search_from(from, key))?;
        if all {
            node.copy_page(&mut self.page);
            return Some(true);
        }
        node.copy_entries(self.from, self.to, &mut self.page)
    }

    /// Finds what lies between the edges in the leaf, which was copied whole.
    fn narrow(&mut self, edges: (&Edge, &Edge)) -> Result<()> {
        let node = self.node();
        let found = between(edges, node.count(), |_, key| node.search(key).ok());
        (self.from, self.to) = found.ok_or_else(|| self.corrupt(OUTSIDE))?;
        Ok(())
    }

    /// Damage of the leaf that was copied.
    pub fn corrupt(&self, what: &'static str) -> Error {
        Error::corrupt(page::header::page_id(&self.page), what)
    }

    /// The leaf that was copied, if it covers `key` and has not changed since.
    fn same<'t>(&self, tree: &'t Tree, key: &[u8]) -> Result<Option<Optimistic<'t>>> {
        let Some((page, version)) = self.copied else { return Ok(None) };
        let node = self.node();
        // A table that was rebuilt has the same indexes in another space, whose versions begin anew.
        let is_elsewhere = page::header::page_id(&self.page).space != tree.ts.id();
        if is_elsewhere || node.index_id() != tree.index || !node.covers(key) {
            return Ok(None);
        }
        let page = tree.ts.optimistic(page)?;
        let is_same = page.version() == version;
        debug_assert!(
            !is_same || !self.whole || self.is_like(&page),
            "a leaf has changed under its version"
        );
        Ok(is_same.then_some(page))
    }

    /// Whether the copied leaf has the entries of `page`, unless that is being changed.
    fn is_like(&self, page: &Optimistic<'_>) -> bool {
        let mut now = PageCopy::new();
        page.node().copy_page(&mut now);
        !page.validate() || now[BODY_AT..] == self.page[BODY_AT..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::env::{Env, put};

    /// The part between two keys, whether the whole leaf was copied, and whether anew.
    fn begin(part: &mut Part, tree: &Tree, low: u32, high: u32) -> (u16, bool, bool) {
        let mut edges = (Edge::default(), Edge::default());
        edges.0.set(Bound::Included(&low.to_be_bytes()));
        edges.1.set(Bound::Included(&high.to_be_bytes()));
        part.page[page::header::BYTES - 1] = 1;
        let way = Way::To(edges.0.key());
        part.begin(tree, way, (&edges.0, &edges.1), &mut Ahead::default()).unwrap();
        (part.to - part.from, part.whole, part.page[page::header::BYTES - 1] == 0)
    }

    #[test]
    fn a_leaf_of_another_space_is_not_taken_for_the_one_that_was_copied() {
        let env = Env::new(100);
        let (worker, tree) = (env.worker(), env.tree(1));
        let ts = env.pool.create_tablespace(base::SpaceId(17), "u").unwrap();
        // As a table that is rebuilt: the same index, page and version.
        let rebuilt = env.tree_in(&ts, 1);
        assert_eq!(rebuilt.root, tree.root);
        for (tree, fill) in [(&tree, 7), (&rebuilt, 8)] {
            (0..3u32).for_each(|k| put(&env, tree, &worker, &k.to_be_bytes(), &[fill; 20]));
        }
        let mut part = Part::new();
        assert_eq!(begin(&mut part, &tree, 0, 9), (3, true, true));
        assert_eq!(begin(&mut part, &rebuilt, 0, 9), (3, true, true));
        assert_eq!(part.node().payload(0).unwrap(), [8; 20]);
    }

    #[test]
    fn a_leaf_is_copied_whole_for_many_entries_or_many_ranges() {
        let env = Env::new(100);
        let (worker, tree) = (env.worker(), env.tree(1));
        for k in 0..1000u32 {
            put(&env, &tree, &worker, &k.to_be_bytes(), &[7; 200]);
        }
        let mut part = Part::new();
        assert_eq!(begin(&mut part, &tree, 500, 502), (3, false, true));
        // Some others in that leaf have it copied, and those behind them find it.
        for _ in 1..RANGES_APART {
            assert_eq!(begin(&mut part, &tree, 501, 501), (1, false, false));
            assert_eq!(part.node().payload(part.from).unwrap(), [7; 200]);
        }
        assert_eq!(begin(&mut part, &tree, 501, 501), (1, true, true));
        assert_eq!(begin(&mut part, &tree, 501, 503), (3, true, false));
        put(&env, &tree, &worker, &501u32.to_be_bytes(), &[8; 200]);
        assert_eq!(begin(&mut part, &tree, 501, 503), (3, false, true));
        assert_eq!(part.node().payload(part.from).unwrap(), [8; 200]);
        let (entries, whole, _) = begin(&mut part, &tree, 0, 999);
        assert!(entries > 40 && whole, "{entries}");
    }
}
