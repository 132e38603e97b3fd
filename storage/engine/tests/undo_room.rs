//! The crash campaign of disk space that undo gives back: long histories of several clients behind views,
//! transactions that a crash makes losers, extents given back as soon as may be, a crash at a random moment,
//! and on from there.
//!
//! A failing seed is printed and replayed by `LIMPID_SEED=n cargo test -p engine --test undo_room`;
//! `LIMPID_SEEDS=n` runs n seeds whatever the time (else 60 seeds or 40 s).

#![allow(clippy::unwrap_used)] // tests

mod common;

use common::Row;
use engine::{Client, Engine, EngineConfig, Error, Result, Table};
use host::SimDisk;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stdx::rng::Rng;

const SEEDS: u64 = 60;
const TIME: Duration = Duration::from_secs(40);
const CRASHES: u64 = 3;
const CLIENTS: usize = 3;
/// Rows of a client, which nobody else changes.
const ROWS: i64 = 6;
/// So a change of one leaves so much undo.
const PAD: usize = 7000;

/// The rows, by id.
type Rows = BTreeMap<i64, Row>;

/// A campaign in which something never happens proves nothing about it.
#[derive(Debug, Default)]
struct Totals {
    crashes: u64,
    given_back: u64,
    /// Extents that were given back and had no room in the file.
    again: u64,
    losers: u64,
    views: u64,
    full_disks: u64,
    /// Crashes after something was given back in the same life.
    crashes_behind: u64,
}

struct World {
    seed: u64,
    rng: Rng,
    disk: Arc<SimDisk>,
    engine: Arc<Engine>,
    table: Arc<Table>,
    clients: Vec<Client>,
    /// What each client has committed, and what it has not yet.
    committed: Vec<Rows>,
    open: Vec<Rows>,
    viewer: Option<(Client, Vec<Row>)>,
}

fn wide_row(rng: &mut Rng, id: i64) -> Row {
    let seed = rng.next_u64() as u8;
    let pad = (0..PAD).map(|i| seed ^ (i >> 3) as u8).collect();
    Row { id, a: Some(rng.below(20) as i64), u: Some(id), pad }
}

impl World {
    fn open(seed: u64, rng: Rng, disk: &Arc<SimDisk>, totals: &mut Totals) -> Result<World> {
        // A loser's rollback waits for the log, and there is no thread to make room in it.
        let pool_bytes = 160 * base::PAGE_BYTES;
        let config = EngineConfig { pool_bytes, redo_capacity_bytes: 64 << 20, ..common::config() };
        let (engine, tables, report) = common::open_with(config, disk)?;
        assert_eq!(report.damaged_pages, 0, "seed {seed}");
        totals.losers += report.losers;
        let mut clients: Vec<Client> =
            (0..CLIENTS).map(|_| engine.client()).collect::<Result<_>>()?;
        let table = match tables.values().next() {
            Some(table) => Arc::clone(table),
            None => {
                let table = common::create_table(&engine, &mut clients[0], false)?;
                clients[0].commit()?;
                table
            }
        };
        let committed = vec![Rows::new(); CLIENTS];
        let (open, disk) = (committed.clone(), Arc::clone(disk));
        Ok(World { seed, rng, disk, engine, table, clients, committed, open, viewer: None })
    }

    fn all(&self) -> Vec<Row> {
        let mut all: Vec<Row> = self.committed.iter().flat_map(|m| m.values().cloned()).collect();
        all.sort();
        all
    }

    /// A client changes its rows many times over.
    fn change(&mut self, who: usize) -> Result<()> {
        for _ in 0..20 + self.rng.below(160) {
            let id = who as i64 * ROWS + 1 + self.rng.below(ROWS as u64) as i64;
            let row = wide_row(&mut self.rng, id);
            let bytes = common::encode(&self.table, &row);
            match self.open[who].contains_key(&id) {
                true => assert!(self.clients[who].update(
                    &self.table,
                    &common::key(&self.table, id),
                    &bytes
                )?),
                false => self.clients[who].insert(&self.table, &bytes)?,
            }
            self.open[who].insert(id, row);
            // As a cleaner would; or else too few frames could be had.
            if self.rng.chance(1, 16) {
                self.engine.pool().clean_some(64)?;
            }
        }
        Ok(())
    }

    /// An error carries the client whose commit may have happened.
    fn step(&mut self, totals: &mut Totals) -> std::result::Result<(), (Error, Option<usize>)> {
        let plain = |e| (e, None);
        let who = self.rng.below(CLIENTS as u64) as usize;
        match self.rng.below(16) {
            0..=3 => self.change(who).map_err(plain),
            4..=6 => {
                self.clients[who].commit().map_err(|e| (e, Some(who)))?;
                self.committed[who] = self.open[who].clone();
                Ok(())
            }
            7 => {
                self.make_room_in_the_log().map_err(plain)?;
                self.clients[who].rollback().map_err(plain)?;
                self.open[who] = self.committed[who].clone();
                Ok(())
            }
            8 => self.look_back(totals).map_err(plain),
            9..=11 => {
                for _ in 0..self.rng.below(8) {
                    self.engine.step_cleaner().map_err(plain)?;
                }
                if self.rng.chance(2, 3) {
                    self.engine.checkpoint().map_err(plain)?;
                }
                if self.rng.chance(1, 3) {
                    self.give_back(totals).map_err(plain)?;
                }
                // A crash now loses what purge has logged.
                if self.rng.chance(1, 8) {
                    self.disk.power_off();
                }
                Ok(())
            }
            _ => self.give_back(totals).map_err(plain),
        }
    }

    /// Before a rollback, which waits for it; there is no thread to do it.
    fn make_room_in_the_log(&self) -> Result<()> {
        while self.engine.pool().clean_some(64)? > 0 {}
        self.engine.checkpoint().map(drop)
    }

    fn look_back(&mut self, totals: &mut Totals) -> Result<()> {
        let Some((viewer, expected)) = &self.viewer else {
            self.viewer = Some((common::viewer(&self.engine)?, self.all()));
            return Ok(());
        };
        assert!(common::seen(viewer, &self.table, 0)? == *expected, "seed {}: a view", self.seed);
        totals.views += 1;
        if self.rng.chance(1, 2) {
            self.viewer = None;
        }
        Ok(())
    }

    fn give_back(&mut self, totals: &mut Totals) -> Result<()> {
        self.engine.settings().set_undo_kept(self.rng.below(3) as u32, 0);
        if self.rng.chance(1, 3) {
            self.engine.purge_all()?;
        }
        for _ in 0..self.rng.below(6) {
            let before = self.engine.undo_given_back();
            self.engine.step_undo_room()?;
            let after = self.engine.undo_given_back();
            totals.given_back += u64::from(after.bytes > before.bytes);
            totals.again +=
                u64::from(after.extents > before.extents && after.bytes == before.bytes);
        }
        Ok(())
    }

    /// Runs until the disk is gone or enough was done; what it leaves, and what may be found there.
    fn run(mut self, totals: &mut Totals) -> (Arc<SimDisk>, Vec<Vec<Row>>, Rng) {
        if self.rng.chance(3, 4) {
            self.disk.power_off_after(200 + self.rng.below(3000));
        }
        if self.rng.chance(1, 5) {
            self.disk.enospc_after(self.rng.below(4 << 20));
        }
        let mut allowed = vec![];
        for _ in 0..10 + self.rng.below(80) {
            match self.step(totals) {
                Ok(()) => {}
                Err((Error::NoSpace { .. }, _)) => {
                    totals.full_disks += 1;
                    if !self.disk.heal_if_on() {
                        break;
                    }
                    self.make_room_in_the_log().unwrap();
                    for who in 0..CLIENTS {
                        self.clients[who].rollback().unwrap();
                        self.open[who] = self.committed[who].clone();
                    }
                }
                Err((Error::Io { .. }, commits)) => {
                    if let Some(who) = commits {
                        let before =
                            std::mem::replace(&mut self.committed[who], self.open[who].clone());
                        allowed.push(self.all());
                        self.committed[who] = before;
                    }
                    break;
                }
                Err((e, _)) => panic!("seed {}: {e}", self.seed),
            }
        }
        allowed.push(self.all());
        totals.crashes += 1;
        totals.crashes_behind += u64::from(self.disk.stats().blocks_given_back > 0);
        let disk = if self.rng.chance(1, 5) { self.disk.kill() } else { self.disk.crash() };
        (disk, allowed, self.rng)
    }

    /// One of the allowed states is there, and is what the clients go on from.
    fn verify(&mut self, allowed: &[Vec<Row>]) -> Result<()> {
        let found = common::rows(&mut self.clients[0], &self.table, 0)?;
        assert!(allowed.contains(&found), "seed {}: a state that never was committed", self.seed);
        let rows = self.engine.check_table(&self.table)?.rows;
        assert_eq!(rows, found.len() as u64, "seed {}", self.seed);
        for row in found {
            self.committed[((row.id - 1) / ROWS) as usize].insert(row.id, row);
        }
        self.open = self.committed.clone();
        Ok(())
    }
}

fn run_seed(seed: u64, totals: &mut Totals) {
    let mut rng = Rng::new(seed);
    let mut disk = SimDisk::new(seed);
    let mut allowed = vec![vec![]];
    for _ in 0..=CRASHES {
        let mut world = match World::open(seed, rng.clone(), &disk, totals) {
            Ok(world) => world,
            Err(e) => panic!("seed {seed}: recovery failed: {e}"),
        };
        world.verify(&allowed).expect("the disk works");
        (disk, allowed, rng) = world.run(totals);
        rng.next_u64();
    }
}

/// Names the seed when a run panics.
struct Name(u64);

impl Drop for Name {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay: LIMPID_SEED={} cargo test -p engine --test undo_room", self.0);
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn undo_that_somebody_needs_survives_crashes_behind_extents_given_back() {
    let mut totals = Totals::default();
    if let Some(seed) = number("LIMPID_SEED") {
        let _name = Name(seed);
        run_seed(seed, &mut totals);
        return println!("{totals:?}");
    }
    let (seeds, time) = match number("LIMPID_SEEDS") {
        Some(n) => (n, Duration::MAX),
        None => (SEEDS, TIME),
    };
    let (start, mut done) = (Instant::now(), 0);
    while done < seeds && start.elapsed() < time {
        done += 1;
        let _name = Name(done);
        run_seed(done, &mut totals);
    }
    println!("{done} seeds in {:?}: {totals:?}", start.elapsed());
    let t = &totals;
    let happened = [t.given_back, t.again, t.losers, t.views, t.full_disks, t.crashes_behind];
    assert!(done < 30 || !happened.contains(&0), "something never happened: {totals:?}");
}
