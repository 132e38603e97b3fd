//! Redo that waits for its pages.
//!
//! 1. A page whose records wait is not in memory, or (between two batches of a long log) nobody but recovery
//!    runs. Whoever reads a page in takes its records, applies them before the page is published, and only then
//!    counts the page as settled: so nobody sees a page without its redo. Guard:
//!    `a_page_read_on_demand_is_the_swept_page_byte_for_byte`,
//!    `a_page_made_anew_needs_neither_its_old_bytes_nor_its_old_redo`.
//! 2. `left` counts pages whose records wait or are in somebody's hands. It falls after the frame was marked
//!    dirty, so a checkpoint that reads [`Pending::bound`] first and the frames afterwards passes no redo that
//!    a data file lacks. Guard: `the_checkpoint_waits_for_the_sweep`; the debug assertion in `mark_dirty`.
//! 3. Whoever looks at waiting pages by itself (the sweep) holds `sweeping` shared; dropping a tablespace takes
//!    it exclusively once: then nobody is inside that tablespace any more. Guard:
//!    `a_tablespace_is_dropped_while_its_pages_wait_and_are_swept`.

use super::page_redo::PageRedo;
use base::{Error, Lsn, PageId, SpaceId};
use redo::Window;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Mutex, RwLatch};

instrument::classes! {
    pub(crate) static RECV_MUTEX: MutexClass = "wait/synch/mutex/innodb/recv_sys_mutex", across_io;
    static SKIPPED_MUTEX: MutexClass = "wait/synch/mutex/limpid/recovery_skipped";
    static BATCH_LATCH: RwLockClass = "wait/synch/rwlock/limpid/recovery_batch";
    static SWEEP_LATCH: RwLockClass = "wait/synch/rwlock/limpid/recovery_sweep", across_io;
}

/// Number of maps that the waiting pages are spread over.
pub(super) const SHARDS: usize = 64;

/// The waiting pages of one shard.
pub(super) type Shard = HashMap<PageId, PageRedo, BuildHasherDefault<PageHasher>>;

/// The shard of a page.
pub(super) fn shard_of(id: PageId) -> usize {
    mix(u64::from(id.space.0) << 32 | u64::from(id.page.0)) as usize >> 8 & (SHARDS - 1)
}

fn mix(key: u64) -> u64 {
    let h = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h ^ h >> 29
}

/// Hashes page ids: they come from our own log, so speed counts and malice does not.
#[derive(Default)]
pub(super) struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        mix(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u32(u32::from(*b)));
    }

    fn write_u32(&mut self, n: u32) {
        self.0 = self.0 << 32 ^ u64::from(n) ^ self.0 >> 32;
    }
}

/// What one batch of the log asks for.
#[derive(Default)]
struct Batch {
    windows: Vec<Arc<Window>>,
    /// Every page that waited when the batch was complete, in page order.
    pages: Vec<PageId>,
}

/// All waiting redo of a pool.
pub(crate) struct Pending {
    /// Records may still be added: the log is being read.
    reading: SharedAtomic<bool, { class::POOL }>,
    left: SharedAtomic<u64, { class::POOL }>,
    total: SharedAtomic<u64, { class::POOL }>,
    /// Where the log was read from.
    floor: SharedAtomic<u64, { class::POOL }>,
    shards: Box<[Mutex<Shard>]>,
    batch: RwLatch<Arc<Batch>>,
    /// Next of `Batch::pages` to be swept.
    next: SharedAtomic<usize, { class::POOL }>,
    pub(super) sweeping: RwLatch<()>,
    /// Spaces whose records were skipped, and why, until somebody has decided.
    skipped: Mutex<BTreeMap<SpaceId, Error>>,
    any_skipped: SharedAtomic<bool, { class::POOL }>,
}

impl Pending {
    pub(crate) fn new() -> Pending {
        let shard = |_| Mutex::new(&RECV_MUTEX, Shard::default());
        Pending {
            reading: SharedAtomic::new(false),
            left: SharedAtomic::new(0),
            total: SharedAtomic::new(0),
            floor: SharedAtomic::new(u64::MAX),
            shards: (0..SHARDS).map(shard).collect(),
            batch: RwLatch::new(&BATCH_LATCH, Arc::default()),
            next: SharedAtomic::new(0),
            sweeping: RwLatch::new(&SWEEP_LATCH, ()),
            skipped: Mutex::new(&SKIPPED_MUTEX, BTreeMap::new()),
            any_skipped: SharedAtomic::new(false),
        }
    }

    /// The log is read from `floor` on: no checkpoint may pass it until all is settled.
    pub(super) fn start_reading(&self, floor: Lsn) {
        self.floor.store(floor.0, Ordering::Release);
        self.reading.store(true, Ordering::Release);
    }

    /// No more batches come.
    pub(super) fn end_reading(&self) {
        self.reading.store(false, Ordering::Release);
    }

    /// Takes over a batch. No page of an earlier one waits.
    pub(super) fn install(&self, windows: Vec<Arc<Window>>, shards: Vec<Shard>) {
        let mut pages: Vec<PageId> = shards.iter().flat_map(|s| s.keys().copied()).collect();
        pages.sort_unstable();
        let count = pages.len() as u64;
        *self.batch.write() = Arc::new(Batch { windows, pages });
        for (mine, new) in self.shards.iter().zip(shards) {
            *mine.lock() = new;
        }
        self.next.store(0, Ordering::Release);
        self.total.fetch_add(count, Ordering::AcqRel);
        self.left.fetch_add(count, Ordering::AcqRel);
    }

    /// Pages that wait or are being applied.
    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::Acquire)
    }

    /// Pages that ever waited.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Acquire)
    }

    /// No checkpoint may pass this; [`Lsn::MAX`] when nothing waits. To be read before the frames.
    pub(crate) fn bound(&self) -> Lsn {
        let skipped = self.any_skipped.load(Ordering::Acquire);
        match self.reading.load(Ordering::Acquire) || skipped || self.left() > 0 {
            true => Lsn(self.floor.load(Ordering::Acquire)),
            false => Lsn::MAX,
        }
    }

    /// The records of a space are skipped, for it has no sound file.
    pub(super) fn skip(&self, space: SpaceId, why: Error) {
        self.any_skipped.store(true, Ordering::Release);
        self.skipped.lock().insert(space, why);
    }

    /// The spaces whose records were skipped, and why.
    pub(super) fn skipped(&self) -> Vec<(SpaceId, Error)> {
        self.skipped.lock().iter().map(|(id, why)| (*id, why.duplicate())).collect()
    }

    /// They are of no meaning: a checkpoint may pass them.
    pub(super) fn forget_skipped(&self) {
        self.skipped.lock().clear();
        self.any_skipped.store(false, Ordering::Release);
    }

    fn shard(&self, id: PageId) -> &Mutex<Shard> {
        &self.shards[shard_of(id)]
    }

    /// Takes what a page waits for; the caller gives it to [`Pending::settle`] or puts it back. One
    /// load when nothing waits.
    #[inline]
    pub(crate) fn take(&self, id: PageId) -> Option<PageRedo> {
        if self.left() == 0 {
            return None;
        }
        let taken = self.shard(id).lock().remove(&id);
        taken.map(PageRedo::in_order)
    }

    /// It could not be applied now.
    pub(super) fn put_back(&self, id: PageId, redo: PageRedo) {
        self.shard(id).lock().insert(id, redo);
    }

    /// A page's records are applied and its frame is marked, or they are of no meaning any more.
    pub(super) fn settle(&self, pages: u64) {
        if pages > 0 && self.left.fetch_sub(pages, Ordering::AcqRel) == pages {
            // The last one: the memory goes back.
            *self.batch.write() = Arc::default();
        }
    }

    pub(super) fn waits(&self, id: PageId) -> bool {
        self.left() > 0 && self.shard(id).lock().contains_key(&id)
    }

    /// Whether a page waits and will be read from its file for that.
    pub(super) fn wants_reading(&self, id: PageId) -> bool {
        self.left() > 0 && self.shard(id).lock().get(&id).is_some_and(|redo| !redo.is_anew())
    }

    /// The page is made anew: what it waited for has no meaning.
    pub(crate) fn forget(&self, id: PageId) {
        if self.take(id).is_some() {
            self.settle(1);
        }
    }

    /// The tablespace is about to be dropped: its pages wait no more, and nobody is sweeping there
    /// when this returns.
    pub(crate) fn forget_space(&self, space: SpaceId) {
        if self.left() == 0 {
            return;
        }
        let _nobody_sweeps = self.sweeping.write();
        let mut forgotten = 0;
        for shard in &self.shards {
            let mut shard = shard.lock();
            let before = shard.len();
            shard.retain(|id, _| id.space != space);
            forgotten += before - shard.len();
        }
        self.settle(forgotten as u64);
    }

    /// The next `most` pages to be swept, in page order; none when all were given out.
    pub(super) fn next_pages(&self, most: usize) -> Vec<PageId> {
        let batch = Arc::clone(&self.batch.read());
        let from = self.next.fetch_add(most, Ordering::AcqRel).min(batch.pages.len());
        batch.pages[from..(from + most).min(batch.pages.len())].to_vec()
    }

    /// Gives the pages that still wait out once more.
    pub(super) fn sweep_again(&self) {
        let batch = Arc::clone(&self.batch.read());
        let mut pages: Vec<PageId> = Vec::new();
        for shard in &self.shards {
            pages.extend(shard.lock().keys().copied());
        }
        pages.sort_unstable();
        *self.batch.write() = Arc::new(Batch { windows: batch.windows.clone(), pages });
        self.next.store(0, Ordering::Release);
    }

    /// The windows that places refer to.
    pub(super) fn windows(&self) -> impl std::ops::Deref<Target = [Arc<Window>]> + use<> {
        Windows(Arc::clone(&self.batch.read()))
    }
}

struct Windows(Arc<Batch>);

impl std::ops::Deref for Windows {
    type Target = [Arc<Window>];

    fn deref(&self) -> &[Arc<Window>] {
        &self.0.windows
    }
}
