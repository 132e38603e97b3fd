//! Which share of a table's rows a condition lets pass, as far as histograms know.
//!
//! 1. Only comparisons of a column with constants are known, and what AND, OR and NOT make of them; for the rest
//! the optimiser guesses. 2. A constant that is no value of the column's type says nothing.

use crate::logical::Source;
use crate::physical::Leaves;
use crate::stats::Statistics;
use catalog::Histogram;
use expr::OwnedDatum;
use expr::tree::{Column, Comparison, Expr, Truth};
use std::sync::Arc;
use value::{ColumnType, ConvertMode, KeyPart, KeySpec, TimeZone};

/// No condition lets less pass.
const SHARE_MIN: f64 = 1e-4;
/// Characters of a text that a histogram keeps.
const TEXT_CHARS: usize = 42;

/// The share; `None` when no histogram knows.
pub(crate) fn known_share(
    statistics: &dyn Statistics,
    leaves: &Leaves,
    condition: &Expr,
) -> Option<f64> {
    let share = |e: &Expr| known_share(statistics, leaves, e);
    let known = match condition {
        Expr::And(a, b) => share(a)? * share(b)?,
        Expr::Or(a, b) => {
            let (a, b) = (share(a)?, share(b)?);
            a + b - a * b
        }
        Expr::Compare(op, a, b, _) => {
            let (op, column, constant) = match (&**a, &**b) {
                (Expr::Column(c), Expr::Const(v)) => (*op, c, v),
                (Expr::Const(v), Expr::Column(c)) => (op.flipped(), c, v),
                _ => return None,
            };
            let (histogram, ty) = histogram(statistics, leaves, *column)?;
            compared(&histogram, op, &key_of(constant, &ty)?)
        }
        Expr::In(value, list, _) => {
            let Expr::Column(column) = &**value else { return None };
            let (histogram, ty) = histogram(statistics, leaves, *column)?;
            let equal = list.iter().map(|e| match e {
                Expr::Const(v) => Some(histogram.equal(&key_of(v, &ty)?)),
                _ => None,
            });
            equal.sum::<Option<f64>>()?
        }
        Expr::Is(value, Truth::Null, negated) => {
            let Expr::Column(column) = &**value else { return None };
            let (histogram, _) = histogram(statistics, leaves, *column)?;
            if *negated { histogram.not_null() } else { histogram.nulls }
        }
        _ => return None,
    };
    Some(known.clamp(SHARE_MIN, 1.0))
}

fn compared(histogram: &Histogram, op: Comparison, key: &[u8]) -> f64 {
    match op {
        Comparison::Eq | Comparison::NullSafeEq => histogram.equal(key),
        Comparison::Ne => histogram.not_null() - histogram.equal(key),
        Comparison::Lt => histogram.below(key, false),
        Comparison::Le => histogram.below(key, true),
        Comparison::Gt => histogram.not_null() - histogram.below(key, true),
        Comparison::Ge => histogram.not_null() - histogram.below(key, false),
    }
}

fn histogram(
    statistics: &dyn Statistics,
    leaves: &Leaves,
    column: Column,
) -> Option<(Arc<Histogram>, ColumnType)> {
    if column.depth > 0 {
        return None;
    }
    let leaf = leaves.list.get(usize::from(column.leaf))?;
    let Source::Table(table) = &leaf.source else { return None };
    statistics.histogram(*table, usize::from(column.column))
}

/// The key of a constant as the column would hold it.
fn key_of(constant: &OwnedDatum, ty: &ColumnType) -> Option<Vec<u8>> {
    let (zone, mut scratch, mut key) = (TimeZone::utc(), Vec::new(), Vec::new());
    let mode = ConvertMode::new(true, &zone);
    let text = constant.datum();
    let cut = match text {
        value::Datum::Bytes(b) => value::Datum::Bytes(ty.collation.prefix(b, TEXT_CHARS)),
        other => other,
    };
    let value = value::coerce(cut, None, ty, &mode, &mut scratch).ok()?.value;
    KeySpec::new(vec![KeyPart::whole(0)]).encode(&[*ty], &[value], &mut key).ok()?;
    Some(key)
}
