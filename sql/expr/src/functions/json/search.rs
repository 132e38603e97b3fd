//! What is in a document: JSON_EXTRACT, JSON_KEYS, JSON_LENGTH, JSON_CONTAINS, JSON_CONTAINS_PATH,
//! JSON_OVERLAPS, MEMBER OF, JSON_SEARCH.

use super::{
    Derived, Function, MANY, NULL, document, element, function, json_type, part, path, result,
    single_path, truth_type, truths,
};
use crate::SqlError;
use crate::build::Derive;
use crate::functions::Shape;
use crate::functions::call::{Answer, Call};
use crate::like::like;
use crate::refused::Refused;
use crate::tree::{Expr, OwnedDatum};
use ::value::json::{self, JsonRef, JsonValue, Path, View};
use ::value::{Collation, ColumnType, Datum};

pub static FUNCTIONS: &[Function] = &[
    function("json_extract", (2, MANY), json_type, extract, "what paths find in a document")
        .sees_null(),
    function("json_keys", (1, 2), json_type, keys, "the names of an object's members").sees_null(),
    function("json_contains", (2, 3), truth_type, contains, "whether a document is in another")
        .sees_null(),
    function(
        "json_contains_path",
        (3, MANY),
        truth_type,
        contains_path,
        "whether one of the paths, or all, find something",
    )
    .sees_null(),
    function(
        "json_overlaps",
        (2, 2),
        overlaps_type,
        overlaps,
        "whether documents have something in common",
    )
    .sees_null(),
    function("member of", (2, 2), member_type, member_of, "whether a value is in a JSON array")
        .sees_null()
        .written(Shape::MemberOf),
    function("json_search", (3, MANY), search_type, search, "the paths to strings like a pattern")
        .sees_null(),
];

fn overlaps_type(d: &mut Derive<'_>) -> Derived {
    let ty = truth_type(d)?;
    Ok(ColumnType { kind: ::value::Kind::Int, length: 1, ..ty })
}

fn member_type(d: &mut Derive<'_>) -> Derived {
    let array = d.args[1].ty;
    truths(d, 0);
    d.args[1].ty = array;
    overlaps_type(d)
}

/// The escape character is known when the call is built.
fn search_type(d: &mut Derive<'_>) -> Derived {
    let wrong = || SqlError::from(Refused::WrongArguments("ESCAPE"));
    if let Some(escape) = d.args.get(3) {
        match &escape.expr {
            Expr::Const(OwnedDatum::Bytes(text)) if escape.ty.collation.char_count(text) > 1 => {
                return Err(wrong());
            }
            Expr::Const(_) | Expr::Param(_) => {}
            _ => return Err(wrong()),
        }
    }
    json_type(d)
}

fn extract<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(document) = document(c, 0)? else { return Ok(NULL) };
    let root = JsonRef::new(&document);
    let mut found = Vec::new();
    let mut several = c.len() > 2;
    for n in 1..c.len() {
        let Some(path) = path(c, n)? else { return Ok(NULL) };
        several |= path.is_multiple();
        found.extend(path.find(root));
    }
    match found.as_slice() {
        [] => Ok(NULL),
        [one] if !several => Ok(part(&document, *one)),
        all => result(&JsonValue::Array(all.iter().map(|v| JsonValue::of(*v)).collect())),
    }
}

fn keys<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(document) = document(c, 0)? else { return Ok(NULL) };
    let mut value = JsonRef::new(&document);
    if c.len() > 1 {
        let Some(path) = single_path(c, 1)? else { return Ok(NULL) };
        let Some(found) = path.find_one(value) else { return Ok(NULL) };
        value = found;
    }
    let View::Object(members) = value.view() else { return Ok(NULL) };
    let names = members.iter().map(|(key, _)| JsonValue::String(key.to_vec()));
    result(&JsonValue::Array(names.collect()))
}

fn contains<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(whole) = document(c, 0)? else { return Ok(NULL) };
    let Some(wanted) = document(c, 1)? else { return Ok(NULL) };
    let mut value = JsonRef::new(&whole);
    if c.len() > 2 {
        let Some(path) = single_path(c, 2)? else { return Ok(NULL) };
        let Some(found) = path.find_one(value) else { return Ok(NULL) };
        value = found;
    }
    Ok(json::contains(value, JsonRef::new(&wanted)).into())
}

/// Argument `n` as whether it says `one`; else it says `all`.
fn one_or_all(c: &mut Call<'_, '_>, n: usize) -> Result<bool, SqlError> {
    let word = c.text(n).to_ascii_lowercase();
    match word.as_slice() {
        b"one" => Ok(true),
        b"all" => Ok(false),
        _ => Err(Refused::OneOrAll(c.site.function.name).into()),
    }
}

fn contains_path<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(document) = document(c, 0)? else { return Ok(NULL) };
    if c.is_null(1) {
        return Ok(NULL);
    }
    let one = one_or_all(c, 1)?;
    for n in 2..c.len() {
        let Some(path) = path(c, n)? else { return Ok(NULL) };
        if path.find_one(JsonRef::new(&document)).is_some() == one {
            return Ok(one.into());
        }
    }
    Ok((!one).into())
}

fn overlaps<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(a) = document(c, 0)? else { return Ok(NULL) };
    let Some(b) = document(c, 1)? else { return Ok(NULL) };
    Ok(json::overlaps(JsonRef::new(&a), JsonRef::new(&b)).into())
}

fn member_of<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Ok(NULL);
    }
    let Some(array) = document(c, 1)? else { return Ok(NULL) };
    let wanted = element(c, 0).to_bytes();
    let is = |value: JsonRef<'_>| json::compare(value, JsonRef::new(&wanted)).is_eq();
    Ok(match JsonRef::new(&array).view() {
        View::Array(items) => items.iter().any(is),
        _ => is(JsonRef::new(&array)),
    }
    .into())
}

fn search<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(document) = document(c, 0)? else { return Ok(NULL) };
    if c.is_null(1) {
        return Ok(NULL);
    }
    let one = one_or_all(c, 1)?;
    if c.is_null(2) {
        return Ok(NULL);
    }
    let ty = c.ty(2);
    let pattern = super::unicode(c.text(2), &ty);
    let escape = if c.len() > 3 { c.text(3).first().copied() } else { None };
    let is_match = |value: JsonRef<'_>| {
        let View::String(text) = value.view() else { return false };
        let (text, pattern) = (Datum::Bytes(text), Datum::Bytes(&pattern));
        like(&text, &pattern, escape.unwrap_or(b'\\'), Collation::Utf8mb4Bin) == Some(true)
    };
    let mut found = Found { one, paths: Vec::new() };
    let root = JsonRef::new(&document);
    if c.len() <= 4 {
        found.below(root, &[root], &is_match);
    }
    for n in 4..c.len() {
        let Some(path) = path(c, n)? else { return Ok(NULL) };
        found.below(root, &path.find(root), &is_match);
    }
    match <[JsonValue; 1]>::try_from(found.paths) {
        Ok([one]) => result(&one),
        Err(none) if none.is_empty() => Ok(NULL),
        Err(all) => result(&JsonValue::Array(all)),
    }
}

/// The paths that JSON_SEARCH found, each once.
struct Found {
    one: bool,
    paths: Vec<JsonValue>,
}

impl Found {
    /// Looks in some parts of a document.
    fn below(
        &mut self,
        root: JsonRef<'_>,
        parts: &[JsonRef<'_>],
        is: &dyn Fn(JsonRef<'_>) -> bool,
    ) {
        // A part of a document lies within the bytes of what it is a part of.
        let within = |value: JsonRef<'_>| {
            let at = value.bytes().as_ptr();
            parts.iter().any(|part| part.bytes().as_ptr_range().contains(&at))
        };
        json::path::walk(root, &mut Path::default(), &mut |path, value| {
            if self.one && !self.paths.is_empty() {
                return false;
            }
            if within(value) && is(value) {
                let mut text = Vec::new();
                path.append_text(&mut text);
                let text = JsonValue::String(text);
                if !self.paths.contains(&text) {
                    self.paths.push(text);
                }
            }
            true
        });
    }
}
