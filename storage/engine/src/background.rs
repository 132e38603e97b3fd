//! The engine's threads: the cleaner, which also moves the checkpoint, and the log's timer.
//!
//! 1. A thread holds the engine weakly between its rounds: an engine that is dropped ends it.
//! 2. Nothing the threads do cannot be stepped by hand ([`Engine::step_cleaner`],
//!    [`Engine::checkpoint`]).
//! 3. An error in a round is the log's or a data file's: the fatal hook has run; the thread goes on
//!    trying, since a full disk may become less full.

use crate::engine::Engine;
use base::Result;
use host::thread::JoinHandle;
use instrument::CondClass;
use std::sync::{Arc, Weak};
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Deadline, Event, WaitResult};

static STOP: CondClass = CondClass::new("wait/synch/cond/limpid/background_stop");

const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
const CLEANER_IDLE: Duration = Duration::from_millis(50);
const TIMER_EVERY: Duration = Duration::from_secs(1);
/// Dirty pages above this share of the pool are written even without need.
const DIRTY_PERCENT_MAX: usize = 50;

/// Tells the threads to stop.
pub(crate) struct Stop {
    now: SharedAtomic<bool, { class::OTHER }>,
    pub event: Event,
}

impl Stop {
    pub fn new() -> Stop {
        Stop { now: SharedAtomic::new(false), event: Event::new(&STOP) }
    }

    pub fn is_set(&self) -> bool {
        self.now.load(Ordering::SeqCst)
    }

    fn set(&self) {
        self.now.store(true, Ordering::SeqCst);
        self.event.notify_all();
    }
}

/// What a thread runs.
type Rounds = fn(Weak<Engine>, Arc<Stop>);

/// The running threads.
pub(crate) struct Background {
    pub stop: Arc<Stop>,
    pub threads: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Starts the cleaner/checkpointer and the log timer as threads; once. [`Self::shutdown`] ends
    /// them.
    pub fn start_background(self: &Arc<Self>) -> Result<()> {
        let mut background = self.background.lock();
        if background.is_some() {
            return Ok(());
        }
        let stop = Arc::new(Stop::new());
        let mut threads = Vec::new();
        let rounds: [(&str, Rounds); 2] = [("cleaner", cleaner), ("log_timer", log_timer)];
        for (name, rounds) in rounds {
            let (weak, stop) = (Arc::downgrade(self), Arc::clone(&stop));
            let spawned = host::thread::spawn(name, move || rounds(weak, stop));
            threads.push(spawned.map_err(|e| base::Error::io("start thread", name, e))?);
        }
        self.pool().set_background_cleaner(true);
        *background = Some(Background { stop, threads });
        Ok(())
    }

    /// Ends all background threads, those of recovery too, and waits for them.
    pub fn stop_background(&self) {
        // Recovery first: its threads may wait for the cleaner.
        for thread in self.signal_recovery() {
            // A panic in it was printed when it happened.
            let _ = thread.join();
        }
        for thread in self.signal_background() {
            let _ = thread.join();
        }
    }

    /// Tells recovery's threads to stop, without waiting for them.
    pub(crate) fn signal_recovery(&self) -> Vec<JoinHandle<()>> {
        let Some(recovering) = self.recovering.lock().take() else { return Vec::new() };
        recovering.stop.set();
        self.recovery_stopped();
        recovering.threads
    }

    /// Tells the threads to stop, without waiting for them.
    pub(crate) fn signal_background(&self) -> Vec<JoinHandle<()>> {
        let Some(background) = self.background.lock().take() else { return Vec::new() };
        background.stop.set();
        self.log().work().notify_all();
        self.pool().set_background_cleaner(false);
        self.pool().work().notify_all();
        background.threads
    }
}

impl Engine {
    fn too_dirty(&self) -> bool {
        let pool = self.pool();
        pool.dirty_frames() * 100 > pool.frames() * DIRTY_PERCENT_MAX
    }
}

fn cleaner(engine: Weak<Engine>, stop: Arc<Stop>) {
    let mut checkpoint_at = host::clock::now() + CHECKPOINT_EVERY;
    let (mut woken, mut too_dirty) = (false, false);
    while !stop.is_set() {
        let Some(engine) = engine.upgrade() else { return };
        let pressed = engine.log().wants_checkpoint();
        let due = host::clock::now() >= checkpoint_at;
        // Counting changed frames looks at all of them: once a second, and while it is of use.
        too_dirty = (too_dirty || due) && engine.too_dirty();
        let left = due && !engine.unfinished.lock().is_empty();
        let busy =
            (pressed || woken || too_dirty || left) && engine.step_cleaner().is_ok_and(|n| n > 0);
        if pressed || due {
            let _ = engine.checkpoint();
            checkpoint_at = host::clock::now() + CHECKPOINT_EVERY;
        }
        woken = false;
        if !busy {
            let work = engine.pool().work();
            let seen = work.prepare();
            woken = work.wait(seen, Deadline::after(CLEANER_IDLE)) == WaitResult::Woken;
        }
    }
}

fn log_timer(engine: Weak<Engine>, stop: Arc<Stop>) {
    loop {
        let deadline = Deadline::after(TIMER_EVERY);
        let _ = stop.event.wait_until(deadline, || stop.is_set());
        if stop.is_set() {
            return;
        }
        let Some(engine) = engine.upgrade() else { return };
        let _ = engine.log().flush_timer_tick();
        let _ = engine.log().govern();
    }
}
