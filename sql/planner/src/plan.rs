//! What the executor runs.

use crate::query_plan::QueryStatement;
use catalog::TableRef;
use expr::tree::{Expr, Typed};

pub use expr::tree::SortKey;
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
    /// The value comes out of a temporary table: a derived table, a set operation, a window.
    pub is_materialized: bool,
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
            is_materialized: false,
            keys: KeyFlags::default(),
        }
    }

    /// The column of a temporary table that keeps its values.
    #[must_use]
    pub fn as_materialized(&self) -> ResultColumn {
        let is_computed = self.org_table.is_empty();
        let again = self.is_materialized || !is_computed;
        let ty = if again { self.ty } else { crate::resolve::materialized_type(self.ty) };
        let keys = KeyFlags { no_default: self.keys.no_default, ..KeyFlags::default() };
        ResultColumn { ty, is_materialized: is_computed, keys, null_literal: false, ..self.clone() }
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

/// One output column.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// What is computed.
    pub value: Typed,
    /// How it is announced.
    pub column: ResultColumn,
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
    /// Rows of VALUES with a subquery; 0 where only running the query tells how many there are.
    pub rows: u64,
    /// Calls of VALUES(), each worth a warning.
    pub values_calls: usize,
    /// The view that was named instead of the table.
    pub view: Option<InsertView>,
    /// ON DUPLICATE KEY UPDATE, in order: leaf 0 is the row in the way, leaf 1 the new one, leaf 2 that of the
    /// query.
    pub on_duplicate: Vec<(usize, InsertValue)>,
    /// The subqueries of these assignments, or of LOAD DATA's: a block that reads none of its leaves.
    pub subqueries: Option<Box<QueryStatement>>,
}

/// LOAD DATA.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadPlan {
    /// What is done with the rows; it has none itself.
    pub insert: InsertPlan,
    /// What each field of a line is.
    pub fields: Vec<LoadField>,
    /// SET, in order, over the row that the fields make (leaf 0).
    pub assignments: Vec<(usize, InsertValue)>,
    /// The client sends the file.
    pub local: bool,
    /// Its name.
    pub file: Vec<u8>,
    /// CHARACTER SET.
    pub charset: Option<String>,
    /// FIELDS and LINES.
    pub format: parser::ast::FileFormat,
    /// Lines that are passed over.
    pub skip: u64,
}

/// A field of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadField {
    /// A column's value.
    Column(usize),
    /// A user variable's.
    Variable(String),
}

/// UPDATE and DELETE.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePlan {
    /// Finds the rows; it has no outputs, but the leaves of the targets are keyed.
    pub query: QueryStatement,
    /// What is done to which rows.
    pub targets: Vec<ChangeTarget>,
    /// DELETE: targets have no assignments.
    pub delete: bool,
    /// Several tables were written.
    pub several: bool,
    /// What a row is found by.
    pub found: Found,
    /// Values see what the first target was assigned before.
    pub immediate: bool,
    /// IGNORE: what is wrong with a row is a warning, and the row stays as it is.
    pub ignore: bool,
    /// The conditions and values read every column that is assigned.
    pub reads_assigned: bool,
}

/// A table whose rows are changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeTarget {
    /// The table.
    pub table: TableRef,
    /// The leaf of the query that shows it.
    pub leaf: u16,
    /// The leaf that it was written as: another one where that is a view.
    pub shown: u16,
    /// Assignments in order.
    pub assignments: Vec<(usize, InsertValue)>,
    /// What a changed row must satisfy.
    pub check: Option<RowCheck>,
}

/// WITH CHECK OPTION.
#[derive(Debug, Clone, PartialEq)]
pub struct RowCheck {
    /// `schema.name` of the view.
    pub view: String,
    /// Over the row as the only leaf.
    pub condition: Expr,
}

/// The view that an INSERT names.
#[derive(Debug, Clone, PartialEq)]
pub struct InsertView {
    /// `schema.name`.
    pub name: String,
    /// What the new row must satisfy.
    pub check: Option<RowCheck>,
    /// What a row satisfies that the view shows: REPLACE deletes no other.
    pub visible: Option<Expr>,
}

/// What the rows to change are found by.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// By themselves: the only leaf, a condition over it that looks at nothing else.
    Alone(Option<Expr>),
    /// By other tables, or subqueries, too.
    Joined,
}

/// UPDATE, DELETE and INSERT of a virtual table.
#[derive(Debug, Clone, PartialEq)]
pub struct VirtualPlan {
    /// The table.
    pub table: catalog::VirtualRef,
    /// Its rows, or the values of new ones.
    pub query: QueryStatement,
    /// What is done to the rows.
    pub change: VirtualChange,
    /// IGNORE: what is wrong with a row is a warning.
    pub ignore: bool,
}

/// What is done to the rows of a virtual table.
#[derive(Debug, Clone, PartialEq)]
pub enum VirtualChange {
    /// Columns are assigned, in order; behind the table's columns the query has a value for each with `true`, the others
    /// get their default.
    Update(Vec<(usize, bool)>),
    /// They go.
    Delete,
    /// Rows of these columns are made: of every row of the query, or where `rows` is there of its only row, where each
    /// value has its place. `None` is DEFAULT.
    Insert {
        /// Positions in the table.
        columns: Vec<usize>,
        /// Places of the values of VALUES.
        rows: Option<Vec<Vec<Option<usize>>>>,
    },
}

/// A plan of a statement that reads or writes rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// A query.
    Query(Box<crate::query_plan::QueryStatement>),
    /// INSERT or REPLACE.
    Insert(Box<InsertPlan>),
    /// UPDATE or DELETE.
    Change(Box<ChangePlan>),
    /// UPDATE, DELETE or INSERT of a virtual table.
    Virtual(Box<VirtualPlan>),
    /// LOAD DATA.
    Load(Box<LoadPlan>),
    /// DO.
    Do(Box<crate::query_plan::QueryStatement>),
}
