//! A pool, a tablespace and a tree for tests.

use crate::{Fit, Tree};
use base::{IndexId, PageId, PageNo, SpaceId, TrxId};
use pool::{Mtr, Pool, Tablespace};
use std::sync::Arc;
use sync::{SlotTable, WorkerSlotRef};

pub struct Env {
    pub pool: Arc<Pool>,
    pub slots: Arc<SlotTable>,
    pub ts: Arc<Tablespace>,
}

impl Env {
    /// `pages`: frames of the pool.
    pub fn new(_pages: usize) -> Env {
        let slots = SlotTable::new(8, 16);
        Env { pool: Arc::new(Pool::mock()), slots, ts: pool::tablespace(SpaceId(16), 6000) }
    }

    pub fn worker(&self) -> WorkerSlotRef {
        self.slots.acquire_worker().expect("a free worker slot")
    }

    pub fn tree(&self, index: u64) -> Tree {
        let worker = self.worker();
        let mut mtr = Mtr::new(&self.pool, &worker);
        let root = Tree::create(&mut mtr, &self.ts, IndexId(index)).unwrap();
        mtr.commit().unwrap();
        Tree::new(self.ts.clone(), root, IndexId(index))
    }
}

/// Inserts or replaces, splitting as often as it takes.
pub fn put(env: &Env, tree: &Tree, worker: &WorkerSlotRef, key: &[u8], payload: &[u8]) {
    loop {
        let mut mtr = Mtr::new(&env.pool, worker);
        let pos = tree.position(&mut mtr, key).unwrap();
        let fit = if pos.found {
            tree.replace_at(&mut mtr, &pos, payload).unwrap()
        } else {
            tree.insert_at(&mut mtr, &pos, key, payload).unwrap()
        };
        if fit == Fit::Done {
            tree.raise_max_trx_id(&mut mtr, &pos, TrxId(3)).unwrap();
            mtr.commit().unwrap();
            return;
        }
        drop(mtr);
        tree.split(&env.pool, worker, key, payload.len()).unwrap();
    }
}

/// Removes if there; answers whether it was.
pub fn del(env: &Env, tree: &Tree, worker: &WorkerSlotRef, key: &[u8]) -> bool {
    let mut mtr = Mtr::new(&env.pool, worker);
    let pos = tree.position(&mut mtr, key).unwrap();
    if pos.found {
        tree.remove_at(&mut mtr, &pos).unwrap();
        mtr.commit().unwrap();
    }
    pos.found
}

#[allow(dead_code)]
pub fn page_id(env: &Env, page: PageNo) -> PageId {
    PageId::new(env.ts.id(), page)
}
