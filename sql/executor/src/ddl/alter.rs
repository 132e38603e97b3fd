//! ALTER TABLE, CREATE INDEX, DROP INDEX: actions on a [`Shape`], then the cheapest way to the new
//! definition ([`way`](super::way)).

use super::build::Builder;
use super::collation_of;
use super::copy::{Copier, value_of_new};
use super::foreign::{self, Settled};
use super::names::{check_index_name, check_name, missing_key, not_found, unknown_key};
use super::options::{self, AppliedOptions};
use super::shape::Shape;
use super::way::{How as _, Rows, Way, check_how, check_work, rows_of, way_of};
use super::{relatives, row_format};
use crate::columns::literal_default;
use crate::write::duplicate;
use crate::{Context, Environment, Outcome, SqlError, WarningLevel};
use catalog::{Alter, CatalogError, DefaultValue, Definition, TableDef, Work};
use engine::{Client, Table};
use mdl::Mode;
use parser::ast::{self, AlterAction, AlterHow};
use std::sync::Arc;
use value::Collation;
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

/// What the actions ask for besides another shape.
#[derive(Default)]
pub struct AlterRequest {
    /// Options of the table.
    pub options: AppliedOptions,
    /// Another schema and name.
    pub rename: Option<(String, String)>,
    /// CONVERT TO CHARACTER SET.
    pub convert: bool,
    /// Rows are to be written anew.
    pub force: bool,
    /// Rows are to be sorted.
    pub order_by: Vec<ast::OrderItem>,
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
    let mut builder = Builder::new(&old.def);
    let mut base = old.def.clone();
    let mut request = AlterRequest { force: how.is_copy(), ..AlterRequest::default() };
    refuse_conflicts(actions)?;
    for action in actions {
        apply(action, &mut builder, &mut base, &mut request, context)?;
    }
    if actions.iter().any(|a| matches!(a, AlterAction::Option(o) if options::shapes_rows(o))) {
        row_format::settle(&mut base, (old.def.temporary, true), context.env)?;
    }
    if request.convert {
        builder.collation = base.collation;
    }
    let (mut new, shape) = builder.finish(&base, context.env)?;
    super::create::require_primary_key(&new, context)?;
    check_dependencies(&old.def, &new, &shape)?;
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
    let way = match settled.must_look() {
        true => Way::Copy("Adding foreign keys needs foreign_key_checks=OFF"),
        false => way_of(&old.def, &new, &shape, &request, context.env.strict()),
    };
    check_how(how, way)?;
    let modes = (catalog.engine().is_settled(), context.env.strict());
    let rows = match settled.must_look() {
        true => Rows::Copied,
        false => rows_of((&old.def, &new), &shape, (&request, way), modes),
    };
    check_work(how, rows, &new)?;
    if rows.are_kept() {
        keep_rows(&old.def, &mut new, &shape, context.env)?;
    }
    let copies = way.is_copy() || how.is_copy();
    if catalog.engine().recovery_is_forced() {
        admit_forced(&old.def, actions, &request)?;
    }
    let plan =
        Plan { in_place: rows.are_kept(), copies, alone: how.lock.as_deref() == Some("EXCLUSIVE") };
    let outcome = carry_out(&old, (new, others, settled), (&shape, plan), &request, context)?;
    let rows = if copies { outcome } else { 0 };
    let warnings = context.env.warning_count();
    let info = format!("Records: {rows}  Duplicates: 0  Warnings: {warnings}");
    let is_name_or_keys = |a: &AlterAction| {
        matches!(a, AlterAction::Rename(_) | AlterAction::DisableKeys | AlterAction::EnableKeys)
    };
    let little = actions.iter().all(is_name_or_keys) && !copies && !old.def.temporary;
    let info = if little { String::new() } else { info };
    Ok(Outcome { affected_rows: rows, info, ..Outcome::default() })
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

/// Character sets that contradict each other.
fn refuse_conflicts(actions: &[AlterAction]) -> Result<(), SqlError> {
    let mut charsets = options::Charsets::default();
    for action in actions {
        match action {
            AlterAction::Option(option) => charsets.option(option)?,
            AlterAction::Convert { charset: Some(charset), .. } => charsets.charset(charset)?,
            _ => {}
        }
    }
    Ok(())
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
    new.follow(&[(from.clone(), to.clone())]);
    new.rename(schema, name);
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let names = new.foreign_keys.iter().map(|key| &key.name);
    let own = (from.0 == to.0).then_some(from.1.as_str());
    catalog.claim_foreign_keys(context.client, context.tables, (schema, own), names, deadline)?;
    match catalog.definition(schema, name) {
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
    let work = Work { how: Alter::Copy(fill), autoinc_start, goes_on: true, alone };
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

fn apply(
    action: &AlterAction,
    builder: &mut Builder,
    base: &mut TableDef,
    request: &mut AlterRequest,
    context: &mut Context<'_>,
) -> Result<(), SqlError> {
    match action {
        AlterAction::AddColumn { column, place } => {
            builder.add_column(column, place.as_ref(), context.env)
        }
        AlterAction::AddElements { columns, keys } => {
            columns.iter().try_for_each(|c| builder.add_column(c, None, context.env))?;
            keys.iter().try_for_each(|k| builder.add_key(k))
        }
        AlterAction::AddKey(key) => {
            if let ast::KeyDef::Index(index) = key
                && let Some(name) = &index.name
                && index.kind != ast::IndexKind::Primary
                && builder.shape.index(name).is_some()
            {
                return Err(CatalogError::IndexExists(name.clone()).into());
            }
            builder.add_key(key)
        }
        AlterAction::ChangeColumn { old, column, place } => {
            let at = old_column(builder, old)?;
            builder.change_column(at, column, place.as_ref(), context.env)
        }
        AlterAction::ModifyColumn { column, place } => {
            let at = old_column(builder, &column.name)?;
            builder.change_column(at, column, place.as_ref(), context.env)
        }
        AlterAction::RenameColumn(old, new) => {
            let at = old_column(builder, old)?;
            check_name(new, 1166, "Incorrect column name")?;
            builder.shape.slots[at].def.name.clone_from(new);
            Ok(())
        }
        AlterAction::SetDefault { .. }
        | AlterAction::DropDefault(_)
        | AlterAction::SetVisible { .. } => alter_column(action, builder, context.env),
        AlterAction::DropColumn(name) => {
            // A check of this column alone goes with it.
            let uses = |text: &str, name: &str| text.contains(&parser::print::quoted(name));
            let others = || base.columns.iter().filter(|c| !same_name(&c.name, name));
            builder.shape.checks.retain(|check| {
                !uses(&check.text, name) || others().any(|c| uses(&check.text, &c.name))
            });
            builder.shape.drop_column(name)
        }
        AlterAction::Rename(to) => {
            check_name(&to.name, 1103, "Incorrect table name")?;
            let schema = to.schema.clone().unwrap_or_else(|| base.schema.clone());
            request.rename = Some((schema, to.name.clone()));
            Ok(())
        }
        AlterAction::Convert { charset, collation } => {
            let charset = charset.as_deref().or(Some(base.collation.charset().name()));
            base.collation = collation_of(charset, collation.as_deref(), base.collation)?;
            request.convert = true;
            convert_columns(builder, base.collation);
            Ok(())
        }
        AlterAction::DisableKeys | AlterAction::EnableKeys => {
            let text = format!("Table storage engine for '{}' doesn't have this option", base.name);
            context.env.warn(WarningLevel::Note, 1031, text);
            Ok(())
        }
        AlterAction::Force => {
            request.force = true;
            Ok(())
        }
        AlterAction::OrderBy(items) => {
            request.order_by.clone_from(items);
            request.force = true;
            Ok(())
        }
        AlterAction::Option(option) => {
            let applied = options::apply(std::slice::from_ref(option), base, context.env)?;
            request.options.autoinc = applied.autoinc.or(request.options.autoinc);
            request.options.engine |= applied.engine;
            Ok(())
        }
        other => constraint(other, builder),
    }
}

fn old_column(builder: &Builder, name: &str) -> Result<usize, SqlError> {
    builder.shape.old(name).ok_or_else(|| not_found(name, &builder.table))
}

/// ALTER COLUMN.
fn alter_column(
    action: &AlterAction,
    builder: &mut Builder,
    env: &mut dyn Environment,
) -> Result<(), SqlError> {
    match action {
        AlterAction::SetDefault { column, value, is_expression } => {
            let at = old_column(builder, column)?;
            // Parentheses around a literal make no expression of it here.
            if *is_expression && !matches!(value, ast::Expr::Literal(_)) {
                let token = builder.shape.slots[at].token;
                builder.set_default(token, value);
                return Ok(());
            }
            let def = &mut builder.shape.slots[at].def;
            def.default = literal_default(value, &def.name, &def.ty, env)?;
        }
        AlterAction::DropDefault(column) => {
            let at = old_column(builder, column)?;
            builder.shape.slots[at].def.default = DefaultValue::None;
        }
        AlterAction::SetVisible { column, visible } => {
            let at = old_column(builder, column)?;
            builder.shape.slots[at].def.invisible = !visible;
        }
        _ => {}
    }
    Ok(())
}

/// Actions on indexes and constraints.
fn constraint(action: &AlterAction, builder: &mut Builder) -> Result<(), SqlError> {
    let table = builder.table.clone();
    let shape = &mut builder.shape;
    let check_at = |shape: &Shape, name: &str| {
        shape.checks.iter().position(|c| same_name(&c.name, name)).ok_or_else(|| {
            let text = format!("Check constraint '{name}' is not found in the table.");
            SqlError::Other(3821, "HY000", text)
        })
    };
    match action {
        AlterAction::DropPrimaryKey => match shape.indexes.iter().any(|i| i.primary) {
            true => shape.drop_index("PRIMARY"),
            false => Err(missing_key("PRIMARY")),
        },
        AlterAction::DropIndex(name) => shape.drop_index(name),
        AlterAction::DropForeignKey(name) => shape.drop_foreign_key(name),
        AlterAction::DropCheck(name) => {
            let at = check_at(shape, name)?;
            shape.checks.remove(at);
            Ok(())
        }
        AlterAction::DropConstraint(name) => drop_constraint(name, shape),
        AlterAction::AlterCheck { name, enforced } => {
            let at = check_at(shape, name)?;
            shape.checks[at].enforced = *enforced;
            Ok(())
        }
        AlterAction::AlterConstraint { name, enforced } => match check_at(shape, name) {
            Ok(at) => {
                shape.checks[at].enforced = *enforced;
                Ok(())
            }
            Err(_) => {
                let text = format!("Constraint '{name}' does not exist.");
                Err(SqlError::Other(3940, "HY000", text))
            }
        },
        AlterAction::AlterIndex { name, visible } => {
            let at = shape.index(name).ok_or_else(|| unknown_key(name, &table))?;
            if shape.indexes[at].primary && !visible {
                let text = "A primary key index cannot be invisible";
                return Err(SqlError::Other(3522, "HY000", text.into()));
            }
            shape.indexes[at].attributes.invisible = !visible;
            Ok(())
        }
        AlterAction::RenameIndex(from, to) => {
            let at = shape.index(from).ok_or_else(|| unknown_key(from, &table))?;
            if shape.index(to).is_some_and(|other| other != at) {
                return Err(CatalogError::IndexExists(to.clone()).into());
            }
            check_index_name(to)?;
            shape.indexes[at].name.clone_from(to);
            // Who names an index wants it.
            shape.indexes[at].attributes.generated = false;
            Ok(())
        }
        other => Err(SqlError::unsupported(other.construct())),
    }
}

/// DROP CONSTRAINT: a check, a foreign key, or a unique index.
fn drop_constraint(name: &str, shape: &mut Shape) -> Result<(), SqlError> {
    let check = shape.checks.iter().position(|c| same_name(&c.name, name));
    let foreign = shape.foreign_keys.iter().any(|k| same_name(&k.name, name));
    let unique = shape.index(name).is_some_and(|at| shape.indexes[at].unique);
    match (check, foreign, unique) {
        (Some(at), false, false) => {
            shape.checks.remove(at);
            Ok(())
        }
        (None, true, false) => shape.drop_foreign_key(name),
        (None, false, true) => shape.drop_index(name),
        (None, false, false) => {
            let text = format!("Constraint '{name}' does not exist.");
            Err(SqlError::Other(3940, "HY000", text))
        }
        _ => {
            let text = format!(
                "Table has multiple constraints with the name '{name}'. Please use constraint specific \
                 'DROP' clause."
            );
            Err(SqlError::Other(3939, "HY000", text))
        }
    }
}

/// CONVERT TO CHARACTER SET: every text column takes the collation.
fn convert_columns(builder: &mut Builder, collation: Collation) {
    for slot in &mut builder.shape.slots {
        if slot.def.ty.is_text() {
            slot.def.ty.collation = collation;
        }
    }
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
            let (number, what) = match (generated, default) {
                (true, _) if other.hidden => (3837, "functional index"),
                (true, _) => (3108, "generated column"),
                (_, true) => (3772, "default value expression"),
                _ => continue,
            };
            let text = if number == 3837 {
                format!(
                    "Column '{name}' has a functional index dependency and cannot be dropped or \
                     renamed."
                )
            } else if number == 3108 {
                format!("Column '{name}' has a {what} dependency.")
            } else {
                format!(
                    "Default value expression of column '{}' refers to column '{name}'.",
                    other.name
                )
            };
            return Err(SqlError::Other(number, "HY000", text));
        }
        if let Some(check) = new.checks.iter().find(|c| uses(&c.text, name)) {
            let text = format!(
                "Check constraint '{}' uses column '{name}', hence column cannot be dropped or \
                 renamed.",
                check.name
            );
            return Err(SqlError::Other(3959, "HY000", text));
        }
    }
    Ok(())
}
