//! Everything a statement can end in, and the one table of MySQL's numbers, SQLSTATEs and texts.

use base::Error as StorageError;
use catalog::{BranchEnd, CatalogError};
use mdl::MdlError;
use parser::print::quoted;
use parser::{ErrorKind, ParseError};

/// Why a statement failed.
#[derive(Debug)]
pub enum SqlError {
    /// Grammatical, but not there yet (1235).
    Unsupported(String),
    /// No database selected (1046).
    NoDatabase,
    /// Unknown column in a clause (1054).
    UnknownColumn {
        /// As written.
        name: String,
        /// `field list`, `where clause`, ...
        clause: &'static str,
    },
    /// Unknown table in a column reference (1051 family: 1109).
    UnknownTable {
        /// As written.
        name: String,
        /// Where it was written.
        clause: &'static str,
    },
    /// From the dictionary.
    Catalog(CatalogError),
    /// From the engine.
    Storage(StorageError),
    /// A duplicate key (1062).
    DuplicateEntry {
        /// The key's values joined by `-`.
        value: String,
        /// `table.index`.
        key: String,
    },
    /// A number out of range (1690): of which type, and the expression's text.
    OutOfRange(String, String),
    /// What is listed in a table of another module or crate ([`base::error_table!`]), or comes from below or
    /// from a client: number, SQLSTATE and final text.
    Other(u16, &'static str, String),
    /// An error that SHOW WARNINGS lists with another behind it: its number and text.
    Followed(Box<SqlError>, u16, String),
}

impl From<access::Denied> for SqlError {
    fn from(denied: access::Denied) -> SqlError {
        let (number, state) = denied.code();
        SqlError::Other(number, state, denied.to_string())
    }
}

impl From<CatalogError> for SqlError {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::Storage(error) => SqlError::Storage(error),
            error => SqlError::Catalog(error),
        }
    }
}

impl From<StorageError> for SqlError {
    fn from(error: StorageError) -> Self {
        SqlError::Storage(error)
    }
}

impl From<value::ArithError> for SqlError {
    fn from(error: value::ArithError) -> Self {
        SqlError::Other(1690, "22003", format!("{error}"))
    }
}

impl From<value::charset::NameError> for SqlError {
    fn from(error: value::charset::NameError) -> Self {
        match error {
            value::charset::NameError::NotYet(what) => SqlError::Unsupported(what),
            error => {
                let (number, state, text) = error.parts();
                SqlError::Other(number, state, text)
            }
        }
    }
}

impl From<value::charset::LiteralError> for SqlError {
    fn from(error: value::charset::LiteralError) -> Self {
        use value::charset::{LiteralError, Malformed};
        match error {
            LiteralError::Name(error) => error.into(),
            LiteralError::Malformed(Malformed(text)) => {
                SqlError::Other(Malformed::NUMBER, "HY000", text)
            }
        }
    }
}

impl From<value::limits::LimitError> for SqlError {
    fn from(error: value::limits::LimitError) -> Self {
        use value::limits::LimitError as L;
        let (state, text) = match error {
            L::RowDefinition { limit, .. } => (
                "42000",
                format!(
                    "Row size too large. The maximum row size for the used table type, not counting \
                     BLOBs, is {limit}. This includes storage overhead, check the manual. You have \
                     to change some columns to TEXT or BLOBs"
                ),
            ),
            L::RowInPage { limit, .. } => ("42000", row_in_page(limit)),
            L::KeyTooLong { limit, .. } => {
                ("42000", format!("Specified key was too long; max key length is {limit} bytes"))
            }
            L::TooManyColumns { .. } => ("HY000", "Too many columns".to_string()),
            L::TooManyIndexes { limit } => {
                ("42000", format!("Too many keys specified; max {limit} keys allowed"))
            }
            L::TooManyKeyParts { limit } => {
                ("42000", format!("Too many key parts specified; max {limit} parts allowed"))
            }
        };
        SqlError::Other(error.number(), state, text)
    }
}

fn row_in_page(limit: u64) -> String {
    format!(
        "Row size too large (> {limit}). Changing some columns to TEXT or BLOB may help. In current \
         row format, BLOB prefix of 0 bytes is stored inline."
    )
}

impl SqlError {
    /// 1235 for a construct.
    pub fn unsupported(construct: impl Into<String>) -> SqlError {
        SqlError::Unsupported(construct.into())
    }

    /// This error, and behind it in SHOW WARNINGS another one.
    #[must_use]
    pub fn followed_by(self, other: &SqlError) -> SqlError {
        let (number, _, text) = other.parts();
        SqlError::Followed(Box::new(self), number, text)
    }

    /// Number, SQLSTATE and text as MySQL sends them.
    pub fn parts(&self) -> (u16, &'static str, String) {
        match self {
            SqlError::Unsupported(what) => {
                (1235, "42000", format!("This version of MySQL doesn't yet support '{what}'"))
            }
            SqlError::NoDatabase => (1046, "3D000", "No database selected".into()),
            SqlError::UnknownColumn { name, clause } => {
                (1054, "42S22", format!("Unknown column '{name}' in '{clause}'"))
            }
            SqlError::UnknownTable { name, clause } => {
                (1109, "42S02", format!("Unknown table '{name}' in {clause}"))
            }
            SqlError::DuplicateEntry { value, key } => {
                (1062, "23000", format!("Duplicate entry '{value}' for key '{key}'"))
            }
            SqlError::OutOfRange(kind, text) => {
                (1690, "22003", format!("{kind} value is out of range in '{text}'"))
            }
            SqlError::Other(number, state, text) => (*number, state, text.clone()),
            SqlError::Followed(first, ..) => first.parts(),
            SqlError::Catalog(error) => catalog_parts(error),
            SqlError::Storage(error) => storage_parts(error),
        }
    }
}

fn catalog_parts(error: &CatalogError) -> (u16, &'static str, String) {
    use CatalogError as E;
    match error {
        E::NoSuchTable { schema, name } => {
            (1146, "42S02", format!("Table '{schema}.{name}' doesn't exist"))
        }
        E::UnknownView(name) => {
            (1109, "42S02", format!("Unknown table '{name}' in information_schema"))
        }
        E::UnknownTables(names) => (1051, "42S02", format!("Unknown table '{names}'")),
        E::UnknownDatabase(name) => (1049, "42000", format!("Unknown database '{name}'")),
        E::TableExists(name) => (1050, "42S01", format!("Table '{name}' already exists")),
        E::DatabaseExists(name) => {
            (1007, "HY000", format!("Can't create database '{name}'; database exists"))
        }
        E::DropMissingDatabase(name) => {
            (1008, "HY000", format!("Can't drop database '{name}'; database doesn't exist"))
        }
        E::IndexExists(name) => (1061, "42000", format!("Duplicate key name '{name}'")),
        E::UnknownIndex(name) => {
            (1091, "42000", format!("Can't DROP '{name}'; check that column/key exists"))
        }
        E::NotView { schema, name } => (1347, "HY000", format!("'{schema}.{name}' is not VIEW")),
        E::NotBaseTable { schema, name } => {
            (1347, "HY000", format!("'{schema}.{name}' is not BASE TABLE"))
        }
        E::ViewChanged => {
            let what = "locking a view";
            (1235, "42000", format!("This version of MySQL doesn't yet support '{what}'"))
        }
        E::ViewToSchema { from, to } => {
            (1450, "HY000", format!("Changing schema from '{from}' to '{to}' is not allowed."))
        }
        E::TableNotLocked(name) => {
            (1100, "HY000", format!("Table '{name}' was not locked with LOCK TABLES"))
        }
        E::TableReadLocked(name) => (
            1099,
            "HY000",
            format!("Table '{name}' was locked with a READ lock and can't be updated"),
        ),
        E::ReadOnlyTransaction => {
            (1792, "25006", "Cannot execute statement in a READ ONLY transaction.".into())
        }
        E::BranchState(state) => (
            1399,
            "XAE07",
            format!(
                "XAER_RMFAIL: The command cannot be executed when global transaction is in the  {state} state"
            ),
        ),
        E::BranchRolledBack(end) => branch_rolled_back(*end),
        E::TemporaryInBranch => (
            4091,
            "HY000",
            "XA: Temporary tables cannot be accessed inside XA transactions when xa_detach_on_prepare=ON"
                .into(),
        ),
        E::ReadOnlyMode => (1836, "HY000", "Running in read-only mode".into()),
        E::RenameRefused { from, to } => (
            1025,
            "HY000",
            format!(
                "Error on rename of './{}/{}' to './{}/{}' (errno: 190 - Operation not allowed when \
                 innodb_force_recovery > 0)",
                from.0, from.1, to.0, to.1
            ),
        ),
        E::ReadOnlyServer(option) => {
            let text = format!(
                "The MySQL server is running with the --{option} option so it cannot execute this statement"
            );
            (1290, "HY000", text)
        }
        E::ReadLocked => {
            let text = "Can't execute the query because you have a conflicting read lock";
            (1223, "HY000", text.into())
        }
        E::ForeignKeyExists(name) => {
            (1826, "HY000", format!("Duplicate foreign key constraint name '{name}'"))
        }
        E::CheckExists(name) => {
            (3822, "HY000", format!("Duplicate check constraint name '{name}'."))
        }
        E::ParentDropped { parent, constraint, child } => (
            3730,
            "HY000",
            format!(
                "Cannot drop table '{parent}' referenced by a foreign key constraint '{constraint}' on \
                 table '{child}'."
            ),
        ),
        E::ParentTruncated { child: (schema, child), constraint } => (
            1701,
            "42000",
            format!(
                "Cannot truncate a table referenced in a foreign key constraint ({}.{}, CONSTRAINT {})",
                quoted(schema),
                quoted(child),
                quoted(constraint)
            ),
        ),
        E::Lock(MdlError::TimedOut) => lock_wait_timeout(),
        E::Lock(MdlError::Deadlock) => deadlock(),
        E::Lock(MdlError::Killed) => interrupted(),
        E::Lock(other) => (1105, "HY000", format!("Metadata lock: {other}")),
        E::Storage(error) => storage_parts(error),
        E::BadDefinition { object, what } => {
            (1812, "HY000", format!("Definition of '{object}' cannot be read: {what}"))
        }
    }
}

fn storage_parts(error: &StorageError) -> (u16, &'static str, String) {
    use StorageError as E;
    match error {
        E::LockWaitTimeout => lock_wait_timeout(),
        E::Deadlock => deadlock(),
        E::LockNotAvailable => {
            let text = "Statement aborted because lock(s) could not be acquired immediately and \
                        NOWAIT is set.";
            (3572, "HY000", text.into())
        }
        E::TableDefChanged => {
            let text = "Table definition has changed, please retry transaction";
            (1412, "HY000", text.into())
        }
        E::LockTableFull => {
            (1206, "HY000", "The total number of locks exceeds the lock table size".into())
        }
        E::RecoveryForced => {
            (1881, "HY000", "Operation not allowed when innodb_force_recovery > 0.".into())
        }
        E::Killed => interrupted(),
        E::Shutdown => (1053, "08S01", "Server shutdown in progress".into()),
        E::NoSpace { path } => (
            1021,
            "HY000",
            format!(
                "Disk full ({path}); waiting for someone to free some space... (errno: 28 - No space \
                 left on device)"
            ),
        ),
        E::RowTooLarge { .. } => (1118, "42000", row_in_page(value::limits::ROW_IN_PAGE_BYTES_MAX)),
        E::KeyTooLong { .. } => {
            (1071, "42000", "Specified key was too long; max key length is 3072 bytes".into())
        }
        E::AutoincExhausted => {
            (1467, "HY000", "Failed to read auto-increment value from storage engine".into())
        }
        E::NoFrame => {
            (1030, "HY000", format!("Got error 128 - 'Out of memory in engine' ({error})"))
        }
        E::TooManyTransactions => (1637, "HY000", "Too many active concurrent transactions".into()),
        E::Corrupt { .. } => {
            (1030, "HY000", format!("Got error 126 - 'Index is corrupted' ({error})"))
        }
        other => (1030, "HY000", format!("Got error from storage engine: {other}")),
    }
}

fn lock_wait_timeout() -> (u16, &'static str, String) {
    (1205, "HY000", "Lock wait timeout exceeded; try restarting transaction".into())
}

fn deadlock() -> (u16, &'static str, String) {
    (1213, "40001", "Deadlock found when trying to get lock; try restarting transaction".into())
}

fn interrupted() -> (u16, &'static str, String) {
    (1317, "70100", "Query execution was interrupted".into())
}

/// The error of a text that is no statement.
pub fn parse_error(error: &ParseError, sql: &[u8]) -> SqlError {
    match &error.kind {
        ErrorKind::Empty => SqlError::Other(1065, "42000", "Query was empty".into()),
        ErrorKind::Other(number, state, text) => SqlError::Other(*number, state, text.clone()),
        ErrorKind::TooDeep => stack_overrun(),
        ErrorKind::SyntaxBecause(why) => {
            let text = format!("{why} near '{}' at line {}", error.near(sql), error.line);
            SqlError::Other(1064, "42000", text)
        }
        ErrorKind::Syntax => SqlError::Other(
            1064,
            "42000",
            format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your \
                 MySQL server version for the right syntax to use near '{}' at line {}",
                error.near(sql),
                error.line
            ),
        ),
    }
}

/// The error of a value that does not become one of a column: of this table and column, in this row, from 1.
#[must_use]
pub fn convert_error(
    error: &value::ConvertError,
    (table, column): (&str, &str),
    row: u64,
) -> SqlError {
    let (number, state, text) = error.parts(table, column, row);
    SqlError::Other(number, state, text)
}

/// 1436: expressions or queries are nested too deep.
#[must_use]
pub fn stack_overrun() -> SqlError {
    let (used, bytes) = stdx::stack::used();
    let text = format!(
        "Thread stack overrun:  {used} bytes used of a {bytes} byte stack, and {} bytes needed.  Use \
         'mysqld --thread_stack=#' to specify a bigger stack.",
        bytes / 2
    );
    SqlError::Other(1436, "HY000", text)
}

/// A branch of a distributed transaction that was rolled back without being asked to.
fn branch_rolled_back(end: BranchEnd) -> (u16, &'static str, String) {
    let (number, state, word, why) = match end {
        BranchEnd::Error => (1402, "XA100", "RBROLLBACK", ""),
        BranchEnd::Timeout => (1613, "XA106", "RBTIMEOUT", ": took too long"),
        BranchEnd::Deadlock => (1614, "XA102", "RBDEADLOCK", ": deadlock was detected"),
    };
    (number, state, format!("XA_{word}: Transaction branch was rolled back{why}"))
}
