//! ALTER TABLE and partitions.

use super::{ColumnDef, Expr, KeyDef, ObjectName, OrderItem, TableOption};

/// WAIT n, in seconds, or NOWAIT, which is `Some(0)`, as MariaDB writes them: how long metadata locks are waited for.
pub type DdlWait = Option<u64>;

/// ALTER TABLE: actions in the order written.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// Table.
    pub table: ObjectName,
    /// What to do; may be empty.
    pub actions: Vec<AlterAction>,
    /// How.
    pub how: AlterHow,
}

/// ALGORITHM and LOCK of ALTER TABLE, CREATE INDEX and DROP INDEX; upper case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlterHow {
    /// ALGORITHM: DEFAULT, INSTANT, INPLACE, COPY.
    pub algorithm: Option<String>,
    /// LOCK: DEFAULT, NONE, SHARED, EXCLUSIVE.
    pub lock: Option<String>,
    /// WITH VALIDATION -> `Some(true)`, WITHOUT VALIDATION -> `Some(false)`.
    pub validation: Option<bool>,
    /// WAIT, NOWAIT.
    pub wait: DdlWait,
}

/// Where a column goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnPlace {
    /// FIRST.
    First,
    /// AFTER column.
    After(String),
}

/// One action of ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    /// ADD [COLUMN] definition [FIRST | AFTER c].
    AddColumn {
        /// Column.
        column: Box<ColumnDef>,
        /// Place; none for the end.
        place: Option<ColumnPlace>,
    },
    /// ADD [COLUMN] (definition, ...).
    AddElements {
        /// Columns.
        columns: Vec<ColumnDef>,
        /// Indexes and constraints.
        keys: Vec<KeyDef>,
    },
    /// ADD of an index or a constraint.
    AddKey(KeyDef),
    /// CHANGE [COLUMN] old definition [place].
    ChangeColumn {
        /// Present name.
        old: String,
        /// New definition with the new name.
        column: Box<ColumnDef>,
        /// New place.
        place: Option<ColumnPlace>,
    },
    /// MODIFY [COLUMN] definition [place].
    ModifyColumn {
        /// New definition.
        column: Box<ColumnDef>,
        /// New place.
        place: Option<ColumnPlace>,
    },
    /// ALTER [COLUMN] c SET DEFAULT value.
    SetDefault {
        /// Column.
        column: String,
        /// Value.
        value: Expr,
        /// The value stands in parentheses.
        is_expression: bool,
    },
    /// ALTER [COLUMN] c DROP DEFAULT.
    DropDefault(String),
    /// ALTER [COLUMN] c SET VISIBLE / INVISIBLE.
    SetVisible {
        /// Column.
        column: String,
        /// VISIBLE.
        visible: bool,
    },
    /// DROP [COLUMN] c.
    DropColumn(String),
    /// DROP PRIMARY KEY.
    DropPrimaryKey,
    /// DROP INDEX / KEY.
    DropIndex(String),
    /// DROP FOREIGN KEY.
    DropForeignKey(String),
    /// DROP CHECK.
    DropCheck(String),
    /// DROP CONSTRAINT: a check, a foreign key, a unique or the primary key.
    DropConstraint(String),
    /// ALTER INDEX i VISIBLE / INVISIBLE.
    AlterIndex {
        /// Index.
        name: String,
        /// VISIBLE.
        visible: bool,
    },
    /// ALTER CHECK c [NOT] ENFORCED.
    AlterCheck {
        /// Constraint.
        name: String,
        /// ENFORCED.
        enforced: bool,
    },
    /// ALTER CONSTRAINT c [NOT] ENFORCED.
    AlterConstraint {
        /// Constraint.
        name: String,
        /// ENFORCED.
        enforced: bool,
    },
    /// RENAME COLUMN old TO new.
    RenameColumn(String, String),
    /// RENAME INDEX / KEY old TO new.
    RenameIndex(String, String),
    /// RENAME [TO | AS | =] table.
    Rename(ObjectName),
    /// CONVERT TO CHARACTER SET charset [COLLATE collation]; no charset for DEFAULT.
    Convert {
        /// Character set.
        charset: Option<String>,
        /// Collation.
        collation: Option<String>,
    },
    /// DISABLE KEYS.
    DisableKeys,
    /// ENABLE KEYS.
    EnableKeys,
    /// FORCE.
    Force,
    /// ORDER BY columns.
    OrderBy(Vec<OrderItem>),
    /// A table option.
    Option(TableOption),
    /// DISCARD TABLESPACE.
    DiscardTablespace,
    /// IMPORT TABLESPACE.
    ImportTablespace,
    /// SECONDARY_LOAD of everything or of named partitions.
    SecondaryLoad(Vec<String>),
    /// SECONDARY_UNLOAD of everything or of named partitions.
    SecondaryUnload(Vec<String>),
    /// PARTITION BY.
    PartitionBy(Box<PartitionBy>),
    /// REMOVE PARTITIONING.
    RemovePartitioning,
    /// ADD PARTITION (definitions) or PARTITIONS count.
    AddPartitions {
        /// Definitions.
        partitions: Vec<PartitionDef>,
        /// Number of partitions to add instead.
        count: Option<u64>,
    },
    /// DROP PARTITION names.
    DropPartitions(Vec<String>),
    /// REORGANIZE PARTITION [names INTO (definitions)].
    ReorganizePartitions {
        /// Partitions that go; empty without INTO.
        names: Vec<String>,
        /// Partitions that come.
        into: Vec<PartitionDef>,
    },
    /// COALESCE PARTITION count.
    CoalescePartitions(u64),
    /// EXCHANGE PARTITION p WITH TABLE t [{WITH | WITHOUT} VALIDATION].
    ExchangePartition {
        /// Partition.
        name: String,
        /// Table.
        table: ObjectName,
        /// WITHOUT VALIDATION -> false.
        validation: bool,
    },
    /// TRUNCATE, REBUILD, OPTIMIZE, ANALYZE, CHECK, REPAIR, DISCARD or IMPORT PARTITION.
    Partitions {
        /// Verb, upper case.
        verb: String,
        /// Partitions; empty for ALL.
        names: Vec<String>,
        /// Options of CHECK and REPAIR, upper case.
        options: Vec<String>,
    },
}

/// PARTITION BY.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionBy {
    /// Method.
    pub method: PartitionMethod,
    /// PARTITIONS n.
    pub count: Option<u64>,
    /// SUBPARTITION BY [SUBPARTITIONS n].
    pub sub: Option<(PartitionMethod, Option<u64>)>,
    /// Definitions; may be empty for HASH and KEY.
    pub partitions: Vec<PartitionDef>,
}

/// How rows are spread over partitions.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionMethod {
    /// [LINEAR] HASH (expr).
    Hash {
        /// LINEAR.
        linear: bool,
        /// Expression.
        expr: Expr,
    },
    /// [LINEAR] KEY [ALGORITHM = n] (columns); no columns for the primary key's.
    Key {
        /// LINEAR.
        linear: bool,
        /// ALGORITHM.
        algorithm: Option<u64>,
        /// Columns.
        columns: Vec<String>,
    },
    /// RANGE (expr).
    Range(Expr),
    /// RANGE COLUMNS (columns).
    RangeColumns(Vec<String>),
    /// LIST (expr).
    List(Expr),
    /// LIST COLUMNS (columns).
    ListColumns(Vec<String>),
}

/// One partition, or one subpartition (then without values and subpartitions).
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionDef {
    /// Name.
    pub name: String,
    /// VALUES.
    pub values: Option<PartitionValues>,
    /// Options: upper-case name and value as text.
    pub options: Vec<(String, String)>,
    /// Subpartitions.
    pub subpartitions: Vec<PartitionDef>,
}

/// VALUES of a partition; `None` is MAXVALUE.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValues {
    /// LESS THAN (value, ...) or LESS THAN MAXVALUE.
    LessThan(Vec<Option<Expr>>),
    /// IN (value, ...) or IN ((value, ...), ...): one row of values each.
    In(Vec<Vec<Option<Expr>>>),
}
