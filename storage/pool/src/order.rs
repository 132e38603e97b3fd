//! Debug builds only: no thread begins a mini-transaction while it holds page latches of an earlier
//! one, since beginning may wait for log space.
//!
//! 1. The count is per thread; a latch is released by the thread that took it (the guards are not `Send`).
//!    Guard: `released` asserts it; the compiler: the guards are not `Send`.

#[cfg(debug_assertions)]
thread_local! {
    static HELD: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Notes a latch taken.
#[inline]
pub(crate) fn took() {
    #[cfg(debug_assertions)]
    HELD.with(|n| n.set(n.get() + 1));
}

/// Notes `n` latches released.
#[inline]
pub(crate) fn released(n: usize) {
    #[cfg(debug_assertions)]
    HELD.with(|held| {
        let left = held.get().checked_sub(n as u32);
        held.set(left.expect("a page latch was released by a thread that did not take it"));
    });
    #[cfg(not(debug_assertions))]
    let _ = n;
}

/// Asserts that this thread holds no page latch.
#[inline]
pub fn assert_none(what: &str) {
    #[cfg(debug_assertions)]
    HELD.with(|n| {
        assert!(n.get() == 0, "{what} while this thread holds {} page latches", n.get());
    });
    #[cfg(not(debug_assertions))]
    let _ = what;
}
