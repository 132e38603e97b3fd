//! Row locks: records and the gaps between them, by key.
//!
//! Reading order: `mode` (what conflicts with what), `owner` (a session's locks), `line` (the queue of a target), `queue` (one shard), `runs` (what a scan locks),
//! `order` (who goes next), `memory` (how much of it), `locks` (asking and giving back), `wait` (waiting, deadlocks), `report` (what operators see).
//!
//! 1. A lock names a key, not a place: pages split and rows move without any lock noticing. Guard: `Place` has no page; the
//!    campaigns of the engine split them.
//! 2. A gap is named by the key behind it, or by the supremum behind the last. Guard: `tests/rules.rs`.
//! 3. Written rows need no lock object ([`Locks::convert`]); who changes rows that nobody has locked
//!    writes no memory of this crate. Guard: the server's `tests/hot_path.rs` and
//!    `tests/write_trap.rs`.

mod line;
mod locks;
mod memory;
mod mode;
mod order;
mod owner;
mod queue;
mod report;
mod runs;
mod wait;

pub use locks::{Granted, Locks, OtherLocks, Patience, Request};
pub use memory::MEMORY_BYTES;
pub use mode::{Inherited, Kind, Mode, Shape, Target};
pub use owner::Owner;
pub use report::{Deadlock, DeadlockMember, LockInfo, Names, OwnerInfo, RunInfo, Snapshot};
