//! Long runs of deleted rows under an old view: who locks what is behind them, and who may insert among them.

#![allow(clippy::unwrap_used)] // tests

mod common;

use base::Isolation;
use common::{create_table, key, row};
use engine::{Client, Direction, Engine, Error, Reader, Result, RowLock, Table};
use host::SimDisk;
use std::ops::Bound::Unbounded;
use std::sync::Arc;
use stdx::rng::Rng;

const RR: Isolation = Isolation::RepeatableRead;
const RC: Isolation = Isolation::ReadCommitted;
const ROWS: i64 = 400;
const DELETED: i64 = 300;

struct World {
    engine: Arc<Engine>,
    table: Arc<Table>,
}

/// Rows 10, 20, 30 and so on, of which the first [`DELETED`] are deleted; a client's view keeps them from being purged.
fn world() -> (World, Client) {
    let (engine, ..) = common::open(&SimDisk::new(1)).unwrap();
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    for id in 1..=ROWS {
        c.insert(&table, &common::encode(&table, &row(id * 10, 0, id * 10, 100))).unwrap();
    }
    c.commit().unwrap();
    let view = common::viewer(&engine).unwrap();
    for id in 1..=DELETED {
        assert!(c.delete(&table, &key(&table, id * 10)).unwrap());
    }
    c.commit().unwrap();
    // Says which transactions have ended.
    engine.purge_all().unwrap();
    (World { engine, table }, view)
}

impl World {
    fn client(&self, level: Isolation) -> Client {
        let mut c = self.engine.client().unwrap();
        c.set_isolation(level);
        c.set_lock_wait_timeout(0);
        c.begin();
        c
    }

    /// The id of the first row, locked; `None` when there is none.
    fn first(&self, c: &Client) -> Result<Option<i64>> {
        let mut reader = Reader::new();
        reader.open(c, &self.table, 0, (Unbounded, Unbounded), Direction::Forward)?;
        reader.lock(RowLock::UPDATE);
        let mut out = Vec::new();
        let found = reader.next(c, &self.table, &mut out)?;
        Ok(found.then(|| common::decode(self.table.layout(), &out).id))
    }

    /// Whether a new reader, who waits for nobody, sees no row.
    fn is_empty(&self) -> bool {
        let c = self.client(RC);
        let mut reader = Reader::new();
        reader.open(&c, &self.table, 0, (Unbounded, Unbounded), Direction::Forward).unwrap();
        !reader.next(&c, &self.table, &mut Vec::new()).unwrap()
    }

    fn insert(&self, c: &mut Client, id: i64) -> Result<()> {
        c.insert(&self.table, &common::encode(&self.table, &row(id, 0, id, 100)))
    }

    fn row_locks(&self, c: &Client) -> u64 {
        self.engine.locks().owner_info(self.engine.locks().owner(c.slot_index()), &[]).row_locks
    }
}

#[track_caller]
fn waits(done: Result<()>) {
    assert!(matches!(done, Err(Error::LockWaitTimeout)), "{done:?}");
}

#[test]
fn a_few_locks_keep_everybody_out_of_a_run_of_deleted_rows() {
    let (w, view) = world();
    let (mut a, mut b) = (w.client(RR), w.client(RR));
    assert_eq!(w.first(&a).unwrap(), Some((DELETED + 1) * 10));
    assert!(w.row_locks(&a) < 30, "{} locks", w.row_locks(&a));
    // Before, among, over the deleted rows; before the row that was found.
    for id in [1, 15, 1505, 1500, DELETED * 10 + 5] {
        waits(w.insert(&mut b, id));
    }
    w.insert(&mut b, ROWS * 10 + 5).unwrap();
    w.insert(&mut b, (DELETED + 1) * 10 + 5).unwrap();
    // Two may read so at once, as far as rows go.
    assert!(matches!(w.first(&w.client(RR)), Err(Error::LockWaitTimeout)));
    b.rollback().unwrap();
    a.commit().unwrap();
    w.insert(&mut b, 1505).unwrap();
    w.insert(&mut b, 1500).unwrap();
    b.rollback().unwrap();
    drop(view);
    w.engine.check_table(&w.table).unwrap();
}

#[test]
fn what_the_reader_inserts_itself_parts_the_gap() {
    let (w, _view) = world();
    let (mut a, mut b) = (w.client(RR), w.client(RR));
    w.first(&a).unwrap();
    w.insert(&mut a, 1505).unwrap();
    w.insert(&mut a, 2000).unwrap();
    for id in [1504, 1506, 1999, 2001] {
        waits(w.insert(&mut b, id));
    }
    a.rollback().unwrap();
    for id in [1504, 1506, 1999, 2001] {
        w.insert(&mut b, id).unwrap();
    }
    b.rollback().unwrap();
}

#[test]
fn without_gap_locks_nothing_of_them_is_locked() {
    let (w, _view) = world();
    let (a, mut b) = (w.client(RC), w.client(RR));
    assert_eq!(w.first(&a).unwrap(), Some((DELETED + 1) * 10));
    assert_eq!(w.row_locks(&a), 1);
    w.insert(&mut b, 1505).unwrap();
    w.insert(&mut b, 1500).unwrap();
    b.rollback().unwrap();
}

/// Some take the first row, others put rows in among the deleted ones: whoever has found the first row finds it again
/// while nobody else may have put one before it.
#[test]
fn nobody_meets_a_phantom_among_deleted_rows() {
    let (w, view) = world();
    let w = Arc::new(w);
    let runs: Vec<_> = (0..4)
        .map(|n| {
            let w = Arc::clone(&w);
            let run = move || {
                let mut rng = Rng::new(n);
                for _ in 0..150 {
                    let mut c = w.client(RR);
                    c.set_lock_wait_timeout(5);
                    let done = match n % 2 {
                        0 => takes(&w, &mut c),
                        _ => w.insert(&mut c, 1 + rng.below(DELETED as u64 * 10) as i64),
                    };
                    match done {
                        Ok(()) => c.commit().unwrap(),
                        Err(Error::Deadlock | Error::Duplicate { .. }) => c.rollback().unwrap(),
                        Err(e) => panic!("{e}"),
                    }
                }
            };
            host::thread::spawn("test", run).unwrap()
        })
        .collect();
    runs.into_iter().for_each(|run| run.join().unwrap());
    drop(view);
    w.engine.check_table(&w.table).unwrap();
}

/// Locks the first row, twice, and deletes it. There may be none left when those who insert had no turn for long.
fn takes(w: &World, c: &mut Client) -> Result<()> {
    let found = w.first(c)?;
    std::thread::yield_now();
    assert_eq!(w.first(c)?, found, "a phantom");
    let Some(first) = found else {
        assert!(w.is_empty(), "a row was not met");
        return Ok(());
    };
    assert!(c.delete(&w.table, &key(&w.table, first))?);
    Ok(())
}
