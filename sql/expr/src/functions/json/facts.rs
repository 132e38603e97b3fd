//! Facts about a document: JSON_TYPE, JSON_DEPTH, JSON_LENGTH, JSON_VALID, JSON_PRETTY,
//! JSON_STORAGE_SIZE, JSON_STORAGE_FREE.

use super::{
    Derived, Function, NULL, count_type, document, function, long_text_type, text_type, truth_type,
    unicode,
};
use crate::build::{Derive, is_stringy};
use crate::functions::call::{Answer, Call};
use ::value::json::{self, JsonRef};
use ::value::{Datum, Kind};

pub static FUNCTIONS: &[Function] = &[
    function("json_type", (1, 1), word_type, type_name, "the type of a document"),
    function("json_depth", (1, 1), count_type, depth, "how deeply a document is nested"),
    function("json_length", (1, 1), count_type, length, "how many elements a document has"),
    function("json_valid", (1, 1), truth_type, valid, "whether the argument is JSON").sees_null(),
    function("json_pretty", (1, 1), long_text_type, pretty, "a document on indented lines"),
    function("json_storage_size", (1, 1), count_type, storage_size, "bytes that MySQL stores"),
    function(
        "json_storage_free",
        (1, 1),
        count_type,
        storage_free,
        "bytes freed by changes in place",
    ),
];

fn word_type(d: &mut Derive<'_>) -> Derived {
    Ok(text_type(d, 17))
}

fn type_name<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(document) = document(c, 0)? else { return Ok(NULL) };
    Ok(JsonRef::new(&document).type_name().to_string().into())
}

/// A count that a document comes to.
fn count<'v>(c: &mut Call<'_, 'v>, of: fn(JsonRef<'_>) -> usize) -> Answer<'v> {
    let Some(document) = document(c, 0)? else { return Ok(NULL) };
    Ok((of(JsonRef::new(&document)) as i64).into())
}

fn depth<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    count(c, |v| v.depth())
}

fn length<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    count(c, |v| v.length())
}

fn storage_size<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    count(c, json::storage_size)
}

/// Values are always written anew as a whole, so nothing is ever free.
fn storage_free<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    count(c, |_| 0)
}

fn valid<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let ty = c.ty(0);
    let valid = match c.datum(0) {
        Datum::Json(_) => true,
        // What has another type is never JSON, not even as NULL.
        Datum::Null if is_stringy(&ty) || ty.kind == Kind::Json => return Ok(NULL),
        Datum::Bytes(_) if ty.kind.is_binary_string() => false,
        Datum::Bytes(_) => match json::parse_tree(&unicode(c.text(0), &ty)) {
            Err(error) if error.too_deep() => return Err(super::too_deep()),
            parsed => parsed.is_ok(),
        },
        _ => false,
    };
    Ok(valid.into())
}

fn pretty<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(document) = document(c, 0)? else { return Ok(NULL) };
    let mut out = Vec::new();
    json::append_pretty(JsonRef::new(&document), &mut out);
    Ok(out.into())
}
