//! Waiting for a ticket, and deadlocks.
//!
//! Invariants
//! 1. A session waits for at most one ticket; while it does, it is in `Waiters`.
//! 2. A waiter parks only with its current blockers in the graph, or for a short slice after which it
//!    tries again: a deadlock is never slept through.
//! 3. A deadlock is believed when all its edges were found in the tickets twice, the second time with the same
//!    tickets in the same rounds (`turns`) as the first: then all its members waited at once, and within a round
//!    nobody who waits releases anything. A cycle through other kinds of lock is believed when it stays
//!    ([`Suspicion`]).
//! 4. The victim is the lightest waiter: a DML statement loses to DDL, whoever came last. Of equals it is the one whose
//!    wait began last, slices and gaps being one wait, whoever finds the cycle.
//! 5. A request that waits is one wait of the tables of waits, however often its owner looks, and through the slices and gaps
//!    of a turn: each lets its wait go on ([`LongWait`]), and who gets the lock or gives up ends it.

use crate::locks::{Mdl, MdlError};
use crate::mode::{Mode, Namespace};
use crate::object::Object;
use crate::queue::blockers;
use crate::turns::{Begun, Left, Limits, Wait};
use instrument::WaitObject;
use std::cmp::Reverse;
use std::sync::Arc;
use sync::waits::{EdgeGuard, SLICE, Suspicion};
use sync::{LongWait, WaitResult};

/// One request that waits.
#[derive(Clone, Copy)]
pub(crate) struct Waiting<'a> {
    pub(crate) object: &'a Arc<Object>,
    pub(crate) number: u64,
    pub(crate) owner: u64,
    pub(crate) mode: Mode,
    /// It is part of no set of its statement's, whatever turn that takes.
    pub(crate) alone: bool,
}

impl Waiting<'_> {
    /// What is waited for, as the tables of waits tell it: it has the number of the request's row in `metadata_locks`.
    pub(crate) fn about(&self) -> (u64, WaitObject) {
        about(self.object, self.number)
    }
}

fn about(object: &Object, number: u64) -> (u64, WaitObject) {
    let name = object.name();
    let text = |text: &str| (!text.is_empty()).then(|| text.into());
    let kind = Some(name.namespace.object_type());
    let (schema, name, index) = (text(&name.schema), text(&name.name), None);
    (object.row_id(number), WaitObject { kind, schema, name, index })
}

/// What a waiter finds when it looks.
enum Look {
    Granted,
    Victim,
    Blocked(Vec<u64>),
}

/// What to do about a cycle in the graph.
enum Cycle {
    /// Look again: an edge was out of date, is unproven yet, or another waiter was told to give up.
    Again,
    /// The requester is the victim.
    Mine,
}

/// A ticket that is an edge of a cycle.
struct Member {
    object: Arc<Object>,
    number: u64,
    round: u64,
    since: u64,
    weight: u32,
}

/// What was found of a member; `None`: it waits for another kind of lock.
type Proof = Option<Member>;

impl Mdl {
    /// What kind of thing the session in a slot waits to lock.
    #[must_use]
    pub fn waited_for(&self, slot: usize) -> Option<Namespace> {
        Some(self.waiters.of(slot as u64)?.object.namespace())
    }

    /// The same, as the tables of waits tell it: the number of the request's row in `metadata_locks`, and what it is of.
    #[must_use]
    pub fn waits_about(&self, slot: usize) -> Option<(u64, WaitObject)> {
        let Wait { object, number, .. } = self.waiters.of(slot as u64)?;
        Some(about(&object, number))
    }

    /// Waits until the ticket is granted. On an error the ticket is gone; it is paused on [`MdlError::Yielded`].
    pub(crate) fn wait(&self, w: Waiting<'_>, begun: Begun) -> Result<(), MdlError> {
        let Begun { limits, before, left } = begun;
        if let Some(before) = before {
            self.withdraw(&before.object, before.number);
        }
        let mut long = go_on(left, &w);
        let end = self.wait_loop(&w, &limits, &mut long);
        let granted = match end {
            Ok(()) => true,
            Err(MdlError::Yielded) => self.pause(&w),
            Err(error) => {
                if error == MdlError::TimedOut {
                    self.blame(&w);
                }
                self.withdraw(w.object, w.number)
            }
        };
        if granted || end != Err(MdlError::Yielded) {
            self.waiters.remove(w.owner);
            w.object.event.end_wait(long, Some(&|| w.about()));
        } else {
            self.waiters.leave(&w, long);
        }
        if granted { Ok(()) } else { end }
    }

    fn wait_loop(
        &self,
        w: &Waiting<'_>,
        limits: &Limits,
        long: &mut LongWait,
    ) -> Result<(), MdlError> {
        let stop = limits.stop();
        let mut suspicion = Suspicion::default();
        loop {
            let seen = w.object.event.prepare();
            let blocked_by = match self.look(w) {
                Look::Granted => return Ok(()),
                Look::Victim => return Err(MdlError::Deadlock),
                Look::Blocked(by) => by,
            };
            let edges = self.publish(w, &blocked_by, &mut suspicion)?;
            let published = edges.is_some();
            let until = if published { limits.step() } else { stop.within(SLICE) };
            let result = w.object.event.wait_part(long, seen, until, Some(&|| w.about()));
            drop(edges);
            #[cfg(loom)]
            if !published {
                // A model has no time: a slice is over at once, and others must move on first.
                loom::thread::yield_now();
            }
            match result {
                WaitResult::Woken => {}
                WaitResult::TimedOut
                    if until != stop
                        && !stop.passed()
                        && !(cfg!(loom) && limits.slice.is_some()) =>
                {
                    limits.tell(&blocked_by);
                }
                WaitResult::TimedOut if limits.slice.is_some() && !limits.until.passed() => {
                    return Err(MdlError::Yielded);
                }
                WaitResult::TimedOut => return Err(MdlError::TimedOut),
                WaitResult::Killed => return Err(MdlError::Killed),
            }
        }
    }

    /// Says whom the ticket waits for; `None` while a cycle is in doubt.
    pub(crate) fn publish(
        &self,
        w: &Waiting<'_>,
        blocked_by: &[u64],
        suspicion: &mut Suspicion,
    ) -> Result<Option<EdgeGuard<'_>>, MdlError> {
        match self.graph.add_all(w.owner, blocked_by) {
            Ok(edges) => Ok(Some(edges)),
            Err(deadlock) => match self.judge(w, deadlock.cycle, suspicion) {
                Cycle::Mine => Err(MdlError::Deadlock),
                Cycle::Again => Ok(None),
            },
        }
    }

    /// Grants whatever can be granted now, then says how the ticket stands.
    fn look(&self, w: &Waiting<'_>) -> Look {
        let mut state = w.object.state();
        self.reschedule(w.object, &mut state);
        let Some(ticket) = state.pending.iter().find(|t| t.number == w.number).copied() else {
            return Look::Granted;
        };
        if ticket.victim {
            return Look::Victim;
        }
        Look::Blocked(blockers(w.object, &state, &self.holders(w.object), &ticket))
    }

    /// Whom a paused ticket would wait for.
    pub(crate) fn blockers_of(&self, w: &Waiting<'_>) -> Result<Vec<u64>, MdlError> {
        match self.look(w) {
            Look::Granted => Ok(Vec::new()),
            Look::Victim => Err(MdlError::Deadlock),
            Look::Blocked(by) => Ok(by),
        }
    }

    /// Takes a ticket back; `true` when it was granted in the meantime and stays.
    pub(crate) fn withdraw(&self, object: &Object, number: u64) -> bool {
        let mut state = object.state();
        let Some(at) = state.pending.iter().position(|t| t.number == number) else {
            return true;
        };
        state.pending.remove(at);
        self.after_removal(object, &mut state);
        false
    }

    /// The ticket stands aside, and everyone behind it goes on; `true` when it was granted in the meantime.
    fn pause(&self, w: &Waiting<'_>) -> bool {
        let mut state = w.object.state();
        self.waiters.pause(w.owner);
        let Some(ticket) = state.pending.iter_mut().find(|t| t.number == w.number) else {
            return true;
        };
        ticket.paused = true;
        self.after_removal(w.object, &mut state);
        false
    }

    /// Rules 3 and 4. `cycle` begins with the requester; each member waits for the next.
    fn judge(&self, w: &Waiting<'_>, cycle: Vec<u64>, suspicion: &mut Suspicion) -> Cycle {
        let (Some(first), Some(second)) = (self.prove(&cycle), self.prove(&cycle)) else {
            return Cycle::Again;
        };
        let tickets = |round: &[Proof]| -> Vec<Option<(u64, u64)>> {
            round.iter().map(|proof| proof.as_ref().map(|m| (m.number, m.round))).collect()
        };
        if tickets(&first) != tickets(&second) {
            return Cycle::Again;
        }
        if second.iter().any(Option::is_none) && !suspicion.is_proved(cycle) {
            return Cycle::Again;
        }
        // The requester's own wait is among them.
        let latest_of_light = |member: &&Member| (member.weight, Reverse(member.since));
        match second.iter().flatten().min_by_key(latest_of_light) {
            Some(victim) if !Arc::ptr_eq(&victim.object, w.object) || victim.number != w.number => {
                make_victim(&victim.object, victim.number);
                Cycle::Again
            }
            _ => Cycle::Mine,
        }
    }

    /// Finds every edge of a cycle in the tickets; `None`, with the owner woken, when one is out of date.
    fn prove(&self, cycle: &[u64]) -> Option<Vec<Proof>> {
        let nexts = cycle.iter().skip(1).chain(cycle.first());
        cycle.iter().zip(nexts).map(|(&member, &next)| self.prove_edge(member, next)).collect()
    }

    fn prove_edge(&self, member: u64, next: u64) -> Option<Proof> {
        let Some(wait) = self.waiters.of(member) else {
            // Not one of ours, or one that has just stopped waiting: then its edges are gone.
            return self.graph.edges().contains(&(member, next)).then_some(None);
        };
        if wait.in_slice {
            return None;
        }
        let Some(weight) = self.edge_weight(&wait.object, wait.number, next) else {
            wait.object.event.notify_all();
            return None;
        };
        let Wait { object, number, round, since, .. } = wait;
        Some(Some(Member { object, number, round, since, weight }))
    }

    /// The weight of a pending ticket if it really waits for session `next`.
    fn edge_weight(&self, object: &Object, number: u64, next: u64) -> Option<u32> {
        let state = object.state();
        let ticket = state.pending.iter().find(|t| t.number == number && !t.victim)?;
        let by = blockers(object, &state, &self.holders(object), ticket);
        by.contains(&next).then(|| ticket.mode.deadlock_weight(object.namespace()))
    }
}

/// What the owner's last slice or gap left goes on, if it is the same that is waited for; else that wait is over.
pub(crate) fn go_on(left: Option<Left>, w: &Waiting<'_>) -> LongWait {
    match left {
        Some(left) if left.is_of(w) => left.long,
        Some(left) => {
            left.end();
            LongWait::default()
        }
        None => LongWait::default(),
    }
}

impl Left {
    /// The wait is over: the lock was there when it was asked for again, or nobody asks for it any more.
    pub(crate) fn end(self) {
        self.object.event.end_wait(self.long, Some(&|| about(&self.object, self.number)));
    }
}

fn make_victim(object: &Object, number: u64) {
    let mut state = object.state();
    if let Some(ticket) = state.pending.iter_mut().find(|t| t.number == number) {
        ticket.victim = true;
    }
    object.event.notify_all();
}
