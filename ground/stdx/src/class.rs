//! What a shared write is about, and how many of them this thread did.
//!
//! 1. A class is a small number given as the const parameter of a `SharedAtomic`.
//! 2. The counts are per thread: no other thread ever touches them.
//! 3. A class is one line, or lines of one kind: the ledger of shared lines (`tests/hot_path.rs`) speaks of them by its name.

/// Page words: latches and versions of pages.
pub const PAGE_WORD: u8 = 0;
/// The redo log's reservation counter.
pub const LOG_TAIL: u8 = 1;
/// Written/durable positions of the redo log and its wait lists.
pub const LOG_DURABLE: u8 = 2;
/// The transaction system's rest: what is known of all views, what waits for purge.
pub const TRX: u8 = 3;
/// Metadata-lock words.
pub const MDL: u8 = 4;
/// Mutexes, read-write latches, events and the parking lot.
pub const LATCH: u8 = 5;
/// Session and worker slots written by somebody else than their owner (kill flags, acquisition).
pub const SESSION: u8 = 6;
/// Dictionary versions and table handles.
pub const DICT: u8 = 7;
/// Buffer pool: free lists, clock hand, dirty bookkeeping.
pub const POOL: u8 = 8;
/// AUTO_INCREMENT counters.
pub const AUTOINC: u8 = 9;
/// Status and instrumentation totals.
pub const STATUS: u8 = 10;
/// Everything else.
pub const OTHER: u8 = 11;
/// Row locks: how many a shard has, and what becomes of a wait.
pub const ROW_LOCK: u8 = 12;
/// The next number that a transaction (or hidden row, table, ...) gets.
pub const NEXT_ID: u8 = 13;
/// Entries of the ring of transaction states.
pub const TRX_STATE: u8 = 14;
/// What one session says of its row locks, and others ask.
pub const LOCK_OWNER: u8 = 15;
/// Where the log's room ends.
pub const LOG_LIMITS: u8 = 16;
/// How many waiters a session holds up.
pub const HELD_UP: u8 = 17;

/// Number of classes a counting build keeps apart.
pub const COUNT: usize = 32;

/// Names of the classes, by number; unused numbers have an empty name.
pub const NAMES: [&str; COUNT] = {
    let mut names = [""; COUNT];
    names[PAGE_WORD as usize] = "page_word";
    names[LOG_TAIL as usize] = "log_tail";
    names[LOG_DURABLE as usize] = "log_durable";
    names[TRX as usize] = "trx";
    names[MDL as usize] = "mdl";
    names[LATCH as usize] = "latch";
    names[SESSION as usize] = "session";
    names[DICT as usize] = "dict";
    names[POOL as usize] = "pool";
    names[AUTOINC as usize] = "autoinc";
    names[STATUS as usize] = "status";
    names[OTHER as usize] = "other";
    names[ROW_LOCK as usize] = "row_lock";
    names[NEXT_ID as usize] = "next_id";
    names[TRX_STATE as usize] = "trx_state";
    names[LOCK_OWNER as usize] = "lock_owner";
    names[LOG_LIMITS as usize] = "log_limits";
    names[HELD_UP as usize] = "held_up";
    names
};

#[cfg(feature = "count-shared")]
mod counts {
    use std::cell::Cell;

    thread_local! {
        static WRITES: [Cell<u64>; super::COUNT] = const { [const { Cell::new(0) }; super::COUNT] };
    }

    pub(crate) fn bump(class: u8) {
        // A write during thread teardown is of no interest to any test.
        let _ = WRITES.try_with(|w| {
            let cell = &w[class as usize % super::COUNT];
            cell.set(cell.get() + 1);
        });
    }

    pub(super) fn get() -> [u64; super::COUNT] {
        WRITES.with(|w| std::array::from_fn(|i| w[i].get()))
    }

    pub(super) fn reset() {
        WRITES.with(|w| w.iter().for_each(|c| c.set(0)));
    }
}

/// Notes one shared write of this thread (nothing without the feature `count-shared`).
#[inline(always)]
pub(crate) fn wrote(_class: u8, _at: usize) {
    #[cfg(feature = "count-shared")]
    {
        counts::bump(_class);
        crate::touch::note(_class, _at, true);
    }
}

/// Notes one load of what others write (nothing without the feature `count-shared`).
#[inline(always)]
pub(crate) fn read(_class: u8, _at: usize) {
    #[cfg(feature = "count-shared")]
    crate::touch::note(_class, _at, false);
}

/// Stores and read-modify-writes of `SharedAtomic`s by this thread so far, per class; all zero unless
/// built with the feature `count-shared`. A failed compare-exchange counts: it takes the line too.
pub fn shared_writes() -> [u64; COUNT] {
    #[cfg(feature = "count-shared")]
    return counts::get();
    #[cfg(not(feature = "count-shared"))]
    [0; COUNT]
}

/// Sets this thread's counts to zero.
pub fn reset_shared_writes() {
    #[cfg(feature = "count-shared")]
    counts::reset();
}
