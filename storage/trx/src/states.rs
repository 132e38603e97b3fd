//! The ring of transaction states: which ids are active, and at which LSN the others ended.
//!
//! 1. An entry is `id << 16 | session << 1 | 1` while its transaction is active, `LSN << 1`
//!    afterwards.
//! 2. An entry is given to a later id only when its transaction has ended; so an id without an
//!    active entry of its own has ended (or was never given, which no row's id is).
//! 3. Neighbouring ids lie in different cache lines: committers do not meet.

use base::{Lsn, TrxId};
use stdx::{Ordering, SharedAtomic, class};

/// The largest number of entries of the ring.
pub const STATES_MAX: usize = 1 << 20;

/// "No session": a transaction found by recovery.
const NO_SESSION: u64 = 0x7fff;

/// The ring of transaction states.
pub struct States {
    entries: Box<[SharedAtomic<u64, { class::TRX }>]>,
}

impl States {
    /// A ring of `entries`, made a power of two between 64 and [`STATES_MAX`].
    pub fn new(entries: usize) -> States {
        let n = entries.next_power_of_two().clamp(64, STATES_MAX);
        States { entries: (0..n).map(|_| SharedAtomic::new(0)).collect() }
    }

    fn entry(&self, id: TrxId) -> &SharedAtomic<u64, { class::TRX }> {
        let n = self.entries.len();
        let i = id.0 as usize & (n - 1);
        // Invariant 3: sixteen entries share a 128-byte line.
        let i = (i & 15) * (n / 16) + (i >> 4);
        &self.entries[i]
    }

    /// Makes `id` active for the session slot `session`. `false`: the transaction that has the
    /// entry is still active, nothing was done.
    #[must_use]
    pub fn start(&self, id: TrxId, session: Option<usize>) -> bool {
        let entry = self.entry(id);
        let seen = entry.load(Ordering::Acquire);
        if seen & 1 == 1 {
            return false;
        }
        let session = session.map_or(NO_SESSION, |s| (s as u64).min(NO_SESSION));
        let active = (id.0 << 16) | (session << 1) | 1;
        entry.compare_exchange(seen, active, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Ends `id`: what it wrote is visible to everyone from now on (or was undone before).
    pub fn end(&self, id: TrxId, lsn: Lsn) {
        self.entry(id).store(lsn.0 << 1, Ordering::Release);
    }

    /// Whether `id` is active: one load.
    #[inline]
    pub fn is_active(&self, id: TrxId) -> bool {
        let v = self.entry(id).load(Ordering::Acquire);
        v & 1 == 1 && v >> 16 == id.0
    }

    /// Whether `id` ended, and at or before `lsn`: what it wrote and was copied after the log's
    /// tail had reached `lsn` is final. `false` also when that is not known any more.
    #[inline]
    pub fn ended_by(&self, id: TrxId, lsn: Lsn) -> bool {
        let v = self.entry(id).load(Ordering::Acquire);
        v & 1 == 0 && v >> 1 <= lsn.0
    }

    /// The session slot of `id` while it is active and has one.
    pub fn session(&self, id: TrxId) -> Option<usize> {
        let v = self.entry(id).load(Ordering::Acquire);
        let session = v >> 1 & NO_SESSION;
        let active = v & 1 == 1 && v >> 16 == id.0;
        (active && session != NO_SESSION).then_some(session as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_active_between_start_and_end_only() {
        let states = States::new(64);
        assert!(!states.is_active(TrxId(5)));
        assert!(states.start(TrxId(5), Some(3)));
        assert!(states.is_active(TrxId(5)));
        assert_eq!(states.session(TrxId(5)), Some(3));
        assert!(!states.is_active(TrxId(5 + 64)), "another id of the same entry");
        states.end(TrxId(5), Lsn(77));
        assert!(!states.is_active(TrxId(5)));
    }

    #[test]
    fn an_entry_is_not_taken_from_an_active_transaction() {
        let states = States::new(64);
        assert!(states.start(TrxId(1), None));
        assert_eq!(states.session(TrxId(1)), None);
        assert!(!states.start(TrxId(65), None));
        assert!(states.is_active(TrxId(1)));
        states.end(TrxId(1), Lsn(1));
        assert!(states.start(TrxId(65), None));
    }

    #[test]
    fn every_id_of_a_round_has_its_own_entry() {
        let states = States::new(256);
        assert!((0..256).all(|i| states.start(TrxId(i), None)));
    }
}
