//! JSON documents out of SQL values: JSON_ARRAY, JSON_OBJECT, JSON_QUOTE, JSON_UNQUOTE, CAST AS JSON.

use super::{
    Derived, Function, MANY, NULL, document, element, function, invalid_text, json_type,
    long_text_type, of_binary, result, text_type, truths, unicode,
};
use crate::build::Derive;
use crate::functions::call::{Answer, Call};
use crate::refused::Refused;
use crate::{SqlError, eval::Value};
use ::value::json::tree::Object;
use ::value::json::{self, JsonRef, JsonValue, View};
use ::value::{Datum, Kind};
use std::borrow::Cow;

pub static FUNCTIONS: &[Function] = &[
    function("json_array", (0, MANY), values_type, array, "a JSON array of the arguments")
        .sees_null(),
    function("json_object", (0, MANY), object_type, object, "a JSON object of names and values")
        .sees_null(),
    function("json_quote", (1, 1), quote_type, quote, "the text as a JSON string"),
    function("json_unquote", (1, 1), unquote_type, unquote, "the text of a JSON string"),
];

fn values_type(d: &mut Derive<'_>) -> Derived {
    truths(d, 0);
    json_type(d)
}

fn object_type(d: &mut Derive<'_>) -> Derived {
    if !d.args.len().is_multiple_of(2) {
        return Err(d.wrong_count());
    }
    values_type(d)
}

fn quote_type(d: &mut Derive<'_>) -> Derived {
    let chars = d.chars(0).saturating_mul(6).saturating_add(2);
    Ok(text_type(d, chars))
}

fn unquote_type(d: &mut Derive<'_>) -> Derived {
    match d.ty(0).kind {
        Kind::Json => long_text_type(d),
        _ => {
            let chars = d.chars(0);
            Ok(text_type(d, chars))
        }
    }
}

fn array<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    result(&JsonValue::Array((0..c.len()).map(|n| element(c, n)).collect()))
}

fn object<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let mut members = Vec::with_capacity(c.len() / 2);
    for n in (0..c.len()).step_by(2) {
        if c.is_null(n) {
            return Err(Refused::NullMember.into());
        }
        let ty = c.ty(n);
        if ty.kind.is_binary_string() {
            return Err(of_binary());
        }
        let key = c.text(n);
        members.push((unicode(key, &ty).into_owned(), element(c, n + 1)));
    }
    result(&JsonValue::Object(Object::of(members)))
}

/// Argument 0 as utf8mb4 text; errors 3064 and 3144 for what is none.
fn text<'v>(c: &mut Call<'_, 'v>) -> Result<Cow<'v, [u8]>, SqlError> {
    let ty = c.ty(0);
    if !crate::build::is_stringy(&ty) {
        let name = c.site.function.name;
        return Err(Refused::NoJsonText(name).into());
    }
    if ty.kind.is_binary_string() {
        return Err(of_binary());
    }
    Ok(unicode(c.text(0), &ty))
}

fn quote<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = text(c)?;
    let mut out = Vec::with_capacity(text.len() + 2);
    json::append_quoted(&text, &mut out);
    Ok(out.into())
}

fn unquote<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if let Datum::Json(_) = c.datum(0) {
        let Some(document) = document(c, 0)? else { return Ok(NULL) };
        return Ok(unquoted(JsonRef::new(&document)).into());
    }
    let text = text(c)?;
    match &*text {
        [b'"', .., b'"'] => {}
        _ => return Ok(text.into()),
    }
    let name = c.site.function.name;
    match json::parse_tree(&text).map_err(|e| invalid_text(&e, 0, name))? {
        JsonValue::String(inner) => Ok(inner.into()),
        _ => Ok(text.into()),
    }
}

/// A value's text; a string's without quotes and escapes, a date's and time's without quotes.
pub fn unquoted(value: JsonRef<'_>) -> Vec<u8> {
    match value.view() {
        View::String(s) => s.to_vec(),
        View::Date(_)
        | View::Time(_)
        | View::DateTime(_)
        | View::Timestamp(_)
        | View::Opaque(..) => {
            let quoted = json::to_text(value);
            quoted.get(1..quoted.len() - 1).unwrap_or_default().to_vec()
        }
        _ => json::to_text(value),
    }
}

/// CAST AS JSON: text is parsed, any other value becomes a JSON scalar.
pub fn to_json<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let ty = c.ty(0);
    if ty.kind.is_string() && !ty.kind.is_binary_string() {
        let Datum::Bytes(_) = c.datum(0) else { return Ok(c.take(0)) };
        let text = unicode(c.text(0), &ty);
        let mut out = Vec::new();
        json::parse(&text, &mut out).map_err(|e| invalid_text(&e, 0, "cast_as_json"))?;
        return Ok(Value::Json(out));
    }
    match c.datum(0) {
        Datum::Json(_) => Ok(c.take(0)),
        _ => result(&element(c, 0)),
    }
}
