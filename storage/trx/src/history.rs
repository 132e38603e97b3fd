//! What a segment's ended transactions have left: a queue in the order in which they ended.
//!
//! 1. A transaction is put at the end when it has ended; it leaves at the front, when the horizon has passed its
//!    end and what it asked for is purged. So the places of the records that are kept lie between the front's
//!    first and the segment's top. Guard: the asserts of `Queue::put` and `Queue::leave`.
//! 2. Whoever holds `step` purges; the front item with work leaves by its hands only. Guard: the type [`Step`], the
//!    asserts of [`Step::done`].
//! 3. `released` is the page in which the transaction that left last had its end: everything that the segment wrote
//!    before that page nobody needs any more. Guard: `tests/models.rs`, written over;
//!    `what_may_be_needed_is_there_whatever_happens`.
//! 4. The owner of the segment keeps its newest item to itself ([`Tail`]) and adds to it what ends without work in
//!    the same page: a commit that leaves nothing to purge writes nothing that others touch. So long as there
//!    is work in the queue, commits look at it instead: they purge, too. Guard: the assert of [`History::push`],
//!    `commits_look_at_the_queue_as_long_as_there_is_work`.
//!
//! Sixteen bytes an item: a million of them wait behind a long reader.

use crate::segment::UndoPos;
use base::{Lsn, PageNo, TrxId};
use std::collections::VecDeque;
use stdx::{CacheLine, LocalAtomic, Ordering, SharedAtomic, class};
use sync::{Mutex, MutexGuard};

instrument::classes! {
    static QUEUE: MutexClass = "wait/synch/mutex/innodb/undo_history_mutex";
    static STEP: MutexClass = "wait/synch/mutex/limpid/purge_step", across_io;
}

/// Above so many, room that a queue does not need is given back.
const ROOM_KEPT: usize = 1024;
/// Transactions without work that a commit lets go at most.
const LEAVE_AT_COMMIT: usize = 16;
/// The same for purge, at a time.
const LEAVE_AT_ONCE: usize = 4096;

/// A transaction that has ended; without work perhaps several, one after the other in the same page.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// `LSN << 1 | work`, of the last one.
    end: u64,
    page: PageNo,
    offset: u16,
    transactions: u16,
}

impl Item {
    /// One that ended at `lsn`; `at` is its commit record when it has work, else the end of its records.
    pub fn new(lsn: Lsn, at: UndoPos, work: bool) -> Item {
        let end = lsn.0 << 1 | u64::from(work);
        Item { end, page: at.page, offset: at.offset, transactions: 1 }
    }

    fn lsn(&self) -> Lsn {
        Lsn(self.end >> 1)
    }

    fn has_work(&self) -> bool {
        self.end & 1 == 1
    }
}

/// What the owner of a segment keeps of its history to itself.
#[derive(Debug, Default)]
pub struct Tail {
    /// Behind all in the queue; without work.
    item: Option<Item>,
    /// There was work in the queue.
    work_waits: bool,
    /// The newest horizon that the owner was told.
    horizon: Lsn,
}

impl Tail {
    /// Adds a transaction to the item, if that will do.
    fn takes(&mut self, new: &Item) -> bool {
        if new.has_work() || self.work_waits {
            return false;
        }
        match &mut self.item {
            None => self.item = Some(*new),
            Some(item) if item.page == new.page && item.transactions < u16::MAX => {
                *item = Item { transactions: item.transactions + 1, ..*new };
            }
            Some(_) => return false,
        }
        true
    }
}

/// The owner's item, as others count it.
#[derive(Default)]
struct OwnItem {
    end: LocalAtomic<u64>,
    transactions: LocalAtomic<u64>,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    /// Of all items.
    transactions: usize,
    /// Items with work.
    works: usize,
    released: Option<PageNo>,
    purged_to: TrxId,
}

impl Queue {
    fn put(&mut self, item: Item) {
        let is_later = self.items.back().is_none_or(|before| before.lsn() <= item.lsn());
        assert!(is_later, "{item:?} ended before {:?}", self.items.back());
        self.transactions += usize::from(item.transactions);
        self.works += usize::from(item.has_work());
        self.items.push_back(item);
    }

    fn put_all(&mut self, items: Option<Item>) {
        items.into_iter().for_each(|item| self.put(item));
    }

    fn leave(&mut self) {
        if let Some(item) = self.items.pop_front() {
            self.released = Some(item.page);
            self.transactions -= usize::from(item.transactions);
            self.works -= usize::from(item.has_work());
        }
        let counted = self.transactions.max(self.works);
        assert!(counted > 0 || self.items.is_empty(), "transactions of a history are not counted");
        assert!(counted == 0 || !self.items.is_empty(), "an empty history counts {counted}");
        if self.items.capacity() > ROOM_KEPT && self.items.len() < self.items.capacity() / 4 {
            self.items.shrink_to(self.items.capacity() / 2);
        }
    }

    /// Lets go what has no work left at `horizon`, at most `most`; whether that was all, and the place of
    /// the next one's commit record.
    fn next(&mut self, horizon: Lsn, most: usize) -> (bool, Option<UndoPos>) {
        for _ in 0..most {
            match self.items.front().filter(|item| item.lsn() <= horizon) {
                None => return (true, None),
                Some(i) if i.has_work() => {
                    return (true, Some(UndoPos { page: i.page, offset: i.offset }));
                }
                Some(_) => self.leave(),
            }
        }
        (false, None)
    }
}

/// What the owner of a segment may write over.
#[derive(Debug)]
pub struct Claim {
    /// See [`History`], invariant 3; not told twice.
    pub released: Option<PageNo>,
    /// Somebody still needs what comes after `released`.
    pub pending: bool,
    /// Transactions with work are purged up to this one.
    pub purged_to: TrxId,
}

/// The right to purge a history.
pub struct Step<'a> {
    history: &'a History,
    /// Where the purge of the front transaction was interrupted; nowhere: it has not begun.
    at: MutexGuard<'a, UndoPos>,
}

/// The history of one segment.
pub struct History {
    queue: Mutex<Queue>,
    step: Mutex<UndoPos>,
    /// Whether there are items in the queue; written with its mutex.
    waiting: SharedAtomic<bool, { class::TRX }>,
    kept: CacheLine<OwnItem>,
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History").finish_non_exhaustive()
    }
}

impl Default for History {
    fn default() -> History {
        History {
            queue: Mutex::new(&QUEUE, Queue::default()),
            step: Mutex::new(&STEP, UndoPos::NONE),
            waiting: SharedAtomic::new(false),
            kept: CacheLine::default(),
        }
    }
}

impl History {
    /// Takes a transaction that has ended from the owner, whose `tail` is. Whether the oldest one has work that may be
    /// done at `horizon`.
    pub fn push(&self, tail: &mut Tail, item: Item, horizon: Lsn) -> bool {
        tail.horizon = tail.horizon.max(horizon);
        let taken = tail.takes(&item);
        let mut work = false;
        if !taken {
            work = self.with_queue(|queue| {
                queue.put_all(tail.item.take());
                if item.has_work() || tail.work_waits {
                    queue.put(item);
                } else {
                    tail.item = Some(item);
                }
                let (_, work) = queue.next(tail.horizon, LEAVE_AT_COMMIT);
                tail.work_waits = queue.works > 0;
                work.is_some()
            });
        }
        let tail_waits = tail.item.is_some() && tail.work_waits;
        assert!(!tail_waits, "the owner keeps what ended behind work");
        self.show(tail);
        work
    }

    /// What the owner may write over: nobody needs it, and who purges has been through it.
    pub fn claim(&self, tail: &mut Tail) -> Claim {
        let claim = self.with_queue(|queue| {
            queue.put_all(tail.item.take());
            queue.next(tail.horizon, LEAVE_AT_ONCE);
            let (released, pending) = (queue.released.take(), !queue.items.is_empty());
            Claim { released, pending, purged_to: queue.purged_to }
        });
        self.show(tail);
        claim
    }

    /// Lets others count what the owner keeps.
    fn show(&self, tail: &Tail) {
        let (end, n) = tail.item.map_or((0, 0), |item| (item.lsn().0, item.transactions));
        self.kept.0.end.store(end, Ordering::Relaxed);
        self.kept.0.transactions.store(u64::from(n), Ordering::Relaxed);
    }

    fn with_queue<R>(&self, f: impl FnOnce(&mut Queue) -> R) -> R {
        let mut queue = self.queue.lock();
        let result = f(&mut queue);
        let waiting = !queue.items.is_empty();
        if self.waiting.load(Ordering::Relaxed) != waiting {
            self.waiting.store(waiting, Ordering::Relaxed);
        }
        result
    }

    /// Transactions that are kept: not purged, or not yet behind `horizon`.
    pub fn len(&self, horizon: Lsn) -> usize {
        let kept = match self.kept.0.end.load(Ordering::Relaxed) > horizon.0 {
            true => self.kept.0.transactions.load(Ordering::Relaxed) as usize,
            false => 0,
        };
        kept + self.queue.lock().transactions
    }

    /// Whether purge may find something here.
    pub fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The right to purge; `None`: somebody does.
    pub fn try_step(&self) -> Option<Step<'_>> {
        self.step.try_lock().map(|at| Step { history: self, at })
    }

    /// The right to purge, after a step that is under way.
    pub fn step(&self) -> Step<'_> {
        Step { history: self, at: self.step.lock() }
    }
}

impl Step<'_> {
    /// Lets go what has no work, as far as `horizon` allows. The place of the commit record of the
    /// oldest transaction with work that may be purged, and where an earlier step stopped.
    pub fn next(&mut self, horizon: Lsn) -> Option<(UndoPos, Option<UndoPos>)> {
        let next = loop {
            // In parts: the owner may want to commit.
            let (all, next) = self.history.with_queue(|q| q.next(horizon, LEAVE_AT_ONCE));
            if all {
                break next?;
            }
        };
        Some((next, Some(*self.at).filter(|at| !at.is_none())))
    }

    /// The transaction that [`Self::next`] named is purged from its last record down to `at`.
    pub fn stop_at(&mut self, at: UndoPos) {
        *self.at = at;
    }

    /// The transaction that [`Self::next`] named, `trx`, is purged.
    pub fn done(&mut self, trx: TrxId) {
        *self.at = UndoPos::NONE;
        self.history.with_queue(|queue| {
            let front = queue.items.front();
            assert!(front.is_some_and(Item::has_work), "{trx:?} is not what was to be purged");
            queue.purged_to = queue.purged_to.max(trx);
            queue.leave();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(page: u32) -> UndoPos {
        UndoPos { page: PageNo(page), offset: 200 }
    }

    fn item(lsn: u64, page: u32, work: bool) -> Item {
        Item::new(Lsn(lsn), at(page), work)
    }

    #[test]
    fn transactions_leave_in_order_behind_the_horizon() {
        let (h, mut tail) = (History::default(), Tail::default());
        assert!(!h.push(&mut tail, item(10, 3, false), Lsn(0)));
        assert!(!h.push(&mut tail, item(20, 4, true), Lsn(0)));
        assert!(!h.push(&mut tail, item(30, 5, false), Lsn(0)));
        let mut step = h.try_step().unwrap();
        assert!(h.try_step().is_none(), "two at a time");
        assert_eq!(step.next(Lsn(9)), None);
        assert_eq!(h.len(Lsn(9)), 3);
        assert_eq!(step.next(Lsn(19)), None);
        assert_eq!(h.len(Lsn(19)), 2, "the first one has no work");
        assert_eq!(step.next(Lsn(25)), Some((at(4), None)));
        step.stop_at(at(9));
        assert_eq!(step.next(Lsn(25)), Some((at(4), Some(at(9)))));
        let claim = h.claim(&mut tail);
        assert_eq!((claim.released, claim.pending), (Some(PageNo(3)), true));
        step.done(TrxId(7));
        assert_eq!(step.next(Lsn(29)), None);
        assert_eq!(step.next(Lsn(30)), None);
        let claim = h.claim(&mut tail);
        assert_eq!((claim.released, claim.pending), (Some(PageNo(5)), false));
        assert_eq!(claim.purged_to, TrxId(7));
        assert!(!h.is_waiting() && h.claim(&mut tail).released.is_none());
    }

    #[test]
    fn what_leaves_no_work_stays_with_the_owner_until_the_page_is_full() {
        let (h, mut tail) = (History::default(), Tail::default());
        for lsn in 1..=5 {
            assert!(!h.push(&mut tail, item(lsn, 3, false), Lsn(0)));
        }
        assert!(!h.is_waiting(), "purge has nothing to look at");
        assert_eq!((h.len(Lsn(0)), h.len(Lsn(4)), h.len(Lsn(5))), (5, 5, 0));
        assert!(!h.push(&mut tail, item(6, 4, false), Lsn(2)));
        assert_eq!(h.len(Lsn(2)), 6);
        assert!(h.claim(&mut tail).pending, "a view may need all of the first page");
        assert!(!h.push(&mut tail, item(7, 4, false), Lsn(6)));
        let claim = h.claim(&mut tail);
        assert_eq!((claim.released, claim.pending), (Some(PageNo(4)), true));
        assert_eq!(h.len(Lsn(7)), 1, "the queue goes by what it was told");
        assert_eq!(h.try_step().unwrap().next(Lsn(7)), None);
        assert!(!h.claim(&mut tail).pending);
    }

    #[test]
    fn commits_look_at_the_queue_as_long_as_there_is_work() {
        let (h, mut tail) = (History::default(), Tail::default());
        assert!(!h.push(&mut tail, item(1, 3, false), Lsn(0)));
        assert!(!h.push(&mut tail, item(2, 3, true), Lsn(0)));
        assert!(!h.push(&mut tail, item(3, 3, false), Lsn(1)));
        assert!(h.push(&mut tail, item(4, 3, false), Lsn(3)), "the second has work");
        h.try_step().unwrap().done(TrxId(2));
        assert!(!h.push(&mut tail, item(5, 3, false), Lsn(3)), "the first without a view");
        assert!(!tail.work_waits && h.len(Lsn(3)) == 2);
    }

    #[test]
    fn a_long_queue_gives_its_memory_back() {
        assert_eq!(size_of::<Item>(), 16);
        let (h, mut tail) = (History::default(), Tail::default());
        for lsn in 0..100_000 {
            h.push(&mut tail, item(lsn, 3, true), Lsn(0));
        }
        assert!(h.queue.lock().items.capacity() >= 99_999);
        for n in 0..100_000 {
            h.try_step().unwrap().done(TrxId(n));
        }
        assert!(!h.is_waiting() && h.queue.lock().items.capacity() <= ROOM_KEPT);
    }
}
