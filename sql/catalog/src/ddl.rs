//! DDL: create, drop and truncate tables, create indexes, create and drop schemas.
//!
//! 1. Locks first: the schema IX (X for DROP DATABASE), the table name X. 2. Storage that a
//! definition needs is made before the dictionary transaction, storage that it no longer needs is
//! given back after it: a crash in between leaves an orphan, which recovery sweeps, never a
//! definition without storage. 3. The new definition is published last, still under X.

use crate::names::Definition;
use crate::{Catalog, CatalogError, ColumnDef, IndexDef, SchemaDef, TableCache, TableDef};
use engine::{Client, TableStorage};
use mdl::{Mode, Namespace};
use std::sync::Arc;
use sync::Deadline;
use value::{Collation, KeyPart};

/// An index to be made; the dictionary gives it an id.
#[derive(Debug, Clone, PartialEq)]
pub struct NewIndex {
    /// Name; `PRIMARY` for the primary key.
    pub name: String,
    /// No duplicates.
    pub unique: bool,
    /// The clustered index.
    pub primary: bool,
    /// Key columns.
    pub parts: Vec<KeyPart>,
    /// COMMENT.
    pub comment: String,
}

/// A table to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTable {
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub name: String,
    /// Columns.
    pub columns: Vec<ColumnDef>,
    /// Indexes, the primary key first.
    pub indexes: Vec<NewIndex>,
    /// Default collation.
    pub collation: Collation,
    /// COMMENT.
    pub comment: String,
    /// First AUTO_INCREMENT value.
    pub autoinc_start: u64,
    /// Time of creation, microseconds since 1970.
    pub created_us: i64,
}

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
        self.transact(client, |c, client| c.store_schema(client, &def))?;
        self.publish_schema(&def.name.clone(), Some(def));
        Ok(())
    }

    /// DROP DATABASE with every table in it; returns how many tables there were.
    ///
    /// # Errors
    /// [`CatalogError::DropMissingDatabase`], lock and storage errors.
    pub fn drop_schema(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        name: &str,
        deadline: Deadline,
    ) -> Result<u64, CatalogError> {
        self.lock_schema(client, cache, name, Mode::X, deadline)?;
        if self.schema(name).is_none() {
            return Err(CatalogError::DropMissingDatabase(name.to_string()));
        }
        let tables = self.table_names(name);
        for table in &tables {
            self.lock_table(client, cache, name, table, deadline)?;
        }
        self.transact(client, |c, client| {
            tables.iter().try_for_each(|table| c.erase_table(client, name, table))?;
            c.erase_schema(client, name)
        })?;
        self.publish_schema(name, None);
        tables.iter().try_for_each(|table| self.retire(name, table))?;
        Ok(tables.len() as u64)
    }

    /// CREATE TABLE.
    ///
    /// # Errors
    /// [`CatalogError::UnknownDatabase`], [`CatalogError::TableExists`], lock and storage errors.
    pub fn create_table(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        new: NewTable,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        self.lock_schema(client, cache, &new.schema, Mode::IX, deadline)?;
        if self.schema(&new.schema).is_none() {
            return Err(CatalogError::UnknownDatabase(new.schema));
        }
        let handle = self.lock_table(client, cache, &new.schema, &new.name, deadline)?;
        if cache.definition(handle).is_some() {
            return Err(CatalogError::TableExists(new.name));
        }
        let autoinc_start = new.autoinc_start;
        let def = self.define(new)?;
        let definition = self.store_with_storage(client, def, autoinc_start)?;
        publish(cache, handle, definition);
        Ok(())
    }

    /// DROP TABLE of one or more names; tables that do not exist are returned, `schema.name` each.
    /// Without `if_exists`, a missing one is an error and nothing is dropped, as in MySQL 8.
    ///
    /// # Errors
    /// [`CatalogError::UnknownTables`], lock and storage errors.
    pub fn drop_tables(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        names: &[(String, String)],
        if_exists: bool,
        deadline: Deadline,
    ) -> Result<Vec<String>, CatalogError> {
        let (mut present, mut missing) = (Vec::new(), Vec::new());
        for (schema, name) in names {
            self.lock_schema(client, cache, schema, Mode::IX, deadline)?;
            let handle = self.lock_table(client, cache, schema, name, deadline)?;
            match cache.definition(handle) {
                Some(_) => present.push((schema, name)),
                None => missing.push(format!("{schema}.{name}")),
            }
        }
        if !missing.is_empty() && !if_exists {
            return Err(CatalogError::UnknownTables(missing.join(",")));
        }
        self.transact(client, |c, client| {
            present.iter().try_for_each(|(schema, name)| c.erase_table(client, schema, name))
        })?;
        present.iter().try_for_each(|(schema, name)| self.retire(schema, name))?;
        Ok(missing)
    }

    /// TRUNCATE TABLE: the same definition over new, empty storage.
    ///
    /// # Errors
    /// [`CatalogError::NoSuchTable`], lock and storage errors.
    pub fn truncate_table(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        schema: &str,
        name: &str,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        self.lock_schema(client, cache, schema, Mode::IX, deadline)?;
        let handle = self.lock_table(client, cache, schema, name, deadline)?;
        let old = self.existing(cache, handle)?;
        let def = TableDef { id: self.engine().new_table_id()?, ..old.def.clone() };
        let definition = self.store_with_storage(client, def, 1)?;
        publish(cache, handle, definition);
        self.engine().drop_table_storage(old.def.storage.space)?;
        Ok(())
    }

    /// CREATE INDEX on an existing, perhaps filled, table.
    ///
    /// # Errors
    /// [`CatalogError::NoSuchTable`], [`CatalogError::IndexExists`], duplicates among the rows, lock
    /// and storage errors.
    pub fn create_index(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        table: (&str, &str),
        index: NewIndex,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        self.lock_schema(client, cache, table.0, Mode::IX, deadline)?;
        let handle = self.lock_table(client, cache, table.0, table.1, deadline)?;
        let old = self.existing(cache, handle)?;
        if old.def.indexes.iter().any(|i| value::name::same_name(&i.name, &index.name)) {
            return Err(CatalogError::IndexExists(index.name));
        }
        let index = self.with_id(index)?;
        let spec = index.spec();
        let mut def = old.def.clone();
        // Unique indexes stand before the others, as in MySQL; roots are kept by id.
        let others = def.indexes.iter().position(|i| !i.unique).filter(|_| index.unique);
        def.indexes.insert(others.unwrap_or(def.indexes.len()), index);
        let def = self.transact(client, |c, client| {
            let root = c.engine().create_index(client, old.open(c.engine())?, &spec)?;
            def.storage.roots.push((spec.id, root));
            c.store_table(client, &def)?;
            Ok(def)
        })?;
        let table = self.engine().open_table(&def.spec(), def.storage.clone())?;
        publish(cache, handle, Definition::opened(def, table));
        Ok(())
    }

    fn lock_schema(
        &self,
        client: &Client,
        cache: &mut TableCache,
        schema: &str,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let object = self.mdl().intern(Namespace::Schema, schema, "");
        cache.lock_object(client.slot(), object, mode, deadline)
    }

    fn lock_table(
        &self,
        client: &Client,
        cache: &mut TableCache,
        schema: &str,
        name: &str,
        deadline: Deadline,
    ) -> Result<usize, CatalogError> {
        let handle = cache.lock_name(client.slot(), schema, name, Mode::X, deadline)?;
        cache.refresh(handle);
        Ok(handle)
    }

    fn existing(&self, cache: &TableCache, handle: usize) -> Result<Arc<Definition>, CatalogError> {
        let entry = cache.entry(handle);
        cache.definition(handle).cloned().ok_or_else(|| CatalogError::NoSuchTable {
            schema: entry.schema.clone(),
            name: entry.name.clone(),
        })
    }

    fn with_id(&self, new: NewIndex) -> Result<IndexDef, CatalogError> {
        let NewIndex { name, unique, primary, parts, comment } = new;
        Ok(IndexDef { id: self.engine().new_index_id()?, name, unique, primary, parts, comment })
    }

    fn define(&self, new: NewTable) -> Result<TableDef, CatalogError> {
        let indexes: Result<Vec<_>, _> = new.indexes.into_iter().map(|i| self.with_id(i)).collect();
        let indexes = indexes?;
        let clustered_id = match indexes.first().filter(|i| i.primary) {
            Some(primary) => primary.id,
            None => self.engine().new_index_id()?,
        };
        Ok(TableDef {
            clustered_id,
            id: self.engine().new_table_id()?,
            schema: new.schema,
            name: new.name,
            columns: new.columns,
            indexes,
            collation: new.collation,
            comment: new.comment,
            created_us: new.created_us,
            storage: TableStorage { space: base::SpaceId(0), roots: Vec::new() },
        })
    }

    /// Makes the storage of a definition and its dictionary rows in one transaction: if that does
    /// not commit, the engine takes the file away again.
    fn store_with_storage(
        &self,
        client: &mut Client,
        mut def: TableDef,
        autoinc_start: u64,
    ) -> Result<Definition, CatalogError> {
        self.transact(client, |c, client| {
            let table = c.engine().create_table(client, &def.spec())?;
            def.storage = table.storage();
            if autoinc_start > 1 {
                client.note_autoinc(&table, autoinc_start - 1)?;
            }
            c.store_table(client, &def)?;
            Ok(Definition::opened(def, table))
        })
    }

    /// Unpublishes a table whose dictionary rows are gone, and gives back its storage.
    fn retire(&self, schema: &str, name: &str) -> Result<(), CatalogError> {
        let entry = self.names().entry(schema, name);
        let (_, old) = entry.current();
        entry.publish(None);
        if let Some(old) = old {
            self.engine().drop_table_storage(old.def.storage.space)?;
        }
        Ok(())
    }
}

fn publish(cache: &mut TableCache, handle: usize, definition: Definition) {
    cache.entry(handle).publish(Some(Arc::new(definition)));
    cache.refresh(handle);
}
