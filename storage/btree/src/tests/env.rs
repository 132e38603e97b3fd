//! A pool, a log, a simulated disk and trees for tests.

use crate::{Fit, Tree};
use base::{IndexId, PageNo, SpaceId, TrxId};
use host::{Disk, SimDisk};
use pool::{Mtr, Pool, PoolConfig, RecoverOptions, Tablespace};
use redo::{Log, LogConfig};
use std::sync::Arc;
use sync::{SlotTable, WorkerSlotRef};

const SPACE: SpaceId = SpaceId(16);

pub struct Env {
    pub disk: Arc<SimDisk>,
    pub log: Arc<Log>,
    pub pool: Arc<Pool>,
    pub slots: Arc<SlotTable>,
    pub ts: Arc<Tablespace>,
}

fn config() -> LogConfig {
    LogConfig { ring_bytes: 1 << 20, capacity_bytes: 16 << 20 }
}

impl Env {
    /// `frames`: size of the pool, in pages.
    pub fn new(frames: usize) -> Env {
        let slots = SlotTable::new(8, 16);
        let disk = SimDisk::new(1);
        let dyn_disk: Arc<dyn Disk> = disk.clone();
        let log = Log::create(&dyn_disk, &config(), slots.clone()).unwrap();
        let pool = PoolConfig { bytes: frames * base::PAGE_BYTES, ..Default::default() };
        let pool = Pool::new(pool, dyn_disk, log.clone()).unwrap();
        let ts = pool.create_tablespace(SPACE, "t").unwrap();
        Env { disk, log, pool, slots, ts }
    }

    /// What a server finds that starts on this disk after a crash with the whole log durable.
    pub fn recovered(&self, frames: usize) -> Env {
        self.log.flush_to(self.log.tail()).unwrap();
        let slots = SlotTable::new(8, 16);
        let disk = self.disk.crash();
        let dyn_disk: Arc<dyn Disk> = disk.clone();
        let (log, replay) = Log::open(&dyn_disk, &config(), slots.clone()).unwrap();
        let pool = PoolConfig { bytes: frames * base::PAGE_BYTES, ..Default::default() };
        let pool = Pool::new(pool, dyn_disk, log.clone()).unwrap();
        let ts = pool.open_tablespace(SPACE, "t").unwrap();
        pool.repair_torn_pages().unwrap();
        let options = RecoverOptions::new(|_| "t".into(), |_, _, _| Ok(()));
        pool.recover(replay, options).unwrap();
        Env { disk, log, pool, slots, ts }
    }

    pub fn worker(&self) -> WorkerSlotRef {
        self.slots.acquire_worker().expect("a free worker slot")
    }

    pub fn tree(&self, index: u64) -> Tree {
        self.tree_in(&self.ts, index)
    }

    pub fn tree_in(&self, ts: &Arc<Tablespace>, index: u64) -> Tree {
        let worker = self.worker();
        let mut mtr = Mtr::new(&self.pool, &worker);
        let root = Tree::create(&mut mtr, ts, IndexId(index)).unwrap();
        mtr.commit().unwrap();
        Tree::new(ts.clone(), root, IndexId(index))
    }

    pub fn tree_at(&self, root: PageNo, index: u64) -> Tree {
        Tree::new(self.ts.clone(), root, IndexId(index))
    }

    /// What the cleaner thread does in a server.
    pub fn tend(&self) {
        while self.log.pressure() > 0.4 {
            self.pool.clean_some(64).unwrap();
            self.pool.checkpoint(b"").unwrap();
        }
    }
}

/// Inserts or replaces, splitting as often as it takes.
pub fn put(env: &Env, tree: &Tree, worker: &WorkerSlotRef, key: &[u8], payload: &[u8]) {
    env.tend();
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
