//! What SHOW STATUS counts of reads: `Handler_read_...`, `Select_...`, `Sort_...`.
//!
//! 1. A row costs one addition to a field of its operator; the session's counters are written when a range ends.
//! 2. A temporary table is what an operator keeps to find it again: groups, distinct rows, the rows of a nested
//!    query. It counts once for each statement, and again when it goes to a file. What is read from it and
//!    written to it does not count as reads and writes of tables.

use instrument::{Counter, count};
use parser::ast::SetOperator;
use planner::query_plan::{GroupStrategy, Node, Read, ReadAccess, WindowFunction};
use std::ops::Bound;

/// Attempts to read a row of the open range.
#[derive(Debug, Default)]
pub struct Tally {
    attempts: u64,
    /// What those behind the first count as; `None`: there is at most one row.
    each: Option<Counter>,
    /// The first one counts as the others do.
    from_first: bool,
}

impl Tally {
    /// A range is opened; the one before is over.
    pub fn open(&mut self, read: &Read, range: (&Bound<&[u8]>, &Bound<&[u8]>), one_row: bool) {
        self.end();
        count(Counter::HandlerReadKey, 1);
        match (read.descending, range) {
            (false, (low, _)) if is_open(low) => count(Counter::HandlerReadFirst, 1),
            (true, (_, high)) if is_open(high) => count(Counter::HandlerReadLast, 1),
            _ => {}
        }
        self.from_first = is_scan(read) && !read.ordered && !read.covering;
        self.each = match read.descending {
            _ if one_row => None,
            _ if self.from_first => Some(Counter::HandlerReadRndNext),
            true => Some(Counter::HandlerReadPrev),
            false => Some(Counter::HandlerReadNext),
        };
    }

    /// A range of an index is opened whose rows are looked up apart, or whose groups are; `low`: where it begins.
    pub fn open_apart(&mut self, low: &Bound<&[u8]>, one_row: bool) {
        self.end();
        count(Counter::HandlerReadKey, 1);
        if is_open(low) {
            count(Counter::HandlerReadFirst, 1);
        }
        self.from_first = false;
        self.each = (!one_row).then_some(Counter::HandlerReadNext);
    }

    /// So many rows were looked at, or their end.
    #[inline]
    pub fn add(&mut self, attempts: u64) {
        self.attempts += attempts;
    }

    /// The range that is open is over.
    pub fn end(&mut self) {
        let n = self.attempts.saturating_sub(u64::from(!self.from_first));
        if let Some(each) = self.each.take()
            && n > 0
        {
            count(each, n);
        }
        self.attempts = 0;
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
    match node {
        Node::Read(_) => true,
        Node::Join { outer: input, .. } | Node::HashJoin { probe: input, .. } => {
            reads_tables(input)
        }
        Node::Filter { input, .. }
        | Node::Limit { input, .. }
        | Node::Sort { input, .. }
        | Node::Project { input, .. }
        | Node::Distinct { input, .. } => reads_tables(input),
        Node::Group(group) => reads_tables(&group.input),
        Node::Window(window) => reads_tables(&window.input),
        _ => false,
    }
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
pub fn select(node: &Node) {
    joined(node, true);
}

fn joined(node: &Node, first: bool) {
    match node {
        Node::Read(read) => {
            let counter = match (&read.access, first) {
                (ReadAccess::Index(_), true) => Counter::SelectScan,
                (ReadAccess::Index(_), false) => Counter::SelectFullJoin,
                (ReadAccess::Ranges { .. } | ReadAccess::Groups(_), true) => Counter::SelectRange,
                (ReadAccess::Ranges { .. }, false) => Counter::SelectFullRangeJoin,
                _ => return,
            };
            count(counter, 1);
        }
        Node::Join { outer, inner, .. } => {
            joined(outer, first);
            joined(inner, false);
        }
        Node::HashJoin { probe, build, .. } => {
            joined(probe, first);
            joined(build, false);
        }
        Node::Filter { input, .. }
        | Node::Limit { input, .. }
        | Node::Sort { input, .. }
        | Node::Project { input, .. }
        | Node::Distinct { input, .. } => joined(input, first),
        Node::Group(group) if group.ends.is_empty() => joined(&group.input, first),
        Node::Window(window) => joined(&window.input, first),
        Node::SetOp { inputs, .. } => inputs.iter().for_each(|plan| joined(&plan.root, true)),
        Node::Derived { query, .. } => joined(&query.root, true),
        _ => {}
    }
}
