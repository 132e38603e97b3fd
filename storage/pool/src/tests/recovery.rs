//! Redo that waits for its pages: on demand, swept, in batches, with damage and dropped files.

use super::*;
use crate::Sweep;
use base::{Error, PageId};
use stdx::rng::Rng;

/// A world with room for much redo.
fn large(seed: u64) -> (Arc<SimDisk>, World) {
    let disk = SimDisk::new(seed);
    let slots = SlotTable::new(4, 16);
    let as_disk = disk.clone() as Arc<dyn Disk>;
    let log = Log::create(&as_disk, &large_log(), slots.clone()).unwrap();
    (disk, World::with_log(as_disk, slots, log, frames_only(512)).unwrap())
}

fn large_log() -> LogConfig {
    LogConfig { ring_bytes: 1 << 20, capacity_bytes: 64 << 20 }
}

/// Opens a disk of [`large`].
fn reopen(disk: Arc<dyn Disk>, options: RecoverOptions) -> (World, crate::Recovered) {
    let slots = SlotTable::new(4, 16);
    let (log, replay) = Log::open(&disk, &large_log(), slots.clone()).unwrap();
    let world = World::with_log(disk, slots, log, frames_only(64)).unwrap();
    let done = world.pool.recover(replay, options).unwrap();
    (world, done)
}

#[test]
fn a_page_read_on_demand_is_the_swept_page_byte_for_byte() {
    let (disk, world) = sim(31, 256);
    let ts = counters(&world, 60);
    world.pool.flush_all().unwrap();
    world.pool.checkpoint(b"").unwrap();
    let mut rng = Rng::new(7);
    for i in 0..600 {
        let mut m = world.mtr();
        bump(&mut m, &ts, 1 + rng.below(60) as u32);
        bump(&mut m, &ts, 1 + rng.below(60) as u32);
        m.commit().unwrap();
        if i == 200 {
            // Some pages have a part of it already.
            world.pool.clean_some(20).unwrap();
        }
    }
    world.log.flush_to(world.log.tail()).unwrap();
    let (demand, a) = World::recover(disk.kill(), 128).unwrap();
    let (swept, b) = World::recover(disk.kill(), 128).unwrap();
    let waiting = demand.pool.redo_pages_left();
    assert!(waiting > 50, "{waiting}");
    swept.pool.sweep_all(3).unwrap();
    assert_eq!(swept.pool.redo_pages_left(), 0);
    let mut order: Vec<u32> = (1..=60).collect();
    for i in 0..order.len() {
        order.swap(i, rng.below(60) as usize);
    }
    for page in order {
        let live = ts.shared(PageNo(page)).unwrap();
        let (a, b) = (a.shared(PageNo(page)).unwrap(), b.shared(PageNo(page)).unwrap());
        assert_eq!(a[4..], b[4..], "page {page} apart from its checksum");
        assert_eq!(a[4..], live[4..], "page {page} and the live one");
    }
    assert_eq!(demand.pool.redo_pages_left(), 0);
    assert_eq!(demand.pool.redo_pages_total(), waiting);
}

#[test]
fn the_checkpoint_waits_for_the_sweep() {
    let (disk, world) = sim(32, 64);
    let ts = counters(&world, 40);
    world.log.flush_to(world.log.tail()).unwrap();
    drop(ts);
    let (world, ts) = World::recover(disk.kill(), 64).unwrap();
    let began = world.log.checkpoint_lsn();
    assert_eq!(value(&ts, 3).unwrap(), 0);
    world.pool.flush_all().unwrap();
    assert_eq!(world.pool.checkpoint(b"").unwrap(), began, "39 pages still wait");
    while world.pool.sweep().unwrap() == Sweep::More {}
    assert_eq!(world.pool.redo_pages_left(), 0);
    assert_eq!(world.pool.checkpoint(b"").unwrap(), began, "nothing of it was written");
    world.pool.flush_all().unwrap();
    assert_eq!(world.pool.checkpoint(b"").unwrap(), world.log.tail());
}

#[test]
fn memory_for_waiting_redo_is_bounded() {
    const PAGES: u32 = 150;
    const BOUND: usize = 6 << 20;
    /// One window may be read before the bound is seen.
    const WINDOW: u64 = 5 << 20;
    let (disk, world) = large(33);
    let ts = counters(&world, PAGES);
    for i in 0..4000u32 {
        let mut m = world.mtr();
        let h = m.exclusive(&ts, PageNo(1 + i % PAGES)).unwrap();
        let bytes = [i as u8; 7000];
        m.apply(h, &PageOp::Write { at: BODY_AT as u16 + 100, bytes: &bytes }).unwrap();
        m.commit().unwrap();
        if i % 7 == 0 {
            let mut m = world.mtr();
            bump(&mut m, &ts, 1 + i % PAGES);
            m.commit().unwrap();
        }
    }
    world.log.flush_to(world.log.tail()).unwrap();
    for threads in [1, 3] {
        let mut options = ignore_logical();
        (options.threads, options.memory_bytes) = (threads, BOUND);
        let (copy, done) = reopen(disk.kill(), options);
        assert!(done.batches >= 4 && done.bytes > 4 * BOUND as u64, "{done:?}");
        assert!(done.held_bytes_max <= BOUND as u64 + WINDOW, "{done:?}");
        let left = copy.pool.redo_pages_left();
        assert!(left > 0 && left <= u64::from(PAGES) + 1, "only the last batch waits: {left}");
        let redone = copy.pool.tablespace(SPACE).unwrap();
        for page in 1..=PAGES {
            let live = ts.shared(PageNo(page)).unwrap();
            let redone = redone.shared(PageNo(page)).unwrap();
            assert_eq!(live[4..], redone[4..], "page {page}, {threads} threads");
        }
        copy.pool.sweep_all(2).unwrap();
        copy.pool.flush_all().unwrap();
        copy.pool.checkpoint(b"").unwrap();
    }
}

#[test]
fn a_tablespace_is_dropped_while_its_pages_wait_and_are_swept() {
    for seed in 0..20 {
        let (disk, world) = sim(seed, 128);
        let ts = counters(&world, 100);
        world.log.flush_to(world.log.tail()).unwrap();
        drop(ts);
        let (world, ts) = World::recover(disk.kill(), 64).unwrap();
        let pool = Arc::clone(&world.pool);
        let sweeper =
            host::thread::spawn("sweeper", move || while pool.sweep().unwrap() == Sweep::More {});
        let sweeper = sweeper.unwrap();
        let turns = Rng::new(seed).below(200);
        (0..turns).for_each(|_| sync::yield_now());
        world.pool.drop_tablespace(&ts).unwrap();
        sweeper.join().unwrap();
        assert_eq!(world.pool.redo_pages_left(), 0, "seed {seed}");
        assert_eq!(world.pool.dirty_frames(), 0, "seed {seed}");
    }
}

#[test]
fn a_page_made_anew_needs_neither_its_old_bytes_nor_its_old_redo() {
    let (disk, world) = sim(34, 64);
    let ts = counters(&world, 2);
    world.pool.flush_all().unwrap();
    world.pool.checkpoint(b"").unwrap();
    let mut m = world.mtr();
    bump(&mut m, &ts, 1);
    m.commit().unwrap();
    world.log.flush_to(world.log.tail()).unwrap();
    drop(ts);
    let (world, ts) = World::recover(disk.kill(), 64).unwrap();
    assert_eq!(world.pool.redo_pages_left(), 1);
    make_counter(&world, &ts, 1);
    assert_eq!(world.pool.redo_pages_left(), 0, "what waited has no meaning any more");
    assert_eq!(value(&ts, 1).unwrap(), 0);
}

/// A node with the entries whose numbers are given.
fn leaf(world: &World, ts: &Tablespace, page: u32, entries: std::ops::Range<u16>) {
    for slot in entries {
        let mut m = world.mtr();
        let h = match slot {
            0 => {
                let h = m.fresh(ts, PageNo(page)).unwrap();
                let op = PageOp::Init {
                    kind: PageKind::Leaf,
                    level: 0,
                    index_id: IndexId(7),
                    low_fence: b"",
                    high_fence: None,
                };
                m.apply(h, &op).unwrap();
                h
            }
            _ => m.exclusive(ts, PageNo(page)).unwrap(),
        };
        let key = slot.to_be_bytes();
        m.apply(h, &PageOp::Insert { slot, key: &key, payload: b"p" }).unwrap();
        m.commit().unwrap();
    }
}

#[test]
fn a_page_whose_last_write_was_lost_is_never_served() {
    let (disk, world) = sim(35, 64);
    let ts = counters(&world, 2);
    leaf(&world, &ts, 3, 0..1);
    world.pool.flush_all().unwrap();
    let file = disk.open(NAME, host::OpenMode::ReadWrite).unwrap();
    let mut old = host::AlignedBuf::zeroed(PAGE_BYTES);
    assert_eq!(file.read_at(&mut old, 3 * PAGE_BYTES as u64).unwrap(), PAGE_BYTES);
    leaf(&world, &ts, 3, 1..2);
    world.pool.flush_all().unwrap();
    // Another batch takes the place of the copy.
    let mut m = world.mtr();
    bump(&mut m, &ts, 1);
    m.commit().unwrap();
    world.pool.flush_all().unwrap();
    world.pool.checkpoint(b"").unwrap();
    leaf(&world, &ts, 3, 2..3);
    world.log.flush_to(world.log.tail()).unwrap();
    file.write_at(&old, 3 * PAGE_BYTES as u64).unwrap();
    file.sync_data().unwrap();
    let page = PageId::new(SPACE, PageNo(3));
    let is_page = |e: &Error| matches!(e, Error::Corrupt { page: p, .. } if *p == page);
    let mut disk = disk.kill();
    for life in 0..2 {
        let (world, ts) = World::recover(disk.clone(), 64).unwrap();
        let read = ts.shared(PageNo(3)).map(|_| ()).unwrap_err();
        assert!(is_page(&read), "{read}");
        world.pool.sweep_all(1).unwrap();
        let damage = world.pool.take_damage();
        assert_eq!(damage.len(), usize::from(life == 0), "{damage:?}");
        assert!(damage.iter().all(|d| is_page(&d.error)), "{damage:?}");
        assert_eq!(value(&ts, 1).unwrap(), 1, "the others are served");
        // Its redo is gone with the checkpoint, and still nobody sees the old page.
        world.pool.flush_all().unwrap();
        assert_eq!(world.pool.checkpoint(b"").unwrap(), world.log.tail());
        disk = disk.kill();
    }
}

#[test]
fn a_disk_error_leaves_the_redo_waiting() {
    let (disk, world) = sim(36, 64);
    let ts = counters(&world, 3);
    world.pool.flush_all().unwrap();
    world.pool.checkpoint(b"").unwrap();
    let mut m = world.mtr();
    bump(&mut m, &ts, 2);
    m.commit().unwrap();
    world.log.flush_to(world.log.tail()).unwrap();
    drop(ts);
    let disk = disk.kill();
    let (world, ts) = World::recover(disk.clone(), 64).unwrap();
    disk.fail_next_reads(2);
    assert!(matches!(value(&ts, 2), Err(Error::Io { .. })));
    assert!(matches!(world.pool.sweep(), Err(Error::Io { .. })));
    assert_eq!(world.pool.redo_pages_left(), 1);
    assert_eq!(world.pool.sweep().unwrap(), Sweep::GivenOut);
    world.pool.sweep_all(1).unwrap();
    assert_eq!(value(&ts, 2).unwrap(), 1);
    assert!(world.pool.take_damage().is_empty());
}
