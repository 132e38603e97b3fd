//! LOCK TABLES and FLUSH TABLES t WITH READ LOCK: from written names to locked ones.
//!
//! 1. A view is locked with every view and table below it. It is looked into before anything is locked,
//!    and again afterwards: if it has changed in between, the locks are given back and all begins anew.
//! 2. Temporary and virtual tables are not locked; naming them locks the session out of the others. A virtual table that is
//!    named with READ is not changed.
//! 3. Tables that foreign keys join to one that is locked by WRITE are locked with it: by WRITE what a change of its rows
//!    may change, by READ what it looks into.

use crate::ExecError;
use crate::turns::in_turns;
use crate::{Context, SqlError};
use catalog::{
    Alias, Catalog, CatalogError, FullName, INFORMATION_SCHEMA, PERFORMANCE_SCHEMA, Referential,
    Relatives, TableLock, virtual_schema,
};
use mdl::Mode;
use parser::ast::{DdlWait, LockKind, LockTable, ObjectName, Statement};
use parser::print::quoted;
use planner::{PlanContext, PlanError};
use std::collections::HashSet;

/// What LOCK TABLES locks.
#[derive(Clone, Default, PartialEq, Eq)]
struct Wanted {
    tables: Vec<TableLock>,
    relatives: Relatives,
    /// Virtual tables that are named, and whether with WRITE.
    virtuals: Vec<(FullName, bool)>,
}

impl Wanted {
    /// Virtual tables that are named with READ alone.
    fn read_virtuals(&self) -> Vec<FullName> {
        let is_written = |name: &FullName| self.virtuals.contains(&(name.clone(), true));
        self.virtuals.iter().map(|(name, _)| name.clone()).filter(|n| !is_written(n)).collect()
    }
}

/// Locks tables. The session has given back every lock it had.
///
/// # Errors
/// 1066, 1044, 1142, 1146, 1049, 1223, 1356 and those of waiting; nothing is locked then.
pub fn lock_tables(
    list: &[LockTable],
    wait: DdlWait,
    context: &mut Context<'_>,
) -> Result<(), SqlError> {
    let alias = |l: &LockTable| l.alias.clone().unwrap_or_else(|| l.table.name.clone());
    let mut before = HashSet::with_capacity(list.len());
    for one in list {
        let (name, schema) = (alias(one), context.schema_of(&one.table)?);
        if !before.insert((schema, name.to_ascii_lowercase())) {
            return Err(PlanError::NotUniqueTable(&name).into());
        }
    }
    in_turns(wait, context, |context| {
        loop {
            let wanted = expand(list, context)?;
            let deadline = context.env.lock_deadline();
            let locks = (wanted.tables.clone(), &wanted.relatives);
            context.tables.lock_tables(context.client, locks, false, deadline)?;
            let found = expand(list, context);
            if matches!(&found, Ok(found) if *found == wanted) {
                context.tables.note_read_virtuals(wanted.read_virtuals());
                return Ok(());
            }
            // Other tables, or none that can be said: nothing stays locked.
            context.tables.unlock_tables(context.client.slot());
            found?;
        }
    })
}

/// The tables that FLUSH TABLES names: each once, and none of information_schema.
///
/// # Errors
/// 1046, 1044, 1066.
pub fn flushed_names(
    names: &[ObjectName],
    context: &mut Context<'_>,
) -> Result<Vec<FullName>, SqlError> {
    let (mut found, mut before) = (Vec::new(), HashSet::new());
    for name in names {
        let full = (context.schema_of(name)?, name.name.clone());
        if virtual_schema(&full.0) == Some(INFORMATION_SCHEMA) {
            return Err(crate::views::denied_schema(INFORMATION_SCHEMA, context));
        }
        if !before.insert(full.clone()) {
            return Err(PlanError::NotUniqueTable(&full.1).into());
        }
        found.push(full);
    }
    Ok(found)
}

/// FLUSH TABLES t, ... WITH READ LOCK: waits until nobody writes the tables, and locks them for reading. Who reads them
/// in a statement is waited for afterwards. Tables that nobody stores need no lock.
///
/// # Errors
/// 1146, 1347 for a view, those of waiting.
pub fn flush_and_lock(names: &[FullName], context: &mut Context<'_>) -> Result<(), SqlError> {
    let mut list = Vec::new();
    for (schema, name) in names {
        let (schema, name) = (schema.clone(), name.clone());
        match context.tables.catalog().virtual_table(&schema, &name)? {
            Some(made) if made.is_view() => {
                return Err(CatalogError::NotBaseTable { schema, name }.into());
            }
            Some(_) => {}
            None => list.push(TableLock { schema, alias: name.clone(), name, write: false }),
        }
    }
    in_turns(None, context, |context| {
        let deadline = context.env.lock_deadline();
        let locks = (list.clone(), &Relatives::new());
        Ok(context.tables.lock_tables(context.client, locks, true, deadline)?)
    })
}

/// The tables to lock, with what lies below views, and their relatives. What is locked to find them is given back.
fn expand(list: &[LockTable], context: &mut Context<'_>) -> Result<Wanted, SqlError> {
    let mut found = Wanted::default();
    let mark = context.tables.mark();
    let looked = list.iter().try_for_each(|one| expand_one(one, context, &mut found));
    context.tables.release_since(context.client.slot(), mark);
    looked?;
    found.relatives = relatives(&found.tables, context.tables.catalog())?;
    Ok(found)
}

/// What changes of the tables that are locked by WRITE look into or change by foreign keys, as it is published now. Nothing is
/// locked and waited for: who locks it all looks again.
fn relatives(list: &[TableLock], catalog: &Catalog) -> Result<Relatives, SqlError> {
    let mut found = Relatives::new();
    let written = list.iter().filter(|l| l.write);
    // Names of parents, and whether their rows may be deleted and updated.
    let mut to_follow: Vec<(FullName, bool, bool)> =
        written.map(|l| ((l.schema.clone(), l.name.clone()), true, true)).collect();
    for (name, ..) in &to_follow {
        let Some(table) = catalog.definition(&name.0, &name.1)? else { continue };
        found.extend(table.def.parents().into_iter().map(|parent| (parent, false)));
    }
    let mut followed: HashSet<(FullName, bool, bool)> = HashSet::new();
    while let Some(parent) = to_follow.pop() {
        if !followed.insert(parent.clone()) {
            continue;
        }
        let (parent, deletes, updates) = parent;
        for child in catalog.children_of(&parent)? {
            let (mut deleted, mut updated) = (false, false);
            for key in child.def.referring(&parent) {
                let cascades = key.action(true) == Referential::Cascade;
                deleted |= deletes && cascades;
                updated |= deletes && key.action(true).changes() && !cascades;
                updated |= updates && key.action(false).changes();
            }
            let (changes, name) = (deleted || updated, child.def.full_name());
            *found.entry(name.clone()).or_default() |= changes;
            if updated {
                // Its new values have parents, too.
                for parent in child.def.parents() {
                    found.entry(parent).or_default();
                }
            }
            if changes {
                to_follow.push((name, deleted, updated));
            }
        }
    }
    Ok(found)
}

fn expand_one(
    one: &LockTable,
    context: &mut Context<'_>,
    found: &mut Wanted,
) -> Result<(), SqlError> {
    let write = one.kind == LockKind::Write;
    let (schema, name) = (context.schema_of(&one.table)?, one.table.name.clone());
    match virtual_schema(&schema) {
        Some(INFORMATION_SCHEMA) => {
            return Err(crate::views::denied_schema(INFORMATION_SCHEMA, context));
        }
        Some(schema) => {
            let Some(table) = context.tables.catalog().virtual_table(schema, &name)? else {
                return Err(CatalogError::NoSuchTable { schema: schema.into(), name }.into());
            };
            let is_lockable = schema != PERFORMANCE_SCHEMA || table.table().changes().is_some();
            if !is_lockable {
                let named = &table.def().name;
                return Err(crate::views::denied("SELECT, LOCK TABLES", named, context));
            }
            found.virtuals.push(((schema.into(), name), write));
            return Ok(());
        }
        None if context.tables.is_temporary(&schema, &name) => return Ok(()),
        None => {}
    }
    let alias = one.alias.clone().unwrap_or_else(|| name.clone());
    found.tables.push(TableLock { schema: schema.clone(), name: name.clone(), alias, write });
    let deadline = context.env.lock_deadline();
    let how = (Alias::InView, Mode::SH);
    let table = context.tables.open_as(context.client, (&schema, &name), how.0, how.1, deadline)?;
    if context.tables.def(table).view.is_some() {
        let alias = one.alias.as_deref();
        let below = below_as((&schema, &name), alias, Mode::SR, context)?;
        found.tables.extend(below.into_iter().map(|(schema, name)| TableLock {
            schema,
            alias: name.clone(),
            name,
            write,
        }));
    }
    Ok(())
}

/// What a view reads, directly or through others; all of that is locked by `mode`.
///
/// # Errors
/// 1356: it cannot be read.
pub fn below(
    view: (&str, &str),
    mode: Mode,
    context: &mut Context<'_>,
) -> Result<Vec<(String, String)>, SqlError> {
    below_as(view, None, mode, context)
}

/// As [`below`], of a view that LOCK TABLES calls so.
fn below_as(
    (schema, name): (&str, &str),
    alias: Option<&str>,
    mode: Mode,
    context: &mut Context<'_>,
) -> Result<Vec<(String, String)>, SqlError> {
    let alias = alias.map(|alias| format!(" AS {}", quoted(alias))).unwrap_or_default();
    let text = format!("SELECT * FROM {}.{}{alias}", quoted(schema), quoted(name));
    let parsed = parser::parse(text.as_bytes(), parser::SqlMode::DEFAULT);
    let Ok(Statement::Query(query)) = parsed else {
        return Err(ExecError::ViewName(&text).into());
    };
    let mut planning = PlanContext { read_mode: mode, ..context.planning() };
    let plan = planner::query::plan_query(&mut planning, &query)?;
    let names = plan.tables.iter().map(|(table, _)| {
        let def = context.tables.def(*table);
        (def.schema.clone(), def.name.clone())
    });
    Ok(names.filter(|(s, n)| (&s[..], &n[..]) != (schema, name)).collect())
}
