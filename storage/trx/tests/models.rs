//! Read views against commits, purge and the ring of states, run by loom through its interleavings: the
//! crate's own code.
//!
//! `RUSTFLAGS='--cfg loom' cargo test -p trx --test models`
//!
//! Loom knows no membarrier: the light and the heavy fence are full fences here.
#![allow(clippy::unwrap_used, reason = "tests")]
#![cfg(loom)]

use base::{Lsn, PageNo, TrxId};
use loom::thread;
use std::sync::Arc;
use stdx::{LocalAtomic, Ordering, SharedAtomic, class};
use sync::{SessionSlotRef, SlotTable};
use trx::{Claim, History, Item, Reservations, States, Tail, UndoPos, View, Views};

/// Entries of a model's ring.
const RING: u64 = 16;
/// The transaction that is looked at.
const T: TrxId = TrxId(RING + 3);

fn explore(f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.max_branches = 20_000;
    model.check(f);
}

/// The log's tail, the ids, the ring and the views; what is before `T`'s row, until it is purged.
struct Rig {
    tail: SharedAtomic<u64, { class::LOG_TAIL }>,
    next: SharedAtomic<u64, { class::TRX }>,
    states: States,
    views: Views,
    /// Where `T` ended; 0: not yet.
    end: LocalAtomic<u64>,
    purged: LocalAtomic<bool>,
}

fn rig() -> (Arc<Rig>, SessionSlotRef, SessionSlotRef) {
    let slots = SlotTable::new(2, 1);
    let (a, b) = (slots.acquire_session().unwrap(), slots.acquire_session().unwrap());
    let rig = Rig {
        tail: SharedAtomic::new(100),
        next: SharedAtomic::new(T.0),
        states: States::new(RING as usize),
        views: Views::new(&slots),
        end: LocalAtomic::new(0),
        purged: LocalAtomic::new(false),
    };
    (Arc::new(rig), a, b)
}

impl Rig {
    fn tail(&self) -> Lsn {
        Lsn(self.tail.load(Ordering::Acquire))
    }

    fn next(&self) -> TrxId {
        TrxId(self.next.load(Ordering::Relaxed))
    }

    fn begin(&self, slot: &SessionSlotRef) -> TrxId {
        self.views.before_id(slot, || self.next());
        let id = TrxId(self.next.fetch_add(1, Ordering::Relaxed));
        if let Some(past) = self.states.past(id) {
            self.views.seal(past, || self.tail(), || self.next());
        }
        assert!(self.states.start(id, None));
        id
    }

    fn commit(&self, id: TrxId, slot: &SessionSlotRef) {
        self.states.committing(id);
        let end = Lsn(self.tail.fetch_add(10, Ordering::AcqRel) + 10);
        if id == T {
            self.end.store(end.0, Ordering::Release);
        }
        self.states.end(id, end);
        self.views.after_end(slot);
    }

    fn open(&self, slot: &SessionSlotRef) -> View {
        self.views.open(slot, || self.tail(), || self.next())
    }

    /// What the view says of `T`, which has got its id.
    fn sees(&self, view: &View) -> bool {
        if T < view.all_visible_below {
            return true;
        }
        loop {
            match self.views.sees(&self.states, view, T, self.next()) {
                Some(answer) => return answer,
                None => thread::yield_now(),
            }
        }
    }

    fn check(&self, view: &View) {
        let answer = self.sees(view);
        let end = self.end.load(Ordering::Acquire);
        assert_eq!(answer, end != 0 && end <= view.lsn.0, "T ended at {end}, {view:?}");
        assert_eq!(self.sees(view), answer, "a view changes its mind");
    }
}

/// A view sees what committed at or before it, and nothing else, however its opening and the commit meet.
#[test]
fn a_view_sees_exactly_what_committed_before_it() {
    explore(|| {
        let (rig, a, b) = rig();
        let id = rig.begin(&a);
        assert_eq!(id, T);
        let writer = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || rig.commit(id, &a))
        };
        let view = rig.open(&b);
        rig.check(&view);
        writer.join().unwrap();
        rig.check(&view);
    });
}

/// The entry of a transaction that ended goes to a later one: an old view still knows.
#[test]
fn an_old_view_knows_transactions_that_lost_their_entry() {
    explore(|| {
        let (rig, a, b) = rig();
        let id = rig.begin(&a);
        let writer = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || {
                rig.commit(id, &a);
                rig.next.store(T.0 + RING, Ordering::Relaxed);
                let later = rig.begin(&a);
                assert_eq!(later.0, T.0 + RING);
            })
        };
        let view = rig.open(&b);
        rig.check(&view);
        writer.join().unwrap();
        rig.check(&view);
    });
}

/// Purge takes nothing away that a view needs.
#[test]
fn purge_leaves_what_a_view_needs() {
    explore(|| {
        let (rig, a, b) = rig();
        let id = rig.begin(&a);
        rig.commit(id, &a);
        let end = Lsn(rig.end.load(Ordering::Acquire));
        rig.tail.store(end.0 - 5, Ordering::Release);
        let purger = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || {
                rig.tail.store(end.0 + 5, Ordering::Release);
                if rig.views.refresh(|| rig.tail(), || rig.next()) >= end {
                    rig.purged.store(true, Ordering::Release);
                }
            })
        };
        let view = rig.open(&b);
        // Not seen: the version before is needed, and must be there.
        if end > view.lsn {
            assert!(!rig.purged.load(Ordering::Acquire), "purged under {view:?}");
        }
        purger.join().unwrap();
        if end > view.lsn {
            assert!(!rig.purged.load(Ordering::Acquire), "purged under {view:?}");
        }
    });
}

/// What is below the bound that everybody sees was committed before every view that took the bound over.
#[test]
fn below_the_common_bound_everything_is_seen() {
    explore(|| {
        let (rig, a, b) = rig();
        let writer = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || {
                let id = rig.begin(&a);
                rig.commit(id, &a);
            })
        };
        rig.views.refresh(|| rig.tail(), || rig.next());
        let view = rig.open(&b);
        if T < view.all_visible_below {
            let end = rig.end.load(Ordering::Acquire);
            assert!(end != 0 && end <= view.lsn.0, "T ended at {end}, {view:?}");
        }
        writer.join().unwrap();
    });
}

/// A segment's owner writes over what a transaction left, and purge removes what is before it, when no view
/// needs it any more; and purge has read the records by then.
#[test]
fn records_are_written_over_when_nobody_needs_them() {
    explore(|| {
        let (rig, a, b) = rig();
        let history = Arc::new(History::default());
        // The page has T's records until the owner begins it anew.
        let page = Arc::new(LocalAtomic::<u64>::new(T.0));
        let id = rig.begin(&a);
        rig.commit(id, &a);
        let end = Lsn(rig.end.load(Ordering::Acquire));
        let commit = UndoPos { page: PageNo(7), offset: 200 };
        let mut tail = Tail::default();
        history.push(&mut tail, Item::new(end, commit, true), rig.views.horizon());
        rig.tail.store(end.0 - 5, Ordering::Release);
        let purger = {
            let (rig, history, page) = (Arc::clone(&rig), Arc::clone(&history), Arc::clone(&page));
            thread::spawn(move || {
                rig.tail.store(end.0 + 5, Ordering::Release);
                let horizon = rig.views.refresh(|| rig.tail(), || rig.next());
                let mut step = history.step();
                if step.next(horizon).is_some() {
                    rig.purged.store(true, Ordering::Release);
                    assert_eq!(page.load(Ordering::Acquire), T.0, "purge reads another's records");
                    step.done(T);
                }
            })
        };
        let owner = {
            let (history, page) = (Arc::clone(&history), Arc::clone(&page));
            thread::spawn(move || {
                let Claim { released, pending, .. } = history.claim(&mut tail);
                if !pending {
                    assert_eq!(released, Some(PageNo(7)));
                    page.store(T.0 + 1, Ordering::Release);
                }
            })
        };
        let view = rig.open(&b);
        let check = || {
            if end > view.lsn {
                assert_eq!(page.load(Ordering::Acquire), T.0, "written over under {view:?}");
                assert!(!rig.purged.load(Ordering::Acquire), "purged under {view:?}");
            }
        };
        check();
        purger.join().unwrap();
        owner.join().unwrap();
        check();
    });
}

/// A checkpoint knows every reservation whose record lies below it, though nobody waits for the other.
#[test]
fn a_checkpoint_knows_the_reservations_below_it() {
    explore(|| {
        let reserved = Arc::new(Reservations::new(10));
        let tail = Arc::new(SharedAtomic::<u64, { class::LOG_TAIL }>::new(100));
        let taker = {
            let (reserved, tail) = (Arc::clone(&reserved), Arc::clone(&tail));
            thread::spawn(move || {
                for upto in [20, 30] {
                    reserved
                        .reserve(upto, || {
                            tail.fetch_add(10, Ordering::AcqRel);
                            Ok(())
                        })
                        .unwrap();
                    assert!(reserved.has(upto - 1));
                }
            })
        };
        let other = {
            let tail = Arc::clone(&tail);
            thread::spawn(move || tail.fetch_add(1000, Ordering::AcqRel))
        };
        let place = tail.load(Ordering::Acquire) % 1000;
        let promised = reserved.promised();
        // The record of the first reservation begins at 100, that of the second at 110.
        let logged = match place {
            100 => 10,
            110 => 20,
            _ => 30,
        };
        assert!(promised >= logged, "the checkpoint at {place} says {promised}");
        taker.join().unwrap();
        other.join().unwrap();
    });
}
