//! DDL that waits in slices, on the virtual clock of the one-runner: readers pass, and DDL gets its turn.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // tests

mod runs;
mod support;

use mdl::{Held, MdlError, Mode, Namespace, Object, Patience, Status};
use runs::{
    READER_MAX, Shared, Thread, join, simulated, sleep, sliced, spawn, take_set, use_until,
};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stdx::Ordering;
use support::Rig;
use sync::{Deadline, KILL_QUERY, SessionSlotRef};

use Mode::{SNW, SR, SU, SW, X};

fn table(rig: &Rig, name: &str) -> Arc<Object> {
    rig.mdl.intern(Namespace::Table, "test", name)
}

/// A DDL statement that changes the set for a millisecond.
fn ddl(rig: &Rig, slot: &SessionSlotRef, set: &[(Arc<Object>, Mode)]) -> Result<u32, MdlError> {
    let mut held = Held::new();
    rig.mdl.begin_turn(slot, sliced(60));
    let end = take_set(&rig.mdl, slot, &mut held, set);
    if end.is_ok() {
        sleep(1);
    }
    rig.mdl.release_all(slot, &mut held);
    rig.mdl.end_turn(slot);
    end
}

/// Readers that overlap all the time, each shorter than a slice: DDL gets through.
#[test]
fn short_readers_do_not_starve_ddl_and_long_ones_end_it() {
    simulated(2, || {
        // Those who last longer than a slice last differently, or the slices would make them march in step.
        for (busy_ms, more_ms, gets) in [(40, 0, true), (200, 37, false)] {
            let rig = Arc::new(Rig::new());
            let t = table(&rig, "t");
            let stop = Arc::new(Shared::<u32>::new(0));
            let readers: Vec<_> = (0..6)
                .map(|n| {
                    let (rig, t, stop) = (Arc::clone(&rig), t.clone(), Arc::clone(&stop));
                    spawn("reader", move || {
                        sleep(busy_ms * n / 6);
                        let busy_ms = busy_ms + more_ms * n;
                        let longest = use_until(&rig, &[(t.clone(), SR)], (busy_ms, 0), &stop);
                        assert!(longest <= READER_MAX, "a reader waited for {longest:?}");
                    })
                })
                .collect();
            sleep(300);
            let slot = rig.session();
            let begun = sync::now();
            let end = ddl(&rig, &slot, &[(t.clone(), X)]);
            let took = sync::now() - begun;
            match gets {
                true => assert!(end.is_ok() && took < Duration::from_secs(1), "{end:?} {took:?}"),
                false => {
                    assert_eq!(end, Err(MdlError::TimedOut));
                    assert!(took >= Duration::from_secs(60) && took < Duration::from_secs(62));
                    assert!(!rig.mdl.blockers(&slot, &t, X).is_empty(), "they are named");
                }
            }
            stop.store(1, Ordering::Relaxed);
            readers.into_iter().for_each(join);
            assert!(rig.mdl.locks().is_empty());
        }
    });
}

/// What the statement had before, it keeps; the upgrade alone is sliced, and has a time of its own.
#[test]
fn an_upgrade_keeps_what_it_had_and_lets_readers_pass() {
    simulated(3, || {
        let rig = Arc::new(Rig::new());
        let t = table(&rig, "t");
        let (alter, idle, other) = (rig.session(), rig.session(), rig.session());
        let mut held = Held::new();
        rig.mdl.begin_turn(&alter, sliced(3));
        rig.mdl.take(&alter, &mut held, &t, SU, Deadline::Never).unwrap();
        rig.mdl.upgrade(&alter, &mut held, std::slice::from_ref(&t), SNW, Deadline::Never).unwrap();
        rig.lock(&idle, &t, SR);
        sleep(10_000);
        let stop = Arc::new(Shared::<u32>::new(0));
        let reader = {
            let (rig, t, stop) = (Arc::clone(&rig), t.clone(), Arc::clone(&stop));
            spawn("reader", move || {
                let longest = use_until(&rig, &[(t.clone(), SR)], (1, 5), &stop);
                assert!(longest <= READER_MAX, "a reader waited for {longest:?}");
            })
        };
        let begun = sync::now();
        let end = rig.mdl.upgrade(&alter, &mut held, std::slice::from_ref(&t), X, Deadline::Never);
        assert_eq!(end, Err(MdlError::TimedOut));
        assert!(sync::now() - begun >= Duration::from_secs(3), "copying counts for nothing");
        assert!(!rig.try_lock(&other, &t, SW), "SNW is still there");
        rig.mdl.release(&idle, &t, SR);
        assert_eq!(
            rig.mdl.upgrade(&alter, &mut held, std::slice::from_ref(&t), X, Deadline::Never),
            Ok(())
        );
        assert!(!rig.try_lock(&other, &t, SR));
        rig.mdl.release_all(&alter, &mut held);
        rig.mdl.end_turn(&alter);
        stop.store(1, Ordering::Relaxed);
        join(reader);
        assert!(rig.mdl.locks().is_empty());
    });
}

/// Several DDL statements at one name: who reads waits for one slice, not for one after the other.
#[test]
fn ddl_joins_the_slice_of_others() {
    simulated(20, || {
        let rig = Arc::new(Rig::new());
        let t = table(&rig, "t");
        let idle = rig.session();
        rig.lock(&idle, &t, SR);
        let stop = Arc::new(Shared::<u32>::new(0));
        let changing: Vec<_> = (0..5)
            .map(|n| {
                let (rig, t) = (Arc::clone(&rig), t.clone());
                spawn("ddl", move || {
                    sleep(20 * n);
                    let slot = rig.session();
                    ddl(&rig, &slot, &[(t, X)]).unwrap();
                })
            })
            .collect();
        let reader = {
            let (rig, t, stop) = (Arc::clone(&rig), t.clone(), Arc::clone(&stop));
            spawn("reader", move || {
                let longest = use_until(&rig, &[(t.clone(), SR)], (1, 3), &stop);
                assert!(longest <= READER_MAX, "a reader waited for {longest:?}");
            })
        };
        sleep(3000);
        stop.store(1, Ordering::Relaxed);
        join(reader);
        rig.mdl.release(&idle, &t, SR);
        changing.into_iter().for_each(join);
        assert!(rig.mdl.locks().is_empty());
    });
}

#[test]
fn a_kill_ends_a_slice_and_a_gap() {
    simulated(8, || {
        // Moments in a slice and in a gap.
        for at_ms in [20, 75, 120, 400] {
            let rig = Arc::new(Rig::new());
            let t = table(&rig, "t");
            let (idle, slot) = (rig.session(), Arc::new(rig.session()));
            rig.lock(&idle, &t, SR);
            let changing = {
                let (rig, t, slot) = (Arc::clone(&rig), t.clone(), Arc::clone(&slot));
                spawn("ddl", move || {
                    let _in = sync::enter(&slot);
                    assert_eq!(ddl(&rig, &slot, &[(t, X)]), Err(MdlError::Killed));
                })
            };
            sleep(at_ms);
            assert_eq!(rig.pending().len(), 1, "shown at {at_ms} ms");
            assert_eq!(rig.pending()[0].status, Status::Pending);
            slot.kill(KILL_QUERY);
            join(changing);
            assert_eq!(rig.mdl.locks().len(), 1, "nothing is left of it");
            assert!(rig.try_lock(&idle, &t, SR));
            rig.mdl.release_session(&idle);
        }
    });
}

/// Slices and gaps, and looks in them, are one wait with all its time; one that is given up, too.
#[test]
fn slices_and_gaps_for_a_name_are_one_wait() {
    simulated(8, || {
        for (limit_s, end) in [(60, Ok(())), (1, Err(MdlError::TimedOut))] {
            let rig = Arc::new(Rig::new());
            let t = table(&rig, "t");
            let (idle, slot) = (rig.session(), Arc::new(rig.session()));
            rig.lock(&idle, &t, SR);
            let changing = {
                let (rig, t, slot) = (Arc::clone(&rig), t.clone(), Arc::clone(&slot));
                spawn("ddl", move || {
                    let _in = sync::enter(&slot);
                    rig.mdl.begin_turn(&slot, sliced(limit_s));
                    let mut held = Held::new();
                    let taken = take_set(&rig.mdl, &slot, &mut held, &[(t, X)]);
                    assert_eq!(taken.map(drop), end);
                    rig.mdl.end_turn(&slot);
                    rig.mdl.release_all(&slot, &mut held);
                })
            };
            sleep(2000);
            rig.mdl.release(&idle, &t, SR);
            join(changing);
            let counted = slot.counters.class(&mdl::object::MDL_WAIT);
            assert_eq!(counted.waits, 1);
            // Its time is over a second after the request, some steps of the clock before which the wait began.
            let least_ns = if end.is_ok() { 1_900_000_000 } else { 999_900_000 };
            assert!(counted.wait_ns_sum >= least_ns, "{}", counted.wait_ns_sum);
        }
    });
}

#[test]
fn nowait_asks_once() {
    let rig = Rig::new();
    let t = table(&rig, "t");
    let (idle, slot) = (rig.session(), rig.session());
    rig.lock(&idle, &t, SR);
    let begun = Instant::now();
    for slices in [true, false] {
        let limit = Some(Duration::ZERO);
        rig.mdl.begin_turn(&slot, Patience { limit, slices, watch: None });
        assert_eq!(
            take_set(&rig.mdl, &slot, &mut Held::new(), &[(t.clone(), X)]),
            Err(MdlError::TimedOut)
        );
        rig.mdl.end_turn(&slot);
    }
    assert!(begun.elapsed() < Duration::from_secs(1));
    rig.mdl.release(&idle, &t, SR);
    assert!(rig.mdl.locks().is_empty());
}

/// A session's DDL on a table, which ends well.
fn changing(rig: &Arc<Rig>, slot: &Arc<SessionSlotRef>, t: &Arc<Object>) -> Thread {
    let (rig, t, slot) = (Arc::clone(rig), t.clone(), Arc::clone(slot));
    spawn("ddl", move || {
        assert!(ddl(&rig, &slot, &[(t, X)]).is_ok());
    })
}

/// A session that waits in a gap, and holds what is not of its set: a deadlock with it is found while it stands aside.
#[test]
fn a_deadlock_is_found_in_a_gap() {
    simulated(20, || {
        let rig = Arc::new(Rig::new());
        let (t, u) = (table(&rig, "t"), table(&rig, "u"));
        let (dml, alter) = (rig.session(), Arc::new(rig.session()));
        rig.lock(&alter, &u, X);
        rig.lock(&dml, &t, SR);
        let changing = changing(&rig, &alter, &t);
        // In the first gap.
        sleep(75);
        let begun = sync::now();
        assert_eq!(rig.mdl.acquire(&dml, &u, SR, Deadline::Never), Err(MdlError::Deadlock));
        assert!(sync::now() - begun < Duration::from_millis(40), "at once, not in the next slice");
        rig.mdl.release(&dml, &t, SR);
        join(changing);
        rig.mdl.release(&alter, &u, X);
        assert!(rig.mdl.locks().is_empty() && rig.mdl.waits().edges().is_empty());
    });
}

/// Of two that are as heavy the victim is who asked last, although the other one's present gap began later.
#[test]
fn of_equals_in_a_deadlock_the_victim_is_who_asked_last() {
    simulated(20, || {
        let rig = Arc::new(Rig::new());
        let (t, u) = (table(&rig, "t"), table(&rig, "u"));
        let (first, last) = (Arc::new(rig.session()), rig.session());
        rig.lock(&first, &u, X);
        rig.lock(&last, &t, X);
        let changing = changing(&rig, &first, &t);
        // The last one's first gap is from 268 to 318 ms, with a look at 308; the first one's third gap begins at 300.
        sleep(218);
        let begun = sync::now();
        assert_eq!(ddl(&rig, &last, &[(u.clone(), X)]), Err(MdlError::Deadlock));
        let took = sync::now() - begun;
        assert!(took < Duration::from_millis(95), "found in its first gap, not after {took:?}");
        rig.mdl.release(&last, &t, X);
        join(changing);
        rig.mdl.release(&first, &u, X);
        assert!(rig.mdl.locks().is_empty() && rig.mdl.waits().edges().is_empty());
    });
}

/// In the queue, as MySQL has it, and who watches is told whom it waits for.
#[test]
fn who_watches_is_told_the_blockers() {
    simulated(2, || {
        for slices in [false, true] {
            let rig = Arc::new(Rig::new());
            let t = table(&rig, "t");
            let (idle, slot) = (Arc::new(rig.session()), rig.session());
            rig.lock(&idle, &t, SR);
            let told = Arc::new(Shared::<u32>::new(0));
            let watch = {
                let (told, who) = (Arc::clone(&told), idle.index() as u64);
                let (rig, t, idle) = (Arc::clone(&rig), t.clone(), Arc::clone(&idle));
                Arc::new(move |blockers: &[u64]| {
                    assert_eq!(blockers, [who]);
                    // It is killed, say, when it was told a third time.
                    if told.fetch_add(1, Ordering::Relaxed) == 2 {
                        rig.mdl.release(&idle, &t, SR);
                    }
                })
            };
            let patience =
                Patience { limit: Some(Duration::from_secs(60)), slices, watch: Some(watch) };
            rig.mdl.begin_turn(&slot, patience);
            let mut held = Held::new();
            assert!(take_set(&rig.mdl, &slot, &mut held, &[(t.clone(), X)]).is_ok());
            rig.mdl.end_turn(&slot);
            rig.mdl.release_all(&slot, &mut held);
            assert_eq!(told.load(Ordering::Relaxed), 3);
            assert!(rig.mdl.locks().is_empty());
        }
    });
}
