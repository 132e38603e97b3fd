//! What readers of each isolation level see while others write.

#![allow(clippy::unwrap_used)] // tests

mod common;

use base::Isolation;
use common::{Row, create_table, decode, encode, key, row};
use engine::{Client, Direction, Engine, EngineConfig, Error, Reader, Table};
use host::{Disk, SimDisk};
use std::ops::Bound;
use std::sync::Arc;

const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);
const ROWS: i64 = 60;

struct World {
    engine: Arc<Engine>,
    writer: Client,
    table: Arc<Table>,
}

fn world() -> World {
    // A small ring: ids are used again and again under an old view.
    let cfg = EngineConfig { trx_states: 64, ..common::config() };
    let disk = SimDisk::new(7) as Arc<dyn Disk>;
    let (engine, _) = Engine::open(cfg, disk).unwrap();
    let mut writer = engine.client().unwrap();
    let table = create_table(&engine, &mut writer, false).unwrap();
    for id in 0..ROWS {
        writer.insert(&table, &encode(&table, &row(id, id % 7, id, 50))).unwrap();
    }
    writer.commit().unwrap();
    World { engine, writer, table }
}

impl World {
    fn reader(&self, isolation: Isolation) -> Client {
        let mut client = self.engine.client().unwrap();
        client.set_isolation(isolation);
        client.set_spans_statements(true);
        client
    }

    fn put(&mut self, id: i64, a: i64, u: i64) {
        let new = encode(&self.table, &row(id, a, u, 80));
        assert!(self.writer.update(&self.table, &key(&self.table, id), &new).unwrap());
    }
}

/// All rows by index `index`, sorted by id.
fn rows(client: &Client, table: &Table, index: usize) -> Vec<Row> {
    let mut reader = Reader::new();
    reader.open(client, table, index, ALL, Direction::Forward).unwrap();
    let (mut out, mut found) = (Vec::new(), Vec::new());
    while reader.next(client, table, &mut out).unwrap() {
        found.push(decode(table.layout(), &out));
    }
    found.sort();
    found
}

fn get(client: &mut Client, table: &Table, id: i64) -> Option<Row> {
    let mut out = Vec::new();
    let found = client.get(table, &key(table, id), &mut out).unwrap();
    found.then(|| decode(table.layout(), &out))
}

/// Every index and point reads tell the same.
fn everything(client: &mut Client, table: &Table) -> Vec<Row> {
    let all = rows(client, table, 0);
    for index in 1..table.indexes() {
        assert_eq!(rows(client, table, index), all, "index {index}");
    }
    for id in 0..ROWS * 2 {
        let one = all.iter().find(|r| r.id == id);
        assert_eq!(get(client, table, id).as_ref(), one, "row {id}");
    }
    all
}

#[test]
fn a_repeatable_view_stays_while_others_change_delete_and_insert() {
    let mut w = world();
    let mut old = w.reader(Isolation::RepeatableRead);
    let first = everything(&mut old, &w.table);
    assert_eq!(first.len(), ROWS as usize);
    let mut views = Vec::new();
    for round in 0..6 {
        for id in 0..ROWS {
            match (id + round) % 5 {
                0 => {
                    w.writer.delete(&w.table, &key(&w.table, id)).unwrap();
                }
                1 if get(&mut w.writer, &w.table, id).is_none() => {
                    let new = encode(&w.table, &row(id, id, 1000 * (round + 1) + id, 20));
                    w.writer.insert(&w.table, &new).unwrap();
                }
                _ if get(&mut w.writer, &w.table, id).is_some() => {
                    w.put(id, round, 1000 * (round + 1) + id);
                }
                _ => {}
            }
            match id % 4 {
                3 => w.writer.rollback().unwrap(),
                _ => w.writer.commit().unwrap(),
            }
            w.engine.step_cleaner().unwrap();
        }
        let mut view = w.reader(Isolation::RepeatableRead);
        let seen = everything(&mut view, &w.table);
        views.push((view, seen));
        assert_eq!(everything(&mut old, &w.table), first, "round {round}");
    }
    for (view, seen) in &mut views {
        assert_eq!(everything(view, &w.table), *seen);
        view.rollback().unwrap();
    }
    assert_eq!(everything(&mut old, &w.table), first);
    old.commit().unwrap();
    assert_ne!(everything(&mut old, &w.table), first, "a new transaction, a new view");
}

#[test]
fn each_level_sees_what_it_should() {
    let mut w = world();
    let mut dirty = w.reader(Isolation::ReadUncommitted);
    let mut committed = w.reader(Isolation::ReadCommitted);
    let mut repeatable = w.reader(Isolation::RepeatableRead);
    let of = |c: &mut Client, table: &Table| {
        let scanned = rows(c, table, 0).iter().find(|r| r.id == 5).and_then(|r| r.a);
        let point = get(c, table, 5).and_then(|r| r.a);
        assert_eq!(scanned, point);
        c.end_statement();
        point
    };
    assert_eq!(of(&mut repeatable, &w.table), Some(5));
    w.put(5, 50, 500);
    assert_eq!(of(&mut dirty, &w.table), Some(50));
    assert_eq!(of(&mut committed, &w.table), Some(5));
    assert_eq!(of(&mut repeatable, &w.table), Some(5));
    w.writer.commit().unwrap();
    assert_eq!(of(&mut committed, &w.table), Some(50));
    assert_eq!(of(&mut repeatable, &w.table), Some(5));
    repeatable.commit().unwrap();
    assert_eq!(of(&mut repeatable, &w.table), Some(50));
}

/// The writer has its id before the view is opened, and commits behind it.
#[test]
fn what_commits_after_a_view_was_opened_is_not_seen() {
    let mut w = world();
    w.put(5, 50, 500);
    let mut old = w.reader(Isolation::RepeatableRead);
    let before = everything(&mut old, &w.table);
    assert_eq!(before[5].a, Some(5));
    w.writer.commit().unwrap();
    assert_eq!(everything(&mut old, &w.table), before);
    old.commit().unwrap();
    assert_eq!(get(&mut old, &w.table, 5).unwrap().a, Some(50));
}

#[test]
fn own_changes_are_seen_over_the_view() {
    let mut w = world();
    let mut me = w.reader(Isolation::RepeatableRead);
    assert_eq!(rows(&me, &w.table, 0).len(), ROWS as usize);
    w.put(1, 11, 111);
    w.writer.commit().unwrap();
    let mine = encode(&w.table, &row(2, 22, 222, 5));
    assert!(me.update(&w.table, &key(&w.table, 2), &mine).unwrap());
    assert_eq!(get(&mut me, &w.table, 1).unwrap().a, Some(1));
    assert_eq!(get(&mut me, &w.table, 2).unwrap().a, Some(22));
    // What another has changed since is changed on top of, and then it is one's own.
    let on_top = encode(&w.table, &row(1, 12, 112, 5));
    assert!(me.update(&w.table, &key(&w.table, 1), &on_top).unwrap());
    assert_eq!(get(&mut me, &w.table, 1).unwrap().a, Some(12));
    assert_eq!(everything(&mut me, &w.table).len(), ROWS as usize);
    me.rollback().unwrap();
    assert_eq!(get(&mut me, &w.table, 1).unwrap().a, Some(11));
}

#[test]
fn history_goes_when_the_last_view_has_gone() {
    let mut w = world();
    let mut view = w.reader(Isolation::RepeatableRead);
    view.open_view();
    for id in 0..ROWS {
        w.put(id, -1, 5000 + id);
        w.writer.commit().unwrap();
    }
    w.engine.step_cleaner().unwrap();
    assert_eq!(rows(&view, &w.table, 2).iter().map(|r| r.u).max(), Some(Some(ROWS - 1)));
    view.rollback().unwrap();
    w.engine.step_cleaner().unwrap();
    w.engine.step_cleaner().unwrap();
    let check = w.engine.check_table(&w.table).unwrap();
    assert_eq!(check.entries, 2 * ROWS as u64, "entries of old versions are gone");
}

/// Stamps every undo page as begun after all transactions: as a lost write of the page would.
fn lose_undo(engine: &Engine) {
    let undo = engine.pool().tablespace(base::UNDO_SPACE).unwrap();
    let worker = engine.slots().acquire_worker().unwrap();
    for no in (1..undo.pages_in_file()).map(base::PageNo) {
        let is_undo = match undo.shared(no) {
            Ok(page) => page::header::kind(&page) == Some(page::PageKind::Undo),
            Err(_) => false,
        };
        if !is_undo {
            continue;
        }
        let mut mtr = pool::Mtr::new(engine.pool(), &worker);
        let held = mtr.exclusive(&undo, no).unwrap();
        let stamp = [[0; 6], [0xff; 6]].concat();
        mtr.apply(held, &page::PageOp::Write { at: 111, bytes: &stamp }).unwrap();
        mtr.commit().unwrap();
    }
}

#[test]
fn a_view_whose_undo_is_lost_is_an_error_with_its_place() {
    let mut w = world();
    let mut old = w.reader(Isolation::RepeatableRead);
    assert_eq!(get(&mut old, &w.table, 5).unwrap().a, Some(5));
    w.put(5, 50, 500);
    w.writer.commit().unwrap();
    w.put(6, 60, 600);
    assert_eq!(get(&mut old, &w.table, 5).unwrap().a, Some(5));
    lose_undo(&w.engine);
    let mut out = Vec::new();
    for id in [5, 6] {
        let error = old.get(&w.table, &key(&w.table, id), &mut out).unwrap_err();
        let place = matches!(error, Error::Corrupt { page, offset, .. }
            if page.space == base::UNDO_SPACE && page.page.0 > 0 && offset > 0);
        assert!(place, "row {id}: {error}");
        for index in 0..w.table.indexes() {
            let error = common::seen(&old, &w.table, index).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "index {index}: {error}");
        }
    }
    assert_eq!(get(&mut old, &w.table, 7).unwrap().a, Some(0), "others are read");
}

#[test]
fn a_kill_ends_a_long_way_back() {
    let mut w = world();
    let mut old = w.reader(Isolation::RepeatableRead);
    assert_eq!(get(&mut old, &w.table, 5).unwrap().a, Some(5));
    for version in 0..200 {
        w.put(5, version, 500 + version);
        w.writer.commit().unwrap();
    }
    assert_eq!(get(&mut old, &w.table, 5).unwrap().a, Some(5));
    old.slot().kill(sync::KILL_QUERY);
    {
        let _session = sync::enter(old.slot());
        let found = common::seen(&old, &w.table, 0);
        assert!(matches!(found, Err(Error::Killed)), "{found:?}");
    }
    old.slot().clear_query_kill();
    assert_eq!(get(&mut old, &w.table, 5).unwrap().a, Some(5));
}
