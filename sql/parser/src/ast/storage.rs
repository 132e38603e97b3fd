//! Servers, tablespaces, logfile groups, spatial reference systems, resource groups, instance.

use super::Expr;

/// CREATE SERVER or ALTER SERVER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerDef {
    /// Name.
    pub name: String,
    /// FOREIGN DATA WRAPPER; none for ALTER.
    pub wrapper: Option<String>,
    /// Options: upper-case name and value.
    pub options: Vec<(String, String)>,
}

/// CREATE, ALTER or DROP \[UNDO\] TABLESPACE or LOGFILE GROUP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tablespace {
    /// Which statement.
    pub verb: TablespaceVerb,
    /// LOGFILE GROUP rather than TABLESPACE.
    pub logfile_group: bool,
    /// UNDO TABLESPACE.
    pub undo: bool,
    /// Name.
    pub name: String,
    /// ADD or DROP DATAFILE, UNDOFILE: verb and file.
    pub file: Option<(String, Vec<u8>)>,
    /// RENAME TO.
    pub rename: Option<String>,
    /// USE LOGFILE GROUP.
    pub use_group: Option<String>,
    /// Options: upper-case name and value as text; SET ACTIVE and SET INACTIVE are `SET`.
    pub options: Vec<(String, String)>,
}

/// Verbs of [`Tablespace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum TablespaceVerb {
    Create,
    Alter,
    Drop,
}

/// CREATE or DROP SPATIAL REFERENCE SYSTEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpatialReferenceSystem {
    /// DROP.
    pub drop: bool,
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF EXISTS or IF NOT EXISTS.
    pub if_clause: bool,
    /// SRID.
    pub srid: u64,
    /// NAME, DEFINITION, ORGANIZATION, DESCRIPTION: upper-case name and text.
    pub attributes: Vec<(String, Vec<u8>)>,
}

/// CREATE or ALTER RESOURCE GROUP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceGroup {
    /// ALTER.
    pub alter: bool,
    /// Name.
    pub name: String,
    /// TYPE = USER or SYSTEM.
    pub system: Option<bool>,
    /// VCPU ranges.
    pub vcpus: Vec<(u64, u64)>,
    /// THREAD_PRIORITY.
    pub priority: Option<i64>,
    /// ENABLE or DISABLE.
    pub enable: Option<bool>,
    /// FORCE.
    pub force: bool,
}

/// ALTER INSTANCE actions, upper case: `ROTATE INNODB MASTER KEY`, `RELOAD TLS FOR CHANNEL x` ...
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterInstance {
    /// Action.
    pub action: String,
}

/// CLONE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloneInstance {
    /// LOCAL DATA DIRECTORY 'path'.
    Local(Vec<u8>),
    /// INSTANCE FROM user@host:port IDENTIFIED BY 'p' [DATA DIRECTORY 'path'] [REQUIRE [NO] SSL].
    Instance {
        /// User.
        user: String,
        /// Host.
        host: String,
        /// Port.
        port: u64,
        /// Password.
        password: Vec<u8>,
        /// Directory.
        directory: Option<Vec<u8>>,
        /// REQUIRE SSL -> `Some(true)`, REQUIRE NO SSL -> `Some(false)`.
        ssl: Option<bool>,
    },
}

/// INSTALL and UNINSTALL of plugins and components.
#[derive(Debug, Clone, PartialEq)]
pub enum Install {
    /// INSTALL PLUGIN name SONAME 'library'.
    Plugin(String, String),
    /// INSTALL COMPONENT 'urn', ... [SET variable = value, ...].
    Components(Vec<String>, Vec<(bool, String, Expr)>),
    /// UNINSTALL PLUGIN.
    DropPlugin(String),
    /// UNINSTALL COMPONENT.
    DropComponents(Vec<String>),
}
