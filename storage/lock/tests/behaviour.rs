//! Sessions that lock, wait, give up, and inherit.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use base::Error;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::spawn;
use std::time::{Duration, Instant};
use support::{GAP, INSERT, NEXT, S, Session, World, X, key, world};

/// Until so many requests wait.
fn until_waiting(world: &World, n: u64) {
    let give_up = Instant::now() + Duration::from_secs(10);
    while world.locks.waiting() != n {
        assert!(Instant::now() < give_up, "{} wait, not {n}", world.locks.waiting());
        std::thread::yield_now();
    }
}

fn shapes_of(world: &World, s: &Session) -> Vec<(String, &'static str, bool)> {
    let all = world.locks.snapshot().locks;
    let mine = all.iter().filter(|l| l.slot == s.slot.index());
    let text = |k: &Option<Box<[u8]>>| match k {
        None => "sup".to_string(),
        Some(k) => String::from_utf8(k.to_vec()).unwrap(),
    };
    let mut found: Vec<_> =
        mine.map(|l| (text(&l.key), l.shape.name(l.key.is_none()), l.waiting)).collect();
    found.sort();
    found
}

#[test]
fn an_own_stronger_lock_is_enough_and_a_record_lock_asks_for_the_gap_only() {
    let w = world();
    let a = w.session();
    assert_eq!(a.try_lock("k", NEXT).unwrap().fresh, Some(NEXT));
    for weaker in [NEXT, X, S, GAP] {
        assert_eq!(a.try_lock("k", weaker).unwrap().fresh, None);
    }
    assert_eq!(a.try_lock("l", X).unwrap().fresh, Some(X));
    assert_eq!(a.try_lock("l", NEXT).unwrap().fresh, Some(GAP));
    assert_eq!(a.try_lock("l", NEXT).unwrap().fresh, None, "both halves are a whole");
    assert!(w.locks.has(a.owner(), key("l"), NEXT));
    a.end();
    assert!(w.locks.snapshot().locks.is_empty());
    assert!(w.locks.is_free(key("k")));
}

#[test]
fn no_lock_is_made_for_a_write_or_an_insert_that_is_free() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    assert!(a.try_lock("k", INSERT).unwrap().fresh.is_none());
    assert!(w.locks.is_free(key("k")));
    assert!(b.gets("k", GAP) && a.gets("k", GAP) && a.gets("k", X));
    assert!(matches!(a.try_lock("k", INSERT), Err(Error::LockNotAvailable)));
    b.end();
    assert!(a.gets("k", INSERT), "one's own gap lock keeps oneself out of nothing");
}

#[test]
fn a_waiter_gets_the_lock_when_it_is_given_back_and_not_before() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    a.lock("k", X).unwrap();
    let waiter = spawn(move || {
        let granted = b.lock("k", S).unwrap();
        assert!(granted.waited && granted.fresh == Some(S));
        b
    });
    until_waiting(&w, 1);
    assert_eq!(w.locks.snapshot().waits.len(), 1);
    a.end();
    let b = waiter.join().unwrap();
    assert_eq!(shapes_of(&w, &b), [("k".into(), "S,REC_NOT_GAP", false)]);
    assert!(!a.gets("k", X) && a.gets("k", S));
    assert!(w.locks.graph_is_empty());
}

#[test]
fn requests_are_granted_in_order_and_hold_up_later_ones() {
    let w = world();
    let (a, b, c) = (w.session(), w.session(), w.session());
    a.lock("k", S).unwrap();
    let b = spawn(move || {
        b.lock("k", X).unwrap();
        b
    });
    until_waiting(&w, 1);
    assert!(!c.gets("k", S), "behind the one that waits");
    assert!(a.gets("k", X), "the one that waits, waits for the asker");
    a.end();
    let b = b.join().unwrap();
    b.end();
    assert!(c.gets("k", S));
}

#[test]
fn waits_end_at_the_deadline_or_by_a_kill_and_leave_nothing_behind() {
    let w = world();
    let (a, b, c) = (w.session(), w.session(), w.session());
    a.lock("k", X).unwrap();
    assert!(matches!(b.lock_for("k", X, 20), Err(Error::LockWaitTimeout)));
    assert!(shapes_of(&w, &b).is_empty());
    let slot = c.slot.index();
    let waiter = spawn(move || c.lock("k", X));
    until_waiting(&w, 1);
    w.slots.session(slot).kill(sync::KILL_QUERY);
    assert!(matches!(waiter.join().unwrap(), Err(Error::Killed)));
    assert_eq!(w.locks.snapshot().locks.len(), 1);
    assert!(w.locks.graph_is_empty());
}

#[test]
fn who_gives_up_lets_those_behind_go_on() {
    let w = world();
    let (a, b, c) = (w.session(), w.session(), w.session());
    a.lock("k", S).unwrap();
    let b = spawn(move || b.lock_for("k", X, 200).is_err());
    until_waiting(&w, 1);
    let c = spawn(move || c.lock("k", S).unwrap());
    assert!(b.join().unwrap());
    assert!(c.join().unwrap().waited);
}

/// Two sessions lock one key each, then the other's.
fn cross(weight_first: u64, weight_second: u64) -> (bool, bool) {
    let w = world();
    let (mut a, mut b) = (w.session(), w.session());
    (a.weight, b.weight) = (weight_first, weight_second);
    a.lock("1", X).unwrap();
    b.lock("2", X).unwrap();
    let a = spawn(move || {
        let end = a.lock("2", X);
        a.end();
        end
    });
    until_waiting(&w, 1);
    let second = b.lock("1", X);
    b.end();
    let first = a.join().unwrap();
    for end in [&first, &second] {
        assert!(matches!(end, Ok(_) | Err(Error::Deadlock)));
    }
    let last = w.locks.last_deadlock().unwrap();
    assert_eq!(last.members.len(), 2);
    assert!(w.locks.snapshot().locks.is_empty() && w.locks.graph_is_empty());
    (first.is_ok(), second.is_ok())
}

#[test]
fn the_lightest_of_a_deadlock_gives_way_and_of_equals_the_last() {
    assert_eq!(cross(0, 0), (true, false));
    assert_eq!(cross(5, 0), (true, false));
    assert_eq!(cross(0, 5), (false, true));
}

#[test]
fn a_gap_lock_that_comes_while_an_insert_waits_closes_a_cycle_like_any_other() {
    let w = world();
    let (a, b, c) = (w.session(), w.session(), w.session());
    a.lock("k", GAP).unwrap();
    b.lock("m", X).unwrap();
    let b = spawn(move || {
        let end = b.lock("k", INSERT);
        b.end();
        end
    });
    until_waiting(&w, 1);
    // Granted although an insert waits: the waiter waits for it from now on.
    c.lock("k", GAP).unwrap();
    a.end();
    let end = c.lock("m", X);
    c.end();
    let other = b.join().unwrap();
    assert!(end.is_err() != other.is_err(), "{end:?} {other:?}");
}

#[test]
fn without_the_search_a_deadlock_ends_by_time() {
    let w = world();
    w.locks.set_deadlock_detect(false);
    let (a, b) = (w.session(), w.session());
    a.lock("1", X).unwrap();
    b.lock("2", X).unwrap();
    let a = spawn(move || {
        let end = a.lock_for("2", X, 5_000);
        a.end();
        end
    });
    until_waiting(&w, 1);
    assert!(matches!(b.lock_for("1", X, 50), Err(Error::LockWaitTimeout)));
    assert!(w.locks.last_deadlock().is_none());
    b.end();
    assert!(a.join().unwrap().is_ok());
}

#[test]
fn memory_is_limited_and_an_end_frees_it() {
    let w = world();
    w.locks.set_memory_max(1024 * 1000);
    let (a, b) = (w.session(), w.session());
    let full = (0..1_000_000).find(|n| a.try_lock(&n.to_string(), X).is_err()).unwrap();
    assert!(matches!(a.try_lock(&full.to_string(), X), Err(Error::LockTableFull)));
    assert!((1_000_000..1_100_000).contains(&w.locks.memory_bytes()));
    // Who has to wait is not refused.
    let waiter = spawn(move || b.lock("0", X).map(|_| b.end()));
    until_waiting(&w, 1);
    a.end();
    waiter.join().unwrap().unwrap();
    assert_eq!(w.locks.memory_bytes(), 0);
    assert!(a.gets(&full.to_string(), X));
}

#[test]
fn a_writers_lock_is_made_for_him_and_goes_with_him() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    assert!(w.locks.convert(a.slot.index(), key("k"), || true));
    assert!(w.locks.convert(a.slot.index(), key("k"), || true));
    assert_eq!(shapes_of(&w, &a), [("k".into(), "X,REC_NOT_GAP", false)]);
    assert!(!b.gets("k", S) && a.gets("k", X));
    a.end();
    assert!(b.gets("k", S));
    let asked = std::cell::Cell::new(0);
    let ends_now = || {
        asked.set(asked.get() + 1);
        asked.get() == 1
    };
    assert!(!w.locks.convert(a.slot.index(), key("m"), ends_now));
    assert!(w.locks.is_free(key("m")) && shapes_of(&w, &a).is_empty());
}

#[test]
fn a_removed_record_leaves_its_gap_and_wakes_who_waits_for_it() {
    let w = world();
    let (a, b, c) = (w.session(), w.session(), w.session());
    a.lock("k", X).unwrap();
    let b = spawn(move || {
        let granted = b.lock("k", NEXT).unwrap();
        assert!(granted.waited && granted.fresh.is_none(), "{granted:?}");
        b
    });
    until_waiting(&w, 1);
    w.locks.leave(key("k"), key("m"));
    w.locks.gone(key("k"));
    let b = b.join().unwrap();
    assert_eq!(shapes_of(&w, &a), [("m".into(), "X,GAP", false)]);
    assert_eq!(shapes_of(&w, &b), [("m".into(), "X,GAP", false)]);
    assert!(!c.gets("m", INSERT) && c.gets("m", X));
    a.end();
    b.end();
    assert!(c.gets("m", INSERT));
}

#[test]
fn an_insert_into_a_locked_gap_leaves_both_halves_locked() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    for behind in ["m", "sup"] {
        a.lock(behind, NEXT).unwrap();
        w.locks.inserted(key("k"), key(behind));
        assert!(!b.gets("k", INSERT) && b.gets("k", X));
        a.end();
        b.end();
    }
}

#[test]
fn a_lock_that_is_given_back_early_lets_others_in() {
    let w = world();
    let (a, b) = (w.session(), w.session());
    a.lock("k", X).unwrap();
    let waiter = spawn(move || b.lock("k", X).unwrap().waited);
    until_waiting(&w, 1);
    w.locks.unlock(a.owner(), key("k"), X);
    assert!(waiter.join().unwrap());
    assert!(shapes_of(&w, &a).is_empty());
}

#[test]
fn a_deadlocks_text_has_innodbs_form() {
    struct Plain;
    impl lock::Names for Plain {
        fn transaction(&self, m: &lock::DeadlockMember) -> String {
            format!("TRANSACTION {}\n", m.slot)
        }
        fn index(&self, _: base::IndexId) -> String {
            "index PRIMARY of table `d`.`t`".into()
        }
    }
    let w = world();
    let heard = Arc::new(sync::Event::new(&CLASS));
    let said = Arc::clone(&heard);
    w.locks.on_deadlock(Box::new(move |_| said.notify_all()));
    let (a, b) = (w.session(), w.session());
    a.lock("1", X).unwrap();
    b.lock("2", X).unwrap();
    let a = spawn(move || a.lock("2", X).map(|_| a.end()));
    until_waiting(&w, 1);
    assert!(b.lock("1", X).is_err());
    b.end();
    a.join().unwrap().unwrap();
    let text = w.locks.last_deadlock().unwrap().text(&Plain);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "*** (1) TRANSACTION:");
    assert!(
        text.contains("*** (2) WAITING FOR THIS LOCK TO BE GRANTED:\nRECORD LOCKS index PRIMARY")
    );
    assert!(text.contains("lock_mode X locks rec but not gap waiting"));
    assert_eq!(*lines.last().unwrap(), "*** WE ROLL BACK TRANSACTION (1)");
}

static CLASS: instrument::CondClass = instrument::CondClass::new("wait/synch/cond/test/heard");

/// Until so many waiters are in the graph, whose blockers know then whom they hold up.
fn until_noted(world: &World, n: usize) {
    let give_up = Instant::now() + Duration::from_secs(10);
    while world.noted() != n {
        assert!(Instant::now() < give_up, "{} wait, not {n}", world.noted());
        std::thread::yield_now();
    }
}

/// A thread that waits for `k` exclusively, says so in `order`, and ends.
fn waiter(
    s: Session,
    k: &'static str,
    name: &'static str,
    order: &Sender<&'static str>,
) -> std::thread::JoinHandle<()> {
    let order = order.clone();
    spawn(move || {
        s.lock(k, X).unwrap();
        order.send(name).unwrap();
        s.end();
    })
}

#[test]
fn who_holds_up_others_goes_first_and_of_equals_who_was_first() {
    let w = world();
    let (order, granted) = channel();
    let (holder, busy) = (w.session(), w.session());
    holder.lock("k", X).unwrap();
    busy.lock("m", X).unwrap();
    let mut threads = Vec::new();
    for (n, (s, k, name)) in [
        (w.session(), "k", "first"),
        (w.session(), "k", "second"),
        (busy, "k", "busy"),
        (w.session(), "m", "behind busy"),
    ]
    .into_iter()
    .enumerate()
    {
        threads.push(waiter(s, k, name, &order));
        until_noted(&w, n + 1);
    }
    holder.end();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let granted: Vec<_> = granted.try_iter().collect();
    assert_eq!(granted[0], "busy");
    let alone: Vec<_> = granted.into_iter().filter(|n| !n.ends_with("busy")).collect();
    assert_eq!(alone, ["first", "second"]);
    assert!(w.locks.graph_is_empty());
}

/// Two readers and a writer between them in weight, behind them in the queue: both readers go, for the writer waits for
/// one of them, and nobody would look at the other again.
#[test]
fn who_is_ready_is_not_left_behind_by_one_who_has_to_stay() {
    let w = world();
    let (order, other) = (channel(), channel());
    let (holder, light, heavy, writer) = (w.session(), w.session(), w.session(), w.session());
    holder.lock("k", X).unwrap();
    heavy.lock("m", X).unwrap();
    writer.lock("n", X).unwrap();
    let granted = other.0;
    let light = spawn(move || {
        light.lock("k", S).unwrap();
        granted.send("light").unwrap();
        light.end();
    });
    until_noted(&w, 1);
    let heavy = spawn(move || {
        heavy.lock("k", S).unwrap();
        let together = other.1.recv_timeout(Duration::from_secs(10));
        heavy.end();
        together.is_ok()
    });
    until_noted(&w, 2);
    let mut threads = vec![light];
    threads.push(waiter(writer, "k", "writer", &order.0));
    until_noted(&w, 3);
    for (n, (k, name)) in [("m", "one"), ("m", "two"), ("n", "three")].into_iter().enumerate() {
        threads.push(waiter(w.session(), k, name, &order.0));
        until_noted(&w, n + 4);
    }
    holder.end();
    assert!(heavy.join().unwrap(), "the other reader slept");
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert!(w.locks.graph_is_empty());
}

/// A deadlock through a lock that was granted out of turn is found by whom it concerns.
#[test]
fn a_waiter_that_was_passed_waits_for_the_one_who_passed_it() {
    let w = world();
    let (holder, passed, busy, behind) = (w.session(), w.session(), w.session(), w.session());
    holder.lock("k", X).unwrap();
    passed.lock("p", X).unwrap();
    busy.lock("m", X).unwrap();
    let passed = spawn(move || {
        let end = passed.lock("k", X);
        passed.end();
        end.is_ok()
    });
    until_noted(&w, 1);
    let busy = spawn(move || {
        busy.lock("k", X).unwrap();
        let end = busy.lock("p", X);
        busy.end();
        end.is_ok()
    });
    until_noted(&w, 2);
    let behind = spawn(move || {
        behind.lock("m", X).unwrap();
        behind.end();
    });
    until_noted(&w, 3);
    holder.end();
    behind.join().unwrap();
    assert!(passed.join().unwrap() != busy.join().unwrap(), "one victim, not two, not none");
    assert!(w.locks.graph_is_empty());
}

#[test]
fn nobody_is_passed_for_ever() {
    let w = world();
    let (order, granted) = channel();
    let mut holder = w.session();
    holder.lock("k", X).unwrap();
    let patient = waiter(w.session(), "k", "patient", &order);
    until_noted(&w, 1);
    let (ignored, _behind) = channel();
    let mut rounds = 0;
    while granted.try_recv().is_err() {
        assert!(rounds < 100, "passed {rounds} times");
        rounds += 1;
        // Whoever comes now is heavier than the patient one.
        let (heavy, behind) = (w.session(), w.session());
        heavy.lock("m", X).unwrap();
        let behind = waiter(behind, "m", "behind", &ignored);
        until_noted(&w, 2);
        let heavy = spawn(move || {
            heavy.lock("k", X).unwrap();
            heavy
        });
        until_noted(&w, 3);
        holder.end();
        holder = heavy.join().unwrap();
        // He ends with the next round's heavy one waiting; whom he holds up has nothing to do with it.
        w.locks.unlock(holder.owner(), key("m"), X);
        behind.join().unwrap();
    }
    assert!(rounds > 10, "it was passed");
    holder.end();
    patient.join().unwrap();
}
