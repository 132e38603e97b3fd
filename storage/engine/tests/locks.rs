//! Row locks: which a read takes, which a write meets, who waits for whom. What is expected of ranges was
//! read from performance_schema.data_locks of MySQL.

#![allow(clippy::unwrap_used)] // tests

mod common;

use base::Isolation;
use common::{create_table, key, row};
use engine::{Change, Client, Direction, Engine, Error, LockMode, LockWait, Reader, Result, Then};
use engine::{RowLock, Table};
use host::SimDisk;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::sched::{self, Options};

const SKIP: RowLock = RowLock { mode: LockMode::Exclusive, wait: LockWait::SkipLocked };
const NOWAIT: RowLock = RowLock { mode: LockMode::Exclusive, wait: LockWait::NoWait };
const RR: Isolation = Isolation::RepeatableRead;
const RC: Isolation = Isolation::ReadCommitted;

struct World {
    engine: Arc<Engine>,
    table: Arc<Table>,
}

/// Rows 5, 10, 15, 20 with those numbers in both indexes.
fn world() -> World {
    let (engine, ..) = common::open(&SimDisk::new(1)).unwrap();
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    client.commit().unwrap();
    for id in [5, 10, 15, 20] {
        client.insert(&table, &common::encode(&table, &row(id, id, id, 3))).unwrap();
    }
    client.commit().unwrap();
    World { engine, table }
}

impl World {
    fn client(&self, level: Isolation) -> Client {
        let mut client = self.engine.client().unwrap();
        client.set_isolation(level);
        client.set_lock_wait_timeout(20);
        client.begin();
        client
    }

    fn insert(&self, c: &mut Client, id: i64, u: i64) -> Result<()> {
        c.insert(&self.table, &common::encode(&self.table, &row(id, id, u, 3)))
    }

    fn update(&self, c: &mut Client, id: i64, a: i64, u: i64) -> Result<bool> {
        let new = common::encode(&self.table, &row(id, a, u, 3));
        c.update(&self.table, &key(&self.table, id), &new)
    }

    fn locked(&self, c: &mut Client, id: i64, lock: RowLock) -> Result<bool> {
        c.get_locked(&self.table, &key(&self.table, id), None, lock, &mut Vec::new())
    }

    /// All locks: "P 10 X,REC_NOT_GAP" and so on, a waiting one with a question mark.
    fn locks(&self) -> Vec<String> {
        let spec = self.table.spec();
        let all = self.engine.locks().snapshot().locks;
        let mut found: Vec<String> = all
            .iter()
            .map(|l| {
                let index = match l.index {
                    i if i == spec.clustered_id => "P",
                    i if i == spec.secondaries[0].id => "a",
                    _ => "u",
                };
                let id = match &l.key {
                    None => "sup".into(),
                    Some(k) => (0..100)
                        .find(|id| k.ends_with(&key(&self.table, *id)))
                        .map_or("?".into(), |id| id.to_string()),
                };
                let waits = if l.waiting { "?" } else { "" };
                format!("{index} {id} {}{waits}", l.shape.name(l.key.is_none()))
            })
            .collect();
        found.sort();
        found
    }

    fn until_waiting(&self, n: u64) {
        let give_up = Instant::now() + Duration::from_secs(10);
        while self.engine.locks().waiting() != n {
            assert!(Instant::now() < give_up, "{} wait, not {n}", self.engine.locks().waiting());
            std::thread::yield_now();
        }
    }

    fn number(&self, index: usize, n: i64) -> Vec<u8> {
        let mut out = Vec::new();
        let columns = &self.table.spec().columns;
        let spec = self.table.key(index).unwrap();
        spec.encode_prefix(columns, &[value::Datum::Int(n)], &mut out).unwrap();
        out
    }

    /// The ids of a range read with locks.
    fn range(
        &self,
        c: &Client,
        index: usize,
        (low, high): (Bound<i64>, Bound<i64>),
        direction: Direction,
        lock: RowLock,
    ) -> Result<Vec<i64>> {
        let bytes = |b: Bound<i64>| b.map(|n| self.number(index, n));
        let (low, high) = (bytes(low), bytes(high));
        let ends = (low.as_ref().map(|k| &k[..]), high.as_ref().map(|k| &k[..]));
        let mut reader = Reader::new();
        reader.open(c, &self.table, index, ends, direction)?;
        reader.lock(lock);
        let (mut out, mut ids) = (Vec::new(), Vec::new());
        while reader.next(c, &self.table, &mut out)? {
            ids.push(common::decode(self.table.layout(), &out).id);
        }
        Ok(ids)
    }
}

/// Runs `f` with a client of its own on a thread of its own.
fn spawn<T: Send + 'static>(
    w: &Arc<World>,
    f: impl FnOnce(&World, &mut Client) -> T + Send + 'static,
) -> host::thread::JoinHandle<T> {
    let w = Arc::clone(w);
    host::thread::spawn("test", move || f(&w, &mut w.client(RR))).unwrap()
}

#[test]
fn a_range_locks_what_mysql_locks() {
    let w = world();
    let (f, b) = (Direction::Forward, Direction::Backward);
    let (x, s) = (RowLock::UPDATE, RowLock::SHARE);
    let eq = |n| (Included(n), Included(n));
    type Case = (usize, (Bound<i64>, Bound<i64>), Direction, RowLock, &'static str);
    let cases: &[Case] = &[
        (0, eq(10), f, x, "P 10 X,REC_NOT_GAP"),
        (0, eq(11), f, x, "P 15 X,GAP"),
        (0, eq(30), f, x, "P sup X"),
        (0, (Included(10), Included(15)), f, x, "P 10 X,REC_NOT_GAP; P 15 X"),
        (0, (Excluded(10), Excluded(15)), f, x, "P 15 X,GAP"),
        (0, (Unbounded, Included(15)), f, x, "P 10 X; P 15 X; P 5 X"),
        (0, (Unbounded, Excluded(16)), f, x, "P 10 X; P 15 X; P 20 X,GAP; P 5 X"),
        (0, (Excluded(15), Unbounded), f, x, "P 20 X; P sup X"),
        (0, (Excluded(15), Included(20)), f, x, "P 20 X; P sup X"),
        (0, (Included(11), Included(15)), f, s, "P 15 S"),
        (0, (Included(10), Unbounded), b, x, "P 10 X; P 15 X; P 20 X; P 5 X; P sup X"),
        (0, (Excluded(8), Included(15)), b, x, "P 10 X; P 15 X; P 20 X,GAP; P 5 X"),
        (1, eq(10), f, x, "P 10 X,REC_NOT_GAP; a 10 X; a 15 X,GAP"),
        (1, eq(11), f, x, "a 15 X,GAP"),
        (2, eq(10), f, x, "P 10 X,REC_NOT_GAP; u 10 X,REC_NOT_GAP"),
        (2, eq(11), f, x, "u 15 X,GAP"),
        (
            1,
            (Included(10), Included(15)),
            f,
            x,
            "P 10 X,REC_NOT_GAP; P 15 X,REC_NOT_GAP; P 20 X,REC_NOT_GAP; a 10 X; a 15 X; a 20 X",
        ),
        (
            2,
            (Included(10), Included(15)),
            f,
            x,
            "P 10 X,REC_NOT_GAP; P 15 X,REC_NOT_GAP; P 20 X,REC_NOT_GAP; u 10 X; u 15 X; u 20 X",
        ),
    ];
    for (index, ends, direction, lock, expected) in cases {
        let mut c = w.client(RR);
        w.range(&c, *index, *ends, *direction, *lock).unwrap();
        assert_eq!(w.locks().join("; "), *expected, "index {index} {ends:?} {direction:?}");
        c.commit().unwrap();
        assert!(w.locks().is_empty());
    }
    let rc: &[Case] = &[
        (0, (Included(10), Included(15)), f, x, "P 10 X,REC_NOT_GAP; P 15 X,REC_NOT_GAP"),
        (0, eq(11), f, x, ""),
        (1, eq(10), f, x, "P 10 X,REC_NOT_GAP; a 10 X,REC_NOT_GAP"),
    ];
    for (index, ends, direction, lock, expected) in rc {
        let mut c = w.client(RC);
        w.range(&c, *index, *ends, *direction, *lock).unwrap();
        assert_eq!(w.locks().join("; "), *expected, "index {index} {ends:?}");
        c.rollback().unwrap();
    }
}

#[test]
fn an_insert_waits_for_the_gap_and_both_halves_stay_locked_by_its_holder() {
    let w = Arc::new(world());
    let mut a = w.client(RR);
    assert!(!w.locked(&mut a, 11, RowLock::UPDATE).unwrap());
    let inserter = spawn(&w, |w, c| {
        w.insert(c, 12, 12).unwrap();
        c.commit().unwrap();
    });
    w.until_waiting(1);
    assert_eq!(w.locks(), ["P 15 X,GAP", "P 15 X,GAP,INSERT_INTENTION?"]);
    // One's own gap keeps others out only.
    w.insert(&mut a, 13, 13).unwrap();
    assert!(w.locks().contains(&"P 13 X,GAP".into()), "{:?}", w.locks());
    a.commit().unwrap();
    inserter.join().unwrap();
    assert!(w.locks().is_empty());
    w.engine.check_table(&w.table).unwrap();
}

#[test]
fn a_phantom_does_not_come_into_a_locked_range() {
    let w = Arc::new(world());
    let mut a = w.client(RR);
    let range = (Included(8), Included(15));
    let seen = w.range(&a, 1, range, Direction::Forward, RowLock::UPDATE).unwrap();
    let inserter = spawn(&w, |w, c| {
        w.insert(c, 12, 12).unwrap();
        c.commit().unwrap();
    });
    w.until_waiting(1);
    let again = w.range(&a, 1, range, Direction::Forward, RowLock::UPDATE).unwrap();
    assert_eq!((&seen[..], &again[..]), (&[10, 15][..], &[10, 15][..]));
    a.commit().unwrap();
    inserter.join().unwrap();
}

#[test]
fn a_writer_has_its_row_locked_without_a_lock_until_somebody_asks() {
    let w = Arc::new(world());
    let mut a = w.client(RR);
    assert!(w.update(&mut a, 10, 1, 10).unwrap());
    w.insert(&mut a, 11, 11).unwrap();
    assert!(w.locks().is_empty(), "{:?}", w.locks());
    let reader = spawn(&w, |w, c| {
        let found = w.range(c, 0, (Included(10), Included(11)), Direction::Forward, RowLock::SHARE);
        c.commit().unwrap();
        found.unwrap()
    });
    w.until_waiting(1);
    assert_eq!(w.locks(), ["P 10 S,REC_NOT_GAP?", "P 10 X,REC_NOT_GAP"]);
    a.rollback().unwrap();
    assert_eq!(reader.join().unwrap(), [10]);
    assert!(w.locks().is_empty());
}

#[test]
fn nowait_and_skip_locked_do_not_queue() {
    let w = world();
    let (mut a, mut b) = (w.client(RR), w.client(RR));
    assert!(w.update(&mut a, 10, 1, 10).unwrap());
    assert!(w.locked(&mut a, 20, RowLock::SHARE).unwrap());
    assert!(matches!(w.locked(&mut b, 10, NOWAIT), Err(Error::LockNotAvailable)));
    assert!(!w.locked(&mut b, 20, SKIP).unwrap());
    let all = (Included(5), Included(20));
    assert_eq!(w.range(&b, 0, all, Direction::Forward, SKIP).unwrap(), [5, 15]);
    assert!(w.locks().iter().all(|l| !l.ends_with('?')));
    b.rollback().unwrap();
    a.rollback().unwrap();
}

#[test]
fn a_deadlock_has_one_victim_the_lighter_one() {
    let w = Arc::new(world());
    let mut a = w.client(RR);
    assert!(w.update(&mut a, 5, 1, 5).unwrap());
    assert!(w.update(&mut a, 15, 1, 15).unwrap());
    let other = spawn(&w, |w, c| {
        assert!(w.update(c, 10, 2, 10).unwrap());
        let end = w.update(c, 5, 2, 5);
        c.rollback().unwrap();
        end
    });
    w.until_waiting(1);
    assert!(w.update(&mut a, 10, 1, 10).unwrap());
    a.commit().unwrap();
    assert!(matches!(other.join().unwrap(), Err(Error::Deadlock)));
    assert!(w.engine.locks().last_deadlock().is_some());
    assert!(w.engine.waits().edges().is_empty());
    w.engine.check_table(&w.table).unwrap();
}

#[test]
fn a_duplicate_is_locked_before_it_is_reported() {
    let w = Arc::new(world());
    let mut a = w.client(RR);
    a.insert(&w.table, &common::encode(&w.table, &row(10, 1, 1, 3))).unwrap_err();
    assert_eq!(w.locks(), ["P 10 S,REC_NOT_GAP"]);
    a.rollback().unwrap();
    a.begin();
    let or = common::encode(&w.table, &row(11, 11, 10, 3));
    a.insert_or(&w.table, &or).unwrap_err();
    assert_eq!(
        w.locks(),
        ["P 15 X,GAP", "a 15 X,GAP", "u 10 X"],
        "what was undone leaves its gaps"
    );
    a.rollback().unwrap();
    // A duplicate of a row that may go yet is waited for.
    w.insert(&mut a, 11, 11).unwrap();
    let second = spawn(&w, |w, c| {
        let end = w.insert(c, 11, 12);
        let locks = w.locks();
        c.commit().unwrap();
        end.map(|()| locks)
    });
    w.until_waiting(1);
    assert_eq!(w.locks(), ["P 11 S,REC_NOT_GAP?", "P 11 X,REC_NOT_GAP"]);
    a.rollback().unwrap();
    let mut locks = second.join().unwrap().unwrap();
    // The first one's lock became one of the gap when its row went, before its end gave it back. Who comes in
    // between waits for that, too, and keeps what it waited for, as in InnoDB.
    locks.retain(|l| l != "P 15 X,GAP,INSERT_INTENTION");
    assert_eq!(locks, ["P 11 S,GAP", "P 15 S,GAP"]);
    w.engine.check_table(&w.table).unwrap();
}

#[test]
fn a_row_whose_change_was_taken_back_stays_locked() {
    let w = world();
    let (mut a, mut b) = (w.client(RR), w.client(RR));
    w.insert(&mut a, 1, 1).unwrap();
    let mark = a.mark();
    assert!(w.update(&mut a, 10, 1, 10).unwrap());
    a.rollback_to(mark).unwrap();
    assert!(matches!(w.locked(&mut b, 10, NOWAIT), Err(Error::LockNotAvailable)));
    a.commit().unwrap();
    assert!(w.locked(&mut b, 10, NOWAIT).unwrap());
    b.rollback().unwrap();
}

#[test]
fn a_removed_row_leaves_its_gap_to_who_had_it_locked() {
    let w = world();
    let (mut a, mut b) = (w.client(RR), w.client(RR));
    assert!(a.delete(&w.table, &key(&w.table, 10)).unwrap());
    a.commit().unwrap();
    // Purged or not, the key does not come back into b's gap.
    assert!(!w.locked(&mut b, 10, RowLock::UPDATE).unwrap());
    let mut c = w.client(RR);
    c.set_lock_wait_timeout(0);
    assert!(matches!(w.insert(&mut c, 10, 10), Err(Error::LockWaitTimeout)));
    c.rollback().unwrap();
    b.rollback().unwrap();
    w.insert(&mut c, 10, 10).unwrap();
    c.commit().unwrap();
    w.engine.check_table(&w.table).unwrap();
}

#[test]
fn a_row_that_was_found_is_known_until_something_changes() {
    let w = world();
    let mut a = w.client(RR);
    let (ten, mut out) = (key(&w.table, 10), Vec::new());
    let only_ten = (Included(10), Included(10));
    let mut latest = |a: &mut Client| {
        let stamp = a.read_latest(&w.table, &ten, None, &mut out).unwrap().unwrap();
        (common::decode(w.table.layout(), &out), stamp)
    };
    let before = latest(&mut a);
    a.change_as_found(true);
    let find = |a: &Client| w.range(a, 0, only_ten, Direction::Forward, RowLock::UPDATE).unwrap();
    assert_eq!(find(&a).len(), 1);
    assert!(latest(&mut a) == before && latest(&mut a) == before, "known, then read");
    // A change, and its undoing, in between.
    find(&a);
    let mark = a.mark();
    assert!(w.update(&mut a, 10, 7, 10).unwrap());
    assert_eq!(latest(&mut a).0.a, Some(7));
    find(&a);
    a.rollback_to(mark).unwrap();
    assert!(latest(&mut a) == before);
    // The end of the transaction, and somebody else's change behind it.
    find(&a);
    a.commit().unwrap();
    let mut b = w.client(RR);
    assert!(w.update(&mut b, 10, 8, 10).unwrap());
    b.commit().unwrap();
    assert_eq!(latest(&mut a).0.a, Some(8));
    a.rollback().unwrap();
}

#[test]
fn a_stamped_change_is_made_to_the_version_that_was_read_or_not_at_all() {
    let w = Arc::new(world());
    let mut a = w.client(RR);
    let (ten, mut out) = (key(&w.table, 10), Vec::new());
    let stamp = a.read_latest(&w.table, &ten, None, &mut out).unwrap().unwrap();
    let mut b = w.client(RR);
    assert!(w.update(&mut b, 10, 7, 10).unwrap());
    b.commit().unwrap();
    let new = common::encode(&w.table, &row(10, 8, 10, 3));
    assert_eq!(
        a.update_stamped(&w.table, &ten, stamp, (&new, Then::More)).unwrap(),
        Change::Changed
    );
    assert_eq!(a.delete_stamped(&w.table, &ten, stamp, Then::More).unwrap(), Change::Changed);
    let stamp = a.read_latest(&w.table, &ten, None, &mut out).unwrap().unwrap();
    assert_eq!(common::decode(w.table.layout(), &out).a, Some(7));
    assert_eq!(a.update_stamped(&w.table, &ten, stamp, (&new, Then::More)).unwrap(), Change::Done);
    assert!(w.locks().is_empty());
    // Who reads it so waits for the writer, and then has it locked.
    let reader = spawn(&w, |w, c| {
        let mut out = Vec::new();
        let stamp = c.read_latest(&w.table, &key(&w.table, 10), None, &mut out).unwrap().unwrap();
        let a = common::decode(w.table.layout(), &out).a;
        let new = common::encode(&w.table, &row(10, 9, 10, 3));
        let end =
            c.update_stamped(&w.table, &key(&w.table, 10), stamp, (&new, Then::More)).unwrap();
        c.commit().unwrap();
        (a, end)
    });
    w.until_waiting(1);
    a.commit().unwrap();
    assert_eq!(reader.join().unwrap(), (Some(8), Change::Done));
}

#[test]
fn a_row_that_is_not_wanted_is_let_go_where_gaps_are_not_locked() {
    let w = world();
    for (level, left) in [(RC, 0), (RR, 1)] {
        let mut c = w.client(level);
        assert!(w.locked(&mut c, 10, RowLock::UPDATE).unwrap());
        c.unlock_last();
        assert_eq!(w.locks().len(), left);
        c.commit().unwrap();
    }
}

/// Many clients move numbers between rows under locks of all kinds: nothing is lost, nobody is stuck.
#[test]
fn transfers_under_locks_keep_the_total() {
    let w = Arc::new(world());
    let threads: Vec<_> = (0..4u64)
        .map(|n| {
            spawn(&w, move |w, c| {
                let ids = [5, 10, 15, 20];
                let mut rng = stdx::rng::Rng::new(n + 1);
                let mut done = 0;
                while done < 60 {
                    c.begin();
                    let (from, to) = (ids[rng.below(4) as usize], ids[rng.below(4) as usize]);
                    let moved = transfer(w, c, from, to);
                    match moved {
                        Ok(()) => c.commit().unwrap(),
                        Err(Error::Deadlock) => c.rollback().unwrap(),
                        Err(e) => panic!("{e}"),
                    }
                    done += 1;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let mut c = w.client(RR);
    let rows = common::rows(&mut c, &w.table, 0).unwrap();
    assert_eq!(rows.iter().map(|r| r.a.unwrap()).sum::<i64>(), 50);
    assert!(w.locks().is_empty(), "{:?}", w.locks());
    assert!(w.engine.waits().edges().is_empty());
    w.engine.check_table(&w.table).unwrap();
}

fn transfer(w: &World, c: &mut Client, from: i64, to: i64) -> Result<()> {
    let mut out = Vec::new();
    for (id, by) in [(from, -1), (to, 1)] {
        assert!(c.get_locked(&w.table, &key(&w.table, id), None, RowLock::UPDATE, &mut out)?);
        let old = common::decode(w.table.layout(), &out);
        assert!(w.update(c, id, old.a.unwrap() + by, old.u.unwrap())?);
    }
    Ok(())
}

/// How many runs and single locks the clustered index has, and another one, after all rows were locked this way.
fn runs_of(w: &World, index: usize, direction: Direction, level: Isolation) -> Vec<(usize, usize)> {
    let c = w.client(level);
    let ids =
        w.range(&c, index, (Unbounded, Unbounded), direction, RowLock::UPDATE).expect("no wait");
    assert_eq!(ids.len(), 404);
    let spec = w.table.spec();
    let all = w.engine.locks().snapshot();
    let count = |id| {
        let runs = all.runs.iter().filter(|r| r.index == id).count();
        (runs, all.locks.iter().filter(|l| l.index == id && l.key.is_some()).count())
    };
    vec![count(spec.clustered_id), count(spec.secondaries[index.max(1) - 1].id)]
}

/// Backwards as forwards; the rows of a secondary index's entries where the one is the other's neighbour.
#[test]
fn rows_in_key_order_are_runs_and_scattered_ones_are_not() {
    let w = world();
    let mut c = w.client(RR);
    for id in 1_000..1_400 {
        // The first index in the order of the rows, the second one upside down.
        let row = row(id, id, 10_000 - id, 3);
        c.insert(&w.table, &common::encode(&w.table, &row)).unwrap();
    }
    c.commit().unwrap();
    for (direction, level) in [Direction::Forward, Direction::Backward]
        .into_iter()
        .flat_map(|direction| [(direction, RR), (direction, RC)])
    {
        // A run and its tip, beside the first 32.
        let few = |found: (usize, usize)| (1..=4).contains(&found.0) && found.1 <= 40;
        let clustered = runs_of(&w, 0, direction, level)[0];
        assert!(few(clustered), "{direction:?}: {clustered:?}");
        for index in [1, 2] {
            let found = runs_of(&w, index, direction, level);
            assert!(few(found[0]) && few(found[1]), "{index} {direction:?}: {found:?}");
        }
    }
    // Scattered rows are single locks.
    for id in 1_000..1_400 {
        let row = row(id, id * 7_919 % 1_009, 10_000 - id, 3);
        c.begin();
        assert!(c.update(&w.table, &key(&w.table, id), &common::encode(&w.table, &row)).unwrap());
        c.commit().unwrap();
    }
    let found = runs_of(&w, 1, Direction::Forward, RR);
    assert!(found[0].0 < 20 && found[0].1 > 350, "{found:?}");
}

/// Somebody reads a range, while rows come into it, and wants none of the rows.
fn reads_beside_inserts(direction: Direction) {
    let w = Arc::new(world());
    let writer = spawn(&w, move |w, c| {
        for id in [14, 12, 11, 13, 7, 6, 8, 4, 19, 17, 18, 16] {
            w.insert(c, id, id).unwrap();
            c.commit().unwrap();
        }
    });
    let c = w.client(RC);
    for _ in 0..4 {
        let mut reader = Reader::new();
        reader.open(&c, &w.table, 0, (Unbounded, Unbounded), direction).unwrap();
        reader.lock(SKIP);
        let mut out = Vec::new();
        while reader.next(&c, &w.table, &mut out).unwrap() {
            reader.unlock_last(&c);
        }
    }
    writer.join().unwrap();
    let left = w.locks();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_was_locked_in_a_leaf_that_changed_meanwhile_is_given_back() {
    for seed in 1..=40 {
        for direction in [Direction::Forward, Direction::Backward] {
            let outcome = sched::run(seed, Options::default(), || reads_beside_inserts(direction));
            outcome.result.unwrap_or_else(|e| panic!("seed {seed}, {direction:?}: {e}"));
        }
    }
}
