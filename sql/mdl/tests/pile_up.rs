//! Fifty sessions beside a statement that waits for somebody who stays, each by the locks that such statements take in the
//! server, on the virtual clock of the one-runner: nobody waits for longer than a slice, and the statement has its turn when
//! who was in its way goes.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // tests

mod runs;
mod support;

use mdl::{Held, Mode, Namespace, Object};
use runs::{READER_MAX, Shared, join, simulated, sleep, sliced, spawn, take_set, use_until};
use std::sync::Arc;
use std::time::Duration;
use stdx::Ordering;
use support::Rig;
use sync::{Deadline, SessionSlotRef};

use Mode::{IX, S, SNRW, SNW, SR, SU, SW, X};
use Namespace::{BackupLock, Commit, Global, Schema, Table};

/// What is locked, and how.
type Lock = (Namespace, &'static str, Mode);

const GLOBAL: Lock = (Global, "", IX);
const BACKUP: Lock = (BackupLock, "", IX);
const COMMIT: Lock = (Commit, "", IX);
const SCHEMA: Lock = (Schema, "", IX);

const READS_T: &[Lock] = &[(Table, "t", SR)];
const READS_U: &[Lock] = &[(Table, "u", SR)];
const WRITES_T: &[Lock] = &[GLOBAL, (Table, "t", SW), COMMIT];

/// How many others there are.
const OTHERS: u64 = 50;
/// How soon a statement is done when nobody is in its way: a look of a gap, and others that are just there.
const SOON: Duration = Duration::from_millis(300);

struct Pile {
    /// What somebody has for five seconds.
    stays: &'static [Lock],
    /// The set of the statement,
    set: &'static [Lock],
    /// and how it locks the last of it afterwards, one after the other.
    then: &'static [Mode],
    /// What the others use, by turns.
    others: &'static [&'static [Lock]],
}

fn locks(rig: &Rig, list: &[Lock]) -> Vec<(Arc<Object>, Mode)> {
    let object = |(namespace, name, mode): &Lock| (rig.mdl.intern(*namespace, "d", name), *mode);
    list.iter().map(object).collect()
}

impl Pile {
    fn statement(&self, rig: &Rig, slot: &SessionSlotRef) {
        let (set, mut held) = (locks(rig, self.set), Held::new());
        rig.mdl.begin_turn(slot, sliced(60));
        assert!(take_set(&rig.mdl, slot, &mut held, &set).is_ok());
        let last = std::slice::from_ref(&set[set.len() - 1].0);
        for mode in self.then {
            // The new definition is made, or rows are copied.
            sleep(100);
            let end = rig.mdl.upgrade(slot, &mut held, last, *mode, Deadline::Never);
            assert_eq!(end, Ok(()), "{mode:?}");
        }
        sleep(1);
        rig.mdl.release_all(slot, &mut held);
        rig.mdl.end_turn(slot);
    }

    fn wanted(&self) -> Mode {
        self.then.last().copied().unwrap_or(self.set[self.set.len() - 1].2)
    }
}

fn nobody_piles_up(pile: &'static Pile) {
    simulated(2, move || beside(pile));
}

fn beside(pile: &'static Pile) {
    let rig = Arc::new(Rig::new());
    let stop = Arc::new(Shared::<u32>::new(0));
    let (ended_ns, longest_ns) = (Arc::new(Shared::<u64>::new(0)), Arc::new(Shared::<u64>::new(0)));
    let (stays, slot) = (locks(&rig, pile.stays), rig.session());
    stays.iter().for_each(|(object, mode)| rig.lock(&slot, object, *mode));
    let statement = {
        let (rig, ended_ns) = (Arc::clone(&rig), Arc::clone(&ended_ns));
        spawn("statement", move || {
            let slot = rig.session();
            pile.statement(&rig, &slot);
            ended_ns.store(sync::now_ns(), Ordering::Relaxed);
        })
    };
    let others: Vec<_> = (0..OTHERS)
        .map(|n| {
            let (rig, stop) = (Arc::clone(&rig), Arc::clone(&stop));
            let longest_ns = Arc::clone(&longest_ns);
            spawn("other", move || {
                let used = locks(&rig, pile.others[n as usize % pile.others.len()]);
                sleep(6 * n);
                let longest = use_until(&rig, &used, (2, 150 + 6 * n), &stop);
                longest_ns.fetch_max(longest.as_nanos() as u64, Ordering::Relaxed);
            })
        })
        .collect();
    sleep(5000);
    let waiting = rig.pending();
    assert!(waiting.iter().any(|row| row.mode == pile.wanted()), "in gaps, too: {waiting:?}");
    assert_eq!(ended_ns.load(Ordering::Relaxed), 0, "it waits for who stays");
    let gone_ns = sync::now_ns();
    stays.iter().for_each(|(object, mode)| rig.mdl.release(&slot, object, *mode));
    join(statement);
    let took = Duration::from_nanos(ended_ns.load(Ordering::Relaxed) - gone_ns);
    assert!(took <= SOON, "long after nobody was in its way: {took:?}");
    stop.store(1, Ordering::Relaxed);
    others.into_iter().for_each(join);
    let longest = Duration::from_nanos(longest_ns.load(Ordering::Relaxed));
    assert!(longest <= READER_MAX, "somebody waited for {longest:?}");
    assert!(longest >= Duration::from_millis(10), "nobody met a slice: {longest:?}");
    assert!(rig.mdl.locks().is_empty() && rig.mdl.waits().edges().is_empty());
}

#[test]
fn behind_an_alter_that_copies() {
    nobody_piles_up(&Pile {
        stays: READS_T,
        set: &[GLOBAL, BACKUP, SCHEMA, (Table, "t", SU)],
        then: &[SNW, X],
        others: &[READS_T],
    });
}

/// Until the switch writers write, too.
#[test]
fn behind_an_alter_that_copies_nothing() {
    nobody_piles_up(&Pile {
        stays: READS_T,
        set: &[GLOBAL, BACKUP, SCHEMA, (Table, "t", SU)],
        then: &[X],
        others: &[READS_T, WRITES_T],
    });
}

#[test]
fn behind_a_drop_of_two_tables() {
    nobody_piles_up(&Pile {
        stays: READS_U,
        set: &[GLOBAL, BACKUP, SCHEMA, (Table, "t", X), (Table, "u", X)],
        then: &[],
        others: &[READS_T, READS_U, WRITES_T],
    });
}

#[test]
fn behind_a_rename() {
    nobody_piles_up(&Pile {
        stays: READS_U,
        set: &[
            GLOBAL,
            BACKUP,
            SCHEMA,
            (Table, "t", X),
            (Table, "t2", X),
            (Table, "u", X),
            (Table, "u2", X),
        ],
        then: &[],
        others: &[READS_T, READS_U, WRITES_T],
    });
}

#[test]
fn behind_lock_tables() {
    nobody_piles_up(&Pile {
        stays: READS_U,
        set: &[GLOBAL, SCHEMA, (Table, "t", SNRW), (Table, "u", SNRW)],
        then: &[],
        others: &[READS_T, READS_U, WRITES_T],
    });
}

#[test]
fn behind_a_flush_with_read_lock_that_waits_for_an_update() {
    nobody_piles_up(&Pile {
        stays: &[GLOBAL, (Table, "t", SW)],
        set: &[(Global, "", S), (Commit, "", S)],
        then: &[],
        others: &[WRITES_T],
    });
}

/// It has stopped all writes by then.
#[test]
fn behind_a_flush_with_read_lock_that_waits_for_a_commit() {
    nobody_piles_up(&Pile {
        stays: &[(Table, "u", SW), COMMIT],
        set: &[(Global, "", S), (Commit, "", S)],
        then: &[],
        others: &[WRITES_T],
    });
}
