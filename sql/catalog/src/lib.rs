//! The data dictionary: which schemas, tables and accounts exist, and how a session opens a table.
//!
//! Reading order: [`def`] (immutable definitions and their stored form), [`dictionary`] (the system
//! tables that hold them, changed in the same transaction as everything else a DDL statement does),
//! [`names`] (which there are), [`entry`] (of each: lock object, version, current definition), [`kept`] (which definitions stay in
//! memory, and how others are read), [`cache`] (a session's
//! open-table handles, pinned by its metadata locks), [`ddl`] (create, drop, truncate), [`alter`],
//! [`foreign`], [`constraints`], [`temporary`], [`explicit_locks`] (LOCK TABLES and its kin), [`branches`] (XA). What is known about the rows: [`statistics`],
//! [`histogram`].
//!
//! 1. A definition never changes: DDL publishes a new one and raises the name's version.
//! 2. A session may use a definition only while it holds a metadata lock on the name and the version
//!    it cached equals the published one; both checks are loads. Definitions change under X only.
//! 3. The dictionary rows are the truth. Files and lock objects follow them, never lead.

mod accounts;
mod alter;
mod branches;
mod brief;
mod cache;
mod components;
mod constraints;
mod ddl;
mod def;
mod definition;
mod definition_cache;
mod dictionary;
mod entry;
mod error;
mod explicit_locks;
mod foreign;
mod handle;
mod histogram;
mod index;
mod names;
mod older;
mod open;
mod parking;
mod places;
mod process;
mod statistics;
mod stored;
mod temporary;
mod virtuals;

pub use accounts::all_mighty;
pub use alter::{Alter, CopyRows, FullName, Work};
pub use branches::{Barred, BranchEnd, InBranch, PreparedBranch};
pub use cache::{Lasting, TableCache, TableRef};
pub use ddl::FillRows;
pub use def::{
    CheckDef, ColumnDef, DefaultValue, Generated, IndexAttributes, IndexDef, SchemaDef, TableDef,
    ViewDef, listed,
};
pub use definition::Definition;
pub use dictionary::{Catalog, ReadOnly, system_tables};
pub use entry::NameEntry;
pub use error::CatalogError;
pub use explicit_locks::{Alias, NamedTable, Relatives, TableLock};
pub use foreign::{ForeignKeyDef, Referential, Renames};
pub use handle::RowTimer;
pub use histogram::{Bucket, BucketEnd, Histogram, json_number};
pub use older::{OlderColumns, ROW_VERSIONS_MAX};
pub use open::OpenHandles;
pub use process::{Client, ProcessRow, SessionOrder, TransactionRow, Who};
pub use statistics::{IndexFigures, Statistics, TableFigures, Upkeep};
pub use virtuals::{
    ChangeRow, Changes, ConnectedBy, ConnectedRow, EachUserVariable, ErrorLogRow, FiguresBy,
    FiguresRow, HostRow, INFORMATION_SCHEMA, MYSQL_SCHEMA, MadeRows, PERFORMANCE_SCHEMA,
    ReadContext, SYS_SCHEMA, ServerList, StatusRow, TableSize, Unchanged, UpdateRow, VariableRow,
    Viewer, VirtualRef, VirtualTable, virtual_schema,
};
