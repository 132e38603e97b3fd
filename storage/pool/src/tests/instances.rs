//! Several instances: crashes, drops, and what each of them knows.

use super::*;
use crate::Doublewrite;
use base::PageId;
use stdx::rng::Rng;

const PAGES: u32 = 400;

fn with_instances(disk: &Arc<SimDisk>, instances: usize) -> PoolConfig {
    let _ = disk;
    PoolConfig { bytes: 256 * PAGE_BYTES, instances, ..Default::default() }
}

/// Bumps random counters, cleaning instances at random, until the power goes.
fn live(world: &World, ts: &Tablespace, rng: &mut Rng, values: &mut [u64]) -> Vec<u64> {
    let mut durable = values.to_vec();
    loop {
        let page = 1 + rng.below(u64::from(PAGES)) as u32;
        let mut m = world.mtr();
        let Ok(_) = m.exclusive(ts, PageNo(page)) else { return durable };
        values[page as usize] = bump(&mut m, ts, page);
        let Ok(lsn) = m.commit() else { return durable };
        if rng.chance(1, 4) {
            if world.log.flush_to(lsn).is_err() {
                return durable;
            }
            durable.copy_from_slice(values);
        }
        let instance = rng.below(world.pool.instances() as u64) as usize;
        if rng.chance(1, 20) && world.pool.clean_instance(instance, 16).is_err() {
            return durable;
        }
        if rng.chance(1, 40) && world.pool.checkpoint(b"").is_err() {
            return durable;
        }
    }
}

#[test]
fn a_crash_with_any_number_of_instances_before_and_after_loses_nothing() {
    let mut torn = 0;
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut disk = SimDisk::new(seed);
        let world = World::create_with(disk.clone(), with_instances(&disk, 4)).unwrap();
        let ts = counters(&world, PAGES);
        world.pool.flush_all().unwrap();
        world.log.flush_to(world.log.tail()).unwrap();
        disk.power_off_after(rng.below(150));
        let mut values = vec![0; PAGES as usize + 1];
        let mut durable = live(&world, &ts, &mut rng, &mut values);
        for instances in [1, 3, 2, 4] {
            disk = disk.crash();
            let config = with_instances(&disk, instances);
            let (world, ts) = World::recover_with(disk.clone(), config).unwrap();
            torn += world.pool.copies.lock().repaired;
            assert_eq!(world.pool.instances(), instances);
            for page in 1..=PAGES as usize {
                let found = value(&ts, page as u32).unwrap();
                let range = durable[page]..=values[page];
                assert!(range.contains(&found), "seed {seed}, page {page}: {found}, {range:?}");
                values[page] = found;
            }
            disk.power_off_after(rng.below(150));
            durable = values.clone();
            durable = live(&world, &ts, &mut rng, &mut values).max(durable);
        }
    }
    assert!(torn > 0, "no seed tore a page: the test is too gentle");
}

#[test]
fn frames_pages_and_figures_are_spread_over_the_instances() {
    let disk = SimDisk::new(41);
    let world = World::create_with(disk.clone(), with_instances(&disk, 4)).unwrap();
    let ts = counters(&world, PAGES);
    world.pool.flush_all().unwrap();
    let stats = world.pool.instance_stats();
    assert_eq!(stats.iter().map(|s| s.pool_id).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(stats.iter().all(|s| s.pool_size == 64));
    assert!(stats.iter().filter(|s| s.number_pages_created > 0).count() >= 2);
    for s in &stats {
        assert_eq!(s.free_buffers + s.database_pages, s.pool_size);
        assert_eq!(s.modified_database_pages, 0);
        assert!(s.number_pages_written >= s.number_pages_created);
    }
    for frame in 0..256 {
        if let Some(id) = world.pool.arena.header(frame).page() {
            assert_eq!(world.pool.instance_of(id), frame as usize % 4);
        }
    }
    let status = world.pool.status();
    assert_eq!((status.pages_total, status.pages_dirty), (256, 0));
    assert_eq!(status.pages_free + status.pages_data, 256);
    let flushed: u64 = stats.iter().map(|s| s.number_pages_written).sum();
    assert_eq!(status.pages_flushed, flushed);
    drop(ts);
}

#[test]
fn a_dropped_tablespace_leaves_nothing_behind_in_any_instance() {
    let disk = SimDisk::new(42);
    let world = World::create_with(disk.clone(), with_instances(&disk, 4)).unwrap();
    let ts = counters(&world, 100);
    let other = world.pool.create_tablespace(SpaceId(17), "other.ibd").unwrap();
    make_counter(&world, &other, 3);
    assert!(world.pool.dirty_frames() > 100);
    world.pool.drop_tablespace(&ts).unwrap();
    assert_eq!(world.pool.dirty_frames(), 1, "the other's page");
    assert_eq!(world.pool.status().pages_data, 1);
    assert!(world.pool.oldest_dirty() < Lsn::MAX);
    world.pool.flush_all().unwrap();
    assert_eq!(world.pool.oldest_dirty(), Lsn::MAX);
    let ts = world.pool.create_tablespace(SPACE, NAME).unwrap();
    make_counter(&world, &ts, 5);
    assert_eq!(value(&ts, 5).unwrap(), 0);
}

#[test]
fn a_page_that_was_changed_while_its_copy_was_in_flight_holds_the_checkpoint() {
    let (_disk, world) = sim(43, 64);
    let ts = counters(&world, 3);
    world.pool.flush_all().unwrap();
    let at = world.pool.checkpoint(b"").unwrap();
    let mut m = world.mtr();
    bump(&mut m, &ts, 1);
    m.commit().unwrap();
    let first = world.pool.oldest_dirty();
    assert!(first >= at && first < Lsn::MAX);
    for _ in 0..5 {
        let mut m = world.mtr();
        bump(&mut m, &ts, 2);
        m.commit().unwrap();
    }
    assert_eq!(world.pool.oldest_dirty(), first, "the oldest counts");
    assert_eq!(world.pool.clean_some(1).unwrap(), 1);
    let second = world.pool.oldest_dirty();
    assert!(second > first && world.pool.checkpoint(b"").unwrap() == second);
    world.pool.flush_all().unwrap();
    assert_eq!(world.pool.checkpoint(b"").unwrap(), world.log.tail());
}

#[test]
fn pages_that_stay_latched_do_not_keep_others_from_being_written() {
    let (_disk, world) = sim(44, 256);
    let ts = counters(&world, 200);
    world.pool.flush_all().unwrap();
    for page in 1..=200 {
        let mut m = world.mtr();
        bump(&mut m, &ts, page);
        m.commit().unwrap();
    }
    let mut m = world.mtr();
    for page in 1..=100 {
        m.exclusive(&ts, PageNo(page)).unwrap();
    }
    let mut written = 0;
    for _ in 0..8 {
        written += world.pool.clean_some(64).unwrap();
    }
    assert_eq!(written, 100, "all that are not latched");
    m.commit().unwrap();
    world.pool.flush_all().unwrap();
    assert_eq!(world.pool.dirty_frames(), 0);
}

#[test]
fn neighbours_are_written_together_when_asked_for() {
    for (setting, expected) in [(0, 1), (1, 3), (2, 5)] {
        let (_disk, world) = sim(45, 256);
        let ts = counters(&world, 130);
        world.pool.flush_all().unwrap();
        for page in [100, 101, 99, 110, 70, 20, 40] {
            let mut m = world.mtr();
            bump(&mut m, &ts, page);
            m.commit().unwrap();
        }
        world.pool.settings().set_flush_neighbors(setting);
        let mut batches = Vec::new();
        while world.pool.dirty_frames() > 0 {
            batches.push(world.pool.clean_some(1).unwrap());
        }
        assert!(batches.contains(&expected), "setting {setting}: {batches:?}");
        assert_eq!(batches.iter().sum::<usize>(), 7);
    }
}

/// A device that does not tear pages: no copies are made, and none are needed.
#[test]
fn without_a_doublewrite_an_atomic_disk_loses_nothing() {
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let disk = SimDisk::new(seed);
        disk.write_atomically(PAGE_BYTES);
        let world = World::create(disk.clone(), 64).unwrap();
        let ts = counters(&world, PAGES);
        world.pool.flush_all().unwrap();
        world.log.flush_to(world.log.tail()).unwrap();
        assert!(
            disk.open(&crate::doublewrite::name(0), host::OpenMode::Read)
                .unwrap()
                .is_empty()
                .unwrap()
        );
        disk.power_off_after(rng.below(150));
        let mut values = vec![0; PAGES as usize + 1];
        let durable = live(&world, &ts, &mut rng, &mut values);
        let (world, ts) = World::recover(disk.crash(), 64).unwrap();
        assert_eq!(world.pool.copies.lock().repaired, 0);
        for page in 1..=PAGES as usize {
            let found = value(&ts, page as u32).unwrap();
            assert!((durable[page]..=values[page]).contains(&found), "seed {seed}, page {page}");
        }
    }
}

#[test]
fn without_a_doublewrite_a_torn_page_is_found_and_lost() {
    let mut lost = 0;
    for seed in 0..30 {
        let disk = SimDisk::new(seed);
        let config =
            PoolConfig { doublewrite: Doublewrite::DetectOnly, ..with_instances(&disk, 1) };
        let world = World::create_with(disk.clone(), config.clone()).unwrap();
        let ts = counters(&world, 20);
        world.pool.flush_all().unwrap();
        world.pool.checkpoint(b"").unwrap();
        for page in 1..=20 {
            let mut m = world.mtr();
            bump(&mut m, &ts, page);
            m.commit().unwrap();
        }
        // The log's write and sync, then the pages' writes; not their sync.
        disk.power_off_after(3);
        assert!(world.pool.flush_all().is_err());
        let (_world, ts) = World::recover_with(disk.crash(), config).unwrap();
        for page in 1..=20 {
            match value(&ts, page) {
                Ok(n) => assert!(n <= 1),
                Err(e) => {
                    let torn = PageId::new(SPACE, PageNo(page));
                    assert!(matches!(e, base::Error::Corrupt { page, .. } if page == torn), "{e}");
                    lost += 1;
                }
            }
        }
    }
    assert!(lost > 0, "no page was torn: the test is too gentle");
}
