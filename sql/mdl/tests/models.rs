//! Protocol P-D of metadata locks, run by loom through its interleavings: the crate's own code.
//!
//! `RUSTFLAGS='--cfg loom' cargo test -p mdl --test models`
//!
//! Loom knows no membarrier: the light and the heavy fence are full fences here. `litmus.rs` runs the
//! protocol with membarrier on real threads. Preemptions are bounded at 2: beyond that loom 0.7.2 now and then
//! fails an assertion of its own (two stores of a mutex word with one modification order).
#![cfg(loom)]

use loom::thread;
use mdl::{Mdl, MdlError, Mode, Namespace, Object};
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
                rig.mdl.release_session(&a);
                got
            })
        };
        let mine = rig.mdl.acquire(&b, &rig.t, Mode::X, Deadline::Never);
        rig.mdl.release_session(&b);
        let both = [mine, other.join().unwrap()];
        assert!(both.contains(&Ok(())) && both.contains(&Err(MdlError::Deadlock)), "{both:?}");
    });
}
