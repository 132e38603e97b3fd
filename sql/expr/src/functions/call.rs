//! What an implementation sees of its call: arguments as the kinds it wants, the site, the session.
//!
//! 1. `text` and `take` move an argument out: text that lies in the row or in the plan is never copied.
//! 2. Conversions warn as MySQL's do (1292), at most once per argument and row.

use crate::eval::Value;
use crate::tree::{CallSite, Expr};
use crate::{Environment, SqlError, WarningLevel};
use std::borrow::Cow;
use value::number::{self, Rest};
use value::{Collation, ColumnType, Datum, Decimal, Kind};

/// What a function gives.
pub type Answer<'v> = Result<Value<'v>, SqlError>;

/// A running call.
pub struct Call<'c, 'v> {
    /// The arguments' values.
    pub args: &'c mut [Value<'v>],
    /// What was derived when the call was built.
    pub site: &'v CallSite,
    /// The session.
    pub env: &'c mut dyn Environment,
}

/// Results up to this size are made without a look at `max_allowed_packet`.
const SMALL_BYTES: usize = 1024;

/// Room for the text of a number or a time.
pub(super) const SCALAR_BYTES: usize = 32;

/// Behind a result of this size the statement looks whether it was killed.
const LONG_BYTES: usize = 1 << 20;

impl<'v> Call<'_, 'v> {
    /// Number of arguments.
    #[allow(clippy::len_without_is_empty)] // a count of arguments, not a collection
    pub fn len(&self) -> usize {
        self.args.len()
    }

    /// Argument `n`; NULL beyond the last.
    pub fn datum(&self, n: usize) -> Datum<'_> {
        self.args.get(n).map_or(Datum::Null, Value::get)
    }

    /// Whether argument `n` is NULL or missing.
    pub fn is_null(&self, n: usize) -> bool {
        self.datum(n).is_null()
    }

    /// Type of argument `n`.
    pub fn ty(&self, n: usize) -> ColumnType {
        self.site.types.get(n).copied().unwrap_or(ColumnType::of(Kind::VarBinary))
    }

    /// The collation of the call's text.
    pub fn collation(&self) -> Collation {
        self.site.collation
    }

    /// Argument `n`, moved out; NULL stays there.
    pub fn take(&mut self, n: usize) -> Value<'v> {
        self.args.get_mut(n).map_or(NULL, |v| std::mem::replace(v, NULL))
    }

    /// Argument `n` as text, moved out; NULL is empty.
    pub fn text(&mut self, n: usize) -> Cow<'v, [u8]> {
        let ty = self.ty(n);
        text_of(self.take(n), &ty)
    }

    /// Argument `n`; a literal written as bits as the number that it is.
    pub fn number(&self, n: usize) -> Datum<'_> {
        number_of(self.args, self.site, n)
    }

    /// Argument `n` as an integer: exact for integers, rounded for other numbers, the leading integer of
    /// text (then perhaps warning 1292).
    pub fn integer(&mut self, n: usize) -> i128 {
        let value = number_of(self.args, self.site, n);
        integer_of(&value, self.env)
    }

    /// As [`Call::integer`], within BIGINT.
    pub fn int(&mut self, n: usize) -> i64 {
        let v = self.integer(n);
        v.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// As [`Call::integer`], the 64 bits that BIGINT and BIGINT UNSIGNED share.
    pub fn bits(&mut self, n: usize) -> u64 {
        let value = number_of(self.args, self.site, n);
        bits_of(&value, self.env)
    }

    /// Argument `n` as a double; text that is no number warns (1292).
    pub fn double(&mut self, n: usize) -> f64 {
        let value = number_of(self.args, self.site, n);
        double_of(&value, self.env)
    }

    /// Argument `n` as a decimal; text that is no number warns (1292).
    pub fn decimal(&mut self, n: usize) -> Decimal {
        let datum = number_of(self.args, self.site, n);
        let (value, bad) = decimal_of(&datum);
        if bad {
            let text = datum.as_bytes().unwrap_or_default().to_vec();
            incorrect(self.env, "DECIMAL", &text);
        }
        value
    }

    /// The most bytes that a result may have which could get as long as `expected`.
    pub fn bytes_max(&self, expected: usize) -> usize {
        if expected <= SMALL_BYTES {
            return SMALL_BYTES;
        }
        let limit = self.env.system_variable(false, "max_allowed_packet");
        let limit = limit.ok().and_then(|v| v.datum().as_u64()).unwrap_or(u64::MAX);
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    /// Whether a result of that size may be made; warning 1301 says so if not. What cannot get longer than its arguments
    /// a few times over need not ask: whoever calls does ([`Self::bounded`]).
    pub fn fits(&mut self, bytes: usize) -> bool {
        let limit = self.bytes_max(bytes);
        if bytes <= limit {
            return true;
        }
        let name = self.site.function.name;
        let text =
            format!("Result of {name}() was larger than max_allowed_packet ({limit}) - truncated");
        self.env.warn(WarningLevel::Warning, 1301, text);
        false
    }

    /// What the function made, or NULL and warning 1301 if that is too long.
    ///
    /// # Errors
    /// 1317: making it took long, and meanwhile the statement was killed.
    pub fn bounded(&mut self, value: Value<'v>) -> Answer<'v> {
        let bytes = match &value {
            Value::Bytes(text) => text.len(),
            Value::Json(document) => document.len(),
            Value::Datum(_) => return Ok(value),
        };
        if bytes <= SMALL_BYTES {
            return Ok(value);
        }
        if bytes > LONG_BYTES {
            check_killed()?;
        }
        Ok(if self.fits(bytes) { value } else { NULL })
    }

    /// Argument `n` as MySQL prints its items, if it names no column: then its value.
    pub fn written(&self, n: usize, value: String) -> String {
        match self.site.arguments.get(n) {
            Some(argument) if argument.is_row_constant() => {
                crate::print::expression(argument, None)
            }
            _ => value,
        }
    }

    /// Warning 1411: a value the function cannot take.
    pub fn incorrect_value(&mut self, what: &str, value: &[u8], function: &str) {
        let value = String::from_utf8_lossy(value);
        let text = format!("Incorrect {what} value: '{value}' for function {function}");
        self.env.warn(WarningLevel::Warning, 1411, text);
    }
}

/// See [`Call::number`].
fn number_of<'d>(args: &'d [Value<'_>], site: &CallSite, n: usize) -> Datum<'d> {
    let datum = args.get(n).map_or(Datum::Null, Value::get);
    let (Datum::Bytes(bytes), Some(Expr::Const(_)), Some(ty)) =
        (datum, site.arguments.get(n), site.types.get(n))
    else {
        return datum;
    };
    number_of_bits(ty, bytes).map_or(datum, Datum::UInt)
}

/// The number that a constant of bytes is among numbers, if it was written as bits: `x'41'`, `b'1'`.
pub fn number_of_bits(ty: &ColumnType, bytes: &[u8]) -> Option<u64> {
    let written = ty.kind == Kind::VarBinary && ty.decimals == 0;
    (written && bytes.len() <= 8).then(|| bytes.iter().fold(0, |v, b| v << 8 | u64::from(*b)))
}

pub(crate) const NULL: Value<'static> = Value::Datum(Datum::Null);

/// A value as text; NULL is empty. The type says what ZEROFILL and FLOAT need.
pub fn text_of<'v>(value: Value<'v>, ty: &ColumnType) -> Cow<'v, [u8]> {
    match value {
        Value::Datum(Datum::Bytes(bytes)) => Cow::Borrowed(bytes),
        Value::Bytes(bytes) => Cow::Owned(bytes),
        other => {
            let mut out = Vec::with_capacity(SCALAR_BYTES);
            append_text(&other.get(), ty, &mut out);
            Cow::Owned(out)
        }
    }
}

/// Appends a value's text; nothing for NULL.
pub fn append_text(datum: &Datum<'_>, ty: &ColumnType, out: &mut Vec<u8>) {
    match *datum {
        Datum::Null => {}
        Datum::Double(v) if ty.kind == Kind::Float && ty.decimals >= value::types::NOT_FIXED => {
            value::format::append_float_text(v as f32, out);
        }
        // A parameter that is taken for text may be a number.
        Datum::Double(v) if ty.decimals >= value::types::NOT_FIXED || ty.kind.is_string() => {
            value::format::append_double_within(v, value::format::DOUBLE_CHARS_MAX, out);
        }
        Datum::Double(v) => {
            value::format::append_fixed(v, ty.decimals, out);
        }
        Datum::Int(_) | Datum::UInt(_) if ty.zerofill => {
            let start = out.len();
            value::format::append_text(datum, out);
            let width = ty.length as usize;
            while out.len() - start < width {
                out.insert(start, b'0');
            }
        }
        _ => value::format::append_text(datum, out),
    }
}

/// See [`Call::integer`].
pub fn integer_of(value: &Datum<'_>, env: &mut dyn Environment) -> i128 {
    match *value {
        Datum::Int(v) => i128::from(v),
        Datum::UInt(v) | Datum::Bits(v, _) => i128::from(v),
        Datum::Bytes(text) => {
            let (value, clean) = leading_integer(text);
            if !clean {
                incorrect(env, "INTEGER", text);
            }
            value
        }
        ref other => round(other),
    }
}

/// See [`Call::bits`].
pub fn bits_of(value: &Datum<'_>, env: &mut dyn Environment) -> u64 {
    if let Datum::Double(v) = *value {
        // Saturates at the ends of BIGINT.
        return v.round_ties_even() as i64 as u64;
    }
    if let Datum::Decimal(_) = *value {
        let whole = round(value);
        let kept = whole.clamp(i64::MIN.into(), i64::MAX.into());
        if kept != whole {
            incorrect(env, "DECIMAL", ::value::format::to_text(value).as_bytes());
        }
        return kept as i64 as u64;
    }
    match integer_of(value, env) {
        v if v > i128::from(u64::MAX) => u64::MAX,
        v if v < i128::from(i64::MIN) => i64::MIN as u64,
        v => v as u64,
    }
}

/// See [`Call::double`].
pub fn double_of(value: &Datum<'_>, env: &mut dyn Environment) -> f64 {
    let Datum::Bytes(text) = *value else { return value::arith::signed_double(value) };
    let (v, rest) = number::double_of_text(text);
    // Nothing, and nothing but spaces, is zero.
    if rest != Rest::Clean && !text.trim_ascii().is_empty() {
        incorrect(env, "DOUBLE", text);
    }
    v
}

/// The integer at the start of text, and whether that is all of it.
pub fn leading_integer(text: &[u8]) -> (i128, bool) {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let count = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let value = digits[..count]
        .iter()
        .fold(0i128, |v, d| v.saturating_mul(10).saturating_add(i128::from(d - b'0')));
    let clean = count > 0 && digits[count..].iter().all(|b| *b == b' ');
    let value = if negative { -value } else { value };
    let within = value.clamp(i64::MIN.into(), u64::MAX.into());
    (within, clean && within == value)
}

/// A number that is no integer, rounded: decimals half away from zero, doubles half to even.
pub fn round(datum: &Datum<'_>) -> i128 {
    match datum {
        Datum::Null => 0,
        Datum::Decimal(v) => v.round_to_i128().unwrap_or(match v.is_negative() {
            true => i64::MIN.into(),
            false => u64::MAX.into(),
        }),
        Datum::Time(v) => i128::from(v.round(0).to_number()),
        Datum::DateTime(v) => i128::from(v.round(0).unwrap_or(*v).to_number()),
        other => value::compare::to_double(other).round_ties_even() as i128,
    }
}

/// A value as a decimal, and whether it is text that is no number.
pub fn decimal_of(datum: &Datum<'_>) -> (Decimal, bool) {
    match datum {
        Datum::Decimal(v) => (*v, false),
        Datum::Int(v) => (Decimal::from(*v), false),
        Datum::UInt(v) | Datum::Bits(v, _) => (Decimal::from(*v), false),
        Datum::Bytes(text) => {
            let read = Decimal::from_text(text);
            (read.value, read.rest != Rest::Clean)
        }
        Datum::Double(v) => (Decimal::from_f64(*v).0, false),
        other => match value::compare::to_decimal(other) {
            Some(v) => (v, false),
            None => (Decimal::from_text(value::format::to_text(other).as_bytes()).value, false),
        },
    }
}

/// Warning 1292: text that is no number of that kind.
pub fn incorrect(env: &mut dyn Environment, kind: &str, text: &[u8]) {
    const SHOWN_MAX: usize = 128;
    let shown = String::from_utf8_lossy(&text[..text.len().min(SHOWN_MAX)]);
    let text = format!("Truncated incorrect {kind} value: '{shown}'");
    env.warn(WarningLevel::Warning, 1292, text);
}

impl<'v> From<Cow<'v, [u8]>> for Value<'v> {
    fn from(text: Cow<'v, [u8]>) -> Value<'v> {
        match text {
            Cow::Borrowed(bytes) => Value::Datum(Datum::Bytes(bytes)),
            Cow::Owned(bytes) => Value::Bytes(bytes),
        }
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Value::Bytes(bytes)
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::Bytes(text.into_bytes())
    }
}

impl From<i64> for Value<'_> {
    fn from(v: i64) -> Self {
        Value::Datum(Datum::Int(v))
    }
}

impl From<u64> for Value<'_> {
    fn from(v: u64) -> Self {
        Value::Datum(Datum::UInt(v))
    }
}

impl From<bool> for Value<'_> {
    fn from(v: bool) -> Self {
        Value::Datum(Datum::Int(i64::from(v)))
    }
}

impl From<Decimal> for Value<'_> {
    fn from(v: Decimal) -> Self {
        Value::Datum(Datum::Decimal(v))
    }
}

/// A part of text, where it lies if the text does.
pub fn slice<'v>(text: Cow<'v, [u8]>, range: std::ops::Range<usize>) -> Value<'v> {
    match text {
        Cow::Borrowed(bytes) => Value::Datum(Datum::Bytes(&bytes[range])),
        Cow::Owned(mut bytes) => {
            bytes.truncate(range.end);
            bytes.drain(..range.start);
            Value::Bytes(bytes)
        }
    }
}

/// For what goes through a long text, now and then.
///
/// # Errors
/// 1317: the statement was killed.
pub fn check_killed() -> Result<(), SqlError> {
    match sync::with_current(|slot| slot.is_some_and(sync::SessionSlot::killed)) {
        true => Err(SqlError::Storage(base::Error::Killed)),
        false => Ok(()),
    }
}
