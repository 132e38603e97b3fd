//! Buffer pool: translation words, frames, cleaner, mini-transactions.
//!
//! 1. Every page of an open tablespace has a page word ([`sync::PageWord`]) that is its latch, its
//!    version and its place in one. A frame's bytes are written only by the holder of the
//!    exclusive state (or of io-pending), and read by reference only under a latch; readers
//!    without a latch use [`page::RacyNode`] and validate the word afterwards.
//! 2. A hit writes nothing. Pages are marked for eviction only when free frames have run out.
//! 3. A page changes only inside a mini-transaction ([`Mtr`]): op by op, logged as one unit.
//! 4. Write-ahead rule: a page's copy is written after the log is durable up to the copy's LSN, by
//!    way of the doublewrite file. A thread that needs a frame never writes a page while a
//!    background cleaner runs: it waits for a clean frame.
//! 5. A checkpoint never passes a change that a data file may lack (`frames.rs`, `cleaner.rs`).
//! 6. The first failed write or sync of a data file is the last: nothing is written after it.
//!
//! Latch order: tree pages from the root down, left to right; then undo pages; page 0 of a
//! tablespace last. A thread holds the latches of one mini-transaction at a time and none when it
//! begins one. Inside the pool: cleaner, then free frames, then the list of tablespaces.

// Frames are memory shared between threads under a latch of our own; each block has its proof.
#![allow(unsafe_code)]

mod arena;
mod cleaner;
mod clock;
mod doublewrite;
mod failure;
mod frames;
mod io;
mod mtr;
mod order;
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

pub use failure::FatalHook;
pub use host::FlushMethod;
pub use mtr::{Held, Mtr};
pub use read::{Optimistic, SharedPage};
pub use recover::{Damage, REDO_MEMORY_MIN, RecoverOptions, Recovered, Sweep};
pub use settings::{Doublewrite, PoolConfig, PoolSettings};
pub use stats::{InstanceStats, PoolStatus};
pub use tablespace::Tablespace;
pub use warm::DUMP_FILE_NAME;

use arena::Arena;
use base::{Error, PAGE_BYTES, PageBuf, PageId, Result, SpaceId};
use cleaner::Cleaner;
use clock::FreeFrames;
use failure::Failure;
use frames::Frame;
use host::Disk;
use instrument::{CondClass, MutexClass, RwLockClass};
use recover::pending::Pending;
use redo::Log;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use stdx::{Ordering, SharedAtomic, class};
use sync::{Event, Mutex, RwLatch};

static FREE_MUTEX: MutexClass = MutexClass::new("wait/synch/mutex/innodb/buf_pool_free_list_mutex");
static CLEANER_MUTEX: MutexClass = MutexClass::new("wait/synch/mutex/innodb/page_cleaner_mutex");
static CHECKPOINT_MUTEX: MutexClass =
    MutexClass::new("wait/synch/mutex/innodb/log_checkpointer_mutex");
static COPIES_MUTEX: MutexClass = MutexClass::new("wait/synch/mutex/innodb/recv_sys_mutex");
static DAMAGED_MUTEX: MutexClass = MutexClass::new("wait/synch/mutex/limpid/recovery_damaged");
static OPENING_MUTEX: MutexClass = MutexClass::new("wait/synch/mutex/limpid/recovery_opening");
static SPACES_LATCH: RwLockClass = RwLockClass::new("wait/synch/rwlock/innodb/fil_space_latch");
static FREED: CondClass = CondClass::new("wait/synch/cond/innodb/buf_free_frame_cond");
static CLEANER_WORK: CondClass = CondClass::new("wait/synch/cond/innodb/page_cleaner_cond");

/// Fewest frames of a pool: what a few mini-transactions may hold at once.
const FRAMES_MIN: usize = 64;

/// A buffer pool and the tablespaces whose pages it holds.
pub struct Pool {
    me: Weak<Pool>,
    disk: Arc<dyn Disk>,
    log: Arc<Log>,
    arena: Arc<Arena>,
    frames: Box<[Frame]>,
    free: Mutex<FreeFrames>,
    /// Notified when frames became clean or free.
    freed: Event,
    spaces: RwLatch<HashMap<SpaceId, Arc<Tablespace>>>,
    cleaner: Mutex<Cleaner>,
    work: Event,
    checkpointing: Mutex<()>,
    background: SharedAtomic<bool, { class::POOL }>,
    failure: Failure,
    settings: PoolSettings,
    /// Doublewrite copies found at the start, until [`Pool::repair_torn_pages`].
    copies: Mutex<Copies>,
    /// Redo that waits for its pages.
    pending: Pending,
    /// Pages that redo could not be applied to, until somebody asks.
    damaged: Mutex<Vec<Damage>>,
    /// Held while recovery opens a tablespace that its log names.
    opening: Mutex<()>,
}

/// Copies of pages that may be torn in place.
struct Copies {
    pages: HashMap<PageId, Box<PageBuf>>,
    repaired: usize,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("frames", &self.frames.len()).finish_non_exhaustive()
    }
}

impl Pool {
    /// Maps the memory, opens the doublewrite file and reads the copies it holds.
    ///
    /// [`Error::Io`], [`Error::Foreign`] (a doublewrite file of a newer format).
    pub fn new(config: PoolConfig, disk: Arc<dyn Disk>, log: Arc<Log>) -> Result<Arc<Pool>> {
        let frames = (config.bytes / PAGE_BYTES).max(FRAMES_MIN);
        if frames >= 1 << 28 {
            return Err(Error::Internal("a buffer pool above 4 TB"));
        }
        let arena = Arc::new(Arena::new(frames as u32)?);
        let file = doublewrite::open(&*disk)?;
        let pages = doublewrite::read(&*file)?;
        Ok(Arc::new_cyclic(|me| Pool {
            me: me.clone(),
            disk,
            log,
            arena,
            frames: (0..frames).map(|_| Frame::new()).collect(),
            free: Mutex::new(&FREE_MUTEX, FreeFrames::all(frames as u32)),
            freed: Event::new(&FREED),
            spaces: RwLatch::new(&SPACES_LATCH, HashMap::new()),
            cleaner: Mutex::new(&CLEANER_MUTEX, Cleaner::new(file)),
            work: Event::new(&CLEANER_WORK),
            checkpointing: Mutex::new(&CHECKPOINT_MUTEX, ()),
            background: SharedAtomic::new(false),
            failure: Failure::new(),
            settings: PoolSettings::new(),
            copies: Mutex::new(&COPIES_MUTEX, Copies { pages, repaired: 0 }),
            pending: Pending::new(),
            damaged: Mutex::new(&DAMAGED_MUTEX, Vec::new()),
            opening: Mutex::new(&OPENING_MUTEX, ()),
        }))
    }

    /// How many pages fit into memory.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// How many instances there are.
    pub fn instances(&self) -> usize {
        1
    }

    /// The settings that may be changed at any time.
    pub fn settings(&self) -> &PoolSettings {
        &self.settings
    }

    /// The log that this pool's changes go to.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Lets a mini-transaction in: waits while the log is nearly full. [`Mtr::new`] calls it.
    pub fn pace(&self, worker: &sync::WorkerSlot) -> Result<()> {
        self.log.pace(worker)
    }

    /// Says whether a thread of its own calls [`Pool::clean_some`] whenever [`Pool::work`] is
    /// notified. Without one (recovery, tests) a thread that needs a frame cleans by itself.
    pub fn set_background_cleaner(&self, running: bool) {
        self.background.store(running, Ordering::Release);
        self.freed.notify_all();
    }

    /// Notified when somebody waits for a clean frame.
    pub fn work(&self) -> &Event {
        &self.work
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
        self.pending.forget_space(ts.id());
        // With the cleaner's mutex no page of it is in flight.
        let _cleaner = self.cleaner.lock();
        self.discard(ts)?;
        self.spaces.write().remove(&ts.id());
        self.freed.notify_all();
        Ok(())
    }

    /// [`Pool::close_tablespace`], then removes the file, durably.
    pub fn drop_tablespace(&self, ts: &Tablespace) -> Result<()> {
        self.close_tablespace(ts)?;
        let io = |op| move |e| Error::io(op, ts.name(), e);
        self.disk.remove(ts.name()).map_err(io("remove"))?;
        self.disk.sync_dir().map_err(io("make durable the removal of"))
    }

    /// The address of a frame's bytes.
    fn frame_bytes(&self, frame: u32) -> std::ptr::NonNull<PageBuf> {
        self.arena.frame(frame)
    }
}
