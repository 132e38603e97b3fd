//! Files: LOAD, IMPORT, the format of OUTFILE; HANDLER.

use super::{Assignment, Expr, Limit, ObjectName};

/// LOAD DATA or LOAD XML.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// XML rather than DATA.
    pub xml: bool,
    /// LOW_PRIORITY or CONCURRENT, upper case.
    pub priority: Option<String>,
    /// LOCAL.
    pub local: bool,
    /// File.
    pub file: Vec<u8>,
    /// REPLACE -> `Some(true)`, IGNORE -> `Some(false)`.
    pub on_duplicate: Option<bool>,
    /// Table.
    pub table: ObjectName,
    /// PARTITION (...).
    pub partitions: Vec<String>,
    /// CHARACTER SET.
    pub charset: Option<String>,
    /// ROWS IDENTIFIED BY '<tag>' (XML).
    pub row_tag: Option<Vec<u8>>,
    /// FIELDS and LINES.
    pub format: FileFormat,
    /// IGNORE n LINES or ROWS.
    pub skip: u64,
    /// Columns and user variables.
    pub columns: Vec<Expr>,
    /// SET.
    pub assignments: Vec<Assignment>,
    /// Words of bulk loading, upper case, and their values: COUNT, ALGORITHM, ...
    pub bulk: Vec<(String, String)>,
}

/// FIELDS and LINES of LOAD DATA and INTO OUTFILE; none where not written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileFormat {
    /// FIELDS TERMINATED BY.
    pub field_terminator: Option<Vec<u8>>,
    /// FIELDS [OPTIONALLY] ENCLOSED BY.
    pub enclosed: Option<Vec<u8>>,
    /// OPTIONALLY.
    pub optionally: bool,
    /// FIELDS ESCAPED BY.
    pub escaped: Option<Vec<u8>>,
    /// LINES STARTING BY.
    pub line_start: Option<Vec<u8>>,
    /// LINES TERMINATED BY.
    pub line_terminator: Option<Vec<u8>>,
}

/// HANDLER.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // there is one of it in a statement
pub enum Handler {
    /// HANDLER t OPEN [AS alias].
    Open(ObjectName, Option<String>),
    /// HANDLER t CLOSE.
    Close(String),
    /// HANDLER t READ ...
    Read {
        /// Table or alias.
        table: String,
        /// Index; none for natural order.
        index: Option<String>,
        /// What to read.
        what: HandlerRead,
        /// WHERE.
        filter: Option<Expr>,
        /// LIMIT.
        limit: Option<Limit>,
    },
}

/// What HANDLER READ reads.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerRead {
    /// FIRST.
    First,
    /// NEXT.
    Next,
    /// PREV.
    Prev,
    /// LAST.
    Last,
    /// Comparison (`=`, `<=`, `>=`, `<`, `>`) with a key's values.
    Key(super::BinaryOp, Vec<Expr>),
}
