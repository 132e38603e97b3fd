//! DDL: create, drop and truncate tables, create indexes, create and drop schemas.
//!
//! 1. Locks first: the schema IX (X for DROP DATABASE), the table name X (ALTER TABLE: see `alter`). 2. Storage that a
//! definition needs is made before the dictionary transaction, storage that it no longer needs is
//! given back after it: a crash in between leaves an orphan, which recovery sweeps, never a
//! definition without storage. 3. The new definition is published last, still under X.

use crate::definition::Definition;
use crate::{Alter, Catalog, CatalogError, FullName, SchemaDef, TableCache, TableDef, Work};
use base::{IndexId, TableId};
use engine::Client;
use mdl::{Mode, Namespace};
use std::collections::BTreeMap;
use std::sync::Arc;
use sync::Deadline;

/// Inserts the first rows of a table.
pub type FillRows<'f, E> = dyn FnMut(&mut Client, &engine::Table) -> Result<(), E> + 'f;

impl Catalog {
    /// CREATE DATABASE.
    ///
    /// # Errors
    /// [`CatalogError::DatabaseExists`], lock and storage errors.
    pub fn create_schema(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        def: SchemaDef,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        self.lock_schema(client, cache, &def.name, Mode::X, deadline)?;
        if self.schema(&def.name).is_some() {
            return Err(CatalogError::DatabaseExists(def.name));
        }
        self.admit_schemas()?;
        self.transact(client, |c, client| c.store_schema(client, &def))?;
        self.publish_schema(&def.name.clone(), Some(def));
        Ok(())
    }

    /// DROP DATABASE with every table in it; returns how many tables there were. `orphans`: tables elsewhere may
    /// refer to them.
    ///
    /// # Errors
    /// [`CatalogError::DropMissingDatabase`], [`CatalogError::ParentDropped`], lock and storage errors.
    pub fn drop_schema(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        name: &str,
        orphans: bool,
        deadline: Deadline,
    ) -> Result<u64, CatalogError> {
        self.lock_schema(client, cache, name, Mode::X, deadline)?;
        if self.schema(name).is_none() {
            return Err(CatalogError::DropMissingDatabase(name.to_string()));
        }
        self.admit_schemas()?;
        let tables = self.table_names(name);
        for table in &tables {
            self.lock_table(client, cache, name, table, deadline)?;
        }
        let full: Vec<_> = tables.iter().map(|t| (name.to_string(), t.clone())).collect();
        let gone: Vec<_> = full.iter().collect();
        self.release_relatives(client, cache, &gone, orphans, deadline)?;
        self.transact(client, |c, client| {
            tables.iter().try_for_each(|table| c.erase_whole(client, name, table))?;
            c.erase_schema(client, name)
        })?;
        self.publish_schema(name, None);
        self.retire(full.iter())?;
        Ok(tables.len() as u64)
    }

    /// As in MySQL, schemas stay what they are while changes are refused.
    fn admit_schemas(&self) -> Result<(), CatalogError> {
        match self.engine().recovery_is_forced() {
            true => Err(CatalogError::ReadOnlyMode),
            false => Ok(()),
        }
    }

    /// CREATE TABLE: `new` has no ids and no storage yet. `autoinc_start` is the first AUTO_INCREMENT value.
    ///
    /// # Errors
    /// [`CatalogError::UnknownDatabase`], [`CatalogError::TableExists`], lock and storage errors.
    pub fn create_table(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        new: TableDef,
        autoinc_start: u64,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let nothing = &mut |_: &mut Client, _: &engine::Table| Ok::<_, CatalogError>(());
        self.create_filled(client, cache, new, (autoinc_start, nothing), deadline)
    }

    /// Locks all that [`Self::create_filled`] needs, so that it waits for nothing once there are rows.
    ///
    /// # Errors
    /// Those of [`Self::create_filled`] that need no rows, and of waiting.
    pub fn claim_table(
        &self,
        client: &Client,
        cache: &mut TableCache,
        new: &TableDef,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        if new.temporary {
            return Ok(());
        }
        self.claim_new(client, cache, new, deadline).map(drop)
    }

    /// Locks the name of a new table, which is free, and what the table refers to; the name's handle.
    pub(crate) fn claim_new(
        &self,
        client: &Client,
        cache: &mut TableCache,
        new: &TableDef,
        deadline: Deadline,
    ) -> Result<usize, CatalogError> {
        cache.refuse_creation(&new.schema, &new.name)?;
        let handle = self.free_name(client, cache, &new.schema, &new.name, deadline)?;
        self.claim_checks(client, cache, (None, new), deadline)?;
        self.lock_parents(client, cache, new, Mode::X, deadline)?;
        Ok(handle)
    }

    /// CREATE TABLE with rows, which `fill` inserts before anybody can see the table.
    ///
    /// # Errors
    /// As [`Self::create_table`], and those of `fill`; there is no table then.
    pub fn create_filled<E: From<CatalogError>>(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        new: TableDef,
        (autoinc_start, fill): (u64, &mut FillRows<'_, E>),
        deadline: Deadline,
    ) -> Result<(), E> {
        if new.temporary {
            return self.create_temporary(client, cache, new, (autoinc_start, fill));
        }
        let handle = self.claim_new(client, cache, &new, deadline)?;
        let def = self.with_ids(TableDef { id: TableId(0), ..new })?;
        let definition = self.store_with_storage(client, def, autoinc_start, fill)?;
        Ok(self.publish(cache, handle, definition)?)
    }

    /// Locks a name under which a table can be made.
    pub(crate) fn free_name(
        &self,
        client: &Client,
        cache: &mut TableCache,
        schema: &str,
        name: &str,
        deadline: Deadline,
    ) -> Result<usize, CatalogError> {
        self.lock_schema(client, cache, schema, Mode::IX, deadline)?;
        if self.schema(schema).is_none() {
            return Err(CatalogError::UnknownDatabase(schema.to_string()));
        }
        let handle = self.lock_table(client, cache, schema, name, deadline)?;
        match cache.definition(handle) {
            Some(_) => Err(CatalogError::TableExists(name.to_string())),
            None => Ok(handle),
        }
    }

    /// DROP TABLE of one or more names; tables that do not exist are returned, `schema.name` each.
    /// Without `if_exists`, a missing one is an error and nothing is dropped, as in MySQL 8. A temporary
    /// table goes before the table that it hides; with `temporary_only`, nothing else goes. `orphans`: other
    /// tables may refer to them.
    ///
    /// # Errors
    /// [`CatalogError::UnknownTables`], [`CatalogError::ParentDropped`], lock and storage errors.
    pub fn drop_tables(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        names: &[(String, String)],
        (if_exists, temporary_only, orphans): (bool, bool, bool),
        deadline: Deadline,
    ) -> Result<Vec<String>, CatalogError> {
        let (own, others): (Vec<_>, Vec<_>) =
            names.iter().partition(|(schema, name)| cache.temporary(schema, name).is_some());
        let mut kinds = BTreeMap::new();
        if !temporary_only {
            others.iter().try_for_each(|(schema, name)| cache.admit_change(schema, name))?;
            kinds = self.lock_in_order(client, cache, &others, deadline)?;
        }
        let is_table = |full: &&FullName| kinds.get(full) == Some(&Some(false));
        let (present, others): (Vec<_>, Vec<_>) = others.into_iter().partition(is_table);
        let missing: Vec<String> = others.iter().map(|(s, n)| format!("{s}.{n}")).collect();
        match own.is_empty() {
            true if temporary_only => cache.explicit.in_branch.admit_without_table()?,
            true => {}
            false => cache.admit_temporary()?,
        }
        if !missing.is_empty() && !if_exists {
            return Err(CatalogError::UnknownTables(missing.join(",")));
        }
        if !present.is_empty() {
            self.release_relatives(client, cache, &present, orphans, deadline)?;
            self.transact(client, |c, client| {
                present.iter().try_for_each(|(schema, name)| c.erase_whole(client, schema, name))
            })?;
        }
        self.retire(present.iter().copied())?;
        cache.locked_dropped(client.slot(), &present);
        own.iter().try_for_each(|(schema, name)| cache.drop_temporary(client, schema, name))?;
        Ok(missing)
    }

    /// Locks names that go, in their order, so that two who drop the same ones do not wait for each other; whether each is a
    /// view's, if it is anything's.
    fn lock_in_order<'n>(
        &self,
        client: &Client,
        cache: &mut TableCache,
        names: &[&'n FullName],
        deadline: Deadline,
    ) -> Result<BTreeMap<&'n FullName, Option<bool>>, CatalogError> {
        let mut kinds: BTreeMap<&FullName, _> = names.iter().map(|full| (*full, None)).collect();
        for (full, kind) in &mut kinds {
            let (schema, name) = *full;
            self.lock_schema(client, cache, schema, Mode::IX, deadline)?;
            let handle = self.lock_table(client, cache, schema, name, deadline)?;
            *kind = cache.definition(handle).map(|d| d.def.view.is_some());
        }
        Ok(kinds)
    }

    /// CREATE [OR REPLACE] VIEW and, with `must_exist`, ALTER VIEW.
    ///
    /// # Errors
    /// [`CatalogError::TableExists`], [`CatalogError::NoSuchTable`], [`CatalogError::NotView`], lock and
    /// storage errors.
    pub fn create_view(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        new: TableDef,
        (or_replace, must_exist): (bool, bool),
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let (schema, name) = (new.schema.clone(), new.name.clone());
        self.lock_schema(client, cache, &schema, Mode::IX, deadline)?;
        if self.schema(&schema).is_none() {
            return Err(CatalogError::UnknownDatabase(schema));
        }
        let handle = self.lock_table(client, cache, &schema, &name, deadline)?;
        match cache.definition(handle) {
            Some(old) if (or_replace || must_exist) && old.def.view.is_none() => {
                return Err(CatalogError::NotView { schema, name });
            }
            Some(_) if !or_replace && !must_exist => return Err(CatalogError::TableExists(name)),
            None if must_exist => return Err(CatalogError::NoSuchTable { schema, name }),
            _ => {}
        }
        let def = self.with_ids(new)?;
        self.transact(client, |c, client| c.store_table(client, &def))?;
        self.publish(cache, handle, Definition::closed(def))
    }

    /// DROP VIEW; views that do not exist are returned, `schema.name` each.
    ///
    /// # Errors
    /// [`CatalogError::UnknownTables`] without `if_exists`, [`CatalogError::NotView`], lock and storage errors.
    pub fn drop_views(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        names: &[(String, String)],
        if_exists: bool,
        deadline: Deadline,
    ) -> Result<Vec<String>, CatalogError> {
        let (mut present, mut missing) = (Vec::new(), Vec::new());
        let all: Vec<&FullName> = names.iter().collect();
        let kinds = self.lock_in_order(client, cache, &all, deadline)?;
        for full in names {
            let (schema, name) = full;
            match kinds.get(full).copied().flatten() {
                Some(true) => present.push(full),
                Some(false) => {
                    let (schema, name) = (schema.clone(), name.clone());
                    return Err(CatalogError::NotView { schema, name });
                }
                None => missing.push(format!("{schema}.{name}")),
            }
        }
        if !missing.is_empty() && !if_exists {
            return Err(CatalogError::UnknownTables(missing.join(",")));
        }
        self.transact(client, |c, client| {
            present.iter().try_for_each(|(schema, name)| c.erase_table(client, schema, name))
        })?;
        self.retire(present.into_iter())?;
        Ok(missing)
    }

    /// ALTER DATABASE: another default collation.
    ///
    /// # Errors
    /// [`CatalogError::UnknownDatabase`], lock and storage errors.
    pub fn alter_schema(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        def: SchemaDef,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        self.lock_schema(client, cache, &def.name, Mode::X, deadline)?;
        if self.schema(&def.name).is_none() {
            return Err(CatalogError::UnknownDatabase(def.name));
        }
        self.transact(client, |c, client| c.store_schema(client, &def))?;
        self.publish_schema(&def.name.clone(), Some(def));
        Ok(())
    }

    /// TRUNCATE TABLE: the same definition over new, empty storage. `orphans`: rows of other tables may refer to
    /// its rows.
    ///
    /// # Errors
    /// [`CatalogError::NoSuchTable`], [`CatalogError::ParentTruncated`], lock and storage errors.
    pub fn truncate_table(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        (schema, name): (&str, &str),
        orphans: bool,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let old = self.open_for_alter(client, cache, (schema, name), Mode::X, deadline);
        let old = old.map_err(|error| match error {
            CatalogError::UnknownDatabase(_) => {
                CatalogError::NoSuchTable { schema: schema.into(), name: name.into() }
            }
            other => other,
        })?;
        if old.def.view.is_some() {
            return Err(CatalogError::NoSuchTable { schema: schema.into(), name: name.into() });
        }
        if !orphans && !old.def.temporary {
            self.refuse_truncation(&old.def.full_name())?;
        }
        let nothing = &mut |_: &mut Client, _: &engine::Table, _: &engine::Table| Ok(());
        let work =
            Work { how: Alter::Copy(nothing), autoinc_start: 1, goes_on: false, alone: true };
        let same = (old.def.clone(), Vec::new());
        self.alter_table::<CatalogError>(client, cache, &old, same, work, deadline)
    }

    pub(crate) fn lock_schema(
        &self,
        client: &Client,
        cache: &mut TableCache,
        schema: &str,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        cache.protect_change(client.slot(), deadline)?;
        let object = self.mdl().intern(Namespace::Schema, schema, "");
        cache.lock_object(client.slot(), object, mode, deadline)
    }

    pub(crate) fn lock_table(
        &self,
        client: &Client,
        cache: &mut TableCache,
        schema: &str,
        name: &str,
        deadline: Deadline,
    ) -> Result<usize, CatalogError> {
        self.lock_table_as(client, cache, (schema, name), Mode::X, deadline)
    }

    /// As [`Self::lock_table`]. With [`Mode::SU`] it stays what it is, and is going to be locked X.
    pub(crate) fn lock_table_as(
        &self,
        client: &Client,
        cache: &mut TableCache,
        (schema, name): (&str, &str),
        mode: Mode,
        deadline: Deadline,
    ) -> Result<usize, CatalogError> {
        let handle = cache.lock_base_name(client.slot(), schema, name, mode, deadline)?;
        cache.refresh(handle)?;
        if mode == Mode::SU {
            cache.enter(handle)?;
            let object = Arc::clone(&cache.entry(handle).object);
            cache.changing.push(object);
        }
        Ok(handle)
    }

    pub(crate) fn existing(
        &self,
        cache: &TableCache,
        handle: usize,
    ) -> Result<Arc<Definition>, CatalogError> {
        let entry = cache.entry(handle);
        cache.definition(handle).cloned().ok_or_else(|| CatalogError::NoSuchTable {
            schema: entry.schema.clone(),
            name: entry.name.clone(),
        })
    }

    /// Gives an id to the table and to every index that has none yet.
    pub(crate) fn with_ids(&self, mut def: TableDef) -> Result<TableDef, CatalogError> {
        if def.id == TableId(0) {
            def.id = self.engine().new_table_id()?;
        }
        for index in def.indexes.iter_mut().filter(|i| i.id == IndexId(0)) {
            index.id = self.engine().new_index_id()?;
        }
        match def.clustered().map(|index| index.id) {
            Some(id) => def.clustered_id = id,
            None if def.clustered_id == IndexId(0) => {
                def.clustered_id = self.engine().new_index_id()?;
            }
            None => {}
        }
        Ok(def)
    }

    /// Makes the storage of a definition, its rows, and its dictionary rows in one transaction: if that
    /// does not commit, the engine takes the file away again.
    pub(crate) fn store_with_storage<E: From<CatalogError>>(
        &self,
        client: &mut Client,
        mut def: TableDef,
        autoinc_start: u64,
        fill: &mut FillRows<'_, E>,
    ) -> Result<Definition, E> {
        def.forget_older();
        self.transact(client, |c, client| {
            let table = c.engine().create_table(client, &def.spec()).map_err(CatalogError::from)?;
            def.storage = table.storage();
            if autoinc_start > 1 && table.autoinc_next().is_some() {
                client.note_autoinc(&table, autoinc_start - 1).map_err(CatalogError::from)?;
            }
            fill(client, &table)?;
            if !def.temporary {
                c.store_table(client, &def)?;
            }
            Ok(Definition::opened(def, table))
        })
    }

    /// Deletes a table's definition and what is known about its rows.
    fn erase_whole(
        &self,
        client: &mut Client,
        schema: &str,
        name: &str,
    ) -> Result<(), CatalogError> {
        if let Some(definition) = self.definition(schema, name)? {
            self.erase_statistics(client, &definition)?;
        }
        self.erase_table(client, schema, name)
    }

    /// Before tables go: nothing refers to them, or may, and what they refer to is locked.
    fn release_relatives(
        &self,
        client: &Client,
        cache: &mut TableCache,
        gone: &[&FullName],
        orphans: bool,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        for (schema, name) in gone {
            if let Some(definition) = self.definition(schema, name)? {
                self.lock_parents(client, cache, &definition.def, Mode::X, deadline)?;
            }
        }
        if orphans { Ok(()) } else { self.refuse_orphans(gone) }
    }

    /// Unpublishes tables whose dictionary rows are gone, and gives back their storage.
    fn retire<'n>(&self, names: impl Iterator<Item = &'n FullName>) -> Result<(), CatalogError> {
        let entries: Vec<_> =
            names.map(|(schema, name)| self.names().entry(schema, name)).collect();
        let old: Vec<_> = entries.iter().filter_map(|entry| entry.brief()?.space).collect();
        self.names().publish_all(entries.into_iter().map(|entry| (entry, None)).collect());
        old.into_iter().try_for_each(|space| Ok(self.engine().drop_table_storage(space)?))
    }

    fn publish(
        &self,
        cache: &mut TableCache,
        handle: usize,
        definition: Definition,
    ) -> Result<(), CatalogError> {
        let (entry, definition) = (Arc::clone(cache.entry(handle)), Arc::new(definition));
        self.names().publish_all(vec![(entry, Some(Arc::clone(&definition)))]);
        cache.refresh(handle)
    }
}
