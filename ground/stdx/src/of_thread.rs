//! What a thread looks at with each statement: in one line of memory, not in as many as there are crates that know of threads.
//!
//! 1. Each word belongs to one crate, which alone writes it and says what it points to; here is nothing but the place.

use std::cell::Cell;
use std::ptr;

/// Aligned to its size: it lies in one line, and thread-locals, which lie on the pages of an idle thread's stack, do not grow.
#[repr(C, align(32))]
struct Line {
    stack: Cell<(usize, usize)>,
    page: Cell<*const ()>,
    session: Cell<*const ()>,
}

thread_local! {
    static LINE: Line = const {
        Line {
            stack: Cell::new((0, 0)),
            page: Cell::new(ptr::null()),
            session: Cell::new(ptr::null()),
        }
    };
}

/// Of [`crate::stack`]: where the stack began and how many bytes it has; 0: unknown.
#[inline(always)]
pub(crate) fn stack() -> (usize, usize) {
    LINE.with(|line| line.stack.get())
}

/// Says what the stack is; what it was.
#[inline(always)]
pub(crate) fn replace_stack(stack: (usize, usize)) -> (usize, usize) {
    LINE.with(|line| line.stack.replace(stack))
}

/// Of `instrument`: the page of counters that the thread writes; null at first.
#[inline(always)]
#[must_use]
pub fn page() -> *const () {
    LINE.with(|line| line.page.get())
}

/// Says which page it is; which it was.
#[inline(always)]
pub fn replace_page(page: *const ()) -> *const () {
    LINE.with(|line| line.page.replace(page))
}

/// Of `sync`: the session that the thread runs for; null at first.
#[inline(always)]
#[must_use]
pub fn session() -> *const () {
    LINE.with(|line| line.session.get())
}

/// Says which session it is; which it was.
#[inline(always)]
pub fn replace_session(session: *const ()) -> *const () {
    LINE.with(|line| line.session.replace(session))
}

// A thread of a test's own has no instruments.
#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    #[test]
    fn words_are_apart_and_each_thread_has_its_own() {
        let (one, two) = (0u8, 1u8);
        let [one, two] = [&one, &two].map(|at| ptr::from_ref(at).cast::<()>());
        assert!(replace_page(one).is_null() && replace_session(two).is_null());
        assert_eq!((page(), session()), (one, two));
        let others = std::thread::spawn(|| (stack(), page().is_null(), session().is_null()));
        assert_eq!(others.join().unwrap(), ((0, 0), true, true));
        replace_stack((7, 8));
        assert_eq!((stack(), page(), session()), ((7, 8), one, two));
    }
}
