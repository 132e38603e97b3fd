//! FOREIGN KEY in CREATE TABLE and ALTER TABLE: what is written becomes a definition, and tables that foreign keys
//! join are allowed to change together only.
//!
//! 1. Every other table that is looked at is locked exclusively first, but by [`adopted`]: that reads definitions
//! whose parent's name the statement is about to take. 2. Rules are those of MySQL 8.4: a parent has a unique key
//! over the columns unless `restrict_fk_on_non_standard_key` is off. 3. TIMESTAMP and DATETIME do not go together
//! here: InnoDB compares their stored bytes, which agree never.

use super::error::DdlError;
use super::names::missing_key;
use super::shape::Shape;
use crate::foreign::{Verifier, checked};
use crate::{Context, SqlError, WarningLevel};
use catalog::{Definition, ForeignKeyDef, FullName, IndexDef, Referential, TableDef};
use engine::{Client, Table};
use expr::OwnedDatum;
use mdl::Mode;
use parser::ast::{self, ReferenceAction};
use parser::print::quoted;
use std::sync::Arc;
use value::name::same_name;
use value::{ColumnType, Kind};

/// A foreign key as it is written; its columns are names.
pub struct Written {
    name: Option<String>,
    columns: Vec<String>,
    references: ast::References,
}

impl Written {
    /// Of a table element, and the index that it needs.
    ///
    /// # Errors
    /// 1215, 1239.
    pub fn of(
        constraint: Option<&String>,
        index: Option<&String>,
        columns: &[ast::KeyColumn],
        references: &ast::References,
    ) -> Result<(Written, ast::IndexDef), SqlError> {
        let mut names = Vec::new();
        for column in columns {
            match &column.part {
                ast::KeyPart::Column(name, None) => names.push(name.clone()),
                _ => return Err(cannot_add()),
            }
        }
        // MySQL 9 takes the primary key when no columns are written; 8.4 refuses.
        if references.columns.len() != names.len() {
            let name = constraint.map_or("foreign key without name", String::as_str);
            return Err(DdlError::ForeignColumnCount(name).into());
        }
        let needed = ast::IndexDef {
            kind: ast::IndexKind::Plain,
            name: constraint.or(index).cloned(),
            columns: columns.to_vec(),
            options: ast::IndexOptions::default(),
        };
        let references = references.clone();
        Ok((Written { name: constraint.cloned(), columns: names, references }, needed))
    }

    /// Puts it into a shape; `number` goes on with each name that is made.
    ///
    /// # Errors
    /// 1072, 1059, 1826.
    pub fn define(
        self,
        shape: &mut Shape,
        (old, table): (&TableDef, &str),
        number: &mut u64,
    ) -> Result<(), SqlError> {
        let name = self.name.unwrap_or_else(|| {
            *number += 1;
            format!("{table}_ibfk_{number}")
        });
        super::names::check_constraint_name(&name)?;
        // Also the name of one that the same statement drops is taken.
        let mut taken = shape.foreign_keys.iter().chain(&old.foreign_keys);
        if taken.any(|k| same_name(&k.name, &name)) {
            return Err(catalog::CatalogError::ForeignKeyExists(name).into());
        }
        let column = |name: &String| {
            let slot = shape.slots.iter().find(|s| !s.def.hidden && same_name(&s.def.name, name));
            slot.map(|s| s.token).ok_or_else(|| missing_key(name))
        };
        let columns = self.columns.iter().map(column).collect::<Result<_, _>>()?;
        let parent = &self.references.table;
        let schema = parent.schema.clone().unwrap_or_else(|| old.schema.clone());
        shape.foreign_keys.push(ForeignKeyDef {
            name,
            columns,
            parent: (schema, parent.name.clone()),
            parent_columns: self.references.columns,
            on_delete: action(self.references.on_delete),
            on_update: action(self.references.on_update),
        });
        Ok(())
    }
}

fn action(written: Option<ReferenceAction>) -> Referential {
    match written {
        None | Some(ReferenceAction::NoAction) => Referential::NoAction,
        Some(ReferenceAction::Restrict) => Referential::Restrict,
        Some(ReferenceAction::Cascade) => Referential::Cascade,
        Some(ReferenceAction::SetNull) => Referential::SetNull,
        Some(ReferenceAction::SetDefault) => Referential::SetDefault,
    }
}

fn cannot_add() -> SqlError {
    DdlError::CannotAddForeignKey.into()
}

/// Indexes that were made for foreign keys and that others serve for by now go.
pub fn drop_needless(indexes: &mut Vec<IndexDef>) {
    let serves = |other: &IndexDef, generated: &IndexDef| {
        let same = |(a, b): (&value::KeyPart, &value::KeyPart)| {
            a.column == b.column && b.prefix_chars.is_none() && a.descending == b.descending
        };
        other.parts.len() >= generated.parts.len()
            && generated.parts.iter().zip(&other.parts).all(same)
    };
    let mut at = 0;
    while at < indexes.len() {
        let needless = indexes[at].attributes.generated
            && indexes.iter().enumerate().any(|(n, other)| {
                // Of two made ones with the same columns the last stays, as in MySQL: the index of a
                // foreign key has the name of the newest.
                let twin =
                    other.attributes.generated && other.parts.len() == indexes[at].parts.len();
                n != at && (!twin || n > at) && serves(other, &indexes[at])
            });
        match needless {
            true => drop(indexes.remove(at)),
            false => at += 1,
        }
    }
}

/// What a new definition's foreign keys ask for when it is brought about.
#[derive(Default)]
pub struct Settled {
    /// Keys whose rows have to be looked at, with their parents (none: the table itself).
    unproven: Vec<(ForeignKeyDef, Option<Arc<Definition>>)>,
    /// There are new ones.
    pub added: bool,
}

impl Settled {
    /// Whether rows have to be looked at.
    pub fn must_look(&self) -> bool {
        !self.unproven.is_empty()
    }

    /// Checks the rows of the table that is being made.
    ///
    /// # Errors
    /// 1452, storage errors.
    pub fn verify(
        &self,
        client: &mut Client,
        child: &TableDef,
        rows: &Table,
        shown: &str,
    ) -> Result<(), SqlError> {
        for (key, parent) in &self.unproven {
            let opened = match parent {
                Some(parent) => Some((&parent.def, &**parent.open(client.engine())?)),
                None => None,
            };
            Verifier { child, key, parent: opened, shown }.run(client, rows)?;
        }
        Ok(())
    }
}

/// Checks the foreign keys of a new definition against the tables that they refer to, which are locked. Names of
/// parent columns become those of the parent.
///
/// # Errors
/// MySQL's errors of foreign keys.
pub fn settle(
    old: Option<&TableDef>,
    new: &mut TableDef,
    context: &mut Context<'_>,
) -> Result<Settled, SqlError> {
    let checks = checked(context)?;
    let mut settled = Settled::default();
    // A table that is altered is locked exclusively at the end, together with those.
    let mode = if old.is_some() { Mode::SU } else { Mode::X };
    if new.foreign_keys.is_empty() {
        return Ok(settled);
    }
    if new.temporary {
        return Err(cannot_add());
    }
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let known = |key: &ForeignKeyDef| {
        old.is_some_and(|old| old.foreign_keys.iter().any(|k| k.name == key.name))
    };
    let fresh: Vec<ForeignKeyDef> =
        new.foreign_keys.iter().filter(|k| !known(k)).cloned().collect();
    let names = fresh.iter().map(|key| &key.name);
    let schema = old.map_or(&new.schema, |old| &old.schema).clone();
    catalog.claim_foreign_keys(context.client, context.tables, (&schema, None), names, deadline)?;
    for at in 0..new.foreign_keys.len() {
        let key = new.foreign_keys[at].clone();
        check_columns(new, &key)?;
        let is_new = fresh.contains(&key);
        if !is_new && old.is_some_and(|old| same_types(old, new, &key)) {
            continue;
        }
        let parent = if key.parent == new.full_name() {
            None
        } else {
            Some(parent_of(&key, checks, mode, context)?)
        };
        let def = match &parent {
            None => Some(&*new),
            Some(parent) => parent.as_deref().map(|d| &d.def),
        };
        let Some(def) = def else { continue };
        let columns = joined(new, &key, def, checks)?;
        if is_new {
            let itself = parent.is_none() && columns == key.columns;
            require_key(def, &key, &columns, itself, context)?;
        }
        let names = columns.iter().map(|c| def.columns[*c].name.clone()).collect();
        settled.added |= is_new;
        if is_new && checks {
            settled.unproven.push((key, parent.flatten()));
        }
        new.foreign_keys[at].parent_columns = names;
    }
    for (key, _) in &mut settled.unproven {
        if let Some(named) = new.foreign_keys.iter().find(|k| k.name == key.name) {
            key.clone_from(named);
        }
    }
    settled.added |= !fresh.is_empty();
    Ok(settled)
}

fn same_types(old: &TableDef, new: &TableDef, key: &ForeignKeyDef) -> bool {
    let before = old.foreign_keys.iter().find(|k| k.name == key.name);
    before.is_some_and(|before| {
        before.columns.iter().zip(&key.columns).all(|(a, b)| {
            let nullable = new.columns[*b].ty.nullable;
            ColumnType { nullable, ..old.columns[*a].ty } == new.columns[*b].ty
        })
    })
}

/// Locks the table that a key refers to.
fn parent_of(
    key: &ForeignKeyDef,
    checks: bool,
    mode: Mode,
    context: &mut Context<'_>,
) -> Result<Option<Arc<Definition>>, SqlError> {
    let (schema, name) = &key.parent;
    if catalog::virtual_schema(schema).is_some() {
        let table = format!("{schema}.{name}");
        return Err(context.env.rights().denied_table("REFERENCES".into(), &table).into());
    }
    let catalog = Arc::clone(context.tables.catalog());
    let deadline = context.env.lock_deadline();
    let found =
        catalog.lock_relative(context.client, context.tables, &key.parent, mode, deadline)?;
    match found.filter(|d| d.def.view.is_none()) {
        None if checks => Err(DdlError::CannotOpenParent(name).into()),
        found => Ok(found),
    }
}

/// What a foreign key asks of its own columns.
fn check_columns(def: &TableDef, key: &ForeignKeyDef) -> Result<(), SqlError> {
    let mut clauses = vec![("ON DELETE", key.on_delete), ("ON UPDATE", key.on_update)];
    clauses.retain(|(_, action)| matches!(action, Referential::Cascade | Referential::SetNull));
    let sets_null = clauses.iter().any(|(_, action)| *action == Referential::SetNull);
    for at in &key.columns {
        let column = &def.columns[*at];
        if let Some(generated) = &column.generated {
            if !generated.stored {
                return Err(virtual_column(key, &column.name));
            }
            let writes = |(event, action): &&(&str, Referential)| {
                *event == "ON UPDATE" || *action == Referential::SetNull
            };
            if let Some((event, action)) = clauses.iter().find(writes) {
                let clause = format!("{event} {}", action.words());
                return Err(DdlError::ActionOnGenerated(&clause).into());
            }
        }
        if sets_null && !column.ty.nullable {
            return Err(DdlError::SetNullOfNotNull(&column.name, &key.name).into());
        }
        let uses = |text: &str| text.contains(&quoted(&column.name));
        let stored = |c: &catalog::ColumnDef| {
            c.generated.as_ref().is_some_and(|g| g.stored && uses(&g.text))
        };
        if !clauses.is_empty() && def.columns.iter().any(stored) {
            return Err(cannot_add());
        }
        let writes = key.on_delete == Referential::SetNull || key.on_update.changes();
        if let Some(check) = def.checks.iter().find(|c| writes && uses(&c.text)) {
            return Err(DdlError::ActionOnChecked(&column.name, &check.name, &key.name).into());
        }
    }
    Ok(())
}

fn virtual_column(key: &ForeignKeyDef, column: &str) -> SqlError {
    DdlError::ForeignVirtual(&key.name, column).into()
}

/// The parent's columns, which must be of the child's types.
fn joined(
    child: &TableDef,
    key: &ForeignKeyDef,
    parent: &TableDef,
    checks: bool,
) -> Result<Vec<usize>, SqlError> {
    let columns = parent.positions(&key.parent_columns).map_err(|missing| {
        SqlError::from(DdlError::NoParentColumn(missing, &key.name, &parent.name))
    })?;
    for (mine, theirs) in key.columns.iter().zip(&columns) {
        let (mine, theirs) = (&child.columns[*mine], &parent.columns[*theirs]);
        if theirs.generated.as_ref().is_some_and(|g| !g.stored) {
            return Err(virtual_column(key, &theirs.name));
        }
        if !compatible(&mine.ty, &theirs.ty, checks) {
            return Err(incompatible(key, &mine.name, &theirs.name));
        }
    }
    Ok(columns)
}

/// 3780.
pub fn incompatible(key: &ForeignKeyDef, mine: &str, theirs: &str) -> SqlError {
    DdlError::IncompatibleColumns(mine, theirs, &key.name).into()
}

/// Whether values of two columns can be compared by a foreign key. Without `foreign_key_checks` the character set of
/// one side may be changed before that of the other.
pub fn compatible(a: &ColumnType, b: &ColumnType, checks: bool) -> bool {
    let text = |ty: &ColumnType| matches!(ty.kind, Kind::Char | Kind::VarChar);
    let bytes = |ty: &ColumnType| matches!(ty.kind, Kind::Binary | Kind::VarBinary);
    if text(a) && text(b) {
        return a.collation == b.collation || !checks;
    }
    bytes(a) && bytes(b) || (a.kind == b.kind && (!a.kind.is_int() || a.unsigned == b.unsigned))
}

/// 6125, 1822, or the warning 6124.
fn require_key(
    parent: &TableDef,
    key: &ForeignKeyDef,
    columns: &[usize],
    itself: bool,
    context: &mut Context<'_>,
) -> Result<(), SqlError> {
    if !itself && parent.unique_over(columns).is_some() {
        return Ok(());
    }
    let name = "restrict_fk_on_non_standard_key";
    let restricted = context.env.system_variable(false, name)? != OwnedDatum::Int(0);
    if restricted {
        return Err(DdlError::NoParentUniqueKey(&key.name, &parent.name).into());
    }
    if itself || parent.index_of_columns(columns).is_none() {
        return Err(DdlError::NoParentIndex(&key.name, &parent.name).into());
    }
    let text = format!(
        "Foreign key '{}' refers to non-unique key or partial key. This is deprecated and will be \
         removed in a future release.",
        key.name
    );
    context.env.warn(WarningLevel::Warning, 6124, text);
    Ok(())
}

/// A new table, or a new name of one, that foreign keys refer to already.
///
/// # Errors
/// 1215 with `foreign_key_checks`, else what is wrong.
pub fn adopted(new: &TableDef, name: &FullName, context: &mut Context<'_>) -> Result<(), SqlError> {
    if new.temporary || new.view.is_some() {
        return Ok(());
    }
    let checks = checked(context)?;
    for child in context.tables.catalog().children_of(name)? {
        for key in child.def.referring(name) {
            let fits = joined(&child.def, key, new, checks)
                .and_then(|columns| require_key(new, key, &columns, false, context));
            match fits {
                Err(_) if checks => return Err(cannot_add()),
                other => other?,
            }
        }
    }
    Ok(())
}

/// The name that MySQL gives to the table that ALTER TABLE copies rows into.
pub fn copy_name(context: &Context<'_>) -> String {
    format!("#sql-{:x}_{:x}", std::process::id(), context.env.connection_id())
}
