//! The engine's threads: a cleaner for every instance of the pool, the checkpointer, read-ahead,
//! the log's timer, the log's governor, which makes redo files ahead of need, the horizon, the janitor,
//! who finishes what clients left, purge, and one for what the owner of the dictionary does now and then.
//!
//! A thread holds the engine weakly between its rounds: an engine that is dropped ends it. Nothing the threads do
//! cannot be stepped by hand ([`Engine::step_cleaner`], [`Engine::checkpoint`]). The checkpoint moves about once a
//! second and whenever 64 MiB of redo have come: by what the cleaners have written meanwhile, so nobody waits for it.
//!
//! 1. What makes room in the log waits for none. The checkpointer has a [`pool::Checkpointer`], which
//!    cannot write redo; cleaners, horizon, timer and governor begin no mini-transaction. The janitor, purge
//!    and recovery do: each has a worker of its own, and goes in bounded steps. Guard: the type [`Checkpointer`],
//!    `a_rollback_of_several_logs_ends_beside_checkpoints`.
//! 2. An error in a round is the log's or a data file's: the fatal hook has run; the thread goes on
//!    trying, since a full disk may become less full. Guard: `a_failed_fsync_is_final_and_told`,
//!    `a_full_disk_fails_the_statement_and_not_the_server`.

use crate::engine::Engine;
use crate::history::Purger;
use crate::recovery::STEP_ROWS;
use crate::undo_room::Giver;
use base::{Lsn, Result};
use host::thread::JoinHandle;
use pool::Checkpointer;
use std::sync::{Arc, Weak};
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};
use sync::{Deadline, Event, WaitResult};

instrument::classes! {
    static STOP: CondClass = "wait/synch/cond/limpid/background_stop";
}

const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
const CHECKPOINT_EVERY_BYTES: u64 = 64 << 20;
/// How often the checkpointer looks whether so much redo has come.
const CHECKPOINT_LOOK: Duration = Duration::from_millis(50);
/// Least time between two checkpoints.
const CHECKPOINT_PAUSE: Duration = Duration::from_millis(2);
/// How long a cleaner waits after an error.
const ERROR_PAUSE: Duration = Duration::from_millis(100);
const TIMER_EVERY: Duration = Duration::from_secs(1);
const GOVERNOR_TURN: Duration = Duration::from_millis(100);
/// How often the horizon is looked for while transactions end, and while none does.
const HORIZON_TURN: Duration = Duration::from_millis(10);
const HORIZON_IDLE_TURN: Duration = Duration::from_millis(100);
/// How often the janitor looks, or tries again.
const JANITOR_TURN: Duration = Duration::from_millis(100);

/// A piece of work in the background; it is handed whether to stop.
pub type Tick = dyn Fn(&dyn Fn() -> bool) + Send + Sync;

/// What the owner of the dictionary does in the background every so often.
pub(crate) struct Periodic {
    every: Duration,
    tick: Arc<Tick>,
}

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
type Rounds = Box<dyn FnOnce(Weak<Engine>, Arc<Stop>) + Send>;

/// The running threads.
pub(crate) struct Background {
    pub stop: Arc<Stop>,
    pub threads: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Starts the cleaners, the checkpointer, the read-ahead threads and the log timer; once.
    /// [`Self::shutdown`] ends them.
    pub fn start_background(self: &Arc<Self>) -> Result<()> {
        let mut background = self.background.lock();
        if background.is_some() {
            return Ok(());
        }
        let stop = Arc::new(Stop::new());
        let mut threads = Vec::new();
        for (name, rounds) in self.rounds() {
            let (weak, stop) = (Arc::downgrade(self), Arc::clone(&stop));
            let spawned = host::thread::spawn(&name, move || rounds(weak, stop));
            threads.push(spawned.map_err(|e| base::Error::io("start thread", name, e))?);
        }
        self.pool().set_background_cleaner(true);
        *background = Some(Background { stop, threads });
        Ok(())
    }

    /// Lets `tick` run in a thread of its own every so often once the background has started; the
    /// first call wins. `tick` keeps the engine alive only while it runs.
    pub fn set_periodic(&self, every: Duration, tick: Arc<Tick>) {
        let _ = self.periodic.set(Periodic { every, tick });
    }

    fn rounds(&self) -> Vec<(String, Rounds)> {
        let mut rounds: Vec<(String, Rounds)> = vec![
            ("checkpointer".into(), self.checkpointer()),
            ("log_timer".into(), Box::new(log_timer)),
            ("log_governor".into(), Box::new(log_governor)),
            ("horizon".into(), Box::new(horizon)),
            ("janitor".into(), Box::new(janitor)),
        ];
        if let Some(Periodic { every, tick }) = self.periodic.get() {
            let (every, tick) = (*every, Arc::clone(tick));
            rounds.push(("statistics".into(), Box::new(move |_, s| periodic(every, &*tick, &s))));
        }
        for i in 0..self.purge_threads {
            let share = (i, self.purge_threads);
            rounds.push((format!("purge_{i}"), Box::new(move |e, s| purger(share, &e, &s))));
        }
        for i in 0..self.pool().instances() {
            rounds.push((format!("cleaner_{i}"), Box::new(move |e, s| cleaner(i, &e, &s))));
        }
        for i in 0..self.pool().read_io_threads() {
            let pool = Arc::clone(self.pool());
            let read_ahead: Rounds =
                Box::new(move |_, stop| pool.read_ahead_thread(&|| stop.is_set()));
            rounds.push((format!("read_ahead_{i}"), read_ahead));
        }
        rounds
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
        self.log().governor_work().notify_all();
        self.pool().set_background_cleaner(false);
        self.pool().urge_cleaners();
        self.pool().wake_read_ahead();
        self.pool().load_abort();
        background.threads
    }
}

fn cleaner(instance: usize, engine: &Weak<Engine>, stop: &Stop) {
    while !stop.is_set() {
        let Some(engine) = engine.upgrade() else { return };
        let pool = Arc::clone(engine.pool());
        // Threads that hold the engine while they wait keep it alive for each other.
        drop(engine);
        let seen = pool.look_for_work(instance);
        let pause = pool.cleaner_round(instance).unwrap_or(ERROR_PAUSE);
        if !pause.is_zero() {
            pool.wait_for_work(instance, seen, pause, || stop.is_set());
        }
    }
}

impl Engine {
    /// What the checkpointer runs: it has neither the engine nor the pool (invariant 4).
    fn checkpointer(&self) -> Rounds {
        let checkpoints = self.pool().checkpointer();
        let ids = Arc::clone(&self.trx().ids);
        Box::new(move |_, stop| checkpointer(&checkpoints, &|| ids.checkpoint_payload(), &stop))
    }
}

fn checkpointer(checkpoints: &Checkpointer, payload: &dyn Fn() -> Vec<u8>, stop: &Stop) {
    let (mut due_at, mut due_tail) = (host::clock::now() + CHECKPOINT_EVERY, 0);
    while !stop.is_set() {
        let pressed = checkpoints.are_wanted();
        if pressed {
            checkpoints.urge_cleaners();
        }
        let tail = checkpoints.tail().0;
        if pressed || host::clock::now() >= due_at || tail >= due_tail {
            let _ = checkpoints.make(payload);
            due_at = host::clock::now() + CHECKPOINT_EVERY;
            due_tail = tail + CHECKPOINT_EVERY_BYTES;
        }
        // Writers under pressure notify all the time: a pause lets the cleaners get somewhere.
        let _ = stop.event.wait_until(Deadline::after(CHECKPOINT_PAUSE), || stop.is_set());
        let work = checkpoints.work();
        let seen = work.prepare();
        if !stop.is_set() && !checkpoints.are_wanted() {
            let _ = work.wait(seen, Deadline::after(CHECKPOINT_LOOK));
        }
    }
}

/// Finishes what clients left, in steps: rollbacks that failed, indexes to be freed.
fn janitor(engine: Weak<Engine>, stop: Arc<Stop>) {
    let Some(worker) = engine.upgrade().and_then(|engine| engine.slots().acquire_worker()) else {
        return;
    };
    while !stop.is_set() {
        let Some(engine) = engine.upgrade() else { return };
        let rows = engine.finish_leftovers(&worker, STEP_ROWS);
        drop(engine);
        if rows > 0 {
            // Lets sessions go first where cores are few.
            sync::yield_now();
            continue;
        }
        let seen = stop.event.prepare();
        if !stop.is_set() {
            let _ = stop.event.wait(seen, Deadline::after(JANITOR_TURN));
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
    }
}

fn periodic(every: Duration, tick: &Tick, stop: &Stop) {
    loop {
        let _ = stop.event.wait_until(Deadline::after(every), || stop.is_set());
        if stop.is_set() {
            return;
        }
        tick(&|| stop.is_set());
    }
}

/// Keeps the horizon near: what nobody's view needs any more can be purged, and what everybody sees is
/// known by a comparison.
fn horizon(engine: Weak<Engine>, stop: Arc<Stop>) {
    let mut tail = Lsn::ZERO;
    while !stop.is_set() {
        let Some(engine) = engine.upgrade() else { return };
        let turn = if engine.log().tail() == tail { HORIZON_IDLE_TURN } else { HORIZON_TURN };
        tail = engine.log().tail();
        engine.trx().refresh_horizon();
        drop(engine);
        let seen = stop.event.prepare();
        if !stop.is_set() {
            let _ = stop.event.wait(seen, Deadline::after(turn));
        }
    }
}

/// Purges its share of the rollback segments. The first one also looks how long history is, and gives disk
/// space back that it needed.
fn purger(share: (usize, usize), engine: &Weak<Engine>, stop: &Stop) {
    let Some((mut purger, worker)) = engine
        .upgrade()
        .and_then(|engine| Some((Purger::new(&engine), engine.slots().acquire_worker()?)))
    else {
        return;
    };
    let (mut tail, mut told) = (Lsn::ZERO, String::new());
    let mut giver = Giver::new();
    while !stop.is_set() {
        let Some(engine) = engine.upgrade() else { return };
        let turn = if engine.log().tail() == tail { HORIZON_IDLE_TURN } else { HORIZON_TURN };
        tail = engine.log().tail();
        if share.0 == 0 {
            engine.look_at_purge_lag();
            engine.undo_room_round(&worker, &mut giver);
        }
        let done = match engine.settings().purge_in_background() {
            true => engine.purge_round(&worker, share, &mut purger, &|| stop.is_set()),
            false => Ok(0),
        };
        if let Err(e) = &done {
            let text = format!("purge: {e}; trying again");
            if told != text {
                engine.recovery.notes.warning(&text);
                told = text;
            }
        }
        drop(engine);
        let pause = match done {
            Ok(0) => turn,
            // Lets sessions go first where cores are few.
            Ok(_) => {
                sync::yield_now();
                continue;
            }
            // A damaged page or a full disk: others' history was gone through all the same.
            Err(_) => ERROR_PAUSE,
        };
        let seen = stop.event.prepare();
        if !stop.is_set() {
            let _ = stop.event.wait(seen, Deadline::after(pause));
        }
    }
}

fn log_governor(engine: Weak<Engine>, stop: Arc<Stop>) {
    let mut due = host::clock::now();
    while !stop.is_set() {
        let Some(engine) = engine.upgrade() else { return };
        let log = Arc::clone(engine.log());
        drop(engine);
        let work = log.governor_work();
        let seen = work.prepare();
        if host::clock::now() >= due {
            due = host::clock::now() + TIMER_EVERY;
            // An error is the log's, which everybody hears of.
            let _ = log.govern();
        }
        // In short turns: between them nothing of the engine is held.
        if work.wait(seen, Deadline::after(GOVERNOR_TURN)) == WaitResult::Woken && !log.failed() {
            due = host::clock::now();
        }
    }
}
