//! What SHOW STATUS counts of reads: `Handler_read_...`, `Select_...`, `Sort_...`.
//!
//! 1. A row costs one addition to a field of its operator; the session's counters are written when a range ends.
//! 2. A temporary table is what an operator keeps to find it again: groups, distinct rows, the rows of a nested
//!    query. It counts once for each statement, and again when it goes to a file. What is read from it and
//!    written to it does not count as reads and writes of tables.

use instrument::{Counter, RowOperation, TableIo, count};
use parser::ast::SetOperator;
use planner::query_plan::{GroupStrategy, Node, Read, ReadAccess, WindowFunction};
use std::ops::Bound;
use std::sync::Arc;

/// Reads of the open range: attempts, and what the session's figures of the table get when it is over.
#[derive(Debug, Default)]
pub struct Tally {
    attempts: u64,
    io: RangeIo,
    /// What those behind the first count as.
    each: Option<Counter>,
    /// There is at most one row, for which nothing is counted.
    one_row: bool,
    /// The first one counts as the others do.
    from_first: bool,
}

impl Tally {
    /// A range is opened; the one before is over.
    pub fn open(&mut self, read: &Read, range: (&Bound<&[u8]>, &Bound<&[u8]>), one_row: bool) {
        self.end();
        self.io.index = (!is_scan(read)).then(|| read.access.index());
        count(Counter::HandlerReadKey, 1);
        match (read.descending, range) {
            (false, (low, _)) if is_open(low) => count(Counter::HandlerReadFirst, 1),
            (true, (_, high)) if is_open(high) => count(Counter::HandlerReadLast, 1),
            _ => {}
        }
        self.from_first = is_scan(read) && !read.ordered && !read.covering;
        self.one_row = one_row;
        self.each = Some(match read.descending {
            _ if self.from_first => Counter::HandlerReadRndNext,
            true => Counter::HandlerReadPrev,
            false => Counter::HandlerReadNext,
        });
    }

    /// Another range of the same read is opened, which begins and ends somewhere; the one before is over. The table's figures get
    /// the reads of all of them at the end.
    #[inline]
    pub fn go_on(&mut self, one_row: bool) {
        self.count_rows();
        self.one_row = one_row;
        count(Counter::HandlerReadKey, 1);
    }

    /// A range of an index is opened whose rows are looked up apart, or whose groups are; `low`: where it begins.
    pub fn open_apart(&mut self, index: usize, low: &Bound<&[u8]>, one_row: bool) {
        self.end();
        self.io.index = Some(index);
        count(Counter::HandlerReadKey, 1);
        if is_open(low) {
            count(Counter::HandlerReadFirst, 1);
        }
        self.from_first = false;
        self.one_row = one_row;
        self.each = Some(Counter::HandlerReadNext);
    }

    /// So many rows were looked at, or their end.
    #[inline]
    pub fn add(&mut self, attempts: u64) {
        self.attempts += attempts;
    }

    #[inline]
    fn count_rows(&mut self) {
        let n = self.attempts.saturating_sub(u64::from(!self.from_first));
        if let Some(each) = self.each
            && n > 0
            && !self.one_row
        {
            count(each, n);
        }
        self.attempts = 0;
    }

    /// The range that is open is over.
    #[inline]
    pub fn end(&mut self) {
        self.count_rows();
        match self.io.io {
            Some(_) => self.io.end(),
            None => self.io.rows = 0,
        }
    }

    /// What the range's rows count for from now on.
    #[inline]
    pub fn counts_for(&mut self, io: Option<(&Arc<TableIo>, bool)>) {
        self.io.timed = io.is_some_and(|(_, timed)| timed);
        let same = match (&self.io.io, io) {
            (Some(mine), Some((io, _))) => Arc::ptr_eq(mine, io),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.io.io = io.map(|(io, _)| Arc::clone(io));
        }
    }

    /// A row is about to be read, or some.
    #[inline]
    pub fn begin(&mut self) -> Option<u64> {
        self.io.begin()
    }

    /// So many were read.
    #[inline]
    pub fn read(&mut self, start: Option<u64>, rows: u64) {
        self.io.rows += rows;
        if let Some(start) = start {
            self.io.time(start);
        }
    }
}

/// Of so many reads of a range but the first, one is timed, for all.
const TIMED_EACH: u64 = 16;

/// What was read of a range of a table, and how long that took: the first read, which finds the place, and a sample of
/// the others.
#[derive(Debug, Default)]
struct RangeIo {
    io: Option<Arc<TableIo>>,
    timed: bool,
    index: Option<usize>,
    rows: u64,
    reads: u64,
    first_ns: u64,
    samples: u64,
    sampled_ns: u64,
}

impl RangeIo {
    #[inline]
    fn begin(&mut self) -> Option<u64> {
        self.io.as_ref()?;
        self.reads += 1;
        let is_timed = self.reads == 1 || self.reads % TIMED_EACH == 2;
        (is_timed && self.timed).then(sync::ticks)
    }

    fn time(&mut self, start: u64) {
        let ns = sync::ns_since(start).max(1);
        if self.reads == 1 {
            self.first_ns = ns;
        } else {
            self.samples += 1;
            self.sampled_ns += ns;
        }
    }

    fn end(&mut self) {
        if let Some(io) = self.io.as_ref().filter(|_| self.rows > 0) {
            let others = (self.sampled_ns * (self.reads - 1)).checked_div(self.samples);
            let ns = self.first_ns + others.unwrap_or(0);
            // Rows of a long range may come in while figures are emptied.
            io.look();
            io.add(RowOperation::Fetch, self.index, self.rows, ns);
        }
        let (io, index, timed) = (self.io.take(), self.index, self.timed);
        *self = RangeIo { io, index, timed, ..RangeIo::default() };
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.end();
    }
}

/// A row is fetched whose key other indexes gave.
pub fn fetched() {
    count(Counter::HandlerReadKey, 1);
    count(Counter::HandlerReadRnd, 1);
}

/// The last group of an index is looked up, to know where the groups end.
pub fn last_group() {
    count(Counter::HandlerReadKey, 1);
    count(Counter::HandlerReadLast, 1);
}

/// Every key is within the bound.
fn is_open(bound: &Bound<&[u8]>) -> bool {
    match bound {
        Bound::Unbounded => true,
        Bound::Included(key) | Bound::Excluded(key) => key.is_empty(),
    }
}

/// The table itself is read from its first row to its last.
fn is_scan(read: &Read) -> bool {
    matches!(read.access, ReadAccess::Index(0))
}

/// Rows of stored tables come out of a node.
fn reads_tables(node: &Node) -> bool {
    matches!(node, Node::Read(_)) || node.inputs().next().is_some_and(reads_tables)
}

/// Rows that come from tables were sorted. `Sort_range` stays 0, as in MySQL 9.7.
pub fn sorted(input: &Node, rows: u64) {
    if reads_tables(input) {
        count(Counter::SortScan, 1);
        count(Counter::SortRows, rows);
    }
}

/// Whether an operator is a temporary table.
pub fn is_temporary(node: &Node) -> bool {
    match node {
        Node::Group(group) => group.ends.is_empty() && group.strategy == GroupStrategy::Hash,
        Node::Distinct { sorted, .. } => !sorted,
        Node::Window(window) => window.functions.iter().any(|call| looks_around(&call.function)),
        Node::SetOp { op, all, .. } => !(*op == SetOperator::Union && *all),
        Node::Project { .. } | Node::Recursive { .. } | Node::JsonTable { .. } => true,
        _ => false,
    }
}

/// The function needs other rows than those before.
fn looks_around(function: &WindowFunction) -> bool {
    use WindowFunction::{DenseRank, Rank, RowNumber};
    !matches!(function, RowNumber | Rank | DenseRank)
}

/// Counts how the tables of a block are read: the first one, and those that are joined to it.
#[inline]
pub fn select(node: &Node) {
    match node {
        Node::Read(read) => joined_read(read, true),
        other => joined(other, true),
    }
}

#[inline]
fn joined_read(read: &Read, first: bool) {
    let counter = match (&read.access, first) {
        (ReadAccess::Index(_), true) => Counter::SelectScan,
        (ReadAccess::Index(_), false) => Counter::SelectFullJoin,
        (ReadAccess::Ranges { .. } | ReadAccess::Groups(_), true) => Counter::SelectRange,
        (ReadAccess::Ranges { .. }, false) => Counter::SelectFullRangeJoin,
        _ => return,
    };
    count(counter, 1);
}

fn joined(node: &Node, first: bool) {
    match node {
        Node::Read(read) => joined_read(read, first),
        Node::Group(group) if !group.ends.is_empty() => {}
        Node::Recursive { .. } => {}
        _ => {
            for (n, input) in node.inputs().enumerate() {
                joined(input, first && n == 0);
            }
            node.blocks().for_each(|block| joined(&block.root, true));
        }
    }
}
