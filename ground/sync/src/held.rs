//! How many page latches this thread holds: known in debug builds only, to check the lock order.
//!
//! 1. Page latches come after metadata, table and row locks: nobody waits for one of those, that is, adds
//!    an edge to the waits-for graph, while holding a latch.
//! 2. A latch is taken and released on the same thread.

#[cfg(all(debug_assertions, not(loom)))]
mod count {
    use std::cell::Cell;

    thread_local! {
        static LATCHES: Cell<i32> = const { Cell::new(0) };
    }

    pub(crate) fn change(by: i32) {
        // A thread that is being torn down has nothing to check any more.
        let _ = LATCHES.try_with(|n| n.set(n.get() + by));
    }

    pub(crate) fn get() -> i32 {
        LATCHES.try_with(|n| n.get()).unwrap_or(0)
    }
}

#[cfg(not(all(debug_assertions, not(loom))))]
mod count {
    #[inline(always)]
    pub(crate) fn change(_by: i32) {}

    #[inline(always)]
    pub(crate) fn get() -> i32 {
        0
    }
}

pub(crate) use count::change;

/// Page latches (exclusive and shared) the thread holds; 0 in a release build.
#[inline(always)]
pub fn page_latches_held() -> i32 {
    count::get()
}
