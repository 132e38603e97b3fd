//! Bit operators, over numbers and over binary strings of one length.

use super::call::{Answer, Call};
use super::{Function, Shape, function};
use crate::SqlError;
use crate::build::Derive;
use crate::refused::Refused;
use crate::tree::Expr;
use value::{ColumnType, Datum};

pub static FUNCTIONS: &[Function] = &[
    function("|", (2, 2), pair_type, or, "bitwise OR").written(Shape::Infix),
    function("&", (2, 2), pair_type, and, "bitwise AND").written(Shape::Infix),
    function("^", (2, 2), pair_type, xor, "bitwise exclusive OR").written(Shape::Infix),
    function("<<", (2, 2), shift_type, left, "shifted to the left").written(Shape::Infix),
    function(">>", (2, 2), shift_type, right, "shifted to the right").written(Shape::Infix),
    function("~", (1, 1), shift_type, invert, "every bit inverted").written(Shape::Prefix),
];

/// Whether an argument is a hexadecimal or bit literal: a number among numbers.
pub(super) fn is_literal(c: &Call<'_, '_>, n: usize) -> bool {
    matches!(c.site.arguments.get(n), Some(Expr::Const(_))) && c.ty(n).decimals == 0
}

/// A binary string that is no hexadecimal literal.
fn is_bytes(d: &Derive<'_>, n: usize) -> bool {
    let ty = d.ty(n);
    let literal = d.args[n].constant().is_some() && ty.decimals == 0;
    ty.kind.is_binary_string() && !literal && !d.args[n].is_null()
}

fn pair_type(d: &mut Derive<'_>) -> Result<ColumnType, SqlError> {
    let both = d.args.iter().all(|a| a.ty.kind.is_binary_string());
    if both && (is_bytes(d, 0) || is_bytes(d, 1)) {
        let length = d.chars(0).max(d.chars(1));
        let nullable = d.nullable();
        return Ok(ColumnType { nullable, ..d.bytes(length) });
    }
    Ok(d.uint(21))
}

fn shift_type(d: &mut Derive<'_>) -> Result<ColumnType, SqlError> {
    if is_bytes(d, 0) {
        let length = d.chars(0);
        let nullable = d.nullable();
        return Ok(ColumnType { nullable, ..d.bytes(length) });
    }
    Ok(d.uint(21))
}

/// An argument's bits as a number; a hexadecimal literal's are its bytes.
pub(super) fn number_bits(c: &mut Call<'_, '_>, n: usize) -> u64 {
    if is_literal(c, n)
        && let Datum::Bytes(bytes) = c.datum(n)
    {
        return bytes.iter().fold(0, |v, b| v << 8 | u64::from(*b));
    }
    c.bits(n)
}

fn pair<'v>(
    c: &mut Call<'_, 'v>,
    numbers: fn(u64, u64) -> u64,
    bytes: fn(u8, u8) -> u8,
) -> Answer<'v> {
    if !c.site.ty.kind.is_binary_string() {
        let (a, b) = (number_bits(c, 0), number_bits(c, 1));
        return Ok(numbers(a, b).into());
    }
    let (a, b) = (c.text(0), c.text(1));
    if a.len() != b.len() {
        return Err(Refused::UnequalOperands.into());
    }
    Ok(a.iter().zip(b.iter()).map(|(a, b)| bytes(*a, *b)).collect::<Vec<_>>().into())
}

fn or<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    pair(c, |a, b| a | b, |a, b| a | b)
}

fn and<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    pair(c, |a, b| a & b, |a, b| a & b)
}

fn xor<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    pair(c, |a, b| a ^ b, |a, b| a ^ b)
}

/// Bytes shifted by bits, to the left or to the right; zeros come in.
fn shift_bytes(bytes: &[u8], bits: u64, left: bool) -> Vec<u8> {
    let whole = usize::try_from(bits / 8).unwrap_or(usize::MAX);
    let rest = (bits % 8) as u32;
    let at = |n: Option<usize>| n.and_then(|n| bytes.get(n)).copied().unwrap_or(0);
    (0..bytes.len())
        .map(|n| match left {
            true => {
                let near = n.checked_add(whole);
                let (a, b) = (at(near), at(near.and_then(|n| n.checked_add(1))));
                if rest == 0 { a } else { a << rest | b >> (8 - rest) }
            }
            false => {
                let near = n.checked_sub(whole);
                let (a, b) = (at(near), at(near.and_then(|n| n.checked_sub(1))));
                if rest == 0 { a } else { a >> rest | b << (8 - rest) }
            }
        })
        .collect()
}

fn shift<'v>(c: &mut Call<'_, 'v>, to_left: bool) -> Answer<'v> {
    let count = number_bits(c, 1);
    if c.site.ty.kind.is_binary_string() {
        let bytes = c.text(0);
        return Ok(shift_bytes(&bytes, count, to_left).into());
    }
    let v = number_bits(c, 0);
    let count = u32::try_from(count).unwrap_or(64);
    let v = if to_left { v.checked_shl(count) } else { v.checked_shr(count) };
    Ok(v.unwrap_or(0).into())
}

fn left<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    shift(c, true)
}

fn right<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    shift(c, false)
}

fn invert<'v>(c: &mut Call<'_, 'v>) -> Answer<'v> {
    if c.site.ty.kind.is_binary_string() {
        let bytes = c.text(0);
        return Ok(bytes.iter().map(|b| !b).collect::<Vec<_>>().into());
    }
    Ok((!number_bits(c, 0)).into())
}
