//! The system tables and the catalog that reads and changes them.
//!
//! 1. A definition is stored as one byte string cut into chunks, one row each, so that it may be
//!    longer than a row. 2. Every change is part of the DDL statement's own transaction: after a
//!    crash either all of its rows are there or none. 3. The in-memory maps are changed only after
//!    the commit.

use crate::accounts::{PublishedAccounts, all_mighty};
use crate::brief::Brief;
use crate::definition::Definition;
use crate::names::Names;
use crate::open::OpenHandles;
use crate::statistics::Upkeep;
use crate::virtuals::{VIRTUAL_SCHEMAS, VirtualRef, virtual_schema, virtual_schema_def};
use crate::{CatalogError, FullName, NameEntry, SchemaDef, TableDef};
use access::{AccountName, ProxyGrant};
use base::{IndexId, SpaceId, TableId};
use engine::{Client, Engine, Table, TableSpec};
use mdl::Mdl;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};
use stdx::{LocalAtomic, Ordering};
use sync::Mutex;
use value::{Collation, ColumnType, Datum, KeyPart, KeySpec, Kind};

instrument::classes! {
    static SCHEMAS: MutexClass = "wait/synch/mutex/sql/schemata";
}

/// Most bytes of a body in one row.
pub(crate) const CHUNK_BYTES: usize = 3000;
const NAME_BYTES: u32 = 256;

/// Position of each system table in [`system_tables`].
#[derive(Clone, Copy)]
pub(crate) enum System {
    Schemata,
    Tables,
    Accounts,
    Statistics,
}

/// The system tables, in the order in which the engine creates them.
pub fn system_tables() -> Vec<TableSpec> {
    let bytes = |n| ColumnType::varbinary(n).not_null();
    let number = |kind, unsigned| ColumnType::int(kind, unsigned).not_null();
    let shapes: [(&str, Vec<ColumnType>, usize); 4] = [
        ("mysql.schemata", vec![bytes(NAME_BYTES), number(Kind::Int, true)], 1),
        (
            "mysql.tables",
            vec![
                bytes(NAME_BYTES),
                bytes(NAME_BYTES),
                number(Kind::Int, true),
                bytes(CHUNK_BYTES as u32),
            ],
            3,
        ),
        ("mysql.user", vec![bytes(NAME_BYTES), bytes(NAME_BYTES), bytes(64), bytes(1024)], 2),
        (
            "mysql.statistics",
            vec![
                number(Kind::BigInt, true),
                bytes(NAME_BYTES),
                number(Kind::Int, true),
                bytes(CHUNK_BYTES as u32),
            ],
            3,
        ),
    ];
    let specs = shapes.into_iter().zip(1..).map(|((name, columns, key), id)| TableSpec {
        id: TableId(id),
        name: name.to_string(),
        columns,
        clustered_id: IndexId(id),
        clustered: (0..key).map(KeyPart::whole).collect(),
        secondaries: Vec::new(),
        autoinc_column: None,
        older: Vec::new(),
        private: false,
    });
    specs.collect()
}

/// The data dictionary of a server.
pub struct Catalog {
    engine: Arc<Engine>,
    mdl: Arc<Mdl>,
    names: Names,
    schemas: Mutex<BTreeMap<String, Arc<SchemaDef>>>,
    pub(crate) accounts: PublishedAccounts,
    pub(crate) virtuals: OnceLock<Vec<VirtualRef>>,
    pub(crate) upkeep: Upkeep,
    pub(crate) read_only: LocalAtomic<u32>,
}

/// Who may not write tables that other sessions know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum ReadOnly {
    /// Everybody may.
    No = 0,
    /// `read_only`: only those with all rights may.
    Users = 1,
    /// `super_read_only`: nobody may.
    All = 2,
}

impl Catalog {
    /// Who may not write now.
    #[inline]
    pub fn read_only(&self) -> ReadOnly {
        match self.read_only.load(Ordering::Relaxed) {
            0 => ReadOnly::No,
            1 => ReadOnly::Users,
            _ => ReadOnly::All,
        }
    }

    /// Says at once who may not write; [`crate::TableCache::set_read_only`] waits for those who do.
    pub fn set_read_only(&self, what: ReadOnly) {
        self.read_only.store(what as u32, Ordering::Relaxed);
    }

    /// Loads the names of the dictionary (making it on a new database) and lets recovery go on in the background.
    /// Reads no definition, and opens no table.
    pub fn open(engine: Arc<Engine>, mdl: Arc<Mdl>) -> Result<Arc<Catalog>, CatalogError> {
        let catalog = Catalog {
            names: Names::new(Arc::clone(&mdl)),
            schemas: Mutex::new(&SCHEMAS, BTreeMap::new()),
            accounts: PublishedAccounts::default(),
            virtuals: OnceLock::new(),
            upkeep: Upkeep::default(),
            read_only: LocalAtomic::new(ReadOnly::No as u32),
            engine,
            mdl,
        };
        catalog.load_schemas()?;
        let live = catalog.load_names()?;
        let older = catalog.load_accounts()?;
        if !older.is_empty() {
            // From now on they are stored as the others are.
            catalog.change_accounts(&mut catalog.engine.client()?, &older, &[])?;
        } else if catalog.accounts().all().is_empty() {
            catalog.bootstrap(&mut catalog.engine.client()?)?;
        }
        let catalog = Arc::new(catalog);
        catalog.start_statistics();
        catalog.start_recovery(live)?;
        Ok(catalog)
    }

    /// The engine below.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The table whose rows lie in a tablespace, as it is called at the moment; for messages about damage.
    pub fn table_in(&self, space: base::SpaceId) -> Option<FullName> {
        self.names.by_space(space).map(|brief| brief.name.clone())
    }

    /// The metadata locks.
    pub fn mdl(&self) -> &Arc<Mdl> {
        &self.mdl
    }

    /// The names that have a definition, with it; ordered. As [`Self::definitions`].
    pub fn defined(&self) -> Vec<(Arc<NameEntry>, Arc<Definition>)> {
        self.names().all(|entry| Some((Arc::clone(entry), self.glance(entry).ok()?.1?)))
    }

    /// The definitions that are in memory, ordered by name.
    pub fn in_memory(&self) -> Vec<Arc<Definition>> {
        self.names().all(|entry| entry.in_memory())
    }

    /// The names that have a definition, ordered.
    pub fn entries(&self) -> Vec<Arc<NameEntry>> {
        self.names().all(|entry| entry.brief().map(|_| Arc::clone(entry)))
    }

    /// `table_definition_cache`: how many definitions stay in memory while nobody uses them.
    pub fn set_definitions_max(&self, definitions: u64) {
        self.names().cache().set_limit(definitions);
    }

    /// The table cache: how many tables are open, and how many may be.
    pub fn open_handles(&self) -> &OpenHandles {
        &self.names.open
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// A schema by name.
    pub fn schema(&self, name: &str) -> Option<Arc<SchemaDef>> {
        virtual_schema_def(name).or_else(|| self.schemas.lock().get(name).cloned())
    }

    /// Every schema, ordered by name.
    pub fn schemas(&self) -> Vec<Arc<SchemaDef>> {
        let mut all: Vec<_> = self.schemas.lock().values().cloned().collect();
        all.extend(VIRTUAL_SCHEMAS.into_iter().filter_map(virtual_schema_def));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The tables and views of a schema as they are now, ordered by name; those of a virtual schema not. One whose
    /// definition cannot be read is left out: who uses it is told why.
    pub fn definitions(&self, schema: &str) -> Vec<Arc<Definition>> {
        self.names.of_schema(schema, |entry| self.glance(entry).ok()?.1)
    }

    /// Names of a schema's tables and views, ordered, and whether it is a view.
    pub fn table_kinds(&self, schema: &str) -> Vec<(String, bool)> {
        if let Some(schema) = virtual_schema(schema) {
            return self.virtual_defs(schema).map(|def| (def.name.clone(), false)).collect();
        }
        let kind = |entry: &Arc<NameEntry>| {
            entry.brief().map(|brief| (entry.name.clone(), brief.space.is_none()))
        };
        self.names.of_schema(schema, kind)
    }

    /// Names of a schema's tables and views, ordered.
    pub fn table_names(&self, schema: &str) -> Vec<String> {
        self.table_kinds(schema).into_iter().map(|(name, _)| name).collect()
    }

    /// The published definition of a stored table, as it is now: no lock protects it.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn definition(
        &self,
        schema: &str,
        name: &str,
    ) -> Result<Option<Arc<Definition>>, CatalogError> {
        match self.names.known(schema, name) {
            Some(entry) => Ok(self.glance(&entry)?.1),
            None => Ok(None),
        }
    }

    /// Whether a name is a view's, as it is now; `None`: neither a stored table nor a view has it.
    pub fn is_view(&self, schema: &str, name: &str) -> Option<bool> {
        self.names.known(schema, name)?.brief().map(|brief| brief.space.is_none())
    }

    /// Whether there is a table or view of this name, stored or made while it is read.
    pub fn knows(&self, schema: &str, name: &str) -> bool {
        match self.virtual_table(schema, name) {
            Ok(made) => made.is_some() || self.is_view(schema, name).is_some(),
            Err(_) => false,
        }
    }

    /// Runs `change` as one transaction that is durable when this returns.
    pub(crate) fn transact<T, E: From<CatalogError>>(
        &self,
        client: &mut Client,
        change: impl FnOnce(&Catalog, &mut Client) -> Result<T, E>,
    ) -> Result<T, E> {
        client.begin();
        match change(self, client) {
            Ok(value) => {
                client.commit().map_err(CatalogError::from)?;
                Ok(value)
            }
            Err(error) => {
                client.rollback().map_err(CatalogError::from)?;
                Err(error)
            }
        }
    }

    pub(crate) fn store_schema(
        &self,
        client: &mut Client,
        def: &SchemaDef,
    ) -> Result<(), CatalogError> {
        let row = [Datum::Bytes(def.name.as_bytes()), Datum::UInt(u64::from(def.collation.id()))];
        self.put(client, System::Schemata, &row)
    }

    pub(crate) fn erase_schema(&self, client: &mut Client, name: &str) -> Result<(), CatalogError> {
        self.delete(client, System::Schemata, &[Datum::Bytes(name.as_bytes())])?;
        Ok(())
    }

    pub(crate) fn publish_schema(&self, name: &str, def: Option<SchemaDef>) {
        let mut schemas = self.schemas.lock();
        match def {
            Some(def) => schemas.insert(name.to_string(), Arc::new(def)),
            None => schemas.remove(name),
        };
    }

    /// Writes a table's definition, replacing what stood there under the same name.
    pub(crate) fn store_table(
        &self,
        client: &mut Client,
        def: &TableDef,
    ) -> Result<(), CatalogError> {
        self.erase_table(client, &def.schema, &def.name)?;
        let stored = def.encode();
        debug_assert_eq!(TableDef::decode(&stored).as_ref(), Ok(def), "it is not read as it is");
        for (chunk, body) in (0_u64..).zip(stored.chunks(CHUNK_BYTES)) {
            let row = [
                Datum::Bytes(def.schema.as_bytes()),
                Datum::Bytes(def.name.as_bytes()),
                Datum::UInt(chunk),
                Datum::Bytes(body),
            ];
            self.put(client, System::Tables, &row)?;
        }
        Ok(())
    }

    /// Deletes a table's definition rows; none is fine.
    pub(crate) fn erase_table(
        &self,
        client: &mut Client,
        schema: &str,
        name: &str,
    ) -> Result<(), CatalogError> {
        for chunk in 0_u64.. {
            let parts = [
                Datum::Bytes(schema.as_bytes()),
                Datum::Bytes(name.as_bytes()),
                Datum::UInt(chunk),
            ];
            if !self.delete(client, System::Tables, &parts)? {
                break;
            }
        }
        Ok(())
    }

    fn bootstrap(&self, client: &mut Client) -> Result<(), CatalogError> {
        let mut root = all_mighty(AccountName::new("root", "localhost"), "caching_sha2_password");
        let granted_us = host::clock::now_us();
        root.changed_us = granted_us;
        let proxy = ProxyGrant { with_grant: true, grantor: "boot@".into(), granted_us };
        root.grants.proxies.insert(AccountName::default(), proxy);
        self.change_accounts(client, &[root], &[])
    }

    fn load_schemas(&self) -> Result<(), CatalogError> {
        let mut found = BTreeMap::new();
        self.each_row_of(System::Schemata, &[], |c, row| {
            let name = c.column_text(System::Schemata, row, 0)?;
            let id = c.column_u64(System::Schemata, row, 1)?;
            let collation = u16::try_from(id).ok().and_then(Collation::from_id);
            let collation = collation.ok_or_else(|| bad(&name, "unknown collation"))?;
            found.insert(name.clone(), Arc::new(SchemaDef { name, collation }));
            Ok(())
        })?;
        *self.schemas.lock() = found;
        Ok(())
    }

    /// Reads which tables and views there are; the tablespaces of the tables.
    fn load_names(&self) -> Result<BTreeSet<SpaceId>, CatalogError> {
        let mut found = Vec::new();
        let (mut name, mut stored) = (FullName::default(), Vec::new());
        let mut end = |name: FullName, stored: &mut Vec<u8>| {
            if !stored.is_empty() {
                let object = format!("{}.{}", name.0, name.1);
                found.push(Brief::read(name, stored).map_err(|what| bad(&object, what))?);
                stored.clear();
            }
            Ok::<_, CatalogError>(())
        };
        self.each_row_of(System::Tables, &[], |c, row| {
            let of =
                (c.column_text(System::Tables, row, 0)?, c.column_text(System::Tables, row, 1)?);
            if of != name {
                end(std::mem::replace(&mut name, of), &mut stored)?;
            }
            let body = c.column(System::Tables, row, 3)?;
            stored.extend_from_slice(body.as_bytes().unwrap_or_default());
            Ok(())
        })?;
        end(name, &mut stored)?;
        let live = found.iter().filter_map(|brief| brief.space).collect();
        self.names.begin(found);
        Ok(live)
    }

    /// Lets the engine finish recovery in the background, with the tables that the names mean at that
    /// time (`engine::recovery` tells why that is safe against DDL).
    fn start_recovery(self: &Arc<Self>, live: BTreeSet<SpaceId>) -> Result<(), CatalogError> {
        let weak = Arc::downgrade(self);
        let find = move |id: TableId| {
            let catalog = weak.upgrade().ok_or(engine::Error::Shutdown)?;
            match catalog.table_of(id) {
                Err(CatalogError::Storage(engine::Error::MissingSpace(_))) => Ok(None),
                Err(CatalogError::Storage(error)) => Err(error),
                Err(_) => Err(engine::Error::Internal("a definition cannot be read")),
                Ok(table) => Ok(table),
            }
        };
        let started = self.engine.start_recovery(Arc::new(find), live);
        started.map_err(|e| CatalogError::Storage(self.with_names(e)))
    }

    /// The engine's table of an id, as the name means it that has the id now; `None`: it was dropped.
    fn table_of(&self, id: TableId) -> Result<Option<Arc<Table>>, CatalogError> {
        while let Some(brief) = self.names.by_id(id) {
            let entry = self.names.entry(&brief.name.0, &brief.name.1);
            let found = self.meaning(&entry)?.1;
            // Another one: the table has got another name since, or is gone.
            if let Some(definition) = found.filter(|d| d.def.id == id) {
                return Ok(Some(Arc::clone(definition.open(&self.engine)?)));
            }
        }
        Ok(None)
    }

    /// Names the tables whose files are not as the redo log wants them.
    fn with_names(&self, error: engine::Error) -> engine::Error {
        let engine::Error::RedoNotApplied { files } = error else { return error };
        let named = files.into_iter().map(|(space, why)| {
            let table = self.table_in(space);
            let name = table.map(|(schema, name)| format!("table `{schema}`.`{name}`, "));
            (space, name.unwrap_or_default() + &why)
        });
        engine::Error::RedoNotApplied { files: named.collect() }
    }

    fn system(&self, which: System) -> Arc<Table> {
        self.engine.system_table(which as usize)
    }

    /// Visits the rows of a system table whose keys begin with these values, as they were committed last.
    pub(crate) fn each_row_of(
        &self,
        which: System,
        key: &[Datum<'_>],
        mut visit: impl FnMut(&Catalog, &[u8]) -> Result<(), CatalogError>,
    ) -> Result<(), CatalogError> {
        let table = self.system(which);
        let prefix = self.key(which, key)?;
        let mut room = engine::ScanRoom::default();
        let low = Bound::Included(&prefix[..]);
        let mut scan = self.engine.scan_latest(&table, (low, Bound::Unbounded), &mut room)?;
        while let Some(row) = scan.next()? {
            for (column, value) in key.iter().enumerate() {
                if self.column(which, row, column)? != *value {
                    return Ok(());
                }
            }
            visit(self, row)?;
        }
        Ok(())
    }

    fn key(&self, which: System, values: &[Datum<'_>]) -> Result<Vec<u8>, CatalogError> {
        let table = self.system(which);
        let spec = table.spec();
        let mut key = Vec::new();
        KeySpec::new(spec.clustered.clone())
            .encode_prefix(&spec.columns, values, &mut key)
            .map_err(|_| bad(&spec.name, "a name is too long for the dictionary"))?;
        Ok(key)
    }

    /// Inserts a row of a system table, or replaces the one of the same key.
    pub(crate) fn put(
        &self,
        client: &mut Client,
        which: System,
        values: &[Datum<'_>],
    ) -> Result<(), CatalogError> {
        let table = self.system(which);
        let spec = table.spec();
        let mut row = Vec::new();
        table.layout().encode(values, &mut row).map_err(|e| bad(&spec.name, e.what))?;
        let key = self.key(which, &values[..spec.clustered.len()])?;
        // A miss locks nothing: sessions that make different things do not meet.
        if !client.update(&table, &key, &row)? {
            client.insert(&table, &row)?;
        }
        Ok(())
    }

    /// Deletes a row of a system table; false if it is not there.
    pub(crate) fn delete(
        &self,
        client: &mut Client,
        which: System,
        key: &[Datum<'_>],
    ) -> Result<bool, CatalogError> {
        let key = self.key(which, key)?;
        Ok(client.delete(&self.system(which), &key)?)
    }

    pub(crate) fn column<'r>(
        &self,
        which: System,
        row: &'r [u8],
        column: usize,
    ) -> Result<Datum<'r>, CatalogError> {
        let table = self.system(which);
        table.layout().decode(row, column).map_err(|e| bad(&table.spec().name, e.what))
    }

    pub(crate) fn column_text(
        &self,
        which: System,
        row: &[u8],
        column: usize,
    ) -> Result<String, CatalogError> {
        let bytes = self.column(which, row, column)?.as_bytes().unwrap_or_default().to_vec();
        String::from_utf8(bytes).map_err(|_| bad("mysql", "a name is not UTF-8"))
    }

    pub(crate) fn column_u64(
        &self,
        which: System,
        row: &[u8],
        column: usize,
    ) -> Result<u64, CatalogError> {
        let value = self.column(which, row, column)?;
        value.as_u64().ok_or_else(|| bad("mysql", "a number is missing"))
    }
}

pub(crate) fn bad(object: &str, what: &'static str) -> CatalogError {
    CatalogError::BadDefinition { object: object.to_string(), what }
}
