//! Comparison of two values of any kinds, by MySQL's rules.
//!
//! Invariants
//! 1. Integers of both signs and decimals compare exactly, whatever their size.
//! 2. As soon as a double or one string takes part, both sides compare as doubles.

use crate::{Collation, Datum, number};
use std::cmp::Ordering;

/// Order of two values; `None` when either is NULL. Two strings compare under `collation`; a string
/// against a number compares as doubles; integers and decimals compare exactly.
#[inline]
#[must_use]
pub fn compare(a: &Datum<'_>, b: &Datum<'_>, collation: Collation) -> Option<Ordering> {
    Some(match (*a, *b) {
        (Datum::Null, _) | (_, Datum::Null) => return None,
        (Datum::Int(x), Datum::Int(y)) => x.cmp(&y),
        (Datum::UInt(x), Datum::UInt(y)) => x.cmp(&y),
        (Datum::Bytes(x), Datum::Bytes(y)) => collation.compare(x, y),
        (x, y) => match (exact(&x), exact(&y)) {
            (Some(x), Some(y)) => compare_exact(x, y),
            _ => to_double(&x).total_cmp(&to_double(&y)),
        },
    })
}

/// SQL `=`: `None` when either side is NULL.
#[inline]
#[must_use]
pub fn equals(a: &Datum<'_>, b: &Datum<'_>, collation: Collation) -> Option<bool> {
    compare(a, b, collation).map(Ordering::is_eq)
}

/// Order for ORDER BY, DISTINCT and tests: NULL first and equal to NULL.
#[must_use]
pub fn sort_order(a: &Datum<'_>, b: &Datum<'_>, collation: Collation) -> Ordering {
    compare(a, b, collation).unwrap_or_else(|| b.is_null().cmp(&a.is_null()))
}

/// SQL truth: `None` for NULL, else whether the value is not zero.
#[must_use]
pub fn truth(d: &Datum<'_>) -> Option<bool> {
    Some(match *d {
        Datum::Null => return None,
        Datum::Int(v) => v != 0,
        Datum::UInt(v) => v != 0,
        Datum::Decimal { unscaled, .. } => unscaled != 0,
        Datum::Double(_) | Datum::Bytes(_) => to_double(d) != 0.0,
    })
}

/// The value as a double; text by its longest numeric prefix, NULL as 0. Never -0, never NaN.
#[must_use]
pub fn to_double(d: &Datum<'_>) -> f64 {
    let v = match *d {
        Datum::Null => 0.0,
        Datum::Int(v) => v as f64,
        Datum::UInt(v) => v as f64,
        Datum::Double(v) => v,
        Datum::Decimal { unscaled, scale } => unscaled as f64 / 10f64.powi(i32::from(scale)),
        Datum::Bytes(s) => number::double_of_text(s).0,
    };
    if v == 0.0 { 0.0 } else { v }
}

/// Integers and decimals as `unscaled / 10^scale`.
#[inline]
pub(crate) fn exact(d: &Datum<'_>) -> Option<(i128, u8)> {
    match *d {
        Datum::Int(v) => Some((i128::from(v), 0)),
        Datum::UInt(v) => Some((i128::from(v), 0)),
        Datum::Decimal { unscaled, scale } => Some((unscaled, scale.min(crate::arith::SCALE_MAX))),
        _ => None,
    }
}

fn compare_exact((x, xs): (i128, u8), (y, ys): (i128, u8)) -> Ordering {
    // Whole and fractional parts apart: scaling the whole number up could overflow.
    let (xd, yd) = (10i128.pow(u32::from(xs)), 10i128.pow(u32::from(ys)));
    let fraction =
        |rest: i128, scale: u8| rest * 10i128.pow(u32::from(crate::arith::SCALE_MAX - scale));
    (x / xd).cmp(&(y / yd)).then_with(|| fraction(x % xd, xs).cmp(&fraction(y % yd, ys)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Datum::{Bytes, Double, Int, Null, UInt};

    #[test]
    fn mixed_kinds_compare_as_mysql_does() {
        let dec = |unscaled, scale| Datum::Decimal { unscaled, scale };
        let less: &[(Datum, Datum)] = &[
            (Int(-1), UInt(0)),
            (Int(-1), UInt(u64::MAX)),
            (Int(i64::MAX), UInt(1 << 63)),
            (dec(15, 1), Int(2)),
            (dec(-15, 1), Int(-1)),
            (dec(-15, 1), dec(-149, 2)),
            (dec(10i128.pow(37), 0), dec(10i128.pow(37) + 1, 0)),
            (Bytes(b"9"), Int(10)),
            (Bytes(b"abc"), Int(1)),
            (Int(1), Double(1.5)),
            (Bytes(b"a"), Bytes(b"B")),
        ];
        for (a, b) in less {
            assert_eq!(compare(a, b, Collation::default()), Some(Ordering::Less), "{a:?} < {b:?}");
            assert_eq!(
                compare(b, a, Collation::default()),
                Some(Ordering::Greater),
                "{b:?} > {a:?}"
            );
        }
        let equal: &[(Datum, Datum)] = &[
            (Int(1), UInt(1)),
            (dec(100, 2), Int(1)),
            (Bytes(b"1.0"), Int(1)),
            (Bytes(b" 12abc"), UInt(12)),
            (Double(-0.0), Int(0)),
            (Bytes(b"A"), Bytes("á".as_bytes())),
        ];
        for (a, b) in equal {
            assert_eq!(equals(a, b, Collation::default()), Some(true), "{a:?} = {b:?}");
        }
        assert_eq!(compare(&Null, &Int(1), Collation::Binary), None);
        assert_eq!(sort_order(&Null, &Int(1), Collation::Binary), Ordering::Less);
        assert_eq!(sort_order(&Null, &Null, Collation::Binary), Ordering::Equal);
    }

    #[test]
    fn truth_is_not_zero() {
        assert_eq!(truth(&Null), None);
        assert_eq!(truth(&Bytes(b"0.5")), Some(true));
        assert_eq!(truth(&Bytes(b"x")), Some(false));
        assert_eq!(truth(&UInt(2)), Some(true));
    }
}
