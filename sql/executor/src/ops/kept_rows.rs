//! The rows of a subquery that IN and its kin compare values with.
//!
//! 1. Equality is looked up in a hash table: of the values as they are where the value is of their own kind, of doubles where it is a
//! number among texts or the other way round. 2. Whether one value is above or below all or any is decided by the extreme ones.
//! 3. All others are compared with each row. 4. A value that is NULL is equal to nothing, and different from nothing: unknown, if
//! there is a row.

use super::Statement;
use super::cells::made_layout;
use super::keys::Rule;
use super::store::RowStore;
use super::table::{KeyTable, hash};
use crate::SqlError;
use crate::memory::Charge;
use expr::eval::compare;
use expr::tree::Comparison;
use expr::{Quantified, damaged};
use value::{Collation, ColumnType, Datum, Kind, RowLayout};

/// The kept rows of a subplan.
pub struct KeptRows {
    layout: RowLayout,
    store: RowStore,
    rules: Vec<Rule>,
    /// Rows without NULL by their values.
    table: KeyTable,
    /// Rows with a NULL.
    with_null: Vec<usize>,
    /// Of one column the values as doubles, once they were asked for.
    doubles: Option<KeyTable>,
    /// Of one column the rows with the least and the greatest value, and their keys.
    least: Extreme,
    greatest: Extreme,
    kind: Option<Kind>,
    key: Vec<u8>,
    charge: Charge,
}

/// A row that is before or behind all others; `None`: there is none.
#[derive(Default)]
struct Extreme(Option<(usize, Vec<u8>)>);

impl Extreme {
    fn take(&mut self, row: usize, key: &[u8], is_better: impl Fn(&[u8], &[u8]) -> bool) {
        match &mut self.0 {
            Some((_, best)) if !is_better(key, best) => {}
            place => *place = Some((row, key.to_vec())),
        }
    }
}

impl KeptRows {
    /// No rows yet, of these types, compared by these collations.
    pub fn new(st: &Statement<'_>, types: &[ColumnType], collations: &[Collation]) -> KeptRows {
        let rules = types.iter().zip(collations).map(|(ty, collation)| match Rule::of(ty) {
            Rule::Text(_) => Rule::Text(*collation),
            rule => rule,
        });
        KeptRows {
            layout: made_layout(types),
            store: RowStore::new(st),
            rules: rules.collect(),
            table: KeyTable::default(),
            with_null: Vec::new(),
            doubles: None,
            least: Extreme::default(),
            greatest: Extreme::default(),
            kind: if let [ty] = types { Some(ty.kind) } else { None },
            key: Vec::new(),
            charge: st.budget.charge(),
        }
    }

    /// How rows that are added lie.
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// Adds a row.
    ///
    /// # Errors
    /// 1114 when memory ends.
    pub fn add(&mut self, st: &Statement<'_>, bytes: &[u8]) -> Result<(), SqlError> {
        self.key.clear();
        let mut null = false;
        for (column, rule) in self.rules.iter().enumerate() {
            let value = self.layout.decode(bytes, column).map_err(damaged)?;
            null |= value.is_null();
            rule.append(&value, false, &mut self.key);
        }
        let at = self.store.len();
        if null {
            self.with_null.push(at);
            return self.store.push(st, bytes);
        }
        let key = &self.key;
        if self.table.insert(key, hash(key)).1 {
            if self.kind.is_some() {
                self.least.take(at, key, |new, best| new < best);
                self.greatest.take(at, key, |new, best| new > best);
            }
            self.store.push(st, bytes)?;
            self.charge.set(self.table.bytes());
            self.charge.check()?;
        }
        Ok(())
    }

    /// `left op ANY (rows)` or `left op ALL (rows)`.
    ///
    /// # Errors
    /// The statement was killed; 1114 when memory ends.
    pub fn decide(
        &mut self,
        st: &Statement<'_>,
        what: &Quantified,
        left: &[Datum<'_>],
    ) -> Result<Option<bool>, SqlError> {
        if self.store.len() == 0 {
            return Ok(Some(what.all));
        }
        if let [Datum::Null] = left {
            return Ok(None);
        }
        if let Some(found) = self.known(st, what, left)? {
            if found {
                return Ok(Some(!what.all));
            }
            return self.beside_nulls(what, left);
        }
        let mut verdict = Verdict::new(what);
        for n in 0..self.store.len() {
            st.tick()?;
            if let Some(decided) = verdict.take(self.compare_with(what, left, n)?) {
                return Ok(Some(decided));
            }
        }
        Ok(verdict.end())
    }

    /// The answer if no row without NULL decides.
    fn beside_nulls(
        &mut self,
        what: &Quantified,
        left: &[Datum<'_>],
    ) -> Result<Option<bool>, SqlError> {
        let mut verdict = Verdict::new(what);
        for at in 0..self.with_null.len() {
            let n = self.with_null[at];
            if let Some(decided) = verdict.take(self.compare_with(what, left, n)?) {
                return Ok(Some(decided));
            }
            if left.len() == 1 {
                break;
            }
        }
        Ok(verdict.end())
    }

    /// Whether a row without NULL decides: satisfies the comparison of ANY, does not that of ALL; `None`: they have to be compared.
    fn known(
        &mut self,
        st: &Statement<'_>,
        what: &Quantified,
        left: &[Datum<'_>],
    ) -> Result<Option<bool>, SqlError> {
        match (what.op, what.all) {
            (Comparison::Eq, false) | (Comparison::Ne, true) => match self.find(left) {
                None => self.find_double(st, left),
                found => Ok(found),
            },
            (Comparison::Gt | Comparison::Ge, true) | (Comparison::Lt | Comparison::Le, false) => {
                self.beside_extreme(what, left, |rows| &rows.greatest)
            }
            (Comparison::Lt | Comparison::Le, true) | (Comparison::Gt | Comparison::Ge, false) => {
                self.beside_extreme(what, left, |rows| &rows.least)
            }
            _ => Ok(None),
        }
    }

    /// Compares with the row that decides for all or for any.
    fn beside_extreme(
        &mut self,
        what: &Quantified,
        left: &[Datum<'_>],
        extreme: fn(&KeptRows) -> &Extreme,
    ) -> Result<Option<bool>, SqlError> {
        if self.kind.is_none() || !self.is_own_kind(left) {
            return Ok(None);
        }
        let Some(n) = extreme(self).0.as_ref().map(|(n, _)| *n) else {
            return Ok(Some(false));
        };
        let holds = self.compare_with(what, left, n)?;
        Ok(holds.map(|holds| holds != what.all))
    }

    fn compare_with(
        &mut self,
        what: &Quantified,
        left: &[Datum<'_>],
        n: usize,
    ) -> Result<Option<bool>, SqlError> {
        let bytes = &mut self.key;
        self.store.get(n, bytes)?;
        let mut right = Vec::with_capacity(left.len());
        for column in 0..left.len() {
            right.push(self.layout.decode(bytes, column).map_err(damaged)?);
        }
        Ok(compare_rows(what, left, &right))
    }

    /// Whether values are compared with the rows' as these are with each other.
    fn is_own_kind(&self, left: &[Datum<'_>]) -> bool {
        left.iter().zip(&self.rules).all(|(value, rule)| {
            matches!(
                (rule, value),
                (Rule::Int, Datum::Int(_) | Datum::UInt(_))
                    | (Rule::Exact, Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_))
                    | (Rule::Double, Datum::Int(_) | Datum::UInt(_) | Datum::Double(_))
                    | (Rule::Moment, Datum::Date(_) | Datum::DateTime(_))
                    | (Rule::Time, Datum::Time(_))
                    | (Rule::Text(_), Datum::Bytes(_))
            )
        })
    }

    /// Whether a row without NULL is equal to these values; `None`: they are of other kinds.
    fn find(&mut self, left: &[Datum<'_>]) -> Option<bool> {
        if !self.is_own_kind(left) {
            return None;
        }
        self.key.clear();
        for (value, rule) in left.iter().zip(&self.rules) {
            rule.append(value, false, &mut self.key);
        }
        Some(self.table.find(&self.key, hash(&self.key)).is_some())
    }

    /// As [`Self::find`], of a value that is compared with the rows' as a double.
    fn find_double(
        &mut self,
        st: &Statement<'_>,
        left: &[Datum<'_>],
    ) -> Result<Option<bool>, SqlError> {
        let ([value], Some(kind)) = (left, self.kind) else { return Ok(None) };
        let exact = matches!(value, Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_));
        let by_double = match value {
            Datum::Bytes(_) => kind.is_int() || kind.is_float() || kind == Kind::Decimal,
            Datum::Double(_) => kind.is_int() || kind == Kind::Decimal || kind.is_string(),
            _ => exact && (kind.is_string() || kind.is_float()),
        };
        if !by_double {
            return Ok(None);
        }
        if self.doubles.is_none() {
            self.doubles = Some(self.read_doubles(st)?);
        }
        self.key.clear();
        Rule::Double.append(value, false, &mut self.key);
        let doubles = self.doubles.as_ref();
        Ok(doubles.map(|table| table.find(&self.key, hash(&self.key)).is_some()))
    }

    fn read_doubles(&mut self, st: &Statement<'_>) -> Result<KeyTable, SqlError> {
        let (mut table, mut bytes) = (KeyTable::default(), Vec::new());
        for n in 0..self.store.len() {
            st.tick()?;
            self.store.get(n, &mut bytes)?;
            let value = self.layout.decode(&bytes, 0).map_err(damaged)?;
            if !value.is_null() {
                self.key.clear();
                Rule::Double.append(&value, false, &mut self.key);
                table.insert(&self.key, hash(&self.key));
            }
        }
        self.charge.set(self.table.bytes() + table.bytes());
        self.charge.check()?;
        Ok(table)
    }
}

/// `left op right` for rows: the columns decide as MySQL's row comparison does.
pub fn compare_rows(what: &Quantified, left: &[Datum<'_>], right: &[Datum<'_>]) -> Option<bool> {
    let columns = left.iter().zip(right).zip(&what.collations);
    if let ([a], [b]) = (left, right) {
        let collation = what.collations.first().copied().unwrap_or(Collation::Binary);
        return compare(what.op, a, b, collation);
    }
    let mut equal = Some(true);
    for ((a, b), collation) in columns {
        match compare(Comparison::Eq, a, b, *collation) {
            Some(true) => {}
            Some(false) => {
                equal = Some(false);
                break;
            }
            None => equal = None,
        }
    }
    if what.op == Comparison::Ne { equal.map(|e| !e) } else { equal }
}

/// The answer over rows that come one after the other.
pub struct Verdict {
    all: bool,
    unknown: bool,
}

impl Verdict {
    /// Over no row yet.
    pub fn new(what: &Quantified) -> Verdict {
        Verdict { all: what.all, unknown: false }
    }

    /// The answer, if this comparison decides it.
    pub fn take(&mut self, holds: Option<bool>) -> Option<bool> {
        match holds {
            None => self.unknown = true,
            Some(holds) if holds != self.all => return Some(holds),
            Some(_) => {}
        }
        None
    }

    /// The answer when there are no more rows.
    pub fn end(&self) -> Option<bool> {
        if self.unknown { None } else { Some(self.all) }
    }
}
