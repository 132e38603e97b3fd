//! Locks as sessions see them: every pair of modes, queues, upgrades, deadlocks, kills, overflow.
#![cfg(not(loom))]

mod support;

use mdl::{Held, MdlError, Mode, Namespace, Object, Status};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Rig, soon};
use sync::{Deadline, KILL_QUERY};

use Mode::{IX, S, SH, SNRW, SNW, SR, SRO, SU, SW, SWLP, X};

const OBJECT_MODES: [Mode; 10] = [S, SH, SR, SW, SWLP, SU, SRO, SNW, SNRW, X];

instrument::classes! {
    static ORDER: MutexClass = "wait/synch/mutex/test/order";
}

/// Rows of metadata_locking.md 3.1, columns in the order of `OBJECT_MODES`.
const GRANTED: [&str; 10] = [
    "+++++++++-",
    "+++++++++-",
    "++++++++--",
    "++++++----",
    "++++++----",
    "+++++-+---",
    "+++--+++--",
    "+++---+---",
    "++--------",
    "----------",
];

/// Rows of 3.2.
const PENDING: [&str; 10] = [
    "+++++++++-",
    "++++++++++",
    "++++++++--",
    "+++++++---",
    "++++++----",
    "+++++++++-",
    "+++-++++--",
    "+++++++++-",
    "+++++++++-",
    "++++++++++",
];

fn allows(matrix: &[&str], request: usize, other: usize) -> bool {
    matrix[request].as_bytes()[other] == b'+'
}

#[test]
fn every_request_against_every_grant() {
    let rig = Rig::new();
    let (a, b) = (rig.session(), rig.session());
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    for (g, granted) in OBJECT_MODES.into_iter().enumerate() {
        for (r, request) in OBJECT_MODES.into_iter().enumerate() {
            rig.lock(&a, &t, granted);
            let got = rig.try_lock(&b, &t, request);
            assert_eq!(got, allows(&GRANTED, r, g), "{request:?} against granted {granted:?}");
            if got {
                rig.mdl.release(&b, &t, request);
            }
            rig.mdl.release(&a, &t, granted);
            assert!(rig.mdl.locks().is_empty());
        }
    }
}

/// Every request against every pending one that some grant tells apart; how many these are.
fn against_pending(rig: &Rig, t: &Arc<Object>, modes: &[Mode], matrices: [&[&str]; 2]) -> usize {
    let [by_grant, by_request] = matrices;
    let (holder, waiter, asker) = (rig.session(), rig.session(), rig.session());
    let mut tried = 0;
    for (p, &pending) in modes.iter().enumerate() {
        for (r, &request) in modes.iter().enumerate() {
            // Some grant that makes `pending` wait and lets `request` through.
            let tells = |g: &usize| !allows(by_grant, p, *g) && allows(by_grant, r, *g);
            let Some(g) = (0..modes.len()).find(tells) else { continue };
            tried += 1;
            rig.lock(&holder, t, modes[g]);
            std::thread::scope(|s| {
                s.spawn(|| {
                    rig.lock(&waiter, t, pending);
                    rig.mdl.release(&waiter, t, pending);
                });
                rig.until_pending(1);
                let got = rig.try_lock(&asker, t, request);
                assert_eq!(
                    got,
                    allows(by_request, r, p),
                    "{request:?} against pending {pending:?}"
                );
                if got {
                    rig.mdl.release(&asker, t, request);
                }
                rig.mdl.release(&holder, t, modes[g]);
            });
            assert!(rig.mdl.locks().is_empty());
        }
    }
    tried
}

#[test]
fn every_request_against_every_pending_request() {
    let rig = Rig::new();
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    let tried = against_pending(&rig, &t, &OBJECT_MODES, [&GRANTED, &PENDING]);
    assert_eq!(tried, 50, "the other pairs have no grant that tells them apart");
}

/// 3.3: IX queues behind S and X, S behind X, X behind nobody.
#[test]
fn requests_for_scopes_against_pending_ones() {
    const BY_GRANT: [&str; 3] = ["+--", "-+-", "---"];
    const BY_REQUEST: [&str; 3] = ["+--", "++-", "+++"];
    let rig = Rig::new();
    let schema = rig.mdl.intern(Namespace::Schema, "test", "");
    for scope in [rig.mdl.global().clone(), schema, rig.mdl.commit().clone()] {
        let tried = against_pending(&rig, &scope, &[IX, S, X], [&BY_GRANT, &BY_REQUEST]);
        assert_eq!(tried, 4, "X goes only where nobody waits, and with IX pending nobody gets IX");
    }
}

#[test]
fn scopes_take_intentions_of_many_and_one_stop() {
    let rig = Rig::new();
    let (a, b) = (rig.session(), rig.session());
    let schema = rig.mdl.intern(Namespace::Schema, "test", "");
    let allowed = |g: Mode, r: Mode| matches!((g, r), (IX, IX) | (S, S));
    for o in [rig.mdl.global().clone(), schema, rig.mdl.commit().clone()] {
        for g in [IX, S, X] {
            for r in [IX, S, X] {
                rig.lock(&a, &o, g);
                rig.lock(&a, &o, g);
                let got = rig.try_lock(&b, &o, r);
                assert_eq!(got, allowed(g, r), "{r:?} against granted {g:?}");
                rig.mdl.release(&a, &o, g);
                assert!(got || !rig.try_lock(&b, &o, r), "the second grant still counts");
                rig.mdl.release(&a, &o, g);
                if got {
                    rig.mdl.release(&b, &o, r);
                }
                assert!(rig.mdl.locks().is_empty());
            }
        }
    }
    let global = rig.mdl.global();
    for _ in 0..255 {
        rig.lock(&a, global, IX);
    }
    assert_eq!(rig.mdl.acquire(&a, global, IX, soon()), Err(MdlError::TooMany));
    rig.mdl.release_session(&a);
    assert!(rig.try_lock(&b, global, X));
}

/// Bug 989, and the queue behind a waiting DDL.
#[test]
fn ddl_waits_for_the_transaction_and_later_readers_wait_for_the_ddl() {
    let rig = Rig::new();
    let (reader, ddl, late) = (rig.session(), rig.session(), rig.session());
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    rig.lock(&reader, &t, SR);
    std::thread::scope(|s| {
        s.spawn(|| {
            rig.lock(&ddl, &t, X);
            assert!(!rig.try_lock(&reader, &t, SR), "nobody reads under X");
            rig.mdl.release(&ddl, &t, X);
        });
        rig.until_pending(1);
        s.spawn(|| {
            rig.lock(&late, &t, SR);
            let granted = rig.mdl.locks();
            assert!(granted.iter().all(|r| r.mode != X), "X went first: {granted:?}");
            rig.mdl.release(&late, &t, SR);
        });
        rig.until_pending(2);
        assert!(rig.try_lock(&reader, &t, SH), "SHOW goes ahead of waiting DDL");
        assert_eq!(rig.mdl.blockers(&late, &t, SNRW), [100, 101], "the message names the blockers");
        rig.mdl.release(&reader, &t, SH);
        rig.mdl.release(&reader, &t, SR);
    });
    assert!(rig.mdl.locks().is_empty());
}

#[test]
fn a_withdrawn_request_lets_the_others_go_on() {
    let rig = Rig::new();
    let (reader, ddl, late) = (rig.session(), rig.session(), rig.session());
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    rig.lock(&reader, &t, SR);
    std::thread::scope(|s| {
        s.spawn(|| {
            let end = rig.mdl.acquire(&ddl, &t, X, Deadline::after(Duration::from_millis(60)));
            assert_eq!(end, Err(MdlError::TimedOut));
        });
        rig.until_pending(1);
        let begun = Instant::now();
        rig.lock(&late, &t, SR);
        assert!(begun.elapsed() < Duration::from_secs(5), "woken when the DDL gave up");
    });
    rig.mdl.release(&late, &t, SR);
    rig.mdl.release(&reader, &t, SR);
    assert!(rig.try_lock(&late, &t, SR) && rig.mdl.locks().len() == 1, "and the fast path is open");
}

#[test]
fn a_kill_ends_the_wait() {
    let rig = Rig::new();
    let (reader, ddl) = (rig.session(), rig.session());
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    rig.lock(&reader, &t, SR);
    std::thread::scope(|s| {
        s.spawn(|| {
            let _in = sync::enter(&ddl);
            assert_eq!(rig.mdl.acquire(&ddl, &t, X, soon()), Err(MdlError::Killed));
        });
        rig.until_pending(1);
        ddl.kill(KILL_QUERY);
    });
    assert_eq!(rig.mdl.locks().len(), 1);
}

#[test]
fn an_upgrade_waits_for_others_only_and_keeps_what_it_had() {
    let rig = Rig::new();
    let (alter, reader) = (rig.session(), rig.session());
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    let mut held = Held::new();
    rig.mdl.take(&alter, &mut held, &t, SU, soon()).unwrap();
    assert!(rig.try_lock(&reader, &t, SW), "SU leaves writers alone");
    assert_eq!(
        rig.mdl.take(&alter, &mut held, &t, X, Deadline::At(Instant::now())),
        Err(MdlError::TimedOut)
    );
    assert!(!rig.try_lock(&reader, &t, SU), "SU is still there");
    rig.mdl.release(&reader, &t, SW);
    rig.mdl.take(&alter, &mut held, &t, X, soon()).unwrap();
    assert!(held.covers(&t, SNRW));
    rig.mdl.downgrade(&alter, &t, X, SNW);
    held.downgraded(&t, X, SNW);
    assert!(rig.try_lock(&reader, &t, SR) && !rig.try_lock(&reader, &t, SW), "SNW lets readers in");
    rig.mdl.release_all(&alter, &mut held);
    assert!(rig.try_lock(&reader, &t, SW));
}

/// The manual's LOCK TABLES / RENAME / INSERT example: the RENAME goes first.
#[test]
fn rename_goes_ahead_of_a_waiting_insert() {
    let rig = Rig::new();
    let (locker, insert, rename) = (rig.session(), rig.session(), rig.session());
    let x = rig.mdl.intern(Namespace::Table, "test", "x");
    rig.lock(&locker, &x, SNRW);
    std::thread::scope(|s| {
        s.spawn(|| {
            rig.lock(&insert, &x, SW);
            assert!(rig.mdl.locks().iter().all(|r| r.slot == insert.index()));
            rig.mdl.release(&insert, &x, SW);
        });
        rig.until_pending(1);
        s.spawn(|| {
            rig.lock(&rename, &x, X);
            assert!(rig.pending().iter().any(|r| r.mode == SW), "the insert still waits");
            rig.mdl.release(&rename, &x, X);
        });
        rig.until_pending(2);
        rig.mdl.release(&locker, &x, SNRW);
    });
}

/// DML loses to DDL, whoever closes the cycle.
#[test]
fn deadlocks_end_with_the_lighter_request() {
    for ddl_closes in [true, false] {
        let rig = Rig::new();
        let (dml, ddl) = (rig.session(), rig.session());
        let a = rig.mdl.intern(Namespace::Table, "test", "a");
        let b = rig.mdl.intern(Namespace::Table, "test", "b");
        rig.lock(&dml, &a, SR);
        rig.lock(&ddl, &b, X);
        let run_dml = || {
            assert_eq!(rig.mdl.acquire(&dml, &b, SR, soon()), Err(MdlError::Deadlock));
            rig.mdl.release(&dml, &a, SR);
        };
        let run_ddl = || {
            assert_eq!(rig.mdl.acquire(&ddl, &a, X, soon()), Ok(()));
            rig.mdl.release_session(&ddl);
        };
        std::thread::scope(|s| {
            if ddl_closes {
                s.spawn(run_dml);
            } else {
                s.spawn(run_ddl);
            }
            rig.until_pending(1);
            if ddl_closes { run_ddl() } else { run_dml() }
        });
        assert!(rig.mdl.locks().is_empty());
        assert!(rig.mdl.waits().edges().is_empty());
    }
}

#[test]
fn a_deadlock_through_another_kind_of_lock_is_found() {
    let rig = Rig::new();
    let (dml, ddl) = (rig.session(), rig.session());
    let a = rig.mdl.intern(Namespace::Table, "test", "a");
    rig.lock(&ddl, &a, X);
    // The DDL's session waits for a row that the DML's session has: the engine published this edge.
    let _row = rig.mdl.waits().add(ddl.index() as u64, dml.index() as u64).unwrap();
    assert_eq!(rig.mdl.acquire(&dml, &a, SR, soon()), Err(MdlError::Deadlock));
}

#[test]
fn more_grants_than_a_slot_has_words() {
    let rig = Rig::new();
    let (many, ddl) = (rig.session(), rig.session());
    let mut held = Held::new();
    let name = |i: usize| format!("t{i}");
    let n = sync::GRANTS + 20;
    let objects: Vec<_> =
        (0..n).map(|i| rig.mdl.intern(Namespace::Table, "test", &name(i))).collect();
    let savepoint = sync::GRANTS - 10;
    for (i, o) in objects.iter().enumerate() {
        assert_eq!(held.mark(), i);
        rig.mdl.take(&many, &mut held, o, SR, soon()).unwrap();
        rig.mdl.take(&many, &mut held, o, SR, soon()).unwrap();
    }
    assert_eq!(held.mark(), n, "a second use takes nothing");
    assert!(objects.iter().all(|o| !rig.try_lock(&ddl, o, X)), "strong requests see all of them");
    assert!(rig.try_lock(&ddl, &objects[n - 1], SR), "others share a ticketed table");
    rig.mdl.release(&ddl, &objects[n - 1], SR);
    rig.mdl.release_since(&many, &mut held, savepoint);
    for (i, o) in objects.iter().enumerate() {
        assert_eq!(rig.try_lock(&ddl, o, X), i >= savepoint, "table {i}");
    }
    rig.mdl.release_session(&ddl);
    rig.mdl.release_all(&many, &mut held);
    assert!(held.is_empty() && rig.mdl.locks().is_empty());
    assert!(objects.iter().all(|o| rig.try_lock(&ddl, o, X)));
    rig.mdl.release_session(&ddl);
    assert!(rig.mdl.locks().is_empty());
}

/// The words of a slot are used from the first on, and those in the middle that become free are used when there are no others.
#[test]
fn grants_of_many_objects_leave_a_list_at_once() {
    let rig = Rig::new();
    let object = |n: usize| rig.mdl.intern(Namespace::Table, "test", &format!("t{n}"));
    let mut held = Held::new();
    let all: Vec<_> = (0..40).map(object).collect();
    all.iter().for_each(|o| held.note(o, SNRW));
    // Twice: one of them stays.
    held.note(&all[4], SNRW);
    let asked: Vec<_> = all.iter().step_by(2).cloned().chain([object(99)]).collect();
    let gone = held.forget_all(asked, SNRW);
    assert_eq!(gone.len(), 20, "not the one that had no grant");
    let stays = |n: usize| held.covers(&all[n], SNRW);
    assert!((0..40).all(|n| stays(n) == (n % 2 == 1 || n == 4)));
    assert_eq!(held.mark(), 21);
    assert!(held.forget_all(vec![object(1)], X).is_empty(), "of another mode");
    assert!(held.covers(&all[1], SNRW));
}

#[test]
fn a_slots_words_are_all_used() {
    let rig = Rig::new();
    let s = rig.session();
    let object = |i: usize| rig.mdl.intern(Namespace::Table, "test", &format!("t{i}"));
    let objects: Vec<_> = (0..sync::GRANTS).map(object).collect();
    objects.iter().for_each(|o| rig.lock(&s, o, SR));
    rig.mdl.release(&s, &objects[3], SR);
    rig.lock(&s, &objects[5], SW);
    assert_eq!(s.grants_overflow.load(stdx::Ordering::Relaxed), 0, "the free word was found");
    rig.lock(&s, &objects[3], SR);
    assert_eq!(s.grants_overflow.load(stdx::Ordering::Relaxed), 1);
    assert_eq!(rig.mdl.locks().len(), sync::GRANTS + 1);
    // In any order, the last first and not: what is in use follows.
    for (i, o) in objects.iter().enumerate().filter(|(i, _)| i % 2 == 0) {
        assert_eq!(rig.mdl.locks().len(), sync::GRANTS + 1 - i / 2);
        rig.mdl.release(&s, o, SR);
    }
    for o in objects.iter().skip(1).step_by(2).rev() {
        rig.mdl.release(&s, o, SR);
    }
    rig.mdl.release(&s, &objects[5], SW);
    assert!(rig.mdl.locks().is_empty());
    assert_eq!(s.granted.load(stdx::Ordering::Relaxed), 0);
}

/// Pending X and SR behind a holder of X; the order in which they get their turn.
fn turns_of(limit: u64, rounds: usize) -> Vec<&'static str> {
    let rig = Rig::new();
    rig.mdl.set_write_locks_max(limit);
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    let order = sync::Mutex::new(&ORDER, Vec::new());
    let first = rig.session();
    rig.lock(&first, &t, X);
    std::thread::scope(|s| {
        let ask = |mode: Mode, name: &'static str| {
            let (rig, t, order) = (&rig, &t, &order);
            let slot = rig.session();
            s.spawn(move || {
                rig.lock(&slot, t, mode);
                order.lock().push(name);
                rig.mdl.release(&slot, t, mode);
            });
        };
        ask(SR, "reader");
        rig.until_pending(1);
        for n in 0..rounds {
            ask(X, "ddl");
            rig.until_pending(n + 2);
        }
        rig.mdl.release(&first, &t, X);
    });
    assert!(rig.mdl.locks().is_empty());
    order.into_inner()
}

#[test]
fn after_max_write_lock_count_grants_to_the_strong_the_weak_go_first() {
    let at = |limit, rounds| turns_of(limit, rounds).iter().position(|name| *name == "reader");
    assert_eq!(at(u64::MAX, 12), Some(12), "by default, behind all of them");
    assert_eq!(at(10, 12), Some(10));
    assert_eq!(at(1, 12), Some(1));
}

#[test]
fn after_max_write_lock_count_writers_lock_tables_read_goes_first() {
    for (limit, granted) in [(u64::MAX, true), (10, true), (3, false), (1, false)] {
        let rig = Rig::new();
        rig.mdl.set_write_locks_max(limit);
        let t = rig.mdl.intern(Namespace::Table, "test", "t");
        let (holder, locker) = (rig.session(), rig.session());
        rig.lock(&holder, &t, SW);
        std::thread::scope(|s| {
            s.spawn(|| {
                rig.lock(&locker, &t, SRO);
                rig.mdl.release(&locker, &t, SRO);
            });
            rig.until_pending(1);
            // Writers that come while LOCK TABLES t READ waits.
            let writers: Vec<_> = (0..3).map(|_| rig.session()).collect();
            let got: Vec<_> = writers.iter().map(|w| rig.try_lock(w, &t, SW)).collect();
            let counted = limit.min(3) as usize;
            assert!(
                got.iter().enumerate().all(|(n, got)| *got == (n < counted)),
                "{limit}: {got:?}"
            );
            let last = rig.session();
            assert_eq!(rig.try_lock(&last, &t, SW), granted, "{limit}");
            for w in writers.iter().chain([&last, &holder]) {
                rig.mdl.release_session(w);
            }
        });
        assert!(rig.mdl.locks().is_empty());
    }
}

#[test]
fn without_the_fast_path_every_lock_is_a_ticket() {
    let rig = Rig::new();
    let (a, b) = (rig.session(), rig.session());
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    rig.lock(&a, &t, SR);
    rig.mdl.set_fast_path(false);
    // What was granted before stays what it is, and is still in the way.
    assert!(!rig.try_lock(&b, &t, X));
    rig.lock(&b, &t, SW);
    rig.lock(&b, rig.mdl.global(), IX);
    let later = rig.mdl.intern(Namespace::Table, "test", "later");
    rig.lock(&b, &later, SR);
    assert_eq!(b.grants_overflow.load(stdx::Ordering::Relaxed), 3);
    assert_eq!((b.granted.load(stdx::Ordering::Relaxed), rig.mdl.locks().len()), (0, 4));
    assert!(!rig.try_lock(&a, &later, X));
    rig.mdl.release(&b, &later, SR);
    assert!(rig.try_lock(&a, &later, X));
    rig.mdl.set_fast_path(true);
    assert!(!rig.try_lock(&a, &t, X));
    for s in [&a, &b] {
        rig.mdl.release_session(s);
    }
    assert!(rig.mdl.locks().is_empty());
    rig.lock(&a, &t, SR);
    assert_eq!(a.granted.load(stdx::Ordering::Relaxed), 1);
}

#[test]
fn unused_names_are_forgotten_and_used_ones_are_not() {
    let rig = Rig::new();
    let s = rig.session();
    let granted = rig.mdl.intern(Namespace::Table, "test", "granted");
    rig.lock(&s, &granted, SR);
    let strong = rig.mdl.intern(Namespace::Table, "test", "strong");
    rig.lock(&s, &strong, SRO);
    let handle = rig.mdl.intern(Namespace::Table, "test", "handle");
    drop((granted, strong));
    for i in 0..20_000 {
        drop(rig.mdl.intern(Namespace::Table, "test", &i.to_string()));
    }
    assert!(rig.mdl.sweep() > 0);
    assert_eq!(rig.mdl.sweep(), 0, "what is left is in use");
    let again = rig.mdl.intern(Namespace::Table, "test", "handle");
    assert!(std::sync::Arc::ptr_eq(&handle, &again));
    let other = rig.session();
    for (name, mode) in [("granted", X), ("strong", SW)] {
        let o = rig.mdl.intern(Namespace::Table, "test", name);
        assert!(!rig.try_lock(&other, &o, mode), "{name} is still locked");
    }
    // A recycled object serves its new name.
    let fresh = rig.mdl.intern(Namespace::Schema, "fresh", "");
    assert_eq!((&*fresh.name().schema, fresh.namespace()), ("fresh", Namespace::Schema));
    rig.lock(&s, &fresh, IX);
    assert!(!rig.try_lock(&other, &fresh, X));
}

/// Who comes with a name looks at a few others, not at all: after a few names most of those that nobody uses are still there.
#[test]
fn nobody_walks_over_all_names_to_forget_some() {
    const NAMES: usize = 20_000;
    let rig = Rig::new();
    let intern = |n: usize| rig.mdl.intern(Namespace::Table, "test", &n.to_string());
    let held: Vec<_> = (0..NAMES).map(intern).collect();
    drop(held);
    (NAMES..NAMES + 100).for_each(|n| drop(intern(n)));
    let left = rig.mdl.sweep();
    assert!((NAMES - 500..NAMES).contains(&left), "{left} were left");
}

/// Names that come and go leave about as many as are kept anyway, and twice as many as are in use.
#[test]
fn names_that_come_and_go_leave_few() {
    let rig = Rig::new();
    let intern = |n: usize| rig.mdl.intern(Namespace::Table, "test", &n.to_string());
    (0..100_000).for_each(|n| drop(intern(n)));
    let left = rig.mdl.sweep();
    assert!(left < 4_500, "{left} were left");
    let held: Vec<_> = (0..10_000).map(intern).collect();
    (10_000..100_000).for_each(|n| drop(intern(n)));
    let left = rig.mdl.sweep();
    assert!(left < 15_000, "{left} were left beside {}", held.len());
}

/// Look-up against deletion: names are forgotten all the time while others ask for them, lock them and drop their handles. A
/// name has one object as long as somebody has that, or a lock of it alone.
#[test]
fn a_name_that_is_forgotten_beside_who_asks_for_it_is_locked_by_one() {
    const ROUNDS: usize = 1_000;
    let rig = Rig::new();
    let inside = [0, 1].map(|_| stdx::SharedAtomic::<u64, { stdx::class::OTHER }>::new(0));
    let user = |mode: Mode| {
        let (rig, inside) = (&rig, &inside);
        move || {
            let s = rig.session();
            for round in 0..ROUNDS {
                let n = round % 2;
                let name = || rig.mdl.intern(Namespace::Table, "test", ["a", "b"][n]);
                rig.lock(&s, &name(), mode);
                let alone = inside[n].fetch_add(u64::from(mode == X), stdx::Ordering::SeqCst);
                assert_eq!(alone, 0, "{mode:?} while another has X");
                inside[n].fetch_sub(u64::from(mode == X), stdx::Ordering::SeqCst);
                rig.mdl.release(&s, &name(), mode);
            }
        }
    };
    let mut forgotten = 0;
    std::thread::scope(|s| {
        let users = [X, X, SR].map(|mode| s.spawn(user(mode)));
        while users.iter().any(|user| !user.is_finished()) {
            forgotten += rig.mdl.sweep();
            std::thread::yield_now();
        }
    });
    assert!(forgotten > 0 && rig.mdl.locks().is_empty(), "{forgotten} were forgotten");
}

#[test]
fn the_report_shows_grants_and_requests() {
    let rig = Rig::new();
    let (a, b) = (rig.session(), rig.session());
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    rig.lock(&a, rig.mdl.global(), IX);
    rig.lock(&a, &t, SW);
    std::thread::scope(|s| {
        s.spawn(|| {
            rig.lock(&b, &t, SNW);
            rig.mdl.release(&b, &t, SNW);
        });
        rig.until_pending(1);
        let rows: Vec<String> = rig
            .mdl
            .locks()
            .iter()
            .map(|r| {
                let (kind, mode) = (r.namespace.object_type(), r.mode.lock_type());
                let status = if r.status == Status::Granted { "GRANTED" } else { "PENDING" };
                format!("{kind} {}.{} {mode} {status} {}", r.schema, r.name, r.session_id)
            })
            .collect();
        assert_eq!(
            rows,
            [
                "TABLE test.t SHARED_WRITE GRANTED 100",
                "GLOBAL . INTENTION_EXCLUSIVE GRANTED 100",
                "TABLE test.t SHARED_NO_WRITE PENDING 101",
            ]
        );
        rig.mdl.release(&a, &t, SW);
    });
    rig.mdl.release_session(&a);
    assert!(rig.mdl.locks().is_empty());
}

/// SWLP yields to a waiting SRO, SW does not.
#[test]
fn low_priority_writes_yield() {
    let rig = Rig::new();
    let (writer, ro, other) = (rig.session(), rig.session(), rig.session());
    let t = rig.mdl.intern(Namespace::Table, "test", "t");
    rig.lock(&writer, &t, SW);
    std::thread::scope(|s| {
        s.spawn(|| {
            rig.lock(&ro, &t, SRO);
            rig.mdl.release(&ro, &t, SRO);
        });
        rig.until_pending(1);
        assert!(!rig.try_lock(&other, &t, SWLP));
        assert!(rig.try_lock(&other, &t, SW));
        rig.mdl.release(&other, &t, SW);
        rig.mdl.release(&writer, &t, SW);
    });
}
