//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT: JSON Schema, draft 4.
//!
//! 1. Requirements are looked at in one order: what a value is, its elements in the document's order, what
//!    the whole must have, then enum, allOf, anyOf, oneOf, not; the first that fails is reported. 2. What
//!    is no requirement (a word of another type, a pattern that is no regular expression) holds.

use super::{Derived, Function, NULL, document, function, json_type, result, truth_type};
use crate::build::Derive;
use crate::functions::call::{Answer, Call};
use crate::refused::Refused;
use crate::{Environment, Expr, Row, SqlError, eval};
use ::value::json::tree::Object;
use ::value::json::{self, JsonRef, JsonValue, Members, View};
use ::value::{ColumnType, Kind};
use std::borrow::Cow;
use std::cmp::Ordering;

pub static FUNCTIONS: &[Function] = &[
    function(
        "json_schema_valid",
        (2, 2),
        valid_type,
        valid,
        "whether a document keeps to a schema",
    )
    .sees_null(),
    function(
        "json_schema_validation_report",
        (2, 2),
        json_type,
        report,
        "where and how a document breaks a schema",
    )
    .sees_null(),
];

fn valid_type(d: &mut Derive<'_>) -> Derived {
    let ty = truth_type(d)?;
    Ok(ColumnType { kind: Kind::Int, length: 1, ..ty })
}

/// A requirement that a document does not keep.
struct Failure {
    keyword: &'static str,
    schema: String,
    document: String,
}

impl Failure {
    fn reason(&self) -> String {
        let Failure { keyword, schema, document } = self;
        format!(
            "The JSON document location '{document}' failed requirement '{keyword}' at JSON Schema \
             location '{schema}'"
        )
    }
}

/// What a condition that is JSON_SCHEMA_VALID and nothing else misses in a document: the text of error 3934.
///
/// # Errors
/// Those of the function.
pub fn missed(
    condition: &Expr,
    row: &Row<'_>,
    env: &mut dyn Environment,
) -> Result<Option<String>, SqlError> {
    let Expr::Call(site) = condition else { return Ok(None) };
    if site.function.name != "json_schema_valid" {
        return Ok(None);
    }
    let args = site.arguments.iter().map(|argument| eval(argument, row, env));
    let mut args = args.collect::<Result<Vec<_>, _>>()?;
    let failure = judged(&mut Call { args: &mut args, site, env })?.flatten();
    Ok(failure.map(|failure| failure.reason() + "."))
}

/// Both documents, then the first requirement that fails; `None` when one of them is NULL.
fn judged(c: &mut Call<'_, '_>) -> Result<Option<Option<Failure>>, SqlError> {
    let Some(schema) = document(c, 0)? else { return Ok(None) };
    let root = JsonRef::new(&schema);
    if !matches!(root.view(), View::Object(_)) {
        return Err(Refused::NoJsonObject(c.site.function.name).into());
    }
    let Some(document) = document(c, 1)? else { return Ok(None) };
    if refers_elsewhere(root) {
        return Err(SqlError::unsupported("references in JSON Schema"));
    }
    let judge = Judge { root };
    let at = Place { schema: "#".into(), document: "#".into() };
    Ok(Some(judge.check(root, JsonRef::new(&document), &at, 0).err()))
}

fn valid<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(judged(c)?.map_or(NULL, |failure| failure.is_none().into()))
}

fn report<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Some(failure) = judged(c)? else { return Ok(NULL) };
    let text = |s: String| JsonValue::String(s.into_bytes());
    let mut members = vec![(b"valid".to_vec(), JsonValue::Bool(failure.is_none()))];
    if let Some(failure) = failure {
        let reason = failure.reason();
        let Failure { keyword, schema, document } = failure;
        members.push((b"reason".to_vec(), text(reason)));
        members.push((b"schema-location".to_vec(), text(schema)));
        members.push((b"document-location".to_vec(), text(document)));
        members.push((b"schema-failed-keyword".to_vec(), text(keyword.into())));
    }
    result(&JsonValue::Object(Object::of(members)))
}

/// Whether a schema refers to another document.
fn refers_elsewhere(schema: JsonRef<'_>) -> bool {
    match schema.view() {
        View::Array(items) => items.iter().any(refers_elsewhere),
        View::Object(members) => members.iter().any(|(key, value)| {
            let foreign = value.as_str().is_some_and(|to| !to.starts_with(b"#"));
            key == b"$ref" && foreign || refers_elsewhere(value)
        }),
        _ => false,
    }
}

/// Where a value and its schema are: JSON pointers as URI fragments.
#[derive(Clone)]
struct Place {
    schema: String,
    document: String,
}

impl Place {
    fn failed(&self, keyword: &'static str) -> Failure {
        Failure { keyword, schema: self.schema.clone(), document: self.document.clone() }
    }

    fn in_schema(&self, steps: &[&[u8]]) -> Place {
        let schema = steps.iter().fold(self.schema.clone(), |at, step| at + "/" + &pointer(step));
        Place { schema, document: self.document.clone() }
    }

    fn in_document(&self, step: &[u8]) -> Place {
        let document = format!("{}/{}", self.document, pointer(step));
        Place { schema: self.schema.clone(), document }
    }
}

/// A step of a JSON pointer within a URI.
fn pointer(step: &[u8]) -> Cow<'static, str> {
    let mut out = String::with_capacity(step.len());
    for &b in step {
        match b {
            b'~' => out.push_str("~0"),
            b'/' => out.push_str("~1"),
            b'-' | b'.' | b'_' | b'$' => out.push(b.into()),
            b if b.is_ascii_alphanumeric() => out.push(b.into()),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
    out.into()
}

type Held = Result<(), Failure>;

/// Deepest chain of schemas within schemas: a reference may lead back to itself.
const CHAIN_MAX: usize = 200;

struct Judge<'s> {
    root: JsonRef<'s>,
}

impl<'s> Judge<'s> {
    /// Looks at every requirement of a schema.
    fn check(&self, schema: JsonRef<'s>, value: JsonRef<'_>, at: &Place, chain: usize) -> Held {
        let View::Object(rules) = schema.view() else { return Ok(()) };
        if chain > CHAIN_MAX {
            return Ok(());
        }
        if let Some((target, place)) = self.referred(rules, at) {
            return self.check(target, value, &place, chain + 1);
        }
        check_type(rules, value, at)?;
        match value.view() {
            View::Array(_) => self.check_array(rules, value, at, chain)?,
            View::Object(members) => self.check_object(rules, members, at, chain)?,
            View::Int(_) | View::UInt(_) | View::Double(_) | View::Decimal(_) => {
                check_number(rules, value, at)?;
            }
            View::String(text) => check_string(rules, text, at)?,
            _ => {}
        }
        if let Some(View::Array(choices)) = rules.get(b"enum").map(JsonRef::view)
            && !choices.iter().any(|choice| json::compare(choice, value).is_eq())
        {
            return Err(at.failed("enum"));
        }
        self.check_combined(rules, value, at, chain)
    }

    /// What `$ref` names: `#` and a JSON pointer into the schema.
    fn referred(&self, rules: Members<'s>, at: &Place) -> Option<(JsonRef<'s>, Place)> {
        let to = std::str::from_utf8(rules.get(b"$ref")?.as_str()?).ok()?;
        let mut target = self.root;
        for step in to.strip_prefix('#')?.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            target = match target.view() {
                View::Object(members) => members.get(step.as_bytes())?,
                View::Array(items) => items.get(step.parse().ok()?)?,
                _ => return None,
            };
        }
        Some((target, Place { schema: to.into(), document: at.document.clone() }))
    }

    fn check_combined(
        &self,
        rules: Members<'s>,
        value: JsonRef<'_>,
        at: &Place,
        chain: usize,
    ) -> Held {
        let holds = |schema| self.check(schema, value, at, chain + 1).is_ok();
        let count = |word: &[u8]| match rules.get(word).map(JsonRef::view) {
            Some(View::Array(all)) => Some((all.iter().filter(|s| holds(*s)).count(), all.len())),
            _ => None,
        };
        if count(b"allOf").is_some_and(|(held, all)| held < all) {
            return Err(at.failed("allOf"));
        }
        if count(b"anyOf").is_some_and(|(held, _)| held == 0) {
            return Err(at.failed("anyOf"));
        }
        if count(b"oneOf").is_some_and(|(held, _)| held != 1) {
            return Err(at.failed("oneOf"));
        }
        match rules.get(b"not") {
            Some(schema) if is_object(schema) && holds(schema) => Err(at.failed("not")),
            _ => Ok(()),
        }
    }

    fn check_array(
        &self,
        rules: Members<'s>,
        value: JsonRef<'_>,
        at: &Place,
        chain: usize,
    ) -> Held {
        let View::Array(items) = value.view() else { return Ok(()) };
        let unique = rules.get(b"uniqueItems").is_some_and(|v| v.view() == View::Bool(true));
        for (n, item) in items.iter().enumerate() {
            let number = n.to_string();
            let here = at.in_document(number.as_bytes());
            match rules.get(b"items").map(|schema| (schema, schema.view())) {
                Some((schema, View::Object(_))) => {
                    self.check(schema, item, &here.in_schema(&[b"items"]), chain + 1)?;
                }
                Some((_, View::Array(schemas))) => match schemas.get(n) {
                    Some(schema) => {
                        let here = here.in_schema(&[b"items", number.as_bytes()]);
                        self.check(schema, item, &here, chain + 1)?;
                    }
                    None => self.check_rest(rules, "additionalItems", item, &here, chain)?,
                },
                _ => {}
            }
            if unique && items.iter().take(n).any(|other| json::compare(other, item).is_eq()) {
                return Err(here.failed("uniqueItems"));
            }
        }
        check_count(rules, items.len(), ["minItems", "maxItems"], at)
    }

    /// What no other word speaks of: `false` refuses it, a schema counts for it.
    fn check_rest(
        &self,
        rules: Members<'s>,
        word: &'static str,
        value: JsonRef<'_>,
        at: &Place,
        chain: usize,
    ) -> Held {
        match rules.get(word.as_bytes()).map(|schema| (schema, schema.view())) {
            Some((_, View::Bool(false))) => Err(at.failed(word)),
            Some((schema, View::Object(_))) => {
                self.check(schema, value, &at.in_schema(&[word.as_bytes()]), chain + 1)
            }
            _ => Ok(()),
        }
    }

    fn check_object(
        &self,
        rules: Members<'s>,
        members: Members<'_>,
        at: &Place,
        chain: usize,
    ) -> Held {
        let object = |word: &[u8]| match rules.get(word).map(JsonRef::view) {
            Some(View::Object(members)) => Some(members),
            _ => None,
        };
        for (key, value) in members.iter() {
            let here = at.in_document(key);
            let mut known = false;
            if let Some(schema) = object(b"properties").and_then(|all| all.get(key)) {
                known = true;
                self.check(schema, value, &here.in_schema(&[b"properties", key]), chain + 1)?;
            }
            for (pattern, schema) in
                object(b"patternProperties").into_iter().flat_map(Members::iter)
            {
                if finds(pattern, key) {
                    known = true;
                    let held = self.check(schema, value, &here, chain + 1);
                    held.map_err(|_| here.failed("patternProperties"))?;
                }
            }
            if !known {
                self.check_rest(rules, "additionalProperties", value, &here, chain)?;
            }
        }
        if let Some(View::Array(names)) = rules.get(b"required").map(JsonRef::view)
            && !names.iter().filter_map(JsonRef::as_str).all(|name| members.get(name).is_some())
        {
            return Err(at.failed("required"));
        }
        check_count(rules, members.len(), ["minProperties", "maxProperties"], at)?;
        for (key, needs) in object(b"dependencies").into_iter().flat_map(Members::iter) {
            if members.get(key).is_none() {
                continue;
            }
            let held = match needs.view() {
                View::Array(names) => {
                    names.iter().filter_map(JsonRef::as_str).all(|n| members.get(n).is_some())
                }
                View::Object(_) => {
                    let whole = JsonValue::Object(Object::of(
                        members.iter().map(|(k, v)| (k.to_vec(), JsonValue::of(v))).collect(),
                    ));
                    self.check(needs, JsonRef::new(&whole.to_bytes()), at, chain + 1).is_ok()
                }
                _ => true,
            };
            if !held {
                return Err(at.failed("dependencies"));
            }
        }
        Ok(())
    }
}

fn is_object(value: JsonRef<'_>) -> bool {
    matches!(value.view(), View::Object(_))
}

fn check_type(rules: Members<'_>, value: JsonRef<'_>, at: &Place) -> Held {
    let is = |word: JsonRef<'_>| match word.as_str() {
        Some(b"object") => is_object(value),
        Some(b"array") => matches!(value.view(), View::Array(_)),
        Some(b"null") => value.view() == View::Null,
        Some(b"boolean") => matches!(value.view(), View::Bool(_)),
        Some(b"integer") => matches!(value.view(), View::Int(_) | View::UInt(_)),
        Some(b"number") => super::cast::is_number(value),
        // Dates and bytes are strings in JSON's own text.
        Some(b"string") => {
            !matches!(value.view(), View::Null | View::Bool(_) | View::Array(_) | View::Object(_))
                && !super::cast::is_number(value)
        }
        _ => false,
    };
    let held = match rules.get(b"type").map(|word| (word, word.view())) {
        Some((word, View::String(_))) => is(word),
        Some((_, View::Array(words))) => words.iter().any(is),
        Some(_) => false,
        None => true,
    };
    if held { Ok(()) } else { Err(at.failed("type")) }
}

fn number(rules: Members<'_>, word: &[u8]) -> Option<f64> {
    rules.get(word).and_then(|v| match v.view() {
        View::String(_) | View::Bool(_) => None,
        _ => super::cast::double(v).whole(),
    })
}

fn check_number(rules: Members<'_>, value: JsonRef<'_>, at: &Place) -> Held {
    let limit = |word: &[u8]| number(rules, word).and_then(|_| rules.get(word));
    let exclusive = |word: &[u8]| rules.get(word).is_some_and(|v| v.view() == View::Bool(true));
    if let Some(least) = limit(b"minimum") {
        let order = json::compare(value, least);
        if order == Ordering::Less || order.is_eq() && exclusive(b"exclusiveMinimum") {
            return Err(at.failed("minimum"));
        }
    }
    if let Some(most) = limit(b"maximum") {
        let order = json::compare(value, most);
        if order == Ordering::Greater || order.is_eq() && exclusive(b"exclusiveMaximum") {
            return Err(at.failed("maximum"));
        }
    }
    if let Some(unit) = number(rules, b"multipleOf").map(f64::abs).filter(|unit| *unit > 0.0) {
        let v = super::cast::double(value).any().abs();
        if v - (v / unit).floor() * unit > 0.0 {
            return Err(at.failed("multipleOf"));
        }
    }
    Ok(())
}

fn check_string(rules: Members<'_>, text: &[u8], at: &Place) -> Held {
    let chars = String::from_utf8_lossy(text).chars().count();
    check_count(rules, chars, ["minLength", "maxLength"], at)?;
    match rules.get(b"pattern").and_then(JsonRef::as_str) {
        Some(pattern) if !finds(pattern, text) => Err(at.failed("pattern")),
        _ => Ok(()),
    }
}

fn check_count(
    rules: Members<'_>,
    count: usize,
    [min, max]: [&'static str; 2],
    at: &Place,
) -> Held {
    let count = count as f64;
    if number(rules, min.as_bytes()).is_some_and(|least| count < least) {
        return Err(at.failed(min));
    }
    if number(rules, max.as_bytes()).is_some_and(|most| count > most) {
        return Err(at.failed(max));
    }
    Ok(())
}

/// Whether a pattern matches somewhere in a text; what is no pattern does.
fn finds(pattern: &[u8], text: &[u8]) -> bool {
    let (pattern, text) = (String::from_utf8_lossy(pattern), String::from_utf8_lossy(text));
    let Ok(regex) = fancy_regex::Regex::new(&pattern) else { return true };
    regex.is_match(&*text).unwrap_or(true)
}
