//! The deterministic one-runner: real threads, one of which runs at a time, chosen by a seed.
//!
//! 1. Under [`run`] exactly one of the run's threads is on its way; it gives the turn up only at a sync
//!    point: an operation on a shared atomic (`stdx::hook`), a [`point`], or a wait. Between two points it
//!    is alone.
//! 2. Everything a choice depends on comes from the seed and from what the threads did before: no address,
//!    no real clock, no hash order. So equal seeds give equal runs, told by equal trace hashes.
//! 3. Time is virtual: each point takes a little, and when all threads wait it jumps to the nearest
//!    deadline. When all wait and there is none, that is a deadlock: the run ends with a report.
//! 4. The schedules are sequentially consistent; reorderings of a weak memory model are loom's subject.
//! 5. Without the feature `one-runner` (and under loom) nothing of this exists: [`point`] is nothing, and
//!    children and clocks are the real ones. With it, outside a run, a point costs one thread-local load.

#[cfg(all(feature = "one-runner", not(loom)))]
mod choice;
#[cfg(all(feature = "one-runner", not(loom)))]
mod outcome;
#[cfg(all(feature = "one-runner", not(loom)))]
mod runner;
#[cfg(all(feature = "one-runner", not(loom)))]
mod thread;

#[cfg(not(all(feature = "one-runner", not(loom))))]
mod off;

#[cfg(all(feature = "one-runner", not(loom)))]
pub use self::{
    choice::Strategy,
    outcome::{Failure, Options, Outcome},
    thread::{Child, Joiner, child, is_simulated, point, quiet, run},
};
#[cfg(all(feature = "one-runner", not(loom)))]
pub(crate) use thread::{block, me, now, now_ns, run_id, waits_for, wake, yield_now};

#[cfg(not(all(feature = "one-runner", not(loom))))]
pub use off::{Child, Joiner, child, is_simulated, point, quiet};
#[cfg(not(all(feature = "one-runner", not(loom))))]
pub(crate) use off::{block, me, now, now_ns, run_id, waits_for, wake, yield_now};
