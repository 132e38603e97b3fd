//! The crash campaign: random transactions and DDL on a simulated disk, a crash at a random moment,
//! recovery, and a comparison with a model; then on from there to the next crash.
//!
//! A failing seed is printed and replayed by `LIMPID_SEED=n cargo test -p engine --test campaign`;
//! `LIMPID_SEEDS=n` runs n seeds whatever the time (else 300 seeds or 60 s); `LIMPID_TRACE=1` tells
//! each step.

#![allow(clippy::unwrap_used)] // tests

mod common;

use common::{Row, Tables};
use engine::{Change, Client, Engine, Error, Result, RowLock, Table, Then};
use host::{Disk, SimDisk};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stdx::rng::Rng;
use value::Datum;

const SEEDS: u64 = 300;
const TIME: Duration = Duration::from_secs(60);
const CRASHES: u64 = 3;

/// What a table should hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    rows: BTreeMap<i64, Row>,
    extra: Option<bool>,
    hidden: bool,
    /// Every id up to here was in an acknowledged transaction.
    autoinc: i64,
}

type Models = BTreeMap<i64, Model>;

/// What happened in all runs together: a campaign in which something never happens proves nothing
/// about it.
#[derive(Debug, Default)]
struct Totals {
    crashes: u64,
    torn_pages: u64,
    losers: u64,
    purged: u64,
    orphans: u64,
    full_disks: u64,
    commits: u64,
    rollbacks: u64,
    recoveries_cut_off: u64,
    /// Values of more than a page, and of more than 1 MB.
    big_values: u64,
    huge_values: u64,
    /// Overflow pages found by the checks.
    blob_pages: u64,
    /// Looks at the entries' marks while there was something to undo or purge.
    unsettled_checks: u64,
    /// Tables compared with what an old view saw at first.
    old_views: u64,
    /// Times that columns came or went.
    relaid: u64,
    /// Crashes while transactions were not purged, because of a view or otherwise.
    unpurged: u64,
    /// Transactions of one change that was, or could have been, their commit.
    at_once: u64,
}

struct World {
    totals: Totals,
    seed: u64,
    rng: Rng,
    disk: Arc<SimDisk>,
    engine: Arc<Engine>,
    client: Client,
    tables: Tables,
    models: Models,
    /// A reader, and what was committed when it opened its view, of the tables that are the same still.
    viewer: Option<(Client, Models)>,
    trace: bool,
}

/// How a run of operations ended: the states that recovery may find.
struct Crashed {
    disk: Arc<SimDisk>,
    allowed: Vec<Models>,
}

macro_rules! trace {
    ($world:expr, $($arg:tt)*) => {
        if $world.trace {
            eprintln!($($arg)*);
        }
    };
}

impl World {
    fn open(
        seed: u64,
        rng: Rng,
        disk: Arc<SimDisk>,
        trace: bool,
        totals: &mut Totals,
    ) -> Result<World> {
        let (engine, tables, report) = common::open(&disk)?;
        if trace {
            eprintln!("opened: {report:?}");
        }
        let mut totals = std::mem::take(totals);
        totals.torn_pages += report.torn_pages;
        totals.losers += report.losers;
        totals.purged += report.purged;
        totals.orphans += report.orphans.len() as u64;
        let client = engine.client()?;
        let (models, viewer) = (Models::new(), None);
        Ok(World { totals, seed, rng, disk, engine, client, tables, models, viewer, trace })
    }

    /// Runs until an operation fails because the disk is gone, or enough was done; then crashes.
    fn run(mut self) -> (Crashed, Rng, Totals) {
        if self.rng.chance(4, 5) {
            let most = [60, 600, 3000][self.rng.below(3) as usize];
            let n = 1 + self.rng.below(most);
            trace!(self, "power off after {n}");
            self.disk.power_off_after(n);
        }
        if self.rng.chance(1, 6) {
            let bytes = self.rng.below(1 << 20);
            trace!(self, "disk full after {bytes}");
            self.disk.enospc_after(bytes);
        }
        let most = if self.rng.chance(1, 3) { 300 } else { 60 };
        let steps = 5 + self.rng.below(most);
        let mut allowed = None;
        for _ in 0..steps {
            match self.step() {
                Ok(()) => {}
                Err((Error::NoSpace { path }, _)) => {
                    trace!(self, "{path}: disk full");
                    self.totals.full_disks += 1;
                    self.disk.heal();
                    self.client.rollback().expect("there is room again, and no power cut to come");
                }
                Err((error, after)) => {
                    trace!(self, "stopped by {error}");
                    assert!(self.is_crash(&error), "seed {}: {error}", self.seed);
                    let mut both = vec![self.models.clone()];
                    both.extend(after);
                    allowed = Some(both);
                    break;
                }
            }
        }
        let allowed = allowed.unwrap_or_else(|| vec![self.models.clone()]);
        let killed = self.rng.chance(1, 5);
        let disk = if killed { self.disk.kill() } else { self.disk.crash() };
        trace!(self, "{}", if killed { "killed" } else { "crashed" });
        self.totals.crashes += 1;
        self.totals.unpurged += u64::from(self.engine.history_len() > 0);
        (Crashed { disk, allowed }, self.rng.clone(), std::mem::take(&mut self.totals))
    }

    fn is_crash(&self, error: &Error) -> bool {
        matches!(error, Error::Io { .. })
    }

    /// One transaction, DDL statement or background step. An error carries the state that may be
    /// there too.
    fn step(&mut self) -> std::result::Result<(), (Error, Option<Models>)> {
        let plain = |e| (e, None);
        match self.rng.below(26) {
            20..23 => self.look_back(),
            23.. if !self.tables.is_empty() => self.change_at_once(),
            0 | 1 => {
                trace!(self, "clean");
                self.engine.step_cleaner().map(|_| ()).map_err(plain)
            }
            2 => {
                trace!(self, "checkpoint");
                self.engine.checkpoint().map(|_| ()).map_err(plain)
            }
            3 if self.tables.len() < 4 => self.create_table(),
            4 if self.tables.len() > 1 => self.drop_table(),
            _ if self.tables.is_empty() => self.create_table(),
            5 => self.create_index(),
            6 | 7 => self.relay(),
            _ => self.transaction(),
        }?;
        Ok(())
    }

    /// Opens a view, or looks whether it still sees what it saw; sometimes it goes then.
    fn look_back(&mut self) -> std::result::Result<(), (Error, Option<Models>)> {
        let Some((client, models)) = &mut self.viewer else {
            trace!(self, "a view is opened");
            let client = common::viewer(&self.engine).map_err(|e| (e, None))?;
            self.viewer = Some((client, self.models.clone()));
            return Ok(());
        };
        trace!(self, "look back");
        for (id, model) in models {
            let table = &self.tables[id];
            for index in 0..table.indexes() {
                let found = common::seen(client, table, index).map_err(|e| (e, None))?;
                let expected: Vec<Row> = model.rows.values().cloned().collect();
                assert_eq!(found, expected, "seed {}: table {id} index {index}", self.seed);
            }
            self.totals.old_views += 1;
        }
        if self.rng.chance(1, 3) {
            trace!(self, "the view goes");
            self.viewer = None;
        }
        Ok(())
    }

    /// A table is another one from here on.
    fn forget(&mut self, id: i64) {
        if let Some((_, models)) = &mut self.viewer {
            models.remove(&id);
        }
    }

    fn commit(&mut self, after: Models) -> std::result::Result<(), (Error, Option<Models>)> {
        match self.client.commit() {
            Ok(()) => {
                self.totals.commits += 1;
                self.models = after;
                Ok(())
            }
            Err(e) => Err((e, Some(after))),
        }
    }

    fn create_table(&mut self) -> std::result::Result<(), (Error, Option<Models>)> {
        let hidden = self.rng.chance(1, 4);
        let table = common::create_table(&self.engine, &mut self.client, hidden);
        let table = table.map_err(|e| (e, None))?;
        let id = table.id().0 as i64;
        trace!(self, "create table {id}");
        if self.rng.chance(1, 5) {
            drop(table);
            trace!(self, "rolled back");
            return self.client.rollback().map_err(|e| (e, None));
        }
        let mut after = self.models.clone();
        after.insert(id, Model { hidden, ..Model::default() });
        self.commit(after)?;
        self.tables.insert(id, table);
        Ok(())
    }

    fn drop_table(&mut self) -> std::result::Result<(), (Error, Option<Models>)> {
        let id = self.some_table();
        trace!(self, "drop table {id}");
        let table = Arc::clone(&self.tables[&id]);
        common::drop_table(&self.engine, &mut self.client, &table).map_err(|e| (e, None))?;
        if self.rng.chance(1, 5) {
            return self.client.rollback().map_err(|e| (e, None));
        }
        let mut after = self.models.clone();
        after.remove(&id);
        self.commit(after)?;
        self.forget(id);
        self.tables.remove(&id);
        let space = table.storage().space;
        drop(table);
        self.engine.drop_table_storage(space).map_err(|e| (e, None))
    }

    fn create_index(&mut self) -> std::result::Result<(), (Error, Option<Models>)> {
        let id = self.some_table();
        if self.models[&id].extra.is_some() {
            return Ok(());
        }
        let unique = self.rng.chance(1, 2);
        trace!(self, "create index on {id}");
        let table = Arc::clone(&self.tables[&id]);
        match common::create_index(&self.engine, &mut self.client, &table, unique) {
            Err(Error::Duplicate { .. }) => {
                assert!(unique && has_duplicates(&self.models[&id]), "seed {}", self.seed);
                trace!(self, "duplicate");
                self.client.rollback().map_err(|e| (e, None))
            }
            Err(e) => Err((e, None)),
            Ok(_) if self.rng.chance(1, 5) => self.client.rollback().map_err(|e| (e, None)),
            Ok(table) => {
                assert!(!unique || !has_duplicates(&self.models[&id]), "seed {}", self.seed);
                let mut after = self.models.clone();
                after.get_mut(&id).expect("picked").extra = Some(unique);
                self.commit(after)?;
                self.forget(id);
                self.tables.insert(id, table);
                Ok(())
            }
        }
    }

    /// Columns come or go; old rows stay as they are, and old views see them.
    fn relay(&mut self) -> std::result::Result<(), (Error, Option<Models>)> {
        let id = self.some_table();
        trace!(self, "other columns for {id}");
        let table = Arc::clone(&self.tables[&id]);
        if table.spec().older.len() == 100 {
            return Ok(());
        }
        let spec = common::relay(&self.engine, &mut self.client, &table).map_err(|e| (e, None))?;
        if self.rng.chance(1, 5) {
            return self.client.rollback().map_err(|e| (e, None));
        }
        self.commit(self.models.clone())?;
        self.totals.relaid += 1;
        let table = common::relaid(&self.engine, &table, &spec).map_err(|e| (e, None))?;
        self.tables.insert(id, table);
        Ok(())
    }

    fn some_table(&mut self) -> i64 {
        let n = self.rng.below(self.tables.len() as u64) as usize;
        *self.tables.keys().nth(n).expect("below the number of tables")
    }

    fn transaction(&mut self) -> std::result::Result<(), (Error, Option<Models>)> {
        let mut after = self.models.clone();
        self.client.begin();
        for _ in 0..1 + self.rng.below(5) {
            let id = self.some_table();
            let table = Arc::clone(&self.tables[&id]);
            let model = after.get_mut(&id).expect("every table has a model");
            self.statement(&table, model).map_err(|e| (e, None))?;
            if self.rng.chance(1, 10) {
                self.engine.step_cleaner().map_err(|e| (e, None))?;
            }
        }
        if self.rng.chance(1, 5) {
            trace!(self, "rollback");
            self.totals.rollbacks += 1;
            return self.client.rollback().map_err(|e| (e, None));
        }
        trace!(self, "commit {:?}", self.client.trx_id());
        self.commit(after)
    }

    /// One statement: all of it happens, or (on a duplicate) nothing.
    fn statement(&mut self, table: &Arc<Table>, model: &mut Model) -> Result<()> {
        let mark = self.client.mark();
        let mut rows = model.clone();
        let result = match self.rng.below(10) {
            0..=3 => self.insert_rows(table, &mut rows),
            4..=6 => self.update_row(table, &mut rows, Then::More),
            7 => self.delete_rows(table, &mut rows),
            8 => self.lock_row(table, &mut rows),
            _ => self.compare(table, &rows),
        };
        match result {
            Ok(()) => *model = rows,
            Err(Error::Duplicate { .. }) => {
                trace!(self, "duplicate: statement rolled back");
                self.client.rollback_to(mark)?;
                // Values that were taken stay taken.
                model.autoinc = model.autoinc.max(0);
            }
            Err(e) => return Err(e),
        }
        if self.rng.chance(1, 4) { self.check_marks(table, model) } else { Ok(()) }
    }

    /// Every row of this transaction has its entries without marks, every other entry has one.
    fn check_marks(&mut self, table: &Table, model: &Model) -> Result<()> {
        let verdict = self.engine.verify_table(table, 10)?;
        assert_eq!(verdict.problems, [], "seed {}: table {}", self.seed, table.id());
        let entries = model.rows.len() * (table.indexes() - 1);
        assert_eq!(verdict.counts.entries, entries as u64, "seed {}: {}", self.seed, table.id());
        let marked = verdict.counts.pending > 0;
        self.totals.unsettled_checks += u64::from(marked);
        Ok(())
    }

    fn new_row(&mut self, id: i64) -> Row {
        let a = (!self.rng.chance(1, 8)).then(|| self.rng.below(20) as i64);
        let u = (!self.rng.chance(1, 4)).then(|| self.rng.below(4000) as i64);
        let most = match self.rng.below(2400) {
            0 => 1_500_000,
            1..10 => 80_000,
            10..50 => 20_000,
            50..450 => 3500,
            _ => 300,
        };
        let n = self.rng.below(most) as usize;
        self.totals.big_values += u64::from(n > 16_384);
        self.totals.huge_values += u64::from(n > 1 << 20);
        let seed = self.rng.next_u64() as u8;
        // No two overflow pages are alike.
        let pad = (0..n).map(|i| seed ^ (i >> 4) as u8 ^ (i >> 12) as u8).collect();
        Row { id, a, u, pad }
    }

    fn insert_rows(&mut self, table: &Arc<Table>, model: &mut Model) -> Result<()> {
        let most = if self.rng.chance(1, 12) { 120 } else { 12 };
        let n = 1 + self.rng.below(most);
        let first = match model.hidden {
            true => self.rng.below(1000) as i64,
            false => self.client.reserve_autoinc(table, n, engine::Steps::default())? as i64,
        };
        assert!(model.hidden || first > model.autoinc, "seed {}: id {first} again", self.seed);
        for i in 0..n {
            let mut id = first + i as i64;
            if self.rng.chance(1, 20) {
                id = self.rng.below(60) as i64 + 1;
            }
            let row = self.new_row(id);
            trace!(self, "  insert {}: {id} {:?} {:?}", table.id(), row.a, row.u);
            self.insert_row(table, model, row, Then::More)?;
        }
        if !model.hidden {
            model.autoinc = model.autoinc.max(first + n as i64 - 1);
        }
        Ok(())
    }

    fn insert_row(
        &mut self,
        table: &Arc<Table>,
        model: &mut Model,
        row: Row,
        then: Then,
    ) -> Result<()> {
        if model.hidden && model.rows.contains_key(&row.id) {
            return Ok(()); // Its id is only a column there; the model wants it once.
        }
        let expected = conflicts(model, &row, None);
        let new = common::encode(table, &row);
        let result = trouble(self.client.insert_then(table, &new, then))?;
        assert_eq!(common::is_duplicate(&result), expected, "seed {}: {row:?}", self.seed);
        result?;
        model.rows.insert(row.id, row);
        Ok(())
    }

    fn some_id(&mut self, model: &Model) -> i64 {
        let n = model.rows.len() as u64;
        if n == 0 || self.rng.chance(1, 10) {
            return self.rng.below(100) as i64;
        }
        let nth = self.rng.below(n) as usize;
        *model.rows.keys().nth(nth).expect("below the number of rows")
    }

    /// The clustered key of the row with an id.
    fn key(&mut self, table: &Arc<Table>, model: &Model, id: i64) -> Result<Vec<u8>> {
        if !model.hidden {
            return Ok(common::key(table, id));
        }
        let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        let mut scan = self.client.scan(table, 0, all.0, all.1)?;
        while let Some(row) = scan.next()? {
            if common::decode(table.layout(), row).id == id {
                return Ok(scan.key().to_vec());
            }
        }
        Ok(vec![0xFF; 6])
    }

    fn update_row(&mut self, table: &Arc<Table>, model: &mut Model, then: Then) -> Result<()> {
        let id = self.some_id(model);
        let new_id = if self.rng.chance(1, 8) { self.rng.below(200) as i64 + 1 } else { id };
        if model.hidden && new_id != id && model.rows.contains_key(&new_id) {
            return Ok(());
        }
        let mut row = self.new_row(new_id);
        if self.rng.chance(1, 3)
            && let Some(old) = model.rows.get(&id)
        {
            (row.a, row.u) = (old.a, old.u);
        }
        let mut unread = false;
        if new_id == id
            && self.rng.chance(1, 2)
            && let Some(old) = model.rows.get(&id)
        {
            row.pad.clone_from(&old.pad);
            unread = self.rng.chance(1, 2);
        }
        trace!(self, "  update {}: {id} -> {new_id} {:?} {:?}", table.id(), row.a, row.u);
        let key = self.key(table, model, id)?;
        let found = model.rows.contains_key(&id);
        let expected = found && conflicts(model, &row, Some(id));
        let new = match unread {
            true => self.changed(table, &key, &row)?,
            false => common::encode(table, &row),
        };
        let result = trouble(self.put(table, &key, &new, then))?;
        let duplicate = matches!(result, Err(Error::Duplicate { .. }));
        assert_eq!(duplicate, expected, "seed {}: {id} -> {row:?}", self.seed);
        assert_eq!(result?, found, "seed {}", self.seed);
        if found {
            model.rows.remove(&id);
            model.rows.insert(new_id, row);
        }
        Ok(())
    }

    /// Gives a row other contents; `false`: it is not there.
    fn put(&mut self, table: &Arc<Table>, key: &[u8], new: &[u8], then: Then) -> Result<bool> {
        if then == Then::More {
            return self.client.update(table, key, new);
        }
        let read = self.client.read_latest(table, key, None, &mut Vec::new())?;
        let Some(stamp) = read else { return Ok(false) };
        let done = self.client.update_stamped(table, key, stamp, (new, then))?;
        assert_eq!(done, Change::Done, "seed {}: nobody else is there", self.seed);
        Ok(true)
    }

    /// A transaction of one change, which may be its commit.
    fn change_at_once(&mut self) -> std::result::Result<(), (Error, Option<Models>)> {
        let mut after = self.models.clone();
        let id = self.some_table();
        let table = Arc::clone(&self.tables[&id]);
        let model = after.get_mut(&id).expect("every table has a model");
        trace!(self, "one change, and commit");
        let done = match self.rng.below(5) {
            0 => self.delete_at_once(&table, model),
            1 => {
                let id = self.rng.below(200) as i64 + 1;
                let row = self.new_row(id);
                self.insert_row(&table, model, row, Then::Commit)
            }
            _ => self.update_row(&table, model, Then::Commit),
        };
        match done {
            Ok(()) => {
                self.totals.at_once += 1;
                self.commit(after)
            }
            Err(Error::Duplicate { .. }) => self.client.rollback().map_err(|e| (e, None)),
            Err(e) => Err((e, Some(after))),
        }
    }

    fn delete_at_once(&mut self, table: &Arc<Table>, model: &mut Model) -> Result<()> {
        let id = self.some_id(model);
        let key = self.key(table, model, id)?;
        let read = self.client.read_latest(table, &key, None, &mut Vec::new())?;
        assert_eq!(read.is_some(), model.rows.remove(&id).is_some(), "seed {}", self.seed);
        let Some(stamp) = read else { return Ok(()) };
        let done = self.client.delete_stamped(table, &key, stamp, Then::Commit)?;
        assert_eq!(done, Change::Done, "seed {}: nobody else is there", self.seed);
        Ok(())
    }

    /// The row with this key with the numbers of `row`; its padding may be left unread.
    fn changed(&mut self, table: &Arc<Table>, key: &[u8], row: &Row) -> Result<Vec<u8>> {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        assert!(self.client.get_locked(table, key, Some(&[1, 2]), RowLock::UPDATE, &mut old)?);
        let number = |n: Option<i64>| n.map_or(Datum::Null, Datum::Int);
        let numbers = [(1, number(row.a)), (2, number(row.u))];
        table.layout().encode_changed(&old, &numbers, &mut new).expect("the row's own columns");
        Ok(new)
    }

    fn delete_rows(&mut self, table: &Arc<Table>, model: &mut Model) -> Result<()> {
        for _ in 0..1 + self.rng.below(6) {
            let id = self.some_id(model);
            trace!(self, "  delete {}: {id}", table.id());
            let key = self.key(table, model, id)?;
            let found = self.client.delete(table, &key)?;
            assert_eq!(found, model.rows.remove(&id).is_some(), "seed {}", self.seed);
            if self.rng.chance(1, 3) {
                let row = self.new_row(id.max(1));
                trace!(self, "  insert again {} {:?} {:?}", row.id, row.a, row.u);
                self.insert_row(table, model, row, Then::More)?;
            }
        }
        Ok(())
    }

    fn lock_row(&mut self, table: &Arc<Table>, model: &mut Model) -> Result<()> {
        let id = self.some_id(model);
        trace!(self, "  lock {}: {id}", table.id());
        let key = self.key(table, model, id)?;
        let mut out = Vec::new();
        let found = self.client.get_locked(table, &key, None, RowLock::UPDATE, &mut out)?;
        let row = found.then(|| common::decode(table.layout(), &out));
        assert_eq!(row.as_ref(), model.rows.get(&id), "seed {}", self.seed);
        Ok(())
    }

    /// Every index shows this transaction's rows.
    fn compare(&mut self, table: &Arc<Table>, model: &Model) -> Result<()> {
        for index in 0..table.indexes() {
            let mut found = common::rows(&mut self.client, table, index)?;
            found.sort();
            let expected: Vec<Row> = model.rows.values().cloned().collect();
            assert_eq!(found, expected, "seed {}: table {} index {index}", self.seed, table.id());
        }
        Ok(())
    }

    /// After recovery: one of the allowed states is there, whole and sound.
    fn verify(&mut self, allowed: Vec<Models>) -> Result<()> {
        let mut found = Models::new();
        for (id, table) in &self.tables {
            let hidden = table.spec().clustered.is_empty();
            let extra = table.index_spec(3).map(|s| s.unique);
            let rows = common::rows(&mut self.client, table, 0)?;
            let rows: BTreeMap<i64, Row> = rows.into_iter().map(|r| (r.id, r)).collect();
            found.insert(*id, Model { rows, extra, hidden, autoinc: 0 });
        }
        let bare = |models: &Models| {
            let mut models = models.clone();
            models.values_mut().for_each(|m| m.autoinc = 0);
            models
        };
        let Some(state) = allowed.iter().find(|m| bare(m) == found) else {
            explain(&allowed, &found);
            panic!("seed {}: recovery found a state that never was committed", self.seed);
        };
        self.models = state.clone();
        self.check_files();
        for (id, table) in self.tables.clone() {
            let model = self.models[&id].clone();
            self.compare(&table, &model)?;
            let check = self.engine.check_table(&table);
            let check = check.unwrap_or_else(|e| panic!("seed {}: table {id}: {e}", self.seed));
            assert_eq!(check.rows, model.rows.len() as u64);
            self.totals.blob_pages += check.blob_pages;
        }
        Ok(())
    }

    fn check_files(&self) {
        let names = self.disk.list().expect("the simulated disk lists");
        let spaces = names.iter().filter(|n| n.starts_with("space_")).count();
        assert_eq!(spaces, self.tables.len(), "seed {}: orphans in {names:?}", self.seed);
    }
}

/// Takes out the errors of the disk; what is left is the engine's answer.
fn trouble<T>(result: Result<T>) -> Result<Result<T>> {
    match result {
        Err(e @ (Error::Io { .. } | Error::NoSpace { .. })) => Err(e),
        answer => Ok(answer),
    }
}

fn conflicts(model: &Model, row: &Row, replaced: Option<i64>) -> bool {
    let others = || model.rows.values().filter(|r| Some(r.id) != replaced);
    let same_id = !model.hidden && Some(row.id) != replaced && model.rows.contains_key(&row.id);
    let same_u = row.u.is_some() && others().any(|r| r.u == row.u);
    let pair = (row.a, row.u);
    let whole = row.a.is_some() && row.u.is_some();
    let same_extra = model.extra == Some(true) && whole && others().any(|r| (r.a, r.u) == pair);
    same_id || same_u || same_extra
}

fn has_duplicates(model: &Model) -> bool {
    let pairs: Vec<_> = model.rows.values().filter_map(|r| Some((r.a?, r.u?))).collect();
    let distinct: std::collections::BTreeSet<_> = pairs.iter().collect();
    distinct.len() < pairs.len()
}

fn explain(allowed: &[Models], found: &Models) {
    for (i, models) in allowed.iter().enumerate() {
        let keys = |m: &Models| m.keys().copied().collect::<Vec<_>>();
        eprintln!("state {i}: tables {:?}, found {:?}", keys(models), keys(found));
        for (id, model) in models {
            let Some(other) = found.get(id) else { continue };
            let missing = model.rows.values().filter(|r| other.rows.get(&r.id) != Some(r));
            let excess = other.rows.values().filter(|r| model.rows.get(&r.id) != Some(r));
            let short = |r: &Row| (r.id, r.a, r.u, r.pad.len());
            let missing: Vec<_> = missing.map(short).collect();
            let excess: Vec<_> = excess.map(short).collect();
            eprintln!("  table {id}: extra {:?}/{:?}", model.extra, other.extra);
            eprintln!("    missing {missing:?}\n    not expected {excess:?}");
        }
    }
}

/// Opens after a crash; recovery itself may be cut off by another crash, again and again.
fn reopen(seed: u64, rng: &mut Rng, disk: Arc<SimDisk>, trace: bool, totals: &mut Totals) -> World {
    let mut disk = disk;
    loop {
        let again = rng.chance(1, 3);
        if again {
            disk.power_off_after(1 + rng.below(60));
        }
        match World::open(seed, rng.clone(), Arc::clone(&disk), trace, totals) {
            Ok(world) => {
                disk.heal();
                return world;
            }
            Err(Error::Io { .. }) if again => {
                if trace {
                    eprintln!("crashed in recovery");
                }
                totals.recoveries_cut_off += 1;
                disk = disk.crash();
            }
            Err(e) => panic!("seed {seed}: recovery failed: {e}"),
        }
    }
}

fn run_seed(seed: u64, trace: bool, totals: &mut Totals) {
    let mut rng = Rng::new(seed);
    let disk = SimDisk::new(seed);
    let mut crashed = Crashed { disk, allowed: vec![Models::new()] };
    for _ in 0..=CRASHES {
        rng.next_u64();
        let mut world = reopen(seed, &mut rng, Arc::clone(&crashed.disk), trace, totals);
        world.verify(std::mem::take(&mut crashed.allowed)).expect("the disk works");
        (crashed, rng, *totals) = world.run();
    }
}

/// Names the seed when a run panics.
struct Name(u64);

impl Drop for Name {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay: LIMPID_SEED={} cargo test -p engine --test campaign", self.0);
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_half_there() {
    let trace = number("LIMPID_TRACE").is_some();
    if let Some(seed) = number("LIMPID_SEED") {
        let _name = Name(seed);
        return run_seed(seed, trace, &mut Totals::default());
    }
    let (seeds, time) = match number("LIMPID_SEEDS") {
        Some(n) => (n, Duration::MAX),
        None => (SEEDS, TIME),
    };
    let start = Instant::now();
    let mut done = 0;
    let mut totals = Totals::default();
    while done < seeds && start.elapsed() < time {
        done += 1;
        let _name = Name(done);
        run_seed(done, trace, &mut totals);
    }
    println!("{done} seeds in {:?}: {totals:?}", start.elapsed());
    let t = &totals;
    let happened = [
        t.torn_pages,
        t.losers,
        t.purged,
        t.orphans,
        t.full_disks,
        t.recoveries_cut_off,
        t.big_values,
        t.huge_values,
        t.blob_pages,
        t.old_views,
        t.relaid,
        t.unpurged,
        t.unsettled_checks,
        t.at_once,
    ];
    assert!(done < 100 || !happened.contains(&0), "a kind of trouble never happened: {totals:?}");
    let count = |c| instrument::totals().counter(c);
    let evictions = count(instrument::Counter::InnodbBufferPoolWaitFree);
    assert!(done < 100 || evictions > 0, "the pool was never full");
}
