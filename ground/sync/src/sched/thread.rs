//! The run as its threads see it.
//!
//! 1. `ME` and the atomics' hook are set exactly while a thread is inside [`run`] or [`Child::run`].

use super::runner::{Runner, Stop};
use super::{Options, Outcome};
use crate::Deadline;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Instant;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Real,
    Simulated,
    /// Simulated, and at the moment without points.
    Quiet,
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Real) };
    static ME: RefCell<Option<(Arc<Runner>, usize)>> = const { RefCell::new(None) };
}

/// Sets the thread's place in a run; the place is left when this is dropped.
struct Inside;

impl Inside {
    fn enter(runner: &Arc<Runner>, me: usize) -> Inside {
        ME.set(Some((Arc::clone(runner), me)));
        MODE.set(Mode::Simulated);
        stdx::hook::replace(Some(touched));
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        stdx::hook::replace(None);
        MODE.set(Mode::Real);
        ME.set(None);
    }
}

fn touched() {
    point("atomic");
}

fn with<R>(f: impl FnOnce(&Runner, usize) -> R) -> Option<R> {
    if MODE.get() == Mode::Real {
        return None;
    }
    let (runner, me) = ME.with_borrow(Clone::clone)?;
    Some(f(&runner, me))
}

/// A sync point: in a simulation another thread may go on here. `what` shows in reports.
#[inline]
pub fn point(what: &'static str) {
    if MODE.get() == Mode::Simulated {
        with(|runner, me| runner.point(me, what));
    }
}

/// Whether this thread runs in a simulation.
#[inline]
pub fn is_simulated() -> bool {
    MODE.get() != Mode::Real
}

/// Calls `f`; in a simulation without sync points: for what holds a lock that the scheduler does not know.
pub fn quiet<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(Option<fn()>);
    impl Drop for Restore {
        fn drop(&mut self) {
            MODE.set(Mode::Simulated);
            stdx::hook::replace(self.0);
        }
    }
    if MODE.get() != Mode::Simulated {
        return f();
    }
    MODE.set(Mode::Quiet);
    let _restore = Restore(stdx::hook::replace(None));
    f()
}

/// Runs `main` and every thread it starts one at a time, as the seed says, until all have ended. `main`
/// gets a thread of its own, so that nothing of an earlier run is left in its thread-local state.
///
/// # Panics
/// Inside another run.
pub fn run<R: Send>(seed: u64, options: Options, main: impl FnOnce() -> R + Send) -> Outcome<R> {
    assert!(!is_simulated(), "a run inside a run");
    let runner = Runner::new(seed, options);
    let me = runner.add("main");
    let main = || live(&runner, me, main).ok();
    let value = std::thread::scope(|scope| scope.spawn(main).join());
    runner.outcome(value.ok().flatten())
}

/// One thread's life in a run, from its first turn to its end.
fn live<T>(
    runner: &Arc<Runner>,
    me: usize,
    f: impl FnOnce() -> T,
) -> Result<T, Box<dyn Any + Send>> {
    let result = {
        let _inside = Inside::enter(runner, me);
        catch_unwind(AssertUnwindSafe(|| {
            runner.wait_turn(me);
            f()
        }))
    };
    let failure = result.as_ref().err().filter(|p| !p.is::<Stop>()).map(message);
    runner.end(me, failure);
    result
}

fn message(payload: &Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".into())
}

/// A thread about to be started: the parent announces it, so that its number does not depend on when the
/// system starts it.
pub struct Child(Option<(Arc<Runner>, usize)>);

/// Announces a thread that is about to be started by this one.
pub fn child(name: &str) -> Child {
    let known = with(|runner, _| runner.add(name));
    Child(known.and_then(|index| Some((ME.with_borrow(Clone::clone)?.0, index))))
}

impl Child {
    /// What waits for the thread's end.
    pub fn joiner(&self) -> Joiner {
        Joiner(self.0.clone())
    }

    /// The thread's life: called once, on the new thread.
    pub fn run<T>(mut self, f: impl FnOnce() -> T) -> T {
        match self.0.take() {
            None => f(),
            Some((runner, me)) => live(&runner, me, f).unwrap_or_else(|p| resume_unwind(p)),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some((runner, index)) = self.0.take() {
            runner.never_started(index);
        }
    }
}

/// Waits for the end of a simulated thread.
pub struct Joiner(Option<(Arc<Runner>, usize)>);

impl Joiner {
    /// Waits until the thread has ended; returns at once when it is a real one.
    pub fn join(&self) {
        if let Some((_, thread)) = self.0 {
            with(|runner, me| runner.join(me, thread));
        }
    }

    /// Whether the simulated thread has ended; `None`: it is a real one, ask the system.
    pub fn ended(&self) -> Option<bool> {
        point("thread ended");
        self.0.as_ref().map(|(runner, thread)| runner.ended(*thread))
    }
}

impl std::fmt::Debug for Child {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Child({:?})", self.0.as_ref().map(|(_, index)| index))
    }
}

impl std::fmt::Debug for Joiner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Joiner({:?})", self.0.as_ref().map(|(_, index)| index))
    }
}

/// The thread's number in its run.
pub(crate) fn me() -> Option<u32> {
    with(|_, me| me as u32)
}

/// Tells runs apart, 0 outside of one. No later run has the number of one that left something behind.
pub(crate) fn run_id() -> usize {
    with(|runner, _| runner.id).unwrap_or(0)
}

/// The virtual clock, if there is one: as an instant.
pub(crate) fn now() -> Option<Instant> {
    with(|runner, _| runner.now())
}

/// The virtual clock, if there is one: nanoseconds since the run began, and a second.
pub(crate) fn now_ns() -> Option<u64> {
    with(|runner, _| runner.virtual_ns() + 1_000_000_000)
}

/// Waits until [`wake`] or the deadline; may come back early. Only in a run.
pub(crate) fn block(deadline: Deadline) {
    with(|runner, me| runner.block(me, deadline));
}

/// Makes a thread of this thread's run able to go on.
pub(crate) fn wake(thread: u32) {
    with(|runner, _| runner.wake(thread as usize));
}

/// Notes what this thread waits for.
pub(crate) fn waits_for(what: Option<(&'static str, usize)>) {
    with(|runner, me| runner.waits_for(me, what));
}

/// Lets others go on; `false` outside a run.
pub(crate) fn yield_now() -> bool {
    MODE.get() == Mode::Simulated && with(|runner, me| runner.yield_turn(me)).is_some()
}
