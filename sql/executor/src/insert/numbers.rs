//! AUTO_INCREMENT values of one statement, from as few reservations as possible.

use crate::{Context, SqlError};
use catalog::{TableDef, TableRef};
use expr::OwnedDatum;

/// Gives numbers to rows.
pub struct Numbers {
    table: TableRef,
    rows_left: u64,
    next: u64,
    reserved: u64,
    /// What was generated for the row that was filled last.
    present: Option<u64>,
    /// The first number that was generated for a row that was inserted, 0 if none: LAST_INSERT_ID().
    pub first_generated: u64,
}

impl Numbers {
    /// Nothing is reserved yet.
    pub fn new(table: TableRef) -> Numbers {
        Numbers { table, rows_left: 0, next: 0, reserved: 0, present: None, first_generated: 0 }
    }

    /// So many rows are to come.
    pub fn expect(&mut self, rows: u64) {
        self.rows_left = rows;
    }

    /// Fills the AUTO_INCREMENT column, or takes note of an explicit value.
    ///
    /// # Errors
    /// 1467 when the column's type is exhausted, storage errors.
    pub fn fill(
        &mut self,
        context: &mut Context<'_>,
        values: &mut [OwnedDatum],
    ) -> Result<(), SqlError> {
        let rows = self.rows_left.max(1);
        self.rows_left = rows - 1;
        self.present = None;
        let Some(column) = context.tables.def(self.table).autoinc_column() else { return Ok(()) };
        let generate = match &values[column] {
            OwnedDatum::Null => true,
            OwnedDatum::Int(0) | OwnedDatum::UInt(0) => !context.env.zero_is_a_value(),
            _ => false,
        };
        let table = context.tables.table(self.table);
        if !generate {
            if let Some(explicit) = values[column].datum().as_u64() {
                context.client.note_autoinc(table, explicit)?;
            }
            return Ok(());
        }
        if self.reserved == 0 {
            self.next = context.client.reserve_autoinc(table, rows)?;
            self.reserved = rows;
        }
        let number = self.next;
        self.next += 1;
        self.reserved -= 1;
        self.present = Some(number);
        values[column] = generated(context.tables.def(self.table), column, number)?;
        Ok(())
    }

    /// The row that was filled last is in the table: only such numbers count.
    pub fn inserted(&mut self) {
        if self.first_generated == 0 {
            self.first_generated = self.present.unwrap_or(0);
        }
    }
}

fn generated(def: &TableDef, column: usize, number: u64) -> Result<OwnedDatum, SqlError> {
    let (_, greatest) = def.columns[column].ty.int_range();
    if i128::from(number) > greatest {
        return Err(SqlError::Storage(base::Error::AutoincExhausted));
    }
    Ok(i64::try_from(number).map_or(OwnedDatum::UInt(number), OwnedDatum::Int))
}
