//! A device that does not answer: no page of the pool becomes free. Statements wait, then fail or are killed;
//! nothing is half changed, and all goes on when the device does. Time is virtual.

#![allow(clippy::unwrap_used)] // tests

mod common;

use common::{create_table, encode, key, row};
use engine::{Client, Engine, Error, Table};
use host::{Disk, SimDisk};
use std::sync::Arc;
use std::time::Duration;
use sync::sched::{self, Options};

struct World {
    engine: Arc<Engine>,
    client: Client,
    table: Arc<Table>,
}

fn world(seed: u64) -> World {
    let disk = SimDisk::new(seed) as Arc<dyn Disk>;
    let (engine, _) = Engine::open(common::config(), disk).unwrap();
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    client.commit().unwrap();
    for id in 0..20 {
        client.insert(&table, &encode(&table, &row(id, id, id, 300))).unwrap();
    }
    client.commit().unwrap();
    World { engine, client, table }
}

/// Who needs a frame waits for cleaners, and there are none.
fn stall(engine: &Engine) {
    engine.pool().set_background_cleaner(true);
}

fn resume(engine: &Engine) {
    engine.pool().set_background_cleaner(false);
}

/// Inserts rows of `pad` bytes until one fails; its error, and how many went before.
fn insert_until_it_fails(w: &mut World, pad: usize) -> (Error, i64) {
    for n in 0..10_000 {
        let id = 1000 + n;
        let mark = w.client.mark();
        if let Err(e) = w.client.insert(&w.table, &encode(&w.table, &row(id, id, id, pad))) {
            // A statement's rollback may need a frame as well; then it is the engine's.
            if w.client.rollback_to(mark).is_err() {
                let _ = w.client.rollback();
                return (e, 0);
            }
            return (e, n);
        }
    }
    panic!("the pool is never full");
}

/// Everything is as it should be, `rows` rows; and goes on.
fn is_sound(w: &mut World, rows: i64) {
    resume(&w.engine);
    w.client.commit().unwrap();
    w.engine.step_cleaner().unwrap();
    assert!(w.engine.abandoned().is_empty());
    assert_eq!(w.engine.check_table(&w.table).unwrap().rows, rows as u64);
    let new = encode(&w.table, &row(5, -5, 5, 9000));
    assert!(w.client.update(&w.table, &key(&w.table, 5), &new).unwrap());
    w.client.commit().unwrap();
}

#[test]
fn a_statement_that_finds_no_frame_fails_and_changes_nothing() {
    // Splits, undo pages, values outside of their rows.
    for (seed, pad) in [(1, 300), (2, 2900), (3, 7000), (4, 30_000), (5, 200_000), (6, 700_000)] {
        let run = || {
            let mut w = world(seed);
            stall(&w.engine);
            let begun = host::clock::now();
            let (error, inserted) = insert_until_it_fails(&mut w, pad);
            assert!(matches!(error, Error::NoFrame), "{pad} bytes: {error}");
            let waited = host::clock::now() - begun;
            assert!(waited >= Duration::from_secs(30), "{waited:?}");
            is_sound(&mut w, 20 + inserted);
        };
        sched::run(seed, Options::default(), run).unwrap();
    }
}

#[test]
fn a_kill_ends_the_wait_for_a_frame() {
    let run = || {
        let mut w = world(7);
        stall(&w.engine);
        let slot = w.client.slot_index();
        let killer = {
            let engine = Arc::clone(&w.engine);
            host::thread::spawn("killer", move || {
                let _ = host::clock::sleep(Duration::from_secs(5));
                engine.slots().session(slot).kill(sync::KILL_QUERY);
            })
        };
        let begun = host::clock::now();
        let engine = Arc::clone(&w.engine);
        let (error, inserted) = {
            let _session = sync::enter(engine.slots().session(slot));
            insert_until_it_fails(&mut w, 30_000)
        };
        assert!(matches!(error, Error::Killed), "{error}");
        assert!(host::clock::now() - begun < Duration::from_secs(120));
        killer.unwrap().join().unwrap();
        w.client.slot().clear_query_kill();
        is_sound(&mut w, 20 + inserted);
    };
    sched::run(7, Options::default(), run).unwrap();
}
