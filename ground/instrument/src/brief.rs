//! A lock for what one thread writes all the time and others copy now and then.
//!
//! 1. Whoever has it completes and copies the records of one session at most while he does: who finds it taken spins, and soon yields. 2. Taking and giving it
//! back are one exchange and one store, without a look at panics: what it protects is whole at each step.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// A value under a lock that is held for a moment: they lie together.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Brief<T> {
    is_taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a `Taken` alone, of which there is one at a time: who makes it has turned `is_taken` from false
// to true, and it turns back when the `Taken` goes.
unsafe impl<T: Send> Sync for Brief<T> {}

/// The value, until this is dropped.
#[derive(Debug)]
pub(crate) struct Taken<'b, T>(&'b Brief<T>, PhantomData<&'b mut T>);

impl<T> Brief<T> {
    /// Takes the lock.
    #[inline(always)]
    pub fn take(&self) -> Taken<'_, T> {
        if self.is_taken.swap(true, Ordering::Acquire) {
            self.wait();
        }
        Taken(self, PhantomData)
    }

    #[cold]
    fn wait(&self) {
        const SPINS: u32 = 64;
        let mut spins = 0;
        while self.is_taken.swap(true, Ordering::Acquire) {
            match spins < SPINS {
                true => std::hint::spin_loop(),
                false => std::thread::yield_now(),
            }
            spins += 1;
        }
    }
}

impl<T> Deref for Taken<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the lock is taken, by this alone (see `Sync`).
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Taken<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and it is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Taken<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_never_have_it_both() {
        const ROUNDS: u64 = 20_000;
        let sum = Brief::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let mut sum = sum.take();
                        let (a, b): &mut (u64, u64) = &mut sum;
                        assert_eq!(a, b);
                        *a += 1;
                        *b += 1;
                    }
                });
            }
        });
        assert_eq!(*sum.take(), (4 * ROUNDS, 4 * ROUNDS));
    }
}
