//! Ranges of an index part that keeps only the first characters of its column.
//!
//! 1. Every row that the column's range accepts has its key in the ranges made here; others may, too,
//! and the filter refuses them. 2. Where a character has one weight, cutting both sides keeps equal and
//! not-less, so both bounds are cut and become inclusive. 3. Elsewhere (0900_ai_ci: 'ss' = 'ß', and an
//! accent has no weight) a cut string's weights are the first of the whole one's, but nobody knows how
//! many: a row at or above `v` has a key above `v` or one of `v`'s weights cut off somewhere, and a row
//! at or below `v` has a key not above `v`'s whole one. 4. Where spaces pad besides (unicode_520_ci), the
//! whole part is read.

use super::{Encoder, KeyRange, Limit, bound, whole};
use crate::{Environment, SqlError};
use expr::Row;
use planner::plan::KeyRangeExpr;
use value::collation::Cut;
use value::{KeyPart, KeySpec};

/// Cut keys that are looked up one by one; beyond them a range is read.
const CUT_KEYS_MAX: usize = 64;

/// Adds the ranges that `range` of the column comes to under `before`, the key of the parts before it.
///
/// # Errors
/// Those of evaluating the bounds.
pub fn add(
    encoder: &Encoder<'_>,
    part: usize,
    range: &KeyRangeExpr,
    before: &[u8],
    row: &Row<'_>,
    env: &mut dyn Environment,
    found: &mut Vec<KeyRange>,
) -> Result<(), SqlError> {
    let column = encoder.spec.parts[part].column;
    let ty = &encoder.types[column];
    let by_char = match ty.collation.cut() {
        Cut::Keeps => true,
        Cut::FewerWeights => false,
        Cut::Anything => {
            found.push(whole(before));
            return Ok(());
        }
    };
    let mut parts = encoder.spec.parts.clone();
    if !by_char {
        parts[part] = KeyPart::whole(column);
    }
    let spec = KeySpec::new(parts);
    let encoder = Encoder { spec: &spec, types: encoder.types };
    let mut limit = |side| bound(&encoder, part, side, before, row, env);
    let (low, high) = (limit(range.low.as_ref())?, limit(range.high.as_ref())?);
    let (Some(low), Some(high)) = (low, high) else { return Ok(()) };
    let (first, last) = whole(before);
    let high = high.map_or(last, |limit| Limit { inclusive: true, ..limit }.into_high());
    let Some(mut low) = low else {
        found.push((first, high));
        return Ok(());
    };
    low.inclusive = true;
    if !by_char {
        let start = before.len() + usize::from(ty.nullable);
        let mut cut: Vec<_> = value::key::fewer_weights(&low.key, start, CUT_KEYS_MAX).collect();
        if cut.len() == CUT_KEYS_MAX {
            // The longest of them is where the range begins.
            low.key = cut.pop().unwrap_or(low.key);
        }
        found.extend(cut.iter().map(|key| whole(key)));
    }
    found.push((low.into_low(), high));
    Ok(())
}
