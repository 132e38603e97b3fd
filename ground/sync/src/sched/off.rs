//! The scheduler of a build without it: every question is answered "not simulated", by constants.

use crate::Deadline;

/// A sync point of a simulation; nothing in this build.
#[inline(always)]
pub fn point(_what: &'static str) {}

/// Whether this thread runs in a simulation: never in this build.
#[inline(always)]
pub fn is_simulated() -> bool {
    false
}

/// Calls `f`; in a simulation without sync points.
#[inline(always)]
pub fn quiet<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// A thread about to be started.
#[derive(Debug)]
pub struct Child;

/// Announces a thread that is about to be started by this one.
#[inline(always)]
pub fn child(_name: &str) -> Child {
    Child
}

impl Child {
    /// What waits for the thread's end.
    #[inline(always)]
    pub fn joiner(&self) -> Joiner {
        Joiner
    }

    /// The thread's life.
    #[inline(always)]
    pub fn run<T>(self, f: impl FnOnce() -> T) -> T {
        f()
    }
}

/// Waits for the end of a simulated thread.
#[derive(Debug)]
pub struct Joiner;

impl Joiner {
    /// Returns at once in this build: the real join waits.
    #[inline(always)]
    pub fn join(&self) {}

    /// Whether the simulated thread has ended; `None`: it is a real one, ask the system.
    #[inline(always)]
    pub fn ended(&self) -> Option<bool> {
        None
    }
}

#[inline(always)]
pub(crate) fn me() -> Option<u32> {
    None
}

#[inline(always)]
pub(crate) fn run_id() -> usize {
    0
}

#[inline(always)]
pub(crate) fn now() -> Option<std::time::Instant> {
    None
}

#[inline(always)]
pub(crate) fn now_ns() -> Option<u64> {
    None
}

#[inline(always)]
pub(crate) fn block(_deadline: Deadline) {}

#[inline(always)]
pub(crate) fn wake(_thread: u32) {}

#[inline(always)]
pub(crate) fn waits_for(_what: Option<(&'static str, usize)>) {}

#[inline(always)]
pub(crate) fn yield_now() -> bool {
    false
}
