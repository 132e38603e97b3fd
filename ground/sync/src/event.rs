//! An event: wait until a condition that others make true.
//!
//! 1. A waiter announces itself (`prepare`), then checks its condition, then waits; a notifier makes the
//!    condition true, then looks for announcements. With a full fence between the steps on both sides
//!    one sees the other, so no notification is lost and one without waiters writes nothing.
//! 2. `sequence` changes with every notification that found somebody announced; a waiter parks only if it
//!    is still what it was when announced.

use crate::client::park_watching;
use crate::lot::{Parked, Pick, lot};
use crate::waiting::{About, Awaited, LongWait, Waiting};
use crate::{Deadline, WaitResult, with_current};
use instrument::{Class, ClassKind, CondClass, InstanceCell, LockClass, Operation};
use std::cell::Cell;
use stdx::{Ordering, SharedAtomic, class, fence};

/// A place to wait for a condition.
#[derive(Debug)]
pub struct Event {
    class: &'static Class,
    sequence: SharedAtomic<u32, { class::LATCH }>,
    announced: SharedAtomic<u32, { class::LATCH }>,
    instance: InstanceCell,
}

/// An announced wait: check the condition, then [`Event::wait`] or drop it.
#[must_use = "check the condition, then wait or drop this"]
#[derive(Debug)]
pub struct Prepared<'a> {
    event: &'a Event,
    sequence: u32,
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        self.event.announced.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Event {
    const_fn! {
        /// An event of a class.
        pub fn new(class: &'static CondClass) -> Self {
            Self {
                class: class.class(),
                sequence: SharedAtomic::new(0),
                announced: SharedAtomic::new(0),
                instance: InstanceCell::new(),
            }
        }
    }

    const_fn! {
        /// An event where locks of a class are waited for.
        pub fn of_locks(class: &'static LockClass) -> Self {
            Self {
                class: class.class(),
                sequence: SharedAtomic::new(0),
                announced: SharedAtomic::new(0),
                instance: InstanceCell::new(),
            }
        }
    }

    /// Announces a wait. The caller then checks its condition, and waits only if it does not hold.
    pub fn prepare(&self) -> Prepared<'_> {
        self.alias();
        self.announced.fetch_add(1, Ordering::SeqCst);
        let sequence = self.sequence.load(Ordering::Relaxed);
        fence(Ordering::SeqCst);
        Prepared { event: self, sequence }
    }

    /// Waits for a notification, the deadline, or a kill of the current session, as which it counts that its client has gone
    /// ([`crate::with_client`]). A kill that happened before counts too: the caller must stop waiting, or use
    /// [`Self::wait_unkillable`].
    ///
    /// # Panics
    /// When `seen` comes from another event.
    pub fn wait(&self, seen: Prepared<'_>, deadline: Deadline) -> WaitResult {
        self.wait_as(seen, deadline, (true, None, None))
    }

    /// As [`Self::wait`], a part of a wait for a lock, which [`Self::end_wait`] ends; `about`: the lock, if it has names.
    ///
    /// # Panics
    /// When `seen` comes from another event.
    pub fn wait_part(
        &self,
        long: &mut LongWait,
        seen: Prepared<'_>,
        deadline: Deadline,
        about: Option<About<'_>>,
    ) -> WaitResult {
        self.wait_as(seen, deadline, (true, about, Some(long)))
    }

    /// A wait that came in parts is over: it counts as one, from the beginning of the first to the end of the last.
    pub fn end_wait(&self, long: LongWait, about: Option<About<'_>>) {
        if let Some((operation, wait_ns)) = long.whole() {
            self.awaited(operation, about).count(wait_ns);
        }
    }

    /// As [`Self::wait`], and a kill does not end it: for waits that must not be given up.
    ///
    /// # Panics
    /// When `seen` comes from another event.
    pub fn wait_unkillable(&self, seen: Prepared<'_>, deadline: Deadline) -> WaitResult {
        self.wait_as(seen, deadline, (false, None, None))
    }

    /// Waits until `condition` holds, the deadline passes or the session is killed.
    pub fn wait_until(
        &self,
        deadline: Deadline,
        mut condition: impl FnMut() -> bool,
    ) -> WaitResult {
        loop {
            if condition() {
                return WaitResult::Woken;
            }
            let seen = self.prepare();
            if condition() {
                return WaitResult::Woken;
            }
            match self.wait(seen, deadline) {
                WaitResult::Woken => {}
                end if condition() => {
                    let _ = end;
                    return WaitResult::Woken;
                }
                end => return end,
            }
        }
    }

    /// What is waited for here; a lock is no instance: who holds it and who waits for it is shown apart.
    fn awaited<'o>(&'o self, operation: Operation, about: Option<About<'o>>) -> Awaited<'o> {
        let instance = (self.class.kind() == ClassKind::Cond).then_some(&self.instance);
        Awaited { class: self.class, operation, object: self.key(), instance, about }
    }

    fn wait_as(
        &self,
        seen: Prepared<'_>,
        deadline: Deadline,
        (killable, about, long): (bool, Option<About<'_>>, Option<&mut LongWait>),
    ) -> WaitResult {
        assert!(std::ptr::eq(seen.event, self), "a wait is prepared and done at the same event");
        let operation = match (about, self.class.kind(), deadline) {
            (Some(_), ..) => Operation::MetadataLock,
            (None, ClassKind::Lock, _) => Operation::Lock,
            (None, _, Deadline::Never) => Operation::Wait,
            (None, ..) => Operation::TimedWait,
        };
        let what = self.awaited(operation, about);
        let is_first = long.as_ref().is_none_or(|long| !long.has_begun());
        if is_first && self.class.noticed() {
            instrument::used(self.class);
            if let Some(instance) = what.instance {
                instance.used_shared(self.class);
            }
        }
        let _waiting = Waiting::begin_part(what, long);
        let parked = with_current(|slot| {
            let slot = slot.filter(|_| killable);
            // What it announced stands in between: a notification that comes while it looks is not lost.
            let park = |until| {
                lot().park(self.key(), 0, slot, until, || {
                    self.sequence.load(Ordering::Relaxed) == seen.sequence
                })
            };
            match slot {
                Some(slot) => park_watching(slot, deadline, park),
                None => park(deadline),
            }
        });
        match parked {
            Parked::Woken(_) | Parked::Invalid => WaitResult::Woken,
            Parked::TimedOut => WaitResult::TimedOut,
            Parked::Killed => WaitResult::Killed,
        }
    }

    /// Wakes everyone who waits; without waiters one load. The condition was made true before.
    #[inline]
    pub fn notify_all(&self) {
        if self.anyone() {
            self.notify(usize::MAX);
        }
    }

    /// Wakes at least one of those who wait (and everyone who is between announcement and parking);
    /// without waiters one load. The condition was made true before.
    #[inline]
    pub fn notify_one(&self) {
        if self.anyone() {
            self.notify(1);
        }
    }

    /// Whether somebody is announced; orders the caller's earlier stores before the look.
    #[inline]
    pub fn anyone(&self) -> bool {
        self.alias();
        fence(Ordering::SeqCst);
        self.announced.load(Ordering::Relaxed) != 0
    }

    #[cold]
    fn notify(&self, most: usize) {
        self.sequence.fetch_add(1, Ordering::SeqCst);
        let left = Cell::new(most);
        lot().unpark(
            self.key(),
            |_| match left.get() {
                0 => Pick::Stop,
                n => {
                    left.set(n - 1);
                    Pick::Wake(0)
                }
            },
            |_| (),
        );
    }

    /// Names its words in the thread's record.
    #[inline(always)]
    fn alias(&self) {
        for word in [&self.sequence, &self.announced] {
            stdx::touch::alias(std::ptr::from_ref(word).addr(), || self.class.name());
        }
    }

    fn key(&self) -> usize {
        (&raw const self.sequence).addr()
    }
}
