//! What one client does: transactions over tables that it shares with others, each answer checked.

use super::common::{self, Row};
use super::oracle::{Key, Oracle, Trx};
use engine::{Client, Engine, Error, IndexId, Result, Table};
use host::SimDisk;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};
use stdx::rng::Rng;

/// Ids of the accounts, whose numbers `a` always have the same sum.
pub const ACCOUNTS: i64 = 12;
/// Ids of items, and their unique numbers, are below this.
const ITEMS: u64 = 60;

/// What all clients of one life of the engine share.
pub struct World {
    pub disk: Arc<SimDisk>,
    pub engine: Arc<Engine>,
    pub accounts: Arc<Table>,
    pub items: Vec<Arc<Table>>,
    pub oracle: Mutex<Oracle>,
    pub totals: Mutex<super::Totals>,
    pub sum: i64,
    pub trace: bool,
}

impl World {
    pub fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn count(&self, f: impl FnOnce(&mut super::Totals)) {
        f(&mut self.totals.lock().unwrap_or_else(|e| e.into_inner()));
    }
}

/// How a statement ended, other than by success.
enum End {
    /// The power is off.
    Off,
    /// The transaction is to be rolled back: deadlock, timeout, full disk.
    Victim,
}

type Step<T> = std::result::Result<T, End>;

pub struct Actor {
    world: Arc<World>,
    number: u64,
    rng: Rng,
    client: Client,
    trx: Trx,
    serial: u64,
}

macro_rules! trace {
    ($actor:expr, $($arg:tt)*) => {
        if $actor.world.trace {
            eprintln!("[{}] {}", $actor.number, format_args!($($arg)*));
        }
    };
}

impl Actor {
    pub fn new(world: &Arc<World>, number: u64, rng: Rng) -> Option<Actor> {
        let client = world.engine.client().ok()?;
        Some(Actor { world: Arc::clone(world), number, rng, client, trx: 0, serial: 0 })
    }

    /// Transactions until the power goes off or enough was done.
    pub fn live(mut self) {
        for _ in 0..2 + self.rng.below(12) {
            if self.transaction().is_err() {
                return;
            }
        }
    }

    /// Sorts an error: of the engine's answers only those that end a transaction, once the power is off
    /// anything.
    fn end(&mut self, error: Error) -> End {
        trace!(self, "{error}");
        if self.world.disk.is_off() {
            return End::Off;
        }
        match error {
            Error::Deadlock => self.world.count(|t| t.deadlocks += 1),
            Error::LockWaitTimeout => self.world.count(|t| t.timeouts += 1),
            Error::NoSpace { .. } => {
                self.world.count(|t| t.full_disks += 1);
                self.world.disk.make_room();
            }
            e => panic!("the disk works and the engine answers: {e}"),
        }
        End::Victim
    }

    fn check<T>(&mut self, result: Result<T>) -> Step<T> {
        result.map_err(|e| self.end(e))
    }

    /// One transaction. `Err`: the power is off.
    fn transaction(&mut self) -> std::result::Result<(), ()> {
        self.trx = self.world.oracle().begin();
        trace!(self, "begin {}", self.trx);
        if self.rng.chance(3, 4) {
            self.client.begin();
        }
        let done = match self.rng.below(10) {
            0..=2 => self.transfer(),
            3 => self.audit(),
            4 => self.look_around(),
            _ => self.change_items(),
        };
        match done {
            Ok(()) if self.rng.chance(4, 5) => self.commit(),
            Err(End::Off) => Err(()),
            _ => self.rollback(),
        }
    }

    fn commit(&mut self) -> std::result::Result<(), ()> {
        self.world.oracle().committing(self.trx);
        trace!(self, "commit {} as {:?}", self.trx, self.client.trx_id());
        match self.client.commit() {
            Ok(()) => {
                self.world.oracle().committed(self.trx);
                self.world.count(|t| t.commits += 1);
                trace!(self, "committed {}", self.trx);
                Ok(())
            }
            Err(e) => match self.end(e) {
                End::Off => Err(()),
                End::Victim => panic!("a commit was refused although the disk works"),
            },
        }
    }

    fn rollback(&mut self) -> std::result::Result<(), ()> {
        trace!(self, "roll back {}", self.trx);
        // Nobody may find it any more, even while it is being undone.
        self.world.oracle().rolled_back(self.trx, 0);
        let Err(e) = self.client.rollback() else {
            self.world.count(|t| t.rollbacks += 1);
            return Ok(());
        };
        match self.end(e) {
            End::Off => {
                self.world.count(|t| t.rollbacks_cut_off += 1);
                Err(())
            }
            // The engine finishes it.
            End::Victim => Ok(()),
        }
    }

    fn new_row(&mut self, id: i64) -> Row {
        self.serial += 1;
        let mut pad =
            (self.number << 48 | (self.trx as u64) << 16 | self.serial).to_le_bytes().to_vec();
        let long = if self.rng.chance(1, 8) { 3000 } else { 200 };
        pad.resize(8 + self.rng.below(long) as usize, self.number as u8);
        let a = (!self.rng.chance(1, 8)).then(|| self.rng.below(20) as i64);
        let u = (!self.rng.chance(1, 4)).then(|| self.rng.below(ITEMS) as i64);
        Row { id, a, u, pad }
    }

    /// Moves something from one account to another, both locked first, in any order.
    fn transfer(&mut self) -> Step<()> {
        let table = Arc::clone(&self.world.accounts);
        let from = 1 + self.rng.below(ACCOUNTS as u64) as i64;
        let to = 1 + self.rng.below(ACCOUNTS as u64) as i64;
        let amount = self.rng.below(100) as i64;
        if from == to {
            return Ok(());
        }
        let (mut giver, mut taker) = (self.lock(&table, from)?, self.lock(&table, to)?);
        giver.a = giver.a.map(|a| a - amount);
        taker.a = taker.a.map(|a| a + amount);
        for row in [giver, taker] {
            let pad = self.new_row(row.id).pad;
            self.update(&table, row.id, Row { pad, ..row })?;
        }
        self.world.count(|t| t.transfers += 1);
        Ok(())
    }

    /// Locks all accounts: then nobody moves anything, and the sum is what it always is.
    fn audit(&mut self) -> Step<()> {
        let table = Arc::clone(&self.world.accounts);
        let mut sum = 0;
        for id in 1..=ACCOUNTS {
            sum += self.lock(&table, id)?.a.expect("accounts have a number");
        }
        assert_eq!(sum, self.world.sum, "the accounts' sum while all are locked");
        self.world.count(|t| t.audits += 1);
        Ok(())
    }

    fn lock(&mut self, table: &Arc<Table>, id: i64) -> Step<Row> {
        let mut out = Vec::new();
        let result = self.client.read_for_update(table, &common::key(table, id), &mut out);
        let found = self.check(result)?;
        assert!(found, "account {id} is gone");
        let row = common::decode(table.layout(), &out);
        self.world.oracle().locked(self.trx, (key_of(table), id), &row);
        Ok(row)
    }

    fn change_items(&mut self) -> Step<()> {
        for _ in 0..1 + self.rng.below(5) {
            let n = self.rng.below(self.world.items.len() as u64) as usize;
            let table = Arc::clone(&self.world.items[n]);
            let id = self.rng.below(ITEMS) as i64;
            let mark = self.client.mark();
            let since = self.world.oracle().now();
            let duplicate = match self.rng.below(10) {
                0..=3 => self.insert_some(&table, id)?,
                4..=6 => {
                    let new_id =
                        if self.rng.chance(1, 8) { self.rng.below(ITEMS) as i64 } else { id };
                    let row = self.new_row(new_id);
                    self.update(&table, id, row)?
                }
                7 => self.delete(&table, id)?,
                _ => {
                    self.get(&table, id)?;
                    false
                }
            };
            if duplicate || self.rng.chance(1, 12) {
                trace!(self, "statement rolled back");
                self.world.count(|t| t.statement_rollbacks += 1);
                self.world.oracle().rolled_back(self.trx, since);
                let result = self.client.rollback_to(mark);
                self.check(result)?;
            }
        }
        Ok(())
    }

    fn insert_some(&mut self, table: &Arc<Table>, first: i64) -> Step<bool> {
        let n = if self.rng.chance(1, 10) { 20 } else { 1 + self.rng.below(3) as i64 };
        for id in first..first + n {
            if self.insert(table, id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a duplicate was met.
    fn insert(&mut self, table: &Arc<Table>, id: i64) -> Step<bool> {
        let (row, key) = (self.new_row(id), (key_of(table), id));
        let floors = self.world.oracle().floors();
        trace!(self, "insert {key:?} {row:?}");
        let answer = self.client.insert(table, &common::encode(table, &row));
        match answer {
            Ok(()) => {
                let floor = floors.get(&key).copied().unwrap_or(0);
                let mut oracle = self.world.oracle();
                assert!(oracle.may_exist(self.trx, key, floor, false), "{key:?} inserted twice");
                oracle.wrote(self.trx, key, Some(row));
                Ok(false)
            }
            Err(Error::Duplicate { index, .. }) => {
                self.duplicate(table, index, &row, id, &floors);
                Ok(true)
            }
            Err(e) => Err(self.end(e)),
        }
    }

    /// Gives the row `id` other contents, perhaps another id. Whether a duplicate was met.
    fn update(&mut self, table: &Arc<Table>, id: i64, row: Row) -> Step<bool> {
        let (key, new_key) = ((key_of(table), id), (key_of(table), row.id));
        let floors = self.world.oracle().floors();
        let floor = floors.get(&key).copied().unwrap_or(0);
        trace!(self, "update {key:?} to {row:?}");
        let bytes = common::encode(table, &row);
        let answer = self.client.update(table, &common::key(table, id), &bytes);
        match answer {
            Ok(found) => {
                let mut oracle = self.world.oracle();
                assert!(oracle.may_exist(self.trx, key, floor, found), "{key:?}: found {found}");
                if found && row.id != id {
                    oracle.wrote(self.trx, key, None);
                }
                if found {
                    oracle.wrote(self.trx, new_key, Some(row));
                }
                Ok(false)
            }
            Err(Error::Duplicate { index, .. }) => {
                self.duplicate(table, index, &row, id, &floors);
                Ok(true)
            }
            Err(e) => Err(self.end(e)),
        }
    }

    fn delete(&mut self, table: &Arc<Table>, id: i64) -> Step<bool> {
        let key = (key_of(table), id);
        let floor = self.world.oracle().floor(key);
        trace!(self, "delete {key:?}");
        let answer = self.client.delete(table, &common::key(table, id));
        let found = self.check(answer)?;
        let mut oracle = self.world.oracle();
        assert!(oracle.may_exist(self.trx, key, floor, found), "{key:?}: found {found}");
        if found {
            oracle.wrote(self.trx, key, None);
        }
        Ok(false)
    }

    /// A duplicate is believed only if there was one.
    fn duplicate(
        &mut self,
        table: &Table,
        index: IndexId,
        row: &Row,
        replaced: i64,
        floors: &BTreeMap<Key, u64>,
    ) {
        trace!(self, "duplicate in {index}");
        self.world.count(|t| t.duplicates += 1);
        let key = (key_of(table), row.id);
        let oracle = self.world.oracle();
        let explained = if index == table.spec().clustered_id {
            let floor = floors.get(&key).copied().unwrap_or(0);
            oracle.may_exist(self.trx, key, floor, true)
        } else {
            let u = row.u.expect("NULL is never a duplicate");
            oracle.may_have_unique(self.trx, (key.0, replaced), u, floors)
        };
        assert!(explained, "{row:?} is refused as a duplicate in {index}: of what?");
    }

    fn get(&mut self, table: &Arc<Table>, id: i64) -> Step<()> {
        let key = (key_of(table), id);
        let floor = self.world.oracle().floor(key);
        let answer = common::get(&mut self.client, table, id);
        let found = self.check(answer)?;
        self.world.oracle().read(self.trx, key, floor, found.as_ref());
        self.world.count(|t| t.reads += 1);
        Ok(())
    }

    /// Gets and scans, without writing.
    fn look_around(&mut self) -> Step<()> {
        for _ in 0..1 + self.rng.below(4) {
            let tables = self.world.items.len() as u64 + 1;
            let table = match self.rng.below(tables) as usize {
                0 => Arc::clone(&self.world.accounts),
                n => Arc::clone(&self.world.items[n - 1]),
            };
            if self.rng.chance(1, 2) {
                self.scan(&table)?;
            } else {
                let id = self.rng.below(ITEMS) as i64;
                self.get(&table, id)?;
            }
        }
        Ok(())
    }

    /// Scans a whole index: what is found may be there, what is at rest is found.
    fn scan(&mut self, table: &Arc<Table>) -> Step<()> {
        let index = self.rng.below(table.indexes() as u64) as usize;
        let floors = self.world.oracle().floors();
        let rows = self.scan_rows(table, index);
        let rows = self.check(rows)?;
        trace!(self, "scan {} by {index}: {} rows", table.id(), rows.len());
        let mut found = BTreeMap::new();
        let mut oracle = self.world.oracle();
        for row in rows {
            let key = (key_of(table), row.id);
            let floor = floors.get(&key).copied().unwrap_or(0);
            oracle.read(self.trx, key, floor, Some(&row));
            found.insert(row.id, row);
        }
        for (id, row) in oracle.must_find(self.trx, key_of(table), &floors) {
            assert_eq!(found.get(&id), Some(row), "a scan of index {index} has missed {id}");
        }
        drop(oracle);
        self.world.count(|t| t.scans += 1);
        Ok(())
    }

    fn scan_rows(&mut self, table: &Arc<Table>, index: usize) -> Result<Vec<Row>> {
        let mut scan = self.client.scan(table, index, Bound::Unbounded, Bound::Unbounded)?;
        let mut found = Vec::new();
        while let Some(row) = scan.next()? {
            found.push(common::decode(table.layout(), row));
        }
        Ok(found)
    }
}

/// A table's name in the oracle.
pub fn key_of(table: &Table) -> i64 {
    table.id().0 as i64
}
