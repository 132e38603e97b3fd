//! What waiting threads see and show: deadlines, kills, published waits, counts, slots.
#![allow(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]
#![cfg(not(loom))]
#![allow(clippy::disallowed_methods, reason = "host::thread and host::clock are above this crate")]

use instrument::{CondClass, Counter, ENABLED, LockClass, MutexClass, RwLockClass};
use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};
use stdx::Ordering;
use sync::{
    Deadline, DistRwLock, Event, KILL_CONNECTION, KILL_QUERY, LongWait, Mutex, PageWord, RwLatch,
    SlotTable, WaitResult, WordValue, enter, state, with_current,
};

static COND: CondClass = CondClass::new("wait/synch/cond/test/blocking");

fn soon() -> Deadline {
    Deadline::after(Duration::from_millis(30))
}

#[test]
fn a_deadline_ends_the_wait_and_not_before() {
    let event = Event::new(&COND);
    let start = Instant::now();
    assert_eq!(event.wait_until(soon(), || false), WaitResult::TimedOut);
    assert!(start.elapsed() >= Duration::from_millis(30));
    let past = Deadline::At(start);
    assert_eq!(event.wait(event.prepare(), past), WaitResult::TimedOut);
    assert_eq!(event.wait_until(past, || true), WaitResult::Woken);
    assert!(!event.anyone());
}

#[test]
fn a_notification_between_prepare_and_wait_is_seen_and_one_before_is_not() {
    let event = Event::new(&COND);
    event.notify_all();
    let seen = event.prepare();
    assert_eq!(event.wait(seen, soon()), WaitResult::TimedOut);
    let seen = event.prepare();
    event.notify_one();
    assert_eq!(event.wait(seen, Deadline::Never), WaitResult::Woken);
}

#[test]
fn a_kill_wakes_the_killed_session_only_and_shows_what_it_waited_for() {
    static CLASS: CondClass = CondClass::new("wait/synch/cond/test/killed");
    let slots = SlotTable::new(3, 1);
    let (a, b) = (slots.acquire_session().unwrap(), slots.acquire_session().unwrap());
    let event = Event::new(&CLASS);
    let wait = |slot: &sync::SessionSlot, deadline| {
        let _entered = enter(slot);
        event.wait_until(deadline, || false)
    };
    thread::scope(|s| {
        let first = s.spawn(|| wait(&a, Deadline::Never));
        let second = s.spawn(|| wait(&b, Deadline::after(Duration::from_millis(200))));
        while a.live_wait().is_none() {
            thread::yield_now();
        }
        let live = a.live_wait().unwrap();
        assert_eq!(instrument::class_numbered(live.class).map(|c| c.name()), Some(CLASS.name()));
        assert!(live.start_ns <= sync::now_ns() && live.object != 0);
        a.kill(KILL_QUERY);
        assert_eq!(first.join().unwrap(), WaitResult::Killed);
        assert_eq!(second.join().unwrap(), WaitResult::TimedOut);
    });
    assert!(a.live_wait().is_none());
    assert_eq!(wait(&a, Deadline::Never), WaitResult::Killed, "a kill lasts until taken back");
    assert_eq!(a.counters.class(&CLASS).waits, 2);
}

#[test]
fn a_wait_in_parts_counts_once_and_is_told_since_its_beginning() {
    static CLASS: LockClass = LockClass::new("wait/lock/test/parts");
    let slots = SlotTable::new(1, 1);
    let slot = slots.acquire_session().unwrap();
    let event = Event::of_locks(&CLASS);
    let mut starts = HashSet::new();
    thread::scope(|s| {
        let waiter = s.spawn(|| {
            let _entered = enter(&slot);
            let mut long = LongWait::default();
            event.end_wait(long, None);
            assert_eq!(slot.counters.class(&CLASS).count, 0, "it never came to a wait");
            for _ in 0..3 {
                let seen = event.prepare();
                assert_eq!(event.wait_part(&mut long, seen, soon(), None), WaitResult::TimedOut);
            }
            event.end_wait(long, None);
        });
        while !waiter.is_finished() {
            starts.extend(slot.live_wait().map(|live| live.start_ns));
            thread::yield_now();
        }
    });
    assert_eq!(starts.len(), 1);
    let counted = slot.counters.class(&CLASS);
    assert_eq!((counted.count, counted.waits), (1, 1));
    assert!(counted.wait_ns_sum >= 90_000_000, "{}", counted.wait_ns_sum);
}

#[test]
fn an_unkillable_wait_outlasts_a_kill() {
    let slots = SlotTable::new(1, 1);
    let slot = slots.acquire_session().unwrap();
    let event = Event::new(&COND);
    slot.kill(KILL_CONNECTION);
    let _entered = enter(&slot);
    assert_eq!(event.wait_unkillable(event.prepare(), soon()), WaitResult::TimedOut);
}

#[test]
fn taking_a_query_kill_back_leaves_a_connection_kill() {
    let slots = SlotTable::new(1, 1);
    let slot = slots.acquire_session().unwrap();
    slot.kill(KILL_QUERY);
    slot.clear_query_kill();
    assert!(!slot.killed());
    slot.kill(KILL_CONNECTION);
    slot.kill(KILL_QUERY);
    slot.clear_query_kill();
    assert_eq!(slot.kill_level(), KILL_CONNECTION);
    drop(slot);
    assert!(!slots.acquire_session().unwrap().killed());
}

#[test]
fn slots_run_out_come_back_idle_and_only_live_ones_are_listed() {
    let slots = SlotTable::new(70, 2);
    let mut taken: Vec<_> = (0..70).map(|_| slots.acquire_session().unwrap()).collect();
    assert!(slots.acquire_session().is_none());
    assert_eq!(slots.sessions().count(), 70);
    taken[65].snapshot.store(5, Ordering::Relaxed);
    taken[65].grants[3].store(9, Ordering::Relaxed);
    drop(taken.remove(65));
    assert_eq!(slots.sessions().count(), 69);
    let again = slots.acquire_session().unwrap();
    assert_eq!(again.index(), 65);
    assert_eq!(again.snapshot.load(Ordering::Relaxed), u64::MAX);
    assert_eq!(again.grants[3].load(Ordering::Relaxed), 0);
    assert_eq!(again.range().start % 4096, 0);
    assert_eq!(again.range().len() % 4096, 0);
    let worker = slots.acquire_worker().unwrap();
    assert_eq!(worker.copying.load(Ordering::Relaxed), u64::MAX);
    assert_eq!(slots.workers().count(), 1);
    let _other = slots.acquire_worker().unwrap();
    assert!(slots.acquire_worker().is_none());
}

#[test]
fn ten_thousand_slots_cost_address_space_only() {
    let rss_kb = || -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let before = rss_kb();
    let slots = SlotTable::new(10_000, 4096);
    let _slot = slots.acquire_session().unwrap();
    assert!(rss_kb() < before + 20_000, "the table is backed by memory it does not use");
}

#[test]
fn what_a_session_counts_is_on_its_page_and_kept_after_its_end() {
    let slots = SlotTable::new(1, 1);
    let slot = slots.acquire_session().unwrap();
    let before = instrument::totals().counter(Counter::ComXaRecover);
    {
        let _entered = enter(&slot);
        instrument::count(Counter::ComXaRecover, 2);
        assert!(with_current(|s| s.is_some_and(|s| std::ptr::eq(s, &*slot))));
    }
    assert!(with_current(|s| s.is_none()));
    instrument::count(Counter::ComXaRecover, 1);
    assert_eq!(slot.counters.counter(Counter::ComXaRecover), 2);
    drop(slot);
    assert_eq!(instrument::totals().counter(Counter::ComXaRecover), before + 3);
}

#[test]
fn contention_is_counted_with_the_instruments_off_and_use_only_with_them_on() {
    static CLASS: MutexClass = MutexClass::new("wait/synch/mutex/test/contended");
    let mutex = Mutex::new(&CLASS, ());
    thread::scope(|s| {
        let held = mutex.lock();
        let waiter = s.spawn(|| drop(mutex.lock()));
        thread::sleep(Duration::from_millis(30));
        drop(held);
        waiter.join().unwrap();
    });
    let sums = instrument::totals().class(&CLASS);
    assert_eq!((sums.count, sums.waits), (1, 1));
    assert!(sums.wait_ns_max > 1_000_000, "{} ns", sums.wait_ns_max);
    CLASS.set_flags(ENABLED);
    drop(mutex.lock());
    assert!(mutex.try_lock().is_some());
    assert_eq!(instrument::totals().class(&CLASS).count, 3);
}

#[test]
fn a_waiter_of_over_a_millisecond_is_handed_the_mutex() {
    static CLASS: MutexClass = MutexClass::new("wait/synch/mutex/test/handed");
    let mutex = Mutex::new(&CLASS, 0);
    let slots = SlotTable::new(1, 1);
    let slot = slots.acquire_session().unwrap();
    thread::scope(|s| {
        let held = mutex.lock();
        s.spawn(|| {
            let _entered = enter(&slot);
            *mutex.lock() = 1;
        });
        while slot.live_wait().is_none() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(30));
        drop(held);
        // Never free in between: it is still held, or the waiter has had it.
        if let Some(value) = mutex.try_lock() {
            assert_eq!(*value, 1);
        }
    });
}

#[test]
fn tries_fail_at_once_and_writers_are_not_starved() {
    static CLASS: RwLockClass = RwLockClass::new("wait/synch/rwlock/test/tries");
    let latch = RwLatch::new(&CLASS, 1);
    let read = latch.read();
    assert!(latch.try_write().is_none());
    assert!(latch.try_read().is_some());
    thread::scope(|s| {
        let writer = s.spawn(|| *latch.write() = 2);
        while latch.try_read().is_some() {
            thread::yield_now();
        }
        drop(read);
        writer.join().unwrap();
    });
    assert_eq!(*latch.try_write().unwrap(), 2);
}

#[test]
fn the_page_word_goes_through_its_states() {
    let word = PageWord::new();
    let seen = word.load();
    assert!(seen.evicted() && !seen.readable());
    assert!(!word.try_exclusive(seen) && !word.try_shared(seen) && !word.mark(seen));
    assert!(word.begin_io(seen) && !word.begin_io(seen));
    word.abort_io();
    assert!(word.begin_io(word.load()));
    word.publish(0x0FFF_FFFF);
    let free = word.load();
    assert_eq!((free.version(), free.state(), free.frame()), (1, state::FREE, 0x0FFF_FFFF));
    assert!(word.mark(free) && word.validate(free), "a mark does not disturb readers");
    assert!(word.try_shared(word.load()) && word.try_shared(word.load()));
    assert_eq!(word.load().state(), 2);
    assert!(!word.try_upgrade() && !word.try_exclusive(word.load()));
    word.release_shared();
    assert!(word.try_upgrade());
    assert!(!word.validate(free));
    word.release_unchanged();
    assert!(word.validate(free), "nothing changed");
    assert!(word.try_exclusive(word.load()));
    word.downgrade();
    assert!(!word.validate(free));
    word.release_shared();
    assert!(word.try_exclusive(word.load()));
    word.evict();
    assert_eq!(word.lock_exclusive().unwrap_err().version(), 3);
    assert!(word.begin_io(word.load()));
    word.publish_exclusive(4);
    word.release_exclusive();
    assert_eq!(word.load(), WordValue::new(5, state::FREE, 4));
    let marked = word.load();
    assert!(word.mark(marked) && word.unmark(word.load()) && word.validate(marked));
}

#[test]
fn the_version_of_a_word_wraps_without_touching_its_neighbours() {
    let last = WordValue::new(u32::MAX, state::EXCLUSIVE, u32::MAX);
    assert_eq!((last.version(), last.state(), last.frame()), ((1 << 28) - 1, 253, (1 << 28) - 1));
}

#[test]
fn a_full_set_of_sharers_makes_the_next_one_wait() {
    let word = PageWord::new();
    assert!(word.begin_io(word.load()));
    word.publish(1);
    for _ in 0..state::SHARED_MAX {
        assert!(word.try_shared(word.load()));
    }
    assert!(!word.try_shared(word.load()));
    thread::scope(|s| {
        let late = s.spawn(|| word.lock_shared().map(|_| word.release_shared()));
        thread::sleep(Duration::from_millis(5));
        assert!(!late.is_finished());
        word.release_shared();
        assert!(late.join().unwrap().is_ok());
    });
    (1..state::SHARED_MAX).for_each(|_| word.release_shared());
    assert_eq!(word.load().state(), state::FREE);
}

#[test]
fn a_distributed_lock_times_out_and_opens_again() {
    let slots = SlotTable::new(2, 1);
    let slot = slots.acquire_session().unwrap();
    let lock = DistRwLock::new(&slots).unwrap();
    let other = DistRwLock::new(&slots).unwrap();
    let read = lock.read(&slot, Deadline::Never).unwrap();
    assert_eq!(lock.write(soon()).unwrap_err(), WaitResult::TimedOut);
    drop(other.write(soon()).unwrap());
    drop(read);
    let write = lock.write(soon()).unwrap();
    assert_eq!(lock.read(&slot, soon()).unwrap_err(), WaitResult::TimedOut);
    drop(write);
    assert!(lock.read(&slot, soon()).is_ok());
}

#[test]
#[cfg(debug_assertions)]
fn page_latches_are_known_and_a_lock_wait_under_one_is_refused() {
    let word = PageWord::new();
    assert!(word.begin_io(word.load()));
    word.publish_exclusive(1);
    assert_eq!(sync::page_latches_held(), 1);
    let wait = std::panic::catch_unwind(|| sync::waits::WaitsFor::new().add(1, 2).is_ok());
    assert!(wait.is_err());
    word.downgrade();
    assert!(word.try_shared(word.load()));
    assert_eq!(sync::page_latches_held(), 2);
    word.release_shared();
    assert!(word.try_upgrade());
    word.release_unchanged();
    assert!(word.try_exclusive(word.load()));
    word.evict();
    assert_eq!(sync::page_latches_held(), 0);
    assert!(sync::waits::WaitsFor::new().add(1, 2).is_ok());
}
