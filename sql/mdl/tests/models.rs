//! Protocol P-D of metadata locks, run by loom through its interleavings: the crate's own code.
//!
//! `RUSTFLAGS='--cfg loom' cargo test -p mdl --test models`
//!
//! Loom knows no membarrier: the light and the heavy fence are full fences here. `litmus.rs` runs the
//! protocol with membarrier on real threads. Preemptions are bounded at 2: beyond that loom 0.7.2 now and then
//! fails an assertion of its own (two stores of a mutex word with one modification order).
#![cfg(loom)]

use loom::thread;
use mdl::{Held, Mdl, MdlError, Mode, Namespace, Object, Patience};
use std::sync::Arc;
use stdx::{LocalAtomic, Ordering};
use sync::{Deadline, SessionSlotRef, SlotTable};

struct Rig {
    mdl: Mdl,
    t: Arc<Object>,
    /// Written under X, read under weak locks: relaxed, so only the locks order the accesses.
    data: [LocalAtomic<u64>; 2],
}

fn explore(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_branches = 20_000;
    model.check(f);
}

fn rig() -> (Arc<Rig>, SessionSlotRef, SessionSlotRef) {
    let slots = SlotTable::new(2, 1);
    let (a, b) = (slots.acquire_session().unwrap(), slots.acquire_session().unwrap());
    let mdl = Mdl::new(slots);
    let t = mdl.intern(Namespace::Table, "test", "t");
    let data = [LocalAtomic::new(0), LocalAtomic::new(0)];
    (Arc::new(Rig { mdl, t, data }), a, b)
}

impl Rig {
    fn read(&self) {
        let [x, y] = &self.data;
        assert_eq!(x.load(Ordering::Relaxed), y.load(Ordering::Relaxed), "half a change was seen");
    }

    fn change(&self) {
        for word in &self.data {
            word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}

/// A weak lock and X never overlap, whoever comes first, and both are granted in the end: the fast path,
/// its withdrawal, the queue and the wake-ups of both sides.
#[test]
fn weak_and_exclusive_exclude_each_other_and_both_get_their_turn() {
    explore(2, || {
        let (rig, a, b) = rig();
        let reader = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || {
                rig.mdl.acquire(&a, &rig.t, Mode::SR, Deadline::Never).unwrap();
                rig.read();
                rig.mdl.release(&a, &rig.t, Mode::SR);
            })
        };
        rig.mdl.acquire(&b, &rig.t, Mode::X, Deadline::Never).unwrap();
        rig.change();
        rig.mdl.release(&b, &rig.t, Mode::X);
        reader.join().unwrap();
        assert!(rig.mdl.locks().is_empty());
    });
}

/// A weak lock that goes to another slot, in which it is given back, and X never overlap; both get their turn.
#[test]
fn a_grant_that_is_given_away_excludes_all_the_time() {
    explore(2, || {
        let slots = SlotTable::new(3, 1);
        let take = || slots.acquire_session().unwrap();
        let (giver, heir, writer) = (take(), take(), take());
        let mdl = Mdl::new(Arc::clone(&slots));
        let t = mdl.intern(Namespace::Table, "test", "t");
        let data = [LocalAtomic::new(0), LocalAtomic::new(0)];
        let rig = Arc::new(Rig { mdl, t, data });
        let mut held = Held::new();
        rig.mdl.take(&giver, &mut held, &rig.t, Mode::SR, Deadline::Never).unwrap();
        let reader = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || {
                rig.mdl.give_to(&giver, &heir, &held);
                rig.read();
                rig.mdl.release_all(&heir, &mut held);
            })
        };
        rig.mdl.acquire(&writer, &rig.t, Mode::X, Deadline::Never).unwrap();
        rig.change();
        rig.mdl.release(&writer, &rig.t, Mode::X);
        reader.join().unwrap();
        assert!(rig.mdl.locks().is_empty());
    });
}

/// A request that gives up leaves the fast path open, in every interleaving.
#[test]
fn a_request_that_gives_up_strands_nobody() {
    explore(2, || {
        let (rig, a, b) = rig();
        let reader = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || {
                rig.mdl.acquire(&a, &rig.t, Mode::SR, Deadline::Never).unwrap();
                rig.read();
                rig.mdl.release(&a, &rig.t, Mode::SR);
            })
        };
        let now = Deadline::At(std::time::Instant::now());
        match rig.mdl.acquire(&b, &rig.t, Mode::X, now) {
            Ok(()) => {
                rig.change();
                rig.mdl.release(&b, &rig.t, Mode::X);
            }
            Err(e) => assert_eq!(e, MdlError::TimedOut),
        }
        reader.join().unwrap();
        assert!(rig.mdl.locks().is_empty());
    });
}

/// Gives back what a session had and, if it got it, what it wanted. One by one: the end of a session looks at more than these.
fn give_back(
    rig: &Rig,
    slot: &SessionSlotRef,
    (held, mode): (&Arc<Object>, Mode),
    (wanted, got): (&Arc<Object>, Result<(), MdlError>),
) {
    if got.is_ok() {
        rig.mdl.release(slot, wanted, Mode::X);
    }
    rig.mdl.release(slot, held, mode);
}

/// Two sessions that each hold one name and want the other: one, and only one, is the victim.
#[test]
fn a_deadlock_has_one_victim() {
    explore(2, || {
        let (rig, a, b) = rig();
        let u = rig.mdl.intern(Namespace::Table, "test", "u");
        rig.mdl.acquire(&a, &rig.t, Mode::SW, Deadline::Never).unwrap();
        rig.mdl.acquire(&b, &u, Mode::SW, Deadline::Never).unwrap();
        let other = {
            let (rig, u) = (Arc::clone(&rig), Arc::clone(&u));
            thread::spawn(move || {
                let got = rig.mdl.acquire(&a, &u, Mode::X, Deadline::Never);
                give_back(&rig, &a, (&rig.t, Mode::SW), (&u, got));
                got
            })
        };
        let mine = rig.mdl.acquire(&b, &rig.t, Mode::X, Deadline::Never);
        give_back(&rig, &b, (&u, Mode::SW), (&rig.t, mine));
        let both = [mine, other.join().unwrap()];
        assert!(both.contains(&Ok(())) && both.contains(&Err(MdlError::Deadlock)), "{both:?}");
    });
}

/// DDL in slices: takes the set, and stands aside between two attempts.
fn in_slices(rig: &Rig, slot: &SessionSlotRef, attempts: usize) -> Result<(), MdlError> {
    let mut held = Held::new();
    rig.mdl.begin_turn(slot, Patience { limit: None, slices: true, watch: None });
    let mut end = Err(MdlError::Yielded);
    for _ in 0..attempts {
        end = rig.mdl.take(slot, &mut held, &rig.t, Mode::X, Deadline::Never);
        if end != Err(MdlError::Yielded) {
            break;
        }
        if let Err(error) = rig.mdl.pass(slot) {
            end = Err(error);
            break;
        }
    }
    if end.is_ok() {
        rig.change();
    }
    rig.mdl.release_all(slot, &mut held);
    rig.mdl.end_turn(slot);
    end
}

/// A slice that ends, a gap that ends, a grant that comes in between: the reader gets its turn, nobody sees half a
/// change, and nothing is left, in every interleaving.
#[test]
fn slices_and_gaps_strand_nobody() {
    explore(2, || {
        let (rig, a, b) = rig();
        let reader = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || {
                rig.mdl.acquire(&a, &rig.t, Mode::SR, Deadline::Never).unwrap();
                rig.read();
                rig.mdl.release(&a, &rig.t, Mode::SR);
            })
        };
        assert!(matches!(in_slices(&rig, &b, 2), Ok(()) | Err(MdlError::Yielded)));
        reader.join().unwrap();
        assert!(rig.mdl.locks().is_empty() && rig.mdl.waits().edges().is_empty());
    });
}

/// DDL that holds what is not of its set, in slices and gaps, and DML that closes the cycle: DML is the victim or DDL
/// gives up first; never both. One preemption: with two, loom fails the assertion named above.
#[test]
fn a_deadlock_with_ddl_in_slices_has_one_victim() {
    explore(1, || {
        let (rig, a, b) = rig();
        let u = rig.mdl.intern(Namespace::Table, "test", "u");
        rig.mdl.acquire(&a, &rig.t, Mode::SR, Deadline::Never).unwrap();
        rig.mdl.acquire(&b, &u, Mode::X, Deadline::Never).unwrap();
        let dml = {
            let (rig, u) = (Arc::clone(&rig), Arc::clone(&u));
            thread::spawn(move || {
                let got = rig.mdl.acquire(&a, &u, Mode::SR, Deadline::Never);
                if got.is_ok() {
                    rig.mdl.release(&a, &u, Mode::SR);
                }
                rig.mdl.release(&a, &rig.t, Mode::SR);
                got
            })
        };
        let ddl = in_slices(&rig, &b, 2);
        rig.mdl.release(&b, &u, Mode::X);
        let both = (ddl, dml.join().unwrap());
        let sound = matches!(
            both,
            (Ok(()), Err(MdlError::Deadlock) | Ok(()))
                | (Err(MdlError::Yielded), Ok(()) | Err(MdlError::Deadlock))
        );
        assert!(sound, "{both:?}");
        assert!(rig.mdl.locks().is_empty());
    });
}

/// Grants that are given back in another order than they were taken: the words in use follow, and whoever looks for a
/// grant finds it in every interleaving, or the one who has it finds the mask.
#[test]
fn a_grant_beside_others_is_found() {
    explore(2, || {
        let (rig, a, b) = rig();
        let u = rig.mdl.intern(Namespace::Table, "test", "u");
        let reader = {
            let (rig, u) = (Arc::clone(&rig), Arc::clone(&u));
            thread::spawn(move || {
                rig.mdl.acquire(&a, &u, Mode::SR, Deadline::Never).unwrap();
                rig.mdl.acquire(&a, &rig.t, Mode::SR, Deadline::Never).unwrap();
                rig.mdl.release(&a, &u, Mode::SR);
                rig.read();
                rig.mdl.release(&a, &rig.t, Mode::SR);
            })
        };
        rig.mdl.acquire(&b, &rig.t, Mode::X, Deadline::Never).unwrap();
        rig.change();
        rig.mdl.release(&b, &rig.t, Mode::X);
        reader.join().unwrap();
        assert!(rig.mdl.locks().is_empty());
    });
}

/// Two who hold a user-level lock and want the other's: one, and only one, is told of the deadlock.
#[test]
fn a_deadlock_of_user_level_locks_has_one_victim() {
    explore(1, || {
        let (rig, a, b) = rig();
        let names = ["x", "y"].map(|n| rig.mdl.intern(Namespace::UserLevelLock, "", n));
        rig.mdl.acquire(&a, &names[0], Mode::X, Deadline::Never).unwrap();
        rig.mdl.acquire(&b, &names[1], Mode::X, Deadline::Never).unwrap();
        let other = {
            let (rig, names) = (Arc::clone(&rig), names.clone());
            thread::spawn(move || {
                let got = rig.mdl.acquire(&a, &names[1], Mode::X, Deadline::Never);
                give_back(&rig, &a, (&names[0], Mode::X), (&names[1], got));
                got
            })
        };
        let mine = rig.mdl.acquire(&b, &names[0], Mode::X, Deadline::Never);
        give_back(&rig, &b, (&names[1], Mode::X), (&names[0], mine));
        let both = [mine, other.join().unwrap()];
        assert!(both.contains(&Ok(())) && both.contains(&Err(MdlError::Deadlock)), "{both:?}");
        assert!(rig.mdl.locks().is_empty() && rig.mdl.waits().edges().is_empty());
    });
}

/// A name is forgotten while somebody asks for it: who has it, or a lock of it alone, and who comes later have one object.
#[test]
fn a_name_that_is_forgotten_beside_who_asks_for_it_is_one() {
    explore(1, || {
        let (rig, a, b) = rig();
        let name = |rig: &Rig| rig.mdl.intern(Namespace::Table, "test", "u");
        drop(name(&rig));
        let reader = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || {
                rig.mdl.acquire(&a, &name(&rig), Mode::SR, Deadline::Never).unwrap();
                rig.read();
                rig.mdl.release(&a, &name(&rig), Mode::SR);
            })
        };
        rig.mdl.sweep();
        rig.mdl.acquire(&b, &name(&rig), Mode::X, Deadline::Never).unwrap();
        rig.change();
        rig.mdl.release(&b, &name(&rig), Mode::X);
        reader.join().unwrap();
        assert!(rig.mdl.locks().is_empty());
    });
}
