//! What a definition computes when a row is written: default expressions, generated columns, CHECK.
//!
//! 1. Defaults first, then generated columns in the order of the columns, then checks: each sees what was
//!    computed before it. 2. A condition that is unknown is no violation. 3. Expressions look at the row as it is so far,
//!    encoded; it is encoded again only for one that looks at what has been computed since.

use super::convert::convert;
use super::encode::{append_columns, encode};
use super::error::RowError;
use crate::{Environment, SqlError, WarningLevel};
use catalog::{TableCache, TableDef, TableRef};
use expr::functions::json::missed;
use expr::tree::Column;
use expr::{OwnedDatum, Row, condition, eval};
use planner::definition::{Check, CompiledDefinition, ComputedColumn};
use value::RowLayout;

/// A table as its rows are completed.
#[derive(Clone, Copy)]
pub struct RowShape<'t> {
    /// Its definition.
    pub def: &'t TableDef,
    /// How its rows lie in bytes.
    pub layout: &'t RowLayout,
    /// What the definition computes.
    pub compiled: &'t CompiledDefinition,
}

impl<'t> RowShape<'t> {
    /// That of an open table.
    ///
    /// # Errors
    /// Those of compiling its definition.
    pub fn of(tables: &'t TableCache, table: TableRef) -> Result<RowShape<'t>, SqlError> {
        let compiled = CompiledDefinition::of(tables, table)?;
        Ok(RowShape { def: tables.def(table), layout: tables.table(table).layout(), compiled })
    }

    /// Computes default expressions and generated columns, and checks the row. `omitted`: positions of the columns that
    /// were given no value; those without a default expression are left alone. `number`: the row's in messages.
    /// `bytes` is what the row is encoded in meanwhile.
    ///
    /// # Errors
    /// 3819, and those of evaluation and conversion.
    pub fn complete(
        self,
        (omitted, number): (&[usize], u64),
        values: &mut [OwnedDatum],
        bytes: &mut Vec<u8>,
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        let CompiledDefinition { defaults, generated, checks, .. } = self.compiled;
        let mut row = RowSoFar { shape: self, bytes, is_encoded: false, is_stale: false };
        let defaults = defaults.iter().filter(|d| omitted.contains(&d.column));
        for computed in defaults.chain(generated) {
            row.see(values, computed.sees_computed)?;
            values[computed.column] = row.value(computed, number, env)?;
            row.is_stale = true;
        }
        for check in checks {
            row.see(values, check.sees_computed)?;
            row.check(check, env)?;
        }
        Ok(())
    }

    /// Stages 2 and 3: as [`RowShape::complete`], with the complete row in `bytes`.
    ///
    /// # Errors
    /// As [`RowShape::complete`]; the row is too long.
    pub fn finish(
        self,
        given: (&[usize], u64),
        values: &mut [OwnedDatum],
        bytes: &mut Vec<u8>,
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        self.complete(given, values, bytes, env)?;
        encode(self.layout, values, bytes)
    }

    /// Encodes the row as it is so far: what is not known yet and may not be NULL is zero or empty.
    ///
    /// # Errors
    /// The row is too long.
    pub fn encode_so_far(self, values: &[OwnedDatum], out: &mut Vec<u8>) -> Result<(), SqlError> {
        let value = |column: usize| match &values[column] {
            OwnedDatum::Null => Ok(self.compiled.unknown[column].datum()),
            known => Ok(known.datum()),
        };
        out.clear();
        append_columns(self.layout, value, out)
    }
}

/// A row while its values are computed.
struct RowSoFar<'r> {
    shape: RowShape<'r>,
    bytes: &'r mut Vec<u8>,
    is_encoded: bool,
    /// A value was computed since it was encoded.
    is_stale: bool,
}

impl RowSoFar<'_> {
    /// The bytes are good for an expression.
    fn see(&mut self, values: &[OwnedDatum], sees_computed: bool) -> Result<(), SqlError> {
        if !self.is_encoded || self.is_stale && sees_computed {
            self.shape.encode_so_far(values, self.bytes)?;
            (self.is_encoded, self.is_stale) = (true, false);
        }
        Ok(())
    }

    fn value(
        &self,
        computed: &ComputedColumn,
        number: u64,
        env: &mut dyn Environment,
    ) -> Result<OwnedDatum, SqlError> {
        let RowShape { def, layout, .. } = self.shape;
        let names = ColumnNames(def);
        let row = Row { names: Some(&names), ..Row::one(layout, self.bytes, &[]) };
        let value = eval(&computed.value.expr, &row, env)?;
        let value = (&value.get(), Some(&computed.value.ty));
        convert(value, &def.name, &def.columns[computed.column], number, env)
    }

    fn check(&self, check: &Check, env: &mut dyn Environment) -> Result<(), SqlError> {
        let row = Row::one(self.shape.layout, self.bytes, &[]);
        if condition(&check.condition, &row, env)? != Some(false) {
            return Ok(());
        }
        if let Some(missed) = missed(&check.condition, &row, env)? {
            env.warn(WarningLevel::Error, 3934, missed);
        }
        Err(RowError::Check(&check.name).into())
    }
}

/// The names of a definition's columns, for messages.
struct ColumnNames<'d>(&'d TableDef);

impl expr::print::Names for ColumnNames<'_> {
    fn column(&self, place: Column) -> String {
        let column = self.0.columns.get(usize::from(place.column));
        parser::print::quoted(column.map_or("", |c| &c.name))
    }
}
