//! Allocation under a model, full disks, concurrent allocators.

mod damage;
mod large;
mod model;
mod shrink;

use super::*;
use base::{Lsn, PAGE_BYTES, SpaceId};
use host::{Disk, SimDisk};
use page::PageKind;
use pool::spacefile::{EXTENT_PAGES, MAP_EXTENTS};
use pool::{Pool, PoolConfig, RecoverOptions};
use redo::{Log, LogConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::rng::Rng;
use sync::{SlotTable, WorkerSlotRef};

const SPACE: SpaceId = SpaceId(16);
const NAME: &str = "t.ibd";

struct World {
    slots: Arc<SlotTable>,
    log: Arc<Log>,
    pool: Arc<Pool>,
    worker: WorkerSlotRef,
    /// End of the last mini-transaction that was redone.
    tail: Lsn,
}

fn log_config() -> LogConfig {
    LogConfig { ring_bytes: 256 << 10, capacity_bytes: 4 << 20 }
}

impl World {
    fn with_log(disk: Arc<dyn Disk>, slots: Arc<SlotTable>, log: Arc<Log>) -> World {
        let config = PoolConfig { bytes: 256 * PAGE_BYTES, ..Default::default() };
        let pool = Pool::new(config, disk, log.clone()).unwrap();
        let worker = slots.acquire_worker().unwrap();
        World { slots, log, pool, worker, tail: Lsn::ZERO }
    }

    fn create(seed: u64) -> (Arc<SimDisk>, World, Arc<Tablespace>) {
        let disk = SimDisk::new(seed);
        let (world, ts) = World::on(disk.clone());
        (disk, world, ts)
    }

    fn on(disk: Arc<dyn Disk>) -> (World, Arc<Tablespace>) {
        let slots = SlotTable::new(4, 16);
        let log = Log::create(&disk, &log_config(), slots.clone()).unwrap();
        let world = World::with_log(disk, slots, log);
        let ts = world.pool.create_tablespace(SPACE, NAME).unwrap();
        (world, ts)
    }

    /// The whole log is redone.
    fn recover(disk: Arc<dyn Disk>) -> (World, Arc<Tablespace>) {
        World::recover_until(disk, u64::MAX)
    }

    /// At most so many mini-transactions are redone, and the log goes on behind the last of them.
    fn recover_until(disk: Arc<dyn Disk>, count: u64) -> (World, Arc<Tablespace>) {
        let slots = SlotTable::new(4, 16);
        let (log, replay) = Log::open(&disk, &log_config(), slots.clone()).unwrap();
        let mut world = World::with_log(disk, slots, log);
        let ts = world.pool.open_tablespace(SPACE, NAME).unwrap();
        world.pool.repair_torn_pages().unwrap();
        world.tail = world.log.checkpoint_lsn();
        let mut options = RecoverOptions::new(|_| NAME.into(), |_, _, _| Ok(()));
        options.frames_max = count;
        world.tail = world.pool.recover(replay, options).unwrap().end.max(world.tail);
        (world, ts)
    }

    /// What the cleaner thread does in a server.
    fn tend(&self) {
        if self.log.pressure() > 0.4 {
            self.pool.flush_all().unwrap();
            self.pool.checkpoint(b"").unwrap();
        }
    }

    fn allocate(&self, ts: &Tablespace, segment: Segment, near: PageNo) -> Result<PageNo> {
        allocate_with(&self.pool, &self.worker, ts, segment, near)
    }

    fn free(&self, ts: &Tablespace, segment: Segment, page: PageNo) -> Lsn {
        let mut m = Mtr::new(&self.pool, &self.worker);
        free(&mut m, ts, segment, page).unwrap();
        m.commit().unwrap()
    }
}

/// Takes a page and makes it.
fn allocate_with(
    pool: &Pool,
    worker: &WorkerSlotRef,
    ts: &Tablespace,
    segment: Segment,
    near: PageNo,
) -> Result<PageNo> {
    let mut m = Mtr::new(pool, worker);
    let page = allocate_near(&mut m, ts, segment, near)?;
    let h = m.fresh(ts, page)?;
    let (kind, level) = match segment.kind {
        SegmentKind::Inner => (PageKind::Inner, 1),
        SegmentKind::Leaf => (PageKind::Leaf, 0),
        _ => (PageKind::Raw, 0),
    };
    let index_id = segment.index;
    let init = PageOp::Init { kind, level, index_id, low_fence: b"", high_fence: None };
    m.apply(h, &init)?;
    m.commit()?;
    Ok(page)
}

const fn leaf(index: u64) -> Segment {
    Segment::new(IndexId(index), SegmentKind::Leaf)
}

const fn claim(segment: Segment, pages: &PageSet) -> Claim<'_> {
    Claim { segment, pages, is_complete: true }
}

/// Which pages are in use, and whose they are.
type Model = BTreeMap<u32, Segment>;

/// The descriptions say what the model says, and nothing contradicts itself.
fn check(ts: &Tablespace, model: &Model) -> SpaceReport {
    let found = report(ts).unwrap();
    assert_eq!(found.problems, []);
    let mut claims: BTreeMap<Segment, PageSet> = BTreeMap::new();
    for (page, segment) in model {
        assert!(claims.entry(*segment).or_default().insert(PageNo(*page)));
    }
    let claims: Vec<_> = claims.iter().map(|(s, pages)| claim(*s, pages)).collect();
    assert_eq!(audit(ts, &claims, 10).unwrap(), []);
    let maps = u64::from(found.extents.div_ceil(MAP_EXTENTS));
    assert_eq!(found.pages_used, model.len() as u64 + maps);
    assert_eq!(found.pages_used + found.pages_free, u64::from(found.extents * EXTENT_PAGES));
    assert_eq!(found.extents_free + found.extents_shared + found.extents_owned, found.extents);
    assert!(model.keys().all(|page| *page < found.pages_in_file));
    let of_segments: u64 = found.segments.iter().map(|s| s.pages_used).sum();
    assert_eq!(of_segments, model.len() as u64);
    found
}

#[test]
fn threads_that_allocate_at_once_get_different_pages() {
    let (_disk, world, ts) = World::create(3);
    let mut all = Model::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|index| {
                let (world, ts) = (&world, &ts);
                scope.spawn(move || {
                    let worker = world.slots.acquire_worker().unwrap();
                    let segment = leaf(index / 2);
                    let mut mine = Vec::new();
                    for _ in 0..150 {
                        let near = mine.last().copied().unwrap_or(PageNo::NONE);
                        let pool = &world.pool;
                        mine.push(allocate_with(pool, &worker, ts, segment, near).unwrap());
                        prepare(ts).unwrap();
                        if mine.len() % 5 == 0 {
                            let page = mine.swap_remove(0);
                            let mut m = Mtr::new(&world.pool, &worker);
                            free(&mut m, ts, segment, page).unwrap();
                            m.commit().unwrap();
                        }
                    }
                    (segment, mine)
                })
            })
            .collect();
        for thread in threads {
            let (segment, mine) = thread.join().unwrap();
            for page in mine {
                assert!(all.insert(page.0, segment).is_none(), "{page} was given out twice");
            }
        }
    });
    check(&ts, &all);
}

#[test]
fn autoinc_only_rises_and_survives() {
    let (disk, world, ts) = World::create(4);
    assert_eq!(autoinc(&ts).unwrap(), 0);
    for (value, want) in [(5, 5), (3, 5), (u64::MAX, u64::MAX), (9, u64::MAX)] {
        let mut m = Mtr::new(&world.pool, &world.worker);
        bump_autoinc(&mut m, &ts, value).unwrap();
        m.commit().unwrap();
        assert_eq!(autoinc(&ts).unwrap(), want);
    }
    world.log.flush_to(world.log.tail()).unwrap();
    let (_world, ts) = World::recover(disk.crash());
    assert_eq!(header(&ts).unwrap(), Header { extents: 1, autoinc: u64::MAX });
}
