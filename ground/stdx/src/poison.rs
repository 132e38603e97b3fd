//! The one way in which the floors below `sync` lock a mutex of the standard library.
//!
//! 1. Whoever locks one so leaves its data consistent at each step of a critical section, so that poison says nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also when a thread has panicked that held it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    crate::touch::wrote_twice(core::ptr::from_ref(mutex).addr(), "std_mutex");
    lock_own(mutex)
}

/// As [`lock`], of a mutex on lines of its session alone, which locks it: others come only to look at the session. Not counted
/// among shared writes.
pub fn lock_own<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_panic_left_can_be_locked() {
        let mutex = Mutex::new(1);
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            *lock(&mutex) = 2;
            let _held = lock(&mutex);
            panic!("while it is held");
        }));
        assert!(died.is_err() && mutex.is_poisoned());
        assert_eq!(*lock(&mutex), 2);
    }
}
