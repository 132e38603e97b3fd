//! Slot tables: where sessions and workers get their slots.
//!
//! 1. A slot is live while its bit is set; between two lives it is reset, and its bit is set (Release)
//!    after the reset, so that whoever finds the bit (Acquire) finds an idle slot or newer values.
//! 2. The memory of a table never moves and lives as long as the table; a reference holds the table.
//! 3. A slot beyond the words of bits that are in use was never live: they are told before its bit is set, so that whoever would
//!    find the bit looks far enough. Guard: `what_is_live_is_found_wherever_it_lies`.

use crate::slots::{Kept, Slot, Slots};
use crate::{SessionSlot, WorkerSlot};
use instrument::PageRegistration;
use std::ops::Deref;
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};

/// The slots of one engine.
#[derive(Debug)]
pub struct SlotTable {
    sessions: Pool<SessionSlot>,
    workers: Pool<WorkerSlot>,
    /// Bits of `SessionSlot::dist` given to `DistRwLock`s.
    pub(crate) dist_bits: SharedAtomic<u64, { class::SESSION }>,
}

impl SlotTable {
    /// A table with room for so many sessions and workers. Memory is reserved, and touched on first use.
    ///
    /// # Panics
    /// When the operating system refuses the address space.
    pub fn new(sessions_max: usize, workers_max: usize) -> Arc<Self> {
        Arc::new(Self {
            sessions: Pool::new(sessions_max),
            workers: Pool::new(workers_max),
            dist_bits: SharedAtomic::new(0),
        })
    }

    /// A free session slot, reset; `None` when all are taken. Its counter page is registered.
    pub fn acquire_session(self: &Arc<Self>) -> Option<SessionSlotRef> {
        let index = self.sessions.acquire(SessionSlot::reset)?;
        let page = self.sessions.get(index).page();
        // SAFETY: the reference holds the table, hence the page, longer than the registration; it is
        // dropped by whoever owns the slot, when no thread is in the session any more.
        let registration = Some(unsafe { instrument::attach(page) });
        // SAFETY: the reference holds the table.
        let slot = unsafe { Kept::new(self.sessions.get(index)) };
        Some(SessionSlotRef { slot, table: Arc::clone(self), index, registration })
    }

    /// A free worker slot, idle; `None` when all are taken.
    pub fn acquire_worker(self: &Arc<Self>) -> Option<WorkerSlotRef> {
        let index = self.workers.acquire(WorkerSlot::reset)?;
        // SAFETY: the reference holds the table.
        let slot = unsafe { Kept::new(self.workers.get(index)) };
        Some(WorkerSlotRef { slot, table: Arc::clone(self), index })
    }

    /// The live session slots.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionSlot> {
        self.sessions.live()
    }

    /// The numbers of the live session slots: what [`SessionSlotRef::index`] says of them.
    pub fn session_numbers(&self) -> impl Iterator<Item = usize> {
        self.sessions.live_numbers()
    }

    /// The live worker slots.
    pub fn workers(&self) -> impl Iterator<Item = &WorkerSlot> {
        self.workers.live()
    }

    /// Session slot number `index`, live or not: what [`SessionSlotRef::index`] said.
    ///
    /// # Panics
    /// When there is no slot of this number.
    #[inline]
    pub fn session(&self, index: usize) -> &SessionSlot {
        self.sessions.get(index)
    }

    /// The number of a session slot of this table: what [`SessionSlotRef::index`] says of it.
    pub fn session_index(&self, slot: &SessionSlot) -> usize {
        let first = std::ptr::from_ref(self.sessions.get(0)).addr();
        let at = std::ptr::from_ref(slot).addr().wrapping_sub(first);
        let index = at / size_of::<SessionSlot>();
        assert!(index < self.sessions.len, "the slot is of this table");
        index
    }

    /// The number of session slots.
    pub fn sessions_max(&self) -> usize {
        self.sessions.len
    }

    /// The number of worker slots.
    pub fn workers_max(&self) -> usize {
        self.workers.len
    }
}

/// A session slot that is taken; dropping it gives it back.
#[derive(Debug)]
pub struct SessionSlotRef {
    slot: Kept<SessionSlot>,
    table: Arc<SlotTable>,
    index: usize,
    registration: Option<PageRegistration>,
}

impl SessionSlotRef {
    /// The slot's number in its table.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The slot's table.
    pub fn table(&self) -> &Arc<SlotTable> {
        &self.table
    }
}

impl Deref for SessionSlotRef {
    type Target = SessionSlot;

    #[inline(always)]
    fn deref(&self) -> &SessionSlot {
        self.slot.get()
    }
}

impl Drop for SessionSlotRef {
    fn drop(&mut self) {
        self.registration = None;
        self.reset();
        self.table.sessions.release(self.index);
    }
}

/// A worker slot that is taken; dropping it gives it back.
#[derive(Debug)]
pub struct WorkerSlotRef {
    slot: Kept<WorkerSlot>,
    table: Arc<SlotTable>,
    index: usize,
}

impl WorkerSlotRef {
    /// The slot's number in its table.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The slot's table.
    pub fn table(&self) -> &Arc<SlotTable> {
        &self.table
    }
}

impl Deref for WorkerSlotRef {
    type Target = WorkerSlot;

    #[inline(always)]
    fn deref(&self) -> &WorkerSlot {
        self.slot.get()
    }
}

impl Drop for WorkerSlotRef {
    fn drop(&mut self) {
        self.reset();
        self.table.workers.release(self.index);
    }
}

/// Slots of one kind with two bits each: taken, and live (announced).
#[derive(Debug)]
struct Pool<T> {
    slots: Slots<T>,
    taken: Vec<Bits>,
    live: Vec<Bits>,
    /// Words of `live` that have ever had a bit, from the first one on: those who look for slots look no further.
    words_used: Bits,
    len: usize,
}

type Bits = SharedAtomic<u64, { class::SESSION }>;

impl<T: Slot> Pool<T> {
    fn new(len: usize) -> Self {
        let bits = || (0..len.div_ceil(64)).map(|_| SharedAtomic::new(0)).collect();
        let words_used = SharedAtomic::new(0);
        Self { slots: Slots::new(len), taken: bits(), live: bits(), words_used, len }
    }

    #[inline(always)]
    fn get(&self, index: usize) -> &T {
        self.slots.get(index)
    }

    /// Takes a free slot, the lowest first; it is reset, then announced.
    fn acquire(&self, reset: impl Fn(&T)) -> Option<usize> {
        let index = self.take()?;
        reset(self.get(index));
        let words = index as u64 / 64 + 1;
        if self.words_used.load(Ordering::Relaxed) < words {
            self.words_used.fetch_max(words, Ordering::Release);
        }
        self.live[index / 64].fetch_or(1 << (index % 64), Ordering::Release);
        Some(index)
    }

    fn take(&self) -> Option<usize> {
        for (w, word) in self.taken.iter().enumerate() {
            let mut seen = word.load(Ordering::Relaxed);
            loop {
                let bit = seen.trailing_ones() as usize;
                let index = w * 64 + bit;
                if bit == 64 || index >= self.len {
                    break;
                }
                let with = seen | 1 << bit;
                match word.compare_exchange(seen, with, Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) => return Some(index),
                    Err(now) => seen = now,
                }
            }
        }
        None
    }

    fn release(&self, index: usize) {
        let others = !(1 << (index % 64));
        self.live[index / 64].fetch_and(others, Ordering::Release);
        self.taken[index / 64].fetch_and(others, Ordering::Release);
    }

    fn live(&self) -> impl Iterator<Item = &T> {
        self.live_numbers().map(|index| self.get(index))
    }

    fn live_numbers(&self) -> impl Iterator<Item = usize> {
        let words = match self.live.len() {
            few @ (0 | 1) => few,
            _ => self.words_used.load(Ordering::Acquire) as usize,
        };
        self.live[..words].iter().enumerate().flat_map(move |(w, word)| {
            let mut bits = word.load(Ordering::Acquire);
            std::iter::from_fn(move || {
                if bits == 0 {
                    return None;
                }
                let bit = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                Some(w * 64 + bit)
            })
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_live_is_found_wherever_it_lies() {
        let table = SlotTable::new(1, 1000);
        let live = || table.workers().count();
        assert_eq!(live(), 0);
        let mut taken: Vec<_> = (0..200).map(|_| table.acquire_worker()).collect();
        assert_eq!(live(), 200);
        // All but the last one go; those that come take the lowest ones, and it is found all the same.
        taken.drain(..199);
        assert_eq!(live(), 1);
        taken.push(table.acquire_worker());
        assert_eq!(taken.iter().flatten().map(|slot| slot.index()).collect::<Vec<_>>(), [199, 0]);
        assert_eq!(live(), 2);
        taken.extend((2..1001).map(|_| table.acquire_worker()));
        assert_eq!((live(), taken.iter().flatten().count()), (1000, 1000));
        assert!(table.acquire_worker().is_none());
    }
}
