//! The concurrent crash campaign: under the deterministic scheduler and on the simulated disk, several
//! clients run transactions on shared tables beside the engine's own threads, the power goes off at a
//! random moment, recovery (which may be cut off itself) follows, and an oracle compares.
//!
//! A failing seed is printed; `LIMPID_SEED=n cargo test -p engine --test one_runner` replays it,
//! `LIMPID_TRACE=1` tells each step, `LIMPID_SEEDS=n` runs n seeds whatever the time (else 1,000 seeds or
//! 120 s), `LIMPID_FIRST=n` begins with seed n.

#![allow(clippy::unwrap_used, clippy::disallowed_types)] // tests; the oracle's mutex is never waited for

#[path = "one_runner_parts/client.rs"]
mod client;
mod common;
#[path = "one_runner_parts/oracle.rs"]
mod oracle;

use client::{ACCOUNTS, Actor, World, key_of};
use common::Tables;
use engine::{Engine, Error, Table};
use host::{Latency, SimDisk};
use oracle::{Oracle, State};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use stdx::rng::Rng;
use sync::sched::{self, Options};

const SEEDS: u64 = 1000;
const TIME: Duration = Duration::from_secs(120);
const CRASHES: u64 = 3;

/// What happened in all runs together: a campaign in which something never happens proves nothing about it.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    crashes: u64,
    kills: u64,
    crashes_in_recovery: u64,
    torn_pages: u64,
    losers: u64,
    purged: u64,
    orphans: u64,
    doubtful: u64,
    commits: u64,
    rollbacks: u64,
    rollbacks_cut_off: u64,
    statement_rollbacks: u64,
    duplicates: u64,
    deadlocks: u64,
    timeouts: u64,
    full_disks: u64,
    transfers: u64,
    audits: u64,
    reads: u64,
    scans: u64,
    steps: u64,
    switches: u64,
}

/// What a crash has left, and what may be in it.
struct Crashed {
    disk: Arc<SimDisk>,
    allowed: Vec<State>,
    sum: i64,
}

/// Opens after a crash; recovery itself may be cut off by another crash, again and again.
fn reopen(
    rng: &mut Rng,
    mut disk: Arc<SimDisk>,
    totals: &mut Totals,
) -> (Arc<SimDisk>, Arc<Engine>, Tables) {
    loop {
        let again = rng.chance(1, 3);
        if again {
            disk.power_off_after(1 + rng.below(60));
        }
        match common::open(&disk) {
            Ok((engine, tables, report)) => {
                disk.heal();
                totals.torn_pages += report.torn_pages;
                totals.losers += report.losers;
                totals.purged += report.purged;
                totals.orphans += report.orphans.len() as u64;
                return (disk, engine, tables);
            }
            Err(Error::Io { .. }) if again => {
                totals.crashes_in_recovery += 1;
                disk = disk.crash();
            }
            Err(e) => panic!("recovery failed: {e}"),
        }
    }
}

/// All rows of all tables, which have been checked.
fn state_of(engine: &Arc<Engine>, tables: &Tables) -> State {
    let mut client = engine.client().unwrap();
    let mut state = State::new();
    for table in tables.values() {
        let rows = common::rows(&mut client, table, 0).unwrap();
        let check = engine.check_table(table).unwrap_or_else(|e| panic!("{}: {e}", table.id()));
        assert_eq!(check.rows, rows.len() as u64);
        for index in 1..table.indexes() {
            let mut others = common::rows(&mut client, table, index).unwrap();
            others.sort();
            assert_eq!(others, rows, "index {index} and the table {}", table.id());
        }
        state.extend(rows.into_iter().map(|r| ((key_of(table), r.id), r)));
    }
    state
}

fn explain(allowed: &[State], found: &State) {
    for (i, state) in allowed.iter().enumerate() {
        let missing: Vec<_> = state.iter().filter(|(k, r)| found.get(k) != Some(r)).collect();
        let excess: Vec<_> = found.iter().filter(|(k, r)| state.get(k) != Some(r)).collect();
        eprintln!("allowed {i}:\n  missing {missing:?}\n  not expected {excess:?}");
    }
}

fn verify(crashed: &Crashed, engine: &Arc<Engine>, tables: &Tables) -> State {
    let found = state_of(engine, tables);
    if !crashed.allowed.contains(&found) {
        explain(&crashed.allowed, &found);
        panic!("recovery found a state that may not be there");
    }
    let accounts = *tables.keys().next().expect("the accounts are the first table");
    let sum: i64 = found.iter().filter(|(k, _)| k.0 == accounts).filter_map(|(_, r)| r.a).sum();
    assert_eq!(sum, crashed.sum, "the accounts' sum after recovery");
    found
}

/// The first life: tables, and accounts with something on them.
fn set_up(seed: u64) -> Crashed {
    let disk = SimDisk::new(seed);
    let (engine, ..) = common::open(&disk).unwrap();
    let mut client = engine.client().unwrap();
    for _ in 0..2 {
        common::create_table(&engine, &mut client, false).unwrap();
        client.commit().unwrap();
    }
    drop(client);
    drop(engine);
    let (engine, tables, _) = common::open(&disk).unwrap();
    let mut client = engine.client().unwrap();
    let accounts = tables.values().next().unwrap();
    for id in 1..=ACCOUNTS {
        client.insert(accounts, &common::encode(accounts, &common::row(id, 1000, id, 20))).unwrap();
    }
    client.commit().unwrap();
    drop(client);
    let allowed = vec![state_of(&engine, &tables)];
    drop(engine);
    Crashed { disk, allowed, sum: 1000 * ACCOUNTS }
}

/// One life of the engine, from recovery to the next crash.
fn live(rng: &mut Rng, crashed: Crashed, totals: &mut Totals, trace: bool) -> Crashed {
    let (disk, engine, tables) = reopen(rng, Arc::clone(&crashed.disk), totals);
    let found = verify(&crashed, &engine, &tables);
    let mut all: Vec<Arc<Table>> = tables.into_values().collect();
    let accounts = all.remove(0);
    let world = Arc::new(World {
        disk: Arc::clone(&disk),
        engine: Arc::clone(&engine),
        accounts,
        items: all,
        oracle: Mutex::new(Oracle::new(found)),
        totals: Mutex::new(std::mem::take(totals)),
        sum: crashed.sum,
        trace,
    });
    engine.start_background().unwrap();
    if rng.chance(5, 6) {
        let most = [30, 100, 400][rng.below(3) as usize];
        disk.power_off_after(1 + rng.below(most));
    }
    if rng.chance(1, 8) {
        disk.enospc_after(rng.below(1 << 20));
    }
    let clients: Vec<_> = (0..2 + rng.below(4))
        .map(|n| {
            let actor = Actor::new(&world, n + 1, Rng::new(rng.next_u64())).expect("a free slot");
            host::thread::spawn(&format!("client{}", n + 1), move || actor.live()).unwrap()
        })
        .collect();
    clients.into_iter().for_each(|c| c.join().unwrap());
    disk.power_off();
    let killed = rng.chance(1, 5);
    let left = if killed { disk.kill() } else { disk.crash() };
    engine.stop_background();
    drop(engine);
    let world = Arc::into_inner(world).expect("the clients are gone");
    *totals = world.totals.into_inner().unwrap();
    totals.crashes += u64::from(!killed);
    totals.kills += u64::from(killed);
    let allowed = world.oracle.into_inner().unwrap().allowed();
    totals.doubtful += u64::from(allowed.len() > 1);
    Crashed { disk: left, allowed, sum: crashed.sum }
}

fn campaign(seed: u64, trace: bool) -> Totals {
    let mut rng = Rng::new(seed);
    let mut totals = Totals::default();
    let mut crashed = set_up(seed);
    let io_ns = [0, 20_000, 200_000][rng.below(3) as usize];
    crashed.disk.set_latency(Latency { read_ns: io_ns, write_ns: io_ns, sync_ns: 5 * io_ns });
    for _ in 0..=CRASHES {
        crashed = live(&mut rng, crashed, &mut totals, trace);
    }
    totals
}

fn run_seed(seed: u64, trace: bool, totals: &mut Totals) -> u64 {
    let step_ns = [200, 5_000, 50_000][(seed % 3) as usize];
    let outcome =
        sched::run(seed, Options { step_ns, ..Options::default() }, || campaign(seed, trace));
    let (hash, steps, switches) = (outcome.trace_hash, outcome.steps, outcome.switches);
    let t = outcome.unwrap();
    totals.add(&t);
    totals.steps += steps;
    totals.switches += switches;
    hash
}

impl Totals {
    fn add(&mut self, t: &Totals) {
        let pairs = [
            (&mut self.crashes, t.crashes),
            (&mut self.kills, t.kills),
            (&mut self.crashes_in_recovery, t.crashes_in_recovery),
            (&mut self.torn_pages, t.torn_pages),
            (&mut self.losers, t.losers),
            (&mut self.purged, t.purged),
            (&mut self.orphans, t.orphans),
            (&mut self.doubtful, t.doubtful),
            (&mut self.commits, t.commits),
            (&mut self.rollbacks, t.rollbacks),
            (&mut self.rollbacks_cut_off, t.rollbacks_cut_off),
            (&mut self.statement_rollbacks, t.statement_rollbacks),
            (&mut self.duplicates, t.duplicates),
            (&mut self.deadlocks, t.deadlocks),
            (&mut self.timeouts, t.timeouts),
            (&mut self.full_disks, t.full_disks),
            (&mut self.transfers, t.transfers),
            (&mut self.audits, t.audits),
            (&mut self.reads, t.reads),
            (&mut self.scans, t.scans),
        ];
        pairs.into_iter().for_each(|(sum, n)| *sum += n);
    }
}

/// Names the seed when a run panics.
struct Name(u64);

impl Drop for Name {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay: LIMPID_SEED={} cargo test -p engine --test one_runner", self.0);
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn concurrent_transactions_survive_every_crash() {
    let trace = number("LIMPID_TRACE").is_some();
    let mut totals = Totals::default();
    if let Some(seed) = number("LIMPID_SEED") {
        let _name = Name(seed);
        let hash = run_seed(seed, trace, &mut totals);
        println!("seed {seed}: trace {hash:x}, {totals:?}");
        return;
    }
    let (seeds, time) = match number("LIMPID_SEEDS") {
        Some(n) => (n, Duration::MAX),
        None => (SEEDS, TIME),
    };
    let start = Instant::now();
    let first = number("LIMPID_FIRST").unwrap_or(1);
    let mut done = 0;
    while done < seeds && start.elapsed() < time {
        let _name = Name(first + done);
        run_seed(first + done, trace, &mut totals);
        done += 1;
    }
    println!("{done} seeds in {:?}: {totals:?}", start.elapsed());
}
