//! Recovery while clients are there already: pages on demand, losers undone in the background, and a crash
//! at any moment of it.

#![allow(clippy::unwrap_used)] // tests

mod common;

use common::{create_index, create_table, drop_table, get, key, row, rows};
use engine::{Client, Engine, EngineConfig, Error, RecoveryPhase, RecoveryProgress, Table};
use host::{Disk, SimDisk};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stdx::rng::Rng;

/// Rows of the table; `0..COMMITTED` are committed with `a = 1`, the losers' changes are on top.
const ROWS: i64 = 900;

fn config(threads: usize) -> EngineConfig {
    EngineConfig {
        pool_bytes: 256 * base::PAGE_BYTES,
        redo_capacity_bytes: 16 << 20,
        recovery_threads: threads,
        ..common::config()
    }
}

fn insert(c: &mut Client, table: &Table, id: i64, a: i64) {
    c.insert(table, &common::encode(table, &row(id, a, id, 400))).unwrap();
}

/// A crashed server: [`ROWS`] committed rows with `a = 1`, and a transaction that did not end, which
/// updated the rows below `updated` and inserted as many above.
fn crashed(updated: i64) -> Arc<SimDisk> {
    let disk = SimDisk::new(5);
    let (engine, ..) = common::open_with(config(1), &disk).unwrap();
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    for id in 0..ROWS {
        insert(&mut c, &table, id, 1);
    }
    c.commit().unwrap();
    c.begin();
    for id in 0..updated {
        let new = common::encode(&table, &row(id, 2, id, 300));
        assert!(c.update(&table, &key(&table, id), &new).unwrap());
        insert(&mut c, &table, 10_000 + id, 2);
    }
    engine.log().flush_to(engine.log().tail()).unwrap();
    disk.kill()
}

fn only(tables: &common::Tables) -> Arc<Table> {
    assert_eq!(tables.len(), 1);
    Arc::clone(tables.values().next().unwrap())
}

/// Every index has the committed rows, and no others.
fn check(engine: &Arc<Engine>, table: &Table) {
    let mut c = engine.client().unwrap();
    for index in 0..table.indexes() {
        let mut found = rows(&mut c, table, index).unwrap();
        found.sort();
        assert_eq!(found.len() as i64, ROWS, "index {index}");
        assert!(found.iter().zip(0..).all(|(r, id)| r.id == id && r.a == Some(1)));
    }
    assert_eq!(engine.check_table(table).unwrap().rows, ROWS as u64);
}

fn until(engine: &Engine, what: impl Fn(&RecoveryProgress) -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !what(&engine.recovery_progress()) {
        assert!(Instant::now() < give_up, "{:?}", engine.recovery_progress());
        std::thread::yield_now();
    }
}

#[test]
fn the_first_query_is_answered_before_the_sweep_begins() {
    let (engine, tables) = common::open_at_once(config(2), &crashed(200)).unwrap();
    let table = only(&tables);
    let mut c = engine.client().unwrap();
    // A row that the loser has changed, and one that it has not touched.
    assert_eq!(get(&mut c, &table, 3).unwrap().unwrap().a, Some(1));
    assert_eq!(get(&mut c, &table, ROWS - 1).unwrap().unwrap().a, Some(1));
    assert_eq!(get(&mut c, &table, 10_003).unwrap(), None);
    let p = engine.recovery_progress();
    assert_eq!((p.phase, p.losers_total, p.losers_done), (RecoveryPhase::Apply, 1, 0));
    assert!(0 < p.pages_done && p.pages_done < p.pages_total, "{p:?}");
    assert!(0 < p.redo_bytes_done && p.redo_bytes_done < p.redo_bytes_total, "{p:?}");
    common::start_recovery(&engine, &tables).unwrap();
    let report = engine.wait_recovered().unwrap();
    assert_eq!((report.losers, report.damaged_pages), (1, 0));
    check(&engine, &table);
}

#[test]
fn progress_only_grows() {
    let (engine, tables) = common::open_at_once(config(2), &crashed(400)).unwrap();
    engine.start_background().unwrap();
    common::start_recovery(&engine, &tables).unwrap();
    let done =
        |p: &RecoveryProgress| [p.redo_bytes_done, p.pages_done, p.losers_done, p.rows_undone];
    let mut last = engine.recovery_progress();
    while last.phase != RecoveryPhase::Done {
        let p = engine.recovery_progress();
        assert!(done(&last).iter().zip(done(&p)).all(|(a, b)| *a <= b), "{last:?} then {p:?}");
        assert!(p.pages_done <= p.pages_total && p.losers_done <= p.losers_total, "{p:?}");
        last = p;
    }
    assert_eq!((last.pages_done, last.losers_done), (last.pages_total, 1));
    assert_eq!((last.redo_bytes_done, last.estimate_s), (last.redo_bytes_total, Some(0)));
    assert!(last.rows_undone >= 800, "{last:?}");
    check(&engine, &only(&tables));
    engine.shutdown().unwrap();
}

#[test]
fn a_losers_rows_are_protected_until_they_are_undone() {
    let (engine, tables) = common::open_at_once(config(2), &crashed(50)).unwrap();
    let table = only(&tables);
    let mut c = engine.client().unwrap();
    c.set_lock_wait_timeout(1);
    let new = common::encode(&table, &row(7, 3, 7, 10));
    let waited = c.update(&table, &key(&table, 7), &new);
    assert!(matches!(waited, Err(Error::LockWaitTimeout)), "{waited:?}");
    c.rollback().unwrap();
    // Killed while waiting.
    let (slots, slot) = (Arc::clone(engine.slots()), c.slot_index());
    let (tell, told) = std::sync::mpsc::channel();
    c.set_lock_wait_timeout(60);
    let (same, again) = (Arc::clone(&table), new.clone());
    let waiter = host::thread::spawn("waiter", move || {
        tell.send(()).unwrap();
        let waited = c.update(&same, &key(&same, 7), &again);
        assert!(matches!(waited, Err(Error::Killed)), "{waited:?}");
        c.rollback().unwrap();
    });
    told.recv().unwrap();
    slots.session(slot).kill(1);
    waiter.unwrap().join().unwrap();
    // And one that waits long enough gets the row.
    let (other, same) = (Arc::clone(&engine), Arc::clone(&table));
    let waiter = host::thread::spawn("waiter", move || {
        let mut c = other.client().unwrap();
        assert!(c.update(&same, &key(&same, 7), &new).unwrap());
        c.rollback().unwrap();
    });
    common::start_recovery(&engine, &tables).unwrap();
    waiter.unwrap().join().unwrap();
    engine.wait_recovered().unwrap();
    check(&engine, &table);
}

#[test]
fn a_crash_at_any_moment_of_recovery_is_recovered_from() {
    let mut undone_before_the_crash = 0;
    for seed in 0..30 {
        let mut rng = Rng::new(seed);
        let mut disk = crashed(150);
        for _ in 0..3 {
            disk = disk.copy(seed);
            disk.power_off_after(rng.below(400));
            if let Ok((engine, tables)) = common::open_at_once(config(2), &disk) {
                let _ = engine.start_background();
                common::start_recovery(&engine, &tables).unwrap();
                let rows = rng.below(400);
                until(&engine, |p| {
                    disk.is_off() || p.phase == RecoveryPhase::Done || p.rows_undone >= rows
                });
                undone_before_the_crash += engine.recovery_progress().rows_undone;
                disk.power_off();
                engine.stop_background();
            }
            disk = disk.crash();
        }
        let (engine, tables, report) = common::open_with(config(1), &disk).unwrap();
        assert!(report.losers <= 1 && report.damaged_pages == 0, "seed {seed}: {report:?}");
        check(&engine, &only(&tables));
    }
    assert!(undone_before_the_crash > 0, "no crash fell into a rollback");
}

#[test]
fn a_stop_during_recovery_leaves_the_rest_to_the_next_start() {
    let mut disk = crashed(300);
    // Nothing but one page was touched: the redo of the others is still needed.
    let (engine, tables) = common::open_at_once(config(2), &disk).unwrap();
    let began = engine.log().checkpoint_lsn();
    assert!(get(&mut engine.client().unwrap(), &only(&tables), 3).unwrap().is_some());
    engine.shutdown().unwrap();
    assert!(engine.wait_recovered().is_err(), "nobody has finished it");
    assert_eq!(engine.log().checkpoint_lsn(), began, "the checkpoint passed waiting redo");
    drop((engine, tables));
    disk = disk.crash();
    for rows in [0, 1, 100] {
        let (engine, tables) = common::open_at_once(config(2), &disk).unwrap();
        engine.start_background().unwrap();
        common::start_recovery(&engine, &tables).unwrap();
        until(&engine, |p| p.phase == RecoveryPhase::Done || p.rows_undone >= rows);
        engine.shutdown().unwrap();
        drop((engine, tables));
        disk = disk.crash();
    }
    let (engine, tables, _) = common::open_with(config(1), &disk).unwrap();
    check(&engine, &only(&tables));
}

#[test]
fn a_table_with_a_loser_can_be_dropped_before_and_while_it_is_undone() {
    for wait_for in [None, Some(1), Some(100)] {
        let (engine, tables) = common::open_at_once(config(2), &crashed(300)).unwrap();
        let table = only(&tables);
        if let Some(rows) = wait_for {
            common::start_recovery(&engine, &tables).unwrap();
            until(&engine, |p| p.rows_undone >= rows);
        }
        let mut c = engine.client().unwrap();
        drop_table(&engine, &mut c, &table).unwrap();
        c.commit().unwrap();
        let space = table.storage().space;
        engine.drop_table_storage(space).unwrap();
        if wait_for.is_none() {
            common::start_recovery(&engine, &tables).unwrap();
        }
        let report = engine.wait_recovered().unwrap();
        assert_eq!((report.losers, report.orphans.len()), (1, 0), "{wait_for:?}");
        // Nothing of it is left, and others can be made.
        let next = create_table(&engine, &mut c, false).unwrap();
        c.commit().unwrap();
        insert(&mut c, &next, 1, 1);
        c.commit().unwrap();
        assert_eq!(engine.check_table(&next).unwrap().rows, 1);
        assert!(engine.recovery_progress().losers_done == 1);
    }
}

#[test]
fn an_index_is_built_over_the_rows_as_they_are_without_the_loser() {
    let (engine, tables) = common::open_at_once(config(2), &crashed(120)).unwrap();
    let table = only(&tables);
    let mut c = engine.client().unwrap();
    c.set_lock_wait_timeout(1);
    let blocked = create_index(&engine, &mut c, &table, false);
    assert!(matches!(blocked, Err(Error::LockWaitTimeout)), "{:?}", blocked.map(|t| t.id()));
    c.rollback().unwrap();
    c.set_lock_wait_timeout(60);
    common::start_recovery(&engine, &tables).unwrap();
    let table = create_index(&engine, &mut c, &table, true).unwrap();
    c.commit().unwrap();
    engine.wait_recovered().unwrap();
    check(&engine, &table);
}

#[test]
fn a_loser_that_made_a_table_takes_its_file_away_and_others_keep_theirs() {
    let disk = SimDisk::new(6);
    let (engine, ..) = common::open_with(config(1), &disk).unwrap();
    let mut c = engine.client().unwrap();
    let kept = create_table(&engine, &mut c, false).unwrap();
    c.commit().unwrap();
    insert(&mut c, &kept, 1, 1);
    c.commit().unwrap();
    c.begin();
    let lost = create_table(&engine, &mut c, false).unwrap();
    engine.log().flush_to(engine.log().tail()).unwrap();
    let files = |disk: &Arc<SimDisk>| {
        let names = host::Disk::list(&**disk).unwrap();
        names.iter().filter(|n| n.starts_with("space_")).count()
    };
    let crashed = disk.kill();
    assert_eq!(files(&crashed), 2);
    let (engine, tables) = common::open_at_once(config(2), &crashed).unwrap();
    assert!(!tables.contains_key(&(lost.id().0 as i64)));
    // A table made before the orphans are looked for is none.
    let mut c = engine.client().unwrap();
    let new = create_table(&engine, &mut c, false).unwrap();
    c.commit().unwrap();
    common::start_recovery(&engine, &tables).unwrap();
    assert_eq!(engine.wait_recovered().unwrap().losers, 1);
    assert_eq!(files(&crashed), 2);
    insert(&mut c, &new, 1, 1);
    c.commit().unwrap();
    assert_eq!(engine.check_table(&new).unwrap().rows, 1);
    assert_eq!(engine.check_table(&only(&tables)).unwrap().rows, 1);
}

#[test]
fn no_file_is_opened_but_those_that_the_log_names() {
    let disk = SimDisk::new(7);
    let (engine, ..) = common::open_with(config(1), &disk).unwrap();
    let mut c = engine.client().unwrap();
    let (one, two) = (
        create_table(&engine, &mut c, false).unwrap(),
        create_table(&engine, &mut c, false).unwrap(),
    );
    c.commit().unwrap();
    insert(&mut c, &one, 1, 1);
    insert(&mut c, &two, 1, 1);
    c.commit().unwrap();
    drop(c);
    engine.shutdown().unwrap();
    let mut c = engine.client().unwrap();
    // The doublewrite file then names the second table only, and so does the log.
    insert(&mut c, &two, 2, 1);
    c.commit().unwrap();
    while engine.step_cleaner().unwrap() > 0 {}
    insert(&mut c, &two, 3, 1);
    c.commit().unwrap();
    let name = |table: &Table| engine::space_name(table.storage().space);
    let disk = disk.kill();
    // A damaged file that nobody needs keeps nobody from starting.
    disk.flip_bit(&name(&one), 100, 3);
    let (engine, _) = Engine::open(config(1), Arc::clone(&disk) as Arc<dyn host::Disk>).unwrap();
    let opened = engine.open_table(two.spec(), two.storage()).unwrap();
    assert!(get(&mut engine.client().unwrap(), &opened, 3).unwrap().is_some());
    assert!(engine.open_table(one.spec(), one.storage()).is_err());
}

/// Page 0 of a table's file is damaged, and the log has changes to the table.
#[test]
fn redo_of_a_damaged_file_is_kept_until_somebody_gives_it_up() {
    let disk = SimDisk::new(9);
    let (engine, ..) = common::open_with(config(1), &disk).unwrap();
    let mut c = engine.client().unwrap();
    let tables = [(); 2].map(|()| create_table(&engine, &mut c, false).unwrap());
    c.commit().unwrap();
    for id in 0..40 {
        tables.iter().for_each(|t| insert(&mut c, t, id, 1));
    }
    c.commit().unwrap();
    let space = tables[1].storage().space;
    let live = tables.iter().map(|t| t.storage().space).collect();
    let file = format!("space_{:08}.lim", space.0);
    let disk = disk.kill();
    let nobody = |_| Ok(None);
    let open = |force_recovery| {
        let cfg = EngineConfig { force_recovery, ..config(1) };
        Engine::open(cfg, Arc::clone(&disk) as Arc<dyn Disk>).unwrap().0
    };
    disk.flip_bit(&file, 100, 3);
    for _ in 0..2 {
        let engine = open(0);
        let before = engine.log().checkpoint_lsn();
        match engine.finish_recovery(&nobody, &live) {
            Err(Error::RedoNotApplied { files }) => {
                assert!(files.len() == 1 && files[0].0 == space && files[0].1.contains(&file));
            }
            other => panic!("{other:?}"),
        }
        engine.pool().flush_all().unwrap();
        engine.checkpoint().unwrap();
        assert_eq!(engine.log().checkpoint_lsn(), before, "the checkpoint has passed kept redo");
    }
    // The file is put back as it was: nothing is lost.
    disk.flip_bit(&file, 100, 3);
    let copy = disk.copy(10);
    let (engine, opened, _) = common::open_with(config(1), &copy).unwrap();
    let mut c = engine.client().unwrap();
    for table in opened.values() {
        assert_eq!(rows(&mut c, table, 0).unwrap().len(), 40);
    }
    drop((c, engine));
    // Or given up: the other table is sound, and the log goes on.
    disk.flip_bit(&file, 100, 3);
    let engine = open(1);
    let before = engine.log().checkpoint_lsn();
    engine.finish_recovery(&nobody, &live).unwrap();
    engine.pool().flush_all().unwrap();
    engine.checkpoint().unwrap();
    assert!(engine.log().checkpoint_lsn() > before);
}

#[test]
fn rows_are_read_and_not_changed_where_recovery_is_forced() {
    let disk = crashed(50);
    let cfg = EngineConfig { force_recovery: 1, ..config(1) };
    let (engine, tables, _) = common::open_with(cfg, &disk).unwrap();
    let table = only(&tables);
    let mut c = engine.client().unwrap();
    let new = common::encode(&table, &row(5000, 2, 5000, 300));
    assert!(matches!(c.insert(&table, &new), Err(Error::RecoveryForced)));
    let new = common::encode(&table, &row(7, 2, 7, 300));
    assert!(matches!(c.update(&table, &key(&table, 7), &new), Err(Error::RecoveryForced)));
    assert!(matches!(c.delete(&table, &key(&table, 7)), Err(Error::RecoveryForced)));
    c.commit().unwrap();
    // Losers are rolled back, the dictionary is changed.
    engine.wait_recovered().unwrap();
    check(&engine, &table);
    create_table(&engine, &mut c, false).unwrap();
    c.commit().unwrap();
}

/// Nobody waits longer for a step because a transaction has many records that purge has nothing to do for.
#[test]
fn history_that_recovery_found_is_read_in_bounded_steps() {
    const INSERTED: i64 = 2000;
    let disk = SimDisk::new(5);
    let (engine, ..) = common::open_with(config(1), &disk).unwrap();
    let mut c = engine.client().unwrap();
    let table = create_table(&engine, &mut c, false).unwrap();
    insert(&mut c, &table, 0, 1);
    c.commit().unwrap();
    c.begin();
    assert!(c.delete(&table, &key(&table, 0)).unwrap());
    for id in 1..=INSERTED {
        insert(&mut c, &table, id, 1);
    }
    c.commit().unwrap();
    let (engine, tables) = common::open_at_once(config(1), &disk.kill()).unwrap();
    // It ends at the deleted row, whose table nobody names to it.
    let steps = std::iter::from_fn(|| (engine.step_janitor(1) > 0).then_some(())).count();
    assert!(steps as i64 >= INSERTED / 100, "{steps} steps");
    assert!(!engine.is_settled());
    common::start_recovery(&engine, &tables).unwrap();
    engine.wait_recovered().unwrap();
    assert!(engine.is_settled());
    assert_eq!(engine.check_table(&only(&tables)).unwrap().rows, INSERTED as u64);
}
