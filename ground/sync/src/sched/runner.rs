//! Turn-taking: whose turn it is, who can go on, and how time passes.
//!
//! 1. `state.running` is the one thread that is on its way; all others of the run wait for their turn in
//!    `wait_turn`, or have ended. Only the running thread changes the state, but for one that ends the
//!    process because a turn is stuck.
//! 2. A thread is `Able`, `Blocked` (until woken, or its deadline) or `Ended`. A wake-up makes a blocked
//!    thread able and never gives the turn away, so a waker does not have to think of points.
//! 3. After a failure each thread that gets the turn unwinds from where it stands, one by one, and its
//!    destructors run without points; when all have ended the run is over.

use super::choice::Choice;
use super::{Failure, Options, Outcome};
use crate::Deadline;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use stdx::{LocalAtomic, Ordering};

/// What a thread unwinds with when the run has failed elsewhere.
pub(crate) struct Stop;

/// Last points kept for a report.
const RECENT: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Able,
    /// Until woken, or this virtual time.
    Blocked(Option<u64>),
    Ended,
}

/// So many yields of a thread that is alone are a spin: they take their steps' time. Then it waits for something that
/// only time brings.
const SPINS: u32 = 64;

struct Thread {
    name: String,
    status: Status,
    /// Class and address of what it waits for.
    waits: Option<(&'static str, usize)>,
    /// Its last point.
    at: &'static str,
    /// It is on its way out.
    unwinding: bool,
    /// It will never get a turn again: the run is over without it.
    abandoned: bool,
    /// Yields in a row while nobody else could run.
    lone_yields: u32,
    joiners: Vec<usize>,
    turn: Arc<Condvar>,
}

struct State {
    choice: Choice,
    threads: Vec<Thread>,
    running: usize,
    /// A woken thread takes the turn at the next point.
    preempt: bool,
    steps: u64,
    switches: u64,
    now_ns: u64,
    hash: u64,
    failure: Option<Failure>,
    recent: [(usize, &'static str); RECENT],
}

/// Runs begun in this process.
static RUNS: LocalAtomic<usize> = LocalAtomic::new(0);

pub(crate) struct Runner {
    /// Which run of the process this is, from 1 on.
    pub(crate) id: usize,
    seed: u64,
    options: Options,
    begin: Instant,
    state: Mutex<State>,
    /// Notified when the last thread ends.
    over: Condvar,
}

type Locked<'a> = MutexGuard<'a, State>;

impl Runner {
    pub(crate) fn new(seed: u64, options: Options) -> Arc<Runner> {
        let state = State {
            choice: Choice::new(seed, options.strategy, options.step_ns),
            threads: Vec::new(),
            running: 0,
            preempt: false,
            steps: 0,
            switches: 0,
            now_ns: 0,
            hash: 0xCBF2_9CE4_8422_2325,
            failure: None,
            recent: [(0, ""); RECENT],
        };
        let (state, over) = (Mutex::new(state), Condvar::new());
        let id = 1 + RUNS.fetch_add(1, Ordering::Relaxed);
        Arc::new(Runner { id, seed, options, begin: Instant::now(), state, over })
    }

    fn lock(&self) -> Locked<'_> {
        stdx::lock(&self.state)
    }

    /// Adds a thread that can go on; its number.
    pub(crate) fn add(&self, name: &str) -> usize {
        let mut s = self.lock();
        s.choice.add_thread();
        s.threads.push(Thread {
            name: name.to_string(),
            status: Status::Able,
            waits: None,
            lone_yields: 0,
            at: "start",
            unwinding: false,
            abandoned: false,
            joiners: Vec::new(),
            turn: Arc::new(Condvar::new()),
        });
        s.threads.len() - 1
    }

    /// Virtual time since the run began.
    pub(crate) fn virtual_ns(&self) -> u64 {
        self.lock().now_ns
    }

    /// The virtual clock.
    pub(crate) fn now(&self) -> Instant {
        self.begin + Duration::from_nanos(self.virtual_ns())
    }

    /// A sync point of the running thread.
    pub(crate) fn point(&self, me: usize, what: &'static str) {
        if std::thread::panicking() {
            return;
        }
        let mut s = self.lock();
        s.step(me, what, self.options.step_ns);
        if s.steps > self.options.steps_max && s.failure.is_none() {
            let report = s.report();
            s.fail(Failure::Livelock(report));
        }
        if s.failure.is_some() {
            return self.unwind(s, me);
        }
        let (step, running) = (s.steps, s.running);
        if s.choice.ends_turn(step, running) || std::mem::take(&mut s.preempt) {
            self.give_turn(s, me);
        }
    }

    /// The running thread has nothing to do before others have done something.
    pub(crate) fn yield_turn(&self, me: usize) {
        if std::thread::panicking() {
            return;
        }
        let mut s = self.lock();
        s.step(me, "yield", self.options.step_ns);
        if s.steps > self.options.steps_max && s.failure.is_none() {
            let report = s.report();
            s.fail(Failure::Livelock(report));
        }
        if s.failure.is_some() {
            return self.unwind(s, me);
        }
        s.choice.fall_behind(me);
        s.threads[me].status = Status::Blocked(None);
        if !s.able().is_empty() {
            s.threads[me].lone_yields = 0;
        } else {
            s.threads[me].lone_yields += 1;
            if s.threads[me].lone_yields.is_multiple_of(SPINS) {
                s.jump();
            }
        }
        let others = s.able();
        s.threads[me].status = Status::Able;
        if !others.is_empty() {
            let next = s.choice.next(&others);
            self.hand(s, me, next);
        }
    }

    /// Waits until woken or until the deadline; may come back early.
    pub(crate) fn block(&self, me: usize, deadline: Deadline) {
        let mut s = self.lock();
        s.step(me, "wait", self.options.step_ns);
        if s.failure.is_some() && !std::thread::panicking() {
            return self.unwind(s, me);
        }
        let deadline = match deadline {
            Deadline::Never => None,
            Deadline::At(at) => {
                let ns = at.saturating_duration_since(self.begin).as_nanos();
                Some(u64::try_from(ns).unwrap_or(u64::MAX))
            }
        };
        s.threads[me].status = Status::Blocked(deadline);
        self.give_turn(s, me);
    }

    /// Makes a blocked thread able.
    pub(crate) fn wake(&self, thread: usize) {
        let mut s = self.lock();
        if matches!(s.threads[thread].status, Status::Blocked(_)) {
            s.threads[thread].status = Status::Able;
            let running = s.running;
            s.preempt |= s.choice.overtakes(thread, running);
        }
    }

    /// Notes what the thread is about to wait for, for a report.
    pub(crate) fn waits_for(&self, me: usize, what: Option<(&'static str, usize)>) {
        self.lock().threads[me].waits = what;
    }

    pub(crate) fn ended(&self, thread: usize) -> bool {
        self.lock().threads[thread].status == Status::Ended
    }

    /// Waits until another thread has ended.
    pub(crate) fn join(&self, me: usize, thread: usize) {
        loop {
            let mut s = self.lock();
            if s.threads[thread].status == Status::Ended {
                s.threads[me].waits = None;
                return;
            }
            s.threads[thread].joiners.push(me);
            s.threads[me].waits = Some(("join", thread));
            drop(s);
            self.block(me, Deadline::Never);
        }
    }

    /// The thread has come to its end, by a failure or not; never called twice for one.
    pub(crate) fn end(&self, me: usize, failure: Option<String>) {
        let mut s = self.lock();
        s.step(me, "end", self.options.step_ns);
        if let (Some(message), None) = (failure, &s.failure) {
            let (thread, report) = (s.threads[me].name.clone(), s.report());
            s.fail(Failure::Panic { thread, message, report });
        }
        s.threads[me].status = Status::Ended;
        for joiner in std::mem::take(&mut s.threads[me].joiners) {
            if matches!(s.threads[joiner].status, Status::Blocked(_)) {
                s.threads[joiner].status = Status::Able;
            }
        }
        match self.next(&mut s) {
            Some(next) => {
                s.running = next;
                s.threads[next].turn.notify_one();
            }
            None => self.over.notify_all(),
        }
    }

    /// A thread that was announced and could not be started.
    pub(crate) fn never_started(&self, thread: usize) {
        self.lock().threads[thread].status = Status::Ended;
    }

    /// Waits until all threads have ended; what the run came to.
    pub(crate) fn outcome<R>(&self, value: Option<R>) -> Outcome<R> {
        let mut s = self.lock();
        while s.threads.iter().any(|t| t.status != Status::Ended) {
            s = self.over.wait(s).unwrap_or_else(PoisonError::into_inner);
        }
        let nothing = || Failure::Livelock("the run ended without a result".into());
        let result = match (s.failure.take(), value) {
            (None, Some(value)) => Ok(value),
            (failure, _) => Err(failure.unwrap_or_else(nothing)),
        };
        Outcome {
            result,
            seed: self.seed,
            strategy: s.choice.strategy(),
            steps: s.steps,
            switches: s.switches,
            threads: s.threads.len(),
            virtual_ns: s.now_ns,
            trace_hash: s.hash,
        }
    }

    /// Ends the running thread's turn; comes back with its next one.
    fn give_turn(&self, mut s: Locked<'_>, me: usize) {
        match self.next(&mut s) {
            Some(next) => self.hand(s, me, next),
            None => {
                // The caller is abandoned.
                self.over.notify_all();
                s.running = usize::MAX;
                self.wait_turn_locked(s, me);
            }
        }
    }

    fn hand(&self, mut s: Locked<'_>, me: usize, next: usize) {
        if next != me {
            s.switches += 1;
            s.mix(next as u64);
            s.running = next;
            s.threads[next].turn.notify_one();
        }
        self.wait_turn_locked(s, me);
    }

    /// Waits for the turn of a thread that has just been started.
    pub(crate) fn wait_turn(&self, me: usize) {
        let s = self.lock();
        self.wait_turn_locked(s, me);
    }

    fn wait_turn_locked(&self, mut s: Locked<'_>, me: usize) {
        let turn = Arc::clone(&s.threads[me].turn);
        let patience = Duration::from_secs(self.options.stuck_s);
        while s.running != me {
            let before = s.steps;
            let (locked, late) =
                turn.wait_timeout(s, patience).unwrap_or_else(PoisonError::into_inner);
            s = locked;
            if s.threads[me].abandoned {
                drop(turn.wait_while(s, |_| true));
                unreachable!("nobody wakes an abandoned thread");
            }
            if late.timed_out() && s.running != me && s.steps == before {
                self.stuck(&s);
            }
        }
        s.preempt = false;
        if s.failure.is_some() {
            self.unwind(s, me);
        }
    }

    /// Who goes on. `None`: all have ended.
    fn next(&self, s: &mut State) -> Option<usize> {
        loop {
            s.expire();
            let able = s.able();
            if !able.is_empty() {
                return Some(s.choice.next(&able));
            }
            if s.threads.iter().all(|t| t.status == Status::Ended) {
                return None;
            }
            if s.jump() {
                continue;
            }
            let report = s.report();
            if s.failure.is_some() && s.threads.iter().all(Thread::is_past_stopping) {
                if s.threads[0].status != Status::Ended {
                    self.give_up("main waits while it unwinds, and nobody can wake it", &report);
                }
                // What they wait for was lost when others unwound: they sleep for ever.
                for thread in s.threads.iter_mut().filter(|t| t.status != Status::Ended) {
                    thread.status = Status::Ended;
                    thread.abandoned = true;
                }
                return None;
            }
            if s.failure.is_none() {
                s.fail(Failure::Deadlock(report));
            }
            s.wake_for_stopping();
        }
    }

    /// The run has failed: the thread ends where it stands.
    fn unwind(&self, mut s: Locked<'_>, me: usize) {
        s.threads[me].unwinding = true;
        drop(s);
        if !std::thread::panicking() {
            std::panic::resume_unwind(Box::new(Stop));
        }
    }

    fn stuck(&self, s: &State) -> ! {
        let thread = &s.threads[s.running];
        let what = format!("thread {} has been on its way since {:?}", thread.name, thread.at);
        self.give_up(&what, &s.report())
    }

    /// Nothing can be unwound any more: the process ends, having said why.
    fn give_up(&self, what: &str, report: &str) -> ! {
        let text = format!("one-runner, seed {}: {what}\n{report}\n", self.seed);
        let _ = std::io::stderr().write_all(text.as_bytes());
        std::process::abort()
    }
}

impl Thread {
    fn is_past_stopping(&self) -> bool {
        self.unwinding || self.status == Status::Ended
    }
}

impl State {
    fn step(&mut self, me: usize, what: &'static str, step_ns: u64) {
        self.steps += 1;
        self.now_ns += step_ns;
        self.threads[me].at = what;
        self.recent[self.steps as usize % RECENT] = (me, what);
        let mut first = [0; 8];
        let n = what.len().min(8);
        first[..n].copy_from_slice(&what.as_bytes()[..n]);
        self.mix(u64::from_le_bytes(first) ^ (what.len() as u64) << 56 ^ me as u64);
    }

    fn mix(&mut self, n: u64) {
        self.hash = (self.hash ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }

    fn able(&self) -> Vec<usize> {
        let able = |(i, t): (usize, &Thread)| (t.status == Status::Able).then_some(i);
        self.threads.iter().enumerate().filter_map(able).collect()
    }

    /// Blocked threads whose deadline has come are able.
    fn expire(&mut self) {
        for thread in &mut self.threads {
            if matches!(thread.status, Status::Blocked(Some(at)) if at <= self.now_ns) {
                thread.status = Status::Able;
            }
        }
    }

    /// Jumps to the nearest deadline; `false` when there is none.
    fn jump(&mut self) -> bool {
        let deadlines = self.threads.iter().filter_map(|t| match t.status {
            Status::Blocked(at) => at,
            _ => None,
        });
        let Some(at) = deadlines.min() else { return false };
        self.now_ns = self.now_ns.max(at);
        self.expire();
        true
    }

    fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.wake_for_stopping();
    }

    /// Whoever waits and is not on its way out gets a turn in which it unwinds.
    fn wake_for_stopping(&mut self) {
        for thread in self.threads.iter_mut().filter(|t| !t.is_past_stopping()) {
            thread.status = Status::Able;
        }
    }

    /// A line per thread: where it stands and what it waits for. Things waited for are numbered in the
    /// order of the report, so that equal runs have equal reports.
    fn report(&self) -> String {
        let mut objects: Vec<usize> = Vec::new();
        let mut out = String::new();
        for (i, t) in self.threads.iter().enumerate() {
            let _ = write!(out, "  {i} {}: {:?} at {:?}", t.name, t.status, t.at);
            match t.waits {
                Some(("join", thread)) => {
                    let _ = write!(out, ", waits for the end of thread {thread}");
                }
                Some((class, address)) => {
                    let known = objects.iter().position(|o| *o == address);
                    let number = known.unwrap_or_else(|| {
                        objects.push(address);
                        objects.len() - 1
                    });
                    let _ = write!(out, ", waits for {class} (object {number})");
                }
                None => {}
            }
            out.push('\n');
        }
        let _ = write!(out, "  last points:");
        for n in 1..=RECENT {
            let (thread, what) = self.recent[(self.steps as usize + n) % RECENT];
            if !what.is_empty() {
                let _ = write!(out, " {thread}:{what}");
            }
        }
        out
    }
}
