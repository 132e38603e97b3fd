//! Two and more clients: who sees what, who waits for whom, and how waits end.

#![allow(clippy::unwrap_used)] // tests

mod common;

use common::{create_table, get, key, row, rows};
use engine::{Client, Engine, Error, Result, RowLock, Table};
use host::SimDisk;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

fn world() -> (Arc<Engine>, Arc<Table>) {
    let (engine, ..) = common::open(&SimDisk::new(1)).unwrap();
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    client.commit().unwrap();
    for id in 1..=5 {
        insert(&mut client, &table, id, id).unwrap();
    }
    client.commit().unwrap();
    (engine, table)
}

fn insert(client: &mut Client, table: &Table, id: i64, u: i64) -> Result<()> {
    client.insert(table, &common::encode(table, &row(id, 0, u, 10)))
}

fn update(client: &mut Client, table: &Table, id: i64, a: i64, u: i64) -> Result<bool> {
    client.update(table, &key(table, id), &common::encode(table, &row(id, a, u, 20)))
}

/// Runs `f` with a client of its own on a thread of its own.
fn spawn<T: Send + 'static>(
    engine: &Arc<Engine>,
    f: impl FnOnce(&mut Client) -> T + Send + 'static,
) -> host::thread::JoinHandle<T> {
    let engine = Arc::clone(engine);
    host::thread::spawn("test", move || f(&mut engine.client().unwrap())).unwrap()
}

/// Until somebody waits in the graph.
fn until_waiting(engine: &Engine, edges: usize) {
    let give_up = Instant::now() + Duration::from_secs(10);
    while engine.waits().edges().len() < edges {
        assert!(Instant::now() < give_up, "nobody waits");
        std::thread::yield_now();
    }
}

#[test]
fn a_reader_takes_the_committed_version_or_its_own_and_never_waits() {
    let (engine, table) = world();
    let (mut a, mut b) = (engine.client().unwrap(), engine.client().unwrap());
    a.begin();
    assert!(update(&mut a, &table, 1, 7, 100).unwrap());
    assert!(update(&mut a, &table, 1, 8, 101).unwrap());
    assert!(a.delete(&table, &key(&table, 2)).unwrap());
    insert(&mut a, &table, 6, 106).unwrap();
    let mut locked = Vec::new();
    assert!(a.get_locked(&table, &key(&table, 3), None, RowLock::UPDATE, &mut locked).unwrap());
    let mine = |c: &mut Client, index| {
        let found = rows(c, &table, index).unwrap();
        found.iter().map(|r| (r.id, r.u.unwrap())).collect::<Vec<_>>()
    };
    let before = vec![(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)];
    let after = vec![(1, 101), (3, 3), (4, 4), (5, 5), (6, 106)];
    let by_u = |v: &Vec<(i64, i64)>| {
        let mut v = v.clone();
        v.sort_by_key(|x| x.1);
        v
    };
    assert_eq!(mine(&mut b, 0), before);
    assert_eq!(mine(&mut b, 2), by_u(&before));
    assert_eq!(mine(&mut a, 0), after);
    assert_eq!(mine(&mut a, 2), by_u(&after));
    assert_eq!(get(&mut b, &table, 6).unwrap(), None);
    assert_eq!(get(&mut b, &table, 2).unwrap().unwrap().u, Some(2));
    a.commit().unwrap();
    assert_eq!(mine(&mut b, 0), after);
    assert_eq!(mine(&mut b, 2), by_u(&after));
    engine.check_table(&table).unwrap();
}

#[test]
fn a_writer_waits_for_the_other_transactions_end() {
    let (engine, table) = world();
    for commit in [true, false] {
        let mut a = engine.client().unwrap();
        assert!(update(&mut a, &table, 1, 7, 100).unwrap());
        let t = Arc::clone(&table);
        let waiter = spawn(&engine, move |c| {
            let mut out = Vec::new();
            let found = c.get_locked(&t, &key(&t, 1), None, RowLock::UPDATE, &mut out).unwrap();
            assert!(found);
            let seen = common::decode(t.layout(), &out).u.unwrap();
            update(c, &t, 1, 0, 1).unwrap();
            c.commit().unwrap();
            seen
        });
        until_waiting(&engine, 1);
        if commit {
            a.commit().unwrap()
        } else {
            a.rollback().unwrap()
        }
        assert_eq!(waiter.join().unwrap(), if commit { 100 } else { 1 });
    }
    engine.check_table(&table).unwrap();
}

#[test]
fn a_unique_check_waits_for_either_outcome() {
    let (engine, table) = world();
    // The other transaction takes the key, or gives it up; it commits, or not.
    for (gives_up, commit) in [(false, true), (false, false), (true, true), (true, false)] {
        let mut a = engine.client().unwrap();
        match gives_up {
            false => insert(&mut a, &table, 20, 4000).unwrap(),
            true => assert!(a.delete(&table, &key(&table, 5)).unwrap()),
        }
        let t = Arc::clone(&table);
        let u = if gives_up { 5 } else { 4000 };
        let waiter = spawn(&engine, move |c| {
            let done = insert(c, &t, 30, u);
            c.rollback().unwrap();
            done
        });
        until_waiting(&engine, 1);
        if commit {
            a.commit().unwrap()
        } else {
            a.rollback().unwrap()
        }
        let duplicate = common::is_duplicate(&waiter.join().unwrap());
        assert_eq!(duplicate, gives_up != commit, "gives up {gives_up}, commits {commit}");
        a.begin();
        let _ = a.delete(&table, &key(&table, 20)).unwrap();
        if gives_up && commit {
            insert(&mut a, &table, 5, 5).unwrap();
        }
        a.commit().unwrap();
        engine.check_table(&table).unwrap();
    }
}

#[test]
fn a_cycle_of_waits_has_one_victim() {
    let (engine, table) = world();
    let mut a = engine.client().unwrap();
    assert!(update(&mut a, &table, 1, 1, 11).unwrap());
    let t = Arc::clone(&table);
    let other = spawn(&engine, move |c| {
        assert!(update(c, &t, 2, 2, 12).unwrap());
        let done = update(c, &t, 1, 2, 13);
        c.commit().unwrap();
        done
    });
    until_waiting(&engine, 1);
    let mine = update(&mut a, &table, 2, 1, 14);
    assert!(matches!(mine, Err(Error::Deadlock)), "{mine:?}");
    a.rollback().unwrap();
    assert!(other.join().unwrap().unwrap());
    assert_eq!(get(&mut a, &table, 1).unwrap().unwrap().u, Some(13));
    assert!(engine.waits().edges().is_empty());
}

#[test]
fn a_wait_ends_by_its_timeout() {
    let (engine, table) = world();
    let (mut a, mut b) = (engine.client().unwrap(), engine.client().unwrap());
    assert!(update(&mut a, &table, 1, 1, 11).unwrap());
    b.set_lock_wait_timeout(0);
    insert(&mut b, &table, 9, 9).unwrap();
    let done = b.delete(&table, &key(&table, 1));
    assert!(matches!(done, Err(Error::LockWaitTimeout)), "{done:?}");
    // The statement is gone, the transaction is not.
    assert!(b.has_written());
    b.commit().unwrap();
    assert!(get(&mut a, &table, 9).unwrap().is_some());
}

#[test]
fn a_wait_ends_by_kill() {
    let (engine, table) = world();
    let mut a = engine.client().unwrap();
    assert!(update(&mut a, &table, 1, 1, 11).unwrap());
    let t = Arc::clone(&table);
    let (tell, index) = mpsc::channel();
    let waiter = spawn(&engine, move |c| {
        tell.send(c.slot_index()).unwrap();
        let done = c.delete(&t, &key(&t, 1));
        c.slot().clear_query_kill();
        let again = c.get(&t, &key(&t, 1), &mut Vec::new());
        (done, again)
    });
    let index = index.recv().unwrap();
    until_waiting(&engine, 1);
    let edges = engine.waits().edges();
    assert_eq!(edges, [(index as u64, a.slot_index() as u64)]);
    // Perhaps on its way to its wait still: a kill ends that, too.
    engine.slots().session(index).kill(sync::KILL_QUERY);
    let (done, again) = waiter.join().unwrap();
    assert!(matches!(done, Err(Error::Killed)), "{done:?}");
    assert!(again.unwrap());
}

#[test]
fn a_duplicate_in_row_500_undoes_its_statement_and_nothing_else() {
    let (engine, table) = world();
    let mut c = engine.client().unwrap();
    c.begin();
    insert(&mut c, &table, 50_000, 50_000).unwrap();
    let mark = c.mark();
    let statement = |c: &mut Client| {
        for i in 0..1000 {
            let u = if i == 499 { 3 } else { 10_000 + i };
            insert(c, &table, 1000 + i, u)?;
        }
        Ok(())
    };
    let done = statement(&mut c);
    assert!(common::is_duplicate(&done), "{done:?}");
    c.rollback_to(mark).unwrap();
    let ids: Vec<i64> = rows(&mut c, &table, 1).unwrap().iter().map(|r| r.id).collect();
    assert_eq!(ids.len(), 6);
    c.commit().unwrap();
    assert_eq!(engine.check_table(&table).unwrap().rows, 6);
}

#[test]
fn increments_of_many_clients_are_all_there() {
    const CLIENTS: usize = 4;
    const ROUNDS: i64 = 150;
    let (engine, table) = world();
    engine.start_background().unwrap();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|n| {
            let t = Arc::clone(&table);
            spawn(&engine, move |c| {
                let mut out = Vec::new();
                for i in 0..ROUNDS {
                    // Both rows, in an order that sometimes deadlocks.
                    let order = if (i + n as i64) % 7 == 0 { [2, 1] } else { [1, 2] };
                    let mut round = |c: &mut Client| -> Result<()> {
                        for id in order {
                            assert!(c.get_locked(
                                &t,
                                &key(&t, id),
                                None,
                                RowLock::UPDATE,
                                &mut out
                            )?);
                            let mut r = common::decode(t.layout(), &out);
                            r.a = r.a.map(|a| a + 1);
                            assert!(c.update(&t, &key(&t, id), &common::encode(&t, &r))?);
                        }
                        c.commit()
                    };
                    while let Err(e) = round(c) {
                        assert!(matches!(e, Error::Deadlock), "{e}");
                        c.rollback().unwrap();
                    }
                }
            })
        })
        .collect();
    for c in clients {
        c.join().unwrap();
    }
    let mut c = engine.client().unwrap();
    for id in [1, 2] {
        let expected = Some(CLIENTS as i64 * ROUNDS);
        assert_eq!(get(&mut c, &table, id).unwrap().unwrap().a, expected);
    }
    engine.check_table(&table).unwrap();
    drop(c);
    engine.shutdown().unwrap();
}

#[test]
fn a_unique_key_has_one_row_whoever_writes() {
    use stdx::rng::Rng;
    const CLIENTS: u64 = 4;
    const KEYS: u64 = 40;
    let disk = SimDisk::new(7);
    let (engine, ..) = common::open(&disk).unwrap();
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    client.commit().unwrap();
    drop(client);
    engine.start_background().unwrap();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|n| {
            let t = Arc::clone(&table);
            spawn(&engine, move |c| {
                let mut rng = Rng::new(n);
                for _ in 0..400 {
                    let id = (rng.below(120) * 10) as i64;
                    let u = rng.below(KEYS) as i64;
                    let pad = rng.below(1500) as usize;
                    let bytes = common::encode(&t, &row(id, 0, u, pad));
                    let done = match rng.below(4) {
                        0 => c.delete(&t, &key(&t, id)).map(|_| ()),
                        1 => c.update(&t, &key(&t, id), &bytes).map(|_| ()),
                        _ => c.insert(&t, &bytes),
                    };
                    match done {
                        Ok(()) if rng.chance(1, 3) => c.rollback().unwrap(),
                        Ok(()) if rng.chance(1, 2) => c.commit().unwrap(),
                        Ok(()) => {}
                        Err(Error::Duplicate { .. }) => {}
                        Err(Error::Deadlock) => c.rollback().unwrap(),
                        Err(e) => panic!("{e}"),
                    }
                }
                c.commit().unwrap();
            })
        })
        .collect();
    let reader = {
        let t = Arc::clone(&table);
        spawn(&engine, move |c| {
            for _ in 0..200 {
                // What is committed never has a key twice; one scan may see a key move.
                let found = rows(c, &t, 0).unwrap();
                assert!(found.is_sorted_by_key(|r| r.id));
                rows(c, &t, 2).unwrap();
            }
        })
    };
    for c in clients {
        c.join().unwrap();
    }
    reader.join().unwrap();
    engine.check_table(&table).unwrap();
    let mut c = engine.client().unwrap();
    let found = rows(&mut c, &table, 2).unwrap();
    assert!(found.is_sorted_by(|a, b| a.u < b.u), "a unique key twice");
    assert!(found.len() <= KEYS as usize);
    let expected = rows(&mut c, &table, 0).unwrap();
    drop(c);
    // And after a crash everything is as it was: all of it was acknowledged.
    engine.shutdown().unwrap();
    drop((engine, table));
    let (engine, tables, _) = common::open(&disk.crash()).unwrap();
    let table = tables.values().next().unwrap();
    assert_eq!(rows(&mut engine.client().unwrap(), table, 0).unwrap(), expected);
    engine.check_table(table).unwrap();
}

#[test]
fn a_unique_key_whose_entries_fill_many_leaves_is_still_checked() {
    let (engine, table) = world();
    let mut a = engine.client().unwrap();
    // Entries of deleted rows stay until the commit.
    for i in 0..1500 {
        insert(&mut a, &table, 1000 + i, 777).unwrap();
        assert!(a.delete(&table, &key(&table, 1000 + i)).unwrap());
    }
    insert(&mut a, &table, 1700, 777).unwrap();
    assert!(common::is_duplicate(&insert(&mut a, &table, 900, 777)));
    assert!(common::is_duplicate(&insert(&mut a, &table, 9000, 777)));
    let waiters: Vec<_> = [901, 1750, 9001]
        .map(|id| {
            let t = Arc::clone(&table);
            spawn(&engine, move |c| {
                let done = insert(c, &t, id, 777);
                c.commit().unwrap();
                done
            })
        })
        .into_iter()
        .collect();
    until_waiting(&engine, 3);
    a.rollback().unwrap();
    let results: Vec<_> = waiters.into_iter().map(|w| w.join().unwrap()).collect();
    assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 1, "{results:?}");
    engine.check_table(&table).unwrap();
    assert_eq!(rows(&mut a, &table, 2).unwrap().len(), 6);
}

/// Four writers, threads in the background, a power cut at any moment: what was acknowledged before
/// is there.
#[test]
fn what_many_writers_were_told_survives_a_power_cut() {
    use stdx::{LocalAtomic, Ordering};
    const WRITERS: usize = 4;
    for seed in 0..6 {
        let disk = SimDisk::new(seed);
        let (engine, ..) = common::open(&disk).unwrap();
        let mut c = engine.client().unwrap();
        let table = create_table(&engine, &mut c, false).unwrap();
        c.commit().unwrap();
        drop(c);
        engine.start_background().unwrap();
        let told: Arc<[LocalAtomic<i64>]> = (0..WRITERS).map(|_| LocalAtomic::new(0)).collect();
        let stop = Arc::new(LocalAtomic::new(false));
        let writers: Vec<_> = (0..WRITERS)
            .map(|n| {
                let (t, told, stop) = (Arc::clone(&table), Arc::clone(&told), Arc::clone(&stop));
                spawn(&engine, move |c| {
                    let mut i = 0;
                    while !stop.load(Ordering::Relaxed) && i < 99_000 {
                        // Two rows at a time, and the one before is changed.
                        let id = (n as i64 + 1) * 100_000 + 2 * i;
                        insert(c, &t, id, 10 * id).unwrap();
                        insert(c, &t, id + 1, 10 * id + 1).unwrap();
                        if i > 0 {
                            assert!(update(c, &t, id - 1, 5, 10 * id + 2).unwrap());
                        }
                        c.commit().unwrap();
                        i += 1;
                        told[n].store(i, Ordering::Release);
                    }
                })
            })
            .collect();
        let _ = host::clock::sleep(Duration::from_millis(20 + 17 * seed));
        let acknowledged: Vec<i64> = told.iter().map(|t| t.load(Ordering::Acquire)).collect();
        let after = disk.crash();
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|w| w.join().unwrap());
        engine.shutdown().unwrap();
        drop((engine, table));

        let (engine, tables, _) = common::open(&after).unwrap();
        let table = tables.values().next().unwrap();
        engine.check_table(table).unwrap();
        let mut c = engine.client().unwrap();
        for (n, told) in acknowledged.iter().enumerate() {
            for i in 0..*told {
                let id = (n as i64 + 1) * 100_000 + 2 * i;
                assert_eq!(get(&mut c, table, id).unwrap().unwrap().u, Some(10 * id));
                let next = get(&mut c, table, id + 1).unwrap().unwrap().u;
                let changed = Some(10 * (id + 2) + 2);
                assert!(next == changed || i + 1 >= *told && next == Some(10 * id + 1));
            }
        }
        let count = rows(&mut c, table, 0).unwrap().len();
        assert_eq!(count % 2, 0, "half a transaction");
        assert!(acknowledged.iter().sum::<i64>() > 0, "nothing was tested");
    }
}

/// Between a commit's becoming visible and its purge another client puts a row over the delete
/// mark.
#[test]
fn a_delete_mark_that_is_written_over_before_its_purge_goes_with_the_new_row() {
    for commit in [false, true] {
        let (engine, table) = world();
        let (go, gone) = mpsc::sync_channel(1);
        let (tell, done) = mpsc::sync_channel(1);
        let (end, ended) = mpsc::sync_channel::<()>(1);
        let t = Arc::clone(&table);
        let other = spawn(&engine, move |c| {
            gone.recv().unwrap();
            insert(c, &t, 3, 333).unwrap();
            tell.send(()).unwrap();
            ended.recv().unwrap();
            if commit { c.commit().unwrap() } else { c.rollback().unwrap() }
        });
        let done = sync_cell(done);
        let armed = stdx::LocalAtomic::new(true);
        engine.log().set_trace_hook(Box::new(move |event| {
            // The acknowledgement comes after the end of the transaction and before its purge.
            if matches!(event, redo::LogEvent::Acknowledged(..))
                && armed.swap(false, stdx::Ordering::AcqRel)
            {
                go.send(()).unwrap();
                done.lock().recv().unwrap();
            }
        }));
        let mut a = engine.client().unwrap();
        assert!(a.delete(&table, &key(&table, 3)).unwrap());
        a.commit().unwrap();
        assert_eq!(get(&mut a, &table, 3).unwrap(), None);
        end.send(()).unwrap();
        other.join().unwrap();
        let found = get(&mut a, &table, 3).unwrap();
        assert_eq!(found.map(|r| r.u), commit.then_some(Some(333)));
        let check = engine.check_table(&table).unwrap();
        assert_eq!(check.rows, if commit { 5 } else { 4 });
    }
}

/// A version that was written over in its own transaction, or undone, is never seen.
#[test]
fn no_reader_sees_what_was_never_committed() {
    use stdx::{LocalAtomic, Ordering};
    let (engine, table) = world();
    engine.set_flush_log_at_trx_commit(0);
    engine.start_background().unwrap();
    let stop = Arc::new(LocalAtomic::new(false));
    let readers: Vec<_> = (0..3)
        .map(|n| {
            let (t, stop) = (Arc::clone(&table), Arc::clone(&stop));
            spawn(&engine, move |c| {
                let mut seen = 0;
                while !stop.load(Ordering::Relaxed) {
                    let found = match n {
                        0 => get(c, &t, 1).unwrap().into_iter().collect(),
                        n => rows(c, &t, n - 1).unwrap(),
                    };
                    for row in &found {
                        assert_eq!(row.a.unwrap() % 2, 0, "{row:?} was never committed");
                    }
                    assert!(n != 0 || found.len() == 1, "a row that was never deleted is gone");
                    seen += found.len();
                }
                seen
            })
        })
        .collect();
    let mut c = engine.client().unwrap();
    let until = Instant::now() + Duration::from_millis(700);
    let mut k = 0;
    while Instant::now() < until {
        k += 1;
        assert!(update(&mut c, &table, 1, 2 * k + 1, 1).unwrap());
        let mark = c.mark();
        assert!(update(&mut c, &table, 1, 2 * k + 3, 1).unwrap());
        c.rollback_to(mark).unwrap();
        if k % 3 == 0 {
            assert!(c.delete(&table, &key(&table, 1)).unwrap());
            insert(&mut c, &table, 1, 1).unwrap();
        }
        assert!(update(&mut c, &table, 1, 2 * k, 1).unwrap());
        if k % 4 == 0 { c.rollback().unwrap() } else { c.commit().unwrap() }
    }
    stop.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.join().unwrap() > 0);
    }
    engine.check_table(&table).unwrap();
    drop(c);
    engine.shutdown().unwrap();
}

/// Lets a closure that may be called from any thread use what only one thread may.
fn sync_cell<T>(value: T) -> sync::Mutex<T> {
    static CELL: instrument::MutexClass = instrument::MutexClass::new("test/cell");
    sync::Mutex::new(&CELL, value)
}
