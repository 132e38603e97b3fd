//! What one client does: transactions over tables that it shares with others, each answer checked.

use super::branches::Held;
use super::common::{self, Registry, Row};
use super::oracle::{Key, Oracle, Trx};
use engine::{Change, Client, Engine, Error, IndexId, Result, RowLock, Table, Then};
use host::SimDisk;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};
use stdx::rng::Rng;

/// Ids of the accounts, whose numbers `a` always have the same sum.
pub const ACCOUNTS: i64 = 12;
/// Ids of items are below this.
pub const ITEMS: u64 = 300;
/// Their unique numbers are below this.
const UNIQUES: u64 = 600;
/// The most that a client waits for a lock.
const LOCK_WAIT_SECONDS: u32 = 10;

/// What all clients of one life of the engine share.
pub struct World {
    pub disk: Arc<SimDisk>,
    pub engine: Arc<Engine>,
    pub registry: Registry,
    pub accounts: Arc<Table>,
    pub items: [Arc<Table>; 2],
    pub oracle: Mutex<Oracle>,
    /// Whether transactions become branches.
    pub prepares: bool,
    /// Prepared branches that nobody is ending.
    pub branches: Mutex<Vec<Held>>,
    pub totals: Mutex<super::Totals>,
    pub sum: i64,
    pub trace: bool,
}

impl World {
    pub fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn branches(&self) -> MutexGuard<'_, Vec<Held>> {
        self.branches.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn count(&self, f: impl FnOnce(&mut super::Totals)) {
        f(&mut self.totals.lock().unwrap_or_else(|e| e.into_inner()));
    }
}

/// How a statement ended, other than by success.
pub enum End {
    /// The power is off.
    Off,
    /// The transaction is to be rolled back: deadlock, timeout, full disk.
    Victim,
}

type Step<T> = std::result::Result<T, End>;

pub struct Actor {
    pub world: Arc<World>,
    pub number: u64,
    pub rng: Rng,
    pub client: Client,
    pub trx: Trx,
    serial: u64,
    pub is_owner: bool,
    /// Tables of its own: nobody else touches them, so it may change what they are.
    own: Vec<Arc<Table>>,
}

macro_rules! trace {
    ($actor:expr, $($arg:tt)*) => {
        if $actor.world.trace {
            eprintln!("[{}] {}", $actor.number, format_args!($($arg)*));
        }
    };
}

impl Actor {
    /// A client; one that owns tables makes and drops some.
    pub fn new(world: &Arc<World>, number: u64, rng: Rng, own: Option<Vec<Arc<Table>>>) -> Actor {
        let mut client = world.engine.client().expect("there are slots for all");
        // Who waits for a branch may be who would end it.
        client.set_lock_wait_timeout(LOCK_WAIT_SECONDS);
        let (is_owner, own) = (own.is_some(), own.unwrap_or_default());
        let world = Arc::clone(world);
        Actor { world, number, rng, client, trx: 0, serial: 0, is_owner, own }
    }

    /// Transactions until the power goes off or enough was done.
    pub fn live(mut self) {
        for _ in 0..2 + self.rng.below(14) {
            if self.rng.chance(1, 30) {
                self.kill_somebody();
            }
            let ended = if self.rng.chance(1, 3) { self.end_a_branch() } else { Ok(()) };
            if ended.and_then(|()| self.transaction()).is_err() {
                return;
            }
        }
    }

    /// Sorts an error: of the engine's answers only those that end a transaction, once the power is off
    /// anything.
    pub fn end(&mut self, error: Error) -> End {
        trace!(self, "{error}");
        if self.world.disk.is_off() {
            return End::Off;
        }
        match error {
            Error::Deadlock => self.world.count(|t| t.deadlocks += 1),
            Error::LockWaitTimeout => self.world.count(|t| t.timeouts += 1),
            Error::Killed => {
                self.world.count(|t| t.killed += 1);
                self.client.slot().clear_query_kill();
            }
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
        if self.rng.chance(1, 8) {
            self.client.set_lock_wait_timeout(1 + self.rng.below(3) as u32);
        }
        let done = match self.rng.below(10) {
            _ if self.is_owner && self.rng.chance(1, 3) => return self.define(),
            _ if self.rng.chance(1, 6) => return self.change_at_once(),
            0..=2 => self.transfer(),
            3 => self.audit(),
            4 => self.look_around(),
            _ => self.change_items(),
        };
        match done {
            Ok(()) if self.rng.chance(4, 5) => match self.prepares() {
                true => self.prepare(),
                false => self.commit(),
            },
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

    pub fn rollback(&mut self) -> std::result::Result<(), ()> {
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

    fn kill_somebody(&mut self) {
        let clients: Vec<_> = self.world.engine.slots().sessions().collect();
        let victim = clients[self.rng.below(clients.len() as u64) as usize];
        victim.kill(sync::KILL_QUERY);
    }

    /// A transaction of one change that is its commit.
    fn change_at_once(&mut self) -> std::result::Result<(), ()> {
        let table = self.some_items();
        let id = self.rng.below(ITEMS) as i64;
        match self.commit_with_change(&table, id) {
            Ok(()) => self.commit(),
            Err(End::Off) => Err(()),
            Err(End::Victim) => self.rollback(),
        }
    }

    /// Gives the row, if there is one, another padding, or deletes it. It is locked first: the oracle must know of the
    /// change before anybody sees it, and in which order changes are made.
    fn commit_with_change(&mut self, table: &Arc<Table>, id: i64) -> Step<()> {
        let (key, place) = (common::key(table, id), (key_of(table), id));
        let mut out = Vec::new();
        let locked = self.client.get_locked(table, &key, None, RowLock::UPDATE, &mut out);
        if !self.check(locked)? {
            return Ok(());
        }
        let read = self.client.read_latest(table, &key, None, &mut out);
        let stamp = self.check(read)?.expect("a locked row stays");
        let mut row = common::decode(table.layout(), &out);
        // Keys of indexes stay as they are; what comes behind tells whose write it is.
        row.pad.truncate(12);
        row.pad.extend(self.new_row(id).pad);
        let new = self.rng.chance(4, 5).then_some(row);
        trace!(self, "{place:?} becomes {new:?}, and commit");
        self.world.oracle().wrote(self.trx, place, new.clone());
        self.world.oracle().committing(self.trx);
        let changed = match new {
            None => self.client.delete_stamped(table, &key, stamp, Then::Commit),
            Some(row) => {
                let row = common::encode(table, &row);
                self.client.update_stamped(table, &key, stamp, (&row, Then::Commit))
            }
        };
        assert_eq!(self.check(changed)?, Change::Done, "{place:?}");
        self.world.count(|t| t.at_once += 1);
        Ok(())
    }

    /// Thinks about it, now and then for longer than others want to wait.
    fn think(&mut self) {
        if self.rng.chance(1, 25) {
            let most = if self.rng.chance(1, 5) { 4000 } else { 20 };
            let ms = self.rng.below(most);
            // A kill ends only what the engine does.
            let _ = host::clock::sleep(std::time::Duration::from_millis(ms));
        }
    }

    fn new_row(&mut self, id: i64) -> Row {
        self.serial += 1;
        let mut pad =
            (self.number << 48 | (self.trx as u64) << 16 | self.serial).to_le_bytes().to_vec();
        let long = match self.rng.below(30) {
            0 => 40_000,
            1..11 => 3400,
            _ => 200,
        };
        pad.resize(8 + self.rng.below(long) as usize, self.number as u8);
        let a = (!self.rng.chance(1, 8)).then(|| self.rng.below(20) as i64);
        let u = (!self.rng.chance(1, 4)).then(|| self.rng.below(UNIQUES) as i64);
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
        let mut giver = self.lock(&table, from)?;
        self.think();
        let mut taker = self.lock(&table, to)?;
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
        let result =
            self.client.get_locked(table, &common::key(table, id), None, RowLock::UPDATE, &mut out);
        let found = self.check(result)?;
        if self.world.disk.is_off() {
            // A commit that could not be logged is taken back in memory; nothing will come of it.
            return Err(self.end(Error::Shutdown));
        }
        assert!(found, "account {id} is gone");
        let row = common::decode(table.layout(), &out);
        self.world.oracle().locked(self.trx, (key_of(table), id), &row);
        Ok(row)
    }

    fn change_items(&mut self) -> Step<()> {
        for _ in 0..1 + self.rng.below(5) {
            self.think();
            let table = self.some_items();
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

    fn some_items(&mut self) -> Arc<Table> {
        if !self.own.is_empty() && self.rng.chance(1, 3) {
            let n = self.rng.below(self.own.len() as u64) as usize;
            return Arc::clone(&self.own[n]);
        }
        Arc::clone(&self.world.items[self.rng.below(2) as usize])
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
            let table = match self.rng.below(3) {
                0 => Arc::clone(&self.world.accounts),
                _ => self.some_items(),
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

    /// DDL on the client's own tables, in a transaction of its own.
    fn define(&mut self) -> std::result::Result<(), ()> {
        let n = self.own.len() as u64;
        let done = match self.rng.below(4) {
            3 if n > 0 => self.relay(),
            0 if n > 0 => self.drop_table(),
            1 if n > 0 => self.create_index(),
            _ if n < 3 => self.create_table(),
            _ => self.drop_table(),
        };
        self.world.count(|t| t.definitions += 1);
        match done {
            Ok(()) => Ok(()),
            Err(End::Off) => Err(()),
            Err(End::Victim) => self.rollback(),
        }
    }

    /// Commits the DDL, or rolls it back now and then: whether it is in force.
    fn commit_definition(&mut self) -> Step<bool> {
        if self.rng.chance(1, 5) {
            return self.rollback().map(|()| false).map_err(|()| End::Off);
        }
        self.commit().map(|()| true).map_err(|()| End::Off)
    }

    fn create_table(&mut self) -> Step<()> {
        let made = common::create_table(&self.world.engine, &mut self.client, false);
        let table = self.check(made)?;
        trace!(self, "create table {}", table.id());
        self.world.oracle().wrote(self.trx, definition_key(&table), Some(definition(&table)));
        if self.commit_definition()? {
            self.world.registry.tables().insert(key_of(&table), Arc::clone(&table));
            self.own.push(table);
        }
        Ok(())
    }

    fn create_index(&mut self) -> Step<()> {
        let n = self.rng.below(self.own.len() as u64) as usize;
        let table = Arc::clone(&self.own[n]);
        if table.indexes() > 3 {
            return self.commit().map_err(|()| End::Off);
        }
        trace!(self, "create index on {}", table.id());
        let made = common::create_index(&self.world.engine, &mut self.client, &table, false);
        let table = self.check(made)?;
        self.world.oracle().wrote(self.trx, definition_key(&table), Some(definition(&table)));
        if self.commit_definition()? {
            self.world.registry.tables().insert(key_of(&table), Arc::clone(&table));
            self.own[n] = table;
        }
        Ok(())
    }

    /// Columns come or go; old rows stay as they are.
    fn relay(&mut self) -> Step<()> {
        let n = self.rng.below(self.own.len() as u64) as usize;
        let table = Arc::clone(&self.own[n]);
        if table.spec().older.len() == 100 {
            return self.commit().map_err(|()| End::Off);
        }
        trace!(self, "other columns for {}", table.id());
        let spec = common::relay(&self.world.engine, &mut self.client, &table);
        let spec = self.check(spec)?;
        self.world.oracle().wrote(self.trx, definition_key(&table), Some(definition(&table)));
        if self.commit_definition()? {
            let relaid = common::relaid(&self.world.engine, &table, &spec);
            let table = self.check(relaid)?;
            self.world.registry.tables().insert(key_of(&table), Arc::clone(&table));
            self.own[n] = table;
        }
        Ok(())
    }

    fn drop_table(&mut self) -> Step<()> {
        let n = self.rng.below(self.own.len() as u64) as usize;
        let table = Arc::clone(&self.own[n]);
        trace!(self, "drop table {}", table.id());
        let dropped = common::drop_table(&self.world.engine, &mut self.client, &table);
        self.check(dropped)?;
        self.world.oracle().wrote_all(self.trx, key_of(&table));
        self.world.oracle().wrote(self.trx, definition_key(&table), None);
        if !self.commit_definition()? {
            return Ok(());
        }
        self.own.remove(n);
        self.world.registry.tables().remove(&key_of(&table));
        let space = table.storage().space;
        drop(table);
        let dropped = self.world.engine.drop_table_storage(space);
        self.check(dropped)
    }
}

/// The oracle knows a table's definition as a row of table 0.
pub fn definition_key(table: &Table) -> Key {
    (0, key_of(table))
}

/// What it holds: how many indexes there are.
pub fn definition(table: &Table) -> Row {
    let indexes = table.indexes() as i64;
    Row { id: key_of(table), a: Some(indexes), u: None, pad: Vec::new() }
}

/// A table's name in the oracle.
pub fn key_of(table: &Table) -> i64 {
    table.id().0 as i64
}
