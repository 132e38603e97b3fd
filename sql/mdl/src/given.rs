//! Grants that go to another slot: a prepared transaction keeps what its session had locked, and the session goes on.
//!
//! 1. A grant is moved under its object's latch, under which all look who holds what: nobody finds it twice, or nowhere.
//!    Guard: the model `a_grant_that_is_given_away_excludes_all_the_time`.
//! 2. No name is forgotten meanwhile: who does that goes through the slots without latches. Guard: the type of
//!    `Registry::keep_names`.

use crate::held::Held;
use crate::locks::{Mdl, clear, publish};
use crate::mode::Mode;
use crate::object::{Id, Object};
use stdx::Ordering;
use sync::SessionSlot;

impl Mdl {
    /// Gives the grants in `held`, which are `from`'s, to `to`, a slot in which nobody runs. Only `from`'s own thread calls it.
    pub fn give_to(&self, from: &SessionSlot, to: &SessionSlot, held: &Held) {
        let _kept = self.registry.keep_names();
        for &grant in held.since(0) {
            if let Some((id, mode)) = Id::of_grant(grant)
                && let Some(object) = self.registry.by_place(id)
            {
                self.give_grant((from, to), object, (grant, mode));
            }
        }
    }

    fn give_grant(
        &self,
        (from, to): (&SessionSlot, &SessionSlot),
        object: &Object,
        (grant, mode): (u64, Mode),
    ) {
        let (giver, heir) = (self.slots.session_index(from), self.slots.session_index(to));
        let mut state = object.state();
        if clear(from, grant) {
            let published = publish(to, grant);
            assert_eq!(published, Ok(true), "an empty slot has room for what another had");
        } else {
            let his = |owner: u64| owner == giver as u64;
            let mut tickets = state.granted.iter_mut();
            let Some(ticket) = tickets.find(|t| his(t.owner) && t.mode == mode) else { return };
            ticket.owner = heir as u64;
            let count = |slot: &SessionSlot| slot.grants_overflow.load(Ordering::Relaxed);
            from.grants_overflow.store(count(from).saturating_sub(1), Ordering::Relaxed);
            to.grants_overflow.store(count(to) + 1, Ordering::Relaxed);
        }
        drop(state);
        // Who waits has edges to the giver.
        object.event.notify_all();
    }
}
