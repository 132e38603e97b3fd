//! CREATE TABLE in its forms.

use super::build::Builder;
use super::names::check_name;
use super::{note, options};
use crate::{Context, Outcome, SqlError};
use catalog::{CatalogError, TableDef};
use parser::ast;
use std::sync::Arc;

/// CREATE [TEMPORARY] TABLE, with columns or LIKE another one.
///
/// # Errors
/// MySQL's errors of the definition, 1050.
pub fn create_table(
    create: &ast::CreateTable,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    let refused = [
        (create.query.is_some(), "CREATE TABLE ... SELECT"),
        (create.partitioned, "PARTITION BY"),
        (create.start_transaction, "CREATE TABLE ... START TRANSACTION"),
    ];
    if let Some((_, what)) = refused.iter().find(|(written, _)| *written) {
        return Err(SqlError::unsupported(*what));
    }
    check_name(&create.name.name, 1103, "Incorrect table name")?;
    let schema = context.schema_of(&create.name)?;
    let catalog = Arc::clone(context.tables.catalog());
    let (mut new, start) = match &create.like {
        Some(other) => (like(other, schema, &create.name.name, context)?, 1),
        None => define(create, schema, context)?,
    };
    new.temporary = create.temporary;
    new.created_us = context.env.now_us();
    let deadline = context.env.lock_deadline();
    match catalog.create_table(context.client, context.tables, new, start, deadline) {
        Err(CatalogError::TableExists(name)) if create.if_not_exists => {
            note(context, CatalogError::TableExists(name));
            Ok(Outcome::default())
        }
        other => other.map(|()| Outcome::default()).map_err(Into::into),
    }
}

fn define(
    create: &ast::CreateTable,
    schema: String,
    context: &mut Context<'_>,
) -> Result<(TableDef, u64), SqlError> {
    let catalog = context.tables.catalog();
    let fallback = catalog.schema(&schema).map_or(context.env.server_collation(), |s| s.collation);
    let mut base = TableDef::new(schema, &create.name.name, Vec::new(), fallback);
    let asked = options::apply(&create.options, &mut base, context.env)?;
    if create.columns.is_empty() {
        return Err(SqlError::Other(1113, "42000", "A table must have at least 1 column".into()));
    }
    let mut builder = Builder::new(&base);
    for column in &create.columns {
        builder.add_column(column, None, context.env)?;
    }
    create.keys.iter().try_for_each(|key| builder.add_key(key))?;
    let (def, _) = builder.finish(&base, context.env)?;
    Ok((def, asked.autoinc.unwrap_or(1)))
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
    // Names of checks are a schema's: the copy's are made anew.
    for (number, check) in (1..).zip(&mut new.checks) {
        check.name = format!("{name}_chk_{number}");
    }
    (new.schema, new.name) = (schema, name.to_string());
    new.clustered_id = base::IndexId(0);
    new.indexes.iter_mut().for_each(|i| i.id = base::IndexId(0));
    Ok(new)
}
