//! Splits, each a mini-transaction of its own.
//!
//! 1. Parent first, then child, both exclusive; what was seen on the way down is looked at again under the latches.
//!    Guard: the errors of `Tree::check_family` and `Tree::check_root`.
//! 2. A parent without room for the separator is split first, and the whole begins again. Guard: the parent's insert is
//!    refused, and `Mtr` aborts.
//! 3. Space is allocated before anything is changed, so a full disk changes nothing. Guard: the assert of
//!    `Tree::make_room`, `a_full_disk_leaves_the_tree_as_it_was`.
//! 4. A split moves entries and loses none; both halves are sound, they meet at the separator, and neither forgets who
//!    changed it last. Guard: `assert_split` (that the halves are sound by themselves, in debug builds).
//! 5. A root that was raised has one child, which has all that the root had. Guard: `assert_raised`.

use crate::Tree;
use crate::descend::LEVELS_MAX;
use crate::leaf::check_size;
use crate::plan::{Plan, plan_inner, plan_leaf};
use base::{PageBuf, PageNo, Result, TrxId};
use instrument::Counter;
use page::{AppendBuf, Node, PageKind, PageOp, check_node};
use pool::{Held, Mtr, Pool};
use sync::WorkerSlot;

/// What a node has to have room for.
#[derive(Clone, Copy)]
enum Need<'n> {
    /// A leaf: the key with a payload of so many bytes, new or grown.
    Row(usize),
    /// An inner node: one more separator.
    Separator(&'n [u8]),
}

/// How one attempt ended.
enum Step {
    /// There is room now (or the tree changed so that somebody else made it).
    Done,
    /// The parent has no room for this separator.
    ParentFull(Vec<u8>),
}

/// A node's content, taken out so that it can be written elsewhere.
struct Content {
    kind: PageKind,
    level: u8,
    prefix: Vec<u8>,
    high: Option<Vec<u8>>,
    max_trx: TrxId,
    entries: AppendBuf,
}

impl Content {
    fn from_slot(node: &Node<'_>, first: u16) -> Result<Content> {
        let mut entries = AppendBuf::new();
        for i in first..node.count() {
            let (suffix, payload) = node.suffix_and_payload(i)?;
            entries.push(suffix, payload);
        }
        Ok(Content {
            kind: if node.is_leaf() { PageKind::Leaf } else { PageKind::Inner },
            level: node.level(),
            prefix: node.prefix().to_vec(),
            high: node.high_fence().map(<[u8]>::to_vec),
            max_trx: node.max_trx_id(),
            entries,
        })
    }
}

impl Tree {
    /// Makes room for `key` with `payload_bytes` of payload (a new entry, or the found one's new payload).
    ///
    /// The caller holds no latch, and positions again afterwards: others may have taken the room meanwhile.
    /// Errors: [`Error::NoSpace`] and nothing was changed.
    pub fn split(
        &self,
        pool: &Pool,
        worker: &WorkerSlot,
        key: &[u8],
        payload_bytes: usize,
    ) -> Result<()> {
        space::prepare(&self.ts)?;
        let mut level = 0;
        let mut separator = Vec::new();
        loop {
            let need = match level {
                0 => Need::Row(payload_bytes),
                _ => Need::Separator(&separator),
            };
            match self.split_at(pool, worker, key, level, need)? {
                Step::Done if level == 0 => return Ok(()),
                Step::Done => level = 0,
                Step::ParentFull(_) if level >= LEVELS_MAX => {
                    return Err(self.corrupt(self.root, "too many levels"));
                }
                Step::ParentFull(above) => {
                    level += 1;
                    separator = above;
                }
            }
        }
    }

    /// Splits the node of `level` that covers `key`, if it lacks the room.
    fn split_at(
        &self,
        pool: &Pool,
        worker: &WorkerSlot,
        key: &[u8],
        level: u8,
        need: Need<'_>,
    ) -> Result<Step> {
        loop {
            let (parent, root_level) = self.find_level(key, level + 1)?;
            let Some(parent) = parent else {
                if root_level < level || self.raise_root(pool, worker, key, level, need)? {
                    return Ok(Step::Done);
                }
                continue;
            };
            if let Some(step) = self.split_child(pool, worker, parent, key, level, need)? {
                return Ok(step);
            }
        }
    }

    /// The node of `level` that covers `key`, if the tree is that high; and the root's level.
    fn find_level(&self, key: &[u8], level: u8) -> Result<(Option<PageNo>, u8)> {
        let mut page_no = self.root;
        let mut page = self.ts.shared(page_no)?;
        let root_level = self.level_of(page_no, &page)?;
        let mut at = root_level;
        self.check_root(&page)?;
        if at < level {
            return Ok((None, root_level));
        }
        while at > level {
            let node = Node::new(&page)?;
            let child = node.child(node.child_slot(key)?)?;
            let next = self.ts.shared(child)?;
            let node = Node::new(&next)?;
            let fits = node.index_id() == self.index && node.covers(key);
            if self.level_of(child, &next)? + 1 != at || !fits {
                // Both are latched: it is not for a split that they do not fit together.
                return Err(self.corrupt(child, "not the node of this level that covers the key"));
            }
            page = next;
            page_no = child;
            at -= 1;
        }
        Ok((Some(page_no), root_level))
    }

    /// `None`: the parent is no longer the parent; look for it again.
    fn split_child(
        &self,
        pool: &Pool,
        worker: &WorkerSlot,
        parent_no: PageNo,
        key: &[u8],
        level: u8,
        need: Need<'_>,
    ) -> Result<Option<Step>> {
        let mut mtr = Mtr::new(pool, worker);
        let parent = mtr.exclusive(&self.ts, parent_no)?;
        let node = Node::new(mtr.page(parent))?;
        if node.level() != level + 1 || node.index_id() != self.index || !node.covers(key) {
            return Ok(None);
        }
        let slot = node.child_slot(key)?;
        let child_no = node.child(slot)?;
        let child = mtr.exclusive(&self.ts, child_no)?;
        if self.level_of(child_no, mtr.page(child))? != level {
            return Err(self.corrupt(child_no, "not a node of this level"));
        }
        let node = Node::new(mtr.page(child))?;
        if has_room(&node, key, need)? {
            return Ok(Some(Step::Done));
        }
        self.check_family(&mtr, parent, slot, child)?;
        let node = Node::new(mtr.page(child))?;
        let plan = if level == 0 { plan_leaf(&node, key)? } else { plan_inner(&node, key)? };
        if !Node::new(mtr.page(parent))?.fits(&plan.separator, 4) {
            return Ok(Some(Step::ParentFull(plan.separator)));
        }
        self.write_split(&mut mtr, parent, slot, child, &plan)?;
        mtr.commit()?;
        instrument::count(Counter::LimpidPageSplits, 1);
        // One split may not be enough for a large row.
        Ok(None)
    }

    /// Whether the page may be this tree's root.
    fn check_root(&self, page: &PageBuf) -> Result<()> {
        let node = Node::new(page)?;
        let all = node.low_fence().is_empty() && node.high_fence().is_none();
        match all && node.index_id() == self.index {
            true => Ok(()),
            false => Err(self.corrupt(self.root, "not the root of this index")),
        }
    }

    /// A damaged page must not spread, nor stop a split half-way.
    fn check_family(&self, mtr: &Mtr<'_>, parent: Held, slot: u16, child: Held) -> Result<()> {
        check_node(mtr.page(parent))?;
        check_node(mtr.page(child))?;
        let (parent, node) = (Node::new(mtr.page(parent))?, Node::new(mtr.page(child))?);
        let (mut low, mut high) = (Vec::new(), Vec::new());
        parent.copy_key(slot, &mut low)?;
        let next = if slot + 1 < parent.count() {
            parent.copy_key(slot + 1, &mut high)?;
            Some(&high[..])
        } else {
            parent.high_fence()
        };
        if node.index_id() != self.index || node.low_fence() != low || node.high_fence() != next {
            return Err(self.corrupt(mtr.page_no(child), "not the child that its parent describes"));
        }
        Ok(())
    }

    fn write_split<'p>(
        &'p self,
        mtr: &mut Mtr<'p>,
        parent: Held,
        slot: u16,
        child: Held,
        plan: &Plan,
    ) -> Result<()> {
        let node = Node::new(mtr.page(child))?;
        let before = Before::of(&node);
        let content = Content::from_slot(&node, plan.slot)?;
        let separator = &plan.separator[..];
        let left = mtr.page_no(child);
        let right = self.make_room(mtr, content.level, left)?;
        self.write_node(mtr, right, &content, separator)?;
        mtr.apply(child, &PageOp::Truncate { slot: plan.slot, high_fence: separator })?;
        let payload = &right.0.to_le_bytes();
        mtr.apply(parent, &PageOp::Insert { slot: slot + 1, key: separator, payload })?;
        let right = mtr.holds(&self.ts, right).expect("it was made here");
        assert_split(mtr, parent, (child, right), &before)
    }

    /// A page for a new node of `level` near `page`. Before anything else is changed: this may fail.
    fn make_room<'p>(&'p self, mtr: &mut Mtr<'p>, level: u8, page: PageNo) -> Result<PageNo> {
        assert!(!mtr.has_changes(), "a tree is changed before there is room for its new node");
        space::allocate_near(mtr, &self.ts, self.segment(level), page)
    }

    /// Writes content into a freshly allocated page.
    fn write_node<'p>(
        &'p self,
        mtr: &mut Mtr<'p>,
        page_no: PageNo,
        content: &Content,
        low_fence: &[u8],
    ) -> Result<()> {
        let h = mtr.fresh(&self.ts, page_no)?;
        let init = PageOp::Init {
            kind: content.kind,
            level: content.level,
            index_id: self.index,
            low_fence,
            high_fence: content.high.as_deref(),
        };
        mtr.apply(h, &init)?;
        mtr.apply(h, &content.entries.op(&content.prefix))?;
        if content.max_trx != TrxId::NONE {
            mtr.apply(h, &PageOp::SetMaxTrxId { trx: content.max_trx })?;
        }
        Ok(())
    }

    /// Moves the root's content to a new page below it. `true`: there was room after all.
    fn raise_root(
        &self,
        pool: &Pool,
        worker: &WorkerSlot,
        key: &[u8],
        level: u8,
        need: Need<'_>,
    ) -> Result<bool> {
        let mut mtr = Mtr::new(pool, worker);
        let root = mtr.exclusive(&self.ts, self.root)?;
        let node = Node::new(mtr.page(root))?;
        if node.level() != level {
            return Ok(false);
        }
        if has_room(&node, key, need)? {
            return Ok(true);
        }
        if level >= LEVELS_MAX {
            return Err(self.corrupt(self.root, "too many levels"));
        }
        self.check_root(mtr.page(root))?;
        check_node(mtr.page(root))?;
        let node = Node::new(mtr.page(root))?;
        let (before, content) = (Before::of(&node), Content::from_slot(&node, 0)?);
        let below = self.make_room(&mut mtr, level, PageNo::NONE)?;
        self.write_node(&mut mtr, below, &content, &[])?;
        let init = PageOp::Init {
            kind: PageKind::Inner,
            level: level + 1,
            index_id: self.index,
            low_fence: &[],
            high_fence: None,
        };
        mtr.apply(root, &init)?;
        let payload = &below.0.to_le_bytes();
        mtr.apply(root, &PageOp::Insert { slot: 0, key: &[], payload })?;
        let below = mtr.holds(&self.ts, below).expect("it was made here");
        assert_raised(&mtr, root, below, &before)?;
        mtr.commit()?;
        Ok(false)
    }
}

/// What a split has to keep of a node.
struct Before {
    count: u16,
    high: Option<Vec<u8>>,
    max_trx: TrxId,
}

impl Before {
    fn of(node: &Node<'_>) -> Before {
        let high = node.high_fence().map(<[u8]>::to_vec);
        Before { count: node.count(), high, max_trx: node.max_trx_id() }
    }
}

/// In debug builds: each page is sound by itself.
fn assert_sound(mtr: &Mtr<'_>, pages: &[Held]) {
    for page in pages.iter().filter(|_| cfg!(debug_assertions)) {
        let checked = check_node(mtr.page(*page));
        assert!(checked.is_ok(), "a split has made a bad node: {checked:?}");
    }
}

/// Invariant 5.
fn assert_raised(mtr: &Mtr<'_>, root: Held, below: Held, before: &Before) -> Result<()> {
    assert_sound(mtr, &[root, below]);
    let (r, b) = (Node::new(mtr.page(root))?, Node::new(mtr.page(below))?);
    assert_eq!((r.count(), r.child(0)?), (1, mtr.page_no(below)), "a raised root has one child");
    assert_eq!(r.level(), b.level() + 1, "a raised root is one level above its child");
    assert_eq!(b.count(), before.count, "a root has lost entries");
    assert!(b.low_fence().is_empty() && b.high_fence().is_none(), "its child covers less");
    assert_eq!(b.max_trx_id(), before.max_trx, "a root has forgotten who changed it last");
    Ok(())
}

/// Invariant 4.
fn assert_split(
    mtr: &Mtr<'_>,
    parent: Held,
    (left, right): (Held, Held),
    before: &Before,
) -> Result<()> {
    assert_sound(mtr, &[parent, left, right]);
    let (l, r) = (Node::new(mtr.page(left))?, Node::new(mtr.page(right))?);
    assert_eq!(l.count() + r.count(), before.count, "a split has lost entries");
    assert_eq!(l.high_fence(), Some(r.low_fence()), "the halves of a split do not meet");
    assert_eq!(r.high_fence(), before.high.as_deref(), "a split has lost the end of its node");
    let newest = (l.max_trx_id(), r.max_trx_id());
    let known = (before.max_trx, before.max_trx);
    assert_eq!(newest, known, "a split has forgotten who changed its node last");
    let (mut separator, parent) = (Vec::new(), Node::new(mtr.page(parent))?);
    let slot = parent.child_slot(r.low_fence())?;
    parent.copy_key(slot, &mut separator)?;
    assert_eq!(separator, r.low_fence(), "the parent has another separator than the split");
    assert_eq!(parent.child(slot)?, mtr.page_no(right), "the parent does not know a new node");
    Ok(())
}

fn has_room(node: &Node<'_>, key: &[u8], need: Need<'_>) -> Result<bool> {
    match need {
        Need::Separator(separator) => Ok(node.fits(separator, 4)),
        Need::Row(payload) => {
            let found = node.search(key)?;
            if found.exact {
                return node.fits_replace(found.slot, payload);
            }
            check_size(key.len(), payload)?;
            Ok(node.fits(key, payload))
        }
    }
}
