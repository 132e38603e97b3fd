//! Hold times: what is measured at synch level, and that nothing is at the default level.
//!
//! The level is the process's, so the tests take turns.
#![cfg(not(loom))]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "host is above this crate"
)]

use instrument::{ClassKind, HELD, HoldTotals, Level, MutexClass, RwLockClass};
use std::sync::{Mutex as TurnMutex, MutexGuard as Turn, PoisonError, mpsc};
use std::thread;
use std::time::Duration;
use sync::{Mutex, PageWord, RwLatch, now_ns};

/// One test at a time has the level; it leaves it as it was.
struct Measuring(#[expect(dead_code, reason = "held")] Turn<'static, ()>);

fn measure(level: Level) -> Measuring {
    static TURN: TurnMutex<()> = TurnMutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // A window begins with the first class that is timed: as in a server, there is one from the start.
    static ANY: MutexClass = MutexClass::new("wait/synch/mutex/test/any");
    instrument::register(&[ANY.class()]);
    instrument::set_level(level, now_ns());
    Measuring(turn)
}

impl Drop for Measuring {
    fn drop(&mut self) {
        instrument::set_level(Level::Default, now_ns());
    }
}

fn holds_of(class: &'static str) -> HoldTotals {
    let holds = instrument::holds();
    let found = holds.classes.iter().find(|(c, _)| c.name() == class);
    found.map_or_else(HoldTotals::default, |(_, totals)| *totals)
}

fn spin(ns: u64) {
    let end = now_ns() + ns;
    while now_ns() < end {
        std::hint::spin_loop();
    }
}

#[test]
fn who_holds_a_mutex_is_known_until_it_is_given_back_or_nobody_looks_any_more() {
    const NAME: &str = "wait/synch/mutex/test/locked_by";
    static CLASS: MutexClass = MutexClass::new(NAME);
    let measuring = measure(Level::Synch);
    instrument::name_thread(4711);
    let mutex = Mutex::new(&CLASS, ());
    let locked_by = || {
        let mut all = instrument::instances(|_| true).into_iter();
        all.find(|instance| instance.class.name() == NAME).and_then(|instance| instance.locked_by)
    };
    let held = mutex.lock();
    assert_eq!(locked_by(), Some(4711));
    drop(held);
    assert_eq!(locked_by(), None);
    let held = mutex.try_lock();
    assert_eq!(locked_by(), Some(4711));
    drop(measuring);
    // Given back unseen.
    drop(held);
    let _measuring = measure(Level::Synch);
    assert_eq!(locked_by(), None);
}

#[test]
fn a_mutex_held_half_of_the_time_is_reported_as_held_half_of_the_time() {
    static CLASS: MutexClass = MutexClass::new("wait/synch/mutex/test/half");
    let _measuring = measure(Level::Synch);
    let mutex = Mutex::new(&CLASS, ());
    const ROUNDS: u64 = 200;
    let begin_ns = now_ns();
    let mut held_ns = 0;
    for _ in 0..ROUNDS {
        let held = mutex.lock();
        let taken_ns = now_ns();
        spin(1_000_000);
        held_ns += now_ns() - taken_ns;
        drop(held);
        // Free for as long as it was held, however long the machine's other work made that.
        let free_ns = now_ns() - begin_ns - held_ns;
        spin(held_ns.saturating_sub(free_ns));
    }
    let (holds, now) = (instrument::holds(), now_ns());
    let totals = holds_of(CLASS.name());
    assert_eq!((totals.acquisitions, totals.contended), (ROUNDS, 0));
    let percent = totals.hold_ns_sum as f64 * 100.0 / holds.elapsed_ns(now) as f64;
    assert!((40.0..60.0).contains(&percent), "held {percent} % of the time");
    assert!(totals.hold_ns_max >= 1_000_000);
}

#[test]
fn a_wait_is_counted_with_the_hold_that_follows_it() {
    static CLASS: MutexClass = MutexClass::new("wait/synch/mutex/test/waited");
    let _measuring = measure(Level::Synch);
    let mutex = Mutex::new(&CLASS, ());
    thread::scope(|s| {
        let held = mutex.lock();
        let waiter = s.spawn(|| drop(mutex.lock()));
        thread::sleep(Duration::from_millis(30));
        drop(held);
        waiter.join().unwrap();
    });
    // The waiting thread has ended: what its page held was not lost.
    let totals = holds_of(CLASS.name());
    assert_eq!((totals.acquisitions, totals.contended), (2, 1));
    assert!(totals.wait_ns_max >= 1_000_000 && totals.wait_ns_sum >= totals.wait_ns_max);
    assert!(totals.hold_ns_max >= 30_000_000);
}

#[test]
fn nested_holds_end_in_any_order() {
    static OUTER: MutexClass = MutexClass::new("wait/synch/mutex/test/outer");
    static INNER: RwLockClass = RwLockClass::new("wait/synch/rwlock/test/inner");
    let _measuring = measure(Level::Synch);
    let (outer, inner) = (Mutex::new(&OUTER, ()), RwLatch::new(&INNER, ()));
    let begin_ns = now_ns();
    let first = outer.lock();
    let second = inner.write();
    spin(2_000_000);
    drop(first);
    // However long the machine's other work made it.
    let outer_ns_max = now_ns() - begin_ns;
    spin(4_000_000);
    drop(second);
    drop(inner.read());
    let (outer, inner) = (holds_of(OUTER.name()), holds_of(INNER.name()));
    assert_eq!((outer.acquisitions, inner.acquisitions), (1, 2));
    assert!((2_000_000..=outer_ns_max).contains(&outer.hold_ns_sum), "{}", outer.hold_ns_sum);
    assert!(inner.hold_ns_max >= 6_000_000, "{}", inner.hold_ns_max);
}

#[test]
fn who_has_a_latch_is_known_of_holds_that_began_in_the_window() {
    static CLASS: RwLockClass = RwLockClass::new("wait/synch/rwlock/test/owners");
    let _measuring = measure(Level::Default);
    let latch = RwLatch::new(&CLASS, ());
    let owners = || {
        let all = instrument::instances(|kind| kind == ClassKind::RwLock);
        let mine = all.into_iter().find(|i| i.class.name() == CLASS.name());
        mine.map(|i| (i.locked_by, i.readers, i.uses))
    };
    /// A reader in a thread of its own, until this is dropped.
    struct Reader<'s>(mpsc::Sender<()>, Option<thread::ScopedJoinHandle<'s, ()>>);
    impl Drop for Reader<'_> {
        fn drop(&mut self) {
            let _ = self.0.send(());
            self.1.take().unwrap().join().unwrap();
        }
    }
    instrument::name_thread(77);
    thread::scope(|scope| {
        let read = || {
            let ((begun, begin), (end, ended)) = (mpsc::channel(), mpsc::channel());
            let latch = &latch;
            let reader = scope.spawn(move || {
                let guard = latch.read();
                begun.send(()).unwrap();
                let _ = ended.recv();
                drop(guard);
            });
            begin.recv().unwrap();
            Reader(end, Some(reader))
        };
        let unseen = read();
        instrument::set_level(Level::Synch, now_ns());
        let (seen, other) = (read(), read());
        assert_eq!(owners(), Some((None, 2, 2)));
        drop(unseen);
        assert_eq!(owners(), Some((None, 2, 2)), "its hold was not seen, nor is its end");
        drop(other);
        assert_eq!(owners(), Some((None, 1, 2)));
        drop(seen);
        let alone = latch.write();
        assert_eq!(owners(), Some((Some(77), 0, 3)));
        drop(alone);
        assert_eq!(owners(), Some((None, 0, 3)));
        let before = read();
        instrument::reset_holds(now_ns());
        assert_eq!(owners(), Some((None, 0, 4)), "another window");
        let after = read();
        drop(before);
        assert_eq!(owners(), Some((None, 1, 5)));
        drop(after);
        assert_eq!(owners(), Some((None, 0, 5)));
    });
    instrument::name_thread(0);
}

#[test]
fn page_words_count_exclusive_and_shared_holds_under_the_class_of_the_page() {
    static LEAF: RwLockClass = RwLockClass::new("wait/synch/sxlock/test/leaf");
    const WORD: &str = "wait/synch/sxlock/innodb/page_word";
    let _measuring = measure(Level::Synch);
    let word = PageWord::new();
    assert!(word.begin_io(word.load()));
    word.publish_exclusive(7);
    assert!(PageWord::holds_are_timed());
    word.hold_is_of(&LEAF);
    word.release_exclusive();
    word.lock_exclusive().unwrap();
    word.downgrade();
    word.lock_shared().unwrap();
    word.release_shared();
    assert!(word.try_upgrade());
    word.release_unchanged();
    word.lock_exclusive().unwrap();
    word.evict();
    assert_eq!(holds_of(LEAF.name()).acquisitions, 1);
    assert_eq!(holds_of(WORD).acquisitions, 3);
}

#[test]
fn a_hold_that_began_before_its_window_does_not_count() {
    static CLASS: MutexClass = MutexClass::new("wait/synch/mutex/test/window");
    let _measuring = measure(Level::Default);
    let mutex = Mutex::new(&CLASS, ());
    // Off when taken, on when released.
    let held = mutex.lock();
    instrument::set_level(Level::Synch, now_ns());
    drop(held);
    assert_eq!(holds_of(CLASS.name()), HoldTotals::default());
    // On when taken, off when released, on again: the entry left behind is not taken for the next hold's.
    let held = mutex.lock();
    instrument::set_level(Level::Default, now_ns());
    drop(held);
    spin(5_000_000);
    instrument::set_level(Level::Synch, now_ns());
    drop(mutex.lock());
    let totals = holds_of(CLASS.name());
    assert_eq!(totals.acquisitions, 1);
    assert!(totals.hold_ns_max < 5_000_000);
    // A reset forgets sums and maxima, and what is held while it happens.
    let held = mutex.lock();
    instrument::reset_holds(now_ns());
    drop(held);
    assert_eq!(holds_of(CLASS.name()), HoldTotals::default());
    // The numbers stay when the level is left, and the window ends.
    drop(mutex.lock());
    instrument::set_level(Level::None, now_ns());
    drop(mutex.lock());
    assert_eq!(holds_of(CLASS.name()).acquisitions, 1);
    let holds = instrument::holds();
    assert_eq!(holds.elapsed_ns(0), holds.elapsed_ns(u64::MAX));
}

#[test]
fn at_the_default_level_nothing_is_counted_and_one_class_can_be_switched_alone() {
    static CLASS: MutexClass = MutexClass::new("wait/synch/mutex/test/alone");
    static OTHER: MutexClass = MutexClass::new("wait/synch/mutex/test/other");
    let _measuring = measure(Level::Default);
    let (mutex, other) = (Mutex::new(&CLASS, ()), Mutex::new(&OTHER, ()));
    drop(mutex.lock());
    assert!(!CLASS.noticed(), "after the first use a latch has no flag");
    assert_eq!(holds_of(CLASS.name()), HoldTotals::default());
    instrument::reset_holds(now_ns());
    CLASS.set_flags(HELD);
    drop(mutex.lock());
    drop(other.lock());
    CLASS.set_flags(0);
    drop(mutex.lock());
    assert_eq!(holds_of(CLASS.name()).acquisitions, 1);
    assert_eq!(holds_of(OTHER.name()).acquisitions, 0);
}
