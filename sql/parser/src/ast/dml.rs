//! Statements that change rows.

use super::{ColumnRef, Expr, Limit, ObjectName, OrderItem, Query, TableRef, With};

/// INSERT or REPLACE.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// Optimizer hints, when written.
    pub hints: Option<Box<super::Hints>>,
    /// REPLACE rather than INSERT.
    pub replace: bool,
    /// LOW_PRIORITY, DELAYED or HIGH_PRIORITY.
    pub priority: Priority,
    /// IGNORE.
    pub ignore: bool,
    /// Target.
    pub table: ObjectName,
    /// PARTITION (...).
    pub partitions: Vec<String>,
    /// Column list; none when not written, `Some(empty)` for `()`.
    pub columns: Option<Vec<ColumnRef>>,
    /// Rows.
    pub source: InsertSource,
    /// AS alias(columns) after the rows.
    pub row_alias: Option<(String, Vec<String>)>,
    /// ON DUPLICATE KEY UPDATE.
    pub on_duplicate: Vec<Assignment>,
}

/// Where an INSERT's rows come from.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// VALUES (..), (..): each row may be empty; elements may be [`Expr::Default`]. The SET form is one row here, its
    /// columns in [`Insert::columns`].
    Values(Vec<Vec<Expr>>),
    /// A query.
    Query(Box<Query>),
}

/// `column = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// Column.
    pub column: ColumnRef,
    /// Value, possibly [`Expr::Default`].
    pub value: Expr,
}

/// Scheduling words of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// None written.
    Normal,
    /// LOW_PRIORITY.
    Low,
    /// HIGH_PRIORITY.
    High,
    /// DELAYED (accepted with a warning, as MySQL does).
    Delayed,
}

/// UPDATE.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// Optimizer hints, when written.
    pub hints: Option<Box<super::Hints>>,
    /// WITH.
    pub with: Option<With>,
    /// LOW_PRIORITY.
    pub low_priority: bool,
    /// IGNORE.
    pub ignore: bool,
    /// Tables; one plain table in the single-table form.
    pub tables: Vec<TableRef>,
    /// SET.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY (single table).
    pub order_by: Vec<OrderItem>,
    /// LIMIT (single table; no offset).
    pub limit: Option<Limit>,
}

/// DELETE.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// Optimizer hints, when written.
    pub hints: Option<Box<super::Hints>>,
    /// WITH.
    pub with: Option<With>,
    /// LOW_PRIORITY.
    pub low_priority: bool,
    /// QUICK.
    pub quick: bool,
    /// IGNORE.
    pub ignore: bool,
    /// Tables whose rows go; empty in the single-table form.
    pub targets: Vec<ObjectName>,
    /// Tables read; one plain table in the single-table form.
    pub tables: Vec<TableRef>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY (single table).
    pub order_by: Vec<OrderItem>,
    /// LIMIT (single table; no offset).
    pub limit: Option<Limit>,
}
