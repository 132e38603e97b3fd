//! Reads of tables: stored ones by every access path, and virtual ones.

use super::access::{Encoder, Prefix};
use super::pushed_predicate::PushedPredicate;
use super::store::RowStore;
use super::stored::{StoredLeaf, TakeRow};
use super::tally::Tally;
use super::{Operator, Run, SPARE_BYTES_MAX, Statement, trim};
use crate::SqlError;
use crate::keyrange::KeyRanges;
use crate::views::collect_equal;
use catalog::{ReadContext, VirtualRef};
use engine::{Direction, Reader, RowLock, Table};
use expr::{Expr, Frame, damaged};
use instrument::{Counter, RowOperation, count};
use planner::query_plan::{KeyRange, LastPart, LeafDef, Read, ReadAccess};
use std::ops::Bound;
use std::sync::Arc;
use value::RowLayout;

/// Counts the use of a virtual table: `performance_schema`'s have locks of their own in MySQL. The tables that SHOW
/// STATUS reads are left out, since it does not count itself, and so is what SHOW alone reads.
fn count_use(table: &catalog::TableDef) {
    let is_shown = table.name.ends_with("_status") || table.name.starts_with('#');
    if table.schema == catalog::PERFORMANCE_SCHEMA && !is_shown {
        count(Counter::HandlerExternalLock, 2);
        count(Counter::TableLocksImmediate, 1);
        count(Counter::TableOpenCacheHits, 1);
    }
}

/// What is left to read.
enum Left {
    Nothing,
    /// The row with the key.
    Point,
    /// The open range, then those from this number on.
    Ranges(usize),
}

/// Where the rows of a read come from.
struct Source<'p> {
    read: &'p Read,
    needed: &'p [usize],
    keyed: bool,
    lock: Option<RowLock>,
    reader: Reader,
    tally: Tally,
}

impl Source<'_> {
    /// Begins a range.
    fn open(
        &mut self,
        run: &Run<'_>,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Result<(), SqlError> {
        let read = self.read;
        let direction = if read.descending { Direction::Backward } else { Direction::Forward };
        let one_row = is_one_row(read, table, &range);
        self.tally.open(read, (&range.0, &range.1), one_row);
        self.tally.counts_for(run.st.tables.io(read.table));
        self.reader.open(run.st.client, table, read.access.index(), range, direction)?;
        match read.covering {
            true => self.reader.need_only(table, self.needed),
            false => self.reader.need(self.needed),
        }
        if let Some(lock) = self.lock {
            self.reader.lock(lock);
            if !read.covering && !self.keyed {
                self.reader.push_down();
            }
        }
        Ok(())
    }

    /// Goes on to another range of the index.
    fn go_on(
        &mut self,
        run: &Run<'_>,
        table: &Table,
        range: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Result<(), SqlError> {
        if self.lock.is_some() {
            return self.open(run, table, range);
        }
        self.tally.go_on(is_one_row(self.read, table, &range));
        self.reader.reopen(range);
        Ok(())
    }

    /// The row that was read last is not wanted: some levels do not keep it locked.
    fn leave(&mut self, run: &Run<'_>) {
        if self.lock.is_some() {
            self.reader.unlock_last(run.st.client);
        }
    }
}

/// Reads a stored table.
pub struct ReadTable<'p> {
    read: &'p Read,
    source: Source<'p>,
    predicate: PushedPredicate<'p>,
    /// The predicate says no more than the range, if its bounds can be encoded as they are.
    implied: bool,
    layout: Arc<RowLayout>,
    key: Vec<u8>,
    ranges: KeyRanges,
    left: Left,
}

impl<'p> ReadTable<'p> {
    /// The operator of a read; the frame has the leaf's own layout.
    pub fn new(
        read: &'p Read,
        leaf: &'p LeafDef,
        st: &Statement<'_>,
        frame: &Frame,
    ) -> ReadTable<'p> {
        let layout = Arc::clone(&frame.leaves[usize::from(read.leaf)].layout);
        let predicate = match &read.access {
            ReadAccess::Index(_) => PushedPredicate::of_scan,
            _ => PushedPredicate::new,
        };
        let predicate = predicate(read.filter.as_ref(), read.leaf, &layout);
        let source = Source {
            read,
            needed: &leaf.needed,
            keyed: leaf.keyed,
            lock: None,
            reader: Reader::new(),
            tally: Tally::default(),
        };
        ReadTable {
            read,
            source,
            implied: is_implied(read, &predicate, st.tables.table(read.table)),
            predicate,
            layout,
            key: Vec::new(),
            ranges: KeyRanges::default(),
            left: Left::Nothing,
        }
    }

    /// Opens the range of all keys that begin with `key`.
    fn open_prefix(&mut self, run: &Run<'_>, table: &Table) -> Result<(), SqlError> {
        let key = Bound::Included(&self.key[..]);
        self.source.open(run, table, (key, key))
    }

    fn open_number(&mut self, run: &Run<'_>, table: &Table, n: usize) -> Result<bool, SqlError> {
        let is_first = n == 0;
        let n = if self.read.descending { self.ranges.len().wrapping_sub(n + 1) } else { n };
        let Some(range) = self.ranges.get(n) else { return Ok(false) };
        match is_first {
            true => self.source.open(run, table, range)?,
            false => self.source.go_on(run, table, range)?,
        }
        Ok(true)
    }

    /// Goes to the next row that passes the tests and is taken.
    fn step(
        &mut self,
        run: &mut Run<'_>,
        table: &Table,
        bytes: &mut Vec<u8>,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool, SqlError> {
        loop {
            match self.left {
                Left::Nothing => return Ok(false),
                Left::Point => {
                    self.left = Left::Nothing;
                    run.tick()?;
                    count(Counter::HandlerReadKey, 1);
                    let timer = run.st.tables.timer(self.read.table);
                    let found = self.source.reader.get(run.st.client, table, &self.key, bytes)?;
                    if let Some(timer) = timer {
                        timer.end(RowOperation::Fetch, Some(0), 1);
                    }
                    if found && !self.predicate.holds(bytes).map_err(damaged)? {
                        self.source.leave(run);
                        return Ok(false);
                    }
                    return Ok(found && take(bytes));
                }
                Left::Ranges(next) => {
                    let (predicate, st) = (&self.predicate, run.st);
                    let (mut failed, mut seen) = (None, 0);
                    let start = self.source.tally.begin();
                    let found =
                        self.source.reader.next_where(st.client, table, bytes, &mut |row| {
                            seen += 1;
                            // The error is the statement's: the reader need not go on.
                            let mut fail = |error| {
                                failed = Some(error);
                                true
                            };
                            if let Err(error) = st.tick() {
                                return fail(error);
                            }
                            match predicate.holds(row) {
                                Ok(wanted) => wanted && take(row),
                                Err(error) => fail(damaged(error)),
                            }
                        })?;
                    self.source.tally.add(seen + u64::from(!found));
                    self.source.tally.read(start, seen);
                    if let Some(error) = failed {
                        return Err(error);
                    }
                    if found {
                        return Ok(true);
                    }
                    self.go_on(run, table, next)?;
                }
            }
        }
    }

    /// Opens the next range.
    fn go_on(&mut self, run: &Run<'_>, table: &Table, next: usize) -> Result<(), SqlError> {
        self.left = match self.open_number(run, table, next)? {
            true => Left::Ranges(next + 1),
            false => Left::Nothing,
        };
        Ok(())
    }
}

impl<'p> ReadTable<'p> {
    /// How many rows are left that pass the tests; they are read, but not kept.
    ///
    /// # Errors
    /// Whatever reading may end in.
    pub fn count_left(&mut self, run: &mut Run<'_>) -> Result<u64, SqlError> {
        let table = run.st.tables.table(self.read.table);
        let (mut rows, mut bytes) = (0, Vec::new());
        let none_is_last = &mut |_: &[u8]| {
            rows += 1;
            false
        };
        self.step(run, table, &mut bytes, none_is_last)?;
        Ok(rows)
    }

    /// The leaf it fills.
    pub fn leaf(&self) -> u16 {
        self.read.leaf
    }

    /// How its rows lie.
    pub fn layout(&self) -> &Arc<RowLayout> {
        &self.layout
    }

    /// The conditions on its rows.
    pub fn predicate(&self) -> &PushedPredicate<'p> {
        &self.predicate
    }
}

impl Operator for ReadTable<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        let leaf = &mut frame.leaves[usize::from(self.read.leaf)];
        leaf.layout = Arc::clone(&self.layout);
        leaf.null = false;
        let table = run.st.tables.table(self.read.table);
        self.source.lock = run.st.lock_of(self.read);
        // Locking reads tell by it which entries stay locked.
        let implied = self.implied && self.source.lock.is_none();
        if !implied {
            self.predicate.open(run, frame)?;
        }
        self.ranges.clear();
        self.left = Left::Ranges(0);
        match &self.read.access {
            ReadAccess::Index(_) => {
                self.source.open(run, table, (Bound::Unbounded, Bound::Unbounded))?;
            }
            ReadAccess::Point { index, key } | ReadAccess::Lookup { index, key } => {
                self.key.clear();
                let encoder = Encoder::new(table, *index)?;
                let prefix = encoder.prefix(key, run, frame, &mut self.key)?;
                let point = *index == 0 && matches!(self.read.access, ReadAccess::Point { .. });
                match prefix {
                    Prefix::Nothing => self.left = Left::Nothing,
                    Prefix::Whole if point => {
                        match self.source.lock {
                            Some(lock) => self.source.reader.lock(lock),
                            None => self.source.reader.unlocked(),
                        }
                        self.source.reader.need(self.source.needed);
                        self.left = Left::Point;
                    }
                    _ => self.open_prefix(run, table)?,
                }
            }
            ReadAccess::Ranges { index, ranges } => {
                let encoder = Encoder::new(table, *index)?;
                let touching = self.source.lock.is_none();
                encoder.ranges((ranges, touching), run, frame, &mut self.ranges)?;
                if implied && !encoder.is_exact() {
                    self.predicate.open(run, frame)?;
                }
                self.left = match self.open_number(run, table, 0)? {
                    true => Left::Ranges(1),
                    false => Left::Nothing,
                };
            }
            ReadAccess::Merge(_) | ReadAccess::Groups(_) => {
                return Err(super::internal("the read has another operator"));
            }
        }
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let table = run.st.tables.table(self.read.table);
        let leaf = usize::from(self.read.leaf);
        frame.leaves[leaf].null = false;
        while self.step(run, table, &mut frame.leaves[leaf].bytes, &mut |_| true)? {
            if self.predicate.rest_holds(run, frame)? {
                if self.source.reader.is_others() {
                    self.source.reader.insist();
                    continue;
                }
                if self.source.keyed {
                    let key = &mut frame.leaves[leaf].key;
                    key.clear();
                    key.extend_from_slice(self.source.reader.key());
                }
                return Ok(true);
            }
            self.source.leave(run);
        }
        Ok(false)
    }

    fn stored(&self) -> Option<StoredLeaf<'_>> {
        // A locking read is told of each row whether it stays locked; of a row that is changed the key is asked, too.
        let plain = self.source.lock.is_none() && !self.source.keyed;
        (plain && !self.predicate.has_rest()).then_some((self.read.leaf, &self.layout))
    }

    fn pass(
        &mut self,
        run: &mut Run<'_>,
        frame: &mut Frame,
        mut take: &mut TakeRow<'_>,
    ) -> Result<bool, SqlError> {
        let table = run.st.tables.table(self.read.table);
        let bytes = &mut frame.leaves[usize::from(self.read.leaf)].bytes;
        self.step(run, table, bytes, &mut take)
    }

    fn close(&mut self) {
        self.predicate.close();
        self.source.reader.close();
        self.source.tally.end();
        self.ranges.trim(SPARE_BYTES_MAX);
        trim(&mut self.key);
    }
}

/// Whether a range has one row at most, and is looked up as MySQL looks it up.
fn is_one_row(read: &Read, table: &Table, range: &(Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    match &read.access {
        ReadAccess::Point { .. } => true,
        ReadAccess::Ranges { index: 0, .. } => {
            let (Bound::Included(low), Bound::Included(high)) = range else { return false };
            low == high && table.key(0).is_some_and(|key| key.parts.len() == 1)
        }
        _ => false,
    }
}

/// Whether the predicate of a read says no more than the ranges that are read: bounds of the index's first column, or a list
/// of its values. A plain read answers no entry whose row has other values.
fn is_implied(read: &Read, predicate: &PushedPredicate<'_>, table: &Table) -> bool {
    let ReadAccess::Ranges { index, ranges } = &read.access else { return false };
    let encoder = Encoder::new(table, *index).ok();
    let Some(column) = encoder.and_then(|encoder| encoder.first_column()) else { return false };
    if let [KeyRange { equal, last: LastPart::Between { low, high } }] = &ranges[..] {
        return equal.is_empty() && predicate.is_between(column, low.as_ref(), high.as_ref());
    }
    ranges.iter().all(|range| match (&range.equal[..], &range.last) {
        ([value], LastPart::Any) => !value.null_safe && predicate.is_listed(column, &value.value),
        _ => false,
    })
}

/// Reads a virtual table: its rows are made when it is opened.
pub struct ReadVirtual<'p> {
    leaf: usize,
    table: &'p VirtualRef,
    filter: Option<&'p Expr>,
    layout: Arc<RowLayout>,
    rows: Option<RowStore>,
    at: usize,
}

impl<'p> ReadVirtual<'p> {
    /// The operator of a virtual table.
    pub fn new(
        leaf: u16,
        table: &'p VirtualRef,
        filter: Option<&'p Expr>,
        frame: &Frame,
    ) -> ReadVirtual<'p> {
        let leaf = usize::from(leaf);
        let layout = Arc::clone(&frame.leaves[leaf].layout);
        ReadVirtual { leaf, table, filter, layout, rows: None, at: 0 }
    }
}

impl Operator for ReadVirtual<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        frame.leaves[self.leaf].layout = Arc::clone(&self.layout);
        self.at = 0;
        if self.rows.is_none() {
            count_use(self.table.def());
            let mut kept = RowStore::new(run.st);
            let mut equal = Vec::new();
            if let Some(filter) = self.filter {
                let row = run.row(frame);
                collect_equal(filter, self.leaf as u16, &row, &mut *run.env, &mut equal)?;
            }
            let catalog = run.st.tables.catalog();
            let reading = ReadContext { viewer: &*run.env, catalog, equal: &equal };
            let made = self.table.rows(&reading).map_err(damaged)?;
            for bytes in made.iter() {
                kept.push(run.st, bytes)?;
            }
            self.rows = Some(kept);
        }
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        let Some(rows) = &mut self.rows else { return Ok(false) };
        frame.leaves[self.leaf].null = false;
        while self.at < rows.len() {
            run.tick()?;
            rows.get(self.at, &mut frame.leaves[self.leaf].bytes)?;
            self.at += 1;
            if run.passes(self.filter, frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn stored(&self) -> Option<StoredLeaf<'_>> {
        Some((self.leaf as u16, &self.layout))
    }

    fn pass(
        &mut self,
        run: &mut Run<'_>,
        frame: &mut Frame,
        take: &mut TakeRow<'_>,
    ) -> Result<bool, SqlError> {
        while self.next(run, frame)? {
            if take(&frame.leaves[self.leaf].bytes) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn close(&mut self) {
        self.rows = None;
    }
}
