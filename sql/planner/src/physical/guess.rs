//! How many rows a range has whose bounds are known while the statement is planned: they are looked up.
//!
//! 1. Known are constants, literals that become parameters, and dates moved by constant intervals. 2. The answer is a guess: a value that its
//!    column cannot hold is measured as the nearest one that it can.

use super::Planner;
use crate::query_plan::{KeyRange, LastPart};
use catalog::{TableCache, TableRef};
use expr::functions::Function;
use expr::tree::{Expr, Extra, OwnedDatum};
use value::time::Interval;
use value::{ColumnType, ConvertMode, Datum, KeyPart, TimeZone};

impl Planner<'_> {
    /// Rows in a range of an engine index; `None`: its bounds are not known.
    /// `exact`: how few they are matters.
    pub(super) fn measured(
        &self,
        table: TableRef,
        index: usize,
        range: &KeyRange,
        exact: bool,
    ) -> Option<f64> {
        let bounds = bounds(self.tables, table, index, range, self.literals.values());
        let found = bounds
            .and_then(|(low, high)| self.statistics.between(table, index, &low, high.as_deref()));
        self.literals.measured((table, index), range, found, exact);
        found
    }

    /// Rows of a table of which every one counts.
    pub(super) fn counted(&self, table: TableRef) -> f64 {
        let rows = self.statistics.rows_now(table);
        self.literals.counted(table, rows);
        rows
    }
}

/// A key, and where keys end.
type Bounds = (Vec<u8>, Option<Vec<u8>>);

/// The keys that a range goes from and to; `literals` are the parameters whose values are known.
pub(crate) fn bounds(
    tables: &TableCache,
    table: TableRef,
    index: usize,
    range: &KeyRange,
    literals: &[OwnedDatum],
) -> Option<Bounds> {
    let stored = tables.table(table);
    let (spec, types) = (stored.key(index)?, &stored.spec().columns);
    // Entries of the other indexes end with the key of the clustered one.
    let clustered = stored.key(0).filter(|_| index > 0).map_or(&[][..], |key| &key.parts);
    let parts = spec.parts.iter().chain(clustered);
    let mut parts = parts.map(|part| (part, types.get(part.column)));
    let mut prefix = Vec::new();
    for known in &range.equal {
        let (part, ty) = parts.next()?;
        match constant(&known.value, literals)? {
            OwnedDatum::Null if known.null_safe && !part.descending => {
                part.append(ty?, &Datum::Null, &mut prefix).ok()?;
            }
            value => append(part, ty?, &value, &mut prefix)?,
        }
    }
    let after = |mut key: Vec<u8>| value::key::successor(&mut key).then_some(key);
    let (mut low, mut high) = (prefix.clone(), after(prefix.clone()));
    match &range.last {
        LastPart::Any if prefix.is_empty() => return None,
        LastPart::Any => {}
        LastPart::NotNull | LastPart::Like { .. } => return None,
        LastPart::Between { low: least, high: most } => {
            let (part, ty) = parts.next()?;
            if least.is_none() && ty?.nullable {
                // NULL comes first.
                low.push(1);
            }
            if let Some((bound, inclusive)) = least {
                append(part, ty?, &constant(bound, literals)?, &mut low)?;
                if !inclusive {
                    low = after(low)?;
                }
            }
            if let Some((bound, inclusive)) = most {
                let mut key = prefix;
                append(part, ty?, &constant(bound, literals)?, &mut key)?;
                high = if *inclusive { after(key) } else { Some(key) };
            }
        }
    }
    Some((low, high))
}

/// Appends the key of a value as near as the column can hold it.
fn append(part: &KeyPart, ty: &ColumnType, value: &OwnedDatum, key: &mut Vec<u8>) -> Option<()> {
    if part.descending || part.prefix_chars.is_some() || *value == OwnedDatum::Null {
        return None;
    }
    let (utc, mut scratch) = (TimeZone::utc(), Vec::new());
    let mode = ConvertMode::new(false, &utc);
    let stored = value::coerce(value.datum(), None, ty, &mode, &mut scratch).ok()?;
    part.append(ty, &stored.value, key).ok()
}

fn constant(e: &Expr, literals: &[OwnedDatum]) -> Option<OwnedDatum> {
    match e {
        Expr::Const(value) => Some(value.clone()),
        Expr::Param(number) => literals.get(*number).cloned(),
        Expr::Call(site) => {
            let Extra::Unit(unit) = site.extra else { return None };
            let named =
                |name: &str| expr::functions::find(name).map(std::ptr::from_ref::<Function>);
            let this = Some(std::ptr::from_ref(site.function));
            let negative = named("- interval") == this;
            if unit.is_compound() || !negative && named("+ interval") != this {
                return None;
            }
            let [date, count] = &site.arguments[..] else { return None };
            let count = match constant(count, literals)? {
                OwnedDatum::Int(count) => count,
                OwnedDatum::Bytes(text) => std::str::from_utf8(&text).ok()?.trim().parse().ok()?,
                _ => return None,
            };
            let span = Interval::whole(unit, count);
            let span = if negative { span.neg() } else { span };
            let moment = match constant(date, literals)?.datum() {
                Datum::Date(date) => date.midnight(),
                Datum::DateTime(moment) => moment,
                _ => return None,
            };
            Some(OwnedDatum::DateTime(moment.add(span, 6)?))
        }
        _ => None,
    }
}
