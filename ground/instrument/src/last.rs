//! The event that a session ended last, where its history does not tell it.
//!
//! `events_..._current` shows the last event of the history, so that an event is written once. Who empties one of both leaves
//! here what the other one goes on to show.

use crate::OwnMemory;
use crate::ring::Ring;

/// The last event of a history that was emptied, and the number up to which no event is shown.
#[derive(Debug)]
pub(crate) struct Last<R> {
    kept: Ring<R>,
    hidden: u64,
}

impl<R> Default for Last<R> {
    fn default() -> Self {
        Last { kept: Ring::new(), hidden: 0 }
    }
}

impl<R: Clone + Default> Last<R> {
    /// The history is emptied whose last event this is.
    pub fn keep(&mut self, last: Option<R>, memory: &'static OwnMemory) {
        if let Some(last) = last
            && let Some(place) = self.kept.place(|| 1, memory)
        {
            *place = last;
        }
    }

    /// So many events have ended, and none of them is shown.
    pub fn hide(&mut self, events: u64) {
        *self = Last { kept: Ring::new(), hidden: events };
    }

    /// The event that ended last: that of the history, if there is one. `number` is the one with which it ended.
    pub fn shown(&self, of_history: Option<R>, number: impl Fn(&R) -> u64) -> Option<R> {
        let last = of_history.or_else(|| self.kept.in_order().last().cloned());
        last.filter(|last| number(last) > self.hidden)
    }
}
