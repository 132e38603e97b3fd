//! Lists of IN whose values are constants: sorted, so that a row's value is looked up and not compared with each.
//!
//! 1. A list says of a row what its values would, one by one: equal to one of them; beside a NULL nothing is known to be
//! different. 2. Values are sorted by what they are compared by: ranks of the column's type, which has all that can be equal, or a
//! text's collation. Where some are of another kind, each is compared.

use super::pushed_predicate::exactly;
use expr::OwnedDatum;
use std::cmp::Ordering;
use value::row::gather::Ranked;
use value::{Collation, Datum, RowError, RowLayout};

/// The values of a list, and NULL apart.
enum Values {
    Ranks(Ranked, Vec<u64>),
    Texts(Vec<OwnedDatum>),
    Others(Vec<OwnedDatum>),
}

/// A column that is to have one of some values.
pub struct List {
    column: usize,
    values: Values,
    has_null: bool,
    collation: Collation,
}

impl List {
    /// Of these values, compared by a collation.
    pub fn new(
        column: usize,
        mut values: Vec<OwnedDatum>,
        collation: Collation,
        layout: &RowLayout,
    ) -> List {
        let all = values.len();
        values.retain(|value| *value != OwnedDatum::Null);
        let has_null = values.len() < all;
        let values = match ranks(column, &values, layout) {
            Some((ranked, ranks)) => Values::Ranks(ranked, ranks),
            None if are_texts(column, &values, layout) => {
                values.sort_by(|a, b| order(&a.datum(), b, collation).unwrap_or(Ordering::Equal));
                Values::Texts(values)
            }
            None => Values::Others(values),
        };
        List { column, values, has_null, collation }
    }

    /// Whether a row has one of them: true, false or unknown.
    ///
    /// # Errors
    /// The row is damaged.
    pub fn holds(&self, layout: &RowLayout, row: &[u8]) -> Result<Option<bool>, RowError> {
        let found = match &self.values {
            Values::Ranks(ranked, ranks) => match ranked.rank(row) {
                Some(rank) => rank.map(|rank| ranks.binary_search(&rank).is_ok()),
                None => self.compare(layout, row, &[])?,
            },
            Values::Texts(texts) => {
                let value = layout.decode(row, self.column)?;
                let order = |text: &OwnedDatum| {
                    order(&value, text, self.collation).unwrap_or(Ordering::Equal).reverse()
                };
                (!value.is_null()).then(|| texts.binary_search_by(order).is_ok())
            }
            Values::Others(values) => self.compare(layout, row, values)?,
        };
        Ok(found.filter(|found| *found || !self.has_null))
    }

    fn compare(
        &self,
        layout: &RowLayout,
        row: &[u8],
        values: &[OwnedDatum],
    ) -> Result<Option<bool>, RowError> {
        let value = layout.decode(row, self.column)?;
        let is_equal = |other| order(&value, other, self.collation) == Some(Ordering::Equal);
        Ok((!value.is_null()).then(|| values.iter().any(is_equal)))
    }
}

fn order(value: &Datum<'_>, other: &OwnedDatum, collation: Collation) -> Option<Ordering> {
    value::compare(value, &other.datum(), collation)
}

/// The ranks of the values that the column may have; `None`: some value has none, but may be equal.
fn ranks(column: usize, values: &[OwnedDatum], layout: &RowLayout) -> Option<(Ranked, Vec<u64>)> {
    let ranked = layout.ranked(column)?;
    let mut ranks = Vec::with_capacity(values.len());
    for value in values {
        let exact = exactly(&value.datum(), ranked.column_type())?;
        match ranked.rank_of(&exact) {
            Some(rank) => ranks.push(rank),
            // An integer out of the column's range.
            None if matches!(exact, Datum::Int(_) | Datum::UInt(_)) => {}
            None => return None,
        }
    }
    ranks.sort_unstable();
    Some((ranked, ranks))
}

fn are_texts(column: usize, values: &[OwnedDatum], layout: &RowLayout) -> bool {
    let is_string = layout.column_type(column).is_some_and(|ty| ty.kind.is_string());
    is_string && values.iter().all(|value| matches!(value, OwnedDatum::Bytes(_)))
}
