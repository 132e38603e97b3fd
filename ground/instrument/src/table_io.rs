//! What is read from tables and written to them, by index, and how often statements lock them.
//!
//! 1. A session has figures of its own for each table that it has opened ([`TableIo`]); its writes are seen by readers
//! alone. 2. A table's name knows the figures of live sessions ([`TableFigures`]). When a session closes the table, or the
//! table changes, they go into the name's total, and are never written again nor reset: who adds up takes the total and
//! the list under a mutex and reads the list's figures outside of it, so that what ends meanwhile is neither missed nor
//! counted twice. 3. The same figures are those of the session's thread ([`table_io_by_thread`]); what a closed table
//! counted for it goes to the thread's page. 4. Figures of tables and of threads are emptied apart: each has a half of one
//! word ([`STAMP`]), by which a reader sees whether what a session wrote is still wanted of one, of the other or of both. Who
//! wrote before brings his figures up to date at his next write; a reader at this moment may miss them. 5. Locks are counted by a session
//! without looking whether they were emptied: who empties notes how many there were, once for tables and once for threads. 6. A name
//! takes its places among the rows that are told of when a table of it is opened first, or told of; one without a place counts
//! for threads and for all together alone.

use crate::past::{Wait, WaitObject, record_wait};
use crate::registry::page;
use crate::room::RowsOf;
use crate::stat::{Stat, StatTotals, Tally};
use crate::{Operation, note_switch};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use stdx::lock;

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

/// How often the figures of tables were emptied, and above [`THREADS`] those of threads.
static STAMP: AtomicU64 = AtomicU64::new(0);
/// One emptying of the figures of threads.
const THREADS: u64 = 1 << 32;

/// The half that is of tables.
fn of_tables(stamp: u64) -> u64 {
    stamp % THREADS
}

/// The half that is of threads.
fn of_threads(stamp: u64) -> u64 {
    stamp / THREADS
}

fn sum_of<'s>(stats: impl IntoIterator<Item = &'s StatTotals>) -> StatTotals {
    let mut sum = StatTotals::default();
    stats.into_iter().for_each(|stat| sum.add(stat));
    sum
}

/// The names whose tables were used.
#[derive(Debug)]
struct Tables {
    names: Vec<Weak<TableFigures>>,
    /// What was done to tables whose names nobody has any more: temporary ones.
    gone: StatTotals,
    /// How often they were locked.
    gone_locks: u64,
    /// When `gone` was emptied last.
    emptied: u64,
}

static TABLES: Mutex<Tables> =
    Mutex::new(Tables { names: Vec::new(), gone: StatTotals::new(), gone_locks: 0, emptied: 0 });

/// How often figures went from a table to its thread's page.
static MOVES: AtomicU64 = AtomicU64::new(0);

impl Tables {
    fn gone(&mut self) -> &mut StatTotals {
        let emptied = of_tables(STAMP.load(Relaxed));
        if self.emptied != emptied {
            (self.emptied, self.gone) = (emptied, StatTotals::new());
        }
        &mut self.gone
    }
}

fn tables() -> MutexGuard<'static, Tables> {
    lock(&TABLES)
}

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
    /// By statements that read the table, and by those that write it.
    locks: [Tally; 2],
    /// How many of them there were when locks were emptied last; changed under the list's mutex.
    locks_before: [Tally; 2],
    /// How many of them there were when those of threads were emptied last, or went to the thread's page.
    locks_told: Tally,
    /// [`STAMP`] when these were written last.
    stamp: Tally,
    /// The thread that uses the table.
    thread_id: u64,
    /// Where they are in the list; changed under its mutex.
    place: AtomicUsize,
}

impl TableIo {
    /// Looks whether something was emptied, after which nothing may be added before. Emptying is a switch ([`note_switch`]): what begins
    /// looks, and what was begun then is not told any more.
    pub fn look(&self) {
        if self.stamp.get() != STAMP.load(Relaxed) {
            self.renew();
        }
    }

    /// Counts rows to which something was done by an index; `ns`: how long all of that took.
    #[inline]
    pub fn add(&self, operation: RowOperation, index: Option<usize>, rows: u64, ns: u64) {
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

    /// Gives what is still wanted of tables or of threads, but not of both, to where that is kept, and begins anew.
    #[cold]
    fn renew(&self) {
        let (before, now) = (self.stamp.get(), STAMP.load(Relaxed));
        if of_tables(before) == of_tables(now) {
            self.add_to(&mut self.figures.state().ended);
        } else if of_threads(before) == of_threads(now) {
            self.move_to_page();
        }
        for stat in self.operations.iter().flatten() {
            stat.read(Tally::take);
        }
        self.stamp.set(now);
    }

    fn add_to(&self, sums: &mut Sums) {
        if of_tables(self.stamp.get()) != of_tables(STAMP.load(Relaxed)) {
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

    fn all(&self) -> StatTotals {
        let each = self.operations.iter().flatten().map(|stat| stat.read(Tally::get));
        sum_of(&each.collect::<Vec<_>>())
    }

    /// What the thread did, since its figures were emptied last.
    fn of_thread(&self) -> StatTotals {
        let is_wanted = of_threads(self.stamp.get()) == of_threads(STAMP.load(Relaxed));
        if is_wanted { self.all() } else { StatTotals::default() }
    }

    /// What the thread did is in its page from now on; only it calls this.
    fn move_to_page(&self) {
        let totals = self.all();
        if totals.count > 0 {
            MOVES.fetch_add(1, Relaxed);
            page().add_events(TABLE_IO.id(), &totals);
        }
    }

    fn all_locks(&self) -> u64 {
        self.locks.iter().map(Tally::get).fold(0, u64::wrapping_add)
    }

    /// The thread's locks, since its figures were emptied last.
    fn locks_of_thread(&self) -> u64 {
        self.all_locks().wrapping_sub(self.locks_told.get())
    }

    /// The thread's locks count as told from now on.
    fn tell_locks(&self) {
        self.locks_told.set(self.all_locks());
    }

    /// The thread's locks are in its page from now on; only it calls this.
    fn move_locks_to_page(&self) {
        let count = self.locks_of_thread();
        if count > 0 {
            MOVES.fetch_add(1, Relaxed);
            self.tell_locks();
            page().add_events(TABLE_LOCK.id(), &StatTotals { count, ..StatTotals::new() });
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
    is_listed: bool,
    ended: Sums,
    ended_locks: LockTotals,
    emptied: u64,
    live: Vec<Arc<TableIo>>,
    /// Whether it has a place among tables, and one among the locks of tables; `None` before somebody asked.
    places: Option<[bool; 2]>,
    /// For how many rows by index somebody asked, and how many of them have places.
    index_rows: (usize, usize),
}

impl State {
    fn places(&mut self) -> [bool; 2] {
        let take = |rows: RowsOf| rows.take(1) == 1;
        *self.places.get_or_insert_with(|| [RowsOf::Tables, RowsOf::TableLocks].map(take))
    }

    fn room_for_indexes(&mut self, rows: usize) -> usize {
        let (asked, found) = &mut self.index_rows;
        if rows > *asked {
            *found += RowsOf::Indexes.take((rows - *asked) as u64) as usize;
            *asked = rows;
        }
        rows.min(*found)
    }

    fn give_places_back(&mut self) {
        let [table, locks] = self.places.take().unwrap_or_default();
        RowsOf::Tables.give_back(table.into());
        RowsOf::TableLocks.give_back(locks.into());
        RowsOf::Indexes.give_back(std::mem::take(&mut self.index_rows).1 as u64);
    }
}

impl TableFigures {
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = lock(&self.0);
        let emptied = of_tables(STAMP.load(Relaxed));
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
        // No class and no page is registered under a mutex.
        TABLE_IO.id();
        let thread_id = page().thread_id();
        let mut state = self.state();
        if !state.is_listed {
            state.is_listed = true;
            drop(state);
            tables().names.push(Arc::downgrade(self));
            state = self.state();
        }
        state.places();
        state.room_for_indexes(indexes.len().max(1));
        let io = Arc::new(TableIo {
            figures: Arc::clone(self),
            schema: schema.into(),
            table: table.into(),
            operations: (0..=indexes.len()).map(|_| Default::default()).collect(),
            indexes,
            locks: Default::default(),
            locks_before: Default::default(),
            locks_told: Tally::default(),
            stamp: Tally::default(),
            thread_id,
            place: AtomicUsize::new(state.live.len()),
        });
        io.stamp.set(STAMP.load(Relaxed));
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

    /// The name has no table any more: its places are there for others, until it is asked for again.
    pub fn leave(&self) {
        self.state().give_places_back();
    }

    /// Whether there is room to tell of the table.
    pub fn has_room(&self) -> bool {
        self.state().places()[0]
    }

    /// Whether there is room to tell of its locks.
    pub fn has_room_for_locks(&self) -> bool {
        self.state().places()[1]
    }

    /// Of how many of so many rows by index there is room to tell.
    pub fn room_for_indexes(&self, rows: usize) -> usize {
        self.state().room_for_indexes(rows)
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

impl Drop for TableFigures {
    fn drop(&mut self) {
        let (ended, locks) = {
            let mut state = self.state();
            state.give_places_back();
            (std::mem::take(&mut state.ended), std::mem::take(&mut state.ended_locks))
        };
        let mut tables = tables();
        tables.gone_locks = locks.into_iter().fold(tables.gone_locks, u64::wrapping_add);
        tables.names.retain(|name| name.strong_count() > 0);
        tables.gone().add(&sum_of(ended.iter().flat_map(|(_, operations)| operations)));
    }
}

/// A session closes a table: its figures go into those of the name, and into those of its thread.
pub fn close_table_io(io: &Arc<TableIo>) {
    // No class and no page is registered under a mutex.
    let _registered = (TABLE_IO.id(), TABLE_LOCK.id(), page());
    let mut state = io.figures.state();
    let place = io.place.load(Relaxed);
    state.live.swap_remove(place);
    if let Some(moved) = state.live.get(place) {
        moved.place.store(place, Relaxed);
    }
    io.add_to(&mut state.ended);
    state.ended_locks = add_locks(state.ended_locks, io.locks());
    io.move_locks_to_page();
    if of_threads(io.stamp.get()) == of_threads(STAMP.load(Relaxed)) {
        io.move_to_page();
    }
}

/// Empties the figures of all tables.
pub fn empty_table_io() {
    STAMP.fetch_add(1, Relaxed);
    note_switch();
}

/// Empties the figures of all threads, those in their pages not.
pub(crate) fn empty_table_io_of_threads() {
    STAMP.fetch_add(THREADS, Relaxed);
    note_switch();
    for figures in used_tables() {
        figures.state().live.iter().for_each(|io| io.tell_locks());
    }
}

/// How often tables were locked whose names nobody has any more.
pub fn gone_table_locks() -> u64 {
    tables().gone_locks
}

/// Empties [`gone_table_locks`].
pub fn empty_gone_table_locks() {
    tables().gone_locks = 0;
}

fn used_tables() -> Vec<Arc<TableFigures>> {
    tables().names.iter().filter_map(Weak::upgrade).collect()
}

/// What was done to all tables there ever were.
pub fn table_io_totals() -> StatTotals {
    let mut sum = *tables().gone();
    for figures in used_tables() {
        let totals = figures.totals();
        sum.add(&sum_of(totals.iter().flat_map(|(_, operations)| operations)));
    }
    sum
}

/// How often figures went to a thread's page: one that went while somebody added up may be missed.
pub(crate) fn table_io_moves() -> u64 {
    MOVES.load(Relaxed)
}

/// What a thread did to the tables that it has open.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThreadTables {
    pub io: StatTotals,
    /// How often its statements locked them.
    pub locks: u64,
}

/// What threads did to the tables that they have open, by THREAD_ID.
pub(crate) fn table_io_by_thread() -> HashMap<u64, ThreadTables> {
    let mut sums: HashMap<u64, ThreadTables> = HashMap::new();
    for figures in used_tables() {
        for io in figures.state().live.clone() {
            let (totals, locks) = (io.of_thread(), io.locks_of_thread());
            if totals.count > 0 || locks > 0 {
                let sum = sums.entry(io.thread_id).or_default();
                sum.io.add(&totals);
                sum.locks = sum.locks.wrapping_add(locks);
            }
        }
    }
    sums
}

/// Puts what the calling thread did to the tables that it has open into its page.
pub(crate) fn move_table_io(thread_id: u64) {
    // Threads without a number are told of by none; not all that they did is the calling one's.
    if thread_id == 0 {
        return;
    }
    let _registered = (TABLE_IO.id(), TABLE_LOCK.id());
    for figures in used_tables() {
        let live = figures.state().live.clone();
        for io in live.iter().filter(|io| io.thread_id == thread_id) {
            io.move_locks_to_page();
            if of_threads(io.stamp.get()) == of_threads(STAMP.load(Relaxed)) {
                io.move_to_page();
            }
            // Of the thread it is told.
            let stamp = io.stamp.get();
            io.stamp.set(stamp.wrapping_sub(THREADS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // One after the other: what is emptied is the process's.
    #[test]
    fn tables_add_up_over_sessions_and_begin_again_when_emptied() {
        let _alone = stdx::lock(&crate::EMPTIES);
        threads_and_tables_are_emptied_apart();
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
        b.look();
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
        let _alone = stdx::lock(&crate::EMPTIES);
        let figures = Arc::new(TableFigures::default());
        let (a, b) = (figures.open(("d", "t"), [].into()), figures.open(("d", "t"), [].into()));
        a.locked(false);
        b.locked(false);
        b.locked(true);
        let of_thread = || {
            table_io_by_thread().get(&page().thread_id()).map_or(0, |did| did.locks)
                + page().class(&TABLE_LOCK).count
        };
        assert_eq!(of_thread(), 3);
        close_table_io(&a);
        assert_eq!((figures.locks(), of_thread()), ([2, 1], 3));
        figures.empty_locks();
        assert_eq!(figures.locks(), [0, 0]);
        b.locked(true);
        close_table_io(&b);
        assert_eq!((figures.locks(), figures.totals().len()), ([0, 1], 0));
    }

    #[test]
    fn a_table_without_a_place_is_lost_once_and_gives_none_back() {
        let _alone = stdx::lock(&crate::EMPTIES);
        let kinds = [RowsOf::Tables, RowsOf::TableLocks, RowsOf::Indexes];
        let lost = || kinds.map(RowsOf::lost);
        let before = lost();
        let lost_since = || [0, 1, 2].map(|n| lost()[n] - before[n]);
        let indexes: Arc<[String]> = ["PRIMARY".to_string(), "k".to_string()].into();
        let first = Arc::new(TableFigures::default());
        let io = first.open(("d", "t"), Arc::clone(&indexes));
        kinds.iter().for_each(|rows| rows.set_max(0));
        let second = Arc::new(TableFigures::default());
        let without = second.open(("d", "u"), Arc::clone(&indexes));
        without.add(RowOperation::Fetch, Some(0), 1, 5);
        assert_eq!(lost_since(), [1, 1, 2]);
        assert!(!second.has_room() && !second.has_room_for_locks());
        assert_eq!((second.room_for_indexes(3), lost_since()), (0, [1, 1, 3]));
        assert!(first.has_room() && first.has_room_for_locks());
        assert_eq!((first.room_for_indexes(2), first.room_for_indexes(3)), (2, 2));
        close_table_io(&without);
        close_table_io(&io);
        drop((without, io, first, second));
        kinds.iter().for_each(|rows| rows.set_max(u64::MAX));
        assert_eq!(lost_since(), [1, 1, 4]);
        let third = TableFigures::default();
        assert!(third.has_room() && third.has_room_for_locks() && third.room_for_indexes(9) == 9);
        third.leave();
        kinds.iter().for_each(|rows| rows.set_max(0));
        assert!(!third.has_room() && third.room_for_indexes(1) == 0, "others may have taken it");
        kinds.iter().for_each(|rows| rows.set_max(u64::MAX));
    }

    /// What the calling thread's page has of table I/O.
    fn in_page() -> u64 {
        page().class(&TABLE_IO).count
    }

    fn of_thread(thread_id: u64) -> u64 {
        table_io_by_thread().get(&thread_id).map_or(0, |did| did.io.count)
    }

    fn threads_and_tables_are_emptied_apart() {
        page().set_thread_id(1234);
        let figures = Arc::new(TableFigures::default());
        let count = || figures.totals().iter().map(|(_, totals)| totals[0].count).sum::<u64>();
        let io = figures.open(("d", "t"), Arc::default());
        io.add(RowOperation::Fetch, None, 5, 50);
        assert_eq!((of_thread(1234), count()), (5, 5));
        empty_table_io_of_threads();
        assert_eq!((of_thread(1234), count()), (0, 5));
        io.look();
        io.add(RowOperation::Fetch, None, 2, 20);
        assert_eq!((of_thread(1234), count(), in_page()), (2, 7, 0));
        empty_table_io();
        assert_eq!((of_thread(1234), count()), (2, 0));
        io.look();
        io.add(RowOperation::Fetch, None, 1, 10);
        assert_eq!((of_thread(1234), count(), in_page()), (1, 1, 2));
        move_table_io(1234);
        assert_eq!((of_thread(1234), count(), in_page()), (0, 1, 3));
        io.look();
        io.add(RowOperation::Fetch, None, 4, 40);
        close_table_io(&io);
        assert_eq!((of_thread(1234), count(), in_page()), (0, 5, 7));
        let before = table_io_totals().count;
        drop((io, figures));
        assert_eq!(table_io_totals().count, before, "what is gone was done");
        page().set_thread_id(0);
    }
}
