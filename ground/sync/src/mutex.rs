//! A mutex of four bytes.
//!
//! 1. LOCKED means held. PARKED is set whenever somebody is parked on it, and may be stale.
//! 2. Whoever unlocks with PARKED set wakes the first waiter. Newcomers may overtake it, unless it has
//!    waited over a millisecond: then the lock is handed over without ever being free.

use crate::lot::{Parked, Pick, lot};
use crate::waiting::Waiting;
use crate::{Deadline, held, hold};
use instrument::{InstanceCell, LATCH_INSTRUMENTS, MutexClass, Operation};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use stdx::{Ordering, SharedAtomic, class};

const LOCKED: u32 = 1;
const PARKED: u32 = 2;

const TOKEN_RETRY: u32 = 0;
const TOKEN_HANDED: u32 = 1;

/// Mutual exclusion for a value. Not poisoned by a panic, not killable.
pub struct Mutex<T: ?Sized> {
    class: &'static MutexClass,
    state: SharedAtomic<u32, { class::LATCH }>,
    instance: InstanceCell,
    value: UnsafeCell<T>,
}

// SAFETY: the value is accessed by one thread at a time, between lock and unlock.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The value of a locked [`Mutex`]; unlocks when dropped.
#[must_use = "the mutex is unlocked when this is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// Stays on its thread: waits and ranks are per thread.
    _thread: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    const_fn! {
        /// An unlocked mutex of a class.
        pub fn new(class: &'static MutexClass, value: T) -> Self {
            Self {
                class,
                state: SharedAtomic::new(0),
                instance: InstanceCell::new(),
                value: UnsafeCell::new(value),
            }
        }
    }

    /// The value; nobody else can have it.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks, waiting as long as it takes. Locking it again on the same thread never returns.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        if self.state.compare_exchange(0, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_slow();
        }
        self.began();
        self.guard()
    }

    /// Locks if that is possible at once.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let seen = self.state.load(Ordering::Relaxed);
        if !self.take(seen) {
            return None;
        }
        self.began();
        Some(self.guard())
    }

    /// The value, when the mutex itself is exclusively borrowed.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, _thread: PhantomData }
    }

    /// It was taken.
    #[inline(always)]
    fn began(&self) {
        stdx::touch::alias(self.key(), || self.class.name());
        held::latched(self.class);
        if LATCH_INSTRUMENTS && self.class.noticed() {
            hold::begin(self.class, self.key());
            self.instance.used(self.class);
        }
    }

    fn take(&self, seen: u32) -> bool {
        seen & LOCKED == 0
            && self
                .state
                .compare_exchange(seen, seen | LOCKED, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    fn key(&self) -> usize {
        (&raw const self.state).addr()
    }

    #[cold]
    fn lock_slow(&self) {
        let waiting = Waiting::begin(self.class, Operation::Lock, self.key(), &self.instance);
        loop {
            let seen = self.state.load(Ordering::Relaxed);
            if seen & LOCKED == 0 {
                if self.take(seen) {
                    return;
                }
                continue;
            }
            if seen & PARKED == 0 && waiting.may_spin() {
                continue;
            }
            if seen & PARKED == 0 && !self.swap_state(seen, seen | PARKED) {
                continue;
            }
            let parked = lot().park(self.key(), 0, None, Deadline::Never, || {
                self.state.load(Ordering::Relaxed) == LOCKED | PARKED
            });
            if parked == Parked::Woken(TOKEN_HANDED) {
                return;
            }
        }
    }

    fn swap_state(&self, seen: u32, new: u32) -> bool {
        self.state.compare_exchange(seen, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn unlock(&self) {
        held::unlatched(self.class);
        let ended = hold::ending(self.class, self.key()).inspect(|_| self.instance.freed());
        if self.state.compare_exchange(LOCKED, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.unlock_slow();
        }
        if let Some(ended) = ended {
            ended.count();
        }
    }

    #[cold]
    fn unlock_slow(&self) {
        let chosen = Cell::new(None);
        lot().unpark(
            self.key(),
            |waiter| match chosen.get() {
                Some(_) => Pick::Stop,
                None => {
                    let token = if waiter.starving { TOKEN_HANDED } else { TOKEN_RETRY };
                    chosen.set(Some(token));
                    Pick::Wake(token)
                }
            },
            |more| {
                let held = if chosen.get() == Some(TOKEN_HANDED) { LOCKED } else { 0 };
                let parked = if more { PARKED } else { 0 };
                // LOCKED | PARKED admits no other transition, so a plain store replaces it. The woken
                // thread of a handed lock acquires through its parker's state.
                self.state.store(held | parked, Ordering::Release);
            },
        );
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard exists, so this thread holds the lock.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is exclusively borrowed.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.unlock();
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let locked = self.state.load(Ordering::Relaxed) & LOCKED != 0;
        write!(f, "Mutex({}, locked: {locked})", self.class.name())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
