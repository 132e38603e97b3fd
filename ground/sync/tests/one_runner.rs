//! The scheduler itself: the bugs it must find, the runs it must repeat, the failures it must report.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // tests

use instrument::{CondClass, MutexClass, RwLockClass};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use stdx::{Ordering, SharedAtomic, class};
use sync::sched::{self, Failure, Options, Strategy};
use sync::{Deadline, Event, KILL_CONNECTION, Mutex, PageWord, RwLatch, SlotTable, WaitResult};

static A: MutexClass = MutexClass::new("wait/synch/mutex/test/a");
static B: MutexClass = MutexClass::new("wait/synch/mutex/test/b");
static L: RwLockClass = RwLockClass::new("wait/synch/sxlock/test/latch");
static E: CondClass = CondClass::new("wait/synch/cond/test/event");

type Shared<T> = SharedAtomic<T, { class::OTHER }>;

struct Thread(sched::Joiner, std::thread::JoinHandle<()>);

fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> Thread {
    let child = sched::child(name);
    Thread(child.joiner(), std::thread::spawn(move || child.run(f)))
}

fn join(thread: Thread) {
    thread.0.join();
    thread.1.join().unwrap();
}

/// The first of so many seeds whose run fails, and how.
fn first_failure(seeds: u64, program: fn()) -> Option<(u64, Failure)> {
    (0..seeds).find_map(|seed| {
        let outcome = sched::run(seed, Options::default(), program);
        outcome.result.err().map(|f| (seed, f))
    })
}

fn check_then_act() {
    let n = Arc::new(Shared::new(0u32));
    let threads: Vec<Thread> = (0..2)
        .map(|_| {
            let n = Arc::clone(&n);
            spawn("adder", move || {
                let seen = n.load(Ordering::SeqCst);
                n.store(seen + 1, Ordering::SeqCst);
            })
        })
        .collect();
    threads.into_iter().for_each(join);
    assert_eq!(n.load(Ordering::SeqCst), 2, "an addition was lost");
}

#[test]
fn a_check_then_act_is_found() {
    let (_, failure) = first_failure(200, check_then_act).expect("found");
    let Failure::Panic { thread, message, .. } = failure else { panic!("{failure}") };
    assert_eq!(thread, "main");
    assert!(message.contains("an addition was lost"));
}

/// A flag is looked at before the wait is announced: a notification in between is lost.
fn lost_wake_up() {
    let shared = Arc::new((Shared::new(false), Event::new(&E)));
    let waiter = {
        let shared = Arc::clone(&shared);
        spawn("waiter", move || {
            if !shared.0.load(Ordering::SeqCst) {
                let seen = shared.1.prepare();
                let _ = shared.1.wait(seen, Deadline::Never);
            }
        })
    };
    shared.0.store(true, Ordering::SeqCst);
    shared.1.notify_all();
    join(waiter);
}

#[test]
fn a_lost_wake_up_is_found_and_the_report_names_the_wait() {
    let (_, failure) = first_failure(200, lost_wake_up).expect("found");
    let Failure::Deadlock(report) = failure else { panic!("{failure}") };
    assert!(report.contains("waiter") && report.contains("wait/synch/cond/test/event"), "{report}");
    assert!(report.contains("main") && report.contains("the end of thread 1"), "{report}");
}

fn lock_order_inversion() {
    let locks = Arc::new((Mutex::new(&A, ()), Mutex::new(&B, ())));
    let other = {
        let locks = Arc::clone(&locks);
        spawn("other", move || {
            let _b = locks.1.lock();
            let _a = locks.0.lock();
        })
    };
    {
        let _a = locks.0.lock();
        let _b = locks.1.lock();
    }
    join(other);
}

#[test]
fn a_lock_order_inversion_is_found_and_the_report_names_both_locks() {
    let (_, failure) = first_failure(200, lock_order_inversion).expect("found");
    let Failure::Deadlock(report) = failure else { panic!("{failure}") };
    assert!(report.contains(A.name()) && report.contains(B.name()), "{report}");
}

/// Right programs over everything that blocks.
fn all_kinds() {
    let shared = Arc::new((
        Mutex::new(&A, 0u64),
        RwLatch::new(&L, 0u64),
        PageWord::new(),
        Event::new(&E),
        Shared::new(0u64),
    ));
    let word = &shared.2;
    assert!(word.begin_io(word.load()));
    word.publish(1);
    let threads: Vec<Thread> = (0..4)
        .map(|_| {
            let shared = Arc::clone(&shared);
            spawn("worker", move || {
                for _ in 0..20 {
                    *shared.0.lock() += 1;
                    *shared.1.write() += 1;
                    let _read = *shared.1.read();
                    shared.2.lock_exclusive().unwrap();
                    let n = shared.4.load(Ordering::Relaxed);
                    shared.4.store(n + 1, Ordering::Relaxed);
                    shared.2.release_exclusive();
                    shared.3.notify_all();
                    shared.2.lock_shared().unwrap();
                    shared.2.release_shared();
                }
            })
        })
        .collect();
    let done = || shared.4.load(Ordering::Relaxed) == 80;
    assert_eq!(shared.3.wait_until(Deadline::Never, done), WaitResult::Woken);
    threads.into_iter().for_each(join);
    assert_eq!((*shared.0.lock(), *shared.1.read()), (80, 80));
}

#[test]
fn right_programs_pass_and_equal_seeds_give_equal_traces() {
    let mut hashes = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let run = || {
            let outcome = sched::run(seed, Options::default(), all_kinds);
            assert!(outcome.result.is_ok(), "{:?}", outcome.result);
            (outcome.trace_hash, outcome.steps, outcome.virtual_ns)
        };
        let first = run();
        assert_eq!(first, run(), "seed {seed}");
        hashes.insert(first.0);
    }
    assert!(hashes.len() > 50, "seeds differ: {}", hashes.len());
}

/// What another process with the same seeds must print: see the next test.
#[test]
fn traces_of_some_seeds() {
    let traces: Vec<u64> =
        (0..20).map(|seed| sched::run(seed, Options::default(), all_kinds).trace_hash).collect();
    println!("traces: {traces:x?}");
}

#[test]
fn another_process_has_the_same_traces() {
    let exe = std::env::current_exe().unwrap();
    let run = || {
        let mut command = std::process::Command::new(&exe);
        command.args(["--exact", "traces_of_some_seeds", "--nocapture"]);
        let out = command.output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let at = text.find("traces: ").expect("the traces are printed");
        text[at..].lines().next().unwrap().to_string()
    };
    let (one, two) = (run(), run());
    assert!(one.len() > 100);
    assert_eq!(one, two);
}

#[test]
fn time_is_virtual_and_jumps_to_the_nearest_deadline() {
    let real = std::time::Instant::now();
    let outcome = sched::run(1, Options::default(), || {
        let begin = sync::now();
        let sleeper = spawn("sleeper", || {
            let until = Deadline::after(Duration::from_secs(3000));
            assert_eq!(Event::new(&E).wait_until(until, || false), WaitResult::TimedOut);
        });
        let until = Deadline::after(Duration::from_secs(1000));
        assert_eq!(Event::new(&E).wait_until(until, || false), WaitResult::TimedOut);
        let between = sync::now() - begin;
        join(sleeper);
        (between, sync::now() - begin)
    });
    let (between, end) = outcome.unwrap();
    assert!((1000..1001).contains(&between.as_secs()) && (3000..3001).contains(&end.as_secs()));
    assert!(real.elapsed() < Duration::from_secs(100));
}

#[test]
fn a_spinning_thread_lets_others_go_on() {
    for seed in 0..50 {
        let outcome = sched::run(seed, Options::default(), || {
            let flag = Arc::new(Shared::new(false));
            let spinner = {
                let flag = Arc::clone(&flag);
                spawn("spinner", move || {
                    while !flag.load(Ordering::Acquire) {
                        sync::spin_wait();
                    }
                })
            };
            let _ = Event::new(&E).wait_until(Deadline::after(Duration::from_secs(5)), || false);
            flag.store(true, Ordering::Release);
            join(spinner);
        });
        outcome.unwrap();
    }
}

#[test]
fn endless_loops_are_a_livelock_with_a_report() {
    let options = Options { steps_max: 10_000, ..Options::default() };
    let outcome = sched::run(3, options, || {
        let flag = Shared::new(false);
        while !flag.load(Ordering::Acquire) {}
    });
    let Err(Failure::Livelock(report)) = outcome.result else { panic!("{:?}", outcome.result) };
    assert!(report.contains("0 main") && report.contains("atomic"), "{report}");
}

#[test]
fn a_panic_in_a_child_ends_the_run_with_its_name_and_message() {
    let strategy = Strategy::Random { turn: 2 };
    let outcome = sched::run(5, Options { strategy, ..Options::default() }, || {
        let latch = Arc::new(RwLatch::new(&L, 0));
        let held = Arc::clone(&latch);
        let child = spawn("child", move || {
            let _held = held.write();
            sync::yield_now();
            panic!("broken on purpose");
        });
        for _ in 0..100 {
            drop(latch.read());
        }
        join(child);
        unreachable!("the run ends before");
    });
    let Err(Failure::Panic { thread, message, report }) = outcome.result else { panic!("passed") };
    assert_eq!((&*thread, &*message), ("child", "broken on purpose"));
    assert!(report.contains("0 main: "), "{report}");
}

#[test]
fn a_kill_ends_a_simulated_wait() {
    let outcome = sched::run(9, Options::default(), || {
        let slots = sync::SlotTable::new(2, 2);
        let session = Arc::new(slots.acquire_session().unwrap());
        let killed = Arc::clone(&session);
        let waiter = spawn("waiter", move || {
            let _entered = sync::enter(&killed);
            let end = Event::new(&E).wait_until(Deadline::Never, || false);
            assert_eq!(end, WaitResult::Killed);
        });
        let _ = Event::new(&E).wait_until(Deadline::after(Duration::from_secs(1)), || false);
        session.kill(1);
        join(waiter);
    });
    outcome.unwrap();
}

#[test]
fn real_threads_are_as_ever() {
    sched::point("outside");
    assert!(!sched::is_simulated());
    all_kinds();
}

#[test]
fn threads_that_cannot_unwind_are_left_behind() {
    struct Waits(Arc<Event>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let seen = self.0.prepare();
            let _ = self.0.wait(seen, Deadline::Never);
        }
    }
    let outcome = sched::run(2, Options::default(), || {
        let waits = Waits(Arc::new(Event::new(&E)));
        let waiter = spawn("waiter", move || {
            let _waits = waits;
            loop {
                sync::yield_now();
            }
        });
        for _ in 0..20 {
            sync::yield_now();
        }
        let _never_joined = waiter;
        panic!("enough");
    });
    assert!(matches!(outcome.result, Err(Failure::Panic { .. })));
}

/// A look for each 200 ms of killable waiting, in one wait or in many; the third finds that the client has gone.
fn lost_client() {
    let slots = SlotTable::new(1, 1);
    let slot = slots.acquire_session().unwrap();
    let _entered = sync::enter(&slot);
    let (event, looks) = (Event::new(&E), Cell::new(0));
    let is_lost = || {
        looks.set(looks.get() + 1);
        looks.get() == 3
    };
    let after = |ms| Deadline::after(Duration::from_millis(ms));
    let wait = |ms| event.wait(event.prepare(), after(ms));
    sync::with_client(&slot, &is_lost, || {
        (0..50).for_each(|_| assert_eq!(wait(5), WaitResult::TimedOut));
        assert_eq!(looks.get(), 1, "after 250 ms");
        let unkillable = event.wait_unkillable(event.prepare(), after(1000));
        assert_eq!((unkillable, looks.get()), (WaitResult::TimedOut, 1));
        assert_eq!((wait(200), looks.get()), (WaitResult::TimedOut, 2));
        let begun = sync::now();
        assert_eq!(wait(10_000), WaitResult::Killed);
        let took = sync::now() - begun;
        let (least, most) = (Duration::from_millis(100), Duration::from_millis(300));
        assert!(took >= least && took <= most, "{took:?}");
    });
    assert_eq!((slot.kill_level(), looks.get()), (KILL_CONNECTION, 3));
}

#[test]
fn a_lost_client_ends_the_waits_that_a_kill_ends() {
    sched::run(1, Options::default(), lost_client).unwrap();
}
