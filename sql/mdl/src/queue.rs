//! The slow path of one object: tickets under its mutex, judged by the matrices.
//!
//! Invariants
//! 1. Every strong ticket had the mask closed and a heavy fence done before the slots were scanned for
//!    it: what the scan does not find will find the mask.
//! 2. Whoever changes tickets, or finds a grant gone from a slot, grants in order of arrival all that can
//!    be granted, and wakes everyone if anything changed: waiters keep fresh edges and find their grants.

use crate::fair::Fair;
use crate::locks::{Mdl, MdlError, scope_count};
use crate::mode::Mode;
use crate::object::{Id, Object, State, Ticket};
use crate::wait::Waiting;
use std::sync::Arc;
use stdx::Ordering;
use sync::{Deadline, SessionSlot, asym};

/// Who holds an object in its slot, and how.
pub(crate) type Holders = Vec<(u64, Mode)>;

impl Mdl {
    #[cold]
    pub(crate) fn acquire_slow(
        &self,
        slot: &SessionSlot,
        object: &Arc<Object>,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), MdlError> {
        self.acquire_ticket(slot, (object, mode), deadline, false)
    }

    /// Takes a lock of GET_LOCK, which is of no set.
    pub(crate) fn acquire_alone(
        &self,
        slot: &SessionSlot,
        object: &Arc<Object>,
        deadline: Deadline,
    ) -> Result<(), MdlError> {
        self.acquire_ticket(slot, (object, Mode::X), deadline, true)
    }

    fn acquire_ticket(
        &self,
        slot: &SessionSlot,
        (object, mode): (&Arc<Object>, Mode),
        deadline: Deadline,
        alone: bool,
    ) -> Result<(), MdlError> {
        let namespace = object.namespace();
        assert!(mode.valid_in(namespace), "{mode:?} is no mode of {namespace:?}");
        let owner = self.slots.session_index(slot) as u64;
        let strong = !mode.weak_in(namespace);
        let paused = if strong { self.waiters.paused(owner, object, mode) } else { None };
        self.shards.enter(object);
        let (w, begun) = {
            let mut state = object.state();
            let number = state.resume(paused).unwrap_or_else(|| state.ask(owner, mode));
            if strong && namespace.has_weak() {
                // Rule 1; under the mutex, so that nobody scans for this ticket before.
                object.update_closed(&state);
                asym::heavy();
            }
            self.reschedule(object, &mut state);
            let w = Waiting { object, number, owner, mode, alone };
            let granted = state.granted.iter().any(|t| t.number == number);
            // Under the latch: see rule 3 of `turns`.
            (w, (!granted).then(|| self.waiters.begin(&w, deadline)))
        };
        if let Some(begun) = begun {
            let waited = self.wait(w, begun);
            if waited.is_err() {
                self.shards.leave(object);
            }
            waited?;
        } else if paused.is_some()
            && let Some(left) = self.waiters.end_pause(owner)
        {
            left.end();
        }
        let count = slot.grants_overflow.load(Ordering::Relaxed);
        slot.grants_overflow.store(count + 1, Ordering::Relaxed);
        Ok(())
    }

    /// Grants what can be granted, in order of arrival; tells whether something was.
    pub(crate) fn reschedule(&self, object: &Object, state: &mut State) -> bool {
        if state.pending.is_empty() {
            state.fair = Fair::default();
            return false;
        }
        let holders = self.holders(object);
        let limit = self.write_locks_max.load(Ordering::Relaxed);
        let (mut at, mut changed) = (0, false);
        state.fair.wait_now(state.waiting());
        while let Some(&ticket) = state.pending.get(at) {
            if ticket.victim
                || ticket.paused
                || !blockers(object, state, &holders, &ticket).is_empty()
            {
                at += 1;
                continue;
            }
            state.pending.remove(at);
            state.granted.push(ticket);
            changed = true;
            let waiting = state.waiting();
            let other_order = state.fair.granted(ticket.mode, waiting, limit);
            if state.fair.wait_now(waiting) || other_order {
                at = 0;
            }
        }
        if changed {
            object.event.notify_all();
        }
        changed
    }

    /// The grants of an object that are in slots.
    pub(crate) fn holders(&self, object: &Object) -> Holders {
        let id = object.id();
        let mut found = Vec::new();
        if !id.namespace().has_weak() {
            return found;
        }
        for slot in self.slots.sessions() {
            let owner = || self.slots.session_index(slot) as u64;
            if let Some(count) = scope_count(slot, id) {
                if count > 0 {
                    found.push((owner(), Mode::IX));
                }
                continue;
            }
            for word in slot.grants_in_use() {
                match Id::of_grant(word.load(Ordering::Acquire)) {
                    Some((held, mode)) if held == id => found.push((owner(), mode)),
                    _ => {}
                }
            }
        }
        found
    }

    /// Gives back a grant that is a ticket.
    #[cold]
    pub(crate) fn release_ticket(&self, slot: &SessionSlot, object: &Object, mode: Mode) {
        let owner = self.slots.session_index(slot) as u64;
        let mut state = object.state();
        let at = state.granted.iter().position(|t| t.owner == owner && t.mode == mode);
        debug_assert!(at.is_some(), "session {owner} gives back {mode:?}, which it does not hold");
        let Some(at) = at else { return };
        state.granted.remove(at);
        let count = slot.grants_overflow.load(Ordering::Relaxed);
        slot.grants_overflow.store(count.saturating_sub(1), Ordering::Relaxed);
        self.after_removal(object, &mut state);
        drop(state);
        self.shards.leave(object);
    }

    /// Gives back every ticket a session has of an object.
    pub(crate) fn drop_tickets(&self, object: &Object, owner: u64) {
        let mut state = object.state();
        let before = state.granted.len();
        state.granted.retain(|t| t.owner != owner);
        let gone = before - state.granted.len();
        if gone != 0 {
            self.after_removal(object, &mut state);
        }
        drop(state);
        (0..gone).for_each(|_| self.shards.leave(object));
    }

    /// A ticket is gone: the mask may open, others may be granted, and those still waiting look again.
    pub(crate) fn after_removal(&self, object: &Object, state: &mut State) {
        object.update_closed(state);
        self.reschedule(object, state);
        object.event.notify_all();
    }

    /// Turns a granted ticket into a weaker one at once (SNRW or X back to what ALTER's next phase
    /// needs); nothing conflicting can come between. Nothing happens if the session has no such ticket.
    pub fn downgrade(&self, slot: &SessionSlot, object: &Object, from: Mode, to: Mode) {
        debug_assert!(from.covers(to, object.namespace()), "{to:?} is not weaker than {from:?}");
        let owner = self.slots.session_index(slot) as u64;
        let mut state = object.state();
        if let Some(t) = state.granted.iter_mut().find(|t| t.owner == owner && t.mode == from) {
            t.mode = to;
            self.after_removal(object, &mut state);
        }
    }
}

/// The other sessions that a pending ticket waits for: holders of conflicting grants, and owners of
/// pending requests that go first. Each once.
pub(crate) fn blockers(
    object: &Object,
    state: &State,
    holders: &[(u64, Mode)],
    ticket: &Ticket,
) -> Vec<u64> {
    let namespace = object.namespace();
    let granted = ticket.mode.conflicts_granted(namespace);
    let pending = state.fair.tired.behind(ticket.mode, namespace);
    let in_slots = holders.iter().filter(|(_, m)| m.bit() & granted != 0).map(|(owner, _)| *owner);
    let tickets = state.granted.iter().filter(|t| t.mode.bit() & granted != 0).map(|t| t.owner);
    let goes_first = |t: &&Ticket| t.mode.bit() & pending != 0 && !t.victim && !t.paused;
    let first = state.pending.iter().filter(goes_first).map(|t| t.owner);
    let mut found: Vec<u64> =
        in_slots.chain(tickets).chain(first).filter(|o| *o != ticket.owner).collect();
    found.sort_unstable();
    found.dedup();
    found
}
