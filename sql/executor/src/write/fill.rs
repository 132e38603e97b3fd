//! Rows of a table that DDL makes: nobody else sees it, and no definition of it is published.
//!
//! 1. Foreign keys are looked at when all rows are there: the statement does so. 2. Indexes have no ids in the definition
//!    yet: a duplicate is named after the index of the same name.

use super::RowChange;
use super::compute::RowShape;
use super::duplicate::duplicate_entry;
use crate::{Environment, SqlError};
use catalog::TableDef;
use engine::{Client, Table, Then};
use expr::OwnedDatum;
use planner::definition::CompiledDefinition;

/// Fills a table.
pub struct TableFiller<'t> {
    def: &'t TableDef,
    compiled: CompiledDefinition,
    /// Columns that no row brings a value for.
    omitted: Vec<usize>,
    row: Vec<u8>,
}

impl<'t> TableFiller<'t> {
    /// For rows that bring no values of the columns `omitted`.
    ///
    /// # Errors
    /// Those of compiling the definition.
    pub fn new(def: &'t TableDef, omitted: Vec<usize>) -> Result<TableFiller<'t>, SqlError> {
        let compiled = CompiledDefinition::compile(def)?;
        Ok(TableFiller { def, compiled, omitted, row: Vec::new() })
    }

    /// Writes a row, `number` in messages: stages 2 to 4.
    ///
    /// # Errors
    /// 1062, 3819, those of evaluation, conversion and storage.
    pub fn append(
        &mut self,
        (client, table): (&mut Client, &Table),
        (number, values): (u64, &mut [OwnedDatum]),
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        let shape = RowShape { def: self.def, layout: table.layout(), compiled: &self.compiled };
        shape.finish((&self.omitted, number), values, &mut self.row, env)?;
        let change = RowChange::Insert { after: &self.row, resolves: false, then: Then::More };
        match change.make(client, table) {
            Ok(_inserted) => Ok(()),
            Err(error) => Err(self.explain(error, table, values, env)),
        }
    }

    fn explain(
        &self,
        error: base::Error,
        table: &Table,
        values: &[OwnedDatum],
        env: &dyn Environment,
    ) -> SqlError {
        let base::Error::Duplicate { index, .. } = &error else {
            return SqlError::Storage(error);
        };
        let name = table.spec().secondaries.iter().find(|s| s.id == *index).map(|s| &s.name);
        let found = match name {
            Some(name) => self.def.indexes.iter().find(|i| i.name == *name),
            None => self.def.clustered(),
        };
        match found {
            Some(index) => duplicate_entry(self.def, index, values, env.convert_mode().time_zone),
            None => SqlError::Storage(error),
        }
    }
}
