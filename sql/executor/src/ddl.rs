//! DDL: syntax to definitions, with MySQL's checks; the catalog does the work.

use crate::columns::define_column;
use crate::indexes::{arrange, define_index, define_indexes};
use crate::rows::{self, Source};
use crate::store;
use crate::{Context, Environment, Outcome, SqlError, WarningLevel, views};
use catalog::{Alter, CatalogError, ColumnDef, IndexDef, SchemaDef, TableDef};
use parser::ast::{self, Statement, TableOption};
use planner::plan::Access;
use std::ops::ControlFlow;
use std::sync::Arc;
use value::{Collation, ColumnType, KeySpec, limits};

const NAME_CHARS_MAX: usize = 64;

/// Refuses what neither this module nor the session runs.
pub fn check(statement: &Statement) -> Result<(), SqlError> {
    match statement {
        Statement::CreateDatabase(_)
        | Statement::DropDatabase(_)
        | Statement::CreateTable(_)
        | Statement::DropTable(_)
        | Statement::Truncate(_)
        | Statement::CreateIndex(_) => Ok(()),
        other => Err(SqlError::unsupported(other.construct())),
    }
}

/// `CreateTable(..)` as `CREATE TABLE`: the words of a tree node's name.
pub fn words_of(debug: &str) -> String {
    let mut words = String::new();
    for c in debug.chars().take_while(|c| c.is_alphanumeric()) {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(c.to_ascii_uppercase());
    }
    words
}

/// Runs a DDL statement; the session has committed the open transaction before.
///
/// # Errors
/// MySQL's errors of the statement.
pub fn run(statement: &Statement, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    match statement {
        Statement::CreateDatabase(create) => create_database(create, context),
        Statement::DropDatabase(drop) => drop_database(drop, context),
        Statement::CreateTable(create) => create_table(create, context),
        Statement::DropTable(drop) => drop_table(drop, context),
        Statement::Truncate(name) => truncate(name, context),
        Statement::CreateIndex(create) => create_index(create, context),
        other => Err(SqlError::unsupported(other.construct())),
    }
}

fn create_database(
    create: &ast::CreateDatabase,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    check_name(&create.name, 1102, "Incorrect database name")?;
    let fallback = context.env.server_collation();
    let options = &create.options;
    let collation = collation_of(
        options.charset.as_deref(),
        options.collation.as_deref(),
        fallback,
        context.env,
    )?;
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

fn drop_database(drop: &ast::DropDatabase, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    match catalog.drop_schema(context.client, context.tables, &drop.name, deadline) {
        Ok(tables) => Ok(Outcome { affected_rows: tables, ..Outcome::default() }),
        Err(CatalogError::DropMissingDatabase(name)) if drop.if_exists => {
            note(context, CatalogError::DropMissingDatabase(name));
            Ok(Outcome::default())
        }
        Err(error) => Err(error.into()),
    }
}

fn drop_table(drop: &ast::DropTable, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    if drop.temporary {
        return Err(SqlError::unsupported("DROP TEMPORARY TABLE"));
    }
    let names = drop
        .tables
        .iter()
        .map(|name| Ok((context.schema_of(name)?, name.name.clone())))
        .collect::<Result<Vec<_>, SqlError>>()?;
    if let Some((_, name)) = names.iter().enumerate().find(|(i, n)| names[..*i].contains(n)) {
        return Err(SqlError::Other(
            1066,
            "42000",
            format!("Not unique table/alias: '{}'", name.1),
        ));
    }
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let which = (drop.if_exists, drop.temporary);
    let missing = catalog.drop_tables(context.client, context.tables, &names, which, deadline)?;
    for name in missing {
        note(context, CatalogError::UnknownTables(name));
    }
    Ok(Outcome::default())
}

fn truncate(name: &ast::ObjectName, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    if let Some(view) = views::truncatable(name, context)? {
        view.table().truncate();
        return Ok(Outcome::default());
    }
    let schema = context.schema_of(name)?;
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    catalog.truncate_table(context.client, context.tables, &schema, &name.name, deadline)?;
    Ok(Outcome::default())
}

fn note(context: &mut Context<'_>, error: CatalogError) {
    let (number, _, text) = SqlError::from(error).parts();
    context.env.warn(WarningLevel::Note, number, text);
}

pub(crate) fn check_name(name: &str, number: u16, what: &str) -> Result<(), SqlError> {
    if name.chars().count() > NAME_CHARS_MAX {
        return Err(SqlError::Other(
            1059,
            "42000",
            format!("Identifier name '{name}' is too long"),
        ));
    }
    if name.is_empty() || name.ends_with(' ') {
        return Err(SqlError::Other(number, "42000", format!("{what} '{name}'")));
    }
    Ok(())
}

/// The collation that CHARACTER SET and COLLATE options name together; warns of old names.
pub(crate) fn collation_of(
    charset: Option<&str>,
    collation: Option<&str>,
    fallback: Collation,
    env: &mut dyn Environment,
) -> Result<Collation, SqlError> {
    for name in [charset, collation].into_iter().flatten() {
        if let Some((number, text)) = value::charset::deprecation(name) {
            env.warn(WarningLevel::Warning, number, text);
        }
    }
    Ok(Collation::of_clauses(charset, collation, fallback)?)
}

fn create_table(create: &ast::CreateTable, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    refuse_unsupported(create)?;
    check_name(&create.name.name, 1103, "Incorrect table name")?;
    let schema = context.schema_of(&create.name)?;
    let catalog = Arc::clone(context.tables.catalog());
    let fallback = catalog.schema(&schema).map_or(context.env.server_collation(), |s| s.collation);
    let (mut new, start) = define_table(create, schema, fallback, context.env)?;
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

fn refuse_unsupported(create: &ast::CreateTable) -> Result<(), SqlError> {
    let refused = [
        (create.temporary, "CREATE TEMPORARY TABLE"),
        (create.like.is_some(), "CREATE TABLE ... LIKE"),
        (create.query.is_some(), "CREATE TABLE ... SELECT"),
        (create.partitioned, "PARTITION BY"),
        (create.start_transaction, "CREATE TABLE ... START TRANSACTION"),
    ];
    match refused.iter().find(|(written, _)| *written) {
        Some((_, what)) => Err(SqlError::unsupported(*what)),
        None => Ok(()),
    }
}

fn define_table(
    create: &ast::CreateTable,
    schema: String,
    fallback: Collation,
    env: &mut dyn Environment,
) -> Result<(TableDef, u64), SqlError> {
    let (mut charset, mut collate, mut comment, mut autoinc_start) = (None, None, String::new(), 1);
    for option in &create.options {
        match option {
            TableOption::Engine(name) if name.eq_ignore_ascii_case("innodb") => {}
            TableOption::Engine(name) => {
                return Err(SqlError::Other(
                    1286,
                    "42000",
                    format!("Unknown storage engine '{name}'"),
                ));
            }
            TableOption::AutoIncrement(v) => autoinc_start = (*v).max(1),
            TableOption::Charset(name) => charset = Some(name.as_str()),
            TableOption::Collation(name) => collate = Some(name.as_str()),
            TableOption::Comment(text) => comment = String::from_utf8_lossy(text).into_owned(),
            TableOption::Other(..) => {}
        }
    }
    let collation = collation_of(charset, collate, fallback, env)?;
    let mut columns = Vec::new();
    for column in &create.columns {
        let defined = define_column(column, collation, env)?;
        if columns.iter().any(|c: &ColumnDef| value::name::same_name(&c.name, &defined.name)) {
            return Err(SqlError::Other(
                1060,
                "42S21",
                format!("Duplicate column name '{}'", defined.name),
            ));
        }
        columns.push(defined);
    }
    if columns.is_empty() {
        return Err(SqlError::Other(1113, "42000", "A table must have at least 1 column".into()));
    }
    let indexes = define_indexes(create, &mut columns, env)?;
    check_autoinc(&columns, &indexes)?;
    check_row(&columns, &indexes)?;
    let name = create.name.name.clone();
    let def = TableDef { indexes, comment, ..TableDef::new(schema, name, columns, collation) };
    Ok((def, autoinc_start))
}

/// MySQL's limits of a row: columns, bytes of the definition, bytes in a page.
fn check_row(columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<(), SqlError> {
    let types: Vec<ColumnType> = columns.iter().map(|c| c.ty).collect();
    limits::check_columns(&types)?;
    // InnoDB clusters by the first unique key without NULL when there is no primary key.
    let clusters =
        |index: &IndexDef| index.unique && index.parts.iter().all(|p| !types[p.column].nullable);
    Ok(limits::check_row_in_page(&types, !indexes.iter().any(clusters))?)
}

fn check_autoinc(columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<(), SqlError> {
    let automatic: Vec<usize> =
        columns.iter().enumerate().filter(|(_, c)| c.auto_increment).map(|(i, _)| i).collect();
    let is_key = |column| indexes.iter().any(|i| i.parts[0].column == column);
    if automatic.len() > 1 || !automatic.iter().all(|c| is_key(*c)) {
        let text = "Incorrect table definition; there can be only one auto column and it must be defined as a key";
        return Err(SqlError::Other(1075, "42000", text.into()));
    }
    Ok(())
}

fn create_index(create: &ast::CreateIndex, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    let schema = context.schema_of(&create.table)?;
    let deadline = context.env.lock_deadline();
    let table =
        context.tables.open(context.client, &schema, &create.table.name, mdl::Mode::X, deadline)?;
    let columns = context.tables.def(table).columns.clone();
    let index = define_index(&create.index, &columns, context.env)?;
    limits::check_index_count(context.tables.def(table).indexes.len() + 1)?;
    check_name(&index.name, 1280, "Incorrect index name")?;
    let catalog = Arc::clone(context.tables.catalog());
    let name = create.table.name.as_str();
    let old = catalog.open_for_alter(context.client, context.tables, &schema, name, deadline)?;
    let mut new = old.def.clone();
    if new.indexes.iter().any(|i| value::name::same_name(&i.name, &index.name)) {
        return Err(CatalogError::IndexExists(index.name).into());
    }
    new.indexes.push(index.clone());
    arrange(&mut new.indexes, &columns);
    let how: (Alter<'_, CatalogError>, u64) = (Alter::InPlace, 1);
    match catalog.alter_table(context.client, context.tables, &old, new, how, deadline) {
        Err(CatalogError::Storage(base::Error::Duplicate { key, .. })) => {
            Err(explain_duplicate(context, table, &index, &key))
        }
        other => {
            other?;
            let info = "Records: 0  Duplicates: 0  Warnings: 0".to_string();
            Ok(Outcome { info, ..Outcome::default() })
        }
    }
}

/// Finds a row with the duplicate key, so that the message can quote its values.
fn explain_duplicate(
    context: &mut Context<'_>,
    table: catalog::TableRef,
    index: &IndexDef,
    duplicate: &[u8],
) -> SqlError {
    let def = context.tables.def(table);
    let key = format!("{}.{}", def.name, index.name);
    let columns = def.columns.clone();
    let spec = KeySpec::new(index.parts.clone());
    let source = Source { table, access: &Access::All, filter: None, columns: None, params: &[] };
    let mut value = String::new();
    let mut encoded = Vec::new();
    let scanned = rows::each(context, source, &mut |row, _| {
        encoded.clear();
        if let Some((layout, bytes)) = row.stored()
            && spec.encode_from_row(layout, bytes, &mut encoded).is_ok()
            && duplicate.starts_with(&encoded)
        {
            value = store::key_text(&columns, &index.parts, |c| layout.decode(bytes, c).ok());
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    });
    scanned.err().unwrap_or(SqlError::DuplicateEntry { value, key })
}
