//! Hold times: what this thread holds since when, while the level is synch.
//!
//! 1. A hold is known by the address of its latch, so holds may end in any order. One that began before the
//!    window of [`instrument::window`] did is unknown, and its end says nothing.
//! 2. A hold is timed from after the latch was taken to before it is released; it is counted, with the
//!    wait before it, after the release, so that counting does not lengthen what is measured.
//! 3. While the class's flag is off nothing here is called: an acquisition and a release load it once each.

use crate::now_ns;
use instrument::{Class, LATCH_INSTRUMENTS};
use std::cell::{Cell, OnceCell};

/// Holds of one thread at a time; one beyond them is not measured. A mini-transaction holds a few dozen.
const HOLDS_MAX: usize = 64;

#[derive(Clone, Copy)]
struct Entry {
    object: usize,
    class: Option<&'static Class>,
    waited_ns: u64,
    since_ns: u64,
}

struct Holds {
    window: Cell<u64>,
    /// The wait that ended last: for which latch, and how long it was.
    waited: Cell<(usize, u64)>,
    len: Cell<usize>,
    entries: [Cell<Entry>; HOLDS_MAX],
}

impl Holds {
    fn new() -> Box<Holds> {
        Box::new(Holds {
            window: Cell::new(0),
            waited: Cell::new((0, 0)),
            len: Cell::new(0),
            entries: [const { Cell::new(NONE) }; HOLDS_MAX],
        })
    }
}

const NONE: Entry = Entry { object: 0, class: None, waited_ns: 0, since_ns: 0 };

thread_local! {
    /// Made when it is first needed: few threads do, and each that waits for a client would keep two kilobytes more.
    static HOLDS: OnceCell<Box<Holds>> = const { OnceCell::new() };
}

/// Does something with the holds of the calling thread; `None`: it is about to end.
fn with_holds<R>(f: impl FnOnce(&Holds) -> R) -> Option<R> {
    HOLDS.try_with(|holds| f(holds.get_or_init(Holds::new))).ok()
}

/// A hold that is about to end; [`Ended::count`] it when it has.
#[must_use]
pub(crate) struct Ended {
    class: &'static Class,
    window: u64,
    waited_ns: u64,
    held_ns: u64,
}

impl Ended {
    /// Counts it into the current page.
    #[cold]
    pub(crate) fn count(self) {
        instrument::held(self.class, self.window, self.waited_ns, self.held_ns);
    }
}

/// The latch at `object` was taken.
#[inline(always)]
pub(crate) fn began(class: &'static Class, object: usize) {
    if LATCH_INSTRUMENTS && class.noticed() {
        begin(class, object);
    }
}

/// The latch at `object` is about to be released.
#[inline(always)]
pub(crate) fn ending(class: &'static Class, object: usize) -> Option<Ended> {
    if class.held() { end(object) } else { None }
}

/// A wait for the latch at `object` is over.
pub(crate) fn waited(class: &'static Class, object: usize, wait_ns: u64) {
    if class.held() {
        // A wait of no time was one all the same.
        with_holds(|h| h.waited.set((object, wait_ns.max(1))));
    }
}

/// The latch at `object`, which this thread holds, is one of another class.
pub(crate) fn is_of(object: usize, class: &'static Class) {
    with_holds(|h| {
        let held = h.entries[..h.len.get()].iter().rev().find(|e| e.get().object == object);
        if let Some(entry) = held {
            entry.set(Entry { class: Some(class), ..entry.get() });
        }
    });
}

/// As [`began`], of a class that is noticed.
#[cold]
pub(crate) fn begin(class: &'static Class, object: usize) {
    instrument::used(class);
    if !class.held() {
        return;
    }
    with_holds(|h| {
        let window = instrument::window();
        if h.window.replace(window) != window {
            h.len.set(0);
        }
        let (of, wait_ns) = h.waited.replace((0, 0));
        let waited_ns = if of == object { wait_ns } else { 0 };
        let len = h.len.get();
        if len < HOLDS_MAX {
            h.len.set(len + 1);
            let since_ns = now_ns();
            h.entries[len].set(Entry { object, class: Some(class), waited_ns, since_ns });
        }
    });
}

#[cold]
fn end(object: usize) -> Option<Ended> {
    let now_ns = now_ns();
    let ended = with_holds(|h| {
        let (len, window) = (h.len.get(), h.window.get());
        let at = h.entries[..len].iter().rposition(|e| e.get().object == object)?;
        let entry = h.entries[at].get();
        // What was taken last is mostly released first: nothing moves then.
        for i in at + 1..len {
            h.entries[i - 1].set(h.entries[i].get());
        }
        h.len.set(len - 1);
        let class = entry.class.filter(|_| window == instrument::window())?;
        let held_ns = now_ns.saturating_sub(entry.since_ns);
        Some(Ended { class, window, waited_ns: entry.waited_ns, held_ns })
    });
    ended.flatten()
}
