//! Columns that come or go while rows stay as they are: what of a definition says how those rows are read.
//!
//! 1. `TableDef::older` has one entry for each layout that rows were written under before, in the storage that the table
//!    has: a row's header counts them. Guard: the engine's error of a row whose layout is not known.
//! 2. Each entry says for every present column which of its columns it is, or that it lacks it; then the column's `initial` is
//!    the value in all of its rows. Guard: [`TableDef::check_older`], whenever a definition is read.
//! 3. New storage has one layout: whoever makes it forgets the others ([`TableDef::forget_older`]).

use crate::{ColumnDef, TableDef};
use engine::OlderRows;
use value::row::{Origin, RowError};
use value::{ColumnType, Datum, OwnedDatum, RowLayout};

/// A layout that rows were written under before columns came or went.
#[derive(Debug, Clone, PartialEq)]
pub struct OlderColumns {
    /// The columns' types, in order.
    pub types: Vec<ColumnType>,
    /// For each present column the one that it is here, if it was there.
    pub from: Vec<Option<usize>>,
}

/// How many times columns may come or go before a table's rows are written anew, as in MySQL 8.4.
pub const ROW_VERSIONS_MAX: usize = 64;
const _: () = assert!(ROW_VERSIONS_MAX <= engine::OLDER_LAYOUTS_MAX);

impl ColumnDef {
    /// Gives the column the value that rows have which are there already.
    ///
    /// # Errors
    /// It is none that the column can have.
    pub fn set_initial(&mut self, value: &Datum<'_>) -> Result<(), RowError> {
        let mut bytes = Vec::new();
        RowLayout::new(&[self.ty]).encode(&[*value], &mut bytes)?;
        self.initial = Some(bytes);
        Ok(())
    }

    /// The value that rows have which were there before the column; `None`: there are none.
    pub fn initial_value(&self) -> Option<OwnedDatum> {
        let row = self.initial.as_ref()?;
        let value = RowLayout::new(&[self.ty]).decode(row, 0).ok()?;
        Some(OwnedDatum::of(&value))
    }
}

impl TableDef {
    /// Makes this, whose columns are those of `old` that `origins` names and new ones with their initial values, the
    /// definition of the rows that `old` has.
    pub fn take_over_rows(&mut self, old: &TableDef, origins: &[Option<usize>]) {
        for (column, origin) in self.columns.iter_mut().zip(origins) {
            if let Some(at) = *origin {
                column.initial.clone_from(&old.columns[at].initial);
            }
        }
        self.older.clone_from(&old.older);
        if origins.iter().copied().eq((0..old.columns.len()).map(Some)) {
            return;
        }
        for older in &mut self.older {
            older.from = origins.iter().map(|o| o.and_then(|at| older.from[at])).collect();
        }
        let types = old.columns.iter().map(|c| c.ty).collect();
        self.older.push(OlderColumns { types, from: origins.to_vec() });
    }

    /// All rows are going to be written under the present layout.
    pub fn forget_older(&mut self) {
        self.older.clear();
        self.columns.iter_mut().for_each(|column| column.initial = None);
    }

    /// Whether rows of older layouts can be read by this definition; else what is wrong.
    pub(crate) fn check_older(&self) -> Result<(), &'static str> {
        for column in self.columns.iter().filter(|c| c.initial.is_some()) {
            column.initial_value().ok_or("a column's first value is none of its type")?;
        }
        for older in &self.older {
            if older.from.len() != self.columns.len() {
                return Err("an older layout with another count of columns");
            }
            for (column, from) in self.columns.iter().zip(&older.from) {
                match from.map(|at| older.types.get(at)) {
                    Some(None) => return Err("an older layout names a column that it lacks"),
                    Some(Some(ty)) if ty.fixed_bytes() != column.ty.fixed_bytes() => {
                        return Err("a column has another form in an older layout");
                    }
                    None if column.initial.is_none() => {
                        return Err("a column without a value in rows of before");
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// [`TableDef::older`] for the engine.
    pub(crate) fn older_rows(&self) -> Vec<OlderRows> {
        let origin = |(column, from): (&ColumnDef, &Option<usize>)| match from {
            Some(at) => Origin::Column(*at),
            None => Origin::Value(column.initial_value().unwrap_or(OwnedDatum::Null)),
        };
        let rows = |older: &OlderColumns| OlderRows {
            columns: older.types.clone(),
            origins: self.columns.iter().zip(&older.from).map(origin).collect(),
        };
        self.older.iter().map(rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use value::{Collation, Kind};

    fn column(name: &str, kind: Kind) -> ColumnDef {
        ColumnDef::new(name, ColumnType::int(kind, false))
    }

    fn table(columns: Vec<ColumnDef>) -> TableDef {
        TableDef::new("s", "t", columns, Collation::default())
    }

    #[test]
    fn columns_that_come_and_go_are_found_in_rows_of_each_layout() {
        let mut first = table(vec![column("a", Kind::Int), column("b", Kind::BigInt)]);
        first.take_over_rows(&first.clone(), &[Some(0), Some(1)]);
        assert_eq!(first.older, []);
        // new, b, a
        let mut new = column("new", Kind::TinyInt);
        new.set_initial(&Datum::Int(5)).unwrap();
        let mut second = table(vec![new, first.columns[1].clone(), first.columns[0].clone()]);
        second.take_over_rows(&first, &[None, Some(1), Some(0)]);
        second.check_older().unwrap();
        // new, a, last
        let mut last = column("last", Kind::TinyInt);
        last.set_initial(&Datum::Null).unwrap();
        // As MODIFY makes it: of a text, which says nothing of rows that are there.
        let again = column("new", Kind::TinyInt);
        let mut third = table(vec![again, second.columns[2].clone(), last]);
        third.take_over_rows(&second, &[Some(0), Some(2), None]);
        third.check_older().unwrap();
        let from: Vec<_> = third.older.iter().map(|o| o.from.clone()).collect();
        assert_eq!(from, [vec![None, Some(0), None], vec![Some(0), Some(2), None]]);
        let rows = third.older_rows();
        let five = Origin::Value(OwnedDatum::Int(5));
        assert_eq!(rows[0].origins, [five, Origin::Column(0), Origin::Value(OwnedDatum::Null)]);
        assert_eq!(TableDef::decode(&third.encode()), Ok(third.clone()));
        third.forget_older();
        assert_eq!((third.older_rows(), third.columns[0].initial_value()), (vec![], None));
    }

    #[test]
    fn a_definition_that_cannot_read_its_older_rows_is_refused() {
        let mut def = table(vec![column("a", Kind::Int), column("b", Kind::Int)]);
        let types = vec![def.columns[0].ty];
        let bad = |def: &TableDef| TableDef::decode(&def.encode()).is_err();
        def.older = vec![OlderColumns { types: types.clone(), from: vec![Some(0), None] }];
        assert!(bad(&def), "b has no value");
        def.columns[1].set_initial(&Datum::Int(1)).unwrap();
        assert!(!bad(&def));
        def.columns[1].initial = Some(vec![0]);
        assert!(bad(&def), "b's value is cut short");
        def.columns[1].set_initial(&Datum::Int(1)).unwrap();
        for from in [vec![Some(0)], vec![Some(1), None]] {
            def.older[0].from = from;
            assert!(bad(&def));
        }
        def.older[0] = OlderColumns { types, from: vec![Some(0), None] };
        def.columns[0].ty = ColumnType::int(Kind::BigInt, false);
        assert!(bad(&def), "a is wider than it was");
    }
}
