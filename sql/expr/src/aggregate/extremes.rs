//! MIN, MAX, ANY_VALUE.
//!
//! 1. The members of ENUM and SET compare as text. 2. Of values that compare as equal the first one stays.

use super::{Accumulator, Aggregate, AggregateCall, Nulls, aggregate};
use crate::SqlError;
use crate::build::{Derive, widths};
use crate::tree::OwnedDatum;
use std::cmp::Ordering;
use value::types::NOT_FIXED;
use value::{ColumnType, Datum, Kind};

/// MIN.
pub static MIN: Aggregate = Aggregate {
    counts_repeats: false,
    ..aggregate("min", (1, 1), extreme_type, |_| start(Ordering::Less), "the least value")
};
/// MAX.
pub static MAX: Aggregate = Aggregate {
    counts_repeats: false,
    ..aggregate("max", (1, 1), extreme_type, |_| start(Ordering::Greater), "the greatest value")
};
/// ANY_VALUE, and columns that are not grouped where ONLY_FULL_GROUP_BY is off or they depend on the keys.
pub static ANY_VALUE: Aggregate = Aggregate {
    nulls: Nulls::Own,
    counts_repeats: false,
    over_windows: false,
    ..aggregate(
        "any_value",
        (1, 1),
        any_type,
        |_| Accumulator::First(None),
        "the value of any row of the group: the first one",
    )
};

pub(super) static AGGREGATES: &[&Aggregate] = &[&MIN, &MAX, &ANY_VALUE];

fn any_type(d: &mut Derive<'_>) -> Result<ColumnType, SqlError> {
    let ty = ColumnType { zerofill: false, ..d.ty(0) };
    Ok(match ty.kind {
        kind if kind.is_large() => large(ty),
        kind if kind.is_string() => ColumnType { decimals: NOT_FIXED, ..ty },
        Kind::Decimal => ColumnType { unsigned: false, ..ty },
        Kind::Float | Kind::Double if ty.decimals >= NOT_FIXED => {
            ColumnType { length: widths::DOUBLE_CHARS, ..ty }
        }
        _ => ty,
    })
}

fn extreme_type(d: &mut Derive<'_>) -> Result<ColumnType, SqlError> {
    let ty = ColumnType { nullable: true, zerofill: false, ..d.ty(0) };
    Ok(match ty.kind.has_members() {
        true => ColumnType {
            kind: Kind::Char,
            length: widths::chars(&ty),
            decimals: NOT_FIXED,
            members: None,
            ..ty
        },
        false if ty.kind.is_large() => large(ty),
        false if ty.kind.is_string() => ColumnType { decimals: NOT_FIXED, ..ty },
        false if ty.kind == Kind::Double => ColumnType { length: widths::chars(&ty), ..ty },
        false => ty,
    })
}

/// MySQL multiplies the bytes of TEXT by those of a character once more.
fn large(ty: ColumnType) -> ColumnType {
    let length = ty.length.saturating_mul(ty.collation.bytes_per_char_max());
    ColumnType { length, decimals: NOT_FIXED, ..ty }
}

fn start(wanted: Ordering) -> Accumulator {
    Accumulator::Extreme(Extreme { wanted, kept: OwnedDatum::Null })
}

/// The least or greatest value so far.
#[derive(Debug)]
pub struct Extreme {
    /// How a value compares with the kept one when it takes its place.
    wanted: Ordering,
    kept: OwnedDatum,
}

impl Extreme {
    /// How many bytes more are kept.
    #[inline]
    pub(super) fn add(&mut self, call: &AggregateCall, value: &Datum<'_>) -> usize {
        let order = match (*value, &self.kept) {
            (Datum::Int(new), OwnedDatum::Int(kept)) => Some(new.cmp(kept)),
            (Datum::UInt(new), OwnedDatum::UInt(kept)) => Some(new.cmp(kept)),
            (Datum::Enum(..) | Datum::Set(..), _) => return self.add_member(call, value),
            (new, kept) => value::compare(&new, &kept.datum(), call.collation),
        };
        if order.is_some_and(|order| order != self.wanted) {
            return 0;
        }
        match (*value, &mut self.kept) {
            (Datum::Bytes(new), OwnedDatum::Bytes(kept)) => {
                let grown = new.len().saturating_sub(kept.capacity());
                kept.clear();
                kept.extend_from_slice(new);
                grown
            }
            (new, kept) => {
                *kept = OwnedDatum::of(&new);
                new.as_stored_bytes().map_or(0, <[u8]>::len)
            }
        }
    }

    #[cold]
    fn add_member(&mut self, call: &AggregateCall, value: &Datum<'_>) -> usize {
        let text = crate::text(value);
        self.add(call, &Datum::Bytes(&text))
    }

    pub(super) fn result(&self) -> OwnedDatum {
        self.kept.clone()
    }
}
