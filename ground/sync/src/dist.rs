//! A big reader lock: readers touch their own slot only, a writer scans all slots.
//!
//! 1. A reader sets its bit in its slot, fences lightly, and checks `closed`; a writer sets `closed`,
//!    fences heavily, and waits until no slot has the bit. So a reader that goes on was seen.
//! 2. A reader that leaves clears its bit, fences lightly, and notifies if the lock is closed.

use crate::{Deadline, Event, Mutex, MutexGuard, SessionSlot, SlotTable, WaitResult, asym};
use std::marker::PhantomData;
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};

instrument::classes! {
    static WRITERS: MutexClass = "wait/synch/mutex/limpid/dist_writers";
    static DRAINED: CondClass = "wait/synch/cond/limpid/dist_drained";
    static OPENED: CondClass = "wait/synch/cond/limpid/dist_opened";
}

/// A read-write lock for what is read by every statement and written almost never.
#[derive(Debug)]
pub struct DistRwLock {
    slots: Arc<SlotTable>,
    bit: u64,
    closed: SharedAtomic<bool, { class::SESSION }>,
    writers: Mutex<()>,
    drained: Event,
    opened: Event,
}

/// The read side of a [`DistRwLock`]; left when dropped.
#[must_use = "the read side is left when this is dropped"]
#[derive(Debug)]
pub struct DistReadGuard<'a> {
    lock: &'a DistRwLock,
    slot: &'a SessionSlot,
    _thread: PhantomData<*const ()>,
}

/// The write side of a [`DistRwLock`]; left when dropped.
#[must_use = "the write side is left when this is dropped"]
#[derive(Debug)]
pub struct DistWriteGuard<'a> {
    lock: &'a DistRwLock,
    _writers: MutexGuard<'a, ()>,
}

impl DistRwLock {
    /// A lock over the sessions of a table, at most 64 per table; `None` beyond that.
    pub fn new(slots: &Arc<SlotTable>) -> Option<Self> {
        let mut taken = slots.dist_bits.load(Ordering::Relaxed);
        let bit = loop {
            let bit = 1u64.checked_shl(taken.trailing_ones())?;
            match slots.dist_bits.compare_exchange(
                taken,
                taken | bit,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => break bit,
                Err(now) => taken = now,
            }
        };
        Some(Self {
            slots: Arc::clone(slots),
            bit,
            closed: SharedAtomic::new(false),
            writers: Mutex::new(&WRITERS, ()),
            drained: Event::new(&DRAINED),
            opened: Event::new(&OPENED),
        })
    }

    /// Enters the read side with the session's own slot. Not re-entrant. An error says why the wait for
    /// a writer ended: timed out or killed.
    pub fn read<'a>(
        &'a self,
        slot: &'a SessionSlot,
        deadline: Deadline,
    ) -> Result<DistReadGuard<'a>, WaitResult> {
        loop {
            let held = slot.dist.load(Ordering::Relaxed);
            debug_assert!(held & self.bit == 0, "the read side is not re-entrant");
            slot.dist.store(held | self.bit, Ordering::Release);
            asym::light();
            if !self.closed.load(Ordering::Acquire) {
                return Ok(DistReadGuard { lock: self, slot, _thread: PhantomData });
            }
            self.leave(slot);
            let open = || !self.closed.load(Ordering::Acquire);
            match self.opened.wait_until(deadline, open) {
                WaitResult::Woken => {}
                end => return Err(end),
            }
        }
    }

    /// Enters the write side: closes the lock, waits until the readers have left. An error says why the
    /// wait ended; the lock is open again then.
    pub fn write(&self, deadline: Deadline) -> Result<DistWriteGuard<'_>, WaitResult> {
        let guard = DistWriteGuard { lock: self, _writers: self.writers.lock() };
        self.closed.store(true, Ordering::SeqCst);
        asym::heavy();
        let empty =
            || self.slots.sessions().all(|s| s.dist.load(Ordering::Acquire) & self.bit == 0);
        match self.drained.wait_until(deadline, empty) {
            WaitResult::Woken => Ok(guard),
            end => Err(end),
        }
    }

    fn leave(&self, slot: &SessionSlot) {
        slot.dist.store(slot.dist.load(Ordering::Relaxed) & !self.bit, Ordering::Release);
        asym::light();
        if self.closed.load(Ordering::Relaxed) {
            self.drained.notify_all();
        }
    }
}

impl Drop for DistRwLock {
    fn drop(&mut self) {
        self.slots.dist_bits.fetch_and(!self.bit, Ordering::Relaxed);
    }
}

impl Drop for DistReadGuard<'_> {
    fn drop(&mut self) {
        self.lock.leave(self.slot);
    }
}

impl Drop for DistWriteGuard<'_> {
    fn drop(&mut self) {
        self.lock.closed.store(false, Ordering::Release);
        self.lock.opened.notify_all();
    }
}
