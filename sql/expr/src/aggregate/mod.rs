//! The registry of aggregate functions: one entry per function with its arity, result type, null rule,
//! accumulator and one line of text.
//!
//! Reading order: this file (what an entry is, what a call is), [`accumulate`] (what is kept of a group),
//! `numbers`, `bits`, `extremes`, `texts`, `documents` (the functions by theme), [`vectors`] (many rows at once).
//!
//! 1. An accumulator sees values only: whoever runs a call evaluates its arguments, leaves out what
//! DISTINCT and the null rule leave out, and makes the keys of ORDER BY. 2. COUNT, SUM, AVG, MIN and MAX of
//! numbers allocate nothing per row.

pub mod accumulate;
mod bits;
mod documents;
mod extremes;
mod numbers;
mod texts;
pub mod vectors;

pub use accumulate::Accumulator;
pub use extremes::{ANY_VALUE, MAX, MIN};
pub use numbers::{AVG, COUNT, SUM};

use crate::build::Settings;
use crate::functions::{self, DeriveType};
use crate::tree::{Expr, SortKey, Typed};
use crate::{Environment, SqlError};
use value::{Collation, ColumnType, Datum};

/// What becomes of a row in which an argument is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// It is left out.
    Skip,
    /// The function sees it.
    Own,
}

/// A registry entry.
pub struct Aggregate {
    /// Name in lower case, as EXPLAIN prints it.
    pub name: &'static str,
    /// Least and greatest number of arguments.
    pub arity: (usize, usize),
    /// Result type.
    pub derive: DeriveType,
    /// What becomes of NULL.
    pub nulls: Nulls,
    /// DISTINCT changes the result: it does not for the extremes of a set.
    pub counts_repeats: bool,
    /// Groups are brought together by sorting.
    pub wants_sorted: bool,
    /// It may stand over a window.
    pub over_windows: bool,
    /// The accumulator of a group without rows.
    pub start: fn(&AggregateCall) -> Accumulator,
    /// What it does.
    pub doc: &'static str,
}

impl PartialEq for Aggregate {
    fn eq(&self, other: &Aggregate) -> bool {
        std::ptr::eq(self, other)
    }
}

impl std::fmt::Debug for Aggregate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// One aggregate of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateCall {
    /// The registry's entry.
    pub function: &'static Aggregate,
    /// DISTINCT; NULLs are left out as each function does.
    pub distinct: bool,
    /// Arguments: none for `COUNT(*)`, several for `COUNT(DISTINCT a, b)`, GROUP_CONCAT (joined) and
    /// JSON_OBJECTAGG (two).
    pub arguments: Vec<Typed>,
    /// ORDER BY inside GROUP_CONCAT.
    pub order_by: Vec<SortKey>,
    /// SEPARATOR of GROUP_CONCAT, in the result's character set.
    pub separator: Vec<u8>,
    /// Type of the result.
    pub ty: ColumnType,
    /// How MIN and MAX compare text; the character set of GROUP_CONCAT.
    pub collation: Collation,
    /// The session's settings when the call was bound.
    pub settings: Settings,
}

impl AggregateCall {
    /// Calls `f` for each of its expressions.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.arguments.iter_mut().for_each(|a| f(&mut a.expr));
        self.order_by.iter_mut().for_each(|k| f(&mut k.value.expr));
    }

    /// Whether equal values count once, and that makes a difference.
    pub fn counts_distinct(&self) -> bool {
        self.distinct && self.function.counts_repeats
    }

    /// Whether groups are brought together by sorting, as MySQL does it: they then come in the order of
    /// their keys.
    pub fn wants_sorted(&self) -> bool {
        self.function.wants_sorted || self.counts_distinct()
    }

    /// The accumulator of a group without rows.
    pub fn start(&self) -> Accumulator {
        (self.function.start)(self)
    }

    /// The first argument's value as a double. A column of TEXT or BLOB does not say what it is not.
    fn double(&self, value: &Datum<'_>, env: &mut dyn Environment) -> f64 {
        match self.is_large_column() {
            true => value::compare::to_double(value),
            false => functions::double_of(value, env),
        }
    }

    fn is_large_column(&self) -> bool {
        let large = |a: &Typed| a.ty.kind.is_large() && matches!(a.expr, Expr::Column(_));
        self.arguments.first().is_some_and(large)
    }

    /// Type of the first argument; that of a constant where there is none.
    fn first(&self) -> ColumnType {
        self.arguments.first().map_or(ColumnType::of(value::Kind::BigInt), |a| a.ty)
    }
}

/// An entry that leaves NULLs out, may stand over windows and is gathered in a table of groups.
const fn aggregate(
    name: &'static str,
    arity: (usize, usize),
    derive: DeriveType,
    start: fn(&AggregateCall) -> Accumulator,
    doc: &'static str,
) -> Aggregate {
    Aggregate {
        name,
        arity,
        derive,
        nulls: Nulls::Skip,
        counts_repeats: true,
        wants_sorted: false,
        over_windows: true,
        start,
        doc,
    }
}

/// Every entry, by theme.
static THEMES: &[&[&Aggregate]] = &[
    numbers::AGGREGATES,
    extremes::AGGREGATES,
    bits::AGGREGATES,
    texts::AGGREGATES,
    documents::AGGREGATES,
];

/// Every entry.
pub fn all() -> impl Iterator<Item = &'static Aggregate> {
    THEMES.iter().flat_map(|theme| theme.iter().copied())
}

/// The entry of a syntax tree's aggregate.
///
/// # Errors
/// 1235 for ST_COLLECT.
pub fn of_kind(kind: parser::ast::AggregateKind) -> Result<&'static Aggregate, SqlError> {
    use parser::ast::AggregateKind as K;
    Ok(match kind {
        K::Count => &numbers::COUNT,
        K::Sum => &numbers::SUM,
        K::Avg => &numbers::AVG,
        K::StddevPop => &numbers::STD,
        K::StddevSamp => &numbers::STDDEV_SAMP,
        K::VarPop => &numbers::VARIANCE,
        K::VarSamp => &numbers::VAR_SAMP,
        K::Min => &extremes::MIN,
        K::Max => &extremes::MAX,
        K::BitAnd => &bits::BIT_AND,
        K::BitOr => &bits::BIT_OR,
        K::BitXor => &bits::BIT_XOR,
        K::GroupConcat => &texts::GROUP_CONCAT,
        K::JsonArrayAgg => &documents::JSON_ARRAYAGG,
        K::JsonObjectAgg => &documents::JSON_OBJECTAGG,
        K::StCollect => return Err(SqlError::unsupported("ST_COLLECT")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_and_of_one_function_each() {
        let mut seen = std::collections::HashSet::new();
        for f in all() {
            assert!(seen.insert(f.name), "{} twice", f.name);
            assert_eq!(f.name, f.name.to_ascii_lowercase());
            assert!(f.arity.0 <= f.arity.1 && !f.doc.is_empty(), "{}", f.name);
        }
    }
}
