//! Models: the code of this crate, run by loom through its interleavings.
//!
//! `RUSTFLAGS='--cfg loom' cargo test -p sync --test models`
//!
//! Loom treats sequentially consistent accesses as acquire-release ones, and knows no membarrier: under
//! `--cfg loom` the light and heavy fences are full fences, and `word.rs` adds the fences (`model_fence`)
//! that stand for its sequentially consistent accesses. What that hides, `litmus.rs` looks for on real
//! threads.
#![allow(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]
#![cfg(loom)]

use instrument::{CondClass, MutexClass, RwLockClass};
use loom::thread;
use std::sync::Arc;
use std::time::Instant;
use stdx::{LocalAtomic, Ordering, SharedAtomic, class};
use sync::{
    Deadline, Directory, DistRwLock, Entry, Event, KILL_QUERY, Link, Loaded, Mutex, PageWord,
    RwLatch, SessionSlotRef, SlotTable, Stack, WaitResult, asym, enter, state,
};

static MUTEX: MutexClass = MutexClass::new("wait/synch/mutex/test/model");
static LATCH: RwLockClass = RwLockClass::new("wait/synch/rwlock/test/model");
static COND: CondClass = CondClass::new("wait/synch/cond/test/model");

/// Explores the interleavings with at most so many preemptions.
fn explore(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.location = std::env::var("LOOM_LOCATION").is_ok();
    model.log = std::env::var("LOOM_LOG").is_ok();
    model.check(f);
}

type Flag = SharedAtomic<bool, { class::OTHER }>;

fn loaded_word() -> PageWord {
    let word = PageWord::new();
    assert!(word.begin_io(word.load()));
    word.publish(7);
    word
}

// ---- page word -----------------------------------------------------------------------------------

/// A reader that validates saw both halves of one version.
#[test]
fn optimistic_reader_never_validates_a_torn_page() {
    explore(4, || {
        let page = Arc::new((loaded_word(), [LocalAtomic::new(0u64), LocalAtomic::new(0u64)]));
        let writer = {
            let page = Arc::clone(&page);
            thread::spawn(move || {
                let (word, bytes) = &*page;
                word.lock_exclusive().unwrap();
                bytes[0].store(1, Ordering::Relaxed);
                bytes[1].store(1, Ordering::Relaxed);
                word.release_exclusive();
            })
        };
        let (word, bytes) = &*page;
        let seen = word.load();
        if seen.readable() {
            let a = bytes[0].load(Ordering::Relaxed);
            let b = bytes[1].load(Ordering::Relaxed);
            if word.validate(seen) {
                assert_eq!(a, b);
                assert_eq!(a == 1, seen.version() == 2);
            }
        }
        writer.join().unwrap();
    });
}

/// Exclusive holders exclude each other, and nobody sleeps for ever.
#[test]
fn exclusive_waiters_of_a_word_are_woken() {
    explore(2, || {
        let page = Arc::new((loaded_word(), LocalAtomic::new(0u64)));
        let bump = |page: &(PageWord, LocalAtomic<u64>)| {
            page.0.lock_exclusive().unwrap();
            let n = page.1.load(Ordering::Relaxed);
            page.1.store(n + 1, Ordering::Relaxed);
            page.0.release_exclusive();
        };
        let others: Vec<_> = (0..2)
            .map(|_| {
                let page = Arc::clone(&page);
                thread::spawn(move || bump(&page))
            })
            .collect();
        bump(&page);
        others.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(page.1.load(Ordering::Relaxed), 3);
        assert_eq!((page.0.load().state(), page.0.load().version()), (state::FREE, 4));
    });
}

/// A writer, a sharer and an optimistic waiter on one word: all get through.
#[test]
fn mixed_waiters_of_a_word_are_woken() {
    explore(2, || {
        let word = Arc::new(loaded_word());
        let writer = {
            let word = Arc::clone(&word);
            thread::spawn(move || {
                word.lock_exclusive().unwrap();
                word.release_exclusive();
            })
        };
        let sharer = {
            let word = Arc::clone(&word);
            thread::spawn(move || {
                let held = word.lock_shared().unwrap();
                assert!((1..=2).contains(&held.state()));
                word.release_shared();
            })
        };
        assert!(word.wait_readable().readable());
        writer.join().unwrap();
        sharer.join().unwrap();
        assert_eq!(word.load().state(), state::FREE);
    });
}

/// An eviction tells waiting writers so: none of them sleeps on.
#[test]
fn eviction_wakes_everyone() {
    explore(2, || {
        let word = Arc::new(loaded_word());
        word.lock_exclusive().unwrap();
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let word = Arc::clone(&word);
                thread::spawn(move || assert!(word.lock_exclusive().unwrap_err().evicted()))
            })
            .collect();
        word.evict();
        waiters.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(word.load().version(), 2);
    });
}

// ---- slot publication ----------------------------------------------------------------------------

fn publication(fences: bool) {
    let slots = SlotTable::new(1, 1);
    let closed = Arc::new(Flag::new(false));
    let slot = slots.acquire_session().unwrap();
    let publisher = {
        let closed = Arc::clone(&closed);
        thread::spawn(move || {
            slot.grants[0].store(0x105, Ordering::Release);
            if fences {
                asym::light();
            }
            let goes_on = !closed.load(Ordering::Acquire);
            (goes_on, slot)
        })
    };
    closed.store(true, Ordering::Release);
    if fences {
        asym::heavy();
    }
    let saw = slots.sessions().any(|s| s.grants[0].load(Ordering::Acquire) == 0x105);
    let (goes_on, _slot) = publisher.join().unwrap();
    assert!(saw || !goes_on, "the publisher goes on unseen");
}

/// Who publishes and finds the word open is seen by the scan.
#[test]
fn a_publisher_that_goes_on_is_seen() {
    explore(4, || publication(true));
}

/// The model can fail: without the fences it finds the hole.
#[test]
#[should_panic(expected = "goes on unseen")]
fn without_fences_the_hole_is_found() {
    explore(4, || publication(false));
}

/// The same protocol as a lock: no reader beside a writer, and neither sleeps for ever.
#[test]
fn distributed_lock_excludes_and_wakes() {
    explore(2, || {
        let slots = SlotTable::new(1, 1);
        let lock = Arc::new(DistRwLock::new(&slots).unwrap());
        let inside = Arc::new(LocalAtomic::new(0u32));
        let slot = slots.acquire_session().unwrap();
        let reader = {
            let (lock, inside) = (Arc::clone(&lock), Arc::clone(&inside));
            thread::spawn(move || {
                let _read = lock.read(&slot, Deadline::Never).unwrap();
                assert_ne!(inside.load(Ordering::Relaxed), 1, "a reader beside a writer");
            })
        };
        let write = lock.write(Deadline::Never).unwrap();
        inside.store(1, Ordering::Relaxed);
        inside.store(2, Ordering::Relaxed);
        drop(write);
        reader.join().unwrap();
    });
}

// ---- parking lot ---------------------------------------------------------------------------------

/// A notification is never lost between the check and the sleep.
#[test]
fn a_notification_is_never_lost() {
    explore(3, || {
        let shared = Arc::new((Event::new(&COND), Flag::new(false)));
        let notifier = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.store(true, Ordering::Relaxed);
                shared.0.notify_all();
            })
        };
        let done = || shared.1.load(Ordering::Relaxed);
        assert_eq!(shared.0.wait_until(Deadline::Never, done), WaitResult::Woken);
        notifier.join().unwrap();
    });
}

/// One `notify_one` per item suffices for two consumers.
#[test]
fn notify_one_wakes_one_per_item() {
    explore(2, || {
        let shared = Arc::new((Event::new(&COND), SharedAtomic::<u32, { class::OTHER }>::new(0)));
        let take = |s: &(Event, SharedAtomic<u32, { class::OTHER }>)| {
            let end = s.0.wait_until(Deadline::Never, || {
                loop {
                    let n = s.1.load(Ordering::Relaxed);
                    let swap = |to| {
                        s.1.compare_exchange(n, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
                    };
                    if n == 0 || swap(n - 1) {
                        return n > 0;
                    }
                }
            });
            assert_eq!(end, WaitResult::Woken);
        };
        let consumers: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || take(&shared))
            })
            .collect();
        for _ in 0..2 {
            shared.1.fetch_add(1, Ordering::Relaxed);
            shared.0.notify_one();
        }
        consumers.into_iter().for_each(|t| t.join().unwrap());
    });
}

/// A session slot, and a thread that kills its statement.
fn session_and_killer() -> (Arc<SessionSlotRef>, thread::JoinHandle<()>) {
    let slot = Arc::new(SlotTable::new(1, 1).acquire_session().unwrap());
    let killed = Arc::clone(&slot);
    (slot, thread::spawn(move || killed.kill(KILL_QUERY)))
}

/// A kill ends the wait wherever it arrives: before, during or after the parking.
#[test]
fn a_kill_is_never_lost() {
    explore(3, || {
        let (slot, killer) = session_and_killer();
        let event = Event::new(&COND);
        let entered = enter(&slot);
        assert_eq!(event.wait_until(Deadline::Never, || false), WaitResult::Killed);
        drop(entered);
        killer.join().unwrap();
        assert!(slot.killed());
        assert!(slot.live_wait().is_none());
    });
}

/// One kill ends one statement: a killer that looks where the session waits only after the statement has
/// ended leaves the wait of the next one alone.
#[test]
fn a_kill_ends_one_statement() {
    explore(3, || {
        let (slot, killer) = session_and_killer();
        let event = Event::new(&COND);
        let entered = enter(&slot);
        assert_eq!(event.wait_until(Deadline::Never, || false), WaitResult::Killed);
        slot.clear_query_kill();
        let soon = Deadline::after(std::time::Duration::from_secs(1));
        assert_eq!(event.wait_until(soon, || false), WaitResult::TimedOut);
        drop(entered);
        killer.join().unwrap();
    });
}

/// Kill and notification at once: the wait ends once, and a wake-up that was given is not lost.
#[test]
fn a_kill_beside_a_notification_ends_the_wait_once() {
    explore(2, || {
        let (slot, killer) = session_and_killer();
        let shared = Arc::new((Event::new(&COND), Flag::new(false)));
        let notifier = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.store(true, Ordering::Relaxed);
                shared.0.notify_one();
            })
        };
        let entered = enter(&slot);
        let end = shared.0.wait_until(Deadline::Never, || shared.1.load(Ordering::Relaxed));
        assert_ne!(end, WaitResult::TimedOut);
        drop(entered);
        killer.join().unwrap();
        notifier.join().unwrap();
    });
}

/// A deadline beside a notification: who is told `TimedOut` has taken no wake-up from another waiter.
#[test]
fn a_timeout_takes_no_wake_up_from_another() {
    explore(2, || {
        let shared = Arc::new((Event::new(&COND), Flag::new(false)));
        let patient = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let done = || shared.1.load(Ordering::Relaxed);
                assert_eq!(shared.0.wait_until(Deadline::Never, done), WaitResult::Woken);
            })
        };
        let notifier = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.store(true, Ordering::Relaxed);
                shared.0.notify_one();
            })
        };
        // The impatient one passes on a wake-up it got but does not use, as a queue's consumer would.
        let seen = shared.0.prepare();
        if shared.0.wait(seen, Deadline::At(Instant::now())) == WaitResult::Woken {
            shared.0.notify_one();
        }
        patient.join().unwrap();
        notifier.join().unwrap();
    });
}

// ---- latches -------------------------------------------------------------------------------------

/// Three threads through a mutex: no two inside, nobody sleeps for ever.
#[test]
fn mutex_excludes_and_wakes() {
    explore(2, || {
        let mutex = Arc::new(Mutex::new(&MUTEX, 0));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let mutex = Arc::clone(&mutex);
                thread::spawn(move || *mutex.lock() += 1)
            })
            .collect();
        *mutex.lock() += 1;
        others.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(*mutex.lock(), 3);
    });
}

/// Two writers and a reader through a latch.
#[test]
fn latch_excludes_and_wakes() {
    explore(2, || {
        let latch = Arc::new(RwLatch::new(&LATCH, (0, 0)));
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let latch = Arc::clone(&latch);
                thread::spawn(move || {
                    let mut both = latch.write();
                    both.0 += 1;
                    both.1 += 1;
                })
            })
            .collect();
        let both = latch.read();
        assert_eq!(both.0, both.1);
        drop(both);
        writers.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(*latch.read(), (2, 2));
    });
}

/// Two readers and a writer: the last reader to leave wakes the writer, the writer wakes both.
#[test]
fn readers_and_a_writer_get_through() {
    explore(2, || {
        let latch = Arc::new(RwLatch::new(&LATCH, 0));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let latch = Arc::clone(&latch);
                thread::spawn(move || assert!(*latch.read() <= 1))
            })
            .collect();
        *latch.write() += 1;
        readers.into_iter().for_each(|t| t.join().unwrap());
    });
}

// ---- stack ---------------------------------------------------------------------------------------

/// What a pusher wrote before is seen by a taking that comes after the push, also when the number was
/// inside already; and the number never comes twice at once.
#[test]
fn a_stack_loses_no_number_and_no_note() {
    explore(5, || {
        let shared = Arc::new((Stack::new(), Link::new(), LocalAtomic::new(0u64)));
        let pusher = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (stack, link, note) = &*shared;
                for n in 1..=2 {
                    note.store(n, Ordering::Relaxed);
                    stack.push(0, link);
                }
            })
        };
        let (stack, link, note) = &*shared;
        let mut seen = 0;
        let mut take = || {
            let mut taken = 0;
            let each = |_| {
                taken += 1;
                seen = note.load(Ordering::Relaxed);
            };
            stack.take_all(|_| link, each);
            assert!(taken <= 1, "a number is in the stack once");
        };
        take();
        take();
        pusher.join().unwrap();
        take();
        assert_eq!(seen, 2, "the last note is seen");
        assert!(!link.is_inside());
    });
}

/// Numbers pushed by two threads all come out.
#[test]
fn a_stack_gives_what_two_threads_push() {
    explore(3, || {
        let shared = Arc::new((Stack::new(), [Link::new(), Link::new()]));
        let pushers: Vec<_> = [0u32, 1]
            .into_iter()
            .map(|n| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.0.push(n, &shared.1[n as usize]))
            })
            .collect();
        let mut taken = [0; 2];
        let mut take = || {
            shared.0.take_all(|n| &shared.1[n as usize], |n| taken[n as usize] += 1);
        };
        take();
        pushers.into_iter().for_each(|p| p.join().unwrap());
        take();
        assert_eq!(taken, [1, 1]);
    });
}

// ---- directory -----------------------------------------------------------------------------------

/// What a name means: nothing while it is 0.
struct Meaning(SharedAtomic<u64, { class::OTHER }>);

impl Entry for Meaning {
    fn is_void(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

/// Look-up against deletion: who has an entry while another one looks its name up has the same one, whoever gives a name
/// meaning finds it again, and what nobody has goes with the next look.
#[test]
fn a_name_has_one_entry_while_somebody_has_it() {
    explore(3, || {
        let names = Arc::new(Directory::new(&MUTEX, 1));
        let new = || Meaning(SharedAtomic::new(0));
        let other = {
            let names = Arc::clone(&names);
            thread::spawn(move || {
                let held = names.entry(&1, new);
                // A drop: it meant something, and means nothing now.
                held.0.store(1, Ordering::Release);
                let again = names.entry(&1, new);
                assert!(Arc::ptr_eq(&held, &again), "two entries of a name at a time");
                held.0.store(0, Ordering::Release);
                drop((held, again));
                names.is_void(&1);
            })
        };
        let held = names.entry(&1, new);
        names.is_void(&2);
        names.is_void(&1);
        let again = names.get(&1).expect("an entry goes while somebody has it");
        assert!(Arc::ptr_eq(&held, &again), "two entries of a name at a time");
        drop((held, again));
        names.is_void(&1);
        other.join().unwrap();
        names.is_void(&1);
        assert!(names.is_empty(), "nobody has it, and it stays");
    });
}

/// Something that is stored, and read when it is needed.
struct Stored {
    version: u64,
    value: Loaded<u64>,
}

/// Reads what is stored, as the catalog does, unless somebody has it.
fn read(known: &Mutex<Stored>, stored: &SharedAtomic<u64, { class::OTHER }>) -> Arc<u64> {
    loop {
        let version = {
            let known = known.lock();
            if let Some(value) = known.value.get() {
                return value;
            }
            known.version
        };
        let read = Arc::new(stored.load(Ordering::Acquire));
        let mut known = known.lock();
        if known.version == version {
            return known.value.settle(read);
        }
    }
}

/// Readers beside a change and what lets values go: nobody has something else than others have, and what was read before the
/// change is not taken for what is stored after it.
#[test]
fn a_value_that_is_read_when_needed_is_there_once_and_is_the_stored_one() {
    explore(3, || {
        let value = Loaded::default();
        let known = Arc::new(Mutex::new(&MUTEX, Stored { version: 1, value }));
        let stored = Arc::new(SharedAtomic::new(1));
        let shared = || (Arc::clone(&known), Arc::clone(&stored));
        let change = {
            let (known, stored) = shared();
            thread::spawn(move || {
                let before = read(&known, &stored);
                stored.store(2, Ordering::Release);
                {
                    let mut known = known.lock();
                    known.version += 1;
                    known.value = Loaded::of(Arc::new(2));
                }
                drop(before);
                let gone = known.lock().value.let_go();
                drop(gone);
            })
        };
        let reader = {
            let (known, stored) = shared();
            thread::spawn(move || read(&known, &stored))
        };
        let mine = read(&known, &stored);
        let other = reader.join().unwrap();
        assert!(*mine != *other || Arc::ptr_eq(&mine, &other), "two of one version");
        change.join().unwrap();
        drop((mine, other));
        assert_eq!(*read(&known, &stored), 2, "what was stored before");
    });
}
