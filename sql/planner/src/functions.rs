//! The function registry: one entry per function, with its arity, result type and one line of text.

use value::{Collation, ColumnType, Kind};

/// What a function computes; `executor` implements each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum FunctionId {
    Database,
    User,
    Version,
    ConnectionId,
    LastInsertId,
    RowCount,
    FoundRows,
    Concat,
    Length,
    CharLength,
    If,
    IfNull,
    Coalesce,
    NullIf,
    Abs,
    Sleep,
}

/// How the result type follows from the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultType {
    /// BIGINT.
    Signed,
    /// BIGINT UNSIGNED.
    Unsigned,
    /// Text of at most this many characters.
    Text(u32),
    /// The common type of the arguments from the given position on.
    CommonFrom(usize),
    /// Text as long as all arguments together.
    Joined,
}

/// A registry entry.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Name in lower case.
    pub name: &'static str,
    /// Which function.
    pub id: FunctionId,
    /// Least and greatest number of arguments.
    pub arguments: (usize, usize),
    /// Result type.
    pub result: ResultType,
    /// What it does.
    pub text: &'static str,
}

const MANY: usize = usize::MAX;

macro_rules! functions {
    ($($name:literal $id:ident $min:expr, $max:expr => $result:expr; $text:literal)*) => {
        &[$(Function { name: $name, id: FunctionId::$id, arguments: ($min, $max), result: $result, text: $text },)*]
    };
}

static FUNCTIONS: &[Function] = functions! {
    "database" Database 0, 0 => ResultType::Text(34); "the current database, or NULL"
    "schema" Database 0, 0 => ResultType::Text(34); "the current database, or NULL"
    "user" User 0, 0 => ResultType::Text(288); "the user and host the client gave"
    "current_user" User 0, 0 => ResultType::Text(288); "the account the session was authenticated as"
    "session_user" User 0, 0 => ResultType::Text(288); "same as user()"
    "system_user" User 0, 0 => ResultType::Text(288); "same as user()"
    "version" Version 0, 0 => ResultType::Text(60); "the server's version string"
    "connection_id" ConnectionId 0, 0 => ResultType::Unsigned; "the id of this connection"
    "last_insert_id" LastInsertId 0, 0 => ResultType::Unsigned; "the first generated value of the last INSERT"
    "row_count" RowCount 0, 0 => ResultType::Signed; "rows changed by the previous statement"
    "found_rows" FoundRows 0, 0 => ResultType::Signed; "rows of the previous SELECT"
    "concat" Concat 1, MANY => ResultType::Joined; "its arguments joined; NULL if one is NULL"
    "length" Length 1, 1 => ResultType::Signed; "length in bytes"
    "octet_length" Length 1, 1 => ResultType::Signed; "length in bytes"
    "char_length" CharLength 1, 1 => ResultType::Signed; "length in characters"
    "character_length" CharLength 1, 1 => ResultType::Signed; "length in characters"
    "if" If 3, 3 => ResultType::CommonFrom(1); "the second argument if the first is true, else the third"
    "ifnull" IfNull 2, 2 => ResultType::CommonFrom(0); "the first argument unless it is NULL, else the second"
    "coalesce" Coalesce 1, MANY => ResultType::CommonFrom(0); "the first argument that is not NULL"
    "nullif" NullIf 2, 2 => ResultType::CommonFrom(0); "NULL if the arguments are equal, else the first"
    "abs" Abs 1, 1 => ResultType::CommonFrom(0); "absolute value"
    "sleep" Sleep 1, 1 => ResultType::Signed; "waits that many seconds; 0, or 1 when interrupted"
};

/// The entry of a name, in any case.
pub fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.name.eq_ignore_ascii_case(name))
}

/// Result type of a function over arguments of the given types.
pub fn result_type(result: ResultType, arguments: &[ColumnType]) -> ColumnType {
    match result {
        ResultType::Signed => ColumnType::int(Kind::BigInt, false),
        ResultType::Unsigned => ColumnType::int(Kind::BigInt, true),
        ResultType::Text(length) => ColumnType::varchar(length, Collation::Utf8mb4_0900AiCi),
        ResultType::CommonFrom(first) => common(arguments.get(first..).unwrap_or_default()),
        ResultType::Joined => {
            let length =
                arguments.iter().map(|t| if t.kind.is_string() { t.length } else { 21 }).sum();
            let binary = arguments.iter().any(|t| t.kind.is_binary_string());
            if binary {
                ColumnType::varbinary(length)
            } else {
                ColumnType::varchar(length, text_collation(arguments))
            }
        }
    }
}

fn text_collation(types: &[ColumnType]) -> Collation {
    types.iter().find(|t| t.is_text()).map_or(Collation::Utf8mb4_0900AiCi, |t| t.collation)
}

/// The type that holds every one of `types`.
pub fn common(types: &[ColumnType]) -> ColumnType {
    let length =
        types.iter().map(|t| if t.kind.is_string() { t.length } else { 21 }).max().unwrap_or(0);
    if types.iter().any(|t| t.kind.is_binary_string()) {
        return ColumnType::varbinary(length);
    }
    if types.iter().any(|t| t.kind.is_string()) {
        return ColumnType::varchar(length, text_collation(types));
    }
    let kind = if types.iter().any(|t| t.kind == Kind::Double) {
        Kind::Double
    } else if types.iter().any(|t| t.kind == Kind::Decimal) {
        Kind::Decimal
    } else {
        Kind::BigInt
    };
    ColumnType::int(kind, kind == Kind::BigInt && types.iter().all(|t| t.unsigned))
}
