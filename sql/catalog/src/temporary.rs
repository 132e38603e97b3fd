//! Temporary tables: one session's own, hiding tables of the same name.
//!
//! 1. They are in no dictionary and in no map of names: the session's cache alone has them. After a
//!    crash their files are orphans, which recovery removes.
//! 2. They are made by a transaction of their own, so that the session's open one goes on.
//! 3. A dropped one's file stays until the session is in no transaction: rolling back may need it.

use crate::ddl::FillRows;
use crate::definition::Definition;
use crate::entry::NameEntry;
use crate::{Catalog, CatalogError, TableCache, TableDef};
use engine::Client;
use instrument::Counter;
use std::sync::Arc;

impl Catalog {
    pub(crate) fn create_temporary<E: From<CatalogError>>(
        &self,
        client: &mut Client,
        cache: &mut TableCache,
        new: TableDef,
        (autoinc_start, fill): (u64, &mut FillRows<'_, E>),
    ) -> Result<(), E> {
        if self.schema(&new.schema).is_none() {
            return Err(CatalogError::UnknownDatabase(new.schema).into());
        }
        if cache.temporary(&new.schema, &new.name).is_some() {
            return Err(CatalogError::TableExists(new.name).into());
        }
        cache.admit_temporary()?;
        cache.drop_retired(client)?;
        let mut own = self.engine().client().map_err(CatalogError::from)?;
        let def = self.with_ids(new)?;
        let made = self.store_with_storage(&mut own, def, autoinc_start, fill)?;
        cache.add_temporary(made)?;
        cache.lasting.created = true;
        Ok(())
    }

    /// Gives back the storage of a table that has other storage, or none, by now.
    pub(crate) fn drop_storage(
        &self,
        cache: &mut TableCache,
        client: &Client,
        old: &Arc<Definition>,
    ) -> Result<(), CatalogError> {
        if old.def.temporary {
            cache.retired.push(Arc::clone(old));
            return cache.drop_retired(client);
        }
        Ok(self.engine().drop_table_storage(old.def.storage.space)?)
    }
}

impl TableCache {
    /// Handle of the session's own table of this name.
    pub(crate) fn temporary(&self, schema: &str, name: &str) -> Option<usize> {
        if self.temporary.is_empty() {
            return None;
        }
        self.temporary.get(&(schema.to_string(), name.to_string())).copied()
    }

    /// Whether the name is one of the session's own tables.
    pub fn is_temporary(&self, schema: &str, name: &str) -> bool {
        self.temporary(schema, name).is_some()
    }

    /// Whether the session has tables of its own.
    pub fn has_temporary(&self) -> bool {
        !self.temporary.is_empty()
    }

    /// The session's own tables.
    pub fn temporary_tables(&self) -> Vec<Arc<Definition>> {
        let handles = self.temporary.values();
        handles.filter_map(|handle| self.definition(*handle).cloned()).collect()
    }

    fn add_temporary(&mut self, definition: Definition) -> Result<(), CatalogError> {
        let (schema, name) = (definition.def.schema.clone(), definition.def.name.clone());
        let entry = NameEntry::private(self.catalog().names(), (&schema, &name), definition);
        instrument::count(Counter::OpenedTables, 1);
        instrument::count(Counter::OpenedTableDefinitions, 1);
        let handle = self.add_handle(Arc::new(entry));
        self.refresh(handle)?;
        self.outdate(&schema, &name);
        self.temporary.insert((schema, name), handle);
        Ok(())
    }

    /// Gives a temporary table another definition, perhaps another name.
    pub(crate) fn replace_temporary(
        &mut self,
        old: &TableDef,
        new: Arc<Definition>,
    ) -> Result<(), CatalogError> {
        let key = (old.schema.clone(), old.name.clone());
        let Some(handle) = self.temporary.remove(&key) else { return Ok(()) };
        self.outdate(&new.def.schema, &new.def.name);
        self.temporary.insert((new.def.schema.clone(), new.def.name.clone()), handle);
        self.entry(handle).publish_private(Some(new));
        self.refresh(handle)
    }

    /// DROP of a temporary table; none of this name is fine.
    pub(crate) fn drop_temporary(
        &mut self,
        client: &Client,
        schema: &str,
        name: &str,
    ) -> Result<(), CatalogError> {
        let key = (schema.to_string(), name.to_string());
        let Some(&handle) = self.temporary.get(&key) else { return Ok(()) };
        self.admit_temporary()?;
        self.temporary.remove(&key);
        self.lasting.dropped = true;
        self.retired.extend(self.definition(handle).cloned());
        // Plans of it are made anew, for what it has hidden.
        self.entry(handle).publish_private(None);
        self.refresh(handle)?;
        self.drop_retired(client)
    }

    /// Removes the files of dropped temporary tables, unless a transaction is open.
    pub(crate) fn drop_retired(&mut self, client: &Client) -> Result<(), CatalogError> {
        if client.in_transaction() {
            return Ok(());
        }
        for definition in std::mem::take(&mut self.retired) {
            self.catalog().engine().drop_table_storage(definition.def.storage.space)?;
        }
        Ok(())
    }

    /// Drops every temporary table: the session ends or begins anew. It is in no transaction.
    pub fn drop_temporary_tables(&mut self, client: &Client) {
        let names: Vec<_> = self.temporary.keys().cloned().collect();
        for (schema, name) in names {
            // A file that cannot be removed now is an orphan at the next start.
            let _ = self.drop_temporary(client, &schema, &name);
        }
        let _ = self.drop_retired(client);
    }
}
