//! Room in the files: how writers are slowed down before the log could be full.
//!
//! 1. A write never reaches `checkpoint (rounded down to a block) + capacity`: the writer stops
//!    there and waits, whatever happened before it (`Limits::write_end`).
//! 2. Pacing keeps it from getting there: from 3/4 of the capacity on the cleaner is called and
//!    each mini-transaction waits a little (from 13/16 on), from 7/8 on it waits for a checkpoint.
//!    It waits before it takes a latch, so the cleaner can always get at the pages.
//! 3. The last 1/8 is for mini-transactions that were let through before: eight of the largest, or
//!    thousands of the usual size. If more than that is in flight at once the log can fill up while
//!    the cleaner needs it to write a page; then no checkpoint comes, and after [`STUCK_AFTER`] the
//!    log fails as after an I/O error: the server restarts and recovers, nothing acknowledged is
//!    lost.

use std::time::Duration;

use base::{Error, Lsn, Result};
use instrument::{Counter, count};
use stdx::{Ordering, SharedAtomic, class};
use sync::{Deadline, Event, WorkerSlot};

use crate::log::Log;

const BLOCK: u64 = host::BLOCK_BYTES as u64;
/// Without a checkpoint for so long, a full log has failed.
const STUCK_AFTER: Duration = Duration::from_secs(60);
/// How often a wait for space looks whether time is up.
const STUCK_CHECK: Duration = Duration::from_millis(250);

/// Where the files' room ends.
pub(crate) struct Limits {
    capacity: u64,
    checkpoint: SharedAtomic<u64, { class::LOG_DURABLE }>,
    /// The tail at which the cleaner is called.
    calm_end: SharedAtomic<u64, { class::LOG_DURABLE }>,
    /// The longest body that may be appended; 0 until the log is open for appending.
    pub(crate) body_bytes_max: SharedAtomic<u64, { class::LOG_DURABLE }>,
}

impl Limits {
    pub(crate) fn new(capacity: u64, checkpoint: u64) -> Limits {
        let limits = Limits {
            capacity,
            checkpoint: SharedAtomic::new(checkpoint),
            calm_end: SharedAtomic::new(0),
            body_bytes_max: SharedAtomic::new(0),
        };
        limits.moved(checkpoint);
        limits
    }

    pub(crate) fn moved(&self, checkpoint: u64) {
        self.checkpoint.store(checkpoint, Ordering::Release);
        self.calm_end.store(checkpoint + self.capacity / 4 * 3, Ordering::Release);
    }

    pub(crate) fn checkpoint(&self) -> u64 {
        self.checkpoint.load(Ordering::Acquire)
    }

    /// No write may reach beyond this; a multiple of a block.
    pub(crate) fn write_end(&self) -> u64 {
        self.checkpoint() / BLOCK * BLOCK + self.capacity
    }
}

impl Log {
    /// Lets a mini-transaction in: called before it takes any latch. Waits while the log is nearly
    /// full; a kill does not end the wait, the log's failure does.
    #[inline]
    pub fn pace(&self, worker: &WorkerSlot) -> Result<()> {
        if self.tail.load(Ordering::Relaxed) < self.limits.calm_end.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.pace_slowly(worker)
    }

    #[cold]
    fn pace_slowly(&self, _worker: &WorkerSlot) -> Result<()> {
        let sixteenth = self.capacity_bytes() / 16;
        loop {
            self.check()?;
            self.work.notify_all();
            if self.checkpoint_age() < 13 * sixteenth {
                return Ok(());
            }
            let seen = self.space.prepare();
            let age = self.checkpoint_age();
            if age < 13 * sixteenth || self.failed() {
                continue;
            }
            count(Counter::InnodbLogWaits, 1);
            if age < 14 * sixteenth {
                // Up to 2 ms, the more the nearer to the stop.
                let wait = Duration::from_micros((age - 13 * sixteenth) * 2000 / sixteenth);
                let _ = self.space.wait_unkillable(seen, Deadline::after(wait));
                return self.check();
            }
            let _ = self.space.wait_unkillable(seen, Deadline::after(STUCK_CHECK));
        }
    }

    /// Waits until a checkpoint makes room in full files, for one that holds no latch.
    pub(crate) fn wait_for_space(&self, needs: u64) -> Result<()> {
        let begin = host::clock::now();
        let before = self.limits.checkpoint();
        while self.limits.write_end() <= needs && self.limits.checkpoint() == before {
            self.check()?;
            if host::clock::now() - begin > STUCK_AFTER {
                self.fail(&Error::LogFull);
                return Err(Error::LogFull);
            }
            self.work.notify_all();
            let seen = self.space.prepare();
            if self.limits.checkpoint() != before || self.failed() {
                continue;
            }
            let until = host::clock::now() + STUCK_CHECK;
            let _ = self.space.wait_unkillable(seen, Deadline::At(until));
        }
        Ok(())
    }

    /// Redo that the files hold, in bytes.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.files.capacity()
    }

    /// Redo that recovery would have to read, in bytes.
    #[must_use]
    pub fn checkpoint_age(&self) -> u64 {
        // The checkpoint first: it is never above a tail read later.
        let checkpoint = self.limits.checkpoint();
        self.tail().0 - checkpoint
    }

    /// How full the files are, 0 to 1 (above 1 when writers have run into the limit).
    #[must_use]
    pub fn pressure(&self) -> f32 {
        self.checkpoint_age() as f32 / self.capacity_bytes() as f32
    }

    /// True from 3/4 on: the cleaner should write pages and checkpoint.
    #[must_use]
    pub fn wants_checkpoint(&self) -> bool {
        self.tail() >= Lsn(self.limits.calm_end.load(Ordering::Acquire))
    }

    /// Notified while writers find [`Log::wants_checkpoint`] true, and when the log fails.
    #[must_use]
    pub fn work(&self) -> &Event {
        &self.work
    }
}
