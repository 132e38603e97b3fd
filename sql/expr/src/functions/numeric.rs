//! Numeric functions.

use super::call::{Answer, Call, NULL};
use super::moments::{self, MomentForm};
use super::{Function, MANY, function};
use crate::build::{Derive, is_stringy, widths};
use crate::eval::Value;
use crate::tree::CallSite;
use crate::{SqlError, WarningLevel};
use std::cmp::Ordering;
use value::time::DateRules;
use value::{ColumnType, DateTime, Datum, Decimal, Kind};

pub static FUNCTIONS: &[Function] = &[
    function("abs", (1, 1), abs_type, abs, "absolute value"),
    function("sign", (1, 1), long_type, sign, "-1, 0 or 1"),
    function("ceil", (1, 1), whole_type, ceil, "the least integer that is not smaller"),
    function("ceiling", (1, 1), whole_type, ceil, "the least integer that is not smaller"),
    function("floor", (1, 1), whole_type, floor, "the greatest integer that is not larger"),
    function("round", (1, 2), round_type, round, "rounded to so many digits behind the point"),
    function("truncate", (2, 2), truncate_type, truncate, "cut to so many digits behind the point"),
    function("pow", (2, 2), maybe_double, pow, "the first to the power of the second"),
    function("power", (2, 2), maybe_double, pow, "the first to the power of the second"),
    function("sqrt", (1, 1), maybe_double, sqrt, "square root"),
    function("exp", (1, 1), maybe_double, exp, "e to that power"),
    function("ln", (1, 1), maybe_double, ln, "natural logarithm"),
    function(
        "log",
        (1, 2),
        maybe_double,
        log,
        "natural logarithm, or the second's logarithm to the base of the first",
    ),
    function("log2", (1, 1), maybe_double, log2, "logarithm to the base 2"),
    function("log10", (1, 1), maybe_double, log10, "logarithm to the base 10"),
    function("sin", (1, 1), maybe_double, sin, "sine"),
    function("cos", (1, 1), maybe_double, cos, "cosine"),
    function("tan", (1, 1), maybe_double, tan, "tangent"),
    function("cot", (1, 1), maybe_double, cot, "cotangent"),
    function("asin", (1, 1), maybe_double, asin, "arc sine"),
    function("acos", (1, 1), maybe_double, acos, "arc cosine"),
    function("atan", (1, 2), maybe_double, atan, "arc tangent, of a quotient with two arguments"),
    function("atan2", (1, 2), maybe_double, atan, "arc tangent of a quotient"),
    function("degrees", (1, 1), double_type, degrees, "radians as degrees"),
    function("radians", (1, 1), double_type, radians, "degrees as radians"),
    function("pi", (0, 0), pi_type, pi, "the number pi"),
    function(
        "rand",
        (0, 1),
        double_type,
        rand,
        "a number from 0 to 1; a constant seed starts a sequence",
    )
    .sees_null()
    .volatile(),
    function("crc32", (1, 1), crc_type, crc32, "zlib's CRC-32 of the bytes"),
    function("bit_count", (1, 1), long_type, bit_count, "how many bits are set"),
    function("greatest", (2, MANY), extreme_type, greatest, "the greatest argument"),
    function("least", (2, MANY), extreme_type, least, "the least argument"),
    function(
        "interval",
        (2, MANY),
        interval_type,
        interval,
        "how many of the other arguments are not greater than the first",
    )
    .sees_null(),
];

type Derived = Result<ColumnType, SqlError>;

fn abs_type(d: &mut Derive<'_>) -> Derived {
    let ty = d.ty(0);
    Ok(match ty.kind {
        kind if kind.is_int() => {
            ColumnType { kind: Kind::BigInt, length: widths::int_width(&ty), zerofill: false, ..ty }
        }
        Kind::Decimal => ty,
        Kind::Bit => ColumnType { unsigned: true, ..d.int(ty.length) },
        Kind::Year => ColumnType { unsigned: true, ..d.int(4) },
        _ => ColumnType { decimals: crate::build::value_digits(&d.args[0]), ..d.double() },
    })
}

fn long_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.int(21))
}

fn double_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.double())
}

fn maybe_double(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { nullable: true, ..d.double() })
}

fn pi_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { length: 8, decimals: 6, ..d.double() })
}

fn crc_type(d: &mut Derive<'_>) -> Derived {
    Ok(d.uint(10))
}

fn whole_type(d: &mut Derive<'_>) -> Derived {
    let ty = d.ty(0);
    Ok(match ty.kind {
        kind if kind.is_int() || kind == Kind::Bit || kind == Kind::Year => {
            ColumnType { unsigned: ty.unsigned, ..d.int(21) }
        }
        Kind::Decimal => {
            let whole = widths::precision(&ty) - widths::scale(&ty);
            match whole {
                0..18 => d.int(21),
                _ => ColumnType { nullable: ty.nullable, ..widths::decimal(whole + 1, 0, false) },
            }
        }
        _ => d.double(),
    })
}

fn round_type(d: &mut Derive<'_>) -> Derived {
    rounded(d, true)
}

fn truncate_type(d: &mut Derive<'_>) -> Derived {
    rounded(d, false)
}

fn rounded(d: &mut Derive<'_>, carries: bool) -> Derived {
    let ty = d.ty(0);
    let nullable = d.nullable();
    let digits = if d.args.len() > 1 { d.constant_int(1) } else { Some(0) };
    let unknown = digits.is_none() && d.args.get(1).is_some_and(|a| a.constant().is_none());
    let digits = digits.unwrap_or(0);
    Ok(match ty.kind {
        kind if kind.is_int() || kind == Kind::Bit || kind == Kind::Year => {
            ColumnType { unsigned: ty.unsigned, nullable, ..d.int(21) }
        }
        Kind::Decimal => {
            let (precision, scale) = (widths::precision(&ty), widths::scale(&ty));
            let kept = if unknown { scale } else { digits.clamp(0, i64::from(scale)) as u32 };
            let whole = precision - scale;
            let carry = u32::from(carries && kept < scale);
            ColumnType { nullable, ..widths::decimal((whole + carry).max(1), kept, false) }
        }
        // A double shows the digits that it has.
        _ => d.double(),
    })
}

fn extreme_type(d: &mut Derive<'_>) -> Derived {
    let written = d.args.clone();
    let ty = d.common(0..written.len())?;
    if moments_of(written.iter().map(|a| &a.ty)).is_some() {
        *d.args = written;
    }
    Ok(ty)
}

/// As what dates and other values are compared, which are text together: dates, or moments if one of them is one.
pub fn moments_of<'t>(types: impl Iterator<Item = &'t ColumnType> + Clone) -> Option<Kind> {
    let dated = |ty: &ColumnType| ty.kind.has_date();
    let moment = |ty: &ColumnType| dated(ty) || ty.kind == Kind::Time;
    let json = types.clone().any(|t| t.kind == Kind::Json);
    if json || !types.clone().any(dated) || types.clone().all(moment) {
        return None;
    }
    let days = types.into_iter().filter(|t| dated(t)).all(|t| t.kind == Kind::Date);
    Some(if days { Kind::Date } else { Kind::DateTime })
}

fn interval_type(d: &mut Derive<'_>) -> Derived {
    Ok(ColumnType { nullable: false, ..d.int(2) })
}

/// Error 1690 for the call, or the finite result.
fn finite<'v>(c: &Call<'_, 'v>, v: f64) -> Answer<'v> {
    match v.is_finite() {
        true => Ok(Value::Datum(Datum::Double(v))),
        false => Err(c.out_of_range("DOUBLE")),
    }
}

impl Call<'_, '_> {
    /// Error 1690, quoting the call with its arguments' values.
    pub(super) fn out_of_range(&self, kind: &str) -> SqlError {
        SqlError::OutOfRange(kind.to_string(), String::new())
    }
}

fn abs<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(match c.datum(0) {
        Datum::Int(i64::MIN) => return Err(c.out_of_range("BIGINT")),
        Datum::Int(v) => v.abs().into(),
        Datum::UInt(v) => v.into(),
        Datum::Decimal(v) => v.abs().into(),
        Datum::Bits(v, _) => v.into(),
        Datum::Year(v) => u64::from(v).into(),
        _ => Value::Datum(Datum::Double(c.double(0).abs())),
    })
}

fn sign<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if let Datum::Decimal(v) = c.datum(0) {
        return Ok(if v.is_zero() { 0 } else { 1 - 2 * i64::from(v.is_negative()) }.into());
    }
    let v = c.double(0);
    Ok((i64::from(v > 0.0) - i64::from(v < 0.0)).into())
}

fn whole<'v>(
    c: &mut Call<'_, 'v>,
    exact: fn(&Decimal) -> Option<Decimal>,
    double: fn(f64) -> f64,
) -> Answer<'v> {
    match c.datum(0) {
        Datum::Int(_) | Datum::UInt(_) => Ok(c.take(0)),
        Datum::Bits(v, _) => Ok(v.into()),
        Datum::Decimal(v) => {
            let v = exact(&v).ok_or_else(|| c.out_of_range("DECIMAL"))?;
            Ok(match (c.site.ty.kind.is_int(), v.trunc_to_i128()) {
                (true, Some(n)) => match i64::try_from(n) {
                    Ok(n) => n.into(),
                    Err(_) => (n as u64).into(),
                },
                _ => v.into(),
            })
        }
        _ => {
            let v = double(c.double(0));
            Ok(match c.site.ty.kind.is_int() {
                true => (v as i64).into(),
                false => Value::Datum(Datum::Double(v)),
            })
        }
    }
}

fn ceil<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    whole(c, Decimal::ceil, f64::ceil)
}

fn floor<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    whole(c, Decimal::floor, f64::floor)
}

/// A double rounded to digits behind the point; halves to even, as the hardware rounds.
pub(super) fn round_double(v: f64, digits: i64) -> f64 {
    let power = 10f64.powi(digits.unsigned_abs().min(308) as i32);
    let rounded = if digits < 0 {
        if power.is_infinite() { 0.0 } else { (v / power).round_ties_even() * power }
    } else {
        let scaled = v * power;
        if scaled.is_finite() { scaled.round_ties_even() / power } else { v }
    };
    if rounded.is_finite() { rounded } else { v }
}

fn truncate_double(v: f64, digits: i64) -> f64 {
    let power = 10f64.powi(digits.unsigned_abs().min(308) as i32);
    if digits < 0 {
        return (v / power).trunc() * power;
    }
    let scaled = v * power;
    if scaled.is_finite() { scaled.trunc() / power } else { v }
}

fn to_digits<'v>(c: &mut Call<'_, 'v>, truncates: bool) -> Answer<'v> {
    let digits =
        if c.len() > 1 { c.integer(1).clamp(i64::MIN.into(), i64::MAX.into()) as i64 } else { 0 };
    match c.datum(0) {
        Datum::Int(_) | Datum::UInt(_) if digits >= 0 => Ok(c.take(0)),
        Datum::Bits(v, _) if digits >= 0 => Ok(v.into()),
        Datum::Int(_) | Datum::UInt(_) | Datum::Bits(..) => {
            let v = c.integer(0);
            if digits < -19 {
                return Ok(c.site_int(0));
            }
            let unit = 10i128.pow(digits.unsigned_abs() as u32);
            let cut = v - v % unit;
            let up = !truncates && (v % unit).abs() * 2 >= unit;
            let v = if up { cut + unit * v.signum() } else { cut };
            let fits = if c.site.ty.unsigned {
                u64::try_from(v).is_ok()
            } else {
                i64::try_from(v).is_ok()
            };
            match fits {
                true => Ok(c.site_int(v)),
                false => Err(c.out_of_range(if c.site.ty.unsigned {
                    "BIGINT UNSIGNED"
                } else {
                    "BIGINT"
                })),
            }
        }
        Datum::Decimal(v) => {
            // Digits that are not there are not added.
            let scale = digits.clamp(-65, i64::from(v.scale())) as i32;
            let v = match truncates {
                true => v.truncate(scale),
                false => v.round(scale).ok_or_else(|| c.out_of_range("DECIMAL"))?,
            };
            Ok(v.into())
        }
        _ => {
            let v = c.double(0);
            let v = if truncates { truncate_double(v, digits) } else { round_double(v, digits) };
            Ok(Value::Datum(Datum::Double(v)))
        }
    }
}

impl Call<'_, '_> {
    fn site_int<'v>(&self, v: i128) -> Value<'v> {
        if self.site.ty.unsigned { (v as u64).into() } else { (v as i64).into() }
    }
}

fn round<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    to_digits(c, false)
}

fn truncate<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    to_digits(c, true)
}

fn pow<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let (a, b) = (c.double(0), c.double(1));
    finite(c, a.powf(b))
}

fn sqrt<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let v = c.double(0);
    if v < 0.0 { Ok(NULL) } else { finite(c, v.sqrt()) }
}

fn exp<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let v = c.double(0);
    finite(c, v.exp())
}

fn bad_logarithm<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    c.env.warn(WarningLevel::Warning, 3020, "Invalid argument for logarithm".into());
    Ok(NULL)
}

fn logarithm<'v>(c: &mut Call<'_, 'v>, of: fn(f64) -> f64) -> Answer<'v> {
    let v = c.double(0);
    if v <= 0.0 { bad_logarithm(c) } else { finite(c, of(v)) }
}

fn ln<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    logarithm(c, f64::ln)
}

fn log<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.len() == 1 {
        return logarithm(c, f64::ln);
    }
    let (base, v) = (c.double(0), c.double(1));
    if base <= 0.0 || base == 1.0 || v <= 0.0 {
        return bad_logarithm(c);
    }
    finite(c, v.ln() / base.ln())
}

fn log2<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    logarithm(c, |v| v.ln() / std::f64::consts::LN_2)
}

fn log10<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    logarithm(c, f64::log10)
}

macro_rules! of_double {
    ($($name:ident $of:expr),* $(,)?) => {
        $(fn $name<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
            let of: fn(f64) -> f64 = $of;
            let v = c.double(0);
            finite(c, of(v))
        })*
    };
}

of_double!(
    sin f64::sin,
    cos f64::cos,
    tan f64::tan,
    cot |v| 1.0 / v.tan(),
    degrees |v| v * (180.0 / std::f64::consts::PI),
    radians |v| v * (std::f64::consts::PI / 180.0),
);

fn asin<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let v = c.double(0);
    if v.abs() > 1.0 { Ok(NULL) } else { finite(c, v.asin()) }
}

fn acos<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let v = c.double(0);
    if v.abs() > 1.0 { Ok(NULL) } else { finite(c, v.acos()) }
}

fn atan<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let v = c.double(0);
    let v = if c.len() > 1 { v.atan2(c.double(1)) } else { v.atan() };
    finite(c, v)
}

fn pi<'v>(_: &mut Call<'_, 'v>) -> Answer<'v> {
    Ok(Value::Datum(Datum::Double(std::f64::consts::PI)))
}

/// MySQL's generator of RAND(): two multiplicative congruences modulo a 30-bit number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Random {
    a: u64,
    b: u64,
}

impl Random {
    const MODULUS: u64 = 0x3FFF_FFFF;

    /// The sequence of RAND(seed).
    pub fn seeded(seed: u32) -> Random {
        let of = |v: u32| u64::from(v) % Random::MODULUS;
        Random {
            a: of(seed.wrapping_mul(0x10001).wrapping_add(55_555_555)),
            b: of(seed.wrapping_mul(0x1000_0001)),
        }
    }

    /// The next number, from 0 up to but without 1.
    pub fn draw(&mut self) -> f64 {
        self.a = (self.a * 3 + self.b) % Random::MODULUS;
        self.b = (self.a + self.b + 33) % Random::MODULUS;
        self.a as f64 / Random::MODULUS as f64
    }
}

fn rand<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.len() == 0 {
        return Ok(Value::Datum(Datum::Double(c.env.random())));
    }
    let seed = if c.is_null(0) { 0 } else { c.bits(0) as u32 };
    let constant = c.site.arguments.iter().all(crate::Expr::is_row_constant);
    if !constant {
        return Ok(Value::Datum(Datum::Double(Random::seeded(seed).draw())));
    }
    // A sequence per call and statement, found by where the call lies.
    let place = std::ptr::from_ref(c.site) as usize;
    let next = c.env.seeded_random(place, seed);
    Ok(Value::Datum(Datum::Double(next)))
}

fn crc32<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    let text = c.text(0);
    Ok(crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, &text).into())
}

fn bit_count<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.ty(0).kind.is_binary_string()
        && !super::operators::is_literal(c, 0)
        && let Datum::Bytes(bytes) = c.datum(0)
    {
        return Ok(bytes.iter().map(|b| i64::from(b.count_ones())).sum::<i64>().into());
    }
    Ok(i64::from(super::operators::number_bits(c, 0).count_ones()).into())
}

/// Dates and texts: all are read as dates, and the chosen one is shown as the dates among them would be.
fn extreme_moment<'v>(c: &mut Call<'_, 'v>, kind: Kind, wanted: Ordering) -> Answer<'v> {
    let mut best: Option<DateTime> = None;
    for n in 0..c.len() {
        let is_zero = match c.datum(n) {
            Datum::Int(v) => v == 0,
            Datum::Decimal(v) => v.is_zero(),
            _ => false,
        };
        let read = if is_zero { None } else { moments::argument(c, n, MomentForm::MOMENT) };
        let moment = match (read, kind) {
            (Some(moment), _) => moment,
            (None, Kind::Date) if is_unknown(c.site, n) => return Ok(NULL),
            // Beside dates what is no date is never chosen, beside moments it is the zero date.
            (None, Kind::Date) => continue,
            (None, _) => DateTime::ZERO,
        };
        if best.is_none_or(|best| moment.packed().cmp(&best.packed()) == wanted) {
            best = Some(moment);
        }
    }
    if best.is_some_and(|b| b.packed() == DateTime::ZERO.packed()) && is_stringy(&c.site.ty) {
        return extreme_text(c, wanted);
    }
    let digits = |n: usize, ty: &ColumnType| match c.datum(n) {
        _ if !is_stringy(ty) => ty.decimals.min(6),
        Datum::Bytes(text) if c.site.arguments[n].is_row_constant() => {
            value::time::parse::date_time(text, DateRules::default()).map_or(6, |t| t.value.fsp())
        }
        _ => 6,
    };
    let fsp = c.site.types.iter().enumerate().map(|(n, ty)| digits(n, ty)).max().unwrap_or(0);
    let best = best.unwrap_or(DateTime::ZERO).with_fsp(fsp);
    Ok(match kind {
        Kind::Date if c.site.ty.kind == Kind::Date => Value::Datum(Datum::Date(best.date())),
        Kind::Date => best.date().to_string().into(),
        _ if c.site.ty.kind == Kind::DateTime => Value::Datum(Datum::DateTime(best)),
        _ => best.to_string().into(),
    })
}

/// Whether an argument that is no date makes all unknown: text that IF, CASE or NULLIF chooses and that may be NULL.
fn is_unknown(site: &CallSite, n: usize) -> bool {
    let ty = &site.types[n];
    is_stringy(ty) && ty.nullable && crate::build::is_chosen(&site.arguments[n])
}

/// Whether a value takes the place of the best one so far: of equal ones GREATEST takes the last, LEAST the first.
fn is_better(order: Ordering, wanted: Ordering) -> bool {
    order == wanted || wanted == Ordering::Greater && order == Ordering::Equal
}

/// The argument whose text is least or greatest.
fn extreme_text<'v>(c: &mut Call<'_, 'v>, wanted: Ordering) -> Answer<'v> {
    let collation = c.collation();
    let mut best = c.text(0).into_owned();
    for n in 1..c.len() {
        let text = c.text(n);
        if is_better(collation.compare(&text, &best), wanted) {
            best = text.into_owned();
        }
    }
    Ok(best.into())
}

fn extreme<'v>(c: &mut Call<'_, 'v>, wanted: Ordering) -> Answer<'v> {
    if let Some(kind) = moments_of(c.site.types.iter()) {
        return extreme_moment(c, kind, wanted);
    }
    let collation = c.collation();
    let mut best = 0;
    for n in 1..c.len() {
        let order = value::compare(&c.datum(n), &c.datum(best), collation);
        if order.is_some_and(|order| is_better(order, wanted)) {
            best = n;
        }
    }
    Ok(c.take(best))
}

fn greatest<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    extreme(c, Ordering::Greater)
}

fn least<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    extreme(c, Ordering::Less)
}

fn interval<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.is_null(0) {
        return Ok((-1i64).into());
    }
    let value = c.double(0);
    let mut count = 0i64;
    for n in 1..c.len() {
        if !c.is_null(n) && c.double(n) > value {
            break;
        }
        count += 1;
    }
    Ok(count.into())
}
