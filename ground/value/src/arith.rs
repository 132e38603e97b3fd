//! Arithmetic with MySQL's result types.

use crate::Datum;

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

/// `a + b`; NULL when either is.
///
/// # Errors
/// The result is outside its type.
pub fn add(a: Datum<'_>, b: Datum<'_>) -> Result<Datum<'static>, ArithError> {
    let _ = (a, b);
    Ok(Datum::Null)
}

/// `a - b`; NULL when either is.
///
/// # Errors
/// The result is outside its type.
pub fn sub(a: Datum<'_>, b: Datum<'_>) -> Result<Datum<'static>, ArithError> {
    let _ = (a, b);
    Ok(Datum::Null)
}

/// `a * b`; NULL when either is.
///
/// # Errors
/// The result is outside its type.
pub fn mul(a: Datum<'_>, b: Datum<'_>) -> Result<Datum<'static>, ArithError> {
    let _ = (a, b);
    Ok(Datum::Null)
}

/// `a / b`; NULL when either is, or when `b` is zero.
///
/// # Errors
/// The result is outside its type.
pub fn div(a: Datum<'_>, b: Datum<'_>) -> Result<Datum<'static>, ArithError> {
    let _ = (a, b);
    Ok(Datum::Null)
}

/// `a DIV b`; NULL when either is, or when `b` is zero.
///
/// # Errors
/// The result is outside its type.
pub fn int_div(a: Datum<'_>, b: Datum<'_>) -> Result<Datum<'static>, ArithError> {
    let _ = (a, b);
    Ok(Datum::Null)
}

/// `a % b`; NULL when either is, or when `b` is zero.
///
/// # Errors
/// The result is outside its type.
pub fn rem(a: Datum<'_>, b: Datum<'_>) -> Result<Datum<'static>, ArithError> {
    let _ = (a, b);
    Ok(Datum::Null)
}

/// `-a`; NULL of NULL.
///
/// # Errors
/// The result is outside its type.
pub fn neg(a: Datum<'_>) -> Result<Datum<'static>, ArithError> {
    let _ = a;
    Ok(Datum::Null)
}
