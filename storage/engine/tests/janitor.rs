//! What clients could not finish is finished in the background, and nothing else waits for it: under the
//! deterministic scheduler, on a log that a rollback fills several times over.
//!
//! Seeds 1, 2, 4 and 6 end here and hang on the state before the janitor (d915ce2): the horizon rolls one
//! transaction back and holds the mutex while it waits for a checkpoint, the checkpointer sees the other one and
//! waits for the mutex.
//!
//! `LIMPID_SEED=n cargo test -p engine --test janitor` plays one seed.

#![allow(clippy::unwrap_used)] // tests

mod common;

use common::{create_table, encode, row};
use engine::{Client, Engine, EngineConfig, Result, Table};
use host::{Disk, Latency, SimDisk};
use std::sync::Arc;
use std::time::Duration;
use stdx::rng::Rng;
use sync::sched::{self, Options};

const SEEDS: u64 = 3;
const ROWS: i64 = 6000;
/// Rows that the second transaction changes.
const FEW: i64 = 50;
/// Virtual time, in seconds.
const PATIENCE_S: u64 = 600;

fn seeds() -> std::ops::RangeInclusive<u64> {
    match std::env::var("LIMPID_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..=seed,
        None => 1..=SEEDS,
    }
}

/// Waits, in virtual time, until `done`.
fn wait_until(what: &str, done: impl Fn() -> bool) {
    for _ in 0..PATIENCE_S * 100 {
        if done() {
            return;
        }
        let _ = host::clock::sleep(Duration::from_millis(10));
    }
    panic!("{what} in {PATIENCE_S} s");
}

/// Changes these rows.
fn change(client: &mut Client, table: &Table, ids: impl Iterator<Item = i64>) -> Result<()> {
    for id in ids {
        let new = encode(table, &row(id, -id, id, 2900));
        assert!(client.update(table, &common::key(table, id), &new)?);
    }
    Ok(())
}

/// Transactions, one of them of several logs' size, whose clients cannot roll them back; what is listed meanwhile.
fn live(seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    let disk = SimDisk::new(seed);
    let cfg = EngineConfig { redo_capacity_bytes: 2 << 20, ..common::config() };
    let (engine, _) = Engine::open(cfg, Arc::clone(&disk) as Arc<dyn Disk>)?;
    let io_ns = [200_000, 1_000_000][rng.below(2) as usize];
    disk.set_latency(Latency { read_ns: io_ns, write_ns: io_ns, sync_ns: 5 * io_ns });
    engine.start_background()?;
    let mut client = engine.client()?;
    let table = create_table(&engine, &mut client, false)?;
    client.commit()?;
    for id in 0..ROWS {
        client.insert(&table, &encode(&table, &row(id, id, id, 2800)))?;
    }
    client.commit()?;
    // While one is rolled back, the other waits for its turn.
    let mut second = engine.client()?;
    change(&mut second, &table, 0..FEW)?;
    change(&mut client, &table, FEW..ROWS)?;
    let full = rng.chance(1, 2);
    if full {
        disk.enospc_after(rng.below(1 << 18));
    }
    disk.fail_next_reads(1000);
    assert!(client.rollback().is_err(), "the disk fails");
    assert!(second.rollback().is_err(), "the disk fails");
    disk.fail_next_reads(0);
    assert_eq!(engine.abandoned().len(), 2);
    if full {
        let _ = host::clock::sleep(Duration::from_secs(rng.below(10)));
        disk.make_room();
    }
    // Others go on, are listed, and the checkpoint moves.
    let other = create_table(&engine, &mut client, false)?;
    client.commit()?;
    wait_until("the rollback has not ended", || engine.abandoned().is_empty());
    engine.drop_table_storage(other.storage().space)?;
    let rows = common::rows(&mut client, &table, 0)?;
    assert!(rows.len() == ROWS as usize && rows.iter().all(|r| r.a == Some(r.id)));
    drop((client, second));
    engine.shutdown()
}

#[test]
fn a_rollback_of_several_logs_ends_beside_checkpoints() {
    for seed in seeds() {
        let options = Options { step_ns: 2_000, steps_max: 100_000_000, ..Options::default() };
        let outcome = sched::run(seed, options, || live(seed));
        match outcome.result {
            Ok(done) => done.unwrap_or_else(|e| panic!("seed {seed}: {e}")),
            Err(failure) => panic!("seed {seed}: {failure}"),
        }
    }
}

/// The client that dropped an index could not free it; a table is dropped, and the server crashes, in the middle.
#[test]
fn a_dropped_index_is_freed_in_steps() {
    let disk = SimDisk::new(1);
    let (engine, _) = Engine::open(common::config(), Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    let mut client = engine.client().unwrap();
    let table = create_table(&engine, &mut client, false).unwrap();
    client.commit().unwrap();
    for id in 0..20_000 {
        client.insert(&table, &encode(&table, &row(id, id, id, 100))).unwrap();
    }
    client.commit().unwrap();
    let other = create_table(&engine, &mut client, false).unwrap();
    client.commit().unwrap();
    while engine.step_cleaner().unwrap() > 0 {}
    client.insert(&other, &encode(&other, &row(1, 1, 1, 1))).unwrap();
    let index = table.spec().secondaries[0].id;
    engine.drop_index(&mut client, &table, index).unwrap();
    disk.fail_next_reads(1000);
    client.commit().unwrap();
    disk.fail_next_reads(0);
    assert!(!engine.is_settled(), "the disk fails");
    assert_eq!(engine.step_janitor(1), 1);
    engine.drop_table_storage(other.storage().space).unwrap();
    assert!(!engine.is_settled());
    let mut steps = 0;
    while !engine.is_settled() {
        engine.step_janitor(1);
        steps += 1;
    }
    assert!(steps >= 2, "{steps} steps");
    assert_eq!(common::rows(&mut client, &table, 0).unwrap().len(), 20_000);
}
