//! Definitions of schemas, tables and indexes.

use super::{
    AlterHow, AlterTable, CreateView, DdlWait, DropView, Expr, ObjectName, PartitionBy, Query,
    StringLiteral,
};

/// A statement that defines schemas, tables or views.
#[derive(Debug, Clone, PartialEq)]
pub enum Ddl {
    /// CREATE DATABASE.
    CreateDatabase(CreateDatabase),
    /// ALTER DATABASE.
    AlterDatabase(AlterDatabase),
    /// DROP DATABASE.
    DropDatabase(DropDatabase),
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// ALTER TABLE.
    AlterTable(Box<AlterTable>),
    /// RENAME TABLE a TO b, ...
    RenameTable(Vec<(ObjectName, ObjectName)>, DdlWait),
    /// DROP TABLE.
    DropTable(DropTable),
    /// TRUNCATE \[TABLE\].
    Truncate(ObjectName, DdlWait),
    /// CREATE INDEX.
    CreateIndex(Box<CreateIndex>),
    /// DROP INDEX.
    DropIndex(DropIndex),
    /// CREATE VIEW.
    CreateView(Box<CreateView>),
    /// ALTER VIEW.
    AlterView(Box<CreateView>),
    /// DROP VIEW.
    DropView(DropView),
}

/// CREATE DATABASE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateDatabase {
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name.
    pub name: String,
    /// Options.
    pub options: DatabaseOptions,
}

/// ALTER DATABASE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterDatabase {
    /// Name; the current schema when not written.
    pub name: Option<String>,
    /// Options.
    pub options: DatabaseOptions,
}

/// Options of a schema; the last one written wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// CHARACTER SET.
    pub charset: Option<String>,
    /// COLLATE.
    pub collation: Option<String>,
    /// ENCRYPTION 'Y' or 'N'.
    pub encryption: Option<String>,
    /// READ ONLY 0, 1 or DEFAULT (as 0).
    pub read_only: Option<bool>,
}

/// DROP DATABASE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropDatabase {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Name.
    pub name: String,
}

/// CREATE TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// TEMPORARY.
    pub temporary: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name.
    pub name: ObjectName,
    /// LIKE other; everything below is empty then.
    pub like: Option<ObjectName>,
    /// Columns in order.
    pub columns: Vec<ColumnDef>,
    /// Table-level indexes and constraints in order (inline keys stay with their column).
    pub keys: Vec<KeyDef>,
    /// Table options in order.
    pub options: Vec<TableOption>,
    /// PARTITION BY was written.
    pub partitioned: bool,
    /// PARTITION BY.
    pub partition: Option<Box<PartitionBy>>,
    /// START TRANSACTION behind the options.
    pub start_transaction: bool,
    /// IGNORE or REPLACE before a query: `Some(true)` for REPLACE.
    pub on_duplicate: Option<bool>,
    /// AS SELECT ...
    pub query: Option<Box<Query>>,
}

/// One column definition.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: DataType,
    /// NOT NULL -> `Some(false)`, NULL -> `Some(true)`, neither -> none.
    pub nullable: Option<bool>,
    /// DEFAULT.
    pub default: Option<Expr>,
    /// The default stands in parentheses: an expression, even when it is a literal.
    pub default_is_expression: bool,
    /// ON UPDATE CURRENT_TIMESTAMP[(n)].
    pub on_update: Option<Expr>,
    /// AUTO_INCREMENT (also through SERIAL).
    pub auto_increment: bool,
    /// [PRIMARY] KEY.
    pub primary: bool,
    /// UNIQUE [KEY] (also through SERIAL).
    pub unique: bool,
    /// COMMENT.
    pub comment: Option<Vec<u8>>,
    /// COLLATE.
    pub collation: Option<String>,
    /// INVISIBLE.
    pub invisible: bool,
    /// [GENERATED ALWAYS] AS (expr); true for STORED.
    pub generated: Option<(Expr, bool)>,
    /// CHECK constraints: name, expression, enforced.
    pub checks: Vec<Check>,
    /// REFERENCES.
    pub references: Option<Box<References>>,
    /// SRID of a spatial column.
    pub srid: Option<u64>,
    /// COLUMN_FORMAT, STORAGE, SRID, ENGINE_ATTRIBUTE and so on: accepted, listed by name.
    pub others: Vec<String>,
}

/// A column's data type with its own modifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataType {
    /// Base type.
    pub kind: TypeKind,
    /// First number in parentheses: length, precision, fsp or display width.
    pub length: Option<u32>,
    /// Second number in parentheses.
    pub scale: Option<u32>,
    /// UNSIGNED (implied by ZEROFILL).
    pub unsigned: bool,
    /// ZEROFILL.
    pub zerofill: bool,
    /// CHARACTER SET, ASCII (`latin1`), UNICODE (`ucs2`), BYTE (`binary`).
    pub charset: Option<String>,
    /// BINARY as an attribute of a character type: the _bin collation of its character set.
    pub binary: bool,
    /// Members of ENUM and SET; those that are written as digits are `binary`: bytes of the column's character set.
    pub members: Vec<StringLiteral>,
}

/// Base types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum TypeKind {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Bool,
    Serial,
    Decimal,
    Float,
    Double,
    Bit,
    Date,
    Time,
    Datetime,
    Timestamp,
    Year,
    Char,
    VarChar,
    /// NCHAR: utf8mb3.
    NChar,
    /// NVARCHAR: utf8mb3.
    NVarChar,
    Binary,
    VarBinary,
    TinyText,
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Enum,
    Set,
    Json,
    Vector,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
}

/// CHECK (expr).
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// CONSTRAINT name.
    pub name: Option<String>,
    /// Condition.
    pub expr: Expr,
    /// ENFORCED (the default).
    pub enforced: bool,
}

/// A table-level index or constraint.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyDef {
    /// PRIMARY, UNIQUE, INDEX/KEY, FULLTEXT, SPATIAL.
    Index(IndexDef),
    /// CHECK.
    Check(Check),
    /// FOREIGN KEY.
    Foreign {
        /// CONSTRAINT name.
        constraint: Option<String>,
        /// Index name after FOREIGN KEY.
        index: Option<String>,
        /// Columns here.
        columns: Vec<KeyColumn>,
        /// Columns there.
        references: References,
    },
}

/// An index definition.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexDef {
    /// Kind.
    pub kind: IndexKind,
    /// Name: the index name, or the CONSTRAINT name when only that was written.
    pub name: Option<String>,
    /// Key parts, at least one.
    pub columns: Vec<KeyColumn>,
    /// Options.
    pub options: IndexOptions,
}

/// Kinds of indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE.
    Unique,
    /// INDEX or KEY.
    Plain,
    /// FULLTEXT.
    FullText,
    /// SPATIAL.
    Spatial,
}

/// One key part.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyColumn {
    /// Column or expression.
    pub part: KeyPart,
    /// DESC.
    pub descending: bool,
}

/// What a key part indexes.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyPart {
    /// column[(length)]; the length counts characters, or bytes of a binary column.
    Column(String, Option<u32>),
    /// (expr).
    Expr(Expr),
}

/// Options of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexOptions {
    /// USING BTREE / HASH / RTREE, upper case.
    pub using: Option<String>,
    /// KEY_BLOCK_SIZE.
    pub key_block_size: Option<u64>,
    /// COMMENT.
    pub comment: Option<Vec<u8>>,
    /// INVISIBLE.
    pub invisible: bool,
    /// WITH PARSER.
    pub parser: Option<String>,
    /// ENGINE_ATTRIBUTE and SECONDARY_ENGINE_ATTRIBUTE were written: upper-case name and value.
    pub others: Vec<(String, String)>,
}

/// REFERENCES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct References {
    /// Parent table.
    pub table: ObjectName,
    /// Parent columns; empty when not written.
    pub columns: Vec<String>,
    /// MATCH FULL, PARTIAL or SIMPLE, upper case (no effect in MySQL).
    pub matching: Option<String>,
    /// ON DELETE.
    pub on_delete: Option<ReferenceAction>,
    /// ON UPDATE.
    pub on_update: Option<ReferenceAction>,
}

/// What happens to children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

/// A table option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableOption {
    /// ENGINE.
    Engine(String),
    /// AUTO_INCREMENT.
    AutoIncrement(u64),
    /// CHARACTER SET.
    Charset(String),
    /// COLLATE.
    Collation(String),
    /// COMMENT.
    Comment(Vec<u8>),
    /// Any other known option: its upper-case name and value as text.
    Other(String, String),
}

/// DROP TABLE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropTable {
    /// TEMPORARY.
    pub temporary: bool,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Tables.
    pub tables: Vec<ObjectName>,
    /// WAIT, NOWAIT.
    pub wait: DdlWait,
}

/// CREATE INDEX.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// Table.
    pub table: ObjectName,
    /// Definition; its name is always present.
    pub index: IndexDef,
    /// ALGORITHM and LOCK.
    pub how: AlterHow,
}

/// DROP INDEX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropIndex {
    /// Index (`PRIMARY` for the primary key).
    pub name: String,
    /// Table.
    pub table: ObjectName,
    /// ALGORITHM and LOCK.
    pub how: AlterHow,
}
