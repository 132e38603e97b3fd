//! Instrumented blocking primitives, slots and asymmetric publication.
//!
//! 1. Every wait of the server goes through the parking lot of this crate: it has a class, is counted
//!    and timed, is visible in the session's slot while it lasts, and (events only) ends early when the
//!    session is killed, its client has gone or the deadline passes.
//! 2. What a session uses it publishes by a plain store to its own slot followed by [`asym::light`];
//!    whoever needs exclusivity closes a read-mostly word, calls [`asym::heavy`] and scans the slots.
//! 3. An uncontended acquisition is one read-modify-write, an uncontended release one more; with the
//!    instruments off nothing else is written.
//! 4. Every operation on a shared atomic, and every wait, is a point where a simulation (see [`sched`]) may
//!    let another thread go on; clocks and yields go by its virtual time there.
//! 5. Under `--cfg loom` the same code runs in loom's model (see `tests/models.rs`).
// The data behind a lock, memory-mapped slots, futexes and membarrier need unsafe code.
#![allow(unsafe_code)]
// The bucket locks of the parking lot itself are std mutexes: the one place below all instruments.
#![allow(clippy::disallowed_types)]

/// Declares a function that is const except under loom, whose atomics have no const constructors.
macro_rules! const_fn {
    ($(#[$attr:meta])* pub fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$attr])*
        pub const fn $($rest)*
        #[cfg(loom)]
        $(#[$attr])*
        pub fn $($rest)*
    };
}

pub mod asym;
mod client;
mod current;
mod directory;
mod dist;
mod event;
mod held;
mod hold;
mod latch;
mod loaded;
mod lot;
mod mutex;
mod parker;
pub mod sched;
mod session;
mod slots;
mod stack;
mod stage;
mod table;
mod ticks;
mod time;
mod waiting;
pub mod waits;
mod word;

pub use client::with_client;
pub use current::{Entered, Shield, enter, is_shielded, shield, with_current};
pub use directory::{Directory, Entry};
pub use dist::{DistReadGuard, DistRwLock, DistWriteGuard};
pub use event::{Event, Prepared};
pub use held::{before_io, page_latches_held};
pub use latch::{RwLatch, RwReadGuard, RwWriteGuard};
pub use loaded::Loaded;
pub use mutex::{Mutex, MutexGuard};
pub use session::{
    GAPS, GRANTS, HISTORY, KILL_CONNECTION, KILL_NONE, KILL_QUERY, LiveWait, MONITORED,
    SessionSlot, WorkerSlot,
};
pub use stack::{Link, Stack};
pub use stage::Stage;
pub use table::{SessionSlotRef, SlotTable, WorkerSlotRef};
#[cfg(not(loom))]
pub use ticks::calibrate;
pub use ticks::{ns_since, ticks};
pub use time::{Deadline, WaitResult, now, now_ns, spin_wait, yield_now};
pub use waiting::{About, LongWait};
pub use word::{PageWord, WordValue, state};
