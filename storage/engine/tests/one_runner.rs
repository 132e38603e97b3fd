//! The concurrent crash campaign: under the deterministic scheduler and on the simulated disk, several
//! clients run transactions on shared tables beside the engine's own threads, the power goes off at a
//! random moment, recovery (which may be cut off itself) follows, and an oracle compares.
//!
//! A failing seed is printed; `LIMPID_SEED=n cargo test -p engine --test one_runner` replays it,
//! `LIMPID_TRACE=1` tells each step, `LIMPID_SEEDS=n` runs n seeds whatever the time (else 1,000 seeds or
//! 60 s), `LIMPID_FIRST=n` begins with seed n.

#![allow(clippy::unwrap_used, clippy::disallowed_types)] // tests; the oracle's mutex is never waited for

#[path = "one_runner_parts/branches.rs"]
mod branches;
#[path = "one_runner_parts/client.rs"]
mod client;
mod common;
#[path = "one_runner_parts/oracle.rs"]
mod oracle;

use branches::{Held, name_of};
use client::{ACCOUNTS, Actor, ITEMS, World, definition, definition_key, key_of};
use common::{Registry, Tables};
use engine::{Branch, Engine, EngineConfig, Error, Notes, RecoveryPhase, Result, Table};
use host::{AlignedBuf, Disk, Latency, OpenMode, SimDisk};
use oracle::{Left, Oracle, State};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use stdx::rng::Rng;
use sync::sched::{self, Options, Outcome};

const SEEDS: u64 = 1000;
const TIME: Duration = Duration::from_secs(60);
const CRASHES: u64 = 3;
/// What all accounts have together.
const SUM: i64 = 1000 * ACCOUNTS;

/// What happened in all runs together: a campaign in which something never happens proves nothing about it.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    crashes: u64,
    kills: u64,
    crashes_in_recovery: u64,
    /// While redo waited for its pages or losers were rolled back in the background.
    crashes_before_recovered: u64,
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
    killed: u64,
    full_disks: u64,
    transfers: u64,
    audits: u64,
    reads: u64,
    scans: u64,
    /// Tables compared with what an old view saw at first.
    old_views: u64,
    /// Crashes while transactions were not purged.
    unpurged: u64,
    definitions: u64,
    /// Transactions of one change that was, or could have been, their commit.
    at_once: u64,
    prepared: u64,
    branches_found: u64,
    branches_committed: u64,
    branches_rolled_back: u64,
    steps: u64,
    switches: u64,
}

/// What a crash has left, and what may be in it.
struct Crashed {
    disk: Arc<SimDisk>,
    allowed: Vec<Left>,
}

/// Opens after a crash; recovery itself may be cut off by another crash, again and again.
fn reopen(
    rng: &mut Rng,
    mut disk: Arc<SimDisk>,
    totals: &mut Totals,
) -> (Arc<SimDisk>, Arc<Engine>, Registry) {
    loop {
        let again = rng.chance(1, 3);
        if again {
            disk.power_off_after(1 + rng.below(60));
        }
        match common::open_in_background(config(rng), &disk) {
            Ok((engine, registry, report)) => {
                totals.torn_pages += report.torn_pages;
                totals.losers += report.losers;
                totals.purged += report.purged;
                totals.orphans += report.orphans.len() as u64;
                return (disk, engine, registry);
            }
            Err(_) if disk.is_off() => {
                totals.crashes_in_recovery += 1;
                disk = disk.crash();
            }
            Err(e) => panic!("recovery failed: {e}"),
        }
    }
}

fn config(rng: &mut Rng) -> EngineConfig {
    EngineConfig {
        recovery_threads: 1 + rng.below(3) as usize,
        recovery_memory_bytes: [0, 1 << 14, 1 << 16][rng.below(3) as usize],
        log_ring_bytes: 128 << 10 << rng.below(2),
        notes: match number("LIMPID_TRACE") {
            Some(_) => Notes::to(|level, text| eprintln!("{level:?}: {text}")),
            None => Notes::default(),
        },
        ..common::config()
    }
}

/// All rows of all tables, as a client sees them.
fn visible(engine: &Arc<Engine>, tables: &Tables) -> Result<State> {
    let mut client = engine.client()?;
    let mut state = State::new();
    for table in tables.values() {
        let rows = common::rows(&mut client, table, 0)?;
        for index in 1..table.indexes() {
            let mut others = common::rows(&mut client, table, index)?;
            others.sort();
            assert_eq!(others, rows, "index {index} and the table {}", table.id());
        }
        state.insert(definition_key(table), definition(table));
        state.extend(rows.into_iter().map(|r| ((key_of(table), r.id), r)));
    }
    Ok(state)
}

/// The tables are sound, and nothing is left to undo or purge, but in those that branches have changed.
fn check_tables(engine: &Engine, tables: &Tables, left: &Left) -> Result<()> {
    for table in tables.values().filter(|table| !left.is_in_a_branch(key_of(table))) {
        let check = engine.check_table(table)?;
        let rows = left.rows.keys().filter(|k| k.0 == key_of(table)).count();
        assert_eq!(check.rows, rows as u64, "table {}", table.id());
    }
    Ok(())
}

fn explain(allowed: &[Left], (found, branches): (&State, &[u64])) {
    for (i, Left { rows: state, branches: expected }) in allowed.iter().enumerate() {
        let missing: Vec<_> = state.iter().filter(|(k, r)| found.get(k) != Some(r)).collect();
        let excess: Vec<_> = found.iter().filter(|(k, r)| state.get(k) != Some(r)).collect();
        eprintln!("allowed {i}:\n  missing {missing:?}\n  not expected {excess:?}");
        eprintln!("  branches {branches:?} of {:?}", expected.keys());
    }
}

/// What recovery has left is allowed. `None`: the power went off meanwhile.
fn verify(
    crashed: &Crashed,
    disk: &SimDisk,
    engine: &Arc<Engine>,
    tables: &Tables,
    branches: &[Branch],
) -> Option<Left> {
    let found = match visible(engine, tables) {
        Ok(found) => found,
        Err(e) => {
            assert!(disk.is_off(), "after recovery: {e}");
            return None;
        }
    };
    let mut names: Vec<u64> = branches.iter().map(name_of).collect();
    names.sort_unstable();
    let is_found = |left: &&Left| left.rows == found && left.branches.keys().eq(&names);
    let Some(left) = crashed.allowed.iter().find(is_found) else {
        explain(&crashed.allowed, (&found, &names));
        panic!("recovery found a state that may not be there");
    };
    let accounts = tables.values().next().expect("the accounts are the first table");
    assert_eq!(sum(&found, accounts), SUM, "the accounts' sum after recovery");
    Some(left.clone())
}

fn sum(state: &State, accounts: &Table) -> i64 {
    state.iter().filter(|(k, _)| k.0 == key_of(accounts)).filter_map(|(_, r)| r.a).sum()
}

/// Waits for the end of recovery in the background, and looks at the tables closely. `false`: the power
/// went off meanwhile.
fn settle(
    disk: &SimDisk,
    engine: &Engine,
    tables: &Tables,
    left: &Left,
    totals: &mut Totals,
) -> bool {
    // What only reads from a dead disk tries again for ever.
    while engine.recovery_progress().phase != RecoveryPhase::Done && !disk.is_off() {
        let _ = host::clock::sleep(Duration::from_millis(2));
    }
    if disk.is_off() {
        return false;
    }
    let done = engine.wait_recovered().and_then(|report| {
        totals.losers += report.losers;
        totals.purged += report.purged;
        totals.orphans += report.orphans.len() as u64;
        check_tables(engine, tables, left)
    });
    match done {
        Ok(()) => true,
        Err(_) if disk.is_off() => false,
        Err(e) => panic!("after recovery: {e}"),
    }
}

/// The first life, the same for all seeds: accounts with something on them, and two tables of items that
/// with their indexes do not fit into the pool.
fn first_life() -> (Arc<SimDisk>, Left) {
    let disk = SimDisk::new(1);
    let (engine, ..) = common::open(&disk).unwrap();
    let mut client = engine.client().unwrap();
    let mut rng = Rng::new(1);
    for number in 0..3 {
        let table = common::create_table(&engine, &mut client, false).unwrap();
        client.commit().unwrap();
        let ids = if number == 0 { 1..ACCOUNTS + 1 } else { 0..ITEMS as i64 };
        for id in ids.filter(|id| number == 0 || id % 2 == 0) {
            let pad = rng.below(3000) as usize;
            client
                .insert(&table, &common::encode(&table, &common::row(id, 1000, id, pad)))
                .unwrap();
        }
        client.commit().unwrap();
    }
    drop(client);
    let tables = common::open_tables(&engine).unwrap();
    let state = visible(&engine, &tables).unwrap();
    engine.shutdown().unwrap();
    (disk, Left { rows: state, ..Left::default() })
}

/// The disk of the first life, copied. Runs of several tests share it, so they take turns by a lock of the
/// system and without sync points: a thread of one run cannot wait for a thread of another.
fn set_up(seed: u64) -> Crashed {
    static FIRST: OnceLock<Mutex<(Arc<SimDisk>, Left)>> = OnceLock::new();
    let first = FIRST.get_or_init(|| Mutex::new(first_life()));
    let first = first.lock().unwrap();
    let disk = sched::quiet(|| first.0.copy(seed));
    Crashed { disk, allowed: vec![first.1.clone()] }
}

/// One life of the engine, from recovery to the next crash.
fn live(rng: &mut Rng, mut crashed: Crashed, totals: &mut Totals, trace: bool) -> Crashed {
    let (disk, engine, registry) = reopen(rng, Arc::clone(&crashed.disk), totals);
    let tables = registry.tables().clone();
    let branches = engine.take_branches();
    totals.branches_found += branches.len() as u64;
    let found = verify(&crashed, &disk, &engine, &tables, &branches);
    let patient = rng.chance(1, 2);
    let alive = found.filter(|left| !patient || settle(&disk, &engine, &tables, left, totals));
    if let Some(left) = alive.filter(|_| disk.heal_if_on()) {
        let trouble = Trouble::draw(rng);
        let life = (&disk, &engine, registry);
        crashed.allowed = work(rng, life, (left, branches), &trouble, totals, trace);
    }
    disk.power_off();
    let phase = engine.recovery_progress().phase;
    totals.crashes_before_recovered += u64::from(phase != RecoveryPhase::Done);
    let killed = rng.chance(1, 5);
    crashed.disk = if killed { disk.kill() } else { disk.crash() };
    totals.crashes += u64::from(!killed);
    totals.kills += u64::from(killed);
    engine.stop_background();
    crashed
}

/// What may go wrong while clients are at work.
struct Trouble {
    power_off_after: Option<u64>,
    full_after: Option<u64>,
    housekeeper: bool,
    old_views: bool,
    branches: bool,
}

impl Trouble {
    const NONE: Trouble = Trouble {
        power_off_after: None,
        full_after: None,
        housekeeper: false,
        old_views: false,
        branches: false,
    };

    fn draw(rng: &mut Rng) -> Trouble {
        let most = [8, 30, 100, 400][rng.below(4) as usize];
        let power_off_after = 1 + rng.below(most);
        let full_after = rng.below(1 << 20);
        Trouble {
            power_off_after: rng.chance(5, 6).then_some(power_off_after),
            full_after: rng.chance(1, 8).then_some(full_after),
            housekeeper: rng.chance(1, 2),
            old_views: rng.chance(1, 2),
            branches: true,
        }
    }
}

/// Clients at work until the power goes off or they have done enough; what may be there then.
fn work(
    rng: &mut Rng,
    (disk, engine, registry): (&Arc<SimDisk>, &Arc<Engine>, Registry),
    (found, branches): (Left, Vec<Branch>),
    trouble: &Trouble,
    totals: &mut Totals,
    trace: bool,
) -> Vec<Left> {
    let mut own: Vec<Arc<Table>> = registry.tables().values().cloned().collect();
    let mut shared = own.drain(..3);
    let mut next = || shared.next().expect("the first life made three tables");
    let (accounts, items) = (next(), [next(), next()]);
    drop(shared);
    let (disk, engine) = (Arc::clone(disk), Arc::clone(engine));
    let sum = sum(&found.rows, &accounts);
    let (oracle, trx_by_name) = Oracle::new(found);
    let held = |branch| Held { trx: trx_by_name[&name_of(&branch)], branch };
    let held: Vec<Held> = branches.into_iter().map(held).collect();
    let world = Arc::new(World {
        disk,
        engine,
        registry,
        accounts,
        items,
        oracle: Mutex::new(oracle),
        prepares: trouble.branches,
        branches: Mutex::new(held),
        totals: Mutex::new(std::mem::take(totals)),
        sum,
        trace,
    });
    trouble.power_off_after.inspect(|n| world.disk.power_off_after(*n));
    trouble.full_after.inspect(|n| world.disk.enospc_after(*n));
    let mut own = Some(own);
    let mut clients: Vec<_> = (0..2 + rng.below(4))
        .map(|n| {
            let actor = Actor::new(&world, n + 1, Rng::new(rng.next_u64()), own.take());
            host::thread::spawn(&format!("client{}", n + 1), move || actor.live()).unwrap()
        })
        .collect();
    if trouble.housekeeper {
        let (world, rng) = (Arc::clone(&world), Rng::new(rng.next_u64()));
        clients.push(host::thread::spawn("housekeeper", move || keep_house(&world, rng)).unwrap());
    }
    if trouble.old_views {
        let (world, rng) = (Arc::clone(&world), Rng::new(rng.next_u64()));
        clients.push(host::thread::spawn("viewer", move || look_back(&world, rng)).unwrap());
    }
    clients.into_iter().for_each(|c| c.join().unwrap());
    let unpurged = world.engine.history_len() > 0;
    world.count(|t| t.unpurged += u64::from(unpurged));
    let world = Arc::into_inner(world).expect("the clients are gone");
    *totals = world.totals.into_inner().unwrap();
    let allowed = world.oracle.into_inner().unwrap().allowed();
    totals.doubtful += u64::from(allowed.len() > 1);
    if !world.disk.is_off() {
        still_alive(&world.engine, &world.registry, &world.disk, &allowed, totals);
    }
    allowed
}

/// The clients have done enough before the power went off: the state is exactly known.
fn still_alive(
    engine: &Arc<Engine>,
    registry: &Registry,
    disk: &SimDisk,
    allowed: &[Left],
    totals: &mut Totals,
) {
    let tables = registry.tables().clone();
    match visible(engine, &tables) {
        Ok(found) => {
            if found != allowed[0].rows {
                explain(allowed, (&found, &[]));
                panic!("the clients' last state is not there");
            }
            settle(disk, engine, &tables, &allowed[0], totals);
        }
        Err(e) => assert!(disk.is_off(), "{e}"),
    }
}

/// Holds views for a while: what they see stays as it was, and the accounts have their sum in each.
fn look_back(world: &World, mut rng: Rng) {
    for _ in 0..1 + rng.below(4) {
        let Ok(mut client) = common::viewer(&world.engine) else { return };
        let mut seen = Vec::new();
        for look in 0..2 + rng.below(4) {
            for (n, table) in [&world.accounts, &world.items[0], &world.items[1]].iter().enumerate()
            {
                for index in 0..3 {
                    let rows = match common::seen(&client, table, index) {
                        Ok(rows) => rows,
                        Err(e) if world.disk.is_off() || matches!(e, Error::NoSpace { .. }) => {
                            return;
                        }
                        Err(e) => panic!("a view: {e}"),
                    };
                    if n == 0 {
                        let sum: i64 = rows.iter().filter_map(|r| r.a).sum();
                        assert_eq!(sum, world.sum, "the accounts' sum in a view");
                    }
                    if seen.len() == n {
                        seen.push(rows);
                    } else {
                        assert!(seen[n] == rows, "a view has changed, look {look} index {index}");
                    }
                    world.count(|t| t.old_views += 1);
                }
            }
            let _ = host::clock::sleep(Duration::from_micros(rng.below(20_000)));
        }
        let _ = client.rollback();
    }
}

/// Writes pages and moves the checkpoint more often than there is need to.
fn keep_house(world: &World, mut rng: Rng) {
    for _ in 0..rng.below(30) {
        let _ = host::clock::sleep(Duration::from_micros(rng.below(20_000)));
        let engine = &world.engine;
        let done =
            if rng.chance(1, 4) { engine.checkpoint().map(|_| 0) } else { engine.step_cleaner() };
        if let Err(e) = done {
            let expected = world.disk.is_off() || matches!(e, Error::NoSpace { .. });
            assert!(expected, "housekeeping: {e}");
        }
    }
}

fn campaign(seed: u64, mut crashed: Crashed, trace: bool) -> Totals {
    let mut rng = Rng::new(seed);
    let mut totals = Totals::default();
    let io_ns = [0, 20_000, 200_000][rng.below(3) as usize];
    crashed.disk.set_latency(Latency { read_ns: io_ns, write_ns: io_ns, sync_ns: 5 * io_ns });
    for _ in 0..=CRASHES {
        crashed = live(&mut rng, crashed, &mut totals, trace);
    }
    totals
}

/// A sync that the server forgets, or the disk does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forgotten {
    Nothing,
    Redo,
    Data,
    Doublewrite,
    /// The names of new files.
    Names,
}

impl Forgotten {
    fn apply(self, disk: &SimDisk) {
        let files: &[&str] = match self {
            Self::Nothing => &[],
            Self::Redo => &["redo/"],
            Self::Data => &["space_", "system", "undo"],
            Self::Doublewrite => &["doublewrite"],
            Self::Names => return disk.ignore_dir_syncs(),
        };
        files.iter().for_each(|prefix| disk.ignore_syncs_of(prefix));
    }
}

fn simulate(seed: u64, forgotten: Forgotten, trace: bool) -> Outcome<Totals> {
    let step_ns = [200, 5_000, 50_000][(seed % 3) as usize];
    let first = set_up(seed);
    forgotten.apply(&first.disk);
    let options = Options { step_ns, steps_max: 10_000_000, ..Options::default() };
    sched::run(seed, options, || campaign(seed, first, trace))
}

fn run_seed(seed: u64, trace: bool, totals: &mut Totals) -> u64 {
    let outcome = simulate(seed, Forgotten::Nothing, trace);
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
            (&mut self.crashes_before_recovered, t.crashes_before_recovered),
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
            (&mut self.killed, t.killed),
            (&mut self.definitions, t.definitions),
            (&mut self.full_disks, t.full_disks),
            (&mut self.transfers, t.transfers),
            (&mut self.audits, t.audits),
            (&mut self.reads, t.reads),
            (&mut self.scans, t.scans),
            (&mut self.old_views, t.old_views),
            (&mut self.unpurged, t.unpurged),
            (&mut self.at_once, t.at_once),
            (&mut self.prepared, t.prepared),
            (&mut self.branches_found, t.branches_found),
            (&mut self.branches_committed, t.branches_committed),
            (&mut self.branches_rolled_back, t.branches_rolled_back),
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
fn the_campaign_of_concurrent_transactions_survives_every_crash() {
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
    assert!(done >= 20 || seeds < 20, "only {done} seeds in {time:?}");
    let t = &totals;
    let common = [t.crashes, t.kills, t.crashes_in_recovery, t.losers, t.purged, t.doubtful];
    let views = [t.old_views, t.unpurged];
    assert!(done < 20 || !views.contains(&0), "no view, or nothing was left unpurged: {t:?}");
    assert!(done < 20 || !common.contains(&0), "a common trouble never happened: {t:?}");
    let rarer = [t.torn_pages, t.orphans, t.deadlocks, t.killed, t.rollbacks_cut_off];
    assert!(done < 100 || !rarer.contains(&0), "a kind of trouble never happened: {t:?}");
    let ends = [t.branches_committed, t.branches_rolled_back];
    let branches = [t.prepared, t.branches_found];
    assert!(done < 20 || !branches.contains(&0), "no branch was prepared, or found: {t:?}");
    assert!(done < 100 || !ends.contains(&0), "no branch was ended in some way: {t:?}");
    let rare = [t.full_disks, t.timeouts];
    assert!(done < 400 || !rare.contains(&0), "a rare trouble never happened: {t:?}");
}

#[test]
fn a_seed_replays() {
    for seed in 1..=3 {
        let run = || {
            let mut totals = Totals::default();
            (run_seed(seed, false, &mut totals), format!("{totals:?}"))
        };
        assert_eq!(run(), run(), "seed {seed}");
    }
}

/// The campaign can fail: with one kind of sync forgotten it does, within so many seeds.
fn fails_without(forgotten: Forgotten, seeds: u64) {
    let failure = (1..=seeds).find_map(|seed| {
        simulate(seed, forgotten, false).result.err().map(|failure| (seed, failure))
    });
    let Some((seed, failure)) = failure else {
        panic!("{seeds} seeds have passed without the syncs of {forgotten:?}");
    };
    println!("without {forgotten:?} seed {seed} fails: {failure}");
}

#[test]
fn without_the_sync_of_the_log_the_campaign_fails() {
    fails_without(Forgotten::Redo, 10);
}

#[test]
fn without_the_sync_of_data_files_the_campaign_fails() {
    fails_without(Forgotten::Data, 40);
}

#[test]
fn without_the_sync_of_the_doublewrite_file_the_campaign_fails() {
    fails_without(Forgotten::Doublewrite, 100);
}

#[test]
fn without_the_sync_of_new_names_the_campaign_fails() {
    fails_without(Forgotten::Names, 40);
}

/// Everything in the pages of all tablespaces, by file.
fn pages(disk: &SimDisk) -> BTreeMap<String, AlignedBuf> {
    let names = disk.list().unwrap().into_iter().filter(|name| name.ends_with(".lim"));
    names
        .map(|name| {
            let file = disk.open(&name, OpenMode::Read).unwrap();
            let mut bytes = AlignedBuf::zeroed(file.len().unwrap() as usize);
            file.read_exact_at(&mut bytes, 0).unwrap();
            (name, bytes)
        })
        .collect()
}

/// Clients at work; then the pages as a kill leaves them, as the live engine writes them, and as recovery
/// makes them of what the kill left. With `large` memory no page is written before the kill: recovery has
/// the pages of the beginning and the whole log.
fn three_times_the_pages(seed: u64, large: bool) -> [BTreeMap<String, AlignedBuf>; 3] {
    let config = || match large {
        true => EngineConfig { pool_bytes: 4096 * base::PAGE_BYTES, ..common::config() },
        false => common::config(),
    };
    let mut rng = Rng::new(seed);
    let first = set_up(seed);
    let (engine, tables, _) = common::open_with(config(), &first.disk).unwrap();
    let registry = Registry::new(tables);
    let life = (&first.disk, &engine, registry);
    let state = (first.allowed[0].clone(), Vec::new());
    let trouble = Trouble { housekeeper: !large, ..Trouble::NONE };
    if !large {
        engine.start_background().unwrap();
    }
    work(&mut rng, life, state, &trouble, &mut Totals::default(), false);
    engine.stop_background();
    // Else both would purge the rest, each with changes of its own.
    engine.purge_all().unwrap();
    engine.log().flush_to(engine.log().tail()).unwrap();
    let unwritten = first.disk.kill();
    let before = pages(&unwritten);
    engine.shutdown().unwrap();
    let (recovered, _, report) = common::open_with(config(), &unwritten).unwrap();
    assert!(!large || report.redo_bytes > 1000, "{report:?}");
    assert_eq!(report.losers, 0);
    recovered.shutdown().unwrap();
    [before, pages(&first.disk), pages(&unwritten)]
}

#[test]
fn redo_gives_the_live_pages_byte_for_byte() {
    let mut restored = 0;
    for seed in 1..=30 {
        let run = || three_times_the_pages(seed, seed % 2 == 0);
        let [before, live, recovered] = sched::run(seed, Options::default(), run).unwrap();
        assert!(live.keys().eq(recovered.keys()), "seed {seed}");
        for (name, live) in &live {
            let recovered = &recovered[name];
            assert_eq!(live.len(), recovered.len(), "seed {seed}: {name}");
            let both = live.chunks(base::PAGE_BYTES).zip(recovered.chunks(base::PAGE_BYTES));
            for (page, (a, b)) in both.enumerate() {
                let differs = a.iter().zip(b).position(|(a, b)| a != b);
                assert_eq!(differs, None, "seed {seed}: {name} page {page}");
                let before =
                    before.get(name).and_then(|all| all.chunks(base::PAGE_BYTES).nth(page));
                restored += u64::from(before != Some(a));
            }
        }
    }
    println!("{restored} pages restored");
    assert!(restored > 300, "only {restored} pages were of the log");
}
