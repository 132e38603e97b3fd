//! Changes of a document: what JSON_SET, JSON_INSERT, JSON_REPLACE, JSON_REMOVE, JSON_ARRAY_APPEND,
//! JSON_ARRAY_INSERT and the merges do.
//!
//! 1. Paths here find one value: wildcards and ranges are the caller's error 3149. 2. A value that is no
//! array becomes one when something is put behind it.

use super::path::{Index, Leg, Path};
use super::tree::{JsonValue, Object};

/// What to do with a value at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// JSON_SET: put it there, whatever is there.
    Set,
    /// JSON_INSERT: only where nothing is.
    Insert,
    /// JSON_REPLACE: only where something is.
    Replace,
}

/// The value at the end of the legs, to change it.
fn locate<'v>(root: &'v mut JsonValue, legs: &[Leg]) -> Option<&'v mut JsonValue> {
    let mut here = root;
    for leg in legs {
        here = match (leg, here) {
            (Leg::Key(key), JsonValue::Object(object)) => object.get_mut(key)?,
            (Leg::Index(index), JsonValue::Array(items)) => {
                let at = place(*index, items.len())?;
                items.get_mut(at)?
            }
            (Leg::Index(index), other) if place(*index, 1) == Some(0) => other,
            _ => return None,
        };
    }
    Some(here)
}

fn place(index: Index, len: usize) -> Option<usize> {
    match index.from_end {
        true => len.checked_sub(1)?.checked_sub(index.n),
        false => Some(index.n),
    }
}

/// Puts a value at a path. Nothing happens where the path's parent is not there.
pub fn put(root: &mut JsonValue, path: &Path, value: JsonValue, how: Put) {
    if let Some(there) = locate(root, &path.legs) {
        if how != Put::Insert {
            *there = value;
        }
        return;
    }
    if how == Put::Replace {
        return;
    }
    let Some((last, parents)) = path.legs.split_last() else { return };
    match (last, locate(root, parents)) {
        (Leg::Key(key), Some(JsonValue::Object(object))) => {
            object.insert(key.clone(), value);
        }
        (Leg::Index(index), Some(JsonValue::Array(items))) => {
            // Before the first element, or behind the last.
            match index.from_end {
                true => items.insert(0, value),
                false => items.push(value),
            }
        }
        (Leg::Index(index), Some(other)) => {
            let first = std::mem::take(other);
            let both = if index.from_end { vec![value, first] } else { vec![first, value] };
            *other = JsonValue::Array(both);
        }
        _ => {}
    }
}

/// JSON_REMOVE of a path that is not `$`. A scalar that `[0]` or `[last]` stands for goes out of what
/// it is in; the root stays.
pub fn remove(root: &mut JsonValue, path: &Path) {
    let mut legs = path.legs.as_slice();
    while let Some((last, parents)) = legs.split_last() {
        match (last, locate(root, parents)) {
            (Leg::Key(key), Some(JsonValue::Object(object))) => {
                object.remove(key);
            }
            (Leg::Index(index), Some(JsonValue::Array(items))) => {
                if let Some(at) = place(*index, items.len()).filter(|at| *at < items.len()) {
                    items.remove(at);
                }
            }
            (Leg::Index(index), Some(_)) if place(*index, 1) == Some(0) => {
                legs = parents;
                continue;
            }
            _ => {}
        }
        return;
    }
}

/// JSON_ARRAY_APPEND: puts a value behind the array at a path.
pub fn array_append(root: &mut JsonValue, path: &Path, value: JsonValue) {
    match locate(root, &path.legs) {
        Some(JsonValue::Array(items)) => items.push(value),
        Some(other) => {
            let first = std::mem::take(other);
            *other = JsonValue::Array(vec![first, value]);
        }
        None => {}
    }
}

/// JSON_ARRAY_INSERT: puts a value before the element at a path that ends in an array cell; `false`
/// when it does not (error 3165).
pub fn array_insert(root: &mut JsonValue, path: &Path, value: JsonValue) -> bool {
    let Some((Leg::Index(index), parents)) = path.legs.split_last() else { return false };
    if let Some(JsonValue::Array(items)) = locate(root, parents) {
        let at = place(*index, items.len()).unwrap_or(0);
        items.insert(at.min(items.len()), value);
    }
    true
}

/// JSON_MERGE_PATCH (RFC 7396).
#[must_use]
pub fn merge_patch(target: JsonValue, patch: JsonValue) -> JsonValue {
    let JsonValue::Object(patch) = patch else { return patch };
    let mut target = match target {
        JsonValue::Object(object) => object,
        _ => Object::default(),
    };
    for (key, value) in patch.into_members() {
        if value == JsonValue::Null {
            target.remove(&key);
            continue;
        }
        let old = target.remove(&key).unwrap_or_default();
        target.insert(key, merge_patch(old, value));
    }
    JsonValue::Object(target)
}

/// JSON_MERGE_PRESERVE: members of both objects, elements of both arrays.
#[must_use]
pub fn merge_preserve(a: JsonValue, b: JsonValue) -> JsonValue {
    match (a, b) {
        (JsonValue::Object(mut a), JsonValue::Object(b)) => {
            for (key, value) in b.into_members() {
                let merged = match a.remove(&key) {
                    Some(old) => merge_preserve(old, value),
                    None => value,
                };
                a.insert(key, merged);
            }
            JsonValue::Object(a)
        }
        (a, b) => {
            let items = |v: JsonValue| match v {
                JsonValue::Array(items) => items,
                other => vec![other],
            };
            let mut all = items(a);
            all.extend(items(b));
            JsonValue::Array(all)
        }
    }
}
