//! Litmus tests: the same protocols as in `models.rs`, on real threads, where membarrier and the
//! machine's own memory model are at work. They can show a hole, never prove its absence.
#![allow(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]
#![cfg(not(loom))]
#![allow(clippy::disallowed_methods, reason = "host::thread is above this crate")]

use instrument::{CondClass, MutexClass, RwLockClass};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use stdx::{LocalAtomic, Ordering, SharedAtomic, class};
use sync::{
    Deadline, DistRwLock, Event, KILL_QUERY, Mutex, PageWord, RwLatch, SlotTable, WaitResult, asym,
    enter,
};

static MUTEX: MutexClass = MutexClass::new("wait/synch/mutex/test/litmus");
static LATCH: RwLockClass = RwLockClass::new("wait/synch/rwlock/test/litmus");
static COND: CondClass = CondClass::new("wait/synch/cond/test/litmus");

type Number = SharedAtomic<u64, { class::OTHER }>;

/// The fence mode is one per process, and the tests here run side by side.
static FENCE_MODE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Rounds in which a publisher and a scanner store and look at the same moment.
fn publication_rounds(rounds: u64) {
    let slots = SlotTable::new(2, 1);
    let slot = slots.acquire_session().unwrap();
    let closed = Arc::new(Number::new(0));
    let (arrived, result) = (Arc::new(Number::new(0)), Arc::new(Number::new(0)));
    let publisher = {
        let (closed, arrived, result) = (closed.clone(), arrived.clone(), result.clone());
        thread::spawn(move || {
            for round in 1..=rounds {
                arrived.store(round, Ordering::Release);
                slot.grants[0].store(round, Ordering::Release);
                asym::light();
                let goes_on = closed.load(Ordering::Acquire) != round;
                result.store(round << 1 | u64::from(goes_on), Ordering::Release);
                while closed.load(Ordering::Acquire) != round
                    || arrived.load(Ordering::Acquire) != 0
                {
                    thread::yield_now();
                }
            }
        })
    };
    for round in 1..=rounds {
        while arrived.load(Ordering::Acquire) != round {
            thread::yield_now();
        }
        closed.store(round, Ordering::Release);
        asym::heavy();
        let saw = slots.sessions().any(|s| s.grants[0].load(Ordering::Acquire) == round);
        let goes_on = loop {
            match result.load(Ordering::Acquire) {
                r if r >> 1 == round => break r & 1 == 1,
                _ => thread::yield_now(),
            }
        };
        assert!(saw || !goes_on, "round {round}: the publisher goes on unseen");
        arrived.store(0, Ordering::Release);
    }
    publisher.join().unwrap();
}

#[test]
fn a_publisher_that_goes_on_is_seen_with_membarrier() {
    let _mode = FENCE_MODE.lock().unwrap();
    assert!(asym::is_membarrier() || std::env::var_os("LIMPID_NO_MEMBARRIER").is_some());
    publication_rounds(5_000);
}

#[test]
fn a_publisher_that_goes_on_is_seen_with_plain_fences() {
    let _mode = FENCE_MODE.lock().unwrap();
    asym::force_fallback(true);
    assert!(!asym::is_membarrier());
    publication_rounds(20_000);
    asym::force_fallback(false);
}

/// Readers of a page's two halves beside a writer, for a while.
#[test]
fn optimistic_readers_never_validate_a_torn_page() {
    let word = PageWord::new();
    assert!(word.begin_io(word.load()));
    word.publish(3);
    let halves = [LocalAtomic::new(0u64), LocalAtomic::new(0u64)];
    let stop = Number::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            for n in 1..=200_000u64 {
                word.lock_exclusive().unwrap();
                halves[0].store(n, Ordering::Relaxed);
                halves[1].store(n, Ordering::Relaxed);
                word.release_exclusive();
            }
            stop.store(1, Ordering::Release);
        });
        let mut valid = 0;
        while stop.load(Ordering::Acquire) == 0 || valid == 0 {
            let seen = word.wait_readable();
            let (a, b) = (halves[0].load(Ordering::Relaxed), halves[1].load(Ordering::Relaxed));
            if word.validate(seen) {
                assert_eq!(a, b);
                assert_eq!(a + 1, u64::from(seen.version()));
                valid += 1;
            }
        }
    });
}

/// Counts to `threads * rounds` under something that excludes.
fn count_up(threads: u64, rounds: u64, step: impl Fn() + Sync) {
    thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| (0..rounds).for_each(|_| step()));
        }
    });
}

#[test]
fn a_word_excludes_and_loses_no_waiter() {
    let word = PageWord::new();
    assert!(word.begin_io(word.load()));
    word.publish(3);
    let count = LocalAtomic::new(0u64);
    count_up(6, 5_000, || {
        word.lock_exclusive().unwrap();
        count.bump(1);
        word.release_exclusive();
        word.lock_shared().unwrap();
        thread::yield_now();
        word.release_shared();
    });
    assert_eq!(count.load(Ordering::Relaxed), 30_000);
    assert_eq!(word.load().version(), 30_001);
}

#[test]
fn a_mutex_excludes_and_loses_no_waiter() {
    let mutex = Mutex::new(&MUTEX, 0u64);
    count_up(6, 10_000, || {
        let mut n = mutex.lock();
        *n += 1;
        if n.is_multiple_of(64) {
            thread::yield_now();
        }
    });
    assert_eq!(*mutex.lock(), 60_000);
}

#[test]
fn a_latch_excludes_and_loses_no_waiter() {
    let latch = RwLatch::new(&LATCH, (0u64, 0u64));
    count_up(6, 5_000, || {
        let mut both = latch.write();
        both.0 += 1;
        if both.0.is_multiple_of(64) {
            thread::yield_now();
        }
        both.1 += 1;
        drop(both);
        let both = latch.read();
        assert_eq!(both.0, both.1);
    });
    assert_eq!(*latch.read(), (30_000, 30_000));
}

/// A token goes round between threads that sleep in between: one lost wake-up would hang the test.
#[test]
fn an_event_loses_no_notification() {
    let (turn, event) = (Number::new(0), Event::new(&COND));
    const THREADS: u64 = 4;
    thread::scope(|s| {
        for me in 0..THREADS {
            let (turn, event) = (&turn, &event);
            s.spawn(move || {
                for round in 0..3_000 {
                    let mine = || turn.load(Ordering::Acquire) == round * THREADS + me;
                    let end = event.wait_until(Deadline::after(Duration::from_secs(20)), mine);
                    assert_eq!(end, WaitResult::Woken);
                    turn.fetch_add(1, Ordering::Release);
                    event.notify_all();
                }
            });
        }
    });
}

/// Yields until `number` is `n`. The other side may have failed, so it does not wait for ever.
fn await_number(number: &Number, n: u64) {
    let deadline = Deadline::after(Duration::from_secs(60));
    while number.load(Ordering::Acquire) != n {
        assert!(!deadline.passed(), "still {}, not {n}", number.load(Ordering::Acquire));
        thread::yield_now();
    }
}

/// Kills that race with the beginning of the wait, many times: none is lost, and none ends two waits.
#[test]
fn a_kill_is_never_lost() {
    let slots = SlotTable::new(1, 1);
    let slot = slots.acquire_session().unwrap();
    let event = Event::new(&COND);
    let (begun, ended) = (Number::new(0), Number::new(0));
    const ROUNDS: u64 = 5_000;
    thread::scope(|s| {
        s.spawn(|| {
            for round in 1..=ROUNDS {
                await_number(&begun, round);
                (0..round % 50).for_each(|_| std::hint::spin_loop());
                slot.kill(KILL_QUERY);
                await_number(&ended, round);
            }
        });
        let _entered = enter(&slot);
        for round in 1..=ROUNDS {
            begun.store(round, Ordering::Release);
            let end = event.wait_until(Deadline::after(Duration::from_secs(20)), || false);
            assert_eq!(end, WaitResult::Killed);
            slot.clear_query_kill();
            ended.store(round, Ordering::Release);
        }
    });
}

/// Readers with their own slots beside a writer that comes now and then.
#[test]
fn a_distributed_lock_excludes() {
    let _mode = FENCE_MODE.lock().unwrap();
    let slots = SlotTable::new(4, 1);
    let lock = DistRwLock::new(&slots).unwrap();
    let both = [LocalAtomic::new(0u64), LocalAtomic::new(0u64)];
    let stop = Number::new(0);
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                let slot = slots.acquire_session().unwrap();
                while stop.load(Ordering::Relaxed) == 0 {
                    let _read = lock.read(&slot, Deadline::Never).unwrap();
                    let a = both[0].load(Ordering::Relaxed);
                    assert_eq!(a, both[1].load(Ordering::Relaxed));
                }
            });
        }
        for _ in 0..300 {
            let _write = lock.write(Deadline::Never).unwrap();
            both[0].bump(1);
            thread::yield_now();
            both[1].bump(1);
        }
        stop.store(1, Ordering::Relaxed);
    });
}
