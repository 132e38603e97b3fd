//! What is read from tables and written to them, by index.
//!
//! 1. A session has figures of its own for each table that it has opened ([`TableIo`]); its writes are seen by readers
//! alone. 2. A table's name knows the figures of live sessions ([`TableFigures`]). When a session closes the table, or the
//! table changes, they go into the name's total, and are never written again nor reset: who adds up takes the total and
//! the list under a mutex and reads the list's figures outside of it, so that what ends meanwhile is neither missed nor
//! counted twice. 3. What is emptied counts from zero again; who wrote before clears his figures at his next write.

use crate::stat::{Stat, StatTotals, Tally};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

crate::classes! {
    /// The one instrument of all tables.
    pub static TABLE_IO: TableIoClass = "wait/io/table/sql/handler";
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

/// How many there are.
pub const ROW_OPERATIONS: usize = 4;

/// Figures by [`RowOperation`].
pub type OperationTotals = [StatTotals; ROW_OPERATIONS];

static EMPTIED: AtomicU64 = AtomicU64::new(0);

/// What one session did to one table.
#[derive(Debug)]
pub struct TableIo {
    figures: Arc<TableFigures>,
    /// Names of the indexes, by number; that of one without a name is empty.
    indexes: Arc<[String]>,
    /// Without an index, then by index.
    operations: Box<[[Stat; ROW_OPERATIONS]]>,
    /// How often figures had been emptied when these were written last.
    emptied: Tally,
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

    /// A session opens a table with these indexes.
    pub fn open(self: &Arc<Self>, indexes: Arc<[String]>) -> Arc<TableIo> {
        let mut state = self.state();
        let io = Arc::new(TableIo {
            figures: Arc::clone(self),
            operations: (0..=indexes.len()).map(|_| Default::default()).collect(),
            indexes,
            emptied: Tally::default(),
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
        let (a, b) = (figures.open(indexes.clone()), figures.open(indexes.clone()));
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
}
