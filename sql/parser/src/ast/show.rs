//! SHOW.

use super::{Account, Expr, Limit, ObjectName};

/// LIKE or WHERE of a SHOW.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    /// LIKE 'pattern'.
    Like(Vec<u8>),
    /// WHERE expr.
    Where(Expr),
}

/// SHOW ...; a `filter` is LIKE or WHERE, a `schema` is the name after FROM or IN.
#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    /// DATABASES, SCHEMAS.
    Databases(Option<ShowFilter>),
    /// [EXTENDED] [FULL] TABLES.
    Tables {
        /// EXTENDED.
        extended: bool,
        /// FULL.
        full: bool,
        /// Schema.
        schema: Option<String>,
        /// Filter.
        filter: Option<ShowFilter>,
    },
    /// TABLE STATUS.
    TableStatus {
        /// Schema.
        schema: Option<String>,
        /// Filter.
        filter: Option<ShowFilter>,
    },
    /// OPEN TABLES.
    OpenTables {
        /// Schema.
        schema: Option<String>,
        /// Filter.
        filter: Option<ShowFilter>,
    },
    /// [EXTENDED] [FULL] COLUMNS / FIELDS.
    Columns {
        /// EXTENDED.
        extended: bool,
        /// FULL.
        full: bool,
        /// Table; a schema after the second FROM is in it.
        table: ObjectName,
        /// Filter.
        filter: Option<ShowFilter>,
    },
    /// [EXTENDED] INDEX / INDEXES / KEYS.
    Index {
        /// EXTENDED.
        extended: bool,
        /// Table.
        table: ObjectName,
        /// WHERE.
        filter: Option<Expr>,
    },
    /// [FULL] PROCESSLIST.
    ProcessList {
        /// FULL.
        full: bool,
    },
    /// [GLOBAL | SESSION] STATUS.
    Status {
        /// GLOBAL.
        global: bool,
        /// Filter.
        filter: Option<ShowFilter>,
    },
    /// [GLOBAL | SESSION] VARIABLES.
    Variables {
        /// GLOBAL.
        global: bool,
        /// Filter.
        filter: Option<ShowFilter>,
    },
    /// WARNINGS [LIMIT].
    Warnings(Option<Limit>),
    /// ERRORS [LIMIT].
    Errors(Option<Limit>),
    /// COUNT(*) WARNINGS.
    CountWarnings,
    /// COUNT(*) ERRORS.
    CountErrors,
    /// CREATE TABLE.
    CreateTable(ObjectName),
    /// CREATE DATABASE / SCHEMA [IF NOT EXISTS].
    CreateDatabase {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Schema.
        name: String,
    },
    /// CREATE USER.
    CreateUser(Account),
    /// CREATE VIEW / TRIGGER / PROCEDURE / FUNCTION / EVENT: upper-case kind and name.
    CreateOther(String, ObjectName),
    /// [STORAGE] ENGINES.
    Engines,
    /// ENGINE name STATUS / MUTEX / LOGS.
    Engine(String, String),
    /// COLLATION.
    Collation(Option<ShowFilter>),
    /// CHARACTER SET, CHARSET.
    Charset(Option<ShowFilter>),
    /// GRANTS [FOR account].
    Grants(Option<Account>),
    /// GRANTS FOR account USING roles.
    GrantsUsing(Account, Vec<Account>),
    /// PRIVILEGES.
    Privileges,
    /// PLUGINS.
    Plugins,
    /// BINARY LOG STATUS, MASTER STATUS.
    BinaryLogStatus,
    /// BINARY LOGS, MASTER LOGS.
    BinaryLogs,
    /// REPLICA STATUS, SLAVE STATUS [FOR CHANNEL c]: the channel.
    ReplicaStatus(Option<String>),
    /// REPLICAS, SLAVE HOSTS.
    Replicas,
    /// TRIGGERS.
    Triggers {
        /// Schema.
        schema: Option<String>,
        /// Filter.
        filter: Option<ShowFilter>,
    },
    /// EVENTS.
    Events {
        /// Schema.
        schema: Option<String>,
        /// Filter.
        filter: Option<ShowFilter>,
    },
    /// PROCEDURE STATUS.
    ProcedureStatus(Option<ShowFilter>),
    /// FUNCTION STATUS.
    FunctionStatus(Option<ShowFilter>),
    /// PROFILES.
    Profiles,
    /// PROFILE ...
    Profile,
    /// BINLOG EVENTS [IN 'log'] [FROM pos] [LIMIT].
    BinlogEvents {
        /// RELAYLOG rather than BINLOG.
        relay: bool,
        /// IN 'log'.
        log: Option<Vec<u8>>,
        /// FROM position.
        from: Option<u64>,
        /// LIMIT.
        limit: Option<Limit>,
        /// FOR CHANNEL.
        channel: Option<String>,
    },
    /// PROCEDURE CODE (false) or FUNCTION CODE (true) name.
    Code(bool, ObjectName),
    /// PARSE_TREE statement.
    ParseTree(Box<super::Statement>),
    /// Another known SHOW: upper-case name.
    Other(String),
}
