//! Several threads, a pool smaller than the data, a cleaner of its own.

use super::*;
use std::time::{Duration, Instant};
use stdx::rng::Rng;
use stdx::{Ordering, SharedAtomic, class};

type Flag = SharedAtomic<bool, { class::OTHER }>;

const THREADS: u64 = 4;
const ROUNDS: u64 = 6000;
const PAGES: u64 = 240;

/// What the engine's cleaner thread does.
fn clean_until(world: &World, stop: &Flag) {
    while !stop.load(Ordering::Acquire) {
        let seen = world.pool.look_for_work(0);
        if world.pool.clean_some(64).unwrap() == 0 {
            world.pool.wait_for_work(0, seen, Duration::from_millis(1), || false);
        }
        world.pool.checkpoint(b"").unwrap();
    }
}

fn one_thread(world: &World, ts: &Tablespace, seed: u64) {
    let worker = world.slots.acquire_worker().unwrap();
    let mut rng = Rng::new(seed);
    let mut copy = Box::new([0; PAGE_BYTES]);
    let mut validated = 0u32;
    for _ in 0..ROUNDS {
        let page = 1 + rng.below(PAGES) as u32;
        if rng.chance(1, 3) {
            let mut m = Mtr::new(&world.pool, &worker);
            bump(&mut m, ts, page);
            m.commit().unwrap();
            continue;
        }
        let read = ts.optimistic(PageNo(page)).unwrap();
        read.node().copy_page(&mut copy);
        if read.validate() {
            validated += 1;
            assert_eq!(page::header::page_id(&copy).page.0, page);
            let (a, b) = read_counter(&copy);
            assert_eq!(a, b, "a validated read of page {page}");
        }
    }
    assert!(validated > ROUNDS as u32 / 2);
}

fn total(ts: &Tablespace) -> u64 {
    (1..=PAGES as u32).map(|page| value(ts, page).unwrap()).sum()
}

fn expected_bumps() -> u64 {
    let bumps = |seed| {
        let mut rng = Rng::new(seed);
        (0..ROUNDS).filter(|_| (rng.below(PAGES), rng.chance(1, 3)).1).count() as u64
    };
    (1..=THREADS).map(bumps).sum()
}

#[test]
fn readers_writers_clock_and_cleaner_together_lose_nothing() {
    let (disk, world) = sim(31, 64);
    let ts = counters(&world, PAGES as u32);
    world.pool.set_background_cleaner(true);
    let stop = Flag::new(false);
    std::thread::scope(|scope| {
        let cleaner = scope.spawn(|| clean_until(&world, &stop));
        let threads: Vec<_> = (1..=THREADS)
            .map(|n| {
                (
                    n,
                    scope.spawn({
                        let (world, ts) = (&world, &ts);
                        move || one_thread(world, ts, n)
                    }),
                )
            })
            .collect();
        let results: Vec<_> = threads.into_iter().map(|(_, t)| t.join()).collect();
        stop.store(true, Ordering::Release);
        cleaner.join().unwrap();
        results.into_iter().for_each(|r| r.unwrap());
    });
    // It may have left all frames changed: who needs one cleans for itself now.
    world.pool.set_background_cleaner(false);
    assert_eq!(total(&ts), expected_bumps());
    world.log.flush_to(world.log.tail()).unwrap();
    let (_world, ts) = World::recover(disk.crash(), 64).unwrap();
    assert_eq!(total(&ts), expected_bumps());
}

#[test]
fn a_thread_that_needs_a_frame_waits_for_the_cleaner_and_writes_nothing() {
    let (disk, world) = sim(32, 64);
    let ts = counters(&world, 40);
    world.pool.flush_all().unwrap();
    world.pool.set_background_cleaner(true);
    ts.grow(PageNo(200)).unwrap();
    let writes = disk.stats().writes;
    let done = Flag::new(false);
    let seen = world.pool.look_for_work(0);
    std::thread::scope(|scope| {
        let maker = scope.spawn(|| {
            let worker = world.slots.acquire_worker().unwrap();
            for page in 41..=200 {
                let mut m = Mtr::new(&world.pool, &worker);
                let h = m.fresh(&ts, PageNo(page)).unwrap();
                m.apply(h, &RAW).unwrap();
                m.commit().unwrap();
            }
            done.store(true, Ordering::Release);
        });
        // It announces its need and then writes nothing, however long nobody cleans.
        world.pool.wait_for_work(0, seen, Duration::from_secs(5), || false);
        assert_eq!(disk.stats().writes, writes);
        let begin = Instant::now();
        while !done.load(Ordering::Acquire) && begin.elapsed() < Duration::from_secs(20) {
            world.pool.clean_some(64).unwrap();
        }
        maker.join().unwrap();
    });
    assert!(disk.stats().writes > writes);
}

#[test]
fn many_threads_that_miss_the_same_page_read_it_once() {
    let (disk, world) = sim(33, 64);
    let ts = counters_on_disk(&world, 8);
    let reads = disk.stats().reads;
    let started = SharedAtomic::<u32, { class::OTHER }>::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                started.fetch_add(1, Ordering::AcqRel);
                while started.load(Ordering::Acquire) < 8 {
                    std::thread::yield_now();
                }
                for page in 1..=8 {
                    assert_eq!(value(&ts, page).unwrap(), 0);
                }
            });
        }
    });
    assert_eq!(disk.stats().reads - reads, 8);
}
