//! A foreign key as SHOW CREATE TABLE and messages print it, and the errors of rows.

use super::DEPTH_MAX;
use crate::SqlError;
use crate::quoting::Quoting;
use crate::write::error::RowError;
use access::{Privileges, Rights};
use base::IndexId;
use catalog::{ForeignKeyDef, Referential, TableDef};
use expr::OwnedDatum;
use parser::print::quoted;
use std::fmt::Write;

/// The constraint as SHOW CREATE TABLE prints it; `child` is its table.
pub fn constraint(child: &TableDef, key: &ForeignKeyDef, quoting: &Quoting) -> String {
    printed(child, key, &[Referential::NoAction], &|name| quoting.name(name))
}

fn printed(
    child: &TableDef,
    key: &ForeignKeyDef,
    silent: &[Referential],
    quoted: &dyn Fn(&str) -> String,
) -> String {
    let mine = key.columns.iter().filter_map(|c| child.columns.get(*c));
    let mine: Vec<String> = mine.map(|c| quoted(&c.name)).collect();
    let theirs: Vec<String> = key.parent_columns.iter().map(|c| quoted(c)).collect();
    let (schema, table) = &key.parent;
    let elsewhere = *schema != child.schema;
    let schema = if elsewhere { format!("{}.", quoted(schema)) } else { String::new() };
    let mut out = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {schema}{} ({})",
        quoted(&key.name),
        mine.join(", "),
        quoted(table),
        theirs.join(", "),
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        if !silent.contains(&action) {
            let _ = write!(out, " ON {event} {}", action.words());
        }
    }
    out
}

/// The table and the constraint as InnoDB's messages name them: SET DEFAULT is nothing to it.
fn shown(child: &TableDef, table: &str, key: &ForeignKeyDef) -> String {
    let text = printed(child, key, &[Referential::NoAction, Referential::SetDefault], &quoted);
    format!("{}.{}, {text}", quoted(&child.schema), quoted(table))
}

/// Whether a message may tell of a table: there is any privilege of all of it.
fn may_tell_of(schema: &str, table: &str, rights: &Rights) -> bool {
    rights.of_table(schema, table).has_any(Privileges::OF_TABLE)
}

/// 1452.
pub fn no_parent(child: &TableDef, key: &ForeignKeyDef, rights: &Rights) -> SqlError {
    match may_tell_of(&key.parent.0, &key.parent.1, rights) {
        true => no_parent_of(child, &child.name, key),
        false => RowError::NoHiddenParent.into(),
    }
}

/// 1452 with another name for the table.
pub fn no_parent_of(child: &TableDef, table: &str, key: &ForeignKeyDef) -> SqlError {
    RowError::NoParent(&shown(child, table, key)).into()
}

/// 1451.
pub fn has_children(child: &TableDef, key: &ForeignKeyDef, rights: &Rights) -> SqlError {
    match may_tell_of(&child.schema, &child.name, rights) {
        true => RowError::HasChildren(&shown(child, &child.name, key)).into(),
        false => RowError::HasHiddenChildren.into(),
    }
}

/// 1761: the parent's new values would be in the child twice.
pub fn duplicate_child(
    parent: &TableDef,
    (values, zone): (&[OwnedDatum], &value::TimeZone),
    child: &TableDef,
    index: IndexId,
) -> SqlError {
    let shown = |v: &OwnedDatum| match *v {
        OwnedDatum::Timestamp(micros, fsp) => {
            expr::text(&value::Datum::DateTime(zone.shown(micros, fsp)))
        }
        ref v => expr::text(&v.datum()),
    };
    let text = |v: &OwnedDatum| String::from_utf8_lossy(&shown(v)).into_owned();
    let record = values.iter().map(text).collect::<Vec<_>>().join("-");
    let index = child.indexes.iter().find(|i| i.id == index).map_or("PRIMARY", |i| &i.name);
    let (parent, child) = (&parent.name, &child.name);
    RowError::DuplicateChild(parent, &record, child, index).into()
}

/// 3008, and what InnoDB says behind it.
pub fn too_deep(child: &TableDef, key: &ForeignKeyDef) -> SqlError {
    let engine = RowError::TooDeepFor(&shown(child, &child.name, key)).into();
    SqlError::from(RowError::TooDeep(DEPTH_MAX)).followed_by(&engine)
}
