//! What foreign keys of a table, and of those that refer to it, ask of ALTER TABLE.
//!
//! 1. A column and an index that a foreign key needs stay, on both sides; with `foreign_key_checks` so does a
//! column's type. 2. A renamed column is renamed in the definitions of the tables that refer to it; they are locked
//! first, and where nothing that concerns them changes they are not locked at all.

use super::error::DdlError;
use super::foreign::{compatible, incompatible};
use super::shape::Shape;
use crate::foreign::checked;
use crate::{Context, SqlError};
use catalog::{Definition, ForeignKeyDef, TableDef};
use mdl::Mode;
use std::sync::Arc;
use value::name::same_name;
use value::{ColumnType, Kind};

/// What other tables allow an altered one; those that name a renamed column get new definitions.
///
/// # Errors
/// 1553, 1829, 1833, 3780.
pub fn allowed(
    old: &TableDef,
    new: &mut TableDef,
    shape: &Shape,
    context: &mut Context<'_>,
) -> Result<Vec<(Arc<Definition>, TableDef)>, SqlError> {
    let checks = checked(context)?;
    require_index(old, new)?;
    let name = old.full_name();
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let mut others = Vec::new();
    for published in catalog.children_of(&name)? {
        let child = published.def.full_name();
        let itself = child == name;
        let locked = match itself || !concerns(old, new, shape, &published.def) {
            true => Some(published),
            false => {
                catalog.lock_relative(context.client, context.tables, &child, Mode::SU, deadline)?
            }
        };
        let Some(locked) = locked else { continue };
        let mut changed = locked.def.clone();
        let keys = if itself { new.foreign_keys.clone() } else { locked.def.foreign_keys.clone() };
        for (at, key) in keys.iter().enumerate() {
            if key.parent != name && !(itself && key.parent == new.full_name()) {
                continue;
            }
            let Ok(before) = old.positions(&key.parent_columns) else { continue };
            let names = kept_columns((old, new), shape, key, (&before, &changed), checks)?;
            if itself {
                new.foreign_keys[at].parent_columns = names;
            } else {
                changed.foreign_keys[at].parent_columns = names;
            }
        }
        if changed != locked.def {
            others.push((locked, changed));
        }
    }
    Ok(others)
}

/// Whether a child must be looked at: a column or index that it may need changes.
fn concerns(old: &TableDef, new: &TableDef, shape: &Shape, child: &TableDef) -> bool {
    let name = old.full_name();
    let referenced = |c: &catalog::ColumnDef| {
        let mut names = child.referring(&name).flat_map(|k| &k.parent_columns);
        names.any(|name| same_name(name, &c.name))
    };
    let kept = old.columns.iter().enumerate().filter(|(_, c)| referenced(c)).all(|(at, c)| {
        let slot = shape.slots.iter().position(|s| s.token == at);
        slot.is_some_and(|to| new.columns[to].name == c.name && new.columns[to].ty == c.ty)
    });
    let indexes = old.indexes.iter().all(|i| new.indexes.iter().any(|o| o.id == i.id));
    !(kept && indexes)
}

/// Names of the columns that a key refers to, after the change.
fn kept_columns(
    (old, new): (&TableDef, &TableDef),
    shape: &Shape,
    key: &ForeignKeyDef,
    (before, child): (&[usize], &TableDef),
    checks: bool,
) -> Result<Vec<String>, SqlError> {
    let mut after = Vec::new();
    for at in before {
        let Some(to) = shape.slots.iter().position(|s| s.token == *at) else {
            return Err(
                DdlError::ChildNeedsColumn(&old.columns[*at].name, &key.name, &child.name).into()
            );
        };
        after.push(to);
    }
    let itself = child.full_name() == old.full_name();
    for ((from, to), mine) in before.iter().zip(&after).zip(&key.columns) {
        let (from, to) = (&old.columns[*from], &new.columns[*to]);
        let mine = if itself { &new.columns[*mine] } else { &child.columns[*mine] };
        if !compatible(&mine.ty, &to.ty, checks) {
            return Err(incompatible(key, &mine.name, &to.name));
        }
        if checks && is_rewritten(&from.ty, &to.ty) {
            let table = format!("{}.{}", child.schema, child.name);
            return Err(DdlError::ChildUsesColumn(&from.name, &key.name, &table).into());
        }
    }
    let served = match old.unique_over(before) {
        Some(index) => (Some(index), new.unique_over(&after)),
        None => (old.index_of_columns(before), new.index_of_columns(&after)),
    };
    if let (Some(lost), None) = served {
        return Err(needed_index(&old.indexes[lost].name));
    }
    Ok(after.iter().map(|c| new.columns[*c].name.clone()).collect())
}

/// 1832: with `foreign_key_checks`, a column of a foreign key keeps its type.
///
/// # Errors
/// 1832.
pub fn keep_types(old: &TableDef, new: &TableDef, context: &Context<'_>) -> Result<(), SqlError> {
    if new.foreign_keys.is_empty() || !checked(context)? {
        return Ok(());
    }
    for key in &new.foreign_keys {
        let Some(before) = old.foreign_keys.iter().find(|k| k.name == key.name) else { continue };
        for (from, to) in before.columns.iter().zip(&key.columns) {
            if is_rewritten(&old.columns[*from].ty, &new.columns[*to].ty) {
                return Err(DdlError::ForeignUsesColumn(&old.columns[*from].name, &key.name).into());
            }
        }
    }
    Ok(())
}

/// Whether MySQL would write rows anew for the type.
fn is_rewritten(from: &ColumnType, to: &ColumnType) -> bool {
    let like = ColumnType { nullable: from.nullable, ..*to };
    let longer = ColumnType { length: from.length, ..like };
    let wider = from.kind == Kind::VarChar
        && longer == *from
        && to.length >= from.length
        && (from.bytes_max() > 255) == (to.bytes_max() > 255);
    like != *from && !wider
}

fn needed_index(name: &str) -> SqlError {
    DdlError::ForeignNeedsIndex(name).into()
}

/// The foreign keys of a table keep an index.
fn require_index(old: &TableDef, new: &TableDef) -> Result<(), SqlError> {
    for key in &new.foreign_keys {
        let before = old.foreign_keys.iter().find(|k| k.name == key.name);
        let served = before.and_then(|k| old.index_of_columns(&k.columns));
        if let (Some(lost), None) = (served, new.index_of_columns(&key.columns)) {
            return Err(needed_index(&old.indexes[lost].name));
        }
    }
    Ok(())
}

/// 1828: a column that a foreign key of the table needs is gone.
///
/// # Errors
/// 1828.
pub fn keep_columns(old: &TableDef, shape: &Shape) -> Result<(), SqlError> {
    for key in &shape.foreign_keys {
        let gone = |token: &&usize| shape.slots.iter().all(|s| s.token != **token);
        if let Some(token) = key.columns.iter().find(gone) {
            let column = old.columns.get(*token).map_or("", |c| c.name.as_str());
            return Err(DdlError::ForeignNeedsColumn(column, &key.name).into());
        }
    }
    Ok(())
}
