//! P-D on real threads, with membarrier and with the fallback fences: exclusion holds, nobody is lost,
//! and no session becomes a deadlock's victim without a deadlock.
#![cfg(not(loom))]

mod support;

use mdl::{MdlError, Mode, Namespace};
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};
use support::{Rig, soon};
use sync::{Deadline, asym};

type Counter = SharedAtomic<u64, { class::OTHER }>;

/// What readers, writers and DDL may meet on the table.
#[derive(Default)]
struct Inside {
    readers: CounterBox,
    writers: CounterBox,
    ddl: CounterBox,
}

struct CounterBox(Counter);

impl Default for CounterBox {
    fn default() -> Self {
        Self(Counter::new(0))
    }
}

impl CounterBox {
    fn enter(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

fn exclusion(rounds: usize) {
    let rig = Rig::new();
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    let inside = Inside::default();
    let weak = |mode: Mode| {
        let (rig, t, inside) = (&rig, &t, &inside);
        move || {
            let s = rig.session();
            let mine = if mode == Mode::SR { &inside.readers } else { &inside.writers };
            for _ in 0..rounds * 20 {
                rig.lock(&s, t, mode);
                mine.enter();
                assert_eq!(inside.ddl.get(), 0, "{mode:?} while somebody has X");
                mine.leave();
                rig.mdl.release(&s, t, mode);
            }
        }
    };
    let strong = |mode: Mode| {
        let (rig, t, inside) = (&rig, &t, &inside);
        move || {
            let s = rig.session();
            for round in 0..rounds {
                // Some give up, so that the mask opens and closes in all orders.
                let wait = if round % 3 == 0 { Duration::ZERO } else { Duration::from_secs(20) };
                match rig.mdl.acquire(&s, t, mode, Deadline::after(wait)) {
                    Ok(()) => {}
                    Err(MdlError::TimedOut) if round % 3 == 0 => continue,
                    Err(e) => panic!("{mode:?}: {e}"),
                }
                assert_eq!(inside.writers.get(), 0, "writers under {mode:?}");
                if mode == Mode::X {
                    inside.ddl.enter();
                    assert_eq!((inside.readers.get(), inside.ddl.get()), (0, 1));
                    inside.ddl.leave();
                }
                rig.mdl.release(&s, t, mode);
            }
        }
    };
    std::thread::scope(|s| {
        s.spawn(weak(Mode::SR));
        s.spawn(weak(Mode::SR));
        s.spawn(weak(Mode::SW));
        s.spawn(strong(Mode::X));
        s.spawn(strong(Mode::X));
        s.spawn(strong(Mode::SNW));
    });
    assert!(rig.mdl.locks().is_empty());
    assert!(rig.mdl.waits().edges().is_empty());
}

/// One test, since the fence mode belongs to the process.
#[test]
fn strong_locks_exclude_weak_ones() {
    exclusion(1_500);
    asym::force_fallback(true);
    exclusion(1_500);
    asym::force_fallback(false);
}

/// Two sessions that really deadlock over and over: each time one of them, and only one, gives up.
#[test]
fn every_deadlock_has_one_victim() {
    let rig = Rig::new();
    let names = ["a", "b"].map(|n| rig.mdl.intern(Namespace::Table, "test", n));
    let met = Counter::new(0);
    let victims = Counter::new(0);
    let run = |first: usize| {
        let (rig, names, met, victims) = (&rig, &names, &met, &victims);
        move || {
            let s = rig.session();
            for round in 1..=100 {
                rig.lock(&s, &names[first], Mode::SW);
                met.fetch_add(1, Ordering::SeqCst);
                while met.load(Ordering::SeqCst) & 0xFFFF_FFFF < 2 * round {
                    std::thread::yield_now();
                }
                match rig.mdl.acquire(&s, &names[1 - first], Mode::SNW, soon()) {
                    Ok(()) => rig.mdl.release(&s, &names[1 - first], Mode::SNW),
                    Err(MdlError::Deadlock) => {
                        victims.fetch_add(1, Ordering::SeqCst);
                    }
                    Err(e) => panic!("{e}"),
                }
                rig.mdl.release(&s, &names[first], Mode::SW);
                met.fetch_add(1 << 32, Ordering::SeqCst);
                while met.load(Ordering::SeqCst) >> 32 < 2 * round {
                    std::thread::yield_now();
                }
            }
        }
    };
    std::thread::scope(|s| {
        s.spawn(run(0));
        s.spawn(run(1));
    });
    assert_eq!(victims.load(Ordering::SeqCst), 100);
}
