//! Order and containment of JSON values.

use super::{Items, JsonRef, View, key_order};
use crate::{Collation, Datum};
use std::cmp::Ordering;

/// MySQL's order of the types: what has a larger number is larger, whatever its value.
pub(super) fn rank(v: &View<'_>) -> u8 {
    match v {
        View::Null => 0,
        View::Int(_) | View::UInt(_) | View::Double(_) | View::Decimal(_) => 1,
        View::String(_) => 2,
        View::Object(_) => 3,
        View::Array(_) => 4,
        View::Bool(_) => 5,
        View::Date(_) => 6,
        View::Time(_) => 7,
        View::DateTime(_) | View::Timestamp(_) => 8,
        View::Opaque(16, _) => 10,
        View::Opaque(249..=252 | 15 | 253 | 254, _) => 11,
        View::Opaque(..) => 9,
    }
}

fn number<'a>(v: &View<'a>) -> Datum<'a> {
    match *v {
        View::Int(v) => Datum::Int(v),
        View::UInt(v) => Datum::UInt(v),
        View::Double(v) => Datum::Double(v),
        View::Decimal(v) => Datum::Decimal(v),
        _ => Datum::Null,
    }
}

/// The order of two JSON values.
#[must_use]
pub fn compare(a: JsonRef<'_>, b: JsonRef<'_>) -> Ordering {
    let (x, y) = (a.view(), b.view());
    let by_rank = rank(&x).cmp(&rank(&y));
    if by_rank.is_ne() {
        return by_rank;
    }
    match (x, y) {
        (View::Bool(x), View::Bool(y)) => x.cmp(&y),
        (View::String(x), View::String(y)) | (View::Opaque(_, x), View::Opaque(_, y)) => x.cmp(y),
        (View::Date(x), View::Date(y)) => x.cmp(&y),
        (View::Time(x), View::Time(y)) => x.micros().cmp(&y.micros()),
        (View::DateTime(x) | View::Timestamp(x), View::DateTime(y) | View::Timestamp(y)) => {
            x.packed().cmp(&y.packed())
        }
        (View::Array(x), View::Array(y)) => {
            let pairs = x.iter().zip(y.iter());
            let differing = pairs.map(|(x, y)| compare(x, y)).find(|o| o.is_ne());
            differing.unwrap_or_else(|| x.len().cmp(&y.len()))
        }
        (View::Object(x), View::Object(y)) => {
            let by_length = x.len().cmp(&y.len());
            let pairs = x.iter().zip(y.iter());
            let differing = pairs
                .map(|((k, v), (l, w))| key_order(k, l).then_with(|| compare(v, w)))
                .find(|o| o.is_ne());
            by_length.then(differing.unwrap_or(Ordering::Equal))
        }
        (x, y) => {
            let order = crate::compare(&number(&x), &number(&y), Collation::Binary);
            order.unwrap_or(Ordering::Equal)
        }
    }
}

/// JSON_CONTAINS: whether every part of `part` is in `whole`.
#[must_use]
pub fn contains(whole: JsonRef<'_>, part: JsonRef<'_>) -> bool {
    match (whole.view(), part.view()) {
        (View::Object(x), View::Object(y)) => {
            y.iter().all(|(key, v)| x.get(key).is_some_and(|w| contains(w, v)))
        }
        (View::Array(x), View::Array(y)) => y.iter().all(|v| contains_element(x, v)),
        (View::Array(x), _) => contains_element(x, part),
        (View::Object(_), _) | (_, View::Object(_) | View::Array(_)) => false,
        _ => compare(whole, part).is_eq(),
    }
}

/// Whether an element of an array is the value or contains it. An array is looked for in arrays only.
fn contains_element(items: Items<'_>, value: JsonRef<'_>) -> bool {
    let nested = matches!(value.view(), View::Array(_));
    items.iter().any(|item| match nested {
        true => matches!(item.view(), View::Array(_)) && contains(item, value),
        false => contains(item, value),
    })
}

/// JSON_OVERLAPS: whether two documents have an element, a member or themselves in common.
#[must_use]
pub fn overlaps(a: JsonRef<'_>, b: JsonRef<'_>) -> bool {
    match (a.view(), b.view()) {
        (View::Array(x), View::Array(y)) => {
            x.iter().any(|v| y.iter().any(|w| compare(v, w).is_eq()))
        }
        (View::Array(x), _) => x.iter().any(|v| compare(v, b).is_eq()),
        (_, View::Array(y)) => y.iter().any(|w| compare(a, w).is_eq()),
        (View::Object(x), View::Object(y)) => {
            x.iter().any(|(k, v)| y.get(k).is_some_and(|w| compare(v, w).is_eq()))
        }
        _ => compare(a, b).is_eq(),
    }
}
