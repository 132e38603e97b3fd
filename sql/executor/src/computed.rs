//! What a definition computes when a row is written: default expressions, generated columns, CHECK.
//!
//! 1. Defaults first, then generated columns in the order of the columns, then checks: each sees what was
//! computed before it. 2. A condition that is unknown is no violation. 3. Expressions are bound to the
//! definition they are used with, once per statement.

use crate::store::convert;
use crate::{Environment, SqlError, WarningLevel};
use catalog::{ColumnDef, DefaultValue, TableDef};
use expr::functions::json::missed;
use expr::tree::{Column, Expr, Typed};
use expr::{OwnedDatum, Row, condition, eval};
use parser::ast::{self, Statement};
use value::RowLayout;

/// A definition's expressions, bound.
#[derive(Debug, Default)]
pub struct Computed {
    defaults: Vec<(usize, Typed)>,
    generated: Vec<(usize, Typed)>,
    checks: Vec<(String, Expr)>,
}

impl Computed {
    /// Binds the expressions of a definition.
    ///
    /// # Errors
    /// Those of binding.
    pub fn of(def: &TableDef) -> Result<Computed, SqlError> {
        let mut made = Computed::default();
        for (position, column) in def.columns.iter().enumerate() {
            if let DefaultValue::Expr(text) = &column.default
                && column.generated.is_none()
            {
                let value = bind_typed(def, text, "definition")?;
                made.defaults.push((position, expr::build::stored(&value, column.ty.kind)));
            }
            if let Some(generated) = &column.generated {
                let value = bind_typed(def, &generated.text, "definition")?;
                made.generated.push((position, expr::build::stored(&value, column.ty.kind)));
            }
        }
        for check in def.checks.iter().filter(|c| c.enforced) {
            made.checks.push((check.name.clone(), bind(def, &check.text)?));
        }
        Ok(made)
    }

    /// Computes the defaults of columns, then what [`Self::finish`] does. `open`: positions of the columns
    /// that were given no value; those without a default expression are left alone.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub fn insert(
        &self,
        target: (&TableDef, &RowLayout, u64),
        open: &[usize],
        values: &mut [OwnedDatum],
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        let wanted = self.defaults.iter().filter(|(column, _)| open.contains(column));
        for (column, expr) in wanted {
            values[*column] = self.value(target, *column, expr, values, env)?;
        }
        self.finish(target, values, env)
    }

    /// Nothing is computed.
    pub fn is_empty(&self) -> bool {
        self.defaults.is_empty() && self.generated.is_empty() && self.checks.is_empty()
    }

    /// Computes the generated columns and checks the row. `target`: the table, its layout, and the row's
    /// number in messages.
    ///
    /// # Errors
    /// 3819, and those of evaluation and conversion.
    pub fn finish(
        &self,
        target: (&TableDef, &RowLayout, u64),
        values: &mut [OwnedDatum],
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        for (column, expr) in &self.generated {
            values[*column] = self.value(target, *column, expr, values, env)?;
        }
        if self.checks.is_empty() {
            return Ok(());
        }
        let (def, layout, _) = target;
        let bytes = provisional(def, layout, values)?;
        for (name, expr) in &self.checks {
            let row = Row::one(layout, &bytes, &[]);
            if condition(expr, &row, env)? == Some(false) {
                if let Some(missed) = missed(expr, &row, env)? {
                    env.warn(WarningLevel::Error, 3934, missed);
                }
                let text = format!("Check constraint '{name}' is violated.");
                return Err(SqlError::Other(3819, "HY000", text));
            }
        }
        Ok(())
    }

    fn value(
        &self,
        (def, layout, number): (&TableDef, &RowLayout, u64),
        column: usize,
        typed: &Typed,
        values: &[OwnedDatum],
        env: &mut dyn Environment,
    ) -> Result<OwnedDatum, SqlError> {
        let bytes = provisional(def, layout, values)?;
        let names = ColumnNames(def);
        let row = Row { names: Some(&names), ..Row::one(layout, &bytes, &[]) };
        let value = eval(&typed.expr, &row, env)?;
        convert((&value.get(), Some(&typed.ty)), &def.name, &def.columns[column], number, env)
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

/// The row as it is so far; what is not known yet and may not be NULL is zero or empty.
fn provisional(
    def: &TableDef,
    layout: &RowLayout,
    values: &[OwnedDatum],
) -> Result<Vec<u8>, SqlError> {
    let known = |(value, column): (&OwnedDatum, &ColumnDef)| match value {
        OwnedDatum::Null if !column.ty.nullable => {
            OwnedDatum::of(&value::coerce::implicit_default(&column.ty, &mut Vec::new()))
        }
        known => known.clone(),
    };
    let values: Vec<OwnedDatum> = values.iter().zip(&def.columns).map(known).collect();
    let mut bytes = Vec::new();
    crate::store::encode(layout, &values, &mut bytes)?;
    Ok(bytes)
}

/// Reads the text of an expression.
///
/// # Errors
/// 1812: the stored text is no expression.
pub fn parse(text: &str) -> Result<ast::Expr, SqlError> {
    let sql = format!("DO {text}");
    match parser::parse(sql.as_bytes(), parser::SqlMode::default()) {
        Ok(Statement::Do(mut list)) if list.len() == 1 => Ok(list.remove(0)),
        _ => {
            let text = format!("Definition of '{text}' cannot be read");
            Err(SqlError::Other(1812, "HY000", text))
        }
    }
}

fn bind(def: &TableDef, text: &str) -> Result<Expr, SqlError> {
    Ok(bind_typed(def, text, "definition")?.expr)
}

/// Binds an expression of a table's definition to its columns; `clause` is where messages say it stands.
///
/// # Errors
/// Those of binding.
pub fn bind_typed(def: &TableDef, text: &str, clause: &'static str) -> Result<Typed, SqlError> {
    let tree = parse(text)?;
    planner::bind::Scope::new(Some((def, &def.name)), clause).bind(&tree)
}
