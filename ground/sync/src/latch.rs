//! A read-write latch of four bytes.
//!
//! 1. WRITER excludes everyone, the low bits count readers. PARKED is set whenever somebody is parked.
//! 2. A newcomer that reads waits behind PARKED, so writers are not starved by a stream of readers; a
//!    thread that was woken ignores PARKED, since it is its turn.
//! 3. Whoever makes the latch free with PARKED set wakes the first waiter, or all waiting readers if the
//!    first is one. So while PARKED is set and the latch is free, a woken thread is on its way. A writer
//!    that has waited over a millisecond is handed the latch.

use crate::lot::{Parked, Pick, lot};
use crate::waiting::Waiting;
use crate::{Deadline, held, hold};
use instrument::{InstanceCell, LATCH_INSTRUMENTS, Operation, RwLockClass};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use stdx::{Ordering, SharedAtomic, class};

const WRITER: u32 = 1 << 31;
const PARKED: u32 = 1 << 30;
const READERS: u32 = PARKED - 1;

const READ: u8 = 0;
const WRITE: u8 = 1;

const TOKEN_RETRY: u32 = 0;
const TOKEN_HANDED: u32 = 1;

/// Many readers or one writer. Not re-entrant (reading twice on one thread can deadlock with a writer
/// between), not poisoned by a panic, not killable.
pub struct RwLatch<T: ?Sized> {
    class: &'static RwLockClass,
    state: SharedAtomic<u32, { class::LATCH }>,
    instance: InstanceCell,
    value: UnsafeCell<T>,
}

// SAFETY: shared access is given to readers, exclusive access to one writer that excludes them.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLatch<T> {}

/// Shared access to the value of an [`RwLatch`].
#[must_use = "the latch is released when this is dropped"]
pub struct RwReadGuard<'a, T: ?Sized> {
    latch: &'a RwLatch<T>,
    _thread: PhantomData<*const ()>,
}

/// Exclusive access to the value of an [`RwLatch`].
#[must_use = "the latch is released when this is dropped"]
pub struct RwWriteGuard<'a, T: ?Sized> {
    latch: &'a RwLatch<T>,
    _thread: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value only.
unsafe impl<T: ?Sized + Sync> Sync for RwReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwWriteGuard<'_, T> {}

impl<T> RwLatch<T> {
    const_fn! {
        /// A free latch of a class.
        pub fn new(class: &'static RwLockClass, value: T) -> Self {
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

impl<T: ?Sized> RwLatch<T> {
    /// Latches for reading, waiting as long as it takes.
    #[inline]
    pub fn read(&self) -> RwReadGuard<'_, T> {
        let seen = self.state.load(Ordering::Relaxed);
        if !self.take(READ, seen, false) {
            self.slow(READ);
        }
        self.began(READ);
        RwReadGuard { latch: self, _thread: PhantomData }
    }

    /// Latches for writing, waiting as long as it takes.
    #[inline]
    pub fn write(&self) -> RwWriteGuard<'_, T> {
        if !self.take(WRITE, 0, false) {
            self.slow(WRITE);
        }
        self.began(WRITE);
        RwWriteGuard { latch: self, _thread: PhantomData }
    }

    /// Latches for reading if that is possible at once.
    pub fn try_read(&self) -> Option<RwReadGuard<'_, T>> {
        self.try_take(READ).then(|| RwReadGuard { latch: self, _thread: PhantomData })
    }

    /// Latches for writing if that is possible at once.
    pub fn try_write(&self) -> Option<RwWriteGuard<'_, T>> {
        self.try_take(WRITE).then(|| RwWriteGuard { latch: self, _thread: PhantomData })
    }

    /// The value, when the latch itself is exclusively borrowed.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    fn try_take(&self, tag: u8) -> bool {
        loop {
            let seen = self.state.load(Ordering::Relaxed);
            if !admits(tag, seen, false) {
                return false;
            }
            if self.take(tag, seen, false) {
                self.began(tag);
                return true;
            }
        }
    }

    /// It was taken, for reading or writing.
    #[inline(always)]
    fn began(&self, tag: u8) {
        stdx::touch::alias(self.key(), || self.class.name());
        held::latched(self.class);
        if LATCH_INSTRUMENTS && self.class.noticed() {
            hold::begin(self.class, self.key());
            match tag {
                READ => self.instance.shared(self.class),
                _ => self.instance.used(self.class),
            }
        }
    }

    fn take(&self, tag: u8, seen: u32, woken: bool) -> bool {
        let new = if tag == READ { seen + 1 } else { seen | WRITER };
        admits(tag, seen, woken)
            && self.state.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn key(&self) -> usize {
        (&raw const self.state).addr()
    }

    #[cold]
    fn slow(&self, tag: u8) {
        let operation = if tag == READ { Operation::ReadLock } else { Operation::WriteLock };
        let waiting = Waiting::begin(self.class, operation, self.key(), &self.instance);
        let mut woken = false;
        loop {
            let seen = self.state.load(Ordering::Relaxed);
            if admits(tag, seen, woken) {
                if self.take(tag, seen, woken) {
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
            let parked = lot().park(self.key(), tag, None, Deadline::Never, || {
                let now = self.state.load(Ordering::Relaxed);
                now & PARKED != 0 && !admits(tag, now, woken)
            });
            match parked {
                Parked::Woken(TOKEN_HANDED) => return,
                Parked::Woken(_) => woken = true,
                _ => {}
            }
        }
    }

    fn swap_state(&self, seen: u32, new: u32) -> bool {
        self.state.compare_exchange(seen, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn release_read(&self) {
        held::unlatched(self.class);
        let ended = hold::ending(self.class, self.key()).inspect(|_| self.instance.freed_shared());
        let before = self.state.fetch_sub(1, Ordering::Release);
        if before == PARKED | 1 {
            self.wake_next(PARKED);
        }
        if let Some(ended) = ended {
            ended.count();
        }
    }

    #[inline]
    fn release_write(&self) {
        held::unlatched(self.class);
        let ended = hold::ending(self.class, self.key()).inspect(|_| self.instance.freed());
        if self.state.compare_exchange(WRITER, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            self.wake_next(WRITER | PARKED);
        }
        if let Some(ended) = ended {
            ended.count();
        }
    }

    /// Releases what is left of `held` and wakes whose turn it is.
    #[cold]
    fn wake_next(&self, held: u32) {
        let first = Cell::new(None);
        let hand = Cell::new(false);
        lot().unpark(
            self.key(),
            |waiter| match first.get() {
                None => {
                    first.set(Some(waiter.tag));
                    // Only a held latch can be handed over: a free one may have been taken meanwhile.
                    hand.set(waiter.tag == WRITE && waiter.starving && held & WRITER != 0);
                    Pick::Wake(if hand.get() { TOKEN_HANDED } else { TOKEN_RETRY })
                }
                Some(READ) if waiter.tag == READ => Pick::Wake(TOKEN_RETRY),
                Some(READ) => Pick::Skip,
                Some(_) => Pick::Stop,
            },
            |more| self.settle(held, hand.get(), more),
        );
    }

    /// Under the bucket's lock: brings the state in line with who is still parked.
    fn settle(&self, held: u32, hand: bool, more: bool) {
        let parked = if more { PARKED } else { 0 };
        if held & WRITER != 0 {
            // WRITER | PARKED admits no other transition, so a plain store replaces it.
            let keep = if hand { WRITER } else { 0 };
            self.state.store(keep | parked, Ordering::Release);
        } else if !more {
            // The last reader left before this: a writer may have taken the latch since, so only the
            // bit is touched. Nobody is parked, and nobody can park without this bucket's lock.
            self.state.fetch_and(!PARKED, Ordering::Relaxed);
        }
    }
}

/// Whether a state lets one more in.
fn admits(tag: u8, state: u32, woken: bool) -> bool {
    match tag {
        READ => state & WRITER == 0 && (woken || state & PARKED == 0) && state & READERS < READERS,
        _ => state & (WRITER | READERS) == 0,
    }
}

impl<T: ?Sized> Deref for RwReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard exists, so this thread is one of the readers and there is no writer.
        unsafe { &*self.latch.value.get() }
    }
}

impl<T: ?Sized> Deref for RwWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard exists, so this thread is the writer.
        unsafe { &*self.latch.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is exclusively borrowed.
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<T: ?Sized> Drop for RwReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.latch.release_read();
    }
}

impl<T: ?Sized> Drop for RwWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.latch.release_write();
    }
}

impl<T: ?Sized> fmt::Debug for RwLatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.load(Ordering::Relaxed);
        write!(f, "RwLatch({}, state: {state:#x})", self.class.name())
    }
}
