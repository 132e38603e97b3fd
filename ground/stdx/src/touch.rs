//! The record of a thread: every line of memory that sessions share which it wrote or read, in order. For tests.
//!
//! 1. Without the feature `count-shared` there is none, and what is called here is nothing.
//! 2. With it, operations on `SharedAtomic`s are noted while the thread records; what lies behind a mutex or on a page
//!    is not: the write trap (`host::trap`) sees that.
//! 3. A word may be given a name that says more than its class ([`alias`]), before or after it is touched.

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The word's address.
    pub address: usize,
    /// What it is, by its alias or its class.
    pub name: &'static str,
    /// A store or read-modify-write, else a load.
    pub write: bool,
}

#[cfg(feature = "count-shared")]
mod record {
    use super::Touch;
    use std::cell::{Cell, RefCell};
    use std::collections::HashMap;

    thread_local! {
        static RECORDS: Cell<bool> = const { Cell::new(false) };
        static TOUCHES: RefCell<Vec<Touch>> = const { RefCell::new(Vec::new()) };
        static ALIASES: RefCell<Vec<(usize, &'static str)>> = const { RefCell::new(Vec::new()) };
    }

    /// Whether this thread records; not while it ends.
    #[inline(always)]
    fn records() -> bool {
        RECORDS.try_with(Cell::get).unwrap_or(false)
    }

    pub(crate) fn note(class: u8, address: usize, write: bool) {
        if records() {
            push(Touch { address, name: crate::class::NAMES[usize::from(class)], write });
        }
    }

    pub(crate) fn note_named(name: &'static str, address: usize) {
        if records() {
            push(Touch { address, name, write: false });
        }
    }

    #[cold]
    fn push(touch: Touch) {
        TOUCHES.with_borrow_mut(|touches| touches.push(touch));
    }

    pub fn alias(address: usize, name: &'static str) {
        if records() {
            ALIASES.with_borrow_mut(|aliases| aliases.push((address, name)));
        }
    }

    pub fn begin() {
        TOUCHES.with_borrow_mut(Vec::clear);
        ALIASES.with_borrow_mut(Vec::clear);
        RECORDS.set(true);
    }

    pub fn end() -> Vec<Touch> {
        RECORDS.set(false);
        let aliases: HashMap<_, _> = ALIASES.take().into_iter().collect();
        let mut touches = TOUCHES.take();
        for touch in &mut touches {
            touch.name = aliases.get(&touch.address).copied().unwrap_or(touch.name);
        }
        touches
    }
}

#[cfg(feature = "count-shared")]
pub(crate) use record::{note, note_named};

/// Begins a record of this thread.
pub fn begin() {
    #[cfg(feature = "count-shared")]
    record::begin();
}

/// Ends the record of this thread; what was touched since it began.
#[must_use]
pub fn end() -> Vec<Touch> {
    #[cfg(feature = "count-shared")]
    return record::end();
    #[cfg(not(feature = "count-shared"))]
    Vec::new()
}

/// Notes that a mutex that is no `SharedAtomic` is taken, and given back later.
#[inline(always)]
pub fn wrote_twice(_address: usize, _name: &'static str) {
    #[cfg(feature = "count-shared")]
    for _ in 0..2 {
        crate::class::wrote(crate::class::LATCH, _address);
        record::alias(_address, _name);
    }
}

/// Gives the word at `address` a name, for the record that this thread keeps.
#[inline(always)]
pub fn alias(_address: usize, _name: impl FnOnce() -> &'static str) {
    #[cfg(feature = "count-shared")]
    record::alias(_address, _name());
}

#[cfg(all(test, feature = "count-shared", not(loom)))]
mod tests {
    use super::*;
    use crate::{LocalAtomic, Ordering, SharedAtomic, class};

    #[test]
    fn a_record_has_what_was_touched_and_its_names() {
        let tail: SharedAtomic<u64, { class::LOG_TAIL }> = SharedAtomic::new(1);
        let latch: SharedAtomic<u32, { class::LATCH }> = SharedAtomic::new(0);
        let mark = LocalAtomic::new(1u64);
        tail.store(2, Ordering::Relaxed);
        begin();
        tail.load(Ordering::Relaxed);
        latch.fetch_add(1, Ordering::Relaxed);
        alias(core::ptr::from_ref(&latch).addr(), || "a_mutex");
        latch.fetch_sub(1, Ordering::Relaxed);
        mark.store(3, Ordering::Relaxed);
        assert_eq!(mark.look("mark", Ordering::Relaxed), 3);
        let seen: Vec<_> = end().into_iter().map(|t| (t.name, t.write)).collect();
        assert_eq!(
            seen,
            [("log_tail", false), ("a_mutex", true), ("a_mutex", true), ("mark", false)]
        );
        tail.store(4, Ordering::Relaxed);
        begin();
        assert!(end().is_empty());
    }
}
