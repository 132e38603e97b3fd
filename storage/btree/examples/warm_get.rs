//! Instructions of a warm point read: `valgrind --tool=callgrind --toggle-collect='*warm_get::read*'` over
//! `warm_get N`; the total divided by N is one `Tree::get` in a tree of 100,000 rows of about 200 bytes.

use base::{IndexId, PAGE_BYTES, SpaceId};
use btree::{Fit, Tree};
use host::{Disk, SimDisk};
use pool::{Mtr, Pool, PoolConfig};
use redo::{Log, LogConfig};
use std::sync::Arc;
use stdx::rng::Rng;
use sync::SlotTable;

const ROWS: u32 = 100_000;
const ROW_BYTES: usize = 204;

fn key(k: u32) -> [u8; 4] {
    (k | 1 << 31).to_be_bytes()
}

/// One read, kept apart so that callgrind can be told to count it alone.
#[inline(never)]
fn read(tree: &Tree, key: &[u8], out: &mut Vec<u8>) -> bool {
    tree.get(key, out).expect("the tree is sound")
}

fn main() -> base::Result<()> {
    let reads: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let slots = SlotTable::new(2, 2);
    let disk: Arc<dyn Disk> = SimDisk::new(1);
    let log = Log::create(&disk, &LogConfig::default(), slots.clone())?;
    let pool = Pool::new(
        PoolConfig { bytes: 3000 * PAGE_BYTES, ..Default::default() },
        disk,
        log.clone(),
    )?;
    let ts = pool.create_tablespace(SpaceId(16), "t")?;
    let worker = slots.acquire_worker().expect("the first worker");
    let mut mtr = Mtr::new(&pool, &worker);
    let root = Tree::create(&mut mtr, &ts, IndexId(1))?;
    mtr.commit()?;
    let tree = Tree::new(ts.clone(), root, IndexId(1));
    for k in 0..ROWS {
        if log.pressure() > 0.4 {
            pool.flush_all()?;
            pool.checkpoint(b"")?;
        }
        loop {
            let mut mtr = Mtr::new(&pool, &worker);
            let pos = tree.position(&mut mtr, &key(k))?;
            if tree.insert_at(&mut mtr, &pos, &key(k), &[k as u8; ROW_BYTES])? == Fit::Done {
                mtr.commit()?;
                break;
            }
            drop(mtr);
            tree.split(&pool, &worker, &key(k), ROW_BYTES)?;
        }
    }
    let mut out = Vec::with_capacity(256);
    let mut rng = Rng::new(1);
    let mut hits = 0u32;
    for _ in 0..reads {
        let k = rng.below(u64::from(ROWS)) as u32;
        hits += u32::from(read(&tree, &key(k), &mut out));
    }
    let report = tree.check()?;
    println!("{hits} of {reads} found; {} levels, {} leaves", report.levels, report.leaves);
    Ok(())
}
