//! Sums, differences and products of two vectors.
//!
//! Numbers are computed in 128 bits; who calls has made sure that they fit ([`super`], rule 2).

use super::{Form, Shape};
use value::row::gather::{Numbers, Vector};

/// Numbers as wide ones.
pub(super) trait Exact: Copy {
    fn wide(self) -> i128;
}

impl Exact for i64 {
    #[inline]
    fn wide(self) -> i128 {
        self.into()
    }
}

impl Exact for i128 {
    #[inline]
    fn wide(self) -> i128 {
        self
    }
}

pub(super) fn arithmetic(
    a: &Vector,
    b: &Vector,
    of_exact: impl Fn(i128, i128) -> i128,
    of_doubles: impl Fn(f64, f64) -> f64,
    out: &mut Vector,
) -> Option<()> {
    match (&a.numbers, &b.numbers, &mut out.numbers) {
        (Numbers::Doubles(a), Numbers::Doubles(b), Numbers::Doubles(out)) => {
            out.clear();
            out.extend(a.iter().zip(b).map(|(a, b)| of_doubles(*a, *b)));
            Some(())
        }
        (a, b, _) => exact(a, b, of_exact, out),
    }
}

pub(super) fn exact(
    a: &Numbers,
    b: &Numbers,
    f: impl Fn(i128, i128) -> i128,
    out: &mut Vector,
) -> Option<()> {
    let out = &mut out.numbers;
    match (a, b) {
        (Numbers::Narrow(a), Numbers::Narrow(b)) => pairs(a, b, f, out),
        (Numbers::Narrow(a), Numbers::Wide(b)) => pairs(a, b, f, out),
        (Numbers::Wide(a), Numbers::Narrow(b)) => pairs(a, b, f, out),
        (Numbers::Wide(a), Numbers::Wide(b)) => pairs(a, b, f, out),
        _ => return None,
    }
    Some(())
}

#[inline]
fn pairs<A: Exact, B: Exact>(a: &[A], b: &[B], f: impl Fn(i128, i128) -> i128, out: &mut Numbers) {
    let values = a.iter().zip(b).map(|(a, b)| f(a.wide(), b.wide()));
    match out {
        Numbers::Narrow(out) => {
            out.clear();
            out.extend(values.map(|v| v as i64));
        }
        Numbers::Wide(out) => {
            out.clear();
            out.extend(values);
        }
        Numbers::Doubles(_) => {}
    }
}

/// The greatest magnitude; that of doubles, which need no check, is 0.
pub(super) fn greatest(numbers: &Numbers) -> i128 {
    match numbers {
        Numbers::Narrow(all) => all.iter().map(|v| v.unsigned_abs()).max().unwrap_or(0).into(),
        Numbers::Wide(all) => all.iter().map(|v| v.saturating_abs()).max().unwrap_or(0),
        Numbers::Doubles(_) => 0,
    }
}

/// Whether every result is a value of its type.
pub(super) fn fits(vector: &Vector, shape: Shape) -> bool {
    match (&vector.numbers, shape.form) {
        (Numbers::Doubles(all), _) => all.iter().all(|v| v.is_finite()),
        (Numbers::Narrow(all), Form::UInt) => all.iter().all(|v| *v >= 0),
        (Numbers::Wide(all), Form::UInt) => all.iter().all(|v| u64::try_from(*v).is_ok()),
        (Numbers::Wide(all), Form::Int) => all.iter().all(|v| i64::try_from(*v).is_ok()),
        _ => true,
    }
}
