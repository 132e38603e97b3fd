//! Room in the files: how writers are slowed down before the log could be full.
//!
//! 1. A write never reaches beyond the files there are, nor, unless the log is overdrawn (3), beyond
//!    `checkpoint + room`: the writer stops there and waits, whatever happened before it (`Limits::write_end`). Guard:
//!    `Log::fitting`; `write_until` asserts the files' end; `a_full_log_waits_for_space_even_when_nobody_paced`.
//! 2. Pacing keeps it from getting there: from 3/4 of the room on the cleaner is called and each
//!    mini-transaction waits a little (from 13/16 on, the longer the fuller), from 7/8 on it waits for a
//!    checkpoint. It waits before it takes a latch, so the cleaner can always get at the pages. Guard:
//!    `pool::Mtr::new` asserts in debug builds that no page latch is held;
//!    `writers_wait_for_a_checkpoint_and_never_overwrite_what_it_needs`.
//! 3. The last 1/8 is for mini-transactions that were let through before: some of the largest, or thousands of
//!    the usual size. If more than that is in flight at once the log can fill up while the cleaner needs it to
//!    write a page, and then no checkpoint comes. None of them can fail alone: its pages have their changes, its place in
//!    the log is taken, and commits of others lie behind it. So after [`OVERDRAWN_AFTER`] the log is overdrawn: it
//!    takes files beyond its capacity for what is in flight, which is bounded, since nobody else is let in; behind
//!    the next checkpoints they go. Only where the disk has no room for them it fails after [`STUCK_AFTER`] as after an
//!    I/O error: the server restarts and recovers, nothing acknowledged is lost. Guard:
//!    `the_room_fits_into_the_files_however_they_are_cut` (the largest fit);
//!    `a_full_log_without_a_checkpoint_takes_more_room_and_gives_it_back`,
//!    `a_full_log_without_a_checkpoint_fails_on_a_full_disk`.
//! 4. When the capacity shrinks, the cleaner is called for the new room at once; the room that stops writers
//!    shrinks with the log's age, so they are slowed down and not stopped. Guard:
//!    `a_smaller_capacity_waits_for_checkpoints_and_gives_the_room_back`.

use std::time::Duration;

use base::{Error, Lsn, Result};
use instrument::{Counter, count};
use stdx::{Ordering, SharedAtomic, class};
use sync::{Deadline, Event, WorkerSlot};

use crate::log::Log;

const BLOCK: u64 = host::BLOCK_BYTES as u64;
/// Without a checkpoint for so long, a full log takes more room than its capacity has.
const OVERDRAWN_AFTER: Duration = Duration::from_secs(5);
/// Without a checkpoint for so long, a full log that gets no more room has failed.
const STUCK_AFTER: Duration = Duration::from_secs(60);
/// How often a wait for space looks whether time is up.
const STUCK_CHECK: Duration = Duration::from_millis(250);

/// Where the files' room ends. `checkpoint` and what follows from it change under the control file's mutex.
pub(crate) struct Limits {
    checkpoint: SharedAtomic<u64, { class::LOG_LIMITS }>,
    /// The tail at which the cleaner is called.
    calm_end: SharedAtomic<u64, { class::LOG_LIMITS }>,
    /// Bytes from the checkpoint to the tail at most; a multiple of a block.
    room: SharedAtomic<u64, { class::LOG_LIMITS }>,
    /// What the room is to become.
    target: SharedAtomic<u64, { class::LOG_LIMITS }>,
    /// Up to here the log may be written whatever the room is (invariant 3); it only grows.
    overdrawn: SharedAtomic<u64, { class::LOG_LIMITS }>,
    /// Where the last file ends.
    files_end: SharedAtomic<u64, { class::LOG_LIMITS }>,
    /// The longest body that may be appended; 0 until the log is open for appending.
    pub(crate) body_bytes_max: SharedAtomic<u64, { class::LOG_LIMITS }>,
}

impl Limits {
    pub(crate) fn new(room: u64, checkpoint: u64, files_end: u64) -> Limits {
        Limits {
            checkpoint: SharedAtomic::new(checkpoint),
            calm_end: SharedAtomic::new(0),
            // A restart with a smaller capacity is one that shrinks, once the tail is known.
            room: SharedAtomic::new(1 << 62),
            target: SharedAtomic::new(room),
            overdrawn: SharedAtomic::new(0),
            files_end: SharedAtomic::new(files_end),
            body_bytes_max: SharedAtomic::new(0),
        }
    }

    /// The checkpoint is at `checkpoint` now, and the log ends at `tail`.
    pub(crate) fn moved(&self, checkpoint: u64, tail: u64) {
        self.checkpoint.store(checkpoint, Ordering::Release);
        self.settle(tail);
    }

    /// The room is to become `target`; at once if that is more, else as the log gets shorter.
    pub(crate) fn set_target(&self, target: u64, tail: u64) {
        self.target.store(target, Ordering::Relaxed);
        self.settle(tail);
    }

    fn settle(&self, tail: u64) {
        let (checkpoint, target) = (self.checkpoint(), self.target.load(Ordering::Relaxed));
        let age = tail.saturating_sub(checkpoint);
        let enough = (age + age / 4 + target / 4).next_multiple_of(BLOCK);
        let room = target.max(enough.min(self.room()));
        self.room.store(room, Ordering::Release);
        self.calm_end.store(checkpoint + self.calm(), Ordering::Release);
    }

    pub(crate) fn room(&self) -> u64 {
        self.room.load(Ordering::Acquire)
    }

    pub(crate) fn is_shrinking(&self) -> bool {
        self.room() > self.target.load(Ordering::Relaxed)
    }

    /// The room that the cleaner works for.
    fn goal(&self) -> u64 {
        self.target.load(Ordering::Relaxed).min(self.room())
    }

    /// Bytes from the checkpoint to the tail at which nobody is called.
    fn calm(&self) -> u64 {
        self.goal() / 4 * 3
    }

    pub(crate) fn checkpoint(&self) -> u64 {
        self.checkpoint.load(Ordering::Acquire)
    }

    pub(crate) fn files_end(&self) -> u64 {
        self.files_end.load(Ordering::Acquire)
    }

    pub(crate) fn set_files_end(&self, end: u64) {
        self.files_end.store(end, Ordering::Release);
    }

    /// No write may reach beyond this.
    pub(crate) fn write_end(&self) -> u64 {
        let room = self.checkpoint() + self.room();
        room.max(self.overdrawn.load(Ordering::Acquire)).min(self.files_end())
    }

    /// Lets the log be written up to `tail`, and what may still be in flight.
    fn overdraw(&self, tail: u64) {
        self.overdrawn.fetch_max(tail + self.goal() / 8, Ordering::AcqRel);
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
        loop {
            self.check()?;
            let sixteenth = self.limits.room() / 16;
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

    /// Waits until there is room for the log up to `end`, for one that holds no latch: makes the
    /// next file if that is what is missing, else waits for a checkpoint, and overdraws the log when none comes.
    pub(crate) fn wait_for_space(&self, end: u64) -> Result<()> {
        let begin = host::clock::now();
        let before = self.limits.checkpoint();
        while self.limits.write_end() < end && self.limits.checkpoint() == before {
            self.check()?;
            let waited = host::clock::now() - begin;
            if waited > STUCK_AFTER {
                self.fail(&Error::LogFull);
                return Err(Error::LogFull);
            }
            if waited > OVERDRAWN_AFTER {
                self.limits.overdraw(self.tail().0);
            }
            if self.limits.files_end() < end {
                self.extend(end)?;
            }
            self.work.notify_all();
            let seen = self.space.prepare();
            let free = self.limits.write_end() >= end;
            if free || self.limits.checkpoint() != before || self.failed() {
                continue;
            }
            let _ = self.space.wait_unkillable(seen, Deadline::after(STUCK_CHECK));
        }
        Ok(())
    }

    /// Redo that may lie between checkpoint and tail, in bytes: a little less than the capacity.
    #[must_use]
    pub fn room_bytes(&self) -> u64 {
        self.limits.goal()
    }

    /// Redo that recovery would have to read, in bytes.
    #[must_use]
    pub fn checkpoint_age(&self) -> u64 {
        // The checkpoint first: it is never above a tail read later.
        let checkpoint = self.limits.checkpoint();
        self.tail().0 - checkpoint
    }

    /// How full the log is, 0 to 1 (above 1 while its capacity shrinks, or it is overdrawn).
    #[must_use]
    pub fn pressure(&self) -> f32 {
        self.checkpoint_age() as f32 / self.room_bytes() as f32
    }

    /// Where the checkpoint should be for the log to be calm: pages changed below are to be
    /// written. The checkpoint itself when it is.
    #[must_use]
    pub fn checkpoint_target(&self) -> Lsn {
        let checkpoint = self.limits.checkpoint();
        Lsn(checkpoint.max(self.tail().0.saturating_sub(self.limits.calm())))
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
