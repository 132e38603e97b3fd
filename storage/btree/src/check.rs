//! The slow verifier: walks the whole tree and believes nothing.
//!
//! 1. The tree must be quiet: pages are read one by one, a split in between would look like damage.
//! 2. Checked: every page by itself, levels, fences against the parent's separators, one index id, no page twice.

use crate::Tree;
use crate::descend::LEVELS_MAX;
use base::{PageBuf, PageNo, Result};
use page::{Node, check_node};
use std::collections::HashSet;

/// What the verifier saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// Levels, 1 for a lone leaf.
    pub levels: u8,
    /// Leaf pages.
    pub leaves: usize,
    /// Inner pages.
    pub inner: usize,
    /// Entries in leaves.
    pub entries: u64,
    /// Free bytes in leaves, garbage included.
    pub leaf_free_bytes: usize,
    /// Every page, root first.
    pub pages: Vec<PageNo>,
}

/// What the parent says about a child.
struct Expected<'e> {
    page_no: PageNo,
    level: u8,
    low: &'e [u8],
    high: Option<&'e [u8]>,
}

struct Walk<'t> {
    tree: &'t Tree,
    seen: HashSet<PageNo>,
    report: TreeReport,
}

impl Tree {
    /// Verifies the tree. Errors: the first contradiction as [`base::Error::Corrupt`], or a failed read.
    pub fn check(&self) -> Result<TreeReport> {
        let level = self.level_of(self.root, &*self.copy(self.root)?)?;
        let mut walk = Walk { tree: self, seen: HashSet::new(), report: TreeReport::default() };
        walk.report.levels = level + 1;
        walk.visit(&Expected { page_no: self.root, level, low: &[], high: None })?;
        Ok(walk.report)
    }

    /// Every page of the tree, root first. The tree must be quiet.
    pub fn pages(&self) -> Result<Vec<PageNo>> {
        Ok(self.check()?.pages)
    }

    pub(crate) fn copy(&self, page_no: PageNo) -> Result<Box<PageBuf>> {
        Ok(Box::new(*self.ts.shared(page_no)?))
    }
}

impl Walk<'_> {
    fn visit(&mut self, expected: &Expected<'_>) -> Result<()> {
        let page_no = expected.page_no;
        let bad = |what| self.tree.corrupt(page_no, what);
        if !self.seen.insert(page_no) {
            return Err(bad("the page is reachable twice"));
        }
        let page = self.tree.copy(page_no)?;
        check_node(&page)?;
        let node = Node::new(&page)?;
        if node.level() != expected.level || node.level() > LEVELS_MAX {
            return Err(bad("level is not one below the parent's"));
        }
        if node.index_id() != self.tree.index {
            return Err(bad("another index's page"));
        }
        if node.low_fence() != expected.low || node.high_fence() != expected.high {
            return Err(bad("fences differ from the parent's separators"));
        }
        self.report.pages.push(page_no);
        if node.is_leaf() {
            self.report.leaves += 1;
            self.report.entries += u64::from(node.count());
            self.report.leaf_free_bytes += node.free_bytes();
            return Ok(());
        }
        self.report.inner += 1;
        self.visit_children(page_no, &node)
    }

    fn visit_children(&mut self, page_no: PageNo, node: &Node<'_>) -> Result<()> {
        if node.count() == 0 {
            return Err(self.tree.corrupt(page_no, "inner node without children"));
        }
        let (mut low, mut next) = (Vec::new(), Vec::new());
        node.copy_key(0, &mut low)?;
        if low != node.low_fence() {
            return Err(self.tree.corrupt(page_no, "first separator is not the low fence"));
        }
        for slot in 0..node.count() {
            let high = if slot + 1 < node.count() {
                node.copy_key(slot + 1, &mut next)?;
                Some(&next[..])
            } else {
                node.high_fence()
            };
            let child = node.child(slot)?;
            let level = node.level() - 1;
            self.visit(&Expected { page_no: child, level, low: &low, high })?;
            std::mem::swap(&mut low, &mut next);
        }
        Ok(())
    }
}
