//! How a statement waits that locks names against many: DDL, LOCK TABLES, FLUSH TABLES WITH READ LOCK.
//!
//! A request that waits keeps away everybody who comes after it, for as long as somebody before it idles. So such a
//! statement waits in slices: [`SLICE_MS`] in the queue at most, then a gap in which everyone passes.
//!
//! Invariants
//! 1. All locks of such a statement are one set. When its slice is over, its request is paused and the statement is
//!    told so ([`MdlError::Yielded`]): it gives back what it got of the set, waits out the gap ([`Mdl::pass`]) and
//!    takes the set anew. What is not of the set, as SU and SNW of an ALTER that wants X, it keeps.
//! 2. A paused request keeps its number and its place among the others, and its blockers stay in the waits-for graph;
//!    it closes no mode, is granted nothing, and nobody queues behind it.
//! 3. A request that comes to an object while another one's slice runs there joins that slice: whoever comes after
//!    them waits for one slice. Slices begin and end under the object's latch: a request either finds the slice that keeps
//!    others away, or comes when these have passed.
//! 4. The slice begins with the set's first wait, so a long set is not over before it is asked for.
//! 5. Slices and gaps for one request are one wait of the tables of waits: what a slice or gap leaves ([`Left`]) goes on with the
//!    next one, and it is as old as the first of them. It is over when the request is granted without another wait, when
//!    something else is waited for, and with the turn.

use crate::locks::{Mdl, MdlError};
use crate::mode::Mode;
use crate::object::Object;
use crate::report::Blame;
use crate::wait::{Waiting, go_on};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use sync::{Deadline, LongWait, Mutex, SessionSlot, WaitResult};

instrument::classes! {
    static WAITERS: MutexClass = "wait/synch/mutex/sql/MDL_waiters";
}

/// How long a set of requests keeps its place in the queues, in milliseconds.
pub const SLICE_MS: u64 = 50;
/// The first gap; each is twice as long as the one before.
const GAP: Duration = Duration::from_millis(50);
const GAP_MAX: Duration = Duration::from_millis(1000);
/// How often a gap looks whether the blockers have gone: grants in slots leave without a word.
const POLL: Duration = Duration::from_millis(20);
/// How often somebody who watches is told who blocks.
const WATCH: Duration = Duration::from_millis(500);

/// Is told now and then, while a statement waits, the numbers of the session slots that it waits for.
pub type Watch = Arc<dyn Fn(&[u64]) + Send + Sync>;

/// How a statement waits; see [`Mdl::begin_turn`].
#[derive(Clone, Default)]
pub struct Patience {
    /// How long the set of its locks may be waited for, in the queue each of them, whatever a request says; `None`:
    /// what the request says.
    pub limit: Option<Duration>,
    /// In slices; otherwise in the queue, as MySQL does.
    pub slices: bool,
    /// Who is told whom it waits for.
    pub watch: Option<Watch>,
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, slices, watch } = self;
        let mut shown = f.debug_struct("Patience");
        shown.field("limit", limit).field("slices", slices);
        shown.field("watched", &watch.is_some()).finish()
    }
}

/// A statement that waits by a [`Patience`].
#[derive(Debug)]
struct Turn {
    patience: Patience,
    /// Since the first wait for the present set.
    until: Option<Deadline>,
    /// The end of the present slice, since the first wait in it.
    slice: Option<Deadline>,
    gap: Duration,
    left: Option<Left>,
}

/// A wait that is not over with its slice or gap.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) object: Arc<Object>,
    pub(crate) number: u64,
    mode: Mode,
    since: u64,
    pub(crate) long: LongWait,
}

impl Left {
    /// Whether it is a wait for the same. A weak request has another number each time.
    pub(crate) fn is_of(&self, w: &Waiting<'_>) -> bool {
        self.mode == w.mode && Arc::ptr_eq(&self.object, w.object)
    }
}

/// What a request finds that begins to wait, or goes on.
pub(crate) struct Begun {
    pub(crate) limits: Limits,
    /// The owner's request that waited before, if it is another one.
    pub(crate) before: Option<Wait>,
    /// What the turn's last slice or gap left.
    pub(crate) left: Option<Left>,
}

/// A request that waits, in the queue or in a gap.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    pub(crate) object: Arc<Object>,
    pub(crate) number: u64,
    mode: Mode,
    /// Another one whenever the request is paused or goes on: only within a round does its owner give nothing back.
    pub(crate) round: u64,
    /// The round in which the wait for the same began, slices and gaps ago: how old it is.
    pub(crate) since: u64,
    paused: bool,
    /// In a slice whose set is not given back yet: what the owner holds goes when the slice does, so that it makes no deadlock.
    pub(crate) in_slice: bool,
}

/// Until when a wait goes on.
pub(crate) struct Limits {
    /// Then the request gives up.
    pub(crate) until: Deadline,
    /// Then it is paused.
    pub(crate) slice: Option<Deadline>,
    watch: Option<Watch>,
}

impl Limits {
    /// When to wake at the latest.
    pub(crate) fn stop(&self) -> Deadline {
        match (self.slice, self.until) {
            (Some(Deadline::At(slice)), Deadline::At(until)) => Deadline::At(slice.min(until)),
            (Some(slice), Deadline::Never) => slice,
            (_, until) => until,
        }
    }

    /// As [`Limits::stop`], or before, to tell who watches.
    pub(crate) fn step(&self) -> Deadline {
        match self.watch {
            Some(_) => self.stop().within(WATCH),
            None => self.stop(),
        }
    }

    pub(crate) fn tell(&self, blockers: &[u64]) {
        if let Some(watch) = &self.watch {
            watch(blockers);
        }
    }
}

#[derive(Debug, Default)]
struct Waits {
    waits: HashMap<u64, Wait>,
    turns: HashMap<u64, Turn>,
    rounds: u64,
    /// Who was in the way of an owner's last request, which timed out.
    blames: HashMap<u64, Blame>,
}

/// Who waits for which ticket, and how.
#[derive(Debug)]
pub(crate) struct Waiters(Mutex<Waits>);

impl Waiters {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(&WAITERS, Waits::default()))
    }

    pub(crate) fn of(&self, owner: u64) -> Option<Wait> {
        self.0.lock().waits.get(&owner).cloned()
    }

    pub(crate) fn remove(&self, owner: u64) -> Option<Wait> {
        self.0.lock().waits.remove(&owner)
    }

    pub(crate) fn keep_blame(&self, owner: u64, blame: Blame) {
        self.0.lock().blames.insert(owner, blame);
    }

    pub(crate) fn take_blame(&self, owner: u64) -> Option<Blame> {
        self.0.lock().blames.remove(&owner)
    }

    /// The number of the owner's paused request of a mode.
    pub(crate) fn paused(&self, owner: u64, object: &Arc<Object>, mode: Mode) -> Option<u64> {
        let waits = self.0.lock();
        let wait = waits.waits.get(&owner)?;
        let same = wait.paused && wait.mode == mode && Arc::ptr_eq(&wait.object, object);
        same.then_some(wait.number)
    }

    /// A request begins to wait or goes on.
    pub(crate) fn begin(&self, w: &Waiting<'_>, deadline: Deadline) -> Begun {
        let waits = &mut *self.0.lock();
        waits.blames.remove(&w.owner);
        let object = Arc::clone(w.object);
        let (mode, number, round) = (w.mode, w.number, waits.next_round());
        let joined = waits.turns.contains_key(&w.owner).then(|| waits.slice_at(w)).flatten();
        let (limits, left) = match waits.turns.get_mut(&w.owner).filter(|_| !w.alone) {
            Some(turn) => (turn.limits(deadline, joined), turn.left.take()),
            None => (Limits { until: deadline, slice: None, watch: None }, None),
        };
        let in_slice = limits.slice.is_some();
        let since = left.as_ref().filter(|left| left.is_of(w)).map_or(round, |left| left.since);
        let wait = Wait { object, number, mode, round, since, paused: false, in_slice };
        let before = waits.waits.insert(w.owner, wait);
        let before = before.filter(|b| b.number != number || !Arc::ptr_eq(&b.object, w.object));
        Begun { limits, before, left }
    }

    /// The owner's slice or gap is over, and what it waited for is not there yet.
    pub(crate) fn leave(&self, w: &Waiting<'_>, long: LongWait) {
        let waits = &mut *self.0.lock();
        let since = waits.waits.get(&w.owner).map_or(waits.rounds, |wait| wait.since);
        if let Some(turn) = waits.turns.get_mut(&w.owner) {
            let (object, number, mode) = (Arc::clone(w.object), w.number, w.mode);
            turn.left = Some(Left { object, number, mode, since, long });
        }
    }

    /// The owner's paused request is granted: what its last slice or gap left.
    pub(crate) fn end_pause(&self, owner: u64) -> Option<Left> {
        let waits = &mut *self.0.lock();
        waits.waits.remove(&owner);
        waits.turns.get_mut(&owner)?.left.take()
    }

    /// The owner's slice is over.
    pub(crate) fn pause(&self, owner: u64) {
        let waits = &mut *self.0.lock();
        let round = waits.next_round();
        if let Some(wait) = waits.waits.get_mut(&owner) {
            wait.paused = true;
            wait.round = round;
        }
    }

    /// The owner's paused request, and the gap that it has to wait out; also what the last slice left.
    fn gap(&self, owner: u64) -> Option<(Wait, Limits, Duration, Option<Left>)> {
        let waits = &mut *self.0.lock();
        let round = waits.next_round();
        let wait = waits.waits.get_mut(&owner).filter(|w| w.paused)?;
        (wait.in_slice, wait.round) = (false, round);
        let wait = wait.clone();
        let turn = waits.turns.get_mut(&owner)?;
        let gap = turn.gap;
        turn.gap = (gap * 2).min(GAP_MAX);
        turn.slice = None;
        let until = turn.until.unwrap_or(Deadline::Never);
        let limits = Limits { until, slice: None, watch: turn.patience.watch.clone() };
        Some((wait, limits, gap, turn.left.take()))
    }
}

impl Waits {
    fn next_round(&mut self) -> u64 {
        self.rounds += 1;
        self.rounds
    }

    /// When the slices end in which others wait for the object.
    fn slice_at(&self, w: &Waiting<'_>) -> Option<Deadline> {
        let others = self.waits.iter().filter(|(owner, wait)| {
            **owner != w.owner && !wait.paused && Arc::ptr_eq(&wait.object, w.object)
        });
        let ends = others.filter_map(|(owner, _)| match self.turns.get(owner)?.slice {
            Some(Deadline::At(end)) => Some(end),
            _ => None,
        });
        ends.min().map(Deadline::At)
    }
}

impl Turn {
    fn limits(&mut self, deadline: Deadline, joined: Option<Deadline>) -> Limits {
        let fresh = || self.patience.limit.map_or(deadline, Deadline::after);
        let until = match self.patience.slices {
            true => *self.until.get_or_insert_with(fresh),
            false => fresh(),
        };
        if self.patience.slices && self.slice.is_none() {
            let own = Deadline::after(Duration::from_millis(SLICE_MS));
            self.slice = Some(joined.map_or(own, |joined| earlier(own, joined)));
        }
        Limits { until, slice: self.slice, watch: self.patience.watch.clone() }
    }
}

fn earlier(a: Deadline, b: Deadline) -> Deadline {
    match (a, b) {
        (Deadline::At(a), Deadline::At(b)) => Deadline::At(a.min(b)),
        (Deadline::Never, other) | (other, Deadline::Never) => other,
    }
}

impl Mdl {
    /// Until [`Mdl::end_turn`] the session waits by this patience: whoever gets [`MdlError::Yielded`] gives back the
    /// set, calls [`Mdl::pass`] and takes it again.
    pub fn begin_turn(&self, slot: &SessionSlot, patience: Patience) {
        let owner = self.slots.session_index(slot) as u64;
        let turn = Turn { patience, until: None, slice: None, gap: GAP, left: None };
        self.waiters.0.lock().turns.insert(owner, turn);
    }

    /// The session waits as everyone does; nothing is left of a request that was paused.
    pub fn end_turn(&self, slot: &SessionSlot) {
        let owner = self.slots.session_index(slot) as u64;
        let (turn, paused) = {
            let mut waits = self.waiters.0.lock();
            (waits.turns.remove(&owner), waits.waits.remove(&owner))
        };
        if let Some(wait) = paused {
            self.withdraw(&wait.object, wait.number);
        }
        if let Some(left) = turn.and_then(|turn| turn.left) {
            left.end();
        }
    }

    /// Another set is going to be waited for, as an upgrade after hours of copying: it has all its time.
    pub(crate) fn next_set(&self, slot: &SessionSlot) {
        let owner = self.slots.session_index(slot) as u64;
        let left = {
            let mut waits = self.waiters.0.lock();
            waits.turns.get_mut(&owner).and_then(|turn| {
                (turn.until, turn.slice, turn.gap) = (None, None, GAP);
                turn.left.take()
            })
        };
        if let Some(left) = left {
            left.end();
        }
    }

    /// Waits out the gap after [`MdlError::Yielded`], or until nobody is in the way of the paused request. The set was
    /// given back before.
    ///
    /// # Errors
    /// As those of a wait; the request is gone then.
    pub fn pass(&self, slot: &SessionSlot) -> Result<(), MdlError> {
        let owner = self.slots.session_index(slot) as u64;
        let Some((wait, limits, gap, left)) = self.waiters.gap(owner) else { return Ok(()) };
        let (object, number, mode) = (&wait.object, wait.number, wait.mode);
        let w = Waiting { object, number, owner, mode, alone: false };
        let mut long = go_on(left, &w);
        let passed = self.stand_aside(&w, (&limits, gap), &mut long);
        if passed == Err(MdlError::TimedOut) {
            self.blame(&w);
        }
        match passed {
            Ok(()) => self.waiters.leave(&w, long),
            Err(_) => object.event.end_wait(long, Some(&|| w.about())),
        }
        // A weak request has no place to keep: the fast path would not find it again.
        if passed.is_err() || wait.mode.weak_in(wait.object.namespace()) {
            self.waiters.remove(owner);
            self.withdraw(&wait.object, wait.number);
        }
        passed
    }

    fn stand_aside(
        &self,
        w: &Waiting<'_>,
        (limits, gap): (&Limits, Duration),
        long: &mut LongWait,
    ) -> Result<(), MdlError> {
        let end = Deadline::after(gap);
        let mut suspicion = sync::waits::Suspicion::default();
        let mut told = false;
        loop {
            let seen = w.object.event.prepare();
            let blocked_by = self.blockers_of(w)?;
            if blocked_by.is_empty() {
                return Ok(());
            }
            if !std::mem::replace(&mut told, true) {
                limits.tell(&blocked_by);
            }
            let edges = self.publish(w, &blocked_by, &mut suspicion)?;
            let until = earlier(limits.until, end).within(POLL);
            let result = w.object.event.wait_part(long, seen, until, Some(&|| w.about()));
            drop(edges);
            match result {
                WaitResult::Killed => return Err(MdlError::Killed),
                _ if limits.until.passed() => return Err(MdlError::TimedOut),
                // A model has no time: a gap is over at once.
                WaitResult::TimedOut if cfg!(loom) || end.passed() => return Ok(()),
                _ => {}
            }
        }
    }
}
