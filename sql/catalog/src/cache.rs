//! A session's open-table handles and the metadata locks it holds.
//!
//! 1. A handle belongs to one name; a compiled plan refers to it by the name's number
//!    ([`TableRef`]), which is the same in all sessions. 2. Locking a handle that was open before writes nothing that
//!    another session reads except the session's own slot: no map, no reference count, no mutex.
//! 3. A plan compares the version it was made for with the handle's; if they differ it is made anew.
//! 4. A handle that the present statement has used stays until that ends; others may go (`parking`), and are opened anew.

use crate::definition::Definition;
use crate::entry::{NameEntry, NameId};
use crate::explicit_locks::{Alias, ExplicitLocks};
use crate::handle::{Handle, RowTimer};
use crate::parking::Parking;
use crate::places::Places;
use crate::{Catalog, CatalogError, Statistics, TableDef};
use engine::Client;
use instrument::{Counter, TableIo};
use mdl::{Held, Mode, Object};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use sync::{Deadline, SessionSlot};

/// A table as a plan names it: the number of its name, and the version that was planned for. It means the same in every
/// session; one that uses it has opened it ([`TableCache::open`]) or taken it over ([`TableCache::adopt`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableRef {
    name: NameId,
    version: u64,
}

impl TableRef {
    #[inline]
    pub(crate) fn name(self) -> NameId {
        self.name
    }

    pub(crate) fn version(self) -> u64 {
        self.version
    }
}

/// Open tables and metadata locks of one session.
#[repr(C)]
pub struct TableCache {
    pub(crate) by_name: HashMap<(String, String), usize>,
    /// Handles of the session's own tables, by name.
    pub(crate) temporary: HashMap<(String, String), usize>,
    /// Storage of dropped temporary tables that an open transaction may still have to undo.
    pub(crate) retired: Vec<Arc<Definition>>,
    /// The names that an ALTER TABLE has locked so that they stay what they are, and that it is going to publish anew.
    pub(crate) changing: Vec<Arc<Object>>,
    pub(crate) explicit: ExplicitLocks,
    pub(crate) catalog: Arc<Catalog>,
    /// The transaction, or the statement, writes tables that other sessions know.
    pub(crate) writes: bool,
    /// The transaction is READ ONLY, or the next one will be: no table that other sessions know is written.
    pub read_only: bool,
    /// Only `super_read_only` forbids the session to write, `read_only` does not.
    pub is_super: bool,
    /// What ROLLBACK does not undo.
    pub lasting: Lasting,
    pub(crate) handles: Vec<Handle>,
    pub(crate) places: Places,
    /// Until the statement ends or, in a transaction, that does.
    pub(crate) held: Held,
    /// Until the statement ends.
    pub(crate) statement: Held,
    pub(crate) parking: Parking,
}

/// Temporary tables come and go at once, whatever becomes of the transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lasting {
    /// The transaction created some.
    pub created: bool,
    /// The transaction dropped some.
    pub dropped: bool,
}

impl TableCache {
    /// An empty cache of a session.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        TableCache {
            parking: Parking::new(&catalog),
            catalog,
            handles: Vec::new(),
            by_name: HashMap::new(),
            places: Places::default(),
            temporary: HashMap::new(),
            retired: Vec::new(),
            held: Held::new(),
            statement: Held::new(),
            writes: false,
            read_only: false,
            is_super: false,
            lasting: Lasting::default(),
            explicit: ExplicitLocks::default(),
            changing: Vec::new(),
        }
    }

    /// The dictionary behind this cache.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Locks a name and opens its current definition; 1146 if there is none.
    pub fn open(
        &mut self,
        client: &Client,
        schema: &str,
        name: &str,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<TableRef, CatalogError> {
        self.open_as(client, (schema, name), Alias::Named(name), mode, deadline)
    }

    /// As [`TableCache::open`], of a table with an alias: 1100 and 1099 when LOCK TABLES does not cover it.
    pub fn open_as(
        &mut self,
        client: &Client,
        (schema, name): (&str, &str),
        alias: Alias<'_>,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<TableRef, CatalogError> {
        self.admit(client.slot(), (schema, name), alias, mode, deadline)?;
        let handle = self.lock_name(client.slot(), schema, name, mode, deadline)?;
        self.enter(handle)?;
        let h = &self.handles[handle];
        if let Some(definition) = &h.definition {
            if definition.def.view.is_none() {
                definition.open(self.catalog.engine())?;
            } else if !matches!(mode, Mode::SR | Mode::SH | Mode::SW | Mode::SWLP) {
                // Who asks for more than its rows asks for a table.
                return Err(CatalogError::ViewChanged);
            }
            return Ok(self.reference(handle));
        }
        if self.catalog.schema(schema).is_none() {
            return Err(CatalogError::UnknownDatabase(schema.to_string()));
        }
        Err(CatalogError::NoSuchTable { schema: schema.to_string(), name: name.to_string() })
    }

    /// Locks a table that a plan refers to by its name; `false` when the definition has changed since: then the plan must
    /// be made anew.
    #[inline]
    pub fn relock(
        &mut self,
        slot: &SessionSlot,
        (name, table): (&Arc<NameEntry>, TableRef),
        mode: Mode,
        deadline: Deadline,
    ) -> Result<bool, CatalogError> {
        let handle = match self.places.find(table.name) {
            Some(handle) => handle,
            None => match self.come_back(name) {
                Some(handle) => handle,
                None => return Ok(false),
            },
        };
        if mode.changes_rows() || self.explicit.asks {
            if self.is_own(table) {
                self.explicit.in_branch.admit_temporary()?;
            } else {
                let entry = &self.handles[handle].entry;
                self.explicit.admit_again(&entry.schema, &entry.name, mode)?;
                if mode.changes_rows() {
                    self.protect(slot, deadline)?;
                }
            }
        }
        self.lock_handle(slot, handle, mode, deadline)?;
        let round = self.parking.round;
        let h = &mut self.handles[handle];
        if h.version == table.version && h.entry.version() == table.version {
            h.round = round;
            // Who plans anew opens the table, which tells whether it was missed.
            instrument::count(Counter::TableOpenCacheHits, h.hit);
            return Ok(true);
        }
        self.relock_anew(handle, table)
    }

    /// Locks and opens a table of a plan of another session; false when it is not of that version any more.
    pub fn adopt(
        &mut self,
        client: &Client,
        (name, planned): (&NameEntry, TableRef),
        mode: Mode,
        deadline: Deadline,
    ) -> Result<bool, CatalogError> {
        if name.version() != planned.version {
            // It is not opened for nothing.
            return Ok(false);
        }
        // Its aliases were admitted: [`TableCache::admit_names`].
        let name = (&*name.schema, &*name.name);
        match self.open_as(client, name, Alias::InView, mode, deadline) {
            Ok(table) => Ok(table == planned),
            Err(
                CatalogError::NoSuchTable { .. }
                | CatalogError::UnknownDatabase(_)
                | CatalogError::ViewChanged,
            ) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Where the handle of a table lies.
    #[inline]
    fn place(&self, table: TableRef) -> usize {
        self.places.find(table.name).expect("a TableRef is used where it was opened")
    }

    /// What other sessions know an open table by.
    pub fn name_of(&self, table: TableRef) -> &Arc<NameEntry> {
        self.entry(self.place(table))
    }

    /// Locks a name whether or not a table of that name exists; the handle's index.
    pub(crate) fn lock_name(
        &mut self,
        slot: &SessionSlot,
        schema: &str,
        name: &str,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<usize, CatalogError> {
        let handle = self.handle(schema, name);
        self.lock_handle(slot, handle, mode, deadline)?;
        Ok(handle)
    }

    /// As [`Self::lock_name`], of a name that other sessions know: a temporary table does not hide it.
    pub(crate) fn lock_base_name(
        &mut self,
        slot: &SessionSlot,
        schema: &str,
        name: &str,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<usize, CatalogError> {
        let handle = self.base_handle((schema.to_string(), name.to_string()));
        self.lock_handle(slot, handle, mode, deadline)?;
        Ok(handle)
    }

    /// Locks a handle's name, unless LOCK TABLES has done so.
    #[inline]
    fn lock_handle(
        &mut self,
        slot: &SessionSlot,
        handle: usize,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let object = &self.handles[handle].entry.object;
        if self.explicit.held.covers(object, mode) {
            return Ok(());
        }
        Ok(self.catalog.mdl().take(slot, &mut self.held, object, mode, deadline)?)
    }

    /// Whether it is a temporary table.
    pub fn is_own(&self, table: TableRef) -> bool {
        let handle = self.places.find(table.name);
        handle.and_then(|h| self.definition(h)).is_some_and(|d| d.def.temporary)
    }

    /// Locks a schema (or another object that is no table) until the statement or transaction ends.
    pub(crate) fn lock_object(
        &mut self,
        slot: &SessionSlot,
        object: Arc<Object>,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        if self.explicit.held.covers(&object, mode) {
            return Ok(());
        }
        Ok(self.catalog.mdl().take(slot, &mut self.held, &object, mode, deadline)?)
    }

    fn handle(&mut self, schema: &str, name: &str) -> usize {
        let key = (schema.to_string(), name.to_string());
        match self.temporary.get(&key) {
            Some(&handle) => handle,
            None => self.base_handle(key),
        }
    }

    pub(crate) fn base_handle(&mut self, key: (String, String)) -> usize {
        let handle = match self.by_name.get(&key) {
            Some(&handle) => handle,
            None => {
                let entry = self.catalog.names().entry(&key.0, &key.1);
                let handle = self.add_handle(entry);
                self.by_name.insert(key, handle);
                handle
            }
        };
        // It stays while the statement goes on.
        self.handles[handle].round = self.parking.round;
        handle
    }

    /// Plans made for what a name meant so far are made anew: a temporary table hides it now.
    pub(crate) fn outdate(&mut self, schema: &str, name: &str) {
        if let Some(&handle) = self.by_name.get(&(schema.to_string(), name.to_string())) {
            self.close_handles(handle);
            self.handles[handle].version = 0;
        }
    }

    pub(crate) fn entry(&self, handle: usize) -> &Arc<NameEntry> {
        &self.handles[handle].entry
    }

    pub(crate) fn definition(&self, handle: usize) -> Option<&Arc<Definition>> {
        self.handles[handle].definition.as_ref()
    }

    /// The definition of an open table.
    pub fn def(&self, table: TableRef) -> &TableDef {
        &self.opened(table).def
    }

    /// What is compiled of an open table's definition: see [`Definition::compiled`].
    ///
    /// # Errors
    /// Those of `compile`.
    #[inline]
    pub fn compiled<T: Any + Send + Sync, E>(
        &self,
        table: TableRef,
        compile: impl FnOnce(&TableDef) -> Result<T, E>,
    ) -> Result<&T, E> {
        self.opened(table).compiled(compile)
    }

    /// The engine's table of an open table.
    #[inline]
    pub fn table(&self, table: TableRef) -> &engine::Table {
        self.opened(table).table().expect("a TableRef is made of an open table")
    }

    /// Where it is counted what is done to the rows of an open table, and whether that is timed; `None` while nobody wants
    /// to know.
    #[inline]
    pub fn io(&self, table: TableRef) -> Option<(&Arc<TableIo>, bool)> {
        self.handles[self.place(table)].io()
    }

    /// As [`TableCache::io`], for something that begins now.
    #[inline]
    pub fn timer(&self, table: TableRef) -> Option<RowTimer<'_>> {
        self.handles[self.place(table)].timer()
    }

    /// Counts that a statement locks a table for its run, to read it or to write it; while LOCK TABLES is in force it is locked already.
    pub fn count_lock(&self, table: TableRef, write: bool) {
        if !self.tables_are_locked() {
            self.handles[self.place(table)].count_lock(write);
        }
    }

    /// Counts that LOCK TABLES locks a table.
    pub(crate) fn count_explicit_lock(&mut self, schema: &str, name: &str, write: bool) {
        let handle = self.handle(schema, name);
        self.handles[handle].count_lock(write);
    }

    /// As [`TableCache::table`], [`TableCache::timer`] and [`TableCache::count_lock`] together, of a statement that reads one row.
    #[inline]
    pub fn table_timed(&self, table: TableRef) -> (&engine::Table, Option<RowTimer<'_>>) {
        let handle = &self.handles[self.place(table)];
        let definition = handle.definition.as_ref().expect("a TableRef is made of an open handle");
        let table = definition.table().expect("a TableRef is made of an open table");
        (table, handle.locked_timer(self.tables_are_locked()))
    }

    /// What is known about the rows of an open table.
    pub fn statistics(&self, table: TableRef) -> Statistics {
        self.opened(table).statistics()
    }

    pub(crate) fn definition_of(&self, table: TableRef) -> Arc<Definition> {
        Arc::clone(self.opened(table))
    }

    pub(crate) fn entry_of(&self, table: TableRef) -> &NameEntry {
        self.entry(self.place(table))
    }

    /// What an open handle is called by.
    pub(crate) fn reference(&self, handle: usize) -> TableRef {
        let h = &self.handles[handle];
        TableRef { name: h.entry.id, version: h.version }
    }

    pub(crate) fn opened(&self, table: TableRef) -> &Arc<Definition> {
        self.handles[self.place(table)]
            .definition
            .as_ref()
            .expect("a TableRef is made of an open handle")
    }

    /// Gives back every metadata lock: at the end of an autocommitted statement or a transaction.
    pub fn release_all(&mut self, slot: &SessionSlot) {
        self.end_statement(slot);
        self.writes = false;
        self.lasting = Lasting::default();
        self.catalog.mdl().release_all(slot, &mut self.held);
    }

    /// Gives back what is held for a statement only.
    #[inline]
    pub fn end_statement(&mut self, slot: &SessionSlot) {
        self.parking.end_round();
        if !self.statement.is_empty() {
            self.catalog.mdl().release_all(slot, &mut self.statement);
        }
        if self.parking.is_due {
            self.park();
        }
    }

    /// Locks all that ALTER TABLE is changing in a stronger mode. Readers and writers pass between the slices of that
    /// wait; what was held, is held throughout.
    pub(crate) fn strengthen(
        &mut self,
        slot: &SessionSlot,
        mode: Mode,
        deadline: Deadline,
    ) -> Result<(), CatalogError> {
        let mdl = self.catalog.mdl();
        Ok(mdl.upgrade(slot, &mut self.held, &self.changing, mode, deadline)?)
    }

    /// A mark for [`TableCache::release_since`].
    pub fn mark(&self) -> usize {
        self.held.mark()
    }

    /// Gives back the locks taken after `mark`.
    pub fn release_since(&mut self, slot: &SessionSlot, mark: usize) {
        self.catalog.mdl().release_since(slot, &mut self.held, mark);
    }
}
