//! Waits and stages that are over: the last ones of each session and thread, and those of all.
//!
//! 1. Nothing comes here but of classes that are [`Class::recorded`], which they are while the consumer of their current
//! events is in effect: a class that is not costs its users a look at its flags. 2. A thread's events lie beside those of a
//! few others, under a mutex that the owners and readers take for one copy; those of all threads are a ring under a mutex.
//! 3. Waits and stages of a thread are numbered each for themselves, in the order in which they ended, so that the one that
//! goes on has the next number. 4. A thread's events end with it, but those in the ring of all.

use crate::history::{EventNumber, event_number, lose};
use crate::ring::Ring;
use crate::{Class, Consumer, Operation, OwnMemory, consumes, registry};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use stdx::lock;

/// What is kept of a thread's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collected {
    /// It is a session: what it waits for is part of a statement.
    pub is_session: bool,
    /// Its events are collected.
    pub is_instrumented: bool,
    /// The last ones are kept.
    pub has_history: bool,
}

/// What this crate is told by those above it.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings {
    /// The callers' clock, in nanoseconds.
    pub now_ns: fn() -> u64,
    /// What is kept of the events of a thread; the calling thread is that, or does something for it.
    pub kept: fn(u64) -> Collected,
}

static SURROUNDINGS: OnceLock<Surroundings> = OnceLock::new();

/// Says what is around. Before that no event is kept.
pub fn surround(surroundings: Surroundings) {
    let _ = SURROUNDINGS.set(surroundings);
}

/// What was waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitObject {
    /// OBJECT_TYPE.
    pub kind: Option<&'static str>,
    /// OBJECT_SCHEMA.
    pub schema: Option<Arc<str>>,
    /// OBJECT_NAME.
    pub name: Option<Arc<str>>,
    /// INDEX_NAME.
    pub index: Option<Arc<str>>,
}

/// A wait that has just ended.
#[derive(Debug)]
pub struct Wait {
    /// What for.
    pub operation: Operation,
    /// How long it took, in nanoseconds; `None`: it is not timed.
    pub ns: Option<u64>,
    /// What tells its object from others: OBJECT_INSTANCE_BEGIN.
    pub number: u64,
    /// What of.
    pub object: WaitObject,
    /// Bytes that were moved, or rows.
    pub amount: Option<u64>,
}

/// What an event is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nesting {
    /// A stage, by its number among the thread's stages.
    Stage(u64),
    /// A statement, by its number among the thread's statements and transactions.
    Statement(u64),
}

/// What waits and stages have alike.
#[derive(Debug, Clone, Default)]
pub struct PastEvent {
    /// The thread.
    pub thread_id: u64,
    /// The number among the thread's events of this kind.
    pub event_id: u64,
    /// The instrument.
    pub class: Option<&'static Class>,
    /// When it began and ended, in nanoseconds of the callers' clock; `None`: it is not timed.
    pub times_ns: Option<(u64, u64)>,
    /// What it is part of.
    pub nesting: Option<Nesting>,
}

/// A wait that is over.
#[derive(Debug, Clone, Default)]
pub struct WaitRecord {
    /// Whose, and when.
    pub event: PastEvent,
    /// What for.
    pub operation: Operation,
    /// OBJECT_INSTANCE_BEGIN.
    pub number: u64,
    /// What of.
    pub object: WaitObject,
    /// Bytes that were moved, or rows.
    pub amount: Option<u64>,
}

/// A stage that is over.
#[derive(Debug, Clone, Default)]
pub struct StageRecord {
    /// Whose, and when.
    pub event: PastEvent,
    /// Units of work that were done, and that were expected.
    pub work: (u64, u64),
}

/// Events of one kind, of one thread.
#[derive(Debug)]
struct Events<R> {
    ended: u64,
    last: Option<R>,
    ring: Ring<R>,
}

impl<R> Default for Events<R> {
    fn default() -> Self {
        Events { ended: 0, last: None, ring: Ring::new() }
    }
}

/// How much is kept of a kind of event.
struct Limits {
    records_max: AtomicUsize,
    long_max: AtomicUsize,
    /// Where the memory of a thread's records is counted, and that of all threads' records.
    memory: (&'static OwnMemory, &'static OwnMemory),
}

crate::classes! {
    static WAITS: OwnMemory = "memory/performance_schema/events_waits_history";
    static WAITS_LONG: OwnMemory = "memory/performance_schema/events_waits_history_long";
    static STAGES: OwnMemory = "memory/performance_schema/events_stages_history";
    static STAGES_LONG: OwnMemory = "memory/performance_schema/events_stages_history_long";
}

impl Limits {
    /// MySQL's.
    const fn new(memory: (&'static OwnMemory, &'static OwnMemory)) -> Limits {
        let (records_max, long_max) = (AtomicUsize::new(10), AtomicUsize::new(10_000));
        Limits { records_max, long_max, memory }
    }

    fn set(&self, records_max: usize, long_max: usize) {
        self.records_max.store(records_max, Relaxed);
        self.long_max.store(long_max, Relaxed);
    }
}

static WAIT_LIMITS: Limits = Limits::new((&WAITS, &WAITS_LONG));
static STAGE_LIMITS: Limits = Limits::new((&STAGES, &STAGES_LONG));

impl<R: Clone + Default> Events<R> {
    fn add(&mut self, record: R, history: bool, limits: &Limits) {
        self.ended += 1;
        let records_max = || limits.records_max.load(Relaxed);
        if history {
            match self.ring.place(records_max, limits.memory.0) {
                Some(place) => *place = record.clone(),
                None => lose(records_max()),
            }
        }
        self.last = Some(record);
    }
}

#[derive(Debug, Default)]
struct ThreadEvents {
    thread_id: u64,
    /// How it numbers its statements, once it is known to.
    statements: Option<EventNumber>,
    waits: Events<WaitRecord>,
    stages: Events<StageRecord>,
}

impl ThreadEvents {
    /// The number of the statement that runs.
    fn statement(&mut self) -> u64 {
        if self.statements.as_ref().is_none_or(EventNumber::is_over) {
            self.statements = event_number(self.thread_id);
        }
        self.statements.as_ref().map_or(1, EventNumber::next)
    }
}

/// Lists of threads: so many that two that run at a time seldom meet in one.
const LISTS: usize = 64;
static THREADS: [Mutex<Vec<ThreadEvents>>; LISTS] = [const { Mutex::new(Vec::new()) }; LISTS];
static LONG_WAITS: Mutex<Ring<WaitRecord>> = Mutex::new(Ring::new());
static LONG_STAGES: Mutex<Ring<StageRecord>> = Mutex::new(Ring::new());

fn list_of(thread_id: u64) -> MutexGuard<'static, Vec<ThreadEvents>> {
    lock(&THREADS[thread_id as usize % LISTS])
}

/// What is to be kept of an event that ends now, of a thread that has a number: also the time.
fn begin(thread_id: u64) -> Option<(Collected, u64)> {
    let around = SURROUNDINGS.get()?;
    let kept = (around.kept)(thread_id);
    (thread_id != 0 && kept.is_instrumented).then(|| (kept, (around.now_ns)()))
}

fn add_long<R: Default>(long: &Mutex<Ring<R>>, limits: &Limits, record: R) {
    let records_max = || limits.long_max.load(Relaxed);
    match lock(long).place(records_max, limits.memory.1) {
        Some(place) => *place = record,
        None => lose(records_max()),
    }
}

fn with_thread<R>(thread_id: u64, f: impl FnOnce(&mut ThreadEvents) -> R) -> R {
    let mut list = list_of(thread_id);
    let at = list.iter().position(|thread| thread.thread_id == thread_id).unwrap_or_else(|| {
        list.push(ThreadEvents { thread_id, ..ThreadEvents::default() });
        list.len() - 1
    });
    f(&mut list[at])
}

/// Keeps a wait of the calling thread's that has just ended, of a class that is [`Class::recorded`].
#[cold]
pub fn record_wait(class: &'static Class, wait: Wait) {
    let page = registry::page();
    let in_stage = page.is_in_stage() && consumes(Consumer::StagesCurrent);
    let nest = |thread: &mut ThreadEvents| match in_stage {
        true => Nesting::Stage(thread.stages.ended + 1),
        false => Nesting::Statement(thread.statement()),
    };
    record(page.thread_id(), class, wait, |thread, kept| {
        (in_stage || kept.is_session).then(|| nest(thread))
    });
}

/// Keeps a wait of a thread's that is no part of a statement: for its client, or of its socket.
#[cold]
pub fn record_wait_between(thread_id: u64, class: &'static Class, wait: Wait) {
    record(thread_id, class, wait, |_, _| None);
}

fn record(
    thread_id: u64,
    class: &'static Class,
    wait: Wait,
    nest: impl FnOnce(&mut ThreadEvents, &Collected) -> Option<Nesting>,
) {
    if !consumes(Consumer::WaitsCurrent) {
        return;
    }
    let Some((kept, now_ns)) = begin(thread_id) else { return };
    let history = kept.has_history && consumes(Consumer::WaitsHistory);
    let long = kept.has_history && consumes(Consumer::WaitsHistoryLong);
    let record = with_thread(thread_id, |thread| {
        let nesting = nest(thread, &kept);
        let times_ns = wait.ns.map(|ns| (now_ns.saturating_sub(ns), now_ns));
        let event_id = thread.waits.ended + 1;
        let event = PastEvent { thread_id, event_id, class: Some(class), times_ns, nesting };
        let Wait { operation, number, object, amount, .. } = wait;
        let record = WaitRecord { event, operation, number, object, amount };
        let copy = long.then(|| record.clone());
        thread.waits.add(record, history, &WAIT_LIMITS);
        copy
    });
    if let Some(record) = record {
        add_long(&LONG_WAITS, &WAIT_LIMITS, record);
    }
}

/// Keeps a stage of the calling thread's that ends now and took so long, of a class that is [`Class::recorded`].
#[cold]
pub(crate) fn record_stage(class: &'static Class, ns: Option<u64>, work: (u64, u64)) {
    let thread_id = registry::page().thread_id();
    if !consumes(Consumer::StagesCurrent) {
        return;
    }
    let Some((kept, now_ns)) = begin(thread_id) else { return };
    let history = kept.has_history && consumes(Consumer::StagesHistory);
    let long = kept.has_history && consumes(Consumer::StagesHistoryLong);
    let record = with_thread(thread_id, |thread| {
        let nesting = kept.is_session.then(|| Nesting::Statement(thread.statement()));
        let times_ns = ns.map(|ns| (now_ns.saturating_sub(ns), now_ns));
        let event_id = thread.stages.ended + 1;
        let event = PastEvent { thread_id, event_id, class: Some(class), times_ns, nesting };
        let record = StageRecord { event, work };
        thread.stages.add(record.clone(), history, &STAGE_LIMITS);
        record
    });
    if long {
        add_long(&LONG_STAGES, &STAGE_LIMITS, record);
    }
}

/// A thread has ended, or another one has its number: its events are gone.
pub(crate) fn forget(thread_id: u64) {
    list_of(thread_id).retain(|thread| thread.thread_id != thread_id);
}

/// All of something of each thread, a thread's together, ordered by THREAD_ID.
fn of_threads<R>(mut f: impl FnMut(&ThreadEvents, &mut Vec<R>)) -> Vec<R> {
    let mut found: Vec<(u64, Vec<R>)> = Vec::new();
    for list in &THREADS {
        for thread in lock(list).iter() {
            let mut of_thread = Vec::new();
            f(thread, &mut of_thread);
            found.push((thread.thread_id, of_thread));
        }
    }
    found.sort_by_key(|(thread_id, _)| *thread_id);
    found.into_iter().flat_map(|(_, of_thread)| of_thread).collect()
}

fn in_threads(f: impl Fn(&mut ThreadEvents)) {
    THREADS.iter().for_each(|list| lock(list).iter_mut().for_each(&f));
}

/// The numbers of the wait and of the stage that each thread is in, or will be in next, by THREAD_ID; 1 where there is none.
pub fn next_waits_and_stages() -> HashMap<u64, (u64, u64)> {
    let numbers = of_threads(|thread, found| {
        found.push((thread.thread_id, (thread.waits.ended + 1, thread.stages.ended + 1)));
    });
    numbers.into_iter().collect()
}

/// The wait that each thread ended last.
pub fn last_waits() -> Vec<WaitRecord> {
    of_threads(|thread, found| found.extend(thread.waits.last.clone()))
}

/// The waits that each thread ended last, the oldest first.
pub fn wait_histories() -> Vec<WaitRecord> {
    of_threads(|thread, found| found.extend(thread.waits.ring.in_order().cloned()))
}

/// The waits that all threads ended, the oldest first.
pub fn long_wait_history() -> Vec<WaitRecord> {
    lock(&LONG_WAITS).in_order().cloned().collect()
}

/// Empties [`last_waits`].
pub fn empty_last_waits() {
    in_threads(|thread| thread.waits.last = None);
}

/// Empties [`wait_histories`].
pub fn empty_wait_histories() {
    in_threads(|thread| thread.waits.ring = Ring::new());
}

/// Empties [`long_wait_history`].
pub fn empty_long_wait_history() {
    *lock(&LONG_WAITS) = Ring::new();
}

/// For how many waits there is room in a thread's history and in that of all.
pub fn set_wait_history_limits(records_max: usize, long_max: usize) {
    WAIT_LIMITS.set(records_max, long_max);
}

/// The stages that each thread ended last, the oldest first.
pub fn stage_histories() -> Vec<StageRecord> {
    of_threads(|thread, found| found.extend(thread.stages.ring.in_order().cloned()))
}

/// The stages that all threads ended, the oldest first.
pub fn long_stage_history() -> Vec<StageRecord> {
    lock(&LONG_STAGES).in_order().cloned().collect()
}

/// Empties [`stage_histories`].
pub fn empty_stage_histories() {
    in_threads(|thread| thread.stages.ring = Ring::new());
}

/// Empties [`long_stage_history`].
pub fn empty_long_stage_history() {
    *lock(&LONG_STAGES) = Ring::new();
}

/// For how many stages there is room in a thread's history and in that of all.
pub fn set_stage_history_limits(records_max: usize, long_max: usize) {
    STAGE_LIMITS.set(records_max, long_max);
}
