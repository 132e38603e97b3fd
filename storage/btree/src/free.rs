//! Giving a dropped index's pages back.

use crate::Tree;
use base::Result;
use pool::{Mtr, Pool};
use space::Release;
use sync::WorkerSlot;

impl Tree {
    /// Frees every page of the tree, overflow pages of its rows included, the root last.
    ///
    /// After a crash it may be called again as long as the root was not freed: the caller's own record of the drop
    /// says so. Nobody else uses the tree any more.
    pub fn free_all(&self, pool: &Pool, worker: &WorkerSlot) -> Result<()> {
        space::free_segments(pool, worker, &self.ts, self.index, self.root)?;
        let mut mtr = Mtr::new(pool, worker);
        self.free_root(&mut mtr)?;
        mtr.commit()?;
        Ok(())
    }

    /// Frees every page but the root, in small mini-transactions, at most `pieces` of them, which follows
    /// ([`Release::step`]). True when nothing is left below the root. May be called again after a crash, with a new
    /// `release`. What the root says is of no meaning from the first call on.
    pub fn free_below_root(
        &self,
        pool: &Pool,
        worker: &WorkerSlot,
        release: &mut Release,
        pieces: &mut u64,
    ) -> Result<bool> {
        release.step(pool, worker, &self.ts, (self.index, self.root), pieces)
    }

    /// Frees the root in the mini-transaction that ends the caller's own record of the drop.
    pub fn free_root<'p>(&'p self, mtr: &mut Mtr<'p>) -> Result<()> {
        space::free(mtr, &self.ts, self.segment(1), self.root)
    }
}
