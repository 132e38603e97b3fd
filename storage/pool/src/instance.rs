//! An instance: a part of the frames with a free list, a clock, a cleaner and figures of its own.
//!
//! 1. Frame `f` belongs to instance `f % n` for good. A page belongs to the instance that its tablespace and
//!    its extent of 64 pages hash to, and takes frames of that instance only; so the copies of a page lie in
//!    one doublewrite file. Guard: `extents_stay_together_and_spread`,
//!    `frames_pages_and_figures_are_spread_over_the_instances`.
//! 2. Mutexes of an instance, in their order: flusher, dirty set, free frames. Nothing is waited for under the
//!    last two, and no I/O is done under them. Guard: `tests/races.rs`: under the deterministic scheduler a
//!    deadlock is a failure that names its locks.

use crate::cleaner::Flusher;
use crate::clock::FreeFrames;
use crate::control::Rounds;
use crate::dirty::DirtySet;
use base::PageId;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Event, Mutex, Stack};

instrument::classes! {
    static FREE_MUTEX: MutexClass = "wait/synch/mutex/innodb/buf_pool_free_list_mutex";
    static DIRTY_MUTEX: MutexClass = "wait/synch/mutex/innodb/flush_list_mutex";
    static CLEANER_MUTEX: MutexClass = "wait/synch/mutex/innodb/page_cleaner_mutex", across_io;
    static ROUND_MUTEX: MutexClass = "wait/synch/mutex/limpid/cleaner_round", across_io;
    static FREED: CondClass = "wait/synch/cond/innodb/buf_free_frame_cond";
    static CLEANER_WORK: CondClass = "wait/synch/cond/innodb/page_cleaner_cond";
}

/// Most instances.
pub(crate) const INSTANCES_MAX: usize = 64;

/// From this size on a pool has more than one instance by itself, and one per so many bytes.
const INSTANCE_BYTES: usize = 1 << 30;

/// Pages that belong to the same instance as their neighbours: an extent, as a power of two.
const EXTENT_SHIFT: u32 = 6;
pub(crate) const EXTENT_PAGES: u32 = 1 << EXTENT_SHIFT;

pub(crate) type Count = SharedAtomic<u64, { class::POOL }>;

/// What happened in an instance since the start; counted where a page is read or written anyway.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub read: Count,
    pub created: Count,
    pub written: Count,
    pub made_young: Count,
    pub not_made_young: Count,
    pub read_ahead: Count,
    pub read_ahead_evicted: Count,
    pub pending_reads: Count,
}

pub(crate) fn add(count: &Count) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// One instance.
pub(crate) struct Instance {
    pub free: Mutex<FreeFrames>,
    /// Notified when frames became clean or free.
    pub freed: Event,
    /// Notified when somebody waits for a clean frame, or the log is filling up.
    pub work: Event,
    /// Frames that became changed.
    pub changed: Stack,
    pub dirty: Mutex<DirtySet>,
    pub flusher: Mutex<Flusher>,
    pub rounds: Mutex<Rounds>,
    /// Threads that wait for a frame.
    pub waiters: SharedAtomic<u32, { class::POOL }>,
}

impl Instance {
    pub(crate) fn new(flusher: Flusher) -> Instance {
        Instance {
            free: Mutex::new(&FREE_MUTEX, FreeFrames::new()),
            freed: Event::new(&FREED),
            work: Event::new(&CLEANER_WORK),
            changed: Stack::new(),
            dirty: Mutex::new(&DIRTY_MUTEX, DirtySet::new()),
            flusher: Mutex::new(&CLEANER_MUTEX, flusher),
            rounds: Mutex::new(&ROUND_MUTEX, Rounds::default()),
            waiters: SharedAtomic::new(0),
        }
    }
}

/// How many instances a pool of `bytes` has when `wanted` are asked for; 0 = as it sees fit.
pub(crate) fn how_many(wanted: usize, bytes: usize) -> usize {
    match wanted {
        0 => (bytes / INSTANCE_BYTES).clamp(1, 8),
        n => n.min(INSTANCES_MAX),
    }
}

/// The instance of a page, of `instances`.
#[inline]
pub(crate) fn of_page(id: PageId, instances: usize) -> usize {
    if instances == 1 {
        return 0;
    }
    let extent = u64::from(id.space.0) << 32 | u64::from(id.page.0 >> EXTENT_SHIFT);
    // Fibonacci hashing: the upper bits depend on all bits.
    let hash = (extent.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
    (hash * instances) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{PageNo, SpaceId};

    #[test]
    fn the_number_of_instances_follows_the_size() {
        let sizes = [128 << 20, 1 << 30, 5 << 30, 100 << 30];
        assert_eq!(sizes.map(|bytes| how_many(0, bytes)), [1, 1, 5, 8]);
        assert_eq!((how_many(3, 0), how_many(1000, 1 << 40)), (3, 64));
    }

    #[test]
    fn extents_stay_together_and_spread() {
        for n in 1..=8 {
            let mut pages = vec![0u32; n];
            for space in 1..20 {
                for extent in 0..500 {
                    let first = PageId::new(SpaceId(space), PageNo(extent * 64));
                    let last = PageId::new(SpaceId(space), PageNo(extent * 64 + 63));
                    assert_eq!(of_page(first, n), of_page(last, n));
                    pages[of_page(first, n)] += 1;
                }
            }
            let fair = 19 * 500 / n as u32;
            assert!(pages.iter().all(|&p| p > fair * 9 / 10 && p < fair * 11 / 10), "{pages:?}");
        }
    }
}
