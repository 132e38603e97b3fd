//! Arithmetic with MySQL's result types.
//!
//! Invariants
//! 1. NULL on either side gives NULL; so does a zero divisor (the session adds warning 1365).
//! 2. A double or a string makes the result a double; else a decimal makes it a decimal; else it is
//!    BIGINT, unsigned as soon as one operand is (for `%` and unary minus: see there).
//! 3. Nothing wraps: a result outside its type is an error.

use crate::compare::{Exact, exact, to_double};
use crate::{Datum, Decimal, number};

/// Digits that `/` adds behind the point (div_precision_increment's default).
pub const DIV_SCALE_ADD: u8 = 4;

/// Why an operation has no result. The session adds the expression's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithError {
    /// 1690: `BIGINT value is out of range`.
    BigIntOutOfRange,
    /// 1690: `BIGINT UNSIGNED value is out of range`.
    BigIntUnsignedOutOfRange,
    /// 1690: `DOUBLE value is out of range`.
    DoubleOutOfRange,
    /// 1690: `DECIMAL value is out of range`.
    DecimalOutOfRange,
}

impl std::fmt::Display for ArithError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self {
            ArithError::BigIntOutOfRange => "BIGINT",
            ArithError::BigIntUnsignedOutOfRange => "BIGINT UNSIGNED",
            ArithError::DoubleOutOfRange => "DOUBLE",
            ArithError::DecimalOutOfRange => "DECIMAL",
        };
        write!(f, "{kind} value is out of range")
    }
}

impl std::error::Error for ArithError {}

/// What an operation gives.
pub type ArithResult = Result<Datum<'static>, ArithError>;

/// Rule 2: the kind of arithmetic two operands need.
enum Operands {
    Null,
    /// Both integers; whether the result is unsigned.
    Ints(i128, i128, bool),
    Decimals(Decimal, Decimal),
    Doubles(f64, f64),
}

#[inline]
fn operands(a: &Datum<'_>, b: &Datum<'_>) -> Operands {
    match (a, b) {
        (Datum::Null, _) | (_, Datum::Null) => return Operands::Null,
        (Datum::Decimal(x), Datum::Decimal(y)) => return Operands::Decimals(*x, *y),
        (Datum::Int(x), Datum::Decimal(y)) => return Operands::Decimals((*x).into(), *y),
        _ => {}
    }
    match (exact(a), exact(b)) {
        (Some(Exact::Int(x)), Some(Exact::Int(y))) => {
            Operands::Ints(x, y, is_unsigned(a) || is_unsigned(b))
        }
        (Some(x), Some(y)) => Operands::Decimals(x.decimal(), y.decimal()),
        _ => Operands::Doubles(signed_double(a), signed_double(b)),
    }
}

/// As [`to_double`]; a negative zero keeps its sign, which MySQL shows.
#[must_use]
pub fn signed_double(d: &Datum<'_>) -> f64 {
    match *d {
        Datum::Double(v) => v,
        ref other => to_double(other),
    }
}

fn is_unsigned(d: &Datum<'_>) -> bool {
    matches!(d, Datum::UInt(_) | Datum::Year(_) | Datum::Bits(..))
}

fn int(v: i128, unsigned: bool) -> ArithResult {
    if unsigned {
        u64::try_from(v).map(Datum::UInt).map_err(|_| ArithError::BigIntUnsignedOutOfRange)
    } else {
        i64::try_from(v).map(Datum::Int).map_err(|_| ArithError::BigIntOutOfRange)
    }
}

fn double(v: f64) -> ArithResult {
    if v.is_finite() { Ok(Datum::Double(v)) } else { Err(ArithError::DoubleOutOfRange) }
}

fn decimal(v: Option<Decimal>) -> ArithResult {
    v.map(Datum::Decimal).ok_or(ArithError::DecimalOutOfRange)
}

/// The result of two signed integers, the usual operands, without 128 bits; `None`: there are others, or what `op` has no result for (an
/// overflow, a divisor of zero) goes the general way, which knows its error.
#[inline(always)]
fn short(a: &Datum<'_>, b: &Datum<'_>, op: fn(i64, i64) -> Option<i64>) -> Option<Datum<'static>> {
    match (a, b) {
        (Datum::Int(x), Datum::Int(y)) => op(*x, *y).map(Datum::Int),
        _ => None,
    }
}

/// `a + b`; NULL when either is.
///
/// # Errors
/// The result is outside its type.
#[inline]
pub fn add(a: Datum<'_>, b: Datum<'_>) -> ArithResult {
    short(&a, &b, i64::checked_add).map_or_else(|| add_any(&a, &b), Ok)
}

fn add_any(a: &Datum<'_>, b: &Datum<'_>) -> ArithResult {
    match operands(a, b) {
        Operands::Null => Ok(Datum::Null),
        Operands::Ints(x, y, unsigned) => int(x + y, unsigned),
        Operands::Decimals(x, y) => decimal(x.add(&y)),
        Operands::Doubles(x, y) => double(x + y),
    }
}

/// `a - b`; NULL when either is.
///
/// # Errors
/// The result is outside its type; with an unsigned operand that is anything below zero.
#[inline]
pub fn sub(a: Datum<'_>, b: Datum<'_>) -> ArithResult {
    short(&a, &b, i64::checked_sub).map_or_else(|| sub_any(&a, &b), Ok)
}

fn sub_any(a: &Datum<'_>, b: &Datum<'_>) -> ArithResult {
    match operands(a, b) {
        Operands::Null => Ok(Datum::Null),
        Operands::Ints(x, y, unsigned) => int(x - y, unsigned),
        Operands::Decimals(x, y) => decimal(x.sub(&y)),
        Operands::Doubles(x, y) => double(x - y),
    }
}

/// `a - b` under NO_UNSIGNED_SUBTRACTION: a whole result is signed whatever the operands are.
///
/// # Errors
/// The result is outside its type.
pub fn sub_signed(a: Datum<'_>, b: Datum<'_>) -> ArithResult {
    match operands(&a, &b) {
        Operands::Ints(x, y, _) => int(x - y, false),
        _ => sub(a, b),
    }
}

/// `a * b`; NULL when either is.
///
/// # Errors
/// The result is outside its type.
#[inline]
pub fn mul(a: Datum<'_>, b: Datum<'_>) -> ArithResult {
    short(&a, &b, i64::checked_mul).map_or_else(|| mul_any(&a, &b), Ok)
}

fn mul_any(a: &Datum<'_>, b: &Datum<'_>) -> ArithResult {
    match operands(a, b) {
        Operands::Null => Ok(Datum::Null),
        // Two 64-bit factors always fit i128: |i64::MIN| * u64::MAX < 2^127.
        Operands::Ints(x, y, unsigned) => match x.checked_mul(y) {
            Some(v) => int(v, unsigned),
            None => int(i128::MAX, unsigned),
        },
        Operands::Decimals(x, y) => decimal(x.mul(&y)),
        Operands::Doubles(x, y) => double(x * y),
    }
}

/// `a / b`: a decimal with [`DIV_SCALE_ADD`] more digits than `a`, or a double.
///
/// # Errors
/// The result is outside its type.
pub fn div(a: Datum<'_>, b: Datum<'_>) -> ArithResult {
    div_with(a, b, DIV_SCALE_ADD)
}

/// As [`div`], with `increment` more digits: `@@div_precision_increment`.
///
/// # Errors
/// The result is outside its type.
pub fn div_with(a: Datum<'_>, b: Datum<'_>, increment: u8) -> ArithResult {
    let (x, y) = match operands(&a, &b) {
        Operands::Null => return Ok(Datum::Null),
        Operands::Doubles(_, 0.0) => return Ok(Datum::Null),
        Operands::Doubles(x, y) => return double(x / y),
        Operands::Ints(x, y, _) => (Decimal::from_i128(x, 0), Decimal::from_i128(y, 0)),
        Operands::Decimals(x, y) => (x, y),
    };
    if y.is_zero() {
        return Ok(Datum::Null);
    }
    decimal(x.div_with(&y, increment))
}

/// `a DIV b`: the integer part of the quotient.
///
/// # Errors
/// The result is outside BIGINT.
#[inline]
pub fn int_div(a: Datum<'_>, b: Datum<'_>) -> ArithResult {
    short(&a, &b, i64::checked_div).map_or_else(|| int_div_any(&a, &b), Ok)
}

fn int_div_any(a: &Datum<'_>, b: &Datum<'_>) -> ArithResult {
    let unsigned = is_unsigned(a) || is_unsigned(b);
    match operands(a, b) {
        Operands::Null | Operands::Ints(_, 0, _) => Ok(Datum::Null),
        Operands::Ints(x, y, unsigned) => int(x / y, unsigned),
        Operands::Doubles(_, 0.0) => Ok(Datum::Null),
        Operands::Decimals(_, y) if y.is_zero() => Ok(Datum::Null),
        Operands::Decimals(x, y) => {
            let quotient = x.int_div(&y).and_then(|q| q.trunc_to_i128());
            int(quotient.unwrap_or(i128::MAX), unsigned)
        }
        Operands::Doubles(x, y) => {
            let q = (x / y).trunc();
            if q.abs() < 1e30 { int(q as i128, unsigned) } else { int(i128::MAX, unsigned) }
        }
    }
}

/// `a % b`: the sign, and whether it is unsigned, are those of `a`.
///
/// # Errors
/// None so far: the remainder is never larger than an operand.
#[inline]
pub fn rem(a: Datum<'_>, b: Datum<'_>) -> ArithResult {
    short(&a, &b, i64::checked_rem).map_or_else(|| rem_any(&a, &b), Ok)
}

fn rem_any(a: &Datum<'_>, b: &Datum<'_>) -> ArithResult {
    match operands(a, b) {
        Operands::Null | Operands::Ints(_, 0, _) => Ok(Datum::Null),
        Operands::Ints(x, y, _) => int(x % y, is_unsigned(a)),
        Operands::Doubles(_, 0.0) => Ok(Datum::Null),
        Operands::Decimals(_, y) if y.is_zero() => Ok(Datum::Null),
        Operands::Decimals(x, y) => decimal(x.rem(&y)),
        Operands::Doubles(x, y) => double(x % y),
    }
}

/// `-a`: an unsigned integer becomes signed.
///
/// # Errors
/// The result is outside its type.
pub fn neg(a: Datum<'_>) -> ArithResult {
    match a {
        Datum::Null => Ok(Datum::Null),
        Datum::Double(v) => Ok(Datum::Double(-v)),
        Datum::Bytes(s) => Ok(Datum::Double(-number::double_of_text(s).0)),
        _ => match exact(&a) {
            Some(Exact::Int(v)) => int(-v, false),
            Some(Exact::Decimal(v)) => Ok(Datum::Decimal(v.neg())),
            None => Ok(Datum::Double(-to_double(&a))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::to_text;
    use Datum::{Bytes, Double, Int, Null, UInt};

    fn show(r: ArithResult) -> String {
        match r {
            Ok(d) => to_text(&d),
            Err(e) => e.to_string(),
        }
    }

    fn dec(unscaled: i128, scale: u8) -> Datum<'static> {
        Datum::Decimal(Decimal::from_i128(unscaled, scale))
    }

    #[test]
    fn signed_integers_have_the_results_of_the_general_way() {
        type Way = fn(&Datum<'_>, &Datum<'_>) -> ArithResult;
        type Short = fn(Datum<'static>, Datum<'static>) -> ArithResult;
        let ways: [(Short, Way); 5] = [
            (add, add_any),
            (sub, sub_any),
            (mul, mul_any),
            (rem, rem_any),
            (int_div, int_div_any),
        ];
        let edges = [i64::MIN, i64::MIN + 1, -7, -1, 0, 1, 2, 7, i64::MAX - 1, i64::MAX];
        for (a, b) in edges.iter().flat_map(|a| edges.iter().map(move |b| (Int(*a), Int(*b)))) {
            for (short, general) in ways {
                assert_eq!(show(short(a, b)), show(general(&a, &b)), "{a:?}, {b:?}");
            }
        }
    }

    #[test]
    fn integers_never_wrap() {
        assert_eq!(add(Int(1), Int(2)), Ok(Int(3)));
        assert_eq!(add(UInt(1), Int(-1)), Ok(UInt(0)));
        assert_eq!(show(add(Int(i64::MAX), Int(1))), "BIGINT value is out of range");
        assert_eq!(add(Int(i64::MAX), UInt(1)), Ok(UInt(1 << 63)));
        assert_eq!(show(sub(UInt(0), Int(1))), "BIGINT UNSIGNED value is out of range");
        assert_eq!(mul(Int(i64::MIN), UInt(0)), Ok(UInt(0)));
        assert_eq!(
            show(mul(UInt(u64::MAX), UInt(u64::MAX))),
            "BIGINT UNSIGNED value is out of range"
        );
        assert_eq!(
            show(mul(Int(i64::MIN), UInt(u64::MAX))),
            "BIGINT UNSIGNED value is out of range"
        );
        assert_eq!(show(int_div(Int(i64::MIN), Int(-1))), "BIGINT value is out of range");
        assert_eq!(rem(Int(i64::MIN), Int(-1)), Ok(Int(0)));
        assert_eq!(rem(Int(-7), UInt(3)), Ok(Int(-1)));
        assert_eq!(rem(UInt(7), Int(-3)), Ok(UInt(1)));
        assert_eq!(show(neg(Int(i64::MIN))), "BIGINT value is out of range");
        assert_eq!(neg(UInt(1 << 63)), Ok(Int(i64::MIN)));
        assert_eq!(show(neg(UInt((1 << 63) + 1))), "BIGINT value is out of range");
    }

    #[test]
    fn division_gives_a_decimal_with_four_more_digits() {
        for (a, b, want) in [
            (Int(1), Int(3), "0.3333"),
            (Int(2), Int(3), "0.6667"),
            (Int(-2), Int(3), "-0.6667"),
            (Int(7), Int(0), "NULL"),
            (dec(100, 2), Int(3), "0.333333"),
            (Int(1), dec(3, 1), "3.3333"),
            (Int(1), dec(1, 30), "1000000000000000000000000000000.0000"),
            (dec(1, 30), Int(2), "0.000000000000000000000000000001"),
            (Double(1.0), Int(4), "0.25"),
            (Double(1.0), Int(0), "NULL"),
            (Bytes(b"9"), Int(2), "4.5"),
            (Null, Int(2), "NULL"),
            (UInt(u64::MAX), Int(1), "18446744073709551615.0000"),
        ] {
            assert_eq!(show(div(a, b)), want, "{a:?} / {b:?}");
        }
    }

    #[test]
    fn decimals_and_doubles() {
        assert_eq!(show(add(dec(15, 1), Int(1))), "2.5");
        assert_eq!(show(sub(dec(150, 2), dec(5, 1))), "1.00");
        assert_eq!(show(mul(dec(15, 1), dec(25, 2))), "0.375");
        assert_eq!(show(mul(dec(15, 20), dec(1, 11))), "0.000000000000000000000000000002");
        assert_eq!(show(rem(dec(75, 1), Int(2))), "1.5");
        assert_eq!(show(int_div(dec(75, 1), Int(2))), "3");
        assert_eq!(
            show(mul(Datum::Decimal(Decimal::largest(65, 0)), Int(10))),
            "DECIMAL value is out of range"
        );
        assert_eq!(show(mul(Double(f64::MAX), Int(2))), "DOUBLE value is out of range");
        assert_eq!(show(add(Bytes(b"1.5x"), Int(1))), "2.5");
        assert_eq!(show(neg(Bytes(b"5"))), "-5");
    }
}
