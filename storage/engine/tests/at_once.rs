//! A transaction of one change that commits with it (`Then::Commit`): what others see, what is kept for old views,
//! what a crash leaves.

#![allow(clippy::unwrap_used)] // tests

mod common;

use base::{IndexId, Isolation, TableId};
use common::key;
use engine::{Change, Client, Engine, EngineConfig, Error, RowLock, Table, TableSpec, Then};
use host::SimDisk;
use std::sync::Arc;
use value::Datum;

/// A second table of the engine's own: (id, bytes), without secondary indexes.
fn config() -> EngineConfig {
    let first = common::system_spec();
    let second = TableSpec { id: TableId(2), clustered_id: IndexId(2), ..first.clone() };
    EngineConfig { system_tables: vec![first, second], ..common::config() }
}

struct World {
    disk: Arc<SimDisk>,
    engine: Arc<Engine>,
    table: Arc<Table>,
}

impl World {
    fn open(disk: Arc<SimDisk>) -> World {
        let (engine, ..) = common::open_with(config(), &disk).unwrap();
        let table = engine.system_table(1);
        World { disk, engine, table }
    }

    /// With rows 1, 2 and 3.
    fn new() -> World {
        let w = World::open(SimDisk::new(1));
        let mut c = w.engine.client().unwrap();
        for id in 1..=3 {
            c.insert(&w.table, &w.row(id, b"old")).unwrap();
        }
        c.commit().unwrap();
        w
    }

    /// The machine stops; what is durable is opened again.
    fn crashed(self) -> World {
        World::open(self.disk.crash())
    }

    fn row(&self, id: i64, bytes: &[u8]) -> Vec<u8> {
        let mut row = Vec::new();
        self.table.layout().encode(&[Datum::Int(id), Datum::Bytes(bytes)], &mut row).unwrap();
        row
    }

    fn update(&self, c: &mut Client, id: i64, row: &[u8]) -> Change {
        let (key, mut out) = (key(&self.table, id), Vec::new());
        let stamp = c.read_latest(&self.table, &key, None, &mut out).unwrap().unwrap();
        c.update_stamped(&self.table, &key, stamp, (row, Then::Commit)).unwrap()
    }

    fn delete(&self, c: &mut Client, id: i64) -> Change {
        let (key, mut out) = (key(&self.table, id), Vec::new());
        let stamp = c.read_latest(&self.table, &key, None, &mut out).unwrap().unwrap();
        c.delete_stamped(&self.table, &key, stamp, Then::Commit).unwrap()
    }

    fn get(&self, c: &mut Client, id: i64) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let found = c.get(&self.table, &key(&self.table, id), &mut out).unwrap();
        found.then(|| match self.table.layout().decode(&out, 1).unwrap() {
            Datum::Bytes(bytes) => bytes.to_vec(),
            other => panic!("{other:?}"),
        })
    }

    fn all(&self) -> Vec<Option<Vec<u8>>> {
        let mut c = self.engine.client().unwrap();
        (1..=3).map(|id| self.get(&mut c, id)).collect()
    }
}

fn some(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(bytes.to_vec())
}

#[test]
fn others_see_the_change_and_old_views_do_not() {
    let w = World::new();
    let mut old = common::viewer(&w.engine).unwrap();
    let mut c = w.engine.client().unwrap();
    assert!(w.update(&mut c, 1, &w.row(1, b"new")) == Change::Done);
    assert_eq!(w.all()[0], some(b"new"), "before the log is durable, as after every commit record");
    c.commit().unwrap();
    assert!(!c.in_transaction());
    assert!(w.delete(&mut c, 2) == Change::Done);
    c.commit().unwrap();
    assert_eq!(w.all(), [some(b"new"), None, some(b"old")]);
    assert_eq!((w.get(&mut old, 1), w.get(&mut old, 2)), (some(b"old"), some(b"old")));
    w.engine.purge_all().unwrap();
    assert_eq!(w.engine.history_len(), 2, "a view needs both");
    assert_eq!((w.get(&mut old, 1), w.get(&mut old, 2)), (some(b"old"), some(b"old")));
    old.rollback().unwrap();
    w.engine.purge_all().unwrap();
    assert_eq!(w.engine.history_len(), 0);
    assert_eq!(w.engine.check_table(&w.table).unwrap().rows, 2);
}

#[test]
fn what_was_locked_is_free_and_nothing_undoes_the_change() {
    let w = World::new();
    let mut c = w.engine.client().unwrap();
    c.set_isolation(Isolation::RepeatableRead);
    let mut out = Vec::new();
    assert!(c.get_locked(&w.table, &key(&w.table, 1), None, RowLock::UPDATE, &mut out).unwrap());
    let mark = c.mark();
    assert!(w.update(&mut c, 1, &w.row(1, b"new")) == Change::Done);
    let mut other = w.engine.client().unwrap();
    other.set_lock_wait_timeout(0);
    assert!(other.delete(&w.table, &key(&w.table, 1)).unwrap());
    other.rollback().unwrap();
    assert!(matches!(c.rollback_to(mark), Err(Error::Internal(_))));
    assert!(matches!(c.rollback(), Err(Error::Internal(_))));
    assert!(!c.in_transaction());
    assert_eq!(w.all()[0], some(b"new"));
}

#[test]
fn a_key_that_changes_commits_with_its_second_half() {
    let w = World::new();
    let mut c = w.engine.client().unwrap();
    assert!(w.update(&mut c, 1, &w.row(9, b"moved")) == Change::Done);
    assert_eq!((w.all()[0].clone(), w.get(&mut c, 9)), (None, some(b"moved")));
    c.commit().unwrap();
    let w = w.crashed();
    let mut c = w.engine.client().unwrap();
    assert_eq!((w.get(&mut c, 1), w.get(&mut c, 9)), (None, some(b"moved")));
}

#[test]
fn a_crash_leaves_all_of_it_or_nothing() {
    // Not durable yet: nothing.
    let w = World::new();
    let mut c = w.engine.client().unwrap();
    assert!(w.update(&mut c, 1, &w.row(1, b"new")) == Change::Done);
    let w = w.crashed();
    assert_eq!(w.all(), [some(b"old"), some(b"old"), some(b"old")]);
    // Durable by somebody else's commit, though its own was never asked for: all.
    let (mut c, mut d) = (w.engine.client().unwrap(), w.engine.client().unwrap());
    assert!(w.update(&mut c, 1, &w.row(1, b"new")) == Change::Done);
    assert!(w.delete(&mut d, 2) == Change::Done);
    let mut e = w.engine.client().unwrap();
    e.insert(&w.table, &w.row(7, b"other")).unwrap();
    e.commit().unwrap();
    let w = w.crashed();
    assert_eq!(w.all(), [some(b"new"), None, some(b"old")]);
    // What the delete left is purged after the crash, too.
    w.engine.purge_all().unwrap();
    assert_eq!((w.engine.history_len(), w.engine.check_table(&w.table).unwrap().rows), (0, 3));
}

/// A table with secondary indexes, one of them unique: the change of the last one has the commit in it.
fn indexed() -> (Arc<SimDisk>, Arc<Engine>, Client, Arc<Table>) {
    let disk = SimDisk::new(2);
    let (engine, ..) = common::open(&disk).unwrap();
    let mut c = engine.client().unwrap();
    let table = common::create_table(&engine, &mut c, false).unwrap();
    for id in 1..=3 {
        c.insert(&table, &common::encode(&table, &common::row(id, id, id, 5))).unwrap();
    }
    c.commit().unwrap();
    (disk, engine, c, table)
}

/// As a transaction of its own.
fn insert(c: &mut Client, table: &Table, id: i64) -> Result<(), Error> {
    c.insert_then(table, &common::encode(table, &common::row(id, id, id, 5)), Then::Commit)
}

#[test]
fn an_insert_with_indexes_commits_with_its_last_entry() {
    let (disk, engine, mut c, table) = indexed();
    let old = common::viewer(&engine).unwrap();
    insert(&mut c, &table, 4).unwrap();
    // Others see it before its log is durable, as after every commit record; older views do not.
    let mut other = engine.client().unwrap();
    for index in 0..=table.spec().secondaries.len() {
        assert_eq!(common::rows(&mut other, &table, index).unwrap().len(), 4, "index {index}");
        assert_eq!(common::seen(&old, &table, index).unwrap().len(), 3, "index {index}");
    }
    assert!(matches!(c.rollback(), Err(Error::Internal(_))), "nothing undoes it");
    assert!(!c.in_transaction());
    // One that is refused is no commit.
    assert!(common::is_duplicate(&insert(&mut c, &table, 4)));
    let mut twin = common::row(9, 9, 9, 5);
    twin.u = Some(4);
    let refused = c.insert_then(&table, &common::encode(&table, &twin), Then::Commit);
    assert!(common::is_duplicate(&refused) && c.in_transaction());
    c.rollback().unwrap();
    assert_eq!(common::rows(&mut other, &table, 0).unwrap().len(), 4);
    drop((old, other, c, table, engine, disk));
    // After a crash there is all of it or nothing.
    for durable in [false, true] {
        let (disk, engine, mut c, table) = indexed();
        insert(&mut c, &table, 4).unwrap();
        if durable {
            engine.log().flush_to(engine.log().tail()).unwrap();
        }
        // A client that goes has its commit made durable.
        let crashed = disk.crash();
        drop((c, table, engine));
        let (engine, tables, _) = common::open(&crashed).unwrap();
        let table = tables.values().next().unwrap();
        let mut c = engine.client().unwrap();
        assert_eq!(common::rows(&mut c, table, 1).unwrap().len(), 3 + usize::from(durable));
        engine.purge_all().unwrap();
        assert_eq!(engine.check_table(table).unwrap().rows, 3 + u64::from(durable));
        assert_eq!(engine.history_len(), 0);
    }
}

#[test]
fn updates_and_deletes_of_indexed_rows_commit_with_their_last_entry() {
    let (disk, engine, mut c, table) = indexed();
    let old = common::viewer(&engine).unwrap();
    let stamp = |c: &mut Client, id| {
        c.read_latest(&table, &key(&table, id), None, &mut Vec::new()).unwrap().unwrap()
    };
    let new = common::encode(&table, &common::row(1, 7, 70, 5));
    let read = stamp(&mut c, 1);
    let done = c.update_stamped(&table, &key(&table, 1), read, (&new, Then::Commit)).unwrap();
    assert!(done == Change::Done && c.rollback().is_err(), "committed with its last entry");
    let read = stamp(&mut c, 2);
    let done = c.delete_stamped(&table, &key(&table, 2), read, Then::Commit).unwrap();
    assert!(done == Change::Done && c.rollback().is_err(), "committed with its last mark");
    for index in 0..=table.spec().secondaries.len() {
        assert_eq!(common::seen(&old, &table, index).unwrap().len(), 3, "index {index}");
        assert_eq!(common::rows(&mut c, &table, index).unwrap().len(), 2, "index {index}");
    }
    drop(old);
    engine.purge_all().unwrap();
    assert_eq!(engine.check_table(&table).unwrap().rows, 2);
    engine.log().flush_to(engine.log().tail()).unwrap();
    drop((c, table, engine));
    let (engine, tables, _) = common::open(&disk.crash()).unwrap();
    let table = tables.values().next().unwrap();
    engine.purge_all().unwrap();
    assert_eq!((engine.check_table(table).unwrap().rows, engine.history_len()), (2, 0));
}
