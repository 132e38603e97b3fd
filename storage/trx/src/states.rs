//! The ring of transaction states: which ids are active, and at which LSN the others ended.
//!
//! 1. An entry is `id << 16 | session << 2 | committing << 1 | 1` while its transaction is active,
//!    `LSN << 9 | round << 1` afterwards; the round is the id's number of trips around the ring.
//!    Guard: the asserts of [`States::start`] and [`States::end`].
//! 2. An entry is given to a later id only when its transaction has ended; so an id without an
//!    entry of its own has ended (or was never given, which no row's id is). Guard: [`States::start`] refuses;
//!    the asserts of `States::own`.
//! 3. A committer sets `committing` before the log gives its commit record a place: who loaded the
//!    log's tail behind that record finds the mark or the end (engine study 3.1, P-B). Guard: `tests/models.rs`, views.
//! 4. Neighbouring ids lie in different cache lines, in rings of 256 entries or more: committers do not meet.
//!    Guard: `neighbours_lie_in_different_cache_lines`.
//! 5. Eight bits of the round are kept. An id that is further back than half of what they tell apart
//!    is answered as forgotten, whatever the entry says. Guard: `a_later_round_knows_whom_it_follows`.

use base::{Lsn, TrxId};
use stdx::{Ordering, SharedAtomic, class};

/// The largest number of entries of the ring.
pub const STATES_MAX: usize = 1 << 20;

/// The smallest number of entries of the ring.
const STATES_MIN: usize = if cfg!(loom) { 16 } else { 64 };

/// "No session": a transaction found by recovery.
const NO_SESSION: u64 = 0x3fff;
const ACTIVE: u64 = 1;
const COMMITTING: u64 = 2;
/// Rounds that an entry's eight bits tell apart.
const ROUNDS: u64 = 256;

/// What became of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It is active.
    Active,
    /// Its commit record has got its place in the log, or is about to: its end is a moment away.
    Committing,
    /// It ended at this place of the log.
    At(Lsn),
    /// It ended before a later transaction got its entry.
    Forgotten,
}

/// What a transaction leaves whose entry a later one takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Past {
    /// Which one.
    pub id: TrxId,
    /// Where it ended.
    pub end: Lsn,
}

/// The ring of transaction states.
pub struct States {
    entries: Box<[SharedAtomic<u64, { class::TRX_STATE }>]>,
}

impl States {
    /// A ring of `entries`, made a power of two between 64 and [`STATES_MAX`].
    pub fn new(entries: usize) -> States {
        let n = entries.next_power_of_two().clamp(STATES_MIN, STATES_MAX);
        States { entries: (0..n).map(|_| SharedAtomic::new(0)).collect() }
    }

    fn entry(&self, id: TrxId) -> &SharedAtomic<u64, { class::TRX_STATE }> {
        &self.entries[self.index(id)]
    }

    fn index(&self, id: TrxId) -> usize {
        let n = self.entries.len();
        let i = id.0 as usize & (n - 1);
        // Invariant 4: sixteen entries share a 128-byte line.
        (i & 15) * (n / 16) + (i >> 4)
    }

    /// The entry of `id`, which is active, and what it holds: for its owner.
    fn own(&self, id: TrxId) -> (&SharedAtomic<u64, { class::TRX_STATE }>, u64) {
        let entry = self.entry(id);
        let seen = entry.load(Ordering::Relaxed);
        assert!(seen & ACTIVE != 0 && seen >> 16 == id.0, "transaction {id:?} is not active");
        (entry, seen)
    }

    fn round(&self, id: TrxId) -> u64 {
        id.0 >> self.entries.len().trailing_zeros()
    }

    /// How far back an id may lie whose round is certain (invariant 5).
    pub fn certain(&self) -> u64 {
        self.entries.len() as u64 * (ROUNDS / 2)
    }

    /// The transaction that had the entry which `id` is about to take, if it is one that ended since
    /// the start. `None` also while it is active.
    pub fn past(&self, id: TrxId) -> Option<Past> {
        let seen = self.entry(id).load(Ordering::Acquire);
        if seen & ACTIVE != 0 || seen == 0 {
            return None;
        }
        let back = self.round(id).wrapping_sub(seen >> 1) % ROUNDS;
        let back = if back == 0 { ROUNDS } else { back };
        let before = id.0.checked_sub(back * self.entries.len() as u64)?;
        Some(Past { id: TrxId(before), end: Lsn(seen >> 9) })
    }

    /// Makes `id` active for the session slot `session`. `false`: the transaction that has the
    /// entry is still active, nothing was done.
    #[must_use]
    pub fn start(&self, id: TrxId, session: Option<usize>) -> bool {
        let entry = self.entry(id);
        let seen = entry.load(Ordering::Acquire);
        if seen & ACTIVE != 0 {
            return false;
        }
        let session = session.map_or(NO_SESSION, |s| (s as u64).min(NO_SESSION));
        let active = (id.0 << 16) | (session << 2) | ACTIVE;
        assert_eq!(active >> 16, id.0, "a transaction's id has 48 bits");
        entry.compare_exchange(seen, active, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// The owner of `id` is about to log its commit record.
    pub fn committing(&self, id: TrxId) {
        let (entry, seen) = self.own(id);
        entry.store(seen | COMMITTING, Ordering::Release);
    }

    /// The commit record of `id` could not be logged.
    pub fn not_committing(&self, id: TrxId) {
        let (entry, seen) = self.own(id);
        entry.store(seen & !COMMITTING, Ordering::Release);
    }

    /// Ends `id` at `lsn`: what it wrote is visible from there on (or was undone before).
    pub fn end(&self, id: TrxId, lsn: Lsn) {
        let (entry, _) = self.own(id);
        let ended = lsn.0 << 9 | (self.round(id) % ROUNDS) << 1;
        assert_eq!(ended >> 9, lsn.0, "a place of the log has 55 bits");
        entry.store(ended, Ordering::Release);
    }

    /// What became of `id`; `next` is an id that was not given yet.
    #[inline]
    pub fn fate(&self, id: TrxId, next: TrxId) -> End {
        let v = self.entry(id).load(Ordering::Acquire);
        if v & ACTIVE != 0 {
            return match v >> 16 == id.0 {
                true if v & COMMITTING != 0 => End::Committing,
                true => End::Active,
                false => End::Forgotten,
            };
        }
        let own = v >> 1 & (ROUNDS - 1) == self.round(id) % ROUNDS;
        match own && v != 0 && next.0.saturating_sub(id.0) < self.certain() {
            true => End::At(Lsn(v >> 9)),
            false => End::Forgotten,
        }
    }

    /// Whether `id` is active: one load.
    #[inline]
    pub fn is_active(&self, id: TrxId) -> bool {
        let v = self.entry(id).load(Ordering::Acquire);
        v & ACTIVE != 0 && v >> 16 == id.0
    }

    /// Whether `id` ended, and at or before `lsn`: what it wrote and was copied after the log's
    /// tail had reached `lsn` is final. `false` also when that is not known any more.
    #[inline]
    pub fn ended_by(&self, id: TrxId, lsn: Lsn) -> bool {
        let v = self.entry(id).load(Ordering::Acquire);
        v & ACTIVE == 0 && v >> 9 <= lsn.0
    }

    /// `id` goes on without its session, which has other things to do.
    pub fn disown(&self, id: TrxId) {
        let (entry, seen) = self.own(id);
        entry.store(seen | NO_SESSION << 2, Ordering::SeqCst);
    }

    /// `id` goes on in another session slot. By its owner, who waits for nothing.
    pub fn give_to(&self, id: TrxId, session: usize) {
        let (entry, seen) = self.own(id);
        let session = (session as u64).min(NO_SESSION);
        entry.store(seen & !(NO_SESSION << 2) | session << 2, Ordering::SeqCst);
    }

    /// The session slot of `id` while it is active and has one.
    pub fn session(&self, id: TrxId) -> Option<usize> {
        let v = self.entry(id).load(Ordering::Acquire);
        let session = v >> 2 & NO_SESSION;
        let active = v & ACTIVE != 0 && v >> 16 == id.0;
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
        states.give_to(TrxId(5), 4);
        assert_eq!(states.session(TrxId(5)), Some(4));
        assert!(!states.is_active(TrxId(5 + 64)), "another id of the same entry");
        states.committing(TrxId(5));
        assert_eq!(states.fate(TrxId(5), TrxId(6)), End::Committing);
        assert!(states.is_active(TrxId(5)));
        states.end(TrxId(5), Lsn(77));
        assert!(!states.is_active(TrxId(5)));
        assert_eq!(states.fate(TrxId(5), TrxId(6)), End::At(Lsn(77)));
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

    #[test]
    fn neighbours_lie_in_different_cache_lines() {
        let states = States::new(256);
        for id in 1..600 {
            let apart = states.index(TrxId(id)).abs_diff(states.index(TrxId(id - 1)));
            assert!(apart * 8 >= 120, "{id} lies {apart} entries from the one before");
        }
    }

    #[test]
    fn a_later_round_knows_whom_it_follows() {
        let states = States::new(64);
        assert_eq!(states.past(TrxId(5)), None, "nobody since the start");
        for round in 0..600 {
            let id = TrxId(5 + 64 * round);
            let before = round.checked_sub(1).map(|r| Past { id: TrxId(5 + 64 * r), end: Lsn(r) });
            assert_eq!(states.past(id), before.filter(|p| p.end != Lsn(0)));
            assert!(states.start(id, None));
            states.end(id, Lsn(round));
            assert_eq!(
                states.fate(id, TrxId(id.0 + 1)),
                match round {
                    0 => End::Forgotten,
                    _ => End::At(Lsn(round)),
                }
            );
            if let Some(past) = before {
                assert_eq!(states.fate(past.id, TrxId(id.0 + 1)), End::Forgotten);
            }
        }
        let old = TrxId(5 + 64 * (599 - 256));
        assert_eq!(states.fate(old, TrxId(5 + 64 * 599 + 1)), End::Forgotten, "same eight bits");
    }
}
