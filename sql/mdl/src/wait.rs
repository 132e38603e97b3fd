//! Waiting for a ticket, and deadlocks.
//!
//! Invariants
//! 1. A session waits for at most one ticket; while it does, it is in `Waiters`.
//! 2. A waiter parks only with its current blockers in the graph, or for a short slice after which it
//!    tries again: a deadlock is never slept through.
//! 3. A deadlock is believed when each of its metadata-lock edges was found again in the tickets; edges of
//!    other kinds of lock are believed when they stay for a few slices.
//! 4. The victim is the lightest waiter: a DML statement loses to DDL, whoever came last.

use crate::locks::{Mdl, MdlError};
use crate::mode::Mode;
use crate::object::Object;
use crate::queue::blockers;
use instrument::MutexClass;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::{Deadline, Mutex, WaitResult};

static WAITERS: MutexClass = MutexClass::new("wait/synch/mutex/sql/MDL_waiters");

/// How long a waiter sleeps whose blockers could not be published.
const SLICE: Duration = Duration::from_millis(1);
/// Slices after which edges that are not ours are believed.
const BELIEVED: u32 = 5;

/// One request that waits.
#[derive(Clone, Copy)]
pub(crate) struct Waiting<'a> {
    pub(crate) object: &'a Arc<Object>,
    pub(crate) number: u64,
    pub(crate) owner: u64,
    pub(crate) mode: Mode,
}

/// Who waits for which ticket.
#[derive(Debug)]
pub(crate) struct Waiters(Mutex<HashMap<u64, (Arc<Object>, u64)>>);

impl Waiters {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(&WAITERS, HashMap::new()))
    }

    fn of(&self, owner: u64) -> Option<(Arc<Object>, u64)> {
        self.0.lock().get(&owner).cloned()
    }
}

/// What a waiter finds when it looks.
enum Look {
    Granted,
    Victim,
    Blocked(Vec<u64>),
}

/// What a cycle in the graph turns out to be.
enum Cycle {
    /// An edge is out of date; its owner was woken.
    Stale,
    /// Only edges of other kinds of lock are unproven.
    Unproven,
    /// A lighter waiter was told to give up.
    OtherVictim,
    /// The requester is the victim.
    Mine,
}

impl Mdl {
    /// Waits until the ticket is granted. On an error the ticket is gone.
    pub(crate) fn wait(&self, w: Waiting<'_>, deadline: Deadline) -> Result<(), MdlError> {
        self.waiters.0.lock().insert(w.owner, (Arc::clone(w.object), w.number));
        let end = self.wait_loop(&w, deadline);
        self.waiters.0.lock().remove(&w.owner);
        match end {
            Err(_) if self.withdraw(&w) => Ok(()),
            end => end,
        }
    }

    fn wait_loop(&self, w: &Waiting<'_>, deadline: Deadline) -> Result<(), MdlError> {
        let mut unproven = 0;
        loop {
            let seen = w.object.event.prepare();
            let blocked_by = match self.look(w) {
                Look::Granted => return Ok(()),
                Look::Victim => return Err(MdlError::Deadlock),
                Look::Blocked(by) => by,
            };
            let (edges, until) = match self.graph.add_all(w.owner, &blocked_by) {
                Ok(edges) => (Some(edges), deadline),
                Err(deadlock) => {
                    match self.judge(w, &deadlock.cycle, unproven >= BELIEVED) {
                        Cycle::Mine => return Err(MdlError::Deadlock),
                        Cycle::Unproven => unproven += 1,
                        Cycle::Stale | Cycle::OtherVictim => {}
                    }
                    (None, slice(deadline))
                }
            };
            let published = edges.is_some();
            let result = w.object.event.wait(seen, until);
            drop(edges);
            match result {
                WaitResult::Woken => {}
                WaitResult::TimedOut if !published && !passed(deadline) => {}
                WaitResult::TimedOut => return Err(MdlError::TimedOut),
                WaitResult::Killed => return Err(MdlError::Killed),
            }
        }
    }

    /// Grants whatever can be granted now, then says how the ticket stands.
    fn look(&self, w: &Waiting<'_>) -> Look {
        let mut state = w.object.state.lock();
        self.reschedule(w.object, &mut state);
        let Some(ticket) = state.pending.iter().find(|t| t.number == w.number).copied() else {
            return Look::Granted;
        };
        if ticket.victim {
            return Look::Victim;
        }
        Look::Blocked(blockers(w.object, &state, &self.holders(w.object), &ticket))
    }

    /// Takes the ticket back; `true` when it was granted in the meantime and stays.
    fn withdraw(&self, w: &Waiting<'_>) -> bool {
        let mut state = w.object.state.lock();
        let Some(at) = state.pending.iter().position(|t| t.number == w.number) else {
            return true;
        };
        state.pending.remove(at);
        self.after_removal(w.object, &mut state);
        false
    }

    /// Rules 3 and 4. `cycle` begins with the requester, whose own edges are fresh; each member waits
    /// for the next.
    fn judge(&self, w: &Waiting<'_>, cycle: &[u64], believe: bool) -> Cycle {
        let mut lightest: Option<(u32, Arc<Object>, u64)> = None;
        let mut foreign = false;
        for (at, &member) in cycle.iter().enumerate().skip(1) {
            let next = cycle[(at + 1) % cycle.len()];
            let Some((object, number)) = self.waiters.of(member) else {
                foreign = true;
                continue;
            };
            match self.edge_weight(&object, number, next) {
                None => {
                    object.event.notify_all();
                    return Cycle::Stale;
                }
                Some(weight) if lightest.as_ref().is_none_or(|(w, ..)| weight < *w) => {
                    lightest = Some((weight, object, number));
                }
                Some(_) => {}
            }
        }
        if foreign && !believe {
            return Cycle::Unproven;
        }
        let mine = w.mode.deadlock_weight(w.object.namespace());
        match lightest {
            Some((weight, object, number)) if weight < mine => {
                make_victim(&object, number);
                Cycle::OtherVictim
            }
            _ => Cycle::Mine,
        }
    }

    /// The weight of a pending ticket if it really waits for session `next`.
    fn edge_weight(&self, object: &Object, number: u64, next: u64) -> Option<u32> {
        let state = object.state.lock();
        let ticket = state.pending.iter().find(|t| t.number == number && !t.victim)?;
        let by = blockers(object, &state, &self.holders(object), ticket);
        by.contains(&next).then(|| ticket.mode.deadlock_weight(object.namespace()))
    }
}

fn make_victim(object: &Object, number: u64) {
    let mut state = object.state.lock();
    if let Some(ticket) = state.pending.iter_mut().find(|t| t.number == number) {
        ticket.victim = true;
    }
    object.event.notify_all();
}

fn slice(deadline: Deadline) -> Deadline {
    match (deadline, Deadline::after(SLICE)) {
        (Deadline::At(end), Deadline::At(slice)) => Deadline::At(end.min(slice)),
        (_, slice) => slice,
    }
}

fn passed(deadline: Deadline) -> bool {
    matches!(deadline, Deadline::At(end) if end <= Instant::now())
}
