//! CAST to every type, and text in another character set.

use super::call::{Answer, Call, NULL, append_text, decimal_of, incorrect};
use super::moments;
use super::{Function, Nulls, Purity, Run, Shape, function};
use crate::build::Derive;
use crate::eval::{Value, arithmetic, eval};
use crate::refused::Refused;
use crate::row::Row;
use crate::tree::{Arithmetic, CallSite, Expr};
use crate::{Environment, SqlError, WarningLevel};
use std::borrow::Cow;
use value::number::{self, Rest};
use value::{ColumnType, Datum, Decimal, Kind, Time};

/// CAST: to the type of the call's result.
pub static CAST: Function =
    function("cast", (1, 1), same_type, cast, "the argument as another type").written(Shape::Cast);

/// One of several values that become one type: CASE, IF, COALESCE.
pub static AS_ALIKE: Function =
    function("cast", (1, 1), same_type, cast, "one of several values, as the type of all")
        .written(Shape::Cast);

/// A decimal that is computed, among texts: the zero that it comes to has no digits behind the point.
pub static ZERO_KEPT: Function = Function {
    name: "cast",
    arity: (1, 1),
    nulls: Nulls::Own,
    purity: Purity::Constant,
    shape: Shape::Bare,
    derive: same_type,
    run: Run::Lazy(zero_kept),
    doc: "a decimal whose zero has no digits",
};

/// A decimal that has no digits behind the point if they are zeros.
pub static BARE_WHOLE: Function =
    function("cast", (1, 1), same_type, bare_whole, "a decimal whose zeros have no digits")
        .written(Shape::Bare);

/// A double as text, with as many digits as fit into the text's length.
pub static DOUBLE_WITHIN: Function =
    function("cast", (1, 1), same_type, double_within, "a double as text of so many characters")
        .written(Shape::Bare);

/// Text that nobody asked to convert, in another character set: what that lacks is an error.
pub static AS_CHARSET: Function =
    function("convert", (1, 1), same_type, convert_wholly, "the text in another character set")
        .written(Shape::Cast);

/// A column's CHAR under PAD_CHAR_TO_FULL_LENGTH: with the blanks that were not kept.
pub static PADDED: Function =
    function("rpad", (1, 1), same_type, padded, "CHAR in its full length").written(Shape::Bare);

/// A TIMESTAMP that is no column's, in the session's time zone.
pub static IN_ZONE: Function =
    function("default", (1, 1), same_type, in_zone, "a moment in the session's time zone")
        .written(Shape::Bare);

/// CONVERT ... USING: text in the result's character set.
pub static CONVERT_CHARSET: Function =
    function("convert", (1, 1), same_type, convert, "the text in another character set")
        .written(Shape::Cast);

/// Casts are built, not found by name.
pub static FUNCTIONS: &[Function] = &[];

fn same_type(d: &mut Derive<'_>) -> Result<ColumnType, SqlError> {
    Ok(d.ty(0))
}

fn in_zone<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let Datum::Timestamp(micros, fsp) = c.datum(0) else { return Ok(NULL) };
    let local = match micros {
        0 => Some(value::DateTime::ZERO.with_fsp(fsp)),
        micros => c.env.time_zone().to_local(micros, fsp),
    };
    Ok(local.map_or(NULL, |local| Value::Datum(Datum::DateTime(local))))
}

fn zero_kept<'v>(site: &'v CallSite, row: &Row<'v>, env: &mut dyn Environment) -> Answer<'v> {
    let expr = &site.arguments[0];
    let Expr::Arith(op, a, b) = expr else { return eval(expr, row, env) };
    let (a, b) = (eval(a, row, env)?, eval(b, row, env)?);
    let (x, y) = match op {
        // A quotient's digits are known before it is computed.
        Arithmetic::Div(_) => (a.get(), b.get()),
        _ => (whole_second(a.get()), whole_second(b.get())),
    };
    let result = arithmetic(*op, x, y, expr, row, env)?;
    Ok(Value::Datum(match result {
        Datum::Decimal(v) if v.is_zero() && is_bare(*op, &x, &y, v.scale()) => {
            Datum::Decimal(Decimal::ZERO)
        }
        _ => result,
    }))
}

/// A moment or a time with digits behind the point: the number of a whole second has none.
fn whole_second(v: Datum<'_>) -> Datum<'_> {
    let whole = match v {
        Datum::DateTime(v) if v.fsp() > 0 && v.truncate(0).packed() == v.packed() => {
            Datum::DateTime(v.truncate(0))
        }
        Datum::Time(v) if v.fsp() > 0 && v.truncate(0).micros() == v.micros() => {
            Datum::Time(v.truncate(0))
        }
        v => return v,
    };
    Datum::Decimal(decimal_of(&whole).0)
}

/// Whether a zero has no digits in MySQL: a sum's, if it is one of opposites, and a quotient's, if it is zero in all
/// digits that were computed, nine at a time.
fn is_bare(op: Arithmetic, a: &Datum<'_>, b: &Datum<'_>, scale: u8) -> bool {
    /// Digits of a word of MySQL's decimals.
    const WORD: i32 = 9;
    let (a, b) = (decimal_of(a).0, decimal_of(b).0);
    match op {
        Arithmetic::Add => !a.is_zero(),
        Arithmetic::Div(_) => {
            let words = |digits: i32| (digits + WORD - 1) / WORD;
            let given = WORD * (words(a.scale().into()) + words(b.scale().into()));
            let wanted = i32::from(scale) + i32::from(b.scale());
            let computed = WORD * words(wanted.max(given));
            a.to_f64().abs() * 10_f64.powi(computed) < b.to_f64().abs()
        }
        _ => true,
    }
}

fn bare_whole<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    match c.datum(0) {
        Datum::Decimal(v) if v.truncate(0).compare(&v).is_eq() => {
            Ok(Value::Datum(Datum::Decimal(v.truncate(0))))
        }
        _ => Ok(c.take(0)),
    }
}

fn double_within<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let mut out = Vec::new();
    value::format::append_double_within(c.double(0), c.site.ty.length as usize, &mut out);
    Ok(out.into())
}

fn padded<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    let missing = (c.site.ty.length as usize).saturating_sub(c.collation().char_count(&text));
    let mut padded = text.into_owned();
    padded.resize(padded.len() + missing, b' ');
    Ok(padded.into())
}

fn cast<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let to = c.site.ty;
    match to.kind {
        kind if kind.is_int() => to_int(c, to.unsigned),
        Kind::Decimal => to_decimal(c, &to),
        Kind::Double => Ok(Value::Datum(Datum::Double(c.double(0)))),
        Kind::Float => {
            let v = c.double(0);
            if v.abs() > f64::from(f32::MAX) {
                return Err(c.out_of_range("FLOAT"));
            }
            Ok(Value::Datum(Datum::Double(f64::from(v as f32))))
        }
        Kind::Date => Ok(moments::argument(c, 0, moments::MomentForm::MOMENT)
            .map_or(NULL, |v| Value::Datum(Datum::Date(v.date())))),
        Kind::DateTime | Kind::Timestamp => {
            let wanted = moments::MomentForm { fsp: to.decimals, ..moments::MomentForm::MOMENT };
            let moment = moments::argument(c, 0, wanted);
            Ok(moment.map_or(NULL, |v| Value::Datum(Datum::DateTime(v.with_fsp(to.decimals)))))
        }
        Kind::Time => Ok(moments::time_argument(c, 0, to.decimals)
            .and_then(|v| Time::from_micros(v.micros(), to.decimals))
            .map_or(NULL, |v| Value::Datum(Datum::Time(v)))),
        Kind::Year => to_year(c),
        Kind::Json => super::json::to_json(c),
        _ => to_string(c, &to),
    }
}

fn to_int<'v>(c: &mut Call<'_, 'v>, unsigned: bool) -> Answer<'v> {
    let Datum::Bytes(text) = c.number(0) else {
        let bits = match c.number(0) {
            Datum::Decimal(v) => {
                let whole = v.round_to_i128().unwrap_or(if v.is_negative() {
                    i128::MIN
                } else {
                    i128::MAX
                });
                // What is negative wraps, whatever is asked for.
                let (least, most) = match unsigned && !v.is_negative() {
                    true => (0, i128::from(u64::MAX)),
                    false => (i64::MIN.into(), i64::MAX.into()),
                };
                if whole < least || whole > most {
                    incorrect(c.env, "DECIMAL", v.to_string().as_bytes());
                }
                whole.clamp(least, most) as u64
            }
            Datum::Double(v) => {
                let whole = v.round_ties_even();
                match unsigned {
                    true if whole < 0.0 => whole as i64 as u64,
                    true => whole as u64,
                    false => whole as i64 as u64,
                }
            }
            _ => c.bits(0),
        };
        return Ok(if unsigned { bits.into() } else { (bits as i64).into() });
    };
    let (v, clean) = super::leading_integer(text);
    if !clean {
        let text = text.to_vec();
        incorrect(c.env, "INTEGER", &text);
    }
    if unsigned {
        if v < 0 {
            let text = "Cast to unsigned converted negative integer to its positive complement";
            c.env.warn(WarningLevel::Warning, 1105, text.into());
        }
        return Ok((v as u64).into());
    }
    if v > i128::from(i64::MAX) {
        let text =
            "Cast to signed converted positive out-of-range integer to its negative complement";
        c.env.warn(WarningLevel::Warning, 1105, text.into());
    }
    Ok((v as i64).into())
}

fn to_decimal<'v>(c: &mut Call<'_, 'v>, to: &ColumnType) -> Answer<'v> {
    let (v, bad) = decimal_of(&c.number(0));
    if bad {
        let text = c.datum(0).as_bytes().unwrap_or_default().to_vec();
        let large = c.ty(0).kind.is_large() && matches!(c.site.arguments[0], Expr::Column(_));
        if !large {
            incorrect(c.env, "DECIMAL", &text);
        } else if number::double_of_text(&text).1 == Rest::NoNumber {
            // What MySQL says of columns of TEXT and BLOB.
            let text = "Incorrect DECIMAL value: '0' for column '' at row -1";
            c.env.warn(WarningLevel::Warning, 1366, text.into());
        }
    }
    let (v, beyond) = v.saturated(to.length.min(65) as u8, to.decimals);
    if beyond {
        let name = crate::print::call(c.site, None);
        let text = format!("Out of range value for column '{name}' at row 1");
        c.env.warn(WarningLevel::Warning, 1264, text);
    }
    Ok(v.into())
}

fn to_year<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let v = match c.number(0) {
        Datum::Date(v) => i128::from(v.year()),
        Datum::DateTime(v) => i128::from(v.date().year()),
        Datum::Time(_) => moments::now(c.env, 0).map_or(0, |v| i128::from(v.date().year())),
        Datum::Bytes(text) => {
            let text = text.to_vec();
            return Ok(year_of_text(&text, c.env));
        }
        other => super::round(&other),
    };
    let year = match v {
        0 => 0,
        1..=69 => v + 2000,
        70..=99 => v + 1900,
        1901..=2155 => v,
        _ => {
            incorrect(c.env, "YEAR", v.to_string().as_bytes());
            return Ok(NULL);
        }
    };
    Ok(Value::Datum(Datum::Year(year as u16)))
}

/// Text as a YEAR: its leading digits; zeros are 2000.
fn year_of_text<'v>(text: &[u8], env: &mut dyn Environment) -> Value<'v> {
    let blank = |b: &u8| b.is_ascii_whitespace();
    let spaces = text.iter().take_while(|b| blank(b)).count();
    let signed = usize::from(text.get(spaces) == Some(&b'+'));
    let digits = &text[spaces + signed..];
    let count = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = std::str::from_utf8(&digits[..count]).ok().and_then(|d| d.parse::<u64>().ok());
    let Some(number) = number else {
        let text = format!("Incorrect YEAR value: '{}'", String::from_utf8_lossy(text));
        env.warn(WarningLevel::Warning, 1525, text);
        return NULL;
    };
    let year = match number {
        0 => Some(2000),
        1..=69 => Some(number + 2000),
        70..=99 => Some(number + 1900),
        1901..=2155 => Some(number),
        _ => None,
    };
    if year.is_none() || count < digits.len() {
        incorrect(env, "YEAR", text);
    }
    year.map_or(NULL, |year| Value::Datum(Datum::Year(year as u16)))
}

fn to_string<'v>(c: &mut Call<'_, 'v>, to: &ColumnType) -> Answer<'v> {
    let from = c.ty(0);
    let value = c.take(0);
    let text = match value {
        Value::Datum(Datum::Bytes(_)) | Value::Bytes(_) => super::text_of(value, &from),
        other => {
            let mut out = Vec::new();
            append_text(&other.get(), &from, &mut out);
            out.into()
        }
    };
    if from.kind == Kind::Bit && !to.collation.charset().is_valid(&text) {
        return Ok(of_bytes(c, text, to.collation.charset()));
    }
    let unlimited = to.length == u32::MAX || to.kind.is_large();
    let chars = to.collation.char_count(&text);
    if !unlimited && chars > to.length as usize {
        let kind = if to.collation == value::Collation::Binary { "BINARY" } else { "CHAR" };
        let shown = String::from_utf8_lossy(&text).into_owned();
        let kind = format!("{kind}({})", to.length);
        let text_warning = format!("Truncated incorrect {kind} value: '{shown}'");
        c.env.warn(WarningLevel::Warning, 1292, text_warning);
        let end = to.collation.prefix(&text, to.length as usize).len();
        return Ok(super::call::slice(text, 0..end));
    }
    if to.kind == Kind::Binary && text.len() < to.length as usize {
        if !c.fits(to.length as usize) {
            return Ok(NULL);
        }
        let mut padded = text.into_owned();
        padded.resize(to.length as usize, 0);
        return Ok(padded.into());
    }
    Ok(text.into())
}

fn convert<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (from, to) = (c.ty(0).collation.charset(), c.site.ty.collation.charset());
    let text = c.text(0);
    if from == value::Charset::Binary && to != value::Charset::Binary {
        return Ok(of_bytes(c, text, to));
    }
    let mut out = Vec::new();
    value::charset::convert(&text, from, to, &mut out);
    Ok(out.into())
}

/// Bytes as text: what is no text of the character set is NULL in strict mode, else cut off.
fn of_bytes<'v>(c: &mut Call<'_, 'v>, text: Cow<'v, [u8]>, to: value::Charset) -> Value<'v> {
    let Some(value::charset::Malformed(complaint)) = value::charset::Malformed::find(&text, to)
    else {
        return text.into();
    };
    c.env.warn(WarningLevel::Warning, 1300, complaint);
    let kept = to.valid_len(&text);
    if c.env.strict() { NULL } else { super::call::slice(text, 0..kept) }
}

fn convert_wholly<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (from, to) = (c.ty(0).collation.charset(), c.site.ty.collation.charset());
    let text = c.text(0);
    let mut out = Vec::new();
    let invalid = from == value::Charset::Binary && !to.is_valid(&text);
    if invalid || value::charset::convert(&text, from, to, &mut out).any() {
        return Err(not_convertible(&text, from, to));
    }
    Ok(out.into())
}

/// Error 3854.
pub fn not_convertible(text: &[u8], from: value::Charset, to: value::Charset) -> SqlError {
    /// MySQL shows no more of the text.
    const SHOWN_BYTES: usize = 6;
    let shown: String = text.iter().take(SHOWN_BYTES).fold(String::new(), |shown, b| match b {
        b' '..=b'~' => shown + &char::from(*b).to_string(),
        _ => shown + &format!("\\x{b:02X}"),
    });
    let more = if text.len() > SHOWN_BYTES { "..." } else { "" };
    let (from, to) = (from.name(), to.name());
    Refused::NotConvertible(&format!("{shown}{more}"), from, to).into()
}
