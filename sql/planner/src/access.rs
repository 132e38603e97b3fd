//! Which index and which ranges of it a filter allows.
//!
//! 1. A range may be too wide, never too narrow: the filter is checked again on every row read.
//! 2. Bounds are expressions without columns; they are evaluated when the statement runs, so one
//! plan serves every parameter value. 3. Choice is by rule so far (no statistics): a primary key
//! point, then a full unique key, then the longest equal prefix, a range, else all rows.

use crate::plan::{Access, BoundExpr, KeyRangeExpr};
use catalog::TableDef;
use expr::tree::{Column, Comparison, Expr, OwnedDatum};
use value::Collation;

/// Indexes that hints leave to choose from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexChoice {
    /// FORCE or USE INDEX: only these names.
    pub only: Option<Vec<String>>,
    /// IGNORE INDEX: never these.
    pub never: Vec<String>,
}

impl IndexChoice {
    /// Whether hints leave the index.
    pub(crate) fn allows(&self, name: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|n| value::name::same_name(n, name));
        self.only.as_ref().is_none_or(|only| named(only)) && !named(&self.never)
    }
}

/// Chooses how to find the rows that `filter` may accept.
pub fn choose(def: &TableDef, filter: Option<&Expr>, choice: &IndexChoice) -> Access {
    let Some(filter) = filter else { return Access::All };
    if matches!(filter, Expr::Const(OwnedDatum::Null | OwnedDatum::Int(0))) {
        return Access::Nothing;
    }
    let mut best: Option<(u32, Access)> = None;
    let offset = usize::from(def.clustered().is_none());
    for (position, index) in def
        .indexes
        .iter()
        .enumerate()
        .filter(|(_, i)| !i.attributes.invisible && choice.allows(&i.name))
    {
        let parts: Vec<usize> = index
            .parts
            .iter()
            .take_while(|part| part.prefix_chars.is_none())
            .map(|part| part.column)
            .collect();
        let equal: Vec<Expr> =
            parts.iter().map_while(|column| equal_value(def, filter, *column)).collect();
        let complete = equal.len() == index.parts.len();
        let found = if complete && index.clustered {
            Some((1000, Access::Point(equal)))
        } else {
            // A part that keeps a prefix only may end the used parts; the executor widens its ranges.
            let next = index.parts.get(equal.len());
            let ranges =
                next.and_then(|part| ranges_of(def, filter, part.column)).unwrap_or_default();
            let score = 100 * u32::from(complete && index.unique)
                + 10 * equal.len() as u32
                + 5 * u32::from(!ranges.is_empty());
            let access = Access::Ranges { index: position + offset, equal, ranges };
            (score > 0).then_some((score, access))
        };
        if let Some((score, access)) = found
            && best.as_ref().is_none_or(|(s, _)| score > *s)
        {
            best = Some((score, access));
        }
    }
    best.map_or(Access::All, |(_, access)| access)
}

/// Strings compare by the index's collation only when the comparison uses the same one.
fn usable(def: &TableDef, column: usize, collation: Collation) -> bool {
    let ty = &def.columns[column].ty;
    !ty.kind.is_string() || ty.collation == collation
}

/// `column OP value` with the column on the left, whichever way it was written.
fn column_comparison<'e>(
    def: &TableDef,
    expr: &'e Expr,
    column: usize,
) -> Option<(Comparison, &'e Expr)> {
    let Expr::Compare(op, a, b, collation) = expr else { return None };
    if !usable(def, column, *collation) {
        return None;
    }
    match (a.as_ref(), b.as_ref()) {
        (Expr::Column(c), value) if *c == Column::first(column) && value.is_row_constant() => {
            Some((*op, value))
        }
        (value, Expr::Column(c)) if *c == Column::first(column) && value.is_row_constant() => {
            Some((op.flipped(), value))
        }
        _ => None,
    }
}

/// The value a conjunct of the filter demands for a column.
fn equal_value(def: &TableDef, filter: &Expr, column: usize) -> Option<Expr> {
    match filter {
        Expr::And(a, b) => equal_value(def, a, column).or_else(|| equal_value(def, b, column)),
        _ => match column_comparison(def, filter, column)? {
            (Comparison::Eq, value) => Some(value.clone()),
            _ => None,
        },
    }
}

/// Ranges of a column outside which the filter is never true.
fn ranges_of(def: &TableDef, filter: &Expr, column: usize) -> Option<Vec<KeyRangeExpr>> {
    match filter {
        Expr::And(a, b) => match (ranges_of(def, a, column), ranges_of(def, b, column)) {
            (Some(a), Some(b)) => Some(intersect(a, b)),
            (a, b) => a.or(b),
        },
        Expr::Or(a, b) => {
            let mut ranges = ranges_of(def, a, column)?;
            ranges.extend(ranges_of(def, b, column)?);
            Some(ranges)
        }
        Expr::In(value, list, collation) => {
            let listed =
                **value == Expr::Column(Column::first(column)) && usable(def, column, *collation);
            let points = list.iter().all(Expr::is_row_constant);
            (listed && points).then(|| list.iter().map(point).collect())
        }
        _ => {
            let (op, value) = column_comparison(def, filter, column)?;
            let bound = |inclusive| Some(BoundExpr { value: value.clone(), inclusive });
            let (low, high) = match op {
                Comparison::Eq => (bound(true), bound(true)),
                Comparison::Lt => (None, bound(false)),
                Comparison::Le => (None, bound(true)),
                Comparison::Gt => (bound(false), None),
                Comparison::Ge => (bound(true), None),
                Comparison::Ne | Comparison::NullSafeEq => return None,
            };
            Some(vec![KeyRangeExpr { low, high }])
        }
    }
}

fn point(value: &Expr) -> KeyRangeExpr {
    let bound = Some(BoundExpr { value: value.clone(), inclusive: true });
    KeyRangeExpr { low: bound.clone(), high: bound }
}

/// Both lists hold; exact only for one range each with complementary bounds, otherwise the shorter
/// list serves alone (rule 1).
fn intersect(a: Vec<KeyRangeExpr>, b: Vec<KeyRangeExpr>) -> Vec<KeyRangeExpr> {
    match (a.as_slice(), b.as_slice()) {
        ([x], [y]) => {
            let low = x.low.clone().or_else(|| y.low.clone());
            let high = x.high.clone().or_else(|| y.high.clone());
            vec![KeyRangeExpr { low, high }]
        }
        _ if b.len() < a.len() => b,
        _ => a,
    }
}
