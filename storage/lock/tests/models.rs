//! The lock system under the deterministic scheduler: many seeds, each one interleaving.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use base::Error;
use std::sync::Arc;
use stdx::{Ordering, SharedAtomic, class};
use support::{GAP, INSERT, NEXT, S, Session, World, X, key, world};
use sync::sched::{self, Options};

type Shared<T> = SharedAtomic<T, { class::OTHER }>;

const SEEDS: u64 = if cfg!(debug_assertions) { 1_000 } else { 4_000 };

struct Thread(sched::Joiner, std::thread::JoinHandle<()>);

fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> Thread {
    let child = sched::child(name);
    Thread(child.joiner(), std::thread::spawn(move || child.run(f)))
}

fn join(thread: Thread) {
    thread.0.join();
    thread.1.join().unwrap();
}

fn each_seed(program: fn()) {
    each_of(SEEDS, program);
}

fn each_of(seeds: u64, program: fn()) {
    for seed in 0..seeds {
        if let Err(failure) = sched::run(seed, Options::default(), program).result {
            panic!("seed {seed}: {failure}");
        }
    }
}

/// Exclusive locks exclude; every waiter gets its turn; nothing is left.
#[test]
fn exclusive_locks_exclude_and_everybody_gets_one() {
    each_seed(|| {
        let w = world();
        let inside = Arc::new(Shared::new(0u32));
        let threads: Vec<Thread> = (0..3)
            .map(|_| {
                let (s, inside) = (w.session(), Arc::clone(&inside));
                spawn("locker", move || {
                    for _ in 0..2 {
                        s.lock("k", X).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        s.end();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(join);
        assert!(w.locks.snapshot().locks.is_empty() && w.locks.graph_is_empty());
    });
}

/// Three sessions, each with two of three keys in another order: no run gets stuck, and whoever is told
/// of a deadlock is told in time for the others to finish.
#[test]
fn deadlocks_are_found_whoever_closes_them() {
    each_seed(|| {
        let w = world();
        let won = Arc::new(Shared::new(0u32));
        let pairs = [("1", "2"), ("2", "3"), ("3", "1")];
        let threads: Vec<Thread> = pairs
            .into_iter()
            .enumerate()
            .map(|(n, (first, second))| {
                let (mut s, won) = (w.session(), Arc::clone(&won));
                s.weight = n as u64;
                spawn("locker", move || {
                    let both = s.lock(first, X).and_then(|_| s.lock(second, NEXT));
                    match both {
                        Ok(_) => drop(won.fetch_add(1, Ordering::SeqCst)),
                        Err(e) => assert!(matches!(e, Error::Deadlock), "{e}"),
                    }
                    s.end();
                })
            })
            .collect();
        threads.into_iter().for_each(join);
        assert!(won.load(Ordering::SeqCst) >= 2, "one victim is enough");
        assert!(w.locks.snapshot().locks.is_empty() && w.locks.graph_is_empty());
    });
}

/// Inserts that wait for gaps locked by each other, the gap locks coming while they wait.
#[test]
fn gap_locks_that_come_later_are_part_of_deadlocks() {
    each_seed(|| {
        let w = world();
        let threads: Vec<Thread> = (0..3)
            .map(|_| {
                let s = w.session();
                spawn("inserter", move || {
                    let done = s.lock("k", GAP).and_then(|_| s.lock("k", INSERT));
                    assert!(matches!(done, Ok(_) | Err(Error::Deadlock)));
                    s.end();
                })
            })
            .collect();
        threads.into_iter().for_each(join);
        assert!(w.locks.snapshot().locks.is_empty() && w.locks.graph_is_empty());
    });
}

/// A row is written, then others make its writer's lock and wait for it, while he ends: nobody passes
/// before the end, nobody waits for ever, and no lock outlives its transaction.
#[test]
fn a_conversion_meets_the_end_of_its_transaction() {
    each_seed(|| {
        let w = world();
        let active = Arc::new(Shared::new(true));
        let writer = w.session();
        let slot = writer.slot.index();
        let others: Vec<Thread> = (0..2)
            .map(|_| {
                let (s, active) = (w.session(), Arc::clone(&active));
                spawn("locker", move || {
                    let still = || active.load(Ordering::SeqCst);
                    let converted = s.locks.convert(slot, key("k"), still);
                    let granted = s.lock("k", X).unwrap();
                    assert!(!active.load(Ordering::SeqCst), "{converted} {granted:?}");
                    s.end();
                })
            })
            .collect();
        active.store(false, Ordering::SeqCst);
        writer.end();
        // The next transaction of the session has nothing of the one before.
        assert!(!w.locks.has(writer.owner(), key("k"), X));
        others.into_iter().for_each(join);
        writer.end();
        assert!(w.locks.snapshot().locks.is_empty() && w.locks.graph_is_empty());
    });
}

/// A record goes while some hold its lock and others wait, and all of them end.
#[test]
fn inheritance_meets_the_end_of_the_owners() {
    each_seed(|| {
        let w = world();
        let threads: Vec<Thread> = (0..2)
            .map(|_| {
                let s = w.session();
                spawn("locker", move || {
                    s.lock("k", NEXT).unwrap();
                    s.end();
                })
            })
            .collect();
        w.locks.inserted(key("j"), key("k"));
        w.locks.leave(key("k"), key("m"));
        w.locks.gone(key("k"));
        threads.into_iter().for_each(join);
        let left = w.locks.snapshot().locks;
        assert!(left.is_empty(), "{left:?}");
    });
}

/// A record goes and another comes before it while its locker's transaction is given to another slot, for which others wait: what
/// is locked is the heir's, the gaps inherited meanwhile among it, until he ends; the giver's next transaction has nothing.
#[test]
fn a_transaction_that_is_given_away_meets_inheritance() {
    each_seed(|| {
        let w = world();
        let (giver, heir) = (w.session(), w.session());
        giver.lock("k", NEXT).unwrap();
        giver.lock("z", X).unwrap();
        let changes = {
            let locks = Arc::clone(&w.locks);
            spawn("changer", move || {
                locks.inserted(key("j"), key("k"));
                locks.leave(key("k"), key("m"));
                locks.gone(key("k"));
            })
        };
        let over = Arc::new(Shared::new(false));
        let waiter = {
            let (s, over) = (w.session(), Arc::clone(&over));
            spawn("waiter", move || {
                s.lock("z", X).unwrap();
                assert!(over.load(Ordering::SeqCst), "who was given it has not ended");
                s.end();
            })
        };
        w.locks.give_to(giver.owner(), heir.owner());
        assert!(w.locks.has(heir.owner(), key("z"), X));
        assert!(!w.locks.has(giver.owner(), key("z"), X));
        join(changes);
        for inherited in ["j", "m"] {
            assert!(w.locks.has(heir.owner(), key(inherited), GAP), "{inherited}");
        }
        giver.end();
        w.locks.verify();
        over.store(true, Ordering::SeqCst);
        heir.end();
        join(waiter);
        assert!(w.locks.snapshot().locks.is_empty() && w.locks.graph_is_empty());
    });
}

/// Rows that a transaction has written are asked for while it is given to another slot: who asks waits for the heir's end.
#[test]
fn a_transaction_that_is_given_away_meets_conversion() {
    each_seed(|| {
        let w = world();
        let (giver, heir) = (w.session(), w.session());
        let (first, second) = (giver.slot.index(), heir.slot.index());
        // Which slot has it; none: it is over.
        let at = Arc::new(Shared::new(first as u32 + 1));
        let others: Vec<Thread> = (0..2)
            .map(|_| {
                let (s, at) = (w.session(), Arc::clone(&at));
                spawn("locker", move || {
                    loop {
                        let slot = at.load(Ordering::SeqCst);
                        let still = || at.load(Ordering::SeqCst) == slot;
                        if slot == 0 || s.locks.convert(slot as usize - 1, key("k"), still) {
                            break;
                        }
                    }
                    s.lock("k", X).unwrap();
                    assert_eq!(
                        at.load(Ordering::SeqCst),
                        0,
                        "the row is locked until the heir ends"
                    );
                    s.end();
                })
            })
            .collect();
        at.store(second as u32 + 1, Ordering::SeqCst);
        w.locks.give_to(giver.owner(), heir.owner());
        assert!(!w.locks.has(giver.owner(), key("k"), X));
        giver.end();
        at.store(0, Ordering::SeqCst);
        heir.end();
        others.into_iter().for_each(join);
        assert!(w.locks.snapshot().locks.is_empty() && w.locks.graph_is_empty());
    });
}

/// Four sessions lock the same three keys in four orders, again and again until each has had them all: some
/// are granted out of turn, and every deadlock that this makes is found.
#[test]
fn locks_granted_out_of_turn_leave_nobody_behind() {
    each_seed(|| {
        let w = world();
        let orders = [["1", "2", "3"], ["2", "3", "1"], ["3", "1", "2"], ["2", "1", "3"]];
        let threads: Vec<Thread> = orders
            .into_iter()
            .map(|order| {
                let s = w.session();
                spawn("locker", move || {
                    loop {
                        let all = order.iter().try_for_each(|k| s.lock(k, X).map(drop));
                        s.end();
                        match all {
                            Ok(()) => break,
                            Err(e) => assert!(matches!(e, Error::Deadlock), "{e}"),
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(join);
        assert!(w.locks.snapshot().locks.is_empty() && w.locks.graph_is_empty());
    });
}

/// Until so many requests wait and are in the graph, so that all know whom they hold up.
fn until_noted(w: &World, n: usize) {
    while w.noted() != n {
        sync::yield_now();
    }
}

/// Two readers, a writer and an inserter wait for one row in the scheduler's order; two others wait for one of the
/// readers, one for the writer. When the row is given back, and after each end, nobody whom nothing holds up is left
/// behind; each of the four comes back once more.
#[test]
fn requests_of_several_weights_for_one_row_leave_nobody_behind() {
    each_of(SEEDS / 4, || {
        let w = Arc::new(world());
        let holder = w.session();
        holder.lock("k", NEXT).unwrap();
        let lock_all =
            |s: Session, w: &Arc<World>, own: Option<&'static str>, shape, times: usize| {
                let w = Arc::clone(w);
                spawn("locker", move || {
                    for _ in 0..times {
                        own.iter().for_each(|own| assert!(s.lock(own, X).is_ok()));
                        s.lock("k", shape).unwrap();
                        w.assert_nobody_left_behind();
                        s.end();
                        w.assert_nobody_left_behind();
                    }
                })
            };
        let weighty = [("1", S, 2), ("2", X, 1)];
        let mut threads = Vec::new();
        for (own, shape, waiters) in weighty {
            let s = w.session();
            s.lock(own, X).unwrap();
            threads.push(lock_all(s, &w, Some(own), shape, 2));
            for _ in 0..waiters {
                let s = w.session();
                threads.push(spawn("helper", move || {
                    s.lock(own, X).unwrap();
                    s.end();
                }));
            }
        }
        threads.push(lock_all(w.session(), &w, None, S, 2));
        threads.push(lock_all(w.session(), &w, None, INSERT, 2));
        until_noted(&w, 7);
        holder.end();
        w.assert_nobody_left_behind();
        threads.into_iter().for_each(join);
        assert!(w.locks.snapshot().locks.is_empty() && w.locks.graph_is_empty());
    });
}

/// Scans that lock runs, and others who lock single keys of them: nobody is inside with somebody else.
#[test]
fn runs_and_single_locks_exclude_each_other() {
    const KEYS: [&str; 3] = ["a", "b", "c"];
    each_seed(|| {
        let w = world();
        let inside: Arc<Vec<Shared<u32>>> = Arc::new(KEYS.iter().map(|_| Shared::new(0)).collect());
        let scanners = [false, true].map(|down| {
            let (s, inside) = (w.session(), Arc::clone(&inside));
            spawn("scanner", move || {
                let mut after = None;
                for n in 0..KEYS.len() {
                    let n = if down { KEYS.len() - 1 - n } else { n };
                    let k = KEYS[n];
                    after = match s.next(k, X, after).unwrap() {
                        Some(_) => Some(k),
                        None if s.lock(k, X).is_ok() => None,
                        None => break,
                    };
                    assert_eq!(inside[n].fetch_add(1, Ordering::SeqCst), 0, "{k}");
                    inside[n].fetch_sub(1, Ordering::SeqCst);
                }
                s.end();
            })
        });
        let mut threads = Vec::from(scanners);
        for n in [1, 2] {
            let (s, inside) = (w.session(), Arc::clone(&inside));
            threads.push(spawn("locker", move || {
                s.lock(KEYS[n], X).unwrap();
                assert_eq!(inside[n].fetch_add(1, Ordering::SeqCst), 0);
                inside[n].fetch_sub(1, Ordering::SeqCst);
                s.end();
            }));
        }
        threads.into_iter().for_each(join);
        w.locks.verify();
        let left = w.locks.snapshot();
        assert!(left.locks.is_empty() && left.runs.is_empty() && w.locks.graph_is_empty());
    });
}

static LEAF: instrument::MutexClass = instrument::MutexClass::new("wait/synch/mutex/test/leaf");

/// A leaf: its latch, its keys, its version.
struct Leaf {
    keys: sync::Mutex<Vec<&'static str>>,
    version: Shared<u64>,
}

impl Leaf {
    /// As the engine inserts: latch, look at the locks of the next key, insert. What was not free is not inserted.
    fn insert(&self, s: &Session, new: &'static str) {
        let mut keys = self.keys.lock();
        self.version.fetch_add(1, Ordering::SeqCst);
        let next = keys.iter().copied().find(|k| *k > new).unwrap_or("sup");
        if !s.locks.is_free(key(next)) {
            if !s.locks.check(s.owner(), key(next), INSERT) {
                return;
            }
            s.locks.inserted(key(new), key(next));
        }
        keys.push(new);
        keys.sort_unstable();
    }

    /// As a locking read, up or down: copy the leaf, make the lock, look whether it is unchanged; if not, a part of a run is
    /// taken back. The keys that it has seen.
    fn scan(&self, s: &Session, shape: lock::Shape, down: bool) -> Vec<&'static str> {
        let (mut seen, mut after): (Vec<&'static str>, Option<&'static str>) = (vec![], None);
        loop {
            let keys = self.keys.lock();
            let (mut copy, version) = (keys.clone(), self.version.load(Ordering::SeqCst));
            drop(keys);
            if down {
                copy.reverse();
            }
            let from = seen.last().copied();
            let is_after =
                |k: &&'static str| from.is_none_or(|from| *k != from && (*k < from) == down);
            for k in copy.into_iter().filter(is_after) {
                let before = after.filter(|a| seen.last() == Some(a));
                let granted = s.next(k, shape, before).unwrap();
                // It has locks of its own on what was inserted before it came there.
                assert!(granted.is_some() || s.gets(k, shape));
                stdx::fence(Ordering::SeqCst);
                if self.version.load(Ordering::SeqCst) != version {
                    let fresh = granted.and_then(|granted| granted.fresh);
                    fresh.into_iter().for_each(|shape| s.locks.unlock(s.owner(), key(k), shape));
                    break;
                }
                seen.push(k);
                after = granted.map(|_| k);
            }
            if self.version.load(Ordering::SeqCst) == version {
                return seen;
            }
        }
    }
}

/// Keys come in while a scan makes its run: with gap locks it misses none before its end; without them the run stands for
/// none that it has not seen. Either way it stands for all that it has seen.
#[test]
fn a_run_meets_inserts_into_its_leaf() {
    for (shape, down) in [(X, false), (NEXT, false), (X, true), (NEXT, true)] {
        for seed in 0..SEEDS {
            let end = sched::run(seed, Options::default(), move || {
                let w = world();
                let (keys, version) = (vec!["b", "d", "f"], Shared::new(0));
                let leaf = Arc::new(Leaf { keys: sync::Mutex::new(&LEAF, keys), version });
                let s = w.session();
                let inserts = [["c", "g"], ["e", "a"]].map(|new| {
                    let (s, leaf) = (w.session(), Arc::clone(&leaf));
                    spawn("inserter", move || {
                        new.iter().for_each(|new| leaf.insert(&s, new));
                        s.end();
                    })
                });
                let seen = leaf.scan(&s, shape, down);
                inserts.into_iter().for_each(join);
                w.locks.verify();
                for k in leaf.keys.lock().iter() {
                    let has = w.locks.has(s.owner(), key(k), X);
                    assert!(has || !seen.contains(k), "{k} of {seen:?} is not locked");
                    assert!(!has || seen.contains(k), "{k} is locked, not one of {seen:?}");
                    let (first, last) = (seen.first(), seen.last());
                    let before_end = match down {
                        false => last.is_some_and(|last| k <= last),
                        true => last.is_some_and(|last| k >= last) && Some(k) <= first,
                    };
                    assert!(
                        shape == X || !before_end || seen.contains(k),
                        "{k} came into {seen:?}"
                    );
                }
                s.end();
            });
            if let Err(failure) = end.result {
                panic!("{shape}, down: {down}, seed {seed}: {failure}");
            }
        }
    }
}
