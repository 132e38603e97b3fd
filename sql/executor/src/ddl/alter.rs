//! ALTER TABLE, CREATE INDEX, DROP INDEX: actions on a [`Shape`], then the cheapest way to the new
//! definition ([`way`](super::way)).

use super::actions::{AlterRequest, apply, refuse_conflicts};
use super::build::Builder;
use super::copy::{Copier, value_of_new};
use super::error::DdlError;
use super::foreign::{self, Settled};
use super::options::{self};
use super::shape::Shape;
use super::way::{How as _, Rows, Way, check_how, check_work, rows_of, way_of};
use super::{relatives, row_format};
use crate::write::duplicate;
use crate::{Context, Environment, Outcome, SqlError, WarningLevel};
use catalog::{Alter, CatalogError, DefaultValue, Definition, TableDef, Work};
use engine::{Client, Table};
use mdl::Mode;
use parser::ast::{self, AlterAction, AlterHow};
use std::sync::Arc;
use value::name::same_name;

/// ALTER TABLE.
///
/// # Errors
/// MySQL's errors of the actions.
pub fn alter_table(
    alter: &ast::AlterTable,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    run(&alter.table, &alter.actions, &alter.how, context)
}

/// CREATE INDEX.
///
/// # Errors
/// As ALTER TABLE ... ADD INDEX.
pub fn create_index(
    create: &ast::CreateIndex,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    let add = AlterAction::AddKey(ast::KeyDef::Index(create.index.clone()));
    run(&create.table, &[add], &create.how, context)
}

/// DROP INDEX.
///
/// # Errors
/// As ALTER TABLE ... DROP INDEX.
pub fn drop_index(drop: &ast::DropIndex, context: &mut Context<'_>) -> Result<Outcome, SqlError> {
    run(&drop.table, &[AlterAction::DropIndex(drop.name.clone())], &drop.how, context)
}

/// OPTIMIZE TABLE: as ALTER TABLE ... FORCE.
///
/// # Errors
/// As ALTER TABLE.
pub fn rebuild(table: &ast::ObjectName, context: &mut Context<'_>) -> Result<(), SqlError> {
    run(table, &[AlterAction::Force], &AlterHow::default(), context).map(|_| ())
}

fn run(
    name: &ast::ObjectName,
    actions: &[AlterAction],
    how: &AlterHow,
    context: &mut Context<'_>,
) -> Result<Outcome, SqlError> {
    let schema = context.schema_of(name)?;
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let full = (&*schema, &*name.name);
    let old = catalog.open_for_alter(context.client, context.tables, full, Mode::SU, deadline)?;
    if old.def.view.is_some() {
        return Err(CatalogError::NotBaseTable { schema, name: name.name.clone() }.into());
    }
    let (mut new, shape, mut request) = define(&old.def, (actions, how), context)?;
    request.lowers = match request.options.autoinc {
        Some(start) => old.open(catalog.engine())?.autoinc_next().is_some_and(|next| start < next),
        None => false,
    };
    let others = relatives::allowed(&old.def, &mut new, &shape, context)?;
    let settled = foreign::settle(Some(&old.def), &mut new, context)?;
    relatives::keep_types(&old.def, &new, context)?;
    if let Some((schema, name)) = &request.rename {
        rename(&mut new, schema, name, context)?;
    }
    if !request.order_by.is_empty() && new.clustered().is_some() {
        let text = format!(
            "ORDER BY ignored as there is a user-defined clustered index in the table '{}'",
            old.def.name
        );
        context.env.warn(WarningLevel::Warning, 1105, text);
    }
    let looks = settled.must_look();
    let plan = plan((&old.def, &mut new), &shape, (&request, how, looks), context)?;
    if catalog.engine().recovery_is_forced() {
        admit_forced(&old.def, actions, &request)?;
    }
    let copied = carry_out(&old, (new, others, settled), (&shape, plan), &request, context)?;
    Ok(outcome(&old.def, actions, plan.copies.then_some(copied), context))
}

/// The definition that the actions make of a table's, and what else they ask for.
fn define(
    old: &TableDef,
    (actions, how): (&[AlterAction], &AlterHow),
    context: &mut Context<'_>,
) -> Result<(TableDef, Shape, AlterRequest), SqlError> {
    let mut builder = Builder::new(old);
    let mut base = old.clone();
    let mut request = AlterRequest { force: how.is_copy(), ..AlterRequest::default() };
    refuse_conflicts(actions)?;
    for action in actions {
        apply(action, &mut builder, &mut base, &mut request, context)?;
    }
    if actions.iter().any(|a| matches!(a, AlterAction::Option(o) if options::shapes_rows(o))) {
        row_format::settle(&mut base, (old.temporary, true), context.env)?;
    }
    if request.convert {
        builder.collation = base.collation;
    }
    let (new, shape) = builder.finish(&base, context.env)?;
    super::create::require_primary_key(&new, context)?;
    check_dependencies(old, &new, &shape)?;
    Ok((new, shape, request))
}

/// How the new definition is brought about, if ALGORITHM and LOCK permit it. `looks`: new foreign keys look at every row.
fn plan(
    (old, new): (&TableDef, &mut TableDef),
    shape: &Shape,
    (request, how, looks): (&AlterRequest, &AlterHow, bool),
    context: &mut Context<'_>,
) -> Result<Plan, SqlError> {
    let strict = context.env.strict();
    let way = match looks {
        true => Way::Copy("Adding foreign keys needs foreign_key_checks=OFF"),
        false => way_of(old, new, shape, request, strict),
    };
    check_how(how, way)?;
    let settled = context.tables.catalog().engine().is_settled();
    let rows = match looks {
        true => Rows::Copied,
        false => rows_of((old, new), shape, (request, way), (settled, strict)),
    };
    check_work(how, rows, new)?;
    if rows.are_kept() {
        keep_rows(old, new, shape, context.env)?;
    }
    Ok(Plan {
        in_place: rows.are_kept(),
        copies: way.is_copy() || how.is_copy(),
        alone: how.lock.as_deref() == Some("EXCLUSIVE"),
    })
}

/// What the client is told. `copied`: rows, where MySQL copies them.
fn outcome(
    old: &TableDef,
    actions: &[AlterAction],
    copied: Option<u64>,
    context: &Context<'_>,
) -> Outcome {
    let is_name_or_keys = |a: &AlterAction| {
        matches!(a, AlterAction::Rename(_) | AlterAction::DisableKeys | AlterAction::EnableKeys)
    };
    let silent = actions.iter().all(is_name_or_keys) && copied.is_none() && !old.temporary;
    let (rows, warnings) = (copied.unwrap_or(0), context.env.warning_count());
    let info = match silent {
        true => String::new(),
        false => format!("Records: {rows}  Duplicates: 0  Warnings: {warnings}"),
    };
    Outcome { affected_rows: rows, info, ..Outcome::default() }
}

/// Makes `new` the definition of the rows that are there: those of before have a new column's default.
fn keep_rows(
    old: &TableDef,
    new: &mut TableDef,
    shape: &Shape,
    env: &mut dyn Environment,
) -> Result<(), SqlError> {
    let origins = shape.origins();
    for (column, _) in new.columns.iter_mut().zip(&origins).filter(|(_, o)| o.is_none()) {
        let value = value_of_new(column, 1, env)?;
        column.set_initial(&value.datum()).map_err(expr::damaged)?;
    }
    new.take_over_rows(old, &origins);
    Ok(())
}

/// What `innodb_force_recovery` lets ALTER TABLE do: nothing but what changes nothing, and anything to temporary tables,
/// whose rows cannot be changed anyway.
fn admit_forced(
    old: &TableDef,
    actions: &[AlterAction],
    request: &AlterRequest,
) -> Result<(), SqlError> {
    let is_keys = |a: &AlterAction| matches!(a, AlterAction::DisableKeys | AlterAction::EnableKeys);
    let is_name = |a: &AlterAction| is_keys(a) || matches!(a, AlterAction::Rename(_));
    match &request.rename {
        _ if old.temporary || actions.iter().all(is_keys) => Ok(()),
        Some(to) if actions.iter().all(is_name) => {
            Err(CatalogError::RenameRefused { from: old.full_name(), to: to.clone() }.into())
        }
        _ => Err(base::Error::RecoveryForced.into()),
    }
}

/// The table's new name, and with it those of its constraints.
fn rename(
    new: &mut TableDef,
    schema: &str,
    name: &str,
    context: &mut Context<'_>,
) -> Result<(), SqlError> {
    let from = new.full_name();
    let to = (schema.to_string(), name.to_string());
    if from == to {
        return Ok(());
    }
    new.follow(&catalog::Renames::from([(from.clone(), to.clone())]));
    new.rename(schema, name);
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let names = new.foreign_keys.iter().map(|key| &key.name);
    let own = (from.0 == to.0).then_some(from.1.as_str());
    catalog.claim_foreign_keys(context.client, context.tables, (schema, own), names, deadline)?;
    match catalog.is_view(schema, name) {
        None => foreign::adopted(new, &to, context),
        Some(_) => Ok(()),
    }
}

/// How a new definition is brought about.
#[derive(Clone, Copy)]
struct Plan {
    /// The rows stay where they are.
    in_place: bool,
    /// MySQL copies them, too, and says so.
    copies: bool,
    /// Nobody reads meanwhile.
    alone: bool,
}

/// Brings the new definition about; the number of rows copied.
fn carry_out(
    old: &Arc<Definition>,
    (new, others, settled): (TableDef, Vec<(Arc<Definition>, TableDef)>, Settled),
    (shape, plan): (&Shape, Plan),
    request: &AlterRequest,
    context: &mut Context<'_>,
) -> Result<u64, SqlError> {
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let table = Arc::clone(old.open(catalog.engine())?);
    let Plan { in_place, copies, alone } = plan;
    let autoinc_start = request.options.autoinc.unwrap_or(1);
    if in_place {
        let how = Alter::InPlace;
        let work: Work<'_, SqlError> = Work { how, autoinc_start, goes_on: true, alone };
        let wanted = new.clone();
        let new = (new, others);
        return match catalog.alter_table(context.client, context.tables, old, new, work, deadline) {
            Err(SqlError::Storage(base::Error::Duplicate { key, .. })) => {
                let zone = context.env.convert_mode().time_zone;
                Err(explain_duplicate(context.client, &table, (&wanted, &key), zone)?)
            }
            other => other.map(|()| 0),
        };
    }
    let wanted = new.clone();
    let origins = shape.origins();
    let shown = foreign::copy_name(context);
    let (def, env) = (&old.def, &mut *context.env);
    let (rows_estimated, rows) = (old.statistics().rows(), 0);
    let (new_def, origins) = (&wanted, &origins[..]);
    let mut copier = Copier { old: def, new: new_def, origins, copies, env, rows_estimated, rows };
    let fill = &mut |client: &mut Client, from: &Table, to: &Table| {
        copier.run(client, from, to)?;
        settled.verify(client, &wanted, to, &shown)
    };
    let work = Work { how: Alter::Copy(fill), autoinc_start, goes_on: !request.lowers, alone };
    let new = (new, others);
    catalog.alter_table(context.client, context.tables, old, new, work, deadline)?;
    Ok(copier.rows)
}

/// Says which rows agree on a key that should be unique.
fn explain_duplicate(
    client: &Client,
    table: &Table,
    (def, duplicate): (&TableDef, &[u8]),
    zone: &value::TimeZone,
) -> Result<SqlError, SqlError> {
    let everything = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    let (mut reader, mut row, mut key) = (engine::Reader::new(), Vec::new(), Vec::new());
    reader.open(client, table, 0, everything, engine::Direction::Forward)?;
    while reader.next(client, table, &mut row)? {
        for index in def.indexes.iter().filter(|i| i.unique && i.id == base::IndexId(0)) {
            key.clear();
            let spec = value::KeySpec::new(index.parts.clone());
            let encoded = spec.encode_from_row(table.layout(), &row, &mut key);
            if encoded.is_ok() && duplicate.starts_with(&key) {
                let decode = |c| table.layout().decode(&row, c).ok();
                let value = duplicate::key_text(&def.columns, &index.parts, zone, decode);
                let key = format!("{}.{}", def.name, index.name);
                return Ok(SqlError::DuplicateEntry { value, key });
            }
        }
    }
    Ok(SqlError::Storage(base::Error::Duplicate {
        index: base::IndexId(0),
        key: duplicate.to_vec(),
    }))
}

/// Columns that expressions use stay under their names.
fn check_dependencies(old: &TableDef, new: &TableDef, shape: &Shape) -> Result<(), SqlError> {
    let uses = |text: &str, name: &str| text.contains(&parser::print::quoted(name));
    for (position, column) in old.columns.iter().enumerate().filter(|(_, c)| !c.hidden) {
        let slot = shape.slots.iter().find(|s| s.token == position);
        if slot.is_some_and(|s| same_name(&s.def.name, &column.name)) {
            continue;
        }
        let name = &column.name;
        // A column of that name that comes back is none of the expression's.
        for other in &new.columns {
            let generated = other.generated.as_ref().is_some_and(|g| uses(&g.text, name));
            let default = matches!(&other.default, DefaultValue::Expr(text) if uses(text, name));
            return Err(match (generated, default) {
                (true, _) if other.hidden => DdlError::IndexUsesColumn(name).into(),
                (true, _) => DdlError::GeneratedUsesColumn(name).into(),
                (_, true) => DdlError::DefaultUsesColumn(&other.name, name).into(),
                _ => continue,
            });
        }
        if let Some(check) = new.checks.iter().find(|c| uses(&c.text, name)) {
            return Err(DdlError::CheckUsesColumn(&check.name, name).into());
        }
    }
    Ok(())
}
