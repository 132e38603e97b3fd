//! Transactions, variables, prepared statements and administration.

pub use base::Isolation;

use super::{DdlWait, Expr, ObjectName, Scope, Statement, SystemVar};

/// BEGIN or START TRANSACTION.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartTransaction {
    /// WITH CONSISTENT SNAPSHOT.
    pub consistent_snapshot: bool,
    /// READ ONLY -> `Some(true)`, READ WRITE -> `Some(false)`.
    pub read_only: Option<bool>,
}

/// How a transaction ends; none where the word was not written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// AND \[NO\] CHAIN.
    pub chain: Option<bool>,
    /// \[NO\] RELEASE.
    pub release: Option<bool>,
}

/// One element of SET.
#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// `@name = expr` or `@name := expr`.
    User(String, Expr),
    /// A system variable, with or without `@@`; a bare word value (`SET sql_mode = ANSI`) is a string literal, DEFAULT is
    /// [`Expr::Default`].
    System(SystemVar, Expr),
    /// NAMES charset [COLLATE collation]; none for DEFAULT.
    Names(Option<(String, Option<String>)>),
    /// CHARACTER SET charset; none for DEFAULT.
    Charset(Option<String>),
}

/// SET TRANSACTION.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetTransaction {
    /// GLOBAL, SESSION, or unspecified: the next transaction only.
    pub scope: Scope,
    /// ISOLATION LEVEL.
    pub isolation: Option<Isolation>,
    /// READ ONLY -> `Some(true)`, READ WRITE -> `Some(false)`.
    pub read_only: Option<bool>,
}

/// EXPLAIN / DESCRIBE / DESC.
#[derive(Debug, Clone, PartialEq)]
pub enum Explain {
    /// DESCRIBE table [column | 'pattern'].
    Table {
        /// Table.
        table: ObjectName,
        /// Column name or LIKE pattern.
        pattern: Option<Vec<u8>>,
    },
    /// EXPLAIN of a statement.
    Statement {
        /// ANALYZE.
        analyze: bool,
        /// FORMAT = name, as written.
        format: Option<String>,
        /// INTO @variable.
        into: Option<String>,
        /// FOR SCHEMA name.
        schema: Option<String>,
        /// The statement.
        statement: Box<Statement>,
    },
    /// EXPLAIN FOR CONNECTION id.
    Connection {
        /// FORMAT = name, as written.
        format: Option<String>,
        /// INTO @variable.
        into: Option<String>,
        /// Connection id.
        id: Expr,
    },
}

/// KILL.
#[derive(Debug, Clone, PartialEq)]
pub struct Kill {
    /// QUERY rather than CONNECTION.
    pub query: bool,
    /// Connection id.
    pub id: Expr,
}

/// FLUSH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flush {
    /// NO_WRITE_TO_BINLOG or LOCAL.
    pub local: bool,
    /// What.
    pub targets: Vec<FlushTarget>,
}

/// What FLUSH flushes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlushTarget {
    /// TABLES [t, ...] [WITH READ LOCK | FOR EXPORT].
    Tables {
        /// Named tables.
        tables: Vec<ObjectName>,
        /// WITH READ LOCK.
        read_lock: bool,
        /// FOR EXPORT.
        for_export: bool,
    },
    /// PRIVILEGES.
    Privileges,
    /// STATUS.
    Status,
    /// LOGS, BINARY LOGS, ENGINE LOGS, ERROR LOGS, GENERAL LOGS, RELAY LOGS, SLOW LOGS, OPTIMIZER_COSTS,
    /// USER_RESOURCES, HOSTS: upper case.
    Other(String),
}

/// PREPARE name FROM source.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepare {
    /// Statement name.
    pub name: String,
    /// A string literal or a user variable.
    pub source: PrepareSource,
}

/// Text of PREPARE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrepareSource {
    /// 'text'.
    Text(Vec<u8>),
    /// @variable.
    UserVar(String),
}

/// EXECUTE name [USING @a, @b].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execute {
    /// Statement name.
    pub name: String,
    /// User variables.
    pub using: Vec<String>,
}

/// One element of LOCK TABLES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockTable {
    /// Table.
    pub table: ObjectName,
    /// Alias.
    pub alias: Option<String>,
    /// Kind.
    pub kind: LockKind,
}

/// Kind of a table lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// READ.
    Read,
    /// READ LOCAL.
    ReadLocal,
    /// WRITE (also LOW_PRIORITY WRITE).
    Write,
}

/// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maintain {
    /// Which.
    pub verb: MaintainVerb,
    /// NO_WRITE_TO_BINLOG or LOCAL.
    pub local: bool,
    /// Tables.
    pub tables: Vec<ObjectName>,
    /// Trailing words, upper case: QUICK, EXTENDED, USE_FRM, ...; FOR is FOR UPGRADE, UPDATE and DROP
    /// are those of HISTOGRAM.
    pub options: Vec<String>,
    /// UPDATE or DROP HISTOGRAM of ANALYZE.
    pub histogram: Option<Histogram>,
    /// WAIT, NOWAIT of OPTIMIZE.
    pub wait: DdlWait,
}

/// UPDATE or DROP HISTOGRAM ON columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// DROP rather than UPDATE.
    pub drop: bool,
    /// Columns.
    pub columns: Vec<String>,
    /// WITH n BUCKETS.
    pub buckets: Option<u64>,
    /// USING DATA 'json'.
    pub data: Option<Vec<u8>>,
    /// AUTO UPDATE -> `Some(true)`, MANUAL UPDATE -> `Some(false)`.
    pub auto: Option<bool>,
}

/// CACHE INDEX tables IN cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheIndex {
    /// Tables.
    pub tables: Vec<KeyCacheTable>,
    /// Key cache; `default` for DEFAULT.
    pub cache: String,
}

/// A table of CACHE INDEX and LOAD INDEX INTO CACHE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCacheTable {
    /// Table.
    pub table: ObjectName,
    /// PARTITION (...); `ALL` for all.
    pub partitions: Vec<String>,
    /// Indexes.
    pub indexes: Vec<String>,
    /// IGNORE LEAVES.
    pub ignore_leaves: bool,
}

/// Verbs of [`Maintain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum MaintainVerb {
    Analyze,
    Check,
    Checksum,
    Optimize,
    Repair,
}

/// RESET PERSIST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResetPersist {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Variable; none for all.
    pub name: Option<String>,
}
