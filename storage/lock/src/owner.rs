//! Who owns locks: one record per session slot, used by one transaction after another.
//!
//! 1. `serial` is the number of the slot's transaction. A lock belongs to a slot and a serial, so one
//!    that was made for a transaction which has ended meanwhile never passes for the next one's. Guard: `Owner::lists`, asked by
//!    `Locks::verify`.
//! 2. A lock is in a shard only while it is in the list of its owner (`locks`), and it enters the list
//!    only if the serial is still its own, looked at under the list's mutex. The end of a transaction
//!    raises the serial and takes the list under the same mutex. So whoever makes locks for others
//!    (conversion, inheritance) never leaves one behind an ended transaction. Guard: `Locks::verify`, and the model
//!    `inheritance_meets_the_end_of_the_owners`.
//! 3. `count` is how many entries the list has had: the end of a transaction without locks is one load
//!    of it. See [`crate::Locks::convert`] for why that is enough. Guard: the model
//!    `a_conversion_meets_the_end_of_its_transaction`; `Owner::take` asserts that without a count there is no list.
//! 4. What a transaction had that was given to another slot ([`Owner::give_to`]) is that slot's, all at once, under the
//!    mutexes of both lists. Whoever makes a lock for it afterwards, having found one of before, learns there who has it now
//!    (`heirs`). Guard: the model `a_transaction_that_is_given_away_meets_inheritance`.
//! 5. `word` is the state of the slot's only wait: its number, and a code. WAITING becomes another code
//!    by one compare-and-swap, whose winner decides how the wait ends. Guard: `Owner::begin_wait` asserts
//!    that the one before has ended; `waits_end_at_the_deadline_or_by_a_kill_and_leave_nothing_behind`.

use crate::memory::{Memory, Share};
use crate::mode::{Shape, Target};
use crate::queue::{By, Lock};
use base::{IndexId, TrxId};
use smallvec::SmallVec;
use stdx::{LocalAtomic, Ordering, SharedAtomic, class};
use sync::waits::ROW_LOCK;
use sync::{Event, Mutex};

instrument::classes! {
    static HELD: MutexClass = "wait/synch/mutex/innodb/trx_mutex";
    static WAIT: MutexClass = "wait/synch/mutex/innodb/lock_wait_mutex";
}

pub(crate) const WAITING: u64 = 0;
pub(crate) const GRANTED: u64 = 1;
/// Chosen to break a deadlock.
pub(crate) const VICTIM: u64 = 2;
/// What was waited for is there no more: look again.
pub(crate) const RETRY: u64 = 3;
const CODE: u64 = 3;

/// A lock in its owner's list: enough to find it, and to count lock structures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub hash: u64,
    pub index: IndexId,
    pub shape: Shape,
    /// It was waited for: InnoDB gives it a structure of its own.
    pub waited: bool,
}

/// What an owner has.
#[derive(Debug, Default)]
struct Locks {
    /// In the order in which they were made.
    held: Vec<Held>,
    /// Of which indexes it gave back locks of which shapes, and how many locks were older: InnoDB keeps their
    /// structures, empty.
    given_back: Vec<(LockKind, usize)>,
    /// Of which indexes and shapes there are runs.
    runs: Vec<LockKind>,
    memory: Share,
    /// Who has what transactions of these numbers had; see invariant 4.
    heirs: Vec<(u64, By)>,
}

/// Locks of one index and shape, which InnoDB has in one structure (on tables of one page).
pub(crate) type LockKind = (IndexId, Shape);

/// What a transaction had at its end.
pub(crate) struct Ended {
    pub serial: u64,
    pub held: Vec<Held>,
    pub runs: Vec<LockKind>,
    given_back: Vec<(LockKind, usize)>,
}

impl Ended {
    /// The kinds of its locks, the oldest first.
    pub fn kinds(&self) -> Vec<LockKind> {
        let held = self.held.iter().enumerate().map(|(at, h)| ((h.index, h.shape), at));
        let mut given_back = self.given_back.iter().copied().peekable();
        let mut kinds = Vec::new();
        for (kind, at) in held {
            let mut add = |kind| {
                if !kinds.contains(&kind) {
                    kinds.push(kind)
                }
            };
            while let Some((before, _)) = given_back.next_if(|(_, older)| *older <= at) {
                add(before);
            }
            add(kind);
        }
        kinds
    }
}

/// A target with its own memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub index: IndexId,
    pub key: Option<SmallVec<[u8; 24]>>,
}

impl Place {
    pub fn of(target: Target<'_>) -> Place {
        Place { index: target.index, key: target.key.map(SmallVec::from_slice) }
    }

    pub fn target(&self) -> Target<'_> {
        Target { index: self.index, key: self.key.as_deref() }
    }
}

/// What a waiting owner asks for; there while he waits.
#[derive(Clone, Debug)]
pub(crate) struct WaitingRequest {
    pub number: u64,
    pub place: Place,
    pub shape: Shape,
    /// Undo records of the transaction.
    pub undo: u64,
    /// Its table locks, and the indexes of which it has changed records without a lock.
    pub tables: u64,
    pub changed: Box<[IndexId]>,
    pub since_ns: u64,
}

/// The locks of a session slot's present transaction.
#[derive(Debug)]
pub struct Owner {
    slot: usize,
    serial: LocalAtomic<u64>,
    trx: LocalAtomic<u64>,
    /// The transaction whose locks all become locks of gaps where their records go, see [`Owner::inherit_all`].
    inherits: LocalAtomic<u64>,
    count: SharedAtomic<u32, { class::LOCK_OWNER }>,
    locks: Mutex<Locks>,
    word: SharedAtomic<u64, { class::LOCK_OWNER }>,
    waiting_request: Mutex<Option<WaitingRequest>>,
    /// Waited time that no counter has yet, in microseconds, below 1000.
    rest_us: LocalAtomic<u64>,
    pub(crate) event: Event,
}

impl Owner {
    pub(crate) fn new(slot: usize) -> Owner {
        Owner {
            slot,
            serial: LocalAtomic::new(1),
            trx: LocalAtomic::new(0),
            inherits: LocalAtomic::new(0),
            count: SharedAtomic::new(0),
            locks: Mutex::new(&HELD, Locks::default()),
            word: SharedAtomic::new(GRANTED),
            waiting_request: Mutex::new(&WAIT, None),
            rest_us: LocalAtomic::new(0),
            event: Event::of_locks(&ROW_LOCK),
        }
    }

    /// The session slot.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// The id of the slot's transaction, for reports; none until it writes.
    pub fn trx(&self) -> TrxId {
        TrxId(self.trx.load(Ordering::Relaxed))
    }

    /// Notes the id of the slot's transaction. Only the session's own thread calls it.
    pub fn set_trx(&self, trx: TrxId) {
        self.trx.store(trx.0, Ordering::Relaxed);
    }

    /// The statement has looked at a possible duplicate: until it ends, what its transaction has locked becomes
    /// locks of the gaps where records go, at levels without gap locks too.
    pub fn inherit_all(&self) {
        self.inherits.store(self.serial(), Ordering::Relaxed);
    }

    /// The statement ends.
    #[inline]
    pub fn end_statement(&self) {
        if self.inherits.load(Ordering::Relaxed) != 0 {
            self.inherits.store(0, Ordering::Relaxed);
        }
    }

    pub(crate) fn inherits(&self, serial: u64) -> bool {
        self.inherits.load(Ordering::Relaxed) == serial
    }

    /// The number of the slot's transaction.
    pub(crate) fn serial(&self) -> u64 {
        self.serial.load(Ordering::Acquire)
    }

    /// Whether the transaction may have locks: one load.
    #[inline]
    pub fn has_locks(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    /// Invariant 2; `false`: the transaction has ended.
    pub(crate) fn note(&self, serial: u64, held: Held, bytes: usize, all: &Memory) -> bool {
        let mut locks = self.locks.lock();
        if self.serial.load(Ordering::Relaxed) != serial {
            return false;
        }
        locks.held.push(held);
        locks.memory.add(bytes, all);
        self.count.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// As [`Self::note`], for a list of runs.
    pub(crate) fn note_runs(&self, serial: u64, kind: LockKind) -> bool {
        let mut locks = self.locks.lock();
        if self.serial.load(Ordering::Relaxed) != serial {
            return false;
        }
        locks.runs.push(kind);
        self.count.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// A list of runs has another size now, in bytes.
    pub(crate) fn resize(&self, serial: u64, (before, now): (usize, usize), all: &Memory) {
        let mut locks = self.locks.lock();
        if self.serial.load(Ordering::Relaxed) == serial {
            locks.memory.add(now.saturating_sub(before), all);
            locks.memory.sub(before.saturating_sub(now), all);
        }
    }

    /// Of which indexes and shapes there are runs.
    pub(crate) fn runs(&self) -> Vec<LockKind> {
        self.locks.lock().runs.clone()
    }

    /// A lock that was noted last is taken back.
    pub(crate) fn forget(&self, serial: u64, gone: (u64, &Lock), all: &Memory) {
        self.take_out(serial, gone, all, false);
    }

    /// A lock that was noted last is given back.
    pub(crate) fn give_back(&self, serial: u64, gone: (u64, &Lock), all: &Memory) {
        self.take_out(serial, gone, all, true);
    }

    fn take_out(&self, serial: u64, (hash, gone): (u64, &Lock), all: &Memory, given_back: bool) {
        let shape = gone.shape;
        let mut locks = self.locks.lock();
        if self.serial.load(Ordering::Relaxed) != serial {
            return;
        }
        if let Some(at) = locks.held.iter().rposition(|h| h.hash == hash && h.shape == shape) {
            let kind = (locks.held.remove(at).index, shape);
            locks.memory.sub(gone.bytes(), all);
            let known = locks.given_back.iter().any(|(k, _)| *k == kind);
            // The count only says "perhaps": it goes down to zero at the end. A structure that has other locks
            // is not empty; long lists are not looked through for one.
            let shared = |h: &Held| (h.index, h.shape) == kind;
            if given_back && !known && !locks.held.iter().rev().take(64).any(shared) {
                locks.given_back.push((kind, at));
            }
        }
    }

    /// Whether a lock is in the list; those of a transaction that is ending are not any more.
    pub(crate) fn lists(&self, lock: &Lock) -> bool {
        let (hash, locks) = (lock.place.target().hash(), self.locks.lock());
        let ended = self.serial.load(Ordering::Relaxed) != lock.by.serial;
        ended || locks.held.iter().any(|h| h.hash == hash && h.shape == lock.shape)
    }

    /// Ends the transaction: its serial and what it had. Only the session's own thread calls it.
    pub(crate) fn take(&self, all: &Memory) -> Ended {
        let mut locks = self.locks.lock();
        let serial = self.serial.load(Ordering::Relaxed);
        let nothing = locks.held.is_empty() && locks.runs.is_empty();
        assert!(nothing || self.has_locks(), "a list without a count (3)");
        self.serial.store(serial + 1, Ordering::Release);
        self.count.store(0, Ordering::Relaxed);
        locks.memory.clear(all);
        let heirs = std::mem::take(&mut locks.heirs);
        let Locks { held, given_back, runs, .. } =
            std::mem::replace(&mut *locks, Locks { heirs, ..Locks::default() });
        Ended { serial, held, runs, given_back }
    }

    /// Gives all that the transaction has to the one of `to`, which has nothing but what was given to it since its rows are
    /// `to`'s, and waits for nobody: it is over here.
    /// What it was: its number, where it has locks, and of which indexes and shapes runs. `is_over` says which transactions have
    /// ended. Only the session's own thread calls it.
    pub(crate) fn give_to(
        &self,
        to: &Owner,
        is_over: impl Fn(By) -> bool,
        all: &Memory,
    ) -> (u64, Vec<u64>, Vec<LockKind>) {
        assert_ne!(self.slot, to.slot, "a transaction is given to another slot");
        let mut locks = self.locks.lock();
        let mut his = to.locks.lock();
        assert!(his.runs.is_empty(), "the heir has locks of its own (4)");
        let serial = self.serial.load(Ordering::Relaxed);
        locks.heirs.retain(|(_, by)| !is_over(*by));
        locks.heirs.push((serial, By { slot: to.slot, serial: to.serial() }));
        let mut hashes: Vec<u64> = locks.held.iter().map(|h| h.hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        his.held.splice(0..0, locks.held.drain(..));
        his.given_back = std::mem::take(&mut locks.given_back);
        his.runs = std::mem::take(&mut locks.runs);
        his.memory.add(locks.memory.clear(all), all);
        to.count.fetch_add(self.count.load(Ordering::Relaxed), Ordering::SeqCst);
        self.serial.store(serial + 1, Ordering::Release);
        self.count.store(0, Ordering::Relaxed);
        (serial, hashes, his.runs.clone())
    }

    /// Who has what the transaction of this number had, if it was given away.
    pub(crate) fn heir(&self, serial: u64) -> Option<By> {
        let locks = self.locks.lock();
        locks.heirs.iter().find(|(had, _)| *had == serial).map(|(_, by)| *by)
    }

    /// Ends a transaction that had nothing.
    pub(crate) fn next(&self) {
        self.serial.store(self.serial.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Entries of the list and how many lock structures InnoDB would have for them (on tables of one
    /// page), for those that it gave back, and for the changed records of these indexes. A lock joins a
    /// structure of its index and shape that is there; one that is waited for begins one of its own, which
    /// others join when it is granted.
    pub(crate) fn sizes(&self, changed: &[IndexId]) -> (u64, u64) {
        let pending = self
            .waiting_request()
            .map(|waiting_request| (waiting_request.place.target().hash(), waiting_request.shape));
        let locks = self.locks.lock();
        let mut kinds: Vec<LockKind> = locks.given_back.iter().map(|(kind, _)| *kind).collect();
        let changed = changed.iter().map(|index| (*index, Shape::WRITE));
        for kind in changed.chain(locks.runs.iter().copied()) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let mut structs = kinds.len() as u64;
        for h in &locks.held {
            let kind = (h.index, h.shape);
            let is_first = !kinds.contains(&kind);
            structs += u64::from(h.waited || is_first);
            if is_first && !(h.waited && pending == Some((h.hash, h.shape))) {
                kinds.push(kind);
            }
        }
        (locks.held.len() as u64, structs)
    }

    /// Begins a wait. The caller holds the mutex of the shard that the request is put into.
    pub(crate) fn begin_wait(&self, waiting_request: WaitingRequest) {
        let number = waiting_request.number;
        assert_ne!(self.code(), WAITING, "the wait before has not ended (5)");
        *self.waiting_request.lock() = Some(waiting_request);
        self.word.store(number << 2 | WAITING, Ordering::SeqCst);
    }

    /// Ends a wait of so many nanoseconds; the whole milliseconds that are to be counted.
    pub(crate) fn end_wait(&self, waited_ns: u64) -> u64 {
        *self.waiting_request.lock() = None;
        let us = self.rest_us.load(Ordering::Relaxed) + waited_ns / 1000;
        self.rest_us.store(us % 1000, Ordering::Relaxed);
        us / 1000
    }

    /// The number of the next wait.
    pub(crate) fn next_number(&self) -> u64 {
        (self.word.load(Ordering::Relaxed) >> 2) + 1
    }

    pub(crate) fn code(&self) -> u64 {
        self.word.load(Ordering::SeqCst) & CODE
    }

    pub(crate) fn waiting_request(&self) -> Option<WaitingRequest> {
        self.waiting_request.lock().clone()
    }

    /// Ends wait `number` with `code`, if nobody has yet; wakes the waiter.
    pub(crate) fn end_with(&self, number: u64, code: u64) -> bool {
        let (waiting, ended) = (number << 2 | WAITING, number << 2 | code);
        let won =
            self.word.compare_exchange(waiting, ended, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        if won {
            self.event.notify_all();
        }
        won
    }

    /// Has the waiter look again at whom it waits for.
    pub(crate) fn poke(&self) {
        self.event.notify_all();
    }
}
