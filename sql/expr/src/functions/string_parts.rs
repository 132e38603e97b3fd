//! String functions that find and cut: LEFT, SUBSTRING, TRIM, LOCATE, FIELD and their kin.

use super::call::{Answer, Call, NULL, slice};
use super::control::lazy;
use super::{Function, MANY, function};
use crate::Expr;
use crate::build::{Derive, is_stringy};
use crate::eval::{Value, eval};
use crate::row::Row;
use crate::tree::{CallSite, Extra, Typed};
use crate::{Environment, SqlError};
use value::{ColumnType, Datum, Kind};

pub static FUNCTIONS: &[Function] = &[
    function("left", (2, 2), part_type, left, "the first so many characters"),
    function("right", (2, 2), part_type, right, "the last so many characters"),
    function(
        "substring",
        (2, 3),
        substring_type,
        substring,
        "characters from a position on, from the end when it is negative",
    ),
    function(
        "substr",
        (2, 3),
        substring_type,
        substring,
        "characters from a position on, from the end when it is negative",
    ),
    function("mid", (2, 3), substring_type, substring, "characters from a position on"),
    function(
        "substring_index",
        (3, 3),
        index_type,
        substring_index,
        "what stands before the n-th delimiter, from the end when n is negative",
    ),
    lazy(
        "trim",
        (1, 2),
        trim_type,
        trim,
        "the text without what its ends repeat: spaces, or the first argument",
    ),
    function("ltrim", (1, 1), trim_type, ltrim, "the text without spaces at its start"),
    function("rtrim", (1, 1), trim_type, rtrim, "the text without spaces at its end"),
    function(
        "locate",
        (2, 3),
        locate_type,
        locate,
        "where the first text begins in the second; 0 if nowhere",
    ),
    function(
        "instr",
        (2, 2),
        instr_type,
        instr,
        "where the second text begins in the first; 0 if nowhere",
    ),
    lazy("field", (2, MANY), field_type, field, "which of the other arguments the first equals"),
];

type Derived = Result<ColumnType, SqlError>;

fn part_type(d: &mut Derive<'_>) -> Derived {
    d.text_of(0..1)?;
    let chars = d.chars(0);
    let chars = d.constant_int(1).map_or(chars, |n| chars.min(n.clamp(0, u32::MAX.into()) as u32));
    Ok(d.string(chars))
}

fn substring_type(d: &mut Derive<'_>) -> Derived {
    d.text_of(0..1)?;
    let mut chars = d.chars(0);
    if let Some(from) = d.constant_int(1) {
        chars = match from {
            1.. => chars.saturating_sub((from - 1).min(u32::MAX.into()) as u32),
            0 => 0,
            _ => chars.min(from.unsigned_abs().min(u32::MAX.into()) as u32),
        };
    }
    if let Some(count) = d.constant_int(2) {
        chars = chars.min(count.clamp(0, u32::MAX.into()) as u32);
    }
    Ok(d.string(chars))
}

fn index_type(d: &mut Derive<'_>) -> Derived {
    d.text_led_by(0, &[1])?;
    Ok(d.string(d.chars(0)))
}

fn trim_type(d: &mut Derive<'_>) -> Derived {
    let text = d.args.len() - 1;
    d.text_led_by(text, if text > 0 { &[0] } else { &[] })?;
    Ok(d.string(d.chars(text)))
}

/// What is searched in chooses the collation.
fn locate_type(d: &mut Derive<'_>) -> Derived {
    d.text_led_by(1, &[0])?;
    d.coercibility = None;
    Ok(d.int(11))
}

fn instr_type(d: &mut Derive<'_>) -> Derived {
    d.text_led_by(0, &[1])?;
    d.coercibility = None;
    Ok(d.int(11))
}

fn field_type(d: &mut Derive<'_>) -> Derived {
    if d.args[0].is_null() {
        return Ok(ColumnType { nullable: false, ..d.int(11) });
    }
    // Dates, times and documents count as texts.
    let textual = |a: &Typed| {
        let kind = a.ty.kind;
        is_stringy(&a.ty) || kind.has_date() || matches!(kind, Kind::Time | Kind::Json)
    };
    if d.args.iter().all(textual) {
        let builder = crate::build::Builder::new(*d.settings);
        for value in d.args.iter_mut() {
            *value = builder.to_text(value.clone());
        }
        let others: Vec<usize> = (1..d.args.len()).collect();
        d.text_led_by(0, &others)?;
        d.coercibility = None;
    } else {
        for value in d.args.iter_mut() {
            *value = crate::build::as_number(value.clone());
        }
    }
    Ok(ColumnType { nullable: false, ..d.int(11) })
}

/// Bytes of the first `count` characters.
fn bytes_of(c: &Call<'_, '_>, text: &[u8], count: i128) -> usize {
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    c.collation().prefix(text, count).len()
}

fn left<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let count = c.integer(1);
    let text = c.text(0);
    let end = bytes_of(c, &text, count);
    Ok(slice(text, 0..end))
}

fn right<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let count = c.integer(1).max(0);
    let text = c.text(0);
    let chars = c.collation().char_count(&text) as i128;
    let start = bytes_of(c, &text, chars - count.min(chars));
    let end = text.len();
    Ok(slice(text, start..end))
}

fn substring<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let from = c.integer(1);
    let count = if c.len() > 2 { c.integer(2) } else { i128::from(i64::MAX) };
    let text = c.text(0);
    let chars = || c.collation().char_count(&text) as i128;
    let start = match from {
        0 => return Ok(Vec::new().into()),
        1.. => from - 1,
        _ => chars() + from,
    };
    if start < 0 || count <= 0 {
        return Ok(Vec::new().into());
    }
    let start = bytes_of(c, &text, start);
    let length = bytes_of(c, &text[start..], count);
    Ok(slice(text, start..start + length))
}

/// Where `wanted` begins in `text` at a character, from byte `from` on.
fn find(c: &Call<'_, '_>, text: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let charset = c.collation().charset();
    let mut at = from;
    while at + wanted.len() <= text.len() {
        if text[at..].starts_with(wanted) {
            return Some(at);
        }
        at += charset.first_char(&text[at..]).1.max(1);
    }
    None
}

fn substring_index<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let count = c.int(2);
    let (text, delimiter) = (c.text(0), c.text(1));
    if text.is_empty() || delimiter.is_empty() || count == 0 {
        return Ok(Vec::new().into());
    }
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(here) = find(c, &text, &delimiter, at) {
        found.push(here);
        if found.len() as i64 == count {
            break;
        }
        at = here + delimiter.len();
    }
    let whole = text.len();
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if found.len() < wanted {
        return Ok(text.into());
    }
    Ok(match count > 0 {
        true => slice(text, 0..found[wanted - 1]),
        false => slice(text, found[found.len() - wanted] + delimiter.len()..whole),
    })
}

fn cut<'v>(c: &mut Call<'_, 'v>, what: &[u8], text: usize, ends: (bool, bool)) -> Answer<'v> {
    let text = c.text(text);
    if what.is_empty() {
        return Ok(text.into());
    }
    let (mut start, mut end) = (0, text.len());
    while ends.0 && text[start..end].starts_with(what) {
        start += what.len();
    }
    while ends.1 && text[start..end].ends_with(what) {
        end -= what.len();
    }
    Ok(slice(text, start..end))
}

fn trimmed<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let ends = match c.site.extra {
        Extra::Ends(start, end) => (start, end),
        _ => (true, true),
    };
    if c.len() == 1 {
        return cut(c, b" ", 0, ends);
    }
    let what = c.text(0);
    cut(c, &what, 1, ends)
}

fn ltrim<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    cut(c, b" ", 0, (true, false))
}

fn rtrim<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    cut(c, b" ", 0, (false, true))
}

/// Position, in characters counted from 1, of `wanted` at or behind character `from`: where the weights
/// begin with its weights, so that `ss` is in `ß`, and an accent, which has none, everywhere.
fn position(c: &Call<'_, '_>, text: &[u8], wanted: &[u8], from: i128) -> i64 {
    let collation = c.collation();
    let chars = collation.char_count(text) as i128;
    if from < 1 || from > chars + 1 {
        return 0;
    }
    if wanted.is_empty() {
        return from as i64;
    }
    let charset = collation.charset();
    let mut at = collation.prefix(text, (from - 1) as usize).len();
    let mut number = from as i64;
    if let Some(place) = collation.find_plain(&text[at..], wanted) {
        return place.map_or(0, |bytes| number + bytes as i64);
    }
    while at < text.len() {
        if collation.begins_with(&text[at..], wanted) {
            return number;
        }
        at += charset.first_char(&text[at..]).1.max(1);
        number += 1;
    }
    0
}

fn locate<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let from = if c.len() > 2 { c.integer(2) } else { 1 };
    let (wanted, text) = (c.text(0), c.text(1));
    Ok(position(c, &text, &wanted, from).into())
}

fn instr<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (text, wanted) = (c.text(0), c.text(1));
    Ok(position(c, &text, &wanted, 1).into())
}

/// The text first: where it is NULL, nobody asks what is cut off.
fn trim<'v>(site: &'v CallSite, row: &Row<'v>, env: &mut dyn Environment) -> Answer<'v> {
    let mut args = [NULL, NULL];
    let args = &mut args[..site.arguments.len().min(2)];
    for (place, argument) in args.iter_mut().zip(&site.arguments).rev() {
        *place = eval(argument, row, env)?;
        if place.get().is_null() {
            return Ok(NULL);
        }
    }
    trimmed(&mut Call { args, site, env })
}

/// The arguments behind the one that is equal are not computed.
fn field<'v>(site: &'v CallSite, row: &Row<'v>, env: &mut dyn Environment) -> Answer<'v> {
    let Some((first, others)) = site.arguments.split_first() else { return Ok(0i64.into()) };
    let sought = eval(first, row, env)?;
    let Some(whole) = whole_number(&sought.get()) else {
        return field_among((1, None), sought, site, row, env);
    };
    for (n, argument) in (1..).zip(others) {
        let other = match argument {
            // Most are: there is nothing to evaluate.
            Expr::Const(value) => whole_number(&value.datum()),
            _ => None,
        };
        let other = match other {
            Some(other) => other,
            None => {
                let value = eval(argument, row, env)?;
                match whole_number(&value.get()) {
                    Some(other) => other,
                    None => return field_among((n, Some(value)), sought, site, row, env),
                }
            }
        };
        if other == whole {
            return Ok((n as i64).into());
        }
    }
    Ok(0i64.into())
}

/// FIELD of any values: its arguments from one on, whose value may be there already.
fn field_among<'v>(
    (from, mut there): (usize, Option<Value<'v>>),
    sought: Value<'v>,
    site: &'v CallSite,
    row: &Row<'v>,
    env: &mut dyn Environment,
) -> Answer<'v> {
    let doubles = compares_doubles(site);
    // Of integers alone MySQL compares the bits.
    let bits = site.types.iter().all(|ty| ty.kind.is_int());
    let mut args = vec![NULL; site.arguments.len()];
    args[0] = sought;
    let mut c = Call { args: &mut args, site, env };
    let as_compared = |c: &mut Call<'_, 'v>, n: usize| {
        if doubles && !c.is_null(n) {
            c.args[n] = Value::Datum(Datum::Double(c.double(n)));
        }
        if let Datum::UInt(v) = c.datum(n)
            && bits
        {
            c.args[n] = Value::Datum(Datum::Int(v as i64));
        }
    };
    as_compared(&mut c, 0);
    if c.is_null(0) {
        return Ok(0i64.into());
    }
    for n in from..site.arguments.len() {
        c.args[n] = match there.take() {
            Some(value) => value,
            None => eval(&site.arguments[n], row, c.env)?,
        };
        as_compared(&mut c, n);
        if value::equals(&c.datum(0), &c.datum(n), c.collation()) == Some(true) {
            return Ok((n as i64).into());
        }
    }
    Ok(0i64.into())
}

/// Whether FIELD compares its arguments as doubles.
fn compares_doubles(site: &CallSite) -> bool {
    let exact = |t: &ColumnType| t.kind.is_int() || t.kind == Kind::Decimal;
    !site.types.iter().all(is_stringy) && !site.types.iter().all(exact)
}

/// An integer that is equal to another one whatever they are compared as: a double holds it.
fn whole_number(datum: &Datum<'_>) -> Option<i64> {
    const MOST: u64 = 1 << f64::MANTISSA_DIGITS;
    match *datum {
        Datum::Int(v) if v.unsigned_abs() <= MOST => Some(v),
        Datum::UInt(v) if v <= MOST => Some(v as i64),
        _ => None,
    }
}
