//! Allocation under a model, full disks, concurrent allocators.

use super::*;
use base::{PAGE_BYTES, SpaceId};
use host::{Disk, SimDisk};
use pool::{Pool, PoolConfig};
use redo::{Log, LogConfig};
use std::collections::BTreeSet;
use std::sync::Arc;
use stdx::rng::Rng;
use sync::{SlotTable, WorkerSlotRef};

const SPACE: SpaceId = SpaceId(16);
const NAME: &str = "t.ibd";
const SEGMENT: Segment = Segment::new(IndexId(7), SegmentKind::Leaf);

struct World {
    slots: Arc<SlotTable>,
    log: Arc<Log>,
    pool: Arc<Pool>,
    worker: WorkerSlotRef,
}

fn log_config() -> LogConfig {
    LogConfig { ring_bytes: 256 << 10, capacity_bytes: 4 << 20 }
}

impl World {
    fn with_log(disk: Arc<dyn Disk>, slots: Arc<SlotTable>, log: Arc<Log>) -> World {
        let config = PoolConfig { bytes: 64 * PAGE_BYTES, ..Default::default() };
        let pool = Pool::new(config, disk, log.clone()).unwrap();
        let worker = slots.acquire_worker().unwrap();
        World { slots, log, pool, worker }
    }

    fn create(seed: u64) -> (Arc<SimDisk>, World, Arc<Tablespace>) {
        let disk = SimDisk::new(seed);
        let slots = SlotTable::new(4, 16);
        let as_disk: Arc<dyn Disk> = disk.clone();
        let log = Log::create(&as_disk, &log_config(), slots.clone()).unwrap();
        let world = World::with_log(as_disk, slots, log);
        let ts = world.pool.create_tablespace(SPACE, NAME).unwrap();
        (disk, world, ts)
    }

    fn recover(disk: Arc<SimDisk>) -> (World, Arc<Tablespace>) {
        let slots = SlotTable::new(4, 16);
        let disk: Arc<dyn Disk> = disk;
        let (log, mut replay) = Log::open(&disk, &log_config(), slots.clone()).unwrap();
        let world = World::with_log(disk, slots, log);
        let ts = world.pool.open_tablespace(SPACE, NAME).unwrap();
        world.pool.repair_torn_pages().unwrap();
        while let Some(window) = replay.next_window().unwrap() {
            world.pool.log().secure(&mut replay).unwrap();
            for f in &window.frames {
                world.pool.redo(f.start, f.end, window.body(f), &mut |_, _| Ok(())).unwrap();
            }
        }
        world.pool.log().resume(replay).unwrap();
        (world, ts)
    }

    fn allocate(&self, ts: &Tablespace) -> Result<PageNo> {
        allocate_with(&self.pool, &self.worker, ts)
    }

    fn free(&self, ts: &Tablespace, page: PageNo) {
        let mut m = Mtr::new(&self.pool, &self.worker);
        free(&mut m, ts, page).unwrap();
        m.commit().unwrap();
    }
}

fn allocate_with(pool: &Pool, worker: &WorkerSlotRef, ts: &Tablespace) -> Result<PageNo> {
    let mut m = Mtr::new(pool, worker);
    let page = allocate(&mut m, ts, SEGMENT)?;
    let h = m.fresh(ts, page)?;
    let init = PageOp::Init {
        kind: PageKind::Raw,
        level: 0,
        index_id: IndexId(7),
        low_fence: b"",
        high_fence: None,
    };
    m.apply(h, &init)?;
    m.commit()?;
    Ok(page)
}

/// The free list, walked; every page above 0 is in it or in `used`, once.
fn check(ts: &Tablespace, used: &BTreeSet<u32>) {
    let header = header(ts).unwrap();
    let mut all = used.clone();
    let mut at = header.free_head;
    let mut listed = 0;
    while at != PageNo::NONE {
        let page = ts.shared(at).unwrap();
        assert_eq!(page::header::kind(&page), Some(PageKind::Free));
        assert!(all.insert(at.0), "page {at} is both free and used, or twice in the list");
        listed += 1;
        at = PageNo(read_u32(&page, BODY_AT));
    }
    assert_eq!(listed, header.free_count);
    assert_eq!(all, (1..header.page_count).collect());
    assert!(header.page_count <= ts.pages_in_file());
}

#[test]
fn pages_are_handed_out_once_and_come_back_over_a_crash() {
    let (disk, world, ts) = World::create(1);
    let mut rng = Rng::new(1);
    let mut used = BTreeSet::new();
    for round in 0..600 {
        if rng.chance(3, 5) || used.is_empty() {
            let page = world.allocate(&ts).unwrap();
            assert!(used.insert(page.0), "page {page} was handed out twice");
        } else {
            let nth = rng.below(used.len() as u64) as usize;
            let page = *used.iter().nth(nth).unwrap();
            used.remove(&page);
            world.free(&ts, PageNo(page));
        }
        if round % 100 == 0 {
            check(&ts, &used);
            world.pool.clean_some(10).unwrap();
            world.pool.checkpoint(b"").unwrap();
        }
    }
    check(&ts, &used);
    world.log.flush_to(world.log.tail()).unwrap();
    let (_world, ts) = World::recover(disk.crash());
    check(&ts, &used);
}

#[test]
fn a_full_disk_is_reported_and_nothing_is_changed() {
    let (disk, world, ts) = World::create(2);
    let mut used = BTreeSet::new();
    // Make the log's room first: it shares the disk.
    world.log.flush_to(world.log.tail()).unwrap();
    disk.enospc_after(20 * PAGE_BYTES as u64);
    let full = loop {
        match world.allocate(&ts) {
            Ok(page) => assert!(used.insert(page.0)),
            Err(e) => break e,
        }
    };
    assert!(matches!(&full, Error::NoSpace { path } if path == NAME), "{full}");
    assert!(used.len() >= 20, "{} pages", used.len());
    check(&ts, &used);
    // A page given back is there for the next.
    world.free(&ts, PageNo(5));
    assert_eq!(world.allocate(&ts).unwrap(), PageNo(5));
    disk.heal();
    assert!(used.insert(world.allocate(&ts).unwrap().0));
    check(&ts, &used);
}

#[test]
fn threads_that_allocate_at_once_get_different_pages() {
    let (_disk, world, ts) = World::create(3);
    let mut all = BTreeSet::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let worker = world.slots.acquire_worker().unwrap();
                    let mut mine = Vec::new();
                    for _ in 0..100 {
                        mine.push(allocate_with(&world.pool, &worker, &ts).unwrap().0);
                        if mine.len() % 5 == 0 {
                            let page = PageNo(mine.pop().unwrap());
                            let mut m = Mtr::new(&world.pool, &worker);
                            free(&mut m, &ts, page).unwrap();
                            m.commit().unwrap();
                        }
                    }
                    mine
                })
            })
            .collect();
        for thread in threads {
            for page in thread.join().unwrap() {
                assert!(all.insert(page));
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
    let mut m = Mtr::new(&world.pool, &world.worker);
    set_aux_root(&mut m, &ts, PageNo(77)).unwrap();
    m.commit().unwrap();
    world.log.flush_to(world.log.tail()).unwrap();
    let (_world, ts) = World::recover(disk.crash());
    let found = header(&ts).unwrap();
    assert_eq!((found.autoinc, found.aux_root), (u64::MAX, PageNo(77)));
}

#[test]
fn a_page_freed_and_taken_in_one_mini_transaction() {
    let (_disk, world, ts) = World::create(5);
    let page = world.allocate(&ts).unwrap();
    let mut m = Mtr::new(&world.pool, &world.worker);
    free(&mut m, &ts, page).unwrap();
    assert_eq!(allocate(&mut m, &ts, SEGMENT).unwrap(), page);
    assert!(matches!(free(&mut m, &ts, PageNo(0)), Err(Error::Internal(_))));
    assert!(matches!(free(&mut m, &ts, PageNo(999)), Err(Error::Internal(_))));
    m.commit().unwrap();
    assert_eq!(header(&ts).unwrap().free_count, 0);
}

#[test]
fn a_free_list_that_leads_astray_is_corrupt() {
    let (_disk, world, ts) = World::create(6);
    let page = world.allocate(&ts).unwrap();
    for astray in [0, page.0, 5000] {
        let mut m = Mtr::new(&world.pool, &world.worker);
        let page0 = m.exclusive(&ts, HEADER).unwrap();
        write(&mut m, page0, FREE_HEAD_AT, &astray.to_le_bytes()).unwrap();
        write(&mut m, page0, FREE_COUNT_AT, &1u32.to_le_bytes()).unwrap();
        m.commit().unwrap();
        let found = world.allocate(&ts);
        assert!(matches!(found, Err(Error::Corrupt { .. })), "{astray}: {found:?}");
    }
}
