//! A query as it was meant: names bound, nothing decided about how it runs.
//!
//! 1. A [`Block`] is one SELECT, or one leaf of another kind (set operation, VALUES, recursion) with an
//!    order and a limit around it. 2. Every block nested in a block sees it at depth 1. 3. Aggregates and
//!    window functions of a block are columns of two leaves that have no number yet: [`GROUP_LEAF`] and
//!    [`WINDOW_LEAF`].

use crate::hints::{IndexChoice, OrderHint};
use crate::plan::{Output, ResultColumn, SortKey};
use crate::query_plan::{JoinKind, JsonColumns, RowLock, SubplanKind, WindowCall};
use catalog::{TableRef, VirtualRef};
use expr::aggregate::AggregateCall;
use expr::tree::{Column, Expr, Typed};
use parser::ast;
use value::ColumnType;

/// Leaf of the values that grouping makes: keys, then aggregates, then the number of rolled-up keys.
pub const GROUP_LEAF: u16 = u16::MAX;
/// Leaf of the values of window functions.
pub const WINDOW_LEAF: u16 = u16::MAX - 1;

/// One query block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// Sources of rows.
    pub leaves: Vec<Leaf>,
    /// How they are joined; items of the list as by inner joins.
    pub from: Vec<From>,
    /// WHERE, its conjuncts.
    pub filter: Vec<Expr>,
    /// GROUP BY.
    pub group: Option<Grouping>,
    /// HAVING, its conjuncts; after grouping.
    pub having: Vec<Expr>,
    /// Window functions.
    pub windows: Vec<WindowUse>,
    /// Result columns.
    pub outputs: Vec<Output>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY.
    pub order_by: Vec<SortKey>,
    /// LIMIT: rows to skip, rows to pass on.
    pub limit: Option<(Expr, Expr)>,
    /// Subqueries by the number that expressions name them with.
    pub subqueries: Vec<Subquery>,
    /// STRAIGHT_JOIN after SELECT: tables are joined as written.
    pub straight: bool,
    /// Orders of joins that hints ask for.
    pub order_hints: Vec<OrderHint>,
    /// As a subquery it does not become a join: NO_SEMIJOIN.
    pub no_semijoin: bool,
    /// Its number in EXPLAIN, from 1.
    pub number: u32,
    /// The view whose query it is.
    pub view: Option<Box<View>>,
    /// Leaves whose rows an UPDATE or DELETE takes: they are alive at the end, with their keys.
    pub targets: Vec<u16>,
}

/// A view in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// WITH CHECK OPTION; of LOCAL, the views below check by their own.
    pub check: Option<ast::CheckOption>,
    /// ALGORITHM = TEMPTABLE: its rows are materialized, never merged.
    pub is_materialized: bool,
    /// Its tables have the row locks that were asked of it: not if its rows are materialized.
    pub lent: bool,
}

impl View {
    /// `schema.name`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }
}

/// GROUP BY, or aggregates without it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grouping {
    /// Keys; none: one group.
    pub keys: Vec<Typed>,
    /// Aggregates.
    pub aggregates: Vec<AggregateCall>,
    /// WITH ROLLUP.
    pub rollup: bool,
}

/// One window function with its window.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowUse {
    /// PARTITION BY.
    pub partition_by: Vec<Typed>,
    /// ORDER BY.
    pub order_by: Vec<SortKey>,
    /// Function and frame.
    pub call: WindowCall,
}

/// A subquery of an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Subquery {
    /// The query.
    pub block: Block,
    /// What is asked of it.
    pub kind: SubplanKind,
}

/// Joined sources.
#[derive(Debug, Clone, PartialEq)]
pub enum From {
    /// A leaf.
    Leaf(u16),
    /// A join; RIGHT became LEFT.
    Join {
        /// Kind.
        kind: JoinKind,
        /// Left side.
        left: Box<From>,
        /// Right side.
        right: Box<From>,
        /// Conjuncts of the condition.
        on: Vec<Expr>,
        /// STRAIGHT_JOIN: the left side is read first.
        straight: bool,
    },
}

/// One source of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// The name that columns are qualified with.
    pub name: String,
    /// Schema of a table; empty otherwise.
    pub schema: String,
    /// What gives the rows.
    pub source: Source,
    /// Columns.
    pub columns: Vec<LeafColumn>,
    /// Inner side of an outer join: any column may be NULL.
    pub null_row: bool,
    /// Index hints.
    pub hints: IndexChoice,
    /// Row locks to take.
    pub lock: Option<RowLock>,
    /// Sets of columns that no two rows agree in, all NOT NULL.
    pub keys: Vec<Vec<usize>>,
    /// What the statement needs of it, by number; none of what needs nothing.
    pub need: Option<usize>,
}

/// A column of a leaf.
#[derive(Debug, Clone, PartialEq)]
pub struct LeafColumn {
    /// Type.
    pub ty: ColumnType,
    /// Digits after the point.
    pub decimals: u8,
    /// Part of `*`.
    pub listed: bool,
    /// How a result column that shows it is announced.
    pub result: ResultColumn,
}

/// What gives a leaf's rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A stored table.
    Table(TableRef),
    /// A virtual table.
    Virtual(VirtualRef),
    /// A nested query: derived table, view, common table expression that nobody shares.
    Derived {
        /// The query.
        block: Box<Block>,
        /// LATERAL: it sees the leaves to its left.
        lateral: bool,
    },
    /// A common table expression by its number.
    Shared(usize),
    /// The rows that a recursion's last step added.
    Working(usize),
    /// A set operation.
    Set {
        /// Operator.
        op: parser::ast::SetOperator,
        /// ALL.
        all: bool,
        /// Two or more.
        inputs: Vec<Block>,
    },
    /// VALUES.
    Values(Vec<Vec<Typed>>),
    /// A recursion.
    Recursive {
        /// Its number.
        recursion: usize,
        /// First rows.
        seeds: Vec<Block>,
        /// Repeated.
        steps: Vec<Block>,
        /// UNION DISTINCT.
        distinct: bool,
    },
    /// JSON_TABLE.
    JsonTable {
        /// The document.
        document: Typed,
        /// Columns.
        columns: Box<JsonColumns>,
    },
}

/// What is done to an expression of a block or of one nested so many levels in it; true: it has been dealt
/// with, and what is below it too.
pub type Rewrite<'f> = dyn FnMut(&mut Expr, u8) -> bool + 'f;

impl From {
    /// Leaves inside.
    pub fn leaves(&self) -> Vec<u16> {
        match self {
            From::Leaf(leaf) => vec![*leaf],
            From::Join { left, right, .. } => {
                let mut leaves = left.leaves();
                leaves.extend(right.leaves());
                leaves
            }
        }
    }

    fn rewrite(&mut self, depth: u8, f: &mut Rewrite<'_>) {
        if let From::Join { left, right, on, .. } = self {
            left.rewrite(depth, f);
            right.rewrite(depth, f);
            on.iter_mut().for_each(|e| e.rewrite(&mut |e| f(e, depth)));
        }
    }
}

fn each<'e>(expressions: impl IntoIterator<Item = &'e mut Expr>, depth: u8, f: &mut Rewrite<'_>) {
    for expr in expressions {
        expr.rewrite(&mut |e| f(e, depth));
    }
}

fn sort_keys(keys: &mut [SortKey]) -> impl Iterator<Item = &mut Expr> {
    keys.iter_mut().map(|k| &mut k.value.expr)
}

fn typed(values: &mut [Typed]) -> impl Iterator<Item = &mut Expr> {
    values.iter_mut().map(|v| &mut v.expr)
}

impl Block {
    /// Offers every expression of the block and of the blocks nested in it to `f`, with how many levels
    /// deeper it stands.
    pub fn rewrite(&mut self, depth: u8, f: &mut Rewrite<'_>) {
        self.rewrite_nested(depth, f);
        self.from.iter_mut().for_each(|from| from.rewrite(depth, f));
        each(&mut self.filter, depth, f);
        if let Some(group) = &mut self.group {
            each(typed(&mut group.keys), depth, f);
            for call in &mut group.aggregates {
                call.for_each_expr_mut(&mut |e| e.rewrite(&mut |e| f(e, depth)));
            }
        }
        self.rewrite_grouped(depth, f, false);
        if let Some((skip, count)) = &mut self.limit {
            each([skip, count], depth, f);
        }
    }

    /// The blocks nested in the leaves and the subqueries.
    fn rewrite_nested(&mut self, depth: u8, f: &mut Rewrite<'_>) {
        for leaf in &mut self.leaves {
            match &mut leaf.source {
                Source::Derived { block, .. } => block.rewrite(depth + 1, f),
                Source::Set { inputs, .. } => {
                    inputs.iter_mut().for_each(|b| b.rewrite(depth + 1, f));
                }
                Source::Recursive { seeds, steps, .. } => {
                    seeds.iter_mut().chain(steps).for_each(|b| b.rewrite(depth + 1, f));
                }
                Source::Values(rows) => {
                    rows.iter_mut().for_each(|row| each(typed(row), depth, f));
                }
                Source::JsonTable { document, .. } => each([&mut document.expr], depth, f),
                Source::Table(_) | Source::Virtual(_) | Source::Shared(_) | Source::Working(_) => {}
            }
        }
        self.subqueries.iter_mut().for_each(|s| s.block.rewrite(depth + 1, f));
    }

    /// Offers what is evaluated after grouping: outputs, HAVING, ORDER BY, windows; with `subqueries`
    /// also what stands in the subqueries that these use.
    pub fn rewrite_grouped(&mut self, depth: u8, f: &mut Rewrite<'_>, subqueries: bool) {
        if subqueries {
            for number in self.subqueries_after_grouping() {
                self.subqueries[number].block.rewrite(depth + 1, f);
            }
        }
        each(&mut self.having, depth, f);
        each(self.outputs.iter_mut().map(|o| &mut o.value.expr), depth, f);
        each(sort_keys(&mut self.order_by), depth, f);
        for window in &mut self.windows {
            each(typed(&mut window.partition_by), depth, f);
            each(sort_keys(&mut window.order_by), depth, f);
            window.call.for_each_expr_mut(&mut |e| e.rewrite(&mut |e| f(e, depth)));
        }
    }

    fn subqueries_after_grouping(&mut self) -> Vec<usize> {
        let mut found = Vec::new();
        let mut note = |e: &mut Expr, _| {
            found.extend(subquery_of(e));
            false
        };
        self.rewrite_grouped(0, &mut note, false);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// How many blocks further out it looks, at most.
    pub fn outer_depth(&mut self) -> u8 {
        let mut most = 0;
        self.rewrite(0, &mut |e, depth| {
            if let Expr::Column(column) = e {
                most = most.max(column.depth.saturating_sub(depth));
            }
            false
        });
        most
    }

    /// Whether an expression in it, or below, satisfies a condition.
    pub fn any(&mut self, condition: &mut dyn FnMut(&Expr) -> bool) -> bool {
        let mut found = false;
        self.rewrite(0, &mut |e, _| {
            found |= condition(e);
            found
        });
        found
    }
}

/// The subquery that an expression itself uses.
pub fn subquery_of(e: &Expr) -> Option<usize> {
    match e {
        Expr::Subquery(n, _) | Expr::Exists(n) => Some(*n),
        Expr::Quantified(q) => Some(q.subplan),
        _ => None,
    }
}

/// The expression as it looks from `levels` blocks further in.
pub fn deeper(expr: &Expr, levels: u8) -> Expr {
    let mut expr = expr.clone();
    if levels > 0 {
        expr.rewrite(&mut |e| {
            if let Expr::Column(column) = e {
                column.depth += levels;
            }
            false
        });
    }
    expr
}

/// A column of the block's own leaf.
pub fn column_of(leaf: u16, column: usize) -> Expr {
    Expr::Column(Column { depth: 0, leaf, column: column as u16 })
}

/// Bits of the block's own leaves that an expression looks at (leaves above 63 share the last bit).
pub fn leaves_of(expr: &Expr) -> u64 {
    let mut leaves = 0;
    expr.visit(&mut |e| {
        if let Expr::Column(Column { depth: 0, leaf, .. }) = e {
            leaves |= leaf_bit(*leaf);
        }
    });
    leaves
}

/// The bit of a leaf.
pub fn leaf_bit(leaf: u16) -> u64 {
    1 << leaf.min(63)
}

/// The conjuncts of a condition.
pub fn conjuncts(expr: Expr, into: &mut Vec<Expr>) {
    match expr {
        Expr::And(a, b) => {
            conjuncts(*a, into);
            conjuncts(*b, into);
        }
        other => into.push(other),
    }
}

/// The alternatives of a condition.
pub fn disjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Or(a, b) => {
            let mut all = disjuncts(a);
            all.extend(disjuncts(b));
            all
        }
        other => vec![other],
    }
}

/// The conjunction of conditions; `None` of none.
pub fn conjunction(list: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    list.into_iter().reduce(|a, b| Expr::And(Box::new(a), Box::new(b)))
}
