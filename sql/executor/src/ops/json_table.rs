//! JSON_TABLE: the rows that paths find in a document.
//!
//! 1. All rows of a document are made when the operator is opened, and counted as kept rows. 2. Of sibling
//! nested paths each makes rows of its own, in which the columns of the others are NULL.

use super::cells::Cells;
use super::derived::Leaf;
use super::store::RowStore;
use super::{Operator, Run};
use crate::ExecError;
use crate::{Environment, SqlError, WarningLevel};
use expr::functions::json;
use expr::{Frame, OwnedDatum, Typed, Value};
use planner::query_plan::{JsonColumn, JsonColumns, JsonOtherwise};
use value::json::{JsonRef, JsonValue};

/// The rows of a document.
pub struct JsonTable<'p> {
    pub(super) leaf: Leaf<'p>,
    pub(super) document: &'p Typed,
    pub(super) columns: &'p JsonColumns,
    pub(super) rows: Option<RowStore>,
    pub(super) at: usize,
    pub(super) cells: Cells,
}

impl Operator for JsonTable<'_> {
    fn open(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), SqlError> {
        self.leaf.open(run, frame)?;
        self.at = 0;
        let mut rows = RowStore::new(run.st);
        let document = run.eval(&self.document.expr, frame)?.into_owned();
        let bytes = json::document_of(&document.datum(), &self.document.ty, "json_table")?;
        if let Some(bytes) = bytes {
            let mut row = vec![OwnedDatum::Null; self.leaf.width()];
            let mut bytes_of_row = Vec::new();
            let (st, env) = (run.st, &mut *run.env);
            let mut emit = |row: &[OwnedDatum]| {
                st.tick()?;
                let cell = |n: usize| Ok(Value::Datum(row[n].datum()));
                let layout = self.leaf.layout();
                self.cells.write(layout, row.len(), cell, &mut bytes_of_row)?;
                rows.push(st, &bytes_of_row)
            };
            make_rows(self.columns, JsonRef::new(&bytes), &mut row, env, &mut emit)?;
        }
        self.rows = Some(rows);
        Ok(())
    }

    fn next(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<bool, SqlError> {
        match &mut self.rows {
            Some(rows) => self.leaf.next_of(rows, &mut self.at, run, frame),
            None => Ok(false),
        }
    }

    fn close(&mut self) {
        self.rows = None;
    }
}

type Emit<'e> = dyn FnMut(&[OwnedDatum]) -> Result<(), SqlError> + 'e;

/// Makes the rows of one level; how many.
fn make_rows(
    columns: &JsonColumns,
    value: JsonRef<'_>,
    row: &mut Vec<OwnedDatum>,
    env: &mut dyn Environment,
    emit: &mut Emit<'_>,
) -> Result<usize, SqlError> {
    let found = columns.path.find(value);
    for (n, part) in found.iter().enumerate() {
        for column in &columns.columns {
            match column {
                JsonColumn::Ordinality(at) => row[usize::from(*at)] = OwnedDatum::Int(n as i64 + 1),
                JsonColumn::Path { column: at, .. } => {
                    row[usize::from(*at)] = cell(column, *part, env)?
                }
                JsonColumn::Nested(_) => {}
            }
        }
        let mut nested = 0;
        for column in &columns.columns {
            if let JsonColumn::Nested(below) = column {
                nested += make_rows(below, *part, row, env, emit)?;
            }
        }
        if nested == 0 {
            emit(row)?;
        }
    }
    clear(columns, row);
    Ok(found.len())
}

/// The columns of a level and of those below become NULL.
fn clear(columns: &JsonColumns, row: &mut [OwnedDatum]) {
    for column in &columns.columns {
        match column {
            JsonColumn::Ordinality(at) | JsonColumn::Path { column: at, .. } => {
                row[usize::from(*at)] = OwnedDatum::Null;
            }
            JsonColumn::Nested(below) => clear(below, row),
        }
    }
}

/// The value of a column.
fn cell(
    column: &JsonColumn,
    part: JsonRef<'_>,
    env: &mut dyn Environment,
) -> Result<OwnedDatum, SqlError> {
    let JsonColumn::Path { name, ty, path, exists, on_empty, on_error, .. } = column else {
        return Ok(OwnedDatum::Null);
    };
    let found = path.find(part);
    if *exists {
        let exists = !found.is_empty();
        let (value, lost) = json::exists_value(exists, (name, ty), &env.convert_mode());
        warn(WarningLevel::Warning, lost, env);
        return Ok(value);
    }
    let several;
    let value = match found.as_slice() {
        [] => {
            return settle(on_empty, || SqlError::from(ExecError::MissingJsonValue(name)));
        }
        [one] => *one,
        all => {
            several = JsonValue::Array(all.iter().map(|v| JsonValue::of(*v)).collect()).to_bytes();
            JsonRef::new(&several)
        }
    };
    let fitted = json::column_value(value, (name, ty), &env.convert_mode());
    match fitted {
        Ok((value, lost)) => {
            warn(WarningLevel::Note, lost, env);
            Ok(value)
        }
        Err(misfit) => settle(on_error, || {
            warn(WarningLevel::Warning, misfit.warning, env);
            misfit.error
        }),
    }
}

fn warn(level: WarningLevel, said: Option<(u16, String)>, env: &mut dyn Environment) {
    if let Some((number, text)) = said {
        env.warn(level, number, text);
    }
}

/// What takes the place of a value that is not there.
fn settle(
    otherwise: &JsonOtherwise,
    error: impl FnOnce() -> SqlError,
) -> Result<OwnedDatum, SqlError> {
    match otherwise {
        JsonOtherwise::Null => Ok(OwnedDatum::Null),
        JsonOtherwise::Default(value) => Ok(value.clone()),
        JsonOtherwise::Error => Err(error()),
    }
}
