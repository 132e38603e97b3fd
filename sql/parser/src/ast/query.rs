//! Query expressions: SELECT and what surrounds it.

use super::{Expr, FileFormat, JsonTable, ObjectName, OrderItem, Window};

/// A whole query expression: body, order, limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// WITH.
    pub with: Option<With>,
    /// What yields the rows.
    pub body: QueryBody,
    /// ORDER BY of the whole.
    pub order_by: Vec<OrderItem>,
    /// LIMIT of the whole.
    pub limit: Option<Limit>,
    /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE.
    pub locking: Vec<Locking>,
    /// INTO.
    pub into: Option<Into>,
}

impl Query {
    /// A query of this and nothing around it.
    pub fn of(body: QueryBody) -> Query {
        Query {
            with: None,
            body,
            order_by: Vec::new(),
            limit: None,
            locking: Vec::new(),
            into: None,
        }
    }

    /// SELECT of these expressions, without a table.
    pub fn of_values(values: impl IntoIterator<Item = Expr>) -> Query {
        let item = |expr| SelectItem::Expr { expr, alias: None, text: String::new() };
        let select = Select::of(values.into_iter().map(item).collect(), Vec::new());
        Query::of(QueryBody::Select(Box::new(select)))
    }

    /// The SELECT, when the body is one plain SELECT (no union, no parentheses).
    pub fn as_select(&self) -> Option<&Select> {
        match &self.body {
            QueryBody::Select(select) => Some(select),
            _ => None,
        }
    }
}

/// Body of a query expression.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// SELECT.
    Select(Box<Select>),
    /// UNION, EXCEPT, INTERSECT.
    SetOperation {
        /// Operator.
        op: SetOperator,
        /// ALL rather than DISTINCT.
        all: bool,
        /// Left side.
        left: Box<QueryBody>,
        /// Right side.
        right: Box<QueryBody>,
    },
    /// A parenthesised query.
    Nested(Box<Query>),
    /// VALUES ROW(...), ...
    Values(Vec<Vec<Expr>>),
    /// TABLE t.
    Table(ObjectName),
}

/// Set operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    /// UNION.
    Union,
    /// EXCEPT.
    Except,
    /// INTERSECT.
    Intersect,
}

/// A WITH clause.
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// RECURSIVE.
    pub recursive: bool,
    /// Common table expressions.
    pub tables: Vec<Cte>,
}

/// One common table expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Cte {
    /// Name.
    pub name: String,
    /// Column names, when written.
    pub columns: Vec<String>,
    /// Query.
    pub query: Box<Query>,
}

/// One SELECT.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// ALL, DISTINCT and the SQL_... words.
    pub options: SelectOptions,
    /// Select list, at least one.
    pub items: Vec<SelectItem>,
    /// FROM; empty for a SELECT without tables (and for FROM DUAL).
    pub from: Vec<TableRef>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY.
    pub group_by: Vec<OrderItem>,
    /// WITH ROLLUP.
    pub rollup: bool,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW name AS (...).
    pub windows: Vec<(String, Window)>,
}

impl Select {
    /// SELECT of these items from these tables.
    pub fn of(items: Vec<SelectItem>, from: Vec<TableRef>) -> Select {
        Select {
            options: SelectOptions::default(),
            items,
            from,
            filter: None,
            group_by: Vec::new(),
            rollup: false,
            having: None,
            windows: Vec::new(),
        }
    }

    /// What TABLE means.
    pub fn of_table(name: ObjectName) -> Select {
        let table = TableRef::Table(TableFactor::named(name));
        Select::of(vec![SelectItem::Wildcard(None)], vec![table])
    }
}

/// Words between SELECT and the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectOptions {
    /// DISTINCT or DISTINCTROW.
    pub distinct: bool,
    /// HIGH_PRIORITY.
    pub high_priority: bool,
    /// STRAIGHT_JOIN.
    pub straight_join: bool,
    /// SQL_SMALL_RESULT.
    pub small_result: bool,
    /// SQL_BIG_RESULT.
    pub big_result: bool,
    /// SQL_BUFFER_RESULT.
    pub buffer_result: bool,
    /// SQL_NO_CACHE (accepted, no effect).
    pub no_cache: bool,
    /// SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
    /// Optimizer hints, when written.
    pub hints: Option<Box<super::Hints>>,
}

/// One element of the select list.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`, `t.*`, `db.t.*`.
    Wildcard(Option<ObjectName>),
    /// An expression.
    Expr {
        /// Value.
        expr: Expr,
        /// Alias, when written.
        alias: Option<String>,
        /// Text as written (lossy UTF-8): MySQL's column name when there is no alias and the expression is not a column.
        text: String,
    },
}

/// One element of FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum TableRef {
    /// A named table.
    Table(TableFactor),
    /// `(SELECT ...) AS t(c, ..)`.
    Derived {
        /// LATERAL.
        lateral: bool,
        /// Query.
        query: Box<Query>,
        /// Alias; MySQL demands one.
        alias: String,
        /// Column names, when written.
        columns: Vec<String>,
    },
    /// JSON_TABLE(expr, path COLUMNS (...)) AS t.
    JsonTable(Box<JsonTable>),
    /// A join.
    Join(Box<Join>),
    /// `(a, b)` in parentheses.
    List(Vec<TableRef>),
}

/// A named table with its alias, partitions and index hints.
#[derive(Debug, Clone, PartialEq)]
pub struct TableFactor {
    /// Table.
    pub name: ObjectName,
    /// Alias.
    pub alias: Option<String>,
    /// PARTITION (p, ...).
    pub partitions: Vec<String>,
    /// USE, FORCE and IGNORE INDEX.
    pub index_hints: Vec<IndexHint>,
}

impl TableFactor {
    /// A table by nothing but its name.
    pub fn named(name: ObjectName) -> TableFactor {
        TableFactor { name, alias: None, partitions: Vec::new(), index_hints: Vec::new() }
    }
}

/// USE/FORCE/IGNORE INDEX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    /// Which.
    pub kind: IndexHintKind,
    /// FOR ...
    pub scope: IndexHintScope,
    /// Index names (`PRIMARY` for the primary key); may be empty for USE.
    pub indexes: Vec<String>,
}

/// Kind of an index hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintKind {
    /// USE.
    Use,
    /// FORCE.
    Force,
    /// IGNORE.
    Ignore,
}

/// What an index hint applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintScope {
    /// Everything.
    All,
    /// FOR JOIN.
    Join,
    /// FOR ORDER BY.
    OrderBy,
    /// FOR GROUP BY.
    GroupBy,
}

/// A join of two table references.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Left side.
    pub left: TableRef,
    /// Right side.
    pub right: TableRef,
    /// Kind.
    pub kind: JoinKind,
    /// NATURAL.
    pub natural: bool,
    /// ON.
    pub on: Option<Expr>,
    /// USING (c, ...).
    pub using: Vec<String>,
}

/// Kinds of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// JOIN, INNER JOIN, CROSS JOIN.
    Inner,
    /// STRAIGHT_JOIN.
    Straight,
    /// LEFT [OUTER] JOIN.
    Left,
    /// RIGHT [OUTER] JOIN.
    Right,
}

/// LIMIT.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Rows wanted: a literal, a parameter or a local variable.
    pub count: Expr,
    /// Rows skipped first.
    pub offset: Option<Expr>,
}

/// A row-locking clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locking {
    /// UPDATE rather than SHARE.
    pub update: bool,
    /// OF t, ...
    pub of: Vec<ObjectName>,
    /// NOWAIT / SKIP LOCKED.
    pub wait: LockWait,
}

/// What to do about locked rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    /// Wait.
    Wait,
    /// NOWAIT.
    NoWait,
    /// SKIP LOCKED.
    SkipLocked,
}

/// INTO of a SELECT.
#[derive(Debug, Clone, PartialEq)]
pub enum Into {
    /// INTO OUTFILE 'name' [CHARACTER SET charset] [FIELDS ..] [LINES ..].
    Outfile {
        /// File.
        file: Vec<u8>,
        /// CHARACTER SET.
        charset: Option<String>,
        /// FIELDS and LINES.
        format: FileFormat,
    },
    /// INTO DUMPFILE 'name'.
    Dumpfile(Vec<u8>),
    /// INTO @a, b, ...: user variables as `@name`, others are local variables.
    Variables(Vec<Expr>),
}
