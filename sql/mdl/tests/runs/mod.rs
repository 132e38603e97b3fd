//! Simulated sessions that lock on the virtual clock.

use crate::support::Rig;
use mdl::{Held, Mdl, MdlError, Mode, Object, Patience};
use std::sync::Arc;
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};
use sync::sched::{self, Options};
use sync::{Deadline, Event, SessionSlotRef};

/// A slice, and what a scheduler may add.
pub const READER_MAX: Duration = Duration::from_millis(60);

instrument::classes! {
    static SLEEP: CondClass = "wait/synch/cond/test/sleep";
}

pub type Shared<T> = SharedAtomic<T, { class::OTHER }>;

pub struct Thread(sched::Joiner, std::thread::JoinHandle<()>);

pub fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> Thread {
    let child = sched::child(name);
    Thread(child.joiner(), std::thread::spawn(move || child.run(f)))
}

pub fn join(thread: Thread) {
    thread.0.join();
    thread.1.join().unwrap();
}

pub fn sleep(ms: u64) {
    let event = Event::new(&SLEEP);
    let seen = event.prepare();
    let _ = event.wait(seen, Deadline::after(Duration::from_millis(ms)));
}

pub fn simulated(seeds: u64, program: impl Fn() + Copy + Send) {
    for seed in 0..seeds {
        sched::run(seed, Options::default(), program).unwrap();
    }
}

pub fn sliced(limit_s: u64) -> Patience {
    let limit = Some(Duration::from_secs(limit_s));
    Patience { limit, slices: true, watch: None }
}

/// What a DDL statement does about a set of locks; how often it had to let others pass.
pub fn take_set(
    mdl: &Mdl,
    slot: &SessionSlotRef,
    held: &mut Held,
    set: &[(Arc<Object>, Mode)],
) -> Result<u32, MdlError> {
    let mut gaps = 0;
    loop {
        let mut each = set.iter();
        match each.try_for_each(|(o, mode)| mdl.take(slot, held, o, *mode, Deadline::Never)) {
            Ok(()) => return Ok(gaps),
            Err(error) => {
                mdl.release_all(slot, held);
                match error {
                    MdlError::Yielded => mdl.pass(slot)?,
                    other => return Err(other),
                }
            }
        }
        gaps += 1;
    }
}

/// Takes the locks one after the other until it is told to stop, has them for `busy_ms` each time and then for `idle_ms` not;
/// the longest wait for one of them.
pub fn use_until(
    rig: &Rig,
    locks: &[(Arc<Object>, Mode)],
    (busy_ms, idle_ms): (u64, u64),
    stop: &Shared<u32>,
) -> Duration {
    let slot = rig.session();
    let mut longest = Duration::ZERO;
    while stop.load(Ordering::Relaxed) == 0 {
        for (object, mode) in locks {
            let begun = sync::now();
            rig.mdl.acquire(&slot, object, *mode, Deadline::Never).unwrap();
            longest = longest.max(sync::now() - begun);
        }
        sleep(busy_ms);
        locks.iter().rev().for_each(|(object, mode)| rig.mdl.release(&slot, object, *mode));
        sleep(idle_ms);
    }
    longest
}
