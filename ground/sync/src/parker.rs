//! What one parked thread sleeps on.
//!
//! 1. `state` goes WAITING -> something else exactly once per parking, under the lock of the bucket that
//!    holds the thread's entry, together with the removal of that entry.
//! 2. A wake-up may come late or twice (the futex call follows the unlock): sleepers re-read `state`.
//! 3. In a simulation the scheduler puts to sleep and wakes; between the look at `state` and the sleep there
//!    is no sync point, so no wake-up falls between.

use crate::Deadline;
#[cfg(not(loom))]
use crate::sched;
use std::sync::Arc;
#[cfg(not(loom))]
use stdx::{Ordering, SharedAtomic, class};

pub(crate) const WAITING: u32 = 0;
pub(crate) const KILLED: u32 = 1;
/// Woken; the waker's token is added.
pub(crate) const WOKEN: u32 = 2;

#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Parker {
    state: SharedAtomic<u32, { class::LATCH }>,
    /// The sleeper's number in its simulation, and 1; 0 is none.
    simulated: SharedAtomic<u32, { class::LATCH }>,
}

/// In a model the futex is a mutex and a condition variable: loom's `park` forgets an `unpark` that comes
/// before it when the thread blocks on something else in between.
#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Parker {
    state: loom::sync::Mutex<u32>,
    changed: loom::sync::Condvar,
}

impl Parker {
    #[cfg(not(loom))]
    fn new() -> Self {
        Self { state: SharedAtomic::new(WAITING), simulated: SharedAtomic::new(0) }
    }

    /// The calling thread's parker, armed: its state is WAITING.
    #[cfg(not(loom))]
    pub(crate) fn armed() -> Arc<Self> {
        thread_local! {
            static PARKER: Arc<Parker> = Arc::new(Parker::new());
        }
        let parker = PARKER.try_with(Arc::clone).unwrap_or_else(|_| Arc::new(Self::new()));
        parker.simulated.store(sched::me().map_or(0, |me| me + 1), Ordering::Relaxed);
        parker.state.store(WAITING, Ordering::Relaxed);
        parker
    }

    #[cfg(loom)]
    pub(crate) fn armed() -> Arc<Self> {
        let state = loom::sync::Mutex::new(WAITING);
        Arc::new(Self { state, changed: loom::sync::Condvar::new() })
    }

    /// Ends the waiting with `state`. The bucket is locked and the entry was just removed from it.
    #[cfg(not(loom))]
    pub(crate) fn finish(&self, state: u32) {
        self.state.store(state, Ordering::Release);
    }

    #[cfg(loom)]
    pub(crate) fn finish(&self, state: u32) {
        *self.state.lock().expect("no panic inside") = state;
    }

    /// Sleeps until the waiting ends; `None` when the deadline passes first.
    #[cfg(not(loom))]
    pub(crate) fn sleep(&self, deadline: Deadline) -> Option<u32> {
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state != WAITING {
                return Some(state);
            }
            let left = deadline.left();
            if left.is_some_and(|d| d.is_zero()) {
                return None;
            }
            if sched::is_simulated() {
                sched::block(deadline);
            } else {
                futex_wait(self.address(), WAITING, left);
            }
        }
    }

    /// In a model every deadline passes at once: all that matters is what it races with.
    #[cfg(loom)]
    pub(crate) fn sleep(&self, deadline: Deadline) -> Option<u32> {
        let mut state = self.state.lock().expect("no panic inside");
        while *state == WAITING {
            if deadline != Deadline::Never {
                return None;
            }
            state = self.changed.wait(state).expect("no panic inside");
        }
        Some(*state)
    }

    /// Makes the sleeper look at its state.
    #[cfg(not(loom))]
    pub(crate) fn wake(&self) {
        match self.simulated.load(Ordering::Relaxed) {
            0 => futex_wake(self.address()),
            thread => sched::wake(thread - 1),
        }
    }

    #[cfg(loom)]
    pub(crate) fn wake(&self) {
        // The state was set before; the lock keeps the notification from falling between its reader's
        // look and its sleep, as the futex's compare does.
        drop(self.state.lock());
        self.changed.notify_one();
    }

    #[cfg(not(loom))]
    fn address(&self) -> *const u32 {
        (&raw const self.state).cast()
    }
}

#[cfg(not(loom))]
fn futex_wait(address: *const u32, expected: u32, left: Option<std::time::Duration>) {
    let timeout = left.map(|d| libc::timespec {
        tv_sec: d.as_secs().min(1 << 40) as libc::time_t,
        tv_nsec: libc::c_long::from(d.subsec_nanos() as i32),
    });
    let timeout: *const libc::timespec = timeout.as_ref().map_or(std::ptr::null(), |t| t);
    // SAFETY: `address` is a live aligned u32 for the whole call (the parker is borrowed), `timeout` is
    // null or points to a timespec on this stack. Any return means: look at the state again.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            address,
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            timeout,
        );
    }
}

#[cfg(not(loom))]
fn futex_wake(address: *const u32) {
    // SAFETY: `address` belongs to a live parker; the call only looks up waiters by it.
    unsafe {
        libc::syscall(libc::SYS_futex, address, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1);
    }
}
