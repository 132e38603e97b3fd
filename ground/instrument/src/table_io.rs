//! What is read from tables and written to them, by index, and how often statements lock them.
//!
//! 1. A session has figures of its own for each table that it has opened ([`TableIo`]); its writes are seen by readers
//! alone. 2. A table's name knows the figures of live sessions ([`TableFigures`]). When a session closes the table, or the
//! table changes, they go into the name's total, and are never written again nor reset: who adds up takes the total and
//! the list under a mutex and reads the list's figures outside of it, so that what ends meanwhile is neither missed nor
//! counted twice. 3. What is emptied counts from zero again; who wrote before clears his figures at his next write.
//! 4. Locks are counted by a session without looking whether they were emptied: who empties notes how many there were.

use crate::Operation;
use crate::past::{Wait, WaitObject, record_wait};
use crate::stat::{Stat, StatTotals, Tally};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

crate::classes! {
    /// The one instrument of all tables.
    pub static TABLE_IO: TableIoClass = "wait/io/table/sql/handler";
    /// The one instrument of statements' locks of tables. They take no time: the metadata lock is all that is taken.
    pub static TABLE_LOCK: LockClass = "wait/lock/table/sql/handler";
}

/// What is done to rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum RowOperation {
    /// A row is read.
    Fetch,
    /// A row is added.
    Insert,
    /// A row is changed.
    Update,
    /// A row is removed.
    Delete,
}

impl From<RowOperation> for Operation {
    fn from(operation: RowOperation) -> Operation {
        match operation {
            RowOperation::Fetch => Operation::Fetch,
            RowOperation::Insert => Operation::Insert,
            RowOperation::Update => Operation::Update,
            RowOperation::Delete => Operation::Delete,
        }
    }
}

/// How many there are.
pub const ROW_OPERATIONS: usize = 4;

/// Figures by [`RowOperation`].
pub type OperationTotals = [StatTotals; ROW_OPERATIONS];

/// How often tables were locked by statements that read them, and by those that write.
pub type LockTotals = [u64; 2];

static EMPTIED: AtomicU64 = AtomicU64::new(0);

/// What one session did to one table.
#[derive(Debug)]
pub struct TableIo {
    figures: Arc<TableFigures>,
    schema: Arc<str>,
    table: Arc<str>,
    /// Names of the indexes, by number; that of one without a name is empty.
    indexes: Arc<[String]>,
    /// Without an index, then by index.
    operations: Box<[[Stat; ROW_OPERATIONS]]>,
    /// How often figures had been emptied when these were written last.
    emptied: Tally,
    /// By statements that read the table, and by those that write it.
    locks: [Tally; 2],
    /// How many of them there were when locks were emptied last; changed under the list's mutex.
    locks_before: [Tally; 2],
    /// Where they are in the list; changed under its mutex.
    place: AtomicUsize,
}

impl TableIo {
    /// Counts rows to which something was done by an index; `ns`: how long all of that took.
    #[inline]
    pub fn add(&self, operation: RowOperation, index: Option<usize>, rows: u64, ns: u64) {
        if self.emptied.get() != EMPTIED.load(Relaxed) {
            self.renew();
        }
        let place = index.map_or(0, |index| index + 1);
        if let Some(operations) = self.operations.get(place) {
            operations[operation as usize].add_many(rows, ns);
        }
        if TABLE_IO.recorded() {
            self.record(operation, index, rows, ns);
        }
    }

    /// Keeps it as a wait that is over, of so many rows together.
    #[cold]
    fn record(&self, operation: RowOperation, index: Option<usize>, rows: u64, ns: u64) {
        let index = index.and_then(|index| self.indexes.get(index));
        let object = WaitObject {
            kind: Some("TABLE"),
            schema: Some(Arc::clone(&self.schema)),
            name: Some(Arc::clone(&self.table)),
            index: index.filter(|name| !name.is_empty()).map(|name| name.as_str().into()),
        };
        let number = Arc::as_ptr(&self.figures).addr() as u64;
        let (operation, ns, amount) = (operation.into(), (ns != 0).then_some(ns), Some(rows));
        record_wait(&TABLE_IO, Wait { operation, ns, number, object, amount });
    }

    /// A statement locks the table, to read it or to write it.
    #[inline(always)]
    pub fn locked(&self, write: bool) {
        self.locks[usize::from(write)].add(1);
    }

    /// The locks since they were emptied last.
    fn locks(&self) -> LockTotals {
        std::array::from_fn(|n| self.locks[n].get().wrapping_sub(self.locks_before[n].get()))
    }

    #[cold]
    fn renew(&self) {
        for stat in self.operations.iter().flatten() {
            stat.read(Tally::take);
        }
        self.emptied.set(EMPTIED.load(Relaxed));
    }

    fn add_to(&self, sums: &mut Sums) {
        if self.emptied.get() != EMPTIED.load(Relaxed) {
            return;
        }
        let named = self.indexes.iter().map(|name| Some(&**name).filter(|name| !name.is_empty()));
        let names = std::iter::once(None).chain(named);
        for (name, operations) in names.zip(&self.operations) {
            let totals = operations.each_ref().map(|stat| stat.read(Tally::get));
            if totals.iter().any(|totals| totals.count > 0) {
                add_named(sums, name, &totals);
            }
        }
    }
}

type Sums = Vec<(Option<Box<str>>, OperationTotals)>;

fn add_named(sums: &mut Sums, name: Option<&str>, totals: &OperationTotals) {
    let known = sums.iter_mut().find(|(known, _)| known.as_deref() == name);
    match known {
        Some((_, sum)) => sum.iter_mut().zip(totals).for_each(|(sum, n)| sum.add(n)),
        None => sums.push((name.map(Into::into), *totals)),
    }
}

/// What all sessions did to the tables of one name.
#[derive(Debug, Default)]
pub struct TableFigures(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    ended: Sums,
    ended_locks: LockTotals,
    emptied: u64,
    live: Vec<Arc<TableIo>>,
}

impl TableFigures {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every critical section leaves the state consistent at each step, so poison says nothing.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let emptied = EMPTIED.load(Relaxed);
        if state.emptied != emptied {
            state.emptied = emptied;
            state.ended.clear();
        }
        state
    }

    /// A session opens the table of these names, of a schema and its own, with these indexes.
    pub fn open(
        self: &Arc<Self>,
        (schema, table): (&str, &str),
        indexes: Arc<[String]>,
    ) -> Arc<TableIo> {
        let mut state = self.state();
        let io = Arc::new(TableIo {
            figures: Arc::clone(self),
            schema: schema.into(),
            table: table.into(),
            operations: (0..=indexes.len()).map(|_| Default::default()).collect(),
            indexes,
            emptied: Tally::default(),
            locks: Default::default(),
            locks_before: Default::default(),
            place: AtomicUsize::new(state.live.len()),
        });
        io.emptied.set(EMPTIED.load(Relaxed));
        state.live.push(Arc::clone(&io));
        io
    }

    /// What was done, by the name of the index; `None`: without an index.
    pub fn totals(&self) -> Vec<(Option<Box<str>>, OperationTotals)> {
        let (mut sums, live) = {
            let state = self.state();
            (state.ended.clone(), state.live.clone())
        };
        live.iter().for_each(|io| io.add_to(&mut sums));
        sums
    }

    /// How often the tables were locked by statements.
    pub fn locks(&self) -> LockTotals {
        let state = self.state();
        state.live.iter().fold(state.ended_locks, |sum, io| add_locks(sum, io.locks()))
    }

    /// Empties [`TableFigures::locks`].
    pub fn empty_locks(&self) {
        let mut state = self.state();
        state.ended_locks = LockTotals::default();
        for io in &state.live {
            io.locks.iter().zip(&io.locks_before).for_each(|(now, before)| before.set(now.get()));
        }
    }
}

fn add_locks(a: LockTotals, b: LockTotals) -> LockTotals {
    std::array::from_fn(|n| a[n].wrapping_add(b[n]))
}

/// A session closes a table: its figures go into those of the name.
pub fn close_table_io(io: &Arc<TableIo>) {
    let mut state = io.figures.state();
    let place = io.place.load(Relaxed);
    state.live.swap_remove(place);
    if let Some(moved) = state.live.get(place) {
        moved.place.store(place, Relaxed);
    }
    io.add_to(&mut state.ended);
    state.ended_locks = add_locks(state.ended_locks, io.locks());
}

/// Empties the figures of all tables.
pub fn empty_table_io() {
    EMPTIED.fetch_add(1, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_add_up_over_sessions_and_begin_again_when_emptied() {
        let figures = Arc::new(TableFigures::default());
        let indexes: Arc<[String]> = ["PRIMARY".to_string(), "k".to_string()].into();
        let (a, b) =
            (figures.open(("d", "t"), indexes.clone()), figures.open(("d", "t"), indexes.clone()));
        a.add(RowOperation::Fetch, Some(0), 1, 50);
        a.add(RowOperation::Insert, None, 1, 70);
        b.add(RowOperation::Fetch, Some(0), 3, 30);
        let count = |index: Option<&str>, operation: RowOperation| {
            let all = figures.totals();
            let found = all.iter().find(|(name, _)| name.as_deref() == index);
            found.map_or(0, |(_, totals)| totals[operation as usize].count)
        };
        assert_eq!(count(Some("PRIMARY"), RowOperation::Fetch), 4);
        close_table_io(&a);
        assert_eq!(count(Some("PRIMARY"), RowOperation::Fetch), 4);
        assert_eq!(
            (count(None, RowOperation::Insert), count(Some("k"), RowOperation::Fetch)),
            (1, 0)
        );
        let fetched = figures.totals().into_iter().find(|(name, _)| name.is_some()).unwrap().1[0];
        assert_eq!((fetched.ns_sum, fetched.ns_min, fetched.ns_max), (80, 10, 50));
        empty_table_io();
        assert!(figures.totals().is_empty());
        b.add(RowOperation::Delete, Some(1), 1, 5);
        assert_eq!(
            (count(Some("k"), RowOperation::Delete), count(Some("PRIMARY"), RowOperation::Fetch)),
            (1, 0)
        );
        close_table_io(&b);
        assert_eq!(count(Some("k"), RowOperation::Delete), 1);
    }

    #[test]
    fn locks_add_up_over_sessions_and_begin_again_when_emptied() {
        let figures = Arc::new(TableFigures::default());
        let (a, b) = (figures.open(("d", "t"), [].into()), figures.open(("d", "t"), [].into()));
        a.locked(false);
        b.locked(false);
        b.locked(true);
        close_table_io(&a);
        assert_eq!(figures.locks(), [2, 1]);
        figures.empty_locks();
        assert_eq!(figures.locks(), [0, 0]);
        b.locked(true);
        close_table_io(&b);
        assert_eq!((figures.locks(), figures.totals().len()), ([0, 1], 0));
    }
}
