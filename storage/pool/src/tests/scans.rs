//! Pages read in passing and ahead of need: what they push out, and what is known of them.

use super::*;
use std::time::{Duration, Instant};
use stdx::{Ordering, SharedAtomic, class};

type Flag = SharedAtomic<bool, { class::OTHER }>;

const FRAMES: usize = 256;
/// Pages of the data: five times the pool.
const PAGES: u32 = 5 * FRAMES as u32;

/// A pool that is smaller than its data, nothing of which is in memory.
fn cold(seed: u64) -> (Arc<SimDisk>, World, Arc<Tablespace>) {
    let (disk, world) = sim(seed, FRAMES);
    let ts = counters_on_disk(&world, PAGES);
    (disk, world, ts)
}

fn touch(ts: &Tablespace, pages: impl Iterator<Item = u32>) {
    for page in pages {
        ts.optimistic(PageNo(page)).unwrap();
    }
}

fn scan(ts: &Tablespace, pages: impl Iterator<Item = u32>) {
    for page in pages {
        ts.optimistic_scan(PageNo(page)).unwrap();
    }
}

/// Ends the threads also when the test fails.
struct Stopper<'a>(&'a Flag, &'a Pool);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.wake_read_ahead();
        self.1.urge_cleaners();
    }
}

/// Runs `work` while read-ahead threads do their part.
fn with_read_ahead(pool: &Arc<Pool>, work: impl FnOnce()) {
    let stop = Flag::new(false);
    std::thread::scope(|scope| {
        let _stopper = Stopper(&stop, pool);
        for _ in 0..2 {
            scope.spawn(|| pool.read_ahead_thread(&|| stop.load(Ordering::Acquire)));
        }
        while pool.read_ahead_threads() < 2 {
            std::thread::yield_now();
        }
        work();
    });
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        let _ = host::clock::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_scan_of_five_pools_does_not_push_out_what_is_used() {
    let (disk, _world, ts) = cold(51);
    // Three fifths of the pool, which then rests while the scan passes.
    let hot = FRAMES as u32 * 3 / 5;
    touch(&ts, 1..hot);
    let reads = disk.stats().reads;
    scan(&ts, hot..PAGES);
    assert_eq!(disk.stats().reads - reads, u64::from(PAGES - hot));
    let reads = disk.stats().reads;
    touch(&ts, 1..hot);
    let lost = disk.stats().reads - reads;
    assert!(lost <= u64::from(hot) / 50, "{lost} of {hot} pages were pushed out");
}

/// The same accesses, but not announced as a scan: the clock cannot tell.
#[test]
fn without_the_word_that_it_is_a_scan_everything_goes() {
    let (disk, world, ts) = cold(52);
    let hot = FRAMES as u32 * 3 / 5;
    touch(&ts, 1..hot);
    touch(&ts, hot..PAGES);
    let reads = disk.stats().reads;
    touch(&ts, 1..hot);
    assert!(disk.stats().reads - reads > u64::from(hot) / 2, "the test above shows nothing");
    drop(world);
}

#[test]
fn scans_that_come_again_live_in_what_is_free_and_promote_nothing() {
    let (disk, world, ts) = cold(53);
    world.pool.settings().set_old_blocks_time_ms(0);
    let reads = disk.stats().reads;
    scan(&ts, 1..100);
    scan(&ts, 1..100);
    assert_eq!(disk.stats().reads - reads, 99);
    let stats = world.pool.instance_stats()[0];
    assert_eq!((stats.old_database_pages, stats.pages_made_young), (99, 0));
    assert_eq!(stats.number_pages_read, 99);
}

#[test]
fn probation_ends_when_somebody_comes_after_old_blocks_time() {
    let (_disk, world, ts) = cold(54);
    world.pool.settings().set_old_blocks_time_ms(60_000);
    scan(&ts, 1..11);
    touch(&ts, 1..11);
    let stats = world.pool.instance_stats()[0];
    assert_eq!((stats.pages_made_young, stats.pages_not_made_young), (0, 10));
    world.pool.settings().set_old_blocks_time_ms(0);
    touch(&ts, 1..11);
    touch(&ts, 1..11);
    let stats = world.pool.instance_stats()[0];
    assert_eq!((stats.pages_made_young, stats.pages_not_made_young), (10, 10));
}

#[test]
fn pages_asked_for_are_there_when_they_are_needed() {
    let (disk, world, ts) = cold(55);
    ts.prefetch(&[PageNo(1)]);
    assert_eq!(world.pool.status().read_ahead, 0, "nobody reads ahead");
    with_read_ahead(&world.pool, || {
        let wanted: Vec<PageNo> = (10..20).chain([300, PAGES + 5000]).map(PageNo).collect();
        wait_until("11 pages are read ahead", || {
            ts.prefetch(&wanted);
            world.pool.status().read_ahead == 11
        });
    });
    let reads = disk.stats().reads;
    assert!(reads <= 5, "neighbours are read together: {reads}");
    touch(&ts, (10..20).chain([300]));
    assert_eq!(disk.stats().reads, reads);
    assert_eq!(value(&ts, 15).unwrap(), 0);
}

#[test]
fn a_scan_in_page_order_has_the_next_extent_read_ahead() {
    let (_disk, world, ts) = cold(56);
    with_read_ahead(&world.pool, || {
        scan(&ts, 0..56);
        wait_until("pages 64 to 127 are read ahead", || world.pool.status().read_ahead == 64);
        scan(&ts, 56..120);
        wait_until("the extent after that", || world.pool.status().read_ahead == 128);
    });
    let off = cold(57);
    off.1.pool.settings().set_read_ahead_threshold(0);
    with_read_ahead(&off.1.pool, || scan(&off.2, 0..200));
    assert_eq!(off.1.pool.status().read_ahead, 0);
}

#[test]
fn an_extent_of_which_much_is_in_memory_is_completed_when_asked_for() {
    let (_disk, world, ts) = cold(58);
    world.pool.settings().set_random_read_ahead(true);
    with_read_ahead(&world.pool, || {
        scan(&ts, (64..128).step_by(4).take(13));
        wait_until("the extent's other 51 pages", || {
            let s = world.pool.status();
            s.pages_data == 64 && s.read_ahead_rnd == 51
        });
    });
}

#[test]
fn pages_read_ahead_in_vain_are_counted() {
    let (_disk, world, ts) = cold(59);
    with_read_ahead(&world.pool, || {
        let wanted: Vec<PageNo> = (100..140).map(PageNo).collect();
        wait_until("40 pages are read ahead", || {
            ts.prefetch(&wanted);
            world.pool.status().read_ahead == 40
        });
    });
    touch(&ts, 100..110);
    touch(&ts, (1..100).chain(140..PAGES));
    assert_eq!(world.pool.status().read_ahead_evicted, 30);
}

#[test]
fn a_tablespace_is_closed_while_its_pages_are_read_ahead() {
    let (_disk, world, ts) = cold(60);
    with_read_ahead(&world.pool, || {
        let all: Vec<PageNo> = (0..PAGES).map(PageNo).collect();
        ts.prefetch(&all);
        world.pool.drop_tablespace(&ts).unwrap();
        ts.prefetch(&all);
    });
    assert_eq!(world.pool.status().pages_data, 0);
    assert_eq!(world.pool.status().pages_free, FRAMES as u64);
}

/// A user who needs a frame finds one: the cleaner's rounds keep some free.
#[test]
fn frames_are_kept_ready_for_readers_of_a_pool_full_of_changes() {
    let (_disk, world, ts) = cold(61);
    world.pool.set_background_cleaner(true);
    let stop = Flag::new(false);
    std::thread::scope(|scope| {
        let _stopper = Stopper(&stop, &world.pool);
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                let seen = world.pool.look_for_work(0);
                let pause = world.pool.cleaner_round(0).unwrap();
                world.pool.wait_for_work(0, seen, pause, || stop.load(Ordering::Acquire));
                world.pool.checkpoint(b"").unwrap();
            }
        });
        for round in 0..3 {
            for page in 1..PAGES {
                let mut m = world.mtr();
                assert_eq!(bump(&mut m, &ts, page), round + 1);
                m.commit().unwrap();
            }
        }
    });
    world.pool.flush_all().unwrap();
    assert_eq!(world.pool.oldest_dirty(), Lsn::MAX);
}
