//! Buffer pool: translation words, frames, cleaner, mini-transactions.
//!
//! 1. Every page of an open tablespace has a page word ([`sync::PageWord`]) that is its latch, its version and
//!    its place in one. A frame's bytes are written only by the holder of the exclusive state (or of
//!    io-pending), and read by reference only under a latch; readers without a latch use [`page::RacyNode`] and
//!    validate the word afterwards. Guard: `a_change_or_an_eviction_spoils_an_optimistic_read_and_its_upgrade`;
//!    `sync`'s models of the page word.
//! 2. A hit writes nothing. Pages are marked for eviction only when free frames have run out. Guard:
//!    `a_warm_optimistic_read_writes_nothing_shared`; `tests/write_trap.rs`.
//! 3. A page changes only inside a mini-transaction ([`Mtr`]): op by op, logged as one unit. Guard:
//!    `redo_of_everything_gives_the_live_pages`, `a_mini_transaction_dropped_with_changes_aborts`.
//! 4. Write-ahead rule: a page's copy is written after the log is durable up to the copy's LSN, by way of the
//!    doublewrite file. A thread that needs a frame never writes a page while a background cleaner runs: it
//!    waits for a clean frame. Guard: the assertion in `write_batch`;
//!    `a_thread_that_needs_a_frame_waits_for_the_cleaner_and_writes_nothing`.
//! 5. A checkpoint never passes a change that a data file may lack (`frames.rs`, `cleaner.rs`). Guard: debug
//!    assertions in `checkpoint_with` and `mark_dirty`; `no_order_of_steps_lets_a_checkpoint_pass_a_change`.
//! 6. The first failed write or sync of a data file is the last: nothing is written after it. Guard:
//!    `the_first_failed_sync_is_the_last_write`.
//!
//! Latch order: tree pages from the root down, left to right; then undo pages; page 0 of a
//! tablespace last. A thread holds the latches of one mini-transaction at a time and none when it
//! begins one. Inside the pool: an instance's mutexes (`instance.rs`), then the list of tablespaces.
//!
//! Memory beside the frames: 32 bytes a frame in use (0.2 %), 1 MiB an instance (the batch), 0.5 MiB
//! a read-ahead thread, 128 KiB at most of a thread that reads ([`PageCopy`]), and 8 to 16 bytes per page of the open files
//! (words; 0.1 % of the data).

// Frames are memory shared between threads under a latch of our own; each block has its proof.
#![allow(unsafe_code)]

mod arena;
mod checkpointer;
mod cleaner;
mod clock;
mod control;
mod dirty;
mod doublewrite;
mod failure;
mod frames;
mod instance;
mod io;
mod mtr;
mod order;
mod page_class;
mod page_copy;
mod read;
mod read_ahead;
mod recover;
mod resize;
mod settings;
pub mod spacefile;
mod stats;
mod tablespace;
#[cfg(test)]
mod tests;
mod warm;
mod words;

pub use checkpointer::Checkpointer;
pub use failure::FatalHook;
pub use host::FlushMethod;
pub use mtr::{Held, Mtr};
pub use order::assert_none as assert_no_latches;
pub use page_copy::PageCopy;
pub use read::{Optimistic, SharedPage};
pub use recover::{Damage, REDO_MEMORY_MIN, RecoverOptions, Recovered, Sweep};
pub use resize::rounded_bytes;
pub use settings::{Doublewrite, PoolConfig, PoolSettings};
pub use stats::{InstanceStats, PoolStatus};
pub use tablespace::Tablespace;
pub use warm::DUMP_FILE_NAME;

use arena::Arena;
use base::{Error, PAGE_BYTES, PageBuf, PageId, Result, SpaceId};
use cleaner::Flusher;
use failure::Failure;
use host::{Disk, File};
use instance::{Counts, Instance};
use read_ahead::ReadAhead;
use recover::pending::{Pending, RECV_MUTEX};
use redo::Log;
use resize::Resizing;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Instant;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Mutex, RwLatch};
use warm::Warm;

instrument::classes! {
    static CHECKPOINT_MUTEX: MutexClass = "wait/synch/mutex/limpid/pool_checkpoint", across_io;
    static DAMAGED_MUTEX: MutexClass = "wait/synch/mutex/limpid/recovery_damaged";
    static OPENING_MUTEX: MutexClass = "wait/synch/mutex/limpid/recovery_opening", across_io;
    static OLD_COPIES_MUTEX: MutexClass = "wait/synch/mutex/innodb/dblwr_mutex", across_io;
    static SPACES_LATCH: RwLockClass = "wait/synch/rwlock/innodb/fil_space_latch";
}

/// Fewest frames of an instance: what a few mini-transactions may hold at once.
const FRAMES_MIN: usize = 64;

/// Frame numbers are 28 bits of a page word: 4 TiB of pages.
const FRAMES_MAX: usize = (1 << 28) - 1;

/// A buffer pool and the tablespaces whose pages it holds.
pub struct Pool {
    me: Weak<Pool>,
    disk: Arc<dyn Disk>,
    log: Arc<Log>,
    arena: Arc<Arena>,
    instances: Box<[Instance]>,
    /// What tablespaces need of the pool without holding it.
    shared: Arc<Shared>,
    spaces: RwLatch<HashMap<SpaceId, Arc<Tablespace>>>,
    /// Frames below may hold pages; above they are being withdrawn, or are not there.
    limit: SharedAtomic<u32, { class::POOL }>,
    resizing: Resizing,
    checkpointing: Mutex<()>,
    background: SharedAtomic<bool, { class::POOL }>,
    failure: Failure,
    flush_method: FlushMethod,
    read_ahead: ReadAhead,
    warm: Warm,
    reported: Mutex<stats::Reported>,
    /// Doublewrite copies found at the start, until [`Pool::repair_torn_pages`].
    copies: Mutex<Copies>,
    /// Redo that waits for its pages.
    pending: Pending,
    /// Pages that redo could not be applied to, until somebody asks.
    damaged: Mutex<Vec<Damage>>,
    /// Held while recovery opens a tablespace that its log names.
    opening: Mutex<()>,
    /// The files they were found in, until the first batch is written.
    old_copies: Mutex<Vec<Arc<dyn File>>>,
}

/// What is read where a page is used, and changed seldom.
struct Shared {
    settings: PoolSettings,
    counts: Box<[Counts]>,
    born: Instant,
}

impl Shared {
    fn counts_of_frame(&self, frame: u32) -> &Counts {
        &self.counts[frame as usize % self.counts.len()]
    }

    /// The pool's clock, in milliseconds; it wraps after 49 days.
    fn now_ms(&self) -> u32 {
        sync::now().saturating_duration_since(self.born).as_millis() as u32
    }
}

/// Copies of pages that may be torn in place.
struct Copies {
    pages: HashMap<PageId, Box<PageBuf>>,
    repaired: usize,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("frames", &self.frames()).finish_non_exhaustive()
    }
}

impl Pool {
    /// The addresses where pages lie, for tests that look at stores.
    #[must_use]
    pub fn frame_range(&self) -> std::ops::Range<usize> {
        self.arena.addresses()
    }

    /// Reserves the memory, opens the doublewrite files and reads the copies they hold.
    ///
    /// [`Error::Io`], [`Error::Foreign`] (a doublewrite file of a newer format).
    pub fn new(config: PoolConfig, disk: Arc<dyn Disk>, log: Arc<Log>) -> Result<Arc<Pool>> {
        let n = instance::how_many(config.instances, config.bytes);
        let frames = (config.bytes / PAGE_BYTES).max(n * FRAMES_MIN);
        let bytes_max = match config.bytes_max {
            0 => arena::machine_bytes(),
            bytes => bytes,
        };
        let frames_max = frames.max((bytes_max / PAGE_BYTES).min(FRAMES_MAX));
        if frames_max > FRAMES_MAX {
            return Err(Error::Internal("a buffer pool above 4 TiB"));
        }
        let arena = Arc::new(Arena::reserve(frames_max as u32)?);
        let (files, found) = doublewrite::open_all(&*disk, n)?;
        let pages = doublewrite::read_all(&found)?;
        let shared = Shared {
            settings: PoolSettings::new(),
            counts: (0..n).map(|_| Counts::default()).collect(),
            born: sync::now(),
        };
        shared.settings.set_doublewrite(config.doublewrite);
        let pool = Arc::new_cyclic(|me| Pool {
            me: me.clone(),
            disk,
            log,
            arena,
            instances: files.into_iter().map(|f| Instance::new(Flusher::new(f))).collect(),
            shared: Arc::new(shared),
            spaces: RwLatch::new(&SPACES_LATCH, HashMap::new()),
            limit: SharedAtomic::new(0),
            resizing: Resizing::new(),
            checkpointing: Mutex::new(&CHECKPOINT_MUTEX, ()),
            background: SharedAtomic::new(false),
            failure: Failure::new(),
            flush_method: config.flush_method,
            read_ahead: ReadAhead::new(config.read_io_threads),
            warm: Warm::new(),
            reported: Mutex::new(&stats::REPORTED_MUTEX, stats::Reported::default()),
            copies: Mutex::new(&RECV_MUTEX, Copies { pages, repaired: 0 }),
            pending: Pending::new(),
            damaged: Mutex::new(&DAMAGED_MUTEX, Vec::new()),
            opening: Mutex::new(&OPENING_MUTEX, ()),
            old_copies: Mutex::new(&OLD_COPIES_MUTEX, found),
        });
        pool.add_frames(0, frames as u32)?;
        Ok(pool)
    }

    /// How many pages fit into memory.
    pub fn frames(&self) -> usize {
        self.limit() as usize
    }

    fn limit(&self) -> u32 {
        self.limit.load(Ordering::Acquire)
    }

    /// How many frames an instance has.
    fn frames_of(&self, instance: usize) -> usize {
        let n = self.instances.len();
        (self.frames() + n - 1 - instance) / n
    }

    fn instance_of_frame(&self, frame: u32) -> &Instance {
        &self.instances[frame as usize % self.instances.len()]
    }

    fn counts_of_frame(&self, frame: u32) -> &Counts {
        self.shared.counts_of_frame(frame)
    }

    /// How many instances there are.
    pub fn instances(&self) -> usize {
        self.instances.len()
    }

    /// The settings that may be changed at any time.
    pub fn settings(&self) -> &PoolSettings {
        &self.shared.settings
    }

    /// The log that this pool's changes go to.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Lets a mini-transaction in: waits while the log is nearly full. [`Mtr::new`] calls it.
    pub fn pace(&self, worker: &sync::WorkerSlot) -> Result<()> {
        self.log.pace(worker)
    }

    /// Says whether every instance has a thread that calls [`Pool::cleaner_round`]. Without
    /// (recovery, tests) a thread that needs a frame cleans by itself.
    pub fn set_background_cleaner(&self, running: bool) {
        self.background.store(running, Ordering::Release);
        self.notify_freed();
    }

    fn notify_freed(&self) {
        self.instances.iter().for_each(|i| i.freed.notify_all());
    }

    /// Registers what to do when a data file's write or sync fails for the first time; the first
    /// registration counts.
    pub fn set_fatal_hook(&self, hook: FatalHook) {
        self.failure.set_hook(hook);
    }

    /// True after the first failed write or sync of a data file.
    pub fn failed(&self) -> bool {
        self.failure.failed()
    }

    /// Makes a tablespace: a new file `name` with page 0 in it, both durable.
    ///
    /// [`Error::NoSpace`], [`Error::Io`] (also when the name is taken); the file is then removed.
    pub fn create_tablespace(&self, id: SpaceId, name: &str) -> Result<Arc<Tablespace>> {
        self.register(Tablespace::create(self, id, name)?)
    }

    /// Opens a tablespace's file, repairing its torn pages from the doublewrite copies first.
    ///
    /// [`Error::Foreign`] when it is not tablespace `id` in a format known here,
    /// [`Error::Corrupt`] when page 0 is damaged and has no copy, [`Error::MissingSpace`] when
    /// there is no such file, [`Error::Io`].
    pub fn open_tablespace(&self, id: SpaceId, name: &str) -> Result<Arc<Tablespace>> {
        self.register(Tablespace::open(self, id, name)?)
    }

    fn register(&self, ts: Tablespace) -> Result<Arc<Tablespace>> {
        let mut spaces = self.spaces.write();
        if spaces.contains_key(&ts.id()) {
            return Err(Error::Internal("a tablespace was opened twice"));
        }
        let ts = Arc::new(ts);
        spaces.insert(ts.id(), ts.clone());
        Ok(ts)
    }

    /// The open tablespace of this id, if any.
    pub fn tablespace(&self, id: SpaceId) -> Option<Arc<Tablespace>> {
        self.spaces.read().get(&id).cloned()
    }

    /// Forgets a tablespace and every page of it, changed ones too: it is about to be dropped, or
    /// [`Pool::flush_all`] has run. Nobody may use it any more (the caller's metadata lock);
    /// [`Error::Internal`] when somebody visibly does.
    pub fn close_tablespace(&self, ts: &Tablespace) -> Result<()> {
        ts.end_background_reads();
        self.pending.forget_space(ts.id());
        {
            // With the flushers' mutexes no page of it is in flight.
            let _flushers: Vec<_> = self.instances.iter().map(|i| i.flusher.lock()).collect();
            self.discard(ts)?;
            self.spaces.write().remove(&ts.id());
        }
        self.notify_freed();
        Ok(())
    }

    /// [`Pool::close_tablespace`], then removes the file, durably.
    pub fn drop_tablespace(&self, ts: &Tablespace) -> Result<()> {
        self.close_tablespace(ts)?;
        let io = |op| move |e| Error::io(op, ts.name(), e);
        self.disk.remove(ts.name()).map_err(io("remove"))?;
        self.disk.sync_dir().map_err(io("make durable the removal of"))?;
        // A handle of the table that some session still keeps would keep the bytes, too.
        let _ = ts.file.set_len(0);
        Ok(())
    }

    /// The address of a frame's bytes.
    fn frame_bytes(&self, frame: u32) -> std::ptr::NonNull<PageBuf> {
        self.arena.frame(frame)
    }
}
