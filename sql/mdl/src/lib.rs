//! Metadata locks by name, granted in session slots.
//!
//! Reading order: [`mode`] (what conflicts with what), [`object`] (a lockable name), [`registry`] (names
//! to objects), [`locks`] (acquire and release, the fast path), `queue` (the slow path), `fair` (who goes first), `wait`
//! (waiting and deadlocks), [`turns`] (DDL that lets others pass), [`held`] (a caller's list of its grants), [`user`] (GET_LOCK),
//! `given` (grants that go to another slot), [`report`] (who holds what), [`shards`] (an experiment).
//!
//! Invariants
//! 1. A weak grant (S, SH, SR, SW, SWLP on objects, IX on scopes) normally is one word in the owner's
//!    session slot; taking and giving it back writes nothing that is shared.
//! 2. An object's `closed` mask has the bit of every weak mode that conflicts with a strong request that
//!    is granted or pending. Protocol P-D: weak: store grant, light fence, look at the mask, withdraw if
//!    closed. Strong: set the mask, heavy fence, scan the slots. One of the two sees the other.
//! 3. Everything else (strong grants, weak grants while the mode is closed, grants beyond the slot's
//!    words) is a ticket in the object, under the object's latch, judged by MySQL's matrices.
//! 4. A request waits only with its blockers published in the waits-for graph, and a deadlock is believed
//!    only after its metadata-lock edges were looked at again: edges of a session that was just woken
//!    may be out of date.
//! 5. An object's memory and number serve another name only when no handle and no grant of it exist.
//!
//! Not here: lock durations (the caller keeps one [`Held`] list per duration), aborting table-level waits of S holders.

mod fair;
mod given;
pub mod held;
pub mod locks;
pub mod mode;
pub mod object;
mod queue;
pub mod registry;
pub mod report;
pub mod shards;
pub mod turns;
pub mod user;
mod wait;

pub use held::Held;
pub use locks::{Mdl, MdlError};
pub use mode::{Mode, Namespace};
pub use object::{Object, WAIT_CLASS};
pub use report::{Blame, Blocker, LockRow, Status};
pub use shards::ShardBy;
pub use turns::{Patience, Watch};
pub use user::UserLocks;
