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
    Left,
    LeftBytes,
    Right,
    RightBytes,
    Substring,
    SubstringBytes,
    Repeat,
    Hex,
    Crc32,
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
    /// A part of the first argument.
    Part,
    /// Text of any length in the first argument's collation.
    Long,
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
    "left" Left 2, 2 => ResultType::Part; "the first so many characters"
    "right" Right 2, 2 => ResultType::Part; "the last so many characters"
    "substring" Substring 2, 3 => ResultType::Part; "characters from a position on, from the end when it is negative"
    "substr" Substring 2, 3 => ResultType::Part; "same as substring()"
    "mid" Substring 2, 3 => ResultType::Part; "same as substring()"
    "repeat" Repeat 2, 2 => ResultType::Long; "the first argument so many times"
    "hex" Hex 1, 1 => ResultType::Long; "bytes, or a number, in hexadecimal digits"
    "crc32" Crc32 1, 1 => ResultType::Unsigned; "zlib's CRC-32 of the bytes"
    "if" If 3, 3 => ResultType::CommonFrom(1); "the second argument if the first is true, else the third"
    "ifnull" IfNull 2, 2 => ResultType::CommonFrom(0); "the first argument unless it is NULL, else the second"
    "coalesce" Coalesce 1, MANY => ResultType::CommonFrom(0); "the first argument that is not NULL"
    "nullif" NullIf 2, 2 => ResultType::CommonFrom(0); "NULL if the arguments are equal, else the first"
    "abs" Abs 1, 1 => ResultType::CommonFrom(0); "absolute value"
    "sleep" Sleep 1, 1 => ResultType::Signed; "waits that many seconds; 0, or 1 when interrupted"
};

/// What is called instead when the first argument is a binary string; no text can write these names.
static OF_BYTES: &[Function] = functions! {
    "left of bytes" LeftBytes 2, 2 => ResultType::Part; "the first so many bytes"
    "right of bytes" RightBytes 2, 2 => ResultType::Part; "the last so many bytes"
    "substring of bytes" SubstringBytes 2, 3 => ResultType::Part; "bytes from a position on"
    "char_length of bytes" Length 1, 1 => ResultType::Signed; "length in bytes"
};

/// The function that does the same with bytes as this one with characters.
pub fn of_bytes(function: &'static Function) -> &'static Function {
    let wanted = match function.id {
        FunctionId::Left => FunctionId::LeftBytes,
        FunctionId::Right => FunctionId::RightBytes,
        FunctionId::Substring => FunctionId::SubstringBytes,
        FunctionId::CharLength => FunctionId::Length,
        _ => return function,
    };
    OF_BYTES.iter().find(|f| f.id == wanted).unwrap_or(function)
}

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
            let length = arguments.iter().map(chars_max).fold(0, u32::saturating_add);
            string(arguments, length)
        }
        ResultType::Part => {
            let of = arguments.get(..1).unwrap_or_default();
            string(of, of.iter().map(chars_max).sum())
        }
        ResultType::Long => string(arguments.get(..1).unwrap_or_default(), u32::MAX),
    }
}

/// Characters that a value of the type may have as text.
fn chars_max(ty: &ColumnType) -> u32 {
    if ty.kind.is_string() { ty.length } else { 21 }
}

/// Text of so many characters, or bytes when one of the arguments is a binary string.
fn string(arguments: &[ColumnType], length: u32) -> ColumnType {
    if arguments.iter().any(|t| t.kind.is_binary_string()) {
        ColumnType::varbinary(length)
    } else {
        ColumnType::varchar(length, text_collation(arguments))
    }
}

fn text_collation(types: &[ColumnType]) -> Collation {
    types.iter().find(|t| t.is_text()).map_or(Collation::Utf8mb4_0900AiCi, |t| t.collation)
}

/// The type that holds every one of `types`.
pub fn common(types: &[ColumnType]) -> ColumnType {
    let large = types.iter().filter_map(|t| t.kind.large_bytes_max()).max();
    if let Some(bytes) = large {
        let binary = types.iter().any(|t| t.kind.is_binary_string());
        return ColumnType::large(Kind::large_for(bytes.into(), binary), text_collation(types));
    }
    if types.iter().any(|t| t.kind.is_string()) {
        return string(types, types.iter().map(chars_max).max().unwrap_or(0));
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
