//! JSON functions: what they share of documents, paths and truth values.
//!
//! Reading order: this module, [`make`] (documents out of SQL values), [`search`] (what is in a document),
//! [`change`] (documents changed and merged), [`facts`] (type, size, text), [`cast`] (JSON as SQL values),
//! [`value`] (JSON_VALUE), [`schema`] (JSON Schema).
//!
//! 1. Arguments are looked at from left to right, as far as MySQL looks: an error behind a NULL that
//!    decides stays unseen. 2. An argument whose type says JSON and whose value is an integer is a truth
//!    value ([`truths`]). 3. A document that lies in a row is read there; text is parsed for each row.

mod cast;
mod change;
mod facts;
mod make;
mod schema;
mod search;
mod table;
mod value;

pub use cast::{CAST_OF_JSON, STORED_JSON, number_of};
pub(super) use make::to_json;
pub use schema::missed;
pub use table::{Misfit, column_value, exists_value};

use super::call::{Call, NULL};
use super::{Function, MANY, function};
use crate::SqlError;
use crate::build::Derive;
use crate::eval::Value;
use crate::refused::Refused;
use crate::tree::{Expr, Typed};
use ::value::collation::aggregate::Coercibility;
use ::value::json::{self, JsonError, JsonRef, JsonValue, Path};
use ::value::{Charset, Collation, ColumnType, Datum, Kind, charset};
use std::borrow::Cow;

/// Every entry, by theme.
pub static THEMES: [&[Function]; 6] = [
    make::FUNCTIONS,
    search::FUNCTIONS,
    change::FUNCTIONS,
    facts::FUNCTIONS,
    value::FUNCTIONS,
    schema::FUNCTIONS,
];

type Derived = Result<ColumnType, SqlError>;

/// A document.
fn json_type(_: &mut Derive<'_>) -> Derived {
    Ok(ColumnType::json())
}

/// Text of JSON's own character set and collation.
fn text_type(d: &mut Derive<'_>, chars: u32) -> ColumnType {
    d.coercibility = Some(Coercibility::Coercible);
    crate::build::string(chars, Collation::Utf8mb4Bin)
}

fn long_text_type(d: &mut Derive<'_>) -> Derived {
    d.coercibility = Some(Coercibility::Coercible);
    Ok(ColumnType::large(Kind::LongText, Collation::Utf8mb4Bin))
}

/// A truth value that may be NULL whatever the arguments are.
fn truth_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { nullable: true, ..d.int(21) })
}

fn count_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { nullable: true, ..d.int(21) })
}

/// Marks arguments from `first` on that are truth values: they become JSON's `true` and `false`. Decimals have the
/// digits that they are computed with.
fn truths(d: &mut Derive<'_>, first: usize) {
    for arg in d.args.iter_mut().skip(first) {
        if is_truth(arg) {
            arg.ty = ColumnType { nullable: arg.ty.nullable, ..ColumnType::json() };
        } else {
            *arg = crate::build::in_document(arg.clone());
        }
    }
}

/// Whether a function of this name asks something: its value is a truth value.
pub fn asks(name: &str) -> bool {
    const ASKING: &[&str] = &[
        "is_ipv4",
        "is_ipv4_compat",
        "is_ipv4_mapped",
        "is_ipv6",
        "is_uuid",
        "isnull",
        "json_contains",
        "json_contains_path",
        "json_overlaps",
        "json_schema_valid",
        "json_valid",
        "member of",
        "regexp_like",
        "strcmp",
    ];
    ASKING.contains(&name)
}

/// Whether an expression is a truth value: TRUE, FALSE, a condition, a function that asks something.
pub fn is_truth(value: &Typed) -> bool {
    let call = matches!(value.expr, Expr::Call(_));
    if !value.ty.kind.is_int() || value.ty.length != 1 && !call {
        return false;
    }
    match &value.expr {
        Expr::Const(_) | Expr::Compare(..) | Expr::In(..) | Expr::Like(..) | Expr::Is(..) => true,
        Expr::And(..) | Expr::Or(..) | Expr::Xor(..) | Expr::Not(_) => true,
        Expr::Exists(_) | Expr::Quantified(_) => true,
        Expr::Call(site) => asks(site.function.name),
        _ => false,
    }
}

/// 3157.
pub fn too_deep() -> SqlError {
    Refused::JsonTooDeep.into()
}

/// 3144.
fn of_binary() -> SqlError {
    Refused::JsonOfBytes.into()
}

/// 3141 (or 3157): the text of argument `n`, counted from 0, is no JSON.
pub fn invalid_text(error: &JsonError, n: usize, function: &str) -> SqlError {
    if error.too_deep() {
        return too_deep();
    }
    Refused::InvalidJson(n + 1, function, &error.what, error.at).into()
}

/// 3146: argument `n`, counted from 0, is neither text nor JSON.
fn invalid_type(n: usize, function: &str) -> SqlError {
    Refused::NoJson(n + 1, function).into()
}

/// Text of any character set as utf8mb4.
fn unicode<'v>(text: Cow<'v, [u8]>, ty: &ColumnType) -> Cow<'v, [u8]> {
    let from = ty.collation.charset();
    if matches!(from, Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Ascii | Charset::Binary) {
        return text;
    }
    charset::converted(&text, from, Charset::Utf8mb4).0.into_owned().into()
}

/// Argument `n` as a document in binary form, moved out; `None` for NULL.
///
/// # Errors
/// 3141, 3144, 3146, 3157.
fn document<'v>(c: &mut Call<'_, 'v>, n: usize) -> Result<Option<Cow<'v, [u8]>>, SqlError> {
    let ty = c.ty(n);
    let text = match c.take(n) {
        Value::Datum(Datum::Null) => return Ok(None),
        Value::Datum(Datum::Json(bytes)) => return Ok(Some(Cow::Borrowed(bytes))),
        Value::Json(bytes) => return Ok(Some(Cow::Owned(bytes))),
        Value::Datum(Datum::Bytes(text)) => Cow::Borrowed(text),
        Value::Bytes(text) => Cow::Owned(text),
        _ => return Err(invalid_type(n, c.site.function.name)),
    };
    if ty.kind.has_members() {
        return Err(invalid_type(n, c.site.function.name));
    }
    if ty.kind.is_binary_string() {
        return Err(of_binary().followed_by(&invalid_type(n, c.site.function.name)));
    }
    let mut out = Vec::new();
    json::parse(&unicode(text, &ty), &mut out)
        .map_err(|e| invalid_text(&e, n, c.site.function.name))?;
    Ok(Some(Cow::Owned(out)))
}

/// A value of type `ty` as a document in binary form, for what is no call; `None` for NULL.
///
/// # Errors
/// 3141, 3144, 3146, 3157.
pub fn document_of(
    value: &Datum<'_>,
    ty: &ColumnType,
    function: &str,
) -> Result<Option<Vec<u8>>, SqlError> {
    match *value {
        Datum::Null => Ok(None),
        Datum::Json(bytes) => Ok(Some(bytes.to_vec())),
        Datum::Bytes(_) if ty.kind.is_binary_string() => {
            Err(of_binary().followed_by(&invalid_type(0, function)))
        }
        Datum::Bytes(text) => {
            let mut out = Vec::new();
            json::parse(&unicode(Cow::Borrowed(text), ty), &mut out)
                .map_err(|e| invalid_text(&e, 0, function))?;
            Ok(Some(out))
        }
        _ => Err(invalid_type(0, function)),
    }
}

/// Argument `n` as a document to change; `None` for NULL.
fn tree(c: &mut Call<'_, '_>, n: usize) -> Result<Option<JsonValue>, SqlError> {
    Ok(document(c, n)?.map(|bytes| JsonValue::of(JsonRef::new(&bytes))))
}

/// Argument `n` as a JSON value: text is a JSON string, NULL is `null`.
fn element(c: &Call<'_, '_>, n: usize) -> JsonValue {
    JsonValue::of_datum(&c.datum(n), Some(&c.ty(n)))
}

/// Argument `n` as a path; `None` for NULL.
///
/// # Errors
/// 3143, 3144.
fn path(c: &mut Call<'_, '_>, n: usize) -> Result<Option<Path>, SqlError> {
    if c.is_null(n) {
        return Ok(None);
    }
    let ty = c.ty(n);
    if ty.kind.is_binary_string() {
        return Err(of_binary());
    }
    let text = c.text(n);
    parse_path(&unicode(text, &ty)).map(Some)
}

/// The path that a text in utf8mb4 is.
///
/// # Errors
/// 3143.
pub fn parse_path(text: &[u8]) -> Result<Path, SqlError> {
    Path::parse(text).map_err(|e| Refused::BadPath(e.at).into())
}

/// As [`path`], for a path that finds one value at most.
///
/// # Errors
/// 3143, 3149.
fn single_path(c: &mut Call<'_, '_>, n: usize) -> Result<Option<Path>, SqlError> {
    let path = path(c, n)?;
    if path.as_ref().is_some_and(Path::is_multiple) {
        return Err(Refused::ManyPaths.into());
    }
    Ok(path)
}

/// A part of a document as a result: where it lies if the document does.
fn part<'v>(whole: &Cow<'v, [u8]>, part: JsonRef<'_>) -> Value<'v> {
    match whole {
        Cow::Borrowed(bytes) => {
            let start = part.bytes().as_ptr() as usize - bytes.as_ptr() as usize;
            let found = bytes.get(start..start + part.bytes().len()).unwrap_or_default();
            Value::Datum(Datum::Json(found))
        }
        Cow::Owned(_) => Value::Json(part.bytes().to_vec()),
    }
}

/// A document as a result; error 3157 when it is nested too deeply.
fn result<'v>(value: &JsonValue) -> Result<Value<'v>, SqlError> {
    if value.depth() > json::DEPTH_MAX {
        return Err(too_deep());
    }
    Ok(Value::Json(value.to_bytes()))
}
