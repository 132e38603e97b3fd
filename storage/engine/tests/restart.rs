//! What survives a restart, and what happens when the disk refuses.

#![allow(clippy::unwrap_used)] // tests

mod common;

use common::{create_index, create_table, get, key, row, rows};
use engine::{Engine, EngineConfig, Error, Steps};
use host::{Disk, OpenMode, SimDisk};
use std::sync::Arc;

fn open(disk: &Arc<SimDisk>) -> (Arc<Engine>, common::Tables) {
    let (engine, tables, _) = common::open(disk).unwrap();
    (engine, tables)
}

#[test]
fn counters_go_on_after_a_crash() {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk);
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    let hidden = create_table(&engine, &mut c, true).unwrap();
    let first = c.reserve_autoinc(&table, 3, Steps::default()).unwrap();
    assert_eq!(first, 1);
    for id in 1..=3 {
        c.insert(&table, &common::encode(&table, &row(id, 0, id, 5))).unwrap();
        c.insert(&hidden, &common::encode(&hidden, &row(id, 0, id, 5))).unwrap();
    }
    c.note_autoinc(&table, 40).unwrap();
    c.insert(&table, &common::encode(&table, &row(40, 0, 40, 5))).unwrap();
    c.commit().unwrap();
    // The largest row goes, its value stays used.
    assert!(c.delete(&table, &key(&table, 40)).unwrap());
    c.commit().unwrap();
    let id = c.trx_id();
    assert_eq!(id, None);
    drop((c, table, hidden, engine));

    let disk = disk.crash();
    let (engine, tables) = open(&disk);
    let mut c = engine.client().unwrap();
    let table = tables.values().find(|t| !t.spec().clustered.is_empty()).unwrap();
    let hidden = tables.values().find(|t| t.spec().clustered.is_empty()).unwrap();
    assert_eq!(table.autoinc_next(), Some(41));
    assert_eq!(c.reserve_autoinc(table, 1, Steps::default()).unwrap(), 41);
    assert_eq!(rows(&mut c, table, 0).unwrap().len(), 3);
    c.insert(hidden, &common::encode(hidden, &row(9, 0, 9, 5))).unwrap();
    c.commit().unwrap();
    let ids: Vec<i64> = rows(&mut c, hidden, 0).unwrap().iter().map(|r| r.id).collect();
    assert_eq!(ids, [1, 2, 3, 9], "a hidden row id was given twice or out of order");
}

#[test]
fn counters_run_ahead_and_stop_where_they_are() {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk);
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    c.commit().unwrap();
    let mut logged = 0;
    for id in 1..=3000 {
        let before = engine.log().tail();
        assert_eq!(c.reserve_autoinc(&table, 1, Steps::default()).unwrap(), id);
        logged += u64::from(engine.log().tail() > before);
    }
    assert!((5..20).contains(&logged), "{logged} of 3000 statements have logged the counter");
    // Another handle of the table has the same counter.
    let spec = table.spec().clone();
    let again = common::relaid(&engine, &table, &spec).unwrap();
    assert_eq!(again.autoinc_next(), Some(3001));
    engine.log().flush_to(engine.log().tail()).unwrap();
    let crashed = disk.crash();
    engine.shutdown().unwrap();
    // Values may still be taken.
    assert_eq!(c.reserve_autoinc(&again, 1, Steps::default()).unwrap(), 3001);
    drop((c, table, again, engine));
    let next = |disk: &Arc<SimDisk>| {
        let (_engine, tables) = open(disk);
        tables.values().next().and_then(|table| table.autoinc_next()).unwrap()
    };
    assert!((3001..=4001).contains(&next(&crashed)), "{}", next(&crashed));
    let restarted = next(&disk.crash());
    assert!(restarted == 3001 || restarted == 3002, "{restarted}: a shutdown leaves no gap");
}

#[test]
fn settled_counters_give_nothing_twice() {
    for round in 0..20 {
        let disk = SimDisk::new(round);
        let (engine, _) = open(&disk);
        let mut c = engine.client().unwrap();
        let table = create_table(&engine, &mut c, false).unwrap();
        c.commit().unwrap();
        let takers: Vec<_> = (0..3)
            .map(|_| {
                let (engine, table) = (Arc::clone(&engine), Arc::clone(&table));
                host::thread::spawn("taker", move || {
                    let mut c = engine.client().unwrap();
                    let mut take = || c.reserve_autoinc(&table, 1, Steps::default()).unwrap();
                    (0..200).map(|_| take()).collect::<Vec<u64>>()
                })
                .unwrap()
            })
            .collect();
        for _ in 0..20 {
            engine.settle_autoinc();
            sync::yield_now();
        }
        let mut given: Vec<u64> = takers.into_iter().flat_map(|t| t.join().unwrap()).collect();
        given.sort_unstable();
        assert_eq!(given, (1..=600).collect::<Vec<u64>>());
        engine.log().flush_to(engine.log().tail()).unwrap();
        drop((c, table, engine));
        let (_engine, tables) = open(&disk.crash());
        let next = tables.values().next().and_then(|table| table.autoinc_next()).unwrap();
        assert!(next > 600, "{next} would be given again");
    }
}

#[test]
fn autoinc_ends_with_its_type() {
    let (engine, _) = open(&SimDisk::new(1));
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    c.note_autoinc(&table, i64::MAX as u64 - 2).unwrap();
    let mut take = |n| c.reserve_autoinc(&table, n, Steps::default());
    let last = i64::MAX as u64;
    assert_eq!(take(1).unwrap(), last - 1);
    // What follows the last value is the caller's to refuse.
    assert_eq!([take(2).unwrap(), take(1).unwrap()], [last, last]);
    let beyond = Steps::new(2, 2);
    assert!(matches!(c.reserve_autoinc(&table, 1, beyond), Err(Error::AutoincExhausted)));
    c.note_autoinc(&table, u64::MAX).unwrap();
    assert_eq!(c.reserve_autoinc(&table, 1, Steps::default()).unwrap(), last);
}

#[test]
fn a_clean_shutdown_leaves_nothing_to_do() {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk);
    engine.start_background().unwrap();
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    c.commit().unwrap();
    let table2 = create_index(&engine, &mut c, &table, true).unwrap();
    c.insert(&table2, &common::encode(&table2, &row(1, 2, 3, 5))).unwrap();
    c.commit().unwrap();
    drop(c);
    engine.shutdown().unwrap();
    drop((table, table2, engine));
    let (engine, tables, report) = common::open(&disk.crash()).unwrap();
    assert_eq!((report.redo_records, report.losers, report.purged), (0, 0, 0), "{report:?}");
    let table = tables.values().next().unwrap();
    assert_eq!(table.indexes(), 4);
    assert!(get(&mut engine.client().unwrap(), table, 1).unwrap().is_some());
}

/// In debug builds a batch takes a few hundred entries.
#[test]
fn a_unique_index_is_not_built_over_duplicates_of_any_batch() {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk);
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    const ROWS: i64 = 2000;
    for id in 0..ROWS {
        let a = (id * 7919) % ROWS;
        c.insert(&table, &common::encode(&table, &row(id, a, id, 5))).unwrap();
    }
    c.commit().unwrap();
    let parts = vec![engine::KeyPart::whole(1)];
    let build = |c: &mut engine::Client, name: &str| {
        let (id, name) = (engine.new_index_id().unwrap(), name.into());
        let index = engine::IndexSpec { id, name, unique: true, parts: parts.clone() };
        engine.create_index(c, &table, (&index, 0)).map(|_root| id)
    };
    build(&mut c, "none").unwrap();
    c.rollback().unwrap();
    // Neighbours in their batch, and the first and the last batch.
    for (id, twin) in [(10, 11), (1, ROWS - 1)] {
        let of = |id: i64| (id * 7919) % ROWS;
        let change = |c: &mut engine::Client, a: i64| {
            let new = common::encode(&table, &row(twin, a, twin, 5));
            assert!(c.update(&table, &common::key(&table, twin), &new).unwrap());
            c.commit().unwrap();
        };
        change(&mut c, of(id));
        let built = build(&mut c, "twins");
        assert!(matches!(built, Err(Error::Duplicate { .. })), "{built:?}");
        c.rollback().unwrap();
        change(&mut c, of(twin));
    }
    build(&mut c, "none again").unwrap();
    c.rollback().unwrap();
    let table = common::create_index(&engine, &mut c, &table, false).unwrap();
    c.commit().unwrap();
    assert_eq!(engine.check_table(&table).unwrap().rows, ROWS as u64);
}

#[test]
fn a_full_disk_fails_the_statement_and_not_the_server() {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk);
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    c.insert(&table, &common::encode(&table, &row(0, 0, 0, 5))).unwrap();
    c.commit().unwrap();
    disk.enospc_after(64 << 10);
    c.begin();
    c.insert(&table, &common::encode(&table, &row(1, 0, 1, 5))).unwrap();
    let mark = c.mark();
    let mut id = 100;
    let error = loop {
        id += 1;
        match c.insert(&table, &common::encode(&table, &row(id, 0, id, 3000))) {
            Ok(()) => assert!(id < 10_000, "the disk is never full"),
            Err(e) => break e,
        }
    };
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    c.rollback_to(mark).unwrap();
    c.commit().unwrap();
    assert!(get(&mut c, &table, 1).unwrap().is_some());
    assert!(get(&mut c, &table, 101).unwrap().is_none());
    disk.heal();
    c.insert(&table, &common::encode(&table, &row(2, 0, 2, 3000))).unwrap();
    c.commit().unwrap();
    assert_eq!(engine.check_table(&table).unwrap().rows, 3);
}

#[test]
fn a_failed_fsync_is_final_and_told() {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk);
    let (tell, told) = std::sync::mpsc::channel();
    engine.on_fatal(Box::new(move |e| tell.send(e.to_string()).unwrap()));
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    c.commit().unwrap();
    c.begin();
    assert!(c.in_transaction() && c.trx_id().is_none());
    c.insert(&table, &common::encode(&table, &row(1, 0, 1, 5))).unwrap();
    assert!(c.trx_id().is_some());
    disk.fail_next_sync();
    assert!(matches!(c.commit(), Err(Error::Io { .. })));
    assert!(!c.in_transaction(), "a commit is an end whatever it answers");
    assert!(told.recv().unwrap().contains("fdatasync"));
    let later = c.insert(&table, &common::encode(&table, &row(2, 0, 2, 5)));
    let later = later.and_then(|()| c.commit());
    assert!(later.is_err(), "nothing is acknowledged after a failed fsync");
}

#[test]
fn a_creation_that_a_crash_cuts_off_is_begun_anew() {
    let (mut cut_off, mut whole) = (0, 0);
    for n in (0..).step_by(9) {
        let disk = SimDisk::new(n);
        disk.power_off_after(n);
        drop(Engine::open(common::config(), Arc::clone(&disk) as Arc<dyn Disk>));
        let disk = disk.crash();
        let is_whole = disk.exists("limpid.format").unwrap();
        let (engine, report) =
            Engine::open(common::config(), Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
        assert_eq!(report.created, !is_whole, "after {n} steps");
        let mut c = engine.client().unwrap();
        let table = create_table(&engine, &mut c, false).unwrap();
        c.insert(&table, &common::encode(&table, &row(1, 2, 3, 5))).unwrap();
        c.commit().unwrap();
        assert_eq!(engine.check_table(&table).unwrap().rows, 1);
        (cut_off, whole) = (cut_off + u32::from(!is_whole), whole + u32::from(is_whole));
        if whole == 3 {
            break;
        }
    }
    assert!(cut_off > 10, "{cut_off}");
}

#[test]
fn foreign_and_newer_folders_are_refused() {
    let disk = SimDisk::new(1);
    disk.open("ibdata1", OpenMode::Create).unwrap();
    let opened = Engine::open(EngineConfig::default(), disk as Arc<dyn Disk>);
    assert!(matches!(opened, Err(Error::Foreign { path, .. }) if path == "ibdata1"));
}

#[test]
fn a_table_without_its_file_is_named() {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk);
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    c.commit().unwrap();
    let (spec, storage) = (table.spec().clone(), table.storage());
    drop(table);
    engine.drop_table_storage(storage.space).unwrap();
    let opened = engine.open_table(&spec, storage.clone()).map(|_| ());
    assert!(matches!(opened, Err(Error::MissingSpace(s)) if s == storage.space), "{opened:?}");
}
