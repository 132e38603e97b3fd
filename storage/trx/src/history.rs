//! What a segment's ended transactions have left: a queue in the order in which they ended.
//!
//! 1. A transaction is put at the end when it has ended; it leaves at the front, when the horizon has passed its
//!    end and what it asked for is purged. So the places of the records that are kept lie between the front's
//!    first and the segment's top.
//! 2. Whoever holds `step` purges; the front item with work leaves by its hands only.
//! 3. `released` is the page in which the transaction that left last had its end: everything that the segment wrote
//!    before that page nobody needs any more.
//!
//! Sixteen bytes an item: a million of them wait behind a long reader.

use crate::segment::UndoPos;
use base::{Lsn, PageNo, TrxId};
use instrument::MutexClass;
use std::collections::VecDeque;
use sync::{Mutex, MutexGuard};

static QUEUE: MutexClass = MutexClass::new("wait/synch/mutex/innodb/undo_history_mutex");
static STEP: MutexClass = MutexClass::new("wait/synch/mutex/limpid/purge_step");

/// Above so many, room that a queue does not need is given back.
const ROOM_KEPT: usize = 1024;
/// Transactions without work that a commit lets go at most.
const LEAVE_AT_COMMIT: usize = 16;
/// The same for purge, at a time.
const LEAVE_AT_ONCE: usize = 4096;

/// A transaction that has ended.
#[derive(Clone, Copy)]
struct Item {
    /// `LSN << 1 | work`.
    end: u64,
    page: PageNo,
    offset: u16,
}

impl Item {
    fn lsn(&self) -> Lsn {
        Lsn(self.end >> 1)
    }

    fn has_work(&self) -> bool {
        self.end & 1 == 1
    }
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    released: Option<PageNo>,
    purged_to: TrxId,
}

impl Queue {
    fn leave(&mut self) {
        if let Some(item) = self.items.pop_front() {
            self.released = Some(item.page);
        }
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
        }
    }
}

impl History {
    /// Takes a transaction that ended at `lsn`; `at` is its commit record when it has work, else
    /// the end of its records. Whether the oldest one has work that may be done at `horizon`.
    pub fn push(&self, lsn: Lsn, at: UndoPos, work: bool, horizon: Lsn) -> bool {
        let end = lsn.0 << 1 | u64::from(work);
        let mut queue = self.queue.lock();
        queue.items.push_back(Item { end, page: at.page, offset: at.offset });
        queue.next(horizon, LEAVE_AT_COMMIT).1.is_some()
    }

    /// What the owner may write over: nobody needs it, and who purges has been through it.
    pub fn claim(&self) -> Claim {
        let mut queue = self.queue.lock();
        let (released, pending) = (queue.released.take(), !queue.items.is_empty());
        Claim { released, pending, purged_to: queue.purged_to }
    }

    /// Transactions that are not purged.
    pub fn len(&self) -> usize {
        self.queue.lock().items.len()
    }

    /// Nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
            let (all, next) = self.history.queue.lock().next(horizon, LEAVE_AT_ONCE);
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
        let mut queue = self.history.queue.lock();
        queue.purged_to = queue.purged_to.max(trx);
        queue.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(page: u32) -> UndoPos {
        UndoPos { page: PageNo(page), offset: 200 }
    }

    #[test]
    fn transactions_leave_in_order_behind_the_horizon() {
        let h = History::default();
        assert!(!h.push(Lsn(10), at(3), false, Lsn(0)));
        assert!(!h.push(Lsn(20), at(4), true, Lsn(0)));
        assert!(!h.push(Lsn(30), at(5), false, Lsn(0)));
        let mut step = h.try_step().unwrap();
        assert!(h.try_step().is_none(), "two at a time");
        assert_eq!(step.next(Lsn(9)), None);
        assert_eq!(h.len(), 3);
        assert_eq!(step.next(Lsn(19)), None);
        assert_eq!(h.len(), 2, "the first one has no work");
        assert_eq!(step.next(Lsn(25)), Some((at(4), None)));
        step.stop_at(at(9));
        assert_eq!(step.next(Lsn(25)), Some((at(4), Some(at(9)))));
        let claim = h.claim();
        assert_eq!((claim.released, claim.pending), (Some(PageNo(3)), true));
        step.done(TrxId(7));
        assert_eq!(step.next(Lsn(29)), None);
        assert_eq!(step.next(Lsn(30)), None);
        let claim = h.claim();
        assert_eq!((claim.released, claim.pending), (Some(PageNo(5)), false));
        assert_eq!(claim.purged_to, TrxId(7));
        assert!(h.is_empty() && h.claim().released.is_none());
    }

    #[test]
    fn a_long_queue_gives_its_memory_back() {
        assert_eq!(size_of::<Item>(), 16);
        let h = History::default();
        for i in 0..100_000 {
            h.push(Lsn(i), at(3), false, Lsn(0));
        }
        assert!(h.queue.lock().items.capacity() >= 99_999);
        assert_eq!(h.try_step().unwrap().next(Lsn(1 << 40)), None);
        assert!(h.queue.lock().items.capacity() <= ROOM_KEPT);
    }
}
