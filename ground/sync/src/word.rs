//! The page word: version 28 | state 8 | frame 28, the latch and the translation of one page.
//!
//! 1. Optimistic readers write nothing: they load the word, read the page, and validate the word. A writer
//!    makes the state EXCLUSIVE before it changes a byte, and bumps the version when it releases, so a
//!    reader that overlapped with a change does not validate.
//! 2. The version changes whenever the frame or the bytes in it may have changed, eviction included.
//! 3. There is no waiter bit. A waiter counts itself in the parking lot's table, then looks at the word
//!    again before it sleeps; a releaser changes the word, then looks at the table. Both steps are
//!    sequentially consistent on both sides, so one sees the other, and a release without waiters is one
//!    read-modify-write and one load.
//! 4. Whoever releases wakes all waiters that want to read or share, and the first that wants to
//!    exclude. A woken waiter either gets its wish, or finds a holder whose release wakes again. An
//!    eviction wakes everyone: who wanted to hold the page is told so, and will release nothing.

use crate::lot::{Pick, lot};
use crate::waiting::Waiting;
use crate::{Deadline, held, hold, sched};
use instrument::{Operation, RwLockClass};
use std::cell::Cell;
use stdx::{Ordering, SharedAtomic, class, fence};

instrument::classes! {
    static CLASS: RwLockClass = "wait/synch/sxlock/innodb/page_word";
}

/// States of a page word.
pub mod state {
    /// In a frame, nobody holds it.
    pub const FREE: u8 = 0;
    /// Most shared holders; the states 1..=249 are their number.
    pub const SHARED_MAX: u8 = 249;
    /// Being read into a frame.
    pub const IO_PENDING: u8 = 250;
    /// Not in memory, and operations wait for it to be.
    pub const EVICTED_PENDING: u8 = 251;
    /// One writer.
    pub const EXCLUSIVE: u8 = 253;
    /// Free, and the clock hand has passed once.
    pub const MARKED: u8 = 254;
    /// Not in memory.
    pub const EVICTED: u8 = 255;
}

use state::{EVICTED, EVICTED_PENDING, EXCLUSIVE, FREE, IO_PENDING, MARKED, SHARED_MAX};

const FRAME_BITS: u32 = 28;
const FRAME_MASK: u64 = (1 << FRAME_BITS) - 1;
const STATE_SHIFT: u32 = FRAME_BITS;
const VERSION_SHIFT: u32 = FRAME_BITS + 8;
const VERSION_MASK: u32 = (1 << 28) - 1;
const STATE_MASK: u64 = 0xFF << STATE_SHIFT;

const WANT_READ: u8 = 0;
const WANT_SHARED: u8 = 1;
const WANT_EXCLUSIVE: u8 = 2;

/// What a page word held at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordValue {
    /// All 64 bits.
    pub raw: u64,
}

impl WordValue {
    /// A value of its parts; excess bits of `version` and `frame` are dropped.
    pub const fn new(version: u32, state: u8, frame: u32) -> Self {
        let raw = ((version & VERSION_MASK) as u64) << VERSION_SHIFT
            | (state as u64) << STATE_SHIFT
            | frame as u64 & FRAME_MASK;
        Self { raw }
    }

    /// The version, 28 bits.
    #[inline(always)]
    pub const fn version(self) -> u32 {
        (self.raw >> VERSION_SHIFT) as u32
    }

    /// The state, see [`state`].
    #[inline(always)]
    pub const fn state(self) -> u8 {
        (self.raw >> STATE_SHIFT) as u8
    }

    /// The frame number, 28 bits (of no meaning while evicted).
    #[inline(always)]
    pub const fn frame(self) -> u32 {
        (self.raw & FRAME_MASK) as u32
    }

    /// Whether an optimistic read may start: free, marked or shared.
    #[inline(always)]
    pub const fn readable(self) -> bool {
        matches!(self.state(), 0..=SHARED_MAX | MARKED)
    }

    /// Whether the page is not in memory.
    #[inline(always)]
    pub const fn evicted(self) -> bool {
        matches!(self.state(), EVICTED | EVICTED_PENDING)
    }

    const fn with_state(self, state: u8) -> Self {
        Self { raw: self.raw & !STATE_MASK | (state as u64) << STATE_SHIFT }
    }

    const fn bumped(self) -> Self {
        Self::new(self.version().wrapping_add(1), self.state(), self.frame())
    }

    /// The value with one more shared holder, if that is allowed now.
    fn shared(self) -> Option<Self> {
        match self.state() {
            MARKED => Some(self.with_state(1)),
            n if n < SHARED_MAX => Some(self.with_state(n + 1)),
            _ => None,
        }
    }

    /// Whether a waiter that wants this must wait while the word is so.
    fn blocks(self, want: u8) -> bool {
        match want {
            WANT_READ => matches!(self.state(), EXCLUSIVE | IO_PENDING),
            WANT_SHARED => matches!(self.state(), EXCLUSIVE | IO_PENDING | SHARED_MAX),
            _ => matches!(self.state(), EXCLUSIVE | IO_PENDING | 1..=SHARED_MAX),
        }
    }
}

/// The latch, version and place of one page. Eight bytes; never freed while its space exists.
#[derive(Debug)]
#[repr(transparent)]
pub struct PageWord(SharedAtomic<u64, { class::PAGE_WORD }>);

impl PageWord {
    const_fn! {
        /// The word of a page that is not in memory.
        pub fn new() -> Self {
            Self(SharedAtomic::new(WordValue::new(0, EVICTED, 0).raw))
        }
    }

    /// What the word holds now; reads of the page that follow see at least what that version had.
    #[inline(always)]
    pub fn load(&self) -> WordValue {
        let seen = WordValue { raw: self.0.load(Ordering::Acquire) };
        // What follows reads the page without another atomic in between.
        sched::point("page word seen");
        seen
    }

    /// Whether everything read from the page since `seen` was loaded belongs to that version. `seen` must
    /// have been readable.
    #[inline(always)]
    pub fn validate(&self, seen: WordValue) -> bool {
        fence(Ordering::Acquire);
        let now = WordValue { raw: self.0.load(Ordering::Relaxed) };
        (now.raw ^ seen.raw) & !STATE_MASK == 0 && now.readable()
    }

    fn change(&self, from: WordValue, to: WordValue) -> bool {
        self.0.compare_exchange(from.raw, to.raw, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the word exclusively if it still is what was `seen`, and that is free or marked.
    #[inline]
    pub fn try_exclusive(&self, seen: WordValue) -> bool {
        let taken =
            matches!(seen.state(), FREE | MARKED) && self.change(seen, seen.with_state(EXCLUSIVE));
        self.took(taken);
        // The bytes written from here on must not be seen before the state is.
        fence(Ordering::Release);
        taken
    }

    /// Takes the word exclusively, waiting for its holders. `Err` when the page is not in memory.
    pub fn lock_exclusive(&self) -> Result<WordValue, WordValue> {
        loop {
            let seen = self.load();
            if seen.evicted() {
                return Err(seen);
            }
            if self.try_exclusive(seen) {
                return Ok(seen.with_state(EXCLUSIVE));
            }
            if seen.blocks(WANT_EXCLUSIVE) {
                self.wait(WANT_EXCLUSIVE);
            }
        }
    }

    /// Releases an exclusive hold after changes: free, next version.
    #[inline]
    pub fn release_exclusive(&self) {
        let held = self.held(EXCLUSIVE);
        self.gives_back(|| self.release_as(held.bumped().with_state(FREE)));
    }

    /// Releases an exclusive hold during which no byte of the page changed: free, same version.
    #[inline]
    pub fn release_unchanged(&self) {
        let held = self.held(EXCLUSIVE);
        self.gives_back(|| self.release_as(held.with_state(FREE)));
    }

    /// Makes an exclusive hold a shared one of the next version (the holder goes on reading).
    pub fn downgrade(&self) {
        let held = self.held(EXCLUSIVE);
        self.release_as(held.bumped().with_state(1));
    }

    /// Adds a shared hold if the word still is what was `seen`, and that is free, marked or shared with
    /// room for one more.
    #[inline]
    pub fn try_shared(&self, seen: WordValue) -> bool {
        let taken = seen.shared().is_some_and(|to| self.change(seen, to));
        self.took(taken);
        taken
    }

    /// Adds a shared hold, waiting for a writer. `Err` when the page is not in memory.
    pub fn lock_shared(&self) -> Result<WordValue, WordValue> {
        loop {
            let seen = self.load();
            if seen.evicted() {
                return Err(seen);
            }
            if self.try_shared(seen) {
                return Ok(self.load());
            }
            if seen.blocks(WANT_SHARED) {
                self.wait(WANT_SHARED);
            }
        }
    }

    /// Ends a shared hold.
    #[inline]
    pub fn release_shared(&self) {
        self.gives_back(|| {
            let before = WordValue { raw: self.0.fetch_sub(1 << STATE_SHIFT, Ordering::SeqCst) };
            debug_assert!((1..=SHARED_MAX).contains(&before.state()), "a shared hold was released");
            if before.state() == 1 || before.state() == SHARED_MAX {
                self.wake();
            }
        });
    }

    /// Makes a shared hold exclusive if it is the only one; the caller gives it up otherwise.
    pub fn try_upgrade(&self) -> bool {
        let seen = self.load();
        let taken = seen.state() == 1 && self.change(seen, seen.with_state(EXCLUSIVE));
        fence(Ordering::Release);
        taken
    }

    /// Claims the reading-in of an evicted page, if the word still is what was `seen`.
    pub fn begin_io(&self, seen: WordValue) -> bool {
        seen.evicted() && self.change(seen, seen.with_state(IO_PENDING))
    }

    /// Ends the reading-in: the page is in `frame`, free, next version.
    pub fn publish(&self, frame: u32) {
        let held = self.held(IO_PENDING);
        self.release_as(WordValue::new(held.version().wrapping_add(1), FREE, frame));
    }

    /// Ends the reading-in: the page is in `frame`, marked, next version.
    pub fn publish_marked(&self, frame: u32) {
        let held = self.held(IO_PENDING);
        self.release_as(WordValue::new(held.version().wrapping_add(1), MARKED, frame));
    }

    /// Ends the reading-in with the page held exclusively in `frame`, next version.
    pub fn publish_exclusive(&self, frame: u32) {
        let held = self.held(IO_PENDING);
        self.release_as(WordValue::new(held.version().wrapping_add(1), EXCLUSIVE, frame));
        self.took(true);
        fence(Ordering::Release);
    }

    /// Gives the reading-in up: evicted as before.
    pub fn abort_io(&self) {
        let held = self.held(IO_PENDING);
        self.release_as(WordValue::new(held.version(), EVICTED, 0));
    }

    /// The clock hand passes: free becomes marked, if the word still is what was `seen`.
    pub fn mark(&self, seen: WordValue) -> bool {
        seen.state() == FREE && self.change(seen, seen.with_state(MARKED))
    }

    /// A hit on a marked page: free again, if the word still is what was `seen`.
    pub fn unmark(&self, seen: WordValue) -> bool {
        seen.state() == MARKED && self.change(seen, seen.with_state(FREE))
    }

    /// Ends an exclusive hold by eviction: next version, no frame.
    pub fn evict(&self) {
        let held = self.held(EXCLUSIVE);
        self.gives_back(|| {
            self.release_as(WordValue::new(held.version().wrapping_add(1), EVICTED, 0));
        });
    }

    /// Waits while a writer or the reading-in has the page; returns a value that is readable or evicted.
    #[inline]
    pub fn wait_readable(&self) -> WordValue {
        loop {
            let seen = self.load();
            if !seen.blocks(WANT_READ) {
                return seen;
            }
            self.wait(WANT_READ);
        }
    }

    /// A hold began, if it was taken.
    #[inline(always)]
    fn took(&self, taken: bool) {
        held::change(i32::from(taken));
        if taken {
            hold::began(&CLASS, self.key());
        }
    }

    /// Ends a hold by `release`.
    #[inline(always)]
    fn gives_back(&self, release: impl FnOnce()) {
        held::change(-1);
        let ended = hold::ending(&CLASS, self.key());
        release();
        if let Some(ended) = ended {
            ended.count();
        }
    }

    /// Says what kind of page the caller holds, so that its hold is counted for that class; whether it is
    /// worth asking is [`PageWord::holds_are_timed`].
    pub fn hold_is_of(&self, class: &'static RwLockClass) {
        hold::is_of(self.key(), class.class());
    }

    /// Whether holds of page words are timed at the moment: one relaxed load.
    #[inline(always)]
    pub fn holds_are_timed() -> bool {
        CLASS.held()
    }

    /// The value, which the caller holds in `state` and nobody else may change.
    fn held(&self, state: u8) -> WordValue {
        let held = WordValue { raw: self.0.load(Ordering::Relaxed) };
        debug_assert_eq!(held.state(), state, "the caller holds the word in this state");
        held
    }

    #[inline]
    fn release_as(&self, to: WordValue) {
        // A swap, not a store: the look at the waiters' table must not overtake it (invariant 3).
        self.0.swap(to.raw, Ordering::SeqCst);
        if to.evicted() {
            self.wake_everyone();
        } else {
            self.wake();
        }
    }

    /// Says in the thread's record what page it is of ([`stdx::touch`]).
    #[inline(always)]
    pub fn alias(&self, name: impl FnOnce() -> &'static str) {
        stdx::touch::alias(self.key(), name);
    }

    fn key(&self) -> usize {
        (&raw const self.0).addr()
    }

    #[cold]
    fn wait(&self, want: u8) {
        let key = self.key();
        let operation = match want {
            WANT_EXCLUSIVE => Operation::ExclusiveLock,
            _ => Operation::SharedLock,
        };
        let waiting = Waiting::begin(&CLASS, operation, key, None);
        while self.load().blocks(want) && waiting.may_spin() {}
        let counter = lot().counter(key);
        counter.fetch_add(1, Ordering::SeqCst);
        model_fence();
        lot().park(key, want, None, Deadline::Never, || {
            WordValue { raw: self.0.load(Ordering::SeqCst) }.blocks(want)
        });
        counter.fetch_sub(1, Ordering::Relaxed);
    }

    #[inline(always)]
    fn wake(&self) {
        model_fence();
        if lot().counter(self.key()).load(Ordering::SeqCst) != 0 {
            self.wake_slow();
        }
    }

    fn wake_everyone(&self) {
        model_fence();
        if lot().counter(self.key()).load(Ordering::SeqCst) != 0 {
            lot().unpark_all(self.key());
        }
    }

    #[cold]
    fn wake_slow(&self) {
        let excluded = Cell::new(false);
        lot().unpark(
            self.key(),
            |waiter| match waiter.tag {
                WANT_EXCLUSIVE if excluded.replace(true) => Pick::Skip,
                _ => Pick::Wake(0),
            },
            |_| (),
        );
    }
}

impl Default for PageWord {
    fn default() -> Self {
        Self::new()
    }
}

/// Loom gives sequential consistency to fences only, not to accesses as the language does.
#[inline(always)]
fn model_fence() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}
