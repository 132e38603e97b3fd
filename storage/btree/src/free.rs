//! Giving a dropped index's pages back.
//!
//! 1. A child is freed in the mini-transaction that removes it from its parent, so a crash in the middle leaves a
//!    smaller tree, and freeing again goes on from there.
//! 2. Nobody else uses the tree any more; inner nodes may become empty here and nowhere else.

use crate::Tree;
use base::{PageNo, Result};
use page::{Node, PageOp};
use pool::{Mtr, Pool};
use sync::WorkerSlot;

/// Children freed by one mini-transaction: bounds its pages and its log bytes.
const BATCH: u16 = 16;

impl Tree {
    /// Frees every page of the tree, the root last.
    ///
    /// After a crash it may be called again as long as the root was not freed: the caller's own record of the drop
    /// says so.
    pub fn free_all(&self, pool: &Pool, worker: &WorkerSlot) -> Result<()> {
        self.drain(pool, worker, self.root)?;
        let mut mtr = Mtr::new(pool, worker);
        space::free(&mut mtr, &self.ts, self.root)?;
        mtr.commit()?;
        Ok(())
    }

    /// Frees every page but the root, which the caller frees in the mini-transaction that ends its own record
    /// of the drop. May be called again after a crash.
    pub fn free_below_root(&self, pool: &Pool, worker: &WorkerSlot) -> Result<()> {
        self.drain(pool, worker, self.root)
    }

    /// Frees everything below a node.
    fn drain(&self, pool: &Pool, worker: &WorkerSlot, page_no: PageNo) -> Result<()> {
        loop {
            let page = self.copy(page_no)?;
            let level = self.level_of(page_no, &page)?;
            let node = Node::new(&page)?;
            if level == 0 || node.count() == 0 {
                return Ok(());
            }
            let first = node.count().saturating_sub(BATCH);
            if level > 1 {
                for slot in first..node.count() {
                    self.drain(pool, worker, node.child(slot)?)?;
                }
            }
            let mut mtr = Mtr::new(pool, worker);
            let held = mtr.exclusive(&self.ts, page_no)?;
            for slot in (first..node.count()).rev() {
                mtr.apply(held, &PageOp::Remove { slot })?;
                space::free(&mut mtr, &self.ts, node.child(slot)?)?;
            }
            mtr.commit()?;
        }
    }
}
