//! The slow verifier: walks the whole tree and believes nothing.
//!
//! The tree must be quiet: pages are read one by one, a split in between would look like damage. It takes a page of
//! memory per level, and two bits per page of the file.
//!
//! 1. Checked: every page by itself (a page read from the disk also its checksum), levels, fences against the
//!    parent's separators, one index id, no page twice. Together: all keys are in order and each is found. Guard:
//!    `the_verifier_sees_damage`.
//! 2. Damage is listed and the rest is still looked at; what is below a page that cannot be believed is not. Guard:
//!    `damage_is_listed_page_by_page`.

use crate::Tree;
use crate::descend::LEVELS_MAX;
use base::{Error, PageBuf, PageId, PageNo, Result, TrxId};
use page::{Node, check_node};
use space::{PageSet, Problem};

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
    /// The highest `max_trx_id` of the leaves.
    pub max_trx_id: TrxId,
    /// Free bytes in leaves, garbage included.
    pub leaf_free_bytes: usize,
    /// The pages of the segment of inner nodes: those, and the root.
    pub inner_pages: PageSet,
    /// The pages of the leaves' segment.
    pub leaf_pages: PageSet,
    /// What is wrong, as far as the limit allowed.
    pub problems: Vec<Problem>,
}

impl TreeReport {
    /// Every page, in order.
    pub fn pages(&self) -> Vec<PageNo> {
        let mut pages: Vec<_> = self.inner_pages.iter().chain(self.leaf_pages.iter()).collect();
        pages.sort_unstable();
        pages
    }
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
    report: TreeReport,
    limit: usize,
}

impl Tree {
    /// Verifies the tree. Errors: the first contradiction as [`base::Error::Corrupt`], or a failed read.
    pub fn check(&self) -> Result<TreeReport> {
        let report = self.verify(1)?;
        match report.problems.first() {
            Some(problem) => Err(problem.error()),
            None => Ok(report),
        }
    }

    /// Verifies the tree and lists what is wrong with it, at most `limit` problems. Errors: a failed read.
    pub fn verify(&self, limit: usize) -> Result<TreeReport> {
        let mut walk = Walk { tree: self, report: TreeReport::default(), limit };
        let level = self.copy(self.root).and_then(|page| self.level_of(self.root, &page));
        if let Some(level) = walk.catch(level)? {
            walk.report.levels = level + 1;
            walk.visit(&Expected { page_no: self.root, level, low: &[], high: None })?;
        }
        Ok(walk.report)
    }

    /// Whether the page is this tree's root or an inner node names it as a child. Reads the inner nodes that
    /// can be read; for reports of damage.
    pub fn refers_to(&self, page_no: PageNo) -> bool {
        page_no == self.root || self.names_child(self.root, page_no, LEVELS_MAX)
    }

    fn names_child(&self, at: PageNo, wanted: PageNo, levels: u8) -> bool {
        let Ok(page) = self.copy(at).and_then(|page| check_node(&page).map(|()| page)) else {
            return false;
        };
        let Ok(node) = Node::new(&page) else { return false };
        if node.is_leaf() || levels == 0 || node.index_id() != self.index {
            return false;
        }
        let children = || (0..node.count()).filter_map(|slot| node.child(slot).ok());
        // Leaves need not be read: their parent names them.
        children().any(|child| child == wanted)
            || (node.level() > 1
                && children().any(|child| self.names_child(child, wanted, levels - 1)))
    }

    pub(crate) fn copy(&self, page_no: PageNo) -> Result<Box<PageBuf>> {
        Ok(Box::new(*self.ts.shared(page_no)?))
    }
}

impl Walk<'_> {
    fn bad(&mut self, page_no: PageNo, what: &'static str) {
        let page = PageId::new(self.tree.ts.id(), page_no);
        self.add(Problem { page, offset: 0, what });
    }

    fn add(&mut self, problem: Problem) {
        if !self.is_full() {
            self.report.problems.push(problem);
        }
    }

    fn is_full(&self) -> bool {
        self.report.problems.len() >= self.limit
    }

    /// Damage becomes a problem; other errors stay what they are.
    fn catch<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Error::Corrupt { page, offset, what }) => {
                self.add(Problem { page, offset, what });
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    fn visit(&mut self, expected: &Expected<'_>) -> Result<()> {
        let page_no = expected.page_no;
        let copied = self.tree.copy(page_no).and_then(|page| check_node(&page).map(|()| page));
        let Some(page) = self.catch(copied)? else { return Ok(()) };
        let node = Node::new(&page)?;
        if node.index_id() != self.tree.index {
            self.bad(page_no, "another index's page");
            return Ok(());
        }
        if node.level() != expected.level || node.level() > LEVELS_MAX {
            self.bad(page_no, "level is not one below the parent's");
            return Ok(());
        }
        let is_upper = page_no == self.tree.root || !node.is_leaf();
        let r = &mut self.report;
        let (mine, other) = match is_upper {
            true => (&mut r.inner_pages, &r.leaf_pages),
            false => (&mut r.leaf_pages, &r.inner_pages),
        };
        if other.contains(page_no) || !mine.insert(page_no) {
            self.bad(page_no, "the page is reachable twice");
            return Ok(());
        }
        if node.low_fence() != expected.low || node.high_fence() != expected.high {
            self.bad(page_no, "fences differ from the parent's separators");
        }
        if node.is_leaf() {
            self.report.leaves += 1;
            self.report.entries += u64::from(node.count());
            self.report.max_trx_id = self.report.max_trx_id.max(node.max_trx_id());
            self.report.leaf_free_bytes += node.free_bytes();
            return Ok(());
        }
        self.report.inner += 1;
        self.visit_children(page_no, &node)
    }

    /// Visits the children of a node that [`check_node`] has passed.
    fn visit_children(&mut self, page_no: PageNo, node: &Node<'_>) -> Result<()> {
        if node.count() == 0 {
            self.bad(page_no, "inner node without children");
            return Ok(());
        }
        let (mut low, mut next) = (Vec::new(), Vec::new());
        node.copy_key(0, &mut low)?;
        if low != node.low_fence() {
            self.bad(page_no, "first separator is not the low fence");
        }
        for slot in 0..node.count() {
            if self.is_full() {
                break;
            }
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
