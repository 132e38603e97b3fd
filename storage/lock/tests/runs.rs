//! Runs: locks of adjacent keys that a scan makes, against others who lock, insert, and remove.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use base::Error;
use lock::{Inherited, Kind, Mode, Shape};
use std::thread::spawn;
use support::{GAP, INSERT, NEXT, S, Session, World, X, key, world};

const NEXT_S: Shape = Shape::new(Mode::Shared, Kind::NextKey);

/// Locks these keys one after the other as a scan does that finds its leaf unchanged.
fn scan(s: &Session, keys: &[&str], shape: Shape) {
    let mut after = None;
    for k in keys {
        assert!(s.next(k, shape, after).unwrap().unwrap().fresh.is_some());
        after = Some(*k);
    }
}

fn rows(w: &World, s: &Session) -> u64 {
    w.locks.verify();
    w.locks.owner_info(s.owner(), &[]).row_locks
}

#[test]
fn a_run_stands_for_a_lock_on_each_of_its_keys() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    scan(&a, &["b", "d", "f"], NEXT);
    assert_eq!(rows(&w, &a), 3);
    assert_eq!(w.locks.owner_info(a.owner(), &[]).structs, 1);
    for k in ["b", "d", "f"] {
        assert!(!w.locks.is_free(key(k)) && w.locks.has(a.owner(), key(k), X));
        assert!(!b.gets(k, S) && !b.gets(k, INSERT) && b.gets(k, GAP) && a.gets(k, NEXT));
    }
    // "f" is no more than the tip: what is before it is not the run's yet, but its gap is locked.
    assert!(b.gets("e", X) && b.gets("g", X) && b.gets("g", INSERT) && b.gets("a", X));
    assert!(matches!(b.try_lock("d", X), Err(Error::LockNotAvailable)));
    a.end();
    assert!(b.gets("d", X) && b.gets("f", INSERT));
    b.end();
    assert!(w.locks.is_free(key("d")) && w.locks.snapshot().runs.is_empty());
}

#[test]
fn a_run_goes_down_as_it_goes_up() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    scan(&a, &["h", "f", "d", "b"], X);
    // The run, and its tip.
    assert_eq!((rows(&w, &a), w.locks.snapshot().runs.len()), (4, 2));
    for k in ["b", "d", "f", "h"] {
        assert!(w.locks.has(a.owner(), key(k), X) && !b.gets(k, S), "{k}");
    }
    // Between others of the run, and between its end and its tip: another's.
    for (new, next) in [("g", "h"), ("c", "d")] {
        assert!(b.gets(next, INSERT) && b.gets("a", X));
        w.locks.inserted(key(new), key(next));
        assert!(b.gets(new, X), "{new}");
    }
    assert!(a.next("a", X, Some("b")).unwrap().is_none());
    b.end();
    assert!(a.next("a", X, Some("b")).unwrap().is_some());
    assert!(!w.locks.has(a.owner(), key("c"), X) && w.locks.has(a.owner(), key("a"), X));
    assert_eq!(rows(&w, &a), 5);
    // Given back in the middle, and on below.
    w.locks.unlock(a.owner(), key("d"), X);
    assert!(b.gets("d", X) && !b.gets("f", X) && !b.gets("b", X));
    // Turned round: from its lower end up there is only what it has; from the upper end it goes on up.
    assert!(a.next("k", X, Some("h")).unwrap().is_some());
    assert!(!b.gets("k", S) && b.gets("i", X) && rows(&w, &a) == 5);
}

#[test]
fn many_keys_downwards_take_no_memory() {
    let w = world();
    let a = w.session();
    let mut after: Option<String> = None;
    for n in (0..100_000).rev() {
        let k = format!("{n:08}");
        assert!(a.next(&k, NEXT, after.as_deref()).unwrap().is_some());
        after = Some(k);
    }
    assert_eq!((w.locks.memory_bytes(), rows(&w, &a)), (0, 100_000));
}

#[test]
fn readers_share_runs_and_nobody_inserts_between() {
    let w = world();
    let (a, b, c) = (w.session(), w.session(), w.session());
    scan(&a, &["b", "d", "f"], NEXT_S);
    scan(&b, &["b", "d", "f", "h"], NEXT_S);
    assert!(c.gets("d", S) && !c.gets("d", X) && !c.gets("f", INSERT));
    a.end();
    assert!(!c.gets("d", X));
    b.end();
    assert!(c.gets("d", X));
    // Where a single lock is, no run goes on without being asked for by itself.
    assert!(a.next("d", X, None).unwrap().is_none() && a.next("e", X, None).unwrap().is_some());
    w.locks.verify();
}

#[test]
fn who_has_to_wait_waits_for_the_one_key() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    scan(&a, &["b", "d", "f", "h"], NEXT);
    for k in ["d", "h"] {
        let b = w.session();
        assert!(matches!(b.lock_for(k, X, 5), Err(Error::LockWaitTimeout)));
    }
    // Two of the four are single locks by now.
    assert_eq!((rows(&w, &a), w.locks.snapshot().locks.len()), (4, 2));
    assert!(w.locks.has(a.owner(), key("d"), NEXT) && w.locks.has(a.owner(), key("e"), NEXT));
    let waiter = spawn(move || {
        assert!(b.lock("d", X).unwrap().waited);
        b
    });
    while w.locks.waiting() == 0 {
        std::thread::yield_now();
    }
    a.end();
    let b = waiter.join().unwrap();
    assert!(!a.gets("d", X) && a.gets("f", X));
    b.end();
}

#[test]
fn deadlocks_through_runs_are_found() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    scan(&a, &["1", "2", "3"], X);
    scan(&b, &["5", "6", "7"], X);
    let first = spawn(move || {
        let end = a.lock("6", X);
        a.end();
        end.is_ok()
    });
    while w.locks.waiting() == 0 {
        std::thread::yield_now();
    }
    let second = b.lock("2", X).is_ok();
    b.end();
    assert!(first.join().unwrap() != second);
    assert!(w.locks.last_deadlock().is_some() && w.locks.graph_is_empty());
}

#[test]
fn what_is_given_back_is_free_and_the_rest_is_not() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    scan(&a, &["b", "d", "f", "h"], X);
    for (n, k) in ["d", "h", "b"].into_iter().enumerate() {
        w.locks.unlock(a.owner(), key(k), X);
        assert_eq!(rows(&w, &a), 3 - n as u64);
        assert!(b.gets(k, X) && !b.gets("f", X), "{k}");
    }
    b.end();
    // It goes on behind what it gave back, with a run of its own.
    assert!(a.next("j", X, Some("h")).unwrap().is_some());
    assert!(b.gets("h", X) && !b.gets("j", X) && b.gets("i", X));
}

#[test]
fn a_key_that_another_inserts_into_a_run_without_gaps_is_his() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    scan(&a, &["b", "d", "f"], X);
    // Between others of the run, and between its end and its tip.
    for (new, next) in [("c", "d"), ("e", "f")] {
        assert!(b.gets(next, INSERT));
        w.locks.inserted(key(new), key(next));
        assert!(b.gets(new, X));
    }
    assert!(a.next("h", X, Some("f")).unwrap().is_some());
    assert!(!w.locks.has(a.owner(), key("c"), X) && !w.locks.has(a.owner(), key("e"), X));
    for k in ["b", "d", "f", "h"] {
        assert!(w.locks.has(a.owner(), key(k), X) && !b.gets(k, S), "{k}");
    }
    assert_eq!(rows(&w, &a), 4);
}

#[test]
fn a_key_that_goes_leaves_its_gap_locked() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    scan(&a, &["b", "d", "f"], NEXT);
    // In the middle the key behind is locked with its gap; at the end it gets the gap.
    for (from, heir) in [("d", "f"), ("f", "m")] {
        w.locks.leave(key(from), key(heir));
        w.locks.gone(key(from));
        assert!(!b.gets(heir, INSERT), "{from}");
    }
    assert!(b.gets("m", X));
    // Behind the run's last row the inserter is told of the gap, and his key's half stays locked.
    w.locks.inserted(key("k"), key("m"));
    assert!(!b.gets("k", INSERT) && b.gets("k", X));
    w.locks.verify();
}

#[test]
fn an_insert_before_a_run_gives_it_both_halves_of_the_gap() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    scan(&a, &["d", "f"], NEXT);
    w.locks.inserted(key("b"), key("d"));
    assert!(!b.gets("b", INSERT) && b.gets("b", X) && !b.gets("d", INSERT));
}

#[test]
fn a_million_keys_take_no_memory_and_others_their_own() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    w.locks.set_memory_max(1 << 20);
    let mut after: Option<String> = None;
    for n in 0..1_000_000 {
        let k = format!("{n:08}");
        assert!(a.next(&k, NEXT, after.as_deref()).unwrap().is_some());
        after = Some(k);
    }
    assert_eq!((w.locks.memory_bytes(), rows(&w, &a)), (0, 1_000_000));
    assert!(!b.gets("00500000", X) && b.gets("1", X) && b.gets("1", INSERT));
    // Another index knows nothing of it.
    assert!(w.locks.is_free(lock::Target::record(base::IndexId(8), b"00500000")));
    // A run apart from all others for each key is beyond it.
    let full = (0..1_000_000).find(|n| b.next(&format!("x{n:08}"), X, None).is_err()).unwrap();
    assert!(full > 1_000, "{full}");
    b.end();
    assert_eq!(w.locks.memory_bytes(), 0);
}

#[test]
fn a_stopped_join_leaves_inherited_shapes_alone() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    // Two shapes of one owner are two lists.
    scan(&a, &["b", "d"], NEXT_S);
    assert!(a.next("f", X, Some("d")).unwrap().is_some());
    assert!(b.gets("b", S) && !b.gets("f", S) && !b.gets("d", INSERT) && b.gets("f", INSERT));
    assert_eq!(w.locks.owner_info(a.owner(), &[]).structs, 2);
    let _ = Inherited::Always;
}
