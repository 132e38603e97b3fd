//! DDL: syntax to definitions, with MySQL's checks; the catalog does the work.

mod actions;
mod alter;
mod build;
mod comments;
mod copy;
mod create;
mod disallowed;
pub(crate) mod error;
mod foreign;
mod names;
mod options;
mod relatives;
mod row_format;
mod shape;
mod view;
mod way;

pub(crate) use alter::rebuild;
pub(crate) use comments::{Owner, comment};
pub(crate) use names::check_name;

use crate::ddl::error::DdlError;
use crate::turns::in_turns;
use crate::{Context, Outcome, SqlError, WarningLevel, views};
use catalog::{CatalogError, FullName, ReadContext, SchemaDef};
use parser::ast::{self, Ddl};
use planner::PlanError;
use std::collections::HashSet;
use std::sync::Arc;
use value::{Collation, Datum};

/// Runs a DDL statement, with values for the parameters of its query; the session has committed the open transaction
/// before.
///
/// # Errors
/// MySQL's errors of the statement.
pub fn run(
    ddl: &Ddl,
    params: &[Datum<'_>],
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    let wait = match ddl {
        Ddl::AlterTable(alter) => alter.how.wait,
        Ddl::CreateIndex(create) => create.how.wait,
        Ddl::DropIndex(drop) => drop.how.wait,
        Ddl::DropTable(drop) => drop.wait,
        Ddl::RenameTable(_, wait) | Ddl::Truncate(_, wait) => *wait,
        Ddl::CreateDatabase(_)
        | Ddl::AlterDatabase(_)
        | Ddl::DropDatabase(_)
        | Ddl::CreateTable(_)
        | Ddl::CreateView(_)
        | Ddl::AlterView(_)
        | Ddl::DropView(_) => None,
    };
    in_turns(wait, context, |context| define(ddl, params, context))
}

fn define(ddl: &Ddl, params: &[Datum<'_>], context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    match ddl {
        Ddl::CreateDatabase(create) => create_database(create, context),
        Ddl::DropDatabase(drop) => drop_database(drop, context),
        Ddl::AlterDatabase(alter) => alter_database(alter, context),
        Ddl::CreateTable(create) => create::create_table(create, params, context),
        Ddl::AlterTable(alter) => alter::alter_table(alter, context),
        Ddl::RenameTable(pairs, _) => rename_tables(pairs, context),
        Ddl::DropTable(drop) => drop_table(drop, context),
        Ddl::Truncate(name, _) => truncate(name, context),
        Ddl::CreateIndex(create) => alter::create_index(create, context),
        Ddl::DropIndex(drop) => alter::drop_index(drop, context),
        Ddl::CreateView(create) => view::create_view(create, false, context),
        Ddl::AlterView(alter) => view::create_view(alter, true, context),
        Ddl::DropView(drop) => view::drop_view(drop, context),
    }
}

fn create_database(
    create: &ast::CreateDatabase,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    check_name(&create.name, DdlError::DatabaseName)?;
    let fallback = context.env.server_collation();
    let options = &create.options;
    options.encryption.as_deref().map_or(Ok(()), options::encryption)?;
    let collation =
        collation_of(options.charset.as_deref(), options.collation.as_deref(), fallback)?;
    let def = SchemaDef { name: create.name.clone(), collation };
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    match catalog.create_schema(context.client, context.tables, def, deadline) {
        Err(CatalogError::DatabaseExists(name)) if create.if_not_exists => {
            note(context, CatalogError::DatabaseExists(name));
            Ok(Outcome { affected_rows: 1, ..Outcome::default() })
        }
        other => {
            other.map(|()| Outcome { affected_rows: 1, ..Outcome::default() }).map_err(Into::into)
        }
    }
}

fn alter_database(
    alter: &ast::AlterDatabase,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    let name = match (&alter.name, context.env.database()) {
        (Some(name), _) => name.clone(),
        (None, Some(current)) => current.to_string(),
        (None, None) => return Err(SqlError::NoDatabase),
    };
    let catalog = Arc::clone(context.tables.catalog());
    let old = catalog.schema(&name).ok_or(DdlError::NoSuchDatabase(&name))?;
    let options = &alter.options;
    if options.read_only == Some(true) {
        return Err(SqlError::unsupported("ALTER DATABASE ... READ ONLY = 1"));
    }
    options.encryption.as_deref().map_or(Ok(()), options::encryption)?;
    let collation =
        collation_of(options.charset.as_deref(), options.collation.as_deref(), old.collation)?;
    let deadline = context.env.lock_deadline();
    let def = SchemaDef { name, collation };
    match catalog.alter_schema(context.client, context.tables, def, deadline) {
        // It went while this one waited.
        Err(CatalogError::UnknownDatabase(name)) => Err(DdlError::NoSuchDatabase(&name).into()),
        other => {
            other.map(|()| Outcome { affected_rows: 1, ..Outcome::default() }).map_err(Into::into)
        }
    }
}

fn rename_tables(
    pairs: &[(ast::ObjectName, ast::ObjectName)],
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    let full = |name: &ast::ObjectName| -> Result<FullName, SqlError> {
        Ok((context.schema_of(name)?, name.name.clone()))
    };
    let mut renames = Vec::new();
    for (from, to) in pairs {
        check_name(&to.name, DdlError::TableName)?;
        renames.push((full(from)?, full(to)?));
    }
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    for (from, to) in &renames {
        if let Some(moved) = catalog.definition(&from.0, &from.1)?
            && catalog.is_view(&to.0, &to.1).is_none()
        {
            foreign::adopted(&moved.def, to, context)?;
        }
    }
    catalog.rename_tables(context.client, context.tables, &renames, deadline)?;
    Ok(Outcome::default())
}

fn drop_database(drop: &ast::DropDatabase, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let orphans = !crate::foreign::checked(context)?;
    match catalog.drop_schema(context.client, context.tables, &drop.name, orphans, deadline) {
        Ok(tables) => {
            context.env.schema_dropped(&drop.name);
            Ok(Outcome { affected_rows: tables, ..Outcome::default() })
        }
        Err(CatalogError::DropMissingDatabase(name)) if drop.if_exists => {
            note(context, CatalogError::DropMissingDatabase(name));
            Ok(Outcome::default())
        }
        Err(error) => Err(error.into()),
    }
}

fn drop_table(drop: &ast::DropTable, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    let names = drop
        .tables
        .iter()
        .map(|name| Ok((context.schema_of(name)?, name.name.clone())))
        .collect::<Result<Vec<_>, SqlError>>()?;
    let mut before = HashSet::with_capacity(names.len());
    if let Some(name) = names.iter().find(|name| !before.insert(*name)) {
        return Err(PlanError::NotUniqueTable(&name.1).into());
    }
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let which = (drop.if_exists, drop.temporary, !crate::foreign::checked(context)?);
    let missing = catalog.drop_tables(context.client, context.tables, &names, which, deadline)?;
    for name in missing {
        note(context, CatalogError::UnknownTables(name));
    }
    Ok(Outcome::default())
}

fn truncate(name: &ast::ObjectName, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    if let Some(view) = views::truncatable(name, context)? {
        context.tables.admit_virtual_change(&view.def().schema, &view.def().name)?;
        let catalog = context.tables.catalog();
        view.table().truncate(&ReadContext { viewer: &*context.env, catalog, equal: &[] });
        return Ok(Outcome::default());
    }
    let schema = context.schema_of(name)?;
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let (orphans, full) = (!crate::foreign::checked(context)?, (&*schema, &*name.name));
    catalog.truncate_table(context.client, context.tables, full, orphans, deadline)?;
    Ok(Outcome::default())
}

fn note(context: &mut Context<'_>, error: CatalogError) {
    let (number, _, text) = SqlError::from(error).parts();
    context.env.warn(WarningLevel::Note, number, text);
}

/// The collation that CHARACTER SET and COLLATE options name together.
pub(crate) fn collation_of(
    charset: Option<&str>,
    collation: Option<&str>,
    fallback: Collation,
) -> Result<Collation, SqlError> {
    Ok(Collation::of_clauses(charset, collation, fallback)?)
}
