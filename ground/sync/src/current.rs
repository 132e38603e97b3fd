//! The session a thread runs for at the moment: the one swappable pointer.
//!
//! 1. While an [`Entered`] lives, the thread's waits are published in that session's slot and can be
//!    killed there, and what the thread counts goes to that session's page.
//! 2. Guards nest and end in the opposite order; a guard stays on its thread.

use crate::SessionSlot;
use std::cell::Cell;
use std::marker::PhantomData;

#[cfg(not(loom))]
#[inline(always)]
fn current() -> *const SessionSlot {
    stdx::of_thread::session().cast()
}
#[cfg(not(loom))]
#[inline(always)]
fn set_current(slot: *const SessionSlot) -> *const SessionSlot {
    stdx::of_thread::replace_session(slot.cast()).cast()
}

#[cfg(loom)]
loom::thread_local! {
    static CURRENT: Cell<*const SessionSlot> = Cell::new(std::ptr::null());
}
#[cfg(loom)]
fn current() -> *const SessionSlot {
    CURRENT.with(Cell::get)
}
#[cfg(loom)]
fn set_current(slot: *const SessionSlot) -> *const SessionSlot {
    CURRENT.with(|c| c.replace(slot))
}

#[cfg(not(loom))]
use instrument::set_current as set_page;

/// The threads of a model are one thread to `instrument`: they all count into that thread's page.
#[cfg(loom)]
unsafe fn set_page(page: *const instrument::CounterPage) -> *const instrument::CounterPage {
    page
}

/// Ends the thread's work for a session when dropped. Leaking it is a bug: the thread would go on
/// writing to the slot.
#[must_use = "the session is left when this is dropped"]
#[derive(Debug)]
pub struct Entered<'a> {
    slot: *const SessionSlot,
    page: *const instrument::CounterPage,
    _slot: PhantomData<(&'a SessionSlot, *const ())>,
}

/// Makes the session the thread's current one until the guard is dropped. One session is entered by at
/// most one thread at a time.
pub fn enter(slot: &SessionSlot) -> Entered<'_> {
    // SAFETY: the guard borrows the slot and puts the previous page back when dropped, on this thread
    // (it is not `Send`), so the page outlives its time as current page.
    let page = unsafe { set_page(slot.page()) };
    let slot = set_current(slot);
    Entered { slot, page, _slot: PhantomData }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        set_current(self.slot);
        // SAFETY: what was current when this guard was made: null, the thread's own page, or the page
        // of an outer guard that is still alive (invariant 2).
        unsafe { set_page(self.page) };
    }
}

#[cfg(not(loom))]
thread_local! {
    static SHIELDS: Cell<u32> = const { Cell::new(0) };
}
#[cfg(loom)]
loom::thread_local! {
    static SHIELDS: Cell<u32> = Cell::new(0);
}

/// While it lives, a KILL does not end what the thread does: see [`shield`].
#[must_use = "the shield is down when this is dropped"]
#[derive(Debug)]
pub struct Shield(PhantomData<*const ()>);

/// Lets the thread finish: a KILL of its session ends no wait that asks [`is_shielded`]. For undoing what a
/// killed statement has done.
pub fn shield() -> Shield {
    SHIELDS.with(|n| n.set(n.get() + 1));
    Shield(PhantomData)
}

/// Whether the thread must finish what it does.
pub fn is_shielded() -> bool {
    SHIELDS.with(Cell::get) > 0
}

impl Drop for Shield {
    fn drop(&mut self) {
        SHIELDS.with(|n| n.set(n.get() - 1));
    }
}

/// Calls `f` with the thread's current session, if any.
#[inline]
pub fn with_current<R>(f: impl FnOnce(Option<&SessionSlot>) -> R) -> R {
    let slot = current();
    // SAFETY: null, or a slot that a living guard of this thread borrows (invariant 2).
    f(unsafe { slot.as_ref() })
}
