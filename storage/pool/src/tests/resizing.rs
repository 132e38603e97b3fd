//! Growing and shrinking while the pool is used.

use super::*;
use base::Error;
use stdx::rng::Rng;
use stdx::{Ordering, SharedAtomic, class};

const PAGES: u32 = 900;

fn sized(frames: usize, frames_max: usize, instances: usize) -> PoolConfig {
    let (bytes, bytes_max) = (frames * PAGE_BYTES, frames_max * PAGE_BYTES);
    PoolConfig { bytes, bytes_max, instances, ..Default::default() }
}

fn world(frames: usize, frames_max: usize, instances: usize) -> (World, Arc<Tablespace>) {
    let disk = SimDisk::new(71);
    let world = World::create_with(disk, sized(frames, frames_max, instances)).unwrap();
    let ts = counters(&world, PAGES);
    world.pool.flush_all().unwrap();
    (world, ts)
}

#[test]
fn a_pool_grows_and_shrinks_between_its_bounds() {
    let (world, ts) = world(256, 2048, 2);
    let pool = &world.pool;
    assert_eq!(pool.resize_status(), "");
    pool.resize(2048 * PAGE_BYTES).unwrap();
    assert_eq!((pool.frames(), pool.status().pages_total), (2048, 2048));
    assert!(pool.resize_status().starts_with("Completed resizing buffer pool at "));
    let sum = || (1..=PAGES).map(|p| value(&ts, p).unwrap()).sum::<u64>();
    assert_eq!(sum(), 0);
    assert!(pool.status().pages_data >= u64::from(PAGES), "everything fits now");
    for page in 1..=PAGES {
        let mut m = world.mtr();
        bump(&mut m, &ts, page);
        m.commit().unwrap();
    }
    pool.resize(128 * PAGE_BYTES).unwrap();
    let s = pool.status();
    assert_eq!((pool.frames(), s.pages_total, s.pages_free + s.pages_data), (128, 128, 128));
    assert_eq!((s.resize_status_code, s.resize_status_progress), (0, 100));
    for frame in 128..2048 {
        let header = pool.arena.header(frame);
        assert!(header.page().is_none() && header.is_clean());
        // SAFETY: withdrawn frames are nobody's.
        assert!(unsafe { pool.frame_bytes(frame).as_ref() }.iter().all(|b| *b == 0));
    }
    assert_eq!(sum(), u64::from(PAGES));
    pool.resize(128 * PAGE_BYTES).unwrap();
    assert!(pool.resize_status().starts_with("Size did not change (old size = new size = 2097152"));
    for wrong in [2049, 127, 0] {
        assert!(matches!(pool.resize(wrong * PAGE_BYTES), Err(Error::Internal(_))), "{wrong}");
    }
    pool.resize(1024 * PAGE_BYTES).unwrap();
    assert_eq!(sum(), u64::from(PAGES));
}

/// Memory that the first `frames` of an instance's frames have from the system, in bytes. Other tests
/// of this process take and give back memory meanwhile, so the process's figure would not do.
fn resident_bytes(pool: &Pool, frames: usize) -> usize {
    use std::os::unix::fs::FileExt;
    const SYSTEM_PAGE_BYTES: usize = 4096;
    let first = pool.frame_bytes(0).as_ptr() as usize / SYSTEM_PAGE_BYTES;
    let mut entries = vec![0; frames * PAGE_BYTES / SYSTEM_PAGE_BYTES * size_of::<u64>()];
    let map = std::fs::File::open("/proc/self/pagemap").unwrap();
    map.read_exact_at(&mut entries, (first * size_of::<u64>()) as u64).unwrap();
    // The topmost bits of an entry: in memory, swapped out.
    let taken = |e: &&[u8]| e[7] & 0xC0 != 0;
    entries.chunks_exact(size_of::<u64>()).filter(taken).count() * SYSTEM_PAGE_BYTES
}

#[test]
fn memory_of_withdrawn_frames_goes_back_to_the_system() {
    let frames = 16 << 10;
    let (world, _ts) = world(64, frames, 1);
    let resident = || resident_bytes(&world.pool, frames);
    let before = resident();
    world.pool.resize(frames * PAGE_BYTES).unwrap();
    for frame in 64..frames as u32 {
        let taken = world.pool.try_take(0, crate::clock::Purpose::Asked);
        if let Some(taken) = taken {
            // SAFETY: a frame from the free list is this thread's alone.
            unsafe { world.pool.frame_bytes(taken).as_mut() }.fill(1);
            assert!(taken < frames as u32 && frame > 0);
        }
    }
    assert_eq!(resident(), frames * PAGE_BYTES, "all is in use; before: {before}");
    for frame in 0..frames as u32 {
        if world.pool.arena.header(frame).page().is_none() {
            world.pool.give_back(frame);
        }
    }
    world.pool.resize(64 * PAGE_BYTES).unwrap();
    let after = resident();
    assert!(after <= 64 * PAGE_BYTES, "before: {before}, after: {after}");
}

#[test]
fn a_pool_is_resized_under_readers_and_writers() {
    for instances in [1, 3] {
        let (world, ts) = world(192, 1024, instances);
        let bumps = SharedAtomic::<u64, { class::OTHER }>::new(0);
        let stop = SharedAtomic::<bool, { class::OTHER }>::new(false);
        std::thread::scope(|scope| {
            for seed in 1..=3 {
                let (world, ts, bumps, stop) = (&world, &ts, &bumps, &stop);
                scope.spawn(move || {
                    let worker = world.slots.acquire_worker().unwrap();
                    let mut rng = Rng::new(seed);
                    while !stop.load(Ordering::Acquire) {
                        let page = 1 + rng.below(u64::from(PAGES)) as u32;
                        if rng.chance(1, 2) {
                            let mut m = Mtr::new(&world.pool, &worker);
                            bump(&mut m, ts, page);
                            m.commit().unwrap();
                            bumps.fetch_add(1, Ordering::Relaxed);
                        } else {
                            value(ts, page).unwrap();
                        }
                        if rng.chance(1, 50) {
                            world.pool.clean_some(16).unwrap();
                            world.pool.checkpoint(b"").unwrap();
                        }
                    }
                });
            }
            for frames in [1024, 200, 700, 192, 1000, 500] {
                world.pool.resize(frames * PAGE_BYTES).unwrap();
                assert_eq!(world.pool.frames(), frames);
            }
            stop.store(true, Ordering::Release);
        });
        let sum: u64 = (1..=PAGES).map(|p| value(&ts, p).unwrap()).sum();
        assert_eq!(sum, bumps.load(Ordering::Relaxed));
        let s = world.pool.status();
        assert_eq!((s.pages_total, s.pages_free + s.pages_data), (500, 500));
        world.pool.flush_all().unwrap();
        assert_eq!(world.pool.dirty_frames(), 0);
    }
}
