//! The actions of ALTER TABLE: each changes the [`Shape`] that columns, indexes and constraints will have, the options of the
//! table, or what is asked for besides.

use super::build::Builder;
use super::collation_of;
use super::error::DdlError;
use super::names::{check_index_name, check_name, missing_key, not_found, unknown_key};
use super::options::{self, AppliedOptions};
use super::shape::Shape;
use crate::columns::literal_default;
use crate::{Context, Environment, SqlError, WarningLevel};
use catalog::{CatalogError, DefaultValue, TableDef};
use parser::ast::{self, AlterAction};
use value::Collation;
use value::name::same_name;

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
    /// AUTO_INCREMENT is below the table's counter.
    pub lowers: bool,
    /// Rows are to be sorted.
    pub order_by: Vec<ast::OrderItem>,
}

/// Character sets that contradict each other.
///
/// # Errors
/// 1302.
pub fn refuse_conflicts(actions: &[AlterAction]) -> Result<(), SqlError> {
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

/// One action, on the columns and keys that `builder` has, on the options of `base`, or as a wish of `request`.
///
/// # Errors
/// MySQL's errors of the action.
pub fn apply(
    action: &AlterAction,
    builder: &mut Builder,
    base: &mut TableDef,
    request: &mut AlterRequest,
    context: &mut Context<'_>,
) -> Result<(), SqlError> {
    match action {
        AlterAction::Rename(to) => {
            check_name(&to.name, DdlError::TableName)?;
            let schema = to.schema.clone().unwrap_or_else(|| base.schema.clone());
            request.rename = Some((schema, to.name.clone()));
        }
        AlterAction::Convert { charset, collation } => {
            let charset = charset.as_deref().or(Some(base.collation.charset().name()));
            base.collation = collation_of(charset, collation.as_deref(), base.collation)?;
            request.convert = true;
            convert_columns(builder, base.collation);
        }
        AlterAction::DisableKeys | AlterAction::EnableKeys => {
            let (number, _, text) = DdlError::NoSuchOption(&base.name).parts();
            context.env.warn(WarningLevel::Note, number, text);
        }
        AlterAction::Force => request.force = true,
        AlterAction::OrderBy(items) => {
            request.order_by.clone_from(items);
            request.force = true;
        }
        AlterAction::Option(option) => {
            let applied = options::apply(std::slice::from_ref(option), base, context.env)?;
            request.options.autoinc = applied.autoinc.or(request.options.autoinc);
            request.options.engine |= applied.engine;
        }
        other => return alter_column(other, builder, base, context.env),
    }
    Ok(())
}

/// Actions on columns.
fn alter_column(
    action: &AlterAction,
    builder: &mut Builder,
    base: &TableDef,
    env: &mut dyn Environment,
) -> Result<(), SqlError> {
    match action {
        AlterAction::AddColumn { column, place } => builder.add_column(column, place.as_ref(), env),
        AlterAction::AddElements { columns, keys } => {
            columns.iter().try_for_each(|c| builder.add_column(c, None, env))?;
            keys.iter().try_for_each(|k| builder.add_key(k))
        }
        AlterAction::ChangeColumn { old, column, place } => {
            let at = old_column(builder, old)?;
            builder.change_column(at, column, place.as_ref(), env)
        }
        AlterAction::ModifyColumn { column, place } => {
            let at = old_column(builder, &column.name)?;
            builder.change_column(at, column, place.as_ref(), env)
        }
        AlterAction::RenameColumn(old, new) => {
            let at = old_column(builder, old)?;
            check_name(new, DdlError::ColumnName)?;
            builder.shape.slots[at].def.name.clone_from(new);
            Ok(())
        }
        AlterAction::DropColumn(name) => {
            // A check of this column alone goes with it.
            let uses = |text: &str, name: &str| text.contains(&parser::print::quoted(name));
            let others = || base.columns.iter().filter(|c| !same_name(&c.name, name));
            builder.shape.checks.retain(|check| {
                !uses(&check.text, name) || others().any(|c| uses(&check.text, &c.name))
            });
            builder.shape.drop_column(name)
        }
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
            Ok(())
        }
        AlterAction::DropDefault(column) => {
            let at = old_column(builder, column)?;
            builder.shape.slots[at].def.default = DefaultValue::None;
            Ok(())
        }
        AlterAction::SetVisible { column, visible } => {
            let at = old_column(builder, column)?;
            builder.shape.slots[at].def.invisible = !visible;
            Ok(())
        }
        other => constraint(other, builder),
    }
}

fn old_column(builder: &Builder, name: &str) -> Result<usize, SqlError> {
    builder.shape.old(name).ok_or_else(|| not_found(name, &builder.table))
}

/// Actions on indexes and constraints.
fn constraint(action: &AlterAction, builder: &mut Builder) -> Result<(), SqlError> {
    let table = builder.table.clone();
    let shape = &mut builder.shape;
    let check_at = |shape: &Shape, name: &str| {
        shape
            .checks
            .iter()
            .position(|c| same_name(&c.name, name))
            .ok_or_else(|| SqlError::from(DdlError::UnknownCheck(name)))
    };
    match action {
        AlterAction::AddKey(key) => {
            if let ast::KeyDef::Index(index) = key
                && let Some(name) = &index.name
                && index.kind != ast::IndexKind::Primary
                && shape.index(name).is_some()
            {
                return Err(CatalogError::IndexExists(name.clone()).into());
            }
            builder.add_key(key)
        }
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
            Err(_) => Err(DdlError::UnknownConstraint(name).into()),
        },
        AlterAction::AlterIndex { name, visible } => {
            let at = shape.index(name).ok_or_else(|| unknown_key(name, &table))?;
            if shape.indexes[at].primary && !visible {
                return Err(DdlError::InvisiblePrimaryKey.into());
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
        (None, false, false) => Err(DdlError::UnknownConstraint(name).into()),
        _ => Err(DdlError::SeveralConstraints(name).into()),
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
