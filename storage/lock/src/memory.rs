//! The memory of all locks, counted server-wide.
//!
//! 1. Each owner counts what it has under the mutex of its own list; the sum that all share moves by [`STEP`] and more,
//!    so who has few locks never writes it. It is short of the truth by less than that for each owner, never above it. Guard: `Share::sub` asserts
//!    that no more is given back than there was; `memory_is_limited_and_an_end_frees_it`.
//! 2. Who asks for a lock that is free is refused beyond the limit; who has to wait is not, nor is a lock that somebody
//!    is given for another's sake (conversion, inheritance). Guard: `ten_thousand_wait_for_one_row_and_each_gets_it`,
//!    under a limit of one byte.

use stdx::{Ordering, SharedAtomic, class};

instrument::classes! {
    static LOCKS: MemoryUse = "memory/innodb/lock0lock";
}

/// The limit unless [`crate::Locks::set_memory_max`] says otherwise, in bytes.
pub const MEMORY_BYTES: usize = 1 << 30;

/// An owner's share of the sum moves by so many bytes.
const STEP: usize = 16 << 10;

/// The sum, and its limit.
#[derive(Debug)]
pub(crate) struct Memory {
    used: SharedAtomic<usize, { class::ROW_LOCK }>,
    max: SharedAtomic<usize, { class::ROW_LOCK }>,
}

/// What one owner has of it, in bytes.
#[derive(Debug, Default)]
pub(crate) struct Share {
    bytes: usize,
    /// Of these, how many are in the sum.
    told: usize,
    /// And counted by the instrument.
    counted: usize,
}

impl Memory {
    pub fn new() -> Memory {
        Memory { used: SharedAtomic::new(0), max: SharedAtomic::new(MEMORY_BYTES) }
    }

    pub fn set_max(&self, bytes: usize) {
        self.max.store(bytes, Ordering::Relaxed);
    }

    pub fn max(&self) -> usize {
        self.max.load(Ordering::Relaxed)
    }

    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// An owner's part of the sum changes.
    fn resize(&self, from: usize, to: usize) {
        match to > from {
            true => self.used.fetch_add(to - from, Ordering::Relaxed),
            false => self.used.fetch_sub(from - to, Ordering::Relaxed),
        };
    }

    pub fn is_full(&self) -> bool {
        self.used() >= self.max()
    }
}

impl Share {
    pub fn add(&mut self, bytes: usize, all: &Memory) {
        self.bytes += bytes;
        if self.bytes - self.told >= STEP {
            self.tell(all);
        }
    }

    fn tell(&mut self, all: &Memory) {
        all.resize(self.told, self.bytes);
        self.told = self.bytes;
        self.counted = LOCKS.set(self.counted, self.bytes);
    }

    pub fn sub(&mut self, bytes: usize, all: &Memory) {
        debug_assert!(self.bytes >= bytes, "more is given back than there was");
        self.bytes = self.bytes.saturating_sub(bytes);
        // With room between the two, so that one lock taken and given back in turn moves nothing.
        if self.told >= self.bytes + STEP || self.told > 0 && self.bytes == 0 {
            self.tell(all);
        }
    }

    /// The owner has nothing any more.
    pub fn clear(&mut self, all: &Memory) -> usize {
        let had = std::mem::take(&mut self.bytes);
        if self.told > 0 {
            self.tell(all);
        }
        *self = Share::default();
        had
    }
}
