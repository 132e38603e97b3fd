//! Reads of an index alone: they answer what the rows would, and nothing of rows that a view does not see.

#![allow(clippy::unwrap_used)] // tests

mod common;

use base::Isolation;
use common::{Row, create_table, encode, key, row};
use engine::{Client, Direction, Engine, EngineConfig, Error, Reader, Table};
use host::{Disk, SimDisk};
use std::ops::Bound;
use std::sync::Arc;
use stdx::rng::Rng;
use value::Datum;

const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);
const LEVELS: [Isolation; 3] =
    [Isolation::ReadUncommitted, Isolation::ReadCommitted, Isolation::RepeatableRead];

/// Column of the number that index 1 or 2 begins with.
fn column(index: usize) -> usize {
    index
}

/// Ids and the numbers of an index, sorted, and how many of them came without their rows.
fn pairs(
    client: &Client,
    table: &Table,
    index: usize,
    direction: Direction,
    numbers: usize,
) -> (Vec<(i64, Option<i64>)>, usize) {
    let mut reader = Reader::new();
    reader.open(client, table, index, ALL, direction).unwrap();
    reader.need_only(table, &[0, numbers]);
    let (mut out, mut found, mut covered) = (Vec::new(), Vec::new(), 0);
    while reader.next(client, table, &mut out).unwrap() {
        let number = |i| match table.layout().decode(&out, i).unwrap() {
            Datum::Int(n) => Some(n),
            Datum::Null => None,
            other => panic!("{other:?}"),
        };
        let id = number(0).unwrap();
        assert_eq!(reader.key(), key(table, id));
        // No row is without padding.
        covered += usize::from(table.layout().decode(&out, 3) == Ok(Datum::Bytes(b"")));
        found.push((id, number(numbers)));
    }
    found.sort_unstable();
    (found, covered)
}

/// Every index tells the same of its numbers as the rows do; how many rows needed no visit.
fn agree(client: &Client, table: &Table) -> usize {
    let mut all = 0;
    for index in 1..table.indexes() {
        let (rows, none) = pairs(client, table, 0, Direction::Forward, column(index));
        assert_eq!(none, 0, "rows have their padding");
        for direction in [Direction::Forward, Direction::Backward] {
            let (entries, covered) = pairs(client, table, index, direction, column(index));
            assert_eq!(entries, rows, "index {index} {direction:?}");
            all += covered;
        }
    }
    all
}

fn open() -> (Arc<Engine>, Client, Arc<Table>) {
    let config = EngineConfig { trx_states: 64, ..common::config() };
    let disk = SimDisk::new(7) as Arc<dyn Disk>;
    let (engine, _) = Engine::open(config, disk).unwrap();
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    client.commit().unwrap();
    (engine, client, table)
}

fn reader(engine: &Arc<Engine>, isolation: Isolation) -> Client {
    let mut client = engine.client().unwrap();
    client.set_isolation(isolation);
    client.set_spans_statements(true);
    client
}

#[test]
fn a_quiet_table_is_read_by_its_index_alone() {
    let (engine, mut writer, table) = open();
    for id in 0..500 {
        writer.insert(&table, &encode(&table, &row(id, id % 7, -id, 40))).unwrap();
    }
    writer.commit().unwrap();
    let before = reader(&engine, Isolation::RepeatableRead);
    assert!(writer.delete(&table, &key(&table, 3)).unwrap());
    assert_eq!(agree(&before, &table), 0, "somebody is writing");
    writer.commit().unwrap();
    let mut after = reader(&engine, Isolation::RepeatableRead);
    engine.refresh_views();
    assert_eq!(agree(&after, &table), 4 * 499);
    // Its view is older than the next change.
    let changed = encode(&table, &row(4, 99, -4, 40));
    assert!(writer.update(&table, &key(&table, 4), &changed).unwrap());
    writer.commit().unwrap();
    engine.refresh_views();
    let covered = agree(&after, &table);
    assert!((2 * 499..4 * 499).contains(&covered), "{covered}: the other index has not changed");
    after.commit().unwrap();
    assert_eq!(agree(&after, &table), 4 * 499);
    // Only what the index has.
    let mut one = Reader::new();
    one.open(&after, &table, 1, ALL, Direction::Forward).unwrap();
    one.need_only(&table, &[0, 2]);
    let mut out = Vec::new();
    assert!(one.next(&after, &table, &mut out).unwrap());
    assert_eq!(common::decode(table.layout(), &out).pad.len(), 40);
}

/// Writers in turns, views of every level and age.
struct Run {
    engine: Arc<Engine>,
    table: Arc<Table>,
    rng: Rng,
    writers: Vec<Client>,
    views: Vec<Client>,
    covered: usize,
    visited: usize,
}

impl Run {
    fn new(seed: u64) -> Run {
        let (engine, _, table) = open();
        let mut writers: Vec<Client> =
            (0..2).map(|_| reader(&engine, Isolation::RepeatableRead)).collect();
        writers.iter_mut().for_each(|w| w.set_lock_wait_timeout(0));
        let rng = Rng::new(seed);
        Run { engine, table, rng, writers, views: Vec::new(), covered: 0, visited: 0 }
    }

    fn new_row(&mut self, id: i64) -> Row {
        let mut number = |most| (!self.rng.chance(1, 6)).then(|| self.rng.below(most) as i64);
        let (a, u) = (number(5), number(1 << 40));
        let most = if self.rng.chance(1, 9) { 9000 } else { 90 };
        Row { id, a, u, pad: vec![b'x'; 1 + self.rng.below(most) as usize] }
    }

    /// One change by one of the writers, of a row that is its own by the id.
    fn write(&mut self, who: usize) {
        let id = (self.rng.below(40) * 2) as i64 + who as i64;
        let row = self.new_row(id);
        let what = self.rng.below(6);
        let unchanged = self.rng.chance(1, 3);
        let client = &mut self.writers[who];
        let mark = client.mark();
        let bytes = encode(&self.table, &row);
        let done = match what {
            0 | 1 => client.insert(&self.table, &bytes),
            2 => client.delete(&self.table, &key(&self.table, id)).map(|_| ()),
            3 if !unchanged => client
                .delete(&self.table, &key(&self.table, id))
                .and_then(|_| client.insert(&self.table, &bytes)),
            _ => client.update(&self.table, &key(&self.table, id), &bytes).map(|_| ()),
        };
        match done {
            Ok(()) => {}
            // One thread cannot wait for the other writer's gaps.
            Err(Error::Duplicate { .. } | Error::LockWaitTimeout | Error::Deadlock) => {
                client.rollback_to(mark).unwrap();
            }
            Err(e) => panic!("{e}"),
        }
        if self.rng.chance(1, 9) {
            client.rollback_to(mark).unwrap();
        }
    }

    fn look(&mut self, n: usize) {
        let client = &mut self.views[n];
        let covered = agree(client, &self.table);
        self.covered += usize::from(covered > 0);
        self.visited += usize::from(covered == 0);
        if self.rng.chance(1, 2) {
            client.end_statement();
        }
    }

    fn step(&mut self) {
        let who = self.rng.below(2) as usize;
        match self.rng.below(16) {
            0 | 1 => self.writers[who].commit().unwrap(),
            2 => self.writers[who].rollback().unwrap(),
            3 if self.views.len() < 4 => {
                let level = LEVELS[self.rng.below(3) as usize];
                self.views.push(reader(&self.engine, level));
            }
            4 if !self.views.is_empty() => {
                let n = self.rng.below(self.views.len() as u64) as usize;
                self.views.swap_remove(n);
            }
            5 => self.engine.refresh_views(),
            9 => {
                // A moment at which nobody writes, and a view of it that may stay.
                self.writers.iter_mut().for_each(|w| w.commit().unwrap());
                self.engine.refresh_views();
                self.views.truncate(3);
                self.views.push(reader(&self.engine, Isolation::RepeatableRead));
                self.look(self.views.len() - 1);
            }
            6 | 7 if !self.views.is_empty() => {
                let n = self.rng.below(self.views.len() as u64) as usize;
                self.look(n);
            }
            8 => {
                agree(&self.writers[who], &self.table);
                self.writers[who].end_statement();
            }
            _ => self.write(who),
        }
    }
}

#[test]
fn an_index_alone_tells_what_the_rows_do() {
    let (mut covered, mut visited) = (0, 0);
    for seed in 0..60 {
        let mut run = Run::new(seed);
        for _ in 0..400 {
            run.step();
        }
        run.writers.iter_mut().for_each(|c| c.commit().unwrap());
        run.views.clear();
        run.engine.refresh_views();
        let last = reader(&run.engine, Isolation::RepeatableRead);
        assert!(agree(&last, &run.table) > 0);
        drop(last);
        covered += run.covered;
        visited += run.visited;
    }
    println!("{covered} looks met entries that needed no row, {visited} did not");
    assert!(covered > 200 && visited > 200, "{covered} {visited}");
}
