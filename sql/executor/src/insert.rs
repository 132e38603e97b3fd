//! INSERT and REPLACE of value lists.

use crate::computed::Computed;
use crate::store::{convert, default_of, encode, explain_duplicate};
use crate::{Context, Outcome, SqlError};
use catalog::{TableDef, TableRef};
use expr::OwnedDatum;
use expr::{Row, eval};
use instrument::Counter;
use planner::plan::{InsertPlan, InsertValue};
use value::Datum;

/// Runs the plan; the caller rolls back on error.
///
/// # Errors
/// Conversion and storage errors, 1062 for a duplicate key, 1467 when AUTO_INCREMENT is exhausted.
pub fn run(
    plan: &InsertPlan,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
) -> Result<Outcome, SqlError> {
    if plan.replace {
        return Err(SqlError::unsupported("REPLACE"));
    }
    let computed = Computed::of(context.tables.def(plan.table))?;
    let mut inserter = Inserter::new(plan.table, computed, plan.rows.len() as u64);
    let mut values = Vec::new();
    for (number, row) in (1..).zip(&plan.rows) {
        if number % 64 == 0 {
            crate::rows::check_killed()?;
        }
        evaluate(plan, row, number, context, params, &mut values)?;
        let given = |c: &usize| {
            let at = plan.columns.iter().position(|column| column == c);
            at.is_some_and(|at| matches!(row[at], InsertValue::Expr(_)))
        };
        let open: Vec<usize> = match inserter.computed.is_empty() {
            true => Vec::new(),
            false => (0..values.len()).filter(|c| !given(c)).collect(),
        };
        inserter.insert(context, &open, &mut values)?;
    }
    let rows = plan.rows.len();
    let info = if rows > 1 {
        format!("Records: {rows}  Duplicates: 0  Warnings: 0")
    } else {
        String::new()
    };
    instrument::count(Counter::InnodbRowsInserted, rows as u64);
    Ok(Outcome {
        affected_rows: rows as u64,
        last_insert_id: inserter.first_generated,
        info,
        ..Outcome::default()
    })
}

/// Values of one row in column order; NULL stands for "generate" in the AUTO_INCREMENT column.
fn evaluate(
    plan: &InsertPlan,
    row: &[InsertValue],
    number: u64,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    values: &mut Vec<OwnedDatum>,
) -> Result<(), SqlError> {
    let def = context.tables.def(plan.table);
    let scope = Row { params, ..Row::default() };
    values.clear();
    for (position, column) in def.columns.iter().enumerate() {
        let given = plan.columns.iter().position(|c| *c == position).map(|i| &row[i]);
        let value = match given {
            Some(InsertValue::Expr(expr)) => {
                let value = eval(expr, &scope, context.env)?;
                if column.auto_increment && value.get().is_null() {
                    OwnedDatum::Null
                } else if plan.rows.len() == 1 && value.get().is_null() && !column.ty.nullable {
                    // One row alone fails whatever the mode; several rows store the implicit default.
                    let text = format!("Column '{}' cannot be null", column.name);
                    return Err(SqlError::Other(1048, "23000", text));
                } else {
                    convert(&value.get(), &def.name, column, number, context.env)?
                }
            }
            None | Some(InsertValue::Default) if column.auto_increment => OwnedDatum::Null,
            None | Some(InsertValue::Default) => default_of(column, context.env)?,
        };
        values.push(value);
    }
    Ok(())
}

/// Inserts rows of one statement, giving out AUTO_INCREMENT values from one reservation.
struct Inserter {
    table: TableRef,
    computed: Computed,
    row: u64,
    rows_left: u64,
    next: u64,
    reserved: u64,
    first_generated: u64,
    encoded: Vec<u8>,
}

impl Inserter {
    fn new(table: TableRef, computed: Computed, rows: u64) -> Inserter {
        Inserter {
            table,
            computed,
            row: 0,
            rows_left: rows,
            next: 0,
            reserved: 0,
            first_generated: 0,
            encoded: Vec::new(),
        }
    }

    fn insert(
        &mut self,
        context: &mut Context<'_>,
        open: &[usize],
        values: &mut [OwnedDatum],
    ) -> Result<(), SqlError> {
        self.row += 1;
        // Nothing that is computed sees the number: a violated check takes none.
        if !self.computed.is_empty() {
            let table = context.tables.table(self.table);
            let target = (context.tables.def(self.table), table.layout(), self.row);
            self.computed.insert(target, open, values, context.env)?;
        }
        if let Some(column) = context.tables.def(self.table).autoinc_column() {
            self.number(context, column, &mut values[column])?;
        }
        self.rows_left -= 1;
        let table = context.tables.table(self.table);
        encode(table.layout(), values, &mut self.encoded)?;
        context
            .client
            .insert(table, &self.encoded)
            .map_err(|error| explain_duplicate(error, context, self.table, values))
    }

    /// Fills the AUTO_INCREMENT column, or takes note of an explicit value.
    fn number(
        &mut self,
        context: &mut Context<'_>,
        column: usize,
        value: &mut OwnedDatum,
    ) -> Result<(), SqlError> {
        let generate = match value {
            OwnedDatum::Null => true,
            OwnedDatum::Int(0) | OwnedDatum::UInt(0) => !context.env.zero_is_a_value(),
            _ => false,
        };
        let table = context.tables.table(self.table);
        if !generate {
            if let Some(explicit) = value.datum().as_u64() {
                context.client.note_autoinc(table, explicit)?;
            }
            return Ok(());
        }
        if self.reserved == 0 {
            self.next = context.client.reserve_autoinc(table, self.rows_left)?;
            self.reserved = self.rows_left;
        }
        let number = self.next;
        self.next += 1;
        self.reserved -= 1;
        if self.first_generated == 0 {
            self.first_generated = number;
        }
        *value = generated(context.tables.def(self.table), column, number)?;
        Ok(())
    }
}

fn generated(def: &TableDef, column: usize, number: u64) -> Result<OwnedDatum, SqlError> {
    let (_, greatest) = def.columns[column].ty.int_range();
    if i128::from(number) > greatest {
        return Err(SqlError::Storage(base::Error::AutoincExhausted));
    }
    Ok(i64::try_from(number).map_or(OwnedDatum::UInt(number), OwnedDatum::Int))
}
