//! Prepared transactions: what they lock, how they end, and that every crash leaves them as they were.
//!
//! A failing seed of the campaign is printed and replayed by `LIMPID_SEED=n cargo test -p engine --test branches`;
//! `LIMPID_SEEDS=n` runs n seeds.

#![allow(clippy::unwrap_used)] // tests

mod common;

use base::Isolation;
use common::{Row, Tables, create_table, key, row};
use engine::{Branch, Client, Engine, Error, LockMode, LockWait, Result, RowLock, Table, Xid};
use host::SimDisk;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use stdx::rng::Rng;
use sync::sched::{self, Options};

const NOWAIT: RowLock = RowLock { mode: LockMode::Exclusive, wait: LockWait::NoWait };

fn xid(n: u64) -> Xid {
    Xid::new(n, &n.to_be_bytes(), b"").unwrap()
}

fn put(client: &mut Client, table: &Table, row: &Row) -> Result<()> {
    client.insert(table, &common::encode(table, row))
}

fn change(client: &mut Client, table: &Table, row: &Row) -> Result<bool> {
    client.update(table, &key(table, row.id), &common::encode(table, row))
}

fn lock(client: &mut Client, table: &Table, id: i64) -> Result<bool> {
    client.get_locked(table, &key(table, id), None, NOWAIT, &mut Vec::new())
}

fn is_locked(client: &mut Client, table: &Table, id: i64) -> bool {
    match lock(client, table, id) {
        Ok(_) => false,
        Err(Error::LockNotAvailable) => true,
        Err(e) => panic!("{e}"),
    }
}

/// Rows 10, 20, 30, 40, committed.
fn world(disk: &Arc<SimDisk>) -> (Arc<Engine>, Arc<Table>, Client) {
    let (engine, ..) = common::open(disk).unwrap();
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    client.commit().unwrap();
    for id in [10, 20, 30, 40] {
        put(&mut client, &table, &row(id, id, id, 3)).unwrap();
    }
    client.commit().unwrap();
    client.set_isolation(Isolation::RepeatableRead);
    client.set_spans_statements(true);
    (engine, table, client)
}

/// Changes 20, inserts 25, deletes 30, locks 40.
fn work(client: &mut Client, table: &Table) {
    client.begin();
    assert!(change(client, table, &row(20, 21, 21, 5)).unwrap());
    put(client, table, &row(25, 25, 25, 3)).unwrap();
    assert!(client.delete(table, &key(table, 30)).unwrap());
    assert!(lock(client, table, 40).unwrap());
}

fn ids(client: &mut Client, table: &Table) -> Vec<(i64, Option<i64>)> {
    let mut by_index = (0..3).map(|index| {
        let mut rows = common::rows(client, table, index).unwrap();
        rows.sort();
        rows
    });
    let rows = by_index.next().unwrap();
    assert!(by_index.all(|other| other == rows), "indexes differ");
    rows.iter().map(|row| (row.id, row.a)).collect()
}

const BEFORE: [(i64, Option<i64>); 4] =
    [(10, Some(10)), (20, Some(20)), (30, Some(30)), (40, Some(40))];
const AFTER: [(i64, Option<i64>); 4] =
    [(10, Some(10)), (20, Some(21)), (25, Some(25)), (40, Some(40))];

#[test]
fn a_prepared_branch_keeps_its_locks_and_its_client_goes_on() {
    for commit in [true, false] {
        let (engine, table, mut client) = world(&SimDisk::new(1));
        let mut other = engine.client().unwrap();
        work(&mut client, &table);
        let trx = client.trx_id().unwrap();
        let mut branch = client.prepare(xid(1)).unwrap();
        assert_eq!((branch.trx_id(), branch.tables()), (Some(trx), &[table.id()][..]));
        assert!(!client.in_transaction() && client.trx_id().is_none());
        assert_eq!(ids(&mut other, &table), BEFORE);
        for id in [20, 25, 30, 40] {
            assert!(is_locked(&mut other, &table, id), "{id}");
            assert!(is_locked(&mut client, &table, id), "{id}, for who prepared it");
            client.rollback().unwrap();
        }
        assert!(!is_locked(&mut other, &table, 10));
        other.rollback().unwrap();
        engine.locks().verify();
        // Its client has other transactions, and ends.
        put(&mut client, &table, &row(50, 50, 50, 3)).unwrap();
        client.rollback().unwrap();
        drop(client);
        match commit {
            true => other.commit_branch(&mut branch).unwrap(),
            false => other.rollback_branch(&mut branch).unwrap(),
        }
        assert_eq!(branch.trx_id(), None);
        assert_eq!(ids(&mut other, &table), if commit { AFTER } else { BEFORE });
        for id in [20, 25, 30, 40] {
            assert!(!is_locked(&mut other, &table, id), "{id}");
        }
        other.rollback().unwrap();
        assert!(engine.locks().snapshot().locks.is_empty());
        engine.check_table(&table).unwrap();
    }
}

#[test]
fn a_branch_that_has_written_nothing_locks_no_row() {
    let disk = SimDisk::new(1);
    let (engine, table, mut client) = world(&disk);
    client.begin();
    assert!(lock(&mut client, &table, 40).unwrap());
    let mut branch = client.prepare(xid(1)).unwrap();
    let mut other = engine.client().unwrap();
    assert!(!is_locked(&mut other, &table, 40));
    assert_eq!((branch.trx_id(), branch.tables()), (None, &[][..]));
    other.rollback_branch(&mut branch).unwrap();
    let (engine, ..) = common::open(&disk.crash()).unwrap();
    assert!(engine.take_branches().is_empty());
}

std::thread_local! {
    /// Who looks for a table in this thread meets a bug, once.
    static HAS_BUG: Cell<bool> = const { Cell::new(false) };
}

#[test]
fn a_branch_whose_rollback_panics_is_a_loser() {
    let disk = SimDisk::new(1);
    let (_engine, _, mut client) = {
        let (engine, table, mut client) = world(&disk);
        work(&mut client, &table);
        drop(client.prepare(xid(7)).unwrap());
        (engine, table, client)
    };
    let _ = client.rollback();
    let (engine, tables) = common::open_at_once(common::config(), &disk.crash()).unwrap();
    let live = tables.values().map(|table| table.storage().space).collect();
    let (spec, storage) = {
        let table = tables.values().next().unwrap();
        (table.spec().clone(), table.storage())
    };
    // Nobody has it open: who undoes something asks for it, and meets a bug once.
    drop(tables);
    let weak = Arc::downgrade(&engine);
    let open = move || weak.upgrade().ok_or(Error::Shutdown)?.open_table(&spec, storage.clone());
    let open_again = open.clone();
    let find = move |_| {
        assert!(!HAS_BUG.take(), "a bug");
        open().map(Some)
    };
    engine.start_recovery(Arc::new(find), live).unwrap();
    let mut branches = engine.take_branches();
    let mut client = engine.client().unwrap();
    HAS_BUG.set(true);
    let ended = catch_unwind(AssertUnwindSafe(|| client.rollback_branch(&mut branches[0])));
    assert!(ended.is_err() && !HAS_BUG.get());
    assert_eq!(branches[0].trx_id(), None);
    while !engine.is_settled() {
        engine.step_janitor(u64::MAX);
    }
    let table = open_again().unwrap();
    assert_eq!(ids(&mut client, &table), BEFORE);
    assert!(![20, 25, 30, 40].iter().any(|id| is_locked(&mut client, &table, *id)));
    engine.locks().verify();
}

#[test]
fn a_recovered_branch_locks_what_it_has_written() {
    for commit in [true, false] {
        let disk = SimDisk::new(1);
        let (_engine, _, mut client) = {
            let (engine, table, mut client) = world(&disk);
            work(&mut client, &table);
            let branch = client.prepare(xid(7)).unwrap();
            drop(branch);
            (engine, table, client)
        };
        let _ = client.rollback();
        let (engine, tables, report) = common::open(&disk.crash()).unwrap();
        assert_eq!(report.losers, 0);
        let table = Arc::clone(tables.values().next().unwrap());
        let mut branches = engine.take_branches();
        assert_eq!(branches.len(), 1);
        let branch = &mut branches[0];
        assert_eq!((branch.xid(), branch.tables()), (&xid(7), &[table.id()][..]));
        let mut client = engine.client().unwrap();
        assert_eq!(ids(&mut client, &table), BEFORE);
        for id in [20, 25, 30] {
            assert!(is_locked(&mut client, &table, id), "{id}");
        }
        client.rollback().unwrap();
        let seen_before = common::viewer(&engine).unwrap();
        match commit {
            true => client.commit_branch(branch).unwrap(),
            false => client.rollback_branch(branch).unwrap(),
        }
        assert_eq!(ids(&mut client, &table), if commit { AFTER } else { BEFORE });
        // Who had a view from before sees what was before, and it is purged when nobody does.
        let before: Vec<i64> =
            common::seen(&seen_before, &table, 0).unwrap().iter().map(|row| row.id).collect();
        assert_eq!(before, [10, 20, 30, 40]);
        engine.step_cleaner().unwrap();
        let again: Vec<i64> =
            common::seen(&seen_before, &table, 1).unwrap().iter().map(|row| row.id).collect();
        assert_eq!(again, before);
        drop(seen_before);
        engine.step_cleaner().unwrap();
        engine.check_table(&table).unwrap();
        assert_eq!(engine.history_len(), 0);
    }
}

#[test]
fn a_branch_that_is_being_rolled_back_is_a_loser() {
    for writes in 0..40 {
        let disk = SimDisk::new(1);
        let (engine, table, mut client) = world(&disk);
        work(&mut client, &table);
        let mut branch = client.prepare(xid(1)).unwrap();
        disk.power_off_after(writes);
        let told = client.rollback_branch(&mut branch);
        drop((branch, client, table, engine));
        let (engine, tables, _) = common::open(&disk.crash()).unwrap();
        let table = Arc::clone(tables.values().next().unwrap());
        let mut client = engine.client().unwrap();
        let left = engine.take_branches();
        assert!(told.is_err() || left.is_empty(), "a branch is there after its rollback");
        assert_eq!(ids(&mut client, &table), BEFORE);
        assert_eq!(is_locked(&mut client, &table, 20), !left.is_empty());
    }
}

#[test]
fn a_branch_of_many_tables_names_them_all_after_a_crash() {
    let disk = SimDisk::new(1);
    let (engine, ..) = common::open(&disk).unwrap();
    let mut client = engine.client().unwrap();
    let tables: Vec<_> =
        (0..7).map(|_| create_table(&engine, &mut client, false).unwrap()).collect();
    client.commit().unwrap();
    for table in &tables {
        put(&mut client, table, &row(1, 1, 1, 3000)).unwrap();
    }
    let expected: Vec<_> = tables.iter().map(|table| table.id()).collect();
    let _branch = client.prepare(xid(9)).unwrap();
    let disk = disk.kill();
    let (engine, ..) = common::open(&disk).unwrap();
    let mut branches = engine.take_branches();
    let mut tables = branches[0].tables().to_vec();
    tables.sort();
    assert_eq!(tables, expected);
    engine.client().unwrap().commit_branch(&mut branches[0]).unwrap();
    let (engine, tables, _) = common::open(&disk.crash()).unwrap();
    assert!(engine.take_branches().is_empty());
    let mut client = engine.client().unwrap();
    for table in tables.values() {
        assert_eq!(common::rows(&mut client, table, 0).unwrap().len(), 1);
    }
}

#[test]
fn recovery_goes_on_beside_a_branch() {
    for (commit, cut) in [(true, None), (false, None), (true, Some(30)), (false, Some(90))] {
        let disk = SimDisk::new(3);
        let (engine, table, mut client) = world(&disk);
        let mut loser = engine.client().unwrap();
        for id in 1000..1400 {
            put(&mut loser, &table, &row(id, id, id, 100)).unwrap();
        }
        work(&mut client, &table);
        let branch = client.prepare(xid(1)).unwrap();
        let mut disk = disk.crash();
        drop((branch, client, loser, table, engine));
        if let Some(writes) = cut {
            // A recovery that is cut off, with the branch in its hands.
            disk.power_off_after(writes);
            if let Ok((engine, tables)) = common::open_at_once(common::config(), &disk) {
                let _branches = engine.take_branches();
                let _ = common::start_recovery(&engine, &tables);
                let _ = engine.wait_recovered();
            }
            disk = disk.crash();
        }
        let (engine, tables) = common::open_at_once(common::config(), &disk).unwrap();
        let table = Arc::clone(tables.values().next().unwrap());
        let mut branches = engine.take_branches();
        assert_eq!(branches.len(), 1);
        let mut client = engine.client().unwrap();
        let locked: Vec<i64> = [10, 20, 25, 30, 40]
            .into_iter()
            .filter(|id| is_locked(&mut client, &table, *id))
            .collect();
        assert_eq!(locked, [20, 25, 30]);
        client.rollback().unwrap();
        assert!(change(&mut client, &table, &row(40, 41, 40, 3)).unwrap());
        client.commit().unwrap();
        common::start_recovery(&engine, &tables).unwrap();
        match commit {
            true => client.commit_branch(&mut branches[0]).unwrap(),
            false => client.rollback_branch(&mut branches[0]).unwrap(),
        }
        engine.wait_recovered().unwrap();
        let mut expected = if commit { AFTER } else { BEFORE };
        expected[3].1 = Some(41);
        assert_eq!(ids(&mut client, &table), expected);
        engine.check_table(&table).unwrap();
    }
}

#[test]
fn a_full_disk_leaves_a_branch_prepared_or_its_client_in_its_transaction() {
    let (mut refused, mut prepared) = (0, 0);
    for room in (0..24).map(|n| n * 32_768) {
        let disk = SimDisk::new(5);
        let (engine, table, mut client) = world(&disk);
        disk.enospc_after(room);
        let mut written = 0;
        while written < 400 {
            let id = 1000 + written;
            match put(&mut client, &table, &row(id, id, id, 2000)) {
                Ok(()) => written += 1,
                Err(Error::NoSpace { .. }) => break,
                Err(e) => panic!("{e}"),
            }
        }
        refused += i64::from(written < 400);
        // The disk is full still.
        let branch = client.prepare(xid(1));
        disk.heal();
        let is_there = branch.as_ref().is_ok_and(|branch| branch.trx_id().is_some());
        prepared += i64::from(is_there);
        if let Err(e) = &branch {
            assert!(matches!(e, Error::NoSpace { .. }), "{e}");
            client.rollback().unwrap();
            assert_eq!(ids(&mut client, &table), BEFORE);
        }
        drop((branch, client, table, engine));
        let (engine, tables, _) = common::open(&disk.crash()).unwrap();
        let table = Arc::clone(tables.values().next().unwrap());
        let mut branches = engine.take_branches();
        assert_eq!(branches.len(), usize::from(is_there));
        let mut client = engine.client().unwrap();
        branches.iter_mut().for_each(|branch| client.commit_branch(branch).unwrap());
        let rows = common::rows(&mut client, &table, 0).unwrap().len() as i64;
        assert_eq!(rows, 4 + if is_there { written } else { 0 });
        engine.check_table(&table).unwrap();
    }
    assert!(refused > 0 && prepared > 0, "{refused} {prepared}");
}

#[test]
fn a_disk_that_is_full_over_a_crash_leaves_a_branch_to_be_ended() {
    let (mut refused, mut ended_at_once) = (0, 0);
    for (commit, room) in [true, false].iter().flat_map(|c| (0..6).map(move |n| (*c, n * 16_384))) {
        let disk = SimDisk::new(6);
        let (engine, table, mut client) = world(&disk);
        work(&mut client, &table);
        for id in 1000..1100 {
            put(&mut client, &table, &row(id, id, id, 2000)).unwrap();
        }
        drop(client.prepare(xid(1)).unwrap());
        let mut disk = disk.crash();
        drop((client, table, engine));
        // It stays full: what cannot be begun leaves all as it was.
        disk.enospc_after(room);
        let opened = match common::open(&disk) {
            Ok(opened) => opened,
            Err(e) => {
                assert!(matches!(e, Error::NoSpace { .. }), "{e}");
                refused += 1;
                disk = disk.crash();
                common::open(&disk).unwrap()
            }
        };
        let (engine, tables, _) = opened;
        let table = Arc::clone(tables.values().next().unwrap());
        let mut branches = engine.take_branches();
        assert_eq!(branches.len(), 1);
        let branch = &mut branches[0];
        let mut client = engine.client().unwrap();
        let mut end = |branch: &mut Branch| match commit {
            true => client.commit_branch(branch),
            false => client.rollback_branch(branch),
        };
        match end(branch) {
            Ok(()) => ended_at_once += 1,
            Err(e) => {
                assert!(matches!(e, Error::NoSpace { .. }), "{e}");
                assert!(branch.trx_id().is_some(), "its end was refused, and it is gone");
                refused += 1;
                disk.make_room();
                end(branch).unwrap();
            }
        }
        assert_eq!(branch.trx_id(), None);
        disk.heal();
        while !engine.is_settled() {
            engine.step_janitor(u64::MAX);
        }
        for disk in [None, Some(disk.crash())] {
            let again = disk.as_ref().map(|disk| common::open(disk).unwrap());
            let (engine, table) = match &again {
                Some((engine, tables, _)) => (engine, tables.values().next().unwrap()),
                None => (&engine, &table),
            };
            assert!(engine.take_branches().is_empty());
            let mut client = engine.client().unwrap();
            let rows = ids(&mut client, table);
            assert_eq!(rows.len(), if commit { 104 } else { 4 });
            assert_eq!(rows[..4], if commit { AFTER } else { BEFORE });
            engine.check_table(table).unwrap();
        }
    }
    assert!(ended_at_once > 0, "{refused} {ended_at_once}");
}

/// Others want to lock and to overwrite what a transaction has written, while it is prepared and ended.
fn lockers_beside_a_branch(commit: bool) {
    let (engine, table, mut client) = world(&SimDisk::new(9));
    work(&mut client, &table);
    let lockers: Vec<_> = [20, 25, 30]
        .into_iter()
        .map(|id| {
            let (engine, table) = (Arc::clone(&engine), Arc::clone(&table));
            host::thread::spawn("locker", move || {
                let mut other = engine.client().unwrap();
                other.set_isolation(Isolation::RepeatableRead);
                let wait = RowLock { mode: LockMode::Exclusive, wait: LockWait::Wait };
                let found = match id {
                    // Over a duplicate, or into the gap.
                    25 => match put(&mut other, &table, &row(25, 0, 25, 3)) {
                        Ok(()) => false,
                        Err(Error::Duplicate { .. }) => true,
                        Err(e) => panic!("{e}"),
                    },
                    id => {
                        let key = key(&table, id);
                        other.get_locked(&table, &key, None, wait, &mut Vec::new()).unwrap()
                    }
                };
                // Whoever gets it finds the branch ended.
                assert_eq!(found, if commit { id != 30 } else { id != 25 }, "{id}");
                other.rollback().unwrap();
            })
            .unwrap()
        })
        .collect();
    let mut branch = client.prepare(xid(1)).unwrap();
    match commit {
        true => client.commit_branch(&mut branch).unwrap(),
        false => client.rollback_branch(&mut branch).unwrap(),
    }
    lockers.into_iter().for_each(|locker| locker.join().unwrap());
    assert!(engine.locks().snapshot().locks.is_empty());
    engine.locks().verify();
}

#[test]
fn who_meets_a_row_while_its_writer_is_prepared_waits_for_its_end() {
    for seed in 1..=LOCKER_SEEDS {
        for commit in [true, false] {
            let outcome = sched::run(seed, Options::default(), move || {
                lockers_beside_a_branch(commit);
            });
            outcome.result.unwrap_or_else(|e| panic!("seed {seed}, commit {commit}: {e}"));
        }
    }
}

#[test]
fn a_branch_larger_than_the_pool_is_found_and_ended() {
    for commit in [true, false] {
        let disk = SimDisk::new(7);
        let (engine, table, mut client) = world(&disk);
        for id in 1000..2200 {
            put(&mut client, &table, &row(id, id, id, 2000)).unwrap();
        }
        let branch = client.prepare(xid(1)).unwrap();
        let disk = disk.crash();
        drop((branch, client, table, engine));
        let (engine, tables, _) = common::open(&disk).unwrap();
        let table = Arc::clone(tables.values().next().unwrap());
        let mut branches = engine.take_branches();
        let mut client = engine.client().unwrap();
        assert_eq!(common::rows(&mut client, &table, 0).unwrap().len(), 4);
        match commit {
            true => client.commit_branch(&mut branches[0]).unwrap(),
            false => client.rollback_branch(&mut branches[0]).unwrap(),
        }
        let left = if commit { 1204 } else { 4 };
        assert_eq!(common::rows(&mut client, &table, 1).unwrap().len(), left);
        engine.check_table(&table).unwrap();
    }
}

/// What a branch, or a transaction, does to rows; `None`: deleted.
type Changes = BTreeMap<i64, Option<Row>>;

/// What is committed, and what is prepared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    rows: BTreeMap<i64, Row>,
    branches: BTreeMap<u64, Changes>,
}

impl Model {
    fn apply(&mut self, changes: &Changes) {
        for (id, row) in changes {
            match row {
                Some(row) => drop(self.rows.insert(*id, row.clone())),
                None => drop(self.rows.remove(id)),
            }
        }
    }

    /// Without branch `n`, which was committed or rolled back.
    fn ended(&self, n: u64, commit: bool) -> Model {
        let mut after = self.clone();
        let changes = after.branches.remove(&n).unwrap_or_default();
        if commit {
            after.apply(&changes);
        }
        after
    }

    fn is_locked(&self, id: i64) -> bool {
        self.branches.values().any(|changes| changes.contains_key(&id))
    }
}

/// What happened in all runs: a campaign in which something never happens proves nothing about it.
#[derive(Debug, Default)]
struct Totals {
    crashes: u64,
    cut_off: u64,
    prepared: u64,
    found: u64,
    committed: u64,
    rolled_back: u64,
    losers: u64,
    old_views: u64,
}

struct World {
    rng: Rng,
    engine: Arc<Engine>,
    table: Arc<Table>,
    client: Client,
    branches: BTreeMap<u64, Branch>,
    model: Model,
    next: u64,
    viewer: Option<(Client, Vec<Row>)>,
}

/// What a step may have come to when the disk failed under it.
type Cut = (Error, Option<Model>);

fn plain(error: Error) -> Cut {
    (error, None)
}

impl World {
    /// Opens what a crash left; it is one of `allowed`.
    fn open(
        disk: &Arc<SimDisk>,
        (rng, next): (Rng, u64),
        allowed: &[Model],
        totals: &mut Totals,
    ) -> Result<World> {
        let (engine, tables, report): (_, Tables, _) = common::open(disk)?;
        totals.losers += report.losers;
        let mut client = engine.client()?;
        let table = match tables.values().next() {
            Some(table) => Arc::clone(table),
            None => {
                let table = create_table(&engine, &mut client, false)?;
                client.commit()?;
                table
            }
        };
        let branches: BTreeMap<u64, Branch> =
            engine.take_branches().into_iter().map(|b| (b.xid().format(), b)).collect();
        totals.found += branches.len() as u64;
        let rows = common::rows(&mut client, &table, 0)?;
        let is_fence = |id: &i64| id % LANE_IDS == LANE_IDS - 1;
        if rows.is_empty() {
            for id in (0..LANES * LANE_IDS).filter(is_fence) {
                put(&mut client, &table, &row(id, id, id, 3))?;
            }
            client.commit()?;
        }
        let rows = rows.into_iter().filter(|row| !is_fence(&row.id));
        let rows: BTreeMap<i64, Row> = rows.map(|row| (row.id, row)).collect();
        let is_found = |m: &&Model| m.rows == rows && m.branches.keys().eq(branches.keys());
        let model = allowed.iter().find(is_found).cloned();
        let model = model.unwrap_or_else(|| {
            panic!("found {rows:?} and {:?}, allowed: {allowed:?}", branches.keys())
        });
        for id in 0..LANES * LANE_IDS {
            let locked = is_locked(&mut client, &table, id);
            assert_eq!(locked, model.is_locked(id), "row {id} of {model:?}");
            client.rollback()?;
        }
        Ok(World { rng, engine, table, client, branches, model, next, viewer: None })
    }

    /// One transaction, branch, end of a branch or background step.
    fn step(&mut self, totals: &mut Totals) -> std::result::Result<(), Cut> {
        match self.rng.below(12) {
            0 => self.engine.step_cleaner().map(drop).map_err(plain),
            1 => self.engine.checkpoint().map(drop).map_err(plain),
            2 => self.look_back(totals),
            3..6 if !self.branches.is_empty() => self.end_branch(totals),
            n => self.transaction(n >= 8, totals),
        }
    }

    fn look_back(&mut self, totals: &mut Totals) -> std::result::Result<(), Cut> {
        match self.viewer.take() {
            None => {
                let client = common::viewer(&self.engine).map_err(plain)?;
                self.viewer = Some((client, self.model.rows.values().cloned().collect()));
            }
            Some((client, rows)) => {
                let index = self.rng.below(3) as usize;
                let seen = common::seen(&client, &self.table, index).map_err(plain)?;
                let is_fence = |row: &Row| row.id % LANE_IDS == LANE_IDS - 1;
                let seen: Vec<Row> = seen.into_iter().filter(|row| !is_fence(row)).collect();
                assert_eq!(seen, rows, "what an old view sees");
                totals.old_views += 1;
                self.viewer = self.rng.chance(2, 3).then_some((client, rows));
            }
        }
        Ok(())
    }

    fn end_branch(&mut self, totals: &mut Totals) -> std::result::Result<(), Cut> {
        let at = self.rng.below(self.branches.len() as u64) as usize;
        let (&n, branch) = self.branches.iter_mut().nth(at).unwrap();
        let commit = self.rng.chance(1, 2);
        let after = self.model.ended(n, commit);
        let ended = match commit {
            true => self.client.commit_branch(branch),
            false => self.client.rollback_branch(branch),
        };
        ended.map_err(|e| (e, Some(after.clone())))?;
        match commit {
            true => totals.committed += 1,
            false => totals.rolled_back += 1,
        }
        self.branches.remove(&n);
        self.model = after;
        Ok(())
    }

    /// Some changes of rows that nobody has locked; prepared, committed or rolled back.
    fn transaction(&mut self, prepare: bool, totals: &mut Totals) -> std::result::Result<(), Cut> {
        // Each branch keeps to ids of its own.
        let busy = |lane: &i64| (0..LANE_IDS).any(|i| self.model.is_locked(lane * LANE_IDS + i));
        let free: Vec<i64> = (0..LANES).filter(|lane| !busy(lane)).collect();
        let Some(lane) = free.get(self.rng.below(LANES as u64) as usize) else { return Ok(()) };
        let mut changes = Changes::new();
        self.client.begin();
        let many = if self.rng.chance(1, 3) { 40 } else { 4 };
        for _ in 0..1 + self.rng.below(many) {
            let id = lane * LANE_IDS + self.rng.below(LANE_IDS as u64 - 1) as i64;
            let now =
                changes.get(&id).cloned().unwrap_or_else(|| self.model.rows.get(&id).cloned());
            let new = row(id, self.rng.below(50) as i64, id, self.rng.below(2000) as usize);
            let (client, table) = (&mut self.client, &self.table);
            let changed = match (now, self.rng.below(3)) {
                (None, _) => put(client, table, &new).map(|()| Some(new)),
                (Some(_), 0) => client.delete(table, &key(table, id)).map(|_| None),
                (Some(_), _) => change(client, table, &new).map(|_| Some(new)),
            };
            changes.insert(id, changed.map_err(plain)?);
        }
        let mut after = self.model.clone();
        if prepare {
            let n = self.next;
            self.next += 1;
            after.branches.insert(n, changes);
            let branch = self.client.prepare(xid(n)).map_err(|e| (e, Some(after.clone())))?;
            self.branches.insert(n, branch);
            totals.prepared += 1;
        } else if self.rng.chance(1, 4) {
            return self.client.rollback().map_err(plain);
        } else {
            after.apply(&changes);
            self.client.commit().map_err(|e| (e, Some(after.clone())))?;
        }
        self.model = after;
        Ok(())
    }
}

/// Groups of ids that one branch changes at a time. The last id of each is a row that stays, so that locks of gaps, which the
/// check of a unique index makes, end there.
const LANES: i64 = 6;
const LANE_IDS: i64 = 20;
const LOCKER_SEEDS: u64 = 150;
const SEEDS: u64 = if cfg!(debug_assertions) { 60 } else { 400 };

fn play(seed: u64, disk: &Arc<SimDisk>, totals: &mut Totals) {
    let mut rng = Rng::new(seed);
    let (mut disk, mut allowed, mut next) = (Arc::clone(disk), vec![Model::default()], 1);
    for _ in 0..4 {
        let opened = World::open(&disk, (Rng::new(rng.next_u64()), next), &allowed, totals);
        let mut world = opened.unwrap();
        if rng.chance(4, 5) {
            disk.power_off_after(1 + rng.below(400));
        }
        allowed = Vec::new();
        for _ in 0..20 + rng.below(150) {
            let Err((error, after)) = world.step(totals) else { continue };
            assert!(matches!(error, Error::Io { .. }), "{error}");
            totals.cut_off += 1;
            allowed.extend(after);
            break;
        }
        allowed.push(world.model.clone());
        next = world.next;
        let after = if rng.chance(1, 5) { disk.kill() } else { disk.crash() };
        totals.crashes += 1;
        drop(world);
        disk = after;
        // Half of a recovery changes nothing.
        if rng.chance(1, 3) {
            let half = disk.copy(seed);
            half.power_off_after(rng.below(60));
            let _ = common::open(&half);
            disk = half.crash();
        }
    }
}

#[test]
fn branches_are_there_after_every_crash() {
    let number = |name| std::env::var(name).ok().map(|n| n.parse::<u64>().unwrap());
    let seeds = match number("LIMPID_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("LIMPID_SEEDS").unwrap_or(SEEDS),
    };
    let mut totals = Totals::default();
    let whole = seeds.end - seeds.start >= SEEDS;
    for seed in seeds {
        let played = catch_unwind(AssertUnwindSafe(|| {
            play(seed, &SimDisk::new(seed), &mut totals);
        }));
        assert!(played.is_ok(), "seed {seed}");
    }
    eprintln!("{totals:?}");
    let Totals { crashes, cut_off, prepared, found, committed, rolled_back, losers, old_views } =
        totals;
    let happened = [crashes, cut_off, prepared, found, committed, rolled_back, losers, old_views];
    assert!(!whole || happened.iter().all(|n| *n > 0), "something never happened");
}

/// The campaign can fail: with a log that is never synced it does.
#[test]
fn without_the_sync_of_the_log_the_campaign_of_branches_fails() {
    let fails = |seed: &u64| {
        let disk = SimDisk::new(*seed);
        disk.ignore_syncs_of("redo/");
        catch_unwind(AssertUnwindSafe(|| play(*seed, &disk, &mut Totals::default()))).is_err()
    };
    let seed = (0..10).find(fails);
    println!("without syncs of the log seed {seed:?} fails");
    assert!(seed.is_some(), "10 seeds have passed without the syncs of the log");
}
