//! What this thread holds: known in debug builds only, to check the order of latches and what is done under them.
//!
//! 1. Page latches come after metadata, table and row locks: nobody waits for one of those, that is, adds
//!    an edge to the waits-for graph, while holding a latch.
//! 2. A latch is taken and released on the same thread.
//! 3. No file is read, written or made durable under a latch whose class does not say that it may be held across I/O
//!    ([`instrument::Class::is_held_across_io`]).

#[cfg(all(debug_assertions, not(loom)))]
mod count {
    use instrument::Class;
    use std::cell::{Cell, RefCell};

    thread_local! {
        static LATCHES: Cell<i32> = const { Cell::new(0) };
        /// Classes of what is held that may not be held across I/O.
        static SHORT: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    }

    pub(crate) fn change(by: i32) {
        // A thread that is being torn down has nothing to check any more.
        let _ = LATCHES.try_with(|n| n.set(n.get() + by));
    }

    pub(crate) fn get() -> i32 {
        LATCHES.try_with(|n| n.get()).unwrap_or(0)
    }

    pub(crate) fn latched(class: &Class) {
        if !class.is_held_across_io() {
            let _ = SHORT.try_with(|held| held.borrow_mut().push(class.name()));
        }
    }

    pub(crate) fn unlatched(class: &Class) {
        if class.is_held_across_io() {
            return;
        }
        let _ = SHORT.try_with(|held| {
            let mut held = held.borrow_mut();
            if let Some(at) = held.iter().rposition(|name| *name == class.name()) {
                held.remove(at);
            }
        });
    }

    pub(crate) fn assert_none() {
        let held = SHORT.try_with(|held| held.borrow().clone()).unwrap_or_default();
        assert!(held.is_empty() || std::thread::panicking(), "I/O under latches: {held:?}");
    }
}

#[cfg(not(all(debug_assertions, not(loom))))]
mod count {
    use instrument::Class;

    #[inline(always)]
    pub(crate) fn change(_by: i32) {}

    #[inline(always)]
    pub(crate) fn get() -> i32 {
        0
    }

    #[inline(always)]
    pub(crate) fn latched(_class: &Class) {}

    #[inline(always)]
    pub(crate) fn unlatched(_class: &Class) {}

    #[inline(always)]
    pub(crate) fn assert_none() {}
}

pub(crate) use count::{change, latched, unlatched};

/// Page latches (exclusive and shared) the thread holds; 0 in a release build.
#[inline(always)]
pub fn page_latches_held() -> i32 {
    count::get()
}

/// A file is about to be read, written or made durable (invariant 3). Nothing in a release build.
///
/// # Panics
/// The thread holds a latch of a class that is not held across I/O.
#[inline(always)]
pub fn before_io() {
    count::assert_none();
}
