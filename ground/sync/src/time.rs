//! Deadlines, wait results and the monotonic clock of waits.

use crate::sched;
use std::time::{Duration, Instant};

/// How long a wait may last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// As long as it takes.
    Never,
    /// Until this moment; one in the past times out at once if the wait is not over already.
    At(Instant),
}

impl Deadline {
    /// The deadline this long from now; `Never` when that is beyond the clock.
    pub fn after(duration: Duration) -> Self {
        now().checked_add(duration).map_or(Self::Never, Self::At)
    }

    /// Whether it is over.
    pub fn passed(self) -> bool {
        matches!(self, Deadline::At(end) if end <= now())
    }

    /// This deadline, or so long from now, whichever comes first.
    #[must_use]
    pub fn within(self, duration: Duration) -> Self {
        match (self, Self::after(duration)) {
            (Deadline::At(end), Deadline::At(slice)) => Deadline::At(end.min(slice)),
            (_, slice) => slice,
        }
    }

    #[cfg(not(loom))]
    /// Time left: `None` for `Never`, zero when passed.
    pub(crate) fn left(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::At(at) => Some(at.saturating_duration_since(now())),
        }
    }
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum WaitResult {
    /// Notified, perhaps spuriously: check the condition again.
    Woken,
    /// The deadline passed first.
    TimedOut,
    /// The session was killed; it stays so until [`crate::SessionSlot::clear_query_kill`].
    Killed,
}

/// The monotonic clock; the virtual one in a simulation.
#[must_use]
pub fn now() -> Instant {
    sched::now().unwrap_or_else(Instant::now)
}

/// Lets other threads go on.
pub fn yield_now() {
    if !sched::yield_now() {
        std::thread::yield_now();
    }
}

/// One turn of a spin loop: a wait of some nanoseconds for another thread that is on its way.
pub fn spin_wait() {
    if !sched::yield_now() {
        std::hint::spin_loop();
    }
}

/// Nanoseconds of the monotonic clock, the unit of [`crate::LiveWait::start_ns`].
#[cfg(not(loom))]
pub fn now_ns() -> u64 {
    if let Some(virtual_ns) = sched::now_ns() {
        return virtual_ns;
    }
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place for the result; the monotonic clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// A model has no time.
#[cfg(loom)]
pub fn now_ns() -> u64 {
    0
}
