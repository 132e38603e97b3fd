//! CREATE TABLE in its forms.

use super::build::Builder;
use super::error::DdlError;
use super::foreign;
use super::names::check_name;
use super::{note, options, row_format};
use crate::insert::numbers::number_of;
use crate::insert::select::Selection;
use crate::locking::Use;
use crate::operators::Operators;
use crate::write::convert::{convert, default_of};
use crate::write::fill::TableFiller;
use crate::{Context, Environment, Outcome, SqlError, WarningLevel};
use catalog::{CatalogError, ColumnDef, DefaultValue, TableDef};
use engine::{Client, Steps, Table};
use expr::OwnedDatum;
use parser::ast;
use planner::PlanContext;
use std::sync::Arc;
use value::name::same_name;
use value::{ColumnType, Datum};

/// CREATE [TEMPORARY] TABLE, with columns or LIKE another one.
///
/// # Errors
/// MySQL's errors of the definition, 1050.
pub fn create_table(
    create: &ast::CreateTable,
    params: &[Datum<'_>],
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    let refused = [
        (create.on_duplicate.is_some(), "CREATE TABLE ... IGNORE or REPLACE ... SELECT"),
        (create.partitioned, "PARTITION BY"),
        (create.start_transaction, "CREATE TABLE ... START TRANSACTION"),
    ];
    if let Some((_, what)) = refused.iter().find(|(written, _)| *written) {
        return Err(SqlError::unsupported(*what));
    }
    check_name(&create.name.name, DdlError::TableName)?;
    let schema = context.schema_of(&create.name)?;
    if create.temporary {
        context.tables.admit_temporary()?;
    }
    let catalog = Arc::clone(context.tables.catalog());
    if let Some(query) = &create.query {
        return create_as(create, (query, params), schema, context);
    }
    let (mut new, start) = match &create.like {
        Some(other) => (like(other, schema, &create.name.name, context)?, 1),
        None => define(create, schema, Vec::new(), context)?,
    };
    require_primary_key(&new, context)?;
    new.temporary = create.temporary;
    new.created_us = context.env.now_us();
    let is_there = context.tables.catalog().is_view(&new.schema, &new.name).is_some();
    if !is_there || new.temporary {
        foreign::settle(None, &mut new, context)?;
        foreign::adopted(&new, &new.full_name(), context)?;
    }
    let deadline = context.env.lock_deadline();
    match catalog.create_table(context.client, context.tables, new, start, deadline) {
        Err(CatalogError::TableExists(name)) if create.if_not_exists => {
            note(context, CatalogError::TableExists(name));
            Ok(Outcome::default())
        }
        other => other.map(|()| Outcome::default()).map_err(Into::into),
    }
}

/// `sql_require_primary_key`: a table without one is neither made nor altered.
///
/// # Errors
/// 3750.
pub fn require_primary_key(def: &TableDef, context: &Context<'_>) -> Result<(), SqlError> {
    let wanted = context.env.system_variable(false, "sql_require_primary_key");
    let wanted = wanted.is_ok_and(|on| on.datum().as_u64() == Some(1));
    if !wanted || def.clustered().is_some() {
        return Ok(());
    }
    Err(DdlError::PrimaryKeyRequired.into())
}

fn define(
    create: &ast::CreateTable,
    schema: String,
    selected: Vec<ColumnDef>,
    context: &mut Context<'_>,
) -> Result<(TableDef, u64), SqlError> {
    let catalog = context.tables.catalog();
    let fallback = catalog.schema(&schema).map_or(context.env.server_collation(), |s| s.collation);
    let mut base = TableDef::new(schema, &create.name.name, Vec::new(), fallback);
    let mut charsets = options::Charsets::default();
    create.options.iter().try_for_each(|option| charsets.option(option))?;
    let applied = options::apply(&create.options, &mut base, context.env)?;
    row_format::settle(&mut base, (create.temporary, false), context.env)?;
    if create.columns.is_empty() && selected.is_empty() {
        return Err(DdlError::NoColumns.into());
    }
    let mut builder = Builder::new(&base);
    for column in &create.columns {
        builder.add_column(column, None, context.env)?;
    }
    for column in selected {
        match builder.shape.written(&column.name) {
            // What is written and selected, too, stands among the selected.
            Some(at) => builder.shape.put_last(at, &column),
            None => builder.shape.add(column, None, &base.name).map(|_| ())?,
        }
    }
    create.keys.iter().try_for_each(|key| builder.add_key(key))?;
    let (mut def, _) = builder.finish(&base, context.env)?;
    if applied.no_foreign_keys {
        forget_foreign_keys(&mut def);
    }
    Ok((def, applied.autoinc.unwrap_or(1)))
}

/// The definition of another table under a new name: without its rows and its counter.
fn like(
    other: &ast::ObjectName,
    schema: String,
    name: &str,
    context: &mut Context<'_>,
) -> Result<TableDef, SqlError> {
    let from = context.schema_of(other)?;
    let deadline = context.env.lock_deadline();
    let table = context.tables.open(context.client, &from, &other.name, mdl::Mode::SR, deadline)?;
    let old = context.tables.def(table);
    if old.view.is_some() {
        let (schema, name) = (from, other.name.clone());
        return Err(CatalogError::NotBaseTable { schema, name }.into());
    }
    let mut new = old.clone();
    new.columns.iter().for_each(|column| warn_of_copied(&column.ty, context));
    // Names of checks are a schema's: the copy's are made anew.
    for (number, check) in (1..).zip(&mut new.checks) {
        check.name = format!("{name}_chk_{number}");
    }
    (new.schema, new.name) = (schema, name.to_string());
    new.clustered_id = base::IndexId(0);
    new.indexes.iter_mut().for_each(|i| i.id = base::IndexId(0));
    new.foreign_keys.clear();
    Ok(new)
}

/// Warns of a type that somebody wrote long ago and that is copied now.
fn warn_of_copied(ty: &ColumnType, context: &mut Context<'_>) {
    let float = ty.kind.is_float();
    let digits = float && ty.decimals != value::types::NOT_FIXED;
    let unsigned = ty.unsigned && (float || ty.kind == value::Kind::Decimal);
    let zerofill = ty.zerofill && ty.kind != value::Kind::Year;
    for (number, text) in parser::of_copied(digits, unsigned, zerofill) {
        context.env.warn(WarningLevel::Warning, number, text.into());
    }
}

/// A table without foreign keys keeps the indexes that were made for them.
fn forget_foreign_keys(def: &mut TableDef) {
    def.foreign_keys.clear();
    def.indexes.iter_mut().for_each(|i| i.attributes.generated = false);
}

/// CREATE TABLE ... [AS] SELECT: columns that are written, then those of the query that are not.
fn create_as(
    create: &ast::CreateTable,
    (query, params): (&ast::Query, &[Datum<'_>]),
    schema: String,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    let (parameters, params) = crate::parameters::of_values(params);
    let mut planning = PlanContext { parameters, ..context.planning() };
    let plan = planner::query::plan_copied(&mut planning, query)?;
    for (number, text) in planning.warnings {
        context.env.warn(WarningLevel::Warning, number, text);
    }
    let mut selected = super::view::result_columns(&[], &plan, false, context)?;
    let outputs = plan.query.outputs.iter().map(Some).chain(std::iter::repeat(None));
    for (column, output) in selected.iter_mut().zip(outputs) {
        column.ty = storable(column.ty, output.is_some_and(is_made));
        if column.ty.kind.is_large() && matches!(column.default, DefaultValue::Bytes(_)) {
            column.default = DefaultValue::None;
        }
    }
    let names: Vec<String> = selected.iter().map(|c| c.name.clone()).collect();
    let written = |name: &str| create.columns.iter().any(|c| same_name(&c.name, name));
    let copied = selected.iter().filter(|c| !written(&c.name));
    copied.for_each(|column| warn_of_copied(&column.ty, context));
    let (mut new, start) = define(create, schema, selected, context)?;
    refuse_selected(&new, &names)?;
    require_primary_key(&new, context)?;
    new.temporary = create.temporary;
    new.created_us = context.env.now_us();
    let settled = foreign::settle(None, &mut new, context)?;
    foreign::adopted(&new, &new.full_name(), context)?;
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    // Before the query runs: a statement that waits by turns is begun anew after each of its gaps.
    match catalog.claim_table(context.client, context.tables, &new, deadline) {
        Err(CatalogError::TableExists(name)) if create.if_not_exists => {
            note(context, CatalogError::TableExists(name));
            return Ok(Outcome::default());
        }
        claimed => claimed?,
    }
    let operators = Operators::once(&plan, &params, context)?;
    let mut selection = Selection::new((&plan, Use::Copied), operators, &params);
    selection.read_all(context)?;
    let def = new.clone();
    let mut rows = SelectedRows::new(&def, &names)?;
    let env = &mut *context.env;
    let fill = &mut |client: &mut Client, table: &Table| -> Result<(), SqlError> {
        while selection.next_buffered()? {
            rows.insert(&selection.values(names.len())?, (client, table), env)?;
        }
        settled.verify(client, &def, table, &def.name)
    };
    let filled: (u64, &mut catalog::FillRows<'_, SqlError>) = (start, fill);
    let made = catalog.create_filled(context.client, context.tables, new, filled, deadline);
    match made {
        Err(SqlError::Catalog(CatalogError::TableExists(name))) if create.if_not_exists => {
            note(context, CatalogError::TableExists(name));
            Ok(Outcome::default())
        }
        other => {
            other?;
            Ok(rows.outcome(context.env.warning_count()))
        }
    }
}

/// The rows of a query in the table that is made of them.
struct SelectedRows<'t> {
    def: &'t TableDef,
    /// For each column, the query's that it takes.
    places: Vec<Option<usize>>,
    filler: TableFiller<'t>,
    rows: u64,
    first_generated: u64,
    last: u64,
}

impl<'t> SelectedRows<'t> {
    fn new(def: &'t TableDef, names: &[String]) -> Result<SelectedRows<'t>, SqlError> {
        let place = |c: &ColumnDef| names.iter().position(|name| same_name(name, &c.name));
        let places: Vec<Option<usize>> = def.columns.iter().map(place).collect();
        let omitted = (0..places.len()).filter(|c| places[*c].is_none());
        let filler = TableFiller::new(def, omitted.collect())?;
        Ok(SelectedRows { def, places, filler, rows: 0, first_generated: 0, last: 0 })
    }

    fn insert(
        &mut self,
        row: &[Datum<'_>],
        (client, table): (&mut Client, &Table),
        env: &mut dyn Environment,
    ) -> Result<(), SqlError> {
        self.rows += 1;
        let mut values = Vec::with_capacity(self.places.len());
        for (column, place) in self.def.columns.iter().zip(&self.places) {
            values.push(match place {
                Some(at) => convert((&row[*at], None), &self.def.name, column, self.rows, env)?,
                None if column.auto_increment => {
                    let next = client.reserve_autoinc(table, 1, Steps::default())?;
                    if self.first_generated == 0 {
                        self.first_generated = next;
                    }
                    i64::try_from(next).map_or(OwnedDatum::UInt(next), OwnedDatum::Int)
                }
                None => default_of(column, env)?,
            });
        }
        self.filler.append((client, table), (self.rows, &mut values), env)?;
        self.last = self.def.autoinc_column().map_or(0, |column| number_of(&values, column));
        Ok(())
    }

    fn outcome(&self, warnings: u64) -> Outcome {
        let rows = self.rows;
        Outcome {
            affected_rows: rows,
            last_insert_id: self.first_generated,
            row_id: Some(self.last),
            info: format!("Records: {rows}  Duplicates: 0  Warnings: {warnings}"),
            ..Outcome::default()
        }
    }
}

/// A generated column takes no value of the query.
fn refuse_selected(new: &TableDef, names: &[String]) -> Result<(), SqlError> {
    let selected = |c: &&ColumnDef| names.iter().any(|name| same_name(name, &c.name));
    match new.columns.iter().filter(|c| c.generated.is_some()).find(selected) {
        Some(column) => Err(planner::resolve::not_allowed(&column.name, &new.name)),
        None => Ok(()),
    }
}

/// Whether an output is made by the query, and no column or extreme of one.
fn is_made(output: &planner::plan::Output) -> bool {
    let column = &output.column;
    let named = matches!(output.value.expr, expr::Expr::Column(_));
    column.org_table.is_empty() && (column.is_materialized || !named)
}

/// The type of a column that can hold what the query yields; text that the query makes lies outside of the rows where
/// it may be long.
fn storable(ty: ColumnType, made: bool) -> ColumnType {
    /// Characters of text that is kept in rows.
    const CHARS_MAX: u32 = 512;
    /// Bytes of a LONGTEXT at least; a variable's text is one byte short of it.
    const LONG_BYTES: u64 = (1 << 24) - 1;
    let binary = ty.kind == value::Kind::VarBinary;
    let varying = binary || ty.kind == value::Kind::VarChar;
    if varying && (ty.check().is_err() || made && ty.length > CHARS_MAX) {
        let bytes = u64::from(ty.length) * u64::from(ty.collation.bytes_per_char_max());
        let bytes = if bytes == LONG_BYTES { bytes + 1 } else { bytes };
        let kind = value::Kind::large_for(bytes, binary);
        return ColumnType { nullable: ty.nullable, ..ColumnType::large(kind, ty.collation) };
    }
    if ty.kind == value::Kind::Double && ty.decimals < value::types::NOT_FIXED && ty.length == 0 {
        // A number that is shown with so many digits.
        return ColumnType { length: 22, ..ty };
    }
    let (long, binary) = (value::Kind::LongText, ty.kind == value::Kind::LongBlob);
    if (ty.kind == long || binary) && ty.length < u32::MAX {
        // What is computed says how long it may be.
        let kind = value::Kind::large_for(u64::from(ty.length), binary);
        return ColumnType { nullable: ty.nullable, ..ColumnType::large(kind, ty.collation) };
    }
    if ty.kind.is_large() {
        // An extreme of a column counts its bytes otherwise.
        return ColumnType { nullable: ty.nullable, ..ColumnType::large(ty.kind, ty.collation) };
    }
    ty
}
