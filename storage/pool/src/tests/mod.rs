//! A pool on a simulated disk, with pages that hold counters.

mod concurrent;
mod crash;
mod faults;
mod instances;
mod latches;
mod races;
mod recovery;
mod resizing;
mod scans;
mod warming;

use crate::{Mtr, Pool, PoolConfig, RecoverOptions, Tablespace};
use base::{IndexId, Lsn, PAGE_BYTES, PageBuf, PageNo, Result, SpaceId};
use host::{Disk, SimDisk};
use page::{BODY_AT, PageKind, PageOp};
use redo::{Log, LogConfig};
use std::sync::Arc;
use sync::{SlotTable, WorkerSlotRef};

pub(crate) const SPACE: SpaceId = SpaceId(16);
pub(crate) const NAME: &str = "counters.ibd";

/// Where a counter page keeps its second copy of the counter: far from the first.
const COPY_AT: usize = PAGE_BYTES - 8;

pub(crate) struct World {
    pub slots: Arc<SlotTable>,
    pub log: Arc<Log>,
    pub pool: Arc<Pool>,
    pub worker: WorkerSlotRef,
}

fn log_config() -> LogConfig {
    LogConfig { ring_bytes: 256 << 10, capacity_bytes: 4 << 20 }
}

pub(crate) fn frames_only(frames: usize) -> PoolConfig {
    PoolConfig { bytes: frames * PAGE_BYTES, ..Default::default() }
}

/// Recovery on one thread; redo is applied when a page is touched.
pub(crate) fn ignore_logical() -> RecoverOptions {
    let name = |id| if id == SPACE { NAME.into() } else { format!("{id}.ibd") };
    RecoverOptions::new(name, |_, _, _| Ok(()))
}

impl World {
    /// A new data folder.
    pub fn create(disk: Arc<dyn Disk>, frames: usize) -> Result<World> {
        World::create_with(disk, frames_only(frames))
    }

    pub fn create_with(disk: Arc<dyn Disk>, config: PoolConfig) -> Result<World> {
        let slots = SlotTable::new(4, 16);
        let log = Log::create(&disk, &log_config(), slots.clone())?;
        World::with_log(disk, slots, log, config)
    }

    fn with_log(
        disk: Arc<dyn Disk>,
        slots: Arc<SlotTable>,
        log: Arc<Log>,
        config: PoolConfig,
    ) -> Result<World> {
        let pool = Pool::new(config, disk, log.clone())?;
        let worker = slots.acquire_worker().expect("a slot is free");
        Ok(World { slots, log, pool, worker })
    }

    /// What a restart does: torn pages, then redo, which waits for its pages.
    pub fn recover(disk: Arc<dyn Disk>, frames: usize) -> Result<(World, Arc<Tablespace>)> {
        World::recover_with(disk, frames_only(frames))
    }

    pub fn recover_with(
        disk: Arc<dyn Disk>,
        config: PoolConfig,
    ) -> Result<(World, Arc<Tablespace>)> {
        let slots = SlotTable::new(4, 16);
        let (log, replay) = Log::open(&disk, &log_config(), slots.clone())?;
        let world = World::with_log(disk, slots, log, config)?;
        let ts = world.pool.open_tablespace(SPACE, NAME)?;
        world.pool.repair_torn_pages()?;
        world.pool.recover(replay, ignore_logical())?;
        Ok((world, ts))
    }

    pub fn mtr(&self) -> Mtr<'_> {
        Mtr::new(&self.pool, &self.worker)
    }
}

pub(crate) fn sim(seed: u64, frames: usize) -> (Arc<SimDisk>, World) {
    let disk = SimDisk::new(seed);
    let world = World::create(disk.clone(), frames).unwrap();
    (disk, world)
}

pub(crate) const RAW: PageOp<'static> = PageOp::Init {
    kind: PageKind::Raw,
    level: 0,
    index_id: IndexId(0),
    low_fence: b"",
    high_fence: None,
};

/// A tablespace with counter pages `1..=pages`, all zero.
pub(crate) fn counters(world: &World, pages: u32) -> Arc<Tablespace> {
    let ts = world.pool.create_tablespace(SPACE, NAME).unwrap();
    for page in 1..=pages {
        make_counter(world, &ts, page);
    }
    ts
}

/// As [`counters`], all of them on disk and none in memory.
pub(crate) fn counters_on_disk(world: &World, pages: u32) -> Arc<Tablespace> {
    let ts = counters(world, pages);
    world.pool.flush_all().unwrap();
    world.pool.discard(&ts).unwrap();
    ts
}

pub(crate) fn make_counter(world: &World, ts: &Tablespace, page: u32) -> Lsn {
    ts.grow(PageNo(page)).unwrap();
    let mut m = world.mtr();
    let h = m.fresh(ts, PageNo(page)).unwrap();
    m.apply(h, &RAW).unwrap();
    m.commit().unwrap()
}

/// Both copies of a counter, equal unless somebody looked while it changed.
pub(crate) fn read_counter(page: &PageBuf) -> (u64, u64) {
    let at = |i: usize| u64::from_le_bytes(page[i..i + 8].try_into().unwrap());
    (at(BODY_AT), at(COPY_AT))
}

/// Adds one to a counter, by two redo records.
pub(crate) fn bump<'p>(m: &mut Mtr<'p>, ts: &'p Tablespace, page: u32) -> u64 {
    let h = m.exclusive(ts, PageNo(page)).unwrap();
    let (a, b) = read_counter(m.page(h));
    assert_eq!(a, b, "page {page} under an exclusive latch");
    let bytes = (a + 1).to_le_bytes();
    m.apply(h, &PageOp::Write { at: BODY_AT as u16, bytes: &bytes }).unwrap();
    m.apply(h, &PageOp::Write { at: COPY_AT as u16, bytes: &bytes }).unwrap();
    a + 1
}

pub(crate) fn value(ts: &Tablespace, page: u32) -> Result<u64> {
    let (a, b) = read_counter(&*ts.shared(PageNo(page))?);
    assert_eq!(a, b, "page {page} under a shared latch");
    Ok(a)
}
