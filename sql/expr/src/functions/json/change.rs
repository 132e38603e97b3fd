//! Documents changed and merged: JSON_SET, JSON_INSERT, JSON_REPLACE, JSON_REMOVE, JSON_ARRAY_APPEND,
//! JSON_ARRAY_INSERT, JSON_MERGE_PATCH, JSON_MERGE_PRESERVE.

use super::{
    Derived, Function, MANY, NULL, element, function, json_type, result, single_path, tree, truths,
};
use crate::build::Derive;
use crate::functions::call::{Answer, Call};
use crate::refused::Refused;
use ::value::json::modify::{self, Put};
use ::value::json::{JsonValue, Path};

pub static FUNCTIONS: &[Function] = &[
    function("json_set", (3, MANY), pairs_type, set, "the document with values put at paths")
        .sees_null(),
    function(
        "json_insert",
        (3, MANY),
        pairs_type,
        insert,
        "the document with values put where nothing was",
    )
    .sees_null(),
    function(
        "json_replace",
        (3, MANY),
        pairs_type,
        replace,
        "the document with values put where something was",
    )
    .sees_null(),
    function("json_remove", (2, MANY), json_type, remove, "the document without what paths find")
        .sees_null(),
    function(
        "json_array_append",
        (3, MANY),
        pairs_type,
        array_append,
        "the document with values behind the arrays at paths",
    )
    .sees_null(),
    function(
        "json_array_insert",
        (3, MANY),
        pairs_type,
        array_insert,
        "the document with values before array elements",
    )
    .sees_null(),
    function(
        "json_merge_patch",
        (2, MANY),
        json_type,
        merge_patch,
        "documents merged, the later one's members counting (RFC 7396)",
    )
    .sees_null(),
    function(
        "json_merge_preserve",
        (2, MANY),
        json_type,
        merge_preserve,
        "documents merged, with the members and elements of all",
    )
    .sees_null(),
    function("json_merge", (2, MANY), json_type, merge, "the old name of json_merge_preserve")
        .sees_null(),
];

/// A document, and pairs of a path and a value.
fn pairs_type(d: &mut Derive<'_>) -> Derived {
    if d.args.len().is_multiple_of(2) {
        return Err(d.wrong_count());
    }
    truths(d, 1);
    json_type(d)
}

/// Applies a change for each pair of a path and a value.
fn each_pair<'v>(
    c: &mut Call<'_, 'v>,
    change: impl Fn(&mut JsonValue, &Path, JsonValue) -> Result<(), crate::SqlError>,
) -> Answer<'v> {
    let Some(mut document) = tree(c, 0)? else { return Ok(NULL) };
    for n in (1..c.len()).step_by(2) {
        let Some(path) = single_path(c, n)? else { return Ok(NULL) };
        change(&mut document, &path, element(c, n + 1))?;
    }
    result(&document)
}

fn put<'v>(c: &mut Call<'_, 'v>, how: Put) -> Answer<'v> {
    each_pair(c, |document, path, value| {
        modify::put(document, path, value, how);
        Ok(())
    })
}

fn set<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    put(c, Put::Set)
}

fn insert<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    put(c, Put::Insert)
}

fn replace<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    put(c, Put::Replace)
}

fn array_append<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    each_pair(c, |document, path, value| {
        modify::array_append(document, path, value);
        Ok(())
    })
}

fn array_insert<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    each_pair(c, |document, path, value| match modify::array_insert(document, path, value) {
        true => Ok(()),
        false => Err(Refused::NoCell.into()),
    })
}

fn remove<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(mut document) = tree(c, 0)? else { return Ok(NULL) };
    let mut paths = Vec::with_capacity(c.len());
    for n in 1..c.len() {
        let Some(path) = single_path(c, n)? else { return Ok(NULL) };
        if path.legs.is_empty() {
            return Err(Refused::WholePath.into());
        }
        paths.push(path);
    }
    paths.iter().for_each(|path| modify::remove(&mut document, path));
    result(&document)
}

/// NULL stays NULL until a document comes that is no object: that replaces whatever was before.
fn merge_patch<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let mut merged = tree(c, 0)?;
    for n in 1..c.len() {
        merged = match (merged, tree(c, n)?) {
            (_, Some(patch)) if !matches!(patch, JsonValue::Object(_)) => Some(patch),
            (Some(merged), Some(patch)) => Some(modify::merge_patch(merged, patch)),
            _ => None,
        };
    }
    merged.map_or(Ok(NULL), |merged| result(&merged))
}

fn merge_preserve<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(mut merged) = tree(c, 0)? else { return Ok(NULL) };
    for n in 1..c.len() {
        let Some(next) = tree(c, n)? else { return Ok(NULL) };
        merged = modify::merge_preserve(merged, next);
    }
    result(&merged)
}

fn merge<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = "'JSON_MERGE' is deprecated and will be removed in a future release. Please use \
                JSON_MERGE_PRESERVE/JSON_MERGE_PATCH instead";
    c.env.warn_once(1287, text.into());
    merge_preserve(c)
}
