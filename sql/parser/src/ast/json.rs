//! JSON_TABLE and JSON_VALUE.

use super::{CastType, DataType, Expr};

/// JSON_TABLE(document, path COLUMNS (...)) \[AS\] alias.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    /// Document.
    pub document: Expr,
    /// Path of the rows.
    pub path: Vec<u8>,
    /// Columns.
    pub columns: Vec<JsonColumn>,
    /// Alias.
    pub alias: String,
}

/// A column of JSON_TABLE.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // there is one of it in a statement
pub enum JsonColumn {
    /// name FOR ORDINALITY.
    Ordinality(String),
    /// name type [EXISTS] PATH 'path' [ON EMPTY] [ON ERROR].
    Path {
        /// Name.
        name: String,
        /// Type.
        ty: DataType,
        /// COLLATE.
        collation: Option<String>,
        /// EXISTS.
        exists: bool,
        /// Path.
        path: Vec<u8>,
        /// ON EMPTY.
        on_empty: Option<JsonOn>,
        /// ON ERROR.
        on_error: Option<JsonOn>,
    },
    /// NESTED \[PATH\] 'path' COLUMNS (...).
    Nested {
        /// Path.
        path: Vec<u8>,
        /// Columns.
        columns: Vec<JsonColumn>,
    },
}

/// What happens ON EMPTY or ON ERROR.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonOn {
    /// NULL.
    Null,
    /// ERROR.
    Error,
    /// DEFAULT literal (JSON text in JSON_TABLE).
    Default(Expr),
}

/// JSON_VALUE(document, path [RETURNING type] [ON EMPTY] [ON ERROR]).
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue {
    /// Document.
    pub document: Expr,
    /// Path.
    pub path: Vec<u8>,
    /// RETURNING.
    pub returning: Option<CastType>,
    /// ON EMPTY.
    pub on_empty: Option<JsonOn>,
    /// ON ERROR.
    pub on_error: Option<JsonOn>,
}
