//! AUTO_INCREMENT values of one statement.
//!
//! 1. A statement that says how many rows it inserts takes as many values at once; any other takes 1, 2, 4, 8 ...
//!    at a time: what is left of them at its end is a gap, as in InnoDB. 2. A value that was generated for a row
//!    that is left out goes to the next row. 3. A value that a row brings raises the counter when the row is in
//!    the table. 4. With `innodb_autoinc_lock_mode = 0` the counter moves with each row, not before; the lock that
//!    this mode and mode 1 need is the statement's, not the transaction's.

use crate::{Context, Environment, SqlError};
use catalog::{TableDef, TableRef};
use engine::Steps;
use expr::{AutoincMode, OwnedDatum};
use value::RowLayout;

/// Values that are taken at once by a statement of unknown length, at most.
const TAKEN_MAX: u64 = 65_535;

/// Gives numbers to rows.
pub struct Numbers {
    table: TableRef,
    /// The AUTO_INCREMENT column.
    column: Option<usize>,
    steps: Steps,
    mode: AutoincMode,
    /// Rows that the statement says it has; 0: it does not.
    rows: u64,
    /// A duplicate raises the counter, too: REPLACE, INSERT ... SELECT.
    insists: bool,
    /// How often values were taken.
    takings: u32,
    /// Rows that values are still to be taken for, as far as is known.
    rows_left: u64,
    /// The next value to be generated; 0: none was.
    next: u64,
    /// Where the values that were taken end.
    end: u64,
    /// What the counter was raised to with them.
    counter: u64,
    /// The statement has the lock of the counter.
    locked: bool,
    /// What was generated for the row that was filled last.
    present: Option<u64>,
    /// A row was filled and has not come to its end.
    open: bool,
    /// The first number that was generated for a row that was inserted, 0 if none: LAST_INSERT_ID().
    pub first_generated: u64,
    /// The number of the row that came to its end last, 0 if none did.
    pub last: u64,
}

impl Numbers {
    /// Nothing is taken yet.
    pub fn new(
        (table, def): (TableRef, &TableDef),
        insists: bool,
        env: &dyn Environment,
    ) -> Numbers {
        let (mode, increment, offset) = env.autoinc();
        Numbers {
            table,
            column: def.autoinc_column(),
            steps: Steps::new(increment, offset),
            mode,
            rows: 0,
            insists,
            takings: 0,
            rows_left: 0,
            next: 0,
            end: 0,
            counter: 0,
            locked: false,
            present: None,
            open: false,
            first_generated: 0,
            last: 0,
        }
    }

    /// The statement inserts so many rows.
    pub fn expect(&mut self, rows: u64) {
        self.rows = rows;
    }

    /// Fills the AUTO_INCREMENT column unless the row brings a value.
    ///
    /// # Errors
    /// 1467 when the column's type is exhausted, storage errors.
    pub fn fill(
        &mut self,
        context: &mut Context<'_>,
        values: &mut [OwnedDatum],
    ) -> Result<(), SqlError> {
        self.present = None;
        let Some(column) = self.column else { return Ok(()) };
        self.open = true;
        let generate = match &values[column] {
            OwnedDatum::Null => true,
            OwnedDatum::Int(0) | OwnedDatum::UInt(0) => !context.env.zero_is_a_value(),
            _ => false,
        };
        if !generate {
            if let Some(brought) = values[column].datum().as_u64()
                && self.next > 0
                && brought >= self.next
            {
                self.next = self.steps.at_or_above(brought.saturating_add(1));
            }
            return Ok(());
        }
        if self.next == 0 || self.next >= self.end {
            self.take(context)?;
        }
        let number = self.next;
        self.present = Some(number);
        self.next = self.steps.after(number, 1);
        values[column] =
            generated(context.tables.def(self.table), column, number, context.env.strict())?;
        Ok(())
    }

    fn take(&mut self, context: &mut Context<'_>) -> Result<(), SqlError> {
        if self.rows_left == 0 {
            self.rows_left = match (self.takings, self.rows) {
                (0, rows) if rows > 0 => rows,
                (takings, _) => (1 << takings.min(16)).min(TAKEN_MAX),
            };
        }
        self.takings += 1;
        if let Some(chosen) = context.env.take_insert_id() {
            (self.next, self.end) = (chosen, chosen.saturating_add(1));
            return Ok(());
        }
        self.lock(context)?;
        let table = context.tables.table(self.table);
        let rows = self.rows_left;
        self.next = match self.mode {
            AutoincMode::Traditional => {
                self.counter = 0;
                self.steps.at_or_above(table.autoinc_next().unwrap_or(1))
            }
            _ => {
                let first = context.client.reserve_autoinc(table, rows, self.steps)?;
                self.counter = self.steps.after(first, rows);
                first
            }
        };
        self.end = self.steps.after(self.next, rows);
        // It is no value of a column.
        match self.next {
            u64::MAX => Err(SqlError::Storage(base::Error::AutoincExhausted)),
            _ => Ok(()),
        }
    }

    /// Keeps other statements from the counter until this one ends, as its mode says.
    fn lock(&mut self, context: &Context<'_>) -> Result<(), SqlError> {
        let simple = self.rows > 0;
        let wanted = match self.mode {
            AutoincMode::Interleaved => return Ok(()),
            AutoincMode::Consecutive => simple,
            AutoincMode::Traditional => false,
        };
        if !self.locked && !context.tables.is_own(self.table) {
            let table = context.tables.table(self.table);
            self.locked = context.client.lock_autoinc(table, wanted)?;
        }
        Ok(())
    }

    /// The statement is over, well or not.
    pub fn end(&self, context: &Context<'_>) {
        if self.locked {
            context.client.unlock_autoinc(context.tables.table(self.table));
        }
    }

    /// The row that was filled last is in the table.
    ///
    /// # Errors
    /// Storage errors.
    pub fn inserted(
        &mut self,
        context: &mut Context<'_>,
        values: &[OwnedDatum],
    ) -> Result<(), SqlError> {
        self.rows_left = self.rows_left.saturating_sub(1);
        self.open = false;
        if self.first_generated == 0 {
            self.first_generated = self.present.unwrap_or(0);
        }
        self.note_last(values);
        self.note(context, values, self.counter)
    }

    /// Whether the counter is above the number of the row that was filled last, and logged: nothing is to be done when the row is in
    /// the table.
    pub fn is_reserved(&self) -> bool {
        self.column.is_none() || self.present.is_some_and(|number| number < self.counter)
    }

    /// Whether the number that was generated for the row filled last is that of a row in the table.
    ///
    /// # Errors
    /// A row whose bytes are damaged.
    pub fn generated_that_of(&self, row: &[u8], layout: &RowLayout) -> Result<bool, SqlError> {
        let (Some(number), Some(column)) = (self.present, self.column) else { return Ok(false) };
        let there = layout.decode(row, column).map_err(expr::damaged)?;
        Ok(there.as_u64() == Some(number))
    }

    /// The row came to its end: in the table, changed there, or left out by IGNORE.
    pub fn note_last(&mut self, values: &[OwnedDatum]) {
        if let Some(column) = self.column {
            self.last = number_of(values, column);
        }
    }

    /// The row that was filled last, if one was, is not inserted: another one is in its way.
    ///
    /// # Errors
    /// Storage errors.
    pub fn refused(
        &mut self,
        context: &mut Context<'_>,
        values: &[OwnedDatum],
    ) -> Result<(), SqlError> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        self.rows_left = self.rows_left.saturating_sub(1);
        self.next = self.present.unwrap_or(self.next);
        if self.insists { self.note(context, values, 0) } else { Ok(()) }
    }

    /// Raises the counter above the row's value, if that is at least `from`.
    fn note(
        &self,
        context: &mut Context<'_>,
        values: &[OwnedDatum],
        from: u64,
    ) -> Result<(), SqlError> {
        let Some(column) = self.column else { return Ok(()) };
        match values[column].datum().as_u64() {
            Some(value) if value > 0 && value >= from => {
                let last = self.steps.above(value) - 1;
                Ok(context.client.note_autoinc(context.tables.table(self.table), last)?)
            }
            _ => Ok(()),
        }
    }
}

/// The number in a row's AUTO_INCREMENT column, as a client is told it: negative ones as their two's complement.
pub fn number_of(values: &[OwnedDatum], column: usize) -> u64 {
    match &values[column] {
        OwnedDatum::Int(number) => *number as u64,
        other => other.datum().as_u64().unwrap_or(0),
    }
}

fn generated(
    def: &TableDef,
    column: usize,
    number: u64,
    strict: bool,
) -> Result<OwnedDatum, SqlError> {
    let (_, greatest) = def.columns[column].ty.int_range();
    let number = match u64::try_from(greatest) {
        Ok(greatest) if number > greatest && strict => {
            return Err(SqlError::Storage(base::Error::AutoincExhausted));
        }
        Ok(greatest) => number.min(greatest),
        Err(_) => number,
    };
    Ok(i64::try_from(number).map_or(OwnedDatum::UInt(number), OwnedDatum::Int))
}
