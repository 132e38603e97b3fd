//! What the executor runs for a query: blocks of operators over leaves.
//!
//! 1. A [`QueryPlan`] is one block: one frame with a row per leaf. Every query nested in it (derived
//!    table, input of a set operation, subplan, part of a recursion) is a block of its own, and sees this
//!    one at depth 1, whether or not it looks. 2. A leaf is filled by exactly one node; `Group` and
//!    `Project` end the leaves below them, semi- and anti-joins those of their inner side. A node that
//!    keeps rows (sort, window, hash) keeps the rows of the leaves that are still alive: [`Node::leaves`].
//! 3. An access path may find too many rows, never too few: `filter` says what a row must satisfy,
//!    all of it. 4. Values of group keys, aggregates, window functions and outputs that go into a leaf are
//!    stored as the leaf's column type.

use crate::plan::{Output, SortKey};
pub use crate::read_access::{
    GroupProbe, GroupPurpose, GroupScan, KeyRange, KeyValue, LastPart, Merge, MergeInput,
    MergePart, ReadAccess,
};
use catalog::{ColumnDef, TableRef, VirtualRef};
use expr::aggregate::AggregateCall;
use expr::tree::{Expr, Typed};
use value::{Collation, ColumnType};

/// A statement that reads.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryStatement {
    /// The outermost block.
    pub query: QueryPlan,
    /// Queries that run at most once per statement and are read from several places: common table
    /// expressions. One may read those before it.
    pub shared: Vec<SharedQuery>,
    /// Tables, each once, with the metadata lock mode.
    pub tables: Vec<(TableRef, mdl::Mode)>,
    /// INTO.
    pub into: Option<IntoTarget>,
    /// SQL_CALC_FOUND_ROWS: rows are counted as if the outermost `Limit` were not there.
    pub count_all: bool,
    /// MAX_EXECUTION_TIME in milliseconds, where a hint says so.
    pub execution_ms_max: Option<u64>,
}

/// A query whose rows are kept for the whole statement.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedQuery {
    /// Its name, for EXPLAIN.
    pub name: String,
    /// The query; it sees no outer row.
    pub query: QueryPlan,
    /// Types its rows are kept as.
    pub types: Vec<ColumnType>,
}

/// Where SELECT ... INTO puts its row.
#[derive(Debug, Clone, PartialEq)]
pub enum IntoTarget {
    /// User variables; 1172 with more than one row, warning 1329 without one.
    Variables(Vec<String>),
    /// A file of rows.
    Outfile {
        /// Its name.
        file: Vec<u8>,
        /// FIELDS and LINES.
        format: parser::ast::FileFormat,
    },
    /// A file of one row's bytes.
    Dumpfile(Vec<u8>),
}

/// One query block.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPlan {
    /// Yields the frames.
    pub root: Node,
    /// Leaves of the frame.
    pub leaves: Vec<LeafDef>,
    /// What each frame that `root` yields is sent as.
    pub outputs: Vec<Output>,
    /// Subqueries of this block's expressions, by the number in [`Expr::Subquery`] and its kin.
    pub subplans: Vec<Subplan>,
    /// How many blocks further out it looks, at most: 0 means that it runs the same for every outer row.
    pub outer_depth: u8,
}

/// One source of rows of a block.
#[derive(Debug, Clone, PartialEq)]
pub struct LeafDef {
    /// Alias, or a name for EXPLAIN such as `<temporary>`.
    pub name: String,
    /// How its rows lie.
    pub layout: LeafLayout,
    /// Columns that any expression looks at, ascending: others need not be fetched or kept.
    pub needed: Vec<usize>,
    /// The clustered keys of its rows are kept with them: an UPDATE or DELETE takes them.
    pub keyed: bool,
}

/// Layout of a leaf's rows.
#[derive(Debug, Clone, PartialEq)]
pub enum LeafLayout {
    /// That of a stored table.
    Table(TableRef),
    /// That of a virtual table.
    Virtual(VirtualRef),
    /// Of columns of these types.
    Made(Vec<ColumnType>),
}

/// A subquery of an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Subplan {
    /// The query; the block that the expression stands in is at depth 1.
    pub query: QueryPlan,
    /// What is asked of it.
    pub kind: SubplanKind,
    /// Whether it may give another answer for another row of the block or of one around it. If not it
    /// runs once per execution of the statement and its answer, or its rows, are kept.
    pub correlated: bool,
    /// Columns of the block around, and of those around it, that a correlated one looks at, as that block sees them: for the same
    /// values it gives the same answer. `None`: it may give another.
    pub depends: Option<Vec<Expr>>,
}

/// What is asked of a subquery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubplanKind {
    /// The value of its one row.
    Scalar,
    /// Whether it has a row.
    Exists,
    /// IN, ANY and ALL: rows are compared. Kept rows are worth a hash table when `op` is `=`
    /// (ANY) or `<>` (ALL).
    Quantified,
}

/// Kinds of joins. RIGHT is LEFT with its sides exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// Every pair that satisfies the condition.
    Inner,
    /// As inner; an outer row without a partner once more with the null row on the inner side.
    Left,
    /// Outer rows that have a partner.
    Semi,
    /// Outer rows that have none; a condition that is NULL is not satisfied.
    Anti,
}

/// An equality of a hash join.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinKey {
    /// Over the probe side.
    pub probe: Typed,
    /// Over the build side.
    pub build: Typed,
    /// How text compares. Values compare as [`Expr::Compare`] of the two would.
    pub collation: Collation,
    /// `<=>`: NULL meets NULL.
    pub null_safe: bool,
    /// The equality itself, where equal keys do not say that it holds: it is among the join's conditions.
    pub tested: Option<Expr>,
    /// Two columns of one kind: an index of either could serve.
    pub is_of_columns: bool,
}

/// What the optimiser expects of a node, for EXPLAIN.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Rows that one run yields.
    pub rows: f64,
    /// Cost of one run to its end, in MySQL's unit: 1 is about a page read from disk.
    pub cost: f64,
    /// Share of the rows read that the filter lets pass, 0 to 1.
    pub filtered: f64,
}

/// Row locks that a read takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLock {
    /// FOR UPDATE rather than FOR SHARE.
    pub exclusive: bool,
    /// What is done about a row that somebody else holds.
    pub wait: parser::ast::LockWait,
}

impl RowLock {
    /// What the rows that an UPDATE or DELETE looks for are locked by.
    pub const FOR_CHANGE: RowLock = RowLock { exclusive: true, wait: parser::ast::LockWait::Wait };
    /// What rows are locked by that a statement's changes depend on.
    pub const FOR_USE: RowLock = RowLock { exclusive: false, wait: parser::ast::LockWait::Wait };
}

/// Reads one stored table.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The leaf it fills.
    pub leaf: u16,
    /// The table.
    pub table: TableRef,
    /// How rows are found.
    pub access: ReadAccess,
    /// Rows come in the descending order of the index.
    pub descending: bool,
    /// The order in which the index has them is relied on.
    pub ordered: bool,
    /// Every needed column is in the index: the row itself need not be fetched.
    pub covering: bool,
    /// What every row must satisfy; it may look at leaves filled before.
    pub filter: Option<Expr>,
    /// Row locks; `None` is a consistent read.
    pub lock: Option<RowLock>,
    /// What is expected.
    pub estimate: Estimate,
}

/// An operator. Pull order: outer before inner, probe before build is up to the executor.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// One row without leaves.
    One,
    /// No row. The leaves below it would have been these.
    Nothing {
        /// Why, in EXPLAIN's words: `Impossible WHERE`.
        reason: &'static str,
        /// Leaves that are alive above it.
        leaves: Vec<u16>,
    },
    /// A stored table.
    Read(Box<Read>),
    /// A virtual table: every row of it that the filter lets pass.
    Virtual {
        /// The leaf it fills.
        leaf: u16,
        /// The table.
        table: VirtualRef,
        /// What every row must satisfy.
        filter: Option<Expr>,
    },
    /// The rows of a nested query. It runs when opened: kept over openings if `lateral` is false, anew
    /// for each if it is true (then it looks at leaves filled before, at depth 1).
    Derived {
        /// The leaf it fills.
        leaf: u16,
        /// The query; its outputs are the leaf's columns.
        query: Box<QueryPlan>,
        /// It looks at this block's leaves.
        lateral: bool,
        /// What every row must satisfy.
        filter: Option<Expr>,
    },
    /// The kept rows of a shared query.
    Shared {
        /// The leaf it fills.
        leaf: u16,
        /// Position in [`QueryStatement::shared`].
        shared: usize,
        /// What every row must satisfy.
        filter: Option<Expr>,
    },
    /// Inside a recursion's steps: the rows that the previous step added.
    Working {
        /// The leaf it fills.
        leaf: u16,
        /// The recursion's number, unique in the statement.
        recursion: usize,
        /// Names of its columns, for EXPLAIN.
        columns: Vec<String>,
        /// What every row must satisfy.
        filter: Option<Expr>,
    },
    /// VALUES ROW(...): rows of expressions without leaves of this block.
    Values {
        /// The leaf it fills.
        leaf: u16,
        /// Rows of values.
        rows: Vec<Vec<Expr>>,
    },
    /// JSON_TABLE over a document of leaves filled before.
    JsonTable {
        /// The leaf it fills.
        leaf: u16,
        /// The document.
        document: Typed,
        /// What is taken out of it.
        columns: Box<JsonColumns>,
    },
    /// Nested loop: for every outer row the inner side is opened anew; it may look at the outer's leaves.
    Join {
        /// Kind.
        kind: JoinKind,
        /// Driving side.
        outer: Box<Node>,
        /// Opened for each row of it.
        inner: Box<Node>,
        /// Condition beyond the filters below.
        on: Option<Expr>,
    },
    /// Hash join: the build side is read once and does not look at the probe side.
    HashJoin {
        /// Kind; the probe side is the outer one.
        kind: JoinKind,
        /// Outer side.
        probe: Box<Node>,
        /// Inner side, kept in a hash table.
        build: Box<Node>,
        /// Equalities, at least one.
        keys: Vec<JoinKey>,
        /// Condition beyond the keys.
        on: Option<Expr>,
    },
    /// Rows that satisfy a condition.
    Filter {
        /// Source.
        input: Box<Node>,
        /// Condition.
        filter: Expr,
    },
    /// Rows in order; the sort is stable.
    Sort {
        /// Source.
        input: Box<Node>,
        /// Keys, at least one.
        keys: Vec<SortKey>,
        /// No more than so many rows are wanted (skipped ones included): a [`Node::Limit`] stands above.
        limit: Option<(Expr, Expr)>,
    },
    /// LIMIT.
    Limit {
        /// Source.
        input: Box<Node>,
        /// Rows skipped.
        skip: Expr,
        /// Rows passed on.
        count: Expr,
    },
    /// GROUP BY and aggregates.
    Group(Box<Group>),
    /// Window functions: fills one leaf with their values beside the leaves below.
    Window(Box<Window>),
    /// Computes values once per row into a leaf; the leaves below end.
    Project {
        /// Source.
        input: Box<Node>,
        /// The leaf it fills.
        leaf: u16,
        /// Its columns.
        values: Vec<Typed>,
    },
    /// The first row of each set of rows that agree in all keys, NULLs being equal.
    Distinct {
        /// Source.
        input: Box<Node>,
        /// Keys.
        keys: Vec<Typed>,
        /// Rows with equal keys come side by side.
        sorted: bool,
    },
    /// UNION, INTERSECT, EXCEPT of nested queries with equally many outputs.
    SetOp {
        /// The leaf it fills.
        leaf: u16,
        /// Operator.
        op: parser::ast::SetOperator,
        /// Duplicates stay; for INTERSECT and EXCEPT they are counted.
        all: bool,
        /// Two queries, or more of them for a chain of the same UNION.
        inputs: Vec<QueryPlan>,
    },
    /// A recursive common table expression.
    Recursive {
        /// The leaf it fills.
        leaf: u16,
        /// Number by which [`Node::Working`] finds it.
        recursion: usize,
        /// Queries that give the first rows.
        seeds: Vec<QueryPlan>,
        /// Queries run again and again over the rows added last, until none is added.
        steps: Vec<QueryPlan>,
        /// UNION DISTINCT: a row that was there before is not added.
        distinct: bool,
        /// The columns that the seeds make: what the steps give is stored in them.
        columns: Vec<ColumnDef>,
    },
}

/// GROUP BY. Columns of its leaf: keys, then aggregates, then with ROLLUP an unsigned BIGINT that counts
/// the trailing keys which are rolled up (0 for an ordinary group).
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Source.
    pub input: Node,
    /// The leaf it fills.
    pub leaf: u16,
    /// Keys; none with [`GroupStrategy::Single`]. A constant key is possible.
    pub keys: Vec<Typed>,
    /// Aggregates.
    pub aggregates: Vec<AggregateCall>,
    /// How groups are found.
    pub strategy: GroupStrategy,
    /// WITH ROLLUP; then `Sorted`.
    pub rollup: bool,
    /// Where the aggregates are extremes that indexes end with: the read whose first row has each. Then `input`
    /// is not run.
    pub ends: Vec<Read>,
}

/// How groups are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupStrategy {
    /// One group, also over no rows.
    Single,
    /// A hash table.
    Hash,
    /// Rows come with equal keys side by side.
    Sorted,
}

/// Window functions that share partition and order. Several `Window` nodes stand above each other when
/// windows differ; the lower ones are computed first.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Source; the node sorts it by partition, then order, unless `sorted`.
    pub input: Node,
    /// The leaf it fills: one column per function.
    pub leaf: u16,
    /// PARTITION BY.
    pub partition_by: Vec<Typed>,
    /// ORDER BY.
    pub order_by: Vec<SortKey>,
    /// Rows come in the right order already.
    pub sorted: bool,
    /// Functions with their frames.
    pub functions: Vec<WindowCall>,
}

/// One window function.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// Which.
    pub function: WindowFunction,
    /// Its frame; functions that look at the whole partition ignore it.
    pub frame: WindowFrame,
    /// Type of the result.
    pub ty: ColumnType,
}

/// Window functions.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The names are SQL's.
pub enum WindowFunction {
    Aggregate(AggregateCall),
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    /// Number of buckets.
    Ntile(Expr),
    /// Value, rows to go back (or forth with `lead`), value where there is no such row.
    Lag {
        value: Typed,
        offset: Expr,
        default: Option<Typed>,
        lead: bool,
    },
    FirstValue(Typed),
    LastValue(Typed),
    /// Value, which row of the frame, counted from 1.
    NthValue(Typed, Expr),
}

/// A frame.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowFrame {
    /// ROWS rather than RANGE.
    pub rows: bool,
    /// First row.
    pub start: FrameBound,
    /// Last row.
    pub end: FrameBound,
}

/// One end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// Of the partition: its first row as a start, its last as an end.
    Unbounded,
    /// The row itself; with RANGE its peers too.
    CurrentRow,
    /// So many rows before; with RANGE, rows whose key is at least `key - n`.
    Preceding(FrameOffset),
    /// So many rows after; with RANGE, rows whose key is at most `key + n`.
    Following(FrameOffset),
}

/// Distance of a frame's end.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameOffset {
    /// A number of rows, or for RANGE a number to add to the key.
    Number(Expr),
    /// RANGE over temporal keys: the key moved by the interval, as expressions over the row.
    /// They are compared with the other rows' keys in the order of the window.
    Moved(Expr),
}

/// Columns of JSON_TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonColumns {
    /// Path to what makes a row.
    pub path: value::json::Path,
    /// Columns in order.
    pub columns: Vec<JsonColumn>,
}

/// One column of JSON_TABLE.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // a handful in a plan
pub enum JsonColumn {
    /// FOR ORDINALITY: position in the leaf.
    Ordinality(u16),
    /// A value at a path.
    Path {
        /// Position in the leaf.
        column: u16,
        /// Its name, for messages.
        name: String,
        /// Its type.
        ty: value::ColumnType,
        /// Path from the row's value.
        path: value::json::Path,
        /// 1 or 0 instead of the value.
        exists: bool,
        /// Nothing is there.
        on_empty: JsonOtherwise,
        /// It is none of the type.
        on_error: JsonOtherwise,
    },
    /// NESTED PATH.
    Nested(JsonColumns),
}

/// What a column of JSON_TABLE is where it has no value.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonOtherwise {
    /// NULL.
    Null,
    /// An error.
    Error,
    /// A value of the column's type.
    Default(expr::OwnedDatum),
}

impl Node {
    /// The nodes of its block whose rows it takes, the driving one first.
    pub fn inputs(&self) -> impl Iterator<Item = &Node> {
        let (first, second) = match self {
            Node::Join { outer: a, inner: b, .. } | Node::HashJoin { probe: a, build: b, .. } => {
                (Some(&**a), Some(&**b))
            }
            Node::Filter { input, .. }
            | Node::Sort { input, .. }
            | Node::Limit { input, .. }
            | Node::Project { input, .. }
            | Node::Distinct { input, .. } => (Some(&**input), None),
            Node::Group(group) => (Some(&group.input), None),
            Node::Window(window) => (Some(&window.input), None),
            Node::One
            | Node::Nothing { .. }
            | Node::Read(_)
            | Node::Virtual { .. }
            | Node::Derived { .. }
            | Node::Shared { .. }
            | Node::Working { .. }
            | Node::Values { .. }
            | Node::JsonTable { .. }
            | Node::SetOp { .. }
            | Node::Recursive { .. } => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The blocks whose rows it takes.
    pub fn blocks(&self) -> impl Iterator<Item = &QueryPlan> {
        let (first, second): (&[QueryPlan], &[QueryPlan]) = match self {
            Node::Derived { query, .. } => (std::slice::from_ref(&**query), &[]),
            Node::SetOp { inputs, .. } => (inputs, &[]),
            Node::Recursive { seeds, steps, .. } => (seeds, steps),
            _ => (&[], &[]),
        };
        first.iter().chain(second)
    }

    /// Leaves that are alive above this node, in the order in which they are filled.
    pub fn leaves(&self) -> Vec<u16> {
        match self {
            Node::One => Vec::new(),
            Node::Nothing { leaves, .. } => leaves.clone(),
            Node::Read(read) => vec![read.leaf],
            Node::Virtual { leaf, .. }
            | Node::Derived { leaf, .. }
            | Node::Shared { leaf, .. }
            | Node::Working { leaf, .. }
            | Node::Values { leaf, .. }
            | Node::JsonTable { leaf, .. }
            | Node::Project { leaf, .. }
            | Node::SetOp { leaf, .. }
            | Node::Recursive { leaf, .. } => vec![*leaf],
            Node::Group(group) => vec![group.leaf],
            Node::Window(window) => {
                let mut leaves = window.input.leaves();
                leaves.push(window.leaf);
                leaves
            }
            Node::Join { kind, outer, inner, .. }
            | Node::HashJoin { kind, probe: outer, build: inner, .. } => {
                let mut leaves = outer.leaves();
                if matches!(kind, JoinKind::Inner | JoinKind::Left) {
                    leaves.extend(inner.leaves());
                }
                leaves
            }
            Node::Filter { input, .. }
            | Node::Sort { input, .. }
            | Node::Limit { input, .. }
            | Node::Distinct { input, .. } => input.leaves(),
        }
    }
}

impl Window {
    /// Whether the node has to sort its rows.
    pub fn sorts(&self) -> bool {
        let ordered = !self.partition_by.is_empty() || !self.order_by.is_empty();
        ordered && !self.sorted
    }
}

impl WindowCall {
    /// Calls `f` for each of its expressions.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.function {
            WindowFunction::Aggregate(call) => call.for_each_expr_mut(f),
            WindowFunction::Ntile(e) => f(e),
            WindowFunction::Lag { value, offset, default, .. } => {
                f(&mut value.expr);
                f(offset);
                if let Some(default) = default {
                    f(&mut default.expr);
                }
            }
            WindowFunction::FirstValue(v) | WindowFunction::LastValue(v) => f(&mut v.expr),
            WindowFunction::NthValue(v, n) => {
                f(&mut v.expr);
                f(n);
            }
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => {}
        }
        for bound in [&mut self.frame.start, &mut self.frame.end] {
            if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
                match offset {
                    FrameOffset::Number(e) | FrameOffset::Moved(e) => f(e),
                }
            }
        }
    }
}
