//! What the executor runs.

use crate::query_plan::QueryStatement;
use catalog::{TableRef, VirtualRef};
use expr::tree::{AggregateCall, Expr, Typed};
use value::{ColumnType, Kind};

/// Describes a result column to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultColumn {
    /// Schema of the underlying table, or empty.
    pub schema: String,
    /// Alias of the underlying table, or empty.
    pub table: String,
    /// Name of the underlying table, or empty.
    pub org_table: String,
    /// Name or alias of the column.
    pub name: String,
    /// Name of the underlying column, or empty.
    pub org_name: String,
    /// Type and nullability.
    pub ty: ColumnType,
    /// Digits after the point.
    pub decimals: u8,
    /// The literal NULL.
    pub null_literal: bool,
    /// Key flags of the underlying column.
    pub keys: KeyFlags,
}

/// Which flags a result column carries besides those of its type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyFlags {
    /// Part of the primary key.
    pub primary: bool,
    /// A unique key of one column.
    pub unique: bool,
    /// First part of a key that is not unique.
    pub multiple: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// NOT NULL without a default.
    pub no_default: bool,
}

impl ResultColumn {
    /// A column that is no table's.
    pub fn computed(name: impl Into<String>, ty: ColumnType, decimals: u8) -> ResultColumn {
        ResultColumn {
            schema: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: name.into(),
            org_name: String::new(),
            ty,
            decimals,
            null_literal: false,
            keys: KeyFlags::default(),
        }
    }

    /// Text column of a SHOW statement.
    pub fn text(name: &str, length: u32) -> ResultColumn {
        let ty = ColumnType {
            kind: Kind::VarChar,
            ..ColumnType::varchar(length, value::Collation::Utf8mb4_0900AiCi)
        };
        ResultColumn::computed(name, ty, 0)
    }
}

/// A bound of a key range: values for the first parts of the index.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundExpr {
    /// Value of the last part used; earlier parts come from the range's equal prefix.
    pub value: Expr,
    /// The bound itself belongs to the range.
    pub inclusive: bool,
}

/// A range of one index part; no bound means open.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyRangeExpr {
    /// Lower bound.
    pub low: Option<BoundExpr>,
    /// Upper bound.
    pub high: Option<BoundExpr>,
}

/// How rows are found.
#[derive(Debug, Clone, PartialEq)]
pub enum Access {
    /// No table: one row without columns.
    NoTable,
    /// The filter is never true: nothing is read.
    Nothing,
    /// At most one row, by every part of the primary key.
    Point(Vec<Expr>),
    /// Ranges of an index: equal values for the first parts, then ranges of the next part.
    Ranges {
        /// Engine index: 0 is the clustered one.
        index: usize,
        /// Values of the leading parts.
        equal: Vec<Expr>,
        /// Ranges of the part after them; empty means all of it.
        ranges: Vec<KeyRangeExpr>,
    },
    /// Every row, by the clustered index.
    All,
}

/// One output column.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// What is computed.
    pub value: Typed,
    /// How it is announced.
    pub column: ResultColumn,
}

/// A sort key.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// What is sorted by.
    pub value: Typed,
    /// DESC.
    pub descending: bool,
}

/// SELECT over one table or none.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectPlan {
    /// The table.
    pub table: Option<TableRef>,
    /// How rows are found.
    pub access: Access,
    /// What every row must satisfy.
    pub filter: Option<Expr>,
    /// Columns that any expression looks at: the others need not be fetched.
    pub columns: Vec<usize>,
    /// Output columns.
    pub outputs: Vec<Output>,
    /// The virtual table that is read instead of a stored one; every row of it.
    pub made: Option<VirtualRef>,
    /// Aggregates, referred to by [`Expr::Aggregate`].
    pub aggregates: Vec<AggregateCall>,
    /// GROUP BY keys.
    pub group_by: Vec<Typed>,
    /// True for a query with aggregates or GROUP BY.
    pub grouped: bool,
    /// HAVING.
    pub having: Option<Expr>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY.
    pub order_by: Vec<SortKey>,
    /// LIMIT: rows to skip, rows to send.
    pub limit: Option<(Expr, Expr)>,
    /// FOR UPDATE / FOR SHARE was written.
    pub locking: bool,
}

/// A value of an INSERT.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertValue {
    /// An expression; its type says what its bytes mean.
    Expr(Typed),
    /// DEFAULT, or a column that was not named.
    Default,
}

/// Where the rows of an INSERT come from.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// Rows of values, each as long as the column list.
    Values(Vec<Vec<InsertValue>>),
    /// A query with as many outputs.
    Query(Box<QueryStatement>),
}

/// INSERT and REPLACE.
#[derive(Debug, Clone, PartialEq)]
pub struct InsertPlan {
    /// The table.
    pub table: TableRef,
    /// Every table that is opened, the target first.
    pub tables: Vec<(TableRef, mdl::Mode)>,
    /// Table column of each value.
    pub columns: Vec<usize>,
    /// The rows.
    pub source: InsertSource,
    /// REPLACE: rows in the way are deleted.
    pub replace: bool,
    /// IGNORE: what is wrong with a row is a warning, and the row is left out.
    pub ignore: bool,
    /// INSERT ... SELECT was written; VALUES with a subquery has a query all the same.
    pub is_select: bool,
    /// Calls of VALUES(), each worth a warning.
    pub values_calls: usize,
    /// ON DUPLICATE KEY UPDATE, in order: leaf 0 is the row in the way, leaf 1 the new one.
    pub on_duplicate: Vec<(usize, InsertValue)>,
}

/// UPDATE or DELETE over one table.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePlan {
    /// The table.
    pub table: TableRef,
    /// How rows are found.
    pub access: Access,
    /// What every row must satisfy.
    pub filter: Option<Expr>,
    /// Columns that finding and ordering the rows looks at.
    pub columns: Vec<usize>,
    /// Assignments in order; `None` is a DELETE.
    pub assignments: Option<Vec<(usize, InsertValue)>>,
    /// ORDER BY.
    pub order_by: Vec<SortKey>,
    /// LIMIT.
    pub limit: Option<Expr>,
}

/// A plan of a statement that reads or writes rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// A query.
    Query(Box<crate::query_plan::QueryStatement>),
    /// INSERT or REPLACE.
    Insert(InsertPlan),
    /// UPDATE or DELETE.
    Change(ChangePlan),
    /// DO.
    Do(Vec<Expr>),
}
