//! The parking lot: queues of parked threads by address.
//!
//! 1. An entry enters a bucket's queue only if its `validate` held under the bucket's lock, and leaves it
//!    exactly once: by a waker, a killer, or its own thread at the deadline. Who removes it decides how
//!    the wait ended. So a wake-up is never lost to a timeout that comes at the same moment.
//! 2. A killer first raises the kill flag, then reads where the session is parked; a waiter first
//!    publishes where it will park, then reads the flag under the bucket's lock. With a full fence
//!    between the two steps on both sides, at least one of them sees the other. Both may: so a killer
//!    ends a wait only if the flag is still up under the bucket's lock, and one kill ends one statement.
//! 3. `validate`, `pick` and `done` run under a bucket's lock: they touch atomics only.
//! 4. The lot outlives simulations, whose addresses come again in later ones, and a failed one may leave
//!    entries of threads that sleep for ever: an entry is seen only by threads of its own simulation.

use crate::parker::{self, Parker};
use crate::{Deadline, SessionSlot, now_ns, sched};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use stdx::{CacheLine, Ordering, SharedAtomic, class, fence};

#[cfg(loom)]
use loom::sync::Mutex;
#[cfg(not(loom))]
use std::sync::Mutex;

// One under loom: which of several an address falls into would differ from run to run, and loom replays runs.
const BUCKETS: usize = if cfg!(loom) { 1 } else { 256 };
const COUNTERS: usize = if cfg!(loom) { 1 } else { 1024 };

/// A waiter is handed the lock instead of merely woken once it has waited this long (barging before).
pub(crate) const HANDOFF_NS: u64 = 1_000_000;

#[derive(Debug)]
struct Entry {
    key: usize,
    /// The simulation the thread belongs to; 0 is none.
    run: usize,
    tag: u8,
    since_ns: u64,
    /// Address of the session's slot if the wait can be killed, else 0.
    owner: usize,
    parker: Arc<Parker>,
}

type Queue = VecDeque<Entry>;

pub(crate) struct ParkingLot {
    buckets: [CacheLine<Mutex<Queue>>; BUCKETS],
    /// Numbers of threads waiting for words that have no room for a waiter bit, by hashed address.
    counters: [SharedAtomic<u32, { class::LATCH }>; COUNTERS],
}

/// How a parking ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parked {
    /// Somebody woke this thread and left a token.
    Woken(u32),
    TimedOut,
    Killed,
    /// `validate` said no: the thread never slept.
    Invalid,
}

/// What a waker does with one waiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    /// Wakes it, giving it a token.
    Wake(u32),
    /// Leaves it.
    Skip,
    /// Leaves it and all behind it.
    Stop,
}

/// A waiter as a waker sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiter {
    /// What the waiter said it wants.
    pub(crate) tag: u8,
    /// Whether it has waited long enough to be handed the lock.
    pub(crate) starving: bool,
}

#[cfg(not(loom))]
static LOT: ParkingLot = ParkingLot {
    buckets: [const { CacheLine(Mutex::new(VecDeque::new())) }; BUCKETS],
    counters: [const { SharedAtomic::new(0) }; COUNTERS],
};

#[cfg(loom)]
loom::lazy_static! {
    static ref LOT: ParkingLot = ParkingLot {
        buckets: std::array::from_fn(|_| CacheLine(Mutex::new(VecDeque::new()))),
        counters: std::array::from_fn(|_| SharedAtomic::new(0)),
    };
}

/// The process's parking lot.
pub(crate) fn lot() -> &'static ParkingLot {
    &LOT
}

fn hash(key: usize) -> usize {
    (key >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

impl ParkingLot {
    fn with<R>(&self, key: usize, f: impl FnOnce(&mut Queue) -> R) -> R {
        // A thread of a simulation that lost its turn here would keep the lock while others run into it.
        sched::quiet(|| {
            let bucket = &self.buckets[hash(key) % BUCKETS];
            stdx::touch::wrote_twice(std::ptr::from_ref(bucket).addr(), "parking_lot");
            let mut queue = bucket.lock().unwrap_or_else(PoisonError::into_inner);
            f(&mut queue)
        })
    }

    /// The number of threads about to wait, or waiting, for words that hash like `key`.
    #[inline(always)]
    pub(crate) fn counter(&self, key: usize) -> &SharedAtomic<u32, { class::LATCH }> {
        &self.counters[hash(key) % COUNTERS]
    }

    /// Parks the thread on `key` unless `validate` fails. With `killable`, a kill of that session ends it.
    pub(crate) fn park(
        &self,
        key: usize,
        tag: u8,
        killable: Option<&SessionSlot>,
        deadline: Deadline,
        validate: impl FnOnce() -> bool,
    ) -> Parked {
        let Some(slot) = killable else {
            return self.park_inner(key, tag, 0, deadline, || {
                validate().then_some(()).ok_or(Parked::Invalid)
            });
        };
        slot.parked.store(key, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let owner = std::ptr::from_ref(slot).addr();
        let parked = self.park_inner(key, tag, owner, deadline, || {
            if slot.killed() {
                return Err(Parked::Killed);
            }
            validate().then_some(()).ok_or(Parked::Invalid)
        });
        slot.parked.store(0, Ordering::Relaxed);
        parked
    }

    fn park_inner(
        &self,
        key: usize,
        tag: u8,
        owner: usize,
        deadline: Deadline,
        admit: impl FnOnce() -> Result<(), Parked>,
    ) -> Parked {
        let parker = Parker::armed();
        let since_ns = now_ns();
        let admitted = self.with(key, |queue| {
            admit()?;
            let run = sched::run_id();
            queue.push_back(Entry { key, run, tag, since_ns, owner, parker: Arc::clone(&parker) });
            Ok(())
        });
        if let Err(parked) = admitted {
            return parked;
        }
        if let Some(state) = parker.sleep(deadline) {
            return ended(state);
        }
        if self.remove(key, |e| Arc::ptr_eq(&e.parker, &parker)).is_some() {
            return Parked::TimedOut;
        }
        // Somebody removed the entry before this thread could: its decision stands (invariant 1), and
        // it was stored under the lock that `remove` just held.
        parker.sleep(Deadline::Never).map_or(Parked::TimedOut, ended)
    }

    fn remove(&self, key: usize, is_it: impl Fn(&Entry) -> bool) -> Option<Entry> {
        self.with(key, |queue| {
            let at = queue.iter().position(is_it)?;
            queue.remove(at)
        })
    }

    /// Walks the waiters of `key` in the order they came and wakes those `pick` chooses. `done` runs
    /// last under the bucket's lock and hears whether waiters of `key` remain. Returns how many woke.
    pub(crate) fn unpark(
        &self,
        key: usize,
        mut pick: impl FnMut(Waiter) -> Pick,
        done: impl FnOnce(bool),
    ) -> usize {
        let woken = self.with(key, |queue| {
            let mut woken = Vec::new();
            let mut at = 0;
            while let Some(entry) = queue.get(at) {
                if !entry.waits_for(key) {
                    at += 1;
                    continue;
                }
                match pick(entry.seen()) {
                    Pick::Skip => at += 1,
                    Pick::Stop => break,
                    Pick::Wake(token) => {
                        let entry = queue.remove(at).expect("an entry was just seen there");
                        entry.parker.finish(parker::WOKEN + token);
                        woken.push(entry.parker);
                    }
                }
            }
            done(queue.iter().any(|e| e.waits_for(key)));
            woken
        });
        for parker in &woken {
            parker.wake();
        }
        woken.len()
    }

    /// Wakes every waiter of `key`.
    pub(crate) fn unpark_all(&self, key: usize) -> usize {
        self.unpark(key, |_| Pick::Wake(0), |_| ())
    }

    /// Ends the killable wait of a session, if it is parked on `key` and its kill still stands: a session
    /// that saw its flag before it parked may have ended that statement, taken the kill back, and be
    /// parked for its next one. While its entry is in the queue it takes nothing back.
    pub(crate) fn kill(&self, key: usize, session: &SessionSlot) {
        let owner = std::ptr::from_ref(session).addr();
        let parker = self.with(key, |queue| {
            let at = queue.iter().position(|e| e.waits_for(key) && e.owner == owner)?;
            if !session.killed() {
                return None;
            }
            let entry = queue.remove(at)?;
            entry.parker.finish(parker::KILLED);
            Some(entry.parker)
        });
        if let Some(parker) = parker {
            parker.wake();
        }
    }
}

impl Entry {
    /// Whether the entry's thread waits for what the calling thread calls `key` (invariant 4).
    fn waits_for(&self, key: usize) -> bool {
        self.key == key && self.run == sched::run_id()
    }

    fn seen(&self) -> Waiter {
        let waited_ns = now_ns().saturating_sub(self.since_ns);
        Waiter { tag: self.tag, starving: waited_ns >= HANDOFF_NS }
    }
}

fn ended(state: u32) -> Parked {
    if state == parker::KILLED { Parked::Killed } else { Parked::Woken(state - parker::WOKEN) }
}
