//! LOAD DATA: rows out of a text file.
//!
//! 1. A line's fields go into columns and user variables in the order of the list; SET is evaluated over the row
//!    that they make. 2. A file of the client is read while rows are inserted; what is left of it is read and
//!    forgotten when the statement ends early.

use super::records::Records;
use super::subqueries::{self, leaf};
use super::{Inserter, stored};
use crate::ExecError;
use crate::files::{self, Format};
use crate::write::compute::RowShape;
use crate::write::convert::{convert, default_of, implicit_default};
use crate::write::error::{RowError, leniently};
use crate::{Context, Environment, Outcome, RowSink, SqlError};
use catalog::TableDef;
use expr::{OwnedDatum, Typed};
use planner::plan::{InsertValue, LoadField, LoadPlan};
use std::io::Read;
use std::sync::Arc;
use value::{Charset, Collation, ColumnType, Datum, Kind};

/// Runs the plan; the caller rolls back on error.
///
/// # Errors
/// 1083, 1290, 3948, those of the file and of an INSERT.
pub fn run(
    plan: &LoadPlan,
    context: &mut Context<'_>,
    params: &[Datum<'_>],
    sink: &mut dyn RowSink,
) -> Result<Outcome, SqlError> {
    let format = Format::of(&plan.format)?;
    let text = text_type(plan, context.env)?;
    let source: Box<dyn Read + '_> = match plan.local {
        true => {
            if context.env.system_variable(true, "local_infile")? != OwnedDatum::Int(1) {
                return Err(local_disabled());
            }
            sink.local_file(&plan.file)?
        }
        false => Box::new(files::open(&plan.file, context.env)?),
    };
    let mut records = Records::new(source, format);
    let loader = Loader { plan, text };
    leniently(plan.insert.ignore, context, |context| loader.rows(&mut records, context, params))
}

/// 3948.
pub fn local_disabled() -> SqlError {
    ExecError::LocalDisabled.into()
}

/// The type that the file's fields have.
fn text_type(plan: &LoadPlan, env: &dyn Environment) -> Result<ColumnType, SqlError> {
    let name = match &plan.charset {
        Some(name) => name.clone(),
        None => match env.system_variable(false, "character_set_database") {
            Ok(OwnedDatum::Bytes(name)) => String::from_utf8_lossy(&name).into_owned(),
            _ => "utf8mb4".to_string(),
        },
    };
    let collation = match Charset::from_name(&name) {
        Some(charset) => charset.default_collation(),
        None if name.eq_ignore_ascii_case("binary") => Collation::Binary,
        None => {
            return Err(ExecError::UnknownCharset(&name).into());
        }
    };
    Ok(ColumnType::large(Kind::LongText, collation))
}

struct Loader<'p> {
    plan: &'p LoadPlan,
    text: ColumnType,
}

impl Loader<'_> {
    fn rows(
        &self,
        records: &mut Records<'_>,
        context: &mut Context<'_>,
        params: &[Datum<'_>],
    ) -> Result<Outcome, SqlError> {
        let insert = &self.plan.insert;
        let mut inserter = Inserter::new(insert, context, params)?;
        let layout = Arc::new(context.tables.table(insert.table).layout().clone());
        inserter.seen.leaves.push(leaf(&layout));
        let done = self.lines(records, &mut inserter, context);
        inserter.numbers.end(context);
        done?;
        let Inserter { records, inserted, deleted, .. } = inserter;
        let warnings = context.env.warning_count();
        let skipped = records - inserted;
        let info = format!(
            "Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}"
        );
        let last_insert_id = inserter.numbers.first_generated;
        Ok(Outcome {
            affected_rows: inserted + deleted,
            last_insert_id,
            info,
            ..Outcome::default()
        })
    }

    /// Inserts the rows of all lines.
    fn lines(
        &self,
        records: &mut Records<'_>,
        inserter: &mut Inserter<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), SqlError> {
        records.skip(self.plan.skip)?;
        let mut values = Vec::new();
        while let Some(fields) = records.line()? {
            crate::rows::check_killed()?;
            inserter.records += 1;
            let number = inserter.records;
            let done = self
                .row(inserter, fields, context, &mut values)
                .map_err(|error| super::of_view(error, &self.plan.insert))
                .and_then(|()| inserter.put(context, &mut values));
            if inserter.end_row(done, &values, context)? {
                // MySQL does not count such a row, nor looks at the rest of its line.
                inserter.records -= 1;
                continue;
            }
            if fields.len() > self.plan.fields.len() {
                RowError::ManyFields(number).unless_lenient(context.env)?;
            }
        }
        Ok(())
    }

    /// Values of a line in column order.
    fn row(
        &self,
        inserter: &mut Inserter<'_>,
        fields: &[Option<Vec<u8>>],
        context: &mut Context<'_>,
        values: &mut Vec<OwnedDatum>,
    ) -> Result<(), SqlError> {
        let (plan, number) = (self.plan, inserter.records);
        let def = context.tables.def(plan.insert.table);
        inserter.start(def, context.env, values)?;
        for (n, field) in plan.fields.iter().enumerate() {
            match field {
                LoadField::Variable(name) => {
                    let text = fields.get(n).cloned().flatten();
                    let value = text.map_or(OwnedDatum::Null, OwnedDatum::Bytes);
                    let variable = expr::UserVariable::of(value, &self.text);
                    context.env.set_user_variable(name, variable);
                }
                LoadField::Column(column) => {
                    let field = fields.get(n).map(Option::as_deref);
                    values[*column] = self.value(field, def, *column, number, context.env)?;
                }
            }
        }
        for (column, value) in &plan.assignments {
            inserter.omitted.retain(|omitted| omitted != column);
            let value = match value {
                InsertValue::Default => None,
                InsertValue::Expr(typed) => {
                    Some((self.assigned(inserter, typed, context, values)?, &typed.ty))
                }
            };
            let def = context.tables.def(plan.insert.table);
            let named = &def.columns[*column];
            values[*column] = match value {
                None => default_of(named, context.env)?,
                Some((value, ty)) => {
                    stored((&value.datum(), Some(ty)), def, named, (number, false), context.env)?
                }
            };
        }
        Ok(())
    }

    /// The value of an assignment over the row as it is so far.
    fn assigned(
        &self,
        inserter: &mut Inserter<'_>,
        value: &Typed,
        context: &mut Context<'_>,
        values: &[OwnedDatum],
    ) -> Result<OwnedDatum, SqlError> {
        let shape = RowShape::of(context.tables, self.plan.insert.table)?;
        shape.encode_so_far(values, &mut inserter.seen.leaves[0].bytes)?;
        let what = (&value.expr, &mut inserter.seen);
        let (table, params) = (self.plan.insert.table, inserter.params);
        subqueries::assigned(inserter.subqueries.as_mut(), what, table, context, params)
    }

    /// A field as its column stores it; `None`: the line has no such field.
    fn value(
        &self,
        field: Option<Option<&[u8]>>,
        def: &TableDef,
        column: usize,
        number: u64,
        env: &mut dyn Environment,
    ) -> Result<OwnedDatum, SqlError> {
        let named = &def.columns[column];
        match field {
            None => {
                RowError::FewFields(number).unless_lenient(env)?;
                match named.ty.nullable {
                    true if !named.ty.kind.is_string() && !named.ty.kind.is_int() => {
                        Ok(OwnedDatum::Null)
                    }
                    _ => Ok(implicit_default(&named.ty)),
                }
            }
            // It is computed, whatever the file says.
            Some(_) if named.generated.is_some() => Ok(OwnedDatum::Null),
            Some(None) if named.ty.nullable || named.auto_increment => Ok(OwnedDatum::Null),
            Some(None) => {
                RowError::NullLoaded(&named.name, number).unless_lenient(env)?;
                Ok(implicit_default(&named.ty))
            }
            Some(Some(text)) => {
                let value = (&Datum::Bytes(text), Some(&self.text));
                convert(value, &def.name, named, number, env)
            }
        }
    }
}
