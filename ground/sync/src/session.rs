//! Slots: what sessions and workers publish.
//!
//! 1. A slot has one owner, who alone writes its `LocalAtomic` fields; anyone may read them.
//! 2. `kill` and `parked` implement invariant 2 of the parking lot; `control` alone on its line pair is
//!    written by others, and only when somebody is killed or its monitoring is switched.
//! 3. Zero bytes are valid for every field, so a slot may start as fresh anonymous memory; `reset` then
//!    gives the fields whose idle value is not zero that value, before the slot is announced.
//! 4. A session slot is whole pages: its writes never touch a page that holds anything else.

use crate::lot::lot;
use instrument::{CounterPage, Operation};
use stdx::{CacheLine, LocalAtomic, Ordering, SharedAtomic, class, fence};

/// Metadata-lock grants kept inside a slot: what fits in its first page. A model has few.
pub const GRANTS: usize = if cfg!(loom) { 2 } else { 480 };

/// Not killed.
pub const KILL_NONE: u8 = 0;
/// The running statement is to end (`KILL QUERY`).
pub const KILL_QUERY: u8 = 1;
/// The session is to end (`KILL CONNECTION`).
pub const KILL_CONNECTION: u8 = 2;

/// What others write of a session, seldom.
#[derive(Debug)]
struct Control {
    kill: SharedAtomic<u8, { class::SESSION }>,
    /// Bits of [`MONITORED`] and [`HISTORY`].
    monitoring: SharedAtomic<u8, { class::SESSION }>,
}

/// `threads.INSTRUMENTED`: what the session does is counted and timed.
pub const MONITORED: u8 = 1;
/// `threads.HISTORY`: what the session did is kept.
pub const HISTORY: u8 = 2;

#[cfg(not(loom))]
type Counters = CounterPage;
/// The stacks of a model are too small to build a page on.
#[cfg(loom)]
type Counters = Box<CounterPage>;

/// In [`SessionSlot::granted`]: a grant went that was not the last.
pub const GAPS: u32 = 1 << 31;

/// What one session publishes; several pages, alone on them.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct SessionSlot {
    /// How many of `grants` may be in use: those from there on are free. Stored before a grant that it counts in, and
    /// after the grant is gone that it counts out. With [`GAPS`], words before are free, too.
    pub granted: LocalAtomic<u32>,
    /// Scoped intention-exclusive grants, one bit (or count) per scope.
    pub scoped_ix: LocalAtomic<u64>,
    /// Grants that did not fit into `grants` and are in the slow table.
    pub grants_overflow: LocalAtomic<u32>,
    /// The read view's position; `u64::MAX` is none.
    pub snapshot: LocalAtomic<u64>,
    /// The first transaction id that the read view knows nothing of; `u64::MAX` while it is being opened.
    pub snapshot_low: LocalAtomic<u64>,
    /// No active transaction of the session has a lower id; `u64::MAX` is none.
    pub trx_low: LocalAtomic<u64>,
    /// Held read sides of `DistRwLock`s, one bit each.
    pub(crate) dist: LocalAtomic<u64>,
    /// Class number + 1 of the wait that is going on, above it what for; 0 is none.
    pub wait_class: LocalAtomic<u32>,
    /// What is waited for: an address or an id.
    pub wait_object: LocalAtomic<u64>,
    /// When the wait began, in [`crate::now_ns`] nanoseconds.
    pub wait_start_ns: LocalAtomic<u64>,
    /// The processlist id; 0 until the owner sets it.
    pub session_id: LocalAtomic<u64>,
    /// The THREAD_ID of `performance_schema`; 0 until the owner sets it.
    pub thread_id: LocalAtomic<u64>,
    /// Key of the killable wait the session is about to enter or in; 0 is none.
    pub(crate) parked: LocalAtomic<usize>,
    control: CacheLine<Control>,
    /// Metadata-lock grants: interned object id << 8 | mode; 0 is free.
    pub grants: [LocalAtomic<u64>; GRANTS],
    /// The session's counters.
    pub counters: Counters,
}

/// A wait that is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveWait {
    /// Number of its class: [`instrument::class_numbered`].
    pub class: u16,
    /// What for.
    pub operation: Operation,
    /// What is waited for: an address or an id.
    pub object: u64,
    /// When it began, in [`crate::now_ns`] nanoseconds.
    pub start_ns: u64,
}

impl SessionSlot {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self {
            granted: LocalAtomic::new(0),
            scoped_ix: LocalAtomic::new(0),
            grants_overflow: LocalAtomic::new(0),
            snapshot: LocalAtomic::new(u64::MAX),
            snapshot_low: LocalAtomic::new(u64::MAX),
            trx_low: LocalAtomic::new(u64::MAX),
            dist: LocalAtomic::new(0),
            wait_class: LocalAtomic::new(0),
            wait_object: LocalAtomic::new(0),
            wait_start_ns: LocalAtomic::new(0),
            session_id: LocalAtomic::new(0),
            thread_id: LocalAtomic::new(0),
            parked: LocalAtomic::new(0),
            control: CacheLine(Control {
                kill: SharedAtomic::new(KILL_NONE),
                monitoring: SharedAtomic::new(MONITORED | HISTORY),
            }),
            grants: std::array::from_fn(|_| LocalAtomic::new(0)),
            counters: CounterPage::boxed(),
        }
    }

    /// The words of `grants` that may be in use.
    #[inline]
    pub fn grants_in_use(&self) -> &[LocalAtomic<u64>] {
        let n = (self.granted.load(Ordering::Acquire) & !GAPS) as usize;
        &self.grants[..n.min(GRANTS)]
    }

    /// The counter page.
    #[inline(always)]
    pub(crate) fn page(&self) -> &CounterPage {
        &self.counters
    }

    /// Gives every field its idle value. The slot is not announced (yet, or any more).
    pub(crate) fn reset(&self) {
        for grant in &self.grants {
            grant.store(0, Ordering::Relaxed);
        }
        self.granted.store(0, Ordering::Relaxed);
        self.scoped_ix.store(0, Ordering::Relaxed);
        self.grants_overflow.store(0, Ordering::Relaxed);
        self.snapshot.store(u64::MAX, Ordering::Relaxed);
        self.snapshot_low.store(u64::MAX, Ordering::Relaxed);
        // Whoever finds no transaction here finds the end of the last one as well.
        self.trx_low.store(u64::MAX, Ordering::Release);
        self.dist.store(0, Ordering::Relaxed);
        self.wait_class.store(0, Ordering::Relaxed);
        self.session_id.store(0, Ordering::Relaxed);
        self.thread_id.store(0, Ordering::Relaxed);
        self.parked.store(0, Ordering::Relaxed);
        self.control.kill.store(KILL_NONE, Ordering::Relaxed);
        self.set_monitoring(MONITORED | HISTORY);
    }

    /// Kills the session's statement ([`KILL_QUERY`]) or the session ([`KILL_CONNECTION`]): raises the
    /// flag, never lowers it, and ends the killable wait the session is in. Callable by anyone.
    pub fn kill(&self, level: u8) {
        self.control.kill.fetch_max(level, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let key = self.parked.load(Ordering::Relaxed);
        if key != 0 {
            lot().kill(key, self);
        }
    }

    /// The kill level; one relaxed load.
    #[inline(always)]
    pub fn kill_level(&self) -> u8 {
        self.control.kill.load(Ordering::Relaxed)
    }

    /// [`MONITORED`] and [`HISTORY`], as far as they are on; one relaxed load.
    #[inline(always)]
    pub fn monitoring(&self) -> u8 {
        self.control.monitoring.load(Ordering::Relaxed)
    }

    /// Switches the bits of [`Self::monitoring`]; the session notices at its next statement. Callable by anyone.
    pub fn set_monitoring(&self, bits: u8) {
        self.control.monitoring.store(bits, Ordering::Relaxed);
        self.counters.set_instrumented(bits & MONITORED != 0);
    }

    /// Whether the statement or the session is to end.
    #[inline(always)]
    pub fn killed(&self) -> bool {
        self.kill_level() != KILL_NONE
    }

    /// Takes back a [`KILL_QUERY`] (at the start of a statement); a [`KILL_CONNECTION`] stays. Writes
    /// nothing if there is nothing to take back. Only the session's own thread calls it.
    pub fn clear_query_kill(&self) {
        if self.kill_level() == KILL_QUERY {
            let _ = self.control.kill.compare_exchange(
                KILL_QUERY,
                KILL_NONE,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
    }

    /// The wait the session is in, as its thread last published it.
    pub fn live_wait(&self) -> Option<LiveWait> {
        let word = self.wait_class.load(Ordering::Acquire);
        Some(LiveWait {
            class: (word as u16).checked_sub(1)?,
            operation: Operation::numbered((word >> 16) as u8),
            object: self.wait_object.load(Ordering::Relaxed),
            start_ns: self.wait_start_ns.load(Ordering::Relaxed),
        })
    }

    /// The addresses the slot occupies: whole pages.
    pub fn range(&self) -> std::ops::Range<usize> {
        let start = std::ptr::from_ref(self).addr();
        start..start + size_of::<Self>()
    }
}

/// What one running thread publishes to the log and to whoever reclaims memory.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct WorkerSlot {
    /// Lower bound of the log range being copied; `u64::MAX` is idle.
    pub copying: LocalAtomic<u64>,
    /// Lower bound of the log range whose pages are not dirty-marked yet; `u64::MAX` is idle.
    pub dirtying: LocalAtomic<u64>,
    /// Epoch the worker reads in; `u64::MAX` is idle.
    pub epoch: LocalAtomic<u64>,
    /// The log's ring has room at least up to here: what the worker has seen last. Its own to write and to read.
    pub room: LocalAtomic<u64>,
}

impl WorkerSlot {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self {
            copying: LocalAtomic::new(u64::MAX),
            dirtying: LocalAtomic::new(u64::MAX),
            epoch: LocalAtomic::new(u64::MAX),
            room: LocalAtomic::new(0),
        }
    }

    /// Gives every field its idle value. The slot is not announced.
    pub(crate) fn reset(&self) {
        self.copying.store(u64::MAX, Ordering::Relaxed);
        self.dirtying.store(u64::MAX, Ordering::Relaxed);
        self.epoch.store(u64::MAX, Ordering::Relaxed);
        self.room.store(0, Ordering::Relaxed);
    }

    /// The addresses the slot occupies.
    pub fn range(&self) -> std::ops::Range<usize> {
        let start = std::ptr::from_ref(self).addr();
        start..start + size_of::<Self>()
    }
}
