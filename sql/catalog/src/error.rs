//! What can go wrong between a name and a definition; `session` gives each its MySQL number.

use mdl::MdlError;

/// Why a catalog call failed.
#[derive(Debug)]
pub enum CatalogError {
    /// No such table (1146).
    NoSuchTable {
        /// Schema of the missing table.
        schema: String,
        /// Name of the missing table.
        name: String,
    },
    /// No such table in `information_schema` (1109), in capitals as MySQL writes it.
    UnknownView(String),
    /// DROP TABLE names tables that do not exist (1051), listed as `schema.name,schema.name`.
    UnknownTables(String),
    /// No such schema (1049).
    UnknownDatabase(String),
    /// CREATE TABLE of an existing name (1050).
    TableExists(String),
    /// CREATE DATABASE of an existing name (1007).
    DatabaseExists(String),
    /// DROP DATABASE of a missing name (1008).
    DropMissingDatabase(String),
    /// CREATE INDEX of an existing name (1061).
    IndexExists(String),
    /// DROP INDEX of a missing name (1091).
    UnknownIndex(String),
    /// DROP VIEW, ALTER VIEW or CREATE OR REPLACE VIEW of a table (1347).
    NotView {
        /// Its schema.
        schema: String,
        /// Its name.
        name: String,
    },
    /// A statement for tables names a view (1347).
    NotBaseTable {
        /// Its schema.
        schema: String,
        /// Its name.
        name: String,
    },
    /// A view is to be written or locked (1235).
    ViewChanged,
    /// RENAME TABLE of a view into another schema (1450).
    ViewToSchema {
        /// Its schema.
        from: String,
        /// The other one.
        to: String,
    },
    /// LOCK TABLES does not name the table, or not by this alias (1100).
    TableNotLocked(String),
    /// LOCK TABLES locked the table READ, and it is to be changed (1099).
    TableReadLocked(String),
    /// A write in a READ ONLY transaction (1792).
    ReadOnlyTransaction,
    /// The session's branch is in this state: no table is opened (1399).
    BranchState(&'static str),
    /// The session's branch was rolled back (1402, 1613, 1614).
    BranchRolledBack(crate::BranchEnd),
    /// A temporary table inside a branch (4091).
    TemporaryInBranch,
    /// `read_only` or `super_read_only` forbids writing (1290): the option's name.
    ReadOnlyServer(&'static str),
    /// A schema would come or go while changes are refused by `innodb_force_recovery` (1836).
    ReadOnlyMode,
    /// A table would get another name while changes are refused by `innodb_force_recovery` (1025).
    RenameRefused {
        /// Its name.
        from: crate::FullName,
        /// The one it would get.
        to: crate::FullName,
    },
    /// The session itself forbade writing, by FLUSH TABLES WITH READ LOCK (1223).
    ReadLocked,
    /// A foreign key of this name exists in the schema (1826).
    ForeignKeyExists(String),
    /// A check of this name exists in the schema (3822).
    CheckExists(String),
    /// DROP of a table that another one refers to (3730).
    ParentDropped {
        /// Name of the table.
        parent: String,
        /// The foreign key.
        constraint: String,
        /// Name of the table that has it.
        child: String,
    },
    /// TRUNCATE of a table that another one refers to (1701).
    ParentTruncated {
        /// The table that refers to it.
        child: crate::FullName,
        /// Its foreign key.
        constraint: String,
    },
    /// The metadata lock was not granted.
    Lock(MdlError),
    /// The engine refused.
    Storage(base::Error),
    /// A dictionary row that cannot be read: which object, and why.
    BadDefinition {
        /// `schema.name` of the damaged definition.
        object: String,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl From<base::Error> for CatalogError {
    fn from(error: base::Error) -> Self {
        CatalogError::Storage(error)
    }
}

impl From<MdlError> for CatalogError {
    fn from(error: MdlError) -> Self {
        CatalogError::Lock(error)
    }
}
